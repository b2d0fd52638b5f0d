/*
 * Commands on trial, by the kernel that is here: what each would change or reach, that nothing has
 * changed until it is applied, and that then exactly that has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/disk.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "guard/effects.h"
#include "guard/sandbox_state.h"
#include "guard/trial.h"
#include "guard/workspace.h"
#include "proc/confine.h"
#include "proc/proc.h"
#include "unit.h"

#define LONG_MS 20000

/* w is worked in, h the home, o outside. */
static char root[] = "/var/tmp/tenax-trial-test-XXXXXX";

struct place {
    struct args args;
    struct conf *conf;
    struct workspace *workspace;
    struct sandbox *sandbox;
    struct strv warnings, env;
};

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static void shell(const char *command)
{
    const char *argv[] = {"/bin/bash", "-ec", command, NULL};
    struct proc_spec spec = {.argv = argv, .dir = root};
    struct proc_result r = {0};
    struct err err = {0};

    assert_int_equal(proc_run(&spec, NULL, &r, &err), 0);
    if (r.code)
        fail_msg("%s: %s", command, buf_cstr(&r.err));
    proc_result_release(&r);
}

/* The same every time. */
static void make_world(void)
{
    shell("chmod -R u+rwx . && rm -rf w o && mkdir -p w/dir/sub w/empty w/.git/hooks h/.ssh o && "
          "cd w && printf 'one\\ntwo\\n' > a && printf b > b && printf '\\0\\1' > bin && "
          "printf s > dir/s && printf t > dir/sub/t && ln -s a link && ln -s ../o/secret out && "
          "chmod 755 b && printf x > 'new\nline' && printf '[core]' > .git/config && "
          "printf secret > ../o/secret && printf key > ../h/.ssh/id && touch -d 2020-01-01 a b");
}

