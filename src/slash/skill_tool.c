/*
 * skill_tool: from a name to a text, a permission or a refusal. run() is called on a tool thread.
 */
#include "slash/skill_tool.h"

#include <string.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "agent/spawn.h"
#include "agent/tool.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/identity.h"
#include "conf/conf.h"
#include "conf/nearest.h"
#include "guard/permit.h"
#include "host/host.h"
#include "json/json.h"
#include "json/jw.h"
#include "slash/answer.h"
#include "slash/expand.h"
#include "slash/own.h"
#include "slash/own_now.h"
#include "slash/prompt.h"
#include "sync/cancel.h"

static struct str wanted_name(const struct json *args)
{
    struct str name = str_trim(json_get_str(args, "skill"));

    return str_starts(name, STR("/")) ? str_from(name, 1) : name;
}

/* An untrusted folder brings no skills for the model. */
static bool is_offered(const struct own_now *n, const struct own_command *c)
{
    return !c->is_users && host_offers_skill(own_now_host(n), c->name) &&
           (c->level != LEVEL_PROJECT || conf_is_trusted(host_conf(own_now_host(n))));
}

/* ---- Permission ---- */

static unsigned skill_more_flags(const struct tool_entry *e, const struct json *args)
{
    CLEANUP(own_list_unrefp) struct own_list *own = own_now_get(e->arg);
    const struct own_command *c = own_find(own, wanted_name(args));

    return c && is_offered(e->arg, c) && own_grants(c) ? 0 : TOOL_FREE;
}

static void skill_about(const struct tool_entry *e, struct workspace *w, const struct json *args,
                        struct arena *arena, struct rule_subject *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(TOOL_MAX_TEXT);
    struct str more = str_trim(json_get_str(args, "args"));

    (void)e;
    (void)w;
    buf_add(&text, wanted_name(args));
    if (more.len)
        buf_addf(&text, " %.*s", STR_ARG(more));
    ret->about = ABOUT_NAME;
    ret->text = arena_str(arena, buf_str(&text));
}

static void write_list(struct jw *w, const char *key, const struct strv *list)
{
    if (!list->len)
        return;
    jw_key(w, key);
    jw_array(w);
    for (size_t i = 0; i < list->len; i++)
        jw_cstr(w, list->ptr[i]);
    jw_array_end(w);
}

/* The question shows what the skill would be given. */
static void skill_expand(const struct tool_entry *e, struct workspace *workspace,
                         const struct json *args, struct buf *ret)
{
    CLEANUP(own_list_unrefp) struct own_list *own = own_now_get(e->arg);
    const struct own_command *c = own_find(own, wanted_name(args));
    struct jw w;

    (void)workspace;
    jw_init(&w, ret, 0);
    jw_object(&w);
    jw_kstr(&w, "skill", wanted_name(args));
    if (json_get(args, "args"))
        jw_kstr(&w, "args", json_get_str(args, "args"));
    if (c && is_offered(e->arg, c)) {
        write_list(&w, "allowed_tools", &c->allow);
        if (c->hooks)
            jw_kbool(&w, "brings_hooks", true);
    }
    jw_object_end(&w);
}

/* ---- The call ---- */

static void say_unknown(struct own_now *n, const struct own_list *own, struct str name,
                        struct tool_result *ret)
{
    struct nearest near;

    nearest_init(&near, name);
    VEC_EACH(&own->commands, c) {
        if (is_offered(n, c))
            nearest_offer(&near, c->name);
    }
    buf_addf(&ret->text, "Unknown skill: %.*s.", STR_ARG(str_clip(name, 200)));
    if (near.best.len)
        buf_addf(&ret->text, " Did you mean %.*s?", STR_ARG(near.best));
    ret->is_error = true;
}

/* Why it cannot be called; false: it can. */
static bool is_refused(struct own_now *n, const struct own_list *own, struct str name,
                       const struct own_command *c, struct tool_result *ret)
{
    CLEANUP(buf_release) struct buf typed = BUF_INIT(4096);

    buf_addf(&typed, "/%.*s", STR_ARG(str_clip(name, 200)));
    if (!c && slash_find(buf_str(&typed), /*ret_args=*/NULL)) {
        buf_addf(&ret->text, "%s is a command for the user; the model cannot run it.",
                 buf_cstr(&typed));
    } else if (!c || !host_offers_skill(own_now_host(n), c->name) ||
               (c->level == LEVEL_PROJECT && !is_offered(n, c) && !c->is_users)) {
        say_unknown(n, own, name, ret);
    } else if (c->is_users && c->is_hidden) {
        buf_addf(&ret->text, "%s is switched off; it cannot be called.", buf_cstr(&typed));
    } else if (c->is_users) {
        buf_addf(&ret->text,
                 "Only the user can run %s. Do not imitate it; ask the user to type it if it is "
                 "needed.",
                 buf_cstr(&typed));
    } else {
        return false;
    }
    ret->is_error = true;
    return true;
}

