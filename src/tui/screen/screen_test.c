/*
 * screen, paint and term on a real pty with libvterm at the other end: the visible screen, and the
 * bytes that libvterm ignores.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "glass.h"
#include "tui/screen/keypress.h"
#include "tui/screen/screen.h"
#include "tui/screen/term.h"
#include "tui/screen/width.h"
#include "unit.h"

#define END_MARK "\033]1337;end\033\\" /* sent after the awaited output */

static const char *const env_xterm[] = {"TERM=xterm-256color", "XTERM_VERSION=1",
                                        "COLORTERM=truecolor", "LANG=C.UTF-8", NULL};
static const char *const env_kitty[] = {"TERM=xterm-kitty", "LANG=C.UTF-8", NULL};
static const char *const env_tmux[] = {"TERM=tmux-256color", "TMUX=x", "LANG=C.UTF-8", NULL};
static const char *const env_dumb[] = {"TERM=dumb", "LANG=C.UTF-8", NULL};
static const char *const env_ascii[] = {"TERM=xterm", "LANG=C", NULL};
static const char *const env_latin[] = {"TERM=xterm", "LANG=de_DE.ISO-8859-1", NULL};
static const char *const env_no_color[] = {"TERM=xterm", "NO_COLOR=1", NULL};

struct rig {
    int master, slave;
    struct term *term;
    struct screen *screen;
    struct glass *glass;
    struct lines region, lines;
};

static void rig_size(struct rig *r, int cols, int rows)
{
    struct winsize w = {.ws_col = (unsigned short)cols, .ws_row = (unsigned short)rows};

    assert_int_equal(ioctl(r->slave, TIOCSWINSZ, &w), 0);
}

static void rig_pty(struct rig *r, int cols, int rows)
{
    r->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(r->master >= 0);
    assert_int_equal(grantpt(r->master), 0);
    assert_int_equal(unlockpt(r->master), 0);
    r->slave = open(ptsname(r->master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(r->slave >= 0);
    rig_size(r, cols, rows);
}

static void rig_open(struct rig *r, const char *const *env, bool plain, int cols, int rows)
{
    struct term_spec spec = {.environ = (char *const *)env, .plain = plain};
    struct err err;

    *r = (struct rig){.region = LINES_INIT, .lines = LINES_INIT};
    rig_pty(r, cols, rows);
    spec.in = spec.out = r->slave;
    assert_int_equal(term_open(&spec, &r->term, &err), 0);
    r->screen = screen_new(r->term, theme_find(STR("dark")));
    r->glass = glass_new(cols, rows);
}

/* Everything written so far reaches the glass. */
static void rig_read(struct rig *r)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT((size_t)64 << 20);
    struct pollfd p = {.fd = r->master, .events = POLLIN};
    char bytes[4096];

    while (term_wants_write(r->term)) {
        term_flush(r->term);
        while (poll(&p, 1, 0) > 0) {
            ssize_t n = read(r->master, bytes, sizeof(bytes));

            assert_true(n > 0);
            buf_add(&got, str_make(bytes, (size_t)n));
        }
    }
    assert_int_equal(write(r->slave, END_MARK, sizeof(END_MARK) - 1), sizeof(END_MARK) - 1);
    while (!str_ends(buf_str(&got), STR(END_MARK))) {
        ssize_t n;

        assert_int_equal(poll(&p, 1, 20000), 1);
        n = read(r->master, bytes, sizeof(bytes));
        assert_true(n > 0);
        buf_add(&got, str_make(bytes, (size_t)n));
    }
    glass_feed(r->glass, str_first(buf_str(&got), got.len - (sizeof(END_MARK) - 1)));
}

static void rig_close(struct rig *r)
{
    screen_free(r->screen);
    term_close(r->term);
    glass_free(r->glass);
    lines_release(&r->region);
    lines_release(&r->lines);
    close(r->master);
    close(r->slave);
}

static void rig_commit(struct rig *r, const char *text)
{
    lines_clear(&r->lines);
    lines_puts(&r->lines, ROLE_TEXT, text);
    lines_end(&r->lines);
    screen_commit(r->screen, &r->lines);
}

/* rows: parted by '|'. */
static void rig_draw_at(struct rig *r, const char *rows, struct screen_cursor cursor)
{
    struct str rest = str_of(rows);
    struct str row;

    lines_clear(&r->region);
    while (rest.len && str_cut(&rest, '|', &row)) {
        lines_put(&r->region, STYLE(ROLE_TEXT), row);
        lines_end(&r->region);
    }
    screen_draw(r->screen, &r->region, cursor);
    rig_read(r);
}

static void rig_draw(struct rig *r, const char *rows)
{
    rig_draw_at(r, rows, (struct screen_cursor){0});
}

static void rig_resize(struct rig *r, int cols, int rows)
{
    rig_size(r, cols, rows);
    glass_resize(r->glass, cols, rows);
    screen_look(r->screen);
}

#define rig_shows(r, text) rig_shows_at(r, text, __LINE__)
static void rig_shows_at(struct rig *r, const char *text, int line)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT((size_t)1 << 20);

    glass_text(r->glass, &got);
    if (!str_is(buf_str(&got), text))
        fail_msg("line %d: the screen shows\n%s", line, buf_cstr(&got));
}

