/*
 * confine_map: from rules to steps. All of it is one sorted list: in it a folder stands before its
 * contents, so that "the deepest rule wins" is "the last one that applies", and mounts that are
 * made in its order cover each other as they should. Runs on the thread that calls proc_start().
 */
#include "proc/confine_map.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "proc/confine.h"
#include "proc/mount_table.h"

#define MAP_MAX_LINKS 40

/* Whether path is dir or below it. */
static bool map_is_in(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    if (len == 1)
        return true; /* the root */
    return strncmp(path, dir, len) == 0 && (path[len] == '/' || !path[len]);
}

static const struct confine_overlay *map_overlay(const struct confine_map *m, const char *path)
{
    const struct confine_overlay *deepest = NULL;

    for (size_t i = 0; i < m->overlay_count; i++) {
        const struct confine_overlay *o = &m->overlays[i];

        if (map_is_in(path, o->at) && (!deepest || strlen(o->at) > strlen(deepest->at)))
            deepest = o;
    }
    return deepest;
}

enum map_layer {
    MAP_ABSENT, /* a layer below may have it */
    MAP_PRESENT,
    MAP_GONE, /* and so it is in all layers below */
};

/* Looks for a path, which begins with a slash, in one layer; room then holds where it is. */
static enum map_layer map_look_in_layer(const char *layer, const char *path, char *room)
{
    size_t len = (size_t)snprintf(room, PATH_MAX, "%s", layer);
    bool is_opaque = false;
    struct stat st;
    char mark;

    while (*path) {
        size_t name = strcspn(path + 1, "/") + 1;

        if (len + name >= PATH_MAX)
            return MAP_GONE;
        memcpy(room + len, path, name);
        len += name;
        room[len] = '\0';
        path += name;
        if (lstat(room, &st) < 0)
            return is_opaque ? MAP_GONE : MAP_ABSENT;
        if ((S_ISCHR(st.st_mode) && st.st_rdev == 0) || (*path && !S_ISDIR(st.st_mode)))
            return MAP_GONE;
        is_opaque =
            is_opaque || (S_ISDIR(st.st_mode) &&
                          lgetxattr(room, "user.overlay.opaque", &mark, 1) == 1 && mark == 'y');
    }
    return MAP_PRESENT;
}

/* Where the file is that the job finds at a path, which has no links on the way. NULL: nowhere. */
static const char *map_find(const struct confine_map *m, const char *path,
                            char room[static PATH_MAX])
{
    const struct confine_overlay *o = map_overlay(m, path);
    const char *inner = o ? path + strlen(o->at) : "";
    enum map_layer found;

    if (!*inner)
        return path;
    found = map_look_in_layer(o->upper, inner, room);
    for (const char *const *lower = o->lower; *lower && found == MAP_ABSENT; lower++)
        found = map_look_in_layer(*lower, inner, room);
    return found == MAP_PRESENT ? room : NULL;
}

/* False: there is no such thing. */
static bool map_add(struct confine_map *m, enum confine_step_what what, const char *path)
{
    char room[PATH_MAX];
    const char *file = map_find(m, path, room);
    struct stat st;

    if (!file || lstat(file, &st) < 0)
        return false;
    vec_push(&m->steps, ((struct confine_step){
                            .what = what,
                            .path = mem_dup(path, strlen(path)),
                            .is_dir = S_ISDIR(st.st_mode),
                            .is_link = S_ISLNK(st.st_mode),
                        }));
    return true;
}

/* The step that says what may be done with a path, of those that stand before `before`. NULL: none
 * does. */
static const struct confine_step *map_rule(const struct confine_map *m, const char *path,
                                           size_t before)
{
    const struct confine_step *rule = NULL;

    for (size_t i = 0; i < before; i++) {
        if (map_is_in(path, m->steps.ptr[i].path))
            rule = &m->steps.ptr[i];
    }
    return rule;
}

static int map_cmp(const void *a, const void *b)
{
    const struct confine_step *x = a;
    const struct confine_step *y = b;
    int order = strcmp(x->path, y->path);

    return order ? order : (int)x->what - (int)y->what;
}

