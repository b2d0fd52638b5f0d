/*
 * surroundings: two runs of git (status and, for a commit whose past is not remembered, log) beside
 * each other, one deadline. The branch is read from the repository's files (branch.h),
 * so that it is known whatever git does. Runs on the thread that builds the session.
 */
#include "context/surroundings.h"

#include <sys/utsname.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/strv.h"
#include "context/branch.h"
#include "proc/glance.h"
#include "proc/outside.h"

#define GIT_MAX_OUTPUT ((size_t)256 << 10)
#define GIT_MAX_LINE 200 /* bytes of a line that are shown */

enum job_state {
    JOB_NONE,    /* not started */
    JOB_MISSING, /* there is no git */
    JOB_FAILED,  /* could not start, or exit code other than 0 */
    JOB_RUNNING,
    JOB_DONE,
    JOB_SLOW,   /* given up */
    JOB_UNSAFE, /* not started, because it would run programs */
};

struct git_job {
    enum job_state state;
    struct glance *git; /* while it runs, and then what it said */
    struct buf why;     /* it did not start */
};

struct surroundings {
    struct surroundings_spec spec;
    struct branch branch;
    int64_t started_ms; /* glance_now_ms() */
    struct git_job status;
    struct git_job log;
};

/* Not run: the repository's fsmonitor program, gpg, programs named by submodules, and anything that
 * would fetch missing objects. No status is requested where filters would run: a folder, or a
 * confined command that has made a repository there, could name any program. git gets the
 * repository that was checked for them, so that it does not find another one. */
#define GIT_SAFE "git", "--no-optional-locks", "-c", "core.fsmonitor=false"
#define GIT_STATUS                                                                                 \
    GIT_SAFE, "-c", "status.submoduleSummary=false", "status", "--porcelain", "--branch",          \
        "--ignore-submodules=dirty"

static const char *const status_argv[] = {GIT_STATUS, NULL};
static const char *const quick_status_argv[] = {GIT_STATUS, "-uno", NULL};
static const char *const log_argv[] = {
    GIT_SAFE,         "-c", "log.showSignature=false", "log", "-5", "--no-color", "--no-decorate",
    "--format=%h %s", NULL,
};

static const char *environ_get(char *const *environ_list, const char *name)
{
    size_t len = strlen(name);

    for (char *const *e = environ_list; e && *e; e++)
        if (strncmp(*e, name, len) == 0 && (*e)[len] == '=')
            return *e + len + 1;
    return NULL;
}

/* Its variables lead git elsewhere. */
static bool surroundings_is_led(const struct surroundings *s)
{
    return environ_get(s->spec.environ, "GIT_DIR") ||
           environ_get(s->spec.environ, "GIT_COMMON_DIR");
}

/* The facts read from the repository are those that git would use. */
static bool surroundings_is_sure(const struct surroundings *s)
{
    return !s->branch.is_odd && !surroundings_is_led(s);
}

static void surroundings_environ(const struct surroundings *s, struct strv *ret)
{
    CLEANUP(strv_release) struct strv dirs = STRV_INIT;

    strv_adds(&dirs, s->spec.dir);
    if (s->branch.tree)
        strv_adds(&dirs, s->branch.tree);
    outside_environ(s->spec.environ, &dirs, ret);
    strv_adds(ret, "GIT_ALLOW_PROTOCOL=none");
    strv_adds(ret, "GIT_NO_LAZY_FETCH=1");
    if (!surroundings_is_sure(s))
        return;
    strv_addf(ret, "GIT_DIR=%s", s->branch.git);
    if (s->branch.common)
        strv_addf(ret, "GIT_COMMON_DIR=%s", s->branch.common);
}

static void job_start(struct git_job *j, struct surroundings *s, const char *const *argv)
{
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    struct glance_spec spec = {
        .argv = argv,
        .dir = surroundings_is_sure(s) ? s->branch.tree : s->spec.dir, /* GIT_DIR: the top */
        .max_output = GIT_MAX_OUTPUT,
    };
    struct err err = {0};

    surroundings_environ(s, &env);
    spec.envp = (const char *const *)strv_get(&env);
    buf_init(&j->why, GIT_MAX_OUTPUT);
    j->git = glance_start(&spec, &err);
    j->state = j->git ? JOB_RUNNING : err.code == ERR_NOT_FOUND ? JOB_MISSING : JOB_FAILED;
    if (!j->git)
        buf_adds(&j->why, err.text);
}

