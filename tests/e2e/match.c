/*
 * match: exact text, lines, and JSON as a part of JSON. Main thread.
 */
#include "match.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "json/json.h"

bool match_exact(const char *what, struct str want, struct str got)
{
    if (str_eq(want, got))
        return true;
    printf("--- %s expected\n%.*s--- %s came\n%.*s---\n", what, STR_ARG(want), what, STR_ARG(got));
    return false;
}

static bool match_regex(struct str pattern, struct str text)
{
    CLEANUP(mem_freep) char *re = mem_dup(pattern.ptr, pattern.len);
    CLEANUP(mem_freep) char *copy = mem_dup(text.ptr, text.len);
    regex_t compiled;
    bool found;

    if (regcomp(&compiled, re, REG_EXTENDED | REG_NOSUB | REG_NEWLINE)) {
        printf("bad regular expression: %s\n", re);
        return false;
    }
    found = regexec(&compiled, copy, 0, NULL, 0) == 0;
    regfree(&compiled);
    return found;
}

bool match_lines(const char *what, struct str want, struct str got)
{
    struct str rest = want;
    struct str left = got;
    struct str line;
    bool good = true;

    while (str_cut(&rest, '\n', &line)) {
        bool fine;

        if (!line.len)
            continue;
        if (line.ptr[0] == '!') {
            fine = !str_has(got, str_from(line, 1));
        } else if (line.ptr[0] == '~') {
            fine = match_regex(str_from(line, 1), got);
        } else {
            size_t at = str_find(left, line);

            fine = left.len && at < left.len;
            if (fine)
                left = str_from(left, at + line.len);
        }
        if (!fine)
            printf("%s: not as expected: %.*s\n", what, STR_ARG(line));
        good = good && fine;
    }
    if (!good)
        printf("--- %s came\n%.*s---\n", what, STR_ARG(got));
    return good;
}

/* Where in the document, for messages: "body.messages.0". */
struct place {
    char text[512];
};

static bool differs(const struct place *at, const struct json *want, const struct json *got)
{
    printf("request: %s: expected %.*s, came %.*s\n", at->text, STR_ARG(json_raw(want)),
           STR_ARG(got ? str_clip(json_raw(got), 400) : STR("nothing")));
    return false;
}

static struct place place_in(const struct place *outer, struct str key, size_t index)
{
    struct place inner;

    if (key.ptr)
        snprintf(inner.text, sizeof(inner.text), "%.200s.%.*s", outer->text,
                 (int)(key.len < 200 ? key.len : 200), key.ptr);
    else
        snprintf(inner.text, sizeof(inner.text), "%.400s.%zu", outer->text, index);
    return inner;
}

static bool part_of(const struct json *want, const struct json *got, struct place at, int depth);

/* The reminder of a new day while a case is played: not part of the case. */
static bool is_midnight(const struct json *v)
{
    struct str text = json_get_str(v, "text");

    return str_starts(text, STR("<system-reminder>\nThe date has changed: today is ")) &&
           !str_has(str_from(text, 1), STR("<system-reminder>")); /* nothing else with it */
}

/* One of the rest; NULL after them. */
static const struct json *element(const struct json *array, size_t i)
{
    JSON_EACH(array, v) {
        if (!is_midnight(v) && i-- == 0)
            return v;
    }
    return NULL;
}

static bool part_of_children(const struct json *want, const struct json *got,
                             const struct place *at, int depth)
{
    bool object = json_type(want) == JSON_OBJECT;
    size_t len = json_len(want);
    size_t i = 0;
    bool good = true;

    if (json_type(got) != json_type(want) ||
        (!object && ((len && !element(got, len - 1)) || element(got, len))))
        return differs(at, want, got);
    JSON_EACH(want, child) {
        struct str key = object ? json_key(child) : (struct str){NULL, 0};
        const struct json *other = object ? json_get_key(got, key) : element(got, i);

        good = part_of(child, other, place_in(at, key, i), depth + 1) && good;
        i++;
    }
    return good;
}

static bool part_of(const struct json *want, const struct json *got, struct place at, int depth)
{
    struct str text = json_str(want);

    if (depth > 64)
        return differs(&at, want, got);
    if (json_is(want, JSON_STRING)) {
        if (str_is(text, "<absent>"))
            return !got || differs(&at, want, got);
        if (!got)
            return differs(&at, want, got);
        if (str_is(text, "*"))
            return true;
        if (str_starts(text, STR("~")))
            return (json_is(got, JSON_STRING) && match_regex(str_from(text, 1), json_str(got))) ||
                   (json_is(got, JSON_NUMBER) && match_regex(str_from(text, 1), json_raw(got))) ||
                   differs(&at, want, got);
    }
    if (json_is(want, JSON_OBJECT) || json_is(want, JSON_ARRAY))
        return part_of_children(want, got, &at, depth);
    return (got && json_equal(want, got)) || differs(&at, want, got);
}

/* The next line that is not empty. */
static bool next_line(struct str *rest, struct str *ret)
{
    while (str_cut(rest, '\n', ret)) {
        if (str_trim(*ret).len)
            return true;
    }
    return false;
}

bool match_requests(struct str want, struct str got)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct str want_line = STR("");
    struct str got_line = STR("");
    size_t n = 0;
    bool good = true;

    for (;; n++) {
        bool more = next_line(&want, &want_line);
        bool came = next_line(&got, &got_line);
        const struct json *expected = NULL;
        const struct json *recorded = NULL;
        struct place at;
        struct err err = {0};

        if (!more && !came)
            return good;
        if (!more || !came) {
            printf("request %zu: %s: %.*s\n", n, more ? "did not come" : "was not expected",
                   STR_ARG(str_clip(more ? want_line : got_line, 2000)));
            good = false;
            continue;
        }
        if (json_parse(&arena, want_line, &expected, NULL, &err) < 0 ||
            json_parse(&arena, got_line, &recorded, NULL, &err) < 0) {
            printf("request %zu: %s\n", n, err.text);
            return false;
        }
        snprintf(at.text, sizeof(at.text), "%zu", n);
        good = part_of(expected, recorded, at, 0) && good;
    }
}
