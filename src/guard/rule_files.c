/*
 * rule_files: the words of a command that may be file names, for rules that deny files. A word
 * counts in any position, also relative to a folder that the command changes to and as part of an
 * option, unless it is known to be data: a pattern, a message, text that is only printed or tested.
 * Best effort: in the sandbox a denied file is not accessible anyway. Pure; any thread.
 */
#include <string.h>

#include "base/arena.h"
#include "base/words.h"
#include "guard/rule_state.h"
#include "shell/shell_kind.h"
#include "shell/shell_runner.h"

#define MAX_PLACES 100

/* Folders that named files may be in, besides the command's start directory. */
struct places {
    struct arena *arena;
    struct rule_files *files;
    size_t named; /* in words; filters are not counted */
    bool quotes;  /* the added word is literal */
    bool reads;   /* the whole command only reads */
    struct str dirs[MAX_PLACES];
    size_t dirs_len;
};

/* For the system a name ends at a NUL. */
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

static void places_add(struct places *at, struct str text, bool writes)
{
    size_t colon = str_chr(text, ':');

    if (!text.len || at->named >= SHELL_MAX_PARTS)
        return;
    places_add_one(at, text, writes);
    for (size_t i = 0; i < at->dirs_len && text.ptr[0] != '/' && text.ptr[0] != '~'; i++) {
        struct str dir = at->dirs[i];
        struct str name = before_nul(text);
        char *path = arena_alloc(at->arena, dir.len + 1 + name.len);

        memcpy(path, dir.ptr, dir.len);
        path[dir.len] = '/';
        memcpy(path + dir.len + 1, name.ptr, name.len);
        places_add_one(at, str_make(path, dir.len + 1 + name.len), writes);
    }
    if (colon + 1 < text.len) /* git show HEAD:file */
        places_add_one(at, str_from(text, colon + 1), /*writes=*/false);
}

/* --- data ----------------------------------------------------------------------------------- */

bool rule_names_no_files(const struct shell_part *p)
{
    return words_have(shell_part_program(p),
                      ": [[ [ test echo printf true false exit return break continue set read "
                      "local declare export readonly pwd basename dirname seq sleep expr date type "
                      "which command uname whoami id");
}

/* Subcommands of git that show or restore the content of files. */
#define GIT_NAMES_FILES                                                                            \
    "show diff blame annotate cat-file log grep checkout restore archive format-patch difftool "   \
    "stash apply am hash-object mv rm clean config"

/* Whether it is the pattern of grep, sed or awk. */
static bool is_pattern(const struct shell_part *p, size_t i)
{
    if (!words_have(shell_part_program(p), "grep egrep fgrep rg ag sed gsed awk gawk mawk jq"))
        return false;
    for (size_t k = p->first + 1; k < i; k++) {
        struct str text = p->words.ptr[k].text;

        if (!shell_word_is_option(&p->words.ptr[k]) ||
            str_is_word_of(text, "-e -f --regexp --file --expression --files"))
            return words_have(p->words.ptr[i - 1].text, "-e --regexp --expression");
    }
    return !shell_word_is_option(&p->words.ptr[i]);
}

/* find -name '.env': the name, if the matches are not used. */
static bool is_asked_of_find(const struct rule_found *f, size_t i)
{
    return str_is(shell_part_program(&f->part), "find") && f->end == f->part.words.len &&
           words_have(f->part.words.ptr[i - 1].text,
                      "-name -iname -path -ipath -wholename -regex -iregex");
}

static bool is_data(const struct rule_found *f, size_t i)
{
    const struct shell_part *p = &f->part;
    struct str before = p->words.ptr[i - 1].text;
    size_t verb = 1;

    if (rule_names_no_files(p) || is_pattern(p, i) || is_asked_of_find(f, i))
        return true;
    if (!str_is(shell_part_program(p), "git"))
        return false;
    while (shell_word_is_option(shell_word_at(p, verb)))
        verb += 1 + (size_t)str_is_word_of(shell_word_at(p, verb)->text, "-C -c");
    return (p->first + verb < i && !words_have(shell_word_at(p, verb)->text, GIT_NAMES_FILES)) ||
           words_have(before, "-m --message --grep --author -S -G --since --until --format");
}

/* Whether it restricts a search. Only if, as a shell pattern, it cannot match names with a leading
 * dot. */
static bool is_filter(const struct shell_part *p, const struct shell_word *w)
{
    size_t equals = str_chr(w->text, '=');

    return !w->globs && !w->expands && str_starts(str_from(w->text, equals), STR("=*")) &&
           words_have(str_first(w->text, equals), "--include --exclude --exclude-dir --glob") &&
           words_have(shell_part_program(p), "grep egrep fgrep rg");
}

/* --- words ---------------------------------------------------------------------------------- */

/* Whole words that are paths are added as they are; this extracts one from a word: --output=path,
 * -opath, of=path. */
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

