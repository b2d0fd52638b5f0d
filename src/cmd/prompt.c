/*
 * prompt: the user's prompt from the command line and from a pipe.
 *
 * Piped input is read to its end, with a limit, and can be cancelled at any time; if nothing
 * arrives for a while we print what we are waiting for, because a forgotten `< /dev/null` looks
 * like a hang. Main thread.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "cmd/cmd.h"

#define PROMPT_MAX_BYTES ((size_t)10 << 20)
#define PROMPT_PATIENCE_MS 3000

/* A terminal is the user's keyboard and /dev/null is empty; everything else is input. */
static bool prompt_has_stdin(void)
{
    struct stat st;

    if (fstat(STDIN_FILENO, &st) < 0)
        return false; /* closed */
    return !isatty(STDIN_FILENO);
}

static int prompt_read_stdin(struct cmd *c, struct buf *text, struct err *err)
{
    bool told = false;

    for (;;) {
        int ready = cmd_wait_stdin(c, told ? -1 : PROMPT_PATIENCE_MS, err);
        char *room;
        ssize_t n;

        if (ready < 0)
            return -1;
        if (!ready) {
            say("waiting for the end of standard input (redirect it from /dev/null to go without)");
            told = true;
            continue;
        }
        /* One byte more than the limit distinguishes "too long" from "just fits". */
        room = buf_room(text, 65536);
        if (!room)
            return err_set(err, ERR_TOO_BIG,
                           "the prompt on standard input has more than %zu MB; put it into a file "
                           "and name the file instead",
                           PROMPT_MAX_BYTES >> 20);
        n = read(STDIN_FILENO, room, 65536);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0)
            return err_sys(err, ERR_IO, "cannot read standard input");
        if (n == 0)
            return 0;
        buf_grown(text, (size_t)n);
        told = true; /* data has arrived: no explanation is needed any more */
    }
}

/* Text that cannot be sent as JSON is rejected with its position instead of being changed silently.
 */
static int prompt_check(struct str text, struct err *err)
{
    size_t nul = str_chr(text, '\0');
    size_t valid = utf8_valid_len(text);

    if (nul < text.len)
        return err_set(err, ERR_BAD_INPUT,
                       "the prompt has a NUL byte at offset %zu; it looks like a binary file", nul);
    if (valid < text.len)
        return err_set(err, ERR_BAD_INPUT,
                       "the prompt is not valid UTF-8: byte 0x%02x at offset %zu (convert it with "
                       "iconv)",
                       (unsigned char)text.ptr[valid], valid);
    if (!str_trim(text).len)
        return err_set(err, ERR_BAD_INPUT,
                       "there is no prompt: give it as an argument or on standard input");
    return 0;
}

static bool prompt_is_stdin(const struct args *args)
{
    return args->words.len == 1 && strcmp(args->words.ptr[0], "-") == 0;
}

int prompt_gather(struct cmd *c, struct buf *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(PROMPT_MAX_BYTES + 65536);
    CLEANUP(buf_release) struct buf piped = BUF_INIT(PROMPT_MAX_BYTES + 65536);

    /* A lone "-" names standard input, as in many programs. */
    for (size_t i = 0; i < c->args.words.len && !prompt_is_stdin(&c->args); i++) {
        if (i)
            buf_addc(&text, ' ');
        buf_adds(&text, c->args.words.ptr[i]);
    }
    if (prompt_has_stdin() && prompt_read_stdin(c, &piped, err) < 0)
        return -1;
    if (text.len && piped.len)
        buf_adds(&text, "\n\n");
    buf_add(&text, buf_str(&piped));
    if (text.over || text.len > PROMPT_MAX_BYTES)
        return err_set(err, ERR_TOO_BIG,
                       "the prompt has more than %zu MB; put it into a file and name the file "
                       "instead",
                       PROMPT_MAX_BYTES >> 20);
    /* A resumed session may have an open turn: then no prompt is needed. */
    if (str_trim(buf_str(&text)).len == 0 &&
        (c->args.given[OPT_CONTINUE] || c->args.given[OPT_RESUME]))
        return 0;
    if (prompt_check(buf_str(&text), err) < 0)
        return -1;
    buf_move(ret, &text);
    return 0;
}
