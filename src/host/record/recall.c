/*
 * Loads a conversation from a transcript in two passes. recall_line() turns the lines, in order,
 * into turns and keeps results by the id of their call. recall_wire() turns these into messages
 * that a provider accepts. Runs on the thread that builds the session.
 */
#include "agent/recall.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "agent/event.h"
#include "agent/extra_news.h"
#include "agent/hook.h"
#include "agent/tool.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "context/notice.h"
#include "context/reminder.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/history.h"
#include "llm/message.h"
#include "store/transcript/load.h"
#include "sync/cancel.h"

#define RECALL_MAX_LOST 500                            /* bytes of a lost call that are shown */
#define RECALL_MAX_MS ((int64_t)1000 * 365 * 86400000) /* longer durations are invalid */
#define RECALL_CLEARED "[This result was removed from the conversation to save space.]"

/* Everything that one side said before the other did; user parts have no results. */
struct recall_part {
    struct message *message;
    struct str
        request; /* assistant: id of the request it answers, in the message's arena; may be empty */
};

struct reader {
    struct load *load;
    struct recall *to;
    VEC(struct recall_part) parts;
    struct map results;      /* tool_use id → struct message * of one block */
    struct map replacements; /* tool_use id, or line and block (block_key()) → char *, the
                                replacement text */
    struct map
        entries; /* uuids of the chain's lines, to recognize queued input that was already used */
    struct map files;    /* path → index + 1 */
    struct map priced;   /* answers whose usage is counted, by message id and request id */
    bool forks;          /* calls of the last answer without a result are kept */
    bool is_deferred;    /* the last turn ended because a hook deferred its call */
    uint64_t counted_to; /* lines before this offset are included in the recorded cost */
};

void recall_release(struct recall *r)
{
    VEC_EACH(&r->messages, m) {
        message_unref(*m);
    }
    vec_release(&r->messages);
    message_unref(r->deferred);
    VEC_EACH(&r->queued, in) {
        message_unref(in->message);
    }
    vec_release(&r->queued);
    buf_release(&r->context);
    buf_release(&r->todos);
    buf_release(&r->lost);
    buf_release(&r->extra);
    ledger_release(&r->ledger);
    VEC_EACH(&r->files, file) {
        mem_freep(&file->path);
    }
    vec_release(&r->files);
}

static void reader_release(struct reader *r)
{
    VEC_EACH(&r->parts, part) {
        message_unref(part->message);
    }
    vec_release(&r->parts);
    MAP_EACH(&r->results, it) {
        message_unref(it->value);
    }
    map_release(&r->results);
    MAP_EACH(&r->replacements, it) {
        mem_freep(&it->value);
    }
    map_release(&r->replacements);
    map_release(&r->entries);
    map_release(&r->files);
    map_release(&r->priced);
}

/* ---- Metadata ---- */

