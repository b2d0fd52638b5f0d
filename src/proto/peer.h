/*
 * A client of a session, whichever way it is connected: it sends lines and is sent lines.
 *
 * What it may send: user messages, control requests, responses to ours. What it receives: events as
 * stream-json (each client has its own renderer), responses, and our requests (can_use_tool,
 * hook_callback). The owner is the process that started us and holds our standard input; it alone
 * may configure the session and register hooks. Others connect over the control socket; they
 * receive events once they ask with `observe`. A command that the agent itself has started may
 * look, and no more: it would answer its own questions.
 *
 * All calls on the thread of the client's loop. Whatever is to be done there is mailed to the
 * client's mailbox; peer_mail() does it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/str.h"
#include "base/strv.h"
#include "proto/stream_json.h"
#include "sync/mailbox.h"

struct err;
struct event;
struct host;
struct mailbox;
struct observer;
struct peer;
struct sdk_hooks;
struct sdk_servers;
struct slash;

/* A line that some other thread wants the client to get. */
extern const struct mail_kind line_mail_kind;
struct line_mail {
    struct mail mail;
    struct buf line; /* with its newline */
};
struct line_mail *line_mail_new(void);

/* What all clients of a session have in common; outlives them. */
struct peer_session {
    struct host *host;
    struct slash *slash;
    struct stream_json_options options;
    struct stream_json_session show;
    struct strv commands, skills, terminal; /* of show */
    struct buf plugins, plugin_errors;      /* the same */
    struct sdk_hooks *hooks;                /* the owner's; NULL: there is none */
    struct sdk_servers *servers;            /* the same, of the MCP servers inside it */
    bool is_initialized;                    /* by the owner */
    bool stops_tasks_itself; /* perTaskStopAffordance: an interrupt leaves them alone */
    struct buf first_model;  /* the name of the one that it started with */
    struct map said;         /* uuids of messages that were taken: each runs once */
    struct mailbox *owner;   /* let_go_mail_kind; NULL: a user decides when the session ends */
    bool ends_itself;        /* one prompt, and the process exits */
};

/* To the owner's loop: end as if the input had ended, another process resumes the session. */
extern const struct mail_kind let_go_mail_kind;
/* Its client wants what agents say, too. */
void peer_forward(struct peer *p);
/* False: it cannot be asked to. Any thread. */
bool peer_session_let_go(struct peer_session *s);

void peer_session_init(struct peer_session *s, struct host *host, struct slash *slash,
                       const struct stream_json_options *options);
/* The lists of the init line anew. Before the first turn alone: the clients of the socket read them
 * on its thread. */
void peer_session_list(struct peer_session *s);
void peer_session_release(
    struct peer_session *s); /* after host_free(): the agent holds the hooks */

/* Another session in the place of the one before, for the same clients. */
void peer_session_renew(struct peer_session *s, struct host *host, struct slash *slash);

struct peer_spec {
    struct peer_session *session;
    struct mailbox *mailbox;
    bool owner;
    bool looks_only;
    const bool
        *is_named; /* its client names sessions: what it is asked says which. NULL: it does not */
    void (*send)(void *arg, struct str lines);     /* whole lines, secrets taken out */
    void (*complain)(void *arg, const char *text); /* about a line that cannot be answered */
    void *arg;
};

struct peer *peer_new(const struct peer_spec *spec);
void peer_free(struct peer *p);

/* Begins to see events from this number on (feed.h). */
void peer_observe(struct peer *p, uint64_t from, unsigned flags);
/* Begins to be asked for permissions. */
void peer_answer_asks(struct peer *p);
/* The same for forms of MCP servers alone, unless it may be asked everything. */
void peer_answer_forms(struct peer *p);
/* Is not asked any more; what it was asked and has not answered is taken back. */
void peer_stop_asks(struct peer *p);
/* Asks that are no longer needed are withdrawn now, not when the mail about it is read. */
void peer_take_back_asks(struct peer *p);

/* Its session ends, and it is not asked any more; what that still tells is seen until
 * peer_enter(): there is another one. */
void peer_leave(struct peer *p);
void peer_enter(struct peer *p);
/* The conversation before is gone: "conversation_reset". */
void peer_say_reset(struct peer *p);
/* The commands that can be typed, as they are now ([{name,description,argumentHint}]): the client
 * is sent them when they are others than those it knows. know: it knows these now. */
void peer_say_commands(struct peer *p, struct str commands, bool know);

/* For the user in front of the client, and its log. */
void peer_complain(struct peer *p, const char *text);
/* ptr NULL: a line that was too long. */
void peer_line(struct peer *p, struct str line);
void peer_mail(struct peer *p, struct mail *m); /* takes it */
/* The same of mail that several peers share, and whose caller frees it. */
void peer_hear(struct peer *p, struct mail *m);
bool peer_is_withdrawal(const struct mail *m); /* a question that was asked is over */
/* Takes one event and sends what there is to say about it. False: there is none now. */
bool peer_pump(struct peer *p);
/* The last result that was sent had is_error. */
bool peer_last_is_error(const struct peer *p);
/* It will send nothing more: ends waits for its answers. */
void peer_ended(struct peer *p);
