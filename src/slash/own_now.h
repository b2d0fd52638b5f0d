/*
 * The commands and skills of a person's own that count in a session now.
 *
 * What is there is looked at when somebody wants a command, and read anew when a file has changed.
 * Where ConfigChange hooks want to hear of `skills`, they are asked first, whenever the session
 * looks at its settings (host_on_reload()): until they have said yes, and when they say no, the
 * texts that were read before stay in use. Any thread.
 */
#pragma once

struct host;
struct own_list;
struct own_now;
struct strv;

/* Shared with the host, which is alive until its own reference goes. */
struct own_now *own_now_new(struct host *h);
void own_now_unref(struct own_now *n); /* NULL is fine */
/* Asks nobody; yours. */
struct own_list *own_now_get(struct own_now *n);
/* The folders whose changes hooks want to hear of; none while no hook does, or nothing was read. */
void own_now_folders(struct own_now *n, struct strv *ret);
