/*
 * rule_reading: a command as a rule that forbids should see it.
 *
 * Every part is read in several ways: as written, with quotes taken away, without the folder of the
 * program, behind sudo, env and their like, inside what a shell is given to run, and inside the
 * strings of what other languages are given. A rule that matches any of these forbids the whole.
 * All readings are made once and are slices of a few lines. Pure; any thread.
 */
#include <fnmatch.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "base/words.h"
#include "guard/rule_state.h"
#include "guard/rule_wild.h"
#include "shell/shell_brace.h"
#include "shell/shell_kind.h"
#include "shell/shell_runner.h"

#define MAX_NESTING 4      /* of commands inside words: sh -c "sh -c '…'" */
#define MAX_READINGS 30000 /* what has more is forbidden */
#define MAX_STRINGS 5000   /* in the text of another language */
#define MAX_BRACES 64      /* words that one is expanded to */

static void read_text(struct rule_command *c, struct str text, unsigned depth);

static void add(struct rule_command *c, enum reading_kind kind, struct str text)
{
    if (c->readings.len >= MAX_READINGS) {
        c->too_big = true;
    } else if (text.len) {
        vec_push(&c->readings, ((struct reading){kind, text}));
        c->begins[(unsigned char)text.ptr[0]] = true;
        c->has_globs |= kind == READING_GLOB;
    }
}

/* --- lines ---------------------------------------------------------------------------------- */

/* A part's words without quotes, and where each starts. */
static struct str join_texts(struct arena *arena, const struct shell_part *p, size_t *starts)
{
    size_t len = p->words.len;
    char *line;
    size_t n = 0;

    VEC_EACH(&p->words, w) {
        len += w->text.len;
    }
    line = arena_alloc(arena, len + 1);
    for (size_t i = 0; i < p->words.len; i++) {
        struct str text = p->words.ptr[i].text;

        if (i)
            line[n++] = ' ';
        starts[i] = n;
        if (text.len)
            memcpy(line + n, text.ptr, text.len);
        n += text.len;
    }
    return str_make(line, n);
}

/* A part as it is read: its words joined, where each starts, and the same with spaces for braces,
 * made once it is needed. */
struct part_line {
    const struct shell_part *part;
    struct str text;
    size_t *starts;
    char *flat;
};

static struct str flat_from(struct rule_command *c, struct part_line *l, size_t start)
{
    if (!l->flat) {
        l->flat = arena_cstr(&c->arena, l->text);
        for (size_t i = 0; i < l->text.len; i++) {
            if (l->flat[i] && strchr("{},", l->flat[i]))
                l->flat[i] = ' ';
        }
    }
    return str_trim(str_from(str_make(l->flat, l->text.len), start));
}

/* What the shell may make of a first word with braces or patterns: {rm,-rf,x} is rm -rf x, r{m,} is
 * rm and r, /bin/r? may be rm. */
static void read_globs(struct rule_command *c, struct part_line *l, size_t i)
{
    struct str first = l->part->words.ptr[i].text;
    CLEANUP(strv_release) struct strv words = STRV_INIT;

    add(c, READING_LINE, flat_from(c, l, l->starts[i]));
    /* Of more words than can be looked at all begin so. */
    if (!shell_braces(first, MAX_BRACES, &words))
        strv_addf(&words, "%.*s*", STR_ARG(str_first(first, str_chr(first, '{'))));
    for (size_t k = 0; k < words.len; k++) {
        const char *name = arena_cstr(&c->arena, str_of(path_base(words.ptr[k])));

        add(c, READING_GLOB, str_of(name));
    }
}

static void read_from(struct rule_command *c, struct part_line *l, size_t i)
{
    const struct shell_word *first = &l->part->words.ptr[i];
    struct str text = str_from(l->text, l->starts[i]);
    struct str name = shell_base_name(str_first(text, first->text.len));

    add(c, READING_LINE, text);
    if (name.len < first->text.len)
        add(c, READING_LINE, str_from(text, first->text.len - name.len));
    if (first->globs)
        read_globs(c, l, i);
}

/* --- words that hold commands --------------------------------------------------------------- */

/* A word that could be a command of its own, for whoever runs words. */
static bool is_script(const struct shell_word *w)
{
    if (!w->quoted && !w->expands)
        return false;
    for (size_t i = 0; i < w->text.len; i++) {
        if (w->text.ptr[i] && strchr(" ;\n\t/|&(=$", w->text.ptr[i]))
            return true;
    }
    return false;
}

static bool is_quote(char c)
{
    return c == '\'' || c == '"' || c == '`' || c == '!' || c == '=' || c == '(' || c == '|' ||
           c == ';' || c == '&' || c == ':';
}

