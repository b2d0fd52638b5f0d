/*
 * Builds a reply.
 *
 * A queue of parts: its head is the only block that observers know; data for other parts is held in
 * them. The head closes and the next part becomes the head as soon as something follows it and it
 * is complete: text and thinking at once, a tool call when its braces are balanced. Decoders of
 * vendors with explicit starts and stops never have more than one part in the queue. Runs on the
 * thread of the agent that made the call.
 */
#include "llm/reply.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"
#include "base/utf8.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/part.h"

#define ID_CHARS 24
#define CALL_ID_MIN 20 /* shorter ids come from servers that count from 1 */
#define CALL_ID_MAX 64

struct reply {
    llm_event_fn fn;
    void *arg;
    struct message *message;    /* the closed blocks; its arena has all strings below */
    struct str provider, model; /* of the request */
    VEC(struct part *) queue;
    struct part *current;
    bool current_is_done;    /* the current block is a call that is already closed */
    VEC(size_t) closed_keys; /* of such calls */
    struct part *last;       /* the part closed last, for reply_data_last() */
    size_t parts;            /* total so far */
    size_t bytes;            /* total so far */
    struct llm_usage usage;
    enum llm_stop stop;
    bool stop_unclear;
    struct str stop_sequence;
    struct str explanation;
    bool started, finished, has_calls;
    bool too_deep; /* something was nested too deep to keep */
};

struct reply *reply_new(llm_event_fn fn, void *arg)
{
    struct reply *r = mem_zalloc(sizeof(*r));

    r->fn = fn;
    r->arg = arg;
    r->message = message_new(ROLE_ASSISTANT, 2);
    return r;
}

static void drop_queue(struct reply *r)
{
    VEC_EACH(&r->queue, p)
        part_free(*p);
    r->queue.len = 0;
    r->current = NULL;
}

void reply_free(struct reply *r)
{
    if (!r)
        return;
    drop_queue(r);
    vec_release(&r->queue);
    vec_release(&r->closed_keys);
    part_free(r->last);
    message_unref(r->message);
    free(r);
}

/* Counts bytes to be stored; false if there are too many, which check_size() reports. */
static bool has_room(struct reply *r, size_t n)
{
    if (r->bytes <= REPLY_MAX_BYTES)
        r->bytes += n;
    return r->bytes <= REPLY_MAX_BYTES;
}

static int check_size(const struct reply *r, struct err *err)
{
    if (r->bytes > REPLY_MAX_BYTES)
        return err_set(err, ERR_TOO_BIG, "the answer is longer than %zu MB", REPLY_MAX_BYTES >> 20);
    if (r->too_deep)
        return err_set(err, ERR_TOO_BIG, "the answer is nested deeper than %d levels",
                       REPLY_MAX_DEPTH);
    return 0;
}

static struct str keep(struct reply *r, struct str s)
{
    return s.len && has_room(r, s.len) ? arena_str(&r->message->arena, s) : STR("");
}

static struct str keep_json(struct reply *r, struct str json)
{
    CLEANUP(buf_release) struct buf clean = BUF_INIT(BUF_NO_LIMIT);

    if (part_is_deep(json, REPLY_MAX_DEPTH)) {
        r->too_deep = true;
        return STR("null");
    }
    block_raw(json, &clean);
    return keep(r, buf_str(&clean));
}

static int tell(struct reply *r, const struct llm_event *ev, struct err *err)
{
    return r->fn ? r->fn(ev, r->arg, err) : 0;
}

void reply_origin(struct reply *r, struct str provider, struct str model)
{
    r->provider = keep(r, provider);
    r->model = keep(r, model);
}

int reply_start(struct reply *r, struct str id, struct str model, struct err *err)
{
    char made[40];

    if (r->started)
        return 0;
    r->started = true;
    if (!id.len)
        id = id_make(made, sizeof(made), "msg_", ID_CHARS);
    r->message->id = keep(r, id);
    r->message->model = model.len ? keep(r, model) : r->model;
    return tell(r,
                &(struct llm_event){.kind = LLM_MESSAGE_START,
                                    .id = r->message->id,
                                    .model = r->message->model,
                                    .usage = r->usage},
                err);
}

bool reply_is_started(const struct reply *r)
{
    return r->started;
}

int reply_waiting(struct reply *r, int64_t processed, int64_t total, int64_t cached,
                  struct err *err)
{
    return tell(r,
                &(struct llm_event){
                    .kind = LLM_WAITING, .processed = processed, .total = total, .cached = cached},
                err);
}

