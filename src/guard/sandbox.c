/*
 * sandbox: reads the settings once and decides whether commands are sandboxed at all, which run
 * outside, and which may request to leave. Any thread.
 */
#include "guard/sandbox.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "conf/conf.h"
#include "guard/denied_files.h"
#include "guard/permit.h"
#include "guard/rule.h"
#include "guard/sandbox_state.h"
#include "guard/trial.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/jw.h"
#include "sync/cancel.h"

#define REMOVE_TRIES 20
#define REMOVE_WAIT_MS 50

/* ---- settings ---- */

/* "auto", "on" or "off"; true means on, false means off. */
static enum sandbox_state wanted_state(const struct conf *conf)
{
    const struct json *v = conf_get(conf, "sandbox.enabled");
    struct str word = conf_get_str(conf, "sandbox.enabled");

    if (str_is(word, "off") || (v && !word.len && !conf_get_bool(conf, "sandbox.enabled", true)))
        return SANDBOX_OFF;
    if (conf_get_bool(conf, "sandbox.failIfUnavailable", str_is(word, "on") || (v && !word.len)))
        return SANDBOX_NEEDED;
    return SANDBOX_MISSING;
}

/* Explicitly on, not only if it works. */
static bool is_asked_for(const struct conf *conf)
{
    return wanted_state(conf) == SANDBOX_NEEDED ||
           (wanted_state(conf) == SANDBOX_MISSING && conf_get(conf, "sandbox.enabled") &&
            !str_is(conf_get_str(conf, "sandbox.enabled"), "auto"));
}

/* Called repeatedly: confine caches the result. */
static bool can_confine(void)
{
    const struct confine_backend *by = confine_backend();

    return strcmp(by->name, "none") != 0 && confine_works(by, /*ret_why=*/NULL);
}

static void look_ahead(void *arg)
{
    (void)arg;
    (void)can_confine();
    confine_reap(/*waits=*/true);
}

int sandbox_check(const struct conf *conf, struct err *err)
{
    if (!conf_get_bool(conf, "sandbox.failIfUnavailable", false) ||
        wanted_state(conf) == SANDBOX_OFF || can_confine())
        return 0;
    return err_set(err, ERR_UNSUPPORTED,
                   "sandbox.failIfUnavailable is set, and nothing here can confine commands (tenax "
                   "doctor lists the missing parts)");
}

struct thread *sandbox_look_ahead(const struct conf *conf)
{
    return wanted_state(conf) == SANDBOX_OFF
               ? NULL
               : thread_start("confine", look_ahead, /*arg=*/NULL, /*err=*/NULL);
}

static void read_environment(struct sandbox *s, const struct conf *conf)
{
    JSON_EACH(conf_get(conf, "sandbox.allowEnv"), v) {
        strv_add(&s->env, json_str(v));
    }
}

static void read_excluded(struct sandbox *s, const struct conf *conf, struct strv *ret_warnings)
{
    const char *dir = workspace_dir(s->workspace);
    struct rule_place place = {.source = dir, .cwd = dir, .home = s->home};

    JSON_EACH(conf_get(conf, "sandbox.excludedCommands"), v) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(4096);
        struct str command = str_trim(json_str(v));
        struct err err = {0};
        struct rule *rule;

        /* "docker" covers all docker commands */
        buf_addf(&text, str_chr(command, '*') < command.len ? "Bash(%.*s)" : "Bash(%.*s:*)",
                 STR_ARG(command));
        if (!command.len || rule_parse(buf_str(&text), RULE_ALLOW, &place, &rule, &err) < 0)
            strv_addf(ret_warnings, "sandbox.excludedCommands: '%.*s' is left out: %s",
                      STR_ARG(str_clip(command, 100)), err.text[0] ? err.text : "it is empty");
        else
            vec_push(&s->excluded, rule);
    }
}

struct sandbox *sandbox_new(const struct sandbox_spec *spec, struct strv *ret_warnings)
{
    const struct conf *conf = spec->conf;
    const char *temp = conf_env(conf, "TMPDIR");
    struct sandbox *s = mem_zalloc(sizeof(*s));

