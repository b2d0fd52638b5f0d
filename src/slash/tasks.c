/*
 * /tasks: lists background agents and commands, shows one of them, or stops it.
 */
#include <inttypes.h>
#include <string.h>

#include "agent/task.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/strv.h"
#include "host/host.h"
#include "slash/answer.h"
#include "tasks/agents.h"
#include "tools/background.h"

#define TASKS_SHOWN 200
#define TASKS_TEXT 100            /* characters of a description */
#define TASKS_PREVIEW 2000        /* bytes of a report */
#define TASKS_OUTPUT (64UL << 10) /* bytes of a command's output */

static int tasks_run(struct slash_call *call, struct err *err);

const struct slash_command slash_tasks_entry = {
    .name = "tasks",
    .aliases = "bashes",
    .hint = "[view <id> | kill <id> | kill all]",
    .summary = "List agents and background commands, look into one or stop it",
    .more = "An id or an agent's name. In a terminal the list is a menu. `kill all` stops all "
            "that runs in the background.",
    .run = tasks_run,
};

/* An entry of the list; texts are in the arena. */
struct task_line {
    struct str id, label, detail, preview;
    const char *path;
    bool is_agent, is_over;
};

struct rows {
    struct arena arena;
    VEC(struct task_line) list;
};

static void rows_release(struct rows *r)
{
    vec_release(&r->list);
    arena_release(&r->arena);
}

static void add_elapsed(struct buf *out, int64_t ms)
{
    int64_t s = ms > 0 ? ms / 1000 : 0;

    if (s < 60)
        buf_addf(out, "%" PRId64 "s", s);
    else
        buf_addf(out, "%" PRId64 "m %" PRId64 "s", s / 60, s % 60);
}

/* "running, 23s, 3 tool uses, 10.9k tokens" */
static struct str agent_detail(struct arena *arena, const struct task_view *v)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(8 << 10);
    bool is_over = task_is_over(v->state);

    buf_adds(&text, task_state_name(v->state));
    if (v->state == TASK_FAILED && v->summary.len) {
        buf_adds(&text, ": ");
        slash_add_line(&text, v->summary, TASKS_TEXT);
    }
    if (!is_over || v->ended_ms > v->began_ms) {
        buf_adds(&text, ", ");
        add_elapsed(&text, (is_over ? v->ended_ms : clock_mono_ms()) - v->began_ms);
    }
    if (v->usage.tool_uses)
        buf_addf(&text, ", %" PRId64 " tool use%s", v->usage.tool_uses,
                 v->usage.tool_uses == 1 ? "" : "s");
    if (v->usage.tokens) {
        buf_adds(&text, ", ");
        slash_add_count(&text, v->usage.tokens);
        buf_adds(&text, " tokens");
    }
    if (!v->is_background && !is_over)
        buf_adds(&text, ", in the foreground");
    if (v->worktree.len)
        buf_addf(&text, ", worktree %.*s (branch %.*s)", STR_ARG(v->worktree), STR_ARG(v->branch));
    return arena_str(arena, buf_str(&text));
}

static bool collect_agent(void *arg, const struct task_view *v)
{
    struct rows *r = arg;
    CLEANUP(buf_release) struct buf label = BUF_INIT(4096);
    struct task_line row = {
        .id = arena_str(&r->arena, str_of(v->id)),
        .detail = agent_detail(&r->arena, v),
        .path = arena_cstr(&r->arena, v->output_file),
        .is_agent = v->kind == TASK_AGENT || v->kind == TASK_TEAMMATE,
        .is_over = task_is_over(v->state),
    };

    if (v->kind == TASK_SHELL || v->kind == TASK_MONITOR) /* these are listed with the commands */
        return true;
    buf_addf(&label, "%s: ", v->name ? v->name : v->type ? v->type : task_kind_hook(v->kind));
    slash_add_line(&label, v->description, TASKS_TEXT);
    row.label = arena_str(&r->arena, buf_str(&label));
    row.preview =
        arena_str(&r->arena, str_clip(v->result.len ? v->result : v->activity, TASKS_PREVIEW));
    vec_push(&r->list, row);
    return r->list.len < TASKS_SHOWN;
}

static void collect_command(void *arg, const struct background_row *b)
{
    struct rows *r = arg;
    CLEANUP(buf_release) struct buf label = BUF_INIT(4096);

    if (r->list.len >= TASKS_SHOWN)
        return;
    slash_add_line(&label, b->command, TASKS_TEXT);
    vec_push(&r->list, ((struct task_line){
                           .id = arena_str(&r->arena, str_of(b->id)),
                           .label = arena_str(&r->arena, buf_str(&label)),
                           .detail = arena_str(&r->arena, b->summary),
                           .path = arena_cstr(&r->arena, str_of(b->path)),
                           .is_over = b->status != TASK_RUNNING,
                       }));
}

static void collect(struct slash_call *call, struct rows *r)
{
    task_each(host_tasks(call->host), collect_agent, r);
    (void)background_each(host_workspace(call->host), collect_command, r);
}

static void say_row(struct slash_call *call, const struct task_line *r)
{
    slash_sayf(call, r->is_over ? INK_FAINT : INK_GREEN, "%-8.*s ", STR_ARG(r->id));
    slash_sayf(call, INK_PLAIN, "%.*s\n", STR_ARG(r->label));
    slash_sayf(call, INK_FAINT, "         %.*s", STR_ARG(r->detail));
    if (*r->path)
        slash_sayf(call, INK_FAINT, "; %s: %s", r->is_agent ? "conversation" : "output", r->path);
    slash_say(call, INK_FAINT, STR("\n"));
}

