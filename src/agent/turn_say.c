/*
 * The user's side of a turn: input, reminders and markers are added to the conversation, written to
 * the transcript and shown to observers. Agent thread.
 */
#include <string.h>

#include "agent/agent_state.h"
#include "agent/journal.h"
#include "agent/recall.h"
#include "agent/step.h"
#include "base/clock.h"
#include "base/err.h"
#include "context/mention.h"
#include "context/notice.h"
#include "context/reminder.h"
#include "guard/permit.h"
#include "json/jw.h"
#include "llm/cache.h"
#include "llm/message.h"
#include "llm/provider.h"
#include "sync/cancel.h"

#define TURN_MAX_HEARD 64     /* uuids of inputs in a turn's result, at most */
#define TURN_SHOWN_PROMPT 500 /* bytes of a blocked prompt that are shown */

/* told: additional text for the user. */
static void emit_user(const struct agent *a, const struct block *blocks, size_t count,
                      const char *uuid, enum event_user user, bool is_named, struct str told,
                      struct cancel *cancel)
{
    struct event *e = agent_event(a, EVENT_USER);
    CLEANUP(message_unrefp) struct message *m = message_new(ROLE_USER, count);
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < count; i++)
        message_add(m, &blocks[i]);
    message_write(m, &json);
    message_text(m, &text);
    e->json = arena_str(&e->arena, buf_str(&json));
    e->text = arena_str(&e->arena, buf_str(&text));
    e->id = arena_str(&e->arena, str_of(uuid));
    memcpy(e->uuid, uuid, ID_UUID_LEN);
    e->user = user;
    e->is_named = is_named;
    e->show = arena_str(&e->arena, told);
    agent_emit(a, e, cancel);
}

void agent_emit_user(const struct agent *a, const struct block *blocks, size_t count,
                     const char *uuid, enum event_user user, struct cancel *cancel)
{
    emit_user(a, blocks, count, uuid, user, /*is_named=*/false, STR(""), cancel);
}

int agent_keep_user(struct agent *a, const struct block *blocks, size_t count, const char *uuid,
                    enum event_user user, struct err *err)
{
    struct journal *journal = a->spec.journal;

    for (size_t i = 0; i < count; i++) {
        struct block block = blocks[i];

        block.entry = str_of(uuid);
        history_say(&a->history, &block);
    }
    return journal ? journal->user(journal, blocks, count, uuid, user, err) : 0;
}

/* Adds to the conversation, writes to the transcript and shows to observers. */
static int turn_say(struct agent *a, struct turn *t, const struct block *blocks, size_t count,
                    const char *uuid, enum event_user user, struct str told, struct err *err)
{
    int r = agent_keep_user(a, blocks, count, uuid, user, err);

    t->unwritten = t->unwritten || r < 0;
    emit_user(a, blocks, count, uuid, user, user == USER_INPUT && strv_has(&t->heard, str_of(uuid)),
              told, t->cancel);
    return r;
}

int turn_say_text(struct agent *a, struct turn *t, struct str text, enum event_user user)
{
    struct block block = {.kind = BLOCK_TEXT, .text = text};
    char uuid[ID_UUID_LEN + 1];

    id_uuid(uuid);
    return turn_say(a, t, &block, 1, uuid, user, /*told=*/STR(""), &t->err);
}

/* Sets the note to the reason why a prompt is not sent, with the prompt itself unless the hook
 * wants it hidden. */
static void turn_say_blocked(struct turn *t, const struct hook_outcome *o, struct str prompt)
{
    struct str shown = str_clip(prompt, TURN_SHOWN_PROMPT);

    buf_add(&t->note, o->stop && o->stop_reason.len ? buf_str(&o->stop_reason)
                      : o->reason.len               ? buf_str(&o->reason)
                                                    : STR("a hook blocked the prompt"));
    if (!o->stop && !o->hides_prompt)
        buf_addf(&t->note, "\n\nOriginal prompt: %.*s%s", STR_ARG(shown),
                 shown.len < prompt.len ? "…" : "");
}

