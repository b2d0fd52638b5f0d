/*
 * shell_kind: tables of commands that are known to read only, with the options that are not, and
 * small checks for those whose words need a closer look (find, git, sed). A word that is not
 * written out could become an option, so commands with bad options take none of those. Pure; any
 * thread.
 */
#include "conf/shell_kind.h"

#include <string.h>

#include "base/buf.h"
#include "base/strv.h"
#include "conf/shell.h"

static bool is_option(const struct shell_word *w)
{
    return w->text.len > 1 && w->text.ptr[0] == '-';
}

/* Whether the shell could make an option of it that is not seen here. */
static bool could_be_option(const struct shell_word *w)
{
    return w->expands || (w->globs && w->raw.len && strchr("*?[{", w->raw.ptr[0]));
}

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
    "ls cat echo pwd head tail wc which stat du df cd true false basename dirname realpath "       \
    "readlink uname whoami id groups nproc free uptime cut tr nl tac rev fold expand unexpand "    \
    "paste join comm cmp diff cksum md5sum sha1sum sha256sum sha512sum seq type expr sleep od "    \
    "hexdump strings grep egrep fgrep jq ps pgrep printenv base64 column arch tty locale"

struct reader {
    const char *name;
    const char *letters; /* bad ones, in any "-xyz" */
    const char *longs;   /* bad ones, also abbreviated */
    size_t max_words;    /* that are no options; 0: any number */
};

static const struct reader readers[] = {
    {"sort", "oT", "output compress-program temporary-directory", 0},
    {"uniq", "", "", 1}, /* the second one is written */
    {"date", "s", "set", 0},
    {"file", "Czf", "compile uncompress files-from", 0},
    {"tree", "oR", "output", 0},
    {"rg", "z", "pre hostname-bin search-zip", 0},
    {"fd", "xX", "exec exec-batch", 0},
    {"printf", "v", "", 0}, /* -v evaluates the subscript of what it sets */
    {"test", "vR", "", 0},
    {"[", "vR", "", 0},
};

/* Programs that are asked for nothing but their version. */
#define VERSION_TELLERS                                                                            \
    "node npm npx yarn pnpm python python3 pip pip3 gcc g++ cc clang clang++ make cmake ninja "    \
    "meson cargo rustc go java javac ruby perl php bash git docker"

static bool has_letter(struct str cluster, const char *letters)
{
    for (size_t i = 1; i < cluster.len; i++) {
        if (cluster.ptr[i] && strchr(letters, cluster.ptr[i]))
            return true;
    }
    return false;
}

static bool reader_takes(const struct reader *r, const struct shell_part *p)
{
    size_t words = 0;

    for (size_t i = 1; p->first + i < p->words.len; i++) {
        const struct shell_word *w = shell_word_at(p, i);

        if (could_be_option(w) || is_long_option_of(w->text, r->longs))
            return false;
        if (is_option(w) && w->text.ptr[1] != '-' && has_letter(w->text, r->letters))
            return false;
        words += !is_option(w) || (w->globs && r->max_words);
    }
    return !r->max_words || words <= r->max_words;
}

#define FIND_ACTIONS "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls"

static bool find_reads(const struct shell_part *p)
{
    for (size_t i = 1; p->first + i < p->words.len; i++) {
        const struct shell_word *w = shell_word_at(p, i);

        if (could_be_option(w) || str_is_word_of(w->text, FIND_ACTIONS))
            return false;
    }
    return true;
}

/* --- git ------------------------------------------------------------------------------------ */

#define GIT_GLOBALS "--no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects"
#define GIT_BAD_LONGS                                                                              \
    "output output-directory ext-diff textconv filters exec open-files-in-pager upload-pack "      \
    "show-signature"
#define GIT_READERS                                                                                \
    "status log diff show blame annotate shortlog describe rev-parse rev-list ls-files ls-tree "   \
    "cat-file name-rev merge-base for-each-ref show-ref count-objects whatchanged diff-tree "      \
    "diff-index diff-files show-branch grep version check-ignore check-attr"

/* Of those that list or change: the listing needs one of these words first. */
struct git_lister {
    const char *name;
    const char *first;   /* words that make it a listing; "" among them: none at all */
    const char *options; /* that may be there too */
    bool words;          /* names may follow */
};

