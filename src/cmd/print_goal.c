/*
 * print_goal: a headless run that works for a goal. Main thread.
 */
#include "cmd/print_goal.h"

#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/secret.h"
#include "cmd/cmd.h"
#include "cmd/goal_lines.h"
#include "cmd/print.h"
#include "conf/conf.h"
#include "goal/goal.h"
#include "goal/report/display.h"
#include "guard/permit.h"
#include "guard/sandbox.h"
#include "host/host.h"
#include "slash/slash.h"

#define REPORT_MAX ((size_t)64 << 20)

static const enum option_id goal_only[] = {
    OPT_CHECK,    OPT_PROTECT, OPT_KEEP,    OPT_CHECK_IN,    OPT_BUDGET, OPT_MAX_COST,
    OPT_DEADLINE, OPT_REFEREE, OPT_ON_DENY, OPT_AUTO_RESUME, OPT_REPORT,
};

void print_goal_init(struct print_goal *g, const struct args *args, const struct print_order *order)
{
    g->args = args;
    g->is_on = order->for_goal;
    g->has_argument = order->goal;
    g->argument = (struct goal_argument)GOAL_ARGUMENT_INIT;
    if (order->goal) {
        g->argument = *order->goal;
        *order->goal = (struct goal_argument)GOAL_ARGUMENT_INIT;
    }
    g->works = order->for_goal;
}

void print_goal_release(struct print_goal *g)
{
    goal_argument_release(&g->argument);
}

int print_goal_options(const struct args *args, struct goal_options *o, struct err *err)
{
    static const enum option_id ids[] = {
        OPT_CHECK,    OPT_PROTECT,  OPT_KEEP,    OPT_CHECK_IN, OPT_BUDGET,      OPT_MAX_TURNS,
        OPT_MAX_COST, OPT_DEADLINE, OPT_REFEREE, OPT_ON_DENY,  OPT_AUTO_RESUME,
    };
    int64_t now_ms = clock_wall_ms();

    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        const struct strv *values = &args->values[ids[i]];

        for (size_t j = 0; args->given[ids[i]] && j < values->len; j++) {
            if (goal_option_set(o, str_of(option_table()[ids[i]].name), str_of(values->ptr[j]),
                                now_ms, err) < 0)
                return -1;
        }
    }
    return 0;
}

int print_goal_read(struct print_goal *g, struct cmd *c, struct str prompt, struct err *err)
{
    struct str words = STR("");
    const struct slash_command *command = slash_find(prompt, &words);

    if (!command || strcmp(command->name, "goal") != 0) {
        for (size_t i = 0; i < ARRAY_LEN(goal_only); i++) {
            if (c->args.given[goal_only[i]])
                return err_set(err, ERR_BAD_INPUT,
                               "--%s belongs to a goal: tenax goal \"…\", or -p \"/goal …\"",
                               option_table()[goal_only[i]].name);
        }
        return 0;
    }
    g->is_on = true;
    g->has_argument = true;
    if (goal_argument_read(words, clock_wall_ms(), &g->argument, err) < 0)
        return -1;
    g->works = g->argument.verb == GOAL_SET || g->argument.verb == GOAL_RESUME;
    return print_goal_options(&c->args, &g->argument.options, err);
}

/* ---- May it begin? ---- */

/* There is no user to ask. By default all confined commands may run, and edits in the working
 * folders. */
static int check_permissions(const struct conf *conf, struct host *host, struct err *err)
{
    enum permit_mode mode = permit_mode(host_permit(host));
    enum sandbox_state sandbox = sandbox_state(host_sandbox(host));
    bool is_said = mode != MODE_DEFAULT || conf_get(conf, "permissions.defaultMode");

    if (mode == MODE_PLAN)
        return err_set(err, ERR_BAD_INPUT,
                       "in plan mode nothing is worked on, so a goal would only lie there: say "
                       "what may be done with another --permission-mode");
    if (is_said && mode != MODE_AUTO)
        return 0;
    if (sandbox == SANDBOX_ON)
        return is_said ? 0 : permit_set_mode(host_permit(host), MODE_AUTO, err);
    return err_set(err, ERR_BAD_INPUT,
                   "an unattended goal works in mode auto, which needs a sandbox for "
                   "commands, and %s. Say what may run: --permission-mode "
                   "acceptEdits, with rules for commands (--allowedTools 'Bash(make:*)'), or "
                   "--permission-mode bypassPermissions where nothing can be harmed",
                   sandbox == SANDBOX_OFF ? "the settings have switched it off (sandbox.enabled)"
                                          : sandbox_why_not(host_sandbox(host)));
}

