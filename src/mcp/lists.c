/*
 * The count of references is under no lock: lists are shared by few, and atomics are enough.
 */
#include "mcp/lists.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "json/json.h"
#include "json/jw.h"
#include "mcp/modern.h"

#define CACHE_MAX ((size_t)16 << 20)
#define MAX_PROBLEMS 20

static const struct {
    const char *method, *member;
} rows[] = {
    [MCP_TOOLS] = {"tools/list", "tools"},
    [MCP_RESOURCES] = {"resources/list", "resources"},
    [MCP_TEMPLATES] = {"resources/templates/list", "resourceTemplates"},
    [MCP_PROMPTS] = {"prompts/list", "prompts"},
};

struct mcp_lists *mcp_lists_new(void)
{
    struct mcp_lists *l = mem_zalloc(sizeof(*l));

    l->refs = 1;
    return l;
}

struct mcp_lists *mcp_lists_ref(struct mcp_lists *l)
{
    if (l)
        __atomic_add_fetch(&l->refs, 1, __ATOMIC_ACQ_REL);
    return l;
}

void mcp_lists_unref(struct mcp_lists *l)
{
    if (!l || __atomic_sub_fetch(&l->refs, 1, __ATOMIC_ACQ_REL))
        return;
    vec_release(&l->tools);
    vec_release(&l->resources);
    vec_release(&l->templates);
    vec_release(&l->prompts);
    vec_release(&l->problems);
    arena_release(&l->arena);
    free(l);
}

void mcp_lists_greet(struct mcp_lists *l, const struct json *hello)
{
    const struct json *can = json_get(hello, "capabilities");
    const struct json *who = json_get(hello, "serverInfo");

    if (!who)
        who = json_get(json_get(hello, "_meta"), "io.modelcontextprotocol/serverInfo");
    l->server_name = arena_str(&l->arena, str_clip(json_get_str(who, "name"), 200));
    l->server_version = arena_str(&l->arena, str_clip(json_get_str(who, "version"), 100));
    l->instructions =
        arena_str(&l->arena, str_clip(json_get_str(hello, "instructions"), MCP_MAX_TEXT));
    l->has_tools = json_is(json_get(can, "tools"), JSON_OBJECT);
    l->has_resources = json_is(json_get(can, "resources"), JSON_OBJECT);
    l->has_prompts = json_is(json_get(can, "prompts"), JSON_OBJECT);
    l->has_completions = json_is(json_get(can, "completions"), JSON_OBJECT);
}

struct mcp_lists *mcp_lists_again(const struct mcp_lists *l)
{
    struct mcp_lists *n = mcp_lists_new();

    n->server_name = arena_str(&n->arena, l->server_name);
    n->server_version = arena_str(&n->arena, l->server_version);
    n->instructions = arena_str(&n->arena, l->instructions);
    n->has_tools = l->has_tools;
    n->has_resources = l->has_resources;
    n->has_prompts = l->has_prompts;
    n->has_completions = l->has_completions;
    n->is_strict = l->is_strict;
    return n;
}

bool mcp_lists_offers(const struct mcp_lists *l, enum mcp_list kind)
{
    return kind == MCP_TOOLS     ? l->has_tools
           : kind == MCP_PROMPTS ? l->has_prompts
                                 : l->has_resources;
}

const char *mcp_list_method(enum mcp_list kind)
{
    return rows[kind].method;
}

void mcp_lists_note(struct mcp_lists *l, const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(2000);
    va_list args;

    if (l->problems.len >= MAX_PROBLEMS)
        return;
    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    vec_push(&l->problems, arena_str(&l->arena, buf_str(&text)));
}

void mcp_lists_problems(const struct mcp_lists *l, struct strv *ret)
{
    VEC_EACH(&l->problems, text) {
        strv_add(ret, *text);
    }
    for (enum mcp_list kind = 0; kind < MCP_LISTS; kind++) {
        if (l->left_out[kind])
            strv_addf(ret, "it lists %zu %s; those after the first %d are left out",
                      l->left_out[kind] + MCP_MAX_TOOLS, rows[kind].member, MCP_MAX_TOOLS);
    }
}

static void add_one(struct mcp_lists *l, enum mcp_list kind, const struct json *one)
{
    size_t len = kind == MCP_TOOLS       ? l->tools.len
                 : kind == MCP_RESOURCES ? l->resources.len
                 : kind == MCP_TEMPLATES ? l->templates.len
                                         : l->prompts.len;

    if (len >= MCP_MAX_TOOLS)
        l->left_out[kind]++;
    else if (kind == MCP_TOOLS)
        vec_push(&l->tools, one);
    else if (kind == MCP_RESOURCES)
        vec_push(&l->resources, one);
    else if (kind == MCP_TEMPLATES)
        vec_push(&l->templates, one);
    else
        vec_push(&l->prompts, one);
}

