/*
 * Gemini generateContent. Calls arrive whole, in one part; the first of an answer carries a thought
 * signature. Models named gemini-3… give calls an id and insist on their signatures; older ones do
 * neither.
 */
#include "speak.h"

#include "base/arena.h"
#include "base/err.h"
#include "http.h"
#include "json/json.h"

static const struct error_name error_names[] = {
    {400, "INVALID_ARGUMENT"}, {401, "UNAUTHENTICATED"},    {403, "PERMISSION_DENIED"},
    {404, "NOT_FOUND"},        {429, "RESOURCE_EXHAUSTED"}, {500, "INTERNAL"},
    {503, "UNAVAILABLE"},      {504, "DEADLINE_EXCEEDED"},  {0, "UNKNOWN"},
};

static bool takes(struct str path)
{
    return str_ends(path, STR(":streamGenerateContent")) ||
           str_ends(path, STR(":generateContent")) || str_ends(path, STR(":countTokens"));
}

static bool is_strict(const struct ask *ask)
{
    return str_has(ask->model, STR("gemini-3"));
}

/* ---- reading ---- */

struct reader {
    struct ask *ask;
    struct err *err;
    size_t calls; /* of the model content before, not yet answered */
};

static int read_model_parts(struct reader *r, const struct json *content)
{
    size_t calls = 0;

    if (r->calls)
        return ask_refuse(r->err, "Please ensure that function call turn comes immediately after a "
                                  "user turn or after a function response turn.");
    JSON_EACH(json_get(content, "parts"), part) {
        const struct json *call = json_get(part, "functionCall");
        struct str signature = json_get_str(part, "thoughtSignature");

        if (json_is(json_get(part, "text"), JSON_STRING) && !json_get_bool(part, "thought", false))
            viewer_said(&r->ask->viewer, json_get_str(part, "text"));
        if (signature.len && !opaque_is_ours("gemini", signature) &&
            !str_is(signature, "skip_thought_signature_validator"))
            return ask_refuse(r->err, "Invalid thought signature");
        if (!call)
            continue;
        if (!calls && is_strict(r->ask) && !signature.len)
            return ask_refuse(r->err,
                              "Function call is missing a thought_signature in functionCall "
                              "parts. This is required for tools to work correctly.");
        calls++;
        viewer_called(&r->ask->viewer);
    }
    r->calls = calls;
    return 0;
}

static int read_user_parts(struct reader *r, const struct json *content)
{
    struct scenario_viewer *v = &r->ask->viewer;
    size_t results = 0;

    JSON_EACH(json_get(content, "parts"), part) {
        const struct json *response = json_path(part, "functionResponse.response");

        if (json_is(json_get(part, "text"), JSON_STRING))
            viewer_user(v, json_get_str(part, "text"));
        if (!json_get(part, "functionResponse"))
            continue;
        if (!json_is(response, JSON_OBJECT))
            return ask_refuse(r->err, "functionResponse.response must be an object");
        results++;
        if (json_is(json_get(response, "error"), JSON_STRING))
            viewer_result(v, json_get_str(response, "error"));
        else if (json_is(json_get(response, "output"), JSON_STRING))
            viewer_result(v, json_get_str(response, "output"));
        else
            viewer_result(v, json_raw(response));
    }
    if (results != r->calls)
        return ask_refuse(r->err,
                          "Please ensure that the number of function response parts is equal "
                          "to the number of function call parts of the function call turn.");
    r->calls = 0;
    return 0;
}

static int read_contents(struct reader *r)
{
    const struct json *contents = json_get(r->ask->body, "contents");
    bool first = true;

    if (!json_len(contents))
        return ask_refuse(r->err, "* GenerateContentRequest.contents: contents is not specified");
    each_text(json_path(r->ask->body, "systemInstruction.parts"), &r->ask->viewer, viewer_system);
    JSON_EACH(contents, content) {
        struct str role = json_get_str(content, "role");
        bool user = str_is(role, "user");

        if (!user && !str_is(role, "model"))
            return ask_refuse(r->err, "Please use a valid role: user, model.");
        if (first && !user)
            return ask_refuse(r->err, "contents must start with the user role");
        if (!json_len(json_get(content, "parts")))
            return ask_refuse(r->err,
                              "* GenerateContentRequest.contents: contents.parts must not be "
                              "empty.");
        if ((user ? read_user_parts(r, content) : read_model_parts(r, content)) < 0)
            return -1;
        first = false;
    }
    if (r->calls)
        return ask_refuse(r->err, "the last function calls have no responses");
    return 0;
}

