/*
 * The current activity, in one line that moves:
 *
 *     ⠹ Running Bash (12 s · 1.2K tokens · Esc to interrupt)
 *
 * What it says is what the events say, and no more: a retry is called a retry, a wait a wait. UI
 * thread.
 */
#include <inttypes.h>

#include "base/mem.h"
#include "goal/report/display.h"
#include "tui/chat/chat_state.h"
#include "tui/chat/hanging.h"
#include "tui/chat/tool_view.h"

#define STATUS_SPIN_MS 100
#define STATUS_HOOK_MS 400 /* a hook that takes this long is worth a word */
#define STATUS_BYTES_PER_TOKEN 4
#define STATUS_TOKENS 10 /* fewer are not worth a figure */

/* Seconds until then, rounded the way users count. */
static int64_t seconds_to(int64_t then_ms, int64_t now_ms)
{
    return then_ms > now_ms ? (then_ms - now_ms + 999) / 1000 : 0;
}

static void say_calls(const struct chat *c, struct buf *ret)
{
    size_t n;
    const struct chat_call *first = calls_running(c, &n);

    if (n == 1)
        buf_addf(ret, "Running %s", first->name);
    else if (n)
        buf_addf(ret, "Running %zu calls", n);
    else
        buf_adds(ret, "Waiting for the model"); /* all have ended, its answer has not */
}

static void say_retry(const struct chat *c, int64_t now_ms, struct buf *ret)
{
    int64_t left = seconds_to(c->retry_ms, now_ms);

    /* First what changes and what one waits for: messages of servers are long. */
    buf_adds(ret, "Retrying");
    if (left > 0)
        buf_addf(ret, " in %" PRId64 " s", left);
    if (c->max_tries)
        buf_addf(ret, "%sattempt %d of %d", c->ascii ? ", " : " · ", c->attempt, c->max_tries);
}

static void say_doing(const struct chat *c, int64_t now_ms, struct buf *ret)
{
    if (c->hook.len && now_ms - c->hook_ms >= STATUS_HOOK_MS) {
        buf_add(ret, buf_str(&c->hook));
        return;
    }
    if (c->active.len && c->doing != DOING_CALLS && c->doing != DOING_RETRY &&
        c->doing != DOING_COMPACT && c->doing != DOING_JUDGE) {
        buf_add(ret, buf_str(&c->active));
        return;
    }
    switch (c->doing) {
    case DOING_WAIT:
        buf_adds(ret, "Waiting for the model");
        break;
    case DOING_READ:
        buf_addf(ret, "Reading the prompt: %d %%",
                 (int)(100.0 * (double)c->processed / (double)(c->total ? c->total : 1)));
        break;
    case DOING_THINK:
        buf_adds(ret, "Thinking");
        break;
    case DOING_ANSWER:
        buf_adds(ret, "Answering");
        break;
    case DOING_INPUT:
        buf_addf(ret, "Preparing %s",
                 c->calls.len ? c->calls.ptr[c->calls.len - 1].name : "a call");
        break;
    case DOING_CALLS:
        say_calls(c, ret);
        break;
    case DOING_RETRY:
        say_retry(c, now_ms, ret);
        break;
    case DOING_COMPACT:
        buf_adds(ret, "Compacting the conversation");
        break;
    case DOING_JUDGE:
        buf_adds(ret, c->has_goal ? "Checking whether the goal is met" : "Finishing");
        break;
    }
}

static void say_figures(const struct chat *c, int64_t now_ms, struct buf *ret)
{
    int64_t tokens = c->tokens + (int64_t)(c->bytes / STATUS_BYTES_PER_TOKEN);
    const char *dot = c->ascii ? ", " : " · ";

    buf_adds(ret, " (");
    tool_view_elapsed(now_ms - c->turn_ms - c->asked_ms, ret);
    if (tokens >= STATUS_TOKENS) {
        buf_adds(ret, dot);
        goal_show_tokens(tokens, ret);
        buf_adds(ret, " tokens");
    }
    buf_addf(ret, "%sEsc to %s)", dot, c->is_agent ? "go back" : "interrupt");
}

static const char *status_mark(const struct chat *c, int64_t now_ms)
{
    static const char *const dots[] = {"⠋ ", "⠙ ", "⠹ ", "⠸ ", "⠼ ", "⠴ ", "⠦ ", "⠧ ", "⠇ ", "⠏ "};
    static const char *const bars[] = {"| ", "/ ", "- ", "\\ "};
    uint64_t n = (uint64_t)now_ms / STATUS_SPIN_MS;

    if (c->plain)
        return "";
    if (c->needs_person)
        return c->ascii ? "? " : "◆ ";
    return c->ascii ? bars[n % ARRAY_LEN(bars)] : dots[n % ARRAY_LEN(dots)];
}

/* A goal rests until something happens. */
static void draw_wait(const struct chat *c, const struct view *v, struct lines *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 15);
    CLEANUP(hanging_release) struct hanging h = {0};

    buf_add(&text, buf_str(&c->wait));
    if (c->wait_ms > v->now_ms) {
        buf_adds(&text, ", ");
        tool_view_elapsed(1000 * seconds_to(c->wait_ms, v->now_ms), &text);
        buf_adds(&text, " left");
    }
    lines_end(ret);
    hanging_init(&h, ret, v->cols, STYLE(ROLE_GOAL),
                 c->plain   ? ""
                 : c->ascii ? "... "
                            : "… ",
                 /*rest=*/NULL);
    h.cut = true;
    h.ascii = v->ascii;
    hanging_put(&h, STYLE(ROLE_GOAL), buf_str(&text));
    hanging_end(&h);
}

void chat_status_draw(const struct chat *c, const struct view *v, struct lines *ret)
{
    CLEANUP(buf_release) struct buf doing = BUF_INIT(1 << 15);
    CLEANUP(buf_release) struct buf figures = BUF_INIT(200);
    CLEANUP(hanging_release) struct hanging h = {0};

    if (!c->busy) {
        if (c->wait.len)
            draw_wait(c, v, ret);
        return;
    }
    if (c->needs_person)
        buf_adds(&doing, "Waiting for your answer");
    else
        say_doing(c, v->now_ms, &doing);
    if (!c->needs_person)
        say_figures(c, v->now_ms, &figures);
    lines_end(ret);
    hanging_init(&h, ret, v->cols, STYLE(ROLE_ACCENT), status_mark(c, v->now_ms), /*rest=*/NULL);
    h.cut = true;
    h.ascii = v->ascii;
    hanging_put(&h, STYLE(c->doing == DOING_RETRY ? ROLE_WARNING : ROLE_ACCENT), buf_str(&doing));
    hanging_put(&h, STYLE(ROLE_FAINT), buf_str(&figures));
    if (c->doing == DOING_RETRY && !c->needs_person) {
        hanging_puts(&h, ROLE_FAINT, c->ascii ? ": " : " · ");
        hanging_put(&h, STYLE(ROLE_WARNING), buf_str(&c->retry));
    }
    hanging_end(&h);
}

int64_t status_due(const struct chat *c, int64_t now_ms)
{
    int64_t left = c->wait_ms - now_ms;

    if (c->busy)
        return c->needs_person ? -1 : now_ms + STATUS_SPIN_MS - now_ms % STATUS_SPIN_MS;
    if (c->wait.len && c->wait_ms && left > 0)
        return now_ms + (left % 1000 ? left % 1000 : 1000);
    return -1;
}
