/*
 * The files that a prompt mentions with "@", as the workspace finds them and the permission rules
 * allow: what context/mention.h asks about. Any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct cancel;
struct mentions;
struct permit;
struct workspace;

/* Appends to *ret (agent_spec.mentioned). */
void mentioned_add(struct workspace *w, struct permit *p, bool takes_images, struct str words,
                   struct cancel *cancel, struct mentions *ret);
