/*
 * The terminal itself: its mode, its size, what it can do, and giving it back.
 *
 * term_open() takes it over: raw mode, bracketed paste, focus reports, the better keyboard protocol
 * where there is one. It is restored in every case: at term_close(), at exit, at a stop (Ctrl-Z),
 * and when the process crashes or is terminated (a handler that only writes prepared bytes and
 * restores the mode). The abilities of the terminal are guessed from the environment at once and
 * refined by its answers to queries that go out with the first frame; nothing waits for them. Bytes
 * that cannot be written at once (a slow ssh) are kept; term_wants_write() says so and no frame is
 * drawn until they are gone. One thread, except for the handler.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "tui/screen/style.h"

struct conf;
struct err;
struct keypress;
struct term;

struct term_size {
    int cols, rows;
};

enum term_notice {
    NOTICE_BELL,
    NOTICE_OSC9,
    NOTICE_OSC777,
};

struct term_able {
    enum color_depth colors;
    enum term_notice notice;
    bool in_tmux;
    bool is_plain;  /* --plain, TERM=dumb: no cursor movement at all, output is a log */
    bool sync;      /* synchronized output (mode 2026) */
    bool links;     /* OSC 8 */
    bool clipboard; /* OSC 52 */
    bool kitty_keys;
    bool is_light; /* the background, when reported */
    bool knows_background;
    bool focused;     /* true until it said otherwise */
    bool tells_focus; /* it has said something of it */
    bool unicode;     /* the locale's charset is UTF-8; else boxes and spinners are ASCII */
    bool letters;     /* text may still be UTF-8: the locale names no other charset */
    bool reflows;     /* a narrower window breaks lines in place of cutting them */
    /* And keeps empty rows below the text while it moves rows at the top into the scrollback. */
    bool keeps_blank;
};

struct term_spec {
    int in, out; /* descriptors of the terminal */
    char *const *environ;
    bool plain;           /* --plain */
    const char *log_path; /* where standard error goes while it is open; NULL: unchanged */
};

int term_open(const struct term_spec *spec, struct term **ret, struct err *err);
void term_close(struct term *t); /* NULL is fine */
/* Gives it back for a while (Ctrl-Z, an editor), and takes it again; keeps pending input. */
void term_leave(struct term *t);
int term_enter(struct term *t, struct err *err);

struct term_size term_size(struct term *t); /* as it is now: asks the kernel */
const struct term_able *term_able(const struct term *t);
/* REPLY_… and KEY_FOCUS_…: learns from it. True: what it can do has changed. */
bool term_learn(struct term *t, const struct keypress *k);
int term_fd(const struct term *t); /* to be polled for reading */
/* Input bytes; 0: nothing now; -1: the terminal is gone. */
long term_read(struct term *t, char *to, size_t size, struct err *err);

void term_write(struct term *t, struct str bytes); /* one write(2) where it fits */
bool term_wants_write(const struct term *t);       /* poll for writing, then term_flush() */
void term_flush(struct term *t);

/* The alternate screen; for screen.c. What must be undone in a crash is known here. */
void term_alternate(struct term *t, bool on);
void term_title(struct term *t, struct str title); /* the old one comes back at the end */
void term_bell(struct term *t);
/* OSC 9 or 777, or the bell. Chosen: by a sequence also where none is known, and through tmux to
 * the terminal around it. */
void term_notify(struct term *t, bool is_chosen, struct str title, struct str body);
bool term_copy(struct term *t, struct str text); /* OSC 52; false: too long, or it cannot */
