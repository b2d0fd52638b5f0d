/*
 * goal_act: shows and changes a session's goal from outside.
 *
 * If a process is working on the goal, it makes the change itself: it is asked over its control
 * socket, and if it does not answer nothing is changed, because it would undo a change of the store
 * (goal/terms.c). If no process holds the session, the change is made here in the store by the same
 * rules (goal_do() without an agent). Main thread.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "cmd/cmd.h"
#include "cmd/goal.h"
#include "cmd/goal_lines.h"
#include "cmd/goal_outside.h"
#include "conf/conf.h"
#include "goal/goal.h"
#include "goal/report/display.h"
#include "goal/report/row_json.h"
#include "host/project.h"
#include "host/socket/socket_call.h"
#include "json/json.h"
#include "json/jw.h"
#include "proc/tree.h"
#include "store/hold.h"
#include "store/index.h"
#include "store/store.h"
#include "store/transcript/find.h"

#define ACT_MAX_OUT ((size_t)64 << 20)
#define ACT_MAX_GOALS 10000
#define ACT_MAX_EVENTS 100000
#define ACT_ANSWER_MS 3000 /* a process that has not answered by then is busy or stopped */
#define ACT_BEGIN_MS 2000  /* one that begins only then would do it a second time */
#define ACT_WORK_MS ((int64_t)11 * 60 * 1000) /* a check may take its ten minutes */
#define ACT_ID_BYTES 4   /* the beginning of an id has at least so many, as in find.h */
#define ACT_OBJECTIVE 60 /* bytes of the objective in a list */
#define ACT_NONE "no session of this folder has a goal; set one: tenax goal \"all tests pass\""

struct act {
    struct goal_act *want;
    struct cmd *cmd;
    const struct conf *conf;
    const char *home;
    bool json;
    struct store *store;
    bool is_guess;      /* the session is the newest, which may have no goal */
    struct buf project; /* this folder's key */
    struct buf session; /* which it is about */
    struct buf folder;  /* the session's */
    struct buf dir;     /* of its workspace */
    struct arena arena;
    struct buf out;
};

/* ---- Which session ---- */

static int act_open_store(struct act *a, struct err *err)
{
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    CLEANUP(mem_freep) char *projects = path_join(a->home, "projects");

    if (!file_is_dir(projects)) /* nothing was ever kept: make nothing */
        return err_set(err, ERR_NOT_FOUND, ACT_NONE);
    if (store_shared(a->home, a->cmd->cancel, &a->store, err) < 0)
        return -1;
    store_warnings(a->store, &warnings);
    for (size_t i = 0; i < warnings.len; i++)
        say("%s", warnings.ptr[i]);
    return 0;
}

/* A transcript's path without ".jsonl" is the session's folder. */
static void act_take_path(struct act *a, struct str path)
{
    path = str_first(path, path.len - strlen(".jsonl"));
    buf_add(&a->folder, path);
    buf_add(&a->session, str_of(path_base(buf_cstr(&a->folder))));
}

static void act_add_path(const struct act *a, struct str session, struct buf *ret)
{
    buf_addf(ret, "%s/projects/%s/%.*s.jsonl", a->home, buf_cstr(&a->project), STR_ARG(session));
}

/* Its folder is there, but no transcript: that was removed, or is yet to be written. */
static bool act_lacks_transcript(const struct act *a, struct str session)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    act_add_path(a, session, &path);
    if (file_exists(buf_cstr(&path)))
        return false;
    buf_cut(&path, path.len - strlen(".jsonl"), strlen(".jsonl"));
    return file_is_dir(buf_cstr(&path));
}

static bool act_is_here(const struct act *a, struct str session)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    act_add_path(a, session, &path);
    return file_exists(buf_cstr(&path)) || act_lacks_transcript(a, session);
}

/* Most recently changed first; those of other folders are omitted unless all are requested. */
static int act_goals(struct act *a, store_goal_vec *ret, struct err *err)
{
    store_goal_vec all = {0};

    if (store_goals(a->store, GOAL_STATUS_COUNT, ACT_MAX_GOALS, &a->arena, &all, a->cmd->cancel,
                    err) < 0)
        return -1;
    VEC_EACH(&all, g) {
        if (a->cmd->args.given[OPT_ALL] || act_is_here(a, g->thread_id))
            vec_push(ret, *g);
    }
    vec_release(&all);
    return 0;
}

/* Where it works: the folder that its messages name, when it is not this one. */
static void act_find_dir(struct act *a)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    struct store_session row = {0};

    buf_addf(&path, "%s.jsonl", buf_cstr(&a->folder));
    if (!act_is_here(a, buf_str(&a->session)) &&
        index_read(buf_cstr(&path), a->cmd->cancel, &a->arena, &row, NULL) == 0 && row.cwd.len)
        buf_add(&a->dir, row.cwd);
    else
        buf_adds(&a->dir, a->cmd->dir);
}

