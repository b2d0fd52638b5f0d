/*
 * diff_view_call: what a call would change, found by making the change in memory. The file is read
 * again each time; where it is too large for that, the call's own words are compared. UI thread.
 */
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "json/json.h"
#include "tools/edit.h"
#include "tools/edit_match.h"
#include "tools/notebook.h"
#include "tools/patch.h"
#include "tools/textfile.h"
#include "tui/diff_draw.h"
#include "tui/diff_view.h"

#define MAX_FILE                                                                                   \
    ((size_t)1 << 20) /* bytes on either side that are compared while somebody waits               \
                       */
#define MAX_EDITS 200 /* as in multi_edit.md */
#define CONTEXT 3

struct preview {
    struct str tool;
    const struct json *input;
    struct textfile file;
    struct buf old, new;
};

static void draw_patch_hunk(struct diff_draw *d, const struct patch *p, const struct patch_hunk *h)
{
    VEC(struct diff_line) lines = VEC_INIT;
    size_t room = diff_draw_room(d);
    size_t i = h->old_at;
    size_t j = h->new_at;

    while ((i < h->old_at + h->old_len || j < h->new_at + h->new_len) && lines.len < room) {
        struct diff_line *l = vec_add(&lines);

        if (i < h->old_at + h->old_len && p->is_deleted[i]) {
            *l = (struct diff_line){'-', i + 1, p->olds.ptr[i]};
            i++;
        } else if (j < h->new_at + h->new_len && p->is_added[j]) {
            *l = (struct diff_line){'+', j + 1, p->news.ptr[j]};
            j++;
        } else {
            *l = (struct diff_line){' ', j + 1, p->news.ptr[j]};
            i++;
            j++;
        }
        if (str_ends(l->text, STR("\r")))
            l->text.len--;
    }
    diff_draw_hunk(d, lines.ptr, lines.len);
    vec_release(&lines);
}

/* Lines that draw_patch_hunk() would give: each line of either side, those of both once. */
static size_t patch_total(const struct patch *p)
{
    size_t total = 0;

    VEC_EACH(&p->hunks, h) {
        total += h->new_len;
        for (size_t i = h->old_at; i < h->old_at + h->old_len; i++)
            total += p->is_deleted[i];
    }
    return total;
}

static void draw_texts(struct str old, struct str new, const struct diff_view *how,
                       struct lines *ret)
{
    struct patch p;
    struct diff_draw d;

    patch_make(&p, old, new, CONTEXT);
    diff_draw_begin(&d, how, p.olds.len > p.news.len ? p.olds.len : p.news.len);
    VEC_EACH(&p.hunks, hunk) {
        if (!d.is_full)
            draw_patch_hunk(&d, &p, hunk);
    }
    diff_draw_end(&d, patch_total(&p), ret);
    patch_release(&p);
}

static bool preview_load(struct preview *p, const char *dir, struct str path)
{
    CLEANUP(mem_freep) char *name = mem_dup(path.ptr, path.len);
    CLEANUP(mem_freep) char *full = NULL;
    struct stat st;
    struct err err;

    if (!path.len || memchr(path.ptr, 0, path.len))
        return false;
    full = *name == '/'   ? mem_dup(name, path.len)
           : *name == '~' ? path_expand_home(name)
                          : path_join(dir, name);
    if (stat(full, &st) == 0 && (!S_ISREG(st.st_mode) || st.st_size > (off_t)MAX_FILE))
        return false;
    return textfile_load(full, &p->file, &err) == 0 && !text_is_binary(p->file.text);
}

/* All edits in turn; false when one does not fit. */
static bool preview_edits(struct preview *p, const struct edit *edits, size_t count)
{
    CLEANUP(buf_release) struct buf why = BUF_INIT(4096);

    buf_add(&p->new, p->file.text);
    for (size_t i = 0; i < count; i++) {
        struct buf next = BUF_INIT(MAX_FILE * 2);
        size_t places;
        bool is_made = true;

        if (edits[i].old.len)
            is_made = edit_match_apply(buf_str(&p->new), &edits[i], &next, &places, &why) == 0;
        else if (!p->new.len)
            buf_add(&next, edits[i].new);
        else
            is_made = false;
        if (!is_made || next.over) {
            buf_release(&next);
            return false;
        }
        buf_move(&p->new, &next);
    }
    return count > 0;
}

