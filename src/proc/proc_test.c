#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/pidfd.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "proc/descent.h"
#include "proc/foreground.h"
#include "proc/proc.h"
#include "proc/tree.h"
#include "sync/cancel.h"
#include "sync/signals.h"
#include "sync/thread.h"
#include "unit.h"

#define LONG_MS 60000 /* nothing here takes that long unless it hangs */

/* ---- helpers ---- */

/* A length for sleep that no other run of this test uses; $0 in every script. */
static const char *long_sleep(void)
{
    static char text[32];

    snprintf(text, sizeof(text), "7%d.7", getpid());
    return text;
}

/* A job seen from its mailbox. */
struct watch {
    struct mailbox *mb;
    struct proc *proc;
    struct buf out;
    struct buf err;
    bool over;
    enum proc_how how;
    int code;
    size_t dropped;
    bool ended_rest;
    struct buf dir; /* of tell_dir */
};

static void watch_start(struct watch *w, struct proc_spec spec, const char *script)
{
    const char *argv[] = {"/bin/sh", "-c", script, long_sleep(), NULL};
    struct err err = {0};

    *w = (struct watch){.mb = mailbox_new()};
    buf_init(&w->out, BUF_NO_LIMIT);
    buf_init(&w->err, BUF_NO_LIMIT);
    if (!spec.argv)
        spec.argv = argv;
    w->proc = proc_start(&spec, w->mb, &err);
    if (!w->proc)
        fail_msg("%s: %s", script, err.text);
    assert_true(proc_pid(w->proc) > 1);
}

static void watch_mail(struct watch *w)
{
    struct proc_mail *pm;
    struct mail *m = NULL;
    struct err err = {0};

    if (mailbox_take(w->mb, NULL, clock_mono_ms() + LONG_MS, &m, &err) < 0)
        fail_msg("%s; output so far: %s%s", err.text, buf_cstr(&w->out), buf_cstr(&w->err));
    assert_ptr_equal(m->kind, &proc_mail_kind);
    pm = (struct proc_mail *)m;
    assert_ptr_equal(pm->proc, w->proc);
    assert_false(w->over);
    if (pm->what == PROC_OUTPUT) {
        assert_true(pm->bytes.len > 0);
        buf_add(pm->fd == 2 ? &w->err : &w->out, buf_str(&pm->bytes));
    } else {
        w->over = true;
        w->how = pm->how;
        w->code = pm->code;
        w->dropped = pm->dropped;
        w->ended_rest = pm->ended_rest;
        buf_move(&w->dir, &pm->bytes);
    }
    mail_free(m);
}

/* Waits until standard output holds n lines. */
static void watch_lines(struct watch *w, int n)
{
    for (;;) {
        int seen = 0;

        for (size_t i = 0; i < w->out.len; i++)
            seen += w->out.ptr[i] == '\n';
        if (seen >= n)
            return;
        watch_mail(w);
        assert_false(w->over);
    }
}

static pid_t watch_pid_in_line(struct watch *w, int n)
{
    struct str rest = buf_str(&w->out);
    struct str line = {0};
    int64_t pid = 0;

    watch_lines(w, n + 1);
    rest = buf_str(&w->out);
    for (int i = 0; i <= n; i++)
        assert_true(str_cut(&rest, '\n', &line));
    assert_int_equal(str_to_i64(str_trim(line), &pid, NULL), 0);
    return (pid_t)pid;
}

static void watch_over(struct watch *w)
{
    while (!w->over)
        watch_mail(w);
}

static void watch_release(struct watch *w)
{
    proc_unref(w->proc);
    mailbox_close(w->mb);
    mailbox_unref(w->mb);
    buf_release(&w->out);
    buf_release(&w->err);
    buf_release(&w->dir);
}

static bool is_gone(pid_t pid)
{
    return kill(pid, 0) < 0 && errno == ESRCH;
}

static void wait_gone(pid_t pid)
{
    struct pollfd p = {.fd = pidfd_open(pid, 0), .events = POLLIN};

    if (p.fd < 0)
        return;
    assert_int_equal(poll(&p, 1, LONG_MS), 1);
    close(p.fd);
}

/* How many processes have needle in their arguments. */
static int count_running(const char *needle)
{
    struct process_tree t = {0};
    int n = 0;

    assert_int_equal(tree_read(&t), 0);
    for (size_t i = 0; i < t.len; i++) {
        CLEANUP(buf_release) struct buf args = BUF_INIT(1 << 20);
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/cmdline", t.procs[i].pid);
        CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && t.procs[i].pid != getpid() && buf_add_fd(&args, fd, NULL) == 0 &&
            str_has(buf_str(&args), str_of(needle)))
            n++;
    }
    tree_release(&t);
    return n;
}

/* Children of ours, dead or alive. */
static int count_children(void)
{
    struct process_tree t = {0};
    int n = 0;

    assert_int_equal(tree_read(&t), 0);
    for (size_t i = 0; i < t.len; i++)
        n += t.procs[i].ppid == getpid();
    tree_release(&t);
    return n;
}

