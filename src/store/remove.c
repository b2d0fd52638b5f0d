/*
 * Deletes files of sessions. The session is held until they are gone, so that no process can resume
 * it meanwhile. The transcript goes first: after a crash there is a folder that no list shows, and
 * the next sweep deletes it.
 */
#include "store/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "store/goals/goals.h"
#include "store/hold.h"
#include "store/index.h"
#include "store/store.h"
#include "store/transcript/transcript.h"
#include "sync/cancel.h"
#include "sync/thread.h"

#define SUFFIX ".jsonl"
#define TREE_MAX_DEPTH 64
#define DAY_MS ((int64_t)24 * 3600 * 1000)
#define SWEEP_GRACE_MS 100
#define SWEEP_STAMP "projects/.last-sweep" /* its time is that of the last sweep */

static void dir_closep(DIR **d)
{
    if (*d)
        closedir(*d);
}

static void hold_givep(struct hold **h)
{
    hold_give(*h);
}

/* ---- One session ---- */

/* Links are removed, not followed. What cannot be removed stays, and errno says why. */
static int remove_tree(int at, const char *name, int depth)
{
    CLEANUP(dir_closep) DIR *d = NULL;
    int fd;

    if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
        return 0;
    if ((errno != EISDIR && errno != EPERM) || depth >= TREE_MAX_DEPTH)
        return -1;
    fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        fd_closep(&fd);
        return -1;
    }
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            remove_tree(dirfd(d), e->d_name, depth + 1) < 0)
            return -1;
    }
    return unlinkat(at, name, AT_REMOVEDIR);
}

/* Held by us, or ERR_BUSY with a text for a user who wants it removed. */
static int remove_hold(const char *home, const char *id, struct hold **ret, struct err *err)
{
    struct err why = {0};

    if (hold_take(home, id, /*socket=*/"", ret, &why) == 0)
        return 0;
    if (why.code == ERR_BUSY) {
        CLEANUP(holder_release) struct holder who = {0};

        (void)hold_look(home, id, &who, NULL);
        return err_set(err, ERR_BUSY, "session %s is open (pid %lld on %s) and stays", id,
                       (long long)who.pid, who.host.len ? buf_cstr(&who.host) : "?");
    }
    if (why.code == ERR_UNSUPPORTED)
        return 0; /* no locks on this file system: it cannot be held */
    if (err)
        *err = why;
    return -1;
}

/* Deletes the stored goals; *store is opened on first use. Done before the files, because a
 * transcript without its goal is harmless. */
static int remove_goals(const char *home, const char *id, struct store **store,
                        struct cancel *cancel, struct err *err)
{
    CLEANUP(mem_freep) char *path = path_join(home, "state.db");
    struct err why = {0};

    if (!*store && !file_exists(path))
        return 0;
    if (!*store && store_shared(home, cancel, store, &why) < 0) {
        if (why.code == ERR_UNSUPPORTED)
            return 0; /* without the library nothing else reads it either */
        return err_set(err, why.code, "session %s stays: %s", id, why.text);
    }
    if (store_goals_forget(*store, str_of(id), cancel, err) < 0)
        return err_prefix(err, "session %s stays", id);
    return 0;
}

/* Deletes the folders of goals/ whose file "session" has this id. What cannot be deleted is left to
 * the next sweep. */
static void remove_origins(const char *home, const char *id)
{
    CLEANUP(mem_freep) char *goals = path_join(home, "goals");
    CLEANUP(dir_closep) DIR *d = opendir(goals);

    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        CLEANUP(mem_freep) char *folder = path_join(goals, e->d_name);
        CLEANUP(mem_freep) char *owner = path_join(folder, "session");
        CLEANUP(buf_release) struct buf text = {0};

        if (e->d_name[0] != '.' && file_slurp(owner, 256, &text, NULL) == 0 &&
            str_is(str_trim(buf_str(&text)), id))
            (void)remove_tree(dirfd(d), e->d_name, 0);
    }
}

/* What happened in it (host/events/event_log.h); it says nothing of the contents, and can wait. */
static void remove_log(const char *home, const char *id)
{
    CLEANUP(mem_freep) char *events = path_join(home, "events");
    CLEANUP(fd_closep) int fd = open(events, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0)
        (void)remove_tree(fd, id, 0);
}

