/*
 * origin: taken once, then compared with. Any thread, one at a time.
 */
#include "goal/origin/origin.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/path_glob.h"
#include "goal/origin/bytes_json.h"
#include "goal/origin/digest.h"
#include "goal/origin/names.h"
#include "json/json.h"
#include "json/jw.h"
#include "sync/cancel.h"

#define ORIGIN_FILE "origin.json"
#define ORIGIN_FORMAT 1
#define ORIGIN_MAX_BYTES ((size_t)1 << 30)
#define ORIGIN_MAX_SCRIPTS 100              /* that are searched for names of refs */
#define ORIGIN_MAX_ASKED ((size_t)15 << 20) /* bytes of paths that git is asked about at once */

void origin_free(struct origin *o)
{
    if (!o)
        return;
    VEC_EACH(&o->checks, c) {
        mem_freep(&c->command);
        trace_release(&c->trace);
        strv_release(&c->touched);
    }
    vec_release(&o->checks);
    vec_release(&o->programs);
    inventory_release(&o->files);
    git_state_release(&o->git);
    strv_release(&o->globs);
    strv_release(&o->keep);
    strv_release(&o->accepted);
    arena_release(&o->arena);
    mem_freep(&o->dir);
    mem_freep(&o->folder);
    mem_freep(&o->git_dir);
    mem_freep(&o->skip);
    mem_freep(&o->excludes);
    mem_freep(&o);
}

static void origin_freep(struct origin **o)
{
    origin_free(*o);
}

/* Our own folder is no part of the work: folder is <home>/goals/<goal>. */
static char *home_inside(const char *dir, const char *folder)
{
    CLEANUP(mem_freep) char *goals = path_dirname(folder);
    CLEANUP(mem_freep) char *home = path_dirname(goals);
    CLEANUP(mem_freep) char *real = path_real(home);
    size_t len = strlen(dir);
    const char *at = real ? real : home;

    if (strncmp(at, dir, len) != 0 || at[len] != '/')
        return NULL;
    return mem_dup(at + len + 1, strlen(at + len + 1));
}

static struct origin *origin_new(const char *dir, const char *folder, char *const *env)
{
    struct origin *o = mem_zalloc(sizeof(*o));

    o->dir = mem_dup(dir, strlen(dir));
    o->excludes = mem_dup("", 0);
    o->folder = mem_dup(folder, strlen(folder));
    o->git_dir = path_join(folder, "git");
    o->environ = env;
    o->skip = home_inside(dir, folder);
    o->files = (struct inventory)INVENTORY_INIT;
    o->files.skip = o->skip;
    o->git = (struct git_state)GIT_STATE_INIT;
    return o;
}

struct tree origin_tree(const struct origin *o)
{
    return (struct tree){.dir = o->dir,
                         .top = o->git.has_git ? o->git.top.ptr : o->dir,
                         .git_dir = o->git_dir,
                         .excludes = o->excludes,
                         .skip = o->skip,
                         .environ = o->environ};
}

/* ---- protected files ---- */

/* Whether the glob fits the path or a folder above it. A glob with a slash at its beginning, or the
 * workspace's own path, is rooted there. */
static bool glob_fits(const struct origin *o, struct str glob, struct str path)
{
    CLEANUP(buf_release) struct buf rooted = BUF_INIT(BUF_NO_LIMIT);
    struct str dir = str_of(o->dir);

    while (str_starts(glob, STR("./")))
        glob = str_from(glob, 2);
    if (str_starts(glob, dir) && glob.len > dir.len && glob.ptr[dir.len] == '/')
        glob = str_from(glob, dir.len);
    while (glob.len > 1 && glob.ptr[glob.len - 1] == '/')
        glob.len--;
    buf_addc(&rooted, '/');
    buf_add(&rooted, path);
    while (rooted.len > 1) {
        if (path_glob_match(glob, buf_str(&rooted)))
            return true;
        while (rooted.len && rooted.ptr[rooted.len - 1] != '/')
            rooted.len--;
        rooted.len--;
    }
    return false;
}

bool origin_keeps(const struct origin *o, struct str path)
{
    for (size_t i = 0; i < o->keep.len; i++) {
        if (glob_fits(o, str_of(o->keep.ptr[i]), path))
            return true;
    }
    return false;
}

