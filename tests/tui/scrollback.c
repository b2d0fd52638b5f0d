/*
 * scrollback: a live region in a real tmux whose window is resized all the time.
 *
 *     scrollback REPLAY SEEDS [FIRST]
 *     scrollback TENAX SEEDS [FIRST]
 *     scrollback TENAX steps
 *
 * For each seed the program runs in a separate tmux while the window is resized 50 times, between
 * 20 and 200 columns and 5 and 60 rows, some of them in direct sequence; that of tenax also swings
 * from one end to the other first. Then the scrollback of replay must have every committed line
 * once and in order, and nothing else. That of tenax, which plays a scenario with a long answer of
 * numbered words, must have every word once and in order, and no rest of the live region. Exit code
 * 77: no tmux.
 *
 * With "steps" tenax waits for the user, who halves the window while little stands in it, and makes
 * it narrow and low at once below a long conversation, and with a draft that has the cursor in its
 * second row. A draft, or a dialog, that has more rows than the smaller window when it is broken is
 * not tried: the terminal has moved the excess into the scrollback before tenax is notified, and
 * nothing but clearing all of it takes a line out of there.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/strv.h"

#define SB_RESIZES 50
#define SB_LINES "400"
#define SB_WORDS 4000
#define SB_STEP_WORDS 500
#define SB_CALM_MS 1500 /* after a resize, until the terminal's own cursor stands in the draft */
#define SB_PATIENCE_MS 120000
#define SB_MAX ((size_t)64 << 20)

struct sb {
    char dir[64];
    const char *program;
    bool is_tenax, is_steps;
    unsigned words; /* of the scenario */
    unsigned seed;
    uint32_t random;
    char *truth;
    struct buf log; /* the actions, printed on failure */
};

static unsigned sb_below(struct sb *s, unsigned n)
{
    s->random = s->random * 1664525u + 1013904223u;
    return (s->random >> 8) % n;
}

/* Runs tmux with these arguments, on our own server; what it says is added to out. */
static int sb_tmux(struct sb *s, struct buf *out, const char *const *args)
{
    static const char *const env[] = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "TERM=xterm-256color",
                                      NULL};
    CLEANUP(strv_release) struct strv argv = STRV_INIT;
    posix_spawn_file_actions_t actions;
    int fds[2];
    int status = 0;
    pid_t pid;
    ssize_t n;
    char bytes[65536];

    strv_adds(&argv, "tmux");
    strv_adds(&argv, "-S");
    strv_addf(&argv, "%s/socket", s->dir);
    strv_adds(&argv, "-f");
    strv_addf(&argv, "%s/conf", s->dir);
    for (; *args; args++)
        strv_adds(&argv, *args);
    if (pipe2(fds, O_CLOEXEC) < 0)
        exit(1);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
    if (posix_spawnp(&pid, "tmux", &actions, NULL, argv.ptr, (char *const *)env) != 0)
        exit(1);
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    for (;;) {
        n = read(fds[0], bytes, sizeof(bytes));
        if (n > 0 && out)
            buf_add(out, str_make(bytes, (size_t)n));
        else if (n == 0 || (n < 0 && errno != EINTR))
            break;
    }
    close(fds[0]);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
#define SB_TMUX(s, out, ...) sb_tmux(s, out, (const char *const[]){__VA_ARGS__, NULL})

/* A seeded moment; not to wait for anything. */
static void sb_pass(unsigned ms)
{
    poll(NULL, 0, (int)ms);
}

static void sb_fail(struct sb *s, const char *what)
{
    fprintf(stderr, "seed %u: %s\n--- done\n%s---\n", s->seed, what, buf_cstr(&s->log));
    SB_TMUX(s, NULL, "kill-server");
    exit(1);
}

static void sb_put(struct sb *s, const char *name, struct str text)
{
    CLEANUP(mem_freep) char *path = path_join(s->dir, name);

    if (file_replace(path, text, 0600, NULL) < 0)
        sb_fail(s, "cannot write a file");
}

/* Until the screen, or what has scrolled away, has it. */
static void sb_wait(struct sb *s, const char *text)
{
    int64_t until = clock_mono_ms() + SB_PATIENCE_MS;

    for (;;) {
        CLEANUP(buf_release) struct buf shown = BUF_INIT(SB_MAX);

        SB_TMUX(s, &shown, "capture-pane", "-p", "-S", "-", "-J");
        if (str_has(buf_str(&shown), str_of(text)))
            return;
        if (clock_mono_ms() > until)
            sb_fail(s, text);
        sb_pass(50);
    }
}

