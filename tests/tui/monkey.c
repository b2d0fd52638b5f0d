/*
 * Any input, during any output: tenax neither crashes nor leaves the terminal in a bad state.
 *
 * Keys, sequences, pastes and new sizes at random go into real windows while a scripted model says
 * all kinds of things and calls tools. A window that was left (two Ctrl-C, /exit) must have ended
 * with 0 and given its terminal back; then the next one is opened. No "!" is ever typed: nothing
 * that a monkey writes is run by a shell.
 *
 *     monkey BUILD STEPS [SEED]
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"
#include "window.h"

#define PER_READ 20 /* steps between two looks at what came */
#define FRAME_MS 20

static uint64_t state;

static unsigned dice(unsigned n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 11) % n;
}

#define PICK(list) ((list)[dice(ARRAY_LEN(list))])

/* ---- what the model says ---- */

static void add_words(struct buf *to)
{
    static const char *const words[] = {
        "word ",        "**bold** ",
        "`code` ",      "世界 ",
        "e\u0301 ",     "👩‍👩‍👧 ",
        "[a](b) ",      "*x ",
        "| a | b |",    "supercalifragilisticexpialidocious_and_more ",
        "\u202e ",      "\t",
        "http://a.b/ ", "<b>html</b> ",
        "~~gone~~ ",    "1. ",
    };

    for (unsigned n = 1 + dice(40); n; n--)
        buf_adds(to, PICK(words));
}

static void add_text(struct buf *to)
{
    static const char *const starts[] = {"",     "# ",  "- ",        "1. ",       "> ",
                                         "```c", "```", "| a | b |", "|---|---|", "    "};

    buf_adds(to, "  text <<END\n");
    for (unsigned n = 1 + dice(12); n; n--) {
        buf_adds(to, "    ");
        buf_adds(to, PICK(starts));
        add_words(to);
        buf_adds(to, dice(4) ? "\n" : "\n\n");
    }
    buf_adds(to, "    END\n");
}

static void add_step(struct buf *to)
{
    static const char *const calls[] = {
        "Bash {\"command\": \"true\"}",
        "Bash {\"command\": \"seq 1 200\"}",
        "Read {\"file_path\": \"README\"}",
        "Read {\"file_path\": \"missing\"}",
        "Write {\"file_path\": \"a.c\", \"content\": \"int a;\\nint b;\\n\"}",
        "Edit {\"file_path\": \"README\", \"old_string\": \"folder\", \"new_string\": \"place\"}",
        "Nonsense {}",
        "Bash {broken",
        ("AskUserQuestion {\"questions\": [{\"question\": \"Which?\", \"header\": \"H\", "
         "\"multiSelect\": false, \"options\": [{\"label\": \"a\", \"description\": \"b\"}, "
         "{\"label\": \"c\", \"description\": \"d\"}]}]}"),
        ("TodoWrite {\"todos\": [{\"content\": \"x\", \"status\": \"pending\", \"activeForm\": "
         "\"y\"}]}"),
    };

    buf_adds(to, "step\n");
    if (!dice(3))
        buf_adds(to, "  think Some thought about it.\n");
    if (!dice(6))
        buf_addf(to, "  pace %ums\n", dice(20));
    add_text(to);
    for (unsigned n = dice(3); n; n--)
        buf_addf(to, "  call %s\n", PICK(calls));
}

static void add_scenario(struct buf *to)
{
    for (int i = 0; i < 100; i++)
        add_step(to);
    buf_adds(to, "step\n  sticky\n  text And so on.\n");
}

/* ---- the input ---- */

