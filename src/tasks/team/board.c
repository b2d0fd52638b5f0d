/*
 * board: items as files. Reading takes no lock: files are always replaced as a whole, and
 * dependencies stored in either of two files count for both. Any thread.
 */
#include "tasks/team/board.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/disk.h"
#include "base/err.h"
#include "base/file.h"
#include "json/json.h"
#include "json/jw.h"
#include "tasks/team/latch.h"

#define BOARD_MAX_FILE ((size_t)1 << 20)
#define BOARD_MAX_LIST 100 /* characters of a list's id */
#define HIGH_MARK ".highwatermark"

static const char *const status_names[] = {"pending", "in_progress", "completed", "deleted"};

const char *item_status_name(enum item_status s)
{
    return status_names[s];
}

bool item_status_parse(struct str name, enum item_status *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(status_names); i++) {
        if (str_is(name, status_names[i])) {
            *ret = (enum item_status)i;
            return true;
        }
    }
    return false;
}

static void board_forget(struct board *b)
{
    VEC_EACH(&b->items, i) {
        vec_release(&i->blocks);
        vec_release(&i->blocked_by);
    }
    b->items.len = 0;
    arena_reset(&b->arena);
}

void board_release(struct board *b)
{
    board_forget(b);
    vec_release(&b->items);
    arena_release(&b->arena);
    mem_freep(&b->folder);
}

int board_init(struct board *b, const char *home, struct str list, struct err *err)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < list.len; i++) {
        if (!str_is_alnum(list.ptr[i]) && !memchr("-_.", list.ptr[i], 3))
            list.len = 0;
    }
    if (!list.len || list.len > BOARD_MAX_LIST || list.ptr[0] == '.')
        return err_set(err, ERR_BAD_INPUT,
                       "the id of a task list has letters, digits, '-', '_' and '.', at most %d",
                       BOARD_MAX_LIST);
    buf_addf(&path, "%s/tasks/%.*s", home, STR_ARG(list));
    *b = (struct board)BOARD_INIT;
    b->folder = buf_take(&path);
    return 0;
}

bool board_parse_id(const struct json *id, int64_t *ret)
{
    struct str text = json_is(id, JSON_NUMBER) ? json_number(id) : json_str(id);

    if (str_starts(text, STR("#")))
        text = str_from(text, 1);
    return str_to_i64(text, ret, /*err=*/NULL) == 0 && *ret > 0;
}

/* ---- Reading ---- */

static bool has_id(const int64_t *ids, size_t len, int64_t id)
{
    for (size_t i = 0; i < len; i++) {
        if (ids[i] == id)
            return true;
    }
    return false;
}
#define HAS(v, id) has_id((v)->ptr, (v)->len, id)

static struct str kept(struct arena *arena, const struct json *file, const char *key)
{
    return arena_str(arena, json_get_str(file, key));
}

static int board_read_item(struct board *b, int64_t id, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf text = BUF_INIT(BOARD_MAX_FILE);
    const struct json *file;
    struct work_item *item;
    struct err gone = {0};

    buf_addf(&path, "%s/%" PRId64 ".json", b->folder, id);
    if (file_slurp(buf_cstr(&path), BOARD_MAX_FILE, &text, &gone) < 0) {
        if (gone.code == ERR_NOT_FOUND) /* deleted in the meantime */
            return 0;
        *err = gone;
        return -1;
    }
    if (json_parse(&arena, buf_str(&text), &file, /*ret_info=*/NULL, err) < 0)
        return err_prefix(err, "%s", buf_cstr(&path));
    item = vec_add(&b->items);
    *item = (struct work_item){
        .id = id,
        .subject = kept(&b->arena, file, "subject"),
        .description = kept(&b->arena, file, "description"),
        .active_form = kept(&b->arena, file, "activeForm"),
        .owner = kept(&b->arena, file, "owner"),
    };
    if (!item_status_parse(json_get_str(file, "status"), &item->status) ||
        item->status == ITEM_DELETED)
        item->status = ITEM_PENDING;
    if (json_is(json_get(file, "metadata"), JSON_OBJECT))
        item->metadata = arena_str(&b->arena, json_raw(json_get(file, "metadata")));
    JSON_EACH(json_get(file, "blocks"), it) {
        if (board_parse_id(it, &id))
            vec_push(&item->blocks, id);
    }
    JSON_EACH(json_get(file, "blockedBy"), it) {
        if (board_parse_id(it, &id))
            vec_push(&item->blocked_by, id);
    }
    return 0;
}

