/*
 * The sandbox above the kernel: which paths a job may write, read or not see, which commands are
 * confined, what its environment is, and when a failure is its fault. Nothing is confined here;
 * that is proc's business and its tests'.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/secret.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "guard/permit.h"
#include "guard/sandbox_state.h"
#include "guard/trial.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "unit.h"

/* root/w is worked in and a repository, root/t a worktree of it, root/s/deep is far below another
 * repository, root/h the home. */
static char root[64];

static void make_file(const char *name)
{
    CLEANUP(mem_freep) char *path = path_join(root, name);
    CLEANUP(mem_freep) char *dir = path_dirname(path);

    assert_int_equal(file_mkdirs(dir, 0700, NULL), 0);
    assert_int_equal(file_replace(path, STR("{}\n"), 0600, NULL), 0);
}

static void make_text(const char *name, const char *fmt)
{
    CLEANUP(mem_freep) char *path = path_join(root, name);
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);
    struct str rest = str_of(fmt);
    size_t at = str_find(rest, STR("ROOT"));

    buf_add(&text, str_first(rest, at));
    if (at < rest.len)
        buf_addf(&text, "%s%s", root, fmt + at + 4);
    assert_int_equal(file_replace(path, buf_str(&text), 0600, NULL), 0);
}

static void with_root(const char *text, struct buf *ret)
{
    struct str rest = str_of(text);
    size_t at;

    for (at = str_find(rest, STR("ROOT")); at < rest.len; at = str_find(rest, STR("ROOT"))) {
        buf_add(ret, str_first(rest, at));
        buf_adds(ret, root);
        rest = str_from(rest, at + 4);
    }
    buf_add(ret, rest);
}

static void make_link(const char *name, const char *to)
{
    CLEANUP(mem_freep) char *path = path_join(root, name);

    assert_int_equal(symlink(to, path), 0);
}

