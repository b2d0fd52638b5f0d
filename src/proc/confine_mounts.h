/*
 * The mount operations of a sandbox (confine_map.h), carried out in the warden's own mount
 * namespace, with the rules for what they open. For this folder only; plain system calls only.
 */
#pragma once

#include <stdbool.h>

struct confine_image;
struct confine_rules;

/* Call it before the steps. False: see errno. */
bool confine_mounts_overlay(const struct confine_image *image, const struct confine_rules *rules);
/* False: see errno; the warden cannot be used any more. */
bool confine_mounts_take(struct confine_image *image, const struct confine_rules *rules);
