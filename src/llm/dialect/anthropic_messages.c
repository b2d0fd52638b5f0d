/*
 * The messages of a request to the Messages API.
 *
 * The prefix of a request has the same bytes as in the previous request, for the provider's cache
 * and for ours: the blocks of each message are written once and kept with it, as two lists (tool
 * results, everything else), because results must come first when messages of one role are joined.
 * A cache mark is inserted before the last brace of a list while it is copied, so the stored bytes
 * never contain one. Runs on the agent's thread.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "json/jw.h"
#include "llm/dialect/anthropic.h"
#include "llm/dialect/dialect.h"
#include "llm/dialect/wire.h"
#include "llm/message.h"

/* The blocks of one message: JSON lists without brackets, either may be empty. */
struct lists {
    struct str results;
    struct str rest;
    bool no_mark; /* rest ends with a block that must not have a mark */
};

/* Messages of one role in a row: one message to the API. */
struct wire_turn {
    enum role role;
    size_t first, end;
};

static bool is_blank(struct str s)
{
    return !str_trim(s).len;
}

static void write_text(struct jw *w, struct str text)
{
    jw_object(w);
    jw_kcstr(w, "type", "text");
    jw_kstr(w, "text", text);
    jw_object_end(w);
}

static void write_raw(struct jw *w, struct str json)
{
    CLEANUP(buf_release) struct buf clean = BUF_INIT(BUF_NO_LIMIT);

    block_raw(json, &clean);
    jw_raw(w, buf_str(&clean));
}

static void write_source(struct jw *w, const struct block *b)
{
    jw_object(w);
    if (b->url.len) {
        jw_kcstr(w, "type", "url");
        jw_kstr(w, "url", b->url);
    } else if (b->text.len) {
        jw_kcstr(w, "type", "text");
        jw_kcstr(w, "media_type", "text/plain");
        jw_kstr(w, "data", b->text);
    } else {
        jw_kcstr(w, "type", "base64");
        jw_kstr(w, "media_type", b->media_type);
        jw_kstr(w, "data", b->data);
    }
    jw_object_end(w);
}

static void write_media(struct jw *w, const struct llm_request *req, const struct block *b)
{
    CLEANUP(buf_release) struct buf words = BUF_INIT(1000);

    if (!wire_takes(req, b) && !(b->kind == BLOCK_DOCUMENT && b->text.len)) {
        wire_left_out(req, b, &words);
        write_text(w, buf_str(&words));
        return;
    }
    jw_object(w);
    jw_kcstr(w, "type", b->kind == BLOCK_IMAGE ? "image" : "document");
    jw_key(w, "source");
    write_source(w, b);
    if (b->kind == BLOCK_DOCUMENT && b->title.len)
        jw_kstr(w, "title", b->title);
    jw_object_end(w);
}

static void write_result(struct jw *w, const struct llm_request *req, const struct block *b)
{
    jw_object(w);
    jw_kcstr(w, "type", "tool_result");
    jw_kstr(w, "tool_use_id", b->id);
    jw_key(w, "content");
    if (b->content_len == 1 && b->content[0].kind == BLOCK_TEXT) {
        jw_str(w, b->content[0].text);
    } else {
        jw_array(w);
        for (size_t i = 0; i < b->content_len; i++) {
            const struct block *c = &b->content[i];

            if (c->kind == BLOCK_TEXT && !is_blank(c->text))
                write_text(w, c->text);
            else if (c->kind == BLOCK_IMAGE || c->kind == BLOCK_DOCUMENT)
                write_media(w, req, c);
            else if (c->kind == BLOCK_OTHER && !block_is_foreign(c, req->model))
                write_raw(w, c->raw);
        }
        jw_array_end(w);
    }
    if (b->is_error)
        jw_kbool(w, "is_error", true);
    jw_object_end(w);
}

static void write_call(struct jw *w, const struct block *b)
{
    CLEANUP(buf_release) struct buf input = BUF_INIT(BUF_NO_LIMIT);

    block_input(b, &input);
    jw_object(w);
    jw_kcstr(w, "type", "tool_use");
    jw_kstr(w, "id", b->id);
    jw_key(w, "name");
    wire_name(w, b->name);
    jw_kraw(w, "input", buf_str(&input));
    jw_object_end(w);
}

static void write_thinking(struct jw *w, const struct block *b)
{
    jw_object(w);
    if (b->kind == BLOCK_THINKING) {
        jw_kcstr(w, "type", "thinking");
        jw_kstr(w, "thinking", b->text);
        jw_kstr(w, "signature", b->signature);
    } else {
        jw_kcstr(w, "type", "redacted_thinking");
        jw_kstr(w, "data", b->data);
    }
    jw_object_end(w);
}

