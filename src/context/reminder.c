/*
 * reminder: the words of everything said to the model on the side. Pure text in, text out; any
 * thread.
 */
#include "context/reminder.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "json/json.h"

#define REMINDER_MAX_TODOS ((size_t)16 << 10) /* bytes of the list that are repeated */

#define PLAN_ON                                                                                    \
    "Plan mode is on. Explore and think, and change nothing: do not edit or write files, do not "  \
    "run commands that change anything, do not commit. "
#define PLAN_HOLDS "This holds until the plan is accepted, regardless of earlier messages."

static const char plan_on[] =
    PLAN_ON "Read the code the task is about, settle open questions (AskUserQuestion), then call "
            "ExitPlanMode with a plan: what will change and where, in which order, and how it will "
            "be verified. " PLAN_HOLDS;
static const char plan_off[] =
    "Plan mode is off. You may change files and run commands again; carry out the agreed plan.";

/* File names and what programs print may be any bytes; what goes out is UTF-8. */
static void reminder_clean(struct buf *ret, struct str text)
{
    while (text.len) {
        size_t valid = utf8_valid_len(text);

        buf_add(ret, str_first(text, valid));
        if (valid < text.len)
            buf_adds(ret, "\xef\xbf\xbd");
        text = str_from(text, valid + 1);
    }
}

/* Appends text with every "<system-reminder" and "</system-reminder" of it made harmless. */
static void reminder_defuse(struct buf *ret, struct str text)
{
    for (;;) {
        size_t at = str_find_nocase(text, STR("system-reminder"));
        bool is_tag;

        if (at == text.len) {
            reminder_clean(ret, text);
            return;
        }
        is_tag = at && (text.ptr[at - 1] == '<' || text.ptr[at - 1] == '/');
        reminder_clean(ret, str_first(text, at));
        if (is_tag)
            buf_addc(ret, '\\');
        buf_add(ret, str_make(text.ptr + at, strlen("system-reminder")));
        text = str_from(text, at + strlen("system-reminder"));
    }
}

void reminder_add(struct buf *ret, struct str text)
{
    text = str_trim(text);
    if (!text.len)
        return;
    if (ret->len && ret->ptr[ret->len - 1] != '\n')
        buf_addc(ret, '\n');
    buf_adds(ret, "<system-reminder>\n");
    reminder_defuse(ret, text);
    buf_adds(ret, "\n</system-reminder>\n");
}

static void add_own_plan(struct buf *ret, struct str steps)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT); /* its parts are bounded */

    buf_addf(&text, PLAN_ON "\n\n%.*s\n\nThen call ExitPlanMode with the plan. " PLAN_HOLDS,
             STR_ARG(str_trim(steps)));
    reminder_add(ret, buf_str(&text));
}

void reminder_plan(struct buf *ret, bool was_on, bool is_on, struct str steps)
{
    if (was_on == is_on)
        return;
    if (!is_on)
        reminder_add(ret, str_of(plan_off));
    else if (str_trim(steps).len)
        add_own_plan(ret, steps);
    else
        reminder_add(ret, str_of(plan_on));
}

void reminder_todos(struct buf *ret, struct str json)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(REMINDER_MAX_TODOS + 256);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *todos;

    if (json_parse(&arena, json, &todos, NULL, NULL) < 0 || !json_len(todos))
        return;
    buf_adds(&text, "Your list (TodoWrite) as it stands; keep it true, and do not mention this:");
    JSON_EACH(todos, todo) {
        struct str status = json_get_str(todo, "status");
        struct str content = json_get_str(todo, "content");

        if (text.len + content.len > REMINDER_MAX_TODOS)
            break;
        buf_addf(&text, "\n%s %.*s",
                 str_is(status, "completed")     ? "[x]"
                 : str_is(status, "in_progress") ? "[>]"
                                                 : "[ ]",
                 STR_ARG(content));
    }
    reminder_add(ret, buf_str(&text));
}

void reminder_date(struct buf *ret, struct str date)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&text, "The date has changed: today is %.*s.", STR_ARG(date));
    reminder_add(ret, buf_str(&text));
}

/* The first max bytes, without a partial line if possible. */
static struct str file_part(struct str text, size_t max)
{
    struct str part = str_clip(text, max);
    size_t end = part.len;

    if (part.len == text.len)
        return text;
    while (end && part.ptr[end - 1] != '\n')
        end--;
    return end ? str_first(part, end) : part;
}

bool reminder_file(struct buf *ret, const char *path, struct str all, size_t max)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT); /* limited by max */
    struct str part = file_part(all, max);

    buf_addf(&text, "%s, which you have looked at before, as it is now", path);
    if (part.len < all.len)
        buf_addf(&text, " (the first %zu of %zu bytes; Read shows the rest)", part.len, all.len);
    buf_adds(&text, ":\n");
    buf_add(&text, part);
    reminder_add(ret, buf_str(&text));
    return part.len < all.len;
}
