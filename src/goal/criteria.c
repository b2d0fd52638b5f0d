/*
 * What a goal is judged by, changed while it is there: checks and protected files. Any thread, with
 * the permit held, but for the run of a new check.
 */
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "goal/inside.h"
#include "json/json.h"
#include "json/jw.h"

/* ---- The list of protected files ---- */

/* Writes the list, and the column that refers to it. */
static int keep_protection(struct goal *g, const struct protect *p, const struct strv *globs,
                           struct buf *ret_column, struct err *err)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(1 << 10);
    CLEANUP(mem_freep) char *path = NULL;
    char sha256[SHA256_HEX + 1];
    struct jw w;

    buf_addf(&name, "goal-%.*s.protect", STR_ARG(g->row.goal_id));
    path = path_join(g->spec.folder, buf_cstr(&name));
    if (protect_write(p, path, sha256, err) < 0)
        return -1;
    jw_init(&w, ret_column, 0);
    jw_object(&w);
    jw_kcstr(&w, "manifest", path);
    jw_kcstr(&w, "sha256", sha256);
    jw_ki64(&w, "count", (int64_t)protect_count(p));
    jw_key(&w, "globs");
    jw_array(&w);
    for (size_t i = 0; i < globs->len; i++)
        jw_cstr(&w, globs->ptr[i]);
    jw_array_end(&w);
    jw_object_end(&w);
    return 0;
}

/* The list anew: everything as it is now. */
static int retake_protection(struct goal *g, const struct strv *globs, struct cancel *cancel,
                             struct buf *ret_column, size_t *ret_count, struct strv *ret_notes,
                             struct err *err)
{
    CLEANUP(strv_release) struct strv checks = STRV_INIT;
    struct protect_spec spec = {
        .dir = g->spec.dir,
        .globs = globs,
        .checks = &checks,
        .environ = g->spec.environ,
    };
    struct protect *p = NULL;
    int r;

    goal_checks(g, &checks);
    if (protect_take(&spec, cancel, &p, ret_notes, err) < 0)
        return -1;
    *ret_count = protect_count(p);
    r = keep_protection(g, p, globs, ret_column, err);
    protect_free(p);
    return r;
}

