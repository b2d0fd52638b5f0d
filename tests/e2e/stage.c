/*
 * stage: plain spawn, poll and wait, and two ways to find leftover processes: we are a subreaper,
 * so that every orphan becomes our child, and a mark in the environment finds the children of
 * others. Main thread.
 */
#include "stage.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "planted.h"

#define STAGE_MAX_OUTPUT ((size_t)256 << 20)
#define STAGE_SERVER_MS 60000
#define STAGE_MARK "TENAX_STAGE"

struct stage_dialect {
    const char *name;
    const char *model;
    const char *base_name, *base_tail;
    const char *key;
};

static const struct stage_dialect stage_dialects[] = {
    {"anthropic", "anthropic/claude-sonnet-5", "ANTHROPIC_BASE_URL", "",
     "ANTHROPIC_API_KEY=sk-ant-e2e-0123456789"},
    {"openai-chat", "openai/gpt-5", "OPENAI_BASE_URL", "/v1", "OPENAI_API_KEY=sk-e2e-0123456789"},
    {"openai-responses", "openai/gpt-5", "OPENAI_BASE_URL", "/v1",
     "OPENAI_API_KEY=sk-e2e-0123456789"},
    {"gemini", "gemini/gemini-2.5-flash", "GOOGLE_GEMINI_BASE_URL", "",
     "GEMINI_API_KEY=gm-e2e-0123456789"},
};

static const struct stage_dialect *stage_dialect(const struct stage *s)
{
    for (size_t i = 0; s->dialect && i < ARRAY_LEN(stage_dialects); i++) {
        if (strcmp(stage_dialects[i].name, s->dialect) == 0)
            return &stage_dialects[i];
    }
    return NULL;
}

/* ---- Folders ---- */

static int stage_unlink(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    (void)remove(path);
    return 0;
}

static void stage_remove(const char *path)
{
    (void)nftw(path, stage_unlink, 16, FTW_DEPTH | FTW_PHYS);
}

/* The dialect of OpenAI is a setting. */
static int stage_settle(const struct stage *s, struct err *err)
{
    CLEANUP(mem_freep) char *file = path_join(s->dir, "home/.tenax/settings.json");

    if (!s->dialect || strcmp(s->dialect, "openai-responses") != 0)
        return 0;
    return file_replace(file,
                        STR("{\"providers\": {\"openai\": {\"dialect\": \"openai-responses\"}}}\n"),
                        0600, err);
}

int stage_sweep(struct stage *s, struct err *err)
{
    static const char *const folders[] = {"home", "tmp", "work", "home/.tenax"};

    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        CLEANUP(mem_freep) char *folder = path_join(s->dir, folders[i]);
        CLEANUP(mem_freep) char *leak = planted_find(folder);

        if (leak)
            return err_set(err, ERR_PROTOCOL, "a key that was planted is in '%s'", leak);
        stage_remove(folder);
        if (file_mkdirs(folder, 0700, err) < 0)
            return -1;
    }
    return stage_settle(s, err);
}

int stage_give(const struct stage *s, struct err *err)
{
    static const char *const folders[] = {"", "home", "tmp", "work", "home/.tenax"};

    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        CLEANUP(mem_freep) char *folder = path_join(s->dir, folders[i]);

        if (chown(folder, s->uid, s->uid) < 0)
            return err_sys(err, ERR_IO, "chown");
    }
    return 0;
}

/* A namespace whose own limit allows no other one below it. */
static void stage_add_bare(struct strv *argv)
{
    static const char script[] =
        "echo 0 > /proc/sys/user/max_user_namespaces && exec /usr/bin/setpriv --bounding-set=-all "
        "--inh-caps=-all --ambient-caps=-all \"$@\"";
    static const char *const words[] = {
        "/usr/bin/unshare", "--user", "--map-root-user", "/bin/sh", "-c", script, "sh",
    };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        strv_adds(argv, words[i]);
}

