/*
 * What a folder or its user has set up that tenax cannot use yet: named once at start, so that
 * nobody has to find out. The list in not_yet.c is the only place that knows.
 */
#pragma once

struct conf;
struct strv;

/* Adds at most one line. Reads files. */
void not_yet_note(const struct conf *conf, struct strv *notes);
