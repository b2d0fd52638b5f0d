/*
 * program: arguments and environment of a command handler. Any thread.
 */
#include "hooks/program.h"

#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "guard/workspace.h"
#include "hooks/handler.h"
#include "hooks/output.h"
#include "proc/proc.h"

#define GRACE_MS 1000

/* Variables that describe this session; inherited values are replaced. */
static bool is_ours(struct str entry)
{
    struct str name = str_first(entry, str_chr(entry, '='));

    return str_is_word_of(name, "CLAUDE_PROJECT_DIR TENAX_PROJECT_DIR CLAUDE_EFFORT TENAX_EFFORT "
                                "CLAUDE_ENV_FILE TENAX_ENV_FILE CLAUDECODE CLAUDE_CODE_ENTRYPOINT "
                                "CLAUDE_CODE_SESSION_ID TENAX_SESSION_ID AI_AGENT "
                                "CLAUDE_PLUGIN_ROOT CLAUDE_PLUGIN_DATA");
}

void program_place_init(struct program_place *p, struct workspace *w, const struct conf *conf)
{
    *p = (struct program_place){.workspace = workspace_ref(w), .conf = conf};
}

void program_place_release(struct program_place *p)
{
    workspace_unref(p->workspace);
}

/* Time between SIGTERM and SIGKILL. */
static int64_t grace_ms(const struct program_place *p)
{
    int64_t ms = conf_get_i64(p->conf, "killGrace", GRACE_MS);

    return ms > 0 ? ms : 1; /* 0 would be proc's default */
}

static bool is_given(const struct strv *env, struct str entry)
{
    struct str name = str_first(entry, str_chr(entry, '=') + 1);

    for (size_t i = 0; env && i < env->len; i++) {
        if (str_starts(str_of(env->ptr[i]), name))
            return true;
    }
    return false;
}

/* According to the current settings. */
static void make_env(const struct program_place *p, const struct program_input *in,
                     const struct handler_spec *h, struct strv *ret)
{
    const char *dir = workspace_dir(p->workspace);
    struct str effort = in->effort.len ? in->effort : conf_get_str(p->conf, "effortLevel");
    char *const *from = workspace_environ(p->workspace);

    for (size_t i = 0; from[i]; i++) {
        struct str entry = str_of(from[i]);

        if (!str_starts(entry, STR("OTEL_")) && !is_ours(entry) && !is_given(p->more_env, entry))
            strv_add(ret, entry);
    }
    if (p->more_env)
        strv_add_all(ret, p->more_env);
    strv_adds(ret, "CLAUDECODE=1");
    strv_adds(ret, "AI_AGENT=tenax");
    strv_addf(ret, "CLAUDE_CODE_ENTRYPOINT=%s", p->entrypoint ? p->entrypoint : "cli");
    if (p->session) {
        strv_addf(ret, "CLAUDE_CODE_SESSION_ID=%s", p->session);
        strv_addf(ret, "TENAX_SESSION_ID=%s", p->session);
    }
    strv_addf(ret, "CLAUDE_PROJECT_DIR=%s", dir);
    strv_addf(ret, "TENAX_PROJECT_DIR=%s", dir);
    if (effort.len) {
        strv_addf(ret, "CLAUDE_EFFORT=%.*s", STR_ARG(effort));
        strv_addf(ret, "TENAX_EFFORT=%.*s", STR_ARG(effort));
    }
    if (h->plugin_root.len) {
        strv_addf(ret, "CLAUDE_PLUGIN_ROOT=%s", h->plugin_root.ptr);
        strv_addf(ret, "CLAUDE_PLUGIN_DATA=%s", h->plugin_data.ptr);
    }
    if (in->env_file) {
        strv_addf(ret, "CLAUDE_ENV_FILE=%s", in->env_file);
        strv_addf(ret, "TENAX_ENV_FILE=%s", in->env_file);
    }
}

/* Names of folders, and their values. */
struct filling {
    const char *name, *value; /* value NULL = do not replace */
};
#define FILLINGS 4

