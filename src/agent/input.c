/*
 * The input queue: one list under one lock. Prompts that wait for their turn come first, then
 * claimed and unread inputs, since inputs are passed on in order. A claimed input does not move in
 * memory, so the reader may use it without the lock.
 */
#include "agent/input.h"

#include <stdio.h>
#include <string.h>

#include "agent/compact/compact.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "llm/message.h"
#include "llm/provider.h"
#include "sync/thread.h"

enum stage {
    STAGE_UNREAD,
    STAGE_CLAIMED,
    STAGE_RUNS, /* claimed and running; cannot be withdrawn any more */
    STAGE_WAITS,
};

struct entry {
    struct agent_input in;
    enum stage stage;
    int64_t since_ms;  /* clock_mono_ms() */
    bool is_withdrawn; /* withdrawn while claimed */
    bool is_put_off;
};

struct inputs {
    struct lock lock;
    VEC(struct entry *) list;
    uint64_t drops;
    bool is_held;
    bool is_heard; /* a prompt was taken at the start of a turn that has not ended */
};

void agent_command_free(struct agent_command *c)
{
    if (!c)
        return;
    mem_freep(&c->name);
    mem_freep(&c->args);
    mem_freep(&c->source);
    strv_release(&c->allow);
    strv_release(&c->deny);
    strv_release(&c->only);
    if (c->provider)
        provider_release(c->provider);
    mem_freep(&c->provider);
    mem_freep(&c);
}

void agent_input_release(struct agent_input *in)
{
    message_unref(in->message);
    in->message = NULL;
    agent_command_free(in->command);
    in->command = NULL;
    if (in->order)
        in->order->free(in->order);
    in->order = NULL;
}

static struct entry *entry_new(struct agent_input *in, enum stage stage)
{
    struct entry *e = mem_zalloc(sizeof(*e));

    e->in = *in;
    e->stage = stage;
    e->since_ms = clock_mono_ms();
    in->message = NULL;
    in->command = NULL;
    in->order = NULL;
    return e;
}

static void entry_free(struct entry *e)
{
    agent_input_release(&e->in);
    mem_freep(&e);
}

static struct entry *entry_of(struct agent_input *claimed)
{
    return (struct entry *)claimed;
}

struct inputs *inputs_new(void)
{
    struct inputs *q = mem_zalloc(sizeof(*q));

    lock_init(&q->lock);
    return q;
}

void inputs_free(struct inputs *q)
{
    if (!q)
        return;
    VEC_EACH(&q->list, e) {
        entry_free(*e);
    }
    vec_release(&q->list);
    lock_release(&q->lock);
    mem_freep(&q);
}

/* ---- The list; the lock must be held ---- */

static void list_insert(struct inputs *q, size_t at, struct entry *e)
{
    vec_push(&q->list, e); /* makes room */
    memmove(&q->list.ptr[at + 1], &q->list.ptr[at],
            (q->list.len - 1 - at) * sizeof(q->list.ptr[0]));
    q->list.ptr[at] = e;
}

static struct entry *list_remove(struct inputs *q, size_t at)
{
    struct entry *e = q->list.ptr[at];

    q->list.len--;
    memmove(&q->list.ptr[at], &q->list.ptr[at + 1], (q->list.len - at) * sizeof(q->list.ptr[0]));
    return e;
}

/* Moves the content to the caller and removes the entry. */
static void list_take(struct inputs *q, size_t at, struct agent_input *ret)
{
    struct entry *e = list_remove(q, at);

    *ret = e->in;
    ret->drops = q->drops;
    mem_freep(&e);
}

static size_t list_find(const struct inputs *q, const struct entry *wanted)
{
    size_t at = 0;

    while (at < q->list.len && q->list.ptr[at] != wanted)
        at++;
    return at;
}

static bool is_prompt_waiting(const struct entry *e)
{
    return e->stage == STAGE_WAITS && !e->in.is_note;
}

/* Inserts after all waiting prompts; INPUT_NOW goes before them. */
static void list_put(struct inputs *q, struct entry *e)
{
    size_t at = 0;

    e->stage = STAGE_WAITS;
    while (at < q->list.len && q->list.ptr[at]->stage == STAGE_WAITS && e->in.when != INPUT_NOW)
        at++;
    list_insert(q, at, e);
}

static bool is_of(const struct entry *e, enum inputs_which which)
{
    if (e->in.is_note || e->in.order || e->is_withdrawn || e->stage == STAGE_RUNS)
        return false;
    return which & (e->stage == STAGE_WAITS ? INPUTS_WAITING : INPUTS_UNREAD);
}

/* ---- Any thread ---- */

int inputs_push(struct inputs *q, struct agent_input *in, struct err *err)
{
    struct entry *e = entry_new(in, STAGE_UNREAD);
    size_t unread = 0;

    lock_take(&q->lock);
    VEC_EACH(&q->list, other) {
        unread += (*other)->stage != STAGE_WAITS;
    }
    if (unread < (e->in.order ? 2 * INPUTS_MAX : INPUTS_MAX)) {
        vec_push(&q->list, e);
        e = NULL;
    }
    lock_give(&q->lock);
    if (!e)
        return 0;
    entry_free(e);
    return err_set(err, ERR_TOO_BIG, "%d inputs are already waiting", INPUTS_MAX);
}