static void assert_hello(void)
{
    const char *argv[] = {"sh", "-c", "echo hello", NULL};
    struct proc_spec spec = {.argv = argv};
    struct proc_result r = {0};
    struct err err = {0};

    if (proc_run(&spec, NULL, &r, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(buf_cstr(&r.out), "hello\n");
    proc_result_release(&r);
}

/* The youngest, as long as pids do not start over. */
static pid_t last_child(void)
{
    struct process_tree t = {0};
    pid_t found = 0;

    assert_int_equal(tree_read(&t), 0);
    for (size_t i = 0; i < t.len; i++) {
        if (t.procs[i].ppid == getpid())
            found = t.procs[i].pid;
    }
    tree_release(&t);
    return found;
}

/* Only the zygote and the spare stay. A warden is reaped a moment after PROC_EXIT, and the spare is
 * born when the zygote gets to it, in any order: so what one look says counts, and a second look
 * may find both of them. */
static void wait_settled(void)
{
    int64_t until_ms = clock_mono_ms() + LONG_MS;
    int n = count_children();

    while (n != 2 && clock_mono_ms() < until_ms) {
        sched_yield();
        n = count_children();
    }
    assert_int_equal(n, 2);
}

/* A spare that was just born has the zygote's name, too, and at first its session; it is younger.
 * 0: there is none. */
static pid_t find_like_zygote(bool newborns)
{
    struct process_tree t = {0};
    pid_t found = 0;

    assert_int_equal(tree_read(&t), 0);
    for (size_t i = 0; i < t.len; i++) {
        CLEANUP(buf_release) struct buf name = BUF_INIT(64);
        CLEANUP(fd_closep) int fd = -1;
        char path[64];

        if (t.procs[i].ppid != getpid() || t.procs[i].state == 'Z')
            continue;
        if (!newborns && (found || getsid(t.procs[i].pid) != t.procs[i].pid))
            continue;
        snprintf(path, sizeof(path), "/proc/%d/comm", t.procs[i].pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && buf_add_fd(&name, fd, NULL) == 0 && str_is(buf_str(&name), "tenax-zygote\n"))
            found = t.procs[i].pid;
    }
    tree_release(&t);
    return found;
}

static pid_t find_zygote(void)
{
    return find_like_zygote(/*newborns=*/false);
}

/* A bare chroot has none. */
static bool has_terminals(void)
{
    int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    char name[64];
    bool usable = fd >= 0 && ptsname_r(fd, name, sizeof(name)) == 0 && access(name, R_OK) == 0;

    fd_closep(&fd);
    return usable;
}

/* -1: there is no such process. */
static int count_fds_of(pid_t pid)
{
    char path[64];
    struct dirent *e;
    int n = 0;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    dir = opendir(path);
    if (!dir)
        return -1;
    while ((e = readdir(dir)))
        n += e->d_name[0] != '.';
    closedir(dir);
    return n;
}

static int count_fds(void)
{
    return count_fds_of(getpid());
}

/* Until it has just so many; the process may change. */
static void wait_fds(pid_t (*of)(void), int n)
{
    int64_t until_ms = clock_mono_ms() + LONG_MS;

    while (count_fds_of(of()) != n && clock_mono_ms() < until_ms)
        sched_yield();
    assert_int_equal(count_fds_of(of()), n);
}

/* Every test ends as it began: no process, no descriptor. */
static int fds_before;

static int setup(void **state)
{
    (void)state;
    proc_shutdown();
    fds_before = count_fds();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    proc_shutdown();
    if (count_children() != 0 || count_fds() != fds_before) {
        print_error("%d children, %d descriptors too many\n", count_children(),
                    count_fds() - fds_before);
        return -1;
    }
    return 0;
}

/* ---- how commands end, and what they say ---- */

struct run_case {
    const char *script;
    enum proc_how how;
    int code;
    const char *out;
    const char *err;
    struct proc_spec spec;
};

static const struct run_case run_cases[] = {
    {"exit 0", PROC_EXITED, 0, "", "", {0}},
    {"exit 42", PROC_EXITED, 42, "", "", {0}},
    {"exit 255", PROC_EXITED, 255, "", "", {0}},
    {"kill -9 $$", PROC_SIGNALLED, SIGKILL, "", "", {0}},
    {"kill -TERM $$", PROC_SIGNALLED, SIGTERM, "", "", {0}},
    {"kill -SEGV $$", PROC_SIGNALLED, SIGSEGV, "", "", {0}},
    {"echo one; echo two >&2", PROC_EXITED, 0, "one\n", "two\n", {0}},
    {"echo one; echo two >&2; echo three",
     PROC_EXITED,
     0,
     "one\ntwo\nthree\n",
     "",
     {.merge_stderr = true}},
    {"cat", PROC_EXITED, 0, "", "", {0}}, /* standard input is empty, not ours */
    {"cat", PROC_EXITED, 0, "fed", "", {.input = STR_INIT("fed")}},
    {"printf '%s' 'no newline'", PROC_EXITED, 0, "no newline", "", {0}},
    {"pwd", PROC_EXITED, 0, "/usr\n", "", {.dir = "/usr"}},
    {"exec >&-; exec 2>&-; exit 3", PROC_EXITED, 3, "", "", {0}},
    /* Signals as the program was started with, and only three descriptors (and that of ls). */
    {"grep -E 'Sig(Blk|Ign)' /proc/self/status",
     PROC_EXITED,
     0,
     "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n",
     "",
     {0}},
    {"ls /proc/self/fd", PROC_EXITED, 0, "0\n1\n2\n3\n", "", {0}},
    {"read -r pid name state ppid pgrp sid rest </proc/$$/stat; echo $((pgrp - $$)) $((sid - $$))",
     PROC_EXITED,
     0,
     "0 0\n",
     "",
     {0}},
    {"sleep 1000", PROC_TIMED_OUT, 128 + SIGTERM, "", "", {.timeout_ms = 30}},
    {"kill -STOP $$", PROC_TIMED_OUT, 128 + SIGTERM, "", "", {.timeout_ms = 30}},
    /* Background processes do not keep the job, and do not change how it ended. */
    {"sleep 1000 & exit 3", PROC_EXITED, 3, "", "", {0}},
    {"sleep 1000 & exit 3", PROC_EXITED, 3, "", "", {.linger_ms = 30}},
    {"sleep 1000 & exit 3", PROC_EXITED, 3, "", "", {.linger_ms = -1, .timeout_ms = 200}},
    {"(sleep 0.05; echo later) & exit 0", PROC_EXITED, 0, "later\n", "", {.linger_ms = -1}},
    {"(sleep 0.05; echo later) & exit 0", PROC_EXITED, 0, "later\n", "", {.linger_ms = LONG_MS}},
};

static void test_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(run_cases); i++) {
        const struct run_case *row = &run_cases[i];
        const char *argv[] = {"sh", "-c", row->script, NULL};
        struct proc_spec spec = row->spec;
        struct proc_result r = {0};
        struct err err = {0};

        spec.argv = argv;
        if (proc_run(&spec, /*cancel=*/NULL, &r, &err) < 0)
            fail_msg("row %zu '%s': %s", i, row->script, err.text);
        while (r.how == PROC_TIMED_OUT && row->how == PROC_EXITED && spec.timeout_ms < LONG_MS) {
            proc_result_release(&r); /* a busy machine: its own part took longer than that */
            spec.timeout_ms *= 2;
            assert_int_equal(proc_run(&spec, /*cancel=*/NULL, &r, &err), 0);
        }
        if (r.how != row->how || r.code != row->code || !str_is(buf_str(&r.out), row->out) ||
            !str_is(buf_str(&r.err), row->err))
            fail_msg("row %zu '%s': how %d, code %d, out '%s', err '%s'", i, row->script, r.how,
                     r.code, buf_cstr(&r.out), buf_cstr(&r.err));
        assert_int_equal(r.dropped, 0);
        assert_true(r.wall_ms >= 0 && r.wall_ms < LONG_MS);
        proc_result_release(&r);
    }
}

struct fail_case {
    const char *name;
    const char *program;
    const char *dir;
    enum err_code code;
    int sys;
};

static const struct fail_case fail_cases[] = {
    {"not in PATH", "no-such-program-anywhere", NULL, ERR_NOT_FOUND, ENOENT},
    {"no such file", "/no/such/program", NULL, ERR_NOT_FOUND, ENOENT},
    {"below a file", "/etc/passwd/program", NULL, ERR_NOT_FOUND, ENOENT},
    {"not executable", "/etc/passwd", NULL, ERR_DENIED, EACCES},
    {"a directory", "/usr", NULL, ERR_DENIED, EACCES},
    {"bad directory", "/bin/true", "/no/such/dir", ERR_IO, ENOENT},
    {"directory is a file", "/bin/true", "/etc/passwd", ERR_IO, ENOTDIR},
    {"empty name", "", NULL, ERR_BAD_INPUT, 0},
    {"no name", NULL, NULL, ERR_BAD_INPUT, 0},
};

static void test_start_failures(void **state)
{
    struct mailbox *mb = mailbox_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fail_cases); i++) {
        const struct fail_case *row = &fail_cases[i];
        const char *argv[] = {row->program, NULL};
        struct proc_spec spec = {.argv = argv, .dir = row->dir};
        struct err err = {0};

        if (proc_start(&spec, mb, &err) || err.code != row->code || err.sys != row->sys)
            fail_msg("%s: %s %d %s", row->name, err_code_name(err.code), err.sys, err.text);
        if (row->dir)
            assert_non_null(strstr(err.text, row->dir));
    }
    proc_shutdown();
    assert_null(mailbox_try(mb)); /* no mail about what never ran */
    mailbox_unref(mb);
}

