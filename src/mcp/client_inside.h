/*
 * The parts of a client that its three files share: client.c is its thread and what others see of
 * it, client_start.c connects it and reads the lists, client_call.c sends requests and takes their
 * answers. Everything below the gate is the thread's own.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "mcp/client.h"
#include "sync/inquiry.h"
#include "sync/thread.h"

struct wire;

#define CLIENT_DEATHS 3            /* a process that ends so often is left alone for a while */
#define CLIENT_REST_MS (30 * 1000) /* before a server that failed is tried again */
#define CLIENT_RETRIES 5           /* of a lost connection: after 1, 2, 4, 8 and 16 seconds */

enum era {
    ERA_UNKNOWN,
    ERA_LEGACY,
    ERA_MODERN,
};
/* A request of another thread, on its stack. */
struct client_call {
    struct inquiry inquiry;
    const struct mcp_request *request;
    struct buf *ret;
    struct err *err;
    unsigned rounds; /* of questions that had to be answered first */
    bool is_again;   /* it was sent before, and the server did not look at it */
    struct buf more; /* members of params: the answers */
};

/* A pending request. */
struct client_pending {
    int64_t id;
    struct client_call *call;
    int64_t due_ms, last_ms; /* without a message; in all */
    int64_t progress_ms;     /* when progress was shown last */
    bool is_repeated;        /* questions are answered, and then it is sent again as it was */
    struct arena arena;
    const struct json *state; /* that the server wants back with the answers; NULL: none */
};

struct mcp_then {
    void (*done)(void *arg, const struct err *err);
    void *arg;
};

struct mcp_client {
    struct mcp_client_spec spec;
    struct thread *thread;
    struct mailbox *mail;
    struct cancel *ending;
    struct gate gate; /* of state, error and lists; woken when the state changes */
    enum mcp_state state;
    bool is_asked; /* to connect anew, and has not begun */
    char error[500], scope[500];
    const char *code;
    unsigned changes;  /* of state and lists */
    int64_t failed_ms; /* when the last start failed */
    struct mcp_lists *lists;

    /* The thread's own. */
    struct wire *wire;
    struct asked asked;
    VEC(struct client_pending) pending;
    VEC(struct client_call *) waiting; /* for a connection */
    struct mcp_then then;              /* the same, of an order to connect */
    int64_t next_id;
    enum era era;               /* of the server, as far as it is known */
    int64_t probe_id;           /* of server/discover; 0: it is not asked */
    int64_t probe_due_ms;       /* when it is greeted in the older way, too; 0: not */
    int64_t start_id;           /* of initialize or of the list that is being read; 0: none */
    int64_t start_due_ms;       /* of all of the start, or of reading lists again; 0: it is over */
    int64_t listen_id;          /* of subscriptions/listen; 0: none */
    int64_t listen_due_ms;      /* when it is sent again; 0: not */
    unsigned listens;           /* that ended without a word */
    struct mcp_lists *building; /* while lists are read */
    enum mcp_list reading;
    struct buf cursor; /* of the last page */
    unsigned pages;
    bool is_refresh;      /* lists are read again in a live connection */
    bool is_recalled;     /* the lists are those of an earlier time */
    int64_t refresh_ms;   /* when they shall be; 0: not */
    int64_t connected_ms; /* since when; 0: it is not */
    int64_t retry_ms;     /* when a lost connection is tried again; 0: not */
    unsigned retries;
    int64_t deaths_ms[CLIENT_DEATHS]; /* when it ended, the last times */
    unsigned deaths;
    bool is_era_recalled; /* the era is that of an earlier time */
    bool is_lost;
    struct err lost;
};

/* ---- client.c ---- */

void client_show(struct mcp_client *c, enum mcp_state state, const struct err *why,
                 struct mcp_lists *lists);
void client_tell(struct mcp_client *c, const struct err *why); /* who gave the order to connect */
/* A server's text for a line of ours. */
void client_add_line(struct buf *ret, struct str text);
int64_t client_on_message(void *arg, struct str json);
void client_on_undone(void *arg, int64_t id, const struct err *err);

/* ---- client_start.c ---- */

void client_start(struct mcp_client *c);
void client_probe_failed(struct mcp_client *c);
void client_greet(struct mcp_client *c); /* in the older way, though it has not answered yet */
void client_take_probe(struct mcp_client *c, const struct json *message);
void client_take_start(struct mcp_client *c, const struct json *message);
void client_refresh(struct mcp_client *c);
/* The lists could not be read again: the old ones stay. */
void client_refresh_failed(struct mcp_client *c);
void client_listen(struct mcp_client *c);
/* The wire is in the middle of something: client_run() frees it. The first reason counts. */
void client_on_lost(void *arg, const struct err *err);
/* What is done about it. */
void client_lost(struct mcp_client *c);
void client_fail(struct mcp_client *c, enum mcp_state state, const struct err *why);
void client_note_scope(struct mcp_client *c);

/* ---- client_call.c ---- */

int client_send(struct mcp_client *c, const char *method, struct str params, int64_t id,
                struct err *err);
void client_write_capabilities(const struct mcp_client *c, struct buf *ret);
struct client_pending *client_find(struct mcp_client *c, int64_t id);
void client_finish(struct mcp_client *c, struct client_pending *p, int result);
void client_begin(struct mcp_client *c, struct client_call *call);
void client_take_call(struct mcp_client *c, struct client_call *call);
void client_give_up(struct mcp_client *c, struct client_call *call);
/* All that are under way fail; refused_id: except that one, which is sent again; 0: none. */
void client_abandon(struct mcp_client *c, int64_t refused_id, const struct err *why);
void client_tell_cancelled(struct mcp_client *c, int64_t id, const char *why);
void client_expire(struct mcp_client *c, int64_t now_ms); /* those that took too long */
void client_take_answer(struct mcp_client *c, struct client_pending *p, const struct json *message);
void client_take_answers(struct mcp_client *c, const struct asked_mail *m);
void client_take_progress(struct mcp_client *c, const struct json *params);
