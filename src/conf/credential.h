/*
 * Settings that determine where a key is sent or comes from: base URLs, key helpers, proxies,
 * certificates, credential variables, providers.
 *
 * A repository may have such entries. They take effect only after the user has approved exactly
 * that entry for exactly that folder, in headless runs, too. An approval is a digest, which the
 * caller stores (conf_approve()).
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct check;
struct source;
struct strv;

/* Drops such entries of the source that are not approved, with a warning each. ret_unapproved gets
 * "<digest> <what>" for each. */
void credential_check(struct check *c, const struct source *s, const char *dir,
                      const struct strv *approved, struct strv *ret_unapproved);

/* Whether a variable of this name is such an entry. */
bool credential_is_variable(struct str name);
