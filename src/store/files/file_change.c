/*
 * file_change: checks of files, and the lines that record their state. Any thread; a list of
 * changes belongs to one.
 */
#include "store/files/file_change.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "json/json.h"
#include "json/jw.h"
#include "store/transcript/entry.h"

#define LOOK_TICK_NS ((int64_t)50 * 1000 * 1000)
#define LOOK_COARSE_TICK_NS ((int64_t)2 * 1000 * 1000 * 1000) /* of those without fractions */
#define LOOK_MODE 0777 /* setuid and its like are neither noted nor ever given back */

/* ---- A file at one moment ---- */

static int64_t mtime_ns(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

/* File systems have clocks with a limited resolution: a file written less than a tick ago may be
 * written again without changing its time, so its time proves nothing later. */
static bool look_is_fresh(const struct file_look *look)
{
    int64_t tick_ns = look->mtime_ns % 1000000000 ? LOOK_TICK_NS : LOOK_COARSE_TICK_NS;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - look->mtime_ns < tick_ns;
}

static enum look_kind look_kind(const struct stat *st, size_t max_bytes)
{
    if (!S_ISREG(st->st_mode))
        return LOOK_OTHER;
    return (uint64_t)st->st_size > max_bytes ? LOOK_BIG : LOOK_FILE;
}

static int look_stat(const char *path, size_t max_bytes, struct file_look *ret, struct err *err)
{
    struct stat st;

    *ret = (struct file_look){.kind = LOOK_ABSENT};
    if (lstat(path, &st) < 0) {
        if (errno == ENOENT)
            return 0;
        /* Something above it is not a folder: there is no file, and none can be created. */
        if (errno == ENOTDIR) {
            ret->kind = LOOK_OTHER;
            return 0;
        }
        return err_sys(err, ERR_IO, "cannot look at '%s'", path);
    }
    ret->kind = look_kind(&st, max_bytes);
    ret->size = st.st_size;
    ret->mtime_ns = mtime_ns(&st);
    ret->mode = st.st_mode & LOOK_MODE;
    return 0;
}

int file_look_at(const char *path, size_t max_bytes, struct file_look *ret, struct buf *ret_bytes,
                 struct err *err)
{
    CLEANUP(buf_release) struct buf bytes = BUF_INIT(max_bytes);
    struct err why = {0};

    if (look_stat(path, max_bytes, ret, err) < 0)
        return -1;
    if (ret->kind != LOOK_FILE)
        return 0;
    if (file_slurp(path, max_bytes, &bytes, &why) < 0) {
        if (why.code == ERR_TOO_BIG) { /* it grew just now */
            ret->kind = LOOK_BIG;
            return 0;
        }
        if (err)
            *err = why;
        return -1;
    }
    ret->size = (int64_t)bytes.len;
    if (look_is_fresh(ret))
        ret->mtime_ns = FILE_LOOK_NO_TIME;
    sha256_hex(buf_str(&bytes), ret->hash);
    if (ret_bytes)
        buf_move(ret_bytes, &bytes);
    return 0;
}

bool file_look_equal(const struct file_look *a, const struct file_look *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case LOOK_ABSENT:
        return true;
    case LOOK_FILE:
        return a->hash[0] && strcmp(a->hash, b->hash) == 0;
    case LOOK_BIG: /* the size and time are all that can be compared */
        return a->size == b->size && a->mtime_ns == b->mtime_ns;
    case LOOK_UNKNOWN:
    case LOOK_OTHER:
        break;
    }
    return false;
}

int file_look_still(const char *path, const struct file_look *was, size_t max_bytes, bool *ret,
                    struct err *err)
{
    struct file_look now;

    if (look_stat(path, max_bytes, &now, err) < 0)
        return -1;
    *ret = false;
    if (now.kind == LOOK_FILE && was->kind == LOOK_FILE && was->hash[0]) {
        if (now.size != was->size)
            return 0;
        if (now.mtime_ns == was->mtime_ns) {
            *ret = true;
            return 0;
        }
        /* git checkout and touch change the time of unchanged files. */
        if (file_look_at(path, max_bytes, &now, /*ret_bytes=*/NULL, err) < 0)
            return -1;
    }
    *ret = file_look_equal(&now, was);
    return 0;
}

/* ---- Lines ---- */

static void write_look(struct jw *w, const struct file_look *look)
{
    jw_object(w);
    if (look->kind == LOOK_ABSENT)
        jw_kbool(w, "absent", true);
    if (look->kind == LOOK_FILE)
        jw_kcstr(w, "hash", look->hash);
    if (look->kind == LOOK_FILE || look->kind == LOOK_BIG) {
        jw_ki64(w, "size", look->size);
        if (look->mtime_ns != FILE_LOOK_NO_TIME)
            jw_ki64(w, "mtimeNs", look->mtime_ns);
        jw_ki64(w, "mode", look->mode);
    }
    jw_object_end(w);
}

