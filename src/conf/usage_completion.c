/*
 * usage_completion: scripts for bash, zsh and fish. Each is plain data from the tables around a few
 * fixed lines of shell, so that the user's shell never has to start tenax to complete. Main thread.
 */
#include "base/buf.h"
#include "base/err.h"
#include "conf/usage.h"

static bool is_completed_as(const struct option *o, const char *kind)
{
    return o->values && strcmp(o->values, kind) == 0;
}

static bool is_shown(const struct option *o, const struct usage_command *command)
{
    return !(o->flags & OPTION_HIDDEN) && (!command || usage_takes(command, o->id));
}

/* The words an option's value may be: its list, or the models. NULL: free text or a path. */
static const char *words_of(const struct usage *u, const struct option *o)
{
    if (option_has_values(o))
        return o->values;
    return is_completed_as(o, "@model") && u->models ? u->models : NULL;
}

/* Text inside single quotes of a POSIX shell or fish; extra lists characters that want a backslash
 * of their own. */
static void add_quoted(struct buf *out, const char *text, const char *extra, bool fish)
{
    for (; *text; text++) {
        if (*text == '\'')
            buf_adds(out, fish ? "\\'" : "'\\''");
        else if (*text == '\\')
            buf_adds(out, "\\\\");
        else if (strchr(extra, *text))
            buf_addf(out, "\\%c", *text);
        else
            buf_addc(out, *text);
    }
}

/* "--model --effort …" of one command, or of the program. */
static void add_option_names(struct buf *out, const struct usage_command *command)
{
    for (size_t i = 0; i < OPT_COUNT; i++) {
        const struct option *o = &option_table()[i];

        if (is_shown(o, command))
            buf_addf(out, " --%s", o->name);
    }
}

/* "-m|--model" for a case label. */
static void add_label(struct buf *out, const struct option *o)
{
    if (o->letter)
        buf_addf(out, "-%c|", o->letter);
    buf_addf(out, "--%s", o->name);
}

static bool takes_next_word(const struct option *o)
{
    return o->arg && !(o->flags & OPTION_MAYBE_ARG);
}

/* What may follow an option that wants a value. */
static void bash_value(const struct usage *u, const struct option *o, struct buf *out)
{
    const char *words = words_of(u, o);

    if (!words && (is_completed_as(o, "@dir") || is_completed_as(o, "@file"))) {
        buf_addf(out,
                 "        compopt -o filenames 2>/dev/null\n"
                 "        mapfile -t COMPREPLY < <(compgen -%c -- \"$cur\")\n",
                 is_completed_as(o, "@dir") ? 'd' : 'f');
        return;
    }
    buf_adds(out, "        compopt +o default 2>/dev/null\n"); /* no file names instead */
    if (words && (o->flags & OPTION_LIST))
        buf_addf(out,
                 "        [[ $cur == *,* ]] && head=${cur%%,*},\n"
                 "        COMPREPLY=($(compgen -P \"$head\" -W '%s' -- \"${cur##*,}\"))\n",
                 words);
    else if (words)
        buf_addf(out, "        COMPREPLY=($(compgen -W '%s' -- \"$cur\"))\n", words);
}

static void bash_values(const struct usage *u, struct buf *out)
{
    buf_adds(out, "    case $prev in\n");
    for (size_t i = 0; i < OPT_COUNT; i++) {
        const struct option *o = &option_table()[i];

        if (!o->arg)
            continue;
        buf_adds(out, "    ");
        add_label(out, o);
        buf_adds(out, ")\n");
        bash_value(u, o, out);
        buf_adds(out, "        return\n        ;;\n");
    }
    buf_adds(out, "    esac\n");
}

static void bash_script(const struct usage *u, struct buf *out)
{
    const char *bar = "";

    buf_adds(out, "# bash completion for tenax, made by `tenax completion bash`\n"
                  "_tenax()\n"
                  "{\n"
                  "    local cur=${COMP_WORDS[COMP_CWORD]} prev= command= options= words= head= i\n"
                  "    local has_verb=\n"
                  "    ((COMP_CWORD > 0)) && prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                  "    COMPREPLY=()\n"
                  "    # --name=value reaches us as three words\n"
                  "    if [[ $cur == = ]]; then\n"
                  "        cur=\n"
                  "    elif [[ $prev == = ]] && ((COMP_CWORD > 1)); then\n"
                  "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
                  "    fi\n"
                  "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                  "        case ${COMP_WORDS[i]} in\n"
                  "        --)\n"
                  "            return\n"
                  "            ;;\n"
                  "        ");
    for (size_t i = 0; i < OPT_COUNT; i++) {
        if (!takes_next_word(&option_table()[i]))
            continue;
        buf_adds(out, bar);
        add_label(out, &option_table()[i]);
        bar = "|";
    }
    buf_adds(out, ")\n"
                  "            [[ ${COMP_WORDS[i+1]} == = ]] && ((i++))\n"
                  "            ((i++))\n"
                  "            ;;\n"
                  "        -*) ;;\n"
                  "        *)\n"
                  "            [[ $command ]] && has_verb=yes\n"
                  "            [[ $command ]] || command=${COMP_WORDS[i]}\n"
                  "            ;;\n"
                  "        esac\n"
                  "    done\n");
    bash_values(u, out);
    buf_adds(out, "    case $command in\n    '')\n        words='");
    for (size_t i = 0; i < u->count; i++)
        buf_addf(out, "%s%s", i ? " " : "", u->commands[i]->name);
    buf_adds(out, "'\n        options='");
    add_option_names(out, /*command=*/NULL);
    buf_adds(out, "'\n        ;;\n");
    for (size_t i = 0; i < u->count; i++) {
        const struct usage_command *command = u->commands[i];

        buf_addf(out, "    %s)\n        words='%s'\n        options='", command->name,
                 command->words ? command->words : "");
        add_option_names(out, command);
        buf_adds(out, "'\n        ;;\n");
    }
    buf_adds(out, "    *)\n"
                  "        return\n"
                  "        ;;\n"
                  "    esac\n"
                  "    if [[ $cur == -* ]]; then\n"
                  "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
                  "    elif [[ ! $has_verb ]]; then\n"
                  "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                  "    fi\n"
                  "}\n"
                  "complete -o default -F _tenax tenax\n");
}

