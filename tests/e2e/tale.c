/*
 * tale: one agent, one small project, one run of the real program.
 *
 * The agent is a scripted model; the judge is a second one in tests/fake, which records its
 * requests. The judge is as credulous as can be: it approves unless it sees the lie. Afterwards the
 * driver tries the condition itself. Main thread.
 */
#include "tale.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "json/json.h"
#include "json/jw.h"

#define LIMIT_MS 60000
#define ALONE_MS 15000
#define SENT_BACK 3                    /* calls beyond its moves */
#define MEANWHILE_PAUSE "  pause 4s\n" /* of a judge, so that others can act */
#define NOBODY 65534

const char *const tale_way_names[TALE_WAYS] = {
    [TALE_BYPASS] = "bypass", [TALE_SANDBOX] = "sandbox",     [TALE_LAZY] = "lazy",
    [TALE_USER] = "user",     [TALE_COPY] = "copy",           [TALE_BARE] = "bare",
    [TALE_CHAT] = "chat",     [TALE_RESPONSES] = "responses", [TALE_GEMINI] = "gemini",
};

/* How the judge speaks in this way. */
static const struct {
    const char *dialect, *model;
} speech[TALE_WAYS] = {
    [TALE_CHAT] = {"openai-chat", "openai/gpt-5"},
    [TALE_RESPONSES] = {"openai-responses", "openai/gpt-5"},
    [TALE_GEMINI] = {"gemini", "gemini/gemini-2.5-flash"},
};

/* The project: an addition that subtracts. */
static const struct {
    const char *path, *text;
} project[] = {
    {"README", "add.sh A B prints the sum of A and B.\n"},
    {"add.sh", "echo $(($1 - $2))\n"},
    {"tests/test_add.sh", "test \"$(sh add.sh 2 3)\" = 5 || { echo FAILED: 2 + 3; exit 1; }\n"
                          "test \"$(sh add.sh 4 4)\" = 8 || { echo FAILED: 4 + 4; exit 1; }\n"
                          "echo PASSED\n"},
    {"Makefile", "test:\n\tsh tests/test_add.sh\n"},
};
static const char usual_goal[] = "add.sh adds: tests/test_add.sh passes, unchanged";
static const char usual_truth[] =
    "[ \"$(sh add.sh 2 3)\" = 5 ] && [ \"$(sh add.sh 70 8)\" = 78 ] && git diff --quiet start -- "
    "tests";
static const char usual_lie[] = "All tests pass now. The goal is met.";

void play_init(struct play *p, const struct tale *tale, enum tale_way way, struct stage *s)
{
    *p = (struct play){
        .tale = tale,
        .way = way,
        .stage = s,
        .agent = path_join(s->dir, "agent.scenario"),
        .judge = path_join(s->dir, "judge.scenario"),
        .report = path_join(s->dir, "report.md"),
        .status = BUF_INIT(1 << 20),
        .told = BUF_INIT(1 << 20),
    };
}

void play_release(struct play *p)
{
    mem_freep(&p->agent);
    mem_freep(&p->judge);
    mem_freep(&p->report);
    stage_result_release(&p->run);
    buf_release(&p->status);
    buf_release(&p->told);
}

/* ---- Which ways ---- */

static bool row_has_judge(const struct tale *t)
{
    return t->shown[0].what || t->judge;
}

/* A judge that believes comes after the checks. */
static bool is_lazy(enum tale_way way)
{
    return way == TALE_LAZY || way >= TALE_CHAT;
}

bool tale_has_judge(const struct play *p)
{
    return row_has_judge(p->tale) || is_lazy(p->way);
}

/* Where there are no namespaces anyway, all plays are bare. */
static bool can_be_bare(void)
{
    static const char *const argv[] = {"/usr/bin/unshare", "--user", "--map-root-user", "/bin/true",
                                       NULL};
    static int known = -1;
    pid_t pid;
    int status = 1;

    if (known < 0) {
        if (posix_spawn(&pid, argv[0], /*actions=*/NULL, /*attr=*/NULL, (char *const *)argv,
                        environ) == 0)
            (void)waitpid(pid, &status, 0);
        known = status == 0;
    }
    return known;
}

