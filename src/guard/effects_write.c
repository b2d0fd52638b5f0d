/*
 * effects_write: changes as JSON, text files with their diff, and as a few words. Long lists are
 * cut: a question about ten thousand files gives their number and the first ones.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "guard/effects.h"
#include "guard/patch.h"
#include "json/jw.h"

#define WRITE_MAX_FILE ((size_t)256 << 10)    /* of a text that is compared line by line */
#define WRITE_MAX_PATCHES ((size_t)512 << 10) /* of all diffs together */
#define WRITE_CONTEXT 3

static const char *type_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return "folder";
    case S_IFLNK:
        return "link";
    case S_IFIFO:
        return "fifo";
    case S_IFSOCK:
        return "socket";
    default:
        return "file";
    }
}

static const char *change_of(const struct effect *e)
{
    static const char *const names[] = {"created", "modified", "mode", "touched", "deleted"};

    return e->from ? "renamed" : names[e->change];
}

/* False: it is no text, or too long for a diff. */
static bool read_text(const char *path, struct buf *ret, bool *ret_binary)
{
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0 || file_slurp_fd(fd, path, WRITE_MAX_FILE, ret, /*err=*/NULL) < 0)
        return false;
    if (ret->len && memchr(ret->ptr, '\0', ret->len))
        *ret_binary = true;
    return !*ret_binary;
}

static bool begins_binary(const char *path)
{
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    char start[4096];
    ssize_t n = fd >= 0 ? read(fd, start, sizeof(start)) : -1;

    return n > 0 && memchr(start, '\0', (size_t)n);
}

static void write_patch(const struct effect *e, size_t *left, struct jw *w)
{
    CLEANUP(buf_release) struct buf old = BUF_INIT(WRITE_MAX_FILE);
    CLEANUP(buf_release) struct buf new = BUF_INIT(WRITE_MAX_FILE);
    CLEANUP(buf_release) struct buf json = BUF_INIT(WRITE_MAX_PATCHES);
    bool is_binary = false;
    struct patch patch;
    struct jw out;

    if (e->change == EFFECT_MODE || e->change == EFFECT_TOUCHED || e->from)
        return;
    if ((S_ISREG(e->was.st_mode) && !read_text(e->path, &old, &is_binary)) ||
        (S_ISREG(e->now.st_mode) && !read_text(e->upper, &new, &is_binary))) {
        if (is_binary || begins_binary(e->upper ? e->upper : e->path))
            jw_kbool(w, "binary", true);
        return;
    }
    if (e->change == EFFECT_DELETED) /* that it goes says it all */
        return;
    patch_make(&patch, buf_str(&old), buf_str(&new), WRITE_CONTEXT);
    jw_init(&out, &json, 0);
    patch_write(&patch, &out);
    patch_release(&patch);
    if (json.over || json.len > *left)
        return;
    *left -= json.len;
    jw_kraw(w, "structuredPatch", buf_str(&json));
}

static void write_mode(struct jw *w, const char *key, mode_t mode)
{
    char text[8];

    snprintf(text, sizeof(text), "%04o", (unsigned)(mode & 07777));
    jw_kcstr(w, key, text);
}

static void write_target(const struct effect *e, struct jw *w)
{
    char target[4096];
    ssize_t n = e->upper ? readlink(e->upper, target, sizeof(target)) : -1;

    if (n >= 0)
        jw_kstr(w, "target", str_make(target, (size_t)n));
}

static void write_change(const struct effect *e, size_t *left, struct jw *w)
{
    mode_t mode = e->upper ? e->now.st_mode : e->was.st_mode;

    jw_object(w);
    jw_kcstr(w, "change", change_of(e));
    jw_kcstr(w, "type", type_of(mode));
    jw_kcstr(w, "path", e->path);
    if (e->from)
        jw_kcstr(w, "from", e->from);
    if (e->is_protected)
        jw_kbool(w, "protected", true);
    if (e->was.st_mode && e->upper && (e->was.st_mode & S_IFMT) != (e->now.st_mode & S_IFMT))
        jw_kcstr(w, "replaces", type_of(e->was.st_mode));
    if (e->was.st_mode && !S_ISLNK(e->was.st_mode))
        write_mode(w, "oldMode", e->was.st_mode);
    if (e->upper && !S_ISLNK(mode))
        write_mode(w, "mode", mode);
    if (e->was.st_mode && e->upper &&
        (e->was.st_uid != e->now.st_uid || e->was.st_gid != e->now.st_gid)) {
        jw_ki64(w, "uid", e->now.st_uid);
        jw_ki64(w, "gid", e->now.st_gid);
    }
    if (S_ISREG(e->was.st_mode))
        jw_ki64(w, "oldSize", e->was.st_size);
    if (e->upper && S_ISREG(mode))
        jw_ki64(w, "size", e->now.st_size);
    if (e->inside.files)
        jw_ki64(w, "files", (int64_t)e->inside.files);
    if (e->upper && S_ISLNK(mode))
        write_target(e, w);
    if (S_ISREG(mode))
        write_patch(e, left, w);
    jw_object_end(w);
}