static int by_id(const void *a, const void *b)
{
    const struct work_item *x = a;
    const struct work_item *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

struct work_item *board_find(struct board *b, int64_t id)
{
    struct work_item key = {.id = id};

    return b->items.len ? bsearch(&key, b->items.ptr, b->items.len, sizeof(key), by_id) : NULL;
}

/* Completes dependencies that only one item has; ids of deleted items are ignored. */
static void board_join(struct board *b)
{
    VEC_EACH(&b->items, i) {
        VEC_EACH(&i->blocks, id) {
            struct work_item *other = board_find(b, *id);

            if (other && !HAS(&other->blocked_by, i->id))
                vec_push(&other->blocked_by, i->id);
        }
        VEC_EACH(&i->blocked_by, id) {
            struct work_item *other = board_find(b, *id);

            if (other && !HAS(&other->blocks, i->id))
                vec_push(&other->blocks, i->id);
        }
    }
    VEC_EACH(&b->items, i) {
        size_t n = 0;

        VEC_EACH(&i->blocks, id) {
            if (board_find(b, *id))
                i->blocks.ptr[n++] = *id;
        }
        i->blocks.len = n;
        n = 0;
        VEC_EACH(&i->blocked_by, id) {
            if (board_find(b, *id))
                i->blocked_by.ptr[n++] = *id;
        }
        i->blocked_by.len = n;
        if (i->blocks.len)
            qsort(i->blocks.ptr, i->blocks.len, sizeof(int64_t), by_number);
        if (i->blocked_by.len)
            qsort(i->blocked_by.ptr, i->blocked_by.len, sizeof(int64_t), by_number);
    }
}

int board_read(struct board *b, struct err *err)
{
    DIR *dir = opendir(b->folder);
    int r = 0;

    board_forget(b);
    if (!dir)
        return errno == ENOENT ? 0 : err_sys(err, ERR_IO, "cannot read '%s'", b->folder);
    for (struct dirent *e = readdir(dir); e && r == 0; e = readdir(dir)) {
        struct str name = str_of(e->d_name);
        int64_t id;

        if (!str_ends(name, STR(".json")) ||
            str_to_i64(str_first(name, name.len - 5), &id, /*err=*/NULL) < 0 || id <= 0)
            continue;
        if (b->items.len >= BOARD_MAX_ITEMS)
            r = err_set(err, ERR_TOO_BIG, "a task list has at most %d items", BOARD_MAX_ITEMS);
        else
            r = board_read_item(b, id, err);
    }
    closedir(dir);
    if (r < 0)
        return -1;
    if (b->items.len)
        qsort(b->items.ptr, b->items.len, sizeof(*b->items.ptr), by_id);
    board_join(b);
    return 0;
}

bool board_is_blocked(struct board *b, const struct work_item *i, struct buf *ret)
{
    bool is_blocked = false;

    VEC_EACH(&i->blocked_by, id) {
        const struct work_item *other = board_find(b, *id);

        if (!other || other->status == ITEM_COMPLETED)
            continue;
        if (ret)
            buf_addf(ret, "%s#%" PRId64, is_blocked ? ", " : "", *id);
        is_blocked = true;
    }
    return is_blocked;
}

/* ---- Writing; the lock must be held ---- */

static void write_ids(struct jw *w, const char *key, const int64_t *ids, size_t len)
{
    jw_key(w, key);
    jw_array(w);
    for (size_t i = 0; i < len; i++) {
        char text[24];

        snprintf(text, sizeof(text), "%" PRId64, ids[i]);
        jw_cstr(w, text);
    }
    jw_array_end(w);
}

static int board_write(struct board *b, const struct work_item *i, struct err *err)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf text = BUF_INIT(BOARD_MAX_FILE);
    char id[24];
    struct jw w;

    snprintf(id, sizeof(id), "%" PRId64, i->id);
    jw_init(&w, &text, JW_PRETTY);
    jw_object(&w);
    jw_kcstr(&w, "id", id);
    jw_kstr(&w, "subject", i->subject);
    jw_kstr(&w, "description", i->description);
    if (i->active_form.len)
        jw_kstr(&w, "activeForm", i->active_form);
    if (i->owner.len)
        jw_kstr(&w, "owner", i->owner);
    jw_kcstr(&w, "status", item_status_name(i->status));
    write_ids(&w, "blocks", i->blocks.ptr, i->blocks.len);
    write_ids(&w, "blockedBy", i->blocked_by.ptr, i->blocked_by.len);
    if (i->metadata.len)
        jw_kraw(&w, "metadata", i->metadata);
    jw_object_end(&w);
    buf_addc(&text, '\n');
    buf_addf(&path, "%s/%s.json", b->folder, id);
    if (buf_check(&text, err) < 0)
        return -1;
    return file_replace(buf_cstr(&path), buf_str(&text), 0600, err);
}

