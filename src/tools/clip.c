/*
 * The head is filled first; what comes then goes to the tail, which is cut from the front when it
 * has become twice as long as it must be: so every byte is moved once at most. No threads.
 */
#include "tools/clip.h"

#include <string.h>

#include "base/utf8.h"

void clip_init(struct clip *c, size_t head_max, size_t tail_max)
{
    *c = (struct clip){
        .tail_max = tail_max, .head = BUF_INIT(head_max), .tail = BUF_INIT(2 * tail_max)};
}

void clip_release(struct clip *c)
{
    buf_release(&c->head);
    buf_release(&c->tail);
}

static size_t clip_count_lines(struct str s)
{
    size_t lines = 0;

    for (size_t i = 0; i < s.len; i++)
        lines += s.ptr[i] == '\n'; /* lines may be short: faster than searching */
    return lines;
}

void clip_add(struct clip *c, struct str text)
{
    size_t room = c->head.max - c->head.len;

    c->total += text.len;
    c->lines += clip_count_lines(text);
    if (!c->tail.len) {
        buf_add(&c->head, str_first(text, room));
        text = str_from(text, room);
    }
    if (text.len >= c->tail_max) {
        buf_clear(&c->tail);
        text = str_from(text, text.len - c->tail_max);
    } else if (c->tail.len + text.len > c->tail.max) {
        buf_cut(&c->tail, 0, c->tail.len + text.len - c->tail_max);
    }
    buf_add(&c->tail, text);
}

bool clip_is_whole(const struct clip *c, size_t more)
{
    return c->total + more <= c->head.max + c->tail_max;
}

/* The last bytes of the tail that are shown. */
static struct str clip_tail(const struct clip *c)
{
    struct str tail = buf_str(&c->tail);

    return tail.len > c->tail_max ? str_from(tail, tail.len - c->tail_max) : tail;
}

static struct str clip_skip_part(struct str s)
{
    while (s.len && ((unsigned char)s.ptr[0] & 0xc0) == 0x80)
        s = str_from(s, 1);
    return s;
}

struct str clip_last(const struct clip *c, size_t max, size_t lines)
{
    struct str s = c->tail.len ? clip_tail(c) : buf_str(&c->head);
    size_t at;

    while (s.len && s.ptr[s.len - 1] == '\n')
        s.len--;
    if (s.len > max)
        s = clip_skip_part(str_from(s, s.len - max));
    for (at = s.len; at > 0; at--) {
        if (s.ptr[at - 1] != '\n')
            continue;
        lines--;
        if (!lines)
            break;
    }
    return str_from(s, at);
}

/* Without the beginning of a character at the end. */
static struct str clip_drop_part(struct str s)
{
    for (size_t back = 1; back <= 3 && back <= s.len; back++) {
        struct str last = str_from(s, s.len - back);

        if (((unsigned char)last.ptr[0] & 0xc0) == 0x80)
            continue;
        return utf8_decode(last, NULL) ? s : str_first(s, s.len - back);
    }
    return s;
}

/* At a line's end, if that costs no more than half of it. */
static struct str clip_whole_lines_first(struct str s)
{
    const char *end = s.len ? memrchr(s.ptr, '\n', s.len) : NULL;

    if (end && (size_t)(end - s.ptr) >= s.len / 2)
        return str_first(s, (size_t)(end - s.ptr) + 1);
    return clip_drop_part(s);
}

static struct str clip_whole_lines_last(struct str s)
{
    size_t at = str_chr(s, '\n');

    return at < s.len / 2 ? str_from(s, at + 1) : clip_skip_part(s);
}

void clip_write(const struct clip *c, const char *path, struct buf *ret)
{
    struct str head = buf_str(&c->head);
    struct str tail = clip_tail(c);

    if (clip_is_whole(c, 0)) {
        buf_add(ret, head);
        buf_add(ret, tail);
        return;
    }
    head = clip_whole_lines_first(head);
    tail = clip_whole_lines_last(tail);
    buf_add(ret, head);
    if (!str_ends(head, STR("\n")))
        buf_addc(ret, '\n');
    buf_addf(ret, "[... %zu bytes (%zu lines) left out here", c->total - head.len - tail.len,
             c->lines - clip_count_lines(head) - clip_count_lines(tail));
    if (path)
        buf_addf(ret, "; the whole output is in %s", path);
    buf_adds(ret, " ...]\n");
    buf_add(ret, tail);
}
