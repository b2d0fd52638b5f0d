/*
 * Monitor: starts a command in the background, each line of whose output is a notification. Runs on
 * a tool thread; sees only its call.
 */
#include <inttypes.h>

#include "agent/tool.h"
#include "base/err.h"
#include "json/json.h"
#include "json/jw.h"
#include "tools/background.h"
#include "tools/bash.h"
#include "tools/entries.h"

#define MONITOR_TIMEOUT_MS 300000
#define MONITOR_MAX_NOTES ((size_t)64 << 10)

static int tool_monitor_run(struct tool_call *call, struct tool_result *ret, struct err *err);

const struct tool_entry tool_monitor_entry = {
    .name = "Monitor",
    .text = tool_monitor_md,
    .schema = tool_monitor_schema,
    .hint = "watch log wait for event background notification tail follow",
    .flags = TOOL_DEFERRED,
    .about = bash_about,
    .run = tool_monitor_run,
};

static int tool_monitor_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf notes = BUF_INIT(MONITOR_MAX_NOTES);
    struct background_started started = {0};
    int64_t timeout_ms = json_get_i64(call->args, "timeout_ms", MONITOR_TIMEOUT_MS);
    struct jw w;

    if (bash_start(call, /*is_monitor=*/true, timeout_ms, &started, &notes, err) < 0)
        return -1;
    buf_addf(&ret->text,
             "Monitoring as %s for up to %" PRId64 " s. Each line of output is reported to you; do "
             "not wait for it by sleeping or polling.\n",
             started.id, timeout_ms / 1000);
    buf_add(&ret->text, buf_str(&notes));
    jw_init(&w, &ret->data, 0);
    jw_object(&w);
    jw_kcstr(&w, "taskId", started.id);
    jw_ki64(&w, "timeoutMs", timeout_ms);
    jw_kcstr(&w, "outputFile", started.path);
    jw_object_end(&w);
    mem_freep(&started.path);
    return 0;
}