void stage_add_user(const struct stage *s, struct strv *argv)
{
    if (s->is_bare)
        stage_add_bare(argv);
    if (!s->uid)
        return;
    strv_adds(argv, "/usr/bin/setpriv");
    strv_addf(argv, "--reuid=%u", (unsigned)s->uid);
    strv_addf(argv, "--regid=%u", (unsigned)s->uid);
    strv_adds(argv, "--clear-groups");
}

int stage_open(struct stage *s, const char *build, const char *dialect, struct err *err)
{
    static const char *const passed[] = {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"};
    const struct stage_dialect *d;

    *s = (struct stage){.build = build, .dialect = dialect, .server_says = -1};
    d = stage_dialect(s);
    s->model = d ? d->model : "";
    snprintf(s->dir, sizeof(s->dir), "/tmp/tenax-stage-XXXXXX");
    if (!mkdtemp(s->dir))
        return err_sys(err, ERR_IO, "mkdtemp");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    strv_addf(&s->env, "HOME=%s/home", s->dir);
    strv_addf(&s->env, "TENAX_HOME=%s/home/.tenax", s->dir);
    strv_addf(&s->env, "TMPDIR=%s/tmp", s->dir);
    strv_adds(&s->env, "PATH=/usr/bin:/bin");
    strv_adds(&s->env, PLANTED_TOKEN);
    strv_adds(&s->env, "TENAX_TEST_IDS=1");
    strv_adds(&s->env, "TENAX_TEST_SANDBOX=none"); /* the same everywhere; some cases unset it */
    strv_addf(&s->env, STAGE_MARK "=%s", s->dir);
    for (size_t i = 0; i < ARRAY_LEN(passed); i++) {
        if (getenv(passed[i]))
            strv_addf(&s->env, "%s=%s", passed[i], getenv(passed[i]));
    }
    return stage_sweep(s, err);
}

void stage_close(struct stage *s)
{
    stage_unserve(s, /*ret_complaints=*/NULL);
    if (s->dir[0])
        stage_remove(s->dir);
    strv_release(&s->env);
    s->dir[0] = '\0';
}

/* ---- Processes ---- */

enum stage_pipes {
    STAGE_MERGED, /* errors go where the output does */
    STAGE_APART,
    STAGE_TALK, /* apart, and there is input */
};

static int stage_spawn(const struct stage *s, char *const *argv, char *const *env,
                       enum stage_pipes pipes, struct stage_child *ret, struct err *err)
{
    CLEANUP(mem_freep) char *work = path_join(s->dir, "work");
    bool merge = pipes == STAGE_MERGED;
    posix_spawn_file_actions_t actions;
    int in[2] = {-1, -1};
    int out[2];
    int errs[2] = {-1, -1};
    int r;

    if (pipe2(out, O_CLOEXEC) < 0 || (!merge && pipe2(errs, O_CLOEXEC) < 0) ||
        (pipes == STAGE_TALK && pipe2(in, O_CLOEXEC) < 0))
        return err_sys(err, ERR_IO, "pipe");
    posix_spawn_file_actions_init(&actions);
    if (pipes == STAGE_TALK)
        posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, merge ? out[1] : errs[1], STDERR_FILENO);
    posix_spawn_file_actions_addchdir_np(&actions, work);
    r = posix_spawn(&ret->pid, argv[0], &actions, /*attr=*/NULL, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    fd_closep(&errs[1]);
    fd_closep(&in[0]);
    ret->in = in[1];
    ret->out = out[0];
    ret->err = errs[0];
    if (r == 0)
        return 0;
    fd_closep(&ret->in);
    fd_closep(&ret->out);
    fd_closep(&ret->err);
    return err_set(err, ERR_IO, "cannot start '%s': %s", argv[0], strerror(r));
}

void stage_read(int *fd, struct buf *to)
{
    char *room = buf_room(to, 65536);
    ssize_t n = room ? read(*fd, room, 65536) : 0;

    if (n > 0)
        buf_grown(to, (size_t)n);
    else
        fd_closep(fd);
}

static int stage_collect(pid_t pid)
{
    int status = 0;

    (void)waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* The state of the threads of a process that does not end, for debugging. */
static void stage_explain(pid_t pid, struct buf *out)
{
    static const char *const files[] = {"comm", "wchan", "syscall"};
    char path[300];
    DIR *dir;
    struct dirent *e;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    dir = opendir(path);
    while (dir && ((void)(e = readdir(dir)), e)) {
        if (e->d_name[0] == '.')
            continue;
        buf_addf(out, "thread %s:", e->d_name);
        for (size_t i = 0; i < ARRAY_LEN(files); i++) {
            CLEANUP(buf_release) struct buf text = BUF_INIT(4096);
            CLEANUP(fd_closep) int fd = -1;

            snprintf(path, sizeof(path), "/proc/%d/task/%s/%s", (int)pid, e->d_name, files[i]);
            fd = open(path, O_RDONLY | O_CLOEXEC);
            if (fd >= 0)
                (void)buf_add_fd(&text, fd, /*err=*/NULL);
            buf_addf(out, " %.*s", STR_ARG(str_trim(buf_str(&text))));
        }
        buf_addc(out, '\n');
    }
    if (dir)
        closedir(dir);
}

/* Reads until the process has ended and, as far as they are open then, its pipes are empty. */
static int stage_watch(struct stage_child *c, int64_t limit_ms, struct stage_result *ret,
                       struct err *err)
{
    CLEANUP(fd_closep) int pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
    int64_t until_ms = clock_mono_ms() + limit_ms;

    if (pidfd < 0)
        return err_sys(err, ERR_IO, "pidfd_open");
    for (;;) {
        struct pollfd fds[] = {{c->out, POLLIN, 0}, {c->err, POLLIN, 0}, {pidfd, POLLIN, 0}};
        int64_t left_ms = until_ms - clock_mono_ms();
        bool is_over = ret->exit_us || ret->is_stuck;
        int n = poll(fds, ARRAY_LEN(fds), is_over ? 0 : left_ms > 0 ? (int)left_ms : 0);

        if (n == 0 && is_over)
            return 0;
        if (n == 0) {
            ret->is_stuck = true;
            stage_explain(c->pid, &ret->err);
            kill(c->pid, SIGKILL);
        }
        if (fds[0].revents) {
            ret->said_us = fds[0].revents & POLLIN ? clock_mono_us() : ret->said_us;
            stage_read(&c->out, &ret->out);
        }
        if (fds[1].revents)
            stage_read(&c->err, &ret->err);
        if (fds[2].revents && !ret->exit_us)
            ret->exit_us = clock_mono_us();
        if (ret->exit_us && !fds[0].revents && !fds[1].revents)
            return 0;
    }
}

void stage_result_release(struct stage_result *r)
{
    buf_release(&r->out);
    buf_release(&r->err);
}

static int stage_run(const struct stage *s, const char *const *args, const char *extra,
                     enum stage_pipes pipes, struct stage_child *ret, struct err *err)
{
    CLEANUP(strv_release) struct strv argv = STRV_INIT;
    CLEANUP(strv_release) struct strv env = STRV_INIT;

    stage_add_user(s, &argv);
    strv_addf(&argv, "%s/src/tenax", s->build);
    while (*args)
        strv_adds(&argv, *args++);
    strv_add_all(&env, &s->env);
    if (extra)
        strv_adds(&env, extra);
    return stage_spawn(s, strv_get(&argv), strv_get(&env), pipes, ret, err);
}

int stage_start(const struct stage *s, const char *const *args, const char *extra,
                struct stage_child *ret, struct err *err)
{
    return stage_run(s, args, extra, STAGE_TALK, ret, err);
}

int stage_end(struct stage_child *c)
{
    int code = stage_collect(c->pid);

    fd_closep(&c->in);
    fd_closep(&c->out);
    fd_closep(&c->err);
    return code;
}

int stage_play(const struct stage *s, const char *const *args, const char *extra, int64_t limit_ms,
               struct stage_result *ret, struct err *err)
{
    struct stage_child child;
    int r;

    *ret =
        (struct stage_result){.out = BUF_INIT(STAGE_MAX_OUTPUT), .err = BUF_INIT(STAGE_MAX_OUTPUT)};
    if (stage_run(s, args, extra, STAGE_APART, &child, err) < 0)
        return -1;
    r = stage_watch(&child, limit_ms, ret, err);
    ret->code = stage_end(&child);
    if (r == 0 && (planted_is_in(buf_str(&ret->out)) || planted_is_in(buf_str(&ret->err))))
        r = err_set(err, ERR_PROTOCOL, "a key that was planted is in what it said");
    return r;
}

/* ---- Who is left ---- */

static bool stage_is_ours(const struct stage *s, pid_t pid)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    CLEANUP(fd_closep) int fd = -1;
    char path[64];
    char state = 0;
    int parent = 0;
    const char *behind;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || buf_add_fd(&text, fd, /*err=*/NULL) < 0)
        return false;
    behind = strrchr(buf_cstr(&text), ')');
    if (!behind || sscanf(behind + 1, " %c %d", &state, &parent) != 2)
        return false;
    if (parent == getpid()) {
        if (state != 'Z' && state != 'X')
            return true;
        (void)waitpid(pid, NULL, WNOHANG);
        return false;
    }
    fd_closep(&fd);
    buf_clear(&text);
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || buf_add_fd(&text, fd, /*err=*/NULL) < 0)
        return false;
    snprintf(path, sizeof(path), STAGE_MARK "=%.40s", s->dir);
    return str_has(buf_str(&text), str_of(path));
}