static void protect(struct origin *o, struct inventory_entry *e, bool is_orders, const char *why)
{
    if (e->flags & INVENTORY_PROTECTED || e->type == INVENTORY_OTHER)
        return;
    e->flags |= INVENTORY_PROTECTED | (is_orders ? INVENTORY_ORDERS : 0);
    e->why = arena_str(&o->files.arena, str_of(why));
    e->sha256 = STR(""); /* a protected file is hashed whatever its size */
}

/* What compilers make: it will be made again, and says nothing about what it does. */
static bool is_built(const struct origin *o, struct str path)
{
    static const struct str magics[] = {STR_INIT("\177ELF"), STR_INIT("\xcf\xfa\xed\xfe"),
                                        STR_INIT("!<arch>"), STR_INIT("\xca\xfe\xba\xbe"),
                                        STR_INIT("\0asm")};
    CLEANUP(mem_freep) char *full = path_join(o->dir, path.ptr);
    CLEANUP(fd_closep)
    int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    char start[8];
    ssize_t n = fd < 0 ? -1 : read(fd, start, sizeof(start));

    for (size_t i = 0; n > 0 && i < ARRAY_LEN(magics); i++) {
        if (str_starts(str_make(start, (size_t)n), magics[i]))
            return true;
    }
    return false;
}

/* By the tables of names. Files ignored by git are tests by their own name only: the folder of the
 * tests also holds leftovers of their runs. */
static void protect_by_name(struct origin *o, struct inventory_entry *e, bool has_checks)
{
    struct str path = e->path;
    enum name_kind kind;

    if (!(e->flags & INVENTORY_TREE)) {
        path = name_base(path);
        if (name_is_derived(e->path))
            return;
    }
    kind = name_kind(path);
    if (kind == NAME_TEST && !is_built(o, e->path))
        protect(o, e, false, "a test or what tests compare with");
    else if (!(e->flags & INVENTORY_TREE))
        return; /* a clean room hides what changed of it */
    else if (has_checks && kind == NAME_RUNNER)
        protect(o, e, false, "configuration of a test runner");
    else if (has_checks && kind == NAME_BUILD)
        protect(o, e, false, "a build file");
    else if (has_checks && kind == NAME_ORDERS)
        protect(o, e, true, "a build file");
}

/* The target of a protected link is protected; so are the tests in the target of a link to their
 * folder. */
static void protect_behind_link(struct origin *o, const struct inventory_entry *link)
{
    CLEANUP(mem_freep) char *full = path_join(o->dir, link->path.ptr);
    CLEANUP(mem_freep) char *real = path_real(full);
    CLEANUP(buf_release) struct buf probe = BUF_INIT(BUF_NO_LIMIT);
    size_t len = strlen(o->dir);
    struct str target;

    buf_add(&probe, link->path);
    buf_adds(&probe, "/x");
    if (!real || strncmp(real, o->dir, len) != 0 || real[len] != '/' ||
        (!(link->flags & INVENTORY_PROTECTED) && name_kind(buf_str(&probe)) != NAME_TEST))
        return;
    target = str_of(real + len + 1);
    for (size_t i = inventory_at(&o->files, target);
         i < o->files.entries.len && str_starts(o->files.entries.ptr[i].path, target); i++) {
        struct inventory_entry *e = &o->files.entries.ptr[i];

        if (e->path.len == target.len || e->path.ptr[target.len] == '/')
            protect(o, e, false, "the target of a protected link");
    }
}

static size_t protect_by_glob(struct origin *o, struct str glob)
{
    CLEANUP(buf_release) struct buf why = BUF_INIT(1 << 13);
    size_t count = 0;

    buf_addf(&why, "named by --protect '%.*s'", STR_ARG(glob));
    for (size_t i = 0; i < o->files.entries.len; i++) {
        if (!glob_fits(o, glob, o->files.entries.ptr[i].path))
            continue;
        protect(o, &o->files.entries.ptr[i], false, buf_cstr(&why));
        count++;
    }
    return count;
}

