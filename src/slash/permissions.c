/*
 * /permissions: shows, adds and removes the permission rules of this session.
 */
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "guard/permit.h"
#include "host/host.h"
#include "json/json.h"
#include "json/jw.h"
#include "slash/answer.h"

static int permissions_run(struct slash_call *call, struct err *err);

const struct slash_command slash_permissions_entry = {
    .name = "permissions",
    .aliases = "allowed-tools",
    .hint = "[allow | ask | deny | remove <rule>]",
    .summary = "List the permission rules, add one or remove one",
    .more = "A rule is written as in the settings, e.g. `/permissions allow Bash(npm test) local`. "
            "The place is `session`, `local`, `project` or `user`; without one it counts for this "
            "session. In a folder that is not trusted nothing is allowed by `local` and `project`. "
            "`remove` takes the rule out of the place "
            "that is named, or out of the session.",
    .run = permissions_run,
};

static const struct {
    const char *word;
    const char *destination;
} places[] = {
    {"session", "session"},
    {"local", "localSettings"},
    {"project", "projectSettings"},
    {"user", "userSettings"},
};

/* The whole rule is passed as the tool's name, so that what settings would reject is rejected here,
 * too. *ret_place is where it applies now: only in the session if it could not be saved. */
static int change(struct slash_call *call, const char *type, struct str behavior, struct str rule,
                  const char *destination, const char **ret_place, struct err *err)
{
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    CLEANUP(buf_release) struct buf json = BUF_INIT(SLASH_MAX_TEXT);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *updates = NULL;
    struct jw w;

    jw_init(&w, &json, JW_CLEAN);
    jw_array(&w);
    jw_object(&w);
    jw_kcstr(&w, "type", type);
    jw_kstr(&w, "behavior", behavior);
    jw_key(&w, "rules");
    jw_array(&w);
    jw_object(&w);
    jw_kstr(&w, "toolName", rule);
    jw_object_end(&w);
    jw_array_end(&w);
    jw_kcstr(&w, "destination", destination);
    jw_object_end(&w);
    jw_array_end(&w);
    if (json_parse(&arena, buf_str(&json), &updates, /*ret_info=*/NULL, err) < 0 ||
        permit_update(host_permit(call->host), updates, &warnings, err) < 0)
        return -1;
    for (size_t i = 0; i < warnings.len; i++)
        slash_sayf(call, INK_YELLOW, "%s\n", warnings.ptr[i]);
    *ret_place = warnings.len ? "session" : destination;
    return 0;
}

/* A tool that this session does not have may be a typing error. */
static void warn_unknown_tool(struct slash_call *call, struct str rule)
{
    CLEANUP(buf_release) struct buf names = BUF_INIT(SLASH_MAX_TEXT);
    CLEANUP(buf_release) struct buf quoted = BUF_INIT(SLASH_MAX_TEXT);
    struct str tool = str_trim(str_first(rule, str_chr(rule, '(')));

    if (str_is_word_of(tool, "Task Cd") || str_starts(tool, STR("mcp__")) ||
        str_chr(tool, '*') < tool.len)
        return;
    host_tools(call->host, &names);
    buf_addf(&quoted, "\"%.*s\"", STR_ARG(tool));
    if (str_find(buf_str(&names), buf_str(&quoted)) == names.len)
        slash_sayf(call, INK_YELLOW, "There is no tool %.*s in this session.\n", STR_ARG(tool));
}

/* Settings of an untrusted folder cannot allow anything: a rule saved there would apply only until
 * the session ends. */
static int check_trust(struct slash_call *call, struct str list, const char *destination,
                       struct err *err)
{
    const struct conf *conf = host_conf(call->host);
    bool is_project = strcmp(destination, "projectSettings") == 0;
    bool is_local = strcmp(destination, "localSettings") == 0;

