/*
 * briefing: the host's side of agent/context.h.
 */
#include "host/briefing.h"

#include "agent/recall.h"
#include "agent/reminder.h"
#include "agent/surroundings.h"

void briefing_release(struct briefing *b)
{
    context_release(&b->context);
    buf_release(&b->changed);
}

static void briefing_say_notices(struct briefing *b)
{
    for (size_t i = 0; i < b->context.notices.len; i++)
        b->notice(b->notice_arg, str_of(b->context.notices.ptr[i]));
}

static bool goes_on(const struct recall *past)
{
    return past && past->messages.len;
}

/* What was told at the start of the session still counts; what is different now is told before the
 * next input. */
static int briefing_look_again(struct briefing *b, const struct recall *past, struct cancel *cancel,
                               struct err *err)
{
    CLEANUP(buf_release) struct buf lost = BUF_INIT(BUF_NO_LIMIT);

    if (context_restore(&b->where, buf_str(&past->context), cancel, &b->context, &b->changed, err) <
        0)
        return -1;
    if (!past->lost.len)
        return 0;
    buf_addf(&lost,
             "tenax was stopped while these calls ran, and their results are lost. They may have "
             "taken effect or not: look before you do them again.%s",
             buf_cstr(&past->lost));
    reminder_add(&b->changed, buf_str(&lost));
    return 0;
}

struct surroundings *briefing_start(const struct briefing *b, const struct recall *past)
{
    return goes_on(past) ? NULL : context_begin(&b->where);
}

int briefing_gather(struct briefing *b, const struct recall *past, struct surroundings *around,
                    struct cancel *cancel, struct err *err)
{
    if (goes_on(past) ? briefing_look_again(b, past, cancel, err)
                      : context_gather(&b->where, around, cancel, &b->context, err))
        return -1;
    briefing_say_notices(b);
    return 0;
}

void briefing_restart(struct briefing *b, const struct recall *past, struct cancel *cancel)
{
    struct context old = b->context;

    b->context = (struct context){0};
    buf_clear(&b->changed);
    if (briefing_gather(b, past, briefing_start(b, past), cancel, /*err=*/NULL) < 0) {
        b->context = old; /* the session ends */
        return;
    }
    context_release(&old);
    if (!goes_on(past))
        buf_add(&b->changed, briefing_text(b));
}

struct str briefing_text(const struct briefing *b)
{
    return buf_str(&b->context.text);
}

/* Before each input behind the first. */
void briefing_news(void *arg, struct cancel *cancel, struct buf *ret)
{
    struct briefing *b = arg;

    if (b->changed.len) {
        buf_move(ret, &b->changed);
        return;
    }
    if (context_news(&b->context, &b->where, cancel, ret, /*err=*/NULL) == 0)
        briefing_say_notices(b);
}

/* After a file was read. */
void briefing_near(void *arg, const char *path, struct cancel *cancel, struct buf *ret)
{
    struct briefing *b = arg;

    if (context_near(&b->context, &b->where, path, cancel, ret, /*err=*/NULL) == 0)
        briefing_say_notices(b);
}

/* After a compaction: from now on the model knows what it is told now. */
void briefing_again(void *arg, struct cancel *cancel, struct buf *ret)
{
    struct briefing *b = arg;
    struct context_spec where = b->where;
    struct context now = {0};

    where.is_later = true;
    if (context_gather(&where, context_begin(&where), cancel, &now, /*err=*/NULL) < 0)
        return;
    context_release(&b->context);
    b->context = now;
    briefing_say_notices(b);
    buf_add(ret, briefing_text(b));
}
