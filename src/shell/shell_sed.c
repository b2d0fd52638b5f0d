/*
 * shell_sed: a sed command's options, script and files. The scripts that are understood are
 * commands that neither write nor run anything. Pure; any thread.
 */
#include "shell/shell_sed.h"

#include <string.h>

#include "base/strv.h"
#include "base/words.h"
#include "shell/shell.h"

/* Every "[" in a regular expression has its "]" there, too. To sed a delimiter between the two
 * is a letter: in /[/s]/e the address is [/s]. */
static bool sed_brackets_are_closed(struct str regex)
{
    for (size_t i = 0; i < regex.len; i++) {
        if (regex.ptr[i] == '\\') {
            i++;
            continue;
        }
        if (regex.ptr[i] != '[')
            continue;
        i++;
        i += i < regex.len && regex.ptr[i] == '^';
        i += i < regex.len && regex.ptr[i] == ']';
        for (; i < regex.len && regex.ptr[i] != ']'; i++) {
            if (regex.ptr[i] != '[')
                continue;
            /* [:alpha:]; [.x.] and [=x=] are left alone. */
            if (i + 1 >= regex.len || regex.ptr[i + 1] != ':')
                return false;
            i += 2;
            while (i < regex.len && str_is_alnum(regex.ptr[i]))
                i++;
            if (!str_starts(str_from(regex, i), STR(":]")))
                return false;
            i++;
        }
        if (i >= regex.len)
            return false;
    }
    return true;
}

/* Goes past a regular expression or a replacement and its delimiter; false when there is none. */
static bool sed_skip(struct str *script, char delimiter)
{
    for (size_t i = 0; i < script->len; i++) {
        if (script->ptr[i] == '\n')
            return false;
        if (script->ptr[i] == '\\') {
            i++;
        } else if (script->ptr[i] == delimiter) {
            struct str part = str_first(*script, i);

            *script = str_from(*script, i + 1);
            return sed_brackets_are_closed(part);
        }
    }
    return false;
}

static bool sed_skip_address(struct str *script)
{
    size_t n = 0;

    if (str_starts(*script, STR("/"))) {
        *script = str_from(*script, 1);
        return sed_skip(script, '/');
    }
    while (n < script->len &&
           ((script->ptr[n] >= '0' && script->ptr[n] <= '9') || (n == 0 && script->ptr[n] == '$')))
        n++;
    *script = str_from(*script, n);
    return true;
}

/* Goes past one command: [address][,address] then p, d, q or s/…/…/flags. False for any other. */
static bool sed_skip_command(struct str *script)
{
    char delimiter;

    if (!sed_skip_address(script))
        return false;
    if (str_starts(*script, STR(","))) {
        *script = str_from(*script, 1);
        if (!sed_skip_address(script))
            return false;
    }
    if (script->len && strchr("pdq", script->ptr[0])) {
        *script = str_from(*script, 1);
        return true;
    }
    if (script->len < 4 || script->ptr[0] != 's' || !strchr("/|,:#@%!~+", script->ptr[1]))
        return false;
    delimiter = script->ptr[1];
    *script = str_from(*script, 2);
    for (int part = 0; part < 2; part++) { /* the pattern, what takes its place */
        if (!sed_skip(script, delimiter))
            return false;
    }
    while (script->len && strchr("gpiI0123456789", script->ptr[0]))
        *script = str_from(*script, 1);
    return true;
}

/* Such commands with ";" or newlines between. Nothing that writes or runs. */
static bool sed_script_is_simple(struct str script)
{
    if (str_chr(script, '\0') < script.len)
        return false;
    for (;;) {
        script = str_trim(script);
        if (!sed_skip_command(&script))
            return false;
        while (script.len && strchr(" \t", script.ptr[0]))
            script = str_from(script, 1);
        if (!script.len)
            return true;
        if (script.ptr[0] != ';' && script.ptr[0] != '\n')
            return false;
        script = str_from(script, 1);
    }
}

/* Braces and patterns would give sed another script than the one looked at here. */
static bool sed_script_is_written_out(const struct shell_word *w)
{
    return !w->expands && !w->globs && sed_script_is_simple(w->text);
}

bool shell_sed_take(const struct shell_part *p, bool *ret_in_place, struct strv *ret_files)
{
    bool has_script = false;
    bool options = true;

    *ret_in_place = false;
    for (size_t i = 1; p->first + i < p->words.len; i++) {
        const struct shell_word *w = shell_word_at(p, i);

        if (w->expands)
            return false;
        if (options && str_is(w->text, "--")) {
            options = false;
        } else if (options && shell_word_is_option(w)) {
            if (w->globs)
                return false;
            if (str_is(w->text, "-e") || str_is(w->text, "--expression")) {
                i++;
                if (!sed_script_is_written_out(shell_word_at(p, i)))
                    return false;
                has_script = true;
            } else if (str_is_word_of(w->text, "-i -i.bak -i.orig --in-place")) {
                /* Another suffix may make the copy a file that programs read: sed -irc x .bash */
                *ret_in_place = true;
            } else if (!words_have(w->text, "-n -E -r -s -nE -En -nr -rn -u -z --quiet --silent "
                                            "--regexp-extended --separate --posix")) {
                return false;
            }
        } else if (!has_script) {
            if (!sed_script_is_written_out(w))
                return false;
            has_script = true;
        } else {
            if (shell_word_could_be_option(w))
                return false;
            strv_add(ret_files, w->text);
        }
    }
    return has_script;
}