/* The start is asynchronous, so the mail reports its failure; the caller's strings may be gone by
 * then. */
static void test_start_at_once(void **state)
{
    struct watch w;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fail_cases); i++) {
        const struct fail_case *row = &fail_cases[i];
        char program[64] = "";
        char dir[64] = "";
        const char *argv[] = {program, NULL};
        struct proc_spec spec = {.argv = argv, .dir = row->dir ? dir : NULL, .at_once = true};

        if (row->code == ERR_BAD_INPUT)
            continue; /* told at once, as ever */
        snprintf(program, sizeof(program), "%s", row->program);
        snprintf(dir, sizeof(dir), "%s", row->dir ? row->dir : "");
        w = (struct watch){.mb = mailbox_new()};
        w.proc = proc_start(&spec, w.mb, NULL);
        assert_non_null(w.proc);
        memset(program, 'x', sizeof(program) - 1);
        memset(dir, 'x', sizeof(dir) - 1);
        watch_over(&w);
        if (w.how != PROC_NOT_STARTED || w.code != (int)row->code)
            fail_msg("%s: %d %d %s", row->name, w.how, w.code, buf_cstr(&w.dir));
        assert_non_null(strstr(buf_cstr(&w.dir), row->dir ? row->dir : row->program));
        watch_release(&w);
    }
    for (int i = 0; i < 20; i++) {
        /* One process: a child that the shell is just making may miss the signal, and would be
         * waited for until the end of the grace. */
        const char *argv[] = {"sh", "-c", "echo here; exec sleep 1000", NULL};
        struct proc_spec spec = {.argv = argv, .at_once = true, .grace_ms = LONG_MS};

        w = (struct watch){.mb = mailbox_new(), .out = BUF_INIT(BUF_NO_LIMIT)};
        w.proc = proc_start(&spec, w.mb, NULL);
        assert_non_null(w.proc);
        if (i % 2)
            watch_lines(&w, 1);
        proc_end(w.proc); /* at any moment of its start */
        watch_over(&w);
        assert_int_equal(w.how, PROC_KILLED);
        watch_release(&w);
    }
}

static void test_environment(void **state)
{
    char dir[] = "/tmp/tenax-proc-XXXXXX";
    CLEANUP(mem_freep) char *program = NULL;
    const char *argv[] = {"greet", "you", NULL};
    const char *envp[] = {"WHO=me", NULL, NULL};
    struct proc_spec spec = {.argv = argv, .envp = envp};
    struct proc_result r = {0};
    struct err err = {0};
    struct strv vars = STRV_INIT;

    (void)state;
    assert_non_null(mkdtemp(dir));
    program = path_join(dir, "greet");
    assert_int_equal(
        file_replace(program, STR("#!/bin/sh\necho $WHO $1 ${HOME-none}\n"), 0644, &err), 0);
    strv_addf(&vars, "PATH=/nowhere:%s:/bin", dir);
    envp[1] = strv_get(&vars)[0];

    assert_int_equal(proc_run(&spec, NULL, &r, &err), -1); /* found, but may not be run */
    assert_int_equal(err.code, ERR_DENIED);
    assert_int_equal(chmod(program, 0755), 0);
    assert_int_equal(proc_run(&spec, NULL, &r, &err), 0);
    assert_string_equal(buf_cstr(&r.out), "me you none\n");
    proc_result_release(&r);
    strv_release(&vars);
    unlink(program);
    rmdir(dir);
}

/* ---- bytes ---- */

static void test_big_input(void **state)
{
    static const size_t size = 5 * 1024 * 1024;
    CLEANUP(mem_freep) char *bytes = mem_alloc(size);
    const char *argv[] = {"cat", NULL};
    struct proc_spec spec = {.argv = argv, .input = str_make(bytes, size)};
    struct proc_result r = {0};

    (void)state;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(i * 7 + i / 4096);
    assert_int_equal(proc_run(&spec, NULL, &r, NULL), 0);
    assert_int_equal(r.code, 0);
    assert_true(str_eq(buf_str(&r.out), spec.input));
    proc_result_release(&r);

    argv[0] = "true"; /* does not read at all: its right */
    assert_int_equal(proc_run(&spec, NULL, &r, NULL), 0);
    assert_int_equal(r.how, PROC_EXITED);
    assert_int_equal(r.code, 0);
    proc_result_release(&r);
}

static void test_output_cap(void **state)
{
    static const struct {
        size_t max;
        size_t kept;
    } rows[] = {
        {1, 1},
        {1000000, 1000000},
        {20000000, 20000000},
        {0, 20000000},
    };
    const char *argv[] = {"head", "-c", "20000000", "/dev/zero", NULL};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct proc_spec spec = {.argv = argv, .max_output = rows[i].max};
        struct proc_result r = {0};

        assert_int_equal(proc_run(&spec, NULL, &r, NULL), 0);
        assert_int_equal(r.code, 0);
        if (r.out.len != rows[i].kept || r.dropped != 20000000 - rows[i].kept)
            fail_msg("max %zu: %zu bytes, %zu dropped", rows[i].max, r.out.len, r.dropped);
        proc_result_release(&r);
    }
}

static void test_conversation(void **state)
{
    struct watch w;
    struct err err = {0};
    CLEANUP(mem_freep) char *much = mem_zalloc(16 << 20);

    (void)state;
    watch_start(&w, (struct proc_spec){.keep_stdin = true},
                "while read -r x; do echo got $x; done; echo end");
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(proc_write(w.proc, STR("line\n"), &err), 0);
        watch_lines(&w, i);
    }
    proc_close_input(w.proc);
    proc_close_input(w.proc);
    assert_int_equal(proc_write(w.proc, STR("too late\n"), &err), 0); /* as to a closed pipe */
    watch_over(&w);
    assert_string_equal(buf_cstr(&w.out), "got line\ngot line\ngot line\nend\n");
    assert_int_equal(w.code, 0);
    assert_int_equal(proc_write(w.proc, STR("much too late\n"), &err), 0);
    watch_release(&w);

    watch_start(&w, (struct proc_spec){.keep_stdin = true}, "exec sleep 1000");
    assert_int_equal(proc_write(w.proc, str_make(much, 16 << 20), &err), 0);
    for (int i = 0; proc_write(w.proc, str_make(much, 1 << 20), &err) == 0; i++)
        assert_true(i < 1); /* what fits into the pipe itself is not waiting */
    assert_int_equal(err.code, ERR_TOO_BIG);
    assert_in_range(proc_waiting(w.proc), 15 << 20, 16 << 20);
    proc_end(w.proc);
    watch_over(&w);
    assert_int_equal(w.how, PROC_KILLED);
    assert_int_equal(proc_waiting(w.proc), 0); /* it will not be taken */
    watch_release(&w);
}

/* A process outside holds the job's standard output open. */
static void test_foreign_pipe_holder(void **state)
{
    struct watch w;
    char path[64];
    int fd;

    (void)state;
    watch_start(&w, (struct proc_spec){.keep_stdin = true}, "echo ready; read x; exit 4");
    watch_lines(&w, 1);
    snprintf(path, sizeof(path), "/proc/%d/fd/1", proc_pid(w.proc));
    fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "from outside\n", 13), 13);
    proc_close_input(w.proc);
    watch_over(&w);
    assert_int_equal(w.how, PROC_EXITED);
    assert_int_equal(w.code, 4);
    assert_string_equal(buf_cstr(&w.out), "ready\nfrom outside\n");
    close(fd);
    watch_release(&w);
}