static void job_release(struct git_job *j)
{
    glance_free(j->git);
    j->git = NULL;
    buf_release(&j->why);
}

/* What git said. */
static struct str job_said(const struct git_job *j)
{
    return j->git ? buf_str(&j->git->out) : STR("");
}

static struct str job_complaint(const struct git_job *j)
{
    return buf_str(j->git ? &j->git->err : &j->why);
}

static void job_look(struct git_job *j)
{
    if (j->state == JOB_RUNNING && j->git->is_over)
        j->state = j->git->code == 0 ? JOB_DONE : JOB_FAILED;
}

struct surroundings *surroundings_start(const struct surroundings_spec *spec)
{
    struct surroundings *s = mem_zalloc(sizeof(*s));

    s->spec = *spec;
    s->started_ms = glance_now_ms();
    branch_find(spec->dir, &s->branch);
    if (s->branch.is_repo) {
        if (s->branch.has_filters || !surroundings_is_sure(s))
            s->status.state = JOB_UNSAFE;
        else
            job_start(&s->status, s, status_argv);
        job_start(&s->log, s, log_argv);
    }
    return s;
}

void surroundings_free(struct surroundings *s)
{
    if (!s)
        return;
    job_release(&s->status);
    job_release(&s->log);
    branch_release(&s->branch);
    mem_freep(&s);
}

/* Until git has said its status, and with_log what led to it; or so many ms after the start. */
static int surroundings_wait(struct surroundings *s, bool with_log, int64_t ms,
                             struct cancel *cancel, struct err *err)
{
    struct err why = {0};
    int rc =
        glance_wait(s->status.git, with_log ? s->log.git : NULL, s->started_ms + ms, cancel, &why);

    job_look(&s->status);
    job_look(&s->log);
    if (rc < 0 && why.code != ERR_TIMEOUT)
        return err_set(err, why.code, "%s", why.text);
    return 0;
}

static void job_give_up(struct git_job *j)
{
    if (j->state == JOB_RUNNING)
        j->state = JOB_SLOW;
}

/* Most of the time for the full status, the rest for one without untracked files. */
static int surroundings_collect(struct surroundings *s, bool *ret_quick, struct cancel *cancel,
                                struct err *err)
{
    int64_t total_ms = s->spec.git_ms ? s->spec.git_ms : SURROUNDINGS_GIT_MS;

    *ret_quick = false;
    if (surroundings_wait(s, /*with_log=*/false, total_ms * 7 / 10, cancel, err) < 0)
        return -1;
    job_give_up(&s->status);
    if (s->status.state == JOB_SLOW) {
        *ret_quick = true;
        job_release(&s->status);
        job_start(&s->status, s, quick_status_argv);
    }
    if (surroundings_wait(s, /*with_log=*/true, total_ms, cancel, err) < 0)
        return -1;
    job_give_up(&s->status);
    job_give_up(&s->log);
    return 0;
}

/* At most max lines, each clipped; how many there were. */
static size_t lines_write(struct str text, size_t max, struct buf *ret)
{
    struct str line;
    size_t n = 0;

    while (text.len && str_cut(&text, '\n', &line)) {
        if (n++ >= max)
            continue;
        buf_addf(ret, "\n  %.*s", STR_ARG(str_clip(line, GIT_MAX_LINE)));
        if (line.len > GIT_MAX_LINE)
            buf_adds(ret, "...");
    }
    return n;
}

/* Why there is nothing to show, after a name. */
static void job_excuse(const struct git_job *j, const char *name, struct buf *ret)
{
    struct str said = str_trim(job_complaint(j));

    said = str_clip(str_first(said, str_chr(said, '\n')), GIT_MAX_LINE);
    if (j->state == JOB_MISSING)
        buf_addf(ret, "\n%s: unknown, git is not installed", name);
    else if (j->state == JOB_UNSAFE)
        buf_addf(
            ret,
            "\n%s: not looked at, because the repository's settings may have git run programs; ask "
            "git when you need to know",
            name);
    else if (j->state == JOB_SLOW)
        buf_addf(ret, "\n%s: git took too long to say; ask it when you need to know", name);
    else
        buf_addf(ret, "\n%s: unknown (%.*s)", name, STR_ARG(said));
}

