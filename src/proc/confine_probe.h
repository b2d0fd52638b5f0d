/*
 * Probes whether the sandbox backends work here, because restrictions by a distribution, container
 * or administrator are not visible in a version number. For this folder only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* For probe of confine.h. Some milliseconds each. */
bool confine_probe_landlock(char *ret_why, size_t size, pid_t *ret_leaving);
bool confine_probe_namespaces(char *ret_why, size_t size, pid_t *ret_leaving);
bool confine_probe_overlay(char *ret_why, size_t size, pid_t *ret_leaving);
bool confine_probe_observe(char *ret_why, size_t size, pid_t *ret_leaving);
