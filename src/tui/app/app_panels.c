/*
 * app_panels: panels, one at a time, and what becomes of their results. Asks of the session, what
 * commands want to know and our own questions wait for each other in one line; a view that the
 * person opens comes first. UI thread.
 */
#include <string.h>

#include "agent/ask.h"
#include "agent/event.h"
#include "base/clock.h"
#include "conf/conf.h"
#include "host/asks.h"
#include "host/chore.h"
#include "host/host.h"
#include "host/record/rewind.h"
#include "sync/mailbox.h"
#include "tui/app/app.h"
#include "tui/chat/chat.h"
#include "tui/chat/transcript_view.h"
#include "tui/dialog/dialogs.h"
#include "tui/editor/editor.h"
#include "tui/screen/keypress.h"

/* ---- the line ---- */

void app_show(struct app *a, const struct app_panel *p)
{
    vec_push(&a->panels, *p);
    a->is_dirty = true;
}

void app_show_first(struct app *a, const struct app_panel *p)
{
    (void)vec_add(&a->panels);
    memmove(a->panels.ptr + 1, a->panels.ptr, (a->panels.len - 1) * sizeof(*a->panels.ptr));
    a->panels.ptr[0] = *p;
    a->is_dirty = true;
}

struct panel *app_panel(const struct app *a)
{
    return a->panels.len ? a->panels.ptr[0].panel : NULL;
}

static struct app_panel panel_take(struct app *a, size_t i)
{
    struct app_panel p = a->panels.ptr[i];

    memmove(a->panels.ptr + i, a->panels.ptr + i + 1,
            (a->panels.len - i - 1) * sizeof(*a->panels.ptr));
    a->panels.len--;
    a->is_dirty = true;
    a->letter = i ? a->letter : 0;
    return p;
}

static void panel_end(struct app *a, struct app_panel *p, bool was_left)
{
    if (p->done)
        p->done(a, p, was_left);
    panel_free(p->panel);
    panel_log_forget(&a->panel_log);
    if (!p->ask)
        return;
    if (p->ask->ask->kind == ASK_PERMISSION)
        chat_answered(a->chat, p->ask->ask->tool_use_id, clock_mono_ms());
    mail_free(&p->ask->mail);
}

/* The first one has come to this. */
static void panel_is(struct app *a, enum panel_state state)
{
    if (state == PANEL_DONE || state == PANEL_LEFT) {
        struct app_panel p = panel_take(a, 0);

        panel_end(a, &p, state == PANEL_LEFT);
    }
}

bool app_panel_key(struct app *a, const struct keypress *k)
{
    struct panel *shown = app_panel(a);
    enum panel_state state = shown->kind->key(shown, k);

    if (state == PANEL_EARLY)
        return false;
    a->letter = state == PANEL_HELD ? k->text.ptr[0] : 0;
    if (state == PANEL_OPEN)
        app_front_moved(a, &a->panels.ptr[0]);
    panel_is(a, state);
    return true;
}

void app_panel_wake(struct app *a)
{
    struct panel *shown = app_panel(a);

    if (shown && shown->kind->wake)
        panel_is(a, shown->kind->wake(shown));
}

void app_panel_withdraw(struct app *a, size_t i)
{
    struct app_panel p = panel_take(a, i);

    panel_end(a, &p, /*was_left=*/true);
}

void app_panels_release(struct app *a)
{
    while (a->panels.len) {
        struct app_panel p = panel_take(a, 0);

        if (p.request)
            panel_end(a, &p, /*was_left=*/true);
        else
            panel_end(a, &(struct app_panel){.panel = p.panel, .ask = p.ask}, /*was_left=*/true);
    }
}

/* ---- asks ---- */

static void ask_done(struct app *a, struct app_panel *p, bool was_left)
{
    struct ask_answer answer = ASK_ANSWER_INIT;

    (void)was_left; /* answers as "no" does */
    dialog_ask_answer(p->panel, &answer);
    if (app_host(a))
        (void)asks_answer(host_asks(app_host(a)), a->asks, p->ask->id, &answer);
    ask_answer_release(&answer);
}