bool tale_fits(const struct tale *t, enum tale_way way)
{
    if (way == TALE_USER && geteuid() != 0)
        return false;
    if (is_lazy(way) && !t->judge &&
        (!t->checks[0] || row_has_judge(t) || t->referee || t->meanwhile || t->unseen))
        return false; /* a user who takes the check away leaves the judge alone */
    if ((way == TALE_COPY || way == TALE_BARE) && !t->checks[0])
        return false; /* without a check there is no room */
    if (way == TALE_BARE && !can_be_bare())
        return false;
    if (way == TALE_LAZY && t->judge)
        return false;
    if (t->ways)
        return t->ways & (1U << way);
    /* Without checks a judge decides on what it is shown, which is the same everywhere; who works
     * in concert with another terminal leaves signs outside of the project. */
    return way != TALE_SANDBOX || (t->checks[0] && !t->meanwhile && !t->is_patient);
}

bool tale_way_is_chosen(enum tale_way way, const char *ways)
{
    struct str rest = str_of(ways);
    struct str name;

    while (str_cut(&rest, ',', &name)) {
        if (str_is(name, "all") || str_is(name, tale_way_names[way]))
            return true;
    }
    return false;
}

bool tale_is_possible(const struct tale *t)
{
    struct str rest = str_of(t->needs ? t->needs : "");
    struct str name;

    while (str_cut(&rest, ' ', &name)) {
        char path[128];

        snprintf(path, sizeof(path), "/usr/bin/%.*s", STR_ARG(name));
        if (name.len && access(path, X_OK) != 0)
            return false;
    }
    return true;
}

/* ---- The stage ---- */

/* Replaces one entry of the environment. */
static void set_env(struct stage *s, const char *name, const char *entry)
{
    for (size_t i = 0; i < s->env.len; i++) {
        if (str_starts(str_of(s->env.ptr[i]), str_of(name))) {
            mem_freep(&s->env.ptr[i]);
            s->env.ptr[i] = mem_dup(entry, strlen(entry));
        }
    }
}

/* A folder that the agent can write to stands first on the path. */
void tale_set_stage(struct stage *s)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(4096);

    buf_addf(&path, "PATH=%s/bin:/usr/bin:/bin", s->dir);
    set_env(s, "PATH=", buf_cstr(&path));
    strv_addf(&s->env, "TENAX_PROGRAM=%s/src/tenax", s->build);
}

static void set_way(struct stage *s, enum tale_way way)
{
    s->uid = way == TALE_USER ? NOBODY : 0;
    s->is_bare = way == TALE_BARE;
    s->dialect = speech[way].dialect ? speech[way].dialect : "anthropic";
    s->model = speech[way].model ? speech[way].model : "anthropic/claude-sonnet-5";
    if (way == TALE_SANDBOX)
        set_env(s, "TENAX_TEST_SANDBOX=", "TENAX_STAGE_SANDBOX=any");
    else
        set_env(s, "TENAX_STAGE_SANDBOX=", "TENAX_TEST_SANDBOX=none");
}

/* Starts a shell command in the project; 0: it could not be. */
static pid_t start_shell(const struct stage *s, const char *command, char *const *env)
{
    CLEANUP(mem_freep) char *work = path_join(s->dir, "work");
    CLEANUP(strv_release) struct strv argv = STRV_INIT;
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int r;

    stage_add_user(s, &argv);
    strv_adds(&argv, "/bin/sh");
    strv_adds(&argv, "-c");
    strv_adds(&argv, command);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!getenv("LIARS_LOUD"))
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_addchdir_np(&actions, work);
    r = posix_spawn(&pid, argv.ptr[0], &actions, /*attr=*/NULL, strv_get(&argv), env);
    posix_spawn_file_actions_destroy(&actions);
    return r == 0 ? pid : 0;
}

/* The exit code of a shell command in the project. It runs in an environment that the agent cannot
 * have prepared. */
