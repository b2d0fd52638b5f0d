/*
 * dialog_rewind: back to before a message: first choose the message, then what to restore. Only
 * files changed by tools are covered, not those changed by commands, and the dialog mentions this.
 * UI thread.
 */
#include "tui/dialog/dialog_page.h"
#include "tui/dialog/dialogs.h"

enum rewind_row {
    ROW_CONVERSATION,
    ROW_FILES,
    ROW_BOTH,
};

struct rewind_point_row {
    struct str uuid, text;
    size_t files;
};

struct rewind_dialog {
    struct panel panel;
    struct dialog_page messages;
    struct dialog_page what;         /* when a message is chosen */
    struct rewind_point_row *points; /* the first page's arena's */
    const struct rewind_point_row *chosen;
};

static void messages_body(void *arg, const struct view *v, struct lines *ret)
{
    struct rewind_dialog *d = arg;

    dialog_text(v, ROLE_FAINT,
                menu_count(d->messages.menu) ? STR("Back to before which message?")
                                             : STR("There is no message to go back to yet."),
                ret);
}

static void what_body(void *arg, const struct view *v, struct lines *ret)
{
    struct rewind_dialog *d = arg;
    CLEANUP(buf_release) struct buf text = BUF_INIT(64 << 10);

    dialog_text(v, ROLE_SAID, str_clip(d->chosen->text, 4000), ret);
    if (d->chosen->files)
        buf_addf(&text, "%zu file%s would change. ", d->chosen->files,
                 d->chosen->files == 1 ? "" : "s");
    else
        buf_adds(&text, "No files have been changed by tools since. ");
    buf_adds(&text, "What commands did is not covered. Going back can be undone.");
    dialog_text(v, ROLE_FAINT, buf_str(&text), ret);
}

static struct dialog_page *page_here(struct rewind_dialog *d)
{
    return d->chosen ? &d->what : &d->messages;
}

static void rewind_draw(struct panel *p, const struct view *v, struct lines *ret,
                        struct screen_cursor *ret_cursor)
{
    dialog_page_draw(page_here((struct rewind_dialog *)p), v, ret, ret_cursor);
}

static void add_what(struct rewind_dialog *d, struct str label, bool is_off)
{
    menu_add(d->what.menu, &(struct menu_row){.label = label, .is_off = is_off});
}

static void open_what(struct rewind_dialog *d)
{
    bool no_files = !d->chosen->files;

    dialog_page_init(&d->what, STR("What shall go back?"), MENU_NUMBERS | MENU_WHOLE);
    d->what.leave = "other message";
    d->what.body = what_body;
    d->what.body_arg = d;
    add_what(d, STR("The conversation"), false);
    add_what(d, STR("The files"), no_files);
    add_what(d, STR("Both"), no_files);
}

static void close_what(struct rewind_dialog *d)
{
    dialog_page_release(&d->what);
    d->chosen = NULL;
}

static enum panel_state rewind_key(struct panel *p, const struct keypress *k)
{
    struct rewind_dialog *d = (struct rewind_dialog *)p;

    switch (dialog_page_key(page_here(d), k)) {
    case DIALOG_CHOSEN:
        if (d->chosen)
            return PANEL_DONE;
        d->chosen = &d->points[menu_at(d->messages.menu)];
        open_what(d);
        return PANEL_OPEN;
    case DIALOG_LEFT:
        if (!d->chosen)
            return PANEL_LEFT;
        close_what(d);
        return PANEL_OPEN;
    default:
        return PANEL_OPEN;
    }
}

static void rewind_dialog_free(struct panel *p)
{
    struct rewind_dialog *d = (struct rewind_dialog *)p;

    if (d->chosen)
        close_what(d);
    dialog_page_release(&d->messages);
    mem_freep(&d);
}

static const struct panel_kind rewind_kind = {
    .name = "rewind",
    .draw = rewind_draw,
    .key = rewind_key,
    .free = rewind_dialog_free,
};

static void add_message(struct rewind_dialog *d, const struct dialog_rewind_point *point)
{
    CLEANUP(buf_release) struct buf detail = BUF_INIT(1000);

    buf_add(&detail, str_clip(point->when, 200));
    if (point->files)
        buf_addf(&detail, "%s%zu file%s", detail.len ? ", " : "", point->files,
                 point->files == 1 ? "" : "s");
    menu_add(d->messages.menu,
             &(struct menu_row){.label = str_clip(point->text, 4000), .detail = buf_str(&detail)});
}

struct panel *dialog_rewind_new(const struct dialog_rewind_point *points, size_t count)
{
    struct rewind_dialog *d = mem_zalloc(sizeof(*d));
    struct arena *arena = &d->messages.arena;

    d->panel.kind = &rewind_kind;
    dialog_page_init(&d->messages, STR("Rewind"), MENU_FILTER);
    d->messages.body = messages_body;
    d->messages.body_arg = d;
    d->points = arena_zalloc(arena, sizeof(*d->points) * (count + 1));
    for (size_t i = 0; i < count; i++) {
        d->points[i] = (struct rewind_point_row){.uuid = arena_str(arena, points[i].uuid),
                                                 .text = arena_str(arena, points[i].text),
                                                 .files = points[i].files};
        add_message(d, &points[i]);
    }
    return &d->panel;
}

void dialog_rewind_chosen(struct panel *p, struct dialog_rewind_choice *ret)
{
    struct rewind_dialog *d = (struct rewind_dialog *)p;
    size_t row = d->chosen ? menu_at(d->what.menu) : MENU_NOWHERE;

    *ret = (struct dialog_rewind_choice){
        .uuid = d->chosen ? d->chosen->uuid : STR(""),
        .files = row == ROW_FILES || row == ROW_BOTH,
        .conversation = row == ROW_CONVERSATION || row == ROW_BOTH,
    };
}
