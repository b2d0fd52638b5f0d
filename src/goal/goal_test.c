/*
 * What people, restarts and other processes do to a goal, without an agent: edits, restores, forks,
 * changes from outside.
 */
#include <math.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "agent/journal.h"
#include "agent/referee.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "goal/goal.h"
#include "guard/permit.h"
#include "guard/workspace.h"
#include "llm/message.h"
#include "llm/model.h"
#include "llm/spending.h"
#include "store/scratch_check.h"
#include "store/sqlite_table.h"
#include "store/store.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "unit.h"

#define SESSION "11111111-2222-4333-8444-555555555555"
#define FORK "99999999-2222-4333-8444-555555555555"
#define OPEN_ANCHOR "{\"type\":\"goal_status\",\"met\":false,\"condition\":\"all tests pass\"}"

/* A process that has the session. */
struct side {
    struct journal journal; /* first */
    struct conf *conf;
    struct workspace *workspace;
    struct permit *permit;
    struct spending *spending;
    struct goal *goal;
    struct strv notes, told, lines; /* told: "goal_set", …; lines: of the transcript */
    struct buf armed;
    const char *meanwhile; /* said in the middle of the next verdict; NULL: nothing */
    int64_t meanwhile_ms;  /* and how long that took */
};

static char side_home[600], side_dir[600], side_folder[600];
static char *side_env[] = {side_home, NULL};

static void side_emit(void *arg, struct event *e)
{
    struct side *s = arg;

    if (e->kind == EVENT_GOAL)
        strv_addf(&s->told, "%.*s%s", STR_ARG(e->name),
                  str_has(e->json, STR("\"elsewhere\":true")) ? " elsewhere" : "");
    else if (e->kind == EVENT_ACTIVE_GOAL)
        strv_adds(&s->told, str_is(e->json, "null") ? "active_goal null" : "active_goal");
    else if (e->kind == EVENT_NOTICE)
        strv_add(&s->told, e->text);
    event_unref(e);
}

static int side_wake(void *arg, struct err *err)
{
    (void)arg;
    (void)err;
    return 0;
}

static void side_arm(void *arg, struct str objective)
{
    struct side *s = arg;

    buf_clear(&s->armed);
    buf_add(&s->armed, objective);
}

static bool side_is_armed(void *arg, struct str objective)
{
    struct side *s = arg;

    return objective.len && str_eq(buf_str(&s->armed), objective);
}

static void side_do(struct side *s, const char *words);

/* The ladder looks for what runs in the background, and does not hold the goal then. */
static size_t side_background(void *arg, struct buf *names, int64_t *ret_last_ms)
{
    struct side *s = arg;
    const char *words = s->meanwhile;

    (void)names;
    *ret_last_ms = 0;
    s->meanwhile = NULL;
    s->meanwhile_ms = clock_mono_ms();
    if (words)
        side_do(s, words);
    s->meanwhile_ms = clock_mono_ms() - s->meanwhile_ms;
    return 0;
}

static void side_title(void *arg, struct str text)
{
    (void)arg;
    (void)text;
}

static bool side_trusted(void *arg)
{
    (void)arg;
    return true;
}

static int side_attach(struct journal *self, struct str json, struct err *err)
{
    struct side *s = (struct side *)self;

    (void)err;
    strv_add(&s->lines, json);
    return 0;
}

static void side_conf(struct side *s)
{
    struct conf_sources from = {
        .dir = scratch("w"), .environ = side_env, .etc = scratch("etc"), .trusted = true};
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    struct err err = {0};

    *s = (struct side){.armed = BUF_INIT(1 << 20), .journal.attach = side_attach};
    if (conf_load(&from, &s->conf, &err) < 0)
        fail_msg("%s", err.text);
    s->spending = spending_new();
    s->workspace = workspace_new(scratch("w"), scratch("state"), side_env);
    if (permit_new(s->conf, s->workspace, &warnings, &s->permit, &err) < 0)
        fail_msg("%s", err.text);
}

static struct goal_spec side_spec(struct side *s, const char *session)
{
    return (struct goal_spec){
        .host =
            {
                .arg = s,
                .emit = side_emit,
                .wake = side_wake,
                .arm = side_arm,
                .is_armed = side_is_armed,
                .background = side_background,
                .title = side_title,
                .is_trusted = side_trusted,
            },
        .session = session,
        .folder = side_folder,
        .home = conf_home(s->conf),
        .dir = side_dir,
        .environ = side_env,
        .conf = s->conf,
        .permit = s->permit,
        .spending = s->spending,
        .is_kept = true,
        .store_backend = "sqlite", /* each side is a process */
    };
}

/* resumes: the session goes on; anchor: what its transcript says of a goal. */
static void side_open(struct side *s, bool resumes, const char *anchor)
{
    struct goal_spec spec;

    side_conf(s);
    spec = side_spec(s, SESSION);
    spec.resumes = resumes;
    spec.anchor = str_of(anchor);
    s->goal = goal_new(&spec, &s->notes);
    goal_set_journal(s->goal, &s->journal);
}

static void side_open_outside(struct side *s)
{
    struct goal_spec spec;

    side_conf(s);
    spec = side_spec(s, SESSION);
    spec.is_outside = true;
    s->goal = goal_new(&spec, &s->notes);
}

static void side_close(struct side *s)
{
    goal_free(s->goal);
    spending_unref(s->spending);
    permit_free(s->permit);
    workspace_unref(s->workspace);
    conf_unref(s->conf);
    strv_release(&s->notes);
    strv_release(&s->told);
    strv_release(&s->lines);
    buf_release(&s->armed);
}

/* What /goal answers; the error's text when it is refused. */
static enum err_code side_say_via(struct side *s, const char *words, enum goal_via via,
                                  struct buf *ret)
{
    CLEANUP(goal_argument_release) struct goal_argument what = GOAL_ARGUMENT_INIT;
    struct goal_answer answer = GOAL_ANSWER_INIT;
    struct err err = {0};

    buf_clear(ret);
    if (goal_argument_read(str_of(words), 0, &what, &err) == 0 &&
        goal_do(s->goal, &what, via, /*cancel=*/NULL, &answer, &err) == 0)
        buf_add(ret, buf_str(&answer.text));
    else
        buf_adds(ret, err.text);
    goal_answer_release(&answer);
    return err.code;
}

static enum err_code side_say(struct side *s, const char *words, struct buf *ret)
{
    return side_say_via(s, words, VIA_USER, ret);
}

static void side_do(struct side *s, const char *words)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);

    if (side_say(s, words, &text) != ERR_NONE)
        fail_msg("/goal %.60s: %s", words, buf_cstr(&text));
}

static enum referee_idle side_idle(struct side *s)
{
    struct referee *r = goal_referee(s->goal);
    struct agent_input input = {0};
    int64_t until = -1;
    enum referee_idle next = r->idle(r, &input, &until);

    message_unref(input.message);
    return next;
}

