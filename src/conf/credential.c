/*
 * credential: a walk over the few keys that matter, apart from the table's own checks, so that
 * entries are found in folders that are not trusted, too. Runs on whatever thread loads the
 * settings.
 */
#include "conf/credential.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/strv.h"
#include "conf/check.h"
#include "conf/checkout.h"
#include "conf/source.h"
#include "json/json.h"

#define INDEX_MAX ((size_t)256 << 20)
#define INDEX_HEAD 12
#define INDEX_ENTRY 62 /* up to the name, with hashes of 20 bytes */
#define INDEX_EXTENDED 0x4000

/* ---- Which ---- */

static const char *const keys[] = {"apiKeyHelper",   "awsAuthRefresh",    "awsCredentialExport",
                                   "gcpAuthRefresh", "otelHeadersHelper", "proxyAuthHelper"};
/* Members of these, each by itself. */
static const char *const tables[] = {"providers"};

static bool ends_nocase(struct str s, struct str end)
{
    return s.len >= end.len && str_eq_nocase(str_from(s, s.len - end.len), end);
}

static bool begins_nocase(struct str s, struct str begin)
{
    return s.len >= begin.len && str_eq_nocase(str_first(s, begin.len), begin);
}

bool credential_is_variable(struct str name)
{
    static const char *const begins[] = {"OPENAI_", "GEMINI_", "GOOGLE_",  "AWS_",
                                         "AZURE_",  "VERTEX_", "SSL_CERT", "CURL_CA"};
    static const char *const ends[] = {"_BASE_URL",  "_API_KEY", "_AUTH_TOKEN", "_TOKEN",
                                       "_PROXY",     "_HEADERS", "_ENDPOINT",   "_CA_BUNDLE",
                                       "_CA_CERTS",  "_HOST",    "_SECRET",     "_CLIENT_CERT",
                                       "_CLIENT_KEY"};
    static const char *const whole[] = {"NODE_TLS_REJECT_UNAUTHORIZED", "CLAUDE_CODE_USE_BEDROCK",
                                        "CLAUDE_CODE_USE_VERTEX", "TENAX_JUDGE_MODEL"};

    for (size_t i = 0; i < ARRAY_LEN(begins); i++) {
        if (begins_nocase(name, str_of(begins[i])))
            return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        if (ends_nocase(name, str_of(ends[i])))
            return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(whole); i++) {
        if (str_eq_nocase(name, str_of(whole[i])))
            return true;
    }
    return false;
}

/* ---- Whose ---- */

static uint32_t big32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The number of bytes to drop from the name before (version 4); false: it does not end. */
static bool read_strip(const unsigned char **at, const unsigned char *end, size_t *ret)
{
    size_t n = 0;

    while (*at < end) {
        unsigned char c = *(*at)++;

        n = n << 7 | (c & 127);
        if (!(c & 128)) {
            *ret = n;
            return true;
        }
        n++;
        if (n > INDEX_MAX)
            break;
    }
    return false;
}

/* 1: the index has the name, 0: it has not, -1: it cannot be read. */
static int index_has(struct str index, struct str want)
{
    const unsigned char *at = (const unsigned char *)index.ptr;
    const unsigned char *end = at + index.len;
    CLEANUP(buf_release) struct buf name = BUF_INIT(BUF_NO_LIMIT);
    uint32_t version, count;

    if (index.len < INDEX_HEAD || memcmp(at, "DIRC", 4) != 0)
        return -1;
    version = big32(at + 4);
    count = big32(at + 8);
    if (version < 2 || version > 4)
        return -1;
    at += INDEX_HEAD;
    for (uint32_t i = 0; i < count; i++) {
        const unsigned char *entry = at;
        const unsigned char *nul;
        size_t strip = name.len;

        if (end - at < INDEX_ENTRY + 3)
            return -1;
        at += INDEX_ENTRY;
        if ((entry[INDEX_ENTRY - 2] << 8 | entry[INDEX_ENTRY - 1]) & INDEX_EXTENDED)
            at += 2;
        if (version == 4 && (!read_strip(&at, end, &strip) || strip > name.len))
            return -1;
        nul = memchr(at, 0, (size_t)(end - at));
        if (!nul)
            return -1;
        buf_cut(&name, name.len - strip, strip);
        buf_add(&name, str_make((const char *)at, (size_t)(nul - at)));
        if (str_eq(buf_str(&name), want))
            return 1;
        at = version == 4 ? nul + 1 : entry + ((size_t)(nul - entry) / 8 + 1) * 8;
        if (at > end)
            return -1;
    }
    /* A split index has its entries elsewhere. */
    return str_find(str_make((const char *)at, (size_t)(end - at)), STR("link")) <
                   (size_t)(end - at)
               ? -1
               : 0;
}

