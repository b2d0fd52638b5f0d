/*
 * sessions list: one line each, newest first; or JSON. Main thread.
 */
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "base/strv.h"
#include "base/utf8.h"
#include "cmd/cmd.h"
#include "cmd/sessions.h"
#include "json/jw.h"
#include "store/hold.h"
#include "store/index.h"

#define SHORT_ID 8
#define FOLDER_CHARS 30
#define BRANCH_CHARS 16
#define TITLE_CHARS 100 /* where the width is not known */
#define TITLE_LEAST 20

struct table {
    struct buf out;
    struct strv open; /* ids of sessions that somebody holds */
    bool has_folder;
    bool has_branch;
    size_t id_chars;
    size_t columns; /* of the terminal; 0: none */
};

/* Ids are shown by their beginnings, unless two begin alike. */
static size_t table_id_chars(const struct index *ix)
{
    CLEANUP(map_release) struct map seen = MAP_INIT;
    static int there;

    VEC_EACH(&ix->rows, row) {
        if (map_set(&seen, str_first(row->id, SHORT_ID), &there))
            return row->id.len;
    }
    return SHORT_ID;
}

static void add_age(struct buf *out, int64_t time_ms, int64_t now_ms)
{
    int64_t minutes = (now_ms - time_ms) / 60000;

    if (minutes < 1)
        buf_adds(out, "now");
    else if (minutes < 60)
        buf_addf(out, "%dm ago", (int)minutes);
    else if (minutes < 48 * 60)
        buf_addf(out, "%dh ago", (int)(minutes / 60));
    else if (minutes < 60 * 24 * 60)
        buf_addf(out, "%dd ago", (int)(minutes / 60 / 24));
    else
        buf_addf(out, "%dw ago", (int)(minutes / 60 / 24 / 7));
}

static size_t count_chars(struct str s)
{
    size_t chars = 0;

    for (; s.len; chars++) {
        size_t len = utf8_decode(s, NULL);

        s = str_from(s, len ? len : 1);
    }
    return chars;
}

/* A cell of so many characters and two spaces; to the right when width is negative. */
static void add_cell(struct buf *out, struct str text, int width)
{
    int gap = abs(width) - (int)count_chars(text);

    buf_addf(out, "%*s%.*s%*s  ", width < 0 && gap > 0 ? gap : 0, "", STR_ARG(text),
             width > 0 && gap > 0 ? gap : 0, "");
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

/* Room for titles behind the other columns. */
static size_t table_title_chars(const struct table *t)
{
    size_t used = t->id_chars + 2 + 8 + 2 + 8 + 2 + 7 + 2 + (t->has_branch ? BRANCH_CHARS + 2 : 0) +
                  (t->has_folder ? FOLDER_CHARS + 2 : 0);

    if (!t->columns)
        return TITLE_CHARS;
    return t->columns > used + TITLE_LEAST ? t->columns - used - 1 : TITLE_LEAST;
}

static void table_row(struct table *t, const struct store_session *row, int64_t now_ms)
{
    CLEANUP(buf_release) struct buf age = BUF_INIT(100);
    CLEANUP(buf_release) struct buf messages = BUF_INIT(100);
    CLEANUP(buf_release) struct buf size = BUF_INIT(100);
    CLEANUP(buf_release) struct buf branch = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf folder = BUF_INIT(BUF_NO_LIMIT);

    if (strv_has(&t->open, row->id))
        buf_adds(&age, "open");
    else
        add_age(&age, row->last_ms, now_ms);
    buf_addf(&messages, "%lld", (long long)row->messages);
    sessions_add_size(&size, row->size);
    add_cell(&t->out, str_first(row->id, t->id_chars), (int)t->id_chars);
    add_cell(&t->out, buf_str(&age), 8);
    add_cell(&t->out, buf_str(&messages), -8);
    add_cell(&t->out, buf_str(&size), -7);
    if (t->has_branch) {
        sessions_add_line(&branch, row->branch, BRANCH_CHARS - 1);
        add_cell(&t->out, buf_str(&branch), BRANCH_CHARS);
    }
    if (t->has_folder) {
        add_folder(&folder, row->cwd);
        add_cell(&t->out, buf_str(&folder), FOLDER_CHARS);
    }
    sessions_add_line(&t->out, index_name(row), table_title_chars(t));
    buf_addc(&t->out, '\n');
}

static void table_head(struct table *t)
{
    add_cell(&t->out, STR("ID"), (int)t->id_chars);
    add_cell(&t->out, STR("LAST"), 8);
    add_cell(&t->out, STR("MESSAGES"), -8);
    add_cell(&t->out, STR("SIZE"), -7);
    if (t->has_branch)
        add_cell(&t->out, STR("BRANCH"), BRANCH_CHARS);
    if (t->has_folder)
        add_cell(&t->out, STR("FOLDER"), FOLDER_CHARS);
    buf_adds(&t->out, "TITLE\n");
}

static size_t terminal_columns(void)
{
    struct winsize size;

    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
        return 0;
    return size.ws_col;
}

static int list_text(const struct sessions *s, const struct index *ix)
{
    struct table t = {
        .out = BUF_INIT(BUF_NO_LIMIT),
        .has_folder = s->cmd->args.given[OPT_ALL],
        .id_chars = table_id_chars(ix),
        .columns = terminal_columns(),
    };
    int64_t now_ms = clock_wall_ms();
    int code;

    VEC_EACH(&ix->rows, row) {
        t.has_branch = t.has_branch || row->branch.len;
    }
    hold_list(s->home, &t.open);
    if (ix->rows.len)
        table_head(&t);
    else
        buf_adds(&t.out, t.has_folder ? "No sessions yet.\n"
                                      : "No sessions of this folder yet; --all shows those of "
                                        "other folders.\n");
    VEC_EACH(&ix->rows, row) {
        table_row(&t, row, now_ms);
    }
    code = sessions_say(s, &t.out);
    buf_release(&t.out);
    strv_release(&t.open);
    return code;
}

static int list_json(const struct sessions *s, const struct index *ix)
{
    CLEANUP(strv_release) struct strv open = STRV_INIT;
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct jw w;

    hold_list(s->home, &open);
    jw_init(&w, &out, JW_PRETTY);
    jw_array(&w);
    VEC_EACH(&ix->rows, row) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

        index_path(row, s->home, &path);
        jw_object(&w);
        sessions_write(&w, row, buf_cstr(&path));
        jw_kbool(&w, "open", strv_has(&open, row->id));
        jw_object_end(&w);
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
