/*
 * text: prints a session as plain text.
 *
 * On a terminal the answer appears as it arrives, and the activity of tools on standard error; into
 * a pipe each answer is printed when it is complete, so that a script never reads a partial answer
 * or, after a broken stream, the same text twice. On a terminal a retried answer continues where
 * the broken one stopped as long as it repeats the same text. Main thread.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/secret.h"
#include "base/strv.h"
#include "base/utf8.h"
#include "cmd/activity.h"
#include "cmd/cmd.h"
#include "cmd/goal_lines.h"
#include "cmd/text.h"
#include "goal/report/display.h"
#include "host/events/feed.h"
#include "host/host.h"
#include "json/json.h"
#include "slash/slash.h"
#include "sync/mailbox.h"

#define TEXT_CLAIM 200
#define TEXT_MAX_ANSWER ((size_t)64 << 20)
#define TEXT_LAST_MS 2000 /* for the end of the turn after an interrupt */

/* Events that readers of pipes see before the end. */
#define TEXT_URGENT                                                                                \
    (EVENT_BIT(EVENT_NOTICE) | EVENT_BIT(EVENT_RETRY) | EVENT_BIT(EVENT_STEP_VOID) |               \
     EVENT_BIT(EVENT_COMPACTED) | EVENT_BIT(EVENT_GOAL) | EVENT_BIT(EVENT_COMMAND) |               \
     EVENT_BIT(EVENT_TURN_DONE))

struct text {
    bool live;        /* standard output is a terminal */
    bool in_text;     /* the open block is text */
    bool mid_line;    /* the cursor is after text of ours */
    bool after_text;  /* something has been shown before this step */
    struct buf shown; /* what the terminal has of this step's answer */
    size_t again;     /* of `shown`, what a retried answer has repeated so far */
    bool repeating;
    int64_t retry_at_ms; /* when the next try is due; 0: none is waited for */
    struct activity activity;
    struct goal_lines goal;
    struct buf claim; /* the first line of the latest answer */
    const struct text_spec *spec;
    struct cancel *cancel;
    int code;           /* exit code once output has failed */
    struct event *last; /* the last TURN_DONE */
    bool has_notice;    /* a later turn was started by one */
};

static void text_out(struct text *t, struct str text)
{
    CLEANUP(buf_release) struct buf clean = BUF_INIT(BUF_NO_LIMIT);

    if (t->code || !text.len)
        return;
    buf_add(&clean, text);
    secret_scrub(&clean);
    (void)say_live(buf_str(&clean), t->cancel, &t->code);
    t->mid_line = text.ptr[text.len - 1] != '\n';
}

/* Removes from *text the part already on the terminal. If a retried answer is different, prints a
 * note and shows it from its beginning. */
static void text_skip_repeated(struct text *t, struct str *text)
{
    struct str left = str_from(buf_str(&t->shown), t->again);
    size_t same = 0;

    while (same < left.len && same < text->len && left.ptr[same] == text->ptr[same])
        same++;
    t->again += same;
    *text = str_from(*text, same);
    if (!text->len)
        return;
    t->repeating = false;
    if (t->again == t->shown.len)
        return;
    buf_cut(&t->shown, t->again, t->shown.len);
    text_out(t, STR("\n\n[cut off; a new answer begins]\n\n"));
    text_out(t, buf_str(&t->shown));
}

static void text_delta(struct text *t, struct str text)
{
    if (t->repeating)
        text_skip_repeated(t, &text);
    if (!text.len)
        return;
    if (t->after_text && !t->shown.len)
        text_out(t, STR("\n")); /* an empty line between the texts of two steps */
    buf_add(&t->shown, text);
    text_out(t, text);
}

/* A note in the middle of an answer starts on a new line. */
static void text_break(struct text *t)
{
    if (t->live && t->mid_line)
        text_out(t, STR("\n"));
}

static void text_void(struct text *t)
{
    t->repeating = t->shown.len > 0;
    t->again = 0;
    text_break(t);
}

/* A cut or paused answer continues in the middle of its line. */
static void text_step_done(struct text *t, const struct event *e)
{
    bool goes_on = t->in_text && e->kind == EVENT_STEP_DONE &&
                   (e->stop == STOP_MAX_TOKENS || e->stop == STOP_PAUSE_TURN);

    if (!goes_on)
        text_break(t);
    t->after_text = !goes_on && (t->after_text || t->shown.len);
    buf_clear(&t->shown);
    t->repeating = false;
}

static void text_retry(struct text *t, const struct event *e)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(4096);

    text_break(t);
    buf_add(&text, e->text);
    if (e->status >= 300 && !str_has(e->text, STR("HTTP ")))
        buf_addf(&text, " (HTTP %d)", e->status);
    buf_adds(&text, "; trying again");
    if (e->delay_ms >
        500) /* the same text for every random delay: the second wait is 750 to 1000 ms */
        buf_addf(&text, " in %" PRId64 " s", (e->delay_ms + 500) / 1000);
    say("%s (attempt %d of %d)", buf_cstr(&text), e->attempt, e->max_tries);
    t->retry_at_ms = e->delay_ms >= 2000 ? clock_mono_ms() + e->delay_ms : 0;
}

