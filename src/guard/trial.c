/*
 * trial: makes the confinement of a trial run from that of the sandbox, and evaluates the result.
 * One folder of the session has the layers of all its trial runs.
 */
#include "guard/trial.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "guard/effects.h"
#include "guard/sandbox_state.h"
#include "guard/trial_read.h"
#include "guard/workspace.h"
#include "net/host_list.h"
#include "net/proxy.h"

#ifndef OVERLAYFS_SUPER_MAGIC
#define OVERLAYFS_SUPER_MAGIC 0x794c7630
#endif

#define TRIAL_NOTE "trial-"
#define TRIAL_FOLDER "tenax-trial-"
#define TRIAL_MAX_MOUNTS ((size_t)1 << 20)
#define TRIAL_LOOK_MS 500 /* between two checks of its size; longer if they take long */

struct trial {
    struct sandbox *sandbox;
    char *dir; /* contains everything below */
    char *temp;
    char *journal;
    const char *id;
    struct strv at; /* folders seen through overlays */
    struct confine_overlay overlays[CONFINE_MAX_OVERLAYS];
    const char *lower[CONFINE_MAX_OVERLAYS][2];
    char *upper[CONFINE_MAX_OVERLAYS], *work[CONFINE_MAX_OVERLAYS];
    unsigned runs;
    struct sandbox_paths paths; /* of the run */
    struct strv lone;           /* single files that commands may write */
    struct strv write, read_only, readable;
    int records; /* of proc/confine.h */

    struct strv granted_files, granted_sockets, hosts; /* beyond what every trial run has */
    bool has_network;
    struct proxy *proxy; /* for hosts; NULL = none granted */
    struct proxy_door *door;

    char *end_dir;
    bool timed_out, is_too_large, is_sent_away;
    int64_t look_at_ms;
    char wanted_kind; /* one of CONFINE_ENDS; 0 = nothing */
    char *wanted;
    char *address; /* private, to which the wanted host leads; NULL = none */
    char why[600];
    struct effects effects;
    struct timespec begun;
};

bool trial_works(struct sandbox *s, const char **ret_why)
{
    const char *why = NULL;

    if (ret_why)
        *ret_why = "commands are not confined";
    if (sandbox_state(s) != SANDBOX_ON)
        return false;
    if (ret_why)
        *ret_why = "it takes Landlock";
    if (strcmp(confine_backend()->name, "landlock") != 0)
        return false;
    if (!confine_overlay_works(&why) || !confine_observe_works(&why)) {
        if (ret_why)
            *ret_why = why;
        return false;
    }
    return true;
}

/* ---- location ---- */

static bool is_in(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    return strncmp(path, dir, len) == 0 && (path[len] == '/' || !path[len] || len == 1);
}

/* An overlay cannot have its upper layer on another overlay, such as the root of a container, nor
 * below a lower layer. */
static bool can_hold_layers(const struct trial *t, const char *dir)
{
    struct statfs fs;

    if (statfs(dir, &fs) < 0 || fs.f_type == OVERLAYFS_SUPER_MAGIC || access(dir, W_OK) < 0)
        return false;
    for (size_t i = 0; i < t->at.len; i++) {
        if (is_in(dir, t->at.ptr[i]))
            return false;
    }
    return true;
}

/* On the workspace's disk if possible, so that a file can be applied by a rename. */
static char *choose_place(const struct trial *t)
{
    const char *const places[] = {t->sandbox->tenax_home, t->sandbox->temp_dir, "/var/tmp",
                                  "/dev/shm"};
    struct stat work;
    char *any = NULL;

    (void)file_mkdirs(t->sandbox->tenax_home, 0700, /*err=*/NULL);
    if (stat(t->at.ptr[0], &work) < 0)
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        CLEANUP(mem_freep) char *real = path_real(places[i]);
        struct stat st;

        if (!can_hold_layers(t, real) || stat(real, &st) < 0)
            continue;
        if (st.st_dev == work.st_dev) {
            free(any);
            return TAKE_PTR(real);
        }
        if (!any)
            any = TAKE_PTR(real);
    }
    return any;
}