static void write_change(struct jw *w, const struct file_change *c)
{
    char time[25];

    entry_time(c->time_ms, time);
    jw_object(w);
    jw_key(w, "backupFileName");
    if (c->not_kept.len)
        jw_cstr(w, FILE_CHANGE_NOT_KEPT);
    else if (c->backup.len)
        jw_str(w, c->backup);
    else
        jw_null(w);
    jw_ki64(w, "version", c->version);
    jw_kcstr(w, "backupTime", time);
    if (c->tool.len)
        jw_kstr(w, "toolUseId", c->tool);
    if (c->not_kept.len)
        jw_kstr(w, "notKept", c->not_kept);
    if (c->folders)
        jw_ki64(w, "missingFolders", c->folders);
    jw_key(w, "before");
    write_look(w, &c->before);
    if (c->left.kind != LOOK_UNKNOWN) {
        jw_key(w, "left");
        write_look(w, &c->left);
    }
    jw_object_end(w);
}

void file_change_write(const struct file_change *c, bool is_update, struct buf *out)
{
    char time[25];
    struct jw w;

    entry_time(c->time_ms, time);
    jw_init(&w, out, 0);
    entry_begin_fact(&w, ENTRY_FILE_HISTORY);
    jw_kstr(&w, "messageId", c->message);
    jw_key(&w, "snapshot");
    jw_object(&w);
    jw_kstr(&w, "messageId", c->message);
    jw_key(&w, "trackedFileBackups");
    jw_object(&w);
    jw_key_str(&w, c->path);
    write_change(&w, c);
    jw_object_end(&w);
    jw_kcstr(&w, "timestamp", time);
    jw_object_end(&w);
    jw_kbool(&w, "isSnapshotUpdate", is_update);
    jw_object_end(&w);
    buf_addc(out, '\n');
}

static void read_look(const struct json *v, struct file_look *ret)
{
    struct str hash = json_get_str(v, "hash");
    bool is_absent = json_get_bool(v, "absent", false);

    *ret = (struct file_look){
        .size = json_get_i64(v, "size", -1),
        .mtime_ns = json_get_i64(v, "mtimeNs", FILE_LOOK_NO_TIME),
        .mode = (unsigned)json_get_i64(v, "mode", is_absent ? 0 : 0600) & LOOK_MODE,
    };
    if (is_absent) {
        ret->kind = LOOK_ABSENT;
    } else if (hash.len == SHA256_HEX) {
        ret->kind = LOOK_FILE;
        memcpy(ret->hash, hash.ptr, SHA256_HEX);
    } else if (ret->size >= 0) {
        ret->kind = LOOK_BIG;
    }
}

static void read_change(const struct json *v, struct file_change *c)
{
    const struct json *name = json_get(v, "backupFileName");
    int64_t folders = json_get_i64(v, "missingFolders", 0);
    int64_t version = json_get_i64(v, "version", 1);

    c->tool = json_get_str(v, "toolUseId");
    c->version =
        version > 0 && version < INT32_MAX ? version : 1; /* later versions count up from it */
    c->time_ms = entry_time_parse(json_get_str(v, "backupTime"));
    c->backup = json_str(name);
    c->not_kept = json_get_str(v, "notKept");
    c->folders = folders > 0 && folders < 4096 ? (unsigned)folders : 0;
    read_look(json_get(v, "before"), &c->before);
    read_look(json_get(v, "left"), &c->left);
    if (c->before.kind != LOOK_UNKNOWN)
        return;
    /* Other agents write null for a file that did not exist. */
    if (json_is(v, JSON_OBJECT) && name && json_type(name) == JSON_NULL)
        c->before.kind = LOOK_ABSENT;
}

void file_changes_release(struct file_changes *all)
{
    arena_release(&all->arena);
    vec_release(&all->list);
    map_release(&all->newest);
}

struct file_change *file_changes_keep(struct file_changes *all, const struct file_change *c)
{
    struct file_change *last = map_get(&all->newest, c->path);
    struct file_change *kept = last;
    struct str path = last ? last->path : (struct str){0};
    uint64_t offset = c->offset;

    if (last && last->version == c->version && str_eq(last->message, c->message)) {
        offset = last->offset;
    } else {
        kept = arena_new(&all->arena, struct file_change);
        vec_push(&all->list, kept);
    }
    *kept = *c;
    kept->offset = offset;
    kept->path = path.len ? path : arena_str(&all->arena, c->path);
    kept->message = arena_str(&all->arena, c->message);
    kept->tool = arena_str(&all->arena, c->tool);
    kept->backup = arena_str(&all->arena, c->backup);
    kept->not_kept = arena_str(&all->arena, c->not_kept);
    map_set(&all->newest, kept->path, kept);
    return kept;
}

void file_changes_add(struct file_changes *all, struct str line, uint64_t offset, struct str dir)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *root = NULL;
    const struct json *snapshot;

    if (json_parse(&arena, line, &root, /*ret_info=*/NULL, /*err=*/NULL) < 0 ||
        entry_kind_of(json_get_str(root, "type")) != ENTRY_FILE_HISTORY)
        return;
    snapshot = json_get(root, "snapshot");
    JSON_EACH(json_get(snapshot, "trackedFileBackups"), v) {
        struct file_change c = {.message = json_get_str(root, "messageId"), .offset = offset};
        CLEANUP(buf_release) struct buf path = BUF_INIT((size_t)64 << 10);
        struct str name = json_key(v);

        if (!name.len || memchr(name.ptr, '\0', name.len))
            continue;
        if (name.ptr[0] != '/')
            path_walk(&path, dir);
        path_walk(&path, name);
        if (!path.len || path.over)
            continue;
        c.path = buf_str(&path);
        read_change(v, &c);
        file_changes_keep(all, &c);
    }
}