static int setup(void **state)
{
    struct place *p = mem_zalloc(sizeof(*p));
    CLEANUP(mem_freep) char *etc = NULL;
    CLEANUP(mem_freep) char *dir = NULL;
    const char *argv[] = {"tenax"};
    struct conf_sources from = {.args = &p->args, .trusted = true};
    struct sandbox_spec spec = {0};
    struct err err = {0};

    *state = p;
    memcpy(root + strlen(root) - 6, "XXXXXX", 6);
    if (!mkdtemp(root))
        return -1;
    etc = path_join(root, "etc");
    dir = path_join(root, "w");
    make_world();
    strv_addf(&p->env, "HOME=%s/h", root);
    strv_adds(&p->env, "PATH=/usr/local/bin:/usr/bin:/bin");
    from.environ = strv_get(&p->env);
    from.dir = dir;
    from.etc = etc;
    assert_int_equal(args_parse(1, (char *const *)argv, &p->args, &err), 0);
    if (conf_load(&from, &p->conf, &err) < 0)
        fail_msg("%s", err.text);
    p->workspace = workspace_new(dir, root, strv_get(&p->env));
    spec.conf = p->conf;
    spec.workspace = p->workspace;
    p->sandbox = sandbox_new(&spec, &p->warnings);
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;

    sandbox_free(p->sandbox);
    workspace_unref(p->workspace);
    conf_unref(p->conf);
    args_release(&p->args);
    strv_release(&p->warnings);
    strv_release(&p->env);
    free(p);
    proc_shutdown();
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static bool can_try(struct place *p)
{
    const char *why;

    if (trial_works(p->sandbox, &why))
        return true;
    print_message("not tried here: %s\n", why);
    skip();
    return false;
}

/* ---- a run ---- */

static enum trial_outcome run(struct place *p, struct trial *t, const char *command,
                              struct buf *ret_out)
{
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    const char *argv[] = {"/bin/bash", "-c", command, NULL};
    struct sandbox_job *job = NULL;
    struct proc_spec spec = {.argv = argv,
                             .dir = workspace_dir(p->workspace),
                             .merge_stderr = true,
                             .timeout_ms = LONG_MS,
                             .linger_ms = 100};
    struct proc_result r = {0};
    enum trial_outcome outcome;
    struct err err = {0};

    if (trial_enter(t, &job, &err) < 0)
        fail_msg("%s: %s", command, err.text);
    sandbox_job_environ(job, strv_get(&p->env), &env);
    spec.envp = (const char *const *)strv_get(&env);
    spec.confine = sandbox_job_confine(job);
    if (proc_run(&spec, NULL, &r, &err) < 0)
        fail_msg("%s: %s", command, err.text);
    sandbox_job_free(job);
    trial_ended(t, NULL, r.how == PROC_TIMED_OUT);
    if (trial_look(t, NULL, &outcome, &err) < 0)
        fail_msg("%s: %s", command, err.text);
    if (ret_out)
        buf_move(ret_out, &r.out);
    proc_result_release(&r);
    return outcome;
}

/* Every file with type, mode, content and, of files, time; sorted. */
static void state_of(const char *name, struct buf *ret)
{
    CLEANUP(buf_release) struct buf command = BUF_INIT(4096);
    const char *argv[] = {"/bin/bash", "-ec", NULL, NULL};
    struct proc_spec spec = {.argv = argv, .dir = root};
    struct proc_result r = {0};
    struct err err = {0};

    buf_addf(&command,
             "cd %s && find . \\( -type d -printf '%%p %%y %%m\\0' \\) -o "
             "-printf '%%p %%y %%m %%l %%T@\\0' | sort -z && "
             "find . -type f -print0 | sort -z | xargs -0 cksum",
             name);
    argv[2] = buf_cstr(&command);
    assert_int_equal(proc_run(&spec, NULL, &r, &err), 0);
    buf_move(ret, &r.out);
    proc_result_release(&r);
}

struct trial_case {
    const char *command;
    enum trial_outcome outcome;
    const char *what; /* the summary, or the name of the file wanted; NULL: not checked */
};

static const struct trial_case cases[] = {
    /* Nothing changes. */
    {"true", TRIAL_UNCHANGED, NULL},
    {"cat a; ls -la; grep -r one .; find . -name a", TRIAL_UNCHANGED, NULL},
    {"exit 3", TRIAL_UNCHANGED, NULL},
    {"git --version; ps aux; id; uname -a; df . /; env", TRIAL_UNCHANGED, NULL},
    {"echo x > /dev/null; echo y >&2; cat < /dev/null; head -c 3 /dev/urandom", TRIAL_UNCHANGED,
     NULL},
    {"echo x > $TMPDIR/x; cat $TMPDIR/x", TRIAL_UNCHANGED, NULL},
    {"exec 3>>a", TRIAL_UNCHANGED, NULL}, /* copied up, and the same */
    {"touch new; rm new", TRIAL_UNCHANGED, NULL},
    {"mv b c; mv c b", TRIAL_UNCHANGED, NULL},
    {"cp -p a x; mv x a", TRIAL_UNCHANGED, NULL},
    {"mkdir -p __pycache__; echo x > __pycache__/m.pyc; mkdir .pytest_cache", TRIAL_UNCHANGED,
     NULL},
    {"cat /etc/passwd /proc/self/status > /dev/null; ls /usr /proc /dev > /dev/null",
     TRIAL_UNCHANGED, NULL},
    {"cat /etc/hostname nothing; ls /nothing; cat ~/nothing", TRIAL_UNCHANGED, NULL},
    {"echo x > /etc/x; echo x > ../o/x; mkdir ../y", TRIAL_UNCHANGED, NULL}, /* cannot be */
    {"cat ~/.ssh/id", TRIAL_UNCHANGED, NULL},                                /* is not there */
    {"mknod dev c 1 3; mknod white c 0 0; mknod block b 7 0", TRIAL_UNCHANGED, NULL},
    {"kill -9 $PPID; kill -9 1; kill -9 -1", TRIAL_UNCHANGED, NULL},
    {"chmod u+s b", TRIAL_UNCHANGED, NULL},
    {"mount -t tmpfs x dir; umount .; unshare -m true; chroot . true", TRIAL_UNCHANGED, NULL},
    {"python3 -c 'import socket; s=socket.socket(); s.bind((\"127.0.0.1\",0)); s.listen(); "
     "c=socket.create_connection(s.getsockname()); s.accept()'",
     TRIAL_UNCHANGED, NULL},

    /* Something does. */
    {"echo x > new", TRIAL_CHANGED, "create 1 file"},
    {"mkdir new", TRIAL_CHANGED, "create 1 folder"},
    {"mkdir -p n/e/w && touch n/e/w/f", TRIAL_CHANGED, "create 1 file"},
    {"echo x >> a", TRIAL_CHANGED, "change 1 file"},
    {"sed -i s/one/1/ a", TRIAL_CHANGED, "change 1 file"},
    {"sed -i s/one/1/ link", TRIAL_CHANGED, "create 1 file"}, /* in the place of the link */
    {"rm a", TRIAL_CHANGED, "delete 1 file"},
    {"rm -rf dir", TRIAL_CHANGED, "delete 2 files"},
    {"rmdir empty", TRIAL_CHANGED, "delete 1 file"},
    {"mv a c", TRIAL_CHANGED, "rename 1 file"},
    {"mv dir other", TRIAL_CHANGED, "rename 1 file"},
    {"mv dir/s dir/sub/t2 && rm dir/sub/t", TRIAL_CHANGED, "rename 1 file, delete 1 file"},
    {"chmod +x a", TRIAL_CHANGED, "change the mode of 1 file"},
    {"chmod 700 dir", TRIAL_CHANGED, "change the mode of 1 file"},
    {"touch a", TRIAL_CHANGED, "touch 1 file"},
    {"ln -s b l2", TRIAL_CHANGED, "create 1 file"},
    {"ln -sfn b link", TRIAL_CHANGED, "change 1 file"},
    {"ln a hard", TRIAL_CHANGED, "create 1 file"},
    {"mkfifo pipe", TRIAL_CHANGED, "create 1 file"},
    {"rm a; mkdir a; touch a/x", TRIAL_CHANGED, NULL},
    {"rm -r dir; echo x > dir", TRIAL_CHANGED, "create 1 file, delete 2 files"},
    {"rm -r dir; mkdir dir; touch dir/new", TRIAL_CHANGED, "create 1 file, delete 2 files"},
    {"rm -r dir; mkdir dir; printf s > dir/s; touch -r a dir/s", TRIAL_CHANGED, NULL},
    {"rm -rf __pycache__ empty", TRIAL_CHANGED, "delete 1 file"},
    {"for i in $(seq 300); do echo $i > f$i; done", TRIAL_CHANGED, "create 300 files"},
    {"truncate -s 2G huge; truncate -s 1M huge", TRIAL_CHANGED, "create 1 file"},
    {"echo x > \"$(printf 'two\\nlines')\"; rm new*", TRIAL_CHANGED, NULL},
    {"echo x > .git/hooks/pre-commit; echo y >> .git/config; echo z > .npmrc", TRIAL_CHANGED,
     "create 2 files, change 1 file"},
    {"mkdir .claude; echo '{}' > .claude/settings.json", TRIAL_CHANGED, "create 1 file"},
    {"(sleep 0.2; echo late > late) & disown; echo x > soon", TRIAL_CHANGED, "create 1 file"},
    {"setsid -f bash -c 'sleep 30; echo late > late'; echo x > soon", TRIAL_CHANGED,
     "create 1 file"},
    {"python3 -c 'import mmap; f=open(\"a\",\"r+\"); m=mmap.mmap(f.fileno(),0); m[0:3]=b\"ONE\"'",
     TRIAL_CHANGED, "change 1 file"},
    {"chmod 000 dir; mkdir -m 000 shut; echo x > none; chmod 000 none", TRIAL_CHANGED, NULL},
    {"setfattr -n user.overlay.opaque -v y dir; setfattr -n user.overlay.redirect -v /a dir; "
     "setfattr -n user.x -v 1 b; echo x > new",
     TRIAL_CHANGED, "create 1 file"},

    /* Outside. */
    {"cat ../o/secret; echo x > new", TRIAL_STOPPED, "ROOT/o/secret"},
    {"cat out", TRIAL_STOPPED, "ROOT/o/secret"},
    {"ls ../o", TRIAL_STOPPED, "ROOT/o"},
    {"ls /", TRIAL_STOPPED, "/"},
    {"cd / && ls", TRIAL_STOPPED, "/"},
    {"python3 -c 'import os; os.open(\"var\", 0, dir_fd=os.open(\"/\", "
     "os.O_PATH))'",
     TRIAL_STOPPED, "/var"},
    {"cd ../o; cat secret", TRIAL_STOPPED, "ROOT/o/secret"},
    {"ln -s ../o/secret l; cat l 2> /dev/null || true", TRIAL_STOPPED, "ROOT/o/secret"},
    {"cat /proc/self/root$PWD/../o/secret", TRIAL_STOPPED, "ROOT/o/secret"},
    {"cp ../o/secret .", TRIAL_STOPPED, "ROOT/o/secret"},
    {"../o/tool", TRIAL_UNCHANGED, NULL}, /* is not there */
    {"ls ~/.ssh", TRIAL_REFUSED, NULL},
    {"curl -s http://192.0.2.1/", TRIAL_STOPPED, "192.0.2.1:80"},
    {"curl -s https://example.com/x", TRIAL_STOPPED, "example.com:443"},
    {"exec 3<>/dev/tcp/192.0.2.7/22", TRIAL_STOPPED, "192.0.2.7:22"},
    {"exec 3<>/dev/tcp/127.0.0.1/9", TRIAL_STOPPED, "127.0.0.1:9"},
    {"exec 3<>/dev/tcp/example.org/9", TRIAL_STOPPED, "example.org"},
    {"echo x > /dev/udp/192.0.2.9/53; python3 -c 'import socket; "
     "socket.socket(socket.AF_INET,socket.SOCK_DGRAM).sendto(b\"x\",(\"192.0.2.5\",99))'",
     TRIAL_STOPPED, "192.0.2.5:99"},
};

static void with_root(const char *text, struct buf *ret)
{
    if (strncmp(text, "ROOT", 4) == 0)
        buf_addf(ret, "%s%s", root, text + 4);
    else
        buf_adds(ret, text);
}

static bool check_case(struct place *p, const struct trial_case *c)
{
    CLEANUP(buf_release) struct buf before = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf after = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf told = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf wanted = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(trial_freep) struct trial *t = NULL;
    enum trial_outcome outcome;
    struct err err = {0};

    state_of("w", &before);
    if (trial_new(p->sandbox, &t, &err) < 0)
        fail_msg("%s: %s", c->command, err.text);
    outcome = run(p, t, c->command, &out);
    state_of("w", &after);
    if (!str_eq(buf_str(&before), buf_str(&after))) {
        print_error("%s: it has changed something\n", c->command);
        return false;
    }
    if (outcome == TRIAL_CHANGED)
        effects_summary(trial_effects(t), &told);
    else if (outcome == TRIAL_STOPPED)
        buf_add(&told, trial_wanted(t).name);
    if (c->what)
        with_root(c->what, &wanted);
    if (outcome != c->outcome || (c->what && !str_eq(buf_str(&told), buf_str(&wanted)))) {
        print_error("%s: outcome %d '%s'\n%s\n", c->command, (int)outcome, buf_cstr(&told),
                    buf_cstr(&out));
        return false;
    }
    return true;
}

static void test_outcomes(void **state)
{
    int failed = 0;

    if (!can_try(*state))
        return;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t start_ms = clock_mono_ms();

        failed += !check_case(*state, &cases[i]);
        if (clock_mono_ms() - start_ms > 2000)
            print_message("%s: %d ms\n", cases[i].command, (int)(clock_mono_ms() - start_ms));
    }
    assert_int_equal(failed, 0);
}

