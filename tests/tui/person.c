/*
 * A person in front of tenax: whole sessions through a real terminal (window.h).
 *
 *     person BUILD CASE
 */
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "check.h"
#include "window.h"

#define ESC "\x1b"
#define ENTER "\r"
#define UP "\x1b[A"
#define DOWN "\x1b[B"
#define BACKSPACE "\x7f"
#define CTRL_C "\x03"
#define CTRL_D "\x04"
#define CTRL_O "\x0f"
#define SHIFT_TAB "\x1b[Z"
#define PAGE_DOWN "\x1b[6~"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_WATCHED true
#else
#define IS_WATCHED false
#endif

static const char *build;

/* Nothing is worked on: an answer that can be read may still have to end. */
static void until_idle(struct window *w)
{
    window_until_shown(w, "say what to do");
}

static void put_file(const struct window *w, const char *name, const char *text)
{
    CLEANUP(mem_freep) char *path = path_join(w->top, name);
    struct err err = {0};

    CHECK(file_replace(path, str_of(text), 0600, &err) == 0, "%s", err.text);
}

static void start(struct window *w, const char *scenario)
{
    struct window_spec spec = {.build = build, .scenario = scenario};

    window_open(w, &spec);
    until_idle(w);
}

/* A dialog passes over what was typed before a person can have read it. */
static void answer(struct window *w, const char *key)
{
    window_until_shown(w, "Enter choose");
    window_settle(w, 400);
    window_type(w, key);
}

/* Quits an idle session: what is left is sane, and says how to go on. */
static void leave(struct window *w)
{
    until_idle(w);
    window_type(w, CTRL_D);
    CHECK(window_end(w) == 0, "exit code");
    CHECK(strstr(window_text(w), "tenax --resume "), "it does not say how to go on:\n%s",
          window_text(w));
    window_close(w);
}

/* The terminal is as a shell wants it: modes, cursor, paste, focus, and no other screen. */
static void check_sane(struct window *w)
{
    struct str raw = buf_str(&w->raw);
    struct termios t;
    static const char *const pairs[][2] = {
        {"\x1b[?2004h", "\x1b[?2004l"},
        {"\x1b[?1004h", "\x1b[?1004l"},
        {"\x1b[?1049h", "\x1b[?1049l"},
        {"\x1b[?25l", "\x1b[?25h"},
    };

    CHECK(tcgetattr(w->fd, &t) == 0, "tcgetattr");
    CHECK(t.c_lflag & ICANON && t.c_lflag & ECHO && t.c_lflag & ISIG, "the terminal is still raw");
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        const char *on = NULL;
        const char *off = NULL;

        for (const char *at = raw.ptr; at; at = strstr(at + 1, pairs[i][0]))
            on = strncmp(at, pairs[i][0], strlen(pairs[i][0])) == 0 ? at : on;
        for (const char *at = raw.ptr; at; at = strstr(at + 1, pairs[i][1]))
            off = strncmp(at, pairs[i][1], strlen(pairs[i][1])) == 0 ? at : off;
        CHECK(!on || (off && off > on), "mode %s was not taken back", pairs[i][0] + 1);
    }
}

/* In how many sessions' files the text stands, and how often. */
struct found {
    size_t sessions, times;
};

static struct found sessions_search(struct window *w, const char *text)
{
    CLEANUP(mem_freep) char *pattern = path_join(w->top, "home/.tenax/projects/*/*.jsonl");
    struct found n = {0};
    glob_t files = {0};

    (void)glob(pattern, 0, NULL, &files);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        CLEANUP(buf_release) struct buf lines = BUF_INIT(BUF_NO_LIMIT);
        const char *at;
        struct err err = {0};

        CHECK(file_slurp(files.gl_pathv[i], BUF_NO_LIMIT, &lines, &err) == 0, "%s", err.text);
        at = strstr(buf_cstr(&lines), text);
        n.sessions += at != NULL;
        for (; at; at = strstr(at + 1, text))
            n.times++;
    }
    globfree(&files);
    return n;
}

static size_t sessions_with(struct window *w, const char *text)
{
    return sessions_search(w, text).sessions;
}

/* So many words that wait are written down: they are seen before that. */
static void until_kept(struct window *w, size_t n)
{
    while (sessions_search(w, "\"operation\":\"enqueue\"").times < n)
        window_wait(w, 20);
}

/* ---- cases ---- */

/* One of what a company has to say, once. */
static void case_announcement(void)
{
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  if-prompt again\n  text Anew.\nstep\n  text Hello.\n",
        .settings = "{\"companyAnnouncements\":[\"Mind the gap: one\",\"Mind the gap: two\"]}",
    };
    struct window w;

    window_open(&w, &spec);
    until_idle(&w);
    window_type(&w, "hi" ENTER);
    window_until(&w, "Hello.");
    until_idle(&w);
    window_type(&w, "/clear" ENTER);
    window_until(&w, "new session");
    window_type(&w, "again" ENTER);
    window_until(&w, "Anew.");
    until_idle(&w);
    CHECK(window_count(&w, "Mind the gap:") == 1, "%s", window_text(&w));
    leave(&w);
}

/* A command of the settings finds files in the place of the list; one that fails says so. */
static void case_file_suggestion(void)
{
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  if-prompt \"by/command\"\n  text Found it.\n",
        .settings = "{\"fileSuggestion\":{\"type\":\"command\",\"command\":"
                    "\"sh $CLAUDE_PROJECT_DIR/find\"}}",
    };
    struct window w;

    window_open(&w, &spec);
    put_file(&w, "work/find",
             "read -r line\n"
             "case $line in *nothing*) echo no index >&2; exit 3;; esac\n"
             "[ \"$line\" = '{\"query\":\"qu\"}' ] && printf 'by/command.c\\nsecond/one.c\\n'\n");
    until_idle(&w);
    window_type(&w, "@nothing");
    window_until_shown(&w, "fileSuggestion: it has failed: no index");
    window_type(&w, "\025" /* Ctrl-U */);
    window_type(&w, "see @qu");
    window_until_shown(&w, "second/one.c");
    window_type(&w, "\t");
    window_until_gone(&w, "second/one.c");
    window_type(&w, ENTER);
    window_until(&w, "Found it.");
    leave(&w);
}

static void case_hello(void)
{
    struct window w;

    start(&w, "step\n  if-prompt \"good morning\"\n  text Good morning to you.\n");
    window_type(&w, "good morning" ENTER);
    window_until(&w, "Good morning to you.");
    until_idle(&w);
    CHECK(window_count(&w, "Good morning to you.") == 1, "the answer is there twice");
    CHECK(window_count(&w, "good morning") == 1, "the prompt is not there once:\n%s",
          window_text(&w));
    leave(&w);
}

/* `tenax "…"`, several words, also one that is nobody's command. */
static void case_first_prompt(void)
{
    static const char *const args[] = {"say", "hello", NULL};
    struct window_spec spec = {.build = build,
                               .scenario = "step\n  if-prompt \"say hello\"\n  text Hello.\n",
                               .args = args};
    struct window w;

    window_open(&w, &spec);
    window_until(&w, "Hello.");
    leave(&w);
}

static void case_nearly_a_command(void)
{
    static const char *const args[] = {"docotr", NULL};
    struct window_spec spec = {.build = build, .scenario = "", .args = args};
    struct window w;

    window_open(&w, &spec);
    CHECK(window_end(&w) == 2, "exit code");
    CHECK(strstr(window_text(&w), "did you mean 'doctor'?"), "%s", window_text(&w));
    window_close(&w);
}

/* A word that only has the letters of a command runs none; another name of one runs that one. */
static void case_misspelt(void)
{
    struct window w;

    start(&w, "step\n  text Hello.\n");
    window_type(&w, "/ear");
    window_until_shown(&w, "/clear");
    window_type(&w, ENTER);
    window_until_shown(&w, "\xe2\x9d\xaf /clear");
    window_settle(&w, 300);
    CHECK(!strstr(window_text(&w), "new session"), "it was run:\n%s", window_text(&w));
    window_type(&w, ENTER);
    window_until(&w, "new session");
    window_type(&w, "/stats");
    window_until_shown(&w, "/cost");
    window_type(&w, ENTER);
    window_until(&w, "Nothing has been used yet.");
    leave(&w);
}

