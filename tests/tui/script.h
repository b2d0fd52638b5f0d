/*
 * A script for a program on a terminal (tests/data/NAME.screen) and what it must show
 * (NAME.golden). tests/tui/README.md says how they are written. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/strv.h"
#include "base/vec.h"

struct err;

struct script_section {
    struct str head; /* "file work/a.txt" */
    struct str text;
    int line;
};

struct script {
    const char *file;
    struct buf source; /* sections point into it */
    VEC(struct script_section) sections;
};

/* Both kinds of file: lines of "%% head", the text below them; what stands before is a comment. */
int script_load(const char *file, struct script *ret, struct err *err);
void script_release(struct script *s);
/* The section with this head, or of this first word; NULL: none. */
const struct script_section *script_find(const struct script *s, struct str head);
const struct script_section *script_first(const struct script *s, const char *word);
/* What follows the first word of a head. */
struct str script_rest(struct str head);

/* The bytes of "ctrl+c", "up", "shift+tab"; false: no such key. */
bool script_key(struct str name, struct buf *ret);
/* \e \a \r \n \t \\ \xHH */
void script_unescape(struct str text, struct buf *ret);
