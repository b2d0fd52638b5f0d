/*
 * say: the only function for printing text. Main thread.
 *
 * Text for a terminal is cleaned first: it must not move the cursor, retitle the window or answer
 * questions on behalf of the user. Lists for people are cleaned in a pipe, too, which may lead to a
 * pager; JSON and answers are not.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/secret.h"
#include "base/utf8.h"
#include "cmd/cmd.h"
#include "sync/cancel.h"

#define SAY_PIECE ((size_t)4096) /* a pipe that can be written takes this much without blocking */

/* Shows control characters as "^[", those beyond ASCII and invalid ones as U+FFFD, and no
 * bidirectional controls; keeps line ends and tabs. */
static void say_clean(struct str text, struct buf *out)
{
    while (text.len) {
        unsigned char c = (unsigned char)text.ptr[0];
        uint32_t code = 0;
        size_t len = utf8_decode(text, &code);

        if (!len || (code >= 0x80 && code < 0xa0))
            buf_adds(out, "\xef\xbf\xbd");
        else if (utf8_turns_text(code))
            ; /* left out: it shows nothing itself */
        else if (code == '\n' || code == '\t' || (code >= ' ' && code != 0x7f))
            buf_add(out, str_first(text, len));
        else if (code != '\r') /* would let a line be overwritten; the newline after it stays */
            buf_addf(out, "^%c", c ^ 0x40);
        text = str_from(text, len ? len : 1);
    }
}

static bool say_status_shown;

static void say_status_clear(void)
{
    if (say_status_shown)
        (void)fd_write_all(STDERR_FILENO, STR("\r\033[K"), NULL);
    say_status_shown = false;
}

void say_status(const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(200);
    CLEANUP(buf_release) struct buf clean = BUF_INIT(800);
    va_list args;

    say_status_clear();
    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    if (!text.len || !isatty(STDERR_FILENO))
        return;
    say_clean(buf_str(&text), &clean);
    (void)fd_write_all(STDERR_FILENO, buf_str(&clean), NULL);
    say_status_shown = true;
}

static void say_line(struct buf *text, const char *before, const char *after)
{
    CLEANUP(buf_release) struct buf clean = BUF_INIT((size_t)256 << 10);

    say_status_clear();
    secret_scrub(text);
    buf_adds(&clean, before);
    say_clean(buf_str(text), &clean);
    buf_adds(&clean, after);
    buf_addc(&clean, '\n');
    /* Nowhere is left to complain to when standard error fails. */
    (void)fd_write_all(STDERR_FILENO, buf_str(&clean), NULL);
}

void say(const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT((size_t)64 << 10);
    va_list args;

    buf_adds(&text, "tenax: ");
    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    say_line(&text, "", "");
}

void say_plain(const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT((size_t)64 << 10);
    va_list args;

    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    say_line(&text, "", "");
}

void say_colored(const char *before, const char *after, const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT((size_t)64 << 10);
    va_list args;

    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    say_line(&text, before, after);
}

void say_error(const struct err *err)
{
    say("%s", err->text[0] ? err->text : err_code_text(err->code));
}

/* A reader that has stopped reading (a pager, Ctrl-S) must not delay a cancel. */
static int say_write(struct str text, struct cancel *cancel, struct err *err)
{
    struct pollfd fds[2] = {
        {.fd = STDOUT_FILENO, .events = POLLOUT},
        {.fd = cancel ? cancel_fd(cancel) : -1, .events = POLLIN},
    };

    while (text.len) {
        struct str piece = str_first(text, SAY_PIECE);

        if (poll(fds, ARRAY_LEN(fds), -1) < 0)
            continue; /* EINTR */
        if (!fds[0].revents && cancel_check(cancel, err) < 0)
            return -1;
        if (fd_write_all(STDOUT_FILENO, piece, err) < 0)
            return -1;
        text = str_from(text, piece.len);
    }
    return 0;
}

static bool say_bytes(struct str text, struct cancel *cancel, int *ret_code)
{
    struct err err = {0};

    say_status_clear();
    if (say_write(text, cancel, &err) == 0)
        return true;
    if (err.code == ERR_CANCELLED) {
        *ret_code = cmd_signal_code();
        return false;
    }
    if (err.sys == EPIPE) {
        *ret_code = EXIT_PIPE;
        return false;
    }
    err_prefix(&err, "standard output");
    say_error(&err);
    *ret_code = EXIT_FAILED;
    return false;
}

bool say_live(struct str text, struct cancel *cancel, int *ret_code)
{
    CLEANUP(buf_release) struct buf clean = BUF_INIT(BUF_NO_LIMIT);

    say_clean(text, &clean);
    return say_bytes(buf_str(&clean), cancel, ret_code);
}

bool say_out(struct str text, struct cancel *cancel, int *ret_code)
{
    return isatty(STDOUT_FILENO) ? say_live(text, cancel, ret_code)
                                 : say_bytes(text, cancel, ret_code);
}
