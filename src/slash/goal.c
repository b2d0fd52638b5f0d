/*
 * /goal: parses the argument (goal/argument/argument.h) and executes it (goal/goal.h); asks the
 * user before a goal is replaced, and lets the user edit one. The commands' thread.
 */
#include "goal/goal.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "conf/conf.h"
#include "goal/report/display.h"
#include "guard/workspace.h"
#include "host/host.h"
#include "slash/answer.h"

static int goal_run(struct slash_call *call, struct err *err);

const struct slash_command slash_goal_entry = {
    .name = "goal",
    .hint = "[<condition> | clear]",
    .summary = "Work until a condition holds; tenax checks it itself",
    .setting = "goal.enabled",
    .more = "Without arguments it shows the goal. `edit`, `pause`, `resume`, `budget`, `check`, "
            "`protect`, `accept`, `wait`, `next`, `queue`, `log`, `report` and `undo` are in "
            "[goals.md](goals.md).",
    .run = goal_run,
};

/* The session's unfinished goal; false: it has none. */
static bool goal_is_open(struct slash_call *call, struct arena *arena, struct store_goal *ret)
{
    return goal_get(host_goal(call->host), arena, ret, /*err=*/NULL) > 0 &&
           goal_confirms_replace(ret);
}

/* Enter at the first question declines, and goals need approval: a user who requests one is asked
 * again. The goal's own gate reports the outcome. */
static int goal_ask_trust(struct slash_call *call, struct err *err)
{
    if (conf_is_trusted(host_conf(call->host)))
        return 0;
    return host_ask_trust(call->host, /*again=*/true, err) < 0 ? -1 : 0;
}

static bool goal_is_begun_by(enum goal_verb verb)
{
    return verb == GOAL_SET || verb == GOAL_NEXT || verb == GOAL_RESUME;
}

/* A user who sets a second goal decides about the first. */
static int goal_ask_replace(struct slash_call *call, struct goal_argument *what, struct err *err)
{
    /* What does away with something is not under the cursor. */
    static const struct choice answers[] = {
        {.label = STR_INIT("Queue the new one"),
         .detail = STR_INIT("it starts when the current goal is complete")},
        {.label = STR_INIT("Replace the current goal"),
         .detail = STR_INIT("work on it ends here; its report stays")},
        {.label = STR_INIT("Cancel"), .detail = STR_INIT("the current goal continues")},
    };
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf title = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf note = BUF_INIT(4096);
    struct pick p = {.look = PICK_LIST, .choices = answers, .count = ARRAY_LEN(answers)};
    struct store_goal row;
    size_t chosen;

    if (!goal_is_open(call, &arena, &row))
        return 0;
    buf_adds(&title, "New goal: ");
    slash_add_line(&title, buf_str(&what->text), 200);
    buf_adds(&note, "Current goal: ");
    slash_add_line(&note, row.objective, 200);
    p.title = buf_str(&title);
    p.note = buf_str(&note);
    if (slash_pick(call, &p, &chosen, err) < 0)
        return -1;
    if (chosen == 2)
        return err_set(err, ERR_CANCELLED, "Cancelled. The goal is unchanged");
    if (chosen == 0)
        what->verb = GOAL_NEXT;
    return 0;
}

/* "/goal edit" without an argument: the user edits the text. */
static int goal_ask_edit(struct slash_call *call, struct goal_argument *what, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal row;

    if (goal_get(host_goal(call->host), &arena, &row, err) <= 0)
        return err_set(err, ERR_NOT_FOUND,
                       "No goal is set, so there is none to edit. /goal <condition> sets one");
    goal_objective(host_goal(call->host), &row, &what->text); /* all of it, of any length */
    return call->front->edit(call->front->arg, STR("The goal"), &what->text, call->cancel, err);
}

/* The typed text, or the parsed form if it has already been parsed. */
static struct str goal_typed(const struct slash_call *call, const struct goal_argument *what)
{
    if (call->args.len)
        return call->args;
    return what->verb == GOAL_SET ? buf_str(&what->text) : STR("resume");
}

