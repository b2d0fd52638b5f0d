/*
 * tree: a bare-bones repository written by hand, `git add`, `git write-tree`. Any thread.
 */
#include "goal/origin/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "goal/origin/git_state.h"

#define TREE_MS 120000
#define TREE_SMALL ((size_t)64 << 10)
#define TREE_MAX_LIST ((size_t)256 << 20)
#define TREE_MAX_ATTRIBUTES ((size_t)256 << 10)

static const char tree_config[] = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
                                  "\tattributesFile = /dev/null\n\texcludesFile = /dev/null\n"
                                  "\tautocrlf = false\n"
                                  "\tfileMode = true\n\tsymlinks = true\n\tignoreCase = false\n"
                                  "\tsparseCheckout = false\n\tuntrackedCache = false\n"
                                  "\tcompression = 1\n";
/* This file wins over all that lie in the work tree. */
static const char tree_attributes[] =
    "* -text !eol -filter -ident !working-tree-encoding diff -merge\n";

struct git tree_git(const struct tree *t, struct cancel *cancel)
{
    return (struct git){.dir = t->dir,
                        .environ = t->environ,
                        .git_dir = t->git_dir,
                        .work_tree = t->top,
                        .index = t->index,
                        .deadline_ms = git_now_ms() + TREE_MS,
                        .cancel = cancel};
}

/* ---- making it ---- */

static int put(const struct tree *t, const char *name, struct str text, struct err *err)
{
    CLEANUP(mem_freep) char *path = path_join(t->git_dir, name);

    return file_replace(path, text, 0600, err);
}

/* Files left out when the goal was set stay left out: later lines of these files do not count. */
static int find_excludes(const struct tree *t, const struct git_state *state, struct cancel *cancel,
                         char **ret, struct err *err)
{
    static const char *const args[] = {"config", "--path", "--get", "core.excludesFile", NULL};
    CLEANUP(buf_release) struct buf all = BUF_INIT(4 * GIT_STATE_MAX_FILE);
    CLEANUP(git_said_release) struct git_said said = {0};
    struct git user = {.dir = t->dir,
                       .environ = t->environ,
                       .deadline_ms = git_now_ms() + TREE_MS,
                       .cancel = cancel};

    if (git_run(&user, args, STR(""), TREE_SMALL, &said, err) < 0)
        return -1;
    if (said.code == 0 && said.out.len) {
        CLEANUP(buf_release) struct buf text = {0};
        CLEANUP(mem_freep) char *path = NULL;
        struct str name = str_trim(buf_str(&said.out));

        path = mem_dup(name.ptr, name.len);
        if (file_slurp(path, GIT_STATE_MAX_FILE, &text, NULL) == 0)
            buf_addf(&all, "%.*s\n", STR_ARG(buf_str(&text)));
    }
    VEC_EACH(&state->files, f) {
        if (str_ends(f->path, STR("/info/exclude")) ||
            (said.code != 0 && str_ends(f->path, STR("/git/ignore"))))
            buf_addf(&all, "%.*s\n", STR_ARG(f->content));
    }
    mem_freep(ret);
    *ret = mem_dup(buf_cstr(&all), all.len);
    return 0;
}

/* The configuration of how git reads the workspace. It is written anew before each use, so that
 * changes by others do not count. */
static int put_rules(const struct tree *t, struct err *err)
{
    if (put(t, "config", str_of(tree_config), err) < 0 ||
        put(t, "info/attributes", str_of(tree_attributes), err) < 0)
        return -1;
    return put(t, "info/exclude", str_of(t->excludes ? t->excludes : ""), err);
}

/* One folder of objects; false: a file could not be linked. */
static bool link_folder(const char *from, const char *to)
{
    DIR *dir = opendir(from);
    const struct dirent *e;
    bool linked = true;

    if (!dir || (mkdir(to, 0700) < 0 && errno != EEXIST)) {
        if (dir)
            closedir(dir);
        return false;
    }
    while (linked && (e = readdir(dir))) {
        CLEANUP(mem_freep) char *source = path_join(from, e->d_name);
        CLEANUP(mem_freep) char *target = path_join(to, e->d_name);

        if (e->d_name[0] != '.' && e->d_type == DT_REG)
            linked = link(source, target) == 0 || errno == EEXIST || errno == ENOENT;
    }
    closedir(dir);
    return linked;
}

