/*
 * survey: folders listed, files looked at, by the survey's own thread. Without a thread it is done
 * at once.
 */
#include "store/survey.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/strv.h"
#include "store/index.h"
#include "sync/cancel.h"
#include "sync/thread.h"

void survey_release(struct survey *s)
{
    survey_end(s);
    vec_release(&s->files);
    arena_release(&s->arena);
}

void survey_stat(struct survey_file *file, const struct stat *st)
{
    file->size = st->st_size;
    file->mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
    file->inode = (int64_t)st->st_ino;
}

static DIR *survey_open_dir(int at, const char *path)
{
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);

    if (!d)
        fd_closep(&fd);
    return d;
}

static void survey_close_dir(DIR **d)
{
    if (*d)
        closedir(*d);
}

static void survey_file(struct survey *s, int dir_fd, struct str project, const char *name)
{
    struct survey_file file = {.project = project};
    struct stat st;

    if (!index_is_session(str_of(name)) || fstatat(dir_fd, name, &st, 0) < 0 ||
        !S_ISREG(st.st_mode))
        return; /* gone again, or nothing of ours */
    memcpy(file.id, name, ID_UUID_LEN);
    survey_stat(&file, &st);
    vec_push(&s->files, file);
}

static int by_id(const void *a, const void *b)
{
    const struct survey_file *x = a;
    const struct survey_file *y = b;

    return memcmp(x->id, y->id, ID_UUID_LEN);
}

static void survey_project(struct survey *s, int projects_fd, const char *name)
{
    CLEANUP(survey_close_dir) DIR *d = survey_open_dir(projects_fd, name);
    struct str project = arena_str(&s->arena, str_of(name));
    size_t first = s->files.len;

    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        if (cancel_check(s->cancel, /*err=*/NULL) < 0)
            return;
        survey_file(s, dirfd(d), project, e->d_name);
    }
    if (s->files.len > first)
        qsort(s->files.ptr + first, s->files.len - first, sizeof(*s->files.ptr), by_id);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void survey_run(void *arg)
{
    struct survey *s = arg;
    CLEANUP(mem_freep) char *path = path_join(s->home, "projects");
    CLEANUP(survey_close_dir) DIR *d = survey_open_dir(AT_FDCWD, path);
    CLEANUP(strv_release) struct strv names = STRV_INIT;

    if (!d)
        return; /* nobody has said anything yet */
    if (s->project.len)
        strv_add(&names, s->project);
    for (struct dirent *e = s->project.len ? NULL : readdir(d); e; e = readdir(d)) {
        if (e->d_name[0] != '.')
            strv_adds(&names, e->d_name);
    }
    if (names.len)
        qsort(names.ptr, names.len, sizeof(*names.ptr), by_name);
    for (size_t i = 0; i < names.len; i++)
        survey_project(s, dirfd(d), names.ptr[i]);
}

void survey_begin(struct survey *s)
{
    s->thread = thread_start("tenax-survey", survey_run, s, /*err=*/NULL);
    if (!s->thread)
        survey_run(s);
}

void survey_end(struct survey *s)
{
    thread_join(s->thread);
    s->thread = NULL;
}
