/*
 * settings: JSON walked once, each handler judged by itself. A broken one costs nobody else
 * theirs. Runs on the thread that builds the session.
 */
#include "hooks/settings.h"

#include <stdarg.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "conf/rule.h"
#include "hooks/point.h"
#include "json/json.h"

struct reading {
    const struct conf *conf;
    struct hook_registry *registry;
    struct strv *warnings;
    enum hook_event event;
    struct str origin;  /* of the group */
    size_t group, hook; /* numbers */
    struct hook_entry where;
};

/* "file:3:5: hooks.Stop[0].hooks[1]: <what>" */
static void warn(const struct reading *r, bool of_hook, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void warn(const struct reading *r, bool of_hook, const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT); /* a path and clipped names */
    va_list args;

    buf_addf(&line, "%.*s: hooks.%s[%zu]", STR_ARG(r->origin), hook_event_name(r->event), r->group);
    if (of_hook)
        buf_addf(&line, ".hooks[%zu]", r->hook);
    buf_adds(&line, ": ");
    va_start(args, fmt);
    buf_addv(&line, fmt, args);
    va_end(args);
    strv_add(r->warnings, buf_str(&line));
}

enum hook_limit settings_limit(const struct conf *conf)
{
    if (conf_get_bool(conf, "disableAllHooks", false))
        return HOOK_LIMIT_DISABLED;
    if (conf_get_bool(conf, "allowManagedHooksOnly", false))
        return HOOK_LIMIT_MANAGED;
    return HOOK_LIMIT_NONE;
}

/* A text that a child can be given; false when it is there and cannot be used. */
static bool read_text(const struct reading *r, const struct json *o, const char *key, bool required,
                      struct str *ret)
{
    const struct json *v = json_get(o, key);
    struct str text = json_str(v);

    if (!v && !required)
        return true;
    if (!json_is(v, JSON_STRING) || (required && !str_trim(text).len)) {
        warn(r, true, "'%s' must be a text%s; left out", key, required ? " that is not empty" : "");
        return false;
    }
    if (str_chr(text, '\0') < text.len || text.len > HANDLER_MAX_TEXT) {
        warn(r, true, "'%s' %s; left out", key,
             text.len > HANDLER_MAX_TEXT ? "is longer than 128 KB" : "holds a NUL character");
        return false;
    }
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

/* The rule of "if". A rule that makes no sense keeps no hook from running: it may be a guard. */
static struct rule *read_condition(const struct reading *r, const struct json *o)
{
    const char *home = conf_env(r->conf, "HOME");
    struct rule_place place = {.source = conf_dir(r->conf), .cwd = conf_dir(r->conf)};
    const struct json *v = json_get(o, "if");
    struct rule *rule = NULL;
    struct err err = {0};

