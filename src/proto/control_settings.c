/*
 * control_settings: settings as a client sees and changes them. The thread of the client's loop.
 */
#include "proto/control_settings.h"

#include <string.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "conf/keys.h"
#include "conf/levels.h"
#include "conf/option.h"
#include "conf/overlay.h"
#include "conf/setting.h"
#include "host/host.h"
#include "json/json.h"
#include "json/jw.h"
#include "proto/control.h"
#include "proto/peer.h"

int control_get_settings(struct control_call *call, struct jw *w, struct err *err)
{
    const struct conf *conf = host_conf(call->session->host);
    const struct strv *files = conf_files(conf);
    size_t count;
    const struct key *keys = key_table(&count);

    (void)err;
    jw_key(w, "effective");
    jw_object(w);
    for (size_t i = 0; i < count; i++) {
        const struct json *value = strchr(keys[i].path, '.') ? NULL : conf_get(conf, keys[i].path);

        if (value)
            jw_kjson(w, keys[i].path, value);
    }
    jw_object_end(w);
    jw_key(w, "files");
    jw_array(w);
    for (size_t i = 0; i < files->len; i++)
        jw_cstr(w, files->ptr[i]);
    jw_array_end(w);
    return 0;
}

int control_apply_flag_settings(struct control_call *call, struct jw *w, struct err *err)
{
    const struct json *settings = json_get(call->request, "settings");

    (void)w;
    if (host_lay_over(call->session->host, settings, err) < 0)
        return -1;
    if (json_get(settings, "model") || json_get(settings, "effortLevel"))
        host_model_changed(call->session->host);
    return 0;
}

/* What a client may write, and where: the rest is for the user, or for this session alone
 * (apply_flag_settings). */
static const struct update_row {
    const char *source, *level, *key;
} update_rows[] = {
    {"userSettings", "user", "effortLevel"},
    {"localSettings", "local", "outputStyle"},
};

static int update_check(const struct conf *conf, struct str source, const struct json *settings,
                        struct err *err)
{
    const struct strv *only = conf_option(conf, OPT_SETTING_SOURCES);
    const struct update_row *row = NULL;

    for (size_t i = 0; i < ARRAY_LEN(update_rows); i++) {
        if (str_is(source, update_rows[i].source))
            row = &update_rows[i];
    }
    if (!row)
        return err_set(err, ERR_BAD_INPUT,
                       "source must be userSettings or localSettings, not \"%.*s\"",
                       STR_ARG(str_clip(source, 60)));
    if (only && !strv_has(only, str_of(row->level)))
        return err_set(err, ERR_DENIED, "this session does not read %s: --setting-sources",
                       row->source);
    JSON_EACH(settings, it) {
        if (!str_is(json_key(it), row->key))
            return err_set(err, ERR_DENIED,
                           "%s: a client may write only '%s', not '%.*s'; nothing was changed",
                           row->source, row->key, STR_ARG(str_clip(json_key(it), 60)));
        if (json_is(it, JSON_NULL))
            return err_set(err, ERR_BAD_INPUT, "'%s' cannot be removed; nothing was changed",
                           row->key);
    }
    return 0;
}

/* One of the files that may be written. */
static void update_target(const struct conf *conf, struct str source, struct source *ret,
                          char **ret_path)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;

    if (str_is(source, "userSettings")) {
        *ret = (struct source){.level = LEVEL_USER, .ours = true, .name = "settings.json"};
        *ret_path = path_join(conf_home(conf), "settings.json");
    } else {
        *ret = (struct source){.level = LEVEL_LOCAL, .ours = true, .name = "settings.local.json"};
        *ret_path = path_join(levels_local_dir(&arena, conf_dir(conf), conf_user_home(conf)),
                              ".tenax/settings.local.json");
    }
    ret->path = *ret_path;
}

/* An overlay_fn. */
static int update_write(void *arg, const char *key, const struct json *value, struct err *err)
{
    const struct source *target = arg;
    CLEANUP(strv_release) struct strv warnings = STRV_INIT; /* the refresh will tell */

    return setting_write(target, key, json_raw(value), &warnings, err);
}

int control_update_settings(struct control_call *call, struct jw *w, struct err *err)
{
    const struct json *settings = json_get(call->request, "settings");
    struct str source = json_get_str(call->request, "source");
    struct host *h = call->session->host;
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(SOURCE_MAX_BYTES);
    CLEANUP(mem_freep) char *path = NULL;
    struct source target;

    (void)w;
    if (update_check(host_conf(h), source, settings, err) < 0)
        return -1;
    update_target(host_conf(h), source, &target, &path);
    if (overlay_merge(STR(""), settings, &text, err) < 0 ||
        setting_check_all(target.name, target.level, buf_str(&text), &warnings, err) < 0 ||
        overlay_each(settings, update_write, &target, err) < 0)
        return -1;
    host_reload(h);
    return 0;
}
