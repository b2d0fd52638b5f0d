/*
 * shell_kind: tables of commands that are known to read only, with the options that are not, and
 * small checks for those whose words need a closer look (find, git, sed). A word that is not
 * written out could become an option, so commands with bad options take none of those. Pure; any
 * thread.
 */
#include "shell/shell_kind.h"

#include <string.h>

#include "base/strv.h"
#include "base/words.h"
#include "shell/shell.h"
#include "shell/shell_runner.h"
#include "shell/shell_sed.h"

/* "--outp=x" means --output to programs that take abbreviations. */
static bool is_long_option_of(struct str text, const char *list)
{
    struct str name = str_first(text, str_chr(text, '='));
    struct str rest = str_of(list);
    struct str one;

    if (!str_starts(name, STR("--")) || name.len < 3)
        return false;
    name = str_from(name, 2);
    while (str_cut(&rest, ' ', &one)) {
        if (one.len && str_starts(one, name))
            return true;
    }
    return false;
}

/* --- reading -------------------------------------------------------------------------------- */

/* Commands without any option that writes or runs something. */
#define PLAIN_READERS                                                                              \
    ": [[ ls cat echo pwd head tail wc which stat du df cd true false basename dirname realpath "  \
    "readlink uname whoami id groups nproc free uptime cut tr nl tac rev fold expand unexpand "    \
    "paste join comm cmp diff cksum md5sum sha1sum sha256sum sha512sum seq type expr sleep od "    \
    "hexdump strings grep egrep fgrep jq ps pgrep printenv base64 column arch tty locale"

struct reader {
    const char *name;
    const char *letters; /* bad ones, in any "-xyz" */
    const char *longs;   /* bad ones, also abbreviated */
    size_t max_words;    /* that are no options; 0: any number */
    const char *valued;  /* options followed by a value, which is not one of these words */
};

static const struct reader readers[] = {
    {"sort", "oT", "output compress-program temporary-directory", 0, ""},
    {"uniq", "", "", 1, "-f -s -w"}, /* the second one is written */
    {"xxd", "r", "revert", 1, "-c -g -l -n -o -s"},
    {"file", "Czf", "compile uncompress files-from", 0, ""},
    {"tree", "oR", "output", 0, ""},
    {"rg", "z", "pre hostname-bin search-zip", 0, ""},
    {"fd", "xX", "exec exec-batch", 0, ""},
    {"printf", "v", "", 0, ""}, /* -v evaluates the subscript of what it sets */
    {"test", "vR", "", 0, ""},
    {"[", "vR", "", 0, ""},
};

/* Programs that are asked for nothing but their version. Not those that look into the folder for
 * which version to run: cargo and rustc (rust-toolchain), yarn (yarnPath), pnpm, go. */
#define VERSION_TELLERS                                                                            \
    "node npm npx python python3 pip pip3 gcc g++ cc clang clang++ make cmake ninja meson java "   \
    "javac ruby perl php bash git docker"

/* ... with what else they may be asked; "python3 -v" would run what it is fed. */
static bool tells_version(struct str name, struct str option)
{
    if (str_is(option, "-v"))
        return words_have(name, "node npm ruby perl php gcc clang make");
    if (str_is(option, "-V"))
        return words_have(name, "python python3 pip pip3");
    return str_is(option, "-version") && words_have(name, "java javac");
}

static bool has_letter(struct str cluster, const char *letters)
{
    for (size_t i = 1; i < cluster.len; i++) {
        if (cluster.ptr[i] && strchr(letters, cluster.ptr[i]))
            return true;
    }
    return false;
}

static bool reader_writes_by(const struct reader *r, const struct shell_word *w)
{
    return is_long_option_of(w->text, r->longs) ||
           (shell_word_is_option(w) && w->text.ptr[1] != '-' && has_letter(w->text, r->letters));
}

