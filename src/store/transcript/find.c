/*
 * Finds the session that a user means: by path, by file name, then by title; or the newest. Any
 * thread.
 */
#include "store/transcript/find.h"

#include <dirent.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/hold.h"
#include "store/index.h"
#include "store/store.h"
#include "store/transcript/load.h"

#define FIND_ID_BYTES 4    /* minimum length of the beginning of an id */
#define FIND_SHOWN 4       /* matches listed in an error */
#define FIND_NAME_BYTES 40 /* of each one's title there */

/* What fits, so far. */
struct find_hit {
    size_t count;
    struct buf path;  /* of the first */
    struct buf names; /* of the first few, for the user */
};

static void found_init(struct find_hit *f)
{
    f->count = 0;
    buf_init(&f->path, BUF_NO_LIMIT);
    buf_init(&f->names, BUF_NO_LIMIT);
}

static void found_release(struct find_hit *f)
{
    buf_release(&f->path);
    buf_release(&f->names);
}

/* One line of it, with any content. */
static void add_plain(struct buf *out, struct str text, size_t max)
{
    struct str shown = str_clip(text, max);

    for (size_t i = 0; i < shown.len; i++)
        buf_addc(out, (unsigned char)shown.ptr[i] < ' ' ? ' ' : shown.ptr[i]);
    if (shown.len < text.len)
        buf_adds(out, "…");
}

static void found_add(struct find_hit *f, const char *home, struct str project, struct str id,
                      struct str title)
{
    struct store_session row = {.project = project, .id = id};

    if (f->count++ == 0)
        index_path(&row, home, &f->path);
    if (f->count > FIND_SHOWN)
        return;
    buf_addf(&f->names, "%s%.8s", f->count > 1 ? ", " : "", id.ptr);
    if (title.len) {
        buf_adds(&f->names, " (");
        add_plain(&f->names, title, FIND_NAME_BYTES);
        buf_addc(&f->names, ')');
    }
}

/* 1: this one, 0: none, -1: too many. */
static int found_settle(struct find_hit *f, struct str want, struct buf *ret_path, struct err *err)
{
    if (f->count > 1)
        return err_set(err, ERR_BAD_INPUT, "'%.*s' fits %zu sessions: %s%s; be more specific",
                       STR_ARG(str_clip(want, 100)), f->count, buf_cstr(&f->names),
                       f->count > FIND_SHOWN ? ", …" : "");
    if (f->count == 1)
        buf_move(ret_path, &f->path);
    return f->count == 1;
}

/* ---- By path ---- */

/* True if it can only be a path; a title may have a slash inside. */
static bool find_is_path(struct str want)
{
    return str_ends(want, STR(".jsonl")) || str_starts(want, STR("/")) ||
           str_starts(want, STR("./")) || str_starts(want, STR("../")) ||
           str_starts(want, STR("~/"));
}

static int find_by_path(const struct find_scope *scope, struct str want, struct buf *ret_path,
                        struct err *err)
{
    CLEANUP(mem_freep) char *given = mem_dup(want.ptr, want.len);
    CLEANUP(mem_freep) char *expanded = path_expand_home(given);
    CLEANUP(mem_freep) char *path = path_join(scope->dir, expanded);
    struct stat st;

    if (stat(path, &st) < 0)
        return err_sys(err, ERR_NOT_FOUND, "cannot read the session '%s'", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_NOT_FOUND, "'%s' is no session: it is not a file", path);
    buf_adds(ret_path, path);
    return 0;
}

/* ---- By id ---- */

static bool find_is_id_begin(struct str want)
{
    for (size_t i = 0; i < want.len; i++) {
        if (!strchr("0123456789abcdefABCDEF-", want.ptr[i]))
            return false;
    }
    return want.len >= FIND_ID_BYTES && want.len <= ID_UUID_LEN;
}

/* In one project's folder. */
static void find_ids_in(const char *home, const char *project, struct str want, bool exact,
                        struct find_hit *f)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    DIR *d;

    buf_addf(&path, "%s/projects/%s", home, project);
    d = opendir(buf_cstr(&path));
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        struct str name = str_of(e->d_name);

        if (index_is_session(name) && (exact ? str_eq(str_first(name, want.len), want)
                                             : str_eq_nocase(str_first(name, want.len), want)))
            found_add(f, home, str_of(project), str_first(name, ID_UUID_LEN), STR(""));
    }
    if (d)
        closedir(d);
}

static void find_ids(const char *home, struct str want, bool exact, struct find_hit *f)
{
    CLEANUP(mem_freep) char *projects = path_join(home, "projects");
    DIR *d = opendir(projects);

    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        if (e->d_name[0] != '.')
            find_ids_in(home, e->d_name, want, exact, f);
    }
    if (d)
        closedir(d);
}

static int find_by_id_as(const struct find_scope *scope, struct str want, bool exact,
                         struct buf *ret_path, struct err *err)
{
    CLEANUP(mem_freep) char *project = mem_dup(scope->project.ptr, scope->project.len);
    CLEANUP(found_release) struct find_hit here = {0};
    CLEANUP(found_release) struct find_hit anywhere = {0};

