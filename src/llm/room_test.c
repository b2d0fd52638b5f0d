/*
 * How much of a window may be filled: by model, by setting, by variable.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "conf/conf.h"
#include "llm/model.h"
#include "llm/room.h"
#include "unit.h"

static char root[] = "/tmp/tenax-room-XXXXXX";

static const struct {
    const char *name;
    int64_t window, output;
    const char *settings;
    const char *variable;
    bool automatic;
    int64_t compact_at, limit;
    size_t results_bytes;
} cases[] = {
    {"large", 200000, 32000, "{}", NULL, true, 155500, 165000, 200000},
    {"million", 1000000, 32000, "{}", NULL, true, 955000, 965000, 200000},
    {"local", 32768, 8192, "{}", NULL, true, 22528, 24064, 32768},
    {"as much output as window", 8000, 8000, "{}", NULL, true, 5500, 5875, 8000},
    {"off", 200000, 32000, "{\"autoCompactEnabled\":false}", NULL, false, 155500, 165000, 200000},
    {"off by variable", 200000, 32000, "{}", "DISABLE_AUTO_COMPACT=1", false, 155500, 165000,
     200000},
    {"counted with less", 200000, 32000, "{\"autoCompactWindow\":100000}", NULL, true, 68750,
     165000, 100000},
    {"not with more", 200000, 32000, "{\"autoCompactWindow\":900000}", NULL, true, 155500, 165000,
     200000},
    {"by variable", 200000, 32000, "{}", "CLAUDE_CODE_AUTO_COMPACT_WINDOW=100000", true, 68750,
     165000, 100000},
    {"earlier", 200000, 32000, "{}", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=50", true, 100000, 165000,
     200000},
    {"never later", 200000, 32000, "{}", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=99", true, 155500, 165000,
     200000},
    {"nonsense", 200000, 32000, "{}", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=-5", true, 155500, 165000,
     200000},
};

static void rooms(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char home[200];
        char path[240];
        char *variables[] = {home, (char *)cases[i].variable, NULL};
        struct conf_sources from = {
            .dir = root, .environ = variables, .etc = root, .trusted = true};
        struct model model = {.window = cases[i].window,
                              .max_output = cases[i].output,
                              .default_output = cases[i].output};
        struct conf *conf = NULL;
        struct err err = {0};
        struct window_room r;

        snprintf(home, sizeof(home), "TENAX_HOME=%s", root);
        snprintf(path, sizeof(path), "%s/settings.json", root);
        if (file_replace(path, str_of(cases[i].settings), 0600, &err) < 0 ||
            conf_load(&from, &conf, &err) < 0)
            fail_msg("%s: %s", cases[i].name, err.text);
        room_of(conf, &model, &r);
        if (r.automatic != cases[i].automatic || r.compact_at != cases[i].compact_at ||
            r.limit != cases[i].limit || r.results_bytes != cases[i].results_bytes)
            fail_msg("%s: %d, compact at %ld, limit %ld, results %zu", cases[i].name, r.automatic,
                     (long)r.compact_at, (long)r.limit, r.results_bytes);
        if (r.tail_bytes + r.files_bytes > (size_t)r.compact_at * ROOM_TOKEN_BYTES / 2)
            fail_msg("%s: what is kept takes more than half of the room", cases[i].name);
        conf_unref(conf);
        unlink(path);
    }
}

UNIT_TEST(room)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rooms)};
    int r;

    if (!mkdtemp(root))
        return 1;
    r = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(root);
    return r;
}
