/*
 * room: prepares the layers of an overlay from what changed since the goal was set, in a private
 * folder in memory where that can be had. A whiteout, a character device 0:0 in the upper layer,
 * hides a file; any user may make one. Whatever a check changes ends up in the upper layer, so that
 * a protected file found there afterwards was changed during the run, even if it was put back. Any
 * thread, one at a time.
 */
#include "goal/origin/room_layer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "base/test_switch.h"
#include "goal/git/git.h"
#include "goal/origin/names.h"
#include "goal/origin/survey.h"
#include "sync/cancel.h"

#ifndef OVERLAYFS_SUPER_MAGIC
#define OVERLAYFS_SUPER_MAGIC 0x794c7630
#endif

#define ROOM_MEMORY_PART 4
#define ROOM_MIN_MEMORY ((int64_t)64 << 20)
#define ROOM_MAX_BACKDATED ((int64_t)16 << 20)
#define ROOM_BACKDATED_NS ((int64_t)2 * 1000000000)

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)at;
    if (type == FTW_D && (st->st_mode & 0700) != 0700)
        chmod(path, 0700);
    else if (type == FTW_DNR) /* overlayfs closes its own folder */
        chmod(path, 0700);
    return 0;
}

static int remove_last(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    remove(path);
    return 0;
}

void room_remove(const char *dir)
{
    nftw(dir, remove_entry, 16, FTW_PHYS);
    nftw(dir, remove_last, 16, FTW_DEPTH | FTW_PHYS);
}

void room_free(struct room *r)
{
    if (!r)
        return;
    if (r->base && r->memory.dir < 0)
        room_remove(r->base);
    private_dir_release(&r->memory);
    for (size_t i = 0; i < r->layer_count; i++) {
        mem_freep(&r->layers[i].at);
        mem_freep(&r->layers[i].upper);
        mem_freep(&r->layers[i].given_upper);
        mem_freep(&r->layers[i].given_work);
    }
    fd_closep(&r->observe);
    strv_release(&r->hidden);
    strv_release(&r->write);
    strv_release(&r->read_only);
    strv_release(&r->hides);
    map_release(&r->placed);
    mem_freep(&r->base);
    mem_freep(&r->given_base);
    mem_freep(&r->dir);
    mem_freep(&r->files);
    mem_freep(&r->home);
    mem_freep(&r->given_home);
    mem_freep(&r->given_temp);
    mem_freep(&r->user_home);
    mem_freep(&r->above);
    mem_freep(&r->whiteout);
    mem_freep(&r);
}

static void room_freep(struct room **r)
{
    room_free(*r);
}

const char *room_dir(const struct room *r)
{
    return r->dir;
}

bool room_is_copy(const struct room *r)
{
    return r->is_copy;
}

bool room_in_memory(const struct room *r)
{
    return r->memory.dir >= 0;
}

const struct strv *room_hidden(const struct room *r)
{
    return &r->hidden;
}

/* ---- the upper layer ---- */

bool room_is_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    return strncmp(path, dir, len) == 0 && (path[len] == '/' || !path[len]);
}

/* The layer that shows a path, and its place in the upper folder. NULL: none does. */
static const struct room_layer *layer_of(const struct room *r, const char *path, struct buf *upper)
{
    const struct room_layer *found = NULL;

    for (size_t i = 0; i < r->layer_count; i++) {
        const struct room_layer *l = &r->layers[i];

        if (room_is_below(path, l->at) && (!found || strlen(l->at) > strlen(found->at)))
            found = l;
    }
    if (found)
        buf_addf(upper, "%s%s", found->upper, path + strlen(found->at));
    return found;
}

