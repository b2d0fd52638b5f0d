/*
 * A database that another program keeps locked, during a verdict.
 *
 *     locked TENAX
 *
 * `tenax goal` works on a goal whose check takes a while. While it runs the check, the database is
 * locked for 5 seconds. From outside, `goal status`, `goal pause` and an interrupt are still
 * answered at once; the answer to the pause says that it is not saved yet, and when the lock is
 * gone it is.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "bench/bench.h"
#include "check.h"
#include "store/sqlite_table.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define AT_ONCE_MS 2000
#else
#define AT_ONCE_MS 200
#endif
#define LOCK_MS 5000
#define ROUNDS                                                                                     \
    3 /* the first in which all is at once ends the test: the machine is not ours alone */

static char dir[] = "/tmp/tenax-locked-XXXXXX";
static char variables[3][200];
static char *env[] = {variables[0], variables[1], variables[2], NULL};
static const char *tenax;
static char work[200];

static void nap(void)
{
    usleep(10000);
}

/* `tenax goal` with these words, in the folder; its output goes to the file. */
static pid_t begin(const char *const *words, const char *output)
{
    char *argv[16] = {(char *)"env", (char *)"-C", work, (char *)tenax, (char *)"goal"};
    size_t n = 5;
    pid_t pid;

    for (; *words; words++)
        argv[n++] = (char *)*words;
    pid = fork();
    CHECK(pid >= 0, "no process");
    if (pid == 0) {
        int fd = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
            _exit(126);
        execve("/usr/bin/env", argv, env);
        _exit(127);
    }
    return pid;
}

/* The same, waited for: how long it took. */
static int64_t ask(struct buf *ret, const char *const *words)
{
    char path[300];
    int64_t start_ms = clock_mono_ms();
    int64_t took_ms;
    int status;
    pid_t pid;
    struct err err = {0};

    snprintf(path, sizeof(path), "%s/answer", dir);
    pid = begin(words, path);
    CHECK(waitpid(pid, &status, 0) == pid, "it is gone");
    took_ms = clock_mono_ms() - start_ms;
    buf_clear(ret);
    CHECK(file_slurp(path, 1 << 20, ret, &err) == 0, "%s", err.text);
    return took_ms;
}

/* Until `goal status` says this. */
static void await(const char *text)
{
    static const char *const words[] = {"status", NULL};
    CLEANUP(buf_release) struct buf answer = BUF_INIT(1 << 20);
    int64_t until_ms = clock_mono_ms() + 120000;

    while (ask(&answer, words), !strstr(buf_cstr(&answer), text)) {
        CHECK(clock_mono_ms() < until_ms, "never \"%s\": %s", text, buf_cstr(&answer));
        nap();
    }
}

/* ---- The lock ---- */

static sqlite3 *lock_db(void)
{
    CLEANUP(mem_freep) char *path = path_join(dir, "h/.tenax/state.db");
    int64_t until_ms = clock_mono_ms() + 60000;
    sqlite3 *db = NULL;

    CHECK(sqlite_table_load(NULL) == 0, "no SQLite");
    CHECK(sqlite.open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK, "no database");
    while (sqlite.exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL) != SQLITE_OK) {
        CHECK(clock_mono_ms() < until_ms, "it cannot be locked: %s", sqlite.errmsg(db));
        nap();
    }
    return db;
}

static void unlock_db(sqlite3 *db)
{
    CHECK(sqlite.exec(db, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite.errmsg(db));
    sqlite.close_v2(db);
}

/* ---- The control socket ---- */

static int64_t interrupt(pid_t pid)
{
    static const char line[] = "{\"type\":\"control_request\",\"request_id\":\"r1\","
                               "\"request\":{\"subtype\":\"interrupt\"}}\n";
    CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 20);
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int64_t start_ms = clock_mono_ms();
    struct err err = {0};

    snprintf(at.sun_path, sizeof(at.sun_path), "%s/h/.tenax/run/%d.sock", dir, (int)pid);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0, "no control socket");
    CHECK(fd_write_all(fd, STR(line), &err) == 0, "%s", err.text);
    while (!strstr(buf_cstr(&got), "\"r1\"")) {
        char part[4096];
        ssize_t n = read(fd, part, sizeof(part));

        CHECK(n > 0, "the socket has hung up: %s", buf_cstr(&got));
        buf_add(&got, str_make(part, (size_t)n));
    }
    CHECK(strstr(buf_cstr(&got), "\"success\""), "no interrupt: %s", buf_cstr(&got));
    close(fd);
    return clock_mono_ms() - start_ms;
}

