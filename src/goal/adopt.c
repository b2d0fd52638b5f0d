/*
 * A session goes on: the goal's row is the truth, and the transcript's newest goal_status its
 * shadow.
 *
 * Missing lines are appended. Only when the store does not know the session (another machine, a
 * copied file) is a row made from the transcript: a goal that was cleared never comes
 * back. A fork gets its own unfinished goal, paused and with nothing used.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "conf/conf.h"
#include "goal/draft.h"
#include "goal/goal_state.h"
#include "goal/report/display.h"
#include "json/json.h"
#include "json/jw.h"

/* What the transcript says. */
struct anchor {
    bool is_there, met;
    bool has_terms; /* written by tenax, which kept its terms, too */
    struct str condition;
    struct arena arena;
};

static void anchor_read(struct str json, struct anchor *ret)
{
    const struct json *v = NULL;

    *ret = (struct anchor){.is_there = false};
    if (!json.len || json_parse_copy(&ret->arena, json, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    if (json_is(json_get(v, "attachment"), JSON_OBJECT))
        v = json_get(v, "attachment");
    ret->condition = str_trim(json_get_str(v, "condition"));
    ret->met = json_get_bool(v, "met", true);
    ret->is_there = ret->condition.len > 0;
    ret->has_terms = ret->is_there && !ret->met && json_get_str(v, "terms").len;
}

int goal_adopt_parts(struct goal *g, struct strv *ret_notes)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;
    struct str file;
    char sha256[SHA256_HEX + 1];

    memory_release(&g->memory);
    memory_init(&g->memory);
    memory_read(g->row.memory, &g->memory);
    strv_clear(&g->memory.seen); /* states are relative to the first look of a process */
    buf_clear(&g->text);
    goal_options_release(&g->options);
    g->options = (struct goal_options){0};
    if (!g->row.options.len ||
        json_parse(&arena, g->row.options, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return 0;
    (void)goal_options_read(json_raw(json_get(v, "how")), &g->options, /*err=*/NULL);
    g->tokens_at_start = json_get_i64(v, "tokens_at_start", 0);
    file = json_get_str(v, "file");
    if (!file.len)
        return 0;
    if (file_slurp(arena_cstr(&arena, file), 1 << 20, &g->text, /*err=*/NULL) == 0) {
        sha256_hex(buf_str(&g->text), sha256);
        if (str_is(json_get_str(v, "sha256"), sha256))
            return 0;
    }
    buf_clear(&g->text);
    strv_addf(ret_notes, "the goal's text in %.*s is gone or was changed, so the goal is paused",
              STR_ARG(file));
    return -1;
}

static void adopt_parts_or_pause(struct goal *g, struct strv *ret_notes)
{
    if (goal_adopt_parts(g, ret_notes) < 0)
        (void)goal_set_status(g, GOAL_PAUSED, 1u << GOAL_ACTIVE, STR("the goal's text was changed"),
                              "engine", /*err=*/NULL);
}

/* A row from what another machine wrote. */
static void adopt_anchor(struct goal *g, const struct anchor *a, struct strv *ret_notes)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(draft_release) struct draft d;
    struct goal_event event = {
        .time_ms = clock_wall_ms(),
        .kind = STR("restored"),
        .data = STR("{\"from\":\"transcript\"}"),
    };
    struct store_goal row = {
        .thread_id = str_of(g->spec.session),
        .objective = a->condition,
        .status = GOAL_ACTIVE,
        .phase = STR("working"),
        .max_turns = GOAL_MAX_TURNS,
    };
    struct store_goal landed = {0};
    struct err err = {0};

    draft_init(&d);
    row.goal_id = event.goal_id = str_of(d.goal_id);
    if (draft_refer(g, &d, a->condition))
        row.options = buf_str(&d.options);
    if (goal_count_points(a->condition) > GOAL_MAX_OBJECTIVE)
        row.objective = str_clip(a->condition, GOAL_MAX_OBJECTIVE);
    if (store_goal_replace(g->store, &row, event.time_ms, &event, &arena, &landed, g->spec.cancel,
                           &err) < 0) {
        strv_addf(ret_notes, "the goal of this transcript could not be restored: %s", err.text);
        return;
    }
    goal_take_row(g, &landed);
    g->tokens_at_start = g->session_output;
    adopt_parts_or_pause(g, ret_notes);
}

/* Its condition is known and nothing else: it rests until the user has said what holds. */
static void adopt_lost(struct goal *g, const struct anchor *a, struct strv *ret_notes)
{
    if (!a->is_there || a->met)
        return;
    adopt_anchor(g, a, ret_notes);
    if (g->has)
        (void)goal_set_status(g, GOAL_PAUSED, 1u << GOAL_ACTIVE, buf_str(&g->lost), "engine",
                              /*err=*/NULL);
}

static bool store_knows(struct goal *g, const char *session)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    goal_event_vec events = {0};
    bool knows;

    knows = store_goal_events(g->store, str_of(session), STR(""), /*after=*/0, /*max=*/1, &arena,
                              &events, g->spec.cancel, /*err=*/NULL) < 0 ||
            events.len;
    vec_release(&events);
    return knows;
}

static void adopt_fork_paused(struct goal *g, struct strv *ret_notes)
{
    if (goal_is_active(g))
        (void)goal_set_status(g, GOAL_PAUSED, 1u << GOAL_ACTIVE, STR("the session was forked"),
                              "user", /*err=*/NULL);
    goal_attach(g, /*met=*/false, /*sentinel=*/true, STR(""), /*achieved=*/false);
    strv_adds(ret_notes, "the goal was copied and is paused here; /goal resume works on it");
}

/* A separate copy of the origin. One that cannot be trusted stays as it is; the next verdict
 * reports that. */
static void fork_protect(struct goal *g, struct store_goal *row, struct buf *column)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(mem_freep) char *folder = goal_folder(g, arena_cstr(&arena, row->goal_id));
    CLEANUP(mem_freep) char *owner = NULL;
    const struct json *v = NULL;
    struct origin *o = NULL;

    if (!row->protect.len || json_parse(&arena, row->protect, &v, /*ret_info=*/NULL, NULL) < 0 ||
        origin_read(arena_cstr(&arena, json_get_str(v, "manifest")), g->spec.environ,
                    json_get_str(v, "sha256"), &o, /*err=*/NULL) < 0)
        return;
    origin_move(o, folder);
    owner = path_join(folder, "session");
    if (file_mkdirs(folder, 0700, /*err=*/NULL) == 0 &&
        file_replace(owner, str_of(g->spec.session), 0600, /*err=*/NULL) == 0 &&
        goal_write_origin(o, column, /*err=*/NULL) == 0)
        row->protect = buf_str(column);
    origin_free(o);
}