/* What is typed before anything is drawn is not lost. */
static void case_typed_early(void)
{
    struct window_spec spec = {.build = build,
                               .scenario = "step\n  if-prompt \"early bird\"\n  text The worm.\n"};
    struct window w;

    window_open(&w, &spec);
    window_type(&w, "early bird" ENTER);
    window_until(&w, "The worm.");
    leave(&w);
}

static const char slow[] = "step\n  pace 50ms\n  text one two three four five six seven eight nine "
                           "ten eleven twelve thirteen fourteen fifteen sixteen seventeen\n"
                           "step\n  text Second answer.\n";

/* An answer that does not end by itself. */
static const char endless[] = "step\n  text one two three four\n  pause 1000s\n  text seventeen\n"
                              "step\n  text Second answer.\n";

/* A turn that goes on when it is let: the command waits for a file. */
#define WAITS "call Bash {\"command\": \"sh waits\"}\n"
#define MAY_WAIT "\"permissions\":{\"allow\":[\"Bash(sh waits)\"]}"

static const char held[] = "step\n  text one two\n  " WAITS "step\n  text Second answer.\n"
                           "step\n  text Third answer.\n";

static void start_held(struct window *w, const char *scenario, const char *settings)
{
    struct window_spec spec = {.build = build, .scenario = scenario, .settings = settings};

    window_open(w, &spec);
    put_file(w, "work/waits", "until test -e go; do sleep 0.05; done\n");
    until_idle(w);
}

static void let_go(const struct window *w)
{
    put_file(w, "work/go", "");
}

static void case_interrupt(void)
{
    struct window w;

    start(&w, endless);
    window_type(&w, "count" ENTER);
    window_until(&w, "three");
    window_type(&w, ESC);
    window_until(&w, "nterrupted");
    CHECK(window_count(&w, "one two three four") == 1, "what was read is gone:\n%s",
          window_text(&w));
    CHECK(sessions_with(&w, "one two three four") == 1, "what was read was not kept");
    window_type(&w, "again" ENTER);
    window_until(&w, "Second answer.");
    CHECK(!strstr(window_text(&w), "seventeen"), "it went on:\n%s", window_text(&w));
    leave(&w);
}

/* Ctrl-C once interrupts; twice with nothing to do quits. */
static void case_ctrl_c(void)
{
    struct window w;

    start(&w, endless);
    window_type(&w, "count" ENTER);
    window_until(&w, "three");
    window_type(&w, CTRL_C);
    window_until(&w, "nterrupted");
    window_type(&w, "text that goes");
    window_until(&w, "text that goes");
    window_type(&w, CTRL_C);
    window_until_gone(&w, "text that goes");
    window_type(&w, BACKSPACE CTRL_C CTRL_C); /* two within a second, whenever that begins */
    CHECK(window_end(&w) == 0, "exit code");
    check_sane(&w);
    window_close(&w);
}

/* What is said meanwhile waits to be seen, is heard, and stands in the conversation once. */
static void case_queue(void)
{
    struct window w;

    start(&w, slow);
    window_type(&w, "count" ENTER);
    window_until(&w, "two");
    window_type(&w, "and also this" ENTER);
    window_until(&w, "and also this");
    window_until(&w, "Second answer.");
    until_idle(&w);
    CHECK(window_count(&w, "and also this") == 1, "%s", window_text(&w));
    leave(&w);
}

static void case_queue_edited(void)
{
    struct window w;

    start_held(&w, held, "{" MAY_WAIT "}");
    window_type(&w, "count" ENTER);
    window_until(&w, "two");
    window_type(&w, "wrong words" ENTER);
    window_until_shown(&w, "takes it back");
    window_type(&w, UP);
    window_until_gone(&w, "takes it back");
    window_type(&w, CTRL_C "right words" ENTER);
    window_until_shown(&w, "takes it back");
    let_go(&w);
    window_until(&w, "Second answer.");
    until_idle(&w);
    CHECK(!strstr(window_screen(&w), "wrong words"), "%s", window_text(&w));
    leave(&w);
}

/* A hook that keeps it from the model says so, and it waits no more. */
static void case_queue_refused(void)
{
    struct window w;

    start_held(&w, held,
               "{" MAY_WAIT ",\"hooks\":{\"UserPromptSubmit\":[{\"hooks\":[{\"type\":\"command\","
               "\"command\":\"grep -q forbidden || exit 0; echo not these >&2; exit 2\"}]}]}}");
    window_type(&w, "count" ENTER);
    window_until(&w, "two");
    window_type(&w, "a forbidden word" ENTER);
    window_until_shown(&w, "takes it back");
    let_go(&w);
    window_until(&w, "not these");
    window_until_gone(&w, "takes it back");
    leave(&w);
}

/* Esc while a hook is asked about words that waited: they are said in the next turn, and so are
 * those behind them. */
static void case_interrupt_hook(void)
{
    struct window_spec spec = {
        .build = build,
        .scenario = slow,
        .settings = "{\"hooks\":{\"UserPromptSubmit\":[{\"hooks\":[{\"type\":\"command\","
                    "\"command\":\"grep -q count && exit 0; test -e $HOME/asked && exit 0;"
                    " touch $HOME/asked; sleep 60\"}]}]}}",
    };
    CLEANUP(mem_freep) char *asked = NULL;
    struct window w;

    window_open(&w, &spec);
    asked = path_join(w.top, "home/asked");
    window_until(&w, "say what to do");
    window_type(&w, "count" ENTER);
    window_until(&w, "two");
    window_type(&w, "first wish" ENTER "another wish" ENTER);
    window_until(&w, "another wish");
    for (int tries = 0; !file_exists(asked) && tries < 200; tries++)
        (void)window_wait(&w, 100);
    CHECK(file_exists(asked), "the hook has not begun:\n%s", window_text(&w));
    window_type(&w, ESC);
    window_until(&w, "Second answer.");
    window_until_gone(&w, "takes it back");
    CHECK(window_count(&w, "first wish") == 1, "%s", window_text(&w));
    CHECK(window_count(&w, "another wish") == 1, "%s", window_text(&w));
    leave(&w);
}

/* Esc right behind the first words: their agent is still in the making. */
static void case_interrupt_early(void)
{
    struct window w;

    start(&w, endless);
    window_type(&w, "count" ENTER ESC);
    window_until(&w, "nterrupted");
    CHECK(!strstr(window_text(&w), "seventeen"), "it went on:\n%s", window_text(&w));
    leave(&w);
}

static const char one_call[] = "step\n  text I will touch a file.\n"
                               "  call Bash {\"command\": \"touch made\"}\n"
                               "step\n  text That is all.\n"
                               "step\n  text What now?\n";

static void check_made(struct window *w, bool is_made)
{
    CLEANUP(mem_freep) char *path = path_join(w->top, "work/made");

    CHECK(file_exists(path) == is_made, "the file is %s", is_made ? "not there" : "there");
}

static void case_permission_yes(void)
{
    struct window w;

    start(&w, one_call);
    window_type(&w, "go" ENTER);
    window_until(&w, "touch made");
    window_until(&w, "Enter choose");
    check_made(&w, false);
    answer(&w, "1");
    window_until(&w, "That is all.");
    check_made(&w, true);
    leave(&w);
}

/* What was refused is shown so, also when the session goes on. */
static void case_permission_no(void)
{
    static const char *const args[] = {"--continue", NULL};
    struct window_spec again = {.build = build, .scenario = one_call, .args = args};
    struct window next;
    struct window w;

    start(&w, one_call);
    window_type(&w, "go" ENTER);
    window_until(&w, "Enter choose");
    window_type(&w, ESC);
    window_until_gone(&w, "Enter choose");
    until_idle(&w);
    window_until(&w, "Bash(touch made) not allowed");
    check_made(&w, false);
    window_type(&w, CTRL_D);
    CHECK(window_end(&w) == 0, "exit code");
    again.home = w.top;
    window_open(&next, &again);
    window_until(&next, "Bash(touch made) not allowed");
    leave(&next);
    window_close(&w);
}

static void case_modes(void)
{
    struct window w;

    start(&w, "step\n  text Hello.\n");
    window_type(&w, SHIFT_TAB);
    window_until(&w, "accepts edits");
    window_type(&w, SHIFT_TAB);
    window_until(&w, "plan");
    window_type(&w, "hi" ENTER);
    window_until(&w, "Hello.");
    leave(&w);
}