/* ---- terminals ---- */

static const struct run_case pty_cases[] = {
    {"tty -s && test -t 1 && test -t 2 && stty size", PROC_EXITED, 0, "24 80\r\n", "", {0}},
    {"stty size", PROC_EXITED, 0, "50 132\r\n", "", {.rows = 50, .cols = 132}},
    {"echo to the terminal >/dev/tty", PROC_EXITED, 0, "to the terminal\r\n", "", {0}},
    {"echo error >&2", PROC_EXITED, 0, "error\r\n", "", {0}},
    {"stty -echo; cat", PROC_EXITED, 0, "", "", {0}},
    {"cat >/dev/null; echo end",
     PROC_EXITED,
     0,
     "a\r\nb\r\nend\r\n",
     "",
     {.input = STR_INIT("a\nb\n")}},
    {"cat | wc -c", PROC_EXITED, 0, "abc3\r\n", "", {.input = STR_INIT("abc")}},
    {"exit 9", PROC_EXITED, 9, "", "", {0}},
    {"sleep 1000 & exit 9", PROC_EXITED, 9, "", "", {0}},
    {"head -c 300000 /dev/zero | tr '\\0' x | wc -c; head -c 300000 /dev/zero | tr '\\0' x | fold "
     "-w 60 | tail -n 1; echo",
     PROC_EXITED,
     0,
     "300000\r\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n",
     "",
     {0}},
};

static void need_terminals(void)
{
    if (!has_terminals()) {
        print_message("no pseudo terminals here\n");
        skip();
    }
}

static void test_pty(void **state)
{
    (void)state;
    need_terminals();
    for (size_t i = 0; i < ARRAY_LEN(pty_cases); i++) {
        const struct run_case *row = &pty_cases[i];
        const char *argv[] = {"sh", "-c", row->script, NULL};
        struct proc_spec spec = row->spec;
        struct proc_result r = {0};
        struct err err = {0};

        spec.argv = argv;
        spec.pty = true;
        if (proc_run(&spec, NULL, &r, &err) < 0)
            fail_msg("'%s': %s", row->script, err.text);
        if (r.how != row->how || r.code != row->code || !str_is(buf_str(&r.out), row->out))
            fail_msg("'%s': how %d, code %d, out '%s'", row->script, r.how, r.code,
                     buf_cstr(&r.out));
        proc_result_release(&r);
    }
}

static void test_pty_resize(void **state)
{
    struct watch w;

    (void)state;
    need_terminals();
    watch_start(&w, (struct proc_spec){.pty = true, .keep_stdin = true},
                "stty -echo; trap 'stty size; exit 0' WINCH; echo ready; "
                "while :; do sleep 0.02; done");
    watch_lines(&w, 1);
    proc_resize(w.proc, 33, 99);
    watch_over(&w);
    assert_non_null(strstr(buf_cstr(&w.out), "33 99"));
    watch_release(&w);
}

/* ---- no process escapes ---- */

/* The script says a line, then proc_end() is called. */
static const struct run_case end_cases[] = {
    {"echo; sleep 1000; :", PROC_KILLED, 128 + SIGTERM, "\n", "", {0}},
    {"trap 'echo bye; exit 5' TERM; echo; while :; do sleep 0.01; done",
     PROC_KILLED,
     5,
     "\nbye\n",
     "",
     {.grace_ms = LONG_MS}},
    {"trap '' TERM; echo; while :; do sleep 1000; done",
     PROC_KILLED,
     128 + SIGKILL,
     "\n",
     "",
     {.grace_ms = 30}},
    {"trap '' TERM; echo; sleep 1000; :",
     PROC_KILLED,
     128 + SIGKILL,
     "\n",
     "",
     {.grace_ms = -1}}, /* no grace */
    {"trap '' HUP TERM; echo; sleep 1000; :",
     PROC_KILLED,
     128 + SIGKILL,
     "\r\n",
     "",
     {.pty = true, .grace_ms = 30}},
    {"sh -c 'trap \"\" TERM; echo; sleep 1000; :' & read x; exit 3",
     PROC_KILLED,
     128 + SIGTERM,
     "\n",
     "",
     {.keep_stdin = true, .grace_ms = 30}},
};

static void test_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(end_cases); i++) {
        const struct run_case *row = &end_cases[i];
        struct watch w;

        if (row->spec.pty && !has_terminals())
            continue;
        watch_start(&w, row->spec, row->script);
        watch_lines(&w, 1);
        proc_end(w.proc);
        proc_end(w.proc); /* impatience changes nothing */
        watch_over(&w);
        if (w.how != row->how || w.code != row->code || !str_is(buf_str(&w.out), row->out))
            fail_msg("'%s': how %d, code %d, out '%s'", row->script, w.how, w.code,
                     buf_cstr(&w.out));
        watch_release(&w);
    }
}

/* The script prints the pid of a process that tries to stay; the leader then exits or waits. */
static const struct {
    const char *name;
    const char *script;
    bool over_by_itself; /* after a line of input; else proc_end() */
} escape_cases[] = {
    {"background child", "sleep 1000 & echo $!; wait"},
    {"ignores every polite signal",
     "sh -c 'trap \"\" TERM HUP INT QUIT; echo $$; while :; do sleep 1000; done' & wait"},
    {"own session", "setsid sh -c 'trap \"\" TERM; echo $$; sleep 1000; :' & wait"},
    {"daemon",
     "(setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000 </dev/null >/dev/null 2>&1' &)"},
    {"daemon without environment",
     "(setsid env -i /bin/sh -c 'trap \"\" TERM; echo $$; exec sleep 1000 >/dev/null 2>&1' &); "
     "sleep 1000"},
    {"double daemon",
     "(setsid sh -c '(setsid sh -c \"echo \\$\\$; exec sleep 1000 >/dev/null 2>&1\" &) ' &); "
     "sleep 1000"},
    {"stopped", "setsid sh -c 'echo $$; kill -STOP $$; sleep 1000' & wait"},
    {"warden killed", "setsid sleep 1000 & echo $!; read x; kill -9 $PPID; sleep 1000", true},
    {"warden killed, daemon",
     "(setsid env -i sh -c 'trap \"\" TERM; echo $$; exec sleep 1000 >/dev/null 2>&1' &); "
     "read x; kill -9 $PPID; sleep 1000",
     true},
    {"warden stopped, leader gone", "sleep 1000 & echo $!; kill -STOP $PPID; exit 0"},
    {"warden stopped, nobody left", "echo $$; read x; kill -STOP $PPID; exit 0", true},
    {"warden stopped", "echo $$; kill -STOP $PPID; sleep 1000"},
};

static void test_nobody_escapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(escape_cases); i++) {
        struct watch w;
        pid_t pid;

        print_message("  %s\n", escape_cases[i].name);
        watch_start(&w, (struct proc_spec){.keep_stdin = true, .grace_ms = 30, .linger_ms = -1},
                    escape_cases[i].script);
        pid = watch_pid_in_line(&w, 0);
        if (escape_cases[i].over_by_itself)
            proc_write(w.proc, STR("go on\n"), NULL);
        else
            proc_end(w.proc);
        watch_over(&w);
        if (!is_gone(pid))
            fail_msg("%s: %d is still there", escape_cases[i].name, pid);
        assert_int_equal(kill(-pid, 0), -1);
        watch_release(&w);
    }
}

