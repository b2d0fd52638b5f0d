/*
 * Gemini requests.
 *
 * Each message keeps the JSON of its parts. Adjacent messages of one role share a content, because
 * the results of parallel calls must be in one. Runs on the thread of the agent that makes the
 * request.
 */
#include "llm/dialect/gemini.h"

#include "base/buf.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/dialect/dialect.h"
#include "llm/dialect/wire.h"
#include "llm/message.h"
#include "llm/model.h"

/* Accepted by Google instead of a signature for calls that other models made. */
#define NO_SIGNATURE "skip_thought_signature_validator"

/* Thinking budgets of 2.5 models for effort levels. */
static const int64_t effort_budgets[] = {
    [EFFORT_MINIMAL] = 512, [EFFORT_LOW] = 2048,    [EFFORT_MEDIUM] = 8192,
    [EFFORT_HIGH] = 24576,  [EFFORT_XHIGH] = 24576, [EFFORT_MAX] = 24576,
};

int gemini_generation(struct str model)
{
    if (str_starts(model, STR("models/")))
        model = str_from(model, 7);
    if (!str_starts(model, STR("gemini-")))
        return 0;
    model = str_from(model, 7);
    if (!model.len || model.ptr[0] < '0' || model.ptr[0] > '9')
        return 3;
    return model.len > 1 && model.ptr[1] >= '0' && model.ptr[1] <= '9' ? 10 : model.ptr[0] - '0';
}

static void write_text(struct jw *w, struct str text)
{
    jw_object(w);
    jw_kstr(w, "text", text);
    jw_object_end(w);
}

/* A text, image or document of a user or a tool. */
static void write_input(struct wire_writer *c, const struct block *b)
{
    struct jw *w = c->w;

    if (b->text.len) {
        write_text(w, b->text);
    } else if (b->kind != BLOCK_IMAGE && b->kind != BLOCK_DOCUMENT) {
        return;
    } else if (!wire_takes(c->req, b)) {
        CLEANUP(buf_release) struct buf note = BUF_INIT(BUF_NO_LIMIT);

        wire_left_out(c->req, b, &note);
        write_text(w, buf_str(&note));
    } else {
        struct str type = b->media_type;

        if (!type.len)
            type = b->kind == BLOCK_IMAGE ? STR("image/png") : STR("application/pdf");
        jw_object(w);
        jw_key(w, b->data.len ? "inlineData" : "fileData");
        jw_object(w);
        jw_kstr(w, "mimeType", type);
        jw_kstr(w, b->data.len ? "data" : "fileUri", b->data.len ? b->data : b->url);
        jw_object_end(w);
        jw_object_end(w);
    }
}

static void write_result(struct wire_writer *c, size_t at, const struct block *b)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const struct block *call = wire_call(c->req, at, b->id);
    struct str id = wire_vendor_id(c->req, call, &c->arena);
    struct jw *w = c->w;

    wire_result_text(b, &text);
    jw_object(w);
    jw_key(w, "functionResponse");
    jw_object(w);
    if (id.len) /* older models have no ids and match by name and order */
        jw_kstr(w, "id", id);
    jw_key(w, "name");
    wire_name(w, call ? call->name : b->name);
    jw_key(w, "response");
    jw_object(w);
    jw_kstr(w, b->is_error ? "error" : "output", buf_str(&text));
    jw_object_end(w);
    jw_object_end(w);
    jw_object_end(w);
}

/* Results first, then their images, then the user's blocks. */
static void write_user(struct wire_writer *c, size_t at)
{
    const struct message *m = c->req->messages[at];

    for (size_t i = 0; i < m->len; i++)
        if (m->blocks[i].kind == BLOCK_TOOL_RESULT)
            write_result(c, at, &m->blocks[i]);
    for (size_t i = 0; i < m->len; i++) {
        const struct block *b = &m->blocks[i];

        for (size_t k = 0; b->kind == BLOCK_TOOL_RESULT && k < b->content_len; k++)
            if (!b->content[k].text.len)
                write_input(c, &b->content[k]);
    }
    for (size_t i = 0; i < m->len; i++)
        if (m->blocks[i].kind != BLOCK_TOOL_RESULT)
            write_input(c, &m->blocks[i]);
}

static void write_call(struct wire_writer *c, const struct block *b, const struct json *data,
                       struct str signature)
{
    CLEANUP(buf_release) struct buf input = BUF_INIT(BUF_NO_LIMIT);
    struct str id = json_get_str(data, "id");
    struct jw *w = c->w;

    block_input(b, &input);
    jw_object(w);
    jw_key(w, "functionCall");
    jw_object(w);
    if (id.len)
        jw_kstr(w, "id", id);
    jw_key(w, "name");
    wire_name(w, b->name);
    jw_kraw(w, "args", buf_str(&input));
    jw_object_end(w);
    if (signature.len)
        jw_kstr(w, "thoughtSignature", signature);
    jw_object_end(w);
}

