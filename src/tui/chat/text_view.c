/*
 * text_view: any Markdown in a pager, as one part. UI thread.
 */
#include "base/buf.h"
#include "base/mem.h"
#include "base/secret.h"
#include "tui/chat/transcript_view.h"
#include "tui/markdown/markdown.h"
#include "tui/pager/pager.h"

#define TEXT_VIEW_MAX ((size_t)32 << 20)

struct text_view {
    struct panel panel;
    struct buf text;
    struct pager pager;
};

static uint64_t source_end(void *arg)
{
    struct text_view *t = arg;

    return t->text.len ? 1 : 0;
}

static bool source_next(void *arg, uint64_t at, uint64_t *ret)
{
    (void)arg;
    (void)at;
    (void)ret;
    return false;
}

static bool source_prev(void *arg, uint64_t at, uint64_t *ret)
{
    (void)arg;
    *ret = 0;
    return at > 0;
}

static void source_draw(void *arg, uint64_t at, const struct view *v, struct lines *ret)
{
    struct text_view *t = arg;

    (void)at;
    markdown_draw(buf_str(&t->text),
                  &(struct markdown_spec){.ascii = v->ascii, .spells_links = v->plain}, v->cols,
                  ret);
}

static const struct pager_source text_source = {
    .end = source_end,
    .next = source_next,
    .prev = source_prev,
    .draw = source_draw,
};

static void view_draw(struct panel *p, const struct view *v, struct lines *ret,
                      struct screen_cursor *ret_cursor)
{
    pager_draw(&((struct text_view *)p)->pager, v, ret, ret_cursor);
}

static enum panel_state view_key(struct panel *p, const struct keypress *k)
{
    return pager_key(&((struct text_view *)p)->pager, k);
}

static int64_t view_due(struct panel *p)
{
    return pager_due(&((struct text_view *)p)->pager);
}

static void view_free(struct panel *p)
{
    struct text_view *t = (struct text_view *)p;

    pager_release(&t->pager);
    buf_release(&t->text);
    mem_freep(&t);
}

static const struct panel_kind text_view_kind = {
    .name = "text",
    .is_full = true,
    .draw = view_draw,
    .key = view_key,
    .due = view_due,
    .free = view_free,
};

struct panel *text_view_new(struct str title, struct str text)
{
    struct text_view *t = mem_zalloc(sizeof(*t));

    t->panel.kind = &text_view_kind;
    buf_init(&t->text, TEXT_VIEW_MAX);
    buf_add(&t->text, str_clip(text, TEXT_VIEW_MAX));
    secret_scrub(&t->text);
    pager_init(&t->pager, &text_source, t, title);
    pager_go(&t->pager, 0);
    return &t->panel;
}