/* Sorted, and one step for each path. */
static void map_sort(struct confine_map *m)
{
    size_t kept = 0;

    if (!m->steps.len)
        return;
    qsort(m->steps.ptr, m->steps.len, sizeof(*m->steps.ptr), map_cmp);
    for (size_t i = 0; i < m->steps.len; i++) {
        struct confine_step *step = &m->steps.ptr[i];

        if (i + 1 < m->steps.len && strcmp(step->path, step[1].path) == 0)
            mem_freep(&step->path); /* the next one wins */
        else
            m->steps.ptr[kept++] = *step;
    }
    m->steps.len = kept;
}

static bool map_changes(const struct confine_map *m, const struct confine_step *step,
                        const struct confine_step *rule)
{
    bool writable = rule ? rule->what == STEP_WRITE || rule->what == STEP_PIN : m->all_writable;
    bool hidden = rule && rule->what == STEP_HIDE;

    switch (step->what) {
    case STEP_WRITE:
        return !writable;
    case STEP_READ_ONLY:
        return writable;
    case STEP_SHOW:
        return hidden;
    case STEP_HIDE:
        return !hidden;
    default:
        return true;
    }
}

static void map_drop_idle(struct confine_map *m)
{
    size_t kept = 0;

    for (size_t i = 0; i < m->steps.len; i++) {
        struct confine_step *step = &m->steps.ptr[i];

        if (map_changes(m, step, map_rule(m, step->path, kept)))
            m->steps.ptr[kept++] = *step;
        else
            free(step->path);
    }
    m->steps.len = kept;
}

/* What lies below a folder that is written: one above it could be renamed, and then it would be
 * neither read-only nor hidden for the next job. */
static bool map_needs_pins(const struct confine_step *step, const struct confine_step *rule)
{
    if (step->what == STEP_HIDE)
        return rule && rule->what == STEP_WRITE;
    return step->what == STEP_READ_ONLY || step->is_link;
}

/* A folder with a mount on it cannot be renamed, but one above it could be, and another be made in
 * its place, without its read-only contents. */
static void map_add_pins(struct confine_map *m)
{
    size_t len = m->steps.len;
    char path[PATH_MAX];

    for (size_t i = 0; i < len; i++) {
        const struct confine_step *rule = map_rule(m, m->steps.ptr[i].path, i);
        size_t stop = rule ? strlen(rule->path) : 1;
        char *slash;

        if (!map_needs_pins(&m->steps.ptr[i], rule))
            continue;
        snprintf(path, sizeof(path), "%s", m->steps.ptr[i].path);
        for (;;) {
            slash = strrchr(path, '/');
            if ((size_t)(slash - path) <= stop)
                break;
            *slash = '\0';
            map_add(m, STEP_PIN, path);
        }
    }
}

static bool map_is_writable(const struct confine_map *m, const char *path)
{
    const struct confine_step *rule = map_rule(m, path, m->steps.len);

    return rule ? rule->what == STEP_WRITE || rule->what == STEP_PIN : m->all_writable;
}

/* `left` is a part of `rest`. */
static void map_go_by_link(struct buf *rest, struct str target, struct str left)
{
    CLEANUP(buf_release) struct buf next = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&next, "%.*s/%.*s", STR_ARG(target), STR_ARG(left));
    buf_move(rest, &next);
}

/* Rules share most of the way to what they are about: it is looked at once. */
static bool map_is_walked(const struct confine_map *m, const struct buf *at)
{
    return map_is_in(buf_cstr(&m->walked), buf_cstr(at));
}

/* How to treat a link in a place that the job may write: the job could make it lead anywhere. */
enum map_links {
    MAP_NEVER,  /* it is not followed */
    MAP_PINNED, /* it must not come to lead elsewhere */
};

/* As the kernel walks: `at` has no links any more, `rest` is still to come. */
static bool map_walk(struct confine_map *m, enum map_links links, struct buf *at, struct buf *rest)
{
    char target[PATH_MAX];
    char room[PATH_MAX];
    struct str left = buf_str(rest);
    int count = MAP_MAX_LINKS;
    struct str name;

    while (str_cut(&left, '/', &name)) {
        CLEANUP(mem_freep) char *link = NULL;
        size_t before = at->len;
        const char *file;
        bool is_writable;
        ssize_t len;

        path_walk(at, name);
        if (!at->len || map_is_walked(m, at))
            continue;
        file = map_find(m, buf_cstr(at), room);
        len = file ? readlink(file, target, sizeof(target)) : -1;
        if (len < 0)
            continue;
        link = mem_dup(at->ptr, at->len);
        buf_cut(at, before, at->len - before);
        is_writable = map_is_writable(m, at->len ? buf_cstr(at) : "/");
        if (len == sizeof(target) || count-- == 0 || (is_writable && links == MAP_NEVER))
            return false;
        if (is_writable)
            map_add(m, STEP_PIN, link);
        if (target[0] == '/')
            buf_clear(at);
        map_go_by_link(rest, str_make(target, (size_t)len), left);
        left = buf_str(rest);
    }
    return true;
}

