/*
 * /goal undo: the workspace goes back to the state in which the goal was set, after a look at what
 * that means. Any thread; the goal is not held, because git takes its time.
 */
#include <stdio.h>

#include "base/err.h"
#include "goal/goal_state.h"
#include "goal/report/report.h"
#include "json/json.h"
#include "json/jw.h"

#define UNDO_EVENTS 100000

int change_undo(struct goal *g, const struct goal_argument *what, struct cancel *cancel,
                struct goal_answer *ret, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf list = BUF_INIT(64 << 10);
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 10);
    struct baseline b = goal_baseline(g);
    struct baseline_undone done = {0};
    const struct json *v = NULL;
    goal_event_vec events = {0};
    char commit[GIT_ID] = "";
    size_t count = 0;
    struct jw w;
    int r;

    goal_enter(g);
    r = goal_need(g, err);
    if (r == 0 && g->row.baseline.len &&
        json_parse(&arena, g->row.baseline, &v, /*ret_info=*/NULL, /*err=*/NULL) == 0)
        snprintf(commit, sizeof(commit), "%.*s", STR_ARG(json_get_str(v, "commit")));
    if (r == 0 && g->row.status == GOAL_ACTIVE && g->in_turn)
        r = err_set(err, ERR_BUSY, "the agent is at work; /goal pause first");
    if (r == 0 && commit[0])
        r = store_goal_events(g->store, str_of(g->spec.session), g->row.goal_id, /*after=*/0,
                              UNDO_EVENTS, &arena, &events, cancel, err);
    goal_leave(g);
    if (r < 0)
        return -1;
    if (!commit[0])
        return err_set(err, ERR_UNSUPPORTED,
                       "the goal was set outside of git, so there is no state to go back to; "
                       "tenax rewind takes back what tools wrote");
    b.spare = goal_report_path(&events, &arena);
    vec_release(&events);
    if (!str_is(str_trim(buf_str(&what->text)), "yes")) {
        if (baseline_undo_plan(&b, commit, cancel, &list, &count, err) < 0)
            return -1;
        if (!count)
            buf_adds(&ret->text, "The workspace is as it was when the goal was set.");
        else
            buf_addf(&ret->text,
                     "%zu file%s would go back to what %s when the goal was set:\n%.*s\nNothing is "
                     "lost: the present state is kept under refs/tenax. \"/goal undo yes\" does "
                     "it.",
                     count, count == 1 ? "" : "s", count == 1 ? "it was" : "they were",
                     STR_ARG(buf_str(&list)));
        return 0;
    }
    if (baseline_undo(&b, commit, cancel, &done, err) < 0)
        return -1;
    goal_enter(g);
    goal_tell_begin(g, &w, &data);
    jw_kcstr(&w, "ref", done.ref);
    jw_object_end(&w);
    goal_note(g, "undo", buf_str(&data));
    goal_leave(g);
    buf_addf(&ret->text, "%zu file%s restored, %zu removed; the old state is kept as %s.",
             done.restored, done.restored == 1 ? "" : "s", done.removed, done.ref);
    return 0;
}
