/*
 * rewind: the points to return to, and returning. A change of a file belongs to the message before
 * it, so a point is an index in the list of changes.
 */
#include "host/record/rewind.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/utf8.h"
#include "guard/patch.h"
#include "host/record/typed.h"
#include "json/json.h"
#include "json/jw.h"
#include "store/files/file_history.h"
#include "store/transcript/entry.h"
#include "store/transcript/load.h"
#include "store/transcript/transcript.h"

#define REWIND_MAX_TEXT 200 /* bytes of a message in a list */
#define REWIND_MIN_PREFIX 4 /* of a uuid; a shorter one could be a number */

struct rewind {
    char *path, *folder;
    struct cancel *cancel;
    struct load *load;
    struct arena arena;
    VEC(struct rewind_point) points;
    struct map places; /* uuid → index of its point + 1 */
    struct file_changes changes;
    struct restore_plan plan;
};

/* ---- Points ---- */

/* The text of a user message; empty for other lines and texts not worth searching. */
static struct str said_text(const struct json *line)
{
    const struct json *content = json_path(line, "message.content");
    struct str text = json_str(content);

    JSON_EACH(content, block) {
        if (!text.len)
            text = str_trim(json_get_str(block, "text"));
    }
    text = str_trim(text);
    if (str_starts(text, STR("[Request interrupted by user")) ||
        str_starts(text, STR("<local-command-stdout>")) || str_starts(text, STR("<bash-stdout>")))
        return STR("");
    return text;
}

/* Whether it is a message without text, such as one with only images. */
static bool is_wordless(const struct json *line)
{
    const struct json *content = json_path(line, "message.content");

    JSON_EACH(content, block) {
        if (str_trim(json_get_str(block, "text")).len)
            return false;
    }
    return json_len(content) > 0;
}

static struct str first_line(struct arena *arena, struct str text)
{
    struct str line = str_first(text, str_chr(text, '\n'));
    struct str cut = str_clip(line, REWIND_MAX_TEXT);
    CLEANUP(buf_release) struct buf all = BUF_INIT(2 * REWIND_MAX_TEXT);

    buf_add(&all, str_trim(cut));
    if (cut.len < text.len)
        buf_adds(&all, "…");
    return arena_str(arena, buf_str(&all));
}

static bool is_message(const struct load_entry *e)
{
    return e->kind == ENTRY_USER &&
           !(e->flags & (LOAD_META | LOAD_SUMMARY | LOAD_TOOL_RESULT | LOAD_SIDECHAIN));
}

static void add_point(struct rewind *r, const struct json *line, const struct load_entry *e)
{
    const struct json *undo = json_get(line, "rewind");
    bool is_undo = str_is(json_get_str(line, "subtype"), "rewound");
    struct str text = is_undo ? json_get_str(line, "content") : said_text(line);
    CLEANUP(buf_release) struct buf typed = BUF_INIT(BUF_NO_LIMIT);
    struct rewind_point *p;

    if (!is_undo && typed_find(text, &typed))
        text = buf_str(&typed);
    if (!is_undo && !text.len && is_wordless(line))
        text = STR("(no text)");
    if (!text.len || !json_get_str(line, "uuid").len ||
        (!is_undo && str_is(json_get_str(line, "type"), "system")))
        return;
    p = vec_add(&r->points);
    *p = (struct rewind_point){
        .uuid = arena_str(&r->arena, json_get_str(line, "uuid")),
        .text = first_line(&r->arena, text),
        .time_ms = entry_time_parse(json_get_str(line, "timestamp")),
        .offset = e->offset,
        .len = e->len,
        .is_undo = is_undo,
        .leaf = arena_str(&r->arena, json_get_str(undo, "leafUuid")),
    };
    map_set(&r->places, p->uuid, (void *)r->points.len);
}

static int read_points(struct rewind *r, struct err *err)
{
    for (size_t i = 0; i < load_count(r->load); i++) {
        const struct load_entry *e = load_at(r->load, i);
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        const struct json *line;
        struct str text;

        if (!is_message(e) && !(e->kind == ENTRY_SYSTEM && e->flags & LOAD_META))
            continue;
        if (load_read(r->load, e->offset, e->len, &text, err) < 0)
            return -1;
        if (json_parse(&arena, text, &line, /*ret_info=*/NULL, /*err=*/NULL) == 0)
            add_point(r, line, e);
    }
    return 0;
}

