/*
 * One file, searched. Small files (nearly all) are one read and one look for a literal; what passes
 * that is decoded, matched and shown. Tool and walk threads.
 */
#include "tools/search/grep_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/pinned.h"
#include "base/utf8.h"
#include "tools/decode.h"
#include "tools/search/grep_pattern.h"

#define WINDOW_BYTES ((size_t)1 << 20)
#define CHUNK_BYTES ((size_t)64 << 10) /* ripgrep's: what it has read when it meets a NUL */
#define SHOWN_MAX_BYTES ((size_t)8 << 20)

struct grep_searcher {
    const struct grep_job *job;
    struct grep_matcher *matcher;
    struct buf raw;  /* as read */
    struct buf text; /* decoded, when that is something else */
};

/* A text that is gone through from top to bottom; offsets are into it. */
struct page {
    const struct grep_job *job;
    struct grep_matcher *matcher;
    struct str text;
    struct grep_found *found;
    size_t counted;     /* up to here … */
    size_t line;        /* … this many newlines were seen */
    size_t shown;       /* up to here lines are shown or known not to be */
    size_t after_left;  /* lines of context still to show after the last match */
    bool any;           /* something is shown */
    bool full;          /* nothing more is wanted of this file */
    bool pattern_fails; /* the pattern, not the file */
    bool is_binary;     /* a NUL was seen, and job->binary */
};

void grep_found_release(struct grep_found *f)
{
    free(f->path);
    buf_release(&f->text);
}

struct grep_searcher *grep_searcher_new(const struct grep_job *job)
{
    struct grep_searcher *s = mem_zalloc(sizeof(*s));

    s->job = job;
    s->matcher = grep_matcher_new(job->pattern);
    buf_init(&s->raw, GREP_MAX_WHOLE + WINDOW_BYTES);
    buf_init(&s->text, 4 * (GREP_MAX_WHOLE + WINDOW_BYTES));
    return s;
}

void grep_searcher_free(struct grep_searcher *s)
{
    if (!s)
        return;
    grep_matcher_free(s->matcher);
    buf_release(&s->raw);
    buf_release(&s->text);
    free(s);
}

/* --- showing lines --------------------------------------------------------------------------- */

static size_t newlines(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++)
        n += s.ptr[i] == '\n';
    return n;
}

/* The number of the line that starts at `at`, from 1; at never goes back by more than was shown. */
static size_t page_number(struct page *p, size_t at)
{
    if (at >= p->counted)
        p->line += newlines(str_make(p->text.ptr + p->counted, at - p->counted));
    else
        p->line -= newlines(str_make(p->text.ptr + at, p->counted - at));
    p->counted = at;
    return p->line + 1;
}

void grep_line_clip(struct str line, size_t match, size_t max, struct buf *ret)
{
    size_t from = match > max / 4 ? match - max / 4 : 0;
    struct str part;

    if (!max || line.len <= max) {
        buf_add(ret, line);
        return;
    }
    if (line.len - from < max)
        from = line.len - max;
    while (from < line.len && ((unsigned char)line.ptr[from] & 0xc0) == 0x80)
        from++;
    part = str_clip(str_from(line, from), max);
    if (from)
        buf_addf(ret, "[%zu bytes] ", from);
    buf_add(ret, part);
    if (from + part.len < line.len)
        buf_addf(ret, " [%zu bytes]", line.len - from - part.len);
}

static void page_show(struct page *p, char mark, size_t start, size_t end, size_t match)
{
    struct buf *out = &p->found->text;
    struct str line = str_make(p->text.ptr + start, end - start);

    if (p->found->lines >= p->job->max_lines || out->len > SHOWN_MAX_BYTES) {
        p->full = true;
        p->found->cut = true;
        return;
    }
    buf_addc(out, mark);
    if (p->job->numbers)
        buf_addf(out, "%zu%c", page_number(p, start), mark);
    if (p->is_binary) {
        size_t at = out->len;

        buf_adds(out, "[binary file matches] ");
        grep_line_clip(line, match, p->job->max_columns, out);
        for (; at < out->len; at++)
            out->ptr[at] = (unsigned char)out->ptr[at] < ' ' ? '.' : out->ptr[at];
    } else {
        grep_line_clip(line, match, p->job->max_columns, out);
    }
    buf_addc(out, '\n');
    p->found->lines++;
    p->shown = end + 1;
    p->any = true;
}

