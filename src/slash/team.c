/*
 * /team: who is in the session's team, what each does, and its task list.
 */
#include "tasks/team/team.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strv.h"
#include "host/host.h"
#include "slash/answer.h"
#include "tasks/team/board.h"

static int team_run(struct slash_call *call, struct err *err);

const struct slash_command slash_team_entry = {
    .name = "team",
    .hint = "[view <name> | end <name> | kill <name> | end idle]",
    .summary = "Show the team: its members and its task list; end a member's work",
    .more = "`end` asks a member to shut down, which it may decline; `kill` stops it at once; "
            "`end idle` asks all that are idle. What it had claimed is free again.",
    .run = team_run,
};

struct members {
    struct arena arena;
    VEC(struct mate_row) list;
};

static void members_release(struct members *m)
{
    vec_release(&m->list);
    arena_release(&m->arena);
}

static const char *keep(struct members *m, const char *text)
{
    return arena_cstr(&m->arena, str_of(text ? text : ""));
}

static void collect(void *arg, const struct mate_row *row)
{
    struct members *m = arg;
    struct mate_row r = *row;

    r.name = keep(m, row->name);
    r.color = keep(m, row->color);
    r.agent = keep(m, row->agent);
    r.type = keep(m, row->type);
    r.model = keep(m, row->model);
    r.mode = keep(m, row->mode);
    vec_push(&m->list, r);
}

static enum ink ink_of(const char *color)
{
    static const struct {
        const char *name;
        enum ink ink;
    } inks[] = {{"blue", INK_BLUE},      {"green", INK_GREEN},   {"yellow", INK_YELLOW},
                {"purple", INK_MAGENTA}, {"orange", INK_YELLOW}, {"pink", INK_MAGENTA},
                {"cyan", INK_CYAN},      {"red", INK_RED}};

    for (size_t i = 0; i < ARRAY_LEN(inks); i++) {
        if (strcmp(color, inks[i].name) == 0)
            return inks[i].ink;
    }
    return INK_PLAIN;
}

/* ---- Its task list ---- */

static int board_of(struct slash_call *call, struct board *b, struct err *err)
{
    CLEANUP(buf_release) struct buf id = BUF_INIT(1000);
    struct team *t = host_team(call->host);

    team_list_id(t, &id);
    return board_init(b, team_home(t), buf_str(&id), err) < 0 ? -1 : board_read(b, err);
}

static void say_item(struct slash_call *call, struct board *b, const struct work_item *i)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf blockers = BUF_INIT(4096);
    bool is_done = i->status == ITEM_COMPLETED;

    slash_add_line(&line, i->subject, 200);
    slash_sayf(call, is_done ? INK_GREEN : INK_PLAIN, "%s",
               is_done                         ? "✔"
               : i->status == ITEM_IN_PROGRESS ? "◼"
                                               : "◻");
    slash_sayf(call, is_done ? INK_FAINT : INK_PLAIN, " #%lld %s", (long long)i->id,
               buf_cstr(&line));
    if (i->owner.len)
        slash_sayf(call, INK_FAINT, " (%.*s)", STR_ARG(str_clip(i->owner, 100)));
    if (!is_done && board_is_blocked(b, i, &blockers))
        slash_sayf(call, INK_YELLOW, " › blocked by %s", buf_cstr(&blockers));
    slash_say(call, INK_PLAIN, STR("\n"));
}

static int say_board(struct slash_call *call, struct err *err)
{
    CLEANUP(board_release) struct board b = BOARD_INIT;

    if (board_of(call, &b, err) < 0)
        return -1;
    VEC_EACH(&b.items, i) {
        say_item(call, &b, i);
    }
    if (!b.items.len)
        slash_say(call, INK_FAINT, STR("Its task list is empty.\n"));
    return 0;
}

/* ---- Its members ---- */