/* The changes applied are those that the command would have made by itself. */
static void test_apply(void **state)
{
    struct place *p = *state;

    if (!can_try(p))
        return;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf_release) struct buf applied = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(buf_release) struct buf again = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(trial_freep) struct trial *t = NULL;
        CLEANUP(trial_freep) struct trial *second = NULL;
        struct err err = {0};

        if (cases[i].outcome != TRIAL_CHANGED)
            continue;
        make_world();
        assert_int_equal(trial_new(p->sandbox, &t, &err), 0);
        assert_int_equal(run(p, t, cases[i].command, NULL), TRIAL_CHANGED);
        if (trial_apply(t, &err) < 0)
            fail_msg("%s: %s", cases[i].command, err.text);
        /* The same state, seen through an overlay, has nothing left to change. */
        state_of("w", &applied);
        assert_int_equal(trial_new(p->sandbox, &second, &err), 0);
        assert_int_equal(run(p, second, "true", NULL), TRIAL_UNCHANGED);
        state_of("w", &again);
        assert_true(str_eq(buf_str(&applied), buf_str(&again)));
        VEC_EACH(&trial_effects(t)->list, e) {
            struct stat st;
            bool is_there = lstat(e->path, &st) == 0;

            if (e->change == EFFECT_DELETED ? is_there : !is_there || st.st_mode != e->now.st_mode)
                fail_msg("%s: %s is not as approved", cases[i].command, e->path);
        }
    }
    make_world();
}

