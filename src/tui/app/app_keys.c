/*
 * app_keys: where a key goes. What the terminal says of itself is learnt; a panel that is open gets
 * all others but those that are about the terminal (Ctrl-Z, Ctrl-L); then the editor; what that has
 * no use for is ours: interrupting, quitting, modes, views. UI thread.
 */
#include "agent/task.h"
#include "base/clock.h"
#include "conf/conf.h"
#include "guard/permit.h"
#include "host/chore.h"
#include "host/host.h"
#include "slash/answer.h"
#include "tasks/agents.h"
#include "tools/background.h"
#include "tui/app/app.h"
#include "tui/chat/chat.h"
#include "tui/editor/editor.h"
#include "tui/screen/keypress.h"
#include "tui/screen/screen.h"
#include "tui/screen/term.h"
#include "tui/screen/width.h"
#include "tui/status/statusline.h"

/* ---- modes ---- */

/* Changing the mode writes it down: not here. */
struct mode_chore {
    struct chore chore;
    struct host *host;
    enum permit_mode to;
    bool is_done;
};

static void mode_run(struct chore *e)
{
    struct mode_chore *m = (struct mode_chore *)e;
    enum permit_mode first = permit_mode(host_permit(m->host));

    /* Round the ring to the next one that settings and options allow. */
    for (size_t i = 0; i < MODE_BYPASS + 1 && !m->is_done; i++) {
        static const enum permit_mode next[] = {
            [MODE_DEFAULT] = MODE_ACCEPT_EDITS,
            [MODE_ACCEPT_EDITS] = MODE_PLAN,
            [MODE_PLAN] = MODE_AUTO,
            [MODE_AUTO] = MODE_BYPASS,
            [MODE_BYPASS] = MODE_DEFAULT,
            [MODE_DONT_ASK] = MODE_DEFAULT,
        };
        struct err err = {0};

        m->to = next[i ? m->to : first];
        m->is_done = permit_set_mode(host_permit(m->host), m->to, &err) == 0;
    }
}

static void mode_done(struct chore *e, void *arg)
{
    struct app *a = arg;

    app_status_happened(a, STATUS_CHANGED);
    a->is_dirty = true;
    if (term_able(a->term)->is_plain) /* no status line shows it */
        app_hint(a, "Mode: %s", permit_mode_name(((struct mode_chore *)e)->to));
}

static void plain_free(struct chore *e)
{
    mem_freep(&e);
}

static void key_mode(struct app *a)
{
    struct mode_chore *m;

    if (!app_host(a))
        return;
    m = chore_new(sizeof(*m), mode_run, mode_done, plain_free);
    m->host = app_host(a);
    chores_give(a->chores, m);
}

/* ---- keys with a past ---- */

static bool is_twice(int64_t *last_ms, int64_t now_ms)
{
    bool twice = *last_ms && now_ms - *last_ms <= APP_TWICE_MS;

    *last_ms = twice ? 0 : now_ms;
    return twice;
}

/* Another key: the second one would not count any more, and nothing says that it would. */
static void key_once(struct app *a, int64_t *last_ms)
{
    if (*last_ms)
        buf_clear(&a->hint);
    *last_ms = 0;
}

/* Ctrl-C: what runs stops, and a draft stays. With nothing running a draft goes. Only with nothing
 * written does a second one quit. */
static void key_ctrl_c(struct app *a)
{
    bool is_empty = editor_is_empty(a->editor);
    bool is_armed = is_twice(&a->ctrl_c_ms, clock_mono_ms());

    if (app_is_working(a) && !is_empty) {
        app_interrupt(a, /*take_back=*/false);
        app_hint(a, "Interrupted");
        a->ctrl_c_ms = 0;
    } else if (!is_empty) {
        editor_set(a->editor, STR(""));
        app_hint(a, "Ctrl-C again to quit");
        a->ctrl_c_ms = clock_mono_ms();
    } else if (is_armed) {
        app_quit(a, /*code=*/0);
    } else {
        if (app_is_working(a))
            app_interrupt(a, /*take_back=*/true);
        app_hint(a, "Ctrl-C again to quit");
    }
}

