/*
 * worktree: git, asked a few short things, without hooks and without the caller's GIT_ variables.
 * Worktrees of this process are made one at a time: git's own locks fail rather than wait. If this
 * process dies, git runs to its end: if it is killed while it deletes a branch, it leaves
 * packed-refs.lock or packed-refs.new behind, and no branch of the repository can be deleted until
 * the user removes that file.
 */
#include "tasks/worktree.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "proc/proc.h"
#include "proc/tree.h"
#include "sync/cancel.h"
#include "sync/thread.h"

#define GIT_MS 120000
#define GIT_MAX_OUTPUT ((size_t)4 << 20)
#define GIT_MAX_ARGS 24
#define SUBMODULES_MAX 2000 /* bytes of the list of their folders */
#define GIT_ENDS_MS 60000   /* in which a git of a process that died has surely ended */
#define TREES ".tenax/worktrees"
#define OWNER ".owner" /* <tree>.owner: "PID START BASE BRANCH", while its agent works */

static struct gate one_at_a_time = GATE_INIT;
static bool is_busy;

static void poke(void *arg)
{
    (void)arg;
    gate_take(&one_at_a_time);
    gate_wake(&one_at_a_time);
    gate_give(&one_at_a_time);
}

static int enter(struct cancel *cancel, struct err *err)
{
    struct cancel_hook *hook = cancel ? cancel_on(cancel, poke, /*arg=*/NULL) : NULL;
    bool has;

    gate_take(&one_at_a_time);
    while (is_busy && !cancel_is_set(cancel))
        gate_wait(&one_at_a_time, /*deadline_ms=*/-1);
    has = !is_busy;
    is_busy = true;
    gate_give(&one_at_a_time);
    cancel_off(hook);
    return has ? 0 : err_set(err, ERR_CANCELLED, "interrupted");
}

static void leave(void)
{
    gate_take(&one_at_a_time);
    is_busy = false;
    gate_wake(&one_at_a_time);
    gate_give(&one_at_a_time);
}

/* args: up to NULL. 0: it ended with 0, and *ret has what it said. */
static int git(const char *dir, char *const *variables, const char *const *args,
               struct cancel *cancel, struct buf *ret, struct err *err)
{
    static const char *const settings[] = {
        "git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0"};
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    const char *argv[GIT_MAX_ARGS];
    struct proc_spec spec = {
        .argv = argv,
        .dir = dir,
        .timeout_ms = GIT_MS,
        .max_output = GIT_MAX_OUTPUT,
        .by_user = true, /* not a command of the model's */
        .finishes = true,
    };
    struct proc_result r;
    size_t n = 0;
    int rc = 0;

    for (; n < ARRAY_LEN(settings); n++)
        argv[n] = settings[n];
    for (; *args; args++)
        argv[n++] = *args;
    argv[n] = NULL;
    for (; variables && *variables; variables++) {
        if (!str_starts(str_of(*variables), STR("GIT_")))
            strv_adds(&env, *variables);
    }
    strv_adds(&env, "LC_ALL=C");
    strv_adds(&env, "GIT_OPTIONAL_LOCKS=0");
    spec.envp = (const char *const *)strv_get(&env);
    if (proc_run(&spec, cancel, &r, err) < 0)
        return -1;
    if (r.how != PROC_EXITED || r.code) {
        struct str said = str_trim(buf_str(&r.err));

        rc = err_set(err, ERR_UNSUPPORTED, "git %s: %.*s", argv[ARRAY_LEN(settings)],
                     STR_ARG(str_clip(said.len ? said : STR("failed"), 300)));
    } else if (ret) {
        buf_add(ret, str_trim(buf_str(&r.out)));
    }
    proc_result_release(&r);
    return rc;
}

static size_t count_lines(struct str text)
{
    size_t n = 0;
    struct str line;

    while (text.len && str_cut(&text, '\n', &line))
        n++;
    return n;
}