static void protect_all(struct origin *o, const struct origin_spec *spec, struct strv *ret_notes)
{
    bool has_checks = spec->checks->len > 0;
    size_t count = 0;

    for (size_t i = 0; i < o->globs.len; i++) {
        if (!protect_by_glob(o, str_of(o->globs.ptr[i])))
            strv_addf(ret_notes, "no file matches --protect '%s'", o->globs.ptr[i]);
    }
    for (size_t i = 0; !o->protects_nothing && i < o->files.entries.len; i++) {
        struct inventory_entry *e = &o->files.entries.ptr[i];

        if (count == ORIGIN_MAX_PROTECTED) {
            strv_addf(ret_notes, "more than %d tests: the rest is not protected",
                      ORIGIN_MAX_PROTECTED);
            break;
        }
        protect_by_name(o, e, has_checks);
        if (e->type == INVENTORY_LINK)
            protect_behind_link(o, e);
        count += (e->flags & INVENTORY_PROTECTED) != 0;
    }
}

size_t origin_count(const struct origin *o)
{
    size_t count = 0;

    VEC_EACH(&o->files.entries, e) {
        count += (e->flags & INVENTORY_PROTECTED) != 0;
    }
    return count;
}

void origin_names(const struct origin *o, size_t max, struct strv *ret)
{
    VEC_EACH(&o->files.entries, e) {
        if (e->flags & INVENTORY_PROTECTED && ret->len < max)
            strv_add(ret, e->path);
    }
}

/* ---- taking ---- */

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Which files belong to the tree: those that git lists; without git all that is not derived. */
static int mark_tree(struct origin *o, struct cancel *cancel, struct err *err)
{
    CLEANUP(buf_release) struct buf list = {0};
    struct tree t = origin_tree(o);
    struct str rest, path;

    VEC_EACH(&o->files.entries, e) {
        if (e->flags & INVENTORY_NESTED || (!o->has_tree && !name_is_derived(e->path)))
            e->flags |= INVENTORY_TREE;
    }
    if (!o->has_tree)
        return 0;
    if (tree_list(&t, cancel, &list, err) < 0)
        return -1;
    rest = buf_str(&list);
    while (rest.len && str_cut(&rest, '\0', &path)) {
        struct inventory_entry *e = inventory_find(&o->files, path);

        if (e)
            e->flags |= INVENTORY_TREE;
    }
    return 0;
}

static int take_tree(struct origin *o, struct cancel *cancel, struct strv *ret_notes,
                     struct err *err)
{
    struct tree t = origin_tree(o);
    struct err why = {0};

    o->has_tree = tree_init(&t, &o->git, &o->files, cancel, &o->excludes, &why) == 0;
    t.excludes = o->excludes;
    o->has_tree = o->has_tree && tree_take(&t, /*more=*/NULL, cancel, o->tree, &why) == 0;
    if (o->has_tree)
        return 0;
    if (why.code == ERR_CANCELLED)
        return err_set(err, ERR_CANCELLED, "%s", why.text);
    strv_addf(ret_notes, "there will be no diff of this goal: %s", why.text);
    return 0;
}

int origin_take(const struct origin_spec *spec, struct cancel *cancel, struct origin **ret,
                struct strv *ret_notes, struct err *err)
{
    CLEANUP(origin_freep) struct origin *o = origin_new(spec->dir, spec->folder, spec->environ);
    size_t unread = 0;

    o->protects_nothing = spec->protects_nothing;
    o->taken_ns = now_ns();
    strv_add_all(&o->globs, spec->globs);
    strv_add_all(&o->keep, spec->keep);
    if (file_mkdirs(o->folder, 0700, err) < 0 ||
        inventory_walk(&o->files, o->dir, cancel, err) < 0 ||
        git_state_take(&o->git, o->dir, o->environ, spec->checks, &o->files.nested, cancel, err) <
            0 ||
        take_tree(o, cancel, ret_notes, err) < 0 || mark_tree(o, cancel, err) < 0)
        return -1;
    protect_all(o, spec, ret_notes);
    if (inventory_hash(&o->files, o->dir, cancel, &unread, err) < 0)
        return -1;
    if (!o->files.is_whole)
        strv_addf(ret_notes, "only the first %zu files of the workspace are watched",
                  o->files.entries.len);
    if (unread)
        strv_addf(ret_notes,
                  "%zu small files are watched by size and time only: they hold more than %d MB",
                  unread, (int)(INVENTORY_MAX_HASHED >> 20));
    *ret = TAKE_PTR(o);
    return 0;
}

