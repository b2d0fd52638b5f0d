/*
 * runaways: agents that never finish. Each ends in the right state, by the guard that is there for
 * it, with few calls of the model; none ends as complete, and waiting costs nothing.
 *
 *     runaways BUILD_DIR WORKERS [NAME]
 *
 * A row is one such agent, played by the scripted model in a fresh folder: what it says, what the
 * judge says, what was asked for, and how far it may have come. Each call of the agent costs 110
 * tokens, each of the judge 55, so that the bound of calls is a bound of tokens, too. Where hours
 * go by, the clock is made to run fast. NAME: only rows with this in their name.
 *
 * The rows are shared out among workers, processes with a stage each. Main thread of each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "json/jw.h"
#include "outcome.h"
#include "stage.h"

#define LIMIT_MS 90000
#define ALONE_MS 15000
#define CALL_TOKENS 110
#define SIDE_CALLS 4 /* tries that broke off, and the summary for a fresh start */
#define JUDGE_TOKENS 55

#define SAY "  usage input=100 output=10\n"
#define RULE "  usage input=50 output=5\n"

#define NO "step\n  sticky\n" RULE "  text {\"ok\": false, \"reason\": \"Nothing of it holds.\"}\n"
#define NOTHING_LEFT                                                                               \
    "body=\"{\\\"error\\\":{\\\"type\\\":\\\"insufficient_quota\\\",\\\"message\\\":"              \
    "\\\"quota exceeded\\\"}}\"\n"
#define STATE(state) "{\"text\": \"It holds.\", \"state\": \"" state "\"}"
#define HOLD(a, b, c, d, e)                                                                        \
    "step\n" RULE                                                                                  \
    "  text {\"ok\": false, \"reason\": \"Not all of it holds.\", \"criteria\": [" STATE(          \
        a) ", " STATE(b) ", " STATE(c) ", " STATE(d) ", " STATE(e) "]}\n"
#define PRINT(words) "step\n" SAY "  call Bash {\"command\": \"echo " words " word\"}\n"
#define TALK "step\n  sticky\n" SAY "  text All of it is done.\n"

enum {
    MET = 0,
    FAILED = 1,
    BLOCKED = 10,
    LIMITED = 11,
    NO_QUOTA = 12,
    PAUSED = 13,
};

struct row {
    const char *name;
    const char *agent;
    const char *judge;       /* NULL: the checks alone decide */
    const char *options[10]; /* of the run */
    const char *settings;    /* more of them, JSON members */
    const char *before;      /* a script that prepares the folder */
    const char *clock;       /* TENAX_TEST_CLOCK=… */
    int code;
    const char *why;           /* what ended it says so */
    int most_steps;            /* calls of the agent's model */
    int most_judged;           /* calls of the judge's */
    int least_waits;           /* it has waited so often, */
    int64_t least_waited_ms;   /* so long */
    int least_retries, stalls; /* stalls: prompts of change, and the end */
};

