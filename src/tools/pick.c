/*
 * Lines are put together from the portions and matched one by one. A match that would take too long
 * counts as none. Runs on the thread that feeds it, whose stack is small: PCRE2 matches on the
 * heap.
 */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "tools/pick.h"

#include <pcre2.h>

#include "base/buf.h"
#include "base/err.h"
#include "tools/clip.h"

#define PICK_MAX_PATTERN 10000
#define PICK_MAX_NEST 50 /* groups; compiling is recursive */
#define PICK_MAX_STEPS 500000
#define PICK_MAX_HEAP_KB 4096
#define PICK_MAX_LINE ((size_t)128 << 10) /* a longer one is matched in parts */

struct pick {
    struct clip *to;
    pcre2_code *code; /* NULL: everything */
    pcre2_match_data *match;
    pcre2_match_context *context;
    struct buf line;
};

static pcre2_code *pick_compile(struct str pattern, struct err *err)
{
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    PCRE2_UCHAR reason[120];
    pcre2_code *code;
    size_t offset = 0;
    int error = 0;

    if (!context)
        BUG("out of memory");
    pcre2_set_max_pattern_length(context, PICK_MAX_PATTERN);
    pcre2_set_parens_nest_limit(context, PICK_MAX_NEST);
    code = pcre2_compile((PCRE2_SPTR)pattern.ptr, pattern.len,
                         PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C, &error,
                         &offset, context);
    pcre2_compile_context_free(context);
    if (!code) {
        pcre2_get_error_message(error, reason, sizeof(reason));
        err_set(err, ERR_BAD_INPUT, "filter is no regular expression: %s at offset %zu",
                (const char *)reason, offset);
    }
    return code;
}

struct pick *pick_new(struct str pattern, struct clip *to, struct err *err)
{
    struct pick *p;
    pcre2_code *code = pattern.len ? pick_compile(pattern, err) : NULL;

    if (pattern.len && !code)
        return NULL;
    p = mem_zalloc(sizeof(*p));
    p->to = to;
    p->line = (struct buf)BUF_INIT(PICK_MAX_LINE);
    p->code = code;
    if (!code)
        return p;
    p->match = pcre2_match_data_create_from_pattern(code, NULL);
    p->context = pcre2_match_context_create(NULL);
    if (!p->match || !p->context)
        BUG("out of memory");
    pcre2_set_match_limit(p->context, PICK_MAX_STEPS);
    pcre2_set_heap_limit(p->context, PICK_MAX_HEAP_KB);
    return p;
}

static void pick_judge(struct pick *p, struct str line)
{
    struct str text = line;

    if (text.len && text.ptr[text.len - 1] == '\n')
        text.len--;
    if (pcre2_match(p->code, (PCRE2_SPTR)(text.len ? text.ptr : ""), text.len, 0, 0, p->match,
                    p->context) >= 0)
        clip_add(p->to, line);
}

void pick_feed(struct pick *p, struct str text)
{
    if (!p->code) {
        clip_add(p->to, text);
        return;
    }
    while (text.len) {
        size_t end = str_chr(text, '\n');
        struct str line = str_first(text, end + 1);

        text = str_from(text, line.len);
        if (end < line.len && !p->line.len) { /* whole as it stands */
            pick_judge(p, line);
            continue;
        }
        if (p->line.len + line.len > PICK_MAX_LINE)
            pick_end(p);
        buf_add(&p->line, line);
        if (end < line.len)
            pick_end(p);
    }
}

void pick_end(struct pick *p)
{
    if (p->line.len)
        pick_judge(p, buf_str(&p->line));
    buf_clear(&p->line);
}

void pick_free(struct pick *p)
{
    if (!p)
        return;
    pcre2_match_data_free(p->match);
    pcre2_match_context_free(p->context);
    pcre2_code_free(p->code);
    buf_release(&p->line);
    mem_freep(&p);
}

void pick_freep(struct pick **p)
{
    pick_free(*p);
}
