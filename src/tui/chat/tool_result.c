/*
 * tool_result: how results are shown, one row per tool. The most useful information comes first:
 * counts of matches, changed lines, the end of a command's output. UI thread.
 */
#include "tui/chat/tool_result.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/mem.h"
#include "json/json.h"
#include "tui/chat/tool_view.h"
#include "tui/dialog/panel.h"
#include "tui/diff/diff_view.h"
#include "tui/markdown/markdown.h"
#include "tui/status/agent_rows.h"

#define RESULT_LINES 4      /* of a text */
#define RESULT_ERROR 8      /* of an error */
#define RESULT_SENTENCE 400 /* bytes of an error that is shown whole */
#define RESULT_DIFF 24      /* rows of a change */
#define RESULT_PLAN 200     /* rows of a plan */
#define RESULT_INDENT 5     /* cells, where there is room */

/* ---- Parts ---- */

static void put_line(const struct tool_result_view *r, struct style style, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

static void put_line(const struct tool_result_view *r, struct style style, const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT); /* of parts that were clipped */
    va_list args;

    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    hanging_put(r->rows, style, buf_str(&text));
    hanging_end(r->rows);
}

static size_t count_lines(struct str text)
{
    size_t n = text.len && text.ptr[text.len - 1] != '\n';

    while (text.len) {
        size_t at = str_chr(text, '\n');

        n += at < text.len;
        text = str_from(text, at + 1);
    }
    return n;
}

static struct str without_end(struct str text)
{
    while (text.len && (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == ' ' ||
                        text.ptr[text.len - 1] == '\r'))
        text.len--;
    return text;
}

static void put_more(const struct tool_result_view *r, size_t n)
{
    if (!n)
        return;
    *r->is_folded = true;
    put_line(r, STYLE(ROLE_FAINT), "%s +%zu line%s (Ctrl-O)", r->view->ascii ? "..." : "…", n,
             n == 1 ? "" : "s");
}

/* Some lines from here on; returns the rest. */
static struct str put_lines(const struct tool_result_view *r, struct style style, struct str text,
                            size_t n)
{
    while (n-- > 0 && text.ptr) {
        struct str line;

        if (!str_cut(&text, '\n', &line))
            break;
        hanging_put(r->rows, style, line);
        hanging_end(r->rows);
    }
    return text;
}

static void put_head(const struct tool_result_view *r, struct style style, struct str text,
                     size_t max)
{
    size_t n;

    text = without_end(text);
    n = count_lines(text);
    if (n == max + 1 || r->tool->is_whole)
        max = n; /* the line that reports it would be as long */
    if (text.len)
        (void)put_lines(r, style, text, max);
    put_more(r, n > max ? n - max : 0);
}

/* The end says most: how a command went. `first` lines stay in front. */
static void put_tail(const struct tool_result_view *r, struct style style, struct str text,
                     size_t first, size_t max)
{
    size_t n;

    text = without_end(text);
    n = count_lines(text);
    if (n <= max + 1 || r->tool->is_whole) {
        put_head(r, style, text, n);
        return;
    }
    text = put_lines(r, style, text, first);
    put_more(r, n - max);
    for (size_t i = 0; i < n - max; i++)
        text = str_from(text, str_chr(text, '\n') + 1);
    (void)put_lines(r, style, text, max - first);
}

/* ---- Tools ---- */

static void draw_text(const struct tool_result_view *r)
{
    put_head(r, STYLE(ROLE_FAINT), r->tool->text, RESULT_LINES);
}

static void draw_output(const struct tool_result_view *r)
{
    put_tail(r, STYLE(ROLE_FAINT), r->tool->text, 0, RESULT_LINES);
}