static const struct row rows[] = {
    /* ---- Words ---- */
    {
        .name = "identical replies",
        .agent = TALK,
        .judge = NO,
        .code = BLOCKED,
        .why = "stalled: nothing has changed for 8 rounds",
        .most_steps = 8,
        .most_judged = 8,
        .stalls = 3,
    },
    {
        .name = "paraphrased replies",
        .agent = "step\n" SAY "  text Done!\n"
                 "step\n" SAY "  text The work is finished.\n"
                 "step\n" SAY "  text I have completed everything you asked for.\n"
                 "step\n" SAY "  text As I said, it holds now.\n"
                 "step\n" SAY "  text Verified once more: fine.\n"
                 "step\n" SAY "  text Nothing is left to do.\n"
                 "step\n" SAY "  text Rest assured that it is complete.\n"
                 "step\n" SAY "  text It is.\n"
                 "step\n  sticky\n" SAY "  text Yes.\n",
        .judge = NO,
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 8,
        .most_judged = 8,
        .stalls = 3,
    },
    {
        .name = "the judge says no each time in other words, the agent nothing new",
        .agent = TALK,
        .judge = "step\n" RULE "  text {\"ok\": false, \"reason\": \"No.\"}\n"
                 "step\n" RULE "  text {\"ok\": false, \"reason\": \"Not yet.\"}\n"
                 "step\n" RULE "  text {\"ok\": false, \"reason\": \"The file is missing.\"}\n" NO,
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 8,
        .most_judged = 8,
        .stalls = 3,
    },
    {
        .name = "mode self: it never says that it is done",
        .agent = "step\n  sticky\n" SAY "  text Still at it.\n",
        .options = {"--referee", "self"},
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 8,
        .stalls = 3,
    },
    {
        .name = "a check that never passes costs no judge",
        .agent = TALK,
        .judge = NO,
        .options = {"--check", "test -f flag"},
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 8,
        .most_judged = 0,
        .stalls = 3,
    },
    {
        .name = "answers that are cut at the limit",
        .agent = "step\n  sticky\n  stop max_tokens\n" SAY "  text And so it goes on and\n",
        .judge = NO,
        .options = {"--max-turns", "60"},
        .why = "came to nothing",
        .code = BLOCKED,
        .most_steps = 20,
        .most_judged = 0,
    },
    {
        .name = "refusals",
        .agent = "step\n  sticky\n  stop refusal\n" SAY "  text I would rather not.\n",
        .judge = NO,
        .code = BLOCKED,
        .why = "refused to answer",
        .most_steps = 10,
        .most_judged = 8,
    },
    {
        .name = "empty answers",
        .agent = "step\n  sticky\n" SAY,
        .judge = NO,
        .code = BLOCKED,
        .why = "answered with nothing",
        .most_steps = 60,
        .most_judged = 8,
    },
    /* ---- Tools ---- */
    {
        .name = "tool calls without effect",
        .agent = "step\n  sticky\n  if-result \"nothing\"\n" SAY "  text Looked at it.\n"
                 "step\n  sticky\n" SAY "  call Bash {\"command\": \"echo nothing\"}\n",
        .judge = NO,
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 16,
        .most_judged = 8,
        .stalls = 3,
    },
    {
        .name = "other words printed each round",
        .agent = "step\n  sticky\n  if-result \"word\"\n" SAY "  text Looked at it.\n" PRINT("a")
            PRINT("another") PRINT("a third") PRINT("a fourth") PRINT("a fifth") PRINT("a sixth")
                PRINT("a seventh") PRINT("an eighth"),
        .judge = NO,
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 16,
        .most_judged = 8,
        .stalls = 3,
    },
    {
        .name = "something new is found each round: no stall",
        .agent = "step\n  sticky\n  if-result \"=\"\n" SAY "  text Looked at it.\n"
                 "step\n  sticky\n" SAY
                 "  call Bash {\"command\": \"head -c 61 /dev/urandom | base64 -w 0\"}\n",
        .judge = NO,
        .options = {"--max-turns", "30"},
        .code = LIMITED,
        .why = "is reached",
        .most_steps = 32,
        .most_judged = 15,
    },
    {
        .name = "another criterion holds each round: no stall",
        .agent = TALK,
        .judge = HOLD("met", "met", "unmet", "unmet", "unmet") HOLD(
            "met", "unmet", "met", "unmet", "unmet") HOLD("met", "unmet", "unmet", "met", "unmet")
            HOLD("met", "unmet", "unmet", "unmet", "met")
                HOLD("unmet", "met", "met", "unmet", "unmet")
                    HOLD("unmet", "met", "unmet", "met", "unmet")
                        HOLD("unmet", "met", "unmet", "unmet", "met") HOLD("unmet", "unmet", "met",
                                                                           "met", "unmet")
                            HOLD("unmet", "unmet", "met", "unmet",
                                 "met") "step\n" RULE
                                        "  text {\"ok\": true, \"reason\": \"All of it holds.\"}\n",
        .code = MET,
        .why = "",
        .most_steps = 10,
        .most_judged = 10,
    },
    {
        .name = "a file that is touched, again and again",
        .agent = "step\n  sticky\n  if-result \"touched\"\n" SAY "  text Touched it.\n"
                 "step\n  sticky\n" SAY "  call Bash {\"command\": \"touch a; echo touched\"}\n",
        .judge = NO,
        .before = "echo text > a",
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 16,
        .most_judged = 8,
        .stalls = 3,
    },
    {
        .name = "back and forth between two states",
        .agent =
            "step\n  sticky\n  if-result \"switched\"\n" SAY "  text Switched it.\n"
            "step\n  sticky\n" SAY "  call Bash {\"command\": \"if grep -q on a; then echo off "
            "> a; else echo on > a; fi; echo switched\"}\n",
        .judge = NO,
        .before = "echo off > a",
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 20,
        .most_judged = 10,
        .stalls = 3,
    },
    {
        .name = "reads without end and never stops",
        .agent = "step\n  sticky\n" SAY "  call Bash {\"command\": \"ls\"}\n",
        .judge = NO,
        .options = {"--max-turns", "20"},
        .code = LIMITED,
        .why = "is reached",
        .most_steps = 22,
        .most_judged = 0,
    },
    {
        .name = "a tool that does not exist",
        .agent = "step\n  sticky\n" SAY "  call Telepathy {\"to\": \"you\"}\n",
        .judge = NO,
        .options = {"--max-turns", "20"},
        .code = LIMITED,
        .why = "is reached",
        .most_steps = 22,
        .most_judged = 0,
    },
    {
        .name = "one turn without end: the same look again and again",
        .agent = "step\n  sticky\n" SAY "  call Bash {\"command\": \"ls\"}\n",
        .judge = NO,
        .code = BLOCKED,
        .why = "stalled: nothing has changed for 8 looks in one turn",
        .most_steps = 100,
        .most_judged = 0,
        .stalls = 3,
    },
    {
        .name = "one turn without end: only the figures change",
        .agent = "step\n  sticky\n" SAY "  call Bash {\"command\": \"date +%s%N\"}\n",
        .judge = NO,
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 100,
        .most_judged = 0,
        .stalls = 3,
    },
    {
        .name = "one turn without end: back and forth",
        .agent =
            "step\n  sticky\n" SAY "  call Bash {\"command\": \"if grep -q on a; then echo off "
            "> a; else echo on > a; fi\"}\n",
        .judge = NO,
        .before = "echo off > a",
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 110,
        .most_judged = 0,
        .stalls = 3,
    },
    {
        .name = "one turn without end: every call denied by a hook",
        .agent = "step\n  sticky\n" SAY "  call Bash {\"command\": \"touch flag\"}\n",
        .judge = NO,
        .settings =
            ",\"hooks\":{\"PreToolUse\":[{\"matcher\":\"\",\"hooks\":[{\"type\":\"command\","
            "\"command\":\"echo not today >&2; exit 2\"}]}]}",
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 100,
        .most_judged = 0,
        .stalls = 3,
    },
    {
        .name = "one turn without end: a tool that does not exist",
        .agent = "step\n  sticky\n" SAY "  call Telepathy {\"to\": \"you\"}\n",
        .judge = NO,
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 100,
        .most_judged = 0,
        .stalls = 3,
    },
    {
        .name = "one long turn that looks at something new each time is no stall",
        .agent = "step\n  sticky\n" SAY
                 "  call Bash {\"command\": \"head -c 60 /dev/urandom | base64\"}\n",
        .judge = NO,
        .options = {"--max-turns", "130"},
        .code = LIMITED,
        .why = "is reached",
        .most_steps = 132,
        .most_judged = 0,
    },
    {
        .name = "one long turn that changes a file each time is no stall",
        .agent = "step\n  sticky\n" SAY "  call Bash {\"command\": \"echo line >> a\"}\n",
        .judge = NO,
        .options = {"--max-turns", "130"},
        .code = LIMITED,
        .why = "is reached",
        .most_steps = 132,
        .most_judged = 0,
    },
    {
        .name = "busy work, until the money is spent",
        .agent =
            "step\n  sticky\n  if-result \"added\"\n" SAY "  text Progress!\n"
            "step\n  sticky\n" SAY "  call Bash {\"command\": \"echo line >> a; echo added\"}\n",
        .judge = NO,
        .options = {"--max-cost", "0.005"},
        .settings =
            ",\"models\":{\"scripted/agent.scenario\":{\"price\":{\"input\":1,\"output\":10}}}",
        .code = LIMITED,
        .why = "is reached",
        .most_steps = 27,
        .most_judged = 13,
    },
    {
        .name = "busy work: a line more each round, until the tokens are spent",
        .agent =
            "step\n  sticky\n  if-result \"added\"\n" SAY "  text Progress!\n"
            "step\n  sticky\n" SAY "  call Bash {\"command\": \"echo line >> a; echo added\"}\n",
        .judge = NO,
        .options = {"--budget", "5k"},
        .code = LIMITED,
        .why = "is reached",
        .most_steps = 48,
        .most_judged = 20,
    },
    {
        .name = "busy work, until the turns are over",
        .agent =
            "step\n  sticky\n  if-result \"added\"\n" SAY "  text Progress!\n"
            "step\n  sticky\n" SAY "  call Bash {\"command\": \"echo line >> a; echo added\"}\n",
        .judge = NO,
        .options = {"--max-turns", "30"},
        .code = LIMITED,
        .why = "is reached",
        .most_steps = 32,
        .most_judged = 16,
    },
    {
        .name = "one answer that costs all of it",
        .agent = "step\n  sticky\n  usage input=1000000 output=10\n  text Hm.\n",
        .judge = NO,
        .options = {"--budget", "50k"},
        .code = LIMITED,
        .why = "is reached",
        .most_steps = 1,
        .most_judged = -1, /* the figures are not the usual ones */
    },
    /* ---- Denied ---- */
    {
        .name = "every call denied by a hook, and it says so at each stop",
        .agent = "step\n  sticky\n  if-result \"not today\"\n" SAY "  text It is denied.\n"
                 "step\n  sticky\n" SAY "  call Bash {\"command\": \"touch flag\"}\n",
        .judge = NO,
        .settings =
            ",\"hooks\":{\"PreToolUse\":[{\"matcher\":\"\",\"hooks\":[{\"type\":\"command\","
            "\"command\":\"echo not today >&2; exit 2\"}]}]}",
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 16,
        .most_judged = 8,
        .stalls = 3,
    },
    {
        .name = "every call denied by a hook, and it never stops",
        .agent = "step\n  sticky\n" SAY "  call Bash {\"command\": \"touch flag\"}\n",
        .judge = NO,
        .options = {"--max-turns", "15"},
        .settings =
            ",\"hooks\":{\"PreToolUse\":[{\"matcher\":\"\",\"hooks\":[{\"type\":\"command\","
            "\"command\":\"echo not today >&2; exit 2\"}]}]}",
        .code = LIMITED,
        .why = "is reached",
        .most_steps = 17,
        .most_judged = 0,
    },
    {
        .name = "an approval that nobody can give",
        .agent = "step\n  sticky\n" SAY "  call Bash {\"command\": \"python3 -c 1\"}\n",
        .judge = NO,
        .options = {"--permission-mode", "acceptEdits"},
        .code = BLOCKED,
        .why = "needs an approval",
        .most_steps = 1,
        .most_judged = 0,
    },
    {
        .name = "an approval that nobody can give, skipped",
        .agent = "step\n  sticky\n  if-result \"requires approval\"\n" SAY "  text Not allowed.\n"
                 "step\n  sticky\n" SAY "  call Bash {\"command\": \"python3 -c 1\"}\n",
        .judge = NO,
        .options = {"--permission-mode", "acceptEdits", "--on-deny", "skip", "--max-turns", "30"},
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 16,
        .most_judged = 8,
        .stalls = 3,
    },
    {
        .name = "a Stop hook that lets nothing end",
        .agent = TALK,
        .judge = NO,
        .options = {"--max-turns", "60"},
        .settings = ",\"hooks\":{\"Stop\":[{\"matcher\":\"\",\"hooks\":[{\"type\":\"command\","
                    "\"command\":\"echo go on >&2; exit 2\"}]}]}",
        .code = BLOCKED,
        .why = "Stop hooks object to each end of the turn",
        .most_steps = 9,
        .most_judged = 0,
    },
    /* ---- Claims and blockers ---- */
    {
        .name = "claims in a row, all refused",
        .agent = "step\n  sticky\n" SAY
                 "  call update_goal {\"status\": \"complete\", \"reason\": \"done\"}\n",
        .judge = NO,
        .code = BLOCKED,
        .why = "stalled: nothing has changed for 8 claims",
        .most_steps = 10,
        .most_judged = 1, /* the same state is not judged twice */
        .stalls = 3,
    },
    {
        .name = "claims against a failing check",
        .agent = "step\n  sticky\n" SAY
                 "  call update_goal {\"status\": \"complete\", \"reason\": \"done\"}\n",
        .options = {"--referee", "checks", "--check", "false"},
        .code = BLOCKED,
        .why = "stalled: nothing has changed for 8 claims",
        .most_steps = 10,
        .stalls = 3,
    },
    {
        .name = "the same blocker three times",
        .agent =
            "step\n  sticky\n  if-result \"Recorded\"\n" SAY "  text I cannot go on.\n"
            "step\n  sticky\n" SAY
            "  call update_goal {\"status\": \"blocked\", \"reason\": \"No network, try 7!\"}\n",
        .judge = NO,
        .code = BLOCKED,
        .why = "No network",
        .most_steps = 6,
        .most_judged = 2,
    },
    {
        .name = "another blocker each time",
        .agent = "step\n  sticky\n  if-result \"Recorded\"\n" SAY "  text I cannot go on.\n"
                 "step\n" SAY "  call update_goal {\"status\": \"blocked\", \"reason\": \"a\"}\n"
                 "step\n" SAY "  call update_goal {\"status\": \"blocked\", \"reason\": \"b\"}\n"
                 "step\n" SAY "  call update_goal {\"status\": \"blocked\", \"reason\": \"c\"}\n"
                 "step\n" SAY "  call update_goal {\"status\": \"blocked\", \"reason\": \"a\"}\n"
                 "step\n" SAY "  call update_goal {\"status\": \"blocked\", \"reason\": \"b\"}\n"
                 "step\n" SAY "  call update_goal {\"status\": \"blocked\", \"reason\": \"c\"}\n"
                 "step\n" SAY "  call update_goal {\"status\": \"blocked\", \"reason\": \"a\"}\n"
                 "step\n  sticky\n" SAY "  text Hm.\n",
        .judge = NO,
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 16,
        .most_judged = 8,
        .stalls = 3,
    },
    {
        .name = "trap: unsatisfiable goal",
        .agent = TALK,
        .judge = "step\n  sticky\n" RULE "  text {\"ok\": false, \"impossible\": true, \"reason\": "
                 "\"The moon cannot be painted from here.\"}\n",
        .code = BLOCKED,
        .why = "The moon cannot be painted",
        .most_steps = 1,
        .most_judged = 1,
    },
    /* ---- Waiting ---- */
    {
        .name = "waits on a process that never ends and says nothing",
        .agent =
            "step\n" SAY
            "  call Bash {\"command\": \"exec sleep 1000\", \"run_in_background\": true}\n" TALK,
        .judge = NO,
        .clock = "fast:200", /* ten minutes of silence are three seconds, less the machine's own */
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 11, /* that it was started is something new, once */
        .most_judged = 10,
        .least_waits = 1,
        .least_waited_ms = 200000,
    },
    {
        .name = "a dev server that never ends and always says something",
        .agent =
            "step\n" SAY "  call Bash {\"command\": \"while sleep 0.05; do echo GET /; done\", "
            "\"run_in_background\": true}\n" TALK,
        .judge = NO,
        .clock = "fast:200", /* what it prints does not make the wait longer */
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 11,
        .most_judged = 10,
        .least_waits = 1,
        .least_waited_ms = 200000,
    },
    /* ---- The judge ---- */
    {
        .name = "trap: judge bad JSON",
        .agent = TALK,
        .judge = "step\n  sticky\n" RULE "  text Looks good to me!\n",
        .code = PAUSED,
        .why = "cannot be judged",
        .most_steps = 3,
        .most_judged = 6, /* each of three is asked once more */
    },
    {
        .name = "an answer of the judge that cannot be read twice is a no",
        .agent = "step\n  sticky\n  if-prompt \"counts as not met\"\n" SAY
                 "  text It is really done now.\n" TALK,
        .judge = "step\n" RULE "  text Looks good to me!\n"
                 "step\n" RULE "  text As I said, it looks good.\n"
                 "step\n  sticky\n  if-prompt \"really done now\"\n" RULE
                 "  text {\"ok\": true, \"reason\": \"All of it holds.\"}\n" NO,
        .code = MET,
        .why = "",
        .most_steps = 2,
        .most_judged = 3,
    },
    {
        .name = "a judge that says ok without the words that count",
        .agent = TALK,
        .judge = "step\n  sticky\n" RULE "  text {\"ok\": \"true\", \"reason\": 7}\n",
        .code = PAUSED,
        .why = "cannot be judged",
        .most_steps = 3,
        .most_judged = 6,
    },
    {
        .name = "a judge that only looks around",
        .agent = TALK,
        .judge = "step\n  sticky\n" RULE "  call Glob {\"pattern\": \"*\"}\n",
        .code = PAUSED,
        .why = "cannot be judged",
        .most_steps = 3,
        .most_judged = 60,
    },
    {
        .name = "a judge that cannot be reached",
        .agent = TALK,
        .judge = "step\n  sticky\n  fault status 503 \"unavailable\" times=100000\n  text no\n",
        .clock = "fast:1000",
        .code = PAUSED,
        .why = "cannot be judged",
        .most_steps = 1,
        .most_judged = 0,
        .least_retries = 4,
    },
    {
        .name = "trap: judge timeout",
        .agent = TALK,
        .judge = "step\n  sticky\n  fault hang times=100000\n  text no\n",
        .clock = "fast:1000",
        .code = PAUSED,
        .why = "cannot be judged",
        .most_steps = 1,
        .most_judged = 0,
        .least_retries = 4,
    },
    {
        .name = "a judge without quota",
        .agent = TALK,
        .judge = "step\n  sticky\n  fault status 429 \"x\" times=1000 " NOTHING_LEFT "  text no\n",
        .code = NO_QUOTA,
        .why = "quota",
        .most_steps = 1,
        .most_judged = 0,
    },
    {
        .name = "a judge without quota, with --auto-resume",
        .agent = TALK,
        .judge = "step\n  sticky\n  fault status 429 \"x\" times=1000 " NOTHING_LEFT "  text no\n",
        .options = {"--auto-resume"},
        .clock = "fast:100000",
        .code = NO_QUOTA,
        .why = "the judge's account",
        .most_steps = 25,
        .most_judged = 0,
        .least_waits = 12,
        .least_waited_ms = 36000000,
    },
    {
        .name = "a judge's quota that says when it begins anew",
        .agent = TALK,
        .judge = "step\n  fault status 429 \"x\" body=\"{\\\"error\\\":{\\\"type\\\":"
                 "\\\"insufficient_quota\\\",\\\"message\\\":\\\"quota exceeded\\\","
                 "\\\"resets_in_seconds\\\":10800}}\"\n" RULE
                 "  text {\"ok\": false, \"reason\": \"No.\"}\n" NO,
        .options = {"--auto-resume"},
        .clock = "fast:10000",
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 9,
        .most_judged = 8,
        .least_waits = 1,
        .least_waited_ms = 10700000,
        .stalls = 3,
    },
    /* ---- The agent's model ---- */
    {
        .name = "a quota that says when it begins anew",
        .agent = "step\n  fault status 429 \"x\" retry-after=10800 " NOTHING_LEFT SAY
                 "  text All of it is done.\n" TALK,
        .judge = NO,
        .options = {"--auto-resume"},
        .clock = "fast:10000",
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 8,
        .most_judged = 8,
        .least_waits = 1,
        .least_waited_ms = 10700000,
        .stalls = 3,
    },
    {
        .name = "a quota that begins anew next month is not waited for",
        .agent =
            "step\n  sticky\n  fault status 429 \"x\" times=1000 retry-after=2592000 " NOTHING_LEFT
            "  text no\n",
        .judge = NO,
        .options = {"--auto-resume"},
        .code = NO_QUOTA,
        .why = "there is more in 30d 0h 0m",
        .most_steps = 0,
        .most_judged = 0,
    },
    {
        .name = "trap: quota vs capacity error: quota",
        .agent = "step\n  sticky\n  fault status 429 \"x\" times=1000 " NOTHING_LEFT "  text no\n",
        .judge = NO,
        .code = NO_QUOTA,
        .why = "quota",
        .most_steps = 0,
        .most_judged = 0,
    },
    {
        .name = "trap: quota vs capacity error: capacity, for hours",
        .agent = "step\n  sticky\n  fault status 529 \"overloaded\" times=100000\n  text no\n",
        .judge = NO,
        .options = {"--deadline", "2h"},
        .clock = "fast:2000",
        .code = LIMITED,
        .why = "deadline",
        .most_steps = 0,
        .most_judged = 0,
        .least_waits = 5,
        .least_retries = 5,
        .least_waited_ms = 1800000,
    },
    {
        .name = "a quota that never comes back, with --auto-resume",
        .agent = "step\n  sticky\n  fault status 429 \"x\" times=1000 " NOTHING_LEFT "  text no\n",
        .judge = NO,
        .options = {"--auto-resume"},
        .clock = "fast:100000",
        .code = NO_QUOTA,
        .why = "quota",
        .most_steps = 0,
        .most_judged = 0,
        .least_waits = 12,
        .least_waited_ms = 36000000,
    },
    {
        .name = "a flaky network and nothing to show for it",
        .agent =
            "step\n  fault reset 10\n" SAY "  text One.\n"
            "step\n  fault cut 10\n  fault status 502 \"bad gateway\"\n" SAY "  text Two.\n"
            "step\n  fault stall 10\n" SAY "  text Three.\n"
            "step\n  fault empty\n  fault garbage 3 \"xx\"\n" SAY "  text Four.\n"
            "step\n  fault error \"overloaded\" type=overloaded_error\n" SAY "  text Five.\n" TALK,
        .judge = NO,
        .clock = "fast:1000",
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 8,
        .most_judged = 8,
        .stalls = 3,
    },
    {
        .name = "a key that is refused",
        .agent = "step\n  sticky\n  fault status 401 \"no such key\" times=1000\n  text no\n",
        .judge = NO,
        .code = BLOCKED,
        .why = "no such key",
        .most_steps = 0,
        .most_judged = 0,
    },
    /* ---- More traps ---- */
    {
        .name = "trap: budget crossed mid-turn",
        .agent = "step\n  sticky\n" SAY "  call Bash {\"command\": \"echo line >> a\"}\n",
        .judge = NO,
        .options = {"--budget", "1k"},
        .code = LIMITED,
        .why = "token budget is reached",
        .most_steps = 12, /* ten, and two to wrap up */
        .most_judged = 0,
    },
    {
        .name = "trap: goal already met at set time",
        .agent = TALK,
        .options = {"--check", "test -f flag", "--referee", "checks"},
        .before = "touch flag",
        .code = MET,
        .why = "",
        .most_steps = 1,
    },
    {
        .name = "trap: completion denied by a hook",
        .agent = "step\n" SAY "  call update_goal {\"status\": \"complete\", \"reason\": \"x\"}\n"
                 "step\n  sticky\n  if-prompt \"sign it first\"\n" SAY "  text Never.\n" TALK,
        .judge = "step\n  sticky\n" RULE "  text {\"ok\": true, \"reason\": \"It holds.\"}\n",
        .options = {"--max-turns", "5"},
        .settings = ",\"hooks\":{\"Stop\":[{\"matcher\":\"\",\"hooks\":[{\"type\":\"command\","
                    "\"command\":\"echo sign it first >&2; exit 2\"}]}]}",
        .code = LIMITED,
        .why = "is reached",
        .most_steps = 7,
        .most_judged = 1,
    },
    {
        .name = "trap: judge too-long input",
        .agent = TALK,
        .judge = "step\n  sticky\n  fault status 400 \"prompt is too long: 250000 tokens\" "
                 "times=1000\n  text no\n",
        .clock = "fast:1000",
        .code = PAUSED,
        .why = "cannot be judged",
        .most_steps = 1,
        .most_judged = 0,
    },
    {
        .name = "trap: background process outliving its parent",
        .agent = "step\n" SAY "  call Bash {\"command\": \"(setsid sleep 300 >/dev/null 2>&1 &) ; "
                 "touch flag\"}\n" TALK,
        .options = {"--check", "test -f flag", "--referee", "checks"},
        .code = MET,
        .why = "",
        .most_steps = 2,
    },
    {
        .name = "trap: the agent edits the test to make it pass",
        .agent = "step\n" SAY "  call Bash {\"command\": \"echo exit 0 > test.sh\"}\n" TALK,
        .judge = NO,
        .options = {"--check", "sh test.sh"},
        .before = "echo exit 1 > test.sh",
        .code = BLOCKED,
        .why = "test.sh",
        .most_steps = 12,
        .most_judged = 0,
    },
    {
        .name = "trap: the agent deletes the check script",
        .agent = "step\n" SAY "  call Bash {\"command\": \"rm test.sh\"}\n" TALK,
        .judge = NO,
        .options = {"--check", "test ! -e test.sh || sh test.sh"},
        .before = "echo exit 1 > test.sh",
        .code = BLOCKED,
        .why = "test.sh",
        .most_steps = 12,
        .most_judged = 0,
    },
    {
        .name = "trap: clock jump: a day back between set and deadline",
        .agent = TALK,
        .judge = NO,
        .options = {"--deadline", "2h"},
        .clock = "wall:-86400000",
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 8,
        .most_judged = 8,
    },
};

