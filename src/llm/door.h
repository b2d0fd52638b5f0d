/*
 * Doors: where a provider is found and how it is spoken to, before any key is looked up.
 *
 * A row of the table in door.c, with `providers.<name>` of the settings laid over it and the base
 * URL variable of the environment over that. A name only the settings know makes a separate door;
 * it needs a baseUrl, and speaks openai-chat by default. To add a provider that many people use:
 * one row.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct buf;
struct conf;
struct dialect;
struct err;
struct json;
struct nearest;
struct strv;

#define DOOR_KEY_ENVS 3

struct door_key_env {
    const char *name; /* NULL: no more */
    bool bearer;      /* holds a token, not an API key */
};

struct door_row {
    const char *name;
    const char *also;    /* another name for it, or NULL */
    const char *dialect; /* NULL: scripted */
    const char *base_url;
    const char *base_env; /* NULL: none */
    /* Dialect at any base URL but ours; NULL: the same. Most servers that offer OpenAI's API have
     * Chat Completions only. */
    const char *elsewhere;
    bool no_key; /* works without */
    bool local;  /* a model on this machine: slow to start */
    struct door_key_env key_envs[DOOR_KEY_ENVS];
};

const struct door_row *door_row(size_t i); /* NULL past the end; in order of preference */

struct door {
    struct str name;
    const struct door_row *row;    /* NULL: only in the settings */
    const struct json *settings;   /* providers.<name>, or NULL */
    const struct dialect *dialect; /* NULL: scripted */
    struct str base_url;           /* slices are the table's, the settings' or the environment's */
    const char *base_from;         /* "OPENAI_BASE_URL", …; NULL: the row */
    char key_env[128];             /* keyEnv of the settings; empty: those of the row */
    bool bearer;                   /* what it holds is a token */
    bool no_key;
    /* Longest silence that is normal here: the provider's idleTimeoutMs, else everybody's, else
     * what suits a model on this machine; 0: the usual. */
    int64_t idle_ms;
};

/* ERR_NOT_FOUND for an unknown name, ERR_BAD_INPUT for invalid settings or base URLs (named in the
 * error). */
int door_open(const struct conf *conf, struct str name, struct door *ret, struct err *err);
bool door_exists(const struct conf *conf, struct str name);
/* Every name of a door, to suggest one for a mistyped name. */
void door_offer(const struct conf *conf, struct nearest *near);
/* Whether the base URL is the vendor's own, ignoring slashes at its end. */
bool door_is_home(const struct door *d);

/* The i-th variable that may hold the key; its name is NULL past the last. Lent by the door. */
struct door_key_env door_key_env(const struct door *d, size_t i);

/* No key that the environment or auth.json holds for any provider is ever shown, whichever this run
 * uses, and nothing of the settings' env that is called a key, token, secret or password: a command
 * may print them all (base/secret.h). */
void door_hide_keys(const struct conf *conf);

/* Whether the variable may hold a key of a known provider. */
bool door_holds_key(struct str variable);

/* Extra headers, "name: value": from the settings, and for Anthropic ANTHROPIC_CUSTOM_HEADERS. */
int door_headers(const struct conf *conf, const struct door *d, struct strv *ret, struct err *err);

/* base + path, with one slash between them and no doubled first segment: ".../v1" and
 * "/v1/messages" meet as ".../v1/messages". */
void door_url(struct str base, struct str path, struct buf *ret);