static int reader_parse(struct reader *r, uint64_t offset, uint32_t len, struct arena *arena,
                        const struct json **ret, struct err *err)
{
    struct str text;

    *ret = NULL;
    if (load_read(r->load, offset, len, &text, err) < 0)
        return -1;
    if (json_parse(arena, text, ret, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        *ret = NULL; /* nested deeper than the limit; the scanner does not check that */
    return 0;
}

/* Key of a block of a line that is not a result. */
static struct str block_key(struct buf *space, struct str uuid, int64_t index)
{
    buf_clear(space);
    buf_addf(space, "%.*s#%" PRId64, STR_ARG(uuid), index);
    return buf_str(space);
}

static int reader_replacements(struct reader *r, struct err *err)
{
    const struct load_facts *facts = load_facts(r->load);

    VEC_EACH(&facts->replacements, line) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(buf_release) struct buf space = BUF_INIT(BUF_NO_LIMIT);
        const struct json *v;

        if (reader_parse(r, line->offset, line->len, &arena, &v, err) < 0)
            return -1;
        JSON_EACH(json_get(v, "replacements"), it) {
            struct str stub = json_get_str(it, "replacement");
            struct str key = json_get_str(it, "toolUseId");
            char *old;

            if (!stub.len)
                stub = STR(RECALL_CLEARED);
            if (!key.len)
                key = block_key(&space, json_get_str(it, "messageUuid"),
                                json_get_i64(it, "blockIndex", 0));
            old = map_set(&r->replacements, key, mem_dup(stub.ptr, stub.len));
            mem_freep(&old);
        }
    }
    return 0;
}

static int64_t read_ms(const struct json *v)
{
    int64_t ms = 0;

    return json_i64(v, &ms) && ms > 0 && ms < RECALL_MAX_MS ? ms : 0;
}

/* Reads the last recorded cost; answers after that line are added as they are read. */
static int reader_cost(struct reader *r, struct err *err)
{
    const struct load_line *line = &load_facts(r->load)->last_turn;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v;

    if (!line->len)
        return 0;
    if (reader_parse(r, line->offset, line->len, &arena, &v, err) < 0)
        return -1;
    if (!json_is(json_get(v, "cost"), JSON_OBJECT))
        return 0;
    r->counted_to = line->offset;
    r->to->ledger.time_ms = read_ms(json_path(v, "cost.durationMs"));
    r->to->ledger.api_ms = read_ms(json_path(v, "cost.apiDurationMs"));
    JSON_EACH(json_path(v, "cost.models"), it) {
        struct spend spend = {.model = json_get_str(it, "model"), .usd = NAN};

        (void)json_double(json_get(it, "usd"), &spend.usd);
        llm_usage_read(json_get(it, "usage"), &spend.usage);
        ledger_add(&r->to->ledger, &spend);
    }
    return 0;
}

static void reader_queued_line(struct reader *r, const struct json *v)
{
    struct agent_input in = {.when = INPUT_LATER};
    struct str uuid = json_get_str(v, "uuid");
    int64_t when = INPUT_LATER;

    if (uuid.len == ID_UUID_LEN && map_has(&r->entries, uuid))
        return; /* it was used, but the process was killed before it could record that */
    if (uuid.len == ID_UUID_LEN)
        memcpy(in.uuid, uuid.ptr, ID_UUID_LEN);
    else
        id_uuid(in.uuid);
    if (json_i64(json_get(v, "when"), &when) && when == INPUT_NEXT)
        in.when = INPUT_NEXT;
    in.no_query = json_get_bool(v, "noQuery", false);
    in.is_notice = str_is(json_get_str(json_get(v, "origin"), "kind"), NOTICE_ORIGIN);
    if (in.is_notice) {
        struct str run = json_get_str(json_get(v, "origin"), "runId");

        in.when = INPUT_NEXT;
        snprintf(in.run, sizeof(in.run), "%.*s", STR_ARG(str_clip(run, sizeof(in.run) - 1)));
    }
    if (message_parse(json_get(v, "message"), &in.message, /*err=*/NULL) < 0)
        in.message = message_user_text(json_get_str(v, "content"));
    message_add_own(in.message, json_get(v, "blockData"));
    vec_push(&r->to->queued, in);
}

static int reader_queue(struct reader *r, struct err *err)
{
    const struct load_facts *facts = load_facts(r->load);

    VEC_EACH(&facts->queue, line) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        const struct json *v;

        if (reader_parse(r, line->offset, line->len, &arena, &v, err) < 0)
            return -1;
        if (json_get_str(v, "content").len || json_get(v, "message"))
            reader_queued_line(r, v);
    }
    return 0;
}

/* ---- Lines ---- */

static struct message *reader_last(struct reader *r)
{
    return r->parts.len ? r->parts.ptr[r->parts.len - 1].message : NULL;
}

static struct message *reader_part(struct reader *r, enum role role)
{
    struct message *last = reader_last(r);
    struct recall_part part = {0};

    if (role == ROLE_USER && last && last->role == ROLE_USER)
        return last;
    part.message = message_new(role, 2);
    vec_push(&r->parts, part);
    return part.message;
}

/* Keeps a result under the id of its call; the first one wins. */
static void reader_result(struct reader *r, const struct block *b)
{
    const char *stub = map_get(&r->replacements, b->id);
    struct block text = {.kind = BLOCK_TEXT};
    struct block result = *b;
    struct message *m;

    if (map_has(&r->results, b->id))
        return;
    if (stub) {
        text.text = str_of(stub);
        result.content = &text;
        result.content_len = 1;
    }
    m = message_new(ROLE_USER, 1);
    message_add(m, &result);
    map_set(&r->results, b->id, m);
}

