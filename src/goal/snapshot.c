/*
 * snapshot: a list of the files that have ever differed from where the goal began, each with how it
 * looked and what it held when it was last read. A look compares inventories (origin/inventory.h)
 * and reads what looks other than it did.
 *
 * What a check changed is forgiven by an alias: while the file holds what the check left, it counts
 * as what it held before. One thread at a time.
 */
#include "goal/snapshot.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "goal/git/git.h"
#include "goal/origin/names.h"
#include "goal/origin/origin.h"
#include "sync/cancel.h"

#define SNAPSHOT_GIT_MS 10000 /* for what git is asked */
#define VALUE_MAX (SHA256_HEX + 8)

/* What a file counts as: "" as in the beginning, else how it differs. */
struct value {
    char text[VALUE_MAX];
};

/* A file that has differed from the beginning, now or before. */
struct mark {
    struct inventory_entry look; /* when it was last read; its texts are not ours */
    char sha256[SHA256_HEX + 1]; /* "": it was not read */
    struct value now, told;
    struct value from, to; /* while it holds `from` it counts as `to`, when has_alias */
    bool has_alias;
    bool written; /* by a tool: counts wherever it is */
    bool due;     /* since the last look */
    bool is_fresh;
};

struct snapshot {
    char *dir;
    char *const *environ;
    struct map marks;     /* by path: relative to dir, or absolute */
    struct inventory own; /* the beginning, where there is no origin */
    bool has_own;
    int64_t read_until_ms; /* of this look: files not read by then count by their size */
    struct value head_told, head_from, head_to;
    bool has_head_alias, knows_head;
};

struct snapshot *snapshot_new(const char *dir, char *const *env)
{
    struct snapshot *s = mem_zalloc(sizeof(*s));

    s->dir = mem_dup(dir, strlen(dir));
    s->environ = env;
    s->own = (struct inventory)INVENTORY_INIT;
    return s;
}

void snapshot_free(struct snapshot *s)
{
    if (!s)
        return;
    MAP_EACH(&s->marks, it) {
        mem_freep(&it->value);
    }
    map_release(&s->marks);
    inventory_release(&s->own);
    mem_freep(&s->dir);
    mem_freep(&s);
}

static struct mark *mark_of(struct snapshot *s, struct str path)
{
    struct mark *m = map_get(&s->marks, path);

    if (!m) {
        m = mem_zalloc(sizeof(*m));
        map_set(&s->marks, path, m);
    }
    return m;
}

/* ---- what a file counts as ---- */

/* e: the file as it is now, read only when it looks other than last time; NULL: it is gone. */
static int mark_set(struct snapshot *s, struct mark *m, const struct inventory_entry *e,
                    struct cancel *cancel, struct err *err)
{
    if (!e) {
        *m = (struct mark){.told = m->told,
                           .from = m->from,
                           .to = m->to,
                           .has_alias = m->has_alias,
                           .written = m->written,
                           .due = m->due};
        snprintf(m->now.text, VALUE_MAX, "gone");
        return 0;
    }
    if (e->sha256.len && !(e->flags & INVENTORY_ORDERS)) {
        snprintf(m->sha256, sizeof(m->sha256), "%.*s", STR_ARG(e->sha256));
    } else if (!inventory_looks_same(e, &m->look) || m->look.is_young) {
        struct inventory_entry plain = *e;

        plain.flags = 0; /* dependencies count, too */
        m->sha256[0] = '\0';
        if (git_now_ms() < s->read_until_ms &&
            inventory_read(s->dir, &plain, cancel, m->sha256, err) < 0)
            return -1;
    }
    m->look = *e;
    if (m->sha256[0])
        snprintf(m->now.text, VALUE_MAX, "%d%03o %s", e->type, e->mode & INVENTORY_MODE_COUNTS,
                 m->sha256);
    else /* too much, or nothing that can be read */
        snprintf(m->now.text, VALUE_MAX, "%d%03o %lld", e->type, e->mode & INVENTORY_MODE_COUNTS,
                 (long long)e->size);
    return 0;
}

/* As it counts. */
static const struct value *mark_value(const struct mark *m)
{
    return m->has_alias && strcmp(m->now.text, m->from.text) == 0 ? &m->to : &m->now;
}

