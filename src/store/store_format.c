/*
 * The database's format, as the steps that lead to it. Any thread; it never changes.
 */
#include "store/store_format.h"

#include "base/mem.h"

/* Each brings a database from the format of its number to the next. Never change one that was
 * released: add another. */
const char *const store_formats[] = {
    /* 0: an empty file */
    "CREATE TABLE session("
    " project TEXT NOT NULL, id TEXT NOT NULL,"
    " title TEXT NOT NULL, ai_title TEXT NOT NULL, cwd TEXT NOT NULL, branch TEXT NOT NULL,"
    " first_prompt TEXT NOT NULL,"
    " created_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL, messages INTEGER NOT NULL,"
    " cost_usd REAL NOT NULL,"
    " size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL,"
    " counted INTEGER NOT NULL,"
    " PRIMARY KEY(project, id)) WITHOUT ROWID;"
    "CREATE TABLE trust("
    " dir TEXT PRIMARY KEY NOT NULL, trusted INTEGER NOT NULL, time_ms INTEGER NOT NULL"
    ") WITHOUT ROWID;",
    /* 1: without prompts */
    "CREATE TABLE prompt("
    " number INTEGER PRIMARY KEY AUTOINCREMENT,"
    " project TEXT NOT NULL, text TEXT NOT NULL, time_ms INTEGER NOT NULL);"
    "CREATE INDEX prompt_of_project ON prompt(project, number);",
    /* 2: without goals */
    "CREATE TABLE thread_goals("
    " thread_id TEXT PRIMARY KEY NOT NULL, goal_id TEXT NOT NULL, objective TEXT NOT NULL,"
    " status TEXT NOT NULL CHECK(status IN('active', 'paused', 'blocked', 'usage_limited',"
    "  'budget_limited', 'complete')),"
    " phase TEXT NOT NULL, phase_detail TEXT NOT NULL,"
    " token_budget INTEGER CHECK(token_budget>0), max_turns INTEGER CHECK(max_turns>0),"
    " max_cost_usd REAL CHECK(max_cost_usd>0), deadline_ms INTEGER CHECK(deadline_ms>0),"
    " tokens_used INTEGER NOT NULL, output_tokens INTEGER NOT NULL, steps INTEGER NOT NULL,"
    " time_used_seconds INTEGER NOT NULL, cost_usd REAL NOT NULL, cost_unknown INTEGER NOT NULL,"
    " iterations INTEGER NOT NULL, last_reason TEXT NOT NULL,"
    " checks TEXT NOT NULL, protect TEXT NOT NULL, baseline TEXT NOT NULL,"
    " options TEXT NOT NULL, memory TEXT NOT NULL,"
    " created_at_ms INTEGER NOT NULL, updated_at_ms INTEGER NOT NULL);"
    "CREATE TABLE goal_events("
    " id INTEGER PRIMARY KEY, thread_id TEXT NOT NULL, goal_id TEXT NOT NULL,"
    " time_ms INTEGER NOT NULL, kind TEXT NOT NULL, status TEXT, data TEXT NOT NULL);"
    "CREATE INDEX goal_events_of_thread ON goal_events(thread_id);"
    "CREATE TRIGGER goal_events_stay BEFORE UPDATE ON goal_events"
    " BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;"
    "CREATE TABLE goal_next("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, thread_id TEXT NOT NULL,"
    " place INTEGER NOT NULL," /* from 1, without gaps */
    " objective TEXT NOT NULL, options TEXT NOT NULL);"
    "CREATE INDEX goal_next_of_thread ON goal_next(thread_id, place);",
    /* 3: without approved entries */
    "CREATE TABLE trust_entry("
    " dir TEXT NOT NULL, digest TEXT NOT NULL, time_ms INTEGER NOT NULL,"
    " PRIMARY KEY(dir, digest)) WITHOUT ROWID;",
};

const int64_t store_format_count = ARRAY_LEN(store_formats);
