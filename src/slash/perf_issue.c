/*
 * /perf-issue: what the process and the session have used so far, as a report in a file: something
 * to send along when tenax is slow. It has no contents of the conversation in it.
 */
#include <inttypes.h>
#include <sys/resource.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "host/host.h"
#include "json/json.h"
#include "json/jw.h"
#include "slash/answer.h"

static int perf_issue_run(struct slash_call *call, struct err *err);

const struct slash_command slash_perf_issue_entry = {
    .name = "perf-issue",
    .hint = "[--format=json] [--limit n]",
    .summary = "Write a report of memory, CPU, tokens and time per tool",
    .more =
        "The file is in `~/.tenax/perf-reports`. Tools are counted in the last `n` lines of the "
        "session's event log, 2000 by default.",
    .run = perf_issue_run,
};

#define PERF_LINES 2000
#define PERF_MAX_LINES 1000000
#define PERF_MAX_LOG ((size_t)16 << 20)
#define PERF_MAX_TOOLS 64

struct tool_row {
    struct str name;
    int64_t calls, errors, total_ms, longest_ms;
};

struct perf {
    struct arena arena;
    struct tool_row tools[PERF_MAX_TOOLS];
    size_t tool_count;
    int64_t lines;
    struct rusage used;
};

static void perf_add(struct perf *p, const struct json *line)
{
    struct str name = json_get_str(line, "name");
    int64_t ms = json_get_i64(line, "ms", 0);
    size_t i = 0;

    while (i < p->tool_count && !str_eq(p->tools[i].name, name))
        i++;
    if (i == PERF_MAX_TOOLS)
        return;
    if (i == p->tool_count)
        p->tools[p->tool_count++] = (struct tool_row){.name = arena_str(&p->arena, name)};
    p->tools[i].calls++;
    p->tools[i].errors += json_get_bool(line, "error", false);
    p->tools[i].total_ms += ms;
    if (ms > p->tools[i].longest_ms)
        p->tools[i].longest_ms = ms;
}

/* The last lines of the event log that speak of tools. */
static void perf_read_log(struct slash_call *call, struct perf *p, int64_t limit)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf text = BUF_INIT(PERF_MAX_LOG);
    struct str rest;
    struct str line;
    size_t at;

    buf_addf(&path, "%s/events/%s/events.jsonl", conf_home(host_conf(call->host)),
             host_session(call->host));
    if (file_slurp(buf_cstr(&path), PERF_MAX_LOG, &text, /*err=*/NULL) < 0)
        return;
    at = text.len;
    for (int64_t n = 0; at && n <= limit; at--)
        n += text.ptr[at - 1] == '\n';
    rest = str_from(buf_str(&text), at ? at + 1 : 0);
    while (str_cut(&rest, '\n', &line)) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        const struct json *v = NULL;

        p->lines += line.len > 0;
        if (str_has(line, STR("\"tool_done\"")) &&
            json_parse(&arena, line, &v, /*ret_info=*/NULL, /*err=*/NULL) == 0)
            perf_add(p, v);
    }
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void write_json(struct slash_call *call, const struct perf *p, struct buf *out)
{
    struct event *last = host_last_turn(call->host);
    const struct turn_report *r = last ? last->report : NULL;
    struct jw w;

    jw_init(&w, out, JW_PRETTY);
    jw_object(&w);
    jw_kcstr(&w, "version", TENAX_VERSION);
    jw_kcstr(&w, "session", host_session(call->host));
    jw_ki64(&w, "peak_rss_kb", p->used.ru_maxrss);
    jw_key(&w, "cpu_user_s");
    jw_double(&w, seconds(p->used.ru_utime));
    jw_key(&w, "cpu_system_s");
    jw_double(&w, seconds(p->used.ru_stime));
    jw_ki64(&w, "turn_ms", r ? r->total_ms : 0);
    jw_ki64(&w, "model_ms", r ? r->total_api_ms : 0);
    jw_key(&w, "models");
    jw_array(&w);
    for (size_t i = 0; r && i < r->model_count; i++) {
        jw_object(&w);
        jw_kstr(&w, "model", r->models[i].model);
        jw_ki64(&w, "input", r->models[i].usage.input);
        jw_ki64(&w, "output", r->models[i].usage.output);
        jw_ki64(&w, "cache_read", r->models[i].usage.cache_read);
        jw_ki64(&w, "cache_write", r->models[i].usage.cache_write);
        jw_object_end(&w);
    }
    jw_array_end(&w);
    jw_ki64(&w, "log_lines", p->lines);
    jw_key(&w, "tools");
    jw_array(&w);
    for (size_t i = 0; i < p->tool_count; i++) {
        jw_object(&w);
        jw_kstr(&w, "name", p->tools[i].name);
        jw_ki64(&w, "calls", p->tools[i].calls);
        jw_ki64(&w, "errors", p->tools[i].errors);
        jw_ki64(&w, "total_ms", p->tools[i].total_ms);
        jw_ki64(&w, "longest_ms", p->tools[i].longest_ms);
        jw_object_end(&w);
    }
    jw_array_end(&w);
    jw_object_end(&w);
    buf_addc(out, '\n');
    event_unref(last);
}

