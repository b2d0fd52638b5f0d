/*
 * Where news go, and what they say still runs, is one of the things a workspace keeps. Any thread.
 */
#include "agent/news.h"

#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "guard/workspace.h"
#include "json/jw.h"
#include "sync/thread.h"

struct news_task {
    char *id;
    char *what;
    char *command; /* or NULL */
};

static void news_task_release(struct news_task *task)
{
    mem_freep(&task->id);
    mem_freep(&task->what);
    mem_freep(&task->command);
}

struct news_desk {
    struct lock lock;   /* of all below */
    struct mailbox *to; /* NULL: nobody */
    VEC(struct news_task) running;
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
    VEC_EACH(&desk->running, task) {
        news_task_release(task);
    }
    vec_release(&desk->running);
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
    mem_freep(&news->command);
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

/* The lock is held. */
static void news_note(struct news_desk *desk, const struct news *news)
{
    struct news_task *task;

    if (news->status == NEWS_RUNNING) {
        task = vec_add(&desk->running);
        task->id = mem_dup(news->task_id, strlen(news->task_id));
        task->what = mem_dup(news->what, strlen(news->what));
        task->command = news->command ? mem_dup(news->command, strlen(news->command)) : NULL;
        return;
    }
    for (size_t i = 0; i < desk->running.len; i++) {
        task = &desk->running.ptr[i];
        if (strcmp(task->id, news->task_id) != 0)
            continue;
        news_task_release(task);
        memmove(task, task + 1, (--desk->running.len - i) * sizeof(*task));
        return;
    }
}

void news_write_running(struct workspace *w, struct jw *out)
{
    struct news_desk *desk = workspace_thing(w, &news_desk_kind);

    jw_array(out);
    lock_take(&desk->lock);
    VEC_EACH(&desk->running, task) {
        jw_object(out);
        jw_kcstr(out, "id", task->id);
        jw_kcstr(out, "type", "shell");
        jw_kcstr(out, "status", news_status_name(NEWS_RUNNING));
        jw_kcstr(out, "description", task->what);
        if (task->command)
            jw_kcstr(out, "command", task->command);
        jw_object_end(out);
    }
    lock_give(&desk->lock);
    jw_array_end(out);
}

void news_tell(struct workspace *w, struct news *news)
{
    struct news_desk *desk = workspace_thing(w, &news_desk_kind);
    struct mailbox *to;

    news->mail.kind = &news_kind;
    news->mail.bytes = sizeof(*news);
    lock_take(&desk->lock);
    news_note(desk, news);
    to = desk->to ? mailbox_ref(desk->to) : NULL;
    lock_give(&desk->lock);
    if (to)
        mailbox_send(to, &news->mail);
    else
        mail_free(&news->mail);
    mailbox_unref(to);
}
