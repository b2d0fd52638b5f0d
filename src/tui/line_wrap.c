/*
 * line_wrap: a line becomes rows. Breaks between words and between wide characters; a word that is
 * longer than a row is broken where the row is full. One thread.
 */
#include <string.h>

#include "tui/line.h"
#include "tui/width.h"

#define WRAP_MIN_ROOM 4 /* less is not worth what stands in front */

/* How far a row goes from `from`, and where the next one begins. */
struct wrap_row {
    size_t end, next;
};

/* Closing marks of Chinese and Japanese text, which never begin a row. */
static bool wrap_clings(struct str grapheme)
{
    static const char marks[] =
        "\u3001\u3002\uff0c\uff01\uff1f\uff1a\uff1b\uff09\u300d\u300f\u3011";

    return grapheme.len == 3 && memmem(marks, sizeof(marks) - 1, grapheme.ptr, 3);
}

static struct wrap_row wrap_find(struct str text, size_t from, int room, bool anywhere)
{
    struct wrap_row best = {0}; /* the last place between words */
    size_t at = from;
    bool in_text = false; /* spaces before the first word are no place to break */
    bool was_wide = false;
    int used = 0;

    if (text.len - from <= (size_t)room) /* nothing is wider than it has bytes */
        return (struct wrap_row){text.len, text.len};
    while (at < text.len) {
        int cells;
        size_t len = width_next(str_from(text, at), &cells);
        bool is_space = text.ptr[at] == ' ';
        bool is_wide = cells == 2 && len >= 3;

        if (is_space && in_text && !anywhere) {
            size_t next = at;

            while (next < text.len && text.ptr[next] == ' ')
                next++;
            best = (struct wrap_row){at, next};
            if (used + (int)(next - at) > room)
                return next < text.len ? best : (struct wrap_row){at, text.len};
            used += (int)(next - at);
            at = next;
            was_wide = false;
            continue;
        }
        if ((is_wide || was_wide) && in_text && at > from && !anywhere && text.ptr[at - 1] != ' ' &&
            !wrap_clings(str_make(text.ptr + at, len)))
            best = (struct wrap_row){at, at};
        if (used + cells > room && at > from) {
            if (best.next)
                return best;
            return (struct wrap_row){at, at};
        }
        in_text = in_text || !is_space;
        was_wide = is_wide;
        used += cells;
        at += len;
    }
    return (struct wrap_row){text.len, text.len};
}

void lines_wrap(struct lines *to, struct line l, const struct wrap *how)
{
    size_t from = 0;
    bool is_first = true;

    do {
        struct line front = is_first ? how->first : how->rest;
        int room = how->cells - line_width(front);
        struct wrap_row row;

        if (room < WRAP_MIN_ROOM && room < how->cells)
            room = how->cells;
        else
            lines_put_line(to, front);
        row = wrap_find(l.text, from, room > 0 ? room : 1, how->anywhere);
        lines_put_part(to, l, from, row.end);
        lines_end(to);
        from = row.next;
        is_first = false;
    } while (from < l.text.len);
}