static void write_text(struct slash_call *call, const struct perf *p, struct buf *out)
{
    struct event *last = host_last_turn(call->host);
    const struct turn_report *r = last ? last->report : NULL;

    buf_addf(out, "tenax " TENAX_VERSION ", session %s\n\n", host_session(call->host));
    buf_addf(out, "memory    %ld KB at most\n", p->used.ru_maxrss);
    buf_addf(out, "CPU       %.2f s user, %.2f s system\n", seconds(p->used.ru_utime),
             seconds(p->used.ru_stime));
    buf_addf(out, "turns     %.1f s, of that %.1f s for the model\n",
             r ? (double)r->total_ms / 1000 : 0, r ? (double)r->total_api_ms / 1000 : 0);
    for (size_t i = 0; r && i < r->model_count; i++)
        buf_addf(out,
                 "%.*s: %" PRId64 " in, %" PRId64 " out, %" PRId64 " cache read, %" PRId64
                 " cache write\n",
                 STR_ARG(r->models[i].model), r->models[i].usage.input, r->models[i].usage.output,
                 r->models[i].usage.cache_read, r->models[i].usage.cache_write);
    buf_addf(out, "\ntools, in the last %" PRId64 " lines of the event log\n", p->lines);
    for (size_t i = 0; i < p->tool_count; i++)
        buf_addf(out,
                 "  %-20.*s %6" PRId64 " calls %4" PRId64 " failed %8" PRId64 " ms %8" PRId64
                 " ms at most\n",
                 STR_ARG(p->tools[i].name), p->tools[i].calls, p->tools[i].errors,
                 p->tools[i].total_ms, p->tools[i].longest_ms);
    event_unref(last);
}

static int perf_issue_run(struct slash_call *call, struct err *err)
{
    CLEANUP(strv_release) struct strv words = STRV_INIT;
    CLEANUP(buf_release) struct buf report = BUF_INIT(SLASH_MAX_TEXT);
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *folder = path_join(conf_home(host_conf(call->host)), "perf-reports");
    struct perf p = {.arena = ARENA_INIT};
    int64_t limit = PERF_LINES;
    bool json = false;

    slash_words(call->args, &words);
    for (size_t i = 0; i < words.len; i++) {
        struct str word = str_of(words.ptr[i]);

        if (str_is(word, "--format=json"))
            json = true;
        else if (str_is(word, "--limit") && i + 1 < words.len &&
                 str_to_i64(str_of(words.ptr[i + 1]), &limit, err) == 0 && limit > 0 &&
                 limit <= PERF_MAX_LINES)
            i++;
        else
            return err_set(err, ERR_BAD_INPUT, "usage: /perf-issue %s",
                           slash_perf_issue_entry.hint);
    }
    (void)getrusage(RUSAGE_SELF, &p.used);
    perf_read_log(call, &p, limit);
    if (json)
        write_json(call, &p, &report);
    else
        write_text(call, &p, &report);
    arena_release(&p.arena);
    buf_addf(&path, "%s/%s-%" PRId64 ".%s", folder, host_session(call->host), clock_wall_ms(),
             json ? "json" : "txt");
    if (buf_check(&report, err) < 0 || file_mkdirs(folder, 0700, err) < 0 ||
        file_replace(buf_cstr(&path), buf_str(&report), 0600, err) < 0)
        return -1;
    slash_say(call, INK_PLAIN, buf_str(&report));
    slash_sayf(call, INK_FAINT, "Written to %s\n", buf_cstr(&path));
    return 0;
}
