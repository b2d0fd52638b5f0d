/*
 * During a turn: interrupts, waiting input, questions, cost, input taken back. The test program is
 * person.c.
 */
#include "person.h"

#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

static const char slow[] = "step\n  pace 50ms\n  text one two three four five six seven eight nine "
                           "ten eleven twelve thirteen fourteen fifteen sixteen seventeen\n"
                           "step\n  text Second answer.\n";

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
    CHECK(!strstr(window_screen(&w), "again to quit"), "it does not:\n%s", window_screen(&w));
    window_type(&w, CTRL_C);
    window_until_gone(&w, "text that goes");
    window_type(&w, BACKSPACE CTRL_C CTRL_C); /* two within a second, whenever that begins */
    CHECK(window_end(&w) == 0, "exit code");
    check_sane(&w);
    window_close(&w);
}

/* Input sent in the meantime waits visibly, is used, and stands in the conversation once. */
static void case_queue(void)
{
    struct window w;

    start(&w, slow);
    window_type(&w, "count" ENTER);
    window_until(&w, "one two");
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
    window_until(&w, "one two");
    window_type(&w, "wrong words" ENTER);
    window_until_shown(&w, "Up to edit");
    window_type(&w, UP);
    window_until_gone(&w, "Up to edit");
    window_type(&w, "\x15"
                    "right words" ENTER);
    window_until_shown(&w, "Up to edit");
    let_go(&w);
    window_until(&w, "Second answer.");
    until_idle(&w);
    CHECK(!strstr(window_screen(&w), "wrong words"), "%s", window_text(&w));
    leave(&w);
}

/* Input is taken back also before the session has it: one key after the other. */
static void case_queue_edited_at_once(void)
{
    struct window w;

    start_held(&w, held, "{" MAY_WAIT "}");
    window_type(&w, "count" ENTER);
    window_until(&w, "one two");
    window_type(&w, "wrong words" ENTER UP);
    window_until_shown(&w, "❯ wrong words");
    window_until_gone(&w, "Up to edit");
    window_type(&w, "\x15"
                    "right words" ENTER);
    window_until_shown(&w, "Up to edit");
    let_go(&w);
    window_until(&w, "Second answer.");
    until_idle(&w);
    CHECK(!strstr(window_text(&w), "> wrong words"), "%s", window_text(&w));
    leave(&w);
}

/* A hook blocks it from the model with a message, and it waits no more. */
static void case_queue_refused(void)
{
    struct window w;

    start_held(&w, held,
               "{" MAY_WAIT ",\"hooks\":{\"UserPromptSubmit\":[{\"hooks\":[{\"type\":\"command\","
               "\"command\":\"grep -q forbidden || exit 0; echo not these >&2; exit 2\"}]}]}}");
    window_type(&w, "count" ENTER);
    window_until(&w, "one two");
    window_type(&w, "a forbidden word" ENTER);
    window_until_shown(&w, "Up to edit");
    let_go(&w);
    window_until(&w, "not these");
    window_until_gone(&w, "Up to edit");
    leave(&w);
}

/* Esc while a hook checks waiting input: it goes to the next turn, with the input after it. */
static void case_interrupt_hook(void)
{
    struct window w;

    start_held(&w, held,
               "{" MAY_WAIT ",\"hooks\":{\"UserPromptSubmit\":[{\"hooks\":[{\"type\":\"command\","
               "\"command\":\"grep -q count && exit 0; test -e $HOME/asked && exit 0;"
               " touch $HOME/asked; sleep 60\"}]}]}}");
    window_type(&w, "count" ENTER);
    window_until(&w, "one two");
    window_type(&w, "first wish" ENTER "another wish" ENTER);
    window_until(&w, "another wish");
    until_kept(&w, 2);
    let_go(&w);
    window_until_file(&w, "home/asked");
    window_type(&w, ESC);
    window_until(&w, "Second answer.");
    window_until_gone(&w, "Up to edit");
    CHECK(window_count(&w, "first wish") == 1, "%s", window_text(&w));
    CHECK(window_count(&w, "another wish") == 1, "%s", window_text(&w));
    leave(&w);
}

/* Esc right after the first input: its agent is still in the making. */
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

/* A refused call is shown as such, also when the session is resumed. */
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

/* The user is asked about the cost while it works, not when all is spent. */
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
    int64_t shown_ms;

    window_open(&w, &spec);
    until_idle(&w);
    window_type(&w, "work" ENTER);
    window_until(&w, "This session has cost $2.00");
    window_until_shown(&w, "2. Stop what runs");
    shown_ms = clock_mono_ms(); /* it never comes to rest: the figures move on */
    while (clock_mono_ms() < shown_ms + 1500)
        (void)window_wait(&w, 100);
    window_type(&w, "2");
    window_until_gone(&w, "Esc to interrupt");
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