/* Where a path leads to, whether there is anything or not. NULL: nowhere, or it is not followed. */
static char *map_follow(struct confine_map *m, enum map_links links, const char *path)
{
    CLEANUP(buf_release) struct buf at = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf rest = BUF_INIT(BUF_NO_LIMIT);

    buf_adds(&rest, path);
    if (!map_walk(m, links, &at, &rest))
        return NULL;
    buf_clear(&m->walked);
    buf_add(&m->walked, buf_str(&at));
    if (!at.len)
        buf_addc(&at, '/');
    return buf_take(&at);
}

/* What rules lead to, "" for those that lead nowhere. The links on the way must not come to lead
 * elsewhere. */
static void map_follow_all(struct confine_map *m, const char *const *list, struct strv *ret)
{
    for (; list && *list; list++) {
        CLEANUP(mem_freep) char *real = map_follow(m, MAP_PINNED, *list);

        strv_adds(ret, real ? real : "");
    }
}

/* Those of the rules that lead somewhere. */
static void map_add_all(struct confine_map *m, enum confine_step_what what, const char *const *list)
{
    CLEANUP(strv_release) struct strv found = STRV_INIT;

    map_follow_all(m, list, &found);
    for (size_t i = 0; i < found.len; i++)
        map_add(m, what, found.ptr[i]);
}

/* A link that jobs could have made must not open what it leads to; where they could, `by` says,
 * with its steps in order. It may be m itself. */
static void map_add_opened(struct confine_map *m, struct confine_map *by,
                           enum confine_step_what what, const char *const *list)
{
    CLEANUP(strv_release) struct strv found = STRV_INIT;

    for (; list && *list; list++) {
        CLEANUP(mem_freep) char *real = map_follow(by, MAP_NEVER, *list);

        if (real)
            strv_adds(&found, real);
    }
    for (size_t i = 0; i < found.len; i++)
        map_add(m, what, found.ptr[i]);
}

/* Which links can be followed depends on what can be written, and the other way round: all that the
 * rules could mean is the safe side. */
static void map_add_writable(struct confine_map *m, const char *const *list)
{
    struct confine_map most = {.walked = BUF_INIT(BUF_NO_LIMIT),
                               .overlays = m->overlays,
                               .overlay_count = m->overlay_count};

    map_add_all(&most, STEP_WRITE, list); /* nothing is writable yet: all links are followed */
    map_sort(&most);
    map_add_opened(m, &most, STEP_WRITE, list);
    confine_map_release(&most);
    map_sort(m);
    for (size_t i = 0; i < m->steps.len; i++) {
        if (strcmp(m->steps.ptr[i].path, "/") == 0)
            m->all_writable = true;
    }
}

static bool map_is_write_root(const struct confine_map *m, const char *path)
{
    for (size_t i = 0; i < m->steps.len; i++) {
        if (strcmp(m->steps.ptr[i].path, path) == 0)
            return true;
    }
    return m->all_writable && strcmp(path, "/") == 0;
}

/* Nothing has been put into it as long as it is as old as no other. */
bool confine_make_folder(const char *path)
{
    const struct timespec times[2] = {{.tv_sec = CONFINE_MADE_TIME}, {.tv_sec = CONFINE_MADE_TIME}};

    if (mkdir(path, 0755) < 0)
        return errno == EEXIST;
    utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
    return true;
}

