/*
 * Providers: a name, an endpoint (door.h), a key and a dialect; and which provider a run uses.
 *
 * Built-in rows (door.c) plus `providers` in settings.json:
 *
 *   "providers": {"local": {"dialect": "openai-chat", "baseUrl": "http://localhost:8080/v1",
 *                           "keyEnv": "LOCAL_KEY", "headers": {"x-team": "a"}}}
 *
 * (also bearer, noKey, apiKeyHelper, idleTimeoutMs; see door.h). The first of these selects the
 * model: --model (provider/name, an alias, or a bare name), TENAX_MODEL, ANTHROPIC_MODEL, `model`
 * in the settings, a key or base URL in the environment (in the order of door.c's table), a stored
 * key. A bare name is looked up in the model table; if no configured provider has it, a gateway is
 * tried (ANTHROPIC_BASE_URL, OPENAI_BASE_URL). Keys come from the environment, `apiKeyHelper`, or
 * `tenax auth login` (cred.h). Every key that is read is registered as a secret.
 *
 * A provider belongs to one thread, since calls made through it may renew its key.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/strv.h"
#include "llm/model.h"

struct buf;
struct cancel;
struct conf;
struct dialect;
struct err;
struct llm_request;
struct scripted;

enum key_source {
    KEY_NONE,
    KEY_ENV,
    KEY_HELPER,
    KEY_STORED,
    KEY_NOT_NEEDED,
};

struct provider {
    char *name;
    const struct dialect *dialect; /* NULL for scripted */
    char *base_url;
    char *key; /* NULL: none */
    bool bearer;
    enum key_source source;
    char *source_name;     /* the variable, "apiKeyHelper", …; or NULL */
    char *helper;          /* KEY_HELPER: the command */
    int64_t helper_ttl_ms; /* how long its output is valid */
    int64_t key_at_ms;     /* when it was printed */
    struct strv headers;   /* extra, "name: value" */
    struct model model;    /* its names are owned by `name`, `model_name` and `sent_as` */
    char *model_name;
    char *sent_as;           /* NULL = model_name */
    int64_t idle_ms;         /* longest normal silence; 0 = default */
    bool no_stream_options;  /* learned: the server rejects them */
    bool no_summaries;       /* learned: the server rejects requests for readable thinking */
    struct strv notes;       /* for the user: unknown model, two keys set, … */
    struct conf *conf;       /* for the helper */
    char *scenario;          /* scripted: the scenario file */
    struct scripted *script; /* scripted: the scenario to play */
};

void provider_release(struct provider *p);
/* Makes a copy for another thread. The scenario is shared: each call plays its next step. */
void provider_copy(const struct provider *p, struct provider *ret);

/* The small model for auxiliary work, as "provider/name", of the same provider as `now`. False if
 * there is none. */
bool provider_small(const struct conf *conf, struct str now, struct buf *ret);

/* want: the value of --model, or empty. ERR_AUTH: no key, the message lists the variables that were
 * tried; ERR_BAD_INPUT: invalid base URL or unknown provider; ERR_NOT_FOUND. */
int provider_select(const struct conf *conf, struct str want, struct cancel *cancel,
                    struct provider *ret, struct err *err);
const char *key_source_name(enum key_source s);

/* All headers of a request: ours, the dialect's and the user's, which take precedence. */
void provider_headers(const struct provider *p, const struct llm_request *request,
                      struct strv *out);
