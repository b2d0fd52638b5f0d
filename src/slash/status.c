/*
 * /status: what this session is and what it works with.
 */
#include "base/strv.h"
#include "conf/conf.h"
#include "guard/permit.h"
#include "guard/sandbox.h"
#include "guard/workspace.h"
#include "host/host.h"
#include "llm/effort.h"
#include "slash/answer.h"

static int status_run(struct slash_call *call, struct err *err);

const struct slash_command slash_status_entry = {
    .name = "status",
    .hint = "",
    .summary = "Show version, session, folder, key, model, settings files and sandbox",
    .run = status_run,
};

static const char *sandbox_words(const struct sandbox *s)
{
    switch (sandbox_state(s)) {
    case SANDBOX_ON:
        return "commands are confined";
    case SANDBOX_OFF:
        return "switched off";
    case SANDBOX_MISSING:
    case SANDBOX_NEEDED:
        break;
    }
    return sandbox_why_not(s);
}

static void say_lists(struct slash_call *call)
{
    CLEANUP(strv_release) struct strv dirs = STRV_INIT;
    const struct conf *conf = host_conf(call->host);

    workspace_dirs(host_workspace(call->host), &dirs);
    for (size_t i = 0; i < dirs.len; i++)
        slash_fact(call, i ? "" : "Folders", "%s", dirs.ptr[i]);
    for (size_t i = 0; i < conf_files(conf)->len; i++)
        slash_fact(call, i ? "" : "Settings", "%s", conf_files(conf)->ptr[i]);
    if (!conf_files(conf)->len)
        slash_fact(call, "Settings", "no files; all settings have their defaults");
    for (size_t i = 0; i < conf_warnings(conf)->len; i++)
        slash_sayf(call, INK_YELLOW, "%s\n", conf_warnings(conf)->ptr[i]);
}

static int status_run(struct slash_call *call, struct err *err)
{
    CLEANUP(buf_release) struct buf provider = BUF_INIT(1000);
    CLEANUP(buf_release) struct buf name = BUF_INIT(1000);
    CLEANUP(buf_release) struct buf title = BUF_INIT(4096);
    CLEANUP(mem_freep) char *cwd = workspace_cwd(host_workspace(call->host));
    enum effort effort = host_effort(call->host);
    const char *path = host_transcript(call->host);
    int64_t window;

    (void)err;
    host_model(call->host, &provider, &name, &window);
    host_title(call->host, &title);
    slash_fact(call, "Version", "%s", TENAX_VERSION);
    slash_fact(call, "Session", "%s%s%s", host_session(call->host), title.len ? "  " : "",
               buf_cstr(&title));
    slash_fact(call, "Transcript", "%s", *path ? path : "none is kept");
    slash_fact(call, "Working in", "%s", cwd);
    slash_fact(call, "Model", "%s/%s, effort %s", buf_cstr(&provider), buf_cstr(&name),
               effort == EFFORT_UNSET ? "auto" : effort_name(effort));
    slash_fact(call, "Key", "%s", host_key_source(call->host));
    slash_fact(call, "Mode", "%s", permit_mode_name(permit_mode(host_permit(call->host))));
    slash_fact(call, "Sandbox", "%s", sandbox_words(host_sandbox(call->host)));
    slash_fact(call, "Trusted", "%s", conf_is_trusted(host_conf(call->host)) ? "yes" : "no");
    say_lists(call);
    return 0;
}
