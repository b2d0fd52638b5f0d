/*
 * sdk_hooks: callbacks of a client, asked over its connection.
 *
 * run() is called by the agent and its tool threads, several at once; answers come in on the thread
 * that reads the client. They meet at one gate. What waits lives on the asking thread's stack.
 */
#include "proto/sdk_hooks.h"

#include <inttypes.h>
#include <string.h>

#include "agent/hook_sight.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "base/log.h"
#include "base/strv.h"
#include "base/vec.h"
#include "json/json.h"
#include "json/jw.h"
#include "proto/peer.h"
#include "proto/shorten.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"
#include "sync/thread.h"
#include "sync/wait.h"

#define HOOK_TIMEOUT_MS (600 * 1000)
#define HOOK_PROMPT_TIMEOUT_MS (30 * 1000) /* UserPromptSubmit: the user waits */
#define HOOK_MAX_ROWS 256

/* One entry of an event's list. */
struct hook_row {
    enum hook_event event;
    char *matcher;
    struct strv ids;
    int64_t timeout_ms;
    bool blocks; /* when it fails */
};

/* One callback that was asked. Its row may be gone: a client may say anew which it has. */
struct hook_wait {
    char request_id[32];
    char *callback;
    struct hook_sight sight;
    int64_t time_ms;
    int64_t deadline_ms;
    bool blocks; /* when it fails */
    bool done;
    bool is_over;      /* done, or not waited for any more */
    struct buf output; /* JSON; empty when it failed */
    struct buf error;
};
typedef VEC(struct hook_wait) hook_waits;

struct sdk_hooks {
    struct hook_runner runner; /* first: it is what the agent holds */
    struct gate gate;          /* of everything below */
    VEC(struct hook_row) rows;
    VEC(struct hook_wait *) waiting;
    uint64_t last;
    char ids[16]; /* what the ids of requests begin with, in this process alone */
    bool closed;
    struct mailbox *to;
};

/* This thread reads a client: it would wait for itself. */
static _Thread_local bool reads_client;

static void rows_release(struct sdk_hooks *s)
{
    VEC_EACH(&s->rows, row) {
        mem_freep(&row->matcher);
        strv_release(&row->ids);
    }
    vec_release(&s->rows);
}

static bool row_matches(const struct hook_row *row, enum hook_event event, struct str subject)
{
    /* Where there is nothing to match, a matcher is ignored. */
    return row->event == event &&
           (!subject.len || hook_matches(event, str_of(row->matcher), subject));
}

static bool sdk_hooks_wants(struct hook_runner *self, enum hook_event event, struct str subject)
{
    struct sdk_hooks *s = (struct sdk_hooks *)self;
    bool wanted = false;

    gate_take(&s->gate);
    VEC_EACH(&s->rows, row) {
        wanted = wanted || row_matches(row, event, subject);
    }
    /* Most clients leave first, and cannot be notified of the end then. */
    wanted = wanted && !(s->closed && event == HOOK_SESSION_END);
    gate_give(&s->gate);
    return wanted;
}

static void send_request(struct sdk_hooks *s, const struct hook_wait *w,
                         const struct hook_input *in)
{
    struct line_mail *m = line_mail_new();
    struct jw j;

    jw_init(&j, &m->line, JW_CLEAN);
    jw_object(&j);
    jw_kcstr(&j, "type", "control_request");
    jw_kcstr(&j, "request_id", w->request_id);
    jw_key(&j, "request");
    jw_object(&j);
    jw_kcstr(&j, "subtype", "hook_callback");
    jw_kcstr(&j, "callback_id", w->callback);
    jw_key(&j, "input");
    shorten_hook_input(&j, in->json);
    if (in->tool_use_id.len)
        jw_kstr(&j, "tool_use_id", in->tool_use_id);
    jw_object_end(&j);
    jw_object_end(&j);
    buf_addc(&m->line, '\n');
    mailbox_send(s->to, &m->mail);
}

static void send_cancel(struct sdk_hooks *s, const struct hook_wait *w)
{
    struct line_mail *m = line_mail_new();

    buf_addf(&m->line, "{\"type\":\"control_cancel_request\",\"request_id\":\"%s\"}\n",
             w->request_id);
    mailbox_send(s->to, &m->mail);
}

static int64_t row_time(const struct hook_row *row, const struct hook_input *in)
{
    if (in->most_ms && row->timeout_ms > in->most_ms)
        return in->most_ms;
    return row->timeout_ms > in->least_ms ? row->timeout_ms : in->least_ms;
}

