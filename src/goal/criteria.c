/*
 * What a goal is judged by, changed while it is there: checks and protected files. Any thread, with
 * the permit held, but given back while a new check is run and while files are looked at.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "goal/goal_state.h"
#include "goal/origin/room.h"
#include "json/json.h"
#include "json/jw.h"

/* ---- Where the goal began ---- */

/* Reading files may take long, so the goal is not held then. The inputs are copied, and nothing is
 * written when the goal was changed in the meantime. */
struct protection {
    char goal_id[ID_UUID_LEN + 1];
    struct buf column; /* of the row */
    struct strv globs, checks;
    struct origin *o; /* ours; NULL: not read yet */
    struct strv notes;
};

static void protection_release(struct protection *n)
{
    buf_release(&n->column);
    strv_release(&n->globs);
    strv_release(&n->checks);
    strv_release(&n->notes);
    origin_free(n->o);
}

/* As the row has it; the goal is held. */
static int protection_begin(struct goal *g, struct protection *n, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;

    *n = (struct protection){.column = BUF_INIT(GOAL_MAX_TEXT)};
    if (goal_need(g, err) < 0)
        return -1;
    snprintf(n->goal_id, sizeof(n->goal_id), "%.*s", STR_ARG(g->row.goal_id));
    buf_add(&n->column, g->row.protect);
    goal_checks(g, &n->checks);
    if (g->row.protect.len && json_parse(&arena, g->row.protect, &v, /*ret_info=*/NULL, err) < 0)
        return -1;
    JSON_EACH(json_get(v, "globs"), it) {
        strv_add(&n->globs, json_str(it));
    }
    return 0;
}

/* -1: the stored state cannot be trusted any more. The goal is not held, as always while files are
 * read. */
static int protection_read(struct goal *g, struct protection *n, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;

    if (json_parse(&arena, buf_str(&n->column), &v, /*ret_info=*/NULL, err) < 0)
        return -1;
    return origin_read(arena_cstr(&arena, json_get_str(v, "manifest")), g->spec.environ,
                       json_get_str(v, "sha256"), &n->o, err);
}

/* Everything as it is now. */
static int protection_retake(struct goal *g, struct protection *n, struct cancel *cancel,
                             struct err *err)
{
    CLEANUP(mem_freep) char *folder = goal_folder(g, n->goal_id);
    struct origin_spec spec = {
        .dir = g->spec.dir,
        .folder = folder,
        .environ = g->spec.environ,
        .globs = &n->globs,
        .keep = &g->options.keep,
        .checks = &n->checks,
    };

    return origin_take(&spec, cancel, &n->o, &n->notes, err);
}

/* The goal is held again: still the same goal, with the same terms? */
static int protection_check(struct goal *g, const struct protection *n, struct err *err)
{
    if (goal_need(g, err) < 0)
        return -1;
    if (str_is(g->row.goal_id, n->goal_id) && str_eq(g->row.protect, buf_str(&n->column)))
        return 0;
    return err_set(err, ERR_BUSY, "the goal was changed at the same time; try again");
}

static void say_notes(const struct strv *notes, struct buf *ret)
{
    for (size_t i = 0; i < notes->len; i++)
        buf_addf(ret, "\n  note: %s", notes->ptr[i]);
}

/* ---- Checks ---- */

/* protect: the column, which changes with them; empty: it stays. */
static int put_checks(struct goal *g, const struct strv *commands, struct str protect,
                      struct err *err)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(GOAL_MAX_TEXT);
    CLEANUP(buf_release) struct buf data = BUF_INIT(GOAL_MAX_EVENT);
    struct str column;
    struct goal_update u = {.checks = &column, .protect = protect.len ? &protect : NULL};
    struct jw w;
    int r;

    goal_write_checks(commands, &json);
    column = buf_str(&json);
    goal_tell_begin(g, &w, &data);
    jw_key(&w, "checks");
    jw_array(&w);
    for (size_t i = 0; i < commands->len; i++)
        jw_str(&w, str_clip(str_of(commands->ptr[i]), 1 << 10));
    jw_array_end(&w);
    jw_object_end(&w);
    r = goal_update(g, &u, "checks", buf_str(&data), err);
    if (r < 0)
        return -1;
    if (r == 0)
        return err_set(err, ERR_BUSY, "the goal was changed at the same time; try again");
    goal_tell(g, "goal_updated", buf_str(&data));
    return 0;
}