/* Runs the UserPromptSubmit hooks. -1 if they blocked the prompt: the turn ends. */
static int turn_ask_prompt_hooks(struct agent *a, struct turn *t, const struct agent_input *in)
{
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct err err = {0};
    struct jw w;
    int r;

    if (!agent_session_hook_wanted(a, HOOK_USER_PROMPT_SUBMIT, STR("")))
        return 0;
    message_text(in->message, &text);
    jw_init(&w, &json, 0);
    agent_hook_begin(a, &w, HOOK_USER_PROMPT_SUBMIT);
    jw_kstr(&w, "prompt", buf_str(&text));
    if (in->is_note || in->is_notice || a->spec.prompt_source)
        jw_kcstr(&w, "source", in->is_note || in->is_notice ? "system" : a->spec.prompt_source);
    agent_hook_title(a, &w);
    jw_object_end(&w);
    r = agent_hook_run(a, HOOK_USER_PROMPT_SUBMIT, STR(""), buf_str(&json), /*call=*/NULL,
                       t->cancel, &o, &err);
    if (r < 0 && (err.code == ERR_DENIED || err.code == ERR_CANCELLED)) {
        buf_adds(&t->note, err.text);
        return -1;
    }
    if (o.stop || o.decision == HOOK_DENY) {
        turn_say_blocked(t, &o, buf_str(&text));
        return -1;
    }
    if (o.context.len)
        agent_remind(a, buf_str(&o.context));
    return 0;
}

/* The same for a prompt that a command was expanded to: hooks get the command and the prompt. */
static int turn_ask_expansion_hooks(struct agent *a, struct turn *t, const struct agent_input *in)
{
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    const struct agent_command *c = in->command;
    struct err err = {0};
    struct jw w;
    int r;

    if (!c || !agent_hook_wanted(a, HOOK_USER_PROMPT_EXPANSION, str_of(c->name)))
        return 0;
    message_text(in->message, &text);
    jw_init(&w, &json, 0);
    agent_hook_begin(a, &w, HOOK_USER_PROMPT_EXPANSION);
    jw_kcstr(&w, "expansion_type", "slash_command");
    jw_kcstr(&w, "command_name", c->name);
    jw_kcstr(&w, "command_args", c->args);
    jw_kcstr(&w, "command_source", c->source);
    jw_kstr(&w, "prompt", buf_str(&text));
    jw_object_end(&w);
    r = agent_hook_run(a, HOOK_USER_PROMPT_EXPANSION, str_of(c->name), buf_str(&json),
                       /*call=*/NULL, t->cancel, &o, &err);
    if (r < 0 && (err.code == ERR_DENIED || err.code == ERR_CANCELLED)) {
        buf_adds(&t->note, err.text);
        return -1;
    }
    if (o.stop || o.decision == HOOK_DENY) {
        CLEANUP(buf_release) struct buf typed = BUF_INIT(BUF_NO_LIMIT);

        buf_addf(&typed, "/%s %s", c->name, c->args);
        turn_say_blocked(t, &o, str_trim(buf_str(&typed)));
        return -1;
    }
    if (o.context.len)
        agent_remind(a, buf_str(&o.context));
    return 0;
}

/* Takes the lock, because hooks on other threads read the effort. */
static void turn_set_effort(struct agent *a, enum effort effort)
{
    lock_take(&a->lock);
    a->turn_effort = effort;
    lock_give(&a->lock);
}

