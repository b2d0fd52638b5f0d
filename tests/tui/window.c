/*
 * window: tenax on a pty, and libvterm as the terminal in front of it.
 */
#include "window.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vterm.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"

#define WINDOW_PATIENCE_MS 60000 /* only for what hangs */

struct vt {
    VTerm *vt;
    VTermScreen *screen;
    int fd;
    struct buf scrolled; /* lines that left the screen */
    struct buf text;     /* of the last question */
    struct buf answers;  /* to what the program asked */
};

/* ---- failing ---- */

static void window_fail(struct window *w, const char *what, const char *text)
{
    fprintf(stderr, "%s: '%s'\n---- the window (%d x %d) ----\n%s\n----\n", what, text, w->cols,
            w->rows, window_text(w));
    if (w->pid > 0) /* -1, when it has ended, would mean everybody */
        kill(w->pid, SIGKILL);
    exit(1);
}

/* ---- the terminal ---- */

static void cell_add(const VTermScreenCell *cell, struct buf *to)
{
    for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell->chars[i]; i++) {
        uint32_t c = cell->chars[i];

        if (c == (uint32_t)-1) /* the second half of a wide one */
            return;
        if (c < 0x80) {
            buf_addc(to, (char)c);
        } else if (c < 0x800) {
            buf_addc(to, (char)(0xc0 | c >> 6));
            buf_addc(to, (char)(0x80 | (c & 0x3f)));
        } else if (c < 0x10000) {
            buf_addc(to, (char)(0xe0 | c >> 12));
            buf_addc(to, (char)(0x80 | (c >> 6 & 0x3f)));
            buf_addc(to, (char)(0x80 | (c & 0x3f)));
        } else {
            buf_addc(to, (char)(0xf0 | c >> 18));
            buf_addc(to, (char)(0x80 | (c >> 12 & 0x3f)));
            buf_addc(to, (char)(0x80 | (c >> 6 & 0x3f)));
            buf_addc(to, (char)(0x80 | (c & 0x3f)));
        }
    }
    if (!cell->chars[0])
        buf_addc(to, ' ');
}

static void line_end(struct buf *to, size_t from)
{
    while (to->len > from && to->ptr[to->len - 1] == ' ')
        buf_cut(to, to->len - 1, 1);
    buf_addc(to, '\n');
}

static int vt_push(int cols, const VTermScreenCell *cells, void *arg)
{
    struct vt *v = arg;
    size_t from = v->scrolled.len;

    for (int i = 0; i<cols; i += cells[i].width> 1 ? cells[i].width : 1)
        cell_add(&cells[i], &v->scrolled);
    line_end(&v->scrolled, from);
    return 1;
}

static void vt_send(struct vt *v, struct str bytes)
{
    while (bytes.len) {
        ssize_t n = write(v->fd, bytes.ptr, bytes.len);

        if (n <= 0)
            return;
        bytes = str_from(bytes, (size_t)n);
    }
}

/* The marks around a frame are what libvterm does not know, but this window does. */
static void vt_answer(const char *bytes, size_t len, void *arg)
{
    struct vt *v = arg;
    struct str unknown = STR("?2026;0$y");
    struct str answer = str_make(bytes, len);

    if (str_ends(answer, unknown)) {
        buf_add(&v->answers, str_first(answer, len - unknown.len));
        answer = STR("?2026;2$y");
    }
    buf_add(&v->answers, answer);
}

/* In one piece, as a terminal does: with a fast clock, bytes after an Esc come too late. */
static void vt_read(struct vt *v, const char *bytes, size_t len)
{
    vterm_input_write(v->vt, bytes, len);
    vt_send(v, buf_str(&v->answers));
    buf_clear(&v->answers);
}

static struct vt *vt_new(int fd, int rows, int cols)
{
    static const VTermScreenCallbacks callbacks = {.sb_pushline = vt_push};
    struct vt *v = mem_zalloc(sizeof(*v));

