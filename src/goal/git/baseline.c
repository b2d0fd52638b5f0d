/*
 * baseline: what can be made of a work tree in an index of our own (staging.h): a tree, a commit
 * under a ref, the way back. Any thread; waits for git.
 */
#include "goal/git/baseline.h"

#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "goal/git/git.h"
#include "goal/git/staging.h"

#define BASELINE_MAX_MESSAGE ((size_t)64 << 10) /* of a commit */
#define BASELINE_SHOWN 3                        /* files named when some could not be put back */

/* ---- checks of what comes in ---- */

static bool is_plain_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!str_is_alnum(name.ptr[i]) && name.ptr[i] != '-' && name.ptr[i] != '_')
            return false;
    }
    return name.len && name.len <= 64 && name.ptr[0] != '-';
}

static int check_names(const struct baseline *b, const char *name, struct err *err)
{
    if (!is_plain_name(str_of(b->session)) || (name && !is_plain_name(str_of(name))))
        return err_set(err, ERR_BAD_INPUT, "'%s/%s' is no name for a state", b->session,
                       name ? name : "");
    return 0;
}

int baseline_check_commit(const char *commit, struct err *err)
{
    if (!git_is_hash(str_of(commit)))
        return err_set(err, ERR_BAD_INPUT, "'%s' is no commit", commit);
    return 0;
}

/* ---- states that are kept ---- */

/* Where a ref or a name leads, "" when nowhere. */
static int look_up(const struct git *g, const char *name, char ret[GIT_ID], struct err *err)
{
    const char *const args[] = {"rev-parse", "--quiet", "--verify", name, NULL};
    CLEANUP(git_said_release) struct git_said said = {0};
    struct str line;

    if (git_run(g, args, STR(""), STAGING_SMALL, &said, err) < 0)
        return -1;
    line = str_trim(buf_str(&said.out));
    ret[0] = '\0';
    if (said.code == 0 && git_is_hash(line)) {
        memcpy(ret, line.ptr, line.len);
        ret[line.len] = '\0';
    }
    return 0;
}

/* The state before is the parent, so that one can bisect; of the first it is HEAD. */
static int find_parent(const struct git *g, const char *session, char ret[GIT_ID], struct err *err)
{
    char last[200];

    snprintf(last, sizeof(last), "refs/tenax/%s/last^{commit}", session);
    if (look_up(g, last, ret, err) < 0)
        return -1;
    return ret[0] ? 0 : look_up(g, "HEAD^{commit}", ret, err);
}

static int set_refs(const struct git *g, const struct baseline *b, const char *name,
                    const char *commit, struct err *err)
{
    static const char *const args[] = {"update-ref", "--stdin", NULL};
    CLEANUP(buf_release) struct buf orders = BUF_INIT(STAGING_SMALL);
    CLEANUP(buf_release) struct buf out = {0};

    buf_addf(&orders, "update refs/tenax/%s/%s %s\n", b->session, name, commit);
    buf_addf(&orders, "update refs/tenax/%s/last %s\n", b->session, commit);
    return git_ask(g, args, buf_str(&orders), STAGING_SMALL, &out, err);
}

static int keep_at(const struct baseline *b, const char *name, struct str message,
                   int64_t deadline_ms, struct cancel *cancel, char ret_commit[GIT_ID],
                   char ret_tree[GIT_ID], struct err *err)
{
    struct git git = staging_git(b, deadline_ms, cancel);
    char parent[GIT_ID];
    const char *args[] = {"commit-tree", ret_tree, "-p", parent, NULL};

    if (staging_tree(b, deadline_ms, cancel, ret_tree, err) < 0 ||
        find_parent(&git, b->session, parent, err) < 0)
        return -1;
    if (!parent[0])
        args[2] = NULL;
    if (git_ask_hash(&git, args, str_clip(message, BASELINE_MAX_MESSAGE), ret_commit, err) < 0)
        return -1;
    return set_refs(&git, b, name, ret_commit, err);
}

int baseline_keep(const struct baseline *b, const char *name, struct str message,
                  struct cancel *cancel, char ret_commit[GIT_ID], char ret_tree[GIT_ID],
                  struct err *err)
{
    char commit[GIT_ID];
    char tree[GIT_ID];

