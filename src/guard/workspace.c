/*
 * One lock guards all that changes; it is never held while a file is touched. Any thread.
 */
#include "guard/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strv.h"
#include "base/vec.h"
#include "guard/buffers.h"
#include "guard/rule.h"
#include "sync/thread.h"

#define WORKSPACE_MAX_TODOS ((size_t)1 << 20)
#define WORKSPACE_MAX_SHELL ((size_t)64 << 10)
#define WORKSPACE_SPILL_TRIES 1000

struct thing {
    const struct workspace_kind *kind;
    void *ptr;
};

struct workspace {
    atomic_int refs;
    struct workspace *of;    /* a branch's: whose folders and environment it has. NULL: none */
    struct strv dirs;        /* the first one never changes */
    struct buffers *buffers; /* NULL: of a branch */
    char *state_dir;
    struct lock lock;          /* of everything below, and of dirs after the first */
    VEC(struct strv) environs; /* the last one counts; others may still be in use */
    char *cwd;
    struct strv own; /* folders that need no permission */
    struct map seen; /* path → struct seen_file */
    int64_t looks;
    struct buf todos;
    struct buf shell[WORKSPACE_SHELL_FOLDER + 1];
    VEC(struct thing) things;
};

static struct workspace *workspace_make(const char *dir, const char *state_dir, char *const *env)
{
    struct workspace *w = mem_zalloc(sizeof(*w));

    atomic_init(&w->refs, 1);
    lock_init(&w->lock);
    strv_adds(&w->dirs, dir);
    workspace_set_environ(w, env);
    w->state_dir = mem_dup(state_dir, strlen(state_dir));
    w->cwd = mem_dup(dir, strlen(dir));
    w->todos = (struct buf)BUF_INIT(WORKSPACE_MAX_TODOS);
    buf_adds(&w->todos, "[]");
    for (size_t i = 0; i < ARRAY_LEN(w->shell); i++)
        buf_init(&w->shell[i], WORKSPACE_MAX_SHELL);
    return w;
}

struct workspace *workspace_new(const char *dir, const char *state_dir, char *const *env)
{
    struct workspace *w = workspace_make(dir, state_dir, env);

    w->buffers = buffers_new();
    return w;
}

static void workspace_keep_seen(struct workspace *w, const char *path, struct seen_file *file)
{
    struct seen_file *old;

    lock_take(&w->lock);
    file->order = ++w->looks;
    old = map_set(&w->seen, str_of(path), file);
    lock_give(&w->lock);
    mem_freep(&old);
}

struct workspace *workspace_branch(struct workspace *of, const char *dir)
{
    CLEANUP(mem_freep) char *now = workspace_cwd(of);
    struct workspace *w =
        workspace_make(dir ? dir : workspace_dir(of), of->state_dir, /*env=*/NULL);

    if (!dir)
        workspace_set_cwd(w, now);
    w->of = workspace_ref(of);
    lock_take(&of->lock);
    for (size_t i = 0; i < ARRAY_LEN(w->shell); i++)
        buf_add(&w->shell[i], buf_str(&of->shell[i]));
    lock_give(&of->lock);
    return w;
}

void workspace_know(struct workspace *w, struct workspace *from)
{
    CLEANUP(strv_release) struct strv paths = STRV_INIT;
    CLEANUP(buf_release) struct buf todos = BUF_INIT(WORKSPACE_MAX_TODOS);

    workspace_todos(from, &todos);
    workspace_set_todos(w, buf_str(&todos));
    workspace_seen_paths(from, &paths);
    for (size_t i = paths.len; i > 0; i--) { /* the last one looked at is the last again */
        struct seen_file *file = mem_zalloc(sizeof(*file));

        if (workspace_seen(from, paths.ptr[i - 1], file))
            workspace_keep_seen(w, paths.ptr[i - 1], file);
        else
            mem_freep(&file);
    }
}

struct workspace *workspace_ref(struct workspace *w)
{
    atomic_fetch_add(&w->refs, 1);
    return w;
}

static bool workspace_take_last(struct workspace *w, struct thing *ret)
{
    bool has_one;

    lock_take(&w->lock);
    has_one = w->things.len;
    if (has_one)
        *ret = w->things.ptr[--w->things.len];
    lock_give(&w->lock);
    return has_one;
}

