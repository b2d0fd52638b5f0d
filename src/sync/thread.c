/*
 * Threads, locks and gates: pthreads with our choices made once.
 *
 * A gate waits on a futex. With a condition variable of libc the lock is taken as a contended one,
 * so that each wait ends with a system call that wakes no one.
 *
 * Deadlines are clock_mono_ms() time. They are turned into a distance from now before they reach
 * the kernel, so that clock.c alone decides what the numbers mean.
 */
#include "sync/thread.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifdef SANITIZED
#define STACK_BYTES ((size_t)1024 * 1024)
#else
#define STACK_BYTES ((size_t)256 * 1024)
#endif

#define FAULT_STACK_BYTES ((size_t)64 * 1024)

#define LONGEST_WAIT_MS ((int64_t)1000 * 3600 * 24) /* gate_wait() then looks again */

struct thread {
    pthread_t id;
    thread_fn fn;
    void *arg;
    bool is_loose; /* and frees itself */
    char name[16];
};

void thread_rename(const char *name)
{
    char shown[16];

    snprintf(shown, sizeof(shown), "%s", name);
    pthread_setname_np(pthread_self(), shown);
}

/* Where a handler of SIGSEGV runs when the stack is what has overflowed: without it the terminal
 * would be left as it is. Untouched pages take no memory. NULL: there is none. */
static void *fault_stack_take(void)
{
#ifdef SANITIZED
    return NULL; /* sanitizers bring their own, and unmap what they find in its place */
#else
    stack_t stack = {.ss_size = FAULT_STACK_BYTES};

    stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack.ss_sp == MAP_FAILED)
        return NULL;
    sigaltstack(&stack, NULL);
    return stack.ss_sp;
#endif
}

static void fault_stack_give(void *bytes)
{
    stack_t none = {.ss_flags = SS_DISABLE};

    if (!bytes)
        return;
    sigaltstack(&none, NULL);
    munmap(bytes, FAULT_STACK_BYTES);
}

static void *thread_main(void *arg)
{
    struct thread *t = arg;
    thread_fn fn = t->fn;
    void *fault_stack = fault_stack_take();

    arg = t->arg;
    thread_rename(t->name);
    if (t->is_loose)
        free(t);
    fn(arg);
    fault_stack_give(fault_stack);
    return NULL;
}

/* Faults stay deliverable: blocked, they would kill the process before a sanitizer can report. */
static void thread_signal_mask(sigset_t *ret)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};

    sigfillset(ret);
    for (size_t i = 0; i < ARRAY_LEN(faults); i++)
        sigdelset(ret, faults[i]);
}

static struct thread *thread_new(const char *name, thread_fn fn, void *arg, bool is_loose,
                                 struct err *err)
{
    struct thread *t = mem_zalloc(sizeof(*t));
    pthread_t id;
    pthread_attr_t attr;
    sigset_t blocked;
    sigset_t before;
    int rc;

    t->fn = fn;
    t->arg = arg;
    t->is_loose = is_loose;
    snprintf(t->name, sizeof(t->name), "%s", name);

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    if (is_loose)
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    thread_signal_mask(&blocked);
    /* A new thread inherits the mask, so no signal can reach it before it has blocked them. */
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    rc = pthread_create(&id, &attr, thread_main, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);

    if (rc) {
        free(t);
        errno = rc;
        err_sys(err, ERR_IO, "cannot start the %s thread", name);
        return NULL;
    }
    if (!is_loose) /* a loose one may be gone with its struct */
        t->id = id;
    return t;
}

struct thread *thread_start(const char *name, thread_fn fn, void *arg, struct err *err)
{
    return thread_new(name, fn, arg, /*is_loose=*/false, err);
}

int thread_start_loose(const char *name, thread_fn fn, void *arg, struct err *err)
{
    return thread_new(name, fn, arg, /*is_loose=*/true, err) ? 0 : -1;
}

void thread_join(struct thread *t)
{
    if (!t)
        return;
    pthread_join(t->id, NULL);
    free(t);
}

/* Locking fails only by misuse; carrying on without the lock would be worse than stopping. */
static void must(int rc, const char *what)
{
    if (rc)
        BUG("%s: %s", what, strerror(rc));
}

void lock_init(struct lock *l)
{
    must(pthread_mutex_init(&l->mutex, NULL), "mutex init");
}

void lock_release(struct lock *l)
{
    pthread_mutex_destroy(&l->mutex);
}

void lock_take(struct lock *l)
{
    must(pthread_mutex_lock(&l->mutex), "lock");
}

void lock_give(struct lock *l)
{
    must(pthread_mutex_unlock(&l->mutex), "unlock");
}

void gate_init(struct gate *g)
{
    must(pthread_mutex_init(&g->mutex, NULL), "mutex init");
    atomic_init(&g->wakes, 0);
    atomic_init(&g->waiting, 0);
}

void gate_release(struct gate *g)
{
    pthread_mutex_destroy(&g->mutex);
}

void gate_take(struct gate *g)
{
    must(pthread_mutex_lock(&g->mutex), "lock");
}

void gate_give(struct gate *g)
{
    must(pthread_mutex_unlock(&g->mutex), "unlock");
}

/* Lock held. A wake that comes after it was given up has changed the count, and so is not slept
 * over. timeout NULL: none. False when that is over. */
static bool gate_sleep(struct gate *g, const struct timespec *timeout)
{
    unsigned seen = atomic_load(&g->wakes);
    long rc;
    int why;

    atomic_fetch_add(&g->waiting, 1);
    gate_give(g);
    rc = syscall(SYS_futex, &g->wakes, FUTEX_WAIT_PRIVATE, seen, timeout, NULL, 0);
    why = rc < 0 ? errno : 0;
    gate_take(g);
    atomic_fetch_sub(&g->waiting, 1);
    if (why && why != EAGAIN && why != EINTR && why != ETIMEDOUT)
        BUG("futex: %s", strerror(why));
    return why != ETIMEDOUT;
}

bool gate_wait(struct gate *g, int64_t deadline_ms)
{
    struct timespec left;
    int64_t left_ms;

    if (deadline_ms < 0)
        return gate_sleep(g, /*timeout=*/NULL);

    left_ms = deadline_ms - clock_mono_ms();
    if (left_ms <= 0)
        return false;
    if (clock_is_virtual()) {
        clock_advance_ms(left_ms);
        return false;
    }
    if (left_ms > LONGEST_WAIT_MS)
        left_ms = LONGEST_WAIT_MS;

    left_ms = clock_real_ms(left_ms);
    left.tv_sec = left_ms / 1000;
    left.tv_nsec = left_ms % 1000 * 1000000;
    return gate_sleep(g, &left) || clock_mono_ms() < deadline_ms;
}

void gate_wake(struct gate *g)
{
    atomic_fetch_add(&g->wakes, 1);
    if (atomic_load(&g->waiting))
        syscall(SYS_futex, &g->wakes, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