/* Where the index of this checkout is: .git may be a file that names the place. */
static char *index_path(const char *root)
{
    CLEANUP(mem_freep) char *git = path_join(root, ".git");
    CLEANUP(buf_release) struct buf text = BUF_INIT(8192);
    CLEANUP(mem_freep) char *named = NULL;
    CLEANUP(mem_freep) char *folder = NULL;
    struct str line;

    if (file_is_dir(git) || file_slurp(git, 8192, &text, /*err=*/NULL) < 0)
        return path_join(git, "index");
    line = str_trim(buf_str(&text));
    if (!str_starts(line, STR("gitdir:")))
        return path_join(git, "index");
    line = str_trim(str_from(line, strlen("gitdir:")));
    named = mem_dup(line.ptr, line.len);
    folder = path_join(root, named);
    return path_join(folder, "index");
}

bool credential_is_tracked(const char *path)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(mem_freep) char *dir = path_dirname(path);
    CLEANUP(buf_release) struct buf index = BUF_INIT(INDEX_MAX);
    CLEANUP(mem_freep) char *at = NULL;
    const char *root = checkout_root(&arena, dir);
    size_t len = root ? strlen(root) : 0;

    if (!root || strncmp(path, root, len) != 0 || path[len] != '/')
        return false;
    at = index_path(root);
    if (!file_exists(at))
        return false; /* nothing was ever added */
    if (file_slurp(at, INDEX_MAX, &index, /*err=*/NULL) < 0)
        return true;
    return index_has(buf_str(&index), str_of(path + len + 1)) != 0;
}

static bool is_repositorys(const struct source *s)
{
    return s->level == LEVEL_PROJECT ||
           (s->level == LEVEL_LOCAL && s->path && credential_is_tracked(s->path));
}

/* ---- All of them ---- */

struct walk {
    struct check *c;
    const struct source *s;
    const char *dir;
    const struct strv *approved;
    struct strv *unapproved;
    int is_repositorys; /* -1: not looked yet */
};

static void digest_of(const struct walk *w, struct str key, const struct json *v,
                      char ret[static SHA256_HEX + 1])
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&text, "%s\n%.*s\n", w->dir, STR_ARG(key));
    buf_add(&text, json_raw(v));
    sha256_hex(buf_str(&text), ret);
}

static void look_at(struct walk *w, struct str key, const struct json *v)
{
    CLEANUP(buf_release) struct buf where = BUF_INIT(BUF_NO_LIMIT);
    char digest[SHA256_HEX + 1];

    if (w->is_repositorys < 0)
        w->is_repositorys = is_repositorys(w->s);
    if (!w->is_repositorys)
        return;
    digest_of(w, key, v, digest);
    if (w->approved && strv_has(w->approved, str_of(digest)))
        return;
    source_add_where(w->s, v, &where);
    strv_addf(w->unapproved, "%s %s: %.*s", digest, buf_cstr(&where), STR_ARG(str_clip(key, 120)));
    check_deny(w->c, v);
    if (!w->c->trusted)
        return; /* all that it would switch on is said at once */
    check_warn(w->c,
               "%s: '%.*s' decides where your keys go, and this file belongs to the repository, so "
               "it is left out; to approve it: tenax trust add",
               buf_cstr(&where), STR_ARG(str_clip(key, 120)));
}

static void look_at_member(struct walk *w, const char *table, const struct json *v)
{
    CLEANUP(buf_release) struct buf key = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&key, "%s.%.*s", table, STR_ARG(json_key(v)));
    look_at(w, buf_str(&key), v);
}

void credential_check(struct check *c, const struct source *s, const char *dir,
                      const struct strv *approved, struct strv *ret_unapproved)
{
    struct walk w = {c, s, dir, approved, ret_unapproved, /*is_repositorys=*/-1};

    if (!s->root || (s->level != LEVEL_PROJECT && s->level != LEVEL_LOCAL))
        return;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const struct json *v = json_get(s->root, keys[i]);

        if (v && !json_is(v, JSON_NULL))
            look_at(&w, str_of(keys[i]), v);
    }
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        JSON_EACH(json_get(s->root, tables[i]), v) {
            look_at_member(&w, tables[i], v);
        }
    }
    JSON_EACH(json_get(s->root, "env"), v) {
        if (credential_is_variable(json_key(v)))
            look_at_member(&w, "env", v);
    }
}
