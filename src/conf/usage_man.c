/*
 * usage_man: the man page. The parts that are about options and commands come from the tables; the
 * prose around them is here, already in roff. Main thread.
 */
#include "base/buf.h"
#include "base/mem.h"
#include "conf/usage.h"

static const char man_description[] =
    ".SH DESCRIPTION\n"
    ".B tenax\n"
    "is a coding agent for the terminal: it drives a language model, of any provider, with tools\n"
    "until the work is done or a goal is met. In a terminal it is a session with you in front of\n"
    "it, and the words of the command line are its first prompt; /help and Ctrl-C twice are all\n"
    "that must be known.\n"
    ".PP\n"
    "With\n"
    ".B \\-p\n"
    "it answers one prompt on standard output and exits. The prompt is the words of the command\n"
    "line; piped standard input is appended to them.\n"
    ".PP\n"
    "Nothing is sent anywhere but to the provider of the model. There is no telemetry.\n";

struct man_row {
    const char *name;
    const char *text;
};

static const struct man_row man_environment[] = {
    {"TENAX_HOME", "Where tenax keeps its own files. Default: ~/.tenax."},
    {"CLAUDE_CONFIG_DIR", "Read in place of ~/.claude."},
    {"TENAX_MODEL, ANTHROPIC_MODEL",
     "Model to use; beats the settings files, and --model beats it."},
    {"TENAX_EFFORT, CLAUDE_CODE_EFFORT_LEVEL",
     "Effort; beats the settings, and --effort beats it."},
    {"DISABLE_PROMPT_CACHING, DISABLE_PROMPT_CACHING_HAIKU, _SONNET, _OPUS",
     "1: never ask Anthropic's servers to keep the prompt; for all models, or those of a family."},
    {"ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_BASE_URL",
     "Key, bearer token and address for Anthropic's models."},
    {"OPENAI_API_KEY, OPENAI_BASE_URL", "The same for OpenAI's."},
    {"GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL", "The same for Google's."},
    {"https_proxy, http_proxy, all_proxy, no_proxy", "Proxies, as usual. Also in capitals, except "
                                                     "HTTP_PROXY."},
    {"SSL_CERT_FILE", "Certificates to trust in place of the system's."},
};

static const struct man_row man_files[] = {
    {"~/.tenax/settings.json", "The user's settings."},
    {".tenax/settings.json", "The project's settings, for everybody who works on it."},
    {".tenax/settings.local.json", "The user's own settings for this project, at the git root."},
    {"/etc/tenax/managed-settings.json, /etc/tenax/managed-settings.d/*.json",
     "The administrator's settings; they beat everything else."},
    {"~/.claude/settings.json, .claude/settings.json, .claude/settings.local.json, "
     "/etc/claude-code/",
     "Read at the same levels, below tenax's own files; never written."},
    {"~/.tenax/debug/", "Logs written with --debug."},
};

static const struct man_row man_exit[] = {
    {"0", "Success."},
    {"1", "The work could not be done."},
    {"2", "Wrong options or settings; nothing was tried."},
    {"10", "The goal is blocked: it needs you."},
    {"11", "The goal has reached a limit."},
    {"12", "The goal waits for a quota."},
    {"13", "The goal is paused."},
    {"130, 143", "Stopped by SIGINT or SIGTERM."},
    {"141", "The reader of the output went away."},
};

static const struct man_row man_examples[] = {
    {"tenax", "A session in this terminal."},
    {"tenax -p 'What does this project do?'", "One answer."},
    {"git diff | tenax -p 'Write a commit message'", "With standard input."},
    {"tenax -p --model openai/gpt-5.5 --effort high 'Find the race in sync.c'",
     "Another model, thinking hard."},
    {"tenax doctor", "Is everything in place, and does the provider answer?"},
    {"tenax completion bash > ~/.local/share/bash-completion/completions/tenax",
     "Completion for bash."},
};

/* Text into roff: a minus is a minus, a backslash is one, and no line is taken for a request. */
static void man_text(struct buf *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        buf_adds(out, "\\&");
    for (; *text; text++) {
        switch (*text) {
        case '\\':
            buf_adds(out, "\\e");
            break;
        case '-':
            buf_adds(out, "\\-");
            break;
        case '\'':
            buf_adds(out, "\\(aq");
            break;
        case '`':
            buf_adds(out, "\\(ga");
            break;
        case '^':
            buf_adds(out, "\\(ha");
            break;
        case '~':
            buf_adds(out, "\\(ti");
            break;
        case '"':
            buf_adds(out, "\\(dq");
            break;
        default:
            buf_addc(out, *text);
        }
    }
}

static void man_rows(struct buf *out, const char *heading, const struct man_row *rows, size_t count)
{
    buf_addf(out, ".SH %s\n", heading);
    for (size_t i = 0; i < count; i++) {
        buf_adds(out, ".TP\n\\fB");
        man_text(out, rows[i].name);
        buf_adds(out, "\\fR\n");
        man_text(out, rows[i].text);
        buf_addc(out, '\n');
    }
}