static size_t line_end(struct str text, size_t start)
{
    return start + str_chr(str_from(text, start), '\n');
}

/* Lines of context after the last match, up to `end`. */
static void page_after(struct page *p, size_t end)
{
    while (p->after_left && p->shown < end && !p->full) {
        size_t start = p->shown;

        p->after_left--;
        page_show(p, GREP_LINE_CONTEXT, start, line_end(p->text, start), 0);
    }
}

static void page_before(struct page *p, size_t start)
{
    size_t from = start;

    for (size_t i = 0; i < p->job->before && from > p->shown && from > 0; i++) {
        const char *newline = from > 1 ? memrchr(p->text.ptr, '\n', from - 1) : NULL;

        from = newline ? (size_t)(newline - p->text.ptr) + 1 : 0;
    }
    if (from < p->shown)
        from = p->shown;
    if (p->any && from > p->shown && (p->job->before || p->job->after)) {
        buf_addc(&p->found->text, GREP_LINE_GAP);
        buf_addc(&p->found->text, '\n');
    }
    while (from < start && !p->full) {
        size_t end = line_end(p->text, from);

        page_show(p, GREP_LINE_CONTEXT, from, end, 0);
        from = end + 1;
    }
}

/* A line that matches, with its context. */
static void page_match(struct page *p, struct grep_span line, size_t match)
{
    if (p->job->mode != GREP_CONTENT)
        return;
    page_after(p, line.start);
    page_before(p, line.start);
    if (!p->full)
        page_show(p, GREP_LINE_MATCH, line.start, line.end, match);
    p->after_left = p->job->after;
}

/* Where the match of a long line is, so that it is cut around it. */
static size_t page_match_in(struct page *p, struct grep_span line)
{
    struct grep_span match;

    if (p->job->mode != GREP_CONTENT || !p->job->max_columns ||
        line.end - line.start <= p->job->max_columns)
        return 0;
    if (grep_matcher_match(p->matcher, line.start, &match, NULL) > 0 && match.start >= line.start &&
        match.start <= line.end)
        return match.start - line.start;
    return 0;
}

/* --- searching ------------------------------------------------------------------------------- */

static int page_lines(struct page *p, size_t from, struct err *err)
{
    while (from < p->text.len && !p->full) {
        struct grep_span line;
        int found = grep_matcher_line(p->matcher, from, &line, err);

        if (found < 0)
            p->pattern_fails = true;
        if (found <= 0)
            return found;
        p->found->count++;
        p->full = p->job->mode == GREP_FILES;
        page_match(p, line, page_match_in(p, line));
        from = line.end + 1;
    }
    return 0;
}

/* The lines that a match touches. */
static struct grep_span page_around(const struct page *p, struct grep_span match)
{
    const char *before = memrchr(p->text.ptr, '\n', match.start);
    size_t last = match.end > match.start ? match.end - 1 : match.start;

    return (struct grep_span){before ? (size_t)(before - p->text.ptr) + 1 : 0,
                              line_end(p->text, last)};
}

static int page_matches(struct page *p, struct err *err)
{
    size_t from = 0;
    size_t done = 0; /* lines before this have been counted in */

    while (from < p->text.len && !p->full) {
        struct grep_span match, lines;
        int found = grep_matcher_match(p->matcher, from, &match, err);

        if (found < 0)
            p->pattern_fails = true;
        if (found <= 0 || match.start >= p->text.len)
            return found < 0 ? found : 0;
        lines = page_around(p, match);
        if (!p->job->binary && memchr(p->text.ptr + lines.start, '\0', lines.end - lines.start))
            return 0; /* what follows is binary */
        p->found->count++;
        p->full = p->job->mode == GREP_FILES;
        for (size_t at = lines.start > done ? lines.start : done; at <= lines.end && !p->full;) {
            size_t end = line_end(p->text, at);

            page_match(p, (struct grep_span){at, end},
                       match.start > at && match.start < end ? match.start - at : 0);
            at = end + 1;
            done = at;
        }
        from = match.end > match.start ? match.end : match.end + 1;
        while (from < p->text.len && ((unsigned char)p->text.ptr[from] & 0xc0) == 0x80)
            from++;
    }
    return 0;
}

