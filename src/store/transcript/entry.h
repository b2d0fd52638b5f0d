/*
 * The lines of a transcript: their kinds, and the fields that all messages share.
 *
 * A transcript is append-only JSONL. *Messages* (user, assistant, attachment, system) have a uuid
 * and a parentUuid and form the chain that is the conversation; all other lines are *facts* (title,
 * mode, queue, replacements, …). Fields are named as viewers of other agents expect. Data that only
 * tenax uses is in a system line with a special subtype and isMeta, or in a field that others
 * ignore.
 *
 * The writer puts fields that readers search for before long ones: all shared fields, then the
 * message.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct jw;

/* X(id, name in the file, is a link of the chain) */
#define ENTRY_KINDS(X)                                                                             \
    X(USER, "user", true)                                                                          \
    X(ASSISTANT, "assistant", true)                                                                \
    X(ATTACHMENT, "attachment", true)                                                              \
    X(SYSTEM, "system", true)                                                                      \
    X(PROGRESS, "progress",                                                                        \
      false) /* a link of the chain in old files; its children are then attached to its parent */  \
    X(SUMMARY, "summary", false)                                                                   \
    X(CUSTOM_TITLE, "custom-title", false)                                                         \
    X(AI_TITLE, "ai-title", false)                                                                 \
    X(LAST_PROMPT, "last-prompt", false)                                                           \
    X(TAG, "tag", false)                                                                           \
    X(MODE, "mode", false)                                                                         \
    X(PERMISSION_MODE, "permission-mode", false)                                                   \
    X(WORKTREE_STATE, "worktree-state", false)                                                     \
    X(PR_LINK, "pr-link", false)                                                                   \
    X(AGENT_NAME, "agent-name", false)                                                             \
    X(AGENT_SETTING, "agent-setting", false)                                                       \
    X(QUEUE_OPERATION, "queue-operation", false)                                                   \
    X(FILE_HISTORY, "file-history-snapshot", false)                                                \
    X(CONTENT_REPLACEMENT, "content-replacement", false)                                           \
    X(TASK_SUMMARY, "task-summary", false)                                                         \
    X(ATTRIBUTION, "attribution-snapshot", false)                                                  \
    X(SPECULATION_ACCEPT, "speculation-accept", false)                                             \
    X(COLLAPSE_COMMIT, "marble-origami-commit", false)                                             \
    X(COLLAPSE_SNAPSHOT, "marble-origami-snapshot", false)                                         \
    X(GOAL_TERMS, "goal-terms", false) /* tenax only: the full terms of a goal, and its usage */   \
    X(GOAL_USED, "goal-used", false)

enum entry_kind {
#define X(id, name, link) ENTRY_##id,
    ENTRY_KINDS(X)
#undef X
    ENTRY_OTHER, /* belongs to other programs; left as it is */
};

const char *entry_kind_name(enum entry_kind kind);
enum entry_kind entry_kind_of(struct str name);
bool entry_kind_is_link(enum entry_kind kind);

/* Fields that all messages of a session have; lent. */
struct entry_head {
    struct str session;
    struct str cwd;
    struct str version;    /* "0.1.0" */
    struct str branch;     /* omitted if empty */
    struct str entrypoint; /* "cli", "sdk-cli"; omitted if empty */
    struct str agent_id;   /* for a sidechain; empty = main chain */
};

/* Writes {"parentUuid":…,…,"type":"user","uuid":…,"timestamp":…; the caller adds keys and calls
 * jw_object_end(). An empty parent becomes null. */
void entry_begin(struct jw *w, const struct entry_head *head, enum entry_kind kind, struct str uuid,
                 struct str parent, int64_t time_ms);

/* The same for facts: {"type":"custom-title". */
void entry_begin_fact(struct jw *w, enum entry_kind kind);

/* Formats a time as "2026-11-14T10:00:00.000Z", and parses it; -1 if it is invalid. */
void entry_time(int64_t time_ms, char out[static 25]);
int64_t entry_time_parse(struct str text);