/* ---- A run ---- */

static int write_scenario(const struct stage *s, const char *name, const char *text,
                          struct err *err)
{
    CLEANUP(mem_freep) char *file = path_join(s->dir, name);

    return file_replace(file, str_of(text), 0600, err);
}

static bool is_given(const struct row *r, const char *option)
{
    for (const char *const *o = r->options; *o; o++) {
        if (strcmp(*o, option) == 0)
            return true;
    }
    return false;
}

static void row_args(const struct stage *s, const struct row *r, struct strv *args)
{
    strv_adds(args, "goal");
    strv_adds(args, "the moon is green");
    strv_addf(args, "--model=scripted/%s/agent.scenario", s->dir);
    strv_addf(args, "--settings={\"goal\":{\"judgeModel\":\"scripted/%s/judge.scenario\"}%s}",
              s->dir, r->settings ? r->settings : "");
    if (!is_given(r, "--permission-mode"))
        strv_adds(args, "--permission-mode=bypassPermissions");
    for (const char *const *o = r->options; *o; o++)
        strv_adds(args, *o);
}

static const char *status_of(int code)
{
    return code == MET        ? "complete"
           : code == BLOCKED  ? "blocked"
           : code == LIMITED  ? "budget_limited"
           : code == NO_QUOTA ? "usage_limited"
                              : "paused";
}

