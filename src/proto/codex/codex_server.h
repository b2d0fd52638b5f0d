/*
 * The app-server protocol of Codex: `tenax app-server`, spoken to by programs that embed a coding
 * agent, over standard input and output or a unix socket.
 *
 * A thread is an ordinary session. JSON-RPC without the "jsonrpc" member, one message a line.
 * Unsupported methods are refused as unknown, which clients detect.
 */
#pragma once

struct protocol;

extern const struct protocol codex_protocol;
