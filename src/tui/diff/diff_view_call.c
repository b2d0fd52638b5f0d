/*
 * diff_view_call: what a call would change, found by making the change in memory. The file is read
 * again for each preview; where it is too large for that, the call's own words are compared. The
 * lines of all hunks are gathered and their rows counted at once, which costs little; they are
 * drawn as they are looked at. UI thread.
 */
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "guard/patch.h"
#include "json/json.h"
#include "tools/edit.h"
#include "tools/edit_match.h"
#include "tools/notebook.h"
#include "tools/textfile.h"
#include "tui/diff/diff_draw.h"
#include "tui/diff/diff_view.h"

#define MAX_FILE                                                                                   \
    ((size_t)1 << 20) /* bytes on either side that are compared while somebody waits               \
                       */
#define MAX_EDITS 200 /* as in multi_edit.md */
#define CONTEXT 3

struct diff_preview {
    struct str tool;
    const struct json *input;
    struct textfile file;
    struct buf old, new;
    struct patch patch;
    VEC(struct diff_line) lines; /* of all hunks */
    VEC(size_t) ends;            /* where each hunk ends in them */
    size_t hunk;                 /* being drawn */
    struct diff_draw draw;
    size_t rows;  /* of all of it */
    size_t given; /* rows handed out */
};

static void gather_hunk(struct diff_preview *p, const struct patch_hunk *h)
{
    const struct patch *patch = &p->patch;
    size_t i = h->old_at;
    size_t j = h->new_at;

    while (i < h->old_at + h->old_len || j < h->new_at + h->new_len) {
        struct diff_line *l = vec_add(&p->lines);

        if (i < h->old_at + h->old_len && patch->is_deleted[i]) {
            *l = (struct diff_line){'-', i + 1, patch->olds.ptr[i]};
            i++;
        } else if (j < h->new_at + h->new_len && patch->is_added[j]) {
            *l = (struct diff_line){'+', j + 1, patch->news.ptr[j]};
            j++;
        } else {
            *l = (struct diff_line){' ', j + 1, patch->news.ptr[j]};
            i++;
            j++;
        }
        if (str_ends(l->text, STR("\r")))
            l->text.len--;
    }
    vec_push(&p->ends, p->lines.len);
}

static void open_hunk(struct diff_preview *p)
{
    size_t from = p->hunk ? p->ends.ptr[p->hunk - 1] : 0;

    if (p->hunk < p->ends.len)
        diff_draw_open(&p->draw, p->lines.ptr + from, p->ends.ptr[p->hunk] - from);
}

static void compare_texts(struct diff_preview *p, struct str old, struct str new,
                          const struct diff_view *how)
{
    size_t olds;
    size_t news;

    patch_make(&p->patch, old, new, CONTEXT);
    olds = p->patch.olds.len;
    news = p->patch.news.len;
    diff_draw_begin(&p->draw, how, olds > news ? olds : news);
    VEC_EACH(&p->patch.hunks, hunk) {
        gather_hunk(p, hunk);
    }
    p->rows = diff_draw_count(&p->draw, p->lines.ptr, p->lines.len);
    if (p->ends.len)
        p->rows += p->ends.len - 1; /* what parts them */
    open_hunk(p);
}

static bool preview_load(struct diff_preview *p, const char *dir, struct str path)
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
static bool preview_edits(struct diff_preview *p, const struct edit *edits, size_t count)
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
static size_t gather_edits(const struct diff_preview *p, struct edit *ret)
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

static bool compare_edits(struct diff_preview *p, const char *dir, const struct diff_view *how)
{
    struct edit edits[MAX_EDITS];
    size_t count = gather_edits(p, edits);

    if (preview_load(p, dir, how->path) && preview_edits(p, edits, count)) {
        compare_texts(p, p->file.text, buf_str(&p->new), how);
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
    compare_texts(p, buf_str(&p->old), buf_str(&p->new), how);
    return count > 0;
}

static bool compare_write(struct diff_preview *p, const char *dir, const struct diff_view *how)
{
    struct str content = json_get_str(p->input, "content");

    if (content.len > MAX_FILE || !preview_load(p, dir, how->path))
        return false;
    compare_texts(p, p->file.text, content, how);
    return true;
}

/* A cell's source before and after. */
static bool compare_notebook(struct diff_preview *p, const char *dir, const struct diff_view *how)
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
    compare_texts(p, buf_str(&p->old), buf_str(&p->new), &cell_view);
    return true;
}

struct diff_preview *diff_preview_new(struct str tool, const struct json *input, const char *dir,
                                      const struct diff_view *how)
{
    static const struct {
        const char *tool, *path;
        bool (*compare)(struct diff_preview *p, const char *dir, const struct diff_view *how);
    } rows[] = {
        {"Edit", "file_path", compare_edits},
        {"MultiEdit", "file_path", compare_edits},
        {"Write", "file_path", compare_write},
        {"NotebookEdit", "notebook_path", compare_notebook},
    };
    struct diff_preview *p = mem_zalloc(sizeof(*p));
    struct diff_view view = *how;
    bool is_made = false;

    p->tool = tool;
    p->input = input;
    buf_init(&p->old, MAX_FILE * 2);
    buf_init(&p->new, MAX_FILE * 2);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_is(tool, rows[i].tool)) {
            view.path = json_get_str(input, rows[i].path);
            is_made = rows[i].compare(p, dir, &view);
        }
    }
    if (is_made)
        return p;
    diff_preview_free(p);
    return NULL;
}

void diff_preview_free(struct diff_preview *p)
{
    if (!p)
        return;
    diff_draw_release(&p->draw);
    vec_release(&p->lines);
    vec_release(&p->ends);
    patch_release(&p->patch);
    textfile_release(&p->file);
    buf_release(&p->old);
    buf_release(&p->new);
    mem_freep(&p);
}

size_t diff_preview_rows(const struct diff_preview *p)
{
    return p->rows;
}

void diff_preview_draw(struct diff_preview *p, size_t rows, struct lines *ret)
{
    const struct lines *drawn = &p->draw.rows;

    while (p->hunk < p->ends.len && lines_count(drawn) < rows && diff_draw_go(&p->draw, rows)) {
        p->hunk++;
        open_hunk(p);
    }
    if (p->hunk == p->ends.len)
        p->rows = lines_count(drawn);
    for (; p->given < rows && p->given < lines_count(drawn); p->given++)
        lines_add(ret, lines_at(drawn, p->given));
}