/* How much of a text with a NUL ripgrep would have searched before it met it. */
static size_t text_before_nul(struct str text, size_t nul)
{
    size_t start = 0;

    while (start + CHUNK_BYTES <= nul) {
        const char *newline = memrchr(text.ptr + start, '\n', CHUNK_BYTES);

        if (!newline)
            break;
        start = (size_t)(newline - text.ptr) + 1;
    }
    return start;
}

/* Searches decoded text; `from` skips lines kept for context. False at the first NUL. */
static int page_search(struct page *p, struct str text, size_t from, bool is_ascii,
                       bool *ret_goes_on, struct err *err)
{
    const char *nul;

    *ret_goes_on = true;
    if (p->job->binary) {
        p->is_binary = p->is_binary || memchr(text.ptr, '\0', text.len);
    } else if (p->job->multiline) {
        nul = memchr(text.ptr, '\0', text.len < CHUNK_BYTES ? text.len : CHUNK_BYTES);
        if (nul)
            return 0;
    } else {
        nul = memchr(text.ptr + from, '\0', text.len - from);
        if (nul) {
            *ret_goes_on = false;
            if (p->job->mode == GREP_COUNT) {
                p->found->count = 0;
                return 0;
            }
            text.len = from ? from : text_before_nul(text, (size_t)(nul - text.ptr));
        }
    }
    p->text = text;
    grep_matcher_text(p->matcher, text, is_ascii);
    if ((p->job->multiline ? page_matches(p, err) : page_lines(p, from, err)) < 0)
        return -1;
    if (!p->full)
        page_after(p, text.len);
    return 0;
}

/* --- reading --------------------------------------------------------------------------------- */

/* Reads until there are `want` bytes in all or the file ends; *ret_end says which. */
static int raw_fill(struct buf *raw, int fd, size_t want, bool *ret_end, struct err *err)
{
    *ret_end = false;
    while (raw->len < want) {
        char *room = buf_room(raw, want - raw->len);
        ssize_t n = room ? read(fd, room, want - raw->len) : -1;

        if (!room)
            return buf_check(raw, err);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, ERR_IO, "cannot be read");
        if (n == 0) {
            *ret_end = true;
            return 0;
        }
        buf_grown(raw, (size_t)n);
    }
    return 0;
}

/* bytes as text: themselves when they are clean, else decoded at the end of s->text. */
static struct str searcher_decode(struct grep_searcher *s, struct str bytes, bool *ret_is_ascii)
{
    *ret_is_ascii = decode_is_ascii(bytes);
    if (*ret_is_ascii || utf8_is_valid(bytes))
        return bytes;
    buf_clear(&s->text);
    decode_utf8(bytes, &s->text);
    return buf_str(&s->text);
}

/* The whole file is in raw. */
static int searcher_whole(struct grep_searcher *s, struct page *p, enum encoding encoding,
                          size_t mark_len, struct err *err)
{
    struct str bytes = str_from(buf_str(&s->raw), mark_len);
    bool is_ascii = false;
    bool goes_on;

    if (encoding == ENCODING_UTF8) {
        if (!grep_matcher_may_match(s->matcher, bytes))
            return 0;
        bytes = searcher_decode(s, bytes, &is_ascii);
    } else {
        buf_clear(&s->text);
        decode_from(encoding, bytes, &s->text);
        bytes = buf_str(&s->text);
    }
    return page_search(p, bytes, 0, is_ascii, &goes_on, err);
}

