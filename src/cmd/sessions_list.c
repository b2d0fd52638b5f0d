/*
 * sessions list: one line each, newest first; or JSON. Main thread.
 */
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/strv.h"
#include "base/utf8.h"
#include "cmd/cmd.h"
#include "cmd/sessions.h"
#include "json/jw.h"
#include "store/hold.h"
#include "store/index.h"

#define SHORT_ID 8
#define AGE_CHARS 8
#define COUNT_CHARS 8
#define SIZE_CHARS 7
#define FOLDER_CHARS 30
#define BRANCH_CHARS 16
#define TITLE_CHARS 100 /* where the width is not known */
#define TITLE_LEAST 20
#define SAY_BYTES ((size_t)32 << 10) /* printed at a time, to limit memory */

struct table {
    struct buf out;
    struct buf cell;  /* the one in the making */
    struct strv open; /* ids of locked sessions */
    bool has_folder;
    bool has_branch;
    size_t id_chars;
    size_t title_chars;
};

/* How many characters of an id are shown: enough to be unique. Uses a hash table of the ids seen so
 * far with twice as many slots; no id is 0. */
static size_t table_id_chars(const struct index *ix)
{
    CLEANUP(mem_freep) uint64_t *seen = NULL;
    size_t slots = 16;

    _Static_assert(SHORT_ID == sizeof(*seen), "a beginning is compared as a number");
    while (slots < 2 * ix->rows.len)
        slots *= 2;
    seen = mem_zalloc(slots * sizeof(*seen));
    VEC_EACH(&ix->rows, row) {
        uint64_t begin;
        size_t at;

        memcpy(&begin, row->id.ptr, SHORT_ID);
        at = (size_t)(begin * 0x9e3779b97f4a7c15 >> 32) & (slots - 1);
        for (; seen[at]; at = (at + 1) & (slots - 1)) {
            if (seen[at] == begin)
                return ID_UUID_LEN;
        }
        seen[at] = begin;
    }
    return SHORT_ID;
}

static void add_age(struct buf *out, int64_t time_ms, int64_t now_ms)
{
    static const struct {
        int64_t minutes; /* from there on the next is used */
        int64_t of;      /* length of the unit in minutes */
        const char *ago;
    } units[] = {
        {60, 1, "m ago"},
        {48 * 60, 60, "h ago"},
        {60 * 24 * 60, 24 * 60, "d ago"},
        {INT64_MAX, 7 * 24 * 60, "w ago"},
    };
    int64_t minutes = (now_ms - time_ms) / 60000;
    size_t unit = 0;

    if (minutes < 1) {
        buf_adds(out, "now");
        return;
    }
    while (minutes >= units[unit].minutes && unit + 1 < ARRAY_LEN(units))
        unit++;
    buf_addi(out, minutes / units[unit].of);
    buf_adds(out, units[unit].ago);
}

/* Counts bytes that do not continue a character. */
static size_t count_chars(struct str s)
{
    size_t chars = 0;

    for (size_t i = 0; i < s.len; i++)
        chars += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
    return chars;
}

static void add_spaces(struct buf *out, size_t count)
{
    static const char spaces[] = "                                        ";

    buf_add(out, str_make(spaces, count < sizeof(spaces) ? count : sizeof(spaces) - 1));
}

/* A cell of so many characters and two spaces. */
static void add_left(struct buf *out, struct str text, size_t width)
{
    size_t chars = count_chars(text);

    buf_add(out, text);
    add_spaces(out, (chars < width ? width - chars : 0) + 2);
}

static void add_right(struct buf *out, struct str text, size_t width)
{
    size_t chars = count_chars(text);

    add_spaces(out, chars < width ? width - chars : 0);
    buf_add(out, text);
    add_spaces(out, 2);
}

/* "~/work/a", its end when it is long. */
static void add_folder(struct buf *out, struct str dir)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct str home = str_of(path_home());
    size_t chars;

    if (home.len > 1 && str_starts(dir, home) &&
        (dir.len == home.len || dir.ptr[home.len] == '/')) {
        buf_addc(&text, '~');
        dir = str_from(dir, home.len);
    }
    buf_add(&text, dir);
    chars = count_chars(buf_str(&text));
    if (chars > FOLDER_CHARS) {
        struct str rest = buf_str(&text);

        for (; chars >= FOLDER_CHARS; chars--) {
            size_t len = utf8_decode(rest, NULL);

            rest = str_from(rest, len ? len : 1);
        }
        buf_adds(out, "…");
        sessions_add_line(out, rest, FOLDER_CHARS);
        return;
    }
    sessions_add_line(out, buf_str(&text), FOLDER_CHARS);
}

/* Room for titles after the other columns. */
static size_t table_title_chars(const struct table *t, size_t columns)
{
    size_t used = t->id_chars + 2 + AGE_CHARS + 2 + COUNT_CHARS + 2 + SIZE_CHARS + 2 +
                  (t->has_branch ? BRANCH_CHARS + 2 : 0) + (t->has_folder ? FOLDER_CHARS + 2 : 0);

    if (!columns)
        return TITLE_CHARS;
    return columns > used + TITLE_LEAST ? columns - used - 1 : TITLE_LEAST;
}

