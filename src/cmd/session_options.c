/*
 * session_options: evaluates the options and settings of a session for all front ends. Main thread.
 */
#include "cmd/session_options.h"

#include <math.h>
#include <string.h>

#include "agent/input.h"
#include "base/err.h"
#include "base/id.h"
#include "cmd/cmd.h"
#include "conf/conf.h"
#include "guard/sandbox.h"
#include "host/hub.h"
#include "net/curl_table.h"

/* Options without effect yet: accepted, and reported once if they would change something. */
static void options_not_yet(const struct args *args)
{
    static const enum option_id later[] = {
        OPT_TASK_BUDGET,        OPT_BETAS,
        OPT_CHANNELS,           OPT_SESSION_MIRROR,
        OPT_PROMPT_SUGGESTIONS, OPT_PROJECT_CONFIG_ROOT,
    };

    for (size_t i = 0; i < ARRAY_LEN(later); i++) {
        if (args->given[later[i]])
            say("--%s is ignored: it is not supported yet", option_table()[later[i]].name);
    }
}

static int options_number(const struct args *args, enum option_id id, int64_t least, int64_t *ret,
                          struct err *err)
{
    const char *text = args_get(args, id);

    if (!text)
        return 0;
    if (str_to_i64(str_of(text), ret, err) < 0)
        return err_prefix(err, "--%s", option_table()[id].name);
    if (*ret < least)
        return err_set(err, ERR_BAD_INPUT, "--%s: must be at least %d", option_table()[id].name,
                       (int)least);
    return 0;
}

static int options_budget(const struct args *args, double *ret, struct err *err)
{
    const char *usd = args_get(args, OPT_MAX_BUDGET_USD);

    if (!usd)
        return 0;
    if (str_to_double(str_of(usd), ret, err) < 0)
        return err_prefix(err, "--max-budget-usd");
    if (!(*ret > 0) || !isfinite(*ret))
        return err_set(err, ERR_BAD_INPUT, "--max-budget-usd: must be more than 0");
    return 0;
}

static int options_session_id(const char *id, struct err *err)
{
    struct str s = str_of(id);
    bool good = s.len == ID_UUID_LEN;

    for (size_t i = 0; good && i < s.len; i++) {
        if (i == 8 || i == 13 || i == 18 || i == 23)
            good = s.ptr[i] == '-';
        else
            good = strchr("0123456789abcdefABCDEF", s.ptr[i]);
    }
    if (!good)
        return err_set(err, ERR_BAD_INPUT, "--session-id: '%.60s' is no UUID", id);
    return 0;
}

/* The settings' word, and the options' over it. */
static int options_thinking(struct host_spec *spec, struct err *err)
{
    const char *how = args_get(spec->args, OPT_THINKING);
    const char *display = args_get(spec->args, OPT_THINKING_DISPLAY);
    int64_t tokens = -1;

    if (options_number(spec->args, OPT_MAX_THINKING_TOKENS, 0, &tokens, err) < 0)
        return -1;
    spec->thinking =
        conf_get_bool(spec->conf, "alwaysThinkingEnabled", true) ? THINKING_DEFAULT : THINKING_OFF;
    spec->hides_thinking = display && strcmp(display, "omitted") == 0;
    if (how && strcmp(how, "disabled") == 0)
        spec->thinking = THINKING_OFF;
    if (tokens >= 0) {
        spec->thinking = tokens ? THINKING_BUDGET : THINKING_OFF;
        spec->thinking_budget = tokens;
    }
    return 0;
}

static void options_tools(struct session_options *o, const struct args *args)
{
    const struct strv *wanted = &args->values[OPT_TOOLS];

    if (args->given[OPT_BARE]) {
        strv_adds(&o->bare, "Bash");
        strv_adds(&o->bare, "Read");
        strv_adds(&o->bare, "Edit");
        o->host.tools = &o->bare;
    } else if (args->given[OPT_TOOLS] && !strv_has(wanted, STR("default"))) {
        o->host.tools = wanted;
    }
}

static void options_say_wait(const char *text)
{
    say("%s", text);
}

static int options_session(const struct args *args, struct session_spec *ret, struct err *err)
{
    *ret = (struct session_spec){
        .id = args_get(args, OPT_SESSION_ID),
        .title = args_get(args, OPT_NAME),
        .continues = args->given[OPT_CONTINUE],
        .resume = args_get(args, OPT_RESUME),
        .forks = args->given[OPT_FORK_SESSION],
        .at = args_get(args, OPT_RESUME_SESSION_AT),
        .drops = args_get(args, OPT_RESUME_DROPS_TURN),
        .is_unkept = args->given[OPT_NO_SESSION_PERSISTENCE],
        .on_wait = options_say_wait,
    };
    return ret->id ? options_session_id(ret->id, err) : 0;
}

static int options_parse(struct session_options *o, struct cmd *c, struct err *err)
{
    struct host_spec *spec = &o->host;
    const struct args *args = &c->args;
    const char *asks = args_get(args, OPT_PERMISSION_PROMPT_TOOL);

    spec->args = args;
    spec->cancel = c->cancel;
    spec->output_schema = str_of(args_get(args, OPT_JSON_SCHEMA));
    if (args->given[OPT_JSON_SCHEMA] && !str_trim(spec->output_schema).len)
        return err_set(err, ERR_BAD_INPUT, "--json-schema is empty");
    if (options_session(args, &spec->session, err) < 0)
        return -1;
    if (options_number(args, OPT_MAX_TURNS, 1, &spec->max_steps, err) < 0 ||
        options_budget(args, &spec->max_usd, err) < 0)
        return -1;
    options_tools(o, args);
    if (asks && strcmp(asks, "stdio") != 0 && !str_starts(str_of(asks), STR("mcp__")))
        return err_set(err, ERR_BAD_INPUT,
                       "--permission-prompt-tool: it takes stdio or a tool of an MCP server "
                       "(mcp__SERVER__TOOL), not '%s'",
                       asks);
    if (asks && strcmp(asks, "stdio") != 0)
        spec->permission_tool = asks;
    return 0;
}

int session_options_read(struct session_options *o, struct cmd *c, bool is_interactive,
                         struct err *err)
{
    if (options_parse(o, c, err) < 0)
        return -1;
    options_not_yet(&c->args);
    if ((is_interactive ? cmd_conf_load_trusted : cmd_conf_load)(c, &o->conf, err) < 0)
        return -1;
    if (sandbox_check(o->conf, err) < 0)
        return -1;
    for (size_t i = 0; !is_interactive && i < conf_warnings(o->conf)->len; i++)
        say("%s", conf_warnings(o->conf)->ptr[i]);
    o->hub = hub_new();
    o->inputs = inputs_new();
    o->host.hub = o->hub;
    o->host.inputs = o->inputs;
    o->host.conf = o->conf;
    o->host.is_interactive = is_interactive;
    if (is_interactive)
        o->host.permission_tool = NULL; /* the user is there */
    return options_thinking(&o->host, err);
}

void session_options_release(struct session_options *o)
{
    inputs_free(o->inputs);
    hub_free(o->hub);
    curl_table_rest();
    conf_unref(o->conf);
    strv_release(&o->bare);
    *o = (struct session_options){0};
}
