/*
 * replay: drives the screen as the app does, for the requested time, and records the committed
 * lines.
 *
 *     replay FILE SEED LINES
 *
 * An answer grows row by row in the live region above a spinner, a prompt and a status line; rows
 * of it are committed a few at a time. It goes on until so many lines are committed and a "q" has
 * been typed; then FILE has them, one a line.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "tui/screen/line.h"
#include "tui/screen/screen.h"
#include "tui/screen/term.h"

extern char **environ;

#define REPLAY_FRAME_MS 5
#define REPLAY_MAX_LIVE 12

struct replay {
    struct term *term;
    struct screen *screen;
    uint32_t random;
    unsigned number;  /* of the next row */
    struct strv live; /* rows of the answer that are not committed */
    struct buf truth;
    size_t committed, wanted;
    unsigned frame;
    bool is_told;
};

static unsigned replay_below(struct replay *r, unsigned n)
{
    r->random = r->random * 1664525u + 1013904223u;
    return (r->random >> 8) % n;
}

/* "L00042 xxxxx.": at most as wide as the window. */
static void replay_add_row(struct replay *r)
{
    CLEANUP(buf_release) struct buf row = BUF_INIT(4096);
    int cols = screen_cols(r->screen);
    int width = 8 + (int)replay_below(r, (unsigned)(cols > 9 ? cols - 8 : 1));

    buf_addf(&row, "L%05u ", r->number++);
    while ((int)row.len < width - 1 && (int)row.len < cols - 1)
        buf_addc(&row, (char)('a' + (r->number + row.len) % 26));
    buf_addc(&row, '.');
    strv_add(&r->live, buf_str(&row));
}

static void replay_drop(struct replay *r, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_addf(&r->truth, "%s\n", r->live.ptr[i]);
        mem_freep(&r->live.ptr[i]);
    }
    r->live.len -= count;
    memmove(r->live.ptr, r->live.ptr + count, r->live.len * sizeof(*r->live.ptr));
    r->live.ptr[r->live.len] = NULL;
    r->committed += count;
}

static void replay_commit(struct replay *r, size_t count)
{
    struct lines ls = LINES_INIT;

    for (size_t i = 0; i < count; i++) {
        lines_puts(&ls, ROLE_TEXT, r->live.ptr[i]);
        lines_end(&ls);
    }
    screen_commit(r->screen, &ls);
    lines_release(&ls);
    replay_drop(r, count);
}

/* Uncommitted lines are wrapped anew, as an answer would be: rows of other widths. */
static void replay_resized(struct replay *r)
{
    size_t lost = screen_lost(r->screen);
    size_t again;

    if (lost > r->live.len)
        lost = r->live.len;
    replay_drop(r, lost);
    again = r->live.len;
    r->number -= (unsigned)again;
    strv_clear(&r->live);
    for (size_t i = 0; i < again; i++)
        replay_add_row(r);
}

static void replay_draw(struct replay *r, struct lines *region)
{
    struct screen_cursor cursor = {.shown = true, .col = 2 + (int)(r->frame / 4 % 12)};
    size_t rows = (size_t)screen_rows(r->screen);
    size_t text = r->live.len;
    size_t chrome = rows > 6 && r->frame / 50 % 2 ? 3 : 2;

    if (text + chrome > rows)
        text = rows > chrome ? rows - chrome : 0;
    lines_clear(region);
    for (size_t i = 0; i < text; i++) {
        lines_puts(region, ROLE_TEXT, r->live.ptr[i]);
        lines_end(region);
    }
    lines_putf(region, STYLE(ROLE_ACCENT), "LIVE spin %u", r->frame % 10);
    lines_end(region);
    cursor.row = lines_count(region);
    lines_putf(region, STYLE(ROLE_TEXT), "LIVE> %.*s", (int)(r->frame / 4 % 12), "typed by hand");
    lines_end(region);
    if (chrome == 3) {
        lines_puts(region, ROLE_FAINT, "LIVE model");
        lines_end(region);
    }
    screen_settled(r->screen, text);
    screen_draw(r->screen, region, cursor);
}

static void replay_input(struct replay *r)
{
    struct pollfd p = {.fd = term_fd(r->term), .events = POLLIN};
    char bytes[1000];
    struct err err;

    if (term_wants_write(r->term))
        p.events |= POLLOUT;
    if (poll(&p, 1, REPLAY_FRAME_MS) <= 0)
        return;
    if (p.revents & POLLOUT)
        term_flush(r->term);
    if (p.revents & ~POLLOUT) {
        long n = term_read(r->term, bytes, sizeof(bytes), &err);

        if (n < 0)
            exit(1);
        r->is_told = r->is_told || (n > 0 && memchr(bytes, 'q', (size_t)n));
    }
}

static void replay_run(struct replay *r)
{
    struct lines region = LINES_INIT;

    while (!r->is_told || r->committed < r->wanted) {
        replay_input(r);
        if (screen_look(r->screen))
            replay_resized(r);
        if (term_wants_write(r->term) || screen_due(r->screen) >= 0)
            continue;
        r->frame++;
        if (r->live.len < REPLAY_MAX_LIVE && replay_below(r, 3) == 0)
            replay_add_row(r);
        if (r->live.len > (size_t)screen_rows(r->screen) / 2 || replay_below(r, 12) == 0)
            replay_commit(r, replay_below(r, (unsigned)r->live.len + 1));
        replay_draw(r, &region);
    }
    while (screen_due(r->screen) >= 0) /* it ends as it goes on */
        replay_input(r);
    replay_commit(r, r->live.len);
    lines_clear(&region);
    screen_draw(r->screen, &region, (struct screen_cursor){0});
    lines_release(&region);
}

int main(int argc, char **argv)
{
    struct replay r = {.truth = BUF_INIT((size_t)64 << 20)};
    struct term_spec spec = {.in = STDIN_FILENO, .out = STDOUT_FILENO, .environ = environ};
    struct err err = {0};
    int64_t n = 0;

    if (argc != 4 || str_to_i64(str_of(argv[2]), &n, &err) < 0)
        return 2;
    r.random = (uint32_t)n;
    if (str_to_i64(str_of(argv[3]), &n, &err) < 0)
        return 2;
    r.wanted = (size_t)n;
    strv_adds(&r.live, "");
    strv_clear(&r.live);
    if (term_open(&spec, &r.term, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    r.screen = screen_new(r.term, theme_find(STR("dark")));
    replay_run(&r);
    screen_free(r.screen);
    term_close(r.term);
    if (file_replace(argv[1], buf_str(&r.truth), 0600, &err) < 0)
        return 1;
    buf_release(&r.truth);
    strv_release(&r.live);
    return 0;
}
