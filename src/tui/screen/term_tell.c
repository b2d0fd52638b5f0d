/*
 * term_tell: what a terminal receives beside the picture: notifications, the clipboard. Sequences
 * only; UI thread.
 */
#include "tui/screen/term_tell.h"

#include "base/buf.h"
#include "base/utf8.h"
#include "tui/screen/term.h"

#define TELL_MAX_COPY ((size_t)74 << 10) /* what most take */

void term_clean(struct buf *b, struct str text)
{
    size_t from = b->len;
    uint32_t code;

    for (size_t at = 0; at < text.len && b->len - from < TERM_CLEAN_MAX;) {
        size_t len = utf8_decode(str_from(text, at), &code);

        if (len && code >= 0x20 && (code < 0x7f || code >= 0xa0) && !utf8_turns_text(code))
            buf_add(b, str_make(text.ptr + at, len));
        else if (len && (code == '\n' || code == '\t'))
            buf_addc(b, ' ');
        at += len ? len : 1;
    }
}

/* A sequence for the terminal around tmux: each ESC in it twice. */
static void tell_around(struct term *t, struct str bytes)
{
    CLEANUP(buf_release) struct buf b = BUF_INIT(BUF_NO_LIMIT);

    buf_adds(&b, "\033Ptmux;");
    for (size_t i = 0; i < bytes.len; i++) {
        if (bytes.ptr[i] == '\033')
            buf_addc(&b, '\033');
        buf_addc(&b, bytes.ptr[i]);
    }
    buf_adds(&b, "\033\\");
    term_write(t, buf_str(&b));
}

void term_bell(struct term *t)
{
    term_write(t, STR("\a"));
}

static void tell_title(struct buf *b, struct str title)
{
    size_t from = b->len;

    term_clean(b, title);
    for (size_t i = from; i < b->len; i++) {
        if (b->ptr[i] == ';')
            b->ptr[i] = ',';
    }
}

void term_notify(struct term *t, bool is_chosen, struct str title, struct str body)
{
    CLEANUP(buf_release) struct buf b = BUF_INIT(8 * TERM_CLEAN_MAX);
    const struct term_able *able = term_able(t);
    enum term_notice notice = able->notice;

    if (is_chosen && notice == NOTICE_BELL && !able->is_plain)
        notice = NOTICE_OSC9;
    if (notice == NOTICE_OSC777) {
        buf_adds(&b, "\033]777;notify;");
        tell_title(&b, title);
        buf_addc(&b, ';');
        term_clean(&b, body);
        buf_adds(&b, "\033\\");
    } else if (notice == NOTICE_OSC9) {
        buf_adds(&b, "\033]9;");
        term_clean(&b, title);
        buf_adds(&b, ": ");
        term_clean(&b, body);
        buf_adds(&b, "\033\\");
    }
    if (b.len && able->in_tmux)
        tell_around(t, buf_str(&b));
    else
        term_write(t, buf_str(&b));
    term_bell(t);
}

bool term_copy(struct term *t, struct str text)
{
    CLEANUP(buf_release) struct buf b = BUF_INIT(2 * TELL_MAX_COPY);

    if (!term_able(t)->clipboard || text.len > TELL_MAX_COPY)
        return false;
    buf_adds(&b, "\033]52;c;");
    buf_add_base64(&b, text);
    buf_adds(&b, "\033\\");
    term_write(t, buf_str(&b));
    return true;
}
