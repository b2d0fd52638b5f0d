/*
 * The output items of a response. Runs on the thread of the agent that asked.
 */
#include "llm/dialect/responses_output.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/reply.h"

void responses_output_init(struct responses_output *o, struct reply *reply)
{
    *o = (struct responses_output){.reply = reply, .live = -1, .part = -1};
}

void responses_output_release(struct responses_output *o)
{
    VEC_EACH(&o->waiting, it)
        free(it->json);
    vec_release(&o->waiting);
    vec_release(&o->done);
    arena_release(&o->late);
}

static bool is_done(const struct responses_output *o, int64_t index)
{
    return (size_t)index < o->done.len && o->done.ptr[index];
}

static int open_block(struct responses_output *o, const struct block *seed, struct str vendor_id,
                      struct err *err)
{
    o->is_open = true;
    return reply_open(o->reply, seed, vendor_id, err);
}

static bool is_same_json(struct str a, struct str b)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *va = NULL, *vb = NULL;

    return json_parse(&arena, a, &va, /*ret_info=*/NULL, /*err=*/NULL) == 0 &&
           json_parse(&arena, b, &vb, /*ret_info=*/NULL, /*err=*/NULL) == 0 && json_equal(va, vb);
}

/* Sets the final text of the current block as the server reports it. */
static int settle(struct responses_output *o, struct str text, struct err *err)
{
    struct str said = reply_so_far(o->reply);

    if (!text.len || str_eq(said, text))
        return 0;
    if (str_starts(text, said))
        return reply_delta(o->reply, str_from(text, said.len), err);
    /* The final text wins; some servers trim it. */
    if (reply_is_open(o->reply, BLOCK_TEXT))
        return reply_replace(o->reply, text, err);
    /* Some servers reformat the arguments. Any other difference matters: the call that runs would
     * not be the one that was streamed. */
    if (is_same_json(text, said))
        return 0;
    return err_set(err, ERR_PROTOCOL, "the finished item is not what its deltas said");
}

static void set_phase(struct responses_output *o, const struct json *item)
{
    const struct json *phase = json_get(item, "phase");
    struct str raw = json_raw(phase);

    if (!json_is(phase, JSON_STRING) || raw.len >= sizeof(o->phase))
        return;
    memcpy(o->phase, raw.ptr, raw.len);
    o->phase[raw.len] = '\0';
}

/* Makes part number `part` of the live message the current block. */
static int open_part(struct responses_output *o, int64_t part, bool refusal, struct err *err)
{
    if (o->is_open && o->part == part)
        return 0;
    o->part = part;
    if (open_block(o, &(struct block){.kind = BLOCK_TEXT}, STR(""), err) < 0)
        return -1;
    if (o->phase[0])
        reply_data(o->reply, "phase", str_of(o->phase));
    if (refusal) {
        o->refused = true;
        reply_data(o->reply, "refusal", STR("true"));
    }
    return 0;
}

static int open_call(struct responses_output *o, const struct json *item, struct err *err)
{
    struct str name = json_get_str(item, "name");

    if (!name.len)
        return 0; /* it may come with the finished item */
    return open_block(o, &(struct block){.kind = BLOCK_TOOL_USE, .name = name},
                      json_get_str(item, "call_id"), err);
}

static void make_live(struct responses_output *o, int64_t index)
{
    o->live = index;
    o->part = -1;
    o->is_open = false;
    o->phase[0] = '\0';
}

/* Whether a delta belongs to the live item; an item whose start was not sent begins here. */
static bool is_live(struct responses_output *o, int64_t index)
{
    if (o->live < 0 && !is_done(o, index))
        make_live(o, index);
    return o->live == index;
}

int responses_output_added(struct responses_output *o, int64_t index, const struct json *item,
                           struct err *err)
{
    if (o->live >= 0 || is_done(o, index))
        return 0;
    make_live(o, index);
    set_phase(o, item);
    if (!str_is(json_get_str(item, "type"), "function_call"))
        return 0;
    if (open_call(o, item, err) < 0)
        return -1;
    return o->is_open ? reply_delta(o->reply, json_get_str(item, "arguments"), err) : 0;
}