static void case_transcript(void)
{
    struct window w;

    start(&w, "step\n  think A secret thought.\n  text Hello there.\n");
    window_type(&w, "hi" ENTER);
    window_until(&w, "Hello there.");
    window_until_gone(&w, "Esc interrupts");
    window_type(&w, CTRL_O);
    window_until_raw(&w, ESC "[?1049h", 0);
    window_until(&w, "A secret thought.");
    window_type(&w, "q");
    window_until_raw(&w, ESC "[?1049l", 0);
    leave(&w);
}

static void case_resize(void)
{
    struct window w;

    start(&w,
          "step\n  text A line that is long enough to be broken in a window of twenty columns.\n"
          "step\n  text Second.\n");
    window_type(&w, "hi" ENTER);
    window_until(&w, "twenty columns.");
    for (int cols = 100; cols >= 20; cols -= 8) {
        window_resize(&w, cols, cols / 4);
        window_settle(&w, 30);
    }
    window_resize(&w, 80, 24);
    window_settle(&w, 50);
    window_type(&w, "more" ENTER);
    window_until(&w, "Second.");
    leave(&w);
}

/* A long draft is seen as it was written, whatever a narrow window would make of it. */
static void case_draft(void)
{
    struct window w;
    char word[16];

    start(&w, "step\n  text Hello.\n");
    for (int i = 1; i <= 100; i++) {
        snprintf(word, sizeof(word), "w%03d ", i);
        window_type(&w, word);
    }
    window_until_shown(&w, "w100");
    for (int i = 1; i <= 100; i++) {
        snprintf(word, sizeof(word), "w%03d", i);
        CHECK(strstr(window_screen(&w), word), "%s is cut off:\n%s", word, window_screen(&w));
    }
    window_type(&w, ENTER);
    window_until(&w, "Hello.");
    leave(&w);
}

/* A session that can be gone on with, whatever ends it. */
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
    end_by(SIGSEGV, 128 + SIGABRT); /* its report comes behind our own rescue */
#elif defined(__SANITIZE_THREAD__)
    end_by(SIGSEGV, 66);
#else
    end_by(SIGSEGV, 128 + SIGSEGV);
#endif
}

static void case_quit(void)
{
    end_by(SIGQUIT, 128 + SIGQUIT);
}

static void case_usr1(void)
{
    end_by(SIGUSR1, 128 + SIGUSR1);
}

/* The window is closed: nobody is left, and the session goes on elsewhere. */
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

static void case_paste(void)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct window w;

    start(&w, "step\n  if-prompt \"line 20000 of the paste\"\n  text It all came.\n");
    buf_adds(&text, ESC "[200~");
    for (int i = 1; text.len < (1 << 20) || i <= 20000; i++)
        buf_addf(&text, "line %d of the paste, which goes on\n", i);
    buf_adds(&text, ESC "[201~");
    window_send(&w, buf_str(&text));
    window_until(&w, "Pasted text #1");
    window_type(&w, ENTER);
    window_until(&w, "It all came.");
    leave(&w);
}

/* Ctrl-Z gives the shell its terminal, fg comes back to what was written. */
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
    window_until(&w, "and 2 at the end"); /* before that, what is typed is nobody's */
    window_type(&w, "exit" ENTER);
    CHECK(window_end(&w) == 0, "exit code");
    window_close(&w);
}

/* Ctrl-G: what is written, in an editor of one's own; its file does not stay. */
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

/* The status line has the branch, and what runs in the background. */
static void case_branch(void)
{
    struct window w;

    start(&w, "step\n  call Bash {\"command\": \"sleep 100\", \"run_in_background\": true}\n"
              "step\n  text Hello.\n");
    window_type(&w, "!git init -q -b trunk" ENTER);
    until_idle(&w);
    window_type(&w, "hi" ENTER);
    window_until_shown(&w, "· trunk");
    window_until_shown(&w, "· 1 task");
    leave(&w);
}

/* Each session is asked about anew, however much the one before has cost. */
static void case_costs(void)
{
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  if-prompt \"one\"\n  usage input=1000 output=1000\n  text The first.\n"
                    "step\n  if-prompt \"two\"\n  usage input=100 output=100\n  text The second.\n",
        .settings = "{\"costThresholdUsd\":0.1,\"models\":{\"scripted/scenario\":"
                    "{\"price\":{\"input\":1000,\"output\":1000}}}}",
    };
    struct window w;

    window_open(&w, &spec);
    until_idle(&w);
    window_type(&w, "one" ENTER);
    window_until(&w, "This session has cost $2.00");
    answer(&w, ENTER);
    until_idle(&w);
    window_type(&w, "/clear" ENTER);
    window_until(&w, "new session");
    window_type(&w, "two" ENTER);
    window_until(&w, "This session has cost $0.20");
    answer(&w, ENTER);
    leave(&w);
}

/* Somebody who lets it work is asked while it works, not when all is spent. */
static void case_costs_meanwhile(void)
{
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  usage input=1000 output=1000\n"
                    "  call Bash {\"command\": \"echo first; sleep 100\"}\n"
                    "step\n  text Never said.\n",
        .settings = "{\"costThresholdUsd\":0.1,\"permissions\":{\"allow\":[\"Bash\"]},"
                    "\"models\":{\"scripted/scenario\":"
                    "{\"price\":{\"input\":1000,\"output\":1000}}}}",
    };
    struct window w;

    window_open(&w, &spec);
    until_idle(&w);
    window_type(&w, "work" ENTER);
    window_until(&w, "This session has cost $2.00");
    window_until_shown(&w, "2. Stop what runs");
    window_until_shown(&w, "2 s ·"); /* by then a person can have read it */
    window_type(&w, "2");
    window_until_gone(&w, "esc to interrupt");
    leave(&w);
}

#define PRICED "\"models\":{\"scripted/scenario\":{\"price\":{\"input\":0.001,\"output\":1000}}}"

static void start_priced(struct window *w, const char *scenario, const char *settings)
{
    static const char *const args[] = {"--max-budget-usd", "2.5", NULL};
    struct window_spec spec = {
        .build = build, .scenario = scenario, .settings = settings, .args = args};

    window_open(w, &spec);
    until_idle(w);
}

/* The budget is one for all that is done in the window: what two sessions have spent is spent when
 * the first is gone back to. */
static void case_resume_budget(void)
{
    struct window w;

    start_priced(&w,
                 "step\n  if-prompt one\n  usage output=1000\n  text The first.\n"
                 "step\n  if-prompt two\n  usage output=1500\n  text The second.\n"
                 "step\n  sticky\n  text Too much.\n",
                 "{" PRICED "}");
    window_type(&w, "one" ENTER);
    window_until(&w, "The first.");
    until_idle(&w);
    window_type(&w, "/clear" ENTER);
    window_until(&w, "new session");
    window_type(&w, "two" ENTER);
    window_until(&w, "The second.");
    until_idle(&w);
    window_type(&w, "/resume one" ENTER);
    window_until(&w, "session resumed");
    window_type(&w, "three" ENTER);
    window_until(&w, "--max-budget-usd");
    CHECK(!strstr(window_text(&w), "Too much."), "%s", window_text(&w));
    leave(&w);
}

/* Neither the session that was to come nor the one that was left can be read: the new one in their
 * place has what is left of the budget. */
static void case_instead_budget(void)
{
    struct window w;

    start_priced(&w,
                 "step\n  if-prompt one\n  usage output=1000\n  text The first.\n"
                 "step\n  if-prompt two\n  usage output=1500\n  text The second.\n"
                 "step\n  sticky\n  text Too much.\n",
                 "{" PRICED ",\"hooks\":{\"SessionEnd\":[{\"hooks\":[{\"type\":\"command\","
                 "\"command\":\"rm -f ~/.tenax/projects/*/*.jsonl\"}]}]}}");
    window_type(&w, "one" ENTER);
    window_until(&w, "The first.");
    until_idle(&w);
    window_type(&w, "/branch" ENTER);
    window_until(&w, "no session is called");
    window_type(&w, "two" ENTER);
    window_until(&w, "The second.");
    until_idle(&w);
    window_type(&w, "three" ENTER);
    window_until(&w, "--max-budget-usd");
    CHECK(!strstr(window_text(&w), "Too much."), "%s", window_text(&w));
    leave(&w);
}

