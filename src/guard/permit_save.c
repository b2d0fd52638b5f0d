/*
 * permit_save: adds and removes entries of lists in a settings file. Other text stays unchanged;
 * each rule gets its own line. Any thread; settings_file_change() excludes other tenax processes.
 */
#include "guard/permit_save.h"

#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "conf/levels.h"
#include "conf/settings_file.h"
#include "json/json.h"
#include "json/jw.h"

static const char *const destination_names[] = {
    [TO_SESSION] = "session",
    [TO_USER] = "userSettings",
    [TO_PROJECT] = "projectSettings",
    [TO_LOCAL] = "localSettings",
};

const char *permit_destination_name(enum permit_destination d)
{
    return destination_names[d];
}

bool permit_destination_parse(struct str name, enum permit_destination *ret)
{
    if (!name.len || str_is(name, "cliArg"))
        name = STR("session");
    for (size_t i = 0; i < ARRAY_LEN(destination_names); i++) {
        if (str_is(name, destination_names[i])) {
            *ret = (enum permit_destination)i;
            return true;
        }
    }
    return false;
}

void permit_find_files(struct permit *p, const struct conf *conf)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;

    p->files[TO_USER] = path_join(conf_home(conf), "settings.json");
    p->files[TO_PROJECT] = path_join(conf_dir(conf), ".tenax/settings.json");
    p->files[TO_LOCAL] =
        path_join(levels_local_dir(&arena, conf_dir(conf), p->home), ".tenax/settings.local.json");
}

/* --- what stands where ---------------------------------------------------------------------- */

/* "~/.tenax/settings.json:3:12" → its path. */
static char *source_path(const struct permit *p, struct str source)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    for (int i = 0; i < 2; i++) {
        while (source.len && source.ptr[source.len - 1] >= '0' && source.ptr[source.len - 1] <= '9')
            source.len--;
        if (source.len && source.ptr[source.len - 1] == ':')
            source.len--;
    }
    if (str_starts(source, STR("~/"))) {
        buf_adds(&path, p->home);
        source = str_from(source, 1);
    }
    buf_add(&path, source);
    return buf_take(&path);
}

bool permit_rule_is_at(const struct permit *p, const struct permit_rule *r,
                       enum permit_destination d)
{
    CLEANUP(mem_freep) char *path = NULL;

    if (d == TO_SESSION)
        return strcmp(r->source, "session") == 0 || strcmp(r->source, "cliArg") == 0;
    if (strcmp(r->source, destination_names[d]) == 0)
        return true;
    path = source_path(p, str_of(r->source));
    return strcmp(path, p->files[d]) == 0;
}

/* --- lists ---------------------------------------------------------------------------------- */

struct list_change {
    enum permit_change change;
    const struct strv *texts;
    size_t level; /* nesting depth of the list, for the indentation */
};

struct list_writer {
    struct buf *out;
    size_t level;
    size_t count;
};

static void list_add(struct list_writer *l, struct str json)
{
    buf_adds(l->out, l->count ? "," : "[");
    buf_addc(l->out, '\n');
    for (size_t i = 0; i <= l->level; i++)
        buf_adds(l->out, "  ");
    buf_add(l->out, json);
    l->count++;
}

static void list_end(struct list_writer *l)
{
    if (!l->count) {
        buf_adds(l->out, "[]");
        return;
    }
    buf_addc(l->out, '\n');
    for (size_t i = 0; i < l->level; i++)
        buf_adds(l->out, "  ");
    buf_addc(l->out, ']');
}

static bool list_has(const struct json *list, struct str text)
{
    JSON_EACH(list, v) {
        if (str_eq(json_str(v), text))
            return true;
    }
    return false;
}

/* Whether the list would change. */
static bool list_changes(const struct json *old, const struct list_change *c)
{
    for (size_t i = 0; i < c->texts->len; i++) {
        if (list_has(old, str_of(c->texts->ptr[i])) == (c->change == CHANGE_REMOVE))
            return true;
    }
    return c->change == CHANGE_REPLACE && json_len(old) != c->texts->len;
}

static int list_change_value(const struct json *old, struct buf *ret, void *arg, struct err *err)
{
    const struct list_change *c = arg;
    struct list_writer l = {.out = ret, .level = c->level};

    if (old && !json_is(old, JSON_ARRAY))
        return err_set(err, ERR_BAD_INPUT, "the present value is not a list");
    if (!list_changes(old, c))
        return 0;
    JSON_EACH(old, v) {
        if (c->change == CHANGE_ADD ||
            (c->change == CHANGE_REMOVE && !strv_has(c->texts, json_str(v))))
            list_add(&l, json_raw(v));
    }
    for (size_t i = 0; c->change != CHANGE_REMOVE && i < c->texts->len; i++) {
        CLEANUP(buf_release) struct buf json = BUF_INIT(1 << 16);
        struct jw w;

        if (c->change == CHANGE_ADD && list_has(old, str_of(c->texts->ptr[i])))
            continue;
        jw_init(&w, &json, 0);
        jw_cstr(&w, c->texts->ptr[i]);
        list_add(&l, buf_str(&json));
    }
    list_end(&l);
    return 0;
}

/* ---------------------------------------------------------------------------------------------- */

/* A repository may have a link instead of our folder: its target is not ours. */
static int check_folder(const struct permit *p, enum permit_destination d, struct err *err)
{
    CLEANUP(mem_freep) char *dir = path_dirname(p->files[d]);
    struct stat st;

    if (d != TO_USER && ((lstat(dir, &st) == 0 && S_ISLNK(st.st_mode)) ||
                         (lstat(p->files[d], &st) == 0 && S_ISLNK(st.st_mode))))
        return err_set(err, ERR_DENIED, "%s is a link", p->files[d]);
    return 0;
}

int permit_save_list(const struct permit *p, enum permit_destination d, const char *key,
                     enum permit_change change, const struct strv *texts, struct err *err)
{
    struct list_change c = {.change = change, .texts = texts, .level = 2};

    if (d == TO_SESSION)
        return 0;
    if (check_folder(p, d, err) < 0)
        return -1;
    return settings_file_change(p->files[d], key, list_change_value, &c, err);
}

static int mode_value(const struct json *old, struct buf *ret, void *arg, struct err *err)
{
    const char *name = arg;

    (void)err;
    if (!str_is(json_str(old), name))
        buf_addf(ret, "\"%s\"", name);
    return 0;
}

int permit_save_mode(const struct permit *p, enum permit_destination d, enum permit_mode mode,
                     struct err *err)
{
    if (d == TO_SESSION)
        return 0;
    if (check_folder(p, d, err) < 0)
        return -1;
    return settings_file_change(p->files[d], "permissions.defaultMode", mode_value,
                                (void *)permit_mode_name(mode), err);
}
