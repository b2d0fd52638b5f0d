/*
 * log: the ledger as lines (display.h): one row per kind says how its data reads. What the data
 * lacks is left out; what it should not have is made harmless by goal_show_line(). Any thread.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "goal/report/display.h"
#include "json/json.h"

#define TEXT_MAX 160 /* bytes of a reason */
#define WORD_MAX 40
#define PATHS_MAX 5

static void add_word(const struct json *d, const char *key, const char *before, struct buf *ret)
{
    struct str s = json_get_str(d, key);

    if (!s.len)
        return;
    buf_adds(ret, before);
    goal_show_line(s, WORD_MAX, ret);
}

static void add_text(const struct json *d, const char *key, const char *before, struct buf *ret)
{
    struct str s = str_trim(json_get_str(d, key));

    if (!s.len)
        return;
    buf_adds(ret, before);
    goal_show_line(s, TEXT_MAX, ret);
}

static void add_count(size_t n, const char *noun, struct buf *ret)
{
    if (n)
        buf_addf(ret, ", %zu %s%s", n, noun, n == 1 ? "" : "s");
}

static void log_set(const struct json *d, struct buf *ret)
{
    int64_t files = json_get_i64(d, "protected", 0);

    buf_adds(ret, "set");
    add_word(d, "via", " by ", ret);
    add_word(d, "referee", ", referee: ", ret);
    add_count(json_len(json_get(d, "checks")), "check", ret);
    add_count(files > 0 ? (size_t)files : 0, "protected file", ret);
    add_count(json_len(json_get(d, "weak")), "weak check", ret);
}

static void log_verdict(const struct json *d, struct buf *ret)
{
    bool met = json_get_bool(d, "met", false);

    if (json_get_bool(d, "stale", false))
        buf_adds(ret, "too late, dropped: ");
    if (json_get_str(d, "error").len)
        buf_adds(ret, "no verdict");
    else
        buf_adds(ret, met                                     ? "met"
                      : json_get_bool(d, "impossible", false) ? "cannot be met"
                                                              : "not met");
    if (json_get_bool(d, "claim", false))
        buf_adds(ret, met ? ", as claimed" : ", although claimed");
    add_word(d, "by", " (", ret);
    if (json_get_str(d, "by").len)
        buf_addc(ret, ')');
    add_text(d, json_get_str(d, "error").len ? "error" : "reason", ": ", ret);
}

static void log_status(const struct json *d, struct buf *ret)
{
    add_word(d, "from", "", ret);
    add_word(d, "to", json_get_str(d, "from").len ? " → " : "→ ", ret);
    add_word(d, "by", ", by ", ret);
    add_text(d, "why", ": ", ret);
}

static void log_wait(const struct json *d, struct buf *ret)
{
    buf_adds(ret, "waits");
    add_text(d, json_get_str(d, "what").len ? "what" : "on", " for ", ret);
}

static void log_wake(const struct json *d, struct buf *ret)
{
    int64_t ms = json_get_i64(d, "waited_ms", -1);

    buf_adds(ret, "wakes");
    if (ms >= 0) {
        buf_adds(ret, " after ");
        goal_show_elapsed(ms / 1000, ret);
    }
    add_text(d, "why", ": ", ret);
}

static void log_retry(const struct json *d, struct buf *ret)
{
    int64_t ms = json_get_i64(d, "delay_ms", -1);

    buf_adds(ret, "tries again");
    if (ms >= 0) {
        buf_adds(ret, " in ");
        goal_show_elapsed((ms + 999) / 1000, ret);
    }
    add_text(d, "error", ": ", ret);
}

static void log_warning(const struct json *d, struct buf *ret)
{
    buf_adds(ret, "80 % used");
    add_word(d, "which", ": ", ret);
}

static void log_stall(const struct json *d, struct buf *ret)
{
    buf_addf(ret, "no change in %lld turns", (long long)json_get_i64(d, "count", 0));
    add_word(d, "action", ": ", ret);
}

static void log_blocker(const struct json *d, struct buf *ret)
{
    buf_addf(ret, "a blocker, %lld of 3", (long long)json_get_i64(d, "count", 0));
    add_text(d, "reason", ": ", ret);
}

static void log_edited(const struct json *d, struct buf *ret)
{
    (void)d;
    buf_adds(ret, "the objective was changed");
}

