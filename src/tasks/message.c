/*
 * Messages to agents. A working agent reads it at its next step; one that has ended is resumed with
 * the type, model and place in its meta file.
 */
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "conf/conf.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "sync/cancel.h"
#include "tasks/agents_state.h"

#define META_MAX ((size_t)4 << 20)
#define LATE_MAX                                                                                   \
    (AGENTS_MAX_PROMPT - 4096) /* limit of a prompt together with messages that came later */

/* Frames a message for its receiver. */
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
        return err_set(err, ERR_NOT_FOUND, "the conversation of %s no longer exists", id);
    buf_clear(&path);
    buf_addf(&path, "%s/subagents/agent-%s.meta.json", a->spec.folder, id);
    *ret = NULL;
    if (file_slurp(buf_cstr(&path), META_MAX, &text, /*err=*/NULL) == 0)
        (void)json_parse_copy(arena, buf_str(&text), ret, /*ret_info=*/NULL, /*err=*/NULL);
    return 0;
}

/* Makes a run for an agent that has ended, from its meta file. */
static struct run *run_again(struct agents *a, const struct agents_note *n,
                             const struct task_view *v, const struct json *meta, struct str text,
                             struct err *err)
{
    struct run *r = mem_zalloc(sizeof(*r));
    struct str type = json_get_str(meta, "agentType");

    r->agents = a;
    r->refs = 2;
    r->by =
        identity_copy(&r->arena, n->by ? n->by : &(struct identity){.session = a->spec.session});
    r->by.agent = arena_cstr(&r->arena, str_of(v->owner));
    buf_init(&r->model_name, 1000);
    buf_init(&r->late, AGENTS_MAX_PROMPT);
    r->began_ms = clock_mono_ms();
    memcpy(r->id, v->id, strlen(v->id) + 1);
    r->description = arena_str(&r->arena, v->description);
    r->prompt = arena_str(&r->arena, text);
    r->tool_use_id = arena_str(&r->arena, v->tool_use_id);
    r->name = arena_str(&r->arena, str_of(v->name ? v->name : ""));
    r->model = arena_str(&r->arena, json_get_str(meta, "model"));
    (void)effort_parse(json_get_str(meta, "effort"), &r->effort);
    r->types = agents_types(a);
    r->road = json_get_bool(meta, "isFork", false) ? ROAD_FORK : ROAD_BACKGROUND;
    if (r->road != ROAD_FORK)
        r->type = definitions_find(r->types, type.len ? type : STR("general-purpose"));
    if (r->type) /* check the current rules, since anyone could have written the file */
        r->mode = agents_mode_of(n->permit, r->type);
    r->depth = v->depth ? v->depth : 1;
    r->resumes = true;
    r->is_away = true;
    r->output_file = arena_cstr(&r->arena, v->output_file);
    r->pool = (struct pool){run_pool_kind(r), r->type, r->depth < a->max_depth};
    if (r->type || r->road == ROAD_FORK)
        return r;
    err_set(err, ERR_NOT_FOUND, "its type '%.*s' is gone", STR_ARG(str_clip(type, 64)));
    r->refs = 1;
    run_unref(r);
    return NULL;
}

/* Restores its place: its worktree, or a new one if it was removed because nothing had changed. */
static void run_enter_tree(struct run *r, const struct agents_note *n, const struct json *meta)
{
    struct str path = json_get_str(meta, "worktreePath");
    char *const *variables = conf_environ(r->agents->spec.conf);
    CLEANUP(mem_freep) char *cwd = workspace_cwd(n->workspace);
    CLEANUP(buf_release) struct buf prompt = BUF_INIT(BUF_NO_LIMIT);

    if (!path.len || worktree_again(path, json_get_str(meta, "worktreeBranch"),
                                    json_get_str(meta, "worktreeBase"), r->id, &r->arena, &r->tree))
        return;
    buf_add(&prompt, r->prompt);
    if (worktree_make(cwd, conf_get_str(r->agents->spec.conf, "worktree.baseRef"), variables, r->id,
                      &r->arena, n->cancel, &r->tree, /*err=*/NULL) == 0)
        buf_addf(&prompt,
                 "\n\nYour worktree was removed when you ended. You work in a new one now, "
                 "%s, on the branch %s.",
                 r->tree.path, r->tree.branch);
    else
        buf_addf(&prompt, "\n\nYour worktree is gone. You work in %s now, where others work, too.",
                 cwd);
    r->prompt = arena_str(&r->arena, buf_str(&prompt));
}