void inputs_note(struct inputs *q, enum input_origin origin, struct str id, struct str text,
                 bool wakes)
{
    struct agent_input in = {
        .message = message_user_text(text), .origin = origin, .is_note = true, .wakes = wakes};

    (void)snprintf(in.uuid, sizeof(in.uuid), "%.*s", STR_ARG(id));
    inputs_put(q, &in);
}

bool inputs_take_back(struct inputs *q, struct str uuid, struct agent_input *ret)
{
    bool found = false;

    lock_take(&q->lock);
    for (size_t i = 0; i < q->list.len && !found; i++) {
        struct entry *e = q->list.ptr[i];

        if (!uuid.len || !str_is(uuid, e->in.uuid) || e->stage == STAGE_RUNS || e->is_withdrawn)
            continue;
        found = true;
        if (e->stage != STAGE_CLAIMED) {
            list_take(q, i, ret);
            continue;
        }
        /* The reader may be using it, so the caller gets a copy that shares the message. */
        *ret = e->in;
        ret->message = e->in.message ? message_ref(e->in.message) : NULL;
        ret->command = NULL;
        ret->order = NULL;
        e->is_withdrawn = true;
    }
    lock_give(&q->lock);
    return found;
}

void inputs_list(struct inputs *q, enum inputs_which which, struct strv *ret_uuids,
                 struct strv *ret_texts)
{
    lock_take(&q->lock);
    VEC_EACH(&q->list, e) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

        if (!is_of(*e, which) || (*e)->in.is_notice)
            continue;
        strv_adds(ret_uuids, (*e)->in.uuid);
        if (ret_texts && (*e)->in.message)
            message_text((*e)->in.message, &text);
        if (ret_texts)
            strv_add(ret_texts, buf_str(&text));
    }
    lock_give(&q->lock);
}

int64_t inputs_oldest_ms(struct inputs *q, enum inputs_which which)
{
    int64_t oldest_ms = -1;

    lock_take(&q->lock);
    VEC_EACH(&q->list, e) {
        if (is_of(*e, which) && !(*e)->in.is_notice &&
            (oldest_ms < 0 || (*e)->since_ms < oldest_ms))
            oldest_ms = (*e)->since_ms;
    }
    lock_give(&q->lock);
    return oldest_ms;
}

bool inputs_drop(struct inputs *q, enum inputs_which which)
{
    bool was_kept = false;

    lock_take(&q->lock);
    for (size_t i = 0; i < q->list.len;) {
        struct entry *e = q->list.ptr[i];

        if (!is_of(e, which)) {
            i++;
            continue;
        }
        was_kept = was_kept || e->in.kept;
        if (e->stage == STAGE_CLAIMED) {
            e->is_withdrawn = true;
            i++;
        } else {
            entry_free(list_remove(q, i));
        }
    }
    q->drops += (which & INPUTS_WAITING) != 0;
    lock_give(&q->lock);
    return was_kept;
}

void inputs_leave(struct inputs *q)
{
    lock_take(&q->lock);
    for (size_t i = 0; i < q->list.len;) {
        if (q->list.ptr[i]->stage == STAGE_WAITS)
            entry_free(list_remove(q, i));
        else
            i++;
    }
    q->is_heard = false;
    lock_give(&q->lock);
}

/* ---- The reader ---- */

struct agent_input *inputs_claim(struct inputs *q, bool only_orders, bool settled)
{
    struct entry *found = NULL;
    bool is_blocked = false;

    lock_take(&q->lock);
    VEC_EACH(&q->list, e) {
        if ((*e)->stage == STAGE_CLAIMED || (*e)->stage == STAGE_RUNS) {
            found = NULL;
            break;
        }
        if (found || (*e)->stage != STAGE_UNREAD ||
            (!(*e)->in.order && (only_orders || q->is_held)))
            continue;
        is_blocked = is_blocked || ((*e)->is_put_off && !settled);
        if (!is_blocked || !(*e)->in.in_order)
            found = *e;
    }
    if (found)
        found->stage = STAGE_CLAIMED;
    lock_give(&q->lock);
    return found ? &found->in : NULL;
}

bool inputs_run(struct inputs *q, struct agent_input *claimed)
{
    struct entry *e = entry_of(claimed);
    bool runs;

    lock_take(&q->lock);
    runs = !e->is_withdrawn;
    if (runs)
        e->stage = STAGE_RUNS;
    lock_give(&q->lock);
    return runs;
}

void inputs_unread(struct inputs *q, struct agent_input *claimed)
{
    struct entry *e = entry_of(claimed);
    bool is_withdrawn;

    lock_take(&q->lock);
    is_withdrawn = e->is_withdrawn;
    e->stage = STAGE_UNREAD;
    if (is_withdrawn)
        list_remove(q, list_find(q, e));
    lock_give(&q->lock);
    if (is_withdrawn)
        entry_free(e);
}

