/*
 * Releases memory that only the dynamic linker has used.
 *
 * Loading a library reads its symbol and relocation tables once; for libcurl's 33 libraries this is
 * 2.3 MB of the process's memory. link_pages_drop() releases unchanged pages; a page that is needed
 * later is mapped again from the system's file cache. If the kernel does not show which pages have
 * changed (/proc/self/pagemap), nothing is released.
 */
#pragma once

#include <stddef.h>

/* Number of loaded programs and libraries. Any thread. */
size_t link_pages_count(void);

/* Releases pages of `count` libraries loaded after the first ones. Any thread, at any time. */
void link_pages_drop(size_t first, size_t count);