/* Paragraphs, lists and code of numbered words. */
static void sb_scenario(struct sb *s)
{
    CLEANUP(buf_release) struct buf b = BUF_INIT(SB_MAX);

    buf_addf(&b, "chunk words\npace %s\nstep\n  text <<END\n", s->is_steps ? "0ms" : "2ms");
    while (s->words < (s->is_steps ? SB_STEP_WORDS : SB_WORDS)) {
        unsigned kind = sb_below(s, 4);
        unsigned count = 1 + sb_below(s, 60);

        if (kind == 3)
            buf_adds(&b, "    ```\n");
        buf_adds(&b, kind == 2 ? "    - " : "    ");
        for (unsigned i = 0; i < count; i++) {
            bool breaks = kind == 3 && i % 2 == 1;

            buf_addf(&b, "W%05u%s", s->words++, breaks ? "\n    " : " ");
        }
        buf_adds(&b, kind == 3 ? "\n    ```\n\n" : "\n\n");
    }
    buf_adds(&b, "    THE-END\n    END\n");
    sb_put(s, "scenario", buf_str(&b));
}

static void sb_start_tenax(struct sb *s)
{
    CLEANUP(buf_release) struct buf model = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf home = BUF_INIT(4096);
    CLEANUP(mem_freep) char *work = path_join(s->dir, "work");

    sb_scenario(s);
    buf_addf(&model, "--model=scripted/%s/scenario", s->dir);
    buf_addf(&home, "HOME=%s", s->dir);
    if (file_mkdirs(work, 0700, NULL) < 0 ||
        SB_TMUX(s, NULL, "new-session", "-d", "-x", "100", "-y", "30", "-c", work, "env",
                buf_cstr(&home), "TENAX_TEST_SANDBOX=none", s->program, buf_cstr(&model)) != 0)
        sb_fail(s, "tmux does not start");
    sb_wait(s, "trust");
    sb_pass(1000); /* a dialog that has just come does not take keys */
    SB_TMUX(s, NULL, "send-keys", "1");
    sb_wait(s, "say what to do");
}

static void sb_ask(struct sb *s)
{
    SB_TMUX(s, NULL, "send-keys", "go", "Enter");
    sb_wait(s, "W00000");
}

static void sb_start(struct sb *s)
{
    char seed[20];

    sb_put(s, "conf",
           STR("set -g history-limit 100000\nset -g status off\nset -g remain-on-exit on\n"
               "set -g default-terminal tmux-256color\nset -g escape-time 0\n"));
    if (s->is_tenax) {
        sb_start_tenax(s);
        return;
    }
    snprintf(seed, sizeof(seed), "%u", s->seed);
    if (SB_TMUX(s, NULL, "new-session", "-d", "-x", "100", "-y", "30", s->program, s->truth, seed,
                SB_LINES) != 0)
        sb_fail(s, "tmux does not start");
}

static void sb_resize_to(struct sb *s, unsigned pause, unsigned wide, unsigned high)
{
    char cols[12];
    char rows[12];

    sb_pass(pause);
    snprintf(cols, sizeof(cols), "%u", wide);
    snprintf(rows, sizeof(rows), "%u", high);
    buf_addf(&s->log, "%u ms, %sx%s\n", pause, cols, rows);
    SB_TMUX(s, NULL, "resize-window", "-x", cols, "-y", rows);
}

static void sb_resize(struct sb *s)
{
    static const unsigned pauses[] = {0, 0, 3, 20, 60, 150, 300};
    unsigned pause = pauses[sb_below(s, ARRAY_LEN(pauses))];
    unsigned cols = 20 + sb_below(s, 181);

    sb_resize_to(s, pause, cols, 5 + sb_below(s, 56));
}

/* As wide and as narrow as possible, low, and with time for drawing in between. */
static void sb_swing(struct sb *s)
{
    static const unsigned heights[] = {5, 5, 12, 20};

    for (size_t i = 0; i < ARRAY_LEN(heights); i++) {
        sb_resize_to(s, /*pause=*/400, 20, heights[i]);
        sb_resize_to(s, /*pause=*/400, 200, heights[i]);
    }
    sb_resize_to(s, /*pause=*/400, 20, heights[3]);
}