/* A turn that ends with a stop; what the referee says to it. */
static int side_turn(struct side *s)
{
    CLEANUP(referee_verdict_release) struct referee_verdict v = REFEREE_VERDICT_INIT;
    struct referee *r = goal_referee(s->goal);
    struct err err = {0};
    struct referee_end end = {.end = END_COMPLETED, .err = &err};
    int rc;

    r->turn_begins(r, /*turn=*/NULL);
    rc = r->may_stop(r, /*last=*/NULL, /*cancel=*/NULL, &v, &err);
    if (rc <= 0)
        r->after_turn(r, &end);
    return rc;
}

static void side_row(struct side *s, struct arena *arena, struct store_goal *ret)
{
    struct err err = {0};

    if (goal_get(s->goal, arena, ret, &err) != 1)
        fail_msg("no row: %s", err.text);
}

/* The objective as agent and judge are given it. */
static void side_text(struct side *s, struct buf *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal row;

    buf_clear(ret);
    side_row(s, &arena, &row);
    goal_objective(s->goal, &row, ret);
}

static void long_words(const char *first, struct buf *ret)
{
    buf_adds(ret, first);
    while (ret->len < 5000)
        buf_adds(ret, " and again");
}

static bool has_text(const struct strv *v, const char *part)
{
    for (size_t i = 0; i < v->len; i++) {
        if (str_find(str_of(v->ptr[i]), str_of(part)) < strlen(v->ptr[i]))
            return true;
    }
    return false;
}

static void has_told(const struct side *s, const char *name)
{
    if (!strv_has(&s->told, str_of(name)))
        fail_msg("%s was not told", name);
}

/* ---- Edits ---- */

static void edit_over_the_limit_is_kept_as_a_file(void **state)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf words = BUF_INIT(1 << 14);
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);
    struct store_goal row;
    struct side s;

    (void)state;
    long_words("edit -- every page is there", &words);
    side_open(&s, /*resumes=*/false, "");
    side_do(&s, "all tests pass --protect none");
    side_do(&s, buf_cstr(&words));
    side_text(&s, &text);
    assert_string_equal(buf_cstr(&text), buf_cstr(&words) + strlen("edit -- "));
    side_row(&s, &arena, &row);
    assert_true(row.objective.len < 1000);
    assert_true(side_is_armed(&s, row.objective));
    side_close(&s);

    side_open(&s, /*resumes=*/true, "");
    side_text(&s, &text);
    assert_string_equal(buf_cstr(&text), buf_cstr(&words) + strlen("edit -- "));
    side_close(&s);
}

/* The old text's file was still named, and became the goal again after a restart. */
static void edit_of_a_long_text_forgets_its_file(void **state)
{
    CLEANUP(buf_release) struct buf words = BUF_INIT(1 << 14);
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);
    struct side s;

    (void)state;
    long_words("every page is there", &words);
    buf_adds(&words, " --protect none --budget 5k");
    side_open(&s, /*resumes=*/false, "");
    side_do(&s, buf_cstr(&words));
    side_do(&s, "edit -- one page is there");
    side_close(&s);

    side_open(&s, /*resumes=*/true, "");
    side_text(&s, &text);
    assert_string_equal(buf_cstr(&text), "one page is there");
    side_close(&s);
}

/* Something happens to the row without the session: it is charged and, with a status, ended. */
/* Between two processes: changes by others while one holds the goal do not count. */
static void side_charge(struct side *s, int64_t tokens, int64_t output, const struct goal_update *u)
{
    struct goal_spec spec = side_spec(s, SESSION);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct goal_charge c = {.mode = CHARGE_ACTIVE_ONLY, .tokens = tokens, .output_tokens = output};
    struct store *store = NULL;
    struct store_goal row;
    struct err err = {0};

    goal_free(s->goal);
    if (store_open("sqlite", conf_home(s->conf), NULL, &store, &err) < 0 ||
        store_goal_account(store, STR(SESSION), &c, 1, NULL, &arena, &row, NULL, &err) < 0 ||
        (u && store_goal_update(store, STR(SESSION), u, 1, NULL, &arena, &row, NULL, &err) < 0))
        fail_msg("%s", err.text);
    store_free(store);
    spec.resumes = true;
    s->goal = goal_new(&spec, &s->notes);
    goal_set_journal(s->goal, &s->journal);
}

/* ---- Clients ---- */

/* A program's "set" edits the goal that is there: its id, figures and options stay. */
static void client_edits_what_is_there(void **state)
{
    static const struct goal_update done = {.has_status = true, .status = GOAL_COMPLETE};
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);
    struct store_goal was, row;
    struct side s;

    (void)state;
    side_open(&s, /*resumes=*/false, "");
    if (side_say_via(&s, "all tests pass --check false --protect none --on-deny skip", VIA_CLIENT,
                     &text) != ERR_NONE)
        fail_msg("%s", buf_cstr(&text));
    side_row(&s, &arena, &was);
    side_charge(&s, 900, 77, /*u=*/NULL);

    assert_int_equal(side_say_via(&s, "all links work --budget 5k", VIA_CLIENT, &text), ERR_NONE);
    side_row(&s, &arena, &row);
    assert_true(str_is(row.objective, "all links work"));
    assert_true(str_eq(row.goal_id, was.goal_id));
    assert_true(str_eq(row.checks, was.checks));
    assert_true(str_eq(row.options, was.options));
    assert_int_equal(row.max_turns, was.max_turns);
    assert_int_equal(row.token_budget, 5000);
    assert_int_equal(row.tokens_used, 900);

    /* What it cannot change is not dropped in silence. */
    assert_int_equal(side_say_via(&s, "all is well --check true", VIA_CLIENT, &text),
                     ERR_BAD_INPUT);
    side_row(&s, &arena, &row);
    assert_true(str_is(row.objective, "all links work"));

    /* A complete one is taken up again, with all that it has cost. */
    side_charge(&s, 100, 1, &done);
    assert_int_equal(side_say_via(&s, "all pages work", VIA_CLIENT, &text), ERR_NONE);
    side_row(&s, &arena, &row);
    assert_int_equal(row.status, GOAL_ACTIVE);
    assert_true(str_eq(row.goal_id, was.goal_id));
    assert_int_equal(row.tokens_used, 1000);
    assert_true(side_is_armed(&s, STR("all pages work")));
    side_close(&s);
}

static void client_has_no_file_for_a_long_text(void **state)
{
    CLEANUP(buf_release) struct buf words = BUF_INIT(1 << 14);
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);
    struct side s;

    (void)state;
    long_words("every page is there", &words);
    side_open(&s, /*resumes=*/false, "");
    assert_int_equal(side_say_via(&s, buf_cstr(&words), VIA_CLIENT, &text), ERR_TOO_BIG);
    side_do(&s, "all tests pass --protect none");
    assert_int_equal(side_say_via(&s, buf_cstr(&words), VIA_CLIENT, &text), ERR_TOO_BIG);
    side_text(&s, &text);
    assert_string_equal(buf_cstr(&text), "all tests pass");
    side_close(&s);
}

/* ---- Gates and restores ---- */