static bool reader_takes(const struct reader *r, const struct shell_part *p)
{
    size_t words = 0;

    for (size_t i = 1; p->first + i < p->words.len; i++) {
        const struct shell_word *w = shell_word_at(p, i);

        if (shell_word_could_be_option(w) || reader_writes_by(r, w))
            return false;
        /* After the first word some programs take no options any more: xxd f -c. */
        if (!shell_word_is_option(w) || words)
            words += (size_t)1 + w->globs; /* a pattern may be several */
        else if (str_is_word_of(w->raw, r->valued) && p->first + i + 1 < p->words.len &&
                 !shell_word_at(p, i + 1)->globs &&
                 !shell_word_could_be_option(shell_word_at(p, i + 1)))
            i++;
    }
    return !r->max_words || words <= r->max_words;
}

/* --- test and printf ------------------------------------------------------------------------ */

/* One word whatever is in it: "$x", "$(…)", $?, but not "$@" and what an unquoted $x is split into.
 */
static bool is_one_word(const struct shell_word *w)
{
    struct str inner = str_from(w->raw, 1);

    if (!w->expands)
        return !shell_word_could_be_option(w);
    if (str_is_word_of(w->raw, "$? $# $$ $!"))
        return true;
    if (w->raw.len < 3 || w->raw.ptr[0] != '"' || w->raw.ptr[w->raw.len - 1] != '"')
        return false;
    inner.len--;
    return str_chr(inner, '"') == inner.len && str_chr(inner, '@') == inner.len;
}

#define TEST_UNARY "-n -z -f -d -e -r -w -x -s -L -h -S -p -b -c -g -u -k -O -G -N"
#define TEST_BINARY "= == != -eq -ne -lt -le -gt -ge -nt -ot -ef"

/* Where the operator is written out, no word becomes the -v that evaluates a subscript. */
static bool test_reads(const struct shell_part *p)
{
    size_t count = p->words.len - p->first - 1;
    size_t at = 1;

    if (str_is(shell_word_at(p, 0)->text, "[") &&
        (!count || !str_is(shell_word_at(p, count--)->raw, "]")))
        return false;
    if (count > 1 && str_is(shell_word_at(p, at)->raw, "!")) {
        at++;
        count--;
    }
    if (count == 1)
        return is_one_word(shell_word_at(p, at));
    if (count == 2)
        return str_is_word_of(shell_word_at(p, at)->raw, TEST_UNARY) &&
               is_one_word(shell_word_at(p, at + 1));
    return count == 3 && is_one_word(shell_word_at(p, at)) &&
           str_is_word_of(shell_word_at(p, at + 1)->raw, TEST_BINARY) &&
           is_one_word(shell_word_at(p, at + 2));
}

/* After a literal format there are no options. */
static bool printf_reads(const struct shell_part *p)
{
    const struct shell_word *format = shell_word_at(p, 1);

    return format->text.len && !format->expands && !format->globs && format->text.ptr[0] != '-' &&
           !str_has(format->text, STR("%n"));
}

/* --- date and find -------------------------------------------------------------------------- */

#define DATE_TAKES_VALUE "-d -r -f --date --reference --file"

/* A word that is no format sets the clock: date 010203042020. */
static bool date_reads(const struct shell_part *p)
{
    for (size_t i = 1; p->first + i < p->words.len; i++) {
        const struct shell_word *w = shell_word_at(p, i);

        if (shell_word_could_be_option(w) || is_long_option_of(w->text, "set"))
            return false;
        if (shell_word_is_option(w)
                ? w->text.ptr[1] != '-' && has_letter(w->text, "s")
                : !str_starts(w->text, STR("+")) &&
                      !words_have(shell_word_at(p, i - 1)->text, DATE_TAKES_VALUE))
            return false;
    }
    return true;
}

#define FIND_ACTIONS "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls"

static bool find_reads(const struct shell_part *p)
{
    for (size_t i = 1; p->first + i < p->words.len; i++) {
        const struct shell_word *w = shell_word_at(p, i);

        if (shell_word_could_be_option(w) || words_have(w->text, FIND_ACTIONS))
            return false;
    }
    return true;
}

/* --- awk ------------------------------------------------------------------------------------ */