/* ---- A single task ---- */

static int task_kill(struct slash_call *call, struct str id, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf was_over = BUF_INIT(1000);
    struct task_view v;

    if (task_look(host_tasks(call->host), id, &arena, &v) && v.kind != TASK_SHELL) {
        if (task_stop(host_tasks(call->host), /*by=*/NULL, id, err) < 0)
            return -1;
    } else if (background_kill(host_workspace(call->host), id, &was_over, err) < 0) {
        return -1;
    }
    slash_sayf(call, INK_PLAIN, "%.*s: %s\n", STR_ARG(id),
               was_over.len ? buf_cstr(&was_over) : "is being ended");
    return 0;
}

static void kill_command(void *arg, const struct background_row *b)
{
    if (b->status == TASK_RUNNING)
        strv_add(arg, str_of(b->id));
}

static int tasks_kill_all(struct slash_call *call)
{
    CLEANUP(strv_release) struct strv ids = STRV_INIT;
    size_t agents = agents_stop_background(host_agents(call->host));
    size_t commands = 0;

    (void)background_each(host_workspace(call->host), kill_command, &ids);
    for (size_t i = 0; i < ids.len; i++) {
        CLEANUP(buf_release) struct buf was_over = BUF_INIT(1000);
        struct err ignored = {0};

        commands += background_kill(host_workspace(call->host), str_of(ids.ptr[i]), &was_over,
                                    &ignored) == 0;
    }
    slash_sayf(call, INK_PLAIN, "Stopping %zu agent%s and %zu command%s.\n", agents,
               agents == 1 ? "" : "s", commands, commands == 1 ? "" : "s");
    return 0;
}

static int task_show_output(struct slash_call *call, struct str id, struct err *err)
{
    CLEANUP(buf_release) struct buf tail = BUF_INIT(TASKS_OUTPUT + 1);
    CLEANUP(buf_release) struct buf text = BUF_INIT(SLASH_MAX_TEXT);
    size_t total;

    if (background_tail(host_workspace(call->host), id, TASKS_OUTPUT, &tail, &total, err) < 0)
        return -1;
    if (!tail.len) {
        slash_sayf(call, INK_PLAIN, "%.*s has printed nothing yet.\n", STR_ARG(id));
        return 0;
    }
    if (!call->front) {
        slash_say(call, INK_PLAIN, buf_str(&tail));
        return 0;
    }
    buf_addf(&text, "~~~~~~~~\n%s\n~~~~~~~~\n", buf_cstr(&tail));
    call->front->show(call->front->arg, id, buf_str(&text));
    return 0;
}

static int task_view(struct slash_call *call, struct str id, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct task_view v;

    if (!task_look(host_tasks(call->host), id, &arena, &v) || v.kind == TASK_SHELL)
        return task_show_output(call, id, err);
    if (call->front && call->front->view) {
        call->front->view(call->front->arg, str_of(v.id));
        return 0;
    }
    slash_sayf(call, INK_PLAIN, "%.*s\n",
               STR_ARG(v.result.len     ? v.result
                       : v.activity.len ? v.activity
                                        : str_of(task_state_name(v.state))));
    return 0;
}

/* ---- As a menu ---- */

static int tasks_choose(struct slash_call *call, const struct rows *rows, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct choice *choices = arena_zalloc(&arena, sizeof(*choices) * (rows->list.len + 1));
    struct pick p = {.look = PICK_SEARCH,
                     .title = STR_INIT("Agents and background commands"),
                     .choices = choices};
    const char *labels[2] = {NULL, "Stop it"};
    const struct task_line *r;
    size_t at, what = 0;

    VEC_EACH(&rows->list, it) {
        choices[p.count++] =
            (struct choice){.label = it->label, .detail = it->detail, .preview = it->preview};
    }
    if (slash_pick(call, &p, &at, err) < 0)
        return -1;
    r = &rows->list.ptr[at];
    labels[0] = r->is_agent ? "View its conversation" : "Show its output";
    if (!r->is_over && slash_choose(call, arena_cstr(&arena, r->label), labels, 2, &what, err) < 0)
        return -1;
    return what ? task_kill(call, r->id, err) : task_view(call, r->id, err);
}

static int tasks_run(struct slash_call *call, struct err *err)
{
    CLEANUP(strv_release) struct strv words = STRV_INIT;
    CLEANUP(rows_release) struct rows rows = {.arena = ARENA_INIT};

    slash_words(call->args, &words);
    if (words.len == 2 && str_is(str_of(words.ptr[0]), "kill"))
        return str_is(str_of(words.ptr[1]), "all") ? tasks_kill_all(call)
                                                   : task_kill(call, str_of(words.ptr[1]), err);
    if (words.len == 2 && str_is(str_of(words.ptr[0]), "view"))
        return task_view(call, str_of(words.ptr[1]), err);
    if (words.len)
        return err_set(err, ERR_BAD_INPUT, "usage: /tasks %s", slash_tasks_entry.hint);
    collect(call, &rows);
    if (!rows.list.len) {
        slash_say(call, INK_PLAIN, STR("No agent or command runs in the background.\n"));
        return 0;
    }
    if (call->front)
        return tasks_choose(call, &rows, err);
    VEC_EACH(&rows.list, it) {
        say_row(call, it);
    }
    return 0;
}