/* Words that what follows is run by: make's $(shell rm x), sqlite's .shell rm x, ssh's
 * ProxyCommand.
 */
#define RUN_WORDS "shell .shell .system exec spawn ProxyCommand LocalCommand q qq qw qx"

/* Behind perl's quotes: qx/rm x/, q#rm x#. */
static size_t perl_quote_len(struct str word)
{
    size_t n = 1;

    if (!str_starts(word, STR("q")))
        return 0;
    if (word.len > 1 && strchr("qxw", word.ptr[1]))
        n++;
    return n + 1 < word.len && strchr("/#~<^%@", word.ptr[n]) ? n + 1 : 0;
}

static void read_perl_quotes(struct rule_command *c, struct str flat)
{
    struct str rest = flat;
    struct str word;

    while (str_cut(&rest, ' ', &word) && !c->too_big) {
        if (perl_quote_len(word))
            add(c, READING_LINE,
                str_from(flat, (size_t)(word.ptr - flat.ptr) + perl_quote_len(word)));
    }
}

/* os.system('rm x'), ["rm", "x"], ext::rm x: what stands in strings, with the marks of other
 * languages taken for spaces. */
static void read_strings(struct rule_command *c, struct str text)
{
    VEC(size_t) starts = VEC_INIT;
    bool opens = true;
    size_t n = 0;
    char *flat;

    if (!text.len)
        return;
    flat = arena_alloc(&c->arena, text.len + 1);
    for (size_t i = 0; i < text.len; i++) {
        char ch = text.ptr[i];
        bool blank = !ch || strchr("'\"`,()[]{}!=;|&\n\t\\ ", ch);

        if (!blank) {
            if (opens)
                vec_push(&starts, n);
            opens = false;
            flat[n++] = ch;
        } else if (n && flat[n - 1] != ' ') {
            flat[n++] = ' ';
        }
        opens |= is_quote(ch);
    }
    VEC_EACH(&starts, s) {
        struct str rest = str_from(str_make(flat, n), *s);
        struct str name = str_first(rest, str_chr(rest, ' '));

        add(c, READING_LINE, rest);
        if (str_chr(name, '/') < name.len)
            add(c, READING_LINE, str_from(rest, name.len - shell_base_name(name).len));
        while (words_have(name, RUN_WORDS)) { /* exec q{rm x} */
            rest = str_trim(str_from(rest, name.len));
            name = str_first(rest, str_chr(rest, ' '));
            add(c, READING_LINE, rest);
        }
    }
    read_perl_quotes(c, str_make(flat, n));
    if (starts.len > MAX_STRINGS)
        c->too_big = true;
    vec_release(&starts);
}

/* Whether what is written somewhere may be run: by a shell, or as a program of its own. */
static bool runs_scripts(const struct shell *s)
{
    VEC_EACH(&s->parts, p) {
        struct str name = shell_word_at(p, 0)->text;

        if (shell_part_is_shell(p) || str_chr(name, '/') < name.len ||
            words_have(name, "chmod ssh su crontab at batch"))
            return true;
        for (size_t i = shell_part_runs_from(p); i < p->words.len; i++) {
            struct str inner = shell_base_name(p->words.ptr[i].text);

            if (shell_name_is_shell(inner) ||
                (words_have(name, "xargs parallel") && words_have(inner, "env nice sudo {}")))
                return true;
        }
    }
    return false;
}

/* filters: those count, too, that mostly change a text on its way. */
static bool runs_languages(const struct shell *s, bool filters)
{
    VEC_EACH(&s->parts, p) {
        if (shell_part_is_language(p) &&
            (filters || !words_have(shell_part_program(p), "sed gsed awk gawk mawk nawk")))
            return true;
    }
    return false;
}

/* Whatever its words hold, none of them is run: neither here nor by what is made of them. */
static bool only_reads(const struct shell *s)
{
    if (!s->certain || s->loose || s->broken || s->writes.len || s->given.len || s->values.len)
        return false;
    VEC_EACH(&s->parts, p) {
        if (p->first || p->defined || !shell_part_is_read_only(p))
            return false;
    }
    return true;
}

/* Builtins that run what an option of theirs holds, or make one name another program; and the
 * loader, which is given the program. */
static bool runs_its_words(const struct shell_part *p)
{
    struct str name = shell_part_program(p);

    return words_have(name, "hash mapfile readarray complete compgen jobs history") ||
           str_starts(name, STR("ld-linux")) || str_starts(name, STR("ld-musl"));
}

/* sed's command e: 1e rm x, $erm x, /a/e rm x. */
static void read_sed(struct rule_command *c, struct str script, unsigned depth)
{
    for (size_t i = 0; i + 1 < script.len; i++) {
        struct str rest = str_from(script, i + 1);

        if (script.ptr[i] == 'e' &&
            (!i || (script.ptr[i - 1] && strchr("0123456789$/;{}!,\n", script.ptr[i - 1]))))
            read_text(c, str_trim(str_first(rest, str_chr(rest, '\n'))), depth + 1);
    }
}