/* Counts of results, after the title: nothing else of it is shown. */
static void title_read(const struct tool_result_view *r, struct lines *ret)
{
    const struct json *file = json_get(r->data, "file");
    int64_t lines = json_get_i64(file, "numLines", -1);
    int64_t total = json_get_i64(file, "totalLines", -1);

    if (lines >= 0 && total > lines)
        lines_putf(ret, STYLE(ROLE_FAINT), " %" PRId64 " of %" PRId64 " lines", lines, total);
    else if (lines >= 0)
        lines_putf(ret, STYLE(ROLE_FAINT), " %" PRId64 " line%s", lines, lines == 1 ? "" : "s");
}

static void title_found(const struct tool_result_view *r, struct lines *ret)
{
    int64_t files = json_get_i64(r->data, "numFiles", -1);
    int64_t matches = json_get_i64(r->data, "numMatches", -1);
    int64_t lines = json_get_i64(r->data, "numLines", -1);

    if (matches >= 0)
        lines_putf(ret, STYLE(ROLE_FAINT), " %" PRId64 " match%s in %" PRId64 " file%s", matches,
                   matches == 1 ? "" : "es", files, files == 1 ? "" : "s");
    else if (lines >= 0)
        lines_putf(ret, STYLE(ROLE_FAINT), " %" PRId64 " line%s", lines, lines == 1 ? "" : "s");
    else if (files >= 0)
        lines_putf(ret, STYLE(ROLE_FAINT), " %" PRId64 " file%s%s", files, files == 1 ? "" : "s",
                   json_get_bool(r->data, "truncated", false) ? " and more" : "");
}

static void draw_brief(const struct tool_result_view *r)
{
    if (json_is(r->data, JSON_OBJECT) && !r->tool->is_whole)
        *r->is_folded = true;
    else
        draw_text(r);
}

/* Of a file that is new the result has no patch. */
static bool is_new_file(const struct tool_result_view *r, const struct json *patch)
{
    return !json_len(patch) && str_is(json_get_str(r->data, "type"), "create") &&
           json_get_str(r->data, "content").len;
}

static void draw_change(const struct tool_result_view *r)
{
    const struct json *patch = json_get(r->data, "structuredPatch");
    CLEANUP(lines_release) struct lines diff = LINES_INIT;
    int in = r->view->cols > 40 ? RESULT_INDENT : 0;
    size_t max = r->tool->is_whole ? 0 : RESULT_DIFF;
    struct diff_view view = {
        .patch = patch,
        .path = json_get_str(r->data, "filePath"),
        .cols = r->view->cols - in,
        .max_rows = max,
        .ascii = r->view->ascii,
    };

    if (is_new_file(r, patch)) {
        diff_view_draw_new(&view, json_get_str(r->data, "content"), &diff);
    } else if (!patch) {
        draw_text(r);
        return;
    } else if (!json_len(patch)) {
        put_line(r, STYLE(ROLE_FAINT), "nothing differs");
        return;
    } else {
        diff_view_draw(&view, &diff);
    }
    *r->is_folded = max && lines_count(&diff) >= max;
    for (size_t i = 0; i < lines_count(&diff); i++) {
        lines_spaces(r->ret, STYLE(ROLE_TEXT), in);
        lines_put_line(r->ret, lines_at(&diff, i));
        lines_end(r->ret);
    }
}

static void title_change(const struct tool_result_view *r, struct lines *ret)
{
    const struct json *patch = json_get(r->data, "structuredPatch");
    size_t added = 0, removed = 0;

    if (is_new_file(r, patch))
        added = diff_view_lines(json_get_str(r->data, "content"));
    else if (!patch)
        return;
    else
        diff_view_count(patch, &added, &removed);
    lines_putf(ret, STYLE(ROLE_GOOD), " +%zu", added);
    lines_putf(ret, STYLE(ROLE_BAD), " -%zu", removed);
}