/* From wide to as small as it gets, in one step; low windows, and ones of which only a side is
 * made smaller. */
static void sb_steps(struct sb *s)
{
    static const unsigned sizes[][4] = {
        {200, 60, 20, 5}, {200, 60, 20, 60}, {200, 24, 20, 20}, {80, 24, 20, 5}, {120, 60, 30, 7},
    };

    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        sb_resize_to(s, /*pause=*/400, sizes[i][0], sizes[i][1]);
        sb_resize_to(s, SB_CALM_MS, sizes[i][2], sizes[i][3]);
    }
    sb_resize_to(s, /*pause=*/400, 200, 60);
}

/* As windows are split: to half of their width at once. A rule as wide as the window and little
 * above it are too much for less: tmux keeps the empty rows below. */
static void sb_halves(struct sb *s)
{
    static const unsigned sizes[][4] = {
        {200, 60, 100, 30}, {160, 40, 80, 40}, {120, 30, 60, 24},
        {100, 24, 50, 12},  {80, 24, 40, 24},
    };

    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        sb_resize_to(s, /*pause=*/400, sizes[i][0], sizes[i][1]);
        sb_resize_to(s, SB_CALM_MS, sizes[i][2], sizes[i][3]);
    }
    sb_resize_to(s, /*pause=*/400, 200, 60);
}

static void sb_play_steps(struct sb *s)
{
    sb_halves(s);
    sb_wait(s, "say what to do");
    sb_ask(s);
    sb_wait(s, "THE-END");
    sb_wait(s, "say what to do");
    sb_steps(s);
    for (int i = 0; i < 5; i++) /* more than a row */
        SB_TMUX(s, NULL, "send-keys", "DRAFT of some fifty characters that nobody ever says. ");
    sb_steps(s);
    SB_TMUX(s, NULL, "send-keys", "C-c");
    sb_wait(s, "say what to do");
}

static void sb_end(struct sb *s)
{
    int64_t until = clock_mono_ms() + SB_PATIENCE_MS;

    if (s->is_tenax) {
        sb_wait(s, "THE-END");
        sb_wait(s, "say what to do");
        SB_TMUX(s, NULL, "send-keys", "C-c", "C-c");
    } else {
        SB_TMUX(s, NULL, "send-keys", "q");
    }
    for (;;) {
        CLEANUP(buf_release) struct buf state = BUF_INIT(1000);

        SB_TMUX(s, &state, "display-message", "-p", "#{pane_dead}");
        if (str_starts(buf_str(&state), STR("1")))
            return;
        if (clock_mono_ms() > until)
            sb_fail(s, "it does not end");
        sb_pass(30);
    }
}

/* The next line that is not empty, without spaces at its end; tmux's own word about the end too. */
static bool sb_next(struct str *rest, struct str *ret)
{
    while (str_cut(rest, '\n', ret)) {
        while (str_ends(*ret, STR(" ")))
            ret->len--;
        if (ret->len && !str_starts(*ret, STR("Pane is dead")))
            return true;
    }
    return false;
}

static bool sb_compare(struct sb *s)
{
    CLEANUP(buf_release) struct buf shown = BUF_INIT(SB_MAX);
    CLEANUP(buf_release) struct buf truth = BUF_INIT(SB_MAX);
    struct str have;
    struct str want;
    struct str a;
    struct str b;
    struct str last = STR("(the beginning)");
    size_t count = 0;

    SB_TMUX(s, &shown, "capture-pane", "-p", "-S", "-", "-J");
    if (file_slurp(s->truth, SB_MAX, &truth, NULL) < 0) {
        fprintf(stderr, "seed %u: replay has not written '%s'\n", s->seed, s->truth);
        return false;
    }
    have = buf_str(&shown);
    want = buf_str(&truth);
    while (sb_next(&want, &a)) {
        if (!sb_next(&have, &b))
            b = STR("(the end)");
        if (!str_eq(a, b)) {
            fprintf(stderr, "seed %u: behind '%.*s' stands\n  '%.*s', not\n  '%.*s'\n", s->seed,
                    STR_ARG(last), STR_ARG(b), STR_ARG(a));
            return false;
        }
        last = a;
        count++;
    }
    if (sb_next(&have, &b)) {
        fprintf(stderr, "seed %u: a rest: '%.*s'\n", s->seed, STR_ARG(b));
        return false;
    }
    printf("seed %u: %zu lines\n", s->seed, count);
    return true;
}