static const struct git_lister git_listers[] = {
    {"branch", "-a -r -v -vv -av -avv -rv --all --remotes --show-current",
     "-v -vv --no-color -a -r", false},
    {"branch", "--list --contains --no-contains --merged --no-merged --points-at",
     "-v -vv --no-color -a -r", true},
    {"tag", "-l --list --contains --points-at --merged --no-merged -n", "-n --no-color", true},
    {"remote", "-v --verbose", "", false},
    {"remote", "get-url", "--all --push", true},
    {"stash", "list show", "-p --stat --oneline --name-only --name-status", true},
    {"config", "--get --get-all --get-regexp --list -l", "--global --local --show-origin", true},
    {"worktree", "list", "--porcelain -v", false},
    {"reflog", "show", "--oneline", true},
};

static bool git_lists(const struct shell_part *p, size_t at)
{
    struct str name = shell_word_at(p, at)->text;
    struct str first = shell_word_at(p, at + 1)->text;

    if (!first.len && p->first + at + 1 >= p->words.len)
        return str_is_word_of(name, "branch tag remote reflog");
    for (size_t i = 0; i < ARRAY_LEN(git_listers); i++) {
        const struct git_lister *l = &git_listers[i];
        bool fits = str_is(name, l->name) && str_is_word_of(first, l->first);

        for (size_t j = at + 2; fits && p->first + j < p->words.len; j++) {
            const struct shell_word *w = shell_word_at(p, j);

            fits = is_option(w) ? str_is_word_of(w->text, l->options) : l->words;
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

        if (could_be_option(w) || is_long_option_of(w->text, GIT_BAD_LONGS))
            return false;
    }
    while (str_is_word_of(shell_word_at(p, at)->text, GIT_GLOBALS))
        at++;
    name = shell_word_at(p, at)->text;
    if (str_is(name, "grep")) {
        for (size_t i = at + 1; p->first + i < p->words.len; i++) {
            struct str w = shell_word_at(p, i)->text;

            if (str_starts(w, STR("-")) && !str_starts(w, STR("--")) && has_letter(w, "O"))
                return false;
        }
    }
    return str_is_word_of(name, GIT_READERS) || git_lists(p, at);
}

/* --- sed ------------------------------------------------------------------------------------ */

/* A regular expression or a replacement up to its delimiter; what follows, or NULL bytes. */
static bool sed_skip(struct str *script, char delimiter)
{
    for (size_t i = 0; i < script->len; i++) {
        if (script->ptr[i] == '\n')
            return false;
        if (script->ptr[i] == '\\') {
            i++;
        } else if (script->ptr[i] == delimiter) {
            *script = str_from(*script, i + 1);
            return true;
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

/* One of: [address][,address] then p, d, =, q or s/…/…/flags. Nothing that writes or runs. */
static bool sed_script_is_simple(struct str script)
{
    char delimiter;

    script = str_trim(script);
    if (!sed_skip_address(&script))
        return false;
    if (str_starts(script, STR(","))) {
        script = str_from(script, 1);
        if (!sed_skip_address(&script))
            return false;
    }
    if (str_is(script, "p") || str_is(script, "d") || str_is(script, "=") || str_is(script, "q"))
        return true;
    if (script.len < 4 || script.ptr[0] != 's')
        return false;
    delimiter = script.ptr[1];
    if (delimiter == '\\' || delimiter == '\n' || str_is_alnum(delimiter))
        return false;
    script = str_from(script, 2);
    if (!sed_skip(&script, delimiter) || !sed_skip(&script, delimiter))
        return false;
    for (size_t i = 0; i < script.len; i++) {
        if (!strchr("gpiI0123456789", script.ptr[i]) || !script.ptr[i])
            return false;
    }
    return true;
}

/* Splits the words of a sed command. False for what is not understood to the end. */
static bool sed_take(const struct shell_part *p, bool *ret_in_place, struct strv *ret_files)
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
        } else if (options && is_option(w)) {
            if (w->globs)
                return false;
            if (str_is(w->text, "-e") || str_is(w->text, "--expression")) {
                i++;
                if (shell_word_at(p, i)->expands ||
                    !sed_script_is_simple(shell_word_at(p, i)->text))
                    return false;
                has_script = true;
            } else if (str_starts(w->text, STR("-i")) || str_is(w->text, "--in-place")) {
                /* A suffix may name another folder. */
                if (str_chr(w->text, '/') < w->text.len || str_chr(w->text, '*') < w->text.len)
                    return false;
                *ret_in_place = true;
            } else if (!str_is_word_of(w->text,
                                       "-n -E -r -s -nE -En -nr -rn -u -z --quiet --silent "
                                       "--regexp-extended --separate --posix")) {
                return false;
            }
        } else if (!has_script) {
            if (!sed_script_is_simple(w->text))
                return false;
            has_script = true;
        } else {
            if (could_be_option(w))
                return false;
            strv_add(ret_files, w->text);
        }
    }
    return has_script;
}

static bool sed_reads(const struct shell_part *p)
{
    CLEANUP(strv_release) struct strv files = STRV_INIT;
    bool in_place;

    return sed_take(p, &in_place, &files) && !in_place;
}

/* --- a part --------------------------------------------------------------------------------- */

/* A copy of the part without safe assignments and wrappers; fed: xargs gives it more words. */
static bool part_unwrap(const struct shell_part *p, struct shell_part *ret, bool *ret_fed)
{
    *ret = *p;
    *ret_fed = false;
    for (size_t i = 0; i < p->first; i++) {
        if (!shell_is_safe_assignment(&p->words.ptr[i]))
            return false;
    }
    for (;;) {
        size_t n = shell_wrapper_len(ret, ret->first);

        if (!n)
            return ret->first < ret->words.len;
        *ret_fed |= str_is(ret->words.ptr[ret->first].raw, "xargs");
        ret->first += n;
    }
}

bool shell_part_is_read_only(const struct shell_part *part)
{
    struct shell_part p;
    struct str name;
    bool fed;

    if (!part_unwrap(part, &p, &fed))
        return false;
    name = shell_word_at(&p, 0)->text;
    if (str_is_word_of(name, PLAIN_READERS))
        return true;
    if (fed)
        return false;
    if (str_is(name, "find"))
        return find_reads(&p);
    if (str_is(name, "git"))
        return git_reads(&p) ||
               (p.words.len - p.first == 2 && str_is(shell_word_at(&p, 1)->text, "--version"));
    if (str_is(name, "sed"))
        return sed_reads(&p);
    if (str_is(name, "command"))
        return str_is(shell_word_at(&p, 1)->text, "-v") || str_is(shell_word_at(&p, 1)->text, "-V");
    for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
        if (str_is(name, readers[i].name))
            return reader_takes(&readers[i], &p);
    }
    return p.words.len - p.first == 2 && str_is_word_of(name, VERSION_TELLERS) &&
           str_is_word_of(shell_word_at(&p, 1)->text, "--version");
}

