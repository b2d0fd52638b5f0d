/*
 * plugins_bench: what plugins add to the start of a session.
 *
 *     plugins_bench [PLUGINS] [SKILLS]
 *
 * So many (20) plugins with so many (10) skills each, a command, hooks and a server: the processor
 * time to read which count, then their skills, hooks and servers, from files that are in the page
 * cache. No child is started for any of it. Nothing here passes or fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "conf/conf.h"
#include "conf/plugin.h"
#include "hooks/registry.h"
#include "hooks/settings.h"
#include "mcp/server_conf.h"
#include "slash/own.h"

#define ROUNDS 50

static char top[] = "/tmp/tenax-plugins-XXXXXX";

/* Of this thread, so that other work on the machine does not count. */
static int64_t cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void put(const char *name, struct str text)
{
    CLEANUP(mem_freep) char *path = path_join(top, name);
    CLEANUP(mem_freep) char *dir = path_dirname(path);
    struct err err = {0};

    if (file_mkdirs(dir, 0755, &err) < 0 || file_replace(path, text, 0644, &err) < 0)
        bench_die(path, err.text);
}

static void put_plugin(int i, int skills)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(1000);
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);

    for (int k = 0; k < skills; k++) {
        buf_clear(&name);
        buf_addf(&name, "p%d/skills/skill-%d/SKILL.md", i, k);
        put(buf_cstr(&name), STR("---\ndescription: Does what this skill is for, in a sentence\n"
                                 "when_to_use: when somebody asks for it\n---\nIts text.\n"));
    }
    buf_clear(&name);
    buf_addf(&name, "p%d/.claude-plugin/plugin.json", i);
    buf_addf(&text, "{\"name\":\"p%d\",\"version\":\"1.0.0\",\"description\":\"One of many\"}", i);
    put(buf_cstr(&name), buf_str(&text));
    buf_clear(&name);
    buf_addf(&name, "p%d/commands/go.md", i);
    put(buf_cstr(&name), STR("Go.\n"));
    buf_clear(&name);
    buf_addf(&name, "p%d/hooks/hooks.json", i);
    put(buf_cstr(&name), STR("{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":"
                             "\"${CLAUDE_PLUGIN_ROOT}/x\"}]}]}}"));
    buf_clear(&name);
    buf_addf(&name, "p%d/.mcp.json", i);
    put(buf_cstr(&name), STR("{\"mcpServers\":{\"s\":{\"command\":\"${CLAUDE_PLUGIN_ROOT}/s\"}}}"));
}

static void put_state(int count)
{
    CLEANUP(buf_release) struct buf records = BUF_INIT((size_t)1 << 20);
    CLEANUP(buf_release) struct buf enabled = BUF_INIT((size_t)1 << 20);

    buf_adds(&records, "{\"plugins\":{");
    buf_adds(&enabled, "{\"enabledPlugins\":{");
    for (int i = 0; i < count; i++) {
        buf_addf(&records, "%s\"p%d@path\":{\"kind\":\"path\",\"path\":\"%s/p%d\"}", i ? "," : "",
                 i, top, i);
        buf_addf(&enabled, "%s\"p%d@path\":true", i ? "," : "", i);
    }
    buf_adds(&records, "}}");
    buf_adds(&enabled, "}}");
    put(".tenax/plugins/installed.json", buf_str(&records));
    put(".tenax/settings.json", buf_str(&enabled));
}

static int number(const char *said, int otherwise)
{
    int64_t n = otherwise;

    if (said && str_to_i64(str_of(said), &n, /*err=*/NULL) < 0)
        bench_die(said, "is no number");
    return (int)n;
}

int main(int argc, char **argv)
{
    int count = number(argc > 1 ? argv[1] : NULL, 20);
    int skills = number(argc > 2 ? argv[2] : NULL, 10);
    CLEANUP(buf_release) struct buf home = BUF_INIT(1000);
    double parts[4] = {0};
    size_t found[3] = {0};

    if (!mkdtemp(top))
        bench_die(top, "cannot be made");
    for (int i = 0; i < count; i++)
        put_plugin(i, skills);
    put_state(count);
    buf_addf(&home, "HOME=%s", top);
    for (int round = 0; round <= ROUNDS; round++) { /* the first one is not counted */
        char *env[] = {home.ptr, (char *)"PATH=/usr/bin:/bin", NULL};
        struct conf_sources from = {.dir = top, .environ = env, .etc = top, .trusted = true};
        struct mcp_servers servers = {0};
        struct hook_registry *hooks = hook_registry_new(HOOK_LIMIT_NONE);
        struct conf *conf;
        struct own_list *own;
        struct err err = {0};
        int64_t at[5];

        if (conf_load(&from, &conf, &err) < 0)
            bench_die("settings", err.text);
        at[0] = cpu_us();
        found[0] = plugins_get(conf)->list.len;
        at[1] = cpu_us();
        own = own_read(conf, NULL, /*keeps_texts=*/false);
        at[2] = cpu_us();
        settings_read(conf, hooks, NULL);
        at[3] = cpu_us();
        if (mcp_servers_load(&(struct mcp_sources){.conf = conf}, &servers, &err) < 0)
            bench_die("servers", err.text);
        at[4] = cpu_us();
        found[1] = own->commands.len;
        found[2] = servers.list.len;
        for (int k = 0; round && k < 4; k++)
            parts[k] += (double)(at[k + 1] - at[k]) / 1e3 / ROUNDS;
        mcp_servers_release(&servers);
        hook_registry_free(hooks);
        own_list_unref(own);
        conf_unref(conf);
    }
    printf("plugins: %zu loaded, %zu skills and commands, %zu servers\n", found[0], found[1],
           found[2]);
    printf("  which count %.2f ms, skills %.2f ms, hooks %.2f ms, servers %.2f ms, together %.2f "
           "ms (limit 5)\n",
           parts[0], parts[1], parts[2], parts[3], parts[0] + parts[1] + parts[2] + parts[3]);
    bench_remove(top);
    return 0;
}