static bool link_objects(const struct tree *t, const char *common_dir)
{
    CLEANUP(mem_freep) char *from = path_join(common_dir, "objects");
    CLEANUP(mem_freep) char *to = path_join(t->git_dir, "objects");
    DIR *dir = opendir(from);
    const struct dirent *e;
    bool linked = dir != NULL;

    while (linked && (e = readdir(dir))) {
        CLEANUP(mem_freep) char *source = path_join(from, e->d_name);
        CLEANUP(mem_freep) char *target = path_join(to, e->d_name);

        if (e->d_name[0] != '.' && strcmp(e->d_name, "info") != 0 && file_is_dir(source))
            linked = link_folder(source, target);
    }
    if (dir)
        closedir(dir);
    return linked;
}

/* Attributes by which the objects of the workspace's repository differ from its files. */
static bool has_filters(const struct tree *t, const struct git_state *state,
                        const struct inventory *files)
{
    static const char *const words[] = {"filter", "working-tree-encoding", "ident", "eol", "crlf"};

    for (size_t i = 0; i < files->entries.len + state->files.len; i++) {
        bool is_state = i >= files->entries.len;
        struct str path =
            is_state ? state->files.ptr[i - files->entries.len].path : files->entries.ptr[i].path;
        CLEANUP(buf_release) struct buf text = {0};
        CLEANUP(mem_freep) char *full = NULL;

        if (!str_ends(path, STR("attributes")))
            continue;
        full = is_state ? mem_dup(path.ptr, path.len) : path_join(t->dir, path.ptr);
        if (file_slurp(full, TREE_MAX_ATTRIBUTES, &text, NULL) < 0)
            continue;
        for (size_t j = 0; j < ARRAY_LEN(words); j++) {
            if (str_has(buf_str(&text), str_of(words[j])))
                return true;
        }
    }
    return false;
}

/* Its time goes with it: git takes a file as old as its index for one that may have changed, and
 * compares whole seconds only. */
int tree_copy_index(const char *from, const char *to, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    struct timespec times[2];
    struct stat st;

    if (stat(from, &st) < 0)
        return err_sys(err, ERR_IO, "cannot find '%s'", from);
    if (file_slurp(from, TREE_MAX_LIST, &text, err) < 0 ||
        file_replace(to, buf_str(&text), 0600, err) < 0)
        return -1;
    times[0] = st.st_atim;
    times[1] = st.st_mtim;
    if (utimensat(AT_FDCWD, to, times, 0) == 0)
        return 0;
    err_sys(err, ERR_IO, "cannot set the time of the copy of '%s'", from);
    (void)unlink(to);
    return -1;
}

/* The index that ours begins with: without it every file is read once. */
static void borrow_index(const struct tree *t, const struct git_state *state,
                         const struct inventory *files)
{
    CLEANUP(mem_freep) char *to = path_join(t->git_dir, "index");
    CLEANUP(mem_freep) char *from = NULL, *alternates = NULL;

    if (!state->has_git || state->marked.len || has_filters(t, state, files))
        return;
    from = path_join(state->git_dir.ptr, "index");
    alternates = path_join(state->common_dir.ptr, "objects/info/alternates");
    if (!file_exists(from) || file_exists(alternates) || !link_objects(t, state->common_dir.ptr))
        return;
    (void)tree_copy_index(from, to, /*err=*/NULL);
}

int tree_make(const char *git_dir, struct err *err)
{
    static const char *const folders[] = {"objects/pack", "objects/info", "refs/heads", "info"};
    struct tree t = {.git_dir = git_dir};

    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        CLEANUP(mem_freep) char *path = path_join(git_dir, folders[i]);

        if (file_mkdirs(path, 0700, err) < 0)
            return -1;
    }
    if (put(&t, "HEAD", STR("ref: refs/heads/none\n"), err) < 0)
        return -1;
    return put_rules(&t, err);
}

int tree_init(const struct tree *t, const struct git_state *state, const struct inventory *files,
              struct cancel *cancel, char **ret_excludes, struct err *err)
{
    if (tree_make(t->git_dir, err) < 0 || find_excludes(t, state, cancel, ret_excludes, err) < 0)
        return -1;
    borrow_index(t, state, files);
    return 0;
}

/* ---- using it ---- */

