/*
 * Settings of a program that embeds tenax, at the managed level: they can forbid, but never permit.
 *
 * A row of policy.c says which values of a key are accepted; everything else is dropped and
 * reported.
 */
#pragma once

struct buf;
struct err;
struct json;
struct strv;

/* ERR_BAD_INPUT: not an object. ret: the accepted settings, an object. */
int policy_filter(const struct json *settings, struct buf *ret, struct strv *ret_dropped,
                  struct err *err);
