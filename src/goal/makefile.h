/*
 * As much of a makefile as can be understood by reading it: which files it includes, and which
 * commands make a target. Variables and conditions are not followed. Pure functions.
 */
#pragma once

#include "base/str.h"
#include "base/strv.h"

/* Names behind include, -include and sinclude that hold no variable. */
void makefile_includes(struct str text, struct strv *ret);
/* The command lines of these targets (of all when there are none), without '@', '-' and '+', lines
 * that go on joined. A prerequisite that is itself a target is followed. */
void makefile_commands(struct str text, const struct strv *targets, struct strv *ret);
