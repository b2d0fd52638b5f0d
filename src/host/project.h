/*
 * Where a session's files are: $TENAX_HOME/projects/<key>/<session>. The key is made from the
 * folder's path as other agents make it, so that their viewers find ours.
 */
#pragma once

#include "base/str.h"

struct buf;

/* "/home/u/my.app" → "-home-u-my-app"; a long one is cut and a hash of the whole stands behind. */
void project_key(struct str dir, struct buf *ret);
/* <home>/projects/<key>/<session>. */
void project_session_dir(struct str home, struct str dir, struct str session, struct buf *ret);
