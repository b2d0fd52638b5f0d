/*
 * markdown_mend: one pass over the text that keeps a stack of the marks that are open. It knows
 * less than md4c does; where it guesses wrong, the text jumps once, when it is finished. UI thread.
 */
#include "tui/markdown/markdown_mend.h"

#include <stddef.h>

#include "base/buf.h"
#include "tui/markdown/markdown_start.h"

#define TASK_MARKS "[]xX "
#define MARKS "-=*_`~#+>|.:0123456789" TASK_MARKS
#define MAX_OPEN 8
#define MAX_REACH 400 /* bytes: a mark that stayed open longer than this was probably none */

struct open_mark {
    char mark;
    size_t len;
    size_t at;
};

struct mend {
    struct str text;
    struct open_mark open[MAX_OPEN];
    size_t count;
    size_t code;       /* length of the backticks that are open at the end */
    bool has_open_url; /* "[text](http://…" */
    size_t end;        /* the rest is left out */
};

static size_t mend_run(struct str text, size_t at)
{
    size_t n = 1;

    while (at + n < text.len && text.ptr[at + n] == text.ptr[at])
        n++;
    return n;
}

static bool is_word(char c)
{
    return str_is_alnum(c) || (unsigned char)c >= 0x80;
}

static bool is_white(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* The position after the code that begins at `at`; the end of the text when it is not closed. */
static size_t mend_code(struct mend *m, size_t at)
{
    size_t len = mend_run(m->text, at);
    size_t i = at + len;

    while (i < m->text.len) {
        if (m->text.ptr[i] == '`') {
            size_t n = mend_run(m->text, i);

            if (n == len)
                return i + n;
            i += n;
        } else {
            i++;
        }
    }
    if (m->text.len - at > MAX_REACH)
        return at + len;
    m->code = len;
    /* Some of the closing ones may have come already. */
    while (m->end > at + len && m->text.ptr[m->end - 1] == '`')
        m->end--;
    if (m->end == at + len) {
        m->end = at;
        m->code = 0;
    }
    return m->text.len;
}

static size_t mend_emphasis(struct mend *m, size_t at)
{
    size_t len = mend_run(m->text, at);
    char mark = m->text.ptr[at];
    char before = at ? m->text.ptr[at - 1] : ' ';
    char behind = at + len < m->text.len ? m->text.ptr[at + len] : ' ';
    size_t left = len;

    if (mark == '~' && len != 2)
        return at + len;
    for (size_t i = m->count; !is_white(before) && i > 0 && left; i--) {
        struct open_mark *o = &m->open[i - 1];

        if (o->mark != mark)
            continue;
        if (o->len > left) {
            o->len -= left;
            left = 0;
        } else {
            left -= o->len;
            m->count = i - 1;
        }
    }
    if (!left)
        return at + len;
    if (at + len == m->text.len) {
        m->end = at + len - left;
    } else if (!is_white(behind) && !is_word(before) && left <= 3 && m->count < MAX_OPEN &&
               m->text.len - at <= MAX_REACH) {
        m->open[m->count++] = (struct open_mark){mark, left, at};
    }
    return at + len;
}

/* The position after "](target)"; the target may be open at the end. */
static size_t mend_target(struct mend *m, size_t at)
{
    for (size_t i = at + 2; i < m->text.len; i++) {
        if (m->text.ptr[i] == ')')
            return i + 1;
        if (is_white(m->text.ptr[i]))
            return i;
    }
    m->has_open_url = true;
    return m->text.len;
}

void markdown_mend(struct str text, struct buf *ret)
{
    struct mend m = {.text = text, .end = text.len};
    size_t i = 0;

    while (i < text.len && !m.code && !m.has_open_url) {
        char c = text.ptr[i];

        if (c == '\\')
            i += 2;
        else if (c == '`')
            i = mend_code(&m, i);
        else if (c == '*' || c == '_' || c == '~')
            i = mend_emphasis(&m, i);
        else if (c == ']' && i + 1 < text.len && text.ptr[i + 1] == '(')
            i = mend_target(&m, i);
        else
            i++;
    }
    while (m.end && is_white(text.ptr[m.end - 1]) && !m.code)
        m.end--;
    buf_add(ret, str_first(text, m.end));
    for (size_t n = 0; n < m.code; n++)
        buf_addc(ret, '`');
    if (m.has_open_url)
        buf_addc(ret, ')');
    while (m.count) {
        const struct open_mark *o = &m.open[--m.count];

        /* A mark with nothing after it yet would be shown. */
        if (o->at + o->len >= m.end && !m.code)
            continue;
        for (size_t n = 0; n < o->len; n++)
            buf_addc(ret, o->mark);
    }
}

bool markdown_mend_hides(struct str line)
{
    line = str_trim(line);
    if (!line.len || line.len > 6 || char_is_of(*line.ptr, "xX []"))
        return false;
    for (size_t i = 0; i < line.len; i++) {
        if (!char_is_of(line.ptr[i], i < 4 ? MARKS : TASK_MARKS))
            return false;
    }
    return true;
}
