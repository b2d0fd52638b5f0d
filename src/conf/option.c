/*
 * option: the rows of option.def as a table, and the one parser of command lines.
 *
 * The parser only stores each option's values and the words in order. Which command takes which
 * option is the caller's business (usage_check). Runs at start, on the main thread.
 */
#include "conf/option.h"

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "conf/nearest.h"
#include "conf/rule_list.h"

static const struct option options[] = {
#define OPTION(id, name, letter, arg, flags, key, values, help)                                    \
    {OPT_##id, name, letter, arg, flags, key, values, help},
#include "conf/option.def"
#undef OPTION
};

static const struct {
    enum option_id id;
    const char *name;
} aliases[] = {
#define OPTION(id, name, letter, arg, flags, key, values, help)
#define OPTION_ALIAS(id, name) {OPT_##id, name},
#include "conf/option.def"
#undef OPTION
};

static const struct option_group groups[] = {
#define OPTION(id, name, letter, arg, flags, key, values, help)
#define OPTION_GROUP(id, title) {OPT_##id, title, false},
#define OPTION_COMMANDS(id, title) {OPT_##id, title, true},
#include "conf/option.def"
#undef OPTION
};

const struct option *option_table(void)
{
    return options;
}

const struct option_group *option_groups(size_t *ret_count)
{
    *ret_count = ARRAY_LEN(groups);
    return groups;
}

bool option_has_values(const struct option *o)
{
    return o->values && o->values[0] != '@';
}

const struct option *option_find(struct str name)
{
    for (size_t i = 0; i < OPT_COUNT; i++)
        if (str_is(name, options[i].name))
            return &options[i];
    for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
        if (str_is(name, aliases[i].name))
            return &options[aliases[i].id];
    return NULL;
}

const struct option *option_find_letter(char letter)
{
    for (size_t i = 0; letter && i < OPT_COUNT; i++)
        if (options[i].letter == letter)
            return &options[i];
    return NULL;
}

void args_release(struct args *a)
{
    for (size_t i = 0; i < OPT_COUNT; i++)
        strv_release(&a->values[i]);
    strv_release(&a->words);
}

const char *args_get(const struct args *a, enum option_id id)
{
    const struct strv *values = &a->values[id];

    if (!a->given[id])
        return NULL;
    return values->len ? values->ptr[values->len - 1] : "";
}

static int args_unknown(struct str name, struct err *err)
{
    struct nearest near;

    nearest_init(&near, name);
    for (size_t i = 0; i < OPT_COUNT; i++)
        if (!(options[i].flags & OPTION_HIDDEN))
            nearest_offer(&near, str_of(options[i].name));
    if (near.best.len)
        return err_set(err, ERR_BAD_INPUT, "unknown option --%.*s; did you mean --%.*s?",
                       STR_ARG(str_clip(name, 100)), STR_ARG(near.best));
    return err_set(err, ERR_BAD_INPUT, "unknown option --%.*s", STR_ARG(str_clip(name, 100)));
}

/* Adds one value after checking it against the row's list. */
static int args_add_value(struct args *a, const struct option *o, struct str value, struct err *err)
{
    struct nearest near;
    struct str rest = str_of(o->values);
    struct str word;

    if (!option_has_values(o)) {
        strv_add(&a->values[o->id], value);
        return 0;
    }
    while (str_cut(&rest, ' ', &word)) {
        if (str_eq(word, value)) {
            strv_add(&a->values[o->id], value);
            return 0;
        }
    }
    nearest_init(&near, value);
    nearest_offer_words(&near, o->values);
    if (near.best.len)
        return err_set(err, ERR_BAD_INPUT, "--%s: '%.*s' is not one of: %s; did you mean %.*s?",
                       o->name, STR_ARG(str_clip(value, 100)), o->values, STR_ARG(near.best));
    return err_set(err, ERR_BAD_INPUT, "--%s: '%.*s' is not one of: %s", o->name,
                   STR_ARG(str_clip(value, 100)), o->values);
}

/* value is NULL for a switch and for an optional value that was not given. */
static int args_add(struct args *a, const struct option *o, const char *value, struct err *err)
{
    struct str rest = str_of(value);
    struct str part;

    if (!(o->flags & OPTION_MANY))
        strv_clear(&a->values[o->id]);
    a->given[o->id] = true;
    if (!value) {
        strv_adds(&a->values[o->id], "");
        return 0;
    }
    if (o->flags & OPTION_RULES) {
        rule_list_split(rest, &a->values[o->id]);
        return 0;
    }
    if (!(o->flags & OPTION_LIST))
        return args_add_value(a, o, rest, err);

    while (str_cut(&rest, ',', &part)) {
        part = str_trim(part);
        if (part.len && args_add_value(a, o, part, err) < 0)
            return -1;
    }
    return 0;
}

/* Programs that write every option as a pair give a switch an empty value: --verbose "". */
static bool args_is_empty_value(const struct option *o, const char *attached, const char *next)
{
    return (!o->arg || o->flags & OPTION_MAYBE_ARG) && !attached && next && !*next;
}

/* The value of an option: what came with it, else the next argument. NULL with *err unset: none. */
static int args_take_value(const struct option *o, const char *attached, int argc,
                           char *const *argv, int *i, const char **ret, struct err *err)
{
    if (!o->arg && attached && *attached)
        return err_set(err, ERR_BAD_INPUT, "--%s takes no value", o->name);
    if (args_is_empty_value(o, attached, *i + 1 < argc ? argv[*i + 1] : NULL))
        *i += 1;
    if (!o->arg || attached || (o->flags & OPTION_MAYBE_ARG)) {
        *ret = o->arg ? attached : NULL;
        return 0;
    }
    if (o->flags & OPTION_MAYBE_NEXT && (*i + 1 >= argc || argv[*i + 1][0] == '-')) {
        *ret = NULL;
        return 0;
    }
    if (*i + 1 >= argc)
        return err_set(err, ERR_BAD_INPUT, "--%s needs a value: --%s %s", o->name, o->name, o->arg);
    *i += 1;
    *ret = argv[*i];
    return 0;
}

/* Whether an argument after the value is one more: --allowedTools "Bash(git *)" Edit "and now the
 * prompt", --add-dir ../a ../b "and now the prompt". */
static bool args_is_more(const struct option *o, const char *arg)
{
    return (o->flags & OPTION_RULES && rule_list_is(str_of(arg))) ||
           (o->flags & OPTION_FOLDERS && arg[0] != '-' && file_is_dir(arg));
}

static int args_long(struct args *a, int argc, char *const *argv, int *i, struct err *err)
{
    const char *text = argv[*i] + 2;
    const char *equals = strchr(text, '=');
    struct str name = equals ? str_make(text, (size_t)(equals - text)) : str_of(text);
    const struct option *o = option_find(name);
    const char *value = NULL;

    if (!o)
        return args_unknown(name, err);
    if (args_take_value(o, equals ? equals + 1 : NULL, argc, argv, i, &value, err) < 0)
        return -1;
    if (args_add(a, o, value, err) < 0)
        return -1;
    while (!equals && *i + 1 < argc && args_is_more(o, argv[*i + 1]))
        if (args_add(a, o, argv[++*i], err) < 0)
            return -1;
    return 0;
}

/* Other programs have the same letters in the other case: -V, -H. */
static int args_unknown_letter(const char *at, struct err *err)
{
    struct str letter = str_clip(str_of(at), 4);
    char other = (char)(*at ^ 0x20);

    if (!at[1] && option_find_letter(other))
        return err_set(err, ERR_BAD_INPUT, "unknown option -%c; did you mean -%c?", *at, other);
    return err_set(err, ERR_BAD_INPUT, "unknown option -%.*s", STR_ARG(letter));
}

/* "-p", "-pd", "-mNAME", "-m NAME", "-m=NAME". */
static int args_short(struct args *a, int argc, char *const *argv, int *i, struct err *err)
{
    const char *text = argv[*i] + 1;

    /* "-model x" would otherwise be the model "odel" and a word. */
    if (text[1] && option_find(str_of(text)))
        return err_set(err, ERR_BAD_INPUT, "unknown option -%s; did you mean --%s?", text, text);

    for (const char *at = text; *at; at++) {
        const struct option *o = option_find_letter(*at);
        const char *attached = NULL;
        const char *value = NULL;

        if (!o)
            return args_unknown_letter(at, err);
        if (at[1] == '=')
            attached = at + 2;
        else if (at[1] && o->arg && !(o->flags & OPTION_MAYBE_ARG))
            attached = at + 1;
        if (args_take_value(o, attached, argc, argv, i, &value, err) < 0)
            return -1;
        if (args_add(a, o, value, err) < 0)
            return -1;
        if (value)
            break;
    }
    return 0;
}

int args_parse(int argc, char *const *argv, struct args *ret, struct err *err)
{
    CLEANUP(args_release) struct args a = {0};

    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        int r = 0;

        if (strcmp(arg, "--") == 0) {
            while (++i < argc)
                strv_adds(&a.words, argv[i]);
            break;
        }
        if (arg[0] == '-' && arg[1] == '-')
            r = args_long(&a, argc, argv, &i, err);
        else if (arg[0] == '-' && arg[1])
            r = args_short(&a, argc, argv, &i, err);
        else
            strv_adds(&a.words, arg); /* a lone "-" too */
        if (r < 0)
            return -1;
        a.plain = a.words.len;
    }
    *ret = a;
    a = (struct args){0};
    return 0;
}