int responses_output_text(struct responses_output *o, int64_t index, int64_t part, struct str text,
                          bool refusal, bool final, struct err *err)
{
    if (!text.len || !is_live(o, index) || part < o->part)
        return 0;
    if (open_part(o, part, refusal, err) < 0)
        return -1;
    return final ? settle(o, text, err) : reply_delta(o->reply, text, err);
}

int responses_output_arguments(struct responses_output *o, int64_t index, struct str text,
                               bool final, struct err *err)
{
    if (o->live != index || !o->is_open || !reply_is_open(o->reply, BLOCK_TOOL_USE))
        return 0;
    return final ? settle(o, text, err) : reply_delta(o->reply, text, err);
}

/* A blank line between two parts. */
int responses_output_reasoning(struct responses_output *o, int64_t index, int64_t part,
                               struct str text, struct err *err)
{
    if (!text.len || !is_live(o, index))
        return 0;
    if (!o->is_open && open_block(o, &(struct block){.kind = BLOCK_THINKING}, STR(""), err) < 0)
        return -1;
    if (o->part != part && reply_so_far(o->reply).len &&
        reply_delta(o->reply, STR("\n\n"), err) < 0)
        return -1;
    o->part = part;
    return reply_delta(o->reply, text, err);
}

static int finish_message(struct responses_output *o, const struct json *item, struct err *err)
{
    const struct json *content = json_get(item, "content");
    int64_t part = 0;

    set_phase(o, item);
    if (o->is_open && o->phase[0])
        reply_data(o->reply, "phase", str_of(o->phase));
    if (!json_is(content, JSON_ARRAY))
        return 0;
    JSON_EACH(content, it) {
        bool refusal = str_is(json_get_str(it, "type"), "refusal");
        struct str text = json_get_str(it, refusal ? "refusal" : "text");

        if (responses_output_text(o, o->live, part++, text, refusal, /*final=*/true, err) < 0)
            return -1;
        if (json_is(json_get(it, "annotations"), JSON_ARRAY) && o->part == part - 1) {
            JSON_EACH(json_get(it, "annotations"), note) {
                reply_citation(o->reply, json_raw(note));
            }
        }
    }
    return 0;
}

/* A reasoning item is sent back unchanged, except for fields that only a storing server
 * understands. */
static void keep_reasoning(struct responses_output *o, const struct json *item)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct jw w;

    jw_init(&w, &json, JW_CLEAN);
    jw_object(&w);
    JSON_EACH(item, it) {
        if (str_is(json_key(it), "id") || str_is(json_key(it), "status") ||
            json_type(it) == JSON_NULL)
            continue;
        jw_key_str(&w, json_key(it));
        jw_json(&w, it);
    }
    jw_object_end(&w);
    reply_data(o->reply, "item", buf_str(&json));
}

static int finish_reasoning(struct responses_output *o, const struct json *item, struct err *err)
{
    const struct json *text = json_get(item, "summary");
    int64_t part = 0;

    if (!json_len(text))
        text = json_get(item, "content");
    if (!o->is_open && json_is(text, JSON_ARRAY)) {
        JSON_EACH(text, it) {
            if (responses_output_reasoning(o, o->live, part++, json_get_str(it, "text"), err) < 0)
                return -1;
        }
    }
    if (!o->is_open && json_get_str(item, "encrypted_content").len &&
        open_block(o, &(struct block){.kind = BLOCK_THINKING}, STR(""), err) < 0)
        return -1;
    if (o->is_open)
        keep_reasoning(o, item);
    return 0;
}

static int finish_call(struct responses_output *o, const struct json *item, struct err *err)
{
    if (!o->is_open && open_call(o, item, err) < 0)
        return -1;
    if (!o->is_open)
        return err_set(err, ERR_PROTOCOL, "the server sent a tool call without a name");
    return settle(o, json_get_str(item, "arguments"), err);
}