/* With the gate held: who is to be asked. */
static void collect(struct sdk_hooks *s, const struct hook_input *in, hook_waits *waits)
{
    VEC_EACH(&s->rows, row) {
        if (!row_matches(row, in->event, in->subject))
            continue;
        for (size_t i = 0; i < row->ids.len; i++) {
            struct hook_wait *w = vec_add(waits);

            *w = (struct hook_wait){
                .callback = mem_dup(row->ids.ptr[i], strlen(row->ids.ptr[i])),
                .time_ms = row_time(row, in),
                .blocks = row->blocks,
            };
            buf_init(&w->output, HOOK_MAX_TEXT);
            buf_init(&w->error, HOOK_MAX_TEXT);
            (void)snprintf(w->request_id, sizeof(w->request_id), "%s-%" PRIu64, s->ids, ++s->last);
        }
    }
}

/* With the gate held. No more of them come: their places hold. */
static void start(struct sdk_hooks *s, const struct hook_input *in, hook_waits *waits)
{
    int64_t now = clock_mono_ms();

    VEC_EACH(waits, w) {
        w->deadline_ms = now + w->time_ms;
        vec_push(&s->waiting, w);
        send_request(s, w, in);
    }
}

static void forget(struct sdk_hooks *s, const struct hook_wait *w)
{
    for (size_t i = 0; i < s->waiting.len; i++) {
        if (s->waiting.ptr[i] == w) {
            s->waiting.ptr[i] = s->waiting.ptr[--s->waiting.len];
            return;
        }
    }
}

static void hooks_wake(void *arg)
{
    struct sdk_hooks *s = arg;

    gate_take(&s->gate);
    gate_wake(&s->gate);
    gate_give(&s->gate);
}

/* With the gate held: this one is not awaited any more. */
static void leave(struct sdk_hooks *s, struct hook_wait *w, struct cancel *cancel)
{
    forget(s, w);
    w->is_over = true;
    if (w->done)
        return;
    if (!s->closed)
        send_cancel(s, w);
    buf_adds(&w->error, s->closed               ? "the client has gone"
                        : cancel_is_set(cancel) ? "cancelled"
                                                : "the hook did not answer in time");
}

/* The next that is answered, late, or not needed; NULL: there is none left. */
static struct hook_wait *await(struct sdk_hooks *s, hook_waits *waits, struct cancel *cancel)
{
    struct hook_wait *over = NULL;
    bool any = true;

    gate_take(&s->gate);
    while (any && !over) {
        int64_t next_ms = INT64_MAX;

        any = false;
        VEC_EACH(waits, w) {
            if (w->is_over)
                continue;
            any = true;
            next_ms = w->deadline_ms < next_ms ? w->deadline_ms : next_ms;
            if (!over && (w->done || s->closed || cancel_is_set(cancel) ||
                          w->deadline_ms <= clock_mono_ms()))
                over = w;
        }
        if (any && !over)
            (void)gate_wait(&s->gate, next_ms);
    }
    if (over)
        leave(s, over, cancel);
    gate_give(&s->gate);
    return over;
}

/* What others hear: the client's words, or why there are none. */
static void tell_end(struct hook_wait *w)
{
    struct hook_news how = {
        .out = buf_str(&w->output),
        .err = buf_str(&w->error),
        .end = !w->done       ? HOOK_CANCELLED
               : w->error.len ? HOOK_ERROR
                              : HOOK_SUCCESS,
    };

    hook_sight_end(&w->sight, &how);
}

static bool may_block(enum hook_event event)
{
    return event == HOOK_PRE_TOOL_USE || event == HOOK_USER_PROMPT_SUBMIT;
}

/* What one callback said, laid over the outcome. */
static int merge(const struct hook_wait *w, enum hook_event event, struct hook_outcome *io,
                 struct err *err)
{
    struct arena arena = ARENA_INIT;
    const struct json *output = NULL;
    int r = 0;

    if (!w->done || w->error.len) {
        bool blocks = w->done ? w->blocks : may_block(event);

        return err_set(err, blocks ? ERR_DENIED : ERR_IO, "%s hook: %s", hook_event_name(event),
                       buf_cstr(&w->error));
    }
    if (json_parse(&arena, buf_str(&w->output), &output, NULL, err) < 0)
        r = err_prefix(err, "%s hook", hook_event_name(event));
    else if (!json_get_bool(output, "async", false) && json_len(output))
        r = hook_outcome_merge(io, event, output, err);
    if (r < 0 && err && w->blocks)
        err->code = ERR_DENIED;
    arena_release(&arena);
    return r;
}

static int sdk_hooks_run(struct hook_runner *self, const struct hook_input *in,
                         struct cancel *cancel, struct hook_outcome *io, struct err *err)
{
    struct sdk_hooks *s = (struct sdk_hooks *)self;
    hook_waits waits = VEC_INIT;
    struct cancel_hook *hook;
    struct hook_wait *over;
    int r = 0;

