/*
 * Stored keys: {"keys": {"anthropic": {"key": "…"}}}.
 *
 * A change reads the whole file, replaces one member and writes the whole file, so that members
 * added by later versions survive. A lock on the folder, held for a few milliseconds, serializes
 * writers. Any thread.
 */
#include "llm/auth.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/secret.h"
#include "json/json.h"
#include "json/jw.h"

#define AUTH_MAX_FILE ((size_t)1 << 20)

int auth_check_key(struct str key, const char *where, struct err *err)
{
    if (!key.len)
        return err_set(err, ERR_BAD_INPUT, "the key from %s is empty", where);
    if (key.len > AUTH_MAX_KEY)
        return err_set(err, ERR_BAD_INPUT, "the key from %s is longer than %d bytes", where,
                       AUTH_MAX_KEY);
    for (size_t i = 0; i < key.len; i++) {
        if (key.ptr[i] <= ' ' || key.ptr[i] > '~')
            return err_set(err, ERR_BAD_INPUT,
                           "the key from %s has a space, a line break or another character that "
                           "no key has (at position %zu)",
                           where, i + 1);
    }
    return 0;
}

/* Restricts the file to its owner. Works on the open descriptor, so that the file cannot be
 * replaced in between. */
static int close_to_others(int fd, const char *path, struct strv *notes, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_sys(err, ERR_IO, "cannot look at '%s'", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_BAD_INPUT, "'%s' is not a file", path);
    if (st.st_uid != geteuid())
        return err_set(err, ERR_DENIED, "'%s' belongs to another user; not using the keys in it",
                       path);
    if (!(st.st_mode & 077))
        return 0;
    if (fchmod(fd, 0600) < 0)
        return err_sys(err, ERR_DENIED, "others can read the keys in '%s', and it cannot be closed",
                       path);
    if (notes)
        strv_addf(notes,
                  "%s was open to other users (mode %03o); it is closed now, but the keys in it "
                  "should be replaced",
                  path, (unsigned)st.st_mode & 0777);
    return 0;
}

/* Reads the document; NULL if there is no file. *text owns the bytes. */
static int auth_read(const char *home, struct arena *arena, struct buf *text, struct strv *notes,
                     const struct json **ret, struct err *err)
{
    CLEANUP(mem_freep) char *path = path_join(home, "auth.json");
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const struct json *doc = NULL;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        *ret = NULL;
        return 0;
    }
    if (fd < 0)
        return err_sys(err, ERR_IO, "cannot open '%s'", path);
    if (close_to_others(fd, path, notes, err) < 0 || buf_add_fd(text, fd, err) < 0)
        return -1;
    if (json_parse(arena, buf_str(text), &doc, /*ret_info=*/NULL, err) < 0)
        return err_prefix(err, "%s", path);
    if (!json_is(doc, JSON_OBJECT))
        return err_set(err, ERR_BAD_INPUT, "%s: expected an object", path);
    *ret = doc;
    return 0;
}

int auth_get(const char *home, struct str provider, struct buf *ret_key, struct strv *notes,
             struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(AUTH_MAX_FILE);
    const struct json *doc = NULL;
    struct str key;

    if (auth_read(home, &arena, &text, notes, &doc, err) < 0)
        return -1;
    key = json_get_str(json_get_key(json_get(doc, "keys"), provider), "key");
    if (!key.len)
        return err_set(err, ERR_NOT_FOUND, "no key is stored for %.*s", STR_ARG(provider));
    if (auth_check_key(key, "auth.json", err) < 0)
        return -1;

    secret_add(key);
    buf_release(ret_key);
    buf_init(ret_key, AUTH_MAX_KEY);
    buf_add(ret_key, key);
    return 0;
}

void auth_hide_keys(const char *home)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(AUTH_MAX_FILE);
    CLEANUP(mem_freep) char *path = path_join(home, "auth.json");
    const struct json *doc = NULL;

    /* Problems with the file are reported and corrected by callers that need a key. */
    if (file_slurp(path, AUTH_MAX_FILE, &text, /*err=*/NULL) < 0 ||
        json_parse(&arena, buf_str(&text), &doc, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    JSON_EACH(json_get(doc, "keys"), it) {
        secret_add(json_get_str(it, "key"));
    }
}

int auth_list(const char *home, struct strv *ret_names, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(AUTH_MAX_FILE);
    const struct json *doc = NULL;

    if (auth_read(home, &arena, &text, /*notes=*/NULL, &doc, err) < 0)
        return -1;
    JSON_EACH(json_get(doc, "keys"), it) {
        if (json_get_str(it, "key").len)
            strv_add(ret_names, json_key(it));
    }
    return 0;
}

/* Writes the document with the provider's key replaced, or removed if key is empty. */
static void write_with(struct buf *out, const struct json *doc, struct str provider, struct str key)
{
    struct jw w;

    jw_init(&w, out, JW_PRETTY);
    jw_object(&w);
    JSON_EACH(doc, it) {
        if (str_is(json_key(it), "keys"))
            continue;
        jw_key_str(&w, json_key(it));
        jw_json(&w, it);
    }
    jw_key(&w, "keys");
    jw_object(&w);
    JSON_EACH(json_get(doc, "keys"), it) {
        if (str_eq(json_key(it), provider))
            continue;
        jw_key_str(&w, json_key(it));
        jw_json(&w, it);
    }
    if (key.len) {
        jw_key_str(&w, provider);
        jw_object(&w);
        jw_kstr(&w, "key", key);
        jw_object_end(&w);
    }
    jw_object_end(&w);
    jw_object_end(&w);
    buf_addc(out, '\n');
}

/* Locks the folder against other tenax processes; closing the descriptor unlocks it. */
static int lock_home(const char *home, struct err *err)
{
    int fd = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return err_sys(err, ERR_IO, "cannot open '%s'", home);
    while (flock(fd, LOCK_EX) < 0) {
        if (errno == EINTR)
            continue;
        err_sys(err, ERR_IO, "cannot lock '%s'", home);
        close(fd);
        return -1;
    }
    return fd;
}

static int auth_change(const char *home, struct str provider, struct str key, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(AUTH_MAX_FILE);
    CLEANUP(buf_release) struct buf out = BUF_INIT(AUTH_MAX_FILE);
    CLEANUP(mem_freep) char *path = path_join(home, "auth.json");
    CLEANUP(mem_freep) char *real = NULL;
    CLEANUP(fd_closep) int lock = lock_home(home, err);
    const struct json *doc = NULL;

    if (lock < 0)
        return -1;
    if (auth_read(home, &arena, &text, /*notes=*/NULL, &doc, err) < 0)
        return -1;
    if (!key.len && !json_get_key(json_get(doc, "keys"), provider))
        return err_set(err, ERR_NOT_FOUND, "no key is stored for %.*s", STR_ARG(provider));
    write_with(&out, doc, provider, key);
    if (buf_check(&out, err) < 0)
        return err_prefix(err, "%s", path);
    real = path_real(path); /* if it is a link, replace its target */
    return file_replace(real, buf_str(&out), 0600, err);
}

int auth_set(const char *home, struct str provider, struct str key, struct err *err)
{
    if (auth_check_key(key, "the command", err) < 0)
        return -1;
    secret_add(key);
    if (file_mkdirs(home, 0700, err) < 0)
        return -1;
    return auth_change(home, provider, key, err);
}

int auth_remove(const char *home, struct str provider, struct err *err)
{
    if (!file_is_dir(home))
        return err_set(err, ERR_NOT_FOUND, "no key is stored for %.*s", STR_ARG(provider));
    return auth_change(home, provider, (struct str){0}, err);
}
