/*
 * Scans one line of a scenario at a time, from left to right. Any thread.
 */
#include "llm/scenario/scenario_scan.h"

#include <stdarg.h>

#include "base/arena.h"
#include "base/err.h"

int scan_fail(struct scenario_scan *s, size_t at, const char *fmt, ...)
{
    va_list args;
    char text[300];

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return err_set(s->err, ERR_BAD_INPUT, "%s:%zu:%zu: %s", s->file, s->number, at + 1, text);
}

/* ---- words, quoted strings, numbers ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

void scan_blanks(struct scenario_scan *s)
{
    while (s->at < s->line.len && is_blank(s->line.ptr[s->at]))
        s->at++;
}

bool scan_at_end(struct scenario_scan *s)
{
    scan_blanks(s);
    return s->at == s->line.len || s->line.ptr[s->at] == '#';
}

bool scan_at_quote(struct scenario_scan *s)
{
    return !scan_at_end(s) && s->line.ptr[s->at] == '"';
}

struct str scan_word(struct scenario_scan *s)
{
    size_t start;

    scan_blanks(s);
    start = s->at;
    while (s->at < s->line.len && !is_blank(s->line.ptr[s->at]))
        s->at++;
    return str_make(s->line.ptr + start, s->at - start);
}

struct str scan_rest(struct scenario_scan *s)
{
    struct str rest;

    scan_blanks(s);
    rest = str_trim(str_from(s->line, s->at));
    s->at = s->line.len;
    return rest;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The character after a backslash at the cursor; the cursor moves past it. */
static int take_escape(struct scenario_scan *s, char *ret)
{
    static const char from[] = "nrt0\"\\";
    static const char to[] = "\n\r\t\0\"\\";
    char c = s->line.ptr[s->at];
    const char *found = memchr(from, c, sizeof(from) - 1);

    if (found) {
        *ret = to[found - from];
        s->at++;
        return 0;
    }
    if (c == 'x' && s->at + 2 < s->line.len) {
        int high = hex_digit(s->line.ptr[s->at + 1]);
        int low = hex_digit(s->line.ptr[s->at + 2]);

        if (high >= 0 && low >= 0) {
            *ret = (char)(high << 4 | low);
            s->at += 3;
            return 0;
        }
    }
    return scan_fail(s, s->at - 1, "unknown escape; known are \\n \\r \\t \\0 \\\" \\\\ \\xNN");
}

/* "quoted", cursor on the first quotation mark. */
int scan_quoted(struct scenario_scan *s, struct str *ret)
{
    size_t start = s->at;
    char *out = arena_alloc(s->arena, s->line.len - s->at + 1);
    size_t len = 0;

    for (s->at++; s->at < s->line.len; len++) {
        char c = s->line.ptr[s->at++];

        if (c == '"') {
            out[len] = '\0';
            *ret = str_make(out, len);
            return 0;
        }
        if (c == '\\' && s->at < s->line.len) {
            if (take_escape(s, &c) < 0)
                return -1;
        }
        out[len] = c;
    }
    return scan_fail(s, start, "the quotation mark is never closed");
}

/* A quoted string or a bare word. */
int scan_value(struct scenario_scan *s, const char *what, struct str *ret)
{
    if (scan_at_end(s))
        return scan_fail(s, s->at, "%s is missing", what);
    if (s->line.ptr[s->at] == '"')
        return scan_quoted(s, ret);
    *ret = arena_str(s->arena, scan_word(s));
    return 0;
}

int scan_number(struct scenario_scan *s, const char *what, int64_t min, int64_t max, int64_t *ret)
{
    struct str word;
    size_t start;
    int64_t n;

    if (scan_at_end(s))
        return scan_fail(s, s->at, "%s is missing", what);
    start = s->at;
    word = scan_word(s);
    if (str_to_i64(word, &n, NULL) < 0)
        return scan_fail(s, start, "%s is not a number: '%.*s'", what, STR_ARG(str_clip(word, 40)));
    if (n < min || n > max)
        return scan_fail(s, start, "%s must be between %lld and %lld", what, (long long)min,
                         (long long)max);
    *ret = n;
    return 0;
}

/* "20ms", "2s"; a bare number is milliseconds. */
int scan_duration(struct scenario_scan *s, int64_t max_ms, int64_t *ret)
{
    struct str word;
    int64_t unit = 1, n;
    size_t start;

    if (scan_at_end(s))
        return scan_fail(s, s->at, "a duration such as 20ms or 2s is missing");
    start = s->at;
    word = scan_word(s);
    if (str_ends(word, STR("ms"))) {
        word.len -= 2;
    } else if (str_ends(word, STR("s"))) {
        word.len -= 1;
        unit = 1000;
    }
    if (str_to_i64(word, &n, NULL) < 0 || n < 0 || n > max_ms / unit)
        return scan_fail(s, start, "not a duration (20ms, 2s; %lld s at most)",
                         (long long)(max_ms / 1000));
    *ret = n * unit;
    return 0;
}

