/*
 * A list of pages, oldest first, under one lock. It is short: at 4 MB a page of ordinary size is
 * found among a hundred. Any thread.
 */
#include "tools/web/page_cache.h"

#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/vec.h"
#include "guard/workspace.h"
#include "sync/thread.h"

#define KEEP_MS (15 * 60 * 1000)
#define KEEP_BYTES ((size_t)4 << 20)

struct cached_page {
    char *url;
    char *text;
    size_t len;
    int64_t at_ms;
};

struct page_cache {
    struct lock lock;
    VEC(struct cached_page) pages;
    size_t bytes;
};

static void *cache_make(struct workspace *w)
{
    struct page_cache *c = mem_zalloc(sizeof(*c));

    (void)w;
    lock_init(&c->lock);
    return c;
}

static void cache_drop(struct page_cache *c, size_t i)
{
    struct cached_page *p = &c->pages.ptr[i];

    c->bytes -= p->len;
    mem_freep(&p->url);
    mem_freep(&p->text);
    c->pages.len--;
    memmove(p, p + 1, (c->pages.len - i) * sizeof(*p));
}

static void cache_free(void *thing)
{
    struct page_cache *c = thing;

    while (c->pages.len)
        cache_drop(c, c->pages.len - 1);
    vec_release(&c->pages);
    lock_release(&c->lock);
    mem_freep(&c);
}

static const struct workspace_kind cache_kind = {cache_make, cache_free};

/* The lock is held. */
static struct cached_page *cache_find(struct page_cache *c, struct str url)
{
    while (c->pages.len && clock_mono_ms() - c->pages.ptr[0].at_ms > KEEP_MS)
        cache_drop(c, 0);
    VEC_EACH(&c->pages, p) {
        if (str_is(url, p->url))
            return p;
    }
    return NULL;
}

bool page_cache_get(struct workspace *w, struct str url, struct buf *ret)
{
    struct page_cache *c = workspace_thing(w, &cache_kind);
    struct cached_page *p;

    lock_take(&c->lock);
    p = cache_find(c, url);
    if (p)
        buf_add(ret, str_make(p->text, p->len));
    lock_give(&c->lock);
    return p;
}

void page_cache_put(struct workspace *w, struct str url, struct str text)
{
    struct page_cache *c = workspace_thing(w, &cache_kind);
    struct cached_page *old;

    if (text.len > KEEP_BYTES)
        return;
    lock_take(&c->lock);
    old = cache_find(c, url);
    if (old)
        cache_drop(c, (size_t)(old - c->pages.ptr));
    while (c->bytes + text.len > KEEP_BYTES)
        cache_drop(c, 0);
    vec_push(&c->pages,
             ((struct cached_page){mem_dup(url.ptr, url.len), mem_dup(text.ptr, text.len), text.len,
                                   clock_mono_ms()}));
    c->bytes += text.len;
    lock_give(&c->lock);
}
