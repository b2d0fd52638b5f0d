/*
 * Decodes answers of the Messages API.
 *
 * Our events are those of this API, so there is little to translate. What needs care is what other
 * servers omit (event names, stops, figures) and add (unknown blocks, which are kept whole, with
 * their deltas merged into them). Runs on the agent's thread.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/dialect/anthropic.h"
#include "llm/dialect/dialect.h"
#include "llm/reply.h"

/* Deltas of an unknown block, collected by member. */
#define MAX_GAINS 8

struct gain {
    struct str name; /* in `kept` */
    struct buf text;
    bool is_json;
};

struct decoder {
    struct reply *reply;
    struct llm_usage usage;
    struct arena event; /* the document of one event */
    struct arena kept;  /* strings of one block */
    bool is_open;
    int64_t index;
    enum block_kind kind;
    struct str seed; /* the block (OTHER) or the input (TOOL_USE) from the start event */
    bool has_input;  /* there were deltas, so the seed is not used */
    struct gain gains[MAX_GAINS];
    size_t gain_count;
};

struct decoder *anthropic_decoder_new(const struct llm_request *req, struct reply *reply)
{
    struct decoder *d = mem_zalloc(sizeof(*d));

    (void)req;
    d->reply = reply;
    return d;
}

static void forget_block(struct decoder *d)
{
    for (size_t i = 0; i < d->gain_count; i++)
        buf_release(&d->gains[i].text);
    d->gain_count = 0;
    d->seed = STR("");
    d->has_input = false;
    d->is_open = false;
    arena_reset(&d->kept);
}

void anthropic_decoder_free(struct decoder *d)
{
    if (!d)
        return;
    forget_block(d);
    arena_release(&d->event);
    arena_release(&d->kept);
    free(d);
}

/* A figure that is missing, null or invalid keeps its previous value. */
static void read_figure(struct llm_usage *u, const struct json *v, int64_t *to)
{
    u->known = llm_figure(v, to) || u->known;
}

static void read_input(struct llm_usage *u, const struct json *v)
{
    int64_t write_5m = 0;

    read_figure(u, json_get(v, "input_tokens"), &u->input);
    read_figure(u, json_get(v, "cache_read_input_tokens"), &u->cache_read);
    read_figure(u, json_path(v, "cache_creation.ephemeral_5m_input_tokens"), &write_5m);
    read_figure(u, json_path(v, "cache_creation.ephemeral_1h_input_tokens"), &u->cache_write_1h);
    read_figure(u, json_get(v, "cache_creation_input_tokens"), &u->cache_write);
    /* Some servers report only the two parts. */
    if (u->cache_write < u->cache_write_1h || u->cache_write < write_5m)
        u->cache_write = write_5m + u->cache_write_1h;
}

static void read_usage(struct decoder *d, const struct json *v)
{
    struct llm_usage *u = &d->usage;
    struct llm_usage told = {0};

    /* Every request has input: if the last event says 0, the server reported it in the first event
     * and does not repeat it. */
    read_input(&told, v);
    if (told.input + told.cache_read + told.cache_write > 0)
        read_input(u, v);
    u->known = u->known || told.known;
    read_figure(u, json_get(v, "output_tokens"), &u->output);
    read_figure(u, json_path(v, "output_tokens_details.thinking_tokens"), &u->thinking);
    read_figure(u, json_path(v, "server_tool_use.web_search_requests"), &u->web_searches);
    reply_usage(d->reply, u);
}

static void read_stop(struct decoder *d, const struct json *v)
{
    struct str reason = json_get_str(v, "stop_reason");
    enum llm_stop stop = llm_stop_parse(reason);

    if (!reason.len)
        return;
    /* An unknown reason also ends the turn. */
    if (stop == STOP_NONE)
        reply_stop_unclear(d->reply);
    reply_stop(d->reply, stop == STOP_NONE ? STOP_END_TURN : stop,
               json_get_str(v, "stop_sequence"));
    if (stop == STOP_REFUSAL)
        reply_explain(d->reply, json_get_str(json_get(v, "stop_details"), "explanation"));
}

