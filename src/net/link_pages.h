/*
 * Pages of libraries that only the dynamic linker has looked at.
 *
 * Loading a library reads its tables of names and relocations, once: of libcurl's 33 libraries that
 * is 2.3 MB, which count as the process's own from then on. link_pages_drop() gives back unchanged
 * pages; a page that is needed after all is mapped again when it is touched, from the memory in
 * which the system keeps the file anyway. Where the kernel does not show which pages were changed
 * (/proc/self/pagemap), nothing is given back.
 */
#pragma once

#include <stddef.h>

/* How many programs and libraries are loaded. Any thread. */
size_t link_pages_count(void);

/* Of so many libraries loaded after the first ones. Any thread, whatever others are doing. */
void link_pages_drop(size_t first, size_t count);
