/*
 * judge_look: a tool call without an agent. The tool is one of the session's rows; schema, folder
 * and the user's rules are checked here, in place of the agent's pipeline. No hooks run: the
 * judge's looks are part of the verdict, not of the agent's work.
 */
#include "goal/judge/judge_look.h"

#include "agent/tool.h"
#include "agent/toolbox.h"
#include "base/arena.h"
#include "base/err.h"
#include "goal/judge/exhibit.h"
#include "goal/judge/judge.h"
#include "guard/permit.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/schema.h"
#include "llm/message.h"

#define SHOWN 100 /* bytes of a name or a path in a refusal */

/* A call being made. */
struct look {
    const struct judge_spec *spec;
    struct arena arena;
    const struct tool_entry *entry;
    const struct json *args;
    unsigned flags;
    struct str path; /* absolute: what it looks at */
};

static void look_release(struct look *l)
{
    arena_release(&l->arena);
}

static int look_read(struct look *l, const struct block *use, struct err *err)
{
    const struct toolbox *toolbox = l->spec->toolbox;
    struct str input = str_trim(use->input).len ? use->input : STR("{}");

    l->entry = toolbox ? toolbox_find(toolbox, use->name) : NULL;
    if (!l->entry)
        return err_set(err, ERR_NOT_FOUND, "there is no tool named '%.*s'",
                       STR_ARG(str_clip(use->name, SHOWN)));
    if (json_parse(&l->arena, input, &l->args, /*ret_info=*/NULL, err) < 0)
        return err_prefix(err, "the input of %s", l->entry->name);
    return schema_check(toolbox_schema(toolbox, l->entry), l->args, err);
}

/* Only tools that look at files, only inside the workspace, and nothing a rule speaks against. */
static int look_leave(struct look *l, struct err *err)
{
    struct rule_subject subject = {.about = ABOUT_NOTHING};
    struct permit_answer answer = {.verdict = PERMIT_ALLOW};
    const char *path;

    l->flags = tool_flags(l->entry, l->args);
    if (l->entry->about)
        l->entry->about(l->entry, l->spec->workspace, l->args, &l->arena, &subject);
    subject.tool = str_of(l->entry->name);
    subject.args = l->args;
    if (!(l->flags & TOOL_READ_ONLY) || subject.about != ABOUT_PATH || subject.writes)
        return err_set(err, ERR_DENIED, "a judge looks at files; %s does something else",
                       l->entry->name);
    l->path = subject.text;
    path = arena_cstr(&l->arena, subject.text);
    if (!workspace_contains(l->spec->workspace, path))
        return err_set(err, ERR_DENIED, "'%.*s' is outside of the workspace",
                       STR_ARG(str_clip(subject.text, SHOWN)));
    if (l->spec->permit)
        permit_check(l->spec->permit, &subject, l->flags, &answer);
    if (answer.verdict != PERMIT_ALLOW)
        return err_set(err, ERR_DENIED, "%s", answer.reason);
    return 0;
}

static void look_tell(struct look *l)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(4096);
    CLEANUP(mem_freep) char *shown = NULL;

    if (!l->spec->progress)
        return;
    shown = workspace_shorten(l->spec->workspace, arena_cstr(&l->arena, l->path));
    buf_addf(&text, "%s %.*s", l->entry->name, STR_ARG(str_clip(str_of(shown), SHOWN)));
    l->spec->progress(l->spec->progress_arg, buf_str(&text));
}

static int look_run(struct look *l, struct str id, struct cancel *cancel, struct tool_result *ret,
                    struct err *err)
{
    struct tool_call call = {
        .entry = l->entry,
        .id = id,
        .args = l->args,
        .workspace = l->spec->workspace,
        .permit = l->spec->permit,
        .conf = l->spec->conf,
        .cancel = cancel,
        .sees_all = true,
    };

    if (!l->entry->run)
        return err_set(err, ERR_UNSUPPORTED, "%s shows nothing", l->entry->name);
    if (l->entry->run(&call, ret, err) < 0)
        return -1;
    if (ret->images.len)
        buf_addf(&ret->text, "\n(%zu images, which are not shown here)", ret->images.len);
    if (!ret->text.len)
        buf_adds(&ret->text, "(nothing)");
    return 0;
}

bool judge_look(const struct judge_spec *spec, const struct block *use, struct cancel *cancel,
                size_t number, size_t max_bytes, struct buf *ret)
{
    CLEANUP(look_release) struct look l = {.spec = spec};
    CLEANUP(tool_result_release) struct tool_result result = TOOL_RESULT_INIT;
    struct err err = {0};

    if (look_read(&l, use, &err) < 0 || look_leave(&l, &err) < 0) {
        exhibit_title(ret, number, "Not looked at");
        exhibit_text(ret, number, str_of(err.text), max_bytes, CUT_END);
        return false;
    }
    look_tell(&l);
    if (look_run(&l, use->id, cancel, &result, &err) < 0) {
        exhibit_title(ret, number, "%s failed", l.entry->name);
        exhibit_text(ret, number, str_of(err.text), max_bytes, CUT_END);
        return false;
    }
    exhibit_title(ret, number, "What %s shows", l.entry->name);
    exhibit_text(ret, number, buf_str(&result.text), max_bytes, CUT_END);
    return !result.is_error;
}
