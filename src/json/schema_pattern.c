/*
 * Compiling and matching the patterns of a schema with PCRE2. Any thread; the cache belongs to one
 * schema_check().
 */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "json/schema_pattern.h"

#include <pcre2.h>

#include "base/mem.h"
#include "base/vec.h"
#include "json/json.h"

#define PATTERN_MAX_BYTES 10000
#define PATTERN_MAX_NEST                                                                           \
    50 /* groups; PCRE2 compiles them recursively, and agents' stacks are small */
#define PATTERN_MATCH_STEPS 500000
#define PATTERN_HEAP_KB 4096

struct schema_pattern {
    const struct json *source;
    pcre2_code *code; /* NULL when it does not compile */
};

static pcre2_code *compile(struct str pattern, int *ret_error, size_t *ret_offset)
{
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    pcre2_code *code;
    uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_DOLLAR_ENDONLY |
                       PCRE2_ALLOW_EMPTY_CLASS | PCRE2_ALT_BSUX | PCRE2_MATCH_UNSET_BACKREF |
                       PCRE2_NEVER_BACKSLASH_C;

    if (!context)
        BUG("out of memory");
    pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
    pcre2_set_max_pattern_length(context, PATTERN_MAX_BYTES);
    pcre2_set_parens_nest_limit(context, PATTERN_MAX_NEST);
    code = pcre2_compile((PCRE2_SPTR)pattern.ptr, pattern.len, options, ret_error, ret_offset,
                         context);
    pcre2_compile_context_free(context);
    return code;
}

int schema_pattern_check(struct str pattern, char *text, size_t size)
{
    int error = 0;
    size_t offset = 0;
    pcre2_code *code = compile(pattern, &error, &offset);
    PCRE2_UCHAR reason[120];

    if (code) {
        pcre2_code_free(code);
        return 0;
    }
    pcre2_get_error_message(error, reason, sizeof(reason));
    snprintf(text, size, "%s at offset %zu", (const char *)reason, offset);
    return -1;
}

/* source tells it from others. */
static pcre2_code *get_code(struct schema_patterns *all, const struct json *source,
                            struct str pattern)
{
    struct schema_pattern *new;
    int error;
    size_t offset;

    VEC_EACH(all, it) {
        if (it->source == source)
            return it->code;
    }
    new = vec_add(all);
    new->source = source;
    new->code = compile(pattern, &error, &offset);
    return new->code;
}

/* True also when a limit was reached before it was known. */
static bool matches(const pcre2_code *code, struct str text)
{
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    int r;

    if (!context || !data)
        BUG("out of memory");
    pcre2_set_match_limit(context, PATTERN_MATCH_STEPS);
    pcre2_set_heap_limit(context, PATTERN_HEAP_KB);
    r = pcre2_match(code, (PCRE2_SPTR)text.ptr, text.len, 0, 0, data, context);
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    return r != PCRE2_ERROR_NOMATCH;
}

bool schema_pattern_matches(struct schema_patterns *all, const struct json *pattern,
                            struct str text)
{
    const pcre2_code *code = get_code(all, pattern, json_str(pattern));

    return !code || matches(code, text);
}

bool schema_pattern_matches_key(struct schema_patterns *all, const struct json *member,
                                struct str text)
{
    const pcre2_code *code = get_code(all, member, json_key(member));

    return code && matches(code, text);
}

void schema_patterns_release(struct schema_patterns *all)
{
    VEC_EACH(all, it)
        pcre2_code_free(it->code);
    vec_release(all);
}
