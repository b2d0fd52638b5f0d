/*
 * Signals as descriptors: blocked in every thread, read from one signalfd by one small thread.
 *
 * Nothing of ours ever runs in a signal handler. The thread polls the signalfd and an eventfd that
 * stops it. SIGCHLD is blocked with the rest but not read: it is left for the proc thread, which
 * has a separate signalfd for it.
 */
#include "sync/signals.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include "base/err.h"
#include "base/mem.h"
#include "sync/thread.h"

static const int signals_read[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP, SIGCONT};

/* Written by signals_start() before there are other threads, read-only afterwards; except the
 * diversion of signals, and the watcher of one. */
static struct {
    signals_fn fn;
    void *arg;
    int fd;
    int stop_fd;
    struct thread *thread;
    sigset_t original; /* empty until signals_start() */
    struct sigaction original_pipe;
    struct lock lock; /* of what follows; held while it is called */
    signals_fn diverted;
    void *diverted_arg;
    int watched; /* signo */
    signals_fn watcher;
    void *watcher_arg;
} signals = {.fd = -1, .stop_fd = -1, .lock = LOCK_INIT};

static void signals_tell(int signo)
{
    bool taken;

    lock_take(&signals.lock);
    if (signals.watcher && signo == signals.watched)
        signals.watcher(signo, signals.watcher_arg);
    taken = signals.diverted;
    if (taken)
        signals.diverted(signo, signals.diverted_arg);
    lock_give(&signals.lock);
    if (!taken)
        signals.fn(signo, signals.arg);
}

void signals_divert(signals_fn fn, void *arg)
{
    lock_take(&signals.lock);
    signals.diverted = fn;
    signals.diverted_arg = arg;
    lock_give(&signals.lock);
}

void signals_watch(int signo, signals_fn fn, void *arg)
{
    lock_take(&signals.lock);
    signals.watched = signo;
    signals.watcher = fn;
    signals.watcher_arg = arg;
    lock_give(&signals.lock);
}

static void signals_main(void *arg)
{
    struct pollfd fds[] = {
        {.fd = signals.fd, .events = POLLIN},
        {.fd = signals.stop_fd, .events = POLLIN},
    };
    struct signalfd_siginfo info;

    (void)arg;
    while (!fds[1].revents) {
        if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
            BUG("poll: %s", strerror(errno));
        if (fds[0].revents & POLLIN && read(signals.fd, &info, sizeof(info)) == sizeof(info))
            signals_tell((int)info.ssi_signo);
    }
}

int signals_start(signals_fn fn, void *arg, struct err *err)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t blocked;
    sigset_t read_set;

    if (signals.thread)
        BUG("signals_start() runs once");
    sigemptyset(&read_set);
    for (size_t i = 0; i < ARRAY_LEN(signals_read); i++) {
        struct sigaction inherited;

        /* A blocked signal reaches a signalfd even when it is ignored: nohup(1) and the `&` of a
         * script would lose their meaning. */
        if (sigaction(signals_read[i], NULL, &inherited) == 0 && inherited.sa_handler == SIG_IGN)
            continue;
        sigaddset(&read_set, signals_read[i]);
    }
    blocked = read_set;
    sigaddset(&blocked, SIGCHLD);

    signals.fn = fn;
    signals.arg = arg;
    pthread_sigmask(SIG_BLOCK, &blocked, &signals.original);
    sigaction(SIGPIPE, &ignore, &signals.original_pipe);
    signals.fd = signalfd(-1, &read_set, SFD_CLOEXEC | SFD_NONBLOCK);
    signals.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (signals.fd < 0 || signals.stop_fd < 0) {
        err_sys(err, ERR_IO, "cannot watch signals");
        signals_stop();
        return -1;
    }
    signals.thread = thread_start("signals", signals_main, /*arg=*/NULL, err);
    if (!signals.thread) {
        signals_stop();
        return -1;
    }
    return 0;
}

void signals_stop(void)
{
    if (!signals.fn)
        return;
    if (signals.thread) {
        eventfd_write(signals.stop_fd, 1);
        thread_join(signals.thread);
        signals.thread = NULL;
    }
    fd_closep(&signals.fd);
    fd_closep(&signals.stop_fd);
    signals.fd = -1;
    signals.stop_fd = -1;
    sigaction(SIGPIPE, &signals.original_pipe, NULL);
    pthread_sigmask(SIG_SETMASK, &signals.original, NULL);
    sigemptyset(&signals.original);
    signals.fn = NULL;
}

void signals_suspend(void)
{
    sigset_t tstp;

    sigemptyset(&tstp);
    sigaddset(&tstp, SIGTSTP);
    raise(SIGTSTP); /* pending for this thread until the next line; the process stops there */
    pthread_sigmask(SIG_UNBLOCK, &tstp, NULL);
    pthread_sigmask(SIG_BLOCK, &tstp, NULL);
}

const sigset_t *signals_original(void)
{
    return &signals.original;
}