/* The session whose goal was changed last; begins: only sessions without other entries whose id
 * begins with it. Adds nothing if there is none. */
static int act_newest(struct act *a, struct str begins, struct buf *ret_path, struct err *err)
{
    store_goal_vec goals = {0};

    if (act_goals(a, &goals, err) < 0)
        return -1;
    for (size_t i = 0; i < goals.len && !ret_path->len; i++) {
        struct str id = goals.ptr[i].thread_id;

        if (!begins.len ||
            (begins.len >= ACT_ID_BYTES && str_starts(id, begins) && act_lacks_transcript(a, id)))
            act_add_path(a, id, ret_path);
    }
    vec_release(&goals);
    return 0;
}

static int act_find(struct act *a, struct err *err)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    struct find_scope scope = {
        .home = a->home, .dir = a->cmd->dir, .project = buf_str(&a->project)};
    const char *want = args_get(&a->cmd->args, OPT_SESSION);

    if (want && find_session(&scope, str_of(want), a->cmd->cancel, &path, err) < 0 &&
        err->code != ERR_NOT_FOUND)
        return -1;
    if (!path.len && act_newest(a, str_of(want ? want : ""), &path, err) < 0)
        return -1;
    /* A store that was lost names no goal; the transcript of the last session may. */
    if (!path.len && !want && find_newest(&scope, /*is_free=*/false, &path, /*err=*/NULL) == 0)
        a->is_guess = true;
    if (!path.len)
        return want ? -1 : err_set(err, ERR_NOT_FOUND, ACT_NONE);
    err_clear(err);
    act_take_path(a, buf_str(&path));
    act_find_dir(a);
    return 0;
}

/* ---- Looking ---- */

static int act_get(struct act *a, struct store_goal *ret, struct err *err);

static void act_write_row(struct act *a, const struct store_goal *g, struct jw *w)
{
    struct holder holder = {0};
    struct err err = {0};

    jw_object(w);
    goal_row_write(g, w);
    if (hold_look(a->home, arena_cstr(&a->arena, g->thread_id), &holder, &err) == 1 &&
        holder.pid != getpid())
        jw_ki64(w, "pid", holder.pid);
    holder_release(&holder);
    jw_object_end(w);
}

static int act_list(struct act *a, struct err *err)
{
    store_goal_vec goals = {0};
    struct jw w;

    if (act_goals(a, &goals, err) < 0)
        return -1;
    jw_init(&w, &a->out, JW_PRETTY);
    if (a->json)
        jw_array(&w);
    VEC_EACH(&goals, g) {
        CLEANUP(buf_release) struct buf line = BUF_INIT(1024);
        CLEANUP(buf_release) struct buf used = BUF_INIT(100);

        if (a->json) {
            act_write_row(a, g, &w);
            continue;
        }
        goal_show_line(g->objective, ACT_OBJECTIVE, &line);
        goal_show_tokens(g->tokens_used, &used);
        buf_addf(&a->out, "%.8s  %-14s %8s tokens  %s\n", g->thread_id.ptr,
                 goal_show_status(g->status), buf_cstr(&used), buf_cstr(&line));
    }
    if (a->json) {
        jw_array_end(&w);
        buf_addc(&a->out, '\n');
    } else if (!goals.len) {
        say(ACT_NONE);
    }
    vec_release(&goals);
    return 0;
}

static int act_log(struct act *a, struct err *err)
{
    goal_event_vec events = {0};
    struct store_goal g;
    struct jw w;

    if (act_get(a, &g, err) < 0)
        return -1;
    if (a->json ? store_goal_events(a->store, buf_str(&a->session), g.goal_id, /*after=*/0,
                                    ACT_MAX_EVENTS, &a->arena, &events, a->cmd->cancel, err) < 0
                : store_goal_last_events(a->store, buf_str(&a->session), g.goal_id, ACT_MAX_EVENTS,
                                         &a->arena, &events, a->cmd->cancel, err) < 0)
        return -1;
    if (!a->json) {
        goal_show_log(&events, g.created_at_ms, &a->out);
        vec_release(&events);
        return 0;
    }
    VEC_EACH(&events, e) {
        jw_init(&w, &a->out, 0);
        jw_object(&w);
        jw_ki64(&w, "time_ms", e->time_ms);
        jw_kstr(&w, "kind", e->kind);
        jw_kraw(&w, "data", e->data.len ? e->data : STR("{}"));
        if (e->status != GOAL_STATUS_COUNT)
            jw_kcstr(&w, "status", goal_status_name(e->status));
        jw_object_end(&w);
        buf_addc(&a->out, '\n');
    }
    vec_release(&events);
    return 0;
}

/* ---- The engine without an agent ---- */

