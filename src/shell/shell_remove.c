/*
 * shell_remove: what a removal must not reach. Of a cd nobody knows whether it succeeds, so paths
 * are taken to begin in every folder that the text goes to. Pure; any thread.
 */
#include "shell/shell_remove.h"

#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/strv.h"
#include "base/words.h"
#include "shell/shell.h"
#include "shell/shell_brace.h"
#include "shell/shell_kind.h"
#include "shell/shell_runner.h"

#define MAX_NESTING 4 /* of commands inside words */
#define MAX_FOLDERS 32
#define MAX_BRACES 64   /* words that one is expanded to */
#define MAX_LOOKS 50000 /* at values of variables; what has more counts */

struct loss {
    const char *cwd, *home;
    struct strv dirs; /* where a path may begin: cwd and what a cd leads to */
    size_t looks;
};

static bool loss_in(struct loss *l, const struct shell *s, unsigned depth);

/* --- paths ---------------------------------------------------------------------------------- */

static bool is_above(struct str above, struct str path)
{
    return str_starts(path, above) && (path.len == above.len || path.ptr[above.len] == '/');
}

/* As it is seen from dir, without a last "*": all in a folder is the folder. */
static void path_of(const struct loss *l, const char *dir, struct str text, struct buf *ret)
{
    if (str_is(text, "*") || str_is(text, "./*") || str_is(text, ".*"))
        text = STR(".");
    if (str_ends(text, STR("/*")))
        text = str_first(text, text.len - 2);
    if (str_is(text, "~") || str_starts(text, STR("~/"))) {
        path_walk(ret, str_of(l->home));
        text = str_from(text, 1);
    } else if (text.len && text.ptr[0] != '/') {
        path_walk(ret, str_of(dir));
    }
    path_walk(ret, text);
}

/* "/", "/usr", a home, and what is above the working folder. */
static bool path_is_critical(const struct loss *l, struct str path)
{
    if (!path.len || memrchr(path.ptr, '/', path.len) == path.ptr)
        return true;
    return is_above(path, str_of(l->home)) || is_above(path, str_of(l->cwd));
}

static bool text_is_critical(const struct loss *l, struct str text)
{
    if (text.len > 1 && text.ptr[0] == '~' && text.ptr[1] != '/')
        return str_chr(text, '/') + 1 >= text.len; /* ~root: somebody's home */
    for (size_t i = 0; i < l->dirs.len; i++) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(SHELL_MAX_TEXT);

        path_of(l, l->dirs.ptr[i], text, &path);
        if (path_is_critical(l, buf_str(&path)))
            return true;
    }
    return false;
}

/* "{/,x}" is both. What has more of them than could be looked at counts. */
static bool braces_are_critical(const struct loss *l, struct str text)
{
    CLEANUP(strv_release) struct strv words = STRV_INIT;

    if (!shell_braces(text, MAX_BRACES, &words))
        return true;
    for (size_t i = 0; i < words.len; i++) {
        if (text_is_critical(l, str_of(words.ptr[i])))
            return true;
    }
    return false;
}

static bool word_is_critical(const struct loss *l, const struct shell_word *w)
{
    /* All in "$DIR" is all of the disk when DIR is unset. */
    if (w->expands && (!w->text.len || w->text.ptr[0] == '/'))
        return true;
    return w->globs ? braces_are_critical(l, w->text) : text_is_critical(l, w->text);
}

/* The name behind "$x" or "${x}" that a word starts with, and what follows it as written. */
static struct str leading_variable(struct str raw, struct str *ret_rest)
{
    bool braced;
    size_t n = 0;

    if (str_starts(raw, STR("\"")))
        raw = str_from(raw, 1);
    if (!str_starts(raw, STR("$")))
        return STR("");
    braced = str_starts(raw, STR("${"));
    raw = str_from(raw, 1 + braced);
    while (n < raw.len && (str_is_alnum(raw.ptr[n]) || raw.ptr[n] == '_'))
        n++;
    if (braced && (n == raw.len || raw.ptr[n] != '}'))
        return STR("");
    *ret_rest = str_from(raw, n + braced);
    return str_first(raw, n);
}

/* d=/; (d=tmp); rm -rf "$d"/x: with each value that the text gives to it. */
static bool values_are_critical(struct loss *l, const struct shell *s, const struct shell_word *w)
{
    struct str rest = {0};
    struct str name = leading_variable(w->raw, &rest);

    if (!name.len || str_chr(rest, '$') < rest.len || str_chr(rest, '`') < rest.len)
        return false;
    l->looks += s->variables.len;
    if (l->looks > MAX_LOOKS)
        return true;
    VEC_EACH(&s->variables, v) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(SHELL_MAX_TEXT);

        if (!str_eq(v->name, name) || !v->value.len)
            continue;
        buf_add(&text, v->value);
        for (size_t i = 0; i < rest.len; i++) {
            if (rest.ptr[i] != '"')
                buf_addc(&text, rest.ptr[i]);
        }
        if (text_is_critical(l, buf_str(&text)))
            return true;
    }
    return false;
}

/* --- parts ---------------------------------------------------------------------------------- */