void origin_scripts(const struct origin *o, struct strv *ret)
{
    VEC_EACH(&o->checks, c) {
        for (size_t i = 0; i < c->trace.ran.len; i++) {
            struct str path = str_of(c->trace.ran.ptr[i]);
            const struct inventory_entry *e = inventory_find(&o->files, path);

            if (e && e->flags & INVENTORY_TREE && !(e->flags & INVENTORY_PROTECTED) &&
                !strv_has(ret, path))
                strv_add(ret, path);
        }
    }
}

int origin_protect(struct origin *o, struct str glob, struct cancel *cancel, struct strv *ret_notes,
                   struct err *err)
{
    CLEANUP(origin_now_release) struct origin_now now = ORIGIN_NOW_INIT;
    size_t unread;
    size_t count;

    if (origin_look(o, cancel, &now, err) < 0)
        return -1;
    /* Files that are not protected yet count as they are now. */
    VEC_EACH(&now.changes, c) {
        struct inventory_entry *was = c->was ? inventory_find(&o->files, c->was->path) : NULL;

        if (!c->is || !glob_fits(o, glob, c->is->path) || (was && was->flags & INVENTORY_PROTECTED))
            continue;
        if (was) {
            struct str path = was->path;

            *was = *c->is;
            was->path = path;
        } else {
            struct inventory_entry copy = *c->is;

            copy.path = arena_str(&o->files.arena, copy.path);
            copy.sha256 = STR("");
            copy.why = STR("");
            vec_push(&o->files.entries, copy);
        }
        if (was)
            was->sha256 = STR("");
    }
    inventory_sort(&o->files);
    strv_add(&o->globs, glob);
    count = protect_by_glob(o, glob);
    if (!count)
        strv_addf(ret_notes, "no file matches '%.*s'", STR_ARG(glob));
    return inventory_hash(&o->files, o->dir, cancel, &unread, err);
}

/* ---- checks ---- */

/* known: how many there were before this check, whose own lists have each path once. */
static int take_program(struct origin *o, const char *path, bool is_file, size_t known,
                        struct cancel *cancel, struct err *err)
{
    struct origin_program p = {.path = arena_str(&o->arena, str_of(path))};
    CLEANUP(mem_freep) char *real = path_real(path);
    struct digest d;

    for (size_t i = 0; i < known; i++) {
        if (str_is(o->programs.ptr[i].path, path))
            return 0;
    }
    if (!real)
        return 0;
    if (is_file)
        digest_look(AT_FDCWD, real, &d);
    else if (digest_read(AT_FDCWD, real, cancel, &d, err) < 0)
        return -1;
    if (d.kind == DIGEST_GONE || (is_file && d.kind != DIGEST_FILE))
        return 0;
    p.size = d.size;
    p.ctime_ns = d.ctime_ns;
    p.ino = d.ino;
    if (!is_file)
        memcpy(p.sha256, d.sha256, sizeof(d.sha256));
    vec_push(&o->programs, p);
    return 0;
}

const struct origin_check *origin_check_of(const struct origin *o, struct str command)
{
    VEC_EACH(&o->checks, c) {
        if (str_is(command, c->command))
            return c;
    }
    return NULL;
}

/* Tests and files that the check reads and that came after the goal was set: from now on they stay
 * as they are. */
static void add_new_files(struct origin *o, const struct origin_now *now, const struct trace *trace)
{
    VEC_EACH(&now->changes, c) {
        struct inventory_entry e;

        if (c->how != INVENTORY_NEW || name_is_derived(c->is->path) ||
            (name_kind(c->is->path) != NAME_TEST && !trace_has(&trace->read, c->is->path)))
            continue;
        e = *c->is;
        e.path = arena_str(&o->files.arena, e.path);
        e.sha256 = e.why = STR("");
        vec_push(&o->files.entries, e);
    }
    inventory_sort(&o->files);
}

/* Refs that the command names, or a script or makefile that it runs. */
static int pin_refs(struct origin *o, const struct origin_check *c, struct cancel *cancel,
                    struct err *err)
{
    const struct strv *const lists[] = {&c->trace.ran, &c->trace.made};
    CLEANUP(strv_release) struct strv texts = STRV_INIT;

