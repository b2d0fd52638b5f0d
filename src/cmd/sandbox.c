/*
 * sandbox: what commands of a session here would be kept from, and by what; or one command, run
 * inside, to try it. The command has our terminal, or our pipes; its exit code is ours. Main
 * thread.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "cmd/cmd.h"
#include "cmd/place.h"
#include "conf/conf.h"
#include "guard/sandbox.h"
#include "json/json.h"
#include "json/jw.h"
#include "proc/confine.h"
#include "proc/proc.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"
#include "sync/signals.h"

#define OUT_MAX ((size_t)4 << 20)
#define PIECE ((size_t)16 << 10)
#define MAX_WAITING ((size_t)1 << 20) /* of our input, for a command that does not read it */
#define LOOK_MS 10                    /* whether it has read some of that */

static int sandbox_run(struct cmd *c);

const struct command cmd_sandbox = {
    .usage =
        {
            .name = "sandbox",
            .args = "[-- COMMAND ARGS...]",
            .summary = "Show the sandbox of this folder, or run in it",
            .options = (const enum option_id[]){OPT_JSON, OPT_ADD_DIR, OPT_COUNT},
        },
    .run = sandbox_run,
};

/* ---- showing ---- */

static void write_backends(struct jw *w)
{
    jw_key(w, "backends");
    jw_array(w);
    for (size_t i = 0; i < confine_backend_count; i++) {
        const char *why = "";
        bool works = confine_works(&confine_backends[i], &why);

        jw_object(w);
        jw_kcstr(w, "name", confine_backends[i].name);
        jw_kcstr(w, "what", confine_backends[i].what);
        jw_kbool(w, "works", works);
        if (!works)
            jw_kcstr(w, "why", why);
        jw_object_end(w);
    }
    jw_array_end(w);
}

static void write_json(const struct cmd_place *p, struct buf *out)
{
    struct jw w;

    jw_init(&w, out, 0);
    jw_object(&w);
    sandbox_write(p->sandbox, &w);
    write_backends(&w);
    jw_object_end(&w);
    buf_addc(out, '\n');
}

static void add_list(const struct json *all, const char *key, const char *title, struct buf *out)
{
    const struct json *list = json_get(all, key);

    if (!json_len(list))
        return;
    buf_addf(out, "%s\n", title);
    JSON_EACH(list, v) {
        buf_addf(out, "  %.*s\n", STR_ARG(json_str(v)));
    }
}

static void add_state(const struct cmd_place *p, struct buf *out)
{
    switch (sandbox_state(p->sandbox)) {
    case SANDBOX_ON:
        buf_addf(out, "Commands are confined by %s (%s).\n", confine_backend()->name,
                 confine_backend()->what);
        return;
    case SANDBOX_OFF:
        buf_addf(out, "Commands are not confined: sandbox.enabled is off (%.*s).\n",
                 STR_ARG(conf_origin(p->conf, "sandbox.enabled")));
        return;
    case SANDBOX_MISSING:
        buf_adds(out, "Commands are not confined, so they ask: nothing here can confine them.\n");
        return;
    case SANDBOX_NEEDED:
        buf_addf(out,
                 "No command runs: sandbox.enabled is on (%.*s), and nothing here can confine "
                 "them.\n",
                 STR_ARG(conf_origin(p->conf, "sandbox.enabled")));
        return;
    }
}

/* From the same JSON that scripts get. */
static void write_text(const struct cmd_place *p, struct buf *out)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(OUT_MAX);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *all;
    struct err err = {0};

    write_json(p, &json);
    if (json_parse(&arena, buf_str(&json), &all, /*ret_info=*/NULL, &err) < 0)
        BUG("%s", err.text);
    add_state(p, out);
    if (sandbox_state(p->sandbox) == SANDBOX_ON) {
        add_list(all, "write", "They write in, besides a temporary folder of their own:", out);
        add_list(all, "readOnly", "But not in:", out);
        add_list(all, "hidden", "They cannot read:", out);
        if (json_get_bool(all, "hiddenIsPartial", false))
            buf_adds(out, "Deny rules mean more files than can be hidden; name folders instead.\n");
        add_list(all, "shown", "But they can read:", out);
        add_list(all, "allowedHosts", "Of the network they reach:", out);
        if (!json_len(json_get(all, "allowedHosts")))
            buf_adds(out, "They have no network.\n");
        add_list(all, "unixSockets", "Of unix sockets they reach:", out);
    }
    buf_adds(out, "What could confine them:\n");
    JSON_EACH(json_get(all, "backends"), b) {
        struct str why = json_get_str(b, "why");

        if (!str_is(json_get_str(b, "name"), "none"))
            buf_addf(out, "  %.*s: %s%.*s\n", STR_ARG(json_get_str(b, "name")),
                     json_get_bool(b, "works", false) ? "works here" : "not here: ", STR_ARG(why));
    }
}

static int show(const struct cmd_place *p, struct cmd *c)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(OUT_MAX);
    int code = EXIT_OK;

    if (c->args.given[OPT_JSON])
        write_json(p, &out);
    else
        write_text(p, &out);
    (void)(c->args.given[OPT_JSON] ? say_out : say_live)(buf_str(&out), c->cancel, &code);
    return code;
}

/* ---- running ---- */

