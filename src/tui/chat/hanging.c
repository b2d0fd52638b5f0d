/*
 * hanging: text after a mark. One logical line is put together, then broken into rows. UI thread.
 */
#include "tui/chat/hanging.h"

#include "base/secret.h"
#include "tui/screen/width.h"

#define HANGING_ROOM 20 /* cells a column needs to be worth it */

void hanging_init(struct hanging *h, struct lines *to, int cells, struct style style,
                  const char *first, const char *rest)
{
    *h = (struct hanging){
        .to = to, .cells = cells > 0 ? cells : 1, .marks = LINES_INIT, .line = LINES_INIT};
    lines_put(&h->marks, style, str_of(first));
    lines_end(&h->marks);
    if (rest)
        lines_put(&h->marks, style, str_of(rest));
    else
        lines_spaces(&h->marks, style, width_of(str_of(first)));
    lines_end(&h->marks);
}

void hanging_release(struct hanging *h)
{
    lines_release(&h->marks);
    lines_release(&h->line);
}

void hanging_put(struct hanging *h, struct style style, struct str text)
{
    CLEANUP(buf_release) struct buf clean = BUF_INIT(BUF_NO_LIMIT); /* a copy */

    if (secret_is_in(text)) {
        buf_add(&clean, text);
        secret_scrub(&clean);
        text = buf_str(&clean);
    }
    lines_put(&h->line, style, text);
}

void hanging_puts(struct hanging *h, enum style_role role, const char *text)
{
    hanging_put(h, STYLE(role), str_of(text));
}

static void hanging_cut(struct hanging *h)
{
    struct line mark = lines_at(&h->marks, h->begun ? 1 : 0);
    CLEANUP(lines_release) struct lines row = LINES_INIT;

    lines_put_line(&row, mark);
    lines_put_line(&row, lines_at(&h->line, 0));
    lines_end(&row);
    lines_add_cut(h->to, lines_at(&row, 0), h->cells, h->ascii);
}

/* How far in the further rows of "  name   what it is" are: below what it is where that leaves
 * room, else a little further than the name. Words without columns are not moved. */
static int hanging_indent(const struct hanging *h, struct str text)
{
    int room = h->cells - line_width(lines_at(&h->marks, 1));
    size_t from = 0;
    size_t gap;

    while (from < text.len && text.ptr[from] == ' ')
        from++;
    gap = from + str_find(str_from(text, from), STR("  "));
    if (gap < text.len) {
        while (gap < text.len && text.ptr[gap] == ' ')
            gap++;
        if (room - width_of(str_first(text, gap)) >= HANGING_ROOM)
            return width_of(str_first(text, gap));
    }
    return from || gap < text.len ? (int)from + 2 : 0;
}

static void hanging_wrap(struct hanging *h)
{
    struct line line = lines_at(&h->line, 0);
    CLEANUP(lines_release) struct lines rest = LINES_INIT;

    lines_put_line(&rest, lines_at(&h->marks, 1));
    if (h->lists)
        lines_spaces(&rest, STYLE(ROLE_TEXT), hanging_indent(h, line.text));
    lines_end(&rest);
    lines_wrap(h->to, line,
               &(struct wrap){
                   .cells = h->cells,
                   .first = lines_at(&h->marks, h->begun ? 1 : 0),
                   .rest = lines_at(&rest, 0),
                   .anywhere = h->anywhere,
               });
}

void hanging_end(struct hanging *h)
{
    lines_end(&h->line);
    if (h->cut)
        hanging_cut(h);
    else
        hanging_wrap(h);
    lines_clear(&h->line);
    h->begun = true;
}

void hanging_text(struct hanging *h, struct style style, struct str text)
{
    struct str line;

    while (text.len && (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == '\r'))
        text.len--;
    if (!text.len)
        return;
    while (str_cut(&text, '\n', &line)) {
        hanging_put(h, style, line);
        hanging_end(h);
    }
}
