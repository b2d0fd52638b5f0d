/*
 * rule_command: rules against shell commands.
 *
 * Allowing and forbidding look at commands with different eyes. An allow rule must match the words
 * of a part exactly as they are written, so that no quote, variable or wrapper smuggles in another
 * command. A deny or ask rule is tried against every reading of every part that can be found: as
 * written, with quotes taken away, without the folder of the program, behind sudo, env and their
 * like, and inside what a shell is given to run. Pure; any thread.
 */
#include <fnmatch.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/rule_state.h"
#include "conf/rule_wild.h"
#include "conf/shell.h"
#include "conf/shell_kind.h"
#include "conf/shell_runner.h"
#include "conf/shell_work.h"

#define RULE_MAX_NESTING 4 /* of commands inside words: sh -c "sh -c '…'" */
#define RULE_MAX_RUN 500   /* words behind sudo and its like; what has more is forbidden */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* As written, with single spaces between. */
static void join_words(const struct shell_part *p, size_t from, struct buf *ret)
{
    buf_clear(ret);
    for (size_t i = from; i < p->words.len; i++) {
        buf_adds(ret, i > from ? " " : "");
        buf_add(ret, p->words.ptr[i].raw);
    }
}

/* The rule's first word, when it is written out. */
static struct str pattern_head(const struct rule *r)
{
    struct str head = str_first(r->pattern, str_chr(r->pattern, ' '));

    return rule_wild_has_star(head) ? (struct str){0} : head;
}

/* A part's words as one text, both as written and without quotes; and where each word starts. */
struct line {
    struct buf raw;
    struct buf text;
    VEC(size_t) raw_starts;
    VEC(size_t) text_starts;
};

static void line_release(struct line *l)
{
    buf_release(&l->raw);
    buf_release(&l->text);
    vec_release(&l->raw_starts);
    vec_release(&l->text_starts);
}

static void line_make(struct line *l, const struct shell_part *p)
{
    buf_clear(&l->raw);
    buf_clear(&l->text);
    l->raw_starts.len = l->text_starts.len = 0;
    VEC_EACH(&p->words, w) {
        buf_adds(&l->raw, l->raw.len ? " " : "");
        buf_adds(&l->text, l->raw_starts.len ? " " : "");
        vec_push(&l->raw_starts, l->raw.len);
        vec_push(&l->text_starts, l->text.len);
        buf_add(&l->raw, w->raw);
        buf_add(&l->text, w->text);
    }
}

/* What the shell would make of a first word with braces or patterns: {rm,-rf,x} is rm -rf x, and
 * /bin/r? may be rm. */
static bool forbids_glob(const struct rule *r, struct str line, struct str name)
{
    CLEANUP(mem_freep) char *flat = mem_dup(line.ptr, line.len);
    CLEANUP(mem_freep) char *glob = mem_dup(name.ptr, name.len);
    CLEANUP(mem_freep) char *head = mem_dup(pattern_head(r).ptr, pattern_head(r).len);

    for (size_t i = 0; i < line.len; i++) {
        if (flat[i] && strchr("{},", flat[i]))
            flat[i] = ' ';
    }
    return rule_text_matches(r, str_trim(str_make(flat, line.len))) ||
           (*head && fnmatch(glob, head, 0) == 0);
}

/* Every reading of the words from `from` on. */
static bool forbids_words(const struct rule *r, const struct shell_part *p, const struct line *l,
                          size_t from)
{
    const struct shell_word *first = &p->words.ptr[from];
    struct str text = str_from(buf_str(&l->text), l->text_starts.ptr[from]);
    struct str name = shell_base_name(first->text);

    if (rule_text_matches(r, str_from(buf_str(&l->raw), l->raw_starts.ptr[from])) ||
        rule_text_matches(r, text))
        return true;
    if (name.len < first->text.len &&
        rule_text_matches(r, str_from(text, first->text.len - name.len)))
        return true;
    return first->globs && forbids_glob(r, text, name);
}

/* A word that could be a command of its own, for whoever runs words. */
static bool is_script(const struct shell_word *w)
{
    return w->quoted &&
           (str_chr(w->text, ' ') < w->text.len || str_chr(w->text, ';') < w->text.len ||
            str_chr(w->text, '\n') < w->text.len || str_chr(w->text, '/') < w->text.len);
}

static bool forbids_part(const struct rule *r, const struct shell_part *p, bool shells,
                         unsigned depth, struct line *line)
{
    bool runs = shell_part_is_runner(p);

    if (runs && p->words.len > RULE_MAX_RUN)
        return true;
    line_make(line, p);
    /* Once as a whole, assignments included, then behind them. */
    if (forbids_words(r, p, line, 0))
        return true;
    for (size_t i = p->first; i < p->words.len; i++) {
        const struct shell_word *w = &p->words.ptr[i];

        if ((i == p->first || runs) && forbids_words(r, p, line, i))
            return true;
        if ((runs || shells) && is_script(w) && rule_forbids_command(r, w->text, depth + 1))
            return true;
    }
    return false;
}

