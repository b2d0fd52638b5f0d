/*
 * The first minute of a user in front of tenax: display, input and questions. The test program is
 * person.c.
 */
#include "person.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"

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

/* SessionStart hooks run before any input, also those of a session that /clear begins; the model
 * gets their text with the first prompt. */
static void case_start_hook(void)
{
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  if-prompt \"it is clear\"\n  text Heard.\n",
        .settings = "{\"hooks\":{\"SessionStart\":["
                    "{\"matcher\":\"startup\",\"hooks\":[{\"type\":\"command\",\"command\":"
                    "\"touch $HOME/started\"}]},"
                    "{\"matcher\":\"clear\",\"hooks\":[{\"type\":\"command\",\"command\":"
                    "\"touch $HOME/cleared; echo it is clear\"}]}]}}",
    };
    struct window w;

    window_open(&w, &spec);
    window_until_file(&w, "home/started");
    until_idle(&w);
    window_type(&w, "/clear" ENTER);
    window_until_file(&w, "home/cleared");
    until_idle(&w);
    window_type(&w, "hi" ENTER);
    window_until(&w, "Heard.");
    leave(&w);
}

/* A command from the settings finds files in place of the list; one that fails shows its error. */
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

/* `tenax "…"`, several words, also one that is not a command. */
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
    window_type(&w, "/ help" ENTER); /* a blank too many */
    window_until(&w, "did you mean /help?");
    window_type(&w, "/stats");
    window_until_shown(&w, "/cost");
    window_type(&w, ENTER);
    window_until(&w, "Nothing has been used yet.");
    window_type(&w, "/permis"); /* its arguments may be left out */
    window_until_shown(&w, "/permissions");
    window_type(&w, ENTER);
    window_until_shown(&w, "Add a rule");
    window_type(&w, ESC);
    window_until(&w, "Cancelled");
    window_type(&w, "/renam"); /* it needs some */
    window_until_shown(&w, "/rename");
    window_type(&w, ENTER);
    window_until_shown(&w, "\xe2\x9d\xaf /rename");
    window_settle(&w, 300);
    CHECK(!strstr(window_text(&w), "has no name"), "it was run:\n%s", window_text(&w));
    window_type(&w, CTRL_C);
    leave(&w);
}

static void case_new_command(void)
{
    struct window w;

    start(&w, "step\n  if-prompt \"brand new\"\n  text Seen.\n");
    put_file(&w, "work/.claude/commands/fresh.md", "brand new words\n");
    window_type(&w, "/fr");
    window_until_shown(&w, "/fresh");
    window_type(&w, ENTER);
    window_until(&w, "Seen.");
    leave(&w);
}

/* Input typed before anything is drawn is not lost. */
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