static void stage_describe(pid_t pid, struct buf *out)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(1 << 20);
    CLEANUP(fd_closep) int fd = -1;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        (void)buf_add_fd(&line, fd, /*err=*/NULL);
    for (size_t i = 0; i < line.len; i++) {
        if (!line.ptr[i])
            line.ptr[i] = ' ';
    }
    buf_addf(out, " %d (%.*s)", (int)pid, STR_ARG(str_clip(str_trim(buf_str(&line)), 60)));
}

/* How many are left. out: who, and they are killed; NULL: only look. */
static size_t stage_survivors(const struct stage *s, struct buf *out)
{
    DIR *dir = opendir("/proc");
    struct dirent *e;
    size_t n = 0;

    while (dir && ((void)(e = readdir(dir)), e)) {
        int64_t pid;

        if (str_to_i64(str_of(e->d_name), &pid, /*err=*/NULL) < 0 || pid == getpid() ||
            pid == s->server || pid == s->spared || !stage_is_ours(s, (pid_t)pid))
            continue;
        n++;
        if (out) {
            stage_describe((pid_t)pid, out);
            kill((pid_t)pid, SIGKILL);
        }
    }
    if (dir)
        closedir(dir);
    return n;
}

int stage_alone(const struct stage *s, int64_t limit_ms, struct err *err)
{
    CLEANUP(buf_release) struct buf who = BUF_INIT(4096);
    int64_t until_ms = clock_mono_ms() + limit_ms;

    /* Polls: the end of another process's child cannot be waited for. */
    while (stage_survivors(s, /*out=*/NULL)) {
        if (clock_mono_ms() < until_ms) {
            (void)poll(NULL, 0, 5);
        } else if (stage_survivors(s, &who)) {
            return err_set(err, ERR_TIMEOUT, "still running:%s", buf_cstr(&who));
        }
    }
    return 0;
}

