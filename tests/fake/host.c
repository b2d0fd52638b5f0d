/*
 * The pretend model: reads a request in its dialect, finds the step that is due, and plans the
 * answer or the fault. One thread, no clock, no sockets.
 */
#include "host.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "http.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/scenario/scenario.h"
#include "plan.h"
#include "speak.h"

void host_init(struct host *h)
{
    struct err err = {0};

    *h = (struct host){.record.fd = -1};
    if (scenario_parse(STR(""), "(none)", &h->scenario, &err) < 0)
        BUG("%s", err.text);
}

void host_reset(struct host *h)
{
    MAP_EACH(&h->sessions, it)
        free(it->value);
    map_release(&h->sessions);
    h->sessions = (struct map)MAP_INIT;
    record_clear(&h->record);
}

void host_release(struct host *h)
{
    host_reset(h);
    record_release(&h->record);
    scenario_free(h->scenario);
}

int host_load(struct host *h, struct str text, const char *file, struct err *err)
{
    struct scenario *s;

    if (scenario_parse(text, file, &s, err) < 0)
        return -1;
    scenario_free(h->scenario);
    h->scenario = s;
    host_reset(h);
    return 0;
}

static struct scenario_cursor *session_of(struct host *h, struct str name)
{
    struct scenario_cursor *c = map_get(&h->sessions, name);

    if (!c) {
        c = mem_zalloc(sizeof(*c));
        map_set(&h->sessions, name, c);
    }
    return c;
}

const struct scenario_fault *host_connection(struct host *h)
{
    return scenario_connection(h->scenario, session_of(h, STR("")), true);
}

size_t host_leftovers(struct host *h, struct buf *out)
{
    struct scenario_cursor *c = session_of(h, STR(""));
    size_t n = 0;

    if (h->sessions.len > 1)
        return 0; /* separate conversations: no one of them must play it all */
    for (size_t i = 0; i < h->scenario->len; i++) {
        const struct scenario_step *step = &h->scenario->steps[i];

        /* Tried counts: after some faults no client comes back for the answer. */
        if (step->sticky || c->tries[i] || (c->played[i / 64] >> (i % 64) & 1))
            continue;
        n++;
        buf_addf(out, "%.*s:%zu: the step %.*s%swas never played\n", STR_ARG(h->scenario->file),
                 step->line, STR_ARG(step->name), step->name.len ? " " : "");
    }
    return n;
}

/* ---- one request ---- */

struct exchange {
    struct host *host;
    const struct http_request *http;
    struct str path; /* without the session */
    struct str session;
    char request_id[48];
    struct plan *plan;
};

static void plan_text(struct exchange *x, int status, const char *type, struct str text,
                      const struct speaker *speaker, const struct scenario_fault *fault)
{
    struct scenario_cursor *c = session_of(x->host, STR(""));
    struct plan_head head = {
        .status = status,
        .type = type,
        .id_name = str_of(speaker ? speaker->request_header : NULL),
        .id = str_of(x->request_id),
        .fault = fault,
        /* A fault of the next connection needs a next connection. */
        .keep = x->http->keep_alive && !scenario_connection(x->host->scenario, c, false),
    };
    struct tape body;

    tape_init(&body);
    if (!str_is(x->http->method, "HEAD"))
        buf_add(&body.bytes, text);
    plan_make(&head, &body, x->plan);
}

static void plan_error(struct exchange *x, const struct speaker *speaker, int status,
                       struct str type, struct str text, const struct scenario_fault *fault)
{
    CLEANUP(buf_release) struct buf body = BUF_INIT(TAPE_MAX_BYTES);
    struct jw w;

    jw_init(&w, &body, 0);
    speaker->error(status, type, text, str_of(x->request_id), &w);
    plan_text(x, status, "application/json", buf_str(&body), speaker, fault);
}

static void plan_nothing(struct exchange *x, enum plan_end end)
{
    tape_init(&x->plan->out);
    x->plan->end = end;
}

static void plan_huge(struct exchange *x, const struct scenario_fault *fault)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(TAPE_MAX_BYTES);
    size_t n = (size_t)fault->at;

    buf_adds(&line, "data: ");
    memset(buf_room(&line, n), 'x', n);
    buf_grown(&line, n);
    plan_text(x, 200, "text/event-stream", buf_str(&line), NULL, fault);
}

