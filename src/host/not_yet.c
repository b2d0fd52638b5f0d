/*
 * not_yet: what a project or a user has set up for Claude Code and tenax does not use yet. Each row
 * goes when its part arrives. Any thread.
 */
#include "host/not_yet.h"

#include <dirent.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "json/json.h"

#define NOT_YET_MAX_STATE ((size_t)64 << 20) /* of ~/.claude.json */

static void add(struct buf *out, const char *what)
{
    buf_addf(out, "%s%s", out->len ? ", " : "", what);
}

static bool has_markdown(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    bool found = false;

    while (d && !found && (entry = readdir(d), entry))
        found = str_ends(str_of(entry->d_name), STR(".md"));
    if (d)
        closedir(d);
    return found;
}

static bool has_mcp_json(const struct conf *conf)
{
    CLEANUP(mem_freep) char *path = path_join(conf_dir(conf), ".mcp.json");

    return file_exists(path);
}

/* Servers of the user, and of the user in this project. */
static bool has_user_servers(const struct conf *conf)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(NOT_YET_MAX_STATE);
    CLEANUP(mem_freep) char *path = path_join(conf_user_home(conf), ".claude.json");
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *root;
    const struct json *project;

    if (file_slurp(path, NOT_YET_MAX_STATE, &text, /*err=*/NULL) < 0 ||
        !str_has(buf_str(&text), STR("\"mcpServers\"")) ||
        json_parse(&arena, buf_str(&text), &root, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return false;
    project = json_get_key(json_get(root, "projects"), str_of(conf_dir(conf)));
    return json_len(json_get(root, "mcpServers")) || json_len(json_get(project, "mcpServers"));
}

static bool has_agents(const struct conf *conf)
{
    CLEANUP(mem_freep) char *project = path_join(conf_dir(conf), ".claude/agents");
    CLEANUP(mem_freep) char *user = path_join(conf_claude_home(conf), "agents");

    return has_markdown(project) || has_markdown(user);
}

static bool has_plugins(const struct conf *conf)
{
    return json_len(conf_get(conf, "enabledPlugins")) > 0;
}

static const struct {
    bool (*is_there)(const struct conf *conf);
    const char *what;
} rows[] = {
    {has_mcp_json, "MCP servers (.mcp.json)"},
    {has_user_servers, "MCP servers (~/.claude.json)"},
    {has_agents, "agents (.claude/agents)"},
    {has_plugins, "plugins (enabledPlugins)"},
};

void not_yet_note(const struct conf *conf, struct strv *notes)
{
    CLEANUP(buf_release) struct buf found = BUF_INIT(1000);

    if (!conf_get_bool(conf, "claudeCompat", true))
        return;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].is_there(conf))
            add(&found, rows[i].what);
    }
    if (found.len)
        strv_addf(notes, "Not supported yet, and not used: %s", buf_cstr(&found));
}
