/*
 * places: a list of folders, looked for one by one. Whatever thread asks.
 */
#include "conf/places.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/checkout.h"
#include "conf/conf.h"
#include "conf/plugin.h"

static void places_add(place_vec *ret, struct arena *arena, enum source_level level, bool ours,
                       const char *dir, const char *name)
{
    CLEANUP(mem_freep) char *path = path_join(dir, name);

    if (file_exists(path))
        vec_push(ret, ((struct place){
                          .level = level, .ours = ours, .path = arena_cstr(arena, str_of(path))}));
}

static bool places_wants(const struct conf *conf, const char *level)
{
    const struct strv *only = conf_option(conf, OPT_SETTING_SOURCES);

    return !only || strv_has(only, str_of(level));
}

/* Other programs share their skills in a folder `.agents`. */
static bool places_is_shared(const char *name)
{
    return strcmp(name, "skills") == 0;
}

static void places_add_user(const struct conf *conf, const char *name, struct arena *arena,
                            bool claudes, place_vec *ret)
{
    const char *home = conf_env(conf, "HOME");

    if (claudes && places_is_shared(name) && home && *home) {
        CLEANUP(mem_freep) char *shared = path_join(home, ".agents");

        places_add(ret, arena, LEVEL_USER, /*ours=*/false, shared, name);
    }
    if (claudes)
        places_add(ret, arena, LEVEL_USER, /*ours=*/false, conf_claude_home(conf), name);
    places_add(ret, arena, LEVEL_USER, /*ours=*/true, conf_home(conf), name);
}

/* The user's own folders are not the project's too, where the project is the home itself. */
static bool places_has(const place_vec *list, const char *dir, const char *folder, const char *name)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&path, "%s/%s/%s", dir, folder, name);
    VEC_EACH(list, p) {
        if (str_is(buf_str(&path), p->path))
            return true;
    }
    return false;
}

static bool leads_out_of(const char *top, const char *path)
{
    CLEANUP(mem_freep) char *real = path_real(path);
    size_t len = strlen(top);

    return len > 1 && (strncmp(real, top, len) != 0 || real[len] != '/');
}

bool places_leads_out(const struct place *at, const char *project, const char *path)
{
    CLEANUP(mem_freep) char *top = NULL;

    if (at->plugin) /* its root has its links followed */
        return leads_out_of(at->plugin->root, path);
    if (at->level != LEVEL_PROJECT)
        return false;
    top = path_real(at->added ? at->added : project);
    return leads_out_of(top, path);
}

const char *places_project(const struct conf *conf, struct arena *arena)
{
    const char *dir = conf_dir(conf);
    const char *root = checkout_root(arena, dir);

    size_t len = root ? strlen(root) : 0;
    bool is_inside = root && strncmp(root, dir, len) == 0 &&
                     (!dir[len] || dir[len] == '/' || root[len - 1] == '/');

    return is_inside ? root : dir;
}

static void places_add_project(const struct conf *conf, const char *name, struct arena *arena,
                               bool claudes, place_vec *ret)
{
    const char *dir = conf_dir(conf);
    size_t len = strlen(dir);
    size_t at = strlen(places_project(conf, arena));

    for (;;) { /* at: the end of a folder's path */
        const char *folder = arena_cstr(arena, str_make(dir, at));
        size_t next;

        if (claudes && places_is_shared(name) && !places_has(ret, folder, ".agents", name)) {
            CLEANUP(mem_freep) char *home = path_join(folder, ".agents");

            places_add(ret, arena, LEVEL_PROJECT, /*ours=*/false, home, name);
        }
        if (claudes && !places_has(ret, folder, ".claude", name)) {
            CLEANUP(mem_freep) char *home = path_join(folder, ".claude");

            places_add(ret, arena, LEVEL_PROJECT, /*ours=*/false, home, name);
        }
        if (!places_has(ret, folder, ".tenax", name)) {
            CLEANUP(mem_freep) char *home = path_join(folder, ".tenax");

            places_add(ret, arena, LEVEL_PROJECT, /*ours=*/true, home, name);
        }
        if (at >= len)
            return;
        next = at + 1;
        while (next < len && dir[next] != '/')
            next++;
        at = next;
    }
}

/* Each file that a manifest names is one, too. */
static void places_add_plugins(const struct conf *conf, const char *name, place_vec *ret)
{
    enum plugin_part part = 0;

    while (part < PLUGIN_PARTS && strcmp(plugin_part_folder(part), name) != 0)
        part++;
    if (part == PLUGIN_PARTS)
        return;
    VEC_EACH(&plugins_get(conf)->list, it) {
        const struct strv *paths = &(*it)->paths[part];

        for (size_t i = 0; i < paths->len; i++)
            vec_push(ret,
                     ((struct place){.level = LEVEL_USER, .path = paths->ptr[i], .plugin = *it}));
    }
}

void places_find(const struct conf *conf, const char *name, struct arena *arena, place_vec *ret)
{
    bool claudes = conf_get_bool(conf, "claudeCompat", true);
    CLEANUP(mem_freep) char *claude = path_join(conf_etc(conf), "claude-code");
    CLEANUP(mem_freep) char *ours = path_join(conf_etc(conf), "tenax");

    places_add_plugins(conf, name, ret);
    if (places_wants(conf, "user"))
        places_add_user(conf, name, arena, claudes, ret);
    if (places_wants(conf, "project"))
        places_add_project(conf, name, arena, claudes, ret);
    places_add(ret, arena, LEVEL_MANAGED, /*ours=*/false, claude, name);
    places_add(ret, arena, LEVEL_MANAGED, /*ours=*/true, ours, name);
}

/* Those in a folder of --add-dir, except the project's and the user's. */
static void places_add_in(const struct conf *conf, const char *dir, const char *name,
                          struct arena *arena, const place_vec *others, place_vec *ret)
{
    CLEANUP(mem_freep) char *claudes = path_join(dir, ".claude");
    CLEANUP(mem_freep) char *ours = path_join(dir, ".tenax");
    size_t before = ret->len;

    if (conf_get_bool(conf, "claudeCompat", true) && !places_has(others, dir, ".claude", name))
        places_add(ret, arena, LEVEL_PROJECT, /*ours=*/false, claudes, name);
    if (!places_has(others, dir, ".tenax", name))
        places_add(ret, arena, LEVEL_PROJECT, /*ours=*/true, ours, name);
    for (size_t i = before; i < ret->len; i++)
        ret->ptr[i].added = dir;
}

void places_find_added(const struct conf *conf, const char *name, struct arena *arena,
                       place_vec *ret)
{
    const struct strv *dirs = conf_option(conf, OPT_ADD_DIR);
    place_vec others = VEC_INIT;

    if (!dirs)
        return;
    places_find(conf, name, arena, &others);
    for (size_t i = 0; i < dirs->len; i++) {
        CLEANUP(mem_freep) char *dir = path_join(conf_dir(conf), dirs->ptr[i]);
        CLEANUP(mem_freep) char *real = path_real(dir);

        places_add_in(conf, arena_cstr(arena, str_of(real)), name, arena, &others, ret);
    }
    vec_release(&others);
}
