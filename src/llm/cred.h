/*
 * Keys: where a provider's key comes from, and how a helper program is asked for one.
 *
 * First that has one: the environment, the helper (`apiKeyHelper` in settings for Anthropic,
 * `providers.<name>.apiKeyHelper` for others), what `tenax auth login` stored. A helper is a shell
 * command that prints the key; it is asked again when the key was refused, or is older than
 * CLAUDE_CODE_API_KEY_HELPER_TTL_MS (5 minutes unless set). Every key is registered as a secret,
 * and none is ever an argument of a program.
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

/* Whether the environment or the settings offer a key, without asking any helper. */
bool cred_is_configured(const struct conf *conf, const struct door *d);

/* Fills key, bearer, source, source_name and the data for a helper, and adds notes. source stays
 * KEY_NONE when there is no key: the caller knows whether that will do. Fails when a source is
 * broken. */
int cred_find(const struct conf *conf, const struct door *d, struct cancel *cancel,
              struct provider *p, struct err *err);
bool cred_is_stale(const struct provider *p);
void cred_release(struct provider *p); /* wipes it */

/* The helper again, for a caller that must not block: its mail goes to the mailbox, the caller
 * hands it on. cred_asking_mail() returns 1 when the provider's key is renewed, 0 to continue, -1
 * with ERR_AUTH. */
struct cred_asking;
struct cred_asking *cred_ask(const struct provider *p, struct mailbox *to, struct err *err);
bool cred_asking_owns(const struct cred_asking *a, const struct mail *m);
int cred_asking_mail(struct cred_asking *a, struct mail *m, struct provider *p, struct err *err);
void cred_asking_free(struct cred_asking *a); /* ends the helper; NULL is fine */