/* The folders on the way to a place, as they are below. */
static int make_parents(const struct room_layer *l, char *place, struct err *err)
{
    size_t start = strlen(l->upper);

    for (char *slash = strchr(place + start + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        CLEANUP(buf_release) struct buf below = BUF_INIT(BUF_NO_LIMIT);
        struct stat st;

        *slash = '\0';
        buf_addf(&below, "%s%s", l->at, place + start);
        if (mkdir(place, 0700) == 0) {
            if (stat(buf_cstr(&below), &st) == 0) {
                (void)chmod(place, st.st_mode & 07777);
                (void)!chown(place, st.st_uid, st.st_gid);
            } else {
                (void)chmod(place, 0755);
            }
        } else if (errno != EEXIST) {
            err_sys(err, ERR_IO, "cannot make '%s'", place);
            *slash = '/';
            return -1;
        }
        *slash = '/';
    }
    return 0;
}

/* Opens the way to a place in the upper layer; "" when no layer shows the path. */
int room_make_place(struct room *r, const char *path, struct buf *ret, struct err *err)
{
    const struct room_layer *l = layer_of(r, path, ret);

    if (!l)
        return 0;
    buf_cstr(ret); /* ends it */
    map_set(&r->placed, buf_str(ret), r);
    return make_parents(l, ret->ptr, err);
}

/* All whiteouts are names of one file, as those of overlayfs itself are: an inode takes longer to
 * make than a name. */
static int make_whiteout(struct room *r, const char *place)
{
    if (!r->whiteout) {
        r->whiteout = path_join(r->base, "hidden");
        (void)mknod(r->whiteout, S_IFCHR, makedev(0, 0));
    }
    if (link(r->whiteout, place) == 0 || errno == EEXIST)
        return 0;
    return mknod(place, S_IFCHR, makedev(0, 0)) < 0 && errno != EEXIST ? -1 : 0;
}

int room_hide(struct room *r, const char *path, struct err *err)
{
    CLEANUP(buf_release) struct buf place = BUF_INIT(BUF_NO_LIMIT);

    if (room_make_place(r, path, &place, err) < 0)
        return -1;
    if (r->is_copy) {
        if (place.len)
            room_remove(buf_cstr(&place));
        return 0;
    }
    if (place.len && make_whiteout(r, buf_cstr(&place)) < 0)
        return err_sys(err, ERR_IO, "cannot hide '%s' in the clean room", path);
    return 0;
}

int room_place(struct room *r, const char *path, struct str text, unsigned mode, struct err *err)
{
    CLEANUP(buf_release) struct buf place = BUF_INIT(BUF_NO_LIMIT);

    if (room_make_place(r, path, &place, err) < 0)
        return -1;
    return place.len ? file_replace(buf_cstr(&place), text, mode, err) : 0;
}

/* ---- files of the workspace ---- */

/* Prefix sums over the present files: how many before an index stay visible. */
static size_t *count_visible(const struct inventory *files, const bool *is_hidden)
{
    size_t *sums = mem_alloc((files->entries.len + 1) * sizeof(*sums));

    sums[0] = 0;
    for (size_t i = 0; i < files->entries.len; i++)
        sums[i + 1] = sums[i] + !is_hidden[i];
    return sums;
}

/* How many entries of a list lie below a folder: [*ret_from, the result). */
size_t room_files_below(const struct inventory *files, struct str folder, size_t *ret_from)
{
    CLEANUP(buf_release) struct buf bound = BUF_INIT(BUF_NO_LIMIT);

    buf_add(&bound, folder);
    buf_addc(&bound, '/');
    *ret_from = inventory_at(files, buf_str(&bound));
    bound.ptr[bound.len - 1] = '/' + 1;
    return inventory_at(files, buf_str(&bound));
}

/* Whether the recorded state has something at this path, so that the workspace's is not seen. */
static bool is_covered(const struct room_final *final, struct str path)
{
    CLEANUP(buf_release) struct buf full = BUF_INIT(BUF_NO_LIMIT);
    size_t start = strlen(final->dir) + 1;
    struct stat st;

    buf_addf(&full, "%s/%.*s", final->dir, STR_ARG(path));
    buf_cstr(&full);
    for (char *slash = strchr(full.ptr + start, '/'); slash; slash = strchr(slash + 1, '/')) {
        bool is_there;

        *slash = '\0';
        is_there = lstat(full.ptr, &st) == 0;
        *slash = '/';
        if (!is_there)
            return false;
        if (!S_ISDIR(st.st_mode))
            return true; /* a file where the workspace has a folder */
    }
    return lstat(full.ptr, &st) == 0;
}

/* A folder that the recorded state does not have was there nevertheless when ignored files lay in
 * it; with tracked files alone it went with them. */
static bool had_ignored(const struct origin *o, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (!(o->files.entries.ptr[i].flags & INVENTORY_TREE))
            return true;
    }
    return false;
}

/* The topmost folder of the path that came since the goal was set and in which nothing is visible;
 * the path itself if there is none. */