/* A thing may have threads that end only while it is freed: they still use the things added before
 * it. */
void workspace_clear(struct workspace *w)
{
    struct thing last;

    while (workspace_take_last(w, &last))
        last.kind->free(last.ptr);
}

void workspace_unref(struct workspace *w)
{
    if (!w || atomic_fetch_sub(&w->refs, 1) > 1)
        return;
    workspace_clear(w);
    vec_release(&w->things);
    MAP_EACH(&w->seen, entry) {
        mem_freep(&entry->value);
    }
    map_release(&w->seen);
    buf_release(&w->todos);
    for (size_t i = 0; i < ARRAY_LEN(w->shell); i++)
        buf_release(&w->shell[i]);
    strv_release(&w->dirs);
    strv_release(&w->own);
    VEC_EACH(&w->environs, env) {
        strv_release(env);
    }
    vec_release(&w->environs);
    buffers_free(w->buffers);
    mem_freep(&w->state_dir);
    mem_freep(&w->cwd);
    lock_release(&w->lock);
    workspace_unref(w->of);
    mem_freep(&w);
}

struct buffers *workspace_buffers(struct workspace *w)
{
    return w->of ? workspace_buffers(w->of) : w->buffers;
}

const char *workspace_dir(const struct workspace *w)
{
    return w->dirs.ptr[0];
}

char *const *workspace_environ(struct workspace *w)
{
    char *const *env;

    if (w->of)
        return workspace_environ(w->of);
    lock_take(&w->lock);
    env = strv_get(&w->environs.ptr[w->environs.len - 1]);
    lock_give(&w->lock);
    return env;
}

void workspace_set_environ(struct workspace *w, char *const *env)
{
    struct strv copy = STRV_INIT;

    for (size_t i = 0; env && env[i]; i++)
        strv_adds(&copy, env[i]);
    lock_take(&w->lock);
    vec_push(&w->environs, copy);
    lock_give(&w->lock);
}

char *workspace_cwd(struct workspace *w)
{
    char *cwd;

    lock_take(&w->lock);
    cwd = mem_dup(w->cwd, strlen(w->cwd));
    lock_give(&w->lock);
    return cwd;
}

void workspace_set_cwd(struct workspace *w, const char *dir)
{
    char *cwd = mem_dup(dir, strlen(dir));
    char *old;

    lock_take(&w->lock);
    old = w->cwd;
    w->cwd = cwd;
    lock_give(&w->lock);
    mem_freep(&old);
}

void workspace_add_dir(struct workspace *w, const char *dir)
{
    lock_take(&w->lock);
    if (!strv_has(&w->dirs, str_of(dir)))
        strv_adds(&w->dirs, dir);
    lock_give(&w->lock);
}

void workspace_remove_dir(struct workspace *w, const char *dir)
{
    lock_take(&w->lock);
    for (size_t i = 1; i < w->dirs.len; i++) {
        if (strcmp(w->dirs.ptr[i], dir) == 0) {
            mem_freep(&w->dirs.ptr[i]);
            memmove(w->dirs.ptr + i, w->dirs.ptr + i + 1,
                    (w->dirs.len - i) * sizeof(*w->dirs.ptr)); /* including the NULL after them */
            w->dirs.len--;
            break;
        }
    }
    lock_give(&w->lock);
}

void workspace_dirs(struct workspace *w, struct strv *ret)
{
    CLEANUP(strv_release) struct strv others = STRV_INIT;

    lock_take(&w->lock);
    strv_add_all(ret, &w->dirs);
    lock_give(&w->lock);
    if (w->of)
        workspace_dirs(w->of, &others);
    for (size_t i = 1; i < others.len; i++)
        strv_adds(ret, others.ptr[i]);
}

void workspace_resolve_at(struct str dir, struct str path, struct buf *ret)
{
    if (str_is(path, "~") || str_starts(path, STR("~/"))) {
        path_walk(ret, str_of(path_home()));
        path = str_from(path, 1);
    } else if (!str_starts(path, STR("/"))) {
        path_walk(ret, dir);
    }
    path_walk(ret, path);
    if (!ret->len)
        buf_addc(ret, '/');
}

