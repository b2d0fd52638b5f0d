/*
 * A command file becomes words for the model (own.h).
 *
 *   $ARGUMENTS            all text after the name
 *   $ARGUMENTS[0], $0 …   one word of it
 *   $name                 the word of that place in the frontmatter's `arguments`
 *   ${CLAUDE_SESSION_ID}, ${CLAUDE_EFFORT}, ${CLAUDE_SKILL_DIR}, ${CLAUDE_PROJECT_DIR}; of a plugin
 *                         also plugin_variable()
 *   !`command`, ```! …    its output; it must be allowed, and must succeed
 *   @path                 the file's content is appended to the text
 *
 * Arguments are put in after the file was parsed: they can bring neither commands nor files. Where
 * the file names no arguments they are appended at the end. The commands' thread.
 */
#pragma once

#include "base/str.h"
#include "base/strv.h"

struct buf;
struct err;
struct own_command;
struct plugin;
struct slash_call;

#define EXPAND_MAX_FILES 20
#define EXPAND_MAX_FILE ((size_t)256 << 10)
#define EXPAND_MAX_ALL (3 << 20) /* of all files together; omitted ones are named */
#define EXPAND_MAX_COMMANDS 50

/* Fills in arguments and names alone; pure. used: whether any of them is named. */
struct expand_values {
    struct str arguments;
    const struct strv *words; /* of them */
    const struct strv *names; /* of the words */
    const char *session, *effort, *dir, *project;
    const struct plugin *plugin; /* whose variables count, too; NULL: none */
};
void expand_values(struct str text, const struct expand_values *v, bool *io_used, struct buf *ret);

/* Into call->prompt, with what holds for its turn. ERR_DENIED: a command in it may not run. */
int expand_command(struct slash_call *call, const struct own_command *c, struct err *err);
