/*
 * git: one run through proc with settings that keep it quiet and harmless. What the user's
 * configuration says about content (line ends, filters, ignored files) holds; what it says about
 * convenience does not. Any thread.
 */
#include "goal/git/git.h"

#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "base/vec.h"
#include "goal/check.h"
#include "guard/sandbox.h"
#include "proc/confine.h"
#include "proc/proc.h"

#define GIT_GRACE_MS 500
#define GIT_SMALL ((size_t)64 << 10) /* of an answer of a line or two */
#define GIT_MAX_ARGS 64
#define GIT_SMALL ((size_t)64 << 10) /* of an answer of a line or two */

static const char *const git_settings[] = {
    "git", "--no-optional-locks",          "-c", "core.fsmonitor=false",
    "-c",  "core.hooksPath=/dev/null",     "-c", "core.splitIndex=false",
    "-c",  "core.safecrlf=false",          "-c", "core.logAllRefUpdates=false",
    "-c",  "core.quotePath=true",          "-c", "gc.auto=0",
    "-c",  "maintenance.auto=false",       "-c", "submodule.recurse=false",
    "-c",  "advice.addEmbeddedRepo=false", "-c", "i18n.commitEncoding=UTF-8",
};

static const char *const git_variables[] = {
    "LC_ALL=C",
    "GIT_TERMINAL_PROMPT=0",
    "GIT_AUTHOR_NAME=tenax",
    "GIT_AUTHOR_EMAIL=tenax@localhost",
    "GIT_COMMITTER_NAME=tenax",
    "GIT_COMMITTER_EMAIL=tenax@localhost",
    "GIT_NO_REPLACE_OBJECTS=1",
};

int64_t git_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void git_said_release(struct git_said *s)
{
    buf_release(&s->out);
    buf_release(&s->complaint);
}

static bool git_is_unwanted(struct str variable, bool own_index)
{
    static const struct str names[] = {
        STR_INIT("LC_ALL="),
        STR_INIT("GIT_TRACE"),
        STR_INIT("GIT_LITERAL_PATHSPECS"),
        STR_INIT("GIT_AUTHOR_"),
        STR_INIT("GIT_COMMITTER_"),
        STR_INIT("GIT_TERMINAL"),
        STR_INIT("GIT_EXTERNAL_DIFF="),
        STR_INIT("GIT_DIFF_OPTS="),
        STR_INIT("GIT_REDIRECT"),
        STR_INIT("GIT_REFLOG_ACTION="),
        STR_INIT("GIT_NAMESPACE="),
        STR_INIT("GIT_LITERAL_PATHSPECS="),
        STR_INIT("GIT_GLOB_PATHSPECS="),
        STR_INIT("GIT_NOGLOB_PATHSPECS="),
        STR_INIT("GIT_ICASE_PATHSPECS="),
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_starts(variable, names[i]))
            return true;
    }
    return own_index && str_starts(variable, STR("GIT_INDEX_FILE="));
}

static void git_environ(const struct git *g, struct strv *ret)
{
    CLEANUP(strv_release) struct strv given = STRV_INIT;

    check_environ(g->environ, &given);
    for (size_t i = 0; i < given.len; i++) {
        struct str variable = str_of(given.ptr[i]);

        if (!git_is_unwanted(variable, g->index != NULL) &&
            !(g->git_dir && str_starts(variable, STR("GIT_"))))
            strv_add(ret, variable);
    }
    if (g->git_dir) {
        strv_addf(ret, "GIT_DIR=%s", g->git_dir);
        strv_addf(ret, "GIT_WORK_TREE=%s", g->work_tree);
        strv_adds(ret, "GIT_CONFIG_NOSYSTEM=1");
        strv_adds(ret, "GIT_CONFIG_GLOBAL=/dev/null");
        strv_adds(ret, "GIT_ATTR_NOSYSTEM=1");
    }
    for (size_t i = 0; i < ARRAY_LEN(git_variables); i++)
        strv_adds(ret, git_variables[i]);
    if (g->index)
        strv_addf(ret, "GIT_INDEX_FILE=%s", g->index);
}

static size_t git_argv(const char *const *args, const char *ret[GIT_MAX_ARGS])
{
    size_t n = 0;

    for (; n < ARRAY_LEN(git_settings); n++)
        ret[n] = git_settings[n];
    for (; *args; args++) {
        if (n == GIT_MAX_ARGS - 1)
            BUG("too many arguments for git");
        ret[n++] = *args;
    }
    ret[n] = NULL;
    return n;
}

static int git_took_too_long(struct err *err)
{
    return err_set(err, ERR_TIMEOUT, "git took too long");
}

/* What went wrong before it ran, or how it ended. */
static int git_run_spec(const struct git *g, const struct proc_spec *spec, struct git_said *ret,
                        struct err *err)
{
    struct proc_result r;
    struct err why = {0};

    if (proc_run(spec, g->cancel, &r, &why) < 0) {
        if (why.code == ERR_NOT_FOUND || why.code == ERR_DENIED)
            return err_set(err, ERR_UNSUPPORTED, "there is no git here");
        if (err)
            *err = why;
        return -1;
    }
    if (r.how != PROC_EXITED) {
        proc_result_release(&r);
        if (r.how == PROC_TIMED_OUT)
            return git_took_too_long(err);
        if (r.how == PROC_KILLED)
            return err_set(err, ERR_CANCELLED, "git was ended");
        return err_set(err, ERR_IO, "git was ended by a signal (%d)", r.code);
    }
    *ret = (struct git_said){.code = r.code, .cut = r.dropped > 0};
    buf_move(&ret->out, &r.out);
    buf_move(&ret->complaint, &r.err);
    return 0;
}

