/*
 * levels: the list of sources, lowest first: user, project, local, --settings, managed; at each
 * level Claude's file and then ours. Options and variables are put in later, by conf.c, because
 * settings may change the variables.
 *
 * Finding costs one lstat() per folder up to the git root and two failed opendir(); the rest is
 * string work. Runs on whatever thread loads the settings.
 */
#include "conf/levels.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/checkout.h"
#include "conf/conf.h"
#include "conf/option.h"

void levels_release(struct levels *l)
{
    vec_release(&l->list);
}

/* A variable that is set and not empty, or NULL. */
static const char *levels_env(char *const *environ_list, const char *name)
{
    size_t len = strlen(name);

    for (char *const *e = environ_list; e && *e; e++)
        if (strncmp(*e, name, len) == 0 && (*e)[len] == '=')
            return (*e)[len + 1] ? *e + len + 1 : NULL;
    return NULL;
}

static const char *levels_join(struct arena *arena, const char *dir, const char *name)
{
    CLEANUP(mem_freep) char *path = path_join(dir, name);
    struct str s = str_of(path);

    while (s.len > 1 && s.ptr[s.len - 1] == '/')
        s.len--;
    return arena_cstr(arena, s);
}

static void levels_find_homes(struct levels *l, const struct conf_sources *from,
                              struct arena *arena)
{
    const char *home = levels_env(from->environ, "HOME");
    const char *claude = levels_env(from->environ, "CLAUDE_CONFIG_DIR");
    const char *tenax = levels_env(from->environ, "TENAX_HOME");

    l->user_home = levels_join(arena, home && home[0] == '/' ? home : path_home(), "");
    l->claude_home = claude ? levels_join(arena, from->dir, claude)
                            : levels_join(arena, l->user_home, ".claude");
    l->home =
        tenax ? levels_join(arena, from->dir, tenax) : levels_join(arena, l->user_home, ".tenax");
}

/* A path as people write it: "~/.tenax/settings.json". */
static const char *levels_show_path(const struct levels *l, struct arena *arena, const char *path)
{
    CLEANUP(buf_release) struct buf shown = BUF_INIT(BUF_NO_LIMIT);
    size_t len = strlen(l->user_home);

    if (len < 2 || strncmp(path, l->user_home, len) != 0 || path[len] != '/')
        return path;
    buf_addf(&shown, "~%s", path + len);
    return arena_cstr(arena, buf_str(&shown));
}

static struct source *levels_add_file(struct levels *l, struct arena *arena,
                                      enum source_level level, bool ours, const char *dir,
                                      const char *name)
{
    struct source *s = vec_add(&l->list);

    *s = (struct source){
        .level = level,
        .ours = ours,
        .path = levels_join(arena, dir, name),
        .has_positions = true,
    };
    s->name = levels_show_path(l, arena, s->path);
    return s;
}

const char *levels_local_dir(struct arena *arena, const char *dir, const char *user_home)
{
    const char *root = checkout_root(arena, dir);
    struct stat at;
    struct stat home;

    if (!root || stat(root, &at) < 0 || at.st_uid != geteuid())
        return dir; /* a repository must not choose our settings */
    if (stat(user_home, &home) == 0 && home.st_dev == at.st_dev && home.st_ino == at.st_ino)
        return dir; /* a home kept in git is not one big project */
    return root;
}

static bool levels_wants(const struct conf_sources *from, const char *level)
{
    if (!from->args || !from->args->given[OPT_SETTING_SOURCES])
        return true;
    return strv_has(&from->args->values[OPT_SETTING_SOURCES], str_of(level));
}

