/*
 * /break-cache: bypasses the provider's prompt cache for the next call, or for all of them, to
 * measure what it saves or if it seems to be stale.
 */
#include "agent/agent.h"
#include "base/err.h"
#include "host/host.h"
#include "slash/answer.h"

static int break_cache_run(struct slash_call *call, struct err *err);

const struct slash_command slash_break_cache_entry = {
    .name = "break-cache",
    .hint = "[once | always | off | status]",
    .summary = "Keep the provider's prompt cache from being used, for one call or for all",
    .run = break_cache_run,
};

static int break_cache_run(struct slash_call *call, struct err *err)
{
    static const char *const words[] = {
        [CACHE_BREAK_OFF] = "off", [CACHE_BREAK_ONCE] = "once", [CACHE_BREAK_ALWAYS] = "always"};
    static const char *const says[] = {
        [CACHE_BREAK_OFF] = "The prompt cache is used.",
        [CACHE_BREAK_ONCE] = "The next call does without the prompt cache.",
        [CACHE_BREAK_ALWAYS] = "All calls do without the prompt cache, until /break-cache off.",
    };
    struct str word = call->args.len ? call->args : STR("once");
    bool known = str_is(word, "status");

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (!str_is(word, words[i]))
            continue;
        host_break_cache(call->host, (int)i);
        known = true;
    }
    if (!known)
        return err_set(err, ERR_BAD_INPUT, "usage: /break-cache %s", slash_break_cache_entry.hint);
    slash_sayf(call, INK_PLAIN, "%s\n", says[host_cache_break(call->host)]);
    return 0;
}