/* Whatever makes a goal active again goes through the gates. */
static void no_way_round_a_gate(void **state)
{
    static const char *const words[] = {"budget +5k", "edit -- all links work", "resume"};
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal row;
    struct side s;

    (void)state;
    side_open(&s, /*resumes=*/false, "");
    side_do(&s, "all tests pass --protect none --budget 800");
    side_charge(&s, 900, 0, /*u=*/NULL);
    side_close(&s);

    scratch_write("home/settings.json", "{\"disableAllHooks\":true}");
    side_open(&s, /*resumes=*/true, OPEN_ANCHOR);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (side_say(&s, words[i], &text) != ERR_DENIED)
            fail_msg("%s: %s", words[i], buf_cstr(&text));
    }
    side_row(&s, &arena, &row);
    assert_int_equal(row.status, GOAL_BUDGET_LIMITED);
    side_close(&s);
}

/* ---- Restores ---- */

static void restored_goal_is_told_of(void **state)
{
    struct side s;

    (void)state;
    side_open(&s, /*resumes=*/false, "");
    side_do(&s, "all tests pass --protect none");
    side_close(&s);

    side_open(&s, /*resumes=*/true, OPEN_ANCHOR);
    has_told(&s, "goal_restored");
    has_told(&s, "active_goal");
    assert_int_equal(side_idle(&s), IDLE_TURN);
    side_do(&s, "pause");
    side_close(&s);

    side_open(&s, /*resumes=*/true, OPEN_ANCHOR);
    has_told(&s, "goal_restored");
    has_told(&s, "active_goal null");
    assert_true(has_text(&s.notes, "goal is paused"));
    side_close(&s);
}

/* goal.onResume, interactive and headless. */
static void restored_goal_does_what_the_settings_say(void **state)
{
    static const struct {
        const char *setting; /* NULL: none */
        bool is_interactive, is_gone;
        enum goal_status status;
        bool asks;
    } rows[] = {
        {NULL, true, false, GOAL_PAUSED, true},      {NULL, false, false, GOAL_ACTIVE, false},
        {"ask", true, false, GOAL_PAUSED, true},     {"ask", false, false, GOAL_PAUSED, false},
        {"auto", true, false, GOAL_ACTIVE, false},   {"auto", false, false, GOAL_ACTIVE, false},
        {"paused", true, false, GOAL_PAUSED, false}, {"paused", false, false, GOAL_PAUSED, false},
        {"ask", true, true, GOAL_PAUSED, false},     {"auto", false, true, GOAL_PAUSED, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(buf_release) struct buf objective = BUF_INIT(1 << 10);
        char settings[100] = "{}";
        struct store_goal row;
        struct goal_spec spec;
        struct side s;
        bool asks;

        (void)state;
        side_open(&s, /*resumes=*/false, "");
        side_do(&s, "all tests pass --protect none");
        side_close(&s);
        if (rows[i].setting)
            snprintf(settings, sizeof(settings), "{\"goal\":{\"onResume\":\"%s\"}}",
                     rows[i].setting);
        scratch_write("home/settings.json", settings);
        side_conf(&s);
        spec = side_spec(&s, SESSION);
        spec.resumes = true;
        spec.is_interactive = rows[i].is_interactive;
        spec.dir = rows[i].is_gone ? "/nowhere/at/all" : side_dir;
        s.goal = goal_new(&spec, &s.notes);
        asks = goal_asks(s.goal, &objective);
        side_row(&s, &arena, &row);
        if (row.status != rows[i].status || asks != rows[i].asks ||
            asks != str_is(buf_str(&objective), "all tests pass") ||
            has_text(&s.notes, "/goal resume") != (row.status == GOAL_PAUSED && !asks) ||
            has_text(&s.notes, "is gone") != rows[i].is_gone)
            fail_msg("row %zu: %s, %s", i, goal_status_name(row.status), asks ? "asks" : "silent");
        side_close(&s);
    }
}

/* Looking at it was enough to set it going without its hook. */
static void restored_behind_a_gate_stays_unarmed(void **state)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);
    struct store_goal row;
    struct side s;

    (void)state;
    side_open(&s, /*resumes=*/false, "");
    side_do(&s, "all tests pass --protect none");
    side_close(&s);

    scratch_write("home/settings.json", "{\"disableAllHooks\":true}");
    side_open(&s, /*resumes=*/true, OPEN_ANCHOR);
    assert_true(has_text(&s.notes, "policy_gate"));
    assert_int_equal(side_say(&s, "", &text), ERR_DENIED);
    assert_true(str_find(buf_str(&text), STR("disableAllHooks")) < text.len);
    assert_int_equal(side_say(&s, "resume", &text), ERR_DENIED);
    assert_int_equal(side_idle(&s), IDLE_REST);
    assert_int_equal(s.armed.len, 0);
    assert_int_equal(s.lines.len, 0);
    side_row(&s, &arena, &row);
    assert_int_equal(row.status, GOAL_ACTIVE);
    side_close(&s);

    scratch_write("home/settings.json", "{}");
    side_open(&s, /*resumes=*/true, OPEN_ANCHOR);
    assert_int_equal(side_idle(&s), IDLE_TURN);
    side_close(&s);

    scratch_write("home/settings.json", "{\"disableAllHooks\":true}");
    side_open(&s, /*resumes=*/true, OPEN_ANCHOR);
    side_do(&s, "clear");
    assert_int_equal(goal_get(s.goal, &arena, &row, NULL), 0);
    side_close(&s);
}

/* goal_status.tokens is what the goal's row has as output tokens, not what the session had. */
static void missing_line_of_a_complete_goal_has_its_figures(void **state)
{
    struct goal_update done = {.has_status = true, .status = GOAL_COMPLETE};
    struct side s;

    (void)state;
    side_open(&s, /*resumes=*/false, "");
    side_do(&s, "all tests pass --protect none");
    side_charge(&s, 900, 77, &done);
    side_close(&s);

    side_open(&s, /*resumes=*/true, OPEN_ANCHOR);
    assert_int_equal(side_idle(&s), IDLE_REST);
    assert_int_equal(s.lines.len, 1);
    assert_true(has_text(&s.lines, "\"met\":true,\"condition\":\"all tests pass\""));
    assert_true(has_text(&s.lines, "\"iterations\":1,"));
    assert_true(has_text(&s.lines, "\"tokens\":77}"));
    side_close(&s);
}

static void fork_of_a_foreign_transcript_has_its_goal_paused(void **state)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct goal_spec spec;
    struct store_goal row;
    struct side s;

    (void)state;
    side_conf(&s);
    spec = side_spec(&s, FORK);
    spec.resumes = spec.is_fork = true;
    spec.forked_from = SESSION;
    spec.anchor = STR(OPEN_ANCHOR);
    s.goal = goal_new(&spec, &s.notes);
    goal_set_journal(s.goal, &s.journal);
    side_row(&s, &arena, &row);
    assert_int_equal(row.status, GOAL_PAUSED);
    assert_true(str_is(row.objective, "all tests pass"));
    assert_true(has_text(&s.notes, "paused here"));
    assert_int_equal(side_idle(&s), IDLE_REST);
    side_close(&s);
}

