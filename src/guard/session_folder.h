/*
 * Folders that belong to a session: the temporary one of its commands, the layers of its trial
 * runs.
 *
 * A file in tenax's home names each; it is locked while the session exists, so that the next start
 * finds what a killed session has left, but nothing of a running one.
 */
#pragma once

#include <stdbool.h>

struct session_folder {
    char *path; /* NULL = none */
    char *note; /* the file that names it; NULL if it could not be written */
    int fd;     /* of that file, locked */
};

/* Makes <parent>/<name>XXXXXX. home: tenax's; kind: prefix of the naming file, such as "temp-".
 * False: see errno. */
bool session_folder_make(struct session_folder *f, const char *home, const char *kind,
                         const char *parent, const char *name);
/* Removes it and the naming file. */
void session_folder_release(struct session_folder *f);

/* Removes a folder and everything below, whatever its permissions. */
void session_folder_remove(const char *path);

/* Removes folders of ended sessions, calling fn (may be NULL) for each before. name: prefix of the
 * folders' names. */
void session_folder_settle(const char *home, const char *kind, const char *name,
                           void (*fn)(void *arg, const char *path), void *arg);
