/*
 * link_pages: the segments of each library, as the dynamic linker tells them. Those that nobody
 * may write are as they are in the file. All others are left alone, also what is protected only
 * when it has been relocated.
 */
#include "net/link_pages.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Each call costs some microseconds, because other threads may run on other processors. */
#define WORTH_BYTES ((size_t)256 << 10)

struct range {
    size_t first, end;
    size_t at; /* how many we have seen */
};

/* Its code was changed while it was loaded: what is in the file is not what has to run. */
static bool is_patched(const struct dl_phdr_info *info, const ElfW(Phdr) * dynamic)
{
    const ElfW(Dyn) *d = (const ElfW(Dyn) *)(info->dlpi_addr + dynamic->p_vaddr);

    for (; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_TEXTREL || (d->d_tag == DT_FLAGS && (d->d_un.d_val & DF_TEXTREL)))
            return true;
    }
    return false;
}

static bool is_droppable(const struct dl_phdr_info *info)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return !is_patched(info, &info->dlpi_phdr[i]);
    }
    return false;
}

static void drop(uintptr_t start, uintptr_t end)
{
    /* Only for a little less memory: whether it succeeds makes no difference. */
    if (end - start >= WORTH_BYTES)
        (void)madvise((void *)start, end - start, MADV_DONTNEED);
}

static int drop_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct range *range = arg;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = 0; /* of neighbours that go together */
    uintptr_t end = 0;

    (void)size;
    if (range->at++ < range->first || range->at > range->end || !is_droppable(info))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t from = (info->dlpi_addr + segment->p_vaddr) & ~(page - 1);
        uintptr_t to =
            (info->dlpi_addr + segment->p_vaddr + segment->p_memsz + page - 1) & ~(page - 1);

        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W))
            continue;
        if (from != end) {
            drop(start, end);
            start = from;
        }
        end = to;
    }
    drop(start, end);
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
    struct range range = {.first = first, .end = first + count};

    dl_iterate_phdr(drop_object, &range);
}