/* Every numbered word once and in order; nothing that stands only in the live region. */
static bool sb_compare_words(struct sb *s)
{
    static const char *const live[] = {"Answering",         "Esc interrupts", "say something",
                                       "interrupt)",        "say what to do", "\u2500\u2500\u2500",
                                       "scenario \u00b7 0", "DRAFT"};
    CLEANUP(buf_release) struct buf shown = BUF_INIT(SB_MAX);
    struct str text;
    unsigned number = 0;

    SB_TMUX(s, &shown, "capture-pane", "-p", "-S", "-", "-J");
    text = buf_str(&shown);
    for (size_t i = 0; i < ARRAY_LEN(live); i++) {
        if (str_has(text, str_of(live[i]))) {
            fprintf(stderr, "seed %u: a rest: '%s'\n", s->seed, live[i]);
            return false;
        }
    }
    for (size_t at = 0; at + 6 <= text.len; at++) {
        char want[12];

        if (text.ptr[at] != 'W' || text.ptr[at + 1] < '0' || text.ptr[at + 1] > '9')
            continue;
        snprintf(want, sizeof(want), "W%05u", number);
        if (!str_is(str_make(text.ptr + at, 6), want)) {
            fprintf(stderr, "seed %u: '%.6s' stands in the place of '%s'\n", s->seed, text.ptr + at,
                    want);
            return false;
        }
        number++;
    }
    if (number != s->words)
        fprintf(stderr, "seed %u: %u words of %u\n", s->seed, number, s->words);
    else
        printf("seed %u: %u words\n", s->seed, number);
    return number == s->words;
}

static void sb_play(struct sb *s)
{
    if (s->is_tenax) {
        sb_ask(s);
        sb_swing(s);
    }
    for (int i = 0; i < SB_RESIZES; i++)
        sb_resize(s);
}

static int sb_remove(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static bool sb_run(const char *program, unsigned seed, bool is_steps)
{
    struct sb s = {.program = program,
                   .is_steps = is_steps,
                   .seed = seed,
                   .random = seed,
                   .log = BUF_INIT(SB_MAX)};
    bool good;

    snprintf(s.dir, sizeof(s.dir), "/tmp/tenax-scrollback-XXXXXX");
    if (!mkdtemp(s.dir))
        exit(1);
    s.is_tenax = strcmp(path_base(program), "tenax") == 0;
    s.truth = path_join(s.dir, "truth");
    sb_start(&s);
    if (is_steps)
        sb_play_steps(&s);
    else
        sb_play(&s);
    sb_end(&s);
    good = s.is_tenax ? sb_compare_words(&s) : sb_compare(&s);
    if (!good) {
        const char *keep = getenv("KEEP");

        fprintf(stderr, "--- done\n%s---\n", buf_cstr(&s.log));
        if (keep) {
            CLEANUP(buf_release) struct buf shown = BUF_INIT(SB_MAX);

            SB_TMUX(&s, &shown, "capture-pane", "-p", "-S", "-", "-J");
            file_replace(keep, buf_str(&shown), 0600, NULL);
        }
    }
    SB_TMUX(&s, NULL, "kill-server");
    mem_freep(&s.truth);
    buf_release(&s.log);
    (void)nftw(s.dir, sb_remove, 16, FTW_DEPTH | FTW_PHYS);
    return good;
}

int main(int argc, char **argv)
{
    int64_t seeds = 1;
    int64_t first = 1;
    bool is_steps = argc > 2 && !strcmp(argv[2], "steps");
    char program[PATH_MAX]; /* it is started in another folder */

    if (argc < 3 || (!is_steps && str_to_i64(str_of(argv[2]), &seeds, NULL) < 0) ||
        !realpath(argv[1], program))
        return 2;
    if (argc > 3)
        (void)str_to_i64(str_of(argv[3]), &first, NULL);
    if (!file_exists("/usr/bin/tmux")) {
        printf("skipped: no tmux\n");
        return 77;
    }
    for (int64_t seed = first; seed < first + seeds; seed++) {
        if (!sb_run(program, (unsigned)seed, is_steps))
            return 1;
    }
    return 0;
}
