/*
 * Where settings live: the homes, and every source in order of precedence.
 *
 * Nothing is read here but what decides on paths: the git checkout (for local settings) and the
 * listing of managed-settings.d.
 */
#pragma once

#include <stddef.h>

#include "base/vec.h"
#include "conf/source.h"

struct arena;
struct conf_sources;
struct err;

#define LEVELS_MAX_MANAGED 100 /* files in one managed-settings.d */

struct levels {
    const char *user_home;   /* $HOME */
    const char *claude_home; /* CLAUDE_CONFIG_DIR or ~/.claude */
    const char *home;        /* TENAX_HOME or ~/.tenax; absolute */
    VEC(struct source) list; /* lowest first; the strings are in the arena */
    const char *drop_ins[2]; /* the folders managed-settings.d, Claude's and ours */
};

void levels_release(struct levels *l);
int levels_find(const struct conf_sources *from, struct arena *arena, struct levels *ret,
                struct err *err);

/* The folder whose .claude and .tenax hold the local settings: the checkout's, or dir itself. */
const char *levels_local_dir(struct arena *arena, const char *dir, const char *user_home);
