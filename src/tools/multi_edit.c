/*
 * MultiEdit: several replacements in one file, all or none. Runs on a tool thread; sees only its
 * call.
 */
#include "agent/tool.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "tools/edit.h"
#include "tools/edit_match.h"
#include "tools/entries.h"

static void tool_multi_edit_about(const struct tool_entry *e, struct workspace *w,
                                  const struct json *args, struct arena *arena,
                                  struct rule_subject *ret);
static void tool_multi_edit_expand(const struct tool_entry *e, struct workspace *w,
                                   const struct json *args, struct buf *ret);
static int tool_multi_edit_check(struct tool_call *call, struct tool_result *ret, struct err *err);
static int tool_multi_edit_run(struct tool_call *call, struct tool_result *ret, struct err *err);

const struct tool_entry tool_multi_edit_entry = {
    .name = "MultiEdit",
    .text = tool_multi_edit_md,
    .schema = tool_multi_edit_schema,
    .flags = TOOL_EDITS | TOOL_DEFERRED,
    .about = tool_multi_edit_about,
    .expand = tool_multi_edit_expand,
    .check = tool_multi_edit_check,
    .run = tool_multi_edit_run,
};

static void tool_multi_edit_about(const struct tool_entry *e, struct workspace *w,
                                  const struct json *args, struct arena *arena,
                                  struct rule_subject *ret)
{
    workspace_about_path(w, json_get_str(args, "file_path"), /*writes=*/true, arena, ret);
    (void)e;
}

static void tool_multi_edit_expand(const struct tool_entry *e, struct workspace *w,
                                   const struct json *args, struct buf *ret)
{
    (void)e;
    tool_expand_path(w, args, "file_path", ret);
}

static int multi_edit(struct tool_call *call, bool only_look, struct tool_result *ret,
                      struct err *err)
{
    VEC(struct edit) edits = VEC_INIT;
    int rc;

    JSON_EACH(json_get(call->args, "edits"), edit) {
        vec_push(&edits, edit_from(edit));
    }
    rc = edit_file(call, edits.ptr, edits.len, only_look, ret, err);
    vec_release(&edits);
    return rc;
}

static int tool_multi_edit_check(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    return multi_edit(call, /*only_look=*/true, ret, err);
}

static int tool_multi_edit_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    return multi_edit(call, /*only_look=*/false, ret, err);
}