    found_init(&here);
    find_ids_in(scope->home, project, want, exact, &here);
    if (here.count)
        return found_settle(&here, want, ret_path, err);
    found_init(&anywhere);
    find_ids(scope->home, want, exact, &anywhere);
    return found_settle(&anywhere, want, ret_path, err);
}

/* Ids that differ only in upper and lower case cannot be told apart; the first one is used. */
static int find_by_id(const struct find_scope *scope, struct str want, struct buf *ret_path,
                      struct err *err)
{
    int rc = 0;

    if (want.len == ID_UUID_LEN)
        rc = find_by_id_as(scope, want, /*exact=*/true, ret_path, err);
    return rc ? rc : find_by_id_as(scope, want, /*exact=*/false, ret_path, err);
}

/* ---- By title ---- */

static int find_titles(const struct index *ix, const char *home, struct str want, bool exact,
                       struct buf *ret_path, struct err *err)
{
    CLEANUP(found_release) struct find_hit f = {0};

    found_init(&f);
    VEC_EACH(&ix->rows, row) {
        struct str name = index_name(row);

        if (exact ? str_eq_nocase(name, want) : str_find_nocase(name, want) < name.len)
            found_add(&f, home, row->project, row->id, name);
    }
    return found_settle(&f, want, ret_path, err);
}

static int find_by_title_in(struct store *s, const char *home, struct str project, struct str want,
                            struct cancel *cancel, struct buf *ret_path, struct err *err)
{
    CLEANUP(index_release) struct index ix = INDEX_INIT;
    int rc;

    if (index_refresh(s, home, project, cancel, &ix, err) < 0)
        return -1;
    rc = find_titles(&ix, home, want, /*exact=*/true, ret_path, err);
    return rc ? rc : find_titles(&ix, home, want, /*exact=*/false, ret_path, err);
}

static int find_by_title(const struct find_scope *scope, struct str want, struct cancel *cancel,
                         struct buf *ret_path, struct err *err)
{
    CLEANUP(mem_freep) char *projects = path_join(scope->home, "projects");
    CLEANUP(store_freep) struct store *s = NULL;
    struct err why = {0};
    int rc;

    if (!file_is_dir(projects))
        return 0; /* do not create a store just for a lookup */
    if (store_shared(scope->home, cancel, &s, &why) < 0)
        log_debug("store", "titles are read from the files: %s", why.text);
    rc = find_by_title_in(s, scope->home, scope->project, want, cancel, ret_path, err);
    if (rc == 0)
        rc = find_by_title_in(s, scope->home, STR(""), want, cancel, ret_path, err);
    return rc;
}

int find_session(const struct find_scope *scope, struct str want, struct cancel *cancel,
                 struct buf *ret_path, struct err *err)
{
    int rc = 0;

    if (!want.len)
        return err_set(err, ERR_BAD_INPUT, "which session? `tenax sessions list` shows them");
    if (find_is_path(want))
        return find_by_path(scope, want, ret_path, err);
    if (find_is_id_begin(want))
        rc = find_by_id(scope, want, ret_path, err);
    if (rc == 0)
        rc = find_by_title(scope, want, cancel, ret_path, err);
    if (rc == 0)
        return err_set(err, ERR_NOT_FOUND,
                       "no session is called '%.*s'; `tenax sessions list --all` shows them",
                       STR_ARG(str_clip(want, 100)));
    return rc < 0 ? -1 : 0;
}

/* ---- The newest ---- */

static bool is_newer(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

static bool find_is_held(const char *home, const char *name)
{
    CLEANUP(mem_freep) char *id = mem_dup(name, ID_UUID_LEN);

    return hold_look(home, id, /*ret=*/NULL, /*err=*/NULL) > 0;
}

int find_newest(const struct find_scope *scope, bool is_free, struct buf *ret_path, struct err *err)
{
    CLEANUP(buf_release) struct buf dir = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    struct timespec newest = {0};
    char held[9] = ""; /* the beginning of one that was skipped */
    DIR *d;

    buf_addf(&dir, "%s/projects/%.*s", scope->home, STR_ARG(scope->project));
    d = opendir(buf_cstr(&dir));
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        struct stat st;

        if (!index_is_session(str_of(e->d_name)) || fstatat(dirfd(d), e->d_name, &st, 0) < 0 ||
            !S_ISREG(st.st_mode) || st.st_size == 0 ||
            (ret_path->len && !is_newer(&st.st_mtim, &newest)))
            continue;
        if (is_free && find_is_held(scope->home, e->d_name)) {
            memcpy(held, e->d_name, sizeof(held) - 1);
            continue;
        }
        buf_clear(&path);
        buf_addf(&path, "%s/%s", buf_cstr(&dir), e->d_name);
        if (!load_is_transcript(buf_cstr(&path)))
            continue;
        newest = st.st_mtim;
        buf_clear(ret_path);
        buf_add(ret_path, buf_str(&path));
    }
    if (d)
        closedir(d);
    if (!ret_path->len && held[0])
        return err_set(err, ERR_NOT_FOUND,
                       "every session of this folder is open in another process; --resume %s "
                       "--fork-session continues in a copy of one",
                       held);
    if (!ret_path->len)
        return err_set(err, ERR_NOT_FOUND,
                       "there is no session of this folder%s (tenax sessions list --all shows "
                       "those of others)",
                       is_free ? " to continue" : "");
    return 0;
}
