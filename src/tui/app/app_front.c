/*
 * app_front: what commands may ask of the screen (slash/front.h).
 *
 * A command calls on its own thread; its request goes to the UI thread and is answered exactly once
 * (sync/inquiry.h): by the panel's result, or with ERR_CANCELLED when the command has given up or
 * no UI is left to show it.
 */
#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "conf/conf.h"
#include "sync/cancel.h"
#include "sync/inquiry.h"
#include "sync/mailbox.h"
#include "tui/app/app.h"
#include "tui/chat/chat.h"
#include "tui/chat/transcript_view.h"
#include "tui/dialog/dialogs.h"
#include "tui/editor/editor.h"
#include "tui/screen/screen.h"
#include "tui/screen/style.h"
#include "tui/screen/term.h"
#include "tui/status/statusline.h"

enum request_kind {
    REQUEST_PICK,
    REQUEST_EDIT,
    REQUEST_SHOW,
    REQUEST_VIEW,
    REQUEST_COLS,
    REQUEST_COPY,
    REQUEST_SET,
    REQUEST_GO,
    REQUEST_LEAVE,
    REQUEST_REWIND,
    REQUEST_WITHDRAW, /* `about` */
};

struct front_request {
    struct inquiry inquiry; /* 0 (REQUEST_COLS: how many), or -1: cancelled */
    enum request_kind kind;
    const struct pick *pick;
    struct str title, text, value;
    enum front_switch how;
    struct err *why;   /* REQUEST_GO: why not */
    struct buf *shown; /* the text to edit, as an editor holds it */
    struct buf *edited;
    struct front_request *about;
    size_t chosen;
};

/* ---- the commands' thread ---- */

/* Waits for the answer. */
static int front_call(struct app *a, struct front_request *r, struct cancel *cancel,
                      struct err *err)
{
    struct mailbox *ui = mailbox_ref(a->mailbox);

    inquiry_send(&r->inquiry, ui);
    if (inquiry_wait(&r->inquiry, cancel, err) < 0) {
        struct front_request withdraw = {.kind = REQUEST_WITHDRAW, .about = r};

        inquiry_send(&withdraw.inquiry, ui);
        (void)inquiry_wait(&withdraw.inquiry, /*cancel=*/NULL, err);
        (void)inquiry_wait(&r->inquiry, /*cancel=*/NULL, err);
    }
    mailbox_unref(ui);
    if (r->inquiry.result < 0)
        return err_set(err, ERR_CANCELLED, "Cancelled");
    return 0;
}

static int front_pick(void *arg, const struct pick *p, struct cancel *cancel, size_t *ret,
                      struct err *err)
{
    struct front_request r = {.kind = REQUEST_PICK, .pick = p};

    if (front_call(arg, &r, cancel, err) < 0)
        return -1;
    *ret = r.chosen;
    return 0;
}

static int front_edit(void *arg, struct str title, struct buf *text, struct cancel *cancel,
                      struct err *err)
{
    CLEANUP(buf_release) struct buf shown = BUF_INIT(BUF_NO_LIMIT);
    struct front_request r = {.kind = REQUEST_EDIT,
                              .title = title,
                              .text = buf_str(text),
                              .shown = &shown,
                              .edited = text};

    return front_call(arg, &r, cancel, err);
}

/* The others are answered as soon as they are read, so they never wait. */
static void front_tell(struct app *a, struct front_request *r)
{
    struct err err = {0};

    (void)front_call(a, r, /*cancel=*/NULL, &err);
}

static void front_show(void *arg, struct str title, struct str text)
{
    struct front_request r = {.kind = REQUEST_SHOW, .title = title, .text = text};

    front_tell(arg, &r);
}

static void front_view(void *arg, struct str id)
{
    struct front_request r = {.kind = REQUEST_VIEW, .text = id};

    front_tell(arg, &r);
}

static int front_cols(void *arg)
{
    struct front_request r = {.kind = REQUEST_COLS};

    front_tell(arg, &r);
    return r.inquiry.result > 0 ? r.inquiry.result : INT_MAX;
}

bool app_front_osc52(struct app *a, struct str text)
{
    struct front_request r = {.kind = REQUEST_COPY, .text = text};

    front_tell(a, &r);
    return r.inquiry.result == 0;
}

static const char *front_copy(void *arg, struct str text, struct cancel *cancel)
{
    return app_copy(arg, text, cancel);
}

static bool front_set(void *arg, struct str what, struct str value)
{
    struct front_request r = {.kind = REQUEST_SET, .title = what, .value = value};

    front_tell(arg, &r);
    return r.inquiry.result == 0;
}

/* Answered when the session was found; this wait cannot be interrupted. */
static int front_go(void *arg, enum front_switch how, struct str id, struct err *err)
{
    struct err why = {0};
    struct front_request r = {.kind = REQUEST_GO, .how = how, .text = id, .why = &why};

    if (front_call(arg, &r, /*cancel=*/NULL, err) == 0)
        return 0;
    if (why.code)
        *err = why;
    return -1;
}