/* Bytes of a frame. */
static size_t rig_cost(struct rig *r, const char *rows)
{
    uint64_t before = screen_counts(r->screen).bytes;

    rig_draw(r, rows);
    return (size_t)(screen_counts(r->screen).bytes - before);
}

static void frames(void **state)
{
    struct rig r;

    (void)state;
    rig_open(&r, env_xterm, false, 40, 10);
    rig_draw(&r, "spinner|> prompt|status");
    rig_shows(&r, "spinner\n> prompt\nstatus\n");
    assert_int_equal(rig_cost(&r, "spinner|> prompt|status"), 0);
    assert_in_range(rig_cost(&r, "spinner|> prompt with a longer text|status"), 1, 60);
    rig_shows(&r, "spinner\n> prompt with a longer text\nstatus\n");
    assert_in_range(rig_cost(&r, "spinner|> prompt with a longer text!|status"), 1, 40);
    rig_shows(&r, "spinner\n> prompt with a longer text!\nstatus\n");
    rig_draw(&r, "> p|status"); /* shorter and fewer */
    rig_shows(&r, "> p\nstatus\n");
    rig_draw(&r, "a|b|c|d|e|f|g|h|i|j|k|l"); /* more than fit: the last ones, one row less */
    rig_shows(&r, "d\ne\nf\ng\nh\ni\nj\nk\nl\n");
    rig_draw(&r, "");
    rig_shows(&r, "");
    rig_draw(&r, "a line that is far too long for this window, really");
    rig_shows(&r, "a line that is far too long for this w\u2026\n");
    assert_int_equal(screen_counts(r.screen).commits, 0);
    rig_close(&r);
}

/* Calls of write(2) by this thread so far; -1: the kernel does not count. */
static long writes_so_far(void)
{
    FILE *from = fopen("/proc/thread-self/io", "re");
    char line[100];
    long n = -1;

    while (from && fgets(line, sizeof(line), from))
        (void)sscanf(line, "syscw: %ld", &n);
    if (from)
        fclose(from);
    return n;
}

/* A terminal shows what it has got: half of a frame is seen when it comes in two pieces. */
static void one_write_each(void **state)
{
    struct rig r;

    (void)state;
    rig_open(&r, env_kitty, false, 80, 24);
    rig_draw(&r, "one|two|three");
    for (int i = 0; i < 50; i++) {
        char row[80];
        long before;

        snprintf(row, sizeof(row), "row %d", i);
        lines_clear(&r.region);
        lines_clear(&r.lines);
        for (int j = 0; j <= i % 20; j++) {
            lines_puts(&r.region, j % 2 ? ROLE_GOOD : ROLE_TEXT, row);
            lines_end(&r.region);
        }
        lines_puts(&r.lines, ROLE_TEXT, "said");
        lines_end(&r.lines);
        before = writes_so_far();
        if (i % 3 == 0)
            screen_commit(r.screen, &r.lines);
        screen_draw(r.screen, &r.region, (struct screen_cursor){.shown = true});
        if (before >= 0)
            assert_int_equal(writes_so_far() - before, 1);
        rig_read(&r);
    }
    rig_close(&r);
}

