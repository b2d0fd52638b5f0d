/*
 * Permission updates that are to outlive the session: which file each destination of the agent SDK
 * means, and what changes in it. Only tenax's own files are written. For the files of permit.
 */
#pragma once

#include <stdbool.h>

#include "guard/permit_state.h"

struct err;
struct json;
struct str;
struct strv;

/* The files' paths, from the settings' folders; permit_free() frees them. */
void permit_find_files(struct permit *p, const struct conf *conf);

const char *permit_destination_name(enum permit_destination d); /* "localSettings" */
/* An empty name is the session. */
bool permit_destination_parse(struct str name, enum permit_destination *ret);

/* Whether the rule stands where the update speaks of. */
bool permit_rule_is_at(const struct permit *p, const struct permit_rule *r,
                       enum permit_destination d);

enum permit_change {
    CHANGE_ADD,
    CHANGE_REMOVE,
    CHANGE_REPLACE,
};

/* permissions.allow and its like, and permissions.additionalDirectories: texts added without
 * duplicates, taken out, or put in place of all. Does nothing for the session. */
int permit_save_list(const struct permit *p, enum permit_destination d, const char *key,
                     enum permit_change change, const struct strv *texts, struct err *err);
int permit_save_mode(const struct permit *p, enum permit_destination d, enum permit_mode mode,
                     struct err *err);
