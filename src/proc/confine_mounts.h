/*
 * The steps of a confinement (confine_map.h), taken in a mount namespace of the warden's own, with
 * the rules for what they open. Private to this folder; plain system calls only.
 */
#pragma once

#include <stdbool.h>

struct confine_image;
struct confine_rules;

/* Before the steps. False: errno says why. */
bool confine_mounts_overlay(const struct confine_image *image, const struct confine_rules *rules);
/* False: errno says why; the warden is then good for nothing. */
bool confine_mounts_take(struct confine_image *image, const struct confine_rules *rules);
