/*
 * What a completer is, for its own files: complete.c asks and lists, complete_match.c matches.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "sync/thread.h"
#include "tui/complete/complete.h"

struct answer;
struct cancel;
struct conf;
struct mailbox;
struct names;

struct completer {
    char *dir;
    const struct conf *conf; /* or NULL */
    struct mailbox *to;
    struct cancel *cancel;
    /* the UI thread's */
    struct arena command_arena;
    VEC(struct completer_command) commands;
    struct arena resource_arena;
    VEC(struct completer_resource) resources;
    char *typed; /* the last question about files; NULL: none */
    struct answer *shown;
    unsigned serial; /* of the last question */
    bool is_file;    /* it was about files */
    struct thread *matcher;
    struct thread *lister;
    /* everybody's */
    struct gate gate; /* guards what follows */
    char *question;
    unsigned asked; /* its serial */
    bool has_news;  /* for the matcher: a question, or more names */
    bool is_matching;
    bool is_over;
    struct names *names; /* NULL: none yet */
    bool is_listing;
    int64_t listed_ms;     /* when the list was complete; -1: never */
    struct answer *latest; /* for the UI thread; NULL: taken */
    atomic_uint newest;    /* asked, to be looked at without the gate */
    struct cancel *asking; /* the command that is run for a question; NULL: none */
};

void completer_match(void *arg); /* thread_fn: the matcher */