bool rule_forbids_command(const struct rule *r, struct str text, unsigned depth)
{
    CLEANUP(shell_release) struct shell shell = {0};
    CLEANUP(line_release)
    struct line line = {.raw = BUF_INIT(BUF_NO_LIMIT), .text = BUF_INIT(BUF_NO_LIMIT)};
    bool shells = false;

    if (depth > RULE_MAX_NESTING)
        return true;
    shell_split(&shell, text);
    if (shell.too_big || rule_text_matches(r, str_trim(text)))
        return true;
    VEC_EACH(&shell.parts, p) {
        shells |= shell_part_is_shell(p);
    }
    VEC_EACH(&shell.parts, p) {
        if (forbids_part(r, p, shells, depth, &line))
            return true;
    }
    VEC_EACH(&shell.given, w) {
        if (shells && rule_forbids_command(r, w->text, depth + 1))
            return true;
    }
    return false;
}

/* As it is written, and without safe assignments and wrappers. */
static bool allows_part(const struct rule *r, const struct shell_part *p, struct buf *scratch)
{
    size_t from = 0;

    if (r->kind == RULE_KIND_TOOL)
        return true;
    if (r->kind != RULE_KIND_COMMAND)
        return false;
    if ((r->boundary || rule_wild_has_star(r->pattern)) && shell_part_runs_others(p))
        return false;
    while (from < p->first && shell_is_safe_assignment(&p->words.ptr[from]))
        from++;
    join_words(p, 0, scratch);
    if (!p->first && rule_text_matches(r, buf_str(scratch)))
        return true;
    if (from < p->first)
        return false;
    for (;;) {
        size_t n;

        join_words(p, from, scratch);
        if (from < p->words.len && rule_text_matches(r, buf_str(scratch)))
            return true;
        n = shell_wrapper_len(p, from);
        if (!n)
            return false;
        from += n;
    }
}

/* What a shell passes over; str_trim() takes more, and that would be part of a word. */
static struct str trim_blanks(struct str s)
{
    while (s.len && is_blank(s.ptr[0]))
        s = str_from(s, 1);
    while (s.len && is_blank(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

static bool shell_moves(const struct shell *s)
{
    VEC_EACH(&s->parts, p) {
        if (str_is_word_of(shell_part_program(p), "cd pushd popd"))
            return true;
    }
    return false;
}

bool rules_allow_command(struct rule *const *rules, size_t count, const struct rule_subject *s,
                         struct strv *ret_writes)
{
    CLEANUP(shell_release) struct shell shell;
    CLEANUP(buf_release) struct buf scratch = BUF_INIT(BUF_NO_LIMIT);
    struct str text = trim_blanks(s->text);

    shell_split(&shell, s->text);
    for (size_t i = 0; i < count; i++) {
        const struct rule *r = rules[i];

        if (!rule_names_tool(r, s->tool))
            continue;
        if (r->kind == RULE_KIND_TOOL)
            return true;
        if (r->kind == RULE_KIND_COMMAND && !r->boundary && !rule_wild_has_star(r->pattern) &&
            rule_text_matches(r, text))
            return true; /* this very text, whatever is in it */
    }
    if (!shell.certain || !shell.parts.len)
        return false;
    /* Behind a cd the targets of redirections would mean other files. */
    if (shell.writes.len && shell_moves(&shell))
        return false;
    VEC_EACH(&shell.parts, p) {
        bool allowed = shell_part_is_free(&shell, p);

        for (size_t i = 0; !allowed && i < count; i++)
            allowed = rule_names_tool(rules[i], s->tool) && allows_part(rules[i], p, &scratch);
        if (!allowed)
            return false;
    }
    VEC_EACH(&shell.writes, w) {
        strv_add(ret_writes, w->text);
    }
    return true;
}

/* --- questions about commands --------------------------------------------------------------- */

bool rule_command_is_read_only(struct str command)
{
    CLEANUP(shell_release) struct shell shell;

    shell_split(&shell, command);
    return shell_is_read_only(&shell);
}

bool rule_command_moves(struct str command)
{
    CLEANUP(shell_release) struct shell shell;

    shell_split(&shell, command);
    return shell_moves(&shell);
}

bool rule_command_is_file_work(struct str command, struct strv *ret_paths)
{
    CLEANUP(shell_release) struct shell shell;

    shell_split(&shell, command);
    return shell_is_file_work(&shell, ret_paths);
}

bool rule_command_is_critical(struct str command, const char *cwd, const char *home)
{
    CLEANUP(shell_release) struct shell shell;

    shell_split(&shell, command);
    return shell_removes_critical(&shell, cwd, home);
}

void rule_command_paths(struct str command, struct strv *ret_reads, struct strv *ret_writes)
{
    CLEANUP(shell_release) struct shell shell;

    shell_split(&shell, command);
    VEC_EACH(&shell.parts, p) {
        bool writes = !shell_part_is_read_only(p) && !str_is_word_of(shell_part_program(p), "git");

        for (size_t i = p->first; i < p->words.len; i++) {
            struct str text = p->words.ptr[i].text;

            if (str_starts(text, STR("-")))
                text = str_from(text, str_chr(text, '=') + 1);
            if (!text.len || ret_reads->len >= SHELL_MAX_PARTS)
                continue;
            strv_add(ret_reads, text);
            if (writes && i > p->first)
                strv_add(ret_writes, text);
        }
    }
    VEC_EACH(&shell.reads, w) {
        strv_add(ret_reads, w->text);
    }
    VEC_EACH(&shell.writes, w) {
        strv_add(ret_writes, w->text);
    }
}
