/*
 * record_facts: lines outside of the conversation: queue, title, mode, replaced results, files
 * saved before an edit. Any thread, since the chain is not changed.
 */
#include <stdatomic.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "host/record/record.h"
#include "host/record/record_line.h"
#include "host/record/record_state.h"
#include "store/files/file_history.h"
#include "store/transcript/entry.h"

static int record_put_fact(struct record *r, struct str line, struct err *err)
{
    if (atomic_load(&r->forgets))
        return 0;
    return transcript_fact(r->transcript, line, err);
}

int record_replaced(struct journal *self, const struct journal_replacement *list, size_t count,
                    struct err *err)
{
    struct record *r = record_of(self);
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);

    record_line_replaced(&line, str_of(r->session), str_of(r->agent_id), list, count);
    return record_put_fact(r, buf_str(&line), err);
}

int record_queue(struct journal *self, enum journal_queue what, const struct agent_input *input,
                 struct err *err)
{
    struct record *r = record_of(self);
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);

    record_line_queue(&line, str_of(r->session), clock_wall_ms(), what, input);
    if (record_put_fact(r, buf_str(&line), err) == 0)
        return 0;
    /* Input that was processed must be removed from the queue, or a resumed run would repeat it. */
    if (what != QUEUE_ENQUEUE)
        transcript_hold(r->transcript, buf_str(&line));
    return -1;
}

int record_keep(struct record *r, const struct agent_input *input, struct err *err)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);

    if (atomic_load(&r->forgets))
        return 0;
    record_line_queue(&line, str_of(r->session), clock_wall_ms(), QUEUE_ENQUEUE, input);
    return transcript_message(r->transcript, buf_str(&line), /*is_durable=*/true, err);
}

int record_before_edit(struct journal *self, const char *path, struct str tool_use_id,
                       struct err *err)
{
    struct record *r = record_of(self);
    CLEANUP(buf_release) struct buf note = BUF_INIT(1 << 10);
    struct file_kept kept = {0};

    if (atomic_load(&r->forgets))
        return 0;
    if (file_history_before(r->files, path, tool_use_id, &kept, err) < 0)
        return -1;
    if (kept.note)
        buf_addf(&note, "%s: %s", path, kept.note);
    if (kept.dropped)
        buf_addf(&note, "%s%zu older %s to go to keep %s as it was", note.len ? "; " : "",
                 kept.dropped, kept.dropped == 1 ? "file had" : "files had", path);
    if (note.len && r->notice)
        r->notice(r->notice_arg, buf_str(&note));
    return 0;
}

void record_after_edit(struct journal *self, const char *path)
{
    struct record *r = record_of(self);
    CLEANUP(buf_release) struct buf note = BUF_INIT(1 << 12);
    struct err err = {0};

    if (atomic_load(&r->forgets) || file_history_after(r->files, path, &err) == 0)
        return;
    buf_addf(&note, "%s: a rewind will take it for changed by others; %s", path, err.text);
    if (r->notice)
        r->notice(r->notice_arg, buf_str(&note));
}

int record_write_files(void *arg, struct str lines, struct err *err)
{
    return record_put_fact(arg, lines, err);
}

int record_title(struct record *r, struct str title, struct err *err)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);

    record_line_title(&line, str_of(r->session), title, /*by_model=*/false);
    return record_put_fact(r, buf_str(&line), err);
}

int record_ai_title(struct record *r, struct str title, struct err *err)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);

    record_line_title(&line, str_of(r->session), title, /*by_model=*/true);
    return record_put_fact(r, buf_str(&line), err);
}

int record_agent_type(struct record *r, struct str name, struct err *err)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);

    record_line_agent_type(&line, str_of(r->session), name);
    return record_put_fact(r, buf_str(&line), err);
}

int record_coordinator(struct record *r, bool on, struct err *err)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);

    record_line_coordinator(&line, str_of(r->session), on);
    return record_put_fact(r, buf_str(&line), err);
}

int record_mode(struct record *r, struct str mode, struct err *err)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);

    record_line_mode(&line, str_of(r->session), mode);
    return record_put_fact(r, buf_str(&line), err);
}
