/*
 * rule_suggest: what "always allow" would add for a call, and rules as options hold them. Pure; any
 * thread.
 */
#include <string.h>

#include "base/buf.h"
#include "base/strv.h"
#include "base/words.h"
#include "conf/nearest.h"
#include "conf/rule_list.h"
#include "guard/rule.h"
#include "guard/rule_state.h"
#include "shell/shell.h"
#include "shell/shell_kind.h"
#include "shell/shell_runner.h"

#define SUGGEST_MAX 5         /* rules for one command */
#define SUGGEST_MAX_TEXT 1000 /* bytes of one */
/* Programs whose second word names the action. */
#define HAVE_SUBCOMMANDS                                                                           \
    "git npm npx yarn pnpm bun cargo go make docker podman kubectl pip pip3 uv poetry gradle mvn " \
    "dotnet gh terraform meson ninja apt apt-get brew systemctl rustup deno composer bundle"
/* Programs for which "always" would be everything, besides what runs others: languages, too. */
#define NEVER_SUGGESTED                                                                            \
    "rm dd mkfs sed gsed ed ex vi vim nvim emacs sqlite3 psql mysql tsx ts-node python pypy perl " \
    "ruby node nodejs php lua luajit tclsh expect awk gawk mawk m4 R Rscript julia gdb source . "  \
    "chroot ssh flock nsenter runuser find fd fdfind tmux at batch crontab"

/* A word that may stand in a rule as it is written. */
static bool is_plain(const struct shell_word *w)
{
    return w->raw.len && !w->quoted && !w->expands && !w->globs && w->raw.ptr[0] != '-';
}

/* An allow rule does not look past other variables, so that it would not help. */
static bool sets_variables(const struct shell_part *p)
{
    for (size_t i = 0; i < p->first; i++) {
        if (!shell_is_safe_assignment(&p->words.ptr[i]))
            return true;
    }
    return false;
}

/* python3.11 is python. */
static struct str without_version(struct str name)
{
    while (name.len && strchr("0123456789.", name.ptr[name.len - 1]))
        name.len--;
    return name;
}

static bool never_suggested(const struct shell_part *p)
{
    struct str name = shell_part_program(p);
    size_t names;
    size_t from = shell_part_runs_from(p, &names);

    if (str_is_word_of(name, HAVE_SUBCOMMANDS))
        return false;
    return words_have(name, NEVER_SUGGESTED) ||
           words_have(without_version(name), NEVER_SUGGESTED) ||
           (from == p->first + 1 && from < p->words.len);
}

/* False when no rule for it makes sense. */
static bool suggest_part(const struct shell_part *p, struct strv *ret)
{
    CLEANUP(buf_release) struct buf rule = BUF_INIT(SUGGEST_MAX_TEXT);
    struct shell_part bare = *p;
    const struct shell_word *first;
    const struct shell_word *second;

    if (sets_variables(p))
        return false;
    for (size_t n = shell_wrapper_len(&bare, bare.first); n;
         n = shell_wrapper_len(&bare, bare.first))
        bare.first += n;
    first = shell_word_at(&bare, 0);
    second = shell_word_at(&bare, 1);
    if (!first->raw.len || first->quoted || first->expands || never_suggested(&bare))
        return false;
    buf_add(&rule, first->raw);
    if (str_is_word_of(first->raw, HAVE_SUBCOMMANDS)) {
        if (!is_plain(second))
            return false;
        buf_addf(&rule, " %.*s", STR_ARG(second->raw));
        if (str_is_word_of(second->raw, "run exec")) {
            if (!is_plain(shell_word_at(&bare, 2)))
                return false; /* docker run --rm: anything */
            buf_addf(&rule, " %.*s", STR_ARG(shell_word_at(&bare, 2)->raw));
        }
    }
    buf_adds(&rule, " *");
    if (buf_check(&rule, NULL) < 0)
        return false;
    if (!strv_has(ret, buf_str(&rule)))
        strv_add(ret, buf_str(&rule));
    return true;
}

static bool suggest_command(struct str command, struct strv *ret)
{
    CLEANUP(shell_release) struct shell shell;
    CLEANUP(strv_release) struct strv found = STRV_INIT;

    shell_split(&shell, command);
    if (!shell.certain)
        return false;
    VEC_EACH(&shell.parts, p) {
        /* A rule for some parts only would not help. */
        if (!shell_part_is_free(&shell, p, shell_part_is_read_only(p)) && !suggest_part(p, &found))
            return false;
    }
    if (!found.len || found.len > SUGGEST_MAX)
        return false;
    strv_add_all(ret, &found);
    return true;
}

bool rule_suggest(const struct rule_subject *s, struct strv *ret)
{
    if (s->about == ABOUT_COMMAND)
        return suggest_command(s->text, ret);
    if (s->about == ABOUT_HOST && s->text.len) {
        strv_addf(ret, "domain:%.*s", STR_ARG(s->text));
        return true;
    }
    return false;
}

/* Those of Claude Code that tenax does not have: rules for them stand in files that both
 * read. */
#define OTHERS_TOOLS                                                                               \
    "Cd LS NotebookRead KillBash SlashCommand AgentOutputTool Monitor PowerShell LSP ToolSearch "  \
    "EnterWorktree ExitWorktree CronCreate CronDelete CronList TaskCreate TaskGet TaskList "       \
    "TaskUpdate TeamCreate TeamDelete ListMcpResourcesTool ReadMcpResourceTool "                   \
    "ListMcpResources ReadMcpResource StructuredOutput Brief Config RemoteTrigger REPL Sleep "     \
    "SendUserMessage UpdateGoal update_goal get_goal create_goal"

bool rule_knows_tool(struct str name)
{
    return str_starts(name, STR("mcp__")) || str_is_word_of(name, RULE_KNOWN_TOOLS) ||
           str_is_word_of(name, OTHERS_TOOLS);
}

bool rule_names_nobody(const struct rule *r, struct str *ret_near)
{
    struct nearest near;

    *ret_near = (struct str){0};
    if (str_chr(r->tool, '*') < r->tool.len || rule_knows_tool(r->tool))
        return false;
    nearest_init(&near, r->tool);
    nearest_offer_words(&near, RULE_KNOWN_TOOLS);
    *ret_near = near.best;
    return true;
}
