/*
 * interactive: `tenax` and `tenax "…"` in a terminal. Options in, the terminal UI (src/tui), and
 * the final messages when it has given the terminal back. Main thread.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "cmd/cmd.h"
#include "cmd/demo.h"
#include "cmd/session_options.h"
#include "conf/conf.h"
#include "proto/listen.h"
#include "tui/app/tui.h"

/* `tenax --resume` lets one choose, which is what /resume does. */
static void interactive_prompt(struct cmd *c, struct session_spec *session, struct buf *ret)
{
    if (session->resume && !*session->resume) {
        session->resume = NULL;
        buf_adds(ret, "/resume");
        return;
    }
    for (size_t i = 0; i < c->args.words.len; i++) {
        if (i)
            buf_addc(ret, ' ');
        buf_adds(ret, c->args.words.ptr[i]);
    }
}

static int interactive_demo(void *arg, struct err *err)
{
    struct cmd *c = arg;
    int code;

    return demo_play(c->cancel, &code, err);
}

static void *interactive_listen(struct host *h, struct slash *slash)
{
    return ear_new(h, slash);
}

static void interactive_unlisten(void *ear)
{
    ear_free(ear);
}

int cmd_interactive(struct cmd *c)
{
    CLEANUP(session_options_release) struct session_options options = {0};
    CLEANUP(buf_release) struct buf prompt = BUF_INIT(BUF_NO_LIMIT);
    struct tui_spec spec = {
        .host = &options.host,
        .version = TENAX_VERSION,
        .demo = interactive_demo,
        .demo_arg = c,
        .listen = interactive_listen,
        .unlisten = interactive_unlisten,
    };
    struct tui_end end;
    struct err err = {0};

    if (session_options_read(&options, c, /*is_interactive=*/true, &err) < 0) {
        say_error(&err);
        return EXIT_USAGE;
    }
    options.host.session.on_wait = NULL; /* the screen is the terminal's by then */
    interactive_prompt(c, &options.host.session, &prompt);
    spec.prompt = buf_str(&prompt);
    spec.is_demo = getenv("TENAX_DEMO");
    spec.plain = c->args.given[OPT_PLAIN] || str_is(conf_get_str(options.host.conf, "tui"), "off");
    tui_run(&spec, &end);
    if (end.failed.code)
        say_error(&end.failed);
    if (end.session[0] && !spec.is_demo)
        say_plain("Resume this session with: tenax --resume %s", end.session);
    return cmd_signal_code() ? cmd_signal_code() : end.code;
}
