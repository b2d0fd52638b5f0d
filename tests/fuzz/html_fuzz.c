/*
 * Any bytes as a page, in any encoding: what comes out is valid UTF-8 without NULs, keeps to its
 * limit, is not much longer than the page allows, and is the same the second time.
 */
#include "tools/web/html.h"

#include "base/buf.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "tools/web/charset.h"

#define LIMIT 20000

static void check_text(const struct buf *b)
{
    FUZZ_CHECK(b->len <= b->max);
    FUZZ_CHECK(utf8_is_valid(buf_str(b)));
    FUZZ_CHECK(str_chr(buf_str(b), '\0') == b->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const labels[] = {"", "utf-8", "latin1", "utf-16le", "utf-16be", "other"};
    struct buf page = BUF_INIT(BUF_NO_LIMIT);
    struct buf first = BUF_INIT(LIMIT);
    struct buf again = BUF_INIT(LIMIT);
    struct buf title = BUF_INIT(LIMIT);
    struct str bytes;

    if (!size)
        return 0;
    bytes = str_make((const char *)data + 1, size - 1);
    charset_to_utf8(bytes, str_of(labels[data[0] % 6]), /*is_html=*/true, &page);
    FUZZ_CHECK(utf8_is_valid(buf_str(&page)));
    html_to_markdown(buf_str(&page), STR("https://e.org/a/b?c"), &first, &title);
    html_to_markdown(buf_str(&page), STR("https://e.org/a/b?c"), &again, NULL);
    check_text(&title);
    check_text(&first);
    FUZZ_CHECK(str_eq(buf_str(&first), buf_str(&again)));
    buf_release(&page);
    buf_release(&first);
    buf_release(&again);
    buf_release(&title);
    return 0;
}