/* Each --settings: the text itself, or a file that must be there. */
static void levels_add_flags(struct levels *l, const struct conf_sources *from, struct arena *arena)
{
    const struct strv *given = from->args ? &from->args->values[OPT_SETTINGS] : NULL;

    for (size_t i = 0; given && i < given->len; i++) {
        struct str value = str_of(given->ptr[i]);
        struct source *s;

        if (str_starts(str_trim(value), STR("{"))) {
            s = vec_add(&l->list);
            *s = (struct source){.name = "--settings", .has_positions = true};
            s->text = arena_str(arena, value);
        } else if (str_starts(value, STR("~/"))) { /* the shell leaves it alone in --settings=~/x */
            s = levels_add_file(l, arena, LEVEL_FLAG, true, l->user_home, given->ptr[i] + 2);
        } else {
            s = levels_add_file(l, arena, LEVEL_FLAG, true, from->dir, given->ptr[i]);
        }
        s->level = LEVEL_FLAG;
        s->ours = true;
        s->required = true;
    }
}

static int levels_compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* managed-settings.json, then the JSON files of managed-settings.d by name. */
static int levels_add_managed(struct levels *l, struct arena *arena, const char *etc,
                              const char *name, bool ours, struct err *err)
{
    const char *dir = levels_join(arena, etc, name);
    const char *drop_in = levels_join(arena, dir, "managed-settings.d");
    CLEANUP(strv_release) struct strv names = STRV_INIT;
    DIR *d = opendir(drop_in);

    l->drop_ins[ours] = drop_in;
    levels_add_file(l, arena, LEVEL_MANAGED, ours, dir, "managed-settings.json");
    if (!d && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (!d)
        return err_sys(err, ERR_BAD_INPUT, "cannot list '%s'", drop_in);
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        if (e->d_name[0] != '.' && str_ends(str_of(e->d_name), STR(".json")))
            strv_adds(&names, e->d_name);
    closedir(d);
    if (names.len > LEVELS_MAX_MANAGED)
        return err_set(err, ERR_TOO_BIG, "'%s' has %zu settings files; the limit is %d", drop_in,
                       names.len, LEVELS_MAX_MANAGED);
    if (names.len)
        qsort(names.ptr, names.len, sizeof(*names.ptr), levels_compare_names);
    for (size_t i = 0; i < names.len; i++)
        levels_add_file(l, arena, LEVEL_MANAGED, ours, drop_in, names.ptr[i]);
    return 0;
}

int levels_find(const struct conf_sources *from, struct arena *arena, struct levels *ret,
                struct err *err)
{
    CLEANUP(levels_release) struct levels l = {0};
    const char *etc = from->etc ? from->etc : "/etc";

    levels_find_homes(&l, from, arena);
    if (levels_wants(from, "user")) {
        levels_add_file(&l, arena, LEVEL_USER, false, l.claude_home, "settings.json");
        levels_add_file(&l, arena, LEVEL_USER, true, l.home, "settings.json");
    }
    if (levels_wants(from, "project")) {
        levels_add_file(&l, arena, LEVEL_PROJECT, false, from->dir, ".claude/settings.json");
        levels_add_file(&l, arena, LEVEL_PROJECT, true, from->dir, ".tenax/settings.json");
    }
    if (levels_wants(from, "local")) {
        const char *dir = levels_local_dir(arena, from->dir, l.user_home);

        levels_add_file(&l, arena, LEVEL_LOCAL, false, dir, ".claude/settings.local.json");
        levels_add_file(&l, arena, LEVEL_LOCAL, true, dir, ".tenax/settings.local.json");
    }
    levels_add_flags(&l, from, arena);
    if (from->over.len)
        vec_push(&l.list, ((struct source){.level = LEVEL_FLAG,
                                           .ours = true,
                                           .on_top = true,
                                           .name = "a client's settings",
                                           .text = from->over}));
    if (from->policy.len)
        vec_push(&l.list, ((struct source){.level = LEVEL_MANAGED,
                                           .ours = true,
                                           .name = "a client's managed settings",
                                           .text = from->policy}));
    if (levels_add_managed(&l, arena, etc, "claude-code", false, err) < 0 ||
        levels_add_managed(&l, arena, etc, "tenax", true, err) < 0)
        return -1;
    *ret = l;
    l = (struct levels){0};
    return 0;
}
