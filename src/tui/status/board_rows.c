/*
 * board_rows: a subject is cut so that the owner and the blockers after it are still seen. UI
 * thread.
 */
#include "tui/status/board_rows.h"

#include <inttypes.h>

#include "base/buf.h"
#include "tui/screen/width.h"

#define SUBJECT_LEAST 8 /* cells of a subject; with less room it has the whole row */

static void put_mark(enum item_status s, bool ascii, struct lines *row)
{
    switch (s) {
    case ITEM_COMPLETED:
        lines_puts(row, ROLE_GOOD, ascii ? "x" : "✔");
        break;
    case ITEM_IN_PROGRESS:
        lines_puts(row, ROLE_ACCENT, ascii ? "*" : "◼");
        break;
    default:
        lines_puts(row, ROLE_FAINT, ascii ? "o" : "◻");
    }
}

static void put_subject(const struct work_item *i, int room, bool ascii, struct lines *row)
{
    CLEANUP(lines_release) struct lines whole = LINES_INIT;
    CLEANUP(lines_release) struct lines cut = LINES_INIT;
    enum style_role role = i->status == ITEM_COMPLETED ? ROLE_FAINT : ROLE_TEXT;

    lines_put(&whole, STYLE(role), str_first(i->subject, str_chr(i->subject, '\n')));
    lines_end(&whole);
    lines_add_cut(&cut, lines_at(&whole, 0), room, ascii);
    lines_put_line(row, lines_at(&cut, 0));
}

static void draw_item(struct board *b, const struct work_item *i, bool is_gone,
                      const struct view *v, struct lines *ret)
{
    CLEANUP(lines_release) struct lines row = LINES_INIT;
    CLEANUP(buf_release) struct buf after = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf blockers = BUF_INIT(BUF_NO_LIMIT);
    int room;

    if (i->owner.len && i->status != ITEM_COMPLETED)
        buf_addf(&after, "  %.*s%s", STR_ARG(i->owner), is_gone ? " (gone)" : "");
    if (i->status != ITEM_COMPLETED && board_is_blocked(b, i, &blockers))
        buf_addf(&after, "  %s blocked by %s", v->ascii ? ">" : "›", buf_cstr(&blockers));
    lines_puts(&row, ROLE_TEXT, "  ");
    put_mark(i->status, v->ascii, &row);
    lines_putf(&row, STYLE(ROLE_FAINT), " #%" PRId64 " ", i->id);
    room = v->cols - lines_column(&row) - width_of(buf_str(&after));
    if (room < SUBJECT_LEAST)
        room = v->cols - lines_column(&row);
    put_subject(i, room, v->ascii, &row);
    lines_put(&row, STYLE(ROLE_FAINT), buf_str(&after));
    lines_end(&row);
    lines_add_cut(ret, lines_at(&row, 0), v->cols, v->ascii);
}

static void draw_rest(const char *text, const struct view *v, struct lines *ret)
{
    CLEANUP(lines_release) struct lines row = LINES_INIT;

    lines_putf(&row, STYLE(ROLE_FAINT), "  %s", text);
    lines_end(&row);
    lines_add_cut(ret, lines_at(&row, 0), v->cols, v->ascii);
}

void board_rows_draw(struct board *b, bool (*is_gone)(void *arg, struct str owner), void *arg,
                     const struct view *v, struct lines *ret)
{
    CLEANUP(buf_release) struct buf rest = BUF_INIT(100);
    size_t open = 0, done = 0, seen_done = 0, open_left, done_left, most;

    if (v->rows < 1)
        return;
    VEC_EACH(&b->items, i) {
        done += i->status == ITEM_COMPLETED;
    }
    open = b->items.len - done;
    most = (size_t)v->rows - (v->rows > 1); /* a row for the rest */
    open_left = open < BOARD_ROWS_OPEN ? open : BOARD_ROWS_OPEN;
    open_left = open_left < most ? open_left : most;
    done_left = done < BOARD_ROWS_DONE ? done : BOARD_ROWS_DONE;
    done_left = done_left < most - open_left ? done_left : most - open_left;
    if (!b->items.len)
        draw_rest("The task list is empty", v, ret);
    if (open > open_left)
        buf_addf(&rest, "%s %zu more open", v->ascii ? "..." : "…", open - open_left);
    if (done > done_left)
        buf_addf(&rest, "%s%zu more done",
                 rest.len   ? ", "
                 : v->ascii ? "... "
                            : "… ",
                 done - done_left);
    VEC_EACH(&b->items, i) {
        bool is_done = i->status == ITEM_COMPLETED;

        if (is_done ? seen_done++ < done - done_left : !open_left)
            continue;
        open_left -= !is_done;
        draw_item(b, i, i->owner.len && is_gone && is_gone(arg, i->owner), v, ret);
    }
    if (rest.len && v->rows > 1)
        draw_rest(buf_cstr(&rest), v, ret);
}
