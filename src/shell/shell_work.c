/*
 * shell_work: a table of commands that only make, move and remove files, with the options they may
 * have; and which words of such commands name what they change. Pure; any thread.
 */
#include "shell/shell_work.h"

#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/strv.h"
#include "base/words.h"
#include "shell/shell.h"
#include "shell/shell_kind.h"
#include "shell/shell_runner.h"
#include "shell/shell_sed.h"

struct worker {
    const char *name;
    const char *letters; /* options that may be there */
    const char *longs;
    bool copies; /* the last path is where the others go */
    bool globs;  /* a pattern in the last part of a path is fine */
};

static const struct worker workers[] = {
    {"mkdir", "pv", "--parents --verbose", false, false},
    {"touch", "amc", "--no-create", false, false},
    {"rm", "rRfvdI", "--recursive --force --verbose --dir", false, true},
    {"rmdir", "v", "--verbose --ignore-fail-on-non-empty", false, false},
    {"mv", "fnvu", "--force --no-clobber --verbose --update", true, false},
    {"cp", "rRafnvup", "--recursive --archive --force --no-clobber --verbose --update --preserve",
     true, false},
};

static bool worker_takes_option(const struct worker *k, struct str text)
{
    if (str_starts(text, STR("--")))
        return str_is_word_of(text, k->longs);
    for (size_t i = 1; i < text.len; i++) {
        if (!text.ptr[i] || !strchr(k->letters, text.ptr[i]))
            return false;
    }
    return true;
}

/* A pattern is fine where it cannot reach what begins with a dot, or another folder. */
static bool is_tame_glob(struct str raw)
{
    size_t name = raw.len;

    while (name && raw.ptr[name - 1] != '/')
        name--;
    for (size_t i = 0; i < raw.len; i++) {
        if (raw.ptr[i] == '{' || (i < name && strchr("*?[", raw.ptr[i])))
            return false;
    }
    return name < raw.len && raw.ptr[name] != '.' && raw.ptr[name] != '[';
}

static bool worker_takes(const struct worker *k, const struct shell_part *p, struct strv *ret)
{
    CLEANUP(strv_release) struct strv paths = STRV_INIT;
    bool options = true;

    for (size_t i = 1; p->first + i < p->words.len; i++) {
        const struct shell_word *w = shell_word_at(p, i);

        if (w->expands || !w->text.len)
            return false;
        if (w->globs && (!k->globs || w->quoted || !is_tame_glob(w->raw)))
            return false;
        if (options && str_is(w->text, "--"))
            options = false;
        else if (options && shell_word_is_option(w) && !worker_takes_option(k, w->text))
            return false;
        else if (!options || !shell_word_is_option(w))
            strv_add(&paths, w->text);
    }
    if (paths.len < (k->copies ? 2 : 1))
        return false;
    strv_add_all(ret, &paths);
    /* The last may be a folder, and what it holds a link to elsewhere. */
    for (size_t i = 0; k->copies && i + 1 < paths.len; i++) {
        struct str path = str_of(paths.ptr[i]);

        while (path.len && path.ptr[path.len - 1] == '/')
            path.len--;
        strv_addf(ret, "%s/%.*s", paths.ptr[paths.len - 1], STR_ARG(shell_base_name(path)));
    }
    return true;
}

static bool part_is_file_work(const struct shell_part *part, struct strv *ret)
{
    struct shell_part p;
    bool in_place;
    bool fed;
    struct str name;

    if (!shell_part_unwrap(part, &p, &fed) || fed)
        return false;
    name = shell_word_at(&p, 0)->text;
    if (str_is(name, "sed")) {
        size_t before = ret->len;

        return shell_sed_take(&p, &in_place, ret) && in_place && ret->len > before;
    }
    for (size_t i = 0; i < ARRAY_LEN(workers); i++) {
        if (str_is(name, workers[i].name))
            return worker_takes(&workers[i], &p, ret);
    }
    return false;
}

bool shell_is_file_work(const struct shell *s, struct strv *ret_paths)
{
    CLEANUP(strv_release) struct strv paths = STRV_INIT;
    bool works = false;

    if (!s->certain || s->writes.len)
        return false;
    VEC_EACH(&s->parts, p) {
        if (part_is_file_work(p, &paths))
            works = true;
        else if (!shell_part_is_read_only(p) || shell_part_is(p, "cd"))
            return false; /* behind a cd the paths would mean others */
    }
    if (works)
        strv_add_all(ret_paths, &paths);
    return works;
}

/* --- names that are not written out --------------------------------------------------------- */

/* Every word of these may be a file that they change. */
#define CHANGERS                                                                                   \
    "tee touch mkdir rmdir rm mv truncate shred unlink link mkfifo mknod chmod chown chgrp patch"
/* The last word is where the others go, unless an option says otherwise. */
#define COPIERS "cp ln install rsync scp"

static bool is_hidden(const struct shell_word *w)
{
    return w->unknown || w->computed;
}

/* From this word on all are files; sed "s/a/$b/" names none with its first. */
static size_t sed_files_from(const struct shell_part *p)
{
    for (size_t i = 1; p->first + i < p->words.len; i++) {
        if (!shell_word_is_option(shell_word_at(p, i)))
            return i + 1;
        if (words_have(shell_word_at(p, i)->text, "-e --expression -f --file"))
            return i + 2;
    }
    return p->words.len;
}

static bool sed_changes(const struct shell_part *p)
{
    for (size_t i = 1; p->first + i < p->words.len; i++) {
        struct str text = shell_word_at(p, i)->text;

        if (str_starts(text, STR("--in-place")) ||
            (shell_word_is_option(shell_word_at(p, i)) && !str_starts(text, STR("--")) &&
             str_chr(text, 'i') < text.len))
            return true;
    }
    return false;
}

/* Whether the word with this number may name a file that the part changes. */
static bool changes_by(const struct shell_part *p, size_t i)
{
    const struct shell_word *w = shell_word_at(p, i);
    struct str before = shell_word_at(p, i - 1)->text;
    struct str name = shell_part_program(p);

    if (words_have(name, COPIERS)) /* "./$a" is no option */
        return p->first + i + 1 == p->words.len || !w->text.len || w->text.ptr[0] == '-' ||
               words_have(before, "-t --target-directory");
    if (str_is(name, "dd")) /* if="$a" */
        return str_chr(w->text, '=') == w->text.len || str_starts(w->text, STR("of="));
    if (str_is(name, "sort"))
        return str_starts(w->text, STR("-o")) || str_starts(w->text, STR("--output")) ||
               words_have(before, "-o --output");
    if (str_is(name, "sed"))
        return sed_changes(p) && i >= sed_files_from(p);
    return words_have(name, CHANGERS);
}

static bool part_hides_writes(const struct shell_part *part)
{
    struct shell_part p;
    bool fed;

    if (part->defined)
        return false; /* what the function does counts */
    shell_part_unwrap(part, &p, &fed);
    for (size_t i = 1; p.first + i < p.words.len; i++) {
        if (is_hidden(shell_word_at(&p, i)) && changes_by(&p, i))
            return true;
    }
    return false;
}

bool shell_hides_writes(const struct shell *s)
{
    VEC_EACH(&s->parts, p) {
        if (part_hides_writes(p))
            return true;
    }
    return false;
}