static void commits(void **state)
{
    CLEANUP(buf_release) struct buf past = BUF_INIT(1000);
    struct rig r;

    (void)state;
    rig_open(&r, env_xterm, false, 40, 6);
    rig_commit(&r, "one");
    rig_draw(&r, "two|> ");
    rig_shows(&r, "one\ntwo\n>\n");
    rig_close(&r);

    rig_open(&r, env_xterm, false, 40, 6);
    rig_draw(&r, "one|two|> x");
    rig_commit(&r, "one"); /* as they stood */
    rig_commit(&r, "two");
    assert_in_range(rig_cost(&r, "> x"), 1, 40);
    rig_shows(&r, "one\ntwo\n> x\n");
    for (int i = 0; i < 5; i++) {
        char text[20];

        snprintf(text, sizeof(text), "line %d", i);
        rig_commit(&r, text);
    }
    rig_draw(&r, "> x|status");
    rig_shows(&r, "line 1\nline 2\nline 3\nline 4\n> x\nstatus\n");
    glass_scrollback(r.glass, &past);
    assert_string_equal(buf_cstr(&past), "one\ntwo\nline 0\n");
    assert_int_equal(screen_committed(r.screen), 7);
    rig_draw(&r, "");
    rig_shows(&r, "line 1\nline 2\nline 3\nline 4\n");
    rig_commit(&r, "last");
    rig_draw(&r, "");
    rig_shows(&r, "line 1\nline 2\nline 3\nline 4\nlast\n");
    rig_close(&r);
}

static void the_cursor(void **state)
{
    CLEANUP(buf_release) struct buf looks = BUF_INIT(1000);
    struct screen_cursor busy = {.row = 1, .col = 2, .shown = true};
    struct screen_cursor calm = {.row = 1, .col = 3, .shown = true, .calm = true};
    struct rig r;

    (void)state;
    rig_open(&r, env_xterm, false, 40, 6);
    rig_draw_at(&r, "top|> abc", busy);
    glass_looks(r.glass, 1, &looks);
    assert_string_equal(buf_cstr(&looks), "2-2 reverse");
    assert_false(glass_cursor(r.glass).visible);
    assert_int_equal(glass_cursor(r.glass).row, 0); /* it waits at the top */
    busy.col = 7;                                   /* after the text */
    rig_draw_at(&r, "top|> abc", busy);
    buf_clear(&looks);
    glass_looks(r.glass, 1, &looks);
    assert_string_equal(buf_cstr(&looks), "7-7 reverse");
    rig_draw_at(&r, "top|> abc", calm);
    buf_clear(&looks);
    glass_looks(r.glass, 1, &looks);
    assert_string_equal(buf_cstr(&looks), "");
    assert_true(glass_cursor(r.glass).visible);
    assert_int_equal(glass_cursor(r.glass).row, 1);
    assert_int_equal(glass_cursor(r.glass).col, 3);
    rig_draw_at(&r, "new|top|> abc", calm); /* from where it stands */
    rig_shows(&r, "new\ntop\n> abc\n");
    rig_close(&r);
}

#define FORTY "forty cells of a row that tells of itself"
static void the_cursor_where_no_resize_hurts(void **state)
{
    struct screen_cursor calm = {.row = 1, .col = 3, .shown = true, .calm = true};
    struct rig r;

    (void)state;
    rig_open(&r, env_kitty, false, 100, 30);
    rig_draw_at(&r, FORTY "|> " FORTY "|" FORTY "|" FORTY, calm); /* 3 + 3 rows of 20 columns */
    assert_false(glass_cursor(r.glass).visible);
    assert_int_equal(glass_cursor(r.glass).row, 0);
    rig_draw_at(&r, "--|> " FORTY "|" FORTY "|" FORTY, calm); /* the rows below are dropped */
    assert_true(glass_cursor(r.glass).visible);
    assert_int_equal(glass_cursor(r.glass).row, 1);
    calm.row = 5; /* a low window has no sixth row */
    rig_draw_at(&r, "a|b|c|d|e|f", calm);
    assert_false(glass_cursor(r.glass).visible);
    rig_close(&r);

    rig_open(&r, env_xterm, false, 100, 30); /* breaks nothing */
    calm.row = 4;
    rig_draw_at(&r, FORTY "|" FORTY "|" FORTY "|" FORTY "|> ", calm);
    assert_true(glass_cursor(r.glass).visible);
    calm.row = 5;
    rig_draw_at(&r, "a|b|c|d|e|f", calm);
    assert_false(glass_cursor(r.glass).visible);
    rig_close(&r);
}

static void room_for_the_smallest_window(void **state)
{
    struct rig r;

    (void)state;
    rig_open(&r, env_kitty, false, 100, 30);
    assert_int_equal(screen_room(r.screen, 0, 3), 29);
    rig_close(&r);

    rig_open(&r, env_tmux, false, 100, 30);
    assert_int_equal(screen_room(r.screen, 0, 3), 3); /* at the top, as far as it knows */
    for (int i = 0; i < 4; i++)
        rig_commit(&r, "committed");
    assert_int_equal(screen_room(r.screen, 0, 3), 7);
    rig_draw(&r, FORTY "|> |status");
    assert_int_equal(screen_room(r.screen, 0, 3), 7);
    assert_int_equal(screen_room(r.screen, 1, 3), 6); /* the cursor waits above */
    rig_resize(&r, 20, 30);                           /* two more rows have pushed up two others */
    assert_int_equal(screen_room(r.screen, 0, 3), 5);
    rig_resize(&r, 20, 2);
    assert_int_equal(screen_room(r.screen, 0, 1), 2);
    rig_resize(&r, 100, 30);
    for (int i = 0; i < 40; i++)
        rig_commit(&r, "committed");
    assert_int_equal(screen_room(r.screen, 0, 3), 29); /* at the bottom */
    rig_close(&r);
}