static int read_ask(struct ask *ask, struct err *err)
{
    struct reader r = {.ask = ask, .err = err};
    size_t models = str_find(ask->path, STR("/models/"));
    struct str name = str_from(ask->path, models + 8);

    ask->model = str_first(name, str_chr(name, ':'));
    ask->stream = str_ends(ask->path, STR(":streamGenerateContent"));
    ask->whole_array = ask->stream && !str_has(ask->http->query, STR("alt=sse"));
    if (!ask->model.len)
        return ask_refuse(err, "no model in the path");
    if (str_ends(ask->path, STR(":countTokens")) && json_get(ask->body, "generateContentRequest")) {
        ask->body = json_get(ask->body, "generateContentRequest");
    }
    return read_contents(&r);
}

/* ---- telling ---- */

static void put_usage(const struct answer *a, bool final, struct jw *w)
{
    const struct llm_usage *u = &a->usage;
    int64_t said = final ? u->output - u->thinking : 0;
    int64_t thought = final ? u->thinking : 0;

    if (!u->known)
        return;
    jw_key(w, "usageMetadata");
    jw_object(w);
    jw_ki64(w, "promptTokenCount", usage_prompt(u));
    if (u->cache_read)
        jw_ki64(w, "cachedContentTokenCount", u->cache_read);
    if (final)
        jw_ki64(w, "candidatesTokenCount", said);
    if (thought)
        jw_ki64(w, "thoughtsTokenCount", thought);
    jw_ki64(w, "totalTokenCount", usage_prompt(u) + said + thought);
    jw_object_end(w);
}

static const char *finish_reason(const struct answer *a, bool malformed)
{
    if (malformed)
        return "MALFORMED_FUNCTION_CALL";
    switch (a->stop) {
    case STOP_MAX_TOKENS:
    case STOP_CONTEXT_FULL:
        return "MAX_TOKENS";
    case STOP_REFUSAL:
        return "SAFETY";
    default:
        return "STOP";
    }
}

static bool is_object(struct str text)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v;

    return json_parse(&arena, text, &v, NULL, NULL) == 0 && json_is(v, JSON_OBJECT);
}

/* What a speaker must remember over the blocks of one answer. */
struct memory {
    bool malformed; /* a call whose arguments are not an object cannot be expressed here */
    bool signed_call;
    bool thought;
    bool later; /* an element of the array came before */
};

static void put_signature(const char *key, struct str of, struct jw *w)
{
    CLEANUP(buf_release) struct buf signature = BUF_INIT(200);

    opaque_make("gemini", of, &signature);
    jw_kstr(w, key, buf_str(&signature));
}

static void put_call(const struct answer *a, const struct passage *p, struct memory *m,
                     struct jw *w)
{
    struct str args = p->text.len ? buf_str(&p->text) : STR("{}");

    jw_object(w);
    jw_key(w, "functionCall");
    jw_object(w);
    if (is_strict(a->ask))
        jw_kid(w, "id", "fc-", p->serial, p->index);
    jw_kstr(w, "name", p->name);
    jw_kraw(w, "args", args);
    jw_object_end(w);
    if (!m->signed_call)
        put_signature("thoughtSignature", p->name, w);
    m->signed_call = true;
    jw_object_end(w);
}

static void put_text(struct str text, bool thought, struct jw *w)
{
    jw_object(w);
    jw_kstr(w, "text", text);
    if (thought)
        jw_kbool(w, "thought", true);
    jw_object_end(w);
}

/* A response up to and with the beginning of its parts. */
static void begin(struct tell *t, struct jw *w)
{
    struct memory *m = t->state;

    if (t->answer->ask->whole_array) {
        buf_adds(&t->tape->bytes, m->later ? ",\r\n" : "[");
        jw_init(w, &t->tape->bytes, 0);
    } else {
        tape_event(t->tape, NULL, w);
    }
    m->later = true;
    jw_object(w);
}

static void begin_parts(struct jw *w)
{
    jw_key(w, "candidates");
    jw_array(w);
    jw_object(w);
    jw_key(w, "content");
    jw_object(w);
    jw_key(w, "parts");
    jw_array(w);
}

static void end_parts(const char *finish, struct jw *w)
{
    jw_array_end(w);
    jw_kcstr(w, "role", "model");
    jw_object_end(w);
    if (finish)
        jw_kcstr(w, "finishReason", finish);
    jw_ki64(w, "index", 0);
    jw_object_end(w);
    jw_array_end(w);
}