static int set_up(void **state)
{
    static const char *const files[] = {
        "w/src/a.c",
        "w/.git/HEAD",
        "w/.git/config",
        "w/.git/worktrees/t/HEAD",
        "w/.git/worktrees/t/x",
        "w/.git/hooks/x",
        "w/.claude/settings.json",
        "w/.claude/worktrees/one/a.c",
        "w/.mcp.json",
        "t/a.c",
        "s/.git/HEAD",
        "s/.git/config",
        "s/deep/down/a.c",
        "h/.ssh/id_rsa",
        "h/.aws/credentials",
        "h/.netrc",
        "h/.boto",
        "h/.s3cfg",
        "h/.sqlite_history",
        "h/.kaggle/kaggle.json",
        "h/.m2/settings.xml",
        "h/.m2/settings-security.xml",
        "h/.bashrc",
        "h/.npmrc",
        "h/.tenax/auth.json",
        "h/.tenax/run/session.sock",
        "h/.tenax/settings.json",
        "h/.claude/.credentials.json",
        "h/.claude/settings.json",
        "h/secret/key",
        "h/secret/public/key",
        "h/other/a",
        "added/a",
        "added/.claude/settings.json",
        "e/.git/HEAD", /* its own hooks, and one where they are all it has */
        "e/.husky/pre-commit",
        "e/.husky/_/h",
        "f/.git/HEAD",
        "f/a",
        "v/.git/HEAD", /* its settings are in several files */
        "v/two words",
        "v/shared/deep",
        "m/one/.git/HEAD", /* no repository, but there are some below */
        "m/one/.git/config",
        "m/a/b/two/.git/HEAD",
        "m/a/b/two/.git/config",
        "m/a/b/c/far/.git/HEAD",
        "m/a/b/c/far/.git/config",
        "m/node_modules/x/.git/HEAD",
        "m/node_modules/x/.git/config",
        "m/one/.husky/pre-commit",
        "o/a",
        "g/a",         /* .git names a repository that knows nothing of it */
        "l/a",         /* .git is a link to that */
        "c/.git/HEAD", /* .git shares what another one has */
        "d/sub/a",     /* a submodule, worked in alone */
        "d/.git/HEAD",
        "d/.git/modules/sub/HEAD",
        "n/in/HEAD", /* .git names a folder inside */
        "k/in/HEAD", /* .git is a link to one */
        "p/keep/repo.git/HEAD",
        "b/a",                         /* an allowed folder is a link, .git names its target */
        "h/.password-store/.git/HEAD", /* .git at home names it */
        "w/.git/modules/sub/HEAD",
        "w/.git/modules/sub/config",
        "w/.git/modules/far/away/HEAD",
        "w/.git/modules/far/away/config",
        "w/.git/modules/sub/modules/inner/HEAD",
        "w/.git/modules/sub/modules/inner/config",
    };
    char real[4096];

    (void)state;
    snprintf(root, sizeof(root), "/tmp/sandbox-test-XXXXXX");
    assert_non_null(mkdtemp(root));
    assert_non_null(realpath(root, real));
    assert_string_equal(real, root);
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        make_file(files[i]);
    make_text("t/.git", "gitdir: ROOT/w/.git/worktrees/t\n");
    make_text("w/.git/worktrees/t/commondir", "../..\n");
    make_text("w/.git/worktrees/t/gitdir", "ROOT/t/.git\n");
    make_text("g/.git", "gitdir: ROOT/s/.git\n");
    make_text("c/.git/commondir", "ROOT/s/.git\n");
    make_text("d/sub/.git", "gitdir: ../.git/modules/sub\n");
    make_text("d/.git/modules/sub/config", "[core]\n\tbare = false\n\tworktree = ../../../sub\n");
    make_text("e/.git/config", "[core]\n\tbare = false\n\thooksPath = .husky/_\n");
    make_text("f/.git/config", "[core]\n\thookspath = .\n");
    make_text("v/.git/config", "[core]\n\tbare = false\n[include]\n\tpath = ../.gitconfig\n"
                               "[includeIf \"gitdir:x/\"]\n\tpath = \"ROOT/v/two words\"\n"
                               "[Include]\n\tPath = ../missing\n\tpath = ~/other/a\n");
    make_text("v/.gitconfig", "[include]\n\tpath = shared/deep\n[alias]\n\tpath = src\n");
    make_text("m/one/.git/config", "[core]\n\thooksPath = .husky\n");
    make_text("n/.git", "gitdir: in\n");
    make_text("p/.git", "gitdir: keep/repo.git\n");
    make_text("b/.git", "gitdir: ROOT/s/.git\n");
    make_text("h/.git", "gitdir: .password-store/.git\n");
    make_link("b/build", "../s");
    make_link("k/.git", "in");
    make_link("l/.git", "../s/.git");
    return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* A sandbox with what it is made from. */
struct place {
    struct args args;
    struct conf *conf;
    struct workspace *workspace;
    struct sandbox *sandbox;
    struct strv warnings;
};

static void place_release(struct place *p)
{
    sandbox_free(p->sandbox);
    workspace_unref(p->workspace);
    conf_unref(p->conf);
    args_release(&p->args);
    strv_release(&p->warnings);
}

static bool yes(void)
{
    return true;
}

static bool no(void)
{
    return false;
}

/* Whatever this machine can do. */
static void set_state(struct sandbox *s, enum sandbox_state state)
{
    s->wanted = state == SANDBOX_ON ? SANDBOX_MISSING : state;
    s->can_confine = state == SANDBOX_ON ? yes : no;
}

static void place_make(struct place *p, const char *work, const char *settings)
{
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(mem_freep) char *dir = path_join(root, work);
    CLEANUP(mem_freep) char *etc = path_join(root, "etc");
    const char *argv[] = {"tenax", "--allow-dangerously-skip-permissions", "--settings", settings};
    struct conf_sources from = {.dir = dir, .args = &p->args, .etc = etc, .trusted = true};
    struct sandbox_spec spec = {0};
    struct err err = {0};

    *p = (struct place){0};
    strv_addf(&env, "HOME=%s/h", root);
    strv_addf(&env, "TMPDIR=%s/o", root);
    strv_adds(&env, "PATH=/usr/bin:/bin");
    from.environ = strv_get(&env);
    assert_int_equal(args_parse(ARRAY_LEN(argv), (char *const *)argv, &p->args, &err), 0);
    if (conf_load(&from, &p->conf, &err) < 0)
        fail_msg("%s", err.text);
    p->workspace = workspace_new(dir, root, strv_get(&env));
    spec.conf = p->conf;
    spec.workspace = p->workspace;
    p->sandbox = sandbox_new(&spec, &p->warnings);
    set_state(p->sandbox, SANDBOX_ON);
}

/* ---- paths ---- */

struct path_case {
    const char *work;
    const char *settings;
    const char *path; /* below root; one that begins with a slash is as it is */
    enum path_is is;
};

#define NO_SETTINGS "{}"
#define SOCKETS(list) "{\"sandbox\":{\"network\":{\"allowUnixSockets\":[" list "]}}}"
#define FILES(lists) "{\"sandbox\":{\"filesystem\":{" lists "}}}"

static const struct path_case path_cases[] = {
    {"w", NO_SETTINGS, "w", PATH_WRITABLE},
    {"w", NO_SETTINGS, "w/src/a.c", PATH_WRITABLE},
    {"w", NO_SETTINGS, "w/new/folder", PATH_WRITABLE},
    {"w", NO_SETTINGS, "wx", PATH_READABLE},
    {"w", NO_SETTINGS, "o/a", PATH_READABLE},
    {"w", NO_SETTINGS, "/tmp/x", PATH_READABLE},
    {"w", NO_SETTINGS, "/etc/passwd", PATH_READABLE},
    {"w", NO_SETTINGS, "added/a", PATH_WRITABLE}, /* added to every workspace here */
    {"w", NO_SETTINGS, "added/.claude/settings.json", PATH_READABLE},
    {"w", NO_SETTINGS, "added/.tenax/settings.json", PATH_READABLE}, /* is not there */
    /* Where the local settings are, and what lies between. */
    {"s/deep/down", FILES("\"allowWrite\":[\"../..\"]"), "s/deep/x", PATH_WRITABLE},
    {"s/deep/down", FILES("\"allowWrite\":[\"../..\"]"), "s/.tenax/settings.local.json",
     PATH_READABLE},
    {"s/deep/down", FILES("\"allowWrite\":[\"../..\"]"), "s/deep/.claude/commands/x.md",
     PATH_READABLE},
    {"t", FILES("\"allowWrite\":[\"../w\"]"), "w/.tenax/settings.local.json", PATH_READABLE},
    {"w", NO_SETTINGS, "TEMP/x", PATH_WRITABLE},
    /* What makes programs run. */
    {"w", NO_SETTINGS, "w/.git/objects/aa", PATH_WRITABLE},
    {"w", NO_SETTINGS, "w/.git/index", PATH_WRITABLE},
    {"w", NO_SETTINGS, "w/.git/config", PATH_READABLE},
    {"w", NO_SETTINGS, "w/.git/hooks/pre-commit", PATH_READABLE},
    {"w", NO_SETTINGS, "w/.claude/settings.json", PATH_READABLE},
    {"w", NO_SETTINGS, "w/.claude/agents/x.md", PATH_READABLE},
    {"w", NO_SETTINGS, "w/.claude/worktrees/one/a.c", PATH_WRITABLE},
    {"w", FILES("\"denyWrite\":[\".claude\"]"), "w/.claude/worktrees/one/a.c", PATH_READABLE},
    {"w", FILES("\"denyRead\":[\".claude\"]"), "w/.claude/worktrees/one/a.c", PATH_HIDDEN},
    {"w", FILES("\"denyWrite\":[\".claude\"],\"allowWrite\":[\".claude/worktrees\"]"),
     "w/.claude/worktrees/one/a.c", PATH_WRITABLE},
    {"w", NO_SETTINGS, "w/.tenax/settings.json", PATH_READABLE}, /* is not there */
    {"w", NO_SETTINGS, "w/.mcp.json", PATH_READABLE},
    {"w", NO_SETTINGS, "w/.git/modules/sub/objects/aa", PATH_WRITABLE},
    {"w", NO_SETTINGS, "w/.git/modules/sub/config", PATH_READABLE},
    {"w", NO_SETTINGS, "w/.git/modules/sub/hooks/x", PATH_READABLE},
    {"w", NO_SETTINGS, "w/.git/modules/far/away/config", PATH_READABLE},
    {"w", NO_SETTINGS, "w/.git/modules/sub/modules/inner/config", PATH_READABLE},
    /* A worktree writes its own git folder and the one it shares. */
    {"t", NO_SETTINGS, "t/a.c", PATH_WRITABLE},
    {"t", NO_SETTINGS, "t/.git", PATH_READABLE},
    {"t", NO_SETTINGS, "w/.git/worktrees/t/index", PATH_WRITABLE},
    {"t", NO_SETTINGS, "w/.git/worktrees/t/commondir", PATH_READABLE},
    {"w", NO_SETTINGS, "w/.git/worktrees/t/commondir", PATH_READABLE},
    {"t", NO_SETTINGS, "w/.git/objects/aa", PATH_WRITABLE},
    {"t", NO_SETTINGS, "w/.git/refs/heads/x", PATH_WRITABLE},
    {"t", NO_SETTINGS, "w/.git/config", PATH_READABLE},
    {"t", NO_SETTINGS, "w/.git/hooks/pre-commit", PATH_READABLE},
    {"t", NO_SETTINGS, "w/src/a.c", PATH_READABLE},
    /* A folder somewhere in a repository. */
    {"g", NO_SETTINGS, "s/.git/objects/aa", PATH_READABLE},
    {"g", NO_SETTINGS, "g/.git", PATH_READABLE},
    {"l", NO_SETTINGS, "l/.git", PATH_READABLE},
    {"l", NO_SETTINGS, "s/.git/objects/aa", PATH_READABLE},
    {"c", NO_SETTINGS, "s/.git/objects/aa", PATH_READABLE},
    {"c", NO_SETTINGS, "c/.git/objects/aa", PATH_WRITABLE},
    {"c", NO_SETTINGS, "c/.git/hooks/x", PATH_READABLE},
    {"d/sub", NO_SETTINGS, "d/.git/modules/sub/index", PATH_WRITABLE},
    {"d/sub", NO_SETTINGS, "d/.git/modules/sub/config", PATH_READABLE},
    {"d/sub", NO_SETTINGS, "d/.git/objects/aa", PATH_READABLE},
    {"e", NO_SETTINGS, "e/.husky/pre-commit", PATH_READABLE},
    {"e", NO_SETTINGS, "e/.husky/_/h", PATH_READABLE},
    {"e", NO_SETTINGS, "e/a", PATH_WRITABLE},
    {"f", NO_SETTINGS, "f/a", PATH_WRITABLE},
    /* Repositories below the folder. */
    {"m", NO_SETTINGS, "m/one/a", PATH_WRITABLE},
    {"m", NO_SETTINGS, "m/one/.git/index", PATH_WRITABLE},
    {"m", NO_SETTINGS, "m/one/.git/hooks/pre-commit", PATH_READABLE},
    {"m", NO_SETTINGS, "m/one/.git/config", PATH_READABLE},
    {"m", NO_SETTINGS, "m/one/.husky/pre-commit", PATH_READABLE},
    {"m", NO_SETTINGS, "m/a/b/two/.git/config", PATH_READABLE},
    {"m", NO_SETTINGS, "m/a/b/c/far/.git/config", PATH_WRITABLE}, /* too far */
    {"m", NO_SETTINGS, "m/node_modules/x/.git/config", PATH_WRITABLE},
    {"m", FILES("\"denyWrite\":[\"one\"]"), "m/one/.git/index", PATH_READABLE},
    {"m/one", NO_SETTINGS, "m/a/b/two/.git/config", PATH_READABLE}, /* not written at all */
    {"v", NO_SETTINGS, "v/.gitconfig", PATH_READABLE},
    {"v", NO_SETTINGS, "v/two words", PATH_READABLE},
    {"v", NO_SETTINGS, "v/shared/deep", PATH_READABLE}, /* by the one that is included */
    {"v", NO_SETTINGS, "v/shared/other", PATH_WRITABLE},
    {"v", NO_SETTINGS, "v/src", PATH_WRITABLE},
    {"v", FILES("\"allowWrite\":[\"~/other\"]"), "h/other/a", PATH_READABLE},
    {"n", NO_SETTINGS, "n/in/objects/aa", PATH_WRITABLE},
    {"n", NO_SETTINGS, "n/in/hooks/x", PATH_READABLE},
    {"n", NO_SETTINGS, "n/.git", PATH_READABLE},
    {"k", NO_SETTINGS, "k/in/objects/aa", PATH_WRITABLE},
    {"k", NO_SETTINGS, "k/in/hooks/x", PATH_READABLE},
    {"k", NO_SETTINGS, "k/.git/hooks/x", PATH_READABLE}, /* so the link stays */
    /* What another rule closes is opened by no .git. */
    {"p", NO_SETTINGS, "p/keep/repo.git/key", PATH_WRITABLE},
    {"p", FILES("\"denyWrite\":[\"keep\"]"), "p/keep/repo.git/key", PATH_READABLE},
    {"p", FILES("\"denyWrite\":[\"keep/repo.git\"]"), "p/keep/repo.git/key", PATH_READABLE},
    {"p", FILES("\"denyRead\":[\"keep\"]"), "p/keep/repo.git/key", PATH_HIDDEN},
    {"p", FILES("\"denyRead\":[\"keep\"]"), "p/keep/repo.git/hooks/x", PATH_HIDDEN},
    {"p", FILES("\"denyRead\":[\"keep\"]"), "p/.git", PATH_READABLE},
    {"p", FILES("\"denyRead\":[\"keep\"],\"allowRead\":[\"keep/repo.git\"]"), "p/keep/repo.git/key",
     PATH_READABLE},
    {"p", FILES("\"denyWrite\":[\"keep\"],\"allowWrite\":[\"keep/repo.git\"]"),
     "p/keep/repo.git/key", PATH_WRITABLE},
    {"p", FILES("\"denyWrite\":[\"keep\"],\"allowWrite\":[\"keep/repo.git\"]"),
     "p/keep/repo.git/hooks/x", PATH_READABLE},
    {"w", FILES("\"denyWrite\":[\".git\"]"), "w/.git/modules/sub/objects/aa", PATH_READABLE},
    {"w", FILES("\"denyRead\":[\".git\"]"), "w/.git/config", PATH_HIDDEN},
    {"t", FILES("\"denyWrite\":[\"../w\"]"), "w/.git/objects/aa", PATH_READABLE},
    {"t", FILES("\"denyWrite\":[\"../w\"]"), "w/.git/worktrees/t/index", PATH_READABLE},
    {"t", FILES("\"denyRead\":[\"../w\"]"), "w/.git/objects/aa", PATH_HIDDEN},
    {"h", NO_SETTINGS, "h/.password-store/.git/x", PATH_HIDDEN},
    {"b", FILES("\"allowWrite\":[\"build\"]"), "s/.git/objects/aa", PATH_READABLE},
    {"b", FILES("\"allowWrite\":[\"build\"]"), "s/.git/hooks/x", PATH_READABLE},
    {"s/deep/down", NO_SETTINGS, "s/.git/objects/aa", PATH_WRITABLE},
    {"s/deep/down", NO_SETTINGS, "s/.git/config", PATH_READABLE},
    {"s/deep/down", NO_SETTINGS, "s/deep/b", PATH_READABLE},
    /* Secrets. */
    {"w", NO_SETTINGS, "h/.ssh/id_rsa", PATH_HIDDEN},
    {"w", NO_SETTINGS, "h/.aws/credentials", PATH_HIDDEN},
    {"w", NO_SETTINGS, "h/.netrc", PATH_HIDDEN},
    {"w", NO_SETTINGS, "h/.boto", PATH_HIDDEN},
    {"w", NO_SETTINGS, "h/.s3cfg", PATH_HIDDEN},
    {"w", NO_SETTINGS, "h/.sqlite_history", PATH_HIDDEN},
    {"w", NO_SETTINGS, "h/.kaggle/kaggle.json", PATH_HIDDEN},
    {"w", NO_SETTINGS, "h/.m2/settings-security.xml", PATH_HIDDEN},
    {"w", NO_SETTINGS, "h/.m2/settings.xml", PATH_READABLE},
    {"w", NO_SETTINGS, "h/.tenax/auth.json", PATH_HIDDEN},
    {"w", NO_SETTINGS, "h/.claude/.credentials.json", PATH_HIDDEN},
    {"w", NO_SETTINGS, "h/.tenax/run/session.sock", PATH_HIDDEN},
    {"w", "{\"sandbox\":{\"network\":{\"allowAllUnixSockets\":true}}}", "h/.tenax/run/session.sock",
     PATH_HIDDEN},
    {"w", NO_SETTINGS, "h/.npmrc", PATH_READABLE},
    {"w", NO_SETTINGS, "h/.tenax/settings.json", PATH_HIDDEN},
    {"w", NO_SETTINGS, "h/.tenax/skills/s.sh", PATH_READABLE},
    /* The home is the working folder. */
    {"h", NO_SETTINGS, "h/other/a", PATH_WRITABLE},
    {"h", NO_SETTINGS, "h/.bashrc", PATH_READABLE},
    {"h", NO_SETTINGS, "h/.tenax/settings.json", PATH_HIDDEN},
    {"h", NO_SETTINGS, "h/.claude/settings.json", PATH_HIDDEN},
    {"h", NO_SETTINGS, "h/.ssh/id_rsa", PATH_HIDDEN},
    /* Settings. */
    {"w", FILES("\"allowWrite\":[\"~/other\"]"), "h/other/a", PATH_WRITABLE},
    {"w", FILES("\"allowWrite\":[\"//tmp/build/**\"]"), "/tmp/build/x", PATH_WRITABLE},
    {"w", FILES("\"allowWrite\":[\"/nowhere/else\"]"), "/nowhere/else/x", PATH_WRITABLE},
    {"w", FILES("\"denyWrite\":[\"src\"]"), "w/src/a.c", PATH_READABLE},
    {"w", FILES("\"denyWrite\":[\"./src/\"]"), "w/src/a.c", PATH_READABLE},
    {"w", FILES("\"denyRead\":[\"~/secret\"]"), "h/secret/key", PATH_HIDDEN},
    {"w", FILES("\"denyRead\":[\"~/secret\"],\"allowRead\":[\"~/secret/public\"]"),
     "h/secret/public/key", PATH_READABLE},
    {"w", FILES("\"denyRead\":[\"/src\"]"), "w/src/a.c", PATH_HIDDEN},
    {"w", SOCKETS("\"~/.aws/agent\""), "h/.aws/agent", PATH_HIDDEN}, /* reached is not shown */
    {"w", FILES("\"allowRead\":[\"~/.aws\"]"), "h/.aws/credentials", PATH_HIDDEN}, /* as deep */
    {"w", FILES("\"allowRead\":[\"~/.aws/credentials\"]"), "h/.aws/credentials", PATH_READABLE},
};

/* Which of the listed ones remain, and whether the others are reported. */
static const struct {
    const char *work;
    const char *settings;
    const char *sockets; /* "ROOT" is root; of several the last */
    size_t count;
    size_t warnings;
} socket_cases[] = {
    {"w", SOCKETS("\"~/agent\""), "ROOT/h/agent", 1, 0},
    {"w", SOCKETS("\"//run/x\", \"~/agent\""), "ROOT/h/agent", 2, 0},
    {"w", SOCKETS("\"/run/x\""), "/run/x", 1, 0}, /* not that of the workspace */
    {"w", SOCKETS("\"dev.sock\""), NULL, 0, 1},
    {"w", SOCKETS("\"src/../dev.sock\", \"~/agent\""), "ROOT/h/agent", 1, 1},
    {"w", SOCKETS("\"../w-planted/agent\""), NULL, 0, 1}, /* a link to w */
    {"h", SOCKETS("\"~/.ssh/agent\""), NULL, 0, 1},
};

static void sockets(void **state)
{
    CLEANUP(mem_freep) char *link = path_join(root, "w-planted");

    (void)state;
    assert_int_equal(symlink("w", link), 0);
    for (size_t i = 0; i < ARRAY_LEN(socket_cases); i++) {
        const char *want = socket_cases[i].sockets;
        CLEANUP(place_release) struct place p;
        CLEANUP(buf_release) struct buf path = BUF_INIT(4096);
        const struct strv *got;

        place_make(&p, socket_cases[i].work, socket_cases[i].settings);
        got = &p.sandbox->given.sockets;
        if (want)
            with_root(want, &path);
        if (got->len != socket_cases[i].count || p.warnings.len != socket_cases[i].warnings ||
            (want && strcmp(got->ptr[got->len - 1], buf_cstr(&path)) != 0))
            fail_msg("row %zu: %zu sockets, %zu warnings", i, got->len, p.warnings.len);
    }
}

/* A folder that keeps settings away stays as long as any session needs it. */
static void folders(void **state)
{
    CLEANUP(mem_freep) char *path = path_join(root, "s/deep/.tenax");
    struct place first;
    struct place second;
    struct sandbox_job *job;

    (void)state;
    place_make(&first, "s/deep", NO_SETTINGS);
    place_make(&second, "s/deep", NO_SETTINGS);
    assert_int_equal(sandbox_enter(first.sandbox, &job, NULL), 0);
    sandbox_job_free(job);
    assert_true(file_is_dir(path));
    assert_int_equal(sandbox_enter(second.sandbox, &job, NULL), 0);
    sandbox_job_free(job);
    place_release(&first);
    assert_true(file_is_dir(path));
    place_release(&second);
    assert_false(file_exists(path));
}

/* Wherever settings would count, and no longer than a session. */
static const struct {
    const char *work, *settings;
    const char *made[4]; /* NULL: no more */
} folder_cases[] = {
    {"o", NO_SETTINGS, {"o/.claude", "o/.tenax", "added/.tenax"}},
    {"s/deep/down", FILES("\"allowWrite\":[\"../..\"]"), {"s/.tenax", "s/deep/.tenax"}},
    {"o", FILES("\"allowWrite\":[\"~\"]"), {"h/moved"}}, /* CLAUDE_CONFIG_DIR */
    {"h", NO_SETTINGS, {"h/.config/autostart", "h/.local/bin", "h/.config", "h/.kube"}},
};

static void folders_everywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(folder_cases); i++) {
        CLEANUP(mem_freep) char *added = path_join(root, "added");
        struct place p;
        struct sandbox_job *job;

        place_make(&p, folder_cases[i].work, folder_cases[i].settings);
        mem_freep(&p.sandbox->claude_home);
        p.sandbox->claude_home = path_join(root, "h/moved");
        workspace_add_dir(p.workspace, added);
        for (int twice = 0; twice < 2; twice++) {
            assert_int_equal(sandbox_enter(p.sandbox, &job, NULL), 0);
            sandbox_job_free(job);
        }
        for (size_t k = 0; k < ARRAY_LEN(folder_cases[i].made) && folder_cases[i].made[k]; k++) {
            CLEANUP(mem_freep) char *path = path_join(root, folder_cases[i].made[k]);

            if (!file_is_dir(path))
                fail_msg("row %zu: no %s", i, path);
        }
        place_release(&p);
        for (size_t k = 0; k < ARRAY_LEN(folder_cases[i].made) && folder_cases[i].made[k]; k++) {
            CLEANUP(mem_freep) char *path = path_join(root, folder_cases[i].made[k]);

            if (file_exists(path))
                fail_msg("row %zu: still %s", i, path);
        }
    }
}

