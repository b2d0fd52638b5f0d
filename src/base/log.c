/*
 * log: one line, one write. Any thread.
 */
#include "base/log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/secret.h"

#define LOG_MAX_LINE ((size_t)16 << 10)

atomic_bool log_enabled;
static atomic_int log_fd = -1;

int log_open(const char *path, struct err *err)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);

    if (fd < 0)
        return err_sys(err, ERR_IO, "cannot write the log '%s'", path);
    log_close();
    atomic_store(&log_fd, fd);
    atomic_store(&log_enabled, true);
    return 0;
}

int log_open_stderr(struct err *err)
{
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

    if (fd < 0)
        return err_sys(err, ERR_IO, "cannot write the log to standard error");
    log_close();
    atomic_store(&log_fd, fd);
    atomic_store(&log_enabled, true);
    return 0;
}

void log_close(void)
{
    int fd;

    atomic_store(&log_enabled, false);
    fd = atomic_exchange(&log_fd, -1);
    if (fd >= 0)
        close(fd);
}

void log_write(const char *area, const char *fmt, ...)
{
    struct buf line = BUF_INIT(LOG_MAX_LINE + 16);
    struct buf text = BUF_INIT(BUF_NO_LIMIT);
    char when[25];
    va_list args;
    ssize_t n;

    clock_iso(clock_wall_ms(), when);
    buf_addf(&line, "%s %d %-5s ", when, (int)syscall(SYS_gettid), area);
    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    secret_scrub(&text);
    /* One entry stays one line, also with quoted text. */
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.ptr[i] < ' ')
            text.ptr[i] = ' ';
    }
    buf_add(&line, str_clip(buf_str(&text), LOG_MAX_LINE - line.len));
    buf_addc(&line, '\n');
    n = write(atomic_load(&log_fd), line.ptr, line.len);
    (void)n; /* a log that cannot be written must not stop the work */
    buf_release(&text);
    buf_release(&line);
}
