/*
 * Writes lines of a transcript. Pure functions, any thread.
 */
#include "host/record/record_line.h"

#include <math.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "context/notice.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/llm_call.h"
#include "llm/message.h"
#include "llm/model.h"

static void line_begin(struct jw *w, struct buf *out, const struct record_at *at,
                       enum entry_kind kind)
{
    jw_init(w, out, 0);
    entry_begin(w, at->head, kind, at->uuid, at->parent, at->time_ms);
}

static void line_end(struct jw *w)
{
    jw_object_end(w);
    buf_addc(w->out, '\n');
}

static void write_block(struct jw *w, const struct block *b)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);

    block_write_plain(b, &json);
    jw_raw(w, buf_str(&json));
}

/* Data of blocks that the Messages API would reject, outside of the message. */
static void write_own(struct jw *w, const struct block *blocks, size_t count)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);

    if (blocks_write_own(blocks, count, &json))
        jw_kraw(w, "blockData", buf_str(&json));
}

/* {"role":"user","content":…}: a single text as a string, which every viewer supports. */
static void write_message(struct jw *w, const struct block *blocks, size_t count)
{
    jw_key(w, "message");
    jw_object(w);
    jw_kcstr(w, "role", "user");
    jw_key(w, "content");
    if (count == 1 && blocks[0].kind == BLOCK_TEXT) {
        jw_str(w, blocks[0].text);
    } else {
        jw_array(w);
        for (size_t i = 0; i < count; i++)
            write_block(w, &blocks[i]);
        jw_array_end(w);
    }
    jw_object_end(w);
    write_own(w, blocks, count);
}

/* A notice without its wrapper: a user line if it began a turn, else an attachment. */
static void record_line_notice(struct buf *out, const struct record_at *at,
                               const struct block *block, bool between)
{
    struct str bare = block->text;
    struct jw w;

    (void)notice_bare(block->text, &bare);
    line_begin(&w, out, at, between ? ENTRY_ATTACHMENT : ENTRY_USER);
    if (between) {
        jw_key(&w, "attachment");
        jw_object(&w);
        jw_kcstr(&w, "type", "queued_command");
        jw_kstr(&w, "prompt", bare);
        jw_kstr(&w, "source_uuid", at->uuid);
        jw_kcstr(&w, "commandMode", NOTICE_ORIGIN);
        notice_write_origin(&w, block->id);
        jw_object_end(&w);
    } else {
        struct block said = {.kind = BLOCK_TEXT, .text = bare};

        notice_write_origin(&w, block->id);
        jw_kcstr(&w, "promptSource", "system");
        write_message(&w, &said, 1);
    }
    line_end(&w);
}

void record_line_user(struct buf *out, const struct record_at *at, const struct block *blocks,
                      size_t count, enum event_user user)
{
    struct jw w;

    if (user == USER_NOTICE || user == USER_NOTICE_BETWEEN) {
        record_line_notice(out, at, &blocks[0], user == USER_NOTICE_BETWEEN);
        return;
    }
    line_begin(&w, out, at, ENTRY_USER);
    if (user == USER_ADDED)
        jw_kbool(&w, "isMeta", true);
    if (count && blocks->kind == BLOCK_TEXT && blocks->id.len)
        jw_kstr(&w, "sourceToolUseID", blocks->id);
    if (user == USER_APPENDED)
        jw_kbool(&w, "shouldQuery", false);
    write_message(&w, blocks, count);
    line_end(&w);
}

