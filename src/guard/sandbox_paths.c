/*
 * sandbox_paths: which files and folders a job may write, only read, or not see. Computed for each
 * job, because folders are added and repositories created during a session (sandbox_git.c). Paths
 * of the settings are resolved once. Any thread.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "conf/conf.h"
#include "conf/levels.h"
#include "guard/denied_files.h"
#include "guard/permit.h"
#include "guard/sandbox_state.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "proc/outside.h"

/* In the home directory: keys, tokens, passwords, and browser profiles. Not ~/.npmrc, because npm
 * does not run without its settings, nor ~/.m2/settings.xml, because of Maven. */
static const char *const secrets[] = {
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".oci",
    ".boto",
    ".s3cfg",
    ".aliyun",
    ".bluemix",
    ".fly",
    ".m2/settings-security.xml",
    ".config/doctl",
    ".config/github-copilot",
    ".config/glab-cli",
    ".config/hcloud",
    ".config/linode-cli",
    ".config/scw",
    ".netrc",
    ".git-credentials",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".password-store",
    ".docker/config.json",
    ".config/containers/auth.json",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".databrickscfg",
    ".kaggle",
    ".huggingface",
    ".cache/huggingface/token",
    ".config/1Password",
    ".config/Bitwarden CLI",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".terraform.d/credentials.tfrc.json",
    ".sbt/.credentials",
    ".ivy2/.credentials",
    ".pub-cache/credentials.json",
    ".pulumi/credentials.json",
    ".config/age",
    ".config/ngrok",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".config/sops",
    ".config/git/credentials",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".mozilla",
    ".thunderbird",
    "snap/firefox",
    "snap/chromium",
    ".var/app",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".local/share/atuin",
    ".python_history",
    ".node_repl_history",
    ".sqlite_history",
    ".psql_history",
    ".mysql_history",
    ".claude.json",
    ".codex/auth.json",
    ".local/share/opencode/auth.json",
    ".gemini/oauth_creds.json",
};

static const char *const system_secrets[] = {
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/krb5.keytab",
    "/etc/wireguard",
    "/etc/NetworkManager/system-connections",
};

/* In the homes of tenax and Claude Code. Access to a session's socket in `run` would give control
 * over it. */
static const char *const of_homes[] = {
    "auth.json",     ".credentials.json",
    "settings.json", "settings.local.json",
    "projects",      "history.jsonl",
    "state.db",      "state.db-wal",
    "state.db-shm",  "file-history",
    "goals",         SANDBOX_RUN,
    "events",        "debug",
    "stderr.log",    "perf-reports",
    "paste-cache",   "shell-snapshots",
    "todos",         "tasks",
    "session-env",   "sessions",
    "statsig",       "telemetry",
    "transcripts",   "backups",
};

const char *const sandbox_startup_files[] = {
    ".bashrc", ".bash_profile",    ".bash_login", ".bash_logout", ".profile",     ".zshrc",
    ".zshenv", ".zprofile",        ".zlogin",     ".gitconfig",   ".npmrc",       ".inputrc",
    ".envrc",  ".pam_environment", ".xprofile",   ".xinitrc",     ".claude.json", NULL,
};

const char *const sandbox_startup_folders[] = {
    ".config/git",
    ".config/fish",
    ".config/autostart",
    ".config/systemd",
    ".local/bin",
    ".ssh",
    ".aws",
    ".kube",
    NULL,
};

void sandbox_paths_release(struct sandbox_paths *p)
{
    strv_release(&p->write);
    strv_release(&p->read_only);
    strv_release(&p->hidden);
    strv_release(&p->shown);
    strv_release(&p->absent);
    strv_release(&p->denied);
    strv_release(&p->sockets);
}

void sandbox_paths_copy(struct sandbox_paths *to, const struct sandbox_paths *from)
{
    strv_add_all(&to->write, &from->write);
    strv_add_all(&to->read_only, &from->read_only);
    strv_add_all(&to->hidden, &from->hidden);
    strv_add_all(&to->shown, &from->shown);
    strv_add_all(&to->absent, &from->absent);
    strv_add_all(&to->denied, &from->denied);
    strv_add_all(&to->sockets, &from->sockets);
    to->is_partial = from->is_partial;
}