static void fork_open(struct side *s, struct goal_spec *spec, const char *folder)
{
    side_conf(s);
    *spec = side_spec(s, FORK);
    spec->resumes = spec->is_fork = true;
    spec->forked_from = SESSION;
    spec->folder = folder;
    s->goal = goal_new(spec, &s->notes);
    goal_set_journal(s->goal, &s->journal);
}

/* Changes accepted in the copy, or of its files, do not affect the original. */
static void fork_has_files_of_its_own(void **state)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf words = BUF_INIT(1 << 14);
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);
    CLEANUP(mem_freep) char *folder = path_join(scratch("state"), "fork");
    struct store_goal was, row;
    struct goal_spec spec;
    struct side s, copy;

    (void)state;
    scratch_write("w/guard.sh", "exit 1\n");
    long_words("all of it holds", &words);
    buf_adds(&words, " --protect guard.sh");
    side_open(&s, /*resumes=*/false, "");
    side_do(&s, buf_cstr(&words));
    side_row(&s, &arena, &was);
    fork_open(&copy, &spec, folder);
    side_row(&copy, &arena, &row);
    assert_int_equal(row.status, GOAL_PAUSED);
    assert_true(str_has(row.protect, row.goal_id));
    assert_false(str_has(row.protect, was.goal_id));
    assert_true(str_has(row.objective, str_of(folder)));
    assert_true(str_has(row.options, str_of(folder)));
    assert_true(str_has(row.protect, STR("guard.sh")));
    side_text(&copy, &text);
    assert_true(text.len > 4900);

    scratch_write("w/guard.sh", "exit 0\n");
    side_do(&copy, "accept all");
    assert_int_equal(side_say(&s, "", &text), ERR_NONE);
    assert_true(str_has(buf_str(&text), STR("guard.sh"))); /* its list is still to be trusted */
    side_row(&s, &arena, &row);
    assert_true(str_eq(row.protect, was.protect));
    side_close(&copy);
    side_close(&s);
}

/* The first line of a long text is not the one meant. */
static void foreign_reference_is_not_worked_by(void **state)
{
#define REFERENCE "first line of it… (4932 characters, kept in /elsewhere/goal-1.md)"
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);
    struct store_goal row;
    struct side s;

    (void)state;
    side_open(&s, /*resumes=*/true,
              "{\"type\":\"goal_status\",\"met\":false,\"condition\":\"" REFERENCE "\"}");
    side_row(&s, &arena, &row);
    assert_int_equal(row.status, GOAL_PAUSED);
    assert_true(has_text(&s.notes, "is gone or was changed"));
    assert_int_equal(side_say(&s, "resume", &text), ERR_NOT_FOUND);
    assert_true(str_has(buf_str(&text), STR("/goal edit")));
    side_do(&s, "edit -- what was wanted");
    side_do(&s, "resume");
    side_row(&s, &arena, &row);
    assert_int_equal(row.status, GOAL_ACTIVE);
    side_close(&s);
}

/* The text travels with the session's folder, wherever that was. */
static void foreign_reference_finds_its_text(void **state)
{
    CLEANUP(buf_release) struct buf words = BUF_INIT(1 << 14);
    CLEANUP(buf_release) struct buf anchor = BUF_INIT(1 << 14);
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);
    CLEANUP(mem_freep) char *path = path_join(side_folder, "goal-7.md");
    struct side s;

    (void)state;
    long_words("first line of it", &words);
    assert_int_equal(file_mkdirs(side_folder, 0700, NULL), 0);
    assert_int_equal(file_replace(path, buf_str(&words), 0600, NULL), 0);
    buf_addf(&anchor,
             "{\"type\":\"goal_status\",\"met\":false,\"condition\":"
             "\"first line of it… (%zu characters, kept in /elsewhere/goal-7.md)\"}",
             words.len);
    side_open(&s, /*resumes=*/true, buf_cstr(&anchor));
    side_text(&s, &text);
    assert_true(str_eq(buf_str(&text), buf_str(&words)));
    assert_int_equal(side_idle(&s), IDLE_TURN);
    side_close(&s);
}

/* ---- Limits ---- */

/* Asked once the limits were looked at, before the checks are run: two hours pass here. */
static bool two_hours_pass(void *arg)
{
    (void)arg;
    clock_test_mode("wall:7200000");
    return true;
}

/* The first run of a check took longer than the goal had. */
static void deadline_that_passes_meanwhile_sets_nothing(void **state)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct goal_argument what = GOAL_ARGUMENT_INIT;
    struct goal_answer answer = GOAL_ANSWER_INIT;
    struct store_goal row;
    struct err err = {0};
    struct goal_spec spec;
    struct side s;

    (void)state;
    side_conf(&s);
    spec = side_spec(&s, SESSION);
    spec.host.has_price = two_hours_pass;
    s.goal = goal_new(&spec, &s.notes);
    side_do(&s, "the old one --protect none");
    what.verb = GOAL_SET;
    buf_adds(&what.text, "the new one");
    what.options.deadline_ms = clock_wall_ms() + (int64_t)3600 * 1000;
    what.options.max_cost_usd = 1;
    what.options.protect_none = true;
    strv_adds(&what.options.checks, "false");
    assert_int_equal(goal_do(s.goal, &what, VIA_USER, NULL, &answer, &err), -1);
    clock_test_mode("wall:0");
    assert_int_equal(err.code, ERR_BAD_INPUT);
    assert_true(str_has(str_of(err.text), STR("deadline")));
    side_row(&s, &arena, &row);
    assert_true(str_is(row.objective, "the old one"));
    assert_int_equal(row.status, GOAL_ACTIVE);
    goal_answer_release(&answer);
    goal_argument_release(&what);
    side_close(&s);
}

static void nothing_is_added_to_no_limit(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);
    struct side s;

    (void)state;
    side_open(&s, /*resumes=*/false, "");
    side_do(&s, "all tests pass --protect none");
    assert_int_equal(side_say(&s, "budget +50k", &text), ERR_BAD_INPUT);
    assert_true(str_has(buf_str(&text), STR("has no token budget")));
    assert_int_equal(side_say(&s, "budget deadline +2h", &text), ERR_BAD_INPUT);
    side_do(&s, "budget 50k");
    side_do(&s, "budget +50k");
    side_close(&s);
}

/* ---- From outside ---- */

