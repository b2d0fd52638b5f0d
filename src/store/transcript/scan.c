/*
 * The scan. Parts are handed out from the last to the first. The first part that must be scanned in
 * full is known once a part with a boundary is done. If a faster thread has scanned more in full by
 * then, its nodes are dropped, so that the result does not depend on timing. The caller's thread
 * takes part.
 */
#include "store/transcript/scan.h"

#include <sched.h>
#include <string.h>

#include "base/err.h"
#include "store/transcript/window.h"
#include "sync/cancel.h"
#include "sync/thread.h"

#define MAX_THREADS 4

void part_release(struct scan_part *p)
{
    vec_release(&p->nodes);
    vec_release(&p->facts);
}

static void part_clear(struct scan_part *p)
{
    part_release(p);
    *p = (struct scan_part){.begin = p->begin, .end = p->end};
}

static bool is_fact(const struct entry_line *l)
{
    switch (l->kind) {
    case ENTRY_SYSTEM:
        return l->flags & (LINE_GOAL | LINE_TURN | LOAD_BOUNDARY);
    case ENTRY_ATTACHMENT:
        return l->flags & LINE_GOAL;
    case ENTRY_USER:
    case ENTRY_ASSISTANT:
    case ENTRY_PROGRESS:
    case ENTRY_TASK_SUMMARY:
    case ENTRY_ATTRIBUTION:
    case ENTRY_SPECULATION_ACCEPT:
    case ENTRY_OTHER:
        return false;
    default:
        return true;
    }
}

static void newest_take(struct newest *n, const struct entry_line *l)
{
    if (l->at_session.len) {
        n->session = l->at_session;
        n->session_hash = l->session;
    }
    if (l->at_cwd.len)
        n->cwd = l->at_cwd;
    if (l->at_branch.len)
        n->branch = l->at_branch;
    if (l->at_time.len)
        n->time = l->at_time;
}

static void part_take(struct scan_part *p, const struct scan *s, const struct entry_line *l,
                      uint64_t offset, uint64_t len)
{
    bool is_link = entry_kind_is_link(l->kind);
    bool is_side = l->flags & LOAD_SIDECHAIN;
    bool is_long = len > LINE_MAX_BYTES;

    if (!l->has_kind || is_long || (p->is_full && is_link && uid_is_none(l->id)))
        p->skipped++;
    if (is_fact(l) && !is_long)
        *vec_add(&p->facts) = (struct fact){.offset = offset,
                                            .session = l->session,
                                            .len = (uint32_t)len,
                                            .flags = (uint16_t)l->flags,
                                            .kind = (uint8_t)l->kind};
    if (is_link) {
        if (l->kind == ENTRY_USER || l->kind == ENTRY_ASSISTANT)
            p->messages[is_side]++;
        newest_take(&p->newest[is_side], l);
    }
    /* Facts may refer to a message by the same key: a prompt that waited and was sent later. */
    if (!p->is_full || uid_is_none(l->id) ||
        (!is_link && l->kind != ENTRY_PROGRESS && l->kind != ENTRY_OTHER))
        return;
    p->has_main |= is_link && !is_side;
    p->has_boundary |= (l->flags & LOAD_BOUNDARY) && is_side == s->is_agent;
    /* A line that is too long to be parsed is invalid, but its children still have a parent. */
    *vec_add(&p->nodes) = (struct node){.id = l->id,
                                        .parent = l->parent,
                                        .offset = offset,
                                        .answer = l->answer,
                                        .len = is_long ? 0 : (uint32_t)len,
                                        .up = NODE_NONE,
                                        .flags = (uint16_t)l->flags,
                                        .kind = (uint8_t)(is_long ? ENTRY_OTHER : l->kind)};
}

int scan_part(const struct scan *s, struct window *w, enum line_depth depth, struct scan_part *p,
              struct err *err)
{
    struct entry_line line;
    uint64_t len;
    int n;

    p->is_full = depth == LINE_ALL;
    if (window_seek(w, p->begin, p->end, /*is_inside=*/true, err) < 0)
        return -1;
    while ((n = window_line(w, err)) > 0) {
        bool is_entry = line_scan(w, depth, &line);

        if (window_finish(w, &len, err) < 0)
            return -1;
        if (is_entry)
            part_take(p, s, &line, w->line, len);
        else if (!line.is_blank)
            p->skipped++;
    }
    return n;
}

/* ---- distribution to threads ---- */

