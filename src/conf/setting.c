/*
 * setting: one setting by its name. Any thread; files are changed under a lock of their own.
 */
#include "conf/setting.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/secret.h"
#include "base/strv.h"
#include "conf/check.h"
#include "conf/conf.h"
#include "conf/keys.h"
#include "conf/settings_file.h"
#include "conf/source.h"
#include "json/json.h"
#include "json/jw.h"

#define SETTING_MAX_DEPTH 32

const struct key *setting_row(struct str path, struct err *err)
{
    const struct key *k = NULL;
    struct str rest = path;
    struct str part;

    while (str_cut(&rest, '.', &part)) {
        const struct key *child = key_child(k, part);
        struct str near = key_suggest(k, part);

        if (!child && k && !key_has_children(k))
            return k; /* its members may have any name */
        if (!child) {
            err_set(err, ERR_BAD_INPUT, "'%.*s' is not a setting%s%.*s%s",
                    STR_ARG(str_clip(path, 80)), near.len ? "; did you mean '" : "", STR_ARG(near),
                    near.len ? "'?" : "");
            return NULL;
        }
        k = child;
    }
    if (!k)
        err_set(err, ERR_BAD_INPUT, "which setting?");
    return k;
}

/* ---- Shown ---- */

struct setting_walk {
    const struct conf *conf;
    struct buf path;
    bool by_name;     /* one value was asked for */
    struct str entry; /* where the entry of a list is from that we are in; empty: in none */
    setting_fn fn;
    void *arg;
};

/* Values that are often secret are not shown unless they are asked for by name. */
static bool setting_hides(const char *path)
{
    return strncmp(path, "env.", 4) == 0 || strstr(path, ".headers.");
}

static void walk_tell(struct setting_walk *l, const struct json *v)
{
    CLEANUP(buf_release) struct buf value = BUF_INIT(SETTING_MAX_TEXT);
    CLEANUP(buf_release) struct buf masked = BUF_INIT(SETTING_MAX_TEXT);
    const char *path = buf_cstr(&l->path);
    struct jw w;

    jw_init(&w, &value, 0);
    if (setting_hides(path) && !l->by_name) {
        secret_mask(json_is(v, JSON_STRING) ? json_str(v) : json_raw(v), &masked);
        jw_str(&w, buf_str(&masked));
    } else {
        jw_json(&w, v);
    }
    l->fn(l->arg, path, buf_str(&value), l->entry.len ? l->entry : conf_origin(l->conf, path));
}

static void walk_down(struct setting_walk *l, const struct json *v, unsigned depth)
{
    size_t len = l->path.len;
    size_t i = 0;

    if ((!json_is(v, JSON_OBJECT) && !json_is(v, JSON_ARRAY)) || !json_len(v) ||
        depth == SETTING_MAX_DEPTH) {
        walk_tell(l, v);
        return;
    }
    JSON_EACH(v, child) {
        struct str entry = l->entry;

        if (json_is(v, JSON_OBJECT))
            buf_addf(&l->path, "%s%.*s", len ? "." : "", STR_ARG(json_key(child)));
        else
            buf_addf(&l->path, ".%zu", i++);
        if (json_is(v, JSON_ARRAY) && !entry.len) /* its elements have no origin */
            l->entry = conf_origin(l->conf, buf_cstr(&l->path));
        walk_down(l, child, depth + 1);
        l->entry = entry;
        buf_cut(&l->path, len, l->path.len - len);
    }
}

void setting_each(const struct conf *conf, const char *key, setting_fn fn, void *arg)
{
    struct setting_walk l = {
        .conf = conf, .path = BUF_INIT(BUF_NO_LIMIT), .by_name = key, .fn = fn, .arg = arg};
    size_t count;
    const struct key *keys = key_table(&count);

    if (key) {
        buf_adds(&l.path, key);
        walk_down(&l, conf_get(conf, key), 0);
    }
    for (size_t i = 0; !key && i < count; i++) {
        const struct json *v = strchr(keys[i].path, '.') ? NULL : conf_get(conf, keys[i].path);

        if (!v)
            continue;
        buf_clear(&l.path);
        buf_adds(&l.path, keys[i].path);
        walk_down(&l, v, 0);
    }
    buf_release(&l.path);
}

