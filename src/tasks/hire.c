/*
 * hire: members of a team, put together as agents are: type, model, mode, tools, worktree. From
 * their start on they are the team's (team/mate.c). Runs on tool threads.
 */
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "conf/conf.h"
#include "guard/permit.h"
#include "guard/workspace.h"
#include "tasks/agents_state.h"
#include "tasks/team/team.h"
#include "tasks/words.h"

/* What a member's tools were chosen by; as long as the session, like the member. */
struct hire {
    struct arena arena;
    struct definitions *types;
    const struct definition *type;
    struct pool pool;
    struct worktree tree;
    struct buf system;
};

void hires_release(struct agents *a)
{
    VEC_EACH(&a->hires, it) {
        struct hire *h = *it;

        definitions_unref(h->types);
        buf_release(&h->system);
        arena_release(&h->arena);
        mem_freep(&h);
    }
    vec_release(&a->hires);
}

static struct hire *hire_new(struct agents *a, struct str type, struct err *err)
{
    struct hire *h = mem_zalloc(sizeof(*h));

    buf_init(&h->system, BUF_NO_LIMIT);
    h->types = agents_types(a);
    if (!type.len)
        type = STR("general-purpose");
    h->type = definitions_find(h->types, type);
    if (!h->type)
        type_refuse(h->types, type, err);
    gate_take(&a->gate);
    vec_push(&a->hires, h);
    gate_give(&a->gate);
    return h->type ? h : NULL;
}

/* What the session has and the member adds to it. */
static void hire_describe(struct hire *h, struct agents *a, const struct agents_order *o,
                          struct team_hire *hire, struct spawn_spec *spec)
{
    enum permit_mode lead = permit_mode(o->permit);
    bool is_general = h->type->source == DEFINITION_BUILT_IN && h->type->prompt.len &&
                      strcmp(h->type->name, "general-purpose") == 0;

    hire->needs_plan = str_is(h->type->mode, "plan") && lead != MODE_PLAN;
    h->pool = (struct pool){.kind = POOL_TEAMMATE,
                            .type = h->type,
                            .may_start = a->max_depth > 1,
                            .plans = hire->needs_plan};
    if (!is_general)
        buf_add(&h->system, h->type->prompt);
    *spec = (struct spawn_spec){
        .by = o->by,
        .prompt = o->prompt,
        .about = o->description,
        .depth = 1,
        .in_background = true,
        .type = str_of(h->type->name),
        .tool_id = o->tool_use_id,
        .system_end = buf_str(&h->system),
        .is_read_only = h->type->is_read_only,
        .changes_ignored = h->type->changes_ignored,
        .omits_instructions = h->type->omits_instructions,
        .wants_tool = pool_wants,
        .wants_arg = &h->pool,
        .model = arena_str(&h->arena, model_choose(a, o, h->type)),
        .effort = o->effort ? o->effort : h->type->effort,
        .mode = agents_mode_of(o->permit, h->type),
        .max_steps = h->type->max_steps,
        .skills = &h->type->skills,
        .servers = h->type->servers,
        .server_names = &h->type->server_names,
    };
    hire->spec = spec;
    hire->model = spec->model.len ? spec->model : o->model_now;
}

int agents_hire(struct agents *a, struct team *t, const struct agents_order *o,
                struct buf *ret_json, struct err *err)
{
    CLEANUP(mem_freep) char *cwd = workspace_cwd(o->workspace);
    struct team_hire hire = {.name = o->name};
    struct spawn_spec spec;
    struct hire *h;

    if (order_check(o, err) < 0)
        return -1;
    h = hire_new(a, o->type, err);
    if (!h)
        return -1;
    hire_describe(h, a, o, &hire, &spec);
    if (str_is(o->isolation, "worktree") || h->type->in_worktree) {
        char id[TASK_ID_MAX + 1];

        task_make_id(a->spec.tasks, TASK_AGENT, id);
        if (worktree_make(cwd, conf_get_str(a->spec.conf, "worktree.baseRef"),
                          conf_environ(a->spec.conf), id, &h->arena, o->cancel, &h->tree, err) < 0)
            return -1;
        spec.dir = h->tree.path;
        hire.tree = &h->tree;
    }
    if (team_hire(t, &hire, o->cancel, ret_json, err) == 0)
        return 0;
    (void)worktree_end(&h->tree, conf_environ(a->spec.conf));
    return -1;
}

int agents_hire_again(struct agents *a, struct team *t, struct str name, struct str text,
                      const struct agents_order *o, struct err *err)
{
    CLEANUP(roster_release) struct roster r = ROSTER_INIT;
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct team_hire hire = {.name = name};
    struct agents_order order = *o;
    struct spawn_spec spec;
    struct hire *h;

    if (!team_was_cut_off(t, name, &r, &hire.again))
        return err_set(err, ERR_NOT_FOUND, "%.*s has left the team", STR_ARG(name));
    if (!str_eq(hire.again->model, o->model_now))
        order.model = hire.again->model;
    h = hire_new(a, hire.again->type, err);
    if (!h)
        return err_prefix(err, "%.*s cannot be resumed", STR_ARG(name));
    order.prompt = text;
    hire_describe(h, a, &order, &hire, &spec);
    spec.resumes = true;
    if (hire.again->worktree.len) {
        const char *path = arena_cstr(&h->arena, hire.again->worktree);

        spec.dir = file_is_dir(path) ? path : NULL;
    }
    return team_hire(t, &hire, o->cancel, &json, err);
}
