/*
 * Files and paths.
 *
 * Paths are C strings. Nothing here changes the process's directory. Writing replaces: the new text
 * goes to a temporary file in the same folder, is synced and renamed, so a full disk or a kill
 * leaves the old content in place.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/str.h"

struct err;
struct stat;

/* Reads a whole regular file. ERR_NOT_FOUND, ERR_TOO_BIG past max_bytes, ERR_IO. */
int file_slurp(const char *path, size_t max_bytes, struct buf *ret_text, struct err *err);
/* The same of one that is open; path: what it is called. */
int file_slurp_fd(int fd, const char *path, size_t max_bytes, struct buf *ret_text,
                  struct err *err);

int file_replace(const char *path, struct str text, mode_t mode, struct err *err);
/* The same, without waiting for the disk: a kill leaves one of the two texts, a power cut may leave
 * neither. */
int file_renew(const char *path, struct str text, mode_t mode, struct err *err);
/* Mode and, where we may, owner are those of like; NULL: a new file, as the umask has it. */
int file_replace_like(const char *path, struct str text, const struct stat *like, struct err *err);
/* The same, at: as for openat(2). */
int file_replace_at(int at, const char *path, struct str text, const struct stat *like,
                    struct err *err);

/* Over the old contents, without waiting for the disk: for data that may be lost. A kill or another
 * writer may leave parts of two texts, which readers must detect. */
int file_overwrite(const char *path, struct str text, mode_t mode, struct err *err);

/* mkdir -p. Existing folders keep their mode. */
int file_mkdirs(const char *path, mode_t mode, struct err *err);

bool file_exists(const char *path);
bool file_is_dir(const char *path);

/* Writes all of it, over short writes, EINTR and a full non-blocking descriptor. */
int fd_write_all(int fd, struct str bytes, struct err *err);

/* "dir" + "/" + "name"; name alone when it is absolute. Yours to free. */
char *path_join(const char *dir, const char *name);
char *path_dirname(const char *path);
/* Adds a path to an absolute one by name only, "." and ".." taken out: "/a" and "../b/." make "/b".
 * The root is empty. */
void path_walk(struct buf *to, struct str path);
/* The path with its links followed as far as it exists, also those that lead to nothing yet: what a
 * write would make. Yours to free. */
char *path_real(const char *path);
const char *path_base(const char *path);  /* lent, points into path */
char *path_expand_home(const char *path); /* "~/x" → "$HOME/x" */
const char *path_home(void);              /* $HOME, else the password file's; never NULL */