struct stale_case {
    const char *command, *meanwhile;
};

static const struct stale_case stale_cases[] = {
    {"echo x >> a", "echo y >> w/a"},
    {"echo x >> a", "touch w/a"},
    {"echo x >> a", "chmod 600 w/a"},
    {"echo x >> a", "rm w/a"},
    {"echo x >> a", "rm w/a; ln -s ../o/secret w/a"},
    {"echo x > new", "echo y > w/new"},
    {"echo x > new", "ln -s ../o/secret w/new"},
    {"rm a", "echo y >> w/a"},
    {"rm -r dir", "echo y > w/dir/kept"},
    {"rm -r dir", "echo y > w/dir/sub/t"},
    {"echo x > dir/s", "mv w/dir w/d2; ln -s ../o w/dir"},
    {"echo x > dir/new", "rm -r w/dir; ln -s ../o w/dir"},
    {"rm dir/s", "mv w/dir w/d2; ln -s d2 w/dir"},
    {"chmod +x a", "mv w/a w/a2; cp w/a2 w/a"},
};

/* Whatever the user, or a link that another program swaps in, has changed stays. */
static void test_stale(void **state)
{
    struct place *p = *state;

    if (!can_try(p))
        return;
    for (size_t i = 0; i < ARRAY_LEN(stale_cases); i++) {
        CLEANUP(buf_release) struct buf before = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(buf_release) struct buf after = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(trial_freep) struct trial *t = NULL;
        struct err err = {0};

        make_world();
        assert_int_equal(trial_new(p->sandbox, &t, &err), 0);
        assert_int_equal(run(p, t, stale_cases[i].command, NULL), TRIAL_CHANGED);
        shell(stale_cases[i].meanwhile);
        state_of(".", &before);
        if (trial_apply(t, &err) == 0)
            fail_msg("%s, %s: applied", stale_cases[i].command, stale_cases[i].meanwhile);
        assert_int_equal(err.code, ERR_BUSY);
        state_of(".", &after);
        assert_true(str_eq(buf_str(&before), buf_str(&after)));
    }
    make_world();
}

