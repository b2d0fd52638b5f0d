/*
 * The display beside the conversation: answers of commands, figures, the title, notifications while
 * the user looks elsewhere. The test program is person.c.
 */
#include "person.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

/* A command that is typed while the model answers is answered at once, as wide as the window. */
static void case_command_meanwhile(void)
{
    struct window w;
    const char *status;

    start(&w, "step\n  text First part.\n  text \"\\n\\none two three\"\n  pause 1000s\n");
    window_type(&w, "count" ENTER);
    window_until(&w, "three");
    window_type(&w, "/status" ENTER);
    window_until(&w, "Settings ");
    window_until(&w, "Transcript");
    status = strstr(window_text(&w), "> /status");
    CHECK(status && strstr(status, "missing parts)") && strstr(status, "one two three"),
          "the answer is cut, or follows what is being said:\n%s", window_text(&w));
    CHECK(strstr(window_text(&w), "First part.") < status, "%s", window_text(&w));
    window_type(&w, ESC);
    window_until(&w, "nterrupted");
    leave(&w);
}

/* A resumed session shows its figures before any input, and after a long pause a fresh one is
 * offered. */
static void case_resume_figures(void)
{
    static const char *const args[] = {"--continue", NULL};
    static const char *const env[] = {"TENAX_TEST_CLOCK=wall:7500000", NULL}; /* later */
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  usage input=60000 output=1000\n  text First answer.\n",
        .settings = "{\"models\":{\"scripted/scenario\":{\"window\":100000,"
                    "\"price\":{\"input\":10,\"output\":1000}}}}",
    };
    struct window first;
    struct window w;

    window_open(&first, &spec);
    until_idle(&first);
    window_type(&first, "first words" ENTER);
    window_until(&first, "First answer.");
    window_until_shown(&first, "61%");
    window_until_shown(&first, "$1.60");
    until_idle(&first);
    window_type(&first, CTRL_D);
    CHECK(window_end(&first) == 0, "exit code");

    spec.home = first.top;
    spec.args = args;
    spec.env = env;
    window_open(&w, &spec);
    until_idle(&w);
    window_until_shown(&w, "61%");
    window_until_shown(&w, "$1.60");
    window_type(&w, "m");
    window_until_shown(&w, "The last answer was 2h");
    answer(&w, ENTER);
    window_until_gone(&w, "A long pause");
    window_type(&w, "ore");
    window_until_shown(&w, "more");
    window_type(&w, CTRL_C);
    leave(&w);
    window_close(&first);
}

/* The line below a prompt lists the files sent with it, and those that were not. */
static void case_mentions(void)
{
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  if-prompt forty-two\n  text Seen.\nstep\n  text Not seen.\n",
        .settings = "{\"permissions\":{\"deny\":[\"Read(secret.txt)\"]}}",
    };
    struct window w;

    window_open(&w, &spec);
    put_file(&w, "work/notes.txt", "one\nforty-two\nthree\n");
    put_file(&w, "work/secret.txt", "hush\n");
    put_file(&w, "work/raw.bin", "\xff\xfe\x01");
    until_idle(&w);
    window_type(&w, "see @notes.txt#L2-3, @secret.txt, @raw.bin and @nobody" ENTER);
    window_until(&w, "Seen.");
    window_until(&w, "⎿  Sent notes.txt#L2-3 (2 lines, 16 bytes)\n"
                     "     Not sent: secret.txt (a rule keeps it from being read)\n"
                     "     Not sent: raw.bin (it is not text)\n\n");
    leave(&w);
}

/* Changes in the file count at once, while idle. */
static void case_settings_changed(void)
{
    struct window_spec spec = {
        .build = build, .scenario = "step\n  text Hello.\n", .settings = "{\"theme\":\"dark\"}"};
    struct window w;
    size_t seen;

    window_open(&w, &spec);
    until_idle(&w);
    put_file(&w, "home/.tenax/settings.json", "{\"editorMode\":\"vim\"}");
    window_until_shown(&w, "INSERT");
    put_file(&w, "home/.tenax/settings.json",
             "{\"editorMode\":\"normal\",\"statusLine\":{\"command\":\"echo first line\"}}");
    window_until_shown(&w, "first line");
    CHECK(!strstr(window_screen(&w), "INSERT"), "vim's keys are still there");
    seen = w.raw.len;
    put_file(&w, "home/.tenax/settings.json",
             "{\"theme\":\"light\",\"statusLine\":{\"command\":\"echo another line\"}}");
    window_until_shown(&w, "another line");
    window_until_raw(&w, "\xe2\x9d\xaf", seen); /* its colors are other ones: drawn anew */
    put_file(&w, "home/.tenax/settings.json", "{}");
    window_until_gone(&w, "another line");
    window_until_shown(&w, "scenario");
    window_type(&w, CTRL_D);
    CHECK(window_end(&w) == 0, "exit code");
    window_close(&w);
}

