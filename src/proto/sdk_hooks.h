/*
 * Hooks of an SDK: callbacks that a client registered with `initialize` and answers itself.
 *
 * To run one is to send the client a hook_callback request and wait for its response. All callbacks
 * that match run at once. One that does not answer in time (600 s unless it said otherwise), or
 * whose client has gone, counts as "no" where a hook may say no before something happens
 * (PreToolUse, UserPromptSubmit), and as no opinion elsewhere; so does one that fails with
 * onFailure "block". A client is not asked about what it does itself by a control request
 * (update_settings and ConfigChange): its thread could not read the answer.
 */
#pragma once

#include "agent/hook.h"
#include "base/str.h"

struct err;
struct json;
struct mailbox;
struct sdk_hooks;

/* Requests go to the mailbox as line_mail (peer.h). */
struct sdk_hooks *sdk_hooks_new(struct mailbox *to);
void sdk_hooks_free(struct sdk_hooks *s); /* no hook runs any more */
struct hook_runner *sdk_hooks_runner(struct sdk_hooks *s);

/* By the thread that reads the client.
 * {"PreToolUse":[{"matcher","hookCallbackIds":[…],"timeout","onFailure"}]}; replaces the earlier
 * ones. ERR_BAD_INPUT names the invalid part. Unknown events are skipped. */
int sdk_hooks_set(struct sdk_hooks *s, const struct json *hooks, struct err *err);

/* The client's response to one of our requests: its output, or (json NULL) the error it reported.
 * False when the id is none of ours, or no longer waited for. */
bool sdk_hooks_answer(struct sdk_hooks *s, struct str request_id, const struct json *output,
                      struct str error);
/* The client is gone, or must not be waited for: ends all waits, and none starts any more. */
void sdk_hooks_close(struct sdk_hooks *s);
void sdk_hooks_reopen(struct sdk_hooks *s); /* for the session that comes */
