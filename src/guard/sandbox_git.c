/*
 * sandbox_git: which parts of a repository a job may write, so that no git outside of the sandbox
 * runs what the job has left there. What .git names is trusted only if a job cannot have chosen it.
 * Any thread.
 */
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "guard/git_config.h"
#include "guard/sandbox_state.h"

#define MAX_GITDIR_FILE 4096
#define MAX_CONFIG_FILE ((size_t)64 << 10)
#define MAX_GIT_PATHS 200 /* the kernel allows some hundreds in total */
#define MAX_MODULE_DEPTH 3

/* The target of a file "gitdir: PATH" or "commondir"; NULL if it is not one. */
static char *follow_file(const char *dir, const char *file, const char *prefix)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(MAX_GITDIR_FILE);
    CLEANUP(mem_freep) char *name = NULL;
    CLEANUP(mem_freep) char *joined = NULL;
    struct str rest;

    if (file_slurp(file, MAX_GITDIR_FILE, &text, /*err=*/NULL) < 0)
        return NULL;
    rest = str_trim(buf_str(&text));
    if (!str_starts(rest, str_of(prefix)))
        return NULL;
    rest = str_trim(str_from(rest, strlen(prefix)));
    if (!rest.len || memchr(rest.ptr, '\0', rest.len) || memchr(rest.ptr, '\n', rest.len))
        return NULL;
    name = mem_dup(rest.ptr, rest.len);
    joined = path_join(dir, name);
    return path_real(joined);
}

static bool is_git_dir(const char *dir)
{
    CLEANUP(mem_freep) char *head = path_join(dir, "HEAD");

    return file_exists(head);
}

/* Never overrides another rule: a deeper one would win. */
static void open_git_dir(const struct sandbox_paths *rules, struct sandbox_paths *p,
                         const char *dir)
{
    if (!sandbox_path_is_closed(rules, dir))
        strv_adds(&p->write, dir);
}

/* ---- git's configuration ---- */

/* Keeps a configuration file unchanged, or missing. */
static void keep_config(struct sandbox_paths *p, const char *path)
{
    strv_adds(file_exists(path) ? &p->read_only : &p->absent, path);
}

/* Included files are configuration, too: ".git/config" may include "../.gitconfig". */
static void keep_included(const struct sandbox *s, const struct sandbox_paths *rules,
                          struct sandbox_paths *p, const char *file)
{
    CLEANUP(git_config_release) struct git_config config = {0};

    git_config_add(&config, file, s->home);
    for (size_t i = 0; i < config.included.len && p->read_only.len < MAX_GIT_PATHS; i++) {
        const char *path = config.included.ptr[i];

        if (sandbox_is_written(&rules->write, path) && !sandbox_path_is_closed(rules, path) &&
            !strv_has(&p->read_only, str_of(path)))
            keep_config(p, path);
    }
}

/* In a writable git folder, protects what makes git run programs. */
static void keep_git_dir(const struct sandbox *s, const struct sandbox_paths *rules,
                         struct sandbox_paths *p, const char *dir, bool is_shared)
{
    CLEANUP(mem_freep) char *hooks = path_join(dir, "hooks/");
    CLEANUP(mem_freep) char *config = path_join(dir, "config");
    CLEANUP(mem_freep) char *more = path_join(dir, "config.worktree");

    keep_included(s, rules, p, config);
    keep_included(s, rules, p, more);
    if (sandbox_path_is_closed(rules, dir)) /* nothing can be created in it */
        return;
    if (!is_shared) /* otherwise those of the shared folder are used */
        strv_adds(&p->read_only, hooks);
    sandbox_add_if_there(&p->read_only, dir, "config");
    keep_config(p, more);
}

/* Submodules have git folders in there, at any depth; git examines them whenever it examines the
 * repository. */
static void keep_submodules(const struct sandbox *s, const struct sandbox_paths *rules,
                            struct sandbox_paths *p, const char *dir, int depth)
{
    DIR *d = opendir(dir);
    struct dirent *entry;

    if (!d)
        return;
    for (entry = readdir(d); entry && p->read_only.len < MAX_GIT_PATHS; entry = readdir(d)) {
        CLEANUP(mem_freep) char *path = NULL;
        CLEANUP(mem_freep) char *deeper = NULL;

        if (entry->d_name[0] == '.' || entry->d_type != DT_DIR)
            continue;
        path = path_join(dir, entry->d_name);
        if (is_git_dir(path)) {
            keep_git_dir(s, rules, p, path, /*is_shared=*/false);
            deeper = path_join(path, "modules");
        }
        if (depth)
            keep_submodules(s, rules, p, deeper ? deeper : path, depth - 1);
    }
    closedir(d);
}

