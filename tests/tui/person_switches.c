/*
 * Switching sessions, and leaving the last one. The test program is person.c.
 */
#include "person.h"

#include <signal.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

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

/* `--resume` alone offers a choice; /clear starts a new one; earlier input is found again with
 * Up. */
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

/* A hook that was notified of new settings, on the thread of the status line, and does not end. */
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
    window_until_shown(&w, "Up to edit");
    window_type(&w, UP);
    window_until_gone(&w, "Up to edit");
    window_until_shown(&w, "❯ typed meanwhile");
    let_hook_end(&w);
    window_until(&w, "new session");
    window_type(&w, ENTER);
    window_until(&w, "Anew.");
    leave(&w);
}

/* A skill is edited beside an idle session: hooks are asked at once, and refused changes are not
 * used. */
static void case_hook_of_skills(void)
{
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  if-prompt \"tidy one\"\n  text As before.\n"
                    "step\n  text Hello.\n",
        .settings = "{\"hooks\":{\"ConfigChange\":[{\"matcher\":\"skills\",\"hooks\":[{\"type\":"
                    "\"command\",\"command\":\"grep -q one $HOME/.tenax/skills/tidy/SKILL.md || { "
                    "echo not this >&2; exit 2; }\"}]}]}}"};
    struct window w;

    window_open(&w, &spec);
    until_idle(&w);
    put_file(&w, "home/.tenax/skills/tidy/SKILL.md", "tidy one\n");
    window_type(&w, "hi" ENTER);
    window_until(&w, "Hello.");
    until_idle(&w);
    put_file(&w, "home/.tenax/skills/tidy/SKILL.md", "tidy two\n");
    window_until(&w, "not this");
    window_type(&w, "/tidy" ENTER);
    window_until(&w, "As before.");
    CHECK(window_count(&w, "not this") == 1, "it is said once");
    leave(&w);
}

/* After a long pause a fresh session is started: input typed before it exists goes to it. */
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
    window_until_shown(&w, "It has been a while");
    window_until_shown(&w, "Start a new session");
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

/* Input after the command that is taken back before the next session exists is not sent. */
static void case_taken_back_at_a_switch(void)
{
    struct window w;

    start_hooked(&w);
    window_type(&w, "/clear" ENTER "wrong words" ENTER);
    window_until_shown(&w, "Up to edit");
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
    window_until(&w, "one two");
    window_type(&w, "/resume" ENTER);
    window_until_shown(&w, "Enter choose");
    let_go(&w); /* the question comes after it */
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

/* Input after a command that leaves the session goes to the next one. */
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

/* Waiting input stays with the session that is left, with a note; a copy takes it along. */
static void case_queue_left(void)
{
    struct window w;

    start_lengthy(&w, /*home=*/NULL);
    window_type(&w, "waiting words" ENTER);
    window_until(&w, "Up to edit");
    window_type(&w, "/clear" ENTER);
    window_until(&w, "1 queued message stays with the session before");
    window_until(&w, "new session");
    window_type(&w, "hi" ENTER);
    window_until(&w, "Hello.");
    leave(&w);

    start_lengthy(&w, /*home=*/NULL);
    window_type(&w, "waiting words" ENTER);
    window_until(&w, "Up to edit");
    window_type(&w, "/branch" ENTER);
    window_until(&w, "Along it went.");
    CHECK(!strstr(window_text(&w), "queued message"), "%s", window_text(&w));
    leave(&w);
}

/* Input waiting for the next prompt stays in its session; a copy starts no turn. */
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

const struct person_case person_switches[] = {
    {"branch", case_branch},
    {"sessions", case_sessions},
    {"hook-at-the-end", case_hook_at_the_end},
    {"hook-at-a-switch", case_hook_at_a_switch},
    {"hook-of-skills", case_hook_of_skills},
    {"fresh", case_fresh},
    {"taken-back-at-a-switch", case_taken_back_at_a_switch},
    {"hook-reasons", case_hook_reasons},
    {"ask-left", case_ask_left},
    {"said-behind", case_said_behind},
    {"said-behind-at-work", case_said_behind_at_work},
    {"queue-left", case_queue_left},
    {"kept-queue-left", case_kept_queue_left},
    {0},
};
