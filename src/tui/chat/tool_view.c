/*
 * tool_view: the title of a call and its output while it runs; what came of it is tool_result.c's.
 * UI thread.
 */
#include "tui/chat/tool_view.h"

#include <inttypes.h>
#include <string.h>

#include "agent/tool_about.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/image.h"
#include "base/secret.h"
#include "json/json.h"
#include "tui/chat/tool_result.h"
#include "tui/dialog/panel.h"
#include "tui/screen/width.h"

#define VIEW_NAME 60       /* bytes of a tool's name */
#define VIEW_ABOUT 2000    /* bytes of its argument */
#define VIEW_TITLE_ROWS 3  /* of a call that is done */
#define VIEW_AROUND 5      /* cells of a title: its mark, brackets */
#define VIEW_MORE 4        /* cells of the note about further lines, at most */
#define VIEW_LEAST 10      /* cells of what it is about */
#define VIEW_SHOWS_MS 1000 /* from here on the time is worth a figure */
#define VIEW_LONG_MS 10000 /* and this, when it is over */
#define VIEW_HEAD 4096     /* bytes of a picture that tell its size */

/* ---- Figures ---- */

void tool_view_elapsed(int64_t ms, struct buf *ret)
{
    int64_t s = ms > 0 ? ms / 1000 : 0;

    if (s < 60)
        buf_addf(ret, "%" PRId64 " s", s);
    else if (s < 3600)
        buf_addf(ret, "%" PRId64 " m %" PRId64 " s", s / 60, s % 60);
    else
        buf_addf(ret, "%" PRId64 " h %" PRId64 " m", s / 3600, s / 60 % 60);
}

void tool_view_bytes(uint64_t n, struct buf *ret)
{
    if (n < 1024)
        buf_addf(ret, "%" PRIu64 " bytes", n);
    else if (n < 1024 * 1024)
        buf_addf(ret, "%" PRIu64 " KB", (n + 512) / 1024);
    else
        buf_addf(ret, "%.1f MB", (double)n / (1024 * 1024));
}

/* The first bytes of base64. */
static size_t view_decode(struct str text, char *to, size_t max)
{
    uint32_t bits = 0;
    unsigned count = 0;
    size_t n = 0;

    for (size_t i = 0; i < text.len && n < max; i++) {
        static const char digits[] =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const char *at = text.ptr[i] ? strchr(digits, text.ptr[i]) : NULL;

        if (!at)
            continue;
        bits = bits << 6 | (uint32_t)(at - digits);
        count += 6;
        if (count >= 8) {
            count -= 8;
            to[n++] = (char)(bits >> count & 0xff);
        }
    }
    return n;
}

void tool_view_image(const struct json *block, bool ascii, struct buf *ret)
{
    const struct json *source = json_get(block, "source");
    struct str media = json_get_str(source, "media_type");
    struct str data = json_get_str(source, "data");
    struct str url = json_get_str(source, "url");
    struct str slash = str_from(media, str_chr(media, '/'));
    bool is_image = str_is(json_get_str(block, "type"), "image");
    size_t width = 0, height = 0;
    char head[VIEW_HEAD];

    buf_adds(ret, is_image ? "[image" : "[document");
    if (is_image && data.len)
        image_size(str_make(head, view_decode(data, head, sizeof(head))), &width, &height);
    if (width && height)
        buf_addf(ret, " %zu%s%zu", width, ascii ? "x" : "×", height);
    if (slash.len > 1)
        buf_addf(ret, " %.*s", STR_ARG(str_clip(str_from(slash, 1), 40)));
    if (data.len) {
        buf_addc(ret, ' ');
        tool_view_bytes((uint64_t)data.len * 3 / 4, ret);
    } else if (url.len) {
        buf_addf(ret, " %.*s", STR_ARG(str_clip(url, 200)));
    }
    buf_addc(ret, ']');
}

/* ---- The title ---- */

static const struct json *view_parse(struct arena *arena, struct str text)
{
    const struct json *v = NULL;

    if (text.len)
        (void)json_parse(arena, text, &v, /*ret_info=*/NULL, /*err=*/NULL);
    return v;
}

static void put_name(struct hanging *h, const struct tool_view *t)
{
    struct str name = str_is(t->name, "TodoWrite") ? STR("Todos") : t->name;

    hanging_put(h, STYLE_WITH(ROLE_TEXT, STYLE_BOLD), str_clip(name, VIEW_NAME));
}