/* Records in the transcript what the turn was allowed to do. */
static void turn_keep_grants(struct agent *a, const struct strv *allow)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(AGENT_MAX_TEXT);
    struct journal *journal = a->spec.journal;
    struct jw w;

    if (!journal || !allow->len)
        return;
    jw_init(&w, &json, 0);
    jw_object(&w);
    jw_kcstr(&w, "type", "command_permissions");
    jw_key(&w, "allowedTools");
    jw_array(&w);
    for (size_t i = 0; i < allow->len; i++)
        jw_cstr(&w, allow->ptr[i]);
    jw_array_end(&w);
    jw_object_end(&w);
    (void)journal->attach(journal, buf_str(&json), /*err=*/NULL);
}

int turn_lend(struct agent *a, struct agent_command *c, struct err *err)
{
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;

    if (!c)
        return 0;
    if (c->allow.len || c->deny.len || c->only.len) {
        if (permit_lend(a->spec.permit, &c->allow, &c->deny, &c->only, &warnings, err) < 0)
            return err_prefix(err, "/%s", c->name);
        for (size_t i = 0; i < warnings.len; i++)
            agent_notice(a, LEVEL_WARNING, "/%s: %s", c->name, warnings.ptr[i]);
        a->has_lent = true;
        turn_keep_grants(a, &c->allow);
    }
    if (c->provider) {
        if (a->turn_provider)
            provider_release(a->turn_provider);
        mem_freep(&a->turn_provider);
        a->turn_provider = TAKE_PTR(c->provider);
    }
    if (c->effort)
        turn_set_effort(a, c->effort);
    return 0;
}

void turn_return(struct agent *a)
{
    if (a->has_lent)
        permit_return(a->spec.permit);
    a->has_lent = false;
    if (a->turn_provider)
        provider_release(a->turn_provider);
    mem_freep(&a->turn_provider);
    turn_set_effort(a, EFFORT_UNSET);
}

/* Tells the model about a changed permission mode. */
static void turn_say_mode(struct agent *a)
{
    CLEANUP(buf_release) struct buf blocks = BUF_INIT(AGENT_MAX_TEXT);
    enum permit_mode now = permit_mode(a->spec.permit);

    if (now == a->told_mode)
        return;
    reminder_plan(&blocks, a->told_mode == MODE_PLAN, now == MODE_PLAN, a->spec.plan_steps);
    a->told_mode = now;
    agent_say_reminders(a, buf_str(&blocks));
}

static void turn_say_extra(struct agent *a)
{
    struct extra_view view = agent_extra(a);

    extra_say(&view);
}

/* Writes the facts about a resumed conversation. */
static void turn_write_past(const struct agent *a, struct jw *w)
{
    int64_t past_ms = a->spec.last_ms ? clock_wall_ms() - a->spec.last_ms : -1;

    if (!a->is_recalled)
        return;
    if (past_ms >= 0)
        jw_ki64(w, "seconds_since_last_response", past_ms / 1000);
    if (a->last_input_tokens)
        jw_ki64(w, "context_tokens", a->last_input_tokens);
    cache_write_past(a->spec.conf, &agent_provider(a, 0)->model, a->last_input_tokens,
                     past_ms >= 0 ? past_ms / 1000 : -1, w);
}

/* SessionStart hooks cannot prevent a session, but they can end its turn like any hook. */
void turn_ask_start_hooks(struct agent *a, struct turn *t, struct str source,
                          struct buf *ret_context, struct buf *ret_first)
{
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct err err = {0};
    struct jw w;

    if (!agent_session_hook_wanted(a, HOOK_SESSION_START, source))
        return;
    jw_init(&w, &json, 0);
    agent_hook_begin(a, &w, HOOK_SESSION_START);
    jw_kstr(&w, "source", source);
    jw_kstr(&w, "model", agent_provider(a, 0)->model.name);
    agent_hook_title(a, &w);
    if (!str_is(source, "compact"))
        turn_write_past(a, &w);
    jw_object_end(&w);
    (void)agent_hook_run(a, HOOK_SESSION_START, source, buf_str(&json), /*call=*/NULL, t->cancel,
                         &o, &err);
    buf_add(ret_context, buf_str(&o.context));
    if (ret_first)
        buf_add(ret_first, buf_str(&o.first));
    if (o.stop) {
        t->stopped = true;
        buf_add(&t->note, o.stop_reason.len ? buf_str(&o.stop_reason) : STR("a hook stopped it"));
    }
}

