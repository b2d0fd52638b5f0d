/*
 * protect_find: the files of a workspace, listed by git where it can and by a walk where not, and
 * looked through rule by rule; the first rule that finds a file gives the reason. Any thread.
 */
#include "goal/protect_find.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/path_glob.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "goal/check.h"
#include "goal/git.h"
#include "goal/protect.h"
#include "goal/recipe.h"
#include "goal/survey.h"
#include "sync/cancel.h"

#define FIND_MAX_LIST ((size_t)500000) /* files looked at */
#define FIND_MAX_TEXT ((size_t)64 << 20)
#define FIND_LIST_MS 20000

void protect_find_release(struct protect_find *f)
{
    VEC_EACH(&f->found, it) {
        mem_freep(&it->path);
        mem_freep(&it->why);
    }
    vec_release(&f->found);
    map_release(&f->known);
    strv_release(&f->notes);
    strv_release(&f->files);
    strv_release(&f->env);
}

/* ---- paths ---- */

char *protect_find_absolute(const struct protect_find *f, const char *folder, struct str path)
{
    CLEANUP(buf_release) struct buf at = BUF_INIT(BUF_NO_LIMIT);

    if (!str_starts(path, STR("/"))) {
        path_walk(&at, str_of(f->spec->dir));
        path_walk(&at, str_of(folder));
    }
    path_walk(&at, path);
    if (!at.len)
        buf_addc(&at, '/');
    return buf_take(&at);
}

struct str protect_find_relative(const struct protect_find *f, struct str absolute)
{
    struct str dir = str_of(f->spec->dir);

    if (absolute.len > dir.len && str_starts(absolute, dir) && absolute.ptr[dir.len] == '/')
        return str_from(absolute, dir.len + 1);
    return absolute;
}

bool protect_find_is_file(const char *absolute)
{
    struct stat st;

    return stat(absolute, &st) == 0 && S_ISREG(st.st_mode);
}

