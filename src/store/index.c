/*
 * Files held against rows. Rows come in the order of their names, so that each file finds its own
 * by halving; what is left over has lost its file. Any thread.
 */
#include "store/index.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/log.h"
#include "json/json.h"
#include "store/line.h"
#include "store/load.h"
#include "store/source.h"
#include "store/window.h"
#include "sync/cancel.h"

#define SUFFIX ".jsonl"

struct refresh {
    const char *home;
    struct cancel *cancel;
    struct index *ix;
    store_session_vec known; /* by project and id */
    bool *seen;              /* one for each of them */
    size_t from, to;         /* those of the project at hand */
    store_session_vec put, forget;
};

void index_release(struct index *ix)
{
    vec_release(&ix->rows);
    arena_release(&ix->arena);
}

struct str index_name(const struct store_session *row)
{
    if (row->title.len)
        return row->title;
    return row->ai_title.len ? row->ai_title : row->first_prompt;
}

void index_path(const struct store_session *row, const char *home, struct buf *ret)
{
    buf_addf(ret, "%s/projects/%.*s/%.*s" SUFFIX, home, STR_ARG(row->project), STR_ARG(row->id));
}

bool index_is_session(struct str name)
{
    return str_ends(name, STR(SUFFIX)) && id_is_uuid(str_first(name, name.len - strlen(SUFFIX)));
}

bool index_is_ours(const char *home, const char *path)
{
    CLEANUP(mem_freep) char *projects = path_join(home, "projects");
    CLEANUP(mem_freep) char *dir = path_dirname(path);
    CLEANUP(mem_freep) char *parent = path_dirname(dir);
    char ours[PATH_MAX];
    char there[PATH_MAX];

    return index_is_session(str_of(path_base(path))) && realpath(projects, ours) &&
           realpath(parent, there) && strcmp(ours, there) == 0;
}

/* ---- One file ---- */

static void index_take_stat(struct store_session *row, const struct stat *st)
{
    row->size = st->st_size;
    row->mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
    row->inode = (int64_t)st->st_ino;
}

/* What the session has cost so far stands in the last line of each turn. */
static void index_take_cost(const struct source *source, uint64_t offset, uint64_t len,
                            struct store_session *row)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *cost = json_get(source_json(source, offset, len, &arena), "cost");
    double usd;

    if (json_double(json_get(cost, "usd"), &usd) && !json_get_bool(cost, "unknown", false))
        row->cost_usd = usd;
}

/* Counts what stands behind row->counted. A last line without an end is left for next time. */
static int index_count(const struct source *source, struct window *w, struct cancel *cancel,
                       struct store_session *row, struct err *err)
{
    uint64_t turn = 0;
    uint64_t turn_len = 0;
    int rc;

    if (window_seek(w, (uint64_t)row->counted, source->size, /*is_inside=*/false, err) < 0)
        return -1;
    for (;;) {
        struct line line;
        uint64_t len;
        bool is_entry;

        rc = window_line(w, err);
        if (rc <= 0)
            break;
        if (cancel_check(cancel, err) < 0)
            return -1;
        is_entry = line_scan(w, LINE_BEGINNING, &line);
        if (window_finish(w, &len, err) < 0)
            return -1;
        if (!w->has_break)
            break;
        row->counted = (int64_t)(w->line + len + 1);
        if (!is_entry || line.flags & LOAD_SIDECHAIN)
            continue;
        row->messages += line.kind == ENTRY_USER || line.kind == ENTRY_ASSISTANT;
        if (line.flags & LINE_TURN) {
            turn = w->line;
            turn_len = len;
        }
    }
    if (turn_len)
        index_take_cost(source, turn, turn_len, row);
    return rc < 0 ? -1 : 0;
}

static int index_count_file(const char *path, struct cancel *cancel, struct store_session *row,
                            struct err *err)
{
    CLEANUP(source_release) struct source source = {.fd = -1};
    CLEANUP(window_release) struct window w = {0};

    if (source_open(&source, path, err) < 0)
        return -1;
    window_init(&w, source.fd, source.size, WINDOW_BYTES);
    return index_count(&source, &w, cancel, row, err);
}

/* Fills what is read from the file; identity and stat are there. */
static int index_read_file(const char *path, struct cancel *cancel, struct arena *arena,
                           struct store_session *row, struct err *err)
{
    CLEANUP(load_facts_release) struct load_facts facts = {0};

    if (load_peek(path, &facts, err) < 0 || index_count_file(path, cancel, row, err) < 0)
        return -1;
    row->title = arena_str(arena, buf_str(&facts.title));
    row->ai_title = arena_str(arena, buf_str(&facts.ai_title));
    row->cwd = arena_str(arena, buf_str(&facts.cwd));
    row->branch = arena_str(arena, buf_str(&facts.branch));
    row->first_prompt = arena_str(arena, buf_str(&facts.first_prompt));
    row->created_ms = facts.first_ms;
    row->last_ms = facts.last_ms ? facts.last_ms : row->mtime_ns / 1000000;
    return 0;
}

int index_read(const char *path, struct cancel *cancel, struct arena *arena,
               struct store_session *ret, struct err *err)
{
    CLEANUP(mem_freep) char *dir = path_dirname(path);
    struct store_session row = {.cost_usd = -1};
    struct str name = str_of(path_base(path));
    struct stat st;