static struct str topmost(const struct room_spec *spec, const size_t *visible, struct str path)
{
    for (size_t i = 0; i < path.len; i++) {
        struct str folder = str_first(path, i);
        size_t from, to;

        if (path.ptr[i] != '/')
            continue;
        to = room_files_below(&spec->origin->files, folder, &from);
        if (spec->final ? is_covered(spec->final, folder) || had_ignored(spec->origin, from, to)
                        : from != to)
            continue; /* it existed: its contents may be made again */
        to = room_files_below(&spec->now->files, folder, &from);
        if (visible[from] == visible[to])
            return folder;
    }
    return path;
}

static bool is_compiled(const struct origin *o, struct str path)
{
    CLEANUP(mem_freep) char *full = path_join(o->dir, path.ptr);
    CLEANUP(fd_closep) int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    char start[4];

    return fd >= 0 && read(fd, start, sizeof(start)) == sizeof(start) &&
           memcmp(start, "\177ELF", 4) == 0;
}

bool room_must_hide(const struct room_spec *spec, const struct inventory_change *c)
{
    const struct origin *o = spec->origin;

    if (!c->is || c->is->flags & INVENTORY_PROTECTED || origin_keeps(o, c->is->path))
        return false;
    if (!(c->is->flags & INVENTORY_TREE) || c->is->type == INVENTORY_OTHER)
        return true;
    return spec->hides_built && !c->was && c->is->mode & 0111 && is_compiled(o, c->is->path);
}

static int hide_changed(struct room *r, const struct room_spec *spec, struct err *err)
{
    const struct inventory *files = &spec->now->files;
    CLEANUP(mem_freep) bool *is_hidden = mem_zalloc(files->entries.len + 1);
    CLEANUP(mem_freep) size_t *visible = NULL;
    CLEANUP(buf_release) struct buf last = BUF_INIT(BUF_NO_LIMIT);

    VEC_EACH(&spec->now->changes, c) {
        if (room_must_hide(spec, c))
            is_hidden[c->is - files->entries.ptr] = true;
    }
    visible = count_visible(files, is_hidden);
    VEC_EACH(&spec->now->changes, c) {
        CLEANUP(buf_release) struct buf full = BUF_INIT(BUF_NO_LIMIT);
        struct str top;

        if (!c->is || !is_hidden[c->is - files->entries.ptr])
            continue;
        strv_add(&r->hidden, c->is->path);
        top = topmost(spec, visible, c->is->path);
        if (last.len && str_eq(top, buf_str(&last)))
            continue;
        buf_clear(&last);
        buf_add(&last, top);
        buf_addf(&full, "%s/%.*s", r->origin->dir, STR_ARG(top));
        if (room_hide(r, buf_cstr(&full), err) < 0)
            return -1;
    }
    return 0;
}

/* ---- a recorded state ---- */

/* The visible parts of the workspace itself, by the index of their entry. */
bool *room_find_seen(const struct room_spec *spec)
{
    const struct inventory *files = &spec->now->files;
    bool *is_seen = mem_zalloc(files->entries.len + 1);

    for (size_t i = 0; i < files->entries.len; i++) {
        const struct inventory_entry *e = &files->entries.ptr[i];
        const struct inventory_entry *was = inventory_find(&spec->origin->files, e->path);

        is_seen[i] = e->flags & INVENTORY_NESTED || (was && !(was->flags & INVENTORY_TREE));
    }
    VEC_EACH(&spec->now->changes, c) {
        if (c->is && !(c->is->flags & INVENTORY_NESTED))
            is_seen[c->is - files->entries.ptr] = false;
    }
    for (size_t i = 0; i < files->entries.len; i++)
        is_seen[i] = is_seen[i] && !is_covered(spec->final, files->entries.ptr[i].path);
    return is_seen;
}

