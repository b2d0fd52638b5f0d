/*
 * /compact: only the row; the agent takes it up in its turn among inputs (agent/compact/compact.h).
 */
#include "slash/commands.h"

const struct slash_command slash_compact_entry = {
    .name = "compact",
    .hint = "[what to keep]",
    .summary = "Replace the older part of the conversation with a summary",
};
