/*
 * Providers: a name, a door (base URL), a key and a dialect; and which of them a run uses.
 *
 * Built-in rows (door.c) plus `providers` in settings.json:
 *
 *   "providers": {"local": {"dialect": "openai-chat", "baseUrl": "http://localhost:8080/v1",
 *                           "keyEnv": "LOCAL_KEY", "headers": {"x-team": "a"}}}
 *
 * (also bearer, noKey, apiKeyHelper, idleTimeoutMs; door.h). Selection, first that answers: --model
 * (provider/name, an alias, or a bare name), TENAX_MODEL, ANTHROPIC_MODEL, `model` of the settings,
 * whichever key or base URL is in the environment (in the order of door.c's table), a stored key. A
 * bare name is looked for in the table of models; where no provider that has it is set up, a
 * gateway is asked (ANTHROPIC_BASE_URL, OPENAI_BASE_URL). Keys: environment, `apiKeyHelper`, `tenax
 * auth login` (cred.h). Every key read is registered as a secret.
 *
 * A provider belongs to one thread: the calls made through it may renew its key.
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
    const struct dialect *dialect; /* NULL: scripted */
    char *base_url;
    char *key; /* NULL: none */
    bool bearer;
    enum key_source source;
    char *source_name;     /* the variable, "apiKeyHelper", …; NULL: none */
    char *helper;          /* KEY_HELPER: the command */
    int64_t helper_ttl_ms; /* how long its answer is good */
    int64_t key_at_ms;     /* when it was given */
    struct strv headers;   /* extra, "name: value" */
    struct model model;    /* its names are owned by `name`, `model_name` and `sent_as` */
    char *model_name;
    char *sent_as;           /* NULL: as it is called */
    int64_t idle_ms;         /* longest silence that is normal here; 0: the usual */
    bool no_stream_options;  /* learnt: the server refuses them */
    bool no_summaries;       /* learnt: the server refuses to be asked for readable thinking */
    struct strv notes;       /* what the user should know: unknown model, two keys set, … */
    struct conf *conf;       /* for the helper */
    char *scenario;          /* scripted: the file */
    struct scripted *script; /* scripted: the scenario to play */
};

void provider_release(struct provider *p);
/* For another thread. A scenario is shared: all play the same one, each call its next step. */
void provider_copy(const struct provider *p, struct provider *ret);

/* The small model for work on the side, "provider/name", by the provider of the one in use
 * ("provider/name"). False: the provider has none, or it is unknown. */
bool provider_small(const struct conf *conf, struct str now, struct buf *ret);

/* want: what --model said, or empty. Fails with ERR_AUTH (no key; says which variables were looked
 * at), ERR_BAD_INPUT (base URL, unknown provider), ERR_NOT_FOUND. */
int provider_select(const struct conf *conf, struct str want, struct cancel *cancel,
                    struct provider *ret, struct err *err);
const char *key_source_name(enum key_source s);

/* All headers of a request: ours, the dialect's and the user's, whose word wins. */
void provider_headers(const struct provider *p, const struct llm_request *request,
                      struct strv *out);