static void write_cited_text(struct jw *w, const struct block *b)
{
    jw_object(w);
    jw_kcstr(w, "type", "text");
    jw_kstr(w, "text", b->text);
    jw_key(w, "citations");
    write_raw(w, b->raw);
    jw_object_end(w);
}

/* False for what the API rejects: blank text, thinking without its signature, and blocks of other
 * vendors. */
bool anthropic_is_sent(const struct llm_request *req, const struct block *b)
{
    switch (b->kind) {
    case BLOCK_TEXT:
        return !is_blank(b->text);
    case BLOCK_THINKING:
        return b->signature.len && !block_is_foreign(b, req->model);
    case BLOCK_REDACTED_THINKING:
        return b->data.len && !block_is_foreign(b, req->model);
    case BLOCK_OTHER:
        return str_starts(b->raw, STR("{")) && !block_is_foreign(b, req->model);
    default:
        return true;
    }
}

static void write_block(struct jw *w, const struct llm_request *req, const struct block *b)
{
    switch (b->kind) {
    case BLOCK_TEXT:
        if (b->raw.len && !block_is_foreign(b, req->model))
            write_cited_text(w, b);
        else
            write_text(w, b->text);
        break;
    case BLOCK_THINKING:
    case BLOCK_REDACTED_THINKING:
        write_thinking(w, b);
        break;
    case BLOCK_TOOL_USE:
        write_call(w, b);
        break;
    case BLOCK_TOOL_RESULT:
        write_result(w, req, b);
        break;
    case BLOCK_IMAGE:
    case BLOCK_DOCUMENT:
        write_media(w, req, b);
        break;
    case BLOCK_OTHER:
        write_raw(w, b->raw);
        break;
    }
}

/* Header of the stored bytes, followed by the results and the rest. Avoids searching in them. */
struct kept {
    size_t results_len;
    bool no_mark;
};

static void make_lists(const struct llm_request *req, struct message *m, struct str key)
{
    CLEANUP(buf_release) struct buf all = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf rest = BUF_INIT(BUF_NO_LIMIT);
    struct kept head = {0};

    buf_add(&all, str_make((const char *)&head, sizeof(head)));
    for (size_t i = 0; i < m->len; i++) {
        const struct block *b = &m->blocks[i];
        bool is_result = b->kind == BLOCK_TOOL_RESULT;
        struct buf *list = is_result ? &all : &rest;
        struct jw w;

        if (!anthropic_is_sent(req, b))
            continue;
        if (list->len > (is_result ? sizeof(head) : 0))
            buf_addc(list, ',');
        jw_init(&w, list, JW_CLEAN);
        write_block(&w, req, b);
        if (!is_result)
            head.no_mark = b->kind == BLOCK_THINKING || b->kind == BLOCK_REDACTED_THINKING;
    }
    head.results_len = all.len - sizeof(head);
    memcpy(all.ptr, &head, sizeof(head));
    buf_add(&all, buf_str(&rest));
    message_wire_set(m, key, buf_str(&all));
}

static struct lists get_lists(const struct llm_request *req, size_t i, struct str key)
{
    struct message *m = req->messages[i];
    struct str text = message_wire_get(m, key);
    struct kept head;

    if (!text.len) {
        make_lists(req, m, key);
        text = message_wire_get(m, key);
    }
    memcpy(&head, text.ptr, sizeof(head));
    text = str_from(text, sizeof(head));
    return (struct lists){
        .results = str_first(text, head.results_len),
        .rest = str_from(text, head.results_len),
        .no_mark = head.no_mark,
    };
}

/* Writes a list, with the mark in its last block if wanted. */
static void write_list(struct jw *w, const struct llm_request *req, struct str list, bool mark)
{
    if (!list.len)
        return;
    if (!mark) {
        jw_raw(w, list);
        return;
    }
    jw_raw(w, str_first(list, list.len - 1));
    buf_addf(w->out, ",\"cache_control\":%s}", anthropic_cache_mark(req));
}

static void write_turn(struct jw *w, const struct llm_request *req, const struct wire_turn *t,
                       struct str key, bool mark, struct str tail)
{
    size_t marked = t->end; /* the message whose list gets the mark */
    bool in_rest = false;

    for (size_t i = t->first; mark && i < t->end; i++) {
        struct lists l = get_lists(req, i, key);

        if (l.rest.len) {
            marked = l.no_mark ? t->end : i;
            in_rest = true;
        } else if (l.results.len && !in_rest) {
            marked = i;
        }
    }

