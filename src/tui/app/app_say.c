/*
 * app_say: what the person says. While nothing runs it is shown and sent at once; while something
 * does it is sent all the same, waits in the agent's queue until the next step, and is shown above
 * the editor until it is heard. Sending is a chore, because the first input builds the agent. UI
 * thread.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "conf/conf.h"
#include "host/chore.h"
#include "host/host.h"
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

/* The desk may be busy, and what waits there can still be taken back. */
enum send_stage {
    SEND_WAITS,
    SEND_RUNS,  /* on its way into the session */
    SEND_GIVEN, /* the session has it */
    SEND_DROPPED,
};

struct send_chore {
    struct chore chore;
    atomic_int stage;
    struct slash *slash;
    char first; /* '!', '#': not for the model */
    struct agent_input input;
    char uuid[ID_UUID_LEN + 1];
    struct buf text;
    const char *home; /* of the store; lent by the settings */
    struct buf project;
    const char *dir; /* lent by the settings */
    char session[ID_UUID_LEN + 1];
    struct cancel *cancel;
    struct err err;
    int result;
};

/* What was typed is found again in later runs. Not worth a word when it fails. */
static void send_keep(struct send_chore *s)
{
    CLEANUP(store_freep) struct store *store = NULL;
    struct store_prompt p = {buf_str(&s->project), buf_str(&s->text), clock_wall_ms()};
    struct history_line line = {p.text, str_of(s->dir), str_of(s->session), p.time_ms};
    struct err err = {0};

    if (store_shared(s->home, s->cancel, &store, &err) < 0 ||
        store_prompt_add(store, &p, SAY_KEPT_PROMPTS, s->cancel, &err) < 0)
        log_debug("tui", "the prompt was not kept: %s", err.text);
    if (history_file_add(s->home, &line, &err) < 0)
        log_debug("tui", "the prompt is not in history.jsonl: %s", err.text);
}

static void send_run(struct chore *e)
{
    struct send_chore *s = (struct send_chore *)e;
    struct str text = buf_str(&s->text);
    int waits = SEND_WAITS;

    if (!atomic_compare_exchange_strong(&s->stage, &waits, SEND_RUNS))
        return;
    if (s->first == '!')
        s->result = slash_shell(s->slash, str_from(text, 1), &s->err);
    else if (s->first == '#')
        s->result = slash_note(s->slash, str_from(text, 1), &s->err);
    else
        s->result = slash_send(s->slash, &s->input, &s->err);
    atomic_store(&s->stage, SEND_GIVEN);
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
    struct sent *sent = sent_find(a, str_of(s->uuid));

    if (sent && sent->away == s)
        sent->away = NULL;
    if (s->result < 0) {
        chat_note(a->chat, ROLE_BAD, str_of(s->err.text));
        app_sent_gone(a, str_of(s->uuid));
    }
    if (a->edits_queue)
        (void)app_edit_queue(a);
    a->is_dirty = true;
}

static void send_free(struct chore *e)
{
    struct send_chore *s = (struct send_chore *)e;

    message_unrefp(&s->input.message);
    buf_release(&s->text);
    buf_release(&s->project);
    mem_freep(&s);
}

/* '!' and '#' have their own ways; 0: for the model, or a command that is said to it. */
static char say_kind(struct str text)
{
    return text.len && (text.ptr[0] == '!' || text.ptr[0] == '#') ? text.ptr[0] : '\0';
}

static void say_send(struct app *a, struct sent *sent)
{
    struct send_chore *s = chore_new(sizeof(*s), send_run, send_done, send_free);
    struct str text = str_of(sent->text);

    s->slash = a->session->slash;
    s->first = say_kind(text);
    memcpy(s->uuid, sent->uuid, sizeof(s->uuid));
    memcpy(s->input.uuid, sent->uuid, sizeof(s->input.uuid));
    s->input.message = message_user_text(text);
    s->input.when = chat_is_busy(a->chat) ? INPUT_NEXT : INPUT_LATER;
    buf_init(&s->text, BUF_NO_LIMIT);
    buf_add(&s->text, text);
    buf_init(&s->project, BUF_NO_LIMIT);
    project_key(str_of(conf_dir(a->conf)), &s->project);
    s->dir = conf_dir(a->conf);
    (void)snprintf(s->session, sizeof(s->session), "%s", host_session(a->session->host));
    s->home = conf_home(a->conf);
    s->cancel = a->spec->host->cancel;
    a->has_spoken = true;
    sent->is_sent = true;
    sent->away = s;
    desk_give(a->desk, s);
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
    /* Else it is said as soon as it can. */
    bool can_be = a->session && !a->asks_trust && !a->is_fresh;
    bool is_command = say_kind(text) || str_starts(text, STR("/")); /* waits for no turn */
    bool now = can_be && !a->is_changing && (is_command || !(app_is_working(a) || a->sent.len));
    struct sent *s = sent_add(a, text, shown, now);

    if (now)
        chat_said(a->chat, shown, str_of(s->uuid));
    if (can_be)
        say_send(a, s);
    a->is_dirty = true;
}

void app_say_waiting(struct app *a)
{
    app_pass_on(a);
    VEC_EACH(&a->sent, s) {
        if (s->is_kept || s->is_sent)
            continue; /* its agent has it */
        if (s == a->sent.ptr && !s->is_shown && !chat_is_busy(a->chat)) {
            chat_said(a->chat, str_of(s->shown), str_of(s->uuid));
            s->is_shown = true;
        }
        say_send(a, s);
    }
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

bool app_has_sent(struct app *a, struct str uuid)
{
    return sent_find(a, uuid) || strv_has(&a->taken_back, uuid);
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
    int waits = SEND_WAITS;

    if (!s->is_sent && !s->is_kept) { /* but maybe to a session that was left */
        strv_adds(&a->taken_back, s->uuid);
        return true;
    }
    if (s->away && atomic_compare_exchange_strong(&s->away->stage, &waits, SEND_DROPPED))
        return true;
    return slash_unqueue(a->session->slash, str_of(s->uuid)) ||
           host_unqueue(a->session->host, str_of(s->uuid));
}

/* The command that leaves the session has been answered: what it has overtaken was for that one,
 * unless a copy of it comes. What waits until something is said waits there: a copy would begin
 * with it. */
void app_sent_left(struct app *a, bool takes_along)
{
    size_t stay = 0;

    for (size_t i = 0; i < a->sent.len;) {
        struct sent *s = &a->sent.ptr[i];
        bool waited = !s->is_shown;
        bool stays = s->is_kept || (s->is_overtaken && !takes_along);

        if (!stays && (!s->is_overtaken || (waited && sent_take_back(a, s)))) {
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
static bool queue_take_back(struct app *a)
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

/* Between the desk and the session: nobody has it who could give it back. */
static bool queue_is_on_its_way(const struct app *a)
{
    VEC_EACH(&a->sent, s) {
        if (!s->is_shown && s->away && atomic_load(&s->away->stage) == SEND_RUNS)
            return true;
    }
    return false;
}

bool app_edit_queue(struct app *a)
{
    a->edits_queue = queue_is_on_its_way(a); /* then all of it, in order, when it is there */
    return a->edits_queue || queue_take_back(a);
}

void app_interrupt(struct app *a, bool take_back)
{
    CLEANUP(strv_release) struct strv queued = STRV_INIT;

    if (take_back)
        (void)queue_take_back(a);
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
