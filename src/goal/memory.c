/*
 * What a goal must not forget, as JSON in its row. Unknown or damaged parts read as nothing: at
 * worst a guard counts from the beginning again.
 */
#include "base/arena.h"
#include "goal/goal_state.h"
#include "json/json.h"
#include "json/jw.h"

void memory_init(struct goal_memory *m)
{
    *m = (struct goal_memory){
        .blocker = BUF_INIT(1 << 12),
        .criteria = BUF_INIT(64 << 10),
    };
}

void memory_release(struct goal_memory *m)
{
    strv_release(&m->seen);
    strv_release(&m->shown);
    strv_release(&m->held);
    strv_release(&m->changed);
    buf_release(&m->blocker);
    buf_release(&m->criteria);
}

void memory_write(const struct goal_memory *m, struct buf *ret)
{
    struct jw w;

    jw_init(&w, ret, 0);
    jw_object(&w);
    jw_ki64(&w, "round", m->round);
    jw_ki64(&w, "stalls", m->stalls);
    jw_key(&w, "seen");
    jw_array(&w);
    for (size_t i = 0; i < m->seen.len; i++)
        jw_cstr(&w, m->seen.ptr[i]);
    jw_array_end(&w);
    jw_key(&w, "shown");
    jw_array(&w);
    for (size_t i = 0; i < m->shown.len; i++)
        jw_cstr(&w, m->shown.ptr[i]);
    jw_array_end(&w);
    jw_key(&w, "held");
    jw_array(&w);
    for (size_t i = 0; i < m->held.len; i++)
        jw_cstr(&w, m->held.ptr[i]);
    jw_array_end(&w);
    jw_key(&w, "changed");
    jw_array(&w);
    for (size_t i = 0; i < m->changed.len; i++)
        jw_cstr(&w, m->changed.ptr[i]);
    jw_array_end(&w);
    jw_ki64(&w, "blockers", m->blockers);
    jw_ki64(&w, "blocker_round", m->blocker_round);
    jw_kstr(&w, "blocker", buf_str(&m->blocker));
    jw_ki64(&w, "judge_unread", m->judge_unread);
    jw_ki64(&w, "judge_down", m->judge_down);
    jw_ki64(&w, "retries", m->retries);
    jw_ki64(&w, "quota_waits", m->quota_waits);
    jw_ki64(&w, "lost_turns", m->lost_turns);
    jw_kbool(&w, "told_limit", m->told_limit);
    jw_kbool(&w, "wrapped_up", m->wrapped_up);
    jw_ki64(&w, "warned", m->warned);
    if (m->criteria.len)
        jw_kraw(&w, "criteria", buf_str(&m->criteria));
    jw_object_end(&w);
}

void memory_read(struct str json, struct goal_memory *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;

    if (!json.len || json_parse(&arena, json, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    ret->round = json_get_i64(v, "round", 0);
    ret->stalls = (int)json_get_i64(v, "stalls", 0);
    JSON_EACH(json_get(v, "seen"), it) {
        strv_add(&ret->seen, json_str(it));
    }
    JSON_EACH(json_get(v, "shown"), it) {
        strv_add(&ret->shown, json_str(it));
    }
    JSON_EACH(json_get(v, "held"), it) {
        strv_add(&ret->held, json_str(it));
    }
    JSON_EACH(json_get(v, "changed"), it) {
        strv_add(&ret->changed, json_str(it));
    }
    ret->blockers = (int)json_get_i64(v, "blockers", 0);
    ret->blocker_round = json_get_i64(v, "blocker_round", 0);
    buf_add(&ret->blocker, json_get_str(v, "blocker"));
    ret->judge_unread = (int)json_get_i64(v, "judge_unread", 0);
    ret->judge_down = (int)json_get_i64(v, "judge_down", 0);
    ret->retries = (int)json_get_i64(v, "retries", 0);
    ret->quota_waits = (int)json_get_i64(v, "quota_waits", 0);
    ret->lost_turns = (int)json_get_i64(v, "lost_turns", 0);
    ret->told_limit = json_get_bool(v, "told_limit", false);
    ret->wrapped_up = json_get_bool(v, "wrapped_up", false);
    ret->warned = (unsigned)json_get_i64(v, "warned", 0);
    if (json_is(json_get(v, "criteria"), JSON_ARRAY))
        buf_add(&ret->criteria, json_raw(json_get(v, "criteria")));
}