/* --output, --output-directory; git accepts abbreviated options. */
static bool is_git_output(struct str text)
{
    struct str name = str_first(text, str_chr(text, '='));

    return name.len > 3 && (str_starts(STR("--output"), name) || str_starts(name, STR("--output")));
}

/* Files that git is asked to write. */
static bool git_writes_to(const struct shell_part *p, size_t i)
{
    struct str before = p->words.ptr[i - 1].text;
    struct str text = p->words.ptr[i].text;
    bool is_short = words_have(shell_word_at(p, 1)->text, "archive format-patch");

    return is_git_output(text) || is_git_output(before) ||
           (is_short && (str_is(before, "-o") || str_starts(text, STR("-o"))));
}

/* Whether the git setting names a program or another configuration file. */
static bool is_program_setting(struct str key)
{
    char lower[200];
    struct str section;
    struct str name;

    if (!key.len || key.len >= sizeof(lower))
        return key.len;
    for (size_t i = 0; i < key.len; i++)
        lower[i] = key.ptr[i] >= 'A' && key.ptr[i] <= 'Z' ? (char)(key.ptr[i] | 32) : key.ptr[i];
    key = str_make(lower, key.len);
    section = str_first(key, str_chr(key, '.'));
    while (str_chr(key, '.') < key.len)
        key = str_from(key, str_chr(key, '.') + 1);
    name = key;
    return words_have(section, "alias pager include includeif") ||
           words_have(name, "hookspath fsmonitor sshcommand editor pager gitproxy askpass external "
                            "textconv command driver clean smudge process helper program path cmd "
                            "packobjectshook templatedir worktree attributesfile");
}

/* Whether git config sets such a setting, or may: its file counts like an edited .git/config. */
static bool sets_git_program(const struct shell_part *p)
{
    size_t i = 1;

    if (!str_is(shell_part_program(p), "git"))
        return false;
    while (shell_word_is_option(shell_word_at(p, i)))
        i += 1 + (size_t)str_is_word_of(shell_word_at(p, i)->text, "-C -c");
    if (!str_is(shell_word_at(p, i)->text, "config") || shell_part_is_read_only(p))
        return false;
    for (i++; p->first + i < p->words.len; i++) {
        const struct shell_word *w = shell_word_at(p, i);

        if (w->expands || is_program_setting(w->text) ||
            words_have(w->text, "-e --edit edit --rename-section rename-section"))
            return true;
    }
    return false;
}

static void places_add_found(struct places *at, const struct rule_found *f)
{
    const struct shell_part *p = &f->part;
    bool is_git = str_is(shell_part_program(p), "git");
    bool reads = at->reads || shell_part_is_read_only(p);
    size_t end = f->end < p->words.len ? f->end : p->words.len;

    for (size_t i = p->first; i < end; i++) {
        const struct shell_word *w = &p->words.ptr[i];
        bool writes = !reads && i > p->first && (!is_git || git_writes_to(p, i));
        struct str value = word_value(w->text);

        if (i > p->first && !writes && is_data(f, i))
            continue;
        if (i > p->first && rule_names_no_files(p))
            continue;
        if ((reads || is_git) && is_filter(p, w)) {
            vec_push(at->files, ((struct rule_file){before_nul(value), false, /*filters=*/true,
                                                    /*quotes=*/false}));
            continue;
        }
        at->quotes = !w->globs && !w->expands;
        if (!str_starts(w->text, STR("-")))
            places_add(at, w->text, writes);
        places_add(at, value, writes);
        at->quotes = false;
    }
    if (sets_git_program(p))
        places_add(at, STR(".git/config"), /*writes=*/true);
}

static void places_add_redirections(struct places *at, const struct shell *s)
{
    VEC_EACH(&s->reads, w) {
        places_add(at, w->text, /*writes=*/false);
    }
    VEC_EACH(&s->writes, w) {
        places_add(at, w->text, /*writes=*/true);
    }
}

/* xargs cat <<< .env */
static void places_add_given(struct places *at, const struct rule_command *c)
{
    bool takes = false;

    VEC_EACH(&c->found, f) {
        takes |= str_is(shell_part_program(&f->part), "xargs");
    }
    VEC_EACH(&c->shell.given, w) {
        if (takes)
            places_add(at, w->text, /*writes=*/false);
    }
}

void rule_command_files(const struct rule_command *c, struct arena *arena, struct rule_files *ret)
{
    struct places at = {.arena = arena, .files = ret, .reads = rule_command_is_read_only(c)};

    VEC_EACH(&c->found, f) {
        const struct shell_word *to = shell_word_at(&f->part, 1);

        if (words_have(shell_part_program(&f->part), "cd pushd") && to->text.len &&
            at.dirs_len < MAX_PLACES)
            at.dirs[at.dirs_len++] = arena_str(arena, before_nul(to->text));
    }
    VEC_EACH(&c->found, f) {
        places_add_found(&at, f);
    }
    places_add_given(&at, c);
    places_add_redirections(&at, &c->shell);
    VEC_EACH(&c->inner, s) {
        places_add_redirections(&at, *s);
    }
}
