/*
 * clients: `tenax acp` and `tenax app-server`, which serve editors and other programs over JSON-RPC
 * instead of a user at a terminal. Main thread.
 */
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strv.h"
#include "cmd/cmd.h"
#include "cmd/session_options.h"
#include "conf/conf.h"
#include "proto/acp/acp.h"
#include "proto/codex/codex_server.h"
#include "proto/rpc/client.h"

static int acp_run(struct cmd *c);
static int app_server_run(struct cmd *c);

const struct command cmd_acp = {
    .usage =
        {
            .name = "acp",
            .summary = "Serve editors (Agent Client Protocol)",
            .details = "Speaks the protocol on standard input and output.",
            .options = (const enum option_id[]){OPT_MODEL,
                                                OPT_FALLBACK_MODEL,
                                                OPT_EFFORT,
                                                OPT_MAX_TURNS,
                                                OPT_MAX_BUDGET_USD,
                                                OPT_PERMISSION_MODE,
                                                OPT_ALLOWED_TOOLS,
                                                OPT_DISALLOWED_TOOLS,
                                                OPT_TOOLS,
                                                OPT_ADD_DIR,
                                                OPT_DANGEROUSLY_SKIP_PERMISSIONS,
                                                OPT_ALLOW_DANGEROUSLY_SKIP_PERMISSIONS,
                                                OPT_MCP_CONFIG,
                                                OPT_STRICT_MCP_CONFIG,
                                                OPT_PLUGIN_DIR,
                                                OPT_SETTINGS,
                                                OPT_SETTING_SOURCES,
                                                OPT_SYSTEM_PROMPT,
                                                OPT_APPEND_SYSTEM_PROMPT,
                                                OPT_TRUST,
                                                OPT_COUNT},
        },
    .run = acp_run,
};

const struct command cmd_app_server = {
    .usage =
        {
            .name = "app-server",
            .summary = "Serve clients of the Codex app-server protocol",
            .details = "Speaks the protocol on standard input and output, or on a unix socket.",
            .options = (const enum option_id[]){OPT_LISTEN,
                                                OPT_STDIO,
                                                OPT_MODEL,
                                                OPT_FALLBACK_MODEL,
                                                OPT_EFFORT,
                                                OPT_MAX_TURNS,
                                                OPT_MAX_BUDGET_USD,
                                                OPT_PERMISSION_MODE,
                                                OPT_ALLOWED_TOOLS,
                                                OPT_DISALLOWED_TOOLS,
                                                OPT_TOOLS,
                                                OPT_ADD_DIR,
                                                OPT_DANGEROUSLY_SKIP_PERMISSIONS,
                                                OPT_ALLOW_DANGEROUSLY_SKIP_PERMISSIONS,
                                                OPT_MCP_CONFIG,
                                                OPT_STRICT_MCP_CONFIG,
                                                OPT_PLUGIN_DIR,
                                                OPT_SETTINGS,
                                                OPT_SETTING_SOURCES,
                                                OPT_SYSTEM_PROMPT,
                                                OPT_APPEND_SYSTEM_PROMPT,
                                                OPT_TRUST,
                                                OPT_COUNT},
        },
    .run = app_server_run,
};

/* Any thread. dir NULL: of no session. */
static int clients_settings(void *arg, const char *dir, bool trusts, struct conf **ret,
                            struct err *err)
{
    struct cmd *c = arg;

    return cmd_conf_load_at(c, dir ? dir : c->dir, trusts, ret, err);
}

static int clients_run(struct cmd *c, const struct protocol *protocol, const char *socket)
{
    CLEANUP(session_options_release) struct session_options options = {0};
    struct service_spec spec = {
        .protocol = protocol,
        .table = {.host = &options.host, .settings = clients_settings, .arg = c},
        .socket = socket,
        .cancel = c->cancel,
    };
    struct err err = {0};

    if (session_options_read(&options, c, /*is_interactive=*/false, &err) < 0) {
        say_error(&err);
        return EXIT_USAGE;
    }
    options.host.opens_without_key = protocol == &acp_protocol; /* editors log in later */
    if (service_run(&spec, &err) < 0) {
        say_error(&err);
        return EXIT_FAILED;
    }
    return EXIT_OK;
}

static int acp_run(struct cmd *c)
{
    return clients_run(c, &acp_protocol, /*socket=*/NULL);
}

/* "stdio://", "unix:///path", "unix://path"; NULL: it is neither. */
static const char *listen_path(const char *url, bool *ret_stdio)
{
    *ret_stdio = !url || strcmp(url, "stdio://") == 0;
    if (*ret_stdio || strncmp(url, "unix://", strlen("unix://")) != 0 || !url[strlen("unix://")])
        return NULL;
    return url + strlen("unix://");
}

static int app_server_run(struct cmd *c)
{
    const char *url = args_get(&c->args, OPT_LISTEN);
    bool is_stdio;
    const char *path = listen_path(url, &is_stdio);

    if (!is_stdio && !path) {
        say("--listen: '%.100s' is neither stdio:// nor unix://PATH", url);
        return EXIT_USAGE;
    }
    return clients_run(c, &codex_protocol, path);
}
