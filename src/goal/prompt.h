/*
 * The texts about its goal for the model; the templates are *.md beside this file.
 *
 * The objective is the user's text: it stands escaped in a tagged block that is described as data,
 * not higher authority. Substituted text is never searched for further placeholders. Pure
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
/* The third round without any change: another strategy. tried: a list of attempts; may be empty. */
void goal_prompt_strategy(const struct goal_words *w, struct str tried, struct buf *ret);
/* What to keep when the conversation is begun anew from a summary, after five of them. */
void goal_prompt_fresh(const struct goal_words *w, struct buf *ret);

#define GOAL_TAIL_MAX 600            /* bytes of a tail beside the objective */
#define GOAL_TAIL_MAX_OBJECTIVE 1000 /* bytes of the objective in it; get_goal has the rest */
/* After the history of every request while the goal is set: short, with today's figures, the last
 * reason and what its status means for the model. */
void goal_prompt_tail(const struct goal_words *w, struct buf *ret);

/* The feedback of a refused stop: "Stop hook feedback:\n<reason>" and nothing else. */
void goal_prompt_feedback(struct str reason, struct buf *ret);
/* A text between tags: "<", ">" and "&" escaped; control characters except tabs and newlines
 * removed, and invalid UTF-8 with them. */
void goal_escape(struct str text, struct buf *ret);

/* directive.md and its like, with {{places}}. */
extern const char goal_directive_md[], goal_continuation_md[], goal_budget_limit_md[],
    goal_updated_md[], goal_strategy_md[], goal_fresh_md[], goal_tail_md[];
