/*
 * What the model is told about its goal, in our words; the texts are *.md beside this file.
 *
 * The objective is a person's text: it stands escaped in a tagged block and is said to be data, not
 * higher authority. What is filled in is never looked through for further places to fill in. Pure
 * functions.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

struct buf;
struct store_goal;

struct goal_words {
    const struct store_goal *goal;
    struct str objective; /* the whole text, also where the row only refers to a file */
    int64_t seconds;      /* used, the running turn included */
};

/* On set: acknowledge briefly, begin, stopping is refused until it holds. */
void goal_prompt_directive(const struct goal_words *w, struct buf *ret);
/* Goes on: in an idle session, after a resume, in mode self at each stop. */
void goal_prompt_continuation(const struct goal_words *w, struct buf *ret);
/* The budget is spent: wrap up. which: "token budget", "cost limit", "step limit", "deadline"
 * (goal_limit_name()). */
void goal_prompt_budget_limit(const struct goal_words *w, struct str which, struct buf *ret);
/* The objective is another one now. */
void goal_prompt_updated(const struct goal_words *w, struct buf *ret);
/* The third round without any change: another strategy. tried: what was, a list; may be empty. */
void goal_prompt_strategy(const struct goal_words *w, struct str tried, struct buf *ret);
/* What to keep when the conversation is begun anew from a summary, after five of them. */
void goal_prompt_fresh(const struct goal_words *w, struct buf *ret);

#define GOAL_TAIL_MAX 600            /* bytes of a tail beside the objective */
#define GOAL_TAIL_MAX_OBJECTIVE 1000 /* bytes of the objective in it; get_goal has the rest */
/* Behind the history of every request while the goal is there: short, with today's figures, the
 * last reason and what its status means for the model. */
void goal_prompt_tail(const struct goal_words *w, struct buf *ret);

/* The feedback of a refused stop: "Stop hook feedback:\n<reason>" and nothing else. */
void goal_prompt_feedback(struct str reason, struct buf *ret);
/* A text between tags: "<", ">" and "&" escaped; control characters but for tabs and new lines
 * gone, and with them what is no UTF-8. */
void goal_escape(struct str text, struct buf *ret);

/* directive.md and its like, with {{places}}. */
extern const char goal_directive_md[], goal_continuation_md[], goal_budget_limit_md[],
    goal_updated_md[], goal_strategy_md[], goal_fresh_md[], goal_tail_md[];