int rewind_changes(struct rewind *r, struct file_changes *ret, struct err *err)
{
    const struct load_facts *facts = load_facts(r->load);

    *ret = (struct file_changes){0};
    VEC_EACH(&facts->file_history, at) {
        struct str line;

        if (load_read(r->load, at->offset, at->len, &line, err) < 0) {
            file_changes_release(ret);
            return -1;
        }
        file_changes_add(ret, line, at->offset, buf_str(&facts->cwd));
    }
    return 0;
}

/* Whether a change was made before the point. If its message is not part of this conversation (it
 * was rewound), the time decides, and within a millisecond the order in the file. */
static bool is_before(const struct rewind *r, const struct file_change *c, size_t place)
{
    const struct rewind_point *p = &r->points.ptr[place];
    size_t at = (size_t)map_get(&r->places, c->message);

    if (at)
        return at - 1 < place;
    return c->time_ms < p->time_ms || (c->time_ms == p->time_ms && c->offset < p->offset);
}

static void count_files(struct rewind *r)
{
    struct map seen = MAP_INIT;
    size_t next = 0;

    for (size_t i = 0; i < r->points.len; i++) {
        while (next < r->changes.list.len && is_before(r, r->changes.list.ptr[next], i))
            next++;
        r->points.ptr[i].first = next;
    }
    next = r->changes.list.len;
    for (size_t i = r->points.len; i-- > 0;) {
        while (next > r->points.ptr[i].first) {
            const struct file_change *c = r->changes.list.ptr[--next];

            if (!file_change_is_empty(c))
                map_set(&seen, c->path, r);
        }
        r->points.ptr[i].files = seen.len;
    }
    map_release(&seen);
}

int rewind_open(const char *path, const char *folder, struct cancel *cancel, struct rewind **ret,
                struct err *err)
{
    const struct load_spec spec = {.whole = true};
    CLEANUP(rewind_freep) struct rewind *r = mem_zalloc(sizeof(*r));

    r->path = mem_dup(path, strlen(path));
    r->folder = mem_dup(folder, strlen(folder));
    r->cancel = cancel;
    if (load_open(path, &spec, cancel, &r->load, err) < 0)
        return -1;
    if (read_points(r, err) < 0 || rewind_changes(r, &r->changes, err) < 0)
        return -1;
    count_files(r);
    *ret = TAKE_PTR(r);
    return 0;
}

void rewind_free(struct rewind *r)
{
    if (!r)
        return;
    restore_plan_release(&r->plan);
    file_changes_release(&r->changes);
    map_release(&r->places);
    vec_release(&r->points);
    arena_release(&r->arena);
    load_free(r->load);
    mem_freep(&r->path);
    mem_freep(&r->folder);
    mem_freep(&r);
}

void rewind_freep(struct rewind **r)
{
    rewind_free(*r);
}

size_t rewind_count(const struct rewind *r)
{
    return r->points.len;
}

const struct rewind_point *rewind_at(const struct rewind *r, size_t i)
{
    return &r->points.ptr[i];
}

int rewind_find(const struct rewind *r, struct str which, const struct rewind_point **ret,
                struct err *err)
{
    const struct rewind_point *found = NULL;
    int64_t number = 0;

    if (str_to_i64(which, &number, /*err=*/NULL) == 0 && number >= 1 &&
        (uint64_t)number <= r->points.len) {
        *ret = &r->points.ptr[number - 1];
        return 0;
    }
    VEC_EACH(&r->points, p) {
        if (which.len < REWIND_MIN_PREFIX || !str_starts(p->uuid, which))
            continue;
        if (found)
            return err_set(err, ERR_BAD_INPUT, "several messages start with '%.*s'",
                           STR_ARG(which));
        found = p;
    }
    if (!found)
        return err_set(err, ERR_NOT_FOUND,
                       "there is no message '%.*s' of the user in this conversation",
                       STR_ARG(str_clip(which, 100)));
    *ret = found;
    return 0;
}

