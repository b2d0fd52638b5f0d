/*
 * control_initialize: what a client brings along when it begins with a session, and what it learns
 * then: commands, agents, models, styles. The thread of the client's loop.
 */
#include "proto/control_initialize.h"

#include <inttypes.h>
#include <unistd.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "conf/plugin.h"
#include "context/style.h"
#include "guard/permit.h"
#include "guard/workspace.h"
#include "host/events/feed.h"
#include "host/host.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/effort.h"
#include "llm/model.h"
#include "llm/room.h"
#include "proto/control.h"
#include "proto/control_mcp.h"
#include "proto/peer.h"
#include "proto/sdk_hooks.h"
#include "slash/slash.h"
#include "tasks/agents.h"
#include "tasks/definition.h"

#define CONTROL_MAX_PROMPT ((size_t)1 << 20)
#define CONTROL_MAX_ALIASES 1000
#define CONTROL_MAX_ANSWER ((size_t)64 << 20)
/* Between parts of a system prompt, for caches. */
#define CONTROL_PROMPT_BOUNDARY "__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__"

static void write_strings(struct jw *w, const char *key, const struct strv *list)
{
    jw_key(w, key);
    jw_array(w);
    for (size_t i = 0; i < list->len; i++)
        jw_cstr(w, list->ptr[i]);
    jw_array_end(w);
}

/* ---- how the session begins ---- */

static void write_efforts(struct jw *w, unsigned set)
{
    jw_kbool(w, "supportsEffort", set);
    jw_key(w, "supportedEffortLevels");
    jw_array(w);
    for (unsigned e = EFFORT_LOW; e <= EFFORT_MAX; e++) {
        if (set & 1u << e)
            jw_cstr(w, effort_name((enum effort)e));
    }
    jw_array_end(w);
}

struct model_list {
    struct jw *w;
    struct str current; /* its name; marked once */
    bool is_marked;
};

static void write_model(struct model_list *list, struct str value, const struct model *m,
                        const char *display)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1024);
    struct jw *w = list->w;

    buf_addf(&text, "%" PRId64 "K tokens of context, %" PRId64 "K of output", m->window / 1000,
             m->max_output / 1000);
    jw_object(w);
    jw_kstr(w, "value", value);
    jw_kstr(w, "resolvedModel", m->name);
    jw_kcstr(w, "displayName", display);
    jw_kstr(w, "description", buf_str(&text));
    write_efforts(w, m->efforts);
    jw_kbool(w, "supportsAdaptiveThinking", m->thinking == MODEL_THINKS_ADAPTIVE);
    if (!list->is_marked && str_eq(m->name, list->current)) {
        jw_kbool(w, "current", true);
        list->is_marked = true;
    }
    jw_object_end(w);
}

/* What can be chosen: the one the session started with, aliases, the names of the provider. */
void control_write_models(struct control_call *call, struct jw *w)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(1024);
    CLEANUP(buf_release) struct buf provider = BUF_INIT(1024);
    CLEANUP(buf_release) struct buf text = BUF_INIT(1024);
    struct model_list list = {.w = w};
    struct str owner, alias, target;
    struct model m;
    int64_t window;

    host_model(call->session->host, &provider, &name, &window);
    list.current = buf_str(&name);
    jw_key(w, "models");
    jw_array(w);
    model_find(buf_str(&provider), buf_str(&call->session->first_model), &m);
    m.name = buf_str(&call->session->first_model);
    buf_addf(&text, "Default (%.*s)", STR_ARG(m.name));
    write_model(&list, STR("default"), &m, buf_cstr(&text));
    for (size_t i = 0; model_alias_at(i, &owner, &alias, &target); i++) {
        if (!str_eq(owner, buf_str(&provider)) || str_is(alias, "default") ||
            str_is(alias, "small"))
            continue;
        model_find(owner, target, &m);
        buf_clear(&text);
        buf_addf(&text, "%.*s (%.*s)", STR_ARG(alias), STR_ARG(target));
        write_model(&list, alias, &m, buf_cstr(&text));
    }
    for (size_t i = 0; model_at(i, &m); i++) {
        buf_clear(&text);
        buf_add(&text, m.name);
        if (str_eq(m.provider, buf_str(&provider)))
            write_model(&list, m.name, &m, buf_cstr(&text));
    }
    jw_array_end(w);
}

