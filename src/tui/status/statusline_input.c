/*
 * statusline_input: the session as JSON. The members are those of the reference; unknown ones
 * (limits of a subscription before the first answer, a pull request) are left out, as the reference
 * allows.
 */
#include "tui/status/statusline_input.h"

#include <math.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "guard/workspace.h"
#include "host/host.h"
#include "json/jw.h"
#include "llm/effort.h"
#include "llm/rate.h"
#include "tui/status/statusline.h"
#include "tui/status/statusline_git.h"

#define MANY_TOKENS 200000

static void write_folders(struct host *h, const char *cwd, const struct statusline_git *git,
                          struct jw *w)
{
    CLEANUP(strv_release) struct strv dirs = STRV_INIT;

    workspace_dirs(host_workspace(h), &dirs);
    jw_key(w, "workspace");
    jw_object(w);
    jw_kcstr(w, "current_dir", cwd);
    jw_kcstr(w, "project_dir", workspace_dir(host_workspace(h)));
    jw_key(w, "added_dirs");
    jw_array(w);
    for (size_t i = 1; i < dirs.len; i++)
        jw_cstr(w, dirs.ptr[i]);
    jw_array_end(w);
    if (git->worktree.len)
        jw_kstr(w, "git_worktree", git->worktree);
    if (git->name.len) {
        jw_key(w, "repo");
        jw_object(w);
        jw_kstr(w, "host", git->host);
        jw_kstr(w, "owner", git->owner);
        jw_kstr(w, "name", git->name);
        jw_object_end(w);
    }
    jw_object_end(w);
}

static void write_worktree(const struct statusline_git *git, struct jw *w)
{
    if (!git->worktree.len)
        return;
    jw_key(w, "worktree");
    jw_object(w);
    jw_kstr(w, "name", git->worktree);
    jw_kstr(w, "path", git->top);
    jw_kstr(w, "branch", git->branch);
    jw_kstr(w, "original_cwd", git->main_top);
    jw_kstr(w, "original_branch", git->main_branch);
    jw_object_end(w);
}

static void write_cost(struct host *h, const struct turn_report *r,
                       const struct statusline_seen *seen, struct jw *w)
{
    double usd = r ? r->total_usd : 0;
    struct host_lines lines = {0};
    struct host_times times;

    if (!isnan(seen->usd) && seen->usd > usd)
        usd = seen->usd; /* of the turn that runs, too */
    host_lines(h, &lines);
    host_times(h, &times);
    jw_key(w, "cost");
    jw_object(w);
    jw_key(w, "total_cost_usd");
    jw_double(w, usd);
    jw_ki64(w, "total_duration_ms", times.total_ms);
    jw_ki64(w, "total_api_duration_ms", times.api_ms);
    jw_ki64(w, "total_lines_added", lines.added);
    jw_ki64(w, "total_lines_removed", lines.removed);
    jw_object_end(w);
}

static void write_usage(const struct event *step, struct jw *w)
{
    jw_key(w, "current_usage");
    if (!step || step->kind != EVENT_STEP_DONE || !step->usage.known) {
        jw_null(w);
        return;
    }
    jw_object(w);
    jw_ki64(w, "input_tokens", step->usage.input);
    jw_ki64(w, "output_tokens", step->usage.output);
    jw_ki64(w, "cache_creation_input_tokens", step->usage.cache_write);
    jw_ki64(w, "cache_read_input_tokens", step->usage.cache_read);
    jw_object_end(w);
}

/* Of the prompt, as the reference counts it. */
static int64_t used_tokens(const struct event *step)
{
    return step ? step->usage.input + step->usage.cache_read + step->usage.cache_write : 0;
}

/* Whole numbers: scripts compare them with [ -gt ]. */
static int64_t used_percent(int64_t used, int64_t window)
{
    double percent = window > 0 ? 100.0 * (double)used / (double)window : 0;

    return percent > 100 ? 100 : (int64_t)(percent + 0.5);
}