/* Another program writes into the store, as no tool of ours would. */
static void bend(const char *sql)
{
    CLEANUP(mem_freep) char *path = path_join(scratch("home"), "state.db");
    sqlite3 *db = NULL;
    char *why = NULL;

    assert_int_equal(sqlite.open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    if (sqlite.exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
    sqlite.close_v2(db);
}

static void row_text(struct side *s, struct buf *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal row;

    buf_clear(ret);
    side_row(s, &arena, &row);
    buf_addf(ret, "%.*s|%.*s|%s|%.*s|%.*s|%.*s|%.*s", STR_ARG(row.goal_id), STR_ARG(row.objective),
             goal_status_name(row.status), STR_ARG(row.checks), STR_ARG(row.protect),
             STR_ARG(row.baseline), STR_ARG(row.options));
    buf_addf(ret, "|%lld|%lld|%g|%lld|%lld|%lld|%lld", (long long)row.token_budget,
             (long long)row.max_turns, row.max_cost_usd, (long long)row.deadline_ms,
             (long long)row.tokens_used, (long long)row.steps, (long long)row.iterations);
}

static size_t times_told(const struct side *s, const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < s->told.len; i++)
        n += strcmp(s->told.ptr[i], name) == 0;
    return n;
}

static const struct bend_row {
    const char *sql, *parts;
} bend_rows[] = {
    {"UPDATE thread_goals SET status='complete'", "status"},
    {"UPDATE thread_goals SET status='paused'", "status"},
    {"UPDATE thread_goals SET checks='[]'", "checks"},
    {"UPDATE thread_goals SET checks='', protect='{}'", "checks, protection"},
    {"UPDATE thread_goals SET objective='nothing'", "objective"},
    {"UPDATE thread_goals SET options='{}'", "options"},
    {"UPDATE thread_goals SET token_budget=NULL", "limits"},
    {"UPDATE thread_goals SET max_turns=9999999, deadline_ms=NULL", "limits"},
    {"UPDATE thread_goals SET tokens_used=-7, steps=-1, cost_usd=-1", "usage"},
    {"UPDATE thread_goals SET baseline='{}'", "baseline"},
    {"UPDATE thread_goals SET memory='{}', last_reason='done'", "state of the engine"},
    {"UPDATE thread_goals SET goal_id='00000000-0000-4000-8000-000000000000'", "the row itself"},
    {"UPDATE thread_goals SET thread_id=hex(randomblob(8))", "the row itself"},
    {"DELETE FROM thread_goals", "the row itself"},
    {"DROP TABLE thread_goals", "the row itself"},
    {"ALTER TABLE thread_goals RENAME COLUMN checks TO cheques", "the row itself"},
    {"DROP TABLE thread_goals; CREATE VIEW thread_goals AS SELECT 1 AS status", "the row itself"},
};

/* The first reader of the row finds it restored and reports it once; and the round does not
 * count. */
static void a_bent_row_is_restored_and_reported(void **state)
{
    static const char *const readers[] = {"look", "call", "idle", "turn"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bend_rows) * ARRAY_LEN(readers); i++) {
        CLEANUP(buf_release) struct buf before = BUF_INIT(1 << 20);
        CLEANUP(buf_release) struct buf after = BUF_INIT(1 << 20);
        CLEANUP(buf_release) struct buf said = BUF_INIT(1 << 10);
        const struct bend_row *row = &bend_rows[i / ARRAY_LEN(readers)];
        const char *reader = readers[i % ARRAY_LEN(readers)];
        struct referee_call call = REFEREE_CALL_INIT;
        struct referee *r;
        struct side s;

        side_open(&s, /*resumes=*/false, "");
        side_do(&s, "all tests pass --check true --referee checks --protect none --budget 90k");
        r = goal_referee(s.goal);
        row_text(&s, &before);
        if (strcmp(reader, "call") == 0)
            r->turn_begins(r, /*turn=*/NULL);
        bend(row->sql);
        if (strcmp(reader, "look") == 0)
            (void)side_say(&s, "", &after);
        else if (strcmp(reader, "call") == 0)
            (void)r->before_call(r, &call);
        else if (strcmp(reader, "idle") == 0)
            (void)side_idle(&s);
        /* The first verdict is refused, whatever the checks say. */
        if (side_turn(&s) != 1)
            fail_msg("%s, %s: the round counts", row->sql, reader);
        buf_addf(&said, "goal: the stored goal was changed by another program (%s); restored",
                 row->parts);
        if (times_told(&s, buf_cstr(&said)) != 1)
            fail_msg("%s, %s: said %zu times", row->sql, reader, times_told(&s, buf_cstr(&said)));
        row_text(&s, &after);
        buf_cut(&before, before.len - 1, 1); /* the refused round is counted */
        buf_cut(&after, after.len - 1, 1);
        assert_string_equal(buf_cstr(&after), buf_cstr(&before));
        assert_int_equal(side_turn(&s), 0); /* the next one counts again */
        assert_int_equal(goal_exit_code(s.goal), 0);
        referee_call_release(&call);
        side_do(&s, "clear");
        side_close(&s);
    }
}

/* Triggers that another program has left there do nothing. */
static void a_trigger_completes_no_goal(void **state)
{
    struct side s;

    (void)state;
    side_open(&s, /*resumes=*/false, "");
    side_do(&s, "all tests pass --check false --referee checks --protect none");
    bend("CREATE TRIGGER t AFTER UPDATE ON thread_goals BEGIN UPDATE thread_goals SET "
         "status='complete', checks='[]'; END");
    assert_int_equal(side_turn(&s), 1);
    assert_int_equal(goal_exit_code(s.goal), 13);
    bend("DROP TRIGGER t");
    side_do(&s, "clear");
    side_close(&s);
}

