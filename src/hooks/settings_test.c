/*
 * The settings that are read, and warnings about the rest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "guard/rule.h"
#include "hooks/settings.h"
#include "unit.h"

static char dir[] = "/tmp/hooks-settings-XXXXXX";

static void put(const char *name, const char *text)
{
    CLEANUP(mem_freep) char *path = path_join(dir, name);
    CLEANUP(mem_freep) char *json = mem_dup(text, strlen(text));

    for (char *at = json; *at; at++) {
        if (*at == '\'')
            *at = '"';
    }
    assert_int_equal(file_replace(path, str_of(json), 0600, NULL), 0);
}

static void make_folder(const char *name)
{
    CLEANUP(mem_freep) char *path = path_join(dir, name);

    assert_true(mkdir(path, 0700) == 0);
}

static void clear(const char *name)
{
    CLEANUP(mem_freep) char *path = path_join(dir, name);

    (void)remove(path);
}

/* "Stop/matcher command=… timeout=…;" */
static void show(struct hook_registry *r, struct buf *ret)
{
    CLEANUP(hook_set_unrefp) const struct hook_set *s = hook_registry_get(r);

    VEC_EACH(&s->entries, e) {
        VEC_EACH(&e->handlers, it) {
            const struct handler_spec *h = hook_handler_spec(*it);

            buf_addf(ret, "%s%s/%s %s=%.*s", e->source == HOOK_MANAGED ? "managed " : "",
                     hook_event_name(e->event), e->matcher, handler_type_name(h->type),
                     STR_ARG(hook_handler_title(*it)));
            for (size_t i = 0; h->args && i < h->args->len; i++)
                buf_addf(ret, " arg=%s", h->args->ptr[i]);
            if (h->timeout_ms)
                buf_addf(ret, " ms=%d", (int)h->timeout_ms);
            if (h->flags)
                buf_addf(ret, " flags=%u", h->flags);
            if (h->only)
                buf_addf(ret, " if=%.*s", STR_ARG(rule_text(h->only)));
            if (h->shell.len)
                buf_addf(ret, " shell=%.*s", STR_ARG(h->shell));
            if (h->model.len)
                buf_addf(ret, " model=%.*s", STR_ARG(h->model));
            if (h->status.len)
                buf_addf(ret, " status=%.*s", STR_ARG(h->status));
            buf_adds(ret, "; ");
        }
    }
}