static int check_row(const struct row *r, const struct outcome *o, struct err *err)
{
    int64_t main_tokens = o->tokens - o->judge_tokens;

    if (!str_is(o->status, status_of(r->code)))
        return err_set(err, ERR_PROTOCOL, "it is %.*s: %.*s", STR_ARG(o->status), STR_ARG(o->why));
    if (!str_has(o->why, str_of(r->why)))
        return err_set(err, ERR_PROTOCOL, "ended for another reason: %.*s", STR_ARG(o->why));
    if (r->code != MET && o->verdicts_met)
        return err_set(err, ERR_PROTOCOL, "somebody said that it is met");
    if (o->steps > r->most_steps)
        return err_set(err, ERR_PROTOCOL, "%lld calls of the model", (long long)o->steps);
    if (r->most_judged >= 0 && (o->judge_tokens > (int64_t)r->most_judged * JUDGE_TOKENS ||
                                main_tokens > (int64_t)(r->most_steps + SIDE_CALLS) * CALL_TOKENS))
        return err_set(err, ERR_PROTOCOL, "%lld tokens, and %lld of the judge",
                       (long long)main_tokens, (long long)o->judge_tokens);
    if (o->waits < r->least_waits || o->waited_ms < r->least_waited_ms)
        return err_set(err, ERR_PROTOCOL, "%lld waits, %lld ms", (long long)o->waits,
                       (long long)o->waited_ms);
    if (o->retries < r->least_retries || o->stalls < r->stalls)
        return err_set(err, ERR_PROTOCOL, "%lld retries, %lld stalls", (long long)o->retries,
                       (long long)o->stalls);
    return 0;
}

