/*
 * not_yet: what a project or a user has set up for Claude Code and tenax does not use yet. Each row
 * goes when its part arrives. Any thread.
 */
#include "host/not_yet.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "json/json.h"

static void add(struct buf *out, const char *what)
{
    buf_addf(out, "%s%s", out->len ? ", " : "", what);
}

static bool has_plugins(const struct conf *conf)
{
    const char *key = "enabledPlugins";

    return json_len(conf_get(conf, key)) > 0;
}

static const struct {
    bool (*is_there)(const struct conf *conf);
    const char *what;
} rows[] = {
    {has_plugins, "plugins (enabledPlugins)"},
};

void not_yet_note(const struct conf *conf, struct strv *notes)
{
    CLEANUP(buf_release) struct buf found = BUF_INIT(1000);

    if (!conf_get_bool(conf, "claudeCompat", true))
        return;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].is_there(conf))
            add(&found, rows[i].what);
    }
    if (found.len)
        strv_addf(notes, "Not supported yet, and not used: %s", buf_cstr(&found));
}
