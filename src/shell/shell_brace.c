/*
 * shell_brace: the first pair of braces that says something is replaced by each of its parts, and
 * what comes of that is looked at again. Pure; any thread.
 */
#include "shell/shell_brace.h"

#include <stdint.h>

#include "base/buf.h"
#include "base/strv.h"

#define MAX_WORD 4096
#define MAX_DEPTH 32 /* of pairs, one after or inside the other */

struct brace_reader {
    size_t max;
    struct strv *ret;
    bool is_whole;
};

/* The brace that closes the one at `open`, or the text's length. *has_comma: between them, and in
 * no other pair. */
static size_t closing(struct str text, size_t open, bool *has_comma)
{
    size_t depth = 0;

    *has_comma = false;
    for (size_t i = open; i < text.len; i++) {
        depth += text.ptr[i] == '{';
        if (text.ptr[i] == '}' && --depth == 0)
            return i;
        *has_comma = *has_comma || (text.ptr[i] == ',' && depth == 1);
    }
    return text.len;
}

static bool read_end(struct str text, bool *is_letter, int64_t *ret)
{
    *is_letter = text.len == 1 && ((text.ptr[0] | 32) >= 'a' && (text.ptr[0] | 32) <= 'z');
    *ret = *is_letter ? text.ptr[0] : 0;
    return *is_letter || str_to_i64(text, ret, /*err=*/NULL) == 0;
}

/* "1..9", "a..e"; steps are left out, so that there are rather too many. */
static bool read_range(struct str inside, bool *is_letter, int64_t *from, int64_t *to)
{
    size_t dots = str_find(inside, STR(".."));
    struct str rest = str_from(inside, dots + 2);
    bool other;

    if (dots >= inside.len)
        return false;
    rest = str_first(rest, str_find(rest, STR("..")));
    return read_end(str_first(inside, dots), is_letter, from) && read_end(rest, &other, to) &&
           *is_letter == other;
}

static void expand(struct brace_reader *b, struct str text, unsigned depth);

static void expand_with(struct brace_reader *b, struct str before, struct str part,
                        struct str behind, unsigned depth)
{
    CLEANUP(buf_release) struct buf word = BUF_INIT(MAX_WORD);

    buf_add(&word, before);
    buf_add(&word, part);
    buf_add(&word, behind);
    if (word.over)
        b->is_whole = false;
    else
        expand(b, buf_str(&word), depth + 1);
}

static void expand_list(struct brace_reader *b, struct str before, struct str list,
                        struct str behind, unsigned depth)
{
    size_t start = 0;
    size_t inner = 0;

    for (size_t i = 0; i <= list.len && b->is_whole; i++) {
        char c = i < list.len ? list.ptr[i] : ',';

        inner += c == '{';
        inner -= c == '}' && inner > 0;
        if (i < list.len && (c != ',' || inner))
            continue;
        expand_with(b, before, str_make(list.ptr + start, i - start), behind, depth);
        start = i + 1;
    }
}

static void expand_range(struct brace_reader *b, struct str before, bool is_letter, int64_t from,
                         int64_t to, struct str behind, unsigned depth)
{
    int64_t step = from <= to ? 1 : -1;

    for (int64_t at = from; b->is_whole; at += step) {
        CLEANUP(buf_release) struct buf part = BUF_INIT(32);

        if (is_letter)
            buf_addc(&part, (char)at);
        else
            buf_addf(&part, "%lld", (long long)at);
        expand_with(b, before, buf_str(&part), behind, depth);
        if (at == to)
            return;
    }
}

static void expand(struct brace_reader *b, struct str text, unsigned depth)
{
    bool has_comma, is_letter;
    int64_t from, to;

    if (depth > MAX_DEPTH || b->ret->len >= b->max) {
        b->is_whole = false;
        return;
    }
    for (size_t open = str_chr(text, '{'); open < text.len;
         open += 1 + str_chr(str_from(text, open + 1), '{')) {
        size_t close = closing(text, open, &has_comma);
        struct str before = str_first(text, open);
        struct str inside = str_first(str_from(text, open + 1), close - open - 1);
        struct str behind = str_from(text, close + 1);

        if (close == text.len)
            continue;
        if (has_comma) {
            expand_list(b, before, inside, behind, depth);
            return;
        }
        if (read_range(inside, &is_letter, &from, &to)) {
            expand_range(b, before, is_letter, from, to, behind, depth);
            return;
        }
    }
    strv_add(b->ret, text);
}

bool shell_braces(struct str word, size_t max, struct strv *ret)
{
    struct brace_reader b = {.max = ret->len + max, .ret = ret, .is_whole = true};

    expand(&b, word, 0);
    return b.is_whole;
}
