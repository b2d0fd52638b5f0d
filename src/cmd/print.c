/*
 * print: `tenax -p`, a session without a screen.
 *
 * Evaluates options, creates a host, and shows it in one of two ways: text (text.c), or json and
 * stream-json (proto). A prompt "/goal …" is parsed first, so that nothing starts that cannot work;
 * print_goal.c has what only such runs need. Main thread.
 */
#include "cmd/print.h"

#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/goal_lines.h"
#include "cmd/print_goal.h"
#include "cmd/session_options.h"
#include "cmd/text.h"
#include "conf/conf.h"
#include "goal/goal.h"
#include "host/host.h"
#include "host/session.h"
#include "llm/message.h"
#include "proto/listen.h"
#include "proto/peer.h"
#include "proto/stdio.h"
#include "slash/slash.h"

#define PRINT_MAX_TEXT ((size_t)64 << 20)

struct print {
    struct cmd *cmd;
    bool json, lines; /* --output-format */
    bool input_lines; /* --input-format stream-json */
    bool verbose;
    struct session_options options;
    struct host_spec *spec; /* of them */
    struct peer_session session;
    struct listen *listen;
    struct agent_input input;
    struct print_goal goal;
    struct host *host;
    struct slash *slash;
    struct session *next; /* found, and not begun yet */
    bool only_reports;    /* the session's goal is stopped, and nothing else was asked for */
};

/* Ignores empty words, which clients pass as a switch's value. */
static bool print_has_prompt(const struct args *args)
{
    for (size_t i = 0; i < args->words.len; i++) {
        if (args->words.ptr[i][0])
            return true;
    }
    return false;
}

static int print_formats(struct print *p, struct err *err)
{
    const struct args *args = &p->cmd->args;
    struct str out = str_of(args_get(args, OPT_OUTPUT_FORMAT));
    struct str in = str_of(args_get(args, OPT_INPUT_FORMAT));

    p->json = str_is(out, "json");
    p->lines = str_is(out, "stream-json");
    p->input_lines = str_is(in, "stream-json");
    p->verbose = args->given[OPT_VERBOSE];
    if (p->lines && !p->verbose)
        return err_set(err, ERR_BAD_INPUT,
                       "When using --print, --output-format=stream-json requires --verbose");
    if (p->input_lines && !p->lines)
        return err_set(err, ERR_BAD_INPUT,
                       "--input-format=stream-json requires --output-format=stream-json");
    if (p->input_lines && print_has_prompt(args))
        return err_set(err, ERR_BAD_INPUT,
                       "with --input-format=stream-json the prompt comes on standard input");
    if (args->given[OPT_INCLUDE_PARTIAL_MESSAGES] && !p->lines)
        return err_set(err, ERR_BAD_INPUT,
                       "--include-partial-messages requires --output-format=stream-json");
    if (args->given[OPT_REPLAY_USER_MESSAGES] && !p->input_lines)
        return err_set(err, ERR_BAD_INPUT,
                       "--replay-user-messages requires --input-format=stream-json");
    return 0;
}

void print_failed(struct cmd *c, const struct err *err)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(PRINT_MAX_TEXT);
    struct str format = str_of(args_get(&c->args, OPT_OUTPUT_FORMAT));
    bool is_array = str_is(format, "json") && c->args.given[OPT_VERBOSE];
    int code;

    say_error(err);
    if (!str_is(format, "json") && !str_is(format, "stream-json"))
        return;
    if (is_array)
        buf_addc(&line, '[');
    stream_json_failure(str_of(err->text), &line);
    if (is_array)
        buf_insert(&line, line.len - 1, STR("]"));
    (void)say_out(buf_str(&line), c->cancel, &code);
}

/* The way in for other programs. It is not worth failing for. */
static void print_listen(void *arg)
{
    struct print *p = arg;
    struct err err = {0};

    if (listen_start(&p->session, &p->listen, &err) < 0)
        log_debug("cmd", "no control socket: %s", err.text);
}

/* The first output. */
static int print_begin(void *arg, struct err *err)
{
    struct print *p = arg;

    if (p->goal.is_on)
        return print_goal_begin(&p->goal, p->session.host, p->slash, err);
    if (p->input_lines || p->only_reports)
        return 0; /* the client will send it, or it is not needed */
    return slash_send(p->slash, &p->input, err);
}

/* The goal decides how the run ends when the run was to work for it, when a turn has run in a
 * session that has one, and when there was nothing else to do. A client that sends prompts itself
 * learns about the goal from the results of the goal's own turns. */
