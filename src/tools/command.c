/*
 * Starting a shell for a command. proc finds the directory in which the command ends (tell_dir),
 * without extra shell code; the only task here is to keep the shell from replacing itself by its
 * last program with exec, as shells do with -c, because such a program could not use sudo or
 * similar tools (proc.h). Commands that cannot change the directory are passed unchanged, and may
 * do so. Any thread.
 */
#include "tools/command.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "guard/sandbox.h"
#include "guard/workspace.h"
#include "proc/proc.h"

#define COMMAND_MAX_TEXT ((size_t)128 * 1024 - 1) /* of one argument, in Linux */
#define COMMAND_GRACE_MS 1000

struct command_variable {
    const char *assignment;
    bool always; /* else only where there is none */
};

static const struct command_variable command_variables[] = {
    {"TENAX=1", true},
    {"CLAUDECODE=1", true}, /* scripts ask for it to know that an agent runs them */
    {"TERM=dumb", true},
    {"PAGER=cat", false},
    {"GIT_PAGER=cat", false},
    {"MANPAGER=cat", false},
    {"SYSTEMD_PAGER=cat", false},
    {"EDITOR=true", false},
    {"GIT_EDITOR=true", false},
    {"GIT_SEQUENCE_EDITOR=true", false},
    {"GIT_TERMINAL_PROMPT=0", false},
    {"DEBIAN_FRONTEND=noninteractive", false},
};

/* Made for each command: settings may change it. */
struct command_env {
    struct strv list;
    bool is_plain; /* defines no functions and names no file that shells read */
};

static bool command_is_named(const char *assignment, const char *name)
{
    size_t len = strlen(name);

    return strncmp(assignment, name, len) == 0 && assignment[len] == '=';
}

static bool command_is_same(const char *assignment, const char *other)
{
    while (*assignment == *other && *assignment && *assignment != '=') {
        assignment++;
        other++;
    }
    return *assignment == '=' && *other == '=';
}

static bool command_env_has(char *const *env, const char *assignment)
{
    for (; *env; env++) {
        if (command_is_same(*env, assignment))
            return true;
    }
    return false;
}

static bool command_env_replaces(const char *assignment)
{
    if (command_is_named(assignment, "OLDPWD"))
        return true; /* of the shell that started us */
    for (size_t i = 0; i < ARRAY_LEN(command_variables); i++) {
        if (command_variables[i].always &&
            command_is_same(assignment, command_variables[i].assignment))
            return true;
    }
    return false;
}

static void command_env_init(struct command_env *env, struct workspace *w)
{
    char *const *from = workspace_environ(w);

    *env = (struct command_env){.is_plain = true};
    for (size_t i = 0; from[i]; i++) {
        if (!command_env_replaces(from[i]))
            strv_adds(&env->list, from[i]);
        if (command_is_named(from[i], "BASH_ENV") || command_is_named(from[i], "ENV") ||
            str_starts(str_of(from[i]), STR("BASH_FUNC_")))
            env->is_plain = false;
    }
    for (size_t i = 0; i < ARRAY_LEN(command_variables); i++) {
        const struct command_variable *v = &command_variables[i];

        if (v->always || !command_env_has(from, v->assignment))
            strv_adds(&env->list, v->assignment);
    }
}

static void command_env_release(struct command_env *env)
{
    strv_release(&env->list);
}

/* False only for one plain command whose first word is no way to change the directory. */
static bool command_may_move(struct str text)
{
    static const char *const movers[] = {"cd",   "pushd",   "popd",    ".",
                                         "eval", "builtin", "command", "source"};
    struct str rest = str_trim(text);
    struct str first;

    for (size_t i = 0; i < rest.len; i++) {
        if (!str_is_alnum(rest.ptr[i]) && !strchr(" _-./,:=+@%", rest.ptr[i]))
            return true;
    }
    str_cut(&rest, ' ', &first);
    for (size_t i = 0; i < ARRAY_LEN(movers); i++) {
        if (str_is(first, movers[i]))
            return true;
    }
    return str_chr(first, '=') < first.len;
}