/* The session's folder, created with its first trial run. */
static int hold_folder(struct trial *t, struct err *err)
{
    struct sandbox *s = t->sandbox;
    CLEANUP(buf_release) struct buf name = BUF_INIT(BUF_NO_LIMIT);
    int rc = 0;

    lock_take(&s->lock);
    if (s->trials.path && !can_hold_layers(t, s->trials.path)) {
        rc = err_set(err, ERR_UNSUPPORTED, "the layers lie below a folder that it could write");
    } else if (!s->trials.path) {
        CLEANUP(mem_freep) char *place = choose_place(t);

        if (!place)
            rc = err_set(err, ERR_UNSUPPORTED, "no folder can hold the layers of an overlay");
        else if (!session_folder_make(&s->trials, s->tenax_home, TRIAL_NOTE, place, TRIAL_FOLDER))
            rc = err_sys(err, ERR_IO, "cannot make a folder for trials");
    }
    if (rc == 0) {
        buf_addf(&name, "%s/%u", s->trials.path, ++s->trial_count);
        t->dir = buf_take(&name);
    }
    lock_give(&s->lock);
    if (rc == 0 && mkdir(t->dir, 0700) < 0)
        rc = err_sys(err, ERR_IO, "cannot make '%s'", t->dir);
    return rc;
}

/* ---- after a kill ---- */

static void settle_folder(void *ret, const char *dir)
{
    DIR *list = opendir(dir);

    for (const struct dirent *e = list ? readdir(list) : NULL; e; e = readdir(list)) {
        CLEANUP(buf_release) struct buf journal = BUF_INIT(BUF_NO_LIMIT);

        if (e->d_name[0] == '.')
            continue;
        buf_addf(&journal, "%s/%s/journal", dir, e->d_name);
        effects_settle(buf_cstr(&journal), ret);
    }
    if (list)
        closedir(list);
}

void trial_settle(struct sandbox *s, struct strv *ret)
{
    session_folder_settle(s->tenax_home, TRIAL_NOTE, TRIAL_FOLDER, settle_folder, ret);
}

/* ---- selecting folders ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Everything that the sandbox lets commands write except their temporary folder, without nested
 * ones. Not single files, which cannot have an overlay: they stay as they are, and a command that
 * opens one cannot be tried (TRIAL_UNTRIED). */
static int find_folders(struct trial *t, struct err *err)
{
    CLEANUP(strv_release) struct strv all = STRV_INIT;

    for (size_t i = 0; i < t->paths.write.len; i++) {
        CLEANUP(mem_freep) char *real = path_real(t->paths.write.ptr[i]);

        if (strcmp(real, t->temp) == 0 || !file_is_dir(real))
            continue;
        if (strcmp(real, "/") == 0)
            return err_set(err, ERR_UNSUPPORTED, "commands may write '%s'", real);
        strv_adds(&all, real);
    }
    if (!all.len)
        return err_set(err, ERR_UNSUPPORTED, "there is no folder to work in");
    qsort(all.ptr, all.len, sizeof(*all.ptr), by_text);
    for (size_t i = 0; i < all.len; i++) {
        bool is_inner = false;

        for (size_t k = 0; k < t->at.len; k++)
            is_inner = is_inner || is_in(all.ptr[i], t->at.ptr[k]);
        if (!is_inner)
            strv_adds(&t->at, all.ptr[i]);
    }
    if (t->at.len > CONFINE_MAX_OVERLAYS)
        return err_set(err, ERR_UNSUPPORTED, "more than %d folders to work in",
                       CONFINE_MAX_OVERLAYS);
    return 0;
}

static bool is_in_layer(const struct trial *t, const char *path)
{
    for (size_t i = 0; i < t->at.len; i++) {
        if (is_in(path, t->at.ptr[i]))
            return true;
    }
    return false;
}

/* To open one ends the trial. */
static void gather_lone_files(struct trial *t)
{
    strv_clear(&t->lone);
    for (size_t i = 0; i < t->paths.write.len; i++) {
        CLEANUP(mem_freep) char *real = path_real(t->paths.write.ptr[i]);

        if (file_exists(real) && !file_is_dir(real) && !is_in_layer(t, real))
            strv_adds(&t->lone, real);
    }
}

/* "36 35 98:0 /mnt1 /mnt2 rw …": the fifth is where. */
static int check_mount(const struct trial *t, struct str line, struct err *err)
{
    CLEANUP(mem_freep) char *path = NULL;
    struct str at = STR("");

    for (int i = 0; i < 5; i++)
        str_cut(&line, ' ', &at);
    path = mem_dup(at.ptr, at.len);
    for (size_t i = 0; i < t->at.len; i++) {
        if (is_in(path, t->at.ptr[i]) && strcmp(path, t->at.ptr[i]) != 0)
            return err_set(err, ERR_UNSUPPORTED, "'%s' is mounted in a working folder", path);
    }
    return 0;
}

