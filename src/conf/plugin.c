/*
 * plugin: a folder's manifest and the objects it names, read and judged; no file is looked for that
 * may not be there without a stat() saying so. Any thread.
 */
#include "conf/plugin.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "json/json.h"

const char *plugin_part_folder(enum plugin_part part)
{
    static const char *const folders[] = {"commands", "skills", "agents", "output-styles"};

    return folders[part];
}

/* ---- Names ---- */

bool plugin_name_is_fine(struct str name)
{
    static const char *const ours = "tenax claude anthropic builtin built-in plugin plugins user "
                                    "project local managed mcp";

    for (size_t i = 0; i < name.len; i++) {
        if (!str_is_alnum(name.ptr[i]) && (!i || !strchr("-_", name.ptr[i])))
            return false;
    }
    if (!name.len || name.len > PLUGIN_MAX_NAME)
        return false;
    for (struct str rest = str_of(ours), word; rest.len && str_cut(&rest, ' ', &word);) {
        if (str_eq_nocase(name, word))
            return false;
    }
    return true;
}

bool plugin_id_split(struct str id, struct str *ret_name, struct str *ret_market)
{
    size_t at = str_chr(id, '@');

    *ret_name = str_first(id, at);
    *ret_market = str_from(id, at + 1);
    return plugin_name_is_fine(*ret_name) && plugin_name_is_fine(*ret_market);
}

/* ---- One plugin ---- */

struct reading {
    struct plugins *list;
    struct plugin *plugin;
};

static void problem(struct plugins *l, const char *id, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void problem(struct plugins *l, const char *id, const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(8192);
    va_list args;

    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    vec_push(&l->problems, ((struct plugin_problem){arena_cstr(&l->arena, str_of(id)),
                                                    arena_cstr(&l->arena, buf_str(&text))}));
}

/* An object in a file of the plugin; NULL: a problem. */
static const struct json *read_object(struct reading *r, const char *path)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(PLUGIN_MAX_JSON);
    const struct json *v = NULL;
    struct err err = {0};

    if (file_slurp(path, PLUGIN_MAX_JSON, &text, &err) == 0 &&
        json_parse_copy(&r->list->arena, buf_str(&text), &v, /*ret_info=*/NULL, &err) == 0 &&
        !json_is(v, JSON_OBJECT))
        err_set(&err, ERR_BAD_INPUT, "it must be an object");
    if (!err.code)
        return v;
    problem(r->list, r->plugin->id, "%s: %s", path, err.text);
    return NULL;
}

static bool is_inside(const char *root, const char *path)
{
    CLEANUP(mem_freep) char *real = path_real(path);
    size_t len = strlen(root);

    return strncmp(real, root, len) == 0 && (!real[len] || real[len] == '/');
}

static bool climbs(struct str path)
{
    struct str part;

    while (path.len && str_cut(&path, '/', &part)) {
        if (str_is(part, ".."))
            return true;
    }
    return false;
}

/* What a manifest names: below the root, or a problem and NULL. Yours. */
static char *path_inside(struct reading *r, struct str said)
{
    CLEANUP(mem_freep) char *name = mem_dup(said.ptr, said.len);
    CLEANUP(buf_release) struct buf walked = BUF_INIT(BUF_NO_LIMIT);
    const char *why = NULL;

    buf_adds(&walked, r->plugin->root);
    path_walk(&walked, said);
    if (!said.len || said.len > 4096 || strlen(name) != said.len)
        why = "it is no path";
    else if (said.ptr[0] == '/' || said.ptr[0] == '~' || climbs(said))
        why = "a path of a plugin must stay in its folder";
    else if (!file_exists(buf_cstr(&walked)))
        why = "there is no such file or folder";
    else if (!is_inside(r->plugin->root, buf_cstr(&walked)))
        why = "it is a link that leads out of the plugin";
    if (!why)
        return mem_dup(walked.ptr, walked.len);
    problem(r->list, r->plugin->id, "\"%.*s\" is not used: %s", STR_ARG(str_clip(said, 200)), why);
    return NULL;
}

/* The usual place of a part, when it is there. Yours. */
static char *usual_place(struct reading *r, const char *name)
{
    char *path = path_join(r->plugin->root, name);

    if (file_exists(path) && !is_inside(r->plugin->root, path))
        problem(r->list, r->plugin->id, "%s is not used: it is a link that leads out of the plugin",
                name);
    else if (file_exists(path))
        return path;
    mem_freep(&path);
    return NULL;
}

static void add_path(struct reading *r, struct strv *paths, const struct json *v)
{
    CLEANUP(mem_freep) char *path = path_inside(r, json_str(v));

    if (path && !strv_has(paths, str_of(path)) && paths->len < PLUGIN_MAX_PATHS)
        strv_adds(paths, path);
}

