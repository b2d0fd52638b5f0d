/*
 * Background commands: one thread each, which takes the command's mail until it is over and puts
 * its output into a file; looking reads the file. The list is one of the workspace's things, and
 * freeing it ends them all. Tool threads come in through the functions of the header.
 */
#include "tools/background.h"

#include <fcntl.h>
#include <string.h>

#include "agent/sandbox.h"
#include "agent/tool.h"
#include "agent/workspace.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "proc/proc.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "tools/clip.h"
#include "tools/command.h"
#include "tools/pick.h"
#include "tools/spool.h"

#define BACKGROUND_MAX_RUNNING 32
#define BACKGROUND_MAX_SUMMARY ((size_t)1000)
#define BACKGROUND_MAX_BLOCKED ((size_t)64 << 10)
#define BACKGROUND_READ_BYTES ((size_t)64 << 10)
#define BACKGROUND_NAMED 20 /* ids an error names */

struct job {
    struct background *list;
    char id[BACKGROUND_ID];
    char *command;
    char *what;
    char *tool_use_id;
    struct mailbox *mail;
    struct proc *proc;
    struct thread *thread;
    struct spool spool;         /* the thread's, but for its path */
    struct sandbox_job *inside; /* the thread's; NULL: nothing confines it, or it is over */
    char *dir;                  /* where it began */

    /* Under the list's lock. */
    bool is_over;
    int64_t last_ms; /* of its last word */
    bool is_killed;  /* by background_kill() */
    enum proc_how how;
    int code;
    size_t written;     /* bytes of the file */
    size_t seen;        /* of these */
    struct buf line;    /* that has begun; it is in no file yet */
    uint64_t line_seen; /* str_hash() of it as it was last shown */
    size_t lost;
    struct buf blocked; /* by the sandbox, once it is over */
    bool has_shown_blocked;
};

struct background {
    struct workspace *workspace;
    struct cancel *stop;
    struct lock lock;
    VEC(struct job *) jobs;
    int last_id;
};

static void *background_make(struct workspace *w)
{
    struct background *list = mem_zalloc(sizeof(*list));

    list->workspace = w;
    list->stop = cancel_new(/*parent=*/NULL);
    lock_init(&list->lock);
    return list;
}

/* Its thread has ended, or never began. */
static void job_free(struct job *j)
{
    if (!j)
        return;
    proc_unref(j->proc);
    if (j->mail)
        mailbox_close(j->mail);
    mailbox_unref(j->mail);
    sandbox_job_free(j->inside);
    spool_release(&j->spool);
    buf_release(&j->line);
    buf_release(&j->blocked);
    mem_freep(&j->dir);
    mem_freep(&j->command);
    mem_freep(&j->what);
    mem_freep(&j->tool_use_id);
    mem_freep(&j);
}

static void job_freep(struct job **j)
{
    job_free(*j);
}

static void background_free(void *thing)
{
    struct background *list = thing;

    cancel_set(list->stop);
    VEC_EACH(&list->jobs, j) {
        thread_join((*j)->thread);
        job_free(*j);
    }
    vec_release(&list->jobs);
    cancel_unref(list->stop);
    lock_release(&list->lock);
    mem_freep(&list);
}

static const struct workspace_kind background_kind = {background_make, background_free};

static struct background *background_of(struct workspace *w)
{
    news_open(w);
    return workspace_thing(w, &background_kind);
}

/* Lock held, as for the two below. */
static enum news_status job_status(const struct job *j)
{
    if (j->is_killed)
        return NEWS_KILLED;
    if (!j->is_over)
        return NEWS_RUNNING;
    if (j->how == PROC_KILLED)
        return NEWS_KILLED;
    return j->how == PROC_EXITED && j->code == 0 ? NEWS_COMPLETED : NEWS_FAILED;
}

static void job_summarise(const struct job *j, struct buf *ret)
{
    enum news_status status = job_status(j);

    buf_adds(ret, news_status_name(status));
    if (status == NEWS_COMPLETED)
        buf_adds(ret, " with exit code 0");
    if (status != NEWS_FAILED)
        return;
    if (j->how == PROC_EXITED) {
        buf_addf(ret, " with exit code %d", j->code);
    } else {
        buf_adds(ret, ": killed by ");
        command_add_signal(ret, j->code);
    }
}

