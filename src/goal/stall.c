/*
 * Rounds that change nothing. Only effects count: the state of the workspace, which checks pass,
 * which criteria are met, and what tools have shown, figures aside, that none had shown before. A
 * state that was there before is no progress either: going back and forth ends, too. The goal is
 * held.
 *
 * A round ends with a stop, or with a claim that is refused: of the claims between two stops each
 * but the first counts. An agent that neither stops nor claims is looked at every STRETCH calls of
 * the model: they led somewhere when a tool has shown something new since the last stop, or when
 * the workspace is as it was not before. Looks that find neither count like rounds. Answers whose
 * tools can have no effect (todo lists, questions, plans, refused and unreadable calls) are looked
 * at sooner.
 */
#include <string.h>

#include "base/clock.h"
#include "goal/goal_state.h"
#include "goal/prompt.h"
#include "json/json.h"
#include "json/jw.h"

#define STALL_STRATEGY 3
#define STALL_FRESH 5
#define STALL_BLOCKED 8
#define STRETCH 10       /* calls of the model between two looks */
#define STRETCH_IDLE 3   /* what an answer counts whose tools can have no effect */
#define STRETCH_SEEN 256 /* things that are remembered of a stretch */
#define EFFECT_TEXT ((size_t)16 << 10)

/* Which of them are met, by their place: the judge keeps the list, but not always its words. */
static void criteria_met(struct str json, struct buf *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;

    if (!json.len || json_parse(&arena, json, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    JSON_EACH(v, it) {
        buf_addc(ret, str_is(json_get_str(it, "state"), "met") ? '1' : '0');
    }
}

static void stall_fingerprint(const struct ladder *l, char ret[static SHA256_HEX + 1])
{
    CLEANUP(buf_release) struct buf all = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&all, "%s\n", l->state);
    VEC_EACH(&l->checks, it) {
        buf_addf(&all, "%s %d\n", buf_cstr(&it->command), it->code);
    }
    VEC_EACH(&l->objections, it) {
        buf_addf(&all, "%s %s\n", objection_name(it->what), it->path);
    }
    criteria_met(buf_str(&l->criteria), &all);
    sha256_hex(buf_str(&all), ret);
}

/* Remembers the beginning of a hash, and forgets the oldest; true: it is new. */
static bool seen_add(struct strv *seen, size_t max, const char *hash)
{
    struct str state = {hash, GOAL_STATE_HEX};
    struct strv kept = STRV_INIT;

    if (strv_has(seen, state))
        return false;
    for (size_t i = seen->len >= max; i < seen->len; i++)
        strv_adds(&kept, seen->ptr[i]);
    strv_add(&kept, state);
    strv_release(seen);
    *seen = kept;
    return true;
}

int stall_round(struct goal *g, const struct ladder *l)
{
    struct goal_memory *m = &g->memory;
    char print[SHA256_HEX + 1];
    bool is_new;

    stall_fingerprint(l, print);
    is_new = seen_add(&m->seen, GOAL_SEEN, print) || g->has_shown;
    g->has_shown = false;
    m->stalls = is_new ? 0 : m->stalls + 1;
    return m->stalls;
}

/* ---- What it leads to ---- */

static void note_stall(struct goal *g, int stalls, const char *action)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 10);
    struct jw w;

    goal_tell_begin(g, &w, &data);
    jw_ki64(&w, "count", stalls);
    jw_kcstr(&w, "action", action);
    jw_object_end(&w);
    goal_note(g, "stall", buf_str(&data));
}

/* The last commands, for the summary of the fresh start. */
static void what_was_tried(const struct goal *g, struct buf *ret)
{
    size_t from = g->items.len > 8 ? g->items.len - 8 : 0;

    for (size_t i = from; i < g->items.len; i++) {
        struct str input = str_clip(str_of(g->items.ptr[i].input), 160);

        buf_addf(ret, "- %s %.*s%s\n", g->items.ptr[i].tool, STR_ARG(input),
                 g->items.ptr[i].is_error ? " (failed)" : "");
    }
}

int stall_act(struct goal *g, int stalls, const char *what, struct buf *say, bool *ret_fresh,
              struct buf *keep, struct buf *why)
{
    CLEANUP(buf_release) struct buf tried = BUF_INIT(16 << 10);
    struct goal_words words = goal_words_now(g);

    if (stalls < STALL_STRATEGY)
        return 1;
    what_was_tried(g, &tried);
    if (stalls >= STALL_BLOCKED) {
        note_stall(g, stalls, "blocked");
        buf_addf(why, "stalled: nothing has changed for %d %s.", stalls, what);
        if (g->row.last_reason.len)
            buf_addf(why, " Last verdict: %.*s", STR_ARG(str_clip(g->row.last_reason, 2000)));
        if (tried.len)
            buf_addf(why, "\nLast tried:\n%.*s", STR_ARG(buf_str(&tried)));
        (void)goal_set_status(g, GOAL_BLOCKED, 1u << GOAL_ACTIVE, buf_str(why), "engine",
                              /*err=*/NULL);
        return 0;
    }
    if (stalls == STALL_STRATEGY) {
        note_stall(g, stalls, "strategy");
        if (say->len)
            buf_addc(say, '\n');
        goal_prompt_strategy(&words, buf_str(&tried), say);
    }
    if (stalls == STALL_FRESH) {
        note_stall(g, stalls, "fresh");
        *ret_fresh = true;
        goal_prompt_fresh(&words, keep);
    }
    return 1;
}

