/*
 * Passes the lines of a transcript to a style (export_style.h). Any thread.
 */
#include "host/export/export.h"

#include <time.h>

#include "agent/tool_about.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "host/export/export_style.h"
#include "host/record/typed.h"
#include "json/json.h"
#include "json/jw.h"
#include "store/index.h"
#include "store/transcript/entry.h"
#include "store/transcript/load.h"
#include "sync/cancel.h"

#define TITLE_BYTES 120

struct export
{
    const struct export_style *style;
    struct buf out;
    struct arena line;       /* the current entry */
    struct arena calls;      /* titles of calls */
    struct map titles;       /* by the call's id: struct str in calls */
    enum entry_kind speaker; /* ENTRY_OTHER = none yet */
};

void export_time(struct buf *out, int64_t time_ms)
{
    time_t seconds = (time_t)(time_ms / 1000);
    char text[32];
    struct tm tm;

    if (time_ms > 0 && localtime_r(&seconds, &tm) &&
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &tm))
        buf_adds(out, text);
}

void export_facts(const struct store_session *row,
                  void (*fn)(void *arg, const char *label, struct str value), void *arg)
{
    CLEANUP(buf_release) struct buf began = BUF_INIT(64);
    CLEANUP(buf_release) struct buf ended = BUF_INIT(64);
    CLEANUP(buf_release) struct buf messages = BUF_INIT(64);
    CLEANUP(buf_release) struct buf cost = BUF_INIT(64);

    export_time(&began, row->created_ms);
    export_time(&ended, row->last_ms);
    buf_addf(&messages, "%lld", (long long)row->messages);
    if (row->cost_usd >= 0)
        buf_addf(&cost, "$%.4f", row->cost_usd);
    fn(arg, "Session", row->id);
    fn(arg, "Folder", row->cwd);
    fn(arg, "Branch", row->branch);
    fn(arg, "Began", buf_str(&began));
    fn(arg, "Last message", buf_str(&ended));
    fn(arg, "Messages", buf_str(&messages));
    fn(arg, "Cost", buf_str(&cost));
}

/* ---- Calls and their results ---- */

/* "Bash make test": the tool and its most significant argument. */
static struct str call_title(struct export *x, const struct json *call)
{
    CLEANUP(buf_release) struct buf title = BUF_INIT(BUF_NO_LIMIT);
    struct str about = tool_about(json_get(call, "input"), /*dir=*/NULL);

    buf_add(&title, str_clip(json_get_str(call, "name"), TITLE_BYTES));
    if (about.len)
        buf_addf(&title, " %.*s%s", STR_ARG(str_clip(about, TITLE_BYTES)),
                 about.len > TITLE_BYTES ? "…" : "");
    return arena_str(&x->calls, buf_str(&title));
}

/* One member per line, texts unescaped, so that file contents are readable. */
static void call_input(const struct json *input, struct buf *out)
{
    JSON_EACH(input, it) {
        bool is_long = str_chr(json_str(it), '\n') < json_str(it).len;

        buf_addf(out, "%.*s:%c", STR_ARG(json_key(it)), is_long ? '\n' : ' ');
        if (json_is(it, JSON_STRING)) {
            buf_add(out, json_str(it));
        } else {
            struct jw w;

            jw_init(&w, out, JW_PRETTY);
            jw_json(&w, it);
        }
        buf_addc(out, '\n');
    }
}

static void tell_call(struct export *x, const struct json *call)
{
    CLEANUP(buf_release) struct buf input = BUF_INIT(BUF_NO_LIMIT);
    struct str *title = arena_new(&x->calls, struct str);

    *title = call_title(x, call);
    (void)map_set(&x->titles, json_get_str(call, "id"), title);
    call_input(json_get(call, "input"), &input);
    x->style->folded(&x->out, "Call", *title, buf_str(&input));
}

static void tell_image(struct export *x, const struct json *block)
{
    const struct json *source = json_get(block, "source");

    x->style->image(&x->out, json_get_str(source, "media_type"), json_get_str(source, "data"));
}

static void tell_result(struct export *x, const struct json *result)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const struct json *content = json_get(result, "content");
    const struct str *title = map_get(&x->titles, json_get_str(result, "tool_use_id"));

    buf_add(&text, json_str(content));
    JSON_EACH(content, it) {
        buf_add(&text, json_get_str(it, "text"));
    }
    x->style->folded(&x->out, json_get_bool(result, "is_error", false) ? "Error" : "Result",
                     title ? *title : STR(""), buf_str(&text));
    JSON_EACH(content, it) {
        if (str_is(json_get_str(it, "type"), "image"))
            tell_image(x, it);
    }
}

/* ---- Messages ---- */

