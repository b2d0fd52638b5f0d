/*
 * /version: which tenax this is.
 */
#include "slash/answer.h"

static int version_run(struct slash_call *call, struct err *err);

const struct slash_command slash_version_entry = {
    .name = "version",
    .hint = "",
    .summary = "Show the version",
    .run = version_run,
};

static int version_run(struct slash_call *call, struct err *err)
{
    (void)err;
    buf_adds(&call->text, "tenax " TENAX_VERSION "\n");
    return 0;
}