    jw_object(w);
    jw_kcstr(w, "role", t->role == ROLE_USER ? "user" : "assistant");
    jw_key(w, "content");
    jw_array(w);
    for (size_t i = t->first; i < t->end; i++)
        write_list(w, req, get_lists(req, i, key).results, i == marked && !in_rest);
    for (size_t i = t->first; i < t->end; i++)
        write_list(w, req, get_lists(req, i, key).rest, i == marked && in_rest);
    if (tail.len)
        write_text(w, tail);
    jw_array_end(w);
    jw_object_end(w);
}

/*
 * A run: the JSON of all turns up to some message. Only the last turns of a request have marks, so
 * earlier turns keep their bytes as long as the history only grows (llm_request.epoch), and a step
 * costs its own turns plus one copy of the earlier bytes. A run is stored with the message it ends
 * with and moves to a later message with each request.
 */
#define RUN_REACH 32  /* how many messages before the end a run is looked for */
#define TURN_ROOM 128 /* bytes around the lists of a turn */

struct tool_run {
    struct buf key;
    size_t messages; /* number of messages covered; 0 = no run */
    struct str text;
};

static void run_find(struct tool_run *r, const struct llm_request *req, struct str key)
{
    size_t last = req->message_count;

    r->messages = 0;
    buf_addf(&r->key, "%.*s run %016llx", STR_ARG(key), (unsigned long long)req->epoch);
    for (size_t i = last; req->epoch && i-- > 0 && last - i <= RUN_REACH;) {
        r->text = message_wire_get(req->messages[i], buf_str(&r->key));
        if (r->text.len) {
            r->messages = i + 1;
            return;
        }
    }
}

/* more: of the turns after the run and before the message `end`. */
static void run_extend(const struct tool_run *r, const struct llm_request *req, size_t end,
                       struct str more)
{
    struct message *last = req->messages[end - 1];

    if (r->messages)
        message_wire_move(req->messages[r->messages - 1], last, buf_str(&r->key), more);
    else
        message_wire_set(last, buf_str(&r->key), more);
}

int anthropic_messages(struct jw *w, const struct llm_request *req, struct err *err)
{
    CLEANUP(buf_release) struct buf key = BUF_INIT(BUF_NO_LIMIT);
    struct tool_run run = {.key = BUF_INIT(BUF_NO_LIMIT)};
    VEC(struct wire_turn) turns = VEC_INIT;
    struct str tail = is_blank(req->tail) ? STR("") : req->tail;
    size_t before;     /* the last user turn but one, where the previous request ended */
    size_t start;      /* of the array's content in the output */
    size_t room;       /* approximate size of everything */
    size_t steady = 0; /* end of the turns that will not change; 0 = none */

    wire_key(req, "anthropic", &key);
    run_find(&run, req, buf_str(&key));
    room = run.text.len + tail.len;
    for (size_t i = run.messages; i < req->message_count; i++) {
        struct lists l = get_lists(req, i, buf_str(&key));
        enum role role = req->messages[i]->role;

        if (!l.results.len && !l.rest.len)
            continue;
        if (!turns.len || turns.ptr[turns.len - 1].role != role)
            vec_push(&turns, ((struct wire_turn){role, i, i}));
        turns.ptr[turns.len - 1].end = i + 1;
        room += l.results.len + l.rest.len + TURN_ROOM;
    }
    if (!turns.len || (!run.messages && turns.ptr[0].role != ROLE_USER)) {
        vec_release(&turns);
        buf_release(&run.key);
        return err_set(err, ERR_BAD_INPUT, "a conversation must begin with words of the user");
    }
    before = turns.len - 1;
    while (before > 0 && turns.ptr[--before].role != ROLE_USER)
        continue;

    (void)buf_room(w->out, room); /* at once, to avoid repeated copying */
    jw_key(w, "messages");
    jw_array(w);
    start = w->out->len;
    if (run.messages)
        jw_raw(w, run.text);
    for (size_t i = 0; i < turns.len; i++) {
        bool last = i + 1 == turns.len;
        bool mark = req->cache != CACHE_OFF && (last || i == before);

        if (i == before)
            steady = w->out->len;
        write_turn(w, req, &turns.ptr[i], buf_str(&key), mark,
                   last && turns.ptr[i].role == ROLE_USER ? tail : STR(""));
    }
    if (tail.len && turns.ptr[turns.len - 1].role != ROLE_USER) {
        jw_object(w);
        jw_kcstr(w, "role", "user");
        jw_kstr(w, "content", tail);
        jw_object_end(w);
    }
    jw_array_end(w);
    if (req->epoch && before > 0 && !w->out->over)
        run_extend(&run, req, turns.ptr[before].first,
                   str_from(str_first(buf_str(w->out), steady), start + run.text.len));
    vec_release(&turns);
    buf_release(&run.key);
    return 0;
}
