/*
 * Settings of a program that embeds tenax, for the managed level: they can forbid and never permit.
 *
 * A row of policy.c says what a key must be to count; everything else is left out and named.
 */
#pragma once

struct buf;
struct err;
struct json;
struct strv;

/* ERR_BAD_INPUT: no object. ret: the settings that count, an object. */
int policy_filter(const struct json *settings, struct buf *ret, struct strv *ret_dropped,
                  struct err *err);
