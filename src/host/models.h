/*
 * The models of a session: the one that was chosen and those it falls back to, with their keys; and
 * which of all models is in use now.
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
    char *key_source; /* of the first: "ANTHROPIC_API_KEY"; "none" */

    struct lock lock; /* of what follows */
    char *provider;
    char *name;
    int64_t window;
    struct model in_use; /* except its names, which are those above */
};

void models_init(struct models *m);
void models_release(struct models *m);

/* One that cannot be asked anything, for a session that only has tools called. */
void models_none(struct models *m, const struct conf *conf);
/* The wanted one (empty: as settings and environment have it) and the settings' fallbacks, which
 * must do for a cap on the price when there is one. ret_notes: what the user should know. Fails as
 * provider_select(), and with ERR_UNSUPPORTED for a price that is not known. */
/* ERR_DENIED when availableModels leaves the model out. */
int models_check(const struct conf *conf, const struct model *m, struct err *err);
int models_choose(struct models *m, const struct conf *conf, struct str want, double max_usd,
                  struct cancel *cancel, struct strv *ret_notes, struct err *err);
/* Thinking options that have no effect on the first model, one note each. */
void models_note_thinking(const struct models *m, enum thinking thinking, enum effort effort,
                          struct strv *ret_notes);
/* Names in the settings that look like typing mistakes of a listed model's. */
void models_note_names(const struct conf *conf, struct strv *ret_notes);
bool models_need_net(const struct models *m);

/* The first one is another from now on, for what begins then: takes the content of *first. */
void models_replace_first(struct models *m, struct provider *first);
/* Copies of the first `room` of them; how many. Any thread. */
size_t models_copy(struct models *m, struct provider *ret, size_t room);
/* The one in use, as --model takes it. */
void models_want(struct models *m, struct buf *ret);

void models_note(struct models *m, const struct model *in_use);
/* Its known properties: figures and habits, no names. */
void models_figures(struct models *m, struct model *ret);
void models_now(struct models *m, struct buf *ret_provider, struct buf *ret_name,
                int64_t *ret_window);