/* tmux remembers how long a row was until all of it is erased. */
static void rows_that_get_short(void **state)
{
    struct rig r;

    (void)state;
    rig_open(&r, env_tmux, false, 100, 30);
    rig_draw(&r, "a row of some cells, all of them letters: " FORTY "|> ");
    rig_draw(&r, "a row of some cells|> ");
    assert_true(str_has(glass_raw(r.glass), STR("\r\033[Ka row of some cells")));
    rig_shows(&r, "a row of some cells\n>\n");
    rig_close(&r);
}

static void resizes(void **state)
{
    struct rig r;

    (void)state;
    rig_open(&r, env_xterm, false, 60, 10);
    rig_commit(&r, "committed");
    rig_draw(&r, "a row that is forty cells wide, or nearly|> prompt|status");
    rig_resize(&r, 30, 10);
    rig_draw(&r, "short now|> prompt|status");
    rig_shows(&r, "committed\nshort now\n> prompt\nstatus\n");
    rig_resize(&r, 30, 4); /* the glass drops rows below its cursor */
    rig_draw(&r, "> prompt|status");
    rig_shows(&r, "committed\n> prompt\nstatus\n");
    rig_resize(&r, 100, 20);
    rig_draw(&r, "wide|> prompt|status");
    rig_shows(&r, "committed\nwide\n> prompt\nstatus\n");
    assert_int_equal(screen_cols(r.screen), 99);
    assert_int_equal(screen_rows(r.screen), 19);
    assert_int_equal(screen_lost(r.screen), 0);
    rig_close(&r);
}

static void settled_rows_belong_to_the_scrollback(void **state)
{
    struct rig r;
    size_t before;

    (void)state;
    rig_open(&r, env_xterm, false, 60, 10);
    screen_settled(r.screen, 3);
    rig_draw(&r, "text one|text two|text thr|> prompt");
    assert_int_equal(glass_cursor(r.glass).row, 2);
    rig_resize(&r, 40, 8);
    assert_int_equal(screen_lost(r.screen), 3);
    assert_int_equal(screen_lost(r.screen), 0);
    screen_settled(r.screen, 1);
    rig_draw(&r, "ee|> prompt");
    rig_shows(&r, "text one\ntext two\ntext thr\nee\n> prompt\n");
    rig_commit(&r, "ee");
    rig_draw(&r, "> prompt");
    rig_shows(&r, "text one\ntext two\ntext thr\nee\n> prompt\n");
    /* It grows where the cursor waits: no movement at all. */
    screen_settled(r.screen, 1);
    rig_draw(&r, "a word|> prompt");
    before = glass_raw(r.glass).len;
    screen_settled(r.screen, 1);
    rig_draw(&r, "a word and more|> prompt");
    assert_true(
        str_starts(str_from(glass_raw(r.glass), before), STR("\033[J\033[?7h and more\033[?7l")));
    rig_shows(&r, "text one\ntext two\ntext thr\nee\na word and more\n> prompt\n");
    screen_settled(r.screen, 2);
    rig_draw(&r, "a word and more|next|> prompt");
    rig_shows(&r, "text one\ntext two\ntext thr\nee\na word and more\nnext\n> prompt\n");
    screen_settled(r.screen, 2);
    rig_draw(&r, "another word|next|> prompt"); /* it was Markdown after all */
    rig_shows(&r, "text one\ntext two\ntext thr\nee\nanother word\nnext\n> prompt\n");
    rig_close(&r);
}

/* A line for a wider window than the current one is broken by the terminal, not cut. */
static void late_commits(void **state)
{
    struct rig r;

    (void)state;
    rig_open(&r, env_xterm, false, 40, 10);
    rig_draw(&r, "spinner|> prompt|status");
    rig_commit(&r, "0123456789 0123456789 0123456");
    rig_resize(&r, 20, 10);
    rig_commit(&r, "next");
    rig_draw(&r, "spinner|> prompt|status");
    rig_shows(&r, "0123456789 012345678\n9 0123456\nnext\nspinner\n> prompt\nstatus\n");
    rig_close(&r);
}

