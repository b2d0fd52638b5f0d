/*
 * The models of a session: the chosen one and its fallbacks, with their keys; and the one that is
 * in use.
 *
 * The model in use may be read and set on any thread; the rest belongs to the thread that builds
 * the session.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "llm/dialect/dialect.h"
#include "llm/provider.h"
#include "sync/thread.h"

struct buf;
struct cancel;
struct conf;
struct err;
struct strv;

#define MODELS_MAX 9 /* the first and its fallbacks */

struct models {
    struct provider list[MODELS_MAX];
    size_t count;
    char *key_source; /* of the first one: "ANTHROPIC_API_KEY"; "none" */

    struct lock lock; /* guards the fields below */
    char *provider;
    char *name;
    int64_t window;
    struct model in_use; /* its names are those above */
};

void models_init(struct models *m);
void models_release(struct models *m);

/* A placeholder for a session that only executes tool calls. */
void models_none(struct models *m, const struct conf *conf);
/* Chooses the wanted model (empty = by settings and environment) and the fallbacks from the
 * settings; with a cost limit, their prices must be known. ret_notes: for the user. Fails like
 * provider_select(), and with ERR_UNSUPPORTED for an unknown price. */
/* ERR_DENIED if availableModels does not have the model. */
int models_check(const struct conf *conf, const struct model *m, struct err *err);
int models_choose(struct models *m, const struct conf *conf, struct str want, double max_usd,
                  struct cancel *cancel, struct strv *ret_notes, struct err *err);
/* Adds a note for each thinking option that has no effect on the first model. */
void models_note_thinking(const struct models *m, enum thinking thinking, enum effort effort,
                          struct strv *ret_notes);
/* Notes names in the settings that look like misspelled model names. */
void models_note_names(const struct conf *conf, struct strv *ret_notes);
bool models_need_net(const struct models *m);

/* Replaces the first model for what starts from now on; takes the content of *first. */
void models_replace_first(struct models *m, struct provider *first);
/* Copies up to `room` of them; returns how many. Any thread. */
size_t models_copy(struct models *m, struct provider *ret, size_t room);
/* The one in use, in the form of --model. */
void models_want(struct models *m, struct buf *ret);

void models_note(struct models *m, const struct model *in_use);
/* Its known properties, without names. */
void models_figures(struct models *m, struct model *ret);
void models_now(struct models *m, struct buf *ret_provider, struct buf *ret_name,
                int64_t *ret_window);
