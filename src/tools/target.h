/*
 * The one file that a tool is about to change, and what all of them owe it: it was seen as it is
 * now, it is replaced whole, and the result tells what changed.
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

/* Of the old text in structured results; a longer one is left out. */
#define TARGET_MAX_ORIGINAL ((size_t)256 << 10)

struct target {
    char *path;       /* absolute, as it was named */
    const char *note; /* for the model, of saving; NULL: none */
    struct textfile file;
};

/* Whether looking at the file before the user was asked is no more than a Read would be allowed:
 * the text of an editor is none of the model's business before that. For check() of tools. */
bool target_may_look(struct tool_call *call, const char *key);
/* The file named by an argument, loaded; it need not exist. */
int target_open(struct tool_call *call, const char *key, struct target *ret, struct err *err);
void target_release(struct target *t);

/* ERR_NOT_FOUND, with what may have been meant, when it is not there. */
int target_must_exist(struct tool_call *call, const struct target *t, struct err *err);
/* ERR_BAD_INPUT when the model has not read it, or not as it is now. Empty files need no look. */
int target_must_be_seen(struct tool_call *call, const struct target *t, struct err *err);

/* ERR_BAD_INPUT when the text would replace a key in the file by the mask shown for it. */
int target_keeps_keys(const struct target *t, struct str text, struct err *err);

/* Replaces the text and remembers it as seen. On failure the file is as it was. */
int target_save(struct tool_call *call, struct target *t, struct str text, struct err *err);

/* The members filePath, originalFile (NULL: null, there was none) and structuredPatch. */
void target_write_data(const struct target *t, const struct buf *original,
                       const struct patch *patch, struct jw *out);
/* Appends the note. */
void target_end_text(const struct target *t, struct tool_result *ret);
/* Closes the object; a result that has become too large for one is left out. */
void target_end_data(struct jw *out, struct tool_result *ret);

/* Lines around the changes, numbered, as the file has them now. */
void target_show(const struct patch *patch, struct tool_result *ret);
