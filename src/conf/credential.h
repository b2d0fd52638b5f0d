/*
 * Entries of settings that decide where a key goes or where it comes from: base URLs, key helpers,
 * proxies, certificates, credential variables, providers.
 *
 * A repository may bring such entries along. They count only once the user has approved exactly
 * that entry for exactly that folder, headless runs included. An approval is a digest, which the
 * caller keeps (conf_approve()).
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct check;
struct source;
struct strv;

/* What the source says of such things and is not approved is left out, with a warning each.
 * ret_unapproved: "<digest> <what>", one for each. */
void credential_check(struct check *c, const struct source *s, const char *dir,
                      const struct strv *approved, struct strv *ret_unapproved);

/* Whether a variable of this name does. */
bool credential_is_variable(struct str name);