/* The file itself is replaced, removed or overwritten while the goal is held. */
static void a_replaced_store_gets_the_row_again(void **state)
{
    static const char *const tricks[] = {"remove", "empty", "garbage"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(tricks); i++) {
        CLEANUP(mem_freep) char *path = path_join(scratch("home"), "state.db");
        CLEANUP(buf_release) struct buf before = BUF_INIT(1 << 20);
        CLEANUP(buf_release) struct buf after = BUF_INIT(1 << 20);
        struct err err = {0};
        struct side s, other;

        side_open(&s, /*resumes=*/false, "");
        side_do(&s, "all tests pass --check false --referee checks --protect none --budget 90k");
        row_text(&s, &before);
        if (strcmp(tricks[i], "remove") == 0)
            assert_int_equal(unlink(path), 0);
        else if (file_replace(path, i == 1 ? STR("") : STR("no database at all, not even one"),
                              0600, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(side_turn(&s), 1);
        side_open_outside(&other); /* as another process finds it */
        row_text(&other, &after);
        buf_cut(&before, before.len - 1, 1);
        buf_cut(&after, after.len - 1, 1);
        assert_string_equal(buf_cstr(&after), buf_cstr(&before));
        side_close(&other);
        side_do(&s, "clear");
        side_close(&s);
    }
}

/* The newest line of a kind in the session's transcript. */
static void newest_line(const char *kind, struct buf *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    CLEANUP(buf_release) struct buf path = BUF_INIT(1 << 10);
    struct str rest, line;

    buf_clear(ret);
    buf_addf(&path, "%s.jsonl", side_folder);
    assert_int_equal(file_slurp(buf_cstr(&path), 1 << 20, &text, /*err=*/NULL), 0);
    rest = buf_str(&text);
    while (str_cut(&rest, '\n', &line)) {
        if (str_has(line, str_of(kind))) {
            buf_clear(ret);
            buf_add(ret, line);
        }
    }
}

/* A session that is resumed with what its transcript has of the terms. */
static void what_was_lost_is_restored_or_rests(void **state)
{
    static const struct {
        const char *sql;
        enum goal_status status;
        bool is_lost;
    } rows[] = {
        {"SELECT 1", GOAL_ACTIVE, false},
        {"DELETE FROM thread_goals", GOAL_ACTIVE, false},
        {"DELETE FROM thread_goals; DELETE FROM goal_events", GOAL_ACTIVE, false},
        {"UPDATE thread_goals SET status='complete'", GOAL_ACTIVE, false},
        {"UPDATE thread_goals SET checks='[]'", GOAL_PAUSED, true},
        {"UPDATE thread_goals SET token_budget=NULL", GOAL_PAUSED, true},
        {"UPDATE thread_goals SET objective='x', status='complete'", GOAL_PAUSED, true},
        {"UPDATE thread_goals SET goal_id='00000000-0000-4000-8000-000000000000'", GOAL_PAUSED,
         true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(buf_release) struct buf terms = BUF_INIT(1 << 20);
        CLEANUP(buf_release) struct buf used = BUF_INIT(1 << 20);
        CLEANUP(buf_release) struct buf said = BUF_INIT(1 << 14);
        struct goal_spec spec;
        struct store_goal row;
        struct side s;

        side_open(&s, /*resumes=*/false, "");
        side_do(&s, "all tests pass --check false --referee checks --protect none --budget 90k");
        side_close(&s);
        newest_line("\"goal-terms\"", &terms);
        newest_line("\"goal-used\"", &used);
        bend(rows[i].sql);
        side_conf(&s);
        spec = side_spec(&s, SESSION);
        spec.resumes = true;
        spec.terms = buf_str(&terms);
        spec.used = buf_str(&used);
        s.goal = goal_new(&spec, &s.notes);
        goal_set_journal(s.goal, &s.journal);
        side_row(&s, &arena, &row);
        if (row.status != rows[i].status || has_text(&s.notes, "terms lost") != rows[i].is_lost)
            fail_msg("%s: %s", rows[i].sql, goal_status_name(row.status));
        if (!rows[i].is_lost) {
            assert_true(str_has(row.checks, STR("false")));
            assert_int_equal(row.token_budget, 90000);
        }
        /* A lost goal does not continue before the user has accepted it as it is. */
        if (rows[i].is_lost) {
            assert_int_equal(side_say(&s, "resume", &said), ERR_NONE);
            assert_true(str_has(buf_str(&said), STR("/goal accept terms")));
            assert_int_equal(goal_exit_code(s.goal), 13);
            assert_int_equal(side_idle(&s), IDLE_REST);
            side_do(&s, "accept terms");
            side_do(&s, "resume");
            assert_int_equal(side_idle(&s), IDLE_TURN);
        }
        side_do(&s, "clear");
        newest_line("\"goal-terms\"", &terms);
        assert_true(str_has(buf_str(&terms), STR("\"cleared\":true")));
        side_close(&s);
    }
}

/* A row that appears where the holder has none is no goal of the user's. */
static void a_planted_row_is_no_goal(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);
    struct side s, other;

    (void)state;
    side_open(&s, /*resumes=*/false, "");
    side_do(&s, "all tests pass --protect none");
    side_do(&s, "clear");
    side_open_outside(&other);
    (void)side_say(&other, "another one --protect none", &text);
    side_close(&other);
    assert_int_equal(side_idle(&s), IDLE_REST);
    (void)side_say(&s, "", &text);
    assert_int_equal(goal_exit_code(s.goal), -1);
    side_close(&s);
}

/* ---- What takes its time ---- */

#define BIG_FILES 8
#define BIG_WAIT_MS 30000
#define BIG_BYTES ((off_t)255 << 20) /* larger ones are not read */

struct long_job {
    struct side *side;
    const char *words;
    struct cancel *cancel;
    struct err err;
    int result;
};

static void run_long_job(void *arg)
{
    CLEANUP(goal_argument_release) struct goal_argument what = GOAL_ARGUMENT_INIT;
    struct goal_answer answer = GOAL_ANSWER_INIT;
    struct long_job *j = arg;

    j->result = goal_argument_read(str_of(j->words), 0, &what, &j->err);
    if (j->result == 0)
        j->result = goal_do(j->side->goal, &what, VIA_USER, j->cancel, &answer, &j->err);
    goal_answer_release(&answer);
}

/* Files of zeros that take no room. */
static void grow_files(off_t bytes)
{
    for (int i = 0; i < BIG_FILES; i++) {
        char name[20];

        snprintf(name, sizeof(name), "w/big%d", i);
        scratch_write(name, "x");
        assert_int_equal(truncate(scratch(name), bytes), 0);
    }
}

/* All the files were hashed with the permit held: neither the agent nor a look at the goal could
 * proceed. */
static void files_are_hashed_while_the_goal_is_free(void **state)
{
    static const struct {
        const char *set, *words;
    } rows[] = {
        {"all tests pass --protect none", "protect big*"},
        {"all tests pass --protect big*", "accept all"},
        {"all tests pass --protect x", "check true big0 big1 big2 big3 big4 big5 big6 big7"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        struct long_job job = {.words = rows[i].words, .cancel = cancel_new(NULL)};
        struct pollfd opens = {.fd = inotify_init1(IN_CLOEXEC), .events = POLLIN};
        struct store_goal before, after;
        struct thread *thread;
        struct side s;

        scratch_write("w/x", "x");
        grow_files(1);
        side_open(&s, /*resumes=*/false, "");
        side_do(&s, rows[i].set);
        side_row(&s, &arena, &before);
        grow_files(BIG_BYTES);
        assert_true(inotify_add_watch(opens.fd, scratch("w/big0"), IN_OPEN) >= 0);
        job.side = &s;
        thread = thread_start("job", run_long_job, &job, NULL);
        if (poll(&opens, 1, BIG_WAIT_MS) != 1) {
            thread_join(thread);
            fail_msg("%s: nothing was read: %s", rows[i].words, job.err.text);
        }
        side_do(&s, ""); /* with the permit held it would end with the job */
        cancel_set(job.cancel);
        thread_join(thread);
        if (job.result == 0 || job.err.code != ERR_CANCELLED)
            fail_msg("%s: %d, %s", rows[i].words, job.result, job.err.text);
        side_row(&s, &arena, &after);
        assert_true(str_eq(before.protect, after.protect));
        assert_true(str_eq(before.checks, after.checks));
        side_do(&s, "clear");
        side_close(&s);
        cancel_unref(job.cancel);
        close(opens.fd);
    }
}

/* ---- A busy database ---- */

static void expect_paused(const struct store_goal *row)
{
    if (row->status != GOAL_PAUSED)
        fail_msg("%s instead of paused", goal_status_name(row->status));
}

/* The changes of status in the ledger, in order. */
static void expect_statuses(struct store *s, const char *want)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 10);
    goal_event_vec events = {0};
    struct err err = {0};

    if (store_goal_events(s, STR(SESSION), STR(""), 0, 1000, &arena, &events, NULL, &err) < 0)
        fail_msg("%s", err.text);
    VEC_EACH(&events, e) {
        if (str_is(e->kind, "set") || str_is(e->kind, "status"))
            buf_addf(&got, "%s%s", got.len ? " " : "", goal_status_name(e->status));
    }
    vec_release(&events);
    assert_string_equal(buf_cstr(&got), want);
}

#define PROMPT_MS 200 /* the longest that a turn waits for the store */
#define SAVED_MS 2000 /* and the user for an answer, which tries to save the change first */

static sqlite3 *lock_database(void)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    sqlite3 *db = NULL;

    buf_addf(&path, "%s/state.db", side_home + strlen("TENAX_HOME="));
    if (sqlite.open_v2(buf_cstr(&path), &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
        sqlite.exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("cannot lock %s: %s", buf_cstr(&path), sqlite.errmsg(db));
    return db;
}

static int64_t promptly(const char *what, int64_t since_ms, int64_t most_ms)
{
    int64_t now = clock_mono_ms();

    if (now - since_ms > most_ms)
        fail_msg("%s took %lld ms", what, (long long)(now - since_ms));
    return now;
}

/* Each write waited for ten seconds, with the goal held: so did an interrupt, and /goal pause.
 * Changes made in that time are written, in order, when the database is free again. */
static void a_locked_database_delays_no_answer(void **state)
{
    static const char *const words[] = {"", "pause", "resume", "budget 1m", "pause", ""};
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(referee_call_release) struct referee_call call = REFEREE_CALL_INIT;
    CLEANUP(buf_release) struct buf said = BUF_INIT(1 << 20);
    struct llm_usage usage = {.input = 7, .output = 5, .known = true};
    struct spend spend = {.model = STR("m"), .usage = usage, .usd = 0.25, .is_step = true};
    struct err err = {.code = ERR_CANCELLED};
    struct referee_end interrupted = {.end = END_ABORTED_STREAMING, .err = &err};
    struct store_goal row;
    struct referee *r;
    struct store *other;
    sqlite3 *db;
    int64_t at;
    struct side s;

    (void)state;
    side_open(&s, /*resumes=*/false, "");
    side_do(&s, "all tests pass --protect none --check true --referee checks");
    r = goal_referee(s.goal);
    db = lock_database();
    at = clock_mono_ms();
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        buf_clear(&said);
        assert_int_equal(side_say(&s, words[i], &said), ERR_NONE);
        at = promptly(words[i], at, SAVED_MS);
        if (str_has(buf_str(&said), STR("not saved yet")) != (words[i][0] != '\0'))
            fail_msg("'%s' while the database is locked: %s", words[i], buf_cstr(&said));
    }
    side_do(&s, "resume");
    s.meanwhile = "pause";
    assert_int_equal(side_turn(&s), 0);
    assert_null(s.meanwhile);
    assert_in_range(s.meanwhile_ms, 0, SAVED_MS);
    at = clock_mono_ms();
    side_do(&s, "resume");
    at = promptly("resume", at, SAVED_MS);
    r->turn_begins(r, /*turn=*/NULL);
    assert_int_equal(r->before_call(r, &call), 0);
    spending_book(&(struct spending_call){.spending = s.spending}, &spend);
    assert_int_equal(r->before_call(r, &call), 0);
    at = promptly("a step", at, PROMPT_MS);
    r->after_turn(r, &interrupted);
    promptly("an interrupt", at, PROMPT_MS);
    side_row(&s, &arena, &row);
    expect_paused(&row);

    assert_int_equal(sqlite.exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite.close_v2(db);
    /* A change answered without a note is in the database, even if the process dies. */
    buf_clear(&said);
    assert_int_equal(side_say(&s, "budget 1m", &said), ERR_NONE);
    assert_false(str_has(buf_str(&said), STR("not saved yet")));
    assert_int_equal(store_open("sqlite", side_home + strlen("TENAX_HOME="), NULL, &other, &err),
                     0);
    assert_int_equal(store_goal_get(other, STR(SESSION), &arena, &row, NULL, &err), 1);
    expect_paused(&row);
    assert_int_equal(row.tokens_used, 12);
    assert_int_equal(row.steps, 1);
    assert_int_equal(row.token_budget, 1000000);
    expect_statuses(other, "active paused active paused active paused active paused");
    store_free(other);
    side_close(&s);
}

/* ---- Accounting ---- */

static void side_spend(struct side *s, enum spent_who who, int64_t tokens)
{
    struct spend spend = {
        .who = who, .model = STR("m"), .usage = {.output = tokens, .known = true}, .usd = NAN};

    spending_book(&(struct spending_call){.spending = s->spending, .who = who}, &spend);
}

/* What a title, a hook or a child had cost was the session's alone. */
static void all_that_is_spent_is_charged(void **state)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct err err = {0};
    struct referee_end end = {.end = END_CALLED_OFF, .err = &err};
    struct store_goal row;
    struct referee *r;
    struct side s;

    (void)state;
    side_open(&s, /*resumes=*/false, "");
    r = goal_referee(s.goal);
    side_spend(&s, SPENT_ASIDE, 1000000); /* before there was a goal */
    side_do(&s, "all tests pass --protect none");
    side_spend(&s, SPENT_ASIDE, 1);
    r->turn_begins(r, /*turn=*/NULL);
    for (enum spent_who who = 0; who < SPENT_COUNT; who++)
        side_spend(&s, who, 10 << who);
    r->after_turn(r, &end);
    side_spend(&s, SPENT_ASIDE, 2);
    r->turn_begins(r, /*turn=*/NULL);
    r->after_turn(r, &end);
    side_row(&s, &arena, &row);
    assert_int_equal(row.tokens_used, 1 + 10 * ((1 << SPENT_COUNT) - 1) + 2);
    assert_true(row.cost_unknown);
    side_close(&s);
}

/* Others cannot spend more than the goal's remaining budget, also before it is written. */
static void the_goals_budget_binds_others(void **state)
{
    struct model model = {.name = STR("m"), .default_output = 100};
    static const enum spent_who others[] = {SPENT_CHILD, SPENT_TOOL, SPENT_HOOK};
    struct spending_rate rate = {0};
    struct spending_call call;
    int64_t tokens = 0;
    struct err err = {0};
    struct side s;

    (void)state;
    spending_rate_add(&rate, &model, CACHE_OFF);
    side_open(&s, /*resumes=*/false, "");
    side_do(&s, "all tests pass --protect none --budget 1000");
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        tokens = 0;
        assert_int_equal(
            spending_reserve(s.spending, others[i], &rate, 960, &tokens, NULL, &call, &err), 0);
        assert_int_equal(tokens, 40);
        spending_settle(&call);
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        side_spend(&s, others[i], 333);
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        err = (struct err){0};
        assert_int_equal(
            spending_reserve(s.spending, others[i], &rate, 10, &tokens, NULL, &call, &err), -1);
        assert_int_equal(err.code, ERR_BUDGET);
    }
    tokens = 0;
    assert_int_equal(
        spending_reserve(s.spending, SPENT_MAIN, &rate, 10, &tokens, NULL, &call, &err), 0);
    assert_int_equal(tokens, 0);
    spending_settle(&call);
    side_do(&s, "clear");
    assert_int_equal(
        spending_reserve(s.spending, SPENT_CHILD, &rate, 10, &tokens, NULL, &call, &err), 0);
    spending_settle(&call);
    side_close(&s);
}