/* The file of a long text is copied, too. */
static void fork_text(struct goal *g, struct store_goal *row, struct buf *objective,
                      struct buf *options)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(DRAFT_MAX_OBJECTIVE);
    const struct json *v = NULL;
    const char *code = "";
    char sha256[SHA256_HEX + 1];

    if (!row->options.len || json_parse(&arena, row->options, &v, /*ret_info=*/NULL, NULL) < 0 ||
        !json_get(v, "file") ||
        file_slurp(arena_cstr(&arena, json_get_str(v, "file")), DRAFT_MAX_OBJECTIVE, &text,
                   /*err=*/NULL) < 0)
        return;
    sha256_hex(buf_str(&text), sha256);
    if (!str_is(json_get_str(v, "sha256"), sha256) ||
        goal_reword(g, row->options, buf_str(&text), /*may_keep=*/true, objective, options, &code,
                    /*err=*/NULL) < 0)
        return;
    row->objective = buf_str(objective);
    row->options = buf_str(options);
}

/* Another session's unfinished goal, copied. */
static void adopt_fork(struct goal *g, const struct anchor *a, struct strv *ret_notes)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf protect = BUF_INIT(GOAL_MAX_TEXT);
    CLEANUP(buf_release) struct buf objective = BUF_INIT(GOAL_MAX_TEXT);
    CLEANUP(buf_release) struct buf options = BUF_INIT(GOAL_MAX_TEXT);
    struct store_goal row = {0}, landed = {0};
    struct goal_event event = {.time_ms = clock_wall_ms(), .kind = STR("set")};
    char goal_id[ID_UUID_LEN + 1];
    struct err err = {0};

    if (a->is_there && !a->met && (!g->spec.forked_from || !store_knows(g, g->spec.forked_from))) {
        adopt_anchor(g, a, ret_notes);
        if (g->has)
            adopt_fork_paused(g, ret_notes);
        return;
    }
    if (!g->spec.forked_from ||
        store_goal_get(g->store, str_of(g->spec.forked_from), &arena, &row, g->spec.cancel, &err) <=
            0 ||
        row.status == GOAL_COMPLETE)
        return;
    id_uuid(goal_id);
    row.thread_id = str_of(g->spec.session);
    row.goal_id = str_of(goal_id);
    row.status = GOAL_PAUSED;
    row.phase = row.phase_detail = row.last_reason = row.memory = STR("");
    event.goal_id = row.goal_id;
    event.data = STR("{\"via\":\"fork\"}");
    fork_protect(g, &row, &protect);
    fork_text(g, &row, &objective, &options);
    if (store_goal_replace(g->store, &row, event.time_ms, &event, &arena, &landed, g->spec.cancel,
                           &err) < 0) {
        strv_addf(ret_notes, "the goal was not copied: %s", err.text);
        return;
    }
    goal_take_row(g, &landed);
    (void)goal_adopt_parts(g, ret_notes);
    adopt_fork_paused(g, ret_notes);
}