/* So do files in a folder that appears only now: the user's, the project's, and one that was
 * removed and comes again. */
static void case_settings_appear(void)
{
    struct window_spec spec = {.build = build, .scenario = "step\n  text Hello.\n"};
    CLEANUP(mem_freep) char *folder = NULL;
    CLEANUP(mem_freep) char *file = NULL;
    struct window w;

    window_open(&w, &spec);
    until_idle(&w);
    put_file(&w, "home/.claude/settings.json", "{\"editorMode\":\"vim\"}");
    window_until_shown(&w, "INSERT");
    put_file(&w, "work/.tenax/settings.json", "{\"editorMode\":\"normal\"}");
    window_until_gone(&w, "INSERT");
    folder = path_join(w.top, "work/.tenax");
    file = path_join(folder, "settings.json");
    CHECK(unlink(file) == 0 && rmdir(folder) == 0, "the folder cannot be removed");
    window_until_shown(&w, "INSERT");
    put_file(&w, "work/.tenax/settings.json", "{\"editorMode\":\"normal\"}");
    window_until_gone(&w, "INSERT");
    window_type(&w, CTRL_D);
    CHECK(window_end(&w) == 0, "exit code");
    window_close(&w);
}

/* What runs can be read as wide as the window is, also where a narrower one would break it into
 * more rows than there are above: tmux keeps the empty ones below. */
static void case_wide_calls(void)
{
#define LONG_CALL                                                                                  \
    "call Bash {\"command\": \"sleep 1000; cat a/path/that/is/so/long/that/it/is/cut\"}\n"
    static const char *const args[] = {"--permission-mode=bypassPermissions", NULL};
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n" LONG_CALL LONG_CALL LONG_CALL "step\n  text Hello.\n",
        .term = "tmux-256color",
        .args = args,
    };
    struct window w;

    window_open(&w, &spec);
    until_idle(&w);
    window_until_shown(&w, "Shift-Tab to change\n"); /* in whole parts */
    window_type(&w, "go" ENTER);
    window_until_shown(&w, "/path/that/is/so/long/that/it/is/cut) "); /* seconds follow */
    window_until_shown(&w, "Esc to interrupt)");
    window_type(&w, ESC);
    window_until(&w, "nterrupted");
    leave(&w);
}

/* The user's own line stays in its place while a session runs, and after a hint. */
static void case_own_status(void)
{
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  sticky\n  text Hello.\n",
        .settings =
            "{\"statusLine\":{\"command\":\"echo upper row; echo lower row\"},"
            "\"hooks\":{\"SessionEnd\":[{\"hooks\":[{\"type\":\"command\","
            "\"command\":\"touch $HOME/ends; until test -e $HOME/go; do sleep 0.05; done\"}]}]}}",
    };
    struct window w;

    window_open(&w, &spec);
    window_until_shown(&w, "upper row\nlower row");
    window_type(&w, "hi" ENTER);
    window_until(&w, "Hello.");
    until_idle(&w);
    window_type(&w, "?" BACKSPACE);
    window_until_shown(&w, "/help\nlower row");
    window_until_shown(&w, "upper row\nlower row");
    window_type(&w, "/clear" ENTER);
    window_until_file(&w, "home/ends");
    window_until_shown(&w, "one moment");
    CHECK(strstr(window_screen(&w), "upper row\nlower row"), "it has jumped:\n%s",
          window_screen(&w));
    put_file(&w, "home/go", "");
    window_until(&w, "new session");
    until_idle(&w);
    CHECK(strstr(window_screen(&w), "upper row\nlower row"), "it has jumped:\n%s",
          window_screen(&w));
    window_type(&w, CTRL_D);
    CHECK(window_end(&w) == 0, "exit code");
    window_close(&w);
}

