/* A body in time. */
#include "tape.h"

void tape_init(struct tape *w)
{
    *w = (struct tape){0};
    buf_init(&w->bytes, TAPE_MAX_BYTES);
}

void tape_release(struct tape *w)
{
    buf_release(&w->bytes);
    vec_release(&w->waits);
}

void tape_wait(struct tape *w, int64_t ms)
{
    struct tape_wait *last = w->waits.len ? &w->waits.ptr[w->waits.len - 1] : NULL;

    if (ms <= 0)
        return;
    if (last && last->at == w->bytes.len) {
        last->ms += ms;
        return;
    }
    vec_push(&w->waits, ((struct tape_wait){w->bytes.len, ms}));
}

int64_t tape_total_ms(const struct tape *w)
{
    int64_t total = 0;

    VEC_EACH(&w->waits, it)
        total += it->ms;
    return total;
}

void tape_event(struct tape *w, const char *name, struct jw *ret)
{
    if (name)
        buf_addf(&w->bytes, "event: %s\n", name);
    buf_adds(&w->bytes, "data: ");
    jw_init(ret, &w->bytes, 0);
}

void tape_event_end(struct tape *w)
{
    buf_adds(&w->bytes, "\n\n");
}

void tape_cut(struct tape *w, size_t at)
{
    if (at < w->bytes.len)
        buf_cut(&w->bytes, at, w->bytes.len - at);
    while (w->waits.len && w->waits.ptr[w->waits.len - 1].at > w->bytes.len)
        w->waits.len--;
}

void tape_insert(struct tape *w, size_t at, struct str bytes)
{
    if (at > w->bytes.len)
        at = w->bytes.len;
    buf_insert(&w->bytes, at, bytes);
    VEC_EACH(&w->waits, it)
        if (it->at > at)
            it->at += bytes.len;
}
