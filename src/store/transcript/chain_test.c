/*
 * Random conversations against a model that is slow and plain: parallel calls, rewinds, boundaries
 * with and without kept messages, snips, tombstones, progress, garbage. The file is read whole and
 * in tiny parts; the chain must be the model's each time. A failure prints the seed and the file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "json/json.h"
#include "store/transcript/load_tune.h"
#include "unit.h"

#define MAX_NODES 120
#define MAX_LIST 40

struct item {
    enum entry_kind kind;
    int parent; /* -1: none */
    int answer; /* 0: none */
    bool is_boundary, is_result;
    int logical;             /* of a boundary */
    int anchor;              /* of one that keeps; -1: it does not */
    int list[MAX_LIST], len; /* what it keeps or takes out */
    bool is_segment;
    bool takes_out, is_tombstone;
};

struct world {
    struct item items[MAX_NODES];
    int count;
    int leaf;
    int answers;
    uint64_t random;
    struct buf text;
};

static unsigned below(struct world *w, unsigned n)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(w->random >> 33) % n;
}

/* ---- making one ---- */

static struct item *add(struct world *w, enum entry_kind kind, int parent)
{
    struct item *it = &w->items[w->count++];

    *it = (struct item){.kind = kind, .parent = parent, .logical = -1, .anchor = -1};
    w->leaf = w->count - 1;
    return it;
}

static bool is_full(const struct world *w)
{
    return w->count + 12 > MAX_NODES;
}

/* Blocks on one another, or all on the first one's parent; a result for each, in any order. */
static void add_answer(struct world *w)
{
    int n = 1 + (int)below(w, 4);
    bool is_flat = below(w, 4) == 0;
    int start = w->leaf;
    int blocks[4];
    bool is_done[4] = {0};

    w->answers++;
    for (int i = 0; i < n; i++) {
        add(w, ENTRY_ASSISTANT, is_flat ? start : w->leaf)->answer = w->answers;
        blocks[i] = w->leaf;
    }
    for (int left = n; left > 0;) {
        int i = (int)below(w, (unsigned)n);

        if (is_done[i])
            continue;
        is_done[i] = true;
        left--;
        if (below(w, 12) == 0)
            add(w, ENTRY_PROGRESS, blocks[i]);
        add(w, ENTRY_USER, below(w, 8) == 0 ? w->leaf : blocks[i])->is_result = true;
    }
}

/* The leaf and its ancestors by the lines' own parents, newest first. */
static int own_path(const struct world *w, int *out, int max)
{
    int n = 0;

    for (int i = w->leaf; i >= 0 && n < max; i = w->items[i].parent)
        out[n++] = i;
    return n;
}

static void add_boundary(struct world *w)
{
    int path[MAX_LIST];
    int n = own_path(w, path, MAX_LIST);
    int last = w->leaf;
    struct item *b = add(w, ENTRY_SYSTEM, below(w, 6) == 0 ? last : -1);
    int at = w->leaf;

    b->is_boundary = true;
    b->logical = last;
    w->answers++; /* nothing goes on over a boundary */
    if (below(w, 6) == 0) {
        w->leaf = below(w, 2) ? last : at; /* its summary never came */
        return;
    }
    add(w, ENTRY_USER, at);
    if (below(w, 2) || n < 2)
        return;
    b->len = 1 + (int)below(w, (unsigned)(n < 12 ? n : 12));
    for (int i = 0; i < b->len; i++)
        b->list[i] = path[b->len - 1 - i];
    b->is_segment = below(w, 2);
    b->anchor = below(w, 4) ? w->leaf : at;
    if (below(w, 3))
        w->leaf = last; /* the next one hangs on the last one kept */
}

static void add_removal(struct world *w)
{
    int path[MAX_LIST];
    int n = own_path(w, path, MAX_LIST);
    struct item *it = add(w, ENTRY_SYSTEM, w->leaf);

    it->is_tombstone = below(w, 2);
    it->takes_out = !it->is_tombstone;
    it->len = it->is_tombstone ? 1 : 1 + (int)below(w, 5);
    for (int i = 0; i < it->len; i++)
        it->list[i] = path[below(w, (unsigned)n)];
}

static void add_something(struct world *w)
{
    switch (below(w, 12)) {
    case 0:
    case 1:
    case 2:
        add(w, ENTRY_USER, w->leaf);
        break;
    case 3:
    case 4:
    case 5:
        add_answer(w);
        break;
    case 6:
        add_boundary(w);
        break;
    case 7:
        add_removal(w);
        break;
    case 8:
        w->leaf = (int)below(w, (unsigned)w->count); /* rewound */
        if (w->items[w->leaf].kind == ENTRY_PROGRESS)
            add(w, ENTRY_ATTACHMENT, w->leaf);
        break;
    case 9:
        add(w, ENTRY_SYSTEM, below(w, 8) ? w->leaf : -1);
        break;
    case 10:
        add(w, ENTRY_ATTACHMENT, w->leaf);
        break;
    default:
        add(w, below(w, 2) ? ENTRY_PROGRESS : ENTRY_OTHER, w->leaf);
        break;
    }
}

