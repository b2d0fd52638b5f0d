/*
 * amount: figures as people write them (argument.h): tokens, money, durations, points in time.
 *
 * Digits are read as integers, so that 1.5m is 1500000 and not a float near it, and every figure
 * has a floor and a ceiling. Any thread.
 */
#include "base/err.h"
#include "goal/argument/argument.h"

#include <time.h>

#define SHOWN 60 /* bytes of a wrong figure that an error repeats */

/* The problem with a figure, one sentence for each kind. */
static int amount_wrong(struct str text, const char *why, struct err *err)
{
    return err_set(err, ERR_BAD_INPUT, "'%.*s' %s", STR_ARG(str_clip(text, SHOWN)), why);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits from *at on; false when there are none or the number passes limit. */
static bool take_number(struct str s, size_t *at, int64_t limit, int64_t *ret)
{
    size_t start = *at;
    int64_t value = 0;

    for (; *at < s.len && is_digit(s.ptr[*at]); ++*at) {
        int digit = s.ptr[*at] - '0';

        if (value > (limit - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (*at == start)
        return false;
    *ret = value;
    return true;
}

static int64_t tokens_unit(char c)
{
    switch (c) {
    case 'k':
    case 'K':
        return 1000;
    case 'm':
    case 'M':
        return 1000 * 1000;
    case 'b':
    case 'B':
        return 1000 * 1000 * 1000;
    default:
        return 0;
    }
}

/* True: digits, perhaps a point and more digits, and nothing else. */
static bool is_plain_decimal(struct str s)
{
    size_t point = str_chr(s, '.');
    size_t count = 0;

    for (size_t i = 0; i < s.len; i++) {
        if (!is_digit(s.ptr[i]) && i != point)
            return false;
        count += is_digit(s.ptr[i]);
    }
    return count > 0;
}

int goal_read_tokens(struct str text, int64_t *ret, struct err *err)
{
    const char *form = "is not a number of tokens: write 20000, 500k or 1.5m";
    struct str s = str_trim(text);
    int64_t unit = s.len ? tokens_unit(s.ptr[s.len - 1]) : 0;
    int64_t value = 0;

    if (s.len && s.ptr[0] == '-' && is_plain_decimal(str_from(str_first(s, s.len - !!unit), 1)))
        return amount_wrong(text, "is less than nothing; a budget is more than 0", err);
    if (unit)
        s.len--;
    else
        unit = 1;
    if (!is_plain_decimal(s))
        return amount_wrong(text, form, err);
    for (size_t i = 0; i < s.len; i++) {
        int digit;

        if (s.ptr[i] == '.') {
            /* From here on each digit is a tenth of the one before. */
            for (i++; i < s.len; i++) {
                if (unit < 10 && s.ptr[i] != '0')
                    return amount_wrong(text, "is not a whole number of tokens", err);
                unit /= 10;
                value += (s.ptr[i] - '0') * unit;
            }
            break;
        }
        digit = s.ptr[i] - '0';
        if (value > (GOAL_MAX_NUMBER - digit * unit) / 10)
            return err_set(err, ERR_BAD_INPUT, "'%.*s' is more than can be counted (%lld at most)",
                           STR_ARG(str_clip(text, SHOWN)), (long long)GOAL_MAX_NUMBER);
        value = value * 10 + digit * unit;
    }
    if (value > GOAL_MAX_NUMBER)
        return err_set(err, ERR_BAD_INPUT, "'%.*s' is more than can be counted (%lld at most)",
                       STR_ARG(str_clip(text, SHOWN)), (long long)GOAL_MAX_NUMBER);
    if (value == 0)
        return amount_wrong(text, "is nothing; a budget is more than 0", err);
    *ret = value;
    return 0;
}

int goal_read_usd(struct str text, double *ret, struct err *err)
{
    struct str s = str_trim(text);
    double value;

    if (s.len && s.ptr[0] == '$')
        s = str_from(s, 1);
    if (s.len > 40 || !is_plain_decimal(s) || str_to_double(s, &value, NULL) < 0)
        return amount_wrong(text, "is not an amount of money: write 2.50 or $2.50, more than 0",
                            err);
    if (value <= 0)
        return amount_wrong(text, "is nothing; a limit is more than 0", err);
    if (value > GOAL_MAX_USD)
        return amount_wrong(text, "is too much ($1000000000 at most)", err);
    *ret = value;
    return 0;
}

static int64_t duration_unit(char c)
{
    switch (c) {
    case 's':
    case 'S':
        return 1000;
    case 'm':
    case 'M':
        return 60 * 1000;
    case 'h':
    case 'H':
        return 3600 * 1000;
    case 'd':
    case 'D':
        return 24 * 3600 * 1000;
    default:
        return 0;
    }
}

/* Each unit once, the larger one first: "1h30m", also with blanks between. */
int goal_read_duration(struct str text, int64_t *ret_ms, struct err *err)
{
    struct str s = str_trim(text);
    int64_t smallest = INT64_MAX;
    int64_t sum = 0;
    size_t at = 0;

    while (at < s.len) {
        int64_t value;
        int64_t unit;

        if (!is_digit(s.ptr[at]))
            break;
        if (!take_number(s, &at, GOAL_MAX_AHEAD_MS / 1000, &value))
            return amount_wrong(text, "is more than a year", err);
        unit = at < s.len ? duration_unit(s.ptr[at]) : 0;
        if (!unit || unit >= smallest)
            return amount_wrong(text, "is not a duration: write 90s, 30m, 2h, 1h30m or 1d", err);
        at++;
        smallest = unit;
        if (value > (GOAL_MAX_AHEAD_MS - sum) / unit)
            return amount_wrong(text, "is more than a year", err);
        sum += value * unit;
        while (at < s.len && s.ptr[at] == ' ')
            at++;
    }
    if (at < s.len || !s.len)
        return amount_wrong(text, "is not a duration: write 90s, 30m, 2h, 1h30m or 1d", err);
    if (sum == 0)
        return amount_wrong(text, "is no time at all", err);
    *ret_ms = sum;
    return 0;
}

/* Exactly so many digits at *at, as a number between low and high. */
static bool take_field(struct str s, size_t *at, size_t count, int low, int high, int *ret)
{
    int value = 0;

    if (*at + count > s.len)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!is_digit(s.ptr[*at + i]))
            return false;
        value = value * 10 + (s.ptr[*at + i] - '0');
    }
    *at += count;
    *ret = value;
    return value >= low && value <= high;
}

static bool take_char(struct str s, size_t *at, const char *any_of)
{
    if (*at >= s.len || !s.ptr[*at] || !strchr(any_of, s.ptr[*at]))
        return false;
    ++*at;
    return true;
}

/* "08:00", "08:00:00", "08:00:00.5": the fraction is let go. */
static bool take_clock(struct str s, size_t *at, struct tm *tm)
{
    if (!take_field(s, at, 2, 0, 23, &tm->tm_hour) || !take_char(s, at, ":") ||
        !take_field(s, at, 2, 0, 59, &tm->tm_min))
        return false;
    tm->tm_sec = 0;
    if (!take_char(s, at, ":"))
        return true;
    if (!take_field(s, at, 2, 0, 59, &tm->tm_sec))
        return false;
    if (take_char(s, at, "."))
        while (*at < s.len && is_digit(s.ptr[*at]))
            ++*at;
    return true;
}

/* "Z", "+01:00", "-0530" to the end: how far the zone is ahead, in seconds. */
static bool take_zone(struct str s, size_t *at, int64_t *ret_ahead)
{
    int hours;
    int minutes;
    bool behind;

    if (take_char(s, at, "Zz")) {
        *ret_ahead = 0;
        return *at == s.len;
    }
    if (!take_char(s, at, "+-"))
        return false;
    behind = s.ptr[*at - 1] == '-';
    if (!take_field(s, at, 2, 0, 14, &hours))
        return false;
    take_char(s, at, ":");
    if (!take_field(s, at, 2, 0, 59, &minutes) || *at < s.len)
        return false;
    *ret_ahead = (behind ? -60 : 60) * (int64_t)(hours * 60 + minutes);
    return true;
}

/* A full date with its time. */
static bool read_date(struct str s, int64_t *ret_ms)
{
    struct tm tm = {.tm_isdst = -1};
    struct tm asked;
    size_t at = 0;
    int64_t ahead = 0;
    int64_t seconds;

    if (!take_field(s, &at, 4, 1970, 9999, &tm.tm_year) || !take_char(s, &at, "-") ||
        !take_field(s, &at, 2, 1, 12, &tm.tm_mon) || !take_char(s, &at, "-") ||
        !take_field(s, &at, 2, 1, 31, &tm.tm_mday) || !take_char(s, &at, "T ") ||
        !take_clock(s, &at, &tm))
        return false;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    asked = tm;
    if (at < s.len) {
        if (!take_zone(s, &at, &ahead))
            return false;
        seconds = timegm(&tm) - ahead;
    } else {
        seconds = mktime(&tm);
    }
    *ret_ms = seconds * 1000;
    /* The 31st of February is refused and not moved to March. */
    return asked.tm_year == tm.tm_year && asked.tm_mon == tm.tm_mon && asked.tm_mday == tm.tm_mday;
}

/* "18:30": today, or tomorrow when that is over. */
static bool read_clock(struct str s, int64_t now_ms, int64_t *ret_ms)
{
    time_t now = (time_t)(now_ms / 1000);
    size_t at = 0;
    struct tm tm;

    if (!localtime_r(&now, &tm))
        return false;
    tm.tm_isdst = -1;
    if (!take_clock(s, &at, &tm) || at < s.len)
        return false;
    *ret_ms = (int64_t)mktime(&tm) * 1000;
    if (*ret_ms <= now_ms) {
        tm.tm_mday++;
        tm.tm_isdst = -1;
        *ret_ms = (int64_t)mktime(&tm) * 1000;
    }
    return true;
}

int goal_read_deadline(struct str text, int64_t now_ms, int64_t *ret, struct err *err)
{
    struct str s = str_trim(text);
    int64_t at_ms;

    if (!read_date(s, &at_ms) && !read_clock(s, now_ms, &at_ms)) {
        if (str_chr(s, ':') < s.len)
            return amount_wrong(text, "is not a time: write 18:30 or 2026-11-16T08:00:00Z", err);
        if (goal_read_duration(s, &at_ms, err) < 0)
            return -1;
        at_ms += now_ms;
    }
    if (at_ms <= now_ms)
        return amount_wrong(text, "lies in the past", err);
    if (at_ms - now_ms > GOAL_MAX_AHEAD_MS)
        return amount_wrong(text, "is more than a year ahead", err);
    *ret = at_ms;
    return 0;
}
