/*
 * What stands between a check that passes and a goal that is met: protected files that changed,
 * programs that were exchanged, a check that no longer does what it did. Any thread.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "goal/origin/digest.h"
#include "goal/origin/names.h"
#include "goal/origin/origin.h"
#include "goal/origin/shadow.h"
#include "json/json.h"

#define EXPLAIN_MAX 40 /* objections that are named */

void objections_release(objection_vec *v)
{
    VEC_EACH(v, o) {
        mem_freep(&o->path);
        mem_freep(&o->why);
    }
    vec_release(v);
}

void objection_add(objection_vec *v, enum objection_what what, struct str path, const char *why)
{
    VEC_EACH(v, o) {
        if (o->what == what && str_is(path, o->path))
            return;
    }
    vec_push(v, ((struct objection){.what = what,
                                    .path = mem_dup(path.ptr, path.len),
                                    .why = mem_dup(why, strlen(why))}));
}

const char *objection_name(enum objection_what w)
{
    static const char *const names[] = {
        [OBJECTION_CHANGED] = "changed",
        [OBJECTION_GONE] = "gone",
        [OBJECTION_MODE] = "has other permissions",
        [OBJECTION_NEW] = "is new",
        [OBJECTION_PROGRAM] = "is another program now",
        [OBJECTION_OUTSIDE] = "changed after the goal was set",
        [OBJECTION_UNRUN] = "no longer runs",
        [OBJECTION_TOUCHED] = "is changed by the run of the check",
        [OBJECTION_MOVED] = "changed while the check ran",
        [OBJECTION_UNSEEN] = "cannot be compared any more",
    };

    return names[w];
}

/* ---- protected files ---- */

void origin_protected(const struct origin *o, const struct origin_now *now, objection_vec *ret)
{
    if (o->files.is_whole && !now->files.is_whole)
        objection_add(ret, OBJECTION_UNSEEN, str_of(o->dir),
                      "it has more files than can be looked at: remove what came since");
    VEC_EACH(&now->changes, c) {
        CLEANUP(mem_freep) char *why = NULL;

        if (change_closes(c)) {
            objection_add(ret, OBJECTION_MODE, c->is->path,
                          "it cannot be read: a search would take that for nothing found");
            continue;
        }
        if (!c->was || !(c->was->flags & INVENTORY_PROTECTED))
            continue;
        why = mem_dup(c->was->why.ptr, c->was->why.len);
        objection_add(ret,
                      c->how == INVENTORY_GONE   ? OBJECTION_GONE
                      : c->how == INVENTORY_MODE ? OBJECTION_MODE
                                                 : OBJECTION_CHANGED,
                      c->was->path, why);
    }
}

/* ---- a check that does less ---- */

/* Tests that were read, and whatever was run in the workspace. */
static bool counts(const struct origin *o, struct str path)
{
    const struct inventory_entry *e = inventory_find(&o->files, path);

    return e && e->flags & INVENTORY_TREE && !name_is_derived(path);
}

static bool is_done(const struct trace *trace, struct str path)
{
    return trace_has(&trace->ran, path) || trace_has(&trace->used, path);
}

/* A program that was built runs under a name that may change with its content. */
static size_t count_built(const struct origin *o, const struct strv *ran)
{
    size_t count = 0;

    for (size_t i = 0; i < ran->len; i++)
        count += !counts(o, str_of(ran->ptr[i]));
    return count;
}

static void compare_runs(const struct origin *o, const struct origin_check *first,
                         const struct trace *trace, objection_vec *ret, struct strv *ret_partial)
{
    const struct strv *lists[] = {&first->trace.ran, &first->trace.used};
    CLEANUP(strv_release) struct strv missing = STRV_INIT;
    size_t left = 0;

    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        for (size_t i = 0; i < lists[l]->len; i++) {
            struct str path = str_of(lists[l]->ptr[i]);

            if (!counts(o, path) || (l == 1 && name_kind(path) != NAME_TEST) ||
                strv_has(&missing, path))
                continue;
            if (is_done(trace, path))
                left++;
            else
                strv_add(&missing, path);
        }
    }
    if (count_built(o, &first->trace.ran) && !count_built(o, &trace->ran)) {
        if (left)
            strv_adds(ret_partial, "(a program that was built)");
        else
            objection_add(ret, OBJECTION_UNRUN, str_of(first->command),
                          "the check ran a program that it had built; now it runs none");
    }
    for (size_t i = 0; i < missing.len; i++) {
        struct str path = str_of(missing.ptr[i]);

        if (!left)
            objection_add(ret, OBJECTION_UNRUN, path,
                          "the check ran it when the goal was set, and does nothing of that now");
        else if (name_kind(path) == NAME_TEST)
            objection_add(ret, OBJECTION_UNRUN, path, "a test that ran when the goal was set");
        else
            strv_add(ret_partial, path);
    }
}

/* ---- what has a say in the check and had none ---- */

