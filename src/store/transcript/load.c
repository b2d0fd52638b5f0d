/*
 * Loads a transcript: the scan of its bytes, the chain, the facts, in this order. If the chain
 * needs lines that the scan skipped, the scan goes further back and the chain is built again. The
 * caller's thread, and those of the scan while it runs.
 */
#include "store/transcript/load.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "json/json.h"
#include "store/transcript/chain.h"
#include "store/transcript/facts.h"
#include "store/transcript/load_tune.h"
#include "store/transcript/scan.h"
#include "store/transcript/window.h"
#include "sync/cancel.h"

#define PEEK_BYTES ((uint64_t)64 << 10) /* at each end of the file */

struct load {
    struct line_source source;
    struct load_facts facts;
    struct strv warnings;
    VEC(struct load_entry) entries;
    struct buf leaf;
    struct buf line; /* load_read() */
};

static void load_freep(struct load **l)
{
    load_free(*l);
}

void load_free(struct load *l)
{
    if (!l)
        return;
    source_release(&l->source);
    load_facts_release(&l->facts);
    strv_release(&l->warnings);
    vec_release(&l->entries);
    buf_release(&l->leaf);
    buf_release(&l->line);
    mem_freep(&l);
}

static void load_take_entries(struct load *l, const struct chain *c)
{
    bool has_kept = c->has_boundary && !c->spec->whole;

    VEC_EACH(&c->entries, it) {
        const struct node *n = &c->nodes[*it];
        unsigned flags = n->flags & 0xff;

        if (has_kept && n->offset < c->boundary)
            flags |= LOAD_PRESERVED;
        *vec_add(&l->entries) = (struct load_entry){
            .offset = n->offset, .len = n->len, .flags = (uint16_t)flags, .kind = n->kind};
    }
}

/* Reads the last line again for its uuid, since the scan has only the hash. If the line turns out
 * to be invalid, it is skipped, and the next entry is not attached to it. */
static int load_take_leaf(struct load *l, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;

    for (; l->entries.len; l->entries.len--) {
        const struct load_entry *last = &l->entries.ptr[l->entries.len - 1];
        const struct json *root;
        struct str line;

        if (load_read(l, last->offset, last->len, &line, err) < 0)
            return -1;
        arena_reset(&arena);
        if (json_parse(&arena, line, &root, /*ret_info=*/NULL, /*err=*/NULL) == 0) {
            buf_add(&l->leaf, json_get_str(root, "uuid"));
            return 0;
        }
        l->facts.skipped++;
    }
    return 0;
}

static int load_build(struct load *l, struct scan *s, const struct load_spec *spec,
                      struct chain *ret, struct err *err)
{
    if (scan_run(s, spec->whole, err) < 0)
        return -1;
    for (;;) {
        if (chain_build(ret, s, spec, err) < 0)
            return -1;
        if (!ret->wants_more || scan_is_whole(s))
            break;
        chain_release(ret);
        *ret = (struct chain){0};
        if (scan_widen(s, err) < 0)
            return -1;
    }
    strv_add_all(&l->warnings, &ret->warnings);
    load_take_entries(l, ret);
    return load_take_leaf(l, err);
}

static int load_fill(struct load *l, const char *path, const struct load_spec *spec,
                     struct cancel *cancel, const struct load_tune *tune, struct err *err)
{
    CLEANUP(head_release) struct head head = {0};
    CLEANUP(scan_release) struct scan scan = {0};
    CLEANUP(chain_release) struct chain chain = {0};

    if (head_read(&head, &l->source, /*max_bytes=*/UINT64_MAX, err) < 0)
        return -1;
    scan_init(&scan, &l->source, head.is_agent, cancel,
              tune && tune->part_bytes ? tune->part_bytes : SCAN_PART);
    if (tune) {
        scan.max_threads = tune->threads;
        scan.window_bytes = tune->window_bytes;
    }
    if (load_build(l, &scan, spec, &chain, err) < 0)
        return -1;
    facts_merge(&l->facts, &scan, &chain, &head, str_of(path_base(path)));
    if (l->facts.skipped)
        strv_addf(&l->warnings, "%llu line%s of the transcript %s no entry and %s passed over",
                  (unsigned long long)l->facts.skipped, l->facts.skipped == 1 ? "" : "s",
                  l->facts.skipped == 1 ? "is" : "are", l->facts.skipped == 1 ? "was" : "were");
    return cancel_check(cancel, err);
}

