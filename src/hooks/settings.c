/*
 * settings: walks the JSON once and checks each handler on its own, so that an invalid one does not
 * affect others. Runs on the thread that builds the session.
 */
#include "hooks/settings.h"

#include <stdarg.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "conf/nearest.h"
#include "conf/plugin.h"
#include "guard/rule.h"
#include "hooks/point.h"
#include "json/json.h"
#include "net/net.h"

struct reading {
    const struct conf *conf;
    const struct skill_hooks *skill; /* NULL = the settings are read */
    const struct plugin *plugin;     /* their plugin; or NULL */
    const char *file;               /* of the skill or plugin; NULL = use the settings' positions */
    struct hook_registry *registry; /* NULL = register nothing */
    struct strv *warnings;          /* may be NULL */
    struct settings_rows *rows;     /* may be NULL */
    struct str name;                /* of the event */
    enum hook_event event;          /* valid if the event is known */
    bool is_later;                  /* else */
    struct str why_never;           /* why no handler runs for this event; or empty */
    struct str origin;              /* of the group */
    size_t group, hook;             /* numbers */
    struct hook_entry where;
    struct buf why_not; /* why the current handler is not used; empty = it is used */
};

/* "file:3:5: hooks.Stop[0].hooks[1]: <what>" */
static void warn_text(const struct reading *r, bool of_hook, struct str text, const char *end)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT); /* a path and clipped names */

    if (!r->warnings)
        return;
    buf_addf(&line, "%.*s: hooks.%.*s[%zu]", STR_ARG(r->origin), STR_ARG(r->name), r->group);
    if (of_hook)
        buf_addf(&line, ".hooks[%zu]", r->hook);
    buf_addf(&line, ": %.*s%s", STR_ARG(text), end);
    strv_add(r->warnings, buf_str(&line));
}