static void reader_user(struct reader *r, const struct message *m, struct str uuid, bool is_meta)
{
    CLEANUP(buf_release) struct buf space = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < m->len; i++) {
        struct block b = m->blocks[i];
        const char *stub;

        if (b.kind == BLOCK_TOOL_RESULT) {
            b.entry = uuid;
            reader_result(r, &b);
            continue;
        }
        stub = map_get(&r->replacements, block_key(&space, uuid, (int64_t)i));
        if (stub)
            b = (struct block){.kind = BLOCK_TEXT, .text = str_of(stub)};
        b.entry = uuid;
        message_add(reader_part(r, ROLE_USER), &b);
        if (is_meta && b.kind == BLOCK_TEXT && str_starts(b.text, STR("<system-reminder>")))
            buf_add(&r->to->context, b.text);
    }
}

static void reader_add_file(struct reader *r, struct str path, const struct json *line)
{
    size_t before = (size_t)map_get(&r->files, path);
    struct recall_file file = {.time_ms = entry_time_parse(json_get_str(line, "timestamp"))};

    if (!path.len || path.ptr[0] != '/' || str_chr(path, '\0') < path.len || file.time_ms <= 0)
        return;
    if (before)
        mem_freep(&r->to->files.ptr[before - 1].path);
    file.path = mem_dup(path.ptr, path.len);
    vec_push(&r->to->files, file);
    map_set(&r->files, path, (void *)r->to->files.len);
}

/* Notes the file of a result of Read or of a tool that has changed it. */
static void reader_file(struct reader *r, const struct json *line)
{
    const struct json *data = json_get(line, "toolUseResult");
    const struct json *file = json_get(data, "file");
    struct str type = json_get_str(data, "type");

    if (json_get(data, "structuredPatch"))
        reader_add_file(r, json_get_str(data, "filePath"), line);
    else if ((str_is(type, "text") || str_is(type, "notebook")) &&
             (!json_is(json_get(file, "content"), JSON_STRING) ||
              json_get_i64(file, "numLines", 0) > 0 || json_get_i64(file, "totalLines", 1) == 0))
        reader_add_file(r, json_get_str(file, "filePath"), line);
}

/* Every line of an answer repeats its usage; counts it once. */
static void reader_usage(struct reader *r, const struct json *line, const struct json *message,
                         const struct load_entry *e)
{
    CLEANUP(buf_release) struct buf answer = BUF_INIT(BUF_NO_LIMIT);
    struct spend spend = {.model = json_get_str(message, "model"), .usd = NAN};

    if (e->flags & LOAD_PRESERVED)
        return;
    llm_usage_read(json_get(message, "usage"), &spend.usage);
    if (!spend.usage.known)
        return;
    r->to->tokens =
        spend.usage.input + spend.usage.cache_read + spend.usage.cache_write + spend.usage.output;
    r->to->tokens_at = r->parts.len;
    buf_add(&answer, json_get_str(message, "id"));
    buf_addc(&answer, '\n');
    buf_add(&answer, json_get_str(line, "requestId"));
    if (e->offset < r->counted_to || map_has(&r->priced, buf_str(&answer)))
        return;
    map_set(&r->priced, buf_str(&answer), r);
    (void)json_double(json_get(line, "costUSD"), &spend.usd);
    ledger_add(&r->to->ledger, &spend);
}

/* Remembers the todo list of the last call that changed it. */
static void reader_todos(struct reader *r, const struct block *call)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *input;
    struct jw w;

    if (!str_is(call->name, "TodoWrite") ||
        json_parse(&arena, call->input, &input, /*ret_info=*/NULL, /*err=*/NULL) < 0 ||
        !json_is(json_get(input, "todos"), JSON_ARRAY))
        return;
    buf_clear(&r->to->todos);
    jw_init(&w, &r->to->todos, 0);
    jw_json(&w, json_get(input, "todos"));
}

/* Finds the message that a line belongs to: the blocks of an answer are separate lines, possibly
 * with results in between. Some servers give all answers the same id, so the request id must match
 * too. NULL if the line begins a new answer. */
static struct message *reader_answer(struct reader *r, struct str id, struct str request)
{
    for (size_t i = r->parts.len; id.len && i-- > 0;) {
        const struct recall_part *part = &r->parts.ptr[i];

        if (part->message->role == ROLE_ASSISTANT)
            return str_eq(part->message->id, id) && str_eq(part->request, request) ? part->message
                                                                                   : NULL;
    }
    return NULL;
}

