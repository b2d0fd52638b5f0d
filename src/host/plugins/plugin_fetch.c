/*
 * plugin_fetch: one walk over a folder, sorted by name, which checks, copies and hashes; and git in
 * three steps that run no hooks, ask nothing and follow no submodules.
 */
#include "host/plugins/plugin_fetch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "proc/proc.h"
#include "sync/cancel.h"

/* ---- Copying ---- */

struct fetch_walk {
    const char *root; /* links resolved */
    struct cancel *cancel;
    struct sha256 hash;
    int64_t bytes;
    int files;
};

static void walk_hash(struct fetch_walk *w, char kind, const char *name)
{
    sha256_add(&w->hash, str_make(&kind, 1));
    sha256_add(&w->hash, str_make(name, strlen(name) + 1));
}

static int walk_count(struct fetch_walk *w, int64_t bytes, struct err *err)
{
    w->bytes += bytes;
    if (++w->files > FETCH_MAX_FILES)
        return err_set(err, ERR_TOO_BIG, "there are more than %d files in %s", FETCH_MAX_FILES,
                       w->root);
    if (w->bytes > FETCH_MAX_BYTES)
        return err_set(err, ERR_TOO_BIG, "%s is larger than %d MB", w->root,
                       (int)(FETCH_MAX_BYTES >> 20));
    return cancel_check(w->cancel, err);
}

static int walk_file(struct fetch_walk *w, const char *from, const char *to, mode_t mode,
                     struct err *err)
{
    CLEANUP(fd_closep) int in = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    CLEANUP(fd_closep)
    int out =
        to ? open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode & 0111 ? 0755 : 0644) : -1;
    char block[16384];
    int64_t size = 0;
    ssize_t n;

    if (in < 0 || (to && out < 0))
        return err_sys(err, ERR_IO, "cannot copy '%s'", from);
    while ((n = read(in, block, sizeof(block))) != 0) {
        if (n < 0)
            return err_sys(err, ERR_IO, "cannot read '%s'", from);
        size += n;
        if (size > FETCH_MAX_BYTES)
            return err_set(err, ERR_TOO_BIG, "'%s' is too large", from);
        sha256_add(&w->hash, str_make(block, (size_t)n));
        if (to && fd_write_all(out, str_make(block, (size_t)n), err) < 0)
            return -1;
    }
    sha256_add(&w->hash, str_make((const char *)&size, sizeof(size)));
    return walk_count(w, size, err);
}

static int walk_link(struct fetch_walk *w, const char *from, const char *to, struct err *err)
{
    CLEANUP(mem_freep) char *real = path_real(from);
    size_t len = strlen(w->root);
    char target[4097];
    ssize_t n = readlink(from, target, sizeof(target) - 1);

    if (n < 0)
        return err_sys(err, ERR_IO, "cannot read the link '%s'", from);
    target[n] = '\0';
    if (target[0] == '/' || strncmp(real, w->root, len) != 0 || (real[len] && real[len] != '/'))
        return err_set(err, ERR_DENIED, "'%s' is a link that leads out of its folder", from);
    walk_hash(w, 'l', target);
    if (to && symlink(target, to) < 0)
        return err_sys(err, ERR_IO, "cannot make the link '%s'", to);
    return walk_count(w, 0, err);
}

static int is_entry(const struct dirent *e)
{
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
           strcmp(e->d_name, ".git") != 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int walk_folder(struct fetch_walk *w, const char *from, const char *to, int depth,
                       struct err *err);

static int walk_entry(struct fetch_walk *w, const char *from, const char *to, const char *name,
                      int depth, struct err *err)
{
    CLEANUP(mem_freep) char *source = path_join(from, name);
    CLEANUP(mem_freep) char *target = to ? path_join(to, name) : NULL;
    struct stat st;

    if (lstat(source, &st) < 0)
        return err_sys(err, ERR_IO, "cannot look at '%s'", source);
    walk_hash(w, S_ISDIR(st.st_mode) ? 'd' : st.st_mode & 0111 ? 'x' : 'f', name);
    if (S_ISLNK(st.st_mode))
        return walk_link(w, source, target, err);
    if (S_ISREG(st.st_mode))
        return walk_file(w, source, target, st.st_mode, err);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, ERR_BAD_INPUT, "'%s' is neither a file nor a folder", source);
    return walk_count(w, 0, err) < 0 ? -1 : walk_folder(w, source, target, depth + 1, err);
}

