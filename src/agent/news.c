/*
 * Where news go is one of the things a workspace keeps. Any thread; the lock covers the pointer
 * only.
 */
#include "agent/news.h"

#include "agent/workspace.h"
#include "base/mem.h"
#include "sync/thread.h"

struct news_desk {
    struct lock lock;
    struct mailbox *to; /* NULL: nobody */
};

static void *news_desk_make(struct workspace *w)
{
    struct news_desk *desk = mem_zalloc(sizeof(*desk));

    (void)w;
    lock_init(&desk->lock);
    return desk;
}

static void news_desk_free(void *thing)
{
    struct news_desk *desk = thing;

    mailbox_unref(desk->to);
    lock_release(&desk->lock);
    mem_freep(&desk);
}

static const struct workspace_kind news_desk_kind = {news_desk_make, news_desk_free};

static void news_free(struct mail *m)
{
    struct news *news = (struct news *)m;

    mem_freep(&news->task_id);
    mem_freep(&news->tool_use_id);
    mem_freep(&news->what);
    mem_freep(&news->summary);
    mem_freep(&news->output_path);
    mem_freep(&news);
}

const struct mail_kind news_kind = {"news", news_free};

const char *news_status_name(enum news_status status)
{
    static const char *const names[] = {"running", "completed", "failed", "killed"};

    return names[status];
}

void news_open(struct workspace *w)
{
    workspace_thing(w, &news_desk_kind);
}

void news_send_to(struct workspace *w, struct mailbox *mb)
{
    struct news_desk *desk = workspace_thing(w, &news_desk_kind);
    struct mailbox *old;

    if (mb)
        mailbox_ref(mb);
    lock_take(&desk->lock);
    old = desk->to;
    desk->to = mb;
    lock_give(&desk->lock);
    mailbox_unref(old);
}

void news_tell(struct workspace *w, struct news *news)
{
    struct news_desk *desk = workspace_thing(w, &news_desk_kind);
    struct mailbox *to;

    news->mail.kind = &news_kind;
    news->mail.bytes = sizeof(*news);
    lock_take(&desk->lock);
    to = desk->to ? mailbox_ref(desk->to) : NULL;
    lock_give(&desk->lock);
    if (to)
        mailbox_send(to, &news->mail);
    else
        mail_free(&news->mail);
    mailbox_unref(to);
}