static void reader_assistant(struct reader *r, const struct message *m, struct str uuid,
                             struct str request)
{
    struct message *to = reader_answer(r, m->id, request);

    if (!to) {
        to = reader_part(r, ROLE_ASSISTANT);
        to->id = arena_str(&to->arena, m->id);
        to->model = arena_str(&to->arena, m->model);
        r->parts.ptr[r->parts.len - 1].request = arena_str(&to->arena, request);
    }
    for (size_t i = 0; i < m->len; i++) {
        struct block b = m->blocks[i];

        b.entry = uuid;
        message_add(to, &b);
    }
}

/* Appends the text of an attachment: a text, a list of texts or blocks, or a file. */
static void attachment_text(const struct json *content, struct buf *ret)
{
    const struct json *file = json_get(content, "file");

    buf_add(ret, json_str(content));
    if (json_is(content, JSON_OBJECT))
        buf_add(ret, json_get_str(file ? file : content, "content"));
    if (!json_is(content, JSON_ARRAY))
        return;
    JSON_EACH(content, part) {
        struct str words = json_is(part, JSON_STRING) ? json_str(part) : json_get_str(part, "text");

        buf_addf(ret, "%s%.*s", ret->len && words.len ? "\n" : "", STR_ARG(words));
    }
}

/* For hook lines: whether the model has seen the content. It sees additionalContext, or plain
 * output where that counts as context, unless that has a line of its own. True for all other lines.
 */
static bool hook_line_is_context(const struct json *attachment)
{
    struct str type = json_get_str(attachment, "type");
    struct str event = json_get_str(attachment, "hookEvent");

    if (!str_starts(type, STR("hook_")) || str_is(type, "hook_additional_context"))
        return true;
    return str_is(type, "hook_success") && json_get_str(attachment, "content").len &&
           (str_is(event, hook_event_name(HOOK_SESSION_START)) ||
            str_is(event, hook_event_name(HOOK_USER_PROMPT_SUBMIT)) ||
            str_is(event, hook_event_name(HOOK_USER_PROMPT_EXPANSION)));
}

/* Adds attachments of other programs: text becomes a reminder. A prompt that was read in the middle
 * of a turn is an attachment too, and becomes user text. */
static void reader_attachment(struct reader *r, const struct json *line, struct str uuid)
{
    const struct json *attachment = json_get(line, "attachment");
    CLEANUP(buf_release) struct buf prompt = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf told = BUF_INIT(BUF_NO_LIMIT);
    struct block b = {.kind = BLOCK_TEXT, .entry = uuid};

    /* "skill_listing" and similar: the tools and skills of the other program do not exist here. */
    if (str_ends(json_get_str(attachment, "type"), STR("_listing")) ||
        !hook_line_is_context(attachment))
        return;
    if (extra_is_news(json_get_str(attachment, "type"))) {
        buf_add(&r->to->extra, json_raw(attachment));
        buf_addc(&r->to->extra, '\n');
        extra_foreign_text(attachment, &text);
    }
    attachment_text(json_get(attachment, "prompt"), &prompt);
    attachment_text(json_get(attachment, "content"), &text);
    attachment_text(json_get(attachment, "snippet"), &text);
    if (text.len)
        reminder_add(&told, buf_str(&text));
    if (str_is(json_get_str(attachment, "commandMode"), NOTICE_ORIGIN)) {
        buf_clear(&told);
        notice_wrap(buf_str(&prompt), &told);
        buf_clear(&prompt);
    }
    b.text = prompt.len ? buf_str(&prompt) : buf_str(&told);
    if (b.text.len)
        message_add(reader_part(r, ROLE_USER), &b);
}

/* Deferred tools that were found or called. */
static void reader_found(struct reader *r, const struct json *names)
{
    struct jw w;

    if (!json_len(names))
        return;
    jw_init(&w, &r->to->extra, 0);
    jw_object(&w);
    jw_kcstr(&w, "type", "extra_tools_found");
    jw_key(&w, "names");
    jw_array(&w);
    JSON_EACH(names, name) {
        jw_str(&w, json_is(name, JSON_OBJECT) ? json_get_str(name, "name") : json_str(name));
    }
    jw_array_end(&w);
    jw_object_end(&w);
    buf_addc(&r->to->extra, '\n');
}