static int walk_folder(struct fetch_walk *w, const char *from, const char *to, int depth,
                       struct err *err)
{
    struct dirent **names = NULL;
    int rc = 0;
    int n;

    if (depth > FETCH_MAX_DEPTH)
        return err_set(err, ERR_TOO_BIG, "'%s' is deeper than %d folders", from, FETCH_MAX_DEPTH);
    if (to && mkdir(to, 0755) < 0)
        return err_sys(err, ERR_IO, "cannot make '%s'", to);
    n = scandir(from, &names, is_entry, by_bytes);
    if (n < 0)
        return err_sys(err, ERR_IO, "cannot read '%s'", from);
    for (int i = 0; i < n; i++) {
        if (rc == 0)
            rc = walk_entry(w, from, to, names[i]->d_name, depth, err);
        free(names[i]); /* allocated by scandir() */
    }
    free(names);
    walk_hash(w, 'e', "");
    return rc;
}

int fetch_copy(const char *from, const char *to, struct cancel *cancel, char ret[FETCH_HASH + 1],
               struct err *err)
{
    CLEANUP(mem_freep) char *real = path_real(from);
    struct fetch_walk w = {.root = real, .cancel = cancel};
    char hash[SHA256_HEX + 1];

    sha256_init(&w.hash);
    if (walk_folder(&w, real, to, 0, err) < 0)
        return -1;
    sha256_end(&w.hash, hash);
    snprintf(ret, FETCH_HASH + 1, "%.*s", FETCH_HASH, hash);
    return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    (void)remove(path);
    return 0;
}

void fetch_remove(const char *path)
{
    (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- Fetching ---- */

/* Whether a URL or ref has only allowed characters: no blanks, control characters or quotes. */
static bool is_plain(struct str s, const char *more)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!str_is_alnum(s.ptr[i]) && !strchr(more, s.ptr[i]))
            return false;
    }
    return s.len > 0 && s.len <= 2000 && s.ptr[0] != '-';
}

int fetch_check_url(struct str url, bool is_users, struct err *err)
{
    static const char *const schemes[] = {"https://", "http://", "ssh://", "git://"};
    size_t at = str_chr(url, '@');
    size_t colon = str_chr(url, ':');

    if (is_users && (str_starts(url, STR("/")) || str_starts(url, STR("file:///"))))
        return str_chr(url, '\0') < url.len
                   ? err_set(err, ERR_BAD_INPUT, "this is no path of a repository")
                   : 0;
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        struct str rest = str_from(url, strlen(schemes[i]));

        if (str_starts(url, str_of(schemes[i])) && rest.len && rest.ptr[0] != '-' &&
            is_plain(rest, "-._~:/?@!$&()*+,;=%[]"))
            return 0;
    }
    if (at < colon && colon + 1 < url.len && str_find(url, STR("::")) == url.len &&
        is_plain(url, "-._~:/@+"))
        return 0;
    return err_set(err, ERR_BAD_INPUT, "'%.*s' is no URL of a git repository%s",
                   STR_ARG(str_clip(url, 200)),
                   is_users ? "" : " that a marketplace may name (https, http, ssh, git)");
}