/* Closed blocks are in the message, so the head's index is their number. */

static int tell_delta(struct reply *r, struct str text, struct err *err)
{
    if (!text.len)
        return 0;
    return tell(
        r, &(struct llm_event){.kind = LLM_BLOCK_DELTA, .index = r->message->len, .text = text},
        err);
}

/* Reports the head to observers, with everything it has so far. */
static int go_live(struct reply *r, struct part *head, struct err *err)
{
    const struct llm_event start = {
        .kind = LLM_BLOCK_START, .index = r->message->len, .block = &head->block};

    head->live = true;
    if (tell(r, &start, err) < 0)
        return -1;
    return tell_delta(r, buf_str(&head->text), err);
}

static void set_data(struct reply *r, const struct part *p, struct block *b)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);

    part_write_data(p, r->provider, r->model, &out);
    b->provider_data = keep(r, buf_str(&out));
}

/* The head is complete: moves it to the message, and the next part becomes the head. */
static int close_head(struct reply *r, struct err *err)
{
    struct part *p = r->queue.ptr[0];
    struct str rest;
    struct block *b;

    if (!p->live && go_live(r, p, err) < 0)
        return -1;
    rest = part_end(p);
    if (tell_delta(r, rest, err) < 0)
        return -1;

    if (p->block.kind == BLOCK_TOOL_USE) {
        p->block.input = buf_str(&p->text);
        p->block.input_bad = block_input_is_bad(p->block.input);
    } else {
        p->block.text = buf_str(&p->text);
    }
    if (p->citations.len) {
        buf_addc(&p->citations, ']');
        p->block.raw = buf_str(&p->citations);
    }
    b = message_add(r->message, &p->block);
    set_data(r, p, b);

    memmove(r->queue.ptr, r->queue.ptr + 1, --r->queue.len * sizeof(*r->queue.ptr));
    if (p->is_lane)
        vec_push(&r->closed_keys, p->key);
    if (r->current == p) {
        r->current = NULL;
        r->current_is_done = p->is_lane;
    }
    part_free(r->last);
    r->last = p;
    buf_release(&p->text);
    if (check_size(r, err) < 0)
        return -1;
    return tell(r,
                &(struct llm_event){.kind = LLM_BLOCK_STOP,
                                    .index = r->message->len - 1,
                                    .block = b,
                                    .replaced = p->replaced},
                err);
}

/* Advances the queue as far as possible. */
static int settle(struct reply *r, struct err *err)
{
    while (r->queue.len) {
        struct part *head = r->queue.ptr[0];

        if (!head->live) {
            if (head->block.kind == BLOCK_TOOL_USE && !head->block.name.len)
                return 0;
            if (go_live(r, head, err) < 0)
                return -1;
        }
        if (r->queue.len == 1 || (head->is_lane && !head->braces.done))
            return 0;
        if (close_head(r, err) < 0)
            return -1;
    }
    return 0;
}

int reply_close(struct reply *r, struct err *err)
{
    while (r->queue.len) {
        if (close_head(r, err) < 0)
            return -1;
    }
    r->current_is_done = false;
    return 0;
}

static int check_room(const struct reply *r, struct err *err)
{
    if (r->finished)
        return err_set(err, ERR_PROTOCOL, "content after the end of the message");
    if (r->parts >= REPLY_MAX_BLOCKS)
        return err_set(err, ERR_TOO_BIG, "the answer has more than %d blocks", REPLY_MAX_BLOCKS);
    return 0;
}

/* Appends a part, not yet live, and makes it current. NULL on failure. */
static struct part *open_part(struct reply *r, const struct block *seed, struct err *err)
{
    char id[40];
    struct part *p;

    if (check_room(r, err) < 0 || reply_start(r, STR(""), STR(""), err) < 0)
        return NULL;

    p = part_new(REPLY_MAX_BYTES);
    p->block.kind = seed->kind;
    p->block.name = keep(r, seed->name);
    p->block.data = keep(r, seed->data);
    p->block.media_type = keep(r, seed->media_type);
    p->block.raw = keep_json(r, seed->raw);
    if (seed->kind == BLOCK_TOOL_USE) {
        p->block.id = keep(r, id_make(id, sizeof(id), "toolu_", ID_CHARS));
        r->has_calls = true;
    }
    vec_push(&r->queue, p);
    r->parts++;
    r->current = p;
    r->current_is_done = false;
    return check_size(r, err) < 0 ? NULL : p;
}