    lock_init(&s->lock);
    s->workspace = workspace_ref(spec->workspace);
    s->home = path_real(conf_user_home(conf));
    s->tenax_home = path_real(conf_home(conf));
    s->claude_home = path_real(conf_claude_home(conf));
    s->temp_dir = path_real(temp && temp[0] == '/' && file_is_dir(temp) ? temp : "/tmp");
    s->frees_commands = conf_get_bool(conf, "sandbox.autoAllowBashIfSandboxed", false);
    s->may_leave = conf_get_bool(conf, "sandbox.allowUnsandboxedCommands", true);
    s->wanted = spec->insists ? SANDBOX_NEEDED : wanted_state(conf);
    s->is_asked_for = spec->insists || is_asked_for(conf);
    s->can_confine = can_confine;
    s->denied = denied_files_new(DENIED_READ);
    s->unedited = denied_files_new(DENIED_EDIT);
    s->record = spec->record ? mem_dup(spec->record, strlen(spec->record)) : NULL;
    read_environment(s, conf);
    read_excluded(s, conf, ret_warnings);
    sandbox_paths_read(s, conf, ret_warnings);
    sandbox_net_read(s, spec, ret_warnings);
    sandbox_absent_settle(s, ret_warnings);
    trial_settle(s, ret_warnings);
    session_folder_settle(s->tenax_home, SANDBOX_TEMP_NOTE, SANDBOX_TEMP, /*fn=*/NULL,
                          /*arg=*/NULL);
    return s;
}

void sandbox_set_permit(struct sandbox *s, struct permit *p)
{
    if (s)
        s->permit = p;
}

/* A cancelled command may still be ending and writing. */
static void remove_temp(struct sandbox *s)
{
    for (int i = 0; s->temp.path && file_exists(s->temp.path) && i < REMOVE_TRIES; i++) {
        if (i)
            (void)cancel_wait(/*c=*/NULL, REMOVE_WAIT_MS, /*err=*/NULL);
        session_folder_remove(s->temp.path);
    }
    session_folder_release(&s->temp);
}

void sandbox_free(struct sandbox *s)
{
    if (!s)
        return;
    workspace_unref(s->workspace);
    sandbox_net_release(s);
    sandbox_sweep(s);
    remove_temp(s);
    session_folder_release(&s->trials);
    sandbox_folders_release(s);
    sandbox_note_release(s);
    VEC_EACH(&s->excluded, r) {
        rule_free(*r);
    }
    vec_release(&s->excluded);
    sandbox_paths_release(&s->given);
    strv_release(&s->env);
    strv_release(&s->unwanted);
    strv_release(&s->nested);
    strv_release(&s->nested_in);
    lock_release(&s->lock);
    denied_files_free(s->denied);
    denied_files_free(s->unedited);
    mem_freep(&s->record);
    mem_freep(&s->home);
    mem_freep(&s->tenax_home);
    mem_freep(&s->claude_home);
    mem_freep(&s->temp_dir);
    mem_freep(&s);
}

/* ---- which commands are sandboxed ---- */

enum sandbox_state sandbox_state(const struct sandbox *s)
{
    if (!s || s->wanted == SANDBOX_OFF)
        return SANDBOX_OFF;
    return s->can_confine() ? SANDBOX_ON : s->wanted;
}

struct sandbox *sandbox_in_force(struct sandbox *s, struct permit *p)
{
    return s && !s->is_asked_for && p && permit_mode(p) == MODE_BYPASS ? NULL : s;
}

const char *sandbox_why_not(const struct sandbox *s)
{
    enum sandbox_state state = sandbox_state(s);

    return state == SANDBOX_MISSING || state == SANDBOX_NEEDED
               ? "nothing here can confine commands (tenax doctor lists the missing parts)"
               : "";
}

bool sandbox_frees_commands(const struct sandbox *s)
{
    return s && s->frees_commands && sandbox_state(s) == SANDBOX_ON;
}