static void reader_boundary(struct reader *r, const struct json *line)
{
    const struct json *todos = json_path(line, "compactMetadata.todos");
    struct jw w;

    reader_found(r, json_path(line, "compactMetadata.preCompactDiscoveredTools"));
    if (!json_is(todos, JSON_ARRAY))
        return;
    buf_clear(&r->to->todos);
    jw_init(&w, &r->to->todos, 0);
    jw_json(&w, todos);
}

/* Records how a turn ended; a later line overrides it. */
static void reader_turn(struct reader *r, const struct load_entry *e, const struct json *line)
{
    if (e->kind == ENTRY_USER || e->kind == ENTRY_ASSISTANT)
        r->is_deferred = false;
    else if (e->kind == ENTRY_SYSTEM && str_is(json_get_str(line, "subtype"), "turn_duration"))
        r->is_deferred = str_is(json_get_str(line, "reason"), turn_end_name(END_TOOL_DEFERRED));
}

/* Adds the notice in its wrapper, as it was sent. */
static void reader_notice(struct reader *r, struct str bare, struct str uuid)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct block b = {.kind = BLOCK_TEXT, .entry = uuid};

    notice_wrap(bare, &text);
    b.text = buf_str(&text);
    message_add(reader_part(r, ROLE_USER), &b);
}

static int reader_line(struct reader *r, const struct load_entry *e, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(message_unrefp) struct message *m = NULL;
    const struct json *line;
    struct str uuid;

    if (reader_parse(r, e->offset, e->len, &arena, &line, err) < 0)
        return -1;
    uuid = json_get_str(line, "uuid");
    map_set(&r->entries, uuid, r);
    reader_turn(r, e, line);
    if (e->kind == ENTRY_SYSTEM && e->flags & LOAD_BOUNDARY)
        reader_boundary(r, line);
    if (e->kind == ENTRY_ATTACHMENT)
        reader_attachment(r, line, uuid);
    if ((e->kind != ENTRY_USER && e->kind != ENTRY_ASSISTANT) || e->flags & LOAD_API_ERROR)
        return 0;
    if (message_parse(json_get(line, "message"), &m, /*err=*/NULL) < 0) {
        r->to->unused++;
        return 0;
    }
    message_add_own(m, json_get(line, "blockData"));
    if (str_is(json_get_str(json_get(line, "origin"), "kind"), NOTICE_ORIGIN)) {
        reader_notice(r, json_str(json_path(line, "message.content")), uuid);
        return 0;
    }
    if (e->kind == ENTRY_USER) {
        reader_user(r, m, uuid, e->flags & LOAD_META);
        if (e->flags & LOAD_TOOL_RESULT) {
            reader_file(r, line);
            reader_found(r, json_path(line, "toolUseResult.matches"));
        }
        return 0;
    }
    reader_assistant(r, m, uuid, json_get_str(line, "requestId"));
    reader_usage(r, line, json_get(line, "message"), e);
    return 0;
}

/* ---- Messages for the provider ---- */

static void wire_lost(struct recall *to, const struct block *call)
{
    buf_addf(&to->lost, "\n- %.*s %.*s", STR_ARG(call->name),
             STR_ARG(str_clip(call->input, RECALL_MAX_LOST)));
}

static bool is_blank(const struct message *m)
{
    for (size_t i = 0; i < m->len; i++) {
        const struct block *b = &m->blocks[i];

        if (b->kind == BLOCK_TOOL_USE || b->kind == BLOCK_OTHER ||
            (b->kind == BLOCK_TEXT && str_trim(b->text).len))
            return false;
    }
    return true;
}

/* The model's message without calls that have no result. NULL if nothing remains. */
static struct message *wire_assistant(struct reader *r, const struct message *from,
                                      bool keeps_calls, struct map *seen)
{
    struct message *m = message_new(ROLE_ASSISTANT, from->len ? from->len : 1);

    m->id = arena_str(&m->arena, from->id);
    m->model = arena_str(&m->arena, from->model);
    for (size_t i = 0; i < from->len; i++) {
        const struct block *b = &from->blocks[i];

        if (b->kind == BLOCK_TOOL_USE) {
            if (map_has(seen, b->id))
                continue;
            if (!map_has(&r->results, b->id) && !keeps_calls) {
                wire_lost(r->to, b);
                continue;
            }
            map_set(seen, b->id, r);
            reader_todos(r, b);
        }
        message_add(m, b);
    }
    if (!is_blank(m))
        return m;
    message_unref(m);
    return NULL;
}