static void case_modes(void)
{
    struct window w;

    start(&w, "step\n  text Hello.\n");
    window_type(&w, SHIFT_TAB);
    window_until(&w, "accept edits on");
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

/* A command that is tried in the sandbox has a window that grows and shrinks with ours. */
static void case_sandbox_resize(void)
{
    static const char *const args[] = {
        "sandbox",
        "--",
        "bash",
        "-c",
        "trap 'echo now $(stty size)' WINCH; trap 'exit 7' INT; echo at first $(stty size); "
        "while :; do sleep 100 & wait $!; done",
        NULL};
    struct window_spec spec = {.build = build, .args = args, .sandbox = true};
    struct window w;

    window_open(&w, &spec);
    while (!w.is_over && !strstr(window_text(&w), "at first 24 80"))
        (void)window_wait(&w, 100);
    if (w.is_over) {
        printf("no sandbox works here: %s\n", window_text(&w));
        CHECK(window_end(&w) == 1, "%s", window_text(&w));
    } else {
        window_resize(&w, 90, 30);
        window_until(&w, "now 30 90");
        window_type(&w, CTRL_C);
        CHECK(window_end(&w) == 7, "%s", window_text(&w));
    }
    window_close(&w);
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

static void case_keys(void)
{
    struct window w;

    start(&w, "step\n  text Hello.\n");
    window_type(&w, "?");
    window_until(&w, "! shell");
    window_type(&w, " who" ENTER);
    window_until(&w, "Hello.");
    CHECK(window_count(&w, "? who") == 1, "%s", window_text(&w));
    leave(&w);
}

/* The story ends with a message, and has an answer for a user who continues. */
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
    window_type(&w, "/goal x --check true" ENTER);
    window_until(&w, "cannot be: The demo is over");
    window_until(&w, "goal blocked");
    until_idle(&w);
    CHECK(!strstr(window_text(&w), "scripted:"), "%s", window_text(&w));
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
    window_until(&w, "This was the demo. /goal report");
    until_idle(&w);
    window_type(&w, CTRL_D);
    window_until_shown(&w, "3. Quit");
    answer(&w, ESC); /* there is nothing to stay in */
    CHECK(window_end(&w) == 0, "exit code");
    CHECK(window_count(&w, "ANTHROPIC_API_KEY") == 1, "said again:\n%s", window_text(&w));
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
    window_type(&w, "1");
    window_until(&w, "Hello.");
    until_idle(&w);
    window_type(&w, "hi" ENTER);
    window_until(&w, "Again.");
    leave(&w);
}

/* After a refusal a goal asks once more, and approval counts at once. */
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
    answer(&w, "2");
    window_until_gone(&w, "Enter choose");
    window_type(&w, "/goal the file x is there --check true" ENTER);
    window_until(&w, "You have said no before");
    answer(&w, ENTER); /* yes: there is nothing in the folder */
    window_until(&w, "All is well.");
    CHECK(!strstr(window_text(&w), "this one is not"), "%s", window_text(&w));
    window_close(&w);
}

/* A user who has declined is asked again on request, and approval counts at once; without drawing
 * the next start is as --plain. */
static void case_onboarding(void)
{
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  text Hello.\n",
        .untrusted = true,
    };
    struct window first;
    struct window w;

    window_open(&first, &spec);
    window_until(&first, "Do you trust this folder?");
    answer(&first, ESC);
    window_until_gone(&first, "Enter choose");
    window_type(&first, "/onboarding" ENTER);
    window_until(&first, "not trusted (/onboarding trust)");
    window_type(&first, "/onboarding trust" ENTER);
    window_until(&first, "You have said no before");
    answer(&first, "1");
    window_until(&first, "Trusted: all of this folder's settings count now.");
    window_type(&first, "/tui off" ENTER);
    window_until(&first, "From the next start on: plain lines");
    window_type(&first, CTRL_D);
    CHECK(window_end(&first) == 0, "exit code");

    spec.home = first.top;
    window_open(&w, &spec);
    until_idle(&w);
    CHECK(!str_has(buf_str(&w.raw), STR("\x1b[?2004h")), "it is drawn");
    window_close(&w);
    window_close(&first);
}

/* Settings of the folder would not count: rules allowed there apply to the session. */
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
    answer(&w, "2");
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

const struct person_case person_starts[] = {
    {"hello", case_hello},
    {"announcement", case_announcement},
    {"file-suggestion", case_file_suggestion},
    {"first-prompt", case_first_prompt},
    {"start-hook", case_start_hook},
    {"nearly-a-command", case_nearly_a_command},
    {"misspelt", case_misspelt},
    {"new-command", case_new_command},
    {"typed-early", case_typed_early},
    {"modes", case_modes},
    {"transcript", case_transcript},
    {"resize", case_resize},
    {"sandbox-resize", case_sandbox_resize},
    {"draft", case_draft},
    {"paste", case_paste},
    {"memory", case_memory},
    {"no-key", case_no_key},
    {"no-terminal", case_no_terminal},
    {"demo", case_demo},
    {"keys", case_keys},
    {"trust", case_trust},
    {"trust-again", case_trust_again},
    {"onboarding", case_onboarding},
    {"untrusted-always", case_untrusted_always},
    {"plain", case_plain},
    {0},
};
