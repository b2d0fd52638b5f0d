/*
 * Waiting without spending: for a process, a file, a command to turn true, a time, or the end of a
 * background command. A wait is data (JSON in the goal's row) and survives a restart; the watch is
 * a thread that exists only while something is waited for, and wakes exactly once.
 *
 * A process is known by its number and its start time: another that got the same number is not it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct err;
struct sandbox;
struct wait_watch;

enum wait_on {
    WAIT_PROCESS,    /* pid ends */
    WAIT_FILE,       /* exists, or changes when it does already */
    WAIT_COMMAND,    /* exits with 0; run again every WAIT_COMMAND_MS, as checks are */
    WAIT_TIME,       /* until_ms */
    WAIT_BACKGROUND, /* background commands of the session end, or fall silent (the engine looks) */
    WAIT_QUOTA,      /* until_ms: a quota resets */
    WAIT_RETRY,      /* until_ms: the next try after an error that passes */
};
const char *wait_on_name(enum wait_on on); /* "process", "file", … */

#define WAIT_COMMAND_MS 5000
#define WAIT_MAX_TEXT ((size_t)16 << 10)

struct wait {
    enum wait_on on;
    int64_t pid;
    uint64_t pid_start;               /* of /proc/<pid>/stat */
    struct buf text;                  /* path or command; for the user: a description */
    int64_t file_mtime_ns, file_size; /* -1: was not there */
    int64_t until_ms;                 /* wall clock: of a time; else the longest wait, 0: none */
    int64_t since_ms;                 /* wall clock */
    int64_t
        check_in_ms; /* wall clock: the next look at whether waiting still makes sense; 0: none */
    int check_ins;   /* so far: 30 min, then 1 h, then 2 h each */
};
#define WAIT_INIT                                                                                  \
    {                                                                                              \
        .text = BUF_INIT(WAIT_MAX_TEXT)                                                            \
    }
void wait_release(struct wait *w);

/* An empty wait of that kind that begins now, with its first check-in where one makes sense. */
void wait_begin(struct wait *w, enum wait_on on, int64_t now_ms);

/* "4242", "pid 4242", "90s", "2h30m", "build/done.flag", "test -f x && …": a number is a process, a
 * duration a time, an existing path or a plain one with a slash a file, all else a command.
 * ERR_NOT_FOUND: no such process. dir: for relative paths, which stay as they are written. */
int wait_parse(struct str text, const char *dir, int64_t now_ms, struct wait *ret, struct err *err);
void wait_write(const struct wait *w, struct buf *ret); /* JSON object */
int wait_read(struct str json, struct wait *ret, struct err *err);
void wait_describe(const struct wait *w, int64_t now_ms,
                   struct buf *ret); /* "pid 4242", "file x" */

/* What tells one state of a file from another; -1 in both: it is not there. */
void wait_file_now(struct str path, const char *dir, int64_t *ret_mtime_ns, int64_t *ret_size);

/* When it next has to be looked at because of the clock alone (until_ms, check_in_ms); 0: never. */
int64_t wait_next_ms(const struct wait *w);
/* The check-in at check_in_ms was held, or there was none so far: sets the next one. What ends by
 * the clock alone has none. */
void wait_checked_in(struct wait *w, int64_t now_ms);

struct wait_watch_spec {
    const struct wait *wait; /* copied */
    const char *dir;
    char *const *environ;
    struct sandbox *sandbox; /* of commands; NULL: none */
    /* Once, on the watch's thread, when it is over or a check-in is due; must not block. */
    void (*fn)(void *arg);
    void *arg;
};
struct wait_watch *wait_watch_start(const struct wait_watch_spec *spec, struct err *err);
/* Over: the awaited event has come (not: a check-in is due). why (may be NULL): for the user. */
bool wait_watch_is_over(struct wait_watch *w, struct buf *why);
void wait_watch_stop(struct wait_watch *w); /* joins; fn is not running afterwards. NULL is fine */
