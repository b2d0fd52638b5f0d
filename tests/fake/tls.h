/*
 * Certificates made on the spot: an authority of our own, a good certificate for localhost signed
 * by it, and the bad ones that faults ask for. Nothing touches the disk but the authority, when
 * asked.
 */
#pragma once

#include "llm/scenario/scenario.h"

struct err;
struct ssl_ctx_st;
struct tls;

struct tls *tls_new(struct err *err);
void tls_free(struct tls *t);

/* PEM of what a client must trust. */
int tls_write_ca(const struct tls *t, const char *file, struct err *err);

struct ssl_ctx_st *tls_good(struct tls *t);
/* The context of a bad certificate; the good one for the other kinds of failure. */
struct ssl_ctx_st *tls_bad(struct tls *t, enum fault_tls kind);
