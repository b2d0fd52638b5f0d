/*
 * /init: lets the model examine the project and write down what an agent should know about it.
 */
#include "base/file.h"
#include "conf/conf.h"
#include "host/host.h"
#include "slash/answer.h"

static int init_run(struct slash_call *call, struct err *err);

const struct slash_command slash_init_entry = {
    .name = "init",
    .hint = "[what to mind]",
    .summary = "Have the model write a memory file (AGENTS.md or CLAUDE.md) for this project",
    .run = init_run,
};

static const char words[] =
    "Write down what a newcomer to this project needs to work in it, for an agent that starts "
    "without any memory of it.\n\n"
    "Look around first: the README and other documents, build files, configuration of tests and "
    "linters, CI, the shape of the source folders, and the newest commits. Run nothing that "
    "changes "
    "anything.\n\n"
    "The file has:\n"
    "- what the project is, in two sentences;\n"
    "- the commands to build, to run all tests, to run one test, to format and lint, as they "
    "really "
    "are here (name the file you have them from only when it is not obvious);\n"
    "- how it is put together: the parts, what goes through them, the rules that cannot be seen "
    "from "
    "one file alone;\n"
    "- habits of this code that differ from the usual, and traps.\n\n"
    "Leave out what any good engineer would do anyway, lists of files that one can see, and "
    "everything you have not checked. Under 80 lines. If other tools' instructions exist "
    "(.cursorrules, .github/copilot-instructions.md and such), take over what matters.\n\n";

static int init_run(struct slash_call *call, struct err *err)
{
    static const char *const names[] = {"CLAUDE.md", "AGENTS.md", ".claude/CLAUDE.md"};
    const char *dir = conf_dir(host_conf(call->host));
    const char *found = NULL;

    (void)err;
    for (size_t i = 0; i < ARRAY_LEN(names) && !found; i++) {
        CLEANUP(mem_freep) char *path = path_join(dir, names[i]);

        if (file_exists(path))
            found = names[i];
    }
    buf_adds(&call->prompt, words);
    if (found)
        buf_addf(
            &call->prompt,
            "%s is there already: read it, keep what holds, correct what does not, add whatever is "
            "missing.",
            found);
    else
        buf_adds(&call->prompt, "Write it to AGENTS.md.");
    if (call->args.len)
        buf_addf(&call->prompt, "\n\nMind this: %.*s", STR_ARG(call->args));
    return 0;
}