/* 200 processes that ignore SIGTERM, each with a child, half of them in new sessions. */
static void test_crowd(void **state)
{
    struct watch w;

    (void)state;
    watch_start(&w, (struct proc_spec){.grace_ms = 30},
                "trap '' TERM; i=0; while [ $i -lt 100 ]; do i=$((i+1)); "
                "sh -c 'sleep $0; :' $0 & setsid sh -c 'sleep $0; :' $0 & done; "
                "echo ready; wait");
    watch_lines(&w, 1);
    proc_end(w.proc);
    watch_over(&w);
    assert_int_equal(w.how, PROC_KILLED);
    assert_int_equal(count_running(long_sleep()), 0);
    watch_release(&w);
}

/* Eight chains of processes, each of which starts the next in a new session and exits: no pid is
 * the same for long, and no two looks at /proc agree. */
static void test_fork_storm(void **state)
{
    static const char storm[] = "#!/bin/sh\ntrap '' TERM\necho\nsetsid \"$0\" &\n";
    char path[] = "/tmp/tenax-storm-XXXXXX";
    CLEANUP(buf_release) struct buf script = BUF_INIT(4096);
    int fd = mkstemp(path);
    struct watch w;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, STR(storm), NULL), 0);
    fchmod(fd, 0755);
    close(fd);
    buf_addf(&script, "for i in 1 2 3 4 5 6 7 8; do %s & done; exec sleep 1000", path);
    watch_start(&w, (struct proc_spec){.grace_ms = 1}, buf_cstr(&script));
    watch_lines(&w, 100);
    proc_end(w.proc);
    watch_over(&w);
    assert_int_equal(w.how, PROC_KILLED);
    assert_int_equal(count_running(path), 0);
    watch_release(&w);
    unlink(path);
}

/* Two jobs leave similar daemons; ending one must find its own and leave the other's alone. */
static void test_daemons_of_two_jobs(void **state)
{
    static const char script[] =
        "(setsid env -i sh -c 'trap \"\" TERM; echo $$; exec sleep 1000 >/dev/null' &); read x";
    struct proc_spec spec = {.keep_stdin = true, .grace_ms = 30};
    struct proc_spec patient = {.keep_stdin = true, .grace_ms = 30, .linger_ms = -1};
    struct watch a;
    struct watch b;
    pid_t daemon_a;
    pid_t daemon_b;

    (void)state;
    watch_start(&a, spec, script);
    watch_start(&b, patient, script);
    daemon_a = watch_pid_in_line(&a, 0);
    daemon_b = watch_pid_in_line(&b, 0);
    proc_close_input(a.proc); /* both leaders exit; only a's daemon may not stay */
    proc_close_input(b.proc);
    watch_over(&a);
    assert_int_equal(a.how, PROC_EXITED);
    assert_true(is_gone(daemon_a));
    assert_int_equal(kill(daemon_b, 0), 0);
    assert_null(mailbox_try(b.mb));
    proc_end(b.proc);
    watch_over(&b);
    assert_int_equal(b.how, PROC_EXITED);
    assert_true(is_gone(daemon_b));
    watch_release(&a);
    watch_release(&b);
}

/* ---- being told to stop ---- */

static void test_signal(void **state)
{
    struct watch w;

    (void)state;
    watch_start(&w, (struct proc_spec){0},
                "trap 'echo usr1; exit 7' USR1; echo ready; while :; do sleep 0.01; done");
    watch_lines(&w, 1);
    proc_signal(w.proc, SIGUSR1);
    watch_over(&w);
    assert_int_equal(w.how, PROC_EXITED);
    assert_int_equal(w.code, 7);
    assert_string_equal(buf_cstr(&w.out), "ready\nusr1\n");
    watch_release(&w);

    /* The leader is gone, its group is not. */
    watch_start(
        &w, (struct proc_spec){.linger_ms = -1},
        "sh -c 'trap \"echo usr1; exit\" USR1; echo ready; while :; do sleep 0.01; done' &");
    watch_lines(&w, 1);
    wait_gone(proc_pid(w.proc));
    proc_signal(w.proc, SIGUSR1);
    watch_over(&w);
    assert_int_equal(w.how, PROC_EXITED);
    watch_release(&w);
}

static void test_unref_ends(void **state)
{
    struct watch w;
    pid_t pid;

    (void)state;
    watch_start(&w, (struct proc_spec){.grace_ms = 30}, "trap '' TERM; echo $$; sleep 1000; :");
    watch_lines(&w, 1);
    pid = proc_pid(w.proc);
    proc_unref(w.proc);
    w.proc = NULL;
    wait_gone(pid);
    watch_release(&w);
}

static void set_token(void *arg)
{
    cancel_set(arg);
}

static void test_cancel(void **state)
{
    const char *argv[] = {"sh", "-c", "trap '' TERM; sleep $0; :", long_sleep(), NULL};
    struct proc_spec spec = {.argv = argv, .grace_ms = 30};
    struct proc_result untouched = {.code = 77};

    (void)state;
    for (int i = 0; i < 20; i++) {
        CLEANUP(cancel_unrefp) struct cancel *cancel = cancel_new(NULL);
        struct thread *t = thread_start("cancel", set_token, cancel, NULL);
        struct err err = {0};

        assert_int_equal(proc_run(&spec, cancel, &untouched, &err), -1);
        assert_int_equal(err.code, ERR_CANCELLED);
        assert_int_equal(untouched.code, 77);
        thread_join(t);
    }
    proc_shutdown();
    assert_int_equal(count_running(long_sleep()), 0);
}

static void test_shutdown(void **state)
{
    struct watch jobs[5];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        watch_start(&jobs[i], (struct proc_spec){.grace_ms = LONG_MS},
                    "trap '' TERM; setsid sh -c 'sleep $0; :' $0 & echo ready; sleep $0");
        watch_lines(&jobs[i], 1);
    }
    proc_shutdown();
    assert_int_equal(count_running(long_sleep()), 0);
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        watch_over(&jobs[i]);
        assert_int_equal(jobs[i].how, PROC_KILLED);
        watch_release(&jobs[i]);
    }
    proc_shutdown(); /* once more does nothing */
}

/* ---- other mail ---- */

struct told_case {
    const char *script;
    const char *dir;
    bool ended_rest;
};

static const struct told_case told_cases[] = {
    {"true", "/", false},
    {"cd /usr; exit 3", "/usr", false},
    {"cd /usr/lib; exec true", "/usr/lib", false},
    {"cd /usr; kill -9 $$", "/usr", false},
    {"(cd /usr)", "/", false},
    {"sh -c 'cd /usr'", "/", false},
    {"trap 'cd /' EXIT; cd /usr; exit", "/", false},
    {"d=$(mktemp -d); cd $d; rmdir $d", "", false},
    {"cd /usr; sleep $0 & exit 0", "/usr", true},
    {"cd /usr; setsid sleep $0 & exit 0", "/usr", true},
    {"cd /usr; sleep 0.05 & exit 0", "/usr", false},
};