/* name: "<id>.jsonl"; the transcript may be gone already. */
static int remove_files(const char *home, const char *dir, const char *name, struct store **store,
                        struct cancel *cancel, struct err *err)
{
    CLEANUP(mem_freep) char *id = mem_dup(name, ID_UUID_LEN);
    CLEANUP(hold_givep) struct hold *hold = NULL;
    CLEANUP(fd_closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return err_sys(err, ERR_IO, "cannot open '%s'", dir);
    if (remove_hold(home, id, &hold, err) < 0 || remove_goals(home, id, store, cancel, err) < 0)
        return -1;
    if (unlinkat(fd, name, 0) < 0 && errno != ENOENT)
        return err_sys(err, ERR_IO, "cannot remove '%s/%s'", dir, name);
    if (remove_tree(fd, id, 0) < 0)
        return err_sys(err, ERR_IO, "cannot remove '%s/%s'", dir, id);
    remove_origins(home, id);
    remove_log(home, id);
    (void)rmdir(dir); /* if that was the last one */
    return 0;
}

int remove_session(const char *home, const char *path, struct err *err)
{
    CLEANUP(mem_freep) char *dir = path_dirname(path);
    CLEANUP(store_freep) struct store *store = NULL;
    const char *name = path_base(path);

    if (!file_exists(path))
        return err_set(err, ERR_NOT_FOUND, "there is no file '%s'", path);
    if (!index_is_ours(home, path))
        return err_set(err, ERR_DENIED, "'%s' is not in %s/projects: it is not for tenax to remove",
                       path, home);
    return remove_files(home, dir, name, &store, /*cancel=*/NULL, err);
}

/* ---- By age ---- */

/* A session that can be removed by age. */
struct old_session {
    char *dir;
    char name[ID_UUID_LEN + sizeof(SUFFIX)];
    time_t changed;
};

struct old {
    const char *home;
    time_t before; /* what has not changed since */
    struct cancel *cancel;
    struct store *store; /* opened for the first one */
    VEC(struct old_session) sessions;
    time_t newest; /* of all of them */
    int removed;
};

static bool old_is(const struct old *o, int at, const char *name)
{
    struct stat st;

    return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtim.tv_sec < o->before;
}

/* "<id>.jsonl", or the folder of one that is gone. */
static void old_find(struct old *o, DIR *project, const char *dir, const char *entry)
{
    char name[ID_UUID_LEN + sizeof(SUFFIX)] = "";
    struct str id = str_first(str_of(entry), ID_UUID_LEN);
    bool is_folder = id_is_uuid(str_of(entry));
    struct old_session *session;
    struct stat st;

    if (id_is_uuid(id) && str_is(str_from(str_of(entry), ID_UUID_LEN), SUFFIX TRANSCRIPT_COPY)) {
        if (old_is(o, dirfd(project), entry)) /* of a fork that was killed */
            (void)unlinkat(dirfd(project), entry, 0);
        return;
    }
    if (!index_is_session(str_of(entry)) && !is_folder)
        return;
    snprintf(name, sizeof(name), "%.*s" SUFFIX, STR_ARG(id));
    if (fstatat(dirfd(project), entry, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        (is_folder && faccessat(dirfd(project), name, F_OK, 0) == 0))
        return;
    o->newest = st.st_mtim.tv_sec > o->newest ? st.st_mtim.tv_sec : o->newest;
    session = vec_add(&o->sessions);
    *session = (struct old_session){.dir = mem_dup(dir, strlen(dir)), .changed = st.st_mtim.tv_sec};
    memcpy(session->name, name, sizeof(name));
}

static int old_cmp(const void *a, const void *b)
{
    const struct old_session *x = a;
    const struct old_session *y = b;

    return (x->changed > y->changed) - (x->changed < y->changed);
}

/* A clock may be wrong, and removal is final: never deletes more than a day's share, the oldest
 * first, and nothing based on a time that no session has reached. */
static void old_remove(struct old *o, int64_t days)
{
    int share = (int)(o->sessions.len / (size_t)days) + 1;
    time_t before = (time_t)(o->newest - days * DAY_MS / 1000);
    struct err why = {0};

    before = o->before < before ? o->before : before;
    if (o->sessions.len)
        qsort(o->sessions.ptr, o->sessions.len, sizeof(*o->sessions.ptr), old_cmp);
    VEC_EACH(&o->sessions, session) {
        if (session->changed >= before || o->removed >= share || cancel_is_set(o->cancel))
            break;
        if (remove_files(o->home, session->dir, session->name, &o->store, o->cancel, &why) < 0)
            log_debug("store", "sweep: %s", why.text);
        else
            o->removed++;
    }
    VEC_EACH(&o->sessions, done) {
        free(done->dir);
    }
    vec_release(&o->sessions);
}

static void old_find_in(struct old *o, const char *projects, const char *name)
{
    CLEANUP(mem_freep) char *dir = path_join(projects, name);
    CLEANUP(dir_closep) DIR *d = opendir(dir);

    for (struct dirent *e = d ? readdir(d) : NULL; e && !cancel_is_set(o->cancel); e = readdir(d))
        old_find(o, d, dir, e->d_name);
}

static void old_find_all(struct old *o)
{
    CLEANUP(mem_freep) char *projects = path_join(o->home, "projects");
    CLEANUP(dir_closep) DIR *d = opendir(projects);

    for (struct dirent *e = d ? readdir(d) : NULL; e && !cancel_is_set(o->cancel); e = readdir(d)) {
        if (e->d_name[0] != '.')
            old_find_in(o, projects, e->d_name);
    }
}

/* A lock that can be taken was left by a killed process; giving it back removes the file. */
static void old_take_locks(struct old *o)
{
    CLEANUP(mem_freep) char *run = path_join(o->home, "run");
    CLEANUP(dir_closep) DIR *d = opendir(run);

    for (struct dirent *e = d ? readdir(d) : NULL; e && !cancel_is_set(o->cancel); e = readdir(d)) {
        CLEANUP(hold_givep) struct hold *hold = NULL;
        CLEANUP(mem_freep) char *id = mem_dup(e->d_name, strlen(e->d_name));

        if (!str_ends(str_of(id), STR(".lock")) || !old_is(o, dirfd(d), e->d_name))
            continue;
        id[strlen(id) - strlen(".lock")] = '\0';
        (void)hold_take(o->home, id, /*socket=*/"", &hold, NULL);
    }
}

static bool sweep_is_due(const char *home, int64_t days, int64_t now_ms)
{
    CLEANUP(mem_freep) char *stamp = path_join(home, SWEEP_STAMP);
    CLEANUP(mem_freep) char *projects = path_join(home, "projects");
    struct stat st;

    if (days <= 0)
        return false;
    if (stat(stamp, &st) < 0)
        return file_is_dir(projects);
    return (int64_t)st.st_mtim.tv_sec * 1000 + DAY_MS <= now_ms;
}

/* Done before the work, so that other processes do not start it too. */
static int sweep_stamp(const char *home, int64_t now_ms)
{
    CLEANUP(mem_freep) char *stamp = path_join(home, SWEEP_STAMP);
    CLEANUP(fd_closep) int fd = open(stamp, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    struct timespec times[2] = {{.tv_sec = now_ms / 1000}, {.tv_sec = now_ms / 1000}};

    return fd < 0 ? -1 : futimens(fd, times);
}

static void sweep_unstamp(const char *home)
{
    CLEANUP(mem_freep) char *stamp = path_join(home, SWEEP_STAMP);

    (void)unlink(stamp);
}

int remove_old(const char *home, int64_t days, int64_t now_ms, struct cancel *cancel,
               struct err *err)
{
    struct old o = {
        .home = home,
        .before = (time_t)((now_ms - days * DAY_MS) / 1000),
        .cancel = cancel,
    };

    if (!sweep_is_due(home, days, now_ms) || sweep_stamp(home, now_ms) < 0)
        return 0;
    old_find_all(&o);
    old_remove(&o, days);
    old_take_locks(&o);
    store_free(o.store);
    log_debug("store", "sweep: %d sessions older than %lld days", o.removed, (long long)days);
    if (cancel_check(cancel, err) == 0)
        return o.removed;
    sweep_unstamp(home); /* the rest is for the next process */
    return -1;
}

/* ---- In the background ---- */

struct sweep {
    char *home;
    int64_t days, now_ms;
    struct cancel *cancel;
    struct thread *thread;
    struct gate gate;
    bool is_done; /* under the gate */
};

static void sweep_main(void *arg)
{
    struct sweep *s = arg;

    (void)remove_old(s->home, s->days, s->now_ms, s->cancel, NULL);
    gate_take(&s->gate);
    s->is_done = true;
    gate_wake(&s->gate);
    gate_give(&s->gate);
}

struct sweep *sweep_begin(const char *home, int64_t days, int64_t now_ms)
{
    struct sweep *s;

    if (!sweep_is_due(home, days, now_ms))
        return NULL;
    s = mem_zalloc(sizeof(*s));
    s->home = mem_dup(home, strlen(home));
    s->days = days;
    s->now_ms = now_ms;
    s->cancel = cancel_new(/*parent=*/NULL);
    gate_init(&s->gate);
    s->thread = thread_start("sweep", sweep_main, s, NULL);
    if (!s->thread)
        s->is_done = true; /* another time, then */
    return s;
}

void sweep_end(struct sweep *s)
{
    int64_t deadline_ms = clock_mono_ms() + SWEEP_GRACE_MS;

    if (!s)
        return;
    gate_take(&s->gate);
    while (!s->is_done && gate_wait(&s->gate, deadline_ms))
        continue;
    gate_give(&s->gate);
    cancel_set(s->cancel);
    thread_join(s->thread);
    cancel_unref(s->cancel);
    gate_release(&s->gate);
    free(s->home);
    free(s);
}
