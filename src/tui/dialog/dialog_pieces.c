/*
 * dialog_pieces: what dialogs are drawn of, and what their keys have in common. UI thread.
 */
#include "tui/dialog/dialog_page.h"
#include "tui/screen/keypress.h"
#include "tui/screen/width.h"

#define ROOMY_ROWS 8 /* fewer, and the line with the keys is left out */

const char *dialog_dot(const struct view *v)
{
    return v->ascii || v->plain ? ", " : " · ";
}

bool dialog_is_escape(const struct keypress *k)
{
    return k->code == KEY_ESCAPE || keypress_is(k, "ctrl+c");
}

struct str dialog_first_key(struct keypress *k)
{
    struct str text = k->text;
    int cells;

    if (k->code != KEY_TEXT)
        return STR("");
    k->text = str_first(text, width_next(text, &cells));
    return str_from(text, k->text.len);
}

void dialog_title(const struct view *v, enum style_role role, struct str title, struct lines *ret)
{
    struct lines line = LINES_INIT;
    const char *dash = v->ascii ? "-" : "─";

    if (v->rows < DIALOG_TITLE_ROWS)
        return;
    line.shows_all = true;
    if (!v->plain && width_of(title) + 3 <= v->cols) { /* else the room is for the title */
        lines_puts(&line, ROLE_FAINT, dash);
        lines_puts(&line, ROLE_FAINT, dash);
        lines_puts(&line, ROLE_FAINT, " ");
    }
    lines_put(&line, STYLE_WITH(role, STYLE_BOLD), title);
    if (!v->plain && lines_column(&line) + 2 <= v->cols) {
        lines_puts(&line, ROLE_FAINT, " ");
        while (lines_column(&line) < v->cols)
            lines_puts(&line, ROLE_FAINT, dash);
    }
    lines_end(&line);
    lines_add_cut(ret, lines_at(&line, 0), v->cols, v->ascii);
    lines_release(&line);
}

void dialog_text(const struct view *v, enum style_role role, struct str text, struct lines *ret)
{
    struct lines line = LINES_INIT;
    struct wrap how = {.cells = v->cols};
    struct str row;

    line.shows_all = true;
    while (str_cut(&text, '\n', &row)) {
        lines_clear(&line);
        lines_put(&line, STYLE(role), row);
        lines_end(&line);
        lines_wrap(ret, lines_at(&line, 0), &how);
    }
    lines_release(&line);
}

/* "a · b" → "a"; false: there is only one. */
static bool keys_drop_last(const struct view *v, struct str *text)
{
    struct str dot = str_of(dialog_dot(v));
    size_t at = text->len;

    while (at > 0 && !str_starts(str_from(*text, at), dot))
        at--;
    if (at)
        *text = str_first(*text, at);
    return at;
}

void dialog_keys(const struct view *v, struct str text, struct lines *ret)
{
    struct lines rows = LINES_INIT;
    size_t most = v->rows < ROOMY_ROWS ? 0 : v->rows < 2 * ROOMY_ROWS ? 1 : (size_t)v->rows / 6;

    dialog_text(v, ROLE_FAINT, text, &rows);
    while (lines_count(&rows) > most && keys_drop_last(v, &text)) { /* no half of one */
        lines_clear(&rows);
        dialog_text(v, ROLE_FAINT, text, &rows);
    }
    for (size_t i = 0; i < lines_count(&rows) && i < most; i++)
        lines_add(ret, lines_at(&rows, i));
    lines_release(&rows);
}