/* Returns 1 if another caller has already resumed it. */
static int resume(struct agents *a, const struct agents_note *n, const struct task_view *v,
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
    bool has_slot, is_closed, is_there, is_orphan;
    int rc = 0;

    if (read_meta(a, v->id, &arena, &meta, err) < 0)
        return -1;
    r = run_again(a, n, v, meta, text, err);
    if (!r)
        return -1;
    gate_take(&a->gate);
    is_closed = a->is_closed;
    is_there = run_find(a, v->id) != NULL;
    is_orphan = strcmp(v->owner, IDENTITY_MAIN) != 0 && !run_find(a, v->owner);
    if (!is_closed && !is_there && !is_orphan)
        run_list(r);
    has_slot = r->holds_slot;
    gate_give(&a->gate);
    if (is_closed || is_there || is_orphan) {
        r->refs = 1;
        run_unref(r);
        if (is_there)
            return 1;
        return is_closed ? err_set(err, ERR_CANCELLED, "the session ends")
                         : err_set(err, ERR_NOT_FOUND,
                                   "%s was started by %s, which has ended: write to that one",
                                   v->id, v->owner);
    }
    run_enter_tree(r, n, meta);
    task.is_pending = !has_slot;
    (void)task_begin_as(a->spec.tasks, v->owner, &task,
                        /* its row already exists */ NULL); /* its row is there */
    meta_write(r, has_slot ? TASK_RUNNING : TASK_PENDING);
    run_queue(r);
    if (has_slot)
        rc = run_launch(r, err);
    run_unref(r);
    return rc;
}

/* Delivers to an existing agent. Returns 1 if it has ended. */
static int deliver(struct run *r, struct str text, struct cancel *cancel, struct err *err)
{
    struct agents *a = r->agents;
    struct spawner *s = a->spec.spawner;
    struct cancel_hook *hook = cancel ? cancel_on(cancel, agents_poke, a) : NULL;
    enum run_state state;
    struct err why = {0};
    bool is_closed;
    int rc = 0;

    gate_take(&a->gate);
    while ((r->state == RUN_STARTING || r->state == RUN_ENDING) && !a->is_closed &&
           !cancel_is_set(cancel))
        gate_wait(&a->gate, /*deadline_ms=*/-1);
    state = r->state;
    is_closed = a->is_closed;
    if (state == RUN_PENDING && r->prompt.len + r->late.len + text.len > LATE_MAX) {
        rc = err_set(err, ERR_TOO_BIG, "%s has not begun, and more waits for it than it may get",
                     r->id);
    } else if (state == RUN_PENDING) {
        buf_adds(&r->late, "\n\n");
        buf_add(&r->late, text);
    }
    gate_give(&a->gate);
    cancel_off(hook);
    if (state == RUN_PENDING || state == RUN_OVER)
        return state == RUN_OVER ? 1 : rc;
    if (state != RUN_WORKING || is_closed)
        return err_set(err, ERR_CANCELLED, "interrupted");
    rc = s->send(s, r->id, text, INPUT_NEXT, &why);
    if (rc < 0 && why.code == ERR_NOT_FOUND) /* it is about to end */
        return cancel_wait(cancel, 1, /*err=*/NULL) < 0 ? err_set(err, ERR_CANCELLED, "interrupted")
                                                        : 2;
    if (rc < 0)
        *err = why;
    return rc;
}

int agents_message(struct agents *a, const struct agents_note *n, bool *ret_resumed,
                   char ret_id[static TASK_ID_MAX + 1], struct err *err)
{
    CLEANUP(buf_release) struct buf framed = BUF_INIT(2 * AGENTS_MAX_PROMPT);
    int rc = 1;

    while (rc > 0) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        struct task_view v;
        struct run *r;

        if (!task_look(a->spec.tasks, n->to, &arena, &v) || v.kind != TASK_AGENT)
            return err_set(err, ERR_NOT_FOUND, "there is no agent '%.*s'",
                           STR_ARG(str_clip(n->to, 64)));
        memcpy(ret_id, v.id, strlen(v.id) + 1);
        buf_clear(&framed);
        frame_message(a, n->by, v.owner, n->text, &framed);
        gate_take(&a->gate);
        r = run_find(a, v.id);
        if (r)
            r->refs++;
        gate_give(&a->gate);
        *ret_resumed = !r;
        rc = r ? deliver(r, buf_str(&framed), n->cancel, err)
               : resume(a, n, &v, buf_str(&framed), err);
        if (r)
            run_unref(r);
    }
    return rc;
}