/* Appends the lines that the transcript lacks. */
static void adopt_lines(struct goal *g, const struct anchor *a)
{
    bool unfinished = g->row.status != GOAL_COMPLETE;

    if (unfinished && (!a->is_there || a->met || !str_eq(a->condition, g->row.objective)))
        goal_attach(g, /*met=*/false, /*sentinel=*/true, STR(""), /*achieved=*/false);
    if (!unfinished && a->is_there && !a->met)
        goal_attach(g, /*met=*/true, /*sentinel=*/false, g->row.last_reason, /*achieved=*/true);
}

static void adopt_wait(struct goal *g)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;
    struct wait w = WAIT_INIT;

    if (g->row.phase_detail.len)
        (void)json_parse(&arena, g->row.phase_detail, &v, /*ret_info=*/NULL, /*err=*/NULL);
    if ((!str_is(g->row.phase, "waiting") && !str_is(g->row.phase, "retrying")) ||
        wait_read(json_raw(json_get(v, "wait")), &w, /*err=*/NULL) < 0 || w.on == WAIT_BACKGROUND) {
        wait_release(&w); /* what ran in the background ended with its process */
        return;
    }
    goal_wait_for(g, &w, str_is(g->row.phase, "waiting") ? "waiting" : "retrying", /*err=*/NULL);
}

/* Whether a resumed session asks before it works: in a terminal unless the settings decide; without
 * one only if the settings want it. */
static bool goal_rests(const struct goal *g)
{
    struct str how = conf_get_str(g->spec.conf, "goal.onResume");

    return how.len ? !str_is(how, "auto") : g->spec.is_interactive;
}

