/*
 * What the command line and the settings say of a session: the same for `tenax -p`, `tenax goal`
 * and a session in a terminal. Main thread.
 */
#pragma once

#include <stdbool.h>

#include "base/strv.h"
#include "host/host.h"

struct cmd;
struct err;

struct session_options {
    struct host_spec host; /* complete, except has_input */
    struct conf *conf;     /* kept for it */
    struct strv bare;      /* the tools of --bare */
    struct hub *hub;       /* of the process; its sessions end before this is released */
    struct inputs *inputs; /* input typed in front of them, one session after the other */
};
/* Of a zeroed struct. Reports unsupported options. is_interactive: trust counts. */
int session_options_read(struct session_options *o, struct cmd *c, bool is_interactive,
                         struct err *err);
void session_options_release(struct session_options *o);
