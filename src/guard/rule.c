/*
 * rule: parses a rule and matches it with calls. rule_command.c handles commands. Pure; any thread.
 */
#include "guard/rule.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strv.h"
#include "guard/rule_path.h"
#include "guard/rule_state.h"
#include "guard/rule_wild.h"
#include "json/json.h"

#define RULE_MAX_TEXT 4000 /* bytes */

/* --- parsing -------------------------------------------------------------------------------- */

static bool is_tool_char(char c)
{
    return str_is_alnum(c) || c == '_' || c == '-' || c == '*' || c == '.' || c == ':';
}

static int rule_check_tool(const struct rule *r, struct err *err)
{
    struct str tool = r->tool;
    size_t star = str_chr(tool, '*');

    if (!tool.len)
        return err_set(err, ERR_BAD_INPUT, "the tool's name is missing");
    for (size_t i = 0; i < tool.len; i++) {
        if (!is_tool_char(tool.ptr[i]))
            return err_set(err, ERR_BAD_INPUT, "'%.*s' cannot be the name of a tool",
                           STR_ARG(str_clip(tool, 100)));
    }
    if (r->list == RULE_ALLOW && star < tool.len) {
        struct str head = str_first(tool, star);
        bool ok = str_starts(head, STR("mcp__")) &&
                  str_find(str_from(head, 5), STR("__")) + 2 <= head.len - 5 &&
                  str_find(str_from(head, 5), STR("__")) > 0;

        if (!ok)
            return err_set(err, ERR_BAD_INPUT,
                           "an allow rule may have a '*' only after mcp__<server>__");
    }
    return 0;
}

/* "name:value" of deny and ask rules. */
static void rule_take_param(struct rule *r, struct str spec)
{
    size_t colon = str_chr(spec, ':');
    struct str name = str_first(spec, colon);

    if (r->list == RULE_ALLOW || colon == spec.len || !name.len)
        return;
    for (size_t i = 0; i < name.len; i++) {
        if (!str_is_alnum(name.ptr[i]) && name.ptr[i] != '_' && name.ptr[i] != '-')
            return;
    }
    if (str_is(name, "command") || str_is(name, "file_path") || str_is(name, "path") ||
        str_is(name, "notebook_path") || str_is(name, "url"))
        return;
    r->param = name;
    r->value = str_from(spec, colon + 1);
}

/* The pattern without the ":*" or " *" that allows more words. */
static void rule_take_pattern(struct rule *r, struct str spec)
{
    r->boundary = str_ends(spec, STR(":*")) || str_ends(spec, STR(" *"));
    r->pattern = str_first(spec, spec.len - (r->boundary ? 2 : 0));
}

static int rule_take_command(struct rule *r, struct str spec, struct err *err)
{
    r->kind = RULE_KIND_COMMAND;
    rule_take_pattern(r, spec);
    if (str_find(r->pattern, STR(":*")) < r->pattern.len)
        return err_set(err, ERR_BAD_INPUT, "':*' stands at the end of a command");
    r->pattern = str_trim(r->pattern);
    if (!r->pattern.len)
        return err_set(err, ERR_BAD_INPUT, "the command is missing");
    r->head = str_first(r->pattern, str_chr(r->pattern, ' '));
    if (rule_wild_has_star(r->head))
        r->head = (struct str){0};
    if (r->pattern.ptr[0] != '*' && r->pattern.ptr[0] != '\\')
        r->first = r->pattern.ptr[0];
    return 0;
}

static int rule_take_host(struct rule *r, struct str spec, struct err *err)
{
    r->kind = RULE_KIND_HOST;
    if (!str_starts(spec, STR("domain:"))) {
        if (r->param.len) {
            r->kind = RULE_KIND_NAME;
            r->pattern = spec;
            return 0;
        }
        return err_set(err, ERR_BAD_INPUT, "write domain:HOST between the parentheses");
    }
    r->param = (struct str){0};
    r->pattern = str_trim(str_from(spec, 7));
    if (!r->pattern.len)
        return err_set(err, ERR_BAD_INPUT, "the host is missing");
    return 0;
}

