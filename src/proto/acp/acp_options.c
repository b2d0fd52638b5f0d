/*
 * acp_options: what the user can choose for a session: mode, model, effort; and which commands
 * there are. The loop's thread; changes are chores of the session.
 */
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "conf/option.h"
#include "goal/goal.h"
#include "guard/permit.h"
#include "host/host.h"
#include "json/json.h"
#include "llm/effort.h"
#include "llm/model.h"
#include "proto/acp/acp_state.h"
#include "slash/slash.h"

static const struct {
    enum permit_mode mode;
    const char *name, *text;
} modes[] = {
    {MODE_DEFAULT, "Ask", "Ask before edits and commands"},
    {MODE_ACCEPT_EDITS, "Accept edits", "Edit files in the workspace without asking"},
    {MODE_PLAN, "Plan", "Read and plan; change nothing"},
    {MODE_AUTO, "Auto", "Edit in the workspace and run confined commands without asking"},
    {MODE_DONT_ASK, "Don't ask", "Deny whatever is not allowed by a rule"},
    {MODE_BYPASS, "Bypass permissions", "Run everything without asking"},
};

static bool is_offered(const struct acp_view *v, enum permit_mode mode)
{
    const struct args *args = client_spec(v->acp->client)->host->args;

    return mode != MODE_BYPASS || args->given[OPT_DANGEROUSLY_SKIP_PERMISSIONS] ||
           args->given[OPT_ALLOW_DANGEROUSLY_SKIP_PERMISSIONS];
}

static const char *mode_now(struct acp_view *v)
{
    return permit_mode_name(permit_mode(host_permit(v->view->live->host)));
}

void acp_write_modes(struct acp_view *v, struct jw *w)
{
    jw_key(w, "modes");
    jw_object(w);
    jw_kcstr(w, "currentModeId", mode_now(v));
    jw_key(w, "availableModes");
    jw_array(w);
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        if (!is_offered(v, modes[i].mode))
            continue;
        jw_object(w);
        jw_kcstr(w, "id", permit_mode_name(modes[i].mode));
        jw_kcstr(w, "name", modes[i].name);
        jw_kcstr(w, "description", modes[i].text);
        jw_object_end(w);
    }
    jw_array_end(w);
    jw_object_end(w);
}

static void option_begin(struct jw *w, const char *id, const char *name, const char *category,
                         struct str now)
{
    jw_object(w);
    jw_kcstr(w, "id", id);
    jw_kcstr(w, "name", name);
    jw_kcstr(w, "category", category);
    jw_kcstr(w, "type", "select");
    jw_kstr(w, "currentValue", now);
    jw_key(w, "options");
    jw_array(w);
}

static void option_end(struct jw *w)
{
    jw_array_end(w);
    jw_object_end(w);
}

static void write_value(struct jw *w, struct str value, struct str name, const char *text)
{
    jw_object(w);
    jw_kstr(w, "value", value);
    jw_kstr(w, "name", name);
    if (text)
        jw_kcstr(w, "description", text);
    jw_object_end(w);
}

/* The models of the provider, and the one in use where it is not among them. */
static void write_models(struct acp_view *v, struct jw *w)
{
    CLEANUP(buf_release) struct buf provider = BUF_INIT(1024);
    CLEANUP(buf_release) struct buf name = BUF_INIT(1024);
    bool is_listed = false;
    int64_t window;
    struct model m;

    host_model(v->view->live->host, &provider, &name, &window);
    option_begin(w, "model", "Model", "model", buf_str(&name));
    for (size_t i = 0; model_at(i, &m); i++) {
        if (!str_eq(m.provider, buf_str(&provider)))
            continue;
        write_value(w, m.name, m.name, /*text=*/NULL);
        is_listed = is_listed || str_eq(m.name, buf_str(&name));
    }
    if (!is_listed)
        write_value(w, buf_str(&name), buf_str(&name), /*text=*/NULL);
    option_end(w);
}

static void write_efforts(struct acp_view *v, struct jw *w)
{
    struct host *h = v->view->live->host;
    enum effort now = host_effort(h);
    struct model m;

    host_figures(h, &m);
    if (!m.efforts)
        return;
    now = now == EFFORT_UNSET ? now : effort_fit(m.efforts, now);
    option_begin(w, "effort", "Effort", "thought_level",
                 now == EFFORT_UNSET ? STR("default") : str_of(effort_name(now)));
    write_value(w, STR("default"), STR("Default"), /*text=*/NULL);
    for (unsigned e = EFFORT_NONE; e <= EFFORT_MAX; e++) {
        if (m.efforts & 1u << e)
            write_value(w, str_of(effort_name((enum effort)e)), str_of(effort_name((enum effort)e)),
                        /*text=*/NULL);
    }
    option_end(w);
}

void acp_write_options(struct acp_view *v, struct jw *w)
{
    jw_array(w);
    option_begin(w, "mode", "Mode", "mode", str_of(mode_now(v)));
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        if (is_offered(v, modes[i].mode))
            write_value(w, str_of(permit_mode_name(modes[i].mode)), str_of(modes[i].name),
                        modes[i].text);
    }
    option_end(w);
    write_models(v, w);
    write_efforts(v, w);
    jw_array_end(w);
}