/* goes_on: more lines of it are not shown here. */
static void put_about(struct hanging *h, struct str about, bool goes_on)
{
    if (!about.len)
        return;
    hanging_puts(h, ROLE_TEXT, "(");
    hanging_put(h, STYLE(ROLE_TEXT), str_clip(about, VIEW_ABOUT));
    if (about.len > VIEW_ABOUT)
        hanging_puts(h, ROLE_TEXT, h->ascii ? "..." : "…");
    else if (goes_on)
        hanging_puts(h, ROLE_FAINT, h->ascii ? " ..." : " …");
    hanging_puts(h, ROLE_TEXT, ")");
}

/* Text before figures is cut to make room for them: they show that it still runs. */
static void put_about_within(struct hanging *h, struct str about, bool goes_on, int cells)
{
    CLEANUP(buf_release) struct buf cut = BUF_INIT(BUF_NO_LIMIT);
    struct str first = str_first(about, str_chr(about, '\n'));

    if (cells < VIEW_LEAST || width_of(first) + (goes_on ? VIEW_MORE : 0) <= cells) {
        put_about(h, about, goes_on);
        return;
    }
    buf_add(&cut, width_first(first, cells - 3));
    buf_adds(&cut, h->ascii ? "..." : "…");
    put_about(h, buf_str(&cut), /*goes_on=*/false);
}

static void put_elapsed(struct hanging *h, int64_t ms, int64_t from_ms)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(64);

    if (ms < from_ms)
        return;
    buf_addc(&text, ' ');
    tool_view_elapsed(ms, &text);
    hanging_put(h, STYLE(ROLE_FAINT), buf_str(&text));
}

static const char *view_mark(const struct view *v)
{
    return v->plain ? "Tool: " : v->ascii ? "* " : "● ";
}

/* Of a call that was not made. */
static const char *denied_mark(const struct view *v)
{
    return v->plain ? "Tool: " : v->ascii ? "o " : "○ ";
}

/* ---- While it runs ---- */

static void running_title(const struct tool_view *t, const struct view *v, struct lines *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf about = BUF_INIT(BUF_NO_LIMIT); /* of one argument */
    CLEANUP(buf_release) struct buf figures = BUF_INIT(100);
    CLEANUP(hanging_release) struct hanging h = {0};
    const struct json *input = t->is_partial ? NULL : view_parse(&arena, t->input);

    hanging_init(&h, ret, v->cols,
                 STYLE(!t->has_ended ? ROLE_ACCENT
                       : t->is_error ? ROLE_BAD
                                     : ROLE_GOOD),
                 view_mark(v), /*rest=*/NULL);
    h.cut = true;
    h.ascii = v->ascii;
    if (t->is_partial)
        tool_about_partial(t->input, t->dir, &about);
    else
        buf_add(&about, tool_about(input, t->dir));
    put_name(&h, t);
    if (t->is_partial && t->input_bytes >= 1024) {
        buf_addc(&figures, ' ');
        tool_view_bytes(t->input_bytes, &figures);
    }
    if (t->has_ended) {
        buf_adds(&figures, t->is_error ? " failed" : " done");
    } else if (t->elapsed_ms >= VIEW_SHOWS_MS) {
        buf_addc(&figures, ' ');
        tool_view_elapsed(t->elapsed_ms, &figures);
    }
    put_about_within(&h, buf_str(&about), tool_about_goes_on(input),
                     v->cols - VIEW_AROUND - width_of(t->name) - width_of(buf_str(&figures)));
    hanging_put(&h, STYLE(ROLE_FAINT), buf_str(&figures));
    hanging_end(&h);
}

/* Where the last n lines begin. */
static size_t last_lines(struct str text, size_t n)
{
    size_t at = text.len;

    while (at > 0 && (text.ptr[at - 1] != '\n' || --n > 0))
        at--;
    return at;
}

static void running_hint(const struct tool_view *t, const struct view *v, struct lines *ret)
{
    CLEANUP(lines_release) struct lines row = LINES_INIT;

    lines_puts(&row, ROLE_FAINT, "     ");
    lines_put(&row, STYLE(ROLE_FAINT), t->hint);
    lines_end(&row);
    lines_add_cut(ret, lines_at(&row, 0), v->cols, v->ascii);
}

void tool_view_running(const struct tool_view *t, const struct view *v, size_t max_rows,
                       struct lines *ret)
{
    struct str tail = str_trim(t->progress);
    CLEANUP(hanging_release) struct hanging h = {0};
    bool has_hint = t->hint.len && max_rows > 1;

