/*
 * The table of libcurl's functions. The first user loads it, others wait for that.
 */
#include "net/curl_table.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "net/link_pages.h"
#include "sync/thread.h"

#define CURL_LIBRARY "libcurl.so.4"
#define CURL_OLDEST 0x075700 /* 7.87.0: CURLOPT_QUICK_EXIT, certificate cache of a multi handle */

struct curl_table curl;

/* Guards the two below. Held across dlopen(): there is nothing another thread could do with half a
 * table. */
static struct lock load_lock = LOCK_INIT;
static bool loaded;
static bool started;

/* How many libraries were there before, and how many came with libcurl. */
static size_t first_loaded;
static size_t count_loaded;
static atomic_flag slimmed = ATOMIC_FLAG_INIT;

/* libcurl brings GnuTLS along, for protocols that are never spoken here. Its constructor would set
 * itself up, which costs 0.7 MB and a third of a millisecond; it asks for a function of this name
 * first (GNUTLS_SKIP_GLOBAL_INIT in its header). A libcurl that encrypts with GnuTLS sets it
 * up by itself. meson.build exports it. */
int _gnutls_global_init_skip(void);

int _gnutls_global_init_skip(void)
{
    return 1;
}

static int load_symbols(void *library, struct err *err)
{
    struct curl_table table;

#define X(name)                                                                                    \
    *(void **)&table.name = dlsym(library, "curl_" #name);                                         \
    if (!table.name)                                                                               \
        return err_set(err, ERR_UNSUPPORTED,                                                       \
                       CURL_LIBRARY " has no curl_" #name "(); install a newer one");
    CURL_TABLE(X)
#undef X
    if (table.version_info(CURLVERSION_NOW)->version_num < CURL_OLDEST)
        return err_set(err, ERR_UNSUPPORTED, CURL_LIBRARY " is %s; 7.87 or newer is needed",
                       table.version_info(CURLVERSION_NOW)->version);
    curl = table;
    return 0;
}

static int load_library(struct err *err)
{
    void *library;

    first_loaded = link_pages_count();
    /* Lazily: of what its 33 libraries refer to, most is never called. */
    library = dlopen(CURL_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    count_loaded = link_pages_count() - first_loaded;
    if (!library)
        return err_set(err, ERR_UNSUPPORTED,
                       "network access needs libcurl; install the package libcurl4 (%s)",
                       dlerror());
    return load_symbols(library, err);
}

int curl_table_load(struct err *err)
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

void curl_table_slim(void)
{
    if (!atomic_flag_test_and_set(&slimmed)) /* the lock is held while the library starts */
        link_pages_drop(first_loaded, count_loaded);
}

void curl_table_rest(void)
{
    lock_take(&load_lock);
    lock_give(&load_lock);
}

int curl_table_start(struct err *err)
{
    int r = 0;

    lock_take(&load_lock);
    if (!started && curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        r = err_set(err, ERR_UNSUPPORTED, CURL_LIBRARY " does not start");
    if (r == 0)
        started = true;
    lock_give(&load_lock);
    return r;
}