/* A thought without a signature is useless to the model, and another provider's was dropped. */
static void write_said(struct wire_writer *c, const struct block *b, struct str signature)
{
    bool thought = b->kind == BLOCK_THINKING;
    struct jw *w = c->w;

    if (thought ? !signature.len : !b->text.len)
        return;
    jw_object(w);
    jw_kstr(w, "text", b->text);
    if (thought)
        jw_kbool(w, "thought", true);
    if (signature.len)
        jw_kstr(w, "thoughtSignature", signature);
    jw_object_end(w);
}

/* A part of an unknown kind, unchanged. */
static void write_kept(struct wire_writer *c, const struct block *b)
{
    const struct json *v = NULL;

    if (json_parse(&c->arena, b->raw, &v, /*ret_info=*/NULL, /*err=*/NULL) == 0 &&
        json_is(json_get(v, "part"), JSON_OBJECT))
        jw_json(c->w, json_get(v, "part"));
}

static void write_assistant(struct wire_writer *c, const struct message *m)
{
    bool must_sign = gemini_generation(c->req->model->name) >= 3;
    bool first_call = true;

    for (size_t i = 0; i < m->len; i++) {
        const struct block *b = &m->blocks[i];
        const struct json *data = block_data(b, c->req->model, &c->arena);
        struct str signature = json_get_str(data, "thoughtSignature");
        struct str trailing = json_get_str(data, "trailingSignature");

        if (b->kind == BLOCK_TOOL_USE) {
            if (first_call && must_sign && !signature.len)
                signature = STR(NO_SIGNATURE);
            first_call = false;
            write_call(c, b, data, signature);
        } else if (b->kind == BLOCK_TEXT || b->kind == BLOCK_THINKING) {
            write_said(c, b, signature);
        } else if (b->kind == BLOCK_OTHER && data) {
            write_kept(c, b);
        }
        if (trailing.len) {
            jw_object(c->w);
            jw_kcstr(c->w, "text", "");
            jw_kstr(c->w, "thoughtSignature", trailing);
            jw_object_end(c->w);
        }
    }
}

static void write_message(struct wire_writer *c, size_t at)
{
    const struct message *m = c->req->messages[at];

    if (m->role == ROLE_USER)
        write_user(c, at);
    else
        write_assistant(c, m);
}

static void begin_content(struct jw *w, enum role role)
{
    jw_object(w);
    jw_kcstr(w, "role", role == ROLE_USER ? "user" : "model");
    jw_key(w, "parts");
    jw_array(w);
}

static void end_content(struct jw *w)
{
    jw_array_end(w);
    jw_object_end(w);
}

static void write_contents(const struct llm_request *req, struct jw *w)
{
    CLEANUP(buf_release) struct buf key = BUF_INIT(BUF_NO_LIMIT);
    enum role role = ROLE_USER;
    bool open = false;

    wire_key(req, "gemini", &key);
    jw_array(w);
    for (size_t i = 0; i < req->message_count; i++) {
        struct str parts = wire_list(req, i, buf_str(&key), write_message);

        if (!parts.len)
            continue;
        if (open && req->messages[i]->role != role) {
            end_content(w);
            open = false;
        } else if (!open && req->messages[i]->role == ROLE_ASSISTANT) {
            begin_content(w, ROLE_USER); /* a history must begin with the user */
            write_text(w, STR("Continue."));
            end_content(w);
        }
        role = req->messages[i]->role;
        if (!open)
            begin_content(w, role);
        open = true;
        jw_raw(w, parts);
    }
    if (open && req->tail.len && role == ROLE_ASSISTANT) {
        end_content(w);
        open = false;
    }
    if (req->tail.len) {
        if (!open)
            begin_content(w, ROLE_USER);
        open = true;
        write_text(w, req->tail);
    }
    if (open)
        end_content(w);
    jw_array_end(w);
}

static void write_tools(const struct llm_request *req, struct jw *w)
{
    static const char *const modes[] = {
        [CHOICE_AUTO] = "AUTO",
        [CHOICE_NONE] = "NONE",
        [CHOICE_ANY] = "ANY",
        [CHOICE_NAMED] = "ANY",
    };

    jw_key(w, "tools");
    jw_array(w);
    if (req->search) {
        jw_object(w);
        jw_kraw(w, "googleSearch", STR("{}"));
        jw_object_end(w);
    }
    if (!req->tool_count) {
        jw_array_end(w);
        return;
    }
    jw_object(w);
    jw_key(w, "functionDeclarations");
    jw_array(w);
    for (size_t i = 0; i < req->tool_count; i++) {
        jw_object(w);
        jw_kstr(w, "name", req->tools[i].name);
        jw_key(w, "description");
        wire_description(w, &req->tools[i]);
        jw_key(w, "parametersJsonSchema");
        wire_tool_schema(w, &req->tools[i]);
        jw_object_end(w);
    }
    jw_array_end(w);
    jw_object_end(w);
    jw_array_end(w);

    jw_key(w, "toolConfig");
    jw_object(w);
    jw_key(w, "functionCallingConfig");
    jw_object(w);
    jw_kcstr(w, "mode", modes[req->choice]);
    if (req->choice == CHOICE_NAMED) {
        jw_key(w, "allowedFunctionNames");
        jw_array(w);
        jw_str(w, req->choice_name);
        jw_array_end(w);
    }
    jw_object_end(w);
    jw_object_end(w);
}

