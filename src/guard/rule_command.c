/*
 * rule_command: parses a command once, and answers questions about it.
 *
 * Allow and deny rules examine commands differently. An allow rule must match the words of a part
 * exactly as written, so that no quote, variable or wrapper hides another command. Deny and ask
 * rules see every command in it: rule_found.c. Pure; any thread.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/strv.h"
#include "base/words.h"
#include "guard/rule_state.h"
#include "guard/rule_wild.h"
#include "shell/shell.h"
#include "shell/shell_kind.h"
#include "shell/shell_runner.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* --- taken apart ---------------------------------------------------------------------------- */

/* As written, with single spaces. */
static void line_make(struct rule_line *l, struct arena *arena, const struct shell_part *p)
{
    size_t len = p->words.len;
    char *line;
    size_t n = 0;

    VEC_EACH(&p->words, w) {
        len += w->raw.len;
    }
    line = arena_alloc(arena, len + 1);
    l->starts = arena_alloc(arena, (p->words.len + 1) * sizeof(*l->starts));
    for (size_t i = 0; i < p->words.len; i++) {
        struct str raw = p->words.ptr[i].raw;

        if (i)
            line[n++] = ' ';
        l->starts[i] = n;
        memcpy(line + n, raw.ptr, raw.len);
        n += raw.len;
    }
    l->raw = str_make(line, n);
}

struct rule_command *rule_command_new(struct str text)
{
    struct rule_command *c = mem_zalloc(sizeof(*c));

    c->text = text;
    shell_split(&c->shell, text);
    c->lines = arena_alloc(&c->arena, (c->shell.parts.len + 1) * sizeof(*c->lines));
    for (size_t i = 0; i < c->shell.parts.len; i++) {
        const struct shell_part *p = &c->shell.parts.ptr[i];

        line_make(&c->lines[i], &c->arena, p);
        c->lines[i].reads = shell_part_is_read_only(p);
        c->lines[i].free = shell_part_is_free(&c->shell, p, c->lines[i].reads);
    }
    rule_command_find(c);
    return c;
}

void rule_command_free(struct rule_command *c)
{
    if (!c)
        return;
    shell_release(&c->shell);
    VEC_EACH(&c->inner, s) {
        shell_release(*s);
    }
    vec_release(&c->inner);
    vec_release(&c->found);
    vec_release(&c->lines_found);
    vec_release(&c->globs);
    arena_release(&c->arena);
    free(c);
}

void rule_command_freep(struct rule_command **c)
{
    rule_command_free(*c);
}

const char *rule_command_doubt(const struct rule_command *c)
{
    return c->shell.why;
}

/* --- allowing ------------------------------------------------------------------------------- */

#define MAX_WRAPPERS 16 /* before one command */

/* Possible starts of a part: as written, and without safe assignments and wrappers. */
struct part_starts {
    size_t at[MAX_WRAPPERS];
    size_t count;
};

static void find_starts(const struct shell_part *p, struct part_starts *ret)
{
    size_t from = 0;

    ret->count = 0;
    if (!p->words.len)
        return;
    while (from < p->first && shell_is_safe_assignment(&p->words.ptr[from]))
        from++;
    if (from < p->first)
        return;
    for (size_t n = 1; n && from < p->words.len && ret->count < MAX_WRAPPERS; from += n) {
        ret->at[ret->count++] = from;
        n = shell_wrapper_len(p, from);
    }
}

static bool allows_part(const struct rule *r, const struct shell_part *p, const struct rule_line *l,
                        const struct part_starts *starts)
{
    bool any_verb = r->head.len == r->pattern.len;

    if (r->kind == RULE_KIND_TOOL)
        return true;
    if (r->kind != RULE_KIND_COMMAND)
        return false;
    for (size_t i = 0; i < starts->count; i++) {
        struct str text = str_from(l->raw, l->starts[starts->at[i]]);

        if (rule_may_match(r, text) && rule_text_matches(r, text))
            return !((r->boundary || rule_wild_has_star(r->pattern)) &&
                     shell_part_exceeds(p, any_verb));
    }
    return false;
}

/* Blanks as the shell defines them; str_trim() removes more, which would be part of a word. */
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
        if (words_have(shell_part_program(p), "cd pushd popd"))
            return true;
    }
    return false;
}

bool rule_is_exact(const struct rule *r, struct str text)
{
    text = trim_blanks(text);
    return r->kind == RULE_KIND_COMMAND && !r->boundary && rule_may_match(r, text) &&
           !rule_wild_has_star(r->pattern) && rule_text_matches(r, text);
}

static bool is_free(const struct rule_command *c, size_t part)
{
    return c->lines[part].free || (c->stays && c->lines[part].reads);
}

