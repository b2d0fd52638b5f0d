/*
 * line_window: lines before and after the window are only counted, by memchr. A character that is
 * cut by the end of a part is completed by the next one, because whole lines are gathered before
 * they are processed. Runs on tool threads.
 */
#include "tools/line_window.h"

#include "base/utf8.h"

/* Bytes of a line that are kept: characters have four at most. */
#define LINE_MAX_BYTES ((size_t)LINE_MAX_CHARS * 4 + 4)

void line_window_init(struct line_window *w, size_t first, size_t limit, size_t max_bytes)
{
    *w = (struct line_window){.first = first, .limit = limit};
    buf_init(&w->numbered, max_bytes);
    buf_init(&w->plain, max_bytes);
    buf_init(&w->line, BUF_NO_LIMIT);
}

void line_window_release(struct line_window *w)
{
    buf_release(&w->numbered);
    buf_release(&w->plain);
    buf_release(&w->line);
}

static bool line_window_wants(const struct line_window *w)
{
    return w->total + 1 >= w->first && w->shown < w->limit && !w->is_full;
}

/* Puts the gathered line into valid UTF-8 of at most LINE_MAX_CHARS; the bytes used. */
static size_t line_window_clean(struct line_window *w, struct buf *out)
{
    struct str rest = buf_str(&w->line);
    size_t chars = 0;

    /* Nearly every line. */
    if (rest.len <= LINE_MAX_CHARS && utf8_is_valid(rest) && str_chr(rest, '\0') == rest.len) {
        buf_add(out, rest);
        return rest.len;
    }
    while (rest.len && chars < LINE_MAX_CHARS) {
        size_t n = utf8_decode(rest, NULL);

        if (n && rest.ptr[0]) { /* NUL is valid, and more than some readers can take */
            buf_add(out, str_first(rest, n));
        } else {
            buf_adds(out, "\xef\xbf\xbd");
            w->bad_bytes++;
        }
        rest = str_from(rest, n ? n : 1);
        chars++;
    }
    return w->line.len - rest.len;
}

static void line_window_show(struct line_window *w)
{
    CLEANUP(buf_release) struct buf clean = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf cut = BUF_INIT(BUF_NO_LIMIT);

    if (w->line.len && w->line_bytes == w->line.len && w->line.ptr[w->line.len - 1] == '\r') {
        buf_cut(&w->line, w->line.len - 1, 1);
        w->line_bytes--;
    }
    if (line_window_clean(w, &clean) < w->line_bytes) {
        buf_addf(&cut, "… [cut: the line has %zu bytes]", w->line_bytes);
        w->cut_lines++;
    }
    /* One line always goes in: with a limit below it no call could ever advance. */
    if (w->shown && w->numbered.len + clean.len + cut.len + 24 > w->numbered.max) {
        w->is_full = true;
        return;
    }
    if (w->shown)
        buf_addc(&w->plain, '\n');
    buf_addf(&w->numbered, "%s%6zu\t", w->shown ? "\n" : "", w->total + 1);
    buf_add(&w->numbered, buf_str(&clean));
    buf_add(&w->numbered, buf_str(&cut));
    buf_add(&w->plain, buf_str(&clean));
    w->shown++;
}

static void line_window_line(struct line_window *w)
{
    if (line_window_wants(w))
        line_window_show(w);
    w->total++;
    w->line_bytes = 0;
    buf_clear(&w->line);
}

void line_window_feed(struct line_window *w, struct str text)
{
    while (text.len) {
        size_t n = str_chr(text, '\n');

        if (line_window_wants(w) && w->line.len < LINE_MAX_BYTES)
            buf_add(&w->line, str_first(str_first(text, n), LINE_MAX_BYTES - w->line.len));
        w->line_bytes += n;
        if (n < text.len)
            line_window_line(w);
        text = str_from(text, n + 1);
    }
}

void line_window_end(struct line_window *w)
{
    if (w->line_bytes)
        line_window_line(w);
}