static void test_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(told_cases); i++) {
        const struct told_case *c = &told_cases[i];
        struct proc_spec spec = {.dir = "/", .tell_dir = true};
        struct watch w;

        spec.linger_ms = c->ended_rest ? 10 : LONG_MS;
        watch_start(&w, spec, c->script);
        watch_over(&w);
        if (strcmp(buf_cstr(&w.dir), c->dir) != 0 || w.ended_rest != c->ended_rest)
            fail_msg("'%s': in '%s', rest %d", c->script, buf_cstr(&w.dir), w.ended_rest);
        watch_release(&w);
    }
}

/* Mail is not read: the job waits, others do not, and nothing is lost. */
static void test_slow_receiver(void **state)
{
    const size_t limit = (1 << 20) + (1 << 17); /* one portion of each pipe may be over */
    const size_t total = 16000000;
    struct watch w;

    (void)state;
    watch_start(&w, (struct proc_spec){.linger_ms = LONG_MS},
                "head -c 8000000 /dev/zero >&2 & head -c 8000000 /dev/zero; wait");
    while (mailbox_bytes(w.mb) <= 1 << 20)
        sched_yield();
    for (int i = 0; i < 5; i++) {
        const char *argv[] = {"echo", "hello", NULL};
        struct proc_spec spec = {.argv = argv};
        struct proc_result r = {0};

        assert_int_equal(proc_run(&spec, NULL, &r, NULL), 0);
        assert_string_equal(buf_cstr(&r.out), "hello\n");
        proc_result_release(&r);
        assert_true(mailbox_bytes(w.mb) <= limit);
    }
    while (!w.over) {
        watch_mail(&w);
        /* At the end the pipes are emptied: 1 MB each at most. */
        assert_true(mailbox_bytes(w.mb) <= limit + (2 << 20));
    }
    assert_int_equal(w.out.len + w.err.len, total);
    assert_int_equal(w.how, PROC_EXITED);
    watch_release(&w);

    /* One that waits so can be ended. */
    watch_start(&w, (struct proc_spec){.grace_ms = 50}, "trap '' TERM; cat /dev/zero; :");
    while (mailbox_bytes(w.mb) <= 1 << 20)
        sched_yield();
    proc_end(w.proc);
    watch_over(&w);
    assert_int_equal(w.how, PROC_KILLED);
    watch_release(&w);
}

/* ---- many ---- */

static void test_many_leave_nothing(void **state)
{
    const char *argv[] = {"sh", "-c", "echo out; echo err >&2; (true &)", NULL};
    int64_t until_ms = clock_mono_ms() + LONG_MS;
    int fds = 0;

    (void)state;
    for (int i = 0; i < 200; i++) {
        struct proc_spec spec = {
            .argv = argv, .pty = i % 10 == 9 && has_terminals(), .input = STR_INIT("x")};
        struct proc_result r = {0};

        assert_int_equal(proc_run(&spec, NULL, &r, NULL), 0);
        assert_int_equal(r.code, 0);
        proc_result_release(&r);
        if (i == 0)
            fds = count_fds(); /* the first warden's socket may still be among them */
    }
    while (count_fds() > fds && clock_mono_ms() < until_ms)
        sched_yield();
    assert_true(count_fds() <= fds);
    wait_settled();
}

static void run_some(void *arg)
{
    (void)arg;
    for (int i = 0; i < 10; i++) {
        const char *argv[] = {"echo", "hello", NULL};
        struct proc_spec spec = {.argv = argv};
        struct proc_result r = {0};

        assert_int_equal(proc_run(&spec, NULL, &r, NULL), 0);
        assert_string_equal(buf_cstr(&r.out), "hello\n");
        proc_result_release(&r);
    }
}

