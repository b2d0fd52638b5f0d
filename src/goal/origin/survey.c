/*
 * survey: folders wait on a list, as paths, and are opened one at a time; so neither the depth nor
 * the breadth of a tree costs descriptors or stack. Runs on the caller's thread.
 */
#include "goal/origin/survey.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "goal/git/git.h"
#include "sync/cancel.h"

#define SURVEY_LOOK_EVERY 256 /* files between two looks at the clock */

struct survey_walk {
    const struct survey *survey;
    struct cancel *cancel;
    struct strv folders; /* still to be read; "" is dir itself */
    struct buf path;
    size_t files;
    bool over; /* a limit was reached */
};

static void closedirp(DIR **d)
{
    if (*d)
        closedir(*d);
}

static size_t survey_depth(struct str path)
{
    size_t depth = 0;

    for (size_t i = 0; i < path.len; i++)
        depth += path.ptr[i] == '/';
    return depth;
}

static bool survey_enters(const struct survey *s, struct str path, struct str name)
{
    if (s->enter)
        return s->enter(s->arg, path, name);
    return !str_is(name, ".git");
}

static bool survey_is_dir(DIR *dir, const struct dirent *e)
{
    struct stat st;

    if (e->d_type != DT_UNKNOWN)
        return e->d_type == DT_DIR;
    return fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* One name of a folder; w->path is the folder's, followed by a slash unless it is empty. */
static int survey_entry(struct survey_walk *w, DIR *dir, const struct dirent *e, struct err *err)
{
    const struct survey *s = w->survey;
    size_t before = w->path.len;
    int rc = 0;

    buf_adds(&w->path, e->d_name);
    if (survey_is_dir(dir, e)) {
        if (!survey_enters(s, buf_str(&w->path), str_of(e->d_name)))
            ; /* left out */
        else if (survey_depth(buf_str(&w->path)) < SURVEY_MAX_DEPTH)
            strv_add(&w->folders, buf_str(&w->path));
        else if (s->closed)
            s->closed(s->arg, buf_str(&w->path));
    } else if (w->files == s->max_files) {
        w->over = true;
    } else {
        w->files++;
        rc = s->file(s->arg, dirfd(dir), e->d_name, buf_str(&w->path), err);
        if (rc == 0 && w->files % SURVEY_LOOK_EVERY == 0) {
            rc = cancel_check(w->cancel, err);
            w->over = s->deadline_ms && git_now_ms() > s->deadline_ms;
        }
    }
    buf_cut(&w->path, before, w->path.len - before);
    return rc;
}

static int survey_folder(struct survey_walk *w, int root, const char *folder, struct err *err)
{
    CLEANUP(closedirp) DIR *dir = NULL;
    int fd = openat(root, *folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (errno != ENOENT && errno != ENOTDIR && *folder && w->survey->closed)
            w->survey->closed(w->survey->arg, str_of(folder));
        fd_closep(&fd);
        return 0;
    }
    buf_clear(&w->path);
    buf_adds(&w->path, folder);
    if (*folder)
        buf_addc(&w->path, '/');
    while (!w->over) {
        const struct dirent *e = readdir(dir);

        if (!e)
            return 0;
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            survey_entry(w, dir, e, err) < 0)
            return -1;
    }
    return 0;
}

int survey_run(const struct survey *s, struct cancel *cancel, bool *ret_whole, struct err *err)
{
    CLEANUP(fd_closep) int root = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct survey_walk w = {.survey = s, .cancel = cancel, .path = BUF_INIT(BUF_NO_LIMIT)};
    int rc = 0;

    if (root < 0)
        return err_sys(err, ERR_IO, "cannot open '%s'", s->dir);
    strv_adds(&w.folders, "");
    while (rc == 0 && !w.over && w.folders.len) {
        char *folder = w.folders.ptr[--w.folders.len];

        w.folders.ptr[w.folders.len] = NULL;
        rc = cancel_check(cancel, err);
        if (rc == 0)
            rc = survey_folder(&w, root, folder, err);
        mem_freep(&folder);
        w.over = w.over || (w.folders.len && s->deadline_ms && git_now_ms() > s->deadline_ms);
    }
    if (rc == 0)
        *ret_whole = !w.over;
    strv_release(&w.folders);
    buf_release(&w.path);
    return rc;
}
