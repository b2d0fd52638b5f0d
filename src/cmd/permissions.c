/*
 * permissions: lists the rules that apply in this folder with their sources; and checks one call,
 * showing the rule that decides. The answer is that of a session started here and now, including
 * options. Main thread.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/tool.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "cmd/cmd.h"
#include "conf/conf.h"
#include "conf/rule_list.h"
#include "guard/permit.h"
#include "guard/sandbox.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/jw.h"

static int permissions_run(struct cmd *c);

const struct command cmd_permissions = {
    .usage =
        {
            .name = "permissions",
            .args = "[list | check 'TOOL(...)' | check -- COMMAND]",
            .words = "list check",
            .only_words = true,
            .summary = "List permission rules, or explain a decision",
            .details = "list shows each rule with its file and line; check names the rule that "
                       "decides about a call.",
            .options = (const enum option_id[]){OPT_JSON, OPT_TRUST, OPT_MANAGED_SETTINGS,
                                                OPT_PERMISSION_MODE, OPT_ALLOWED_TOOLS,
                                                OPT_DISALLOWED_TOOLS, OPT_ADD_DIR, OPT_COUNT},
        },
    .run = permissions_run,
};

/* Settings, folders and rules of a session here. */
struct permission_setting {
    struct conf *conf;
    struct workspace *workspace;
    struct permit *permit;
    struct sandbox *sandbox; /* confined commands need fewer permissions */
};

static void setting_release(struct permission_setting *s)
{
    permit_free(s->permit);
    sandbox_free(s->sandbox);
    workspace_unref(s->workspace);
    conf_unref(s->conf);
}

static int setting_make(struct permission_setting *s, struct cmd *c)
{
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    struct err err = {0};
    int code = cmd_conf(c, &s->conf);

    if (code)
        return code;
    s->workspace = workspace_new(conf_dir(s->conf), conf_home(s->conf), conf_environ(s->conf));
    if (permit_new(s->conf, s->workspace, &warnings, &s->permit, &err) < 0) {
        say_error(&err);
        return EXIT_USAGE;
    }
    s->sandbox =
        sandbox_new(&(struct sandbox_spec){.conf = s->conf, .workspace = s->workspace}, &warnings);
    permit_set_sandbox(s->permit, s->sandbox);
    for (size_t i = 0; i < warnings.len; i++)
        say("%s", warnings.ptr[i]);
    return 0;
}

/* --- list ----------------------------------------------------------------------------------- */

static void write_folders(const struct permission_setting *s, struct jw *w)
{
    CLEANUP(strv_release) struct strv dirs = STRV_INIT;

    workspace_dirs(s->workspace, &dirs);
    jw_key(w, "directories");
    jw_array(w);
    for (size_t i = 0; i < dirs.len; i++)
        jw_cstr(w, dirs.ptr[i]);
    jw_array_end(w);
}

static void list_json(const struct permission_setting *s, const struct json *rules, struct buf *out)
{
    struct jw w;

    jw_init(&w, out, JW_PRETTY);
    jw_object(&w);
    jw_kcstr(&w, "mode", permit_mode_name(permit_mode(s->permit)));
    write_folders(s, &w);
    jw_kjson(&w, "rules", rules);
    jw_object_end(&w);
    buf_addc(out, '\n');
}

/* Where a rule is written, for people; programs know it by the name that Claude Code gives it. */
static struct str shown_source(struct str source)
{
    return str_is(source, "cliArg") ? STR("the command line") : source;
}

/* deny   Bash(rm *)
 *     ~/.tenax/settings.json:3:12 */
static void list_text(const struct permission_setting *s, const struct json *rules, struct buf *out)
{
    CLEANUP(strv_release) struct strv dirs = STRV_INIT;

    workspace_dirs(s->workspace, &dirs);
    buf_addf(out, "mode   %s\n", permit_mode_name(permit_mode(s->permit)));
    for (size_t i = 0; i < dirs.len; i++)
        buf_addf(out, "%s %s\n", i ? "      " : "folder", dirs.ptr[i]);
    JSON_EACH(rules, r) {
        buf_addf(out, "%-6.*s %.*s\n    %.*s\n", STR_ARG(json_get_str(r, "behavior")),
                 STR_ARG(json_get_str(r, "rule")),
                 STR_ARG(shown_source(json_get_str(r, "source"))));
    }
    if (!json_len(rules))
        buf_adds(out, "There are no rules here.\n");
}

static int permissions_list(const struct permission_setting *s, bool json, struct buf *out)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT); /* settings are bounded */
    const struct json *rules;
    struct err err = {0};

    permit_write(s->permit, &text);
    if (json_parse(&arena, buf_str(&text), &rules, /*ret_info=*/NULL, &err) < 0)
        BUG("the list of rules: %s", err.text);
    if (json)
        list_json(s, rules, out);
    else
        list_text(s, rules, out);
    return EXIT_OK;
}

/* --- check ---------------------------------------------------------------------------------- */

