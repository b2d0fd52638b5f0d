/*
 * tool_about: finds the most significant argument of a call. For complete input it looks up
 * members; for streaming input it scans the bytes for strings that are members of the top-level
 * object. Any thread.
 */
#include "agent/tool_about.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "json/json.h"

#define ABOUT_MAX ((size_t)16 << 10) /* bytes of an argument that are examined */

/* Most significant first. */
static const char *const about_members[] = {
    "command",     "file_path", "notebook_path", "pattern", "url",     "query",    "path",
    "description", "prompt",    "objective",     "bash_id", "task_id", "shell_id",
};

/* The first line; a path below dir becomes relative. */
static struct str about_short(size_t member, struct str value, const char *dir)
{
    struct str folder = str_of(dir);

    if (member > 0 && folder.len && str_starts(value, folder) && value.len > folder.len + 1 &&
        value.ptr[folder.len] == '/')
        value = str_from(value, folder.len + 1);
    value = str_trim(value);
    return str_first(value, str_chr(value, '\n'));
}

/* Index of the most significant argument present, or ARRAY_LEN(about_members). */
static size_t about_member(const struct json *input, struct str *ret)
{
    size_t i = 0;

    while (i < ARRAY_LEN(about_members)) {
        *ret = json_get_str(input, about_members[i]);
        if (ret->len)
            break;
        i++;
    }
    return i;
}

struct str tool_about(const struct json *input, const char *dir)
{
    struct str value;
    size_t member = about_member(input, &value);

    return member < ARRAY_LEN(about_members) ? about_short(member, value, dir) : STR("");
}

bool tool_about_goes_on(const struct json *input)
{
    struct str value;

    (void)about_member(input, &value);
    value = str_trim(value);
    return str_chr(value, '\n') < value.len;
}

/* ---- Incomplete input ---- */

/* Reads a string after its opening quote: *ret gets its raw bytes, *rest what follows. False if it
 * does not end here. */
static bool partial_string(struct str *rest, struct str *ret)
{
    size_t i = 0;
    bool is_whole;

    while (i < rest->len && rest->ptr[i] != '"')
        i += rest->ptr[i] == '\\' ? 2 : 1;
    is_whole = i < rest->len;
    *ret = str_first(*rest, i);
    *rest = str_from(*rest, i + 1);
    return is_whole;
}

/* Skips a value that is not a string. */
static void partial_skip(struct str *rest)
{
    size_t depth = 0;
    struct str ignored;

    while (rest->len) {
        char c = rest->ptr[0];

        if (depth == 0 && (c == ',' || c == '}'))
            return;
        *rest = str_from(*rest, 1);
        if (c == '"')
            (void)partial_string(rest, &ignored);
        else if (c == '{' || c == '[')
            depth++;
        else if (c == '}' || c == ']')
            depth--;
    }
}

/* Number of bytes of an incomplete escape at the end. */
static size_t partial_escape(struct str raw)
{
    size_t i = 0;

    while (i < raw.len) {
        size_t n = 1;

        if (raw.ptr[i] == '\\')
            n = i + 1 < raw.len && raw.ptr[i + 1] == 'u' ? 6 : 2;
        if (i + n > raw.len)
            return raw.len - i;
        i += n;
    }
    return 0;
}

static void partial_decode(struct str raw, size_t member, const char *dir, struct buf *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(ABOUT_MAX + 2);
    const struct json *value = NULL;

    raw = str_first(raw, ABOUT_MAX);
    raw = str_first(raw, raw.len - partial_escape(raw));
    buf_addc(&text, '"');
    buf_add(&text, raw);
    buf_addc(&text, '"');
    if (json_parse(&arena, buf_str(&text), &value, /*ret_info=*/NULL, /*err=*/NULL) == 0)
        buf_add(ret, about_short(member, json_str(value), dir));
}

static size_t partial_rank(struct str key)
{
    size_t i = 0;

    while (i < ARRAY_LEN(about_members) && !str_is(key, about_members[i]))
        i++;
    return i;
}

void tool_about_partial(struct str json, const char *dir, struct buf *ret)
{
    struct str rest = str_trim(json);
    struct str best = STR("");
    size_t best_rank = ARRAY_LEN(about_members);

    if (!str_starts(rest, STR("{")))
        return;
    rest = str_from(rest, 1);
    while (rest.len) {
        struct str key, value;
        size_t rank;

        rest = str_from(rest, str_chr(rest, '"') + 1);
        if (!partial_string(&rest, &key))
            break;
        rest = str_trim(rest);
        if (!str_starts(rest, STR(":")))
            break;
        rest = str_trim(str_from(rest, 1));
        if (!str_starts(rest, STR("\""))) {
            partial_skip(&rest);
            continue;
        }
        rest = str_from(rest, 1);
        (void)partial_string(&rest, &value);
        rank = partial_rank(key);
        if (rank < best_rank && value.len) {
            best_rank = rank;
            best = value;
        }
    }
    if (best.len)
        partial_decode(best, best_rank, dir, ret);
}
