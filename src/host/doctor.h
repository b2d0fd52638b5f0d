/*
 * Checks whether everything that a run needs is available, including the provider; for `tenax
 * doctor` and /doctor.
 *
 * The findings are one list. The only request is one GET to the provider's base URL, without the
 * key: any answer means that it is reachable. One thread.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"

struct buf;
struct cancel;
struct conf;
struct err;

enum health {
    HEALTH_OK,
    HEALTH_WARN, /* works with restrictions */
    HEALTH_BAD,  /* a run would fail */
};
const char *health_name(enum health h); /* "ok", "warning", "problem" */

struct finding {
    enum health health;
    const char *area;
    struct str text;
};

struct doctor {
    struct arena arena;
    VEC(struct finding) findings;
};

void doctor_release(struct doctor *d);

/* d: zeroed. conf may be NULL if the settings cannot be read; `why` has the reason. model: in the
 * form of --model, or empty. Fails only with ERR_CANCELLED. */
int doctor_look(struct doctor *d, const struct conf *conf, const struct err *why, struct str model,
                struct cancel *cancel, struct err *err);

/* True if there is no problem. */
bool doctor_is_healthy(const struct doctor *d);
void doctor_write(const struct doctor *d, struct buf *out); /* as text */
