/*
 * rule: one rule parsed, and whether it speaks of a call.
 *
 * Allowing and forbidding look at commands with different eyes. An allow rule must match the words
 * of a part exactly as they are written, so that no quote, variable or wrapper smuggles in another
 * command. A deny or ask rule is tried against every reading of every part that can be found: as
 * written, with quotes taken away, without the folder of the program, behind sudo, env and their
 * like, and inside what a shell is given to run. Pure; any thread.
 */
#include "conf/rule.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/rule_path.h"
#include "conf/shell.h"
#include "conf/shell_kind.h"
#include "json/json.h"

#define RULE_MAX_TEXT 4000 /* bytes */
#define RULE_MAX_NESTING 4 /* of commands inside words: sh -c "sh -c '…'" */
#define RULE_MAX_RUN 500   /* words behind sudo and its like; what has more is forbidden */

enum rule_kind {
    KIND_TOOL, /* no specifier, or one that says "everything" */
    KIND_COMMAND,
    KIND_PATH,
    KIND_HOST,
    KIND_NAME,
};

struct rule {
    struct arena arena;
    struct str text;
    enum rule_list list;
    struct str tool; /* may have "*" in it */
    enum rule_kind kind;
    struct str pattern; /* commands, hosts and names; "\*" is a star */
    bool boundary;      /* a command's pattern ended in ":*" or " *": more words may follow */
    struct rule_path path;
    struct str param; /* deny and ask: this parameter ... */
    struct str value; /* ... has this value; param empty: none */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* "*" is anything; a backslash takes its meaning away. boundary: the text may go on behind a blank.
 * Only the last star is ever tried again, so hostile texts cost no more than length times length.
 */
static bool wild_match_to(struct str p, struct str t, bool boundary)
{
    struct str star = {0};
    struct str star_at = {0};

    for (;;) {
        if (p.len && p.ptr[0] == '*') {
            p = str_from(p, 1);
            star = p;
            star_at = t;
            if (!p.len)
                return true;
            continue;
        }
        if (!p.len && (!t.len || (boundary && is_blank(t.ptr[0]))))
            return true;
        if (p.len && t.len) {
            bool escaped = p.ptr[0] == '\\' && p.len > 1 && strchr("*()\\", p.ptr[1]);

            if (p.ptr[escaped] == t.ptr[0]) {
                p = str_from(p, 1 + escaped);
                t = str_from(t, 1);
                continue;
            }
        }
        if (!star.ptr || !star_at.len)
            return false;
        star_at = str_from(star_at, 1);
        t = star_at;
        p = star;
    }
}

static bool wild_match(struct str p, struct str t)
{
    return wild_match_to(p, t, /*boundary=*/false);
}

static bool wild_has_star(struct str p)
{
    for (size_t i = 0; i < p.len; i++) {
        if (p.ptr[i] == '\\')
            i++;
        else if (p.ptr[i] == '*')
            return true;
    }
    return false;
}

/* --- parsing -------------------------------------------------------------------------------- */

static bool is_tool_char(char c)
{
    return str_is_alnum(c) || c == '_' || c == '-' || c == '*' || c == '.' || c == ':';
}

static int rule_check_tool(const struct rule *r, struct err *err)
{
    struct str tool = r->tool;
    size_t star = str_chr(tool, '*');

    if (!tool.len)
        return err_set(err, ERR_BAD_INPUT, "the tool's name is missing");
    for (size_t i = 0; i < tool.len; i++) {
        if (!is_tool_char(tool.ptr[i]))
            return err_set(err, ERR_BAD_INPUT, "'%.*s' cannot be the name of a tool",
                           STR_ARG(str_clip(tool, 100)));
    }
    if (r->list == RULE_ALLOW && star < tool.len) {
        struct str head = str_first(tool, star);
        bool ok = str_starts(head, STR("mcp__")) &&
                  str_find(str_from(head, 5), STR("__")) + 2 <= head.len - 5 &&
                  str_find(str_from(head, 5), STR("__")) > 0;

        if (!ok)
            return err_set(err, ERR_BAD_INPUT,
                           "an allow rule may have a '*' only behind mcp__<server>__");
    }
    return 0;
}

/* "name:value" of deny and ask rules. */
static void rule_take_param(struct rule *r, struct str spec)
{
    size_t colon = str_chr(spec, ':');
    struct str name = str_first(spec, colon);

    if (r->list == RULE_ALLOW || colon == spec.len || !name.len)
        return;
    for (size_t i = 0; i < name.len; i++) {
        if (!str_is_alnum(name.ptr[i]) && name.ptr[i] != '_' && name.ptr[i] != '-')
            return;
    }
    if (str_is(name, "command") || str_is(name, "file_path") || str_is(name, "path") ||
        str_is(name, "notebook_path") || str_is(name, "url"))
        return;
    r->param = name;
    r->value = str_from(spec, colon + 1);
}

static int rule_take_command(struct rule *r, struct str spec, struct err *err)
{
    size_t colon = str_find(spec, STR(":*"));

    r->kind = KIND_COMMAND;
    if (str_ends(spec, STR(":*"))) {
        spec.len -= 2;
        r->boundary = true;
        colon = str_find(spec, STR(":*"));
    } else if (str_ends(spec, STR(" *"))) {
        spec.len -= 2;
        r->boundary = true;
    }
    if (colon < spec.len)
        return err_set(err, ERR_BAD_INPUT, "':*' stands at the end of a command");
    r->pattern = str_trim(spec);
    if (!r->pattern.len)
        return err_set(err, ERR_BAD_INPUT, "the command is missing");
    return 0;
}

static int rule_take_host(struct rule *r, struct str spec, struct err *err)
{
    r->kind = KIND_HOST;
    if (!str_starts(spec, STR("domain:"))) {
        if (r->param.len) {
            r->kind = KIND_NAME;
            r->pattern = spec;
            return 0;
        }
        return err_set(err, ERR_BAD_INPUT, "write domain:HOST between the parentheses");
    }
    r->param = (struct str){0};
    r->pattern = str_trim(str_from(spec, 7));
    if (!r->pattern.len)
        return err_set(err, ERR_BAD_INPUT, "the host is missing");
    return 0;
}

static int rule_take_specifier(struct rule *r, struct str spec, const struct rule_place *place,
                               struct err *err)
{
    rule_take_param(r, spec);
    if (str_is(r->tool, "Bash"))
        return rule_take_command(r, spec, err);
    if (str_is(r->tool, "Read") || str_is(r->tool, "Edit") || str_is(r->tool, "Cd")) {
        r->kind = KIND_PATH;
        return rule_path_parse(&r->arena, spec, r->list, place, &r->path, err);
    }
    if (str_is(r->tool, "WebFetch"))
        return rule_take_host(r, spec, err);
    r->kind = KIND_NAME;
    r->pattern = spec;
    if (r->param.len)
        return 0;
    if (str_is(r->tool, "Write") || str_is(r->tool, "MultiEdit") || str_is(r->tool, "NotebookEdit"))
        return err_set(err, ERR_BAD_INPUT,
                       "rules for paths are written Edit(…), which speaks of "
                       "every tool that writes");
    if (str_is(r->tool, "Glob") || str_is(r->tool, "Grep"))
        return err_set(err, ERR_BAD_INPUT,
                       "rules for paths are written Read(…), which speaks of "
                       "every tool that reads");
    if (str_starts(r->tool, STR("mcp__")))
        return err_set(err, ERR_BAD_INPUT, "tools of MCP servers take no '(…)' in this list");
    if (str_ends(r->pattern, STR(":*"))) {
        r->pattern.len -= 2;
        r->boundary = true;
    } else if (str_ends(r->pattern, STR(" *"))) {
        r->pattern.len -= 2;
        r->boundary = true;
    }
    return 0;
}

static int rule_parse_into(struct rule *r, const struct rule_place *place, struct err *err)
{
    size_t open = str_chr(r->text, '(');
    struct str spec;

    r->tool = str_trim(str_first(r->text, open));
    if (str_is(r->tool, "Task"))
        r->tool = STR("Agent");
    if (rule_check_tool(r, err) < 0)
        return -1;
    if (open == r->text.len)
        return 0;
    if (!str_ends(r->text, STR(")")))
        return err_set(err, ERR_BAD_INPUT, "a ')' is missing");
    spec = str_trim(str_from(str_first(r->text, r->text.len - 1), open + 1));
    if (!spec.len)
        return err_set(err, ERR_BAD_INPUT, "nothing is between the parentheses");
    if (str_is(spec, "*"))
        return 0;
    if (str_chr(r->tool, '*') < r->tool.len)
        return err_set(err, ERR_BAD_INPUT, "a tool's name with '*' takes no '(…)'");
    return rule_take_specifier(r, spec, place, err);
}

int rule_parse(struct str text, enum rule_list list, const struct rule_place *place,
               struct rule **ret, struct err *err)
{
    struct rule *r;
    struct str shown = str_clip(text, 100);