/* Lines end as they did in a memory file that was opened and left as it was. */
static void case_memory(void)
{
    static const char text[] = "One.\r\n\r\nTwo.";
    CLEANUP(buf_release) struct buf after = BUF_INIT(4096);
    CLEANUP(mem_freep) char *path = NULL;
    struct window w;

    start(&w, "step\n  text Not asked.\n");
    path = path_join(w.top, "work/CLAUDE.md");
    put_file(&w, "work/CLAUDE.md", text);
    window_type(&w, "/memory" ENTER);
    answer(&w, ENTER);
    window_until(&w, "Two.");
    window_settle(&w, 400);
    window_type(&w, ENTER);
    window_until(&w, "is as it was");
    CHECK(file_slurp(path, 4096, &after, NULL) == 0 && str_is(buf_str(&after), text),
          "it became: %s", buf_cstr(&after));
    until_idle(&w);
    window_type(&w, CTRL_D);
    CHECK(window_end(&w) == 0, "exit code");
    window_close(&w);
}

/* An editor that fails takes neither what was saved in it nor the mode of the terminal along. */
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
    at = strstr(window_text(&w), "what was saved is in /tmp/tenax-prompt-");
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

/* `--resume` alone lets one choose; /clear begins anew; what was said is found again with Up. */
static void case_sessions(void)
{
    static const char *const args[] = {"--resume", NULL};
    struct window w;
    struct window next;

    start(&w, "step\n  text The first answer.\nstep\n  text The second one.\n");
    window_type(&w, "remember the milk" ENTER);
    window_until(&w, "The first answer.");
    until_idle(&w);
    window_type(&w, "/clear" ENTER);
    window_until(&w, "new session");
    window_type(&w, UP UP);
    window_until(&w, "❯ remember the milk");
    window_type(&w, CTRL_C);
    window_until_gone(&w, "❯ remember the milk");
    until_idle(&w);
    window_type(&w, CTRL_D);
    CHECK(window_end(&w) == 0, "exit code");
    {
        struct window_spec again = {.build = build,
                                    .scenario = "step\n  text And on it goes.\n",
                                    .args = args,
                                    .home = w.top};

        window_open(&next, &again);
    }
    answer(&next, ENTER);
    window_until(&next, "session resumed");
    window_until(&next, "The first answer.");
    window_type(&next, "go on" ENTER);
    window_until(&next, "And on it goes.");
    leave(&next);
    window_close(&w);
}

/* `tenax goal …` in another terminal; whoever has the session must have been told. */
static void goal_outside(struct window *w, const char *verb)
{
    const char *const args[] = {"goal", verb, NULL};
    struct window_spec spec = {.build = build, .args = args, .home = w->top};
    struct window other;

    window_open(&other, &spec);
    CHECK(window_end(&other) == 0, "goal %s: %s", verb, window_text(&other));
    CHECK(!strstr(window_text(&other), "could not be told"), "goal %s: %s", verb,
          window_text(&other));
    window_close(&other);
}

/* What another terminal does to the goal is seen and done at once, also in a window where nothing
 * moves, and in the session that came after another. */
static void case_goal_outside(void)
{
    struct window w;

    start(&w, "step\n  text Hello.\n"
              "step\n  pace 200ms\n  text One two three four five six seven eight nine ten.\n"
              "step\n  text On it goes.\n  call Bash {\"command\": \"touch made\"}\n"
              "step\n  sticky\n  pace 200ms\n  text This takes its time, as some things do.\n");
    window_type(&w, "hello" ENTER);
    window_until(&w, "Hello.");
    window_type(&w, "/goal made is there --check 'test -e made'" ENTER);
    window_until(&w, "One two");
    goal_outside(&w, "pause");
    window_until(&w, "goal paused");
    window_until(&w, "say what to do");
    window_settle(&w, 300);
    goal_outside(&w, "resume");
    window_until(&w, "On it goes.");
    answer(&w, "1");
    window_until(&w, "This takes");
    goal_outside(&w, "clear");
    window_until_gone(&w, "context · goal");
    window_type(&w, ESC);
    window_until(&w, "say what to do");

    window_type(&w, "/clear" ENTER);
    window_until(&w, "new session");
    window_type(&w, "/goal more is there --check 'test -e more'" ENTER);
    window_until(&w, "check: test -e more");
    goal_outside(&w, "pause");
    window_until(&w, "goal paused");
    leave(&w);
}

/* A command that waits for the person keeps another terminal waiting, which then does it itself:
 * once, not again when the person has answered. */
static void case_goal_outside_once(void)
{
    struct window w;

    start(&w, "step\n  sticky\n  pace 200ms\n  text This takes its time, as some things do.\n");
    window_type(&w, "/goal one is there --check 'test -e one'" ENTER);
    window_until(&w, "This takes");
    goal_outside(&w, "pause");
    window_until(&w, "goal paused");
    until_idle(&w);
    window_type(&w, "/goal two is there --check 'test -e two'" ENTER);
    window_until(&w, "There is a goal already");
    goal_outside(&w, "clear");
    answer(&w, "2");
    window_until(&w, "check: test -e two");
    window_type(&w, "/goal pause" ENTER); /* behind whatever waits there */
    window_until(&w, "Goal paused");
    leave(&w);
}

/* A hook that has heard of new settings, on the thread of the status line, and does not end. */
static void start_hooked(struct window *w)
{
#define HOOKED_SETTINGS                                                                            \
    "\"statusLine\":{\"type\":\"command\",\"command\":\"echo the line\",\"refreshInterval\":1},"   \
    "\"hooks\":{\"ConfigChange\":[{\"hooks\":[{\"type\":\"command\",\"command\":"                  \
    "\"touch $HOME/hooked; until test -e $HOME/go; do sleep 0.1; done\"}]}]}"
    struct window_spec spec = {.build = build,
                               .scenario = "step\n  if-prompt meanwhile\n  text Anew.\n"
                                           "step\n  text Hello.\n",
                               .settings = "{" HOOKED_SETTINGS "}"};

    window_open(w, &spec);
    window_until(w, "the line");
    window_type(w, "hi" ENTER); /* hooks are an agent's */
    window_until(w, "Hello.");
    until_idle(w);
    put_file(w, "home/.tenax/settings.json", "{\"theme\":\"light\"," HOOKED_SETTINGS "}");
    window_until_file(w, "home/hooked");
}

static void let_hook_end(const struct window *w)
{
    put_file(w, "home/go", "");
}

/* What the status line waits for does not keep the person's terminal. */
static void case_hook_at_the_end(void)
{
    struct window w;

    start_hooked(&w);
    window_type(&w, CTRL_D);
    window_until_raw(&w, ESC "[?2004l", 0);
    let_hook_end(&w);
    CHECK(window_end(&w) == 0, "exit code");
    check_sane(&w);
    window_close(&w);
}

/* Nor does it keep keys waiting while a session is left for another. */
static void case_hook_at_a_switch(void)
{
    struct window w;

    start_hooked(&w);
    window_type(&w, "/clear" ENTER);
    window_until(&w, "one moment");
    window_type(&w, "typed meanwhile" ENTER);
    window_until_shown(&w, "takes it back");
    window_type(&w, UP);
    window_until_gone(&w, "takes it back");
    window_until_shown(&w, "❯ typed meanwhile");
    let_hook_end(&w);
    window_until(&w, "new session");
    window_type(&w, ENTER);
    window_until(&w, "Anew.");
    leave(&w);
}

/* After a long pause a fresh session is begun: what is typed before it is there is said in it. */
static void case_fresh(void)
{
    static const char *const env[] = {"TENAX_TEST_CLOCK=fast:3600", NULL}; /* an hour a second */
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  if-prompt \"first words\"\n  usage input=60000\n  text First answer.\n"
                    "step\n  sticky\n  text Fresh answer.\n",
        .env = env,
    };
    struct window w;
    const char *rule;

    window_open(&w, &spec);
    until_idle(&w);
    window_type(&w, "first words" ENTER);
    window_until(&w, "First answer.");
    until_idle(&w);
    window_settle(&w, 1500);
    window_type(&w, "f");
    window_until_shown(&w, "A long pause");
    window_until_shown(&w, "Start a fresh session");
    window_settle(&w, 100);
    window_type(&w, DOWN ENTER "resh words" ENTER); /* at once: nothing is there yet */
    window_until(&w, "Fresh answer.");
    until_idle(&w);
    rule = strstr(window_text(&w), "new session");
    CHECK(rule && strstr(rule, "> fresh words"), "%s", window_text(&w));
    CHECK(window_count(&w, "> fresh words") == 1, "%s", window_text(&w));
    CHECK(sessions_search(&w, "fresh words").sessions == 1, "not in one session");
    leave(&w);
}

