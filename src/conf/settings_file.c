/*
 * settings_file: the new value is spliced into the text that was read, at the place where the
 * parser found the old one, so that nothing else moves. The lock is on the folder: a lock on the
 * file itself would be lost with the first file that takes its place. Any thread.
 */
#include "conf/settings_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "conf/source.h"
#include "json/json.h"
#include "json/jw.h"

#define INDENT 2 /* spaces a level */

/* --- texts ---------------------------------------------------------------------------------- */

static void add_spaces(struct buf *out, size_t level)
{
    buf_addc(out, '\n');
    for (size_t i = 0; i < level * INDENT; i++)
        buf_addc(out, ' ');
}

static void add_key(struct buf *out, struct str key)
{
    struct jw w;

    jw_init(&w, out, 0);
    jw_str(&w, key);
    buf_adds(out, ": ");
}

/* "a": {"b": value}, for a rest "a.b" of the key. */
static void add_member(struct buf *out, struct str rest, struct str value, size_t level)
{
    struct str part;

    str_cut(&rest, '.', &part);
    add_spaces(out, level);
    add_key(out, part);
    if (!rest.len) {
        buf_add(out, value);
        return;
    }
    buf_addc(out, '{');
    add_member(out, rest, value, level + 1); /* as deep as the key has dots */
    add_spaces(out, level);
    buf_addc(out, '}');
}

/* After the last member, or between the brackets of an empty object. */
static void insert_member(struct str text, const struct json *object, struct str rest,
                          struct str value, size_t level, struct buf *ret)
{
    const struct json *last = NULL;
    struct str raw = json_raw(object);
    size_t at;

    JSON_EACH(object, v) {
        last = v;
    }
    at = last ? (size_t)(json_raw(last).ptr - text.ptr) + json_raw(last).len
              : (size_t)(raw.ptr - text.ptr) + 1;
    buf_add(ret, str_first(text, at));
    if (last)
        buf_addc(ret, ',');
    add_member(ret, rest, value, level);
    if (last) {
        buf_add(ret, str_from(text, at));
        return;
    }
    add_spaces(ret, level - 1);
    buf_add(ret, str_from(text, (size_t)(raw.ptr - text.ptr) + raw.len - 1));
}

int settings_text_set(struct str text, const char *key, struct str value, struct buf *ret,
                      struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct str rest = str_of(key);
    const struct json *at;
    size_t level = 1;

    if (!str_trim(text).len)
        text = STR("{}\n");
    if (json_parse(&arena, text, &at, /*ret_info=*/NULL, err) < 0)
        return -1;
    for (;; level++) {
        struct str before = rest;
        const struct json *child;
        struct str part;

        if (!json_is(at, JSON_OBJECT))
            return err_set(err, ERR_BAD_INPUT, "'%s' leads through something that is no object",
                           key);
        str_cut(&rest, '.', &part);
        child = json_get_key(at, part);
        if (!child) {
            insert_member(text, at, before, value, level, ret);
            return buf_check(ret, err);
        }
        at = child;
        if (!rest.len)
            break;
    }
    buf_add(ret, str_first(text, (size_t)(json_raw(at).ptr - text.ptr)));
    buf_add(ret, value);
    buf_add(ret, str_from(text, (size_t)(json_raw(at).ptr - text.ptr) + json_raw(at).len));
    return buf_check(ret, err);
}

static size_t end_of(struct str text, const struct json *v)
{
    return (size_t)(json_raw(v).ptr - text.ptr) + json_raw(v).len;
}

/* Out with it, and with the comma that it needed. */
static void cut_member(struct str text, const struct json *object, const struct json *gone,
                       struct buf *ret)
{
    size_t from = (size_t)(json_raw(object).ptr - text.ptr) + 1;
    size_t to = end_of(text, gone);
    bool is_first = true;
    bool is_last = true;

    JSON_EACH(object, v) {
        if (json_raw(v).ptr < json_raw(gone).ptr) {
            from = end_of(text, v);
            is_first = false;
        }
        is_last = is_last && json_raw(v).ptr <= json_raw(gone).ptr;
    }
    if (is_first && is_last)
        to = end_of(text, object) - 1;
    else if (is_first)
        to += str_chr(str_from(text, to), ',') + 1;
    buf_add(ret, str_first(text, from));
    buf_add(ret, str_from(text, to));
}

/* As settings_file_remove(), on a text. */
static int settings_text_remove(struct str text, const char *key, struct buf *ret, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *object = NULL;
    struct str rest = str_of(key);
    const struct json *at;
    struct str part;

    if (!str_trim(text).len)
        return 0;
    if (json_parse(&arena, text, &at, /*ret_info=*/NULL, err) < 0)
        return -1;
    while (at && str_cut(&rest, '.', &part)) {
        object = at;
        at = json_is(object, JSON_OBJECT) ? json_get_key(object, part) : NULL;
    }
    if (!at || !object)
        return 0;
    cut_member(text, object, at, ret);
    return buf_check(ret, err) < 0 ? -1 : 1;
}

