/*
 * /help: prints the table of commands, or one row of it.
 */
#include "base/err.h"
#include "base/strv.h"
#include "conf/nearest.h"
#include "host/host.h"
#include "slash/answer.h"
#include "slash/own.h"

static int help_run(struct slash_call *call, struct err *err);

const struct slash_command slash_help_entry = {
    .name = "help",
    .hint = "[<command>]",
    .summary = "List the commands, or explain one",
    .run = help_run,
};

#define HELP_COLUMN 34

/* "  /name hint      summary" */
static void help_line(struct slash_call *call, struct str name, struct str hint, struct str summary)
{
    CLEANUP(buf_release) struct buf left = BUF_INIT(1000);

    buf_addf(&left, "/%.*s%s%.*s", STR_ARG(str_clip(name, 100)), hint.len ? " " : "",
             STR_ARG(str_clip(hint, 100)));
    slash_say(call, INK_PLAIN, STR("  "));
    slash_say(call, INK_CYAN, buf_str(&left));
    slash_sayf(call, INK_PLAIN, "%*s  ", left.len < HELP_COLUMN ? (int)(HELP_COLUMN - left.len) : 0,
               "");
    slash_sayf(call, INK_PLAIN, "%.*s\n", STR_ARG(summary));
}

static void help_own(struct slash_call *call)
{
    CLEANUP(own_list_unrefp) struct own_list *own = slash_own(call->slash);
    bool any = false;

    VEC_EACH(&own->commands, c) {
        if (c->is_hidden)
            continue;
        if (!any)
            slash_say(call, INK_BOLD, STR("\nYour own commands and skills\n"));
        any = true;
        help_line(call, c->name, c->hint, c->summary);
    }
    for (size_t i = 0; i < own->notes.len; i++)
        slash_sayf(call, INK_YELLOW, "  %s\n", own->notes.ptr[i]);
}

static int help_one(struct slash_call *call, struct str name, struct err *err)
{
    CLEANUP(own_list_unrefp) struct own_list *own = slash_own(call->slash);
    CLEANUP(buf_release) struct buf text = BUF_INIT(4096);
    const struct slash_command *c;
    const struct own_command *mine;

    if (str_starts(name, STR("/")))
        name = str_from(name, 1);
    buf_addf(&text, "/%.*s", STR_ARG(str_clip(name, 100)));
    c = slash_find(buf_str(&text), /*ret_args=*/NULL);
    if (c) {
        help_line(call, str_of(c->name), str_of(c->hint), str_of(c->summary));
        if (c->aliases)
            slash_sayf(call, INK_FAINT, "  Also: %s\n", c->aliases);
        if (c->more)
            slash_sayf(call, INK_PLAIN, "\n%s\n", c->more);
        return 0;
    }
    mine = own_find(own, name);
    if (!mine)
        return err_set(err, ERR_NOT_FOUND, "there is no command /%.*s; /help lists them",
                       STR_ARG(str_clip(name, 100)));
    help_line(call, mine->name, mine->hint, mine->summary);
    slash_sayf(call, INK_FAINT, "  %s\n", mine->path);
    return 0;
}

/* The keys that are hard to find by chance. */
static void help_keys(struct slash_call *call)
{
    static const struct {
        const char *key;
        const char *does;
    } keys[] = {
        {"Esc", "interrupts"},
        {"Esc Esc", "rewinds the conversation, or clears the draft"},
        {"Shift-Tab", "the next permission mode"},
        {"Ctrl-O", "the whole transcript"},
        {"Ctrl-B", "sends a command or agent that runs to the background"},
        {"Down", "in an empty prompt: the agents; Enter views one, x stops it"},
        {"Shift-Down", "agents and background commands"},
        {"Ctrl-X Ctrl-K", "stops all agents in the background"},
        {"Ctrl-T", "in an empty prompt: shows or hides the task list"},
        {"Ctrl-R", "searches earlier prompts"},
        {"Ctrl-G", "opens the draft in your editor"},
        {"Alt-Enter, \\ Enter", "a new line"},
        {"Ctrl-D", "leaves"},
    };

    slash_say(call, INK_BOLD, STR("\nKeys\n"));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        slash_sayf(call, INK_CYAN, "  %-*s", HELP_COLUMN, keys[i].key);
        slash_sayf(call, INK_PLAIN, "  %s\n", keys[i].does);
    }
}

static int help_run(struct slash_call *call, struct err *err)
{
    if (call->args.len)
        return help_one(call, call->args, err);
    slash_say(call, INK_BOLD, STR("Commands\n"));
    for (size_t i = 0; i < slash_count(); i++) {
        const struct slash_command *c = slash_at(i);

        if (slash_is_listed(c, host_conf(call->host)))
            help_line(call, str_of(c->name), str_of(c->hint), str_of(c->summary));
    }
    help_own(call);
    if (call->front)
        help_keys(call);
    slash_say(
        call, INK_FAINT,
        STR("\n!command runs it in the shell, #note keeps one in a memory file, @path names a "
            "file. More: man tenax\n"));
    return 0;
}