/* A program without anything that writes or runs; -F and -v in front. */
static bool awk_reads(const struct shell_part *p)
{
    size_t i = 1;
    struct str program;

    for (; shell_word_is_option(shell_word_at(p, i)); i++) {
        const struct shell_word *w = shell_word_at(p, i);

        if (w->expands || w->globs || (w->text.ptr[1] != 'F' && w->text.ptr[1] != 'v'))
            return false;
        i += w->text.len == 2;
        if (shell_word_at(p, i)->expands && !shell_word_at(p, i)->quoted)
            return false;
    }
    program = shell_word_at(p, i)->text;
    if (!program.len || shell_word_at(p, i)->expands || shell_word_at(p, i)->globs)
        return false;
    for (size_t k = 0; k < program.len; k++) {
        if (!program.ptr[k] || strchr(">|@`\\", program.ptr[k]))
            return false;
    }
    return !str_has(program, STR("system")) && !str_has(program, STR("getline"));
}

/* --- git ------------------------------------------------------------------------------------ */

#define GIT_GLOBALS "--no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects"
#define GIT_BAD_LONGS                                                                              \
    "output output-directory ext-diff textconv filters exec open-files-in-pager upload-pack "      \
    "show-signature"
#define GIT_READERS                                                                                \
    "status log diff show blame annotate shortlog describe rev-parse rev-list ls-files ls-tree "   \
    "cat-file name-rev merge-base for-each-ref show-ref count-objects whatchanged diff-tree "      \
    "diff-index diff-files show-branch grep version check-ignore check-attr cherry range-diff"

/* Of those that list or change: the listing needs one of these words first. */
struct git_lister {
    const char *name;
    const char *first;   /* words that make it a listing; "" among them: none at all */
    const char *options; /* that may be there too */
    bool words;          /* names may follow */
};

/* Written out: --sort=signature runs gpg. */
#define GIT_SORTS                                                                                  \
    "--sort=committerdate --sort=-committerdate --sort=authordate --sort=-authordate "             \
    "--sort=creatordate --sort=-creatordate --sort=refname --sort=-refname "                       \
    "--sort=version:refname --sort=-version:refname --sort=v:refname --sort=-v:refname"

static const struct git_lister git_listers[] = {
    {"branch", "-a -r -v -vv -av -avv -rv --all --remotes --show-current " GIT_SORTS,
     "-v -vv --no-color -a -r " GIT_SORTS, false},
    {"branch", "--list --contains --no-contains --merged --no-merged --points-at",
     "-v -vv --no-color -a -r " GIT_SORTS, true},
    {"tag", "-l --list --contains --points-at --merged --no-merged -n", "-n --no-color " GIT_SORTS,
     true},
    {"tag", GIT_SORTS, GIT_SORTS, false},
    {"remote", "-v --verbose", "", false},
    {"remote", "get-url", "--all --push", true},
    {"stash", "list show", "-p --stat --oneline --name-only --name-status", true},
    {"config", "--get --get-all --get-regexp --list -l get list", "--global --local --show-origin",
     true},
    {"worktree", "list", "--porcelain -v", false},
    {"reflog", "show", "--oneline", true},
};

/* git config user.name: a key without a value. */
static bool git_reads_key(const struct shell_part *p, size_t at)
{
    size_t keys = 0;

    for (size_t i = at + 1; p->first + i < p->words.len; i++) {
        const struct shell_word *w = shell_word_at(p, i);

        if (shell_word_is_option(w) ? !str_is_word_of(w->text, "--global --local --system")
                                    : w->globs || str_chr(w->text, '.') == w->text.len)
            return false;
        keys += !shell_word_is_option(w);
    }
    return str_is(shell_word_at(p, at)->text, "config") && keys == 1;
}

static bool git_lists(const struct shell_part *p, size_t at)
{
    struct str name = shell_word_at(p, at)->text;
    struct str first = shell_word_at(p, at + 1)->text;

    if (!first.len && p->first + at + 1 >= p->words.len)
        return words_have(name, "branch tag remote reflog");
    for (size_t i = 0; i < ARRAY_LEN(git_listers); i++) {
        const struct git_lister *l = &git_listers[i];
        bool fits = str_is(name, l->name) && str_is_word_of(first, l->first);

        for (size_t j = at + 2; fits && p->first + j < p->words.len; j++) {
            const struct shell_word *w = shell_word_at(p, j);

            fits = shell_word_is_option(w) ? str_is_word_of(w->text, l->options) : l->words;
        }
        if (fits)
            return true;
    }
    return false;
}

