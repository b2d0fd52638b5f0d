/*
 * For tests of tools: a temporary workspace, and a call as the agent would make it.
 *
 *     struct tool_check t;
 *     tool_check_begin(&t);
 *     tool_check_put(&t, "a.c", STR("int x;\n"));
 *     tool_check_run(&t, &tool_read_entry, "{\"file_path\":\"a.c\"}");
 *     assert_true(str_has(tool_check_text(&t), STR("int x;")));
 *     tool_check_end(&t);
 *
 * A run checks the arguments against the tool's schema first. Errors there or in run() are in
 * t.result like any other: is_error, and the text. Include after cmocka.h.
 */
#pragma once

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/tool.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/schema.h"
#include "sync/cancel.h"

extern char **environ;

struct tool_check {
    char dir[PATH_MAX]; /* the working directory, without links */
    struct workspace *workspace;
    struct cancel *cancel;
    struct arena arena;
    struct tool_result result; /* of the last run */
    enum err_code failed;      /* what run() or the schema failed with; ERR_NONE: it did not */
    struct buf progress;       /* the last progress text */
};

static inline void tool_check_begin(struct tool_check *t)
{
    char made[] = "/tmp/tenax-tool-XXXXXX";
    char state[PATH_MAX + 10];

    *t = (struct tool_check){.result = TOOL_RESULT_INIT, .progress = BUF_INIT(BUF_NO_LIMIT)};
    assert_non_null(mkdtemp(made));
    assert_non_null(realpath(made, t->dir));
    snprintf(state, sizeof(state), "%s.state", t->dir);
    t->workspace = workspace_new(t->dir, state, environ);
    t->cancel = cancel_new(NULL);
}

/* Follows no links. */
static inline void tool_check_remove(const char *path)
{
    struct stat st;
    DIR *dir;

    if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        dir = opendir(path);
        for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
            char *name = path_join(path, e->d_name);

            if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
                tool_check_remove(name);
            mem_freep(&name);
        }
        if (dir)
            closedir(dir);
    }
    (void)remove(path);
}

static inline void tool_check_end(struct tool_check *t)
{
    char state[PATH_MAX + 10];

    snprintf(state, sizeof(state), "%s.state", t->dir);
    tool_result_release(&t->result);
    buf_release(&t->progress);
    workspace_unref(t->workspace);
    cancel_unref(t->cancel);
    arena_release(&t->arena);
    tool_check_remove(t->dir);
    tool_check_remove(state);
}

/* Lent until the next call. */
static inline const char *tool_check_path(const struct tool_check *t, const char *name)
{
    static char path[PATH_MAX];

    snprintf(path, sizeof(path), "%.3000s/%.1000s", t->dir, name);
    return path;
}

/* Makes a file (and its folders) in the workspace, unseen by the tools. */
static inline void tool_check_put(struct tool_check *t, const char *name, struct str content)
{
    const char *path = tool_check_path(t, name);
    char *folder = path_dirname(path);
    struct err err = {0};

    if (file_mkdirs(folder, 0755, &err) < 0 || file_replace(path, content, 0644, &err) < 0)
        fail_msg("%s", err.text);
    mem_freep(&folder);
}

/* What a file holds now; an arena of the check keeps it. */
static inline struct str tool_check_get(struct tool_check *t, const char *name)
{
    struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct err err = {0};
    struct str kept;

    if (file_slurp(tool_check_path(t, name), (size_t)1 << 30, &text, &err) < 0)
        fail_msg("%s", err.text);
    kept = arena_str(&t->arena, buf_str(&text));
    buf_release(&text);
    return kept;
}

static inline void tool_check_progress(struct tool_call *call, struct str text)
{
    struct tool_check *t = call->agent;

    buf_clear(&t->progress);
    buf_add(&t->progress, text);
}

/* Whether the look before the run, where the tool has one, finds that it can be done. */
static inline bool tool_check_look(struct tool_call *call)
{
    struct tool_result result = TOOL_RESULT_INIT;
    struct err err = {0};
    bool can_be =
        !call->entry->check || (call->entry->check(call, &result, &err) == 0 && !result.is_error);

    assert_true(!can_be || !result.text.len);
    tool_result_release(&result);
    return can_be;
}

/* False when the result is an error; then check() has found it, too, unless it could not be
 * checked. */
static inline bool tool_check_run(struct tool_check *t, const struct tool_entry *entry,
                                  const char *args)
{
    const struct json *schema = NULL;
    struct tool_call call = {
        .entry = entry,
        .id = STR("toolu_test"),
        .workspace = t->workspace,
        .cancel = t->cancel,
        .progress = tool_check_progress,
        .agent = t,
    };
    struct err err = {0};
    bool can_be;

    tool_result_release(&t->result);
    t->result = (struct tool_result)TOOL_RESULT_INIT;
    t->failed = ERR_NONE;
    if (json_parse_copy(&t->arena, str_of(entry->schema), &schema, NULL, &err) < 0)
        fail_msg("the schema of %s: %s", entry->name, err.text);
    if (json_parse_copy(&t->arena, str_of(args), &call.args, NULL, &err) < 0)
        fail_msg("the arguments %s: %s", args, err.text);
    can_be = schema_check(schema, call.args, &err) == 0 && tool_check_look(&call);
    if (err.code || entry->run(&call, &t->result, &err) < 0) {
        buf_clear(&t->result.text);
        buf_adds(&t->result.text, err.text);
        t->result.is_error = true;
        t->failed = err.code;
    }
    if (entry->check && can_be == t->result.is_error && t->failed != ERR_CANCELLED &&
        t->failed != ERR_IO && t->failed != ERR_TOO_BIG)
        fail_msg("%s %s: the look before it found otherwise: %s", entry->name, args,
                 buf_cstr(&t->result.text));
    return !t->result.is_error;
}

/* The same, with arguments made like printf(). Strings in them are not escaped. */
static inline bool tool_check_runf(struct tool_check *t, const struct tool_entry *entry,
                                   const char *fmt, ...) PRINTF_LIKE(3, 4);
static inline bool tool_check_runf(struct tool_check *t, const struct tool_entry *entry,
                                   const char *fmt, ...)
{
    struct buf args = BUF_INIT(BUF_NO_LIMIT);
    va_list list;
    bool ok;

    va_start(list, fmt);
    buf_addv(&args, fmt, list);
    va_end(list);
    ok = tool_check_run(t, entry, buf_cstr(&args));
    buf_release(&args);
    return ok;
}

static inline struct str tool_check_text(const struct tool_check *t)
{
    return buf_str(&t->result.text);
}

static inline void tool_check_has(const struct tool_check *t, const char *piece, int line)
{
    if (!str_has(tool_check_text(t), str_of(piece)))
        fail_msg("line %d: expected '%s' in:\n%s", line, piece, buf_cstr(&t->result.text));
}
#define ASSERT_SAYS(t, piece) tool_check_has(t, piece, __LINE__)

/* The structured result, parsed; NULL when there is none. */
static inline const struct json *tool_check_data(struct tool_check *t)
{
    const struct json *data = NULL;
    struct err err = {0};

    if (!t->result.data.len)
        return NULL;
    if (json_parse_copy(&t->arena, buf_str(&t->result.data), &data, NULL, &err) < 0)
        fail_msg("the data is no JSON: %s", err.text);
    return data;
}