/* The faults that stand in place of an answer; false when this one needs the answer. */
static bool plan_fault(struct exchange *x, const struct speaker *speaker,
                       const struct scenario_fault *f)
{
    switch (f->kind) {
    case FAULT_STATUS:
        if (f->body.len)
            plan_text(x, f->status,
                      str_starts(f->body, STR("<")) ? "text/html" : "application/json", f->body,
                      speaker, f);
        else
            plan_error(x, speaker, f->status, f->type, f->text, f);
        return true;
    case FAULT_HTML:
        plan_text(x, 200, "text/html; charset=utf-8", f->text, NULL, f);
        return true;
    case FAULT_REDIRECT:
        plan_text(x, f->status, "text/html", STR("moved\n"), NULL, f);
        return true;
    case FAULT_HUGE:
        plan_huge(x, f);
        return true;
    case FAULT_EMPTY:
        plan_text(x, 200, "text/event-stream", STR(""), speaker, f);
        return true;
    case FAULT_HANG:
        plan_nothing(x, PLAN_SILENT);
        return true;
    case FAULT_REFUSE:
    case FAULT_TLS:
        plan_nothing(x, PLAN_RESET);
        return true;
    default:
        return false;
    }
}

static void plan_answer(struct exchange *x, const struct answer *a,
                        const struct scenario_fault *fault)
{
    const struct speaker *speaker = a->ask->speaker;
    struct scenario_cursor *c = session_of(x->host, STR(""));
    struct plan_head head = {
        .status = 200,
        .type = a->ask->stream && !a->ask->whole_array ? "text/event-stream; charset=utf-8"
                                                       : "application/json",
        .id_name = str_of(speaker->request_header),
        .id = str_of(x->request_id),
        .fault = fault,
        .chunked = a->ask->stream,
        .keep = x->http->keep_alive && !scenario_connection(x->host->scenario, c, false),
    };
    struct tape body;
    struct jw w;

    tape_init(&body);
    speaker->stream(a, &body); /* also for its pauses */
    if (!a->ask->stream) {
        int64_t ms = tape_total_ms(&body);

        tape_release(&body);
        tape_init(&body);
        tape_wait(&body, ms);
        jw_init(&w, &body.bytes, 0);
        speaker->whole(a, &w);
    }
    plan_make(&head, &body, x->plan);
}

static bool is_counting(struct str path)
{
    return str_ends(path, STR("/count_tokens")) || str_ends(path, STR(":countTokens"));
}

static void plan_step(struct exchange *x, struct ask *ask, const struct scenario_view *view)
{
    static const struct scenario_step no_step;
    struct host *h = x->host;
    struct scenario_cursor *c = session_of(h, x->session);
    bool counting = is_counting(x->path);
    const struct scenario_step *step = counting ? &no_step : scenario_next(h->scenario, c, view);
    const struct scenario_fault *fault = NULL;
    struct answer a = {.ask = ask, .serial = ++h->serial};
    struct err err = {0};

    if (!step) {
        scenario_explain(h->scenario, c, view, &err);
        plan_error(x, ask->speaker, 400, STR(""), str_of(err.text), NULL);
        return;
    }
    if (!counting)
        fault = scenario_try(h->scenario, c, step);
    if (fault && plan_fault(x, ask->speaker, fault))
        return;

    a.step = step;
    a.stop = scenario_stop(step);
    scenario_usage(step, view, &a.usage);
    snprintf(a.id, sizeof(a.id), "%s%020llu0000", ask->speaker->id_prefix,
             (unsigned long long)a.serial);
    if (fault && fault->kind == FAULT_ERROR) {
        a.error = fault;
        if (!ask->stream) {
            plan_error(x, ask->speaker, 500, fault->type, fault->text, fault);
            return;
        }
    }
    /* These faults still give the whole answer. */
    if (!counting && (!fault || fault->kind == FAULT_TYPE || fault->kind == FAULT_GZIP ||
                      fault->kind == FAULT_SLOW))
        scenario_played(h->scenario, c, step);
    plan_answer(x, &a, fault);
}

static bool key_is_good(const struct host *h, const struct http_request *http)
{
    static const char *const names[] = {"x-api-key", "x-goog-api-key", "api-key"};
    struct str bearer = http_header(http, "authorization");

    if (!h->key)
        return true;
    if (str_starts(bearer, STR("Bearer ")) && str_is(str_from(bearer, 7), h->key))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_is(http_header(http, names[i]), h->key))
            return true;
    }
    return false;
}

