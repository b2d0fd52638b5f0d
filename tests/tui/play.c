/*
 * play: fork, a controlling terminal, and a loop that carries bytes between the program and the
 * glass. Waiting is always for something that is shown; the limit is only there for a program that
 * hangs.
 */
#include "play.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "glass.h"
#include "planted.h"

#define PLAY_TEXT_MAX ((size_t)64 << 20)

void play_fail(struct play *p, const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(PLAY_TEXT_MAX);
    va_list args;

    fprintf(stderr, "%s:%d: ", p->name, p->line);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    if (p->glass) {
        glass_text(p->glass, &text);
        fprintf(stderr, "\n--- the screen\n%s---\n", buf_cstr(&text));
    }
    if (p->pid > 0)
        kill(p->pid, SIGKILL);
    exit(1);
}

static int play_remove(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

/* One of ten folders whose names look the same on every screen; the owner holds a lock. */
static bool play_take_slot(struct play *p, int slot)
{
    struct stat mine;
    struct stat there;

    snprintf(p->dir, sizeof(p->dir), "/tmp/tenax-play-%d", slot);
    if (mkdir(p->dir, 0700) < 0 && errno != EEXIST)
        return false;
    p->lock = open(p->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (p->lock < 0)
        return false;
    if (flock(p->lock, LOCK_EX | LOCK_NB) == 0 && fstat(p->lock, &mine) == 0 &&
        lstat(p->dir, &there) == 0 && mine.st_ino == there.st_ino && mine.st_uid == getuid())
        return true;
    close(p->lock);
    return false;
}

static int play_remove_inside(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    return at->level ? play_remove(path, st, kind, at) : 0;
}

/* An earlier owner may have been killed in it. */
static void play_sweep_inside(const struct play *p)
{
    (void)nftw(p->dir, play_remove_inside, 16, FTW_DEPTH | FTW_PHYS);
}

void play_stage(struct play *p)
{
    CLEANUP(mem_freep) char *work = NULL;
    int64_t until = clock_mono_ms() + PLAY_PATIENCE_MS;
    int slot = getpid() % 10;

    while (!play_take_slot(p, slot)) {
        slot = (slot + 1) % 10;
        poll(NULL, 0, slot ? 0 : 20);
        if (clock_mono_ms() > until)
            play_fail(p, "no folder is free");
    }
    work = path_join(p->dir, "work");
    play_sweep_inside(p);
    if (file_mkdirs(work, 0700, NULL) < 0)
        play_fail(p, "cannot make '%s'", work);
    strv_addf(&p->env, "HOME=%s", p->dir);
    strv_adds(&p->env, "PATH=/usr/bin:/bin");
    strv_adds(&p->env, PLANTED_TOKEN);
    strv_adds(&p->env, "TENAX_TEST_IDS=1");
    strv_adds(&p->env, "TENAX_TEST_SANDBOX=none");
    strv_adds(&p->env, "LANG=C.UTF-8");
    strv_adds(&p->env, "TZ=UTC");
    for (const char *const *name =
             (const char *const[]){"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", NULL};
         *name; name++) {
        if (getenv(*name))
            strv_addf(&p->env, "%s=%s", *name, getenv(*name));
    }
}

static void play_child(struct play *p)
{
    CLEANUP(mem_freep) char *work = path_join(p->dir, "work");
    int dir = open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    if (ioctl(p->slave, TIOCSCTTY, 0) < 0 || dir < 0 || (fchdir)(dir) < 0)
        _exit(126);
    dup2(p->slave, STDIN_FILENO);
    dup2(p->slave, STDOUT_FILENO);
    dup2(p->slave, STDERR_FILENO);
    execve(p->argv.ptr[0], p->argv.ptr, strv_get(&p->env));
    _exit(127);
}

void play_start(struct play *p, int cols, int rows)
{
    struct winsize w = {.ws_col = (unsigned short)cols, .ws_row = (unsigned short)rows};

    p->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (p->master < 0 || grantpt(p->master) < 0 || unlockpt(p->master) < 0)
        play_fail(p, "no terminal");
    p->slave = open(ptsname(p->master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (p->slave < 0 || ioctl(p->slave, TIOCSWINSZ, &w) < 0 || tcgetattr(p->slave, &p->mode) < 0)
        play_fail(p, "no terminal");
    p->glass = glass_new(cols, rows);
    p->pid = fork();
    if (p->pid < 0)
        play_fail(p, "fork");
    if (p->pid == 0)
        play_child(p);
}

void play_type(struct play *p, struct str bytes)
{
    while (bytes.len) {
        ssize_t n = write(p->master, bytes.ptr, bytes.len);

        if (n > 0)
            bytes = str_from(bytes, (size_t)n);
        else
            play_pump(p, 10); /* it may wait for us to read */
    }
}

/* The color of the background is what libvterm does not tell. */
static void play_answer(struct play *p)
{
    CLEANUP(buf_release) struct buf answers = BUF_INIT((size_t)1 << 20);
    struct str raw = glass_raw(p->glass);

    glass_answers(p->glass, &answers);
    if (p->background.len && str_has(str_from(raw, p->asked), STR("\033]11;?"))) {
        buf_addf(&answers, "\033]11;%.*s\033\\", STR_ARG(p->background));
        p->asked = raw.len;
    }
    if (answers.len)
        play_type(p, buf_str(&answers));
}

bool play_pump(struct play *p, int wait_ms)
{
    struct pollfd f = {.fd = p->master, .events = POLLIN};
    char bytes[65536];
    ssize_t n;

    if (poll(&f, 1, wait_ms) <= 0)
        return false;
    n = read(p->master, bytes, sizeof(bytes));
    if (n <= 0)
        return false;
    glass_feed(p->glass, str_make(bytes, (size_t)n));
    play_answer(p);
    return true;
}

void play_until_read(struct play *p)
{
    int64_t until = clock_mono_ms() + PLAY_PATIENCE_MS;
    struct pollfd f = {.fd = p->slave, .events = POLLIN};

    while (poll(&f, 1, 0) > 0) {
        if (clock_mono_ms() > until)
            play_fail(p, "it reads no more");
        play_pump(p, 5);
    }
}

void play_resize(struct play *p, int cols, int rows)
{
    struct winsize w = {.ws_col = (unsigned short)cols, .ws_row = (unsigned short)rows};

    while (play_pump(p, 0))
        continue;
    glass_resize(p->glass, cols, rows);
    if (ioctl(p->master, TIOCSWINSZ, &w) < 0)
        play_fail(p, "cannot resize");
}

static bool play_shows(struct play *p, struct str text)
{
    CLEANUP(buf_release) struct buf all = BUF_INIT(PLAY_TEXT_MAX);

    glass_scrollback(p->glass, &all);
    glass_text(p->glass, &all);
    return str_has(buf_str(&all), text);
}

/* For what shall be gone only the screen counts: scrollback never goes. */
static bool play_is_gone(struct play *p, struct str text)
{
    CLEANUP(buf_release) struct buf all = BUF_INIT(PLAY_TEXT_MAX);

    glass_text(p->glass, &all);
    return !str_has(buf_str(&all), text);
}

/* With which code of exit or signal, if it has. */
static bool play_has_ended(const struct play *p, int *ret_status)
{
    siginfo_t info = {0};

    if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || !info.si_pid)
        return false;
    *ret_status = info.si_status;
    return true;
}

void play_wait(struct play *p, struct str text, bool gone)
{
    int64_t until = clock_mono_ms() + PLAY_PATIENCE_MS;
    int status;

    while (!(gone ? play_is_gone(p, text) : play_shows(p, text))) {
        if (clock_mono_ms() > until)
            play_fail(p, "'%.*s' %s", STR_ARG(text), gone ? "stays" : "does not come");
        if (!play_pump(p, 1000) && play_has_ended(p, &status) && !play_pump(p, 0))
            play_fail(p, "it has ended (%d) before '%.*s'", status, STR_ARG(text));
    }
}

void play_calm(struct play *p, int quiet_ms)
{
    int64_t until = clock_mono_ms() + PLAY_PATIENCE_MS;

    while (play_pump(p, quiet_ms) && clock_mono_ms() < until)
        continue;
}

int play_end(struct play *p)
{
    int64_t until = clock_mono_ms() + PLAY_PATIENCE_MS;
    int status = 0;

    while (waitpid(p->pid, &status, WNOHANG) != p->pid) {
        play_pump(p, 20);
        if (clock_mono_ms() > until)
            play_fail(p, "it does not end");
    }
    p->pid = 0;
    while (play_pump(p, 20)) /* what it said last */
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* The last sequence about a mode of the terminal. */
static bool play_left_on(struct str raw, const char *on, const char *off)
{
    bool is_on = false;

    for (size_t at = 0; at < raw.len; at++) {
        struct str rest = str_from(raw, at);

        if (rest.ptr[0] != '\033')
            continue;
        if (str_starts(rest, str_of(on)))
            is_on = true;
        else if (str_starts(rest, str_of(off)))
            is_on = false;
    }
    return is_on;
}

void play_check_end(struct play *p)
{
    CLEANUP(mem_freep) char *leak = planted_find(p->dir);
    struct str raw = glass_raw(p->glass);
    struct termios now;

    if (tcgetattr(p->slave, &now) < 0 || now.c_lflag != p->mode.c_lflag ||
        now.c_iflag != p->mode.c_iflag || now.c_oflag != p->mode.c_oflag)
        play_fail(p, "the mode of the terminal is not what it was");
    if (!glass_cursor(p->glass).visible)
        play_fail(p, "the cursor is hidden");
    if (glass_is_alternate(p->glass))
        play_fail(p, "the alternate screen was not left");
    if (play_left_on(raw, "\033[?2004h", "\033[?2004l") ||
        play_left_on(raw, "\033[?1004h", "\033[?1004l") ||
        play_left_on(raw, "\033[?7l", "\033[?7h") ||
        play_left_on(raw, "\033[?2026h", "\033[?2026l"))
        play_fail(p, "a mode was left on");
    if (planted_is_in(raw))
        play_fail(p, "a key that was planted was shown");
    if (leak)
        play_fail(p, "a key that was planted is in '%s'", leak);
}

void play_stop(struct play *p)
{
    if (p->pid > 0) {
        kill(p->pid, SIGKILL);
        waitpid(p->pid, NULL, 0);
        p->pid = 0;
    }
    close(p->master);
    close(p->slave);
    glass_free(p->glass);
    strv_release(&p->argv);
    strv_release(&p->env);
    (void)nftw(p->dir, play_remove, 16, FTW_DEPTH | FTW_PHYS);
    close(p->lock);
}