static void zsh_value(const struct usage *u, const struct option *o, struct buf *out)
{
    const char *words = words_of(u, o);

    if (words && (o->flags & OPTION_LIST)) {
        buf_addf(out, ":_sequence compadd - %s", words);
    } else if (words) {
        buf_adds(out, ":(");
        add_quoted(out, words, ":", false);
        buf_addc(out, ')');
    } else if (is_completed_as(o, "@dir")) {
        buf_adds(out, ":_files -/");
    } else if (is_completed_as(o, "@file")) {
        buf_adds(out, ":_files");
    } else {
        buf_adds(out, ": ");
    }
}

/* One line of _arguments: '(-m --model)'{-m+,--model=}'[help]:MODEL:(a b)'. */
static void zsh_option(const struct usage *u, const struct option *o, struct buf *out)
{
    const char *after_letter = takes_next_word(o) ? "+" : "";
    const char *after_name = (o->flags & OPTION_MAYBE_ARG) ? "=-" : o->arg ? "=" : "";

    buf_adds(out, "        ");
    if (o->flags & OPTION_MANY)
        buf_adds(out, "'*'");
    else if (o->letter)
        buf_addf(out, "'(-%c --%s)'", o->letter, o->name);
    if (o->letter)
        buf_addf(out, "{-%c%s,--%s%s}", o->letter, after_letter, o->name, after_name);
    else
        buf_addf(out, "--%s%s", o->name, after_name);
    buf_adds(out, "'[");
    add_quoted(out, o->help, "[]", false);
    buf_adds(out, "]");
    if (o->arg) {
        buf_adds(out, (o->flags & OPTION_MAYBE_ARG) ? "::" : ":");
        add_quoted(out, o->arg, ":", false);
        zsh_value(u, o, out);
    }
    buf_adds(out, "' \\\n");
}

static void zsh_options(const struct usage *u, const struct usage_command *command, struct buf *out)
{
    for (size_t i = 0; i < OPT_COUNT; i++)
        if (is_shown(&option_table()[i], command))
            zsh_option(u, &option_table()[i], out);
}

static void zsh_script(const struct usage *u, struct buf *out)
{
    buf_adds(out, "#compdef tenax\n"
                  "# zsh completion for tenax, made by `tenax completion zsh`\n"
                  "_tenax()\n"
                  "{\n"
                  "    local context state state_descr line curcontext=$curcontext\n"
                  "    typeset -A opt_args\n"
                  "    _arguments -s -S -C \\\n");
    zsh_options(u, /*command=*/NULL, out);
    buf_adds(out, "        '1: :->command' \\\n"
                  "        '*:: :->rest' && return\n"
                  "    case $state in\n"
                  "    command)\n"
                  "        local -a commands=(\n");
    for (size_t i = 0; i < u->count; i++) {
        buf_addf(out, "            '%s:", u->commands[i]->name);
        add_quoted(out, u->commands[i]->summary, ":", false);
        buf_adds(out, "'\n");
    }
    buf_adds(out, "        )\n"
                  "        _describe command commands\n"
                  "        ;;\n"
                  "    rest)\n"
                  "        case $words[1] in\n");
    for (size_t i = 0; i < u->count; i++) {
        const struct usage_command *command = u->commands[i];

        buf_addf(out, "        %s)\n            _arguments -s -S \\\n", command->name);
        zsh_options(u, command, out);
        if (command->words)
            buf_addf(out, "        '1: :(%s)'\n", command->words);
        else
            buf_adds(out, "        '*: :'\n");
        buf_adds(out, "            ;;\n");
    }
    buf_adds(out, "        *)\n"
                  "            _files\n"
                  "            ;;\n"
                  "        esac\n"
                  "        ;;\n"
                  "    esac\n"
                  "}\n"
                  "if [[ $funcstack[1] == _tenax ]]; then\n"
                  "    _tenax \"$@\"\n" /* autoloaded from $fpath */
                  "else\n"
                  "    compdef _tenax tenax\n" /* sourced */
                  "fi\n");
}