/* ---- a walk ---- */

/* Files that were read once and look the same are not read again. */
static void recall(const struct snapshot *s, struct inventory *now)
{
    MAP_EACH(&s->marks, it) {
        const struct mark *m = it->value;
        struct inventory_entry *e = m->sha256[0] ? inventory_find(now, it->key) : NULL;

        if (e && inventory_looks_same(e, &m->look) && !m->look.is_young)
            e->sha256 = arena_str(&now->arena, str_of(m->sha256));
    }
}

static int walk_all(struct snapshot *s, const struct origin *o, struct cancel *cancel,
                    bool *ret_whole, struct err *err)
{
    CLEANUP(origin_now_release) struct origin_now now = ORIGIN_NOW_INIT;
    const struct inventory *base = o ? &o->files : &s->own;

    now.files.skip = o ? o->skip : NULL;
    now.files.max_ms = SNAPSHOT_MAX_MS;
    now.files.tree_of = o ? base : NULL;
    now.files.is_strict = true;
    if (!o && !s->has_own) {
        inventory_release(&s->own);
        s->has_own = inventory_walk(&s->own, s->dir, cancel, err) == 0;
        return s->has_own ? 0 : -1;
    }
    if (inventory_walk(&now.files, s->dir, cancel, err) < 0)
        return -1;
    recall(s, &now.files);
    if (inventory_compare(base, &now.files, s->dir, cancel, &now.changes, err) < 0 ||
        (o && origin_mark_new(o, &now, cancel, err) < 0))
        return -1;
    MAP_EACH(&s->marks, it) {
        struct mark *m = it->value;

        m->is_fresh = false;
    }
    VEC_EACH(&now.changes, c) {
        const struct inventory_entry *e = change_entry(c);
        bool counts = o ? (e->flags & INVENTORY_TREE) != 0 : !name_is_derived(e->path);
        struct mark *m = counts ? mark_of(s, e->path) : map_get(&s->marks, e->path);

        if (!m || (!counts && !m->written))
            continue;
        if (mark_set(s, m, c->is, cancel, err) < 0)
            return -1;
        m->is_fresh = true;
    }
    MAP_EACH(&s->marks, it) {
        struct mark *m = it->value;

        if (now.files.is_whole && !m->is_fresh && !m->written)
            m->now.text[0] = m->sha256[0] = '\0';
    }
    *ret_whole = now.files.is_whole;
    return 0;
}

/* ---- what tools wrote ---- */

static void note_written(struct snapshot *s, const struct strv *wrote)
{
    size_t dir_len = strlen(s->dir);

    for (size_t i = 0; wrote && i < wrote->len; i++) {
        struct str path = str_of(wrote->ptr[i]);
        struct mark *m;

        if (str_starts(path, str_of(s->dir)) && path.len > dir_len && path.ptr[dir_len] == '/')
            path = str_from(path, dir_len + 1);
        m = mark_of(s, path);
        m->written = m->due = true;
    }
}

/* The file is what it was. */
static bool holds(const struct inventory_entry *was, const struct inventory_entry *is,
                  const char *sha256)
{
    if (inventory_looks_same(was, is) && !was->is_young)
        return true;
    return was->type == is->type && was->sha256.len && str_is(was->sha256, sha256) &&
           !((was->mode ^ is->mode) & INVENTORY_MODE_COUNTS);
}

/* Files that no walk reaches, or where there was none: all of them, or those just written. */
static int look_at_written(struct snapshot *s, const struct origin *o, bool all,
                           struct cancel *cancel, struct err *err)
{
    const struct inventory *base = o ? &o->files : &s->own;

    MAP_EACH(&s->marks, it) {
        struct mark *m = it->value;
        struct inventory_entry e = {.path = it->key};
        bool is_outside = it->key.len && it->key.ptr[0] == '/';
        const struct inventory_entry *was = is_outside ? NULL : inventory_find(base, it->key);
        bool is_there;

        if (!m->written || (all ? m->is_fresh : !m->due))
            continue;
        m->due = false;
        is_there = inventory_look(s->dir, &e);
        if (mark_set(s, m, is_there ? &e : NULL, cancel, err) < 0)
            return -1;
        if (is_there ? was && holds(was, &e, m->sha256) : !was && !is_outside)
            m->now.text[0] = '\0';
    }
    return 0;
}