char *workspace_resolve(struct workspace *w, struct str path)
{
    CLEANUP(mem_freep) char *cwd = workspace_cwd(w);
    struct buf full = BUF_INIT(WORKSPACE_MAX_PATH);

    workspace_resolve_at(str_of(cwd), path, &full);
    return buf_take(&full);
}

char *workspace_shorten(struct workspace *w, const char *path)
{
    CLEANUP(mem_freep) char *cwd = workspace_cwd(w);
    struct str full = str_of(path);
    struct str base = str_of(cwd);

    if (str_eq(full, base))
        full = STR(".");
    else if (str_starts(full, base) && (str_is(base, "/") || full.ptr[base.len] == '/'))
        full = str_from(full, base.len + !str_is(base, "/"));
    return mem_dup(full.ptr, full.len);
}

static bool workspace_is_below(struct str path, struct str dir)
{
    return str_eq(path, dir) || str_is(dir, "/") ||
           (str_starts(path, dir) && path.ptr[dir.len] == '/');
}

char *workspace_real(const char *path)
{
    return path_real(path);
}

bool workspace_contains(struct workspace *w, const char *path)
{
    CLEANUP(mem_freep) char *real = workspace_real(path);

    return workspace_contains_real(w, real);
}

bool workspace_contains_real(struct workspace *w, const char *real)
{
    CLEANUP(strv_release) struct strv dirs = STRV_INIT;

    workspace_dirs(w, &dirs);
    for (size_t i = 0; i < dirs.len; i++) {
        CLEANUP(mem_freep) char *dir = workspace_real(dirs.ptr[i]);

        if (workspace_is_below(str_of(real), str_of(dir)))
            return true;
    }
    return false;
}

bool workspace_has_image(struct workspace *w, const char *real)
{
    CLEANUP(mem_freep) char *folder = path_join(w->state_dir, WORKSPACE_IMAGES "/");
    CLEANUP(mem_freep) char *at = workspace_real(folder);

    return *w->state_dir && str_starts(str_of(real), str_of(at)) && real[strlen(at)] == '/';
}

void workspace_add_own(struct workspace *w, const char *dir)
{
    lock_take(&w->lock);
    if (!strv_has(&w->own, str_of(dir)))
        strv_adds(&w->own, dir);
    lock_give(&w->lock);
}

bool workspace_has_own(struct workspace *w, const char *real)
{
    bool is_below = false;

    for (; w && !is_below; w = w->of) {
        CLEANUP(strv_release) struct strv own = STRV_INIT;

        lock_take(&w->lock);
        strv_add_all(&own, &w->own);
        lock_give(&w->lock);
        for (size_t i = 0; i < own.len && !is_below; i++) {
            CLEANUP(mem_freep) char *at = workspace_real(own.ptr[i]);

            is_below = workspace_is_below(str_of(real), str_of(at));
        }
    }
    return is_below;
}

/* FNV-1a, eight bytes at a time: cheap, and only ever compared with itself. */
uint64_t seen_hash(struct str content)
{
    uint64_t h = 0xcbf29ce484222325;
    size_t i = 0;

    for (; i + 8 <= content.len; i += 8) {
        uint64_t x;

        memcpy(&x, content.ptr + i, sizeof(x));
        h = (h ^ x) * 0x100000001b3;
        h ^= h >> 29;
    }
    for (; i < content.len; i++)
        h = (h ^ (unsigned char)content.ptr[i]) * 0x100000001b3;
    return h;
}

void workspace_saw(struct workspace *w, const char *path, const struct stat *st, struct str content,
                   bool partial)
{
    struct seen_file *file = mem_zalloc(sizeof(*file));

    file->mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
    file->size = st->st_size;
    file->hash = seen_hash(content);
    file->partial = partial;
    workspace_keep_seen(w, path, file);
}

void workspace_recall_seen(struct workspace *w, const char *path, int64_t time_ms)
{
    struct seen_file *file = mem_zalloc(sizeof(*file));

    file->recalled_ms = time_ms;
    workspace_keep_seen(w, path, file);
}

bool workspace_seen(struct workspace *w, const char *path, struct seen_file *ret)
{
    const struct seen_file *file;

    lock_take(&w->lock);
    file = map_get(&w->seen, str_of(path));
    if (file)
        *ret = *file;
    lock_give(&w->lock);
    return file;
}