static int board_remove(struct board *b, int64_t id, struct err *err)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&path, "%s/%" PRId64 ".json", b->folder, id);
    if (disk_step() < 0 || (unlink(buf_cstr(&path)) < 0 && errno != ENOENT))
        return err_sys(err, ERR_IO, "cannot remove '%s'", buf_cstr(&path));
    return 0;
}

/* Stored before an item gets it, so that an id is never used twice. */
static int board_next_id(struct board *b, int64_t *ret, struct err *err)
{
    CLEANUP(mem_freep) char *path = path_join(b->folder, HIGH_MARK);
    CLEANUP(buf_release) struct buf text = BUF_INIT(64);
    int64_t high = 0;

    if (file_slurp(path, 64, &text, /*err=*/NULL) == 0)
        (void)str_to_i64(str_trim(buf_str(&text)), &high, /*err=*/NULL);
    if (b->items.len && b->items.ptr[b->items.len - 1].id > high)
        high = b->items.ptr[b->items.len - 1].id;
    *ret = high + 1;
    buf_clear(&text);
    buf_addf(&text, "%" PRId64 "\n", *ret);
    return file_replace(path, buf_str(&text), 0600, err);
}

static int board_open(struct board *b, struct latch *latch, struct cancel *cancel, struct err *err)
{
    return latch_take(latch, b->folder, ".lock", cancel, err) < 0 ? -1 : board_read(b, err);
}

int board_add(struct board *b, const struct work_item *like, struct cancel *cancel, int64_t *ret_id,
              struct err *err)
{
    CLEANUP(latch_give) struct latch latch = LATCH_INIT;
    struct work_item item = {
        .subject = like->subject,
        .description = like->description,
        .active_form = like->active_form,
        .metadata = like->metadata,
    };

    if (like->subject.len > BOARD_MAX_SUBJECT || like->active_form.len > BOARD_MAX_SUBJECT ||
        like->description.len > BOARD_MAX_TEXT || like->metadata.len > BOARD_MAX_TEXT)
        return err_set(err, ERR_TOO_BIG, "a subject has at most %zu bytes, a description %zu",
                       BOARD_MAX_SUBJECT, BOARD_MAX_TEXT);
    if (board_open(b, &latch, cancel, err) < 0)
        return -1;
    if (b->items.len >= BOARD_MAX_ITEMS)
        return err_set(err, ERR_TOO_BIG,
                       "the list has %d items already: delete those that are done",
                       BOARD_MAX_ITEMS);
    if (board_next_id(b, &item.id, err) < 0 || board_write(b, &item, err) < 0)
        return -1;
    *ret_id = item.id;
    return 0;
}

/* ---- Changing; the lock must be held ---- */

/* Whether `from` blocks `to`, directly or indirectly. */
static bool board_leads(struct board *b, int64_t from, int64_t to)
{
    VEC(int64_t) next = VEC_INIT;
    VEC(int64_t) seen = VEC_INIT;
    bool leads = false;

    vec_push(&next, from);
    while (next.len && !leads) {
        int64_t id = next.ptr[--next.len];
        struct work_item *item = board_find(b, id);

        leads = id == to;
        if (!item || HAS(&seen, id))
            continue;
        vec_push(&seen, id);
        VEC_EACH(&item->blocks, more) {
            vec_push(&next, *more);
        }
    }
    vec_release(&next);
    vec_release(&seen);
    return leads;
}

