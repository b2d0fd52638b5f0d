/*
 * line_events: plain text in, events out. The clock is the caller's.
 */
#include "tools/line_events.h"

#include "base/mem.h"
#include "base/secret.h"

#define MINUTE_MS 60000

/* Whole lines, and the last one when the program ends without a newline. */
static void add_lines(void *arg, struct str text)
{
    struct line_events *e = arg;
    struct str line;

    if (e->due_ms < 0)
        e->due_ms = e->now_ms + LINE_EVENTS_JOIN_MS;
    while (text.len && str_cut(&text, '\n', &line)) {
        if (e->text.len + line.len + 1 > LINE_EVENTS_MAX_TEXT) {
            e->left_out++;
            continue;
        }
        if (e->text.len)
            buf_addc(&e->text, '\n');
        buf_add(&e->text, line);
    }
}

void line_events_init(struct line_events *e)
{
    *e = (struct line_events){.text = BUF_INIT(BUF_NO_LIMIT), .due_ms = -1, .minute_ms = -1};
    plain_init(&e->plain, add_lines, e);
}

void line_events_release(struct line_events *e)
{
    plain_release(&e->plain);
    buf_release(&e->text);
}

void line_events_feed(struct line_events *e, struct str bytes, int64_t now_ms)
{
    e->now_ms = now_ms;
    plain_feed(&e->plain, bytes);
}

void line_events_end(struct line_events *e, int64_t now_ms)
{
    e->now_ms = now_ms;
    plain_end(&e->plain);
    if (e->due_ms >= 0)
        e->due_ms = now_ms;
}

bool line_events_take(struct line_events *e, int64_t now_ms, struct buf *ret)
{
    if (e->due_ms < 0 || now_ms < e->due_ms)
        return false;
    secret_scrub(&e->text);
    buf_add(ret, buf_str(&e->text));
    if (e->left_out)
        buf_addf(ret, "%s[%zu line%s left out]", ret->len ? "\n" : "", e->left_out,
                 e->left_out == 1 ? "" : "s");
    buf_clear(&e->text);
    e->left_out = 0;
    e->due_ms = -1;
    if (e->minute_ms < 0 || now_ms - e->minute_ms >= MINUTE_MS) {
        e->minute_ms = now_ms;
        e->count = 0;
    }
    e->count++;
    return true;
}

bool line_events_are_too_many(const struct line_events *e)
{
    return e->count > LINE_EVENTS_PER_MINUTE;
}