    place.home = home && home[0] == '/' ? home : path_home();
    if (v && rule_parse(json_str(v), RULE_ASK, &place, &rule, &err) < 0)
        warn(r, true, "'if' is no permission rule, so the hook always runs: %s", err.text);
    return rule;
}

static bool read_args(const struct reading *r, const struct json *o, struct strv *ret, bool *ret_is)
{
    const struct json *v = json_get(o, "args");

    *ret_is = v;
    if (v && !json_is(v, JSON_ARRAY)) {
        warn(r, true, "'args' must be a list of texts; left out");
        return false;
    }
    JSON_EACH(v, it) {
        if (!json_is(it, JSON_STRING) || str_chr(json_str(it), '\0') < json_str(it).len) {
            warn(r, true, "'args' must be a list of texts; left out");
            return false;
        }
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
    if (s->flags & HANDLER_FAILURE_BLOCKS && !(point_of(r->event)->flags & POINT_GUARDED))
        warn(r, true, "'onFailure' has no effect at %s", hook_event_name(r->event));
}

static bool read_command(const struct reading *r, const struct json *o, struct handler_spec *s,
                         struct strv *args)
{
    bool has_args;

    if (!read_text(r, o, "command", true, &s->command) ||
        !read_text(r, o, "shell", false, &s->shell) || !read_args(r, o, args, &has_args))
        return false;
    if (s->shell.len && !str_is(s->shell, "bash") && !str_is(s->shell, "powershell")) {
        warn(r, true, "'shell' must be bash or powershell; left out");
        return false;
    }
    s->args = has_args ? args : NULL;
    read_failure(r, o, s);
    if (read_bool(r, o, "async"))
        s->flags |= HANDLER_ASYNC;
    if (read_bool(r, o, "asyncRewake")) {
        s->flags |= HANDLER_ASYNC;
        warn(r, true,
             "'asyncRewake' wakes nobody in this version: what it says is heard with the "
             "next prompt");
    }
    return true;
}

static bool read_prompt(const struct reading *r, const struct json *o, struct handler_spec *s)
{
    if (!(point_of(r->event)->flags & POINT_PROMPTS)) {
        warn(r, true, "no model is asked at %s; left out", hook_event_name(r->event));
        return false;
    }
    if (read_bool(r, o, "continueOnBlock"))
        s->flags |= HANDLER_CONTINUE_ON_BLOCK;
    return read_text(r, o, "prompt", true, &s->prompt) &&
           read_text(r, o, "model", false, &s->model);
}

static bool read_type(const struct reading *r, const struct json *o, struct handler_spec *s,
                      struct strv *args)
{
    struct str type = json_get_str(o, "type");

    if (str_is(type, "command")) {
        s->type = HANDLER_COMMAND;
        return read_command(r, o, s, args);
    }
    if (str_is(type, "prompt")) {
        s->type = HANDLER_PROMPT;
        return read_prompt(r, o, s);
    }
    if (str_is_word_of(type, "http mcp_tool agent"))
        warn(r, true, "hooks of type %.*s are known, but not run by this version; left out",
             STR_ARG(type));
    else
        warn(r, true, "'type' must be command or prompt; left out");
    return false;
}

static void read_handler(const struct reading *r, const struct json *o)
{
    CLEANUP(strv_release) struct strv args = STRV_INIT;
    struct handler_spec spec = {.origin = r->origin};
    bool is_about_call = point_of(r->event)->flags & POINT_CALL;
    struct hook_handler *h;
    struct err err = {0};

    if (!json_is(o, JSON_OBJECT)) {
        warn(r, true, "must be an object; left out");
        return;
    }
    if (json_get(o, "if") && !is_about_call) {
        warn(r, true, "'if' speaks of tool calls, so at %s this never runs; left out",
             hook_event_name(r->event));
        return;
    }
    if (!read_type(r, o, &spec, &args) || !read_text(r, o, "statusMessage", false, &spec.status))
        return;
    spec.timeout_ms = read_timeout(r, o);
    spec.only = read_condition(r, o);
    h = hook_handler_new(&spec);
    if (hook_registry_add(r->registry, &r->where, h, &err) < 0)
        warn(r, true, "%s; left out", err.text);
    hook_handler_unref(h);
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
    if (matcher && (!json_is(matcher, JSON_STRING) ||
                    str_chr(json_str(matcher), '\0') < json_str(matcher).len)) {
        warn(r, false, "'matcher' must be a text; left out");
        return;
    }
    if (matcher && !hook_matcher_is_valid(json_str(matcher)))
        warn(r, false, "'matcher' is no regular expression, so nothing matches it");
    text = mem_dup(json_str(matcher).ptr ? json_str(matcher).ptr : "", json_str(matcher).len);
    r->where.matcher = text;
    r->hook = 0;
    JSON_EACH(hooks, handler) {
        read_handler(r, handler);
        r->hook++;
    }
}

static void read_event(struct reading *r, const struct json *list)
{
    struct str name = json_key(list);

    r->where.event = r->event;
    r->group = 0;
    JSON_EACH(list, group) {
        CLEANUP(buf_release) struct buf key = BUF_INIT(200);

        buf_addf(&key, "hooks.%.*s.%zu", STR_ARG(name), r->group);
        r->origin = conf_origin(r->conf, buf_cstr(&key));
        r->where.source = conf_is_managed(r->conf, buf_cstr(&key)) ? HOOK_MANAGED : HOOK_SETTINGS;
        read_group(r, group);
        r->group++;
    }
}

void settings_read(const struct conf *conf, struct hook_registry *registry,
                   struct strv *ret_warnings)
{
    struct reading r = {.conf = conf, .registry = registry, .warnings = ret_warnings};

    JSON_EACH(conf_get(conf, "hooks"), list) {
        CLEANUP(buf_release) struct buf key = BUF_INIT(200);
        struct str name = json_key(list);
        struct str shown = str_clip(name, 80);
        struct str near = point_nearest(name);
        struct str origin;

        buf_addf(&key, "hooks.%.*s", STR_ARG(shown));
        origin = conf_origin(conf, buf_cstr(&key));
        if (hook_event_parse(name, &r.event)) {
            if (json_len(list) && point_of(r.event)->flags & POINT_IDLE)
                strv_addf(ret_warnings,
                          "%.*s: hooks.%.*s: this version never comes to this event, so nothing "
                          "runs there",
                          STR_ARG(origin), STR_ARG(shown));
            read_event(&r, list);
        } else if (point_comes_later(name)) {
            strv_addf(ret_warnings,
                      "%.*s: hooks.%.*s: the event is known, but nothing runs there in this "
                      "version",
                      STR_ARG(origin), STR_ARG(shown));
        } else {
            strv_addf(ret_warnings, "%.*s: hooks.%.*s: there is no such event%s%.*s%s",
                      STR_ARG(origin), STR_ARG(shown), near.len ? "; did you mean '" : "",
                      STR_ARG(near), near.len ? "'?" : "");
        }
    }
}
