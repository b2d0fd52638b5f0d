/*
 * edit_explain: why a string is not in a text. Text and string are both made plainer in one respect
 * after the other (numbers of Read, escapes, white space, quotation marks, letter case) until they
 * meet: that respect is the cause. When they never meet, the place that has most of its lines is
 * shown. Runs on tool threads.
 */
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "tools/edit_match.h"

#define EXPLAIN_MAX_LINES 100000 /* of the text */
#define EXPLAIN_MAX_OLD 200      /* lines of the string */
#define EXPLAIN_MAX_SHOWN 12     /* lines */
#define EXPLAIN_MAX_LINE 300     /* bytes of a line shown */
#define EXPLAIN_MAX_DISTANCE 40  /* letters that may differ in a line called similar */

struct explain_lines {
    VEC(struct str) list;
};

static void lines_split(struct explain_lines *l, struct str text, size_t max)
{
    struct str line;

    while (text.len && l->list.len < max && str_cut(&text, '\n', &line))
        vec_push(&l->list, line);
}

static bool char_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* The ASCII for what word processors and models like to put in its place; 0: none. */
static char plain_of(uint32_t code)
{
    switch (code) {
    case 0x2018:
    case 0x2019:
    case 0x201a:
    case 0x2032:
    case '`':
        return '\'';
    case 0x201c:
    case 0x201d:
    case 0x201e:
    case 0x2033:
    case 0xab:
    case 0xbb:
        return '"';
    case 0x2010:
    case 0x2011:
    case 0x2012:
    case 0x2013:
    case 0x2014:
    case 0x2212:
        return '-';
    case 0xa0:
    case 0x2009:
    case 0x202f:
    case 0x3000:
        return ' ';
    default:
        return 0;
    }
}

enum plainer {
    PLAIN_BLANKS = 1, /* there are none */
    PLAIN_QUOTES = 2,
    PLAIN_CASE = 4, /* ASCII */
};