/* An overlay does not show mounts below its lower folder. */
static int check_mounts(const struct trial *t, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(TRIAL_MAX_MOUNTS);
    CLEANUP(fd_closep) int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    struct str rest;
    struct str line;

    if (fd < 0 || buf_add_fd(&text, fd, err) < 0)
        return err_set(err, ERR_UNSUPPORTED, "the mounts cannot be listed");
    rest = buf_str(&text);
    while (str_cut(&rest, '\n', &line)) {
        if (check_mount(t, line, err) < 0)
            return -1;
    }
    return 0;
}

int trial_new(struct sandbox *s, struct trial **ret, struct err *err)
{
    CLEANUP(trial_freep) struct trial *t = mem_zalloc(sizeof(*t));
    const char *why;

    t->sandbox = s;
    t->records = -1;
    if (!trial_works(s, &why))
        return err_set(err, ERR_UNSUPPORTED, "%s", why);
    if (sandbox_temp(s, &t->temp, err) < 0)
        return -1;
    sandbox_paths_gather(s, t->temp, &t->paths);
    if (find_folders(t, err) < 0 || check_mounts(t, err) < 0 || hold_folder(t, err) < 0)
        return -1;
    t->journal = path_join(t->dir, "journal");
    t->id = path_base(s->trials.path);
    *ret = TAKE_PTR(t);
    return 0;
}

static void forget_run(struct trial *t)
{
    for (size_t i = 0; i < CONFINE_MAX_OVERLAYS; i++) {
        mem_freep(&t->upper[i]);
        mem_freep(&t->work[i]);
    }
    fd_closep(&t->records);
    t->records = -1;
    proxy_door_unref(t->door);
    t->door = NULL;
    mem_freep(&t->end_dir);
    mem_freep(&t->wanted);
    mem_freep(&t->address);
    t->wanted_kind = 0;
    t->timed_out = t->is_too_large = t->is_sent_away = false;
    effects_release(&t->effects);
    t->effects = (struct effects)EFFECTS_INIT;
    strv_clear(&t->write);
    strv_clear(&t->read_only);
    strv_clear(&t->readable);
}

void trial_free(struct trial *t)
{
    if (!t)
        return;
    forget_run(t);
    proxy_free(t->proxy);
    if (t->dir)
        session_folder_remove(t->dir);
    sandbox_paths_release(&t->paths);
    strv_release(&t->at);
    strv_release(&t->write);
    strv_release(&t->read_only);
    strv_release(&t->readable);
    strv_release(&t->lone);
    strv_release(&t->granted_files);
    strv_release(&t->granted_sockets);
    strv_release(&t->hosts);
    mem_freep(&t->dir);
    mem_freep(&t->temp);
    mem_freep(&t->journal);
    mem_freep(&t);
}

void trial_freep(struct trial **t)
{
    trial_free(*t);
}

/* ---- a run ---- */

/* With the attributes of the folder below, so that it does not appear as a change. */
static int make_layer(struct trial *t, size_t i, struct err *err)
{
    CLEANUP(buf_release) struct buf upper = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf work = BUF_INIT(BUF_NO_LIMIT);
    struct stat st;

    buf_addf(&upper, "%s/u%u-%zu", t->dir, t->runs, i);
    buf_addf(&work, "%s/w%u-%zu", t->dir, t->runs, i);
    t->upper[i] = buf_take(&upper);
    t->work[i] = buf_take(&work);
    if (stat(t->at.ptr[i], &st) < 0 || mkdir(t->upper[i], 0700) < 0 || mkdir(t->work[i], 0700) < 0)
        return err_sys(err, ERR_IO, "cannot make a layer over '%s'", t->at.ptr[i]);
    (void)!chown(t->upper[i], st.st_uid, st.st_gid);
    (void)chmod(t->upper[i], st.st_mode & 07777);
    t->lower[i][0] = t->at.ptr[i];
    t->overlays[i] = (struct confine_overlay){
        .at = t->at.ptr[i], .lower = t->lower[i], .upper = t->upper[i], .work = t->work[i]};
    return 0;
}

/* Files that the sandbox closes only to avoid surprises are writable here, because the user sees
 * the effects first; files closed by the user's settings and rules stay closed. */