    strv_adds(&texts, c->command);
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        for (size_t i = 0; i < lists[l]->len && texts.len < ORIGIN_MAX_SCRIPTS; i++) {
            CLEANUP(mem_freep) char *path = path_join(o->dir, lists[l]->ptr[i]);
            CLEANUP(buf_release) struct buf text = {0};

            if (file_slurp(path, (size_t)INVENTORY_SMALL, &text, /*err=*/NULL) == 0)
                strv_add(&texts, str_first(buf_str(&text), str_chr(buf_str(&text), '\0')));
        }
    }
    return git_state_pin(&o->git, o->dir, o->environ, &texts, cancel, err);
}

const char *origin_why_read(const struct inventory_entry *e, struct str command,
                            const struct trace *trace)
{
    bool is_list = str_is(str_of(path_base(e->path.ptr)), ".gitignore");

    if (e->flags & INVENTORY_TREE && trace_has(&trace->made, e->path))
        return "a makefile that the check reads";
    if (!trace_has(&trace->read, e->path))
        return NULL;
    if (e->flags & INVENTORY_TREE && name_is_installed(e->path))
        return "an installed package that the check reads";
    if (name_kind(e->path) == NAME_SETTINGS)
        return "configuration that the check reads";
    /* Builds read .gitignore, too, where it decides nothing. A search leaves out what it names. */
    if (e->flags & INVENTORY_TREE && name_is_hidden_settings(e->path) &&
        trace_has(&trace->loaded, e->path) && !(is_list && trace_has(&trace->used, e->path)) &&
        !str_has(command, str_of(path_base(e->path.ptr))))
        return "a hidden file that the check reads";
    return NULL;
}

int origin_add_check(struct origin *o, const char *command, const struct origin_now *now,
                     struct trace *trace, struct strv *touched, struct cancel *cancel,
                     struct err *err)
{
    size_t known = o->programs.len;
    struct origin_check *c;
    size_t unread;

