/*
 * output: applies exit codes and JSON to the outcome. The effect of an objection is in the event's
 * row (point.h). Any thread.
 */
#include "hooks/output.h"

#include "agent/hook_sight.h"
#include "base/arena.h"
#include "base/err.h"
#include "hooks/handler.h"
#include "hooks/point.h"
#include "json/json.h"
#include "proc/proc.h"

#define FIRST_LINE 300   /* bytes of it that a failure quotes */
#define ASYNC_BYTES 4096 /* of the text that makes a command asynchronous */

void output_object(enum hook_event event, struct str reason, struct hook_outcome *io)
{
    switch (point_of(event)->block) {
    case BLOCK_DENIES:
        hook_outcome_decide(io, HOOK_DENY, reason);
        break;
    case BLOCK_TELLS_USER:
        hook_outcome_say(io, &io->message, reason);
        break;
    case BLOCK_NOTHING:
        break;
    }
}

enum output_end output_end_of(int how)
{
    switch ((enum proc_how)how) {
    case PROC_EXITED:
        return OUTPUT_EXITED;
    case PROC_TIMED_OUT:
        return OUTPUT_TIMED_OUT;
    case PROC_NOT_STARTED:
        return OUTPUT_NOT_STARTED;
    case PROC_SIGNALLED:
    case PROC_KILLED:
        break;
    }
    return OUTPUT_SIGNALLED;
}

/* --- async ---------------------------------------------------------------------------------- */

/* Size of the request at the start of the output; 0 if it has none. */
static size_t async_bytes(struct str out, int64_t *ret_timeout_ms)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct str line = str_first(out, str_chr(out, '\n'));
    const struct json *v;

    if (!str_starts(str_trim(str_first(out, ASYNC_BYTES)), STR("{")))
        return 0;
    if (json_parse(&arena, line, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0) {
        line = out; /* over several lines: then there is no other output yet */
        if (out.len > ASYNC_BYTES ||
            json_parse(&arena, line, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0)
            return 0;
    }
    if (!json_get_bool(v, "async", false))
        return 0;
    *ret_timeout_ms = json_get_i64(v, "asyncTimeout", 0);
    return line.len;
}

bool output_is_async(struct str out, int64_t *ret_timeout_ms)
{
    int64_t ms = 0;

    if (!async_bytes(out, &ms))
        return false;
    *ret_timeout_ms = ms > 0 ? ms : 0;
    return true;
}

struct str output_behind_async(struct str out)
{
    int64_t ms;

    return str_trim(str_from(out, async_bytes(out, &ms)));
}

/* --- ended ---------------------------------------------------------------------------------- */

static struct str first_line(struct str text)
{
    text = str_trim(text);
    return str_clip(str_first(text, str_chr(text, '\n')), FIRST_LINE);
}

static int output_describe(const struct output *o, struct err *err)
{
    struct str line = first_line(o->err);
    const char *colon = line.len ? ": " : "";

    switch (o->end) {
    case OUTPUT_TIMED_OUT:
        return err_set(err, ERR_TIMEOUT, "it took too long and was ended");
    case OUTPUT_NOT_STARTED:
        return err_set(err, ERR_IO, "it could not be started%s%.*s", colon, STR_ARG(line));
    case OUTPUT_FAILED:
        return err_set(err, ERR_IO, "%.*s", STR_ARG(line));
    case OUTPUT_SIGNALLED:
        return err_set(err, ERR_IO, "it was killed by signal %d%s%.*s", o->code, colon,
                       STR_ARG(line));
    case OUTPUT_EXITED:
        break;
    }
    return err_set(err, ERR_IO, "exit code %d%s%.*s", o->code, colon, STR_ARG(line));
}

/* A failure does not block, unless the handler requires it (onFailure) and the event can be
 * blocked. */
static int output_fail(enum hook_event event, unsigned flags, struct hook_outcome *io,
                       struct err *err)
{
    if (!(flags & HANDLER_FAILURE_BLOCKS) || !(point_of(event)->flags & POINT_GUARDED))
        return -1;
    output_object(event, str_of(err->text), io);
    err_clear(err);
    return 0;
}

/* 1: there was no JSON; 0: merged; -1: it is invalid. */
static int output_merge_json(const struct output *o, enum hook_event event, struct hook_outcome *io,
                             struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v;

    if (!str_starts(str_trim(o->out), STR("{")))
        return 1;
    if (o->cut)
        return err_set(err, ERR_TOO_BIG, "it printed more than %zu KB", OUTPUT_MAX_BYTES >> 10);
    if (json_parse(&arena, o->out, &v, /*ret_info=*/NULL, err) < 0 ||
        hook_outcome_merge(io, event, v, err) < 0)
        return err_prefix(err, "its JSON cannot be used");
    return 0;
}

/* Exit code 2. Other members of the JSON apply, but cannot undo the objection. */
static int output_merge_objection(const struct output *o, enum hook_event event,
                                  struct hook_outcome *io)
{
    CLEANUP(hook_outcome_release) struct hook_outcome alone = HOOK_OUTCOME_INIT;
    struct str reason = str_trim(o->err);
    struct err ignored = {0};

    (void)output_merge_json(o, event, &alone, &ignored);
    (void)output_merge_json(o, event, io, &ignored);
    if (alone.decision == HOOK_DENY && alone.reason.len)
        return 0;
    output_object(event, reason.len ? reason : STR("A hook objects, and does not say why."), io);
    return 0;
}

int output_merge(const struct output *o, enum hook_event event, unsigned flags,
                 struct hook_outcome *io, struct err *err)
{
    struct err why = {0};
    int r;

    if (o->end == OUTPUT_EXITED && o->code == 2)
        return output_merge_objection(o, event, io);
    if (o->end != OUTPUT_EXITED) {
        output_describe(o, err);
        return output_fail(event, flags, io, err);
    }
    r = output_merge_json(o, event, io, &why);
    if (r == 0)
        return 0;
    if (o->code != 0 || r < 0) {
        if (o->code != 0)
            output_describe(o, err);
        else
            *err = why;
        return output_fail(event, flags, io, err);
    }
    if (point_of(event)->flags & POINT_LISTENS)
        hook_outcome_say(io, &io->context, str_trim(o->out));
    return 0;
}

/* Evaluates it on a temporary outcome. */
static enum hook_end output_seen(const struct output *o, enum hook_event event)
{
    CLEANUP(hook_outcome_release) struct hook_outcome alone = HOOK_OUTCOME_INIT;
    struct err err = {0};

    if (o->end == OUTPUT_TIMED_OUT)
        return HOOK_CANCELLED;
    if (o->end == OUTPUT_EXITED && o->code == 2)
        return HOOK_ERROR;
    return output_merge(o, event, /*flags=*/0, &alone, &err) < 0 ? HOOK_ERROR : HOOK_SUCCESS;
}

void output_tell(const struct output *o, enum hook_event event, struct hook_sight *sight)
{
    struct hook_news how = {.out = o->out, .err = o->err, .code = o->code};

    if (!sight->watch)
        return;
    how.end = output_seen(o, event);
    how.has_code = o->end == OUTPUT_EXITED;
    hook_sight_end(sight, &how);
}
