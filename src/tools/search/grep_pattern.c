/*
 * Patterns and matchers: three ways to find a line, the fastest that is known to be right.
 *
 * Literal: every match needs one of a few strings, so only lines that hold one are matched.
 * Bound: the pattern has been rewritten to stay in its line (regex_scan.h), so whole windows of
 * text are matched at once. Lines: one by one, for patterns that only PCRE2 itself understands.
 * A pattern is immutable; a matcher belongs to one thread.
 */
#include "tools/search/grep_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "tools/search/regex_scan.h"

#define WINDOW_BYTES ((size_t)256 << 10) /* matched in one go, so that a limit ends it soon */
#define JIT_STACK_BYTES ((size_t)1 << 20)
#define MATCH_LIMIT 5000000u

/* The same pattern for text of both kinds. */
struct program {
    pcre2_code *utf;
    pcre2_code *ascii; /* NULL: utf serves */
};

enum way {
    WAY_LITERAL,
    WAY_BOUND,
    WAY_LINES,
};

struct grep_pattern {
    enum way way;
    bool multiline;
    struct program line; /* the pattern as it is */
    struct program bound;
    struct regex_scan scan;
};

struct grep_matcher {
    const struct grep_pattern *pattern;
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    struct literal_scan literals;
    struct str text;
    bool is_ascii;
};

/* --- compiling ------------------------------------------------------------------------------- */

static pcre2_code *compile(struct str pattern, uint32_t options, struct err *err)
{
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    PCRE2_UCHAR why[200];
    PCRE2_SIZE at = 0;
    int code = 0;
    pcre2_code *re;

    if (!context)
        BUG("no memory for a pattern");
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(context, 100);
    re = pcre2_compile((PCRE2_SPTR)pattern.ptr, pattern.len, options, &code, &at, context);
    pcre2_compile_context_free(context);
    if (!re) {
        struct str before = str_first(pattern, at);

        while (before.len > 40 || (before.len && (before.ptr[0] & 0xc0) == 0x80))
            before = str_from(before, 1);
        pcre2_get_error_message(code, why, sizeof(why));
        err_set(err, ERR_BAD_INPUT,
                "the pattern is no regular expression (PCRE2): %s at offset %zu%s%.*s%s",
                (const char *)why, (size_t)at, before.len ? ", after \"" : "", STR_ARG(before),
                before.len ? "\"" : "");
        return NULL;
    }
    (void)pcre2_jit_compile(re, PCRE2_JIT_COMPLETE); /* where it cannot, pcre2_match() interprets */
    return re;
}

static int program_compile(struct program *p, struct str pattern, uint32_t options, struct err *err)
{
    bool ascii = true;

    for (size_t i = 0; i < pattern.len; i++)
        ascii = ascii && (unsigned char)pattern.ptr[i] < 0x80;
    p->utf = compile(pattern, options | PCRE2_UTF | PCRE2_UCP, err);
    if (!p->utf)
        return -1;
    /* \x{100} and its like do not compile here; then the first one serves for all. \C would. */
    if (ascii && !str_has(pattern, STR("\\C")))
        p->ascii = compile(pattern, options, NULL);
    return 0;
}

static void program_release(struct program *p)
{
    pcre2_code_free(p->utf);
    pcre2_code_free(p->ascii);
}

int grep_pattern_new(struct str pattern, bool caseless, bool multiline, struct grep_pattern **ret,
                     struct err *err)
{
    CLEANUP(grep_pattern_freep) struct grep_pattern *p = mem_zalloc(sizeof(*p));
    uint32_t options = PCRE2_MULTILINE | (caseless ? PCRE2_CASELESS : 0);

    if (pattern.len > REGEX_MAX_BYTES)
        return err_set(err, ERR_TOO_BIG, "the pattern is longer than %zu bytes", REGEX_MAX_BYTES);
    if (multiline)
        options |= PCRE2_DOTALL;
    p->multiline = multiline;
    p->way = WAY_LINES;
    if (program_compile(&p->line, pattern, options, err) < 0)
        return -1;
    regex_scan(pattern, caseless, &p->scan);
    if (p->scan.literals.count)
        p->way = WAY_LITERAL;
    else if (p->scan.bound.len && !multiline &&
             program_compile(&p->bound, buf_str(&p->scan.bound), options, NULL) == 0)
        p->way = WAY_BOUND;
    *ret = TAKE_PTR(p);
    return 0;
}

void grep_pattern_free(struct grep_pattern *p)
{
    if (!p)
        return;
    program_release(&p->line);
    program_release(&p->bound);
    regex_scan_release(&p->scan);
    free(p);
}

void grep_pattern_freep(struct grep_pattern **p)
{
    grep_pattern_free(*p);
}

bool grep_pattern_has_newline(const struct grep_pattern *p)
{
    return p->scan.has_newline;
}

/* --- matching -------------------------------------------------------------------------------- */

struct grep_matcher *grep_matcher_new(const struct grep_pattern *p)
{
    struct grep_matcher *m = mem_zalloc(sizeof(*m));

    m->pattern = p;
    m->data = pcre2_match_data_create(1, NULL);
    m->context = pcre2_match_context_create(NULL);
    m->stack = pcre2_jit_stack_create(32 << 10, JIT_STACK_BYTES, NULL);
    if (!m->data || !m->context)
        BUG("no memory for a match");
    pcre2_set_match_limit(m->context, MATCH_LIMIT);
    pcre2_set_heap_limit(m->context, 32 << 10); /* KB, of the interpreter */
    if (m->stack)
        pcre2_jit_stack_assign(m->context, NULL, m->stack);
    return m;
}

