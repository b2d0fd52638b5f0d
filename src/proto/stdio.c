/*
 * stdio: one loop around input, output and the mailbox. Main thread.
 *
 * The loop never blocks in a write: what cannot go out waits in the connection's queue, and while
 * much waits there no more events are taken, so that the agent comes to wait by itself; the
 * client's lines are still heard.
 */
#include "proto/stdio.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "host/host.h"
#include "host/socket/conn.h"
#include "json/json.h"
#include "proto/peer.h"
#include "proto/sdk_hooks.h"
#include "proto/sdk_servers.h"
#include "slash/slash.h"
#include "sync/cancel.h"
#include "sync/inquiry.h"
#include "sync/mailbox.h"
#include "sync/wait.h"

#define STDIO_MAX_LINE ((size_t)32 << 20) /* of input: images come inside of it */
#define STDIO_BUSY ((size_t)256 << 10)
#define STDIO_MAX_JSON ((size_t)512 << 20)
#define STDIO_LAST_MS 2000 /* for a slow reader after an interrupt */

struct stdio {
    const struct stdio_spec *spec;
    struct conn conn;
    struct mailbox *mailbox;
    struct peer *peer;
    struct buf kept;    /* of the json formats */
    bool input_over;    /* nothing more is read */
    bool finishing;     /* host_finish() was called, or will be for the session that comes */
    bool renewing;      /* and another session follows */
    bool done;          /* and it has answered */
    int64_t give_up_ms; /* after a cancel; -1: never */
};

static void done_free(struct mail *m)
{
    mem_freep(&m);
}

static const struct mail_kind done_kind = {"done", done_free};

/* On the agent's thread. The reference keeps the mailbox alive. */
static void on_done(void *arg)
{
    struct mailbox *mb = arg;
    struct mail *m = mem_zalloc(sizeof(*m));

    m->kind = &done_kind;
    mailbox_send(mb, m);
    mailbox_unref(mb);
}

/* ---- another session ---- */

/* Of the command that wants it. */
struct anew {
    struct inquiry inquiry;
    struct err *err; /* why not */
};

/* On the commands' thread. */
static int on_anew(void *arg, struct err *err)
{
    struct anew anew = {.err = err};

    inquiry_send(&anew.inquiry, arg);
    (void)inquiry_wait(&anew.inquiry, /*cancel=*/NULL, /*err=*/NULL);
    if (anew.inquiry.result < 0 && !err->code)
        err_set(err, ERR_CANCELLED, "the session is about to end");
    return anew.inquiry.result;
}

/* A command may still be at work when we have gone. */
static void anew_release(void *arg)
{
    mailbox_unref(arg);
}

static void finish(struct stdio *s)
{
    if (!s->finishing && !s->renewing)
        slash_finish(s->spec->session->slash, on_done, mailbox_ref(s->mailbox));
    s->finishing = true;
}

static void end_input(struct stdio *s)
{
    if (!s->input_over)
        peer_ended(s->peer);
    s->input_over = true;
    finish(s);
}

static void on_complain(void *arg, const char *text)
{
    struct stdio *s = arg;

    s->spec->complain(s->spec->complain_arg, text);
}

/* A single result has no place for messages to the user: an instruction file that was left out, a
 * fallback model, a server that is retried. They are printed separately. */