/* Linked worktrees, this one or others: their files that tell git where the configuration is. */
static void keep_worktrees(struct sandbox_paths *p, const char *git_dir)
{
    CLEANUP(mem_freep) char *dir = path_join(git_dir, "worktrees");
    DIR *d = opendir(dir);
    struct dirent *entry;

    if (!d)
        return;
    for (entry = readdir(d); entry && p->read_only.len < MAX_GIT_PATHS; entry = readdir(d)) {
        CLEANUP(mem_freep) char *path = path_join(dir, entry->d_name);
        CLEANUP(mem_freep) char *config = path_join(path, "config.worktree");

        if (entry->d_name[0] == '.')
            continue;
        sandbox_add_if_there(&p->read_only, path, "commondir");
        if (!strv_has(&p->read_only, str_of(config)) && !strv_has(&p->absent, str_of(config)))
            keep_config(p, config);
    }
    closedir(d);
}

/* A file of this name would make git, or us, use configuration and hooks from elsewhere. Its
 * creation in a writable folder cannot be prevented, so it is removed afterwards (sandbox_sweep()).
 */
static void add_unwanted(struct sandbox *s, const char *dir, const char *name)
{
    CLEANUP(mem_freep) char *path = path_join(dir, name);

    lock_take(&s->lock);
    if (!file_exists(path) && !strv_has(&s->unwanted, str_of(path)))
        strv_adds(&s->unwanted, path);
    lock_give(&s->lock);
}

void sandbox_sweep(struct sandbox *s)
{
    lock_take(&s->lock);
    for (size_t i = 0; i < s->unwanted.len; i++)
        unlink(s->unwanted.ptr[i]); /* does not remove folders: a repository may be created */
    lock_give(&s->lock);
}

/* ---- ownership ---- */

static bool is_same(const char *path, const char *other)
{
    CLEANUP(mem_freep) char *real = path_real(other);

    return strcmp(path, real) == 0;
}

/* A git_config_fn. */
static void take_worktree(void *arg, const struct git_setting *setting)
{
    struct buf *name = arg;

    if (str_is(setting->section, "core") && str_is(setting->key, "worktree")) {
        buf_clear(name);
        buf_add(name, setting->value);
    }
}

/* Submodules have a core.worktree. */
static bool config_names(const char *git_dir, const char *checkout)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(MAX_CONFIG_FILE);
    CLEANUP(buf_release) struct buf name = BUF_INIT(MAX_CONFIG_FILE);
    CLEANUP(mem_freep) char *file = path_join(git_dir, "config");
    CLEANUP(mem_freep) char *path = NULL;

    if (file_slurp(file, MAX_CONFIG_FILE, &text, /*err=*/NULL) < 0)
        return false;
    git_config_each(buf_str(&text), take_worktree, &name);
    path = path_join(git_dir, buf_cstr(&name));
    return name.len && is_same(checkout, path);
}

/* A job may have created .git, as a file or a link, and can name any repository of the user. A
 * genuine repository names its checkout itself; that is not required if jobs cannot have written
 * .git. */
static bool is_meant(const struct sandbox_paths *rules, const char *checkout, const char *git_dir)
{
    CLEANUP(mem_freep) char *back_file = path_join(git_dir, "gitdir");
    CLEANUP(mem_freep) char *git = path_join(checkout, ".git");
    CLEANUP(mem_freep) char *back = NULL;

    if (strcmp(git, git_dir) == 0 || !sandbox_is_written(&rules->write, git))
        return true;
    back = follow_file(git_dir, back_file, "");
    return (back && is_same(back, git)) || config_names(git_dir, checkout);
}

/* The same for the folder that the git folder of a linked worktree shares with others. */
static bool is_common(const char *git_dir, const char *common)
{
    CLEANUP(mem_freep) char *trees = path_join(common, "worktrees/");

    return strncmp(git_dir, trees, strlen(trees)) == 0;
}

/* ---- everything ---- */

/* Adds the git folder of a checkout. An untrusted one is not made writable, but where jobs can
 * write anyway, what makes git run programs is protected. */
static void add_found(struct sandbox *s, const struct sandbox_paths *rules, struct sandbox_paths *p,
                      const char *own, bool is_opened)
{
    CLEANUP(mem_freep) char *common_file = path_join(own, "commondir");
    CLEANUP(mem_freep) char *common = follow_file(own, common_file, "");
    CLEANUP(mem_freep) char *modules = NULL;

    if (common && (!is_git_dir(common) ||
                   (!is_common(own, common) && !sandbox_is_written(&rules->write, common))))
        mem_freep(&common);
    if (is_opened)
        open_git_dir(rules, p, own);
    keep_git_dir(s, rules, p, own, /*is_shared=*/common);
    if (common && is_opened && is_common(own, common))
        open_git_dir(rules, p, common);
    if (common)
        keep_git_dir(s, rules, p, common, /*is_shared=*/false);
    add_unwanted(s, common ? common : own, "commondir");
    modules = path_join(common ? common : own, "modules");
    keep_submodules(s, rules, p, modules, MAX_MODULE_DEPTH);
    keep_worktrees(p, common ? common : own);
}

