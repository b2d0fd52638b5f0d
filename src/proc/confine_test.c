#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "proc/confine.h"
#include "proc/confine_map.h"
#include "proc/packet.h"
#include "proc/proc.h"
#include "sync/mailbox.h"
#include "sync/thread.h"
#include "unit.h"

#define LONG_MS 60000 /* nothing here takes that long unless it hangs */

/* ---- a folder to work in ---- */

static char scratch[] = "/var/tmp/tenax-confine-XXXXXX";

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static int setup(void **state)
{
    (void)state;
    memcpy(scratch + strlen(scratch) - 6, "XXXXXX", 6);
    return mkdtemp(scratch) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    proc_shutdown();
    return nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_link(const char *name, const char *target)
{
    CLEANUP(mem_freep) char *path = path_join(scratch, name);

    assert_int_equal(symlink(target, path), 0);
}

/* Paths here are written relative to the scratch folder: "w/.git", "w/.git/hooks/", and for links
 * "w/l>target". */
static void make_path(const char *name)
{
    const char *to = strchr(name, '>');
    CLEANUP(mem_freep) char *path = path_join(scratch, name);
    CLEANUP(mem_freep) char *dir = path_dirname(path);
    CLEANUP(mem_freep) char *link = to ? mem_dup(name, (size_t)(to - name)) : NULL;
    size_t len = strlen(path);

    if (to) {
        make_link(link, to + 1);
        return;
    }
    if (path[len - 1] == '/') {
        assert_int_equal(file_mkdirs(path, 0755, NULL), 0);
        return;
    }
    assert_int_equal(file_mkdirs(dir, 0755, NULL), 0);
    assert_int_equal(file_replace(path, STR("text\n"), 0644, NULL), 0);
}

static void make_paths(const char *names)
{
    struct str rest = str_of(names);
    struct str name;
    char path[64];

    while (str_cut(&rest, ' ', &name)) {
        snprintf(path, sizeof(path), "%.*s", STR_ARG(name));
        make_path(path);
    }
}

/* "a b" → {"/scratch/a", "/scratch/b", NULL}; "-" → NULL. */
static const char *const *make_list(struct strv *ret, const char *names)
{
    struct str rest = str_of(names);
    struct str name;

    if (strcmp(names, "-") == 0)
        return NULL;
    while (str_cut(&rest, ' ', &name)) {
        if (name.len && name.ptr[0] == '/')
            strv_add(ret, name);
        else if (name.len)
            strv_addf(ret, "%s/%.*s", scratch, STR_ARG(name));
    }
    return (const char *const *)strv_get(ret);
}

/* ---- rules to steps ---- */

static const struct map_case {
    const char *name;
    const char *there; /* what exists */
    const char *write;
    const char *read_only;
    const char *hidden;
    const char *shown;
    const char *want; /* in order; p, w, s, r, h and the path; H: has something in it */
} map_cases[] = {
    {"nothing", "w/", "", "", "", "", ""},
    {"a folder", "w/", "w", "", "", "", "w:w"},
    {"missing ones", "w/", "w x", "", "y", "z", "w:w"},
    {"a file", "w/ f", "f w", "", "", "", "w:f w:w"},
    {"one in another", "w/a/", "w/a w", "", "", "", "w:w"},
    {"read-only in it", "w/a/", "w", "w/a", "", "", "w:w r:w/a"},
    {"read-only beside it", "w/ x/", "w", "x", "", "", "w:w"},
    {"read-only and writable", "w/", "w", "w", "", "", ""},
    {"pinned", "w/.git/hooks/ w/.git/config", "w", "w/.git/hooks w/.git/config", "", "",
     "w:w p:w/.git r:w/.git/config r:w/.git/hooks"},
    {"pinned twice", "w/a/b/c/", "w", "w/a/b/c", "", "", "w:w p:w/a p:w/a/b r:w/a/b/c"},
    {"writable in read-only", "w/a/t/", "w w/a/t", "w/a", "", "", "w:w r:w/a w:w/a/t"},
    {"made", "w/.git/", "w", "w/.git/hooks/", "", "", "w:w p:w/.git r:w/.git/hooks"},
    {"not made", "w/", "w", "w/.git/hooks/", "", "", "w:w"},
    {"made at the top", "w/", "w", "w/.claude/", "", "", "w:w r:w/.claude"},
    {"missing file", "w/.claude/x", "w", "w/.claude/settings.json", "", "", "w:w r:w/.claude"},
    {"missing file, deep", "w/a/b/", "w", "w/a/b/c/d", "", "", "w:w p:w/a r:w/a/b"},
    {"missing file at the top", "w/", "w", "w/.mcp.json", "", "", "w:w"},
    {"missing file, missing folder", "w/", "w", "w/.git/config", "", "", "w:w"},
    {"hidden", "w/ s/", "w", "", "s", "", "h:s w:w"},
    {"hidden in writable", "w/s/", "w", "", "w/s", "", "w:w h:w/s"},
    {"hidden deep in writable", "w/a/b/s/", "w", "", "w/a/b/s", "", "w:w p:w/a p:w/a/b h:w/a/b/s"},
    {"hidden in read-only in writable", "w/a/s/", "w", "w/a", "w/a/s", "", "w:w r:w/a h:w/a/s"},
    {"hidden by a link", "w/ s/ w/l>../s", "w", "", "w/l", "", "h:s w:w p:w/l"},
    {"hidden in hidden", "s/t/", "", "", "s/t s", "", "h:s"},
    {"shown in hidden", "s/t/", "", "", "s", "s/t", "H:s s:s/t"},
    {"shown where all is shown", "t/", "", "", "", "t", ""},
    {"writable in hidden", "s/w/", "s/w", "", "s", "", "H:s w:s/w"},
    {"hidden in shown in hidden", "s/t/u/", "", "", "s s/t/u", "s/t", "H:s s:s/t h:s/t/u"},
    {"read-only in hidden", "s/t/", "", "s/t", "s", "", "h:s"},
    {"names that begin alike", "w/ w-x/ w/x/", "w", "w/x w-x", "", "", "w:w r:w/x"},
    {"by a link", "w/ x/ w/l>../x", "w", "w/l", "", "", "w:w p:w/l"},
    {"by a link inside", "w/a/b/ w/l>a", "w", "w/l/b", "", "", "w:w p:w/a r:w/a/b p:w/l"},
    {"by a link deep inside", "w/d/ x/ w/d/l>../../x", "w", "w/d/l/y", "", "", "w:w p:w/d p:w/d/l"},
    {"by a link outside", "w/ x/ l>x", "w", "l", "", "", "w:w"},
    {"shown by a link", "w/ s/t/ l>s/t", "w", "", "s", "l", "H:s s:s/t w:w"},
    {"shown by a link of a job", "w/ s/t/ w/l>../s/t", "w", "", "s", "w/l", "h:s w:w"},
    {"shown by a link in a shown folder", "w/d/ s/t/ w/d/l>../../s/t", "w", "", "s", "w/d w/d/l",
     "h:s w:w"},
    {"shown by a link that is kept", "w/d/ s/t/ w/d/l>../../s/t", "w", "w/d", "s", "w/d/l",
     "H:s s:s/t w:w r:w/d"},
    {"writable by a link", "w/ x/ l>x", "w l", "", "", "", "w:w w:x"},
    {"writable by a link of a job", "w/ x/ w/l>../x", "w/l w", "", "", "", "w:w"},
    {"all writable", "s/", "-", "", "s", "", "h:s"},
    {"the root writable", "w/ s/", "/ w", "", "s", "", "h:s"},
};

static void map_show(const struct confine_map *m, struct buf *ret)
{
    static const char letters[] = "pwsrh";
    size_t skip = strlen(scratch) + 1;

    VEC_EACH(&m->steps, step) {
        buf_addf(ret, "%s%c:%s", ret->len ? " " : "", step->has_inner ? 'H' : letters[step->what],
                 step->path + skip);
    }
}

static void test_map(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(map_cases); i++) {
        const struct map_case *row = &map_cases[i];
        struct strv lists[4] = {0};
        CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);
        struct confine_map map;

        if (i) {
            teardown(state);
            setup(state);
        }
        make_paths(row->there);
        confine_map_init(&map, &(struct confinement){
                                   .write = make_list(&lists[0], row->write),
                                   .read_only = make_list(&lists[1], row->read_only),
                                   .hidden = make_list(&lists[2], row->hidden),
                                   .shown = make_list(&lists[3], row->shown),
                               });
        map_show(&map, &got);
        if (strcmp(buf_cstr(&got), row->want) != 0)
            fail_msg("%s: '%s', not '%s'", row->name, buf_cstr(&got), row->want);
        confine_map_release(&map);
        for (size_t k = 0; k < ARRAY_LEN(lists); k++)
            strv_release(&lists[k]);
    }
}