int load_open_tuned(const char *path, const struct load_spec *spec, struct cancel *cancel,
                    const struct load_tune *tune, struct load **ret, struct err *err)
{
    static const struct load_spec newest = {0};
    CLEANUP(load_freep) struct load *l = mem_zalloc(sizeof(*l));

    l->source.fd = -1;
    _Static_assert(LOAD_MAX_ID == WINDOW_TEXT, "the text taken out of a line");
    buf_init(&l->leaf, LOAD_MAX_ID);
    buf_init(&l->line, LINE_MAX_BYTES + 1);
    if (source_open(&l->source, path, err) < 0)
        return -1;
    if (load_fill(l, path, spec ? spec : &newest, cancel, tune, err) < 0)
        return -1;
    *ret = TAKE_PTR(l);
    return 0;
}

int load_open(const char *path, const struct load_spec *spec, struct cancel *cancel,
              struct load **ret, struct err *err)
{
    return load_open_tuned(path, spec, cancel, /*tune=*/NULL, ret, err);
}

const struct load_facts *load_facts(const struct load *l)
{
    return &l->facts;
}

const struct strv *load_warnings(const struct load *l)
{
    return &l->warnings;
}

size_t load_count(const struct load *l)
{
    return l->entries.len;
}

const struct load_entry *load_at(const struct load *l, size_t i)
{
    return &l->entries.ptr[i];
}

struct str load_leaf(const struct load *l)
{
    return buf_str(&l->leaf);
}

int load_read(struct load *l, uint64_t offset, uint32_t len, struct str *ret, struct err *err)
{
    if (source_read(&l->source, offset, len, &l->line, err) < 0)
        return -1;
    *ret = buf_str(&l->line);
    return 0;
}

/* ---- for lists ---- */

int load_peek(const char *path, struct load_facts *ret, struct err *err)
{
    CLEANUP(source_release) struct line_source source = {.fd = -1};
    CLEANUP(head_release) struct head head = {0};
    CLEANUP(window_release) struct window w = {0};
    CLEANUP(scan_release) struct scan scan = {0};
    struct load_facts facts = {0};

    if (source_open(&source, path, err) < 0 || head_read(&head, &source, PEEK_BYTES, err) < 0)
        return -1;
    /* Two parts only if there is something between them; otherwise a line in the middle would be
     * cut. */
    scan_init(&scan, &source, head.is_agent, /*cancel=*/NULL,
              source.size > 2 * PEEK_BYTES ? source.size / 2 + 1 : source.size + 1);
    if (scan.part_count == 2) {
        scan.parts[0].end = PEEK_BYTES;
        scan.parts[1].begin = source.size - PEEK_BYTES;
    }
    window_init(&w, source.fd, source.size, WINDOW_BYTES);
    for (size_t i = 0; i < scan.part_count; i++) {
        w.end = scan.parts[i].end; /* a long line is not followed */
        if (scan_part(&scan, &w, LINE_ALL, &scan.parts[i], err) < 0)
            return -1;
    }
    facts_merge(&facts, &scan, /*chain=*/NULL, &head, str_of(path_base(path)));
    vec_release(&facts.replacements);
    vec_release(&facts.queue);
    vec_release(&facts.file_history);
    vec_release(&facts.collapses);
    facts.skipped = 0; /* lines that are cut here are not invalid */
    *ret = facts;
    return 0;
}

/* Whether one of the lines between these two is an entry. */
static bool has_entry(struct window *w, uint64_t begin, uint64_t end)
{
    struct entry_line line;

    if (window_seek(w, begin, end, /*is_inside=*/begin > 0, /*err=*/NULL) < 0)
        return false;
    while (window_line(w, /*err=*/NULL) > 0) {
        if (line_scan(w, LINE_ALL, &line) && line.has_kind)
            return true;
    }
    return false;
}

bool load_is_transcript(const char *path)
{
    CLEANUP(source_release) struct line_source source = {.fd = -1};
    CLEANUP(window_release) struct window w = {0};
    uint64_t tail;

    if (source_open(&source, path, /*err=*/NULL) < 0)
        return false;
    window_init(&w, source.fd, source.size, WINDOW_BYTES);
    tail = source.size > PEEK_BYTES ? source.size - PEEK_BYTES : 0;
    return has_entry(&w, 0, PEEK_BYTES < source.size ? PEEK_BYTES : source.size) ||
           (tail && has_entry(&w, tail, source.size));
}
