/*
 * What tools have done lately: numbered evidence for the judge, and which files may have changed.
 * The permit is held.
 */
#include <string.h>

#include "goal/inside.h"

static void item_release(struct goal_item *it)
{
    mem_freep(&it->tool);
    mem_freep(&it->input);
    mem_freep(&it->result);
}

void evidence_clear(struct goal *g)
{
    VEC_EACH(&g->items, it) {
        item_release(it);
    }
    g->items.len = 0;
    strv_clear(&g->wrote);
    g->ran = false;
}

/* The end of a result says more than its beginning: both are kept. */
static char *item_text(struct str text, size_t max)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct str head, tail;

    if (text.len <= max)
        return mem_dup(text.ptr, text.len);
    head = str_clip(text, max / 2);
    tail = str_from(text, text.len - max / 2);
    while (tail.len && ((unsigned char)tail.ptr[0] & 0xc0) == 0x80)
        tail = str_from(tail, 1);
    buf_add(&out, head);
    buf_addf(&out, "\n[… %zu bytes left out …]\n", text.len - head.len - tail.len);
    buf_add(&out, tail);
    return buf_take(&out);
}

void evidence_add(struct goal *g, const struct referee_tool *t)
{
    struct goal_item *it;

    if (t->ran && t->changed_file)
        strv_adds(&g->wrote, t->changed_file);
    else if (t->ran && !(t->flags & (TOOL_READ_ONLY | TOOL_FREE | TOOL_REFEREE)))
        g->ran = true;
    stall_effect(g, t);
    if (t->flags & TOOL_REFEREE)
        return;
    if (g->items.len == GOAL_ITEMS) {
        item_release(&g->items.ptr[0]);
        memmove(g->items.ptr, g->items.ptr + 1, (GOAL_ITEMS - 1) * sizeof(*it));
        g->items.len--;
    }
    it = vec_add(&g->items);
    *it = (struct goal_item){
        .tool = mem_dup(t->name.ptr, t->name.len),
        .input = item_text(t->input, GOAL_ITEM_INPUT),
        .result = item_text(t->text, GOAL_ITEM_TEXT),
        .is_error = t->is_error,
    };
}