static void gather_rules(struct trial *t)
{
    struct sandbox *s = t->sandbox;

    for (size_t i = 0; i < t->at.len; i++)
        strv_adds(&t->write, t->at.ptr[i]);
    strv_adds(&t->write, t->temp);
    for (size_t i = 0; i < t->paths.read_only.len; i++) {
        const char *path = t->paths.read_only.ptr[i];

        if (!is_in_layer(t, path) || strv_has(&s->given.read_only, str_of(path)) ||
            strv_has(&t->paths.denied, str_of(path)))
            strv_adds(&t->read_only, path);
    }
    trial_readable(s, &t->at, &t->readable);
    strv_add_all(&t->readable, &t->paths.shown);
    strv_add_all(&t->readable, &t->granted_files);
}

static int open_network(struct trial *t, struct confinement *c, int *door_fd, struct err *err)
{
    if (t->has_network) {
        c->net = CONFINE_NET_OPEN;
        return 0;
    }
    if (!t->proxy) {
        c->net = CONFINE_NET_TRIAL;
        return 0;
    }
    t->door = proxy_open(t->proxy, door_fd, err);
    if (!t->door)
        return -1;
    c->net = CONFINE_NET_PROXY;
    c->proxy = *door_fd;
    return 0;
}

int trial_enter(struct trial *t, struct sandbox_job **ret, struct err *err)
{
    CLEANUP(sandbox_job_freep) struct sandbox_job *j = NULL;

    forget_run(t);
    t->runs++;
    for (size_t i = 0; i < t->at.len; i++) {
        if (make_layer(t, i, err) < 0)
            return -1;
    }
    gather_rules(t);
    gather_lone_files(t);
    t->records = memfd_create("tenax-trial", MFD_CLOEXEC);
    if (t->records < 0)
        return err_sys(err, ERR_IO, "cannot make a file in memory");
    (void)fcntl(t->records, F_SETFL, O_APPEND);
    j = sandbox_job_new(t->sandbox, t->temp);
    sandbox_paths_copy(&j->paths, &t->paths);
    strv_add_all(&j->hosts, &t->hosts);
    j->is_trial = true;
    j->confine = (struct confinement){
        .write = (const char *const *)strv_get(&t->write),
        .read_only = (const char *const *)strv_get(&t->read_only),
        .hidden = (const char *const *)strv_get(&t->paths.hidden),
        .shown = (const char *const *)strv_get(&t->paths.shown),
        .proxy = -1,
        .sockets = (const char *const *)strv_get(&t->granted_sockets),
        .overlays = t->overlays,
        .overlay_count = t->at.len,
        .own_processes = true,
        .observe = t->records,
        .observed = (const char *const *)strv_get(&t->lone),
        .readable = (const char *const *)strv_get(&t->readable),
    };
    if (open_network(t, &j->confine, &j->door_fd, err) < 0)
        return -1;
    clock_gettime(CLOCK_REALTIME, &t->begun);
    *ret = TAKE_PTR(j);
    return 0;
}

/* ---- its size ---- */

struct size {
    int64_t bytes;
    size_t files;
};