static void say_result(const struct own_command *c, struct tool_result *ret)
{
    struct jw w;

    jw_init(&w, &ret->data, 0);
    jw_object(&w);
    jw_kbool(&w, "success", true);
    jw_kstr(&w, "commandName", c->name);
    if (c->allow.len) {
        jw_key(&w, "allowedTools");
        jw_array(&w);
        for (size_t i = 0; i < c->allow.len; i++)
            jw_cstr(&w, c->allow.ptr[i]);
        jw_array_end(&w);
    }
    jw_object_end(&w);
}

int skill_run_apart(struct spawner *spawner, const struct identity *by, struct str tool_id,
                    const struct own_command *c, const struct slash_call *text,
                    struct cancel *cancel, struct buf *ret, struct err *err)
{
    char id[SPAWN_ID_LEN + 1];
    struct spawn_end end = {0};
    struct spawn_spec spec = {
        .by = by,
        .prompt = buf_str(&text->prompt),
        .type = c->agent.len ? c->agent : STR("general-purpose"),
        .tool_id = tool_id,
        .model = text->model,
        .effort = text->effort,
    };
    int rc;

    if (!spawner)
        return err_set(err, ERR_UNSUPPORTED,
                       "/%.*s runs as a subagent, and none can be started here", STR_ARG(c->name));
    if (spawner->start(spawner, &spec, id, err) < 0)
        return -1;
    rc = spawner->wait(spawner, id, cancel, &end, err);
    if (rc == 0) {
        const struct turn_report *r = end.turn->report;

        if (r->is_error)
            rc = err_set(err, ERR_IO, "/%.*s failed: %.*s", STR_ARG(c->name),
                         STR_ARG(r->error.len ? r->error : r->result));
        else if (r->result.len)
            buf_add(ret, r->result);
        else
            buf_addf(ret, "/%.*s ended without an answer.", STR_ARG(c->name));
    }
    spawn_end_release(&end);
    (void)spawner->forget(spawner, id, /*err=*/NULL);
    return rc;
}

/* What it forbids must be something that can be forbidden. */
static int check_grants(struct tool_call *call, const struct slash_call *text, struct err *err)
{
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    struct permit *copy = permit_copy(call->permit);
    int rc = permit_lend(copy, &text->allow, &text->deny, &text->only, &warnings, err);

    permit_free(copy);
    return rc;
}

static int call_skill(struct tool_call *call, struct own_now *n, const struct own_command *c,
                      struct tool_result *ret, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct str body;
    CLEANUP(slash_call_release)
    struct slash_call text = {
        .host = own_now_host(n),
        .tool = call,
        .args = str_trim(json_get_str(call->args, "args")),
        .source = "",
        .cancel = cancel_ref(call->cancel),
        .prompt = BUF_INIT(SLASH_MAX_TEXT),
    };

    if (expand_command(&text, c, err) < 0 || check_grants(call, &text, err) < 0)
        return -1;
    if (c->forks)
        return skill_run_apart(call->spawner, call->identity, call->id, c, &text, call->cancel,
                               &ret->text, err);
    say_result(c, ret);
    if (own_body(c, &arena, &body, err) < 0)
        return -1;
    if (!own_now_loads(n, call->identity ? call->identity->agent : "", c->name, body)) {
        buf_addf(&ret->text, "Skill %.*s is already loaded.", STR_ARG(c->name));
        if (text.args.len)
            buf_addf(&ret->text, "\n\nARGUMENTS: %.*s", STR_ARG(text.args));
        return 0;
    }
    if (prompt_command(&text, c->name, &ret->command, err) < 0)
        return -1;
    buf_addf(&ret->text, "Launching skill: %.*s", STR_ARG(c->name));
    buf_add(&ret->follow, buf_str(&text.prompt));
    return 0;
}

static int skill_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    struct own_now *n = call->entry->arg;
    CLEANUP(own_list_unrefp) struct own_list *own = own_now_get(n);
    struct str name = wanted_name(call->args);
    const struct own_command *c = own_find(own, name);

    if (is_refused(n, own, name, c, ret))
        return 0;
    return call_skill(call, n, c, ret, err);
}

/* A host_skill_fn; arg is the own_now. */
static bool preload(void *arg, const char *agent, struct str name, struct buf *ret)
{
    struct own_now *n = arg;
    CLEANUP(own_list_unrefp) struct own_list *own = own_now_get(n);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct own_command *c = own_find(own, name);
    struct str body;

    if (!c || c->is_users || !host_offers_skill(own_now_host(n), c->name) ||
        own_body(c, &arena, &body, /*err=*/NULL) < 0)
        return false;
    (void)own_now_loads(n, agent, c->name, body);
    if (c->is_skill)
        buf_addf(ret, "Base directory for this skill: %s\n\n", c->dir);
    buf_add(ret, body);
    return true;
}

int skill_tool_add(struct host *h, struct own_now *n, struct err *err)
{
    const struct tool_entry row = {
        .name = "Skill",
        .text = skill_md,
        .schema = skill_schema,
        .arg = n,
        .more_flags = skill_more_flags,
        .about = skill_about,
        .expand = skill_expand,
        .run = skill_run,
    };

    host_set_listing(h, own_now_listing, n);
    host_set_fitting(h, own_now_fitting, n);
    host_set_skill(h, preload, n);
    return host_add_tool(h, &row, err);
}
