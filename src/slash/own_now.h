/*
 * The commands and skills in use in a session now, and the part that its model knows.
 *
 * The folders are checked when a command is needed, and read anew when a file has changed. If
 * ConfigChange hooks watch `skills`, they are called first, whenever the session checks its
 * settings (host_on_reload()): until they have allowed it, and when they refuse, the old texts stay
 * in use. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct host;
struct own_list;
struct own_now;
struct strv;
struct buf;

/* Shared with the host, which is alive until its own reference goes. */
struct own_now *own_now_new(struct host *h);
void own_now_unref(struct own_now *n); /* NULL is fine */
/* Without hooks; yours. */
struct own_list *own_now_get(struct own_now *n);
struct host *own_now_host(const struct own_now *n);
/* For host_set_listing(); arg is the own_now. */
void own_now_listing(void *arg, const struct str *known, struct buf *ret_block,
                     struct buf *ret_attachment);
/* A host_fitting_fn; arg is the own_now. */
void own_now_fitting(void *arg, struct str words, struct buf *ret_block,
                     struct buf *ret_attachment);
/* An agent is about to get the text of a skill; false: it has it already. */
bool own_now_loads(struct own_now *n, const char *agent, struct str name, struct str body);
/* The folders that hooks watch; none while there is no such hook, or nothing was read. */
void own_now_folders(struct own_now *n, struct strv *ret);
