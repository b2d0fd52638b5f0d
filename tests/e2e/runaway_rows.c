/*
 * runaway_rows: what the agents of runaways do. Each call of the agent costs 110 tokens, each of
 * the judge 55.
 */
#include "base/mem.h"
#include "runaways.h"

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
#define YES "step\n  sticky\n" RULE "  text {\"ok\": true, \"reason\": \"All of it holds.\"}\n"
#define TODO(what)                                                                                 \
    "{\"content\": \"" what "\", \"status\": \"pending\", \"activeForm\": \"" what "\"}"
#define WORK                                                                                       \
    "step\n  sticky\n  if-result \"added\"\n" SAY "  text Progress!\n"                             \
    "step\n  sticky\n" SAY "  call Bash {\"command\": \"echo line >> a; echo added\"}\n"
#define TALK "step\n  sticky\n" SAY "  text All of it is done.\n"

const struct row runaway_rows[] = {
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
        .name = "a file too long to be known by heart that is touched, again and again",
        .agent = "step\n  sticky\n  if-result \"touched\"\n" SAY "  text Touched it.\n"
                 "step\n  sticky\n" SAY "  call Bash {\"command\": \"touch a; echo touched\"}\n",
        .judge = NO,
        .before = "head -c 300000 /dev/zero | tr '\\0' x > a; touch -d '1 hour ago' a",
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 18, /* it counts once */
        .most_judged = 9,
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
    /* ---- How it is reported ---- */
    {
        .name = "blocked, as text",
        .agent = TALK,
        .judge = NO,
        .form = FORM_TEXT,
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 8,
        .most_judged = 8,
    },
    {
        .name = "blocked, as stream-json",
        .agent = TALK,
        .judge = NO,
        .form = FORM_STREAM,
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 8,
        .most_judged = 8,
    },
    {
        .name = "blocked, as a prompt",
        .agent = TALK,
        .judge = NO,
        .form = FORM_PROMPT,
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 8,
        .most_judged = 8,
    },
    {
        .name = "limited, as text",
        .agent = WORK,
        .judge = NO,
        .options = {"--max-turns", "6"},
        .form = FORM_TEXT,
        .code = LIMITED,
        .why = "step limit is reached",
        .most_steps = 8,
        .most_judged = 4,
    },
    {
        .name = "limited, as stream-json",
        .agent = WORK,
        .judge = NO,
        .options = {"--budget", "1k"},
        .form = FORM_STREAM,
        .code = LIMITED,
        .why = "token budget is reached",
        .most_steps = 12,
        .most_judged = 5,
    },
    {
        .name = "limited, as a prompt",
        .agent = WORK,
        .judge = NO,
        .options = {"--max-turns", "6"},
        .form = FORM_PROMPT,
        .code = LIMITED,
        .why = "step limit is reached",
        .most_steps = 8,
        .most_judged = 4,
    },
    {
        .name = "no quota, as text",
        .agent = "step\n  sticky\n  fault status 429 \"x\" times=1000 " NOTHING_LEFT "  text no\n",
        .judge = NO,
        .form = FORM_TEXT,
        .code = NO_QUOTA,
        .why = "quota",
    },
    {
        .name = "no quota, as a prompt",
        .agent = "step\n  sticky\n  fault status 429 \"x\" times=1000 " NOTHING_LEFT "  text no\n",
        .judge = NO,
        .form = FORM_PROMPT,
        .code = NO_QUOTA,
        .why = "quota",
    },
    {
        .name = "paused, as stream-json",
        .agent = TALK,
        .judge = "step\n  sticky\n" RULE "  text Looks good to me!\n",
        .form = FORM_STREAM,
        .code = PAUSED,
        .why = "cannot be judged",
        .most_steps = 3,
        .most_judged = 6,
    },
    {
        .name = "complete, as stream-json",
        .agent = TALK,
        .judge = YES,
        .form = FORM_STREAM,
        .code = MET,
        .why = "",
        .most_steps = 1,
        .most_judged = 1,
    },
    {
        .name = "complete, as a prompt",
        .agent = TALK,
        .judge = YES,
        .form = FORM_PROMPT,
        .code = MET,
        .why = "",
        .most_steps = 1,
        .most_judged = 1,
    },
    /* ---- Another run in the same session ---- */
    {
        .name = "blocked, then a question",
        .agent = TALK,
        .judge = NO,
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 8,
        .most_judged = 8,
        .then = {"-p", "--continue", "what is 2+2"},
        .then_code = BLOCKED,
    },
    {
        .name = "blocked, then a question, as text",
        .agent = TALK,
        .judge = NO,
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 8,
        .most_judged = 8,
        .then = {"-p", "--resume", SESSION, "what is 2+2"},
        .then_form = FORM_TEXT,
        .then_code = BLOCKED,
    },
    {
        .name = "blocked, then nothing, as stream-json",
        .agent = TALK,
        .judge = NO,
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 8,
        .most_judged = 8,
        .then = {"-p", "--resume", SESSION},
        .then_form = FORM_STREAM,
        .then_code = BLOCKED,
    },
    {
        .name = "limited, then a question",
        .agent = WORK,
        .judge = NO,
        .options = {"--max-turns", "3"},
        .code = LIMITED,
        .why = "is reached",
        .most_steps = 5,
        .most_judged = 2,
        .then = {"-p", "--continue", "what is 2+2"},
        .then_form = FORM_STREAM,
        .then_code = LIMITED,
    },
    {
        .name = "limited, then resumed without more of it",
        .agent = WORK,
        .judge = NO,
        .options = {"--max-turns", "3"},
        .code = LIMITED,
        .why = "is reached",
        .most_steps = 5,
        .most_judged = 2,
        .then = {"goal", "--resume", SESSION},
        .then_code = LIMITED,
    },
    {
        .name = "complete, then a question",
        .agent = TALK,
        .judge = YES,
        .code = MET,
        .why = "",
        .most_steps = 1,
        .most_judged = 1,
        .then = {"-p", "--continue", "what is 2+2"},
        .then_code = MET,
    },
    {
        .name = "blocked, then cleared",
        .agent = TALK,
        .judge = NO,
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 8,
        .most_judged = 8,
        .then = {"-p", "--continue", "/goal clear"},
        .then_code = MET,
    },
    {
        .name = "blocked, then looked at",
        .agent = TALK,
        .judge = NO,
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 8,
        .most_judged = 8,
        .then = {"-p", "--continue", "/goal"},
        .then_code = MET,
    },
    /* ---- The deadline ends what runs ---- */
    {
        .name = "deadline: a command that takes its time",
        .agent = "step\n  sticky\n" SAY "  call Bash {\"command\": \"sleep 60\"}\n",
        .judge = NO,
        .options = {"--deadline", "2s"},
        .code = LIMITED,
        .why = "deadline",
        .most_steps = 1,
        .most_seconds = 12,
    },
    {
        .name = "deadline: a command that will not end",
        .agent = "step\n  sticky\n" SAY
                 "  call Bash {\"command\": \"trap '' TERM; while :; do sleep 1; done\"}\n",
        .judge = NO,
        .options = {"--deadline", "2s"},
        .code = LIMITED,
        .why = "deadline",
        .most_steps = 1,
        .most_seconds = 12,
    },
    {
        .name = "deadline: a check that hangs at the stop",
        .agent = TALK,
        .judge = NO,
        .options = {"--deadline", "2s", "--check", "sleep 60"},
        .code = LIMITED,
        .why = "deadline",
        .most_steps = 1,
        .most_seconds = 12,
    },
    {
        .name = "deadline: a check that hangs under a claim",
        .agent = "step\n  sticky\n" SAY "  call update_goal {\"status\": \"complete\"}\n",
        .options = {"--referee", "checks", "--deadline", "2s", "--check", "sleep 60"},
        .code = LIMITED,
        .why = "deadline",
        .most_steps = 1,
        .most_seconds = 12,
    },
    {
        .name = "deadline: two checks that hang",
        .agent = TALK,
        .options = {"--referee", "checks", "--deadline", "3s", "--check", "true", "--check",
                    "sleep 60"},
        .code = LIMITED,
        .why = "deadline",
        .most_steps = 1,
        .most_seconds = 12,
    },
    {
        .name = "deadline: a judge that says nothing",
        .agent = TALK,
        .judge = "step\n  sticky\n  fault hang times=1000\n  text no\n",
        .options = {"--deadline", "2s"},
        .code = LIMITED,
        .why = "deadline",
        .most_steps = 1,
        .most_seconds = 12,
    },
    {
        .name = "deadline: a judge that speaks slowly",
        .agent = TALK,
        .judge = "step\n  sticky\n  pause 60s\n" RULE "  text {\"ok\": true, \"reason\": \"x\"}\n",
        .options = {"--deadline", "2s"},
        .code = LIMITED,
        .why = "deadline",
        .most_steps = 1,
        .most_judged = 1, /* what its server had counted when it was cut off */
        .most_seconds = 12,
    },
    {
        .name = "deadline: an answer that comes slowly",
        .agent = "step\n  sticky\n  pace 500ms\n" SAY
                 "  text One two three four five six seven eight nine ten eleven twelve.\n",
        .judge = NO,
        .options = {"--deadline", "2s"},
        .code = LIMITED,
        .why = "deadline",
        .most_steps = 0,
        .most_seconds = 12,
    },
    {
        .name = "deadline: a server that is overloaded",
        .agent = "step\n  sticky\n  fault status 529 \"overloaded\" times=100000\n  text no\n",
        .judge = NO,
        .options = {"--deadline", "2s"},
        .code = LIMITED,
        .why = "deadline",
        .most_seconds = 12,
    },
    {
        .name = "deadline: answers that break off",
        .agent =
            "step\n  sticky\n  fault cut 10 times=100000\n" SAY "  text Nothing comes of it.\n",
        .judge = NO,
        .options = {"--deadline", "2s"},
        .code = LIMITED,
        .why = "deadline",
        .most_judged = -1,
        .most_seconds = 12,
    },
    {
        .name = "deadline: a Stop hook that takes its time",
        .agent = TALK,
        .judge = NO,
        .options = {"--deadline", "2s"},
        .settings = ",\"hooks\":{\"Stop\":[{\"matcher\":\"\",\"hooks\":[{\"type\":\"command\","
                    "\"command\":\"sleep 60\"}]}]}",
        .code = LIMITED,
        .why = "deadline",
        .most_steps = 1,
        .most_seconds = 12,
    },
    {
        .name = "deadline: a background command is waited for",
        .agent = "step\n" SAY "  call Bash {\"command\": \"while sleep 0.1; do echo GET /; done\", "
                 "\"run_in_background\": true}\n" TALK,
        .judge = NO,
        .options = {"--deadline", "2s"},
        .code = LIMITED,
        .why = "deadline",
        .most_steps = 2,
        .least_waits = 1,
        .most_seconds = 12,
    },
    /* ---- Progress is what has an effect ---- */
    {
        .name = "no effect: todo lists, each another one",
        .agent = "step\n" SAY
                 "  call TodoWrite {\"todos\": [" TODO(
                     "read") "]}\n"
                             "step\n" SAY "  call TodoWrite {\"todos\": [" TODO(
                                 "write") "]}\n"
                                          "step\n" SAY "  call TodoWrite {\"todos\": [" TODO(
                                              "test") "]}\n"
                                                      "step\n" SAY
                                                      "  call TodoWrite {\"todos\": [" TODO("read") ", " TODO(
                                                          "write") "]}\n"
                                                                   "step\n" SAY
                                                                   "  call TodoWrite {\"todos\": "
                                                                   "[" TODO("read") ", " TODO(
                                                                       "test") "]}\n"
                                                                               "step\n  "
                                                                               "sticky\n" SAY
                                                                               "  call TodoWrite "
                                                                               "{\"todos\": [" TODO(
                                                                                   "think") "]}\n",
        .judge = NO,
        .code = BLOCKED,
        .why = "stalled: nothing has changed for 8 looks in one turn",
        .most_steps = 40,
        .stalls = 3,
    },
    {
        .name = "no effect: questions",
        .agent = "step\n  sticky\n" SAY
                 "  call AskUserQuestion {\"questions\": [{\"question\": \"What?\", \"header\": "
                 "\"H\", \"multiSelect\": false, \"options\": [{\"label\": \"a\", "
                 "\"description\": \"b\"}, {\"label\": \"c\", \"description\": \"d\"}]}]}\n",
        .judge = NO,
        .code = BLOCKED,
        .why = "",
        .most_steps = 40,
    },
    {
        .name = "no effect: plans",
        .agent = "step\n  sticky\n" SAY "  call ExitPlanMode {\"plan\": \"Think about it.\"}\n",
        .judge = NO,
        .code = BLOCKED,
        .why = "",
        .most_steps = 40,
    },
    {
        .name = "no effect: a look at the goal",
        .agent = "step\n  sticky\n" SAY "  call get_goal {}\n",
        .judge = NO,
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 40,
        .stalls = 3,
    },
    {
        .name = "no effect: a goal where there is one",
        .agent = "step\n  sticky\n" SAY "  call create_goal {\"objective\": \"another\"}\n",
        .judge = NO,
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 40,
        .stalls = 3,
    },
    {
        .name = "no effect: calls that cannot be read",
        .agent = "step\n  sticky\n" SAY "  call Bash {\"command\": \"ls\n",
        .judge = NO,
        .code = BLOCKED,
        .why = "",
        .most_steps = 40,
    },
    {
        .name = "no effect: calls without what they need",
        .agent = "step\n  sticky\n" SAY "  call Read {\"path\": 7}\n",
        .judge = NO,
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 40,
        .stalls = 3,
    },
    {
        .name = "no effect: calls that a rule denies",
        .agent = "step\n  sticky\n" SAY "  call Bash {\"command\": \"touch flag\"}\n",
        .judge = NO,
        .options = {"--disallowedTools", "Bash(touch:*)"},
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 40,
        .stalls = 3,
    },
    {
        .name = "no effect: the same file under other names",
        .agent = "step\n" SAY "  call Read {\"file_path\": \"a\"}\n"
                 "step\n" SAY "  call Read {\"file_path\": \"./a\"}\n"
                 "step\n" SAY "  call Bash {\"command\": \"cat ./a\"}\n"
                 "step\n" SAY "  call Bash {\"command\": \"cat .//a\"}\n"
                 "step\n  sticky\n" SAY "  call Read {\"file_path\": \"././a\"}\n",
        .judge = NO,
        .before = "echo some text > a",
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 100,
        .stalls = 3,
    },
    {
        .name = "no effect: commands that fail",
        .agent = "step\n  sticky\n" SAY
                 "  call Bash {\"command\": \"head -c 60 /dev/urandom | base64; exit 1\"}\n",
        .judge = NO,
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 100,
        .stalls = 3,
    },
    {
        .name = "no effect: claims, with todo lists between them",
        .agent =
            "step\n  sticky\n  if-result \"Not complete\"\n" SAY
            "  call TodoWrite {\"todos\": [" TODO(
                "claim") "]}\n"
                         "step\n  sticky\n" SAY "  call update_goal {\"status\": \"complete\"}\n",
        .judge = NO,
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 40,
        .most_judged = 1,
        .stalls = 3,
    },
    {
        .name = "no effect: claims, with harmless commands between them",
        .agent = "step\n  sticky\n  if-result \"Not complete\"\n" SAY
                 "  call Bash {\"command\": \"true\"}\n"
                 "step\n  sticky\n" SAY "  call update_goal {\"status\": \"complete\"}\n",
        .judge = NO,
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 40,
        .most_judged = 1,
        .stalls = 3,
    },
    {
        .name = "no effect: claims without end against a check",
        .agent = "step\n  sticky\n  if-result \"Not complete\"\n" SAY
                 "  call Bash {\"command\": \"true\"}\n"
                 "step\n  sticky\n" SAY "  call update_goal {\"status\": \"complete\"}\n",
        .options = {"--referee", "checks", "--check", "test -f flag"},
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 40,
        .stalls = 3,
    },
    /* ---- The server asks to wait, or breaks off ---- */
    {
        .name = "429: two days",
        .agent = "step\n  sticky\n  fault status 429 \"slow down\" times=1000 "
                 "retry-after=172800\n  text no\n",
        .judge = NO,
        .code = NO_QUOTA,
        .why = "there is more in 2d",
    },
    {
        .name = "429: twenty minutes",
        .agent = "step\n  sticky\n  fault status 429 \"slow down\" times=1000 retry-after=1200\n"
                 "  text no\n",
        .judge = NO,
        .code = NO_QUOTA,
        .why = "there is more in 20m",
    },
    {
        .name = "429: past the deadline",
        .agent = "step\n  sticky\n  fault status 429 \"slow down\" times=1000 retry-after=120\n"
                 "  text no\n",
        .judge = NO,
        .options = {"--deadline", "1m"},
        .code = NO_QUOTA,
        .why = "there is more in 2m",
    },
    {
        .name = "429: past the deadline, with --auto-resume",
        .agent = "step\n  sticky\n  fault status 429 \"slow down\" times=1000 retry-after=1200\n"
                 "  text no\n",
        .judge = NO,
        .options = {"--deadline", "5m", "--auto-resume"},
        .code = NO_QUOTA,
        .why = "there is more in 20m",
    },
    {
        .name = "429: a minute is waited for",
        .agent =
            "step\n  fault status 429 \"slow down\" retry-after=60\n" SAY "  text Done.\n" TALK,
        .judge = NO,
        .clock = "fast:1000",
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 8,
        .most_judged = 8,
    },
    {
        .name = "503: a day",
        .agent = "step\n  sticky\n  fault status 503 \"closed\" times=1000 retry-after=86400\n"
                 "  text no\n",
        .judge = NO,
        .code = NO_QUOTA,
        .why = "there is more in 1d",
    },
    {
        .name = "answers that break off, all of them",
        .agent =
            "step\n  sticky\n  fault cut 10 times=100000\n" SAY "  text Nothing comes of it.\n",
        .judge = NO,
        .clock = "fast:1000",
        .code = BLOCKED,
        .why = "answers in a row broke off",
        .most_judged = -1,
    },
    {
        .name = "answers that break off, nine at a time",
        .agent = "step\n  fault cut 10 times=9\n" SAY "  text One.\n"
                 "step\n  fault cut 10 times=9\n" SAY "  text Two.\n" TALK,
        .judge = NO,
        .clock = "fast:1000",
        .code = BLOCKED,
        .why = "stalled",
        .most_steps = 8,
        .most_judged = -1,
        .stalls = 3,
    },
    {
        .name = "a prompt that is too long, whatever is done about it",
        .agent = "step\n  sticky\n  if-prompt \"moon\"\n  fault status 400 \"prompt is too long: "
                 "250000 tokens > 200000 maximum\" times=100000\n  text no\n" TALK,
        .judge = NO,
        .code = BLOCKED,
        .why = "",
        .most_judged = -1,
        .most_steps = 8,
    },
    {
        .name = "a prompt that is too long twice, with work between",
        .agent =
            "step\n  sticky\n  if-prompt \"Write that summary now\"\n" SAY "  text The gist.\n"
            "step\n" SAY "  call Bash {\"command\": \"seq 3000\"}\n"
            "step\n  fault status 400 \"prompt is too long: 250000 tokens > 200000 maximum\"\n" SAY
            "  call Bash {\"command\": \"seq 4000\"}\n"
            "step\n  fault status 400 \"prompt is too long: 250000 tokens > 200000 maximum\"\n" SAY
            "  call Bash {\"command\": \"touch flag\"}\n" TALK,
        .options = {"--referee", "checks", "--check", "test -f flag"},
        .code = MET,
        .why = "",
        .most_steps = 6,
    },
    /* ---- The background ---- */
    {
        .name = "background: another command each round",
        .agent =
            "step\n  sticky\n  if-result \"Running in the background\"\n" SAY "  text Started it.\n"
            "step\n  sticky\n" SAY
            "  call Bash {\"command\": \"sleep 1000\", \"run_in_background\": true}\n",
        .judge = NO,
        .clock = "fast:200",
        .options = {"--max-turns", "8"},
        .code = LIMITED,
        .why = "is reached",
        .most_steps = 10,
        .most_judged = 5,
        .least_waits = 1,
        .most_seconds = 40,
    },
    {
        .name = "background: what runs is not waited for twice",
        .agent = "step\n" SAY "  call Bash {\"command\": \"while sleep 0.05; do date; done\", "
                 "\"run_in_background\": true}\n"
                 "step\n" SAY "  call Bash {\"command\": \"touch flag\"}\n" TALK,
        .options = {"--referee", "checks", "--check", "test -f flag"},
        .clock = "fast:200",
        .code = MET,
        .why = "",
        .most_steps = 5,
        .least_waits = 1,
    },
};

const size_t runaway_count = ARRAY_LEN(runaway_rows);
