/*
 * rate: parses rate limit headers. Pure; a value that is not a number counts as absent.
 */
#include "llm/rate.h"

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "base/strv.h"
#include "json/jw.h"
#include "net/net.h"

#define PREFIX "anthropic-ratelimit-unified-"
#define RATE_MOST 100.0 /* larger shares of a window are invalid */

static bool read_number(const struct strv *headers, const char *name, double *ret)
{
    return str_to_double(str_trim(net_mail_header(headers, name)), ret, /*err=*/NULL) == 0 &&
           isfinite(*ret) && *ret >= 0;
}

static void read_window(const struct strv *headers, const char *used, const char *resets,
                        struct llm_rate_window *ret)
{
    double n;

    ret->known = read_number(headers, used, &ret->used) && ret->used <= RATE_MOST;
    if (read_number(headers, resets, &n) && n < 1e11)
        ret->resets_at = (int64_t)n;
}

/* Reads a word for programs: only the expected characters. */
static void read_word(const struct strv *headers, const char *name, char *ret, size_t size)
{
    struct str word = str_trim(net_mail_header(headers, name));

    if (word.len >= size)
        return;
    for (size_t i = 0; i < word.len; i++) {
        if (!str_is_alnum(word.ptr[i]) && word.ptr[i] != '_')
            return;
    }
    if (word.len)
        memcpy(ret, word.ptr, word.len);
    ret[word.len] = '\0';
}

void llm_rate_read(const struct strv *headers, struct llm_rate *ret)
{
    *ret = (struct llm_rate){0};
    read_window(headers, PREFIX "5h-utilization", PREFIX "5h-reset", &ret->five_hour);
    read_window(headers, PREFIX "7d-utilization", PREFIX "7d-reset", &ret->seven_day);
    read_word(headers, PREFIX "status", ret->status, sizeof(ret->status));
    read_word(headers, PREFIX "representative-claim", ret->claim, sizeof(ret->claim));
    ret->known = ret->five_hour.known || ret->seven_day.known;
}

static void write_window(struct jw *w, const char *name, const struct llm_rate_window *r)
{
    if (!r->known)
        return;
    jw_key(w, name);
    jw_object(w);
    jw_ki64(w, "used_percentage", (int64_t)(r->used * 100 + 0.5));
    if (r->resets_at)
        jw_ki64(w, "resets_at", r->resets_at);
    jw_object_end(w);
}

void llm_rate_write(struct jw *w, const struct llm_rate *r)
{
    write_window(w, "five_hour", &r->five_hour);
    write_window(w, "seven_day", &r->seven_day);
}