/* If another process has locked one for good, nothing is assumed about it. */
static void folder_taken(void **state)
{
    CLEANUP(mem_freep) char *path = path_join(root, "s/deep/.tenax");
    CLEANUP(place_release) struct place p;
    CLEANUP(fd_closep) int fd = -1;
    struct sandbox_job *job = NULL;
    struct err err = {0};

    (void)state;
    place_make(&p, "s/deep", NO_SETTINGS);
    assert_true(confine_make_folder(path));
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(sandbox_enter(p.sandbox, &job, &err), -1);
    assert_int_equal(err.code, ERR_BUSY);
    assert_int_equal(flock(fd, LOCK_UN), 0);
    assert_int_equal(sandbox_enter(p.sandbox, &job, &err), 0);
    sandbox_job_free(job);
}

static void full_path(const struct place *p, const char *path, struct buf *ret)
{
    if (path[0] == '/')
        buf_adds(ret, path);
    else if (strncmp(path, "TEMP", 4) == 0)
        buf_addf(ret, "%s%s", p->sandbox->temp.path, path + 4);
    else
        buf_addf(ret, "%s/%s", root, path);
}

static void paths(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(path_cases); i++) {
        const struct path_case *c = &path_cases[i];
        CLEANUP(place_release) struct place p;
        CLEANUP(sandbox_job_freep) struct sandbox_job *job = NULL;
        CLEANUP(buf_release) struct buf path = BUF_INIT(4096);
        CLEANUP(mem_freep) char *added = path_join(root, "added");
        struct err err = {0};

        place_make(&p, c->work, c->settings);
        assert_int_equal(p.warnings.len, 0);
        workspace_add_dir(p.workspace, added);
        if (sandbox_enter(p.sandbox, &job, &err) < 0)
            fail_msg("%s", err.text);
        full_path(&p, c->path, &path);
        if (sandbox_path_is(&job->paths, buf_cstr(&path)) != c->is)
            fail_msg("row %zu: in %s with %s: %s", i, c->work, c->settings, buf_cstr(&path));
    }
}