/* ---- a look ---- */

static int take_in(struct snapshot *s, const struct origin *o, bool walk, const struct strv *wrote,
                   struct cancel *cancel, bool *ret_whole, struct err *err)
{
    if (cancel_check(cancel, err) < 0)
        return -1;
    note_written(s, wrote);
    s->read_until_ms = git_now_ms() + SNAPSHOT_MAX_MS;
    walk = walk || (!o && !s->has_own);
    if (walk && walk_all(s, o, cancel, ret_whole, err) < 0)
        return -1;
    return look_at_written(s, o, walk, cancel, err);
}

/* HEAD as it counts. */
static void read_head(const struct snapshot *s, const struct origin *o, struct cancel *cancel,
                      struct value *ret)
{
    static const char *const args[] = {"rev-parse", "--quiet", "--verify", "HEAD", NULL};
    struct git git = {.dir = s->dir,
                      .environ = s->environ,
                      .deadline_ms = git_now_ms() + SNAPSHOT_GIT_MS,
                      .cancel = cancel};
    CLEANUP(buf_release) struct buf out = {0};

    *ret = (struct value){0};
    if ((!o || o->git.has_git) && git_ask(&git, args, STR(""), 1 << 12, &out, /*err=*/NULL) == 0)
        snprintf(ret->text, VALUE_MAX, "%.*s", STR_ARG(str_trim(buf_str(&out))));
    if (s->has_head_alias && strcmp(ret->text, s->head_from.text) == 0)
        *ret = s->head_to;
}

static int by_path(const void *a, const void *b)
{
    const struct map_entry *const *x = a, *const *y = b;

    return str_cmp((*x)->key, (*y)->key);
}

static void tell(struct snapshot *s, struct sha256 *hash)
{
    struct map_entry **sorted = mem_zalloc((s->marks.len + 1) * sizeof(struct map_entry *));
    size_t count = 0;

    MAP_EACH(&s->marks, it) {
        struct mark *m = it->value;

        m->told = *mark_value(m);
        if (m->told.text[0])
            sorted[count++] = it;
    }
    if (count)
        qsort(sorted, count, sizeof(struct map_entry *), by_path);
    for (size_t i = 0; i < count; i++) {
        const struct mark *m = sorted[i]->value;

        sha256_add(hash, str_make(sorted[i]->key.ptr, sorted[i]->key.len + 1));
        sha256_add(hash, str_of(m->told.text));
        sha256_add(hash, STR("\n"));
    }
    mem_freep(&sorted);
}

int snapshot_look(struct snapshot *s, const struct origin *o, bool walk, const struct strv *wrote,
                  struct cancel *cancel, char ret[SHA256_HEX + 1], bool *ret_whole, struct err *err)
{
    struct sha256 hash;
    bool whole = true;

    if (take_in(s, o, walk, wrote, cancel, &whole, err) < 0)
        return -1;
    if (walk || !s->knows_head) /* else nothing ran that could have moved it */
        read_head(s, o, cancel, &s->head_told);
    s->knows_head = true;
    sha256_init(&hash);
    sha256_add(&hash, str_of(s->head_told.text));
    sha256_add(&hash, STR("\n"));
    tell(s, &hash);
    sha256_end(&hash, ret);
    if (ret_whole)
        *ret_whole = whole;
    return 0;
}

int snapshot_forgive(struct snapshot *s, const struct origin *o, struct cancel *cancel,
                     struct err *err)
{
    struct value head;
    bool whole = true;

    if (take_in(s, o, /*walk=*/true, /*wrote=*/NULL, cancel, &whole, err) < 0)
        return -1;
    MAP_EACH(&s->marks, it) {
        struct mark *m = it->value;

        if (strcmp(mark_value(m)->text, m->told.text) == 0)
            continue;
        m->from = m->now;
        m->to = m->told;
        m->has_alias = true;
    }
    read_head(s, o, cancel, &head);
    if (strcmp(head.text, s->head_told.text) != 0) {
        s->head_from = head;
        s->head_to = s->head_told;
        s->has_head_alias = true;
    }
    return 0;
}
