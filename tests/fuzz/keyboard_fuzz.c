/*
 * Any bytes from a terminal: however they are cut, the same keys come, and every text in them is
 * valid UTF-8 without control characters. The first byte chooses the cuts.
 */
#include "tui/screen/keypress.h"

#include <string.h>

#include "base/utf8.h"
#include "fuzz.h"

#define LATE ((int64_t)1 << 40)

static void check_text(const struct keypress *k)
{
    FUZZ_CHECK(utf8_is_valid(k->text));
    for (size_t i = 0; i < k->text.len; i++) {
        unsigned char c = (unsigned char)k->text.ptr[i];

        FUZZ_CHECK((c >= 0x20 && c != 0x7f) || (k->code == KEY_PASTE && (c == '\n' || c == '\t')));
    }
}

/* Text that is typed in one go or in two is the same text. */
static void record(const struct keypress *k, bool *was_text, struct buf *out)
{
    if (k->code == KEY_TEXT || k->code == KEY_PASTE)
        check_text(k);
    if (k->code == KEY_TEXT) {
        FUZZ_CHECK(k->text.len && !k->mods);
        if (!*was_text)
            buf_addc(out, '\n');
        buf_add(out, k->text);
    } else {
        buf_addf(out, "\n%d %u %u %d %d,%d,%d,%d ", (int)k->code, k->mods, k->ch, (int)k->reply,
                 k->args[0], k->args[1], k->args[2], k->args[3]);
        buf_add(out, k->text);
    }
    if (k->code == KEY_CHAR)
        FUZZ_CHECK(k->mods && k->ch >= 0x20);
    *was_text = k->code == KEY_TEXT;
}

static void type(struct str bytes, unsigned seed, struct buf *out)
{
    struct keyboard *k = keyboard_new();
    struct keypress key;
    bool was_text = false;
    char piece[16];

    if (!seed) {
        keyboard_feed(k, bytes, 0);
        bytes = STR("");
        while (keyboard_next(k, &key))
            record(&key, &was_text, out);
    }
    while (bytes.len) {
        size_t len;

        seed = seed * 1103515245u + 12345u;
        len = (seed >> 16) % sizeof(piece) + 1;
        len = len < bytes.len ? len : bytes.len;
        memcpy(piece, bytes.ptr, len);
        keyboard_feed(k, str_make(piece, len), 0);
        memset(piece, '#', sizeof(piece));
        while (keyboard_next(k, &key))
            record(&key, &was_text, out);
        bytes = str_from(bytes, len);
    }
    keyboard_tick(k, LATE);
    while (keyboard_next(k, &key))
        record(&key, &was_text, out);
    FUZZ_CHECK(keyboard_due(k) == -1);
    keyboard_free(k);
}

/* What a key is called is that key. */
static void check_name(struct str name)
{
    struct keypress k;
    struct buf again = BUF_INIT(BUF_NO_LIMIT);

    if (keypress_parse(name, &k)) {
        struct keypress same;

        keypress_name(&k, &again);
        FUZZ_CHECK(keypress_parse(buf_str(&again), &same));
        FUZZ_CHECK(same.code == k.code && same.mods == k.mods && same.ch == k.ch);
    }
    buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf whole = BUF_INIT(BUF_NO_LIMIT);
    struct buf pieces = BUF_INIT(BUF_NO_LIMIT);
    struct str bytes;

    if (size < 1)
        return 0;
    bytes = str_make((const char *)data + 1, size - 1);
    type(bytes, 0, &whole);
    type(bytes, data[0] + 1u, &pieces);
    FUZZ_CHECK(str_eq(buf_str(&whole), buf_str(&pieces)));
    check_name(bytes);
    buf_release(&whole);
    buf_release(&pieces);
    return 0;
}
