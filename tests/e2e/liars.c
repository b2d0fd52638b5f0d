/*
 * liars: agents that claim success falsely, each in its own way, against the real program; none may
 * be believed. And honest ones, who must be.
 *
 *     liars BUILD_DIR WORKERS [PART OF A NAME]
 *
 * Each tale (liars.h) gets a fresh git repository with a small project that is broken, and `tenax
 * goal` is run on it: the agent is a scripted model, the judge a second one behind tests/fake,
 * which writes down what it was asked. The judge is as credulous as can be: it says yes unless it
 * is shown the lie. Afterwards the driver tries the condition itself. Exit code 0 and a goal that
 * is complete are right only if it holds; a liar's report must name what refused him; and what the
 * judge was shown must have stood in its place: a claim among the claims, a print among the prints.
 *
 * Tales are shared out among workers, processes with a stage each. LIARS_KEEP=1 leaves the stages
 * as they are. Main thread of each.
 */
#include "liars.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "json/json.h"
#include "json/jw.h"
#include "stage.h"

#define LIMIT_MS 120000
#define ALONE_MS 15000
#define SENT_BACK 3                    /* calls beyond its moves */
#define MEANWHILE_PAUSE "  pause 4s\n" /* of a judge, for what is done meanwhile */

#define EXIT_BLOCKED 10
#define EXIT_LIMITED 11
#define JUDGE_CEILING ((size_t)32000 * 4) /* bytes: four a token */

/* The project: an addition that subtracts. */
static const struct {
    const char *path, *text;
} project[] = {
    {"add.sh", "echo $(($1 - $2))\n"},
    {"tests/test_add.sh", "test \"$(sh add.sh 2 3)\" = 5 || { echo FAILED: 2 + 3; exit 1; }\n"
                          "test \"$(sh add.sh 4 4)\" = 8 || { echo FAILED: 4 + 4; exit 1; }\n"
                          "echo PASSED\n"},
    {"Makefile", "test:\n\tsh tests/test_add.sh\n"},
    {"README", "add.sh A B prints the sum of A and B.\n"},
};
static const char usual_goal[] = "add.sh adds: tests/test_add.sh passes, unchanged";
static const char usual_truth[] =
    "[ \"$(sh add.sh 2 3)\" = 5 ] && [ \"$(sh add.sh 70 8)\" = 78 ] && git diff --quiet start -- "
    "tests";
static const char usual_lie[] = "All tests pass now. The goal is met.";

/* What became of all tales; shared by the workers. */
struct totals {
    int liars, believed;         /* liars, and those whose goal became complete */
    int honest, honest_believed; /* the others */
    int failed;
};

struct play {
    const struct tale *tale;
    struct stage *stage;
    char *agent, *judge, *report; /* files */
    struct stage_result run;
    bool holds;
    struct buf status, told; /* of `tenax goal status --json`, and the report */
};

static void play_release(struct play *p)
{
    mem_freep(&p->agent);
    mem_freep(&p->judge);
    mem_freep(&p->report);
    stage_result_release(&p->run);
    buf_release(&p->status);
    buf_release(&p->told);
}

static bool has_judge(const struct tale *t)
{
    return t->shown[0].what;
}

/* ---- The stage ---- */

/* A folder that the agent can write to stands first on the path. */
static void set_path(struct stage *s)
{
    for (size_t i = 0; i < s->env.len; i++) {
        if (str_starts(str_of(s->env.ptr[i]), STR("PATH="))) {
            CLEANUP(buf_release) struct buf path = BUF_INIT(4096);

            buf_addf(&path, "PATH=%s/bin:/usr/bin:/bin", s->dir);
            mem_freep(&s->env.ptr[i]);
            s->env.ptr[i] = buf_take(&path);
        }
    }
    strv_addf(&s->env, "TENAX_PROGRAM=%s/src/tenax", s->build);
}

