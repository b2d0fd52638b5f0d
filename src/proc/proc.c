/*
 * Child processes as the rest of tenax sees them. Any thread: a call makes an order for the proc
 * thread (loop.c) and returns; only proc_start() waits, until the program runs or has failed to.
 */
#include "proc/proc.h"

#include "base/err.h"
#include "proc/confine.h"
#include "proc/job.h"
#include "proc/loop.h"
#include "sync/cancel.h"
#include "sync/wait.h"

#define PROC_MAX_INPUT ((size_t)16 * 1024 * 1024)
#define PROC_MAX_OUTPUT ((size_t)64 * 1024 * 1024)
#define PROC_GRACE_MS 1000

static struct order *proc_order_new(struct proc *p, enum order_what what)
{
    struct order *order = mem_zalloc(sizeof(*order));

    job_ref(p);
    order->proc = p;
    order->what = what;
    return order;
}

static void proc_order(struct proc *p, enum order_what what, int a, int b, struct str bytes)
{
    struct order *order = proc_order_new(p, what);

    order->a = a;
    order->b = b;
    buf_init(&order->bytes, bytes.len);
    buf_add(&order->bytes, bytes);
    loop_send(order);
}

static void proc_mail_free(struct mail *m)
{
    struct proc_mail *pm = (struct proc_mail *)m;

    if (pm->what == PROC_OUTPUT && job_was_read(pm->proc, pm->bytes.len))
        proc_order(pm->proc, ORDER_RESUME, 0, 0, STR(""));
    job_unref(pm->proc);
    buf_release(&pm->bytes);
    free(pm);
}

const struct mail_kind proc_mail_kind = {"proc", proc_mail_free};

static struct proc *proc_new(const struct proc_spec *spec, struct mailbox *to)
{
    struct proc *p = mem_zalloc(sizeof(*p));

    atomic_init(&p->refs, 1);
    atomic_init(&p->input_waiting, spec->input.len);
    gate_init(&p->gate);
    p->to = mailbox_ref(to);
    for (int kind = 0; kind < JOB_FD_KINDS; kind++)
        p->fds[kind] = (struct job_fd){.job = p, .kind = (enum job_fd_kind)kind, .fd = -1};
    buf_init(&p->input, BUF_NO_LIMIT); /* proc_write() has the limit */
    buf_add(&p->input, spec->input);
    p->input_in_line = spec->input.len && spec->input.ptr[spec->input.len - 1] != '\n';
    p->pty = spec->pty;
    p->at_once = spec->at_once;
    p->by_user = spec->by_user;
    p->max_output = spec->max_output ? spec->max_output : PROC_MAX_OUTPUT;
    p->timeout_ms = spec->timeout_ms;
    p->grace_ms = spec->grace_ms ? spec->grace_ms : PROC_GRACE_MS;
    p->linger_ms = spec->linger_ms;
    return p;
}

static int proc_check_spec(const struct proc_spec *spec, struct err *err)
{
    if (!spec->argv || !spec->argv[0] || !*spec->argv[0])
        return err_set(err, ERR_BAD_INPUT, "no program to run");
    if (spec->input.len > PROC_MAX_INPUT)
        return err_set(err, ERR_TOO_BIG, "more than 16 MB of input for '%s'", spec->argv[0]);
    return confine_check(spec->confine, err);
}

static void proc_wait_settled(struct proc *p)
{
    wait_point(WAIT_CHILD, /*cancel=*/NULL);
    gate_take(&p->gate);
    while (!p->settled)
        gate_wait(&p->gate, /*deadline_ms=*/-1);
    gate_give(&p->gate);
}

struct proc *proc_start(const struct proc_spec *spec, struct mailbox *to, struct err *err)
{
    struct launch_ends ends;
    struct proc *p;

    if (proc_check_spec(spec, err) < 0 || loop_start(err) < 0)
        return NULL;
    p = proc_new(spec, to);
    if (launch_init(&p->launch, spec, &ends, err) < 0) {
        job_unref(p);
        return NULL;
    }
    p->fds[JOB_IN].fd = ends.in;
    p->fds[JOB_OUT].fd = ends.out;
    p->fds[JOB_ERR].fd = ends.err;

