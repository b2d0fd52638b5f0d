/*
 * Settings documents, lowest first, separated by the byte 0x1e: whatever they hold, what comes of
 * them is settings again. Checked once more nothing is left out, merged once more nothing changes,
 * and giving all documents twice is giving them once.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/strv.h"
#include "conf/check.h"
#include "conf/merge.h"
#include "conf/source.h"
#include "fuzz.h"
#include "json/json.h"

#define MAX_DOCUMENTS 4

static const struct json *merge(struct arena *arena, const struct source *list, size_t count,
                                const struct check *check)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(map_release) struct map origins = MAP_INIT;
    const struct json *root = NULL;

    merge_sources(list, count, check, arena, &text, &origins);
    FUZZ_CHECK(json_parse_copy(arena, buf_str(&text), &root, NULL, NULL) == 0);
    FUZZ_CHECK(json_is(root, JSON_OBJECT));
    MAP_EACH(&origins, it) {
        FUZZ_CHECK(str_starts(str_of(it->value), STR("document:")));
    }
    return root;
}

/* Documents that do not parse set nothing. */
static size_t load(struct arena *arena, struct str text, struct source *list, struct check *check)
{
    struct str document;
    size_t count = 0;

    while (count < MAX_DOCUMENTS && str_cut(&text, '\x1e', &document)) {
        struct source *s = &list[count];

        *s = (struct source){.level = count % 2 ? LEVEL_PROJECT : LEVEL_USER,
                             .ours = count > 1,
                             .name = "document",
                             .has_positions = true,
                             .text = document};
        if (source_load(s, arena, &check->warnings, NULL) < 0 || !s->root)
            continue;
        check_source(check, s);
        count++;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(check_release) struct check check = {.trusted = size % 2};
    CLEANUP(check_release) struct check again = {.trusted = true};
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    struct str input = str_make((const char *)data, size);
    struct source list[2 * MAX_DOCUMENTS];
    struct source merged = {.ours = true, .name = "document", .has_positions = true};
    const struct json *once;
    size_t count;

    count = load(&arena, input, list, &check);
    once = merge(&arena, list, count, &check);
    FUZZ_CHECK(load(&arena, input, list + count, &check) == count);
    FUZZ_CHECK(json_equal(once, merge(&arena, list, 2 * count, &check)));

    merged.text = json_raw(once);
    FUZZ_CHECK(source_load(&merged, &arena, &again.warnings, NULL) == 0 && merged.root);
    check_source(&again, &merged);
    FUZZ_CHECK(again.left_out.len == 0);
    FUZZ_CHECK(json_equal(once, merge(&arena, &merged, 1, &again)));

    check_take_warnings(&check, &warnings);
    FUZZ_CHECK(warnings.len <= CHECK_MAX_WARNINGS + 2 * MAX_DOCUMENTS + 1);
    for (size_t i = 0; i < warnings.len; i++)
        for (const char *at = warnings.ptr[i]; *at; at++)
            FUZZ_CHECK((unsigned char)*at >= 0x20 && *at != 0x7f);
    return 0;
}