/* Builtins that take the name of a variable run the commands in its subscript: 'a[$(rm x)]'. */
static bool runs_subscript(const struct shell_part *p, const struct shell_word *w)
{
    return str_chr(w->text, '[') < w->text.len &&
           (str_has(w->text, STR("$(")) || str_chr(w->text, '`') < w->text.len) &&
           words_have(shell_part_program(p),
                      "printf read unset test [ declare typeset local export readonly let "
                      "mapfile readarray getopts wait");
}

/* --- parts ---------------------------------------------------------------------------------- */

/* shells: some part of the text is one, and may be fed by any other. */
static void read_part(struct rule_command *c, const struct shell_part *p, bool shells,
                      bool harmless, unsigned depth)
{
    size_t *starts = arena_alloc(&c->arena, (p->words.len + 1) * sizeof(*starts));
    struct part_line line = {.part = p, .text = join_texts(&c->arena, p, starts), .starts = starts};
    struct shell_runner runner = shell_part_runner(p);
    size_t runs_from = shell_part_runs_from(p);
    bool filters = harmless && str_is(shell_word_at(p, 0)->text, "sed"); /* sed '/rm -rf/p' x */

    /* echo rm x | sh */
    if (runs_its_words(p) || (shells && words_have(shell_part_program(p), "echo printf")))
        runs_from = p->first + 1;

    /* Once as a whole, assignments included, then behind them. */
    if (p->first)
        read_from(c, &line, 0);
    for (size_t i = p->first; i < p->words.len && !c->too_big; i++) {
        const struct shell_word *w = &p->words.ptr[i];
        bool runs = i >= runs_from;

        if (i == p->first || runs)
            read_from(c, &line, i);
        if (((runs || shells) && is_script(w)) || runs_subscript(p, w))
            read_text(c, w->text, depth + 1);
        if (runs && shell_assignment_len(w->raw)) /* alias ls=rm */
            read_text(c, str_from(w->text, shell_assignment_len(w->raw)), depth + 1);
        if (i == p->first || filters)
            continue;
        read_strings(c, shell_part_runs_word(p, i, runner));
        if (words_have(shell_part_program(p), "sed gsed"))
            read_sed(c, w->text, depth);
    }
    for (size_t i = 0; i < p->first; i++) {
        size_t n = shell_assignment_len(p->words.ptr[i].raw);
        struct str value = str_from(p->words.ptr[i].text, n);

        /* GIT_SSH_COMMAND='rm x', PAGER=…: programs run what is in these. */
        if (value.len && !shell_is_safe_assignment(&p->words.ptr[i]))
            read_text(c, str_from(value, str_starts(value, STR("!"))), depth + 1);
    }
}

/* As written: "rm *" must also match what no quote was taken from. */
static void read_raw(struct rule_command *c)
{
    for (size_t i = 0; i < c->shell.parts.len; i++) {
        const struct shell_part *p = &c->shell.parts.ptr[i];

        add(c, READING_LINE, c->lines[i].raw);
        if (p->first && p->first < p->words.len)
            add(c, READING_LINE, str_from(c->lines[i].raw, c->lines[i].starts[p->first]));
    }
}

/* What is broken has no readings of its own that could be trusted: all that could be a command's
 * start is one. */
static void read_broken(struct rule_command *c, struct str text)
{
    bool start = true;

    for (size_t i = 0; i < text.len && !c->too_big; i++) {
        char ch = text.ptr[i];

        if (ch && strchr("\n;|&(){}`'\"$", ch)) {
            start = true;
        } else if (start && ch != ' ' && ch != '\t') {
            struct str rest = str_from(text, i);

            size_t n = 0;

            while (n < rest.len && !(rest.ptr[n] && strchr("\n;|&()`", rest.ptr[n])))
                n++;
            add(c, READING_LINE, str_trim(str_first(rest, n)));
            start = false;
        }
    }
}

/* Programs that are fed one: echo 'system("rm x")' | perl. */
static void read_fed(struct rule_command *c, const struct shell_part *p)
{
    for (size_t i = p->first + 1; i < p->words.len; i++) {
        struct str text = p->words.ptr[i].text;

        if (str_has(text, STR("(\"")) || str_has(text, STR("('")))
            read_strings(c, text);
    }
}

/* Some command's name comes out of a variable or a substitution: words that go into these could be
 * it. set -- rm; f rm; $(which rm) */
