/*
 * Files that decide what programs run: no mode but bypassPermissions and no rule lets a call write
 * them without asking.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* path: absolute, without . and .. */
bool protected_path(struct str path);
