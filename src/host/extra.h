/*
 * Deferred tools of a session: whether its tools are deferred, and the source of late ones. For
 * src/host only.
 */
#pragma once

struct extra_source;
struct host;

/* Decides whether tools are deferred. Called before the first toolbox is made, and again before the
 * first request, because mode "auto" depends on what the servers offer. The decision is final. */
void host_extra_open(struct host *h);
void host_extra_decide(struct host *h);
/* The source for the session's agents. */
struct extra_source *host_extra_source(struct host *h);