/* It is run once first, in a clean room, and what it reads is protected. The goal is not held. */
static int run_new_check(struct goal *g, struct protection *n, const char *command,
                         struct cancel *cancel, struct check_result *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf why = BUF_INIT(1 << 12);
    CLEANUP(origin_now_release) struct origin_now now = ORIGIN_NOW_INIT;
    struct check_spec spec = {
        .command = str_of(command),
        .dir = g->spec.dir,
        .environ = g->spec.environ,
        .sandbox = goal_sandbox(g),
    };
    int rc;

    if (protection_read(g, n, err) < 0)
        return err_prefix(err, "first accept the present state (/goal accept all)");
    rc = origin_look(n->o, cancel, &now, err);
    if (rc == 0 && !g->options.in_workspace)
        rc = goal_room(g, n->o, &now, /*hides_built=*/false, /*on_disk=*/false, cancel, &spec.room,
                       &why, err);
    if (rc == 0)
        rc = check_run(&spec, cancel, ret, err);
    room_free(spec.room);
    return rc < 0 ? -1
                  : origin_add_check(n->o, command, &now, &ret->trace, &ret->touched, cancel, err);
}

/* The goal is held again. */
static int add_check(struct goal *g, struct protection *n, struct str command, struct strv *ret,
                     struct err *err)
{
    CLEANUP(buf_release) struct buf protect = BUF_INIT(GOAL_MAX_TEXT);

    if (protection_check(g, n, err) < 0)
        return -1;
    goal_checks(g, ret);
    if (ret->len >= CHECK_MAX)
        return err_set(err, ERR_TOO_BIG, "a goal has at most %d checks", CHECK_MAX);
    strv_add(ret, command);
    if (goal_write_origin(n->o, &protect, err) < 0)
        return -1;
    return put_checks(g, ret, buf_str(&protect), err);
}

int change_check(struct goal *g, const struct goal_argument *what, struct cancel *cancel,
                 struct goal_answer *ret, struct err *err)
{
    CLEANUP(strv_release) struct strv commands = STRV_INIT;
    CLEANUP(protection_release) struct protection n = {0};
    CLEANUP(check_result_release) struct check_result r = {0};
    struct str command = buf_str(&what->text);
    const char *complaint;
    int rc;

    if (protection_begin(g, &n, err) < 0)
        return -1;
    if (command.len > CHECK_MAX_COMMAND)
        return err_set(err, ERR_TOO_BIG, "a check has at most %zu bytes", CHECK_MAX_COMMAND);
    goal_leave(g);
    rc = run_new_check(g, &n, buf_cstr(&what->text), cancel, &r, err);
    complaint = rc == 0 ? check_complaint(&r) : NULL;
    if (complaint) {
        strv_addf(&n.notes, "it cannot be run as it is: %s. Is it right?", complaint);
        if (ret->ask_check)
            rc = ret->ask_check(ret->arg, str_of(complaint), err);
    }
    goal_enter(g);
    if (rc < 0 || add_check(g, &n, command, &commands, err) < 0)
        return -1;
    buf_addf(&ret->text, "Check %zu added: %.*s (%s)", commands.len, STR_ARG(command),
             r.passed    ? "weak: it passes already"
             : complaint ? "cannot be run, see the note"
                         : "fails now, as it should");
    say_notes(&n.notes, &ret->text);
    return 0;
}

int change_check_rm(struct goal *g, size_t number, struct goal_answer *ret, struct err *err)
{
    CLEANUP(strv_release) struct strv commands = STRV_INIT;
    CLEANUP(strv_release) struct strv left = STRV_INIT;

    if (goal_need(g, err) < 0)
        return -1;
    goal_checks(g, &commands);
    if (!number || number > commands.len)
        return err_set(err, ERR_NOT_FOUND, "there is no check %zu; the goal has %zu", number,
                       commands.len);
    if (commands.len == 1 && g->options.referee == REFEREE_CHECKS)
        return err_set(err, ERR_BAD_INPUT,
                       "it is the last check, and checks alone decide: add another first, or set "
                       "the goal anew with --referee judge");
    for (size_t i = 0; i < commands.len; i++) {
        if (i + 1 != number)
            strv_adds(&left, commands.ptr[i]);
    }
    if (put_checks(g, &left, /*protect=*/STR(""), err) < 0)
        return -1;
    buf_addf(&ret->text, "Check removed: %s", commands.ptr[number - 1]);
    return 0;
}

/* ---- Protected files ---- */

/* 0: the column is in the row, and so is what the ledger says of it. The goal is held. */
static int put_protect(struct goal *g, struct str column, const char *kind, struct str data,
                       struct err *err)
{
    struct goal_update u = {.protect = &column};
    int r = goal_update(g, &u, kind, data, err);