    v->fd = fd;
    buf_init(&v->scrolled, BUF_NO_LIMIT);
    buf_init(&v->text, BUF_NO_LIMIT);
    buf_init(&v->answers, BUF_NO_LIMIT);
    v->vt = vterm_new(rows, cols);
    vterm_set_utf8(v->vt, 1);
    vterm_output_set_callback(v->vt, vt_answer, v);
    v->screen = vterm_obtain_screen(v->vt);
    vterm_screen_set_callbacks(v->screen, &callbacks, v);
    vterm_screen_enable_altscreen(v->screen, 1);
    vterm_screen_reset(v->screen, 1);
    return v;
}

static void vt_free(struct vt *v)
{
    vterm_free(v->vt);
    buf_release(&v->scrolled);
    buf_release(&v->answers);
    buf_release(&v->text);
    mem_freep(&v);
}

static void screen_add(struct window *w)
{
    for (int row = 0; row < w->rows; row++) {
        size_t from = w->vt->text.len;

        for (int col = 0; col < w->cols;) {
            VTermScreenCell cell;

            if (!vterm_screen_get_cell(w->vt->screen, (VTermPos){row, col}, &cell))
                break;
            cell_add(&cell, &w->vt->text);
            col += cell.width > 1 ? cell.width : 1;
        }
        line_end(&w->vt->text, from);
    }
}

const char *window_screen(struct window *w)
{
    buf_clear(&w->vt->text);
    screen_add(w);
    return buf_cstr(&w->vt->text);
}

const char *window_text(struct window *w)
{
    buf_clear(&w->vt->text);
    buf_add(&w->vt->text, buf_str(&w->vt->scrolled));
    screen_add(w);
    return buf_cstr(&w->vt->text);
}

size_t window_count(struct window *w, const char *text)
{
    struct str all = str_of(window_text(w));
    struct str what = str_of(text);
    size_t n = 0;

    for (size_t at = str_find(all, what); at < all.len; at = str_find(all, what)) {
        all = str_from(all, at + what.len);
        n++;
    }
    return n;
}

/* ---- opened ---- */

