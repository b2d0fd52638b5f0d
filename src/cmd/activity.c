/*
 * What tools do, shown while they do it. One line when a call begins; when it ends, what changed:
 * the lines of a diff, the end of a command's output, the reason of a failure. Main thread.
 */
#include "cmd/activity.h"

#include <unistd.h>

#include "agent/event.h"
#include "agent/tool_about.h"
#include "base/arena.h"
#include "base/buf.h"
#include "cmd/cmd.h"
#include "json/json.h"

#define ACTIVITY_ABOUT 100 /* bytes of a call's input that are shown */
#define ACTIVITY_LINE 160  /* bytes of a line of output or diff */
#define ACTIVITY_DIFF 12   /* lines of a diff */
#define ACTIVITY_OUTPUT 6  /* lines of a command's output */
#define ACTIVITY_MAX ((size_t)64 << 10)

#define DIM "\033[2m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define PLAIN "\033[0m"

void activity_init(struct activity *a, bool verbose, const char *dir)
{
    a->color = isatty(STDERR_FILENO);
    a->shown = a->color || verbose;
    a->dir = dir;
}

static void activity_line(const struct activity *a, const char *color, const char *lead,
                          struct str text)
{
    say_colored(a->color ? color : "", a->color ? PLAIN : "", "%s%.*s%s", lead,
                STR_ARG(str_clip(text, ACTIVITY_LINE)), text.len > ACTIVITY_LINE ? "…" : "");
}

void activity_started(const struct activity *a, const struct event *e)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf line = BUF_INIT(ACTIVITY_MAX);
    const struct json *input = NULL;
    struct str about;

    if (!a->shown)
        return;
    (void)json_parse(&arena, e->json, &input, /*ret_info=*/NULL, /*err=*/NULL);
    about = tool_about(input, a->dir);
    buf_addf(&line, "%.*s", STR_ARG(str_clip(e->name, 60)));
    if (about.len)
        buf_addf(&line, " %.*s%s", STR_ARG(str_clip(about, ACTIVITY_ABOUT)),
                 about.len > ACTIVITY_ABOUT  ? "…"
                 : tool_about_goes_on(input) ? " …"
                                             : "");
    activity_line(a, DIM, "• ", buf_str(&line));
}

/* The first changed lines of a structured patch. */
static void activity_diff(const struct activity *a, const struct json *patch)
{
    size_t shown = 0;
    size_t more = 0;

    JSON_EACH(patch, hunk) {
        JSON_EACH(json_get(hunk, "lines"), line) {
            struct str text = json_str(line);

            if (!text.len || (text.ptr[0] != '+' && text.ptr[0] != '-'))
                continue;
            if (shown++ < ACTIVITY_DIFF)
                activity_line(a, text.ptr[0] == '+' ? GREEN : RED, "  ", text);
            else
                more++;
        }
    }
    if (more) {
        char text[64];

        snprintf(text, sizeof(text), "  … %zu more changed lines", more);
        activity_line(a, DIM, "", str_of(text));
    }
}

/* The last lines of a text. */
static void activity_tail(const struct activity *a, struct str text)
{
    size_t from = str_trim(text).len ? text.len : 0;
    size_t lines = 0;
    struct str rest;
    struct str line;

    while (from && (text.ptr[from - 1] == '\n' || text.ptr[from - 1] == ' '))
        from--;
    text = str_first(text, from);
    while (from > 0) {
        if (text.ptr[from - 1] == '\n' && ++lines == ACTIVITY_OUTPUT)
            break;
        from--;
    }
    rest = str_from(text, from);
    while (rest.len) {
        str_cut(&rest, '\n', &line);
        activity_line(a, DIM, "  ", line);
    }
}

void activity_done(const struct activity *a, const struct event *e)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *data = NULL;
    const struct json *patch;

    if (!a->shown)
        return;
    (void)json_parse(&arena, e->data, &data, /*ret_info=*/NULL, /*err=*/NULL);
    patch = json_get(data, "structuredPatch");
    if (!e->is_error && patch)
        activity_diff(a, patch);
    else if (e->is_error || str_is(e->name, "Bash"))
        activity_tail(a, e->text);
}
