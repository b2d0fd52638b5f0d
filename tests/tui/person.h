/*
 * A user in front of tenax: shared by the cases of all themes (person.c has them).
 *
 * A theme is a file with its cases and a table of them. To add a case, write it, give it a row, and
 * its name to the list in meson.build.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "check.h"
#include "window.h"

#define ESC "\x1b"
#define ENTER "\r"
#define UP "\x1b[A"
#define DOWN "\x1b[B"
#define BACKSPACE "\x7f"
#define CTRL_B "\x02"
#define CTRL_C "\x03"
#define CTRL_U "\x15"
#define CTRL_V "\x16"
#define CTRL_D "\x04"
#define CTRL_Z "\x1a"
#define CTRL_O "\x0f"
#define SHIFT_TAB "\x1b[Z"
#define PAGE_DOWN "\x1b[6~"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_WATCHED true
#else
#define IS_WATCHED false
#endif

struct person_case {
    const char *name; /* NULL: the end of the table */
    void (*run)(void);
};
extern const struct person_case person_alone[];
extern const struct person_case person_copy[];
extern const struct person_case person_quiet[];
extern const struct person_case person_starts[];
extern const struct person_case person_turns[];
extern const struct person_case person_ends[];
extern const struct person_case person_switches[];
extern const struct person_case person_stays[];
extern const struct person_case person_outside[];
extern const struct person_case person_much[];
extern const struct person_case person_shown[];
extern const struct person_case person_asked[];
extern const struct person_case person_agents[];

extern const char *build; /* the build folder */

/* Nothing is worked on: an answer that can be read may still have to end. */
void until_idle(struct window *w);
void put_file(const struct window *w, const char *name, const char *text);
void start(struct window *w, const char *scenario);
/* A dialog ignores keys typed before the user can have read it. */
void answer(struct window *w, const char *key);
/* Quits an idle session: the terminal is sane, and the output says how to resume. */
void leave(struct window *w);
/* The terminal is as a shell wants it: modes, cursor, paste, focus, and no other screen. */
void check_sane(struct window *w);

/* In how many sessions' files the text stands, and how often. */
struct found {
    size_t sessions, times;
};
struct found sessions_search(struct window *w, const char *text);
size_t sessions_with(struct window *w, const char *text);
/* So many waiting messages are stored: they are visible before that. */
void until_kept(struct window *w, size_t n);

/* An answer that does not end by itself. */
extern const char endless[];
/* A turn that goes on when it is let: the command waits for a file. */
#define WAITS "call Bash {\"command\": \"sh waits\"}\n"
#define MAY_WAIT "\"permissions\":{\"allow\":[\"Bash(sh waits)\"]}"
extern const char held[]; /* one of three answers, that waits in the first */
void start_held(struct window *w, const char *scenario, const char *settings);
void let_go(const struct window *w);

void check_made(struct window *w, bool is_made);
void start_lengthy(struct window *w, const char *home);
