/*
 * Path specifiers of rules: patterns in the style of .gitignore, anchored.
 *
 * "*" and "?" stay within one name, "**" crosses folders, a pattern that matches a folder matches
 * all below it. Without a slash a name matches at any depth below its anchor.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "guard/rule.h"

struct arena;
struct err;

struct rule_path {
    struct str base;    /* folder of the anchor, without a slash at its end; "" is the root */
    struct str real;    /* the same with links followed ... */
    bool is_linked;     /* ... when that is another */
    struct str pattern; /* below it; empty: the folder itself */
    bool any_depth;
    char first; /* what all that the pattern matches begins with; 0: anything ... */
    char last;  /* ... and ends with */
};

int rule_path_parse(struct arena *arena, struct str text, enum rule_list list,
                    const struct rule_place *place, struct rule_path *ret, struct err *err);
bool rule_path_matches(const struct rule_path *p, struct str path);
const char *rule_path_reach(const struct rule_path *p, struct arena *arena, size_t *ret_depth);