static void say_members(struct slash_call *call, struct str name, const struct members *m)
{
    size_t busy = 0;

    VEC_EACH(&m->list, r) {
        busy += r->state == MATE_RUNNING;
    }
    slash_sayf(call, INK_BOLD, "Team %.*s", STR_ARG(name));
    slash_sayf(call, INK_FAINT, "  %zu of %zu running\n", busy, m->list.len);
    VEC_EACH(&m->list, r) {
        slash_sayf(call, ink_of(r->color), "@%s", r->name);
        slash_sayf(call, INK_FAINT, "  %s%s%s, %s, %s\n", r->type,
                   *r->type && *r->model ? ", " : "", r->model, mate_state_name(r->state), r->mode);
    }
}

static const struct mate_row *member_find(const struct members *m, struct str name)
{
    if (str_starts(name, STR("@")))
        name = str_from(name, 1);
    VEC_EACH(&m->list, r) {
        if (str_is(name, r->name))
            return r;
    }
    return NULL;
}

static int member_end(struct slash_call *call, const char *name, struct err *err)
{
    if (team_ask_to_end(host_team(call->host), str_of(name), STR("The user asks for it."),
                        call->cancel, err) < 0)
        return -1;
    slash_sayf(call, INK_PLAIN, "%s is asked to shut down.\n", name);
    return 0;
}

static int end_idle(struct slash_call *call, const struct members *m, struct err *err)
{
    size_t n = 0;

    VEC_EACH(&m->list, r) {
        if (r->state != MATE_IDLE)
            continue;
        n++;
        if (member_end(call, r->name, err) < 0)
            return -1;
    }
    if (!n)
        slash_say(call, INK_PLAIN, STR("No member is idle.\n"));
    return 0;
}

static int member_do(struct slash_call *call, struct str verb, const struct mate_row *r,
                     struct err *err)
{
    if (str_is(verb, "end"))
        return member_end(call, r->name, err);
    if (str_is(verb, "kill")) {
        if (team_kill(host_team(call->host), str_of(r->name), "user", err) < 0)
            return -1;
        slash_sayf(call, INK_PLAIN, "%s is stopped.\n", r->name);
        return 0;
    }
    if (!call->front || !call->front->view)
        return err_set(err, ERR_UNSUPPORTED, "a member's conversation is shown in a terminal only");
    call->front->view(call->front->arg, str_of(r->agent));
    return 0;
}

/* ---- As a panel ---- */

enum team_key {
    TEAM_KILL,
    TEAM_ASK,
    TEAM_PRUNE,
    TEAM_MODE,
    TEAM_VIEW, /* Enter */
};
static const struct pick_key team_keys[] = {
    [TEAM_KILL] = {"k", "stop"},
    [TEAM_ASK] = {"s", "ask to shut down"},
    [TEAM_PRUNE] = {"p", "end idle ones"},
    [TEAM_MODE] = {"shift+tab", "mode"},
};

/* The item that a member works on. */
static void add_item(struct slash_call *call, const char *owner, struct buf *ret)
{
    CLEANUP(board_release) struct board b = BOARD_INIT;

    if (board_of(call, &b, /*err=*/NULL) < 0)
        return;
    VEC_EACH(&b.items, i) {
        if (i->status == ITEM_IN_PROGRESS && str_is(i->owner, owner))
            buf_addf(ret, ", #%lld %.*s", (long long)i->id, STR_ARG(str_clip(i->subject, 60)));
    }
}

static int member_next_mode(struct slash_call *call, const struct mate_row *r, struct err *err)
{
    static const char *const modes[] = {"default", "acceptEdits", "plan"};
    size_t at = 0;

    while (at < ARRAY_LEN(modes) && strcmp(modes[at], r->mode) != 0)
        at++;
    for (size_t i = 1; i <= ARRAY_LEN(modes); i++) {
        err_clear(err);
        if (team_set_mode(host_team(call->host), str_of(r->name),
                          str_of(modes[(at + i) % ARRAY_LEN(modes)]), err) == 0)
            return 0;
        if (err->code != ERR_DENIED) /* wider than the lead's: the one after it */
            return -1;
    }
    return -1;
}

