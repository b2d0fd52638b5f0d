/*
 * The system prompt: who the model is, how it works, what it must not do.
 *
 * The text is in prompt.md, the same bytes for every session of a version, so that a provider's
 * prompt cache serves all of them: differences between sessions (folder, date, instruction files,
 * mode) go into reminders (context.h, reminder.h). A user may replace the text or append to it; the
 * settings may name a style and a `language`.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

struct args;
struct conf;
struct err;
struct permit;
struct strv;

#define PROMPT_MAX_TEXT ((size_t)1 << 20) /* of --system-prompt-file and its like, each */

extern const char prompt_md[];      /* prompt.md */
extern const char coordinator_md[]; /* coordinator.md: in its place in coordinator mode */

struct prompt_spec {
    bool is_replaced; /* system stands in place of our own words, also when it is empty */
    struct buf system;
    struct buf appended; /* after either; empty: nothing */
    struct buf style;    /* after our own text; empty: nothing */
    bool drops_coding;   /* and what they say about writing code is left out */
    bool coordinates;    /* our own text is that of coordinator mode */
};
#define PROMPT_SPEC_INIT                                                                           \
    {                                                                                              \
        .system = BUF_INIT(PROMPT_MAX_TEXT), .appended = BUF_INIT(PROMPT_MAX_TEXT),                \
        .style = BUF_INIT(PROMPT_MAX_TEXT)                                                         \
    }
void prompt_spec_release(struct prompt_spec *s);

/* Reads --system-prompt, --append-system-prompt and their -file forms, paths against dir. Both
 * forms of one, a file that cannot be read or is not text: ERR_BAD_INPUT, ERR_NOT_FOUND,
 * ERR_TOO_BIG or ERR_IO, naming the option; *s is then unchanged. */
int prompt_spec_options(struct prompt_spec *s, const struct args *args, const char *dir,
                        struct err *err);

/* The output style of the settings (style.h). One that cannot be had is left out, and noted. */
/* permit: whose deny rules hide files from the model; NULL: none. */
void prompt_spec_style(struct prompt_spec *s, const struct conf *conf, struct permit *permit,
                       struct strv *ret_notes);

/* Later word wins: what an SDK's initialize says stands in place of the options. */
void prompt_spec_replace(struct prompt_spec *s, struct str system);
void prompt_spec_append(struct prompt_spec *s, struct str text);

/* The whole of it. conf: for `language`; NULL: none. */
void prompt_system(const struct prompt_spec *s, const struct conf *conf, struct buf *ret);