/* Appends the text with folder names replaced. */
static void add_filled(struct strv *argv, struct str text, const struct filling *names)
{
    CLEANUP(buf_release) struct buf filled = BUF_INIT(BUF_NO_LIMIT); /* settings are limited */

    while (text.len) {
        struct str rest = text;

        for (size_t i = 0; i < FILLINGS; i++) {
            if (names[i].value && str_starts(text, str_of(names[i].name))) {
                buf_adds(&filled, names[i].value);
                text = str_from(text, str_of(names[i].name).len);
                break;
            }
        }
        if (rest.len == text.len) {
            buf_addc(&filled, text.ptr[0]);
            text = str_from(text, 1);
        }
    }
    strv_add(argv, buf_str(&filled));
}

/* Whether it means itself to a shell, inside any quotes and outside. */
static bool is_plain(const char *dir)
{
    for (; *dir; dir++) {
        if (!str_is_alnum(*dir) && !strchr("/._-+,:@%", *dir) && !((unsigned char)*dir & 0x80))
            return false;
    }
    return true;
}

static void make_argv(const struct handler_spec *h, const char *dir, struct strv *ret)
{
    struct filling names[FILLINGS] = {
        {"${CLAUDE_PROJECT_DIR}", dir},
        {"${TENAX_PROJECT_DIR}", dir},
        {"${CLAUDE_PLUGIN_ROOT}", h->plugin_root.len ? h->plugin_root.ptr : NULL},
        {"${CLAUDE_PLUGIN_DATA}", h->plugin_root.len ? h->plugin_data.ptr : NULL},
    };

    if (h->args) {
        add_filled(ret, h->command, names);
        for (size_t i = 0; i < h->args->len; i++)
            add_filled(ret, str_of(h->args->ptr[i]), names);
    } else if (str_is(h->shell, "powershell")) {
        strv_adds(ret, "pwsh");
        strv_adds(ret, "-NoProfile");
        strv_adds(ret, "-NonInteractive");
        strv_adds(ret, "-Command");
        add_filled(ret, h->command, names); /* ${NAME} is not an environment variable there */
    } else {
        strv_adds(ret, h->shell.len ? "bash" : "/bin/sh");
        strv_adds(ret, "-c");
        /* A shell would not expand '${CLAUDE_PROJECT_DIR}/x' in single quotes; others are expanded
         * by the shell. */
        for (size_t i = 0; i < FILLINGS; i++) {
            if (names[i].value && !is_plain(names[i].value))
                names[i].value = NULL;
        }
        add_filled(ret, h->command, names);
    }
}

/* The directory to run in. If the agent has removed its directory, the handler must still run. The
 * caller frees it. */
static char *find_dir(struct workspace *w)
{
    char *dir = workspace_cwd(w);
    struct stat st;

    if (stat(dir, &st) == 0 && S_ISDIR(st.st_mode))
        return dir;
    mem_freep(&dir);
    if (stat(workspace_dir(w), &st) == 0 && S_ISDIR(st.st_mode))
        return mem_dup(workspace_dir(w), strlen(workspace_dir(w)));
    return mem_dup("/", 1);
}

struct proc *program_start(const struct program_place *p, const struct hook_handler *h,
                           int64_t timeout_ms, const struct program_input *in, struct mailbox *to,
                           struct err *err)
{
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(mem_freep) char *dir = find_dir(p->workspace);
    CLEANUP(strv_release) struct strv argv = STRV_INIT;
    struct proc_spec spec = {
        .dir = dir,
        .input = in->text,
        .at_once = true, /* do not wait for its exec before starting the next one */
        .max_output = 4 * OUTPUT_MAX_BYTES,
        .timeout_ms = timeout_ms,
        .grace_ms = grace_ms(p),
        .linger_ms = PROGRAM_LINGER_MS,
        .by_user = true,
    };

    make_env(p, in, hook_handler_spec(h), &env);
    spec.envp = (const char *const *)strv_get(&env);
    make_argv(hook_handler_spec(h), workspace_dir(p->workspace), &argv);
    spec.argv = (const char *const *)strv_get(&argv);
    return proc_start(&spec, to, err);
}
