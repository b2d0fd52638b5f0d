/*
 * Protected files, which determine what programs run: writing them needs the user's approval in
 * every mode but bypassPermissions, and no rule can grant it.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* path: absolute, without "." and "..". */
bool protected_path(struct str path);