static int play_row(struct stage *s, const struct row *r, struct outcome *o, struct err *err)
{
    CLEANUP(strv_release) struct strv args = STRV_INIT;
    CLEANUP(stage_result_release) struct stage_result run = {0};
    char clock[64];

    if (stage_sweep(s, err) < 0 || write_scenario(s, "agent.scenario", r->agent, err) < 0 ||
        write_scenario(s, "judge.scenario", r->judge ? r->judge : "step\n  text no\n", err) < 0)
        return -1;
    if (r->before && outcome_shell(s, r->before, err) != 0)
        return err_set(err, ERR_PROTOCOL, "its folder could not be prepared: %s", err->text);
    row_args(s, r, &args);
    snprintf(clock, sizeof(clock), "TENAX_TEST_CLOCK=%s", r->clock ? r->clock : "fast:1");
    if (stage_play(s, (const char *const *)strv_get(&args), clock, LIMIT_MS, &run, err) < 0)
        return -1;
    if (run.is_stuck)
        return err_set(err, ERR_TIMEOUT, "it did not end: %s", buf_cstr(&run.err));
    if (stage_alone(s, ALONE_MS, err) < 0 || outcome_read(s, /*session=*/NULL, o, err) < 0)
        return -1;
    if (check_row(r, o, err) < 0)
        return -1;
    if (run.code != r->code)
        return err_set(err, ERR_PROTOCOL, "exit code %d: %s", run.code, buf_cstr(&run.err));
    return stage_is_tidy(s, err);
}