static int rule_take_specifier(struct rule *r, struct str spec, const struct rule_place *place,
                               struct err *err)
{
    rule_take_param(r, spec);
    switch (str_is(r->tool, "Cd") ? ABOUT_PATH : tool_specifier(r->tool)) { /* Cd is not a tool */
    case ABOUT_COMMAND:
        return rule_take_command(r, spec, err);
    case ABOUT_PATH:
        r->kind = RULE_KIND_PATH;
        return rule_path_parse(&r->arena, spec, r->list, place, &r->path, err);
    case ABOUT_HOST:
        return rule_take_host(r, spec, err);
    case ABOUT_NOTHING:
    case ABOUT_NAME:
        break;
    }
    r->kind = RULE_KIND_NAME;
    r->pattern = spec;
    if (r->param.len)
        return 0;
    if (str_is(r->tool, "Write") || str_is(r->tool, "MultiEdit") || str_is(r->tool, "NotebookEdit"))
        return err_set(err, ERR_BAD_INPUT,
                       "rules for paths are written Edit(…), which speaks of "
                       "every tool that writes");
    if (str_is(r->tool, "Glob") || str_is(r->tool, "Grep"))
        return err_set(err, ERR_BAD_INPUT,
                       "rules for paths are written Read(…), which speaks of "
                       "every tool that reads");
    if (str_starts(r->tool, STR("mcp__")))
        return err_set(err, ERR_BAD_INPUT, "tools of MCP servers take no '(…)' in this list");
    rule_take_pattern(r, spec);
    return 0;
}

static int rule_parse_into(struct rule *r, const struct rule_place *place, struct err *err)
{
    size_t open = str_chr(r->text, '(');
    struct str spec;

    r->tool = str_trim(str_first(r->text, open));
    if (str_is(r->tool, "Task"))
        r->tool = STR("Agent");
    if (rule_check_tool(r, err) < 0)
        return -1;
    if (open == r->text.len)
        return 0;
    if (!str_ends(r->text, STR(")")))
        return err_set(err, ERR_BAD_INPUT, "a ')' is missing");
    spec = str_trim(str_from(str_first(r->text, r->text.len - 1), open + 1));
    if (!spec.len)
        return err_set(err, ERR_BAD_INPUT, "nothing is between the parentheses");
    if (str_is(spec, "*"))
        return 0;
    if (str_chr(r->tool, '*') < r->tool.len)
        return err_set(err, ERR_BAD_INPUT, "a tool's name with '*' takes no '(…)'");
    return rule_take_specifier(r, spec, place, err);
}

int rule_parse(struct str text, enum rule_list list, const struct rule_place *place,
               struct rule **ret, struct err *err)
{
    struct rule *r;
    struct str shown = str_clip(text, 100);

    text = str_trim(text);
    if (text.len > RULE_MAX_TEXT)
        return err_set(err, ERR_BAD_INPUT, "%.*s…: a rule has at most %d bytes", STR_ARG(shown),
                       RULE_MAX_TEXT);
    if (str_chr(text, '\0') < text.len)
        return err_set(err, ERR_BAD_INPUT, "%.*s: a rule has no NUL in it", STR_ARG(shown));
    r = mem_zalloc(sizeof(*r));
    r->text = arena_str(&r->arena, text);
    r->list = list;
    if (rule_parse_into(r, place, err) < 0) {
        rule_free(r);
        return err_prefix(err, "%.*s", STR_ARG(shown));
    }
    *ret = r;
    return 0;
}

void rule_free(struct rule *r)
{
    if (!r)
        return;
    arena_release(&r->arena);
    free(r);
}

struct str rule_text(const struct rule *r)
{
    return r->text;
}

/* --- tools, hosts, names, parameters -------------------------------------------------------- */

bool rule_names_tool(const struct rule *r, struct str tool)
{
    if (str_eq(r->tool, tool)) /* the usual case */
        return true;
    if (str_eq(tool, STR("Task")))
        tool = STR("Agent");
    if (rule_wild_match(r->tool, tool))
        return true;
    /* "mcp__server" matches all its tools. */
    return str_starts(r->tool, STR("mcp__")) &&
           str_find(str_from(r->tool, 5), STR("__")) == r->tool.len - 5 &&
           str_starts(tool, r->tool) && str_starts(str_from(tool, r->tool.len), STR("__"));
}

bool rule_covers_tool(const struct rule *r, struct str tool)
{
    return r->kind == RULE_KIND_TOOL && rule_names_tool(r, tool);
}

struct str rule_host(const struct rule *r)
{
    return r->kind == RULE_KIND_HOST ? r->pattern : STR("");
}

bool rule_is_about_paths(const struct rule *r)
{
    return r->kind == RULE_KIND_PATH;
}

bool rule_is_about_reading(const struct rule *r)
{
    return r->kind == RULE_KIND_PATH && str_is(r->tool, "Read");
}

const char *rule_reach(const struct rule *r, struct arena *arena, size_t *ret_depth)
{
    return rule_path_reach(&r->path, arena, ret_depth);
}