void tool_result_todo(const struct json *todo, bool ascii, struct hanging *to)
{
    struct str status = json_get_str(todo, "status");
    bool done = str_is(status, "completed");
    bool now = str_is(status, "in_progress");
    struct style style = done  ? STYLE_WITH(ROLE_FAINT, STYLE_STRIKE)
                         : now ? STYLE_WITH(ROLE_TEXT, STYLE_BOLD)
                               : STYLE(ROLE_TEXT);

    hanging_puts(to,
                 done  ? ROLE_GOOD
                 : now ? ROLE_ACCENT
                       : ROLE_FAINT,
                 done  ? (ascii ? "[x] " : "☒ ")
                 : now ? (ascii ? "[>] " : "▸ ")
                       : (ascii ? "[ ] " : "☐ "));
    hanging_put(to, style,
                now && json_get_str(todo, "activeForm").len ? json_get_str(todo, "activeForm")
                                                            : json_get_str(todo, "content"));
    hanging_end(to);
}

static void draw_todos(const struct tool_result_view *r)
{
    const struct json *todos = json_get(r->data, "newTodos");

    if (!json_len(todos)) {
        draw_text(r);
        return;
    }
    r->rows->cut = false;
    JSON_EACH(todos, it) {
        tool_result_todo(it, r->view->ascii || r->view->plain, r->rows);
    }
}

static void draw_answers(const struct tool_result_view *r)
{
    const struct json *answers = json_get(r->data, "answers");
    struct str response = json_get_str(r->data, "response");

    r->rows->cut = false;
    JSON_EACH(answers, it) {
        hanging_put(r->rows, STYLE(ROLE_FAINT), json_key(it));
        hanging_puts(r->rows, ROLE_FAINT, r->view->ascii ? " -> " : " → ");
        hanging_put(r->rows, STYLE(ROLE_TEXT), json_str(it));
        hanging_end(r->rows);
    }
    if (response.len)
        hanging_text(r->rows, STYLE(ROLE_TEXT), response);
    if (!json_len(answers) && !response.len)
        draw_text(r);
}

static void draw_plan(const struct tool_result_view *r)
{
    CLEANUP(lines_release) struct lines lead = LINES_INIT;
    CLEANUP(lines_release) struct lines plan = LINES_INIT;
    struct str text = json_get_str(r->data, "plan");
    bool approved = json_get_bool(r->data, "approved", false);
    size_t n;

    put_line(r, STYLE(approved ? ROLE_GOOD : ROLE_WARNING),
             approved ? "the plan is approved" : "the plan is not approved");
    if (!text.len)
        return;
    lines_puts(&lead, ROLE_FAINT, "     ");
    lines_end(&lead);
    markdown_draw(text,
                  &(struct markdown_spec){.ascii = r->view->ascii,
                                          .first = lines_at(&lead, 0),
                                          .rest = lines_at(&lead, 0)},
                  r->view->cols, &plan);
    n = lines_count(&plan);
    for (size_t i = 0; i < n && i < RESULT_PLAN; i++)
        lines_add(r->ret, lines_at(&plan, i));
    put_more(r, n > RESULT_PLAN ? n - RESULT_PLAN : 0);
}

static void draw_fetch(const struct tool_result_view *r)
{
    CLEANUP(buf_release) struct buf size = BUF_INIT(64);
    int64_t bytes = json_get_i64(r->data, "bytes", -1);

    if (bytes < 0) {
        draw_text(r);
        return;
    }
    tool_view_bytes((uint64_t)bytes, &size);
    put_line(r, STYLE(ROLE_FAINT), "%" PRId64 " %.*s, %s", json_get_i64(r->data, "code", 0),
             STR_ARG(str_clip(json_get_str(r->data, "codeText"), 60)), buf_cstr(&size));
}

static void draw_search(const struct tool_result_view *r)
{
    size_t n = 0;

    if (!json_get(r->data, "results")) {
        draw_text(r);
        return;
    }
    JSON_EACH(json_get(r->data, "results"), it) {
        n += json_len(json_get(it, "content"));
    }
    put_line(r, STYLE(ROLE_FAINT), "%zu result%s", n, n == 1 ? "" : "s");
}