void record_line_reply(struct buf *out, const struct record_at *at,
                       const struct llm_call_result *reply, const struct block *block, double cost)
{
    const struct message *m = reply->message;
    struct jw w;

    line_begin(&w, out, at, ENTRY_ASSISTANT);
    jw_kcstr(&w, "requestId", reply->request_id);
    if (!isnan(cost)) {
        jw_key(&w, "costUSD");
        jw_double(&w, cost);
    }
    jw_key(&w, "message");
    jw_object(&w);
    jw_kstr(&w, "id", m->id);
    jw_kcstr(&w, "type", "message");
    jw_kcstr(&w, "role", "assistant");
    jw_kstr(&w, "model", m->model.len ? m->model : reply->model->name);
    jw_kcstr(&w, "stop_reason", reply->stop == STOP_NONE ? NULL : llm_stop_name(reply->stop));
    jw_kcstr(&w, "stop_sequence", reply->stop_sequence[0] ? reply->stop_sequence : NULL);
    jw_key(&w, "usage");
    llm_usage_write(&w, &reply->usage);
    jw_key(&w, "content");
    jw_array(&w);
    if (block)
        write_block(&w, block);
    jw_array_end(&w);
    jw_object_end(&w);
    if (block)
        write_own(&w, block, 1);
    line_end(&w);
}

void record_line_result(struct buf *out, const struct record_at *at, const struct block *result,
                        struct str data, bool is_denied)
{
    struct jw w;

    line_begin(&w, out, at, ENTRY_USER);
    jw_kstr(&w, "sourceToolAssistantUUID", at->parent);
    write_message(&w, result, 1);
    if (data.len)
        jw_kraw(&w, "toolUseResult", data);
    if (is_denied)
        jw_kbool(&w, "isDenied", true);
    line_end(&w);
}

void record_line_boundary(struct buf *out, const struct record_at *at,
                          const struct journal_compact *c, struct str anchor)
{
    struct record_at root = *at;
    struct jw w;

    root.parent = STR("");
    line_begin(&w, out, &root, ENTRY_SYSTEM);
    jw_kcstr(&w, "subtype", "compact_boundary");
    if (at->parent.len)
        jw_kstr(&w, "logicalParentUuid", at->parent);
    jw_kcstr(&w, "content", "Conversation compacted");
    jw_kbool(&w, "isMeta", false);
    jw_kcstr(&w, "level", "info");
    jw_key(&w, "compactMetadata");
    jw_object(&w);
    jw_kstr(&w, "trigger", c->trigger);
    jw_ki64(&w, "preTokens", c->pre_tokens);
    jw_ki64(&w, "postTokens", c->post_tokens);
    jw_ki64(&w, "durationMs", c->duration_ms);
    jw_ki64(&w, "messagesSummarized", (int64_t)c->summarized);
    if (c->instructions.len)
        jw_kstr(&w, "userContext", c->instructions);
    if (c->kept_count) {
        jw_key(&w, "preservedMessages");
        jw_object(&w);
        jw_kstr(&w, "anchorUuid", anchor);
        jw_key(&w, "uuids");
        jw_array(&w);
        for (size_t i = 0; i < c->kept_count; i++)
            jw_str(&w, c->kept[i]);
        jw_array_end(&w);
        jw_object_end(&w);
    }
    if (c->todos.len)
        jw_kraw(&w, "todos", c->todos);
    if (c->found.len > 2)
        jw_kraw(&w, "preCompactDiscoveredTools", c->found);
    jw_object_end(&w);
    line_end(&w);
}

void record_line_summary(struct buf *out, const struct record_at *at, const struct block *summary)
{
    struct jw w;

    line_begin(&w, out, at, ENTRY_USER);
    jw_kbool(&w, "isCompactSummary", true);
    jw_kbool(&w, "isVisibleInTranscriptOnly", true);
    write_message(&w, summary, 1);
    line_end(&w);
}

void record_line_snip(struct buf *out, const struct record_at *at, const struct str *entries,
                      size_t count)
{
    struct jw w;

    line_begin(&w, out, at, ENTRY_SYSTEM);
    jw_kcstr(&w, "subtype", "snip");
    jw_kcstr(&w, "content", "Messages removed from the conversation");
    jw_kcstr(&w, "level", "info");
    jw_kbool(&w, "isMeta", true);
    jw_key(&w, "removedUuids");
    jw_array(&w);
    for (size_t i = 0; i < count; i++)
        jw_str(&w, entries[i]);
    jw_array_end(&w);
    line_end(&w);
}

