/* outcome: what `tenax goal report` and `tenax goal log` tell. */
#include "outcome.h"

#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "json/json.h"
#include "stage.h"

#define OUTCOME_MS 60000

void outcome_release(struct outcome *o)
{
    arena_release(&o->arena);
}

/* `tenax goal WORD --json`, in the arena. */
static int outcome_ask(const struct stage *s, const char *word, const char *session,
                       struct arena *arena, struct str *ret, struct err *err)
{
    const char *args[] = {"goal", word, "--json", session ? "--session" : NULL, session, NULL};
    CLEANUP(stage_result_release) struct stage_result run = {0};

    if (stage_play(s, args, /*extra=*/NULL, OUTCOME_MS, &run, err) < 0)
        return -1;
    if (run.code != 0)
        return err_set(err, ERR_PROTOCOL, "tenax goal %s: exit code %d: %s", word, run.code,
                       buf_cstr(&run.err));
    *ret = arena_str(arena, buf_str(&run.out));
    return 0;
}

/* Nothing is spent while it waits. */
static int outcome_ledger(struct outcome *o, struct str log, struct err *err)
{
    bool waits = false;
    struct str line;

    while (str_cut(&log, '\n', &line)) {
        const struct json *v = NULL;
        const struct json *data;
        struct str kind;

        if (!line.len)
            continue;
        if (json_parse(&o->arena, line, &v, /*ret_info=*/NULL, err) < 0)
            return -1;
        kind = json_get_str(v, "kind");
        data = json_get(v, "data");
        if (str_is(kind, "wait"))
            waits = true;
        else if (str_is(kind, "wake"))
            waits = false;
        else if (waits && str_is(kind, "charge") &&
                 (json_get_i64(data, "tokens", -1) || json_get_i64(data, "steps", -1)))
            return err_set(err, ERR_PROTOCOL, "spent while it waited: %.*s", STR_ARG(line));
        if (str_is(kind, "verdict") && json_get_bool(data, "met", false))
            o->verdicts_met++;
    }
    return 0;
}

int outcome_read(const struct stage *s, const char *session, struct outcome *o, struct err *err)
{
    struct str report, log;
    const struct json *counts, *tokens;

    if (outcome_ask(s, "report", session, &o->arena, &report, err) < 0 ||
        outcome_ask(s, "log", session, &o->arena, &log, err) < 0 ||
        json_parse(&o->arena, report, &o->report, /*ret_info=*/NULL, err) < 0 ||
        outcome_ledger(o, log, err) < 0)
        return -1;
    counts = json_get(o->report, "counts");
    tokens = json_get(o->report, "tokens");
    o->status = json_get_str(o->report, "status");
    o->why = json_get_str(json_get(o->report, "verdict"), "why");
    o->steps = json_get_i64(o->report, "steps", -1);
    o->tokens = json_get_i64(tokens, "used", -1);
    o->output = json_get_i64(tokens, "output", -1);
    o->seconds = json_get_i64(json_get(o->report, "time"), "active_seconds", -1);
    o->waited_ms = json_get_i64(json_get(o->report, "time"), "waited_ms", -1);
    o->iterations = json_get_i64(o->report, "turns", -1);
    o->waits = json_get_i64(counts, "waits", -1);
    o->retries = json_get_i64(counts, "retries", -1);
    o->stalls = json_get_i64(counts, "stalls", -1);
    o->verdicts = json_get_i64(counts, "verdicts", -1);
    o->claims_refused = json_get_i64(counts, "claims_refused", -1);
    JSON_EACH(json_get(tokens, "by"), by) {
        if (str_is(json_get_str(by, "who"), "judge"))
            o->judge_tokens = json_get_i64(by, "tokens", -1);
    }
    if (!json_get_bool(tokens, "charges_match", false))
        return err_set(err, ERR_PROTOCOL, "the row says %lld tokens, its charges %lld",
                       (long long)o->tokens, (long long)json_get_i64(tokens, "charged", -1));
    return 0;
}

int outcome_shell(const struct stage *s, const char *script, struct err *err)
{
    CLEANUP(mem_freep) char *work = path_join(s->dir, "work");
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)script, NULL};
    posix_spawn_file_actions_t actions;
    int status = 0;
    pid_t pid;
    int r;

    strv_add_all(&env, &s->env);
    strv_addf(&env, "tenax=%s/src/tenax", s->build);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, work);
    r = posix_spawn(&pid, "/bin/sh", &actions, /*attr=*/NULL, argv, strv_get(&env));
    posix_spawn_file_actions_destroy(&actions);
    if (r != 0)
        return err_set(err, ERR_IO, "cannot start sh: %s", strerror(r));
    (void)waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