/* The main checkout's folder, also from within a worktree. */
static int find_root(const char *dir, char *const *variables, struct arena *arena,
                     struct cancel *cancel, struct worktree *ret, struct err *err)
{
    static const char *const common[] = {"rev-parse", "--path-format=absolute", "--git-common-dir",
                                         NULL};
    static const char *const top[] = {"rev-parse", "--show-toplevel", NULL};
    static const char *const head[] = {"rev-parse", "--verify", "--quiet", "HEAD^{commit}", NULL};
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf base = BUF_INIT(BUF_NO_LIMIT);

    if (git(dir, variables, common, cancel, &path, err) < 0)
        return err_prefix(err, "isolation needs a git repository");
    if (strcmp(path_base(buf_cstr(&path)), ".git") == 0) {
        buf_cut(&path, path.len - 5, 5);
    } else {
        buf_clear(&path);
        if (git(dir, variables, top, cancel, &path, err) < 0)
            return err_prefix(err, "isolation needs a checkout");
    }
    if (git(dir, variables, head, cancel, &base, /*err=*/NULL) < 0)
        return err_set(err, ERR_UNSUPPORTED, "isolation needs a commit: the repository has none");
    ret->root = arena_cstr(arena, buf_str(&path));
    ret->base = arena_cstr(arena, buf_str(&base));
    return 0;
}

/* The default branch of the remote as it was last fetched. */
static void take_remote_base(const char *dir, char *const *variables, struct arena *arena,
                             struct cancel *cancel, struct worktree *ret)
{
    static const char *const remote[] = {"rev-parse", "--verify", "--quiet",
                                         "refs/remotes/origin/HEAD^{commit}", NULL};
    CLEANUP(buf_release) struct buf base = BUF_INIT(BUF_NO_LIMIT);

    if (git(dir, variables, remote, cancel, &base, /*err=*/NULL) == 0 && base.len)
        ret->base = arena_cstr(arena, buf_str(&base));
}

/* How many files of the caller's are in no commit, and so not in the worktree. */
static int count_left_out(const char *dir, char *const *variables, struct cancel *cancel,
                          struct worktree *ret, struct err *err)
{
    static const char *const status[] = {"status", "--porcelain", "-uall", NULL};
    CLEANUP(buf_release) struct buf dirty = BUF_INIT(GIT_MAX_OUTPUT);

    if (git(dir, variables, status, cancel, &dirty, err) < 0)
        return -1;
    ret->left_out = count_lines(buf_str(&dirty));
    return 0;
}

/* Git leaves their folders empty in a worktree. */
static void list_submodules(const char *path, char *const *variables, struct arena *arena,
                            struct cancel *cancel, struct worktree *ret)
{
    CLEANUP(mem_freep) char *file = path_join(path, ".gitmodules");
    const char *const paths[] = {"config", "--file", file, "--get-regexp", "\\.path$", NULL};
    CLEANUP(buf_release) struct buf said = BUF_INIT(GIT_MAX_OUTPUT);
    CLEANUP(buf_release) struct buf list = BUF_INIT(BUF_NO_LIMIT);
    struct str rest, line, key;

    if (!file_exists(file) || git(path, variables, paths, cancel, &said, /*err=*/NULL) < 0)
        return;
    rest = buf_str(&said);
    while (rest.len && str_cut(&rest, '\n', &line) && list.len < SUBMODULES_MAX) {
        (void)str_cut(&line, ' ', &key);
        buf_addf(&list, "%s%.*s", list.len ? ", " : "", STR_ARG(line));
    }
    if (list.len)
        ret->submodules = arena_cstr(arena, buf_str(&list));
}

/* Git does not see the folder that worktrees stand in. */
static int make_folder(const char *root, struct err *err)
{
    CLEANUP(mem_freep) char *folder = path_join(root, TREES);
    CLEANUP(mem_freep) char *ignore = path_join(folder, ".gitignore");

    if (file_mkdirs(folder, 0755, err) < 0)
        return -1;
    return file_exists(ignore) ? 0 : file_replace(ignore, STR("*\n"), 0644, err);
}

/* ---- Whose it is ---- */

