/*
 * trace: records of the supervisor, sorted into lists. A process is what it last executed; a file
 * that an interpreter opens and was given as an argument is a script that it runs. Pure.
 */
#include "goal/origin/trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/map.h"
#include "goal/origin/bytes_json.h"
#include "goal/origin/names.h"
#include "json/json.h"
#include "json/jw.h"

#define ARGUMENT_SEP '\x1f'

const char *const trace_elsewhere[] = {
    "/usr", "/opt", "/tmp", "/var/tmp", "/etc/ld.so.preload", "/etc/gitconfig"};

void trace_release(struct trace *t)
{
    strv_release(&t->programs);
    strv_release(&t->ran);
    strv_release(&t->read);
    strv_release(&t->loaded);
    strv_release(&t->used);
    strv_release(&t->made);
    strv_release(&t->outside);
    strv_release(&t->system);
    strv_release(&t->missing);
    *t = (struct trace){0};
}

/* ---- reading ---- */

struct reader {
    struct trace *t;
    struct str dir, also, room, home;
    struct map programs; /* by process id: its last X record, as text */
};

/* Relative to the workspace; false: it lies elsewhere. */
static bool is_inside(const struct reader *r, struct str path, struct str *ret)
{
    struct str dir = str_starts(path, r->dir) ? r->dir : r->also;

    if (!str_starts(path, dir) || path.len <= dir.len + 1 || path.ptr[dir.len] != '/')
        return false;
    *ret = str_from(path, dir.len + 1);
    return true;
}

static void add_program(struct reader *r, struct str pid, struct str text)
{
    struct str rest = text;
    struct str path;
    struct str inside;

    str_cut(&rest, ARGUMENT_SEP, &path);
    map_set(&r->programs, pid, (void *)text.ptr); /* ended by the record's NUL */
    if (is_inside(r, path, &inside))
        strv_add(&r->t->ran, inside);
    else if (path.len && !str_starts(path, r->room))
        strv_add(&r->t->programs, path);
}

/* Whether the process is an interpreter that was given a file of this name. */
static bool is_script(const char *program, struct str path)
{
    struct str rest = str_of(program);
    struct str word;

    if (!str_cut(&rest, ARGUMENT_SEP, &word) || !name_is_interpreter(name_base(word)))
        return false;
    while (rest.len && str_cut(&rest, ARGUMENT_SEP, &word)) {
        if (str_eq(name_base(word), name_base(path)))
            return true;
    }
    return false;
}

