/*
 * What a goal is judged by, changed while it is there: checks and protected files. Any thread, with
 * the permit held, but given back while a new check is run and while files are looked at.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "goal/inside.h"
#include "json/json.h"
#include "json/jw.h"

/* ---- The list of protected files ---- */

/* It is read, and files are hashed, without the permit, which may take long. So what that begins
 * with is copied, and nothing is written when somebody has changed it meanwhile. */
struct protection {
    char goal_id[ID_UUID_LEN + 1];
    struct buf column; /* of the row */
    struct strv globs, checks;
    bool is_none;      /* nothing is protected */
    struct protect *p; /* the list; NULL: none was read or made yet */
    struct strv notes;
};

static void protection_release(struct protection *n)
{
    buf_release(&n->column);
    strv_release(&n->globs);
    strv_release(&n->checks);
    strv_release(&n->notes);
    protect_free(n->p);
}

/* As the row has it; the permit is held. */
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
    n->is_none = !v || json_get_bool(v, "none", false);
    JSON_EACH(json_get(v, "globs"), it) {
        strv_add(&n->globs, json_str(it));
    }
    return 0;
}

/* -1: the list cannot be trusted any more. Without the permit, as all that looks at files. */
static int protection_read(struct protection *n, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;

    if (n->is_none)
        return 0;
    if (json_parse(&arena, buf_str(&n->column), &v, /*ret_info=*/NULL, err) < 0)
        return -1;
    return protect_read(arena_cstr(&arena, json_get_str(v, "manifest")), json_get_str(v, "sha256"),
                        &n->p, err);
}

/* The list anew: everything as it is now. */
static int protection_retake(struct goal *g, struct protection *n, struct cancel *cancel,
                             struct err *err)
{
    struct protect_spec spec = {
        .dir = g->spec.dir,
        .globs = &n->globs,
        .checks = &n->checks,
        .environ = g->spec.environ,
    };

    return protect_take(&spec, cancel, &n->p, &n->notes, err);
}

/* What these name comes on top; nothing that is protected already is looked at again, or whoever
 * adds a file would accept what the agent did to the others. */
static int protection_extend(struct goal *g, struct protection *n, const struct strv *globs,
                             const struct strv *checks, struct cancel *cancel, struct err *err)
{
    struct protect_spec spec = {
        .dir = g->spec.dir,
        .globs = globs,
        .checks = checks,
        .environ = g->spec.environ,
        .is_named_only = true,
    };

    return n->p ? protect_extend(n->p, &spec, cancel, &n->notes, err)
                : protect_take(&spec, cancel, &n->p, &n->notes, err);
}

/* The permit is held again: still the same goal, with the same list? */
static int protection_check(struct goal *g, const struct protection *n, struct err *err)
{
    if (goal_need(g, err) < 0)
        return -1;
    if (str_is(g->row.goal_id, n->goal_id) && str_eq(g->row.protect, buf_str(&n->column)))
        return 0;
    return err_set(err, ERR_BUSY, "the goal was changed by somebody else just now; try again");
}

/* Writes the list, and the column that refers to it. */
static int protection_keep(struct goal *g, const struct protection *n, struct buf *ret_column,
                           struct err *err)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(1 << 10);
    CLEANUP(mem_freep) char *path = NULL;
    char sha256[SHA256_HEX + 1];
    struct jw w;

    buf_addf(&name, "goal-%s.protect", n->goal_id);
    path = path_join(g->spec.folder, buf_cstr(&name));
    if (protect_write(n->p, path, sha256, err) < 0)
        return -1;
    jw_init(&w, ret_column, 0);
    jw_object(&w);
    jw_kcstr(&w, "manifest", path);
    jw_kcstr(&w, "sha256", sha256);
    jw_ki64(&w, "count", (int64_t)protect_count(n->p));
    jw_key(&w, "globs");
    jw_array(&w);
    for (size_t i = 0; i < n->globs.len; i++)
        jw_cstr(&w, n->globs.ptr[i]);
    jw_array_end(&w);
    jw_object_end(&w);
    return 0;
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
        return err_set(err, ERR_BUSY, "the goal was changed by somebody else just now; try again");
    goal_tell(g, "goal_updated", buf_str(&data));
    return 0;
}

/* What a new check leads to is protected like that of the others. Nothing, where nothing is; and a
 * list that cannot be trusted stands in the way until the user has accepted that. */
static int protect_for_check(struct goal *g, struct protection *n, struct str command,
                             struct cancel *cancel, size_t *ret_added, struct err *err)
{
    CLEANUP(strv_release) struct strv commands = STRV_INIT;
    CLEANUP(strv_release) struct strv none = STRV_INIT;
    size_t before;

    if (protection_read(n, /*err=*/NULL) < 0 || !n->p)
        return 0;
    strv_add(&commands, command);
    before = protect_count(n->p);
    if (protection_extend(g, n, &none, &commands, cancel, err) < 0)
        return -1;
    *ret_added = protect_count(n->p) - before;
    return 0;
}

/* The permit is held again. */
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
    if (n->p && protection_keep(g, n, &protect, err) < 0)
        return -1;
    return put_checks(g, ret, buf_str(&protect), err);
}

