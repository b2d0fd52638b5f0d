/*
 * Extra tools of a session: whether its tools are deferred, and where late ones come from. For
 * src/host only.
 */
#pragma once

struct extra_source;
struct host;

/* Before the first toolbox is made, and again before the first request: mode "auto" depends on how
 * much the servers offer. Once decided it stays. */
void host_extra_open(struct host *h);
void host_extra_decide(struct host *h);
/* What the session's agents are given. */
struct extra_source *host_extra_source(struct host *h);
