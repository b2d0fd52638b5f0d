/*
 * Control requests that go back to before a message of the user.
 *
 * rewind_files {user_message_id, dry_run?, force?} sets files back, also while a turn runs. The
 * answer is RewindFilesResult of the official SDK: canRewind, error, filesChanged, insertions,
 * deletions, skippedLinks; and filesSkipped of our own, with the reason for each.
 *
 * rewind_conversation {user_message_id, files?, dry_run?, force?} is ours: the conversation, with
 * files or without; not while a turn runs. The answer has uuid, too: going back there undoes it.
 */
#pragma once

struct control_call;
struct err;
struct jw;

int control_rewind_files(struct control_call *call, struct jw *w, struct err *err);
int control_rewind_conversation(struct control_call *call, struct jw *w, struct err *err);