static bool is_removal(struct str word)
{
    struct str name = shell_base_name(word);

    return str_is(name, "rm") || str_is(name, "rmdir");
}

static bool part_names_removal(const struct shell_part *p)
{
    for (size_t i = p->first; i < p->words.len; i++) {
        if (is_removal(p->words.ptr[i].text))
            return true;
    }
    return false;
}

/* rm, also behind sudo, env, xargs and the like. */
static bool part_removes(struct loss *l, const struct shell *s, const struct shell_part *p)
{
    bool runs = shell_part_is_runner(p);
    bool removes = false;

    for (size_t i = p->first; i < p->words.len; i++) {
        const struct shell_word *w = &p->words.ptr[i];

        if (removes && !shell_word_is_option(w) &&
            (word_is_critical(l, w) || (w->expands && values_are_critical(l, s, w))))
            return true;
        removes |= (i == p->first || runs) && is_removal(w->text);
    }
    return false;
}

/* echo / | xargs rm -rf: what the others say is what goes. */
static bool fed_is_critical(const struct loss *l, const struct shell *s)
{
    VEC_EACH(&s->parts, p) {
        if (!words_have(shell_part_program(p), "echo printf yes"))
            continue;
        for (size_t i = p->first + 1; i < p->words.len; i++) {
            if (!shell_word_is_option(&p->words.ptr[i]) && word_is_critical(l, &p->words.ptr[i]))
                return true;
        }
    }
    return false;
}

/* find PATH -delete. Of the working folder it is all only when nothing is asked of a file. */
static bool part_finds(const struct loss *l, const struct shell_part *p)
{
    bool deletes = false, asks = false, critical = false, whole = false;

    if (!shell_part_is(p, "find"))
        return false;
    for (size_t i = p->first + 1; i < p->words.len; i++) {
        const struct shell_word *w = &p->words.ptr[i];

        if (str_is(w->text, "-delete"))
            deletes = true;
        else if (words_have(w->text, "-name -iname -path -type -newer -mtime -mmin -size -empty"
                                     " -regex -perm -user"))
            asks = true;
        else if (!deletes && !asks && !shell_word_is_option(w)) {
            CLEANUP(buf_release) struct buf path = BUF_INIT(SHELL_MAX_TEXT);

            path_of(l, l->cwd, w->text, &path);
            whole |= str_eq(buf_str(&path), str_of(l->cwd));
            critical |= !str_eq(buf_str(&path), str_of(l->cwd)) && word_is_critical(l, w);
        }
    }
    return deletes && (critical || (whole && !asks));
}

/* --- commands inside words ------------------------------------------------------------------ */

static bool text_has_loss(struct loss *l, struct str text, unsigned depth)
{
    struct shell inside;
    bool has;

    if (depth >= MAX_NESTING)
        return false;
    shell_split(&inside, text);
    has = loss_in(l, &inside, depth + 1);
    shell_release(&inside);
    return has;
}

static bool part_runs_loss(struct loss *l, const struct shell_part *p, unsigned depth)
{
    for (size_t i = p->first + 1; i < p->words.len; i++) {
        struct str text = p->words.ptr[i].text;

        if (str_chr(text, ' ') < text.len && text_has_loss(l, text, depth))
            return true;
    }
    return false;
}

static void note_folder(struct loss *l, const struct shell_part *p)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(SHELL_MAX_TEXT);
    struct str to = shell_word_at(p, 1)->text;

    if (!words_have(shell_part_program(p), "cd pushd") || l->dirs.len >= MAX_FOLDERS)
        return;
    path_of(l, l->dirs.ptr[l->dirs.len - 1], to.len ? to : STR("~"), &path);
    strv_adds(&l->dirs, path.len ? buf_cstr(&path) : "/");
}

static bool loss_in(struct loss *l, const struct shell *s, unsigned depth)
{
    bool shells = false;

    VEC_EACH(&s->parts, p) {
        struct shell_part bare;
        bool fed = false;
        bool removes;
        bool runs;

        note_folder(l, p);
        shells |= shell_part_is_shell(p);
        removes = part_names_removal(p);
        runs = shell_part_is_runner(p);
        if (!removes && !runs && !shell_part_is(p, "find"))
            continue; /* as mostly */
        if (shell_part_is_read_only(p))
            continue; /* find . -name rm */
        if (removes && part_removes(l, s, p))
            return true;
        if (shell_part_unwrap(p, &bare, &fed) && fed && removes && fed_is_critical(l, s))
            return true;
        if (part_finds(l, p) || (runs && part_runs_loss(l, p, depth)))
            return true;
    }
    for (size_t i = 0; shells && i < s->given.len; i++) {
        if (text_has_loss(l, s->given.ptr[i].text, depth))
            return true;
    }
    return false;
}

bool shell_removes_critical(const struct shell *s, const char *cwd, const char *home)
{
    struct loss l = {.cwd = cwd, .home = home, .dirs = STRV_INIT};
    bool has;

    strv_adds(&l.dirs, cwd);
    has = loss_in(&l, s, 0);
    strv_release(&l.dirs);
    return has;
}
