/*
 * The reader of patterns: one pass, recursive over groups to a stated depth, that writes the
 * bounded pattern as it goes and collects literals on the way.
 *
 * Literals: a sequence keeps the run of plain characters it is in, and the best set seen so far. A
 * choice needs one from each branch. Zero-width things do not end a run, everything else does. Runs
 * are raw bytes of the pattern's text; where case does not matter they stop at letters whose other
 * case is not ASCII (k and the Kelvin sign, s and the long s). Any thread.
 */
#include "tools/search/regex_scan.h"

#include <string.h>

#include "base/mem.h"

#define MAX_DEPTH 20

struct need {
    struct literals set;
    size_t worth; /* of its least worthy member; 0: no set */
};

struct regex_text {
    struct str rest;
    struct buf *out;
    bool caseless;
    bool lost;        /* something is not understood: nothing can be said */
    bool plain;       /* only literal characters so far */
    bool has_newline; /* outside of classes */
    unsigned depth;
};

/* A sequence in the making. */
struct regex_sequence {
    char run[LITERAL_MAX_BYTES];
    size_t run_len;
    struct need best;
};

static struct need scan_choice(struct regex_text *s);

static bool at_end(const struct regex_text *s)
{
    return !s->rest.len;
}

static bool next_is(const struct regex_text *s, char c)
{
    return s->rest.len && s->rest.ptr[0] == c;
}

static bool skip(struct regex_text *s, const char *text)
{
    if (!str_starts(s->rest, str_of(text)))
        return false;
    s->rest = str_from(s->rest, strlen(text));
    return true;
}

/* Takes n bytes over as they are. */
static struct str copy(struct regex_text *s, size_t n)
{
    struct str taken = str_first(s->rest, n);

    buf_add(s->out, taken);
    s->rest = str_from(s->rest, n);
    return taken;
}

static void lose(struct regex_text *s)
{
    s->lost = true;
    s->rest = str_first(s->rest, 0);
}

/* --- literals -------------------------------------------------------------------------------- */

static void need_better(struct need *best, const struct need *other)
{
    if (other->worth > best->worth)
        *best = *other;
}

static void run_end(struct regex_text *s, struct regex_sequence *q)
{
    struct str text = str_make(q->run, q->run_len);
    struct need need = {.set = {.caseless = s->caseless}, .worth = literal_worth(text)};

    if (need.worth) {
        literals_add(&need.set, text);
        need_better(&q->best, &need);
    }
    q->run_len = 0;
}

static void run_add(struct regex_text *s, struct regex_sequence *q, struct str bytes)
{
    bool odd = false;

    for (size_t i = 0; s->caseless && i < bytes.len; i++)
        odd = odd || (unsigned char)bytes.ptr[i] >= 0x80 || str_chr(STR("kKsS"), bytes.ptr[i]) < 4;
    if (odd) {
        run_end(s, q);
        return;
    }
    if (q->run_len + bytes.len > sizeof(q->run))
        run_end(s, q);
    memcpy(q->run + q->run_len, bytes.ptr, bytes.len);
    q->run_len += bytes.len;
}

/* One set for all branches; the worth is that of the weakest, a little less for each. */
static void need_join(struct need *all, const struct need *branch)
{
    all->worth = branch->worth < all->worth ? branch->worth : all->worth;
    for (size_t i = 0; i < branch->set.count; i++) {
        const struct literal *l = &branch->set.items[i];

        if (!literals_add(&all->set, str_make((const char *)l->bytes, l->len)))
            all->worth = 0;
    }
    all->worth -= all->worth > 1;
}

/* --- quantifiers ----------------------------------------------------------------------------- */

struct times {
    bool given;
    bool may_be_none;
};

/* Bytes of "{2}", "{2,}" or "{2,5}" at the start, 0 when it is none of them. */
static size_t braces_len(struct str p, bool *ret_may_be_none)
{
    size_t i = 1;
    bool none = true;

    while (i < p.len && p.ptr[i] >= '0' && p.ptr[i] <= '9') {
        none = none && p.ptr[i] == '0';
        i++;
    }
    if (i == 1 || i == p.len)
        return 0;
    if (p.ptr[i] == ',')
        i++;
    while (i < p.len && p.ptr[i] >= '0' && p.ptr[i] <= '9')
        i++;
    if (i == p.len || p.ptr[i] != '}')
        return 0;
    *ret_may_be_none = none;
    return i + 1;
}

static struct times scan_times(struct regex_text *s)
{
    struct times t = {0};
    size_t len = 0;

    if (next_is(s, '?') || next_is(s, '*') || next_is(s, '+')) {
        t.may_be_none = !next_is(s, '+');
        len = 1;
    } else if (next_is(s, '{')) {
        len = braces_len(s->rest, &t.may_be_none);
    }
    if (!len)
        return t;
    t.given = true;
    s->plain = false;
    copy(s, len);
    if (next_is(s, '?') || next_is(s, '+')) /* lazy, possessive */
        copy(s, 1);
    return t;
}