/* An option is offered everywhere except after the commands that do not take it. */
static void fish_condition(const struct usage *u, const struct option *o, struct buf *out)
{
    bool all = true;

    for (size_t i = 0; i < u->count; i++)
        all = all && usage_takes(u->commands[i], o->id);
    if (all)
        return;
    buf_adds(out, " -n 'not __tenax_in");
    for (size_t i = 0; i < u->count; i++)
        if (!usage_takes(u->commands[i], o->id))
            buf_addf(out, " %s", u->commands[i]->name);
    buf_addc(out, '\'');
}

static void fish_value(const struct usage *u, const struct option *o, struct buf *out)
{
    const char *words = words_of(u, o);

    if (words && (o->flags & OPTION_LIST)) {
        struct str rest = str_of(words);
        struct str word;

        buf_adds(out, " -x -a '(__fish_complete_list , \"printf %s\\\\\\\\n");
        while (str_cut(&rest, ' ', &word))
            buf_addf(out, " %.*s", STR_ARG(word));
        buf_adds(out, "\")'");
    } else if (words) {
        buf_adds(out, " -x -a '");
        add_quoted(out, words, "", true);
        buf_addc(out, '\'');
    } else if (is_completed_as(o, "@dir")) {
        buf_adds(out, " -x -a '(__fish_complete_directories)'");
    } else if (is_completed_as(o, "@file")) {
        buf_adds(out, " -r -F");
    } else {
        buf_adds(out, " -x");
    }
}

static void fish_option(const struct usage *u, const struct option *o, struct buf *out)
{
    buf_adds(out, "complete -c tenax");
    fish_condition(u, o, out);
    if (o->letter)
        buf_addf(out, " -s %c", o->letter);
    buf_addf(out, " -l %s", o->name);
    if (takes_next_word(o)) /* fish has no notion of a value that only comes with "=" */
        fish_value(u, o, out);
    buf_adds(out, " -d '");
    add_quoted(out, o->help, "", true);
    buf_adds(out, "'\n");
}

/* fish cannot tell the value of an option from a command, so the script does. */
static void fish_functions(struct buf *out)
{
    buf_adds(out, "# fish completion for tenax, made by `tenax completion fish`\n"
                  "function __tenax_command --description 'the first word that is not an option'\n"
                  "    set -l skip no\n"
                  "    for word in (commandline -opc)[2..-1]\n"
                  "        if test $skip = yes\n"
                  "            set skip no\n"
                  "            continue\n"
                  "        end\n"
                  "        switch $word\n"
                  "            case");
    for (size_t i = 0; i < OPT_COUNT; i++) {
        const struct option *o = &option_table()[i];

        if (takes_next_word(o) && o->letter)
            buf_addf(out, " -%c", o->letter);
        if (takes_next_word(o))
            buf_addf(out, " --%s", o->name);
    }
    buf_adds(out,
             "\n"
             "                set skip yes\n"
             "            case '-*'\n"
             "            case '*'\n"
             "                printf '%s\\n' $word\n"
             "                return\n"
             "        end\n"
             "    end\n"
             "end\n"
             "function __tenax_in --description 'is it one of these? without any: is there none?'\n"
             "    set -l command (__tenax_command)\n"
             "    if test (count $argv) = 0\n"
             "        test (count $command) = 0\n"
             "        return\n"
             "    end\n"
             "    contains -- \"$command\" $argv\n"
             "end\n");
}

static void fish_script(const struct usage *u, struct buf *out)
{
    fish_functions(out);
    buf_adds(out, "complete -c tenax -f\n");
    for (size_t i = 0; i < u->count; i++) {
        const struct usage_command *command = u->commands[i];

        buf_addf(out, "complete -c tenax -n __tenax_in -a %s -d '", command->name);
        add_quoted(out, command->summary, "", true);
        buf_adds(out, "'\n");
        if (command->words)
            buf_addf(out,
                     "complete -c tenax -n '__tenax_in %s; and not __fish_seen_subcommand_from %s' "
                     "-a '%s'\n",
                     command->name, command->words, command->words);
    }
    for (size_t i = 0; i < OPT_COUNT; i++)
        if (is_shown(&option_table()[i], NULL))
            fish_option(u, &option_table()[i], out);
}

int usage_completion(const struct usage *u, struct str shell, struct buf *out, struct err *err)
{
    if (str_is(shell, "bash"))
        bash_script(u, out);
    else if (str_is(shell, "zsh"))
        zsh_script(u, out);
    else if (str_is(shell, "fish"))
        fish_script(u, out);
    else
        return err_set(err, ERR_BAD_INPUT, "no completion for '%.*s'; there is bash, zsh and fish",
                       STR_ARG(str_clip(shell, 40)));
    return 0;
}
