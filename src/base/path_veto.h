/*
 * Paths that must not be read, as decided by the caller of code that reads files for the model
 * (guard/denied.h: by deny rules). A zeroed one denies nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct path_veto {
    bool (*denies)(void *arg, const char *path);
    void *arg;
};

/* path: absolute; NULL is never denied. */
static inline bool path_veto_has(struct path_veto v, const char *path)
{
    return path && v.denies && v.denies(v.arg, path);
}