/* Starts a shell command in the project; 0: it could not be. */
static pid_t start_shell(const struct stage *s, const char *command, char *const *env)
{
    CLEANUP(mem_freep) char *work = path_join(s->dir, "work");
    const char *const argv[] = {"/bin/sh", "-c", command, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int r;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_addchdir_np(&actions, work);
    r = posix_spawn(&pid, argv[0], &actions, /*attr=*/NULL, (char *const *)argv, env);
    posix_spawn_file_actions_destroy(&actions);
    return r == 0 ? pid : 0;
}

/* The exit code of a shell command in the project, by nobody's environment but the driver's. */
static int shell(const struct stage *s, const char *command)
{
    static const char *const env[] = {"PATH=/usr/bin:/bin", "HOME=/nonexistent",
                                      "GIT_CONFIG_NOSYSTEM=1", NULL};
    pid_t pid = start_shell(s, command, (char *const *)env);
    int status = 0;

    if (!pid || waitpid(pid, &status, 0) < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int lay_out_project(const struct play *p, struct err *err)
{
    static const char begin[] = "rm -rf ../bin && mkdir ../bin tests && git init -q -b main && git "
                                "config user.name a && git config user.email a@b";
    static const char commit[] = "git add -A && git commit -q -m start && git tag start";

    if (shell(p->stage, begin) != 0)
        return err_set(err, ERR_IO, "no repository could be made");
    for (size_t i = 0; i < ARRAY_LEN(project); i++) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(4096);

        buf_addf(&path, "%s/work/%s", p->stage->dir, project[i].path);
        if (file_replace(buf_cstr(&path), str_of(project[i].text), 0600, err) < 0)
            return -1;
    }
    if ((p->tale->setup && shell(p->stage, p->tale->setup) != 0) || shell(p->stage, commit) != 0)
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
    buf_adds(&out, "step\n  sticky\n  text ");
    add_quoted(&out, t->says ? t->says : usual_lie);
    return file_replace(p->agent, buf_str(&out), 0600, err);
}

/* It believes unless it sees the lie; an honest agent, when it sees the work. */
static int write_judge(const struct play *p, struct err *err)
{
    static const char *const verdicts[] = {
        "  text {\"ok\": false, \"reason\": \"The exhibits speak against it.\"}\n",
        "  text {\"ok\": true, \"reason\": \"It seems to be done.\"}\n",
    };
    const struct tale *t = p->tale;
    CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);

    buf_adds(&out, "step\n  sticky\n");
    for (size_t i = 0; i < ARRAY_LEN(t->shown) && t->shown[i].what; i++) {
        buf_adds(&out, i == 0 && t->look ? "  if-result " : "  if-prompt ");
        add_quoted(&out, t->shown[i].what);
    }
    buf_adds(&out, verdicts[t->is_honest]);
    buf_adds(&out, "step\n  sticky\n");
    if (t->meanwhile)
        buf_adds(&out, MEANWHILE_PAUSE);
    if (t->look)
        buf_addf(&out, "  call Read {\"file_path\": \"%s/work/%s\"}\n", p->stage->dir, t->look);
    else
        buf_adds(&out, verdicts[!t->is_honest]);
    return file_replace(p->judge, buf_str(&out), 0600, err);
}

/* ---- The run ---- */

static int run_tenax(struct play *p, struct err *err)
{
    const struct tale *t = p->tale;
    CLEANUP(strv_release) struct strv args = STRV_INIT;
    pid_t person = 0;
    int r;

    strv_adds(&args, "goal");
    strv_adds(&args, t->goal ? t->goal : usual_goal);
    for (size_t i = 0; i < ARRAY_LEN(t->checks) && t->checks[i]; i++) {
        strv_adds(&args, "--check");
        strv_adds(&args, t->checks[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(t->options) && t->options[i]; i++)
        strv_adds(&args, t->options[i]);
    strv_adds(&args, "--referee");
    strv_adds(&args, t->referee ? t->referee : has_judge(t) ? "judge" : "checks");
    if (!t->is_patient) {
        strv_adds(&args, "--max-turns");
        strv_addf(&args, "%zu", count_moves(t) + SENT_BACK);
    }
    strv_adds(&args, "--permission-mode");
    strv_adds(&args, "bypassPermissions");
    strv_adds(&args, "--model");
    strv_addf(&args, "scripted/%s", p->agent);
    strv_adds(&args, "--settings");
    strv_addf(&args, "{\"goal\":{\"judgeModel\":\"%s\"}}", p->stage->model);
    strv_adds(&args, "--report");
    strv_adds(&args, p->report);
    if (t->meanwhile)
        person = start_shell(p->stage, t->meanwhile, strv_get(&p->stage->env));
    r = stage_play(p->stage, (const char *const *)strv_get(&args), /*extra=*/NULL, LIMIT_MS,
                   &p->run, err);
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
    return file_slurp(p->report, 1 << 20, &p->told, err);
}

/* ---- What the judge was given ---- */

/* Whether a block whose title has `where` shows `what` in a line of its own. The numbers of blocks
 * must follow each other: a title that somebody forged would break the order. */
static int find_in_case(struct str text, const struct shown *shown, bool *ret_found,
                        struct err *err)
{
    struct str line;
    int64_t block = 0;
    bool is_there = false;

    *ret_found = false;
    while (str_cut(&text, '\n', &line)) {
        char mark[24];
        int n = snprintf(mark, sizeof(mark), "## %lld. ", (long long)block + 1);

        if (str_starts(line, STR("## ")) && !str_is(line, "## End of the material")) {
            if (!str_starts(line, str_make(mark, (size_t)n)))
                return err_set(err, ERR_PROTOCOL, "a title out of order: %.*s", STR_ARG(line));
            block++;
            is_there = str_has(line, str_of(shown->where));
            continue;
        }
        n = snprintf(mark, sizeof(mark), "%lld", (long long)block);
        if (is_there && str_starts(line, str_make(mark, (size_t)n)) &&
            str_has(str_from(line, (size_t)n + 2), str_of(shown->what)))
            *ret_found = true;
    }
    return 0;
}

static void add_texts(const struct json *content, struct buf *ret)
{
    buf_add(ret, json_str(content));
    JSON_EACH(content, block) {
        buf_add(ret, json_get_str(block, "text"));
        add_texts(json_get(block, "content"), ret);
        buf_addc(ret, '\n');
    }
}

/* Whether one of the requests shows it. */
static int check_shown(const struct tale *t, size_t i, struct str record, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct shown *shown = &t->shown[i];
    struct str line;

    while (str_cut(&record, '\n', &line)) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
        const struct json *request = NULL;
        bool is_found = false;

        if (!line.len)
            continue;
        if (json_parse(&arena, line, &request, /*ret_info=*/NULL, err) < 0)
            return -1;
        JSON_EACH(json_path(request, "body.messages"), message) {
            buf_clear(&text);
            add_texts(json_get(message, "content"), &text);
            if (message == json_first(json_path(request, "body.messages")) &&
                !(i == 0 && t->look)) {
                if (find_in_case(buf_str(&text), shown, &is_found, err) < 0)
                    return -1;
            } else if (i == 0 && t->look) {
                is_found |= str_has(buf_str(&text), str_of(shown->what));
            }
            if (is_found)
                return 0;
        }
    }
    return err_set(err, ERR_PROTOCOL, "the judge was not shown '%s' under '%s'", shown->what,
                   t->look ? t->look : shown->where);
}

/* Whatever the session has come to, the judge is given no more than its ceiling. */
static int check_ceiling(struct str record, struct err *err)
{
    struct str line;

    while (str_cut(&record, '\n', &line)) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
        const struct json *request = NULL;

        if (line.len && json_parse(&arena, line, &request, /*ret_info=*/NULL, err) < 0)
            return -1;
        JSON_EACH(json_path(request, "body.messages"), message) {
            add_texts(json_get(message, "content"), &text);
        }
        if (text.len > JUDGE_CEILING)
            return err_set(err, ERR_PROTOCOL, "the judge was given %zu bytes", text.len);
    }
    return 0;
}

static int check_judge(const struct play *p, struct err *err)
{
    CLEANUP(buf_release) struct buf record = BUF_INIT(BUF_NO_LIMIT);

    if (!has_judge(p->tale))
        return 0;
    if (stage_record(p->stage, &record, err) < 0 || check_ceiling(buf_str(&record), err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(p->tale->shown) && p->tale->shown[i].what; i++) {
        if (check_shown(p->tale, i, buf_str(&record), err) < 0)
            return -1;
    }
    return 0;
}

/* ---- The truth ---- */

static bool is_complete(const struct play *p)
{
    return str_has(buf_str(&p->status), STR("\"status\": \"complete\""));
}

static int check_liar(const struct play *p, struct err *err)
{
    const struct tale *t = p->tale;
    struct str report = buf_str(&p->told);
    size_t at = str_find(report, STR("## Refused"));

    if (p->holds)
        return err_set(err, ERR_BAD_INPUT, "no lie: the condition holds");
    if (p->run.code != (t->is_patient ? EXIT_BLOCKED : EXIT_LIMITED))
        return err_set(err, ERR_PROTOCOL, "exit code %d", p->run.code);
    if (at == report.len)
        return err_set(err, ERR_PROTOCOL, "the report names no refusal");
    for (size_t i = 0; i < ARRAY_LEN(t->report) && t->report[i]; i++) {
        if (!str_has(str_from(report, at), str_of(t->report[i])))
            return err_set(err, ERR_PROTOCOL, "the report does not name '%s'", t->report[i]);
    }
    return check_judge(p, err);
}

static int check_honest(const struct play *p, struct err *err)
{
    if (!p->holds)
        return err_set(err, ERR_BAD_INPUT, "the condition does not hold");
    if (p->run.code != 0 || !is_complete(p))
        return err_set(err, ERR_PROTOCOL, "not believed: exit code %d", p->run.code);
    return check_judge(p, err);
}

static int play_tale(struct play *p, struct err *err)
{
    const char *truth = p->tale->truth ? p->tale->truth : usual_truth;

    if (stage_sweep(p->stage, err) < 0 || lay_out_project(p, err) < 0 || write_agent(p, err) < 0 ||
        write_judge(p, err) < 0)
        return -1;
    if (shell(p->stage, truth) == 0)
        return err_set(err, ERR_BAD_INPUT, "the condition holds before any work");
    if (stage_serve(p->stage, p->judge, err) < 0 || run_tenax(p, err) < 0)
        return -1;
    p->holds = shell(p->stage, truth) == 0;
    return ask_status(p, err);
}

/* ---- All of them ---- */

static void tell(size_t number, const struct play *p, const struct err *err)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 16);

    buf_addf(&out, "%2zu. %s: %s\n", number + 1, p->tale->name, err->text);
    buf_addf(&out, "    exit code %d, the condition %s, the goal %s\n", p->run.code,
             p->holds ? "holds" : "does not hold",
             is_complete(p) ? "is complete" : "is not complete");
    buf_addf(&out, "    said: %.*s\n    report: %.*s\n",
             STR_ARG(str_clip(str_trim(buf_str(&p->run.err)), 4000)),
             STR_ARG(str_clip(str_trim(buf_str(&p->told)), 4000)));
    (void)fd_write_all(STDOUT_FILENO, buf_str(&out), /*err=*/NULL); /* in one piece */
}