static int act_open_goal(struct act *a, bool runs, bool holds, struct goal_outside *ret,
                         struct err *err)
{
    struct goal_outside_spec spec = {
        .session = buf_cstr(&a->session),
        .folder = buf_cstr(&a->folder),
        .dir = buf_cstr(&a->dir),
        .conf = a->conf,
        .cancel = a->cmd->cancel,
        .holds = holds,
        .runs = runs,
    };

    return goal_outside_open(ret, &spec, err);
}

/* The store has lost the row, perhaps: the transcript has the goal's terms. */
static int act_restore(struct act *a, struct store_goal *ret, struct err *err)
{
    CLEANUP(goal_outside_close) struct goal_outside o = {0};
    struct hold *hold = NULL;
    int r = 0;

    if (hold_take(a->home, buf_cstr(&a->session), "", &hold, /*err=*/NULL) == 0 &&
        act_open_goal(a, /*runs=*/false, /*holds=*/true, &o, /*err=*/NULL) == 0)
        r = goal_get(o.goal, &a->arena, ret, err);
    hold_give(hold);
    return r;
}

static int act_get(struct act *a, struct store_goal *ret, struct err *err)
{
    struct str session = buf_str(&a->session);
    int r = store_goal_get(a->store, session, &a->arena, ret, a->cmd->cancel, err);

    if (r == 0)
        r = act_restore(a, ret, err);
    if (r == 0)
        return a->is_guess
                   ? err_set(err, ERR_NOT_FOUND, ACT_NONE)
                   : err_set(err, ERR_NOT_FOUND, "session %.8s has no goal", buf_cstr(&a->session));
    return r < 0 ? -1 : 0;
}

static int act_report(struct act *a, struct err *err)
{
    CLEANUP(goal_outside_close) struct goal_outside o = {0};

    if (act_open_goal(a, /*runs=*/false, /*holds=*/false, &o, err) < 0)
        return -1;
    return goal_report(o.goal, buf_str(&a->want->argument.text), a->json, a->cmd->cancel, &a->out,
                       err);
}

/* Prints the result and the current row. */
static int act_answer(struct act *a, struct str text, struct err *err)
{
    struct store_goal g;
    struct jw w;
    int r;

    text = str_trim(text);
    if (!a->json) {
        buf_add(&a->out, text);
        goal_lines_as_command(&a->out, buf_cstr(&a->session));
        return 0;
    }
    r = store_goal_get(a->store, buf_str(&a->session), &a->arena, &g, a->cmd->cancel, err);
    if (r < 0)
        return -1;
    jw_init(&w, &a->out, JW_PRETTY);
    jw_object(&w);
    jw_kstr(&w, "text", text);
    jw_key(&w, "goal");
    if (r)
        act_write_row(a, &g, &w);
    else
        jw_null(&w);
    jw_object_end(&w);
    return 0;
}

static int act_here(struct act *a, bool held, struct err *err)
{
    struct goal_answer answer = GOAL_ANSWER_INIT;
    struct goal_outside o = {0};
    int rc = act_open_goal(a, a->want->argument.verb == GOAL_CHECK, !held, &o, err);

    if (rc == 0)
        rc = goal_do(o.goal, &a->want->argument, VIA_USER, a->cmd->cancel, &answer, err);
    goal_outside_close(&o);
    if (rc == 0)
        rc = act_answer(a, buf_str(&answer.text), err);
    if (rc == 0 && answer.turn && !held)
        say("session %.8s is not running now: tenax goal --resume %.8s continues it",
            buf_cstr(&a->session), buf_cstr(&a->session));
    goal_answer_release(&answer);
    return rc;
}

/* What takes its time wherever it is done. */
static int64_t act_patience_ms(const struct act *a)
{
    switch (a->want->argument.verb) {
    case GOAL_CHECK:
    case GOAL_PROTECT:
    case GOAL_ACCEPT:
    case GOAL_UNDO:
        return ACT_WORK_MS;
    default:
        return ACT_ANSWER_MS;
    }
}

/* 1: it could not be asked. */
static int act_there(struct act *a, struct holder *holder, struct err *err)
{
    CLEANUP(buf_release) struct buf request = BUF_INIT(ACT_MAX_OUT);
    CLEANUP(buf_release) struct buf answer = BUF_INIT(ACT_MAX_OUT);
    const struct json *v = NULL;
    struct jw w;

    jw_init(&w, &request, 0);
    jw_object(&w);
    jw_kcstr(&w, "subtype", "goal");
    jw_kstr(&w, "argument", buf_str(&a->want->text));
    jw_ki64(&w, "wait_ms", ACT_BEGIN_MS);
    jw_object_end(&w);
    if (socket_call(buf_cstr(&holder->socket), buf_cstr(&a->session), buf_str(&request),
                    act_patience_ms(a), a->cmd->cancel, &answer, err) < 0)
        return err->code == ERR_DENIED || err->code == ERR_CANCELLED ? -1 : 1;
    if (json_parse(&a->arena, buf_str(&answer), &v, NULL, err) < 0)
        return -1;
    return act_answer(a, json_get_str(v, "text"), err);
}

