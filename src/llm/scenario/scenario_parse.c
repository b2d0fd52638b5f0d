/*
 * Parses scenario files: one keyword per line; each keyword is a row of a table with its own
 * function.
 *
 * A line is read once, from left to right, by a cursor that knows its column, so that errors point
 * at the exact byte. Everything kept is copied to the scenario's arena. Any thread.
 */
#include "llm/scenario/scenario.h"

#include "base/err.h"
#include "base/file.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "llm/scenario/scenario_scan.h"

struct parser {
    struct scenario_scan in;
    bool in_step;
    struct scenario_step step; /* the one being read */
    struct scenario_step defaults;
    VEC(struct scenario_if) ifs;
    VEC(struct scenario_part) parts;
    VEC(struct scenario_fault) faults;
    VEC(struct scenario_step) steps;
};

/* ---- faults ---- */

static const struct scan_name fault_names[] = {
    {"status", FAULT_STATUS},
    {"cut", FAULT_CUT},
    {"reset", FAULT_RESET},
    {"stall", FAULT_STALL},
    {"garbage", FAULT_GARBAGE},
    {"error", FAULT_ERROR},
    {"html", FAULT_HTML},
    {"type", FAULT_TYPE},
    {"redirect", FAULT_REDIRECT},
    {"gzip", FAULT_GZIP},
    {"huge", FAULT_HUGE},
    {"empty", FAULT_EMPTY},
    {"slow", FAULT_SLOW},
    {"hang", FAULT_HANG},
    {"refuse", FAULT_REFUSE},
    {"tls", FAULT_TLS},
    {NULL, 0},
};

static const struct scan_name tls_names[] = {
    {"hang", TLS_HANG},
    {"close", TLS_CLOSE},
    {"garbage", TLS_GARBAGE},
    {"expired", TLS_EXPIRED},
    {"self-signed", TLS_SELF_SIGNED},
    {"wrong-host", TLS_WRONG_HOST},
    {NULL, 0},
};

enum fault_option {
    OPTION_TIMES,
    OPTION_TYPE,
    OPTION_BODY,
    OPTION_HEADER,
    OPTION_RETRY_AFTER,
    OPTION_RETRY_AFTER_MS,
    OPTION_SHOULD_RETRY,
};

static const struct scan_name option_names[] = {
    /* in the order of their values */
    {"times", OPTION_TIMES},
    {"type", OPTION_TYPE},
    {"body", OPTION_BODY},
    {"header", OPTION_HEADER},
    {"retry-after", OPTION_RETRY_AFTER},
    {"retry-after-ms", OPTION_RETRY_AFTER_MS},
    {"x-should-retry", OPTION_SHOULD_RETRY},
    {NULL, 0},
};

/* Parses what is between the kind and the options. */
static int fault_arguments(struct parser *p, struct scenario_fault *f)
{
    int64_t status = 0;
    int tls;

    switch (f->kind) {
    case FAULT_STATUS:
        if (scan_number(&p->in, "the status", 400, 599, &status) < 0)
            return -1;
        f->status = (int)status;
        if (scan_at_quote(&p->in))
            return scan_quoted(&p->in, &f->text);
        f->text = STR("scripted failure");
        return 0;
    case FAULT_CUT:
    case FAULT_RESET:
    case FAULT_STALL:
        return scan_number(&p->in, "the number of bytes", 0, SCENARIO_MAX_COUNT, &f->at);
    case FAULT_HUGE:
        return scan_number(&p->in, "the number of bytes", 1, 1 << 30, &f->at);
    case FAULT_GARBAGE:
        if (scan_number(&p->in, "the number of bytes", 0, SCENARIO_MAX_COUNT, &f->at) < 0)
            return -1;
        return scan_value(&p->in, "the garbage", &f->text);
    case FAULT_ERROR:
        f->at = (int64_t)p->parts.len;
        return scan_value(&p->in, "the error text", &f->text);
    case FAULT_HTML:
        f->text = STR("<!DOCTYPE html><html><body>Sign in to the network</body></html>\n");
        if (scan_at_quote(&p->in))
            return scan_quoted(&p->in, &f->text);
        return 0;
    case FAULT_TYPE:
        return scan_value(&p->in, "the content type", &f->text);
    case FAULT_REDIRECT:
        if (scan_number(&p->in, "the status", 300, 399, &status) < 0)
            return -1;
        f->status = (int)status;
        return scan_value(&p->in, "the address", &f->text);
    case FAULT_SLOW:
        if (scan_number(&p->in, "the number of bytes", 1, SCENARIO_MAX_COUNT, &f->at) < 0)
            return -1;
        return scan_duration(&p->in, SCENARIO_MAX_MS, &f->ms);
    case FAULT_TLS:
        if (scan_choice(&p->in, "kind of TLS failure", tls_names, &tls) < 0)
            return -1;
        f->tls = (enum fault_tls)tls;
        return 0;
    case FAULT_GZIP:
    case FAULT_EMPTY:
    case FAULT_HANG:
    case FAULT_REFUSE:
        return 0;
    }
    BUG("fault kind %d", (int)f->kind);
}