void workspace_forget(struct workspace *w, const char *path)
{
    struct seen_file *old;

    lock_take(&w->lock);
    old = map_remove(&w->seen, str_of(path));
    lock_give(&w->lock);
    mem_freep(&old);
}

void workspace_forget_all(struct workspace *w)
{
    lock_take(&w->lock);
    MAP_EACH(&w->seen, entry) {
        mem_freep(&entry->value);
    }
    map_release(&w->seen);
    w->seen = (struct map)MAP_INIT;
    lock_give(&w->lock);
}

static int workspace_later_first(const void *a, const void *b)
{
    const struct seen_file *x = (*(struct map_entry *const *)a)->value;
    const struct seen_file *y = (*(struct map_entry *const *)b)->value;

    return (x->order < y->order) - (x->order > y->order);
}

void workspace_seen_paths(struct workspace *w, struct strv *ret)
{
    VEC(struct map_entry *) list = VEC_INIT;

    lock_take(&w->lock);
    MAP_EACH(&w->seen, entry) {
        vec_push(&list, entry);
    }
    if (list.len)
        qsort(list.ptr, list.len, sizeof(list.ptr[0]), workspace_later_first);
    VEC_EACH(&list, entry) {
        strv_add(ret, (*entry)->key);
    }
    lock_give(&w->lock);
    vec_release(&list);
}

void workspace_todos(struct workspace *w, struct buf *ret)
{
    lock_take(&w->lock);
    buf_add(ret, buf_str(&w->todos));
    lock_give(&w->lock);
}

void workspace_set_todos(struct workspace *w, struct str json)
{
    lock_take(&w->lock);
    buf_clear(&w->todos);
    buf_add(&w->todos, json);
    lock_give(&w->lock);
}

void workspace_set_shell(struct workspace *w, enum workspace_shell which, struct str lines)
{
    lock_take(&w->lock);
    buf_clear(&w->shell[which]);
    buf_add(&w->shell[which], lines);
    lock_give(&w->lock);
}

void workspace_shell(struct workspace *w, struct buf *ret)
{
    lock_take(&w->lock);
    for (size_t i = 0; i < ARRAY_LEN(w->shell); i++)
        buf_add(ret, buf_str(&w->shell[i]));
    lock_give(&w->lock);
}

int workspace_spill(struct workspace *w, struct str name, struct buf *ret_path, struct err *err)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(PATH_MAX);
    CLEANUP(mem_freep) char *folder = path_join(w->state_dir, "tool-results");

    if (file_mkdirs(folder, 0700, err) < 0)
        return -1;
    for (int i = 0; i < WORKSPACE_SPILL_TRIES; i++) {
        int fd;

        buf_clear(&path);
        buf_addf(&path, "%s/%.*s", folder, STR_ARG(name));
        if (i)
            buf_addf(&path, "-%d", i + 1);
        buf_adds(&path, ".txt");
        fd = open(buf_cstr(&path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd >= 0) {
            close(fd);
            buf_move(ret_path, &path);
            return 0;
        }
        if (errno != EEXIST)
            break;
    }
    return err_sys(err, ERR_IO, "cannot create '%s'", buf_cstr(&path));
}

void *workspace_thing(struct workspace *w, const struct workspace_kind *kind)
{
    void *ptr = NULL;

    lock_take(&w->lock);
    VEC_EACH(&w->things, thing) {
        if (thing->kind == kind)
            ptr = thing->ptr;
    }
    if (!ptr) {
        struct thing *thing = vec_add(&w->things);

        thing->kind = kind;
        thing->ptr = kind->make(w);
        ptr = thing->ptr;
    }
    lock_give(&w->lock);
    return ptr;
}

void workspace_about_path(struct workspace *w, struct str path, bool writes, struct arena *arena,
                          struct rule_subject *ret)
{
    CLEANUP(mem_freep) char *full = workspace_resolve(w, path);

    CLEANUP(mem_freep) char *real = workspace_real(full);

    ret->about = ABOUT_PATH;
    ret->text = arena_str(arena, str_of(full));
    ret->real = arena_cstr(arena, str_of(real));
    ret->writes = writes;
}