/* Lets the items in `ids` block the item (forward: the reverse). Returns how many are new, or -1.
 */
static int board_block(struct board *b, struct work_item *item, const struct json *ids,
                       bool forward, struct err *err)
{
    int added = 0;

    JSON_EACH(ids, it) {
        struct work_item *other;
        struct work_item *first;
        struct work_item *then;
        int64_t id = 0;

        if (!board_parse_id(it, &id) || !(other = board_find(b, id)))
            return err_set(err, ERR_NOT_FOUND, "there is no task %.*s to block by",
                           STR_ARG(str_clip(json_raw(it), 40)));
        first = forward ? item : other;
        then = forward ? other : item;
        if (HAS(&first->blocks, then->id))
            continue;
        if (board_leads(b, then->id, first->id))
            return err_set(err, ERR_BAD_INPUT,
                           "#%" PRId64 " cannot block #%" PRId64
                           ": it waits for it already, so none of them could begin",
                           first->id, then->id);
        vec_push(&first->blocks, then->id);
        vec_push(&then->blocked_by, first->id);
        added++;
    }
    return added;
}

static int board_merge_metadata(struct board *b, struct work_item *item, const struct json *more,
                                struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(BOARD_MAX_TEXT);
    const struct json *old = NULL;
    struct jw w;

    if (item->metadata.len && json_parse(&arena, item->metadata, &old, /*ret_info=*/NULL, err) < 0)
        return -1;
    jw_init(&w, &text, 0);
    jw_object(&w);
    JSON_EACH(old, it) {
        if (!json_get_key(more, json_key(it))) {
            jw_key_str(&w, json_key(it));
            jw_json(&w, it);
        }
    }
    JSON_EACH(more, it) {
        if (!json_is(it, JSON_NULL)) {
            jw_key_str(&w, json_key(it));
            jw_json(&w, it);
        }
    }
    jw_object_end(&w);
    if (buf_check(&text, err) < 0)
        return err_prefix(err, "metadata");
    item->metadata = text.len > 2 ? arena_str(&b->arena, buf_str(&text)) : (struct str){0};
    return 0;
}

/* Checks whether the actor may start the item. */
static int board_may_start(struct board *b, const struct work_item *item,
                           const struct board_change *c, struct err *err)
{
    CLEANUP(buf_release) struct buf by = BUF_INIT(1000);

    if (item->owner.len && c->actor.len && !c->owner && !str_eq(item->owner, c->actor))
        return err_set(err, ERR_BUSY, "already_claimed: #%" PRId64 " is %.*s's; take another one",
                       item->id, STR_ARG(str_clip(item->owner, 64)));
    if (board_is_blocked(b, item, &by))
        return err_set(err, ERR_UNSUPPORTED, "#%" PRId64 " is blocked by %s", item->id,
                       buf_cstr(&by));
    return 0;
}

static bool board_set(struct str *field, const struct str *to, struct arena *arena)
{
    if (!to || str_eq(*field, *to))
        return false;
    *field = arena_str(arena, *to);
    return true;
}

/* Writes the other items whose dependencies the change has modified. */
static int board_write_linked(struct board *b, const struct json *ids, struct err *err)
{
    JSON_EACH(ids, it) {
        struct work_item *other;
        int64_t id = 0;

        if (board_parse_id(it, &id) && (other = board_find(b, id)) &&
            board_write(b, other, err) < 0)
            return -1;
    }
    return 0;
}

int board_change(struct board *b, const struct board_change *c, struct cancel *cancel,
                 struct board_changed *ret, struct err *err)
{
    CLEANUP(latch_give) struct latch latch = LATCH_INIT;
    struct board_changed done = {0};
    struct work_item *item;
    int n;