bool protect_find_is_built(const char *absolute)
{
    static const struct str magics[] = {STR_INIT("\177ELF"), STR_INIT("\xcf\xfa\xed\xfe"),
                                        STR_INIT("!<arch>"), STR_INIT("\xca\xfe\xba\xbe"),
                                        STR_INIT("\0asm")};
    CLEANUP(fd_closep) int fd = open(absolute, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char start[8];
    ssize_t n = fd < 0 ? -1 : read(fd, start, sizeof(start));

    for (size_t i = 0; n > 0 && i < ARRAY_LEN(magics); i++) {
        if (str_starts(str_make(start, (size_t)n), magics[i]))
            return true;
    }
    return false;
}

void protect_find_add(struct protect_find *f, enum found_kind kind, struct str path,
                      const char *why)
{
    CLEANUP(mem_freep)
    char *absolute = kind == FOUND_PROGRAM ? NULL : protect_find_absolute(f, "", path);
    CLEANUP(buf_release) struct buf key = BUF_INIT(BUF_NO_LIMIT);

    if (absolute)
        path = protect_find_relative(f, str_of(absolute));
    buf_addc(&key, kind == FOUND_PROGRAM ? 'p' : kind == FOUND_ABSENT ? 'a' : 'f');
    buf_add(&key, path);
    if (map_has(&f->known, buf_str(&key)))
        return;
    map_set(&f->known, buf_str(&key), f);
    vec_push(&f->found, ((struct found){.kind = kind,
                                        .path = mem_dup(path.ptr, path.len),
                                        .why = mem_dup(why, strlen(why))}));
}

bool protect_find_has(const struct protect_find *f, struct str relative)
{
    CLEANUP(buf_release) struct buf key = BUF_INIT(BUF_NO_LIMIT);

    buf_addc(&key, 'f');
    buf_add(&key, relative);
    return map_has(&f->known, buf_str(&key));
}

/* ---- the list ---- */

/* ERR_UNSUPPORTED: not in git. */
static int protect_find_list_git(struct protect_find *f, struct err *err)
{
    static const char *const args[] = {"ls-files",           "-z", "--cached", "--others",
                                       "--exclude-standard", NULL};
    struct git git = {
        .dir = f->spec->dir,
        .environ = f->spec->environ,
        .deadline_ms = git_now_ms() + FIND_LIST_MS,
        .cancel = f->cancel,
    };
    CLEANUP(buf_release) struct buf out = {0};
    struct str rest;
    struct str path;
    struct str last = STR("");

    if (git_ask(&git, args, STR(""), FIND_MAX_TEXT, &out, err) < 0)
        return -1;
    rest = buf_str(&out);
    while (rest.len && str_cut(&rest, '\0', &path) && f->files.len < FIND_MAX_LIST) {
        if (path.len && !str_eq(path, last)) /* unmerged files are told three times */
            strv_add(&f->files, path);
        last = path;
    }
    return 0;
}

static bool protect_find_enters(void *arg, struct str path, struct str name)
{
    (void)arg;
    (void)path;
    return !recipe_is_output_dir(name);
}

static int protect_find_take_file(void *arg, int folder_fd, const char *name, struct str path,
                                  struct err *err)
{
    struct protect_find *f = arg;

    (void)folder_fd;
    (void)name;
    (void)err;
    strv_add(&f->files, path);
    return 0;
}

static int protect_find_list_walk(struct protect_find *f, struct err *err)
{
    struct survey survey = {
        .dir = f->spec->dir,
        .max_files = FIND_MAX_LIST,
        .deadline_ms = git_now_ms() + FIND_LIST_MS,
        .enter = protect_find_enters,
        .file = protect_find_take_file,
        .arg = f,
    };
    bool whole;

    if (survey_run(&survey, f->cancel, &whole, err) < 0)
        return -1;
    if (!whole)
        strv_adds(&f->notes, "not all of the workspace could be searched for files to protect");
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool protect_find_lists(const struct protect_find *f, struct str relative)
{
    CLEANUP(mem_freep) char *name = mem_dup(relative.ptr, relative.len);

    return f->files.len &&
           bsearch(&name, f->files.ptr, f->files.len, sizeof(*f->files.ptr), by_name) != NULL;
}

static int protect_find_list(struct protect_find *f, struct err *err)
{
    struct err why = {0};

    if (protect_find_list_git(f, &why) < 0) {
        if (why.code == ERR_CANCELLED) {
            if (err)
                *err = why;
            return -1;
        }
        strv_clear(&f->files);
        if (protect_find_list_walk(f, err) < 0)
            return -1;
    }
    if (f->files.len)
        qsort(f->files.ptr, f->files.len, sizeof(*f->files.ptr), by_name);
    return 0;
}

/* ---- what --protect names ---- */

/* Whether the glob fits the path or a folder above it. */
static bool protect_find_glob_fits(struct str glob, struct str path)
{
    CLEANUP(buf_release) struct buf rooted = BUF_INIT(BUF_NO_LIMIT);

    buf_addc(&rooted, '/');
    buf_add(&rooted, path);
    while (rooted.len > 1) {
        if (path_glob_match(glob, buf_str(&rooted)))
            return true;
        while (rooted.len && rooted.ptr[rooted.len - 1] != '/')
            rooted.len--;
        rooted.len--;
    }
    return false;
}

struct find_glob {
    struct protect_find *finder;
    struct str glob;
    const char *why;
    size_t count;
};

static int protect_find_glob_take(void *arg, int folder_fd, const char *name, struct str path,
                                  struct err *err)
{
    struct find_glob *g = arg;

    (void)folder_fd;
    (void)name;
    (void)err;
    if (protect_find_glob_fits(g->glob, path)) {
        protect_find_add(g->finder, FOUND_FILE, path, g->why);
        g->count++;
    }
    return 0;
}

/* A glob as path_glob.h has it: rooted in the workspace when it begins with '/' or the folder. */
static struct str protect_find_glob_of(const struct protect_find *f, struct str glob)
{
    struct str dir = str_of(f->spec->dir);

    while (str_starts(glob, STR("./")))
        glob = str_from(glob, 2);
    if (str_starts(glob, dir) && glob.len > dir.len && glob.ptr[dir.len] == '/')
        glob = str_from(glob, dir.len);
    while (glob.len > 1 && glob.ptr[glob.len - 1] == '/')
        glob.len--;
    return glob;
}

/* What git lists, then, where that has nothing for it, everything there is. */
static int protect_find_glob(struct protect_find *f, struct str given, struct err *err)
{
    CLEANUP(buf_release) struct buf why = BUF_INIT(BUF_NO_LIMIT);
    struct find_glob g = {.finder = f, .glob = protect_find_glob_of(f, given)};
    struct survey survey = {
        .dir = f->spec->dir,
        .max_files = FIND_MAX_LIST,
        .deadline_ms = git_now_ms() + FIND_LIST_MS,
        .file = protect_find_glob_take,
        .arg = &g,
    };
    bool whole;

    buf_addf(&why, "protected by '%.*s'", STR_ARG(given));
    g.why = buf_cstr(&why);
    for (size_t i = 0; i < f->files.len; i++)
        protect_find_glob_take(&g, -1, NULL, str_of(f->files.ptr[i]), NULL);
    if (!g.count) {
        CLEANUP(mem_freep) char *outside = protect_find_absolute(f, "", given);

        if (survey_run(&survey, f->cancel, &whole, err) < 0)
            return -1;
        if (!g.count && protect_find_is_file(outside)) {
            protect_find_add(f, FOUND_FILE, str_of(outside), g.why);
            g.count++;
        }
    }
    if (!g.count)
        strv_addf(&f->notes, "no file fits '%.*s': nothing is protected by it", STR_ARG(given));
    return 0;
}

/* ---- test files ---- */

/* A new conftest.py beside a test decides what becomes of it. */
static void protect_find_add_conftest(struct protect_find *f, struct str path)
{
    for (;;) {
        CLEANUP(buf_release) struct buf name = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(mem_freep) char *absolute = NULL;

        while (path.len && path.ptr[path.len - 1] != '/')
            path.len--;
        buf_add(&name, path);
        buf_adds(&name, "conftest.py");
        absolute = protect_find_absolute(f, "", buf_str(&name));
        if (!file_exists(absolute))
            protect_find_add(f, FOUND_ABSENT, buf_str(&name), "it would have a say in the tests");
        if (!path.len)
            return;
        path.len--;
    }
}

static void protect_find_tests(struct protect_find *f)
{
    size_t before = f->found.len;

    for (size_t i = 0; i < f->files.len; i++) {
        struct str path = str_of(f->files.ptr[i]);

        CLEANUP(mem_freep) char *absolute = NULL;

        if (!recipe_is_test(path))
            continue;
        absolute = protect_find_absolute(f, "", path);
        if (!protect_find_is_file(absolute) || protect_find_is_built(absolute))
            continue;
        if (f->found.len - before == PROTECT_MAX_FILES) {
            strv_addf(&f->notes, "more than %d test files: the rest is not protected",
                      PROTECT_MAX_FILES);
            return;
        }
        if (!f->spec->is_named_only)
            protect_find_add(f, FOUND_FILE, path, "a test file");
        if (f->python_tests && str_ends(path, STR(".py")))
            protect_find_add_conftest(f, path);
    }
}

int protect_find_run(struct protect_find *f, struct err *err)
{
    if (protect_find_list(f, err) < 0)
        return -1;
    check_environ(f->spec->environ, &f->env);
    for (size_t i = 0; i < f->spec->globs->len; i++) {
        if (protect_find_glob(f, str_of(f->spec->globs->ptr[i]), err) < 0)
            return -1;
    }
    for (size_t i = 0; i < f->spec->checks->len; i++) {
        protect_find_check(f, str_of(f->spec->checks->ptr[i]));
        if (cancel_check(f->cancel, err) < 0)
            return -1;
    }
    protect_find_tests(f);
    return cancel_check(f->cancel, err);
}