/* The text as it counts when some differences are left out of account; lines stay lines. */
static void add_plain(struct buf *out, struct str text, unsigned how)
{
    while (text.len) {
        uint32_t code = (unsigned char)text.ptr[0];
        size_t n = utf8_decode(text, &code);
        char c = how & PLAIN_QUOTES ? plain_of(code) : 0;

        n = n ? n : 1;
        if (!c && n == 1)
            c = text.ptr[0];
        if (how & PLAIN_CASE && c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if (!c)
            buf_add(out, str_first(text, n));
        else if (!(how & PLAIN_BLANKS) || !char_is_blank(c))
            buf_addc(out, c);
        text = str_from(text, n);
    }
}

static void show_lines(const struct explain_lines *text, size_t at, size_t count,
                       struct buf *ret_why)
{
    for (size_t i = at; i < at + count && i < text->list.len; i++) {
        struct str line = text->list.ptr[i];
        struct str shown;

        if (i - at == EXPLAIN_MAX_SHOWN) {
            buf_addf(ret_why, "\n     …");
            break;
        }
        if (line.len && line.ptr[line.len - 1] == '\r')
            line.len--;
        shown = str_clip(line, EXPLAIN_MAX_LINE);
        buf_addf(ret_why, "\n%6zu\t", i + 1);
        buf_add(ret_why, shown);
        if (shown.len < line.len)
            buf_adds(ret_why, "…");
    }
}

/* Whether the string is there once both are made plainer; the line where. */
static bool found_when_plain(struct str text, struct str old, unsigned how, size_t *ret_line)
{
    CLEANUP(buf_release) struct buf a = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf b = BUF_INIT(BUF_NO_LIMIT);
    struct str needle;
    size_t at;

    add_plain(&a, text, how);
    add_plain(&b, old, how);
    needle = buf_str(&b);
    if (!str_trim(needle).len)
        return false;
    at = str_find(buf_str(&a), needle);
    if (at >= a.len)
        return false;
    *ret_line = 0;
    for (size_t i = 0; i < at; i++)
        *ret_line += a.ptr[i] == '\n';
    return true;
}

/* "    12\ttext" or "12→text", as Read shows lines: the text. False when it is not one. */
static bool line_without_number(struct str line, struct str *ret)
{
    size_t i = 0;
    size_t digits = 0;

    while (i < line.len && line.ptr[i] == ' ')
        i++;
    while (i + digits < line.len && line.ptr[i + digits] >= '0' && line.ptr[i + digits] <= '9')
        digits++;
    line = str_from(line, i + digits);
    if (!digits)
        return false;
    if (str_starts(line, STR("\t")))
        *ret = str_from(line, 1);
    else if (str_starts(line, STR("→")))
        *ret = str_from(line, STR("→").len);
    else
        return false;
    return true;
}

static bool explain_numbers(struct str text, struct str old, struct buf *ret_why)
{
    CLEANUP(buf_release) struct buf bare = BUF_INIT(BUF_NO_LIMIT);
    struct str line;

    for (struct str rest = old; rest.len && str_cut(&rest, '\n', &line);) {
        if (!line_without_number(line, &line))
            return false;
        buf_add(&bare, line);
        if (rest.ptr)
            buf_addc(&bare, '\n');
    }
    if (!bare.len || !str_has(text, buf_str(&bare)))
        return false;
    buf_adds(ret_why, "old_string is not in the file: it begins with the line numbers that Read "
                      "shows. Leave number and tab out.");
    return true;
}

/* "\\n" and "\\\"" for a line break and a quotation mark: escaped once too often. */
static bool explain_escapes(struct str text, struct str old, struct buf *ret_why)
{
    CLEANUP(buf_release) struct buf bare = BUF_INIT(BUF_NO_LIMIT);

    if (!str_has(old, STR("\\")))
        return false;
    for (size_t i = 0; i < old.len; i++) {
        char next = i + 1 < old.len ? old.ptr[i + 1] : '\0';
        const char *at = old.ptr[i] == '\\' && next ? strchr("nt\"'\\", next) : NULL;

        buf_addc(&bare, at ? "\n\t\"'\\"[at - &"nt\"'\\"[0]] : old.ptr[i]);
        i += at != NULL;
    }
    if (!str_has(text, buf_str(&bare)))
        return false;
    buf_adds(ret_why, "old_string is not in the file: it is escaped once too often (\\n, \\\" or "
                      "\\\\ where the file has the character itself).");
    return true;
}

static bool explain_end(struct str text, struct str old, struct buf *ret_why)
{
    struct str bare = old;

    while (bare.len && bare.ptr[bare.len - 1] == '\n')
        bare.len--;
    if (!bare.len || bare.len == old.len || !str_ends(text, bare))
        return false;
    buf_adds(ret_why, "old_string is not in the file: it ends in a line break, and the last line "
                      "of the file has none.");
    return true;
}

static bool explain_endings(struct str text, struct str old, struct buf *ret_why)
{
    CLEANUP(buf_release) struct buf bare = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < old.len; i++) {
        if (old.ptr[i] != '\r')
            buf_addc(&bare, old.ptr[i]);
    }
    if (bare.len == old.len || !bare.len || !str_has(text, buf_str(&bare)))
        return false;
    buf_adds(ret_why, "old_string is not in the file: it has \\r\\n, the file's lines end in "
                      "\\n.");
    return true;
}

static bool explain_plain(struct str text, const struct explain_lines *lines, struct str old,
                          size_t old_lines, struct buf *ret_why)
{
    static const struct {
        unsigned how;
        const char *what;
    } cases[] = {
        {PLAIN_BLANKS, "white space (indentation, tabs, blanks at line ends)"},
        {PLAIN_QUOTES, "quotation marks or dashes (typographic against plain ones)"},
        {PLAIN_CASE, "upper and lower case"},
        {PLAIN_BLANKS | PLAIN_QUOTES, "white space and quotation marks or dashes"},
        {PLAIN_BLANKS | PLAIN_CASE, "white space and upper and lower case"},
    };
    size_t line;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (!found_when_plain(text, old, cases[i].how, &line))
            continue;
        buf_addf(ret_why,
                 "old_string is not in the file, but these lines differ from it only in %s. Use "
                 "them exactly as they are:",
                 cases[i].what);
        show_lines(lines, line, old_lines, ret_why);
        return true;
    }
    return false;
}

