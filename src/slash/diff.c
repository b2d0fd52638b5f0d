/*
 * /diff: uncommitted changes of the repository, as reported by git. Programs that the repository
 * names for diffs are not run.
 */
#include <string.h>

#include "base/err.h"
#include "base/strv.h"
#include "guard/sandbox.h"
#include "guard/workspace.h"
#include "host/host.h"
#include "proc/proc.h"
#include "slash/answer.h"

static int diff_run(struct slash_call *call, struct err *err);

const struct slash_command slash_diff_entry = {
    .name = "diff",
    .hint = "[<commit or path> …]",
    .summary = "Show what has changed since the last commit, new files included",
    .more =
        "Arguments go to `git diff`: `/diff main` compares with a branch, `/diff src` shows one "
        "folder, `/diff --stat` counts lines.",
    .gives_way = true,
    .run = diff_run,
};

#define DIFF_MAX ((size_t)2 << 20)
#define DIFF_TIMEOUT_MS 20000
#define DIFF_MAX_WORDS 50

/* -1: git could not be run or failed; err has its message. */
static int ask_git(struct slash_call *call, const char *const *args, struct buf *ret,
                   struct err *err)
{
    static const char *const safe[] = {
        "git", "--no-optional-locks",      "-c",        "core.fsmonitor=false",
        "-c",  "core.hooksPath=/dev/null", "--no-pager"};
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(strv_release) struct strv argv = STRV_INIT;
    CLEANUP(proc_result_release) struct proc_result r = {0};
    struct workspace *w = host_workspace(call->host);
    CLEANUP(mem_freep) char *dir = workspace_cwd(w);
    struct proc_spec spec = {.dir = dir, .max_output = DIFF_MAX, .timeout_ms = DIFF_TIMEOUT_MS};

    for (size_t i = 0; i < ARRAY_LEN(safe); i++)
        strv_adds(&argv, safe[i]);
    for (; *args; args++)
        strv_adds(&argv, *args);
    sandbox_outside_environ(host_sandbox(call->host), workspace_environ(w), &env);
    spec.argv = (const char *const *)argv.ptr;
    spec.envp = (const char *const *)env.ptr;
    if (proc_run(&spec, call->cancel, &r, err) < 0)
        return err->code == ERR_NOT_FOUND ? err_set(err, ERR_UNSUPPORTED, "git is not installed")
                                          : -1;
    if (r.how != PROC_EXITED)
        return err_set(err, ERR_TIMEOUT, "git took too long");
    if (r.code != 0)
        return err_set(err, ERR_BAD_INPUT, "%.*s",
                       STR_ARG(str_first(buf_str(&r.err), str_chr(buf_str(&r.err), '\n'))));
    buf_add(ret, buf_str(&r.out));
    if (r.dropped)
        buf_addf(ret, "\n[%zu more bytes are left out]\n", r.dropped);
    return 0;
}

/* The commit to compare with; without one yet, the empty tree. */
static const char *base_of(struct slash_call *call)
{
    static const char *const ask[] = {"rev-parse", "--verify", "--quiet", "HEAD", NULL};
    CLEANUP(buf_release) struct buf head = BUF_INIT(DIFF_MAX);
    struct err err = {0};

    return ask_git(call, ask, &head, &err) == 0 ? "HEAD"
                                                : "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
}

static void say_diff(struct slash_call *call, struct str diff)
{
    struct str line;

    while (diff.len && str_cut(&diff, '\n', &line)) {
        enum ink ink = str_starts(line, STR("+++")) || str_starts(line, STR("---")) ||
                               str_starts(line, STR("diff "))
                           ? INK_BOLD
                       : str_starts(line, STR("@@")) ? INK_CYAN
                       : str_starts(line, STR("+"))  ? INK_GREEN
                       : str_starts(line, STR("-"))  ? INK_RED
                                                     : INK_PLAIN;

        slash_say(call, ink, line);
        slash_say(call, INK_PLAIN, STR("\n"));
    }
}

/* Names of new files, which a diff does not have. */
static int add_new(struct slash_call *call, struct buf *ret, struct err *err)
{
    static const char *const ask[] = {"ls-files", "--others", "--exclude-standard", NULL};
    CLEANUP(buf_release) struct buf names = BUF_INIT(DIFF_MAX);
    struct str rest;
    struct str name;

    if (ask_git(call, ask, &names, err) < 0)
        return -1;
    rest = buf_str(&names);
    while (rest.len && str_cut(&rest, '\n', &name))
        buf_addf(ret, "new file, not added yet: %.*s\n", STR_ARG(name));
    return 0;
}

static int diff_run(struct slash_call *call, struct err *err)
{
    static const char *const inside[] = {"rev-parse", "--is-inside-work-tree", NULL};
    CLEANUP(strv_release) struct strv words = STRV_INIT;
    CLEANUP(buf_release) struct buf diff = BUF_INIT(2 * DIFF_MAX);
    const char *args[DIFF_MAX_WORDS + 6] = {"diff", "--no-color", "--no-ext-diff", "--no-textconv"};
    size_t n = 4;

    slash_words(call->args, &words);
    if (words.len > DIFF_MAX_WORDS)
        return err_set(err, ERR_TOO_BIG, "more than %d arguments", DIFF_MAX_WORDS);
    for (size_t i = 0; i < words.len; i++) {
        if (str_starts(str_of(words.ptr[i]), STR("--output")) ||
            str_starts(str_of(words.ptr[i]), STR("--ext-diff")) ||
            str_starts(str_of(words.ptr[i]), STR("--textconv")))
            return err_set(err, ERR_BAD_INPUT, "%s is not allowed here", words.ptr[i]);
        args[n++] = words.ptr[i];
    }
    if (ask_git(call, inside, &diff, err) < 0)
        return err->code == ERR_BAD_INPUT
                   ? err_set(err, ERR_UNSUPPORTED, "this folder is not in a git repository")
                   : -1;
    buf_clear(&diff);
    if (!words.len)
        args[n++] = base_of(call);
    if (ask_git(call, args, &diff, err) < 0 || (!words.len && add_new(call, &diff, err) < 0))
        return -1;
    if (!diff.len) {
        slash_say(call, INK_PLAIN,
                  words.len ? STR("No differences.\n")
                            : STR("Nothing has changed since the last commit.\n"));
        return 0;
    }
    if (call->front) {
        CLEANUP(buf_release) struct buf page = BUF_INIT(3 * DIFF_MAX);

        buf_adds(&page, "`````diff\n");
        buf_add(&page, buf_str(&diff));
        buf_adds(&page, "\n`````\n");
        call->front->show(call->front->arg, STR("Diff"), buf_str(&page));
        return 0;
    }
    say_diff(call, buf_str(&diff));
    return 0;
}
