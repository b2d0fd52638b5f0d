/*
 * survey: its own thread lists the folders; then it and the thread that waits for it check the
 * files, a few at a time. If no thread can be started, everything is done at once.
 */
#include "store/transcript/survey.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/strv.h"
#include "store/index.h"
#include "sync/cancel.h"

#define SURVEY_TAKES 64 /* files at a time */
#define SURVEY_NOTHING (-1)

void survey_release(struct session_survey *s)
{
    survey_end(s);
    vec_release(&s->files);
    arena_release(&s->arena);
    gate_release(&s->gate);
}

void survey_stat(struct survey_file *file, const struct stat *st)
{
    file->size = st->st_size;
    file->mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
    file->inode = (int64_t)st->st_ino;
}

/* ---- Names ---- */

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

static void survey_list_project(struct session_survey *s, int projects_fd, const char *name)
{
    CLEANUP(survey_close_dir) DIR *d = survey_open_dir(projects_fd, name);
    struct str project = arena_str(&s->arena, str_of(name));

    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        struct survey_file *file;

        if (cancel_check(s->cancel, /*err=*/NULL) < 0)
            return;
        if (!index_is_session(str_of(e->d_name)))
            continue;
        file = vec_add(&s->files);
        file->project = project;
        file->size = SURVEY_NOTHING;
        memcpy(file->id, e->d_name, ID_UUID_LEN);
        file->id[ID_UUID_LEN] = '\0';
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void survey_list(struct session_survey *s)
{
    CLEANUP(mem_freep) char *path = path_join(s->home, "projects");
    CLEANUP(survey_close_dir) DIR *d = survey_open_dir(AT_FDCWD, path);
    CLEANUP(strv_release) struct strv names = STRV_INIT;

    if (!d)
        return; /* there are no messages yet */
    if (s->project.len)
        strv_add(&names, s->project);
    for (struct dirent *e = s->project.len ? NULL : readdir(d); e; e = readdir(d)) {
        if (e->d_name[0] != '.')
            strv_adds(&names, e->d_name);
    }
    if (names.len)
        qsort(names.ptr, names.len, sizeof(*names.ptr), by_name);
    for (size_t i = 0; i < names.len; i++)
        survey_list_project(s, dirfd(d), names.ptr[i]);
}

/* ---- Files ---- */

/* The folder of the current file: files of one folder come in sequence. */
struct survey_place {
    int projects_fd;
    const char *project; /* what folder_fd is; NULL: nothing yet */
    int folder_fd;
};

static void survey_place_release(struct survey_place *at)
{
    fd_closep(&at->folder_fd);
    fd_closep(&at->projects_fd);
}

static void survey_go(struct survey_place *at, struct str project)
{
    if (at->project == project.ptr)
        return;
    fd_closep(&at->folder_fd);
    at->folder_fd = openat(at->projects_fd, project.ptr, O_PATH | O_DIRECTORY | O_CLOEXEC);
    at->project = project.ptr;
}

static void survey_file(struct survey_place *at, struct survey_file *file)
{
    char name[ID_UUID_LEN + sizeof(INDEX_SUFFIX)];
    struct stat st;

    survey_go(at, file->project);
    memcpy(name, file->id, ID_UUID_LEN);
    memcpy(name + ID_UUID_LEN, INDEX_SUFFIX, sizeof(INDEX_SUFFIX));
    if (at->folder_fd >= 0 && fstatat(at->folder_fd, name, &st, 0) == 0 && S_ISREG(st.st_mode))
        survey_stat(file, &st); /* else: gone again, or nothing of ours */
}

/* Any number of threads at once; each takes what the others have not. */
static void survey_look(struct session_survey *s)
{
    CLEANUP(mem_freep) char *path = path_join(s->home, "projects");
    CLEANUP(survey_place_release) struct survey_place at = {.projects_fd = -1, .folder_fd = -1};

    for (;;) {
        size_t i = atomic_fetch_add(&s->next, SURVEY_TAKES);
        size_t end = i + SURVEY_TAKES < s->files.len ? i + SURVEY_TAKES : s->files.len;

        if (i >= s->files.len || cancel_check(s->cancel, /*err=*/NULL) < 0)
            return;
        if (at.projects_fd < 0)
            at.projects_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        for (; i < end; i++)
            survey_file(&at, &s->files.ptr[i]);
    }
}

static void survey_drop_missing(struct session_survey *s)
{
    size_t kept = 0;

    VEC_EACH(&s->files, file) {
        if (file->size == SURVEY_NOTHING)
            continue;
        if (&s->files.ptr[kept] != file)
            s->files.ptr[kept] = *file;
        kept++;
    }
    s->files.len = kept;
}

/* ---- The thread ---- */

static void survey_run(void *arg)
{
    struct session_survey *s = arg;

    survey_list(s);
    gate_take(&s->gate);
    s->is_listed = true;
    gate_wake(&s->gate);
    gate_give(&s->gate);
    survey_look(s);
}

void survey_begin(struct session_survey *s)
{
    s->thread = thread_start("tenax-survey", survey_run, s, /*err=*/NULL);
    if (!s->thread) {
        survey_run(s);
        survey_drop_missing(s);
    }
}

void survey_end(struct session_survey *s)
{
    if (!s->thread)
        return;
    gate_take(&s->gate);
    while (!s->is_listed)
        gate_wait(&s->gate, /*deadline_ms=*/-1);
    gate_give(&s->gate);
    survey_look(s);
    thread_join(s->thread);
    s->thread = NULL;
    survey_drop_missing(s);
}