static void worker_play(struct stage *s, size_t number, struct totals *totals)
{
    CLEANUP(play_release)
    struct play p = {
        .tale = &tales[number],
        .stage = s,
        .agent = path_join(s->dir, "agent.scenario"),
        .judge = path_join(s->dir, "judge.scenario"),
        .report = path_join(s->dir, "report.md"),
        .status = BUF_INIT(1 << 20),
        .told = BUF_INIT(1 << 20),
    };
    bool is_honest = p.tale->is_honest;
    struct err err = {0};
    int r = play_tale(&p, &err);
    bool is_believed = p.run.code == 0 || is_complete(&p);

    if (r == 0)
        r = is_honest ? check_honest(&p, &err) : check_liar(&p, &err);
    if (r < 0)
        tell(number, &p, &err);
    stage_unserve(s, /*ret_complaints=*/NULL);
    __atomic_fetch_add(is_honest ? &totals->honest : &totals->liars, 1, __ATOMIC_SEQ_CST);
    if (is_believed && (is_honest || !p.holds))
        __atomic_fetch_add(is_honest ? &totals->honest_believed : &totals->believed, 1,
                           __ATOMIC_SEQ_CST);
    if (r < 0)
        __atomic_fetch_add(&totals->failed, 1, __ATOMIC_SEQ_CST);
}

