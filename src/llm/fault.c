/*
 * Interprets failed answers, as far as all servers agree.
 *
 * Status codes are unspecific (a full context is 400, 413, 422 or 500, depending on the server), so
 * the text counts too: one list has the phrases of all known servers. Only the error's message,
 * type and code are examined, never the whole body: some servers echo the request in it, and a
 * conversation about context limits must not look like an error about them. Pure; any thread.
 */
#include "llm/fault.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "json/json.h"
#include "net/retry.h"

/* `also`, if set, must be in the text too. */
struct phrase {
    const char *text;
    const char *also;
};

static const struct phrase context_phrases[] = {
    {"context_length_exceeded", NULL},                      /* OpenAI, code */
    {"maximum context length", NULL},                       /* OpenAI, DeepSeek, vLLM, OpenRouter */
    {"exceeds the context window", NULL},                   /* OpenAI Responses */
    {"longer than the model's context length", NULL},       /* SGLang */
    {"exceed_context_size_error", NULL},                    /* llama.cpp, type */
    {"exceeds the available context size", NULL},           /* llama.cpp, Ollama */
    {"greater than the context length", NULL},              /* LM Studio */
    {"maximum prompt length is", NULL},                     /* xAI */
    {"reduce the length of the messages", NULL},            /* Groq */
    {"prompt token count of", "exceeds the limit of"},      /* Copilot */
    {"context window exceeds limit", NULL},                 /* MiniMax */
    {"exceeded model token limit", NULL},                   /* Kimi */
    {"input is too long for requested model", NULL},        /* Bedrock */
    {"input token count", "exceeds the maximum number of"}, /* Gemini */
    {"prompt is too long", NULL},                           /* Anthropic */
    {"input length and", "exceed context limit"},           /* Anthropic, older models */
    {"model_context_window_exceeded", NULL},                /* GLM */
    {"prompt exceeds max length", NULL},                    /* z.ai */
    {"range of input length should be", NULL},              /* Qwen */
    {"input length", "exceeds the maximum"},                /* SGLang, Volcano */
    {"input token length too long", NULL},                  /* Kimi */
    {"`inputs` tokens + `max_new_tokens`", NULL}, /* Together, text-generation-inference */
    {"context length exceeded", NULL},
    {"too many tokens", NULL},
    {"token limit exceeded", NULL},
};

static const struct phrase quota_phrases[] = {
    {"insufficient_quota", NULL},
    {"exceeded your current quota", NULL},
    {"credit balance is too low", NULL},
    {"insufficient credits", NULL},
    {"insufficient balance", NULL},
    {"billing_error", NULL},
    {"usage_not_included", NULL},
    {"reached your specified", "usage limits"}, /* Anthropic: a limit the organisation set */
    {"exceeded_current_quota_error", NULL},     /* Kimi, type; comes with 429 and 403 */
    {"usage limit reached", NULL},              /* z.ai: the five-hour limit */
    {"limit exhausted", "will reset at"},       /* z.ai: the weekly or monthly limit */
    {"have reached your", "usage limit"},       /* Ollama's cloud */
    {"used all available credits", NULL},       /* xAI; comes with 429 and 403 */
    {"free-models-per-day", NULL},              /* OpenRouter */
};

static const struct phrase tool_phrases[] = {
    {"does not support tools", NULL},
    {"does not support function calling", NULL},
    {"tool use is not supported", NULL},
    {"tools param requires --jinja", NULL},             /* llama.cpp */
    {"no endpoints found that support tool use", NULL}, /* OpenRouter */
};