static void log_limits(const struct json *d, struct buf *ret)
{
    buf_adds(ret, "limits were changed");
    add_word(d, "limit", ": ", ret);
}

static void log_checks(const struct json *d, struct buf *ret)
{
    const struct json *list = json_is(d, JSON_OBJECT) ? json_get(d, "checks") : d;

    buf_addf(ret, "checks were changed: %zu now", json_len(list));
}

static void log_accept(const struct json *d, struct buf *ret)
{
    const struct json *paths = json_get(d, "paths");
    size_t n = 0;

    buf_adds(ret, "changes were accepted");
    add_count(json_len(paths), "file", ret);
    JSON_EACH(paths, p) {
        if (n++ == PATHS_MAX) {
            buf_adds(ret, " …");
            break;
        }
        buf_adds(ret, n == 1 ? ": " : " ");
        goal_show_line(json_str(p), TEXT_MAX, ret);
    }
}

static void log_cleared(const struct json *d, struct buf *ret)
{
    (void)d;
    buf_adds(ret, "cleared");
}

static void log_restored(const struct json *d, struct buf *ret)
{
    buf_adds(ret, "restored");
    add_word(d, "from", " from ", ret);
}

static void log_foreign(const struct json *d, struct buf *ret)
{
    size_t n = 0;

    buf_adds(ret, "the stored goal was changed by another program");
    JSON_EACH(json_get(d, "parts"), part) {
        buf_adds(ret, n++ ? ", " : " (");
        goal_show_line(json_str(part), WORD_MAX, ret);
    }
    buf_adds(ret, n ? "); restored" : "; restored");
}

static void log_step(const struct json *d, struct buf *ret)
{
    buf_adds(ret, "a step is kept");
    add_text(d, "ref", " as ", ret);
    add_text(d, "why", ": ", ret);
}

static void log_undo(const struct json *d, struct buf *ret)
{
    buf_adds(ret, "the workspace was set back");
    add_text(d, "ref", "; as it was before: ", ret);
}

static void log_proof(const struct json *d, struct buf *ret)
{
    if (json_get_str(d, "error").len) {
        add_text(d, "error", "no proof was recorded: ", ret);
        return;
    }
    buf_adds(ret, "the proof is recorded");
    add_text(d, "folder", " in ", ret);
}

static void log_report(const struct json *d, struct buf *ret)
{
    buf_adds(ret, "the report was written");
    add_text(d, "path", ": ", ret);
}

static const struct log_row {
    const char *kind;
    void (*show)(const struct json *d, struct buf *ret);
} log_rows[] = {
    {"set", log_set},         {"edited", log_edited},   {"limits", log_limits},
    {"checks", log_checks},   {"accept", log_accept},   {"status", log_status},
    {"verdict", log_verdict}, {"wait", log_wait},       {"wake", log_wake},
    {"retry", log_retry},     {"warning", log_warning}, {"stall", log_stall},
    {"blocker", log_blocker}, {"cleared", log_cleared}, {"restored", log_restored},
    {"foreign", log_foreign}, {"undo", log_undo},       {"report", log_report},
    {"step", log_step},       {"proof", log_proof},
};

bool goal_show_event(struct str kind, const struct json *data, struct buf *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(log_rows); i++) {
        if (str_is(kind, log_rows[i].kind)) {
            log_rows[i].show(data, ret);
            return true;
        }
    }
    return false;
}

static void log_event(const struct goal_event *e, int64_t first_ms, struct buf *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf elapsed = BUF_INIT(64);
    CLEANUP(buf_release) struct buf words = BUF_INIT(16 << 10);
    const struct json *data = NULL;

    json_parse(&arena, e->data, &data, NULL, NULL);
    if (!goal_show_event(e->kind, data, &words))
        return;
    goal_show_elapsed((e->time_ms - first_ms) / 1000, &elapsed);
    buf_addf(ret, "%10s  %s\n", buf_cstr(&elapsed), buf_cstr(&words));
}

void goal_show_log(const goal_event_vec *events, int64_t since_ms, struct buf *ret)
{
    size_t start = ret->len;

    VEC_EACH(events, e) {
        log_event(e, since_ms, ret);
    }
    if (ret->len == start)
        buf_adds(ret, "Nothing has happened yet.\n");
}