static void write_window(const struct event *step, const struct turn_report *r, int64_t window,
                         struct jw *w)
{
    int64_t used = used_percent(used_tokens(step), window);
    int64_t input = 0;
    int64_t output = 0;

    for (size_t i = 0; r && i < r->model_count; i++) {
        input += r->models[i].usage.input;
        output += r->models[i].usage.output;
    }
    jw_key(w, "context_window");
    jw_object(w);
    jw_ki64(w, "total_input_tokens", input);
    jw_ki64(w, "total_output_tokens", output);
    jw_ki64(w, "context_window_size", window);
    jw_ki64(w, "used_percentage", used);
    jw_ki64(w, "remaining_percentage", 100 - used);
    write_usage(step, w);
    jw_object_end(w);
    jw_kbool(w, "exceeds_200k_tokens",
             used_tokens(step) + (step ? step->usage.output : 0) > MANY_TOKENS);
}

static void write_model(struct host *h, struct jw *w, int64_t *ret_window)
{
    CLEANUP(buf_release) struct buf provider = BUF_INIT(1024);
    CLEANUP(buf_release) struct buf name = BUF_INIT(1024);

    host_model(h, &provider, &name, ret_window);
    jw_key(w, "model");
    jw_object(w);
    jw_kstr(w, "id", buf_str(&name));
    jw_kstr(w, "display_name", buf_str(&name));
    jw_object_end(w);
}

static void write_named(struct jw *w, const char *key, const char *member, struct str value)
{
    if (!value.len)
        return;
    jw_key(w, key);
    jw_object(w);
    jw_kstr(w, member, value);
    jw_object_end(w);
}

static void write_habits(struct host *h, const struct statusline_seen *seen, struct jw *w)
{
    const struct conf *conf = host_conf(h);
    struct str style = conf_get_str(conf, "outputStyle");
    enum effort effort = host_effort(h);

    write_named(w, "agent", "name", conf_get_str(conf, "agent"));
    write_named(w, "output_style", "name", style.len ? style : STR("default"));
    jw_kbool(w, "fast_mode", false);
    if (effort != EFFORT_UNSET)
        write_named(w, "effort", "level", str_of(effort_name(effort)));
    jw_key(w, "thinking");
    jw_object(w);
    jw_kbool(w, "enabled", conf_get_bool(conf, "alwaysThinkingEnabled", true));
    jw_object_end(w);
    write_named(w, "vim", "mode", str_of(seen->vim));
    write_named(w, "remote", "session_id", str_of(conf_env(conf, "CLAUDE_CODE_REMOTE_SESSION_ID")));
}

void statusline_input(struct host *h, const struct statusline_seen *seen, struct buf *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf title = BUF_INIT(4096);
    CLEANUP(mem_freep) char *cwd = workspace_cwd(host_workspace(h));
    struct event *turn = host_last_turn(h);
    struct event *step = host_last_step(h);
    const struct turn_report *report = turn ? turn->report : NULL;
    struct statusline_git git;
    int64_t window = 0;
    struct jw w;

    statusline_git(&arena, cwd, &git);
    host_title(h, &title);
    jw_init(&w, ret, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "hook_event_name", "Status");
    jw_kcstr(&w, "session_id", host_session(h));
    if (title.len)
        jw_kstr(&w, "session_name", buf_str(&title));
    jw_kcstr(&w, "transcript_path", host_transcript(h));
    jw_kcstr(&w, "cwd", cwd);
    if (turn && turn->id.len)
        jw_kstr(&w, "prompt_id", turn->id);
    jw_kcstr(&w, "version", TENAX_VERSION);
    write_model(h, &w, &window);
    write_folders(h, cwd, &git, &w);
    write_cost(h, report, seen, &w);
    write_window(step, report, window, &w);
    write_habits(h, seen, &w);
    if (step && step->rate) {
        jw_key(&w, "rate_limits");
        jw_object(&w);
        llm_rate_write(&w, step->rate);
        jw_object_end(&w);
    }
    write_worktree(&git, &w);
    jw_object_end(&w);
    buf_addc(ret, '\n');
    event_unref(turn);
    event_unref(step);
}