/* ---- A goal at work ---- */

struct job {
    pid_t pid;
    sqlite3 *db;
    int64_t start_ms;
};

/* It is in a verdict, and the database is locked. */
static void job_begin(struct job *j)
{
    char model[300];
    char output[300];
    const char *const words[] = {"it works", "--check", "sleep 3; test -f done",
                                 "--model",  model,     "--dangerously-skip-permissions",
                                 NULL};

    snprintf(model, sizeof(model), "scripted/%s/s.scenario", dir);
    snprintf(output, sizeof(output), "%s/output", dir);
    j->pid = begin(words, output);
    await("verifying");
    j->db = lock_db();
    j->start_ms = clock_mono_ms();
}

/* The lock is gone; the requested change is in the store, which no process holds any more. */
static void job_end(struct job *j, const char *status)
{
    static const char *const words[] = {"status", NULL};
    CLEANUP(buf_release) struct buf answer = BUF_INIT(1 << 20);

    while (clock_mono_ms() - j->start_ms < LOCK_MS)
        nap();
    unlock_db(j->db);
    CHECK(waitpid(j->pid, NULL, 0) == j->pid, "the goal's process is gone");
    (void)ask(&answer, words);
    CHECK(strstr(buf_cstr(&answer), status), "afterwards: %s", buf_cstr(&answer));
    (void)ask(&answer, (const char *const[]){"clear", NULL});
}

static bool all_is_at_once(void)
{
    static const char *const status[] = {"status", NULL};
    static const char *const pause[] = {"pause", NULL};
    CLEANUP(buf_release) struct buf answer = BUF_INIT(1 << 20);
    int64_t status_ms, pause_ms, interrupt_ms;
    struct job j;

    job_begin(&j);
    status_ms = ask(&answer, status);
    CHECK(strstr(buf_cstr(&answer), "active"), "status: %s", buf_cstr(&answer));
    pause_ms = ask(&answer, pause);
    CHECK(strstr(buf_cstr(&answer), "paused"), "pause: %s", buf_cstr(&answer));
    CHECK(strstr(buf_cstr(&answer), "not saved yet"), "the pause lies: %s", buf_cstr(&answer));
    (void)ask(&answer, status);
    CHECK(strstr(buf_cstr(&answer), "paused"), "status: %s", buf_cstr(&answer));
    job_end(&j, "paused");
    job_begin(&j);
    interrupt_ms = interrupt(j.pid);
    job_end(&j, "paused");
    printf("locked: status %" PRId64 " ms, pause %" PRId64 " ms, interrupt %" PRId64 " ms\n",
           status_ms, pause_ms, interrupt_ms);
    return status_ms <= AT_ONCE_MS && interrupt_ms <= AT_ONCE_MS && pause_ms <= AT_ONCE_MS;
}

int main(int argc, char **argv)
{
    CLEANUP(mem_freep) char *path = NULL;
    struct err err = {0};
    bool at_once = false;

    CHECK(argc == 2 && mkdtemp(dir), "usage: locked TENAX");
    tenax = argv[1];
    snprintf(variables[0], sizeof(variables[0]), "HOME=%s/h", dir);
    snprintf(variables[1], sizeof(variables[1]), "TENAX_HOME=%s/h/.tenax", dir);
    snprintf(variables[2], sizeof(variables[2]), "PATH=/usr/local/bin:/usr/bin:/bin");
    path = path_join(dir, "s.scenario");
    snprintf(work, sizeof(work), "%s/w", dir);
    CHECK(file_mkdirs(work, 0700, &err) == 0 &&
              file_replace(path, STR("step\n  sticky\n  text Done.\n"), 0600, &err) == 0,
          "%s", err.text);
    for (int i = 0; i < ROUNDS && !at_once; i++)
        at_once = all_is_at_once();
    CHECK(at_once, "not within %d ms in any of %d rounds", AT_ONCE_MS, ROUNDS);
    bench_remove(dir);
    return 0;
}
