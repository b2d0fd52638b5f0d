/*
 * Retry arithmetic: how long to wait, and what servers write when they say how long. Pure; any
 * thread.
 */
#include "net/retry.h"

#include <time.h>

#include "base/mem.h"

/* Whatever says "longer than this" is not a delay, and larger values would not fit an int64_t. */
#define RETRY_LONGEST_MS (INT64_C(366) * 24 * 3600 * 1000)

const struct retry_policy retry_default = {
    .max_tries = 10,
    .first_ms = 500,
    .cap_ms = 32 * 1000,
    .asked_cap_ms = 10 * 60 * 1000,
};

int64_t retry_delay_ms(const struct retry_policy *p, int next, int64_t asked_ms, uint64_t random)
{
    int64_t delay = p->first_ms;

    if (next > p->max_tries || asked_ms > p->asked_cap_ms)
        return -1;
    if (asked_ms > 0)
        return asked_ms;
    if (next < 2)
        return 0;
    for (int i = 2; i < next && delay < p->cap_ms; i++)
        delay *= 2;
    if (delay > p->cap_ms)
        delay = p->cap_ms;
    return delay - (int64_t)(random % ((uint64_t)delay / 4 + 1));
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static struct str skip_spaces(struct str s)
{
    while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
        s = str_from(s, 1);
    return s;
}

/* Cuts a plain decimal number ("11.054") off the front of *s. */
static bool cut_number(struct str *s, double *ret)
{
    size_t n = 0;
    bool dot = false;

    while (n < s->len && (is_digit(s->ptr[n]) || (s->ptr[n] == '.' && !dot && n))) {
        if (s->ptr[n] == '.') {
            /* "try again in 5." ends a sentence. */
            if (n + 1 == s->len || !is_digit(s->ptr[n + 1]))
                break;
            dot = true;
        }
        n++;
    }
    if (!n || str_to_double(str_first(*s, n), ret, NULL) < 0)
        return false;
    *s = str_from(*s, n);
    return true;
}

static bool cut_word(struct str *s, struct str *ret)
{
    size_t n = 0;

    while (n < s->len && is_alpha(s->ptr[n]))
        n++;
    *ret = str_first(*s, n);
    *s = str_from(*s, n);
    return n > 0;
}

static double unit_ms(struct str word)
{
    static const struct unit {
        const char *name;
        double ms;
    } units[] = {
        {"ms", 1},       {"msec", 1},    {"millisecond", 1}, {"milliseconds", 1}, {"s", 1e3},
        {"sec", 1e3},    {"secs", 1e3},  {"second", 1e3},    {"seconds", 1e3},    {"m", 6e4},
        {"min", 6e4},    {"mins", 6e4},  {"minute", 6e4},    {"minutes", 6e4},    {"h", 36e5},
        {"hr", 36e5},    {"hour", 36e5}, {"hours", 36e5},    {"d", 864e5},        {"day", 864e5},
        {"days", 864e5},
    };

    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (str_eq_nocase(word, str_of(units[i].name)))
            return units[i].ms;
    }
    return -1;
}

static int64_t whole_ms(double ms)
{
    if (!(ms >= 0 && ms <= (double)RETRY_LONGEST_MS))
        return -1;
    return (int64_t)ms + (ms > (double)(int64_t)ms); /* up: never earlier than asked */
}

/* Cuts "1m26.4s", "500ms" or "20 seconds" off the front of *s; -1 when there is none. */
static int64_t cut_duration(struct str *s)
{
    struct str rest = *s;
    double total = -1;

    for (;;) {
        double number;
        double ms;
        struct str word;

        rest = skip_spaces(rest);
        if (!cut_number(&rest, &number))
            break;
        rest = skip_spaces(rest);
        if (!cut_word(&rest, &word))
            break;
        ms = unit_ms(word);
        if (ms < 0)
            break;
        total = (total < 0 ? 0 : total) + number * ms;
        *s = rest;
    }
    return whole_ms(total);
}

int64_t retry_text_ms(struct str text)
{
    static const struct str leads[] = {
        STR_INIT("again in"),    STR_INIT("retry in"), STR_INIT("again after"),
        STR_INIT("retry after"), STR_INIT("reset in"), STR_INIT("resets in"),
        STR_INIT("wait"),
    };
    struct str whole = str_trim(text);
    int64_t ms = cut_duration(&whole);

    if (ms >= 0 && !whole.len)
        return ms;
    for (size_t i = 0; i < ARRAY_LEN(leads); i++) {
        struct str rest = text;

        for (;;) {
            size_t at = str_find_nocase(rest, leads[i]);

            if (at == rest.len)
                break;
            rest = str_from(rest, at + leads[i].len);
            ms = cut_duration(&rest);
            if (ms >= 0)
                return ms;
        }
    }
    return -1;
}

