/*
 * inbox: letters in a file that is replaced whole. Any thread.
 */
#include "tasks/team/inbox.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "json/json.h"
#include "json/jw.h"
#include "tasks/team/latch.h"

void letters_release(struct letters *l)
{
    vec_release(&l->list);
    arena_release(&l->arena);
}

static char *inbox_folder(const char *team)
{
    return path_join(team, "inboxes");
}

static void inbox_path(const char *folder, struct str name, const char *suffix, struct buf *ret)
{
    buf_addf(ret, "%s/%.*s%s", folder, STR_ARG(name), suffix);
}

static int inbox_lock(struct latch *latch, const char *folder, struct str name,
                      struct cancel *cancel, struct err *err)
{
    CLEANUP(buf_release) struct buf lock = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&lock, "%.*s.lock", STR_ARG(name));
    return latch_take(latch, folder, buf_cstr(&lock), cancel, err);
}

/* Reads all letters; none if the file is missing. */
static int inbox_read(const char *folder, struct str name, struct letters *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf text = BUF_INIT(2 * INBOX_MAX_FILE);
    const struct json *file;
    struct err why = {0};

    inbox_path(folder, name, ".json", &path);
    if (file_slurp(buf_cstr(&path), 2 * INBOX_MAX_FILE, &text, &why) < 0) {
        if (why.code == ERR_NOT_FOUND)
            return 0;
        *err = why;
        return -1;
    }
    if (json_parse_copy(&ret->arena, buf_str(&text), &file, /*ret_info=*/NULL, err) < 0)
        return err_prefix(err, "%s", buf_cstr(&path));
    JSON_EACH(file, it) {
        vec_push(&ret->list, ((struct letter){
                                 .from = json_get_str(it, "from"),
                                 .text = json_get_str(it, "text"),
                                 .summary = json_get_str(it, "summary"),
                                 .color = json_get_str(it, "color"),
                                 .timestamp = json_get_str(it, "timestamp"),
                                 .id = json_get_str(it, "msg_id"),
                                 .is_read = json_get_bool(it, "read", false),
                             }));
    }
    return 0;
}

static void write_letter(struct jw *w, const struct letter *l)
{
    jw_object(w);
    jw_kstr(w, "from", l->from);
    jw_kstr(w, "text", l->text);
    if (l->summary.len)
        jw_kstr(w, "summary", l->summary);
    jw_kstr(w, "timestamp", l->timestamp);
    if (l->color.len)
        jw_kstr(w, "color", l->color);
    jw_ki64(w, "msgV", 1);
    jw_kstr(w, "msg_id", l->id);
    jw_kcstr(w, "type", "message");
    jw_kbool(w, "read", l->is_read);
    jw_object_end(w);
}

static int inbox_write(const char *folder, struct str name, const struct letters *all,
                       struct err *err)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf text = BUF_INIT(2 * INBOX_MAX_FILE);
    struct jw w;

    jw_init(&w, &text, 0);
    jw_array(&w);
    VEC_EACH(&all->list, l) {
        write_letter(&w, l);
    }
    jw_array_end(&w);
    buf_addc(&text, '\n');
    inbox_path(folder, name, ".json", &path);
    if (buf_check(&text, err) < 0)
        return -1;
    return file_replace(buf_cstr(&path), buf_str(&text), 0600, err);
}

static size_t letter_bytes(const struct letter *l)
{
    return l->from.len + l->text.len + l->summary.len + 200;
}

/* Makes room for one more by dropping the oldest read ones. ERR_TOO_BIG if the unread ones fill it.
 */
static int inbox_trim(struct letters *all, const struct letter *more, struct str name,
                      struct err *err)
{
    size_t bytes = letter_bytes(more);
    size_t read = 0;
    size_t unread = 0;
    size_t kept = 0;

    VEC_EACH(&all->list, l) {
        bytes += letter_bytes(l);
        read += l->is_read;
        unread += !l->is_read;
    }
    if (bytes <= INBOX_MAX_FILE)
        bytes = 0; /* its size does not matter */
    VEC_EACH(&all->list, l) {
        if (l->is_read && (read > INBOX_MAX_READ || bytes > INBOX_TRIM_TO)) {
            bytes -= bytes ? letter_bytes(l) : 0;
            read--;
        } else {
            all->list.ptr[kept++] = *l;
        }
    }
    all->list.len = kept;
    if (unread >= INBOX_MAX_UNREAD || bytes > INBOX_MAX_FILE)
        return err_set(err, ERR_TOO_BIG,
                       "the inbox of %.*s is full: %zu messages wait there. Wait until it has read "
                       "them",
                       STR_ARG(name), unread);
    return 0;
}

int inbox_put(const char *team, struct str name, const struct letter *l, struct cancel *cancel,
              char ret_id[static ID_UUID_LEN + 1], struct err *err)
{
    CLEANUP(latch_give) struct latch latch = LATCH_INIT;
    CLEANUP(mem_freep) char *folder = inbox_folder(team);
    CLEANUP(letters_release) struct letters all = LETTERS_INIT;
    struct letter added = *l;
    char now[32];

    if (l->text.len > INBOX_MAX_TEXT)
        return err_set(err, ERR_TOO_BIG,
                       "a message has at most %zu KiB: write the rest to a file and name it",
                       INBOX_MAX_TEXT >> 10);
    if (inbox_lock(&latch, folder, name, cancel, err) < 0 ||
        inbox_read(folder, name, &all, err) < 0 || inbox_trim(&all, l, name, err) < 0)
        return -1;
    clock_iso(clock_wall_ms(), now);
    id_uuid(ret_id);
    added.timestamp = str_of(now);
    added.id = str_of(ret_id);
    added.is_read = false;
    vec_push(&all.list, added);
    return inbox_write(folder, name, &all, err);
}

static void only_unread(struct letters *l)
{
    size_t n = 0;

    VEC_EACH(&l->list, it) {
        if (!it->is_read)
            l->list.ptr[n++] = *it;
    }
    l->list.len = n;
}

int inbox_look(const char *team, struct str name, struct letters *ret, struct err *err)
{
    CLEANUP(mem_freep) char *folder = inbox_folder(team);

    if (inbox_read(folder, name, ret, err) < 0)
        return -1;
    only_unread(ret);
    return 0;
}

static bool letters_have(const struct letters *l, const struct letter *one)
{
    VEC_EACH(&l->list, it) {
        if (str_eq(it->id, one->id) && str_eq(it->text, one->text))
            return true;
    }
    return false;
}

int inbox_mark(const char *team, struct str name, const struct letters *handled,
               struct cancel *cancel, struct err *err)
{
    CLEANUP(latch_give) struct latch latch = LATCH_INIT;
    CLEANUP(mem_freep) char *folder = inbox_folder(team);
    CLEANUP(letters_release) struct letters all = LETTERS_INIT;
    bool has_changed = false;

    if (!handled->list.len)
        return 0;
    if (inbox_lock(&latch, folder, name, cancel, err) < 0 ||
        inbox_read(folder, name, &all, err) < 0)
        return -1;
    VEC_EACH(&all.list, l) {
        bool marks = !l->is_read && letters_have(handled, l);

        l->is_read = l->is_read || marks;
        has_changed = has_changed || marks;
    }
    return has_changed ? inbox_write(folder, name, &all, err) : 0;
}
