/*
 * hook_sight: reports progress to a watch. Runs on the thread that waits for the handler.
 */
#include "agent/hook_sight.h"

#include "base/clock.h"

#define SIGHT_SUBJECT ((size_t)4 << 10)

static void sight_tell(const struct hook_sight *s, struct hook_news *news)
{
    news->id = s->id;
    news->event = s->event;
    news->subject = buf_str(&s->subject);
    news->title = buf_str(&s->title);
    news->tool_use_id = buf_str(&s->tool_use_id);
    news->duration_ms = clock_mono_ms() - s->start_ms;
    s->watch->tell(s->watch->arg, news);
}

void hook_sight_begin(struct hook_sight *s, const struct hook_input *in, struct str title)
{
    struct hook_news news = {.stage = HOOK_BEGUN};

    if (!in->watch)
        return;
    *s = (struct hook_sight){
        .watch = in->watch,
        .event = in->event,
        .subject = BUF_INIT(SIGHT_SUBJECT),
        .title = BUF_INIT(SIGHT_SUBJECT),
        .tool_use_id = BUF_INIT(SIGHT_SUBJECT),
        .start_ms = clock_mono_ms(),
    };
    s->shown_ms = s->start_ms;
    id_uuid(s->id);
    buf_add(&s->subject, str_clip(in->subject, SIGHT_SUBJECT));
    buf_add(&s->title, str_clip(title, SIGHT_SUBJECT));
    buf_add(&s->tool_use_id, str_clip(in->tool_use_id, SIGHT_SUBJECT));
    sight_tell(s, &news);
}

int64_t hook_sight_due_ms(const struct hook_sight *s, size_t bytes)
{
    return s->watch && bytes > s->shown ? s->shown_ms + HOOK_SIGHT_MS : -1;
}

void hook_sight_show(struct hook_sight *s, struct str out, struct str err)
{
    struct hook_news news = {.stage = HOOK_GOES_ON, .out = out, .err = err};
    int64_t due_ms = hook_sight_due_ms(s, out.len + err.len);
    int64_t now_ms = clock_mono_ms();

    if (due_ms < 0 || due_ms > now_ms)
        return;
    s->shown_ms = now_ms;
    s->shown = out.len + err.len;
    sight_tell(s, &news);
}

void hook_sight_end(struct hook_sight *s, const struct hook_news *how)
{
    struct hook_news news = *how;

    if (!s->watch)
        return;
    news.stage = HOOK_ENDED;
    sight_tell(s, &news);
    s->watch = NULL;
}

void hook_sight_move(struct hook_sight *to, struct hook_sight *from)
{
    *to = *from;
    *from = (struct hook_sight){0};
}

void hook_sight_release(struct hook_sight *s)
{
    buf_release(&s->subject);
    buf_release(&s->title);
    buf_release(&s->tool_use_id);
}
