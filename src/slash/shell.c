/*
 * shell: runs one command to its end; and the row of input after "!", which is in no list.
 */
#include "slash/shell.h"

#include "agent/agent.h"
#include "agent/event.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "base/plain.h"
#include "base/secret.h"
#include "conf/conf.h"
#include "guard/sandbox.h"
#include "guard/workspace.h"
#include "host/events/feed.h"
#include "host/host.h"
#include "llm/message.h"
#include "proc/proc.h"
#include "slash/answer.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"
#include "tools/command.h"

#define SHELL_LINGER_MS 500
#define SHELL_TELL_MS 100
#define SHELL_TAIL_BYTES ((size_t)1000)
#define SHELL_TAIL_LINES 5

void shell_result_release(struct shell_result *r)
{
    buf_release(&r->out);
    buf_release(&r->err);
}

/* A running command. */
struct shell_watch {
    struct shell_result *ret;
    struct plain streams[2];
    struct buf tail; /* of both streams, in order of arrival */
    bool has_news;
    int64_t told_ms;
};

static void add_lines(struct shell_watch *w, struct buf *to, struct str text)
{
    size_t room = SHELL_MAX_OUTPUT > to->len ? SHELL_MAX_OUTPUT - to->len : 0;

    buf_add(to, str_clip(text, room));
    if (!w->ret->tell)
        return;
    text = str_from(text, text.len > SHELL_TAIL_BYTES ? text.len - SHELL_TAIL_BYTES : 0);
    buf_add(&w->tail, text);
    if (w->tail.len > SHELL_TAIL_BYTES)
        buf_cut(&w->tail, 0, w->tail.len - SHELL_TAIL_BYTES);
    w->has_news = true;
}

static void add_out(void *arg, struct str text)
{
    struct shell_watch *w = arg;

    add_lines(w, &w->ret->out, text);
}

static void add_err(void *arg, struct str text)
{
    struct shell_watch *w = arg;

    add_lines(w, &w->ret->err, text);
}

static struct str last_lines(struct str text, int lines)
{
    size_t at = text.len;

    while (at && (text.ptr[at - 1] != '\n' || --lines > 0))
        at--;
    return str_from(text, at);
}

static void watch_tell(struct shell_watch *w)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(2 * SHELL_TAIL_BYTES);

    buf_add(&text, last_lines(str_trim(buf_str(&w->tail)), SHELL_TAIL_LINES));
    secret_scrub(&text);
    w->ret->tell(w->ret->tell_arg, buf_str(&text));
    w->told_ms = clock_mono_ms();
    w->has_news = false;
}

/* False: it is over. */
static bool watch_take(struct shell_watch *w, struct proc_mail *pm)
{
    if (pm->what != PROC_EXIT) {
        plain_feed(&w->streams[pm->fd == 2], buf_str(&pm->bytes));
        return true;
    }
    w->ret->code = pm->how == PROC_SIGNALLED ? 128 + pm->code : pm->code;
    w->ret->timed_out = pm->how == PROC_TIMED_OUT;
    return false;
}

/* Reads both streams, reduced to plain text, until the end. */
static int watch(struct mailbox *from, struct cancel *cancel, struct shell_result *ret,
                 struct err *err)
{
    struct shell_watch w = {.ret = ret, .tail = BUF_INIT(4 * SHELL_TAIL_BYTES)};
    bool goes_on = true;

    plain_init(&w.streams[0], add_out, &w);
    plain_init(&w.streams[1], add_err, &w);
    while (goes_on) {
        int64_t due_ms = w.has_news && !clock_is_virtual() ? w.told_ms + SHELL_TELL_MS : -1;
        struct mail *m = NULL;

        if (w.has_news && clock_mono_ms() >= due_ms)
            watch_tell(&w);
        else if (mailbox_take(from, cancel, due_ms, &m, err) < 0 && err->code != ERR_TIMEOUT)
            break;
        goes_on = !m || watch_take(&w, (struct proc_mail *)m);
        if (m)
            mail_free(m);
    }
    for (size_t i = 0; i < ARRAY_LEN(w.streams); i++) {
        plain_end(&w.streams[i]);
        plain_release(&w.streams[i]);
    }
    buf_release(&w.tail);
    if (goes_on)
        return -1;
    err_clear(err);
    return 0;
}

static void finish(struct buf *text)
{
    secret_scrub(text);
    if (text->len >= SHELL_MAX_OUTPUT)
        buf_adds(text, "\n… (the rest is left out)");
}