/* A granted file is available in the next run, and nothing else is. */
static void test_grant(void **state)
{
    struct place *p = *state;
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(trial_freep) struct trial *t = NULL;
    struct err err = {0};

    if (!can_try(p))
        return;
    assert_int_equal(trial_new(p->sandbox, &t, &err), 0);
    assert_int_equal(run(p, t, "cat ../o/secret > copy; ls ../h", NULL), TRIAL_STOPPED);
    assert_int_equal(trial_grant(t, &err), 0);
    assert_int_equal(run(p, t, "cat ../o/secret > copy; cat copy; ls ../h", &out), TRIAL_STOPPED);
    assert_string_equal(buf_cstr(&out), "secret");
    assert_true(str_ends(trial_wanted(t).name, STR("/h")));
    buf_clear(&out);
    assert_int_equal(run(p, t, "cat ../o/secret > copy", &out), TRIAL_CHANGED);
    assert_int_equal(trial_apply(t, &err), 0);
    shell("grep -q secret w/copy");
    make_world();
}

/* ---- killed while it applies ---- */

/* Changes of every kind at once. */
static const char *const killed_command =
    "echo new > new; sed -i s/one/1/ a; rm b; mv dir/s dir/s2; mkdir n; echo n > n/n; chmod 700 "
    "dir/sub; rm bin; mkdir bin; echo x > bin/x; touch link2; ln -sf b link; rm -r empty";