static void job_tell(struct job *j)
{
    struct news *news = mem_zalloc(sizeof(*news));
    struct buf summary = BUF_INIT(BACKGROUND_MAX_SUMMARY);

    lock_take(&j->list->lock);
    news->status = job_status(j);
    news->is_known = j->is_killed;
    job_summarise(j, &summary);
    if (j->blocked.len)
        buf_addf(&summary, "; %.*s", (int)strcspn(buf_cstr(&j->blocked), "\n"),
                 buf_cstr(&j->blocked));
    lock_give(&j->list->lock);
    news->task_id = mem_dup(j->id, strlen(j->id));
    news->tool_use_id = mem_dup(j->tool_use_id, strlen(j->tool_use_id));
    news->what = mem_dup(j->what, strlen(j->what));
    news->command = mem_dup(j->command, strlen(j->command));
    news->output_path = mem_dup(j->spool.path.ptr, j->spool.path.len);
    news->summary = buf_take(&summary);
    news_tell(j->list->workspace, news);
}

/* It is over: what of it the sandbox has stopped. */
static void job_leave_sandbox(struct job *j, const struct proc_mail *end, struct buf *ret_blocked)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(TOOL_MAX_TEXT);
    bool has_failed = end->how != PROC_EXITED || end->code;

    if (!j->inside)
        return;
    spool_write(&j->spool, &out);
    sandbox_job_explain(j->inside, j->dir, buf_str(&out), has_failed, ret_blocked);
    sandbox_job_free(j->inside);
    j->inside = NULL;
}

/* Makes known what the spool holds now. */
static void job_publish(struct job *j, const struct proc_mail *end)
{
    CLEANUP(buf_release) struct buf blocked = BUF_INIT(BACKGROUND_MAX_BLOCKED);

    if (end)
        job_leave_sandbox(j, end, &blocked);
    lock_take(&j->list->lock);
    j->written = j->spool.written;
    j->last_ms = clock_mono_ms();
    j->lost = j->spool.lost;
    buf_clear(&j->line);
    buf_add(&j->line, plain_line(&j->spool.plain));
    if (end) {
        j->is_over = true;
        j->how = end->how;
        j->code = end->code;
        buf_add(&j->blocked, buf_str(&blocked));
    }
    lock_give(&j->list->lock);
}

/* The thread. */
static void job_main(void *arg)
{
    struct job *j = arg;
    struct mail *m;
    bool is_over = false;

    while (!is_over && mailbox_take(j->mail, j->list->stop, /*deadline_ms=*/-1, &m, NULL) == 0) {
        struct proc_mail *pm = (struct proc_mail *)m;

        is_over = pm->what == PROC_EXIT;
        if (is_over)
            spool_end(&j->spool);
        else
            spool_feed(&j->spool, buf_str(&pm->bytes));
        job_publish(j, is_over ? pm : NULL);
        mail_free(m);
    }
    if (is_over)
        job_tell(j);
}

/* Nobody can read what it says: it ends, and whoever has heard that it runs hears that, too. */
static void job_was_in_vain(struct job *j)
{
    lock_take(&j->list->lock);
    j->is_over = true;
    j->is_killed = true;
    lock_give(&j->list->lock);
    job_tell(j);
}

/* The number of the next one, or -1 when there are too many. */
static int background_next_id(struct background *list, struct err *err)
{
    int running = 0;
    int id = -1;

    lock_take(&list->lock);
    VEC_EACH(&list->jobs, j) {
        running += !(*j)->is_over;
    }
    if (running < BACKGROUND_MAX_RUNNING)
        id = ++list->last_id;
    lock_give(&list->lock);
    if (id < 0)
        err_set(err, ERR_TOO_BIG, "%d commands run in the background; end one first", running);
    return id;
}

static char *background_dup(struct str s)
{
    return mem_dup(s.ptr, s.len);
}

int background_start(struct workspace *w, const struct command_spec *c, struct str what,
                     struct str tool_use_id, struct background_started *ret, struct buf *notes,
                     struct err *err)
{
    struct background *list = background_of(w);
    CLEANUP(job_freep) struct job *j = NULL;
    int id = background_next_id(list, err);
    bool moves;

