/*
 * What a person has typed, found in the words of a conversation: a command stands there as
 * "<command-name>/x</command-name>…", a command of the shell as "<bash-input>ls</bash-input>…", the
 * way viewers of transcripts know them. Pure; any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;

/* Appends "/x …" or "!ls". False: the words are their own. */
bool typed_find(struct str text, struct buf *ret);