/* Images and documents that are too large or unreadable. */
static const struct phrase media_phrases[] = {
    {"image exceeds", "maximum"},            /* Anthropic: 5 MB maximum */
    {"image dimensions exceed", NULL},       /* Anthropic: 8000 pixels */
    {"could not process image", NULL},       /* Anthropic */
    {"maximum of", "pdf pages"},             /* Anthropic */
    {"the pdf specified", NULL},             /* Anthropic: was not valid, is password protected */
    {"could not process pdf", NULL},         /* Anthropic */
    {"image_too_large", NULL},               /* OpenAI, code */
    {"image_file_too_large", NULL},          /* OpenAI, code */
    {"invalid_image", NULL},                 /* OpenAI, codes */
    {"image_parse_error", NULL},             /* OpenAI, code */
    {"not support image", NULL},             /* Ollama, DeepSeek, xAI and others: ... input */
    {"image input is not supported", NULL},  /* llama.cpp */
    {"image_url is only supported", NULL},   /* OpenAI */
    {"support image input", NULL},           /* OpenRouter: no endpoints found that ... */
    {"unable to process input image", NULL}, /* Gemini */
    {"request payload size exceeds", NULL},  /* Gemini */
    {"the document has no pages", NULL},     /* Gemini */
};

static bool has_phrase(struct str text, const struct phrase *list, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (str_find_nocase(text, str_of(list[i].text)) == text.len)
            continue;
        if (!list[i].also || str_find_nocase(text, str_of(list[i].also)) < text.len)
            return true;
    }
    return false;
}

bool fault_is_context_text(struct str text)
{
    return text.len && has_phrase(text, context_phrases, ARRAY_LEN(context_phrases));
}

void fault_text(struct llm_fault *f, struct str text)
{
    size_t n = 0;
    bool space = false;

    text = str_trim(text);
    while (text.len) {
        uint32_t code = 0;
        size_t len = utf8_decode(text, &code);

        if (len && (code <= ' ' || (code >= 0x7f && code < 0xa0))) {
            space = true; /* white space and control characters (C0 and C1) */
        } else {
            size_t room = (space ? 1 : 0) + (len ? len : 1);

            if (n + room >= sizeof(f->text))
                break;
            if (space)
                f->text[n++] = ' ';
            space = false;
            if (len)
                memcpy(f->text + n, text.ptr, len);
            else
                f->text[n] = '?';
            len = len ? len : 1;
            n += len;
        }
        text = str_from(text, len);
    }
    f->text[n] = '\0';
}