    if (id < 0) {
        sandbox_job_free(c->job);
        return -1;
    }
    j = mem_zalloc(sizeof(*j));
    j->list = list;
    j->inside = c->job;
    j->dir = background_dup(str_of(c->dir));
    j->blocked = (struct buf)BUF_INIT(BACKGROUND_MAX_BLOCKED);
    snprintf(j->id, sizeof(j->id), "bash_%d", id);
    j->command = background_dup(c->text);
    j->what = background_dup(what.len ? what : c->text);
    j->tool_use_id = background_dup(tool_use_id);
    j->mail = mailbox_new();
    j->last_ms = clock_mono_ms();
    j->line = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    spool_init(&j->spool, w, str_of(j->id));
    if (spool_open(&j->spool, err) < 0)
        return -1;
    j->proc = command_start(w, c, j->mail, &moves, notes, err);
    if (!j->proc)
        return -1;
    job_tell(j);
    j->thread = thread_start(j->id, job_main, j, err);
    if (!j->thread) {
        job_was_in_vain(j);
        return -1;
    }

    memcpy(ret->id, j->id, sizeof(ret->id));
    ret->path = mem_dup(j->spool.path.ptr, j->spool.path.len);
    lock_take(&list->lock);
    vec_push(&list->jobs, TAKE_PTR(j));
    lock_give(&list->lock);
    return 0;
}

size_t background_running(struct workspace *w, struct buf *names, int64_t *ret_last_ms)
{
    struct background *list = background_of(w);
    size_t n = 0;

    *ret_last_ms = 0;
    lock_take(&list->lock);
    VEC_EACH(&list->jobs, it) {
        const struct job *j = *it;

        if (j->is_over)
            continue;
        if (names)
            buf_addf(names, "%s%s (%.200s)", n ? ", " : "", j->id, j->what);
        if (j->last_ms > *ret_last_ms)
            *ret_last_ms = j->last_ms;
        n++;
    }
    lock_give(&list->lock);
    return n;
}

/* Jobs stay until the workspace goes, so the lock is only needed for a look at each. */
size_t background_each(struct workspace *w, void (*fn)(void *arg, const struct background_row *row),
                       void *arg)
{
    struct background *list = background_of(w);
    size_t i = 0;

    for (;; i++) {
        CLEANUP(buf_release) struct buf summary = BUF_INIT(BACKGROUND_MAX_SUMMARY);
        CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
        struct background_row row = {0};
        const struct job *j = NULL;

        lock_take(&list->lock);
        if (i < list->jobs.len) {
            j = list->jobs.ptr[i];
            row.status = job_status(j);
            job_summarise(j, &summary);
        }
        lock_give(&list->lock);
        if (!j)
            return i;
        buf_add(&path, buf_str(&j->spool.path));
        row.id = j->id;
        row.command = str_of(j->command);
        row.summary = buf_str(&summary);
        row.path = buf_cstr(&path);
        fn(arg, &row);
    }
}

/* Lock held. NULL, with an error that names those there are. */
static struct job *background_find(struct background *list, struct str id, struct err *err)
{
    CLEANUP(buf_release) struct buf known = BUF_INIT(BACKGROUND_MAX_SUMMARY);
    size_t first = list->jobs.len > BACKGROUND_NAMED ? list->jobs.len - BACKGROUND_NAMED : 0;

    VEC_EACH(&list->jobs, j) {
        if (str_is(id, (*j)->id))
            return *j;
    }
    for (size_t i = first; i < list->jobs.len; i++)
        buf_addf(&known, "%s%s (%s)", i > first ? ", " : "", list->jobs.ptr[i]->id,
                 news_status_name(job_status(list->jobs.ptr[i])));
    if (known.len)
        err_set(err, ERR_NOT_FOUND, "no background command '%.*s'; there are: %s", STR_ARG(id),
                buf_cstr(&known));
    else
        err_set(err, ERR_NOT_FOUND, "no background command '%.*s': none was started", STR_ARG(id));
    return NULL;
}

/* A part of a job's file, from a look at it. */
struct background_part {
    struct buf path;
    size_t from;
    size_t to;
    struct buf line; /* behind it; empty: none, or shown before */
    size_t lost;
    struct buf blocked; /* the same */
};

static void background_part_release(struct background_part *part)
{
    buf_release(&part->path);
    buf_release(&part->line);
    buf_release(&part->blocked);
}