/* -1 when it is not the name of a month. */
static int month_number(struct str name)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

    for (int i = 0; i < 12; i++) {
        if (str_eq(name, str_make(names + 3 * i, 3)))
            return i;
    }
    return -1;
}

static bool cut_int(struct str *s, int *ret)
{
    size_t n = 0;
    int value = 0;

    *s = skip_spaces(*s);
    while (n < s->len && n < 4 && is_digit(s->ptr[n]))
        value = value * 10 + (s->ptr[n++] - '0');
    *s = str_from(*s, n);
    *ret = value;
    return n > 0;
}

static bool cut_char(struct str *s, char c)
{
    if (!s->len || s->ptr[0] != c)
        return false;
    *s = str_from(*s, 1);
    return true;
}

static bool cut_month(struct str *s, int *ret)
{
    struct str name;

    *s = skip_spaces(*s);
    if (!cut_word(s, &name))
        return false;
    *ret = month_number(name);
    return *ret >= 0;
}

static bool cut_clock(struct str *s, struct tm *tm)
{
    return cut_int(s, &tm->tm_hour) && cut_char(s, ':') && cut_int(s, &tm->tm_min) &&
           cut_char(s, ':') && cut_int(s, &tm->tm_sec);
}

/*
 * The three forms of RFC 9110:
 *     Sun, 06 Nov 1994 08:49:37 GMT     Sunday, 06-Nov-94 08:49:37 GMT     Sun Nov  6 08:49:37 1994
 */
static bool parse_http_date(struct str s, int64_t *ret_wall_ms)
{
    struct tm tm = {0};
    struct str word;
    bool ok;

    if (!cut_word(&s, &word))
        return false;
    if (cut_char(&s, ',')) {
        ok = cut_int(&s, &tm.tm_mday);
        cut_char(&s, '-');
        ok = ok && cut_month(&s, &tm.tm_mon);
        cut_char(&s, '-');
        ok = ok && cut_int(&s, &tm.tm_year) && cut_clock(&s, &tm) && str_is(skip_spaces(s), "GMT");
        if (tm.tm_year < 100)
            tm.tm_year += tm.tm_year < 70 ? 2000 : 1900;
    } else {
        ok = cut_month(&s, &tm.tm_mon) && cut_int(&s, &tm.tm_mday) && cut_clock(&s, &tm) &&
             cut_int(&s, &tm.tm_year) && !s.len;
    }
    ok = ok && tm.tm_mday >= 1 && tm.tm_mday <= 31 && tm.tm_hour < 24 && tm.tm_min < 60 &&
         tm.tm_sec <= 60 && tm.tm_year >= 1970;
    if (!ok)
        return false;
    tm.tm_year -= 1900;
    *ret_wall_ms = (int64_t)timegm(&tm) * 1000;
    return true;
}

int64_t retry_after_ms(struct str retry_after_ms_value, struct str retry_after_value,
                       int64_t wall_now_ms)
{
    struct str ms_text = str_trim(retry_after_ms_value);
    struct str text = str_trim(retry_after_value);
    int64_t at_ms;
    double number;

    if (cut_number(&ms_text, &number) && !ms_text.len && whole_ms(number) >= 0)
        return whole_ms(number);
    if (parse_http_date(text, &at_ms)) {
        int64_t left = at_ms - wall_now_ms;

        return left > RETRY_LONGEST_MS ? -1 : left > 0 ? left : 0;
    }
    if (cut_number(&text, &number) && !text.len)
        return whole_ms(number * 1000);
    return -1;
}

/* A number below this is no date: it would lie in 1973. */
#define RESET_LEAST_EPOCH 1e8
#define RESET_LEAST_EPOCH_MS 1e11

int64_t retry_reset_ms(struct str value, int64_t wall_now_ms)
{
    struct str text = str_trim(value);
    double n;

    if (str_to_double(text, &n, /*err=*/NULL) < 0) {
        int64_t ms = cut_duration(&text);

        return text.len ? -1 : ms;
    }
    if (n < 0)
        return -1;
    if (n < RESET_LEAST_EPOCH)
        return whole_ms(n * 1000);
    n = (n < RESET_LEAST_EPOCH_MS ? n * 1000 : n) - (double)wall_now_ms;
    return n < 0 ? 0 : whole_ms(n);
}
