/*
 * Restores the agents of a resumed session from their meta files. An agent that was running when
 * the process died becomes stopped: its conversation is kept, and its owner is notified once. The
 * transcript shows whether that has already been done, because the notification has the run's id.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "conf/conf.h"
#include "json/json.h"
#include "tasks/agents_state.h"

#define META_ENDING ".meta.json"
#define META_MAX ((size_t)4 << 20)
#define RECALL_CHUNK ((size_t)1 << 20)

static int is_meta(const struct dirent *e)
{
    return str_starts(str_of(e->d_name), STR("agent-")) &&
           str_ends(str_of(e->d_name), STR(META_ENDING));
}

/* Searches the file, which may be large. */
static bool file_has(const char *path, struct str wanted)
{
    CLEANUP(mem_freep) char *bytes = mem_alloc(RECALL_CHUNK);
    FILE *f = fopen(path, "re");
    size_t kept = 0, n;
    bool found = false;

    while (f && !found && (n = fread(bytes + kept, 1, RECALL_CHUNK - kept, f), n > 0)) {
        n += kept;
        found = memmem(bytes, n, wanted.ptr, wanted.len) != NULL;
        kept = n < wanted.len ? n : wanted.len - 1;
        memmove(bytes, bytes + n - kept, kept);
    }
    if (f)
        fclose(f);
    return found;
}

static enum task_state state_of(struct str name)
{
    for (int s = TASK_PENDING; s <= TASK_STOPPED; s++) {
        if (str_is(name, task_state_name((enum task_state)s)))
            return (enum task_state)s;
    }
    return TASK_STOPPED;
}

/* Removes worktrees in which nothing has changed, as if their agents had ended. Worktrees of a
 * killed process may not even have a meta file. */
static void sweep_trees(struct agents *a, const char *dir)
{
    CLEANUP(mem_freep) char *at = mem_dup(dir, strlen(dir));

    while (*at) {
        char *slash = strrchr(at, '/');

        worktree_sweep(at, conf_environ(a->spec.conf));
        if (!slash)
            break;
        *slash = '\0';
    }
}

static int is_torn(const struct dirent *e)
{
    return str_starts(str_of(e->d_name), STR(".agent-"));
}

/* Removes temporary files of a killed process. */
static void sweep_torn(const char *dir)
{
    struct dirent **names = NULL;
    int n = scandir(dir, &names, is_torn, alphasort);

    for (int i = 0; i < n; i++) {
        CLEANUP(mem_freep) char *path = path_join(dir, names[i]->d_name);

        (void)unlink(path);
        free(names[i]); /* allocated by scandir() */
    }
    free(names); /* allocated by scandir() */
}

static void recall_one(struct agents *a, const char *id, const struct json *meta,
                       const char *transcript, agents_notice_fn notice, void *arg)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf output = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf told = BUF_INIT(200);
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct str parent = json_get_str(meta, "parentAgentId");
    enum task_state state = state_of(json_get_str(meta, "status"));
    bool was_running = !task_is_over(state);
    struct str run = json_get_str(meta, "runId");
    struct task_spec spec = {
        .id = id,
        .run = arena_cstr(&arena, str_clip(run, TASK_RUN_MAX)),
        .kind = TASK_AGENT,
        .is_background = json_get_bool(meta, "inBackground", true),
        .depth = (int)json_get_i64(meta, "spawnDepth", 1),
        .type = arena_cstr(&arena, json_get_str(meta, "agentType")),
        .name = arena_cstr(&arena, json_get_str(meta, "name")),
        .description = json_get_str(meta, "description"),
        .tool_use_id = json_get_str(meta, "toolUseId"),
    };
    struct task_view v;

    if (!*spec.name)
        spec.name = NULL;
    buf_addf(&output, "%s/tasks/%s.output", a->spec.folder, id);
    spec.output_file = buf_str(&output);
    task_restore(a->spec.tasks, parent.len ? arena_cstr(&arena, parent) : IDENTITY_MAIN, &spec,
                 was_running ? TASK_STOPPED : state);
    buf_addf(&told, "\"runId\":\"%s\"", spec.run);
    if (!was_running || !spec.is_background || parent.len || !*spec.run ||
        file_has(transcript, buf_str(&told)) || !task_look(a->spec.tasks, str_of(id), &arena, &v))
        return;
    v.note = STR("Its transcript is kept; SendMessage continues it.");
    task_write_notification(&v, &text);
    notice(arg, &v, buf_str(&text));
}

void agents_recall(struct agents *a, const char *transcript, const char *dir,
                   agents_notice_fn notice, void *arg)
{
    CLEANUP(buf_release) struct buf folder = BUF_INIT(BUF_NO_LIMIT);
    struct dirent **names = NULL;
    int n;

    if (!a->spec.folder)
        return;
    buf_addf(&folder, "%s/subagents", a->spec.folder);
    sweep_trees(a, dir);
    sweep_torn(buf_cstr(&folder));
    n = scandir(buf_cstr(&folder), &names, is_meta, alphasort);
    for (int i = 0; i < n; i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(buf_release) struct buf text = BUF_INIT(META_MAX);
        CLEANUP(mem_freep) char *path = path_join(buf_cstr(&folder), names[i]->d_name);
        struct str id = str_from(str_of(names[i]->d_name), strlen("agent-"));
        const struct json *meta;

        id = str_first(id, id.len - strlen(META_ENDING));
        if (id.len <= TASK_ID_MAX && file_slurp(path, META_MAX, &text, /*err=*/NULL) == 0 &&
            json_parse(&arena, buf_str(&text), &meta, /*ret_info=*/NULL, /*err=*/NULL) == 0)
            recall_one(a, arena_cstr(&arena, id), meta, transcript, notice, arg);
        free(names[i]); /* allocated by scandir() */
    }
    free(names); /* allocated by scandir() */
}
