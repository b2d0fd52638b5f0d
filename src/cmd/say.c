/*
 * say: the one exit for text that people and pipes read. Main thread.
 */
#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/secret.h"
#include "cmd/cmd.h"

static void say_line(struct buf *text)
{
    secret_scrub(text);
    buf_addc(text, '\n');
    /* Nowhere is left to complain to when standard error fails. */
    (void)fd_write_all(STDERR_FILENO, buf_str(text), NULL);
}

void say(const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT((size_t)64 << 10);
    va_list args;

    buf_adds(&text, "tenax: ");
    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    say_line(&text);
}

void say_error(const struct err *err)
{
    say("%s", err->text[0] ? err->text : err_code_text(err->code));
}

bool say_out(struct str text, int *ret_code)
{
    struct err err = {0};

    if (fd_write_all(STDOUT_FILENO, text, &err) == 0)
        return true;
    if (err.sys == EPIPE) {
        *ret_code = EXIT_PIPE;
        return false;
    }
    err_prefix(&err, "standard output");
    say_error(&err);
    *ret_code = EXIT_FAILED;
    return false;
}
