/*
 * Files that FileChanged hooks watch.
 *
 * A matcher of that event is also a list of names ("a.env|b.env"), files in the session's folder;
 * hooks add others by watchPaths, whose last value counts. Nothing waits for a change: the agent
 * checks before it acts, as for settings (reload.h), and compares a file with its state at the
 * previous check. So a change is reported at the next turn, step or call. Any thread.
 */
#pragma once

struct hook_registry;
struct strv;
struct watch;
struct workspace;

#define WATCH_MAX_FILES 200

/* event: "add", "change" or "unlink". */
typedef void (*watch_fn)(void *arg, const char *path, const char *event);

/* Both are lent for good. */
struct watch *watch_new(struct hook_registry *hooks, struct workspace *workspace);
void watch_free(struct watch *w); /* NULL is fine */

/* In place of those asked for before; relative ones are below the session's folder. */
void watch_ask(struct watch *w, const struct strv *paths);
/* Calls fn for each file that is not as it was; of a file that is new to the list, nothing. */
void watch_look(struct watch *w, watch_fn fn, void *arg);
