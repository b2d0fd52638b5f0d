/*
 * The rows of all commands, for the table (table.c); what they are is in slash.h.
 */
#pragma once

#include "slash/slash.h"

#define COMMAND(name) extern const struct slash_command slash_##name##_entry;
#include "slash/commands.def"
#undef COMMAND

/* In no list: input after "!" and "#". */
extern const struct slash_command slash_shell_entry;
extern const struct slash_command slash_note_entry;