/* Whether every part is excluded or only reads, and at least one is excluded. */
static bool is_excluded(const struct sandbox *s, struct str command)
{
    CLEANUP(strv_release) struct strv writes = STRV_INIT;
    struct rule_subject subject = {.tool = STR("Bash"), .about = ABOUT_COMMAND, .text = command};
    const struct rule *needed = NULL;

    return s->excluded.len &&
           rules_allow_command(s->excluded.ptr, s->excluded.len, &subject, &writes, &needed) &&
           needed && !writes.len;
}

enum sandbox_side sandbox_side(const struct sandbox *s, struct str command, const struct json *args)
{
    enum sandbox_state state = sandbox_state(s);

    if (state == SANDBOX_OFF || state == SANDBOX_MISSING)
        return SIDE_OUTSIDE;
    if (args && json_get_bool(args, "dangerouslyDisableSandbox", false))
        return s->may_leave ? SIDE_LEAVES : SIDE_KEPT_IN;
    return args && is_excluded(s, command) ? SIDE_OUTSIDE : SIDE_INSIDE;
}

/* ---- descriptions ---- */

void sandbox_describe(struct sandbox *s, struct buf *ret)
{
    if (sandbox_state(s) != SANDBOX_ON)
        return;
    buf_adds(ret, "Commands of Bash run in a sandbox. They write in the working folders and in "
                  "$TMPDIR (not in /tmp), but not .git/hooks, .git/config, .claude and .tenax. "
                  "Keys and tokens of the user cannot be read and are not in the environment. ");
    if (s->hosts.len) {
        buf_adds(ret, "Of the network they reach these hosts, by HTTP and HTTPS:");
        for (size_t i = 0; i < s->hosts.len && i < 50; i++)
            buf_addf(ret, " %s", s->hosts.ptr[i]);
        buf_adds(ret, s->hosts.len > 50 ? " and others. " : ". ");
    } else if (!s->own_http && !s->own_socks) {
        buf_adds(ret, "There is no network. ");
    }
    if (s->own_http || s->own_socks)
        buf_adds(ret, "Of the network they reach what a proxy of the user's lets through. ");
    if (s->given.sockets.len) {
        buf_adds(ret, "Of unix sockets they reach these:");
        for (size_t i = 0; i < s->given.sockets.len && i < 50; i++)
            buf_addf(ret, " %s", s->given.sockets.ptr[i]);
        buf_adds(ret, ". ");
    }
    buf_adds(
        ret,
        s->may_leave
            ? "Blocked actions are listed at the end of a result; a command that must leave it "
              "can ask for that with dangerouslyDisableSandbox."
            : "Blocked actions are listed at the end of a result; no command may leave it.");
}

static void write_list(struct jw *w, const char *key, const struct strv *list)
{
    jw_key(w, key);
    jw_array(w);
    for (size_t i = 0; i < list->len; i++)
        jw_cstr(w, list->ptr[i]);
    jw_array_end(w);
}

void sandbox_write(struct sandbox *s, struct jw *w)
{
    static const char *const states[] = {"off", "on", "missing", "needed"};
    static const char *const nets[] = {"open", "none", "proxy"};
    CLEANUP(sandbox_paths_release) struct sandbox_paths paths = {0};
    enum sandbox_state state = sandbox_state(s);

    sandbox_paths_gather(s, s->temp.path, &paths);
    jw_kcstr(w, "state", states[state]);
    jw_kcstr(w, "backend", confine_backend()->name);
    jw_kcstr(w, "network", state == SANDBOX_ON ? nets[s->net] : "open");
    write_list(w, "allowedHosts", &s->hosts);
    write_list(w, "write", &paths.write);
    write_list(w, "readOnly", &paths.read_only);
    write_list(w, "hidden", &paths.hidden);
    jw_kbool(w, "hiddenIsPartial", paths.is_partial);
    write_list(w, "shown", &paths.shown);
    write_list(w, "unixSockets", &paths.sockets);
}
