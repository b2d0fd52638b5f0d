/*
 * rescue: the last lines that run in a process that crashes.
 *
 * Everything the handler needs lies in one static struct that was filled before; it calls only
 * write(2), poll(2), tcsetattr(3), sigaction(2) and raise(3). Crash signals are never blocked here
 * (sync/signals.h reads the others), so they arrive on the thread that crashed.
 */
#include "tui/screen/term_rescue.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <termios.h>

#include "base/mem.h"

#define RESCUE_WAIT_MS 100 /* for a terminal that has not taken earlier output */

/* Crashes, and other unrequested ends of the process (sync/signals.h reads the rest). */
static const int rescue_signals[] = {SIGSEGV, SIGBUS,  SIGILL,  SIGFPE,  SIGABRT, SIGQUIT, SIGTRAP,
                                     SIGSYS,  SIGXCPU, SIGXFSZ, SIGALRM, SIGUSR1, SIGUSR2};

static struct {
    atomic_bool armed;
    atomic_bool alternate;
    int fd;
    struct termios mode;
    char bytes[256];
    size_t len;
    struct sigaction before[ARRAY_LEN(rescue_signals)];
    bool has_handlers, has_exit;
    _Alignas(64) char stack[32 << 10];
    stack_t stack_before;
} rescue;

/* A failed write cannot be reported any more. */
static void rescue_write(const char *bytes, size_t len)
{
    struct pollfd wait = {.fd = rescue.fd, .events = POLLOUT};
    ssize_t n = write(rescue.fd, bytes, len);

    if (n < 0 && errno == EAGAIN && poll(&wait, 1, RESCUE_WAIT_MS) > 0)
        n = write(rescue.fd, bytes, len);
    (void)n;
}

static void rescue_now(void)
{
    static const char leave[] = "\033[?1049l";

    if (!atomic_exchange(&rescue.armed, false))
        return;
    if (atomic_load(&rescue.alternate))
        rescue_write(leave, sizeof(leave) - 1);
    rescue_write(rescue.bytes, rescue.len);
    tcsetattr(rescue.fd, TCSANOW, &rescue.mode);
}

static void rescue_handler(int signo)
{
    rescue_now();
    for (size_t i = 0; i < ARRAY_LEN(rescue_signals); i++) {
        if (rescue_signals[i] == signo)
            sigaction(signo, &rescue.before[i], NULL);
    }
    raise(signo); /* blocked until we return: then it does what it did before us */
}

static void rescue_stack(void)
{
    stack_t stack = {.ss_sp = rescue.stack, .ss_size = sizeof(rescue.stack)};

    sigaltstack(&stack, &rescue.stack_before);
}

void rescue_arm(int fd, const struct termios *mode, struct str bytes)
{
    struct sigaction action = {.sa_handler = rescue_handler, .sa_flags = SA_ONSTACK};

    atomic_store(&rescue.armed, false);
    rescue.fd = fd;
    rescue.mode = *mode;
    rescue.len = bytes.len < sizeof(rescue.bytes) ? bytes.len : 0;
    memcpy(rescue.bytes, bytes.ptr, rescue.len);
    if (!rescue.has_handlers) {
        rescue_stack();
        sigemptyset(&action.sa_mask);
        for (size_t i = 0; i < ARRAY_LEN(rescue_signals); i++) {
            sigaction(rescue_signals[i], &action, &rescue.before[i]);
            if (rescue.before[i].sa_handler == SIG_IGN) /* it does not end the process */
                sigaction(rescue_signals[i], &rescue.before[i], NULL);
        }
        rescue.has_handlers = true;
    }
    if (!rescue.has_exit)
        rescue.has_exit = atexit(rescue_now) == 0;
    atomic_store(&rescue.armed, true);
}

void rescue_alternate(bool on)
{
    atomic_store(&rescue.alternate, on);
}

void rescue_disarm(void)
{
    atomic_store(&rescue.armed, false);
    atomic_store(&rescue.alternate, false);
    if (!rescue.has_handlers)
        return;
    for (size_t i = 0; i < ARRAY_LEN(rescue_signals); i++)
        sigaction(rescue_signals[i], &rescue.before[i], NULL);
    if (!(rescue.stack_before.ss_flags & SS_ONSTACK))
        sigaltstack(&rescue.stack_before, NULL);
    rescue.has_handlers = false;
}