/* What was said behind the command, and taken back before the next session is there, is not said.
 */
static void case_taken_back_at_a_switch(void)
{
    struct window w;

    start_hooked(&w);
    window_type(&w, "/clear" ENTER "wrong words" ENTER);
    window_until_shown(&w, "takes it back");
    window_until_shown(&w, "one moment");
    window_settle(&w, 300);
    window_type(&w, UP);
    window_until_shown(&w, "❯ wrong words");
    window_type(&w, CTRL_C);
    window_until_gone(&w, "wrong words");
    let_hook_end(&w);
    window_until(&w, "new session");
    window_type(&w, "said meanwhile" ENTER);
    window_until(&w, "Anew.");
    until_idle(&w);
    CHECK(sessions_with(&w, "wrong words") == 0, "it was said:\n%s", window_text(&w));
    leave(&w);
}

static void check_told(const struct window *w, const char *name, const char *wanted)
{
    CLEANUP(mem_freep) char *path = path_join(w->top, name);
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 16);
    struct err err = {0};

    CHECK(file_slurp(path, 1 << 16, &text, &err) == 0, "%s", err.text);
    CHECK(strcmp(buf_cstr(&text), wanted) == 0, "%s: %s", name, buf_cstr(&text));
}

/* Hooks hear how a session begins and why it ends, and may speak to the terminal. */
static void case_hook_reasons(void)
{
#define TELLS(event, field)                                                                        \
    "\"" event "\":[{\"hooks\":[{\"type\":\"command\",\"timeout\":60,\"command\":\"grep -o "       \
    "'\\\"" field "\\\":\\\"[a-z_]*' >> $HOME/told\"}]}]"
    struct window w;
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  if-prompt again\n  text Anew.\nstep\n  if-prompt back\n  text Here "
                    "again.\nstep\n  text Hello.\n",
        .settings = "{\"hooks\":{" TELLS("SessionStart", "source") "," TELLS(
            "SessionEnd", "reason") ",\"UserPromptSubmit\":[{\"hooks\":[{\"type\":\"command\","
                                    "\"command\":\"cat $HOME/bell\"}]}]}}",
    };

    window_open(&w, &spec);
    put_file(&w, "home/bell",
             "{\"terminalSequence\":\"\\u001b]777;notify;by a hook;said\\u0007\"}");
    until_idle(&w);
    window_type(&w, "hi" ENTER);
    window_until(&w, "Hello.");
    window_until_raw(&w, ESC "]777;notify;by a hook;said\a", 0);
    until_idle(&w);
    window_type(&w, "/clear" ENTER);
    window_until(&w, "new session");
    window_type(&w, "again" ENTER);
    window_until(&w, "Anew.");
    until_idle(&w);
    window_type(&w, "/resume" ENTER);
    window_until_shown(&w, "Enter choose");
    answer(&w, ENTER);
    window_until(&w, "session resumed");
    window_type(&w, "back" ENTER);
    window_until(&w, "Here again.");
    until_idle(&w);
    window_type(&w, "/exit" ENTER);
    CHECK(window_end(&w) == 0, "exit code");
    check_told(&w, "home/told",
               "\"source\":\"startup\n\"reason\":\"clear\n\"source\":\"clear\n"
               "\"reason\":\"resume\n\"source\":\"resume\n"
               "\"reason\":\"prompt_input_exit\n");
    window_close(&w);
}

/* Nothing was said, so there is nothing to come back to when there is nothing to go to. */
static void case_resume_nothing(void)
{
    struct window w;

    start(&w, "step\n  text Still here.\n");
    window_type(&w, "/resume 00000000-0000-4000-8000-000000000000" ENTER);
    window_until(&w, "00000000-0000-4000-8000-000000000000'");
    window_type(&w, "hi" ENTER);
    window_until(&w, "Still here.");
    leave(&w);
}

/* What a session has asked is asked no more when another one is in front. */
static void case_ask_left(void)
{
    struct window w;

    start_held(&w,
               "step\n  if-prompt remember\n  text Noted.\n"
               "step\n  if-prompt \"and now\"\n  text So we are back.\n"
               "step\n  text one two\n  " WAITS "step\n  call Bash {\"command\": \"touch made\"}\n"
               "step\n  text That is all.\n",
               "{" MAY_WAIT ",\"hooks\":{\"Notification\":[{\"matcher\":\"permission_prompt\","
               "\"hooks\":[{\"type\":\"command\",\"command\":\"touch $HOME/asked\"}]}]}}");
    window_type(&w, "remember the milk" ENTER);
    window_until(&w, "Noted.");
    until_idle(&w);
    window_type(&w, "/clear" ENTER);
    window_until(&w, "new session");
    window_type(&w, "go" ENTER);
    window_until(&w, "two");
    window_type(&w, "/resume" ENTER);
    window_until_shown(&w, "Enter choose");
    let_go(&w); /* the question comes behind it */
    window_until_file(&w, "home/asked");
    answer(&w, ENTER);
    window_until(&w, "session resumed");
    until_idle(&w);
    CHECK(!strstr(window_screen(&w), "Enter choose"), "%s", window_text(&w));
    window_type(&w, "and now" ENTER);
    window_until(&w, "So we are back.");
    check_made(&w, false);
    leave(&w);
}

/* What is said behind a command that leaves the session is said in the next one. */
static void case_said_behind(void)
{
    struct window w;

    start(&w, "step\n  if-prompt \"new start\"\n  text Gladly.\nstep\n  text Hello.\n");
    window_type(&w, "hi" ENTER);
    window_until(&w, "Hello.");
    window_type(&w, "/clear" ENTER "a new start" ENTER "/help" ENTER);
    window_until(&w, "Gladly.");
    window_until(&w, "new session");
    window_until(&w, "/compact");
    leave(&w);

    /* Shown once: a command waits for no turn, so it was shown before there was another session. */
    start(&w, "step\n  text Hello.\n");
    window_type(&w, "/clear" ENTER "/help" ENTER);
    window_until(&w, "/compact");
    CHECK(window_count(&w, "> /help") == 1, "it is not there once:\n%s", window_text(&w));
    leave(&w);
}

/* Nor is it said in both when a turn runs that would take it up. */
static void case_said_behind_at_work(void)
{
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  if-prompt lengthy\n  call Bash {\"command\": \"sleep 60\"}\n"
                    "step\n  if-prompt \"new start\"\n  text Gladly.\nstep\n  text Hello.\n",
        .settings = "{\"permissions\":{\"allow\":[\"Bash\"]}}",
    };
    struct window w;

    window_open(&w, &spec);
    window_until(&w, "say what to do");
    window_type(&w, "a lengthy job" ENTER);
    window_until(&w, "sleep 60");
    window_type(&w, "/clear" ENTER "a new start" ENTER);
    window_until(&w, "Gladly.");
    CHECK(sessions_with(&w, "a lengthy job") == 1, "the first session is not there");
    CHECK(sessions_with(&w, "a new start") == 1, "both sessions have heard it");
    leave(&w);
}

static const char lengthy[] = "step\n  if-prompt \"waiting words\"\n  text Along it went.\n"
                              "step\n  if-prompt lengthy\n  call Bash {\"command\": \"sleep 60\"}\n"
                              "step\n  sticky\n  text Hello.\n";

static void start_lengthy(struct window *w, const char *home)
{
    struct window_spec spec = {.build = build,
                               .scenario = lengthy,
                               .settings = "{\"permissions\":{\"allow\":[\"Bash\"]}}",
                               .home = home};

    window_open(w, &spec);
    window_until(w, "say what to do");
    window_type(w, "a lengthy job" ENTER);
    window_until(w, "sleep 60");
}

/* What waited stays with the session that is left, which is said; a copy takes it along. */
static void case_queue_left(void)
{
    struct window w;

    start_lengthy(&w, /*home=*/NULL);
    window_type(&w, "waiting words" ENTER);
    window_until(&w, "takes it back");
    window_type(&w, "/clear" ENTER);
    window_until(&w, "1 queued message stays with the session before");
    window_until(&w, "new session");
    window_type(&w, "hi" ENTER);
    window_until(&w, "Hello.");
    leave(&w);

    start_lengthy(&w, /*home=*/NULL);
    window_type(&w, "waiting words" ENTER);
    window_until(&w, "takes it back");
    window_type(&w, "/branch" ENTER);
    window_until(&w, "Along it went.");
    CHECK(!strstr(window_text(&w), "queued message"), "%s", window_text(&w));
    leave(&w);
}