/* Neither the next session nor the old one can be read: the new one in their place has the rest of
 * the budget. */
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
    window_until(&w, "Esc again to rewind");
    window_type(&w, ESC);
    window_until(&w, "which message");
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

/* Not while work is running: the message comes before the choice of a target. */
static void case_rewind_at_work(void)
{
    struct window w;

    start(&w, endless);
    window_type(&w, "hi" ENTER);
    window_until(&w, "Esc to interrupt");
    window_type(&w, "/rewind" ENTER);
    window_until(&w, "⎿  a turn is running; interrupt it");
    CHECK(!window_count(&w, "Back to before"), "%s", window_text(&w));
    window_type(&w, ESC);
    window_until(&w, "nterrupted");
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
    window_until(&w, "The session can no longer be saved");
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

/* Ctrl-B moves in the draft; without a draft the running command continues in the background, and
 * the turn without it. */
static void case_background_key(void)
{
    struct window w;

    start_held(&w,
               "step\n  " WAITS "step\n  if-result \"Sent to the background\"\n  text On we go.\n",
               "{" MAY_WAIT "}");
    window_type(&w, "go" ENTER);
    window_until_shown(&w, "(sh waits) "); /* it runs: seconds follow */
    window_type(&w, "ac" CTRL_B "b");
    window_until_shown(&w, "❯ abc");
    window_type(&w, "\x05" /* Ctrl-E */ CTRL_U);
    window_until_gone(&w, "❯ abc");
    window_type(&w, CTRL_B);
    window_until(&w, "On we go.");
    window_until_shown(&w, "· 1 task");
    let_go(&w);
    leave(&w);
}

static void case_shell(void)
{
    struct window w;

    start(&w, "step\n  if-prompt \"forty-two\"\n  text I have seen it.\n");
    window_type(&w, "!" ENTER); /* nothing for the model either */
    window_until(&w, "⎿  which command?");
    window_type(&w, "#" ENTER);
    window_until(&w, "⎿  which note?");
    window_type(&w, "!echo forty-two" ENTER);
    window_until(&w, "⎿  forty-two");
    window_type(&w, "look" ENTER);
    window_until(&w, "I have seen it.");
    CHECK(!strstr(window_text(&w), "<bash-input>"), "%s", window_text(&w));
    leave(&w);
}

/* What a command has said before it was interrupted is seen and kept. */
static void case_shell_interrupt(void)
{
    struct window w;

    start(&w, "step\n  if-prompt \"forty-two\"\n  text I have seen it.\n");
    window_type(&w, "!echo forty-two; touch said; sleep 60" ENTER);
    window_until_file(&w, "work/said");
    (void)window_wait(&w, 200);
    window_type(&w, ESC);
    window_until(&w, "⎿  forty-two");
    window_until(&w, "Interrupted");
    until_idle(&w);
    window_type(&w, "look" ENTER);
    window_until(&w, "I have seen it.");
    leave(&w);
}

/* Input waiting after a command can be taken back, too. */
static void case_shell_queue(void)
{
    struct window w;

    start(&w, "step\n  if-prompt \"right words\"\n  text Heard.\nstep\n  text Wrong.\n");
    window_type(&w, "!sleep 60" ENTER);
    window_until(&w, "!sleep is running");
    window_type(&w, "wrong words" ENTER);
    window_until(&w, "Up to edit");
    window_type(&w, UP);
    window_until_gone(&w, "Up to edit");
    window_until(&w, "❯ wrong words");
    window_type(&w, CTRL_U ESC);
    window_until(&w, "say what to do");
    window_type(&w, "right words" ENTER);
    window_until(&w, "Heard.");
    CHECK(sessions_with(&w, "wrong words") == 0, "it was said:\n%s", window_text(&w));
    leave(&w);
}

const struct person_case person_turns[] = {
    {"interrupt", case_interrupt},
    {"ctrl-c", case_ctrl_c},
    {"queue", case_queue},
    {"queue-edited", case_queue_edited},
    {"queue-edited-at-once", case_queue_edited_at_once},
    {"queue-refused", case_queue_refused},
    {"interrupt-hook", case_interrupt_hook},
    {"interrupt-early", case_interrupt_early},
    {"permission-yes", case_permission_yes},
    {"permission-no", case_permission_no},
    {"costs", case_costs},
    {"costs-meanwhile", case_costs_meanwhile},
    {"resume-budget", case_resume_budget},
    {"instead-budget", case_instead_budget},
    {"rewind", case_rewind},
    {"rewind-at-work", case_rewind_at_work},
    {"disk-full", case_disk_full},
    {"background-key", case_background_key},
    {"shell", case_shell},
    {"shell-interrupt", case_shell_interrupt},
    {"shell-queue", case_shell_queue},
    {0},
};