/* ---- sockets ---- */

static const struct socket_case {
    const char *there;
    const char *write;
    const char *read_only;
    const char *path;
    const char *want; /* NULL: it stays closed */
} socket_cases[] = {
    {"w/ x/s", "w", "", "x/s", "x/s"},
    {"w/ x/", "w", "", "x/s", "x/s"}, /* may come */
    {"w/ x/s l>x", "w", "", "l/s", "x/s"},
    {"w/ x/s l>x/s", "w", "", "l", "x/s"},
    {"w/s", "w", "", "w/s", NULL},
    {"w/", "w", "", "w/s", NULL},
    {"w/ x/s w/l>../x", "w", "", "w/l/s", NULL},
    {"w/ x/s w/l>../x/s", "w", "", "w/l", NULL},
    {"w/s l>w/s", "w", "", "l", NULL},
    {"w/a/s", "w", "w/a", "w/a/s", NULL}, /* a could be another day's */
    {"w/a/s", "w", "w", "w/a/s", "w/a/s"},
    {"x/s", "-", "", "x/s", NULL},
};

static void test_sockets(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(socket_cases); i++) {
        const struct socket_case *row = &socket_cases[i];
        CLEANUP(strv_release) struct strv write = STRV_INIT;
        CLEANUP(strv_release) struct strv read_only = STRV_INIT;
        CLEANUP(mem_freep) char *path = NULL;
        CLEANUP(mem_freep) char *got = NULL;
        struct confine_map map;

        teardown(state);
        setup(state);
        path = path_join(scratch, row->path);
        make_paths(row->there);
        confine_map_init(&map, &(struct confinement){
                                   .write = make_list(&write, row->write),
                                   .read_only = make_list(&read_only, row->read_only),
                               });
        got = confine_map_socket(&map, path);
        if (!got != !row->want || (got && !str_ends(str_of(got), str_of(row->want))))
            fail_msg("row %zu: %s", i, got ? got : "closed");
        confine_map_release(&map);
    }
}