static bool print_is_for_goal(const struct print *p)
{
    struct event *last = host_last_turn(p->host);
    bool has_run = last != NULL;
    bool is_told = last && last->report->goal.subtype;

    event_unref(last);
    if (p->goal.is_on)
        return p->goal.works && !p->goal.failed && !slash_end(p->slash).failed;
    return p->input_lines ? is_told : has_run || p->only_reports;
}

static void print_over(void *arg)
{
    struct print *p = arg;

    if (!print_is_for_goal(p))
        return;
    if (cmd_signal_code())
        goal_close(host_goal(p->host)); /* the result must say that it is paused */
    host_settle(p->host);
}

/* "/clear": the options have spoken of the first session. */
static int print_look(void *arg, struct err *err)
{
    struct print *p = arg;
    CLEANUP(strv_release) struct strv notes = STRV_INIT; /* a new session has none */

    p->spec->session = (struct session_spec){.is_unkept = p->spec->session.is_unkept};
    p->spec->source = "clear";
    if (session_open(p->spec->conf, &p->spec->session, p->cmd->cancel, &notes, &p->next, err) < 0)
        return -1;
    host_end_as(p->host, "clear"); /* the session ends before print_renew() */
    return 0;
}

static int print_renew(void *arg, struct err *err)
{
    struct print *p = arg;
    CLEANUP(host_choices_freep) struct host_choices *choices = host_choices(p->host);
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    int rc;

    listen_stop(TAKE_PTR(p->listen));
    slash_leave(TAKE_PTR(p->slash));
    host_free(TAKE_PTR(p->host));
    p->spec->found = TAKE_PTR(p->next);
    rc = host_new(p->spec, &notes, &p->host, err);
    p->spec->found = NULL;
    if (rc < 0)
        return -1;
    host_choose(p->host, choices, /*has_own_mode=*/false);
    p->slash = slash_new(p->host, p->cmd->cancel);
    peer_session_renew(&p->session, p->host, p->slash);
    return 0;
}

static void print_complain(void *arg, const char *text)
{
    (void)arg;
    say("%s", text);
}

static bool print_reads_state(const struct conf *conf)
{
    const char *value = conf_env(conf, "CLAUDE_CODE_SDK_READS_SESSION_STATE");

    return value && strcmp(value, "1") == 0;
}

static int print_stdio(struct print *p)
{
    const struct args *args = &p->cmd->args;
    const char *asks = args_get(args, OPT_PERMISSION_PROMPT_TOOL);
    const char *prompts = args_get(args, OPT_PERMISSION_PROMPTS);
    struct stdio_spec spec = {
        .session = &p->session,
        .in = p->input_lines ? STDIN_FILENO : -1,
        .out = STDOUT_FILENO,
        .format = p->lines     ? STDIO_LINES
                  : p->verbose ? STDIO_ARRAY
                               : STDIO_RESULT,
        .answers_asks = p->input_lines && asks && strcmp(asks, "stdio") == 0 &&
                        (!prompts || strcmp(prompts, "none") != 0),
        .cancel = p->cmd->cancel,
        .complain = print_complain,
        .begin = print_begin,
        .begun = print_listen,
        .look = p->input_lines ? print_look : NULL,
        .renew = print_renew,
        .over = print_over,
        .begin_arg = p,
    };
    struct stdio_end end = {0};
    struct err err = {0};

    if (stdio_run(&spec, &end, &err) < 0) {
        if (end.read_fail)
            return EXIT_PIPE;
        if (cmd_signal_code())
            return cmd_signal_code();
        print_failed(p->cmd, &err);
        return EXIT_FAILED;
    }
    if (cmd_signal_code())
        return cmd_signal_code();
    return end.is_error ? EXIT_FAILED : EXIT_OK;
}

static int print_with(struct print *p, struct str prompt)
{
    const struct args *args = &p->cmd->args;
    struct stream_json_options show = {
        .partial = args->given[OPT_INCLUDE_PARTIAL_MESSAGES],
        .hooks = args->given[OPT_INCLUDE_HOOK_EVENTS],
        .replay = args->given[OPT_REPLAY_USER_MESSAGES],
        .states = print_reads_state(p->spec->conf),
        .forward = args->given[OPT_FORWARD_SUBAGENT_TEXT],
    };
    struct text_spec text = {
        .cmd = p->cmd,
        .host = p->host,
        .slash = p->slash,
        .for_goal = p->goal.is_on || p->only_reports,
        .begin = print_begin,
        .begun = print_listen,
        .arg = p,
    };
    int code;

    id_uuid(p->input.uuid);
    p->input.go_on = !p->input_lines && !prompt.len;
    if (prompt.len)
        p->input.message = message_user_text(prompt);
    peer_session_init(&p->session, p->host, p->slash, &show);
    p->session.ends_itself = !p->input_lines;
    if (p->json || p->lines)
        code = print_stdio(p);
    else
        code = text_run(&text);
    listen_stop(p->listen);
    if (p->goal.is_on)
        code = print_goal_end(&p->goal, p->cmd, p->host, p->slash, !p->json && !p->lines, code);
    else if (print_is_for_goal(p))
        code = print_goal_left(p->cmd, p->host, !p->json && !p->lines, code);
    message_unrefp(&p->input.message);
    return code;
}