    loop_send(proc_order_new(p, ORDER_START));
    if (!p->at_once)
        proc_wait_settled(p);
    if (!p->at_once && p->failure.code) {
        if (err)
            *err = p->failure;
        job_unref(p);
        return NULL;
    }
    if (!spec->keep_stdin && ends.in >= 0)
        proc_close_input(p);
    return p;
}

int proc_pid(const struct proc *p)
{
    return p->pid;
}

int proc_write(struct proc *p, struct str bytes, struct err *err)
{
    size_t before = atomic_fetch_add(&p->input_waiting, bytes.len);

    if (bytes.len > PROC_MAX_INPUT || before > PROC_MAX_INPUT - bytes.len) {
        atomic_fetch_sub(&p->input_waiting, bytes.len);
        return err_set(err, ERR_TOO_BIG, "the program does not read: 16 MB of input are waiting");
    }
    proc_order(p, ORDER_WRITE, 0, 0, bytes);
    return 0;
}

size_t proc_waiting(const struct proc *p)
{
    return atomic_load(&p->input_waiting);
}

void proc_close_input(struct proc *p)
{
    proc_order(p, ORDER_CLOSE_INPUT, 0, 0, STR(""));
}

void proc_resize(struct proc *p, unsigned short rows, unsigned short cols)
{
    proc_order(p, ORDER_RESIZE, rows, cols, STR(""));
}

void proc_signal(struct proc *p, int signo)
{
    proc_order(p, ORDER_SIGNAL, signo, 0, STR(""));
}

void proc_end(struct proc *p)
{
    proc_order(p, ORDER_END, 0, 0, STR(""));
}

void proc_kill(struct proc *p)
{
    proc_order(p, ORDER_KILL, 0, 0, STR(""));
}

void proc_keep(struct proc *p)
{
    proc_order(p, ORDER_KEEP, 0, 0, STR(""));
}

void proc_unref(struct proc *p)
{
    if (!p)
        return;
    atomic_store(&p->unwatched, true);
    if (!atomic_load(&p->told_end)) /* else there is no process to end, or loop to wake */
        proc_end(p);
    job_unref(p);
}

void proc_result_release(struct proc_result *r)
{
    buf_release(&r->out);
    buf_release(&r->err);
}

/* Takes mail until the job is over. */
static int proc_collect(struct mailbox *from, struct cancel *cancel, struct proc_result *r,
                        struct err *err)
{
    for (;;) {
        struct proc_mail *pm;
        struct mail *m;
        bool over;

        if (mailbox_take(from, cancel, /*deadline_ms=*/-1, &m, err) < 0)
            return -1;
        pm = (struct proc_mail *)m;
        over = pm->what == PROC_EXIT;
        if (over) {
            r->how = pm->how;
            r->code = pm->code;
            r->dropped = pm->dropped;
            r->wall_ms = pm->wall_ms;
        } else {
            buf_add(pm->fd == 2 ? &r->err : &r->out, buf_str(&pm->bytes));
        }
        mail_free(m);
        if (over)
            return 0;
    }
}

int proc_run(const struct proc_spec *spec, struct cancel *cancel, struct proc_result *ret,
             struct err *err)
{
    struct proc_result r = {.out.max = BUF_NO_LIMIT, .err.max = BUF_NO_LIMIT};
    struct mailbox *from;
    struct proc *p;
    int rc = -1;

    if (cancel_check(cancel, err) < 0)
        return -1;
    from = mailbox_new();
    p = proc_start(spec, from, err);
    if (p)
        rc = proc_collect(from, cancel, &r, err);
    proc_unref(p); /* cancelled: ends in the background */
    mailbox_close(from);
    mailbox_unref(from);
    if (rc < 0)
        proc_result_release(&r);
    else
        *ret = r;
    return rc;
}

void proc_shutdown(void)
{
    confine_reap(/*waits=*/false);
    loop_stop();
}