static bool git_reads(const struct shell_part *p)
{
    size_t at = 1;
    struct str name;

    for (size_t i = 1; p->first + i < p->words.len; i++) {
        const struct shell_word *w = shell_word_at(p, i);

        if (shell_word_could_be_option(w) || is_long_option_of(w->text, GIT_BAD_LONGS))
            return false;
    }
    for (;; at++) {
        if (str_is(shell_word_at(p, at)->text, "-C") && str_is(shell_word_at(p, at + 1)->raw, "."))
            at++;
        else if (!words_have(shell_word_at(p, at)->text, GIT_GLOBALS))
            break;
    }
    name = shell_word_at(p, at)->text;
    if (str_is(name, "grep")) {
        for (size_t i = at + 1; p->first + i < p->words.len; i++) {
            struct str w = shell_word_at(p, i)->text;

            if (str_starts(w, STR("-")) && !str_starts(w, STR("--")) && has_letter(w, "O"))
                return false;
        }
    }
    return words_have(name, GIT_READERS) || git_lists(p, at) || git_reads_key(p, at);
}

/* --- sed ------------------------------------------------------------------------------------ */

static bool sed_reads(const struct shell_part *p)
{
    CLEANUP(strv_release) struct strv files = STRV_INIT;
    bool in_place;

    return shell_sed_take(p, &in_place, &files) && !in_place;
}

/* --- builtins that change nothing but the shell itself -------------------------------------- */

static bool is_own_assignment(const struct shell_word *w)
{
    size_t n = shell_assignment_len(w->raw);
    struct str name = str_first(w->raw, n ? n - 1 : 0);

    if (name.len && name.ptr[name.len - 1] == '+')
        name.len--;
    return n && (shell_is_own_variable(name) || shell_is_safe_assignment(w)) &&
           !str_is(name, "IFS");
}

static bool assignments_are_own(const struct shell_part *p)
{
    for (size_t i = 0; i < p->words.len; i++) {
        if (!is_own_assignment(&p->words.ptr[i]))
            return false;
    }
    return p->words.len;
}

static bool declares_own(const struct shell_part *p)
{
    bool exports = str_is(shell_word_at(p, 0)->text, "export");

    for (size_t i = 1; p->first + i < p->words.len; i++) {
        const struct shell_word *w = shell_word_at(p, i);

        /* Once exported, any name reaches programs. */
        if (exports ? !shell_is_safe_assignment(w)
                    : !is_own_assignment(w) && !(shell_is_own_variable(w->raw) && !w->quoted))
            return false;
    }
    return p->words.len - p->first > 1;
}

/* read -r line; -d takes a delimiter. */
static bool read_reads(const struct shell_part *p)
{
    for (size_t i = 1; p->first + i < p->words.len; i++) {
        const struct shell_word *w = shell_word_at(p, i);

        if (str_is(w->raw, "-d"))
            i++;
        else if (!str_is(w->raw, "-r") && !shell_is_own_variable(w->raw))
            return false;
    }
    return p->words.len - p->first > 1;
}

/* set -euo pipefail */
static bool set_reads(const struct shell_part *p)
{
    for (size_t i = 1; p->first + i < p->words.len; i++) {
        struct str raw = shell_word_at(p, i)->raw;
        bool is_flags = raw.len > 1 && (raw.ptr[0] == '-' || raw.ptr[0] == '+');

        for (size_t j = 1; is_flags && j < raw.len; j++)
            is_flags = strchr("euxvo", raw.ptr[j]);
        if (!is_flags &&
            !(str_is(raw, "pipefail") && str_ends(shell_word_at(p, i - 1)->raw, STR("o"))))
            return false;
    }
    return p->words.len - p->first > 1;
}

/* --- a part --------------------------------------------------------------------------------- */

static bool asks_version(const struct shell_part *p)
{
    struct str name = shell_word_at(p, 0)->text;

    return p->words.len - p->first == 2 &&
           (tells_version(name, shell_word_at(p, 1)->raw) ||
            (str_is(shell_word_at(p, 1)->raw, "--version") && words_have(name, VERSION_TELLERS)));
}