static void add_all(struct mcp_lists *l, enum mcp_list kind, const struct json *page)
{
    JSON_EACH(page, one) {
        if (!json_is(one, JSON_OBJECT))
            continue;
        if (kind == MCP_TOOLS && l->is_strict &&
            !modern_schema_is_fine(json_get(one, "inputSchema")))
            mcp_lists_note(l,
                           "the tool %.*s is left out, because the x-mcp-header of its schema "
                           "is not valid",
                           STR_ARG(str_clip(json_get_str(one, "name"), 100)));
        else
            add_one(l, kind, one);
    }
}

struct str mcp_lists_add_page(struct mcp_lists *l, enum mcp_list kind, const struct json *result)
{
    const struct json *page = NULL;

    /* The message goes away; what the list holds stays. */
    if (json_parse_copy(&l->arena, json_raw(json_get(result, rows[kind].member)), &page, NULL,
                        NULL) == 0)
        add_all(l, kind, page);
    return json_get_str(result, "nextCursor");
}

const struct json *mcp_lists_tool(const struct mcp_lists *l, struct str name)
{
    for (size_t i = 0; l && i < l->tools.len; i++) {
        if (str_eq(json_get_str(l->tools.ptr[i], "name"), name))
            return l->tools.ptr[i];
    }
    return NULL;
}

/* ---- On disk ---- */

static void write_list(struct jw *w, const char *key, const struct json *const *list, size_t n)
{
    jw_key(w, key);
    jw_array(w);
    for (size_t i = 0; i < n; i++)
        jw_json(w, list[i]);
    jw_array_end(w);
}

void mcp_lists_keep(const struct mcp_lists *l, const char *path, const char *era)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(CACHE_MAX);
    CLEANUP(mem_freep) char *dir = path_dirname(path);
    struct jw w;

    jw_init(&w, &text, 0);
    jw_object(&w);
    jw_ki64(&w, "at", clock_wall_ms());
    jw_kcstr(&w, "era", era);
    jw_key(&w, "hello");
    jw_object(&w);
    jw_key(&w, "serverInfo");
    jw_object(&w);
    jw_kstr(&w, "name", l->server_name);
    jw_kstr(&w, "version", l->server_version);
    jw_object_end(&w);
    jw_kstr(&w, "instructions", l->instructions);
    jw_key(&w, "capabilities");
    jw_object(&w);
    if (l->has_tools)
        jw_kraw(&w, "tools", STR("{}"));
    if (l->has_resources)
        jw_kraw(&w, "resources", STR("{}"));
    if (l->has_prompts)
        jw_kraw(&w, "prompts", STR("{}"));
    if (l->has_completions)
        jw_kraw(&w, "completions", STR("{}"));
    jw_object_end(&w);
    jw_object_end(&w);
    write_list(&w, rows[MCP_TOOLS].member, l->tools.ptr, l->tools.len);
    write_list(&w, rows[MCP_RESOURCES].member, l->resources.ptr, l->resources.len);
    write_list(&w, rows[MCP_TEMPLATES].member, l->templates.ptr, l->templates.len);
    write_list(&w, rows[MCP_PROMPTS].member, l->prompts.ptr, l->prompts.len);
    jw_object_end(&w);
    if (buf_check(&text, NULL) == 0 && file_mkdirs(dir, 0700, NULL) == 0)
        (void)file_renew(path, buf_str(&text), 0600, NULL); /* without it a start is only slower */
}

struct mcp_lists *mcp_lists_recall(const char *path, int64_t now_ms, char ret_era[16])
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(CACHE_MAX);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *root = NULL;
    struct mcp_lists *l;
    int64_t at_ms;

    ret_era[0] = '\0';
    if (file_slurp(path, CACHE_MAX, &text, NULL) < 0 ||
        json_parse(&arena, buf_str(&text), &root, NULL, NULL) < 0)
        return NULL;
    at_ms = json_get_i64(root, "at", 0);
    if (at_ms > now_ms || now_ms - at_ms > MCP_CACHE_MS)
        return NULL;
    snprintf(ret_era, 16, "%.*s", STR_ARG(str_first(json_get_str(root, "era"), 15)));
    l = mcp_lists_new();
    mcp_lists_greet(l, json_get(root, "hello"));
    for (enum mcp_list kind = 0; kind < MCP_LISTS; kind++)
        (void)mcp_lists_add_page(l, kind, root);
    return l;
}