/* ---- refused confinements, and empty ones ---- */

static void test_check(void **state)
{
    static const char *const dirs[] = {"/tmp", NULL};
    static const char *const odd[] = {"tmp", NULL};
    static const char *const root[] = {"//", NULL};
    static const char *many[CONFINE_MAX_PATHS + 2];
    const struct confine_backend *none = confine_backend_named("none");
    const struct {
        const char *name;
        struct confinement want;
        enum err_code code;
    } rows[] = {
        {"nothing", {0}, ERR_NONE},
        {"nothing of none", {.by = none}, ERR_NONE},
        {"folders of none", {.write = dirs, .by = none}, ERR_UNSUPPORTED},
        {"no network of none", {.net = CONFINE_NET_NONE, .by = none}, ERR_UNSUPPORTED},
        {"relative", {.hidden = odd}, ERR_BAD_INPUT},
        {"hidden root", {.hidden = root}, ERR_BAD_INPUT},
        {"read-only root", {.read_only = root}, ERR_BAD_INPUT},
        {"too many", {.write = many}, ERR_TOO_BIG},
    };

    (void)state;
    for (size_t i = 0; i <= CONFINE_MAX_PATHS; i++)
        many[i] = "/tmp";
    assert_null(confine_backend_named("chains"));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *argv[] = {"/bin/true", NULL};
        struct proc_spec spec = {.argv = argv, .confine = &rows[i].want};
        struct proc_result r = {0};
        struct err err = {0};

        proc_run(&spec, NULL, &r, &err);
        if (err.code != rows[i].code)
            fail_msg("%s: %s %s", rows[i].name, err_code_name(err.code), err.text);
        proc_result_release(&r);
    }
}

/* ---- jobs under each backend ---- */

/* The next backend that works and confines; reports those that do not. */
static const struct confine_backend *next_backend(size_t *at)
{
    while (*at + 1 < confine_backend_count) {
        const struct confine_backend *by = &confine_backends[(*at)++];
        const char *why;

        if (confine_works(by, &why))
            return by;
        print_message("  %s: skipped, %s\n", by->name, why);
    }
    return NULL;
}