static void test_many_threads(void **state)
{
    struct thread *threads[8];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        threads[i] = thread_start("run", run_some, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        thread_join(threads[i]);
}

/* ---- the zygote ---- */

/* Its socket, and nothing that would keep a pipe or a terminal of ours open: neither the zygote,
 * once the spare is made, nor the spare, which has its signals, too. */
static void test_zygote_holds_nothing(void **state)
{
    int64_t until_ms = clock_mono_ms() + LONG_MS;
    struct watch w;

    (void)state;
    watch_start(&w, (struct proc_spec){.keep_stdin = true}, "echo ready; read x");
    watch_lines(&w, 1);
    while (count_children() < 3 && clock_mono_ms() < until_ms)
        sched_yield();
    wait_fds(find_zygote, 1);
    wait_fds(last_child, 2);
    proc_close_input(w.proc);
    watch_over(&w);
    watch_release(&w);
}

/* A job has our user and may do that. */
static void test_zygote_killed(void **state)
{
    static const int signals[] = {SIGKILL, SIGSTOP, SIGTERM, SIGSEGV, SIGTSTP};
    struct watch w;

    (void)state;
    watch_start(&w, (struct proc_spec){.keep_stdin = true}, "echo ready; read x; exit 4");
    watch_lines(&w, 1);
    for (size_t i = 0; i < 10 * ARRAY_LEN(signals); i++) {
        pid_t zygote = find_zygote();

        assert_true(zygote > 1);
        assert_int_equal(kill(zygote, signals[i % ARRAY_LEN(signals)]), 0);
        assert_hello();
        assert_hello();
    }
    proc_close_input(w.proc); /* who started before does not care */
    watch_over(&w);
    assert_int_equal(w.code, 4);
    watch_release(&w);
    assert_hello(); /* replaces the last one that was killed */
    wait_settled();
}

/* A zygote that answers too late is replaced, and its pending order is never carried out: a spare
 * made when nothing waits for it would stay unreaped. */
static void test_zygote_late(void **state)
{
    pid_t zygote;

    (void)state;
    assert_hello();
    wait_settled();
    zygote = find_zygote();
    assert_true(zygote > 1);
    if (ptrace(PTRACE_SEIZE, zygote, NULL, NULL) < 0) {
        print_message("  skipped: nobody may be traced here\n");
        return;
    }
    assert_int_equal(ptrace(PTRACE_INTERRUPT, zygote, NULL, NULL), 0); /* SIGCONT does not help */
    assert_hello(); /* takes the spare that is there */
    assert_hello();
    (void)ptrace(PTRACE_DETACH, zygote, NULL, NULL);
    assert_hello();
    wait_settled();
}

static atomic_bool hunting;

static void hunt_zygotes(void *arg)
{
    (void)arg;
    while (atomic_load(&hunting)) {
        pid_t zygote = find_like_zygote(/*newborns=*/true);

        if (zygote)
            kill(zygote, SIGKILL);
    }
}

/* Killed at any moment: no program runs twice, and every reported run took place. Killing
 * everything that looks like a zygote also hits new wardens, so some runs may fail. */
static void test_zygote_hunted(void **state)
{
    char path[] = "/tmp/tenax-hunt-XXXXXX";
    CLEANUP(buf_release) struct buf ran = BUF_INIT(4096);
    CLEANUP(fd_closep) int fd = mkstemp(path);
    char letter[2] = "";
    const char *argv[] = {"sh", "-c", "printf %s $1 >>$0", path, letter, NULL};
    struct proc_spec spec = {.argv = argv};
    struct thread *hunter;
    int failed = 0;

    (void)state;
    atomic_store(&hunting, true);
    hunter = thread_start("hunter", hunt_zygotes, NULL, NULL);
    for (int i = 0; i < 60; i++) {
        struct proc_result r = {0};
        struct err err = {0};
        size_t before = ran.len;
        int rc;

        letter[0] = (char)('a' + i % 26);
        rc = proc_run(&spec, NULL, &r, &err);
        assert_int_equal(buf_add_fd(&ran, fd, NULL), 0);
        for (size_t at = before; rc == 0 && r.how == PROC_EXITED && at < ran.len; at++)
            assert_int_equal(ran.ptr[at], letter[0]);
        if (rc == 0 && r.how == PROC_EXITED)
            assert_int_equal(ran.len - before, 1);
        else
            assert_true(ran.len - before <= 1);
        if (rc < 0)
            assert_int_equal(err.code, ERR_IO);
        failed += rc < 0 || r.how != PROC_EXITED;
        proc_result_release(&r);
    }
    atomic_store(&hunting, false);
    thread_join(hunter);
    print_message("  %d of 60 lost their warden\n", failed);
    assert_true(failed < 60);
    unlink(path);
}

/* ---- one job after another ---- */

static void run_script(struct proc_spec spec, const char *script, struct buf *ret_said)
{
    struct watch w;

    watch_start(&w, spec, script);
    watch_over(&w);
    if (ret_said) {
        buf_clear(ret_said);
        buf_add(ret_said, buf_str(&w.out));
    }
    watch_release(&w);
}

/* The next job does not notice where a job went and how it makes files. */
static void test_jobs_share_nothing(void **state)
{
    static const char look[] = "pwd -P; umask; ulimit -n; ls /proc/self/fd | wc -l; trap";
    struct proc_spec plain = {.grace_ms = 30};
    struct proc_spec moves = {.grace_ms = 30, .tell_dir = true};
    CLEANUP(buf_release) struct buf before = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf after = BUF_INIT(4096);

    (void)state;
    run_script(plain, look, &before);
    run_script(moves, "cd /; umask 0777; ulimit -n 17", NULL);
    run_script(plain, look, &after);
    assert_string_equal(buf_cstr(&after), buf_cstr(&before));
    run_script(moves, look, &after);
    assert_string_equal(buf_cstr(&after), buf_cstr(&before));
}

/* Which job a process belongs to depends on the job it comes from. */
static void test_descent(void **state)
{
    static const char script[] = "sh -c 'echo $$; read x'; true";
    struct watch agents;
    struct watch persons;
    struct proc_spec spec = {.keep_stdin = true, .grace_ms = 30};

    (void)state;
    for (int i = 0; i < 3; i++) {
        spec.by_user = true;
        watch_start(&persons, spec, script);
        spec.by_user = false;
        watch_start(&agents, spec, script);
        assert_true(descent_is_agents(watch_pid_in_line(&agents, 0)));
        assert_false(descent_is_agents(watch_pid_in_line(&persons, 0)));
        proc_close_input(agents.proc);
        proc_close_input(persons.proc);
        watch_over(&agents);
        watch_over(&persons);
        watch_release(&agents);
        watch_release(&persons);
    }
    assert_false(descent_is_agents(getppid()));
    assert_true(descent_is_agents(getpid()));
}

/* The end of a job and a request to end it meet in any order; a request for the one never reaches
 * the next. */
static void test_warden_ended_late(void **state)
{
    const char *argv[] = {"true", NULL};
    struct proc_spec spec = {.argv = argv, .grace_ms = 30};

    (void)state;
    for (int i = 0; i < 300; i++) {
        struct watch w;

        watch_start(&w, spec, NULL);
        for (int k = 0; k < i; k++)
            sched_yield();
        proc_signal(w.proc, SIGCONT);
        proc_end(w.proc);
        watch_over(&w);
        watch_release(&w);
        run_script((struct proc_spec){.grace_ms = 30}, "true", NULL);
    }
}

static atomic_bool sleeper_is_done;

static void run_sleeper(void *arg)
{
    const char *argv[] = {"sleep", "1000", NULL};
    struct proc_spec spec = {.argv = argv, .grace_ms = 30};
    struct proc_result r = {0};
    struct err err = {0};

    (void)arg;
    (void)proc_run(&spec, NULL, &r, &err); /* refused or ended, both are fine */
    proc_result_release(&r);
    atomic_store(&sleeper_is_done, true);
}

/* A loop that is about to end ends running jobs, and refuses the rest. */
static void test_started_at_the_end(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        struct thread *sleeper;

        run_script((struct proc_spec){.grace_ms = 30}, "true", NULL); /* a loop runs from now on */
        atomic_store(&sleeper_is_done, false);
        sleeper = thread_start("sleeper", run_sleeper, NULL, NULL);
        for (int k = 0; k < i; k++)
            sched_yield();
        do
            proc_shutdown();
        while (!atomic_load(&sleeper_is_done));
        thread_join(sleeper);
        proc_shutdown(); /* of a loop that the sleeper itself has begun */
        assert_int_equal(count_children(), 0);
    }
}

