/*
 * file_restore: row_decide() chooses what to do with each file; files are restored one by one, each
 * completely or not at all. One thread.
 */
#include "store/files/file_restore.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/pinned.h"
#include "store/files/backups.h"
#include "store/files/file_history.h"

static const struct {
    const char *name;
    bool does;
} whats[] = {
#define X(id, name, does) {name, does},
    RESTORE_WHATS(X)
#undef X
};

const char *restore_what_name(enum restore_what what)
{
    return whats[what].name;
}

bool restore_does(enum restore_what what)
{
    return whats[what].does;
}

bool file_change_is_empty(const struct file_change *c)
{
    return file_look_equal(&c->before, &c->left);
}

/* ---- The plan ---- */

static void row_say(struct restore_plan *plan, struct restore_row *row, enum restore_what what,
                    const char *why)
{
    row->what = what;
    row->why = arena_str(&plan->arena, str_of(why));
}

/* Whether the path still leads to the same place, with a file or nothing there. */
static bool row_is_blocked(struct restore_plan *plan, struct restore_row *row)
{
    CLEANUP(mem_freep) char *real = path_real(row->path.ptr);
    struct stat st;

    if (!str_is(row->path, real)) {
        row->is_link = true;
        row_say(plan, row, RESTORE_BLOCKED,
                lstat(row->path.ptr, &st) == 0 && S_ISLNK(st.st_mode)
                    ? "it is a link now"
                    : "a folder above it leads somewhere else now");
        return true;
    }
    if (row->now.kind != LOOK_OTHER)
        return false;
    if (lstat(row->path.ptr, &st) < 0)
        row_say(plan, row, RESTORE_BLOCKED, "a file has taken the place of a folder above it");
    else
        row_say(plan, row, RESTORE_BLOCKED,
                S_ISDIR(st.st_mode) ? "a folder has taken its place"
                                    : "something that is no file has taken its place");
    return true;
}

static bool row_is_lost(struct restore_plan *plan, struct restore_row *row)
{
    CLEANUP(buf_release) struct buf bytes = BUF_INIT(FILE_HISTORY_MAX_FILE);
    CLEANUP(buf_release) struct buf why = BUF_INIT(1024);
    struct err err = {0};

    if (row->to->before.kind == LOOK_ABSENT)
        return false;
    if (row->to->not_kept.len)
        buf_addf(&why, "its content was not kept: %.*s", STR_ARG(row->to->not_kept));
    else if (backups_get(plan->backups, row->to->backup, FILE_HISTORY_MAX_FILE, &bytes, &err) == 0)
        return false;
    else if (err.code == ERR_NOT_FOUND)
        buf_adds(&why, "the copy of its content is gone");
    else
        buf_adds(&why, err.text);
    row_say(plan, row, RESTORE_LOST, buf_cstr(&why));
    return true;
}

/* Why the file is not as the session left it; NULL if it is. */
static const char *row_conflict(const struct restore_row *row, bool is_broken)
{
    const struct file_look *left = &row->end->left;

    if (left->kind == LOOK_UNKNOWN)
        return "tenax was stopped while it changed it, and how it left it is not known";
    if (!file_look_equal(&row->now, left)) {
        if (row->now.kind == LOOK_ABSENT)
            return "it was deleted since, not by a tool";
        if (left->kind == LOOK_ABSENT)
            return "it was made since, not by a tool";
        return "it was changed since, not by a tool";
    }
    return is_broken ? "it was changed in between, not by a tool" : NULL;
}

static void row_decide(struct restore_plan *plan, struct restore_row *row, bool is_broken,
                       bool force)
{
    bool was_there = row->to->before.kind != LOOK_ABSENT;
    const char *conflict;
    struct err err = {0};

    if (file_look_at(row->path.ptr, FILE_HISTORY_MAX_FILE, &row->now, /*ret_bytes=*/NULL, &err) <
        0) {
        row_say(plan, row, RESTORE_BLOCKED, err.text);
        return;
    }
    if (row_is_blocked(plan, row))
        return;
    if (file_look_equal(&row->now, &row->to->before)) {
        row_say(plan, row, RESTORE_UNCHANGED, "");
        return;
    }
    if (row_is_lost(plan, row))
        return;
    conflict = row_conflict(row, is_broken);
    if (conflict && !force)
        row_say(plan, row, RESTORE_CONFLICT, conflict);
    else
        row_say(plan, row, was_there ? RESTORE_WRITE : RESTORE_DELETE, conflict ? conflict : "");
}