static int worker(const char *build, int64_t number, int64_t workers, const char *only)
{
    struct stage s;
    struct err err = {0};
    int failed = 0;

    if (stage_open(&s, build, /*dialect=*/NULL, &err) < 0) {
        printf("%s\n", err.text);
        return 1;
    }
    for (size_t i = (size_t)number; i < ARRAY_LEN(rows); i += (size_t)workers) {
        CLEANUP(outcome_release) struct outcome o = {0};
        int64_t start_ms = clock_mono_ms();

        if (only && !strstr(rows[i].name, only))
            continue;
        err_clear(&err);
        if (play_row(&s, &rows[i], &o, &err) < 0) {
            printf("FAILED %s: %s\n", rows[i].name, err.text);
            failed = 1;
        } else {
            printf("%s: %.*s, %lld calls, %lld tokens, %lld waits (%.1f s)\n", rows[i].name,
                   STR_ARG(o.status), (long long)o.steps, (long long)o.tokens, (long long)o.waits,
                   (double)(clock_mono_ms() - start_ms) / 1000);
        }
        fflush(stdout);
    }
    if (!getenv("RUNAWAYS_KEEP"))
        stage_close(&s);
    else
        printf("kept: %s\n", s.dir);
    return failed;
}

int main(int argc, char **argv)
{
    int64_t workers = 0;
    int failed = 0;
    int status;

    if (argc < 3 || str_to_i64(str_of(argv[2]), &workers, /*err=*/NULL) < 0 || workers < 1) {
        fprintf(stderr, "usage: runaways BUILD_DIR WORKERS [NAME]\n");
        return 2;
    }
    for (int64_t i = 0; i < workers; i++) {
        pid_t pid = fork();

        if (pid == 0)
            exit(worker(argv[1], i, workers, argc > 3 ? argv[3] : NULL));
        failed += pid < 0;
    }
    while (wait(&status) > 0)
        failed += status != 0;
    return failed ? 1 : 0;
}