static void add_file(struct reader *r, struct str pid, struct str path)
{
    const char *program = map_get(&r->programs, pid);
    CLEANUP(buf_release) struct buf source = BUF_INIT(BUF_NO_LIMIT);
    struct str inside;

    if (!is_inside(r, path, &inside)) {
        struct str rest = str_from(path, r->room.len);

        if (!str_starts(path, r->home) &&
            (str_starts(path, STR("/usr/")) || str_starts(path, STR("/opt/"))))
            strv_add(&r->t->system, path);
        else if (!str_starts(path, r->room))
            strv_add(&r->t->outside, path);
        else if (str_starts(rest, STR("/h/"))) /* linked from there, or only here */
            strv_addf(&r->t->outside, "%.*s%.*s", STR_ARG(r->home), STR_ARG(str_from(rest, 2)));
        return;
    }
    strv_add(&r->t->read, inside);
    if (name_of_source(inside, &source))
        strv_add(&r->t->read, buf_str(&source));
    if (!program)
        return;
    if (is_script(program, inside))
        strv_add(&r->t->ran, inside);
    path = str_of(program);
    path = str_first(path, str_chr(path, ARGUMENT_SEP));
    if (!name_is_reader(name_base(path)) &&
        !(str_is(name_base(path), "git") && str_is(name_base(inside), ".gitignore")))
        strv_add(&r->t->loaded, inside);
    if (name_is_make(name_base(path)))
        strv_add(&r->t->made, inside);
    if (((name_is_interpreter(name_base(path)) || name_is_builder(name_base(path))) &&
         !str_is_word_of(name_base(path), "sed awk gawk mawk")) ||
        is_inside(r, path, &path)) {
        strv_add(&r->t->used, inside);
        if (source.len)
            strv_add(&r->t->used, buf_str(&source));
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort(struct strv *list)
{
    size_t kept = 0;

    if (!list->len)
        return;
    qsort(list->ptr, list->len, sizeof(*list->ptr), by_text);
    for (size_t i = 1; i < list->len; i++) {
        if (strcmp(list->ptr[kept], list->ptr[i]) == 0)
            free(list->ptr[i]);
        else
            list->ptr[++kept] = list->ptr[i];
    }
    for (size_t i = kept + 1; i < list->len; i++)
        list->ptr[i] = NULL;
    list->len = kept + 1;
}

static void sort_all(struct trace *t)
{
    sort(&t->programs);
    sort(&t->ran);
    sort(&t->read);
    sort(&t->loaded);
    sort(&t->used);
    sort(&t->made);
    sort(&t->outside);
    sort(&t->system);
    sort(&t->missing);
}

void trace_read(struct trace *t, struct str records, const char *dir, const char *also,
                const char *room, const char *home)
{
    struct reader r = {.t = t,
                       .dir = str_of(dir),
                       .also = str_of(also),
                       .room = str_of(room),
                       .home = str_of(home)};
    struct str record;

    t->is_seen = true;
    while (records.len && str_chr(records, '\0') < records.len &&
           str_cut(&records, '\0', &record)) {
        struct str rest = record;
        struct str kind, pid;

        if (str_is(record, "T"))
            t->is_cut = true;
        if (!str_cut(&rest, ' ', &kind) || !str_cut(&rest, ' ', &pid) || !rest.len)
            continue;
        if (str_is(kind, "X"))
            add_program(&r, pid, rest);
        else if (str_is(kind, "R"))
            add_file(&r, pid, rest);
        else if (str_is(kind, "M") && is_inside(&r, rest, &rest))
            strv_add(&t->missing, rest);
    }
    map_release(&r.programs);
    sort_all(t);
}

/* The real path of a file in the workspace that a link leads to; false: there is no link. */
static bool follow(const char *dir, const char *path, struct buf *ret)
{
    CLEANUP(mem_freep) char *full = path_join(dir, path);
    CLEANUP(mem_freep) char *real = path_real(full);

    buf_clear(ret);
    if (!real || strcmp(real, full) == 0)
        return false;
    buf_adds(ret, real);
    return true;
}

void trace_follow(struct trace *t, const char *dir, const char *also)
{
    struct strv *const lists[] = {&t->ran, &t->read, &t->loaded, &t->used, &t->made};
    struct reader r = {.t = t, .dir = str_of(dir), .also = str_of(also)};
    CLEANUP(buf_release) struct buf real = BUF_INIT(BUF_NO_LIMIT);
    struct str inside;

    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        size_t len = lists[l]->len;

        for (size_t i = 0; i < len; i++) {
            if (!follow(dir, lists[l]->ptr[i], &real))
                continue;
            if (is_inside(&r, buf_str(&real), &inside))
                strv_add(lists[l], inside);
            else
                strv_add(&t->outside, buf_str(&real));
        }
    }
    sort_all(t);
}

bool trace_has(const struct strv *list, struct str path)
{
    CLEANUP(mem_freep) char *key = mem_dup(path.ptr, path.len);

    return list->len && bsearch(&key, list->ptr, list->len, sizeof(*list->ptr), by_text) != NULL;
}

bool trace_builds(const struct trace *t)
{
    for (size_t i = 0; i < t->programs.len; i++) {
        if (name_is_builder(name_base(str_of(t->programs.ptr[i]))))
            return true;
    }
    return false;
}

/* ---- on disk ---- */

void trace_write(const struct trace *t, struct jw *w)
{
    jw_object(w);
    jw_kbool(w, "seen", t->is_seen);
    jw_kbool(w, "cut", t->is_cut);
    bytes_write_list(w, "programs", &t->programs);
    bytes_write_list(w, "ran", &t->ran);
    bytes_write_list(w, "read", &t->read);
    bytes_write_list(w, "loaded", &t->loaded);
    bytes_write_list(w, "used", &t->used);
    bytes_write_list(w, "made", &t->made);
    bytes_write_list(w, "outside", &t->outside);
    bytes_write_list(w, "system", &t->system);
    bytes_write_list(w, "missing", &t->missing);
    jw_object_end(w);
}

void trace_parse(struct trace *t, const struct json *v)
{
    t->is_seen = json_get_bool(v, "seen", false);
    t->is_cut = json_get_bool(v, "cut", false);
    bytes_parse_list(json_get(v, "programs"), &t->programs);
    bytes_parse_list(json_get(v, "ran"), &t->ran);
    bytes_parse_list(json_get(v, "read"), &t->read);
    bytes_parse_list(json_get(v, "loaded"), &t->loaded);
    bytes_parse_list(json_get(v, "used"), &t->used);
    bytes_parse_list(json_get(v, "made"), &t->made);
    bytes_parse_list(json_get(v, "outside"), &t->outside);
    bytes_parse_list(json_get(v, "system"), &t->system);
    bytes_parse_list(json_get(v, "missing"), &t->missing);
    sort_all(t);
}