static void tell_text(struct export *x, struct str text)
{
    CLEANUP(buf_release) struct buf typed = BUF_INIT(BUF_NO_LIMIT);
    struct str trimmed = str_trim(text);

    if (typed_find(trimmed, &typed)) {
        x->style->note(&x->out, buf_str(&typed));
        if (!str_starts(trimmed, STR("<bash-")))
            return;
    }
    if (trimmed.len && !str_starts(trimmed, STR("<system-reminder>")))
        x->style->text(&x->out, trimmed);
}

static void tell_block(struct export *x, const struct json *block)
{
    struct str type = json_get_str(block, "type");

    if (str_is(type, "text"))
        tell_text(x, json_get_str(block, "text"));
    else if (str_is(type, "thinking") && str_trim(json_get_str(block, "thinking")).len)
        x->style->folded(&x->out, "Thinking", STR(""), json_get_str(block, "thinking"));
    else if (str_is(type, "tool_use"))
        tell_call(x, block);
    else if (str_is(type, "tool_result"))
        tell_result(x, block);
    else if (str_is(type, "image"))
        tell_image(x, block);
    else if (str_is(type, "document"))
        x->style->note(&x->out, STR("A document was attached."));
}

/* Results are user messages only formally: they stay under the answer with the call. */
static void tell_speaker(struct export *x, const struct load_entry *e, const struct json *entry)
{
    enum entry_kind speaker = e->flags & LOAD_TOOL_RESULT ? ENTRY_ASSISTANT : e->kind;

    if (x->speaker == speaker && speaker == ENTRY_ASSISTANT)
        return;
    x->speaker = speaker;
    x->style->speaker(&x->out, speaker == ENTRY_USER ? "User" : "Assistant",
                      json_str(json_path(entry, "message.model")),
                      entry_time_parse(json_get_str(entry, "timestamp")));
}

static void tell_message(struct export *x, const struct load_entry *e, const struct json *entry)
{
    const struct json *content = json_path(entry, "message.content");

    if (e->flags & LOAD_META)
        return;
    if (e->flags & LOAD_SUMMARY) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

        buf_add(&text, json_str(content));
        JSON_EACH(content, it) {
            buf_add(&text, json_get_str(it, "text"));
        }
        x->style->folded(&x->out, "Summary", STR("of the earlier conversation"), buf_str(&text));
        return;
    }
    tell_speaker(x, e, entry);
    tell_text(x, json_str(content));
    JSON_EACH(content, it) {
        tell_block(x, it);
    }
}

static void tell_entry(struct export *x, const struct load_entry *e, const struct json *entry)
{
    if (e->kind == ENTRY_USER || e->kind == ENTRY_ASSISTANT) {
        tell_message(x, e, entry);
    } else if (e->flags & LOAD_BOUNDARY) {
        x->style->note(&x->out, STR("The conversation was summarised here."));
        x->speaker = ENTRY_OTHER;
    } else if (e->kind == ENTRY_SYSTEM && !(e->flags & LOAD_META) &&
               json_get_str(entry, "content").len) {
        x->style->note(&x->out, json_get_str(entry, "content"));
    }
}

/* ---- The document ---- */

static int export_flush(struct export *x, export_fn fn, void *arg, struct err *err)
{
    int rc = x->out.len ? fn(arg, buf_str(&x->out), err) : 0;

    buf_clear(&x->out);
    return rc;
}

static int export_entries(struct export *x, struct load *load, struct cancel *cancel, export_fn fn,
                          void *arg, struct err *err)
{
    for (size_t i = 0; i < load_count(load); i++) {
        const struct load_entry *e = load_at(load, i);
        const struct json *entry = NULL;
        struct str line;

        if (cancel_check(cancel, err) < 0 || load_read(load, e->offset, e->len, &line, err) < 0)
            return -1;
        arena_reset(&x->line);
        if (json_parse(&x->line, line, &entry, /*ret_info=*/NULL, /*err=*/NULL) == 0)
            tell_entry(x, e, entry);
        if (export_flush(x, fn, arg, err) < 0)
            return -1;
    }
    return 0;
}

static void load_freep(struct load **l)
{
    load_free(*l);
}

static void export_release(struct export *x)
{
    buf_release(&x->out);
    arena_release(&x->line);
    arena_release(&x->calls);
    map_release(&x->titles);
}

int export_session(const char *path, const struct store_session *row, enum export_format format,
                   struct cancel *cancel, export_fn fn, void *arg, struct err *err)
{
    CLEANUP(export_release)
    struct export x = {
        .style = format == EXPORT_HTML ? &export_html : &export_markdown,
        .out = BUF_INIT(BUF_NO_LIMIT),
        .speaker = ENTRY_OTHER,
    };
    CLEANUP(load_freep) struct load *load = NULL;

    if (load_open(path, &(struct load_spec){.whole = true}, cancel, &load, err) < 0)
        return -1;
    x.style->begin(&x.out, row);
    if (export_entries(&x, load, cancel, fn, arg, err) < 0)
        return -1;
    x.style->end(&x.out);
    return export_flush(&x, fn, arg, err);
}
