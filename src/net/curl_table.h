/*
 * Loads libcurl on first use: linking it would add 4 ms and 33 libraries to every start, even of
 * commands that never use the network.
 *
 * curl_table_load() fills `curl`; then curl.version() is curl_version(), and so on. Only types and
 * constants come from curl's headers. To use another function, add it to the list.
 */
#pragma once

/* The type-checking macros expand to direct calls of functions that are not linked. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt
#undef curl_share_setopt

struct err;

#define CURL_TABLE(X)                                                                              \
    X(global_init)                                                                                 \
    X(version)                                                                                     \
    X(version_info)                                                                                \
    X(easy_init)                                                                                   \
    X(easy_setopt)                                                                                 \
    X(easy_getinfo)                                                                                \
    X(easy_pause)                                                                                  \
    X(easy_strerror)                                                                               \
    X(easy_cleanup)                                                                                \
    X(multi_init)                                                                                  \
    X(multi_setopt)                                                                                \
    X(multi_add_handle)                                                                            \
    X(multi_remove_handle)                                                                         \
    X(multi_socket_action)                                                                         \
    X(multi_info_read)                                                                             \
    X(multi_assign)                                                                                \
    X(multi_strerror)                                                                              \
    X(multi_cleanup)                                                                               \
    X(share_init)                                                                                  \
    X(share_setopt)                                                                                \
    X(share_cleanup)

struct curl_table {
#define X(name) __typeof__(curl_##name) *name;
    CURL_TABLE(X)
#undef X
};

extern struct curl_table curl;

/* All: any thread, any number of times; the library stays loaded until the process ends. */

/* Takes some milliseconds, during which no thread can be started. */
int curl_table_load(struct err *err);
/* Call it once after loading: releases 2 MB that only loading needs. Takes 0.2 ms, during which the
 * library may be used; best on a thread that nothing waits for. */
void curl_table_slim(void);
/* Call it after loading and before any function except version() and version_info(): initializes
 * libcurl's TLS library, in less than a millisecond. */
int curl_table_start(struct err *err);
/* Waits for a start that is under way. Call it before the process exits: a library must not be
 * initialized and taken down at the same time. */
void curl_table_rest(void);