static bool allow_command(struct rule *const *rules, size_t count, struct str tool,
                          const struct rule_command *c, struct strv *ret_writes,
                          const struct rule **ret_rule)
{
    *ret_rule = NULL;
    for (size_t i = 0; i < count; i++) {
        if ((rules[i]->kind == RULE_KIND_TOOL || rule_is_exact(rules[i], c->text)) &&
            rule_names_tool(rules[i], tool)) {
            *ret_rule = rules[i];
            return true;
        }
    }
    if (!c->shell.certain || !c->shell.parts.len)
        return false;
    /* After a cd the targets of redirections would be other files. */
    if (c->shell.writes.len && shell_moves(&c->shell))
        return false;
    for (size_t k = 0; k < c->shell.parts.len; k++) {
        bool allowed = is_free(c, k);
        struct part_starts starts;

        if (!allowed)
            find_starts(&c->shell.parts.ptr[k], &starts);
        for (size_t i = 0; !allowed && i < count; i++) {
            allowed = allows_part(rules[i], &c->shell.parts.ptr[k], &c->lines[k], &starts) &&
                      rule_names_tool(rules[i], tool);
            if (allowed)
                *ret_rule = rules[i];
        }
        if (!allowed)
            return false;
    }
    VEC_EACH(&c->shell.writes, w) {
        strv_add(ret_writes, w->text);
    }
    return true;
}

bool rules_allow_command(struct rule *const *rules, size_t count, const struct rule_subject *s,
                         struct strv *ret_writes, const struct rule **ret_rule)
{
    CLEANUP(rule_command_freep)
    struct rule_command *own = s->command ? NULL : rule_command_new(s->text);

    return allow_command(rules, count, s->tool, s->command ? s->command : own, ret_writes,
                         ret_rule);
}

/* --- questions about commands --------------------------------------------------------------- */

bool rule_command_is_read_only(const struct rule_command *c)
{
    if (!c->shell.certain || c->shell.writes.len || !c->shell.parts.len)
        return false;
    for (size_t i = 0; i < c->shell.parts.len; i++) {
        if (!is_free(c, i))
            return false;
    }
    return true;
}

bool rule_command_moves(const struct rule_command *c)
{
    return shell_moves(&c->shell);
}

bool rule_command_git_moves(const struct rule_command *c, struct strv *ret_dirs)
{
    bool has_git = false;

    VEC_EACH(&c->shell.parts, p) {
        struct shell_part bare = *p;
        bool fed;

        shell_part_unwrap(p, &bare, &fed);
        has_git |= str_is(shell_part_program(&bare), "git");
        if (!words_have(shell_part_program(&bare), "cd pushd"))
            continue;
        for (size_t i = 1; bare.first + i < bare.words.len; i++) {
            const struct shell_word *w = shell_word_at(&bare, i);

            strv_add(ret_dirs, w->expands ? STR("/") : w->text);
        }
    }
    return has_git && ret_dirs->len;
}

void rule_command_stays(struct rule_command *c)
{
    c->stays = true;
}

bool rule_command_hides_paths(const struct rule_command *c)
{
    for (size_t k = 0; k < c->shell.parts.len; k++) {
        const struct shell_part *p = &c->shell.parts.ptr[k];
        struct shell_part bare;
        bool fed = false;

        if (p->first == p->words.len || p->defined || !c->lines[k].reads)
            continue;
        if (shell_part_unwrap(p, &bare, &fed) && rule_names_no_files(&bare))
            continue;
        if (fed)
            return true;
        for (size_t i = p->first + 1; i < p->words.len; i++) {
            if (p->words.ptr[i].expands)
                return true;
        }
    }
    return false;
}

/* Every word of these may be a file that they change. */
#define CHANGERS                                                                                   \
    "tee touch mkdir rmdir rm mv cp ln install truncate shred unlink link mkfifo mknod chmod "     \
    "chown chgrp patch dd"

bool rule_command_hides_writes(const struct rule_command *c)
{
    VEC_EACH(&c->found, f) {
        const struct shell_part *p = &f->part;
        struct str program = shell_part_program(p);
        bool changes = words_have(program, CHANGERS);

        for (size_t i = p->first + 1; !changes && i < p->words.len; i++) {
            struct str text = p->words.ptr[i].text;

            changes = (str_is(program, "sed") && str_starts(text, STR("-")) &&
                       str_chr(text, 'i') < text.len) ||
                      (str_is(program, "sort") &&
                       (str_starts(text, STR("-o")) || str_starts(text, STR("--o"))));
        }
        /* cp "./$a" out: neither an option nor the destination */
        for (size_t i = p->first + 1; changes && i < p->words.len; i++) {
            const struct shell_word *w = &p->words.ptr[i];

            if (w->expands && !str_starts(w->raw, STR("if=")) && /* dd */
                (i + 1 == p->words.len ||
                 strchr("-$`", w->raw.ptr[w->raw.len > 1 && w->raw.ptr[0] == '"']) ||
                 str_starts(p->words.ptr[i - 1].text, STR("-")) ||
                 !words_have(program, "cp ln install")))
                return true;
        }
    }
    return false;
}