/* One look at it. 1: the panel is shown again. */
static int team_panel(struct slash_call *call, struct str name, const struct members *m, size_t *at,
                      struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf title = BUF_INIT(1000);
    struct choice *choices = arena_zalloc(&arena, sizeof(*choices) * (m->list.len + 1));
    size_t key = TEAM_VIEW;
    struct pick p = {.look = PICK_LIST,
                     .choices = choices,
                     .count = 1,
                     .at = *at,
                     .keys = team_keys,
                     .key_count = ARRAY_LEN(team_keys),
                     .ret_key = &key,
                     .enter = "view"};
    const struct mate_row *r;

    buf_addf(&title, "Team %.*s", STR_ARG(name));
    p.title = buf_str(&title);
    choices[0].label = STR("The task list");
    VEC_EACH(&m->list, it) {
        CLEANUP(buf_release) struct buf label = BUF_INIT(1000);
        CLEANUP(buf_release) struct buf detail = BUF_INIT(2000);

        buf_addf(&label, "@%s", it->name);
        buf_addf(&detail, "%s, %s, in-process, %s%s%s", mate_state_name(it->state), it->mode,
                 it->type, *it->type && *it->model ? ", " : "", it->model);
        add_item(call, it->name, &detail);
        choices[p.count++] = (struct choice){.label = arena_str(&arena, buf_str(&label)),
                                             .detail = arena_str(&arena, buf_str(&detail))};
    }
    if (slash_pick(call, &p, at, err) < 0)
        return -1;
    if (key == TEAM_PRUNE)
        return end_idle(call, m, err) < 0 ? -1 : 1;
    if (!*at)
        return key == TEAM_VIEW ? say_board(call, err) : 1;
    r = &m->list.ptr[*at - 1];
    switch ((enum team_key)key) {
    case TEAM_KILL:
        return member_do(call, STR("kill"), r, err) < 0 ? -1 : 1;
    case TEAM_ASK:
        return member_end(call, r->name, err) < 0 ? -1 : 1;
    case TEAM_MODE:
        return member_next_mode(call, r, err) < 0 ? -1 : 1;
    default:
        return member_do(call, STR("view"), r, err);
    }
}

/* Until a member is viewed, or the user leaves it. */
static int team_choose(struct slash_call *call, struct str name, struct err *err)
{
    bool has_acted = false;
    size_t at = 0;
    int rc = 1;

    while (rc > 0) {
        CLEANUP(members_release) struct members m = {.arena = ARENA_INIT};

        team_each(host_team(call->host), collect, &m);
        if (at > m.list.len)
            at = m.list.len;
        rc = team_panel(call, name, &m, &at, err);
        has_acted = has_acted || rc > 0;
    }
    if (rc < 0 && has_acted && err->code == ERR_CANCELLED) { /* left, with what it did to be said */
        err_clear(err);
        rc = 0;
    }
    return rc;
}

static int team_run(struct slash_call *call, struct err *err)
{
    CLEANUP(members_release) struct members m = {.arena = ARENA_INIT};
    struct str name = team_name(host_team(call->host), &m.arena);
    struct str verb = slash_word(call->args);
    struct str rest = str_trim(str_from(call->args, verb.len));
    const struct mate_row *r;

    if (verb.len && (!rest.len || !str_is_word_of(verb, "view end kill")))
        return err_set(err, ERR_BAD_INPUT, "usage: /team %s", slash_team_entry.hint);
    if (!name.len) {
        slash_say(call, INK_PLAIN,
                  STR("This session has no team. Ask for one: \"make a team of three …\".\n"));
        return 0;
    }
    team_each(host_team(call->host), collect, &m);
    if (!verb.len && call->front)
        return team_choose(call, name, err);
    if (!verb.len) {
        say_members(call, name, &m);
        return say_board(call, err);
    }
    if (str_is(verb, "end") && str_is(rest, "idle"))
        return end_idle(call, &m, err);
    r = member_find(&m, rest);
    if (!r)
        return err_set(err, ERR_NOT_FOUND, "there is no member '%.*s'; /team lists them",
                       STR_ARG(str_clip(rest, 64)));
    return member_do(call, verb, r, err);
}
