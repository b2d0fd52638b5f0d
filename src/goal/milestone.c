/*
 * Verified steps: where more holds by a verdict than by the one before, the state of the workspace
 * stays reachable for git, so that the way to the goal can be bisected.
 */
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "goal/goal_state.h"
#include "json/json.h"
#include "json/jw.h"

#define STEP_LINE 200 /* bytes of a command or a criterion in the message */

static void add_line(struct buf *ret, const char *what, struct str text)
{
    text = str_trim(text);
    if (ret)
        buf_addf(ret, "%s: %.*s\n", what,
                 STR_ARG(str_clip(str_first(text, str_chr(text, '\n')), STEP_LINE)));
}

/* Checks are run up to the first that fails: later ones count as failed. */
static void look_at_checks(struct goal *g, const struct ladder *l, struct buf *ret_new)
{
    struct strv held = STRV_INIT;

    VEC_EACH(&l->checks, it) {
        char hash[SHA256_HEX + 1];

        if (!it->passed)
            continue;
        sha256_hex(buf_str(&it->command), hash);
        hash[GOAL_STATE_HEX] = '\0';
        strv_adds(&held, hash);
        if (!strv_has(&g->memory.held, str_of(hash)))
            add_line(ret_new, "check holds", buf_str(&it->command));
    }
    strv_release(&g->memory.held);
    g->memory.held = held;
}

static bool is_met(const struct json *criterion)
{
    return criterion && str_is(json_get_str(criterion, "state"), "met");
}

/* By their place, as rounds are compared (stall.c). A verdict without any says nothing new. */
static void look_at_criteria(const struct goal *g, const struct ladder *l, struct buf *ret_new)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *was = NULL, *now = NULL;
    size_t i = 0;

    if (!l->criteria.len || json_parse(&arena, buf_str(&l->criteria), &now, NULL, NULL) < 0)
        return;
    if (g->memory.criteria.len)
        (void)json_parse(&arena, buf_str(&g->memory.criteria), &was, NULL, NULL);
    JSON_EACH(now, it) {
        if (is_met(it) && !is_met(json_at(was, i)))
            add_line(ret_new, "criterion met", json_get_str(it, "text"));
        i++;
    }
}

void milestone_look(struct goal *g, const struct ladder *l, struct buf *ret_new)
{
    look_at_checks(g, l, ret_new);
    look_at_criteria(g, l, ret_new);
}

static void note_milestone(struct goal *g, const struct ladder *l, const char *ref)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(GOAL_MAX_EVENT);
    struct jw w;

    jw_init(&w, &data, 0);
    jw_object(&w);
    jw_kcstr(&w, "ref", ref);
    jw_kstr(&w, "why", str_clip(buf_str(&l->step), 1 << 10));
    jw_object_end(&w);
    goal_enter(g);
    if (g->has && str_is(g->row.goal_id, l->goal_id))
        goal_note(g, "step", buf_str(&data));
    goal_leave(g);
}

void milestone_keep(struct goal *g, const struct ladder *l)
{
    struct baseline b = goal_baseline(g);
    char commit[GIT_ID];
    char ref[BASELINE_REF];
    struct err err = {0};
    bool has_git;

    goal_enter(g);
    has_git = g->row.baseline.len > 0;
    goal_leave(g);
    if (!has_git || !l->step.len)
        return;
    if (baseline_keep_next(&b, "step", buf_str(&l->step), g->spec.cancel, commit, ref, &err) < 0)
        log_debug("goal", "the step is not kept: %s", err.text);
    else
        note_milestone(g, l, ref);
}