    text = str_trim(text);
    if (text.len > RULE_MAX_TEXT)
        return err_set(err, ERR_BAD_INPUT, "%.*s…: a rule has at most %d bytes", STR_ARG(shown),
                       RULE_MAX_TEXT);
    if (str_chr(text, '\0') < text.len)
        return err_set(err, ERR_BAD_INPUT, "%.*s: a rule has no NUL in it", STR_ARG(shown));
    r = mem_zalloc(sizeof(*r));
    r->text = arena_str(&r->arena, text);
    r->list = list;
    if (rule_parse_into(r, place, err) < 0) {
        rule_free(r);
        return err_prefix(err, "%.*s", STR_ARG(shown));
    }
    *ret = r;
    return 0;
}

void rule_free(struct rule *r)
{
    if (!r)
        return;
    arena_release(&r->arena);
    free(r);
}

struct str rule_text(const struct rule *r)
{
    return r->text;
}

/* --- tools, hosts, names, parameters -------------------------------------------------------- */

static bool rule_names_tool(const struct rule *r, struct str tool)
{
    if (str_is(tool, "Task"))
        tool = STR("Agent");
    if (wild_match(r->tool, tool))
        return true;
    /* "mcp__server" is all its tools. */
    return str_starts(r->tool, STR("mcp__")) &&
           str_find(str_from(r->tool, 5), STR("__")) == r->tool.len - 5 &&
           str_starts(tool, r->tool) && str_starts(str_from(tool, r->tool.len), STR("__"));
}

bool rule_covers_tool(const struct rule *r, struct str tool)
{
    return r->kind == KIND_TOOL && rule_names_tool(r, tool);
}

/* A star at the front is any number of labels, elsewhere a part of one. */
static bool host_matches(struct str pattern, struct str host)
{
    struct str p_label;
    struct str h_label;

    while (host.len && host.ptr[host.len - 1] == '.')
        host.len--;
    if (str_starts(pattern, STR("*."))) {
        struct str rest = str_from(pattern, 2);

        while (str_cut(&host, '.', &h_label)) {
            if (h_label.len && host.len && host_matches(rest, host))
                return true;
        }
        return false;
    }
    for (;;) {
        bool more = str_cut(&pattern, '.', &p_label);
        char lower_p[256];
        char lower_h[256];

        if (more != str_cut(&host, '.', &h_label))
            return false;
        if (!more)
            return true;
        if (p_label.len > sizeof(lower_p) || h_label.len > sizeof(lower_h))
            return false;
        for (size_t i = 0; i < p_label.len; i++)
            lower_p[i] =
                (char)(p_label.ptr[i] | (p_label.ptr[i] >= 'A' && p_label.ptr[i] <= 'Z' ? 32 : 0));
        for (size_t i = 0; i < h_label.len; i++)
            lower_h[i] =
                (char)(h_label.ptr[i] | (h_label.ptr[i] >= 'A' && h_label.ptr[i] <= 'Z' ? 32 : 0));
        if (!wild_match(str_make(lower_p, p_label.len), str_make(lower_h, h_label.len)))
            return false;
    }
}

/* "deploy" and, with a boundary, "deploy prod". */
static bool text_matches(const struct rule *r, struct str text)
{
    return wild_match_to(r->pattern, text, r->boundary);
}

static bool param_matches(const struct rule *r, const struct json *args)
{
    const struct json *v = r->param.len ? json_get_key(args, r->param) : NULL;

    if (!v || json_is(v, JSON_ARRAY) || json_is(v, JSON_OBJECT) || json_is(v, JSON_NULL))
        return false;
    return wild_match(r->value, json_is(v, JSON_STRING) ? json_str(v) : json_raw(v));
}

static bool path_rule_matches(const struct rule *r, const struct rule_subject *s)
{
    if (s->about != ABOUT_PATH)
        return false;
    if (str_is(r->tool, "Edit") && !s->writes)
        return false;
    /* What may not be read may not be written either. */
    if (str_is(r->tool, "Read") && s->writes && r->list != RULE_DENY)
        return false;
    if (str_is(r->tool, "Cd") && !str_is(s->tool, "Cd"))
        return false;
    return r->kind == KIND_TOOL || rule_path_matches(&r->path, s->text);
}

/* --- commands ------------------------------------------------------------------------------- */

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

