/*
 * Fuzzy matching, the best of all ways in which letters can be found: a table of scores, a row for
 * each letter of the question, in which each place knows the best way to have come there. Names
 * that cannot match are turned away before. Any thread.
 */
#include "tui/complete/fuzzy.h"

#include "base/mem.h"

#define NEVER (-1000000)

#define SCORE_LETTER 16
#define SCORE_JOINED 14 /* right after the letter before */
#define SCORE_START 20  /* of the last part of a path */
#define SCORE_PART 12   /* of another part */
#define SCORE_WORD 10
#define SCORE_CASE 2 /* a capital that was asked for */
#define COST_GAP_FIRST 3
#define COST_GAP 1
#define SCORE_BASENAME 8 /* all of it in the last part */
#define SCORE_WHOLE 40   /* the last part is nothing else */
#define BYTES_FOR_COST 4 /* of length, for a cost of 1 */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

uint64_t fuzzy_letters(struct str text)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)lower(text.ptr[i]);

        /* ASCII from '@' on has one bit each, the rest share the others. */
        bits |= (uint64_t)1 << (c & 0x3f);
    }
    return bits;
}

/* Where the last part of a path begins; a folder's own slash is part of its name. */
static size_t basename_at(struct str text)
{
    size_t at = text.len;

    if (at)
        at--;
    while (at && text.ptr[at - 1] != '/')
        at--;
    return at;
}

static bool is_tail(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80; /* inside a character of several bytes */
}

/* What it is worth that a letter matches here. */
static int place_score(struct str text, size_t at, size_t base)
{
    char before = at ? text.ptr[at - 1] : '/';
    char c = text.ptr[at];

    if (at == base)
        return SCORE_START;
    if (before == '/')
        return SCORE_PART;
    if (before == '_' || before == '-' || before == '.' || before == ' ' || before == ':')
        return SCORE_WORD;
    if (c >= 'A' && c <= 'Z' && before >= 'a' && before <= 'z')
        return SCORE_WORD;
    return 0;
}

static bool has_all(struct str query, struct str text)
{
    size_t at = 0;

    for (size_t i = 0; i < query.len; i++) {
        char c = lower(query.ptr[i]);

        while (at < text.len && lower(text.ptr[at]) != c)
            at++;
        if (at == text.len)
            return false;
        at++;
    }
    return true;
}

/*
 * One row of the table: best[j] is the best score with this letter at j, from the row before.
 * from[j], when wanted, is where the letter before stands.
 */
static void row_make(struct str query, size_t i, struct str text, size_t base, const int *above,
                     int *best, unsigned short *from)
{
    char c = lower(query.ptr[i]);
    int carried = NEVER; /* the best of the row above, less the gap since */
    size_t carried_at = 0;

    for (size_t j = 0; j < text.len; j++) {
        int joined = i && j ? above[j - 1] : NEVER;
        int score = NEVER;

        if (j >= 2 && i) { /* the letter before may stand at j - 2 now */
            int fresh = above[j - 2] - COST_GAP_FIRST;

            carried -= COST_GAP;
            if (fresh > carried) {
                carried = fresh;
                carried_at = j - 2;
            }
        }
        if (lower(text.ptr[j]) == c) {
            int worth = SCORE_LETTER + place_score(text, j, base) +
                        (c != query.ptr[i] && text.ptr[j] == query.ptr[i] ? SCORE_CASE : 0);

            if (!i) {
                score = worth;
            } else {
                bool is_joined = joined > NEVER / 2;
                int by_join = is_joined ? joined + SCORE_JOINED : NEVER;
                bool may_jump = carried > NEVER / 2 && !is_tail(query.ptr[i]);

                if (is_joined || may_jump) {
                    bool jumps = may_jump && carried > by_join;

                    score = worth + (jumps ? carried : by_join);
                    if (from)
                        from[j] = (unsigned short)(jumps ? carried_at : j - 1);
                }
            }
        }
        best[j] = score;
    }
}

static size_t row_best(const int *row, size_t len)
{
    size_t at = 0;

    for (size_t j = 1; j < len; j++) {
        if (row[j] > row[at])
            at = j;
    }
    return at;
}

static struct str text_end(struct str text)
{
    return text.len > FUZZY_MAX_TEXT ? str_from(text, text.len - FUZZY_MAX_TEXT) : text;
}

/* Empty query: near files come first. */
static int empty_score(struct str text)
{
    int score = 0;

    for (size_t i = 0; i + 1 < text.len; i++) {
        if (text.ptr[i] == '/')
            score -= 1000;
    }
    return score - (text.len && text.ptr[0] == '.' ? 500 : 0);
}

bool fuzzy_match(struct str query, struct str text, int *ret_score)
{
    int rows[2][FUZZY_MAX_TEXT] = {{0}};
    size_t base = basename_at(text_end(text));
    size_t last;
    int score;

    if (!query.len) {
        *ret_score = empty_score(text);
        return true;
    }
    text = text_end(text);
    if (query.len > FUZZY_MAX_QUERY || query.len > text.len || !has_all(query, text))
        return false;
    for (size_t i = 0; i < query.len; i++)
        row_make(query, i, text, base, rows[(i + 1) & 1], rows[i & 1], NULL);
    last = row_best(rows[(query.len - 1) & 1], text.len);
    score = rows[(query.len - 1) & 1][last];
    if (score < NEVER / 2)
        return false; /* letters of several bytes, torn apart */
    if (has_all(query, str_from(text, base))) {
        size_t name = text.len - base;

        score += SCORE_BASENAME;
        if (name == query.len || (name == query.len + 1 && text.ptr[text.len - 1] == '/'))
            score += SCORE_WHOLE;
    }
    *ret_score = score - (int)text.len / BYTES_FOR_COST;
    return true;
}

size_t fuzzy_places(struct str query, struct str text, unsigned short ret[FUZZY_MAX_QUERY])
{
    CLEANUP(mem_freep) unsigned short *from = NULL; /* a row for each letter */
    int rows[2][FUZZY_MAX_TEXT] = {{0}};
    struct str end = text_end(text);
    size_t base = basename_at(end);
    size_t skipped = text.len - end.len;
    size_t at;

    if (!query.len || query.len > FUZZY_MAX_QUERY || query.len > end.len || !has_all(query, end))
        return 0;
    from = mem_alloc(query.len * end.len * sizeof(*from));
    for (size_t i = 0; i < query.len; i++)
        row_make(query, i, end, base, rows[(i + 1) & 1], rows[i & 1], from + i * end.len);
    at = row_best(rows[(query.len - 1) & 1], end.len);
    if (rows[(query.len - 1) & 1][at] < NEVER / 2)
        return 0;
    for (size_t i = query.len; i-- > 0;) {
        ret[i] = (unsigned short)(skipped + at);
        at = i ? from[i * end.len + at] : 0;
    }
    return query.len;
}