/* In a separate process, which is killed before its n-th step. False: it completed. */
static bool apply_and_die(struct trial *t, int n)
{
    pid_t pid = fork();
    char spec[32];
    int status;

    assert_true(pid >= 0);
    if (pid == 0) {
        struct err err = {0};

        snprintf(spec, sizeof(spec), "%s:%d", n % 2 ? "kill" : "after", n / 2 + 1);
        disk_test_mode(spec);
        _exit(trial_apply(t, &err) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status))
        return true;
    assert_int_equal(WEXITSTATUS(status), 0);
    return false;
}

/* name: below w. "" when there is nothing. */
static void look_of(const char *name, struct buf *ret)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    char target[256];
    struct stat st;
    ssize_t n;

    buf_addf(&path, "%s/w/%s", root, name);
    if (lstat(buf_cstr(&path), &st) < 0)
        return;
    buf_addf(ret, "%o ", (unsigned)st.st_mode);
    n = readlink(buf_cstr(&path), target, sizeof(target));
    if (n > 0)
        buf_add(ret, str_make(target, (size_t)n));
    else if (S_ISREG(st.st_mode) && file_slurp(buf_cstr(&path), 1000, &text, NULL) == 0)
        buf_add(ret, buf_str(&text));
}

static const char *const killed_names[] = {
    "new", "a",     "b",     "dir",  "dir/s", "dir/s2",    "n",   "n/n",       "dir/sub",
    "bin", "bin/x", "link2", "link", "empty", "dir/sub/t", "out", "new\nline", ".git/config",
};

static void look_at_all(struct buf *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(killed_names); i++)
        look_of(killed_names[i], &ret[i]);
}

static void release_all(struct buf *looks)
{
    for (size_t i = 0; i < ARRAY_LEN(killed_names); i++)
        buf_release(&looks[i]);
}

