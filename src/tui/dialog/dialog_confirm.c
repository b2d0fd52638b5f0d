/*
 * dialog_confirm: one of our own questions with a few answers. The first one is under the cursor;
 * callers put a harmless one there. UI thread.
 */
#include "tui/dialog/dialog_page.h"
#include "tui/dialog/dialogs.h"

struct confirm {
    struct panel panel;
    struct dialog_page page;
    struct str text;
};

static void confirm_body(void *arg, const struct view *v, struct lines *ret)
{
    dialog_text(v, ROLE_TEXT, ((struct confirm *)arg)->text, ret);
}

static void confirm_draw(struct panel *p, const struct view *v, struct lines *ret,
                         struct screen_cursor *ret_cursor)
{
    dialog_page_draw(&((struct confirm *)p)->page, v, ret, ret_cursor);
}

static enum panel_state confirm_key(struct panel *p, const struct keypress *k)
{
    switch (dialog_page_key(&((struct confirm *)p)->page, k)) {
    case DIALOG_CHOSEN:
        return PANEL_DONE;
    case DIALOG_LEFT:
        return PANEL_LEFT;
    case DIALOG_EARLY:
        return PANEL_EARLY;
    default:
        return PANEL_OPEN;
    }
}

static void confirm_free(struct panel *p)
{
    struct confirm *c = (struct confirm *)p;

    dialog_page_release(&c->page);
    mem_freep(&c);
}

static const struct panel_kind confirm_kind = {
    .name = "confirm",
    .takes_runs = true,
    .draw = confirm_draw,
    .key = confirm_key,
    .free = confirm_free,
};

struct panel *dialog_confirm_new(struct str title, struct str text, const char *const *options,
                                 size_t count)
{
    struct confirm *c = mem_zalloc(sizeof(*c));

    c->panel.kind = &confirm_kind;
    dialog_page_init(&c->page, title, MENU_NUMBERS | MENU_WHOLE);
    c->text = arena_str(&c->page.arena, text);
    c->page.is_guarded = true;
    c->page.body = confirm_body;
    c->page.body_arg = c;
    for (size_t i = 0; i < count; i++)
        menu_add(c->page.menu, &(struct menu_row){.label = str_of(options[i])});
    return &c->panel;
}

size_t dialog_confirm_at(struct panel *p)
{
    return menu_at(((struct confirm *)p)->page.menu);
}