    if (origin_check_of(o, str_of(command)))
        return 0;
    if (now)
        add_new_files(o, now, trace);
    c = vec_add(&o->checks);
    *c = (struct origin_check){.command = mem_dup(command, strlen(command))};
    c->trace = *trace;
    c->touched = *touched;
    *trace = (struct trace){0};
    *touched = (struct strv)STRV_INIT;
    if (pin_refs(o, c, cancel, err) < 0)
        return -1;
    for (size_t i = 0; i < c->trace.programs.len; i++) {
        if (take_program(o, c->trace.programs.ptr[i], /*is_file=*/false, known, cancel, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < c->trace.outside.len; i++) {
        if (take_program(o, c->trace.outside.ptr[i], /*is_file=*/true, known, cancel, err) < 0)
            return -1;
    }
    if (o->protects_nothing)
        return 0;
    for (size_t i = 0; i < o->files.entries.len; i++) {
        struct inventory_entry *e = &o->files.entries.ptr[i];
        const char *why = origin_why_read(e, str_of(command), &c->trace);

        if (why)
            protect(o, e, false, why);
        else if (e->flags & INVENTORY_TREE)
            protect_by_name(o, e, /*has_checks=*/true);
        if (e->type == INVENTORY_LINK)
            protect_behind_link(o, e);
    }
    return inventory_hash(&o->files, o->dir, cancel, &unread, err);
}

/* ---- the workspace since then ---- */

void origin_now_release(struct origin_now *n)
{
    vec_release(&n->changes);
    strv_release(&n->git);
    inventory_release(&n->files);
}

int origin_mark_new(const struct origin *o, struct origin_now *n, struct cancel *cancel,
                    struct err *err)
{
    CLEANUP(buf_release) struct buf paths = BUF_INIT(ORIGIN_MAX_ASKED);
    CLEANUP(buf_release) struct buf ignored = {0};
    struct tree t = origin_tree(o);
    struct str rest, path;

    VEC_EACH(&n->changes, c) {
        if (c->how != INVENTORY_NEW || (name_is_derived(c->is->path)))
            continue;
        c->is->flags |= INVENTORY_TREE;
        if (o->has_tree && !(c->is->flags & INVENTORY_NESTED)) {
            buf_add(&paths, c->is->path);
            buf_addc(&paths, '\0');
        }
    }
    if (buf_check(&paths, err) < 0 || tree_ignored(&t, buf_str(&paths), cancel, &ignored, err) < 0)
        return -1;
    rest = buf_str(&ignored);
    while (rest.len && str_cut(&rest, '\0', &path)) {
        struct inventory_entry *e = inventory_find(&n->files, path);

        if (e)
            e->flags &= ~(unsigned)INVENTORY_TREE;
    }
    return 0;
}

int origin_look(const struct origin *o, struct cancel *cancel, struct origin_now *ret,
                struct err *err)
{
    ret->files.skip = o->skip;
    if (inventory_walk(&ret->files, o->dir, cancel, err) < 0 ||
        inventory_compare(&o->files, &ret->files, o->dir, cancel, &ret->changes, err) < 0 ||
        origin_mark_new(o, ret, cancel, err) < 0)
        return -1;
    return git_state_compare(&o->git, o->dir, o->environ, cancel, &ret->git, err);
}

/* ---- accepting ---- */

/* The path itself, or a folder above it. */
static bool is_meant(struct str accepted, struct str path)
{
    return !accepted.len || str_eq(accepted, path) ||
           (str_starts(path, accepted) && path.ptr[accepted.len] == '/');
}

/* Relative to the workspace if it is below it. */
static void accepted_path(const struct origin *o, struct str path, struct buf *ret)
{
    struct str dir = str_of(o->dir);

    if (!path.len)
        return;
    if (path.ptr[0] != '/')
        path_walk(ret, dir);
    path_walk(ret, path);
    if (ret->len > dir.len && str_starts(buf_str(ret), dir) && ret->ptr[dir.len] == '/')
        buf_cut(ret, 0, dir.len + 1);
}

static void accept_entry(struct origin *o, const struct inventory_change *c)
{
    struct inventory_entry *was = c->was ? inventory_find(&o->files, c->was->path) : NULL;
    struct inventory_entry now;

    if (!c->is) {
        if (was)
            was->path = STR(""); /* removed below */
        return;
    }
    now = *c->is;
    now.path = arena_str(&o->files.arena, now.path);
    now.sha256 = arena_str(&o->files.arena, now.sha256);
    now.why = was ? was->why : STR("");
    if (was)
        *was = now;
    else
        vec_push(&o->files.entries, now);
}

static void accept_programs(struct origin *o, struct str path, size_t *count, bool *known)
{
    size_t kept = 0;

    VEC_EACH(&o->programs, p) {
        bool is_it = str_eq(path, p->path) || (path.len && str_is(path, path_base(p->path.ptr)));

        *known = *known || is_it;
        if (is_it || !path.len) {
            CLEANUP(mem_freep) char *real = path_real(p->path.ptr);
            struct digest d = {.kind = DIGEST_GONE};

            if (real)
                (void)digest_read(AT_FDCWD, real, /*cancel=*/NULL, &d, /*err=*/NULL);
            if (d.kind == DIGEST_GONE || (p->sha256[0] ? strcmp(d.sha256, p->sha256) != 0
                                                       : d.ino != p->ino || d.size != p->size))
                ++*count;
            if (d.kind == DIGEST_GONE)
                continue;
            p->size = d.size;
            p->ctime_ns = d.ctime_ns;
            p->ino = d.ino;
            if (p->sha256[0])
                memcpy(p->sha256, d.sha256, sizeof(d.sha256));
        }
        o->programs.ptr[kept++] = *p;
    }
    o->programs.len = kept;
}

static void forget(struct strv *list, struct str accepted, bool *known)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->len; i++) {
        if (is_meant(accepted, str_of(list->ptr[i]))) {
            *known = true;
            mem_freep(&list->ptr[i]);
        } else {
            list->ptr[kept++] = list->ptr[i];
        }
    }
    list->len = kept;
    if (list->ptr)
        list->ptr[kept] = NULL;
}

