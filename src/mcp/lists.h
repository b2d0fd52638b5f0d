/*
 * What one MCP server offers: how it introduces itself, its tools, resources and prompts.
 *
 * Lists are built page by page by one thread and immutable from then on, shared by reference. The
 * last ones of each server are kept in a file, so that a session can name tools before their server
 * has connected. Values of them are from outside: every reader checks what it takes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"

struct buf;
struct err;
struct json;
struct strv;

#define MCP_MAX_TOOLS 2000
#define MCP_MAX_PAGES 200
#define MCP_MAX_CURSOR ((size_t)16 << 10) /* bytes */
#define MCP_MAX_TEXT ((size_t)2048)       /* bytes of instructions that the model sees */

enum mcp_list {
    MCP_TOOLS,
    MCP_RESOURCES,
    MCP_TEMPLATES,
    MCP_PROMPTS,
    MCP_LISTS,
};

struct mcp_lists {
    struct arena arena;
    struct str server_name, server_version, instructions;
    VEC(const struct json *) tools, resources, templates, prompts;
    bool has_tools, has_resources, has_prompts; /* the server says it offers them */
    bool has_completions;
    bool is_strict;             /* tools whose annotations for headers make no sense are left out */
    VEC(struct str) problems;   /* lines about what is missing, for people */
    size_t left_out[MCP_LISTS]; /* beyond MCP_MAX_TOOLS */
    unsigned refs;
};

struct mcp_lists *mcp_lists_new(void);
struct mcp_lists *mcp_lists_ref(struct mcp_lists *l); /* NULL is fine */
void mcp_lists_unref(struct mcp_lists *l);

/* From the answer to initialize or server/discover. */
void mcp_lists_greet(struct mcp_lists *l, const struct json *hello);
/* Empty lists of the same server. */
struct mcp_lists *mcp_lists_again(const struct mcp_lists *l);

bool mcp_lists_offers(const struct mcp_lists *l, enum mcp_list kind);
const char *mcp_list_method(enum mcp_list kind); /* "tools/list" */
/* The cursor of the next page, lent by result; empty: there is none. */
struct str mcp_lists_add_page(struct mcp_lists *l, enum mcp_list kind, const struct json *result);

/* Notes that something is missing, for people: "its list of tools cannot be read: …". The first
 * few are kept. */
void mcp_lists_note(struct mcp_lists *l, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Appends what is missing, a line each. */
void mcp_lists_problems(const struct mcp_lists *l, struct strv *ret);

const struct json *mcp_lists_tool(const struct mcp_lists *l, struct str name); /* NULL: none */

/* To a file, together with the era that the server speaks ("legacy", "modern"), and from it: NULL
 * where there is none, or an old one. */
#define MCP_CACHE_MS (7LL * 24 * 3600 * 1000)
void mcp_lists_keep(const struct mcp_lists *l, const char *path, const char *era);
struct mcp_lists *mcp_lists_recall(const char *path, int64_t now_ms, char ret_era[16]);