static struct str join_header(struct parser *p, const char *name, struct str value)
{
    size_t n = strlen(name);
    char *text = arena_alloc(p->in.arena, n + 2 + value.len + 1);

    memcpy(text, name, n);
    memcpy(text + n, ": ", 2);
    memcpy(text + n + 2, value.ptr, value.len);
    text[n + 2 + value.len] = '\0';
    return str_make(text, n + 2 + value.len);
}

static int fault_option(struct parser *p, struct scenario_fault *f, struct str *headers)
{
    size_t start = p->in.at;
    struct str key = scan_key(&p->in), value;
    int option;

    if (!key.len)
        return scan_fail(&p->in, start, "expected an option such as times=2");
    if (scan_choose(&p->in, "option", option_names, key, start, &option) < 0)
        return -1;
    if (option == OPTION_TIMES)
        return scan_number(&p->in, "times", 1, 1000000, &f->times);
    if (scan_value(&p->in, option_names[option].name, &value) < 0)
        return -1;
    switch ((enum fault_option)option) {
    case OPTION_TYPE:
        f->type = value;
        return 0;
    case OPTION_BODY:
        f->body = value;
        return 0;
    case OPTION_HEADER:
        if (str_chr(value, ':') == value.len)
            return scan_fail(&p->in, start, "a header is written \"name: value\"");
        break;
    default:
        value = join_header(p, option_names[option].name, value);
    }
    if (f->header_count == 16)
        return scan_fail(&p->in, start, "more than 16 headers");
    headers[f->header_count++] = value;
    return 0;
}

static int key_fault(struct parser *p, int unused)
{
    struct scenario_fault f = {.times = 1};
    struct str *headers = arena_alloc(p->in.arena, 16 * sizeof(*headers));
    int kind;

    (void)unused;
    if (scan_choice(&p->in, "fault", fault_names, &kind) < 0)
        return -1;
    f.kind = (enum fault_kind)kind;
    if (fault_arguments(p, &f) < 0)
        return -1;
    while (!scan_at_end(&p->in)) {
        if (fault_option(p, &f, headers) < 0)
            return -1;
    }
    f.headers = headers;
    vec_push(&p->faults, f);
    return 0;
}

/* ---- the other keywords ---- */

static int key_if(struct parser *p, int kind)
{
    struct scenario_if condition = {.kind = (enum scenario_if_kind)kind};

    if (scan_value(&p->in, "the text to look for", &condition.text) < 0)
        return -1;
    vec_push(&p->ifs, condition);
    return scan_end(&p->in);
}

static int key_say(struct parser *p, int kind)
{
    struct scenario_part part = {.kind = (enum scenario_part_kind)kind};

    if (scan_text(&p->in, &part.text) < 0)
        return -1;
    vec_push(&p->parts, part);
    return 0;
}

static int key_call(struct parser *p, int unused)
{
    struct scenario_part part = {.kind = PART_CALL};
    struct str rest;

    (void)unused;
    part.name = arena_str(p->in.arena, scan_word(&p->in));
    if (!part.name.len)
        return scan_fail(&p->in, p->in.at, "the tool's name is missing");
    scan_blanks(&p->in);
    rest = str_from(p->in.line, p->in.at);
    if (str_starts(rest, STR("<<"))) {
        if (scan_document(&p->in, &part.text) < 0)
            return -1;
    } else {
        part.text = arena_str(p->in.arena, scan_rest(&p->in));
    }
    vec_push(&p->parts, part);
    return 0;
}

static int key_pause(struct parser *p, int unused)
{
    struct scenario_part part = {.kind = PART_PAUSE};

    (void)unused;
    if (scan_duration(&p->in, SCENARIO_MAX_MS, &part.ms) < 0)
        return -1;
    vec_push(&p->parts, part);
    return scan_end(&p->in);
}

enum figure {
    FIGURE_INPUT,
    FIGURE_OUTPUT,
    FIGURE_CACHE_READ,
    FIGURE_CACHE_WRITE,
    FIGURE_CACHE_WRITE_1H,
    FIGURE_THINKING,
    FIGURE_COUNT,
};

static const struct scan_name figure_names[] = {
    {"input", FIGURE_INPUT},
    {"output", FIGURE_OUTPUT},
    {"cache_read", FIGURE_CACHE_READ},
    {"cache_write", FIGURE_CACHE_WRITE},
    {"cache_write_1h", FIGURE_CACHE_WRITE_1H},
    {"thinking", FIGURE_THINKING},
    {NULL, 0},
};