static int owner_write(const char *path, const char *branch, const char *base, struct err *err)
{
    CLEANUP(buf_release) struct buf file = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf text = BUF_INIT(4000);
    struct tree_proc me = {0};

    (void)tree_look(getpid(), &me);
    buf_addf(&file, "%s" OWNER, path);
    buf_addf(&text, "%d %" PRIu64 " %s %s\n", (int)getpid(), me.start, base, branch);
    return file_renew(buf_cstr(&file), buf_str(&text), 0600, err);
}

static void owner_remove(const char *path)
{
    CLEANUP(buf_release) struct buf file = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&file, "%s" OWNER, path);
    (void)unlink(buf_cstr(&file));
}

static bool is_alive(struct str pid, struct str start)
{
    struct tree_proc p;
    int64_t n, began;

    return str_to_i64(pid, &n, /*err=*/NULL) == 0 && n > 0 &&
           str_to_i64(start, &began, /*err=*/NULL) == 0 && tree_look((pid_t)n, &p) &&
           tree_is_alive(&p) && p.start == (uint64_t)began;
}

/* It has its link to the repository; without that, git means the checkout around it. */
static bool is_linked(const struct worktree *t)
{
    CLEANUP(mem_freep) char *link = path_join(t->path, ".git");

    return file_exists(link);
}

/* Git was killed while it made it: the index comes last. */
static bool is_partial(const struct worktree *t, char *const *variables)
{
    static const char *const index[] = {"rev-parse", "--path-format=absolute", "--git-path",
                                        "index", NULL};
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    return is_linked(t) && git(t->path, variables, index, NULL, &path, NULL) == 0 &&
           str_has(buf_str(&path), STR("/worktrees/")) && !file_exists(buf_cstr(&path));
}

static bool is_filled(const char *folder, const char *name)
{
    CLEANUP(mem_freep) char *path = path_join(folder, name);
    struct stat st;

    return stat(path, &st) == 0 && st.st_size > 0;
}

static void remove_from(const char *folder, const char *name)
{
    CLEANUP(mem_freep) char *path = path_join(folder, name);

    (void)unlink(path);
}

/* Git locks a worktree while it makes it. One that was killed then would never go, and git fails in
 * all of the repository while a file of it is empty. */
static void clear_unfinished(const struct worktree *t, char *const *variables)
{
    static const char *const files[] = {"gitdir", "HEAD", "commondir", "index", "ORIG_HEAD"};
    CLEANUP(buf_release) struct buf name = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf admin = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf why = BUF_INIT(1000);
    CLEANUP(mem_freep) char *locked = NULL;
    bool is_whole = true;

    buf_addf(&name, "worktrees/%s", path_base(t->path));
    if (git(t->root, variables,
            (const char *const[]){"rev-parse", "--path-format=absolute", "--git-path",
                                  buf_cstr(&name), NULL},
            NULL, &admin, NULL) < 0)
        return;
    locked = path_join(buf_cstr(&admin), "locked");
    if (file_slurp(locked, 1000, &why, /*err=*/NULL) < 0)
        return;
    for (size_t i = 0; i < 3; i++)
        is_whole = is_whole && is_filled(buf_cstr(&admin), files[i]);
    if (!str_is(str_trim(buf_str(&why)), "initializing") && (is_whole || why.len))
        return; /* the user's lock */
    (void)unlink(locked);
    if (is_whole)
        return;
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        remove_from(buf_cstr(&admin), files[i]);
    (void)rmdir(buf_cstr(&admin));
    remove_from(t->path, ".git"); /* files of the project come later */
}

/* Without a commit and without a file that git does not know. */
static bool is_unchanged(const struct worktree *t, const char *const *tip, char *const *variables)
{
    static const char *const status[] = {"status", "--porcelain", "-uall", NULL};
    static const char *const head[] = {"rev-parse", "HEAD", NULL};
    CLEANUP(buf_release) struct buf dirty = BUF_INIT(GIT_MAX_OUTPUT);
    CLEANUP(buf_release) struct buf now = BUF_INIT(1000);

    if (git(t->path, variables, status, NULL, &dirty, NULL) < 0 || dirty.len)
        return false;
    if (git(t->path, variables, head, NULL, &now, NULL) == 0)
        return str_is(buf_str(&now), t->base);
    /* Its branch was deleted while a git of a process that died still made it. */
    return git(t->root, variables, tip, NULL, NULL, NULL) < 0;
}

