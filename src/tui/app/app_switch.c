/*
 * app_switch: one session left for another. The other one is found, held and read first, while the
 * old one works on; when that fails, the user stays where they are. Only then is the old one ended
 * (app_open()). Messages after the switch are for the next session, whoever sent them. UI thread,
 * except for the chores' run().
 */
#include "agent/input.h"
#include "base/log.h"
#include "host/chore.h"
#include "host/host.h"
#include "host/session.h"
#include "slash/slash.h"
#include "tui/app/app.h"
#include "tui/chat/chat.h"

/* ---- is it there? ---- */

struct look_chore {
    struct chore chore;
    struct app_session *next;
    const struct host_spec *spec;
    enum front_switch how;
    struct front_request *request; /* NULL: no one waits, or already answered */
    struct strv notes;
    struct err err;
};

/* A fork is read again when running work has ended and its entries are written: this is only a
 * trial, which keeps nothing. */
static int look_try_fork(struct look_chore *l, struct err *err)
{
    struct session_spec trial = l->next->which;
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct session *found = NULL;
    int rc;

    trial.is_unkept = true;
    rc = session_open(l->spec->conf, &trial, l->spec->cancel, &notes, &found, err);
    session_free(found);
    return rc;
}

static void look_run(struct chore *e)
{
    struct look_chore *l = (struct look_chore *)e;

    if (l->how == SWITCH_FORK)
        (void)look_try_fork(l, &l->err);
    else
        (void)session_open(l->spec->conf, &l->next->which, l->spec->cancel, &l->notes,
                           &l->next->found, &l->err);
}

static void look_tell(struct look_chore *l, const struct err *why)
{
    if (l->request)
        app_front_went(TAKE_PTR(l->request), why);
}

static void look_done(struct chore *e, void *arg)
{
    struct look_chore *l = (struct look_chore *)e;
    struct app *a = arg;

    a->is_dirty = true;
    a->is_fresh = false;
    if (l->err.code) {
        a->is_changing = false;
        if (!l->request)
            chat_note(a->chat, ROLE_BAD, str_of(l->err.text));
        look_tell(l, &l->err);
        if (!a->asks_trust)
            app_say_waiting(a);
        return;
    }
    app_catch_up(a); /* until the answer of the command that wants it */
    app_sent_left(a, /*takes_along=*/l->how == SWITCH_FORK);
    app_unask(a);
    look_tell(l, /*why=*/NULL);
    app_open(a, TAKE_PTR(l->next), l->how, &l->notes);
}

/* The search is abandoned: do not keep the command waiting. */
static void look_free(struct chore *e)
{
    struct look_chore *l = (struct look_chore *)e;
    struct err gone = {0};

    err_set(&gone, ERR_CANCELLED, "the window is closed");
    look_tell(l, &gone);
    app_session_free(l->next);
    strv_release(&l->notes);
    mem_freep(&l);
}

void app_switch(struct app *a, enum front_switch how, struct str id, struct front_request *request)
{
    struct look_chore *l = chore_new(sizeof(*l), look_run, look_done, look_free);

    l->request = request;
    if (a->is_changing) {
        mail_free(&l->chore.mail);
        return;
    }
    l->spec = a->spec->host;
    l->how = how;
    l->next = app_session_new(&l->spec->session);
    app_session_go(l->next, how, how == SWITCH_FORK ? buf_str(&a->resumes) : id);
    a->is_changing = true;
    a->is_fresh = !request;
    inputs_hold(l->spec->inputs, a->is_fresh || a->asks_trust);
    chores_give(a->chores, l);
}
