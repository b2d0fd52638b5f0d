/*
 * Any bytes, read as a transcript: in one piece and through tiny windows, by one part and by many,
 * for a model and for people. The way of reading never changes the result; every entry can be read
 * and is followed by its newline; and no text makes it fail.
 */
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "fuzz.h"
#include "store/transcript/load_tune.h"

static struct load *open_tuned(const char *path, const struct load_spec *spec,
                               const struct load_tune *tune)
{
    struct load *l = NULL;
    struct err err;

    if (load_open_tuned(path, spec, NULL, tune, &l, &err) < 0) {
        FUZZ_CHECK(spec->leaf.len && err.code == ERR_NOT_FOUND);
        return NULL;
    }
    return l;
}

static void check_entries(struct load *l, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < load_count(l); i++) {
        const struct load_entry *e = load_at(l, i);
        struct str line;

        FUZZ_CHECK(e->offset <= size && e->len <= size - e->offset && e->len > 0);
        FUZZ_CHECK(e->offset == 0 || data[e->offset - 1] == '\n');
        FUZZ_CHECK(e->offset + e->len == size || data[e->offset + e->len] == '\n');
        FUZZ_CHECK(load_read(l, e->offset, e->len, &line, NULL) == 0);
        FUZZ_CHECK(line.len == e->len && memcmp(line.ptr, data + e->offset, line.len) == 0);
        for (size_t j = 0; j < i && i < 64; j++)
            FUZZ_CHECK(load_at(l, j)->offset != e->offset);
    }
}

static void check_lines(const struct load_line *lines, size_t len, size_t size)
{
    for (size_t i = 0; i < len; i++)
        FUZZ_CHECK(lines[i].offset <= size && lines[i].len <= size - lines[i].offset);
}

static void check_same(struct load *a, struct load *b)
{
    const struct load_facts *f = a ? load_facts(a) : NULL;
    const struct load_facts *g = b ? load_facts(b) : NULL;

    FUZZ_CHECK(!a == !b);
    if (!a)
        return;
    FUZZ_CHECK(load_count(a) == load_count(b));
    for (size_t i = 0; i < load_count(a); i++)
        FUZZ_CHECK(load_at(a, i)->offset == load_at(b, i)->offset &&
                   load_at(a, i)->flags == load_at(b, i)->flags);
    FUZZ_CHECK(str_eq(load_leaf(a), load_leaf(b)));
    FUZZ_CHECK(load_warnings(a)->len == load_warnings(b)->len);
    FUZZ_CHECK(str_eq(buf_str(&f->session), buf_str(&g->session)));
    FUZZ_CHECK(str_eq(buf_str(&f->cwd), buf_str(&g->cwd)));
    FUZZ_CHECK(str_eq(buf_str(&f->title), buf_str(&g->title)));
    FUZZ_CHECK(str_eq(buf_str(&f->first_prompt), buf_str(&g->first_prompt)));
    FUZZ_CHECK(f->messages == g->messages && f->skipped == g->skipped);
    FUZZ_CHECK(f->queue.len == g->queue.len && f->replacements.len == g->replacements.len);
    FUZZ_CHECK(f->goal_status.offset == g->goal_status.offset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct load_tune plain = {.threads = 1};
    static const struct load_tune narrow = {.window_bytes = 7, .threads = 1};
    static const struct load_tune parts = {.part_bytes = 50, .window_bytes = 64, .threads = 1};
    struct load_spec model = {0};
    struct load_spec people = {.whole = true};
    struct load_spec asked = {.leaf = STR("a1"), .is_before = size % 2};
    struct load_facts facts;
    struct load *a;
    struct load *b;
    char path[64];
    int fd = memfd_create("transcript", MFD_CLOEXEC);

    if (fd < 0 || fd_write_all(fd, str_make((const char *)data, size), NULL) < 0)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);

    a = open_tuned(path, &model, &plain);
    b = open_tuned(path, &model, &narrow);
    check_same(a, b);
    if (a) {
        const struct load_facts *f = load_facts(a);

        check_entries(a, data, size);
        check_lines(f->queue.ptr, f->queue.len, size);
        check_lines(f->replacements.ptr, f->replacements.len, size);
        check_lines(f->file_history.ptr, f->file_history.len, size);
        check_lines(f->collapses.ptr, f->collapses.len, size);
        FUZZ_CHECK(f->is_torn == (size > 0 && data[size - 1] != '\n'));
    }
    load_free(a);
    load_free(b);

    a = open_tuned(path, &people, &plain);
    b = open_tuned(path, &people, &parts);
    check_same(a, b);
    if (a)
        check_entries(a, data, size);
    load_free(a);
    load_free(b);

    a = open_tuned(path, &asked, &parts);
    if (a)
        check_entries(a, data, size);
    load_free(a);
    FUZZ_CHECK(load_peek(path, &facts, NULL) == 0);
    load_facts_release(&facts);
    close(fd);
    return 0;
}
