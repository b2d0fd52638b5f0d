/*
 * Compares files with rows: finds the row of each file, and deletes rows without a file. Any
 * thread.
 */
#include "store/index.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/log.h"
#include "json/json.h"
#include "store/transcript/line.h"
#include "store/transcript/load.h"
#include "store/transcript/source.h"
#include "store/transcript/survey.h"
#include "store/transcript/window.h"
#include "sync/cancel.h"

enum row_state {
    ROW_GONE, /* there is no file */
    ROW_HOLDS,
    ROW_OLD, /* the file has changed */
};

struct refresh {
    const char *home;
    struct cancel *cancel;
    struct index *ix;       /* its rows are the known ones at first, later the valid ones */
    enum row_state *states; /* of each of the known ones */
    /* Hash table of the known rows by id: their numbers from 1, with linear probing. */
    uint32_t *slots;
    size_t slot_mask;
    store_session_vec put, forget;
    /* The projects that were compared last, and whether they are equal, as is usual for adjacent
     * rows. */
    const char *row_project, *file_project;
    bool is_same_project;
};

static void index_end_survey(struct index *ix)
{
    if (ix->survey)
        survey_release(ix->survey);
    mem_freep(&ix->survey);
}

void index_release(struct index *ix)
{
    index_end_survey(ix);
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
    buf_adds(ret, home);
    buf_adds(ret, "/projects/");
    buf_add(ret, row->project);
    buf_addc(ret, '/');
    buf_add(ret, row->id);
    buf_adds(ret, INDEX_SUFFIX);
}

bool index_is_session(struct str name)
{
    return str_ends(name, STR(INDEX_SUFFIX)) &&
           id_is_uuid(str_first(name, name.len - strlen(INDEX_SUFFIX)));
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

static void index_take_stat(struct store_session *row, const struct survey_file *file)
{
    row->size = file->size;
    row->mtime_ns = file->mtime_ns;
    row->inode = file->inode;
}

/* What the session has cost so far stands in the last line of each turn. */
static void index_take_cost(const struct line_source *source, uint64_t offset, uint64_t len,
                            struct store_session *row)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *cost = json_get(source_json(source, offset, len, &arena), "cost");
    double usd;

    if (json_double(json_get(cost, "usd"), &usd) && !json_get_bool(cost, "unknown", false))
        row->cost_usd = usd;
}

/* Counts the lines after row->counted. A last line without an end is left for next time. */
static int index_count(const struct line_source *source, struct window *w, struct cancel *cancel,
                       struct store_session *row, struct err *err)
{
    uint64_t turn = 0;
    uint64_t turn_len = 0;
    int rc;

    if (window_seek(w, (uint64_t)row->counted, source->size, /*is_inside=*/false, err) < 0)
        return -1;
    for (;;) {
        struct entry_line line;
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
    CLEANUP(source_release) struct line_source source = {.fd = -1};
    CLEANUP(window_release) struct window w = {0};

    if (source_open(&source, path, err) < 0)
        return -1;
    window_init(&w, source.fd, source.size, WINDOW_BYTES);
    return index_count(&source, &w, cancel, row, err);
}

/* Fills in what comes from the file; identity and stat are set already. */
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
    struct survey_file file;
    struct stat st;

    if (stat(path, &st) < 0)
        return err_sys(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot read '%s'", path);
    row.project = arena_str(arena, str_of(path_base(dir)));
    row.id = arena_str(arena, str_first(name, str_find(name, STR(INDEX_SUFFIX))));
    survey_stat(&file, &st);
    index_take_stat(&row, &file);
    if (index_read_file(path, cancel, arena, &row, err) < 0)
        return -1;
    *ret = row;
    return 0;
}

/* ---- All files ---- */

static int index_compare(const struct store_session *a, const struct store_session *b)
{
    /* Neighbours share the text of their project. */
    int project = a->project.ptr == b->project.ptr ? 0 : str_cmp(a->project, b->project);

    return project ? project : str_cmp(a->id, b->id);
}

static bool index_is_row_of(struct refresh *r, const struct store_session *row,
                            const struct survey_file *file)
{
    if (row->project.ptr != r->row_project || file->project.ptr != r->file_project) {
        r->row_project = row->project.ptr;
        r->file_project = file->project.ptr;
        r->is_same_project = str_eq(row->project, file->project);
    }
    return r->is_same_project && memcmp(row->id.ptr, file->id, ID_UUID_LEN) == 0;
}

/* Ids are random, all but a few of their bits. */
static size_t index_slot(const struct refresh *r, const char *id)
{
    uint64_t begin;

    memcpy(&begin, id, sizeof(begin));
    return (size_t)(begin * 0x9e3779b97f4a7c15 >> 32) & r->slot_mask;
}

static void index_make_table(struct refresh *r)
{
    const store_session_vec *rows = &r->ix->rows;
    size_t count = 16;

    while (count < 2 * rows->len)
        count *= 2;
    r->slot_mask = count - 1;
    r->slots = mem_zalloc(count * sizeof(*r->slots));
    r->states = mem_zalloc((rows->len + 1) * sizeof(*r->states));
    for (size_t i = 0; i < rows->len; i++) {
        size_t at;

        if (rows->ptr[i].id.len != ID_UUID_LEN)
            continue; /* no file is called so */
        at = index_slot(r, rows->ptr[i].id.ptr);
        while (r->slots[at])
            at = (at + 1) & r->slot_mask;
        r->slots[at] = (uint32_t)i + 1;
    }
}

/* NULL: nothing is known of it. */
static const struct store_session *index_find_row(struct refresh *r, const struct survey_file *file)
{
    size_t at = index_slot(r, file->id);

    for (; r->slots[at]; at = (at + 1) & r->slot_mask) {
        const struct store_session *row = &r->ix->rows.ptr[r->slots[at] - 1];

        if (index_is_row_of(r, row, file))
            return row;
    }
    return NULL;
}

/* known: the row that was made of it, or NULL. */
static int index_read_changed(struct refresh *r, const struct survey_file *file,
                              const struct store_session *known, struct err *err)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    struct store_session row = {.cost_usd = -1};
    struct err why = {0};

