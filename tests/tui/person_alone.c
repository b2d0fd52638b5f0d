/*
 * No process started by tenax is left, however it ends: a running command, one it has put into a
 * separate session, and one in the background. The test program is person.c.
 */
#include "person.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

#define ALONE_PATIENCE_MS 20000

static const char busy[] =
    "step\n  if-prompt again\n  text Back again.\n"
    "step\n  call Bash {\"command\": \"echo $$ > $HOME/behind; sleep 1000\","
    " \"run_in_background\": true}\n"
    "step\n  call Bash {\"command\": \"(setsid sleep 1000 & echo $! > $HOME/away);"
    " echo $$ > $HOME/here; sleep 1000\"}\n";

static const char *const names[] = {"home/behind", "home/away", "home/here"};

/* 0: it is not written yet. */
static pid_t read_pid(const struct window *w, const char *name)
{
    CLEANUP(mem_freep) char *path = path_join(w->top, name);
    CLEANUP(buf_release) struct buf text = BUF_INIT(100);
    int64_t pid = 0;

    (void)file_slurp(path, 100, &text, /*err=*/NULL);
    if (!str_ends(buf_str(&text), STR("\n")))
        return 0;
    CHECK(str_to_i64(str_trim(buf_str(&text)), &pid, /*err=*/NULL) == 0 && pid > 1, "%s: %s", name,
          buf_cstr(&text));
    return (pid_t)pid;
}

/* One that only waits to be reaped is no more. */
static bool is_alive(pid_t pid)
{
    char path[40];
    char line[200] = "";
    const char *state;
    FILE *from;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    from = fopen(path, "re");
    if (!from)
        return false;
    (void)!fgets(line, sizeof(line), from);
    fclose(from);
    state = strrchr(line, ')');
    return state && state[1] && state[2] != 'Z' && state[2] != 'X';
}

static void check_gone(pid_t pid, const char *name)
{
    int64_t until_ms = clock_mono_ms() + ALONE_PATIENCE_MS;

    while (is_alive(pid) && clock_mono_ms() < until_ms)
        usleep(10000);
    if (is_alive(pid)) {
        kill(pid, SIGKILL);
        CHECK(false, "%s has outlived us", name);
    }
}

static void check_resumes(const struct window *w)
{
    static const char *const args[] = {"--continue", NULL};
    struct window_spec spec = {.build = build, .scenario = busy, .args = args, .home = w->top};
    struct window next;

    window_open(&next, &spec);
    window_until(&next, "be busy");
    until_idle(&next);
    window_type(&next, "again" ENTER);
    window_until(&next, "Back again.");
    leave(&next);
}

/* signo 0: the window is closed. */
static void end_busy(int signo, int code)
{
    static const char *const args[] = {"--permission-mode=bypassPermissions", NULL};
    struct window_spec spec = {.build = build, .scenario = busy, .args = args};
    pid_t pids[ARRAY_LEN(names)];
    struct window w;

    window_open(&w, &spec);
    until_idle(&w);
    window_type(&w, "be busy" ENTER);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        window_until_file(&w, names[i]);
        for (pids[i] = 0; !pids[i]; pids[i] = read_pid(&w, names[i]))
            (void)window_wait(&w, 10);
        CHECK(is_alive(pids[i]), "%s does not run", names[i]);
    }
    if (signo) {
        kill(w.pid, signo);
    } else {
        close(w.fd);
        w.fd = -1;
    }
    CHECK(window_end(&w) == code, "exit code");
    if (signo && signo != SIGKILL)
        check_sane(&w);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        check_gone(pids[i], names[i]);
    check_resumes(&w);
    window_close(&w);
}

static void case_alone_term(void)
{
    end_busy(SIGTERM, 128 + SIGTERM);
}

static void case_alone_hup(void)
{
    end_busy(SIGHUP, 128 + SIGHUP);
}

static void case_alone_segv(void)
{
#if defined(__SANITIZE_ADDRESS__)
    end_busy(SIGSEGV, 128 + SIGABRT);
#elif defined(__SANITIZE_THREAD__)
    end_busy(SIGSEGV, 66);
#else
    end_busy(SIGSEGV, 128 + SIGSEGV);
#endif
}

static void case_alone_kill(void)
{
    end_busy(SIGKILL, 128 + SIGKILL);
}

static void case_alone_closed(void)
{
    end_busy(0, 128 + SIGHUP);
}

const struct person_case person_alone[] = {
    {"alone-term", case_alone_term},     {"alone-hup", case_alone_hup},
    {"alone-segv", case_alone_segv},     {"alone-kill", case_alone_kill},
    {"alone-closed", case_alone_closed}, {0},
};