/* systemPrompt is a list of parts or one text; [""] is an empty prompt. */
static int set_prompt(struct control_call *call, struct err *err)
{
    CLEANUP(buf_release) struct buf system = BUF_INIT(CONTROL_MAX_PROMPT);
    const struct json *wanted = json_get(call->request, "systemPrompt");
    const struct json *added = json_get(call->request, "appendSystemPrompt");
    struct str append = json_str(added);
    struct str text;

    if (json_is(wanted, JSON_STRING))
        buf_add(&system, json_str(wanted));
    JSON_EACH(wanted, part) {
        if (str_is(json_str(part), CONTROL_PROMPT_BOUNDARY))
            continue;
        if (system.len)
            buf_adds(&system, "\n\n");
        buf_add(&system, json_str(part));
    }
    if (buf_check(&system, err) < 0)
        return err_prefix(err, "systemPrompt");
    text = buf_str(&system);
    if (!wanted && !append.len)
        return 0;
    return host_set_prompt(call->session->host, wanted ? &text : NULL, append.len ? &append : NULL,
                           err);
}

/* ---- what an initialize brings along ---- */

/* Settings of a program that embeds us: they can only forbid. */
static int take_managed_settings(struct control_call *call, const struct json *v, struct err *err)
{
    CLEANUP(strv_release) struct strv dropped = STRV_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    if (host_set_policy(call->session->host, v, &dropped, err) < 0)
        return err_prefix(err, "managedSettings");
    for (size_t i = 0; i < dropped.len; i++)
        buf_addf(&text, "%s%s",
                 i ? ", " : "managed settings can only forbid; left out: ", dropped.ptr[i]);
    if (text.len)
        host_notice(call->session->host, LEVEL_WARNING, buf_str(&text));
    return 0;
}

static int take_settings(struct control_call *call, const struct json *v, struct err *err)
{
    return host_lay_over(call->session->host, v, err) < 0 ? err_prefix(err, "settings") : 0;
}

static int take_disallowed(struct control_call *call, const struct json *v, struct err *err)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(CONTROL_MAX_PROMPT);
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *updates = NULL;
    struct jw w;

    jw_init(&w, &json, JW_CLEAN);
    jw_array(&w);
    jw_object(&w);
    jw_kcstr(&w, "type", "addRules");
    jw_kcstr(&w, "behavior", "deny");
    jw_kcstr(&w, "destination", "session");
    jw_key(&w, "rules");
    jw_array(&w);
    JSON_EACH(v, rule) {
        struct str text = json_str(rule);
        size_t open = str_chr(text, '(');

        jw_object(&w);
        jw_kstr(&w, "toolName", str_first(text, open));
        if (open < text.len && str_ends(text, STR(")")))
            jw_kstr(&w, "ruleContent", str_first(str_from(text, open + 1), text.len - open - 2));
        jw_object_end(&w);
    }
    jw_array_end(&w);
    jw_object_end(&w);
    jw_array_end(&w);
    if (json_parse(&arena, buf_str(&json), &updates, /*ret_info=*/NULL, err) < 0 ||
        permit_update(host_permit(call->session->host), updates, &warnings, err) < 0)
        return err_prefix(err, "disallowedTools");
    return 0;
}

static int take_nothing(struct control_call *call, const struct json *v, struct err *err)
{
    (void)call;
    (void)v;
    (void)err;
    return 0;
}

static int take_agents(struct control_call *call, const struct json *v, struct err *err)
{
    return host_bring_types(call->session->host, json_raw(v), err);
}

/* Types of agents that can be started. */
static void write_agents(struct control_call *call, struct jw *w)
{
    CLEANUP(definitions_unrefp)
    struct definitions *l = agents_types(host_agents(call->session->host));

    jw_key(w, "agents");
    jw_array(w);
    VEC_EACH(&l->list, it) {
        if ((*it)->shadowed_by)
            continue;
        jw_object(w);
        jw_kcstr(w, "name", (*it)->name);
        jw_kstr(w, "description", (*it)->description);
        if ((*it)->model.len)
            jw_kstr(w, "model", (*it)->model);
        jw_object_end(w);
    }
    jw_array_end(w);
}

static bool plugin_is_loaded(struct control_call *call, const struct json *entry)
{
    const struct conf *conf = host_conf(call->session->host);
    CLEANUP(mem_freep)
    char *given = mem_dup(json_get_str(entry, "path").ptr, json_get_str(entry, "path").len);
    CLEANUP(mem_freep) char *path = path_join(conf_dir(conf), given);
    CLEANUP(mem_freep) char *real = workspace_real(path);

    VEC_EACH(&plugins_get(conf)->list, p) {
        if (strcmp((*p)->root, real) == 0)
            return true;
    }
    return false;
}

static bool plugins_are_loaded(struct control_call *call)
{
    JSON_EACH(json_get(call->request, "plugins"), entry) {
        if (!plugin_is_loaded(call, entry))
            return false;
    }
    return true;
}

/* One that cannot be loaded is no reason to have no session: the answer and the init line say it.
 */
