/*
 * Decisions about a command that ran on trial (trial.h): not about its text, but about what it
 * would change or reach, by the rules and modes that hold for tools which edit, read or fetch. Any
 * thread.
 */
#pragma once

#include <stdbool.h>

struct buf;
struct effects;
struct permit;
struct permit_answer;
struct rule_subject;
struct sandbox;
struct trial_wanted;

/* Judges each effect; *ret is the strictest answer. */
void trial_judge_effects(struct permit *p, const struct effects *e, struct permit_answer *ret);
/* Sets the reason: "it would create 2 files: /w/a, /w/b". */
void trial_say_effects(const struct effects *e, struct permit_answer *ret);

/* What the command tried to reach as the subject of rules. False for sockets and the whole network,
 * which no rule covers. */
bool trial_wanted_subject(const struct trial_wanted *w, struct rule_subject *ret);
/* Decides by the rules, for a host also by the sandbox settings. */
void trial_judge_wanted(struct permit *p, struct sandbox *sandbox, const struct trial_wanted *w,
                        const struct rule_subject *subject, struct permit_answer *ret);
/* Makes it a question, with the reason: "it connects to example.com:443". */
void trial_say_wanted(const struct trial_wanted *w, struct permit_answer *ret);
/* Appends it as JSON: {"wanted":{"what":"host","name":…}}. */
void trial_write_wanted(const struct trial_wanted *w, struct buf *ret);