    return wild_has_star(head) ? (struct str){0} : head;
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
    return text_matches(r, str_trim(str_make(flat, line.len))) ||
           (*head && fnmatch(glob, head, 0) == 0);
}

/* Every reading of the words from `from` on. */
static bool forbids_words(const struct rule *r, const struct shell_part *p, const struct line *l,
                          size_t from)
{
    const struct shell_word *first = &p->words.ptr[from];
    struct str text = str_from(buf_str(&l->text), l->text_starts.ptr[from]);
    struct str name = shell_base_name(first->text);

    if (text_matches(r, str_from(buf_str(&l->raw), l->raw_starts.ptr[from])) ||
        text_matches(r, text))
        return true;
    if (name.len < first->text.len && text_matches(r, str_from(text, first->text.len - name.len)))
        return true;
    return first->globs && forbids_glob(r, text, name);
}

static bool forbids_command(const struct rule *r, struct str text, unsigned depth);

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
        if ((runs || shells) && is_script(w) && forbids_command(r, w->text, depth + 1))
            return true;
    }
    return false;
}

static bool forbids_command(const struct rule *r, struct str text, unsigned depth)
{
    CLEANUP(shell_release) struct shell shell = {0};
    CLEANUP(line_release)
    struct line line = {.raw = BUF_INIT(BUF_NO_LIMIT), .text = BUF_INIT(BUF_NO_LIMIT)};
    bool shells = false;

    if (depth > RULE_MAX_NESTING)
        return true;
    shell_split(&shell, text);
    if (shell.too_big || text_matches(r, str_trim(text)))
        return true;
    VEC_EACH(&shell.parts, p) {
        shells |= shell_part_is_shell(p);
    }
    VEC_EACH(&shell.parts, p) {
        if (forbids_part(r, p, shells, depth, &line))
            return true;
    }
    VEC_EACH(&shell.given, w) {
        if (shells && forbids_command(r, w->text, depth + 1))
            return true;
    }
    return false;
}

