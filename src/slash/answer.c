/*
 * answer: helpers of commands for output, questions and saving settings. The commands' thread.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "agent/task.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/strv.h"
#include "base/utf8.h"
#include "conf/setting.h"
#include "host/host.h"
#include "json/jw.h"
#include "slash/answer.h"
#include "tasks/agents.h"
#include "tools/background.h"

/* ---- Said ---- */

static const char *const inks[] = {
    [INK_PLAIN] = "",  [INK_BOLD] = "1",     [INK_FAINT] = "2",
    [INK_RED] = "31",  [INK_GREEN] = "32",   [INK_YELLOW] = "33",
    [INK_BLUE] = "34", [INK_MAGENTA] = "35", [INK_CYAN] = "36",
};

void slash_say(struct slash_call *call, enum ink ink, struct str text)
{
    buf_add(&call->text, text);
    if (ink == INK_PLAIN || !text.len) {
        buf_add(&call->color, text);
        return;
    }
    buf_addf(&call->color, "\x1b[%sm", inks[ink]);
    buf_add(&call->color, text);
    buf_adds(&call->color, "\x1b[0m");
}

PRINTF_LIKE(3, 0)
static void say_v(struct slash_call *call, enum ink ink, const char *fmt, va_list args)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(SLASH_MAX_TEXT);

    buf_addv(&text, fmt, args);
    slash_say(call, ink, buf_str(&text));
}

void slash_sayf(struct slash_call *call, enum ink ink, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say_v(call, ink, fmt, args);
    va_end(args);
}

void slash_fact(struct slash_call *call, const char *label, const char *fmt, ...)
{
    va_list args;

    slash_sayf(call, INK_BOLD, "%-12s", label);
    va_start(args, fmt);
    say_v(call, INK_PLAIN, fmt, args);
    va_end(args);
    slash_say(call, INK_PLAIN, STR("\n"));
}

/* ---- Read ---- */

void slash_words(struct str text, struct strv *ret)
{
    size_t i = 0;

    while (i < text.len) {
        CLEANUP(buf_release) struct buf word = BUF_INIT(SLASH_MAX_TEXT);
        char quote = 0;
        bool any = false;

        for (; i < text.len; i++) {
            char c = text.ptr[i];

            if (quote ? c == quote : c == '"' || c == '\'') {
                quote = quote ? 0 : c;
                any = true;
                continue;
            }
            if (!quote && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
                i++;
                break;
            }
            buf_addc(&word, c);
            any = true;
        }
        if (any)
            strv_add(ret, buf_str(&word));
    }
}

/* ---- Saved ---- */

int slash_save(struct slash_call *call, const char *key, const struct str *value, struct err *err)
{
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;

    if (setting_write_user(host_conf(call->host), key, value, &warnings, err) < 0)
        return -1;
    host_reload(call->host);
    for (size_t i = 0; i < warnings.len; i++)
        slash_sayf(call, INK_YELLOW, "Note: %s.\n", warnings.ptr[i]);
    return 0;
}

int slash_save_text(struct slash_call *call, const char *key, struct str value, struct err *err)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(SLASH_MAX_TEXT);
    struct str text;
    struct jw w;

    jw_init(&w, &json, 0);
    jw_str(&w, value);
    text = buf_str(&json);
    return slash_save(call, key, &text, err);
}

/* ---- Asked ---- */

int slash_pick(struct slash_call *call, const struct pick *p, size_t *ret, struct err *err)
{
    return call->front->pick(call->front->arg, p, call->cancel, ret, err);
}

int slash_choose(struct slash_call *call, const char *title, const char *const *labels,
                 size_t count, size_t *ret, struct err *err)
{
    struct choice choices[8] = {0};
    struct pick p = {.look = PICK_LIST, .title = str_of(title), .choices = choices};

    for (p.count = 0; p.count < count && p.count < ARRAY_LEN(choices); p.count++)
        choices[p.count].label = str_of(labels[p.count]);
    return slash_pick(call, &p, ret, err);
}

/* ---- Leaving ---- */

static void stop_command(void *arg, const struct background_row *row)
{
    struct host *h = arg;
    CLEANUP(buf_release) struct buf was_over = BUF_INIT(1000);

    if (!task_is_over(row->status))
        (void)background_kill(host_workspace(h), str_of(row->id), &was_over, /*err=*/NULL);
}

static bool count_member(void *arg, const struct task_view *v)
{
    size_t *count = arg;

    *count += v->kind == TASK_TEAMMATE && v->state == TASK_RUNNING; /* one that waits is idle */
    return true;
}

size_t slash_count_workers(struct host *h)
{
    size_t count = task_running(
        host_tasks(h), TASK_BIT(TASK_AGENT) | TASK_BIT(TASK_WORKFLOW) | TASK_BIT(TASK_REMOTE),
        /*owner=*/NULL, /*background=*/true);

    task_each(host_tasks(h), count_member, &count);
    return count;
}

int slash_stop_work(struct slash_call *call, struct err *err)
{
    static const char *const answers[] = {"Stay here", "Stop them"};
    size_t n = slash_count_workers(call->host);
    char title[100];
    size_t chosen;

    snprintf(title, sizeof(title), "%zu agent%s still work%s in the background", n,
             n == 1 ? "" : "s", n == 1 ? "s" : "");
    if (n && call->front) {
        if (slash_choose(call, title, answers, ARRAY_LEN(answers), &chosen, err) < 0)
            return -1;
        if (chosen == 0)
            return err_set(err, ERR_CANCELLED, "Cancelled. The agents work on");
    }
    if (n)
        (void)agents_stop_background(host_agents(call->host));
    if (!call->front) /* else they end with the session */
        (void)background_each(host_workspace(call->host), stop_command, call->host);
    return 0;
}

/* ---- Figures ---- */

void slash_add_count(struct buf *out, int64_t n)
{
    if (n < 10000)
        buf_addf(out, "%" PRId64, n);
    else if (n < 1000000)
        buf_addf(out, "%.1fk", (double)n / 1000);
    else
        buf_addf(out, "%.2fM", (double)n / 1000000);
}

void slash_add_age(struct buf *out, int64_t time_ms)
{
    int64_t minutes = (clock_wall_ms() - time_ms) / 60000;

    if (minutes < 1)
        buf_adds(out, "now");
    else if (minutes < 60)
        buf_addf(out, "%" PRId64 "m ago", minutes);
    else if (minutes < 48 * 60)
        buf_addf(out, "%" PRId64 "h ago", minutes / 60);
    else
        buf_addf(out, "%" PRId64 "d ago", minutes / (24 * 60));
}

void slash_add_line(struct buf *out, struct str text, size_t max_chars)
{
    struct str rest = str_trim(text);
    size_t chars = 0;

    rest = str_first(rest, str_chr(rest, '\n'));
    for (; rest.len && chars < max_chars; chars++) {
        uint32_t code = 0;
        size_t len = utf8_decode(rest, &code);

        if (!len || code < 0x20 || (code >= 0x7f && code < 0xa0) || utf8_turns_text(code))
            buf_addc(out, ' ');
        else
            buf_add(out, str_first(rest, len));
        rest = str_from(rest, len ? len : 1);
    }
    if (rest.len)
        buf_adds(out, "…");
}
