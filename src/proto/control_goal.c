/*
 * control_goal: a client works on the session's goal.
 *
 * goal {argument, wait_ms}: the text after /goal, with the same answer; it may take its time (a
 * check is run when it is added), so it is mailed when it is there: {text, goes_on, active_goal}.
 * When other commands keep it waiting for longer than wait_ms it is not done.
 */
#include "proto/control_goal.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "goal/argument/argument.h"
#include "goal/goal.h"
#include "host/host.h"
#include "json/json.h"
#include "json/jw.h"
#include "proto/control.h"
#include "proto/peer.h"
#include "slash/slash.h"
#include "sync/mailbox.h"

#define ANSWER_MAX ((size_t)16 << 20)

struct waiting {
    struct mailbox *to;
    struct buf request_id;
};

static void write_answer(const struct slash_call *call, struct buf *body)
{
    CLEANUP(buf_release) struct buf active = BUF_INIT(ANSWER_MAX);
    struct jw w;

    goal_active_json(host_goal(call->host), &active);
    jw_init(&w, body, JW_CLEAN);
    jw_object(&w);
    jw_kstr(&w, "text", str_trim(buf_str(&call->text)));
    jw_kbool(&w, "goes_on", call->goes_on);
    jw_kraw(&w, "active_goal", buf_str(&active));
    jw_object_end(&w);
}

/* The commands' thread. */
static void on_answer(void *arg, const struct slash_call *call, const struct err *err)
{
    CLEANUP(buf_release) struct buf body = BUF_INIT(ANSWER_MAX);
    struct waiting *waiting = arg;
    struct line_mail *m = line_mail_new();

    if (!err)
        write_answer(call, &body);
    control_respond(buf_str(&waiting->request_id), buf_str(&body), err, &m->line);
    mailbox_send(waiting->to, &m->mail);
    mailbox_unref(waiting->to);
    buf_release(&waiting->request_id);
    mem_freep(&waiting);
}

/* Whether the request changes nothing. */
static bool goal_looks(struct str text)
{
    CLEANUP(goal_argument_release) struct goal_argument what = GOAL_ARGUMENT_INIT;

    return goal_argument_read(text, clock_wall_ms(), &what, /*err=*/NULL) == 0 &&
           what.verb == GOAL_SHOW;
}

/* What only changes the goal's row is done at once: a dialog that is open in the session must not
 * keep the user from pausing or clearing its goal. */
static bool is_quick(enum goal_verb verb)
{
    return verb == GOAL_CLEAR || verb == GOAL_PAUSE || verb == GOAL_BUDGET || verb == GOAL_QUEUE;
}

/* 1: it is answered; 0: it is for the commands' thread; -1. */
static int answer_quick(struct control_call *call, struct jw *w, struct err *err)
{
    CLEANUP(goal_argument_release) struct goal_argument what = GOAL_ARGUMENT_INIT;
    CLEANUP(buf_release) struct buf active = BUF_INIT(ANSWER_MAX);
    struct goal *goal = host_goal(call->session->host);
    struct goal_answer answer = GOAL_ANSWER_INIT;
    int r;

    if (!goal ||
        goal_argument_read(json_get_str(call->request, "argument"), clock_wall_ms(), &what,
                           /*err=*/NULL) < 0 ||
        !is_quick(what.verb))
        return 0;
    r = goal_do(goal, &what, VIA_ELSEWHERE, /*cancel=*/NULL, &answer, err);
    if (r == 0) {
        host_write_goal(call->session->host);
        goal_active_json(goal, &active);
        jw_kstr(w, "text", str_trim(buf_str(&answer.text)));
        jw_kbool(w, "goes_on", answer.turn);
        jw_kraw(w, "active_goal", buf_str(&active));
    }
    goal_answer_release(&answer);
    return r < 0 ? -1 : 1;
}

int control_goal(struct control_call *call, struct jw *w, struct err *err)
{
    const struct slash_command *command = slash_find(STR("/goal"), /*ret_args=*/NULL);
    struct waiting *waiting;
    int r;

    if (call->looks_only && !goal_looks(json_get_str(call->request, "argument")))
        return err_set(err, ERR_DENIED, CONTROL_LOOKS_ONLY);
    r = answer_quick(call, w, err);
    if (r)
        return r < 0 ? -1 : 0;
    waiting = mem_zalloc(sizeof(*waiting));
    waiting->to = mailbox_ref(call->mailbox);
    buf_init(&waiting->request_id, 4096);
    buf_add(&waiting->request_id, str_clip(call->request_id, 4096));
    if (slash_ask(call->session->slash, command, json_get_str(call->request, "argument"),
                  json_get_i64(call->request, "wait_ms", 0), on_answer, waiting, err) == 0)
        return 1;
    mailbox_unref(waiting->to);
    buf_release(&waiting->request_id);
    mem_freep(&waiting);
    return -1;
}