    if (board_open(b, &latch, cancel, err) < 0)
        return -1;
    item = board_find(b, c->id);
    if (!item)
        return err_set(err, ERR_NOT_FOUND, "Task not found");
    done.from = done.to = item->status;
    done.old_owner = item->owner;
    if (c->status && *c->status == ITEM_DELETED) {
        *ret = (struct board_changed){.fields = BOARD_STATUS,
                                      .from = item->status,
                                      .to = ITEM_DELETED,
                                      .old_owner = item->owner};
        return board_remove(b, item->id, err);
    }
    n = board_block(b, item, c->add_blocks, /*forward=*/true, err);
    done.fields |= n > 0 ? BOARD_BLOCKS : 0;
    if (n >= 0) {
        n = board_block(b, item, c->add_blocked_by, /*forward=*/false, err);
        done.fields |= n > 0 ? BOARD_BLOCKED_BY : 0;
    }
    if (n < 0)
        return -1;
    if (c->status && *c->status == ITEM_IN_PROGRESS && board_may_start(b, item, c, err) < 0)
        return -1;
    done.fields |= board_set(&item->subject, c->subject, &b->arena) ? BOARD_SUBJECT : 0;
    done.fields |= board_set(&item->description, c->description, &b->arena) ? BOARD_DESCRIPTION : 0;
    done.fields |= board_set(&item->active_form, c->active_form, &b->arena) ? BOARD_ACTIVE_FORM : 0;
    done.fields |= board_set(&item->owner, c->owner, &b->arena) ? BOARD_OWNER : 0;
    if (c->status && *c->status != item->status) {
        done.fields |= BOARD_STATUS;
        item->status = done.to = *c->status;
    }
    if (item->status == ITEM_IN_PROGRESS && c->status && !item->owner.len && c->actor.len &&
        !c->owner) {
        done.fields |= BOARD_OWNER;
        item->owner = arena_str(&b->arena, c->actor);
    }
    done.new_owner = item->owner;
    if (item->subject.len > BOARD_MAX_SUBJECT || item->active_form.len > BOARD_MAX_SUBJECT ||
        item->description.len > BOARD_MAX_TEXT)
        return err_set(err, ERR_TOO_BIG, "a subject has at most %zu bytes, a description %zu",
                       BOARD_MAX_SUBJECT, BOARD_MAX_TEXT);
    if (json_len(c->metadata)) {
        if (board_merge_metadata(b, item, c->metadata, err) < 0)
            return -1;
        done.fields |= BOARD_METADATA;
    }
    if (done.fields &&
        (board_write(b, item, err) < 0 || board_write_linked(b, c->add_blocks, err) < 0 ||
         board_write_linked(b, c->add_blocked_by, err) < 0))
        return -1;
    *ret = done;
    return 0;
}

int64_t board_claim(struct board *b, struct str actor, struct cancel *cancel, struct err *err)
{
    CLEANUP(latch_give) struct latch latch = LATCH_INIT;

    if (board_open(b, &latch, cancel, err) < 0)
        return -1;
    VEC_EACH(&b->items, i) {
        if (i->status != ITEM_PENDING || i->owner.len || board_is_blocked(b, i, /*ret=*/NULL))
            continue;
        i->owner = arena_str(&b->arena, actor);
        i->status = ITEM_IN_PROGRESS;
        return board_write(b, i, err) < 0 ? -1 : i->id;
    }
    return 0;
}

int board_give_back(struct board *b, struct str owner, struct cancel *cancel, struct err *err)
{
    CLEANUP(latch_give) struct latch latch = LATCH_INIT;
    int n = 0;

    if (board_open(b, &latch, cancel, err) < 0)
        return -1;
    VEC_EACH(&b->items, i) {
        if (i->status == ITEM_COMPLETED || !str_eq(i->owner, owner))
            continue;
        i->owner = (struct str){0};
        i->status = ITEM_PENDING;
        if (board_write(b, i, err) < 0)
            return -1;
        n++;
    }
    return n;
}

int board_clear(struct board *b, struct cancel *cancel, struct err *err)
{
    CLEANUP(latch_give) struct latch latch = LATCH_INIT;

    if (board_open(b, &latch, cancel, err) < 0)
        return -1;
    VEC_EACH(&b->items, i) {
        if (board_remove(b, i->id, err) < 0)
            return -1;
    }
    board_forget(b);
    return 0;
}
