/*
 * goal: `tenax goal "<condition>"` works until it holds; `tenax goal status`, `pause` and others
 * act on a session's goal from outside (goal_act.c).
 *
 * A word is a verb only when nothing follows it but its own arguments, so that most sentences need
 * no quotes; what follows "--" is always a condition. Main thread.
 */
#include "cmd/goal.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "cmd/cmd.h"
#include "cmd/print.h"
#include "cmd/print_goal.h"
#include "conf/nearest.h"
#include "goal/argument/argument.h"

#define GOAL_MAX_WORDS ((size_t)2 << 20)

static int goal_run(struct cmd *c);

const struct command cmd_goal = {
    .usage =
        {
            .name = "goal",
            .args = "CONDITION... | status | list | pause | resume | clear | edit TEXT | "
                    "budget N|+N|none | check COMMAND | check rm N | protect GLOB | "
                    "accept [PATH] | wait WHAT | next CONDITION | queue | log | report [GOAL] | "
                    "undo [yes] | verify [ID] | proof [ID]",
            .words = "status list pause resume clear edit budget check protect accept wait next "
                     "queue log report undo verify proof",
            .summary = "Work until a condition holds, and prove it",
            .details =
                "tenax checks the condition itself and exits with 0 (complete), 10 (blocked), 11 "
                "(a limit was reached), 12 (no quota left) or 13 (paused). With --continue or "
                "--resume and no condition, it continues the goal of that session. The other words "
                "show or change a session's goal. 'goal verify' runs the checks of a complete goal "
                "again in a clean room: 0 = reproduced, 1 = not. 'goal proof --out FILE' writes a "
                "bundle that verifies the goal elsewhere. 'goal -- WORDS' is always a condition.",
            .options =
                (const enum option_id[]){
                    OPT_CHECK,
                    OPT_PROTECT,
                    OPT_KEEP,
                    OPT_CHECK_IN,
                    OPT_BUDGET,
                    OPT_MAX_COST,
                    OPT_MAX_TURNS,
                    OPT_DEADLINE,
                    OPT_REFEREE,
                    OPT_ON_DENY,
                    OPT_AUTO_RESUME,
                    OPT_REPORT,
                    OPT_SESSION,
                    OPT_OUT,
                    OPT_BUNDLE,
                    OPT_REPO,
                    OPT_YES,
                    OPT_JSON,
                    OPT_ALL,
                    OPT_SYSTEM_PROMPT,
                    OPT_SYSTEM_PROMPT_FILE,
                    OPT_APPEND_SYSTEM_PROMPT,
                    OPT_APPEND_SYSTEM_PROMPT_FILE,
                    OPT_MODEL,
                    OPT_FALLBACK_MODEL,
                    OPT_EFFORT,
                    OPT_MAX_BUDGET_USD,
                    OPT_THINKING,
                    OPT_MAX_THINKING_TOKENS,
                    OPT_OUTPUT_FORMAT,
                    OPT_VERBOSE,
                    OPT_INCLUDE_PARTIAL_MESSAGES,
                    OPT_INCLUDE_HOOK_EVENTS,
                    OPT_JSON_SCHEMA,
                    OPT_BARE,
                    OPT_SESSION_ID,
                    OPT_NO_SESSION_PERSISTENCE,
                    OPT_CONTINUE,
                    OPT_RESUME,
                    OPT_FORK_SESSION,
                    OPT_ALLOWED_TOOLS,
                    OPT_DISALLOWED_TOOLS,
                    OPT_TOOLS,
                    OPT_PERMISSION_MODE,
                    OPT_ADD_DIR,
                    OPT_DANGEROUSLY_SKIP_PERMISSIONS,
                    OPT_TRUST,
                    OPT_COUNT,
                },
        },
    .run = goal_run,
};

/* ---- Verbs ---- */

/* The number of words that may follow a verb. */
static const struct verb_row {
    const char *name;
    size_t least, most;
} verb_rows[] = {
    {"status", 0, 0},    {"list", 0, 0},     {"pause", 0, 0},    {"resume", 0, 0},
    {"clear", 0, 0},     {"log", 0, 0},      {"report", 0, 1},   {"undo", 0, 1},
    {"queue", 0, 3},     {"accept", 0, 1},   {"budget", 1, 2},   {"protect", 1, 1},
    {"check", 1, 10000}, {"edit", 1, 10000}, {"wait", 1, 10000}, {"next", 1, 10000},
};

