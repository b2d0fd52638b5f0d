/*
 * protect_file: the manifest as a file: a line per thing, fields with one blank between them, '%XX'
 * for what would not stay in its field. Paths may hold any bytes, so this is no JSON. The hash of
 * the whole file is kept elsewhere. Any thread.
 */
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "goal/protect.h"
#include "goal/protect_state.h"

#define MANIFEST_FIRST "tenax-protect 1"
#define MANIFEST_MAX ((size_t)64 << 20)

/* ---- writing ---- */

static void add_field(struct buf *to, const char *text)
{
    buf_addc(to, ' ');
    if (!*text)
        buf_addc(to, '%');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c <= ' ' || c == '%' || c == 0x7f)
            buf_addf(to, "%%%02X", c);
        else
            buf_addc(to, (char)c);
    }
}

static void add_digest(struct buf *to, const struct digest *d)
{
    buf_addf(to, " %d %s %" PRId64 " %" PRIu64 " %" PRId64 " %" PRId64 " %d", (int)d->kind,
             *d->sha256 ? d->sha256 : "-", d->size, d->ino, d->mtime_ns, d->ctime_ns, d->settled);
}

static void manifest_write(const struct protect *p, struct buf *ret)
{
    buf_adds(ret, MANIFEST_FIRST "\ndir");
    add_field(ret, p->dir);
    buf_adds(ret, "\npath");
    add_field(ret, p->search);
    buf_addc(ret, '\n');
    VEC_EACH(&p->files, f) {
        buf_addf(ret, "file %d", (int)f->kind);
        add_digest(ret, &f->digest);
        add_field(ret, f->path);
        add_field(ret, f->why);
        buf_addc(ret, '\n');
    }
    VEC_EACH(&p->programs, it) {
        buf_addf(ret, "program %d", it->trusted);
        add_digest(ret, &it->digest);
        add_field(ret, it->name);
        add_field(ret, it->path);
        add_field(ret, it->real);
        add_field(ret, it->why);
        buf_addc(ret, '\n');
    }
    VEC_EACH(&p->places, it) {
        buf_adds(ret, "place");
        add_digest(ret, &it->digest);
        add_field(ret, it->path);
        buf_addc(ret, '\n');
    }
    for (size_t i = 0; i < p->shadows.len; i++) {
        buf_adds(ret, "shadow");
        add_field(ret, p->shadows.ptr[i]);
        buf_addc(ret, '\n');
    }
}

int protect_write(const struct protect *p, const char *path, char ret_sha256[SHA256_HEX + 1],
                  struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(MANIFEST_MAX);

    manifest_write(p, &text);
    if (buf_check(&text, err) < 0 || file_replace(path, buf_str(&text), 0600, err) < 0)
        return -1;
    sha256_hex(buf_str(&text), ret_sha256);
    return 0;
}

/* ---- reading ---- */

static int hex_of(char c)
{
    const char *digits = "0123456789ABCDEF";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* The next field, or NULL. */
static char *take_field(struct str *rest)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct str field;

    if (!rest->len || !str_cut(rest, ' ', &field))
        return NULL;
    for (size_t i = 0; i < field.len; i++) {
        int high = i + 2 < field.len ? hex_of(field.ptr[i + 1]) : -1;
        int low = i + 2 < field.len ? hex_of(field.ptr[i + 2]) : -1;

        if (field.ptr[i] != '%') {
            buf_addc(&text, field.ptr[i]);
        } else if (high >= 0 && low >= 0) {
            buf_addc(&text, (char)(high << 4 | low));
            i += 2;
        }
    }
    return text.len ? buf_take(&text) : mem_dup("", 0);
}

static bool take_number(struct str *rest, int64_t *ret)
{
    struct str field;

    return rest->len && str_cut(rest, ' ', &field) && str_to_i64(field, ret, NULL) == 0;
}

static bool take_digest(struct str *rest, struct digest *ret)
{
    int64_t kind;
    int64_t ino;
    int64_t settled;
    struct str hash;

    if (!take_number(rest, &kind) || kind < DIGEST_GONE || kind > DIGEST_CLOSED ||
        !str_cut(rest, ' ', &hash) || hash.len > SHA256_HEX || !take_number(rest, &ret->size) ||
        !take_number(rest, &ino) || !take_number(rest, &ret->mtime_ns) ||
        !take_number(rest, &ret->ctime_ns) || !take_number(rest, &settled))
        return false;
    ret->kind = (enum digest_kind)kind;
    ret->ino = (uint64_t)ino;
    ret->settled = settled;
    memcpy(ret->sha256, hash.ptr, hash.len);
    ret->sha256[hash.len] = '\0';
    return true;
}

/* One line behind its first word. What was read of a line that is wrong is freed with the rest. */
static bool manifest_line(struct protect *p, struct str verb, struct str rest)
{
    int64_t number = 0;

    if (str_is(verb, "dir")) {
        mem_freep(&p->dir);
        p->dir = take_field(&rest);
        return p->dir != NULL;
    }
    if (str_is(verb, "path")) {
        mem_freep(&p->search);
        p->search = take_field(&rest);
        return p->search != NULL;
    }
    if (str_is(verb, "file")) {
        struct protect_file *f = vec_add(&p->files);

        *f = (struct protect_file){0};
        if (!take_number(&rest, &number) || number < PROTECT_FILE || number > PROTECT_ABSENT ||
            !take_digest(&rest, &f->digest))
            return false;
        f->kind = (enum protect_kind)number;
        f->path = take_field(&rest);
        f->why = take_field(&rest);
        return f->path && f->why;
    }
    if (str_is(verb, "program")) {
        struct protect_program *it = vec_add(&p->programs);

        *it = (struct protect_program){0};
        if (!take_number(&rest, &number) || !take_digest(&rest, &it->digest))
            return false;
        it->trusted = number;
        it->name = take_field(&rest);
        it->path = take_field(&rest);
        it->real = take_field(&rest);
        it->why = take_field(&rest);
        return it->name && it->path && it->real && it->why;
    }
    if (str_is(verb, "place")) {
        struct protect_place *it = vec_add(&p->places);

        *it = (struct protect_place){0};
        if (!take_digest(&rest, &it->digest))
            return false;
        it->path = take_field(&rest);
        return it->path;
    }
    if (str_is(verb, "shadow")) {
        CLEANUP(mem_freep) char *path = take_field(&rest);

        if (path)
            strv_adds(&p->shadows, path);
        return path;
    }
    return false;
}

static bool manifest_read(struct protect *p, struct str text)
{
    struct str line;
    struct str verb;

    if (!str_cut(&text, '\n', &line) || !str_is(line, MANIFEST_FIRST))
        return false;
    while (text.len && str_cut(&text, '\n', &line)) {
        if (!str_cut(&line, ' ', &verb) || !manifest_line(p, verb, line))
            return false;
    }
    return p->dir && p->search;
}

int protect_read(const char *path, struct str sha256, struct protect **ret, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    char hex[SHA256_HEX + 1];
    struct protect *p;

    if (file_slurp(path, MANIFEST_MAX, &text, err) < 0)
        return -1;
    sha256_hex(buf_str(&text), hex);
    if (!str_is(sha256, hex))
        return err_set(err, ERR_PROTOCOL, "the list of protected files, '%s', has been changed",
                       path);
    p = mem_zalloc(sizeof(*p));
    if (!manifest_read(p, buf_str(&text))) {
        protect_free(p);
        return err_set(err, ERR_PROTOCOL, "the list of protected files, '%s', cannot be read",
                       path);
    }
    *ret = p;
    return 0;
}
