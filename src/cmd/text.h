/*
 * A session as plain text, on standard output and standard error.
 */
#pragma once

struct agent_input;
struct cmd;
struct host;

/* Sends the prompt (taken) and shows what comes of it; begun(arg) is called when it is on its way.
 * The exit code. */
int text_run(struct cmd *c, struct host *host, struct agent_input *prompt, void (*begun)(void *arg),
             void *arg);