static int key_usage(struct parser *p, int unused)
{
    int64_t figures[FIGURE_COUNT] = {0};
    size_t first;

    (void)unused;
    if (scan_at_end(&p->in))
        return scan_fail(&p->in, p->in.at, "figures such as input=12 are missing");
    first = p->in.at;
    if (str_is(scan_word(&p->in), "none")) {
        p->step.usage_mode = USAGE_NONE;
        return scan_end(&p->in);
    }
    for (p->in.at = first; !scan_at_end(&p->in);) {
        size_t start = p->in.at;
        struct str key = scan_key(&p->in);
        int figure;

        if (!key.len)
            return scan_fail(&p->in, start, "expected a figure such as input=12");
        if (scan_choose(&p->in, "figure", figure_names, key, start, &figure) < 0)
            return -1;
        if (scan_number(&p->in, "the figure", 0, SCENARIO_MAX_COUNT, &figures[figure]) < 0)
            return -1;
    }
    if (figures[FIGURE_THINKING] > figures[FIGURE_OUTPUT])
        return scan_fail(&p->in, first, "thinking is part of output and cannot be more");
    if (figures[FIGURE_CACHE_WRITE_1H] > figures[FIGURE_CACHE_WRITE])
        return scan_fail(&p->in, first, "cache_write_1h is part of cache_write and cannot be more");
    p->step.usage_mode = USAGE_GIVEN;
    p->step.usage = (struct llm_usage){
        .input = figures[FIGURE_INPUT],
        .output = figures[FIGURE_OUTPUT],
        .cache_read = figures[FIGURE_CACHE_READ],
        .cache_write = figures[FIGURE_CACHE_WRITE],
        .cache_write_1h = figures[FIGURE_CACHE_WRITE_1H],
        .thinking = figures[FIGURE_THINKING],
        .known = true,
    };
    return 0;
}

static const struct scan_name stop_names[] = {
    {"end_turn", STOP_END_TURN},
    {"tool_use", STOP_TOOL_USE},
    {"max_tokens", STOP_MAX_TOKENS},
    {"stop_sequence", STOP_SEQUENCE},
    {"pause_turn", STOP_PAUSE_TURN},
    {"refusal", STOP_REFUSAL},
    {"model_context_window_exceeded", STOP_CONTEXT_FULL},
    {NULL, 0},
};

static int key_stop(struct parser *p, int unused)
{
    int stop;

    (void)unused;
    if (scan_choice(&p->in, "stop reason", stop_names, &stop) < 0)
        return -1;
    p->step.stop = (enum llm_stop)stop;
    if (stop == STOP_SEQUENCE && scan_value(&p->in, "the sequence", &p->step.stop_sequence) < 0)
        return -1;
    return scan_end(&p->in);
}

static struct scenario_step *scope(struct parser *p)
{
    return p->in_step ? &p->step : &p->defaults;
}

static int key_chunk(struct parser *p, int unused)
{
    size_t start;
    int64_t n = 0;

    (void)unused;
    scan_blanks(&p->in);
    start = p->in.at;
    if (str_is(scan_word(&p->in), "words")) {
        scope(p)->chunk = 0;
        return scan_end(&p->in);
    }
    p->in.at = start;
    if (scan_number(&p->in, "the number of bytes", 1, SCENARIO_MAX_COUNT, &n) < 0)
        return -1;
    scope(p)->chunk = (size_t)n;
    return scan_end(&p->in);
}

static int key_pace(struct parser *p, int unused)
{
    (void)unused;
    if (scan_duration(&p->in, SCENARIO_MAX_MS, &scope(p)->pace_ms) < 0)
        return -1;
    return scan_end(&p->in);
}

static int key_sticky(struct parser *p, int unused)
{
    (void)unused;
    p->step.sticky = true;
    return scan_end(&p->in);
}

static void *keep(struct parser *p, const void *items, size_t bytes)
{
    void *copy = arena_alloc(p->in.arena, bytes);

    if (bytes)
        memcpy(copy, items, bytes);
    return copy;
}

static void end_step(struct parser *p)
{
    struct scenario_step *s = &p->step;

    if (!p->in_step)
        return;
    s->ifs = keep(p, p->ifs.ptr, p->ifs.len * sizeof(*p->ifs.ptr));
    s->if_count = p->ifs.len;
    s->parts = keep(p, p->parts.ptr, p->parts.len * sizeof(*p->parts.ptr));
    s->part_count = p->parts.len;
    s->faults = keep(p, p->faults.ptr, p->faults.len * sizeof(*p->faults.ptr));
    s->fault_count = p->faults.len;
    vec_push(&p->steps, *s);
    p->ifs.len = p->parts.len = p->faults.len = 0;
}