    if (!str_is(list, "allow") || (!is_project && !is_local) || conf_is_trusted(conf))
        return 0;
    return err_set(err, ERR_DENIED,
                   "this folder is not trusted, so its settings allow nothing, and the rule is not "
                   "written there: trust it with tenax trust add and begin anew, or take session "
                   "or user");
}

static int rule_add(struct slash_call *call, struct str list, struct str rule,
                    const char *destination, struct err *err)
{
    const char *place;

    if (check_trust(call, list, destination, err) < 0 ||
        change(call, "addRules", list, rule, destination, &place, err) < 0)
        return -1;
    slash_sayf(call, INK_PLAIN, "%.*s: %.*s (%s)\n", STR_ARG(list), STR_ARG(rule), place);
    warn_unknown_tool(call, rule);
    return 0;
}

static int rules_read(struct slash_call *call, struct arena *arena, const struct json **ret,
                      struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT); /* settings are bounded */

    permit_write(host_permit(call->host), &text);
    return json_parse(arena, arena_str(arena, buf_str(&text)), ret, /*ret_info=*/NULL, err);
}

/* Removes it from its list at that position. */
static int rule_remove(struct slash_call *call, struct str rule, const char *destination,
                       struct err *err)
{
    static const char *const lists[] = {"allow", "ask", "deny"};
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *before = NULL;
    const struct json *after = NULL;
    const char *place;

    if (rules_read(call, &arena, &before, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        if (change(call, "removeRules", str_of(lists[i]), rule, destination, &place, err) < 0)
            return -1;
    }
    if (rules_read(call, &arena, &after, err) < 0)
        return -1;
    if (json_len(before) == json_len(after))
        return err_set(err, ERR_NOT_FOUND, "there is no rule %.*s in %s",
                       STR_ARG(str_clip(rule, 100)), destination);
    slash_sayf(call, INK_PLAIN, "Removed %.*s\n", STR_ARG(rule));
    return 0;
}

static void rules_say(struct slash_call *call, const struct json *rules)
{
    slash_fact(call, "Mode", "%s", permit_mode_name(permit_mode(host_permit(call->host))));
    JSON_EACH(rules, r) {
        struct str behavior = json_get_str(r, "behavior");

        slash_sayf(call,
                   str_is(behavior, "deny")  ? INK_RED
                   : str_is(behavior, "ask") ? INK_YELLOW
                                             : INK_GREEN,
                   "%-6.*s", STR_ARG(behavior));
        slash_sayf(call, INK_PLAIN, " %.*s", STR_ARG(json_get_str(r, "rule")));
        slash_sayf(call, INK_FAINT, "  %.*s\n", STR_ARG(json_get_str(r, "source")));
    }
    if (!json_len(rules))
        slash_say(call, INK_PLAIN, STR("There are no rules here.\n"));
}

/* Shows the rules in a list to remove or add one. *ret: RULES_ADD, or the position. */
#define RULES_ADD ((size_t)-1)
#define RULES_SHOWN 300
static int rules_pick(struct slash_call *call, const struct json *rules, size_t *ret,
                      struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf note = BUF_INIT(200);
    struct choice *choices = arena_zalloc(&arena, sizeof(*choices) * (RULES_SHOWN + 1));
    struct pick p = {
        .look = PICK_SEARCH, .title = STR_INIT("Permission rules"), .choices = choices, .count = 1};

    buf_addf(&note, "Mode: %s. Enter on a rule removes it.",
             permit_mode_name(permit_mode(host_permit(call->host))));
    p.note = buf_str(&note);
    choices[0].label = STR("Add a rule");
    JSON_EACH(rules, r) {
        CLEANUP(buf_release) struct buf label = BUF_INIT(64 << 10);

        if (p.count > RULES_SHOWN)
            break;
        buf_addf(&label, "%-6.*s%.*s", STR_ARG(json_get_str(r, "behavior")),
                 STR_ARG(json_get_str(r, "rule")));
        choices[p.count++] = (struct choice){.label = arena_str(&arena, buf_str(&label)),
                                             .detail = json_get_str(r, "source")};
    }
    if (slash_pick(call, &p, ret, err) < 0)
        return -1;
    *ret = *ret ? *ret - 1 : RULES_ADD;
    return 0;
}

/* The person adds one. */
static int rule_ask(struct slash_call *call, struct err *err)
{
    static const char *const kinds[] = {"Allow without asking", "Always ask", "Deny"};
    static const char *const lists[] = {"allow", "ask", "deny"};
    static const char *const where[] = {"This session", "This project, only for me",
                                        "This project, for everyone", "All my projects"};
    CLEANUP(buf_release) struct buf rule = BUF_INIT(64 << 10);
    size_t kind;
    size_t place;

    if (slash_choose(call, "A new rule", kinds, ARRAY_LEN(kinds), &kind, err) < 0 ||
        call->front->edit(call->front->arg, STR("The rule, such as Bash(npm test)"), &rule,
                          call->cancel, err) < 0 ||
        slash_choose(call, "Where should it apply?", where, ARRAY_LEN(where), &place, err) < 0)
        return -1;
    return rule_add(call, str_of(lists[kind]), str_trim(buf_str(&rule)), places[place].destination,
                    err);
}

/* Where a rule of the list is written: its source names the file, or the session. */
static const char *destination_of(struct str source)
{
    if (str_has(source, STR("settings.local.json")))
        return "localSettings";
    if (str_has(source, STR("settings.json")))
        return str_starts(source, STR("~/")) ? "userSettings" : "projectSettings";
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        if (str_is(source, places[i].destination))
            return places[i].destination;
    }
    return "session";
}