    if (stat(path, &st) < 0)
        return err_sys(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot read '%s'", path);
    row.project = arena_str(arena, str_of(path_base(dir)));
    row.id = arena_str(arena, str_first(name, str_find(name, STR(SUFFIX))));
    index_take_stat(&row, &st);
    if (index_read_file(path, cancel, arena, &row, err) < 0)
        return -1;
    *ret = row;
    return 0;
}

/* ---- All files ---- */

static int index_compare(const struct store_session *a, const struct store_session *b)
{
    int project = str_cmp(a->project, b->project);

    return project ? project : str_cmp(a->id, b->id);
}

/* The first row that is not before this project. */
static size_t index_first_of(const struct refresh *r, struct str project)
{
    size_t from = 0;
    size_t to = r->known.len;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (str_cmp(r->known.ptr[middle].project, project) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static void index_enter_project(struct refresh *r, struct str project)
{
    r->from = index_first_of(r, project);
    for (r->to = r->from; r->to < r->known.len; r->to++) {
        if (!str_eq(r->known.ptr[r->to].project, project))
            break;
    }
}

/* The row of the project at hand that was made of this file, or NULL. */
static const struct store_session *index_find(struct refresh *r, struct str id)
{
    size_t low = r->from;
    size_t high = r->to;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_cmp(id, r->known.ptr[middle].id);

        if (order == 0) {
            r->seen[middle] = true;
            return &r->known.ptr[middle];
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static int index_take_file(struct refresh *r, int dir_fd, struct str project, const char *name,
                           struct err *err)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    struct str id = str_first(str_of(name), ID_UUID_LEN);
    const struct store_session *known = index_find(r, id);
    struct store_session row = {.cost_usd = -1};
    struct err why = {0};
    struct stat st;

    if (fstatat(dir_fd, name, &st, 0) < 0 || !S_ISREG(st.st_mode))
        return 0; /* gone again */
    index_take_stat(&row, &st);
    if (known && known->size == row.size && known->mtime_ns == row.mtime_ns &&
        known->inode == row.inode) {
        if (known->messages)
            vec_push(&r->ix->rows, *known);
        return 0;
    }
    row.project = project;
    row.id = arena_str(&r->ix->arena, id);
    if (known && known->inode == row.inode && known->counted >= 0 && known->counted <= row.size) {
        row.counted = known->counted;
        row.messages = known->messages;
        row.cost_usd = known->cost_usd;
    }
    index_path(&row, r->home, &path);
    if (index_read_file(buf_cstr(&path), r->cancel, &r->ix->arena, &row, &why) < 0) {
        if (why.code == ERR_CANCELLED && err)
            *err = why;
        log_debug("store", "not in the list: %s", why.text);
        return why.code == ERR_CANCELLED ? -1 : 0;
    }
    vec_push(&r->put, row);
    if (row.messages)
        vec_push(&r->ix->rows, row);
    return 0;
}

static DIR *index_open_dir(int at, const char *path)
{
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);

    if (!d)
        fd_closep(&fd);
    return d;
}

static void index_close_dir(DIR **d)
{
    if (*d)
        closedir(*d);
}

static int index_take_project(struct refresh *r, int projects_fd, const char *name, struct err *err)
{
    CLEANUP(index_close_dir) DIR *d = index_open_dir(projects_fd, name);
    struct str project = arena_str(&r->ix->arena, str_of(name));

    index_enter_project(r, project);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        if (index_is_session(str_of(e->d_name)) &&
            index_take_file(r, dirfd(d), project, e->d_name, err) < 0)
            return -1;
    }
    return 0;
}

static int index_take_files(struct refresh *r, struct str project, struct err *err)
{
    CLEANUP(mem_freep) char *projects = path_join(r->home, "projects");
    CLEANUP(index_close_dir) DIR *d = index_open_dir(AT_FDCWD, projects);

    if (!d)
        return 0; /* nobody has said anything yet */
    if (project.len) {
        CLEANUP(mem_freep) char *name = mem_dup(project.ptr, project.len);

        return index_take_project(r, dirfd(d), name, err);
    }
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (e->d_name[0] != '.' && index_take_project(r, dirfd(d), e->d_name, err) < 0)
            return -1;
    }
    return 0;
}

static int index_newer_first(const void *a, const void *b)
{
    const struct store_session *x = a;
    const struct store_session *y = b;

    if (x->last_ms != y->last_ms)
        return x->last_ms > y->last_ms ? -1 : 1;
    return index_compare(x, y);
}

/* Rows are a cache: what could not be read or written now is read or written next time. */
static void index_read_rows(struct refresh *r, struct store *s, struct str project)
{
    struct err why = {0};

    if (s && store_sessions(s, project, &r->ix->arena, &r->known, r->cancel, &why) < 0) {
        log_debug("store", "index: %s", why.text);
        r->known.len = 0;
    }
    r->seen = mem_zalloc(r->known.len + 1);
}

static void index_write_rows(struct refresh *r, struct store *s)
{
    struct err why = {0};

    for (size_t i = 0; i < r->known.len; i++) {
        if (!r->seen[i])
            vec_push(&r->forget, r->known.ptr[i]);
    }
    if (s && (r->put.len || r->forget.len) &&
        store_sessions_update(s, &r->put, &r->forget, r->cancel, &why) < 0)
        log_debug("store", "index: %s", why.text);
}

int index_refresh(struct store *s, const char *home, struct str project, struct cancel *cancel,
                  struct index *ret, struct err *err)
{
    struct refresh r = {.home = home, .cancel = cancel, .ix = ret};
    int rc;

    index_read_rows(&r, s, project);
    rc = index_take_files(&r, project, err);
    if (rc == 0)
        index_write_rows(&r, s);
    if (ret->rows.len)
        qsort(ret->rows.ptr, ret->rows.len, sizeof(*ret->rows.ptr), index_newer_first);
    free(r.seen);
    vec_release(&r.known);
    vec_release(&r.put);
    vec_release(&r.forget);
    return rc;
}
