/*
 * The end of a session, and temporary owners of the terminal: signals, a closed window, Ctrl-Z, an
 * editor. The test program is person.c.
 */
#include "person.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

/* A session that can be resumed, however it ended. */
static void end_by(int signo, int code)
{
    struct window w;

    start(&w, endless);
    window_type(&w, "count" ENTER);
    window_until(&w, "three");
    kill(w.pid, signo);
    CHECK(window_end(&w) == code, "exit code");
    check_sane(&w);
    {
        static const char *const args[] = {"--continue", NULL};
        struct window_spec again = {
            .build = build, .scenario = "step\n  text Back again.\n", .args = args, .home = w.top};
        struct window next;

        window_open(&next, &again);
        window_until(&next, "count");
        window_type(&next, "go on" ENTER);
        window_until(&next, "Back again.");
        leave(&next);
    }
    window_close(&w);
}

static void case_term(void)
{
    end_by(SIGTERM, 128 + SIGTERM);
}

static void case_hup(void)
{
    end_by(SIGHUP, 128 + SIGHUP);
}

static void case_segv(void)
{
#if defined(__SANITIZE_ADDRESS__)
    end_by(SIGSEGV, 128 + SIGABRT); /* its report comes after our own rescue */
#elif defined(__SANITIZE_THREAD__)
    end_by(SIGSEGV, 66);
#else
    end_by(SIGSEGV, 128 + SIGSEGV);
#endif
}

/* As long as the hint says that a second one quits, it does. */
static void case_ctrl_c_slowly(void)
{
    struct window w;

    start(&w, "step\n  text Hello.\n");
    window_type(&w, CTRL_C);
    window_until_shown(&w, "Ctrl-C again to quit");
    for (int tries = 0; tries < 10 && !w.is_over; tries++) { /* a busy machine may be too late */
        int64_t until_ms = clock_mono_ms() + 1200;

        while (clock_mono_ms() < until_ms && !w.is_over)
            (void)window_wait(&w, 100);
        window_type(&w, CTRL_C);
    }
    CHECK(window_end(&w) == 0, "exit code");
    window_close(&w);
}

static void case_quit(void)
{
    end_by(SIGQUIT, 128 + SIGQUIT);
}

static void case_usr1(void)
{
    end_by(SIGUSR1, 128 + SIGUSR1);
}

/* The window is closed: no process is left, and the session can be resumed elsewhere. */
static void case_window_closed(void)
{
    struct window w;

    start(&w, endless);
    window_type(&w, "count" ENTER);
    window_until(&w, "three");
    close(w.fd);
    w.fd = -1;
    CHECK(window_end(&w) == 128 + SIGHUP, "exit code");
    window_close(&w);
}

/* Ctrl-Z gives the shell its terminal, fg comes back to the draft. */
static void case_suspend(void)
{
    struct window_spec spec = {
        .build = build, .scenario = "step\n  text Hello again.\n", .shell = true};
    struct window w;
    size_t from;

    window_open(&w, &spec);
    window_type(&w, "PS1='ready$ '" ENTER);
    window_until(&w, "\nready$");
    window_type(&w, "$TENAX" ENTER);
    until_idle(&w);
    window_type(&w, "half a sen");
    window_until(&w, "half a sen");
    window_type(&w, "\x1a");
    window_until(&w, "Stopped");
    window_type(&w, "echo in the $((40 + 2)) shell" ENTER);
    window_until(&w, "in the 42 shell");
    CHECK(!strstr(window_screen(&w), "❯ half a sen"), "%s", window_text(&w));
    from = w.raw.len;
    window_type(&w, "fg; echo and $((1 + 1)) at the end" ENTER);
    window_until_shown(&w, "❯ half a sen");
    window_until_raw(&w, "\x1b]0;tenax · ", from); /* the shell may have named the window */
    window_type(&w, "tence" ENTER);
    window_until(&w, "Hello again.");
    until_idle(&w);
    window_type(&w, CTRL_D);
    window_until(&w, "tenax --resume ");
    window_until(&w, "and 2 at the end"); /* input before that is lost */
    window_type(&w, "exit" ENTER);
    CHECK(window_end(&w) == 0, "exit code");
    window_close(&w);
}

