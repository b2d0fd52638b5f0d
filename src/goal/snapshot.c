/*
 * snapshot: a table of files by path, each with how it looked and what it held in the beginning. A
 * look finds candidates (files that look different), leaves out what git ignores, reads the rest,
 * and hashes what differs from the beginning. A file's look is taken over only when it has been
 * read, so that a cancel or the end of the time loses nothing: it is a candidate again.
 *
 * What a check changed is forgiven by an alias: while the file holds what the check left, it counts
 * as what it held before. One thread at a time.
 */
#include "goal/snapshot.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "goal/content.h"
#include "goal/git.h"
#include "goal/git_head.h"
#include "goal/snapshot_table.h"
#include "goal/survey.h"
#include "sync/cancel.h"

#define SNAPSHOT_GIT_MS 10000                 /* for what git is asked */
#define SNAPSHOT_MAX_LIST ((size_t)128 << 20) /* of an answer of git */

struct candidate {
    size_t entry;
    uint64_t look; /* 0: gone */
};

struct snapshot {
    char *dir;
    char *const *environ;
    struct git_head head;
    struct snapshot_table table;
    struct map pruned;    /* folders that git ignores as a whole */
    struct map ignored;   /* files that it ignored in the beginning */
    struct strv nested;   /* repositories inside: git does not say what they ignore */
    struct buf head_told; /* as last told, and what forgiving made of it */
    struct buf head_from, head_to;
    VEC(struct candidate) candidates; /* of the look that goes on */
    uint32_t round;
    int64_t began_ns; /* wall clock */
    bool begun;       /* the first look is over */
    bool whole_at_first;
    bool first_walk;
};

struct snapshot *snapshot_new(const char *dir, char *const *env)
{
    struct snapshot *s = mem_zalloc(sizeof(*s));

    s->dir = mem_dup(dir, strlen(dir));
    s->environ = env;
    buf_init(&s->head_told, BUF_NO_LIMIT);
    buf_init(&s->head_from, BUF_NO_LIMIT);
    buf_init(&s->head_to, BUF_NO_LIMIT);
    return s;
}

void snapshot_free(struct snapshot *s)
{
    if (!s)
        return;
    git_head_release(&s->head);
    snapshot_table_release(&s->table);
    map_release(&s->pruned);
    map_release(&s->ignored);
    strv_release(&s->nested);
    buf_release(&s->head_told);
    buf_release(&s->head_from);
    buf_release(&s->head_to);
    vec_release(&s->candidates);
    mem_freep(&s->dir);
    mem_freep(&s);
}

static struct git git_for(const struct snapshot *s, int64_t deadline_ms, struct cancel *cancel)
{
    return (struct git){
        .dir = s->dir, .environ = s->environ, .deadline_ms = deadline_ms, .cancel = cancel};
}

/* ---- candidates ---- */

/* A file that was not known: one that has come since, or that an incomplete first walk missed. */
static struct snapshot_entry *add_entry(struct snapshot *s, struct str path, bool is_old)
{
    struct snapshot_entry *e = snapshot_table_add(&s->table, path);

    if (s->first_walk || is_old)
        e->base = CONTENT_UNKNOWN;
    if (s->first_walk)
        e->ignored = map_has(&s->ignored, path) ? SNAPSHOT_IGNORED : SNAPSHOT_COUNTS;
    return e;
}

static void look_at(struct snapshot *s, struct snapshot_entry *e, const struct stat *st)
{
    uint64_t look = st ? content_look(st) : 0;

    e->round = s->round;
    if (e->look != look || e->young)
        vec_push(&s->candidates, ((struct candidate){snapshot_table_index(&s->table, e), look}));
}

static bool enter_folder(void *arg, struct str path, struct str name)
{
    struct snapshot *s = arg;

    if (str_is_word_of(name,
                       ".git .hg .svn .jj node_modules __pycache__ .venv .tox .nox .mypy_cache "
                       ".pytest_cache .ruff_cache .gradle")) {
        if (str_is(name, ".git") && path.len > name.len)
            strv_add(&s->nested, str_first(path, path.len - name.len)); /* with its slash */
        return false;
    }
    return !map_has(&s->pruned, path);
}

