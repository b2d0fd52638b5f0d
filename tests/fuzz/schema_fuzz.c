/*
 * [schema, value], both from outside: the check ends, says yes or says something.
 */
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "fuzz.h"
#include "json/json.h"
#include "json/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf lines = BUF_INIT(BUF_NO_LIMIT);
    const struct json *pair;
    struct err err = {0};

    if (json_parse(&arena, str_make((const char *)data, size), &pair, NULL, NULL) < 0)
        return 0;
    schema_unknown(json_at(pair, 0), &lines);
    FUZZ_CHECK(!lines.len || lines.ptr[lines.len - 1] == '\n');
    if (schema_check(json_at(pair, 0), json_at(pair, 1), &err) == 0)
        return 0;
    FUZZ_CHECK(err.code == ERR_BAD_INPUT);
    FUZZ_CHECK(strlen(err.text) > 10);
    return 0;
}