static void end(struct tell *t, struct jw *w)
{
    jw_object_end(w);
    /* The vendor ends lines of this stream with CR LF. */
    if (!t->answer->ask->whole_array)
        buf_adds(&t->tape->bytes, "\r\n\r\n");
}

static void end_response(struct tell *t, const char *finish, struct jw *w)
{
    end_parts(finish, w);
    put_usage(t->answer, finish != NULL, w);
    jw_kstr(w, "modelVersion", t->answer->ask->model);
    jw_kcstr(w, "responseId", t->answer->id);
    end(t, w);
}

static void tell_open(struct tell *t)
{
    struct memory *m = t->state;

    m->thought = m->thought || t->now.kind == PART_THINKING;
}

static void tell_piece(struct tell *t, struct str piece)
{
    struct jw w;

    if (t->now.kind == PART_CALL)
        return;
    begin(t, &w);
    begin_parts(&w);
    put_text(piece, t->now.kind == PART_THINKING, &w);
    end_response(t, NULL, &w);
}

static void tell_close(struct tell *t)
{
    struct memory *m = t->state;
    struct jw w;

    if (t->now.kind != PART_CALL)
        return;
    if (t->now.text.len && !is_object(buf_str(&t->now.text))) {
        m->malformed = true;
        return;
    }
    begin(t, &w);
    begin_parts(&w);
    put_call(t->answer, &t->now, m, &w);
    end_response(t, NULL, &w);
}

static const struct teller teller = {tell_open, tell_piece, tell_close};

static void error(int status, struct str type, struct str text, struct str request_id, struct jw *w)
{
    (void)request_id;
    jw_object(w);
    jw_key(w, "error");
    jw_object(w);
    jw_ki64(w, "code", status);
    jw_kstr(w, "message", text);
    jw_kstr(w, "status", error_type(error_names, status, type));
    jw_object_end(w);
    jw_object_end(w);
}

static void stream(const struct answer *a, struct tape *tape)
{
    struct memory memory = {0};
    struct tell t = {.answer = a, .tape = tape, .state = &memory};
    bool complete = tell(&t, &teller);
    struct jw w;

    begin(&t, &w);
    if (complete) {
        begin_parts(&w);
        jw_object(&w);
        jw_kcstr(&w, "text", "");
        if (memory.thought && !memory.signed_call)
            put_signature("thoughtSignature", STR("text"), &w);
        jw_object_end(&w);
        end_response(&t, finish_reason(a, memory.malformed), &w);
    } else {
        bool limit = str_is(a->error->type, "rate_limit_error"); /* here it has another name */
        int code = limit ? 429 : 503;

        jw_key(&w, "error");
        jw_object(&w);
        jw_ki64(&w, "code", code);
        jw_kstr(&w, "message", a->error->text);
        jw_kstr(&w, "status", error_type(error_names, code, limit ? STR("") : a->error->type));
        jw_object_end(&w);
        end(&t, &w);
    }
    if (a->ask->whole_array)
        buf_adds(&tape->bytes, "]\n");
}

static void whole(const struct answer *a, struct jw *w)
{
    CLEANUP(passages_release) passages list = VEC_INIT;
    struct memory m = {0};

    if (str_ends(a->ask->path, STR(":countTokens"))) {
        jw_object(w);
        jw_ki64(w, "totalTokens", usage_prompt(&a->usage));
        jw_object_end(w);
        return;
    }
    passages_make(a, &list);
    jw_object(w);
    begin_parts(w);
    VEC_EACH(&list, it) {
        if (it->kind != PART_CALL)
            put_text(buf_str(&it->text), it->kind == PART_THINKING, w);
        else if (!it->text.len || is_object(buf_str(&it->text)))
            put_call(a, it, &m, w);
        else
            m.malformed = true;
    }
    end_parts(finish_reason(a, m.malformed), w);
    put_usage(a, true, w);
    jw_kstr(w, "modelVersion", a->ask->model);
    jw_kcstr(w, "responseId", a->id);
    jw_object_end(w);
}

static void models(struct jw *w)
{
    jw_raw(w, STR("{\"models\":[{\"name\":\"models/fake-1\",\"displayName\":\"Fake 1\","
                  "\"inputTokenLimit\":1000000,\"outputTokenLimit\":65536,"
                  "\"supportedGenerationMethods\":[\"generateContent\",\"countTokens\"]}]}"));
}

const struct speaker speak_gemini = {
    .name = "gemini",
    .id_prefix = "r",
    .request_header = "x-request-id",
    .takes = takes,
    .read = read_ask,
    .stream = stream,
    .whole = whole,
    .error = error,
    .models = models,
};
