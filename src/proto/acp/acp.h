/*
 * The Agent Client Protocol, version 1: `tenax acp`, spoken to by editors over standard input and
 * output. reference: agentclientprotocol.com.
 *
 * A session of the editor is an ordinary session: kept, listed and resumed everywhere. Prompts,
 * questions and goals are those of the session, so what another front end does to it is seen here.
 */
#pragma once

struct protocol;

extern const struct protocol acp_protocol;
