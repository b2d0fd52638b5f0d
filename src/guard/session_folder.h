/*
 * Folders that go with a session: the temporary one of its commands, the layers of its trials.
 *
 * A file in tenax's home names each; it is locked while the session lives, so that the next start
 * finds what a session that was killed has left, and nothing of one that lives.
 */
#pragma once

#include <stdbool.h>

struct session_folder {
    char *path; /* NULL: none */
    char *note; /* the file that names it; NULL: it could not be written */
    int fd;     /* of that file, locked */
};

/* Makes <parent>/<name>XXXXXX. home: tenax's; kind: what its note's name begins with, such as
 * "temp-". False: errno says why. */
bool session_folder_make(struct session_folder *f, const char *home, const char *kind,
                         const char *parent, const char *name);
/* Removes it, with the note. */
void session_folder_release(struct session_folder *f);

/* Removes a folder and all below, whatever modes it was given. */
void session_folder_remove(const char *path);

/* Those of sessions that are gone: fn is called for each, then it is removed. name: what a folder's
 * name must begin with. fn may be NULL. */
void session_folder_settle(const char *home, const char *kind, const char *name,
                           void (*fn)(void *arg, const char *path), void *arg);