static void the_whole_window(void **state)
{
    struct rig r;

    (void)state;
    rig_open(&r, env_xterm, false, 40, 6);
    rig_commit(&r, "one");
    rig_draw(&r, "> prompt|status");
    screen_full(r.screen, true);
    assert_int_equal(screen_rows(r.screen), 6);
    rig_draw(&r, "a|b|c|d|e|f");
    assert_true(glass_is_alternate(r.glass));
    rig_shows(&r, "a\nb\nc\nd\ne\nf\n");
    rig_commit(&r, "two"); /* waits */
    rig_draw(&r, "a|B");
    rig_shows(&r, "a\nB\n");
    screen_full(r.screen, false);
    rig_draw(&r, "> prompt|status");
    assert_false(glass_is_alternate(r.glass));
    rig_shows(&r, "one\ntwo\n> prompt\nstatus\n");
    screen_full(r.screen, true);
    rig_draw(&r, "a|B");
    rig_resize(&r, 30, 5);
    rig_draw(&r, "c");
    rig_shows(&r, "c\n");
    screen_full(r.screen, false);
    rig_draw(&r, "> prompt");
    rig_shows(&r, "one\ntwo\n> prompt\n");
    rig_close(&r);
}

static void given_away(void **state)
{
    struct termios before;
    struct termios now;
    struct err err;
    struct rig r;

    (void)state;
    rig_open(&r, env_xterm, false, 40, 8);
    rig_commit(&r, "one");
    rig_draw(&r, "a|> prompt|status");
    assert_int_equal(tcgetattr(r.slave, &before), 0);
    assert_false(before.c_lflag & ICANON);
    screen_pause(r.screen);
    rig_commit(&r, "two");
    rig_draw(&r, "nothing of this");
    rig_shows(&r, "one\n");
    assert_true(glass_cursor(r.glass).visible);
    term_leave(r.term);
    assert_int_equal(tcgetattr(r.slave, &now), 0);
    assert_true(now.c_lflag & ICANON);
    rig_read(&r);
    glass_feed(r.glass, STR("$ fg\r\n"));
    assert_int_equal(term_enter(r.term, &err), 0);
    screen_resume(r.screen);
    rig_draw(&r, "a|> prompt|status");
    rig_shows(&r, "one\n$ fg\ntwo\na\n> prompt\nstatus\n");
    screen_free(r.screen);
    r.screen = NULL;
    rig_read(&r);
    rig_shows(&r, "one\n$ fg\ntwo\n");
    rig_close(&r);
}

static bool rig_wrote(const struct rig *r, const char *bytes)
{
    return str_has(glass_raw(r->glass), str_of(bytes));
}

static void bytes_nobody_sees(void **state)
{
    struct style link = STYLE(ROLE_LINK);
    struct keypress mode = {.code = KEY_REPLY, .reply = REPLY_MODE, .args = {2026, 2}};
    struct rig r;

    (void)state;
    rig_open(&r, env_kitty, false, 40, 8);
    rig_draw(&r, "a|b");
    assert_true(rig_wrote(&r, "\033[?2004h\033[?1004h\033[>1u"));
    assert_true(rig_wrote(&r, "\033[?2026$p\033[?u\033]11;?\033\\\033[c"));
    assert_true(rig_wrote(&r, "\033[?2026h"));
    assert_true(str_ends(glass_raw(r.glass), STR("\033[?2026l")));
    lines_clear(&r.region);
    link.link = lines_link(&r.region, STR("https://example.org"));
    lines_put(&r.region, link, STR("here"));
    lines_end(&r.region);
    screen_draw(r.screen, &r.region, (struct screen_cursor){0});
    term_title(r.term, STR("title\033]0;evil\a"));
    assert_true(term_copy(r.term, STR("text")));
    term_notify(r.term, /*is_chosen=*/false, STR("done"), STR("all\nof it"));
    rig_read(&r);
    assert_true(rig_wrote(&r, "\033]8;;https://example.org\033\\"));
    assert_true(rig_wrote(&r, "here\033]8;;\033\\"));
    assert_true(rig_wrote(&r, "\033[22;0t\033]0;title]0;evil\033\\"));
    assert_true(rig_wrote(&r, "\033]52;c;dGV4dA==\033\\"));
    assert_true(rig_wrote(&r, "\033]9;done: all of it\033\\\a"));
    term_leave(r.term);
    rig_read(&r);
    assert_true(rig_wrote(&r, "\033[<u"));
    assert_true(rig_wrote(&r, "\033[23;0t\033[?1004l\033[?2004l\033[?7h\033[?25h\033[m"));
    rig_close(&r);

    rig_open(&r, env_xterm, false, 40, 8);
    rig_draw(&r, "a|b");
    assert_false(rig_wrote(&r, "\033[?2026h"));
    assert_true(term_learn(r.term, &mode)); /* it said that it can */
    assert_false(term_learn(r.term, &mode));
    rig_draw(&r, "c|d");
    assert_true(rig_wrote(&r, "\033[?2026h"));
    rig_close(&r);
}

