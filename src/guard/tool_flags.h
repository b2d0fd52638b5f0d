/*
 * What a tool says about its calls, as far as permissions depend on it.
 */
#pragma once

enum tool_flags {
    TOOL_READ_ONLY = 1,  /* harmless to run again; may start while the model still streams */
    TOOL_CONCURRENT = 2, /* may run beside others that have this flag */
    TOOL_EDITS = 4,      /* changes the one file it is about: acceptEdits covers it */
    /* run() itself asks the user (ask.h): there is no permission question before it, and no mode or
     * allow rule answers in the user's place. Deny rules and dontAsk still apply. */
    TOOL_PERSON = 8,
    TOOL_FREE = 16,    /* needs no permission (TodoWrite, BashOutput); deny rules still apply */
    TOOL_REFEREE = 32, /* talks to the referee */
    /* A call of it that succeeds ends the turn as a success, and its arguments are the turn's
     * result. run may be NULL. */
    TOOL_FINAL = 64,
    TOOL_OWED = 128,   /* final, and the turn must not end without it */
    TOOL_HIDDEN = 256, /* not offered: calls of it, by a name that models know, still work */
    /* Of no tool: the question is about an effect of a command on trial, which names the protected
     * file itself. */
    TOOL_ON_TRIAL = 512,
    /* Not in the request where the model can search for tools (agent/extra.h). */
    TOOL_DEFERRED = 1024,
    TOOL_FINDS = 2048,    /* searches deferred tools: offered where there may be some */
    TOOL_EXECUTES = 4096, /* the same: its input names a deferred tool, which runs in its place */
};