    if (check_names(b, name, err) < 0 ||
        keep_at(b, name, message, git_now_ms() + BASELINE_TIMEOUT_MS, cancel, commit, tree, err) <
            0)
        return -1;
    memcpy(ret_commit, commit, GIT_ID);
    if (ret_tree)
        memcpy(ret_tree, tree, GIT_ID);
    return 0;
}

/* "<kind>-<n>", the first number that no ref has had yet. */
static int next_name(const struct git *g, const char *session, const char *kind, char *ret,
                     size_t size, struct err *err)
{
    char pattern[200];
    const char *const args[] = {"for-each-ref", "--format=%(refname)", pattern, NULL};
    CLEANUP(buf_release) struct buf out = {0};
    struct str rest;
    struct str line;
    int64_t most = 0;

    snprintf(pattern, sizeof(pattern), "refs/tenax/%s/", session);
    if (git_ask(g, args, STR(""), STAGING_MAX_LIST, &out, err) < 0)
        return -1;
    rest = buf_str(&out);
    while (rest.len && str_cut(&rest, '\n', &line)) {
        struct str name = str_from(line, strlen(pattern));
        struct str before;
        int64_t n;

        if (str_cut(&name, '-', &before) && str_is(before, kind) &&
            str_to_i64(name, &n, NULL) == 0 && n > most && n < INT64_MAX)
            most = n;
    }
    snprintf(ret, size, "%s-%" PRId64, kind, most + 1);
    return 0;
}

int baseline_keep_next(const struct baseline *b, const char *kind, struct str message,
                       struct cancel *cancel, char ret_commit[GIT_ID], char ret_ref[BASELINE_REF],
                       struct err *err)
{
    struct git git = staging_git(b, git_now_ms() + BASELINE_TIMEOUT_MS, cancel);
    char name[40];

    if (check_names(b, kind, err) < 0 ||
        next_name(&git, b->session, kind, name, sizeof(name), err) < 0)
        return -1;
    if (baseline_keep(b, name, message, cancel, ret_commit, /*ret_tree=*/NULL, err) < 0)
        return -1;
    snprintf(ret_ref, BASELINE_REF, "refs/tenax/%s/%s", b->session, name);
    return 0;
}

/* ---- the way back ---- */

/* Files that come back, and the folders they need. */
struct way {
    struct map files;   /* to themselves */
    struct map folders; /* to the first file that needs them */
};

static void way_release(struct way *w)
{
    map_release(&w->files);
    map_release(&w->folders);
}

static int way_read(const struct git *g, const char *from, const char *to, struct way *ret,
                    struct buf *ret_paths, struct err *err)
{
    const char *const args[] = {"diff-tree",    "-r", "-z", "--name-only", "--diff-filter=A",
                                "--no-renames", from, to,   NULL};
    struct str rest;
    struct str path;

    if (git_ask(g, args, STR(""), STAGING_MAX_LIST, ret_paths, err) < 0)
        return -1;
    rest = buf_str(ret_paths);
    while (rest.len && str_cut(&rest, '\0', &path)) {
        if (!path.len)
            continue;
        map_set(&ret->files, path, (void *)path.ptr); /* a NUL follows each */
        for (size_t i = 0; i < path.len; i++) {
            if (path.ptr[i] == '/' && !map_has(&ret->folders, str_first(path, i)))
                map_set(&ret->folders, str_first(path, i), (void *)path.ptr);
        }
    }
    return 0;
}

/* The file that cannot come back because of this one, or NULL. */
static const char *way_is_blocked(const struct way *w, struct str untracked)
{
    const char *blocked = map_get(&w->files, untracked);

    if (!blocked)
        blocked = map_get(&w->folders, untracked);
    for (size_t i = 0; !blocked && i < untracked.len; i++) {
        if (untracked.ptr[i] == '/')
            blocked = map_get(&w->files, str_first(untracked, i));
    }
    return blocked;
}

/* git read-tree would take files that are ignored for worthless, and write over them. */
static int check_way(const struct git *g, const char *from, const char *to, struct err *err)
{
    static const char *const args[] = {"ls-files", "-z", "--others", NULL};
    CLEANUP(way_release) struct way way = {0};
    CLEANUP(buf_release) struct buf paths = {0};
    CLEANUP(buf_release) struct buf out = {0};
    struct str rest;
    struct str path;

    if (way_read(g, from, to, &way, &paths, err) < 0)
        return -1;
    if (!way.files.len)
        return 0;
    if (git_ask(g, args, STR(""), STAGING_MAX_LIST, &out, err) < 0)
        return -1;
    rest = buf_str(&out);
    while (rest.len && str_cut(&rest, '\0', &path)) {
        const char *blocked;

        if (str_ends(path, STR("/"))) /* a repository inside */
            path.len--;
        blocked = path.len ? way_is_blocked(&way, path) : NULL;
        if (blocked)
            return err_set(err, ERR_IO, "'%.*s' is in the way of '%s' and ignored by git: move it",
                           STR_ARG(path), blocked);
    }
    return 0;
}