/* A check with a typing error never passes; but it may name a file that is yet to be written. */
static int goal_ask_check(void *arg, struct str complaint, struct err *err)
{
    static const struct choice answers[] = {
        {.label = STR_INIT("Change the check"), .detail = STR_INIT("nothing is set")},
        {.label = STR_INIT("Use it as it is"),
         .detail = STR_INIT("what it lacks is part of the work")},
    };
    CLEANUP(buf_release) struct buf title = BUF_INIT(4096);
    struct pick p = {.look = PICK_LIST, .choices = answers, .count = ARRAY_LEN(answers)};
    size_t chosen;

    buf_adds(&title, "A check cannot be run as it is. ");
    slash_add_line(&title, complaint, 1000);
    p.title = buf_str(&title);
    if (slash_pick(arg, &p, &chosen, err) < 0)
        return -1;
    return chosen == 1 ? 0 : err_set(err, ERR_CANCELLED, "Cancelled. Nothing is set");
}

static int goal_ask_scripts(void *arg, const struct strv *scripts, struct err *err)
{
    static const struct choice answers[] = {
        {.label = STR_INIT("Part of the work"), .detail = STR_INIT("the agent may change it")},
        {.label = STR_INIT("Part of the check"),
         .detail = STR_INIT("protected: a change must be accepted by you")},
    };
    CLEANUP(buf_release) struct buf title = BUF_INIT(4096);
    struct pick p = {.look = PICK_LIST, .choices = answers, .count = ARRAY_LEN(answers)};
    size_t chosen;

    buf_adds(&title, "The check runs ");
    for (size_t i = 0; i < scripts->len && i < 5; i++)
        buf_addf(&title, "%s%s", i ? ", " : "", scripts->ptr[i]);
    if (scripts->len > 5)
        buf_addf(&title, " and %zu more", scripts->len - 5);
    buf_adds(&title, scripts->len > 1 ? ". Which are they?" : ". Which is it?");
    p.title = buf_str(&title);
    return slash_pick(arg, &p, &chosen, err) < 0 ? -1 : (int)chosen;
}

static int goal_run_read(struct slash_call *call, struct goal_argument *what, struct err *err)
{
    struct goal_answer answer = GOAL_ANSWER_INIT;
    /* A client that sets a goal edits the one that is there. */
    enum goal_via via = !call->is_client         ? VIA_USER
                        : what->verb == GOAL_SET ? VIA_CLIENT
                                                 : VIA_ELSEWHERE;
    int rc;

    answer.ask_check = call->front ? goal_ask_check : NULL;
    answer.ask_scripts = call->front ? goal_ask_scripts : NULL;
    answer.arg = call;
    rc = goal_do(host_goal(call->host), what, via, call->cancel, &answer, err);
    if (rc == 0) {
        if (call->front && what->verb == GOAL_REPORT) /* Markdown */
            call->front->show(call->front->arg, STR("Report"), buf_str(&answer.text));
        else
            buf_add(&call->text, buf_str(&answer.text));
        call->goes_on = answer.turn;
        if (answer.turn && !call->is_client)
            goal_was_typed(host_goal(call->host), goal_typed(call, what));
        host_write_goal(call->host);
    }
    goal_answer_release(&answer);
    return rc;
}

static int goal_run(struct slash_call *call, struct err *err)
{
    CLEANUP(goal_argument_release) struct goal_argument what = GOAL_ARGUMENT_INIT;

    if (call->goal)
        return goal_run_read(call, call->goal, err);
    if (goal_argument_read(call->args, clock_wall_ms(), &what, err) < 0)
        return -1;
    if (call->front && goal_is_begun_by(what.verb) && goal_ask_trust(call, err) < 0)
        return -1;
    if (call->front && what.verb == GOAL_SET && goal_ask_replace(call, &what, err) < 0)
        return -1;
    if (call->front && what.verb == GOAL_EDIT && !what.text.len &&
        goal_ask_edit(call, &what, err) < 0)
        return -1;
    return goal_run_read(call, &what, err);
}