bool shell_part_is_read_only(const struct shell_part *part)
{
    struct shell_part p;
    struct str name;
    bool fed;

    if (part->first == part->words.len)
        return assignments_are_own(part);
    if (!shell_part_unwrap(part, &p, &fed))
        return false;
    name = shell_word_at(&p, 0)->text;
    if (words_have(name, PLAIN_READERS))
        return true;
    if (fed)
        return false;
    if (str_is(name, "find"))
        return find_reads(&p);
    if (str_is(name, "date"))
        return date_reads(&p);
    if (str_is(name, "git"))
        return git_reads(&p) ||
               (p.words.len - p.first == 2 && str_is(shell_word_at(&p, 1)->text, "--version"));
    if (str_is(name, "sed"))
        return sed_reads(&p);
    if (words_have(name, "awk gawk mawk"))
        return awk_reads(&p);
    if (str_is(name, "read"))
        return read_reads(&p);
    if (str_is(name, "set"))
        return set_reads(&p);
    if (words_have(name, "exit return break continue"))
        return p.words.len - p.first < 3;
    if (words_have(name, "local declare export readonly"))
        return declares_own(&p);
    if (str_is(name, "command"))
        return str_is(shell_word_at(&p, 1)->text, "-v") || str_is(shell_word_at(&p, 1)->text, "-V");
    if ((words_have(name, "[ test") && test_reads(&p)) ||
        (str_is(name, "printf") && printf_reads(&p)))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
        if (str_is(name, readers[i].name))
            return reader_takes(&readers[i], &p);
    }
    if (words_have(name, "env hostname umask jobs wait")) /* bare, they only tell */
        return p.words.len - p.first == 1;
    return asks_version(&p);
}

/* A repository elsewhere may have its own ideas of what git should run. */
static bool part_is_git_elsewhere(const struct shell *s, const struct shell_part *p)
{
    if (!shell_part_is(p, "git"))
        return false;
    VEC_EACH(&s->parts, other) {
        if ((other < p || s->repeats) && shell_part_is(other, "cd"))
            return true;
    }
    return false;
}

bool shell_part_is_free(const struct shell *s, const struct shell_part *p, bool reads)
{
    if (p->defined && !p->first)
        return true;
    return reads && !part_is_git_elsewhere(s, p);
}

/* Options that make these programs work elsewhere or run something else. */
static const struct {
    const char *programs;
    const char *options; /* "--prefix" is "--prefix=x", too */
} elsewhere[] = {
    {"npm pnpm yarn bun", "--prefix -C --dir --cwd --script-shell --userconfig --globalconfig "
                          "--node-options"},
    {"cargo", "--config --manifest-path"},
    {"go", "-C -exec -toolexec -modfile -overlay"},
    {"git", "--output --output-directory --ext-diff --textconv --open-files-in-pager "
            "--upload-pack --receive-pack --exec"},
};

static bool goes_elsewhere(const struct shell_part *p)
{
    for (size_t k = 0; k < ARRAY_LEN(elsewhere); k++) {
        if (!str_is_word_of(shell_word_at(p, 0)->text, elsewhere[k].programs))
            continue;
        for (size_t i = 1; p->first + i < p->words.len; i++) {
            struct str text = shell_word_at(p, i)->text;

            if (str_is(text, "--")) /* the rest is the script's own */
                return false;
            if (str_is_word_of(str_first(text, str_chr(text, '=')), elsewhere[k].options))
                return true;
        }
    }
    return false;
}

bool shell_part_exceeds(const struct shell_part *part, bool any_verb)
{
    struct shell_part p = *part;
    struct str name;

    for (size_t n = shell_wrapper_len(&p, p.first); n; n = shell_wrapper_len(&p, p.first))
        p.first += n;
    name = shell_word_at(&p, 0)->text;
    for (size_t k = 0; k < ARRAY_LEN(readers); k++) {
        for (size_t i = 1; str_is(name, readers[k].name) && p.first + i < p.words.len; i++) {
            if (reader_writes_by(&readers[k], shell_word_at(&p, i)))
                return true;
        }
    }
    return words_have(name, "watch setsid flock") || (str_is(name, "find") && !find_reads(&p)) ||
           (!any_verb && goes_elsewhere(&p));
}