/* What a link led to at first stays hidden when a command has put another one in its place. */
static void links_replaced(void **state)
{
    CLEANUP(place_release) struct place p;
    CLEANUP(sandbox_job_freep) struct sandbox_job *job = NULL;
    CLEANUP(buf_release) struct buf key = BUF_INIT(4096);
    CLEANUP(mem_freep) char *link = path_join(root, "w/link");

    (void)state;
    make_link("w/link", "../h/secret");
    place_make(&p, "w", FILES("\"denyRead\":[\"./link\"],\"denyWrite\":[\"./link\"]"));
    assert_int_equal(unlink(link), 0);
    make_link("w/link", "../o");
    assert_int_equal(sandbox_enter(p.sandbox, &job, NULL), 0);
    full_path(&p, "h/secret/key", &key);
    assert_int_equal(sandbox_path_is(&job->paths, buf_cstr(&key)), PATH_HIDDEN);
    assert_int_equal(unlink(link), 0);
}

/* Its temporary folder is private, and gone in the end with all that is in it. */
static void temporary(void **state)
{
    struct place p;
    struct sandbox_job *job;
    CLEANUP(mem_freep) char *temp = NULL;
    CLEANUP(mem_freep) char *inside = NULL;
    struct stat st;

    (void)state;
    place_make(&p, "w", NO_SETTINGS);
    assert_int_equal(sandbox_enter(p.sandbox, &job, NULL), 0);
    temp = mem_dup(job->temp, strlen(job->temp));
    assert_int_equal(stat(temp, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    inside = path_join(temp, "a/b/c");
    assert_int_equal(file_mkdirs(inside, 0700, NULL), 0);
    sandbox_job_free(job);
    place_release(&p);
    assert_false(file_exists(temp));
}

/* A repository that a job has made itself it can also give settings. */
static void nested_later(void **state)
{
    CLEANUP(place_release) struct place p;
    CLEANUP(mem_freep) char *made = path_join(root, "m/made/.git/config");
    CLEANUP(mem_freep) char *found = path_join(root, "m/one/.git/config");
    struct sandbox_job *job;

    (void)state;
    place_make(&p, "m", NO_SETTINGS);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sandbox_enter(p.sandbox, &job, NULL), 0);
        assert_int_equal(sandbox_path_is(&job->paths, made), PATH_WRITABLE);
        assert_int_equal(sandbox_path_is(&job->paths, found), PATH_READABLE);
        make_file("m/made/.git/HEAD");
        make_file("m/made/.git/config");
        sandbox_job_free(job);
    }
}

