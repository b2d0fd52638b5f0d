/*
 * Protected files, which determine what programs run: writing them needs the user's approval in
 * every mode but bypassPermissions, and no rule can grant it.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* path: absolute, without "." and "..". */
bool protected_path(struct str path);

/* Whether it is protected only as a part of a repository, but git merely keeps data there: objects,
 * refs and their logs, HEAD and its kind, the index, texts of messages. None of these makes git run
 * a program, unlike config, hooks, info/attributes, and the settings of modules and worktrees. An
 * ordinary file or folder is meant: a link could let git write elsewhere. goes: it is deleted,
 * which for objects and the beginnings of the others would lose history. */
bool protected_is_git_data(struct str path, bool goes);