/* Empties the cell and lends it. */
static struct buf *table_cell(struct table *t)
{
    buf_clear(&t->cell);
    return &t->cell;
}

static void table_row(struct table *t, const struct store_session *row, int64_t now_ms)
{
    add_left(&t->out, str_first(row->id, t->id_chars), t->id_chars);
    if (strv_has(&t->open, row->id))
        buf_adds(table_cell(t), "open");
    else
        add_age(table_cell(t), row->last_ms, now_ms);
    add_left(&t->out, buf_str(&t->cell), AGE_CHARS);
    buf_addi(table_cell(t), row->messages);
    add_right(&t->out, buf_str(&t->cell), COUNT_CHARS);
    sessions_add_size(table_cell(t), row->size);
    add_right(&t->out, buf_str(&t->cell), SIZE_CHARS);
    if (t->has_branch) {
        sessions_add_line(table_cell(t), row->branch, BRANCH_CHARS - 1);
        add_left(&t->out, buf_str(&t->cell), BRANCH_CHARS);
    }
    if (t->has_folder) {
        add_folder(table_cell(t), row->cwd);
        add_left(&t->out, buf_str(&t->cell), FOLDER_CHARS);
    }
    sessions_add_line(&t->out, index_name(row), t->title_chars);
    buf_addc(&t->out, '\n');
}

static void table_head(struct table *t)
{
    add_left(&t->out, STR("ID"), t->id_chars);
    add_left(&t->out, STR("LAST"), AGE_CHARS);
    add_right(&t->out, STR("MESSAGES"), COUNT_CHARS);
    add_right(&t->out, STR("SIZE"), SIZE_CHARS);
    if (t->has_branch)
        add_left(&t->out, STR("BRANCH"), BRANCH_CHARS);
    if (t->has_folder)
        add_left(&t->out, STR("FOLDER"), FOLDER_CHARS);
    buf_adds(&t->out, "TITLE\n");
}

/* 0: it is none. */
static size_t terminal_columns(void)
{
    struct winsize size;

    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
        return 0;
    return size.ws_col;
}

/* False if the reader has closed the pipe. */
static bool say_so_far(const struct sessions *s, struct buf *out, int *ret_code)
{
    *ret_code = sessions_say(s, out);
    buf_clear(out);
    return *ret_code == EXIT_OK;
}

static int list_text(const struct sessions *s, const struct index *ix)
{
    struct table t = {
        .out = BUF_INIT(BUF_NO_LIMIT),
        .cell = BUF_INIT(BUF_NO_LIMIT),
        .has_folder = s->cmd->args.given[OPT_ALL],
        .id_chars = table_id_chars(ix),
    };
    int64_t now_ms = clock_wall_ms();
    int code = EXIT_OK;

    VEC_EACH(&ix->rows, row) {
        t.has_branch = t.has_branch || row->branch.len;
    }
    t.title_chars = table_title_chars(&t, terminal_columns());
    hold_list(s->home, &t.open);
    if (ix->rows.len)
        table_head(&t);
    else
        buf_adds(&t.out, t.has_folder ? "No sessions yet.\n"
                                      : "No sessions of this folder yet; --all shows those of "
                                        "other folders.\n");
    VEC_EACH(&ix->rows, row) {
        table_row(&t, row, now_ms);
        if (t.out.len >= SAY_BYTES && !say_so_far(s, &t.out, &code))
            break;
    }
    if (code == EXIT_OK)
        code = sessions_say(s, &t.out);
    buf_release(&t.out);
    buf_release(&t.cell);
    strv_release(&t.open);
    return code;
}

static int list_json(const struct sessions *s, const struct index *ix)
{
    CLEANUP(strv_release) struct strv open = STRV_INIT;
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    int code = EXIT_OK;
    struct jw w;

    hold_list(s->home, &open);
    jw_init(&w, &out, JW_PRETTY);
    jw_array(&w);
    VEC_EACH(&ix->rows, row) {
        buf_clear(&path);
        index_path(row, s->home, &path);
        jw_object(&w);
        sessions_write(&w, row, buf_cstr(&path));
        jw_kbool(&w, "open", strv_has(&open, row->id));
        jw_object_end(&w);
        if (out.len >= SAY_BYTES && !say_so_far(s, &out, &code))
            return code;
    }
    jw_array_end(&w);
    buf_addc(&out, '\n');
    return sessions_say(s, &out);
}

int sessions_list(const struct sessions *s)
{
    CLEANUP(index_release) struct index ix = INDEX_INIT;
    struct err err = {0};

    if (sessions_refresh(s, &ix, &err) < 0)
        return sessions_failed(&err);
    return s->cmd->args.given[OPT_JSON] ? list_json(s, &ix) : list_text(s, &ix);
}