void inputs_put_off(struct inputs *q, struct agent_input *claimed)
{
    struct entry *e = entry_of(claimed);

    lock_take(&q->lock);
    e->is_put_off = true;
    lock_give(&q->lock);
    inputs_unread(q, claimed);
}

bool inputs_has_put_off(struct inputs *q)
{
    bool has = false;

    lock_take(&q->lock);
    VEC_EACH(&q->list, e) {
        has = has || ((*e)->is_put_off && (*e)->stage == STAGE_UNREAD);
    }
    lock_give(&q->lock);
    return has;
}

void inputs_done(struct inputs *q, struct agent_input *claimed)
{
    struct entry *e = entry_of(claimed);

    lock_take(&q->lock);
    list_remove(q, list_find(q, e));
    lock_give(&q->lock);
    entry_free(e);
}

bool inputs_is_clear(struct inputs *q)
{
    bool is_clear = true;

    lock_take(&q->lock);
    VEC_EACH(&q->list, e) {
        is_clear = is_clear && (*e)->stage == STAGE_WAITS;
    }
    lock_give(&q->lock);
    return is_clear;
}

void inputs_hold(struct inputs *q, bool on)
{
    lock_take(&q->lock);
    q->is_held = on;
    lock_give(&q->lock);
}

/* ---- The agent ---- */

bool inputs_pass(struct inputs *q, struct agent_input *claimed, bool kept)
{
    struct entry *e = entry_of(claimed);
    bool passes;

    lock_take(&q->lock);
    passes = !e->is_withdrawn;
    e->in.kept = kept; /* here, because it may be copied by who takes it back */
    if (passes) {
        list_remove(q, list_find(q, e));
        list_put(q, e);
    }
    lock_give(&q->lock);
    return passes;
}

void inputs_put(struct inputs *q, struct agent_input *in)
{
    struct entry *e = entry_new(in, STAGE_WAITS);

    lock_take(&q->lock);
    list_put(q, e);
    lock_give(&q->lock);
}

bool inputs_next(struct inputs *q, bool between, struct agent_input *ret)
{
    bool found = false;

    lock_take(&q->lock);
    for (size_t i = 0; i < q->list.len && !found; i++) {
        const struct entry *e = q->list.ptr[i];
        struct str keep;

        if (!is_prompt_waiting(e) ||
            (between && (e->in.when != INPUT_NEXT || compact_is_wanted(&e->in, &keep))))
            continue;
        list_take(q, i, ret);
        found = true;
    }
    if (!between)
        q->is_heard = found;
    lock_give(&q->lock);
    return found;
}

void inputs_heard(struct inputs *q)
{
    lock_take(&q->lock);
    q->is_heard = false;
    lock_give(&q->lock);
}

bool inputs_put_back(struct inputs *q, struct agent_input *in)
{
    struct entry *e = NULL;
    size_t at = 0;

    lock_take(&q->lock);
    if (in->drops == q->drops)
        e = entry_new(in, STAGE_WAITS);
    while (e && at < q->list.len && q->list.ptr[at]->stage == STAGE_WAITS &&
           q->list.ptr[at]->in.when == INPUT_NOW)
        at++;
    if (e)
        list_insert(q, at, e);
    lock_give(&q->lock);
    return e != NULL;
}

bool inputs_next_note(struct inputs *q, struct agent_input *ret)
{
    bool found = false;

    lock_take(&q->lock);
    for (size_t i = 0; i < q->list.len && !found; i++) {
        if (!q->list.ptr[i]->in.is_note)
            continue;
        list_take(q, i, ret);
        found = true;
    }
    lock_give(&q->lock);
    return found;
}

bool inputs_is_woken(struct inputs *q)
{
    bool is_woken = false;

    lock_take(&q->lock);
    VEC_EACH(&q->list, e) {
        is_woken = is_woken || ((*e)->in.is_note && (*e)->in.wakes);
    }
    lock_give(&q->lock);
    return is_woken;
}

size_t inputs_waiting(struct inputs *q)
{
    size_t n = 0;

    lock_take(&q->lock);
    VEC_EACH(&q->list, e) {
        n += is_prompt_waiting(*e);
    }
    lock_give(&q->lock);
    return n;
}

bool inputs_rests(struct inputs *q)
{
    bool rests;

    lock_take(&q->lock);
    rests = !q->is_heard;
    VEC_EACH(&q->list, e) {
        rests = rests && !is_prompt_waiting(*e);
    }
    lock_give(&q->lock);
    return rests;
}

bool inputs_return(struct inputs *q, struct str uuid, struct agent_input *ret_was)
{
    bool found = false;

    lock_take(&q->lock);
    VEC_EACH(&q->list, e) {
        if (found || !is_prompt_waiting(*e) || !str_is(uuid, (*e)->in.uuid))
            continue;
        *ret_was = (struct agent_input){.kept = (*e)->in.kept};
        memcpy(ret_was->uuid, (*e)->in.uuid, sizeof(ret_was->uuid));
        (*e)->in.kept = false;
        (*e)->stage = STAGE_UNREAD;
        found = true;
    }
    lock_give(&q->lock);
    return found;
}