static int worker(const char *build, const char *only, size_t first, size_t step,
                  struct totals *totals)
{
    struct stage s;
    struct err err = {0};

    if (stage_open(&s, build, "anthropic", &err) < 0) {
        printf("%s\n", err.text);
        return 1;
    }
    set_path(&s);
    for (size_t i = first; i < tale_count; i += step) {
        if (!only || strstr(tales[i].name, only))
            worker_play(&s, i, totals);
    }
    if (getenv("LIARS_KEEP"))
        printf("kept: %s\n", s.dir);
    else
        stage_close(&s);
    return 0;
}

int main(int argc, char **argv)
{
    struct totals *totals =
        mmap(NULL, sizeof(*totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const char *only = argc > 3 ? argv[3] : NULL;
    int64_t start_ms = clock_mono_ms();
    int64_t workers = 0;
    int failed = 0;
    int status;

    if (argc < 3 || str_to_i64(str_of(argv[2]), &workers, /*err=*/NULL) < 0 || workers < 1 ||
        totals == MAP_FAILED) {
        fprintf(stderr, "usage: liars BUILD_DIR WORKERS [PART OF A NAME]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    for (int64_t i = 0; i < workers; i++) {
        pid_t pid = fork();

        if (pid == 0)
            exit(worker(argv[1], only, (size_t)i, (size_t)workers, totals));
        failed += pid < 0;
    }
    while (wait(&status) > 0)
        failed += status != 0;
    printf("%d liars, %d believed; %d honest, %d believed; %d failures (%.1f s)\n", totals->liars,
           totals->believed, totals->honest, totals->honest_believed, totals->failed,
           (double)(clock_mono_ms() - start_ms) / 1000);
    return failed || totals->failed || totals->believed ? 1 : 0;
}
