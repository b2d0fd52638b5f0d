/*
 * sandbox_job: the sandbox of one job, with its environment and its access to the proxy. Any
 * thread.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/secret.h"
#include "guard/sandbox_state.h"
#include "guard/workspace.h"
#include "net/proxy.h"

#define JOB_PROXY "http://127.0.0.1:3128"
#define JOB_SOCKS "socks5h://127.0.0.1:3128"
_Static_assert(CONFINE_PROXY_PORT == 3128, "JOB_PROXY names the port");

/* The session's temporary folder, created for its first job; links in its path are resolved,
 * because programs compare paths. */
int sandbox_temp(struct sandbox *s, char **ret, struct err *err)
{
    int rc = 0;

    lock_take(&s->lock);
    if (!s->temp.path &&
        !session_folder_make(&s->temp, s->tenax_home, SANDBOX_TEMP_NOTE, s->temp_dir, SANDBOX_TEMP))
        rc = err_sys(err, ERR_IO, "a temporary folder for commands cannot be made");
    if (rc == 0)
        *ret = mem_dup(s->temp.path, strlen(s->temp.path));
    lock_give(&s->lock);
    return rc;
}

/* Creates it so that it can be hidden; also for a session that starts while a job runs. */
static void make_run(const struct sandbox *s)
{
    CLEANUP(mem_freep) char *run = path_join(s->tenax_home, SANDBOX_RUN);

    if (s->unix_sockets)
        (void)file_mkdirs(run, 0700, /*err=*/NULL);
}

struct sandbox_job *sandbox_job_new(struct sandbox *s, const char *temp)
{
    struct sandbox_job *j = mem_zalloc(sizeof(*j));

    j->sandbox = s;
    j->temp = mem_dup(temp, strlen(temp));
    j->door_fd = -1;
    make_run(s);
    return j;
}

int sandbox_enter(struct sandbox *s, struct sandbox_job **ret, struct err *err)
{
    return sandbox_enter_hosts(s, /*hosts=*/NULL, ret, err);
}

int sandbox_enter_hosts(struct sandbox *s, const struct sandbox_hosts *hosts,
                        struct sandbox_job **ret, struct err *err)
{
    CLEANUP(mem_freep) char *temp = NULL;
    struct proxy *proxy;
    struct sandbox_job *j;

    *ret = NULL;
    if (sandbox_state(s) == SANDBOX_NEEDED)
        return err_set(err, ERR_UNSUPPORTED,
                       "no command runs: the setting sandbox.enabled wants a sandbox, and %s. Set "
                       "it to auto to be asked instead",
                       sandbox_why_not(s));
    if (sandbox_state(s) != SANDBOX_ON)
        return 0;
    if (sandbox_temp(s, &temp, err) < 0 || sandbox_folders_hold(s, err) < 0)
        return -1;
    j = sandbox_job_new(s, temp);
    sandbox_paths_gather(s, j->temp, &j->paths);
    sandbox_absent_find(j);
    proxy = sandbox_net_proxy(s, hosts);
    if (hosts)
        strv_add_all(&j->hosts, &hosts->allow);
    j->confine = (struct confinement){
        .write = (const char *const *)strv_get(&j->paths.write),
        .read_only = (const char *const *)strv_get(&j->paths.read_only),
        .hidden = (const char *const *)strv_get(&j->paths.hidden),
        .shown = (const char *const *)strv_get(&j->paths.shown),
        .net = proxy ? CONFINE_NET_PROXY : s->net,
        .proxy = -1,
        .unix_sockets = s->unix_sockets,
        .sockets = (const char *const *)strv_get(&j->paths.sockets),
    };
    if (proxy) {
        j->door = proxy_open(proxy, &j->door_fd, err);
        if (!j->door) {
            sandbox_job_free(j);
            return -1;
        }
        j->confine.proxy = j->door_fd;
    }
    *ret = j;
    return 0;
}

const struct confinement *sandbox_job_confine(const struct sandbox_job *j)
{
    return j ? &j->confine : NULL;
}

void sandbox_job_started(struct sandbox_job *j)
{
    if (j)
        fd_closep(&j->door_fd);
}

void sandbox_job_refusals(const struct sandbox_job *j, struct strv *ret)
{
    if (j && j->door)
        proxy_door_refusals(j->door, ret);
}

void sandbox_job_free(struct sandbox_job *j)
{
    if (!j)
        return;
    sandbox_sweep(j->sandbox);
    sandbox_absent_move(j, /*ret=*/NULL);
    sandbox_absent_forget(j);
    strv_release(&j->absent);
    strv_release(&j->hosts);
    fd_closep(&j->door_fd);
    proxy_door_unref(j->door);
    sandbox_paths_release(&j->paths);
    mem_freep(&j->temp);
    mem_freep(&j);
}

void sandbox_job_freep(struct sandbox_job **j)
{
    sandbox_job_free(*j);
}

/* ---- the environment ---- */

static bool is_named(const char *assignment, const char *name)
{
    size_t len = strlen(name);

    return strncmp(assignment, name, len) == 0 && assignment[len] == '=';
}

static void set_variable(struct strv *env, bool always, const char *name, const char *value)
{
    for (size_t i = 0; i < env->len; i++) {
        if (!is_named(env->ptr[i], name))
            continue;
        if (always) {
            CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

            buf_addf(&text, "%s=%s", name, value);
            free(env->ptr[i]);
            env->ptr[i] = buf_take(&text);
        }
        return;
    }
    strv_addf(env, "%s=%s", name, value);
}

/* Gives programs that keep data in the home directory another place, unless they may write there.
 */