static struct message *wire_last(struct recall *to)
{
    return to->messages.len ? to->messages.ptr[to->messages.len - 1] : NULL;
}

/* The user message to append to: the last one, or a new one. */
static struct message *wire_user(struct recall *to)
{
    struct message *last = wire_last(to);

    if (!last || last->role != ROLE_USER) {
        last = message_new(ROLE_USER, 2);
        vec_push(&to->messages, last);
    }
    return last;
}

static void wire_results(struct reader *r, const struct message *calls)
{
    struct block started = {.kind = BLOCK_TEXT, .text = STR(AGENT_TALK_RESULT)};

    for (size_t i = 0; i < calls->len; i++) {
        const struct message *m;
        struct block result;

        if (calls->blocks[i].kind != BLOCK_TOOL_USE)
            continue;
        m = map_get(&r->results, calls->blocks[i].id);
        result = m ? m->blocks[0]
                   : (struct block){.kind = BLOCK_TOOL_RESULT,
                                    .id = calls->blocks[i].id,
                                    .content = &started,
                                    .content_len = 1};
        result.name = calls->blocks[i].name;
        message_add(wire_user(r->to), &result);
    }
}

/* Inserts user text between two answers or before the first one. */
static void wire_gap(struct recall *to, struct str text)
{
    struct block b = {.kind = BLOCK_TEXT, .text = text};

    message_add(wire_user(to), &b);
}

/* The last answer, unchanged, if its only call was deferred. */
static struct message *wire_deferred(const struct reader *r, size_t i)
{
    const struct message *part = r->parts.ptr[i].message;
    struct message *m;

    if (!r->is_deferred || i + 1 < r->parts.len || message_count(part, BLOCK_TOOL_USE) != 1)
        return NULL;
    for (size_t b = 0; b < part->len; b++) {
        if (part->blocks[b].kind == BLOCK_TOOL_USE && map_has(&r->results, part->blocks[b].id))
            return NULL;
    }
    m = message_new(ROLE_ASSISTANT, part->len);
    m->id = arena_str(&m->arena, part->id);
    m->model = arena_str(&m->arena, part->model);
    for (size_t b = 0; b < part->len; b++)
        message_add(m, &part->blocks[b]);
    return m;
}

static void recall_wire(struct reader *r)
{
    CLEANUP(map_release) struct map seen = MAP_INIT;
    struct recall *to = r->to;
    size_t tokens_at = 0;

    for (size_t i = 0; i < r->parts.len; i++) {
        const struct message *part = r->parts.ptr[i].message;
        bool keeps_calls = r->forks && i + 1 == r->parts.len;
        struct message *said;

        if (part->role == ROLE_USER) {
            for (size_t b = 0; b < part->len; b++)
                message_add(wire_user(to), &part->blocks[b]);
        } else {
            buf_clear(&to->lost); /* only those at the very end are reported */
            to->deferred = keeps_calls ? NULL : wire_deferred(r, i);
            said = to->deferred ? to->deferred : wire_assistant(r, part, keeps_calls, &seen);
            if (said && !wire_last(to))
                wire_gap(to, STR("<system-reminder>\nThe conversation began before this.\n"
                                 "</system-reminder>"));
            if (said && wire_last(to)->role == ROLE_ASSISTANT)
                wire_gap(to, STR("<system-reminder>\nContinue.\n</system-reminder>"));
            if (said && !to->deferred) {
                vec_push(&to->messages, said);
                wire_results(r, said);
            }
        }
        if (i + 1 == to->tokens_at)
            tokens_at = to->messages.len;
    }
    to->tokens_at = tokens_at;
}

/* ---- How the last turn ended ---- */

/* True if the last entries only record that a message was delivered to the user: nothing is open.
 */
