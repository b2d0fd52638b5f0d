/*
 * room_look: what a check did in its room. A protected file in the upper layer was changed while it
 * ran, even if it was put back. Any thread, one at a time.
 */
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "goal/origin/room_layer.h"
#include "goal/origin/survey.h"

struct touched {
    struct room *r;
    struct strv *ret;
};

static bool is_protected(const struct origin *o, struct str path)
{
    const struct inventory_entry *e = inventory_find(&o->files, path);

    return e && e->flags & INVENTORY_PROTECTED;
}

static void add_protected_below(struct touched *t, struct str folder)
{
    const struct inventory *files = &t->r->origin->files;
    size_t from;
    size_t to = room_files_below(files, folder, &from);

    for (size_t i = from; i < to; i++) {
        if (files->entries.ptr[i].flags & INVENTORY_PROTECTED)
            strv_add(t->ret, files->entries.ptr[i].path);
    }
}

/* A folder that was removed and made again hides everything that was in it. */
static bool look_at_folder(void *arg, struct str path, struct str name)
{
    static const char *const marks[] = {"user.overlay.opaque", "trusted.overlay.opaque"};
    struct touched *t = arg;
    CLEANUP(mem_freep) char *full = path_join(t->r->layers[0].upper, path.ptr);
    char value[4];

    (void)name;
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        if (lgetxattr(full, marks[i], value, sizeof(value)) > 0)
            add_protected_below(t, path);
    }
    return true;
}

/* Whatever is no folder and stands where one was hides everything that was in it. */
static int look_at_file(void *arg, int folder_fd, const char *name, struct str path,
                        struct err *err)
{
    struct touched *t = arg;
    CLEANUP(mem_freep) char *full = path_join(t->r->layers[0].upper, path.ptr);

    (void)folder_fd;
    (void)name;
    (void)err;
    if (map_has(&t->r->placed, str_of(full)))
        return 0;
    if (is_protected(t->r->origin, path))
        strv_add(t->ret, path);
    else
        add_protected_below(t, path);
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A folder that was renamed names its files twice. */
static void sort_touched(struct strv *list)
{
    size_t kept = 0;

    if (!list->len)
        return;
    qsort(list->ptr, list->len, sizeof(*list->ptr), by_text);
    for (size_t i = 0; i < list->len; i++) {
        if (kept && strcmp(list->ptr[kept - 1], list->ptr[i]) == 0)
            mem_freep(&list->ptr[i]);
        else
            list->ptr[kept++] = list->ptr[i];
    }
    list->len = kept;
    list->ptr[kept] = NULL;
}

static int find_touched(struct room *r, struct cancel *cancel, struct strv *ret, struct err *err)
{
    struct touched t = {.r = r, .ret = ret};
    struct survey survey = {
        .dir = r->layers[0].upper,
        .max_files = INVENTORY_MAX_FILES,
        .enter = look_at_folder,
        .file = look_at_file,
        .arg = &t,
    };
    bool whole;

    if (r->is_copy) {
        room_copy_touched(r, ret);
        return 0;
    }
    if (survey_run(&survey, cancel, &whole, err) < 0)
        return -1;
    sort_touched(ret);
    return 0;
}

/* ---- what others may have done ---- */

/* Where a file of the workspace stands in the room, if it was changed there. */
static bool find_changed(const struct room *r, const struct inventory_entry *e, struct buf *place)
{
    struct stat st;

    buf_addf(place, "%s/%s", r->is_copy ? r->files : r->layers[0].upper, e->path.ptr);
    if (map_has(&r->placed, buf_str(place)) || lstat(buf_cstr(place), &st) < 0)
        return false;
    return !r->is_copy ||
           (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec > r->copied_ns;
}

static bool holds_the_same(const struct room *r, const struct inventory_entry *e)
{
    struct inventory_entry here = *e;
    char theirs[SHA256_HEX + 1], ours[SHA256_HEX + 1];

    return inventory_read(r->origin->dir, e, /*cancel=*/NULL, theirs, /*err=*/NULL) == 0 &&
           inventory_look(r->is_copy ? r->files : r->layers[0].upper, &here) &&
           here.type == e->type &&
           inventory_read(r->is_copy ? r->files : r->layers[0].upper, &here, /*cancel=*/NULL, ours,
                          /*err=*/NULL) == 0 &&
           strcmp(theirs, ours) == 0;
}

/* A check that changes its own outputs has changed them in the workspace just before, and in the
 * same way. */
void room_find_foreign(struct room *r, const struct trace *trace, int64_t since_ms,
                       struct strv *ret)
{
    for (size_t i = 0; r->can_be_changed && r->now && i < r->now->files.entries.len; i++) {
        const struct inventory_entry *e = &r->now->files.entries.ptr[i];
        CLEANUP(buf_release) struct buf place = BUF_INIT(BUF_NO_LIMIT);

        if (!(e->flags & INVENTORY_TREE) || e->flags & INVENTORY_PROTECTED ||
            e->type == INVENTORY_OTHER || (trace->is_seen && !trace_has(&trace->read, e->path)) ||
            !find_changed(r, e, &place))
            continue;
        if (e->ctime_ns / 1000000 < since_ms || !holds_the_same(r, e))
            strv_add(ret, e->path);
    }
}

/* Whether a file elsewhere says nothing about what was there before the run: the check made it
 * itself, such as an output in /tmp or the lock of a cache in the room's own home, or it is of the
 * repository, which is compared with git_state.h. */
static bool is_own(const struct room *r, struct str path)
{
    struct str home = str_of(r->user_home);
    CLEANUP(fd_closep) int base = -1;
    CLEANUP(fd_closep) int fd = -1;
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH};
    const struct git_state *git = &r->origin->git;
    struct stat st;
    int64_t ctime_ns;

    if (git->has_git &&
        (room_is_below(path.ptr, git->git_dir.ptr) || room_is_below(path.ptr, git->common_dir.ptr)))
        return true;
    if (stat(path.ptr, &st) == 0) {
        ctime_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
        if (ctime_ns >= r->began_ns && ctime_ns > r->opened_ns)
            return true;
    }
    if (!str_starts(path, home) || path.len <= home.len || path.ptr[home.len] != '/')
        return false;
    base = open(r->home, O_PATH | O_DIRECTORY | O_CLOEXEC);
    fd = (int)syscall(SYS_openat2, base, path.ptr + home.len + 1, &how, sizeof(how));
    return fd >= 0;
}

static void forget_own(const struct room *r, struct strv *outside)
{
    size_t kept = 0;

    for (size_t i = 0; i < outside->len; i++) {
        if (is_own(r, str_of(outside->ptr[i])))
            mem_freep(&outside->ptr[i]);
        else
            outside->ptr[kept++] = outside->ptr[i];
    }
    outside->len = kept;
    if (outside->ptr)
        outside->ptr[kept] = NULL;
}

int room_look(struct room *r, struct trace *ret_trace, struct strv *ret_touched,
              struct cancel *cancel, struct err *err)
{
    CLEANUP(buf_release) struct buf records = BUF_INIT(TRACE_MAX_BYTES + 4096);

    if (r->observe >= 0 && r->confine.observe) {
        if (lseek(r->observe, 0, SEEK_SET) < 0 || buf_add_fd(&records, r->observe, err) < 0)
            return -1;
        trace_read(ret_trace, buf_str(&records), r->dir, r->origin->dir, r->given_base,
                   r->user_home);
        /* A copy has the same links as the workspace. */
        trace_follow(ret_trace, r->origin->dir, r->dir);
        forget_own(r, &ret_trace->outside);
    }
    return find_touched(r, cancel, ret_touched, err);
}
