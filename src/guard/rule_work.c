/*
 * rule_work: a table of commands that only create, move and remove files, with their allowed
 * options. Used where no sandbox can show what a command changes. Pure; any thread.
 */
#include <string.h>

#include "base/strv.h"
#include "base/words.h"
#include "guard/rule_state.h"
#include "shell/shell_kind.h"
#include "shell/shell_runner.h"
#include "shell/shell_sed.h"

/* cp has no -r: files in a copied folder (.npmrc, .envrc) would not be named. */
static const struct worker {
    const char *name;
    const char *letters; /* allowed options */
    const char *longs;
    bool copies; /* the last path is the destination */
    bool globs;  /* a pattern is allowed in the last component */
} workers[] = {
    {"mkdir", "pv", "--parents --verbose", false, false},
    {"touch", "amc", "--no-create", false, false},
    {"rm", "rRfvdI", "--recursive --force --verbose --dir", false, true},
    {"rmdir", "v", "--verbose --ignore-fail-on-non-empty", false, false},
    {"mv", "fnvu", "--force --no-clobber --verbose --update", true, false},
    {"cp", "fnvup", "--force --no-clobber --verbose --update --preserve", true, false},
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

/* Whether a pattern can match neither names that begin with a dot nor other folders. */
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
        if (options && str_is(w->text, "--"))
            options = false;
        else if (options && shell_word_is_option(w) &&
                 (w->globs || !worker_takes_option(k, w->text)))
            return false;
        else if (options && shell_word_is_option(w))
            continue;
        else if (!w->globs || (k->globs && !w->quoted && is_tame_glob(w->raw)))
            strv_add(&paths, w->text);
        else
            return false;
    }
    if (paths.len < (k->copies ? 2 : 1))
        return false;
    strv_add_all(ret, &paths);
    /* The last may be a folder, which may have a link to elsewhere. */
    for (size_t i = 0; k->copies && i + 1 < paths.len; i++) {
        struct str path = str_of(paths.ptr[i]);

        while (path.len && path.ptr[path.len - 1] == '/')
            path.len--;
        strv_addf(ret, "%s/%.*s", paths.ptr[paths.len - 1], STR_ARG(shell_base_name(path)));
    }
    return true;
}

static bool part_works(const struct shell_part *part, struct strv *ret)
{
    struct shell_part p;
    size_t before = ret->len;
    bool in_place;
    bool fed;
    struct str name;

    if (!shell_part_unwrap(part, &p, &fed) || fed)
        return false;
    name = shell_word_at(&p, 0)->text;
    if (str_is(name, "sed"))
        return shell_sed_take(&p, &in_place, ret) && in_place && ret->len > before;
    for (size_t i = 0; i < ARRAY_LEN(workers); i++) {
        if (str_is(name, workers[i].name))
            return worker_takes(&workers[i], &p, ret);
    }
    return false;
}

bool rule_command_is_file_work(const struct rule_command *c, struct strv *ret_paths)
{
    CLEANUP(strv_release) struct strv paths = STRV_INIT;
    bool works = false;

    if (!c->shell.certain || c->shell.writes.len)
        return false;
    VEC_EACH(&c->shell.parts, p) {
        if (part_works(p, &paths))
            works = true;
        else if (!shell_part_is_read_only(p) || shell_part_is(p, "cd"))
            return false; /* after a cd the paths would be others */
    }
    if (works)
        strv_add_all(ret_paths, &paths);
    return works;
}