/* Checks and edits of a goal belong to the folder it was set in. */
static int check_folder(struct host *host, struct err *err)
{
    CLEANUP(buf_release) struct buf dir = BUF_INIT(BUF_NO_LIMIT);

    if (!host_other_folder(host, &dir))
        return 0;
    if (!file_is_dir(buf_cstr(&dir)))
        return err_set(err, ERR_BAD_INPUT,
                       "the folder of session %.8s is gone: %s. Put it back there, or drop the "
                       "goal: tenax goal clear --session %.8s",
                       host_session(host), buf_cstr(&dir), host_session(host));
    return err_set(err, ERR_BAD_INPUT,
                   "session %.8s belongs to another folder; its goal continues there: add -C '%s'",
                   host_session(host), buf_cstr(&dir));
}

/* A change that wakes a goal which has stopped, or begins the next one. */
static bool change_begins(const struct print_goal *g, struct host *host)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal row;

    if (!g->has_argument || goal_get(host_goal(host), &arena, &row, /*err=*/NULL) <= 0)
        return false;
    switch (g->argument.verb) {
    case GOAL_BUDGET:
        return row.status == GOAL_BUDGET_LIMITED;
    case GOAL_EDIT:
        return row.status != GOAL_ACTIVE && goal_edited_status(row.status) == GOAL_ACTIVE;
    case GOAL_NEXT:
        return row.status == GOAL_COMPLETE;
    default:
        return false;
    }
}

int print_goal_check(struct print_goal *g, const struct conf *conf, struct host *host,
                     struct err *err)
{
    g->works = g->works || change_begins(g, host);
    if (!g->works)
        return 0;
    if (check_permissions(conf, host, err) < 0)
        return -1;
    return check_folder(host, err);
}

/* ---- Begin ---- */

static int send_text(struct slash *slash, enum goal_verb verb, const char *text, struct err *err)
{
    CLEANUP(goal_argument_release) struct goal_argument a = GOAL_ARGUMENT_INIT;

    a.verb = verb;
    buf_adds(&a.text, text);
    return slash_goal(slash, &a, err);
}

/* Limits for a resumed goal, in the form of arguments: "+50k" adds. */
static const struct limit_row {
    enum option_id id;
    const char *limit;
} limit_rows[] = {
    {OPT_BUDGET, "tokens"},
    {OPT_MAX_TURNS, "steps"},
    {OPT_MAX_COST, "cost"},
    {OPT_DEADLINE, "deadline"},
};

static int read_limit(const struct args *args, const struct limit_row *row,
                      struct goal_argument *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(4096);

    buf_addf(&text, "budget %s %s", row->limit, args_get(args, row->id));
    if (goal_argument_read(buf_str(&text), clock_wall_ms(), ret, err) < 0)
        return -1;
    if (ret->verb != GOAL_BUDGET)
        return err_set(err, ERR_BAD_INPUT, "--%s: '%.60s' is no limit, such as 500 or +500",
                       option_table()[row->id].name, args_get(args, row->id));
    return 0;
}

int print_goal_check_changes(const struct args *args, struct err *err)
{
    static const enum option_id fixed[] = {OPT_REFEREE, OPT_ON_DENY, OPT_AUTO_RESUME};

    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        if (args->given[fixed[i]])
            return err_set(err, ERR_BAD_INPUT,
                           "--%s is for setting a goal, and this one is set already: checks, "
                           "protected files and limits can be added",
                           option_table()[fixed[i]].name);
    }
    for (size_t i = 0; i < ARRAY_LEN(limit_rows); i++) {
        CLEANUP(goal_argument_release) struct goal_argument a = GOAL_ARGUMENT_INIT;

        if (args->given[limit_rows[i].id] && read_limit(args, &limit_rows[i], &a, err) < 0)
            return -1;
    }
    return 0;
}

/* Sends additional checks and limits for a resumed goal. Returns the number of limits: each of them
 * resumes a goal that a limit has stopped. */