static const struct job_case {
    const char *name;
    const char *script; /* in the folder w, which is writable */
    const char *input;
    bool pty;
    bool tell_dir;
    int64_t timeout_ms;
    int64_t linger_ms;
    enum proc_how how;
    int code;
    const char *out; /* all of it */
    const char *dir; /* in the end, below the scratch folder */
} job_cases[] = {
    {.name = "exit", .script = "echo out; exit 3", .code = 3, .out = "out\n"},
    {.name = "input", .script = "cat", .input = "fed", .out = "fed"},
    {.name = "both streams", .script = "echo o; echo e >&2; echo s >/dev/stderr", .out = "o\n"},
    {.name = "writes", .script = "echo x > f && cat f && rm f", .out = "x\n"},
    {.name = "does not write",
     .script = "echo x 2>/dev/null > ../f; test -e ../f; echo $?",
     .out = "1\n"},
    {.name = "timeout",
     .script = "sleep 600",
     .timeout_ms = 50,
     .how = PROC_TIMED_OUT,
     .code = 128 + SIGTERM},
    {.name = "tells its folder",
     .script = "mkdir -p d/e && cd d/e",
     .tell_dir = true,
     .dir = "w/d/e"},
    {.name = "leaves somebody behind", .script = "setsid sleep 600 & echo done", .out = "done\n"},
    {.name = "background",
     .script = "(sleep 0.05; echo late) & echo early",
     .linger_ms = -1,
     .out = "early\nlate\n"},
    {.name = "terminal",
     .script = "test -t 0 && test -t 2 && echo yes >/dev/tty",
     .pty = true,
     .out = "yes\r\n"},
    {.name = "terminal by name", .script = "echo no >/dev/stdout", .pty = true, .out = "no\r\n"},
    {.name = "pipes", .script = "seq 1000 | sort -n | tail -1 | tr 0 o", .out = "1ooo\n"},
};

static void run_job(const struct job_case *row, const struct confinement *c, const char *dir)
{
    const char *argv[] = {"/bin/sh", "-c", row->script, NULL};
    struct proc_spec spec = {
        .argv = argv,
        .dir = dir,
        .input = row->input ? str_of(row->input) : STR(""),
        .pty = row->pty,
        .tell_dir = row->tell_dir,
        .timeout_ms = row->timeout_ms,
        .linger_ms = row->linger_ms,
        .confine = c,
    };
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf said = BUF_INIT(BUF_NO_LIMIT);
    struct mailbox *mb = mailbox_new();
    struct err err = {0};
    struct proc *p = proc_start(&spec, mb, &err);
    bool over = false;

    if (!p)
        fail_msg("%s, %s: %s", c->by->name, row->name, err.text);
    while (!over) {
        struct proc_mail *pm;
        struct mail *m = NULL;

        if (mailbox_take(mb, NULL, clock_mono_ms() + LONG_MS, &m, &err) < 0)
            fail_msg("%s, %s: %s", c->by->name, row->name, err.text);
        pm = (struct proc_mail *)m;
        over = pm->what == PROC_EXIT;
        if (!over)
            buf_add(pm->fd == 1 ? &out : &said, buf_str(&pm->bytes));
        else if (pm->how != row->how || pm->code != row->code ||
                 strcmp(buf_cstr(&out), row->out ? row->out : "") != 0)
            fail_msg("%s, %s: how %d, code %d, '%s', '%s'", c->by->name, row->name, pm->how,
                     pm->code, buf_cstr(&out), buf_cstr(&said));
        else if (row->dir && (strlen(buf_cstr(&pm->bytes)) <= strlen(scratch) ||
                              strcmp(buf_cstr(&pm->bytes) + strlen(scratch) + 1, row->dir) != 0))
            fail_msg("%s, %s: in '%s'", c->by->name, row->name, buf_cstr(&pm->bytes));
        mail_free(m);
    }
    proc_unref(p);
    mailbox_close(mb);
    mailbox_unref(mb);
}

static void test_jobs(void **state)
{
    CLEANUP(strv_release) struct strv write = STRV_INIT;
    CLEANUP(mem_freep) char *dir = path_join(scratch, "w");
    struct confinement c = {.write = make_list(&write, "w"), .net = CONFINE_NET_NONE};
    size_t at = 0;

    (void)state;
    make_path("w/");
    while ((c.by = next_backend(&at))) {
        for (size_t i = 0; i < ARRAY_LEN(job_cases); i++) {
            run_job(&job_cases[i], &c, dir);
        }
    }
}

/* A signal that ends the leader is distinguished from an exit. */
static void test_signalled(void **state)
{
    static const char *const nothing[] = {NULL};
    const char *argv[] = {"/bin/sh", "-c", "kill -SEGV $$", NULL};
    struct confinement c = {.write = nothing};
    size_t at = 0;

    (void)state;
    while ((c.by = next_backend(&at))) {
        const struct proc_spec spec = {.argv = argv, .confine = &c};
        struct proc_result r = {0};

        assert_int_equal(proc_run(&spec, NULL, &r, NULL), 0);
        assert_int_equal(r.how, PROC_SIGNALLED);
        assert_int_equal(r.code, SIGSEGV);
        proc_result_release(&r);
    }
}