/* Its answer is no longer needed. */
static void ask_drop(struct app *a, size_t i)
{
    struct app_panel p = panel_take(a, i);

    p.done = NULL;
    panel_end(a, &p, /*was_left=*/true);
}

static void ask_withdraw(struct app *a, uint64_t id)
{
    for (size_t i = 0; i < a->panels.len; i++) {
        if (a->panels.ptr[i].ask && a->panels.ptr[i].ask->id == id) {
            ask_drop(a, i);
            return;
        }
    }
}

void app_asks_withdraw(struct app *a)
{
    for (size_t i = a->panels.len; i > 0; i--) {
        if (a->panels.ptr[i - 1].ask)
            ask_drop(a, i - 1);
    }
}

void app_ask(struct app *a, struct ask_mail *m)
{
    struct app_panel p = {.done = ask_done, .ask = m};

    if (m->what == ASK_WITHDRAWN || !a->asks) {
        ask_withdraw(a, m->id);
        mail_free(&m->mail);
        return;
    }
    p.panel = dialog_ask_new(m->ask, conf_dir(a->conf));
    app_show(a, &p);
    if (m->ask->kind == ASK_PERMISSION)
        chat_asked(a->chat, m->ask->tool_use_id);
    app_notify(a, m->ask->kind == ASK_PERMISSION ? "Permission is needed" : "A question");
}

/* ---- our own questions ---- */

static void confirm_done(struct app *a, struct app_panel *p, bool was_left)
{
    if (!was_left)
        p->chosen(a, dialog_confirm_at(p->panel));
}

void app_confirm(struct app *a, const char *title, struct str text, const char *const *options,
                 size_t count, void (*chosen)(struct app *a, size_t i))
{
    struct app_panel p = {
        .panel = dialog_confirm_new(str_of(title), text, options, count),
        .done = confirm_done,
        .chosen = chosen,
    };

    app_show(a, &p);
}

/* ---- the transcript ---- */

void app_transcript(struct app *a)
{
    const char *path = app_host(a) ? host_transcript(app_host(a)) : "";
    struct app_panel p = {0};
    struct err err = {0};

    if (!*path || !a->has_spoken) {
        app_hint(a, "the session has no messages yet");
        return;
    }
    p.panel = transcript_view_new(path, chat_last_item(a->chat), &err);
    if (p.panel)
        app_show_first(a, &p);
    else
        app_hint(a, "%s", err.text);
}

/* ---- going back ---- */

struct rewind_chore {
    struct chore chore;
    struct host *host;
    struct cancel *cancel;
    struct buf path, folder;
    struct rewind *points; /* looking for them */
    struct buf uuid;       /* going there */
    struct buf said;       /* the message gone back to */
    bool files, conversation;
    struct err err;
    int result;
};

static void rewind_chore_free(struct chore *e)
{
    struct rewind_chore *r = (struct rewind_chore *)e;

    rewind_free(r->points);
    buf_release(&r->path);
    buf_release(&r->folder);
    buf_release(&r->uuid);
    buf_release(&r->said);
    mem_freep(&r);
}

static struct rewind_chore *rewind_chore_new(struct app *a, void (*run)(struct chore *e),
                                             void (*done)(struct chore *e, void *arg))
{
    struct rewind_chore *r = chore_new(sizeof(*r), run, done, rewind_chore_free);

    r->host = app_host(a);
    r->cancel = a->spec->host->cancel;
    buf_init(&r->path, BUF_NO_LIMIT);
    buf_init(&r->folder, BUF_NO_LIMIT);
    buf_init(&r->uuid, BUF_NO_LIMIT);
    buf_init(&r->said, BUF_NO_LIMIT);
    buf_adds(&r->path, host_transcript(r->host));
    buf_adds(&r->folder, host_folder(r->host));
    return r;
}

static void rewind_look(struct chore *e)
{
    struct rewind_chore *r = (struct rewind_chore *)e;

    r->result =
        rewind_open(buf_cstr(&r->path), buf_cstr(&r->folder), r->cancel, &r->points, &r->err);
}

/* Files that others have changed since stay as they are, and the notice lists them; EVENT_REWOUND
 * reports the rest. */