void restore_plan_make(struct restore_plan *plan, const struct file_changes *all, size_t first,
                       const char *session_dir, bool force)
{
    struct map known = MAP_INIT; /* path → number of its row, from 1 */
    VEC(bool)
    broken = VEC_INIT; /* per row: others changed the file between two changes of the session */

    *plan = (struct restore_plan){.backups = path_join(session_dir, FILE_HISTORY_DIR)};
    for (size_t i = first; i < all->list.len; i++) {
        const struct file_change *c = all->list.ptr[i];
        size_t at = (size_t)map_get(&known, c->path);

        if (file_change_is_empty(c))
            continue;
        if (!at) {
            vec_push(&plan->rows, ((struct restore_row){.path = c->path, .to = c, .end = c}));
            vec_push(&broken, false);
            map_set(&known, c->path, (void *)plan->rows.len);
            continue;
        }
        broken.ptr[at - 1] |= !file_look_equal(&plan->rows.ptr[at - 1].end->left, &c->before);
        plan->rows.ptr[at - 1].end = c;
    }
    for (size_t i = 0; i < broken.len; i++)
        row_decide(plan, &plan->rows.ptr[i], broken.ptr[i], force);
    vec_release(&broken);
    map_release(&known);
}

void restore_plan_release(struct restore_plan *plan)
{
    arena_release(&plan->arena);
    vec_release(&plan->rows);
    mem_freep(&plan->backups);
}

int restore_row_texts(const struct restore_plan *plan, const struct restore_row *row,
                      struct buf *ret_now, struct buf *ret_then, struct err *err)
{
    if (row->now.kind == LOOK_FILE &&
        file_slurp(row->path.ptr, FILE_HISTORY_MAX_FILE, ret_now, err) < 0)
        return -1;
    if (row->to->before.kind == LOOK_ABSENT)
        return 0;
    return backups_get(plan->backups, row->to->backup, FILE_HISTORY_MAX_FILE, ret_then, err);
}

/* ---- Carrying out ---- */

/* A running command may have replaced a folder above it by a link. */
static int row_fail(const struct restore_row *row, const char *what, struct err *err)
{
    if (errno == ELOOP)
        return err_set(err, ERR_IO, "a folder above it leads somewhere else now");
    return err_sys(err, ERR_IO, "cannot %s '%s'", what, row->path.ptr);
}

static int row_write(const struct restore_plan *plan, const struct restore_row *row,
                     struct err *err)
{
    CLEANUP(buf_release) struct buf bytes = BUF_INIT(FILE_HISTORY_MAX_FILE);
    CLEANUP(fd_closep) int at = -1;
    const char *name = path_base(row->path.ptr);
    struct stat like = {.st_mode = row->to->before.mode, .st_uid = geteuid(), .st_gid = getegid()};
    struct stat st;

    if (backups_get(plan->backups, row->to->backup, FILE_HISTORY_MAX_FILE, &bytes, err) < 0)
        return -1;
    at = pinned_folder(row->path.ptr, /*makes=*/true);
    if (at < 0)
        return row_fail(row, "write", err);
    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        /* Keep a mode that others have set. */
        if (row->now.mode == row->end->left.mode)
            st.st_mode = (st.st_mode & ~(mode_t)07777) | row->to->before.mode;
        like = st;
    }
    return file_replace_at(at, name, buf_str(&bytes), &like, err);
}

/* flags: as for unlinkat(2). */
static int remove_pinned(const char *path, int flags)
{
    CLEANUP(fd_closep) int at = pinned_folder(path, /*makes=*/false);

    return at < 0 ? -1 : unlinkat(at, path_base(path), flags);
}

/* Removes the folders that were created for the file, too, if they are empty. */
static int row_delete(const struct restore_row *row, struct err *err)
{
    CLEANUP(mem_freep) char *dir = path_dirname(row->path.ptr);

    if (remove_pinned(row->path.ptr, 0) < 0 && errno != ENOENT)
        return row_fail(row, "delete", err);
    for (unsigned i = 0; i < row->to->folders && remove_pinned(dir, AT_REMOVEDIR) == 0; i++) {
        char *up = path_dirname(dir);

        mem_freep(&dir);
        dir = up;
    }
    return 0;
}

static int row_apply(struct restore_plan *plan, struct restore_row *row,
                     struct file_history *history, bool force, struct err *err)
{
    struct file_kept kept;
    bool still = false;
    int r;

    if (file_look_still(row->path.ptr, &row->now, FILE_HISTORY_MAX_FILE, &still, err) < 0)
        return -1;
    if (!still) {
        row_say(plan, row, RESTORE_CONFLICT, "it is being changed just now");
        return 0;
    }
    if (file_history_before(history, row->path.ptr, STR(""), &kept, err) < 0)
        return -1;
    if (!kept.is_kept && !force) {
        row_say(plan, row, RESTORE_CONFLICT,
                "it is too large now to be kept, so this could not be undone");
        return 0;
    }
    r = row->what == RESTORE_DELETE ? row_delete(row, err) : row_write(plan, row, err);
    (void)file_history_after(history, row->path.ptr, /*err=*/NULL);
    return r;
}

void restore_plan_apply(struct restore_plan *plan, struct file_history *history, bool force)
{
    VEC_EACH(&plan->rows, row) {
        struct err err = {0};

        if (restore_does(row->what) && row_apply(plan, row, history, force, &err) < 0)
            row_say(plan, row, RESTORE_FAILED, err.text);
    }
}