static void title_agent(const struct tool_result_view *r, struct lines *ret)
{
    int64_t uses = json_get_i64(r->data, "totalToolUseCount", -1);
    int64_t tokens = json_get_i64(r->data, "totalTokens", 0);
    CLEANUP(buf_release) struct buf text = BUF_INIT(200);
    const char *dot = r->view->ascii || r->view->plain ? ", " : " · ";

    if (uses < 0)
        return;
    if (uses)
        buf_addf(&text, " %" PRId64 " tool use%s", uses, uses == 1 ? "" : "s");
    if (tokens > 0) {
        buf_adds(&text, uses ? dot : " ");
        agent_rows_count(tokens, &text);
        buf_adds(&text, " tokens");
    }
    lines_put(ret, STYLE(ROLE_FAINT), buf_str(&text));
}

/* Its report, without the frame that the model reads; of one in the background that it works. */
static void draw_agent(const struct tool_result_view *r)
{
    struct str status = json_get_str(r->data, "status");
    struct str report = json_get_str(json_first(json_get(r->data, "content")), "text");

    if (r->tool->is_whole || !json_is(r->data, JSON_OBJECT)) {
        draw_text(r);
    } else if (str_is(status, "async_launched")) {
        *r->is_folded = true;
        put_line(r, STYLE(ROLE_FAINT), "works in the background");
    } else if (str_is(status, "teammate_spawned")) {
        *r->is_folded = true;
        put_line(r, STYLE(ROLE_FAINT), "%.*s has joined the team %.*s",
                 STR_ARG(str_clip(json_get_str(r->data, "name"), 100)),
                 STR_ARG(str_clip(json_get_str(r->data, "team_name"), 100)));
    } else if (report.len) {
        put_head(r, STYLE(ROLE_FAINT), report, RESULT_LINES);
    } else {
        draw_text(r);
    }
}

static const struct result_row {
    const char *tool;
    void (*draw)(const struct tool_result_view *r);
    void (*title)(const struct tool_result_view *r, struct lines *ret); /* NULL: nothing */
} result_rows[] = {
    {"Bash", draw_output, NULL},
    {"BashOutput", draw_output, NULL},
    {"Read", draw_brief, title_read},
    {"Glob", draw_brief, title_found},
    {"Grep", draw_brief, title_found},
    {"Edit", draw_change, title_change},
    {"MultiEdit", draw_change, title_change},
    {"Write", draw_change, title_change},
    {"NotebookEdit", draw_change, title_change},
    {"TodoWrite", draw_todos, NULL},
    {"AskUserQuestion", draw_answers, NULL},
    {"ExitPlanMode", draw_plan, NULL},
    {"WebFetch", draw_fetch, NULL},
    {"WebSearch", draw_search, NULL},
    {"Agent", draw_agent, title_agent},
    {"Task", draw_agent, title_agent},
};

static const struct result_row *find_row(struct str tool)
{
    for (size_t i = 0; i < ARRAY_LEN(result_rows); i++) {
        if (str_is(tool, result_rows[i].tool))
            return &result_rows[i];
    }
    return NULL;
}

bool tool_result_is_brief(struct str tool)
{
    const struct result_row *row = find_row(tool);

    return row && row->draw == draw_brief;
}

void tool_result_title(const struct tool_result_view *r, struct lines *ret)
{
    const struct result_row *row = find_row(r->tool->name);

    if (row && row->title)
        row->title(r, ret);
}

/* A sentence is read to its end; lines of output are cut. */
static void draw_error(const struct tool_result_view *r)
{
    struct str text = without_end(r->tool->text);

    if (count_lines(text) == 1 && text.len <= RESULT_SENTENCE)
        r->rows->cut = false;
    put_tail(r, STYLE(r->tool->is_denied ? ROLE_WARNING : ROLE_BAD), text, 1, RESULT_ERROR);
}

void tool_result_draw(const struct tool_result_view *r)
{
    const struct result_row *row = find_row(r->tool->name);

    if (r->tool->is_error)
        draw_error(r);
    else if (row)
        row->draw(r);
    else
        draw_text(r);
}