/* "make test" does nothing where a file called "test" is in its way. */
static bool is_target(struct str command, struct str path)
{
    struct str word;
    bool is_make = false;

    if (str_chr(path, '/') < path.len)
        return false;
    while (str_cut(&command, ' ', &word)) {
        word = str_trim(word);
        if (is_make && str_eq(word, path))
            return true;
        is_make = is_make || str_is_word_of(word, "make gmake");
    }
    return false;
}

/* A manifest that is new says more than what it depends on: runners have their settings there. */
static bool has_orders(const struct origin *o, struct str path)
{
    static const char free_keys[] =
        "name version private description license author authors repository keywords homepage bugs "
        "engines files dependencies devDependencies peerDependencies optionalDependencies "
        "bundledDependencies require require-dev autoload autoload-dev";
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(mem_freep) char *full = path_join(o->dir, path.ptr);
    CLEANUP(buf_release) struct buf text = {0};
    const struct json *root;
    bool is_free = false;
    struct str rest, line;

    if (file_slurp(full, (size_t)INVENTORY_SMALL, &text, /*err=*/NULL) < 0)
        return true;
    if (str_ends(path, STR(".json"))) {
        if (json_parse(&arena, buf_str(&text), &root, NULL, NULL) < 0)
            return true;
        JSON_EACH(root, member) {
            if (!str_is_word_of(json_key(member), free_keys))
                return true;
        }
        return false;
    }
    rest = buf_str(&text);
    while (rest.len && str_cut(&rest, '\n', &line)) {
        line = str_trim(line);
        if (str_starts(line, STR("[")))
            is_free = !str_starts(line, STR("[tool.")) && !str_starts(line, STR("[target")) &&
                      !str_starts(line, STR("[profile"));
        if (line.len && !is_free && !str_starts(line, STR("#")))
            return true;
    }
    return false;
}

/* By its name, or by that of a hidden folder that it lies in. */
static bool is_named(struct str path, struct str command, struct str condition)
{
    struct str part;

    while (path.len && str_cut(&path, '/', &part)) {
        if ((!path.len || str_starts(part, STR("."))) &&
            (str_has(command, part) || str_has(condition, part)))
            return true;
    }
    return false;
}

/* Why a new file cannot simply be there; false: it can. */
static bool object_to_new(const struct origin *o, struct str path, struct str command,
                          struct str condition, const struct origin_check *first,
                          const struct trace *trace, const struct shadow *shadow,
                          struct buf *ret_why)
{
    bool is_blind = !trace->is_seen || trace->is_cut;
    bool is_used = is_blind || trace_has(&trace->used, path);
    bool is_loaded = is_blind || trace_has(&trace->loaded, path);
    bool was_busy = first->trace.ran.len || !first->trace.is_seen;
    enum name_kind kind = name_kind(path);

    if (is_target(command, path))
        buf_adds(ret_why, "make takes it for its target");
    else if (path_base(path.ptr)[0] == '-')
        buf_adds(ret_why, "its name is that of an option");
    else if (is_used &&
             (kind == NAME_RUNNER || (kind == NAME_TEST && str_ends(path, STR("/__init__.py")))))
        buf_adds(ret_why, "the test runner reads it");
    else if (is_used && was_busy && kind == NAME_ORDERS && has_orders(o, path))
        buf_adds(ret_why, "the test runner reads it");
    else if (is_loaded && name_is_hidden(path) && !is_named(path, command, condition))
        buf_adds(ret_why, "a hidden file that the check reads");
    else if (is_used && kind == NAME_SETTINGS && trace_has(&first->trace.missing, path))
        buf_adds(ret_why, "the check looked for it when the goal was set");
    else if (trace->is_seen && trace_has(&trace->made, path) && first->trace.made.len)
        buf_adds(ret_why, "make reads it"); /* the first makefile there is may be the work */
    else
        return shadow_taken(shadow, path, ret_why);
    return true;
}

static void compare_new(const struct origin *o, const struct origin_now *now, struct str command,
                        struct str condition, const struct origin_check *first,
                        const struct trace *trace, objection_vec *ret)
{
    CLEANUP(shadow_release) struct shadow shadow = {0};

    shadow_find(&shadow, o, now, command, &first->trace, trace);
    VEC_EACH(&now->changes, c) {
        CLEANUP(buf_release) struct buf why = BUF_INIT(BUF_NO_LIMIT);
        struct str path = change_entry(c)->path;

        if (c->how == INVENTORY_NEW && !name_is_derived(path) &&
            object_to_new(o, path, command, condition, first, trace, &shadow, &why))
            objection_add(ret, OBJECTION_NEW, path, buf_cstr(&why));
    }
}

/* Configuration that only this run reads, because the first one stopped before: it counts as if the
 * first had read it. */