/* ---- writing it ---- */

static void add_ids(struct buf *out, const struct item *it)
{
    for (int i = 0; i < it->len; i++)
        buf_addf(out, "%s\"n%d\"", i ? "," : "", it->list[i]);
}

static void write_item(struct world *w, int i)
{
    const struct item *it = &w->items[i];
    struct buf *out = &w->text;

    buf_addf(out, "{\"type\":\"%s\",\"parentUuid\":",
             it->kind == ENTRY_OTHER ? "novelty" : entry_kind_name(it->kind));
    buf_addf(out, it->parent < 0 ? "null" : "\"n%d\"", it->parent);
    if (it->is_boundary) {
        buf_addf(out,
                 ",\"subtype\":\"compact_boundary\",\"logicalParentUuid\":\"n%d\","
                 "\"compactMetadata\":{",
                 it->logical);
        if (it->anchor >= 0 && it->is_segment) {
            buf_addf(out,
                     "\"preservedSegment\":{\"headUuid\":\"n%d\",\"anchorUuid\":\"n%d\","
                     "\"tailUuid\":\"n%d\"}",
                     it->list[0], it->anchor, it->list[it->len - 1]);
        } else if (it->anchor >= 0) {
            buf_addf(out, "\"preservedMessages\":{\"anchorUuid\":\"n%d\",\"uuids\":[", it->anchor);
            add_ids(out, it);
            buf_adds(out, "]}");
        }
        buf_adds(out, "}");
    } else if (it->is_tombstone) {
        buf_addf(out, ",\"subtype\":\"tombstone\",\"targetUuid\":\"n%d\"", it->list[0]);
    } else if (it->takes_out) {
        buf_adds(out, ",\"subtype\":\"snip\",\"removedUuids\":[");
        add_ids(out, it);
        buf_adds(out, "]");
    }
    buf_adds(out, ",\"message\":{");
    if (it->answer)
        buf_addf(out, "\"id\":\"m%d\",", it->answer);
    buf_addf(out,
             "\"content\":[{\"type\":\"%s\",\"input\":{\"uuid\":\"n0\"}}]},\"uuid\":\"n%d\"}\n",
             it->is_result ? "tool_result" : "text", i);
    if (below(w, 30) == 0)
        buf_adds(out, "{\"type\":\"user\",\"uuid\":\"n1\",\"message\":{\"torn\n");
}

static void world_make(struct world *w, uint64_t seed)
{
    unsigned steps;

    w->random = seed * 2654435761u + 7;
    w->count = 0;
    w->answers = 0;
    buf_clear(&w->text);
    add(w, ENTRY_USER, -1);
    steps = below(w, 25);
    for (unsigned i = 0; i < steps && !is_full(w); i++)
        add_something(w);
    for (int i = 0; i < w->count; i++)
        write_item(w, i);
}

/* ---- the model ---- */

struct model {
    const struct world *w;
    bool is_gone[MAX_NODES];
    bool has_child[MAX_NODES];
    /* Of the boundary that is tried; -1: none. */
    int keeper;
    int anchor;
    int kept[MAX_LIST], kept_len;
    int out[MAX_NODES], len;
    bool is_asked;
};

static bool is_link(const struct item *it)
{
    return it->kind != ENTRY_PROGRESS && it->kind != ENTRY_OTHER;
}

static int up_of(const struct model *m, int i)
{
    const struct item *it = &m->w->items[i];
    int up = it->parent;

    if (it->is_boundary && m->is_gone[i] && up < 0)
        up = it->logical;
    return up;
}

static int live_up(const struct model *m, int i)
{
    int up = up_of(m, i);

    while (up >= 0 && m->is_gone[up])
        up = up_of(m, up);
    return up;
}

static void model_removals(struct model *m, bool whole)
{
    for (int i = 0; i < m->w->count; i++) {
        const struct item *it = &m->w->items[i];

        if (!is_link(it))
            m->is_gone[i] = true;
        for (int j = 0; (it->is_tombstone || (it->takes_out && !whole)) && j < it->len; j++)
            m->is_gone[it->list[j]] = true;
    }
}