/* False if it is larger than allowed, or unknown. */
static bool add_size(int dir, int depth, struct size *size)
{
    DIR *list = fdopendir(dir);
    bool fits = list && depth < EFFECTS_MAX_DEPTH;

    if (!list)
        close(dir);
    while (fits) {
        const struct dirent *e = readdir(list);
        struct stat st;
        int inner;

        if (!e)
            break;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            fstatat(dirfd(list), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        size->bytes += (int64_t)st.st_blocks * 512;
        fits = size->bytes <= TRIAL_MAX_BYTES && ++size->files <= TRIAL_MAX_FILES;
        if (!fits || !S_ISDIR(st.st_mode))
            continue;
        inner = openat(dirfd(list), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        fits = inner < 0 ||
               add_size(inner, depth + 1, size); /* an unreadable folder is opened later */
    }
    if (list)
        closedir(list);
    return fits;
}

static bool is_large(struct trial *t)
{
    struct size size = {0};

    for (size_t i = 0; i < t->at.len && !t->is_too_large; i++) {
        int dir = open(t->upper[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        t->is_too_large = dir < 0 || !add_size(dir, /*depth=*/0, &size);
    }
    return t->is_too_large;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool trial_is_too_large(struct trial *t, int64_t at_ms)
{
    int64_t start_ms = now_ms();
    bool is_too_large;

    if (at_ms < t->look_at_ms)
        return false;
    is_too_large = is_large(t);
    t->look_at_ms = at_ms + TRIAL_LOOK_MS + 10 * (now_ms() - start_ms);
    return is_too_large;
}

void trial_ended(struct trial *t, const char *dir, bool timed_out)
{
    t->end_dir = dir ? mem_dup(dir, strlen(dir)) : NULL;
    t->timed_out = timed_out;
}

void trial_send_away(struct trial *t)
{
    t->is_sent_away = true;
}

/* ---- the result ---- */

/* Reads the last record, which ended it. */
static void read_records(struct trial *t)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(CONFINE_MAX_RECORDS);
    struct str rest;
    struct str one;

    if (t->records < 0 || lseek(t->records, 0, SEEK_SET) < 0 ||
        buf_add_fd(&text, t->records, /*err=*/NULL) < 0)
        return;
    rest = buf_str(&text);
    while (rest.len && str_cut(&rest, '\0', &one)) {
        size_t at = 2 + str_chr(str_from(one, 2), ' ') + 1;

        if (!one.len || !strchr(CONFINE_ENDS, one.ptr[0]) || at > one.len)
            continue;
        t->wanted_kind = one.ptr[0];
        mem_freep(&t->wanted);
        t->wanted = mem_dup(one.ptr + at, one.len - at);
    }
}

/* After hosts were granted, the proxy refuses the others. Granted once, a host is not wanted again:
 * then the command has failed for another reason. */
static void read_refusals(struct trial *t)
{
    CLEANUP(strv_release) struct strv refusals = STRV_INIT;

    if (t->wanted_kind || !t->door)
        return;
    proxy_door_refusals(t->door, &refusals);
    for (size_t i = 0; i < refusals.len && !t->wanted_kind; i++) {
        CLEANUP(buf_release) struct buf host = BUF_INIT(BUF_NO_LIMIT);
        struct trial_wanted w;

        if (!trial_wanted_of_refusal(str_of(refusals.ptr[i]), &w))
            continue;
        trial_wanted_write_host(&w, &host);
        if (strv_has(&t->hosts, buf_str(&host)))
            continue;
        t->wanted_kind = 'N';
        t->wanted = mem_dup(w.name.ptr, w.name.len);
        t->address = w.thing == TRIAL_PRIVATE ? mem_dup(w.address.ptr, w.address.len) : NULL;
    }
}

static enum trial_outcome look_at_wanted(const struct trial *t)
{
    bool is_file = t->wanted_kind == 'O' || t->wanted_kind == 'E';

    if (is_file && sandbox_path_is(&t->paths, t->wanted) == PATH_HIDDEN)
        return TRIAL_REFUSED;
    return TRIAL_STOPPED;
}

int trial_look(struct trial *t, struct cancel *cancel, enum trial_outcome *ret, struct err *err)
{
    struct effects_layer layers[CONFINE_MAX_OVERLAYS];
    struct err why = {0};

    *ret = t->is_sent_away ? TRIAL_SENT_AWAY : TRIAL_OVERRUN;
    if (t->is_sent_away)
        return 0;
    if (t->timed_out || t->is_too_large || is_large(t)) {
        snprintf(t->why, sizeof(t->why), "%s",
                 t->timed_out ? "its time was up while it ran on trial"
                              : "it wrote more than 1 GB while it ran on trial");
        return 0;
    }
    read_records(t);
    read_refusals(t);
    if (t->wanted && strv_has(&t->lone, str_of(t->wanted))) {
        *ret = TRIAL_UNTRIED;
        return 0;
    }
    if (t->wanted_kind) {
        *ret = look_at_wanted(t);
        return 0;
    }
    for (size_t i = 0; i < t->at.len; i++)
        layers[i] = (struct effects_layer){t->at.ptr[i], t->upper[i]};
    if (effects_find(layers, t->at.len, cancel, &t->effects, &why) < 0) {
        if (why.code != ERR_TOO_BIG && why.code != ERR_UNSUPPORTED)
            return err_set(err, why.code, "%s", why.text);
        snprintf(t->why, sizeof(t->why), "%s", why.text);
        return 0;
    }
    t->effects.since = t->begun;
    VEC_EACH(&t->effects.list, one) {
        bool goes = one->was.st_mode && (one->was.st_mode & S_IFMT) != (one->now.st_mode & S_IFMT);

        one->is_protected =
            one->is_protected || sandbox_paths_keep(t->sandbox, &t->paths, one->path, goes);
    }
    *ret = t->effects.list.len ? TRIAL_CHANGED : TRIAL_UNCHANGED;
    return 0;
}

struct effects *trial_effects(struct trial *t)
{
    return &t->effects;
}

const char *trial_why(const struct trial *t)
{
    return t->why;
}

const char *trial_dir(const struct trial *t)
{
    return t->end_dir;
}

int trial_apply(struct trial *t, struct err *err)
{
    return effects_apply(&t->effects, t->journal, t->id, err);
}

/* ---- attempted access ---- */

/* "example.com:443", not "192.0.2.1:443" or "[::1]:443". */
static bool is_host_name(struct str text)
{
    for (size_t i = 0; i < text.len && text.ptr[0] != '['; i++) {
        if (!strchr(".:0123456789", text.ptr[i]))
            return true;
    }
    return false;
}

bool trial_wanted_of_refusal(struct str line, struct trial_wanted *ret)
{
    struct proxy_refusal refusal;

    if (!proxy_refusal_parse(line, &refusal) || refusal.is_denied)
        return false;
    *ret = (struct trial_wanted){
        .thing = refusal.address.len ? TRIAL_PRIVATE : TRIAL_HOST,
        .name = refusal.target,
        .address = refusal.address,
    };
    return true;
}

void trial_wanted_write_host(const struct trial_wanted *w, struct buf *ret)
{
    const char *port = w->name.len ? memrchr(w->name.ptr, ':', w->name.len) : NULL;

    if (w->thing != TRIAL_PRIVATE || !port) {
        buf_add(ret, w->name);
        return;
    }
    buf_addf(ret, str_chr(w->address, ':') < w->address.len ? "[%.*s]" : "%.*s",
             STR_ARG(w->address));
    buf_add(ret, str_from(w->name, (size_t)(port - w->name.ptr)));
}

struct trial_wanted trial_wanted(const struct trial *t)
{
    struct trial_wanted w = {.name = str_of(t->wanted)};

    if (t->address) {
        w.thing = TRIAL_PRIVATE;
        w.address = str_of(t->address);
        return w;
    }
    switch (t->wanted_kind) {
    case 'O':
        w.thing = TRIAL_FILE;
        break;
    case 'E':
        w.thing = TRIAL_PROGRAM;
        break;
    case 'U':
        w.thing = TRIAL_SOCKET;
        break;
    case 'D': /* a program that resolves names itself does not use the proxy */
        w.thing = TRIAL_ADDRESS;
        break;
    default:
        w.thing = is_host_name(w.name) ? TRIAL_HOST : TRIAL_ADDRESS;
        break;
    }
    return w;
}

static int grant_host(struct trial *t, const struct trial_wanted *w, struct err *err)
{
    CLEANUP(buf_release) struct buf host = BUF_INIT(BUF_NO_LIMIT);
    struct proxy_spec spec;

    trial_wanted_write_host(w, &host);
    if (strv_has(&t->hosts, buf_str(&host)))
        return err_set(err, ERR_UNSUPPORTED, "'%s' cannot be reached", buf_cstr(&host));
    strv_add(&t->hosts, buf_str(&host));
    sandbox_net_begin(t->sandbox, &spec);
    for (size_t i = 0; i < t->hosts.len; i++) {
        if (host_list_add(spec.allowed, str_of(t->hosts.ptr[i]), err) < 0) {
            host_list_free(spec.allowed);
            host_list_free(spec.denied);
            return -1;
        }
    }
    proxy_door_unref(t->door);
    t->door = NULL;
    proxy_free(t->proxy);
    t->proxy = proxy_new(&spec);
    return 0;
}

int trial_grant(struct trial *t, struct err *err)
{
    struct trial_wanted w = trial_wanted(t);

    switch (w.thing) {
    case TRIAL_FILE:
    case TRIAL_PROGRAM:
        strv_adds(&t->granted_files, t->wanted);
        return 0;
    case TRIAL_SOCKET:
        if (t->has_network || strv_has(&t->granted_sockets, str_of(t->wanted)))
            return err_set(err, ERR_UNSUPPORTED, "the socket '%s' cannot be opened", t->wanted);
        strv_adds(&t->granted_sockets, t->wanted);
        return 0;
    case TRIAL_HOST:
    case TRIAL_PRIVATE:
        return grant_host(t, &w, err);
    default:
        break;
    }
    if (t->granted_sockets.len || t->has_network)
        return err_set(err, ERR_UNSUPPORTED, "the network cannot be opened for it");
    t->has_network = true;
    return 0;
}
