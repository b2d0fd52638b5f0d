/*
 * check: one shell, watched to its end. Output is never held: each portion goes into the hash and,
 * made plain, into a tail that is cut as it grows. Any thread; waits for the job's mail.
 */
#include "goal/check.h"

#include <inttypes.h>
#include <signal.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/plain.h"
#include "base/secret.h"
#include "base/strv.h"
#include "base/vec.h"
#include "goal/origin/room.h"
#include "guard/sandbox.h"
#include "json/jw.h"
#include "proc/proc.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"

#define CHECK_LINGER_MS 500 /* for processes left by the command to write their last output */
#define CHECK_HELD (2 * CHECK_TAIL)
#define CHECK_DEFAULT_PATH "PATH=/usr/local/bin:/usr/bin:/bin"
#define CHECK_SHOW_COMMAND 1000 /* bytes of it in an explanation */

void check_result_release(struct check_result *r)
{
    buf_release(&r->command);
    buf_release(&r->tail);
    trace_release(&r->trace);
    strv_release(&r->touched);
}

/* ---- the environment ---- */

/* Variables that make a shell do more than its command says. */
static const struct str check_unwanted[] = {
    STR_INIT("BASH_ENV="), STR_INIT("ENV="),    STR_INIT("SHELLOPTS="), STR_INIT("BASHOPTS="),
    STR_INIT("PS4="),      STR_INIT("CDPATH="), STR_INIT("BASH_FUNC_"),
};

static bool check_is_unwanted(struct str variable)
{
    for (size_t i = 0; i < ARRAY_LEN(check_unwanted); i++) {
        if (str_starts(variable, check_unwanted[i]))
            return true;
    }
    return false;
}

/* An empty PATH would mean the current directory: then it is left out, and the default holds. */
static void check_add_path(struct str path, struct strv *ret)
{
    CLEANUP(buf_release) struct buf kept = BUF_INIT(BUF_NO_LIMIT);
    struct str dir;

    buf_adds(&kept, "PATH=");
    while (str_cut(&path, ':', &dir)) {
        if (!str_starts(dir, STR("/")))
            continue;
        if (kept.len > 5)
            buf_addc(&kept, ':');
        buf_add(&kept, dir);
    }
    if (kept.len > 5)
        strv_add(ret, buf_str(&kept));
}

void check_environ(char *const *given, struct strv *ret)
{
    for (; *given; given++) {
        struct str variable = str_of(*given);

        if (str_starts(variable, STR("PATH="))) {
            if (!check_path(ret).len)
                check_add_path(str_from(variable, 5), ret);
        } else if (!check_is_unwanted(variable)) {
            strv_add(ret, variable);
        }
    }
    if (!check_path(ret).len)
        strv_adds(ret, CHECK_DEFAULT_PATH);
}

struct str check_path(const struct strv *env)
{
    for (size_t i = 0; i < env->len; i++) {
        if (str_starts(str_of(env->ptr[i]), STR("PATH=")))
            return str_of(env->ptr[i] + 5);
    }
    return STR("");
}

/* ---- the output ---- */

struct check_output {
    struct sha256 hash;
    struct plain plain;
    struct buf tail; /* longer than the part kept in the end, so that a secret is seen whole */
    size_t bytes;
};

static void check_take_plain(void *arg, struct str text)
{
    struct buf *tail = arg;

    if (text.len > CHECK_HELD)
        text = str_from(text, text.len - CHECK_HELD);
    buf_add(tail, text);
    if (tail->len > 2 * CHECK_HELD)
        buf_cut(tail, 0, tail->len - CHECK_HELD);
}

static void check_output_init(struct check_output *o)
{
    *o = (struct check_output){.tail = BUF_INIT(4 * CHECK_HELD)};
    sha256_init(&o->hash);
    plain_init(&o->plain, check_take_plain, &o->tail);
}

static void check_output_release(struct check_output *o)
{
    plain_release(&o->plain);
    buf_release(&o->tail);
}

static void check_output_add(struct check_output *o, struct str bytes)
{
    o->bytes += bytes.len;
    sha256_add(&o->hash, bytes);
    plain_feed(&o->plain, bytes);
}

/* Cuts the excess, up to the end of a line, or of a character where there are no lines. */
static void check_output_end(struct check_output *o, struct check_result *r)
{
    size_t over = 0;

    plain_end(&o->plain);
    secret_scrub(&o->tail);
    if (o->tail.len > CHECK_TAIL) {
        struct str kept;

        over = o->tail.len - CHECK_TAIL;
        kept = str_from(buf_str(&o->tail), over);
        if (o->tail.ptr[over - 1] != '\n' && str_chr(kept, '\n') < kept.len - 1)
            over += str_chr(kept, '\n') + 1;
    }
    while (over < o->tail.len && ((unsigned char)o->tail.ptr[over] & 0xc0) == 0x80)
        over++;
    buf_cut(&o->tail, 0, over);
    buf_move(&r->tail, &o->tail);
    r->bytes = o->bytes;
    sha256_end(&o->hash, r->sha256);
}

/* ---- the run ---- */