static int add_all(const struct tree *t, const struct git *git, struct err *err)
{
    const char *args[] = {"add", "-A", "--ignore-errors", "--", ".", NULL, NULL, NULL};
    const char *const left_out[] = {t->spare, t->skip};
    CLEANUP(strv_release) struct strv specs = STRV_INIT;

    for (size_t i = 0; i < ARRAY_LEN(left_out); i++) {
        if (left_out[i])
            strv_addf(&specs, ":(exclude,literal)%s", left_out[i]);
    }
    for (size_t i = 0; i < specs.len; i++)
        args[5 + i] = specs.ptr[i];
    return git_add(git, args, err);
}

static int add_more(const struct git *git, const struct strv *more, struct err *err)
{
    static const char *const args[] = {
        "add", "-f", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul", NULL};
    CLEANUP(buf_release) struct buf paths = BUF_INIT(TREE_MAX_LIST);
    CLEANUP(git_said_release) struct git_said said = {0};

    for (size_t i = 0; more && i < more->len; i++) {
        buf_addf(&paths, ":(literal)%s", more->ptr[i]);
        buf_addc(&paths, '\0');
    }
    return paths.len ? git_run(git, args, buf_str(&paths), TREE_SMALL, &said, err) : 0;
}

static int take_once(const struct tree *t, const struct strv *more, struct cancel *cancel,
                     char ret_id[static GIT_ID], struct err *err)
{
    static const char *const write_tree[] = {"write-tree", NULL};
    struct git git = tree_git(t, cancel);

    if (add_all(t, &git, err) < 0 || add_more(&git, more, err) < 0)
        return -1;
    return git_ask_hash(&git, write_tree, STR(""), ret_id, err);
}

int tree_take(const struct tree *t, const struct strv *more, struct cancel *cancel,
              char ret_id[static GIT_ID], struct err *err)
{
    CLEANUP(mem_freep)
    char *index = t->index ? mem_dup(t->index, strlen(t->index)) : path_join(t->git_dir, "index");
    CLEANUP(buf_release) struct buf lock = BUF_INIT(BUF_NO_LIMIT);
    struct err why = {0};

    buf_addf(&lock, "%s.lock", index);
    (void)unlink(buf_cstr(&lock)); /* of a process that was killed: one verdict runs at a time */
    if (put_rules(t, err) < 0)
        return -1;
    if (take_once(t, more, cancel, ret_id, &why) == 0)
        return 0;
    if (why.code == ERR_CANCELLED || why.code == ERR_TIMEOUT || why.code == ERR_UNSUPPORTED ||
        unlink(index) < 0) {
        if (err)
            *err = why;
        return -1;
    }
    return take_once(t, more, cancel, ret_id, err); /* the index was of no use: read every file */
}

int tree_forget(const struct tree *t, const inventory_change_vec *changes, struct cancel *cancel,
                struct err *err)
{
    static const char *const args[] = {"update-index", "--force-remove", "-z", "--stdin", NULL};
    CLEANUP(buf_release) struct buf paths = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf out = {0};
    struct git git = tree_git(t, cancel);

    for (size_t i = 0; changes && i < changes->len; i++) {
        const struct inventory_change *c = &changes->ptr[i];

        if (c->was && c->is && (c->is->flags & INVENTORY_TREE) &&
            !(c->is->flags & INVENTORY_NESTED)) {
            buf_add(&paths, c->is->path);
            buf_addc(&paths, '\0');
        }
    }
    return paths.len ? git_ask(&git, args, buf_str(&paths), TREE_SMALL, &out, err) : 0;
}

int tree_ignored(const struct tree *t, struct str paths, struct cancel *cancel, struct buf *ret,
                 struct err *err)
{
    static const char *const args[] = {"check-ignore", "--no-index", "--stdin", "-z", NULL};
    CLEANUP(git_said_release) struct git_said said = {0};
    struct git git = tree_git(t, cancel);

    if (!paths.len)
        return 0;
    if (put_rules(t, err) < 0 || git_run(&git, args, paths, TREE_MAX_LIST, &said, err) < 0)
        return -1;
    if (said.code > 1)
        return git_failed(&said, "check-ignore", err);
    buf_move(ret, &said.out);
    return 0;
}

int tree_list(const struct tree *t, struct cancel *cancel, struct buf *ret, struct err *err)
{
    static const char *const args[] = {"ls-files", "-z", NULL};
    struct git git = tree_git(t, cancel);

    return git_ask(&git, args, STR(""), TREE_MAX_LIST, ret, err);
}