    if (!max_rows)
        return;
    max_rows -= has_hint;
    running_title(t, v, ret);
    hanging_init(&h, ret, v->cols, STYLE(ROLE_FAINT), v->ascii ? "  |  " : "  ⎿  ", /*rest=*/NULL);
    h.cut = true;
    h.ascii = v->ascii;
    if (max_rows > 1 && tail.len)
        hanging_text(&h, STYLE(ROLE_FAINT), str_from(tail, last_lines(tail, max_rows - 1)));
    if (has_hint)
        running_hint(t, v, ret);
}

/* ---- When it is done ---- */

/* Secrets are masked before parsing. */
static const struct json *view_clean(struct arena *arena, struct str text)
{
    CLEANUP(buf_release) struct buf clean = BUF_INIT(BUF_NO_LIMIT);

    if (!secret_is_in(text))
        return view_parse(arena, text);
    buf_add(&clean, text);
    secret_scrub(&clean);
    return view_parse(arena, arena_str(arena, buf_str(&clean)));
}

static void done_title(const struct tool_result_view *r, struct lines *ret)
{
    const struct tool_view *t = r->tool;
    const struct view *v = r->view;
    CLEANUP(lines_release) struct lines rows = LINES_INIT;
    CLEANUP(lines_release) struct lines behind = LINES_INIT;
    CLEANUP(hanging_release) struct hanging h = {0};
    size_t shown;

    hanging_init(&h, &rows, v->cols,
                 STYLE(t->is_denied  ? ROLE_WARNING
                       : t->is_error ? ROLE_BAD
                                     : ROLE_GOOD),
                 t->is_denied ? denied_mark(v) : view_mark(v), v->plain ? "  " : NULL);
    h.ascii = v->ascii;
    put_name(&h, t);
    put_about(&h, tool_about(r->input, t->dir), tool_about_goes_on(r->input));
    if (t->is_denied)
        hanging_puts(&h, ROLE_WARNING, " not allowed");
    else if (t->is_error && v->plain)
        hanging_puts(&h, ROLE_BAD, " failed");
    if (!t->is_error) {
        tool_result_title(r, &behind);
        lines_end(&behind);
        lines_put_line(&h.line, lines_at(&behind, 0));
    }
    put_elapsed(&h, t->elapsed_ms, VIEW_LONG_MS);
    hanging_end(&h);
    shown = lines_count(&rows) < VIEW_TITLE_ROWS ? lines_count(&rows) : VIEW_TITLE_ROWS;
    for (size_t i = 0; i < shown; i++)
        lines_add(ret, lines_at(&rows, i));
    if (shown < lines_count(&rows)) {
        lines_clear(&behind);
        lines_puts(&behind, ROLE_FAINT, v->ascii ? "  ..." : "  …");
        lines_end(&behind);
        lines_add_cut(ret, lines_at(&behind, 0), v->cols, v->ascii);
    }
}

/* Pictures among the result: a line each. */
static void done_images(const struct tool_result_view *r, struct arena *arena)
{
    const struct json *block;

    if (!str_has(r->tool->result, STR("\"source\"")))
        return;
    block = view_parse(arena, r->tool->result);
    JSON_EACH(json_get(block, "content"), it) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 10);

        if (!str_is_word_of(json_get_str(it, "type"), "image document"))
            continue;
        tool_view_image(it, r->view->ascii, &text);
        hanging_put(r->rows, STYLE(ROLE_FAINT), buf_str(&text));
        hanging_end(r->rows);
    }
}

bool tool_view_done(const struct tool_view *t, const struct view *v, struct lines *ret)
{
    bool is_folded = false;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(hanging_release) struct hanging rows = {0};
    struct tool_result_view r = {
        .tool = t,
        .view = v,
        .input = view_clean(&arena, t->input),
        .data = view_clean(&arena, t->data),
        .rows = &rows,
        .ret = ret,
        .is_folded = &is_folded,
    };

    done_title(&r, ret);
    hanging_init(&rows, ret, v->cols, STYLE(ROLE_FAINT),
                 v->plain   ? "  "
                 : v->ascii ? "  |  "
                            : "  ⎿  ",
                 /*rest=*/NULL);
    rows.cut = true;
    rows.ascii = v->ascii;
    tool_result_draw(&r);
    done_images(&r, &arena);
    return is_folded;
}
