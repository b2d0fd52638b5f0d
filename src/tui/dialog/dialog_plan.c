/*
 * dialog_plan: the plan of ExitPlanMode, as Markdown, and whether to begin. The cursor is on the
 * careful yes. UI thread.
 */
#include "json/json.h"
#include "tui/dialog/dialog_ask.h"
#include "tui/markdown/markdown.h"

enum plan_row {
    ROW_ACCEPT_EDITS,
    ROW_ASK_EACH,
    ROW_SAY,
};

static void plan_body(void *arg, const struct view *v, struct lines *ret)
{
    struct dialog_ask *d = arg;
    struct markdown_spec spec = {.ascii = v->ascii};

    markdown_draw(json_get_str(d->asked.input, "plan"), &spec, v->cols, ret);
}

static void plan_answer(struct dialog_ask *d, struct ask_answer *ret)
{
    size_t row = d->is_done ? menu_at(d->page.menu) : MENU_NOWHERE;

    ret->allowed = row == ROW_ACCEPT_EDITS || row == ROW_ASK_EACH;
    if (row == ROW_ACCEPT_EDITS)
        dialog_ask_mode("acceptEdits", ret);
    if (row == ROW_ASK_EACH)
        dialog_ask_mode("default", ret);
    if (row == ROW_SAY)
        dialog_page_words(&d->page, &ret->message);
    ret->interrupt = row == MENU_NOWHERE;
}

static const struct panel_kind plan_kind = {
    .name = "plan",
    .takes_runs = true,
    .draw = dialog_ask_draw,
    .key = dialog_ask_key,
    .due = dialog_ask_due,
    .wake = dialog_ask_wake,
    .free = dialog_ask_free,
};

struct dialog_ask *dialog_plan_new(const struct ask *ask, const char *dir)
{
    struct dialog_ask *d = dialog_ask_make(sizeof(*d), ask, dir, STR("The plan: shall it begin?"),
                                           MENU_NUMBERS | MENU_WHOLE);

    d->page.leave = "keep planning";
    d->page.text_row = ROW_SAY;
    d->page.text_hint = STR("what to change");
    dialog_ask_row(d, STR("Yes, and accept edits as they come"), STR(""), 0, false);
    dialog_ask_row(d, STR("Yes, and ask before each edit"), STR(""), 'y', false);
    dialog_ask_row(d, STR("No, keep planning: say what to change"), STR(""), 0, false);
    menu_move_to(d->page.menu, ROW_ASK_EACH);
    dialog_ask_init(d, &plan_kind, plan_body, plan_answer);
    return d;
}