static int hide_unrecorded(struct room *r, const struct room_spec *spec, struct err *err)
{
    const struct inventory *files = &spec->now->files;
    CLEANUP(mem_freep) bool *is_seen = room_find_seen(spec);
    CLEANUP(mem_freep) bool *is_hidden = mem_zalloc(files->entries.len + 1);
    CLEANUP(mem_freep) size_t *visible = NULL;
    CLEANUP(buf_release) struct buf last = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < files->entries.len; i++)
        is_hidden[i] = !is_seen[i] && !is_covered(spec->final, files->entries.ptr[i].path);
    visible = count_visible(files, is_hidden);
    for (size_t i = 0; i < files->entries.len; i++) {
        CLEANUP(buf_release) struct buf full = BUF_INIT(BUF_NO_LIMIT);
        struct str top;

        if (!is_hidden[i])
            continue;
        top = topmost(spec, visible, files->entries.ptr[i].path);
        if (last.len && str_eq(top, buf_str(&last)))
            continue;
        buf_clear(&last);
        buf_add(&last, top);
        buf_addf(&full, "%s/%.*s", spec->origin->dir, STR_ARG(top));
        if (room_hide(r, buf_cstr(&full), err) < 0)
            return -1;
    }
    return 0;
}

/* A changed file that claims to be old would keep make from building anew: here it is as young as
 * it is. */
static int date_changed(struct room *r, const struct room_spec *spec, struct err *err)
{
    VEC_EACH(&spec->now->changes, c) {
        CLEANUP(buf_release) struct buf text = {0};
        CLEANUP(buf_release) struct buf place = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(mem_freep) char *full = NULL;
        struct timespec times[2];

        if (!c->is || c->how == INVENTORY_MODE || c->is->type != INVENTORY_FILE ||
            !(c->is->flags & INVENTORY_TREE) || c->is->size > ROOM_MAX_BACKDATED ||
            c->is->mtime_ns + ROOM_BACKDATED_NS > c->is->ctime_ns)
            continue;
        full = path_join(r->origin->dir, c->is->path.ptr);
        if (file_slurp(full, (size_t)ROOM_MAX_BACKDATED, &text, NULL) < 0)
            continue;
        if (room_make_place(r, full, &place, err) < 0 ||
            file_replace(buf_cstr(&place), buf_str(&text), c->is->mode, err) < 0)
            return -1;
        times[0].tv_sec = times[1].tv_sec = c->is->ctime_ns / 1000000000;
        times[0].tv_nsec = times[1].tv_nsec = c->is->ctime_ns % 1000000000;
        utimensat(AT_FDCWD, buf_cstr(&place), times, 0);
    }
    return 0;
}

/* ---- the private folders ---- */

static int make_home(struct room *r, const struct room_spec *spec, struct err *err)
{
    static const char *const folders[] = {".config/git", ".cache", ".local/share", ".local/state",
                                          ".run"};
    CLEANUP(mem_freep) char *prefix = path_join(spec->home, "");

    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        CLEANUP(mem_freep) char *path = path_join(r->home, folders[i]);

        if (file_mkdirs(path, 0700, err) < 0)
            return -1;
    }
    VEC_EACH(&spec->origin->git.files, f) { /* how the user's git behaves, as it was */
        CLEANUP(mem_freep) char *path = NULL;

        if (!f->exists || !str_starts(f->path, str_of(prefix)) ||
            (r->origin->git.has_git && str_starts(f->path, r->origin->git.common_dir)))
            continue;
        path = path_join(r->home, f->path.ptr + strlen(prefix));
        (void)file_replace(path, f->content, 0600, /*err=*/NULL);
    }
    for (size_t i = 0; spec->caches && i < spec->caches->len; i++) {
        const char *cache = spec->caches->ptr[i];
        CLEANUP(mem_freep) char *path = NULL, *folder = NULL;

        if (!room_is_below(cache, spec->home) || !cache[strlen(spec->home)] || !file_exists(cache))
            continue;
        path = path_join(r->home, cache + strlen(prefix));
        folder = path_dirname(path);
        if (file_mkdirs(folder, 0700, err) < 0 || (symlink(cache, path) < 0 && errno != EEXIST))
            return err_sys(err, ERR_IO, "cannot link '%s' into the clean room", cache);
    }
    return 0;
}

/* ---- opening ---- */

