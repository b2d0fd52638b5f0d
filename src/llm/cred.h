/*
 * Where a provider's key comes from, and how helper programs are run.
 *
 * In this order: the environment, the helper (`apiKeyHelper` in settings for Anthropic,
 * `providers.<name>.apiKeyHelper` for others), the key stored by `tenax auth login`. A helper is a
 * shell command that prints the key. It is run again if the key was rejected or is older than
 * CLAUDE_CODE_API_KEY_HELPER_TTL_MS (default: 5 minutes). Every key is registered as a secret and
 * never passed as a program argument.
 */
#pragma once

#include <stdbool.h>

struct cancel;
struct conf;
struct door;
struct err;
struct mail;
struct mailbox;
struct provider;

/* Whether the environment or the settings provide a key, without running a helper. */
bool cred_is_configured(const struct conf *conf, const struct door *d);

/* Fills key, bearer, source, source_name and the helper's data, and adds notes. source is KEY_NONE
 * if there is no key, which may be fine for the caller. Fails if a source is broken. */
int cred_find(const struct conf *conf, const struct door *d, struct cancel *cancel,
              struct provider *p, struct err *err);
bool cred_is_stale(const struct provider *p);
void cred_release(struct provider *p); /* wipes the key */

/* Runs the helper again without blocking: its mail goes to the mailbox, and the caller passes it
 * on. cred_asking_mail() returns 1 when the key is renewed, 0 to continue, -1 with ERR_AUTH. */
struct cred_asking;
struct cred_asking *cred_ask(const struct provider *p, struct mailbox *to, struct err *err);
bool cred_asking_owns(const struct cred_asking *a, const struct mail *m);
int cred_asking_mail(struct cred_asking *a, struct mail *m, struct provider *p, struct err *err);
void cred_asking_free(struct cred_asking *a); /* ends the helper; NULL is fine */
