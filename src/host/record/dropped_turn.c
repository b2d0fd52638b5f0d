/*
 * dropped_turn: compares the lines after a message with one prompt. Runs on the thread that opens
 * the session.
 */
#include "host/record/dropped_turn.h"

#include "base/arena.h"
#include "base/err.h"
#include "json/json.h"
#include "store/transcript/load.h"

static void load_freep(struct load **l)
{
    load_free(*l);
}

static int read_entry(struct load *l, const struct load_entry *e, struct arena *arena,
                      const struct json **ret, struct err *err)
{
    struct str line;

    *ret = NULL;
    if (load_read(l, e->offset, e->len, &line, err) < 0)
        return -1;
    if (json_parse(arena, line, ret, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        *ret = NULL;
    return 0;
}

/* Whether it is a prompt: user text, not a result, reminder or summary. */
static bool is_prompt(const struct load_entry *e)
{
    return e->kind == ENTRY_USER &&
           !(e->flags & (LOAD_META | LOAD_TOOL_RESULT | LOAD_SUMMARY | LOAD_SIDECHAIN));
}

int dropped_turn_check(const char *path, struct str at, struct str prompt, struct cancel *cancel,
                       struct err *err)
{
    CLEANUP(load_freep) struct load *l = NULL;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    bool is_after = false;

    if (load_open(path, /*spec=*/NULL, cancel, &l, err) < 0)
        return -1;
    for (size_t i = 0; i < load_count(l); i++) {
        const struct load_entry *e = load_at(l, i);
        const struct json *line;
        struct str uuid;

        arena_reset(&arena);
        if (read_entry(l, e, &arena, &line, err) < 0)
            return -1;
        uuid = json_get_str(line, "uuid");
        if (str_eq(uuid, at) || str_eq(json_get_str(json_get(line, "message"), "id"), at)) {
            is_after = true;
            continue;
        }
        if (is_after && is_prompt(e) && !str_eq(uuid, prompt))
            return err_set(err, ERR_DENIED,
                           DROPPED_TURN_REFUSED " message %.*s after the resume point does not "
                                                "belong to turn %.*s",
                           STR_ARG(str_clip(uuid, 60)), STR_ARG(str_clip(prompt, 60)));
    }
    return 0;
}