/* In all texts ' stands for ". */
static const struct settings_case {
    const char *name;
    const char *hooks;
    const char *entries;
    const char *warnings[4]; /* after "~/.tenax/settings.json:1:" */
} cases[] = {
    {"all fields of a command",
     "{'PreToolUse':[{'matcher':'Bash','hooks':[{'type':'command','command':'./x','args':['a','b'],"
     "'timeout':20,'if':'Bash(git *)','statusMessage':'checking','onFailure':'block'}]}]}",
     "PreToolUse/Bash command=./x arg=a arg=b ms=20000 flags=2 if=Bash(git *) status=checking; "},
    {"all fields of a prompt",
     "{'Stop':[{'hooks':[{'type':'prompt','prompt':'Done?','model':'opus','timeout':0.5,"
     "'continueOnBlock':true}]}]}",
     "Stop/ prompt=Done? ms=500 flags=4 model=opus; "},
    {"a shell", "{'Stop':[{'hooks':[{'type':'command','command':'x','shell':'bash'}]}]}",
     "Stop/ command=x shell=bash; "},
    {"several",
     "{'Stop':[{'hooks':[{'type':'command','command':'a'},{'type':'command','command':"
     "'b'}]},{'hooks':[{'type':'command','command':'c'}]}]}",
     "Stop/ command=a; Stop/ command=b; Stop/ command=c; "},
    {"an unknown event",
     "{'Stpo':[{'hooks':[]}]}",
     "",
     {"18: hooks.Stpo: there is no such event; did you mean 'Stop'?"}},
    {"nothing like an event",
     "{'Whenever':[]}",
     "",
     {"22: hooks.Whenever: there is no such event"}},
    {"an event of later",
     "{'MessageDisplay':[{'hooks':[]}]}",
     "",
     {"28: hooks.MessageDisplay: the event is known, but has no effect in this version"}},
    {"all fields of a request",
     "{'Stop':[{'hooks':[{'type':'http','url':'http://localhost:9/x','headers':{'X-Key':'$K'},"
     "'allowedEnvVars':['K'],'timeout':3}]}]}",
     "Stop/ http=http://localhost:9/x ms=3000; "},
    {"a request that goes nowhere",
     "{'Stop':[{'hooks':[{'type':'http','url':'ftp://x'},{'type':'http'},"
     "{'type':'http','url':'http://x/','headers':{'a b':'c'}},"
     "{'type':'http','url':'http://x/','headers':{'a':'b\\nc'}}]}]}",
     "",
     {"19: hooks.Stop[0].hooks[0]: 'url': 'ftp://x' is not an http:// or https:// URL; left out",
      "19: hooks.Stop[0].hooks[1]: 'url' must be a text that is not empty; left out",
      "19: hooks.Stop[0].hooks[2]: 'headers' must have names and texts of one line; left out",
      "19: hooks.Stop[0].hooks[3]: 'headers' must have names and texts of one line; left out"}},
    {"a request where only commands run",
     "{'SessionStart':[{'hooks':[{'type':'http','url':'http://x/'}]}]}",
     "",
     {"27: hooks.SessionStart[0].hooks[0]: only commands run at SessionStart; left out"}},
    {"words that count elsewhere, and mistyped ones",
     "{'Stop':[{'hooks':[{'type':'command','command':'a','once':true,'timeuot':3}]}]}",
     "Stop/ command=a; ",
     {"19: hooks.Stop[0].hooks[0]: 'once' counts only for hooks that a skill brings",
      "19: hooks.Stop[0].hooks[0]: a hook of type command has no 'timeuot'"}},
    {"no object",
     "{'Stop':[3]}",
     "",
     {"19: hooks.Stop[0]: must be an object with a list 'hooks'; left out"}},
    {"no list",
     "{'Stop':[{'hooks':{}}]}",
     "",
     {"19: hooks.Stop[0]: must be an object with a list 'hooks'; left out"}},
    {"a broken one beside a good one",
     "{'Stop':[{'hooks':[7,{'type':'command','command':'a'},{'type':'command'}]}]}",
     "Stop/ command=a; ",
     {"19: hooks.Stop[0].hooks[0]: must be an object; left out",
      "19: hooks.Stop[0].hooks[2]: 'command' must be a text that is not empty; left out"}},
    {"no type",
     "{'Stop':[{'hooks':[{'command':'a'}]}]}",
     "",
     {"19: hooks.Stop[0].hooks[0]: 'type' must be command, http or prompt; left out"}},
    {"a type of later",
     "{'Stop':[{'hooks':[{'type':'agent','prompt':'a'}]}]}",
     "",
     {"19: hooks.Stop[0].hooks[0]: hooks of type agent are known, but not run by this version; "
      "left "
      "out"}},
    {"a prompt where none is asked",
     "{'PreCompact':[{'hooks':[{'type':'prompt','prompt':'a'}]}]}",
     "",
     {"25: hooks.PreCompact[0].hooks[0]: no model is asked at PreCompact; left out"}},
    {"an if where there is no call",
     "{'Stop':[{'hooks':[{'type':'command','command':'a','if':'Bash'}]}]}",
     "",
     {"19: hooks.Stop[0].hooks[0]: 'if' speaks of tool calls, so at Stop this never runs; left "
      "out"}},
    {"an if that is no rule",
     "{'PreToolUse':[{'hooks':[{'type':'command','command':'a','if':'Bash(x'}]}]}",
     "PreToolUse/ command=a; ",
     {"25: hooks.PreToolUse[0].hooks[0]: 'if' is no permission rule, so the hook always runs: "
      "Bash(x: a ')' is missing"}},
    {"a bad matcher",
     "{'PreToolUse':[{'matcher':'(','hooks':[{'type':'command','command':'a'}]}]}",
     "PreToolUse/( command=a; ",
     {"25: hooks.PreToolUse[0]: 'matcher' is no regular expression, so nothing matches it"}},
    {"a matcher that is no text",
     "{'PreToolUse':[{'matcher':3,'hooks':[{'type':'command','command':'a'}]}]}",
     "",
     {"25: hooks.PreToolUse[0]: 'matcher' must be a text; left out"}},
    {"odd values",
     "{'Stop':[{'hooks':[{'type':'command','command':'a','timeout':-1,'onFailure':'explode',"
     "'async':'yes'}]}]}",
     "Stop/ command=a; ",
     {"19: hooks.Stop[0].hooks[0]: 'async' must be true or false, not string; taken for false",
      "19: hooks.Stop[0].hooks[0]: 'onFailure' must be continue or block; taken for continue",
      "19: hooks.Stop[0].hooks[0]: 'timeout' must be a number of seconds above 0; the default is "
      "used"}},
    {"endless", "{'Stop':[{'hooks':[{'type':'command','command':'a','timeout':1e300}]}]}",
     "Stop/ command=a ms=86400000; "},
    {"onFailure without effect",
     "{'Stop':[{'hooks':[{'type':'command','command':'a','onFailure':'block'}]}]}",
     "Stop/ command=a flags=2; ",
     {"19: hooks.Stop[0].hooks[0]: 'onFailure' has no effect at Stop"}},
    {"async", "{'Stop':[{'hooks':[{'type':'command','command':'a','async':true}]}]}",
     "Stop/ command=a flags=8; "},
    {"asyncRewake", "{'Stop':[{'hooks':[{'type':'command','command':'a','asyncRewake':true}]}]}",
     "Stop/ command=a flags=24; "},
    {"onFailure of one that nobody waits for",
     "{'PreToolUse':[{'hooks':[{'type':'command','command':'a','async':true,"
     "'onFailure':'block'}]}]}",
     "PreToolUse/ command=a flags=10; ",
     {"25: hooks.PreToolUse[0].hooks[0]: 'onFailure' has no effect on a hook that runs in the "
      "background"}},
    {"args that are none",
     "{'Stop':[{'hooks':[{'type':'command','command':'a','args':[1]}]}]}",
     "",
     {"19: hooks.Stop[0].hooks[0]: 'args' must be a list of texts; left out"}},
    {"a NUL",
     "{'Stop':[{'hooks':[{'type':'command','command':'a\\u0000b'}]}]}",
     "",
     {"19: hooks.Stop[0].hooks[0]: 'command' holds a NUL character; left out"}},
    {"an odd shell",
     "{'Stop':[{'hooks':[{'type':'command','command':'a','shell':'zsh'}]}]}",
     "",
     {"19: hooks.Stop[0].hooks[0]: 'shell' must be bash or powershell; left out"}},
};