static void protect_globs(const struct goal *g, struct strv *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;

    if (!g->row.protect.len ||
        json_parse(&arena, g->row.protect, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    JSON_EACH(json_get(v, "globs"), it) {
        strv_add(ret, json_str(it));
    }
}

/* The list of the row: 1; 0: nothing is protected; -1: it cannot be trusted any more. */
static int read_protection(const struct goal *g, struct protect **ret, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;

    *ret = NULL;
    if (!g->row.protect.len)
        return 0;
    if (json_parse(&arena, g->row.protect, &v, /*ret_info=*/NULL, err) < 0)
        return -1;
    if (json_get_bool(v, "none", false))
        return 0;
    return protect_read(arena_cstr(&arena, json_get_str(v, "manifest")), json_get_str(v, "sha256"),
                        ret, err) < 0
               ? -1
               : 1;
}

/* What these name comes on top; nothing that is protected already is looked at again, or whoever
 * adds a file would accept what the agent did to the others. */
static int extend_protection(struct goal *g, struct protect **p, const struct strv *globs,
                             const struct strv *checks, struct cancel *cancel,
                             struct strv *ret_notes, struct err *err)
{
    struct protect_spec spec = {
        .dir = g->spec.dir,
        .globs = globs,
        .checks = checks,
        .environ = g->spec.environ,
        .is_named_only = true,
    };

    return *p ? protect_extend(*p, &spec, cancel, ret_notes, err)
              : protect_take(&spec, cancel, p, ret_notes, err);
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
static int protect_for_check(struct goal *g, struct str command, struct cancel *cancel,
                             struct buf *ret_column, size_t *ret_added, struct strv *ret_notes,
                             struct err *err)
{
    CLEANUP(strv_release) struct strv commands = STRV_INIT;
    CLEANUP(strv_release) struct strv none = STRV_INIT;
    CLEANUP(strv_release) struct strv globs = STRV_INIT;
    struct protect *p = NULL;
    size_t before;
    int r;

    if (read_protection(g, &p, /*err=*/NULL) <= 0)
        return 0;
    strv_add(&commands, command);
    protect_globs(g, &globs);
    before = protect_count(p);
    r = extend_protection(g, &p, &none, &commands, cancel, ret_notes, err);
    if (r == 0) {
        *ret_added = protect_count(p) - before;
        r = keep_protection(g, p, &globs, ret_column, err);
    }
    protect_free(p);
    return r;
}

/* It is run once first, without the permit. */
int change_check(struct goal *g, const struct goal_argument *what, struct cancel *cancel,
                 struct goal_answer *ret, struct err *err)
{
    CLEANUP(strv_release) struct strv commands = STRV_INIT;
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    CLEANUP(buf_release) struct buf protect = BUF_INIT(GOAL_MAX_TEXT);
    CLEANUP(check_result_release) struct check_result r = {0};
    struct check_spec spec = {
        .command = buf_str(&what->text),
        .dir = g->spec.dir,
        .environ = g->spec.environ,
        .sandbox = goal_sandbox(g),
    };
    size_t added = 0;
    int rc;

    if (spec.command.len > CHECK_MAX_COMMAND)
        return err_set(err, ERR_TOO_BIG, "a check has at most %zu bytes", CHECK_MAX_COMMAND);
    lock_give(&g->permit);
    rc = check_run(&spec, cancel, &r, err);
    lock_take(&g->permit);
    if (rc < 0 || goal_need(g, err) < 0)
        return -1;
    goal_checks(g, &commands);
    if (commands.len >= CHECK_MAX)
        return err_set(err, ERR_TOO_BIG, "a goal has at most %d checks", CHECK_MAX);
    strv_add(&commands, spec.command);
    if (protect_for_check(g, spec.command, cancel, &protect, &added, &notes, err) < 0 ||
        put_checks(g, &commands, buf_str(&protect), err) < 0)
        return -1;
    buf_addf(&ret->text, "Check %zu added: %.*s (%s)", commands.len, STR_ARG(spec.command),
             r.passed ? "weak: it passes already" : "fails now, as it should");
    if (added)
        buf_addf(&ret->text, "\n  %zu more protected file%s", added, added == 1 ? "" : "s");
    for (size_t i = 0; i < notes.len; i++)
        buf_addf(&ret->text, "\n  note: %s", notes.ptr[i]);
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

int change_protect(struct goal *g, const struct goal_argument *what, struct cancel *cancel,
                   struct goal_answer *ret, struct err *err)
{
    CLEANUP(strv_release) struct strv globs = STRV_INIT;
    CLEANUP(strv_release) struct strv glob = STRV_INIT;
    CLEANUP(strv_release) struct strv none = STRV_INIT;
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    CLEANUP(buf_release) struct buf column = BUF_INIT(GOAL_MAX_TEXT);
    struct str text;
    struct goal_update u = {.protect = &text};
    struct protect *p = NULL;
    size_t before = 0, count = 0;
    int r = 0;

    if (goal_need(g, err) < 0)
        return -1;
    if (what->options.protect_none) {
        buf_adds(&column, "{\"none\":true}");
    } else {
        if (read_protection(g, &p, err) < 0)
            return err_prefix(err, "first accept that (/goal accept)");
        protect_globs(g, &globs);
        strv_add(&globs, buf_str(&what->text));
        strv_add(&glob, buf_str(&what->text));
        before = p ? protect_count(p) : 0;
        r = extend_protection(g, &p, &glob, &none, cancel, &notes, err);
        if (r == 0) {
            count = protect_count(p);
            r = keep_protection(g, p, &globs, &column, err);
        }
        protect_free(p);
    }
    text = buf_str(&column);
    if (r == 0)
        r = goal_update(g, &u, "edited", STR("{}"), err);
    if (r < 0)
        return -1;
    if (r == 0)
        return err_set(err, ERR_BUSY, "the goal was changed by somebody else just now; try again");
    if (what->options.protect_none)
        buf_adds(&ret->text, "Nothing is protected any more.");
    else
        buf_addf(&ret->text, "%zu more file%s protected as %s now; %zu in all.", count - before,
                 count - before == 1 ? " is" : "s are", count - before == 1 ? "it is" : "they are",
                 count);
    for (size_t i = 0; i < notes.len; i++)
        buf_addf(&ret->text, "\n  note: %s", notes.ptr[i]);
    return 0;
}

/* Changes to protected files that the user finds right. */
int change_accept(struct goal *g, const struct goal_argument *what, struct cancel *cancel,
                  struct goal_answer *ret, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(strv_release) struct strv globs = STRV_INIT;
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    CLEANUP(buf_release) struct buf column = BUF_INIT(GOAL_MAX_TEXT);
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 12);
    const struct json *v = NULL;
    struct str path = buf_str(&what->text);
    struct str text;
    struct goal_update u = {.protect = &text};
    struct protect *p = NULL;
    char sha256[SHA256_HEX + 1];
    size_t count = 0;
    struct err why = {0};
    struct jw w;
    int r = 0;

    if (goal_need(g, err) < 0)
        return -1;
    if (!g->row.protect.len || json_parse(&arena, g->row.protect, &v, NULL, err) < 0 ||
        json_get_bool(v, "none", false)) {
        buf_adds(&ret->text, "Nothing is protected, so there is nothing to accept.");
        return 0;
    }
    if (str_is(path, "all"))
        path = STR("");
    if (protect_read(arena_cstr(&arena, json_get_str(v, "manifest")), json_get_str(v, "sha256"), &p,
                     &why) < 0) {
        protect_globs(g, &globs);
        r = retake_protection(g, &globs, cancel, &column, &count, &notes, err);
    } else {
        const char *manifest = arena_cstr(&arena, json_get_str(v, "manifest"));

        r = protect_accept(p, path, cancel, &count, err);
        if (r == 0)
            r = protect_write(p, manifest, sha256, err);
        protect_free(p);
        jw_init(&w, &column, 0);
        jw_object(&w);
        jw_kcstr(&w, "manifest", manifest);
        jw_kcstr(&w, "sha256", sha256);
        jw_kjson(&w, "count", json_get(v, "count"));
        jw_kjson(&w, "globs", json_get(v, "globs"));
        jw_object_end(&w);
    }
    if (r < 0)
        return -1;
    text = buf_str(&column);
    goal_tell_begin(g, &w, &data);
    jw_key(&w, "paths");
    jw_array(&w);
    jw_str(&w, path.len ? path : STR("all"));
    jw_array_end(&w);
    jw_object_end(&w);
    if (goal_update(g, &u, "accept", buf_str(&data), err) < 0)
        return -1;
    buf_addf(&ret->text, "%zu change%s accepted.", count, count == 1 ? "" : "s");
    return 0;
}