/* One that is missing; `path` is cut up to the nearest folder that is there. */
static void map_keep_missing(struct confine_map *m, char *path, bool is_folder)
{
    char real[PATH_MAX];
    char *slash = strrchr(path, '/');
    struct stat st;

    if (is_folder) {
        *slash = '\0';
        if (stat(path[0] ? path : "/", &st) < 0 || !S_ISDIR(st.st_mode))
            return;
        *slash = '/';
        (void)confine_make_folder(path); /* that it fails shows next */
        if (realpath(path, real))
            map_add(m, STEP_READ_ONLY, real);
        return;
    }
    do {
        *slash = '\0';
        if (realpath(path, real)) {
            if (!map_is_write_root(m, real) && map_is_writable(m, real))
                map_add(m, STEP_READ_ONLY, real);
            return;
        }
        slash = strrchr(path, '/');
    } while (slash);
}

/* After the writable ones are sorted in: the treatment of a missing one depends on them. */
static void map_add_read_only(struct confine_map *m, const char *const *list)
{
    CLEANUP(strv_release) struct strv found = STRV_INIT;
    char path[PATH_MAX];

    map_follow_all(m, list, &found);
    for (size_t i = 0; i < found.len; i++) {
        size_t len = strlen(list[i]);
        bool is_folder;

        if (map_add(m, STEP_READ_ONLY, found.ptr[i]) || len >= sizeof(path))
            continue; /* no file has a name that long */
        if (map_overlay(m, found.ptr[i]))
            continue; /* what the job makes there is in the upper folder only */
        memcpy(path, list[i], len + 1);
        is_folder = len > 1 && path[len - 1] == '/';
        while (len > 1 && path[len - 1] == '/')
            path[--len] = '\0';
        map_keep_missing(m, path, is_folder);
    }
}

static void map_add_hidden(struct confine_map *m, const char *const *list)
{
    map_sort(m);
    map_add_all(m, STEP_HIDE, list);
}

/* Closed paths are closed wherever else they are mounted, too. */
static void map_add_elsewhere(struct confine_map *m)
{
    struct mount_table mounts;
    size_t len = m->steps.len;

    mount_table_read(&mounts);
    for (size_t i = 0; i < len; i++) {
        enum confine_step_what what = m->steps.ptr[i].what;
        CLEANUP(strv_release) struct strv found = STRV_INIT;

        if (what != STEP_HIDE && what != STEP_READ_ONLY)
            continue;
        mount_table_find(&mounts, m->steps.ptr[i].path, &found);
        for (size_t k = 0; k < found.len; k++) {
            if (strcmp(found.ptr[k], m->steps.ptr[i].path) != 0)
                map_add(m, what, found.ptr[k]);
        }
    }
    mount_table_release(&mounts);
}

static void map_mark_inner(struct confine_map *m)
{
    for (size_t i = 0; i < m->steps.len; i++) {
        for (size_t j = i + 1; m->steps.ptr[i].what == STEP_HIDE && j < m->steps.len; j++) {
            if (map_is_in(m->steps.ptr[j].path, m->steps.ptr[i].path))
                m->steps.ptr[i].has_inner = true;
        }
    }
}

void confine_map_init(struct confine_map *m, const struct confinement *c)
{
    *m = (struct confine_map){.all_writable = !c->write,
                              .walked = BUF_INIT(BUF_NO_LIMIT),
                              .overlays = c->overlays,
                              .overlay_count = c->overlay_count};
    map_add_writable(m, c->write);
    map_add_read_only(m, c->read_only);
    map_add_hidden(m, c->hidden);
    map_add_elsewhere(m);
    map_sort(m); /* to know what can be written */
    map_add_opened(m, m, STEP_SHOW, c->shown);
    map_sort(m);
    map_drop_idle(m);
    map_add_pins(m);
    map_sort(m);
    map_mark_inner(m);
}

/* Whether the job can put nothing else in its place. */
static bool map_is_fixed(const struct confine_map *m, const char *path)
{
    CLEANUP(mem_freep) char *dir = mem_dup(path, strlen(path));

    for (char *slash = strrchr(dir, '/'); slash; slash = strrchr(dir, '/')) {
        *slash = '\0';
        if (map_is_writable(m, dir[0] ? dir : "/"))
            return false;
    }
    return true;
}

char *confine_map_socket(struct confine_map *m, const char *path)
{
    char *real = map_follow(m, MAP_NEVER, path);

    if (real && !map_is_fixed(m, real))
        mem_freep(&real);
    return real;
}

void confine_map_release(struct confine_map *m)
{
    VEC_EACH(&m->steps, step) {
        free(step->path);
    }
    vec_release(&m->steps);
    buf_release(&m->walked);
}
