/*
 * overlay: documents of changes, merged and taken apart. Any thread.
 */
#include "conf/overlay.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "json/json.h"
#include "json/jw.h"

#define OVERLAY_MAX_DEPTH 16

static int overlay_check(const struct json *change, struct err *err)
{
    if (!json_is(change, JSON_OBJECT))
        return err_set(err, ERR_BAD_INPUT, "settings must be an object");
    return 0;
}

static void overlay_write(struct jw *w, const struct json *v, unsigned depth)
{
    if (!json_is(v, JSON_OBJECT) || depth == OVERLAY_MAX_DEPTH) {
        jw_json(w, v);
        return;
    }
    jw_object(w);
    JSON_EACH(v, member) {
        if (json_is(member, JSON_NULL))
            continue;
        jw_key_str(w, json_key(member));
        overlay_write(w, member, depth + 1);
    }
    jw_object_end(w);
}

int overlay_merge(struct str old, const struct json *change, struct buf *ret, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *before = NULL;
    struct jw w;

    if (overlay_check(change, err) < 0)
        return -1;
    if (old.len && json_parse(&arena, old, &before, /*ret_info=*/NULL, err) < 0)
        return -1;
    jw_init(&w, ret, 0);
    jw_object(&w);
    JSON_EACH(before, member) {
        if (json_get_key(change, json_key(member)))
            continue;
        jw_key_str(&w, json_key(member));
        jw_json(&w, member);
    }
    JSON_EACH(change, member) {
        if (json_is(member, JSON_NULL))
            continue;
        jw_key_str(&w, json_key(member));
        overlay_write(&w, member, 1);
    }
    jw_object_end(&w);
    return buf_check(ret, err);
}

static int each_below(const struct json *v, struct buf *path, overlay_fn fn, void *arg,
                      unsigned depth, struct err *err)
{
    size_t len = path->len;

    JSON_EACH(v, member) {
        struct str name = json_key(member);
        bool goes_down = json_is(member, JSON_OBJECT) && json_len(member);
        int rc;

        if (!name.len || str_chr(name, '.') < name.len)
            return err_set(err, ERR_BAD_INPUT, "'%.*s' cannot be set by its name",
                           STR_ARG(str_clip(name, 80)));
        buf_addf(path, "%s%.*s", len ? "." : "", STR_ARG(name));
        if (goes_down && depth < OVERLAY_MAX_DEPTH)
            rc = each_below(member, path, fn, arg, depth + 1, err);
        else
            rc = fn(arg, buf_cstr(path), json_is(member, JSON_NULL) ? NULL : member, err);
        if (rc < 0)
            return -1;
        buf_cut(path, len, path->len - len);
    }
    return 0;
}

int overlay_each(const struct json *change, overlay_fn fn, void *arg, struct err *err)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    if (overlay_check(change, err) < 0)
        return -1;
    return each_below(change, &path, fn, arg, 0, err);
}