static struct conf *load(void)
{
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(mem_freep) char *etc = path_join(dir, "etc");
    CLEANUP(mem_freep) char *work = path_join(dir, "work");
    struct conf_sources from = {.trusted = true, .etc = etc, .dir = work};
    struct conf *conf = NULL;
    struct err err = {0};

    strv_addf(&env, "HOME=%s", dir);
    from.environ = strv_get(&env);
    if (conf_load(&from, &conf, &err) < 0)
        fail_msg("%s", err.text);
    return conf;
}

static void all_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct settings_case *c = &cases[i];
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(strv_release) struct strv warnings = STRV_INIT;
        CLEANUP(conf_unrefp) struct conf *conf = NULL;
        struct hook_registry *r = hook_registry_new(HOOK_LIMIT_NONE);
        size_t n = 0;

        buf_addf(&text, "{'hooks':%s}", c->hooks);
        put(".tenax/settings.json", buf_cstr(&text));
        conf = load();
        settings_read(conf, r, &warnings);
        show(r, &got);
        if (strcmp(buf_cstr(&got), c->entries) != 0)
            fail_msg("%s:\n  got      %s\n  expected %s", c->name, buf_cstr(&got), c->entries);
        for (; n < ARRAY_LEN(c->warnings) && c->warnings[n]; n++) {
            CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);

            buf_addf(&line, "~/.tenax/settings.json:1:%s", c->warnings[n]);
            if (n >= warnings.len || strcmp(warnings.ptr[n], buf_cstr(&line)) != 0)
                fail_msg("%s:\n  got      %s\n  expected %s", c->name,
                         n < warnings.len ? warnings.ptr[n] : "nothing", buf_cstr(&line));
        }
        if (warnings.len != n)
            fail_msg("%s: and %s", c->name, warnings.ptr[n]);
        hook_registry_free(r);
    }
    clear(".tenax/settings.json");
}

/* All levels count, and entries of a managed file stay managed even if copied. */
static void levels(void **state)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    struct hook_registry *r;

    (void)state;
    put(".tenax/settings.json", "{'hooks':{'Stop':[{'hooks':[{'type':'command','command':'user'}]},"
                                "{'hooks':[{'type':'command','command':'must'}]}]}}");
    put("work/.claude/settings.json",
        "{'hooks':{'Stop':[{'hooks':[{'type':'command','command':'project'}]}]}}");
    put("etc/tenax/managed-settings.json",
        "{'allowManagedHooksOnly':true,"
        "'hooks':{'Stop':[{'hooks':[{'type':'command','command':'must'}]}]}}");
    conf = load();
    assert_int_equal(settings_limit(conf), HOOK_LIMIT_MANAGED);
    r = hook_registry_new(settings_limit(conf));
    settings_read(conf, r, &warnings);
    show(r, &got);
    assert_string_equal(buf_cstr(&got),
                        "Stop/ command=user; managed Stop/ command=must; Stop/ command=project; ");
    hook_registry_free(r);
    clear(".tenax/settings.json");
    clear("work/.claude/settings.json");
    clear("etc/tenax/managed-settings.json");
}