void record_line_attachment(struct buf *out, const struct record_at *at, struct str json)
{
    struct jw w;

    line_begin(&w, out, at, ENTRY_ATTACHMENT);
    jw_kraw(&w, "attachment", json);
    line_end(&w);
}

void record_line_failure(struct buf *out, const struct record_at *at, struct str text)
{
    static const struct llm_usage nothing = {0};
    struct block block = {.kind = BLOCK_TEXT, .text = text};
    struct jw w;

    line_begin(&w, out, at, ENTRY_ASSISTANT);
    jw_kbool(&w, "isApiErrorMessage", true);
    jw_key(&w, "message");
    jw_object(&w);
    jw_kstr(&w, "id", at->uuid);
    jw_kcstr(&w, "type", "message");
    jw_kcstr(&w, "role", "assistant");
    jw_kcstr(&w, "model", "<synthetic>");
    jw_kcstr(&w, "stop_reason", "stop_sequence");
    jw_kcstr(&w, "stop_sequence", "");
    jw_key(&w, "usage");
    llm_usage_write(&w, &nothing);
    jw_key(&w, "content");
    jw_array(&w);
    write_block(&w, &block);
    jw_array_end(&w);
    jw_object_end(&w);
    line_end(&w);
}

static void write_cost(struct jw *w, const struct turn_report *r)
{
    jw_key(w, "cost");
    jw_object(w);
    jw_key(w, "usd");
    jw_double(w, r->total_usd);
    jw_ki64(w, "durationMs", r->total_ms);
    jw_ki64(w, "apiDurationMs", r->total_api_ms);
    jw_kbool(w, "unknown", r->cost_unknown);
    jw_key(w, "models");
    jw_array(w);
    for (size_t i = 0; i < r->model_count; i++) {
        const struct model_spent *m = &r->models[i];

        jw_object(w);
        jw_kstr(w, "model", m->model);
        jw_key(w, "usd");
        jw_double(w, m->usd); /* NaN is written as null */
        jw_ki64(w, "window", m->window);
        jw_ki64(w, "maxOutput", m->max_output);
        jw_key(w, "usage");
        llm_usage_write(w, &m->usage);
        jw_object_end(w);
    }
    jw_array_end(w);
    jw_object_end(w);
}

void record_line_warning(struct buf *out, const struct record_at *at, struct str text)
{
    struct jw w;

    line_begin(&w, out, at, ENTRY_SYSTEM);
    jw_kcstr(&w, "subtype", "informational");
    jw_kstr(&w, "content", text);
    jw_kcstr(&w, "level", "warning");
    jw_kbool(&w, "isMeta", false);
    line_end(&w);
}

void record_line_stop_hooks(struct buf *out, const struct record_at *at,
                            const struct journal_stop_hooks *s)
{
    struct jw w;

    line_begin(&w, out, at, ENTRY_SYSTEM);
    jw_kcstr(&w, "subtype", "stop_hook_summary");
    jw_ki64(&w, "hookCount", (int64_t)s->count);
    jw_kraw(&w, "hookInfos", s->infos);
    jw_kraw(&w, "hookErrors", s->errors);
    jw_kbool(&w, "preventedContinuation", s->prevents);
    jw_kstr(&w, "stopReason", s->reason);
    jw_kbool(&w, "hasOutput", s->has_output);
    jw_kcstr(&w, "level", "suggestion");
    jw_kstr(&w, "toolUseID", at->uuid);
    jw_kbool(&w, "isMeta", true);
    line_end(&w);
}

void record_line_turn(struct buf *out, const struct record_at *at, const struct turn_report *r)
{
    struct jw w;

    line_begin(&w, out, at, ENTRY_SYSTEM);
    jw_kcstr(&w, "subtype", "turn_duration");
    jw_ki64(&w, "durationMs", r->duration_ms);
    jw_kbool(&w, "isMeta", true);
    jw_kcstr(&w, "reason", turn_end_name(r->end));
    write_cost(&w, r);
    line_end(&w);
}