/* An agent has a shell, and could use this to remove its own checks. */
static int act_may_change(const struct act *a, const struct holder *holder, struct err *err)
{
    if (a->want->argument.verb == GOAL_SHOW || !holder->pid ||
        !tree_is_below(getpid(), (pid_t)holder->pid))
        return 0;
    return err_set(err, ERR_DENIED,
                   "a command that this session runs cannot change its own goal; a goal is changed "
                   "by the user, from another terminal");
}

/* The holder does not answer, so the change could not take effect. */
static int act_unreachable(const struct holder *holder, struct err *err)
{
    struct err why = *err;

    return err_set(err, ERR_BUSY,
                   "process %" PRId64 " works on this goal and cannot be asked to change it (%s); "
                   "nothing was changed. Try again, or end that process first",
                   holder->pid, why.text[0] ? why.text : "it has no control socket");
}

static int act_change(struct act *a, struct err *err)
{
    struct holder holder = {0};
    struct hold *hold = NULL;
    int held = hold_seek(a->home, buf_cstr(&a->session), &holder, err);
    int rc = 1;

    if (held == 1 && act_may_change(a, &holder, err) < 0)
        held = -1;
    if (held == 1 && holder.socket.len)
        rc = act_there(a, &holder, err);
    if (held == 1 && rc == 1 && a->want->argument.verb != GOAL_SHOW)
        rc = act_unreachable(&holder, err);
    else if (held >= 0 && rc == 1)
        err_clear(err);
    if (held == 0 && hold_take(a->home, buf_cstr(&a->session), "", &hold, NULL) < 0)
        hold = NULL; /* where there are no locks, nothing is protected */
    if (held >= 0 && rc == 1)
        rc = act_here(a, held, err);
    hold_give(hold);
    holder_release(&holder);
    return held < 0 ? -1 : rc;
}

/* ---- The request ---- */

static int act_show(struct act *a, struct err *err)
{
    struct store_goal g;
    struct jw w;

    if (act_get(a, &g, err) < 0)
        return -1;
    if (!a->json)
        return act_change(a, err); /* the process that works on it knows most */
    jw_init(&w, &a->out, JW_PRETTY);
    act_write_row(a, &g, &w);
    return 0;
}

static int act_do(struct act *a, struct err *err)
{
    if (act_open_store(a, err) < 0)
        return -1;
    if (a->want->is_list)
        return act_list(a, err);
    if (act_find(a, err) < 0)
        return -1;
    switch (a->want->argument.verb) {
    case GOAL_SHOW:
        return act_show(a, err);
    case GOAL_LOG:
        return act_log(a, err);
    case GOAL_REPORT:
        return act_report(a, err);
    default:
        return act_change(a, err);
    }
}

static int act_say(struct act *a)
{
    int code = EXIT_OK;

    if (a->out.len && !str_ends(buf_str(&a->out), STR("\n")))
        buf_addc(&a->out, '\n');
    (void)say_out(buf_str(&a->out), a->cmd->cancel, &code);
    return code;
}

static int act_failed(struct act *a, const struct err *err)
{
    if (err->code == ERR_CANCELLED && cmd_signal_code())
        return cmd_signal_code();
    say_error(err);
    if (err->code == ERR_NOT_FOUND && a->want->is_bare)
        say("tenax help goal lists its commands and options");
    return err->code == ERR_BAD_INPUT ? EXIT_USAGE : EXIT_FAILED;
}

int goal_act(struct goal_act *want)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    struct act a = {
        .want = want,
        .cmd = want->cmd,
        .json = want->cmd->args.given[OPT_JSON],
        .project = BUF_INIT(BUF_NO_LIMIT),
        .session = BUF_INIT(BUF_NO_LIMIT),
        .folder = BUF_INIT(BUF_NO_LIMIT),
        .dir = BUF_INIT(BUF_NO_LIMIT),
        .arena = ARENA_INIT,
        .out = BUF_INIT(ACT_MAX_OUT),
    };
    struct err err = {0};
    int code = cmd_conf(want->cmd, &conf);

    if (code)
        return code;
    a.conf = conf;
    a.home = conf_home(conf);
    project_key(str_of(want->cmd->dir), &a.project);
    code = act_do(&a, &err) < 0 ? act_failed(&a, &err) : act_say(&a);
    store_free(a.store);
    buf_release(&a.project);
    buf_release(&a.session);
    buf_release(&a.folder);
    buf_release(&a.dir);
    arena_release(&a.arena);
    buf_release(&a.out);
    return code;
}
