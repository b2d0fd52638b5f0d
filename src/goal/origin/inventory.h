/*
 * Every file of a workspace, with what the file system says about it.
 *
 * A walk that follows no link collects type, mode, size, times and inode of everything below the
 * folder, ignored files and nested repositories included; only the insides of .git are left out
 * (git_state.h). The content hash is known where the caller asks for it, and for small files as
 * long as the total stays below INVENTORY_MAX_HASHED. Comparing two inventories reads only files
 * that look different: only root can set a ctime. Any thread; waits for the disk.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/sha256.h"
#include "base/str.h"
#include "base/strv.h"
#include "base/vec.h"

struct cancel;
struct err;
struct json;
struct jw;

#define INVENTORY_MAX_FILES ((size_t)1000000)
#define INVENTORY_MAX_MS 30000
#define INVENTORY_SMALL ((int64_t)64 << 10)
#define INVENTORY_MAX_HASHED ((int64_t)256 << 20)
#define INVENTORY_MODE_COUNTS 0500 /* of a mode: git keeps no more */

enum inventory_type {
    INVENTORY_FILE,
    INVENTORY_LINK,  /* a symbolic link; its target is the content */
    INVENTORY_OTHER, /* a fifo, a socket, a device; a folder that cannot be read */
};

enum inventory_flag {
    INVENTORY_TREE = 1,      /* git tracks it or would offer to add it; all files outside of git */
    INVENTORY_NESTED = 2,    /* of a repository or submodule below the folder */
    INVENTORY_PROTECTED = 4, /* must stay as it is */
    INVENTORY_ORDERS = 8,    /* protected, except the dependencies that it names */
};

struct inventory_entry {
    struct str path; /* relative; NUL-terminated */
    enum inventory_type type;
    unsigned flags; /* enum inventory_flag */
    unsigned mode;  /* permission bits */
    int64_t size, mtime_ns, ctime_ns;
    uint64_t ino;
    struct str sha256; /* empty: unknown */
    struct str why;    /* of a protected one: "a test", "named by --protect" */
    bool is_young;     /* it changed so shortly before the walk that it must be read again */
};

struct inventory {
    struct arena arena;
    VEC(struct inventory_entry) entries; /* in order of their paths */
    struct strv nested;                  /* folders of nested repositories, with a slash */
    bool is_whole;                       /* no limit was reached */
    /* Set before the walk: */
    const char *skip;                /* a folder that is left out, relative; NULL: none */
    const struct inventory *tree_of; /* folders of which it has no file of the tree are left out */
    int64_t max_ms;                  /* 0: INVENTORY_MAX_MS */
    bool is_strict; /* an INVENTORY_ORDERS file that looks other than before has changed */
};
#define INVENTORY_INIT                                                                             \
    {                                                                                              \
        .arena = ARENA_INIT                                                                        \
    }
void inventory_release(struct inventory *v);

/* Walks the folder. No content is read, no flag but NESTED is set. ERR_CANCELLED, ERR_IO. */
int inventory_walk(struct inventory *v, const char *dir, struct cancel *cancel, struct err *err);
/* Reads the content of small files and of protected ones, within the limits. *ret_unread: small
 * files that were left out because a limit was reached. */
int inventory_hash(struct inventory *v, const char *dir, struct cancel *cancel, size_t *ret_unread,
                   struct err *err);
/* The look of one file: relative to dir, or absolute. False: it is not there. */
bool inventory_look(const char *dir, struct inventory_entry *e);
bool inventory_looks_same(const struct inventory_entry *a, const struct inventory_entry *b);
/* After entries were added. */
void inventory_sort(struct inventory *v);
struct inventory_entry *inventory_find(const struct inventory *v, struct str path);
/* The index of the first entry whose path is not before `path`. */
size_t inventory_at(const struct inventory *v, struct str path);
bool inventory_is_nested(const struct inventory *v, struct str path);

enum inventory_how {
    INVENTORY_NEW,
    INVENTORY_GONE,
    INVENTORY_CHANGED,
    INVENTORY_MODE, /* the same content with other permissions */
};
const char *inventory_how_name(enum inventory_how h);

struct inventory_change {
    enum inventory_how how;
    const struct inventory_entry *was; /* NULL: it is new */
    struct inventory_entry *is;        /* NULL: it is gone */
};
typedef VEC(struct inventory_change) inventory_change_vec;

/* What differs, in order of the paths. Entries of `now` that were read get their hash; those that
 * have one are not read. */
int inventory_compare(const struct inventory *was, struct inventory *now, const char *dir,
                      struct cancel *cancel, inventory_change_vec *ret, struct err *err);
/* One hash over the look of every file: it changes with anything that happens to one. */
void inventory_digest(const struct inventory *v, char ret[static SHA256_HEX + 1]);

/* The content of a file, as a protected one is compared: all of it, or without the dependencies
 * for INVENTORY_ORDERS. ret_sha256 is "" when it cannot be read. */
int inventory_read(const char *dir, const struct inventory_entry *e, struct cancel *cancel,
                   char ret_sha256[static SHA256_HEX + 1], struct err *err);

/* As JSON, an array an entry. */
void inventory_write(const struct inventory *v, struct jw *w);
int inventory_parse(struct inventory *v, const struct json *list, struct err *err);
