/*
 * scripted: plays a scenario through a reply, driven by its owner's timer.
 *
 * All calls of a provider share the cursor, guarded by a lock. A call gets its step and its fault
 * from it once, at the first tick, and is independent afterwards. Any thread.
 */
#include "llm/scenario/scripted.h"

#include <stdatomic.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "llm/dialect/dialect.h"
#include "llm/model.h"
#include "llm/reply.h"
#include "llm/scenario/scenario.h"
#include "llm/scenario/viewer.h"
#include "sync/thread.h"

struct scripted {
    atomic_int refs;
    struct scenario *scenario;
    struct lock lock; /* guards the cursor */
    struct scenario_cursor cursor;
};

struct scripted_call {
    struct scripted *script;
    const struct llm_request *request;
    struct reply *reply;
    const struct scenario_step *step; /* NULL until the first tick */
    const struct scenario_fault *fault;
    struct llm_usage usage;
    size_t part;
    size_t at; /* position in the part's text */
    bool open; /* the part is a call that has begun */
    int64_t deadline_ms;
};

int scripted_open(const char *file, struct scripted **ret, struct err *err)
{
    struct scenario *scenario;
    struct scripted *s;

    if (scenario_load(file, &scenario, err) < 0)
        return -1;
    s = mem_zalloc(sizeof(*s));
    atomic_init(&s->refs, 1);
    s->scenario = scenario;
    lock_init(&s->lock);
    *ret = s;
    return 0;
}

struct scripted *scripted_ref(struct scripted *s)
{
    if (s)
        atomic_fetch_add(&s->refs, 1);
    return s;
}

void scripted_free(struct scripted *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
        return;
    scenario_free(s->scenario);
    lock_release(&s->lock);
    free(s);
}

struct scripted_call *scripted_call_new(struct scripted *s, const struct llm_request *request,
                                        struct reply *reply)
{
    struct scripted_call *c = mem_zalloc(sizeof(*c));

    c->script = s;
    c->request = request;
    c->reply = reply;
    c->deadline_ms = clock_mono_ms();
    return c;
}

void scripted_call_free(struct scripted_call *c)
{
    free(c);
}

int64_t scripted_call_deadline(const struct scripted_call *c)
{
    return c->deadline_ms;
}

int scripted_call_status(const struct scripted_call *c)
{
    return c->fault && c->fault->kind == FAULT_STATUS ? c->fault->status : 0;
}

static void view_block(const struct block *b, enum role role, struct scenario_viewer *v)
{
    if (role == ROLE_ASSISTANT) {
        if (b->kind == BLOCK_TOOL_USE)
            viewer_called(v);
        else if (b->kind == BLOCK_TEXT)
            viewer_said(v, b->text);
        return;
    }
    if (b->kind == BLOCK_TEXT)
        viewer_user(v, b->text);
    if (b->kind != BLOCK_TOOL_RESULT)
        return;
    viewer_result(v, STR(""));
    for (size_t i = 0; i < b->content_len; i++) {
        if (b->content[i].kind == BLOCK_TEXT)
            viewer_result(v, b->content[i].text);
    }
}

/* What conditions can test: the same as the test server finds in a request. */
static void view_make(const struct llm_request *req, struct scenario_viewer *v)
{
    viewer_init(v);
    if (req->system.len)
        viewer_system(v, req->system);
    for (size_t i = 0; i < req->message_count; i++) {
        const struct message *m = req->messages[i];

        for (size_t k = 0; k < m->len; k++)
            view_block(&m->blocks[k], m->role, v);
    }
    if (req->tail.len)
        viewer_user(v, req->tail);
}

/* Faults that only change the encoding have no effect here. */
static bool fault_is_harmless(const struct scenario_fault *f)
{
    return f->kind == FAULT_TYPE || f->kind == FAULT_GZIP || f->kind == FAULT_SLOW;
}

static int call_begin(struct scripted_call *c, struct llm_fault *fault, struct err *err)
{
    CLEANUP(viewer_release) struct scenario_viewer viewer;
    struct scripted *s = c->script;
    struct scenario_view view;
    struct err why = {0};

    view_make(c->request, &viewer);
    view = viewer_view(&viewer, c->request->model->name);
    lock_take(&s->lock);
    c->step = scenario_next(s->scenario, &s->cursor, &view);
    if (c->step) {
        c->fault = scenario_try(s->scenario, &s->cursor, c->step);
        if (c->fault && fault_is_harmless(c->fault))
            c->fault = NULL;
        if (!c->fault)
            scenario_played(s->scenario, &s->cursor, c->step);
    } else {
        scenario_explain(s->scenario, &s->cursor, &view, &why);
    }
    lock_give(&s->lock);
    if (!c->step) {
        if (err)
            *err = why;
        *fault = (struct llm_fault){.code = ERR_BAD_INPUT, .wait_ms = -1};
        fault_text(fault, str_of(why.text));
        return -1;
    }
    scenario_usage(c->step, &view, &c->usage);
    return 0;
}

