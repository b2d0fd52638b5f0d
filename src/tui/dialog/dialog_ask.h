/*
 * Shared by the dialogs of dialog_ask_new(); for the files dialog_*.c alone.
 */
#pragma once

#include <stdbool.h>

#include "agent/ask.h"
#include "base/arena.h"
#include "base/str.h"
#include "tui/dialog/dialog_page.h"
#include "tui/dialog/panel.h"

struct json;

/* An ask, kept. */
struct asked {
    struct arena arena;
    enum ask_kind kind;
    struct str tool, reason, reason_type, blocked_path;
    const struct json *input;       /* NULL: none, or it is no object */
    const struct json *suggestions; /* NULL: none */
    const struct json *effects;     /* the same */
    const char *dir;
};

/* First member of each. */
struct dialog_ask {
    struct panel panel;
    void (*answer)(struct dialog_ask *d, struct ask_answer *ret);
    struct asked asked;
    struct dialog_page page;
    bool is_done; /* an option was chosen: else it is a no */
};

/* The page without its body and rows; guarded. size: of the struct that begins with it. */
void *dialog_ask_make(size_t size, const struct ask *ask, const char *dir, struct str title,
                      unsigned menu_flags);
void dialog_ask_init(struct dialog_ask *d, const struct panel_kind *kind, dialog_body_fn body,
                     void (*answer)(struct dialog_ask *d, struct ask_answer *ret));
/* For panels that are this page and nothing else. */
void dialog_ask_draw(struct panel *p, const struct view *v, struct lines *ret,
                     struct screen_cursor *ret_cursor);
enum panel_state dialog_ask_key(struct panel *p, const struct keypress *k);
int64_t dialog_ask_due(struct panel *p);
enum panel_state dialog_ask_wake(struct panel *p);
void dialog_ask_free(struct panel *p);

/* What a command would change or reach, as it was found out (ask.effects); dialog_effects.c. */
void dialog_effects(const struct view *v, const struct json *effects, const char *dir,
                    struct lines *ret);

void dialog_ask_row(struct dialog_ask *d, struct str label, struct str detail, char letter,
                    bool is_off);
/* [{"type":"setMode","mode":…,"destination":"session"}] */
void dialog_ask_mode(const char *mode, struct ask_answer *ret);

struct dialog_ask *dialog_permission_new(const struct ask *ask, const char *dir);
struct dialog_ask *dialog_plan_new(const struct ask *ask, const char *dir);
struct dialog_ask *dialog_question_new(const struct ask *ask, const char *dir);
struct dialog_ask *dialog_record_new(const struct ask *ask, const char *dir);
struct dialog_ask *dialog_trust_new(const struct ask *ask, const char *dir);
struct dialog_ask *dialog_form_new(const struct ask *ask, const char *dir);
