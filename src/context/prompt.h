/*
 * The system prompt: the model's role, how it works, what it must not do.
 *
 * The text is prompt.md, the same bytes in all sessions of a version, so that a provider's prompt
 * cache works for all of them: differences between sessions (folder, date, instruction files, mode)
 * are in reminders (context.h, reminder.h). The user may replace or extend the text; the settings
 * may select a style and a `language`.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/path_veto.h"

struct args;
struct conf;
struct err;
struct strv;

#define PROMPT_MAX_TEXT ((size_t)1 << 20) /* of --system-prompt-file and related options, each */

extern const char prompt_md[];      /* prompt.md */
extern const char coordinator_md[]; /* coordinator.md: replaces it in coordinator mode */

struct prompt_spec {
    bool is_replaced; /* system replaces our text, even if it is empty */
    struct buf system;
    struct buf appended; /* appended to either; may be empty */
    struct buf style;    /* appended to our text; may be empty */
    bool drops_coding;   /* omits the instructions about writing code */
    bool coordinates;    /* our text is that of coordinator mode */
};
#define PROMPT_SPEC_INIT                                                                           \
    {                                                                                              \
        .system = BUF_INIT(PROMPT_MAX_TEXT), .appended = BUF_INIT(PROMPT_MAX_TEXT),                \
        .style = BUF_INIT(PROMPT_MAX_TEXT)                                                         \
    }
void prompt_spec_release(struct prompt_spec *s);

/* Reads --system-prompt, --append-system-prompt and their -file forms; paths are relative to dir.
 * Both forms of one, or an unreadable or binary file: ERR_BAD_INPUT, ERR_NOT_FOUND, ERR_TOO_BIG or
 * ERR_IO, naming the option; *s is then unchanged. */
int prompt_spec_options(struct prompt_spec *s, const struct args *args, const char *dir,
                        struct err *err);

/* Sets the output style of the settings (style.h). An invalid one is ignored, with a note. */
void prompt_spec_style(struct prompt_spec *s, const struct conf *conf, struct path_veto denied,
                       struct strv *ret_notes);

/* Replaces the text, including that from options: for an SDK's initialize request. */
void prompt_spec_replace(struct prompt_spec *s, struct str system);
void prompt_spec_append(struct prompt_spec *s, struct str text);

/* Appends the complete prompt. conf: for `language`; may be NULL. */
void prompt_system(const struct prompt_spec *s, const struct conf *conf, struct buf *ret);
