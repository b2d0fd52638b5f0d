/*
 * Where an agent works: its folders, which files it has seen, its list of things to do.
 *
 * One workspace serves one agent and all its tool threads; everything here may be called from any
 * of them. The process itself never changes directory: the working directory is a string that Bash
 * calls move and every other tool resolves against.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct arena;
struct buffers;
struct rule_subject;
struct buf;
struct err;
struct stat;
struct strv;
struct workspace;

/* dir: absolute, without links. state_dir: the session's own folder (…/projects/<key>/<session>),
 * made when the first file goes there. env: for children. All are copied. */
struct workspace *workspace_new(const char *dir, const char *state_dir, char *const *env);
/* For another agent of the session: its folders and its environment are those of w as they change,
 * except the first one when dir names another; the prefix of its commands is a copy of w's. Current
 * folder, files seen and todos are separate. dir NULL: where w is now. */
struct workspace *workspace_branch(struct workspace *w, const char *dir);
/* What the agent of `from` has seen and has to do, the agent of w has, too. */
void workspace_know(struct workspace *w, struct workspace *from);
struct workspace *workspace_ref(struct workspace *w);
void workspace_unref(struct workspace *w);

const char *workspace_dir(const struct workspace *w); /* where the session started */
char *const *workspace_environ(struct workspace *w);  /* stays valid as long as the workspace */
void workspace_set_environ(struct workspace *w, char *const *env);

char *workspace_cwd(struct workspace *w); /* yours to free */
void workspace_set_cwd(struct workspace *w, const char *dir);

void workspace_add_dir(struct workspace *w, const char *dir);
void workspace_remove_dir(struct workspace *w, const char *dir); /* never the first */
void workspace_dirs(struct workspace *w, struct strv *ret); /* dir first, then the added ones */

/* Absolute, "~" expanded, "." and ".." and doubled slashes taken out by name only; against cwd when
 * relative. Yours to free. */
char *workspace_resolve(struct workspace *w, struct str path);
/* The same against a folder of yours, appended; the buffer holds WORKSPACE_MAX_PATH at most. */
#define WORKSPACE_MAX_PATH ((size_t)64 << 10)
void workspace_resolve_at(struct str dir, struct str path, struct buf *ret);
/* For people and models: relative to cwd when below it, else as it is. Yours to free. */
char *workspace_shorten(struct workspace *w, const char *path);
/* The path with its links followed as far as it exists, also those that lead to nothing yet: what a
 * write would make. Yours to free. */
char *workspace_real(const char *path);
/* The path, with its links followed, is inside one of the folders. */
bool workspace_contains(struct workspace *w, const char *path);
/* The same of a path that workspace_real() has left as it was: it is not asked again. */
bool workspace_contains_real(struct workspace *w, const char *real);
/* A picture that the user has pasted: it lies in the session's own folder. real: links followed. */
#define WORKSPACE_IMAGES "images"
bool workspace_has_image(struct workspace *w, const char *real);

/* A folder where this agent, and those that branch from it, read and write files without asking,
 * such as an agent's memory. */
void workspace_add_own(struct workspace *w, const char *dir);
/* The path, with its links followed, is in such a folder. */
bool workspace_has_own(struct workspace *w, const char *real);

/* Files as the model last saw them: an edit of what changed since is refused. */
struct seen_file {
    int64_t mtime_ns;
    int64_t size;
    uint64_t hash; /* of the content, seen_hash() */
    bool partial;  /* only some lines were shown */
    /* Of files seen before this process began only the time is known: they are unchanged when their
     * mtime is not after this. 0: compare the hash. */
    int64_t recalled_ms;
    int64_t order; /* of the last look, growing; set by workspace_saw() */
};
uint64_t seen_hash(struct str content);
void workspace_saw(struct workspace *w, const char *path, const struct stat *st, struct str content,
                   bool partial);
/* What a resumed session knows of it. */
void workspace_recall_seen(struct workspace *w, const char *path, int64_t time_ms);
bool workspace_seen(struct workspace *w, const char *path, struct seen_file *ret);
void workspace_forget(struct workspace *w, const char *path);
void workspace_forget_all(struct workspace *w);
/* Paths, the one looked at last first. */
void workspace_seen_paths(struct workspace *w, struct strv *ret);

/* The list of TodoWrite, as its JSON array; "[]" to begin with. */
void workspace_todos(struct workspace *w, struct buf *ret);
void workspace_set_todos(struct workspace *w, struct str json);

/* Files as the editor of the session has them (buffers.h); a branch has those of its origin. */
struct buffers *workspace_buffers(struct workspace *w);

/* Lines of shell that the commands to come begin with, by who brought them; those of the session
 * come first. */
enum workspace_shell {
    WORKSPACE_SHELL_SESSION,
    WORKSPACE_SHELL_FOLDER, /* of the folder that was gone to last */
};
void workspace_set_shell(struct workspace *w, enum workspace_shell which, struct str lines);
void workspace_shell(struct workspace *w, struct buf *ret);

/* A new file for output that is too long to show, in <state_dir>/tool-results/: its path, made and
 * empty, 0600. */
int workspace_spill(struct workspace *w, struct str name, struct buf *ret_path, struct err *err);

/* Things that tools keep between calls (commands in the background), one of each kind per
 * workspace, made on first use and freed with it, or by workspace_clear() when it is no longer in
 * use. */
struct workspace_kind {
    void *(*make)(struct workspace *w);
    void (*free)(void *thing);
};
void *workspace_thing(struct workspace *w, const struct workspace_kind *kind);
void workspace_clear(struct workspace *w);

/* What permission rules see of a call that reads or writes the file at `path`. */
void workspace_about_path(struct workspace *w, struct str path, bool writes, struct arena *arena,
                          struct rule_subject *ret);