/* ---- Leftovers ---- */

static char stage_litter[256]; /* the first file that should not be there; nftw() has no argument */
static size_t stage_home_len;  /* of $TENAX_HOME's path */
static char stage_home[96];

static int stage_look(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    bool is_inside = strncmp(path, stage_home, stage_home_len) == 0;

    (void)at;
    if (stage_litter[0] || (is_inside && !S_ISSOCK(st->st_mode)))
        return 0;
    /* TSAN's own file, which stays when a process is killed while it starts. */
    if (strstr(path, "/tsan.rodata."))
        return 0;
    if (at->level > 0 && (kind != FTW_D || S_ISSOCK(st->st_mode)))
        snprintf(stage_litter, sizeof(stage_litter), "%s", path);
    return 0;
}

int stage_is_tidy(const struct stage *s, struct err *err)
{
    static const char *const folders[] = {"home", "tmp"};

    stage_litter[0] = '\0';
    snprintf(stage_home, sizeof(stage_home), "%s/home/.tenax", s->dir);
    stage_home_len = strlen(stage_home);
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        CLEANUP(mem_freep) char *folder = path_join(s->dir, folders[i]);

        (void)nftw(folder, stage_look, 16, FTW_PHYS);
    }
    if (stage_litter[0])
        return err_set(err, ERR_IO, "left behind: %s", stage_litter);
    return 0;
}

