/*
 * term: the terminal is taken over, written to without waiting, and given back.
 *
 * It is opened a second time, as a description of our own that does not block: the one we were
 * given is the shell's too, and a flag set there would outlive us. What cannot be written at once
 * is kept. UI thread; term_rescue.c for what happens when that ends suddenly.
 */
#include "tui/screen/term.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "tui/screen/keypress.h"
#include "tui/screen/term_able.h"
#include "tui/screen/term_rescue.h"
#include "tui/screen/term_tell.h"

#define TERM_MAX_BACKLOG ((size_t)256 << 20)
#define TERM_SMALL_WRITE 256 /* fits whenever a terminal can be written to at all */
#define TERM_LEAVE_MS 1000   /* time for a slow one to take the rest */
#define TERM_ANSWER_MS 100   /* at the end, for answers that would reach the shell */
#define TERM_MAX_COLS 2000
#define TERM_MAX_ROWS 1000

struct term {
    int in, out;    /* as given */
    int own;        /* opened by us, does not block; -1: it could not be */
    bool own_reads; /* in and out are the same terminal */
    struct termios mode;
    struct term_guess guess;
    struct buf opening; /* goes out with the first frame */
    struct buf backlog;
    size_t sent; /* of the backlog */
    bool is_entered, is_gone, is_alternate;
    bool has_asked, waits; /* for answers */
    bool has_title;
    char *log_path;
    int stderr_saved; /* -1: it is where it was */
};

/* --- Mode --- */

static struct termios term_raw(const struct termios *mode)
{
    struct termios raw = *mode;

    raw.c_iflag &= ~(tcflag_t)(IGNBRK | BRKINT | PARMRK | ISTRIP | INLCR | IGNCR | ICRNL | IXON);
    raw.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | ISIG | IEXTEN);
    raw.c_cflag &= ~(tcflag_t)(CSIZE | PARENB);
    raw.c_cflag |= CS8;
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    return raw; /* output as before, so that other writers get whole lines */
}

static void term_opening(struct term *t)
{
    struct buf *b = &t->opening;

    if (t->guess.able.is_plain)
        return;
    buf_adds(b, "\033[?2004h\033[?1004h");
    if (t->guess.other_keys)
        buf_adds(b, "\033[>4;1m");
    if (!t->guess.asks)
        return;
    buf_adds(b, "\033[>1u");
    if (t->has_asked)
        return;
    t->has_asked = true;
    t->waits = true;
    buf_adds(b, "\033[?2026$p\033[?u\033]11;?\033\\\033[c");
}

/* What undoes it, for us and for the rescue. */
static void term_closing(const struct term *t, struct buf *b)
{
    if (t->guess.able.is_plain)
        return;
    if (t->guess.able.sync)
        buf_adds(b, "\033[?2026l");
    if (t->guess.asks)
        buf_adds(b, "\033[<u");
    if (t->guess.other_keys)
        buf_adds(b, "\033[>4;0m");
    if (t->has_title)
        buf_adds(b, "\033[23;0t");
    buf_adds(b, "\033[?1004l\033[?2004l\033[?7h\033[?25h\033[m");
}

static void term_arm(const struct term *t)
{
    CLEANUP(buf_release) struct buf bytes = BUF_INIT(255);

    term_closing(t, &bytes);
    if (!t->guess.able.is_plain)
        buf_adds(&bytes, "\r\033[K\033[C\033[J\r"); /* as screen.c does it */
    rescue_arm(t->own >= 0 ? t->own : t->out, &t->mode, buf_str(&bytes));
    rescue_alternate(t->is_alternate);
}

