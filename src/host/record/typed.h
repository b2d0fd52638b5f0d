/*
 * Input of the user, found in the text of a conversation: a command stands there as
 * "<command-name>/x</command-name>…", a shell command as "<bash-input>ls</bash-input>…", the way
 * viewers of transcripts know them. Pure; any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;

/* Appends "/x …" or "!ls". False: the words are their own. */
bool typed_find(struct str text, struct buf *ret);
