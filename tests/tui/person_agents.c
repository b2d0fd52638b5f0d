/*
 * Agents at work: rows of them, a look into one, a message to it, an end to it, and a question that
 * one asks.
 */
#include <string.h>

#include "person.h"

static const char background[] =
    "step\n  if-prompt \"find hooks\"\n  text Looking around.\n  " WAITS
    "step\n  if-prompt \"more please\"\n  text I heard you.\n"
    "step\n  if-prompt \"go\"\n  call Agent {\"description\": \"Look for hooks\","
    " \"prompt\": \"find hooks\", \"subagent_type\": \"general-purpose\", \"name\": \"scout\","
    " \"run_in_background\": true}\n"
    "step\n  if-result \"You will be notified\"\n  text It runs.\n"
    "step\n  sticky\n  text Noted.\n";

static void start_background(struct window *w)
{
    start_held(w, background, "{" MAY_WAIT "}");
    window_type(w, "go" ENTER);
    window_until(w, "It runs.");
    window_until_shown(w, "○ scout");
    until_idle(w);
}

/* Its conversation is shown as it goes on, and input there goes to it. Esc goes back and interrupts
 * nothing. */
static void case_agent_viewed(void)
{
    struct window w;

    start_background(&w);
    window_resize(&w, 40, 24);
    window_until_shown(&w, "○ scout");
    window_type(&w, DOWN);
    window_until_shown(&w, "❯ ● main");
    window_type(&w, DOWN ENTER);
    window_until_shown(&w, "message scout");
    window_until(&w, "Looking around.");
    window_type(&w, "more please" ENTER);
    window_until(&w, "Sent; it reads");
    let_go(&w);
    window_until(&w, "I heard you.");
    CHECK(window_count(&w, "It runs.") == 1, "%s", window_text(&w));
    window_type(&w, ESC); /* the keys are the editor's already: it was typed into */
    window_until(&w, "── main");
    window_until(&w, "finished: I heard");
    window_until(&w, "Noted.");
    window_resize(&w, 80, 24);
    until_idle(&w);
    leave(&w);
}

/* x on its row stops one. */
static void case_agent_stopped(void)
{
    struct window w;

    start_background(&w);
    window_type(&w, DOWN);
    window_until_shown(&w, "❯ ● main");
    window_type(&w, DOWN "x");
    window_until(&w, "hooks\" was stopped");
    until_idle(&w);
    leave(&w);
}

/* Ctrl-X Ctrl-K stops all. */
static void case_agents_stopped(void)
{
    struct window w;

    start_background(&w);
    window_type(&w, "\x18\x0b");
    window_until(&w, "hooks\" was stopped");
    until_idle(&w);
    leave(&w);
}

/* /tasks is a menu that leads to it. */
static void case_agent_listed(void)
{
    struct window w;

    start_background(&w);
    window_type(&w, "/tasks" ENTER);
    window_until_shown(&w, "Agents and background commands");
    window_until_shown(&w, "scout: Look for hooks");
    window_type(&w, ENTER);
    window_until_shown(&w, "View its conversation");
    window_settle(&w, 400);
    window_type(&w, ENTER);
    window_until_shown(&w, "message scout");
    window_until(&w, "Looking around.");
    window_type(&w, "/tasks kill all" ENTER); /* a command is the session's */
    window_until(&w, "Stopping 1 agent and 0 commands.");
    window_until(&w, "hooks\" was stopped");
    until_idle(&w);
    leave(&w);
}

/* The question says which agent asks. */
static void case_agent_asks(void)
{
    struct window w;

    start(&w, "step\n  if-prompt \"touch it\"\n  call Bash {\"command\": \"touch made\"}\n"
              "step\n  if-prompt \"go\"\n  call Agent {\"description\": \"Touch a file\","
              " \"prompt\": \"touch it\", \"subagent_type\": \"general-purpose\"}\n"
              "step\n  sticky\n  text That is all.\n");
    window_type(&w, "go" ENTER);
    window_until_shown(&w, "Asked by general-purpose (Touch a file)");
    answer(&w, "1");
    window_until(&w, "That is all.");
    until_idle(&w);
    check_made(&w, true);
    leave(&w);
}

/* Two agents in the background ask: one dialog at a time. */
static void case_agents_ask(void)
{
    struct window w;
    bool is_first;

    start(&w, "step\n  if-prompt \"one of two\"\n  call Bash {\"command\": \"touch made\"}\n"
              "step\n  if-prompt \"two of two\"\n  call Bash {\"command\": \"touch other\"}\n"
              "step\n  if-prompt \"go\"\n  call Agent {\"description\": \"First touch\","
              " \"prompt\": \"one of two\", \"run_in_background\": true}\n"
              "  call Agent {\"description\": \"Second touch\","
              " \"prompt\": \"two of two\", \"run_in_background\": true}\n"
              "step\n  sticky\n  text That is all.\n");
    window_type(&w, "go" ENTER);
    window_until_shown(&w, "Asked by general-purpose (");
    is_first = window_count(&w, "Asked by general-purpose (First touch)") > 0;
    CHECK(window_count(&w, "Asked by general-purpose (") == 1, "%s", window_text(&w));
    answer(&w, "1");
    window_until_shown(&w, is_first ? "Asked by general-purpose (Second touch)"
                                    : "Asked by general-purpose (First touch)");
    CHECK(window_count(&w, "Asked by general-purpose (") == 1, "%s", window_text(&w));
    answer(&w, "1");
    window_until(&w, "First touch\" finished");
    window_until(&w, "Second touch\" finished");
    until_idle(&w);
    check_made(&w, true);
    leave(&w);
}

/* Whoever quits while one works is asked; the session stays, or it ends with the agent. */
static void case_agent_left(void)
{
    struct window w;

    start_background(&w);
    window_type(&w, CTRL_D);
    window_until_shown(&w, "Agents still work in the background");
    window_settle(&w, 400);
    window_type(&w, ESC);
    until_idle(&w);
    window_type(&w, "/exit" ENTER);
    window_until_shown(&w, "1 agent still works in the background");
    window_settle(&w, 400);
    window_type(&w, DOWN ENTER);
    CHECK(window_end(&w) == 0, "exit code");
    window_close(&w);
}

/* Ctrl-B: an agent that the turn waits for works on, and the turn goes on. */
static void case_agent_sent(void)
{
    struct window w;

    start_held(&w,
               "step\n  if-prompt \"find hooks\"\n  text Looking around.\n  " WAITS
               "step\n  if-prompt \"go\"\n  call Agent {\"description\": \"Look for hooks\","
               " \"prompt\": \"find hooks\", \"name\": \"scout\"}\n"
               "step\n  if-result \"You will be notified\"\n  text It runs.\n"
               "step\n  sticky\n  text Found them.\n",
               "{" MAY_WAIT "}");
    window_type(&w, "go" ENTER);
    window_until_shown(&w, "○ scout");
    window_type(&w, CTRL_B);
    window_until(&w, "It runs.");
    let_go(&w);
    window_until(&w, "hooks\" finished");
    until_idle(&w);
    leave(&w);
}

const struct person_case person_agents[] = {
    {"agent-viewed", case_agent_viewed},
    {"agent-stopped", case_agent_stopped},
    {"agents-stopped", case_agents_stopped},
    {"agent-listed", case_agent_listed},
    {"agent-asks", case_agent_asks},
    {"agents-ask", case_agents_ask},
    {"agent-left", case_agent_left},
    {"agent-sent", case_agent_sent},
    {NULL, NULL},
};
