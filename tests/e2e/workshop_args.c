/*
 * workshop_args: the command line of the workshop. Main thread.
 */
#include "workshop_args.h"

#include "base/strv.h"

/* Little time for commands that do not listen; one rule of each kind. */
static const char workshop_settings[] =
    "{\"killGrace\": 100, \"permissions\": {\"allow\": [\"Bash\"], \"ask\": [\"Bash(git push:*)\"],"
    " \"deny\": [\"Bash(rm -rf:*)\", \"Read(./secret/**)\"]}}";

void workshop_args(struct strv *args, const char *model)
{
    static const char *const fixed[] = {
        "-p",
        "work through the list",
        "--output-format",
        "stream-json",
        "--verbose",
        "--permission-mode",
        "acceptEdits",
        "--settings",
        workshop_settings,
        "--model",
    };

    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        strv_adds(args, fixed[i]);
    strv_adds(args, model);
}