static int start_block(struct decoder *d, const struct json *v, struct err *err)
{
    struct str type = json_get_str(v, "type");
    struct block seed = {0};
    struct str id = STR("");

    if (!type.len)
        return err_set(err, ERR_PROTOCOL, "the server started a block without a type");
    forget_block(d);
    if (str_is(type, "text")) {
        seed.kind = BLOCK_TEXT;
        seed.text = json_get_str(v, "text");
    } else if (str_is(type, "thinking")) {
        seed.kind = BLOCK_THINKING;
        seed.text = json_get_str(v, "thinking");
    } else if (str_is(type, "redacted_thinking")) {
        seed.kind = BLOCK_REDACTED_THINKING;
        seed.data = json_get_str(v, "data");
    } else if (str_is(type, "tool_use")) {
        seed.kind = BLOCK_TOOL_USE;
        seed.name = json_get_str(v, "name");
        id = json_get_str(v, "id");
        /* Anthropic always sends {}; other servers send the whole input here and no deltas. */
        if (json_len(json_get(v, "input")))
            d->seed = arena_str(&d->kept, json_raw(json_get(v, "input")));
    } else if (block_type_is_ours(type)) {
        return err_set(err, ERR_PROTOCOL, "the server sent a block of type %.*s", STR_ARG(type));
    } else {
        seed.kind = BLOCK_OTHER;
        seed.raw = json_raw(v);
        d->seed = arena_str(&d->kept, seed.raw);
    }
    if (reply_open(d->reply, &seed, id, err) < 0)
        return -1;
    d->is_open = true;
    d->kind = seed.kind;
    if (seed.kind == BLOCK_THINKING && json_get_str(v, "signature").len)
        reply_signature(d->reply, json_get_str(v, "signature"));
    if (seed.kind == BLOCK_TEXT) {
        JSON_EACH(json_get(v, "citations"), it)
            reply_citation(d->reply, json_raw(it));
    }
    return 0;
}

static struct gain *find_gain(struct decoder *d, struct str name)
{
    for (size_t i = 0; i < d->gain_count; i++) {
        if (str_eq(d->gains[i].name, name))
            return &d->gains[i];
    }
    return NULL;
}

/* The strings in the deltas of an unknown block are appended to it: "partial_json" to `input`,
 * every other member to the block's member of the same name. */
static int grow_other(struct decoder *d, const struct json *delta, struct err *err)
{
    JSON_EACH(delta, it) {
        bool is_json = str_is(json_key(it), "partial_json");
        struct str name = is_json ? STR("input") : json_key(it);
        struct gain *g = find_gain(d, name);

        if (!json_is(it, JSON_STRING) || str_is(name, "type"))
            continue;
        if (!g && d->gain_count == MAX_GAINS)
            continue;
        if (!g) {
            g = &d->gains[d->gain_count++];
            *g = (struct gain){.name = arena_str(&d->kept, name), .is_json = is_json};
            buf_init(&g->text, REPLY_MAX_BYTES / MAX_GAINS);
        }
        buf_add(&g->text, json_str(it));
        if (buf_check(&g->text, err) < 0)
            return err_prefix(err, "the answer");
    }
    return 0;
}

static void write_gain(struct jw *w, const struct gain *g, const struct json *before)
{
    CLEANUP(arena_release) struct arena scratch = ARENA_INIT;
    const struct json *v = NULL;

    if (g->is_json && json_parse(&scratch, buf_str(&g->text), &v, /*ret_info=*/NULL,
                                 /*err=*/NULL) == 0) {
        jw_json(w, v);
        return;
    }
    jw_str_begin(w);
    if (!g->is_json)
        jw_str_part(w, json_str(before));
    jw_str_part(w, buf_str(&g->text));
    jw_str_end(w);
}

