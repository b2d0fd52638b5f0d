/*
 * dialog_record: the session's lines can no longer be written (host/record/record.c), most often
 * because the disk is full. Stopping loses nothing and is under the cursor; going on loses what
 * follows. UI thread.
 */
#include "tui/dialog/dialog_ask.h"

enum record_row {
    ROW_STOP,
    ROW_GO_ON,
};

static void record_body(void *arg, const struct view *v, struct lines *ret)
{
    struct dialog_ask *d = arg;

    dialog_text(v, ROLE_BAD, d->asked.reason, ret);
    dialog_text(v, ROLE_TEXT, STR("The conversation up to here is safe."), ret);
}

/* No interrupt: the turn ends by itself, and says why. */
static void record_answer(struct dialog_ask *d, struct ask_answer *ret)
{
    ret->allowed = d->is_done && menu_at(d->page.menu) == ROW_GO_ON;
}

static const struct panel_kind record_kind = {
    .name = "record",
    .takes_runs = true,
    .draw = dialog_ask_draw,
    .key = dialog_ask_key,
    .free = dialog_ask_free,
};

struct dialog_ask *dialog_record_new(const struct ask *ask, const char *dir)
{
    struct dialog_ask *d = dialog_ask_make(
        sizeof(*d), ask, dir, STR("The session can no longer be saved"), MENU_NUMBERS | MENU_WHOLE);

    d->page.title_role = ROLE_WARNING;
    d->page.leave = "stop";
    dialog_ask_row(d, STR("Stop here; it goes on when there is room"), STR(""), 0, false);
    dialog_ask_row(d, STR("Go on without keeping what follows"), STR(""), 0, false);
    dialog_ask_init(d, &record_kind, record_body, record_answer);
    return d;
}