/* What waits until something is said does so in the session it is of; a copy begins no turn. */
static void case_kept_queue_left(void)
{
    static const char *const args[] = {"--continue", NULL};
    struct window_spec again = {.build = build,
                                .scenario = "step\n  if-prompt \"waiting words\"\n"
                                            "  text Along it went.\nstep\n  text Hello.\n",
                                .args = args};
    struct window next;
    struct window w;

    start_lengthy(&w, /*home=*/NULL);
    window_type(&w, "waiting words" ENTER);
    until_kept(&w, 1);
    kill(w.pid, SIGKILL);
    window_end(&w);
    again.home = w.top;
    window_open(&next, &again);
    window_until_shown(&next, "› waiting words");
    window_type(&next, "/branch" ENTER);
    window_until(&next, "1 queued message stays with the session before");
    until_idle(&next);
    window_type(&next, "hi" ENTER);
    window_until(&next, "Hello.");
    CHECK(!strstr(window_text(&next), "Along it went."), "%s", window_text(&next));
    leave(&next);
    window_close(&w);
}

/* A session that another process has cannot be gone to, and what runs here goes on. */
static void case_resume_held(void)
{
    struct window other;
    struct window w;

    start(&other, "step\n  text Noted.\n");
    window_type(&other, "remember the milk" ENTER);
    window_until(&other, "Noted.");
    start_lengthy(&w, other.top);
    window_type(&w, "/resume remember" ENTER);
    window_until(&w, "is open in another process");
    window_until(&w, "Esc interrupts");
    CHECK(!strstr(window_text(&w), "Interrupted."), "%s", window_text(&w));
    window_type(&w, ESC);
    leave(&w);
    leave(&other);
}

/* Nor can one that is gone by the time it is chosen: what runs goes on, and hears what was said. */
static void case_resume_gone(void)
{
    CLEANUP(mem_freep) char *pattern = NULL;
    glob_t found = {0};
    struct window w;

    start_held(&w,
               "step\n  if-prompt remember\n  text Noted.\n"
               "step\n  text one two\n  " WAITS "step\n  sticky\n  text Second answer.\n",
               "{" MAY_WAIT "}");
    pattern = path_join(w.top, "home/.tenax/projects/*/*.jsonl");
    window_type(&w, "remember the milk" ENTER);
    window_until(&w, "Noted.");
    until_idle(&w);
    CHECK(glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1, "no session");
    window_type(&w, "/clear" ENTER);
    window_until(&w, "new session");
    window_type(&w, "go" ENTER);
    window_until(&w, "two");
    window_type(&w, "/resume" ENTER);
    window_until_shown(&w, "Enter choose");
    CHECK(unlink(found.gl_pathv[0]) == 0, "unlink");
    while (strstr(window_screen(&w), "Enter choose")) { /* a turn runs: it does not come to rest */
        window_type(&w, ENTER);
        window_wait(&w, 100);
    }
    window_until(&w, "no session is called");
    CHECK(!strstr(window_text(&w), "Interrupted."), "%s", window_text(&w));
    let_go(&w);
    window_until(&w, "Second answer.");
    CHECK(window_count(&w, "new session") == 1, "%s", window_text(&w));
    leave(&w);
    globfree(&found);
}

/* A program in front of the control socket. */
static int connect_from_outside(struct window *w)
{
    CLEANUP(mem_freep) char *pattern = path_join(w->top, "home/.tenax/run/*.sock");
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    glob_t found = {0};

    while (glob(pattern, 0, NULL, &found) != 0)
        window_wait(w, 20);
    CHECK(strlen(found.gl_pathv[0]) < sizeof(at.sun_path), "%s", found.gl_pathv[0]);
    memcpy(at.sun_path, found.gl_pathv[0], strlen(found.gl_pathv[0]));
    CHECK(connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0, "connect");
    globfree(&found);
    return fd;
}

static void say_to(int fd, const char *lines)
{
    CHECK(write(fd, lines, strlen(lines)) == (ssize_t)strlen(lines), "write");
}

static void say_from_outside(struct window *w, const char *lines)
{
    int fd = connect_from_outside(w);

    say_to(fd, lines);
    close(fd);
}

/* Reads until it has come; text NULL: until the other side closes. */
static void hear_until(struct window *w, int fd, struct buf *heard, const char *text)
{
    while (!text || !strstr(buf_cstr(heard), text)) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        char bytes[4096];
        ssize_t n;

        if (poll(&p, 1, 10) == 0) {
            window_wait(w, 10);
            continue;
        }
        n = read(fd, bytes, sizeof(bytes));
        CHECK(n > 0 || !text, "closed before '%s':\n%s", text, buf_cstr(heard));
        if (n <= 0)
            return;
        buf_add(heard, str_make(bytes, (size_t)n));
    }
}

/* What a program says behind a command that leaves the session is said in the next one, as it would
 * be for a person; and that session can be gone on with. */
static void case_client_behind(void)
{
#define SAYS(text) "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"" text "\"}}\n"
    struct window w;

    start(&w, "step\n  if-prompt \"new start\"\n  text Gladly.\nstep\n  text Hello.\n");
    window_type(&w, "hi" ENTER);
    window_until(&w, "Hello.");
    until_idle(&w);
    say_from_outside(&w, SAYS("/clear") SAYS("a new start"));
    window_until(&w, "Gladly.");
    window_until(&w, "new session");
    CHECK(sessions_with(&w, "a new start") == 1, "it is not in one session");
    leave(&w);
}

/* A program that was asked for leave is told that nobody waits for its answer any more, when the
 * session is left; then it has to connect again. */
static void case_client_left(void)
{
    CLEANUP(buf_release) struct buf heard = BUF_INIT(BUF_NO_LIMIT);
    struct window w;
    int fd;

    start(&w, "step\n  if-prompt \"do it\"\n  call Bash {\"command\":\"touch made\"}\n"
              "step\n  if-prompt hello\n  text Gladly.\nstep\n  text A pity.\n");
    fd = connect_from_outside(&w);
    say_to(fd, "{\"type\":\"control_request\",\"request_id\":\"o\",\"request\":"
               "{\"subtype\":\"observe\",\"answer_asks\":true}}\n");
    hear_until(&w, fd, &heard, "\"request_id\":\"o\"");
    window_type(&w, "do it" ENTER);
    hear_until(&w, fd, &heard, "can_use_tool");
    say_to(fd, SAYS("/clear"));
    hear_until(&w, fd, &heard, NULL);
    CHECK(strstr(buf_cstr(&heard), "control_cancel_request"), "%s", buf_cstr(&heard));
    close(fd);
    window_until(&w, "new session");
    say_from_outside(&w, SAYS("hello"));
    window_until(&w, "Gladly.");
    leave(&w);
}

/* Esc Esc, a message, "the conversation": its words are in the editor, to be said otherwise. */
static void case_rewind(void)
{
    struct window w;

    start(&w, "step\n  if-prompt \"the oats\"\n  text Oats it is.\n"
              "step\n  if-prompt \"the milk\"\n  text Noted.\n");
    window_type(&w, "remember the milk\\" ENTER "and more" ENTER);
    window_until(&w, "Noted.");
    window_until(&w, "say what to do");
    window_type(&w, ESC);
    window_until(&w, "Esc again goes back");
    window_type(&w, ESC);
    window_until(&w, "Back to before which message?");
    window_type(&w, ENTER);
    window_until(&w, "What shall go back?");
    window_type(&w, ENTER);
    window_until(&w, "Conversation set back");
    window_until(&w, "❯ remember the milk");
    window_type(&w, CTRL_C);
    window_until(&w, "say what to do");
    window_type(&w, "rather the oats" ENTER);
    window_until(&w, "Oats it is.");
    leave(&w);
}

