/*
 * app_say: what the user says. It goes into the session's queue (agent/input.h) at once, also while
 * a session is still being made, and is shown when it is heard: until then it is above the editor,
 * and can be taken back. Reading the queue is a chore, because the first prompt prepares the agent.
 * UI thread.
 */
#include <stdio.h>
#include <string.h>

#include "agent/input.h"
#include "base/clock.h"
#include "base/log.h"
#include "conf/conf.h"
#include "host/chore.h"
#include "host/host.h"
#include "host/hub.h"
#include "host/project.h"
#include "llm/message.h"
#include "slash/slash.h"
#include "store/history_file.h"
#include "store/store.h"
#include "tui/app/app.h"
#include "tui/chat/chat.h"
#include "tui/editor/editor.h"

#define SAY_KEPT_PROMPTS 10000

/* ---- sending ---- */

struct send_chore {
    struct chore chore;
    struct slash *slash;
    char uuid[ID_UUID_LEN + 1];
    struct buf text;
    struct hub *hub;
    const char *home; /* of the store; lent by the settings */
    struct buf project;
    const char *dir; /* lent by the settings */
    char session[ID_UUID_LEN + 1];
    struct cancel *cancel;
    struct err err;
    int result;
};

/* Stores the prompt for the history of later runs. Failures are ignored. */
static void send_keep(struct send_chore *s)
{
    CLEANUP(store_freep) struct store *store = NULL;
    struct store_prompt p = {buf_str(&s->project), buf_str(&s->text), clock_wall_ms()};
    struct history_line line = {p.text, str_of(s->dir), str_of(s->session), p.time_ms};
    struct err err = {0};

    if (hub_store(s->hub, s->home, s->cancel, &store, &err) < 0 ||
        store_prompt_add(store, &p, SAY_KEPT_PROMPTS, s->cancel, &err) < 0)
        log_debug("tui", "the prompt was not kept: %s", err.text);
    if (history_file_add(s->home, &line, &err) < 0)
        log_debug("tui", "the prompt is not in history.jsonl: %s", err.text);
}

static void send_run(struct chore *e)
{
    struct send_chore *s = (struct send_chore *)e;

    s->result = slash_attend(s->slash, str_of(s->uuid), &s->err);
    send_keep(s);
}

static struct sent *sent_find(struct app *a, struct str uuid)
{
    VEC_EACH(&a->sent, s) {
        if (str_is(uuid, s->uuid))
            return s;
    }
    return NULL;
}

static void send_done(struct chore *e, void *arg)
{
    struct send_chore *s = (struct send_chore *)e;
    struct app *a = arg;

    if (s->result < 0) {
        chat_note(a->chat, ROLE_BAD, str_of(s->err.text));
        app_sent_gone(a, str_of(s->uuid));
    }
    a->is_dirty = true;
}

static void send_free(struct chore *e)
{
    struct send_chore *s = (struct send_chore *)e;

    buf_release(&s->text);
    buf_release(&s->project);
    mem_freep(&s);
}

/* '!' and '#' are handled on their own; 0: for the model, or a command meant for it. */
static char say_kind(struct str text)
{
    return text.len && (text.ptr[0] == '!' || text.ptr[0] == '#') ? text.ptr[0] : '\0';
}

static void say_attend(struct app *a, struct sent *sent)
{
    struct send_chore *s = chore_new(sizeof(*s), send_run, send_done, send_free);

    s->slash = a->session->slash;
    memcpy(s->uuid, sent->uuid, sizeof(s->uuid));
    buf_init(&s->text, BUF_NO_LIMIT);
    buf_adds(&s->text, sent->text);
    buf_init(&s->project, BUF_NO_LIMIT);
    project_key(str_of(conf_dir(a->conf)), &s->project);
    s->dir = conf_dir(a->conf);
    (void)snprintf(s->session, sizeof(s->session), "%s", host_session(a->session->host));
    s->hub = host_hub(a->session->host);
    s->home = conf_home(a->conf);
    s->cancel = a->spec->host->cancel;
    a->has_spoken = true;
    sent->is_sent = true;
    chores_give(a->chores, s);
}

static struct sent *sent_add(struct app *a, struct str text, struct str shown, bool is_shown)
{
    struct sent *s = vec_add(&a->sent);

    *s = (struct sent){.text = mem_dup(text.ptr, text.len),
                       .shown = mem_dup(shown.ptr, shown.len),
                       .is_shown = is_shown,
                       .sent_ms = clock_mono_ms()};
    id_uuid(s->uuid);
    return s;
}

void app_say(struct app *a, struct str text, struct str shown)
{
    /* Else it is read as soon as it can be. */
    bool can_be = a->session && !a->asks_trust && !a->is_fresh;
    bool is_command = say_kind(text) || str_starts(text, STR("/")); /* waits for no turn */
    bool now = can_be && !a->is_changing && (is_command || !(app_is_working(a) || a->sent.len));
    struct agent_input in = {
        .message = message_user_text(text),
        .origin = INPUT_BY_TERMINAL,
        .when = can_be && chat_is_busy(a->chat) ? INPUT_NEXT : INPUT_LATER,
    };
    struct sent *s = sent_add(a, text, shown, now);
    struct err err = {0};

    memcpy(in.uuid, s->uuid, sizeof(in.uuid));
    if (inputs_push(a->spec->host->inputs, &in, &err) < 0) {
        chat_note(a->chat, ROLE_BAD, str_of(err.text));
        app_sent_gone(a, str_of(in.uuid));
        return;
    }
    if (now)
        chat_said(a->chat, shown, str_of(s->uuid));
    if (can_be)
        say_attend(a, s);
    a->is_dirty = true;
}