static void join_words(const struct strv *words, size_t from, struct buf *ret)
{
    for (size_t i = from; i < words->len; i++)
        buf_addf(ret, "%s%s", i > from ? " " : "", words->ptr[i]);
}

static void add_quoted(const char *word, struct buf *ret)
{
    buf_addc(ret, '\'');
    for (const char *c = word; *c; c++)
        buf_addf(ret, *c == '\'' ? "'\\%c'" : "%c", *c);
    buf_addc(ret, '\'');
}

/* "next" takes the options of a condition: as they would be typed after /goal. */
static void add_options(const struct args *args, struct buf *ret)
{
    for (size_t id = 0; id < OPT_COUNT; id++) {
        struct str name = str_of(option_table()[id].name);

        for (size_t i = 0; goal_option_is_known(name) && i < args->values[id].len; i++) {
            buf_addf(ret, " --%.*s", STR_ARG(name));
            if (!goal_option_takes_value(name))
                continue;
            buf_addc(ret, ' ');
            add_quoted(args->values[id].ptr[i], ret);
        }
    }
}

/* Reads "<verb> <rest>" as /goal would. */
static int read_verb(const struct args *args, struct goal_act *ret, struct err *err)
{
    const char *verb = args->words.ptr[1];

    buf_adds(&ret->text, verb);
    buf_adds(&ret->text, strcmp(verb, "edit") == 0 ? " -- " : " ");
    /* A path is one word for the shell; it must not become a condition because of its blanks. */
    if (args->words.len == 3 && str_is_word_of(str_of(verb), "accept protect"))
        add_quoted(args->words.ptr[2], &ret->text);
    else
        join_words(&args->words, 2, &ret->text);
    if (strcmp(verb, "next") == 0)
        add_options(args, &ret->text);
    return goal_argument_read(buf_str(&ret->text), clock_wall_ms(), &ret->argument, err);
}

/* A single word that is nearly a verb ("statsu") is rejected, because working for it as a condition
 * would cost money. */
static int check_typo(const char *word, struct err *err)
{
    struct nearest near;

    nearest_init(&near, str_of(word));
    nearest_offer_words(&near, cmd_goal.usage.words);
    if (!near.best.len)
        return 0;
    return err_set(err, ERR_BAD_INPUT,
                   "did you mean 'tenax goal %.*s'? For a condition of this name: tenax goal -- %s",
                   STR_ARG(near.best), word);
}

/* 1: the words are a verb with its arguments; 0: a condition; -1: an invalid verb. */
static int find_verb(const struct args *args, struct goal_act *ret, struct err *err)
{
    const struct strv *words = &args->words;
    size_t behind = words->len - 2;

    if (args->plain < 2)
        return 0; /* "--" */
    for (size_t i = 0; i < ARRAY_LEN(verb_rows); i++) {
        const struct verb_row *row = &verb_rows[i];

        if (strcmp(words->ptr[1], row->name) != 0 || behind < row->least || behind > row->most)
            continue;
        ret->is_list = strcmp(row->name, "list") == 0;
        if (ret->is_list)
            return 1;
        if (read_verb(args, ret, err) < 0)
            return -1;
        return ret->argument.verb != GOAL_SET;
    }
    /* "clear" has other names, and "check", "edit" and others alone are not conditions either. */
    if (behind)
        return 0;
    if (str_is_word_of(str_of(words->ptr[1]), "edit budget check protect wait next"))
        return err_set(err, ERR_BAD_INPUT,
                       "'%s' needs more words: tenax help goal; for a condition of this name: "
                       "tenax goal -- %s",
                       words->ptr[1], words->ptr[1]);
    if (!str_is_word_of(str_of(words->ptr[1]), "stop off reset none cancel"))
        return check_typo(words->ptr[1], err);
    return read_verb(args, ret, err) < 0 ? -1 : 1;
}

static int failed_usage(const struct err *err)
{
    say_error(err);
    return EXIT_USAGE;
}

/* ---- A run ---- */