static void set_vendor_id(struct reply *r, struct part *p, struct str id)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct jw w;

    if (!id.len || p->has_vendor_id)
        return;
    p->has_vendor_id = true;
    jw_init(&w, &json, JW_CLEAN);
    jw_str(&w, id);
    part_set(p, "id", keep(r, buf_str(&json)));
}

/* Whether it is an id of the Messages API: unique, and the one that other programs use. */
static bool is_api_call_id(const struct reply *r, struct str id)
{
    if (!str_starts(id, STR("toolu_")) || id.len < CALL_ID_MIN || id.len > CALL_ID_MAX)
        return false;
    for (size_t i = 0; i < id.len; i++) {
        if (!str_is_alnum(id.ptr[i]) && id.ptr[i] != '_' && id.ptr[i] != '-')
            return false;
    }
    for (size_t i = 0; i < r->message->len; i++) {
        if (str_eq(r->message->blocks[i].id, id))
            return false;
    }
    return true;
}

int reply_open(struct reply *r, const struct block *seed, struct str vendor_id, struct err *err)
{
    struct part *p;

    if (reply_close(r, err) < 0)
        return -1;
    p = open_part(r, seed, err);
    if (!p)
        return -1;
    if (seed->kind == BLOCK_TOOL_USE && is_api_call_id(r, vendor_id))
        p->block.id = keep(r, vendor_id);
    else
        set_vendor_id(r, p, vendor_id);
    if (go_live(r, p, err) < 0)
        return -1;
    if (seed->kind == BLOCK_TOOL_USE)
        return reply_input(r, seed->input, err);
    return reply_delta(r, seed->text, err);
}

bool reply_is_open(const struct reply *r, enum block_kind kind)
{
    return r->current && r->current->block.kind == kind;
}

int reply_say(struct reply *r, enum block_kind kind, struct str text, struct err *err)
{
    struct part *p = r->queue.len ? r->queue.ptr[r->queue.len - 1] : NULL;

    if (!text.len)
        return 0;
    /* A piece of a call may have come in between; waiting text at the end is continued. */
    if (p && p->block.kind == kind)
        r->current = p;
    else if (!open_part(r, &(struct block){.kind = kind}, err) || settle(r, err) < 0)
        return -1;
    return reply_delta(r, text, err);
}

static struct part *find_lane(const struct reply *r, size_t key)
{
    VEC_EACH(&r->queue, p) {
        if ((*p)->is_lane && (*p)->key == key)
            return *p;
    }
    return NULL;
}

static bool is_closed_lane(const struct reply *r, size_t key)
{
    VEC_EACH(&r->closed_keys, k) {
        if (*k == key)
            return true;
    }
    return false;
}

int reply_call(struct reply *r, size_t key, struct str name, struct str vendor_id, struct err *err)
{
    struct part *p = find_lane(r, key);

    if (!p && is_closed_lane(r, key)) {
        r->current = NULL;
        r->current_is_done = true;
        return 0;
    }
    if (!p) {
        p = open_part(r, &(struct block){.kind = BLOCK_TOOL_USE}, err);
        if (!p)
            return -1;
        p->is_lane = true;
        p->key = key;
    }
    r->current = p;
    r->current_is_done = false;
    if (!p->block.name.len)
        p->block.name = keep(r, name);
    set_vendor_id(r, p, vendor_id);
    return settle(r, err);
}

bool reply_call_is_complete(const struct reply *r, size_t key)
{
    const struct part *p = find_lane(r, key);

    return p ? p->braces.done : is_closed_lane(r, key);
}

int reply_delta(struct reply *r, struct str text, struct err *err)
{
    struct part *p = r->current;
    struct str gained;

    if (!text.len)
        return 0;
    if (!p && r->current_is_done) {
        if (!str_trim(text).len)
            return 0;
        return err_set(err, ERR_PROTOCOL, "arguments after the end of a call");
    }
    if (!p)
        return err_set(err, ERR_PROTOCOL, "content outside of any block");
    if (!has_room(r, text.len))
        return check_size(r, err);

    gained = part_add(p, text);
    if (p->live && tell_delta(r, gained, err) < 0)
        return -1;
    return settle(r, err);
}

int reply_replace(struct reply *r, struct str text, struct err *err)
{
    struct part *p = r->current;

    if (!reply_is_open(r, BLOCK_TEXT))
        return err_set(err, ERR_PROTOCOL, "text outside of any block");
    if (!has_room(r, text.len))
        return check_size(r, err);
    buf_clear(&p->text);
    p->held_len = 0;
    part_add(p, text);
    p->replaced = true;
    return settle(r, err);
}