static void model_children(struct model *m)
{
    for (int i = 0; i < m->w->count; i++) {
        if (!m->is_gone[i] && !m->w->items[i].is_boundary && live_up(m, i) >= 0)
            m->has_child[live_up(m, i)] = true;
    }
    for (int i = m->w->count - 1; i >= 0; i--) {
        if (m->is_gone[i] || !m->w->items[i].is_boundary)
            continue;
        m->is_gone[i] = !m->has_child[i];
        if (!m->is_gone[i] && live_up(m, i) >= 0)
            m->has_child[live_up(m, i)] = true;
    }
}

static bool is_message(const struct item *it)
{
    return it->kind != ENTRY_SYSTEM || it->is_boundary;
}

static int model_newest(const struct model *m)
{
    for (int i = m->w->count - 1; i >= 0; i--) {
        if (m->is_gone[i] || m->has_child[i])
            continue;
        for (int up = i; up >= 0; up = live_up(m, up)) {
            if (is_message(&m->w->items[up]))
                return i;
        }
    }
    for (int i = m->w->count - 1; i >= 0; i--) {
        if (!m->is_gone[i] && is_message(&m->w->items[i]))
            return i;
    }
    for (int i = m->w->count - 1; i >= 0; i--) {
        if (!m->is_gone[i])
            return i;
    }
    return -1;
}

static int kept_place(const struct model *m, int i)
{
    for (int j = 0; j < m->kept_len; j++) {
        if (m->kept[j] == i)
            return j;
    }
    return -1;
}

static bool out_has(const struct model *m, int i)
{
    for (int j = 0; j < m->len; j++) {
        if (m->out[j] == i)
            return true;
    }
    return false;
}

/* From a node to its boundary, newest first; the boundary, or -1. */
static int model_walk(struct model *m, int i)
{
    while (i >= 0 && !out_has(m, i)) {
        int place = kept_place(m, i);
        int up;

        m->out[m->len++] = i;
        if (m->w->items[i].is_boundary)
            return i;
        up = live_up(m, i);
        if (place >= 0)
            up = place > 0 ? m->kept[place - 1] : m->anchor;
        else if (m->kept_len && up == m->anchor)
            up = m->kept[m->kept_len - 1];
        i = up;
    }
    return -1;
}

static void model_keep(struct model *m, int boundary)
{
    const struct item *b = &m->w->items[boundary];

    m->keeper = boundary;
    m->kept_len = 0;
    for (int i = 0; i < b->len; i++) {
        if (!m->is_gone[b->list[i]])
            m->kept[m->kept_len++] = b->list[i];
    }
    m->anchor = m->is_gone[b->anchor] ? live_up(m, b->anchor) : b->anchor;
    if (m->anchor < 0)
        m->anchor = boundary;
}

static void model_drop_kept(struct model *m, int from)
{
    int len = from;

    for (int i = from; i < m->len; i++) {
        if (kept_place(m, m->out[i]) < 0)
            m->out[len++] = m->out[i];
    }
    m->len = len;
}

static void model_chain(struct model *m, int leaf, bool whole)
{
    int before = m->w->count;

    while (leaf >= 0) {
        int from = m->len;
        int boundary = -1;
        int beyond;

        for (int b = before - 1, tries = 0; b >= 0 && tries < 16 && boundary < 0; b--) {
            int start = leaf;

            if (m->w->items[b].anchor < 0 || m->is_gone[b])
                continue;
            tries++;
            model_keep(m, b);
            if (leaf == m->anchor && m->kept_len && !m->is_asked)
                start = m->kept[m->kept_len - 1];
            boundary = model_walk(m, start);
            if (boundary != b) {
                boundary = -1;
                m->len = from;
            }
        }
        if (boundary < 0) {
            m->kept_len = 0;
            boundary = model_walk(m, leaf);
        }
        if (boundary < 0 || !whole)
            return;
        beyond = live_up(m, boundary);
        if (beyond < 0) {
            beyond = m->w->items[boundary].logical;
            if (m->is_gone[beyond])
                beyond = live_up(m, beyond);
        }
        if (beyond >= 0 && kept_place(m, beyond) >= 0)
            model_drop_kept(m, from);
        m->kept_len = 0;
        before = boundary;
        leaf = beyond;
    }
}

static int answer_of(const struct model *m, int i)
{
    const struct item *it = &m->w->items[i];
    int up = live_up(m, i);

    if (it->kind == ENTRY_ASSISTANT)
        return it->answer;
    if (!it->is_result || up < 0 || m->w->items[up].kind != ENTRY_ASSISTANT)
        return 0;
    return m->w->items[up].answer;
}

static void insert(struct model *m, int at, int node)
{
    memmove(m->out + at + 1, m->out + at, (size_t)(m->len - at) * sizeof(m->out[0]));
    m->out[at] = node;
    m->len++;
}