    if (reads_client) {
        log_debug("hooks", "%s: the client has done it itself", hook_event_name(in->event));
        return 0;
    }
    wait_point(WAIT_MAIL, cancel);
    hook = cancel ? cancel_on(cancel, hooks_wake, s) : NULL;
    gate_take(&s->gate);
    collect(s, in, &waits);
    gate_give(&s->gate);
    VEC_EACH(&waits, w) { /* with nothing held: an observer may be waited for */
        hook_sight_begin(&w->sight, in, STR("callback"));
    }
    gate_take(&s->gate);
    start(s, in, &waits);
    gate_give(&s->gate);
    while ((over = await(s, &waits, cancel)) != NULL)
        tell_end(over);
    cancel_off(hook);
    VEC_EACH(&waits, w) {
        struct err one = {0};

        /* The worst news counts: a refusal over a failure. */
        if (!cancel_is_set(cancel) && merge(w, in->event, io, &one) < 0) {
            log_debug("hooks", "%s", one.text);
            if (err && (r == 0 || one.code == ERR_DENIED))
                *err = one;
            r = -1;
        }
        mem_freep(&w->callback);
        hook_sight_release(&w->sight);
        buf_release(&w->output);
        buf_release(&w->error);
    }
    vec_release(&waits);
    return cancel_is_set(cancel) ? err_set(err, ERR_CANCELLED, "interrupted") : r;
}

struct sdk_hooks *sdk_hooks_new(struct mailbox *to)
{
    struct sdk_hooks *s = mem_zalloc(sizeof(*s));

    (void)id_make(s->ids, sizeof(s->ids), "hook-", 8);
    s->runner.wants = sdk_hooks_wants;
    s->runner.run = sdk_hooks_run;
    s->to = mailbox_ref(to);
    gate_init(&s->gate);
    return s;
}

void sdk_hooks_free(struct sdk_hooks *s)
{
    if (!s)
        return;
    rows_release(s);
    vec_release(&s->waiting);
    mailbox_unref(s->to);
    gate_release(&s->gate);
    mem_freep(&s);
}

struct hook_runner *sdk_hooks_runner(struct sdk_hooks *s)
{
    return &s->runner;
}

static int add_row(struct sdk_hooks *s, enum hook_event event, const struct json *entry,
                   struct err *err)
{
    struct str matcher = json_get_str(entry, "matcher");
    const struct json *ids = json_get(entry, "hookCallbackIds");
    double seconds = 0;
    struct hook_row *row;

    if (!json_is(ids, JSON_ARRAY))
        return err_set(err, ERR_BAD_INPUT, "hooks.%s: hookCallbackIds must be a list",
                       hook_event_name(event));
    if (s->rows.len == HOOK_MAX_ROWS)
        return err_set(err, ERR_TOO_BIG, "more than %d hooks", HOOK_MAX_ROWS);
    row = vec_add(&s->rows);
    *row = (struct hook_row){
        .event = event,
        .matcher = mem_dup(matcher.ptr ? matcher.ptr : "", matcher.len),
        .timeout_ms = event == HOOK_USER_PROMPT_SUBMIT ? HOOK_PROMPT_TIMEOUT_MS
                      : event == HOOK_SESSION_END      ? HOOK_END_MS
                                                       : HOOK_TIMEOUT_MS,
        .blocks = str_is(json_get_str(entry, "onFailure"), "block"),
    };
    JSON_EACH(ids, id) {
        strv_add(&row->ids, json_str(id));
    }
    if (json_double(json_get(entry, "timeout"), &seconds) && seconds > 0 && seconds < 1e6)
        row->timeout_ms = (int64_t)(seconds * 1000);
    return 0;
}

int sdk_hooks_set(struct sdk_hooks *s, const struct json *hooks, struct err *err)
{
    int r = 0;

    reads_client = true;
    gate_take(&s->gate);
    rows_release(s);
    JSON_EACH(hooks, list) {
        enum hook_event event;

        if (!hook_event_parse(json_key(list), &event))
            continue;
        JSON_EACH(list, entry) {
            if (r == 0)
                r = add_row(s, event, entry, err);
        }
    }
    gate_give(&s->gate);
    return r;
}

bool sdk_hooks_answer(struct sdk_hooks *s, struct str request_id, const struct json *output,
                      struct str error)
{
    struct hook_wait *found = NULL;

    gate_take(&s->gate);
    VEC_EACH(&s->waiting, it) {
        if (!(*it)->done && str_is(request_id, (*it)->request_id))
            found = *it;
    }
    if (found) {
        found->done = true;
        if (output)
            buf_add(&found->output, json_raw(output));
        else
            buf_add(&found->error, error.len ? error : STR("failed"));
        if (found->output.over)
            buf_adds(&found->error, "the answer is too long");
        gate_wake(&s->gate);
    }
    gate_give(&s->gate);
    return found;
}

void sdk_hooks_close(struct sdk_hooks *s)
{
    gate_take(&s->gate);
    s->closed = true;
    gate_wake(&s->gate);
    gate_give(&s->gate);
}

void sdk_hooks_reopen(struct sdk_hooks *s)
{
    gate_take(&s->gate);
    s->closed = false;
    gate_give(&s->gate);
}
