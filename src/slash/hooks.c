/*
 * /hooks: which hooks this session has, where each is written, and whether it runs.
 */
#include "base/secret.h"
#include "hooks/registry.h"
#include "hooks/settings.h"
#include "host/host.h"
#include "slash/answer.h"

static int hooks_list_run(struct slash_call *call, struct err *err);

const struct slash_command slash_hooks_entry = {
    .name = "hooks",
    .hint = "",
    .summary = "List the hooks, where they are written, and whether they run",
    .run = hooks_list_run,
};

/* Hooks registered while the session runs: the goal, skills. */
static size_t say_session(struct slash_call *call)
{
    CLEANUP(hook_set_unrefp) const struct hook_set *set = hook_registry_get(host_hooks(call->host));
    size_t count = 0;

    VEC_EACH(&set->entries, e) {
        if (e->source != HOOK_SESSION)
            continue;
        VEC_EACH(&e->handlers, h) {
            const struct handler_spec *spec = hook_handler_spec(*h);

            slash_sayf(call, INK_CYAN, "%s", hook_event_name(e->event));
            slash_sayf(call, INK_PLAIN, ": %s %.*s\n", handler_type_name(spec->type),
                       STR_ARG(hook_handler_title(*h)));
            slash_sayf(call, INK_FAINT, "    %s\n",
                       e->skill_root ? e->skill_root : "of this session");
            count++;
        }
    }
    return count;
}

static int hooks_list_run(struct slash_call *call, struct err *err)
{
    CLEANUP(settings_rows_release) struct settings_rows rows = {0};
    size_t count;

    (void)err;
    settings_list(host_conf(call->host), &rows);
    VEC_EACH(&rows.list, row) {
        CLEANUP(buf_release) struct buf what = BUF_INIT(4096);

        slash_add_line(&what, row->what, 200);
        secret_scrub(&what);
        slash_say(call, INK_CYAN, row->event);
        slash_sayf(call, INK_PLAIN, "%s%.*s: %.*s %s\n", row->matcher.len ? " " : "",
                   STR_ARG(row->matcher), STR_ARG(row->type), buf_cstr(&what));
        slash_sayf(call, INK_FAINT, "    %.*s%s: %s%.*s\n", STR_ARG(row->origin),
                   row->is_managed ? " (managed)" : "",
                   row->why_not.len ? "does not run: " : "runs", STR_ARG(row->why_not));
    }
    count = rows.list.len + say_session(call);
    if (!count)
        slash_say(call, INK_PLAIN,
                  STR("There are no hooks here. docs/hooks.md says how to add one.\n"));
    return 0;
}