/* One node at a time: a block goes before the first later one of the run of blocks, a result before
 * the first later one of the following run of results. */
static void model_put_back(struct model *m, int leaf)
{
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < m->w->count; i++) {
            bool is_block = m->w->items[i].kind == ENTRY_ASSISTANT;
            int answer = m->is_gone[i] ? 0 : answer_of(m, i);
            int at = -1;
            int first;

            if (!answer || out_has(m, i) || is_block == (pass == 1))
                continue;
            for (int j = 0; j < m->len; j++) {
                if (m->w->items[m->out[j]].answer == answer)
                    at = j;
            }
            if (at < 0 || (m->is_asked && m->out[at] == leaf))
                continue;
            first = at + 1;
            if (is_block) {
                while (first > 0 && m->w->items[m->out[first - 1]].answer == answer)
                    first--;
            }
            while (first < m->len && m->out[first] < i &&
                   (is_block ? first <= at
                             : m->w->items[m->out[first]].is_result &&
                                   answer_of(m, m->out[first]) == answer &&
                                   !(m->is_asked && m->out[first] == leaf)))
                first++;
            insert(m, first, i);
        }
    }
}

static void model_run(struct model *m, const struct world *w, int asked, bool is_before, bool whole,
                      struct buf *out)
{
    int leaf;

    *m = (struct model){.w = w, .keeper = -1, .is_asked = asked >= 0};
    model_removals(m, whole);
    model_children(m);
    leaf = asked < 0 ? model_newest(m) : asked;
    if (asked >= 0 && (is_before || m->is_gone[asked]))
        leaf = live_up(m, asked);
    model_chain(m, leaf, whole);
    for (int i = 0, j = m->len - 1; i < j; i++, j--) {
        int swap = m->out[i];

        m->out[i] = m->out[j];
        m->out[j] = swap;
    }
    model_put_back(m, leaf);
    for (int i = 0; i < m->len; i++)
        buf_addf(out, "%sn%d", i ? " " : "", m->out[i]);
}

/* ---- both ---- */

static char path[] = "/tmp/tenax-chain-XXXXXX";

static void describe(struct load *l, struct buf *out)
{
    for (size_t i = 0; i < load_count(l); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        const struct json *root;
        struct str line;

        assert_int_equal(load_read(l, load_at(l, i)->offset, load_at(l, i)->len, &line, NULL), 0);
        assert_int_equal(json_parse(&arena, line, &root, NULL, NULL), 0);
        buf_addf(out, "%s%.*s", i ? " " : "", STR_ARG(json_get_str(root, "uuid")));
    }
}

static void check_world(struct world *w, uint64_t seed)
{
    static const struct load_tune tunes[] = {
        {0},
        {.part_bytes = 150, .window_bytes = 100, .threads = 1},
        {.part_bytes = 700, .threads = 3},
        {.part_bytes = 2000, .window_bytes = 16, .threads = 2},
    };
    static struct model model;
    int asked[] = {-1, -1, (int)below(w, (unsigned)w->count), (int)below(w, (unsigned)w->count)};

    assert_int_equal(file_replace(path, buf_str(&w->text), 0600, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(asked) * ARRAY_LEN(tunes); i++) {
        size_t what = i / ARRAY_LEN(tunes);
        CLEANUP(buf_release) struct buf want = BUF_INIT(1 << 14);
        CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 14);
        char leaf[16] = "";
        struct load_spec spec = {.is_before = what == 3, .whole = what == 1};
        struct load *l;
        struct err err;

        if (asked[what] >= 0)
            snprintf(leaf, sizeof(leaf), "n%d", asked[what]);
        spec.leaf = str_of(leaf);
        model_run(&model, w, asked[what], spec.is_before, spec.whole, &want);
        if (load_open_tuned(path, &spec, NULL, &tunes[i % ARRAY_LEN(tunes)], &l, &err) < 0)
            fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
        describe(l, &got);
        load_free(l);
        if (!str_eq(buf_str(&want), buf_str(&got)))
            fail_msg("seed %llu, spec %zu (leaf '%s'), way %zu:\n%s instead of\n%s\n%s",
                     (unsigned long long)seed, what, leaf, i % ARRAY_LEN(tunes), buf_cstr(&got),
                     buf_cstr(&want), buf_cstr(&w->text));
    }
}

static void test_random_worlds(void **state)
{
    static struct world w = {.text = BUF_INIT(1 << 20)};
    uint64_t count = getenv("TENAX_HEAVY") ? 20000 : 400;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    for (uint64_t seed = 1; seed <= count; seed++) {
        world_make(&w, seed);
        check_world(&w, seed);
    }
    unlink(path);
    buf_release(&w.text);
}

UNIT_TEST(chain)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_worlds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
