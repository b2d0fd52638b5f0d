/*
 * demo: `tenax demo`, a goal achieved by a scripted model, offline and without a key.
 *
 * The project with its failing tests and the model's answers are built in. They are written to a
 * temporary folder, and tenax is started there as a user would, with a temporary home: none of the
 * user's files are read, and nothing is left behind. Everything but the model is real: the files,
 * the compiler, the tests, the referee. Main thread, or a chore of the UI.
 */
#include "cmd/demo.h"

#include <ftw.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "cmd/cmd.h"
#include "proc/foreground.h"
#include "proc/proc.h"

static int demo_run(struct cmd *c);

const struct command cmd_demo = {
    .usage =
        {
            .name = "demo",
            .summary = "Watch a goal being met, offline and without a key",
        },
    .run = demo_run,
};

#define DEMO_PATH_MAX 4096

static int demo_remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st;
    (void)walk;
    (void)(kind == FTW_DP ? rmdir(path) : unlink(path));
    return 0;
}

static void demo_remove(const char *top)
{
    (void)nftw(top, demo_remove_one, /*nopenfd=*/16, FTW_DEPTH | FTW_PHYS);
}

static int demo_write(const char *top, const char *name, struct str text, struct err *err)
{
    CLEANUP(mem_freep) char *path = path_join(top, name);
    CLEANUP(mem_freep) char *folder = path_dirname(path);

    if (file_mkdirs(folder, 0700, err) < 0)
        return -1;
    return file_replace(path, text, 0600, err);
}

/* The folder is trusted, since it is ours. */
static int demo_write_all(const char *top, struct err *err)
{
    CLEANUP(buf_release) struct buf trust = BUF_INIT(DEMO_PATH_MAX);

    for (const struct demo_file *f = demo_files; f->path; f++) {
        if (demo_write(top, f->path, str_of(f->text), err) < 0)
            return -1;
    }
    buf_addf(&trust, "{\"projects\":{\"%s/repair\":{\"hasTrustDialogAccepted\":true}}}\n", top);
    return demo_write(top, ".claude.json", buf_str(&trust), err);
}

/* A checkout, where there is git; the demo does without, too. */
static void demo_commit(const char *dir, const struct strv *env)
{
    static const char *const steps[][10] = {
        {"git", "init", "-q", "."},
        {"git", "add", "-A"},
        {"git", "-c", "user.name=demo", "-c", "user.email=demo@localhost", "commit", "-qm",
         "A project with failing tests"},
    };

    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        struct proc_spec spec = {
            .argv = steps[i], .envp = (const char *const *)env->ptr, .dir = dir};
        struct proc_result result = {0};
        struct err err = {0};
        int r = proc_run(&spec, /*cancel=*/NULL, &result, &err);

        proc_result_release(&result);
        if (r < 0)
            return;
    }
}

static void demo_environ(const char *top, struct strv *ret)
{
    static const char *const replaced[] = {"HOME=", "TENAX_HOME=", "CLAUDE_CONFIG_DIR="};

    for (char **e = environ; *e; e++) {
        bool keep = true;

        for (size_t i = 0; i < ARRAY_LEN(replaced); i++)
            keep = keep && !str_starts(str_of(*e), str_of(replaced[i]));
        if (keep)
            strv_adds(ret, *e);
    }
    strv_adds(ret, "TENAX_DEMO=1"); /* nothing remains that could be resumed */
    strv_addf(ret, "HOME=%s", top);
    strv_addf(ret, "TENAX_HOME=%s/.tenax", top);
}

static int demo_in(const char *top, struct cancel *cancel, int *ret_code, struct err *err)
{
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(strv_release) struct strv argv = STRV_INIT;
    CLEANUP(mem_freep) char *dir = path_join(top, "repair");
    struct foreground f;

    if (demo_write_all(top, err) < 0)
        return -1;
    demo_environ(top, &env);
    demo_commit(dir, &env);
    strv_adds(&argv, "/proc/self/exe");
    strv_addf(&argv, "--model=scripted/%s/goal.scenario", top);
    strv_addf(&argv, "--settings={\"goal\":{\"judgeModel\":\"scripted/%s/goal-judge.scenario\"}}",
              top);
    strv_adds(&argv, "--permission-mode=acceptEdits");
    strv_adds(&argv, "--allowedTools=Bash(make:*)");
    strv_adds(&argv, "--");
    strv_adds(&argv, "/goal all tests pass --check 'make -s test'");
    f = (struct foreground){
        .argv = (const char *const *)argv.ptr, .envp = env.ptr, .dir = dir, .cancel = cancel};
    return foreground_run(&f, ret_code, err);
}

static bool demo_has(const char *program)
{
    const char *path = getenv("PATH");
    struct str rest = str_of(path);
    struct str part;

    while (str_cut(&rest, ':', &part)) {
        CLEANUP(buf_release) struct buf at = BUF_INIT(DEMO_PATH_MAX);

        buf_addf(&at, "%.*s/%s", STR_ARG(part), program);
        if (access(buf_cstr(&at), X_OK) == 0)
            return true;
    }
    return false;
}

int demo_play(struct cancel *cancel, int *ret_code, struct err *err)
{
    char top[] = "/tmp/tenax-demo-XXXXXX";
    int r;

    if (!demo_has("make") || !demo_has("cc"))
        return err_set(
            err, ERR_UNSUPPORTED,
            "the demo fixes a small C project and needs make and cc, which are not here");
    if (!mkdtemp(top))
        return err_sys(err, ERR_IO, "cannot make a folder for the demo");
    r = demo_in(top, cancel, ret_code, err);
    demo_remove(top);
    return r;
}

static int demo_run(struct cmd *c)
{
    struct err err = {0};
    int code = EXIT_OK;

    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        say("the demo needs a terminal");
        return EXIT_USAGE;
    }
    if (demo_play(c->cancel, &code, &err) < 0) {
        say_error(&err);
        return EXIT_FAILED;
    }
    return code;
}
