/*
 * News of work that goes on beside the agent: commands in the background now, other tasks later.
 *
 * Whoever runs such work tells its beginning and its end; the agent gets both as mail, in the
 * mailbox it waits on anyway. Nobody asked for news: they are dropped. Any thread.
 */
#pragma once

#include <stdbool.h>

#include "sync/mailbox.h"

struct jw;
struct workspace;

enum news_status {
    NEWS_RUNNING,
    NEWS_COMPLETED,
    NEWS_FAILED,
    NEWS_KILLED,
};

extern const struct mail_kind news_kind;

/* The strings belong to the mail. */
struct news {
    struct mail mail;
    enum news_status status;
    char *task_id;     /* "bash_1" */
    char *tool_use_id; /* of the call that began it */
    char *what;        /* its description, else the command */
    char *command;     /* NULL: it is none */
    char *summary;     /* for model and people: "exit code 1"; never NULL */
    char *output_path; /* NULL: none */
    bool is_known;     /* the model made it end itself, and needs no word of it */
};

const char *news_status_name(enum news_status status); /* "running" */

/* From here on news of the workspace go to this mailbox; NULL: to nobody. */
void news_send_to(struct workspace *w, struct mailbox *mb);

/* Makes ready what news_tell() needs. Work that is ended with the workspace (as one of its things)
 * calls this before it makes itself one, so as to be freed first. */
void news_open(struct workspace *w);
void news_tell(struct workspace *w, struct news *news); /* given away; from mem_zalloc() */

/* What runs now, as hooks are told of it: an array of {"id","type","status","description",
 * "command"}. */
void news_write_running(struct workspace *w, struct jw *out);