static bool part_is(const struct shell_part *p, const char *name)
{
    struct shell_part bare;
    bool fed;

    return part_unwrap(p, &bare, &fed) && str_is(shell_word_at(&bare, 0)->text, name);
}

/* A repository elsewhere may have its own ideas of what git should run. */
static bool part_is_git_elsewhere(const struct shell *s, const struct shell_part *p)
{
    if (!part_is(p, "git"))
        return false;
    for (const struct shell_part *before = s->parts.ptr; before < p; before++) {
        if (part_is(before, "cd"))
            return true;
    }
    return false;
}

bool shell_part_is_free(const struct shell *s, const struct shell_part *p)
{
    return shell_part_is_read_only(p) && !part_is_git_elsewhere(s, p);
}

bool shell_is_read_only(const struct shell *s)
{
    if (!s->certain || s->writes.len || !s->parts.len)
        return false;
    VEC_EACH(&s->parts, p) {
        if (!shell_part_is_free(s, p))
            return false;
    }
    return true;
}

bool shell_part_runs_others(const struct shell_part *part)
{
    struct shell_part p = *part;
    struct str name;

    for (size_t n = shell_wrapper_len(&p, p.first); n; n = shell_wrapper_len(&p, p.first))
        p.first += n;
    name = shell_word_at(&p, 0)->text;
    return str_is_word_of(name, "watch setsid flock") || (str_is(name, "find") && !find_reads(&p));
}

/* --- file work ------------------------------------------------------------------------------ */

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
        else if (options && is_option(w) && !worker_takes_option(k, w->text))
            return false;
        else if (!options || !is_option(w))
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
        while (str_chr(path, '/') < path.len)
            path = str_from(path, str_chr(path, '/') + 1);
        strv_addf(ret, "%s/%.*s", paths.ptr[paths.len - 1], STR_ARG(path));
    }
    return true;
}

