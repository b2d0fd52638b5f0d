/*
 * The file that a tool is about to change, and the checks common to these tools: the model has seen
 * its current state, it is replaced as a whole, and the result says what changed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "tools/textfile.h"

struct err;
struct jw;
struct patch;
struct tool_call;
struct tool_result;

/* Limit of the old text in structured results; a longer one is omitted. */
#define TARGET_MAX_ORIGINAL ((size_t)256 << 10)

struct target {
    char *path;       /* absolute, as given */
    const char *note; /* from saving, for the model; or NULL */
    struct textfile file;
};

/* Whether the file may be examined before the user is asked, because Read would be allowed; an
 * editor's text must not be revealed before that. For check() of tools. */
bool target_may_look(struct tool_call *call, const char *key);
/* Loads the file named by an argument; it need not exist. */
int target_open(struct tool_call *call, const char *key, struct target *ret, struct err *err);
void target_release(struct target *t);

/* ERR_NOT_FOUND with suggestions if it does not exist. */
int target_must_exist(struct tool_call *call, const struct target *t, struct err *err);
/* ERR_BAD_INPUT if the model has not read it in its current state. Not needed for empty files. */
int target_must_be_seen(struct tool_call *call, const struct target *t, struct err *err);

/* ERR_BAD_INPUT if the text would replace a secret in the file by the mask shown for it, or has
 * characters that the file's encoding lacks. */
int target_may_become(const struct target *t, struct str text, struct err *err);

/* Writes the text and remembers it as seen. On failure the file is unchanged. */
int target_save(struct tool_call *call, struct target *t, struct str text, struct err *err);

/* The members filePath, originalFile (NULL: null, there was none) and structuredPatch. */
void target_write_data(const struct target *t, const struct buf *original,
                       const struct patch *patch, struct jw *out);
/* Appends the note. */
void target_end_text(const struct target *t, struct tool_result *ret);
/* Closes the object; drops the data if it is too large. */
void target_end_data(struct jw *out, struct tool_result *ret);

/* Appends the lines around the changes, numbered, as they are now. */
void target_show(const struct patch *patch, struct tool_result *ret);