/* The prompt, and what it is about; the goal of a run that has one. */
static int print_read(struct print *p, struct buf *prompt, struct err *err)
{
    if (p->goal.is_on)
        return 0; /* tenax goal */
    if (!p->input_lines && prompt_gather(p->cmd, prompt, err) < 0)
        return -1;
    return print_goal_read(&p->goal, p->cmd, buf_str(prompt), err);
}

static int print_host(struct print *p, struct buf *prompt, struct strv *notes, struct host **ret,
                      struct err *err)
{
    if (print_read(p, prompt, err) < 0)
        return -1;
    if (p->goal.is_on)
        p->spec->max_steps = 0; /* a limit of the goal, not of a turn */
    if (host_new(p->spec, notes, ret, err) < 0)
        return -1;
    if (!p->goal.is_on || print_goal_check(&p->goal, p->spec->conf, *ret, err) == 0)
        return 0;
    host_free(*ret);
    return -1;
}

/* --continue without a prompt needs an open turn or an active goal, which continues automatically.
 * A stopped goal remains stopped; the run prints its state. */
static int print_check_words(struct print *p, struct str prompt, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct goal_ending goal;

    if (p->input_lines || prompt.len || p->goal.is_on)
        return 0;
    if (goal_ending(host_goal(p->host), &arena, &goal) && goal.exit_code) {
        p->only_reports = goal.status != GOAL_ACTIVE; /* also where its stop has cut a turn short */
        return 0;
    }
    if (host_is_left_open(p->host))
        return 0;
    return err_set(err, ERR_BAD_INPUT,
                   "the last turn is complete, so there is nothing to continue; give a prompt");
}

/* Advice about commands of a goal names options of the command line here. */
static void print_notes(const struct print *p, const struct strv *notes)
{
    for (size_t i = 0; i < notes->len; i++) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(PRINT_MAX_TEXT);

        buf_adds(&text, notes->ptr[i]);
        goal_lines_as_command(&text, host_session(p->host));
        say("%s", buf_cstr(&text));
    }
}

static int print_session(struct print *p)
{
    CLEANUP(buf_release) struct buf prompt = BUF_INIT(PRINT_MAX_TEXT);
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct err err = {0};
    int code;

    if (print_host(p, &prompt, &notes, &p->host, &err) < 0) {
        if (err.code == ERR_CANCELLED && cmd_signal_code())
            return cmd_signal_code();
        print_failed(p->cmd, &err);
        return EXIT_USAGE;
    }
    print_notes(p, &notes);
    if (print_check_words(p, buf_str(&prompt), &err) < 0) {
        print_failed(p->cmd, &err);
        host_free(p->host);
        return EXIT_USAGE;
    }
    p->slash = slash_new(p->host, p->cmd->cancel);
    code = print_with(p, buf_str(&prompt));
    slash_free(p->slash);
    host_free(p->host);
    session_free(p->next);
    peer_session_release(&p->session);
    return code;
}

int print_run(struct cmd *c, const struct print_order *order)
{
    struct print p = {.cmd = c};
    struct err err = {0};
    int code = EXIT_OK;

    p.spec = &p.options.host;
    print_goal_init(&p.goal, &c->args, order);
    if (print_formats(&p, &err) < 0) {
        say_plain("Error: %s", err.text); /* scripts expect this text */
        code = EXIT_USAGE;
    } else if (session_options_read(&p.options, c, /*is_interactive=*/false, &err) < 0) {
        print_failed(c, &err);
        code = EXIT_USAGE;
    }
    if (order->resume)
        p.spec->session.resume = order->resume;
    if (code == EXIT_OK) {
        p.spec->has_input = !p.input_lines;
        p.spec->awaits_types = p.input_lines;
        code = print_session(&p);
    }
    session_options_release(&p.options);
    print_goal_release(&p.goal);
    return code;
}

int cmd_print(struct cmd *c)
{
    struct print_order order = {0};

    return print_run(c, &order);
}
