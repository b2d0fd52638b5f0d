/*
 * What a run of the course has acknowledged: everything that stood on its standard output as whole
 * lines, for survive.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "course.h"

struct err;

/* A message or a part of one. */
struct acked_line {
    struct str uuid;
    struct str text; /* the part that a model must receive; empty: none */
    /* Of a turn that ended with an error: it may be missing, that is what the error says. */
    bool is_doubtful;
};

struct acked {
    struct arena arena;
    VEC(struct acked_line) lines;
    struct map calls;                  /* id → struct json *, the block */
    bool said[COURSE_MESSAGES + 1];    /* this message came back: it was taken up */
    int taken;                         /* messages up to this one were taken in */
    int title;                         /* number of the last one */
    size_t refused;                    /* titles that could not be written */
    int todos;                         /* rounds whose thing to do was noted */
    unsigned changes[COURSE_ROUNDS];   /* of the rounds' files: bits */
    bool effects[COURSE_MESSAGES + 1]; /* commands that ran */
    bool is_idle;                      /* the last turn is over */
    size_t results;                    /* turns that are over */
    size_t errors;                     /* of them, with an error */
    size_t turn_begin;                 /* the first line of the running turn */
    int sure_todos;                    /* as todos, except turns that ended with an error */
    size_t read;                       /* bytes of the output that were looked at */
};

void acked_init(struct acked *a);
void acked_release(struct acked *a);
/* Takes up the lines that have become whole. Lines stay where they are. */
int acked_read(struct acked *a, struct str out, struct err *err);
