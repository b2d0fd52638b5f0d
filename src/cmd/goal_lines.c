/*
 * goal_lines: prints a goal's events for the user. Text from elsewhere (reasons, commands) passes
 * through goal/report/display.h, which removes control sequences. Main thread.
 */
#include "cmd/goal_lines.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "cmd/cmd.h"
#include "goal/goal.h"
#include "goal/report/display.h"
#include "goal/report/told.h"
#include "host/host.h"
#include "json/json.h"
#include "slash/slash.h"

#define LINES_MAX ((size_t)16 << 10)

#define BOLD "\033[1m"
#define DIM "\033[2m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define YELLOW "\033[33m"
#define PLAIN "\033[0m"

void goal_lines_init(struct goal_lines *l)
{
    *l = (struct goal_lines){.color = isatty(STDERR_FILENO)};
    buf_init(&l->wait, LINES_MAX);
}

void goal_lines_release(struct goal_lines *l)
{
    buf_release(&l->wait);
}

static void line_say(const struct goal_lines *l, const char *color, const struct buf *text)
{
    bool colored = l->color && *color;

    say_colored(colored ? color : "", colored ? PLAIN : "", "%.*s", STR_ARG(buf_str(text)));
}

/* ---- events ---- */

static void add_wait(const struct goal_lines *l, struct buf *out)
{
    int64_t left_ms = l->until_ms - clock_wall_ms();

    buf_add(out, buf_str(&l->wait));
    if (l->until_ms && left_ms > 0) {
        buf_adds(out, ", ");
        goal_show_elapsed((left_ms + 999) / 1000, out);
        buf_adds(out, " left");
    }
}

static void line_waiting(struct goal_lines *l, const struct json *v)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(LINES_MAX);

    l->until_ms = json_get_i64(v, "until_ms", 0);
    buf_clear(&l->wait);
    goal_told_wait(v, &l->wait);
    buf_adds(&text, "… ");
    add_wait(l, &text);
    line_say(l, YELLOW, &text);
}

/* Changes of status are reported at the end. */
static void line_told(struct goal_lines *l, const struct event *e, const struct json *v)
{
    static const char *const colors[] = {
        [TOLD_PLAIN] = "",       [TOLD_FAINT] = DIM, [TOLD_GOOD] = GREEN,
        [TOLD_WARNING] = YELLOW, [TOLD_BAD] = RED,
    };
    CLEANUP(buf_release) struct buf text = BUF_INIT(LINES_MAX);
    enum told_tone tone = TOLD_PLAIN;

    if (json_get(v, "to") || !goal_told(e->name, v, &text, &tone))
        return;
    line_say(l, colors[tone], &text);
}

void goal_lines_event(struct goal_lines *l, const struct event *e)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;

    (void)json_parse(&arena, e->json, &v, /*ret_info=*/NULL, /*err=*/NULL);
    if (str_is(e->name, "goal_waiting"))
        line_waiting(l, v);
    else if (str_is_word_of(e->name, "goal_verdict goal_updated goal_restored goal_cleared"))
        line_told(l, e, v);
}

void goal_lines_turn(struct goal_lines *l, bool runs)
{
    l->in_turn = runs;
    if (!runs || !l->wait.len)
        return;
    buf_clear(&l->wait);
    say_status("%s", "");
}

int64_t goal_lines_tick(struct goal_lines *l)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(LINES_MAX);
    int64_t left_ms = l->until_ms - clock_wall_ms();

    if (!l->wait.len || l->in_turn || !l->color)
        return -1;
    add_wait(l, &text);
    say_status("%s", buf_cstr(&text));
    if (!l->until_ms || left_ms <= 0)
        return -1;
    return clock_mono_ms() + (left_ms % 1000 ? left_ms % 1000 : 1000);
}

/* ---- the end ---- */

/* A word that may follow /goal where it means the command. */
static bool follows_goal(struct str rest)
{
    struct str word = str_first(rest, str_chr(rest, ' '));

    return str_starts(rest, STR("<")) || str_starts(rest, STR("--")) ||
           str_is_word_of(word, "resume pause clear edit budget check protect accept wait next "
                                "queue log report undo");
}

void goal_lines_as_command(struct buf *text, const char *session)
{
    static const struct str slash = STR_INIT("/goal ");
    static const struct str resume = STR_INIT("resume");

    for (size_t i = 0; i + slash.len < text->len; i++) {
        struct str rest = str_from(buf_str(text), i);
        bool begins = i == 0 || strchr(" (\"\n", text->ptr[i - 1]);

        if (!begins || !str_starts(rest, slash) || !follows_goal(str_from(rest, slash.len)))
            continue;
        CLEANUP(buf_release) struct buf with = BUF_INIT(100);
        struct str verb = str_from(rest, slash.len);

        if (str_starts(verb, resume)) {
            buf_addf(&with, "tenax goal --resume %.8s", session);
            buf_cut(text, i, slash.len + resume.len);
        } else { /* of this session, whichever is the newest by then */
            bool goes_on =
                str_is_word_of(str_first(verb, str_chr(verb, ' ')), "budget accept edit");

            buf_adds(&with, "tenax goal ");
            if (goes_on)
                buf_addf(&with, "--session %.8s ", session);
            buf_cut(text, i, slash.len);
        }
        buf_insert(text, i, buf_str(&with));
    }
}

static void add_figures(const struct store_goal *g, struct buf *out)
{
    int64_t turns = g->iterations + (g->status == GOAL_COMPLETE);

    if (turns)
        buf_addf(out, " · %" PRId64 " turn%s", turns, turns == 1 ? "" : "s");
    buf_adds(out, " · ");
    goal_show_elapsed(g->time_used_seconds, out);
    buf_adds(out, " · ");
    goal_show_tokens(g->tokens_used, out);
    buf_adds(out, " tokens");
    if (g->cost_usd > 0) {
        buf_adds(out, " · ");
        goal_show_usd(g->cost_usd, out);
    }
    if (g->cost_unknown)
        buf_adds(out, g->cost_usd > 0 ? " and more (not all prices are known)" : "");
}

void goal_lines_end(struct cmd *c, struct host *host)
{
    struct goal_lines l = {.color = isatty(STDERR_FILENO)};
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(LINES_MAX);
    const char *file = args_get(&c->args, OPT_REPORT);
    struct goal_ending ending;
    struct store_goal g;
    bool complete;

    if (!goal_ending(host_goal(host), &arena, &ending))
        return;
    complete = ending.status == GOAL_COMPLETE;
    buf_addf(&text, "%s goal %s", complete ? "✓" : "✗", goal_show_status(ending.status));
    if (goal_get(host_goal(host), &arena, &g, /*err=*/NULL) > 0)
        add_figures(&g, &text);
    else
        g = (struct store_goal){.status = GOAL_ACTIVE};
    line_say(&l, complete ? BOLD GREEN : BOLD YELLOW, &text);
    buf_clear(&text);
    goal_show_stop(&g, &text);
    if (!text.len && ending.reason.len) /* the row could not be written */
        buf_addf(&text, "Stopped: %.*s. Fix this, then use /goal resume.", STR_ARG(ending.reason));
    goal_lines_as_command(&text, host_session(host));
    if (text.len && !complete)
        line_say(&l, "", &text);
    buf_clear(&text);
    if (file)
        buf_addf(&text, "report: %s", file);
    else
        buf_addf(&text, "report: tenax goal report --session %.8s", host_session(host));
    line_say(&l, DIM, &text);
}
