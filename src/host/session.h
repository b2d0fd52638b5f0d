/*
 * The session of a host on disk: its id, its lock, the resumed conversation, and its folders.
 *
 * A new session has an id and a path, and no file before the first message. One that is resumed has
 * its conversation read (agent/recall.h) before anything else is built; a fork has it too, under a
 * new id, and its lines are copied into the new file with the first new message. Without
 * persistence nothing is written, and no lock is held.
 */
#pragma once

#include <stdbool.h>

#include "base/id.h"
#include "base/str.h"
#include "base/strv.h"

struct asker;
struct buf;
struct cancel;
struct conf;
struct err;
struct journal;
struct load_facts;
struct load_line;
struct recall;
struct record;
struct rewind;
struct session;
struct workspace;

/* Which session, and how it is opened; all 0: a new one. Strings are lent for session_open(). */
struct session_spec {
    const char *id;     /* of a new one or of a fork: a uuid; NULL: made up */
    bool continues;     /* the newest one of the folder is resumed */
    const char *resume; /* the one whose id begins so, or whose title this is; NULL: none */
    bool forks;         /* the resumed session is copied under a new id */
    const char *at;     /* uuid of the last message that counts; NULL: all do */
    const char *drops;  /* uuid of a message that counts no more, with all that follows; or NULL */
    const char *title;  /* that it gets, of the host; NULL: none */
    bool is_unkept;     /* nothing is written, and nothing is held */
    /* For the user, at once: another process has the session, and we wait for it. NULL: not
     * reported. */
    void (*on_wait)(const char *text);
};
/* Whether it is one that exists already. */
bool session_resumes(const struct session_spec *spec);

/* notes: for the user. ERR_NOT_FOUND, ERR_BUSY: another process has it; ERR_BAD_INPUT: a spec that
 * contradicts itself. */
int session_open(const struct conf *conf, const struct session_spec *spec, struct cancel *cancel,
                 struct strv *ret_notes, struct session **ret, struct err *err);
void session_free(struct session *s); /* gives it free for others; NULL is fine */

const char *session_id(const struct session *s);
const char *session_path(const struct session *s);                 /* of the transcript */
const char *session_folder(const struct session *s);               /* of everything else */
void session_log_folder(const struct session *s, struct buf *ret); /* of its event log */
bool session_is_kept(const struct session *s);
const char *session_source(const struct session *s); /* "startup", "resume", "fork" */

/* The resumed conversation; NULL: none. */
struct recall *session_recall(struct session *s);
const struct load_facts *session_facts(const struct session *s); /* NULL: new */

/* The newest line of the transcript that speaks of a goal, lent until the next read; false: none.
 */
bool session_goal_line(struct session *s, struct str *ret);
/* A line that the transcript has of it, added to ret; nothing when there is none. */
void session_fact_line(struct session *s, const struct load_line *line, struct buf *ret);
const char *session_forked_from(const struct session *s); /* a session's id; NULL: no fork */

/* The permission mode has changed; the user names the session. Any thread. */
void session_mode(struct session *s, struct str mode);
/* The agent type that the session itself runs as. */
void session_agent_type(struct session *s, struct str name);
/* Coordinator mode has been switched. */
void session_coordinator(struct session *s, bool on);
int session_rename(struct session *s, struct str title, struct err *err);
int session_check_title(struct str title, struct err *err); /* whether it can be one */
void session_name(struct session *s, struct buf *ret); /* its title; nothing when it has none */
/* A title, one line, for a session that has none; one that has not begun gets it when it does. */
void session_title(struct session *s, struct str title);
/* One made by a model, for a session that has none; a user's always wins. */
void session_ai_title(struct session *s, struct str title);

/* From here on the conversation is saved; NULL without persistence. The record is the session's. */
typedef void (*session_notice_fn)(void *arg, struct str text);
struct record *session_begin(struct session *s, struct workspace *w, struct asker *asker,
                             const char *entrypoint, session_notice_fn notice, void *notice_arg);

/* The same for an agent beside the session's own, in a separate file that begins with the lines of
 * seed; the caller frees it. */
struct record *session_begin_agent(struct session *s, const char *path, const char *agent_id,
                                   struct str seed, struct workspace *w, struct asker *asker,
                                   const char *entrypoint, session_notice_fn notice,
                                   void *notice_arg);

/* Going back to before a message of the user (host/record/rewind.h). */
struct session_rewind {
    struct str message; /* as rewind_find() takes it */
    bool files, conversation, force;
    bool moves; /* the next line hangs on the one that records it: no turn runs */
};
struct session_rewound {
    struct rewind *rewind; /* rewind_planned() says what happened to files; yours */
    char message[ID_UUID_LEN + 1];
    char line[ID_UUID_LEN + 1];
    struct buf *text;    /* NULL, or for the user */
    struct recall *past; /* NULL, or the conversation as it is then: only with `conversation` */
};
/* What would happen to files. ERR_NOT_FOUND, ERR_UNSUPPORTED: nothing is kept. */
int session_rewind_plan(struct session *s, const struct session_rewind *what, struct cancel *cancel,
                        struct rewind **ret, struct err *err);
/* -1: nothing was done. The line is written when all else is ready, so a killed process has gone
 * back completely or not at all. */
int session_rewind(struct session *s, struct record *record, const struct session_rewind *what,
                   struct cancel *cancel, struct session_rewound *io, struct err *err);
