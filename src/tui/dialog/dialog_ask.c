/*
 * dialog_ask: which dialog shows an ask, and what they have in common: a copy of the ask, a guarded
 * page, an answer that is "no" until an option is chosen. UI thread.
 */
#include "tui/dialog/dialog_ask.h"

#include <string.h>

#include "host/record/record.h"
#include "json/json.h"
#include "json/jw.h"
#include "tui/dialog/dialogs.h"
#include "tui/screen/keypress.h"

/* Text that is no JSON of this type counts as none. */
static const struct json *keep_json(struct arena *arena, struct str text, enum json_type type)
{
    const struct json *v = NULL;

    if (!text.len || json_parse_copy(arena, text, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return NULL;
    return json_is(v, type) ? v : NULL;
}

static void keep_ask(struct asked *to, const struct ask *ask, const char *dir)
{
    struct arena *arena = &to->arena;

    *to = (struct asked){.arena = ARENA_INIT, .kind = ask->kind};
    to->tool = arena_str(arena, ask->tool_name);
    to->reason = arena_str(arena, ask->reason);
    to->reason_type = arena_str(arena, str_of(ask->reason_type));
    to->blocked_path = arena_str(arena, ask->blocked_path);
    to->input = keep_json(arena, ask->input, JSON_OBJECT);
    to->suggestions = keep_json(arena, ask->suggestions, JSON_ARRAY);
    to->effects = keep_json(arena, ask->effects, JSON_OBJECT);
    to->dir = arena_str(arena, str_of(dir)).ptr;
}

/* Which agent asks: several may be at work. */
static struct str name_asker(struct arena *arena, const struct identity *by)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);

    if (identity_is_main(by))
        return STR("");
    if (by->member)
        buf_addf(&text, "Asked by @%s", by->member);
    else
        buf_addf(&text, "Asked by %s", by->type ? by->type : "an agent");
    if (by->task && *by->task)
        buf_addf(&text, " (%.*s)", STR_ARG(str_clip(str_of(by->task), 200)));
    return arena_str(arena, buf_str(&text));
}

void *dialog_ask_make(size_t size, const struct ask *ask, const char *dir, struct str title,
                      unsigned menu_flags)
{
    struct dialog_ask *d = mem_zalloc(size);

    keep_ask(&d->asked, ask, dir);
    dialog_page_init(&d->page, title, menu_flags);
    d->page.who = name_asker(&d->asked.arena, &ask->by);
    d->page.is_guarded = true;
    d->page.leave = "no";
    return d;
}

void dialog_ask_init(struct dialog_ask *d, const struct panel_kind *kind, dialog_body_fn body,
                     void (*answer)(struct dialog_ask *d, struct ask_answer *ret))
{
    d->panel.kind = kind;
    d->answer = answer;
    d->page.body = body;
    d->page.body_arg = d;
}

void dialog_ask_draw(struct panel *p, const struct view *v, struct lines *ret,
                     struct screen_cursor *ret_cursor)
{
    dialog_page_draw(&((struct dialog_ask *)p)->page, v, ret, ret_cursor);
}

static enum panel_state state_after(struct dialog_ask *d, enum dialog_act act)
{
    d->is_done = act == DIALOG_CHOSEN;
    switch (act) {
    case DIALOG_CHOSEN:
        return PANEL_DONE;
    case DIALOG_LEFT:
        return PANEL_LEFT;
    case DIALOG_EARLY:
        return PANEL_EARLY;
    case DIALOG_HELD:
        return PANEL_HELD;
    default:
        return PANEL_OPEN;
    }
}

enum panel_state dialog_ask_key(struct panel *p, const struct keypress *k)
{
    struct dialog_ask *d = (struct dialog_ask *)p;

    bool writes = d->page.editor;
    enum dialog_act act = dialog_page_key(&d->page, k);

    if (act == DIALOG_UNUSED && !writes && keypress_is(k, "tab") &&
        d->page.text_row != MENU_NOWHERE)
        dialog_page_write(&d->page);
    return state_after(d, act);
}

int64_t dialog_ask_due(struct panel *p)
{
    return dialog_page_due(&((struct dialog_ask *)p)->page);
}

enum panel_state dialog_ask_wake(struct panel *p)
{
    struct dialog_ask *d = (struct dialog_ask *)p;

    return state_after(d, dialog_page_wake(&d->page));
}

void dialog_ask_free(struct panel *p)
{
    struct dialog_ask *d = (struct dialog_ask *)p;

    dialog_page_release(&d->page);
    arena_release(&d->asked.arena);
    mem_freep(&d);
}

void dialog_ask_row(struct dialog_ask *d, struct str label, struct str detail, char letter,
                    bool is_off)
{
    menu_add(
        d->page.menu,
        &(struct menu_row){.label = label, .detail = detail, .letter = letter, .is_off = is_off});
}

void dialog_ask_mode(const char *mode, struct ask_answer *ret)
{
    struct jw w;

    jw_init(&w, &ret->permissions, 0);
    jw_array(&w);
    jw_object(&w);
    jw_kcstr(&w, "type", "setMode");
    jw_kcstr(&w, "mode", mode);
    jw_kcstr(&w, "destination", "session");
    jw_object_end(&w);
    jw_array_end(&w);
}

static bool has_questions(const struct ask *ask)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;

    return json_len(json_get(keep_json(&arena, ask->input, JSON_OBJECT), "questions")) > 0;
}

struct panel *dialog_ask_new(const struct ask *ask, const char *dir)
{
    switch (ask->kind) {
    case ASK_TRUST:
        return &dialog_trust_new(ask, dir)->panel;
    case ASK_ELICITATION:
        return &dialog_form_new(ask, dir)->panel;
    case ASK_QUESTION:
        if (has_questions(ask))
            return &dialog_question_new(ask, dir)->panel;
        break;
    case ASK_PERMISSION:
        if (str_is(ask->tool_name, "ExitPlanMode"))
            return &dialog_plan_new(ask, dir)->panel;
        if (str_is(ask->tool_name, RECORD_ASKS_AS))
            return &dialog_record_new(ask, dir)->panel;
    }
    return &dialog_permission_new(ask, dir)->panel;
}

void dialog_ask_answer(struct panel *p, struct ask_answer *ret)
{
    struct dialog_ask *d = (struct dialog_ask *)p;

    d->answer(d, ret);
}
