/*
 * Keys stored by `tenax auth login`: $TENAX_HOME/auth.json, one per provider, readable only by the
 * user.
 *
 * The file has mode 0600 in a folder with 0700 and is replaced as a whole; concurrent logins do not
 * lose keys. If others could read the file, its mode is corrected when it is next read, and a note
 * advises to change the keys. A file that belongs to another user is rejected.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/strv.h"

struct err;

#define AUTH_MAX_KEY 16384

/* A key is one line of printable ASCII. where: its source, for the error ("ANTHROPIC_API_KEY"); the
 * key itself is never shown. */
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
