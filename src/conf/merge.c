/*
 * merge: all sources side by side, one key at a time.
 *
 * Instead of folding one document after the other into a tree of our own, each step holds the
 * values that all sources have at one path and writes what becomes of them. A key is written when
 * the first source that has it is visited; whether an earlier one had it is a lookup in parsed
 * JSON, which is hashed, so the cost is (keys x sources) and never keys squared. Runs on whatever
 * thread loads the settings.
 */
#include "conf/merge.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "conf/check.h"
#include "conf/keys.h"
#include "conf/source.h"
#include "json/json.h"
#include "json/jw.h"

/* What one source has at a path. */
struct merge_part {
    const struct source *source;
    const struct json *value;
};

struct merge {
    const struct check *check;
    struct arena *arena; /* origins stay here */
    struct jw out;
    struct map *origins;
    struct buf path;
    struct buf scratch;
    unsigned depth;
};

static void merge_parts(struct merge *m, const struct key *k, const struct merge_part *parts,
                        size_t n);

static void merge_note_origin(struct merge *m, const struct merge_part *p)
{
    /* A key of a megabyte with a hundred thousand members would be kept as many times. */
    if (m->path.len > MERGE_MAX_PATH)
        return;
    buf_clear(&m->scratch);
    source_add_where(p->source, p->value, &m->scratch);
    map_set(m->origins, buf_str(&m->path), arena_cstr(m->arena, buf_str(&m->scratch)));
}

static bool merge_uses(const struct merge *m, const struct json *v)
{
    return v && !check_is_left_out(m->check, v);
}

/* parts are objects. At the top k is NULL and members are looked up among the top-level rows. */
static void merge_objects(struct merge *m, const struct key *k, const struct merge_part *parts,
                          size_t n)
{
    CLEANUP(mem_freep) struct merge_part *same = mem_alloc(n * sizeof(*same));
    size_t path_len = m->path.len;

    m->depth++;
    jw_object(&m->out);
    for (size_t i = 0; i < n; i++) {
        JSON_EACH(parts[i].value, v) {
            size_t count = 0;

            if (!merge_uses(m, v))
                continue;
            for (size_t j = 0; j < n; j++) {
                const struct json *other = j == i ? v : json_get_key(parts[j].value, json_key(v));

                if (merge_uses(m, other))
                    same[count++] = (struct merge_part){parts[j].source, other};
            }
            if (same[0].value != v)
                continue; /* written when that source was visited */
            buf_adds(&m->path, path_len ? "." : "");
            buf_add(&m->path, json_key(v));
            jw_key_str(&m->out, json_key(v));
            merge_parts(m, k || m->depth == 1 ? key_child(k, json_key(v)) : NULL, same, count);
            buf_cut(&m->path, path_len, m->path.len - path_len);
        }
    }
    jw_object_end(&m->out);
    m->depth--;
}

/* parts are arrays. Equal elements are those with equal compact text; one that a managed file has
 * too is that file's, so that no copy below it weakens what binds. */
static void merge_arrays(struct merge *m, const struct merge_part *parts, size_t n)
{
    CLEANUP(map_release) struct map seen = MAP_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    size_t path_len = m->path.len;

    jw_array(&m->out);
    for (size_t i = 0; i < n; i++) {
        JSON_EACH(parts[i].value, v) {
            struct jw w;
            bool managed = parts[i].source->level == LEVEL_MANAGED;
            uintptr_t old; /* twice its number, from 1, and whether it is managed */

            if (!merge_uses(m, v))
                continue;
            buf_clear(&text);
            jw_init(&w, &text, 0);
            jw_json(&w, v);
            old = (uintptr_t)map_get(&seen, buf_str(&text));
            if (old && (!managed || old & 1))
                continue;
            buf_addf(&m->path, ".%zu", old ? (size_t)old / 2 - 1 : seen.len);
            merge_note_origin(m, &(struct merge_part){parts[i].source, v});
            buf_cut(&m->path, path_len, m->path.len - path_len);
            map_set(&seen, buf_str(&text), (void *)((old ? old : 2 * (seen.len + 1)) | managed));
            if (!old)
                jw_raw(&m->out, buf_str(&text));
        }
    }
    jw_array_end(&m->out);
}

/* Writes what becomes of the values that the sources have at one path. */
static void merge_parts(struct merge *m, const struct key *k, const struct merge_part *parts,
                        size_t n)
{
    const struct merge_part *top = &parts[n - 1];
    enum json_type type = json_type(top->value);
    size_t from = n - 1;

    /* Where a value may have several types, only those of the winner's type have a part in it. */
    while (from && json_is(parts[from - 1].value, type))
        from--;
    if (k && (k->flags & KEY_WHOLE))
        from = n - 1;
    if (m->path.len)
        merge_note_origin(m, top);
    if (type == JSON_OBJECT && m->depth < MERGE_MAX_DEPTH)
        merge_objects(m, k, parts + from, n - from);
    else if (type == JSON_ARRAY)
        merge_arrays(m, parts + from, n - from);
    else
        jw_json(&m->out, top->value);
}

void merge_sources(const struct source *list, size_t count, const struct check *check,
                   struct arena *arena, struct buf *ret_json, struct map *origins)
{
    struct merge m = {
        .check = check,
        .arena = arena,
        .origins = origins,
        .path = BUF_INIT(BUF_NO_LIMIT),
        .scratch = BUF_INIT(BUF_NO_LIMIT),
    };
    CLEANUP(mem_freep) struct merge_part *parts = mem_alloc((count + 1) * sizeof(*parts));
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (list[i].root)
            parts[n++] = (struct merge_part){&list[i], list[i].root};
    jw_init(&m.out, ret_json, 0);
    if (n)
        merge_objects(&m, /*k=*/NULL, parts, n);
    else
        buf_adds(ret_json, "{}");
    buf_release(&m.path);
    buf_release(&m.scratch);
}
