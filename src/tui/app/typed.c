/*
 * Typed and pasted text, made plain. Long runs of ordinary bytes are copied whole, so that a paste
 * of a megabyte costs about as much as copying it. Any thread.
 */
#include "tui/app/typed.h"

#include "base/utf8.h"

bool typed_is_partial(struct str s)
{
    static const char *const least[] = {"\x80\x80\x80", "\xbf\xbf\xbf"};

    if (!s.len || s.len > 3 || (unsigned char)s.ptr[0] < 0xc2)
        return false;
    /* Completed with the lowest and with the highest bytes there are: one of them must do. */
    for (size_t i = 0; i < 2; i++) {
        char whole[6];
        size_t len = 0;

        for (; len < s.len; len++)
            whole[len] = s.ptr[len];
        for (size_t j = 0; j < 3; j++)
            whole[len++] = least[i][j];
        if (utf8_decode(str_make(whole, len), NULL) > s.len)
            return true;
    }
    return false;
}

static bool is_plain(unsigned char c)
{
    return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t';
}

/* Bytes that can be taken as they are. */
static size_t plain_run(struct str s)
{
    size_t i = 0;

    while (i < s.len) {
        uint32_t code;
        size_t len;

        if (is_plain((unsigned char)s.ptr[i])) {
            i++;
            continue;
        }
        len = utf8_decode(str_from(s, i), &code);
        if (!len || code < 0xa0) /* control characters: C0, DEL, C1 */
            break;
        i += len;
    }
    return i;
}

size_t typed_clean(struct str bytes, bool is_end, struct buf *ret)
{
    size_t at = 0;

    while (at < bytes.len && !ret->over) {
        struct str rest = str_from(bytes, at);
        size_t run = plain_run(rest);
        uint32_t code;
        size_t len;

        if (run) {
            buf_add(ret, str_first(rest, run));
            at += run;
            continue;
        }
        if (rest.ptr[0] == '\r') {
            if (rest.len == 1 && !is_end)
                return at;
            buf_addc(ret, '\n');
            at += rest.len > 1 && rest.ptr[1] == '\n' ? 2 : 1;
            continue;
        }
        len = utf8_decode(rest, &code);
        if (!len) {
            if (!is_end && typed_is_partial(rest))
                return at;
            buf_adds(ret, "\xef\xbf\xbd");
        }
        at += len ? len : 1;
    }
    return bytes.len;
}
