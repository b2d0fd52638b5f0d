/*
 * protect_check: a check's command line, taken apart by conf/shell.h, and what each of its commands
 * leads to. It errs towards too much: a word that could be a program is taken for one, and a
 * command is looked at in every folder that a `cd` of the line could have led to. Any thread.
 */
#include <string.h>
#include <sys/stat.h>

#include "agent/path_glob.h"
#include "base/buf.h"
#include "base/file.h"
#include "conf/shell.h"
#include "conf/shell_runner.h"
#include "goal/check.h"
#include "goal/protect.h"
#include "goal/protect_search.h"
#include "goal/recipe.h"

#define SEARCH_MAX_DEPTH 4 /* of commands that hold commands */
#define SEARCH_MAX_WORK 500
#define SEARCH_MAX_FOLDERS 16
#define SEARCH_MAX_NOTES 3
#define SEARCH_SHOW 80 /* bytes of a check in a reason */

void search_add(struct search *s, enum found_kind kind, struct str path, const char *what)
{
    CLEANUP(buf_release) struct buf why = BUF_INIT(BUF_NO_LIMIT);
    struct str check = str_clip(s->check, SEARCH_SHOW);

    buf_addf(&why, "%s the check '%.*s%s'", what, STR_ARG(check),
             check.len < s->check.len ? "…" : "");
    for (size_t i = 0; i < why.len; i++) {
        if ((unsigned char)why.ptr[i] < ' ')
            why.ptr[i] = ' ';
    }
    protect_find_add(s->finder, kind, path, buf_cstr(&why));
}

bool search_may_go_on(struct search *s)
{
    return s->work++ < SEARCH_MAX_WORK;
}

/* ---- folders ---- */

void search_enter(struct search *s, struct str folder)
{
    size_t count = s->folders.len;

    for (size_t i = 0; i < count && s->folders.len < SEARCH_MAX_FOLDERS; i++) {
        CLEANUP(mem_freep)
        char *absolute = protect_find_absolute(s->finder, s->folders.ptr[i], folder);
        struct str relative = protect_find_relative(s->finder, str_of(absolute));

        if (str_starts(relative, STR("/")) || !file_is_dir(absolute))
            continue; /* outside, or nowhere */
        if (!strv_has(&s->folders, relative))
            strv_add(&s->folders, relative);
    }
}

/* ---- programs ---- */

/* The file that PATH gives for a name; false: none. */
static bool protect_find_program(const struct protect_find *f, struct str name, struct buf *ret)
{
    struct str rest = check_path(&f->env);
    struct str dir;

    while (str_cut(&rest, ':', &dir)) {
        struct stat st;

        buf_clear(ret);
        buf_add(ret, dir);
        buf_addc(ret, '/');
        buf_add(ret, name);
        if (stat(buf_cstr(ret), &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & 0111)
            return true;
    }
    return false;
}

static bool search_is_program(struct search *s, struct str name)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    return name.len && str_chr(name, '/') == name.len && !recipe_is_builtin(name) &&
           protect_find_program(s->finder, name, &path);
}

/* ---- files that are named ---- */

static bool is_of_the_system(const char *path)
{
    static const struct str places[] = {STR_INIT("/usr/"), STR_INIT("/bin/"), STR_INIT("/sbin/"),
                                        STR_INIT("/lib"),  STR_INIT("/nix/"), STR_INIT("/opt/"),
                                        STR_INIT("/etc/"), STR_INIT("/dev/"), STR_INIT("/proc/"),
                                        STR_INIT("/sys/")};

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        if (str_starts(str_of(path), places[i]))
            return true;
    }
    return false;
}

/* The user learns at once what the agent will not be allowed to change. */
static void search_note(struct search *s, struct str path)
{
    if (!recipe_is_test(path) && s->finder->named++ < SEARCH_MAX_NOTES)
        strv_addf(
            &s->finder->notes,
            "'%.*s' is protected because a check names it; if changing it is part of the work, "
            "protect less (--protect none) or accept the change (/goal accept)",
            STR_ARG(path));
}

