/*
 * The conversation, shared by the files that make it: chat.c (lines in order), chat_event.c (what
 * events mean), chat_answer.c (an answer as it streams in), chat_calls.c (running calls),
 * chat_status.c (current activity), chat_todos.c (the to-do list), chat_goal.c (progress of a
 * goal), chat_history.c (earlier turns).
 *
 * The scrollback is fed from a queue of items. Only the first can be open: an answer that still
 * streams in, whose finished rows are handed out as they come. Everything after it waits, except
 * input typed in the meantime and the answer to it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/strv.h"
#include "base/vec.h"
#include "tui/chat/chat.h"
#include "tui/screen/line.h"

struct event;
struct json;
struct markdown;

enum item_kind {
    ITEM_SAID,    /* text: by the person */
    ITEM_ANSWER,  /* markdown */
    ITEM_THOUGHT, /* text, or empty: folded; elapsed_ms */
    ITEM_CALL,    /* started, done */
    ITEM_BRIEF,   /* the same in one line */
    ITEM_NOTE,    /* role, text; mark */
    ITEM_RULE,    /* text: its title */
    ITEM_COMMAND, /* text: what a command answers; colored */
};

struct chat_item {
    enum item_kind kind;
    bool has_gap;  /* an empty line goes in front of it */
    bool is_open;  /* more of it comes */
    bool is_void;  /* the rest may turn out to be wrong: nothing is shown for now */
    bool is_shown; /* something of it is in the scrollback */
    bool of_step;  /* of the answer that is coming in: gone with it */
    size_t skip;   /* letters that are in the scrollback already (chat_lost()) */
    struct markdown *markdown;
    struct buf text;
    enum style_role role;
    const char *mark; /* NOTE: in front, "! "; NULL: none */
    bool is_colored;  /* COMMAND: text has SGR sequences */
    bool is_markdown; /* COMMAND */
    bool is_error;
    int64_t elapsed_ms;
    struct event *started, *done;
    struct chat_item *next;
};

/* A call that has not been settled. */
struct chat_call {
    char *id, *name;
    struct buf input; /* as far as it has come, at most CHAT_MAX_PART */
    size_t input_bytes;
    struct buf progress;
    struct event *started; /* NULL: its input is still coming in */
    int64_t begun_ms;
    bool has_ended, has_failed; /* its result waits for those of the calls before it */
};

/* The agent's current activity, for the status line. */
enum chat_doing {
    DOING_WAIT, /* for the first word of the model */
    DOING_READ, /* the server reads the prompt */
    DOING_THINK,
    DOING_ANSWER,
    DOING_INPUT, /* the input of a call comes in */
    DOING_CALLS,
    DOING_RETRY,
    DOING_COMPACT,
    DOING_JUDGE, /* the answer is complete, and a goal is there */
};

#define CHAT_MAX_PART ((size_t)16 << 10) /* of an input that is still coming in */
#define CHAT_MAX_TEXT ((size_t)16 << 20) /* of one item */
#define CHAT_MAX_ANSWER ((size_t)64 << 20)

struct chat {
    bool ascii, plain, spells_links, verbose, is_agent;
    char *dir;
    struct lines leads; /* in front of answers: "● ", "  " */
    struct lines scratch;

    struct chat_item *first, *last;
    enum item_kind last_kind;
    struct strv said;   /* uuids of the messages shown already */
    struct buf last_id; /* of the last call that is shown folded */

    /* The answer that comes in (chat_answer.c). */
    struct chat_item *answer; /* the open one, or NULL */
    struct buf raw;           /* all text of this step so far */
    struct buf held;          /* its end, where a secret may begin */
    size_t again;             /* of raw: what a new try has repeated so far */
    bool repeating;
    bool step_shown;           /* something of this step's answer is in the scrollback */
    struct lines tail;         /* of the answer, all of its rows, as they were in the last frame */
    struct chat_item *tail_of; /* NULL: it was dropped since */
    int tail_cols;     /* it was drawn for this width, and nothing has come since; 0: draw it */
    size_t below_rows; /* what stood below it */

    struct buf thought;
    int64_t thought_ms; /* since when */

    VEC(struct chat_call) calls;
    struct strv asked; /* ids of calls the user is asked about; the ask may come before the call */

    int64_t drawn_ms; /* when chat_live() was called last; 0: never */

    /* The current activity (chat_status.c). */
    bool busy, needs_person;
    enum chat_doing doing;
    int64_t turn_ms;          /* when it began */
    int64_t asked_ms;         /* of it, spent waiting for answers */
    int64_t asked_since_ms;   /* needs_person: from then on */
    int64_t tokens;           /* output of the turn's steps that are complete */
    size_t bytes;             /* of the step that is not */
    int64_t processed, total; /* DOING_READ */
    int64_t retry_ms;         /* DOING_RETRY: when */
    struct buf retry;         /* and why */
    int attempt, max_tries;
    struct buf hook; /* what to say of the one that runs; empty: none */
    struct buf hook_id;
    int64_t hook_ms;
    bool has_goal;
    struct buf wait; /* what the goal waits for; empty: nothing */
    int64_t wait_ms; /* until when; 0: unknown */
    bool told_verdict, told_command, told_interrupt;
    struct buf told_goal; /* the last line about it in this turn */

    /* What there is to do (chat_todos.c). */
    struct event *todos; /* the call that said it last; NULL: nothing is left */
    bool todos_told;     /* the scrollback has it as it is now */
    struct buf active;   /* the active to-do: "Running the tests"; or empty */
};

/* chat.c: the queue. */
struct chat_item *chat_add(struct chat *c, enum item_kind kind);
struct chat_item *chat_add_text(struct chat *c, enum item_kind kind, enum style_role role,
                                const char *mark, struct str text);
/* The items of the current step of which nothing has been shown. */
void chat_drop_step(struct chat *c);

/* chat_answer.c */
void answer_begins(struct chat *c); /* a step */
void answer_add(struct chat *c, struct str text);
void answer_block_ends(struct chat *c);
void answer_void(struct chat *c);
void answer_step_ends(struct chat *c);
void answer_turn_ends(struct chat *c);

/* chat_calls.c */
struct chat_call *calls_find(struct chat *c, struct str id);
void calls_begin(struct chat *c, struct str id, struct str name, int64_t now_ms);
void calls_input(struct chat *c, struct str part); /* of the one begun last */
void calls_started(struct chat *c, const struct event *e, int64_t now_ms);
void calls_progress(struct chat *c, const struct event *e);
void calls_activity(struct chat *c, struct str id, struct str text); /* of an agent's call */
void calls_done(struct chat *c, const struct event *e);
/* How many have not ended, and the first of them; NULL: none. */
const struct chat_call *calls_running(const struct chat *c, size_t *ret_count);
void calls_clear(struct chat *c);
/* Those that run, at most max_rows. */
void calls_draw(const struct chat *c, const struct view *v, size_t max_rows, struct lines *ret);
void calls_draw_done(struct chat *c, const struct chat_item *it, const struct view *v,
                     struct lines *ret);

/* chat_status.c */
/* chat_todos.c */
bool todos_take(struct chat *c, struct event *done); /* false: it is an item like others */
void todos_turn_ends(struct chat *c);
void todos_draw_live(const struct chat *c, const struct view *v, size_t max_rows,
                     struct lines *ret);

void chat_status_draw(const struct chat *c, const struct view *v, struct lines *ret);
int64_t status_due(const struct chat *c, int64_t now_ms); /* when it differs from then */

/* chat_goal.c */
void goal_event_shown(struct chat *c, const struct event *e, int64_t now_ms);