/* The Gemini 3 level nearest to the requested one; NULL = the model's default. */
static const char *thinking_level(const struct llm_request *req)
{
    enum effort want = req->thinking == THINKING_OFF ? EFFORT_MINIMAL : req->effort;
    enum effort effort = req->model->efforts ? effort_fit(req->model->efforts, want) : want;

    if (req->thinking == THINKING_BUDGET && want == EFFORT_UNSET)
        effort = req->thinking_budget <= 2048   ? EFFORT_LOW
                 : req->thinking_budget <= 8192 ? EFFORT_MEDIUM
                                                : EFFORT_HIGH;
    switch (effort) {
    case EFFORT_UNSET:
        return NULL;
    case EFFORT_NONE:
    case EFFORT_MINIMAL:
        return "MINIMAL";
    case EFFORT_LOW:
        return "LOW";
    case EFFORT_MEDIUM:
        return "MEDIUM";
    default:
        return "HIGH";
    }
}

/* A budget outside the model's range is rejected with status 400. */
static int64_t budget_in_range(struct str model, int64_t budget)
{
    bool pro = str_has(model, STR("-pro"));
    int64_t least = pro ? 128 : str_has(model, STR("flash-lite")) ? 512 : 1;
    int64_t most = pro ? 32768 : 24576;

    return budget < least ? least : budget > most ? most : budget;
}

static bool is_thinking_off(const struct llm_request *req)
{
    return req->thinking == THINKING_OFF || req->effort == EFFORT_NONE;
}

/* The Gemini 2.5 budget; false = the model's default. */
static bool thinking_budget(const struct llm_request *req, int64_t *ret)
{
    if (is_thinking_off(req)) {
        /* The pro models always think and reject 0; this is their minimum. */
        *ret = str_has(req->model->name, STR("-pro")) ? 128 : 0;
    } else if (req->thinking == THINKING_BUDGET) {
        *ret = budget_in_range(req->model->name, req->thinking_budget);
    } else if (req->effort != EFFORT_UNSET) {
        *ret = budget_in_range(req->model->name, effort_budgets[req->effort]);
    } else {
        return false;
    }
    return true;
}

static void write_thinking(const struct llm_request *req, struct jw *w)
{
    int generation = gemini_generation(req->model->name);
    const char *level = thinking_level(req);
    int64_t budget = -1;

    if (req->model->thinking == MODEL_THINKS_NOT && (req->model->known || !generation))
        return;
    jw_key(w, "thinkingConfig");
    jw_object(w);
    if (generation >= 3 && level)
        jw_kcstr(w, "thinkingLevel", level);
    else if (generation < 3 && thinking_budget(req, &budget))
        jw_ki64(w, "thinkingBudget", budget);
    /* Without thinking there are no summaries, and requesting them is an error. */
    jw_kbool(w, "includeThoughts", req->show_thinking && budget != 0);
    jw_object_end(w);
}

int gemini_body(const struct llm_request *req, struct buf *out, struct err *err)
{
    int64_t max_tokens = wire_max_tokens(req);
    size_t start = out->len;
    struct jw w;

    (void)buf_room(out, wire_head_room(req));
    jw_init(&w, out, JW_CLEAN);
    jw_object(&w);
    if (req->system.len) {
        jw_key(&w, "systemInstruction");
        jw_object(&w);
        jw_key(&w, "parts");
        jw_array(&w);
        jw_object(&w);
        jw_key(&w, "text");
        wire_system(&w, req);
        jw_object_end(&w);
        jw_array_end(&w);
        jw_object_end(&w);
    }
    if (req->tool_count || req->search)
        write_tools(req, &w);
    jw_key(&w, "generationConfig");
    jw_object(&w);
    if (max_tokens)
        jw_ki64(&w, "maxOutputTokens", max_tokens);
    if (req->output_schema.len) {
        jw_kcstr(&w, "responseMimeType", "application/json");
        jw_key(&w, "responseJsonSchema");
        wire_schema(&w, req->output_schema);
    }
    write_thinking(req, &w);
    jw_object_end(&w);
    jw_key(&w, "contents");
    write_contents(req, &w);
    jw_object_end(&w);
    return wire_check(out, start, err);
}