static void compare_late(const struct origin *o, const struct origin_now *now, struct str command,
                         const struct trace *trace, objection_vec *ret)
{
    VEC_EACH(&now->changes, c) {
        const char *why = NULL;

        if (!c->was || !c->is || o->protects_nothing || c->was->flags & INVENTORY_PROTECTED)
            continue;
        why = origin_why_read(c->was, command, trace);
        if (why)
            objection_add(ret, OBJECTION_CHANGED, c->was->path, why);
    }
}

static bool is_accepted(const struct origin *o, struct str path)
{
    for (size_t i = 0; i < o->accepted.len; i++) {
        struct str accepted = str_of(o->accepted.ptr[i]);

        if (str_eq(path, accepted) || (str_starts(path, accepted) && path.ptr[accepted.len] == '/'))
            return true;
    }
    return false;
}

static bool is_later(const struct origin *o, const struct stat *st)
{
    return (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec > o->taken_ns;
}

/* Files elsewhere, such as a module in the user's home, that came after the goal was set, or the
 * link that leads to them. only: no others than these, and what every runner loads; may be NULL. */
static void compare_outside(const struct origin *o, const struct strv *files,
                            const struct strv *only, const char *why, objection_vec *ret)
{
    for (size_t i = 0; i < files->len; i++) {
        struct str path = str_of(files->ptr[i]);
        struct stat link, st;

        if (only && !trace_has(only, path) && name_kind(path) != NAME_RUNNER)
            continue;
        if (lstat(files->ptr[i], &link) < 0 || stat(files->ptr[i], &st) < 0 ||
            S_ISDIR(st.st_mode) || S_ISCHR(st.st_mode))
            continue;
        if ((is_later(o, &st) || is_later(o, &link)) && !is_accepted(o, path))
            objection_add(ret, OBJECTION_OUTSIDE, path, why);
    }
}

void origin_compare(const struct origin *o, const struct origin_now *now, struct str command,
                    struct str condition, const struct trace *trace, const struct strv *touched,
                    objection_vec *ret, struct strv *ret_partial)
{
    static const struct origin_check nothing;
    const struct origin_check *first = origin_check_of(o, command);

    if (!first)
        first = &nothing;
    for (size_t i = 0; i < touched->len; i++) {
        if (!strv_has(&first->touched, str_of(touched->ptr[i])))
            objection_add(ret, OBJECTION_TOUCHED, str_of(touched->ptr[i]),
                          "protected files stay as they are while the check runs");
    }
    compare_new(o, now, command, condition, first, trace, ret);
    compare_late(o, now, command, trace, ret);
    if (first->trace.is_seen && (!trace->is_seen || (trace->is_cut && !first->trace.is_cut)))
        objection_add(ret, OBJECTION_UNSEEN, command, "what it runs was observed at first");
    if (!trace->is_seen)
        return;
    compare_outside(o, &trace->programs, /*only=*/NULL, "the check runs it", ret);
    compare_outside(o, &trace->outside, /*only=*/NULL, "the check reads it", ret);
    compare_outside(o, &trace->system, &first->trace.system, "the check reads it", ret);
    if (first->trace.is_seen)
        compare_runs(o, first, trace, ret, ret_partial);
}

int origin_programs(const struct origin *o, struct cancel *cancel, objection_vec *ret,
                    struct err *err)
{
    VEC_EACH(&o->programs, p) {
        CLEANUP(mem_freep) char *real = path_real(p->path.ptr);
        struct digest d;

        digest_look(AT_FDCWD, real ? real : p->path.ptr, &d);
        if (d.size == p->size && d.ctime_ns == p->ctime_ns && d.ino == p->ino)
            continue;
        if (!p->sha256[0]) {
            objection_add(ret, OBJECTION_OUTSIDE, p->path, "a check reads it");
            continue;
        }
        if (digest_read(AT_FDCWD, real ? real : p->path.ptr, cancel, &d, err) < 0)
            return -1;
        if (strcmp(d.sha256, p->sha256) != 0)
            objection_add(ret, OBJECTION_PROGRAM, p->path, "a check runs it");
    }
    return 0;
}

/* ---- in words ---- */

void objections_explain(const objection_vec *v, const char *session, struct buf *ret)
{
    buf_adds(ret, v->len == 1 ? "The goal cannot be complete because of a file that decides it:\n"
                              : "The goal cannot be complete because of files that decide it:\n");
    for (size_t i = 0; i < v->len && i < EXPLAIN_MAX; i++) {
        const struct objection *o = &v->ptr[i];

        buf_addf(ret, "- %s: %s (%s)\n", o->path, objection_name(o->what), o->why);
    }
    if (v->len > EXPLAIN_MAX)
        buf_addf(ret, "- and %zu more\n", v->len - EXPLAIN_MAX);
    buf_addf(ret,
             "Put it back as it was. Only the user can accept the change: /goal accept %s, or "
             "tenax goal accept %s --session %s.\n",
             v->len == 1 ? v->ptr[0].path : "PATH", v->len == 1 ? v->ptr[0].path : "PATH", session);
}