/* The same for a subagent, whose start hooks can neither prevent nor end it. */
static void turn_ask_agent_start(struct agent *a, struct turn *t)
{
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct str type = str_of(a->spec.identity.type ? a->spec.identity.type : "");
    struct err err = {0};
    struct jw w;

    if (a->asked_start || !agent_hook_wanted(a, HOOK_SUBAGENT_START, type))
        return;
    jw_init(&w, &json, 0);
    agent_hook_begin(a, &w, HOOK_SUBAGENT_START);
    jw_object_end(&w);
    (void)agent_hook_run(a, HOOK_SUBAGENT_START, type, buf_str(&json), /*call=*/NULL, t->cancel, &o,
                         &err);
    buf_add(&a->start_context, buf_str(&o.context));
}

void turn_ask_start(struct agent *a, struct turn *t)
{
    if (!identity_is_main(&a->spec.identity)) {
        turn_ask_agent_start(a, t);
        a->asked_start = true;
        return;
    }
    if (!a->asked_start)
        turn_ask_start_hooks(a, t, str_of(a->spec.source ? a->spec.source : "startup"),
                             &a->start_context, &a->start_words);
    a->asked_start = true;
    if (!a->start_stops)
        return;
    a->start_stops = false; /* it applies to this turn only */
    t->stopped = true;
    buf_add(&t->note, buf_str(&a->start_note));
}

void agent_run_start(struct agent *a)
{
    struct turn t = {.note = BUF_INIT(HOOK_MAX_TEXT)};

    t.cancel = cancel_new(a->spec.cancel);
    lock_take(&a->lock);
    a->turn_cancel = t.cancel; /* lets the user interrupt a slow hook */
    lock_give(&a->lock);
    turn_ask_start(a, &t);
    lock_take(&a->lock);
    a->turn_cancel = NULL;
    a->pushed = false;
    lock_give(&a->lock);
    a->start_stops = t.stopped;
    buf_add(&a->start_note, buf_str(&t.note));
    buf_release(&t.note);
    cancel_unref(t.cancel);
}

/* Writes lines that tell other programs what the reminders contain. The model does not use them, so
 * a failure is ignored. */
static void turn_attach_lines(struct agent *a)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(AGENT_MAX_TEXT);

    while (a->spec.attachment && a->spec.attachment(a->spec.news_arg, &line)) {
        if (a->spec.journal)
            (void)a->spec.journal->attach(a->spec.journal, buf_str(&line), /*err=*/NULL);
        buf_clear(&line);
    }
}

/* Adds the context before the first input, and changes since the last input before later ones. */
static void turn_say_news(struct agent *a, struct turn *t)
{
    CLEANUP(buf_release) struct buf blocks = BUF_INIT(AGENT_MAX_TEXT);
    bool first = !a->said_context;

    if (first && !a->is_recalled)
        buf_add(&blocks, a->spec.context);
    else if (a->spec.news)
        a->spec.news(a->spec.news_arg, t->cancel, &blocks);
    a->said_context = true;
    agent_say_reminders(a, buf_str(&blocks));
    turn_attach_lines(a);
    agent_tell_loaded(a);
    if (first) {
        turn_ask_start(a, t);
        agent_remind(a, buf_str(&a->start_context));
        buf_release(&a->start_context);
    }
    turn_say_mode(a);
    turn_say_extra(a);
}

/* Chooses the uuid of an input's transcript line: the client's, unless it is already used. Two
 * lines with the same uuid could make the chain of lines circular. */
