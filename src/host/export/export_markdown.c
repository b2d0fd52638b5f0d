/*
 * Exports a session as markdown. Pure functions.
 */
#include "base/buf.h"
#include "host/export/export_style.h"
#include "store/index.h"

/* Headings and labels must be one line. */
static void add_line(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        buf_addc(out, (unsigned char)text.ptr[i] < ' ' ? ' ' : text.ptr[i]);
}

/* Puts the text in backticks, where no other markup applies. */
static void add_code(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i] == '`' ? '\'' : text.ptr[i];

        buf_addc(out, (unsigned char)c < ' ' ? ' ' : c);
    }
}

static void add_fact(void *arg, const char *label, struct str value)
{
    if (!value.len)
        return;
    buf_addf(arg, "- %s: ", label);
    add_line(arg, value);
    buf_addc(arg, '\n');
}

static void md_begin(struct buf *out, const struct store_session *row)
{
    buf_adds(out, "# ");
    add_line(out, index_name(row).len ? index_name(row) : STR("Session"));
    buf_adds(out, "\n\n");
    export_facts(row, add_fact, out);
}

static void md_speaker(struct buf *out, const char *who, struct str model, int64_t time_ms)
{
    buf_addf(out, "\n## %s", who);
    if (model.len) {
        buf_adds(out, " (");
        add_line(out, model);
        buf_addc(out, ')');
    }
    if (time_ms > 0)
        buf_adds(out, ", ");
    export_time(out, time_ms);
    buf_addc(out, '\n');
}

static void md_text(struct buf *out, struct str text)
{
    buf_addf(out, "\n%.*s\n", STR_ARG(text));
}

/* The longest run of backticks in the text: the fence must be longer. */
static size_t longest_run(struct str text)
{
    size_t longest = 0;
    size_t run = 0;

    for (size_t i = 0; i < text.len; i++) {
        run = text.ptr[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static void md_folded(struct buf *out, const char *kind, struct str title, struct str text)
{
    size_t fence = longest_run(text) < 3 ? 3 : longest_run(text) + 1;

    buf_addf(out, "\n**%s**", kind);
    if (title.len) {
        buf_adds(out, " `");
        add_code(out, title);
        buf_addc(out, '`');
    }
    buf_addc(out, '\n');
    if (!str_trim(text).len)
        return;
    for (int end = 0; end < 2; end++) {
        buf_addc(out, '\n');
        for (size_t i = 0; i < fence; i++)
            buf_addc(out, '`');
        if (end)
            break;
        buf_addc(out, '\n');
        buf_add(out, str_ends(text, STR("\n")) ? str_first(text, text.len - 1) : text);
    }
    buf_addc(out, '\n');
}

static void md_image(struct buf *out, struct str media_type, struct str base64)
{
    buf_addf(out, "\n*(an image, %.*s, %zu KB)*\n", STR_ARG(str_clip(media_type, 40)),
             base64.len * 3 / 4 / 1024);
}

static void md_note(struct buf *out, struct str text)
{
    buf_adds(out, "\n*");
    add_line(out, text);
    buf_adds(out, "*\n");
}

static void md_end(struct buf *out)
{
    (void)out;
}

const struct export_style export_markdown = {
    .begin = md_begin,
    .speaker = md_speaker,
    .text = md_text,
    .folded = md_folded,
    .image = md_image,
    .note = md_note,
    .end = md_end,
};
