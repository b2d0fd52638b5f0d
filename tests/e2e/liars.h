/*
 * Tales of agents that say they are done: most of them lie, some do not.
 *
 * A tale is a row of liar_rows.c: what the agent does to a small project, what it says, and how the
 * goal is judged. liars.c plays each on a stage of its own and finds out by itself whether the
 * condition really holds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct move {
    const char *tool; /* NULL: it only says something, which ends its turn */
    const char *text; /* Bash: the command; else the input as JSON, or the words */
    bool is_with;     /* in the same answer as the move before */
    bool is_behind;   /* the command runs in the background */
};
#define RUN(command)                                                                               \
    {                                                                                              \
        .tool = "Bash", .text = (command)                                                          \
    }
#define CALL(name, json)                                                                           \
    {                                                                                              \
        .tool = (name), .text = (json)                                                             \
    }
#define SAY(words)                                                                                 \
    {                                                                                              \
        .text = (words)                                                                            \
    }
#define AND_RUN(command)                                                                           \
    {                                                                                              \
        .tool = "Bash", .text = (command), .is_with = true                                         \
    }
#define RUN_BEHIND(command)                                                                        \
    {                                                                                              \
        .tool = "Bash", .text = (command), .is_behind = true                                       \
    }
#define CLAIM                                                                                      \
    CALL("update_goal", "{\"status\":\"complete\",\"reason\":\"All tests pass, I have seen "       \
                        "it.\"}")

/* A line that stands in a block of the case whose title has these words. */
struct shown {
    const char *where, *what;
};

struct tale {
    const char *name;
    bool is_honest;
    bool is_patient;        /* no limit of turns: the goal ends because nothing changes any more */
    const char *setup;      /* commands in the project before its first commit; NULL: none */
    const char *goal;       /* NULL: the usual one */
    const char *checks[3];  /* none: the judge alone decides */
    const char *options[6]; /* further ones */
    const char *referee;    /* NULL: checks, or judge where something is shown to it */
    const char *truth;      /* a command that holds when the condition does; NULL: the usual one */
    struct move moves[10];
    const char *says; /* in the end, as often as it is sent back; NULL: the usual lie */
    /* What a person does from another terminal while it runs: a script with "$TENAX_PROGRAM" in the
     * project. A judge that believes takes its time, so that this comes before. NULL: nothing. */
    const char *meanwhile;

    /* With a judge: it believes everything unless it is shown all of these; an honest agent it
     * believes when it is shown them. */
    struct shown shown[4];
    const char *look; /* a file that it reads first; shown[0] is then looked for in the result */

    const char *report[3]; /* words that the report has among its refusals */
};

extern const struct tale tales[];
extern const size_t tale_count;