struct trial {
    struct cmd *cmd;
    struct proc *proc;
    struct mailbox *mail;
    bool has_input; /* of ours is still read */
    int code;
};

static void trial_mail(struct trial *t, struct proc_mail *m, bool *ret_over)
{
    if (m->what == PROC_OUTPUT) {
        (void)fd_write_all(m->fd == 2 ? STDERR_FILENO : STDOUT_FILENO, buf_str(&m->bytes), NULL);
    } else {
        *ret_over = true;
        t->code = m->how == PROC_SIGNALLED ? 128 + m->code : m->code;
    }
    mail_free(&m->mail);
}

static void trial_input(struct trial *t)
{
    char piece[PIECE];
    ssize_t n = read(STDIN_FILENO, piece, sizeof(piece));

    if (n > 0)
        (void)proc_write(t->proc, str_make(piece, (size_t)n), /*err=*/NULL); /* MAX_WAITING fits */
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) {
        t->has_input = false;
        proc_close_input(t->proc);
    }
}

static void trial_watch(struct trial *t)
{
    bool over = false;

    while (!over) {
        /* Else it would be kept in memory, and the excess lost. */
        bool is_full = t->has_input && proc_waiting(t->proc) >= MAX_WAITING;
        struct pollfd fds[3] = {
            {.fd = mailbox_fd(t->mail), .events = POLLIN},
            {.fd = cancel_fd(t->cmd->cancel), .events = POLLIN},
            {.fd = t->has_input && !is_full ? STDIN_FILENO : -1, .events = POLLIN},
        };
        struct mail *m;

        if (poll(fds, ARRAY_LEN(fds), is_full ? LOOK_MS : -1) < 0 && errno != EINTR)
            return;
        if (fds[1].revents) {
            t->code = cmd_signal_code();
            return;
        }
        if (fds[2].revents)
            trial_input(t);
        m = mailbox_try(t->mail);
        for (; m; m = over ? NULL : mailbox_try(t->mail))
            trial_mail(t, (struct proc_mail *)m, &over);
    }
}

/* The window has another size. Signal thread. */
static void trial_resize(int signo, void *arg)
{
    struct trial *t = arg;
    struct winsize size;

    (void)signo;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        proc_resize(t->proc, size.ws_row, size.ws_col);
}

/* On a terminal every key is the command's, Ctrl-C too. */
static bool terminal_take(struct termios *before, struct proc_spec *spec)
{
    struct termios raw;
    struct winsize size;

    if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, before) < 0)
        return false;
    raw = *before;
    cfmakeraw(&raw);
    raw.c_oflag |= OPOST;
    spec->pty = true;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
        spec->rows = size.ws_row;
        spec->cols = size.ws_col;
    }
    return tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

static int run_inside(const struct cmd_place *p, struct cmd *c)
{
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(sandbox_job_freep) struct sandbox_job *job = NULL;
    struct trial t = {.cmd = c, .has_input = true, .code = EXIT_FAILED};
    struct proc_spec spec = {
        .argv = (const char *const *)c->args.words.ptr + 1,
        .dir = c->dir,
        .keep_stdin = true,
        .max_output = BUF_NO_LIMIT,
    };
    struct termios before;
    struct err err = {0};
    bool on_terminal;

    if (sandbox_state(p->sandbox) != SANDBOX_ON) {
        say("%s", sandbox_why_not(p->sandbox));
        return EXIT_FAILED;
    }
    if (sandbox_enter(p->sandbox, &job, &err) < 0) {
        say_error(&err);
        return EXIT_FAILED;
    }
    sandbox_job_environ(job, conf_environ(p->conf), &env);
    spec.envp = (const char *const *)strv_get(&env);
    spec.confine = sandbox_job_confine(job);
    t.mail = mailbox_new();
    on_terminal = terminal_take(&before, &spec);
    t.proc = proc_start(&spec, t.mail, &err);
    sandbox_job_started(job);
    if (t.proc && on_terminal) {
        signals_watch(SIGWINCH, trial_resize, &t);
        trial_resize(SIGWINCH, &t); /* one that came while it was started */
    }
    if (t.proc)
        trial_watch(&t);
    if (on_terminal) {
        signals_watch(SIGWINCH, NULL, NULL);
        tcsetattr(STDIN_FILENO, TCSANOW, &before);
    }
    if (!t.proc) {
        say_error(&err);
        t.code = err.code == ERR_NOT_FOUND ? 127 : err.code == ERR_DENIED ? 126 : EXIT_FAILED;
    }
    proc_unref(t.proc);
    mailbox_close(t.mail);
    mailbox_unref(t.mail);
    return t.code;
}

static int sandbox_run(struct cmd *c)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(place_release) struct cmd_place p = {0};
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    bool runs = c->args.words.len > 1;
    struct err err = {0};
    int code;

    if (runs && c->args.plain > 1) {
        say("usage: tenax sandbox [--json] | tenax sandbox -- COMMAND ARGS...");
        return EXIT_USAGE;
    }
    code = cmd_conf(c, &conf);
    if (code)
        return code;
    if (place_make(&p, conf, conf_dir(conf), /*insists=*/runs, &notes, &err) < 0) {
        say_error(&err);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < notes.len; i++)
        say("%s", notes.ptr[i]);
    return runs ? run_inside(&p, c) : show(&p, c);
}
