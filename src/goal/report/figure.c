/*
 * figure: numbers and lines of a goal as people see them (display.h). Whole numbers all the way, so
 * that 999,950 is 1M and not 1000K. Any thread.
 */
#include "base/buf.h"
#include "base/utf8.h"
#include "goal/report/display.h"

void goal_show_elapsed(int64_t seconds, struct buf *ret)
{
    int64_t minutes = seconds / 60;
    int64_t hours = minutes / 60;

    if (seconds < 60)
        buf_addf(ret, "%llds", (long long)(seconds < 0 ? 0 : seconds));
    else if (minutes < 60)
        buf_addf(ret, "%lldm", (long long)minutes);
    else if (hours >= 24)
        buf_addf(ret, "%lldd %lldh %lldm", (long long)(hours / 24), (long long)(hours % 24),
                 (long long)(minutes % 60));
    else if (minutes % 60)
        buf_addf(ret, "%lldh %lldm", (long long)hours, (long long)(minutes % 60));
    else
        buf_addf(ret, "%lldh", (long long)hours);
}

void goal_show_tokens(int64_t n, struct buf *ret)
{
    static const char letters[] = "KMBT";
    uint64_t value = n < 0 ? 0 : (uint64_t)n;
    uint64_t unit = 1000;
    uint64_t tenths = 0;
    size_t i = 0;

    if (value < 1000) {
        buf_addf(ret, "%u", (unsigned)value);
        return;
    }
    for (;; i++, unit *= 1000) {
        tenths = (value + unit / 20) / (unit / 10);
        if (tenths < 10000 || i + 2 == sizeof(letters))
            break;
    }
    buf_addf(ret, "%llu", (unsigned long long)(tenths / 10));
    if (tenths % 10)
        buf_addf(ret, ".%u", (unsigned)(tenths % 10));
    buf_addc(ret, letters[i]);
}

void goal_show_usd(double usd, struct buf *ret)
{
    double shown = usd > 0 ? usd : 0; /* a NaN, too */

    if (shown == 0)
        buf_adds(ret, "$0");
    else if (shown < 0.0001)
        buf_adds(ret, "<$0.0001");
    else if (shown < 0.01)
        buf_addf(ret, "$%.4f", shown);
    else
        buf_addf(ret, "$%.2f", shown > 1e15 ? 1e15 : shown);
}

const char *goal_show_status(enum goal_status s)
{
    switch (s) {
    case GOAL_ACTIVE:
        return "active";
    case GOAL_PAUSED:
        return "paused";
    case GOAL_BLOCKED:
        return "blocked";
    case GOAL_USAGE_LIMITED:
        return "usage limited";
    case GOAL_BUDGET_LIMITED:
        return "budget limited";
    case GOAL_COMPLETE:
        return "complete";
    case GOAL_STATUS_COUNT:
        break;
    }
    return "unknown";
}

/* Without what could move a cursor. */
static void show_text(struct str text, struct buf *ret)
{
    while (text.len) {
        uint32_t code = 0;
        size_t n = utf8_decode(text, &code);

        if (n == 0)
            buf_adds(ret, "\xef\xbf\xbd"); /* U+FFFD for invalid bytes */
        else if (code < 0x20 || (code >= 0x7f && code < 0xa0))
            buf_addc(ret, ' ');
        else
            buf_add(ret, str_first(text, n));
        text = str_from(text, n ? n : 1);
    }
}

void goal_show_line(struct str text, size_t max, struct buf *ret)
{
    struct str rest = str_trim(text);
    struct str line = STR("");
    struct str item = STR("");
    struct str shown;

    str_cut(&rest, '\n', &line);
    line = str_trim(line);
    if (str_ends(line, STR(":"))) {
        str_cut(&rest, '\n', &item);
        item = str_trim(item);
        if (str_starts(item, STR("- ")))
            item = str_from(item, 2);
    }
    shown = str_clip(line, max);
    show_text(shown, ret);
    if (shown.len == line.len && item.len && line.len + 1 < max) {
        buf_addc(ret, ' ');
        shown = str_clip(item, max - line.len - 1);
        line = item;
        show_text(shown, ret);
    }
    if (shown.len < line.len)
        buf_adds(ret, "…");
}

bool goal_limit_is_reached(const struct store_goal *g, int64_t now_ms, enum goal_limit *ret)
{
    int64_t now = now_ms ? now_ms : g->updated_at_ms;

    if (g->token_budget && g->tokens_used >= g->token_budget)
        *ret = LIMIT_TOKENS;
    else if (g->max_cost_usd > 0 && g->cost_usd >= g->max_cost_usd)
        *ret = LIMIT_COST;
    else if (g->max_turns && g->steps >= g->max_turns)
        *ret = LIMIT_TURNS;
    else if (g->deadline_ms && now >= g->deadline_ms)
        *ret = LIMIT_DEADLINE;
    else
        return false;
    return true;
}