/* What does not start says why, confined or not. */
static void test_start_failures(void **state)
{
    static const struct {
        const char *name;
        const char *program;
        const char *dir;
        enum err_code code;
    } rows[] = {
        {"no program", "no-such-program", NULL, ERR_NOT_FOUND},
        {"no such file", "/etc/no/such/program", NULL, ERR_NOT_FOUND},
        {"not executable", "/etc/passwd", NULL, ERR_DENIED},
        {"a folder", "/etc", NULL, ERR_DENIED},
        {"no folder", "/bin/true", "/etc/no/such/folder", ERR_IO},
    };
    static const char *const nothing[] = {NULL};
    struct confinement c = {.write = nothing};
    size_t at = 0;

    (void)state;
    while ((c.by = next_backend(&at))) {
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            const char *argv[] = {rows[i].program, NULL};
            struct proc_spec spec = {.argv = argv, .dir = rows[i].dir, .confine = &c};
            struct proc_result r = {0};
            struct err err = {0};

            if (proc_run(&spec, NULL, &r, &err) == 0 || err.code != rows[i].code)
                fail_msg("%s, %s: %s %s", c.by->name, rows[i].name, err_code_name(err.code),
                         err.text);
        }
    }
}

/* Each connection to the proxy's port comes out at our end, and carries bytes both ways. */
static void test_proxy(void **state)
{
    static const char *const nothing[] = {NULL};
    const char *argv[] = {"/bin/bash", "-c",
                          "exec 3<>/dev/tcp/127.0.0.1/3128 && echo asked >&3 && cat <&3", NULL};
    struct confinement c = {.write = nothing, .net = CONFINE_NET_PROXY};
    size_t at = 0;

    (void)state;
    while ((c.by = next_backend(&at))) {
        const struct proc_spec spec = {.argv = argv, .confine = &c};
        struct mailbox *mb = mailbox_new();
        struct err err = {0};
        char said[64] = "";
        struct mail *m = NULL;
        struct proc *p;
        int connection;
        int ends[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        c.proxy = ends[1];
        p = proc_start(&spec, mb, &err);
        if (!p)
            fail_msg("%s: %s", c.by->name, err.text);
        assert_int_equal(packet_receive(ends[0], &connection, 1), 0);
        assert_true(read(connection, said, sizeof(said) - 1) > 0);
        assert_string_equal(said, "asked\n");
        assert_int_equal(write(connection, "answered\n", 9), 9);
        close(connection);
        assert_int_equal(mailbox_take(mb, NULL, clock_mono_ms() + LONG_MS, &m, NULL), 0);
        if (!str_is(buf_str(&((struct proc_mail *)m)->bytes), "answered\n"))
            fail_msg("%s: '%s'", c.by->name, buf_cstr(&((struct proc_mail *)m)->bytes));
        mail_free(m);
        proc_unref(p);
        mailbox_close(mb);
        mailbox_unref(mb);
        close(ends[0]);
        close(ends[1]);
    }
}

/* ---- asked by several at once ---- */

static void ask(void *arg)
{
    const struct confine_backend **ret = arg;

    *ret = confine_backend();
}

/* The first test of all: untested so far. All callers get the same answer, and no process is
 * left. */
static void test_asked_at_once(void **state)
{
    const struct confine_backend *found[4] = {0};
    struct thread *threads[ARRAY_LEN(found)];
    struct err err = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(found); i++) {
        threads[i] = thread_start("ask", ask, &found[i], &err);
        assert_non_null(threads[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(found); i++)
        thread_join(threads[i]);
    for (size_t i = 0; i < ARRAY_LEN(found); i++)
        assert_ptr_equal(found[i], confine_backend());
    confine_reap(/*waits=*/true);
    proc_shutdown(); /* of bwrap's */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

UNIT_TEST(confine)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asked_at_once),
        cmocka_unit_test_setup_teardown(test_map, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sockets, setup, teardown),
        cmocka_unit_test_setup_teardown(test_check, setup, teardown),
        cmocka_unit_test_setup_teardown(test_jobs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_signalled, setup, teardown),
        cmocka_unit_test_setup_teardown(test_start_failures, setup, teardown),
        cmocka_unit_test_setup_teardown(test_proxy, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
