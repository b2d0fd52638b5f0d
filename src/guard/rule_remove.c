/*
 * rule_remove: commands that would remove what no user means to lose. Whether a cd succeeds is not
 * known, so paths are taken to begin in every folder that the text goes to. Pure; any thread.
 */
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/strv.h"
#include "base/words.h"
#include "guard/rule_state.h"
#include "shell/shell_brace.h"
#include "shell/shell_runner.h"

#define MAX_FOLDERS 32
#define MAX_BRACES 64

struct loss {
    const char *cwd, *home;
    struct strv dirs; /* where a path may begin: cwd and what a cd leads to */
};

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

/* "/", "/usr", a home, and the folders above the working folder. */
static bool text_is_critical(const struct loss *l, struct str text)
{
    if (text.len > 1 && text.ptr[0] == '~' && text.ptr[1] != '/')
        return str_chr(text, '/') + 1 >= text.len; /* ~root: another user's home */
    for (size_t i = 0; i < l->dirs.len; i++) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(SHELL_MAX_TEXT);

        path_of(l, l->dirs.ptr[i], text, &path);
        if (!path.len || memrchr(path.ptr, '/', path.len) == path.ptr ||
            is_above(buf_str(&path), str_of(l->home)) || is_above(buf_str(&path), str_of(l->cwd)))
            return true;
    }
    return false;
}

/* All in "$DIR" is all of the disk when DIR is unset. */
static bool word_is_critical(const struct loss *l, const struct shell_word *w)
{
    CLEANUP(strv_release) struct strv words = STRV_INIT;
    struct str raw = str_from(w->raw, str_starts(w->raw, STR("\"")));

    if (w->expands &&
        (str_starts(raw, STR("$")) || str_starts(raw, STR("`")) || text_is_critical(l, w->text)))
        return true;
    if (!w->globs)
        return text_is_critical(l, w->text);
    if (!shell_braces(w->text, MAX_BRACES, &words)) /* "{/,x}" is both */
        return true;
    for (size_t i = 0; i < words.len; i++) {
        if (text_is_critical(l, str_of(words.ptr[i])))
            return true;
    }
    return false;
}

static bool part_removes(const struct loss *l, const struct shell_part *p)
{
    bool options = true;

    if (!words_have(shell_part_program(p), "rm rmdir"))
        return false;
    for (size_t i = p->first + 1; i < p->words.len; i++) {
        const struct shell_word *w = &p->words.ptr[i];

        if (options && str_is(w->text, "--"))
            options = false;
        else if (!(options && shell_word_is_option(w)) && word_is_critical(l, w))
            return true;
    }
    return false;
}

/* find PATH -delete. Of the working folder it is all only when nothing is asked of a file. */
static bool part_finds(const struct loss *l, const struct shell_part *p)
{
    bool deletes = false, asks = false, critical = false, whole = false;

    if (!str_is(shell_part_program(p), "find"))
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

/* echo / | xargs rm -r */
static bool feeds_critical(const struct loss *l, const struct rule_command *c)
{
    bool fed = false;

    VEC_EACH(&c->found, f) {
        fed |= str_is(shell_part_program(&f->part), "xargs");
    }
    VEC_EACH(&c->found, f) {
        for (size_t i = f->part.first + 1; fed && i < f->part.words.len; i++) {
            if (words_have(shell_part_program(&f->part), "echo printf") &&
                word_is_critical(l, &f->part.words.ptr[i]))
                return true;
        }
    }
    return false;
}

bool rule_command_is_critical(const struct rule_command *c, const char *cwd, const char *home)
{
    struct loss l = {.cwd = cwd, .home = home, .dirs = STRV_INIT};
    bool removes = false;
    bool has = false;

    strv_adds(&l.dirs, cwd);
    VEC_EACH(&c->found, f) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(SHELL_MAX_TEXT);
        struct str to = shell_word_at(&f->part, 1)->text;

        if (!words_have(shell_part_program(&f->part), "cd pushd") || l.dirs.len >= MAX_FOLDERS)
            continue;
        path_of(&l, l.dirs.ptr[l.dirs.len - 1], to.len ? to : STR("~"), &path);
        strv_adds(&l.dirs, path.len ? buf_cstr(&path) : "/");
    }
    VEC_EACH(&c->found, f) {
        removes |= words_have(shell_part_program(&f->part), "rm rmdir");
        has |= part_removes(&l, &f->part) || part_finds(&l, &f->part);
    }
    has |= removes && feeds_critical(&l, c);
    strv_release(&l.dirs);
    return has;
}
