/*
 * Background commands: one thread each, which takes the command's mail until it is over and puts
 * its output into a file; looking reads the file. The list is one of the workspace's things, and
 * freeing it ends them all. Tool threads come in through the functions of the header.
 */
#include "tools/background.h"

#include <string.h>

#include "agent/tool.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "guard/buffers.h"
#include "guard/sandbox.h"
#include "guard/workspace.h"
#include "proc/proc.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "tools/background_state.h"
#include "tools/command.h"
#include "tools/line_events.h"

#define BACKGROUND_MAX_RUNNING 32
#define BACKGROUND_NAMED 20 /* ids an error names */

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
    line_events_release(&j->events);
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
    task_withdraw(task_table_of(list->workspace), list);
    VEC_EACH(&list->jobs, j) {
        thread_join((*j)->thread);
        job_free(*j);
    }
    vec_release(&list->jobs);
    vec_release(&list->foreground);
    cancel_unref(list->stop);
    lock_release(&list->lock);
    mem_freep(&list);
}

static const struct workspace_kind background_kind = {background_make, background_free};

struct background *background_of(struct workspace *w)
{
    task_table_open(w);
    return workspace_thing(w, &background_kind);
}

enum task_state job_status(const struct job *j)
{
    if (j->is_killed)
        return TASK_KILLED;
    if (!j->is_over)
        return TASK_RUNNING;
    if (j->how == PROC_KILLED)
        return TASK_KILLED;
    return j->how == PROC_EXITED && j->code == 0 ? TASK_COMPLETED : TASK_FAILED;
}

void job_summarise(const struct job *j, struct buf *ret)
{
    enum task_state status = job_status(j);

    buf_adds(ret, task_state_name(status));
    if (j->has_flooded)
        buf_addf(ret, ": more than %d events within a minute", LINE_EVENTS_PER_MINUTE);
    if (status == TASK_COMPLETED)
        buf_adds(ret, " (exit code 0)"); /* as SDKs know it */
    if (status != TASK_FAILED)
        return;
    if (j->how == PROC_EXITED) {
        buf_addf(ret, " with exit code %d", j->code);
    } else if (j->how == PROC_TIMED_OUT) {
        buf_addf(ret, ": its time limit of %.10g s was reached", (double)j->timeout_ms / 1000);
    } else {
        buf_adds(ret, ": killed by ");
        command_add_signal(ret, j->code);
    }
}

static int background_stop(void *arg, const char *id, const char *by, struct err *err)
{
    struct background *list = arg;
    CLEANUP(buf_release) struct buf was_over = BUF_INIT(BACKGROUND_MAX_SUMMARY);

    (void)by;
    return background_kill(list->workspace, str_of(id), &was_over, err);
}

static int background_output(void *arg, const char *id, struct buf *ret, struct err *err)
{
    struct background *list = arg;
    CLEANUP(background_view_release) struct background_view view = {0};

    if (background_look(list->workspace, str_of(id), STR(""), &view, err) < 0)
        return -1;
    buf_add(ret, buf_str(&view.text));
    return 0;
}

static const struct task_ops background_ops = {background_stop, background_output};

static int job_begin(struct job *j, struct err *err)
{
    struct task_spec spec = {
        .id = j->id,
        .kind = j->kind,
        .is_background = true,
        .description = str_of(j->what),
        .command = str_of(j->command),
        .tool_use_id = str_of(j->tool_use_id),
        .output_file = buf_str(&j->spool.path),
        .ops = &background_ops,
        .arg = j->list,
    };

    return task_begin(j->list->workspace, &spec, err);
}