/* The user's environment, for their credentials, without what could ask or run something. */
static void git_environ(const struct conf *conf, bool is_users, struct strv *ret)
{
    for (char *const *from = conf_environ(conf); *from; from++) {
        if (!str_starts(str_of(*from), STR("GIT_")))
            strv_adds(ret, *from);
    }
    strv_adds(ret, "GIT_TERMINAL_PROMPT=0");
    strv_adds(ret, "GIT_ASKPASS=/bin/false");
    strv_adds(ret, "SSH_ASKPASS_REQUIRE=never");
    strv_adds(ret, "GIT_SSH_COMMAND=ssh -oBatchMode=yes");
    strv_addf(ret, "GIT_ALLOW_PROTOCOL=https:http:ssh:git%s", is_users ? ":file" : "");
    strv_adds(ret, "LC_ALL=C");
}

struct git_run {
    const char *const *envp;
    struct cancel *cancel;
};

/* With ulimit, so that an endless repository cannot fill the disk. */
static int git_run(const struct git_run *g, const char *const *words, struct buf *ret,
                   struct err *err)
{
    CLEANUP(proc_result_release) struct proc_result r = {0};
    CLEANUP(strv_release) struct strv argv = STRV_INIT;
    struct proc_spec spec = {
        .envp = g->envp, .max_output = 64 << 10, .timeout_ms = FETCH_MAX_MS, .by_user = true};
    struct str said;

    strv_adds(&argv, "/bin/sh");
    strv_adds(&argv, "-c");
    strv_adds(&argv, "ulimit -f 409600; exec \"$@\""); /* in units of 512 bytes */
    strv_adds(&argv, "sh");
    strv_adds(&argv, "git");
    strv_adds(&argv, "-c");
    strv_adds(&argv, "core.hooksPath=/dev/null");
    strv_adds(&argv, "-c");
    strv_adds(&argv, "core.fsmonitor=false");
    for (; *words; words++)
        strv_adds(&argv, *words);
    spec.argv = (const char *const *)strv_get(&argv);
    if (proc_run(&spec, g->cancel, &r, err) < 0)
        return -1;
    said = str_trim(buf_str(&r.err));
    if (r.how == PROC_TIMED_OUT)
        return err_set(err, ERR_TIMEOUT, "git took longer than %d seconds", FETCH_MAX_MS / 1000);
    if (r.how != PROC_EXITED || r.code)
        return err_set(err, ERR_IO, "git failed: %.*s", STR_ARG(str_clip(said, 300)));
    if (ret)
        buf_add(ret, str_trim(buf_str(&r.out)));
    return 0;
}

int fetch_git(const struct conf *conf, struct str url, struct str ref, bool is_users,
              const char *to, struct cancel *cancel, struct buf *ret_commit, struct err *err)
{
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(mem_freep) char *from = mem_dup(url.ptr, url.len);
    CLEANUP(mem_freep) char *want = ref.len ? mem_dup(ref.ptr, ref.len) : mem_dup("HEAD", 4);
    const char *const init[] = {"init", "-q", "--template=", "--", to, NULL};
    const char *const fetch[] = {
        "-C", to,   "fetch", "-q", "--depth=1", "--no-tags", "--no-recurse-submodules",
        "--", from, want,    NULL};
    const char *const checkout[] = {"-C", to, "checkout", "-q", "--detach", "FETCH_HEAD", NULL};
    const char *const commit[] = {"-C", to, "rev-parse", "HEAD", NULL};
    struct git_run g = {.cancel = cancel};

    if (fetch_check_url(url, is_users, err) < 0)
        return -1;
    if (ref.len && (!is_plain(ref, "-._/@") || str_has(ref, STR(".."))))
        return err_set(err, ERR_BAD_INPUT, "'%.*s' is no branch, tag or commit",
                       STR_ARG(str_clip(ref, 200)));
    git_environ(conf, is_users, &env);
    g.envp = (const char *const *)strv_get(&env);
    if (git_run(&g, init, NULL, err) < 0 || git_run(&g, fetch, NULL, err) < 0 ||
        git_run(&g, checkout, NULL, err) < 0 || git_run(&g, commit, ret_commit, err) < 0)
        return err_prefix(err, "%.*s", STR_ARG(str_clip(url, 200)));
    return 0;
}