/* Lock held. */
static void job_take_part(struct job *j, struct background_part *ret)
{
    uint64_t hash = str_hash(buf_str(&j->line));

    buf_add(&ret->path, buf_str(&j->spool.path));
    ret->from = j->seen;
    ret->to = j->written;
    ret->lost = j->lost;
    if (hash != j->line_seen || ret->to > ret->from)
        buf_add(&ret->line, buf_str(&j->line));
    if (!j->has_shown_blocked)
        buf_add(&ret->blocked, buf_str(&j->blocked));
    j->has_shown_blocked = j->is_over;
    j->seen = j->written;
    j->line_seen = hash;
}

static int background_read(const struct background_part *part, struct pick *pick, struct err *err)
{
    CLEANUP(fd_closep) int fd = open(buf_cstr(&part->path), O_RDONLY | O_CLOEXEC);
    CLEANUP(mem_freep) char *bytes = mem_alloc(BACKGROUND_READ_BYTES);

    if (fd < 0)
        return err_sys(err, ERR_IO, "cannot read '%s'", buf_cstr(&part->path));
    for (size_t at = part->from; at < part->to;) {
        size_t want = part->to - at;
        ssize_t len = pread(fd, bytes, want < BACKGROUND_READ_BYTES ? want : BACKGROUND_READ_BYTES,
                            (off_t)at);

        if (len < 0)
            return err_sys(err, ERR_IO, "cannot read '%s'", buf_cstr(&part->path));
        if (len == 0)
            break; /* somebody cut it short */
        pick_feed(pick, str_make(bytes, (size_t)len));
        at += (size_t)len;
    }
    pick_feed(pick, buf_str(&part->line));
    pick_end(pick);
    return 0;
}

void background_view_release(struct background_view *v)
{
    mem_freep(&v->command);
    buf_release(&v->text);
    buf_release(&v->summary);
}

int background_look(struct workspace *w, struct str id, struct str pattern,
                    struct background_view *ret, struct err *err)
{
    struct background *list = background_of(w);
    CLEANUP(background_part_release)
    struct background_part part = {.path = BUF_INIT(BUF_NO_LIMIT),
                                   .line = BUF_INIT(BUF_NO_LIMIT),
                                   .blocked = BUF_INIT(BACKGROUND_MAX_BLOCKED)};
    CLEANUP(background_view_release)
    struct background_view view = {.text = BUF_INIT(BUF_NO_LIMIT),
                                   .summary = BUF_INIT(BACKGROUND_MAX_SUMMARY)};
    CLEANUP(clip_release) struct clip clip = {0};
    CLEANUP(pick_freep) struct pick *pick = NULL;
    struct job *j;

    clip_init(&clip, SPOOL_HEAD, SPOOL_TAIL);
    pick = pick_new(pattern, &clip, err);
    if (!pick)
        return -1;
    lock_take(&list->lock);
    j = background_find(list, id, err);
    if (j) {
        job_take_part(j, &part);
        job_summarise(j, &view.summary);
        view.status = job_status(j);
        view.has_code = j->is_over && view.status != NEWS_KILLED;
        view.code = j->how == PROC_SIGNALLED ? 128 + j->code : j->code;
        view.command = background_dup(str_of(j->command));
    }
    lock_give(&list->lock);
    if (!j || background_read(&part, pick, err) < 0)
        return -1;
    clip_write(&clip, buf_cstr(&part.path), &view.text);
    if (part.lost)
        buf_addf(&view.text, "[%zu bytes of output were not saved]\n", part.lost);
    buf_add(&view.text, buf_str(&part.blocked));
    *ret = view;
    view = (struct background_view){0}; /* NOLINT: released at the end of the scope */
    return 0;
}

int background_kill(struct workspace *w, struct str id, struct buf *ret_was_over, struct err *err)
{
    struct background *list = background_of(w);
    bool was_over = false;
    struct job *j;

    lock_take(&list->lock);
    j = background_find(list, id, err);
    if (j) {
        was_over = j->is_over;
        if (was_over)
            job_summarise(j, ret_was_over);
        else
            j->is_killed = true;
    }
    lock_give(&list->lock);
    if (j && !was_over)
        proc_end(j->proc); /* jobs are freed with the workspace only */
    return j ? 0 : -1;
}
