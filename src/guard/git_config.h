/*
 * Settings of git, read as git reads them: sections, quotes, comments, continued lines, and the
 * files that they include.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"
#include "base/strv.h"

struct git_setting {
    struct str section; /* in lower case; "core", or `includeif "gitdir:~/w/"` as it is written */
    struct str key;     /* in lower case */
    struct str value;   /* without quotes; "true" where there is none */
};
typedef void (*git_config_fn)(void *arg, const struct git_setting *setting);

/* Each setting of a text, in order; what git does not understand is skipped. Lent to fn. */
void git_config_each(struct str text, git_config_fn fn, void *arg);

/* What files of settings say that decides which programs git runs, and where else they say it. */
struct git_config {
    struct strv included; /* files, absolute, links followed; some may be missing */
    struct strv hooks;    /* values of core.hooksPath, the one that counts last */
};

/* Adds what a file says, and all files that it includes, whatever their condition is. home: of
 * "~/x". A file that cannot be read says nothing. */
void git_config_add(struct git_config *c, const char *file, const char *home);
void git_config_release(struct git_config *c);