/* Emits the unknown block, with its deltas merged. */
static void finish_other(struct decoder *d)
{
    CLEANUP(arena_release) struct arena scratch = ARENA_INIT;
    CLEANUP(buf_release) struct buf raw = BUF_INIT(BUF_NO_LIMIT);
    const struct json *v = NULL;
    struct jw w;

    if (!d->gain_count || json_parse(&scratch, d->seed, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    jw_init(&w, &raw, 0);
    jw_object(&w);
    JSON_EACH(v, it) {
        if (!find_gain(d, json_key(it))) {
            jw_key_str(&w, json_key(it));
            jw_json(&w, it);
        }
    }
    for (size_t i = 0; i < d->gain_count; i++) {
        jw_key_str(&w, d->gains[i].name);
        write_gain(&w, &d->gains[i], json_get_key(v, d->gains[i].name));
    }
    jw_object_end(&w);
    reply_raw(d->reply, buf_str(&raw));
}

static int stop_block(struct decoder *d, struct err *err)
{
    if (!d->is_open)
        return 0;
    if (d->kind == BLOCK_OTHER)
        finish_other(d);
    if (d->kind == BLOCK_TOOL_USE && !d->has_input && reply_input(d->reply, d->seed, err) < 0)
        return -1;
    forget_block(d);
    return reply_close(d->reply, err);
}

static int read_delta(struct decoder *d, const struct json *delta, struct err *err)
{
    static const struct {
        const char *type, *member;
        enum block_kind kind;
    } texts[] = {
        {"text_delta", "text", BLOCK_TEXT},
        {"thinking_delta", "thinking", BLOCK_THINKING},
        {"input_json_delta", "partial_json", BLOCK_TOOL_USE},
    };
    struct str type = json_get_str(delta, "type");

    if (d->is_open && d->kind == BLOCK_OTHER)
        return grow_other(d, delta, err);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct str text = json_get_str(delta, texts[i].member);

        if (!str_is(type, texts[i].type))
            continue;
        if (!d->is_open || d->kind != texts[i].kind)
            return err_set(err, ERR_PROTOCOL, "the server sent a %s to the wrong block",
                           texts[i].type);
        d->has_input = d->has_input || text.len;
        return reply_delta(d->reply, text, err);
    }
    if (str_is(type, "signature_delta"))
        reply_signature(d->reply, json_get_str(delta, "signature"));
    if (str_is(type, "citations_delta") && json_is(json_get(delta, "citation"), JSON_OBJECT))
        reply_citation(d->reply, json_raw(json_get(delta, "citation")));
    return 0;
}

static int read_message_start(struct decoder *d, const struct json *message, struct err *err)
{
    read_usage(d, json_get(message, "usage"));
    return reply_start(d->reply, json_get_str(message, "id"), json_get_str(message, "model"), err);
}

static int fail_by_event(struct str data, struct llm_fault *fault, struct err *err)
{
    anthropic_fault_event(data, fault);
    return err_set(err, fault->code, "%s", fault->text);
}

int anthropic_event(struct decoder *d, struct str name, struct str data, struct llm_fault *fault,
                    struct err *err)
{
    const struct json *v = NULL;
    struct str type;

    /* Whatever a server sends after the end ("[DONE]") is ignored. */
    if (reply_is_finished(d->reply))
        return 0;
    arena_reset(&d->event);
    if (json_parse(&d->event, data, &v, /*ret_info=*/NULL, err) < 0) {
        err_prefix(err, "the server sent an event that is not JSON");
        if (err)
            err->code = ERR_PROTOCOL;
        return -1;
    }
    type = json_get_str(v, "type"); /* some servers omit `event:` lines */
    if (!type.len)
        type = name;

    if (str_is(type, "message_start"))
        return read_message_start(d, json_get(v, "message"), err);
    if (str_is(type, "content_block_start")) {
        if (stop_block(d, err) < 0 || start_block(d, json_get(v, "content_block"), err) < 0)
            return -1;
        d->index = json_get_i64(v, "index", -1);
        return 0;
    }
    if (str_is(type, "content_block_delta")) {
        if (d->is_open && json_get_i64(v, "index", d->index) != d->index)
            return err_set(err, ERR_PROTOCOL,
                           "the server sent a piece of a block that is not open");
        return read_delta(d, json_get(v, "delta"), err);
    }
    if (str_is(type, "content_block_stop"))
        return stop_block(d, err);
    if (str_is(type, "message_delta")) {
        read_usage(d, json_get(v, "usage"));
        read_stop(d, json_get(v, "delta"));
        return 0;
    }
    if (str_is(type, "message_stop")) {
        if (!reply_is_started(d->reply))
            return err_set(err, ERR_PROTOCOL, "the server ended a message that it never began");
        if (stop_block(d, err) < 0)
            return -1;
        return reply_finish(d->reply, err);
    }
    if (str_is(type, "error"))
        return fail_by_event(data, fault, err);
    return 0; /* ping, and future events */
}

int anthropic_end(struct decoder *d, struct llm_fault *fault, struct err *err)
{
    (void)fault;
    if (reply_is_finished(d->reply))
        return 0;
    return err_set(err, ERR_PROTOCOL, "the stream ended before the message did");
}

int anthropic_whole(struct decoder *d, struct str body, struct llm_fault *fault, struct err *err)
{
    const struct json *v = NULL;
    const struct json *content;

    arena_reset(&d->event);
    if (json_parse(&d->event, body, &v, /*ret_info=*/NULL, err) < 0) {
        err_prefix(err, "the server's answer is not JSON");
        if (err)
            err->code = ERR_PROTOCOL;
        return -1;
    }
    content = json_get(v, "content");
    if (str_is(json_get_str(v, "type"), "error") || (!content && json_get(v, "error")))
        return fail_by_event(body, fault, err);
    if (!json_is(content, JSON_ARRAY))
        return err_set(err, ERR_PROTOCOL, "the server's answer is not a message");
    if (read_message_start(d, v, err) < 0)
        return -1;
    JSON_EACH(content, it) {
        if (start_block(d, it, err) < 0 || stop_block(d, err) < 0)
            return -1;
    }
    read_stop(d, v);
    return reply_finish(d->reply, err);
}