/* Prevents a repository with hooks from replacing a file or a link. */
static void keep_name(struct sandbox_paths *p, const char *git, bool leads_to_found)
{
    struct stat st;

    if (lstat(git, &st) < 0 || S_ISDIR(st.st_mode))
        return;
    if (S_ISLNK(st.st_mode) && leads_to_found) /* its target is not protected as a whole */
        strv_addf(&p->read_only, "%s/hooks/", git);
    else
        strv_adds(&p->read_only, git);
}

/* One value of core.hooksPath; husky's hooks are next to the folder that it names. */
static void keep_hooks_of(const struct sandbox *s, const struct sandbox_paths *rules,
                          struct sandbox_paths *p, const char *checkout, const char *value)
{
    bool is_home = strncmp(value, "~/", 2) == 0;
    CLEANUP(mem_freep)
    char *path = path_join(is_home ? s->home : checkout, value + (is_home ? 2 : 0));
    CLEANUP(mem_freep) char *real = path_real(path);

    if (strcmp(path_base(real), "_") == 0)
        *strrchr(real, '/') = '\0';
    if (strcmp(real, checkout) == 0 || !sandbox_is_written(&rules->write, real) ||
        sandbox_path_is_closed(rules, real) || strv_has(&p->read_only, str_of(real)))
        return;
    strv_adds(file_exists(real) ? &p->read_only : &p->absent, real);
}

/* Hooks elsewhere, set in the configuration of the machine or the user. */
static void keep_hooks(const struct sandbox *s, const struct sandbox_paths *rules,
                       struct sandbox_paths *p, const char *checkout, const char *git_dir)
{
    CLEANUP(mem_freep) char *common_file = path_join(git_dir, "commondir");
    CLEANUP(mem_freep) char *common = follow_file(git_dir, common_file, "");
    CLEANUP(git_config_release) struct git_config config = {0};
    const char *const folders[][2] = {{"/etc", "gitconfig"},
                                      {s->home, ".gitconfig"},
                                      {s->home, ".config/git/config"},
                                      {common ? common : git_dir, "config"},
                                      {git_dir, "config.worktree"}};

    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        CLEANUP(mem_freep) char *file = path_join(folders[i][0], folders[i][1]);

        git_config_add(&config, file, s->home);
    }
    for (size_t i = 0; i < config.hooks.len; i++)
        keep_hooks_of(s, rules, p, checkout, config.hooks.ptr[i]);
}

/* What an existing .git is or names. */
static void add_named(struct sandbox *s, const struct sandbox_paths *rules, struct sandbox_paths *p,
                      const char *checkout, const char *git)
{
    bool is_dir = file_is_dir(git);
    CLEANUP(mem_freep) char *own = is_dir ? path_real(git) : follow_file(checkout, git, "gitdir:");
    bool meant = own && is_git_dir(own) && is_meant(rules, checkout, own);
    bool found = meant || (own && is_git_dir(own) && sandbox_is_written(&rules->write, own));

    if (found) {
        add_found(s, rules, p, own, meant);
        keep_hooks(s, rules, p, checkout, own);
    }
    keep_name(p, git, is_dir && found && !sandbox_path_is_closed(rules, own));
}

/* Its .git may be far above; no file of that name may be created nearer. A linked worktree has a
 * private git folder and a shared one: commits write both. */
void sandbox_add_repository(struct sandbox *s, const struct sandbox_paths *rules,
                            struct sandbox_paths *p, const char *folder)
{
    CLEANUP(mem_freep) char *at = path_real(folder);

    for (;;) {
        CLEANUP(mem_freep) char *git = path_join(at, ".git");
        char *slash = strrchr(at, '/');

        if (file_exists(git)) {
            add_named(s, rules, p, at, git);
            return;
        }
        if (sandbox_is_written(&rules->write, at))
            add_unwanted(s, at, ".git");
        if (!slash || slash == at)
            return;
        *slash = '\0';
    }
}

void sandbox_keep_repository(struct sandbox *s, const struct sandbox_paths *rules,
                             struct sandbox_paths *p, const char *checkout)
{
    CLEANUP(mem_freep) char *git = path_join(checkout, ".git");
    struct stat st;

    if (lstat(git, &st) < 0 || !S_ISDIR(st.st_mode) || !is_git_dir(git))
        return;
    add_found(s, rules, p, git, /*is_opened=*/false);
    keep_hooks(s, rules, p, checkout, git);
}