static void what_it_says(void **state)
{
    struct keypress background = {
        .code = KEY_REPLY, .reply = REPLY_BACKGROUND, .text = STR("rgb:ffff/fafa/f0f0")};
    struct keypress kitty = {.code = KEY_REPLY, .reply = REPLY_KITTY};
    struct keypress away = {.code = KEY_FOCUS_OUT};
    const struct term_able *able;
    struct rig r;

    (void)state;
    rig_open(&r, env_xterm, false, 40, 8);
    able = term_able(r.term);
    assert_true(able->focused && !able->tells_focus && !able->knows_background);
    assert_true(term_learn(r.term, &background));
    assert_true(able->knows_background && able->is_light);
    background.text = STR("rgb:1e/1e/2e");
    assert_true(term_learn(r.term, &background));
    assert_false(able->is_light);
    background.text = STR("rgb:zz/1e/2e");
    assert_false(term_learn(r.term, &background));
    assert_true(term_learn(r.term, &kitty));
    assert_true(able->kitty_keys);
    assert_true(term_learn(r.term, &away));
    assert_true(!able->focused && able->tells_focus);
    rig_close(&r);
}

static void plain(void **state)
{
    struct rig r;

    (void)state;
    for (int dumb = 0; dumb < 2; dumb++) {
        rig_open(&r, dumb ? env_dumb : env_xterm, !dumb, 40, 8);
        rig_commit(&r, "one");
        rig_draw(&r, "spinner|> ab");
        rig_draw(&r, "spinner 2|> abc");
        rig_draw(&r, "spinner|> a");
        rig_commit(&r, "two");
        rig_draw(&r, "> x");
        rig_shows(&r, "one\ntwo\n> x\n");
        term_title(r.term, STR("t"));
        screen_full(r.screen, true);
        rig_read(&r);
        assert_false(screen_is_full(r.screen));
        assert_int_equal(str_chr(glass_raw(r.glass), '\033'), glass_raw(r.glass).len);
        assert_true(str_starts(glass_raw(r.glass), STR("one\r\r\n> abc\b \b\b \b")));
        rig_close(&r);
    }
}

static void few_letters(void **state)
{
    struct rig r;

    (void)state;
    rig_open(&r, env_ascii, false, 40, 8);
    rig_draw(&r, "\u256d\u2500\u2500|\u276f caf\u00e9 \u4e2d\u6587 \u2026");
    rig_shows(&r, "+--\n> caf\u00e9 \u4e2d\u6587 \u2026\n"); /* people's words stay */
    rig_close(&r);

    rig_open(&r, env_latin, false, 40, 8);
    rig_draw(&r, "\u256d\u2500\u2500|\u276f caf\u00e9 \u4e2d\u6587 \u2026");
    rig_shows(&r, "+--\n> caf? ???? .\n");
    rig_close(&r);

    rig_open(&r, env_no_color, false, 40, 8);
    lines_puts(&r.region, ROLE_GOOD, "good ");
    lines_puts(&r.region, ROLE_HEADING, "heading");
    lines_end(&r.region);
    screen_draw(r.screen, &r.region, (struct screen_cursor){0});
    rig_read(&r);
    assert_true(rig_wrote(&r, "good \033[1mheading\033[m"));
    rig_close(&r);
}

/* Where terminals disagree about a width, what follows still stands in its column. */
static void said_columns(void **state)
{
    struct rig r;

    (void)state;
    rig_open(&r, env_xterm, false, 40, 8);
    rig_draw(&r, "\U0001F468\u200d\U0001F469\u200d\U0001F467 x|\u4e2d y");
    assert_true(rig_wrote(&r, "\U0001F467\033[3G x"));
    assert_true(rig_wrote(&r, "\u4e2d y"));
    rig_close(&r);
}