/* ---- Plan mode ---- */

/* A client that was promised a turn waited for its result indefinitely. */
static void plan_mode_promises_no_turn(void **state)
{
    static const char *const words[] = {"all tests pass --protect none", "resume", "pause",
                                        "resume"};
    struct side s;

    (void)state;
    side_open(&s, /*resumes=*/false, "");
    assert_int_equal(permit_set_mode(s.permit, MODE_PLAN, NULL), 0);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        CLEANUP(goal_argument_release) struct goal_argument what = GOAL_ARGUMENT_INIT;
        struct goal_answer answer = GOAL_ANSWER_INIT;
        bool pauses = strcmp(words[i], "pause") == 0;

        assert_int_equal(goal_argument_read(str_of(words[i]), 0, &what, NULL), 0);
        assert_int_equal(goal_do(s.goal, &what, VIA_USER, NULL, &answer, NULL), 0);
        assert_false(answer.turn);
        if (!pauses && str_find(buf_str(&answer.text), STR("plan mode")) == answer.text.len)
            fail_msg("%s: %s", words[i], buf_cstr(&answer.text));
        goal_answer_release(&answer);
        assert_int_equal(side_idle(&s), IDLE_REST);
    }
    assert_int_equal(permit_set_mode(s.permit, MODE_ACCEPT_EDITS, NULL), 0);
    assert_int_equal(side_idle(&s), IDLE_TURN);
    side_close(&s);
}