static struct str fault_header(const struct scenario_fault *f, struct str name)
{
    for (size_t i = 0; i < f->header_count; i++) {
        struct str value = f->headers[i];
        struct str key;

        if (str_cut(&value, ':', &key) && str_eq_nocase(str_trim(key), name))
            return str_trim(value);
    }
    return STR("");
}

/* Number of parts emitted before the fault. */
static size_t fault_parts(const struct scenario_fault *f)
{
    switch (f->kind) {
    case FAULT_ERROR:
        return (size_t)f->at;
    case FAULT_CUT:
    case FAULT_RESET:
    case FAULT_GARBAGE:
    case FAULT_STALL:
        return 1;
    default:
        return 0;
    }
}

/* The HTTP status of an error that occurs in the middle of the stream. */
static int error_status(struct str type)
{
    if (str_has(type, STR("overloaded")))
        return 529;
    return str_has(type, STR("rate_limit")) ? 429 : 500;
}

/* Turns the fault into what the retry logic would see. */
static int fault_strike(const struct scenario_fault *f, struct llm_fault *ret, struct err *err)
{
    *ret = (struct llm_fault){.code = ERR_NETWORK, .retry = true, .wait_ms = -1};
    switch (f->kind) {
    case FAULT_STATUS:
        *ret = (struct llm_fault){.wait_ms = -1};
        fault_from_status(ret, f->status, f->body.len ? f->body : f->text,
                          fault_header(f, STR("retry-after")),
                          fault_header(f, STR("retry-after-ms")));
        if (!f->body.len)
            fault_text(ret, f->text);
        break;
    case FAULT_ERROR:
        fault_from_status(ret, error_status(f->type), f->text, STR(""), STR(""));
        fault_text(ret, f->text);
        break;
    case FAULT_STALL:
    case FAULT_HANG:
        ret->code = ERR_TIMEOUT;
        fault_text(ret, STR("the scripted model fell silent"));
        break;
    case FAULT_REDIRECT:
        ret->code = ERR_PROTOCOL;
        ret->retry = false;
        fault_text(ret, STR("the scripted model redirects elsewhere"));
        break;
    default:
        fault_text(ret, STR("the scripted model broke off"));
        break;
    }
    return err_set(err, ret->code, "%s", ret->text);
}

/* Emits the next piece of the current part. 1: emitted. 0: the part is complete. */
static int call_piece(struct scripted_call *c, const struct scenario_part *part, struct err *err)
{
    struct str piece;

    if (part->kind == PART_CALL && !c->open) {
        const struct block seed = {.kind = BLOCK_TOOL_USE, .name = part->name};

        c->open = true;
        if (reply_open(c->reply, &seed, /*vendor_id=*/STR(""), err) < 0)
            return -1;
    }
    if (!scenario_piece(c->step, part->text, &c->at, &piece)) {
        if (c->open && reply_close(c->reply, err) < 0)
            return -1;
        return 0;
    }
    if (part->kind == PART_CALL)
        return reply_delta(c->reply, piece, err) < 0 ? -1 : 1;
    return reply_say(c->reply, part->kind == PART_TEXT ? BLOCK_TEXT : BLOCK_THINKING, piece, err) <
                   0
               ? -1
               : 1;
}

static void call_next_part(struct scripted_call *c)
{
    c->part++;
    c->at = 0;
    c->open = false;
}

/* Emits parts up to number `end`. 1: all emitted. 0: waiting for the pace or a pause. */
static int call_say(struct scripted_call *c, size_t end, struct err *err)
{
    while (c->part < end) {
        const struct scenario_part *part = &c->step->parts[c->part];
        int r;

        if (part->kind == PART_PAUSE) {
            call_next_part(c);
            c->deadline_ms = clock_mono_ms() + part->ms;
            return 0;
        }
        r = call_piece(c, part, err);
        if (r < 0)
            return -1;
        if (r == 0) {
            call_next_part(c);
        } else if (c->step->pace_ms) {
            c->deadline_ms = clock_mono_ms() + c->step->pace_ms;
            return 0;
        }
    }
    return 1;
}

int scripted_call_tick(struct scripted_call *c, struct llm_fault *ret_fault, struct err *err)
{
    size_t end;
    int r;

    if (clock_mono_ms() < c->deadline_ms)
        return 0;
    if (!c->step) {
        if (call_begin(c, ret_fault, err) < 0)
            return -1;
        if (!c->fault || fault_parts(c->fault)) {
            const struct llm_usage at_start = {.input = c->usage.input,
                                               .cache_read = c->usage.cache_read,
                                               .cache_write = c->usage.cache_write,
                                               .known = c->usage.known};

            reply_usage(c->reply, &at_start);
            if (reply_start(c->reply, STR(""), c->request->model->name, err) < 0)
                return -1;
        }
    }
    end = c->fault ? fault_parts(c->fault) : c->step->part_count;
    if (end > c->step->part_count)
        end = c->step->part_count;
    r = call_say(c, end, err);
    if (r <= 0)
        return r;
    if (c->fault)
        return fault_strike(c->fault, ret_fault, err);
    reply_usage(c->reply, &c->usage);
    reply_stop(c->reply, scenario_stop(c->step), c->step->stop_sequence);
    return reply_finish(c->reply, err) < 0 ? -1 : 1;
}
