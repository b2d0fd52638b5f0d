/*
 * Parses git's configuration files like git: sections, quotes, comments, continued lines, and
 * included files.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"
#include "base/strv.h"

struct git_setting {
    struct str section; /* in lower case: "core"; or as written: `includeif "gitdir:~/w/"` */
    struct str key;     /* in lower case */
    struct str value;   /* without quotes; "true" if there is none */
};
typedef void (*git_config_fn)(void *arg, const struct git_setting *setting);

/* Calls fn for each setting, in order; what git would not accept is skipped. Strings are lent. */
void git_config_each(struct str text, git_config_fn fn, void *arg);

/* Settings in configuration files that determine which programs git runs, and files that they
 * include. */
struct git_config {
    struct strv included; /* files, absolute, links resolved; some may be missing */
    struct strv hooks;    /* values of core.hooksPath, the effective one last */
};

/* Adds a file and all files that it includes, regardless of conditions. home: for "~/x". An
 * unreadable file has no settings. */
void git_config_add(struct git_config *c, const char *file, const char *home);
void git_config_release(struct git_config *c);
