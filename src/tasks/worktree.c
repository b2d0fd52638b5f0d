/*
 * worktree: git, asked a few short things, without hooks and without the caller's GIT_ variables.
 * Worktrees of this process are made one at a time: git's own locks fail rather than wait.
 */
#include "tasks/worktree.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "proc/proc.h"
#include "sync/cancel.h"
#include "sync/thread.h"

#define GIT_MS 120000
#define GIT_MAX_OUTPUT ((size_t)4 << 20)
#define GIT_MAX_ARGS 24
#define TREES ".tenax/worktrees"

static struct gate one_at_a_time = GATE_INIT;
static bool is_busy;

static int enter(struct cancel *cancel, struct err *err)
{
    gate_take(&one_at_a_time);
    while (is_busy && !cancel_is_set(cancel))
        gate_wait(&one_at_a_time, /*deadline_ms=*/-1);
    if (!is_busy)
        is_busy = true;
    else
        err_set(err, ERR_CANCELLED, "interrupted");
    gate_give(&one_at_a_time);
    return cancel_is_set(cancel) && err && err->code == ERR_CANCELLED ? -1 : 0;
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
        .by_person = true, /* not a command of the model's */
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
    static const char *const status[] = {"status", "--porcelain", "-uall", NULL};
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf base = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf dirty = BUF_INIT(GIT_MAX_OUTPUT);

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
    if (git(dir, variables, status, cancel, &dirty, err) < 0)
        return -1;
    ret->root = arena_cstr(arena, buf_str(&path));
    ret->base = arena_cstr(arena, buf_str(&base));
    ret->left_out = count_lines(buf_str(&dirty));
    return 0;
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

int worktree_make(const char *dir, char *const *variables, const char *id, struct arena *arena,
                  struct cancel *cancel, struct worktree *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf branch = BUF_INIT(BUF_NO_LIMIT);
    struct worktree t = {0};
    struct err busy = {0};
    int rc;

    if (enter(cancel, &busy) < 0)
        return err_set(err, ERR_CANCELLED, "interrupted");
    rc = find_root(dir, variables, arena, cancel, &t, err);
    if (rc == 0)
        rc = make_folder(t.root, err);
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

            rc = git(t.root, variables, add, cancel, /*ret=*/NULL, err);
            if (rc == 0 || attempt == 9 || !err || !strstr(err->text, "already exists"))
                break;
            rc = 0;
        }
    }
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
    static const char *const status[] = {"status", "--porcelain", "-uall", NULL};
    static const char *const head[] = {"rev-parse", "HEAD", NULL};
    const char *const remove[] = {"worktree", "remove", "--force", t->path, NULL};
    const char *const branch[] = {"branch", "--quiet", "-D", t->branch, NULL};
    CLEANUP(buf_release) struct buf dirty = BUF_INIT(GIT_MAX_OUTPUT);
    CLEANUP(buf_release) struct buf now = BUF_INIT(1000);
    bool is_kept;

    if (!t->path)
        return false;
    (void)enter(/*cancel=*/NULL, /*err=*/NULL);
    is_kept = git(t->path, variables, status, NULL, &dirty, NULL) < 0 || dirty.len ||
              git(t->path, variables, head, NULL, &now, NULL) < 0 ||
              !str_is(buf_str(&now), t->base) ||
              git(t->root, variables, remove, NULL, NULL, NULL) < 0;
    if (!is_kept)
        (void)git(t->root, variables, branch, NULL, NULL, NULL);
    leave();
    return is_kept;
}