/* Esc: what runs stops; with nothing to stop, two of them go back. */
static void key_escape(struct app *a)
{
    if (app_is_viewing(a)) { /* it never stops an agent that is looked at */
        if (editor_is_empty(a->editor))
            app_view_agent(a, NULL);
        else
            editor_set(a->editor, STR(""));
    } else if (app_is_working(a)) {
        app_interrupt(a, /*take_back=*/false);
        a->escape_ms = 0;
    } else if (is_twice(&a->escape_ms, clock_mono_ms())) {
        buf_clear(&a->hint); /* it was heeded */
        if (editor_is_empty(a->editor))
            app_rewind(a);
        else
            editor_set(a->editor, STR(""));
    } else {
        app_hint(a, editor_is_empty(a->editor) ? "Esc again to rewind the conversation"
                                               : "Esc again to clear");
    }
}

static void key_quit_chosen(struct app *a, size_t i)
{
    if (i == 1)
        app_quit(a, /*code=*/0);
}

static void key_ctrl_d(struct app *a)
{
    static const char *const options[] = {"Stay", "Quit; the session can be resumed"};

    if (!editor_is_empty(a->editor))
        return;
    if (app_is_working(a))
        app_confirm(a, "Something is still running", STR("Quitting interrupts it."), options,
                    ARRAY_LEN(options), key_quit_chosen);
    else if (app_host(a) && slash_count_workers(app_host(a)))
        app_confirm(a, "Agents still work in the background", STR("Quitting stops them."), options,
                    ARRAY_LEN(options), key_quit_chosen);
    else
        app_quit(a, /*code=*/0);
}

/* ---- the editor's acts ---- */

static void key_send(struct app *a)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf shown = BUF_INIT(BUF_NO_LIMIT);

    editor_shown(a->editor, &shown);
    editor_take(a->editor, &text);
    if (!str_trim(buf_str(&text)).len)
        return;
    if (!app_is_viewing(a)) {
        app_say(a, buf_str(&text), buf_str(&shown));
    } else if (str_chr(STR("/!#"), text.ptr[0]) < 3) { /* a command is the session's */
        app_view_agent(a, NULL);
        app_say(a, buf_str(&text), buf_str(&shown));
    } else {
        app_view_say(a, buf_str(&text));
    }
}

static void key_redraw(struct app *a)
{
    screen_pause(a->screen);
    screen_resume(a->screen);
}

/* Ctrl-B with nothing written: what runs in the foreground goes on in the background. */
static bool key_background(struct app *a, const struct keypress *k)
{
    size_t count;

    if (!keypress_is(k, "ctrl+b") || !editor_is_empty(a->editor) || !app_is_working(a) ||
        !app_host(a))
        return false;
    count = background_send(host_workspace(app_host(a)), /*tool_use_id=*/STR("")) +
            agents_send_away(host_agents(app_host(a)), /*tool_use_id=*/STR(""));
    app_hint(a, count ? "Moved to the background; /tasks lists it"
                      : "There is no running command or agent to move to the background");
    return true;
}

static void key_own(struct app *a, const struct keypress *k)
{
    if (keypress_is(k, "ctrl+c") && app_is_viewing(a))
        key_escape(a);
    else if (keypress_is(k, "ctrl+c"))
        key_ctrl_c(a);
    else if (keypress_is(k, "esc"))
        key_escape(a);
    else if (keypress_is(k, "ctrl+d"))
        key_ctrl_d(a);
    else if (keypress_is(k, "shift+tab"))
        key_mode(a);
    else if (keypress_is(k, "ctrl+o"))
        app_is_viewing(a) ? app_view_transcript(a) : app_transcript(a);
    else if (keypress_is(k, "ctrl+k")) /* after Ctrl-X: alone it is the editor's */
        app_agents_stop_all(a);
    else if (keypress_is(k, "shift+down"))
        app_say(a, STR("/tasks"), STR("/tasks"));
    else if (keypress_is(k, "ctrl+z"))
        app_suspend(a);
    else if (keypress_is(k, "ctrl+l"))
        key_redraw(a);
    else if (keypress_is(k, "ctrl+v"))
        app_paste_image(a);
}