const char *setting_unused(const char *path)
{
    const struct key *k = NULL;
    struct str rest = str_of(path);
    struct str name;

    while (rest.len && str_cut(&rest, '.', &name)) {
        k = key_child(k, name);
        if (!k)
            return NULL;
        if (k->flags & KEY_MOOT)
            return "no effect";
        if (k->flags & KEY_LATER)
            return "not used by this version yet";
    }
    return NULL;
}

/* ---- Changed ---- */

int setting_value(const char *key, const struct key *row, char *const *words, size_t count,
                  struct buf *ret, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf reason = BUF_INIT(1024);
    struct str first = str_of(count ? words[0] : "");
    const struct json *v = NULL;
    bool is_json;
    struct jw w;

    if (!count)
        return err_set(err, ERR_BAD_INPUT, "'%s' needs a value", key);
    jw_init(&w, ret, 0);
    is_json = count == 1 && json_parse(&arena, first, &v, /*ret_info=*/NULL, /*err=*/NULL) == 0 &&
              key_accepts(row, v, &reason);
    if (!is_json && (row->types & KEY_STRINGS)) {
        jw_array(&w);
        for (size_t i = 0; i < count; i++)
            jw_cstr(&w, words[i]);
        jw_array_end(&w);
    } else if (count > 1) {
        return err_set(err, ERR_BAD_INPUT, "'%s' takes one value", key);
    } else if (!is_json && ((row->types & KEY_STRING) || !v)) {
        jw_str(&w, first);
    } else {
        buf_add(ret, str_trim(first));
    }
    return buf_check(ret, err);
}

int setting_check_all(const char *name, enum source_level level, struct str text,
                      struct strv *ret_warnings, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(check_release) struct check check = {.trusted = true};
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    struct source s = {.level = level, .ours = true, .name = name, .text = text};

    if (source_load(&s, &arena, &check.warnings, err) < 0)
        return -1;
    check_source(&check, &s);
    check_take_warnings(&check, &warnings);
    if (check.left_out.len) {
        struct str why = str_of(warnings.ptr[0]);

        if (str_ends(why, STR("; ignored")))
            why.len -= strlen("; ignored");
        return err_set(err, ERR_BAD_INPUT, "%.*s; nothing was changed", STR_ARG(why));
    }
    strv_add_all(ret_warnings, &warnings);
    return 0;
}

/* As if the file had it: what would be left out there is refused here. */
static int setting_check(const struct source *target, const char *key, struct str value,
                         struct strv *ret_warnings, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(SOURCE_MAX_BYTES);

    if (settings_text_set(STR("{}"), key, value, &text, err) < 0)
        return -1;
    return setting_check_all(target->name, target->level, buf_str(&text), ret_warnings, err);
}

static int setting_give(const struct json *old, struct buf *ret, void *arg, struct err *err)
{
    (void)old;
    buf_add(ret, *(struct str *)arg);
    return buf_check(ret, err);
}

int setting_write(const struct source *target, const char *key, struct str value,
                  struct strv *ret_warnings, struct err *err)
{
    if (setting_check(target, key, value, ret_warnings, err) < 0)
        return -1;
    return settings_file_change(target->path, key, setting_give, &value, err);
}

int setting_write_user(const struct conf *conf, const char *key, const struct str *value,
                       struct strv *ret_warnings, struct err *err)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    struct source target = {.level = LEVEL_USER, .ours = true, .name = "settings.json"};
    struct str origin = conf_origin(conf, key);

    buf_addf(&path, "%s/settings.json", conf_home(conf));
    target.path = buf_cstr(&path);
    if (value && setting_write(&target, key, *value, ret_warnings, err) < 0)
        return -1;
    if (!value && settings_file_remove(target.path, key, err) < 0)
        return -1;
    if (str_starts(origin, STR("$")) || str_starts(origin, STR("--")) || conf_is_managed(conf, key))
        strv_addf(ret_warnings, "'%s' has its value from %.*s, which beats that file", key,
                  STR_ARG(origin));
    return 0;
}