/* ---- which list applies to a path ---- */

/* Length of the part of the path that a rule matches; 0 = none. */
static size_t depth_in(const struct strv *list, const char *path)
{
    size_t deepest = 0;

    for (size_t i = 0; i < list->len; i++) {
        size_t len = strlen(list->ptr[i]);

        while (len > 1 && list->ptr[i][len - 1] == '/')
            len--;
        if (strncmp(path, list->ptr[i], len) == 0 && (len == 1 || !path[len] || path[len] == '/') &&
            len > deepest)
            deepest = len;
    }
    return deepest;
}

enum path_is sandbox_path_is(const struct sandbox_paths *p, const char *path)
{
    size_t hidden = depth_in(&p->hidden, path);
    size_t read_only = depth_in(&p->read_only, path);
    size_t shown = depth_in(&p->shown, path);
    size_t write = depth_in(&p->write, path);

    if (hidden && hidden >= read_only && hidden >= shown && hidden >= write)
        return PATH_HIDDEN;
    return write > read_only && write > shown ? PATH_WRITABLE : PATH_READABLE;
}

bool sandbox_path_is_closed(const struct sandbox_paths *p, const char *path)
{
    enum path_is is = sandbox_path_is(p, path);

    return is == PATH_HIDDEN || (is == PATH_READABLE && depth_in(&p->read_only, path));
}

static bool is_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    return strncmp(path, dir, len) == 0 && (len == 1 || path[len] == '/' || !path[len]);
}

bool sandbox_paths_keep(const struct sandbox *s, const struct sandbox_paths *p, const char *path,
                        bool goes)
{
    const struct strv *lists[] = {&p->read_only, &p->absent};
    size_t write = depth_in(&p->write, path);

    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        for (size_t k = 0; k < lists[i]->len; k++) {
            const char *kept = lists[i]->ptr[k];

            if (strv_has(&s->given.read_only, str_of(kept)) || strv_has(&p->denied, str_of(kept)))
                continue;
            if ((goes && is_below(kept, path)) || (is_below(path, kept) && strlen(kept) >= write))
                return true;
        }
    }
    return false;
}

/* ---- from the settings ---- */

/* "dir/" and "dir/ **" mean dir; other patterns are not supported. */
static bool strip_pattern(struct str *path)
{
    if (str_ends(*path, STR("/**")))
        path->len -= 3;
    else if (str_ends(*path, STR("/*")))
        path->len -= 2;
    while (path->len > 1 && path->ptr[path->len - 1] == '/')
        path->len--;
    for (size_t i = 0; i < path->len; i++) {
        if (strchr("*?[", path->ptr[i]))
            return false;
    }
    return path->len > 0;
}

static char *path_below(const char *dir, struct str rest)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    buf_adds(&path, strcmp(dir, "/") == 0 ? "" : dir);
    path_walk(&path, rest);
    if (!path.len)
        buf_addc(&path, '/');
    return buf_take(&path);
}

/* The anchors of permission rules. "/x" is below the folder of the settings if nothing of that name
 * exists at the root: users write it with both meanings. */
static void add_anchored(struct sandbox *s, struct str path, const char *source, bool forbids,
                         struct strv *to)
{
    CLEANUP(mem_freep) char *there = NULL;
    CLEANUP(mem_freep) char *from_root = NULL;

    if (str_starts(path, STR("//"))) {
        there = path_below("/", str_from(path, 1));
    } else if (str_is(path, "~") || str_starts(path, STR("~/"))) {
        there = path_below(s->home, str_from(path, 1));
    } else if (str_starts(path, STR("/"))) {
        from_root = path_below("/", path);
        there = path_below(source, path);
        if (forbids || !file_exists(there))
            strv_adds(to, from_root);
    } else {
        there = path_below(workspace_dir(s->workspace), path);
    }
    strv_adds(to, there);
}

/* Of the places that a setting may mean, keeps those that commands cannot write to, since they
 * could put any socket there. If none is left, this is reported. */
static void keep_fixed(const struct sandbox_paths *now, const struct strv *meant, const char *key,
                       struct strv *to, struct strv *ret_warnings)
{
    bool has_any = false;

