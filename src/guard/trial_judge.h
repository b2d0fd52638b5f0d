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
struct sandbox_hosts;
struct trial_wanted;

/* Judges each effect; *ret is the strictest answer. */
void trial_judge_effects(struct permit *p, const struct effects *e, struct permit_answer *ret);
/* Sets the reason: "it would create 2 files: /w/a, /w/b". */
void trial_say_effects(const struct effects *e, struct permit_answer *ret);

/* Decides about what the command tried to reach by the rules, for a host also by the sandbox
 * settings. *ret_subject is what rules are about; false for sockets and the whole network, which no
 * rule covers. */
bool trial_judge_wanted(struct permit *p, const struct sandbox *s, const struct trial_wanted *w,
                        struct rule_subject *ret_subject, struct permit_answer *ret);
/* Makes it a question, with the reason: "it connects to example.com:443". */
void trial_say_wanted(const struct trial_wanted *w, struct permit_answer *ret);
/* As JSON: {"wanted":{"what":"host","name":…},"ran":true}. has_run: it was not stopped there. */
void trial_write_wanted(const struct trial_wanted *w, bool has_run, struct buf *ret);

/* After a command without a trial: a refused connection that the user can allow, and has not yet.
 * False: there is none. */
bool trial_find_refused(struct permit *p, const struct sandbox *s,
                        const struct sandbox_hosts *hosts, struct trial_wanted *ret,
                        struct rule_subject *ret_subject);
/* The next run reaches it, whatever rules want to be asked about it. */
void trial_allow_refused(const struct sandbox *s, struct sandbox_hosts *hosts,
                         const struct trial_wanted *w);