static int add_layer(struct room *r, struct str at, struct err *err)
{
    struct room_layer *l = &r->layers[r->layer_count];
    CLEANUP(mem_freep) char *work = NULL;
    char name[16];

    for (size_t i = 0; i < r->layer_count; i++) {
        if (room_is_below(at.ptr, r->layers[i].at))
            return 0;
    }
    r->layer_count++;
    l->at = mem_dup(at.ptr, at.len);
    snprintf(name, sizeof(name), "u%zu", r->layer_count);
    l->upper = path_join(r->base, name);
    l->given_upper = path_join(r->given_base, name);
    name[0] = 'w';
    work = path_join(r->base, name);
    l->given_work = path_join(r->given_base, name);
    l->lower[0] = l->at;
    if (mkdir(l->upper, 0755) < 0 || mkdir(work, 0700) < 0)
        return err_sys(err, ERR_IO, "cannot make '%s'", l->upper);
    return 0;
}

static int prepare(struct room *r, const struct room_spec *spec, struct cancel *cancel,
                   struct err *err)
{
    const struct git_state *state = &spec->origin->git;
    struct stat st;

    if (add_layer(r, str_of(spec->origin->dir), err) < 0)
        return -1;
    if (stat(spec->origin->dir, &st) == 0) {
        (void)chmod(r->layers[0].upper, st.st_mode & 07777);
        (void)!chown(r->layers[0].upper, st.st_uid, st.st_gid);
    }
    if (state->has_git &&
        (add_layer(r, state->common_dir, err) < 0 || add_layer(r, state->git_dir, err) < 0))
        return -1;
    if (!spec->now)
        return 0;
    if (spec->final) {
        r->layers[0].lower[0] = spec->final->dir;
        r->layers[0].lower[1] = r->layers[0].at;
    }
    if (spec->final ? hide_unrecorded(r, spec, err) < 0
                    : hide_changed(r, spec, err) < 0 || date_changed(r, spec, err) < 0)
        return -1;
    return room_restore_git(r, spec, cancel, err);
}

/* An overlay cannot have its upper layer on another one, as the root of a container is. */
static bool can_be_upper(const char *dir)
{
    struct statfs fs;

    return statfs(dir, &fs) == 0 && fs.f_type != OVERLAYFS_SUPER_MAGIC && access(dir, W_OK) == 0;
}

/* What TENAX_TEST_ROOM forbids or wants, in words: "copy", "disk", "none", "unseen". */
static bool is_wanted(const char *word)
{
    const char *words = test_switch("TENAX_TEST_ROOM");

    return words && str_is_word_of(str_of(word), words);
}

static bool must_be_copy(const struct room_spec *spec)
{
    return spec->must_copy || is_wanted("copy") || !confine_overlay_works(/*ret_why=*/NULL);
}

/* Where the room is made on the disk, and whether it can be an overlay there. */
static const char *choose_place(const struct room_spec *spec, bool *ret_is_copy)
{
    const char *const places[] = {spec->temp, spec->origin->folder, "/dev/shm"};

    *ret_is_copy = must_be_copy(spec);
    for (size_t i = 0; !*ret_is_copy && i < ARRAY_LEN(places); i++) {
        if (can_be_upper(places[i]) && !room_is_below(places[i], spec->origin->dir))
            return places[i];
    }
    *ret_is_copy = true;
    return spec->temp;
}

/* The number in a line of a file such as /proc/meminfo, or INT64_MAX. */
static int64_t number_in(const char *path, const char *before)
{
    CLEANUP(buf_release) struct buf text = {0};
    const char *at;

    if (file_slurp(path, 64 << 10, &text, /*err=*/NULL) < 0)
        return INT64_MAX;
    at = strstr(buf_cstr(&text), before);
    at = at ? at + strlen(before) : NULL;
    return at && at[strspn(at, " ")] >= '0' && at[strspn(at, " ")] <= '9' ? strtoll(at, NULL, 10)
                                                                          : INT64_MAX;
}

/* A part of what is free, for the outputs of checks; what they hold of it is seldom more. */
static int64_t memory_to_use(void)
{
    int64_t kilobytes = number_in("/proc/meminfo", "MemAvailable:");
    int64_t limit = number_in("/sys/fs/cgroup/memory.max", "");
    int64_t bytes = kilobytes < INT64_MAX / 1024 ? kilobytes * 1024 : 0;

    return (bytes < limit ? bytes : limit) / ROOM_MEMORY_PART;
}