static void turn_name_input(const struct agent *a, const struct agent_input *in,
                            char ret[static ID_UUID_LEN + 1])
{
    CLEANUP(strv_release) struct strv used = STRV_INIT;

    memcpy(ret, in->uuid, ID_UUID_LEN + 1);
    history_entries(&a->history, 0, &used);
    if (strv_has(&used, str_of(in->uuid)))
        id_uuid(ret);
}

/* Sets the prompt id that hooks receive from now on. */
static void turn_name_prompt(struct agent *a, const char *uuid)
{
    lock_take(&a->lock);
    memcpy(a->prompt_id, uuid, ID_UUID_LEN + 1);
    lock_give(&a->lock);
}

/* Adds what else fits an input. */
static void turn_say_fitting(struct agent *a, struct str words)
{
    CLEANUP(buf_release) struct buf block = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);

    if (!a->spec.fitting)
        return;
    a->spec.fitting(a->spec.news_arg, words, &block, &line);
    agent_say_line(a, buf_str(&line), buf_str(&block));
}

/* Adds the user's text with the files it mentions: texts before it, images in the same message. */
static int turn_add_text(struct agent *a, struct turn *t, const struct agent_input *in,
                         const char *uuid)
{
    CLEANUP(mentions_release) struct mentions files = MENTIONS_INIT;
    CLEANUP(buf_release) struct buf words = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(message_unrefp) struct message *said = NULL;
    struct extra_view view = agent_extra(a);

    message_text(in->message, &words);
    if (a->spec.mentioned)
        a->spec.mentioned(a->spec.workspace, a->spec.permit, agent_provider(a, 0)->model.images,
                          buf_str(&words), t->cancel, &files);
    agent_say_reminders(a, buf_str(&files.reminders));
    extra_say_resources(&view, buf_str(&words), t->cancel);
    extra_hint_input(&view, buf_str(&words));
    turn_say_fitting(a, buf_str(&words));
    said = message_new(ROLE_USER, files.images.len + in->message->len);
    VEC_EACH(&files.images, image) {
        message_add(said, &(struct block){.kind = BLOCK_IMAGE,
                                          .media_type = str_of(image->media_type),
                                          .data = buf_str(&image->data)});
    }
    for (size_t i = 0; i < in->message->len; i++)
        message_add(said, &in->message->blocks[i]);
    return turn_say(a, t, said->blocks, said->len, uuid, USER_INPUT, buf_str(&files.told), &t->err);
}

/* Sends the notice in its wrapper, which is removed in the transcript. */
static int turn_say_notice(struct agent *a, struct turn *t, const struct agent_input *in,
                           const char *uuid, bool between)
{
    CLEANUP(buf_release) struct buf bare = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct block block = {.kind = BLOCK_TEXT};

    message_text(in->message, &bare);
    notice_wrap(buf_str(&bare), &text);
    block.text = buf_str(&text);
    block.id = str_of(in->run); /* for the transcript only */
    return turn_say(a, t, &block, 1, uuid, between ? USER_NOTICE_BETWEEN : USER_NOTICE,
                    /*told=*/STR(""), &t->err);
}

static int turn_say_input(struct agent *a, struct turn *t, const struct agent_input *in,
                          const char *uuid, bool between)
{
    if (in->is_notice)
        return turn_say_notice(a, t, in, uuid, between);
    if ((!in->is_literal || in->has_files) && !in->is_note && !in->command)
        return turn_add_text(a, t, in, uuid);
    if (in->is_typed) {
        int r =
            agent_keep_user(a, in->message->blocks, in->message->len, uuid, USER_INPUT, &t->err);

        t->unwritten = t->unwritten || r < 0;
        emit_user(a, in->message->blocks, in->message->len, uuid, USER_ADDED,
                  /*is_named=*/false, /*told=*/STR(""), t->cancel);
        return r;
    }
    return turn_say(a, t, in->message->blocks, in->message->len, uuid,
                    in->is_note ? USER_ADDED : USER_INPUT, /*told=*/STR(""), &t->err);
}

