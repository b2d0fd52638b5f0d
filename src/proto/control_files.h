/*
 * Requests about files and folders, for control.c.
 *
 * read_file {path, max_bytes?, encoding?}: contents, absPath, truncated. seed_read_state {path,
 * mtime}: the model has seen the file as it was then (milliseconds since 1970), so that it may edit
 * it if it is unchanged since; files it has read in this session take precedence.
 * register_repo_root {directory}: a folder below the session's, added to the working folders;
 * DirectoryAdded hooks run.
 */
#pragma once

struct control_call;
struct err;
struct jw;

int control_read_file(struct control_call *call, struct jw *w, struct err *err);
int control_seed_read_state(struct control_call *call, struct jw *w, struct err *err);
int control_register_repo_root(struct control_call *call, struct jw *w, struct err *err);