/* Properties of the tools with these names; for others only the name is known. */
static const struct {
    const char *tools;
    enum rule_about about;
    bool writes;
    unsigned flags;
} kinds[] = {
    {"Bash", ABOUT_COMMAND, false, 0},
    {"Read Grep Glob", ABOUT_PATH, false, TOOL_READ_ONLY},
    {"Edit Write MultiEdit NotebookEdit", ABOUT_PATH, true, TOOL_EDITS},
    {"WebFetch", ABOUT_HOST, false, TOOL_READ_ONLY},
    {"Agent Task Skill", ABOUT_NAME, false, 0},
};

/* "domain:h", "https://h/x" and "h" are the host h. */
static struct str host_of(struct str text)
{
    size_t scheme = str_find(text, STR("://"));

    if (str_starts(text, STR("domain:")))
        return str_from(text, 7);
    if (scheme < text.len)
        text = str_from(text, scheme + 3);
    return str_first(text, str_chr(text, '/'));
}

/* "Tool(…)", or a tool alone; everything else is a command. */
static unsigned call_of(const struct permission_setting *s, struct str text, struct arena *arena,
                        struct rule_subject *ret)
{
    size_t open = str_chr(text, '(');
    struct str tool = str_first(text, open);
    struct str inside = str_from(str_first(text, text.len - 1), open + 1);

    *ret = (struct rule_subject){.tool = STR("Bash"), .about = ABOUT_COMMAND, .text = text};
    if (open < text.len && !str_ends(text, STR(")")))
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (!str_is_word_of(tool, kinds[i].tools) || open == text.len)
            continue;
        ret->tool = tool;
        ret->about = kinds[i].about;
        ret->writes = kinds[i].writes;
        ret->text = inside;
        if (ret->about == ABOUT_HOST)
            ret->text = host_of(inside);
        if (ret->about == ABOUT_PATH) {
            CLEANUP(mem_freep) char *path = workspace_resolve(s->workspace, inside);

            ret->text = arena_str(arena, str_of(path));
        }
        return kinds[i].flags;
    }
    if (str_starts(tool, STR("mcp__")) || rule_list_is(text))
        *ret = (struct rule_subject){.tool = tool, .text = STR("")};
    return 0;
}

static const char *const verdicts[] = {
    [PERMIT_ALLOW] = "allow", [PERMIT_ASK] = "ask", [PERMIT_DENY] = "deny"};

static int permissions_check(const struct permission_setting *s, struct str text, bool is_command,
                             bool json, struct buf *out)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct rule_subject subject = {.tool = STR("Bash"), .about = ABOUT_COMMAND, .text = text};
    struct permit_answer answer;
    unsigned flags = 0;

    if (!is_command)
        flags = call_of(s, text, &arena, &subject);
    permit_check(s->permit, &subject, flags, &answer);
    if (json) {
        struct jw w;

        jw_init(&w, out, JW_PRETTY);
        jw_object(&w);
        jw_kstr(&w, "tool", subject.tool);
        jw_kstr(&w, "about", subject.text);
        jw_kcstr(&w, "mode", permit_mode_name(permit_mode(s->permit)));
        jw_kcstr(&w, "behavior", verdicts[answer.verdict]);
        jw_kcstr(&w, "reason", answer.reason);
        if (answer.rule[0]) {
            jw_kcstr(&w, "rule", answer.rule);
            jw_kcstr(&w, "source", answer.source);
        }
        jw_object_end(&w);
        buf_addc(out, '\n');
    } else {
        buf_addf(out, "%s: %s\n", verdicts[answer.verdict], answer.reason);
        if (answer.rule[0])
            buf_addf(out, "    %.*s\n", STR_ARG(shown_source(str_of(answer.source))));
    }
    return answer.verdict == PERMIT_ALLOW ? EXIT_OK : EXIT_FAILED;
}

/* ---------------------------------------------------------------------------------------------- */

/* The words are "permissions", verb, rest. After "--" everything is the command. */
static int permissions_run(struct cmd *c)
{
    CLEANUP(setting_release) struct permission_setting s = {0};
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf call = BUF_INIT(1 << 20);
    const struct strv *words = &c->args.words;
    struct str verb = words->len > 1 ? str_of(words->ptr[1]) : STR("list");
    bool json = c->args.given[OPT_JSON];
    int done;
    int code;

    for (size_t i = 2; i < words->len; i++)
        buf_addf(&call, "%s%s", i > 2 ? " " : "", words->ptr[i]);
    if (!(str_is(verb, "list") && words->len <= 2) && !(str_is(verb, "check") && call.len)) {
        say("permissions: 'list', or 'check' with a call such as 'Bash(npm test)' or -- npm test");
        return EXIT_USAGE;
    }
    code = setting_make(&s, c);
    if (code)
        return code;
    if (str_is(verb, "list"))
        done = permissions_list(&s, json, &out);
    else
        done = permissions_check(&s, buf_str(&call), /*is_command=*/c->args.plain <= 2, json, &out);
    (void)(json ? say_out : say_live)(buf_str(&out), c->cancel, &code);
    return code ? code : done;
}