static void add_key(struct buf *to)
{
    static const char *const keys[] = {
        "\r",
        "\r",
        "\r",
        "\x1b",
        "\x1b[A",
        "\x1b[B",
        "\x1b[C",
        "\x1b[D",
        "\x1b[Z",
        "\t",
        "\x7f",
        "\x01",
        "\x05",
        "\x0b",
        "\x15",
        "\x17",
        "\x19",
        "\x1b"
        "y",
        "\x1b"
        "b",
        "\x1b"
        "f",
        "\x1b\x7f",
        "\x1f",
        "\x12",
        "\x0f",
        "\x0c",
        "\x14",
        "\x1b[5~",
        "\x1b[6~",
        "\x1b[H",
        "\x1b[F",
        "\x1b[3~",
        "\x1b[1;5C",
        "\x1b[1;5D",
        "\x1b[27;2;13~",
        "\x1b[13;2u",
        "\x1b[97;5u",
        "\x1b[I",
        "\x1b[O",
        "\x1b\r",
        "\\\r",
        "q",
        "1",
        "2",
        "y",
        "n",
        "/",
        "@",
        "#",
        "\x1b[?62;c",
        "\x1b]11;rgb:ffff/ffff/ffff\x1b\\",
        "\x1b[200~pasted\ntext\x1b[201~",
        "\x1bOP",
        "\x1b[?2026;2$y",
        "\xff",
        "\xc3",
        "世",
        "👩‍👩‍👧",
    };
    static const char *const commands[] = {
        "/help\r",   "/clear\r",   "/status\r", "/model\r",       "/effort\r",
        "/resume\r", "/context\r", "/rewind\r", "/theme\r",       "/vim\r",
        "/goal\r",   "/cost\r",    "/branch\r", "/config\r",      "hello\r",
        "go on\r",   "@READ\t\r",  "/todos\r",  "/permissions\r", "/unknown\r",
    };

    if (dice(200) == 0) {
        buf_adds(to, "\x03");
    } else if (dice(12) == 0) {
        buf_adds(to, PICK(commands));
    } else if (dice(3) == 0) {
        buf_adds(to, PICK(keys));
    } else {
        char c = (char)('"' + dice('~' - '"')); /* no "!" */

        buf_addc(to, c);
    }
}

/* ---- windows ---- */

static const char *build;
static int windows;

/* 130: Ctrl-C was pressed once more while it was ending, after the terminal was restored. */
static bool ended_well(int code)
{
    return code == 0 || code == 128 + SIGINT;
}

static void check_left(struct window *w, uint64_t seed)
{
    struct termios t;
    int code = window_end(w);

    if (!ended_well(code) || tcgetattr(w->fd, &t) < 0 || !(t.c_lflag & ICANON)) {
        fprintf(stderr, "seed %llu, window %d: it ended with %d\n%s\n", (unsigned long long)seed,
                windows, code, window_screen(w));
        exit(1);
    }
    window_close(w);
}

static void open_next(struct window *w)
{
    static const char *const env[] = {"EDITOR=true", NULL};
    CLEANUP(buf_release) struct buf scenario = BUF_INIT(BUF_NO_LIMIT);
    struct window_spec spec = {.build = build, .env = env};

    add_scenario(&scenario);
    spec.scenario = buf_cstr(&scenario);
    window_open(w, &spec);
    window_until(w, "say what to do");
    windows++;
}

int main(int argc, char **argv)
{
    CLEANUP(buf_release) struct buf keys = BUF_INIT(BUF_NO_LIMIT);
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    long steps = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    struct window w;
    int code;

    if (steps <= 0) {
        fprintf(stderr, "usage: monkey BUILD STEPS [SEED]\n");
        return 1;
    }
    build = argv[1];
    state = seed * 2654435761u + 1;
    open_next(&w);
    for (long i = 0; i < steps; i++) {
        add_key(&keys);
        if (dice(500) == 0) {
            w.is_blind = true; /* libvterm 0.1.4 crashes after some of them */
            window_resize(&w, 20 + (int)dice(180), 5 + (int)dice(55));
        }
        if (i % PER_READ)
            continue;
        window_send(&w, buf_str(&keys));
        buf_clear(&keys);
        (void)window_wait(&w, FRAME_MS); /* so that they are not all read at once */
        if (w.is_over) {
            check_left(&w, seed);
            open_next(&w);
        }
    }
    kill(w.pid, SIGTERM);
    code = window_end(&w);
    if (code != 128 + SIGTERM && !ended_well(code)) {
        fprintf(stderr, "seed %llu: it ends with %d\n", (unsigned long long)seed, code);
        return 1;
    }
    window_close(&w);
    printf("%ld steps, %d windows\n", steps, windows);
    return 0;
}