/* Every file is the old one or the new one, and the report afterwards is true. */
static void test_killed(void **state)
{
    struct place *p = *state;
    struct buf old[ARRAY_LEN(killed_names)] = {0};
    struct buf new[ARRAY_LEN(killed_names)] = {0};
    CLEANUP(buf_release) struct buf command = BUF_INIT(BUF_NO_LIMIT);
    bool was_killed = true;
    int steps = 0;

    if (!can_try(p))
        return;
    for (size_t i = 0; i < ARRAY_LEN(killed_names); i++) {
        buf_init(&old[i], BUF_NO_LIMIT);
        buf_init(&new[i], BUF_NO_LIMIT);
    }
    make_world();
    look_at_all(old);
    buf_addf(&command, "cd w; %s", killed_command);
    shell(buf_cstr(&command));
    look_at_all(new);
    for (int n = 1; was_killed && n < 200; n++) {
        CLEANUP(trial_freep) struct trial *t = NULL;
        CLEANUP(buf_release) struct buf journal = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(strv_release) struct strv told = STRV_INIT;
        struct buf now[ARRAY_LEN(killed_names)] = {0};
        struct err err = {0};

        make_world();
        assert_int_equal(trial_new(p->sandbox, &t, &err), 0);
        assert_int_equal(run(p, t, killed_command, NULL), TRIAL_CHANGED);
        was_killed = apply_and_die(t, n) || n % 2 == 0; /* not every step has an "after" */
        for (size_t i = 0; i < ARRAY_LEN(killed_names); i++)
            buf_init(&now[i], BUF_NO_LIMIT);
        look_at_all(now);
        for (size_t i = 0; i < ARRAY_LEN(killed_names); i++) {
            /* A folder that is new gets its mode when its files are there. */
            bool is_made =
                str_is(str_of(killed_names[i]), "n") || str_is(str_of(killed_names[i]), "bin");

            if (!str_eq(buf_str(&now[i]), buf_str(&old[i])) &&
                !str_eq(buf_str(&now[i]), buf_str(&new[i])) && !is_made)
                fail_msg("step %d: %s is neither: %s", n, killed_names[i], buf_cstr(&now[i]));
        }
        buf_addf(&journal, "%s/%u/journal", p->sandbox->trials.path, p->sandbox->trial_count);
        effects_settle(buf_cstr(&journal), &told);
        if (was_killed && told.len) {
            assert_int_equal(told.len, 2);
            for (size_t i = 0; i < ARRAY_LEN(killed_names); i++) {
                CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
                bool changes = !str_eq(buf_str(&old[i]), buf_str(&new[i]));
                bool is_new = str_eq(buf_str(&now[i]), buf_str(&new[i]));

                buf_addf(&path, "%s/w/%s", root, killed_names[i]);
                if (changes && is_new && str_has(str_of(told.ptr[1]), buf_str(&path)) &&
                    !str_has(str_of(told.ptr[0]), buf_str(&path)))
                    fail_msg("step %d: %s: %s", n, killed_names[i], told.ptr[1]);
            }
        }
        shell("test -z \"$(find w -name '.*tenax-trial*')\"");
        release_all(now);
        steps = n;
    }
    assert_true(steps > 20 && !was_killed);
    release_all(old);
    release_all(new);
    make_world();
}

/* ---- a thousand commands ---- */

static const char *const verbs[] = {
    "cat %s",
    "rm -rf %s",
    "echo x > %s",
    "echo x >> %s",
    "mv %s moved",
    "cp -r %s copied",
    "chmod 777 %s",
    "touch %s",
    "ln -sf a %s",
    "mkdir -p %s",
    "sed -i s/o/0/ %s",
    "truncate -s 9 %s",
    "dd if=/dev/zero of=%s bs=1 count=3 status=none",
    "python3 -c \"open('%s','w').write('x')\"",
    "bash -c 'exec 3<>%s; echo y >&3'",
    "find %s -delete",
    "tee %s < a",
    "install -m 755 a %s",
    "tar cf %s a",
    "git init -q %s",
    "mkfifo %s",
    "(sleep 0.01; echo late > %s) &",
    "ls -la %s",
    "exec 3<>/dev/tcp/192.0.2.1/80; echo %s >&3",
    "perl -e 'rename \"%s\", \"r\"'",
    "rsync a %s",
    "xargs -I{} cp {} %s <<< a",
    "awk '{print > \"%s\"}' a",
    "unlink %s",
    "rmdir %s",
};

static const char *const targets[] = {
    "a",
    "b",
    "bin",
    "dir",
    "dir/s",
    "dir/sub/t",
    "link",
    "out",
    "empty",
    "new",
    ".git/config",
    ".git/hooks/pre-commit",
    ".npmrc",
    "../o/secret",
    "../o/new",
    "../h/.ssh/id",
    "$HOME/.bashrc",
    "/etc/hostname",
    "/tmp/tenax-trial-x",
    "../w/a",
    "deep/er/x",
    "'with space'",
    "*",
    ".",
};