static int take_plugins(struct control_call *call, const struct json *v, struct err *err)
{
    CLEANUP(strv_release) struct strv dirs = STRV_INIT;
    CLEANUP(strv_release) struct strv without_mcp = STRV_INIT;

    JSON_EACH(v, entry) {
        struct str path = json_get_str(entry, "path");

        if (!path.len || !str_is(json_get_str(entry, "type"), "local"))
            return err_set(err, ERR_BAD_INPUT, "plugins: each needs the type \"local\" and a path");
        strv_add(json_get_bool(entry, "skipMcpDiscovery", false) ? &without_mcp : &dirs, path);
    }
    if (host_bring_plugins(call->session->host, &dirs, &without_mcp, err) < 0)
        return err_prefix(err, "plugins");
    peer_session_list(call->session);
    return 0;
}

static int take_skills(struct control_call *call, const struct json *v, struct err *err)
{
    CLEANUP(strv_release) struct strv names = STRV_INIT;

    JSON_EACH(v, name) {
        strv_add(&names, json_str(name));
    }
    return host_set_skills(call->session->host, &names, err) < 0 ? err_prefix(err, "skills") : 0;
}

static int take_forward(struct control_call *call, const struct json *v, struct err *err)
{
    (void)v;
    (void)err;
    peer_forward(call->peer);
    return 0;
}

static int take_aliases(struct control_call *call, const struct json *v, struct err *err)
{
    CLEANUP(strv_release) struct strv names = STRV_INIT;

    if (!json_is(v, JSON_OBJECT) || json_len(v) > CONTROL_MAX_ALIASES)
        return err_set(err, ERR_BAD_INPUT, "toolAliases must be an object of at most %d names",
                       CONTROL_MAX_ALIASES);
    JSON_EACH(v, name) {
        if (!json_str(name).len)
            return err_set(err, ERR_BAD_INPUT, "toolAliases: %.*s must name a tool",
                           STR_ARG(str_clip(json_key(name), 60)));
        strv_add(&names, json_key(name));
        strv_add(&names, json_str(name));
    }
    return host_set_aliases(call->session->host, &names, err) < 0 ? err_prefix(err, "toolAliases")
                                                                  : 0;
}

static int take_plan(struct control_call *call, const struct json *v, struct err *err)
{
    return host_set_plan(call->session->host, json_str(v), err) < 0
               ? err_prefix(err, "planModeInstructions")
               : 0;
}

/* One row for each member: to implement one, write its function. Without one it is refused where
 * the client and the user see it: in the answer, as a message, on standard error. */
static const struct initialize_row {
    const char *member;
    int (*take)(struct control_call *call, const struct json *v, struct err *err);
    const char *applied; /* member of the answer that confirms it; NULL: none */
} initialize_rows[] = {
    {"managedSettings", take_managed_settings, "managed_settings_applied"},
    {"settings", take_settings, "settings_applied"},
    {"disallowedTools", take_disallowed, "disallowed_tools_applied"},
    {"mcpServers", take_nothing, "mcp_servers_applied"}, /* control_take_servers() */
    {"plugins", take_plugins, "plugins_applied"},
    {"agents", take_agents, "agents_applied"},
    {"toolAliases", take_aliases, "tool_aliases_applied"},
    {"planModeInstructions", take_plan, "plan_mode_instructions_applied"},
    {"skills", take_skills, NULL},
    {"forwardSubagentText", take_forward, NULL},
    {"excludeDynamicSections", take_nothing, NULL}, /* they are never in the system prompt */
    {"agentProgressSummaries", NULL, NULL},
    {"promptSuggestions", NULL, NULL},
};

static bool initialize_has(const struct control_call *call, const struct initialize_row *row)
{
    const struct json *v = json_get(call->request, row->member);

    if (row->take == take_skills && json_is(v, JSON_ARRAY))
        return true; /* an empty list means none */
    return json_len(v) || json_str(v).len || json_get_bool(call->request, row->member, false);
}

static int take_members(struct control_call *call, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1024);

    for (size_t i = 0; i < ARRAY_LEN(initialize_rows); i++) {
        const struct initialize_row *row = &initialize_rows[i];

        if (!initialize_has(call, row))
            continue;
        if (!row->take)
            buf_addf(&text, "%s%s",
                     text.len ? ", " : "not supported yet and not applied: ", row->member);
        else if (row->take(call, json_get(call->request, row->member), err) < 0)
            return -1;
    }
    if (text.len) {
        host_notice(call->session->host, LEVEL_WARNING, buf_str(&text));
        peer_complain(call->peer, buf_cstr(&text));
    }
    return 0;
}

static bool was_applied(struct control_call *call, const struct initialize_row *row)
{
    return row->take && call->owner && (row->take != take_plugins || plugins_are_loaded(call));
}

