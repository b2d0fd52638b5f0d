/*
 * usage: --help, and which command takes which option.
 *
 * Text is laid out in two columns: names on the left, sentences on the right, wrapped at words. A
 * name too long for its column gets a separate line, or several. Main thread.
 */
#include "conf/usage.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "conf/nearest.h"

#define USAGE_INDENT 2
#define USAGE_HANG 6    /* where names that fill a line of their own go on */
#define USAGE_LEFT 28   /* where sentences start */
#define USAGE_NARROW 64 /* below this they start further left, on a line of their own */
#define USAGE_NARROW_LEFT 8
#define USAGE_ARGS 7 /* where a command's arguments continue, after "Usage: " */
#define USAGE_MIN_COLUMNS 40
#define USAGE_MAX_COLUMNS 100 /* longer lines are hard to read */

/* What every command takes. */
static const enum option_id usage_common[] = {
    OPT_DIR,  OPT_SETTINGS, OPT_SETTING_SOURCES, OPT_DEBUG, OPT_DEBUG_FILE, OPT_DEBUG_TO_STDERR,
    OPT_HELP,
};

bool usage_takes(const struct usage_command *command, enum option_id id)
{
    for (size_t i = 0; i < ARRAY_LEN(usage_common); i++)
        if (usage_common[i] == id)
            return true;
    for (const enum option_id *o = command->options; o && *o != OPT_COUNT; o++)
        if (*o == id)
            return true;
    return false;
}

/* "auth lgin" */
static int usage_check_word(const struct usage_command *command, struct str word, struct err *err)
{
    struct nearest near;

    if (!command->args)
        return err_set(err, ERR_BAD_INPUT, "'%s' takes no words, and there is '%.*s'",
                       command->name, STR_ARG(str_clip(word, 40)));
    if (!command->only_words || str_is_word_of(word, command->words))
        return 0;
    nearest_init(&near, word);
    nearest_offer_words(&near, command->words);
    if (!near.best.len)
        return 0;
    return err_set(err, ERR_BAD_INPUT, "unknown command '%s %.*s'; did you mean '%s %.*s'?",
                   command->name, STR_ARG(word), command->name, STR_ARG(near.best));
}

int usage_check(const struct usage_command *command, const struct args *args, struct err *err)
{
    for (size_t i = 0; i < OPT_COUNT; i++)
        if (args->given[i] && !usage_takes(command, (enum option_id)i))
            return err_set(err, ERR_BAD_INPUT, "'%s' does not take --%s", command->name,
                           option_table()[i].name);
    if (args->words.len > 1)
        return usage_check_word(command, str_of(args->words.ptr[1]), err);
    return 0;
}

/* Appends words of text from column `at` on; further lines start at `indent`. ASCII only, as the
 * tables are. */
static void usage_wrap(struct buf *out, struct str text, size_t at, size_t indent, size_t columns)
{
    struct str word;
    bool first = true;

    while (str_cut(&text, ' ', &word)) {
        if (!first && at + 1 + word.len > columns) {
            buf_addf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            buf_addc(out, ' ');
            at++;
        }
        buf_add(out, word);
        at += word.len;
        first = false;
    }
    buf_addc(out, '\n');
}

static void usage_row(struct buf *out, struct str left, const char *right, size_t columns)
{
    size_t start = columns < USAGE_NARROW ? USAGE_NARROW_LEFT : USAGE_LEFT;
    size_t at = USAGE_INDENT + left.len;

    buf_addf(out, "%*s", USAGE_INDENT, "");
    if (at + 2 > start) {
        usage_wrap(out, left, USAGE_INDENT, USAGE_HANG, columns);
        at = 0;
    } else {
        buf_add(out, left);
    }
    buf_addf(out, "%*s", (int)(start - at), "");
    usage_wrap(out, str_of(right), start, start, columns);
}

static void usage_option(struct buf *out, const struct option *o, size_t columns)
{
    CLEANUP(buf_release) struct buf left = BUF_INIT(256);
    CLEANUP(buf_release) struct buf right = BUF_INIT(4096);

    if (o->letter)
        buf_addf(&left, "-%c, ", o->letter);
    else
        buf_adds(&left, "    ");
    buf_addf(&left, "--%s", o->name);
    if (o->arg)
        buf_addf(&left, (o->flags & OPTION_MAYBE_ARG) ? "[=%s]" : " %s", o->arg);
    buf_adds(&right, o->help);
    if (option_has_values(o))
        buf_addf(&right, " (%s)", o->values);
    usage_row(out, buf_str(&left), buf_cstr(&right), columns);
}

/* The rows of one heading that are not hidden and that the command takes; NULL = any. */
static void usage_group(struct buf *out, const struct usage_command *command,
                        const struct option_group *group, size_t end, size_t columns)
{
    bool empty = true;

    for (size_t i = group->first; i < end; i++) {
        const struct option *o = &option_table()[i];

        if ((o->flags & OPTION_HIDDEN) || (command && !usage_takes(command, o->id)))
            continue;
        if (empty)
            buf_addf(out, "\n%s:\n", group->title);
        empty = false;
        usage_option(out, o, columns);
    }
}

/* Of a command: first what only commands take. command NULL: what a session takes. */
static void usage_options(struct buf *out, const struct usage_command *command, size_t columns)
{
    size_t count;
    const struct option_group *groups = option_groups(&count);

    for (int of_commands = command != NULL; of_commands >= 0; of_commands--) {
        for (size_t g = 0; g < count; g++) {
            if (groups[g].of_commands == (of_commands > 0))
                usage_group(out, command, &groups[g],
                            g + 1 < count ? groups[g + 1].first : OPT_COUNT, columns);
        }
    }
}

void usage_help(const struct usage *u, const struct usage_command *command, unsigned columns,
                struct buf *out)
{
    if (!columns)
        columns = 80;
    if (columns < USAGE_MIN_COLUMNS)
        columns = USAGE_MIN_COLUMNS;
    if (columns > USAGE_MAX_COLUMNS)
        columns = USAGE_MAX_COLUMNS;

    if (command) {
        CLEANUP(buf_release) struct buf line = BUF_INIT(4096);
        CLEANUP(buf_release) struct buf text = BUF_INIT(4096);

        buf_addf(&line, "Usage: tenax %s [OPTION]...%s%s", command->name, command->args ? " " : "",
                 command->args ? command->args : "");
        usage_wrap(out, buf_str(&line), 0, USAGE_ARGS, columns);
        buf_addf(&text, "%s.%s%s", command->summary, command->details ? " " : "",
                 command->details ? command->details : "");
        usage_wrap(out, buf_str(&text), 0, 0, columns);
        usage_options(out, command, columns);
        return;
    }
    buf_adds(out, "Usage: tenax [OPTION]... [PROMPT]...\n"
                  "       tenax -p [OPTION]... [PROMPT]...\n"
                  "       tenax COMMAND [OPTION]...\n");
    usage_wrap(out,
               STR("A coding agent for the terminal that works until the goal is met. With -p: one "
                   "answer, then exit."),
               0, 0, columns);
    buf_adds(out, "\nCommands:\n");
    for (size_t i = 0; i < u->count; i++)
        usage_row(out, str_of(u->commands[i]->name), u->commands[i]->summary, columns);
    usage_options(out, /*command=*/NULL, columns);
    buf_addc(out, '\n');
    usage_wrap(out,
               STR("'tenax COMMAND --help' shows the options of a command; 'man tenax' lists all."),
               0, 0, columns);
}
