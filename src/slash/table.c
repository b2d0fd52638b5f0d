/*
 * table: all built-in commands, and lookup of the one in a text. Immutable; any thread.
 */
#include <string.h>

#include "conf/conf.h"
#include "slash/commands.h"

static const struct slash_command *const commands[] = {
#define COMMAND(name) &slash_##name##_entry,
#include "slash/commands.def"
#undef COMMAND
};

size_t slash_count(void)
{
    return ARRAY_LEN(commands);
}

const struct slash_command *slash_at(size_t i)
{
    return commands[i];
}

bool slash_is_listed(const struct slash_command *c, const struct conf *conf)
{
    return !c->setting || conf_get_bool(conf, c->setting, true);
}

struct str slash_word(struct str text)
{
    size_t end = 0;

    while (end < text.len && !strchr(" \t\r\n", text.ptr[end]))
        end++;
    return str_first(text, end);
}

bool slash_split(struct str text, struct str *ret_name, struct str *ret_args)
{
    text = str_trim(text);
    if (!str_starts(text, STR("/")))
        return false;
    *ret_name = slash_word(str_from(text, 1));
    *ret_args = str_trim(str_from(text, 1 + ret_name->len));
    return true;
}

const struct slash_command *slash_find(struct str text, struct str *ret_args)
{
    struct str name;
    struct str args;

    if (!slash_split(text, &name, &args) || !name.len)
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (!str_is(name, commands[i]->name) &&
            !(commands[i]->aliases && str_is_word_of(name, commands[i]->aliases)))
            continue;
        if (ret_args)
            *ret_args = args;
        return commands[i];
    }
    return NULL;
}

void slash_write_list(struct buf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        const struct slash_command *c = commands[i];

        buf_addf(out, "/%s%s%s\n    %s\n", c->name, *c->hint ? " " : "", c->hint, c->summary);
        if (c->aliases)
            buf_addf(out, "    Also: %s\n", c->aliases);
    }
    buf_adds(out, "\n'/help COMMAND' in a session explains one.\n");
}

void slash_write_docs(struct buf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        const struct slash_command *c = commands[i];

        buf_addf(out, "\n### /%s%s%s%s\n\n%s.", c->name, *c->hint ? " `" : "", c->hint,
                 *c->hint ? "`" : "", c->summary);
        if (c->aliases) {
            struct str rest = str_of(c->aliases);
            struct str alias;
            bool first = true;

            buf_adds(out, " Also");
            while (str_cut(&rest, ' ', &alias)) {
                buf_addf(out, "%s `/%.*s`", first ? "" : ",", STR_ARG(alias));
                first = false;
            }
            buf_addc(out, '.');
        }
        if (c->more)
            buf_addf(out, "\n\n%s", c->more);
        buf_addc(out, '\n');
    }
    buf_addc(out, '\n');
}
