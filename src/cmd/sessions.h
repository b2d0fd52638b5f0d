/*
 * What the parts of `tenax sessions` share. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct cmd;
struct conf;
struct err;
struct index;
struct jw;
struct store;
struct store_session;

struct sessions {
    struct cmd *cmd;
    const struct conf *conf;
    const char *home;
    struct buf project; /* this folder's key */
};

/* Those that the options ask for. */
int sessions_refresh(const struct sessions *s, struct index *ret, struct err *err);
/* Finds the session meant, and its stored data. */
int sessions_find(const struct sessions *s, const char *want, struct buf *ret_path,
                  struct err *err);

/* One line of a stranger's text, at most so many characters. */
void sessions_add_line(struct buf *out, struct str text, size_t max_chars);
void sessions_add_size(struct buf *out, int64_t bytes); /* "34 KB" */
/* Members of an object: what a list knows of it. */
void sessions_write(struct jw *w, const struct store_session *row, const char *path);

/* Both give the exit code. */
int sessions_say(const struct sessions *s, const struct buf *out);
int sessions_failed(const struct err *err);

int sessions_list(const struct sessions *s);
int sessions_show(const struct sessions *s, const char *want);
int sessions_export(const struct sessions *s, const char *want);