/* ---- The server ---- */

static int stage_read_port(struct stage *s, char port[16], struct err *err)
{
    CLEANUP(buf_release) struct buf said = BUF_INIT(65536);
    int64_t until_ms = clock_mono_ms() + STAGE_SERVER_MS;

    for (;;) {
        struct pollfd fd = {s->server_says, POLLIN, 0};
        int64_t left_ms = until_ms - clock_mono_ms();

        if (left_ms <= 0 || poll(&fd, 1, (int)left_ms) <= 0)
            return err_set(err, ERR_TIMEOUT, "the server did not start");
        stage_read(&s->server_says, &said);
        if (s->server_says < 0)
            return err_set(err, ERR_IO, "the server ended: %s", buf_cstr(&said));
        if (strchr(buf_cstr(&said), '\n') &&
            sscanf(buf_cstr(&said), "LISTENING %15[0-9]", port) == 1)
            return 0;
    }
}

int stage_serve(struct stage *s, const char *scenario, struct err *err)
{
    const struct stage_dialect *d = stage_dialect(s);
    CLEANUP(strv_release) struct strv argv = STRV_INIT;
    CLEANUP(mem_freep) char *record = path_join(s->dir, "record");
    struct stage_child child;
    char port[16];

    if (!d)
        return err_set(err, ERR_BAD_INPUT, "there is no dialect '%s'", s->dialect);
    (void)unlink(record);
    strv_addf(&argv, "%s/tests/fake/fake", s->build);
    strv_adds(&argv, "--scenario");
    strv_adds(&argv, scenario);
    strv_adds(&argv, "--record");
    strv_adds(&argv, record);
    if (stage_spawn(s, strv_get(&argv), environ, STAGE_MERGED, &child, err) < 0)
        return -1;
    s->server = child.pid;
    s->server_says = child.out;
    if (stage_read_port(s, port, err) < 0)
        return -1;
    strv_addf(&s->env, "%s=http://127.0.0.1:%s%s", d->base_name, port, d->base_tail);
    strv_adds(&s->env, d->key);
    return 0;
}

void stage_unserve(struct stage *s, struct buf *ret_complaints)
{
    CLEANUP(buf_release) struct buf rest = BUF_INIT(65536);

    if (!s->server)
        return;
    kill(s->server, SIGTERM);
    while (s->server_says >= 0)
        stage_read(&s->server_says, &rest);
    (void)stage_collect(s->server);
    s->server = 0;
    s->env.len -= 2; /* its address and the key */
    mem_freep(&s->env.ptr[s->env.len]);
    mem_freep(&s->env.ptr[s->env.len + 1]);
    if (ret_complaints)
        buf_add(ret_complaints, buf_str(&rest));
}

int stage_record(const struct stage *s, struct buf *ret, struct err *err)
{
    CLEANUP(mem_freep) char *record = path_join(s->dir, "record");

    return file_slurp(record, STAGE_MAX_OUTPUT, ret, err);
}
