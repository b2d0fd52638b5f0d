/*
 * complete_command: one run of the command for each question; the completer's matcher waits, and
 * ends it when another question has come.
 */
#include "tui/complete/complete_command.h"

#include "base/err.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "hooks/settings.h"
#include "json/jw.h"
#include "proc/proc.h"
#include "tui/complete/complete_answer.h"

#define COMMAND_TIMEOUT_MS 5000
#define COMMAND_MAX_OUTPUT ((size_t)256 << 10)

bool complete_command_is_set(const struct conf *conf)
{
    return conf && conf_get_str(conf, "fileSuggestion.command").len &&
           (settings_limit(conf) == HOOK_LIMIT_NONE ||
            conf_is_managed(conf, "fileSuggestion.command"));
}

static void command_environ(const struct conf *conf, const char *dir, struct strv *ret)
{
    char *const *from = conf_environ(conf);

    for (size_t i = 0; from[i]; i++) {
        if (!str_starts(str_of(from[i]), STR("CLAUDE_PROJECT_DIR=")) &&
            !str_starts(str_of(from[i]), STR("TENAX_PROJECT_DIR=")))
            strv_adds(ret, from[i]);
    }
    strv_addf(ret, "CLAUDE_PROJECT_DIR=%s", dir);
    strv_addf(ret, "TENAX_PROJECT_DIR=%s", dir);
}

static void command_read(struct str out, struct answer *a)
{
    struct str line;

    for (int score = 0; out.len && a->count < COMPLETER_SHOWN && str_cut(&out, '\n', &line);
         score--) {
        line = str_trim(line);
        if (line.len)
            answer_offer(a, (struct found){.text = arena_str(&a->arena, line),
                                           .score = score,
                                           .goes_on = str_ends(line, STR("/"))});
    }
}

static void command_fail(struct answer *a, struct str query, const char *why, struct str more)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);

    more = str_trim(more);
    buf_addf(&text, "fileSuggestion: %s%s%.*s", why, more.len ? ": " : "",
             STR_ARG(str_clip(str_first(more, str_chr(more, '\n')), 200)));
    answer_offer(a, (struct found){.text = query, .detail = arena_str(&a->arena, buf_str(&text))});
}

bool complete_command_run(const struct conf *conf, const char *dir, struct str query,
                          struct cancel *cancel, struct answer *a)
{
    CLEANUP(buf_release) struct buf command = BUF_INIT(BUF_NO_LIMIT); /* settings are bounded */
    CLEANUP(buf_release) struct buf input = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(proc_result_release) struct proc_result r = {0};
    const char *argv[] = {"/bin/sh", "-c", NULL, NULL};
    struct proc_spec spec = {
        .argv = argv,
        .dir = dir,
        .max_output = COMMAND_MAX_OUTPUT,
        .timeout_ms = COMMAND_TIMEOUT_MS,
    };
    struct err err = {0};
    struct jw w;

    buf_add(&command, conf_get_str(conf, "fileSuggestion.command"));
    argv[2] = buf_cstr(&command);
    jw_init(&w, &input, 0);
    jw_object(&w);
    jw_kstr(&w, "query", query);
    jw_object_end(&w);
    buf_addc(&input, '\n');
    spec.input = buf_str(&input);
    command_environ(conf, dir, &env);
    spec.envp = (const char *const *)strv_get(&env);
    if (proc_run(&spec, cancel, &r, &err) < 0) {
        if (err.code == ERR_CANCELLED)
            return false;
        command_fail(a, query, "it could not be started", str_of(err.text));
    } else if (r.how == PROC_TIMED_OUT) {
        command_fail(a, query, "it took too long", STR(""));
    } else if (r.how != PROC_EXITED || r.code) {
        command_fail(a, query, "it has failed", buf_str(&r.err));
    } else {
        command_read(buf_str(&r.out), a);
    }
    return true;
}
