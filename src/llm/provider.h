/*
 * Providers: a name, a door (base URL), a key and a dialect; and which of them a run uses.
 *
 * Built-in rows (provider.c) plus `providers` in settings.json:
 *
 *   "providers": {"local": {"dialect": "openai-chat", "baseUrl": "http://localhost:8080/v1",
 *                           "keyEnv": "LOCAL_KEY", "headers": {"x-team": "a"}}}
 *
 * Selection, first that answers: --model provider/name (or an alias, or a bare name that the table
 * knows), the environment's and the settings' `model`, whichever key is in the environment
 * (Anthropic, OpenAI, Gemini, in that order), a stored key. Keys: environment, `tenax auth login`,
 * `apiKeyHelper`. Every key read is registered as a secret.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/strv.h"
#include "llm/model.h"

struct cancel;
struct conf;
struct dialect;
struct err;

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
    char *key;
    bool bearer;
    enum key_source source;
    char *source_name;   /* the variable, "apiKeyHelper", … */
    struct strv headers; /* extra */
    struct model model;  /* slices are owned by `text` */
    struct buf text;
    struct strv notes; /* what the user should know: unknown model, two keys set, … */
    char *scenario;    /* scripted: the file */
};

void provider_release(struct provider *p);

/* want: what --model said, or empty. Fails with ERR_AUTH (no key; says which variables were looked
 * at), ERR_BAD_INPUT (base URL, unknown provider), ERR_NOT_FOUND. */
int provider_select(const struct conf *conf, struct str want, struct cancel *cancel,
                    struct provider *ret, struct err *err);
const char *key_source_name(enum key_source s);