/* Files that would make git, or us, read settings from elsewhere do not stay after a job; older
 * ones do, and so does a repository. */
static const struct {
    const char *work;
    const char *made; /* by the job */
    bool stays;
} unwanted_cases[] = {
    {"w", "w/.git/commondir", false}, {"w", "w/.git/worktrees/t/commondir", true}, /* was there */
    {"o", "o/.git", false},           {"s/deep", "s/deep/.git", false},  /* before the one above */
    {"w", "added/.git", false},       {"added/in", "added/.git", false}, /* between both */
    {"o", "o/.git/HEAD", true},       {"t", "t/.git", true},             /* was there */
    {"w", "w/sub/.git", true}, /* of worktrees and submodules that are made */
    {"w", "other/.git", true}, /* not made by a confined command */
};

static void unwanted(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(unwanted_cases); i++) {
        CLEANUP(place_release) struct place p;
        CLEANUP(mem_freep) char *path = path_join(root, unwanted_cases[i].made);
        CLEANUP(mem_freep) char *added = path_join(root, "added");
        CLEANUP(mem_freep) char *inside = path_join(added, "in");
        bool was_there = file_exists(path);
        struct sandbox_job *job;

        assert_int_equal(file_mkdirs(inside, 0700, NULL), 0);
        place_make(&p, unwanted_cases[i].work, NO_SETTINGS);
        workspace_add_dir(p.workspace, added);
        assert_int_equal(sandbox_enter(p.sandbox, &job, NULL), 0);
        if (!was_there)
            make_file(unwanted_cases[i].made);
        sandbox_job_free(job);
        if (file_exists(path) != unwanted_cases[i].stays)
            fail_msg("row %zu: %s", i, unwanted_cases[i].made);
        if (!was_there)
            unlink(path);
    }
}

/* Files that run by themselves, or name what does, and were missing: no job's stays under its name.
 */
static const struct {
    const char *work;
    const char *made;
    bool by_tool; /* and not by the job */
    bool stays;
} absent_cases[] = {
    {"o", "o/.mcp.json", false, false},
    {"o", "o/.mcp.json", true, true},
    {"w", "added/.mcp.json", false, false},
    {"h", "h/.zshenv", false, false},
    {"h", "h/.claude.json", false, false},
    {"o", "h/.zshenv", false, true}, /* not written by jobs */
    {"h", "h/.notes", false, true},
    {"w", "w/.git/config.worktree", false, false},
    {"w", "w/.git/modules/sub/config.worktree", false, false},
    {"t", "w/.git/worktrees/t/config.worktree", false, false},
    {"v", "v/missing", false, false}, /* its settings would include it */
    {"v", "v/.gitconfig.old", false, true},
};

static void absent(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(absent_cases); i++) {
        CLEANUP(place_release) struct place p;
        CLEANUP(sandbox_job_freep) struct sandbox_job *job = NULL;
        CLEANUP(mem_freep) char *added = path_join(root, "added");
        CLEANUP(mem_freep) char *path = path_join(root, absent_cases[i].made);
        CLEANUP(buf_release) struct buf moved = BUF_INIT(4096);
        CLEANUP(buf_release) struct buf said = BUF_INIT(10000);
        struct stat st;

        buf_addf(&moved, "%s.blocked", path);
        place_make(&p, absent_cases[i].work, NO_SETTINGS);
        workspace_add_dir(p.workspace, added);
        assert_int_equal(sandbox_enter(p.sandbox, &job, NULL), 0);
        make_file(absent_cases[i].made);
        assert_int_equal(stat(path, &st), 0);
        if (absent_cases[i].by_tool)
            workspace_saw(p.workspace, path, &st, STR("{}\n"), false);
        sandbox_job_explain(job, root, STR(""), /*has_failed=*/false, &said);
        if (file_exists(path) != absent_cases[i].stays ||
            file_exists(buf_cstr(&moved)) == absent_cases[i].stays ||
            str_has(buf_str(&said), str_of(path)) == absent_cases[i].stays)
            fail_msg("row %zu: %s: %s", i, path, buf_cstr(&said));
        unlink(path);
        unlink(buf_cstr(&moved));
    }
}

static size_t count_notes(void)
{
    CLEANUP(mem_freep) char *folder = path_join(root, "h/.tenax/run");
    DIR *dir = opendir(folder);
    size_t n = 0;

    for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        n += str_starts(str_of(e->d_name), STR("absent-"));
    if (dir)
        closedir(dir);
    return n;
}

/* tenax is killed while a command runs that has made such a file: the next session finds it; not
 * one that starts beside it while it lives. */
static void absent_when_killed(void **state)
{
    CLEANUP(place_release) struct place p;
    CLEANUP(mem_freep) char *path = path_join(root, "o/.mcp.json");
    CLEANUP(mem_freep) char *moved = path_join(root, "o/.mcp.json.blocked");
    CLEANUP(mem_freep) char *go = path_join(root, "o/go");
    struct place beside;
    struct sandbox_job *job = NULL;
    int status;
    pid_t pid;

    (void)state;
    assert_int_equal(mkfifo(go, 0600), 0);
    pid = fork();
    if (pid == 0) {
        char byte;
        int fd;

        place_make(&p, "o", NO_SETTINGS);
        if (sandbox_enter(p.sandbox, &job, NULL) < 0)
            _exit(1);
        make_file("o/.mcp.json");
        fd = open(go, O_WRONLY | O_CLOEXEC); /* it is made ... */
        close(fd);
        fd = open(go, O_RDONLY | O_CLOEXEC); /* ... and looked at */
        (void)!read(fd, &byte, 1);
        raise(SIGKILL);
    }
    close(open(go, O_RDONLY | O_CLOEXEC));
    place_make(&beside, "o", NO_SETTINGS);
    assert_int_equal(beside.warnings.len, 0);
    assert_true(file_exists(path));
    place_release(&beside);
    close(open(go, O_WRONLY | O_CLOEXEC));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(count_notes(), 1);
    place_make(&p, "o", NO_SETTINGS);
    assert_int_equal(p.warnings.len, 1);
    assert_false(file_exists(path));
    assert_true(file_exists(moved));
    assert_int_equal(count_notes(), 0);
    /* A session that ends leaves nothing, and files made between commands belong to the user. */
    assert_int_equal(sandbox_enter(p.sandbox, &job, NULL), 0);
    assert_int_equal(count_notes(), 1);
    sandbox_job_free(job);
    make_file("o/.mcp.json");
    place_make(&beside, "o", NO_SETTINGS);
    assert_int_equal(beside.warnings.len, 0);
    assert_true(file_exists(path));
    place_release(&beside);
    unlink(path);
    unlink(moved);
    unlink(go);
}