/* 0: there are none, or more than can be shown. */
static size_t gather_edits(const struct preview *p, struct edit *ret)
{
    const struct json *edits = json_get(p->input, "edits");
    size_t count = 0;

    if (!str_is(p->tool, "MultiEdit")) {
        ret[0] = edit_from(p->input);
        return 1;
    }
    if (json_len(edits) > MAX_EDITS)
        return 0;
    JSON_EACH(edits, edit) {
        ret[count++] = edit_from(edit);
    }
    return count;
}

static bool draw_edits(struct preview *p, const char *dir, const struct diff_view *how,
                       struct lines *ret)
{
    struct edit edits[MAX_EDITS];
    size_t count = gather_edits(p, edits);

    if (preview_load(p, dir, how->path) && preview_edits(p, edits, count)) {
        draw_texts(p->file.text, buf_str(&p->new), how, ret);
        return true;
    }
    /* The edit may not fit, or the file be too large: at least what it says. */
    buf_clear(&p->new);
    for (size_t i = 0; i < count; i++) {
        buf_add(&p->old, edits[i].old);
        buf_addc(&p->old, '\n');
        buf_add(&p->new, edits[i].new);
        buf_addc(&p->new, '\n');
    }
    if (p->old.over || p->new.over)
        return false;
    draw_texts(buf_str(&p->old), buf_str(&p->new), how, ret);
    return count > 0;
}

static bool draw_write(struct preview *p, const char *dir, const struct diff_view *how,
                       struct lines *ret)
{
    struct str content = json_get_str(p->input, "content");

    if (content.len > MAX_FILE || !preview_load(p, dir, how->path))
        return false;
    draw_texts(p->file.text, content, how, ret);
    return true;
}

/* A cell's source before and after. */
static bool draw_notebook(struct preview *p, const char *dir, const struct diff_view *how,
                          struct lines *ret)
{
    CLEANUP(notebook_release) struct notebook nb = {0};
    struct str mode = json_get_str(p->input, "edit_mode");
    struct str id = json_get_str(p->input, "cell_id");
    struct diff_view cell_view = *how;
    const struct json *cell;
    struct err err;
    size_t index;

    if (!preview_load(p, dir, how->path) || notebook_parse(&nb, p->file.text, &err) < 0)
        return false;
    cell = notebook_find(&nb, id, &index);
    if (!str_is(mode, "insert")) {
        if (!cell)
            return false;
        cell_add_source(cell, &p->old);
    }
    if (!str_is(mode, "delete"))
        buf_add(&p->new, json_get_str(p->input, "new_source"));
    if (p->old.over || p->new.over)
        return false;
    if (!str_is(json_get_str(p->input, "cell_type"), "markdown"))
        cell_view.path = STR("cell.py");
    draw_texts(buf_str(&p->old), buf_str(&p->new), &cell_view, ret);
    return true;
}

bool diff_view_of_call(struct str tool, const struct json *input, const char *dir,
                       const struct diff_view *how, struct lines *ret)
{
    static const struct {
        const char *tool, *path;
        bool (*draw)(struct preview *p, const char *dir, const struct diff_view *how,
                     struct lines *ret);
    } rows[] = {
        {"Edit", "file_path", draw_edits},
        {"MultiEdit", "file_path", draw_edits},
        {"Write", "file_path", draw_write},
        {"NotebookEdit", "notebook_path", draw_notebook},
    };
    struct preview p = {
        .tool = tool,
        .input = input,
        .old = BUF_INIT(MAX_FILE * 2),
        .new = BUF_INIT(MAX_FILE * 2),
    };
    struct diff_view view = *how;
    bool is_drawn = false;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_is(tool, rows[i].tool)) {
            view.path = json_get_str(input, rows[i].path);
            is_drawn = rows[i].draw(&p, dir, &view, ret);
        }
    }
    textfile_release(&p.file);
    buf_release(&p.old);
    buf_release(&p.new);
    return is_drawn;
}