bool search_file(struct search *s, struct str name, bool must, const char *what)
{
    bool found = false;

    if (!name.len || name.len > 1024)
        return false;
    for (size_t i = 0; i < s->folders.len; i++) {
        CLEANUP(mem_freep)
        char *absolute = protect_find_absolute(s->finder, s->folders.ptr[i], name);
        CLEANUP(mem_freep) char *real = NULL;
        struct str relative = protect_find_relative(s->finder, str_of(absolute));

        if (is_of_the_system(absolute) || !protect_find_is_file(absolute) ||
            protect_find_is_built(absolute))
            continue;
        if (!must && relative.ptr[0] != '/' && !protect_find_lists(s->finder, relative))
            continue;
        if (!s->scripts_only && !protect_find_has(s->finder, relative))
            search_note(s, relative);
        search_add(s, FOUND_FILE, relative, what);
        real = path_real(absolute);
        if (strcmp(real, absolute) != 0 && !is_of_the_system(real))
            search_add(s, FOUND_FILE, str_of(real), what);
        found = true;
    }
    return found;
}

/* Files that a glob of the command line stands for. */
static void search_glob(struct search *s, struct str glob)
{
    struct strv *files = &s->finder->files;

    for (size_t i = 0; i < s->folders.len; i++) {
        CLEANUP(mem_freep)
        char *absolute = protect_find_absolute(s->finder, s->folders.ptr[i], glob);
        struct str rooted = str_of(absolute);
        struct str dir = str_of(s->finder->spec->dir);

        if (!str_starts(rooted, dir))
            continue;
        rooted = str_from(rooted, dir.len);
        for (size_t k = 0; k < files->len; k++) {
            CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

            buf_addf(&path, "/%s", files->ptr[k]);
            if (path_glob_match(rooted, buf_str(&path)))
                search_add(s, FOUND_FILE, str_of(files->ptr[k]), "named by");
        }
    }
}

struct str search_word_path(const struct shell_word *w)
{
    static const struct str here[] = {STR_INIT("$PWD/"), STR_INIT("${PWD}/"), STR_INIT("\"$PWD\"/"),
                                      STR_INIT("\"$PWD/"), STR_INIT("\"${PWD}/")};

    if (!w->expands)
        return w->text;
    for (size_t i = 0; i < ARRAY_LEN(here); i++) {
        if (str_starts(w->raw, here[i])) {
            struct str rest = str_from(w->raw, here[i].len);

            if (str_ends(rest, STR("\"")))
                rest.len--;
            return str_chr(rest, '$') < rest.len ? STR("") : rest;
        }
    }
    return STR("");
}

/* An operand, or an option with a value: --config=FILE. */
static void search_operand(struct search *s, const struct shell_word *w)
{
    struct str text = search_word_path(w);

    if (s->scripts_only)
        return;
    if (str_starts(text, STR("-")))
        text = str_from(text, str_chr(text, '=') + 1);
    if (w->globs)
        search_glob(s, text);
    else
        search_file(s, text, /*must=*/false, "named by");
}

/* ---- commands ---- */

/* The word of a part where its program is, behind runners as far as they can be seen through. */
static size_t search_command_at(struct search *s, const struct shell_part *p)
{
    size_t at = p->first;

    for (size_t i = at; i < p->words.len; i++) {
        struct str word = p->words.ptr[i].text;
        struct str name = shell_base_name(word);

        if (i > at && (word.len == 0 || word.ptr[0] == '-' || shell_assignment_len(word)))
            continue;
        if (i == p->first || recipe_of(name) || search_is_program(s, word) ||
            str_chr(word, '/') < word.len)
            at = i;
        if (at == i && !recipe_is_runner(name))
            return at;
    }
    return at;
}

/* sh -c '…', bash -lc "…", eval …: the commands inside. */
static bool search_inside(struct search *s, const struct shell_part *p, size_t at)
{
    struct str name = shell_base_name(p->words.ptr[at].text);

    if (str_is(name, "eval")) {
        CLEANUP(buf_release) struct buf all = BUF_INIT(SHELL_MAX_TEXT);

        for (size_t i = at + 1; i < p->words.len; i++) {
            buf_add(&all, p->words.ptr[i].text);
            buf_addc(&all, ' ');
        }
        search_text(s, buf_str(&all));
        return true;
    }
    if (!str_is_word_of(name, "sh bash zsh dash ksh ash su fish"))
        return false;
    for (size_t i = at + 1; i + 1 < p->words.len; i++) {
        struct str word = p->words.ptr[i].text;

        if (word.len > 1 && word.ptr[0] == '-' && word.ptr[1] != '-' &&
            str_chr(word, 'c') < word.len) {
            search_text(s, p->words.ptr[i + 1].text);
            return true;
        }
    }
    return false;
}

