/*
 * Exports a session as one HTML page. Pure functions.
 *
 * All text goes through add_escaped(); the only exception is image data, which must be plain base64
 * of a passive type. The policy in the head blocks anything that might have been overlooked.
 */
#include "base/buf.h"
#include "base/utf8.h"
#include "host/export/export_style.h"
#include "store/index.h"

static const char head[] =
    "<!doctype html>\n"
    "<html lang=\"en\">\n"
    "<head>\n"
    "<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "style-src 'unsafe-inline'; img-src data:\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<title>";

static const char style[] =
    "</title>\n"
    "<style>\n"
    ":root { color-scheme: light dark; --text: #1d2126; --dim: #5f6873; --back: #ffffff;\n"
    "  --box: #f3f5f7; --line: #d8dde3; --user: #e9f1fb; --bad: #b3261e; }\n"
    "@media (prefers-color-scheme: dark) { :root { --text: #e3e6ea; --dim: #98a2ad;\n"
    "  --back: #15181c; --box: #1e2329; --line: #363d45; --user: #1c2a3a; --bad: #ff8a80; } }\n"
    "body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 52rem; color: var(--text);\n"
    "  background: var(--back); font: 1rem/1.55 system-ui, sans-serif; }\n"
    "h1 { font-size: 1.4rem; overflow-wrap: anywhere; }\n"
    "h2 { font-size: .9rem; margin: 1.8rem 0 .4rem; color: var(--dim); }\n"
    "h2 b { color: var(--text); }\n"
    "dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem;\n"
    "  color: var(--dim); font-size: .9rem; }\n"
    "dd { margin: 0; overflow-wrap: anywhere; }\n"
    "p { white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; }\n"
    ".user { background: var(--user); border-radius: .4rem; padding: .3rem .8rem; }\n"
    ".note { color: var(--dim); font-style: italic; text-align: center; }\n"
    "pre { background: var(--box); border-radius: .4rem; padding: .6rem .8rem; margin: .5rem 0;\n"
    "  font: .85rem/1.45 ui-monospace, monospace; white-space: pre-wrap;\n"
    "  overflow-wrap: anywhere; }\n"
    "details { border: 1px solid var(--line); border-radius: .4rem; margin: .4rem 0;\n"
    "  padding: .2rem .7rem; }\n"
    "details.error summary b { color: var(--bad); }\n"
    "summary { cursor: pointer; font-size: .9rem; overflow-wrap: anywhere; }\n"
    "img { max-width: 100%; }\n"
    "</style>\n"
    "</head>\n"
    "<body>\n";

/* Invalid bytes are shown as such; markup is escaped. */
static void add_escaped(struct buf *out, struct str text)
{
    while (text.len) {
        size_t len = utf8_decode(text, NULL);
        unsigned char c = (unsigned char)text.ptr[0];

        if (!len || c == 0x7f || (c < ' ' && c != '\n' && c != '\t'))
            buf_adds(out, "\xef\xbf\xbd");
        else if (c == '&')
            buf_adds(out, "&amp;");
        else if (c == '<')
            buf_adds(out, "&lt;");
        else if (c == '>')
            buf_adds(out, "&gt;");
        else if (c == '"')
            buf_adds(out, "&quot;");
        else if (c == '\'')
            buf_adds(out, "&#39;");
        else
            buf_add(out, str_first(text, len));
        text = str_from(text, len ? len : 1);
    }
}

static void add_fact(void *arg, const char *label, struct str value)
{
    if (!value.len)
        return;
    buf_addf(arg, "<dt>%s</dt><dd>", label);
    add_escaped(arg, value);
    buf_adds(arg, "</dd>\n");
}

static void html_begin(struct buf *out, const struct store_session *row)
{
    struct str name = index_name(row).len ? index_name(row) : STR("Session");

    buf_adds(out, head);
    add_escaped(out, name);
    buf_adds(out, style);
    buf_adds(out, "<h1>");
    add_escaped(out, name);
    buf_adds(out, "</h1>\n<dl>\n");
    export_facts(row, add_fact, out);
    buf_adds(out, "</dl>\n<div>\n");
}

static void html_speaker(struct buf *out, const char *who, struct str model, int64_t time_ms)
{
    buf_addf(out, "</div>\n<h2><b>%s</b> ", who);
    add_escaped(out, model);
    buf_addc(out, ' ');
    export_time(out, time_ms);
    buf_addf(out, "</h2>\n<div%s>\n", str_is(str_of(who), "User") ? " class=\"user\"" : "");
}

static void add_paragraph(struct buf *out, struct str text)
{
    text = str_trim(text);
    if (!text.len)
        return;
    buf_adds(out, "<p>");
    add_escaped(out, text);
    buf_adds(out, "</p>\n");
}

static void add_code(struct buf *out, struct str text)
{
    buf_adds(out, "<pre>");
    add_escaped(out, text);
    buf_adds(out, "</pre>\n");
}

/* Plain text unchanged, except code blocks. */
static void html_text(struct buf *out, struct str text)
{
    const char *from = text.ptr; /* start of the part not written yet */
    struct str rest = text;
    struct str line;
    bool in_code = false;

    while (str_cut(&rest, '\n', &line)) {
        const char *next = rest.len ? rest.ptr : text.ptr + text.len;

        if (!str_starts(str_trim(line), STR("```")))
            continue;
        if (in_code)
            add_code(out, str_make(from, (size_t)(line.ptr - from)));
        else
            add_paragraph(out, str_make(from, (size_t)(line.ptr - from)));
        in_code = !in_code;
        from = next;
    }
    text = str_make(from, (size_t)(text.ptr + text.len - from));
    if (in_code)
        add_code(out, text);
    else
        add_paragraph(out, text);
}

static void html_folded(struct buf *out, const char *kind, struct str title, struct str text)
{
    buf_addf(out, "<details%s><summary><b>%s</b> ",
             str_is(str_of(kind), "Error") ? " class=\"error\"" : "", kind);
    add_escaped(out, title);
    buf_adds(out, "</summary>\n");
    add_code(out, text);
    buf_adds(out, "</details>\n");
}

static bool is_base64(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!str_is_alnum(s.ptr[i]) && s.ptr[i] != '+' && s.ptr[i] != '/' && s.ptr[i] != '=')
            return false;
    }
    return s.len > 0;
}

static void html_image(struct buf *out, struct str media_type, struct str base64)
{
    if (!str_is_word_of(media_type, "image/png image/jpeg image/gif image/webp") ||
        !is_base64(base64)) {
        buf_adds(out, "<p class=\"note\">An image was here.</p>\n");
        return;
    }
    buf_addf(out,
             "<details><summary><b>Image</b> %.*s</summary>\n<img alt=\"\" src=\"data:%.*s;base64,",
             STR_ARG(media_type), STR_ARG(media_type));
    buf_add(out, base64);
    buf_adds(out, "\"></details>\n");
}

static void html_note(struct buf *out, struct str text)
{
    buf_adds(out, "<p class=\"note\">");
    add_escaped(out, text);
    buf_adds(out, "</p>\n");
}

static void html_end(struct buf *out)
{
    buf_adds(out, "</div>\n</body>\n</html>\n");
}

const struct export_style export_html = {
    .begin = html_begin,
    .speaker = html_speaker,
    .text = html_text,
    .folded = html_folded,
    .image = html_image,
    .note = html_note,
    .end = html_end,
};