/* Only where it is the terminal: a redirection to a file is kept. */
static void term_divert_stderr(struct term *t)
{
    CLEANUP(fd_closep) int log = -1;

    if (!t->log_path || !isatty(STDERR_FILENO))
        return;
    log = open(t->log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (log < 0)
        return;
    t->stderr_saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (t->stderr_saved < 0)
        return;
    dup2(log, STDERR_FILENO);
}

static void term_restore_stderr(struct term *t)
{
    if (t->stderr_saved < 0)
        return;
    dup2(t->stderr_saved, STDERR_FILENO);
    close(t->stderr_saved);
    t->stderr_saved = -1;
}

int term_enter(struct term *t, struct err *err)
{
    struct termios raw;

    if (t->is_entered)
        return 0;
    if (tcgetattr(t->in, &t->mode) < 0)
        return err_sys(err, ERR_IO, "cannot read the mode of the terminal");
    raw = term_raw(&t->mode);
    term_opening(t);
    term_arm(t);
    /* Not TCSAFLUSH: type-ahead is meant for us. */
    if (tcsetattr(t->in, TCSANOW, &raw) < 0) {
        rescue_disarm();
        return err_sys(err, ERR_IO, "cannot set the mode of the terminal");
    }
    term_divert_stderr(t);
    t->is_entered = true;
    return 0;
}

static int term_writable(const struct term *t)
{
    return t->own >= 0 ? t->own : t->out;
}

/* What waits goes out, but not at any price. */
static void term_settle(struct term *t)
{
    int64_t until = clock_mono_ms() + TERM_LEAVE_MS;

    while (term_wants_write(t) && clock_mono_ms() < until) {
        struct pollfd p = {.fd = term_writable(t), .events = POLLOUT};

        if (poll(&p, 1, TERM_LEAVE_MS / 10) < 0 && errno != EINTR)
            break;
        term_flush(t);
    }
    buf_clear(&t->backlog);
    t->sent = 0;
}

void term_leave(struct term *t)
{
    CLEANUP(buf_release) struct buf bytes = BUF_INIT(1000);

    if (!t->is_entered)
        return;
    if (t->is_alternate)
        term_alternate(t, false);
    term_closing(t, &bytes);
    t->has_title = false;
    term_write(t, buf_str(&bytes));
    term_settle(t);
    tcsetattr(t->in, TCSANOW, &t->mode);
    rescue_disarm();
    term_restore_stderr(t);
    t->is_entered = false;
}

/* --- Open and close --- */

/* The same terminal as a description of our own. */
static int term_reopen(int fd)
{
    static const int flags = O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
    struct stat given;
    struct stat found;
    char path[256];
    int own;

    if (fstat(fd, &given) < 0)
        return -1;
    own = ttyname_r(fd, path, sizeof(path)) == 0 ? open(path, flags) : -1;
    if (own < 0)
        own = open("/dev/tty", flags);
    if (own >= 0 && (fstat(own, &found) < 0 || !S_ISCHR(found.st_mode) ||
                     (found.st_rdev != given.st_rdev && major(found.st_rdev) != 5))) {
        close(own);
        own = -1;
    }
    return own;
}

int term_open(const struct term_spec *spec, struct term **ret, struct err *err)
{
    struct term *t;
    struct stat in;
    struct stat out;

    if (!isatty(spec->in) || !isatty(spec->out))
        return err_set(err, ERR_UNSUPPORTED, "standard input and output are no terminal");
    t = mem_zalloc(sizeof(*t));
    t->in = spec->in;
    t->out = spec->out;
    t->own = term_reopen(spec->out);
    t->own_reads = t->own >= 0 && fstat(spec->in, &in) == 0 && fstat(spec->out, &out) == 0 &&
                   in.st_rdev == out.st_rdev;
    t->stderr_saved = -1;
    t->log_path = spec->log_path ? mem_dup(spec->log_path, strlen(spec->log_path)) : NULL;
    buf_init(&t->opening, 1000);
    buf_init(&t->backlog, TERM_MAX_BACKLOG);
    term_guess(spec->environ, spec->plain, &t->guess);
    if (term_enter(t, err) < 0) {
        term_close(t);
        return -1;
    }
    *ret = t;
    return 0;
}

/* Unread answers would end up as input of the shell. */
static void term_drain_answers(struct term *t)
{
    int64_t until = clock_mono_ms() + TERM_ANSWER_MS;
    char bytes[512];

    while (t->waits && t->is_entered && !t->opening.len) {
        struct pollfd p = {.fd = term_fd(t), .events = POLLIN};
        int64_t left = until - clock_mono_ms();
        ssize_t n;

        if (left <= 0 || poll(&p, 1, (int)left) <= 0)
            return;
        n = read(p.fd, bytes, sizeof(bytes));
        if (n <= 0 || memchr(bytes, 'c', (size_t)n)) /* device attributes come last */
            return;
    }
}

void term_close(struct term *t)
{
    if (!t)
        return;
    term_drain_answers(t);
    term_leave(t);
    if (t->own >= 0)
        close(t->own);
    buf_release(&t->opening);
    buf_release(&t->backlog);
    mem_freep(&t->log_path);
    mem_freep(&t);
}

/* --- What it is like --- */

struct term_size term_size(struct term *t)
{
    struct winsize w = {0};
    struct term_size size = {80, 24};

    if (ioctl(term_writable(t), TIOCGWINSZ, &w) == 0 && w.ws_col && w.ws_row)
        size = (struct term_size){w.ws_col, w.ws_row};
    if (size.cols > TERM_MAX_COLS)
        size.cols = TERM_MAX_COLS;
    if (size.rows > TERM_MAX_ROWS)
        size.rows = TERM_MAX_ROWS;
    return size;
}

const struct term_able *term_able(const struct term *t)
{
    return &t->guess.able;
}

static bool term_learn_reply(struct term *t, const struct keypress *k)
{
    struct term_able *able = &t->guess.able;
    struct term_able before = *able;
    bool light;

    switch (k->reply) {
    case REPLY_DEVICE:
        t->waits = false;
        break;
    case REPLY_MODE:
        if (k->args[0] == 2026)
            able->sync = k->args[1] == 1 || k->args[1] == 2;
        break;
    case REPLY_KITTY:
        able->kitty_keys = true;
        break;
    case REPLY_BACKGROUND:
        if (term_parse_background(k->text, &light)) {
            able->knows_background = true;
            able->is_light = light;
        }
        break;
    default:
        break;
    }
    if (able->sync != before.sync && t->is_entered)
        term_arm(t);
    return able->sync != before.sync || able->kitty_keys != before.kitty_keys ||
           able->is_light != before.is_light || able->knows_background != before.knows_background;
}

bool term_learn(struct term *t, const struct keypress *k)
{
    struct term_able *able = &t->guess.able;
    bool was = able->focused;

    if (k->code == KEY_REPLY)
        return term_learn_reply(t, k);
    if (k->code != KEY_FOCUS_IN && k->code != KEY_FOCUS_OUT)
        return false;
    able->tells_focus = true;
    able->focused = k->code == KEY_FOCUS_IN;
    return able->focused != was;
}

/* --- Bytes --- */

int term_fd(const struct term *t)
{
    return t->own_reads ? t->own : t->in;
}

long term_read(struct term *t, char *to, size_t size, struct err *err)
{
    struct pollfd p = {.fd = term_fd(t), .events = POLLIN};
    ssize_t n;

    if (!t->own_reads && poll(&p, 1, 0) <= 0)
        return 0;
    n = read(p.fd, to, size);
    if (n > 0)
        return n;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    t->is_gone = true;
    if (n == 0)
        return err_set(err, ERR_IO, "the terminal was closed");
    return err_sys(err, ERR_IO, "cannot read from the terminal");
}

/* How many bytes were taken; the rest must wait. */
static size_t term_try(struct term *t, struct str bytes)
{
    size_t done = 0;

    while (done < bytes.len && !t->is_gone) {
        struct pollfd p = {.fd = t->out, .events = POLLOUT};
        size_t size = bytes.len - done;
        ssize_t n;

        if (t->own < 0) { /* one that blocks: only what surely fits */
            if (poll(&p, 1, 0) <= 0)
                break;
            size = size < TERM_SMALL_WRITE ? size : TERM_SMALL_WRITE;
        }
        n = write(term_writable(t), bytes.ptr + done, size);
        if (n >= 0)
            done += (size_t)n;
        else if (errno == EAGAIN)
            break;
        else if (errno != EINTR)
            t->is_gone = true;
    }
    return t->is_gone ? bytes.len : done;
}

void term_write(struct term *t, struct str bytes)
{
    size_t done = 0;

    if (!t->is_entered || !bytes.len)
        return;
    if (t->opening.len) {
        buf_add(&t->backlog, buf_str(&t->opening));
        buf_clear(&t->opening);
        buf_add(&t->backlog, bytes);
        term_flush(t);
        return;
    }
    if (!term_wants_write(t))
        done = term_try(t, bytes);
    buf_add(&t->backlog, str_from(bytes, done));
}

bool term_wants_write(const struct term *t)
{
    return t->sent < t->backlog.len;
}

void term_flush(struct term *t)
{
    t->sent += term_try(t, str_from(buf_str(&t->backlog), t->sent));
    if (term_wants_write(t))
        return;
    buf_clear(&t->backlog);
    t->sent = 0;
}

/* --- Beside the text --- */

void term_alternate(struct term *t, bool on)
{
    if (t->guess.able.is_plain || t->is_alternate == on)
        return;
    t->is_alternate = on;
    rescue_alternate(on);
    /* Each screen has separate key modes. */
    if (on)
        term_write(t, t->guess.asks ? STR("\033[?1049h\033[>1u") : STR("\033[?1049h"));
    else
        term_write(t, t->guess.asks ? STR("\033[<u\033[?1049l") : STR("\033[?1049l"));
}

void term_title(struct term *t, struct str title)
{
    CLEANUP(buf_release) struct buf b = BUF_INIT(4 * TERM_CLEAN_MAX);

    if (t->guess.able.is_plain)
        return;
    if (!t->has_title)
        buf_adds(&b, "\033[22;0t");
    buf_adds(&b, "\033]0;");
    term_clean(&b, title);
    buf_adds(&b, "\033\\");
    term_write(t, buf_str(&b));
    if (!t->has_title) {
        t->has_title = true;
        if (t->is_entered)
            term_arm(t);
    }
}