static void warnings(void **state)
{
    static const char *const settings[] = {
        FILES("\"denyRead\":[\"**/.env\"]"),
        FILES("\"allowWrite\":[\"\"]"),
        "{\"sandbox\":{\"network\":{\"allowedDomains\":[\"https://example.com/\"]}}}",
        "{\"sandbox\":{\"network\":{\"deniedDomains\":[\"a b\"]}}}",
        "{\"sandbox\":{\"excludedCommands\":[\" \"]}}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        CLEANUP(place_release) struct place p;

        place_make(&p, "w", settings[i]);
        if (p.warnings.len != 1)
            fail_msg("%s: %zu warnings", settings[i], p.warnings.len);
    }
}

/* ---- sides ---- */

struct side_case {
    const char *settings;
    enum sandbox_state state;
    const char *args;
    enum sandbox_side side;
};

#define EXCLUDED "{\"sandbox\":{\"excludedCommands\":[\"docker\",\"git push:*\"]}}"
#define KEPT_IN "{\"sandbox\":{\"allowUnsandboxedCommands\":false}}"
#define LEAVE "\"dangerouslyDisableSandbox\":true"

static const struct side_case side_cases[] = {
    {NO_SETTINGS, SANDBOX_ON, "{\"command\":\"make\"}", SIDE_INSIDE},
    {NO_SETTINGS, SANDBOX_NEEDED, "{\"command\":\"make\"}", SIDE_INSIDE},
    {NO_SETTINGS, SANDBOX_OFF, "{\"command\":\"make\"}", SIDE_OUTSIDE},
    {NO_SETTINGS, SANDBOX_MISSING, "{\"command\":\"make\"}", SIDE_OUTSIDE},
    {NO_SETTINGS, SANDBOX_ON, "{\"command\":\"make\"," LEAVE "}", SIDE_LEAVES},
    {NO_SETTINGS, SANDBOX_OFF, "{\"command\":\"make\"," LEAVE "}", SIDE_OUTSIDE},
    {KEPT_IN, SANDBOX_ON, "{\"command\":\"make\"," LEAVE "}", SIDE_KEPT_IN},
    {EXCLUDED, SANDBOX_ON, "{\"command\":\"docker build .\"}", SIDE_OUTSIDE},
    {EXCLUDED, SANDBOX_ON, "{\"command\":\"dockerx build .\"}", SIDE_INSIDE},
    {EXCLUDED, SANDBOX_ON, "{\"command\":\"git push origin\"}", SIDE_OUTSIDE},
    {EXCLUDED, SANDBOX_ON, "{\"command\":\"git commit -m x\"}", SIDE_INSIDE},
    {EXCLUDED, SANDBOX_ON, "{\"command\":\"cd src && docker build .\"}", SIDE_OUTSIDE},
    /* Texts that run more than they seem to. */
    {EXCLUDED, SANDBOX_ON, "{\"command\": \"docker ps; [[ x ]\\\\\\n] || touch out ]]\"}",
     SIDE_INSIDE},
    {EXCLUDED, SANDBOX_ON, "{\"command\": \"docker ps; (\\\\\\n(touch out))\"}", SIDE_INSIDE},
    {EXCLUDED, SANDBOX_ON, "{\"command\": \"docker ps; ((1)\\\\\\n) && touch out\"}", SIDE_INSIDE},
    {EXCLUDED, SANDBOX_ON,
     "{\"command\": \"docker ps; [[ 'a[$(touch out)]' -eq 1 ]]; echo $((_))\"}", SIDE_INSIDE},
    {EXCLUDED, SANDBOX_ON,
     "{\"command\": \"docker ps; [[ 'a[$(touch out)]' =~ .* ]]; echo $((BASH_REMATCH))\"}",
     SIDE_INSIDE},
    {EXCLUDED, SANDBOX_ON,
     "{\"command\": \"docker ps; for x in 'a[$(touch out)]'; do [[ $x'' -eq 1 ]]; done\"}",
     SIDE_INSIDE},
    {EXCLUDED, SANDBOX_ON, "{\"command\": \"docker ps; sed '/[/s]/e touch out #]x]g' a.txt\"}",
     SIDE_INSIDE},
    {EXCLUDED, SANDBOX_ON, "{\"command\": \"docker ps; echo x >&'$(touch out)'\"}", SIDE_INSIDE},
    {EXCLUDED, SANDBOX_ON, "{\"command\":\"docker ps; make\"}", SIDE_INSIDE},
    {EXCLUDED, SANDBOX_ON, "{\"command\":\"docker ps > /etc/x\"}", SIDE_INSIDE},
    {EXCLUDED, SANDBOX_ON, "{\"command\":\"docker ps $(make)\"}", SIDE_INSIDE},
    {EXCLUDED, SANDBOX_ON, "{\"command\":\"cat /etc/passwd\"}", SIDE_INSIDE},
};

static void sides(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(side_cases); i++) {
        const struct side_case *c = &side_cases[i];
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(place_release) struct place p;
        const struct json *args;

        place_make(&p, "w", c->settings);
        set_state(p.sandbox, c->state);
        assert_int_equal(json_parse(&arena, str_of(c->args), &args, NULL, NULL), 0);
        if (sandbox_side(p.sandbox, json_get_str(args, "command"), args) != c->side)
            fail_msg("row %zu: %s with %s", i, c->args, c->settings);
    }
    assert_int_equal(sandbox_side(NULL, STR("make"), NULL), SIDE_OUTSIDE);
}

/* ---- and the answers ---- */

struct ask_case {
    const char *settings;
    enum permit_mode mode;
    const char *args;
    enum permit_verdict verdict;
    bool tries; /* where commands can run on trial, that decides */
};

#define DENIES "{\"permissions\":{\"deny\":[\"Bash(make:*)\"],\"ask\":[\"Bash(git push:*)\"]}}"
#define ALLOWS "{\"permissions\":{\"allow\":[\"Bash(make:*)\"]}}"
#define FREES "{\"sandbox\":{\"autoAllowBashIfSandboxed\":true}}"
#define COMMAND(text) "{\"command\":\"" text "\"}"
#define LEAVING(text) "{\"command\":\"" text "\"," LEAVE "}"

static const struct ask_case ask_cases[] = {
    {NO_SETTINGS, MODE_AUTO, COMMAND("make"), PERMIT_ALLOW},
    {NO_SETTINGS, MODE_AUTO, COMMAND("curl x | sh"), PERMIT_ALLOW},
    {NO_SETTINGS, MODE_AUTO, COMMAND("rm -rf /"), PERMIT_ASK},
    {NO_SETTINGS, MODE_AUTO, LEAVING("make"), PERMIT_ASK},
    {NO_SETTINGS, MODE_AUTO, LEAVING("cat x"), PERMIT_ASK},
    {NO_SETTINGS, MODE_DEFAULT, COMMAND("make"), PERMIT_ASK, true},
    {NO_SETTINGS, MODE_DEFAULT, COMMAND("cat x"), PERMIT_ALLOW, true},
    {NO_SETTINGS, MODE_DEFAULT, LEAVING("cat x"), PERMIT_ASK},
    {NO_SETTINGS, MODE_DEFAULT, COMMAND("echo x > .git/config"), PERMIT_ASK, true},
    {NO_SETTINGS, MODE_ACCEPT_EDITS, COMMAND("echo x > f"), PERMIT_ALLOW, true},
    {NO_SETTINGS, MODE_DEFAULT, "{\"command\":\"make\",\"run_in_background\":true}", PERMIT_ASK},
    {DENIES, MODE_PLAN, COMMAND("git push"), PERMIT_DENY},
    {DENIES, MODE_DEFAULT, COMMAND("git push"), PERMIT_ASK},
    {DENIES, MODE_DEFAULT, COMMAND("make"), PERMIT_DENY},
    {NO_SETTINGS, MODE_ACCEPT_EDITS, LEAVING("mkdir d"), PERMIT_ASK},
    {NO_SETTINGS, MODE_DONT_ASK, COMMAND("make"), PERMIT_DENY, true},
    {NO_SETTINGS, MODE_DONT_ASK, LEAVING("cat x"), PERMIT_DENY},
    {NO_SETTINGS, MODE_PLAN, COMMAND("make"), PERMIT_DENY, true},
    {NO_SETTINGS, MODE_BYPASS, COMMAND("make"), PERMIT_ALLOW},
    {NO_SETTINGS, MODE_BYPASS, LEAVING("make"), PERMIT_ALLOW},
    {DENIES, MODE_AUTO, COMMAND("make"), PERMIT_DENY},
    {DENIES, MODE_AUTO, COMMAND("git push"), PERMIT_ASK},
    {ALLOWS, MODE_DEFAULT, COMMAND("make"), PERMIT_ALLOW},
    {ALLOWS, MODE_DEFAULT, LEAVING("make"), PERMIT_ALLOW},
    {ALLOWS, MODE_DEFAULT, LEAVING("make && cat x"), PERMIT_ASK},
    {FREES, MODE_DEFAULT, COMMAND("make"), PERMIT_ALLOW},
    {FREES, MODE_DEFAULT, LEAVING("make"), PERMIT_ASK},
    {FREES, MODE_PLAN, COMMAND("make"), PERMIT_DENY, true},
    {KEPT_IN, MODE_AUTO, LEAVING("make"), PERMIT_DENY},
    {KEPT_IN, MODE_AUTO, COMMAND("make"), PERMIT_ALLOW},
    {EXCLUDED, MODE_AUTO, COMMAND("docker ps"), PERMIT_ASK},
};