static int check_command(struct str command, struct err *err)
{
    if (!str_trim(command).len)
        return err_set(err, ERR_BAD_INPUT, "the check is empty");
    if (command.len > CHECK_MAX_COMMAND)
        return err_set(err, ERR_TOO_BIG, "the check is longer than %zu KB: write it to a script",
                       CHECK_MAX_COMMAND >> 10);
    if (str_chr(command, '\0') < command.len)
        return err_set(err, ERR_BAD_INPUT, "the check holds a NUL character");
    return 0;
}

static struct proc *check_start(const struct check_spec *spec, const char *command,
                                struct sandbox_job *inside, struct mailbox *to, struct err *err)
{
    CLEANUP(strv_release) struct strv plain = STRV_INIT;
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(strv_release) struct strv room_env = STRV_INIT;
    const char *const argv[] = {"/bin/sh", "-c", "--", command, NULL};
    struct proc_spec job = {
        .argv = argv,
        .dir = spec->dir,
        .merge_stderr = true,       /* what failed is understood from the order of things */
        .max_output = BUF_NO_LIMIT, /* all of it is hashed; none of it is held */
        .timeout_ms = spec->timeout_ms ? spec->timeout_ms : CHECK_TIMEOUT_MS,
        .linger_ms = CHECK_LINGER_MS,
        .confine = sandbox_job_confine(inside),
    };
    struct err why = {0};
    struct proc *p;

    check_environ(spec->environ, &plain);
    sandbox_job_environ(inside, strv_get(&plain), &env);
    job.envp = (const char *const *)strv_get(&env);
    if (spec->room) {
        room_environ(spec->room, strv_get(&env), &room_env);
        job.envp = (const char *const *)strv_get(&room_env);
        job.dir = room_dir(spec->room);
        job.confine = room_confine(spec->room, job.confine);
    }
    p = proc_start(&job, to, &why);
    sandbox_job_started(inside);
    if (!p)
        err_set(err, why.code == ERR_CANCELLED || why.code == ERR_UNSUPPORTED ? why.code : ERR_IO,
                "the check cannot be run: %s", why.text);
    return p;
}

static int check_ended(const struct proc_mail *m, struct check_result *r, struct err *err)
{
    if (m->how == PROC_KILLED) /* not by us: everything is being shut down */
        return err_set(err, ERR_CANCELLED, "the check was ended");
    r->timed_out = m->how == PROC_TIMED_OUT;
    r->code = m->how == PROC_SIGNALLED ? 128 + m->code : m->code;
    r->signal = m->how == PROC_SIGNALLED || (r->timed_out && m->code > 128) ? r->code - 128 : 0;
    r->passed = m->how == PROC_EXITED && m->code == 0;
    r->wall_ms = m->wall_ms;
    return 0;
}

static int check_watch(struct mailbox *from, struct cancel *cancel, struct check_output *o,
                       struct check_result *r, struct err *err)
{
    for (;;) {
        struct proc_mail *m;
        struct mail *mail;
        bool over;
        int rc = 0;

        if (mailbox_take(from, cancel, /*deadline_ms=*/-1, &mail, err) < 0)
            return -1;
        m = (struct proc_mail *)mail;
        over = m->what == PROC_EXIT;
        if (over)
            rc = check_ended(m, r, err);
        else
            check_output_add(o, buf_str(&m->bytes));
        mail_free(mail);
        if (over)
            return rc;
    }
}

static void check_add_sandbox(struct sandbox_job *inside, const char *dir, struct buf *tail)
{
    CLEANUP(buf_release) struct buf notes = BUF_INIT(CHECK_TAIL);

    sandbox_job_explain(inside, dir, buf_str(tail), /*has_failed=*/true, &notes);
    if (notes.len && tail->len && tail->ptr[tail->len - 1] != '\n')
        buf_addc(tail, '\n');
    buf_add(tail, buf_str(&notes));
}

int check_run(const struct check_spec *spec, struct cancel *cancel, struct check_result *ret,
              struct err *err)
{
    CLEANUP(check_result_release)
    struct check_result r = {.command = BUF_INIT(CHECK_MAX_COMMAND), .time_ms = clock_wall_ms()};
    CLEANUP(check_output_release) struct check_output output;
    CLEANUP(sandbox_job_freep) struct sandbox_job *inside = NULL;
    struct mailbox *from;
    struct proc *p;
    int rc = -1;

    check_output_init(&output);
    if (check_command(spec->command, err) < 0 || cancel_check(cancel, err) < 0 ||
        sandbox_enter(spec->sandbox, &inside, err) < 0)
        return -1;
    buf_add(&r.command, spec->command);
    from = mailbox_new();
    p = check_start(spec, buf_cstr(&r.command), inside, from, err);
    if (p)
        rc = check_watch(from, cancel, &output, &r, err);
    proc_unref(p); /* cancelled: ends in the background */
    mailbox_close(from);
    mailbox_unref(from);
    if (rc < 0)
        return -1;
    check_output_end(&output, &r);
    if (spec->room && room_look(spec->room, &r.trace, &r.touched, cancel, err) < 0)
        return -1;
    if (!r.passed && !r.timed_out)
        check_add_sandbox(inside, spec->dir, &r.tail);
    *ret = r;
    r = (struct check_result){0};
    return 0;
}