/* Drops everything above the last lines that may be shown as context. */
static size_t page_scroll(struct page *p, struct buf *text)
{
    size_t keep = text->len;

    if (p->job->mode == GREP_CONTENT && p->job->numbers)
        (void)page_number(p, text->len);
    for (size_t i = 0; i < p->job->before && keep > 0; i++) {
        const char *newline = keep > 1 ? memrchr(text->ptr, '\n', keep - 1) : NULL;

        keep = newline ? (size_t)(newline - text->ptr) + 1 : 0;
    }
    buf_cut(text, 0, keep);
    p->counted -= p->counted < keep ? p->counted : keep;
    p->shown = p->shown < keep ? 0 : p->shown - keep;
    return text->len;
}

/* A file larger than a window: whole lines are decoded and searched, the rest waits for more. */
static int searcher_windows(struct grep_searcher *s, struct page *p, int fd, size_t mark_len,
                            struct err *err)
{
    size_t from = 0;
    bool end = false;
    bool goes_on = true;

    buf_clear(&s->text);
    buf_cut(&s->raw, 0, mark_len);
    while (goes_on && !p->full) {
        const char *newline = s->raw.len ? memrchr(s->raw.ptr, '\n', s->raw.len) : NULL;
        size_t take = end ? s->raw.len : newline ? (size_t)(newline - s->raw.ptr) + 1 : 0;

        if (take) {
            decode_utf8(str_first(buf_str(&s->raw), take), &s->text);
            buf_cut(&s->raw, 0, take);
            if (page_search(p, buf_str(&s->text), from, decode_is_ascii(buf_str(&s->text)),
                            &goes_on, err) < 0)
                return -1;
            from = page_scroll(p, &s->text);
        }
        if (end)
            break;
        if (s->raw.len >= GREP_MAX_WHOLE)
            return err_set(err, ERR_TOO_BIG, "has a line longer than %zu MB", GREP_MAX_WHOLE >> 20);
        if (raw_fill(&s->raw, fd, s->raw.len + WINDOW_BYTES, &end, err) < 0)
            return -1;
    }
    return 0;
}

static int searcher_read(struct grep_searcher *s, struct page *p, int fd, struct err *err)
{
    enum encoding encoding;
    size_t mark_len;
    bool end;

    buf_clear(&s->raw);
    if (raw_fill(&s->raw, fd, WINDOW_BYTES, &end, err) < 0)
        return -1;
    encoding = decode_mark(buf_str(&s->raw), &mark_len);
    if (!end && (encoding != ENCODING_UTF8 || s->job->multiline)) {
        if (raw_fill(&s->raw, fd, GREP_MAX_WHOLE, &end, err) < 0)
            return -1;
        if (!end)
            return err_set(err, ERR_TOO_BIG, "is larger than %zu MB", GREP_MAX_WHOLE >> 20);
    }
    return end ? searcher_whole(s, p, encoding, mark_len, err)
               : searcher_windows(s, p, fd, mark_len, err);
}

int grep_searcher_file(struct grep_searcher *s, int dir_fd, const char *path,
                       struct grep_found *ret, bool *ret_is_pattern, struct err *err)
{
    CLEANUP(fd_closep) int fd = pinned_open_at(dir_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    struct grep_found found = {.text = BUF_INIT(2 * SHOWN_MAX_BYTES + GREP_MAX_WHOLE)};
    struct page page = {.job = s->job, .matcher = s->matcher, .found = &found};
    struct stat st;
    int rc;

    *ret_is_pattern = false;
    if (fd < 0 && errno == ELOOP)
        return err_set(err, ERR_IO, "is a link, which is not followed");
    if (fd < 0)
        return err_sys(err, ERR_IO, "cannot be opened");
    rc = searcher_read(s, &page, fd, err);
    *ret_is_pattern = page.pattern_fails;
    if (s->raw.cap > 4 * WINDOW_BYTES) /* do not keep a giant buffer */
        buf_release(&s->raw);
    if (rc < 0 || !found.count) {
        grep_found_release(&found);
        return rc < 0 ? -1 : 0;
    }
    if (fstat(fd, &st) == 0)
        found.mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    found.path = mem_dup(path, strlen(path));
    *ret = found;
    return 1;
}