static bool is_inside(const struct sandbox *s, struct str command)
{
    enum sandbox_side side = sandbox_side(s, command, /*args=*/NULL);

    return side == SIDE_INSIDE || side == SIDE_KEPT_IN;
}

int shell_run(const struct shell_place *at, struct str command, bool by_user, struct cancel *cancel,
              struct shell_result *ret, struct err *err)
{
    CLEANUP(mem_freep) char *dir = workspace_cwd(at->workspace);
    CLEANUP(buf_release) struct buf notes = BUF_INIT(4096);
    CLEANUP(sandbox_job_freep) struct sandbox_job *inside = NULL;
    struct command_spec spec = {
        .text = command,
        .dir = dir,
        .conf = at->conf,
        .timeout_ms = SHELL_TIMEOUT_MS,
        .linger_ms = SHELL_LINGER_MS,
        .by_user = by_user,
    };
    struct mailbox *mail;
    struct proc *proc;
    bool moves;
    int rc = -1;

    if (at->sandbox && is_inside(at->sandbox, command) &&
        sandbox_enter(at->sandbox, &inside, err) < 0)
        return -1;
    spec.job = inside;
    mail = mailbox_new();
    proc = command_start(at->workspace, &spec, mail, &moves, &notes, err);
    if (proc)
        rc = watch(mail, cancel, ret, err);
    proc_unref(proc); /* cancelled: it ends in the background */
    mailbox_close(mail);
    mailbox_unref(mail);
    finish(&ret->out);
    finish(&ret->err);
    return rc;
}

/* ---- "!" ---- */

static int shell_row_run(struct slash_call *call, struct err *err);

const struct slash_command slash_shell_entry = {
    .name = "!",
    .hint = "<command>",
    .summary = "Run a command in the shell; what it says becomes part of the conversation",
    .run = shell_row_run,
};

/* As viewers of transcripts know it; no turn begins. */
static int keep(struct slash_call *call, const struct shell_result *r, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(SLASH_MAX_TEXT);
    struct agent_input in = {.no_query = true, .is_literal = true};

    buf_addf(&text,
             "<bash-input>%.*s</bash-input>\n<bash-stdout>%.*s</bash-stdout>"
             "<bash-stderr>%.*s</bash-stderr>",
             STR_ARG(call->args), STR_ARG(buf_str(&r->out)), STR_ARG(buf_str(&r->err)));
    if (cancel_is_set(call->cancel))
        buf_adds(&text, "\nInterrupted by the user");
    else if (r->timed_out)
        buf_addf(&text, "\nEnded after %d s", (int)(SHELL_TIMEOUT_MS / 1000));
    else if (r->code)
        buf_addf(&text, "\nExit code %d", r->code);
    if (buf_check(&text, err) < 0)
        return -1;
    id_uuid(in.uuid);
    in.message = message_user_text(buf_str(&text));
    return host_send(call->host, &in, err);
}

static void tell_tail(void *arg, struct str tail)
{
    struct slash_call *call = arg;
    struct event *e = host_event(call->host, EVENT_COMMAND_PROGRESS);

    e->name = STR("!");
    e->text = arena_str(&e->arena, tail);
    feed_emit(host_feed(call->host), e, call->cancel);
}

static int shell_row_run(struct slash_call *call, struct err *err)
{
    CLEANUP(shell_result_release) struct shell_result r = SHELL_RESULT_INIT;
    struct shell_place at = {.workspace = host_workspace(call->host),
                             .conf = host_conf(call->host)};
    struct err why = {0};
    int rc;

    r.tell = tell_tail;
    r.tell_arg = call;
    if (!call->args.len)
        return err_set(err, ERR_BAD_INPUT, "which command?");
    rc = shell_run(&at, call->args, /*by_user=*/true, call->cancel, &r, &why);
    if (rc < 0 && (why.code != ERR_CANCELLED || !(r.out.len + r.err.len))) {
        *err = why;
        return -1;
    }
    slash_say(call, INK_PLAIN, buf_str(&r.out));
    slash_say(call, INK_RED, buf_str(&r.err));
    if (rc < 0) /* the part that was read is part of the conversation nevertheless */
        slash_say(call, INK_YELLOW, STR("\nInterrupted"));
    else if (r.timed_out)
        slash_sayf(call, INK_YELLOW, "\nEnded after %d s", (int)(SHELL_TIMEOUT_MS / 1000));
    else if (r.code)
        slash_sayf(call, INK_YELLOW, "\nExit code %d", r.code);
    return keep(call, &r, err);
}