    if (r == 0)
        return err_set(err, ERR_BUSY, "the goal was changed at the same time; try again");
    return r < 0 ? -1 : 0;
}

/* Nothing is protected any more; the origin stays what the clean room is made from. */
static int protect_nothing(struct goal *g, struct protection *n, struct err *err)
{
    if (protection_read(g, n, err) < 0)
        return -1;
    n->o->protects_nothing = true;
    strv_clear(&n->o->globs);
    VEC_EACH(&n->o->files.entries, e) {
        e->flags &= ~(unsigned)(INVENTORY_PROTECTED | INVENTORY_ORDERS);
    }
    return 0;
}

/* The goal is not held. */
static int protect_more(struct goal *g, struct protection *n, struct str glob,
                        struct cancel *cancel, size_t *ret_before, struct err *err)
{
    if (protection_read(g, n, err) < 0)
        return err_prefix(err, "first accept the present state (/goal accept all)");
    *ret_before = origin_count(n->o);
    return origin_protect(n->o, glob, cancel, &n->notes, err);
}

int change_protect(struct goal *g, const struct goal_argument *what, struct cancel *cancel,
                   struct goal_answer *ret, struct err *err)
{
    CLEANUP(protection_release) struct protection n = {0};
    CLEANUP(buf_release) struct buf column = BUF_INIT(GOAL_MAX_TEXT);
    bool is_none = what->options.protect_none;
    size_t before = 0, added;
    int r;

    if (protection_begin(g, &n, err) < 0)
        return -1;
    goal_leave(g);
    r = is_none ? protect_nothing(g, &n, err)
                : protect_more(g, &n, buf_str(&what->text), cancel, &before, err);
    goal_enter(g);
    if (r < 0 || protection_check(g, &n, err) < 0 || goal_write_origin(n.o, &column, err) < 0 ||
        put_protect(g, buf_str(&column), "edited", STR("{}"), err) < 0)
        return -1;
    if (is_none) {
        buf_adds(&ret->text, "Nothing is protected any more.");
        return 0;
    }
    added = origin_count(n.o) - before;
    buf_addf(&ret->text, "%zu more file%s protected as %s now; %zu in all.", added,
             added == 1 ? " is" : "s are", added == 1 ? "it is" : "they are", origin_count(n.o));
    say_notes(&n.notes, &ret->text);
    return 0;
}

/* The goal is not held. An origin that cannot be trusted is taken again, whatever the path is. */
static int accept_changes(struct goal *g, struct protection *n, struct str path,
                          struct cancel *cancel, size_t *ret_count, struct err *err)
{
    if (protection_read(g, n, /*err=*/NULL) == 0)
        return origin_accept(n->o, path, cancel, ret_count, err);
    if (protection_retake(g, n, cancel, err) < 0)
        return -1;
    *ret_count = origin_count(n->o);
    return 0;
}

static void write_accepted(struct goal *g, struct str path, struct buf *ret)
{
    struct jw w;

    goal_tell_begin(g, &w, ret);
    jw_key(&w, "paths");
    jw_array(&w);
    jw_str(&w, path.len ? path : STR("all"));
    jw_array_end(&w);
    jw_object_end(&w);
}

/* Changes that the user accepts. */
int change_accept(struct goal *g, const struct goal_argument *what, struct cancel *cancel,
                  struct goal_answer *ret, struct err *err)
{
    CLEANUP(protection_release) struct protection n = {0};
    CLEANUP(buf_release) struct buf column = BUF_INIT(GOAL_MAX_TEXT);
    CLEANUP(buf_release) struct buf data = BUF_INIT(GOAL_MAX_EVENT);
    struct str path = buf_str(&what->text);
    size_t count = 0;
    int r;

    if (protection_begin(g, &n, err) < 0)
        return -1;
    if (str_is(path, "all"))
        path = STR("");
    goal_leave(g);
    r = accept_changes(g, &n, path, cancel, &count, err);
    goal_enter(g);
    if (r < 0 || protection_check(g, &n, err) < 0 || goal_write_origin(n.o, &column, err) < 0)
        return -1;
    write_accepted(g, path, &data);
    if (put_protect(g, buf_str(&column), "accept", buf_str(&data), err) < 0)
        return -1;
    strv_clear(&g->memory.changed);
    buf_addf(&ret->text, "%zu change%s accepted.", count, count == 1 ? "" : "s");
    return 0;
}
