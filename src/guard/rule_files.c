/*
 * rule_files: the words of a command that may be names of files, for rules that forbid these. A
 * word counts wherever it stands, also in a folder that the command goes to, inside of an option
 * and in a text that a shell is given. Pure; any thread.
 */
#include <string.h>

#include "base/arena.h"
#include "base/words.h"
#include "guard/rule_state.h"
#include "shell/shell.h"
#include "shell/shell_kind.h"
#include "shell/shell_runner.h"

#define MAX_PLACES 100

/* Where what is named may lie, besides the folder that the command starts in. */
struct places {
    struct arena *arena;
    struct rule_files *files;
    size_t named; /* in words; what is a filter is none of these */
    bool quotes;  /* the word that is added is written out */
    bool changes; /* the command may do more than read */
    struct str dirs[MAX_PLACES];
    size_t dirs_len;
};

/* To the system a name ends at a NUL. */
static struct str before_nul(struct str text)
{
    return str_first(text, str_chr(text, '\0'));
}

static void places_add_one(struct places *at, struct str text, bool writes)
{
    vec_push(at->files,
             ((struct rule_file){before_nul(text), writes, /*filters=*/false, at->quotes}));
    at->named++;
}

static struct str join(struct arena *arena, struct str dir, struct str name)
{
    char *path;

    name = before_nul(name);
    path = arena_alloc(arena, dir.len + 1 + name.len);
    memcpy(path, dir.ptr, dir.len);
    path[dir.len] = '/';
    memcpy(path + dir.len + 1, name.ptr, name.len);
    return str_make(path, dir.len + 1 + name.len);
}

static void places_add(struct places *at, struct str text, bool writes)
{
    size_t colon = str_chr(text, ':');

    if (!text.len || at->named >= SHELL_MAX_PARTS)
        return;
    places_add_one(at, text, writes);
    for (size_t i = 0; i < at->dirs_len && text.ptr[0] != '/' && text.ptr[0] != '~'; i++)
        places_add_one(at, join(at->arena, at->dirs[i], text), writes);
    if (colon + 1 < text.len) /* git show HEAD:file */
        places_add_one(at, str_from(text, colon + 1), /*writes=*/false);
}

static void places_find(struct places *at, const struct shell *s)
{
    VEC_EACH(&s->parts, p) {
        const struct shell_word *to = shell_word_at(p, 1);

        if (words_have(shell_part_program(p), "cd pushd") && to->text.len &&
            at->dirs_len < MAX_PLACES)
            at->dirs[at->dirs_len++] = arena_str(at->arena, before_nul(to->text));
    }
}

/* Without it the search would read more, and that needs no other leave. Only one that cannot mean a
 * name with a dot in front, as a pattern of the shell. */
static bool is_filter(const struct shell_part *p, const struct shell_word *w)
{
    size_t equals = str_chr(w->text, '=');

    return !w->globs && !w->expands && str_starts(str_from(w->text, equals), STR("=*")) &&
           words_have(str_first(w->text, equals), "--include --exclude --exclude-dir --glob") &&
           words_have(shell_part_program(p), "grep egrep fgrep rg");
}

/* Words that are paths as a whole are added as they are; these are in one: --output=path, -opath,
 * of=path. */
static struct str word_value(struct str text)
{
    size_t equals = str_chr(text, '=');
    struct str glued;

    if (equals < text.len)
        return str_from(text, equals + 1);
    if (!str_starts(text, STR("-")) || str_starts(text, STR("--")))
        return STR("");
    glued = str_from(text, 2);
    for (size_t i = 0; i < glued.len; i++) {
        if (glued.ptr[i] && strchr("./~", glued.ptr[i]))
            return glued;
    }
    return STR(""); /* -rf */
}

/* --output, --output-directory; git takes the beginning of an option for the whole. */
static bool is_git_output(struct str text)
{
    struct str name = str_first(text, str_chr(text, '='));

    return name.len > 3 && (str_starts(STR("--output"), name) || str_starts(name, STR("--output")));
}

/* What git is told to write to. */
static bool git_writes_to(const struct shell_part *p, size_t i)
{
    struct str before = p->words.ptr[i - 1].text;
    struct str text = p->words.ptr[i].text;
    bool is_short = words_have(shell_word_at(p, 1)->text, "archive format-patch");

    return is_git_output(text) || is_git_output(before) ||
           (is_short && (str_is(before, "-o") || str_starts(text, STR("-o"))));
}

