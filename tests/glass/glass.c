/*
 * glass: libvterm, looked at as text. Lines that scroll away are kept as text; a window that grows
 * gets them back as such, without their colors.
 */
#include "glass.h"

#include <stdint.h>

#include <vterm.h>

#include "base/mem.h"
#include "base/strv.h"
#include "base/utf8.h"

#define GLASS_MAX_RAW ((size_t)256 << 20)

struct glass {
    VTerm *vt;
    VTermScreen *screen;
    int cols, rows;
    struct strv past; /* oldest first */
    struct buf raw, answers, title;
    struct glass_cursor cursor;
    bool is_alternate;
};

/* --- Cells as text --- */

static void glass_add_cell(struct buf *ret, const VTermScreenCell *cell)
{
    if (!cell->chars[0] || cell->chars[0] == UINT32_MAX) {
        buf_addc(ret, ' ');
        return;
    }
    for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell->chars[i]; i++) {
        char bytes[4];

        buf_add(ret, str_make(bytes, utf8_encode(cell->chars[i], bytes)));
    }
}

static void glass_trim(struct buf *ret, size_t from)
{
    while (ret->len > from && ret->ptr[ret->len - 1] == ' ')
        buf_cut(ret, ret->len - 1, 1);
}

void glass_row(const struct glass *g, int row, struct buf *ret)
{
    size_t from = ret->len;
    VTermScreenCell cell;

    for (int col = 0; col<g->cols; col += cell.width> 1 ? cell.width : 1) {
        cell = (VTermScreenCell){.width = 1};
        vterm_screen_get_cell(g->screen, (VTermPos){.row = row, .col = col}, &cell);
        glass_add_cell(ret, &cell);
    }
    glass_trim(ret, from);
}

void glass_text(const struct glass *g, struct buf *ret)
{
    size_t end = ret->len;

    for (int row = 0; row < g->rows; row++) {
        size_t from = ret->len;

        glass_row(g, row, ret);
        buf_addc(ret, '\n');
        if (ret->len > from + 1)
            end = ret->len;
    }
    buf_cut(ret, end, ret->len - end);
}

void glass_scrollback(const struct glass *g, struct buf *ret)
{
    for (size_t i = 0; i < g->past.len; i++) {
        buf_adds(ret, g->past.ptr[i]);
        buf_addc(ret, '\n');
    }
}

/* --- Looks --- */

static void glass_add_color(struct buf *ret, const char *name, const VTermColor *color)
{
    if (VTERM_COLOR_IS_DEFAULT_FG(color) || VTERM_COLOR_IS_DEFAULT_BG(color))
        return;
    if (VTERM_COLOR_IS_INDEXED(color))
        buf_addf(ret, " %s%d", name, color->indexed.idx);
    else
        buf_addf(ret, " %s#%02x%02x%02x", name, color->rgb.red, color->rgb.green, color->rgb.blue);
}

static void glass_look(const VTermScreenCell *cell, struct buf *ret)
{
    if (cell->attrs.bold)
        buf_adds(ret, " bold");
    if (cell->attrs.italic)
        buf_adds(ret, " italic");
    if (cell->attrs.underline)
        buf_adds(ret, " underline");
    if (cell->attrs.strike)
        buf_adds(ret, " strike");
    if (cell->attrs.reverse)
        buf_adds(ret, " reverse");
    glass_add_color(ret, "", &cell->fg);
    glass_add_color(ret, "on ", &cell->bg);
}

static void glass_end_run(struct buf *ret, size_t start, int from, int to, struct buf *look)
{
    if (look->len)
        buf_addf(ret, "%s%d-%d%s", ret->len > start ? ", " : "", from, to, buf_cstr(look));
}

void glass_looks(const struct glass *g, int row, struct buf *ret)
{
    CLEANUP(buf_release) struct buf now = BUF_INIT(1000);
    CLEANUP(buf_release) struct buf look = BUF_INIT(1000);
    size_t start = ret->len;
    int from = 0;

    for (int col = 0; col < g->cols; col++) {
        VTermScreenCell cell = {0};

        vterm_screen_get_cell(g->screen, (VTermPos){.row = row, .col = col}, &cell);
        buf_clear(&look);
        glass_look(&cell, &look);
        if (cell.chars[0] == UINT32_MAX || str_eq(buf_str(&look), buf_str(&now)))
            continue;
        glass_end_run(ret, start, from, col - 1, &now);
        buf_clear(&now);
        buf_add(&now, buf_str(&look));
        from = col;
    }
    glass_end_run(ret, start, from, g->cols - 1, &now);
}

/* --- What libvterm tells --- */

static int glass_on_cursor(VTermPos pos, VTermPos old, int visible, void *arg)
{
    struct glass *g = arg;

    (void)old;
    (void)visible; /* told by its property */
    g->cursor.row = pos.row;
    g->cursor.col = pos.col;
    return 1;
}