void grep_matcher_free(struct grep_matcher *m)
{
    if (!m)
        return;
    pcre2_match_data_free(m->data);
    pcre2_match_context_free(m->context);
    if (m->stack)
        pcre2_jit_stack_free(m->stack);
    free(m);
}

bool grep_matcher_may_match(struct grep_matcher *m, struct str bytes)
{
    struct literal_scan scan = {0};

    return !m->pattern->scan.literals.count ||
           literals_find(&m->pattern->scan.literals, &scan, bytes, 0) < bytes.len;
}

void grep_matcher_text(struct grep_matcher *m, struct str text, bool is_ascii)
{
    m->text = text;
    m->is_ascii = is_ascii;
    m->literals.text = NULL;
}

/* 1, 0 or -1; the span is relative to subject. */
static int run(struct grep_matcher *m, const struct program *p, struct str subject, size_t from,
               struct grep_span *ret, struct err *err)
{
    const pcre2_code *code = m->is_ascii && p->ascii ? p->ascii : p->utf;
    int rc = pcre2_match(code, (PCRE2_SPTR)subject.ptr, subject.len, from, PCRE2_NO_UTF_CHECK,
                         m->data, m->context);
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(m->data);
    PCRE2_UCHAR why[200];

    if (rc >= 0) {
        *ret = (struct grep_span){ends[0] < ends[1] ? ends[0] : ends[1], ends[1]}; /* \K in (?= */
        return 1;
    }
    if (rc == PCRE2_ERROR_NOMATCH)
        return 0;
    if (rc == PCRE2_ERROR_MATCHLIMIT || rc == PCRE2_ERROR_JIT_STACKLIMIT ||
        rc == PCRE2_ERROR_HEAPLIMIT || rc == PCRE2_ERROR_DEPTHLIMIT)
        return err_set(err, ERR_TOO_BIG,
                       "the pattern takes too many steps to match (nested repetition such as "
                       "(a+)+ ?)");
    pcre2_get_error_message(rc, why, sizeof(why));
    return err_set(err, ERR_BAD_INPUT, "the pattern cannot be matched: %s", (const char *)why);
}

static struct grep_span line_around(struct str text, size_t at)
{
    const char *before = memrchr(text.ptr, '\n', at);
    const char *end = memchr(text.ptr + at, '\n', text.len - at);

    return (struct grep_span){before ? (size_t)(before - text.ptr) + 1 : 0,
                              end ? (size_t)(end - text.ptr) : text.len};
}

static int line_matches(struct grep_matcher *m, struct grep_span line, struct err *err)
{
    struct grep_span match;

    return run(m, &m->pattern->line, str_make(m->text.ptr + line.start, line.end - line.start), 0,
               &match, err);
}

static int literal_line(struct grep_matcher *m, size_t from, struct grep_span *ret, struct err *err)
{
    while (from < m->text.len) {
        size_t at = literals_find(&m->pattern->scan.literals, &m->literals, m->text, from);
        int found;

        if (at == m->text.len)
            return 0;
        *ret = line_around(m->text, at);
        found = m->pattern->scan.is_literal ? 1 : line_matches(m, *ret, err);
        if (found)
            return found;
        from = ret->end + 1;
    }
    return 0;
}

/* The end of the window that starts at from: a whole number of lines. */
static size_t window_end(struct str text, size_t from)
{
    const char *newline;

    if (text.len - from <= WINDOW_BYTES)
        return text.len;
    newline = memchr(text.ptr + from + WINDOW_BYTES, '\n', text.len - from - WINDOW_BYTES);
    return newline ? (size_t)(newline - text.ptr) + 1 : text.len;
}

static int bound_line(struct grep_matcher *m, size_t from, struct grep_span *ret, struct err *err)
{
    while (from < m->text.len) {
        size_t end = window_end(m->text, from);
        struct str window = str_make(m->text.ptr + from, end - from);
        struct grep_span match;
        int found = run(m, &m->pattern->bound, window, 0, &match, err);

        if (found < 0)
            return found;
        /* After the last newline there is no line. */
        if (found && (match.start < window.len || window.ptr[window.len - 1] != '\n')) {
            *ret = line_around(m->text, from + match.start);
            return 1;
        }
        from = end;
    }
    return 0;
}

static int next_line(struct grep_matcher *m, size_t from, struct grep_span *ret, struct err *err)
{
    while (from < m->text.len) {
        int found;

        *ret = line_around(m->text, from);
        found = line_matches(m, *ret, err);
        if (found)
            return found;
        from = ret->end + 1;
    }
    return 0;
}

int grep_matcher_line(struct grep_matcher *m, size_t from, struct grep_span *ret, struct err *err)
{
    switch (m->pattern->way) {
    case WAY_LITERAL:
        return literal_line(m, from, ret, err);
    case WAY_BOUND:
        return bound_line(m, from, ret, err);
    case WAY_LINES:
        break;
    }
    return next_line(m, from, ret, err);
}

int grep_matcher_match(struct grep_matcher *m, size_t from, struct grep_span *ret, struct err *err)
{
    return run(m, &m->pattern->line, m->text, from, ret, err);
}