/* It is run once first. */
int change_check(struct goal *g, const struct goal_argument *what, struct cancel *cancel,
                 struct goal_answer *ret, struct err *err)
{
    CLEANUP(strv_release) struct strv commands = STRV_INIT;
    CLEANUP(protection_release) struct protection n = {0};
    CLEANUP(check_result_release) struct check_result r = {0};
    struct check_spec spec = {
        .command = buf_str(&what->text),
        .dir = g->spec.dir,
        .environ = g->spec.environ,
        .sandbox = goal_sandbox(g),
    };
    size_t added = 0;
    int rc;

    if (protection_begin(g, &n, err) < 0)
        return -1;
    if (spec.command.len > CHECK_MAX_COMMAND)
        return err_set(err, ERR_TOO_BIG, "a check has at most %zu bytes", CHECK_MAX_COMMAND);
    lock_give(&g->permit);
    rc = check_run(&spec, cancel, &r, err);
    if (rc == 0)
        rc = protect_for_check(g, &n, spec.command, cancel, &added, err);
    lock_take(&g->permit);
    if (rc < 0 || add_check(g, &n, spec.command, &commands, err) < 0)
        return -1;
    buf_addf(&ret->text, "Check %zu added: %.*s (%s)", commands.len, STR_ARG(spec.command),
             r.passed ? "weak: it passes already" : "fails now, as it should");
    if (added)
        buf_addf(&ret->text, "\n  %zu more protected file%s", added, added == 1 ? "" : "s");
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

/* 0: the column is in the row, and so is what the ledger says of it. The permit is held. */
static int put_protect(struct goal *g, struct str column, const char *kind, struct str data,
                       struct err *err)
{
    struct goal_update u = {.protect = &column};
    int r = goal_update(g, &u, kind, data, err);

    if (r == 0)
        return err_set(err, ERR_BUSY, "the goal was changed by somebody else just now; try again");
    return r < 0 ? -1 : 0;
}

static int protect_nothing(struct goal *g, struct goal_answer *ret, struct err *err)
{
    if (goal_need(g, err) < 0 ||
        put_protect(g, STR("{\"none\":true}"), "edited", STR("{}"), err) < 0)
        return -1;
    buf_adds(&ret->text, "Nothing is protected any more.");
    return 0;
}

/* Without the permit. */
static int protect_more(struct goal *g, struct protection *n, struct str glob,
                        struct cancel *cancel, size_t *ret_before, struct err *err)
{
    CLEANUP(strv_release) struct strv globs = STRV_INIT;
    CLEANUP(strv_release) struct strv none = STRV_INIT;

    if (protection_read(n, err) < 0)
        return err_prefix(err, "first accept that (/goal accept)");
    strv_add(&n->globs, glob);
    strv_add(&globs, glob);
    *ret_before = n->p ? protect_count(n->p) : 0;
    return protection_extend(g, n, &globs, &none, cancel, err);
}

int change_protect(struct goal *g, const struct goal_argument *what, struct cancel *cancel,
                   struct goal_answer *ret, struct err *err)
{
    CLEANUP(protection_release) struct protection n = {0};
    CLEANUP(buf_release) struct buf column = BUF_INIT(GOAL_MAX_TEXT);
    size_t before = 0, added;
    int r;

    if (what->options.protect_none)
        return protect_nothing(g, ret, err);
    if (protection_begin(g, &n, err) < 0)
        return -1;
    lock_give(&g->permit);
    r = protect_more(g, &n, buf_str(&what->text), cancel, &before, err);
    lock_take(&g->permit);
    if (r < 0 || protection_check(g, &n, err) < 0 || protection_keep(g, &n, &column, err) < 0 ||
        put_protect(g, buf_str(&column), "edited", STR("{}"), err) < 0)
        return -1;
    added = protect_count(n.p) - before;
    buf_addf(&ret->text, "%zu more file%s protected as %s now; %zu in all.", added,
             added == 1 ? " is" : "s are", added == 1 ? "it is" : "they are", protect_count(n.p));
    say_notes(&n.notes, &ret->text);
    return 0;
}

/* Without the permit. A list that cannot be trusted is made anew, whatever path says. */
static int accept_changes(struct goal *g, struct protection *n, struct str path,
                          struct cancel *cancel, size_t *ret_count, struct err *err)
{
    if (protection_read(n, /*err=*/NULL) == 0)
        return protect_accept(n->p, path, cancel, ret_count, err);
    if (protection_retake(g, n, cancel, err) < 0)
        return -1;
    *ret_count = protect_count(n->p);
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

/* Changes to protected files that the user finds right. */
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
    if (n.is_none) {
        buf_adds(&ret->text, "Nothing is protected, so there is nothing to accept.");
        return 0;
    }
    if (str_is(path, "all"))
        path = STR("");
    lock_give(&g->permit);
    r = accept_changes(g, &n, path, cancel, &count, err);
    lock_take(&g->permit);
    if (r < 0 || protection_check(g, &n, err) < 0 || protection_keep(g, &n, &column, err) < 0)
        return -1;
    write_accepted(g, path, &data);
    if (put_protect(g, buf_str(&column), "accept", buf_str(&data), err) < 0)
        return -1;
    buf_addf(&ret->text, "%zu change%s accepted.", count, count == 1 ? "" : "s");
    return 0;
}