static void key_editor(struct app *a, const struct keypress *k)
{
    if (k->code == KEY_TEXT && str_starts(k->text, STR("/")) && editor_is_empty(a->editor))
        app_commands_look(a);
    if (k->code == KEY_TEXT && str_chr(k->text, '@') < k->text.len)
        app_resources_look(a);
    if (k->code == KEY_PASTE && app_paste_drop(a, k->text))
        return;
    switch (editor_key(a->editor, k, clock_mono_ms())) {
    case EDITOR_NOTHING:
        break;
    case EDITOR_UNUSED:
        key_own(a, k);
        break;
    case EDITOR_SEND:
        key_send(a);
        break;
    case EDITOR_OPEN:
        app_open_editor(a);
        break;
    case EDITOR_QUEUE:
        if (!app_edit_queue(a))
            editor_older(a->editor);
        break;
    }
}

/* ---- all keys ---- */

/* True: it was not a key press of the user. */
static bool key_is_terminals(struct app *a, const struct keypress *k)
{
    if (k->code != KEY_REPLY && k->code != KEY_FOCUS_IN && k->code != KEY_FOCUS_OUT)
        return false;
    if (term_learn(a->term, k))
        app_look(a);
    app_notify_tick(a);
    return true;
}

/* Keys typed fast arrive as one piece. A panel takes single keys: "1" closes it, and the rest is
 * not for it. True: it was several. */
static bool key_is_several(struct app *a, const struct keypress *k)
{
    struct keypress one = *k;
    struct str rest = k->text;
    int cells;

    if (!app_panel(a) || app_panel(a)->kind->takes_runs)
        return false;
    if (k->code != KEY_TEXT || width_next(rest, &cells) >= rest.len)
        return false;
    while (rest.len) {
        one.text = str_first(rest, width_next(rest, &cells));
        rest = str_from(rest, one.text.len);
        app_key(a, &one);
    }
    return true;
}

/* A status line may show vim's mode. */
static void key_to_editor(struct app *a, const struct keypress *k)
{
    const char *before = editor_vim_mode(a->editor);
    const char *now;

    key_editor(a, k);
    now = editor_vim_mode(a->editor);
    if (before && now && strcmp(before, now) != 0)
        app_status_happened(a, STATUS_CHANGED);
}

/* The middle of a sentence; a letter of it may wait in a panel. */
static void key_typed(struct app *a, const struct keypress *k)
{
    struct keypress held = {.code = KEY_TEXT, .text = str_make(&a->letter, 1)};

    if (a->letter)
        key_to_editor(a, &held);
    a->letter = 0;
    key_to_editor(a, k);
}

void app_key(struct app *a, const struct keypress *k)
{
    static const struct keypress escape = {.code = KEY_ESCAPE};

    if (key_is_terminals(a, k) || key_is_several(a, k))
        return;
    a->is_dirty = true;
    app_notify_typed(a);
    if (!keypress_is(k, "ctrl+c"))
        key_once(a, &a->ctrl_c_ms);
    if (k->code != KEY_ESCAPE)
        key_once(a, &a->escape_ms);
    if (!app_panel(a)) {
        if (editor_is_empty(a->editor) && keypress_is(k, "?")) /* it may be the first word, too */
            app_hint(a, "/ commands · @ files · ! shell · # memory · Ctrl-O transcript · /help");
        if (!app_agents_key(a, k) && !app_board_key(a, k) && !key_background(a, k))
            key_to_editor(a, k);
        if (k->code == KEY_TEXT || k->code == KEY_PASTE)
            app_offer_fresh(a);
    } else if (keypress_is(k, "ctrl+z") || keypress_is(k, "ctrl+l")) {
        key_own(a, k); /* of the terminal, whatever is shown in it */
    } else if (!keypress_is(k, "ctrl+c")) {
        bool is_text = k->code == KEY_TEXT || k->code == KEY_PASTE || k->code == KEY_BACKSPACE;

        if (!app_panel_key(a, k) && is_text)
            key_typed(a, k);
    } else if (is_twice(&a->ctrl_c_ms, clock_mono_ms()) && editor_is_empty(a->editor)) {
        app_quit(a, /*code=*/0);
    } else {
        app_panel_key(a, &escape);
    }
}
