/*
 * Commands that fit. There are few: all are looked at for each key. UI thread.
 */
#include "tui/complete/complete_slash.h"

#include "base/arena.h"
#include "base/buf.h"
#include "tui/complete/complete.h"
#include "tui/complete/complete_answer.h"
#include "tui/complete/fuzzy.h"

/* Above every score of fuzzy_match(), each less than the one before by more than a name is long. */
#define SCORE_NAME 4000000
#define SCORE_ALIAS 3000000
#define SCORE_NAME_BEGINS 2000000
#define SCORE_ALIAS_BEGINS 1000000

/* The other name that begins so, a whole one before all else; empty: there is none. */
static struct str find_alias(struct str aliases, struct str typed)
{
    struct str best = STR("");
    struct str alias;

    while (str_cut(&aliases, ' ', &alias)) {
        if (str_starts(alias, typed) && (!best.len || alias.len < best.len))
            best = alias;
    }
    return best;
}

/* False: it does not fit. */
static bool score(const struct completer_command *cmd, struct str typed, struct found *f)
{
    struct str alias = find_alias(cmd->aliases, typed);

    if (str_starts(cmd->name, typed)) {
        f->score = cmd->name.len == typed.len ? SCORE_NAME : SCORE_NAME_BEGINS - (int)cmd->name.len;
    } else if (alias.len) {
        f->score = alias.len == typed.len ? SCORE_ALIAS : SCORE_ALIAS_BEGINS - (int)alias.len;
        f->alias = alias;
    } else {
        return fuzzy_match(typed, cmd->name, &f->score);
    }
    return true;
}

static struct str describe(const struct completer_command *cmd, struct str alias,
                           struct arena *arena)
{
    CLEANUP(buf_release) struct buf detail = BUF_INIT(BUF_NO_LIMIT);

    if (alias.len)
        buf_addf(&detail, "(%.*s)  ", STR_ARG(alias));
    buf_addf(&detail, "%.*s%s%.*s", STR_ARG(cmd->hint), cmd->hint.len ? "  " : "",
             STR_ARG(cmd->summary));
    return arena_str(arena, buf_str(&detail));
}

void complete_slash(const struct completer_command *commands, size_t count, struct str typed,
                    struct answer *ret)
{
    for (size_t i = 0; i < count; i++) {
        const struct completer_command *cmd = &commands[i];
        struct found f = {.text = cmd->name, .goes_on = cmd->hint.len && !cmd->runs_bare};

        if (!typed.len)
            f.score = -(int)i; /* in the order they were given */
        else if (!score(cmd, typed, &f))
            continue;
        f.detail = describe(cmd, f.alias, &ret->arena);
        answer_offer(ret, f);
    }
    answer_settle(ret, typed);
}