/* As it is written, and without safe assignments and wrappers. */
static bool allows_part(const struct rule *r, const struct shell_part *p, struct buf *scratch)
{
    size_t from = 0;

    if (r->kind == KIND_TOOL)
        return true;
    if (r->kind != KIND_COMMAND)
        return false;
    if ((r->boundary || wild_has_star(r->pattern)) && shell_part_runs_others(p))
        return false;
    while (from < p->first && shell_is_safe_assignment(&p->words.ptr[from]))
        from++;
    join_words(p, 0, scratch);
    if (!p->first && text_matches(r, buf_str(scratch)))
        return true;
    if (from < p->first)
        return false;
    for (;;) {
        size_t n;

        join_words(p, from, scratch);
        if (from < p->words.len && text_matches(r, buf_str(scratch)))
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
        if (r->kind == KIND_TOOL)
            return true;
        if (r->kind == KIND_COMMAND && !r->boundary && !wild_has_star(r->pattern) &&
            text_matches(r, text))
            return true; /* this very text, whatever is in it */
    }
    if (!shell.certain || !shell.parts.len)
        return false;
    /* Behind a cd the targets of redirections would mean other files. */
    VEC_EACH(&shell.parts, p) {
        if (shell.writes.len && str_is_word_of(shell_part_program(p), "cd pushd popd"))
            return false;
    }
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

bool rule_matches(const struct rule *r, const struct rule_subject *s)
{
    if (rule_names_tool(r, s->tool)) {
        if (r->kind == KIND_TOOL || param_matches(r, s->args))
            return true;
        if (r->kind == KIND_HOST)
            return s->about == ABOUT_HOST && host_matches(r->pattern, s->text);
        if (r->kind == KIND_NAME)
            return s->about == ABOUT_NAME && text_matches(r, s->text);
        if (r->kind == KIND_COMMAND && s->about == ABOUT_COMMAND) {
            struct rule *one = (struct rule *)r;
            CLEANUP(strv_release) struct strv writes = STRV_INIT;

            if (r->list == RULE_ALLOW)
                return rules_allow_command(&one, 1, s, &writes) && !writes.len;
            return forbids_command(r, s->text, 0);
        }
    }
    if (str_is(r->tool, "Read") || str_is(r->tool, "Edit") || str_is(r->tool, "Cd"))
        return path_rule_matches(r, s);
    return false;
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
    VEC_EACH(&shell.parts, p) {
        if (str_is_word_of(shell_part_program(p), "cd pushd popd"))
            return true;
    }
    return false;
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
