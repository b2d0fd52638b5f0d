/*
 * Recovers what the user typed from a message: a command is recorded as
 * "<command-name>/x</command-name>…", a shell command as "<bash-input>ls</bash-input>…", as viewers
 * of transcripts expect. Pure; any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;

/* Appends "/x …" or "!ls". False if the text was typed as it is. */
bool typed_find(struct str text, struct buf *ret);
