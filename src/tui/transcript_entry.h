/*
 * A line of a transcript, whole: what was said, thought, called and answered. Nothing is folded.
 * Lines that only programs read (snapshots, queues, titles) have no rows. Pure. UI thread.
 */
#pragma once

#include "base/str.h"
#include "tui/line.h"

struct view;

void transcript_entry_draw(struct str line, const struct view *v, struct lines *ret);
