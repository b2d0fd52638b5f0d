/*
 * codex_diff: turn/diff/updated: what a turn has changed so far, as one diff. The loop's thread.
 *
 * A file is compared as it is on the disk with the text that the turn's first change of it found.
 */
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/mem.h"
#include "guard/patch.h"
#include "json/json.h"
#include "proto/codex/codex_state.h"

#define DIFF_MAX_FILES 200
#define DIFF_MAX_FILE ((size_t)4 << 20)
#define DIFF_CONTEXT 3

struct diff_file {
    struct buf path;
    struct buf old;   /* as the turn found it */
    struct buf hunks; /* instead, of a file whose old text is unknown: its changes in order */
    bool is_new;
};

static void file_free(struct diff_file *f)
{
    buf_release(&f->path);
    buf_release(&f->old);
    buf_release(&f->hunks);
    mem_freep(&f);
}

void codex_diff_clear(struct codex_view *v)
{
    while (v->changed.len)
        file_free(v->changed.ptr[--v->changed.len]);
    buf_clear(&v->diff);
}

void codex_diff_release(struct codex_view *v)
{
    codex_diff_clear(v);
    vec_release(&v->changed);
    buf_release(&v->diff);
}

static struct diff_file *file_of(struct codex_view *v, struct str path)
{
    struct diff_file *f;

    VEC_EACH(&v->changed, it) {
        if (str_eq(path, buf_str(&(*it)->path)))
            return *it;
    }
    if (v->changed.len == DIFF_MAX_FILES)
        return NULL;
    f = mem_zalloc(sizeof(*f));
    buf_init(&f->path, DIFF_MAX_FILE);
    buf_init(&f->old, DIFF_MAX_FILE);
    buf_init(&f->hunks, DIFF_MAX_FILE);
    buf_add(&f->path, path);
    vec_push(&v->changed, f);
    return f;
}

/* The result of a change. */
static void add_change(struct codex_view *v, const struct json *data)
{
    const struct json *original = json_get(data, "originalFile");
    struct str path = json_get_str(data, "filePath");
    size_t known = v->changed.len;
    struct diff_file *f = path.len ? file_of(v, path) : NULL;

    if (!f)
        return;
    if (known < v->changed.len) { /* the first one */
        f->is_new = str_is(json_get_str(data, "type"), "create");
        buf_add(&f->old, json_str(original));
        if (!f->is_new && !json_is(original, JSON_STRING))
            items_add_hunks(json_get(data, "structuredPatch"), &f->hunks);
    } else if (f->hunks.len) {
        items_add_hunks(json_get(data, "structuredPatch"), &f->hunks);
    }
}

static void compare(struct str old, struct str new, struct buf *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf hunks = BUF_INIT(CODEX_MAX_TEXT);
    const struct json *list = NULL;
    struct patch p = {0};
    struct jw w;

    jw_init(&w, &hunks, JW_CLEAN);
    patch_make(&p, old, new, DIFF_CONTEXT);
    patch_write(&p, &w);
    patch_release(&p);
    (void)json_parse(&arena, buf_str(&hunks), &list, /*ret_info=*/NULL, /*err=*/NULL);
    items_add_hunks(list, ret);
}

static void add_file(const struct diff_file *f, const char *dir, struct buf *ret)
{
    CLEANUP(buf_release) struct buf now = BUF_INIT(DIFF_MAX_FILE);
    CLEANUP(buf_release) struct buf hunks = BUF_INIT(CODEX_MAX_TEXT);
    CLEANUP(buf_release) struct buf path = BUF_INIT(DIFF_MAX_FILE);
    struct str name = buf_str(&f->path);
    bool is_gone;

    buf_add(&path, buf_str(&f->path));
    is_gone = file_slurp(buf_cstr(&path), DIFF_MAX_FILE, &now, /*err=*/NULL) < 0;
    if (f->hunks.len)
        buf_add(&hunks, buf_str(&f->hunks));
    else
        compare(buf_str(&f->old), buf_str(&now), &hunks);
    if (!hunks.len && !(f->is_new && !is_gone)) /* it is as it was */
        return;
    if (str_starts(name, str_of(dir)))
        name = str_from(name, strlen(dir));
    while (str_starts(name, STR("/")))
        name = str_from(name, 1);
    buf_addf(ret, "diff --git a/%.*s b/%.*s\n", STR_ARG(name), STR_ARG(name));
    if (f->is_new)
        buf_adds(ret, "new file mode 100644\n--- /dev/null\n");
    else
        buf_addf(ret, "--- a/%.*s\n", STR_ARG(name));
    if (is_gone)
        buf_adds(ret, "+++ /dev/null\n");
    else
        buf_addf(ret, "+++ b/%.*s\n", STR_ARG(name));
    buf_add(ret, buf_str(&hunks));
}

void codex_diff_say(struct codex_view *v, const struct codex_turn *t, const struct codex_item *it)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf diff = BUF_INIT(CODEX_MAX_TEXT);
    const struct json *data = NULL;
    struct codex_note n;
    struct jw *w;

    if (it->kind != ITEM_FILES || it->status != ITEM_COMPLETED ||
        json_parse(&arena, buf_str(&it->data), &data, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    add_change(v, data);
    VEC_EACH(&v->changed, f) {
        add_file(*f, v->items.dir, &diff);
    }
    if (diff.over || str_eq(buf_str(&diff), buf_str(&v->diff)))
        return;
    buf_move(&v->diff, &diff);
    w = codex_begin(&n, v, "turn/diff/updated");
    jw_kstr(w, "turnId", buf_str(&t->id));
    jw_kstr(w, "diff", buf_str(&v->diff));
    codex_end(&n);
}
