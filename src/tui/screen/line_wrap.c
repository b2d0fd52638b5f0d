/*
 * line_wrap: a line becomes rows. Breaks between words and between wide characters; a word that is
 * longer than a row is broken where the row is full. One thread.
 */
#include <string.h>

#include "tui/screen/line.h"
#include "tui/screen/width.h"

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

/* An ASCII character that nothing can be joined to: most of all text. */
static bool wrap_is_easy(struct str text, size_t at)
{
    unsigned char c = (unsigned char)text.ptr[at];

    return c >= 0x20 && c < 0x7f && (at + 1 == text.len || (unsigned char)text.ptr[at + 1] < 0x80);
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
        int cells = 1;
        size_t len = wrap_is_easy(text, at) ? 1 : width_next(str_from(text, at), &cells);
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

/* The cells after the prefix, and whether the prefix is dropped. */
static int wrap_room(struct line front, const struct wrap *how, bool *ret_bare)
{
    int room = how->cells - line_width(front);

    *ret_bare = room < WRAP_MIN_ROOM && room < how->cells;
    if (*ret_bare)
        room = how->cells;
    return room > 0 ? room : 1;
}

void lines_wrap(struct lines *to, struct line l, const struct wrap *how)
{
    size_t from = 0;
    bool is_first = true;

    do {
        struct line front = is_first ? how->first : how->rest;
        bool is_bare;
        int room = wrap_room(front, how, &is_bare);
        struct wrap_row row;

        if (!is_bare)
            lines_put_line(to, front);
        row = wrap_find(l.text, from, room, how->anywhere);
        lines_put_part(to, l, from, row.end);
        lines_end(to);
        from = row.next;
        is_first = false;
    } while (from < l.text.len);
}

size_t lines_wrap_count(struct line l, const struct wrap *how)
{
    size_t from = 0;
    size_t rows = 0;

    do {
        bool is_bare;
        int room = wrap_room(rows ? how->rest : how->first, how, &is_bare);

        from = wrap_find(l.text, from, room, how->anywhere).next;
        rows++;
    } while (from < l.text.len);
    return rows;
}