static int git_run_inside(const struct git *g, struct proc_spec *spec, const struct strv *env,
                          struct git_said *ret, struct err *err)
{
    CLEANUP(sandbox_job_freep) struct sandbox_job *inside = NULL;
    CLEANUP(strv_release) struct strv write = STRV_INIT;
    CLEANUP(strv_release) struct strv inside_env = STRV_INIT;
    CLEANUP(mem_freep) char *room = g->index ? path_dirname(g->index) : NULL;
    struct proc_spec confined = *spec;
    struct confinement confine;

    if (sandbox_enter(g->sandbox, &inside, err) < 0)
        return -1;
    if (!inside)
        return err_set(err, ERR_UNSUPPORTED, "there is no sandbox to run git in");
    confine = *sandbox_job_confine(inside);
    for (const char *const *path = confine.write; path && *path; path++)
        strv_adds(&write, *path);
    if (room)
        strv_adds(&write, room);
    confine.write = (const char *const *)strv_get(&write);
    sandbox_job_environ(inside, strv_get(env), &inside_env);
    confined.confine = &confine;
    confined.envp = (const char *const *)strv_get(&inside_env);
    return git_run_spec(g, &confined, ret, err);
}

int git_run(const struct git *g, const char *const *args, struct str input, size_t max_output,
            struct git_said *ret, struct err *err)
{
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    const char *argv[GIT_MAX_ARGS];
    struct proc_spec spec = {
        .argv = argv,
        .dir = g->dir,
        .input = input,
        .max_output = max_output,
        .grace_ms = GIT_GRACE_MS,
    };

    if (g->deadline_ms) {
        spec.timeout_ms = g->deadline_ms - git_now_ms();
        if (spec.timeout_ms <= 0)
            return git_took_too_long(err);
    }
    git_argv(args, argv);
    git_environ(g, &env);
    if (g->sandbox)
        return git_run_inside(g, &spec, &env, ret, err);
    spec.envp = (const char *const *)strv_get(&env);
    return git_run_spec(g, &spec, ret, err);
}

int git_failed(const struct git_said *s, const char *what, struct err *err)
{
    static const char *const unusable[] = {"not a git repository", "must be run in a work tree",
                                           "dubious ownership"};
    struct str rest = str_trim(buf_str(&s->complaint));
    enum err_code code = ERR_IO;
    struct str line = STR("");
    struct str next;

    for (size_t i = 0; i < ARRAY_LEN(unusable); i++) {
        if (str_has(rest, str_of(unusable[i])))
            code = ERR_UNSUPPORTED;
    }
    /* The first error says more than the last, which is often only that there was one. */
    while (rest.len && str_cut(&rest, '\n', &next)) {
        if (!line.len || (str_starts(line, STR("warning:")) && !str_starts(next, STR("warning:"))))
            line = next;
    }
    if (line.len)
        return err_set(err, code, "git %s: %.*s", what, STR_ARG(line));
    return err_set(err, code, "git %s failed with exit code %d", what, s->code);
}

int git_ask(const struct git *g, const char *const *args, struct str input, size_t max_output,
            struct buf *ret_out, struct err *err)
{
    CLEANUP(git_said_release) struct git_said said = {0};

    if (git_run(g, args, input, max_output, &said, err) < 0)
        return -1;
    if (said.code)
        return git_failed(&said, args[0], err);
    if (said.cut)
        return err_set(err, ERR_TOO_BIG, "git %s had more than %zu KB to say", args[0],
                       max_output >> 10);
    buf_move(ret_out, &said.out);
    return 0;
}

bool git_is_hash(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!strchr("0123456789abcdef", text.ptr[i]) || !text.ptr[i])
            return false;
    }
    return text.len == 40 || text.len == 64;
}

int git_ask_hash(const struct git *g, const char *const *args, struct str input,
                 char ret[static GIT_ID], struct err *err)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct str line;

    if (git_ask(g, args, input, GIT_SMALL, &out, err) < 0)
        return -1;
    line = str_trim(buf_str(&out));
    if (!git_is_hash(line))
        return err_set(err, ERR_PROTOCOL, "git %s gave no hash", args[0]);
    memcpy(ret, line.ptr, line.len);
    ret[line.len] = '\0';
    return 0;
}

static bool is_forgivable(struct str complaint)
{
    struct str line;

    while (complaint.len && str_cut(&complaint, '\n', &line)) {
        if (!line.len || str_starts(line, STR("warning:")) || str_starts(line, STR("hint:")) ||
            str_starts(line, STR("error: unable to index file")) ||
            str_starts(line, STR("fatal: adding files failed")) ||
            (str_starts(line, STR("error: open(")) && str_ends(line, STR(": Permission denied"))) ||
            str_ends(line, STR("does not have a commit checked out")))
            continue;
        return false;
    }
    return true;
}

int git_add(const struct git *g, const char *const *args, struct err *err)
{
    CLEANUP(git_said_release) struct git_said said = {0};

    if (git_run(g, args, STR(""), GIT_SMALL, &said, err) < 0)
        return -1;
    return said.code && !is_forgivable(buf_str(&said.complaint)) ? git_failed(&said, "add", err)
                                                                 : 0;
}
