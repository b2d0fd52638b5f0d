/*
 * What the looks of dialog_pick_new() share; for the files dialog_*.c alone.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "slash/front.h"
#include "tui/dialog/panel.h"

/* A pick, kept. First member of each. */
struct dialog_pick {
    struct panel panel;
    struct arena arena;
    struct pick pick;
    size_t at; /* of the choices; the chosen one */
};

struct dialog_pick *dialog_slider_new(const struct pick *pick);

void dialog_note(const struct view *v, struct str note, struct lines *ret);
void *dialog_pick_make(size_t size, const struct pick *pick);
void dialog_pick_free(struct panel *p);
