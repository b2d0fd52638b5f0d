/*
 * suggest: guesses from the cheapest to the dearest, the first that exists is the answer. Runs on
 * tool threads.
 */
#include "tools/suggest.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/strv.h"
#include "conf/nearest.h"
#include "guard/workspace.h"

#define SUGGEST_MAX_NAMES 20000 /* read in all */
#define SUGGEST_MAX_DEPTH 8
#define SUGGEST_MAX_ANSWERS 3

/* Folders that hold other people's files by the thousand. */
static bool suggest_skips(const char *name)
{
    static const char *const skipped[] = {"node_modules", "target", "build",
                                          "vendor",       "venv",   "__pycache__"};

    if (name[0] == '.')
        return true;
    for (size_t i = 0; i < ARRAY_LEN(skipped); i++) {
        if (strcmp(name, skipped[i]) == 0)
            return true;
    }
    return false;
}

/* "/a/b/c.x" → "<dir>/b/c.x" or "<dir>/c.x": the longest end of the path that exists below dir. */
static char *suggest_below(const char *dir, const char *path)
{
    for (const char *rest = path; rest; rest = strchr(rest, '/')) {
        char *guess;

        while (*rest == '/')
            rest++;
        if (!*rest)
            return NULL;
        guess = path_join(dir, rest);
        if (strcmp(guess, path) != 0 && file_exists(guess))
            return guess;
        mem_freep(&guess);
    }
    return NULL;
}

/* "/repo/src/src/a.c", asked for from inside src: a doubled part left out. */
static char *suggest_without_double(const char *path)
{
    for (const char *at = strchr(path, '/'); at && at[1]; at = strchr(at + 1, '/')) {
        const char *next = strchr(at + 1, '/');
        size_t len = next ? (size_t)(next - at) : 0;

        if (len && strncmp(at, next, len) == 0 && (next[len] == '/' || !next[len])) {
            struct buf guess = BUF_INIT(BUF_NO_LIMIT);

            buf_add(&guess, str_make(path, (size_t)(at - path)));
            buf_adds(&guess, next);
            if (file_exists(buf_cstr(&guess)))
                return buf_take(&guess);
            buf_release(&guess);
        }
    }
    return NULL;
}

static struct str name_stem(struct str name)
{
    const char *dot = name.len > 1 ? memrchr(name.ptr + 1, '.', name.len - 1) : NULL;

    return dot ? str_first(name, (size_t)(dot - name.ptr)) : name;
}

/* The most similar name in the folder of path. */
static char *suggest_beside(const char *path)
{
    CLEANUP(mem_freep) char *folder = path_dirname(path);
    struct str name = str_of(path_base(path));
    struct strv names = STRV_INIT;
    struct nearest near;
    char *guess = NULL;
    DIR *dir = opendir(folder);

    if (!dir)
        return NULL;
    for (struct dirent *e = readdir(dir); e && names.len < SUGGEST_MAX_NAMES; e = readdir(dir)) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            strv_adds(&names, e->d_name);
    }
    closedir(dir);
    nearest_init(&near, name);
    for (size_t i = 0; i < names.len; i++)
        nearest_offer(&near, str_of(names.ptr[i]));
    for (size_t i = 0; i < names.len && !near.best.len; i++) {
        if (str_eq_nocase(name_stem(str_of(names.ptr[i])), name_stem(name)))
            near.best = str_of(names.ptr[i]);
    }
    if (near.best.len)
        guess = path_join(folder, near.best.ptr);
    strv_release(&names);
    return guess;
}

struct search {
    const char *name;
    size_t names_left;
    struct strv found;
};

static void search_folder(struct search *s, const char *folder, int depth)
{
    DIR *dir = opendir(folder);

    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        CLEANUP(mem_freep) char *path = NULL;

        if (!s->names_left || s->found.len == SUGGEST_MAX_ANSWERS)
            break;
        s->names_left--;
        if (suggest_skips(e->d_name) && strcmp(e->d_name, s->name) != 0)
            continue;
        path = path_join(folder, e->d_name);
        if (strcmp(e->d_name, s->name) == 0) {
            if (!strv_has(&s->found, str_of(path)))
                strv_adds(&s->found, path);
        } else if (depth < SUGGEST_MAX_DEPTH && (e->d_type == DT_DIR)) {
            search_folder(s, path, depth + 1);
        }
    }
    if (dir)
        closedir(dir);
}

/* Files of the same name anywhere below the working folders. */
static void suggest_elsewhere(const struct strv *dirs, const char *path, struct strv *ret)
{
    struct search s = {.name = path_base(path), .names_left = SUGGEST_MAX_NAMES};

    for (size_t i = 0; i < dirs->len; i++)
        search_folder(&s, dirs->ptr[i], 0);
    strv_add_all(ret, &s.found);
    strv_release(&s.found);
}

static void suggest_all(struct workspace *w, const char *cwd, const char *path, struct strv *ret)
{
    CLEANUP(strv_release) struct strv dirs = STRV_INIT;
    char *guess = suggest_without_double(path);

    strv_adds(&dirs, cwd);
    workspace_dirs(w, &dirs);
    for (size_t i = 0; i < dirs.len && !guess; i++)
        guess = suggest_below(dirs.ptr[i], path);
    if (!guess)
        guess = suggest_beside(path);
    if (guess)
        strv_adds(ret, guess);
    else
        suggest_elsewhere(&dirs, path, ret);
    mem_freep(&guess);
}

static bool suggest_is_link(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

void suggest_path(struct workspace *w, const char *path, struct buf *ret)
{
    CLEANUP(strv_release) struct strv found = STRV_INIT;
    CLEANUP(mem_freep) char *folder = path_dirname(path);
    CLEANUP(mem_freep) char *cwd = workspace_cwd(w);

    if (suggest_is_link(path)) { /* the name is right: the nearest one would be itself */
        CLEANUP(mem_freep) char *target = path_real(path);

        buf_addf(ret, " It is a link to '%s', which is not there.", target);
        return;
    }
    if (!file_is_dir(folder))
        buf_addf(ret, " Its folder does not exist either.");
    suggest_all(w, cwd, path, &found);
    for (size_t i = 0; i < found.len; i++)
        buf_addf(ret, "%s'%s'", i ? " or " : " Did you mean ", found.ptr[i]);
    buf_adds(ret, found.len ? "?" : "");
    buf_addf(ret, " The working directory is '%s'.", cwd);
}