static void tell(struct stdio *s, struct str line)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const struct json *told = NULL;
    int64_t status;
    int64_t delay_ms;

    if (json_parse(&arena, line, &told, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    if (str_is(json_get_str(told, "subtype"), "informational")) {
        buf_add(&text, json_get_str(told, "content"));
    } else {
        buf_add(&text, json_get_str(told, "message"));
        status = json_get_i64(told, "error_status", 0);
        if (status >= 300 && !str_has(buf_str(&text), STR("HTTP ")))
            buf_addf(&text, " (HTTP %" PRId64 ")", status);
        buf_adds(&text, "; trying again");
        delay_ms = json_get_i64(told, "retry_delay_ms", 0);
        if (delay_ms > 500)
            buf_addf(&text, " in %" PRId64 " s", (delay_ms + 500) / 1000);
    }
    on_complain(s, buf_cstr(&text));
}

/* A message for the json formats: joined by commas, or only the last result kept. */
static void keep(struct stdio *s, struct str lines)
{
    struct str line;

    while (str_cut(&lines, '\n', &line)) {
        if (!line.len)
            continue;
        if (s->spec->format == STDIO_RESULT) {
            if (str_starts(line, STR("{\"type\":\"system\",\"subtype\":\"informational\"")) ||
                str_starts(line, STR("{\"type\":\"system\",\"subtype\":\"api_retry\"")))
                tell(s, line);
            if (!str_starts(line, STR("{\"type\":\"result\"")))
                continue;
            buf_clear(&s->kept);
        } else if (s->kept.len) {
            buf_addc(&s->kept, ',');
        }
        buf_add(&s->kept, line);
    }
}

static void on_send(void *arg, struct str lines)
{
    struct stdio *s = arg;

    if (s->spec->format == STDIO_LINES)
        (void)conn_send(&s->conn, lines, /*err=*/NULL); /* the queue has no limit */
    else
        keep(s, lines);
}

static void on_line(struct str line, void *arg)
{
    struct stdio *s = arg;

    peer_line(s->peer, line);
}

/* Takes events as long as the reader keeps up. */
static void pump(struct stdio *s)
{
    while (conn_unsent(&s->conn) < STDIO_BUSY && peer_pump(s->peer))
        continue;
}

/* The session can be spoken to, and /clear can leave it. */
static int enter(struct stdio *s, struct err *err)
{
    const struct stdio_spec *spec = s->spec;

    if (spec->look)
        slash_set_anew(spec->session->slash, on_anew, mailbox_ref(s->mailbox), anew_release);
    if (spec->in < 0)
        return 0;
    return host_add_hooks(spec->session->host, sdk_hooks_runner(spec->session->hooks), err);
}

/* The client's hooks are not asked while we wait for the old session: it could not answer. */
static int renew(struct stdio *s, struct err *err)
{
    const struct stdio_spec *spec = s->spec;

    sdk_hooks_close(spec->session->hooks);
    sdk_servers_close(spec->session->servers);
    peer_leave(s->peer);
    if (spec->renew(spec->begin_arg, err) < 0)
        return -1;
    while (peer_pump(s->peer))
        continue;
    if (!s->input_over) {
        sdk_hooks_reopen(spec->session->hooks);
        sdk_servers_reopen(spec->session->servers);
    }
    peer_enter(s->peer);
    peer_say_reset(s->peer);
    if (enter(s, err) < 0)
        return -1;
    (void)slash_attend(spec->session->slash, /*uuid=*/STR(""), /*err=*/NULL);
    spec->begun(spec->begin_arg);
    s->renewing = false;
    if (s->finishing)
        slash_finish(spec->session->slash, on_done, mailbox_ref(s->mailbox));
    return 0;
}

/* All earlier input is finished in the old session. */
static void take_anew(struct stdio *s, struct anew *anew)
{
    const struct stdio_spec *spec = s->spec;
    int rc = spec->look(spec->begin_arg, anew->err);

    s->renewing = rc == 0;
    inquiry_answer(&anew->inquiry, rc);
    if (s->renewing && !s->finishing)
        slash_finish(spec->session->slash, on_done, mailbox_ref(s->mailbox));
}

static int take_mail(struct stdio *s, struct err *err)
{
    struct inquiry *wanted;
    bool is_done;

    for (struct mail *m = mailbox_try(s->mailbox); m; m = mailbox_try(s->mailbox)) {
        /* What a question is about comes before the question; that it is over, at once. */
        if (!peer_is_withdrawal(m))
            pump(s);
        wanted = inquiry_take(m);
        if (wanted) {
            take_anew(s, (struct anew *)wanted);
            continue;
        }
        is_done = m->kind == &done_kind;
        if (m->kind == &let_go_mail_kind)
            end_input(s);
        peer_mail(s->peer, m);
        if (is_done && s->renewing && !cancel_is_set(s->spec->cancel)) {
            if (renew(s, err) < 0)
                return -1;
        } else if (is_done) {
            s->done = true;
            if (s->spec->over)
                s->spec->over(s->spec->begin_arg);
        }
    }
    pump(s);
    return 0;
}

static void heed_cancel(struct stdio *s)
{
    if (s->give_up_ms >= 0 || !cancel_is_set(s->spec->cancel))
        return;
    s->give_up_ms = clock_mono_ms() + STDIO_LAST_MS;
    end_input(s);
}

static int timeout_ms(const struct stdio *s)
{
    int64_t left = s->give_up_ms - clock_mono_ms();

    if (s->give_up_ms < 0)
        return -1;
    return left > 0 ? (int)left : 0;
}

/* One round: waits, reads, writes. -1 when the output failed. */
static int round_trip(struct stdio *s, struct err *err)
{
    bool writes = conn_unsent(&s->conn);
    struct pollfd fds[4] = {
        {.fd = s->input_over ? -1 : s->conn.in, .events = POLLIN},
        {.fd = s->conn.out, .events = writes ? POLLOUT : 0},
        {.fd = mailbox_fd(s->mailbox), .events = POLLIN},
        {.fd = s->give_up_ms >= 0 ? -1 : cancel_fd(s->spec->cancel), .events = POLLIN},
    };
    struct err input_err = {0};

    wait_point(WAIT_POLL, s->spec->cancel);
    if (poll(fds, ARRAY_LEN(fds), timeout_ms(s)) < 0 && errno != EINTR)
        return err_sys(err, ERR_IO, "cannot wait");
    heed_cancel(s);
    if (fds[0].revents && !s->input_over && conn_read(&s->conn, on_line, s, &input_err) <= 0) {
        if (input_err.code)
            on_complain(s, input_err.text);
        end_input(s);
    }
    /* A pipe without a reader says POLLERR even when nothing is asked, a socket POLLHUP. */
    if ((fds[1].revents & (POLLERR | POLLHUP)) && !writes) {
        errno = EPIPE;
        return err_sys(err, ERR_IO, "the output has no reader");
    }
    if (writes && fds[1].revents && conn_flush(&s->conn, err) < 0)
        return -1;
    return take_mail(s, err);
}

/* What the json formats have gathered goes out at the end. */
static void write_kept(struct stdio *s)
{
    if (s->spec->format == STDIO_LINES)
        return;
    if (s->spec->format == STDIO_ARRAY)
        buf_insert(&s->kept, 0, STR("["));
    buf_adds(&s->kept, s->spec->format == STDIO_ARRAY ? "]\n" : "\n");
    if (s->kept.len > 1)
        (void)conn_send(&s->conn, buf_str(&s->kept), /*err=*/NULL);
}

static int loop(struct stdio *s, struct err *err)
{
    bool written = false;

    for (;;) {
        if (s->done && !written && conn_unsent(&s->conn) < STDIO_BUSY) {
            pump(s);
            if (conn_unsent(&s->conn) < STDIO_BUSY) {
                write_kept(s);
                written = true;
            }
        }
        if (written && !conn_unsent(&s->conn))
            return 0;
        if (s->give_up_ms >= 0 && clock_mono_ms() >= s->give_up_ms)
            return 0; /* its reader has had its time */
        if (round_trip(s, err) < 0)
            return -1;
    }
}

static int begin(struct stdio *s, struct err *err)
{
    const struct stdio_spec *spec = s->spec;

    peer_observe(s->peer, /*from=*/1, /*flags=*/0);
    if (spec->answers_asks)
        peer_answer_asks(s->peer);
    if (spec->begin(spec->begin_arg, err) < 0)
        return -1;
    if (spec->in < 0)
        end_input(s);
    spec->begun(spec->begin_arg);
    return 0;
}

int stdio_run(const struct stdio_spec *spec, struct stdio_end *ret, struct err *err)
{
    struct stdio s = {.spec = spec, .mailbox = mailbox_new(), .give_up_ms = -1};
    struct peer_spec peer = {
        .session = spec->session,
        .mailbox = s.mailbox,
        .owner = true,
        .send = on_send,
        .complain = on_complain,
        .arg = &s,
    };
    int r = 0;

    conn_init(&s.conn, spec->in, spec->out, STDIO_MAX_LINE, BUF_NO_LIMIT);
    buf_init(&s.kept, STDIO_MAX_JSON);
    if (spec->in >= 0) {
        spec->session->hooks = sdk_hooks_new(s.mailbox);
        spec->session->servers = sdk_servers_new(s.mailbox);
    }
    r = enter(&s, err);
    s.peer = peer_new(&peer);
    spec->session->owner = mailbox_ref(s.mailbox);
    if (r == 0)
        r = begin(&s, err);
    if (r == 0)
        r = loop(&s, err);
    if (r < 0 && spec->session->hooks) {
        sdk_hooks_close(spec->session->hooks);
        sdk_servers_close(spec->session->servers);
    }
    *ret = (struct stdio_end){
        .is_error = peer_last_is_error(s.peer),
        .read_fail = r < 0 && err->sys == EPIPE,
    };
    peer_free(s.peer);
    mailbox_close(s.mailbox);
    mailbox_unref(s.mailbox);
    conn_release(&s.conn);
    buf_release(&s.kept);
    return r;
}
