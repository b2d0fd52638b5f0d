/*
 * Doors: the endpoint of a provider and its dialect, before a key is looked up.
 *
 * A door is a row of the table in door.c, overridden by `providers.<name>` of the settings and then
 * by the base URL variable in the environment. A name that only the settings have is a door of its
 * own; it needs a baseUrl, and its default dialect is openai-chat. To add a provider that many
 * people use, add a row.
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
    /* The dialect at any base URL but the vendor's; NULL = the same. Most compatible servers have
     * only Chat Completions. */
    const char *elsewhere;
    bool no_key; /* works without a key */
    bool local;  /* a model on this machine: slow to start */
    struct door_key_env key_envs[DOOR_KEY_ENVS];
};

const struct door_row *door_row(size_t i); /* NULL past the end; in order of preference */

struct door {
    struct str name;
    const struct door_row *row;    /* NULL: only in the settings */
    const struct json *settings;   /* providers.<name> of the settings, or NULL */
    const struct dialect *dialect; /* NULL: scripted */
    struct str base_url;           /* slices belong to the table, the settings or the environment */
    const char *base_from;         /* "OPENAI_BASE_URL", …; NULL = the row */
    char key_env[128];             /* keyEnv of the settings; empty = that of the row */
    bool bearer;                   /* the key is a token */
    bool no_key;
    /* Longest normal silence: the provider's idleTimeoutMs, else the global one, else a value for
     * models on this machine; 0 = default. */
    int64_t idle_ms;
};

/* ERR_NOT_FOUND for an unknown name, ERR_BAD_INPUT for invalid settings or base URLs (named in the
 * error). */
int door_open(const struct conf *conf, struct str name, struct door *ret, struct err *err);
bool door_exists(const struct conf *conf, struct str name);
/* Adds all names, to suggest one for a mistyped name. */
void door_offer(const struct conf *conf, struct nearest *near);
/* Whether the base URL is the vendor's own, ignoring trailing slashes. */
bool door_is_home(const struct door *d);

/* The i-th variable that may have the key; name NULL after the last one. Lent by the door. */
struct door_key_env door_key_env(const struct door *d, size_t i);

/* Registers as secrets all provider keys in the environment and auth.json, used or not, and every
 * value in the settings' env whose name says key, token, secret or password: a command may print
 * any of them (base/secret.h). */
void door_hide_keys(const struct conf *conf);

/* Whether the variable may hold a key of a known provider. */
bool door_holds_key(struct str variable);

/* Extra headers, "name: value": from the settings, and for Anthropic ANTHROPIC_CUSTOM_HEADERS. */
int door_headers(const struct conf *conf, const struct door *d, struct strv *ret, struct err *err);

/* base + path, with one slash between them and without repeating the first segment: ".../v1" and
 * "/v1/messages" give ".../v1/messages". */
void door_url(struct str base, struct str path, struct buf *ret);
