/*
 * link_pages: gets the segments of each library from the dynamic linker, and for each page from the
 * kernel whether it is still the file's. A writable segment is left alone, and so is one with a
 * changed page: changed by the linker (relocations of code), a debugger (breakpoints), or a
 * preloaded library that hooks functions. Putting the file's page in its place would undo that.
 */
#include "net/link_pages.h"

#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"

/* Each call costs some microseconds, because other threads may run on other processors. */
#define WORTH_BYTES ((size_t)256 << 10)

/* What /proc/self/pagemap says of a page (pagemap.rst of the kernel). */
#define PAGE_IS_THERE (UINT64_C(3) << 62) /* in memory, or swapped out */
#define PAGE_IS_FILE (UINT64_C(1) << 61)  /* not a copy, which only a change makes */
#define PAGES_AT_ONCE 256

struct range {
    size_t first, end;
    size_t at; /* how many we have seen */
    uintptr_t page_bytes;
    int pagemap;
};

static bool is_unchanged(const struct range *range, uintptr_t start, uintptr_t end)
{
    uint64_t pages[PAGES_AT_ONCE];

    while (start < end) {
        size_t count = (end - start) / range->page_bytes;
        off_t at = (off_t)(start / range->page_bytes * sizeof(pages[0]));

        count = count < PAGES_AT_ONCE ? count : PAGES_AT_ONCE;
        if (pread(range->pagemap, pages, count * sizeof(pages[0]), at) !=
            (ssize_t)(count * sizeof(pages[0])))
            return false;
        for (size_t i = 0; i < count; i++) {
            if ((pages[i] & PAGE_IS_THERE) && !(pages[i] & PAGE_IS_FILE))
                return false;
        }
        start += count * range->page_bytes;
    }
    return true;
}

static void drop(const struct range *range, uintptr_t start, uintptr_t end)
{
    /* Only for a little less memory: whether it succeeds makes no difference. */
    if (end - start >= WORTH_BYTES && is_unchanged(range, start, end))
        (void)madvise((void *)start, end - start, MADV_DONTNEED);
}

static int drop_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct range *range = arg;
    uintptr_t page = range->page_bytes;
    uintptr_t start = 0; /* of neighbours that go together */
    uintptr_t end = 0;

    (void)size;
    if (range->at++ < range->first || range->at > range->end)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t from = (info->dlpi_addr + segment->p_vaddr) & ~(page - 1);
        uintptr_t to =
            (info->dlpi_addr + segment->p_vaddr + segment->p_memsz + page - 1) & ~(page - 1);

        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W))
            continue;
        if (from != end) {
            drop(range, start, end);
            start = from;
        }
        end = to;
    }
    drop(range, start, end);
    return 0;
}

static int count_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    size_t *count = arg;

    (void)info;
    (void)size;
    ++*count;
    return 0;
}

size_t link_pages_count(void)
{
    size_t count = 0;

    dl_iterate_phdr(count_object, &count);
    return count;
}

void link_pages_drop(size_t first, size_t count)
{
    CLEANUP(fd_closep) int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    struct range range = {
        .first = first,
        .end = first + count,
        .page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE),
        .pagemap = pagemap,
    };

    if (pagemap >= 0) /* else the changed pages are unknown */
        dl_iterate_phdr(drop_object, &range);
}