/* The user's own line is updated when the window has become emptier. */
static void case_own_status_compact(void)
{
#define WORDS "word word word word word word word word word word word word word word word word "
#define MANY_WORDS WORDS WORDS WORDS WORDS WORDS WORDS WORDS WORDS
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  sticky\n  usage input=100000 output=10\n"
                    "  text " MANY_WORDS MANY_WORDS MANY_WORDS "Hello.\n",
        .settings = "{\"statusLine\":{\"command\":\"grep -o -e 'output_tokens..[0-9]*' "
                    "-e 'used_percentage..[0-9]*'\"}}",
    };
    struct window w;

    window_open(&w, &spec);
    window_until_shown(&w, "used_percentage\":0");
    window_type(&w, "hi" ENTER);
    window_until_shown(&w, "used_percentage\":50");
    until_idle(&w);
    window_type(&w, "go on" ENTER);
    window_until_shown(&w, "output_tokens\":20"); /* no run is to come */
    window_type(&w, "/compact" ENTER);
    window_until(&w, "Compacted");
    window_until_gone(&w, "used_percentage\":50");
    window_type(&w, CTRL_D);
    CHECK(window_end(&w) == 0, "exit code");
    window_close(&w);
}

/* The output of a command after "!" is shown while it runs, and once when it has ended. */
static void case_shell_tail(void)
{
    struct window w;

    start(&w, "step\n  sticky\n  text Hello.\n");
    window_type(&w, "!for i in 1 2 3 4 5 6 7; do echo row $i; done; echo oops >&2;"
                    " until test -e go; do sleep 0.05; done; echo end" ENTER);
    window_until_shown(&w, "    row 7\n    oops\n");
    CHECK(!strstr(window_screen(&w), "    row 3\n"), "more than its end:\n%s", window_screen(&w));
    let_go(&w);
    window_until(&w, "⎿  row 1\n     row 2");
    window_until_shown(&w, "     oops\n     end");
    until_idle(&w);
    CHECK(window_count(&w, "row 7") == 1, "%s", window_text(&w));
    window_type(&w, "hi" ENTER);
    window_until(&w, "Hello.");
    leave(&w);
}

#define TITLE "\x1b]0;"

/* The window's title says how it stands; it is given back at the end. */
static void case_title(void)
{
    struct window w;
    size_t from;

    start(&w, "step\n  text one two\n  pause 500ms\n  call Bash {\"command\": \"touch made\"}\n"
              "step\n  text That is all.\n");
    window_until_raw(&w, TITLE "tenax · work\x1b\\", 0);
    from = w.raw.len;
    window_type(&w, "go" ENTER);
    window_until_raw(&w, " · working\x1b\\", from);
    window_until(&w, "Enter choose");
    window_until_raw(&w, " · waiting for you\x1b\\", from);
    from = w.raw.len;
    answer(&w, "1");
    window_until(&w, "That is all.");
    until_idle(&w);
    window_until_raw(&w, " · done\x1b\\", from);
    from = w.raw.len;
    window_type(&w, "/clear" ENTER);
    window_until(&w, "new session");
    until_idle(&w);
    window_until_raw(&w, TITLE "tenax · work\x1b\\", from);
    from = w.raw.len;
    window_type(&w, CTRL_D);
    CHECK(window_end(&w) == 0, "exit code");
    window_until_raw(&w, "\x1b[23;0t", from);
    window_close(&w);
}

#define NOTICE "\x1b]9;tenax: "
#define FOCUS_OUT "\x1b[O"
#define FOCUS_IN "\x1b[I"

static bool was_told(const struct window *w, const char *what, size_t from)
{
    return strstr(w->raw.ptr + from, what) != NULL;
}

/* A user who looks elsewhere is notified of a question, and of the end of a long turn; one who
 * looks on is not. */
static void case_notified(void)
{
    static const char *const env[] = {"TERM_PROGRAM=iTerm.app", "TENAX_TEST_CLOCK=fast:100", NULL};
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  if-prompt first\n  text One.\n  call Bash {\"command\": \"true a\"}\n"
                    "step\n  if-prompt second\n  call Bash {\"command\": \"touch b\"}\n"
                    "step\n  if-prompt third\n  text The third.\n"
                    "step\n  sticky\n  text That is all.\n",
        .settings = "{\"permissions\":{\"allow\":[\"Bash(true:*)\"],\"ask\":[\"Bash(touch:*)\"]}}",
        .env = env,
    };
    struct window w;
    size_t from;

    window_open(&w, &spec);
    until_idle(&w);
    window_type(&w, FOCUS_IN "first" ENTER);
    window_until(&w, "That is all.");
    until_idle(&w);
    CHECK(!was_told(&w, NOTICE, 0), "somebody who looks on was told");
    from = w.raw.len;
    window_type(&w, "second" ENTER FOCUS_OUT);
    window_until(&w, "Enter choose");
    window_until_raw(&w, NOTICE, from);
    from = w.raw.len;
    answer(&w, "1"); /* later than ten seconds, as fast as they go */
    window_until_raw(&w, NOTICE "Done", from);
    until_idle(&w);
    from = w.raw.len;
    window_type(&w, FOCUS_IN "third" ENTER);
    window_until(&w, "The third.");
    until_idle(&w);
    CHECK(!was_told(&w, NOTICE, from), "somebody who looks again was told");
    leave(&w);
}

