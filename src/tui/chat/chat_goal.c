/*
 * Events of a goal: lines for those that change something, and what it waits for. The words are
 * goal/report/told.h's, the same as in a run without a screen. UI thread.
 */
#include "agent/event.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "goal/report/told.h"
#include "json/json.h"
#include "tui/chat/chat_state.h"

static const enum style_role roles[] = {
    [TOLD_PLAIN] = ROLE_GOAL,      [TOLD_FAINT] = ROLE_FAINT, [TOLD_GOOD] = ROLE_GOOD,
    [TOLD_WARNING] = ROLE_WARNING, [TOLD_BAD] = ROLE_BAD,
};

static void goal_waits(struct chat *c, const struct event *e, const struct json *v, int64_t now_ms)
{
    int64_t until = json_get_i64(v, "until_ms", 0);

    buf_clear(&c->wait);
    goal_told_wait(v, &c->wait);
    /* The event has both clocks: when it happened, and when it came. */
    c->wait_ms = until > 0 ? now_ms + (until - e->time_ms) : 0;
    if (c->plain) /* nothing moves there */
        chat_note(c, ROLE_GOAL, buf_str(&c->wait));
}

/* The same without signs that a terminal or a voice cannot do. */
static void in_letters(struct buf *text)
{
    static const struct {
        struct str sign;
        struct str letters;
    } rows[] = {
        {STR_INIT("✓ "), STR_INIT("")},   {STR_INIT("✗ "), STR_INIT("")},
        {STR_INIT("◎ "), STR_INIT("")},   {STR_INIT(" · "), STR_INIT(", ")},
        {STR_INIT("…"), STR_INIT("...")},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (size_t at = str_find(buf_str(text), rows[i].sign); at < text->len;
             at = str_find(buf_str(text), rows[i].sign)) {
            buf_cut(text, at, rows[i].sign.len);
            buf_insert(text, at, rows[i].letters);
        }
    }
}

/* The sign in front stands apart, so that further rows are below the words. */
static void goal_line(struct chat *c, enum style_role role, struct str text)
{
    static const char *const marks[] = {"✓ ", "✗ ", "◎ ", "! ", "? "};
    const char *mark = NULL;

    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        if (str_starts(text, str_of(marks[i])))
            mark = marks[i];
    }
    text = str_from(text, str_of(mark).len);
    (void)chat_add_text(c, ITEM_NOTE, role, mark, text);
}

void goal_event_shown(struct chat *c, const struct event *e, int64_t now_ms)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);
    enum told_tone tone = TOLD_PLAIN;
    const struct json *v = NULL;

    (void)json_parse(&arena, e->json, &v, /*ret_info=*/NULL, /*err=*/NULL);
    if (str_is(e->name, "goal_waiting"))
        goal_waits(c, e, v, now_ms);
    else
        buf_clear(&c->wait);
    c->told_verdict |= str_is(e->name, "goal_verdict");
    if (!goal_told(e->name, v, &text, &tone))
        return;
    buf_clear(&c->told_goal);
    buf_add(&c->told_goal, buf_str(&text));
    if (c->ascii || c->plain)
        in_letters(&text);
    goal_line(c, roles[tone], buf_str(&text));
}