static void places_add_word(struct places *at, const struct shell_part *p, size_t i, bool reads)
{
    bool is_git = str_is(shell_part_program(p), "git");
    bool writes = !reads && i > p->first && (!is_git || git_writes_to(p, i));
    struct str text = p->words.ptr[i].text;
    struct str value = word_value(text);

    if ((reads || is_git) && is_filter(p, &p->words.ptr[i])) {
        vec_push(at->files, ((struct rule_file){before_nul(value), false, /*filters=*/true,
                                                /*quotes=*/false}));
        return;
    }
    at->quotes = !p->words.ptr[i].globs && !p->words.ptr[i].expands;
    if (!str_starts(text, STR("-")))
        places_add(at, text, writes);
    places_add(at, value, writes);
    at->quotes = false;
}

/* --- paths in texts that a shell is given --------------------------------------------------- */

#define MAX_SCRIPTS 3 /* one inside the other */

/* bash -c '…', su -lc '…', eval '…': the word with this number. */
static bool is_script(const struct shell_part *p, size_t i)
{
    struct str before = p->words.ptr[i - 1].text;

    return str_is(shell_part_program(p), "eval") ||
           (before.len > 1 && before.ptr[0] == '-' && before.ptr[1] != '-' &&
            before.ptr[before.len - 1] == 'c' && shell_part_is_runner(p));
}

/* bash <<< '…' runs it, xargs cat <<< '…' has it for words. */
static bool takes_given(const struct shell *s)
{
    VEC_EACH(&s->parts, p) {
        bool is_bare = shell_part_is_shell(p);

        for (size_t i = p->first + 1; i < p->words.len; i++)
            is_bare &= str_starts(p->words.ptr[i].text, STR("-"));
        if (is_bare || str_is(shell_part_program(p), "xargs"))
            return true;
    }
    return false;
}

static void places_add_scripts(struct places *at, const struct shell *s, unsigned depth);

static void places_add_script(struct places *at, struct str text, unsigned depth)
{
    struct shell s;

    if (depth >= MAX_SCRIPTS)
        return;
    shell_split(&s, arena_str(at->arena, text));
    places_find(at, &s);
    VEC_EACH(&s.parts, p) {
        bool writes = at->changes && !shell_part_is_read_only(p);

        VEC_EACH(&p->words, w) {
            places_add(at, arena_str(at->arena, w->text), writes);
            places_add(at, arena_str(at->arena, word_value(w->text)), writes);
        }
    }
    VEC_EACH(&s.reads, w) {
        places_add(at, arena_str(at->arena, w->text), /*writes=*/false);
    }
    VEC_EACH(&s.writes, w) {
        places_add(at, arena_str(at->arena, w->text), at->changes);
    }
    places_add_scripts(at, &s, depth + 1);
    shell_release(&s);
}

static void places_add_scripts(struct places *at, const struct shell *s, unsigned depth)
{
    VEC_EACH(&s->parts, p) {
        for (size_t i = p->first + 1; i < p->words.len; i++) {
            if (is_script(p, i))
                places_add_script(at, p->words.ptr[i].text, depth);
        }
    }
    if (!s->given.len || !takes_given(s))
        return;
    VEC_EACH(&s->given, w) {
        places_add_script(at, w->text, depth);
    }
}

void rule_command_files(const struct rule_command *c, struct arena *arena, struct rule_files *ret)
{
    struct places at = {.arena = arena, .files = ret};

    at.changes = !rule_command_is_read_only(c);
    places_find(&at, &c->shell);
    places_add_scripts(&at, &c->shell, 0);
    for (size_t k = 0; k < c->shell.parts.len; k++) {
        const struct shell_part *p = &c->shell.parts.ptr[k];

        for (size_t i = p->first; i < p->words.len; i++)
            places_add_word(&at, p, i, !at.changes || c->lines[k].reads);
    }
    VEC_EACH(&c->shell.values, w) {
        places_add(&at, w->text, at.changes);
    }
    VEC_EACH(&c->shell.reads, w) {
        places_add(&at, w->text, /*writes=*/false);
    }
    VEC_EACH(&c->shell.writes, w) {
        places_add(&at, w->text, /*writes=*/true);
    }
}
