/*
 * What a command on trial can read beside the folders that it works in: the system, what programs
 * in PATH consist of, their settings and packages in the home, and the repository that a working
 * folder belongs to. Secrets among all these are hidden by the sandbox. Pure, but for looks at the
 * disk.
 */
#pragma once

struct sandbox;
struct strv;

/* folders: those worked in. Absolute paths, which may be missing, are added. */
void trial_readable(struct sandbox *s, const struct strv *folders, struct strv *ret);
