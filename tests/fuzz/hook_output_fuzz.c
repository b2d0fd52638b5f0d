/*
 * The output of a hook's command: event, exit code, flags of the handler and how it ended, a byte
 * each; then its standard output, 0x1e, and its standard error. In any case a handler that failed
 * has changed nothing, exit code 2 blocks where that is possible, and results passed on are JSON of
 * the right kind. The same bytes are read as a model's verdict, too.
 */
#include "agent/hook.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "fuzz.h"
#include "hooks/handler.h"
#include "hooks/output.h"
#include "hooks/point.h"
#include "hooks/question.h"
#include "json/json.h"

#define HEAD 4

static bool is_untouched(const struct hook_outcome *o)
{
    return o->decision == HOOK_SILENT && !o->stop && !o->interrupt && !o->reason.len &&
           !o->context.len && !o->message.len && !o->input.len && !o->output.len &&
           !o->permissions.len;
}

static void check_json(const struct buf *text, enum json_type type)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;

    if (!text->len)
        return;
    FUZZ_CHECK(json_parse(&arena, buf_str(text), &v, NULL, NULL) == 0);
    FUZZ_CHECK(json_is(v, type));
}

static void check_output(const struct output *o, enum hook_event event, unsigned flags)
{
    CLEANUP(hook_outcome_release) struct hook_outcome io = HOOK_OUTCOME_INIT;
    struct err err = {0};
    int r = output_merge(o, event, flags, &io, &err);

    FUZZ_CHECK(r == 0 || (r == -1 && err.code != ERR_NONE && err.text[0]));
    if (r < 0)
        FUZZ_CHECK(is_untouched(&io));
    if (o->end == OUTPUT_EXITED && o->code == 2) {
        FUZZ_CHECK(r == 0);
        FUZZ_CHECK(point_of(event)->block != BLOCK_DENIES ||
                   (io.decision == HOOK_DENY && io.reason.len));
    }
    if (r == 0 && flags & HANDLER_FAILURE_BLOCKS && point_of(event)->flags & POINT_GUARDED &&
        o->end != OUTPUT_EXITED)
        FUZZ_CHECK(io.decision == HOOK_DENY);
    check_json(&io.input, JSON_OBJECT);
    check_json(&io.permissions, JSON_ARRAY);
}

static void check_verdict(struct str answer)
{
    CLEANUP(buf_release) struct buf reason = BUF_INIT(HOOK_MAX_TEXT);
    enum verdict verdict = VERDICT_FINE;
    struct err err = {0};
    int r = question_read(answer, &verdict, &reason, &err);

    FUZZ_CHECK(r == 0 || err.code == ERR_PROTOCOL);
    FUZZ_CHECK(r == 0 || !reason.len);
    FUZZ_CHECK(r < 0 || verdict == VERDICT_FINE || reason.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_make((const char *)data, size);
    struct output o = {0};

    if (size < HEAD)
        return 0;
    text = str_from(text, HEAD);
    check_verdict(text);
    o.end = (enum output_end)(data[3] % (OUTPUT_NOT_STARTED + 1));
    o.code = data[1];
    o.out = str_first(text, str_chr(text, '\x1e'));
    o.err = str_from(text, o.out.len + 1);
    check_output(&o, (enum hook_event)(data[0] % HOOK_EVENT_COUNT),
                 data[2] & HANDLER_FAILURE_BLOCKS);
    return 0;
}
