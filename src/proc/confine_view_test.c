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
#include "proc/proc.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"
#include "sync/thread.h"
#include "unit.h"

/* Everything here runs twice when started by root: as root, and as an ordinary user. */

#define LONG_MS 60000 /* nothing here takes that long unless it hangs */
#define NOBODY 65534

/* ---- a folder to work in ---- */

static char scratch[] = "/var/tmp/tenax-view-XXXXXX";

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

/* All that jobs have left can be removed by plain means. */
static int teardown(void **state)
{
    (void)state;
    proc_shutdown();
    return nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static char *in_scratch(const char *name)
{
    return path_join(scratch, name);
}

/* "w/a" holds "text of w/a\n"; with a slash at its end it is a folder. */
static void make_path(const char *name)
{
    CLEANUP(mem_freep) char *path = in_scratch(name);
    CLEANUP(mem_freep) char *dir = path_dirname(path);
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    if (path[strlen(path) - 1] == '/') {
        assert_int_equal(file_mkdirs(path, 0755, NULL), 0);
        return;
    }
    assert_int_equal(file_mkdirs(dir, 0755, NULL), 0);
    buf_addf(&text, "text of %s\n", name);
    assert_int_equal(file_replace(path, buf_str(&text), 0644, NULL), 0);
}

static void make_paths(const char *const *names)
{
    for (; *names; names++)
        make_path(*names);
}

static bool is_there(const char *name)
{
    CLEANUP(mem_freep) char *path = in_scratch(name);
    struct stat st;

    return lstat(path, &st) == 0;
}

/* ---- overlays by short names ---- */

struct view {
    char *paths[CONFINE_MAX_OVERLAYS][3];
    const char *lower[CONFINE_MAX_OVERLAYS][2];
    struct confine_overlay overlays[CONFINE_MAX_OVERLAYS];
    struct confinement c;
};

/* Over the folder `name`, with `up` and `work` of that number beside it. */
static void view_add(struct view *v, const char *name)
{
    size_t i = v->c.overlay_count++;
    char upper[16];
    char work[16];

    snprintf(upper, sizeof(upper), "up%zu/", i);
    snprintf(work, sizeof(work), "work%zu/", i);
    make_path(upper);
    make_path(work);
    v->paths[i][0] = in_scratch(name);
    v->paths[i][1] = in_scratch(upper);
    v->paths[i][2] = in_scratch(work);
    v->lower[i][0] = v->paths[i][0];
    v->overlays[i] = (struct confine_overlay){
        .at = v->paths[i][0],
        .lower = v->lower[i],
        .upper = v->paths[i][1],
        .work = v->paths[i][2],
    };
    v->c.overlays = v->overlays;
}

static void view_release(struct view *v)
{
    for (size_t i = 0; i < v->c.overlay_count; i++) {
        for (size_t k = 0; k < ARRAY_LEN(v->paths[i]); k++)
            free(v->paths[i][k]);
    }
}

/* Both ways to have a view: confined, with a write list, and alone. */
enum way {
    WAY_CONFINED,
    WAY_VIEW,
    WAYS,
};

static bool way_works(enum way way)
{
    const char *why = "";

    if (!confine_overlay_works(&why)) {
        print_message("  skipped: %s\n", why);
        return false;
    }
    return way == WAY_VIEW || confine_works(confine_backend_named("landlock"), NULL);
}

static void view_go(struct view *v, enum way way, const char *const *write)
{
    v->c.is_view = way == WAY_VIEW;
    v->c.write = way == WAY_VIEW ? NULL : write;
    v->c.net = way == WAY_VIEW ? CONFINE_NET_OPEN : CONFINE_NET_NONE;
    v->c.by = way == WAY_VIEW ? NULL : confine_backend_named("landlock");
}

struct told {
    struct proc_result r;
    struct err err;
    int rc;
};

static void told_release(struct told *t)
{
    proc_result_release(&t->r);
}

/* In the folder `dir`, a name in the scratch folder. */
static void run(struct told *ret, const struct confinement *c, const char *dir, const char *script)
{
    CLEANUP(mem_freep) char *path = in_scratch(dir);
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    const struct proc_spec spec = {.argv = argv, .dir = path, .confine = c, .timeout_ms = LONG_MS};

    *ret = (struct told){0};
    ret->rc = proc_run(&spec, NULL, &ret->r, &ret->err);
}

static void expect(const char *what, enum way way, const struct told *t, int code, const char *out)
{
    if (t->rc < 0)
        fail_msg("%s, way %d: %s", what, way, t->err.text);
    if (t->r.how != PROC_EXITED || t->r.code != code || strcmp(buf_cstr(&t->r.out), out) != 0)
        fail_msg("%s, way %d: how %d, code %d, '%s', '%s'", what, way, t->r.how, t->r.code,
                 buf_cstr(&t->r.out), buf_cstr(&t->r.err));
}

/* ---- the view through an overlay ---- */

static const struct overlay_case {
    const char *name;
    const char *script; /* in w, which has the files a, b, d/x and d/y */
    const char *out;
    const char *upper; /* contents of up0 afterwards; NULL: does not matter */
} overlay_cases[] = {
    {"reads", "cat a d/x", "text of w/a\ntext of w/d/x\n", NULL},
    {"writes", "echo new > a; echo more > n; cat a n", "new\nmore\n", "up0/n"},
    {"appends", "echo more >> d/x; cat d/x", "text of w/d/x\nmore\n", "up0/d/x"},
    {"removes", "rm a && ls", "b\nd\n", "up0/a"},
    {"removes a folder", "rm -r d && ls && mkdir d && ls -A d", "a\nb\n", NULL},
    {"renames", "mv a z && ls && cat z", "b\nd\nz\ntext of w/a\n", "up0/z"},
    {"renames a folder", "mv d e && ls e", "x\ny\n", NULL},
    {"changes modes", "chmod 600 a && stat -c %a a", "600\n", NULL},
    {"links", "ln -s a l && ln b h && cat l h", "text of w/a\ntext of w/b\n", "up0/l"},
    {"is where it says", "pwd && cd .. && cd w && pwd -P", NULL, NULL},
    {"writes by its path", "echo p > $PWD/p && cat p", "p\n", "up0/p"},
};

static void test_overlay_rows(void **state)
{
    static const char *const there[] = {"w/a", "w/b", "w/d/x", "w/d/y", NULL};

    for (int i = 0; i < (int)ARRAY_LEN(overlay_cases) * WAYS; i++) {
        const struct overlay_case *row = &overlay_cases[i / WAYS];
        enum way way = (enum way)(i % WAYS);
        const char *write[] = {NULL, NULL};
        CLEANUP(view_release) struct view v = {0};
        CLEANUP(told_release) struct told t;
        CLEANUP(buf_release) struct buf where = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(told_release) struct told outside = {0};

        if (!way_works(way))
            continue;
        if (i) {
            teardown(state);
            setup(state);
        }
        make_paths(there);
        view_add(&v, "w");
        write[0] = v.overlays[0].at;
        view_go(&v, way, write);
        buf_addf(&where, "%s/w\n%s/w\n", scratch, scratch);
        run(&t, &v.c, "w", row->script);
        expect(row->name, way, &t, 0, row->out ? row->out : buf_cstr(&where));
        if (row->upper && !is_there(row->upper))
            fail_msg("%s, way %d: no %s", row->name, way, row->upper);
        run(&outside, NULL, "w", "cat * d/* 2>/dev/null; stat -c %a a; ls -A . d");
        expect(row->name, way, &outside, 0,
               "text of w/a\ntext of w/b\ntext of w/d/x\ntext of w/d/y\n644\n.:\na\nb\nd\n\nd:\nx\n"
               "y\n");
    }
}

/* What the caller has put into the upper folder. */
static void test_prepared(void **state)
{
    static const char *const there[] = {"w/a", "w/b", "w/d/x", NULL};
    static const char *const prepared[] = {"up0/b", "up0/only", "up0/d/z", NULL};

    for (int way = 0; way < WAYS; way++) {
        const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
        const char *write[] = {NULL, NULL};
        CLEANUP(mem_freep) char *hidden = NULL;
        CLEANUP(mem_freep) char *old = NULL;
        CLEANUP(view_release) struct view v = {0};
        CLEANUP(told_release) struct told t = {0};

        if (!way_works((enum way)way))
            continue;
        teardown(state);
        setup(state);
        make_paths(there);
        view_add(&v, "w");
        make_paths(prepared);
        hidden = in_scratch("up0/a");
        old = in_scratch("up0/only");
        assert_int_equal(mknod(hidden, S_IFCHR, 0), 0);
        assert_int_equal(utimensat(AT_FDCWD, old, times, 0), 0);
        write[0] = v.overlays[0].at;
        view_go(&v, (enum way)way, write);
        run(&t, &v.c, "w", "ls . d; cat b; stat -c %Y only; test -e a || echo gone");
        expect("prepared", (enum way)way, &t, 0,
               ".:\nb\nd\nonly\n\nd:\nx\nz\ntext of up0/b\n1000000000\ngone\n");
    }
}

/* Names that options of mounts give a meaning to, several overlays, one in another. */
static void test_several(void **state)
{
    static const char *const there[] = {"w, a:b\\c d/f", "w, a:b\\c d/in/g", "other/h", NULL};

    for (int way = 0; way < WAYS; way++) {
        const char *write[] = {scratch, NULL};
        CLEANUP(view_release) struct view v = {0};
        CLEANUP(told_release) struct told t = {0};
        CLEANUP(told_release) struct told again = {0};

        if (!way_works((enum way)way))
            continue;
        teardown(state);
        setup(state);
        make_paths(there);
        view_add(&v, "w, a:b\\c d/in");
        view_add(&v, "w, a:b\\c d");
        view_add(&v, "other");
        make_path("up1/in/hidden by the one inside");
        view_go(&v, (enum way)way, write);
        run(&t, &v.c, "w, a:b\\c d",
            "echo 1 > f; echo 2 > in/g; echo 3 > ../other/h; echo 4 > n; ls in; cat f in/g "
            "../other/h");
        expect("several", (enum way)way, &t, 0, "g\n1\n2\n3\n");
        assert_true(is_there("up0/g"));
        assert_true(is_there("up1/f") && is_there("up1/n") && !is_there("up1/in/g"));
        assert_true(is_there("up2/h"));
        assert_false(is_there("w, a:b\\c d/n"));
        /* The same folders serve another job, which finds what the first has left. */
        run(&again, &v.c, "w, a:b\\c d", "cat n f in/g");
        expect("again", (enum way)way, &again, 0, "4\n1\n2\n");
    }
}

/* Rules about the view through the overlay. */
static void test_rules(void **state)
{
    static const char *const there[] = {"w/keep",  "w/gone",   "w/secret",
                                        "w/dir/x", "w/hide/y", NULL};
    static const char *const names[] = {"w/keep", "w/gone", "w/new", "w/never", "w/dir"};
    static const char *const hidden_names[] = {"w/secret", "w/hide", "w/gone"};

    for (int way = 0; way < WAYS; way++) {
        struct strv read_only = STRV_INIT;
        struct strv hidden = STRV_INIT;
        const char *write[] = {NULL, NULL};
        CLEANUP(mem_freep) char *gone = NULL;
        CLEANUP(view_release) struct view v = {0};
        CLEANUP(told_release) struct told t = {0};

        if (!way_works((enum way)way))
            continue;
        teardown(state);
        setup(state);
        make_paths(there);
        view_add(&v, "w");
        make_path("up0/new"); /* is not in the folder below */
        gone = in_scratch("up0/gone");
        assert_int_equal(mknod(gone, S_IFCHR, 0), 0);
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
            strv_addf(&read_only, "%s/%s", scratch, names[i]);
        for (size_t i = 0; i < ARRAY_LEN(hidden_names); i++)
            strv_addf(&hidden, "%s/%s", scratch, hidden_names[i]);
        write[0] = v.overlays[0].at;
        view_go(&v, (enum way)way, write);
        v.c.read_only = (const char *const *)strv_get(&read_only);
        v.c.hidden = (const char *const *)strv_get(&hidden);
        run(&t, &v.c, "w",
            "for f in keep new dir/x; do (echo x > $f) 2>/dev/null && echo wrote $f; done; "
            "rm -f keep new 2>/dev/null && echo removed; mv dir d2 2>/dev/null && echo moved; "
            "echo ok > free && cat free; cat keep new; ls gone 2>/dev/null; "
            "cat secret hide/y 2>/dev/null; echo x > gone && echo made");
        expect("rules", (enum way)way, &t, 0, "ok\ntext of w/keep\ntext of up0/new\nmade\n");
        assert_false(is_there("w/free"));
        strv_release(&read_only);
        strv_release(&hidden);
    }
}

/* What cannot be mounted is refused, and so is what makes no sense. */
static void test_refused(void **state)
{
    static const char *const there[] = {"w/in/", "up/", "work/", NULL};
    const struct {
        const char *name;
        const char *at, *lower, *upper, *work;
        enum err_code code;
    } rows[] = {
        {"missing", "none", "w", "up", "work", ERR_UNSUPPORTED},
        {"missing lower", "w", "none", "up", "work", ERR_UNSUPPORTED},
        {"lower in upper", "w/in", "w/in", "w", "work", ERR_UNSUPPORTED},
        {"the root", "/", "w", "up", "work", ERR_BAD_INPUT},
        {"no lower", "w", NULL, "up", "work", ERR_BAD_INPUT},
    };

    (void)state;
    make_paths(there);
    for (size_t i = 0; i < ARRAY_LEN(rows) && way_works(WAY_VIEW); i++) {
        CLEANUP(mem_freep)
        char *at = rows[i].at[0] == '/' ? mem_dup("/", 1) : in_scratch(rows[i].at);
        CLEANUP(mem_freep) char *lower = rows[i].lower ? in_scratch(rows[i].lower) : NULL;
        CLEANUP(mem_freep) char *upper = in_scratch(rows[i].upper);
        CLEANUP(mem_freep) char *work = in_scratch(rows[i].work);
        const char *list[] = {lower, NULL};
        const struct confine_overlay o = {at, list, upper, work};
        const struct confinement c = {.overlays = &o, .overlay_count = 1, .is_view = true};
        CLEANUP(told_release) struct told t = {0};

        run(&t, &c, "w", "echo ran");
        if (t.rc == 0 || t.err.code != rows[i].code)
            fail_msg("%s: %s", rows[i].name, t.rc == 0 ? "ran" : t.err.text);
    }
}

/* ---- private processes ---- */

static const struct process_case {
    const char *name;
    const char *script;
    enum proc_how how;
    int code;
    const char *out; /* NULL: does not matter */
    int64_t timeout_ms;
    bool ended_rest;
} process_cases[] = {
    {"exits", "exit 3", PROC_EXITED, 3, "", 0, false},
    {"kills itself", "kill -9 $$", PROC_SIGNALLED, SIGKILL, "", 0, false},
    {"aborts", "kill -ABRT $$", PROC_SIGNALLED, SIGABRT, "", 0, false},
    {"terminates itself", "kill -TERM $$", PROC_SIGNALLED, SIGTERM, "", 0, false},
    {"sees two processes", "cd /proc; echo [0-9]*", PROC_EXITED, 0, "1 2\n", 0, false},
    {"has its number", "echo $$ $PPID; readlink /proc/self > /dev/null && echo ok", PROC_EXITED, 0,
     "2 1\nok\n", 0, false},
    {"reads about itself", "grep -c ^Pid: /proc/$$/status", PROC_EXITED, 0, "1\n", 0, false},
    {"cannot end the first", "kill -9 1; kill -STOP 1; kill -TERM 1; echo on", PROC_EXITED, 0,
     "on\n", 0, false},
    {"does not see into the first", "cat /proc/1/environ 2>/dev/null | wc -c", PROC_EXITED, 0, NULL,
     0, false},
    {"orphans are reaped", "(sh -c 'sleep 0.05 & exit 0'); sleep 0.2; cd /proc; echo [0-9]*",
     PROC_EXITED, 0, NULL, 0, false},
    {"leaves a process", "sleep 6543 & echo done", PROC_EXITED, 0, "done\n", 0, true},
    {"leaves a daemon",
     "setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep 1; done' >/dev/null 2>&1 & "
     "sleep 0.1; exit 4",
     PROC_EXITED, 4, "", 0, true},
    {"runs out of time", "sleep 6543", PROC_TIMED_OUT, 128 + SIGTERM, "", 100, false},
    {"ignores the end", "trap '' TERM; while :; do sleep 1; done", PROC_TIMED_OUT, 128 + SIGKILL,
     "", 100, false},
    /* PTRACE_TRACEME of a child, and a look into its memory by process_vm_readv(2). */
    {"traces",
     "python3 -c 'import ctypes, os\n"
     "c = ctypes.CDLL(None)\n"
     "print(c.ptrace(0, 0, 0, 0))\n"
     "b = ctypes.create_string_buffer(b\"seen\")\n"
     "r = ctypes.create_string_buffer(5)\n"
     "class v(ctypes.Structure): _fields_ = [(\"a\", ctypes.c_void_p), (\"n\", ctypes.c_size_t)]\n"
     "h, t = v(ctypes.addressof(r), 5), v(ctypes.addressof(b), 5)\n"
     "print(c.process_vm_readv(os.getpid(), ctypes.byref(h), 1, ctypes.byref(t), 1, 0))'",
     PROC_EXITED, 0, "0\n5\n", 0, false},
};

/* Whether a process of this machine has this in its command line. The pattern must not match
 * itself. */
static bool is_running(const char *pattern)
{
    CLEANUP(told_release) struct told t = {0};
    const char *argv[] = {"/bin/sh", "-c", "grep -q -a -s -e \"$0\" /proc/[0-9]*/cmdline", pattern,
                          NULL};
    const struct proc_spec spec = {.argv = argv, .timeout_ms = LONG_MS};

    assert_int_equal(proc_run(&spec, NULL, &t.r, &t.err), 0);
    return t.r.code == 0;
}

static void run_process_case(const struct process_case *row, enum way way)
{
    const char *argv[] = {"/bin/sh", "-c", row->script, NULL};
    struct confinement c = {.own_processes = true, .is_view = way == WAY_VIEW};
    const char *write[] = {scratch, NULL};
    struct proc_spec spec = {.argv = argv,
                             .dir = scratch,
                             .confine = &c,
                             .timeout_ms = row->timeout_ms ? row->timeout_ms : LONG_MS,
                             .grace_ms = 100};
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct mailbox *mb = mailbox_new();
    struct err err = {0};
    struct proc *p;
    bool over = false;

    c.write = way == WAY_VIEW ? NULL : write;
    c.net = way == WAY_VIEW ? CONFINE_NET_OPEN : CONFINE_NET_NONE;
    p = proc_start(&spec, mb, &err);
    if (!p)
        fail_msg("%s, way %d: %s", row->name, way, err.text);
    while (!over) {
        struct proc_mail *pm;
        struct mail *m = NULL;

        if (mailbox_take(mb, NULL, clock_mono_ms() + LONG_MS, &m, &err) < 0)
            fail_msg("%s, way %d: %s", row->name, way, err.text);
        pm = (struct proc_mail *)m;
        over = pm->what == PROC_EXIT;
        if (!over && pm->fd == 1)
            buf_add(&out, buf_str(&pm->bytes));
        if (over &&
            (pm->how != row->how || pm->code != row->code || pm->ended_rest != row->ended_rest ||
             (row->out && strcmp(buf_cstr(&out), row->out) != 0)))
            fail_msg("%s, way %d: how %d, code %d, rest %d, '%s'", row->name, way, pm->how,
                     pm->code, pm->ended_rest, buf_cstr(&out));
        mail_free(m);
    }
    proc_unref(p);
    mailbox_close(mb);
    mailbox_unref(mb);
}

static void test_processes(void **state)
{
    (void)state;
    for (int i = 0; i < (int)ARRAY_LEN(process_cases) * WAYS; i++) {
        if (way_works((enum way)(i % WAYS)))
            run_process_case(&process_cases[i / WAYS], (enum way)(i % WAYS));
    }
    assert_false(is_running("[w]hile :; do sleep 1"));
    assert_false(is_running("[6]543"));
}

/* ---- observed calls ---- */

static const struct observe_case {
    const char *name;
    const char *script; /* in w, with the files a, b.sh and d/x */
    /* Records, with the scratch folder as "@" and without numbers; all of them are there. */
    const char *want;
    const char *lacks; /* and none of these */
} observe_cases[] = {
    {"a file", "cat a", "X /bin/sh|-c|cat a\nX /usr/bin/cat|a\nR @/w/a\n", "M @/w/a\n"},
    {"a script", "sh b.sh", "|b.sh\nR @/w/b.sh\n", NULL},
    {"one that is missing", "cat missing; :", "|missing\nM @/w/missing\n", "R @/w/missing\n"},
    {"relative", "cd d && cat ../a ./x", "R @/w/a\nR @/w/d/x\n", "../a\nR"},
    {"absolute", "cat $PWD/d//./x", "R @/w/d/x\n", NULL},
    {"a new one", "echo 1 > new; cat new", "M @/w/new\nR @/w/new\n", NULL},
    {"by a folder's descriptor",
     "python3 -c 'import os\nd = os.open(\"d\", os.O_RDONLY)\n"
     "os.open(\"x\", os.O_RDONLY, dir_fd=d)'",
     "R @/w/d\nR @/w/d/x\n", NULL},
    {"by a thread",
     "python3 -c 'import threading\n"
     "t = threading.Thread(target=lambda: open(\"d/x\").read())\nt.start()\nt.join()'",
     "R @/w/d/x\n", NULL},
    {"elsewhere", "cat ../out; cat /etc/passwd >/dev/null", "cat|../out\n", "R @/out\n"},
    {"a program of its own", "cp /bin/true d/prog && ./d/prog one two", "X @/w/d/prog|one|two\n",
     NULL},
    {"not along the path", "PATH=$PWD/d:/usr/bin:/bin; cat a", "R @/w/a\n", "X @/w/d/cat"},
    {"a script by its name", "chmod +x b.sh && ./b.sh arg", "X @/w/b.sh|arg\n", NULL},
    {"often", "i=0; while [ $i -lt 300 ]; do read x < a; i=$((i+1)); done", "R @/w/a\n",
     "R @/w/a\nR @/w/a\n"},
};

/* Reads records as observe_case has them. */
static void read_records(int fd, struct buf *ret)
{
    CLEANUP(buf_release) struct buf raw = BUF_INIT(BUF_NO_LIMIT);
    struct str rest;
    struct str record;

    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(buf_add_fd(&raw, fd, NULL), 0);
    rest = buf_str(&raw);
    while (rest.len && str_cut(&rest, '\0', &record)) {
        struct str kind;
        struct str pid;

        if (!record.len)
            continue;
        assert_true(str_cut(&record, ' ', &kind));
        assert_true(str_cut(&record, ' ', &pid));
        buf_addf(ret, "%.*s ", STR_ARG(kind));
        for (size_t i = 0; i < record.len; i++) {
            if (strncmp(record.ptr + i, scratch, strlen(scratch)) == 0) {
                buf_addc(ret, '@');
                i += strlen(scratch) - 1;
            } else {
                buf_addc(ret, record.ptr[i] == '\x1f' ? '|' : record.ptr[i]);
            }
        }
        buf_addc(ret, '\n');
    }
}

/* Whether each line of `want` is there, or the end of one that is longer. */
static bool has_lines(const char *text, const char *want)
{
    struct str rest = str_of(want);
    struct str line;
    char end[256];

    while (rest.len && str_cut(&rest, '\n', &line)) {
        snprintf(end, sizeof(end), "%.*s\n", STR_ARG(line));
        if (line.len && !strstr(text, end))
            return false;
    }
    return true;
}

static void run_observe_case(const struct observe_case *row, enum way way, bool own)
{
    static const char *const there[] = {"w/a", "w/d/x", "out", NULL};
    CLEANUP(fd_closep) int fd = -1;
    CLEANUP(mem_freep) char *path = in_scratch("records");
    CLEANUP(mem_freep) char *workspace = in_scratch("w");
    CLEANUP(mem_freep) char *script = in_scratch("w/b.sh");
    CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(view_release) struct view v = {0};
    CLEANUP(told_release) struct told t = {0};
    const char *write[] = {workspace, NULL};

    make_paths(there);
    assert_int_equal(file_replace(script, STR("#!/bin/sh\necho b\n"), 0644, NULL), 0);
    fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(fd > 0);
    if (own)
        view_add(&v, "w");
    view_go(&v, way, write);
    v.c.own_processes = own;
    v.c.observe = fd;
    v.c.observed = write;
    run(&t, &v.c, "w", row->script);
    if (t.rc < 0 || t.r.how != PROC_EXITED || t.r.code != 0)
        fail_msg("%s, way %d, own %d: %s code %d '%s'", row->name, way, own, t.err.text, t.r.code,
                 buf_cstr(&t.r.err));
    read_records(fd, &got);
    if (!has_lines(buf_cstr(&got), row->want) || (row->lacks && strstr(buf_cstr(&got), row->lacks)))
        fail_msg("%s, way %d, own %d:\n%s", row->name, way, own, buf_cstr(&got));
}

static void test_observed(void **state)
{
    const char *why = "";

    if (!confine_observe_works(&why)) {
        print_message("  skipped: %s\n", why);
        return;
    }
    for (int i = 0; i < (int)ARRAY_LEN(observe_cases) * WAYS * 2; i++) {
        enum way way = (enum way)(i / 2 % WAYS);

        if (!way_works(way))
            continue;
        teardown(state);
        setup(state);
        run_observe_case(&observe_cases[i / 2 / WAYS], way, i % 2);
    }
}

/* Cancelled while it is observed, with a process that waits for nothing. */
static void cancel_soon(void *arg)
{
    const struct timespec moment = {.tv_nsec = 200 * 1000 * 1000};

    nanosleep(&moment, NULL);
    cancel_set(arg);
}

static void test_cancelled(void **state)
{
    const char *argv[] = {"/bin/sh", "-c", "trap '' TERM; while :; do cat a >/dev/null; done",
                          NULL};

    (void)state;
    make_path("a");
    for (int way = 0; way < WAYS; way++) {
        CLEANUP(fd_closep) int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
        const char *list[] = {scratch, NULL};
        struct confinement c = {.own_processes = true,
                                .is_view = way == WAY_VIEW,
                                .write = way == WAY_VIEW ? NULL : list,
                                .observe = fd,
                                .observed = list};
        const struct proc_spec spec = {
            .argv = argv, .dir = scratch, .confine = &c, .grace_ms = 50, .timeout_ms = LONG_MS};
        struct cancel *cancel = cancel_new(NULL);
        struct proc_result r = {0};
        struct err err = {0};
        struct thread *soon;

        if (!way_works((enum way)way))
            continue;
        soon = thread_start("soon", cancel_soon, cancel, &err);
        assert_int_equal(proc_run(&spec, cancel, &r, &err), -1);
        assert_int_equal(err.code, ERR_CANCELLED);
        thread_join(soon);
        cancel_unref(cancel);
        proc_shutdown();
        assert_false(is_running("[d]o cat a >/dev/null"));
    }
}

UNIT_TEST(confine_view)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_overlay_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_prepared, setup, teardown),
        cmocka_unit_test_setup_teardown(test_several, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rules, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_processes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_observed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cancelled, setup, teardown),
    };
    int status = 0;
    pid_t child = geteuid() == 0 ? fork() : -1;

    if (child == 0) {
        if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
            _exit(1);
        print_message("as an ordinary user\n");
        _exit(cmocka_run_group_tests_name("user", tests, NULL, NULL));
    }
    if (child > 0 && (waitpid(child, &status, 0) < 0 || status))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
