/*
 * rewind_files {user_message_id, dry_run?, force?}: a control request that sets files back.
 *
 * The answer is RewindFilesResult of the official SDK: canRewind, error, filesChanged, insertions,
 * deletions, skippedLinks; and filesSkipped of our own, with the reason for each.
 */
#pragma once

struct control_call;
struct err;
struct jw;

int control_rewind_files(struct control_call *call, struct jw *w, struct err *err);