struct counts {
    size_t created, folders, modified, mode, touched, deleted, renamed, protected;
};

static void count(const struct effects *e, struct counts *ret)
{
    *ret = (struct counts){0};
    VEC_EACH(&e->list, one) {
        ret->protected += one->is_protected;
        if (one->is_told_elsewhere)
            continue;
        if (one->from)
            ret->renamed++;
        else if (one->change == EFFECT_CREATED && S_ISDIR(one->now.st_mode))
            ret->folders++;
        else if (one->change == EFFECT_CREATED)
            ret->created++;
        else if (one->change == EFFECT_MODIFIED)
            ret->modified++;
        else if (one->change == EFFECT_MODE)
            ret->mode++;
        else if (one->change == EFFECT_TOUCHED)
            ret->touched++;
        /* A folder counts as the files in it. */
        if (one->inside.files)
            ret->deleted += one->inside.files;
        else if (one->change == EFFECT_DELETED)
            ret->deleted++;
    }
}

static void add_count(struct buf *to, size_t n, const char *verb, const char *what)
{
    if (!n)
        return;
    buf_addf(to, "%s%s %zu %s%s", to->len ? ", " : "", verb, n, what, n == 1 ? "" : "s");
}

void effects_summary(const struct effects *e, struct buf *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);
    struct counts n;

    count(e, &n);
    add_count(&text, n.created, "create", "file");
    if (n.folders && !n.created)
        add_count(&text, n.folders, "create", "folder");
    add_count(&text, n.modified, "change", "file");
    add_count(&text, n.renamed, "rename", "file");
    add_count(&text, n.mode, "change the mode of", "file");
    add_count(&text, n.touched, "touch", "file");
    add_count(&text, n.deleted, "delete", "file");
    buf_add(ret, buf_str(&text));
}

/* Those that decide what programs run come first, so that no number of others hides them. */
static size_t write_some(const struct effects *e, bool is_protected, size_t shown, size_t *left,
                         struct jw *w)
{
    VEC_EACH(&e->list, one) {
        bool is_told = !one->is_told_elsewhere || one->is_protected;

        if (shown >= EFFECTS_SHOWN)
            break;
        if (!is_told || one->is_protected != is_protected)
            continue;
        write_change(one, left, w);
        shown++;
    }
    return shown;
}

void effects_write(const struct effects *e, struct buf *ret)
{
    CLEANUP(buf_release) struct buf summary = BUF_INIT(1000);
    size_t left = WRITE_MAX_PATCHES;
    size_t all = 0;
    size_t shown;
    struct counts n;
    struct jw w;

    count(e, &n);
    effects_summary(e, &summary);
    VEC_EACH(&e->list, one) {
        all += !one->is_told_elsewhere || one->is_protected;
    }
    jw_init(&w, ret, 0);
    jw_object(&w);
    jw_kstr(&w, "summary", buf_str(&summary));
    jw_ki64(&w, "created", (int64_t)(n.created + n.folders));
    jw_ki64(&w, "modified", (int64_t)n.modified);
    jw_ki64(&w, "renamed", (int64_t)n.renamed);
    jw_ki64(&w, "deleted", (int64_t)n.deleted);
    jw_ki64(&w, "mode", (int64_t)n.mode);
    jw_ki64(&w, "touched", (int64_t)n.touched);
    jw_ki64(&w, "protected", (int64_t)n.protected);
    jw_key(&w, "changes");
    jw_array(&w);
    shown = write_some(e, /*is_protected=*/true, 0, &left, &w);
    shown = write_some(e, /*is_protected=*/false, shown, &left, &w);
    jw_array_end(&w);
    jw_ki64(&w, "omitted", (int64_t)(all - shown));
    jw_object_end(&w);
}