static void plan_call(struct exchange *x, const struct speaker *speaker, const struct json *body)
{
    struct ask ask = {
        .speaker = speaker,
        .http = x->http,
        .body = body,
        .path = x->path,
    };
    struct scenario_view view;
    struct err err = {0};
    int r;

    if (!key_is_good(x->host, x->http)) {
        plan_error(x, speaker, 401, STR(""), STR("invalid x-api-key"), NULL);
        return;
    }
    if (!json_is(body, JSON_OBJECT)) {
        plan_error(x, speaker, 400, STR(""), STR("the body is not a JSON object"), NULL);
        return;
    }
    viewer_init(&ask.viewer);
    r = speaker->read(&ask, &err);
    if (r < 0 && !x->host->lenient) {
        plan_error(x, speaker, 400, STR(""), str_of(err.text), NULL);
    } else {
        view = viewer_view(&ask.viewer, ask.model);
        plan_step(x, &ask, &view);
    }
    viewer_release(&ask.viewer);
}

/* ---- other than model calls ---- */

static void plan_stats(struct exchange *x)
{
    struct host *h = x->host;
    CLEANUP(buf_release) struct buf body = BUF_INIT(TAPE_MAX_BYTES);
    CLEANUP(buf_release) struct buf names = BUF_INIT(TAPE_MAX_BYTES);
    struct jw w;

    jw_init(&w, &body, 0);
    jw_object(&w);
    jw_ki64(&w, "requests", (int64_t)h->record.count);
    jw_ki64(&w, "connections", (int64_t)h->connections);
    jw_ki64(&w, "open", (int64_t)h->open);
    jw_ki64(&w, "most_open", (int64_t)h->most_open);
    jw_ki64(&w, "left", (int64_t)host_leftovers(h, &names));
    jw_object_end(&w);
    plan_text(x, 200, "application/json", buf_str(&body), NULL, NULL);
}

static bool plan_control(struct exchange *x)
{
    CLEANUP(buf_release) struct buf body = BUF_INIT(TAPE_MAX_BYTES);
    struct err err = {0};

    if (str_is(x->path, "/__log")) {
        record_write(&x->host->record, &body);
        plan_text(x, 200, "application/json", buf_str(&body), NULL, NULL);
    } else if (str_is(x->path, "/__stats")) {
        plan_stats(x);
    } else if (str_is(x->path, "/__reset")) {
        host_reset(x->host);
        plan_text(x, 200, "application/json", STR("{}"), NULL, NULL);
    } else if (str_is(x->path, "/__scenario")) {
        if (host_load(x->host, x->http->body, "POST", &err) < 0)
            plan_text(x, 400, "text/plain", str_of(err.text), NULL, NULL);
        else
            plan_text(x, 200, "application/json", STR("{}"), NULL, NULL);
    } else {
        return false;
    }
    return true;
}

static void plan_other(struct exchange *x)
{
    bool anthropic = http_header(x->http, "anthropic-version").len > 0;
    const struct speaker *list = speaker_of_list(x->path, anthropic);
    CLEANUP(buf_release) struct buf body = BUF_INIT(TAPE_MAX_BYTES);
    struct jw w;

    if (list && !key_is_good(x->host, x->http)) {
        plan_error(x, list, 401, STR(""), STR("invalid x-api-key"), NULL);
    } else if (list) {
        jw_init(&w, &body, 0);
        list->models(&w);
        plan_text(x, 200, "application/json", buf_str(&body), list, NULL);
    } else if (str_is(x->path, "/") || str_is(x->http->method, "HEAD")) {
        plan_text(x, 200, "application/json", STR("{}"), NULL, NULL);
    } else {
        plan_error(x, anthropic ? &speak_anthropic : &speak_chat, 404, STR(""),
                   STR("no such address"), NULL);
    }
}

/* "/s/<name>/v1/…": a separate conversation. */
static void find_session(struct exchange *x)
{
    struct str rest, name;

    x->path = x->http->path;
    x->session = http_header(x->http, "x-fake-session");
    if (!str_starts(x->path, STR("/s/")))
        return;
    rest = str_from(x->path, 3);
    name = str_first(rest, str_chr(rest, '/'));
    x->session = name;
    x->path = str_from(rest, name.len);
}

size_t host_answer(struct host *h, const struct http_request *http, uint64_t connection,
                   const struct record_times *at, struct plan *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct exchange x = {.host = h, .http = http, .plan = ret};
    const struct speaker *speaker;
    const struct json *body = NULL;
    size_t n;

    find_session(&x);
    if (plan_control(&x))
        return 0;
    if (http->body.len && json_parse(&arena, http->body, &body, NULL, NULL) < 0)
        body = NULL;
    n = record_add(&h->record, http, x.session, body, connection, at);
    snprintf(x.request_id, sizeof(x.request_id), "req_%024zu", n);
    speaker = speaker_find(x.path);
    if (speaker && str_is(http->method, "POST"))
        plan_call(&x, speaker, body);
    else
        plan_other(&x);
    return n;
}