static void job_end(struct job *j)
{
    CLEANUP(buf_release) struct buf summary = BUF_INIT(BACKGROUND_MAX_SUMMARY);
    struct task_end end = {0};

    lock_take(&j->list->lock);
    end.state = job_status(j);
    end.is_known = j->is_killed;
    end.has_code = j->is_over && end.state != TASK_KILLED;
    end.code = j->how == PROC_SIGNALLED ? 128 + j->code : j->code;
    job_summarise(j, &summary);
    if (j->blocked.len)
        buf_addf(&summary, "; %.*s", (int)strcspn(buf_cstr(&j->blocked), "\n"),
                 buf_cstr(&j->blocked));
    lock_give(&j->list->lock);
    end.summary = buf_str(&summary);
    task_end(task_table_of(j->list->workspace), j->id, &end);
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

/* Publishes the contents of the spool. */
static void job_publish(struct job *j, const struct proc_mail *end)
{
    CLEANUP(buf_release) struct buf blocked = BUF_INIT(BACKGROUND_MAX_BLOCKED);

    if (end)
        job_leave_sandbox(j, end, &blocked);
    lock_take(&j->list->lock);
    j->heard_ms = clock_mono_ms();
    j->written = j->spool.written;
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

/* ---- A monitor's events ---- */

static void job_hear(struct job *j, const struct proc_mail *pm)
{
    if (j->kind != TASK_MONITOR)
        return;
    if (pm->what == PROC_EXIT)
        line_events_end(&j->events, clock_mono_ms());
    else if (pm->fd == 1)
        line_events_feed(&j->events, buf_str(&pm->bytes), clock_mono_ms());
}

/* Notifies the agent of what is due. */
static void job_tell_event(struct job *j)
{
    struct task_table *tasks = task_table_of(j->list->workspace);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf event = BUF_INIT(2 * LINE_EVENTS_MAX_TEXT);
    CLEANUP(buf_release) struct buf text = BUF_INIT(4 * LINE_EVENTS_MAX_TEXT);
    struct task_view v;

    if (!line_events_take(&j->events, clock_mono_ms(), &event) ||
        !task_look(tasks, str_of(j->id), &arena, &v))
        return;
    task_write_event(&v, buf_str(&event), &text);
    task_say(tasks, j->id, v.owner, buf_str(&text));
    if (!line_events_are_too_many(&j->events))
        return;
    lock_take(&j->list->lock);
    j->has_flooded = true;
    lock_give(&j->list->lock);
    proc_end(j->proc);
}

/* ---- The thread ---- */

static bool job_take_mail(struct job *j, struct mail *m)
{
    struct proc_mail *pm = (struct proc_mail *)m;
    bool is_over;

    if (m->kind != &proc_mail_kind) /* it was sent here twice */
        return false;
    is_over = pm->what == PROC_EXIT;
    if (is_over)
        spool_end(&j->spool);
    else
        spool_feed(&j->spool, buf_str(&pm->bytes));
    job_hear(j, pm);
    job_publish(j, is_over ? pm : NULL);
    return is_over;
}

static void job_main(void *arg)
{
    struct job *j = arg;
    bool is_over = false;

    while (!is_over) {
        struct err err = {0};
        struct mail *m;

        if (mailbox_take(j->mail, j->list->stop, j->events.due_ms, &m, &err) == 0) {
            is_over = job_take_mail(j, m);
            mail_free(m);
        } else if (err.code == ERR_CANCELLED) {
            break;
        }
        if (!j->has_flooded)
            job_tell_event(j);
    }
    buffers_command_ended(workspace_buffers(j->list->workspace));
    if (is_over)
        job_end(j);
}

/* Its output cannot be stored: it ends, and observers of its start are notified of that, too. */
static void job_was_in_vain(struct job *j)
{
    lock_take(&j->list->lock);
    j->is_over = true;
    j->is_killed = true;
    lock_give(&j->list->lock);
    job_end(j);
}

static int background_check_room(struct background *list, struct err *err)
{
    int running = 0;

    lock_take(&list->lock);
    VEC_EACH(&list->jobs, j) {
        running += !(*j)->is_over;
    }
    lock_give(&list->lock);
    if (running < BACKGROUND_MAX_RUNNING)
        return 0;
    return err_set(err, ERR_TOO_BIG, "%d commands run in the background; end one first", running);
}

/* Its words; the rest is the caller's. */
static struct job *job_new(struct background *list, const char *dir, struct str command,
                           struct str what, struct str tool_use_id, bool is_monitor)
{
    struct job *j = mem_zalloc(sizeof(*j));

    j->list = list;
    j->kind = is_monitor ? TASK_MONITOR : TASK_SHELL;
    task_make_id(task_table_of(list->workspace), j->kind, j->id);
    line_events_init(&j->events);
    j->dir = mem_dup(dir, strlen(dir));
    j->blocked = (struct buf)BUF_INIT(BACKGROUND_MAX_BLOCKED);
    j->command = mem_dup(command.ptr, command.len);
    what = what.len ? what : command;
    j->what = mem_dup(what.ptr, what.len);
    j->tool_use_id = mem_dup(tool_use_id.ptr, tool_use_id.len);
    j->began_ms = j->heard_ms = clock_mono_ms();
    j->line = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    return j;
}

/* Into the list. */
static void job_keep_listed(struct job *j, struct background_started *ret)
{
    struct background *list = j->list;

    memcpy(ret->id, j->id, sizeof(ret->id));
    ret->path = mem_dup(j->spool.path.ptr, j->spool.path.len);
    lock_take(&list->lock);
    vec_push(&list->jobs, j);
    lock_give(&list->lock);
}

int background_start(struct workspace *w, const struct background_spec *spec,
                     struct background_started *ret, struct buf *notes, struct err *err)
{
    struct background *list = background_of(w);
    const struct command_spec *c = spec->command;
    CLEANUP(job_freep) struct job *j = NULL;
    bool moves;

    if (background_check_room(list, err) < 0) {
        sandbox_job_free(c->job);
        return -1;
    }
    j = job_new(list, c->dir, c->text, spec->what, spec->tool_use_id, spec->is_monitor);
    j->timeout_ms = c->timeout_ms;
    j->inside = c->job;
    j->mail = mailbox_new();
    spool_init(&j->spool, w, str_of(j->id));
    if (spool_open(&j->spool, err) < 0)
        return -1;
    j->proc = command_start(w, c, j->mail, &moves, notes, err);
    if (!j->proc)
        return -1;
    if (job_begin(j, err) < 0)
        return -1;
    buffers_command_began(workspace_buffers(w));
    j->thread = thread_start(j->id, job_main, j, err);
    if (!j->thread) {
        buffers_command_ended(workspace_buffers(w));
        job_was_in_vain(j);
        return -1;
    }
    job_keep_listed(TAKE_PTR(j), ret);
    return 0;
}

int background_adopt(struct workspace *w, const struct background_handover *from,
                     struct background_started *ret, struct err *err)
{
    struct background *list = background_of(w);
    struct job *j;

    if (from->spool->has_failed)
        return err_set(err, ERR_IO, "there is no file for its output");
    if (from->spool->fd < 0 && spool_open(from->spool, err) < 0)
        return -1;
    if (background_check_room(list, err) < 0)
        return -1;
    j = job_new(list, from->dir, from->command, from->what, from->tool_use_id,
                /*is_monitor=*/false);
    j->inside = from->job;
    j->mail = from->mail;
    j->proc = from->proc;
    spool_move(&j->spool, from->spool);
    proc_keep(j->proc);
    job_publish(j, /*end=*/NULL);
    j->seen = j->written; /* the call's result shows it */
    (void)job_begin(j, /*err=*/NULL);
    buffers_command_began(workspace_buffers(w));
    j->thread = thread_start(j->id, job_main, j, err);
    if (!j->thread) {
        buffers_command_ended(workspace_buffers(w));
        proc_end(j->proc);
        job_was_in_vain(j);
    }
    job_keep_listed(j, ret);
    return 0;
}

/* ---- Commands of the foreground ---- */

static void background_mail_free(struct mail *m)
{
    mem_freep(&m);
}

const struct mail_kind background_mail_kind = {"to the background", background_mail_free};

void background_stand_by(struct workspace *w, struct str tool_use_id, struct mailbox *mail)
{
    struct background *list = background_of(w);

    lock_take(&list->lock);
    vec_push(&list->foreground, ((struct stander){tool_use_id, mail}));
    lock_give(&list->lock);
}

void background_stand_down(struct workspace *w, struct mailbox *mail)
{
    struct background *list = background_of(w);
    size_t at = 0;

    lock_take(&list->lock);
    while (at < list->foreground.len && list->foreground.ptr[at].mail != mail)
        at++;
    if (at < list->foreground.len)
        list->foreground.ptr[at] = list->foreground.ptr[--list->foreground.len];
    lock_give(&list->lock);
}

size_t background_send(struct workspace *w, struct str tool_use_id)
{
    struct background *list = background_of(w);
    size_t count = 0;

    lock_take(&list->lock);
    VEC_EACH(&list->foreground, it) {
        struct mail *m;

        if (tool_use_id.len && !str_eq(tool_use_id, it->tool_use_id))
            continue;
        m = mem_zalloc(sizeof(*m));
        m->kind = &background_mail_kind;
        mailbox_send(it->mail, m);
        count++;
    }
    lock_give(&list->lock);
    return count;
}

size_t background_running(struct workspace *w, struct buf *names, int64_t *ret_began_ms)
{
    struct background *list = background_of(w);
    size_t n = 0;

    *ret_began_ms = 0;
    lock_take(&list->lock);
    VEC_EACH(&list->jobs, it) {
        const struct job *j = *it;

        if (j->is_over)
            continue;
        if (names)
            buf_addf(names, "%s%s (%.200s)", n ? ", " : "", j->id, j->what);
        if (j->began_ms > *ret_began_ms)
            *ret_began_ms = j->began_ms;
        n++;
    }
    lock_give(&list->lock);
    return n;
}

void background_end_silent(struct workspace *w, int64_t silence_ms, struct buf *ret_names,
                           int64_t *io_look_ms)
{
    struct background *list = background_of(w);
    int64_t now = clock_mono_ms();
    VEC(struct proc *) ending = VEC_INIT;

    lock_take(&list->lock);
    VEC_EACH(&list->jobs, it) {
        struct job *j = *it;
        int64_t due_ms = j->heard_ms + silence_ms;

        if (j->is_over || j->is_killed || j->kind != TASK_SHELL)
            continue;
        if (due_ms <= now) {
            buf_addf(ret_names, "%s%s (%.200s)", ret_names->len ? ", " : "", j->id, j->what);
            j->is_killed = true;
            vec_push(&ending, j->proc);
        } else if (*io_look_ms < 0 || due_ms < *io_look_ms) {
            *io_look_ms = due_ms;
        }
    }
    lock_give(&list->lock);
    VEC_EACH(&ending, proc) {
        proc_end(*proc); /* jobs are freed with the workspace only */
    }
    vec_release(&ending);
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

struct job *background_find(struct background *list, struct str id, struct err *err)
{
    CLEANUP(buf_release) struct buf known = BUF_INIT(BACKGROUND_MAX_SUMMARY);
    size_t first = list->jobs.len > BACKGROUND_NAMED ? list->jobs.len - BACKGROUND_NAMED : 0;

    VEC_EACH(&list->jobs, j) {
        if (str_is(id, (*j)->id))
            return *j;
    }
    for (size_t i = first; i < list->jobs.len; i++)
        buf_addf(&known, "%s%s (%s)", i > first ? ", " : "", list->jobs.ptr[i]->id,
                 task_state_name(job_status(list->jobs.ptr[i])));
    if (known.len)
        err_set(err, ERR_NOT_FOUND, "no background command '%.*s'; there are: %s", STR_ARG(id),
                buf_cstr(&known));
    else
        err_set(err, ERR_NOT_FOUND, "no background command '%.*s': none was started", STR_ARG(id));
    return NULL;
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

void background_kill_all(struct workspace *w)
{
    struct background *list = background_of(w);

    lock_take(&list->lock);
    VEC_EACH(&list->jobs, j) {
        if (!(*j)->is_over && (*j)->proc)
            proc_kill((*j)->proc);
    }
    lock_give(&list->lock);
}