/* What a command answers is the answer, where no turn follows. */
static void text_command(struct text *t, const struct event *e)
{
    text_break(t);
    if (e->state != STATE_IDLE)
        say_plain("%.*s", STR_ARG(e->text));
}

/* A verdict may be about text that was not shown, if only the last answer is printed. */
static void text_claim(struct text *t, const struct event *e)
{
    if (!t->live && t->claim.len && str_is(e->name, "goal_verdict"))
        say_plain("“%.*s”", STR_ARG(buf_str(&t->claim)));
    buf_clear(&t->claim);
}

/* Half of a surrogate pair, which JSON can carry, is not valid UTF-8 and would break readers of the
 * pipe. It has three bytes, as U+FFFD has. The parser rejects everything else that is invalid. */
static void text_mend(struct buf *text)
{
    size_t at = utf8_valid_len(buf_str(text));

    while (text->len - at >= 3) {
        memcpy(text->ptr + at, "\xef\xbf\xbd", 3);
        at += 3 + utf8_valid_len(str_from(buf_str(text), at + 3));
    }
}

/* The whole answer into a pipe. */
static void text_answer(struct text *t, const struct turn_report *report)
{
    CLEANUP(buf_release) struct buf rest = BUF_INIT(TEXT_MAX_ANSWER);

    buf_add(&rest, report->structured.len ? report->structured : report->result);
    text_mend(&rest);
    secret_scrub(&rest);
    if (!str_ends(buf_str(&rest), STR("\n")))
        buf_addc(&rest, '\n');
    (void)say_out(buf_str(&rest), t->cancel, &t->code);
}

/* Prints an answer that was not the last one: the end of a background task has started another
 * turn. */
static void text_answer_before(struct text *t)
{
    const struct turn_report *report = t->last ? t->last->report : NULL;

    if (report && t->has_notice && !t->live && !t->spec->for_goal && report->steps &&
        !report->is_error && str_trim(report->result).len)
        text_answer(t, report);
    t->has_notice = false;
}

static void text_event(struct text *t, const struct event *e)
{
    switch (e->kind) {
    case EVENT_TURN_STARTED:
        goal_lines_turn(&t->goal, /*runs=*/true);
        break;
    case EVENT_GOAL:
        text_break(t);
        text_claim(t, e);
        goal_lines_event(&t->goal, e);
        break;
    case EVENT_BLOCK_DONE:
        if (e->block == BLOCK_TEXT) {
            buf_clear(&t->claim);
            goal_show_line(e->text, TEXT_CLAIM, &t->claim);
        }
        break;
    case EVENT_COMMAND:
        text_command(t, e);
        break;
    case EVENT_WAITING:
        if (e->total > 0)
            say_status("reading the prompt: %d %%", (int)(e->processed * 100.0 / (double)e->total));
        break;
    case EVENT_BLOCK_STARTED:
        say_status("%s", "");
        t->in_text = e->block == BLOCK_TEXT;
        break;
    case EVENT_BLOCK_DELTA:
        if (t->live && t->in_text)
            text_delta(t, e->text);
        break;
    case EVENT_STEP_VOID:
        text_void(t);
        break;
    case EVENT_STEP_DONE:
    case EVENT_STEP_CUT:
        text_step_done(t, e);
        break;
    case EVENT_RETRY:
        text_retry(t, e);
        break;
    case EVENT_NOTICE:
        text_break(t);
        say("%.*s", STR_ARG(e->text));
        break;
    case EVENT_COMPACTING:
        say_status("%s", "summing up the conversation");
        break;
    case EVENT_COMPACTED:
        text_break(t);
        say_status("%s", "");
        if (!e->is_error) /* a failure is reported by a notice or the result */
            say("%.*s", STR_ARG(e->text));
        break;
    case EVENT_REWOUND:
        text_break(t);
        say("%.*s", STR_ARG(e->text));
        break;
    case EVENT_TOOL_STARTED:
        text_break(t);
        activity_started(&t->activity, e);
        break;
    case EVENT_TOOL_DONE:
        text_break(t);
        activity_done(&t->activity, e);
        break;
    case EVENT_USER:
        t->has_notice = t->has_notice || e->user == USER_NOTICE;
        break;
    case EVENT_TURN_DONE:
        text_answer_before(t);
        event_unref(t->last);
        t->last = event_ref((struct event *)e); /* counting changes no event */
        goal_lines_turn(&t->goal, /*runs=*/false);
        break;
    default:
        break;
    }
}

