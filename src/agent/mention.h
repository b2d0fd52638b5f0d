/*
 * Files that somebody names in a prompt: "@path", or "@"path with blanks"", at the start of a word.
 *
 * The text of each goes along as a reminder before the words; of a folder, what is in it. One that
 * is not there, or that a rule keeps from being read without asking, stays a word. Everything is
 * bounded, and what was cut or left out is named. Any thread.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct buf;
struct permit;
struct workspace;

#define MENTION_MAX_FILES 20
#define MENTION_MAX_FILE ((size_t)100 << 10) /* as much as Read shows of one */
#define MENTION_MAX_NAMES 500                /* of a folder */

/* Appends the reminders. A file that goes along whole counts as read. */
void mention_files(struct workspace *w, struct permit *p, struct str words, struct buf *ret);

/* How long the path at the start of s is, behind its "@" and without quotes: up to a blank or a
 * sign that ends it; a full stop, a colon, "!" and "?" at its end are the sentence's. */
size_t mention_path_len(struct str s);