int origin_accept(struct origin *o, struct str path, struct cancel *cancel, size_t *ret_count,
                  struct err *err)
{
    CLEANUP(origin_now_release) struct origin_now now = ORIGIN_NOW_INIT;
    CLEANUP(buf_release) struct buf accepted = BUF_INIT(BUF_NO_LIMIT);
    struct str name;
    bool known = !path.len;
    size_t count = 0;
    size_t kept = 0;
    size_t unread;

    accepted_path(o, path, &accepted);
    name = buf_str(&accepted);
    if (origin_look(o, cancel, &now, err) < 0)
        return -1;
    VEC_EACH(&now.changes, c) {
        struct str at = change_entry(c)->path;
        bool matters =
            change_closes(c) || (c->how == INVENTORY_NEW ? name_kind(at) != NAME_PLAIN
                                                         : c->was->flags & INVENTORY_PROTECTED);

        if (!is_meant(name, at) || (!name.len && !matters))
            continue;
        known = true;
        count++;
        accept_entry(o, c);
    }
    for (size_t i = 0; i < o->files.entries.len; i++) {
        known = known || is_meant(name, o->files.entries.ptr[i].path);
        if (o->files.entries.ptr[i].path.len)
            o->files.entries.ptr[kept++] = o->files.entries.ptr[i];
    }
    o->files.entries.len = kept;
    inventory_sort(&o->files);
    accept_programs(o, path, &count, &known);
    if (!path.len)
        o->taken_ns = now_ns();         /* files elsewhere, as they are now, too */
    VEC_EACH(&o->checks, c) {           /* it need not run or be read any more */
        if (str_is(path, c->command)) { /* the check may do what it does now */
            strv_clear(&c->trace.ran);
            strv_clear(&c->trace.used);
            known = true;
            count++;
        }
        forget(&c->trace.ran, name, &known);
        forget(&c->trace.used, name, &known);
    }
    if (path.len && path.ptr[0] == '/' && str_starts(name, STR("/")) && !known) {
        strv_add(&o->accepted, name);
        known = true;
        count++;
    }
    if (!known)
        return err_set(err, ERR_NOT_FOUND, "'%.*s' is not watched: nothing to accept",
                       STR_ARG(path));
    *ret_count = count;
    return inventory_hash(&o->files, o->dir, cancel, &unread, err);
}

/* ---- on disk ---- */

static void write_checks(const struct origin *o, struct jw *w)
{
    jw_key(w, "checks");
    jw_array(w);
    VEC_EACH(&o->checks, c) {
        jw_object(w);
        jw_key(w, "command");
        bytes_write(w, str_of(c->command));
        jw_key(w, "trace");
        trace_write(&c->trace, w);
        bytes_write_list(w, "touched", &c->touched);
        jw_object_end(w);
    }
    jw_array_end(w);
    jw_key(w, "programs");
    jw_array(w);
    VEC_EACH(&o->programs, p) {
        jw_object(w);
        jw_key(w, "path");
        bytes_write(w, p->path);
        jw_ki64(w, "size", p->size);
        jw_ki64(w, "ctime", p->ctime_ns);
        jw_ki64(w, "ino", (int64_t)p->ino);
        jw_kcstr(w, "sha256", p->sha256);
        jw_object_end(w);
    }
    jw_array_end(w);
}

void origin_move(struct origin *o, const char *folder)
{
    mem_freep(&o->folder);
    o->folder = mem_dup(folder, strlen(folder));
}

int origin_write(const struct origin *o, char ret_sha256[static SHA256_HEX + 1], struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(ORIGIN_MAX_BYTES);
    CLEANUP(mem_freep) char *path = path_join(o->folder, ORIGIN_FILE);
    struct jw w;

    jw_init(&w, &text, 0);
    jw_object(&w);
    jw_ki64(&w, "format", ORIGIN_FORMAT);
    jw_key(&w, "dir");
    bytes_write(&w, str_of(o->dir));
    jw_key(&w, "git_dir");
    bytes_write(&w, str_of(o->git_dir));
    jw_ki64(&w, "taken_ns", o->taken_ns);
    jw_kcstr(&w, "tree", o->has_tree ? o->tree : "");
    jw_kbool(&w, "protects_nothing", o->protects_nothing);
    jw_kbool(&w, "whole", o->files.is_whole);
    jw_kbool(&w, "room", o->has_room);
    bytes_write_list(&w, "globs", &o->globs);
    bytes_write_list(&w, "keep", &o->keep);
    bytes_write_list(&w, "accepted", &o->accepted);
    bytes_write_list(&w, "nested", &o->files.nested);
    jw_key(&w, "excludes");
    bytes_write(&w, str_of(o->excludes));
    jw_key(&w, "git");
    git_state_write(&o->git, &w);
    write_checks(o, &w);
    jw_key(&w, "files");
    inventory_write(&o->files, &w);
    jw_object_end(&w);
    sha256_hex(buf_str(&text), ret_sha256);
    if (buf_check(&text, err) < 0)
        return -1;
    return file_replace(path, buf_str(&text), 0600, err);
}