/* A disk that takes nothing: stopping is under the cursor; one can go on without keeping it. */
static void case_disk_full(void)
{
    static const char *const env[] = {"TENAX_TEST_WRITE=full:1", NULL};
    struct window_spec spec = {.build = build, .scenario = "step\n  text Hello.\n", .env = env};
    struct window w;

    window_open(&w, &spec);
    window_until(&w, "say what to do");
    window_type(&w, "hi" ENTER);
    window_until(&w, "The session can no longer be written down");
    window_until(&w, "❯ 1. Stop here; it goes on when there is room");
    CHECK(window_count(&w, "No space left") == 1, "the reason:\n%s", window_text(&w));
    answer(&w, ENTER);
    window_until(&w, "the turn ends here");
    window_until(&w, "say what to do");
    CHECK(!window_count(&w, "Hello."), "it went on:\n%s", window_text(&w));
    window_type(&w, "hi again" ENTER);
    answer(&w, "2");
    window_until(&w, "Hello.");
    window_until(&w, "say what to do");
    window_type(&w, CTRL_D);
    CHECK(window_end(&w) == 0, "exit code");
    window_close(&w);
}

static void case_shell(void)
{
    struct window w;

    start(&w, "step\n  if-prompt \"forty-two\"\n  text I have seen it.\n");
    window_type(&w, "!echo forty-two" ENTER);
    window_until(&w, "⎿  forty-two");
    window_type(&w, "look" ENTER);
    window_until(&w, "I have seen it.");
    CHECK(!strstr(window_text(&w), "<bash-input>"), "%s", window_text(&w));
    leave(&w);
}

/* What waits behind a command can be taken back, too. */
static void case_shell_queue(void)
{
    struct window w;

    start(&w, "step\n  if-prompt \"right words\"\n  text Heard.\nstep\n  text Wrong.\n");
    window_type(&w, "!sleep 60" ENTER);
    window_until(&w, "!sleep runs");
    window_type(&w, "wrong words" ENTER);
    window_until(&w, "takes it back");
    window_type(&w, UP);
    window_until_gone(&w, "takes it back");
    window_until(&w, "❯ wrong words");
    window_type(&w, CTRL_C ESC);
    window_until(&w, "say what to do");
    window_type(&w, "right words" ENTER);
    window_until(&w, "Heard.");
    CHECK(sessions_with(&w, "wrong words") == 0, "it was said:\n%s", window_text(&w));
    leave(&w);
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
    window_until(&w, "!sleep runs");
    window_type(&w, "!touch made" ENTER "for later" ENTER);
    window_until(&w, "takes it back");
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
    window_until_gone(&next, "takes it back");
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

/* ---- much at once ---- */

/* What frames may cost: the thread's own processor time, which a busy machine stretches much. */
#define FRAME_US 4000
#define FRAMES_PER_S 125 /* while a stream is faster than what was shown of it */

struct frames {
    int *us;
    size_t *bytes; /* of a stream that each has shown */
    size_t count;
};

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a;
    int y = *(const int *)b;

    return (x > y) - (x < y);
}

static int by_size(const void *a, const void *b)
{
    size_t x = *(const size_t *)a;
    size_t y = *(const size_t *)b;

    return (x > y) - (x < y);
}

static void frames_load(const char *path, struct frames *ret)
{
    FILE *from = fopen(path, "r");
    size_t bytes;
    int us;

    *ret = (struct frames){0};
    CHECK(from, "no %s", path);
    while (fscanf(from, "%d %zu", &us, &bytes) == 2) {
        ret->us = mem_realloc(ret->us, (ret->count + 1) * sizeof(*ret->us));
        ret->bytes = mem_realloc(ret->bytes, (ret->count + 1) * sizeof(*ret->bytes));
        ret->us[ret->count] = us;
        ret->bytes[ret->count++] = bytes;
    }
    fclose(from);
    CHECK(ret->count > 0, "no frames");
    qsort(ret->us, ret->count, sizeof(*ret->us), by_number);
    qsort(ret->bytes, ret->count, sizeof(*ret->bytes), by_size);
}

static void frames_release(struct frames *f)
{
    mem_freep(&f->us);
    mem_freep(&f->bytes);
}

/* Starts it with a count of its frames. */
static void start_counted(struct window *w, const char *scenario, char path[static 64])
{
    char name[96];
    const char *env[] = {name, NULL};
    struct window_spec spec = {.build = build, .scenario = scenario, .env = env};

    snprintf(path, 64, "/tmp/tenax-frames-%d", (int)getpid());
    snprintf(name, sizeof(name), "TENAX_TEST_FRAMES=%s", path);
    window_open(w, &spec);
    until_idle(w);
}

/* Their cost is shown, and judged where nothing slows the program down; the slowest ones, so many
 * of a hundred, are not. */
static void end_counted(struct window *w, const char *path, struct frames *ret)
{
    int worst;
    int p99;

    leave(w);
    frames_load(path, ret);
    p99 = ret->us[ret->count * 99 / 100];
    worst = ret->us[ret->count - 1];
    printf("%zu frames, %d us of the thread's own at p99, %d at most\n", ret->count, p99, worst);
    CHECK(IS_WATCHED || p99 <= FRAME_US * 5, "a frame takes %d us", p99);
    if (!getenv("KEEP_FRAMES"))
        unlink(path);
}

/* Keys typed into a storm of text are seen at once: the frame that follows has them. */
static void type_and_see(struct window *w, const char *word)
{
    for (size_t i = 1; word[i - 1]; i++) {
        char typed[64];

        snprintf(typed, sizeof(typed), "%.1s", word + i - 1);
        window_type(w, typed);
        snprintf(typed, sizeof(typed), "❯ %.*s", (int)i, word);
        window_until(w, typed);
    }
}

#define STORM_LINES 200000

/* A model that is faster than any: what half of the frames show at least is enough for a stream of
 * 5 MB/s, where nobody else needs the processor; a fifth of that must do on any machine. */
static void case_storm(void)
{
    CLEANUP(buf_release) struct buf scenario = BUF_INIT(BUF_NO_LIMIT);
    struct frames frames;
    char path[64];
    struct window w;
    int64_t from_ms;
    double rate;

    buf_adds(&scenario, "chunk 20000\npace 1ms\nstep\n  text <<END\n");
    for (int i = 1; i <= STORM_LINES; i++)
        buf_addf(&scenario, "    Line %d of a long answer with **bold** words and `code`.%s\n", i,
                 i % 10 ? "" : "\n");
    buf_adds(&scenario, "    The end of it.\n    END\nstep\n  text Second answer.\n");
    start_counted(&w, buf_cstr(&scenario), path);
    window_type(&w, "go" ENTER);
    window_until_raw(&w, "Line 100 ", 0);
    from_ms = clock_mono_ms();
    type_and_see(&w, "typed");
    window_until_raw(&w, "The end of it.", 0);
    printf("%.1f MB/s\n", (double)scenario.len / 1000 / (double)(clock_mono_ms() - from_ms + 1));
    window_type(&w, ENTER);
    window_until(&w, "Second answer.");
    end_counted(&w, path, &frames);
    rate = (double)frames.bytes[frames.count / 2] * FRAMES_PER_S / 1e6;
    printf("%.1f MB/s at %d frames a second\n", rate, FRAMES_PER_S);
    CHECK(IS_WATCHED || rate > 1, "only %.1f MB/s", rate);
    frames_release(&frames);
}

static void case_long_diff(void)
{
    CLEANUP(buf_release) struct buf scenario = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct frames frames;
    char path[64];
    struct window w;

    for (int i = 1; i <= 10000; i++)
        buf_addf(&text, "line %d\\n", i);
    buf_addf(&scenario,
             "step\n  call Write {\"file_path\": \"long.txt\", \"content\": \"%s\"}\n"
             "step\n  text It is written.\n",
             buf_cstr(&text));
    start_counted(&w, buf_cstr(&scenario), path);
    window_type(&w, "go" ENTER);
    window_until(&w, "Enter choose");
    for (int i = 0; i < 50; i++) {
        window_type(&w, PAGE_DOWN);
        window_settle(&w, 20);
    }
    answer(&w, "1");
    type_and_see(&w, "typed");
    window_until(&w, "It is written.");
    window_type(&w, CTRL_C);
    window_until_gone(&w, "typed");
    end_counted(&w, path, &frames);
    CHECK(IS_WATCHED || frames.us[frames.count - 1] <= FRAME_US * 5, "a frame takes %d us",
          frames.us[frames.count - 1]);
    frames_release(&frames);
}

static void case_keys(void)
{
    struct window w;

    start(&w, "step\n  text Hello.\n");
    window_type(&w, "?");
    window_until(&w, "Shift-Tab mode");
    window_type(&w, " who" ENTER);
    window_until(&w, "Hello.");
    CHECK(window_count(&w, "? who") == 1, "%s", window_text(&w));
    leave(&w);
}