/* Two ways to say the same: case, digits and punctuation do not count. */
static void normalise(struct str text, struct buf *ret)
{
    bool gap = false;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if ((c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80) {
            if (gap && ret->len)
                buf_addc(ret, ' ');
            buf_addc(ret, c);
            gap = false;
        } else {
            gap = true;
        }
    }
}

/* ---- What tools show ---- */

/* The words of a call, as a tool could print them. */
static void words_of(struct str input, struct buf *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;

    if (json_parse(&arena, input, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    JSON_EACH(v, it) {
        normalise(json_str(it), ret);
        buf_addc(ret, '\n');
    }
}

/* A hash of what a tool has shown; false: that is nothing. What the call said itself is wording,
 * and a file that was written counts by its content. */
static bool shown_print(const struct referee_tool *t, char ret[static SHA256_HEX + 1])
{
    CLEANUP(buf_release) struct buf words = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf shown = BUF_INIT(BUF_NO_LIMIT);

    normalise(str_clip(t->text, EFFECT_TEXT), &shown);
    words_of(str_clip(t->input, EFFECT_TEXT), &words);
    if (t->changed_file || !shown.len || str_has(buf_str(&words), buf_str(&shown)))
        return false;
    sha256_hex(buf_str(&shown), ret);
    return true;
}

/* ---- Calls without a stop ---- */

void stall_effect(struct goal *g, const struct referee_tool *t)
{
    char print[SHA256_HEX + 1];

    g->stretch.tools++;
    /* A call that asks the referee or the user, or keeps a list, leads nowhere. */
    if (!t->ran || t->flags & (TOOL_REFEREE | TOOL_PERSON) || str_is(t->name, "TodoWrite"))
        return;
    g->stretch.tools_act = true;
    g->refused.is_stale = true;
    if (t->is_error || !shown_print(t, print))
        return;
    if (seen_add(&g->stretch.seen, STRETCH_SEEN, print))
        g->stretch.is_new = true;
    if (seen_add(&g->memory.shown, GOAL_SHOWN, print))
        g->has_shown = true;
}

void stall_stop(struct goal *g)
{
    strv_clear(&g->stretch.seen);
    g->stretch.calls = g->stretch.stalls = 0;
    g->stretch.is_new = false;
    g->stretch.claims = 0;
}

/* ---- Claims that are refused ---- */

/* The goal is held. l: the verdict; NULL: the one before still holds. */
void stall_claim(struct goal *g, const struct ladder *l)
{
    if (++g->stretch.claims == 1)
        return; /* the stop that follows it counts */
    if (l)
        (void)stall_round(g, l);
    else
        g->memory.stalls++;
    g->stretch.claim_counts = true;
    (void)goal_remember(g, /*err=*/NULL);
}

/* The goal is held. True: the calls since the last look have shown nothing new. */
static bool stretch_is_over(struct goal *g)
{
    struct goal_stretch *s = &g->stretch;
    bool was_new = s->is_new;
    bool is_idle = s->tools && !s->tools_act;

    s->tools = 0;
    s->tools_act = false;
    if (!goal_is_active(g) || goal_in_plan_mode(g) || !str_is(g->row.goal_id, g->turn_goal))
        return false;
    s->calls += is_idle ? STRETCH_IDLE : 1;
    if (s->calls <= STRETCH)
        return false;
    s->calls = 1; /* the one that is about to be made */
    s->is_new = false;
    if (was_new)
        s->stalls = 0;
    return !was_new;
}

int stall_call(struct goal *g, struct referee_call *ret)
{
    char state[SHA256_HEX + 1] = "unknown";
    int r = 1;

    goal_enter(g);
    if (g->stretch.claim_counts && goal_is_active(g)) {
        g->stretch.claim_counts = false;
        r = stall_act(g, g->memory.stalls, "claims", &ret->say, &ret->fresh, &ret->keep, &ret->why);
        goal_leave(g);
        return !r;
    }
    r = stretch_is_over(g);
    goal_leave(g);
    if (!r)
        return 0;
    (void)ladder_content(g, g->spec.cancel, state, /*err=*/NULL);
    goal_enter(g);
    g->stretch.stalls = seen_add(&g->stretch.seen, STRETCH_SEEN, state) ? 0 : g->stretch.stalls + 1;
    r = !goal_is_active(g) || stall_act(g, g->stretch.stalls, "looks in one turn", &ret->say,
                                        &ret->fresh, &ret->keep, &ret->why);
    goal_leave(g);
    return !r;
}

int stall_blocker(struct goal *g, struct str reason)
{
    struct goal_memory *m = &g->memory;
    CLEANUP(buf_release) struct buf same = BUF_INIT(1 << 12);

    normalise(str_clip(reason, 1 << 11), &same);
    if (!m->blockers || !str_eq(buf_str(&same), buf_str(&m->blocker)) ||
        m->round > m->blocker_round + 1)
        m->blockers = 0;
    if (!m->blockers || m->round != m->blocker_round)
        m->blockers++;
    m->blocker_round = m->round;
    buf_clear(&m->blocker);
    buf_add(&m->blocker, buf_str(&same));
    return m->blockers;
}