/* What a resumed session does with an active goal. */
static void adopt_active(struct goal *g, struct strv *ret_notes)
{
    const char *code = "";
    struct err err = {0};
    bool rests = goal_rests(g);
    bool is_gone = !file_is_dir(g->spec.dir);

    if (goal_gate(g, &code, &err) < 0) {
        strv_addf(ret_notes, "the session's goal is not taken up (%s): %s", code, err.text);
        g->has = false; /* unarmed; row and transcript stay for better times */
        g->barred = true;
        return;
    }
    if (is_gone)
        strv_addf(ret_notes, "the goal is paused: the folder %s is gone", g->spec.dir);
    if (rests || is_gone) {
        (void)goal_set_status(g, GOAL_PAUSED, 1u << GOAL_ACTIVE, STR("the session was resumed"),
                              "resume", &err);
        g->asks = !is_gone && g->spec.is_interactive && goal_rests(g) &&
                  !str_is(conf_get_str(g->spec.conf, "goal.onResume"), "paused");
        if (!g->asks) /* the question says the same */
            strv_adds(ret_notes, "the session has a goal, which is paused; /goal resume continues");
        return;
    }
    g->spec.host.arm(g->spec.host.arg, g->row.objective);
    g->continuation_due = true;
    adopt_wait(g);
    goal_note(g, "restored", STR("{\"from\":\"store\"}"));
}

/* The process ended between a complete goal and the next one of the queue. */
static void adopt_next(struct goal *g, struct strv *ret_notes)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    goal_next_vec list = {0};

    if (store_goal_next_list(g->store, str_of(g->spec.session), &arena, &list, g->spec.cancel,
                             /*err=*/NULL) == 0 &&
        list.len) {
        g->next_due = !goal_rests(g);
        if (!g->next_due)
            strv_adds(ret_notes, "another goal waits in the queue; /goal resume begins it");
    }
    vec_release(&list);
}

/* No store is created only to find it empty. */
static bool store_is_there(const struct goal *g)
{
    CLEANUP(mem_freep) char *path = path_join(g->spec.home, "state.db");

    return file_exists(path);
}

void goal_adopt(struct goal *g, struct strv *ret_notes)
{
    struct anchor a;
    struct err err = {0};
    bool was_there;

    anchor_read(g->spec.anchor, &a);
    if (!a.is_there && !g->spec.terms.len && !store_is_there(g)) {
        arena_release(&a.arena);
        return;
    }
    if (goal_read_row(g, &err) < 0) {
        strv_addf(ret_notes, "cannot read the session's goal: %s", err.text);
        arena_release(&a.arena);
        return;
    }
    if (g->spec.is_outside) {
        if (g->spec.terms.len)
            terms_adopt(g, /*anchor_has_terms=*/false, ret_notes);
        if (g->has)
            (void)goal_adopt_parts(g, ret_notes);
        if (g->has)
            terms_are_kept(g);
        arena_release(&a.arena);
        return;
    }
    if (!g->spec.is_fork)
        terms_adopt(g, a.has_terms && !store_knows(g, g->spec.session), ret_notes);
    was_there = g->has;
    if (!g->has && g->spec.is_fork)
        adopt_fork(g, &a, ret_notes);
    else if (!g->has && g->lost.len)
        adopt_lost(g, &a, ret_notes);
    else if (!g->has && a.is_there && !a.met && !store_knows(g, g->spec.session))
        adopt_anchor(g, &a, ret_notes);
    else if (!g->has && a.is_there && !a.met) {
        g->row.objective = a.condition; /* cleared, but that was not written any more */
        goal_attach(g, /*met=*/true, /*sentinel=*/true, STR(""), /*achieved=*/false);
        g->row.objective = STR("");
    }
    if (g->has && was_there) {
        adopt_parts_or_pause(g, ret_notes);
        adopt_lines(g, &a);
    }
    if (goal_is_active(g)) {
        adopt_active(g, ret_notes);
    } else if (g->has && g->row.status == GOAL_COMPLETE && was_there) {
        adopt_next(g, ret_notes);
    } else if (g->has && was_there) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 12);

        goal_show_stop(&g->row, &text);
        strv_addf(ret_notes, "the session's goal is %s. %.*s", goal_show_status(g->row.status),
                  STR_ARG(buf_str(&text)));
    }
    g->restored = g->has && g->row.status != GOAL_COMPLETE;
    arena_release(&a.arena);
}