/* between: the turn is running already. Returns 1 if the turn was cancelled while hooks ran; the
 * caller must queue the input again. */
static int turn_process_input(struct agent *a, struct turn *t, struct agent_input *in, bool between)
{
    char uuid[ID_UUID_LEN + 1];
    int asked;
    int r = -1;

    if (in->go_on && !a->left_open) {
        turn_announce(a, t, in);
        return err_set(&t->err, ERR_BAD_INPUT,
                       "the last turn is complete, so there is nothing to continue; give a "
                       "prompt");
    }
    a->left_open = false;
    turn_name_input(a, in, uuid);
    turn_name_prompt(a, uuid);
    turn_say_news(a, t);
    if (in->go_on) {
        turn_announce(a, t, in);
        if (t->took_up)
            return 0;
        return turn_say_text(a, t, STR(RECALL_GO_ON), USER_ADDED);
    }
    asked = t->stopped ? -1 : turn_ask_expansion_hooks(a, t, in);
    if (asked == 0)
        asked = turn_ask_prompt_hooks(a, t, in);
    if (asked == 0)
        asked = turn_lend(a, in->command, &t->err);
    if (asked < 0 && between && cancel_is_set(t->cancel) && inputs_put_back(a->inputs, in))
        return 1;
    turn_announce(a, t, in);
    if (asked == 0 && a->start_words.len)
        asked = turn_say_text(a, t, buf_str(&a->start_words), USER_INPUT);
    buf_release(&a->start_words);
    t->is_notices = t->is_notices || (in->is_notice && !between);
    if (t->is_notices && !between)
        memcpy(t->run, in->run, sizeof(t->run));
    if (in->is_named && t->heard.len < TURN_MAX_HEARD)
        strv_adds(&t->heard, in->uuid);
    if (asked == 0)
        r = turn_say_input(a, t, in, uuid, between);
    agent_unkeep(a, QUEUE_DEQUEUE, in);
    return r;
}

int turn_take_input(struct agent *a, struct turn *t, struct agent_input *in)
{
    return turn_process_input(a, t, in, /*between=*/false);
}

/* Takes input between two steps. If a hook blocks it, the turn continues without it and its sender
 * is notified. Returns true if something was added. */
static bool turn_take_between(struct agent *a, struct turn *t, struct agent_input *in)
{
    size_t noted = t->note.len;
    struct event *e;
    int r = turn_process_input(a, t, in, /*between=*/true);

    if (r > 0) {
        buf_cut(&t->note, noted, t->note.len - noted);
        return false;
    }
    if (r == 0 || t->unwritten)
        return true;
    if (t->note.len == noted)
        return false;
    e = agent_event(a, EVENT_NOTICE);
    e->level = LEVEL_WARNING;
    e->id = arena_str(&e->arena, str_of(in->uuid));
    e->text = arena_str(&e->arena, str_from(buf_str(&t->note), noted));
    if (!t->stopped) /* otherwise the note is also the reason for the end */
        buf_cut(&t->note, noted, t->note.len - noted);
    agent_emit(a, e, t->cancel);
    return false;
}

bool turn_take_mail(struct agent *a, struct turn *t)
{
    struct agent_input in;
    bool any = false;

    agent_write_hooks(a, /*stop=*/NULL);
    agent_take_over(a);
    turn_say_mode(a);
    turn_say_extra(a);
    while (inputs_next_note(a->inputs, &in)) {
        agent_remind(a, in.message->blocks[0].text);
        agent_input_release(&in);
        any = true;
    }
    /* After a cancel, waiting input is left for the next turn. */
    while (!cancel_is_set(t->cancel) && inputs_next(a->inputs, /*between=*/true, &in)) {
        any = turn_take_between(a, t, &in) || any;
        agent_input_release(&in);
    }
    return any;
}