static void put_file(const char *top, const char *name, const char *text)
{
    CLEANUP(mem_freep) char *path = path_join(top, name);
    CLEANUP(mem_freep) char *folder = path_dirname(path);
    struct err err = {0};

    if (file_mkdirs(folder, 0700, &err) < 0 || file_replace(path, str_of(text), 0600, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
}

static void make_top(struct window *w, const struct window_spec *spec)
{
    CLEANUP(buf_release) struct buf trust = BUF_INIT(BUF_NO_LIMIT);

    if (spec->home) {
        snprintf(w->top, sizeof(w->top), "%s", spec->home);
    } else {
        snprintf(w->top, sizeof(w->top), "/tmp/tenax-window-XXXXXX");
        if (!mkdtemp(w->top)) {
            perror("mkdtemp");
            exit(1);
        }
        w->owns_top = true;
        put_file(w->top, "work/README", "A folder to work in.\n");
        buf_addf(&trust, "{\"projects\":{\"%s/work\":{\"hasTrustDialogAccepted\":true}}}", w->top);
        if (!spec->untrusted)
            put_file(w->top, "home/.claude.json", buf_cstr(&trust));
    }
    if (spec->scenario)
        put_file(w->top, "scenario", spec->scenario);
    if (spec->settings)
        put_file(w->top, "home/.tenax/settings.json", spec->settings);
}

static void run_child(const struct window *w, const struct window_spec *spec)
{
    CLEANUP(strv_release) struct strv argv = STRV_INIT;
    CLEANUP(strv_release) struct strv env = STRV_INIT;

    strv_addf(&argv, "%s/src/tenax", spec->build);
    strv_addf(&argv, "--directory=%s/work", w->top);
    if (spec->scenario)
        strv_addf(&argv, "--model=scripted/%s/scenario", w->top);
    for (const char *const *a = spec->args; a && *a; a++)
        strv_adds(&argv, *a);
    strv_addf(&env, "PATH=%s", getenv("PATH"));
    strv_addf(&env, "HOME=%s/home", w->top);
    strv_addf(&env, "TENAX_HOME=%s/home/.tenax", w->top);
    strv_addf(&env, "TERM=%s", spec->term ? spec->term : "xterm-256color");
    strv_adds(&env, "LANG=C.UTF-8");
    strv_adds(&env, "TENAX_TEST_IDS=1");
    if (!spec->sandbox)
        strv_adds(&env, "TENAX_TEST_SANDBOX=none");
    for (const char *const *e = spec->env; e && *e; e++)
        strv_adds(&env, *e);
    for (const char *const *name =
             (const char *const[]){"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", NULL};
         *name; name++) {
        if (getenv(*name))
            strv_addf(&env, "%s=%s", *name, getenv(*name));
    }
    /* Ignored in the background of a script, which no terminal is. */
    signal(SIGHUP, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    if (spec->shell) {
        const char *const shell[] = {"bash", "--norc", "--noprofile", "-i", NULL};
        CLEANUP(buf_release) struct buf command = BUF_INIT(BUF_NO_LIMIT);

        for (size_t i = 0; i < argv.len; i++)
            buf_addf(&command, "%s%s", i ? " " : "TENAX=", argv.ptr[i]);
        strv_adds(&env, buf_cstr(&command));
        execve("/bin/bash", (char *const *)shell, env.ptr);
    }
    execve(argv.ptr[0], argv.ptr, env.ptr);
    perror(argv.ptr[0]);
    _exit(127);
}

void window_open(struct window *w, const struct window_spec *spec)
{
    struct winsize size;

    *w = (struct window){
        .cols = spec->cols ? spec->cols : 80,
        .rows = spec->rows ? spec->rows : 24,
        .raw = BUF_INIT(BUF_NO_LIMIT),
    };
    make_top(w, spec);
    size = (struct winsize){.ws_row = (unsigned short)w->rows, .ws_col = (unsigned short)w->cols};
    w->pid = forkpty(&w->fd, NULL, NULL, &size);
    if (w->pid < 0) {
        perror("forkpty");
        exit(1);
    }
    if (w->pid == 0)
        run_child(w, spec);
    fcntl(w->fd, F_SETFD, FD_CLOEXEC);
    fcntl(w->fd, F_SETFL, O_NONBLOCK);
    w->vt = vt_new(w->fd, w->rows, w->cols);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st;
    (void)walk;
    (void)(kind == FTW_DP ? rmdir(path) : unlink(path));
    return 0;
}

void window_close(struct window *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
    if (w->pid > 0)
        (void)window_end(w);
    vt_free(w->vt);
    buf_release(&w->raw);
    if (w->owns_top)
        (void)nftw(w->top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- bytes both ways ---- */

/* Looks for the marks in the bytes after `from`; one of them may have come in two pieces. */
static void watch_frames(struct window *w, size_t from)
{
    struct str begin = STR("\x1b[?2026h");
    struct str end = STR("\x1b[?2026l");

    for (size_t at = from < begin.len ? 0 : from - begin.len + 1; at < w->raw.len; at++) {
        struct str rest = str_from(buf_str(&w->raw), at);

        if (str_starts(rest, begin)) {
            w->frames += at >= w->counted_from;
            w->is_drawn = true;
        } else if (str_starts(rest, end))
            w->is_drawn = false;
    }
}

/* The available bytes, at most so many; false: none now. */
static bool window_read_some(struct window *w, size_t max)
{
    char bytes[65536];
    ssize_t n = read(w->fd, bytes, max < sizeof(bytes) ? max : sizeof(bytes));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        w->is_over = true;
        return false;
    }
    buf_add(&w->raw, str_make(bytes, (size_t)n));
    watch_frames(w, w->raw.len - (size_t)n);
    if (!w->is_blind)
        vt_read(w->vt, bytes, (size_t)n);
    return true;
}

static bool window_read(struct window *w)
{
    return window_read_some(w, SIZE_MAX);
}

bool window_wait(struct window *w, int ms)
{
    struct pollfd fd = {.fd = w->fd, .events = POLLIN};

    if (w->is_over || poll(&fd, 1, ms) <= 0)
        return false;
    while (window_read(w))
        ;
    return true;
}

void window_send(struct window *w, struct str bytes)
{
    while (bytes.len && !w->is_over) {
        struct pollfd fd = {.fd = w->fd, .events = POLLIN | POLLOUT};
        ssize_t n;

        if (poll(&fd, 1, WINDOW_PATIENCE_MS) <= 0)
            window_fail(w, "it reads no more", "");
        if (fd.revents & (POLLIN | POLLHUP))
            (void)window_read(w);
        n = fd.revents & POLLOUT ? write(w->fd, bytes.ptr, bytes.len < 4096 ? bytes.len : 4096) : 0;
        if (n > 0)
            bytes = str_from(bytes, (size_t)n);
    }
}

void window_type(struct window *w, const char *bytes)
{
    window_send(w, str_of(bytes));
}

void window_resize(struct window *w, int cols, int rows)
{
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols};

    w->cols = cols;
    w->rows = rows;
    if (!w->is_blind)
        vterm_set_size(w->vt->vt, rows, cols);
    ioctl(w->fd, TIOCSWINSZ, &size);
}

static int64_t give_up_at(void)
{
    return clock_mono_ms() + WINDOW_PATIENCE_MS;
}

/* One more look at what comes; ends the test when it has been waited for too long. */
static void window_look(struct window *w, int64_t until_ms, const char *what, const char *text)
{
    if (!window_wait(w, 1000) && (w->is_over || clock_mono_ms() > until_ms))
        window_fail(w, what, text);
}

/* Byte by byte: more than one frame may lie there, and a short one has no marks. */
size_t window_type_counted(struct window *w, const char *bytes, const char *text)
{
    int64_t until_ms = give_up_at();
    int unread = 0;

    window_type(w, bytes);
    ioctl(w->fd, FIONREAD, &unread);
    w->counted_from = w->raw.len + (size_t)unread;
    w->frames = 0;
    for (;;) {
        if (!window_read_some(w, 1)) {
            struct pollfd fd = {.fd = w->fd, .events = POLLIN};

            if (w->is_over || clock_mono_ms() > until_ms)
                window_fail(w, "it is not shown", text);
            (void)poll(&fd, 1, 1000);
        } else if (!w->is_drawn && strstr(window_screen(w), text)) {
            return w->frames;
        }
    }
}

void window_until(struct window *w, const char *text)
{
    int64_t until_ms = give_up_at();

    while (w->is_drawn || !strstr(window_text(w), text))
        window_look(w, until_ms, "it is never seen", text);
}

void window_until_shown(struct window *w, const char *text)
{
    int64_t until_ms = give_up_at();

    while (w->is_drawn || !strstr(window_screen(w), text))
        window_look(w, until_ms, "it is not shown", text);
}

void window_until_gone(struct window *w, const char *text)
{
    int64_t until_ms = give_up_at();

    while (w->is_drawn || strstr(window_screen(w), text))
        window_look(w, until_ms, "it does not go", text);
}

void window_until_raw(struct window *w, const char *bytes, size_t from)
{
    int64_t until_ms = give_up_at();
    struct str want = str_of(bytes);

    while (!str_has(str_from(buf_str(&w->raw), from), want))
        window_look(w, until_ms, "these bytes never come", bytes);
}

void window_until_file(struct window *w, const char *name)
{
    CLEANUP(mem_freep) char *path = path_join(w->top, name);
    int64_t until_ms = give_up_at();

    while (!file_exists(path)) {
        (void)window_wait(w, 20);
        if (clock_mono_ms() > until_ms)
            window_fail(w, "this file never comes", name);
    }
}

void window_settle(struct window *w, int ms)
{
    int64_t until_ms = give_up_at();

    while (window_wait(w, ms)) {
        if (clock_mono_ms() > until_ms)
            window_fail(w, "it does not come to rest", "");
    }
}

int window_end(struct window *w)
{
    int64_t until_ms = give_up_at();
    int status = 0;

    while (waitpid(w->pid, &status, WNOHANG) == 0) {
        struct pollfd fd = {.fd = w->fd, .events = POLLIN};

        if (clock_mono_ms() > until_ms)
            window_fail(w, "it does not end", "");
        if (w->fd < 0 || w->is_over)
            (void)poll(NULL, 0, 5);
        else if (poll(&fd, 1, 20) > 0)
            (void)window_read(w);
    }
    w->pid = -1;
    while (w->fd >= 0 && window_read(w))
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