/* Ctrl-G: the draft, in the user's own editor; its file does not stay. */
static void case_editor(void)
{
    static const char *const env[] = {"VISUAL=sed -i s/wrong/right/", "TMPDIR=/nowhere", NULL};
    struct window_spec spec = {.build = build,
                               .scenario =
                                   "step\n  if-prompt \"the right word\"\n  text So it is.\n",
                               .env = env};
    struct window w;

    window_open(&w, &spec);
    until_idle(&w);
    window_type(&w, "the wrong word");
    window_until(&w, "the wrong word");
    window_type(&w, "\x07");
    window_until(&w, "❯ the right word");
    window_type(&w, ENTER);
    window_until(&w, "So it is.");
    leave(&w);
}

/* An editor that fails loses neither the saved text nor the mode of the terminal. */
static void case_editor_fails(void)
{
    static const char *const env[] = {
        "VISUAL=sh -c 'echo kept > \"$1\"; stty raw -echo; exit 3' sh", NULL};
    struct window_spec spec = {.build = build, .scenario = "", .env = env};
    struct window w;
    const char *at;

    window_open(&w, &spec);
    window_until(&w, "say what to do");
    window_type(&w, "\x07");
    window_until(&w, "ended with 3");
    window_until(&w, "say what to do");
    at = strstr(window_text(&w), "the saved text is in /tmp/tenax-prompt-");
    CHECK(at, "it does not say where the text is:\n%s", window_text(&w));
    {
        char path[] = "/tmp/tenax-prompt-XXXXXX.md";
        CLEANUP(buf_release) struct buf text = BUF_INIT(100);

        memcpy(path, strstr(at, "/tmp"), sizeof(path) - 1);
        CHECK(file_slurp(path, 100, &text, NULL) == 0, "nothing is in %s", path);
        CHECK(str_is(buf_str(&text), "kept\n"), "it is: %s", buf_cstr(&text));
        unlink(path);
    }
    window_type(&w, CTRL_D);
    CHECK(window_end(&w) == 0, "exit code");
    check_sane(&w);
    window_close(&w);
}

/* A signal that comes while tenax starts is not lost. */
static void case_term_early(void)
{
    for (int ms = 0; ms < 40; ms += 4) {
        struct window_spec spec = {.build = build, .scenario = ""};
        struct window w;

        window_open(&w, &spec);
        (void)window_wait(&w, ms);
        kill(w.pid, SIGTERM);
        CHECK(window_end(&w) == 128 + SIGTERM, "exit code");
        window_close(&w);
    }
}

/* An editor that is at work does not keep tenax from ending, even when it will not listen. */
static void case_editor_term(void)
{
    static const char *const env[] = {"VISUAL=sh -c 'trap \"\" TERM; echo it is open; cat'", NULL};
    struct window_spec spec = {.build = build, .scenario = "", .env = env};
    struct window w;

    window_open(&w, &spec);
    until_idle(&w);
    window_type(&w, "\x07");
    window_until(&w, "it is open");
    kill(w.pid, SIGTERM);
    CHECK(window_end(&w) == 128 + SIGTERM, "exit code");
    check_sane(&w);
    window_close(&w);
}

/* Quitting runs nothing that waited; words are there when the session goes on. */
static void case_quit_queue(void)
{
    static const char *const args[] = {"--continue", NULL};
    struct window_spec again = {.build = build,
                                .scenario = "step\n  if-prompt \"for later\"\n  text Heard.\n",
                                .args = args};
    struct window next;
    struct window w;

    start(&w, "step\n  text Hello.\n");
    window_type(&w, "!sleep 60" ENTER);
    window_until(&w, "!sleep is running");
    window_type(&w, "!touch made" ENTER "for later" ENTER);
    window_until(&w, "Up to edit");
    window_type(&w, CTRL_D);
    answer(&w, "2");
    CHECK(window_end(&w) == 0, "exit code");
    check_made(&w, false);
    CHECK(sessions_with(&w, "\"operation\":\"enqueue\"") == 1, "it was not kept");
    again.home = w.top;
    window_open(&next, &again);
    window_until(&next, "› for later");
    window_type(&next, "and now" ENTER);
    window_until(&next, "Heard.");
    until_idle(&next);
    CHECK(window_count(&next, "\n> for later") == 1 && window_count(&next, "\n> and now") == 1 &&
              strstr(window_text(&next), "\n> for later") <
                  strstr(window_text(&next), "\n> and now"),
          "what waited is not shown first:\n%s", window_text(&next));
    leave(&next);
    window_close(&w);
}

