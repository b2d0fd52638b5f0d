/*
 * hook_match: matchers of hooks. A list of names is compared; everything else is a regular
 * expression with limited work. Any thread.
 */
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "agent/hook.h"

#define HOOK_MAX_MATCHER 1000   /* bytes of a regular expression */
#define HOOK_MATCH_LIMIT 100000 /* match steps */

/* Characters of a list of names, besides letters and digits; '|' and ',' separate names. */
static const char *name_chars(enum hook_event event)
{
    return event == HOOK_STOP_FAILURE || event == HOOK_FILE_CHANGED ? "_|" : "_- ,|";
}

static bool is_exact(enum hook_event event, struct str matcher)
{
    const char *others = name_chars(event);

    for (size_t i = 0; i < matcher.len; i++) {
        char c = matcher.ptr[i];

        if (!str_is_alnum(c) && !(c && strchr(others, c)))
            return false;
    }
    return true;
}

/* NULL if it is not a valid regular expression, or too long. */
static pcre2_code *regex_compile(struct str pattern)
{
    PCRE2_SIZE where;
    int error;

    if (pattern.len > HOOK_MAX_MATCHER)
        return NULL;
    return pcre2_compile((PCRE2_SPTR)pattern.ptr, pattern.len, PCRE2_UTF, &error, &where, NULL);
}

static bool regex_matches(struct str pattern, struct str subject)
{
    pcre2_code *code = regex_compile(pattern);
    pcre2_match_context *limits;
    pcre2_match_data *data;
    int found = -1;

    if (!code)
        return false;
    data = pcre2_match_data_create(1, NULL);
    limits = pcre2_match_context_create(NULL);
    if (data && limits) {
        pcre2_set_match_limit(limits, HOOK_MATCH_LIMIT);
        found = pcre2_match(code, (PCRE2_SPTR)subject.ptr, subject.len, 0, 0, data, limits);
    }
    pcre2_match_context_free(limits);
    pcre2_match_data_free(data);
    pcre2_code_free(code);
    return found >= 0;
}

bool hook_matcher_is_valid(enum hook_event event, struct str matcher)
{
    pcre2_code *code;
    bool valid;

    if (str_is(matcher, "*") || is_exact(event, matcher))
        return true;
    code = regex_compile(matcher);
    valid = code;
    pcre2_code_free(code);
    return valid;
}

bool hook_matches(enum hook_event event, struct str matcher, struct str subject)
{
    struct str part;

    if (!matcher.len || str_is(matcher, "*"))
        return true;
    if (!is_exact(event, matcher))
        return regex_matches(matcher, subject);
    while (matcher.len) {
        size_t end = 0;

        while (end < matcher.len && matcher.ptr[end] != '|' && matcher.ptr[end] != ',')
            end++;
        part = str_trim(str_first(matcher, end));
        if (part.len && str_eq(part, subject))
            return true;
        matcher = str_from(matcher, end + 1);
    }
    return false;
}