static int key_step(struct parser *p, int unused)
{
    (void)unused;
    end_step(p);
    if (p->steps.len == SCENARIO_MAX_STEPS)
        return scan_fail(&p->in, 0, "more than %d steps", SCENARIO_MAX_STEPS);
    p->in_step = true;
    p->step = p->defaults;
    p->step.line = p->in.number;
    if (scan_at_end(&p->in))
        return 0;
    if (scan_value(&p->in, "the name", &p->step.name) < 0)
        return -1;
    return scan_end(&p->in);
}

enum keyword_place {
    IN_STEP,
    ANYWHERE,
};

static const struct keyword {
    const char *name;
    int (*read)(struct parser *p, int value);
    int value;
    enum keyword_place place;
} keywords[] = {
    {"step", key_step, 0, ANYWHERE},
    {"if-result", key_if, IF_RESULT, IN_STEP},
    {"if-prompt", key_if, IF_PROMPT, IN_STEP},
    {"if-system", key_if, IF_SYSTEM, IN_STEP},
    {"if-model", key_if, IF_MODEL, IN_STEP},
    {"text", key_say, PART_TEXT, IN_STEP},
    {"think", key_say, PART_THINKING, IN_STEP},
    {"call", key_call, 0, IN_STEP},
    {"pause", key_pause, 0, IN_STEP},
    {"usage", key_usage, 0, IN_STEP},
    {"stop", key_stop, 0, IN_STEP},
    {"chunk", key_chunk, 0, ANYWHERE},
    {"pace", key_pace, 0, ANYWHERE},
    {"fault", key_fault, 0, IN_STEP},
    {"sticky", key_sticky, 0, IN_STEP},
};

static int read_line(struct parser *p)
{
    struct scan_name names[ARRAY_LEN(keywords) + 1] = {{0}};
    size_t start;
    int which;

    if (scan_at_end(&p->in))
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(keywords); i++)
        names[i] = (struct scan_name){keywords[i].name, (int)i};
    start = p->in.at;
    if (scan_choice(&p->in, "keyword", names, &which) < 0)
        return -1;
    if (keywords[which].place == IN_STEP && !p->in_step)
        return scan_fail(&p->in, start, "'%s' belongs into a step", keywords[which].name);
    if (p->parts.len + p->faults.len + p->ifs.len >= SCENARIO_MAX_ITEMS)
        return scan_fail(&p->in, start, "more than %d lines in one step", SCENARIO_MAX_ITEMS);
    return keywords[which].read(p, keywords[which].value);
}

/* Raw bytes would not survive the JSON of a dialect; escapes must be used for them. */
static int check_text(struct parser *p, struct str text)
{
    size_t valid = utf8_valid_len(text);

    if (valid == text.len)
        return 0;
    p->in.rest = text;
    while (scan_next_line(&p->in) && p->in.line.ptr + p->in.line.len <= text.ptr + valid)
        continue;
    return scan_fail(&p->in, (size_t)(text.ptr + valid - p->in.line.ptr),
                     "not UTF-8; in quotes, write \\xNN for such a byte");
}

static int read_all(struct parser *p, struct str text)
{
    if (check_text(p, text) < 0)
        return -1;
    p->in.rest = text;
    while (scan_next_line(&p->in)) {
        if (read_line(p) < 0)
            return -1;
    }
    end_step(p);
    return 0;
}

int scenario_parse(struct str text, const char *file, struct scenario **ret, struct err *err)
{
    CLEANUP(scenario_freep) struct scenario *s = mem_zalloc(sizeof(*s));
    struct parser p = {.in = {.arena = &s->arena, .file = file, .err = err}};
    int r;

    if (text.len > SCENARIO_MAX_BYTES)
        return err_set(err, ERR_TOO_BIG, "%s: a scenario is at most %zu MB", file,
                       SCENARIO_MAX_BYTES >> 20);
    s->file = arena_str(&s->arena, str_of(file));
    r = read_all(&p, text);
    s->steps = keep(&p, p.steps.ptr, p.steps.len * sizeof(*p.steps.ptr));
    s->len = p.steps.len;
    vec_release(&p.ifs);
    vec_release(&p.parts);
    vec_release(&p.faults);
    vec_release(&p.steps);
    if (r < 0)
        return -1;
    *ret = TAKE_PTR(s);
    return 0;
}

int scenario_load(const char *file, struct scenario **ret, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(SCENARIO_MAX_BYTES);

    if (file_slurp(file, SCENARIO_MAX_BYTES, &text, err) < 0)
        return -1;
    return scenario_parse(buf_str(&text), file, ret, err);
}