/* The index and the work tree from one tree to another. Refuses to lose what it does not know. */
static int go_back(const struct baseline *b, const struct git *git, const char *from,
                   const char *to, struct err *err)
{
    const char *const args[] = {"read-tree", "-m", "-u", from, to, NULL};
    CLEANUP(staging_release) struct staging s = {.git = *git};
    CLEANUP(buf_release) struct buf out = {0};
    CLEANUP(buf_release) struct buf top = {0};

    if (staging_open(&s, b, /*fresh=*/false, err) < 0 ||
        staging_ask_path(git, "--show-toplevel", NULL, &top, err) < 0)
        return -1;
    s.git.dir = buf_cstr(&top); /* the given folder may be one that goes away */
    if (check_way(&s.git, from, to, err) < 0 ||
        git_ask(&s.git, args, STR(""), STAGING_SMALL, &out, err) < 0)
        return -1;
    return staging_keep(&s, err);
}

/* Git does not always say when it could not remove or write a file. */
static int check_back(const struct baseline *b, const struct git *git, const char *commit,
                      const char *kept, struct err *err)
{
    char tree[GIT_ID];
    const char *const args[] = {"diff-tree", "-r", "-z", "--name-only", commit, tree, NULL};
    CLEANUP(buf_release) struct buf out = {0};
    CLEANUP(buf_release) struct buf names = BUF_INIT(300);
    struct str rest;
    struct str path;
    size_t count = 0;

    if (staging_tree(b, git->deadline_ms, git->cancel, tree, err) < 0 ||
        git_ask(git, args, STR(""), STAGING_MAX_LIST, &out, err) < 0)
        return -1;
    rest = buf_str(&out);
    while (rest.len && str_cut(&rest, '\0', &path)) {
        if (path.len && count++ < BASELINE_SHOWN)
            buf_addf(&names, "%s%.*s", names.len ? ", " : "", STR_ARG(path));
    }
    if (!count)
        return 0;
    return err_set(err, ERR_IO, "%zu file%s could not be put back (%s%s); the state before is %s",
                   count, count == 1 ? "" : "s", buf_cstr(&names),
                   count > BASELINE_SHOWN ? ", …" : "", kept);
}

static int count_changes(const struct git *git, const char *from, const char *to,
                         struct baseline_undone *u, struct err *err)
{
    const char *const args[] = {"diff-tree",    "-r", "-z", "--name-status",
                                "--no-renames", from, to,   NULL};
    CLEANUP(buf_release) struct buf out = {0};
    struct str rest;
    struct str status;
    struct str path;

    if (git_ask(git, args, STR(""), STAGING_MAX_LIST, &out, err) < 0)
        return -1;
    rest = buf_str(&out);
    while (rest.len && str_cut(&rest, '\0', &status) && str_cut(&rest, '\0', &path)) {
        if (str_is(status, "D"))
            u->removed++;
        else
            u->restored++;
    }
    return 0;
}

int baseline_undo(const struct baseline *b, const char *commit, struct cancel *cancel,
                  struct baseline_undone *ret, struct err *err)
{
    struct git git = staging_git(b, git_now_ms() + BASELINE_TIMEOUT_MS, cancel);
    struct baseline_undone u = {0};
    char tree[GIT_ID];
    char name[40];

    if (check_names(b, NULL, err) < 0 || baseline_check_commit(commit, err) < 0 ||
        next_name(&git, b->session, "undo", name, sizeof(name), err) < 0 ||
        keep_at(b, name, STR("before an undo\n"), git.deadline_ms, cancel, u.kept, tree, err) < 0 ||
        count_changes(&git, tree, commit, &u, err) < 0)
        return -1;
    snprintf(u.ref, sizeof(u.ref), "refs/tenax/%s/%s", b->session, name);
    if (go_back(b, &git, tree, commit, err) < 0 || check_back(b, &git, commit, u.ref, err) < 0)
        return -1;
    *ret = u;
    return 0;
}
