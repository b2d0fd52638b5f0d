/*
 * /clear: starts a new conversation. A new session replaces this one, which can be resumed later.
 * If no more input is possible (a prompt of the command line), the conversation of this session is
 * rewound to its beginning, which /rewind undoes.
 */
#include "base/err.h"
#include "base/file.h"
#include "host/host.h"
#include "host/record/rewind.h"
#include "slash/answer.h"

static int clear_run(struct slash_call *call, struct err *err);

const struct slash_command slash_clear_entry = {
    .name = "clear",
    .aliases = "reset new",
    .hint = "",
    .summary = "Start a new conversation; this one can still be resumed",
    .more = "With stream-json input as well: earlier input is processed first, and the lines "
            "after it have another `session_id`. As the prompt of `tenax -p --resume` it "
            "takes the conversation back to its beginning.",
    .run = clear_run,
};

static int clear_run(struct slash_call *call, struct err *err)
{
    CLEANUP(rewind_freep) struct rewind *points = NULL;
    const char *path = host_transcript(call->host);

    if (slash_can_begin_anew(call->slash)) {
        if (slash_stop_work(call, err) < 0)
            return -1;
        if (*path && file_exists(path))
            slash_sayf(call, INK_FAINT, "The conversation before: /resume, or tenax --resume %s\n",
                       host_session(call->host));
        else
            slash_say(call, INK_FAINT, STR("A new conversation.\n"));
        call->after = AFTER_NEW;
        return 0;
    }
    if (!*path || !file_exists(path)) {
        slash_say(call, INK_PLAIN, STR("The session has no messages yet.\n"));
        return 0;
    }
    if (rewind_open(path, host_folder(call->host), call->cancel, &points, err) < 0)
        return -1;
    if (!rewind_count(points)) {
        slash_say(call, INK_PLAIN, STR("The session has no messages yet.\n"));
        return 0;
    }
    return slash_go_back(call, rewind_at(points, 0)->uuid, /*files=*/false, /*conversation=*/true,
                         err);
}