static void read_paths(struct reading *r, const struct json *manifest, enum plugin_part part)
{
    static const char *const keys[] = {"commands", "skills", "agents", "outputStyles"};
    const struct json *v = json_get(manifest, keys[part]);
    struct strv *paths = &r->plugin->paths[part];
    CLEANUP(mem_freep) char *usual = usual_place(r, plugin_part_folder(part));

    if (usual)
        strv_adds(paths, usual);
    if (json_is(v, JSON_STRING)) {
        add_path(r, paths, v);
    } else if (json_is(v, JSON_ARRAY)) {
        JSON_EACH(v, one) {
            add_path(r, paths, one);
        }
    } else if (v) {
        problem(r->list, r->plugin->id, "plugin.json: '%s' must be a path or a list of paths",
                keys[part]);
    }
}

/* Hooks and servers stand below a key of the part's name, or there is nothing but them. */
static void add_object(struct reading *r, plugin_json_vec *to, const char *file, const char *key,
                       const struct json *v)
{
    const struct json *inner = json_get(v, key);

    if (inner && !json_is(inner, JSON_OBJECT))
        problem(r->list, r->plugin->id, "%s: '%s' must be an object", file, key);
    else if (v)
        vec_push(to, ((struct plugin_json){arena_cstr(&r->list->arena, str_of(file)),
                                           inner ? inner : v}));
}

static bool has_file(const plugin_json_vec *list, const char *path)
{
    VEC_EACH(list, it) {
        if (strcmp(it->file, path) == 0)
            return true;
    }
    return false;
}

static void add_said(struct reading *r, plugin_json_vec *to, const char *key, const char *manifest,
                     const struct json *v)
{
    if (json_is(v, JSON_OBJECT)) {
        add_object(r, to, manifest, key, v);
    } else if (json_is(v, JSON_STRING)) {
        CLEANUP(mem_freep) char *path = path_inside(r, json_str(v));

        if (path && !has_file(to, path))
            add_object(r, to, path, key, read_object(r, path));
    } else {
        problem(r->list, r->plugin->id, "plugin.json: '%s' must be a path or an object", key);
    }
}

/* Of the usual file, then of what the manifest says: a path, an object, or a list of them. */
static void read_objects(struct reading *r, const struct json *v, const char *manifest,
                         const char *usual, const char *key, plugin_json_vec *to)
{
    CLEANUP(mem_freep) char *path = usual_place(r, usual);

    if (path)
        add_object(r, to, path, key, read_object(r, path));
    if (!json_is(v, JSON_ARRAY)) {
        if (v)
            add_said(r, to, key, manifest, v);
        return;
    }
    JSON_EACH(v, one) {
        add_said(r, to, key, manifest, one);
    }
}

static void read_unused(struct reading *r)
{
    static const char *const names[] = {".lsp.json", "monitors", "themes"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CLEANUP(mem_freep) char *path = path_join(r->plugin->root, names[i]);

        if (file_exists(path))
            strv_adds(&r->plugin->unused, names[i]);
    }
}

/* The manifest; an empty one when there is none. NULL: it cannot be used. */
static const struct json *read_manifest(struct reading *r, const char **ret_file)
{
    CLEANUP(mem_freep) char *path = path_join(r->plugin->root, ".claude-plugin/plugin.json");
    const struct json *v = NULL;

    *ret_file = arena_cstr(&r->list->arena, str_of(path));
    if (file_exists(path)) {
        if (is_inside(r->plugin->root, path))
            return read_object(r, path);
        problem(r->list, r->plugin->id, "%s is a link that leads out of the plugin", path);
        return NULL;
    }
    (void)json_parse_copy(&r->list->arena, STR("{}"), &v, /*ret_info=*/NULL, /*err=*/NULL);
    return v;
}

static void set_name(struct reading *r, struct str name, struct str market)
{
    CLEANUP(buf_release) struct buf id = BUF_INIT(1000);

    buf_addf(&id, "%.*s@%.*s", STR_ARG(str_clip(name, 200)), STR_ARG(str_clip(market, 200)));
    r->plugin->name = arena_cstr(&r->list->arena, name);
    r->plugin->market = arena_cstr(&r->list->arena, market);
    r->plugin->id = arena_cstr(&r->list->arena, buf_str(&id));
}

static const char *text_of(struct reading *r, const struct json *manifest, const char *key)
{
    struct str text = str_trim(json_get_str(manifest, key));
    char *copy;

    if (!text.len)
        return NULL;
    copy = (char *)arena_cstr(&r->list->arena, str_clip(text, 1000));
    for (char *p = copy; *p; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = ' ';
    }
    return copy;
}