struct scan_job {
    struct scan *s;
    bool is_whole;    /* boundaries change nothing */
    struct lock lock; /* guards what follows */
    size_t next;      /* parts below this are not taken yet */
    size_t last;      /* nor are those below this to be taken */
    size_t full_from; /* 0 until a boundary is seen */
    bool has_failed;
    struct err err;
};

static bool job_take(struct scan_job *j, size_t *ret_part, enum line_depth *ret_depth)
{
    bool is_one;

    lock_take(&j->lock);
    is_one = j->next > j->last && !j->has_failed;
    if (is_one) {
        *ret_part = --j->next;
        *ret_depth = *ret_part >= j->full_from ? LINE_ALL : LINE_BEGINNING;
    }
    lock_give(&j->lock);
    return is_one;
}

static void job_fail(struct scan_job *j, const struct err *err)
{
    lock_take(&j->lock);
    if (!j->has_failed)
        j->err = *err;
    j->has_failed = true;
    lock_give(&j->lock);
}

static void job_work(void *arg)
{
    struct scan_job *j = arg;
    struct scan *s = j->s;
    CLEANUP(window_release) struct window w;
    enum line_depth depth;
    struct err err;
    size_t i;

    window_init(&w, s->source->fd, s->source->size,
                s->window_bytes ? s->window_bytes : WINDOW_BYTES);
    while (job_take(j, &i, &depth)) {
        struct scan_part *p = &s->parts[i];

        part_clear(p);
        if (cancel_check(s->cancel, &err) < 0 || scan_part(s, &w, depth, p, &err) < 0) {
            job_fail(j, &err);
            return;
        }
        if (!p->has_boundary || j->is_whole)
            continue;
        lock_take(&j->lock);
        if (j->full_from < i)
            j->full_from = i;
        lock_give(&j->lock);
    }
}

static unsigned thread_count(const struct scan *s, size_t parts)
{
    cpu_set_t set;
    size_t n = s->max_threads;

    CPU_ZERO(&set);
    if (!n)
        n = sched_getaffinity(0, sizeof(set), &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
    if (n > MAX_THREADS)
        n = MAX_THREADS;
    /* A thread takes as long to start as a good part of a part takes to read. */
    return (unsigned)(parts < 2 ? 1 : n > parts / 2 ? parts / 2 : n);
}

/* Scans parts [from, to), the last one first. */
static int scan_parts(struct scan *s, size_t from, size_t to, bool is_whole, struct err *err)
{
    struct scan_job j = {.s = s, .is_whole = is_whole, .lock = LOCK_INIT, .next = to, .last = from};
    struct thread *helpers[MAX_THREADS] = {0};
    unsigned n = thread_count(s, to - from);

    for (unsigned i = 1; i < n; i++)
        helpers[i] = thread_start("scan", job_work, &j, /*err=*/NULL);
    job_work(&j);
    for (unsigned i = 1; i < n; i++)
        thread_join(helpers[i]);
    lock_release(&j.lock);
    if (j.has_failed) {
        if (err)
            *err = j.err;
        return -1;
    }
    s->full_from = is_whole ? from : j.full_from;
    for (size_t i = from; i < s->full_from; i++) {
        vec_release(&s->parts[i].nodes);
        s->parts[i].is_full = false;
    }
    return 0;
}

void scan_init(struct scan *s, const struct line_source *source, bool is_agent,
               struct cancel *cancel, uint64_t part_bytes)
{
    *s = (struct scan){.source = source, .cancel = cancel, .is_agent = is_agent};
    s->part_count = (size_t)((source->size + part_bytes - 1) / part_bytes);
    s->parts = mem_zalloc(s->part_count * sizeof(*s->parts) + 1);
    for (size_t i = 0; i < s->part_count; i++) {
        s->parts[i].begin = i * part_bytes;
        s->parts[i].end = i + 1 < s->part_count ? (i + 1) * part_bytes : source->size;
    }
}

void scan_release(struct scan *s)
{
    for (size_t i = 0; i < s->part_count; i++)
        part_release(&s->parts[i]);
    mem_freep(&s->parts);
    s->part_count = 0;
}

int scan_run(struct scan *s, bool is_whole, struct err *err)
{
    return scan_parts(s, 0, s->part_count, is_whole, err);
}

bool scan_is_whole(const struct scan *s)
{
    return s->full_from == 0;
}

int scan_widen(struct scan *s, struct err *err)
{
    size_t more = s->part_count - s->full_from;

    return scan_parts(s, s->full_from > more ? s->full_from - more : 0, s->full_from,
                      /*is_whole=*/true, err);
}