/* Whether a folder has no use here and stays where it is: it is empty, and not the user's. */
static bool can_be_covered(const struct room_spec *spec, const char *path)
{
    CLEANUP(mem_freep) char *above = path_dirname(path);
    CLEANUP(mem_freep) char *real = path_real(path);
    const struct dirent *e = NULL;
    DIR *dir;

    if (!real || strcmp(real, path) != 0 || room_is_below(spec->origin->dir, path) ||
        room_is_below(spec->home, path) || room_is_below(spec->temp, path) ||
        (geteuid() != 0 && access(above, W_OK) == 0))
        return false;
    dir = opendir(path);
    if (!dir)
        return false;
    do
        e = readdir(dir);
    while (e && (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0));
    closedir(dir);
    return !e;
}

/* A process of the agent that is not confined could change a room on the disk while a check runs
 * in it. One in memory is not in any path that such a process has. */
static bool make_in_memory(struct room *r, const struct room_spec *spec)
{
    static const char *const places[] = {"/mnt",     "/media",     "/srv",
                                         "/var/opt", "/var/local", "/usr/local/src"};
    int64_t bytes = memory_to_use();

    if (spec->is_confined || is_wanted("disk") || bytes < ROOM_MIN_MEMORY)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        CLEANUP(buf_release) struct buf base = BUF_INIT(64);

        if (!can_be_covered(spec, places[i]))
            continue;
        if (private_dir_make(places[i], (uint64_t)bytes, &r->memory, /*err=*/NULL) < 0)
            return false;
        /* By a number, for git, which is another process. */
        buf_addf(&base, "/proc/%d/fd/%d", (int)getpid(), r->memory.dir);
        r->base = buf_take(&base);
        r->given_base = mem_dup(places[i], strlen(places[i]));
        r->is_copy = must_be_copy(spec);
        return true;
    }
    return false;
}

static int make_on_disk(struct room *r, const struct room_spec *spec, struct err *err)
{
    CLEANUP(mem_freep) char *name = path_join(choose_place(spec, &r->is_copy), "tenax-room-XXXXXX");

    if (!mkdtemp(name))
        return err_sys(err, ERR_IO, "cannot make a clean room in '%s'", spec->temp);
    r->base = path_real(name);
    r->given_base = mem_dup(r->base, strlen(r->base));
    return 0;
}

/* As files get it, which is behind the clock. */
static int64_t file_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int open_room(const struct room_spec *spec, bool in_memory, struct cancel *cancel,
                     struct room **ret, struct err *err)
{
    CLEANUP(room_freep) struct room *r = mem_zalloc(sizeof(*r));
    CLEANUP(mem_freep) char *temp = NULL;

    r->observe = -1;
    r->memory = (struct private_dir)PRIVATE_DIR_INIT;
    r->opened_ns = file_time();
    r->origin = spec->origin;
    r->now = spec->final ? NULL : spec->now;
    r->user_home = mem_dup(spec->home, strlen(spec->home));
    if (!(in_memory && make_in_memory(r, spec)) && make_on_disk(r, spec, err) < 0)
        return -1;
    r->can_be_changed = !spec->is_confined && r->memory.dir < 0;
    r->home = path_join(r->base, "h");
    r->given_home = path_join(r->given_base, "h");
    r->given_temp = path_join(r->given_base, "t");
    temp = path_join(r->base, "t");
    if (mkdir(r->home, 0700) < 0 || mkdir(temp, 0700) < 0)
        return err_sys(err, ERR_IO, "cannot make '%s'", r->home);
    if (make_home(r, spec, err) < 0)
        return -1;
    if (r->is_copy) {
        r->files = path_join(r->base, "copy");
        r->dir = path_join(r->given_base, "copy");
    } else {
        r->dir = mem_dup(spec->origin->dir, strlen(spec->origin->dir));
    }
    if (r->is_copy ? room_copy(r, spec, cancel, err) < 0 : prepare(r, spec, cancel, err) < 0)
        return -1;
    *ret = TAKE_PTR(r);
    return 0;
}

int room_open(const struct room_spec *spec, struct cancel *cancel, struct room **ret,
              struct err *err)
{
    struct err why = {0};

    if (is_wanted("none"))
        return err_set(err, ERR_UNSUPPORTED, "no clean room is to be had in this test");
    if (!spec->on_disk && open_room(spec, /*in_memory=*/true, cancel, ret, &why) == 0)
        return 0;
    if (why.code == ERR_CANCELLED)
        return err_set(err, ERR_CANCELLED, "%s", why.text);
    return open_room(spec, /*in_memory=*/false, cancel, ret, err);
}