static size_t hash_trimmed(struct str line)
{
    return (size_t)str_hash(str_trim(line));
}

/* The start of the stretch of the text that shares most lines with the string; 0 shared lines: none
 * found. */
static size_t find_shared(const struct explain_lines *text, const struct explain_lines *old,
                          size_t *ret_shared)
{
    VEC(size_t) hashes = VEC_INIT;
    uint16_t *votes = mem_zalloc((text->list.len + old->list.len + 1) * sizeof(*votes));
    size_t best = 0;

    VEC_EACH(&old->list, line) {
        vec_push(&hashes, hash_trimmed(*line));
    }
    for (size_t i = 0; i < text->list.len; i++) {
        size_t hash = hash_trimmed(text->list.ptr[i]);

        /* A brace or an empty line is shared by everything. */
        if (str_trim(text->list.ptr[i]).len < 4)
            continue;
        for (size_t j = 0; j < hashes.len; j++) {
            if (hashes.ptr[j] == hash)
                votes[i + old->list.len - j]++;
        }
    }
    for (size_t i = 0; i < text->list.len + old->list.len; i++) {
        if (votes[i] > votes[best])
            best = i;
    }
    *ret_shared = votes[best];
    vec_release(&hashes);
    mem_freep(&votes);
    return best > old->list.len ? best - old->list.len : 0;
}

/* The line most like the longest line of the string; false when none is. */
static bool find_similar(const struct explain_lines *text, const struct explain_lines *old,
                         size_t *ret_start)
{
    size_t longest = 0;
    struct str want;
    size_t limit;
    bool found = false;

    for (size_t i = 0; i < old->list.len; i++) {
        if (str_trim(old->list.ptr[i]).len > str_trim(old->list.ptr[longest]).len)
            longest = i;
    }
    want = str_first(str_trim(old->list.ptr[longest]), EXPLAIN_MAX_LINE);
    limit = want.len * 2 / 5;
    if (limit > EXPLAIN_MAX_DISTANCE)
        limit = EXPLAIN_MAX_DISTANCE;
    for (size_t i = 0; i < text->list.len && limit; i++) {
        struct str line = str_first(str_trim(text->list.ptr[i]), EXPLAIN_MAX_LINE);
        size_t apart = line.len > want.len ? line.len - want.len : want.len - line.len;
        size_t distance = apart < limit ? str_distance(line, want, limit) : limit;

        if (distance < limit) {
            limit = distance;
            *ret_start = i > longest ? i - longest : 0;
            found = true;
        }
    }
    return found;
}

void edit_explain(struct str text, struct str old, struct buf *ret_why)
{
    struct explain_lines lines = {0};
    struct explain_lines wanted = {0};
    size_t shared = 0;
    size_t start = 0;

    lines_split(&lines, text, EXPLAIN_MAX_LINES);
    lines_split(&wanted, old, EXPLAIN_MAX_OLD);
    if (explain_numbers(text, old, ret_why) || explain_escapes(text, old, ret_why) ||
        explain_end(text, old, ret_why) || explain_endings(text, old, ret_why) ||
        explain_plain(text, &lines, old, wanted.list.len, ret_why))
        goto out;
    buf_adds(ret_why, "old_string is not in the file.");
    if (wanted.list.len)
        start = find_shared(&lines, &wanted, &shared);
    if (shared || (wanted.list.len && find_similar(&lines, &wanted, &start))) {
        buf_adds(ret_why, " The nearest lines are:");
        show_lines(&lines, start, wanted.list.len, ret_why);
    } else {
        buf_adds(ret_why, " Nothing in it is similar: it may be another file, or has changed. Read "
                          "it again.");
    }
out:
    vec_release(&lines.list);
    vec_release(&wanted.list);
}