/* --- files ---------------------------------------------------------------------------------- */

static int lock_folder(const char *dir, struct err *err)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return err_sys(err, ERR_IO, "cannot open '%s'", dir);
    /* Held for the moment that a change takes. */
    while (flock(fd, LOCK_EX) < 0) {
        if (errno == EINTR)
            continue;
        err_sys(err, ERR_IO, "cannot lock '%s'", dir);
        close(fd);
        return -1;
    }
    return fd;
}

static int change_locked(const char *path, const char *key, settings_value_fn fn, void *arg,
                         struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(SOURCE_MAX_BYTES);
    CLEANUP(buf_release) struct buf value = BUF_INIT(SOURCE_MAX_BYTES);
    CLEANUP(buf_release) struct buf changed = BUF_INIT(SOURCE_MAX_BYTES);
    const struct json *root = NULL;
    struct err missing = {0};
    struct stat st;
    bool exists = stat(path, &st) == 0;

    if (file_slurp(path, SOURCE_MAX_BYTES, &text, &missing) < 0 && missing.code != ERR_NOT_FOUND) {
        *err = missing;
        return -1;
    }
    if (str_trim(buf_str(&text)).len &&
        json_parse(&arena, buf_str(&text), &root, /*ret_info=*/NULL, err) < 0)
        return err_prefix(err, "%s", path);
    if (fn(root ? json_path(root, key) : NULL, &value, arg, err) < 0 || buf_check(&value, err) < 0)
        return -1;
    if (!value.len)
        return 0;
    if (settings_text_set(buf_str(&text), key, buf_str(&value), &changed, err) < 0)
        return err_prefix(err, "%s", path);
    return file_replace_like(path, buf_str(&changed), exists ? &st : NULL, err);
}

/* Private files should not show up as a change of the project, nor be committed with it. An
 * existing file is the user's, and without one nothing else is lost. */
static void hide_local(const char *path, const char *dir)
{
    static const struct str text =
        STR_INIT("# Made by tenax: your private files. Settings, commands and skills that the\n"
                 "# project shares are not listed here.\n"
                 ".gitignore\n"
                 "settings.local.json\n"
                 "worktrees/\n");
    CLEANUP(mem_freep) char *ignore = path_join(dir, ".gitignore");

    if (strcmp(path_base(path), "settings.local.json") == 0 &&
        strcmp(path_base(dir), ".tenax") == 0 && !file_exists(ignore))
        (void)file_replace(ignore, text, 0644, /*err=*/NULL);
}

int settings_file_change(const char *path, const char *key, settings_value_fn fn, void *arg,
                         struct err *err)
{
    CLEANUP(mem_freep) char *real = path_real(path); /* a link is kept, its target changed */
    CLEANUP(mem_freep) char *dir = path_dirname(real);
    CLEANUP(fd_closep) int fd = -1;

    if (file_mkdirs(dir, 0755, err) < 0)
        return -1;
    fd = lock_folder(dir, err);
    if (fd < 0)
        return -1;
    hide_local(real, dir);
    return change_locked(real, key, fn, arg, err);
}

static int remove_locked(const char *path, const char *key, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(SOURCE_MAX_BYTES);
    CLEANUP(buf_release) struct buf changed = BUF_INIT(SOURCE_MAX_BYTES);
    bool is_there = false;
    struct stat st;
    int found;

    if (file_slurp(path, SOURCE_MAX_BYTES, &text, err) < 0)
        return -1;
    /* A key that is there twice: the last one counts, and the other would, were it left. */
    for (;;) {
        found = settings_text_remove(buf_str(&text), key, &changed, err);
        if (found < 0)
            return err_prefix(err, "%s", path);
        if (found == 0)
            break;
        is_there = true;
        buf_move(&text, &changed);
    }
    if (!is_there)
        return 0;
    if (stat(path, &st) < 0)
        return err_sys(err, ERR_IO, "cannot look at '%s'", path);
    return file_replace_like(path, buf_str(&text), &st, err) < 0 ? -1 : 1;
}

int settings_file_remove(const char *path, const char *key, struct err *err)
{
    CLEANUP(mem_freep) char *real = path_real(path);
    CLEANUP(mem_freep) char *dir = path_dirname(real);
    CLEANUP(fd_closep) int fd = -1;

    if (!file_exists(real))
        return 0;
    fd = lock_folder(dir, err);
    if (fd < 0)
        return -1;
    return remove_locked(real, key, err);
}
