/*
 * Is everything here that a run needs, and is the provider there? What `tenax doctor` and the
 * command /doctor share.
 *
 * Findings are gathered into one list. The only thing sent anywhere is one GET to the provider's
 * base URL, without the key: any answer at all means it can be reached. One thread.
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
    HEALTH_WARN, /* works, but less than it could */
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

/* d: zeroed. conf NULL: the settings cannot be read, and why has the reason. model: as --model has
 * it, or empty. ERR_CANCELLED; nothing else fails. */
int doctor_look(struct doctor *d, const struct conf *conf, const struct err *why, struct str model,
                struct cancel *cancel, struct err *err);

/* No problem was found. */
bool doctor_is_healthy(const struct doctor *d);
void doctor_write(const struct doctor *d, struct buf *out); /* for people */