void rewind_said(struct rewind *r, const struct rewind_point *p, struct buf *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *line;
    struct str text;

    if (p->is_undo || load_read(r->load, p->offset, p->len, &text, /*err=*/NULL) < 0 ||
        json_parse(&arena, text, &line, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    text = said_text(line);
    if (!typed_find(text, ret))
        buf_add(ret, text);
}

/* ---- Files ---- */

static void count_lines(const struct restore_plan *plan, struct restore_row *row)
{
    CLEANUP(buf_release) struct buf now = BUF_INIT(FILE_HISTORY_MAX_FILE);
    CLEANUP(buf_release) struct buf then = BUF_INIT(FILE_HISTORY_MAX_FILE);
    struct patch patch;

    if (restore_row_texts(plan, row, &now, &then, /*err=*/NULL) < 0)
        return;
    patch_make(&patch, buf_str(&now), buf_str(&then), /*context=*/0);
    for (size_t i = 0; i < patch.olds.len; i++)
        row->removed += patch.is_deleted[i] != 0;
    for (size_t i = 0; i < patch.news.len; i++)
        row->added += patch.is_added[i] != 0;
    patch_release(&patch);
}

const struct restore_plan *rewind_plan(struct rewind *r, const struct rewind_point *to, bool force)
{
    restore_plan_release(&r->plan);
    restore_plan_make(&r->plan, &r->changes, to->first, r->folder, force);
    VEC_EACH(&r->plan.rows, row) {
        if (restore_does(row->what))
            count_lines(&r->plan, row);
    }
    return &r->plan;
}

const struct restore_plan *rewind_planned(const struct rewind *r)
{
    return &r->plan;
}

/* ---- Rewinding ---- */

void rewind_head(const struct rewind *r, struct entry_head *ret)
{
    const struct load_facts *facts = load_facts(r->load);

    *ret = (struct entry_head){
        .session = buf_str(&facts->session),
        .cwd = buf_str(&facts->cwd),
        .version = STR(TENAX_VERSION),
        .branch = buf_str(&facts->branch),
        .entrypoint = STR("cli"),
    };
}

int rewind_load(struct rewind *r, const struct rewind_point *to, struct load **ret, struct err *err)
{
    struct load_spec before = {.leaf = to->uuid, .is_before = true};
    struct load_spec then = {.leaf = to->leaf};

    return load_open(r->path, to->is_undo ? &then : &before, r->cancel, ret, err);
}

/* The end of the conversation afterwards: the line before the message; empty = an empty
 * conversation. */
static int find_parent(struct rewind *r, const struct rewind_point *to, struct buf *ret,
                       struct err *err)
{
    struct load *before = NULL;

    if (to->is_undo) {
        buf_add(ret, to->leaf);
        return 0;
    }
    if (rewind_load(r, to, &before, err) < 0)
        return -1;
    buf_add(ret, load_leaf(before));
    load_free(before);
    return 0;
}

void rewind_text(const struct rewind_point *to, const struct rewind_order *order, struct buf *ret)
{
    const char *what = !order->conversation ? "Files"
                       : order->files       ? "Files and conversation"
                                            : "Conversation";

    if (to->is_undo)
        buf_addf(ret, "Undone: %.*s", STR_ARG(to->text));
    else
        buf_addf(ret, "%s set back to before: %.*s", what, STR_ARG(to->text));
}

static void write_line(const struct rewind *r, const struct rewind_point *to,
                       const struct rewind_order *order, struct str uuid, struct str parent,
                       struct buf *out)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(4 * REWIND_MAX_TEXT);
    struct jw w;

    rewind_text(to, order, &text);
    jw_init(&w, out, 0);
    entry_begin(&w, order->head, ENTRY_SYSTEM, uuid, parent, clock_wall_ms());
    jw_kcstr(&w, "subtype", "rewound");
    jw_kstr(&w, "content", buf_str(&text));
    jw_kcstr(&w, "level", "info");
    jw_kbool(&w, "isMeta", true);
    jw_key(&w, "rewind");
    jw_object(&w);
    jw_kstr(&w, "messageId", to->uuid);
    jw_kstr(&w, "leafUuid", load_leaf(r->load));
    jw_kbool(&w, "files", order->files);
    jw_kbool(&w, "conversation", order->conversation);
    jw_object_end(&w);
    jw_object_end(&w);
    buf_addc(out, '\n');
}

int rewind_do(struct rewind *r, const struct rewind_point *to, const struct rewind_order *order,
              char ret_uuid[static ID_UUID_LEN + 1], struct err *err)
{
    CLEANUP(buf_release) struct buf parent = BUF_INIT(1 << 10);
    CLEANUP(buf_release) struct buf line = BUF_INIT(1 << 20);
    char uuid[ID_UUID_LEN + 1];

    if (!order->conversation)
        buf_add(&parent, load_leaf(r->load));
    else if (find_parent(r, to, &parent, err) < 0)
        return -1;
    if (order->files)
        rewind_plan(r, to, order->force);
    id_uuid(uuid);
    write_line(r, to, order, str_of(uuid), buf_str(&parent), &line);
    if (transcript_attempt(order->transcript, buf_str(&line), err) < 0)
        return -1;
    if (order->files) {
        file_history_begin(order->history, str_of(uuid));
        restore_plan_apply(&r->plan, order->history, order->force);
    }
    memcpy(ret_uuid, uuid, sizeof(uuid));
    return 0;
}