const struct json *fault_find(struct str body, struct arena *arena)
{
    const struct json *v = NULL;
    const struct json *error;

    if (json_parse(arena, body, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return NULL;
    if (json_is(v, JSON_ARRAY)) /* Gemini without alt=sse */
        v = json_first(v);
    error = json_get(v, "error");
    if (!error && json_get_i64(json_get(v, "base_resp"), "status_code", 0)) /* MiniMax */
        error = json_get(v, "base_resp");
    if (json_is(error, JSON_OBJECT))
        return error;
    return json_is(v, JSON_OBJECT) ? v : NULL;
}

struct str fault_message(const struct json *error)
{
    static const char *const names[] = {"message", "error", "detail", "msg", "status_msg"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct json *v = json_get(error, names[i]);

        if (json_str(v).len)
            return json_str(v);
        if (json_is(v, JSON_ARRAY)) /* FastAPI: a list of problems */
            return json_get_str(json_first(v), "msg");
    }
    return STR("");
}

int fault_status(const struct json *error)
{
    const struct json *code = json_get(error, "code");
    int64_t n = 0;

    if (!json_i64(code, &n) && str_to_i64(json_str(code), &n, /*err=*/NULL) < 0)
        return 0;
    return n >= 400 && n <= 599 ? (int)n : 0;
}

/* An HTML page usually has the reason in its title. */
static struct str html_title(struct str body)
{
    size_t at = str_find_nocase(body, STR("<title>"));
    struct str rest = str_from(body, at + 7);

    if (at == body.len)
        return STR("");
    return str_trim(str_first(rest, str_find_nocase(rest, STR("</title>"))));
}

static bool looks_like_html(struct str body)
{
    struct str start = str_trim(str_first(body, 512));

    return start.len && start.ptr[0] == '<';
}

static void say_body(struct llm_fault *f, int status, struct str body)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(2000);
    struct str title = html_title(str_first(body, 16384));

    if (looks_like_html(body)) {
        buf_addf(&text, "HTTP %d with an HTML page", status);
        if (title.len)
            buf_addf(&text, ": %.*s", STR_ARG(str_first(title, 200)));
    } else if (str_trim(body).len) {
        buf_addf(&text, "HTTP %d: %.*s", status, STR_ARG(str_clip(str_trim(body), 1000)));
    } else {
        buf_addf(&text, "HTTP %d without an explanation", status);
    }
    fault_text(f, buf_str(&text));
}

static void read_status(struct llm_fault *f, int status)
{
    switch (status) {
    case 401:
    case 403:
        f->code = ERR_AUTH;
        return;
    case 402:
        f->code = ERR_QUOTA;
        return;
    case 404:
        f->code = ERR_NOT_FOUND;
        return;
    case 413:
        f->code = ERR_TOO_BIG;
        f->media = true; /* where there is one */
        return;
    case 405:
    case 415:
    case 501:
    case 505:
        f->code = ERR_UNSUPPORTED;
        return;
    case 429:
        f->code = ERR_RETRY_LATER;
        f->retry = true;
        return;
    case 529:
        f->code = ERR_RETRY_LATER;
        f->retry = true;
        f->overloaded = true;
        return;
    case 408:
    case 409:
    case 425:
        f->code = ERR_NETWORK;
        f->retry = true;
        return;
    default:
        f->code = status >= 500 ? ERR_NETWORK : status >= 400 ? ERR_BAD_INPUT : ERR_PROTOCOL;
        f->retry = status >= 500;
    }
}

/* Uses the text where the status is ambiguous. */
static void read_words(struct llm_fault *f, int status, struct str words)
{
    if (has_phrase(words, quota_phrases, ARRAY_LEN(quota_phrases))) {
        f->code = ERR_QUOTA;
        f->retry = false;
    } else if (status == 429) {
        /* "too many tokens" is about the rate here; only these two are about the size. */
        if (str_find_nocase(words, STR("request too large")) < words.len ||
            str_find_nocase(words, STR("reduce the length of the messages")) < words.len) {
            f->code = ERR_CONTEXT_FULL;
            f->retry = false;
        } else if (str_find_nocase(words, STR("overloaded")) < words.len) {
            f->overloaded = true; /* Kimi, z.ai: the server is overloaded, not a rate limit */
        }
    } else if (status != 401 && status != 403 && status != 404 && fault_is_context_text(words)) {
        f->code = ERR_CONTEXT_FULL;
        f->retry = false;
    } else if (has_phrase(words, tool_phrases, ARRAY_LEN(tool_phrases))) {
        f->code = ERR_UNSUPPORTED;
        f->retry = false;
        f->no_tools = true;
    } else if (status >= 400 && status < 500 &&
               has_phrase(words, media_phrases, ARRAY_LEN(media_phrases))) {
        f->code = ERR_TOO_BIG;
        f->media = true;
    } else if (status >= 500 && str_find_nocase(words, STR("overloaded")) < words.len) {
        f->code = ERR_RETRY_LATER;
        f->overloaded = true;
    }
}

/* When a quota is reset: "resets_in_seconds": 4711 or "resets_at"; OpenRouter has a header inside
 * the error. */
static int64_t read_reset(const struct json *error)
{
    static const char *const names[] = {"resets_in_seconds", "resets_at"};
    int64_t ms = -1;

    for (size_t i = 0; i < ARRAY_LEN(names) && ms < 0; i++) {
        const struct json *v = json_get(error, names[i]);

        if (json_is(v, JSON_NUMBER))
            ms = retry_reset_ms(json_raw(v), clock_wall_ms());
    }
    if (ms < 0)
        ms = retry_reset_ms(json_str(json_path(error, "metadata.headers.X-RateLimit-Reset")),
                            clock_wall_ms());
    return ms;
}

/* Collects the texts of one server's error that are examined. */
static void add_words(const struct json *error, struct str message, struct buf *words)
{
    buf_add(words, message);
    buf_addc(words, '\n');
    buf_add(words, json_get_str(error, "type"));
    buf_addc(words, '\n');
    buf_add(words, json_get_str(error, "code"));
    buf_addc(words, '\n');
}

/*
 * A router's own message may be just "Provider returned error": the message of the server it called
 * is in metadata.raw, as text or as that server's JSON. It is reported and examined, too.
 */
static void read_behind(struct llm_fault *f, const struct json *error, struct arena *arena,
                        struct buf *words)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(2000);
    struct str raw = str_trim(json_get_str(json_get(error, "metadata"), "raw"));
    const struct json *inner = raw.len ? fault_find(raw, arena) : NULL;
    struct str message = inner ? fault_message(inner) : raw;

    if (!message.len || looks_like_html(message))
        return;
    buf_addf(&text, "%.200s: %.*s", f->text, STR_ARG(str_clip(message, 1000)));
    fault_text(f, buf_str(&text));
    add_words(inner, str_first(message, 4096), words);
}