/* A plain character of some bytes, its quantifier still to come. */
static void scan_literal(struct regex_text *s, struct regex_sequence *q, struct str bytes)
{
    struct times t = scan_times(s);

    if (!t.may_be_none)
        run_add(s, q, bytes);
    if (t.given) {
        run_end(s, q);
        if (!t.may_be_none)
            run_add(s, q, bytes); /* its last one stands before what follows */
    }
}

/* Something else that takes up room. */
static void scan_other(struct regex_text *s, struct regex_sequence *q)
{
    s->plain = false;
    (void)scan_times(s);
    run_end(s, q);
}

/* --- classes --------------------------------------------------------------------------------- */

/* Whether an escape inside a class may stand for a newline. */
static bool class_escape_has_newline(char c)
{
    return str_is_alnum(c) && !strchr("wdShVtrfaeb", c);
}

static bool class_name_has_newline(struct str p)
{
    static const char *const names[] = {"alpha",  "digit", "alnum", "upper", "lower", "punct",
                                        "xdigit", "word",  "blank", "graph", "print"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_starts(str_from(p, 2), str_of(names[i])))
            return false;
    }
    return true;
}

/* "alpha", "^alpha": anything else between [: and :] is no name to PCRE2 either. */
static bool class_is_name(struct str name)
{
    for (size_t i = name.len && name.ptr[0] == '^'; i < name.len; i++) {
        if (name.ptr[i] < 'a' || name.ptr[i] > 'z')
            return false;
    }
    return true;
}

/* Measures the class at the start of p, brackets included; 0 when it makes no sense. */
static size_t class_len(struct str p, bool *ret_has_newline)
{
    size_t i = 1;
    bool newline = false;

    if (i < p.len && p.ptr[i] == '^')
        i++;
    if (i < p.len && p.ptr[i] == ']')
        i++;
    for (; i < p.len && p.ptr[i] != ']'; i++) {
        char c = p.ptr[i];

        if (c == '\\') {
            i++;
            if (i == p.len)
                return 0;
            if (p.ptr[i] == 'Q' || p.ptr[i] == 'E')
                return 0;
            newline = newline || class_escape_has_newline(p.ptr[i]) ||
                      (unsigned char)p.ptr[i] < 0x20 || (i + 1 < p.len && p.ptr[i + 1] == '-');
            if (i + 1 < p.len && (p.ptr[i] == 'p' || p.ptr[i] == 'P' || p.ptr[i] == 'x') &&
                p.ptr[i + 1] == '{')
                i += str_chr(str_from(p, i), '}');
        } else if (c == '[' && i + 1 < p.len && p.ptr[i + 1] == ':') {
            struct str name = str_from(p, i + 2);
            size_t len = str_find(name, STR(":]"));

            if (len == name.len || !class_is_name(str_first(name, len)))
                return 0; /* to PCRE2 this bracket may be a bracket */
            newline = newline || class_name_has_newline(str_from(p, i));
            i += 2 + len + 1;
        } else if (c == '[' && i + 1 < p.len && (p.ptr[i + 1] == '.' || p.ptr[i + 1] == '=')) {
            return 0;
        } else if ((unsigned char)c < 0x20) { /* a newline, or a range that may hold one */
            newline = true;
        }
    }
    if (i >= p.len)
        return 0;
    *ret_has_newline = newline;
    return i + 1;
}

static void scan_class(struct regex_text *s, struct regex_sequence *q)
{
    static const char *const everything[] = {"[\\s\\S]", "[\\S\\s]", "[\\w\\W]",
                                             "[\\W\\w]", "[\\d\\D]", "[\\D\\d]"};
    bool has_newline = false;
    size_t len;

    for (size_t i = 0; i < ARRAY_LEN(everything); i++) {
        if (skip(s, everything[i])) {
            buf_adds(s->out, "\\N");
            scan_other(s, q);
            return;
        }
    }
    len = class_len(s->rest, &has_newline);
    if (!len || (s->rest.ptr[1] == '^' && s->rest.ptr[len - 2] == '-')) {
        lose(s); /* not a class, or the addition would end a range */
    } else if (s->rest.ptr[1] == '^') {
        copy(s, len - 1);
        buf_adds(s->out, "\\n]");
        s->rest = str_from(s->rest, 1);
    } else if (has_newline) {
        buf_adds(s->out, "(?:(?!\\n)");
        copy(s, len);
        buf_addc(s->out, ')');
    } else {
        copy(s, len);
    }
    scan_other(s, q);
}

/* --- escapes --------------------------------------------------------------------------------- */

