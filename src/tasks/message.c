/*
 * Messages to agents: one that works reads it at its next step; one that has ended is resumed with
 * it, as what it was: its type, model and place are in its meta file.
 */
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "json/json.h"
#include "tasks/inside.h"

#define META_MAX ((size_t)4 << 20)

/* What an agent reads of another one. */
static void frame_message(struct agents *a, const struct identity *by, const char *to_owner,
                          struct str text, struct buf *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const char *from = by && by->agent ? by->agent : IDENTITY_MAIN;
    struct task_view v;

    if (!by) { /* the user */
        buf_add(ret, text);
        return;
    }
    if (strcmp(from, to_owner) == 0) {
        buf_adds(ret, "From the agent that started you:\n\n");
        buf_add(ret, text);
        return;
    }
    if (task_look(a->spec.tasks, str_of(from), &arena, &v) && v.name)
        from = v.name;
    buf_addf(ret, "<agent-message from=\"%s\">\n%.*s\n</agent-message>", from, STR_ARG(text));
}

static int read_meta(struct agents *a, const char *id, struct arena *arena, const struct json **ret,
                     struct err *err)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf text = BUF_INIT(META_MAX);

    if (!a->spec.folder)
        return err_set(err, ERR_UNSUPPORTED, "%s has ended, and the session keeps nothing on disk",
                       id);
    buf_addf(&path, "%s/subagents/agent-%s.jsonl", a->spec.folder, id);
    if (!file_exists(buf_cstr(&path)))
        return err_set(err, ERR_NOT_FOUND, "the conversation of %s is gone", id);
    buf_clear(&path);
    buf_addf(&path, "%s/subagents/agent-%s.meta.json", a->spec.folder, id);
    *ret = NULL;
    if (file_slurp(buf_cstr(&path), META_MAX, &text, /*err=*/NULL) == 0)
        (void)json_parse_copy(arena, buf_str(&text), ret, /*ret_info=*/NULL, /*err=*/NULL);
    return 0;
}

/* Of one that has ended, as its meta file has it. */
static struct run *run_again(struct agents *a, const struct identity *by, const struct task_view *v,
                             const struct json *meta, struct str text, struct err *err)
{
    struct run *r = mem_zalloc(sizeof(*r));
    struct str type = json_get_str(meta, "agentType");
    const char *tree;

    r->agents = a;
    r->refs = 2;
    r->by = identity_copy(&r->arena, by ? by : &(struct identity){.session = a->spec.session});
    r->by.agent = arena_cstr(&r->arena, str_of(v->owner));
    buf_init(&r->model_name, 1000);
    memcpy(r->id, v->id, strlen(v->id) + 1);
    r->description = arena_str(&r->arena, v->description);
    r->prompt = arena_str(&r->arena, text);
    r->tool_use_id = arena_str(&r->arena, v->tool_use_id);
    r->name = arena_str(&r->arena, str_of(v->name ? v->name : ""));
    r->model = arena_str(&r->arena, json_get_str(meta, "model"));
    r->mode = arena_str(&r->arena, json_get_str(meta, "permissionMode"));
    (void)effort_parse(json_get_str(meta, "effort"), &r->effort);
    r->types = agents_types(a);
    r->type = definitions_find(r->types, type.len ? type : STR("general-purpose"));
    r->depth = v->depth ? v->depth : 1;
    r->road = ROAD_BACKGROUND;
    r->resumes = true;
    r->is_away = true;
    r->output_file = arena_cstr(&r->arena, v->output_file);
    r->pool = (struct pool){POOL_BACKGROUND, r->type, r->depth < a->max_depth};
    tree = arena_cstr(&r->arena, json_get_str(meta, "worktreePath"));
    if (*tree && file_is_dir(tree)) {
        r->tree.path = tree;
        r->tree.branch = arena_cstr(&r->arena, json_get_str(meta, "worktreeBranch"));
        r->tree.base = arena_cstr(&r->arena, json_get_str(meta, "worktreeBase"));
        r->tree.root = tree;
    }
    if (!r->type)
        err_set(err, ERR_NOT_FOUND, "its type '%.*s' is gone", STR_ARG(str_clip(type, 64)));
    else if (json_get_bool(meta, "isFork", false))
        err_set(err, ERR_UNSUPPORTED, "it was a fork, and those are not resumed");
    else
        return r;
    r->refs = 1;
    run_unref(r);
    return NULL;
}

static int resume(struct agents *a, const struct identity *by, const struct task_view *v,
                  struct str text, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *meta;
    struct task_spec task = {
        .id = v->id,
        .kind = TASK_AGENT,
        .is_background = true,
        .depth = v->depth,
        .type = v->type,
        .name = v->name,
        .description = v->description,
        .prompt = text,
        .tool_use_id = v->tool_use_id,
        .output_file = v->output_file,
        .ops = &run_ops,
        .arg = a,
    };
    struct run *r;
    bool has_slot, is_closed;
    int rc = 0;

    if (read_meta(a, v->id, &arena, &meta, err) < 0)
        return -1;
    r = run_again(a, by, v, meta, text, err);
    if (!r)
        return -1;
    gate_take(&a->gate);
    is_closed = a->is_closed;
    if (!is_closed) {
        r->holds_slot = (int64_t)a->slots < a->max_running && !a->queue.len;
        a->slots += r->holds_slot;
        r->state = r->holds_slot ? RUN_STARTING : RUN_PENDING;
        vec_push(&a->runs, r);
        if (!r->holds_slot)
            vec_push(&a->queue, r);
    }
    has_slot = r->holds_slot;
    gate_give(&a->gate);
    if (is_closed) {
        r->refs = 1;
        run_unref(r);
        return err_set(err, ERR_CANCELLED, "the session ends");
    }
    task.is_pending = !has_slot;
    (void)task_begin_as(a->spec.tasks, v->owner, &task, /*err=*/NULL);
    if (has_slot)
        rc = run_launch(r, err);
    run_unref(r);
    return rc;
}

int agents_message(struct agents *a, const struct identity *by, struct str to, struct str text,
                   bool *ret_resumed, char ret_id[static TASK_ID_MAX + 1], struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf framed = BUF_INIT(2 * AGENTS_MAX_PROMPT);
    struct spawner *s = a->spec.spawner;
    struct task_view v;
    struct run *r;
    bool works = false;

    *ret_resumed = false;
    if (!task_look(a->spec.tasks, to, &arena, &v) || v.kind != TASK_AGENT)
        return err_set(err, ERR_NOT_FOUND, "there is no agent '%.*s'", STR_ARG(str_clip(to, 64)));
    memcpy(ret_id, v.id, strlen(v.id) + 1);
    frame_message(a, by, v.owner, text, &framed);
    gate_take(&a->gate);
    r = run_find(a, v.id);
    if (r)
        r->refs++;
    while (r && r->state != RUN_OVER && r->state != RUN_WORKING && !a->is_closed)
        gate_wait(&a->gate, /*deadline_ms=*/-1);
    works = r && r->state == RUN_WORKING;
    gate_give(&a->gate);
    if (works)
        works = s->send(s, v.id, buf_str(&framed), INPUT_NEXT, /*err=*/NULL) == 0;
    if (r)
        run_unref(r);
    if (works)
        return 0;
    *ret_resumed = true;
    return resume(a, by, &v, buf_str(&framed), err);
}