static void front_leave(void *arg)
{
    struct front_request r = {.kind = REQUEST_LEAVE};

    front_tell(arg, &r);
}

static void front_rewind(void *arg)
{
    struct front_request r = {.kind = REQUEST_REWIND};

    front_tell(arg, &r);
}

void app_front_init(struct app *a)
{
    a->front = (struct slash_front){
        .arg = a,
        .pick = front_pick,
        .edit = front_edit,
        .show = front_show,
        .view = front_view,
        .cols = front_cols,
        .copy = front_copy,
        .set = front_set,
        .go = front_go,
        .leave = front_leave,
        .rewind = front_rewind,
    };
}

/* ---- the UI thread ---- */

/* A theme is seen while the cursor is on it. */
void app_front_moved(struct app *a, const struct app_panel *p)
{
    const struct theme *theme;
    const struct pick *pick = p->request ? p->request->pick : NULL;

    if (!pick || p->request->kind != REQUEST_PICK || pick->look != PICK_THEME)
        return;
    theme = theme_find(pick->choices[dialog_pick_at(p->panel)].label);
    if (theme)
        screen_theme(a->screen, theme);
    else
        app_look(a);
}

static void pick_done(struct app *a, struct app_panel *p, bool was_left)
{
    if (was_left && p->request->pick->look == PICK_THEME)
        app_look(a); /* as it was */
    if (!was_left)
        p->request->chosen = dialog_pick_at(p->panel);
    inquiry_answer(&p->request->inquiry, was_left ? -1 : 0);
}

static void edit_done(struct app *a, struct app_panel *p, bool was_left)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    (void)a;
    dialog_edit_text(p->panel, &text);
    if (!was_left && !str_eq(buf_str(&text), buf_str(p->request->shown))) {
        buf_clear(p->request->edited);
        buf_add(p->request->edited, buf_str(&text));
    }
    inquiry_answer(&p->request->inquiry, was_left ? -1 : 0);
}

static void request_pick(struct app *a, struct front_request *r)
{
    struct app_panel p = {.panel = dialog_pick_new(r->pick), .done = pick_done, .request = r};

    app_show(a, &p);
}

static void request_edit(struct app *a, struct front_request *r)
{
    struct app_panel p = {
        .panel = dialog_edit_new(r->title, r->text, editor_vim_mode(a->editor) != NULL),
        .done = edit_done,
        .request = r,
    };

    dialog_edit_text(p.panel, r->shown);
    app_show(a, &p);
}

/* The panel it waits for goes; then both are answered. */
static void request_withdraw(struct app *a, const struct front_request *about)
{
    for (size_t i = 0; i < a->panels.len; i++) {
        if (a->panels.ptr[i].request == about) {
            app_panel_withdraw(a, i);
            return;
        }
    }
}

static bool request_set(struct app *a, struct str what, struct str value)
{
    if (str_is(what, "theme")) {
        const struct theme *theme = theme_find(value);

        if (theme)
            screen_theme(a->screen, theme);
        else
            app_look(a);
        return theme || str_is(value, "auto");
    }
    if (str_is(what, "verbose")) {
        app_look(a);
        return true;
    }
    if (str_is(what, "editorMode")) {
        editor_set_vim(a->editor, str_is(value, "vim"));
        app_status_happened(a, STATUS_CHANGED);
        return true;
    }
    return false;
}

void app_front_went(struct front_request *r, const struct err *why)
{
    if (why)
        *r->why = *why;
    inquiry_answer(&r->inquiry, why ? -1 : 0);
}

/* What opens a panel, or looks for a session, is answered when that is done. */
static void request_take(struct app *a, struct front_request *r)
{
    struct app_panel view = {0};
    int result = 0;

    a->is_dirty = true;
    switch (r->kind) {
    case REQUEST_PICK:
        request_pick(a, r);
        return;
    case REQUEST_EDIT:
        request_edit(a, r);
        return;
    case REQUEST_SHOW:
        view.panel = text_view_new(r->title, r->text);
        app_show_first(a, &view);
        break;
    case REQUEST_VIEW:
        app_view_agent(a, r->text.ptr); /* a string */
        break;
    case REQUEST_COLS:
        result = screen_cols(a->screen) - CHAT_SAID_CELLS;
        break;
    case REQUEST_COPY:
        result = term_copy(a->term, r->text) ? 0 : -1;
        break;
    case REQUEST_SET:
        result = request_set(a, r->title, r->value) ? 0 : -1;
        break;
    case REQUEST_GO:
        app_switch(a, r->how, r->text, r);
        return;
    case REQUEST_LEAVE:
        app_quit(a, /*code=*/0);
        break;
    case REQUEST_REWIND:
        app_rewind(a);
        break;
    case REQUEST_WITHDRAW:
        request_withdraw(a, r->about);
        break;
    }
    inquiry_answer(&r->inquiry, result);
}

bool app_front_mail(struct app *a, struct mail *m)
{
    struct inquiry *q = inquiry_take(m);

    if (q)
        request_take(a, (struct front_request *)q);
    return q;
}