static void parse_checks(struct origin *o, const struct json *root)
{
    JSON_EACH(json_get(root, "checks"), v) {
        struct origin_check *c = vec_add(&o->checks);
        struct str command = bytes_parse(&o->arena, json_get_str(v, "command"));

        *c = (struct origin_check){.command = mem_dup(command.ptr, command.len)};
        trace_parse(&c->trace, json_get(v, "trace"));
        bytes_parse_list(json_get(v, "touched"), &c->touched);
    }
    JSON_EACH(json_get(root, "programs"), v) {
        struct origin_program *p = vec_add(&o->programs);

        *p = (struct origin_program){
            .path = bytes_parse(&o->arena, json_get_str(v, "path")),
            .size = json_get_i64(v, "size", 0),
            .ctime_ns = json_get_i64(v, "ctime", 0),
            .ino = (uint64_t)json_get_i64(v, "ino", 0),
        };
        snprintf(p->sha256, sizeof(p->sha256), "%.*s", STR_ARG(json_get_str(v, "sha256")));
    }
}

int origin_read(const char *folder, char *const *env, struct str sha256, struct origin **ret,
                struct err *err)
{
    CLEANUP(mem_freep) char *path = path_join(folder, ORIGIN_FILE);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(origin_freep) struct origin *o = NULL;
    CLEANUP(buf_release) struct buf text = {0};
    const struct json *root;
    char hex[SHA256_HEX + 1];
    struct str git_dir, tree, excludes;

    if (file_slurp(path, ORIGIN_MAX_BYTES, &text, err) < 0)
        return -1;
    sha256_hex(buf_str(&text), hex);
    if (!str_is(sha256, hex))
        return err_set(err, ERR_PROTOCOL, "'%s' was changed by another program", path);
    if (json_parse(&arena, buf_str(&text), &root, NULL, err) < 0)
        return -1;
    if (json_get_i64(root, "format", 0) != ORIGIN_FORMAT)
        return err_set(err, ERR_PROTOCOL, "'%s' was written by another version of tenax", path);
    o = origin_new(bytes_parse(&arena, json_get_str(root, "dir")).ptr, folder, env);
    mem_freep(&o->git_dir); /* a copy of a goal shares the objects */
    git_dir = bytes_parse(&arena, json_get_str(root, "git_dir"));
    o->git_dir = mem_dup(git_dir.ptr, git_dir.len);
    o->taken_ns = json_get_i64(root, "taken_ns", 0);
    o->protects_nothing = json_get_bool(root, "protects_nothing", false);
    tree = json_get_str(root, "tree");
    o->has_tree = tree.len > 0;
    snprintf(o->tree, sizeof(o->tree), "%.*s", STR_ARG(tree));
    bytes_parse_list(json_get(root, "globs"), &o->globs);
    bytes_parse_list(json_get(root, "keep"), &o->keep);
    bytes_parse_list(json_get(root, "accepted"), &o->accepted);
    bytes_parse_list(json_get(root, "nested"), &o->files.nested);
    excludes = bytes_parse(&arena, json_get_str(root, "excludes"));
    mem_freep(&o->excludes);
    o->excludes = mem_dup(excludes.ptr, excludes.len);
    if (git_state_parse(&o->git, json_get(root, "git"), err) < 0 ||
        inventory_parse(&o->files, json_get(root, "files"), err) < 0)
        return -1;
    o->files.is_whole = json_get_bool(root, "whole", true);
    o->has_room = json_get_bool(root, "room", false);
    parse_checks(o, root);
    *ret = TAKE_PTR(o);
    return 0;
}