static void rewind_went(void *arg, struct rewind *r, const char *line, const struct err *err)
{
    struct host *host = arg;

    (void)r;
    (void)line;
    if (err)
        host_notice(host, LEVEL_ERROR, str_of(err->text));
}

/* The words of the message, to be said again otherwise. */
static void rewind_read(struct rewind_chore *r)
{
    const struct rewind_point *to;

    rewind_look(&r->chore);
    if (r->points && rewind_find(r->points, buf_str(&r->uuid), &to, &r->err) == 0)
        rewind_said(r->points, to, &r->said);
}

static void rewind_go(struct chore *e)
{
    struct rewind_chore *r = (struct rewind_chore *)e;
    struct host_rewind what = {
        .message = buf_str(&r->uuid),
        .files = r->files,
        .conversation = r->conversation,
    };

    if (r->conversation)
        rewind_read(r);
    r->result = host_rewind(r->host, &what, rewind_went, r->host, &r->err);
}

static void rewind_gone(struct chore *e, void *arg)
{
    struct rewind_chore *r = (struct rewind_chore *)e;
    struct app *a = arg;

    if (r->result < 0)
        chat_note(a->chat, ROLE_BAD, str_of(r->err.text));
    else if (r->said.len && r->host == app_host(a) && editor_is_empty(a->editor))
        editor_set(a->editor, buf_str(&r->said));
    a->is_dirty = true;
}

static void rewind_done(struct app *a, struct app_panel *p, bool was_left)
{
    struct dialog_rewind_choice choice = {0};
    struct rewind_chore *r;

    if (was_left || !app_host(a))
        return;
    dialog_rewind_chosen(p->panel, &choice);
    if (!choice.files && !choice.conversation)
        return;
    if (choice.conversation && !host_in_turn(app_host(a))) /* else it says why not */
        chat_rule(a->chat, STR("going back"));
    r = rewind_chore_new(a, rewind_go, rewind_gone);
    buf_add(&r->uuid, choice.uuid);
    r->files = choice.files;
    r->conversation = choice.conversation;
    chores_give(a->chores, r);
}

static void rewind_when(int64_t time_ms, struct buf *ret)
{
    int64_t s = (clock_wall_ms() - time_ms) / 1000;

    if (s < 60)
        buf_adds(ret, "just now");
    else if (s < 3600)
        buf_addf(ret, "%d min ago", (int)(s / 60));
    else if (s < 86400)
        buf_addf(ret, "%d h ago", (int)(s / 3600));
    else
        buf_addf(ret, "%d d ago", (int)(s / 86400));
}

static void rewind_seen(struct chore *e, void *arg)
{
    struct rewind_chore *r = (struct rewind_chore *)e;
    struct app *a = arg;
    struct app_panel p = {.done = rewind_done};
    size_t n = r->points ? rewind_count(r->points) : 0;
    struct dialog_rewind_point *rows;
    struct buf *when;

    a->is_dirty = true;
    if (r->host != app_host(a))
        return;
    if (!n) {
        app_hint(a, "%s", r->result < 0 ? r->err.text : "there is nothing to go back to");
        return;
    }
    rows = mem_zalloc(n * sizeof(*rows));
    when = mem_zalloc(n * sizeof(*when));
    for (size_t i = 0; i < n; i++) {
        const struct rewind_point *at = rewind_at(r->points, n - 1 - i);

        buf_init(&when[i], 100);
        rewind_when(at->time_ms, &when[i]);
        rows[i] = (struct dialog_rewind_point){at->uuid, at->text, buf_str(&when[i]), at->files};
    }
    p.panel = dialog_rewind_new(rows, n);
    app_show_first(a, &p);
    for (size_t i = 0; i < n; i++)
        buf_release(&when[i]);
    mem_freep(&when);
    mem_freep(&rows);
}

void app_rewind(struct app *a)
{
    const char *path = app_host(a) ? host_transcript(app_host(a)) : "";

    if (*path && a->has_spoken)
        chores_give(a->chores, rewind_chore_new(a, rewind_look, rewind_seen));
    else
        app_hint(a, "there is nothing to go back to");
}