/* ---- Nothing there ---- */

static void without_persistence_it_says_so(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);
    struct goal_spec spec;
    struct side s;

    (void)state;
    side_conf(&s);
    spec = side_spec(&s, SESSION);
    spec.is_kept = false;
    s.goal = goal_new(&spec, &s.notes);
    assert_int_equal(side_say(&s, "", &text), ERR_NONE);
    assert_true(str_find(buf_str(&text), STR("--no-session-persistence")) < text.len);
    assert_int_equal(side_say(&s, "all tests pass", &text), ERR_UNSUPPORTED);
    assert_true(str_find(buf_str(&text), STR("--no-session-persistence")) < text.len);
    has_told(&s, "goal_set_failed");
    side_close(&s);
}

static void verbs_without_a_goal_show_usage(void **state)
{
    static const char *const verbs[] = {"clear", "edit -- x", "pause", "resume"};
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 14);
    struct side s;

    (void)state;
    side_open(&s, /*resumes=*/false, "");
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        (void)side_say(&s, verbs[i], &text);
        if (str_find(buf_str(&text), STR("/goal <condition>")) == text.len)
            fail_msg("%s: %s", verbs[i], buf_cstr(&text));
    }
    assert_int_equal(s.told.len, 0);
    side_close(&s);
}

/* ---- Waits ---- */

static void expect_phase(struct side *s, const char *phase)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal row;

    side_row(s, &arena, &row);
    if (!str_is(row.phase, phase))
        fail_msg("'%.*s', not '%s'", STR_ARG(row.phase), phase);
}

/* Each word to the agent ended the wait for good. */
static void wait_outlasts_what_a_person_says(void **state)
{
    static const char *const waits[] = {"wait 1h", "wait ./flag", "wait test -f flag"};
    struct side s;

    (void)state;
    side_open(&s, /*resumes=*/false, "");
    side_do(&s, "all tests pass --referee self --protect none");
    for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
        side_do(&s, waits[i]);
        assert_int_equal(side_turn(&s), 0);
        expect_phase(&s, "waiting");
        assert_int_equal(side_idle(&s), IDLE_WAIT);
    }
    side_do(&s, "resume");
    assert_int_equal(side_idle(&s), IDLE_TURN);
    assert_int_equal(side_turn(&s), 1);
    side_close(&s);
}

/* The verdict was written over it: the row said "working", and after a restart nothing waited. */
static void wait_that_comes_in_the_middle_of_a_verdict_is_kept(void **state)
{
    struct side s;

    (void)state;
    side_open(&s, /*resumes=*/false, "");
    side_do(&s, "all tests pass --referee self --protect none");
    s.meanwhile = "wait 1h";
    assert_int_equal(side_turn(&s), 0);
    expect_phase(&s, "waiting");
    assert_int_equal(side_idle(&s), IDLE_WAIT);
    side_close(&s);

    side_open(&s, /*resumes=*/true, "");
    assert_int_equal(side_idle(&s), IDLE_WAIT);
    side_close(&s);
}

static int setup(void **state)
{
    (void)state;
    scratch_make();
    scratch_setup("dir w;dir etc;dir home;dir state;dir folder");
    snprintf(side_home, sizeof(side_home), "TENAX_HOME=%s", scratch("home"));
    snprintf(side_dir, sizeof(side_dir), "%s", scratch("w"));
    snprintf(side_folder, sizeof(side_folder), "%s", scratch("folder"));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scratch_remove();
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UNIT_TEST(goal)
{
    const struct CMUnitTest tests[] = {
        TEST(edit_over_the_limit_is_kept_as_a_file),
        TEST(edit_of_a_long_text_forgets_its_file),
        TEST(client_edits_what_is_there),
        TEST(client_has_no_file_for_a_long_text),
        TEST(no_way_round_a_gate),
        TEST(restored_goal_is_told_of),
        TEST(restored_goal_does_what_the_settings_say),
        TEST(restored_behind_a_gate_stays_unarmed),
        TEST(missing_line_of_a_complete_goal_has_its_figures),
        TEST(fork_of_a_foreign_transcript_has_its_goal_paused),
        TEST(fork_has_files_of_its_own),
        TEST(foreign_reference_is_not_worked_by),
        TEST(foreign_reference_finds_its_text),
        TEST(deadline_that_passes_meanwhile_sets_nothing),
        TEST(nothing_is_added_to_no_limit),
        TEST(a_bent_row_is_restored_and_reported),
        TEST(a_trigger_completes_no_goal),
        TEST(a_replaced_store_gets_the_row_again),
        TEST(a_planted_row_is_no_goal),
        TEST(what_was_lost_is_restored_or_rests),
        TEST(files_are_hashed_while_the_goal_is_free),
        TEST(a_locked_database_delays_no_answer),
        TEST(all_that_is_spent_is_charged),
        TEST(the_goals_budget_binds_others),
        TEST(plan_mode_promises_no_turn),
        TEST(without_persistence_it_says_so),
        TEST(verbs_without_a_goal_show_usage),
        TEST(wait_outlasts_what_a_person_says),
        TEST(wait_that_comes_in_the_middle_of_a_verdict_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
