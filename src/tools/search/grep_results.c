/*
 * Results: a list that is sorted at the end, and now and then in between to let go of its tail.
 */
#include "tools/search/grep_results.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"
#include "sync/thread.h"

#define KEEP_FILES ((size_t)200000)

struct grep_results {
    enum grep_mode mode;
    size_t want;
    size_t max_bytes;

    struct lock lock; /* guards what follows */
    VEC(struct grep_found) found;
    size_t lines, bytes; /* of all that are kept */
    char *last_wanted;   /* later paths are not wanted; NULL: all are */
    bool dropped;
    size_t faults;
    struct buf first_fault;
};

struct grep_results *grep_results_new(enum grep_mode mode, size_t want, size_t max_bytes)
{
    struct grep_results *r = mem_zalloc(sizeof(*r));

    r->mode = mode;
    r->want = want;
    r->max_bytes = max_bytes;
    lock_init(&r->lock);
    buf_init(&r->first_fault, PATH_MAX + 600);
    return r;
}

void grep_results_free(struct grep_results *r)
{
    if (!r)
        return;
    VEC_EACH(&r->found, f) {
        grep_found_release(f);
    }
    vec_release(&r->found);
    lock_release(&r->lock);
    buf_release(&r->first_fault);
    free(r->last_wanted);
    free(r);
}

/* Part by part: a folder's files stand together, "a/b" before "a.c". */
static int path_cmp(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return (*a == '/' ? 1
            : *a      ? (unsigned char)*a + 1
                      : 0) -
           (*b == '/' ? 1
            : *b      ? (unsigned char)*b + 1
                      : 0);
}

static int by_path(const void *a, const void *b)
{
    return path_cmp(((const struct grep_found *)a)->path, ((const struct grep_found *)b)->path);
}

static int newest_first(const void *a, const void *b)
{
    const struct grep_found *x = a, *y = b;

    if (x->mtime_ns != y->mtime_ns)
        return x->mtime_ns > y->mtime_ns ? -1 : 1;
    return path_cmp(x->path, y->path);
}

static void results_sort(struct grep_results *r)
{
    if (r->found.len)
        qsort(r->found.ptr, r->found.len, sizeof(*r->found.ptr),
              r->mode == GREP_FILES ? newest_first : by_path);
}

/* Keeps the files, in order of path, that fill the wanted lines, and one line more. Lock held. */
static void results_drop_tail(struct grep_results *r)
{
    size_t keep = 0;
    size_t lines = 0, bytes = 0;

    results_sort(r);
    while (keep < r->found.len && lines <= r->want && bytes <= r->max_bytes / 2) {
        lines += r->found.ptr[keep].lines;
        bytes += r->found.ptr[keep].text.len;
        keep++;
    }
    if (keep == r->found.len)
        return;
    for (size_t i = keep; i < r->found.len; i++)
        grep_found_release(&r->found.ptr[i]);
    r->found.len = keep;
    r->lines = lines;
    r->bytes = bytes;
    r->dropped = true;
    free(r->last_wanted);
    r->last_wanted = mem_dup(r->found.ptr[keep - 1].path, strlen(r->found.ptr[keep - 1].path));
}

bool grep_results_wants(struct grep_results *r, const char *path)
{
    bool wanted;

    lock_take(&r->lock);
    wanted = !r->last_wanted || path_cmp(path, r->last_wanted) < 0;
    lock_give(&r->lock);
    return wanted;
}

void grep_results_add(struct grep_results *r, struct grep_found *found)
{
    lock_take(&r->lock);
    if ((r->last_wanted && path_cmp(found->path, r->last_wanted) > 0) ||
        r->found.len >= KEEP_FILES) {
        r->dropped = true;
        grep_found_release(found);
    } else {
        vec_push(&r->found, *found);
        r->lines += found->lines;
        r->bytes += found->text.len;
        if (r->mode == GREP_CONTENT && (r->bytes > r->max_bytes || r->lines / 4 > r->want + 1000))
            results_drop_tail(r);
    }
    lock_give(&r->lock);
}

void grep_results_fault(struct grep_results *r, const char *path, const char *why)
{
    lock_take(&r->lock);
    if (!r->faults++)
        buf_addf(&r->first_fault, "%s %s", path, why);
    lock_give(&r->lock);
}

/* Writes one file's lines until the page is full. */
static bool write_lines(const struct grep_found *f, const struct grep_page *page, size_t *skip,
                        struct buf *out, struct grep_summary *sum)
{
    struct str rest = buf_str(&f->text);
    struct str line;

    while (str_cut(&rest, '\n', &line) && line.len) {
        if (line.ptr[0] == GREP_LINE_GAP) {
            if (!*skip)
                buf_adds(out, "--\n");
            continue;
        }
        if (*skip) {
            --*skip;
            continue;
        }
        if (sum->shown >= page->limit || out->len + line.len > page->max_bytes)
            return false;
        buf_addf(out, "%.*s%s%.*s\n", STR_ARG(page->prefix), f->path, STR_ARG(line));
        sum->shown++;
    }
    return true;
}

static bool write_file(const struct grep_results *r, const struct grep_found *f,
                       const struct grep_page *page, size_t *skip, struct buf *out,
                       struct grep_summary *sum)
{
    if (*skip) {
        --*skip;
        return true;
    }
    if (sum->shown >= page->limit || out->len + strlen(f->path) > page->max_bytes)
        return false;
    buf_addf(out, "%.*s%s", STR_ARG(page->prefix), f->path);
    if (r->mode == GREP_COUNT)
        buf_addf(out, ":%zu", f->count);
    buf_addc(out, '\n');
    sum->shown++;
    return true;
}

void grep_results_write(struct grep_results *r, const struct grep_page *page, struct buf *ret,
                        struct grep_summary *ret_summary)
{
    struct grep_summary sum = {.files = r->found.len, .more = r->dropped, .faults = r->faults};
    size_t skip = page->skip;
    size_t total = 0;
    bool room = true;

    results_sort(r);
    VEC_EACH(&r->found, f) {
        sum.matches += f->count;
        sum.more = sum.more || f->cut;
        total += r->mode == GREP_CONTENT ? f->lines : 1;
    }
    VEC_EACH(&r->found, f) {
        size_t before = ret->len;

        if (!room)
            break;
        if (r->mode != GREP_CONTENT) {
            room = write_file(r, f, page, &skip, ret, &sum);
            continue;
        }
        if (page->gaps && sum.shown)
            buf_adds(ret, "--\n");
        room = write_lines(f, page, &skip, ret, &sum);
        if (!room && ret->len == before + strlen("--\n"))
            buf_cut(ret, before, strlen("--\n"));
    }
    sum.left = total - (page->skip < total ? page->skip : total);
    sum.left -= sum.shown;
    *ret_summary = sum;
}

struct str grep_results_first_fault(const struct grep_results *r)
{
    return buf_str(&r->first_fault);
}

const char *grep_results_path(const struct grep_results *r, size_t i)
{
    return r->found.ptr[i].path;
}
