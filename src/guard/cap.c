/*
 * Limits the size of results. Cuts at line ends where possible and never inside a character. Any
 * thread.
 */
#include "guard/cap.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "guard/workspace.h"

/* The head of the text, cut at a line end if there is one near. */
static struct str cap_head(struct str text, size_t max)
{
    struct str head = str_clip(text, max);
    size_t end = head.len;

    while (end > max - max / 4 && head.ptr[end - 1] != '\n')
        end--;
    return end > max - max / 4 ? str_first(head, end) : head;
}

static struct str cap_tail(struct str text, size_t max)
{
    size_t at = text.len - max;
    size_t line;

    while (at < text.len && ((unsigned char)text.ptr[at] & 0xc0) == 0x80)
        at++;
    line = at + str_chr(str_from(text, at), '\n');
    return str_from(text, line + 1 < at + max / 4 ? line + 1 : at);
}

void cap_text(struct workspace *w, struct str name, size_t max, struct buf *text)
{
    struct str all = buf_str(text);
    CLEANUP(buf_release) struct buf path = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf shown = BUF_INIT(BUF_NO_LIMIT);
    struct err err = {0};
    struct str head;
    struct str tail;

    if (all.len <= max)
        return;
    head = cap_head(all, max * 2 / 3);
    tail = cap_tail(all, max / 3);
    if (workspace_spill(w, name, &path, &err) == 0)
        (void)file_replace(buf_cstr(&path), all, 0600, &err);
    buf_add(&shown, head);
    buf_addf(&shown, "\n\n[%zu of %zu bytes are left out here; ", all.len - head.len - tail.len,
             all.len);
    if (err.code)
        buf_addf(&shown, "the whole could not be kept: %s]\n\n", err.text);
    else
        buf_addf(&shown, "the whole is in %s]\n\n", buf_cstr(&path));
    buf_add(&shown, tail);
    buf_move(text, &shown);
}
