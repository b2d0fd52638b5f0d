/*
 * The files that a command on trial can read besides its working directories: the system, programs
 * in PATH, its settings and packages in the home directory, and the repository of a working
 * directory. The sandbox hides secrets among these. Pure, except for checks on disk.
 */
#pragma once

struct sandbox;
struct strv;

/* folders: the working directories. Appends absolute paths, which may be missing. */
void trial_readable(struct sandbox *s, const struct strv *folders, struct strv *ret);
