/*
 * Any pattern over any text: the fast ways to find a line (a literal first, whole windows with a
 * rewritten pattern) find exactly the lines that PCRE2 finds when each is matched alone.
 */
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "fuzz.h"
#include "tools/decode.h"
#include "tools/search/grep_pattern.h"

/* Every line is asked for by itself; `next` is what the fast way says comes next. */
static void check_lines(struct grep_matcher *fast, struct grep_matcher *slow, struct str text)
{
    bool ascii = decode_is_ascii(text);
    struct grep_span found = {0};
    struct err err = {0};
    int next;

    grep_matcher_text(fast, text, ascii);
    next = grep_matcher_line(fast, 0, &found, &err);
    for (size_t at = 0; at < text.len && next >= 0;) {
        struct str line = str_from(text, at);
        struct grep_span match;
        int matches;

        line = str_first(line, str_chr(line, '\n'));
        grep_matcher_text(slow, line, ascii);
        matches = grep_matcher_match(slow, 0, &match, &err);
        if (matches < 0)
            return; /* a limit: both have one, but count otherwise */
        FUZZ_CHECK(matches == (next && found.start == at));
        at += line.len + 1;
        if (matches) {
            FUZZ_CHECK(found.end == at - 1);
            next = grep_matcher_line(fast, at, &found, &err);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = str_make((const char *)data, size);
    struct buf text = BUF_INIT(1 << 16);
    struct str pattern = {0};
    struct grep_pattern *p = NULL;

    if (size < 2 || size > 1024)
        return 0;
    rest = str_from(rest, 1); /* the first byte: letter case or not */
    (void)str_cut(&rest, '\n', &pattern);
    decode_utf8(rest.len ? rest : STR("\n"), &text);
    if (grep_pattern_new(pattern, data[0] & 1, false, &p, NULL) == 0) {
        struct grep_matcher *fast = grep_matcher_new(p);
        struct grep_matcher *slow = grep_matcher_new(p);

        (void)grep_matcher_may_match(fast, buf_str(&text));
        check_lines(fast, slow, buf_str(&text));
        grep_matcher_free(fast);
        grep_matcher_free(slow);
        grep_pattern_free(p);
    }
    buf_release(&text);
    return 0;
}
