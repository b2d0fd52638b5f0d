/*
 * diff_view: a structuredPatch made into lines that diff_draw.c draws. UI thread.
 */
#include "tui/diff/diff_view.h"

#include "json/json.h"
#include "tui/diff/diff_draw.h"

static size_t hunk_number(const struct json *hunk, const char *key)
{
    int64_t n = json_get_i64(hunk, key, 0);

    return n > 0 ? (size_t)n : 0;
}

static char line_kind(struct str line)
{
    return line.len ? line.ptr[0] : ' ';
}

/* The last number any line has, and how many lines there are. */
static size_t patch_extent(const struct json *patch, size_t *ret_total)
{
    size_t last = 0;

    *ret_total = 0;
    JSON_EACH(patch, hunk) {
        size_t old = hunk_number(hunk, "oldStart");
        size_t new = hunk_number(hunk, "newStart");

        JSON_EACH(json_get(hunk, "lines"), line) {
            char kind = line_kind(json_str(line));

            old += kind == '-' || kind == ' ';
            new += kind == '+' || kind == ' ';
            ++*ret_total;
        }
        if (old > last + 1)
            last = old - 1;
        if (new > last + 1)
            last = new - 1;
    }
    return last;
}

/* Every line of some files ends with one, and it is no change. */
static struct str without_return(struct str line)
{
    if (str_ends(line, STR("\r")))
        line.len--;
    return line;
}

static void draw_hunk(struct diff_draw *d, const struct json *hunk)
{
    VEC(struct diff_line) lines = VEC_INIT;
    size_t room = diff_draw_room(d);
    size_t old = hunk_number(hunk, "oldStart");
    size_t new = hunk_number(hunk, "newStart");

    JSON_EACH(json_get(hunk, "lines"), it) {
        struct str line = json_str(it);
        char kind = line_kind(line);

        if (lines.len == room)
            break;
        vec_push(&lines, ((struct diff_line){kind, kind == '-' ? old : new,
                                             without_return(str_from(line, 1))}));
        if (kind == '-' || kind == ' ')
            old++;
        if (kind == '+' || kind == ' ')
            new ++;
    }
    diff_draw_hunk(d, lines.ptr, lines.len);
    vec_release(&lines);
}

void diff_view_draw(const struct diff_view *v, struct lines *ret)
{
    struct diff_draw d;
    size_t total;

    diff_draw_begin(&d, v, patch_extent(v->patch, &total));
    JSON_EACH(v->patch, hunk) {
        if (!d.is_full)
            draw_hunk(&d, hunk);
    }
    diff_draw_end(&d, total, ret);
}

size_t diff_view_lines(struct str text)
{
    size_t count = 0;
    struct str line;

    while (text.len && str_cut(&text, '\n', &line))
        count++;
    return count;
}

void diff_view_draw_new(const struct diff_view *v, struct str text, struct lines *ret)
{
    VEC(struct diff_line) lines = VEC_INIT;
    size_t total = diff_view_lines(text);
    struct diff_draw d;
    struct str line;
    size_t room;

    diff_draw_begin(&d, v, total);
    room = diff_draw_room(&d);
    for (size_t n = 1; text.len && n <= room && str_cut(&text, '\n', &line); n++)
        vec_push(&lines, ((struct diff_line){'+', n, without_return(line)}));
    diff_draw_hunk(&d, lines.ptr, lines.len);
    diff_draw_end(&d, total, ret);
    vec_release(&lines);
}

void diff_view_count(const struct json *patch, size_t *ret_added, size_t *ret_removed)
{
    *ret_added = *ret_removed = 0;
    JSON_EACH(patch, hunk) {
        JSON_EACH(json_get(hunk, "lines"), line) {
            char kind = line_kind(json_str(line));

            *ret_added += kind == '+';
            *ret_removed += kind == '-';
        }
    }
}