static void warn(const struct reading *r, bool of_hook, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void warn(const struct reading *r, bool of_hook, const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    va_list args;

    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    warn_text(r, of_hook, buf_str(&text), "");
}

/* Marks the handler as unusable. */
static bool leave_out(struct reading *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

static bool leave_out(struct reading *r, const char *fmt, ...)
{
    va_list args;

    buf_clear(&r->why_not);
    va_start(args, fmt);
    buf_addv(&r->why_not, fmt, args);
    va_end(args);
    warn_text(r, true, buf_str(&r->why_not), "; left out");
    return false;
}

/* Its position: "file:line:column", or the skill's file. */
static struct str origin_of(const struct reading *r, const char *key)
{
    return r->file ? str_of(r->file) : conf_origin(r->conf, key);
}

enum hook_limit settings_limit(const struct conf *conf)
{
    if (conf_get_bool(conf, "disableAllHooks", false))
        return HOOK_LIMIT_DISABLED;
    if (conf_get_bool(conf, "allowManagedHooksOnly", false))
        return HOOK_LIMIT_MANAGED;
    return HOOK_LIMIT_NONE;
}

/* Reads a text that can be passed to a child; false if it is present but invalid. */
static bool read_text(struct reading *r, const struct json *o, const char *key, bool required,
                      struct str *ret)
{
    const struct json *v = json_get(o, key);
    struct str text = json_str(v);

    if (!v && !required)
        return true;
    if (!json_is(v, JSON_STRING) || (required && !str_trim(text).len))
        return leave_out(r, "'%s' must be a text%s", key, required ? " that is not empty" : "");
    if (str_chr(text, '\0') < text.len || text.len > HANDLER_MAX_TEXT)
        return leave_out(r, "'%s' %s", key,
                         text.len > HANDLER_MAX_TEXT ? "is longer than 128 KB"
                                                     : "holds a NUL character");
    *ret = text;
    return true;
}

static bool read_bool(const struct reading *r, const struct json *o, const char *key)
{
    const struct json *v = json_get(o, key);

    if (v && !json_is(v, JSON_BOOL))
        warn(r, true, "'%s' must be true or false, not %s; taken for false", key,
             json_type_name(json_type(v)));
    return json_bool(v, false);
}

static int64_t read_timeout(const struct reading *r, const struct json *o)
{
    const struct json *v = json_get(o, "timeout");
    double seconds;

    if (!v)
        return 0;
    if (!json_double(v, &seconds) || !(seconds > 0)) {
        warn(r, true, "'timeout' must be a number of seconds above 0; the default is used");
        return 0;
    }
    if (seconds > (double)HANDLER_MAX_TIMEOUT_MS / 1000)
        return HANDLER_MAX_TIMEOUT_MS;
    return seconds > 0.001 ? (int64_t)(seconds * 1000) : 1;
}

/* Reads the rule of "if". An invalid rule does not prevent the hook from running, since it may be a
 * guard. */
static struct rule *read_condition(const struct reading *r, const struct json *o)
{
    struct rule_place place = {
        .source = conf_dir(r->conf), .cwd = conf_dir(r->conf), .home = conf_user_home(r->conf)};
    const struct json *v = json_get(o, "if");
    struct rule *rule = NULL;
    struct err err = {0};

    if (v && rule_parse(json_str(v), RULE_ASK, &place, &rule, &err) < 0)
        warn(r, true, "'if' is no permission rule, so the hook always runs: %s", err.text);
    return rule;
}

/* Reads a list of texts; *ret_is: it is present. */
static bool read_list(struct reading *r, const struct json *o, const char *key, struct strv *ret,
                      bool *ret_is)
{
    const struct json *v = json_get(o, key);

    *ret_is = v;
    if (v && !json_is(v, JSON_ARRAY))
        return leave_out(r, "'%s' must be a list of texts", key);
    JSON_EACH(v, it) {
        if (!json_is(it, JSON_STRING) || str_chr(json_str(it), '\0') < json_str(it).len)
            return leave_out(r, "'%s' must be a list of texts", key);
        strv_add(ret, json_str(it));
    }
    return true;
}

static void read_failure(const struct reading *r, const struct json *o, struct handler_spec *s)
{
    struct str word = json_get_str(o, "onFailure");

    if (str_is(word, "block"))
        s->flags |= HANDLER_FAILURE_BLOCKS;
    else if (json_get(o, "onFailure") && !str_is(word, "continue"))
        warn(r, true, "'onFailure' must be continue or block; taken for continue");
    if (!(s->flags & HANDLER_FAILURE_BLOCKS))
        return;
    if (s->flags & HANDLER_ASYNC)
        warn(r, true, "'onFailure' has no effect on a hook that runs in the background");
    else if (!(point_of(r->event)->flags & POINT_GUARDED))
        warn(r, true, "'onFailure' has no effect at %s", hook_event_name(r->event));
}

static bool read_command(struct reading *r, const struct json *o, struct handler_spec *s,
                         struct strv *args)
{
    bool has_args;

    if (!read_text(r, o, "command", true, &s->command) ||
        !read_text(r, o, "shell", false, &s->shell) || !read_list(r, o, "args", args, &has_args))
        return false;
    if (s->shell.len && !str_is(s->shell, "bash") && !str_is(s->shell, "powershell"))
        return leave_out(r, "'shell' must be bash or powershell");
    s->args = has_args ? args : NULL;
    if (read_bool(r, o, "async"))
        s->flags |= HANDLER_ASYNC;
    if (read_bool(r, o, "asyncRewake"))
        s->flags |= HANDLER_ASYNC | HANDLER_REWAKE;
    read_failure(r, o, s);
    return true;
}

static bool read_headers(struct reading *r, const struct json *o, struct strv *ret)
{
    const struct json *headers = json_get(o, "headers");

    if (headers && !json_is(headers, JSON_OBJECT))
        return leave_out(r, "'headers' must be an object");
    JSON_EACH(headers, header) {
        struct str name = json_key(header);
        struct str value = json_str(header);

        if (!net_is_token(name) || !json_is(header, JSON_STRING) ||
            str_chr(value, '\0') < value.len || str_chr(value, '\n') < value.len ||
            str_chr(value, '\r') < value.len)
            return leave_out(r, "'headers' must have names and texts of one line");
        strv_addf(ret, "%.*s: %.*s", STR_ARG(name), STR_ARG(value));
    }
    return true;
}

static bool read_http(struct reading *r, const struct json *o, struct handler_spec *s,
                      struct strv *headers, struct strv *allowed)
{
    struct err err = {0};
    bool has_allowed;

    if (point_of(r->event)->flags & POINT_LOCAL)
        return leave_out(r, "only commands run at %s", hook_event_name(r->event));
    if (!read_text(r, o, "url", true, &s->url) || !read_headers(r, o, headers) ||
        !read_list(r, o, "allowedEnvVars", allowed, &has_allowed))
        return false;
    if (net_check_url(s->url, &err) < 0)
        return leave_out(r, "'url': %s", err.text);
    s->headers = headers;
    s->allowed = allowed;
    read_failure(r, o, s);
    return true;
}

static bool read_prompt(struct reading *r, const struct json *o, struct handler_spec *s)
{
    if (!(point_of(r->event)->flags & POINT_PROMPTS))
        return leave_out(r, "no model is asked at %s", hook_event_name(r->event));
    if (read_bool(r, o, "continueOnBlock"))
        s->flags |= HANDLER_CONTINUE_ON_BLOCK;
    return read_text(r, o, "prompt", true, &s->prompt) &&
           read_text(r, o, "model", false, &s->model);
}

/* Lists that a spec points to. */
struct handler_lists {
    struct strv args, headers, allowed;
};

static void handler_lists_release(struct handler_lists *l)
{
    strv_release(&l->args);
    strv_release(&l->headers);
    strv_release(&l->allowed);
}

static bool read_type(struct reading *r, const struct json *o, struct handler_spec *s,
                      struct handler_lists *lists)
{
    struct str type = json_get_str(o, "type");

    if (str_is(type, "command")) {
        s->type = HANDLER_COMMAND;
        return read_command(r, o, s, &lists->args);
    }
    if (str_is(type, "http")) {
        s->type = HANDLER_HTTP;
        return read_http(r, o, s, &lists->headers, &lists->allowed);
    }
    if (str_is(type, "prompt")) {
        s->type = HANDLER_PROMPT;
        return read_prompt(r, o, s);
    }
    if (str_is_word_of(type, "mcp_tool agent"))
        return leave_out(r, "hooks of type %.*s are known, but not run by this version",
                         STR_ARG(type));
    return leave_out(r, "'type' must be command, http or prompt");
}

/* Whether the file is written for Claude Code, so that unknown fields are normal. */
static bool is_claudes(const struct reading *r)
{
    const char *home = conf_claude_home(r->conf);

    return r->plugin || str_has(r->origin, STR("/.claude/")) ||
           str_has(r->origin, STR("/claude-code/")) || str_starts(r->origin, str_of(home));
}

/* Warns of members that no handler of its type has: a misspelling, or one that belongs elsewhere.
 */
static void read_unknown(const struct reading *r, const struct json *o, enum handler_type type)
{
    static const char *const fields[] = {
        [HANDLER_COMMAND] = "command args shell async asyncRewake onFailure",
        [HANDLER_HTTP] = "url headers allowedEnvVars onFailure",
        [HANDLER_PROMPT] = "prompt model continueOnBlock",
    };

    JSON_EACH(o, field) {
        struct str name = json_key(field);

        if (str_is(name, "once") && r->skill)
            continue;
        if (str_is(name, "once"))
            warn(r, true, "'once' counts only for hooks that a skill brings");
        else if (!str_is_word_of(name, "type if timeout statusMessage") &&
                 !str_is_word_of(name, fields[type]) && !is_claudes(r))
            warn(r, true, "a hook of type %s has no '%.*s'", handler_type_name(type),
                 STR_ARG(str_clip(name, 80)));
    }
}

static void read_handler(struct reading *r, const struct json *o)
{
    CLEANUP(handler_lists_release) struct handler_lists lists = {0};
    struct handler_spec spec = {.origin = r->origin};
    struct hook_handler *h;
    struct err err = {0};

    if (!json_is(o, JSON_OBJECT)) {
        (void)leave_out(r, "must be an object");
        return;
    }
    if (json_get(o, "if") && !(point_of(r->event)->flags & POINT_CALL)) {
        (void)leave_out(r, "'if' speaks of tool calls, so at %s this never runs",
                        hook_event_name(r->event));
        return;
    }
    if (!read_type(r, o, &spec, &lists) || !read_text(r, o, "statusMessage", false, &spec.status))
        return;
    read_unknown(r, o, spec.type);
    if (r->skill && read_bool(r, o, "once"))
        spec.flags |= HANDLER_ONCE;
    if (r->plugin) {
        spec.plugin_root = str_of(r->plugin->root);
        spec.plugin_data = str_of(r->plugin->data);
    }
    spec.timeout_ms = read_timeout(r, o);
    spec.only = read_condition(r, o);
    h = hook_handler_new(&spec);
    if (r->registry && hook_registry_add(r->registry, &r->where, h, &err) < 0)
        (void)leave_out(r, "%s", err.text);
    hook_handler_unref(h);
}

static void list_handler(struct reading *r, const struct json *o)
{
    struct settings_row row = {
        .event = r->name,
        .matcher = str_of(r->where.matcher),
        .type = json_get_str(o, "type"),
        .origin = r->origin,
        .is_managed = r->where.source == HOOK_MANAGED,
        .why_not = r->why_not.len ? buf_str(&r->why_not) : r->why_never,
    };

    settings_rows_add(r->rows, &row, o, settings_limit(r->conf));
}

/* Warns of "matchr": a hook for some calls would run for all. */
static void warn_of_members(const struct reading *r, const struct json *group)
{
    JSON_EACH(group, v) {
        struct nearest near;

        if (str_is_word_of(json_key(v), "matcher hooks"))
            continue;
        nearest_init(&near, json_key(v));
        nearest_offer_words(&near, "matcher hooks");
        warn(r, false, "'%.*s' is not known here and has no effect%s%.*s%s",
             STR_ARG(str_clip(json_key(v), 80)), near.best.len ? "; did you mean '" : "",
             STR_ARG(near.best), near.best.len ? "'?" : "");
    }
}

static void read_group(struct reading *r, const struct json *group)
{
    const struct json *matcher = json_get(group, "matcher");
    const struct json *hooks = json_get(group, "hooks");
    CLEANUP(mem_freep) char *text = NULL;

    if (!json_is(group, JSON_OBJECT) || !json_is(hooks, JSON_ARRAY)) {
        warn(r, false, "must be an object with a list 'hooks'; left out");
        return;
    }
    warn_of_members(r, group);
    if (matcher && (!json_is(matcher, JSON_STRING) ||
                    str_chr(json_str(matcher), '\0') < json_str(matcher).len)) {
        warn(r, false, "'matcher' must be a text; left out");
        return;
    }
    if (matcher && !r->why_never.len && !hook_matcher_is_valid(r->event, json_str(matcher)))
        warn(r, false, "'matcher' is no regular expression, so nothing matches it");
    else if (json_str(matcher).len && !str_is(json_str(matcher), "*") && !r->why_never.len &&
             !(point_of(r->event)->flags & POINT_MATCHES))
        warn(r, false, "'matcher' has no effect at this event: there is nothing to match");
    text = mem_dup(json_str(matcher).ptr ? json_str(matcher).ptr : "", json_str(matcher).len);
    r->where.matcher = text;
    r->hook = 0;
    JSON_EACH(hooks, handler) {
        buf_clear(&r->why_not);
        if (!r->is_later)
            read_handler(r, handler);
        if (r->rows)
            list_handler(r, handler);
        r->hook++;
    }
}

static void read_event(struct reading *r, const struct json *list)
{
    r->where.event = r->event;
    r->group = 0;
    JSON_EACH(list, group) {
        CLEANUP(buf_release) struct buf key = BUF_INIT(200);

        buf_addf(&key, "hooks.%.*s.%zu", STR_ARG(r->name), r->group);
        r->origin = origin_of(r, buf_cstr(&key));
        r->where.source = r->skill                                   ? HOOK_SESSION
                          : r->file                                  ? HOOK_SETTINGS
                          : conf_is_managed(r->conf, buf_cstr(&key)) ? HOOK_MANAGED
                                                                     : HOOK_SETTINGS;
        read_group(r, group);
        r->group++;
    }
}

/* Whether the file is for another program, which has more events. */
static bool are_others(const struct reading *r, const char *key)
{
    return r->plugin || (!r->file && conf_is_claudes(r->conf, key));
}

/* Checks whether handlers can be read there, and why they would not run. */
static bool read_name(struct reading *r)
{
    CLEANUP(buf_release) struct buf key = BUF_INIT(200);
    struct str near = point_nearest(r->name);
    struct str origin;

    buf_addf(&key, "hooks.%.*s", STR_ARG(r->name));
    origin = origin_of(r, buf_cstr(&key));
    r->is_later = false;
    r->why_never = STR("");
    if (hook_event_parse(r->name, &r->event))
        return true;
    r->is_later = true;
    if (point_comes_later(r->name)) {
        r->why_never = STR("not yet run: the event is known, but has no effect here");
        if (r->warnings && !are_others(r, buf_cstr(&key)))
            strv_addf(r->warnings,
                      "%.*s: hooks.%.*s: the event is known, but has no effect in this "
                      "version",
                      STR_ARG(origin), STR_ARG(r->name));
        return r->rows;
    }
    r->why_never = STR("there is no such event");
    if (r->warnings)
        strv_addf(r->warnings, "%.*s: hooks.%.*s: there is no such event%s%.*s%s", STR_ARG(origin),
                  STR_ARG(r->name), near.len ? "; did you mean '" : "", STR_ARG(near),
                  near.len ? "'?" : "");
    return r->rows;
}

static void read_all(struct reading *r, const struct json *hooks)
{
    buf_init(&r->why_not, BUF_NO_LIMIT); /* clipped names */
    JSON_EACH(hooks, list) {
        r->name = str_clip(json_key(list), 80);
        if (read_name(r))
            read_event(r, list);
    }
    buf_release(&r->why_not);
}

static void read_plugins(struct reading *r)
{
    VEC_EACH(&plugins_get(r->conf)->list, it) {
        VEC_EACH(&(*it)->hooks, object) {
            r->plugin = *it;
            r->file = object->file;
            read_all(r, object->value);
        }
    }
}

void settings_read(const struct conf *conf, struct hook_registry *registry,
                   struct strv *ret_warnings)
{
    struct reading r = {.conf = conf, .registry = registry, .warnings = ret_warnings};

    read_all(&r, conf_get(conf, "hooks"));
    read_plugins(&r);
}

int settings_read_skill(const struct conf *conf, const struct skill_hooks *skill,
                        struct hook_registry *registry, struct strv *ret_warnings, struct err *err)
{
    struct hook_registry *fresh = hook_registry_new(settings_limit(conf));
    struct reading r = {.conf = conf,
                        .skill = skill,
                        .plugin = skill->plugin,
                        .file = skill->file,
                        .registry = fresh,
                        .warnings = ret_warnings,
                        .where = {.skill_root = skill->root}};
    int rc;

    read_all(&r, skill->hooks);
    rc = hook_registry_renew_skill(registry, skill->root, fresh, err);
    hook_registry_free(fresh);
    return rc;
}

void settings_list(const struct conf *conf, struct settings_rows *ret)
{
    struct reading r = {.conf = conf, .rows = ret};

    read_all(&r, conf_get(conf, "hooks"));
    read_plugins(&r);
}
