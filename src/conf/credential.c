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
#include "conf/source.h"
#include "json/json.h"

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

/* ---- All of them ---- */

struct credential_walk {
    struct check *c;
    const struct source *s;
    const char *dir;
    const struct strv *approved;
    struct strv *unapproved;
};

static void digest_of(const struct credential_walk *w, struct str key, const struct json *v,
                      char ret[static SHA256_HEX + 1])
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&text, "%s\n%.*s\n", w->dir, STR_ARG(key));
    buf_add(&text, json_raw(v));
    sha256_hex(buf_str(&text), ret);
}

static void look_at(struct credential_walk *w, struct str key, const struct json *v)
{
    CLEANUP(buf_release) struct buf where = BUF_INIT(BUF_NO_LIMIT);
    char digest[SHA256_HEX + 1];

    if (w->s->level != LEVEL_PROJECT)
        return;
    digest_of(w, key, v, digest);
    if (w->approved && strv_has(w->approved, str_of(digest)))
        return;
    source_add_where(w->s, v, &where);
    strv_addf(w->unapproved, "%s %s: %.*s", digest, buf_cstr(&where), STR_ARG(str_clip(key, 120)));
    check_deny(w->c, v);
    if (!w->c->trusted)
        return; /* everything that it would switch on is reported at once */
    check_warn(w->c,
               "%s: '%.*s' decides where your keys go, and this file belongs to the repository, so "
               "it is left out; to approve it: tenax trust add",
               buf_cstr(&where), STR_ARG(str_clip(key, 120)));
}

static void look_at_member(struct credential_walk *w, const char *table, const struct json *v)
{
    CLEANUP(buf_release) struct buf key = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&key, "%s.%.*s", table, STR_ARG(json_key(v)));
    look_at(w, buf_str(&key), v);
}

void credential_check(struct check *c, const struct source *s, const char *dir,
                      const struct strv *approved, struct strv *ret_unapproved)
{
    struct credential_walk w = {c, s, dir, approved, ret_unapproved};

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
