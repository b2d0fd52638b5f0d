/*
 * help: help, man page and completions, all printed from the tables. Main thread.
 */
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "cmd/cmd.h"
#include "llm/model.h"
#include "slash/slash.h"

static int help_run(struct cmd *c);
static int man_run(struct cmd *c);
static int completion_run(struct cmd *c);

const struct command cmd_help = {
    .usage =
        {
            .name = "help",
            .args = "[COMMAND | slash]",
            .summary = "Show help for tenax or a command",
            .details = "'help slash' lists what can be typed in a session.",
            .options = (const enum option_id[]){OPT_FORMAT, OPT_COUNT},
        },
    .run = help_run,
};

const struct command cmd_man = {
    .usage =
        {
            .name = "man",
            .summary = "Print the manual page",
            .details = "Read it with: tenax man | man -l -",
        },
    .run = man_run,
};

const struct command cmd_completion = {
    .usage =
        {
            .name = "completion",
            .args = "bash|zsh|fish",
            .words = "bash zsh fish",
            .summary = "Print a shell completion script",
        },
    .run = completion_run,
};

#define HELP_MAX_BYTES ((size_t)1 << 20)
#define HELP_MAX_COMMANDS 64

/* The rows as conf/usage.h wants them. */
struct rows {
    const struct usage_command *list[HELP_MAX_COMMANDS];
    struct buf models;         /* "anthropic/claude-sonnet-5 …" */
    struct buf topics;         /* "goal sessions … slash" */
    struct usage_command help; /* the row of cmd_help, followed by them */
    struct usage usage;
};

static void rows_release(struct rows *r)
{
    buf_release(&r->models);
    buf_release(&r->topics);
}

static void rows_fill(struct rows *r)
{
    size_t n = cmd_count();
    struct model m;

    r->help = cmd_help.usage;
    if (n > HELP_MAX_COMMANDS)
        BUG("more commands than help has room for");
    buf_init(&r->topics, HELP_MAX_BYTES);
    for (size_t i = 0; i < n; i++) {
        r->list[i] = cmd_at(i) == &cmd_help ? &r->help : &cmd_at(i)->usage;
        buf_addf(&r->topics, "%s ", r->list[i]->name);
    }
    buf_adds(&r->topics, "slash");
    r->help.words = buf_cstr(&r->topics);
    buf_init(&r->models, HELP_MAX_BYTES);
    for (size_t i = 0; model_at(i, &m); i++)
        buf_addf(&r->models, "%s%.*s/%.*s", i ? " " : "", STR_ARG(m.provider), STR_ARG(m.name));
    r->usage = (struct usage){.commands = r->list, .count = n, .models = buf_cstr(&r->models)};
}

static unsigned help_columns(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 40)
        return 0;
    return size.ws_col > 100 ? 100 : size.ws_col;
}

/* `tenax --help`, `tenax help auth`, `tenax auth --help`. */
static int help_run(struct cmd *c)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(HELP_MAX_BYTES);
    const struct strv *words = &c->args.words;
    const struct command *about = NULL;
    CLEANUP(rows_release) struct rows rows = {0};
    int code = EXIT_OK;

    if (words->len == 2 && str_is(str_of(words->ptr[1]), "slash")) {
        if (str_is(str_of(args_get(&c->args, OPT_FORMAT)), "md"))
            slash_write_docs(&out); /* scripts/commands-docs */
        else
            slash_write_list(&out);
        (void)say_out(buf_str(&out), c->cancel, &code);
        return code;
    }
    for (size_t i = 0; i < words->len; i++) {
        const struct command *named = cmd_find(str_of(words->ptr[i]));

        if (named && named != &cmd_help)
            about = named;
    }
    if (words->len > 1 && str_is(str_of(words->ptr[0]), "help") &&
        !cmd_find(str_of(words->ptr[1]))) {
        say("there is no help about '%s': see tenax help, or man tenax", words->ptr[1]);
        return EXIT_USAGE;
    }
    rows_fill(&rows);
    usage_help(&rows.usage, about ? &about->usage : NULL, help_columns(), &out);
    (void)say_out(buf_str(&out), c->cancel, &code);
    return code;
}

static int man_run(struct cmd *c)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(HELP_MAX_BYTES);
    CLEANUP(rows_release) struct rows rows = {0};
    int code = EXIT_OK;

    (void)c;
    rows_fill(&rows);
    usage_man(&rows.usage, &out);
    (void)say_out(buf_str(&out), c->cancel, &code);
    return code;
}

static int completion_run(struct cmd *c)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(HELP_MAX_BYTES);
    CLEANUP(rows_release) struct rows rows = {0};
    struct err err = {0};
    int code = EXIT_OK;

    if (c->args.words.len != 2) {
        say("usage: tenax completion bash|zsh|fish");
        return EXIT_USAGE;
    }
    rows_fill(&rows);
    if (usage_completion(&rows.usage, str_of(c->args.words.ptr[1]), &out, &err) < 0) {
        say_error(&err);
        return EXIT_USAGE;
    }
    (void)say_out(buf_str(&out), c->cancel, &code);
    return code;
}
