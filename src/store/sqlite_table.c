/*
 * The table of SQLite's functions. The first user loads it, others wait for that.
 */
#include "store/sqlite_table.h"

#include <dlfcn.h>
#include <stdbool.h>

#include "base/err.h"
#include "store/store.h"
#include "sync/thread.h"

#define SQLITE_LIBRARY "libsqlite3.so.0"

struct sqlite_table sqlite;

/* Guards the one below. Held across dlopen(): there is nothing another thread could do with half a
 * table. */
static struct lock load_lock = LOCK_INIT;
static bool loaded;

static int load_library(struct err *err)
{
    void *library = dlopen(SQLITE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    struct sqlite_table table;

    if (!library)
        return err_set(err, ERR_UNSUPPORTED,
                       "storing data between runs needs SQLite; install the package "
                       "libsqlite3-0 (%s)",
                       dlerror());
#define X(name)                                                                                    \
    *(void **)&table.name = dlsym(library, "sqlite3_" #name);                                      \
    if (!table.name)                                                                               \
        return err_set(err, ERR_UNSUPPORTED,                                                       \
                       SQLITE_LIBRARY " has no sqlite3_" #name "(); install a newer one");
    SQLITE_TABLE(X)
#undef X
    sqlite = table;
    return 0;
}

int sqlite_table_load(struct err *err)
{
    int r = 0;

    lock_take(&load_lock);
    if (!loaded)
        r = load_library(err);
    if (r == 0)
        loaded = true;
    lock_give(&load_lock);
    return r;
}

int store_library(struct str *ret, struct err *err)
{
    if (sqlite_table_load(err) < 0)
        return -1;
    *ret = str_of(sqlite.libversion());
    return 0;
}