static int rules_screen(struct slash_call *call, const struct json *rules, struct err *err)
{
    static const char *const answers[] = {"Keep it", "Remove it"};
    CLEANUP(buf_release) struct buf title = BUF_INIT(64 << 10);
    const struct json *r;
    struct str rule;
    size_t at;
    size_t removes;

    if (rules_pick(call, rules, &at, err) < 0)
        return -1;
    if (at == RULES_ADD)
        return rule_ask(call, err);
    r = json_at(rules, at);
    rule = json_get_str(r, "rule");
    buf_addf(&title, "%.*s: %.*s", STR_ARG(json_get_str(r, "behavior")), STR_ARG(rule));
    if (slash_choose(call, buf_cstr(&title), answers, ARRAY_LEN(answers), &removes, err) < 0)
        return -1;
    if (!removes)
        return err_set(err, ERR_CANCELLED, "Cancelled");
    return rule_remove(call, rule, destination_of(json_get_str(r, "source")), err);
}

static int permissions_run(struct slash_call *call, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *rules = NULL;
    const char *destination = "session";
    size_t end = str_chr(call->args, ' ');
    struct str verb = str_first(call->args, end);
    struct str rule = str_trim(str_from(call->args, end));

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        struct str word = str_of(places[i].word);

        if (rule.len > word.len && str_ends(rule, word) &&
            rule.ptr[rule.len - word.len - 1] == ' ') {
            destination = places[i].destination;
            rule = str_trim(str_first(rule, rule.len - word.len));
            break;
        }
    }
    if (str_is_word_of(verb, "allow ask deny") && rule.len)
        return rule_add(call, verb, rule, destination, err);
    if (str_is(verb, "remove") && rule.len)
        return rule_remove(call, rule, destination, err);
    if (str_is(verb, "add") && !rule.len && call->front)
        return rule_ask(call, err);
    if (call->args.len)
        return err_set(err, ERR_BAD_INPUT, "usage: /permissions %s", slash_permissions_entry.hint);
    if (rules_read(call, &arena, &rules, err) < 0)
        return -1;
    if (call->front)
        return rules_screen(call, rules, err);
    rules_say(call, rules);
    return 0;
}
