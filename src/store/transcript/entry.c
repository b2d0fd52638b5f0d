/*
 * The kinds of lines and their shared fields. Pure functions.
 */
#include "store/transcript/entry.h"

#include <stdio.h>
#include <time.h>

#include "json/jw.h"

static const struct {
    const char *name;
    bool is_link;
} kinds[] = {
#define X(id, name, link) {name, link},
    ENTRY_KINDS(X)
#undef X
        {"", false},
};

const char *entry_kind_name(enum entry_kind kind)
{
    return kinds[kind].name;
}

enum entry_kind entry_kind_of(struct str name)
{
    for (int i = 0; i < ENTRY_OTHER; i++) {
        if (str_is(name, kinds[i].name))
            return (enum entry_kind)i;
    }
    return ENTRY_OTHER;
}

bool entry_kind_is_link(enum entry_kind kind)
{
    return kinds[kind].is_link;
}

void entry_begin(struct jw *w, const struct entry_head *head, enum entry_kind kind, struct str uuid,
                 struct str parent, int64_t time_ms)
{
    char time[25];

    jw_object(w);
    jw_key(w, "parentUuid");
    if (parent.len)
        jw_str(w, parent);
    else
        jw_null(w);
    jw_kbool(w, "isSidechain", head->agent_id.len > 0);
    if (head->agent_id.len)
        jw_kstr(w, "agentId", head->agent_id);
    jw_kcstr(w, "userType", "external");
    jw_kstr(w, "cwd", head->cwd);
    jw_kstr(w, "sessionId", head->session);
    jw_kstr(w, "version", head->version);
    if (head->branch.len)
        jw_kstr(w, "gitBranch", head->branch);
    if (head->entrypoint.len)
        jw_kstr(w, "entrypoint", head->entrypoint);
    jw_kcstr(w, "type", entry_kind_name(kind));
    jw_kstr(w, "uuid", uuid);
    entry_time(time_ms, time);
    jw_kcstr(w, "timestamp", time);
}

void entry_begin_fact(struct jw *w, enum entry_kind kind)
{
    jw_object(w);
    jw_kcstr(w, "type", entry_kind_name(kind));
}

static void put_digits(char *to, size_t count, int n)
{
    for (; count; n /= 10)
        to[--count] = (char)('0' + n % 10);
}

/* Every line and every row of a list has one or two: written digit by digit, not by printf(). */
void entry_time(int64_t time_ms, char out[static 25])
{
    time_t seconds = (time_t)(time_ms / 1000);
    struct tm tm;

    if (time_ms < 0 || !gmtime_r(&seconds, &tm) || tm.tm_year > 9999 - 1900) {
        seconds = 0;
        time_ms = 0;
        gmtime_r(&seconds, &tm);
    }
    memcpy(out, "0000-00-00T00:00:00.000Z", 25);
    put_digits(out, 4, tm.tm_year + 1900);
    put_digits(out + 5, 2, tm.tm_mon + 1);
    put_digits(out + 8, 2, tm.tm_mday);
    put_digits(out + 11, 2, tm.tm_hour);
    put_digits(out + 14, 2, tm.tm_min);
    put_digits(out + 17, 2, tm.tm_sec);
    put_digits(out + 20, 3, (int)(time_ms % 1000));
}

/* So many digits as a number; -1 when one is none. */
static int digits(const char *at, int n)
{
    int value = 0;

    for (int i = 0; i < n; i++) {
        if (at[i] < '0' || at[i] > '9')
            return -1;
        value = value * 10 + (at[i] - '0');
    }
    return value;
}

int64_t entry_time_parse(struct str text)
{
    struct tm tm = {0};
    int64_t seconds;
    int ms = 0;

    if (text.len < 20 || text.ptr[4] != '-' || text.ptr[7] != '-' || text.ptr[10] != 'T' ||
        text.ptr[13] != ':' || text.ptr[16] != ':' || text.ptr[text.len - 1] != 'Z')
        return -1;
    tm.tm_year = digits(text.ptr, 4) - 1900;
    tm.tm_mon = digits(text.ptr + 5, 2) - 1;
    tm.tm_mday = digits(text.ptr + 8, 2);
    tm.tm_hour = digits(text.ptr + 11, 2);
    tm.tm_min = digits(text.ptr + 14, 2);
    tm.tm_sec = digits(text.ptr + 17, 2);
    if (text.len >= 24 && text.ptr[19] == '.')
        ms = digits(text.ptr + 20, 3);
    if (tm.tm_year < 0 || tm.tm_mon < 0 || tm.tm_mday < 1 || tm.tm_hour < 0 || tm.tm_min < 0 ||
        tm.tm_sec < 0 || ms < 0)
        return -1;
    seconds = timegm(&tm);
    return seconds < 0 ? -1 : seconds * 1000 + ms;
}