    for (size_t i = 0; i < meant->len; i++) {
        CLEANUP(mem_freep) char *real = path_real(meant->ptr[i]);

        if (depth_in(&now->write, meant->ptr[i]) || depth_in(&now->write, real))
            continue;
        strv_adds(to, meant->ptr[i]);
        has_any = true;
    }
    if (!has_any)
        strv_addf(ret_warnings,
                  "%s: %s lies where commands may write, so any socket could be put in its place; "
                  "it stays closed",
                  key, meant->ptr[meant->len - 1]);
}

/* With `now`: for sockets. */
static void read_list(struct sandbox *s, const struct conf *conf, const char *key, bool forbids,
                      const struct sandbox_paths *now, struct strv *to, struct strv *ret_warnings)
{
    bool only_managed = strcmp(key, "sandbox.filesystem.allowRead") == 0 &&
                        conf_get_bool(conf, "sandbox.filesystem.allowManagedReadPathsOnly", false);
    size_t i = 0;

    JSON_EACH(conf_get(conf, key), v) {
        CLEANUP(strv_release) struct strv meant = STRV_INIT;
        CLEANUP(buf_release) struct buf where = BUF_INIT(200);
        CLEANUP(mem_freep) char *source = NULL;
        struct str path = str_trim(json_str(v));
        struct str origin;

        buf_addf(&where, "%s.%zu", key, i++);
        origin = conf_origin(conf, buf_cstr(&where));
        if (only_managed && !conf_is_managed(conf, buf_cstr(&where))) {
            strv_addf(ret_warnings, "%.*s: %s is left out: only managed settings count for it",
                      STR_ARG(origin), key);
            continue;
        }
        source = permit_source_dir(conf, origin, s->home);
        if (memchr(path.ptr, '\0', path.len) || !strip_pattern(&path))
            strv_addf(ret_warnings,
                      "%.*s: %s takes files and folders, no other patterns than dir/**; '%.*s' is "
                      "left out",
                      STR_ARG(origin), key, STR_ARG(str_clip(json_str(v), 100)));
        else
            add_anchored(s, path, source, forbids, now ? &meant : to);
        if (meant.len)
            keep_fixed(now, &meant, key, to, ret_warnings);
    }
}

/* The current targets of links stay denied, even if a link is replaced. */
static void add_targets(struct strv *list)
{
    size_t given = list->len;

    for (size_t i = 0; i < given; i++) {
        CLEANUP(mem_freep) char *real = path_real(list->ptr[i]);

        if (!strv_has(list, str_of(real)))
            strv_adds(list, real);
    }
}

void sandbox_paths_read(struct sandbox *s, const struct conf *conf, struct strv *ret_warnings)
{
    CLEANUP(sandbox_paths_release) struct sandbox_paths now = {0};
    struct sandbox_paths *p = &s->given;

    read_list(s, conf, "sandbox.filesystem.allowWrite", false, NULL, &p->write, ret_warnings);
    read_list(s, conf, "sandbox.filesystem.denyWrite", true, NULL, &p->read_only, ret_warnings);
    read_list(s, conf, "sandbox.filesystem.denyRead", true, NULL, &p->hidden, ret_warnings);
    read_list(s, conf, "sandbox.filesystem.allowRead", false, NULL, &p->shown, ret_warnings);
    add_targets(&p->read_only);
    add_targets(&p->hidden);
    if (!json_len(conf_get(conf, "sandbox.network.allowUnixSockets")))
        return;
    sandbox_paths_gather(s, /*temp=*/NULL, &now);
    read_list(s, conf, "sandbox.network.allowUnixSockets", false, &now, &p->sockets, ret_warnings);
}

void sandbox_outside_environ(const struct sandbox *s, char *const *given, struct strv *ret)
{
    CLEANUP(strv_release) struct strv dirs = STRV_INIT;

    if (s) {
        workspace_dirs(s->workspace, &dirs);
        strv_add_all(&dirs, &s->given.write);
    }
    outside_environ(given, &dirs, ret);
}

/* ---- for a job ---- */

void sandbox_add_if_there(struct strv *to, const char *dir, const char *name)
{
    CLEANUP(mem_freep) char *path = path_join(dir, name);

    if (file_exists(path))
        strv_adds(to, path);
}