/* True: it is kept. One git at a time. */
static bool end_now(const struct worktree *t, char *const *variables)
{
    static const char *const prune[] = {"worktree", "prune", NULL};
    const char *const remove[] = {"worktree", "remove", "--force", t->path, NULL};
    const char *const tip[] = {"rev-parse", "--verify", "--quiet", t->branch, NULL};
    const char *const branch[] = {"branch", "--quiet", "-D", t->branch, NULL};
    CLEANUP(buf_release) struct buf now = BUF_INIT(1000);
    bool is_kept = false;

    clear_unfinished(t, variables);
    if (!is_linked(t)) {
        (void)rmdir(t->path);
        (void)git(t->root, variables, prune, NULL, NULL, NULL);
    } else if (is_partial(t, variables)) {
        is_kept = git(t->root, variables, remove, NULL, NULL, NULL) < 0;
    } else {
        is_kept = !is_unchanged(t, tip, variables) ||
                  git(t->root, variables, remove, NULL, NULL, NULL) < 0;
    }
    if (!is_kept && git(t->root, variables, tip, NULL, &now, NULL) == 0 &&
        str_is(buf_str(&now), t->base)) /* with commits it stays, and they can be found */
        (void)git(t->root, variables, branch, NULL, NULL, NULL);
    return is_kept;
}

/* Whether the git that makes or removes it may still run, though the process that started it has
 * died. */
static bool git_may_run(const char *owner)
{
    struct stat st;

    return stat(owner, &st) == 0 && clock_wall_ms() - (int64_t)st.st_mtime * 1000 < GIT_ENDS_MS;
}

static int is_owner(const struct dirent *e)
{
    return str_starts(str_of(e->d_name), STR("agent-")) && str_ends(str_of(e->d_name), STR(OWNER));
}

/* is_first: only what would make git fail for the others, too. */
static void sweep_one(const char *root, const char *folder, const char *name, bool is_first,
                      char *const *variables)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(mem_freep) char *file = path_join(folder, name);
    CLEANUP(buf_release) struct buf text = BUF_INIT(4000);
    struct worktree t = {.root = root};
    struct str part[4] = {{0}};
    struct str rest;
    bool may_change;

    if (file_slurp(file, 4000, &text, /*err=*/NULL) < 0)
        return;
    rest = str_trim(buf_str(&text));
    for (size_t i = 0; i < ARRAY_LEN(part); i++)
        (void)str_cut(&rest, ' ', &part[i]);
    if (!part[3].len || is_alive(part[0], part[1]))
        return;
    t.path = arena_cstr(&arena, str_first(str_of(file), strlen(file) - strlen(OWNER)));
    t.base = arena_cstr(&arena, part[2]);
    t.branch = arena_cstr(&arena, part[3]);
    if (!str_starts(part[3], STR("worktree-agent-")))
        return;
    if (is_first) {
        clear_unfinished(&t, variables);
        return;
    }
    may_change = git_may_run(file);
    (void)end_now(&t, variables);
    if (!may_change) /* else again the next time */
        owner_remove(t.path);
}

static void sweep(const char *root, char *const *variables)
{
    CLEANUP(mem_freep) char *folder = path_join(root, TREES);
    struct dirent **names = NULL;
    int n = scandir(folder, &names, is_owner, alphasort);

    for (int i = 0; i < n; i++)
        sweep_one(root, folder, names[i]->d_name, /*is_first=*/true, variables);
    for (int i = 0; i < n; i++) {
        sweep_one(root, folder, names[i]->d_name, /*is_first=*/false, variables);
        free(names[i]); /* scandir()'s own */
    }
    free(names); /* the same */
}

