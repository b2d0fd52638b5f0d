/*
 * Texts about a task: a sentence, and the notification for its owner. Any thread.
 */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "agent/task.h"
#include "base/buf.h"
#include "base/mem.h"

void task_write_summary(const struct task_view *v, struct buf *ret)
{
    static const char *const nouns[] = {
        [TASK_AGENT] = "Agent",         [TASK_SHELL] = "Background command",
        [TASK_MONITOR] = "Monitor",     [TASK_WORKFLOW] = "Workflow",
        [TASK_REMOTE] = "Remote agent", [TASK_TEAMMATE] = "Teammate",
    };
    struct str what = str_first(v->description, str_chr(v->description, '\n'));

    buf_addf(ret, "%s \"%.*s\" ", nouns[v->kind], STR_ARG(str_clip(what, 200)));
    if ((v->kind == TASK_SHELL || v->kind == TASK_MONITOR) && v->summary.len) {
        buf_add(ret, v->summary);
        return;
    }
    switch (v->state) {
    case TASK_COMPLETED:
        if (v->summary.len) /* "stopped at its 3-turn limit" */
            buf_add(ret, v->summary);
        else
            buf_adds(ret, v->kind == TASK_AGENT ? "finished" : "completed");
        break;
    case TASK_FAILED:
        buf_addf(ret, "failed: %.*s", STR_ARG(v->summary));
        break;
    case TASK_KILLED:
        buf_addf(ret, "was stopped%s%.*s", v->summary.len ? " by " : "", STR_ARG(v->summary));
        break;
    case TASK_STOPPED:
        buf_adds(ret, "was stopped when the session ended");
        break;
    default:
        buf_adds(ret, task_state_name(v->state));
    }
}

static bool starts_element(struct str s)
{
    static const char *const names[] = {
        "task-notification",
        "task-id",
        "tool-use-id",
        "output-file",
        "status",
        "summary",
        "note",
        "result",
        "usage",
        "subagent_tokens",
        "tool_uses",
        "event",
        "duration_ms",
        "worktree",
        "worktreePath",
        "worktreeBranch",
        "system-reminder",
        "agent-message",
    };

    s = str_from(s, 1);
    if (str_starts(s, STR("/")))
        s = str_from(s, 1);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        size_t len = strlen(names[i]);

        if (s.len >= len && strncasecmp(s.ptr, names[i], len) == 0)
            return true;
    }
    return false;
}

void task_add_escaped(struct buf *ret, struct str text)
{
    size_t at = 0;

    while (at < text.len) {
        struct str rest = str_from(text, at);
        size_t n = str_chr(rest, '<');

        buf_add(ret, str_first(rest, n));
        if (n < rest.len)
            buf_adds(ret, starts_element(str_from(rest, n)) ? "&lt;" : "<");
        at += n + 1;
    }
}

static void add_element(struct buf *ret, const char *name, struct str text)
{
    if (!text.len)
        return;
    buf_addf(ret, "<%s>", name);
    task_add_escaped(ret, text);
    buf_addf(ret, "</%s>\n", name);
}

void task_write_event(const struct task_view *v, struct str event, struct buf *ret)
{
    CLEANUP(buf_release) struct buf summary = BUF_INIT(TASK_MAX_SUMMARY);

    buf_addf(&summary, "Monitor \"%.*s\" reports", STR_ARG(str_clip(v->description, 200)));
    buf_adds(ret, "<task-notification>\n");
    add_element(ret, "task-id", str_of(v->id));
    add_element(ret, "summary", buf_str(&summary));
    add_element(ret, "event", event);
    buf_adds(ret, "</task-notification>");
}

void task_write_notification(const struct task_view *v, struct buf *ret)
{
    CLEANUP(buf_release) struct buf summary = BUF_INIT(2 * TASK_MAX_SUMMARY);
    CLEANUP(buf_release) struct buf note = BUF_INIT(2 * TASK_MAX_SUMMARY);

    task_write_summary(v, &summary);
    buf_add(&note, v->note);
    if (v->result.len > TASK_MAX_RESULT)
        buf_addf(&note, "%sThe result is cut; all of it is in %.*s.", note.len ? " " : "",
                 STR_ARG(v->output_file));
    buf_adds(ret, "<task-notification>\n");
    add_element(ret, "task-id", str_of(v->id));
    add_element(ret, "tool-use-id", v->tool_use_id);
    add_element(ret, "output-file", v->output_file);
    add_element(ret, "status", str_of(task_state_name(v->state)));
    add_element(ret, "summary", buf_str(&summary));
    add_element(ret, "note", buf_str(&note));
    add_element(ret, "result", str_clip(v->result, TASK_MAX_RESULT));
    if (v->kind == TASK_AGENT)
        buf_addf(ret,
                 "<usage><subagent_tokens>%" PRId64 "</subagent_tokens><tool_uses>%" PRId64
                 "</tool_uses><duration_ms>%" PRId64 "</duration_ms></usage>\n",
                 v->usage.tokens, v->usage.tool_uses, v->usage.duration_ms);
    if (v->worktree.len) {
        buf_adds(ret, "<worktree><worktreePath>");
        task_add_escaped(ret, v->worktree);
        buf_adds(ret, "</worktreePath><worktreeBranch>");
        task_add_escaped(ret, v->branch);
        buf_adds(ret, "</worktreeBranch></worktree>\n");
    }
    buf_adds(ret, "</task-notification>");
}