static int glass_on_property(VTermProp prop, VTermValue *value, void *arg)
{
    struct glass *g = arg;

    if (prop == VTERM_PROP_CURSORVISIBLE)
        g->cursor.visible = value->boolean;
    else if (prop == VTERM_PROP_ALTSCREEN)
        g->is_alternate = value->boolean;
    else if (prop == VTERM_PROP_TITLE) {
        buf_clear(&g->title);
        buf_adds(&g->title, value->string);
    }
    return 1;
}

static int glass_on_push(int cols, const VTermScreenCell *cells, void *arg)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(GLASS_MAX_RAW);
    struct glass *g = arg;

    for (int col = 0; col<cols; col += cells[col].width> 1 ? cells[col].width : 1)
        glass_add_cell(&text, &cells[col]);
    glass_trim(&text, 0);
    strv_add(&g->past, buf_str(&text));
    return 1;
}

static int glass_on_pop(int cols, VTermScreenCell *cells, void *arg)
{
    struct glass *g = arg;
    struct str text;
    size_t at = 0;

    if (!g->past.len)
        return 0;
    text = str_of(g->past.ptr[g->past.len - 1]);
    for (int col = 0; col < cols; col++) {
        uint32_t code = 0;

        cells[col] = (VTermScreenCell){.width = 1};
        vterm_state_get_default_colors(vterm_obtain_state(g->vt), &cells[col].fg, &cells[col].bg);
        if (at < text.len)
            at += utf8_decode(str_from(text, at), &code);
        cells[col].chars[0] = code;
    }
    g->past.len--;
    mem_freep(&g->past.ptr[g->past.len]);
    return 1;
}

static void glass_on_answer(const char *bytes, size_t len, void *arg)
{
    struct glass *g = arg;

    buf_add(&g->answers, str_make(bytes, len));
}

static const VTermScreenCallbacks glass_callbacks = {
    .movecursor = glass_on_cursor,
    .settermprop = glass_on_property,
    .sb_pushline = glass_on_push,
    .sb_popline = glass_on_pop,
};

struct glass *glass_new(int cols, int rows)
{
    struct glass *g = mem_zalloc(sizeof(*g));

    g->cols = cols;
    g->rows = rows;
    g->cursor.visible = true;
    buf_init(&g->raw, GLASS_MAX_RAW);
    buf_init(&g->answers, GLASS_MAX_RAW);
    buf_init(&g->title, GLASS_MAX_RAW);
    g->vt = vterm_new(rows, cols);
    vterm_set_utf8(g->vt, 1);
    vterm_output_set_callback(g->vt, glass_on_answer, g);
    g->screen = vterm_obtain_screen(g->vt);
    vterm_screen_set_callbacks(g->screen, &glass_callbacks, g);
    vterm_screen_enable_altscreen(g->screen, 1);
    vterm_screen_reset(g->screen, 1);
    return g;
}

void glass_free(struct glass *g)
{
    if (!g)
        return;
    vterm_free(g->vt);
    strv_release(&g->past);
    buf_release(&g->raw);
    buf_release(&g->answers);
    buf_release(&g->title);
    mem_freep(&g);
}

static void glass_drop_bottom(struct glass *g)
{
    char bytes[64];
    int n = snprintf(bytes, sizeof(bytes), "\0337\033[%d;1H\033[2K\0338", g->rows);

    vterm_input_write(g->vt, bytes, (size_t)n);
}

void glass_resize(struct glass *g, int cols, int rows)
{
    /* Row by row, and as most terminals do it: what stands below the cursor is dropped first.
     * libvterm 0.1.4 would push rows out at the top, the cursor's among them, and then crash. */
    do {
        if (rows < g->rows && g->cursor.row < g->rows - 1 && !g->is_alternate)
            glass_drop_bottom(g);
        g->rows += rows > g->rows ? 1 : rows < g->rows ? -1 : 0;
        vterm_set_size(g->vt, g->rows, cols);
    } while (g->rows != rows);
    g->cols = cols;
}

void glass_feed(struct glass *g, struct str bytes)
{
    buf_add(&g->raw, bytes);
    vterm_input_write(g->vt, bytes.ptr, bytes.len);
    vterm_screen_flush_damage(g->screen);
}

void glass_answers(struct glass *g, struct buf *ret)
{
    buf_add(ret, buf_str(&g->answers));
    buf_clear(&g->answers);
}

int glass_cols(const struct glass *g)
{
    return g->cols;
}

int glass_rows(const struct glass *g)
{
    return g->rows;
}

struct str glass_raw(const struct glass *g)
{
    return buf_str(&g->raw);
}

struct glass_cursor glass_cursor(const struct glass *g)
{
    return g->cursor;
}

bool glass_is_alternate(const struct glass *g)
{
    return g->is_alternate;
}

struct str glass_title(const struct glass *g)
{
    return buf_str(&g->title);
}