static bool read_all(struct reading *r, struct str market)
{
    struct plugin *p = r->plugin;
    const char *file;
    const struct json *manifest = read_manifest(r, &file);
    CLEANUP(mem_freep) char *bin = NULL;
    struct str name = json_get_str(manifest, "name");

    if (!manifest)
        return false;
    if (!name.len)
        name = str_of(p->name);
    if (!plugin_name_is_fine(name)) {
        problem(r->list, p->id,
                "'%.*s' cannot be the name of a plugin: it must be of letters, digits, - and _, at "
                "most %d, and none of tenax's own",
                STR_ARG(str_clip(name, 100)), PLUGIN_MAX_NAME);
        return false;
    }
    set_name(r, name, market);
    p->version = text_of(r, manifest, "version");
    p->description = text_of(r, manifest, "description");
    for (enum plugin_part part = 0; part < PLUGIN_PARTS; part++)
        read_paths(r, manifest, part);
    read_objects(r, json_get(manifest, "hooks"), file, "hooks/hooks.json", "hooks", &p->hooks);
    read_objects(r, json_get(manifest, "mcpServers"), file, ".mcp.json", "mcpServers", &p->servers);
    if (json_is(json_get(manifest, "userConfig"), JSON_OBJECT))
        p->options = json_get(manifest, "userConfig");
    bin = usual_place(r, "bin");
    if (bin && file_is_dir(bin))
        p->bin = arena_cstr(&r->list->arena, str_of(bin));
    read_unused(r);
    return true;
}

void plugin_drop(struct plugin *p)
{
    for (enum plugin_part part = 0; part < PLUGIN_PARTS; part++)
        strv_release(&p->paths[part]);
    vec_release(&p->hooks);
    vec_release(&p->servers);
    strv_release(&p->unused);
    strv_release(&p->config);
    if (p->held >= 0)
        close(p->held);
}

struct plugin *plugin_read(struct plugins *l, const char *root, struct str fallback,
                           struct str market)
{
    CLEANUP(mem_freep) char *real = path_real(root);
    struct plugin *p = arena_zalloc(&l->arena, sizeof(*p));
    struct reading r = {.list = l, .plugin = p};

    p->held = -1;
    p->root = arena_cstr(&l->arena, str_of(real));
    set_name(&r, fallback.len ? fallback : str_of(path_base(p->root)), market);
    if (!file_is_dir(p->root))
        problem(l, p->id, "there is no folder %s", root);
    else if (read_all(&r, market))
        return p;
    plugin_drop(p);
    return NULL;
}

void plugin_digest(const struct plugin *p, char ret[SHA256_HEX + 1])
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT); /* files have a limit */

    VEC_EACH(&p->hooks, it) {
        buf_addf(&text, "hooks %.*s\n", STR_ARG(json_raw(it->value)));
    }
    VEC_EACH(&p->servers, it) {
        buf_addf(&text, "servers %.*s\n", STR_ARG(json_raw(it->value)));
    }
    sha256_hex(buf_str(&text), ret);
}

const char *plugin_variable(const struct plugin *p, struct str text, size_t *ret_len)
{
    static const struct str user = STR_INIT("${user_config.");
    const struct {
        struct str name;
        const char *value;
    } rows[] = {
        {STR("${CLAUDE_PLUGIN_ROOT}"), p->root},
        {STR("${CLAUDE_PLUGIN_DATA}"), p->data},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_starts(text, rows[i].name)) {
            *ret_len = rows[i].name.len;
            return rows[i].value ? rows[i].value : "";
        }
    }
    if (!str_starts(text, user))
        return NULL;
    text = str_from(text, user.len);
    for (size_t i = 0; i < p->config.len; i++) {
        struct str pair = str_of(p->config.ptr[i]);
        size_t end = str_chr(pair, '=');

        if (str_starts(text, str_first(pair, end)) && end < text.len && text.ptr[end] == '}') {
            *ret_len = user.len + end + 1;
            return p->config.ptr[i] + end + 1;
        }
    }
    return NULL;
}

/* ---- Lists ---- */

struct plugins *plugins_new(void)
{
    return mem_zalloc(sizeof(struct plugins));
}

void plugins_free(struct plugins *l)
{
    while (l) {
        struct plugins *older = l->older;

        VEC_EACH(&l->list, it) {
            plugin_drop(*it);
        }
        vec_release(&l->list);
        vec_release(&l->problems);
        arena_release(&l->arena);
        mem_freep(&l);
        l = older;
    }
}

void plugins_freep(struct plugins **l)
{
    plugins_free(*l);
}

const struct plugin *plugins_find(const struct plugins *l, struct str id)
{
    VEC_EACH(&l->list, it) {
        if (str_is(id, (*it)->id))
            return *it;
    }
    return NULL;
}
