/*
 * Any bytes as a command file: frontmatter and body are separated or refused, the frontmatter is a
 * JSON object, the body is the end of the text, and filling in arguments ends.
 */
#include "conf/frontmatter.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/strv.h"
#include "fuzz.h"
#include "json/json.h"
#include "slash/expand.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(strv_release) struct strv words = STRV_INIT;
    CLEANUP(strv_release) struct strv names = STRV_INIT;
    CLEANUP(buf_release) struct buf filled = BUF_INIT((size_t)1 << 20);
    struct str text = str_make((const char *)data, size);
    struct str body = STR("");
    const struct json *front = NULL;
    struct expand_values values = {.arguments = STR("a b"), .words = &words, .names = &names};
    bool used = false;

    strv_adds(&words, "a");
    strv_adds(&names, "name");
    if (frontmatter_read(text, &arena, &front, &body, /*err=*/NULL) == 0) {
        FUZZ_CHECK(json_is(front, JSON_OBJECT));
        FUZZ_CHECK(str_ends(text, body));
    }
    expand_values(body, &values, &used, &filled);
    FUZZ_CHECK(used || filled.len <= body.len || filled.over);
    return 0;
}
