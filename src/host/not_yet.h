/*
 * Parts of the setup of a folder or user that tenax cannot use yet: named once at start, so that
 * users need not find out. The list in not_yet.c is the only place that knows.
 */
#pragma once

struct conf;
struct strv;

/* Adds at most one line. Reads files. */
void not_yet_note(const struct conf *conf, struct strv *notes);
