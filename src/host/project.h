/*
 * Where a session's files are: $TENAX_HOME/projects/<key>/<session>. The key is made from the
 * folder's path as other agents make it, so that their viewers find ours.
 */
#pragma once

#include "base/str.h"

struct buf;

/* "/home/u/my.app" → "-home-u-my-app"; a long one is cut and followed by a hash of the whole. */
void project_key(struct str dir, struct buf *ret);
/* <home>/projects/<key>/<session>. */
void project_session_dir(struct str home, struct str dir, struct str session, struct buf *ret);
/* Removes a session's folder with the long outputs in it, and the project's when it is empty then.
 * Whatever else is in there stays. */
void project_forget(const char *session_dir);