/* \p and \P: the class without the newline. General categories but C (control) have none anyway. */
static void scan_property(struct regex_text *s, struct regex_sequence *q)
{
    char letter = s->rest.ptr[1];
    size_t len = 3;

    if (s->rest.len < 3) {
        lose(s);
        return;
    }
    if (s->rest.ptr[2] == '{')
        len = str_chr(s->rest, '}') + 1;
    if (len > s->rest.len) {
        lose(s);
        return;
    }
    if (letter == 'p' && len <= 6 && strchr("LNPSMZ", s->rest.ptr[len == 3 ? 2 : 3])) {
        copy(s, len);
    } else {
        buf_addf(s->out, "[^\\%c", letter == 'p' ? 'P' : 'p');
        s->rest = str_from(s->rest, 2);
        copy(s, len - 2);
        buf_adds(s->out, "\\n]");
    }
    scan_other(s, q);
}

/* \x41, \x{1F600}; a newline said this way is left to who matches line by line. */
static void scan_hex(struct regex_text *s, struct regex_sequence *q)
{
    size_t len = 2;
    unsigned value = 0;
    bool braces = s->rest.len > 2 && s->rest.ptr[2] == '{';

    len += braces;
    for (; len < s->rest.len && value < 0x110000; len++) {
        char c = s->rest.ptr[len];
        size_t digit =
            str_chr(STR("0123456789abcdef"), c >= 'A' && c <= 'F' ? (char)(c | 0x20) : c);

        if (digit == 16 || (!braces && len == 4))
            break;
        value = value * 16 + (unsigned)digit;
    }
    if (braces && (len >= s->rest.len || s->rest.ptr[len] != '}')) {
        lose(s);
        return;
    }
    if (value == '\n') {
        lose(s);
        return;
    }
    copy(s, len + braces);
    scan_other(s, q);
}

static const struct escape_row {
    char letter;
    const char *bound; /* what it becomes; NULL: it stays */
    bool takes_room;
} escape_rows[] = {
    {'d', NULL, true},        {'w', NULL, true},        {'h', NULL, true},
    {'N', NULL, true},        {'S', NULL, true},        {'V', NULL, true},
    {'t', NULL, true},        {'r', NULL, true},        {'f', NULL, true},
    {'a', NULL, true},        {'e', NULL, true},        {'D', "[^\\d\\n]", true},
    {'W', "[^\\w\\n]", true}, {'s', "[^\\S\\n]", true}, {'H', "[^\\h\\n]", true},
    {'v', "[^\\V\\n]", true}, {'b', NULL, false},       {'B', NULL, false},
    {'A', "^", false},        {'z', "$", false},        {'Z', "$", false},
    {'1', NULL, true},        {'2', NULL, true},        {'3', NULL, true},
    {'4', NULL, true},        {'5', NULL, true},        {'6', NULL, true},
    {'7', NULL, true},        {'8', NULL, true},        {'9', NULL, true},
};

static void scan_escape(struct regex_text *s, struct regex_sequence *q)
{
    char c = s->rest.len > 1 ? s->rest.ptr[1] : 'Q';
    const struct escape_row *row = NULL;

    if (!str_is_alnum(c)) { /* itself; of several bytes, the backslash is before the first */
        if ((unsigned char)c >= 0x80) {
            lose(s);
            return;
        }
        scan_literal(s, q, str_from(copy(s, 2), 1));
        return;
    }
    if (c == 'n')
        s->has_newline = true;
    if (c == 'p' || c == 'P') {
        scan_property(s, q);
        return;
    }
    if (c == 'x') {
        scan_hex(s, q);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(escape_rows); i++) {
        if (escape_rows[i].letter == c)
            row = &escape_rows[i];
    }
    /* \N{name} and \12 mean something else. */
    if (!row ||
        (s->rest.len > 2 && ((c == 'N' && s->rest.ptr[2] == '{') ||
                             (c <= '9' && s->rest.ptr[2] >= '0' && s->rest.ptr[2] <= '9')))) {
        lose(s);
        return;
    }
    s->plain = false;
    if (row->bound) {
        buf_adds(s->out, row->bound);
        s->rest = str_from(s->rest, 2);
    } else {
        copy(s, 2);
    }
    if (row->takes_room)
        scan_other(s, q);
    else if (scan_times(s).given)
        lose(s); /* "^*" and its like: not worth a thought */
}

/* --- groups ---------------------------------------------------------------------------------- */

enum group_kind {
    GROUP_UNKNOWN,
    GROUP_TEXT,
    GROUP_SEES,   /* no part of the match, but in its line */
    GROUP_MISSES, /* must not be there */
};

static enum group_kind scan_group_start(struct regex_text *s)
{
    static const char *const looks[] = {"(?=", "(?!", "(?<=", "(?<!"};
    static const char *const names[] = {"(?P<", "(?<", "(?'"};