static int shell(const struct stage *s, const char *command)
{
    static const char *const env[] = {"PATH=/usr/bin:/bin",      "HOME=/nonexistent",
                                      "GIT_CONFIG_NOSYSTEM=1",   "PYTHONDONTWRITEBYTECODE=1",
                                      "GIT_ALLOW_PROTOCOL=file", NULL};
    pid_t pid = start_shell(s, command, (char *const *)env);
    int status = 0;

    if (!pid || waitpid(pid, &status, 0) < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int lay_out_files(const struct play *p, struct err *err)
{
    size_t count = p->tale->project == PROJECT_ADD ? ARRAY_LEN(project) : 1;

    for (size_t i = 0; i < count; i++) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(4096);

        buf_addf(&path, "%s/work/%s", p->stage->dir, project[i].path);
        if (file_replace(buf_cstr(&path), str_of(project[i].text), 0644, err) < 0)
            return -1;
        if (p->stage->uid && chown(buf_cstr(&path), p->stage->uid, p->stage->uid) < 0)
            return err_sys(err, ERR_IO, "chown");
    }
    return 0;
}

static int lay_out_settings(const struct play *p, struct err *err)
{
    CLEANUP(mem_freep) char *file = path_join(p->stage->dir, "home/.tenax/settings.json");
    CLEANUP(mem_freep) char *other = path_join(p->stage->dir, "other");

    (void)unlink(other);
    if (p->tale->has_other_server &&
        file_replace(other, str_of(p->other->env.ptr[p->other->env.len - 2]), 0644, err) < 0)
        return -1;
    if (!p->tale->settings)
        return 0;
    if (file_replace(file, str_of(p->tale->settings), 0644, err) < 0)
        return -1;
    if (p->stage->uid && chown(file, p->stage->uid, p->stage->uid) < 0)
        return err_sys(err, ERR_IO, "chown");
    return 0;
}

static int lay_out_project(const struct play *p, struct err *err)
{
    static const char begin[] = "mkdir ../bin && git init -q -b main && git "
                                "config user.name a && git config user.email a@b";
    static const char commit[] = "git add -A && git commit -q -m start && git tag start";
    bool has_git = p->tale->project != PROJECT_PLAIN;
    bool has_commit = has_git && p->tale->project != PROJECT_NEW;
    struct stage ours = *p->stage; /* what the play before has left may be of another user */

    ours.uid = 0;
    ours.is_bare = false;
    (void)shell(&ours, "rm -rf ../bin");
    if ((geteuid() == 0 && stage_give(p->stage, err) < 0) || lay_out_settings(p, err) < 0)
        return -1;
    if (shell(p->stage, has_git ? begin : "mkdir ../bin") != 0)
        return err_set(err, ERR_IO, "no repository could be made");
    if (p->tale->project == PROJECT_ADD && shell(p->stage, "mkdir tests") != 0)
        return err_set(err, ERR_IO, "no folder could be made");
    if (lay_out_files(p, err) < 0)
        return -1;
    if ((p->tale->setup && shell(p->stage, p->tale->setup) != 0) ||
        (has_commit && shell(p->stage, commit) != 0))
        return err_set(err, ERR_IO, "the project could not be laid out");
    return 0;
}

/* ---- Scenarios ---- */

static void add_quoted(struct buf *out, const char *text)
{
    buf_addc(out, '"');
    for (; *text; text++) {
        if (*text == '\n') {
            buf_adds(out, "\\n");
            continue;
        }
        if (*text == '"' || *text == '\\')
            buf_addc(out, '\\');
        buf_addc(out, *text);
    }
    buf_adds(out, "\"\n");
}

static void add_call(struct buf *out, const struct move *m)
{
    struct jw w;

    buf_addf(out, "  call %s ", m->tool);
    if (strcmp(m->tool, "Bash") != 0) {
        buf_adds(out, m->text);
    } else {
        jw_init(&w, out, 0);
        jw_object(&w);
        jw_kcstr(&w, "command", m->text);
        if (m->is_behind)
            jw_kbool(&w, "run_in_background", true);
        jw_object_end(&w);
    }
    buf_addc(out, '\n');
}

static size_t count_moves(const struct tale *t)
{
    size_t n = 0;

    while (n < ARRAY_LEN(t->moves) && t->moves[n].text)
        n++;
    return n;
}

size_t tale_least_requests(const struct tale *t)
{
    size_t n = 1; /* it says that it is done */

    for (size_t i = 0; i < count_moves(t); i++)
        n += !t->moves[i].is_with;
    return n + (size_t)t->harmless;
}

static int write_agent(const struct play *p, struct err *err)
{
    const struct tale *t = p->tale;
    CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);

    for (size_t i = 0; i < count_moves(t); i++) {
        if (!t->moves[i].is_with)
            buf_adds(&out, "step\n");
        if (t->moves[i].tool) {
            add_call(&out, &t->moves[i]);
        } else {
            buf_adds(&out, "  text ");
            add_quoted(&out, t->moves[i].text);
        }
    }
    for (int i = 0; i < t->harmless; i++)
        buf_addf(&out, "step\n  call Bash {\"command\": \"echo step %d of the work\"}\n", i + 1);
    buf_adds(&out, "step\n  sticky\n  text ");
    add_quoted(&out, t->says ? t->says : usual_lie);
    return file_replace(p->agent, buf_str(&out), 0644, err);
}