/* Fields that only Claude Code knows are no reason for a word in its files. */
static void fields_of_others(void **state)
{
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    struct hook_registry *r = hook_registry_new(HOOK_LIMIT_NONE);

    (void)state;
    put("work/.claude/settings.json", "{'hooks':{'Stop':[{'hooks':[{'type':'command','command':'a',"
                                      "'description':'mine'}]}]}}");
    conf = load();
    settings_read(conf, r, &warnings);
    assert_int_equal(warnings.len, 0);
    hook_registry_free(r);
    clear("work/.claude/settings.json");
}

static void limits(void **state)
{
    CLEANUP(conf_unrefp) struct conf *none = NULL;
    CLEANUP(conf_unrefp) struct conf *disabled = NULL;

    (void)state;
    none = load();
    assert_int_equal(settings_limit(none), HOOK_LIMIT_NONE);
    put(".tenax/settings.json", "{'disableAllHooks':true,'allowManagedHooksOnly':true}");
    disabled = load();
    assert_int_equal(settings_limit(disabled), HOOK_LIMIT_DISABLED);
    clear(".tenax/settings.json");
}

/* Hooks of every event in the table are read without a complaint. */
static void all_events(void **state)
{
    (void)state;
    for (size_t i = 0; i < HOOK_EVENT_COUNT; i++) {
        CLEANUP(settings_rows_release) struct settings_rows rows = {0};
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(conf_unrefp) struct conf *conf = NULL;

        buf_addf(&text, "{'hooks':{'%s':[{'hooks':[{'type':'command','command':'a'}]}]}}",
                 hook_event_name((enum hook_event)i));
        put(".tenax/settings.json", buf_cstr(&text));
        conf = load();
        settings_list(conf, &rows);
        assert_int_equal(rows.list.len, 1);
        assert_int_equal(rows.list.ptr[0].why_not.len, 0);
    }
    clear(".tenax/settings.json");
}

/* Everything that stands in the files, and why what does not run does not. */
static void listed(void **state)
{
    CLEANUP(settings_rows_release) struct settings_rows rows = {0};
    CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(conf_unrefp) struct conf *conf = NULL;

    (void)state;
    put(".tenax/settings.json",
        "{'disableAllHooks':true,'hooks':{"
        "'Stop':[{'hooks':[{'type':'command','command':' "
        "a\\nb'},{'type':'agent','prompt':'p'},3]}],"
        "'MessageDisplay':[{'matcher':'x','hooks':[{'type':'command','command':'c'}]}],"
        "'Nope':[{'hooks':[{'type':'command','command':'d'}]}],"
        "'SubagentStart':[{'hooks':[{'type':'http','url':'http://x/'}]}]}}");
    put("etc/tenax/managed-settings.json",
        "{'hooks':{'Stop':[{'matcher':'m','hooks':[{'type':'prompt','prompt':'q'}]}]}}");
    conf = load();
    settings_list(conf, &rows);
    VEC_EACH(&rows.list, row) {
        buf_addf(&got, "%.*s/%.*s %.*s=%.*s%s: %.*s\n", STR_ARG(row->event), STR_ARG(row->matcher),
                 STR_ARG(row->type), STR_ARG(row->what), row->is_managed ? " managed" : "",
                 STR_ARG(row->why_not));
    }
    assert_string_equal(
        buf_cstr(&got),
        "Stop/ command=a: disableAllHooks\n"
        "Stop/ agent=p: hooks of type agent are known, but not run by this version\n"
        "Stop/ =: must be an object\n"
        "Stop/m prompt=q managed: \n"
        "MessageDisplay/x command=c: not yet run: the event is known, but has no effect here\n"
        "Nope/ command=d: there is no such event\n"
        "SubagentStart/ http=http://x/: disableAllHooks\n");
    clear(".tenax/settings.json");
    clear("etc/tenax/managed-settings.json");
}

UNIT_TEST(settings)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_cases),        cmocka_unit_test(levels),
        cmocka_unit_test(fields_of_others), cmocka_unit_test(limits),
        cmocka_unit_test(all_events),       cmocka_unit_test(listed),
    };
    static const char *const folders[] = {".tenax", "work", "work/.claude", "etc", "etc/tenax"};
    int failed;

    if (!mkdtemp(dir))
        return 1;
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        make_folder(folders[i]);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = ARRAY_LEN(folders); i-- > 0;)
        clear(folders[i]);
    return rmdir(dir) < 0 ? 1 : failed;
}