/* What became of them. */
static void write_applied(struct control_call *call, struct jw *w)
{
    for (size_t i = 0; i < ARRAY_LEN(initialize_rows); i++) {
        const struct initialize_row *row = &initialize_rows[i];

        if (row->applied && initialize_has(call, row))
            jw_kbool(w, row->applied, was_applied(call, row));
    }
    jw_key(w, "not_applied");
    jw_array(w);
    for (size_t i = 0; i < ARRAY_LEN(initialize_rows); i++) {
        if (initialize_has(call, &initialize_rows[i]) && !was_applied(call, &initialize_rows[i]))
            jw_cstr(w, initialize_rows[i].member);
    }
    jw_array_end(w);
}

/* A name that cannot be had is no reason to have no session. */
static void take_title(struct control_call *call, struct str title)
{
    struct err err = {0};

    if (host_rename(call->session->host, title, &err) == 0)
        return;
    err_prefix(&err, "title");
    host_notice(call->session->host, LEVEL_WARNING, str_of(err.text));
}

static int take_initialize(struct control_call *call, struct err *err)
{
    const struct json *hooks = json_get(call->request, "hooks");
    const struct json *schema = json_get(call->request, "jsonSchema");
    struct str title = json_get_str(call->request, "title");

    if (call->session
            ->is_initialized) /* how it began stays; its hooks are the client's to change */
        return hooks && call->session->hooks ? sdk_hooks_set(call->session->hooks, hooks, err) : 0;
    if (set_prompt(call, err) < 0)
        return -1;
    if (json_is(schema, JSON_OBJECT) &&
        host_set_schema(call->session->host, json_raw(schema), err) < 0)
        return -1;
    if (hooks && call->session->hooks && sdk_hooks_set(call->session->hooks, hooks, err) < 0)
        return -1;
    if (title.len)
        take_title(call, title);
    if (control_take_servers(call, err) < 0)
        return -1;
    call->session->stops_tasks_itself =
        json_get_bool(call->request, "perTaskStopAffordance", false);
    if (take_members(call, err) < 0)
        return -1;
    call->session->is_initialized = true;
    if (call->owner)
        peer_answer_forms(call->peer);
    host_ask_start(call->session->host);
    return 0;
}

/* What may be typed instead of a prompt, or only the skills of it. */
void control_write_commands(struct slash *slash, struct jw *w, bool skills_only)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    slash_item_vec items = VEC_INIT;

    slash_list(slash, &arena, &items);
    jw_array(w);
    VEC_EACH(&items, item) {
        if (skills_only && !item->is_skill)
            continue;
        jw_object(w);
        jw_kstr(w, "name", item->name);
        jw_kstr(w, "description", item->summary);
        jw_kstr(w, "argumentHint", item->hint);
        jw_object_end(w);
    }
    jw_array_end(w);
    vec_release(&items);
}

/* All commands, as the client gets them, or gets them again when they have changed. */
void control_say_commands(struct control_call *call, struct jw *answer)
{
    CLEANUP(buf_release) struct buf commands = BUF_INIT(CONTROL_MAX_ANSWER);
    struct jw w;

    jw_init(&w, &commands, JW_CLEAN);
    control_write_commands(call->session->slash, &w, /*skills_only=*/false);
    if (answer)
        jw_kraw(answer, "commands", buf_str(&commands));
    peer_say_commands(call->peer, buf_str(&commands), /*know=*/answer);
}

void control_write_styles(struct control_call *call, struct jw *w)
{
    CLEANUP(strv_release) struct strv names = STRV_INIT;

    style_names(host_conf(call->session->host), &names);
    write_strings(w, "available_output_styles", &names);
}

int control_initialize(struct control_call *call, struct jw *w, struct err *err)
{
    const struct json *hooks = json_get(call->request, "hooks");
    struct str style = conf_get_str(host_conf(call->session->host), "outputStyle");
    enum permit_mode mode = permit_mode(host_permit(call->session->host));

    if (call->owner && take_initialize(call, err) < 0)
        return -1;
    control_say_commands(call, w);
    write_agents(call, w);
    jw_kstr(w, "output_style", style.len ? style : STR("default"));
    control_write_styles(call, w);
    control_write_models(call, w);
    jw_key(w, "account");
    jw_object(w);
    jw_kcstr(w, "apiKeySource", host_key_source(call->session->host));
    jw_object_end(w);
    jw_ki64(w, "pid", (int64_t)getpid());
    jw_kcstr(w, "claude_code_version", TENAX_VERSION);
    jw_kcstr(w, "session_id", host_session(call->session->host));
    jw_kcstr(w, "current_permission_mode", permit_mode_name(mode));
    if (hooks)
        jw_kbool(w, "hooks_applied", call->owner);
    write_applied(call, w);
    jw_kbool(w, "hook_on_failure_supported", true);
    return 0;
}