/* Nothing changes unasked: files, modes, times, here and around it. */
static void test_thousand(void **state)
{
    struct place *p = *state;
    CLEANUP(buf_release) struct buf before = BUF_INIT(BUF_NO_LIMIT);
    size_t count = getenv("TENAX_HEAVY") ? 1000 : 120;
    unsigned seed = 7;

    if (!can_try(p))
        return;
    make_world();
    state_of(".", &before);
    for (size_t i = 0; i < count; i++) {
        CLEANUP(buf_release) struct buf command = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(trial_freep) struct trial *t = NULL;
        struct err err = {0};

        for (int part = 0; part < 1 + (int)(i % 3); part++) {
            const char *verb = verbs[rand_r(&seed) % ARRAY_LEN(verbs)];
            const char *at = strstr(verb, "%s");

            buf_addf(&command, "%s%.*s%s%s", part ? "; " : "", (int)(at - verb), verb,
                     targets[rand_r(&seed) % ARRAY_LEN(targets)], at + 2);
        }
        assert_int_equal(trial_new(p->sandbox, &t, &err), 0);
        (void)run(p, t, buf_cstr(&command), NULL);
        trial_free(TAKE_PTR(t));
        if (i % 10 == 9 || i + 1 == count) {
            CLEANUP(buf_release) struct buf after = BUF_INIT(BUF_NO_LIMIT);

            state_of(".", &after);
            if (!str_eq(buf_str(&before), buf_str(&after)))
                fail_msg("one of the last ten has changed something: %s\n%s\n%s",
                         buf_cstr(&command), buf_cstr(&before), buf_cstr(&after));
        }
    }
}

/* A file that has to be copied: its holes are none of the copy's, and a copy that fails is gone. */
static void test_other_disk(void **state)
{
    char upper[] = "/dev/shm/tenax-trial-XXXXXX";
    CLEANUP(mem_freep) char *work = path_join(root, "w");
    CLEANUP(mem_freep) char *image = path_join(work, "image");
    CLEANUP(mem_freep) char *journal = path_join(root, "journal");
    CLEANUP(buf_release) struct buf command = BUF_INIT(BUF_NO_LIMIT);
    struct stat here, there;
    struct rlimit limit;

    (void)state;
    make_world();
    if (!mkdtemp(upper) || stat(upper, &there) < 0 || stat(work, &here) < 0 ||
        here.st_dev == there.st_dev) {
        rmdir(upper);
        skip();
    }
    buf_addf(&command,
             "cd %s && printf begin > image && truncate -s 3G image && printf end >> image", upper);
    shell(buf_cstr(&command));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int fails = 1; fails >= 0; fails--) {
        CLEANUP(effects_release) struct effects e = EFFECTS_INIT;
        const struct effects_layer layer = {work, upper};
        const struct rlimit less = {fails ? 1 << 20 : limit.rlim_cur, limit.rlim_max};
        struct err err = {0};
        int rc;

        assert_int_equal(effects_find(&layer, 1, /*cancel=*/NULL, &e, &err), 0);
        clock_gettime(CLOCK_REALTIME, &e.since);
        signal(SIGXFSZ, SIG_IGN);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
        rc = effects_apply(&e, journal, "trial", &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        signal(SIGXFSZ, SIG_DFL);
        assert_int_equal(rc, fails ? -1 : 0);
        assert_int_equal(access(image, F_OK), fails ? -1 : 0);
        shell("test -z \"$(find w -name '.*.trial')\"");
    }
    assert_int_equal(stat(image, &here), 0);
    assert_int_equal(here.st_size, ((int64_t)3 << 30) + 3);
    assert_true(here.st_blocks < 1000);
    shell("test \"$(head -c 5 w/image)$(tail -c 3 w/image)\" = beginend");
    rmdir(upper);
    make_world();
}

static void test_too_large(void **state)
{
    struct place *p = *state;
    CLEANUP(trial_freep) struct trial *t = NULL;
    struct err err = {0};

    if (!can_try(p))
        return;
    assert_int_equal(trial_new(p->sandbox, &t, &err), 0);
    assert_int_equal(run(p, t, "for i in 1 2 3; do fallocate -l 400M big$i; done", NULL),
                     TRIAL_OVERRUN);
    assert_true(strstr(trial_why(t), "1 GB"));
}

UNIT_TEST(trial)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outcomes),   cmocka_unit_test(test_apply),
        cmocka_unit_test(test_stale),      cmocka_unit_test(test_grant),
        cmocka_unit_test(test_too_large),  cmocka_unit_test(test_killed),
        cmocka_unit_test(test_other_disk), cmocka_unit_test(test_thousand),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