static bool is_delivered(const struct recall *to)
{
    static const char *const names[] = {"Brief", "SendUserMessage", "SendUserFile"};
    const struct message *last = to->messages.len ? to->messages.ptr[to->messages.len - 1] : NULL;

    for (size_t i = 0; last && i < last->len; i++) {
        bool is_one = false;

        for (size_t n = 0; n < ARRAY_LEN(names); n++)
            is_one |= str_is(last->blocks[i].name, names[n]);
        if (last->blocks[i].kind != BLOCK_TOOL_RESULT || !is_one || last->blocks[i].is_error)
            return false;
    }
    return last && last->len;
}

/* Whether any part of the last answer, to which this line belongs, is in the conversation. */
static bool is_answered(const struct recall *to, struct str uuid)
{
    for (size_t i = to->messages.len; i-- > 0 && i + 2 >= to->messages.len;) {
        const struct message *m = to->messages.ptr[i];

        for (size_t b = 0; m->role == ROLE_ASSISTANT && b < m->len; b++) {
            if (str_eq(m->blocks[b].entry, uuid))
                return true;
        }
    }
    return false;
}

/* What a line says about the state of the turn; false if nothing. */
static bool line_state(const struct recall *to, const struct load_entry *e, const struct json *line,
                       enum recall_state *ret)
{
    struct str text = json_str(json_path(line, "message.content"));

    if (e->kind == ENTRY_ASSISTANT) {
        *ret = RECALL_COMPLETE;
        return is_answered(to, json_get_str(line, "uuid"));
    }
    if (e->kind == ENTRY_ATTACHMENT) {
        const struct json *attachment = json_get(line, "attachment");
        struct str type = json_get_str(attachment, "type");

        *ret = RECALL_INTERRUPTED_TURN;
        return !str_is(type, "goal_status") && !extra_is_news(type) &&
               hook_line_is_context(attachment);
    }
    if (e->flags & LOAD_TOOL_RESULT) {
        *ret = is_delivered(to) ? RECALL_COMPLETE : RECALL_INTERRUPTED_TURN;
        return true;
    }
    if (e->flags & LOAD_META) {
        *ret = str_is(text, RECALL_GO_ON) ? RECALL_INTERRUPTED_TURN : RECALL_COMPLETE;
        return true;
    }
    *ret = str_starts(text, STR("[Request interrupted by user")) ? RECALL_COMPLETE
                                                                 : RECALL_INTERRUPTED_PROMPT;
    return json_get_bool(line, "shouldQuery", true); /* otherwise it belongs to a later turn */
}

/* Finds the last line that says something about the turn. */
static int recall_find_state(struct reader *r, struct err *err)
{
    struct recall *to = r->to;

    bool is_open = to->lost.len || to->deferred; /* it ended while calls ran, or before */

    to->state = is_open ? RECALL_INTERRUPTED_TURN : RECALL_COMPLETE;
    if (is_open)
        return 0;
    for (size_t i = load_count(r->load); i-- > 0;) {
        const struct load_entry *e = load_at(r->load, i);
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        enum recall_state state;
        const struct json *line;

        if (e->kind == ENTRY_SYSTEM || e->kind == ENTRY_PROGRESS || e->flags & LOAD_API_ERROR)
            continue;
        if (e->flags & LOAD_SUMMARY)
            return 0;
        if (reader_parse(r, e->offset, e->len, &arena, &line, err) < 0)
            return -1;
        if (line_state(to, e, line, &state)) {
            to->state = state;
            return 0;
        }
    }
    return 0;
}

static int read_all(struct reader *r, struct cancel *cancel, struct err *err)
{
    struct load *load = r->load;

    if (reader_replacements(r, err) < 0 || reader_cost(r, err) < 0)
        return -1;
    for (size_t i = 0; i < load_count(load); i++) {
        if (i % 1024 == 0 && cancel_is_set(cancel))
            return err_set(err, ERR_CANCELLED, "interrupted");
        if (reader_line(r, load_at(load, i), err) < 0)
            return -1;
    }
    if (reader_queue(r, err) < 0)
        return -1;
    recall_wire(r);
    return recall_find_state(r, err);
}

int recall_read(struct load *load, struct cancel *cancel, struct recall *ret, struct err *err)
{
    CLEANUP(reader_release) struct reader r = {.load = load, .to = ret};

    return read_all(&r, cancel, err);
}

int recall_read_fork(struct load *load, struct cancel *cancel, struct recall *ret, struct err *err)
{
    CLEANUP(reader_release) struct reader r = {.load = load, .to = ret, .forks = true};

    return read_all(&r, cancel, err);
}