void fault_from_status(struct llm_fault *f, int status, struct str body, struct str retry_after,
                       struct str retry_after_ms_value)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf words = BUF_INIT(BUF_NO_LIMIT);
    const struct json *error = fault_find(body, &arena);
    struct str message = fault_message(error);

    read_status(f, status);
    /* The clock is needed only if the header is a date. */
    f->wait_ms = retry_after_ms(retry_after_ms_value, retry_after, clock_wall_ms());

    fault_text(f, message);
    if (!f->text[0])
        say_body(f, status, body);
    add_words(error, message, &words);
    read_behind(f, error, &arena, &words);
    if (!error)
        buf_add(&words, str_first(body, 4096));
    read_words(f, status, buf_str(&words));

    /* Cerebras and Mistral send no text at all when the conversation is too long. */
    if (!str_trim(body).len && (status == 400 || status == 413)) {
        f->code = ERR_CONTEXT_FULL;
        fault_text(f, status == 400 ? STR("HTTP 400 without an explanation; some servers answer so "
                                          "when the conversation is too long")
                                    : STR("HTTP 413: the request is too large"));
    }
    if (f->wait_ms < 0)
        f->wait_ms = read_reset(error);
    if (f->wait_ms < 0 && error && (f->retry || f->code == ERR_QUOTA))
        f->wait_ms = retry_text_ms(buf_str(&words));
}

bool fault_from_answer(struct llm_fault *f, struct str body)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *error = fault_find(body, &arena);
    int status = fault_status(error);

    if (!str_trim(fault_message(error)).len)
        return false;
    *f = (struct llm_fault){.wait_ms = -1};
    fault_from_status(f, status ? status : 500, body, STR(""), STR(""));
    return true;
}

const char *fault_name(enum err_code code, bool is_overloaded)
{
    switch (code) {
    case ERR_AUTH:
        return "authentication_failed";
    case ERR_QUOTA:
    case ERR_BUDGET:
        return "billing_error";
    case ERR_RETRY_LATER:
        return is_overloaded ? "overloaded" : "rate_limit";
    case ERR_NOT_FOUND:
        return "model_not_found";
    case ERR_BAD_INPUT:
    case ERR_TOO_BIG:
    case ERR_CONTEXT_FULL:
    case ERR_UNSUPPORTED:
    case ERR_DENIED:
    case ERR_BUSY:
        return "invalid_request";
    case ERR_NETWORK:
    case ERR_TIMEOUT:
    case ERR_PROTOCOL:
        return "server_error";
    default:
        return "unknown";
    }
}