int scan_end(struct scenario_scan *s)
{
    if (scan_at_end(s))
        return 0;
    return scan_fail(s, s->at, "nothing more is expected here");
}

/* ---- lines ---- */

bool scan_next_line(struct scenario_scan *s)
{
    if (!str_cut(&s->rest, '\n', &s->line))
        return false;
    if (str_ends(s->line, STR("\r")))
        s->line.len--;
    s->number++;
    s->at = 0;
    return true;
}

static size_t indent_of(struct str line)
{
    size_t n = 0;

    while (n < line.len && is_blank(line.ptr[n]))
        n++;
    return n;
}

/* "<<END": the lines up to one that is END, each without END's own indentation. */
int scan_document(struct scenario_scan *s, struct str *ret)
{
    size_t start_number = s->number, start = s->at, indent = 0, len = 0;
    struct str end, body = s->rest, all;
    bool found = false;
    char *out;

    s->at += 2;
    end = scan_word(s);
    if (!end.len)
        return scan_fail(s, start, "a word is missing after <<");
    if (scan_end(s) < 0)
        return -1;
    while (!found && scan_next_line(s)) {
        found = str_eq(str_trim(s->line), end);
        indent = indent_of(s->line);
    }
    if (!found) {
        s->number = start_number;
        return scan_fail(s, start, "no line '%.*s' ends this text", STR_ARG(str_clip(end, 40)));
    }

    all = str_make(body.ptr, (size_t)(s->line.ptr - body.ptr));
    out = arena_alloc(s->arena, all.len + 1);
    /* By line number, because a line of the text may look like the end line. */
    for (size_t n = start_number + 1; n < s->number; n++) {
        struct str line;
        size_t cut;

        str_cut(&all, '\n', &line);
        if (str_ends(line, STR("\r")))
            line.len--;
        cut = indent_of(line) < indent ? indent_of(line) : indent;
        if (n > start_number + 1)
            out[len++] = '\n';
        memcpy(out + len, line.ptr + cut, line.len - cut);
        len += line.len - cut;
    }
    out[len] = '\0';
    *ret = str_make(out, len);
    s->at = s->line.len;
    return 0;
}

/* The rest of the line as it is, "quoted", or <<END. */
int scan_text(struct scenario_scan *s, struct str *ret)
{
    struct str rest;

    scan_blanks(s);
    rest = str_from(s->line, s->at);
    if (str_starts(rest, STR("<<")) && rest.len > 2 && !is_blank(rest.ptr[2]))
        return scan_document(s, ret);
    if (str_starts(rest, STR("\""))) {
        if (scan_quoted(s, ret) < 0)
            return -1;
        if (!scan_at_end(s))
            return scan_fail(s, s->at,
                             "text after the closing quotation mark (inside quotes, write \\\")");
        return 0;
    }
    *ret = arena_str(s->arena, scan_rest(s));
    return 0;
}

/* ---- choosing from names ---- */

/* The nearest name, for a typing error; NULL when nothing is near. */
static const char *nearest(const struct scan_name *choices, struct str word)
{
    const char *best = NULL;
    size_t best_distance = 3;

    for (; choices->name; choices++) {
        size_t d = str_distance(word, str_of(choices->name), best_distance);

        if (d < best_distance) {
            best_distance = d;
            best = choices->name;
        }
    }
    return best;
}

int scan_choose(struct scenario_scan *s, const char *what, const struct scan_name *choices,
                struct str word, size_t column, int *ret)
{
    const char *near;

    for (const struct scan_name *c = choices; c->name; c++) {
        if (str_is(word, c->name)) {
            *ret = c->value;
            return 0;
        }
    }
    near = nearest(choices, word);
    if (near)
        return scan_fail(s, column, "unknown %s '%.*s'; did you mean '%s'?", what,
                         STR_ARG(str_clip(word, 40)), near);
    return scan_fail(s, column, "unknown %s '%.*s'", what, STR_ARG(str_clip(word, 40)));
}

int scan_choice(struct scenario_scan *s, const char *what, const struct scan_name *choices,
                int *ret)
{
    size_t start;

    if (scan_at_end(s))
        return scan_fail(s, s->at, "the %s is missing", what);
    start = s->at;
    return scan_choose(s, what, choices, scan_word(s), start, ret);
}

/* "key=" at the cursor: returns the key and moves past it; empty when the next word is none. */
struct str scan_key(struct scenario_scan *s)
{
    struct str rest = str_from(s->line, s->at);
    size_t n = 0;

    while (n < rest.len && rest.ptr[n] != '=' && rest.ptr[n] != '"' && !is_blank(rest.ptr[n]))
        n++;
    if (!n || n == rest.len || rest.ptr[n] != '=')
        return (struct str){0};
    s->at += n + 1;
    return str_first(rest, n);
}