void app_say_waiting(struct app *a)
{
    inputs_hold(a->spec->host->inputs, false);
    VEC_EACH(&a->sent, s) {
        if (s->is_kept || s->is_sent)
            continue; /* its agent has it */
        if (s == a->sent.ptr && !s->is_shown && !chat_is_busy(a->chat)) {
            chat_said(a->chat, str_of(s->shown), str_of(s->uuid));
            s->is_shown = true;
        }
        say_attend(a, s);
    }
    if (!a->sent.len)
        app_attend(a); /* what others have said */
}

void app_sent_anew(struct app *a)
{
    VEC_EACH(&a->sent, s) {
        s->is_sent = false;
    }
}

void app_sent_kept(struct app *a, const struct strv *uuids, const struct strv *texts)
{
    for (size_t i = 0; i < uuids->len; i++) {
        struct sent *s =
            sent_add(a, str_of(texts->ptr[i]), str_of(texts->ptr[i]), /*is_shown=*/false);
        struct sent kept = *s;

        snprintf(kept.uuid, sizeof(kept.uuid), "%s", uuids->ptr[i]);
        kept.is_kept = true;
        memmove(&a->sent.ptr[i + 1], &a->sent.ptr[i], (a->sent.len - 1 - i) * sizeof(kept));
        a->sent.ptr[i] = kept;
    }
}

/* ---- what became of it ---- */

bool app_is_working(const struct app *a)
{
    VEC_EACH(&a->sent, s) {
        if (!s->is_kept)
            return true;
    }
    return chat_is_busy(a->chat);
}

static void sent_drop(struct app *a, size_t i)
{
    mem_freep(&a->sent.ptr[i].text);
    mem_freep(&a->sent.ptr[i].shown);
    for (size_t at = i; at + 1 < a->sent.len; at++)
        a->sent.ptr[at] = a->sent.ptr[at + 1];
    a->sent.len--;
}

void app_sent_gone(struct app *a, struct str uuid)
{
    struct sent *s = sent_find(a, uuid);

    if (!s)
        return;
    if (str_starts(str_of(s->text), STR("/"))) {
        for (struct sent *before = a->sent.ptr; before < s; before++)
            before->is_overtaken = true;
    }
    sent_drop(a, (size_t)(s - a->sent.ptr));
}

void app_sent_begins(struct app *a, struct str uuid)
{
    const struct sent *s = sent_find(a, uuid);
    bool is_stopped = s && s->is_stopped;

    app_sent_gone(a, uuid);
    if (is_stopped)
        app_interrupt(a, /*take_back=*/false);
}

/* They have no uuid: the oldest one of them is answered. */
void app_sent_answered(struct app *a, struct str command)
{
    for (size_t i = 0; i < a->sent.len; i++) {
        if (command.len == 1 && say_kind(str_of(a->sent.ptr[i].text)) == command.ptr[0]) {
            sent_drop(a, i);
            return;
        }
    }
}

void app_forget_sent(struct app *a)
{
    while (a->sent.len)
        sent_drop(a, a->sent.len - 1);
}

/* False: it is being heard just now. */
static bool sent_take_back(struct app *a, const struct sent *s)
{
    struct agent_input in = {0};

    if (a->session)
        return host_unqueue(a->session->host, str_of(s->uuid));
    if (!inputs_take_back(a->spec->host->inputs, str_of(s->uuid), &in))
        return false;
    agent_input_release(&in);
    return true;
}

/* The command that leaves the session has been answered: messages it has overtaken were for that
 * session, unless a copy of it comes. Those that wait for the next prompt stay there: a copy would
 * begin with them. */
void app_sent_left(struct app *a, bool takes_along)
{
    size_t stay = 0;

    for (size_t i = 0; i < a->sent.len;) {
        struct sent *s = &a->sent.ptr[i];
        bool waited = !s->is_shown;
        bool stays = s->is_kept || (s->is_overtaken && !takes_along);

        if (!stays &&
            (!s->is_overtaken || (waited && host_return(a->session->host, str_of(s->uuid))))) {
            s->is_overtaken = false;
            i++;
            continue;
        }
        stay += waited;
        sent_drop(a, i);
    }
    if (stay) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(200);

        buf_addf(&text, "%zu queued message%s with the session before", stay,
                 stay == 1 ? " stays" : "s stay");
        chat_note(a->chat, ROLE_FAINT, buf_str(&text));
    }
}

/* All that can be, into the editor; false: nothing can. */
bool app_edit_queue(struct app *a)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < a->sent.len;) {
        struct sent *s = &a->sent.ptr[i];

        if (s->is_shown || !sent_take_back(a, s)) {
            i++;
            continue;
        }
        if (text.len)
            buf_addc(&text, '\n');
        buf_adds(&text, s->text);
        sent_drop(a, i);
    }
    if (!text.len)
        return false;
    if (!editor_is_empty(a->editor)) {
        buf_addc(&text, '\n');
        editor_text(a->editor, &text);
    }
    editor_set(a->editor, buf_str(&text));
    return true;
}

void app_interrupt(struct app *a, bool take_back)
{
    CLEANUP(strv_release) struct strv queued = STRV_INIT;

    if (take_back)
        (void)app_edit_queue(a);
    if (!a->session)
        return;
    if (!chat_is_busy(a->chat)) {
        if (slash_interrupt(a->session->slash))
            return;
        if (a->sent.len) /* its agent may still be in the making, and hear nothing */
            a->sent.ptr[0].is_stopped = true;
    }
    host_interrupt(a->session->host, /*drop_queued=*/false, &queued);
}
