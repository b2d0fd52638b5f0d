/*
 * Any bytes as an ignore file and a path: nothing may crash, loop or leak; only a rule without "!"
 * drops; and a glob of plain characters fits itself.
 */
#include <string.h>

#include "base/str.h"
#include "fuzz.h"
#include "tools/search/glob_match.h"
#include "tools/search/ignore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_make((const char *)data, size);
    struct str path = {0};
    struct ignore_rules *rules;
    struct glob_match *glob = NULL;
    enum ignore_verdict verdict;

    if (size > 4096)
        return 0;
    (void)str_cut(&text, '\n', &path); /* the first line is the path, the rest are rules */
    if (!text.ptr)
        text = str_make((const char *)data, 0);
    rules = ignore_rules_new();
    ignore_rules_add(rules, text);
    verdict = ignore_rules_check(rules, path, false);
    FUZZ_CHECK(verdict == ignore_rules_check(rules, path, false));
    FUZZ_CHECK(ignore_rules_drops(rules) || verdict != IGNORE_DROP);
    ignore_rules_free(rules);

    /* A path of plain characters is a glob that fits itself. */
    if (path.len && !memchr(path.ptr, '/', path.len) && glob_match_parse(path, &glob, NULL) == 0) {
        bool plain = true;

        for (size_t i = 0; i < path.len; i++)
            plain = plain && !memchr("*?[]{},\\", path.ptr[i], 8);
        FUZZ_CHECK(!plain || glob_match_fits(glob, path));
        glob_match_free(glob);
    }
    return 0;
}
