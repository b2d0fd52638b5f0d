/*
 * Hooks of the settings: read from the snapshot into the registry.
 *
 *   "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "…"}]}]}
 *
 * Nothing here is fatal: what cannot be used is left out, and a warning with its place says so.
 */
#pragma once

#include "hooks/registry.h"

struct conf;
struct hook_registry;
struct strv;

/* What disableAllHooks and allowManagedHooksOnly leave. */
enum hook_limit settings_limit(const struct conf *conf);
void settings_read(const struct conf *conf, struct hook_registry *r, struct strv *ret_warnings);
