/*
 * What a clean room reads from outside: records of an observed check, and the list of files on
 * disk.
 *
 * Lists are sorted and have no duplicates, paths of the workspace are relative to it, and reading
 * back gives the written lists. The first byte chooses: records, or a list as JSON.
 */
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "fuzz.h"
#include "goal/origin/inventory.h"
#include "goal/origin/trace.h"
#include "json/json.h"
#include "json/jw.h"

static void check_list(const struct strv *list, struct str records)
{
    for (size_t i = 0; i < list->len; i++) {
        FUZZ_CHECK(list->ptr[i][0] && strlen(list->ptr[i]) <= records.len + 10);
        FUZZ_CHECK(!i || strcmp(list->ptr[i - 1], list->ptr[i]) < 0);
        FUZZ_CHECK(trace_has(list, str_of(list->ptr[i])));
    }
}

static void check_same(const struct strv *a, const struct strv *b)
{
    FUZZ_CHECK(a->len == b->len);
    for (size_t i = 0; i < a->len; i++)
        FUZZ_CHECK(strcmp(a->ptr[i], b->ptr[i]) == 0);
}

static void check_trace(struct str records)
{
    struct trace a = {0};
    struct trace b = {0};
    struct arena arena = ARENA_INIT;
    struct buf text = BUF_INIT(8 << 20);
    const struct json *root = NULL;
    struct jw w;

    trace_read(&a, records, "/w", "/w", "/r", "/u");
    FUZZ_CHECK(a.is_seen);
    check_list(&a.programs, records);
    check_list(&a.ran, records);
    check_list(&a.read, records);
    check_list(&a.used, records);
    check_list(&a.made, records);
    check_list(&a.outside, records);
    check_list(&a.missing, records);
    for (size_t i = 0; i < a.used.len; i++)
        FUZZ_CHECK(trace_has(&a.read, str_of(a.used.ptr[i])));
    for (size_t i = 0; i < a.made.len; i++)
        FUZZ_CHECK(trace_has(&a.read, str_of(a.made.ptr[i])));
    trace_builds(&a);
    jw_init(&w, &text, 0);
    trace_write(&a, &w);
    FUZZ_CHECK(json_parse(&arena, buf_str(&text), &root, NULL, NULL) == 0);
    trace_parse(&b, root);
    FUZZ_CHECK(b.is_seen && a.is_cut == b.is_cut);
    check_same(&a.programs, &b.programs);
    check_same(&a.ran, &b.ran);
    check_same(&a.read, &b.read);
    check_same(&a.used, &b.used);
    check_same(&a.made, &b.made);
    arena_release(&arena);
    buf_release(&text);
    trace_release(&a);
    trace_release(&b);
}

static void check_files(const struct inventory *v)
{
    for (size_t i = 0; i < v->entries.len; i++) {
        const struct inventory_entry *e = &v->entries.ptr[i];

        FUZZ_CHECK(e->path.len && strlen(e->path.ptr) == e->path.len && e->path.ptr[0] != '/');
        FUZZ_CHECK(inventory_find(v, e->path) == e);
    }
}

static void check_inventory(struct str bytes)
{
    struct inventory a = INVENTORY_INIT;
    struct inventory b = INVENTORY_INIT;
    struct arena arena = ARENA_INIT;
    struct buf text = BUF_INIT(8 << 20);
    const struct json *root = NULL;
    char first[SHA256_HEX + 1], second[SHA256_HEX + 1];
    struct err err = {0};
    struct jw w;

    if (json_parse(&arena, bytes, &root, NULL, NULL) < 0) {
        arena_release(&arena);
        return;
    }
    if (inventory_parse(&a, root, &err) < 0) {
        FUZZ_CHECK(err.code == ERR_PROTOCOL);
    } else {
        check_files(&a);
        jw_init(&w, &text, 0);
        inventory_write(&a, &w);
        FUZZ_CHECK(json_parse(&arena, buf_str(&text), &root, NULL, NULL) == 0);
        FUZZ_CHECK(inventory_parse(&b, root, NULL) == 0 && a.entries.len == b.entries.len);
        inventory_digest(&a, first);
        inventory_digest(&b, second);
        FUZZ_CHECK(strcmp(first, second) == 0);
    }
    inventory_release(&a);
    inventory_release(&b);
    arena_release(&arena);
    buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = str_make((const char *)data, size);

    if (size < 1 || size > 16384)
        return 0;
    if (data[0] % 2)
        check_trace(str_from(bytes, 1));
    else
        check_inventory(str_from(bytes, 1));
    return 0;
}
