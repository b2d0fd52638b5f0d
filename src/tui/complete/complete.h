/*
 * Completion: files and resources of servers after "@", commands after "/".
 *
 * Names are matched fuzzily (fuzzy.h). The list of files is made by a separate thread, in the order
 * and with the ignore rules of tools/search/walk.h, at the first "@" and again when it is older
 * than a few seconds; while it grows, matches among the names so far are shown. Matching 100,000
 * names takes place on that thread too, newest question first: the UI thread only asks and is
 * mailed. The settings may name a command that finds files instead (complete_command.h). The
 * completer belongs to the UI thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "sync/mailbox.h"

struct completer;
struct conf;

/* Lent until the next question or completer_news(). */
struct completion {
    struct str text;          /* the name, without its sign; the caller quotes spaces */
    struct str alias;         /* of a command: another name of it that begins with the typed text */
    struct str detail;        /* faint, after it */
    const unsigned short *at; /* bytes of text that matched */
    size_t at_count;
    bool goes_on; /* more follows: a folder, a command that needs arguments */
};

/* A command that can be completed: lent; the name with or without its slash. With a hint it takes
 * arguments. */
struct completer_command {
    struct str name;
    struct str aliases; /* other names, a blank between two; they are found as well */
    struct str hint, summary;
    bool runs_bare; /* means something without its arguments: Enter may send it as it is */
};

/* A resource of a server, named "server:uri": lent. */
struct completer_resource {
    struct str name, summary;
    bool goes_on; /* the name is the beginning of a template's */
};

struct completer_spec {
    const char *dir;
    const struct conf *conf; /* of complete_command.h; NULL: files are always listed here. Lent */
    struct mailbox *to;      /* completer_mail_kind: something new; counted */
    const struct completer_command *commands; /* copied */
    size_t command_count;
};

extern const struct mail_kind completer_mail_kind;

struct completer *completer_new(const struct completer_spec *spec);
void completer_free(struct completer *c);
void completer_commands(struct completer *c, const struct completer_command *commands,
                        size_t count);

/* Those that are offered beside files, copied. There are few: all are looked at for each key. */
void completer_resources(struct completer *c, const struct completer_resource *resources,
                         size_t count);

/* kind: '@' or '/'. Starts a search; known matches are available at once. */
void completer_ask(struct completer *c, char kind, struct str typed);
/* Mail came: takes over the new matches. True: they changed. */
bool completer_news(struct completer *c);
/* The best matches for the last question, at most COMPLETER_SHOWN. */
#define COMPLETER_SHOWN 100
size_t completer_count(const struct completer *c);
struct completion completer_at(const struct completer *c, size_t i);
bool completer_is_looking(const struct completer *c); /* more may come */