/* Killed while something waited: it is seen to wait, and can be taken back for good. */
static void case_killed_queue(void)
{
    static const char *const args[] = {"--continue", NULL};
    struct window_spec again = {.build = build,
                                .scenario = "step\n  if-prompt \"second words\"\n  text Heard.\n"
                                            "step\n  text Wrong.\n",
                                .args = args};
    struct window next;
    struct window w;

    start_lengthy(&w, /*home=*/NULL);
    window_type(&w, "waiting words" ENTER "more words" ENTER);
    window_until(&w, "› more words");
    until_kept(&w, 2);
    kill(w.pid, SIGKILL);
    window_end(&w);
    again.home = w.top;
    window_open(&next, &again);
    window_until(&next, "› more words");
    CHECK(strstr(window_text(&next), "› waiting words"), "%s", window_text(&next));
    window_type(&next, UP);
    window_until_gone(&next, "Up to edit");
    window_until(&next, "❯ waiting words");
    window_type(&next, CTRL_C);
    until_idle(&next);
    window_type(&next, "second words" ENTER);
    window_until(&next, "Heard.");
    leave(&next);
    CHECK(sessions_with(&w, "\"operation\":\"remove\"") == 1, "it was not taken back for good");
    window_close(&w);
}

/* A call that ran when tenax was killed is seen to have been cut off when the session goes on. */
static void case_killed_call(void)
{
    static const char *const args[] = {"--continue", NULL};
    struct window_spec again = {
        .build = build, .scenario = "step\n  sticky\n  text On it goes.\n", .args = args};
    struct window next;
    struct window w;

    start_held(&w, held, "{" MAY_WAIT "}");
    put_file(&w, "work/waits", "touch on; until test -e go; do sleep 0.05; done\n");
    window_type(&w, "go" ENTER);
    window_until_file(&w, "work/on");
    kill(w.pid, SIGKILL);
    window_end(&w);
    again.home = w.top;
    window_open(&next, &again);
    window_until(&next, "session resumed");
    window_until(&next, "Bash(sh waits)\n  ⎿  Interrupted: tenax ended before it was done");
    until_idle(&next);
    window_type(&next, "on" ENTER);
    window_until(&next, "On it goes.");
    leave(&next);
    window_close(&w);
}

/* The goal is worked for: the command is over, and what it wrote is on disk. A turn that was killed
 * left nothing of its answer, so the words are this one's. */
static void until_at_work(struct window *w)
{
    window_until(w, "one two three four");
}

/* A session that goes on; the one before is killed. */
static void goal_again(struct window *w, struct window *next)
{
    static const char *const args[] = {"--continue", NULL};
    struct window_spec spec = {.build = build, .scenario = endless, .args = args, .home = w->top};

    kill(w->pid, SIGKILL);
    window_end(w);
    window_open(next, &spec);
    window_until_shown(next, "This session has a goal");
    CHECK(strstr(window_screen(next), "working towards: made is there"), "%s", window_screen(next));
}

/* A goal that was worked for when tenax was killed: the person is asked what becomes of it, and
 * nothing is done before that. */
static void case_goal_asked(void)
{
    struct window w[4];

    start(&w[0], endless);
    window_type(&w[0], "/goal made is there --check 'test -e made'" ENTER);
    until_at_work(&w[0]);

    goal_again(&w[0], &w[1]);
    answer(&w[1], ESC); /* left: it stays as it is */
    until_idle(&w[1]);
    window_until_shown(&w[1], "goal paused");
    window_type(&w[1], "/goal resume" ENTER);
    until_at_work(&w[1]);

    goal_again(&w[1], &w[2]);
    answer(&w[2], "1");
    until_at_work(&w[2]);

    goal_again(&w[2], &w[3]);
    answer(&w[3], "3");
    window_until(&w[3], "Goal cleared: made is there");
    leave(&w[3]);
    window_close(&w[2]);
    window_close(&w[1]);
    window_close(&w[0]);
}

const struct person_case person_ends[] = {
    {"goal-asked", case_goal_asked},
    {"term", case_term},
    {"hup", case_hup},
    {"segv", case_segv},
    {"ctrl-c-slowly", case_ctrl_c_slowly},
    {"quit", case_quit},
    {"usr1", case_usr1},
    {"window-closed", case_window_closed},
    {"suspend", case_suspend},
    {"editor", case_editor},
    {"editor-fails", case_editor_fails},
    {"editor-term", case_editor_term},
    {"term-early", case_term_early},
    {"quit-queue", case_quit_queue},
    {"killed-queue", case_killed_queue},
    {"killed-call", case_killed_call},
    {0},
};
