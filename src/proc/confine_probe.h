/*
 * Whether the backends work here, found out by trying: what a distribution, a container or an
 * administrator forbids is in no version number. Private to this folder.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* As probe of confine.h. Some milliseconds each. */
bool confine_probe_landlock(char *ret_why, size_t size, pid_t *ret_leaving);
bool confine_probe_namespaces(char *ret_why, size_t size, pid_t *ret_leaving);
bool confine_probe_overlay(char *ret_why, size_t size, pid_t *ret_leaving);
bool confine_probe_observe(char *ret_why, size_t size, pid_t *ret_leaving);