/* ---- a check in it ---- */

/* Runners look for configuration in every folder above. All of /home, say; but only the next folder
 * where the system has its own files. */
static char *find_above(const struct origin *o)
{
    struct str dir = str_of(o->dir);
    struct str top = str_first(str_from(dir, 1), str_chr(str_from(dir, 1), '/'));

    return str_is_word_of(top, "usr opt var etc run lib boot") ? path_dirname(o->dir)
                                                               : mem_dup(dir.ptr, 1 + top.len);
}

const struct confinement *room_confine(struct room *r, const struct confinement *session)
{
    size_t n = 0;

    strv_clear(&r->write);
    r->confine = session ? *session : (struct confinement){.is_view = true, .proxy = -1};
    if (session) {
        for (const char *const *p = session->write; p && *p; p++)
            strv_adds(&r->write, *p);
        strv_adds(&r->write, r->given_home);
        strv_adds(&r->write, r->given_temp);
        if (r->is_copy)
            strv_adds(&r->write, r->dir);
        r->confine.write = (const char *const *)strv_get(&r->write);
    }
    fd_closep(&r->observe);
    if (!is_wanted("unseen") && confine_observe_works(/*ret_why=*/NULL)) {
        r->observe = memfd_create("trace", MFD_CLOEXEC);
        if (r->observe >= 0)
            (void)fcntl(r->observe, F_SETFL, O_APPEND);
    }
    if (r->memory.dir >= 0) {
        r->confine.private_dir = &r->memory;
        r->confine.own_processes = true;
    }
    if (r->is_copy) {
        if (!session && r->observe < 0 && r->memory.dir < 0)
            return NULL;
    } else {
        for (size_t i = 0; i < r->layer_count; i++) {
            r->overlays[i] = (struct confine_overlay){.at = r->layers[i].at,
                                                      .lower = r->layers[i].lower,
                                                      .upper = r->layers[i].given_upper,
                                                      .work = r->layers[i].given_work};
        }
        r->confine.overlays = r->overlays;
        r->confine.overlay_count = r->layer_count;
        r->confine.own_processes = true;
    }
    r->began_ns = file_time();
    if (r->observe >= 0) {
        if (!r->above)
            r->above = find_above(r->origin);
        r->observed[n++] = r->above;
        r->observed[n++] = r->dir;
        r->observed[n++] = r->origin->dir;
        r->observed[n++] = r->user_home;
        r->observed[n++] = r->given_home;
        for (size_t i = 0; i < ARRAY_LEN(trace_elsewhere); i++)
            r->observed[n++] = trace_elsewhere[i];
        r->observed[n] = NULL;
        r->confine.observe = r->observe;
        r->confine.observed = r->observed;
    }
    return &r->confine;
}

static bool is_replaced(const char *variable)
{
    static const char *const names[] = {
        "HOME=", "TMPDIR=", "TMP=", "TEMP=", "XDG_", "npm_config_cache="};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    }
    return false;
}

void room_environ(const struct room *r, char *const *given, struct strv *ret)
{
    static const char *const temps[] = {"TMPDIR", "TMP", "TEMP"};

    for (; *given; given++) {
        if (!is_replaced(*given))
            strv_adds(ret, *given);
    }
    for (size_t i = 0; i < ARRAY_LEN(temps); i++)
        strv_addf(ret, "%s=%s", temps[i], r->given_temp);
    strv_addf(ret, "HOME=%s", r->given_home);
    strv_addf(ret, "XDG_CONFIG_HOME=%s/.config", r->given_home);
    strv_addf(ret, "XDG_CACHE_HOME=%s/.cache", r->given_home);
    strv_addf(ret, "XDG_DATA_HOME=%s/.local/share", r->given_home);
    strv_addf(ret, "XDG_STATE_HOME=%s/.local/state", r->given_home);
    strv_addf(ret, "XDG_RUNTIME_DIR=%s/.run", r->given_home);
    if (r->origin->git.has_git) /* the repository may lie above the folder that is mounted */
        strv_adds(ret, "GIT_DISCOVERY_ACROSS_FILESYSTEM=1");
    if (!r->origin->git.has_replace)
        strv_adds(ret, "GIT_NO_REPLACE_OBJECTS=1");
}