static int run_condition(struct cmd *c, const char *resume)
{
    CLEANUP(goal_argument_release) struct goal_argument goal = GOAL_ARGUMENT_INIT;
    struct print_order order = {.for_goal = true, .goal = &goal, .resume = resume};
    struct err err = {0};

    goal.verb = GOAL_SET;
    join_words(&c->args.words, 1, &goal.text);
    if (buf_check(&goal.text, &err) < 0)
        return failed_usage(&err);
    if (!str_trim(buf_str(&goal.text)).len) {
        say("the condition is empty; say what shall hold: tenax goal \"all tests pass\"");
        return EXIT_USAGE;
    }
    if (print_goal_options(&c->args, &goal.options, &err) < 0)
        return failed_usage(&err);
    return print_run(c, &order);
}

static int run_again(struct cmd *c, const char *resume)
{
    struct print_order order = {.for_goal = true, .resume = resume};
    struct err err = {0};

    if (print_goal_check_changes(&c->args, &err) < 0)
        return failed_usage(&err);
    return print_run(c, &order);
}

/* Options of a run are not valid for a verb, and vice versa. */
static int check_options(const struct args *args, bool runs, bool is_next, bool is_bare)
{
    static const enum option_id of_verbs[] = {OPT_ALL, OPT_JSON};
    static const enum option_id of_runs[] = {
        OPT_CHECK,       OPT_PROTECT,   OPT_KEEP,     OPT_CHECK_IN, OPT_BUDGET,
        OPT_MAX_COST,    OPT_MAX_TURNS, OPT_DEADLINE, OPT_REFEREE,  OPT_ON_DENY,
        OPT_AUTO_RESUME, OPT_REPORT,    OPT_CONTINUE, OPT_RESUME,
    };
    const enum option_id *wrong = runs ? of_verbs : of_runs;
    size_t count = runs ? ARRAY_LEN(of_verbs) : ARRAY_LEN(of_runs);

    for (size_t i = 0; i < count; i++) {
        if (!args->given[wrong[i]] ||
            (is_next && goal_option_is_known(str_of(option_table()[wrong[i]].name))))
            continue;
        if (runs && wrong[i] == OPT_JSON)
            say("with a condition it is --output-format json");
        else if (is_bare)
            say("no condition was given for --%s: tenax goal \"all tests pass\" --check \"make "
                "test\"",
                option_table()[wrong[i]].name);
        else
            say("--%s cannot be used here: tenax help goal", option_table()[wrong[i]].name);
        return EXIT_USAGE;
    }
    return 0;
}

static bool is_about_proof(const struct args *args)
{
    return args->plain > 1 && args->words.len > 1 && args->words.len <= 3 &&
           str_is_word_of(str_of(args->words.ptr[1]), "verify proof");
}

/* Options of verify and proof mean nothing elsewhere. */
static int check_proof_options(const struct args *args)
{
    static const enum option_id of_proof[] = {OPT_OUT, OPT_BUNDLE, OPT_REPO, OPT_YES};

    for (size_t i = 0; i < ARRAY_LEN(of_proof); i++) {
        if (!args->given[of_proof[i]])
            continue;
        say("--%s belongs to 'tenax goal verify' and 'tenax goal proof'",
            option_table()[of_proof[i]].name);
        return EXIT_USAGE;
    }
    return 0;
}

static int goal_run(struct cmd *c)
{
    struct args *args = &c->args;
    struct goal_act act = {
        .cmd = c,
        .is_bare = args->words.len == 1,
        .text = BUF_INIT(GOAL_MAX_WORDS),
        .argument = GOAL_ARGUMENT_INIT,
    };
    bool again = args->given[OPT_CONTINUE] || args->given[OPT_RESUME];
    struct err err = {0};
    int verb = 1;
    int code;

    if (is_about_proof(args)) {
        code = check_options(args, /*runs=*/false, /*is_next=*/false, /*is_bare=*/false);
        return code ? code : goal_proof_run(c);
    }
    code = check_proof_options(args);
    if (code)
        return code;
    if (args->words.len > 1)
        verb = find_verb(args, &act, &err);
    else if (again)
        verb = 0;
    if (verb < 0) {
        code = failed_usage(&err);
    } else {
        /* The goal of a session: it continues there. */
        const char *resume = again ? NULL : args_get(args, OPT_SESSION);

        code = check_options(args, /*runs=*/!verb, act.argument.verb == GOAL_NEXT, act.is_bare);
        if (!code && verb)
            code = goal_act(&act);
        else if (!code)
            code = args->words.len > 1 ? run_condition(c, resume) : run_again(c, resume);
    }
    buf_release(&act.text);
    goal_argument_release(&act.argument);
    return code;
}