static int take_file(void *arg, int folder_fd, const char *name, struct str path, struct err *err)
{
    struct snapshot *s = arg;
    struct snapshot_entry *e;
    struct stat st;

    (void)err;
    if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;                                  /* it has gone meanwhile */
    if (strcmp(name, ".git") == 0 && path.len > 4) /* of a submodule it is a file */
        strv_add(&s->nested, str_first(path, path.len - 4));
    e = snapshot_table_find(&s->table, path);
    if (!e) {
        bool is_old = !s->whole_at_first &&
                      (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec < s->began_ns;

        e = add_entry(s, path, is_old);
        if (is_old && !s->first_walk) { /* was there all the time: no change */
            e->look = content_look(&st);
            e->round = s->round;
            return 0;
        }
    }
    look_at(s, e, &st);
    return 0;
}

/* Those that no walk comes by: what tools wrote, outside or in folders that are not walked; all of
 * them, or only what was written now. */
static void look_at_written(struct snapshot *s, const struct strv *wrote, bool all)
{
    size_t dir_len = strlen(s->dir);

    for (size_t i = 0; wrote && i < wrote->len; i++) {
        struct str path = str_of(wrote->ptr[i]);
        struct snapshot_entry *e;

        if (str_starts(path, str_of(s->dir)) && path.len > dir_len && path.ptr[dir_len] == '/')
            path = str_from(path, dir_len + 1);
        e = snapshot_table_find(&s->table, path);
        if (!e) {
            e = snapshot_table_add(&s->table, path);
            if (path.len && path.ptr[0] == '/')
                e->base = CONTENT_UNKNOWN;
        }
        if (!e->written)
            vec_push(&s->table.written, snapshot_table_index(&s->table, e));
        e->written = true;
        e->due = true;
    }
    for (size_t i = 0; i < s->table.written.len; i++) {
        struct snapshot_entry *e = &s->table.entries.ptr[s->table.written.ptr[i]];
        CLEANUP(mem_freep) char *path = NULL;
        struct stat st;

        if (e->round == s->round || (!all && !e->due))
            continue;
        e->due = false;
        path = snapshot_entry_path(s->dir, e);
        look_at(s, e, lstat(path, &st) == 0 ? &st : NULL);
    }
}

/* After a walk that saw everything: who was not seen is gone. */
static void look_for_gone(struct snapshot *s)
{
    VEC_EACH(&s->table.entries, e) {
        if (e->round != s->round && e->look && !e->written)
            look_at(s, e, NULL);
    }
}

/* ---- what git ignores ---- */

/* In the beginning: whole folders, which are not walked, and single files. */
static int find_ignored(struct snapshot *s, const struct git *g, struct err *err)
{
    static const char *const args[] = {"ls-files",           "-z",          "--others", "--ignored",
                                       "--exclude-standard", "--directory", NULL};
    CLEANUP(buf_release) struct buf out = {0};
    struct err why = {0};
    struct str rest;
    struct str path;

    if (!s->head.git_dir)
        return 0;
    if (git_ask(g, args, STR(""), SNAPSHOT_MAX_LIST, &out, &why) < 0) {
        if (why.code != ERR_CANCELLED)
            return 0; /* then more is looked at than need be */
        if (err)
            *err = why;
        return -1;
    }
    rest = buf_str(&out);
    while (rest.len && str_cut(&rest, '\0', &path)) {
        if (str_ends(path, STR("/")))
            map_set(&s->pruned, str_first(path, path.len - 1), s);
        else if (path.len)
            map_set(&s->ignored, path, s);
    }
    return 0;
}

static bool is_nested(const struct snapshot *s, struct str path)
{
    for (size_t i = 0; i < s->nested.len; i++) {
        if (str_starts(path, str_of(s->nested.ptr[i])))
            return true;
    }
    return false;
}

/* Later: candidates of which it is not known. Other rules may hold once a .gitignore changes. */
static void list_doubtful(struct snapshot *s, struct buf *ret)
{
    bool new_rules = false;

    VEC_EACH(&s->candidates, c) {
        struct str path = s->table.entries.ptr[c->entry].path;

        new_rules |= str_is(path, ".gitignore") || str_ends(path, STR("/.gitignore"));
    }
    VEC_EACH(&s->candidates, c) {
        struct snapshot_entry *e = &s->table.entries.ptr[c->entry];

        if (new_rules && e->ignored == SNAPSHOT_IGNORED)
            e->ignored = SNAPSHOT_NOT_ASKED;
        if (e->ignored != SNAPSHOT_NOT_ASKED || e->written)
            continue;
        e->ignored = SNAPSHOT_COUNTS;
        if (!s->head.git_dir || e->path.ptr[0] == '/' || is_nested(s, e->path))
            continue;
        buf_add(ret, e->path);
        buf_addc(ret, '\0');
    }
}

static int ask_ignored(struct snapshot *s, const struct git *g, struct err *err)
{
    static const char *const args[] = {"check-ignore", "--stdin", "-z", NULL};
    CLEANUP(buf_release) struct buf paths = BUF_INIT((size_t)15 << 20); /* what proc takes */
    CLEANUP(git_said_release) struct git_said said = {0};
    struct err why = {0};
    struct str rest;
    struct str path;

    list_doubtful(s, &paths);
    if (!paths.len)
        return 0;
    if (git_run(g, args, buf_str(&paths), SNAPSHOT_MAX_LIST, &said, &why) < 0) {
        if (why.code != ERR_CANCELLED)
            return 0;
        if (err)
            *err = why;
        return -1;
    }
    rest = buf_str(&said.out);
    while (rest.len && str_cut(&rest, '\0', &path)) {
        struct snapshot_entry *e = snapshot_table_find(&s->table, path);

        if (e)
            e->ignored = SNAPSHOT_IGNORED;
    }
    return 0;
}

/* ---- reading ---- */

static int read_candidates(struct snapshot *s, int64_t deadline_ms, struct cancel *cancel,
                           bool *whole, struct err *err)
{
    CLEANUP(fd_closep) int root = open(s->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (root < 0)
        return err_sys(err, ERR_IO, "cannot open '%s'", s->dir);
    VEC_EACH(&s->candidates, c) {
        struct snapshot_entry *e = &s->table.entries.ptr[c->entry];
        struct content content = CONTENT_GONE;
        struct stat st = {0};

        if (e->ignored == SNAPSHOT_IGNORED && !e->written) {
            e->look = c->look;
            continue;
        }
        if (cancel_check(cancel, err) < 0)
            return -1;
        if (deadline_ms && git_now_ms() > deadline_ms) {
            *whole = false;
            if (s->first_walk) { /* what it held in the beginning will not be known */
                e->look = c->look;
                continue;
            }
            return 0;
        }
        if (c->look) {
            content = content_read(root, e->path.ptr, &st);
            e->look = content_eq(content, CONTENT_GONE) ? 0 : content_look(&st);
            e->young = e->look && content_is_young(&st);
        } else {
            e->look = 0;
            e->young = false;
        }
        if (s->first_walk)
            e->base = content;
        else
            snapshot_table_set(&s->table, e, content);
    }
    return 0;
}

/* ---- a look ---- */

static int walk_all(struct snapshot *s, int64_t deadline_ms, struct cancel *cancel, bool *whole,
                    struct err *err)
{
    struct survey survey = {
        .dir = s->dir,
        .max_files = SNAPSHOT_MAX_FILES,
        .deadline_ms = deadline_ms,
        .enter = enter_folder,
        .file = take_file,
        .arg = s,
    };

    strv_clear(&s->nested);
    if (survey_run(&survey, cancel, whole, err) < 0)
        return -1;
    if (*whole && !s->first_walk)
        look_for_gone(s);
    return 0;
}

/* Brings the table up to date. */
static int take_in(struct snapshot *s, bool walk, const struct strv *wrote, struct cancel *cancel,
                   bool *whole, struct err *err)
{
    struct git git = git_for(s, git_now_ms() + SNAPSHOT_GIT_MS, cancel);
    int64_t deadline_ms;

    s->first_walk = !s->begun;
    s->round++;
    s->candidates.len = 0;
    if (s->first_walk) {
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        s->began_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
        if ((!s->head.git_dir && git_head_find(&git, &s->head, err) < 0) ||
            find_ignored(s, &git, err) < 0)
            return -1;
    }
    deadline_ms = git_now_ms() + SNAPSHOT_MAX_MS;
    if ((walk || s->first_walk) && walk_all(s, deadline_ms, cancel, whole, err) < 0)
        return -1;
    look_at_written(s, wrote, walk);
    if (!s->first_walk && ask_ignored(s, &git, err) < 0)
        return -1;
    if (read_candidates(s, deadline_ms, cancel, whole, err) < 0)
        return -1;
    if (s->first_walk)
        s->whole_at_first = *whole;
    s->begun = true;
    s->first_walk = false;
    return 0;
}

/* HEAD as it counts. */
static void read_head(struct snapshot *s, struct cancel *cancel, struct buf *ret)
{
    struct git git = git_for(s, git_now_ms() + SNAPSHOT_GIT_MS, cancel);

    git_head_read(&s->head, &git, ret);
    if (s->head_from.len && str_eq(buf_str(ret), buf_str(&s->head_from))) {
        buf_clear(ret);
        buf_add(ret, buf_str(&s->head_to));
    }
}

int snapshot_look(struct snapshot *s, bool walk, const struct strv *wrote, struct cancel *cancel,
                  char ret[SHA256_HEX + 1], bool *ret_whole, struct err *err)
{
    CLEANUP(buf_release) struct buf head = BUF_INIT(BUF_NO_LIMIT);
    struct sha256 hash;
    bool whole = true;

    if (cancel_check(cancel, err) < 0 || take_in(s, walk, wrote, cancel, &whole, err) < 0)
        return -1;
    read_head(s, cancel, &head);
    sha256_init(&hash);
    sha256_add(&hash, buf_str(&head));
    snapshot_table_tell(&s->table, &hash);
    sha256_end(&hash, ret);
    buf_move(&s->head_told, &head);
    if (ret_whole)
        *ret_whole = whole;
    return 0;
}

int snapshot_forgive(struct snapshot *s, struct cancel *cancel, struct err *err)
{
    CLEANUP(buf_release) struct buf head = BUF_INIT(BUF_NO_LIMIT);
    bool whole = true;

    if (cancel_check(cancel, err) < 0 ||
        take_in(s, /*walk=*/true, /*wrote=*/NULL, cancel, &whole, err) < 0)
        return -1;
    snapshot_table_forgive(&s->table);
    read_head(s, cancel, &head);
    if (s->head_told.len && !str_eq(buf_str(&head), buf_str(&s->head_told))) {
        buf_move(&s->head_from, &head);
        buf_clear(&s->head_to);
        buf_add(&s->head_to, buf_str(&s->head_told));
    }
    return 0;
}
