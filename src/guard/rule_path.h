/*
 * Path specifiers of rules: anchored patterns like in .gitignore.
 *
 * "*" and "?" do not match slashes, "**" does; a pattern that matches a folder matches everything
 * below. Without a slash a name matches at any depth below its anchor.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "guard/rule.h"

struct arena;
struct err;

struct rule_path {
    struct str base;    /* folder of the anchor, without trailing slash; "" is the root */
    struct str real;    /* the same with links resolved ... */
    bool is_linked;     /* ... if that is different */
    struct str pattern; /* below it; empty = the folder itself */
    bool any_depth;
    char first; /* first character of all matches; 0 = any ... */
    char last;  /* ... and the last one */
};

int rule_path_parse(struct arena *arena, struct str text, enum rule_list list,
                    const struct rule_place *place, struct rule_path *ret, struct err *err);
bool rule_path_matches(const struct rule_path *p, struct str path);
const char *rule_path_reach(const struct rule_path *p, struct arena *arena, size_t *ret_depth);
