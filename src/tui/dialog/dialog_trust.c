/*
 * dialog_trust: asks whether the settings of this folder apply. Shows which settings wait for the
 * answer (host/trust.h: leftOut). If there are any, "no" is under the cursor. UI thread.
 */
#include "json/json.h"
#include "tui/dialog/dialog_ask.h"

enum trust_row {
    ROW_YES,
    ROW_NO,
};

/* "FILE: this folder is not trusted, so these are left out: hooks, env; to use them: …" says here
 * no more than "FILE: hooks, env", the file as seen from the folder. */
static void item_text(struct str line, struct str dir, struct buf *ret)
{
    struct str why = STR(": this folder is not trusted, so these are left out: ");
    size_t at = str_find(line, why);

    if (dir.len && str_starts(line, dir) && line.ptr[dir.len] == '/') {
        line = str_from(line, dir.len + 1);
        at = str_find(line, why);
    }
    if (at == line.len) {
        buf_add(ret, line);
        return;
    }
    buf_add(ret, str_first(line, at));
    line = str_from(line, at + why.len);
    buf_addf(ret, ": %.*s", STR_ARG(str_first(line, str_find(line, STR("; to use them: ")))));
}

static void draw_item(const struct view *v, struct str line, struct str dir, struct lines *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(64 << 10);

    buf_adds(&text, v->ascii || v->plain ? "- " : "• ");
    item_text(str_clip(line, 60 << 10), dir, &text);
    dialog_text(v, ROLE_WARNING, buf_str(&text), ret);
}

static void trust_body(void *arg, const struct view *v, struct lines *ret)
{
    struct dialog_ask *d = arg;
    const struct json *left_out = json_get(d->asked.input, "leftOut");
    bool again = json_get_bool(d->asked.input, "again", false);

    dialog_text(v, ROLE_CODE, json_get_str(d->asked.input, "directory"), ret);
    dialog_text(v, ROLE_TEXT,
                again ? STR("You have said no before, and this needs your trust. Settings "
                            "in a folder can name programs to run and places to send your key to.")
                      : STR("You have not been here before. Settings in a folder can name programs "
                            "to run and places to send your key to."),
                ret);
    if (json_len(left_out))
        dialog_text(v, ROLE_TEXT, STR("Trusting it switches on:"), ret);
    else
        dialog_text(v, ROLE_FAINT, STR("There is nothing like that in it now."), ret);
    JSON_EACH(left_out, line) {
        draw_item(v, json_str(line), json_get_str(d->asked.input, "directory"), ret);
    }
    dialog_text(v, ROLE_TEXT,
                STR("Without trust its hooks and the permissions in its settings do not count, and "
                    "there are no goals here."),
                ret);
    dialog_text(v, ROLE_FAINT, STR("The answer is kept; tenax trust changes it."), ret);
}

static void trust_answer(struct dialog_ask *d, struct ask_answer *ret)
{
    ret->allowed = d->is_done && menu_at(d->page.menu) == ROW_YES;
}

static const struct panel_kind trust_kind = {
    .name = "trust",
    .takes_runs = true,
    .draw = dialog_ask_draw,
    .key = dialog_ask_key,
    .free = dialog_ask_free,
};

struct dialog_ask *dialog_trust_new(const struct ask *ask, const char *dir)
{
    struct dialog_ask *d = dialog_ask_make(sizeof(*d), ask, dir, STR("Do you trust this folder?"),
                                           MENU_NUMBERS | MENU_WHOLE);

    d->page.title_role = ROLE_WARNING;
    dialog_ask_row(d, STR("Yes, I trust this folder"), STR(""), 0, false);
    dialog_ask_row(d, STR("No, work without its settings"), STR(""), 0, false);
    if (json_len(json_get(d->asked.input, "leftOut")))
        menu_move_to(d->page.menu, ROW_NO);
    dialog_ask_init(d, &trust_kind, trust_body, trust_answer);
    return d;
}