static int send_changes(const struct args *args, struct slash *slash, struct err *err)
{
    int limits = 0;

    for (size_t i = 0; i < args->values[OPT_CHECK].len; i++) {
        if (send_text(slash, GOAL_CHECK, args->values[OPT_CHECK].ptr[i], err) < 0)
            return -1;
    }
    for (size_t i = 0; i < args->values[OPT_PROTECT].len; i++) {
        if (send_text(slash, GOAL_PROTECT, args->values[OPT_PROTECT].ptr[i], err) < 0)
            return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(limit_rows); i++) {
        CLEANUP(goal_argument_release) struct goal_argument a = GOAL_ARGUMENT_INIT;

        if (!args->given[limit_rows[i].id])
            continue;
        if (read_limit(args, &limit_rows[i], &a, err) < 0 || slash_goal(slash, &a, err) < 0)
            return -1;
        limits++;
    }
    return limits;
}

static int go_on(struct print_goal *g, struct host *host, struct slash *slash, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal row;
    int r = goal_get(host_goal(host), &arena, &row, err);
    int limits;

    if (r < 0)
        return -1;
    if (r == 0)
        return err_set(err, ERR_NOT_FOUND,
                       "session %.8s has no goal to continue; set one: tenax goal \"…\" "
                       "--resume %.8s",
                       host_session(host), host_session(host));
    limits = send_changes(g->args, slash, err);
    if (limits < 0)
        return -1;
    if (row.status == GOAL_ACTIVE)
        return host_wake(host, err);
    if (row.status == GOAL_BUDGET_LIMITED && limits)
        return 0;
    return send_text(slash, GOAL_RESUME, "", err);
}

int print_goal_begin(struct print_goal *g, struct host *host, struct slash *slash, struct err *err)
{
    int rc = g->has_argument ? slash_goal(slash, &g->argument, err) : go_on(g, host, slash, err);

    g->failed = rc < 0 ? err->code : ERR_NONE;
    return rc;
}

/* ---- End ---- */

static int write_report(struct cmd *c, struct host *host, const char *file, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(REPORT_MAX);
    CLEANUP(mem_freep) char *path = path_join(c->dir, file);

    if (goal_report(host_goal(host), /*which=*/STR(""), str_ends(str_of(file), STR(".json")),
                    /*cancel=*/NULL, &text, err) < 0)
        return -1;
    if (!str_ends(buf_str(&text), STR("\n")))
        buf_addc(&text, '\n');
    secret_scrub(&text);
    if (file_replace(path, buf_str(&text), 0644, err) < 0)
        return -1;
    goal_report_is_at(host_goal(host), path);
    return 0;
}

static int failed_code(enum err_code code)
{
    switch (code) {
    case ERR_BAD_INPUT:
    case ERR_TOO_BIG:
    case ERR_DENIED:
    case ERR_UNSUPPORTED:
        return EXIT_USAGE; /* nothing was tried */
    default:
        return cmd_signal_code() ? cmd_signal_code() : EXIT_FAILED;
    }
}

int print_goal_end(struct print_goal *g, struct cmd *c, struct host *host, struct slash *slash,
                   bool as_text, int code)
{
    struct slash_end end = slash_end(slash);
    const char *file = args_get(&c->args, OPT_REPORT);
    struct err err = {0};
    int goal_code;

    if (code == EXIT_PIPE)
        return code;
    if (g->failed)
        return failed_code(g->failed);
    if (end.failed && !end.goes_on)
        return failed_code(end.failed);
    if (!g->works)
        return end.goes_on ? goal_exit_code(host_goal(host)) : code;
    if (cmd_signal_code())
        goal_close(host_goal(host)); /* the report must say that it is paused */
    goal_code = goal_exit_code(host_goal(host));
    if (as_text)
        goal_lines_end(c, host);
    if (file && write_report(c, host, file, &err) < 0) {
        err_prefix(&err, "no report");
        say_error(&err);
        return goal_code > 0 ? goal_code : EXIT_FAILED;
    }
    return goal_code >= 0 ? goal_code : EXIT_GOAL_STOPPED; /* cleared from elsewhere */
}

int print_goal_left(struct cmd *c, struct host *host, bool as_text, int code)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct goal_ending goal;

    if (cmd_signal_code())
        goal_close(host_goal(host));
    if (code == EXIT_PIPE || !goal_ending(host_goal(host), &arena, &goal))
        return code;
    if (goal.status == GOAL_COMPLETE) /* even if the final message failed */
        return goal.is_own && code == EXIT_FAILED ? EXIT_OK : code;
    if (cmd_signal_code() && !goal.is_own)
        return code;
    if (as_text)
        goal_lines_end(c, host);
    return goal.exit_code;
}
