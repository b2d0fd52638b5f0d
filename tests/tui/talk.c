/*
 * talk: a conversation from a script of events (src/tui/chat/chat_check.h), shown on a terminal as
 * tenax shows it, without tenax around.
 *
 *     talk SCRIPT [--plain]
 *
 * It says "ready" and waits for a key, by when the terminal has reported its background. Then it
 * plays the script; a line "show WORD" commits finished lines, draws what moves with the word below
 * it, and waits for a key. For golden screens (tests/data/talk.screen).
 */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "tui/chat/chat_check.h"
#include "tui/screen/keypress.h"
#include "tui/screen/screen.h"
#include "tui/screen/style.h"
#include "tui/screen/term.h"

#define MAX_FILE ((size_t)1 << 20)

struct talk {
    struct term *term;
    struct screen *screen;
    struct keyboard *keyboard;
    struct chat_check check;
};

/* True when a key was pressed; answers of the terminal are only learnt from. */
static bool talk_key(struct talk *t)
{
    struct keypress key;
    bool is_pressed = false;

    while (keyboard_next(t->keyboard, &key)) {
        if (key.code == KEY_TEXT)
            is_pressed = true;
        else
            term_learn(t->term, &key);
    }
    return is_pressed;
}

static void talk_wait(struct talk *t)
{
    struct err err;
    char bytes[4096];

    do {
        struct pollfd p = {.fd = term_fd(t->term), .events = POLLIN};
        long n;

        if (term_wants_write(t->term))
            p.events |= POLLOUT;
        if (poll(&p, 1, -1) < 0)
            return;
        term_flush(t->term);
        n = term_read(t->term, bytes, sizeof(bytes), &err);
        if (n < 0)
            return;
        keyboard_feed(t->keyboard, str_make(bytes, (size_t)n), clock_mono_ms());
    } while (!talk_key(t));
}

static void talk_show(struct talk *t, struct str word)
{
    CLEANUP(lines_release) struct lines region = LINES_INIT;
    size_t text_rows = 0;

    if (t->check.chat) {
        chat_check_take(&t->check);
        screen_commit(t->screen, &t->check.taken);
        lines_clear(&t->check.taken);
        chat_live(t->check.chat, &t->check.view, &region, &text_rows);
    }
    lines_put(&region, STYLE(ROLE_FAINT), word);
    lines_end(&region);
    screen_draw(t->screen, &region, (struct screen_cursor){0});
    talk_wait(t);
}

static void talk_play(struct talk *t, struct str script, bool plain)
{
    const struct term_able *able = term_able(t->term);
    struct chat_spec spec = {
        .dir = "/p",
        .ascii = !able->unicode,
        .plain = plain,
        .spells_links = !able->links,
        .verbose = str_starts(script, STR("verbose\n")),
    };
    struct str line;

    screen_theme(t->screen, theme_find(able->is_light ? STR("light") : STR("dark")));
    chat_check_init(&t->check, screen_cols(t->screen), screen_rows(t->screen) - 1);
    t->check.view.ascii = spec.ascii;
    t->check.view.plain = plain;
    chat_free(t->check.chat);
    t->check.chat = chat_new(&spec);
    while (script.len && str_cut(&script, '\n', &line)) {
        CLEANUP(buf_release) struct buf one = BUF_INIT(MAX_FILE);

        buf_add(&one, line);
        if (str_starts(line, STR("show ")))
            talk_show(t, str_from(line, 5));
        else if (!str_is(line, "verbose"))
            chat_check_play(&t->check, buf_cstr(&one));
    }
    chat_check_release(&t->check);
}

int main(int argc, char **argv)
{
    bool plain = argc > 2 && strcmp(argv[2], "--plain") == 0;
    struct term_spec spec = {
        .in = STDIN_FILENO, .out = STDOUT_FILENO, .environ = environ, .plain = plain};
    CLEANUP(buf_release) struct buf script = BUF_INIT(0);
    struct talk t = {0};
    struct err err;

    if (argc < 2 || file_slurp(argv[1], MAX_FILE, &script, &err) < 0 ||
        term_open(&spec, &t.term, &err) < 0) {
        fprintf(stderr, "talk: %s\n", argc < 2 ? "usage: talk SCRIPT [--plain]" : err.text);
        return 2;
    }
    t.screen = screen_new(t.term, theme_find(STR("dark")));
    t.keyboard = keyboard_new();
    screen_look(t.screen);
    talk_show(&t, STR("ready"));
    talk_play(&t, buf_str(&script), plain);
    screen_free(t.screen);
    term_close(t.term);
    keyboard_free(t.keyboard);
    return 0;
}