static void set_cache(const struct sandbox_job *j, struct strv *env, const char *name,
                      const char *usual, const char *here)
{
    CLEANUP(mem_freep) char *at_home = path_join(j->sandbox->home, usual);
    CLEANUP(mem_freep) char *path = path_join(j->temp, here);

    if (sandbox_path_is(&j->paths, at_home) != PATH_WRITABLE)
        set_variable(env, /*always=*/false, name, path);
}

/* By descriptors, since parallel commands may create links. */
static void link_cargo_config(const struct sandbox_job *j, const char *home)
{
    static const char *const names[] = {"config.toml", "config"};
    CLEANUP(fd_closep) int temp = open(j->temp, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    CLEANUP(fd_closep) int dir = -1;

    if (mkdirat(temp, "cargo", 0700) < 0) /* it exists, with its links */
        return;
    dir = openat(temp, "cargo", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    for (size_t i = 0; dir >= 0 && i < ARRAY_LEN(names); i++) {
        CLEANUP(mem_freep) char *path = path_join(home, names[i]);

        if (file_exists(path))
            (void)!symlinkat(path, dir, names[i]);
    }
}

/* cargo has downloads and configuration in the same folder. If it may download, it gets a writable
 * one; otherwise earlier downloads are useful. */
static void set_cargo(const struct sandbox_job *j, struct strv *env)
{
    CLEANUP(mem_freep) char *home = path_join(j->sandbox->home, ".cargo");

    if (sandbox_host(j->sandbox, &j->hosts, STR("index.crates.io:443")) != SANDBOX_HOST_ALLOWED &&
        sandbox_host(j->sandbox, &j->hosts, STR("static.crates.io:443")) != SANDBOX_HOST_ALLOWED)
        return;
    set_cache(j, env, "CARGO_HOME", ".cargo/registry", "cargo");
    link_cargo_config(j, home);
}

/* Keys that tenax itself uses are not passed to commands. */
static bool is_passed(const struct sandbox_job *j, const char *assignment)
{
    struct str value = str_of(assignment);
    struct str name;

    (void)str_cut(&value, '=', &name);
    return !j || !secret_is_in(value) || strv_has(&j->sandbox->env, name);
}

/* What the sandbox denies it denies again: npm would retry for 70 seconds. */
static void set_retries(struct strv *env, bool has_network)
{
    static const char *const names[] = {"npm_config_fetch_retries", "PIP_RETRIES",
                                        "CARGO_NET_RETRY", "BUNDLE_RETRY"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        set_variable(env, /*always=*/false, names[i], has_network ? "1" : "0");
}

/* In a trial run a program that checks for updates would be stopped, and the user asked about it.
 */
static void set_quiet(struct strv *env)
{
    static const char *const values[][2] = {
        {"npm_config_update_notifier", "false"},
        {"NO_UPDATE_NOTIFIER", "1"},
        {"PIP_DISABLE_PIP_VERSION_CHECK", "1"},
        {"DENO_NO_UPDATE_CHECK", "1"},
        {"CHECKPOINT_DISABLE", "1"},
        {"DO_NOT_TRACK", "1"},
        {"DOTNET_CLI_TELEMETRY_OPTOUT", "1"},
        {"NEXT_TELEMETRY_DISABLED", "1"},
        {"YARN_ENABLE_TELEMETRY", "0"},
    };

    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        set_variable(env, /*always=*/false, values[i][0], values[i][1]);
}

void sandbox_job_environ(const struct sandbox_job *j, char *const *given, struct strv *ret)
{
    static const char *const temps[] = {"TMPDIR", "TMP", "TEMP"};
    static const char *const web_proxies[] = {"http_proxy", "HTTP_PROXY", "https_proxy",
                                              "HTTPS_PROXY"};
    static const char *const all_proxies[] = {"all_proxy", "ALL_PROXY"};
    const struct sandbox *b = j ? j->sandbox : NULL;
    const char *web;

    for (size_t i = 0; given[i]; i++) {
        if (is_passed(j, given[i]))
            strv_adds(ret, given[i]);
    }
    if (!j)
        return;
    for (size_t i = 0; i < ARRAY_LEN(temps); i++)
        set_variable(ret, /*always=*/true, temps[i], j->temp);
    set_variable(ret, /*always=*/true, "TENAX_SANDBOX", "1");
    set_cache(j, ret, "XDG_CACHE_HOME", ".cache", "cache");
    set_cache(j, ret, "npm_config_cache", ".npm", "npm");
    set_cargo(j, ret);
    if (j->is_trial) {
        set_variable(ret, /*always=*/true, "GIT_OPTIONAL_LOCKS",
                     "0"); /* git status must not write */
        /* The repository may be above the mounted folder. */
        set_variable(ret, /*always=*/true, "GIT_DISCOVERY_ACROSS_FILESYSTEM", "1");
        set_quiet(ret);
    }
    set_retries(ret, /*has_network=*/b->proxy || j->hosts.len);
    if (j->confine.net == CONFINE_NET_NONE || j->confine.net == CONFINE_NET_OPEN)
        return;
    /* Our proxy for the web, unless only SOCKS leads outside. */
    web = b->own_socks && !b->own_http && !b->hosts.len ? JOB_SOCKS : JOB_PROXY;
    for (size_t i = 0; i < ARRAY_LEN(web_proxies); i++)
        set_variable(ret, /*always=*/true, web_proxies[i], web);
    for (size_t i = 0; i < ARRAY_LEN(all_proxies); i++)
        set_variable(ret, /*always=*/true, all_proxies[i], b->own_socks ? JOB_SOCKS : JOB_PROXY);
    set_variable(ret, /*always=*/true, "no_proxy", b->direct);
    set_variable(ret, /*always=*/true, "NO_PROXY", b->direct);
    set_variable(ret, /*always=*/false, "NODE_USE_ENV_PROXY", "1");
}