/* The story says that it is over, and has an answer for whoever goes on talking. */
static void case_demo(void)
{
    static const char *const args[] = {"demo", NULL};
    struct window_spec spec = {.build = build, .args = args};
    struct window w;

    window_open(&w, &spec);
    window_until(&w, "This was the demo. /goal report");
    window_until(&w, "say what to do");
    window_type(&w, "and now?" ENTER);
    window_until(&w, "I am a script");
    window_until(&w, "say what to do");
    window_type(&w, CTRL_D);
    CHECK(window_end(&w) == 0, "exit code");
    window_close(&w);
}

/* `tenax | cat` at a terminal: a line that says what to do, not pages of help. */
static void case_no_terminal(void)
{
    struct window_spec spec = {.build = build, .scenario = "", .shell = true};
    struct window w;

    window_open(&w, &spec);
    window_type(&w, "$TENAX | cat; echo the end" ENTER);
    window_until(&w, "\nthe end");
    CHECK(strstr(window_text(&w), "a session needs a terminal"), "%s", window_text(&w));
    CHECK(!strstr(window_text(&w), "Usage:"), "%s", window_text(&w));
    window_close(&w);
}

static void case_no_key(void)
{
    struct window_spec spec = {.build = build};
    struct window w;

    window_open(&w, &spec);
    window_until(&w, "ANTHROPIC_API_KEY");
    CHECK(window_count(&w, "ANTHROPIC_API_KEY") == 1, "said twice:\n%s", window_text(&w));
    answer(&w, "2");
    CHECK(window_end(&w) == 2, "exit code");
    CHECK(!strstr(window_text(&w), "credentials were refused"), "none were tried:\n%s",
          window_text(&w));
    check_sane(&w);
    window_close(&w);
}

/* Nothing is worked on before the person has said what the folder may do. */
static void case_trust(void)
{
    static const char *const args[] = {"say hello", NULL};
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  text Hello.\nstep\n  text Again.\n",
        .args = args,
        .untrusted = true,
    };
    struct window w;

    window_open(&w, &spec);
    window_until(&w, "Enter choose");
    window_settle(&w, 400);
    CHECK(!strstr(window_text(&w), "Hello."), "it began before:\n%s", window_text(&w));
    window_type(&w, "2");
    window_until(&w, "Hello.");
    until_idle(&w);
    window_type(&w, "hi" ENTER);
    window_until(&w, "Again.");
    leave(&w);
}

/* Enter at the question is a no; a goal asks it once more, and a yes counts at once. */
static void case_trust_again(void)
{
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  text All is well.\n",
        .untrusted = true,
    };
    struct window w;

    window_open(&w, &spec);
    window_until(&w, "there are no goals here");
    answer(&w, ENTER);
    window_until_gone(&w, "Enter choose");
    window_type(&w, "/goal the file x is there --check true" ENTER);
    window_until(&w, "You have said no before");
    answer(&w, "2");
    window_until(&w, "All is well.");
    CHECK(!strstr(window_text(&w), "this one is not"), "%s", window_text(&w));
    window_close(&w);
}

/* Settings of the folder would not count: what is allowed there is allowed for the session. */
static void case_untrusted_always(void)
{
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  call Bash {\"command\": \"chmod 600 a\"}\n"
                    "step\n  call Bash {\"command\": \"chmod 644 a\"}\n"
                    "step\n  text Both were tried.\n",
        .untrusted = true,
        .settings = "{\"sandbox\": {\"enabled\": false}}",
    };
    struct window w;

    window_open(&w, &spec);
    window_until(&w, "Do you trust this folder?");
    answer(&w, ENTER);
    window_until_gone(&w, "Do you trust this folder?");
    window_type(&w, "go" ENTER);
    window_until(&w, "until this session ends");
    answer(&w, "2");
    window_until(&w, "Both were tried.");
    until_idle(&w);
    window_type(&w, "/permissions allow Bash(ls) local" ENTER);
    window_until(&w, "this folder is not trusted");
    window_type(&w, "/permissions deny Bash(ls) local" ENTER);
    window_until(&w, "deny: Bash(ls)");
    leave(&w);
}

static void case_plain(void)
{
    static const char *const args[] = {"--plain", NULL};
    struct window_spec spec = {
        .build = build, .scenario = "step\n  text Hello, plainly.\n", .args = args, .term = "dumb"};
    struct window w;

    window_open(&w, &spec);
    window_type(&w, "hi" ENTER);
    window_until(&w, "Hello, plainly.");
    window_until(&w, "Done.");
    window_type(&w, SHIFT_TAB);
    window_until(&w, "Mode: acceptEdits");
    CHECK(!strchr(buf_cstr(&w.raw), ESC[0]), "there are escape sequences");
    window_type(&w, CTRL_D);
    CHECK(window_end(&w) == 0, "exit code");
    window_close(&w);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"hello", case_hello},
    {"announcement", case_announcement},
    {"file-suggestion", case_file_suggestion},
    {"first-prompt", case_first_prompt},
    {"nearly-a-command", case_nearly_a_command},
    {"misspelt", case_misspelt},
    {"typed-early", case_typed_early},
    {"interrupt", case_interrupt},
    {"ctrl-c", case_ctrl_c},
    {"queue", case_queue},
    {"queue-edited", case_queue_edited},
    {"queue-refused", case_queue_refused},
    {"interrupt-hook", case_interrupt_hook},
    {"interrupt-early", case_interrupt_early},
    {"permission-yes", case_permission_yes},
    {"permission-no", case_permission_no},
    {"modes", case_modes},
    {"transcript", case_transcript},
    {"resize", case_resize},
    {"draft", case_draft},
    {"term", case_term},
    {"hup", case_hup},
    {"segv", case_segv},
    {"quit", case_quit},
    {"usr1", case_usr1},
    {"window-closed", case_window_closed},
    {"paste", case_paste},
    {"suspend", case_suspend},
    {"editor", case_editor},
    {"editor-fails", case_editor_fails},
    {"editor-term", case_editor_term},
    {"term-early", case_term_early},
    {"branch", case_branch},
    {"costs", case_costs},
    {"costs-meanwhile", case_costs_meanwhile},
    {"resume-budget", case_resume_budget},
    {"instead-budget", case_instead_budget},
    {"memory", case_memory},
    {"sessions", case_sessions},
    {"goal-outside", case_goal_outside},
    {"goal-outside-once", case_goal_outside_once},
    {"hook-at-the-end", case_hook_at_the_end},
    {"hook-at-a-switch", case_hook_at_a_switch},
    {"fresh", case_fresh},
    {"taken-back-at-a-switch", case_taken_back_at_a_switch},
    {"hook-reasons", case_hook_reasons},
    {"resume-nothing", case_resume_nothing},
    {"ask-left", case_ask_left},
    {"said-behind", case_said_behind},
    {"said-behind-at-work", case_said_behind_at_work},
    {"queue-left", case_queue_left},
    {"kept-queue-left", case_kept_queue_left},
    {"resume-held", case_resume_held},
    {"resume-gone", case_resume_gone},
    {"client-behind", case_client_behind},
    {"client-left", case_client_left},
    {"rewind", case_rewind},
    {"disk-full", case_disk_full},
    {"shell", case_shell},
    {"shell-queue", case_shell_queue},
    {"quit-queue", case_quit_queue},
    {"killed-queue", case_killed_queue},
    {"killed-call", case_killed_call},
    {"storm", case_storm},
    {"long-diff", case_long_diff},
    {"no-key", case_no_key},
    {"no-terminal", case_no_terminal},
    {"demo", case_demo},
    {"keys", case_keys},
    {"trust", case_trust},
    {"trust-again", case_trust_again},
    {"untrusted-always", case_untrusted_always},
    {"plain", case_plain},
};

int main(int argc, char **argv)
{
    bool found = false;

    CHECK(argc == 3, "usage: person BUILD CASE|all");
    build = argv[1];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (strcmp(argv[2], cases[i].name) == 0 || strcmp(argv[2], "all") == 0) {
            found = true;
            cases[i].run();
            printf("%s: ok\n", cases[i].name);
            fflush(stdout);
        }
    }
    CHECK(found, "no such case: %s", argv[2]);
    return 0;
}