static void read_names(struct rule_command *c, const struct shell_part *p)
{
    if (!p->defined && !words_have(shell_part_program(p), ": set echo printf which type basename"))
        return;
    for (size_t i = p->first + 1; i < p->words.len; i++)
        add(c, READING_WORD, arena_str(&c->arena, shell_base_name(p->words.ptr[i].text)));
}

#define MAX_TRIED 64 /* values in the place of names */

/* Whether each name that comes out of a variable is one of the text's values, as they are. */
static bool names_are_values(const struct shell *s)
{
    size_t names = 0;

    VEC_EACH(&s->parts, p) {
        const struct shell_word *name = shell_word_at(p, 0);

        if (name->expands &&
            (name->unknown || name->computed || !shell_is_variable_alone(name->raw)))
            return false;
        names += name->expands;
    }
    VEC_EACH(&s->values, w) {
        if (w->unknown || w->computed || w->globs)
            return false;
    }
    return names * s->values.len <= MAX_TRIED;
}

/* for c in git npm; do $c --version; done: each of them, with the words behind it. */
static void read_value(struct rule_command *c, const struct shell *s, struct str value,
                       unsigned depth)
{
    VEC_EACH(&s->parts, p) {
        CLEANUP(buf_release) struct buf line = BUF_INIT(SHELL_MAX_TEXT);

        if (!shell_word_at(p, 0)->expands)
            continue;
        buf_add(&line, value);
        for (size_t i = p->first + 1; i < p->words.len; i++) {
            buf_addc(&line, ' ');
            buf_add(&line, p->words.ptr[i].text);
        }
        read_text(c, buf_str(&line), depth + 1);
    }
}

static void read_shell(struct rule_command *c, const struct shell *s, struct str text,
                       unsigned depth)
{
    bool tries = s->loose && names_are_values(s);
    bool interprets = runs_languages(s, /*filters=*/false);
    bool shells = runs_scripts(s);
    bool languages = s->given.len && runs_languages(s, /*filters=*/true);
    bool harmless = !depth && only_reads(s); /* what is around a nested text may run it */

    if (s->too_big)
        c->too_big = true;
    add(c, READING_LINE, str_trim(text));
    VEC_EACH(&s->parts, p) {
        read_part(c, p, shells, harmless, depth);
        if (interprets && words_have(shell_part_program(p), "echo printf"))
            read_fed(c, p);
        if (s->loose)
            read_names(c, p);
    }
    VEC_EACH(&s->given, w) {
        if (shells)
            read_text(c, w->text, depth + 1);
        if (languages)
            read_strings(c, w->text);
    }
    VEC_EACH(&s->values, w) {
        struct str first = shell_base_name(str_first(w->text, str_chr(w->text, ' ')));

        if (tries)
            read_value(c, s, w->text, depth);
        else if (s->loose)
            add(c, READING_NAME, arena_str(&c->arena, first));
        if (shells && w->text.len)
            read_text(c, w->text, depth + 1);
    }
    VEC_EACH(&s->given, w) {
        if (s->loose) /* read x <<< rm; $x y */
            add(c, READING_WORD,
                arena_str(&c->arena, shell_base_name(str_first(w->text, str_chr(w->text, ' ')))));
    }
    if (s->broken)
        read_broken(c, text);
}

/* The texts of nested shells live as long as the command. */
static void read_text(struct rule_command *c, struct str text, unsigned depth)
{
    struct shell shell;

    if (depth > MAX_NESTING) {
        c->too_big = true;
        return;
    }
    if (c->too_big)
        return;
    text = arena_str(&c->arena, text);
    shell_split(&shell, text);
    read_shell(c, &shell, text, depth);
    shell_release(&shell);
}

void rule_command_read(struct rule_command *c)
{
    read_raw(c);
    read_shell(c, &c->shell, c->text, 0);
}

/* --- rules against readings ----------------------------------------------------------------- */

static bool glob_takes(const char *glob, struct str name)
{
    CLEANUP(mem_freep) char *whole = mem_dup(name.ptr, name.len);

    return name.len && fnmatch(glob, whole, 0) == 0;
}

bool rule_forbids_command(const struct rule *r, const struct rule_command *c)
{
    if (c->too_big)
        return true;
    if (!rule_may_forbid(r, c))
        return false;
    VEC_EACH(&c->readings, reading) {
        bool matches = false;

        switch (reading->kind) {
        case READING_LINE:
            matches = rule_may_match(r, reading->text) && rule_text_matches(r, reading->text);
            break;
        case READING_NAME:
            matches = r->head.len && str_eq(r->head, reading->text);
            break;
        case READING_WORD:
            matches =
                r->head.len && r->head.len == r->pattern.len && str_eq(r->head, reading->text);
            break;
        case READING_GLOB:
            matches = glob_takes(reading->text.ptr, r->head);
            break;
        }
        if (matches)
            return true;
    }
    return false;
}