static void asking(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ask_cases); i++) {
        const struct ask_case *c = &ask_cases[i];
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(place_release) struct place p;
        struct rule_subject subject = {.tool = STR("Bash"), .about = ABOUT_COMMAND};
        struct permit_answer answer;
        struct permit *permit;
        struct err err = {0};
        bool tries;

        place_make(&p, "w", c->settings);
        if (permit_new(p.conf, p.workspace, &p.warnings, &permit, &err) < 0)
            fail_msg("%s", err.text);
        permit_set_sandbox(permit, p.sandbox);
        if (permit_set_mode(permit, c->mode, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(json_parse(&arena, str_of(c->args), &subject.args, NULL, NULL), 0);
        subject.text = json_get_str(subject.args, "command");
        permit_check(permit, &subject, 0, &answer);
        tries = c->tries && trial_works(p.sandbox, /*ret_why=*/NULL);
        if (answer.has_trial != tries || (!tries && answer.verdict != c->verdict))
            fail_msg("row %zu: %s in %s: %d, %s", i, c->args, permit_mode_name(c->mode),
                     answer.verdict, answer.reason);
        permit_free(permit);
    }
}

/* ---- the environment ---- */

static const char *value_of(const struct strv *env, const char *name)
{
    size_t len = strlen(name);
    const char *found = NULL;

    for (size_t i = 0; i < env->len; i++) {
        if (strncmp(env->ptr[i], name, len) == 0 && env->ptr[i][len] == '=') {
            assert_null(found); /* said once */
            found = env->ptr[i] + len + 1;
        }
    }
    return found;
}

/* Proxies of the user's own. */
static const struct {
    const char *settings;
    const char *web, *all;
} proxy_cases[] = {
    {"{\"sandbox\":{\"network\":{\"httpProxyPort\":8080}}}", "http://127.0.0.1:3128",
     "http://127.0.0.1:3128"},
    {"{\"sandbox\":{\"network\":{\"socksProxyPort\":1080}}}", "socks5h://127.0.0.1:3128",
     "socks5h://127.0.0.1:3128"},
    {"{\"sandbox\":{\"network\":{\"socksProxyPort\":1080,\"allowedDomains\":[\"x.test\"]}}}",
     "http://127.0.0.1:3128", "socks5h://127.0.0.1:3128"},
};

static void environment(void **state)
{
    static const char *const given[] = {"TMPDIR=/elsewhere", "https_proxy=http://corp:1",
                                        "npm_config_cache=/mine", "X=y", NULL};
    CLEANUP(place_release) struct place p;
    CLEANUP(sandbox_job_freep) struct sandbox_job *job = NULL;
    CLEANUP(strv_release) struct strv env = STRV_INIT;

    (void)state;
    place_make(&p, "w",
               "{\"sandbox\":{\"network\":{\"allowedDomains\":[\"localhost:8080\",\"x.test\"]}}}");
    assert_int_equal(sandbox_enter(p.sandbox, &job, NULL), 0);
    sandbox_job_environ(job, (char *const *)given, &env);
    assert_string_equal(value_of(&env, "TMPDIR"), job->temp);
    assert_string_equal(value_of(&env, "X"), "y");
    assert_string_equal(value_of(&env, "npm_config_cache"), "/mine");
    assert_string_equal(value_of(&env, "https_proxy"), "http://127.0.0.1:3128");
    assert_string_equal(value_of(&env, "NO_PROXY"), "127.0.0.1,::1");
    assert_true(str_starts(str_of(value_of(&env, "XDG_CACHE_HOME")), str_of(job->temp)));
    assert_int_equal(job->confine.net, CONFINE_NET_PROXY);
    assert_true(job->confine.proxy >= 0);
    sandbox_job_started(job);
    strv_release(&env);

    sandbox_job_environ(NULL, (char *const *)given, &env); /* nothing confines: as it was */
    assert_int_equal(env.len, 4);

    for (size_t i = 0; i < ARRAY_LEN(proxy_cases); i++) {
        CLEANUP(place_release) struct place q;
        CLEANUP(sandbox_job_freep) struct sandbox_job *other = NULL;
        CLEANUP(strv_release) struct strv inside = STRV_INIT;

        place_make(&q, "w", proxy_cases[i].settings);
        assert_int_equal(sandbox_enter(q.sandbox, &other, NULL), 0);
        sandbox_job_environ(other, (char *const *)given, &inside);
        assert_string_equal(value_of(&inside, "https_proxy"), proxy_cases[i].web);
        assert_string_equal(value_of(&inside, "ALL_PROXY"), proxy_cases[i].all);
        assert_int_equal(other->confine.net, CONFINE_NET_PROXY);
    }
}

/* Keys that tenax itself uses are not passed to commands, unless the user allows it. */
static void keys_in_the_environment(void **state)
{
    static const char *const given[] = {"A_KEY=sk-sandbox-0123456789",
                                        "B_KEY=sk-sandbox-0123456789",
                                        "C_KEY=sk-of-another-1234567", NULL};
    CLEANUP(place_release) struct place p;
    CLEANUP(sandbox_job_freep) struct sandbox_job *job = NULL;
    CLEANUP(strv_release) struct strv env = STRV_INIT;

    (void)state;
    secret_add(STR("sk-sandbox-0123456789"));
    place_make(&p, "w", "{\"sandbox\":{\"allowEnv\":[\"B_KEY\"]}}");
    assert_int_equal(sandbox_enter(p.sandbox, &job, NULL), 0);
    sandbox_job_environ(job, (char *const *)given, &env);
    assert_null(value_of(&env, "A_KEY"));
    assert_string_equal(value_of(&env, "B_KEY"), "sk-sandbox-0123456789");
    assert_string_equal(value_of(&env, "C_KEY"), "sk-of-another-1234567");
    sandbox_job_started(job);
    strv_release(&env);
    sandbox_job_environ(NULL, (char *const *)given, &env); /* nothing confines: as it was */
    assert_int_equal(env.len, 3);
}

/* ---- explanations ---- */

struct explain_case {
    const char *output; /* ROOT is the test's folder */
    const char *said;   /* the first line after "blocked by the sandbox: "; NULL: nothing */
};

#define LISTENS                                                                                    \
    "the network: nothing listens, on localhost neither, unless the user sets "                    \
    "sandbox.network.allowLocalBinding"

static const struct explain_case explain_cases[] = {
    {"bash: line 1: ROOT/o/a: Read-only file system", "write to ROOT/o/a"},
    {"touch: cannot touch 'ROOT/o/new': Read-only file system", "write to ROOT/o/new"},
    {"mkdir: cannot create directory ‘ROOT/o/dir’: Read-only file system", "write to ROOT/o/dir"},
    {"error: could not lock config file .git/config: Read-only file system",
     "write to ROOT/w/.git/config"},
    {"error: could not write config file .git/config: Device or resource busy",
     "write to ROOT/w/.git/config"},
    {"OSError: [Errno 30] Read-only file system: 'ROOT/h/.cache/x'", NULL}, /* no such folder */
    {"Error: EROFS: read-only file system, open 'ROOT/o/x'", "write to ROOT/o/x"},
    {"cat: ROOT/h/.ssh/id_rsa: Permission denied", "read of ROOT/h/.ssh/id_rsa"},
    {"ls: cannot open directory 'ROOT/h/.ssh': Permission denied", "read of ROOT/h/.ssh"},
    {"cat: ROOT/h/.ssh/id_rsa: No such file or directory", "read of ROOT/h/.ssh/id_rsa"},
    {"cat: ROOT/h/.ssh/nothing: No such file or directory", NULL},
    {"one\ntwo\ntouch: ROOT/o/x: Read-only file system\nthree\n", "write to ROOT/o/x"},
    {"curl: (6) Could not resolve host: example.com", "the network: no host is allowed"},
    {"ping: connect: Network is unreachable", "the network: no host is allowed"},
    {"psql: error: could not create socket: Permission denied", "the network: no host is allowed"},
    {"dial unix ROOT/h/sock: socket: permission denied", "connection to ROOT/h/sock"},
    {"Error: listen EACCES: permission denied 0.0.0.0:3000", LISTENS},
    {"  File \"/usr/lib/python3.11/socketserver.py\", line 452\n    "
     "_socket.socket.__init__(self, family)\nPermissionError: [Errno 13] Permission denied",
     LISTENS},
    {"listen tcp 127.0.0.1:0: socket: permission denied", LISTENS},
    /* Not the sandbox's doing. */
    {"bash: line 1: kill: (9999) - No such process", NULL},
    {"kill: Operation not permitted", NULL},
    {"", NULL},
    {"make: *** [test] Error 1", NULL},
    {"cat: ROOT/nothing: No such file or directory", NULL},
    {"bash: ROOT/w/src/a.c: Permission denied", NULL}, /* not executable, and ours to write */
    {"touch: cannot touch '/proc/version': Permission denied", NULL},
    {"touch: cannot touch '/no/such/folder/x': Read-only file system", NULL},
    {"assert 'Permission denied' in output", NULL},
    {"ssh: Permission denied (publickey).", NULL},
    {"ROOT/o/a is fine", NULL},
};

/* Of a command that has ended well. */
static const struct explain_case error_cases[] = {
    {"touch: cannot touch 'ROOT/o/new': Read-only file system\nand on", "write to ROOT/o/new"},
    {"bash: line 1: ROOT/o/a: Read-only file system\r\n", "write to ROOT/o/a"},
    {"cat: ROOT/h/.ssh/id_rsa: Permission denied", "read of ROOT/h/.ssh/id_rsa"},
    {"src/a.c: if ROOT/o/a is on a Read-only file system, say so", NULL},
    {"curl: (6) Could not resolve host: example.com", NULL},
    {"cat: ROOT/h/.ssh/id_rsa: No such file or directory", NULL},
    {"ROOT/w/src/a.c: Permission denied", NULL},
};

static void explanations(void **state)
{
    CLEANUP(place_release) struct place p;
    CLEANUP(sandbox_job_freep) struct sandbox_job *job = NULL;
    CLEANUP(mem_freep) char *sock = path_join(root, "h/sock");

    (void)state;
    place_make(&p, "w", NO_SETTINGS);
    assert_int_equal(mknod(sock, S_IFSOCK | 0600, 0), 0);
    assert_int_equal(sandbox_enter(p.sandbox, &job, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(explain_cases); i++) {
        CLEANUP(buf_release) struct buf output = BUF_INIT(10000);
        CLEANUP(buf_release) struct buf wanted = BUF_INIT(10000);
        CLEANUP(buf_release) struct buf said = BUF_INIT(10000);

        with_root(explain_cases[i].output, &output);
        sandbox_job_explain(job, workspace_dir(p.workspace), buf_str(&output),
                            /*has_failed=*/true, &said);
        if (explain_cases[i].said) {
            buf_adds(&wanted, "blocked by the sandbox: ");
            with_root(explain_cases[i].said, &wanted);
            buf_addc(&wanted, '\n');
            if (!str_starts(buf_str(&said), buf_str(&wanted)) ||
                !str_has(buf_str(&said), STR("dangerouslyDisableSandbox")))
                fail_msg("%s: %s", buf_cstr(&output), buf_cstr(&said));
        } else if (said.len) {
            fail_msg("%s: %s", buf_cstr(&output), buf_cstr(&said));
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(error_cases); i++) {
        CLEANUP(buf_release) struct buf output = BUF_INIT(10000);
        CLEANUP(buf_release) struct buf said = BUF_INIT(10000);

        with_root(error_cases[i].output, &output);
        sandbox_job_explain(job, workspace_dir(p.workspace), buf_str(&output),
                            /*has_failed=*/false, &said);
        if ((said.len > 0) != (error_cases[i].said != NULL))
            fail_msg("%s: %s", buf_cstr(&output), buf_cstr(&said));
    }
    sandbox_job_explain(NULL, "/", STR("x: Read-only file system"), true, NULL);
}

/* ---- settings that insist ---- */

struct state_case {
    const char *settings;
    bool runs; /* a command, where nothing can confine it */
};

static const struct state_case state_cases[] = {
    {"{}", true},
    {"{\"sandbox\":{\"enabled\":\"auto\"}}", true},
    {"{\"sandbox\":{\"enabled\":\"off\"}}", true},
    {"{\"sandbox\":{\"enabled\":false}}", true},
    {"{\"sandbox\":{\"enabled\":\"on\"}}", false},
    {"{\"sandbox\":{\"enabled\":true}}", false},
};

static void states(void **state)
{
    bool is_missing = strcmp(confine_backend()->name, "none") == 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(state_cases); i++) {
        CLEANUP(place_release) struct place p;
        struct sandbox_spec spec = {0};
        struct sandbox_job *job = NULL;
        struct sandbox *s;
        struct err err = {0};
        bool runs;

        place_make(&p, "w", state_cases[i].settings);
        spec.conf = p.conf;
        spec.workspace = p.workspace;
        s = sandbox_new(&spec, &p.warnings);
        runs = sandbox_enter(s, &job, &err) == 0;
        if (is_missing && runs != state_cases[i].runs)
            fail_msg("%s: %s", state_cases[i].settings, err.text);
        if (is_missing && !runs)
            assert_int_equal(err.code, ERR_UNSUPPORTED);
        if (!is_missing)
            assert_true(runs);
        sandbox_job_free(job);
        sandbox_free(s);
    }
}

UNIT_TEST(sandbox)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths),        cmocka_unit_test(links_replaced),
        cmocka_unit_test(temporary),    cmocka_unit_test(warnings),
        cmocka_unit_test(unwanted),     cmocka_unit_test(nested_later),
        cmocka_unit_test(absent),       cmocka_unit_test(absent_when_killed),
        cmocka_unit_test(sides),        cmocka_unit_test(asking),
        cmocka_unit_test(environment),  cmocka_unit_test(keys_in_the_environment),
        cmocka_unit_test(explanations), cmocka_unit_test(states),
        cmocka_unit_test(sockets),      cmocka_unit_test(folders),
        cmocka_unit_test(folder_taken), cmocka_unit_test(folders_everywhere),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