void worktree_sweep(const char *root, char *const *variables)
{
    (void)enter(/*cancel=*/NULL, /*err=*/NULL);
    sweep(root, variables);
    leave();
}

bool worktree_again(struct str path, struct str branch, struct str base, const char *id,
                    struct arena *arena, struct worktree *ret)
{
    CLEANUP(buf_release) struct buf middle = BUF_INIT(200);
    size_t at;

    buf_addf(&middle, "/" TREES "/agent-%s", id);
    at = str_find(path, buf_str(&middle));
    if (at >= path.len ||
        str_chr(str_from(path, at + middle.len), '/') < path.len - at - middle.len)
        return false;
    *ret = (struct worktree){
        .path = arena_cstr(arena, path),
        .branch = arena_cstr(arena, branch),
        .base = arena_cstr(arena, base),
        .root = arena_cstr(arena, str_first(path, at)),
    };
    if (!file_is_dir(ret->path)) {
        *ret = (struct worktree){0};
        return false;
    }
    (void)owner_write(ret->path, ret->branch, ret->base, /*err=*/NULL);
    return true;
}

/* ---- Made and ended ---- */

int worktree_make(const char *dir, struct str base, char *const *variables, const char *id,
                  struct arena *arena, struct cancel *cancel, struct worktree *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf branch = BUF_INIT(BUF_NO_LIMIT);
    struct worktree t = {0};
    bool is_taken = false;
    int rc;

    if (enter(cancel, err) < 0)
        return -1;
    rc = find_root(dir, variables, arena, cancel, &t, err);
    if (rc == 0 && str_is(base, "fresh"))
        take_remote_base(dir, variables, arena, cancel, &t);
    if (rc == 0)
        rc = make_folder(t.root, err);
    if (rc == 0) { /* git may fail until that is done */
        sweep(t.root, variables);
        rc = count_left_out(dir, variables, cancel, &t, err);
    }
    for (int attempt = 1; rc == 0; attempt++) { /* a name that is taken gets a number */
        buf_clear(&path);
        buf_clear(&branch);
        buf_addf(&path, "%s/" TREES "/agent-%s", t.root, id);
        buf_addf(&branch, "worktree-agent-%s", id);
        if (attempt > 1) {
            buf_addf(&path, "-%d", attempt);
            buf_addf(&branch, "-%d", attempt);
        }
        if (!file_exists(buf_cstr(&path))) {
            const char *const add[] = {"worktree",        "add",           "--quiet", "-b",
                                       buf_cstr(&branch), buf_cstr(&path), t.base,    NULL};

            rc = owner_write(buf_cstr(&path), buf_cstr(&branch), t.base, err);
            if (rc == 0)
                rc = git(t.root, variables, add, cancel, /*ret=*/NULL, err);
            is_taken = rc < 0 && err && strstr(err->text, "already exists");
            if (is_taken)
                owner_remove(buf_cstr(&path));
            if (!is_taken || attempt == 9)
                break;
            rc = 0;
        }
    }
    if (rc < 0 && path.len && !is_taken) { /* git has ended in the middle */
        t.path = buf_cstr(&path);
        t.branch = buf_cstr(&branch);
        (void)end_now(&t, variables);
        owner_remove(t.path);
    }
    if (rc == 0)
        list_submodules(buf_cstr(&path), variables, arena, cancel, &t);
    leave();
    if (rc < 0)
        return -1;
    t.path = arena_cstr(arena, buf_str(&path));
    t.branch = arena_cstr(arena, buf_str(&branch));
    *ret = t;
    return 0;
}

bool worktree_end(const struct worktree *t, char *const *variables)
{
    bool is_kept;

    if (!t->path)
        return false;
    (void)enter(/*cancel=*/NULL, /*err=*/NULL);
    (void)owner_write(t->path, t->branch, t->base, /*err=*/NULL); /* its time counts from now */
    is_kept = end_now(t, variables);
    owner_remove(t->path);
    leave();
    return is_kept;
}