/* ---- in words ---- */

/* What shells and usual runners print of a command that they cannot run at all. */
static const struct complaint {
    int code; /* exit code that goes with it; -1: any, the check may end well */
    const char *begins, *has;
    const char *why;
} complaints[] = {
    {-1, "/bin/sh: ", ": not found", "a command of it is not found"},
    {-1, "/bin/sh: ", ": command not found", "a command of it is not found"},
    {-1, "/bin/sh: ", ": Permission denied", "a file of it cannot be executed"},
    {2, "/bin/sh: ", ": can't cd to ", "a folder of it is not found"},
    {2, "/bin/sh: ", "yntax error", "the shell cannot parse it"},
    {2, "/bin/sh: ", "nterminated", "the shell cannot parse it"},
    {2, "/bin/sh: ", "unexpected EOF", "the shell cannot parse it"},
    {2, "/bin/sh: ", ": missing ]", "the shell cannot parse it"},
    {2, "/bin/sh: ", ": unexpected operator", "the shell cannot parse it"},
    {-1, "grep: ", "nmatched ", "its pattern cannot be parsed"},
    {-1, "grep: ", "nvalid ", "its pattern cannot be parsed"},
    {1, "  File \"<string>\"", "", "Python cannot run the code in it"},
    {1, "[eval]:", "", "node cannot run the code in it"},
    {2, "make: ", "No rule to make target", "make has no such target"},
    {2, "make: ", "No targets specified", "make has no makefile"},
    {2, "make: ", " Error 127", "a command of it is not found"},
    {2, "", ": can't open file '", "a file of it is not found"},
    {2, "", ": cannot open ", "a file of it is not found"},
    {1, "", ": No module named ", "a Python module of it is not found"},
    {1, "Error: Cannot find module", "", "a file of it is not found"},
    {-1, "npm ", "Missing script:", "package.json has no such script"},
    {101, "error: no such command", "", "cargo has no such command"},
};

const char *check_complaint(const struct check_result *r)
{
    struct str rest = buf_str(&r->tail), line;

    if (r->code == 127)
        return "a command of it is not found";
    if (r->code == 126)
        return "a file of it cannot be executed";
    if (r->timed_out)
        return "it took longer than its time limit";
    while (rest.len && str_cut(&rest, '\n', &line)) {
        for (size_t i = 0; i < ARRAY_LEN(complaints); i++) {
            const struct complaint *c = &complaints[i];

            if ((c->code < 0 || c->code == r->code) && str_starts(line, str_of(c->begins)) &&
                str_has(line, str_of(c->has)))
                return c->why;
        }
    }
    return NULL;
}

static void check_add_end(const struct check_result *r, struct buf *ret)
{
    const char *name = r->signal ? sigabbrev_np(r->signal) : NULL;
    double seconds = (double)r->wall_ms / 1000;

    if (r->passed)
        buf_addf(ret, "passed (exit code 0, %.1f s)", seconds);
    else if (r->timed_out)
        buf_addf(ret, "failed: it was ended after %.1f s, its time limit", seconds);
    else if (r->signal)
        buf_addf(ret, "failed: ended by %s%s after %.1f s", name ? "SIG" : "a signal",
                 name ? name : "", seconds);
    else
        buf_addf(ret, "failed: exit code %d%s, %.1f s", r->code,
                 r->code == 127   ? " (a command was not found)"
                 : r->code == 126 ? " (a file could not be executed)"
                                  : "",
                 seconds);
}

void check_explain(const struct check_result *r, struct buf *ret)
{
    struct str command = str_clip(str_trim(buf_str(&r->command)), CHECK_SHOW_COMMAND);
    struct str tail = str_trim(buf_str(&r->tail));

    buf_addf(ret, "The check `%.*s%s` ", STR_ARG(command),
             command.len < CHECK_SHOW_COMMAND ? "" : "…");
    check_add_end(r, ret);
    buf_adds(ret, ".\n");
    if (!r->bytes)
        buf_adds(ret, "It printed nothing.\n");
    else if (!tail.len)
        buf_addf(ret, "It printed %zu bytes, none of them text.\n", r->bytes);
    else if (r->bytes > CHECK_TAIL)
        buf_addf(ret, "The end of what it printed (%zu bytes in all):\n", r->bytes);
    else
        buf_adds(ret, "It printed:\n");
    if (tail.len) {
        buf_add(ret, tail);
        buf_addc(ret, '\n');
    }
}

void check_write(const struct check_result *r, struct jw *w)
{
    jw_object(w);
    jw_kstr(w, "command", buf_str(&r->command));
    jw_kbool(w, "passed", r->passed);
    jw_ki64(w, "exit_code", r->code);
    jw_kbool(w, "timed_out", r->timed_out);
    jw_ki64(w, "duration_ms", r->wall_ms);
    jw_kcstr(w, "output_sha256", r->sha256);
    jw_ki64(w, "output_bytes", (int64_t)r->bytes);
    jw_kstr(w, "tail", buf_str(&r->tail));
    jw_object_end(w);
}