/* A launch of any size that the kernel takes arrives whole. */
static void test_big_launch(void **state)
{
    const size_t arg_len = 100 * 1024;
    const size_t vars_len = 1024 * 1024;
    CLEANUP(mem_freep) char *arg = mem_zalloc(arg_len + 1);
    CLEANUP(strv_release) struct strv vars = STRV_INIT;
    const char *argv[] = {"sh", "-c", "printf '%s %s ' ${#1} \"$2\"; env | wc -c", "sh", arg,
                          "",   NULL};
    struct proc_spec spec = {.argv = argv};
    struct proc_result r = {0};
    struct err err = {0};
    int64_t bytes = 0;

    (void)state;
    memset(arg, 'a', arg_len);
    strv_adds(&vars, "PATH=/usr/bin:/bin");
    for (size_t i = 0; i < vars_len / 1024; i++)
        strv_addf(&vars, "V%zu=%.*s", i, 1024, arg);
    spec.envp = (const char *const *)strv_get(&vars);
    if (proc_run(&spec, NULL, &r, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(str_starts(buf_str(&r.out), STR("102400  ")));
    assert_int_equal(str_to_i64(str_trim(str_from(buf_str(&r.out), 8)), &bytes, NULL), 0);
    assert_true(bytes > (int64_t)vars_len);
    proc_result_release(&r);

    for (size_t i = 0; i < 8 * vars_len / 1024; i++)
        strv_addf(&vars, "W%zu=%.*s", i, 1024, arg);
    spec.envp = (const char *const *)strv_get(&vars);
    assert_int_equal(proc_run(&spec, NULL, &r, &err), -1);
    assert_int_equal(err.code, ERR_TOO_BIG);
}

/* ---- kill -9 of ourselves ---- */

/* Runs a program that leaves a process, and prints its pid. */
static pid_t run_for_guest(const struct foreground *f, int fd)
{
    char text[32] = {0};
    struct err err = {0};
    int64_t pid;
    int code = -1;

    assert_int_equal(foreground_run(f, &code, &err), 0);
    assert_int_equal(code, 0);
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    assert_int_equal(str_to_i64(str_trim(str_of(text)), &pid, NULL), 0);
    return (pid_t)pid;
}

/* A process left by an editor belongs to no job: it outlives a lost warden, whose own daemon does
 * not, and us; when it ends before, nothing is left of it. */
static void test_guest(void **state)
{
    static const char daemon[] = "(setsid sh -c 'echo $$; exec sleep 1000 >/dev/null' &); read x";
    char environ_path[] = "PATH=/usr/bin:/bin";
    char *envp[] = {environ_path, NULL};
    char script[256];
    const char *argv[] = {"sh", "-c", script, NULL};
    struct foreground f = {.argv = argv, .envp = envp};
    struct tree_proc leader;
    struct watch w;
    pid_t escaped, guest, mortal;
    int fds[2];

    (void)state;
    watch_start(&w, (struct proc_spec){.keep_stdin = true, .linger_ms = -1}, daemon);
    escaped = watch_pid_in_line(&w, 0);
    assert_int_equal(pipe2(fds, 0), 0);
    snprintf(script, sizeof(script), "(setsid sh -c 'echo $$ >/proc/self/fd/%d; exec sleep 60' &)",
             fds[1]);
    guest = run_for_guest(&f, fds[0]);
    mortal = run_for_guest(&f, fds[0]);
    close(fds[0]);
    close(fds[1]);
    assert_hello(); /* after foreground_run() has notified the proc thread */
    kill(mortal, SIGKILL);
    while (kill(mortal, 0) == 0) /* no zombie is left of one that ends before us */
        usleep(1000);

    assert_true(tree_look(proc_pid(w.proc), &leader));
    kill(leader.ppid, SIGKILL);
    watch_over(&w);
    assert_true(is_gone(escaped));
    assert_int_equal(kill(guest, 0), 0);
    watch_release(&w);
    proc_shutdown();
    assert_true(tree_look(guest, &leader) && tree_is_alive(&leader));
    kill(guest, SIGKILL);
    assert_int_equal(waitpid(guest, NULL, 0), guest);
}

static const char victim_flag[] = "--victim";

/* The program that is killed: starts a job and passes on what it says. dir: of a job that finishes;
 * NULL: it is killed, too. */
static _Noreturn void victim_main(const char *dir)
{
    struct watch w;

    watch_start(&w, (struct proc_spec){.linger_ms = -1, .dir = dir, .finishes = dir != NULL},
                dir ? "sleep 1000 & echo $$; echo $!; until test -e go; do sleep 0.01; done; "
                      "echo ended > end"
                    : "trap '' TERM HUP; echo $$; setsid env -i sh -c 'echo $$; exec sleep 1000' & "
                      "sleep 1000; :");
    for (;;) {
        watch_mail(&w);
        fd_write_all(STDOUT_FILENO, buf_str(&w.out), NULL);
        buf_clear(&w.out);
    }
}

/* Returns when its job runs; gone gets a descriptor for each of the job's two processes. */
static pid_t start_victim(const char *dir, struct pollfd gone[static 2])
{
    CLEANUP(buf_release) struct buf said = BUF_INIT(4096);
    struct str rest;
    struct str line;
    int lines = 0;
    int fds[2];
    pid_t victim;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    victim = fork();
    if (!victim) {
        char *const argv[] = {(char *)"unit", (char *)"proc", (char *)victim_flag, (char *)dir,
                              NULL};

        dup2(fds[1], STDOUT_FILENO);
        execv("/proc/self/exe", argv);
        _exit(127);
    }
    close(fds[1]);
    while (lines < 2) {
        char *byte = buf_room(&said, 1);

        assert_int_equal(read(fds[0], byte, 1), 1);
        lines += *byte == '\n';
        buf_grown(&said, 1);
    }
    rest = buf_str(&said);
    for (size_t i = 0; i < 2; i++) {
        int64_t pid = 0;

        assert_true(str_cut(&rest, '\n', &line));
        assert_int_equal(str_to_i64(line, &pid, NULL), 0);
        gone[i] = (struct pollfd){.fd = pidfd_open((pid_t)pid, 0), .events = POLLIN};
        assert_true(gone[i].fd >= 0);
    }
    close(fds[0]);
    return victim;
}

/* We are a subreaper, so the victim's wardens and zygote fall to us; they end when their work is
 * done. */
static void check_victim_gone(struct pollfd gone[static 2])
{
    for (size_t i = 0; i < 2; i++) {
        if (poll(&gone[i], 1, LONG_MS) != 1)
            fail_msg("process %zu outlived its tenax", i);
        close(gone[i].fd);
    }
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    assert_int_equal(errno, ECHILD);
}

static void test_kill_of_the_parent(void **state)
{
    struct pollfd gone[2];
    pid_t victim;

    (void)state;
    victim = start_victim(/*dir=*/NULL, gone);
    kill(victim, SIGKILL);
    assert_int_equal(waitpid(victim, NULL, 0), victim);
    check_victim_gone(gone);
}

/* The leader runs to its end; what it has left is killed then. */
static void test_finishes(void **state)
{
    CLEANUP(mem_freep) char *go = NULL;
    CLEANUP(mem_freep) char *end = NULL;
    char dir[] = "/tmp/tenax-proc-XXXXXX";
    struct pollfd gone[2];
    pid_t victim;

    (void)state;
    assert_non_null(mkdtemp(dir));
    go = path_join(dir, "go");
    end = path_join(dir, "end");
    victim = start_victim(dir, gone);
    kill(victim, SIGKILL);
    assert_int_equal(waitpid(victim, NULL, 0), victim);
    assert_int_equal(poll(gone, 2, 300), 0);
    assert_int_equal(file_replace(go, STR(""), 0600, NULL), 0);
    check_victim_gone(gone);
    assert_true(file_exists(end));
    unlink(go);
    unlink(end);
    assert_int_equal(rmdir(dir), 0);
}

static void on_signal(int signo, void *arg)
{
    (void)signo;
    (void)arg;
}

UNIT_TEST(proc)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_run, setup, teardown),
        cmocka_unit_test_setup_teardown(test_start_failures, setup, teardown),
        cmocka_unit_test_setup_teardown(test_start_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_environment, setup, teardown),
        cmocka_unit_test_setup_teardown(test_big_input, setup, teardown),
        cmocka_unit_test_setup_teardown(test_output_cap, setup, teardown),
        cmocka_unit_test_setup_teardown(test_conversation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_foreign_pipe_holder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pty, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pty_resize, setup, teardown),
        cmocka_unit_test_setup_teardown(test_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nobody_escapes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_crowd, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fork_storm, setup, teardown),
        cmocka_unit_test_setup_teardown(test_daemons_of_two_jobs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_signal, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unref_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cancel, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shutdown, setup, teardown),
        cmocka_unit_test_setup_teardown(test_told, setup, teardown),
        cmocka_unit_test_setup_teardown(test_slow_receiver, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_leave_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_zygote_holds_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_zygote_killed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_zygote_late, setup, teardown),
        cmocka_unit_test_setup_teardown(test_zygote_hunted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_jobs_share_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_descent, setup, teardown),
        cmocka_unit_test_setup_teardown(test_warden_ended_late, setup, teardown),
        cmocka_unit_test_setup_teardown(test_started_at_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_big_launch, setup, teardown),
        cmocka_unit_test_setup_teardown(test_guest, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kill_of_the_parent, setup, teardown),
        cmocka_unit_test_setup_teardown(test_finishes, setup, teardown),
    };
    struct err err = {0};
    int rc;

    if (signals_start(on_signal, NULL, &err) < 0)
        return 1;
    if (argc > 1 && strcmp(argv[1], victim_flag) == 0)
        victim_main(argc > 2 ? argv[2] : NULL);
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    signals_stop();
    return rc;
}