/* "2 calls were refused: Edit, Write (…)", because the answer may not mention them. */
static void text_refused(const struct turn_report *report)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf names = BUF_INIT(TEXT_MAX_ANSWER);
    CLEANUP(strv_release) struct strv seen = STRV_INIT;
    const struct json *denials = NULL;
    size_t n;

    if (!report->denials.len ||
        json_parse(&arena, report->denials, &denials, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    n = json_len(denials);
    JSON_EACH(denials, d) {
        struct str tool = json_get_str(d, "tool_name");

        if (strv_has(&seen, tool))
            continue;
        strv_add(&seen, tool);
        buf_addf(&names, "%s%.*s", names.len ? ", " : "", STR_ARG(tool));
    }
    if (n)
        say("%zu call%s refused: %s (tenax permissions shows the rules, --allowedTools adds one)",
            n, n == 1 ? " was" : "s were", buf_cstr(&names));
}

static int text_end(struct text *t)
{
    const struct turn_report *report = t->last ? t->last->report : NULL;

    text_break(t);
    if (t->code)
        return t->code; /* the output is closed: there is no one to notify */
    if (cmd_signal_code()) {
        say("interrupted");
        return cmd_signal_code();
    }
    if (!report)
        return t->spec->for_goal ? EXIT_OK : EXIT_FAILED; /* it is already complete */
    if (report->is_error) {
        say("%.*s",
            STR_ARG(report->error.len ? report->error : str_of(turn_end_name(report->end))));
        return EXIT_FAILED;
    }
    if (!t->live || report->structured.len || (!report->steps && report->result.len))
        text_answer(t, report); /* of a command nothing was shown yet */
    if (report->error.len)
        say("%.*s", STR_ARG(report->error)); /* why a hook ended it */
    text_refused(report);
    return t->code;
}

/* Counts down the seconds to the next attempt on a terminal. Returns until when to wait. */
static int64_t text_countdown(struct text *t)
{
    int64_t left_ms = t->retry_at_ms - clock_mono_ms();

    if (!t->retry_at_ms)
        return goal_lines_tick(&t->goal);
    if (left_ms <= 0) {
        t->retry_at_ms = 0;
        say_status("%s", "");
        return -1;
    }
    say_status("trying again in %" PRId64 " s", (left_ms + 999) / 1000);
    return clock_mono_ms() + (left_ms % 1000 ? left_ms % 1000 : 1000);
}

static void done_free(struct mail *m)
{
    mem_freep(&m);
}

static const struct mail_kind done_kind = {"done", done_free};

/* On the agent's thread. */
static void on_done(void *arg)
{
    struct mail *m = mem_zalloc(sizeof(*m));

    m->kind = &done_kind;
    mailbox_send(arg, m);
    mailbox_unref(arg);
}

static void text_take(struct text *t, struct observer *o)
{
    struct event *e = NULL;
    uint64_t seq;

    while (observer_take(o, &e, &seq) == OBSERVED_EVENT) {
        text_event(t, e);
        event_unref(e);
    }
}

static void text_loop(struct text *t, struct mailbox *mb, struct observer *o)
{
    int64_t give_up_ms = -1;
    bool done = false;

    while (!done && !t->code) {
        int64_t due_ms = give_up_ms >= 0 ? give_up_ms : text_countdown(t);
        struct err err = {0};
        struct mail *m;

        if (mailbox_take(mb, give_up_ms >= 0 ? NULL : t->cancel, due_ms, &m, &err) == 0) {
            done = m->kind == &done_kind;
            mail_free(m);
        } else if (err.code == ERR_CANCELLED) {
            give_up_ms = clock_mono_ms() + TEXT_LAST_MS;
        } else if (give_up_ms >= 0) {
            return;
        }
        text_take(t, o);
    }
}

int text_run(const struct text_spec *spec)
{
    struct cmd *c = spec->cmd;
    struct text t = {
        .live = isatty(STDOUT_FILENO),
        .spec = spec,
        .cancel = c->cancel,
        .shown = BUF_INIT(TEXT_MAX_ANSWER),
    };
    struct mailbox *mb = mailbox_new();
    struct observer *o = feed_observe(host_feed(spec->host), /*from=*/1, /*flags=*/0, mb);
    struct err err = {0};
    int code;

    activity_init(&t.activity, c->args.given[OPT_VERBOSE], c->dir);
    goal_lines_init(&t.goal);
    buf_init(&t.claim, 2 * TEXT_CLAIM);
    if (!t.live && !t.activity.shown)
        observer_wake_on(o, TEXT_URGENT);

    if (spec->begin(spec->arg, &err) < 0) {
        if (err.code != ERR_CANCELLED)
            say_error(&err);
        code = err.code == ERR_CANCELLED ? cmd_signal_code() : EXIT_FAILED;
    } else {
        slash_finish(spec->slash, on_done, mailbox_ref(mb));
        spec->begun(spec->arg);
        text_loop(&t, mb, o);
        code = text_end(&t);
        goal_lines_turn(&t.goal, /*runs=*/true); /* nothing is waited for any more */
    }
    goal_lines_release(&t.goal);
    buf_release(&t.claim);
    event_unref(t.last);
    observer_free(o);
    mailbox_close(mb);
    mailbox_unref(mb);
    buf_release(&t.shown);
    return code;
}
