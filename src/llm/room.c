/*
 * room: computes shares of a model's window. Every share is also limited to a part of the window,
 * so that small models get small shares.
 */
#include "llm/room.h"

#include <string.h>

#include "base/str.h"
#include "conf/conf.h"
#include "llm/model.h"

#define ROOM_LEAST_WINDOW 1000 /* smaller windows count as this */
#define ROOM_SLACK 13000
#define ROOM_LAST_SLACK 3000
#define ROOM_TAIL_TOKENS 10000
#define ROOM_FILE_TOKENS 5000
#define ROOM_FILES_TOKENS 25000
#define ROOM_RESULTS_TOKENS 50000

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static size_t share(int64_t tokens, int64_t window, int part)
{
    return (size_t)least(tokens, window / part) * ROOM_TOKEN_BYTES;
}

static bool is_set(const struct conf *conf, const char *name)
{
    const char *value = conf_env(conf, name);

    return value && (strcmp(value, "1") == 0 || strcmp(value, "true") == 0);
}

/* The number in an environment variable; `otherwise` if it is missing or invalid. */
static int64_t number(const struct conf *conf, const char *name, int64_t min, int64_t otherwise)
{
    const char *text = conf_env(conf, name);
    int64_t n = otherwise;

    if (text)
        (void)str_to_i64(str_of(text), &n, /*err=*/NULL);
    return n >= min ? n : otherwise;
}

void room_of(const struct conf *conf, const struct model *model, struct window_room *ret)
{
    int64_t counted = number(conf, "CLAUDE_CODE_AUTO_COMPACT_WINDOW", ROOM_LEAST_WINDOW,
                             conf_get_i64(conf, "autoCompactWindow", model->window));
    int64_t window = least(counted, model->window);
    int64_t percent = least(number(conf, "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", 1, 100), 100);
    int64_t answer = least(model->default_output, window / 4);
    int64_t at = window - answer - least(ROOM_SLACK, window / 16);

    *ret = (struct window_room){
        .automatic = conf_get_bool(conf, "autoCompactEnabled", true) &&
                     !is_set(conf, "DISABLE_AUTO_COMPACT"),
        .compact_at = least(at, window * percent / 100),
        .limit = model->window - least(model->default_output, model->window / 4) -
                 least(ROOM_LAST_SLACK, model->window / 64),
        .tail_bytes = share(ROOM_TAIL_TOKENS, window, 16),
        .file_bytes = share(ROOM_FILE_TOKENS, window, 32),
        .files_bytes = share(ROOM_FILES_TOKENS, window, 8),
        .results_bytes = share(ROOM_RESULTS_TOKENS, window, 4),
    };
}