static void man_synopsis(const struct usage *u, struct buf *out)
{
    buf_adds(out, ".SH SYNOPSIS\n.B tenax\n.RI [ OPTION ]...\\&\n.RI [ PROMPT ]...\n.br\n"
                  ".B tenax\n.B \\-p\n.RI [ OPTION ]...\\&\n.RI [ PROMPT ]...\n");
    for (size_t i = 0; i < u->count; i++) {
        const struct usage_command *command = u->commands[i];

        buf_adds(out, ".br\n.B tenax ");
        man_text(out, command->name);
        buf_adds(out, "\n.RI [ OPTION ]...\n");
        if (command->args) {
            man_text(out, command->args);
            buf_addc(out, '\n');
        }
    }
}

static void man_commands(const struct usage *u, struct buf *out)
{
    buf_adds(out, ".SH COMMANDS\n");
    for (size_t i = 0; i < u->count; i++) {
        const struct usage_command *command = u->commands[i];

        buf_adds(out, ".TP\n\\fBtenax ");
        man_text(out, command->name);
        buf_adds(out, "\\fR");
        if (command->args) {
            buf_addc(out, ' ');
            man_text(out, command->args);
        }
        buf_addc(out, '\n');
        man_text(out, command->summary);
        buf_adds(out, ".\n");
        if (command->details) {
            man_text(out, command->details);
            buf_addc(out, '\n');
        }
        if (!command->options || *command->options == OPT_COUNT)
            continue;
        buf_adds(out, "Takes\n");
        for (const enum option_id *o = command->options; *o != OPT_COUNT; o++) {
            buf_adds(out, "\\fB\\-\\-");
            man_text(out, option_table()[*o].name);
            buf_addf(out, "\\fR%s\n", o[1] == OPT_COUNT ? "." : o[2] == OPT_COUNT ? " and" : ",");
        }
    }
}

static void man_option(const struct option *o, struct buf *out)
{
    buf_adds(out, ".TP\n\\fB");
    if (o->letter)
        buf_addf(out, "\\-%c\\fR, \\fB", o->letter);
    buf_adds(out, "\\-\\-");
    man_text(out, o->name);
    buf_adds(out, "\\fR");
    if (o->arg) {
        buf_adds(out, (o->flags & OPTION_MAYBE_ARG) ? "[=\\fI" : " \\fI");
        man_text(out, o->arg);
        buf_adds(out, (o->flags & OPTION_MAYBE_ARG) ? "\\fR]" : "\\fR");
    }
    buf_addc(out, '\n');
    man_text(out, o->help);
    buf_adds(out, ".\n");
    if (option_has_values(o)) {
        buf_adds(out, "One of: ");
        man_text(out, o->values);
        buf_adds(out, ".\n");
    }
    if (o->flags & OPTION_MANY)
        buf_adds(out, "May be given more than once.\n");
    if (o->key) {
        buf_adds(out, "Setting: ");
        man_text(out, o->key);
        buf_adds(out, ".\n");
    }
}

static void man_options(struct buf *out)
{
    size_t group_count;
    const struct option_group *groups = option_groups(&group_count);
    size_t g = 0;

    buf_adds(out, ".SH OPTIONS\n"
                  "Every option may be written\n"
                  ".BI \\-\\-name= value\n"
                  "or\n"
                  ".BI \\-\\-name \\ value\\fR,\n"
                  "before or after the words; after\n"
                  ".B \\-\\-\n"
                  "everything is a word.\n");
    for (size_t i = 0; i < OPT_COUNT; i++) {
        if (g < group_count && groups[g].first == i)
            buf_addf(out, ".SS %s\n", groups[g++].title);
        if (!(option_table()[i].flags & OPTION_HIDDEN))
            man_option(&option_table()[i], out);
    }
}

void usage_man(const struct usage *u, struct buf *out)
{
    buf_adds(out, ".\\\" Made by `tenax man`.\n"
                  ".TH TENAX 1 \"\" \"tenax " TENAX_VERSION "\" \"User Commands\"\n"
                  ".SH NAME\n"
                  "tenax \\- a coding agent that works until the goal is met\n");
    man_synopsis(u, out);
    buf_adds(out, man_description);
    man_commands(u, out);
    man_options(out);
    man_rows(out, "ENVIRONMENT", man_environment, ARRAY_LEN(man_environment));
    man_rows(out, "FILES", man_files, ARRAY_LEN(man_files));
    man_rows(out, "EXIT STATUS", man_exit, ARRAY_LEN(man_exit));
    man_rows(out, "EXAMPLES", man_examples, ARRAY_LEN(man_examples));
    buf_adds(out,
             ".SH SEE ALSO\n"
             ".BR git (1)\n"
             ".PP\n"
             "The manual is in docs/ of the source, and installed in share/doc/tenax beside the\n"
             "folder of the program: /usr/share/doc/tenax, or /usr/local/share/doc/tenax.\n");
}