/* Checkouts below settings may be written, unless a rule of the user closes them. */
static void open_checkouts(struct sandbox *s, struct sandbox_paths *p, const char *trees)
{
    CLEANUP(mem_freep) char *real = path_real(trees);

    if (file_is_dir(trees) && !sandbox_path_is_closed(&s->given, trees) &&
        !sandbox_path_is_closed(&s->given, real))
        strv_adds(&p->write, trees);
}

/* Protects the settings of a folder with everything they name. Commands must not create missing
 * ones. */
static void add_settings(struct sandbox *s, struct sandbox_paths *p, const char *dir)
{
    for (size_t i = 0; i < SANDBOX_FOLDERS; i++) {
        CLEANUP(mem_freep) char *path = path_join(dir, sandbox_folder_names[i]);
        CLEANUP(mem_freep) char *trees = path_join(path, "worktrees");

        if (file_exists(path))
            strv_adds(&p->read_only, path);
        else
            strv_addf(&p->read_only, "%s/", path);
        open_checkouts(s, p, trees);
    }
    sandbox_add_if_there(&p->read_only, dir, ".mcp.json");
}

bool sandbox_is_written(const struct strv *write, const char *path)
{
    for (size_t i = 0; i < write->len; i++) {
        CLEANUP(mem_freep) char *real = path_real(write->ptr[i]);
        size_t len = strlen(real);

        if (strncmp(path, real, len) == 0 && (len == 1 || !path[len] || path[len] == '/'))
            return true;
    }
    return false;
}

/* Changes *at to the parent folder. */
static bool go_up(char *at)
{
    char *slash = strrchr(at, '/');

    if (!slash || slash == at)
        return false;
    *slash = '\0';
    return true;
}

void sandbox_settings_dirs(struct sandbox *s, struct strv *ret, struct strv *ret_write)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const char *dir = workspace_dir(s->workspace);
    CLEANUP(mem_freep) char *at = mem_dup(dir, strlen(dir));
    const char *local = levels_local_dir(&arena, dir, s->home);
    CLEANUP(strv_release) struct strv top = STRV_INIT;
    bool is_above;

    strv_adds(&top, local);
    is_above = depth_in(&top, dir);
    workspace_dirs(s->workspace, ret);
    strv_add_all(ret_write, ret);
    strv_add_all(ret_write, &s->given.write);
    while (is_above && strlen(at) > strlen(local) && go_up(at)) {
        if (!strv_has(ret, str_of(at)) && sandbox_is_written(ret_write, at))
            strv_adds(ret, at);
    }
    if (!strv_has(ret, str_of(local)) && sandbox_is_written(ret_write, local))
        strv_adds(ret, local);
}

/* In the homes, only what could be written otherwise needs a rule. */
static void add_unless_safe(struct sandbox_paths *p, const char *path)
{
    if (file_exists(path) && depth_in(&p->write, path) && !strv_has(&p->read_only, str_of(path)))
        strv_adds(&p->read_only, path);
}

static void add_names(struct sandbox *s, struct sandbox_paths *p, const char *const *names)
{
    for (; *names; names++) {
        CLEANUP(mem_freep) char *path = path_join(s->home, *names);

        add_unless_safe(p, path);
    }
}

static void add_homes(struct sandbox *s, struct sandbox_paths *p)
{
    add_unless_safe(p, s->tenax_home);
    add_unless_safe(p, s->claude_home);
    add_names(s, p, sandbox_startup_files);
    add_names(s, p, sandbox_startup_folders);
}

static void add_secrets(struct sandbox *s, struct sandbox_paths *p)
{
    for (size_t i = 0; i < ARRAY_LEN(secrets); i++)
        sandbox_add_if_there(&p->hidden, s->home, secrets[i]);
    for (size_t i = 0; i < ARRAY_LEN(system_secrets); i++)
        sandbox_add_if_there(&p->hidden, "/", system_secrets[i] + 1);
}

/* Hides the user's data in both homes: settings with keys, and the conversations of all projects,
 * except this one's, which have long outputs of commands. */