    for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
        if (str_starts(s->rest, str_of(looks[i]))) {
            copy(s, strlen(looks[i]));
            return strchr(looks[i], '!') ? GROUP_MISSES : GROUP_SEES;
        }
    }
    if (str_starts(s->rest, STR("(?:")) || str_starts(s->rest, STR("(?>"))) {
        copy(s, 3);
        return GROUP_TEXT;
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_starts(s->rest, str_of(names[i]))) {
            char close = names[i][2] == '\'' ? '\'' : '>';
            size_t end = str_chr(s->rest, close);

            if (names[i][2] == '\'')
                end = 3 + str_chr(str_from(s->rest, 3), '\'');
            if (end >= s->rest.len)
                return GROUP_UNKNOWN;
            copy(s, end + 1);
            return GROUP_TEXT;
        }
    }
    if (s->rest.len > 1 && (s->rest.ptr[1] == '?' || s->rest.ptr[1] == '*'))
        return GROUP_UNKNOWN;
    copy(s, 1);
    return GROUP_TEXT;
}

static void scan_group(struct regex_text *s, struct regex_sequence *q)
{
    enum group_kind kind = scan_group_start(s);
    struct need inside;
    struct times t;

    s->plain = false;
    if (kind == GROUP_UNKNOWN || s->depth == MAX_DEPTH) {
        lose(s);
        return;
    }
    s->depth++;
    inside = scan_choice(s);
    s->depth--;
    if (!next_is(s, ')')) {
        lose(s);
        return;
    }
    copy(s, 1);
    t = scan_times(s);
    if (kind == GROUP_TEXT)
        run_end(s, q); /* the others take no room: the run around them goes on */
    if (kind != GROUP_MISSES && !t.may_be_none)
        need_better(&q->best, &inside);
}

/* --- the whole ------------------------------------------------------------------------------- */

static void scan_atom(struct regex_text *s, struct regex_sequence *q)
{
    unsigned char c = (unsigned char)s->rest.ptr[0];
    size_t len = 1;

    switch (c) {
    case '(':
        scan_group(s, q);
        return;
    case '[':
        scan_class(s, q);
        return;
    case '\\':
        scan_escape(s, q);
        return;
    case '.':
        copy(s, 1);
        scan_other(s, q);
        return;
    case '^':
    case '$':
        s->plain = false;
        copy(s, 1);
        if (scan_times(s).given)
            lose(s);
        return;
    case '*':
    case '+':
    case '?':
    case '\n':
    case '\0':
        s->has_newline = s->has_newline || c == '\n';
        lose(s);
        return;
    case '{': /* a quantifier of a quantifier or of nothing; newer versions know {,n} and { n } */
        if ((s->rest.len > 1 && (s->rest.ptr[1] == ',' || s->rest.ptr[1] == ' ')) ||
            braces_len(s->rest, &(bool){false})) {
            lose(s);
            return;
        }
        break;
    default:
        break;
    }
    while (c >= 0x80 && len < s->rest.len && ((unsigned char)s->rest.ptr[len] & 0xc0) == 0x80)
        len++;
    scan_literal(s, q, copy(s, len));
}

static struct need scan_sequence(struct regex_text *s)
{
    struct regex_sequence q = {.run_len = 0};

    while (!at_end(s) && !next_is(s, '|') && !next_is(s, ')'))
        scan_atom(s, &q);
    run_end(s, &q);
    return q.best;
}

static struct need scan_choice(struct regex_text *s)
{
    struct need all = scan_sequence(s);

    while (next_is(s, '|')) {
        struct need branch;

        s->plain = false;
        copy(s, 1);
        branch = scan_sequence(s);
        need_join(&all, &branch);
    }
    return all;
}

void regex_scan(struct str pattern, bool caseless, struct regex_scan *ret)
{
    struct buf bound = BUF_INIT(8 * REGEX_MAX_BYTES);
    struct regex_text s = {.rest = pattern, .out = &bound, .caseless = caseless, .plain = true};
    struct need need;

    if (str_starts(pattern, STR("(?i)"))) {
        copy(&s, 4);
        s.caseless = true;
        s.plain = false;
    }
    need = scan_choice(&s);
    *ret = (struct regex_scan){.has_newline = s.has_newline, .bound = BUF_INIT(0)};
    if (!s.lost && at_end(&s) && !bound.over) {
        if (need.worth)
            ret->literals = need.set;
        ret->is_literal = s.plain && !s.caseless && need.worth && pattern.len <= LITERAL_MAX_BYTES;
        buf_move(&ret->bound, &bound);
    }
    buf_release(&bound);
}

void regex_scan_release(struct regex_scan *s)
{
    buf_release(&s->bound);
}
