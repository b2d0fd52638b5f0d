/*
 * The files that a command on trial can read beside its working folders: the system, the software
 * in PATH, its settings and packages in the home, and the repository that a working folder belongs
 * to. Secrets among all these are hidden by the sandbox. Pure, except for checks of the disk.
 */
#pragma once

struct sandbox;
struct strv;

/* folders: those worked in. Absolute paths, which may be missing, are added. */
void trial_readable(struct sandbox *s, const struct strv *folders, struct strv *ret);