/* Input of a custom tool is any text, ours is an object. */
static int finish_custom_call(struct responses_output *o, const struct json *item, struct err *err)
{
    CLEANUP(buf_release) struct buf input = BUF_INIT(BUF_NO_LIMIT);
    struct jw w;

    jw_init(&w, &input, 0);
    jw_object(&w);
    jw_kstr(&w, "input", json_get_str(item, "input"));
    jw_object_end(&w);
    if (open_call(o, item, err) < 0)
        return -1;
    if (!o->is_open)
        return err_set(err, ERR_PROTOCOL, "the server sent a tool call without a name");
    reply_data(o->reply, "custom", STR("true"));
    return reply_delta(o->reply, buf_str(&input), err);
}

static int finish_hosted(struct responses_output *o, const struct json *item, struct err *err)
{
    struct str type = json_get_str(item, "type");

    if (block_type_is_ours(type))
        return err_set(err, ERR_PROTOCOL, "the server sent an item of type %.*s", STR_ARG(type));
    if (str_is(type, "web_search_call"))
        o->searches++;
    return open_block(o, &(struct block){.kind = BLOCK_OTHER, .raw = json_raw(item)}, STR(""), err);
}

typedef int (*finish_fn)(struct responses_output *o, const struct json *item, struct err *err);

static const struct finish_row {
    const char *type;
    finish_fn run;
} finish_rows[] = {
    {"message", finish_message},
    {"reasoning", finish_reasoning},
    {"function_call", finish_call},
    {"custom_tool_call", finish_custom_call},
};

/* The live item is complete. */
static int finish_item(struct responses_output *o, const struct json *item, struct err *err)
{
    struct str type = json_get_str(item, "type");
    finish_fn finish = finish_hosted;

    if (!type.len)
        return err_set(err, ERR_PROTOCOL, "the server sent an output item without a type");
    for (size_t i = 0; i < ARRAY_LEN(finish_rows); i++)
        if (str_is(type, finish_rows[i].type))
            finish = finish_rows[i].run;
    if (finish(o, item, err) < 0 || reply_close(o->reply, err) < 0)
        return -1;
    while (o->done.len <= (size_t)o->live)
        vec_push(&o->done, false);
    o->done.ptr[o->live] = true;
    o->live = -1;
    return 0;
}

/* Emits items that were done while another was live. */
static int finish_waiting(struct responses_output *o, struct err *err)
{
    while (o->live < 0 && o->waiting.len) {
        struct waiting_item first = o->waiting.ptr[0];
        const struct json *item = NULL;
        int rc;

        o->waiting.len--;
        memmove(o->waiting.ptr, o->waiting.ptr + 1, o->waiting.len * sizeof(first));
        o->waiting_bytes -= first.len;
        arena_reset(&o->late);
        rc = json_parse_copy(&o->late, str_make(first.json, first.len), &item, NULL, err);
        free(first.json);
        if (rc < 0)
            return -1;
        if (is_done(o, first.index))
            continue;
        make_live(o, first.index);
        if (finish_item(o, item, err) < 0)
            return -1;
    }
    return 0;
}

static int keep_waiting(struct responses_output *o, int64_t index, const struct json *item,
                        struct err *err)
{
    struct str raw = json_raw(item);

    if (o->waiting.len == REPLY_MAX_BLOCKS || o->waiting_bytes + raw.len > REPLY_MAX_BYTES)
        return err_set(err, ERR_TOO_BIG, "the server finishes too many items out of order");
    o->waiting_bytes += raw.len;
    vec_push(&o->waiting, ((struct waiting_item){index, mem_dup(raw.ptr, raw.len), raw.len}));
    return 0;
}

int responses_output_done(struct responses_output *o, int64_t index, const struct json *item,
                          struct err *err)
{
    if (is_done(o, index))
        return 0;
    if (!is_live(o, index))
        return keep_waiting(o, index, item, err);
    if (finish_item(o, item, err) < 0)
        return -1;
    return finish_waiting(o, err);
}

int responses_output_end(struct responses_output *o, struct err *err)
{
    if (reply_close(o->reply, err) < 0)
        return -1;
    o->live = -1;
    return finish_waiting(o, err);
}
