/*
 * dialog_secret: one line that must stay secret, such as an API key. It is shown as dots, stored
 * only here, and overwritten when the panel closes. UI thread.
 */
#include <string.h>

#include "tui/dialog/dialog_page.h"
#include "tui/dialog/dialogs.h"
#include "tui/screen/keypress.h"

#define SECRET_MAX 16384
#define SECRET_DOTS 24 /* shown at most: the length is given as a number */

struct secret_dialog {
    struct panel panel;
    struct arena arena;
    struct str title, text;
    char bytes[SECRET_MAX];
    size_t len;
};

static void secret_row(const struct secret_dialog *s, const struct view *v, struct lines *ret)
{
    size_t dots = s->len < SECRET_DOTS ? s->len : SECRET_DOTS;

    lines_puts(ret, ROLE_ACCENT, v->plain ? "Key: " : v->ascii ? "> " : "❯ ");
    for (size_t i = 0; i < dots; i++)
        lines_puts(ret, ROLE_TEXT, v->ascii || v->plain ? "*" : "•");
    if (s->len)
        lines_putf(ret, STYLE(ROLE_FAINT), " %zu character%s", s->len, s->len == 1 ? "" : "s");
    else
        lines_puts(ret, ROLE_FAINT, "paste or type it; it is not shown");
    lines_end(ret);
}

static void secret_draw(struct panel *p, const struct view *v, struct lines *ret,
                        struct screen_cursor *ret_cursor)
{
    struct secret_dialog *s = (struct secret_dialog *)p;
    CLEANUP(buf_release) struct buf keys = BUF_INIT(200);
    struct lines row = LINES_INIT;

    buf_addf(&keys, "Enter store it%sEsc back", dialog_dot(v));
    dialog_title(v, ROLE_ACCENT, s->title, ret);
    if (v->rows > 5)
        dialog_text(v, ROLE_TEXT, s->text, ret);
    if (v->plain) /* the draft stands last */
        dialog_keys(v, buf_str(&keys), ret);
    secret_row(s, v, &row);
    lines_add_cut(ret, lines_at(&row, 0), v->cols, v->ascii);
    if (!v->plain)
        dialog_keys(v, buf_str(&keys), ret);
    lines_release(&row);
    (void)ret_cursor;
}

/* What a key consists of; the rest came along with a copy. */
static void secret_add(struct secret_dialog *s, struct str text)
{
    for (size_t i = 0; i < text.len && s->len < sizeof(s->bytes); i++) {
        if (text.ptr[i] > ' ' && text.ptr[i] <= '~')
            s->bytes[s->len++] = text.ptr[i];
    }
}

static enum panel_state secret_key(struct panel *p, const struct keypress *k)
{
    struct secret_dialog *s = (struct secret_dialog *)p;

    if (k->code == KEY_TEXT || k->code == KEY_PASTE)
        secret_add(s, k->text);
    else if (k->code == KEY_BACKSPACE && s->len)
        s->len--;
    else if (keypress_is(k, "ctrl+u"))
        s->len = 0;
    else if (k->code == KEY_ENTER && s->len)
        return PANEL_DONE;
    return dialog_is_escape(k) ? PANEL_LEFT : PANEL_OPEN;
}

static void secret_free(struct panel *p)
{
    struct secret_dialog *s = (struct secret_dialog *)p;

    explicit_bzero(s->bytes, sizeof(s->bytes));
    arena_release(&s->arena);
    mem_freep(&s);
}

static const struct panel_kind secret_kind = {
    .name = "secret",
    .takes_runs = true,
    .draw = secret_draw,
    .key = secret_key,
    .free = secret_free,
};

struct panel *dialog_secret_new(struct str title, struct str text)
{
    struct secret_dialog *s = mem_zalloc(sizeof(*s));

    s->panel.kind = &secret_kind;
    s->arena = (struct arena)ARENA_INIT;
    s->title = arena_str(&s->arena, title);
    s->text = arena_str(&s->arena, text);
    return &s->panel;
}

struct str dialog_secret_text(struct panel *p)
{
    struct secret_dialog *s = (struct secret_dialog *)p;

    return str_make(s->bytes, s->len);
}