static bool part_is_file_work(const struct shell_part *part, struct strv *ret)
{
    struct shell_part p;
    bool in_place;
    bool fed;
    struct str name;

    if (!part_unwrap(part, &p, &fed) || fed)
        return false;
    name = shell_word_at(&p, 0)->text;
    if (str_is(name, "sed")) {
        size_t before = ret->len;

        return sed_take(&p, &in_place, ret) && in_place && ret->len > before;
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
        else if (!shell_part_is_read_only(p) || part_is(p, "cd"))
            return false; /* behind a cd the paths would mean others */
    }
    if (works)
        strv_add_all(ret_paths, &paths);
    return works;
}

/* --- what must not go ----------------------------------------------------------------------- */

/* By name only: "/a/../b/." becomes "/b". */
static void path_walk(struct buf *to, struct str path)
{
    struct str part;

    while (str_cut(&path, '/', &part)) {
        if (!part.len || str_is(part, "."))
            continue;
        if (str_is(part, "..")) {
            while (to->len && to->ptr[to->len - 1] != '/')
                buf_cut(to, to->len - 1, 1);
            if (to->len)
                buf_cut(to, to->len - 1, 1);
            continue;
        }
        buf_addc(to, '/');
        buf_add(to, part);
    }
}

static bool is_above(struct str above, struct str path)
{
    return str_starts(path, above) && (path.len == above.len || path.ptr[above.len] == '/');
}

static bool word_is_critical(const struct shell_word *w, const char *cwd, const char *home)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(SHELL_MAX_TEXT);
    struct str text = w->text;

    /* All in "$DIR" is all of the disk when DIR is unset. */
    if (w->expands && (!text.len || text.ptr[0] == '/'))
        return true;
    if (str_is(text, "*") || str_is(text, "./*") || str_is(text, ".*"))
        text = STR(".");
    if (str_ends(text, STR("/*")))
        text = str_first(text, text.len - 2);
    if (str_is(text, "~") || str_starts(text, STR("~/"))) {
        path_walk(&path, str_of(home));
        text = str_from(text, 1);
    } else if (text.len && text.ptr[0] != '/') {
        path_walk(&path, str_of(cwd));
    }
    path_walk(&path, text);
    if (!path.len || memrchr(path.ptr, '/', path.len) == path.ptr) /* "/", "/usr" */
        return true;
    return is_above(buf_str(&path), str_of(home)) || is_above(buf_str(&path), str_of(cwd));
}

bool shell_removes_critical(const struct shell *s, const char *cwd, const char *home)
{
    VEC_EACH(&s->parts, p) {
        bool removes = false;
        bool runs = shell_part_is_runner(p);

        if (shell_part_is_read_only(p))
            continue; /* find . -name rm */
        for (size_t i = p->first; i < p->words.len; i++) {
            const struct shell_word *w = &p->words.ptr[i];
            struct str name = shell_base_name(w->text);

            if (removes && !is_option(w) && word_is_critical(w, cwd, home))
                return true;
            removes |= (i == p->first || runs) && (str_is(name, "rm") || str_is(name, "rmdir"));
        }
    }
    return false;
}

/* --- who runs what --------------------------------------------------------------------------- */

#define SHELLS "sh bash zsh dash ksh ash fish csh tcsh eval source . busybox"
/* Programs that run what follows them. */
#define RUNNERS                                                                                    \
    SHELLS " sudo doas su env exec command builtin nohup setsid nice ionice chrt taskset time "    \
           "timeout stdbuf xargs parallel watch flock chroot unshare nsenter strace ltrace gdb "   \
           "valgrind script ssh noglob trap coproc find fd firejail bwrap systemd-run runuser "    \
           "setarch entr faketime fakeroot unbuffer rlwrap chronic"

struct str shell_base_name(struct str path)
{
    while (str_chr(path, '/') < path.len)
        path = str_from(path, str_chr(path, '/') + 1);
    return path;
}

struct str shell_part_program(const struct shell_part *p)
{
    return shell_base_name(shell_word_at(p, 0)->text);
}

bool shell_part_is_shell(const struct shell_part *p)
{
    return str_is_word_of(shell_part_program(p), SHELLS);
}

bool shell_part_is_runner(const struct shell_part *p)
{
    return str_is_word_of(shell_part_program(p), RUNNERS);
}