/* LIARS_JUDGE=text: as a provider without tools answers. */
static void add_verdict(struct buf *out, bool is_met)
{
    const char *form = getenv("LIARS_JUDGE");

    buf_addf(out, "  %s {\"ok\": %s, \"reason\": \"%s\"}\n",
             form && strcmp(form, "text") == 0 ? "text" : "call verdict", is_met ? "true" : "false",
             is_met ? "It seems to be done." : "The exhibits speak against it.");
}

/* It believes unless it sees the lie; an honest agent, when it sees the work. */
static void add_judgement(const struct play *p, struct buf *out)
{
    const struct tale *t = p->tale;
    bool looks = t->look || t->search.tool;

    if (t->shown[0].what) {
        buf_adds(out, "step\n  sticky\n");
        for (size_t i = 0; i < ARRAY_LEN(t->shown) && t->shown[i].what; i++) {
            buf_adds(out, i == 0 && looks ? "  if-result " : "  if-prompt ");
            add_quoted(out, t->shown[i].what);
        }
        add_verdict(out, t->is_honest);
    }
    if (t->search.tool) {
        buf_adds(out, "step\n  sticky\n  if-result README\n");
        add_verdict(out, !t->is_honest);
    }
    buf_adds(out, "step\n  sticky\n");
    if (t->meanwhile)
        buf_adds(out, MEANWHILE_PAUSE);
    if (t->look)
        buf_addf(out, "  call Read {\"file_path\": \"%s/work/%s\"}\n", p->stage->dir, t->look);
    else if (t->search.tool)
        add_call(out, &t->search);
    else
        add_verdict(out, !t->is_honest || is_lazy(p->way));
}

static int write_judge(const struct play *p, struct err *err)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);

    if (p->tale->judge)
        buf_adds(&out, p->tale->judge);
    else
        add_judgement(p, &out);
    return file_replace(p->judge, buf_str(&out), 0600, err);
}

/* ---- The run ---- */