/* Lines that hooks add before every command. Between quotes, so that errors in them are reported
 * and the command still runs. */
static void command_add_shell(struct workspace *w, struct buf *script)
{
    CLEANUP(buf_release) struct buf lines = BUF_INIT(COMMAND_MAX_TEXT);

    workspace_shell(w, &lines);
    if (!lines.len)
        return;
    buf_adds(script, "eval '");
    for (size_t i = 0; i < lines.len; i++) {
        if (lines.ptr[i] == '\'')
            buf_adds(script, "'\\''");
        else
            buf_addc(script, lines.ptr[i]);
    }
    buf_adds(script, "'\n");
}

/* ret has what comes before the command. */
static int command_make_script(struct str text, bool moves, struct buf *ret, struct err *err)
{
    if (memchr(text.ptr, '\0', text.len))
        return err_set(err, ERR_BAD_INPUT, "the command holds a NUL character");
    buf_add(ret, text);
    if (moves)
        buf_adds(ret, "\n\n"); /* more to come, so the shell stays */
    if (buf_check(ret, err) < 0)
        return err_set(err, ERR_TOO_BIG,
                       "the command is too long (128 KB at most): write it to a file and run that");
    return 0;
}

static int64_t command_grace_ms(const struct conf *conf)
{
    int64_t ms = conf ? conf_get_i64(conf, "killGrace", COMMAND_GRACE_MS) : COMMAND_GRACE_MS;

    return ms > 0 ? ms : 1; /* 0 would be proc's default */
}

struct proc *command_start(struct workspace *w, const struct command_spec *c, struct mailbox *to,
                           bool *ret_moves, struct buf *notes, struct err *err)
{
    CLEANUP(command_env_release) struct command_env env = {0};
    struct str wanted = c->conf ? conf_get_str(c->conf, "defaultShell") : STR("");
    CLEANUP(mem_freep)
    char *shell = wanted.len ? mem_dup(wanted.ptr, wanted.len) : mem_dup("bash", 4);
    CLEANUP(buf_release) struct buf script = BUF_INIT(COMMAND_MAX_TEXT);
    CLEANUP(strv_release) struct strv inside = STRV_INIT;
    bool moves;
    const char *argv[] = {shell, "-c", NULL, NULL};
    struct err why = {0};
    struct proc *p;
    struct proc_spec spec = {
        .argv = argv,
        .dir = c->dir,
        /* The order of the output is worth more than its source. */
        .merge_stderr = !c->keeps_stderr_apart,
        .max_output = BUF_NO_LIMIT, /* read as fast as it can be put away (proc.h) */
        .timeout_ms = c->timeout_ms,
        .grace_ms = command_grace_ms(c->conf),
        .linger_ms = c->linger_ms,
        .confine = sandbox_job_confine(c->job),
        .by_user = c->by_user,
    };

    command_env_init(&env, w);
    command_add_shell(w, &script);
    moves = c->tell_dir && (wanted.len || !env.is_plain || script.len || command_may_move(c->text));
    spec.tell_dir = moves;
    if (c->job)
        sandbox_job_environ(c->job, strv_get(&env.list), &inside);
    spec.envp = (const char *const *)strv_get(c->job ? &inside : &env.list);
    if (command_make_script(c->text, moves, &script, err) < 0)
        return NULL;
    argv[2] = buf_cstr(&script);
    *ret_moves = moves;
    p = proc_start(&spec, to, &why);
    if (!p && why.code == ERR_NOT_FOUND) {
        argv[0] = "/bin/sh";
        p = proc_start(&spec, to, err);
        if (p)
            buf_addf(notes, "There is no '%s' here; /bin/sh ran the command.\n", shell);
    } else if (!p && err) {
        *err = why;
    }
    sandbox_job_started(c->job);
    return p;
}

void command_add_signal(struct buf *to, int signo)
{
    const char *name = sigabbrev_np(signo);

    if (name)
        buf_addf(to, "SIG%s", name);
    else
        buf_addf(to, "signal %d", signo);
}