struct str reply_so_far(const struct reply *r)
{
    return r->current ? buf_str(&r->current->text) : STR("");
}

int reply_input(struct reply *r, struct str json, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf clean = BUF_INIT(BUF_NO_LIMIT);
    const struct json *v = NULL;
    struct jw w;

    if (utf8_is_valid(json))
        return reply_delta(r, json, err);
    if (json_parse(&arena, json, &v, /*ret_info=*/NULL, err) < 0)
        return -1;
    jw_init(&w, &clean, 0);
    jw_json(&w, v);
    return reply_delta(r, buf_str(&clean), err);
}

void reply_signature(struct reply *r, struct str signature)
{
    if (reply_is_open(r, BLOCK_THINKING))
        r->current->block.signature = keep(r, signature);
}

void reply_citation(struct reply *r, struct str json)
{
    struct buf *list;

    if (!reply_is_open(r, BLOCK_TEXT))
        return;
    list = &r->current->citations;
    json = keep_json(r, json);
    if (!json.len)
        return;
    buf_addc(list, list->len ? ',' : '[');
    buf_add(list, json);
}

void reply_raw(struct reply *r, struct str json)
{
    if (reply_is_open(r, BLOCK_OTHER))
        r->current->block.raw = keep_json(r, json);
}

void reply_data(struct reply *r, const char *name, struct str json)
{
    struct str kept;

    if (!r->current)
        return;
    kept = keep_json(r, json);
    if (kept.len)
        part_set(r->current, name, kept);
}

void reply_data_last(struct reply *r, const char *name, struct str json)
{
    struct str kept;

    if (!r->last || r->finished)
        return;
    kept = keep_json(r, json);
    if (!kept.len)
        return;
    part_set(r->last, name, kept);
    set_data(r, r->last, &r->message->blocks[r->message->len - 1]);
}

void reply_usage(struct reply *r, const struct llm_usage *usage)
{
    r->usage = *usage;
    /* A gateway that counts nothing may send zeros; using them would make the call free. */
    if (!usage->input && !usage->cache_read && !usage->cache_write && !usage->output)
        r->usage.known = false;
}

void reply_stop(struct reply *r, enum llm_stop stop, struct str sequence)
{
    if (r->finished)
        return;
    r->stop = stop;
    r->stop_sequence = keep(r, sequence);
}

void reply_stop_unclear(struct reply *r)
{
    r->stop_unclear = true;
}

void reply_explain(struct reply *r, struct str text)
{
    if (!r->finished)
        r->explanation = keep(r, text);
}

bool reply_has_calls(const struct reply *r)
{
    return r->has_calls;
}

bool reply_is_finished(const struct reply *r)
{
    return r->finished;
}

int reply_finish(struct reply *r, struct err *err)
{
    struct llm_event delta = {.kind = LLM_MESSAGE_DELTA};

    if (r->finished)
        return 0;
    if (reply_start(r, STR(""), STR(""), err) < 0 || reply_close(r, err) < 0 ||
        check_size(r, err) < 0)
        return -1;
    r->finished = true;
    if (r->stop == STOP_NONE) {
        r->stop = STOP_END_TURN;
        r->stop_unclear = true;
    }
    if (r->stop == STOP_END_TURN && r->has_calls)
        r->stop = STOP_TOOL_USE;
    delta.stop = r->stop;
    delta.stop_unclear = r->stop_unclear;
    delta.stop_sequence = r->stop_sequence;
    delta.text = r->explanation;
    delta.usage = r->usage;
    if (tell(r, &delta, err) < 0)
        return -1;
    return tell(r, &(struct llm_event){.kind = LLM_MESSAGE_STOP}, err);
}

/* Whether there is visible text; providers reject blocks without any. */
static bool says_something(const struct part *p)
{
    return p->live && p->block.kind == BLOCK_TEXT && str_trim(buf_str(&p->text)).len;
}

struct message *reply_cut(struct reply *r, struct err *err)
{
    if (r->queue.len && says_something(r->queue.ptr[0]) && close_head(r, err) < 0)
        return NULL;
    drop_queue(r);
    r->finished = true;
    return TAKE_PTR(r->message);
}

struct message *reply_take(struct reply *r)
{
    return r->finished ? TAKE_PTR(r->message) : NULL;
}
