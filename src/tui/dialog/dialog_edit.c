/*
 * dialog_edit: a text to edit, in its own editor. Enter ends it, Esc discards the changes. UI
 * thread.
 */
#include "base/clock.h"
#include "tui/dialog/dialog_page.h"
#include "tui/dialog/dialogs.h"
#include "tui/editor/editor.h"

struct edit_dialog {
    struct panel panel;
    struct arena arena;
    struct str title;
    struct editor *editor;
};

static void edit_draw(struct panel *p, const struct view *v, struct lines *ret,
                      struct screen_cursor *ret_cursor)
{
    struct edit_dialog *e = (struct edit_dialog *)p;
    struct lines text = LINES_INIT;
    struct lines keys = LINES_INIT;
    struct view part = *v;
    CLEANUP(buf_release) struct buf words = BUF_INIT(200);

    buf_addf(&words, "Enter done%sAlt-Enter new line%sEsc cancel", dialog_dot(v), dialog_dot(v));
    dialog_title(v, ROLE_ACCENT, e->title, ret);
    dialog_keys(v, buf_str(&words), &keys);
    part.rows = v->rows - (int)lines_count(ret) - (int)lines_count(&keys);
    part.rows = part.rows > 1 ? part.rows : 1;
    editor_draw(e->editor, &part, STR(""), &text, ret_cursor);
    if (v->plain) /* the draft stands last */
        lines_add_all(ret, &keys);
    ret_cursor->row += lines_count(ret);
    lines_add_all(ret, &text);
    if (!v->plain)
        lines_add_all(ret, &keys);
    lines_release(&text);
    lines_release(&keys);
}

static enum panel_state edit_key(struct panel *p, const struct keypress *k)
{
    struct edit_dialog *e = (struct edit_dialog *)p;

    switch (editor_key(e->editor, k, clock_mono_ms())) {
    case EDITOR_SEND:
        return PANEL_DONE;
    case EDITOR_UNUSED:
        return dialog_is_escape(k) ? PANEL_LEFT : PANEL_OPEN;
    default:
        return PANEL_OPEN;
    }
}

static void edit_free(struct panel *p)
{
    struct edit_dialog *e = (struct edit_dialog *)p;

    editor_free(e->editor);
    arena_release(&e->arena);
    mem_freep(&e);
}

static const struct panel_kind edit_kind = {
    .name = "edit",
    .draw = edit_draw,
    .key = edit_key,
    .free = edit_free,
};

struct panel *dialog_edit_new(struct str title, struct str text, bool vim)
{
    struct edit_dialog *e = mem_zalloc(sizeof(*e));

    e->panel.kind = &edit_kind;
    e->arena = (struct arena)ARENA_INIT;
    e->title = arena_str(&e->arena, title);
    e->editor = editor_new(&(struct editor_spec){.vim = vim});
    editor_set(e->editor, text);
    return &e->panel;
}

void dialog_edit_text(struct panel *p, struct buf *ret)
{
    editor_text(((struct edit_dialog *)p)->editor, ret);
}