/* python -m a.b: a/b.py or a/b/__main__.py. */
static void search_module(struct search *s, const struct shell_part *p, size_t at)
{
    for (size_t i = at + 1; i + 1 < p->words.len; i++) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(4096);
        static const char *const ends[] = {".py", "/__main__.py"};

        if (!str_is(p->words.ptr[i].text, "-m"))
            continue;
        for (size_t k = 0; k < ARRAY_LEN(ends); k++) {
            buf_clear(&path);
            buf_add(&path, p->words.ptr[i + 1].text);
            for (size_t c = 0; c < path.len; c++) {
                if (path.ptr[c] == '.')
                    path.ptr[c] = '/';
            }
            buf_adds(&path, ends[k]);
            search_file(s, buf_str(&path), /*must=*/true, "run by");
        }
        return;
    }
}

static bool is_script_name(struct str path)
{
    static const char *const ends[] = {".py", ".sh", ".js",  ".mjs",  ".cjs", ".ts",
                                       ".rb", ".pl", ".lua", ".bash", ".php"};

    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        if (str_ends(path, str_of(ends[i])))
            return true;
    }
    return false;
}

/* The first operand of an interpreter is a script; of what may be one, when it is called so. */
static void search_script(struct search *s, const struct shell_part *p, size_t at)
{
    bool known = recipe_is_interpreter(shell_base_name(p->words.ptr[at].text));

    search_module(s, p, at);
    for (size_t i = at + 1; i < p->words.len; i++) {
        struct str path = search_word_path(&p->words.ptr[i]);

        if (path.len && path.ptr[0] != '-' && !p->words.ptr[i].globs &&
            (known || is_script_name(path)) && search_file(s, path, /*must=*/true, "run by"))
            return;
    }
}

static void search_part(struct search *s, const struct shell_part *p)
{
    size_t at;
    struct str word;
    struct str name;

    if (p->first >= p->words.len)
        return;
    at = search_command_at(s, p);
    word = search_word_path(&p->words.ptr[at]);
    if (str_is(p->words.ptr[at].raw, "$(MAKE)") || str_is(p->words.ptr[at].raw, "${MAKE}"))
        word = STR("make");
    name = shell_base_name(word);
    if (str_is_word_of(name, "cd pushd")) {
        if (at + 1 < p->words.len)
            search_enter(s, search_word_path(&p->words.ptr[at + 1]));
        return;
    }
    for (size_t i = p->first; i <= at; i++) {
        if (search_is_program(s, p->words.ptr[i].text))
            search_add(s, FOUND_PROGRAM, p->words.ptr[i].text, "run by");
    }
    if (str_chr(word, '/') < word.len || p->words.ptr[at].expands) /* $PWD/x is x */
        search_file(s, word, /*must=*/true, "run by");
    for (size_t i = p->first; i < p->words.len; i++) {
        struct str program = i == at ? name : shell_base_name(p->words.ptr[i].text);
        const struct recipe *r = recipe_of(program);

        if (r && (i <= at || recipe_is_interpreter(name) || recipe_is_runner(name)))
            search_recipe(s, r, p);
        if (str_is_word_of(program, "pytest py.test tox nox hatch"))
            s->finder->python_tests = true;
    }
    if (search_inside(s, p, at))
        return;
    if (recipe_is_interpreter(name) || (s->scripts_only && !name.len)) /* $(PYTHON) x.py */
        search_script(s, p, at);
    if (!recipe_inspects(name)) {
        for (size_t i = at + 1; i < p->words.len; i++)
            search_operand(s, &p->words.ptr[i]);
    }
}

void search_text(struct search *s, struct str text)
{
    struct shell shell;

    if (!text.len || s->depth == SEARCH_MAX_DEPTH || !search_may_go_on(s))
        return;
    s->depth++;
    shell_split(&shell, text);
    VEC_EACH(&shell.parts, p) {
        search_part(s, p);
    }
    VEC_EACH(&shell.given, w) {
        search_text(s, w->text); /* bash <<EOF */
    }
    VEC_EACH(&shell.reads, w) {
        search_operand(s, w);
    }
    shell_release(&shell);
    s->depth--;
}

void protect_find_check(struct protect_find *f, struct str command)
{
    struct search s = {.finder = f, .check = str_trim(command)};

    strv_adds(&s.folders, "");
    search_text(&s, command);
    strv_release(&s.folders);
}
