/*
 * /debug-tool-call: shows recent tool calls with input and result.
 */
#include "agent/recall.h"
#include "base/err.h"
#include "host/host.h"
#include "llm/message.h"
#include "slash/answer.h"

static int debug_tool_call_run(struct slash_call *call, struct err *err);

const struct slash_command slash_debug_tool_call_entry = {
    .name = "debug-tool-call",
    .hint = "[<n>]",
    .summary = "Show the last tool calls with input and result (5 by default)",
    .run = debug_tool_call_run,
};

#define DEBUG_CALLS 5
#define DEBUG_MAX_CALLS 100
#define DEBUG_BYTES ((size_t)4000) /* of an input, of a result */

static const struct block *find_result(const struct recall *past, size_t from, struct str id)
{
    for (size_t i = from; i < past->messages.len; i++) {
        const struct message *m = past->messages.ptr[i];

        for (size_t j = 0; j < m->len; j++) {
            if (m->blocks[j].kind == BLOCK_TOOL_RESULT && str_eq(m->blocks[j].id, id))
                return &m->blocks[j];
        }
    }
    return NULL;
}

static void say_clipped(struct slash_call *call, struct str text)
{
    struct str shown = str_clip(text, DEBUG_BYTES);

    slash_say(call, INK_PLAIN, shown);
    if (shown.len < text.len)
        slash_sayf(call, INK_FAINT, "… (%zu bytes)", text.len);
    slash_say(call, INK_PLAIN, STR("\n"));
}

static void say_call(struct slash_call *call, const struct block *use, const struct block *result)
{
    slash_sayf(call, INK_CYAN, "%.*s", STR_ARG(use->name));
    slash_sayf(call, INK_FAINT, "  %.*s\n", STR_ARG(use->id));
    slash_say(call, INK_BOLD, STR("in   "));
    say_clipped(call, use->input.len ? use->input : STR("{}"));
    slash_say(call, result && result->is_error ? INK_RED : INK_BOLD,
              result && result->is_error ? STR("fail ") : STR("out  "));
    if (!result)
        slash_say(call, INK_FAINT, STR("(no result yet)\n"));
    for (size_t i = 0; result && i < result->content_len; i++)
        say_clipped(call, result->content[i].kind == BLOCK_TEXT ? result->content[i].text
                                                                : STR("(an image or a document)"));
    slash_say(call, INK_PLAIN, STR("\n"));
}

static int debug_tool_call_run(struct slash_call *call, struct err *err)
{
    CLEANUP(recall_release) struct recall past = RECALL_INIT;
    int64_t wanted = DEBUG_CALLS;
    size_t skip = 0;

    if (call->args.len &&
        (str_to_i64(call->args, &wanted, err) < 0 || wanted < 1 || wanted > DEBUG_MAX_CALLS))
        return err_set(err, ERR_BAD_INPUT, "how many calls? 1 to %d", DEBUG_MAX_CALLS);
    if (host_recall(call->host, call->cancel, &past, err) < 0)
        return -1;
    VEC_EACH(&past.messages, m) {
        skip += message_count(*m, BLOCK_TOOL_USE);
    }
    if (!skip) {
        slash_say(call, INK_PLAIN, STR("No tool has been called yet.\n"));
        return 0;
    }
    skip = skip > (size_t)wanted ? skip - (size_t)wanted : 0;
    for (size_t i = 0; i < past.messages.len; i++) {
        const struct message *m = past.messages.ptr[i];

        for (size_t j = 0; j < m->len; j++) {
            if (m->blocks[j].kind != BLOCK_TOOL_USE)
                continue;
            if (skip)
                skip--;
            else
                say_call(call, &m->blocks[j], find_result(&past, i, m->blocks[j].id));
        }
    }
    return 0;
}