/* ---- Facts ---- */

void record_line_replaced(struct buf *out, struct str session, struct str agent_id,
                          const struct journal_replacement *list, size_t count)
{
    struct jw w;

    jw_init(&w, out, 0);
    entry_begin_fact(&w, ENTRY_CONTENT_REPLACEMENT);
    jw_kstr(&w, "sessionId", session);
    if (agent_id.len)
        jw_kstr(&w, "agentId", agent_id);
    jw_key(&w, "replacements");
    jw_array(&w);
    for (size_t i = 0; i < count; i++) {
        jw_object(&w);
        jw_kstr(&w, "messageUuid", list[i].entry);
        if (list[i].tool_use_id.len)
            jw_kstr(&w, "toolUseId", list[i].tool_use_id);
        jw_ki64(&w, "blockIndex", (int64_t)list[i].block_index);
        jw_kcstr(&w, "kind", list[i].is_dropped ? "dropped" : "persisted");
        jw_kstr(&w, "replacement", list[i].stub);
        jw_object_end(&w);
    }
    jw_array_end(&w);
    line_end(&w);
}

void record_line_queue(struct buf *out, struct str session, int64_t time_ms,
                       enum journal_queue what, const struct agent_input *input)
{
    static const char *const names[] = {"enqueue", "dequeue", "remove", "popAll"};
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    char time[25];
    struct jw w;

    jw_init(&w, out, 0);
    entry_begin_fact(&w, ENTRY_QUEUE_OPERATION);
    jw_kcstr(&w, "operation", names[what]);
    entry_time(time_ms, time);
    jw_kcstr(&w, "timestamp", time);
    jw_kstr(&w, "sessionId", session);
    if (input)
        jw_kcstr(&w, "uuid", input->uuid);
    if (input && what == QUEUE_ENQUEUE) {
        message_text(input->message, &text);
        jw_kstr(&w, "content", buf_str(&text));
        jw_ki64(&w, "when", input->when);
        if (input->is_notice)
            notice_write_origin(&w, str_of(input->run));
        if (input->no_query)
            jw_kbool(&w, "noQuery", true);
        if (message_count(input->message, BLOCK_TEXT) != input->message->len ||
            input->message->len > 1)
            write_message(&w, input->message->blocks, input->message->len);
    }
    line_end(&w);
}

void record_line_title(struct buf *out, struct str session, struct str title, bool by_model)
{
    struct jw w;

    jw_init(&w, out, 0);
    entry_begin_fact(&w, by_model ? ENTRY_AI_TITLE : ENTRY_CUSTOM_TITLE);
    jw_kstr(&w, by_model ? "aiTitle" : "customTitle", title);
    jw_kstr(&w, "sessionId", session);
    line_end(&w);
}

void record_line_agent_type(struct buf *out, struct str session, struct str name)
{
    struct jw w;

    jw_init(&w, out, 0);
    entry_begin_fact(&w, ENTRY_AGENT_SETTING);
    jw_kstr(&w, "agentSetting", name);
    jw_kstr(&w, "sessionId", session);
    line_end(&w);
}

void record_line_coordinator(struct buf *out, struct str session, bool on)
{
    struct jw w;

    jw_init(&w, out, 0);
    entry_begin_fact(&w, ENTRY_MODE);
    jw_kcstr(&w, "mode", on ? "coordinator" : "normal");
    jw_kstr(&w, "sessionId", session);
    line_end(&w);
}

void record_line_mode(struct buf *out, struct str session, struct str mode)
{
    struct jw w;

    jw_init(&w, out, 0);
    entry_begin_fact(&w, ENTRY_PERMISSION_MODE);
    jw_kstr(&w, "permissionMode", mode);
    jw_kstr(&w, "sessionId", session);
    line_end(&w);
}
