/*
 * Chat completions: the messages of a request, combined from the stored pieces of each message
 * (chat_piece.h). Runs on the thread of the agent that makes the request.
 */
#include "llm/dialect/openai_chat.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "json/jw.h"
#include "llm/dialect/chat_piece.h"
#include "llm/dialect/dialect.h"
#include "llm/dialect/wire.h"
#include "llm/message.h"
#include "llm/model.h"

struct chat_writer {
    const struct llm_request *req;
    const struct chat_server *server;
    struct buf key;
};

/* A message's JSON, stored in the message. */
static struct str piece(struct chat_writer *c, size_t at)
{
    struct message *m = c->req->messages[at];
    struct str made = message_wire_get(m, buf_str(&c->key));

    if (!made.len) {
        CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);

        chat_piece_write(c->req, c->server, at, &json);
        if (json.len) {
            message_wire_set(m, buf_str(&c->key), buf_str(&json));
            made = message_wire_get(m, buf_str(&c->key));
        }
    }
    return made;
}

/* The content of a run of user messages, from their pieces. */
struct chat_run {
    struct buf *out;
    bool parts;
    bool any;
};

static void run_add(struct chat_run *r, char form, struct str inside)
{
    if (!inside.len)
        return;
    if (r->any)
        buf_adds(r->out, r->parts ? "," : "\\n\\n");
    r->any = true;
    if (r->parts && form == 'T') {
        buf_adds(r->out, "{\"type\":\"text\",\"text\":\"");
        buf_add(r->out, inside);
        buf_adds(r->out, "\"}");
    } else {
        buf_add(r->out, inside);
    }
}

static void write_tail(struct chat_run *r, struct str tail)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf inside = BUF_INIT(BUF_NO_LIMIT);
    struct jw w;

    if (!tail.len)
        return;
    jw_init(&w, &json, JW_CLEAN);
    jw_str(&w, tail);
    chat_piece_add_inside(&inside, &json);
    run_add(r, 'T', buf_str(&inside));
}

/* Messages [from, to) are between two assistant messages: writes their tool messages, then one user
 * message if there is content for it. */
static void write_run(struct chat_writer *c, struct jw *w, size_t from, size_t to, struct str tail)
{
    struct chat_run run = {w->out};
    bool any = tail.len > 0;

    for (size_t i = from; i < to; i++) {
        struct str made = piece(c, i);
        size_t cut = str_chr(made, '\0');

        if (c->req->messages[i]->role != ROLE_USER)
            continue;
        if (cut)
            jw_raw(w, str_first(made, cut));
        any = any || made.len > cut + 2;
        run.parts = run.parts || made.ptr[cut + 1] == 'P';
    }
    if (!any)
        return;

    jw_object(w);
    jw_kcstr(w, "role", "user");
    jw_key(w, "content");
    jw_raw(w, run.parts ? STR("[") : STR("\""));
    for (size_t i = from; i < to; i++) {
        struct str made = piece(c, i);
        size_t cut = str_chr(made, '\0');

        if (c->req->messages[i]->role == ROLE_USER)
            run_add(&run, made.ptr[cut + 1], str_from(made, cut + 2));
    }
    write_tail(&run, tail);
    buf_addc(w->out, run.parts ? ']' : '"');
    jw_object_end(w);
}

void openai_chat_messages(const struct llm_request *req, const struct chat_server *server,
                          struct jw *w)
{
    struct chat_writer writer = {.req = req, .server = server, .key = BUF_INIT(BUF_NO_LIMIT)};
    struct chat_writer *c = &writer;
    size_t from = 0;

    wire_key(req, "openai-chat", &c->key);
    jw_array(w);
    if (req->system.len) {
        jw_object(w);
        jw_kcstr(w, "role", req->model->system_is_developer ? "developer" : "system");
        jw_key(w, "content");
        wire_system(w, req);
        jw_object_end(w);
    }
    for (size_t i = 0; i < req->message_count; i++) {
        if (req->messages[i]->role == ROLE_USER || !piece(c, i).len)
            continue;
        write_run(c, w, from, i, STR(""));
        jw_raw(w, piece(c, i));
        from = i + 1;
    }
    write_run(c, w, from, req->message_count, req->tail);
    jw_array_end(w);
    buf_release(&c->key);
}