static void add_private(struct sandbox *s, struct sandbox_paths *p)
{
    const char *const homes[] = {s->tenax_home, s->claude_home};

    for (size_t i = 0; i < ARRAY_LEN(homes); i++) {
        CLEANUP(mem_freep) char *projects = path_join(homes[i], "projects");
        CLEANUP(mem_freep) char *own = s->record ? path_join(projects, path_base(s->record)) : NULL;

        if (depth_in(&p->write, homes[i]) == strlen(homes[i]))
            continue; /* it is a working directory */
        for (size_t k = 0; k < ARRAY_LEN(of_homes); k++)
            sandbox_add_if_there(&p->hidden, homes[i], of_homes[k]);
        if (own && file_is_dir(own))
            strv_adds(&p->shown, own);
    }
}

/* Hides what tools must not read, unless the settings show it to commands, and makes read-only what
 * tools must not edit. */
static void add_denied(struct sandbox *s, const struct strv *dirs, struct sandbox_paths *p)
{
    CLEANUP(strv_release) struct strv found = STRV_INIT;

    if (!s->permit)
        return;
    p->is_partial = !denied_files_find(s->denied, s->permit, dirs, &found);
    for (size_t i = 0; i < found.len; i++) {
        if (!strv_has(&s->given.shown, str_of(found.ptr[i])))
            strv_adds(&p->hidden, found.ptr[i]);
    }
    p->is_partial = !sandbox_unedited_find(s, dirs, &p->denied) || p->is_partial;
    for (size_t i = 0; i < p->denied.len; i++) {
        if (strv_has(&s->given.write, str_of(p->denied.ptr[i])))
            continue;
        strv_adds(file_exists(p->denied.ptr[i]) ? &p->read_only : &p->absent, p->denied.ptr[i]);
    }
}

bool sandbox_unedited_find(struct sandbox *s, const struct strv *dirs, struct strv *ret)
{
    return !s->permit || denied_files_find(s->unedited, s->permit, dirs, ret);
}

/* A job may have chosen what .git names, so all other rules are applied first. */
static void add_repositories(struct sandbox *s, const struct strv *dirs, struct sandbox_paths *p)
{
    CLEANUP(sandbox_paths_release) struct sandbox_paths rules = {0};
    CLEANUP(strv_release) struct strv nested = STRV_INIT;

    strv_add_all(&rules.write, &p->write);
    strv_add_all(&rules.read_only, &p->read_only);
    strv_add_all(&rules.hidden, &p->hidden);
    strv_add_all(&rules.shown, &p->shown);
    add_targets(&rules.read_only);
    add_targets(&rules.hidden);
    for (size_t i = 0; i < dirs->len; i++)
        sandbox_add_repository(s, &rules, p, dirs->ptr[i]);
    sandbox_nested_find(s, dirs, &nested);
    for (size_t i = 0; i < nested.len; i++) {
        if (!strv_has(dirs, str_of(nested.ptr[i])))
            sandbox_keep_repository(s, &rules, p, nested.ptr[i]);
    }
}

bool sandbox_keeps(struct sandbox *s, const char *path)
{
    CLEANUP(sandbox_paths_release) struct sandbox_paths paths = {0};

    if (!s)
        return false;
    sandbox_paths_gather(s, /*temp=*/NULL, &paths);
    return sandbox_paths_keep(s, &paths, path, /*goes=*/false);
}

void sandbox_paths_gather(struct sandbox *s, const char *temp, struct sandbox_paths *ret)
{
    CLEANUP(strv_release) struct strv settings = STRV_INIT;
    CLEANUP(strv_release) struct strv dirs = STRV_INIT;

    workspace_dirs(s->workspace, &dirs);
    sandbox_settings_dirs(s, &settings, &ret->write);
    if (temp)
        strv_adds(&ret->write, temp);
    for (size_t i = 0; i < settings.len; i++)
        add_settings(s, ret, settings.ptr[i]);
    add_homes(s, ret);
    strv_add_all(&ret->read_only, &s->given.read_only);
    add_secrets(s, ret);
    add_private(s, ret);
    strv_add_all(&ret->hidden, &s->given.hidden);
    add_denied(s, &dirs, ret);
    strv_add_all(&ret->shown, &s->given.shown);
    strv_add_all(&ret->sockets, &s->given.sockets);
    add_repositories(s, &dirs, ret);
    add_homes(s, ret); /* including what a repository has opened */
}
