/*
 * What an interactive front end can do for a command: offer a choice, show a panel, change the
 * display, go to another session.
 *
 * A command asks; the front end answers when it can. All functions are called on the commands'
 * thread; those that ask wait (ERR_CANCELLED: the person left it, or the command was cancelled).
 * Where there is no front end (slash_call.front NULL) a command says in words what there is and
 * how to choose by an argument.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct buf;
struct cancel;
struct err;

struct choice {
    struct str label;
    struct str detail;  /* faint, after it; may be empty */
    struct str preview; /* shown while the cursor is on it, several lines; may be empty */
    bool is_current;    /* the one in force */
    bool is_off;        /* can be seen but not chosen */
};

enum pick_look {
    PICK_LIST,
    PICK_SEARCH, /* a list one types into */
    PICK_SLIDER, /* left to right: /effort */
    PICK_THEME,  /* a list of themes: each is shown while the cursor is on it */
};

struct pick_key {
    const char *key;  /* "k", "shift+tab" */
    const char *does; /* "kill", for the line of keys */
};

struct pick {
    enum pick_look look;
    struct str title;
    struct str note;      /* below the title; may be empty */
    struct str low, high; /* PICK_SLIDER: what its ends mean */
    const struct choice *choices;
    size_t count;
    size_t at; /* the cursor at first */
    /* PICK_LIST: keys that choose as Enter does. *ret_key is the one that was pressed, or key_count
     * for Enter. */
    const struct pick_key *keys;
    size_t key_count;
    size_t *ret_key;
    const char *enter; /* what Enter does; NULL: "choose" */
};

enum front_switch {
    SWITCH_NEW,    /* /clear */
    SWITCH_RESUME, /* id */
    SWITCH_FORK,   /* /branch: of the present one */
};

struct slash_front {
    void *arg; /* of all below */
    int (*pick)(void *arg, const struct pick *p, struct cancel *cancel, size_t *ret,
                struct err *err);
    /* A line of text, or several, to be edited; *text is what it begins with and what it became:
     * byte for byte the same if nothing was edited. */
    int (*edit)(void *arg, struct str title, struct buf *text, struct cancel *cancel,
                struct err *err);
    /* Long text to be read in the transcript view's manner; Markdown. Returns at once. */
    void (*show)(void *arg, struct str title, struct str text);
    /* The conversation of an agent, by its id, in the place of the main one's. Returns at once. */
    void (*view)(void *arg, struct str id);
    int (*cols)(void *arg); /* cells of a line of what a command says, before it is broken */
    /* Into the clipboard: where they are now, as in "3 bytes are in …"; NULL: it cannot. */
    const char *(*copy)(void *arg, struct str text, struct cancel *cancel);
    /* "theme" "dark", "editorMode" "vim", "plain" …: takes effect at once; saving is the
     * command's business. False: no such thing or value. */
    bool (*set)(void *arg, struct str what, struct str value);
    /* After the command has answered: another session in the place of this one. Waits until that is
     * found and can be read; -1: it cannot, and this one stays. */
    int (*go)(void *arg, enum front_switch how, struct str id, struct err *err);
    void (*leave)(void *arg); /* /exit, after the command has answered */
    /* The person's own choice of what to go back to; opens the rewind dialog. Returns at once. */
    void (*rewind)(void *arg);
};
