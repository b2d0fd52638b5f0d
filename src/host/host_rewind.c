/*
 * Rewinds an open session.
 *
 * The conversation is rewound on the agent's own thread between two turns: its new state is loaded
 * from the file as for a resumed session, so that both are the same. Files may be restored while a
 * turn runs; the line that records it is then outside of the conversation.
 */
#include "agent/agent.h"
#include "agent/recall.h"
#include "base/err.h"
#include "base/mem.h"
#include "host/host_state.h"
#include "host/record/rewind.h"
#include "host/session.h"

struct going_back {
    struct agent_rewind order; /* must be first: the agent returns it */
    struct host *host;
    struct session_rewind what;
    struct session_rewound done;
    struct buf text;
    host_rewound_fn fn;
    void *arg;
    char message[];
};

static void going_back_free(struct going_back *b)
{
    rewind_free(b->done.rewind);
    buf_release(&b->text);
    mem_freep(&b);
}

static void going_back_done(struct agent_rewind *self, const struct err *err)
{
    struct going_back *b = (struct going_back *)self;

    b->fn(b->arg, err ? NULL : b->done.rewind, b->done.line, err);
    going_back_free(b);
}

static int going_back_go(struct agent_rewind *self, struct recall *ret, struct err *err)
{
    struct going_back *b = (struct going_back *)self;
    struct host *h = b->host;

    b->done.past = b->what.conversation ? ret : NULL;
    if (session_rewind(h->session, host_record(h), &b->what, h->cancel, &b->done, err) < 0)
        return -1;
    b->order.text = buf_str(&b->text);
    memcpy(b->order.message, b->done.message, sizeof(b->order.message));
    memcpy(b->order.line, b->done.line, sizeof(b->order.line));
    if (b->what.conversation)
        briefing_restart(&h->briefing, ret, h->cancel);
    return 0;
}

static struct going_back *going_back_new(struct host *h, const struct host_rewind *what,
                                         host_rewound_fn fn, void *arg)
{
    struct going_back *b = mem_zalloc(sizeof(*b) + what->message.len + 1);

    memcpy(b->message, what->message.ptr, what->message.len);
    b->host = h;
    b->fn = fn;
    b->arg = arg;
    b->what = (struct session_rewind){
        .message = {.ptr = b->message, .len = what->message.len},
        .files = what->files,
        .conversation = what->conversation,
        .force = what->force,
        .moves = true,
    };
    b->order = (struct agent_rewind){
        .files = what->files,
        .conversation = what->conversation,
        .go = going_back_go,
        .done = going_back_done,
    };
    buf_init(&b->text, 1 << 12);
    b->done.text = &b->text;
    return b;
}

/* Restores files on this thread: while a turn runs, or before there is an agent. */
static int host_rewind_files_now(struct host *h, struct going_back *b, struct err *err)
{
    struct agent *a = host_hold(h); /* the thread that prepares the agent also creates the record */
    int rc;

    b->what.moves = !a;
    rc = session_rewind(h->session, host_record(h), &b->what, h->cancel, &b->done, err);
    host_let_go(h);
    return rc;
}

int host_rewind_plan(struct host *h, const struct host_rewind *what, struct rewind **ret,
                     struct err *err)
{
    struct session_rewind where = {.message = what->message, .force = what->force};

    return session_rewind_plan(h->session, &where, h->cancel, ret, err);
}

/* The agent to rewind. It is not started if the point does not exist. */
static struct agent *host_agent_to_rewind(struct host *h, const struct host_rewind *what,
                                          struct err *err)
{
    CLEANUP(rewind_freep) struct rewind *r = NULL;
    struct agent *a = host_running(h);

    if (a)
        return a;
    return host_rewind_plan(h, what, &r, err) < 0 ? NULL : host_agent(h, err);
}

int host_rewind(struct host *h, const struct host_rewind *what, host_rewound_fn fn, void *arg,
                struct err *err)
{
    struct agent *a = what->conversation ? host_agent_to_rewind(h, what, err) : host_running(h);
    struct going_back *b;
    struct err why = {0};

    if (what->conversation && !a)
        return -1;
    b = going_back_new(h, what, fn, arg);
    if (a && agent_rewind(a, &b->order, &why) == 0)
        return 0;
    if (!what->conversation && host_rewind_files_now(h, b, &why) == 0) {
        going_back_done(&b->order, /*err=*/NULL);
        return 0;
    }
    going_back_free(b);
    return err_set(err, why.code, "%s", why.text);
}
