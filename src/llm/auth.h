/*
 * Keys stored by `tenax auth login`: $TENAX_HOME/auth.json, one per provider, readable only by the
 * user.
 *
 * The file is 0600 in a folder of 0700 and is replaced whole; two logins at once both stay. One
 * that others can read is restricted when it is next read, and a note says that the keys in it
 * should be changed. One that belongs to another user is refused.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/strv.h"

struct err;

#define AUTH_MAX_KEY 16384

/* A key is one line of printable ASCII. where names its source in the error ("ANTHROPIC_API_KEY");
 * the key itself never shows. */
int auth_check_key(struct str key, const char *where, struct err *err);

/* ERR_NOT_FOUND when none is stored. notes may be NULL. The key is registered as a secret. */
int auth_get(const char *home, struct str provider, struct buf *ret_key, struct strv *notes,
             struct err *err);
int auth_set(const char *home, struct str provider, struct str key, struct err *err);
int auth_remove(const char *home, struct str provider, struct err *err); /* ERR_NOT_FOUND */
/* Registers all of them as secrets. */
void auth_hide_keys(const char *home);
/* Names of the providers with a key; none when there is no file. */
int auth_list(const char *home, struct strv *ret_names, struct err *err);