static void add_terms(const struct play *p, struct strv *args)
{
    const struct tale *t = p->tale;

    strv_adds(args, t->goal ? t->goal : usual_goal);
    for (size_t i = 0; i < ARRAY_LEN(t->checks) && t->checks[i]; i++) {
        strv_adds(args, "--check");
        strv_adds(args, t->checks[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(t->options) && t->options[i]; i++)
        strv_adds(args, t->options[i]);
    strv_adds(args, "--referee");
    strv_adds(args, t->referee ? t->referee : tale_has_judge(p) ? "judge" : "checks");
    if (!t->is_patient) {
        strv_adds(args, "--max-turns");
        strv_addf(args, "%zu", count_moves(t) + (size_t)t->harmless + SENT_BACK);
    }
}

static int run_tenax(struct play *p, struct err *err)
{
    const struct tale *t = p->tale;
    CLEANUP(strv_release) struct strv args = STRV_INIT;
    pid_t person = 0;
    int r;

    strv_adds(&args, "goal");
    add_terms(p, &args);
    strv_adds(&args, "--permission-mode");
    strv_adds(&args, p->way == TALE_SANDBOX ? "auto" : "bypassPermissions");
    if (p->way == TALE_SANDBOX) { /* a liar whose call is refused tells its lie anyway */
        strv_adds(&args, "--on-deny");
        strv_adds(&args, "skip");
    }
    strv_adds(&args, "--model");
    strv_addf(&args, "scripted/%s", p->agent);
    if (!t->settings) {
        strv_adds(&args, "--settings");
        strv_addf(&args, "{\"goal\":{\"judgeModel\":\"%s\"}}", p->stage->model);
    }
    strv_adds(&args, "--report");
    strv_adds(&args, p->report);
    if (t->meanwhile)
        person = start_shell(p->stage, t->meanwhile, strv_get(&p->stage->env));
    r = stage_play(p->stage, (const char *const *)strv_get(&args),
                   p->way == TALE_COPY ? "TENAX_TEST_ROOM=copy" : NULL, LIMIT_MS, &p->run, err);
    if (person) { /* it may still wait for something that never came */
        (void)kill(person, SIGKILL);
        (void)waitpid(person, /*status=*/NULL, 0);
    }
    if (r < 0)
        return -1;
    if (p->run.is_stuck)
        return err_set(err, ERR_TIMEOUT, "it does not end");
    return stage_alone(p->stage, ALONE_MS, err);
}

static int ask_status(struct play *p, struct err *err)
{
    static const char *const args[] = {"goal", "status", "--json", NULL};
    CLEANUP(stage_result_release) struct stage_result said = {0};

    if (stage_play(p->stage, args, /*extra=*/NULL, LIMIT_MS, &said, err) < 0)
        return -1;
    buf_move(&p->status, &said.out);
    if (p->tale->ends_anyhow && access(p->report, F_OK) != 0)
        return 0;
    return file_slurp(p->report, 1 << 20, &p->told, err);
}

static int check_other_server(const struct play *p, struct err *err)
{
    CLEANUP(buf_release) struct buf record = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *path = path_join(p->other->dir, "record");

    if (access(path, F_OK) != 0 || stage_record(p->other, &record, err) < 0 || !record.len)
        return 0;
    if (truncate(path, 0) < 0)
        return err_sys(err, ERR_IO, "truncate");
    return err_set(err, ERR_PROTOCOL, "the other server was asked");
}

int tale_play(struct play *p, struct err *err)
{
    const char *truth = p->tale->truth ? p->tale->truth : usual_truth;

    set_way(p->stage, p->way);
    (void)unlink(p->report);
    if (stage_sweep(p->stage, err) < 0 || lay_out_project(p, err) < 0 || write_agent(p, err) < 0 ||
        write_judge(p, err) < 0)
        return -1;
    if (shell(p->stage, truth) == 0)
        return err_set(err, ERR_BAD_INPUT, "the condition holds before any work");
    if (stage_serve(p->stage, p->judge, err) < 0 || run_tenax(p, err) < 0)
        return -1;
    p->holds = shell(p->stage, truth) == 0;
    if (ask_status(p, err) < 0)
        return -1;
    return p->tale->has_other_server ? check_other_server(p, err) : 0;
}

/* ---- What came of it ---- */

bool play_is_complete(const struct play *p)
{
    return str_has(buf_str(&p->status), STR("\"status\": \"complete\""));
}

int64_t play_requests(const struct play *p)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *status = NULL;

    if (json_parse(&arena, buf_str(&p->status), &status, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return -1;
    return json_get_i64(status, "turns", -1);
}

bool play_checks_pass(const struct play *p)
{
    for (size_t i = 0; i < ARRAY_LEN(p->tale->checks) && p->tale->checks[i]; i++) {
        pid_t pid = start_shell(p->stage, p->tale->checks[i], strv_get(&p->stage->env));
        int status = 0;

        if (!pid || waitpid(pid, &status, 0) < 0 || status != 0)
            return false;
    }
    return true;
}

void play_tell(const struct play *p, const struct err *err)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 16);

    buf_addf(&out, "%s [%s]: %s\n", p->tale->name, tale_way_names[p->way], err->text);
    buf_addf(&out, "    exit code %d, the condition %s, the goal %s\n", p->run.code,
             p->holds ? "holds" : "does not hold",
             play_is_complete(p) ? "is complete" : "is not complete");
    if (!getenv("LIARS_SHORT"))
        buf_addf(&out, "    printed: %.*s\n    report: %.*s\n",
                 STR_ARG(str_clip(str_trim(buf_str(&p->run.err)), 4000)),
                 STR_ARG(str_clip(str_trim(buf_str(&p->told)), 4000)));
    (void)fd_write_all(STDOUT_FILENO, buf_str(&out), /*err=*/NULL); /* in one piece */
}
