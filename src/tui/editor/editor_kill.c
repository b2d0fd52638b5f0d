/*
 * The kill ring. UI thread.
 */
#include "tui/editor/editor_kill.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "tui/editor/editor_text.h"

void editor_kills_release(struct editor_kills *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->ring[i].text);
    r->count = 0;
}

void editor_kills_add(struct editor_kills *r, struct str text, bool is_lines)
{
    if (!text.len || text.len > EDITOR_MAX_KILL)
        return;
    if (r->count == EDITOR_KILLS) {
        free(r->ring[0].text);
        memmove(r->ring, r->ring + 1, sizeof(r->ring) - sizeof(r->ring[0]));
        r->count--;
    }
    r->ring[r->count++] = (struct editor_kill){mem_dup(text.ptr, text.len), text.len, is_lines};
    r->turn = 0;
}

void editor_kills_join(struct editor_kills *r, struct str text, bool before)
{
    struct editor_kill *k = r->count ? &r->ring[r->count - 1] : NULL;

    if (!k || text.len > EDITOR_MAX_KILL - k->len) {
        editor_kills_add(r, text, /*is_lines=*/false);
        return;
    }
    if (!text.len)
        return;
    k->text = mem_realloc(k->text, k->len + text.len + 1);
    if (before)
        memmove(k->text + text.len, k->text, k->len);
    memcpy(k->text + (before ? 0 : k->len), text.ptr, text.len);
    k->len += text.len;
    r->turn = 0;
}

void editor_kills_unfold(struct editor_kills *r, const struct editor_text *t)
{
    for (size_t i = 0; i < r->count; i++) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(EDITOR_MAX_KILL);

        editor_text_unfold(t, str_make(r->ring[i].text, r->ring[i].len), &text);
        if (text.len == r->ring[i].len)
            continue; /* nothing was folded in it */
        mem_freep(&r->ring[i].text);
        r->ring[i].len = text.len;
        r->ring[i].text = text.len ? buf_take(&text) : mem_dup("", 0);
    }
}

const struct editor_kill *editor_kills_get(struct editor_kills *r, bool turned)
{
    if (!r->count)
        return NULL;
    r->turn = turned ? (r->turn + 1) % r->count : 0;
    return &r->ring[r->count - 1 - r->turn];
}
