/*
 * Which MCP servers are configured, and where.
 *
 * Places, highest first; the whole entry of the highest one wins and the others of its name are
 * listed as hidden:
 *
 *   managed   /etc/tenax/managed-mcp.json, else Claude's; where there is one, only it counts
 *   dynamic   --mcp-config, and what a client of the session sets
 *   local     projects["<folder>"].mcpServers of $TENAX_HOME/mcp.json, then of ~/.claude.json
 *   project   .mcp.json, from the start folder up to the top of the checkout, nearest first
 *   user      mcpServers of $TENAX_HOME/mcp.json, then of ~/.claude.json
 *   plugin    those of plugins, as plugin:PLUGIN:SERVER
 *
 * ${NAME} and ${NAME:-default} are expanded in command, args, env, url and headers, and nothing
 * else is: no command runs. An entry that makes no sense is kept with its problem, so that it can
 * be shown; the others are not affected.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/sha256.h"
#include "base/str.h"
#include "base/strv.h"
#include "base/vec.h"

struct conf;
struct err;
struct json;
struct plugin;

#define MCP_MAX_SERVERS 256
#define MCP_MAX_FILE ((size_t)4 << 20) /* bytes of ~/.claude.json and its like */

enum mcp_scope {
    MCP_MANAGED,
    MCP_DYNAMIC,
    MCP_LOCAL,
    MCP_PROJECT,
    MCP_USER,
    MCP_PLUGIN,
};
const char *mcp_scope_name(enum mcp_scope s);                     /* "project" */
bool mcp_scope_parse(struct str name, enum mcp_scope *ret_scope); /* local, project and user */

enum mcp_type {
    MCP_STDIO,
    MCP_HTTP, /* streamable */
    MCP_SDK,  /* inside the client of the session */
    MCP_SSE,  /* the older HTTP with a stream and an endpoint for messages */
};
const char *mcp_type_name(enum mcp_type t); /* "stdio" */

/* What stands between a server and its start. */
enum mcp_gate {
    MCP_READY,
    MCP_UNAPPROVED, /* of the project, and the user has not approved it */
    MCP_REJECTED,   /* the settings name it in disabledMcpjsonServers */
    MCP_DISABLED,   /* the user has turned it off */
    MCP_BLOCKED,    /* a policy forbids it */
    MCP_BROKEN,     /* its entry makes no sense */
};

struct mcp_server {
    char *name;
    enum mcp_scope scope;
    const struct plugin *plugin; /* whose it is; NULL: no plugin's */
    char *file;                  /* where it is written; "--mcp-config" */
    bool hidden;
    enum mcp_gate gate;
    char *problem; /* of BROKEN and BLOCKED: why; else NULL */
    enum mcp_type type;
    struct strv argv;      /* stdio */
    struct strv env;       /* "NAME=value" */
    char *cwd;             /* NULL: the start folder */
    bool inherits;         /* the user's environment; else only its harmless part */
    struct strv inherited; /* names of more variables */
    bool is_confined;      /* its process runs in the sandbox of commands */
    bool is_lazy;          /* it starts when it is first used */
    char *url;             /* http, sse */
    struct strv headers;   /* "Name: value" */
    char *headers_helper;  /* a command that prints more headers; NULL: none */
    char *oauth_client_id, *oauth_scopes, *oauth_metadata_url; /* NULL: not said */
    int oauth_port;                                            /* 0: any */
    struct strv allow, deny;     /* raw names of tools; an empty allow list allows all */
    bool always_loads;           /* its tools are part of every request */
    int64_t timeout_ms;          /* of a call; 0: the default */
    int64_t start_ms;            /* of the start; 0: the default */
    struct buf entry;            /* as it is written, nothing expanded */
    char digest[SHA256_HEX + 1]; /* of that */
};

struct mcp_servers {
    VEC(struct mcp_server) list; /* by name, then by scope */
    struct strv notes;           /* files and entries that could not be used, a line each */
};

void mcp_servers_release(struct mcp_servers *s);
struct mcp_sources {
    const struct conf *conf;
    const struct json *dynamic; /* {"name": entry} of a client; NULL: none */
    const struct strv *
        approved; /* mcp_approval() of each project server that the user has approved; NULL: none */
    bool is_headless; /* the user cannot be asked: in a trusted folder, project servers run
                         unapproved */
};

/* ERR_BAD_INPUT: something is wrong with --mcp-config; everything else becomes a note or a problem.
 */
int mcp_servers_load(const struct mcp_sources *from, struct mcp_servers *ret, struct err *err);
/* The stored form of an approval: it is void when the entry changes. */
void mcp_approval(const struct mcp_server *s, struct buf *ret);
/* The one that counts; NULL: there is none. */
const struct mcp_server *mcp_servers_find(const struct mcp_servers *s, struct str name);

/* One entry, expanded with the environment of conf. An error in it becomes its problem. */
void mcp_server_read(struct mcp_server *ret, const struct json *entry, const struct conf *conf);
void mcp_server_release(struct mcp_server *s);

/* A server that a client of the session brings: {"name": entry}, expanded and judged by the
 * policies. */
void mcp_server_add(struct mcp_server *ret, struct str name, const struct json *entry,
                    const struct conf *conf);
/* Another one whenever anything of the entry is, its variables included. */
void mcp_server_digest(const struct mcp_server *s, char ret_hex[SHA256_HEX + 1]);
bool mcp_name_is_fine(struct str name); /* [A-Za-z0-9_-]+ */

/* Adds or replaces (entry: JSON text) or removes (entry empty) a server: of our own file for local
 * and user, of the start folder's .mcp.json for project. ret_path: the file that was changed.
 * ERR_NOT_FOUND: there is none to remove. */
int mcp_servers_write(const struct conf *conf, enum mcp_scope scope, struct str name,
                      struct str entry, struct buf *ret_path, struct err *err);
/* Replaces the member at the end of this path (keys, NULL-terminated) of a file of JSON, or takes
 * it out (value empty). The folder is locked, so that of two that change it at once both succeed.
 */
int mcp_file_change(const char *path, mode_t mode, const char *const *keys, struct str value,
                    struct err *err);
/* Whether the user has turned a server off in this project; kept in our own file. */
int mcp_servers_disable(const struct conf *conf, struct str name, bool off, struct err *err);