/* The notification of a question, by terminal and by setting; the focus is unknown. */
static void told_of_a_question(const char *const *env, const char *settings, const char *bytes)
{
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  call Bash {\"command\": \"touch made\"}\nstep\n  text Over.\n",
        .settings = settings,
        .env = env,
    };
    struct window w;
    size_t from;

    window_open(&w, &spec);
    until_idle(&w);
    from = w.raw.len;
    window_type(&w, "go" ENTER);
    window_until_raw(&w, bytes, from);
    window_until_shown(&w, "Enter choose");
    answer(&w, "1");
    window_until(&w, "Over.");
    leave(&w);
}

/* Where the terminal does not report its focus, a user who has not typed for a while is notified,
 * and at once one who has chosen how. */
static void case_notified_unasked(void)
{
    static const char *const tmux[] = {"TMUX=x", "TENAX_TEST_CLOCK=fast:20", NULL};
    static const char *const vte[] = {"VTE_VERSION=6800", "TENAX_TEST_CLOCK=fast:20", NULL};

    told_of_a_question(tmux, NULL, "\a");
    told_of_a_question(vte, NULL, "\x1b]777;notify;tenax;Permission is needed\x1b\\\a");
}

static void case_notified_chosen(void)
{
    static const char *const tmux[] = {"TMUX=x", NULL};

    told_of_a_question(tmux, "{\"preferredNotifChannel\":\"terminal_bell\"}", "\a");
    told_of_a_question(tmux, "{\"preferredNotifChannel\":\"iterm2\"}",
                       "\x1bPtmux;\x1b\x1b]9;tenax: Permission is needed\x1b\x1b\\\x1b\\\a");
}

/* A user who goes on typing is here: a question does not ring. */
static void case_notified_typing(void)
{
    static const char *const tmux[] = {"TMUX=x", NULL};
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  call Bash {\"command\": \"touch made\"}\nstep\n  text Over.\n",
        .env = tmux,
    };
    struct window w;
    size_t from;

    window_open(&w, &spec);
    until_idle(&w);
    from = w.raw.len;
    window_type(&w, "go" ENTER);
    answer(&w, "1");
    window_until(&w, "Over.");
    until_idle(&w);
    window_settle(&w, 7000);
    CHECK(!was_told(&w, "\a", from), "somebody who types was rung for");
    leave(&w);
}

/* Who looks elsewhere hears how a goal has ended. */
static void case_notified_goal(void)
{
    static const char *const env[] = {"TERM_PROGRAM=iTerm.app", NULL};
    static const char *const args[] = {"--permission-mode=bypassPermissions", NULL};
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  sticky\n  text Done, I promise.\n",
        .env = env,
        .args = args,
    };
    struct window w;
    size_t from;

    window_open(&w, &spec);
    until_idle(&w);
    from = w.raw.len;
    window_type(&w, FOCUS_OUT "/goal nothing is to be done --check true --referee checks" ENTER);
    window_until_raw(&w, NOTICE "The goal is reached", from);
    until_idle(&w);
    from = w.raw.len;
    window_type(&w, "/goal it cannot be done --check false --max-turns 1 --referee checks" ENTER);
    window_until_raw(&w, NOTICE "The goal needs you", from);
    leave(&w);
}

/* That a goal has no judge is reported once, with the reason. */
static void case_goal_unjudged(void)
{
    struct window w;

    start(&w, "step\n  sticky\n  text All of it is done.\n");
    until_idle(&w);
    window_type(&w, "/goal all of it is done" ENTER);
    window_until(&w, "goal paused: it cannot be judged");
    until_idle(&w);
    CHECK(window_count(&w, "goal paused: it cannot be judged") == 1, "%s", window_text(&w));
    leave(&w);
}

const struct person_case person_shown[] = {
    {"command-meanwhile", case_command_meanwhile},
    {"resume-figures", case_resume_figures},
    {"mentions", case_mentions},
    {"settings-changed", case_settings_changed},
    {"settings-appear", case_settings_appear},
    {"wide-calls", case_wide_calls},
    {"own-status", case_own_status},
    {"own-status-compact", case_own_status_compact},
    {"shell-tail", case_shell_tail},
    {"title", case_title},
    {"notified", case_notified},
    {"goal-unjudged", case_goal_unjudged},
    {"notified-unasked", case_notified_unasked},
    {"notified-chosen", case_notified_chosen},
    {"notified-typing", case_notified_typing},
    {"notified-goal", case_notified_goal},
    {0},
};
