/*
 * sandbox_nested: repositories below the working directories. They are searched once, before the
 * first job there, so that a job can write the settings of repositories that it creates itself. Any
 * thread; the lock is held during a search, which only reads folders.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "guard/sandbox_state.h"

#define NESTED_DEPTH 3
#define NESTED_FOLDERS 1000 /* examined */
#define NESTED_MAX 32       /* each needs several mounts in every job */

/* The entry itself, without following links. */
static bool is_folder(DIR *dir, const struct dirent *entry)
{
    struct stat st;

    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* Adds the folder to found if it is a repository, and its subfolders to ret_below. */
static void look_into(const char *folder, struct strv *found, struct strv *ret_below)
{
    DIR *dir = opendir(folder);

    for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        bool is_git = strcmp(e->d_name, ".git") == 0;
        CLEANUP(mem_freep) char *path = NULL;

        if ((e->d_name[0] == '.' && !is_git) || strcmp(e->d_name, "node_modules") == 0 ||
            !is_folder(dir, e))
            continue;
        if (is_git && found->len < NESTED_MAX && !strv_has(found, str_of(folder)))
            strv_adds(found, folder);
        if (is_git || ret_below->len >= NESTED_FOLDERS)
            continue;
        path = path_join(folder, e->d_name);
        strv_adds(ret_below, path);
    }
    if (dir)
        closedir(dir);
}

/* The nearest ones first. */
static void look_below(const char *top, struct strv *found)
{
    CLEANUP(strv_release) struct strv level = STRV_INIT;
    CLEANUP(strv_release) struct strv none = STRV_INIT;
    size_t looked = 0;

    look_into(top, &none, &level); /* its own repository is protected anyway (sandbox_git.c) */
    for (int depth = 0; depth < NESTED_DEPTH; depth++) {
        CLEANUP(strv_release) struct strv below = STRV_INIT;

        for (size_t i = 0; i < level.len && looked < NESTED_FOLDERS; i++, looked++)
            look_into(level.ptr[i], found, &below);
        strv_clear(&level);
        strv_add_all(&level, &below);
    }
}

void sandbox_nested_find(struct sandbox *s, const struct strv *dirs, struct strv *ret)
{
    lock_take(&s->lock);
    for (size_t i = 0; i < dirs->len; i++) {
        if (strv_has(&s->nested_in, str_of(dirs->ptr[i])))
            continue;
        strv_adds(&s->nested_in, dirs->ptr[i]);
        look_below(dirs->ptr[i], &s->nested);
    }
    strv_add_all(ret, &s->nested);
    lock_give(&s->lock);
}