#define LABEL_MAX 256 /* bytes; no host has longer ones */

static struct str lower_into(char *to, struct str label)
{
    for (size_t i = 0; i < label.len; i++) {
        char c = label.ptr[i];

        to[i] = c >= 'A' && c <= 'Z' ? (char)(c | 32) : c;
    }
    return str_make(to, label.len);
}

static bool label_matches(struct str pattern, struct str label)
{
    char lower_pattern[LABEL_MAX];
    char lower_label[LABEL_MAX];

    return pattern.len <= LABEL_MAX && label.len <= LABEL_MAX &&
           rule_wild_match(lower_into(lower_pattern, pattern), lower_into(lower_label, label));
}

/* A star at the front matches any number of labels, elsewhere a part of one. */
static bool host_matches(struct str pattern, struct str host)
{
    struct str p_label;
    struct str h_label;

    while (host.len && host.ptr[host.len - 1] == '.')
        host.len--;
    if (str_starts(pattern, STR("*."))) {
        struct str rest = str_from(pattern, 2);

        while (str_cut(&host, '.', &h_label)) {
            if (h_label.len && host.len && host_matches(rest, host))
                return true;
        }
        return false;
    }
    for (;;) {
        bool more = str_cut(&pattern, '.', &p_label);

        if (more != str_cut(&host, '.', &h_label))
            return false;
        if (!more)
            return true;
        if (!label_matches(p_label, h_label))
            return false;
    }
}

bool rule_text_matches(const struct rule *r, struct str text)
{
    return rule_wild_match_to(r->pattern, text, r->boundary);
}

static bool param_matches(const struct rule *r, const struct json *args)
{
    const struct json *v = r->param.len && args ? json_get_key(args, r->param) : NULL;

    if (!v || json_is(v, JSON_ARRAY) || json_is(v, JSON_OBJECT) || json_is(v, JSON_NULL))
        return false;
    return rule_wild_match(r->value, json_is(v, JSON_STRING) ? json_str(v) : json_raw(v));
}

static bool path_rule_matches(const struct rule *r, struct str tool, struct str path, bool written)
{
    bool reads = str_eq(r->tool, STR("Read"));
    bool writes = !reads && str_eq(r->tool, STR("Edit"));
    bool moves = !reads && !writes && str_eq(r->tool, STR("Cd"));

    if (!reads && !writes && !moves)
        return false;
    if (writes && !written)
        return false;
    /* What must not be read must not be written. */
    if (reads && written && r->list != RULE_DENY)
        return false;
    if (moves && !str_is(tool, "Cd"))
        return false;
    return r->kind == RULE_KIND_TOOL || rule_path_matches(&r->path, path);
}

static bool allow_rule_matches(const struct rule *r, const struct rule_subject *s)
{
    CLEANUP(strv_release) struct strv writes = STRV_INIT;
    struct rule *one = (struct rule *)r;
    const struct rule *used;

    return rules_allow_command(&one, 1, s, &writes, &used) && !writes.len;
}

static bool command_rule_matches(const struct rule *r, const struct rule_subject *s)
{
    CLEANUP(rule_command_freep) struct rule_command *own = NULL;

    if (r->list == RULE_ALLOW)
        return allow_rule_matches(r, s);
    if (!s->command)
        own = rule_command_new(s->text);
    return rule_forbids_command(r, own ? own : s->command);
}

bool rule_matches(const struct rule *r, const struct rule_subject *s)
{
    /* The usual case, and cheaper than checking the tool first. */
    if (s->command && !rule_may_forbid(r, s->command) && !param_matches(r, s->args))
        return false;
    if (rule_names_tool(r, s->tool)) {
        if (r->kind == RULE_KIND_TOOL || param_matches(r, s->args))
            return true;
        if (r->kind == RULE_KIND_HOST)
            return s->about == ABOUT_HOST && host_matches(r->pattern, s->text);
        if (r->kind == RULE_KIND_NAME)
            return s->about == ABOUT_NAME && rule_text_matches(r, s->text);
        if (r->kind == RULE_KIND_COMMAND && s->about == ABOUT_COMMAND)
            return command_rule_matches(r, s);
    }
    return s->about == ABOUT_PATH && path_rule_matches(r, s->tool, s->text, s->writes);
}

bool rule_matches_path(const struct rule *r, struct str path, bool writes)
{
    struct str tool = writes ? STR("Edit") : STR("Read");

    return (r->kind == RULE_KIND_TOOL && rule_names_tool(r, tool)) ||
           path_rule_matches(r, tool, path, writes);
}
