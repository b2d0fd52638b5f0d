/*
 * Properties of a tool's calls that permissions depend on.
 */
#pragma once

enum tool_flags {
    TOOL_READ_ONLY = 1,  /* safe to repeat; may start while the answer is streaming */
    TOOL_CONCURRENT = 2, /* may run in parallel with others that have this flag */
    TOOL_EDITS = 4,      /* changes the one file it is about: allowed by acceptEdits */
    /* run() itself asks the user (ask.h): there is no permission question before it, and no mode or
     * allow rule can answer instead. Deny rules and dontAsk still apply. */
    TOOL_PERSON = 8,
    TOOL_FREE = 16,    /* needs no permission (TodoWrite, BashOutput); deny rules still apply */
    TOOL_REFEREE = 32, /* handled by the referee */
    /* A successful call ends the turn as a success, and its arguments are the turn's result. run
     * may be NULL. */
    TOOL_FINAL = 64,
    TOOL_OWED = 128,   /* final, and required before the turn may end */
    TOOL_HIDDEN = 256, /* not offered, but calls by this name, which models know, still work */
    /* Not of a tool: the question is about an effect of a trial run, which names the protected file
     * itself. */
    TOOL_ON_TRIAL = 512,
    /* The same: a command that cannot run on trial here, so its text decides. */
    TOOL_UNTRIED = 8192,
    /* Not in the request if the model can search for tools (agent/extra.h). */
    TOOL_DEFERRED = 1024,
    TOOL_FINDS = 2048,    /* searches deferred tools; offered if there may be some */
    TOOL_EXECUTES = 4096, /* the same: its input names a deferred tool, which runs instead */
};