static void surroundings_write_status(const struct surroundings *s, bool is_quick, struct buf *ret)
{
    struct str rest = job_said(&s->status);
    struct str head = STR("");
    CLEANUP(buf_release) struct buf lines = BUF_INIT(BUF_NO_LIMIT);
    size_t count;

    if (s->status.state != JOB_DONE) {
        job_excuse(&s->status, "Status", ret);
        return;
    }
    if (str_starts(rest, STR("## "))) { /* "## main...origin/main [ahead 1]" */
        str_cut(&rest, '\n', &head);
        head = str_clip(str_from(head, 3), GIT_MAX_LINE);
    }
    if (!s->branch.current && head.len)
        buf_addf(ret, "\nBranch: %.*s", STR_ARG(head));
    else if (str_has(head, STR("...")))
        buf_addf(ret, "\nUpstream: %.*s", STR_ARG(str_from(head, str_find(head, STR("...")) + 3)));
    count = lines_write(rest, SURROUNDINGS_MAX_CHANGES, &lines);
    buf_addf(ret, "\nStatus: %s", count ? "" : "clean");
    if (count)
        buf_addf(ret, "%s%zu changed", s->status.git->out.over ? "more than " : "", count);
    if (is_quick)
        buf_adds(ret, " (untracked files not looked at: that took too long)");
    buf_add(ret, buf_str(&lines));
    if (count > SURROUNDINGS_MAX_CHANGES)
        buf_addf(ret, "\n  ... and %zu more", count - SURROUNDINGS_MAX_CHANGES);
}

static void surroundings_write_log(const struct surroundings *s, struct buf *ret)
{
    /* A branch without commits is no failure worth words. */
    if (s->log.state == JOB_FAILED && str_has(job_complaint(&s->log), STR("any commits")))
        buf_adds(ret, "\nCommits: none yet");
    else if (s->log.state == JOB_DONE) {
        buf_adds(ret, "\nLast commits:");
        lines_write(job_said(&s->log), SURROUNDINGS_COMMITS, ret);
    } else if (s->log.state != JOB_MISSING) {
        job_excuse(&s->log, "Commits", ret);
    }
}

/* "Debian GNU/Linux 12 (bookworm)" */
static void write_distribution(struct buf *ret)
{
    CLEANUP(buf_release) struct buf text = {0};
    struct str rest;
    struct str line;

    if (file_slurp("/etc/os-release", 64 << 10, &text, NULL) < 0)
        return;
    rest = buf_str(&text);
    while (str_cut(&rest, '\n', &line)) {
        if (!str_starts(line, STR("PRETTY_NAME=")))
            continue;
        line = str_from(line, strlen("PRETTY_NAME="));
        if (line.len > 2 && line.ptr[0] == '"')
            line = str_make(line.ptr + 1, line.len - 2);
        buf_addf(ret, ", %.*s", STR_ARG(str_clip(line, GIT_MAX_LINE)));
        return;
    }
}

void surroundings_today(char out[static 11])
{
    time_t now = (time_t)(clock_wall_ms() / 1000);
    struct tm tm;

    if (!localtime_r(&now, &tm) || !strftime(out, 11, "%Y-%m-%d", &tm))
        memcpy(out, "1970-01-01", 11);
}

int surroundings_write(struct surroundings *s, struct cancel *cancel, struct buf *ret,
                       struct err *err)
{
    const char *shell = environ_get(s->spec.environ, "SHELL");
    struct utsname os;
    char today[11];
    bool is_quick;

    if (surroundings_collect(s, &is_quick, cancel, err) < 0)
        return -1;
    surroundings_today(today);
    buf_addf(ret, "Surroundings, as they are %s\nWorking directory: %s",
             s->spec.is_later ? "now" : "at the start of the session", s->spec.dir);
    if (uname(&os) == 0)
        buf_addf(ret, "\nSystem: %s %s (%s)", os.sysname, os.release, os.machine);
    write_distribution(ret);
    if (shell && *shell)
        buf_addf(ret, "\nShell of the user: %s", path_base(shell));
    buf_addf(ret, "\nToday: %s", today);
    buf_addf(ret, "\nGit repository: %s", s->branch.is_repo ? "yes" : "no");
    if (!s->branch.is_repo)
        return 0;
    if (s->branch.current)
        buf_addf(ret, "\nBranch: %s", s->branch.current);
    if (s->branch.main_name)
        buf_addf(ret, "\nMain branch: %s", s->branch.main_name);
    surroundings_write_status(s, is_quick, ret);
    surroundings_write_log(s, ret);
    return 0;
}