/* True: they are not as they were, and v->options is new. */
static bool options_changed(struct acp_view *v)
{
    CLEANUP(buf_release) struct buf now = BUF_INIT(ACP_MAX_TEXT);
    struct jw w;

    jw_init(&w, &now, JW_CLEAN);
    acp_write_options(v, &w);
    if (str_eq(buf_str(&now), buf_str(&v->options)))
        return false;
    buf_move(&v->options, &now);
    return true;
}

void acp_say_options(struct acp_view *v)
{
    struct acp_update u;
    struct jw *w;

    if (!options_changed(v))
        return;
    w = acp_begin(&u, v, "config_option_update");
    jw_kraw(w, "configOptions", buf_str(&v->options));
    acp_end(&u);
}

void acp_say_commands(struct acp_view *v)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    slash_item_vec items = VEC_INIT;
    struct acp_update u;
    struct jw *w;

    slash_list(v->view->live->slash, &arena, &items);
    w = acp_begin(&u, v, "available_commands_update");
    jw_key(w, "availableCommands");
    jw_array(w);
    VEC_EACH(&items, item) {
        jw_object(w);
        jw_kstr(w, "name", item->name);
        jw_kstr(w, "description", item->summary);
        jw_key(w, "input");
        if (item->hint.len) {
            jw_object(w);
            jw_kstr(w, "hint", item->hint);
            jw_object_end(w);
        } else {
            jw_null(w);
        }
        jw_object_end(w);
    }
    jw_array_end(w);
    acp_end(&u);
    vec_release(&items);
}

/* ---- Changes ---- */

struct option_chore {
    struct call_chore base;
    char session[ID_UUID_LEN + 1];
    struct str id, value; /* in the call's arena */
    bool is_mode;         /* session/set_mode, which has another answer */
};

static int change_mode(struct host *h, struct str value, struct err *err)
{
    enum permit_mode mode;

    if (!permit_mode_parse(value, &mode))
        return err_set(err, ERR_BAD_INPUT, "there is no mode \"%.*s\"",
                       STR_ARG(str_clip(value, 60)));
    if (permit_set_mode(host_permit(h), mode, err) < 0)
        return -1;
    /* A goal that plan mode has held continues when it is left. */
    return host_goal(h) && goal_is_running(host_goal(h)) ? host_wake(h, err) : 0;
}

static int change_effort(struct host *h, struct str value, struct err *err)
{
    enum effort effort = EFFORT_UNSET;

    if (!str_is(value, "default") && !effort_parse(value, &effort))
        return err_set(err, ERR_BAD_INPUT, "there is no effort \"%.*s\"",
                       STR_ARG(str_clip(value, 60)));
    host_set_effort(h, effort);
    return 0;
}

static void change_run(struct call_chore *c)
{
    struct option_chore *o = (struct option_chore *)c;
    CLEANUP(buf_release) struct buf name = BUF_INIT(1024);
    struct host *h = c->live->host;

    if (str_is(o->id, "mode"))
        (void)change_mode(h, o->value, &c->err);
    else if (str_is(o->id, "effort"))
        (void)change_effort(h, o->value, &c->err);
    else
        (void)host_set_model(h, o->value, &name, &c->err);
}

static void change_answer(struct call_chore *c)
{
    struct option_chore *o = (struct option_chore *)c;
    struct client_view *view = client_view(c->client, str_of(o->session));
    struct acp_view *v = view ? acp_view_of(view) : NULL;
    struct jw w;

    if (!v || o->is_mode) {
        rpc_answer(TAKE_PTR(c->call), STR("{}"));
    } else {
        (void)options_changed(v); /* the answer says it */
        jw_init(&w, &c->result, JW_CLEAN);
        jw_object(&w);
        jw_kraw(&w, "configOptions", buf_str(&v->options));
        jw_object_end(&w);
        rpc_answer(TAKE_PTR(c->call), buf_str(&c->result));
    }
    if (v)
        view_pump(v->view);
}

static enum rpc_code change_code(const struct err *err)
{
    return err->code == ERR_AUTH ? RPC_AUTH : RPC_PARAMS;
}

static void change(struct acp_view *v, struct rpc_call *call, struct str id, struct str value,
                   bool is_mode)
{
    struct option_chore *o =
        call_chore_new(sizeof(*o), v->acp->client, call, v->view->live, change_run);

    memcpy(o->session, v->view->live->id, sizeof(o->session));
    o->id = id;
    o->value = value;
    o->is_mode = is_mode;
    o->base.answer = change_answer;
    o->base.code = change_code;
    call_chore_start(o);
}

void acp_set_mode(struct acp *a, struct rpc_call *call)
{
    struct acp_view *v = acp_view_for(a, call);

    if (v)
        change(v, call, STR("mode"), json_get_str(call->params, "modeId"), /*is_mode=*/true);
}

void acp_set_option(struct acp *a, struct rpc_call *call)
{
    struct acp_view *v = acp_view_for(a, call);
    struct str id;
    struct str value;

    if (!v) /* the call has ended */
        return;
    id = json_get_str(call->params, "configId");
    value = json_get_str(call->params, "value");
    if (!str_is_word_of(id, "mode model effort"))
        rpc_refusef(call, RPC_PARAMS, "there is no option \"%.*s\"", STR_ARG(str_clip(id, 60)));
    else if (!value.len)
        rpc_refusef(call, RPC_PARAMS, "value must be a string");
    else
        change(v, call, id, value, /*is_mode=*/false);
}