    index_take_stat(&row, file);
    row.project = arena_str(&r->ix->arena, file->project);
    row.id = arena_str(&r->ix->arena, str_make(file->id, ID_UUID_LEN));
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
    return 0;
}

static int index_take_file(struct refresh *r, const struct survey_file *file, struct err *err)
{
    const struct store_session *known = index_find_row(r, file);
    bool holds = known && known->size == file->size && known->mtime_ns == file->mtime_ns &&
                 known->inode == file->inode;

    if (known)
        r->states[known - r->ix->rows.ptr] = holds ? ROW_HOLDS : ROW_OLD;
    return holds ? 0 : index_read_changed(r, file, known, err);
}

/* Keeps the valid rows of sessions with messages; new ones are in r->put. */
static void index_keep_rows(struct refresh *r)
{
    store_session_vec *rows = &r->ix->rows;
    size_t kept = 0;

    for (size_t i = 0; i < rows->len; i++) {
        if (r->states[i] == ROW_GONE)
            vec_push(&r->forget, rows->ptr[i]);
        if (r->states[i] != ROW_HOLDS || !rows->ptr[i].messages)
            continue;
        if (kept != i)
            rows->ptr[kept] = rows->ptr[i];
        kept++;
    }
    rows->len = kept;
}

static int index_take_files(struct refresh *r, const struct session_survey *survey, struct err *err)
{
    index_make_table(r);
    VEC_EACH(&survey->files, file) {
        if (index_take_file(r, file, err) < 0)
            return -1;
    }
    index_keep_rows(r);
    return 0;
}

static void index_add_read(struct refresh *r)
{
    VEC_EACH(&r->put, row) {
        if (row->messages)
            vec_push(&r->ix->rows, *row);
    }
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

    if (s && store_sessions(s, project, &r->ix->arena, &r->ix->rows, r->cancel, &why) < 0) {
        log_debug("store", "index: %s", why.text);
        r->ix->rows.len = 0;
    }
}

static void index_write_rows(struct refresh *r, struct store *s)
{
    struct err why = {0};

    if (s && (r->put.len || r->forget.len) &&
        store_sessions_update(s, &r->put, &r->forget, r->cancel, &why) < 0)
        log_debug("store", "index: %s", why.text);
}

void index_begin(struct index *ix, const char *home, struct str project, struct cancel *cancel)
{
    ix->survey = mem_alloc(sizeof(*ix->survey));
    *ix->survey = (struct session_survey)SURVEY_INIT(home, project, cancel);
    survey_begin(ix->survey);
}

int index_refresh(struct store *s, const char *home, struct str project, struct cancel *cancel,
                  struct index *ret, struct err *err)
{
    struct refresh r = {.home = home, .cancel = cancel, .ix = ret};
    int rc;

    if (!ret->survey)
        index_begin(ret, home, project, cancel);
    index_read_rows(&r, s, project);
    survey_end(ret->survey);
    rc = cancel_check(cancel, err); /* the survey may have stopped halfway */
    if (rc == 0)
        rc = index_take_files(&r, ret->survey, err);
    if (rc == 0)
        index_write_rows(&r, s);
    else
        ret->rows.len = 0;
    index_add_read(&r);
    if (ret->rows.len)
        qsort(ret->rows.ptr, ret->rows.len, sizeof(*ret->rows.ptr), index_newer_first);
    mem_freep(&r.slots);
    mem_freep(&r.states);
    vec_release(&r.put);
    vec_release(&r.forget);
    index_end_survey(ret);
    return rc;
}