/* Output is not read: drawing does not wait, and frames are left out until it is read again. */
static void a_slow_terminal(void **state)
{
    struct rig r;
    char text[64];
    size_t frames_before;

    (void)state;
    rig_open(&r, env_xterm, false, 80, 8);
    for (int i = 0; i < 2000; i++) {
        snprintf(text, sizeof(text), "a line of some length, number %d", i);
        rig_commit(&r, text);
    }
    lines_puts(&r.region, ROLE_TEXT, "> prompt");
    lines_end(&r.region);
    screen_draw(r.screen, &r.region, (struct screen_cursor){0});
    assert_true(term_wants_write(r.term));
    frames_before = screen_counts(r.screen).frames;
    rig_commit(&r, "the very last");
    for (int i = 0; i < 100; i++)
        screen_draw(r.screen, &r.region, (struct screen_cursor){0});
    assert_int_equal(screen_counts(r.screen).frames, frames_before);
    rig_read(&r);
    assert_false(term_wants_write(r.term));
    screen_draw(r.screen, &r.region, (struct screen_cursor){0});
    rig_read(&r);
    rig_shows(&r, "a line of some length, number 1994\na line of some length, number 1995\n"
                  "a line of some length, number 1996\na line of some length, number 1997\n"
                  "a line of some length, number 1998\na line of some length, number 1999\n"
                  "the very last\n> prompt\n");
    rig_close(&r);
}

/* A child that takes the terminal and ends as told: the mode is back, and so are cursor and paste.
 */
static void ends_badly(void **state)
{
    static const int ways[] = {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE, 0, -1};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        CLEANUP(buf_release) struct buf got = BUF_INIT(10000);
        struct termios before;
        struct termios after;
        struct rig r;
        char bytes[4096];
        ssize_t n;
        int status;
        pid_t pid;

        rig_open(&r, env_kitty, false, 40, 8);
        term_leave(r.term);
        assert_int_equal(tcgetattr(r.slave, &before), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            struct sigaction normal = {.sa_handler = SIG_DFL};
            struct err err;

            sigaction(SIGSEGV, &normal, NULL); /* cmocka's */
            for (size_t k = 0; k < ARRAY_LEN(ways); k++) {
                if (ways[k] > 0)
                    sigaction(ways[k], &normal, NULL);
            }
            if (term_enter(r.term, &err) < 0)
                _exit(90);
            lines_puts(&r.region, ROLE_TEXT, "> prompt");
            lines_end(&r.region);
            screen_full(r.screen, ways[i] == SIGBUS);
            screen_draw(r.screen, &r.region, (struct screen_cursor){0});
            if (ways[i] > 0)
                raise(ways[i]);
            if (ways[i] == 0)
                exit(3);
            term_close(r.term);
            _exit(3);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (ways[i] > 0 && (!WIFSIGNALED(status) || WTERMSIG(status) != ways[i]))
            fail_msg("row %zu: status %x", i, status);
        if (ways[i] <= 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 3))
            fail_msg("row %zu: status %x", i, status);
        assert_int_equal(tcgetattr(r.slave, &after), 0);
        if (before.c_lflag != after.c_lflag || before.c_iflag != after.c_iflag)
            fail_msg("row %zu: the mode is another one", i);
        assert_int_equal(write(r.slave, END_MARK, sizeof(END_MARK) - 1), sizeof(END_MARK) - 1);
        while (!str_ends(buf_str(&got), STR(END_MARK))) {
            n = read(r.master, bytes, sizeof(bytes));
            assert_true(n > 0);
            buf_add(&got, str_make(bytes, (size_t)n));
        }
        if (!str_has(buf_str(&got), STR("\033[?1004l\033[?2004l\033[?7h\033[?25h\033[m")) ||
            !str_has(buf_str(&got), STR("\033[<u")))
            fail_msg("row %zu: not given back", i);
        if (str_has(buf_str(&got), STR("\033[?1049l")) != (ways[i] == SIGBUS))
            fail_msg("row %zu: the alternate screen", i);
        rig_close(&r);
    }
}

static void keys_typed_before(void **state)
{
    struct rig r;
    struct term_spec spec = {.environ = (char *const *)env_xterm};
    char bytes[64];
    struct err err;
    struct pollfd p;

    (void)state;
    r = (struct rig){0};
    rig_pty(&r, 40, 8);
    assert_int_equal(write(r.master, "early", 5), 5);
    spec.in = spec.out = r.slave;
    assert_int_equal(term_open(&spec, &r.term, &err), 0);
    p = (struct pollfd){.fd = term_fd(r.term), .events = POLLIN};
    assert_int_equal(poll(&p, 1, 20000), 1);
    assert_int_equal(term_read(r.term, bytes, sizeof(bytes), &err), 5);
    assert_memory_equal(bytes, "early", 5);
    assert_int_equal(term_read(r.term, bytes, sizeof(bytes), &err), 0);
    assert_int_equal(fcntl(r.slave, F_GETFL) & O_NONBLOCK, 0); /* the shell's own is as it was */
    close(r.master);
    assert_int_equal(term_read(r.term, bytes, sizeof(bytes), &err), -1); /* gone */
    term_close(r.term);
    close(r.slave);
}

