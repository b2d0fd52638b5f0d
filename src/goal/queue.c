/*
 * Goals that wait for the present one to be complete: added, shown, moved. The goal is held,
 * except while the store is asked.
 */
#include "base/err.h"
#include "goal/goal_state.h"
#include "goal/report/display.h"

int change_next(struct goal *g, const struct goal_argument *what, struct cancel *cancel,
                struct goal_answer *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf options = BUF_INIT(GOAL_MAX_TEXT);
    struct goal_next next = {.objective = str_trim(buf_str(&what->text))};
    int r;

    if (goal_need(g, err) < 0)
        return -1;
    if (!next.objective.len)
        return err_set(err, ERR_BAD_INPUT, "a goal needs a condition: /goal next <condition>");
    if (goal_check_referee(&what->options, err) < 0)
        return -1;
    goal_options_write(&what->options, &options);
    next.options = buf_str(&options);
    goal_leave(g);
    r = store_goal_next_add(g->store, str_of(g->spec.session), &next, cancel, err);
    goal_enter(g);
    if (r < 0)
        return -1;
    buf_adds(&ret->text, "Queued for when the present goal is complete: ");
    goal_show_line(next.objective, 300, &ret->text);
    if (g->row.status == GOAL_COMPLETE) {
        g->next_due = true;
        goal_say_turn(g, ret);
    }
    return 0;
}

int change_queue(struct goal *g, const struct goal_argument *what, struct cancel *cancel,
                 struct goal_answer *ret, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    goal_next_vec list = {0};
    int r = 1;

    if (goal_open_store(g, err) < 0)
        return -1;
    goal_leave(g);
    if (what->number)
        r = store_goal_next_move(g->store, str_of(g->spec.session), what->number, what->number2,
                                 cancel, err);
    if (r > 0 &&
        store_goal_next_list(g->store, str_of(g->spec.session), &arena, &list, cancel, err) < 0)
        r = -1;
    goal_enter(g);
    if (r == 0)
        return err_set(err, ERR_NOT_FOUND, "the queue has no place %zu", what->number);
    if (r < 0)
        return -1;
    if (!list.len)
        buf_adds(&ret->text, "No goal waits. /goal next <condition> adds one.");
    for (size_t i = 0; i < list.len; i++) {
        buf_addf(&ret->text, "%s%zu. ", i ? "\n" : "", i + 1);
        goal_show_line(list.ptr[i].objective, 300, &ret->text);
    }
    vec_release(&list);
    return 0;
}