/* --- Anything --- */

static uint32_t random_state;

static unsigned random_below(unsigned n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

static void random_row(struct lines *ls, const char *kind, unsigned number, int cols)
{
    static const char *const words[] = {"alpha",     "be", "\u4e2d\u6587", "x",
                                        "caf\u00e9", "-",  "0123"};

    lines_putf(ls, STYLE((uint8_t)random_below(ROLE_COUNT)), "%s%u", kind, number);
    while (random_below(6) && lines_column(ls) < cols - 8) {
        lines_puts(ls, ROLE_TEXT, " ");
        lines_puts(ls, (enum style_role)random_below(ROLE_COUNT),
                   words[random_below(ARRAY_LEN(words))]);
    }
    lines_end(ls);
}

/* Frames, commits, resizes and all else at random: committed lines stand once and in order, and
 * below them the requested region. */
static void anything(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 12; seed++) {
        CLEANUP(lines_release) struct lines all = LINES_INIT;
        struct rig r;
        unsigned number = 0;
        int rows = 12;

        random_state = seed;
        rig_open(&r, env_xterm, false, 60, rows);
        for (int round = 0; round < 150; round++) {
            CLEANUP(buf_release) struct buf got = BUF_INIT((size_t)4 << 20);
            CLEANUP(buf_release) struct buf want = BUF_INIT((size_t)4 << 20);
            struct screen_cursor cursor = {.row = random_below(4), .col = (int)random_below(30)};
            unsigned count = random_below(6);
            struct str had;

            cursor.shown = random_below(2);
            cursor.calm = random_below(2);
            if (!random_below(5)) {
                rows = 5 + (int)random_below(20);
                rig_resize(&r, 20 + (int)random_below(100), rows);
            }
            lines_clear(&r.lines);
            for (unsigned i = 0; i < count; i++)
                random_row(&r.lines, "c", number++, screen_cols(r.screen));
            screen_commit(r.screen, &r.lines);
            lines_add_all(&all, &r.lines);
            lines_clear(&r.region);
            count = random_below((unsigned)screen_rows(r.screen));
            for (unsigned i = 0; i < count; i++)
                random_row(&r.region, "r", random_below(9), screen_cols(r.screen));
            if (cursor.row >= count)
                cursor.shown = false;
            screen_draw(r.screen, &r.region, cursor);
            rig_read(&r);

            glass_scrollback(r.glass, &got);
            glass_text(r.glass, &got);
            lines_text(&all, &want);
            lines_text(&r.region, &want);
            /* A window that was cut before shows less of a row; its number is always seen. */
            had = buf_str(&got);
            for (struct str rest = buf_str(&want), a, b; str_cut(&rest, '\n', &a);) {
                a = str_first(a, str_chr(a, ' '));
                if (!str_cut(&had, '\n', &b) || !str_eq(a, str_first(b, str_chr(b, ' '))))
                    fail_msg("seed %u, round %d: '%.*s', not '%.*s':\n%s", seed, round, STR_ARG(b),
                             STR_ARG(a), buf_cstr(&got));
            }
            if (str_trim(had).len)
                fail_msg("seed %u, round %d: more is shown:\n%s", seed, round, buf_cstr(&got));
        }
        rig_close(&r);
    }
}

UNIT_TEST(screen)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames),
        cmocka_unit_test(one_write_each),
        cmocka_unit_test(commits),
        cmocka_unit_test(the_cursor),
        cmocka_unit_test(the_cursor_where_no_resize_hurts),
        cmocka_unit_test(room_for_the_smallest_window),
        cmocka_unit_test(rows_that_get_short),
        cmocka_unit_test(resizes),
        cmocka_unit_test(settled_rows_belong_to_the_scrollback),
        cmocka_unit_test(late_commits),
        cmocka_unit_test(the_whole_window),
        cmocka_unit_test(given_away),
        cmocka_unit_test(bytes_nobody_sees),
        cmocka_unit_test(what_it_says),
        cmocka_unit_test(plain),
        cmocka_unit_test(few_letters),
        cmocka_unit_test(said_columns),
        cmocka_unit_test(a_slow_terminal),
        cmocka_unit_test(ends_badly),
        cmocka_unit_test(keys_typed_before),
        cmocka_unit_test(anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
