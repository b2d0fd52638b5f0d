/*
 * word_files: most words of a command are no files at all, and those cost one look at the shell's
 * folder. Any thread.
 */
#include "agent/word_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/workspace.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"

#define MAX_FILES 1000 /* that one pattern stands for */
#define MAX_PATTERNS 2 /* parts of one path that are patterns; each is a folder to be listed */
#define MAX_LOOKS 16   /* of each kind that are remembered */
#define MAX_BRACES 4   /* in one word; each makes it several */
#define MAX_SAME 8     /* words back that one is compared with */

void word_files_release(struct word_files *f)
{
    mem_freep(&f->cwd);
    strv_release(&f->plain);
    strv_release(&f->missing);
}

static void add_with_real(struct strv *to, const char *path)
{
    CLEANUP(mem_freep) char *real = workspace_real(path);

    strv_adds(to, path);
    if (strcmp(path, real) != 0)
        strv_adds(to, real);
}

/* A pattern like / * / * / * would have the whole disk listed. */
static bool is_wide(const char *pattern)
{
    struct str rest = str_of(pattern);
    size_t patterns = 0;
    size_t braces = 0;
    struct str part;

    while (str_cut(&rest, '/', &part)) {
        bool has = false;

        for (size_t i = 0; i < part.len; i++) {
            has |= part.ptr[i] == '*' || part.ptr[i] == '?' || part.ptr[i] == '[';
            braces += part.ptr[i] == '{';
        }
        patterns += has;
    }
    return patterns > MAX_PATTERNS || braces > MAX_BRACES;
}

/* /proc/self/cwd/x and /proc/1/root/x mean the shell's folders, not ours. */
char *word_files_path(const struct word_files *f, struct str word)
{
    struct str rest = str_from(word, 6);
    struct str process;
    struct str kind;

    if (!str_starts(word, STR("/proc/")) || !str_cut(&rest, '/', &process) ||
        !str_cut(&rest, '/', &kind))
        return workspace_resolve(f->workspace, word);
    if (str_is(kind, "cwd"))
        return workspace_resolve(f->workspace, rest.len ? rest : STR("."));
    if (str_is(kind, "root") && rest.len) /* from the slash before it on */
        return workspace_resolve(f->workspace, str_make(rest.ptr - 1, rest.len + 1));
    return workspace_resolve(f->workspace, word);
}

static void find_cwd(struct word_files *f)
{
    CLEANUP(mem_freep) char *real = NULL;

    if (f->cwd)
        return;
    f->cwd = workspace_cwd(f->workspace);
    real = workspace_real(f->cwd);
    f->cwd_is_real = strcmp(real, f->cwd) == 0;
}

enum look {
    LOOK_MISSING,
    LOOK_PLAIN,
    LOOK_LINK, /* or it cannot be told */
};

/* name: what path is from the shell's folder on. */
static enum look look_at(struct word_files *f, const char *path, struct str name)
{
    struct stat st;

    if (strv_has(&f->missing, name))
        return LOOK_MISSING;
    if (strv_has(&f->plain, name))
        return LOOK_PLAIN;
    if (lstat(path, &st) < 0) {
        if (errno != ENOENT)
            return LOOK_LINK;
        if (f->missing.len < MAX_LOOKS)
            strv_add(&f->missing, name);
        return LOOK_MISSING;
    }
    if (S_ISLNK(st.st_mode))
        return LOOK_LINK;
    if (f->plain.len < MAX_LOOKS)
        strv_add(&f->plain, name);
    return LOOK_PLAIN;
}

/* A path below the shell's folder, or the folder itself, on which there is no link: it is what it
 * leads to. Looked at from that folder on, which is cheaper than from the root. */
static bool is_real(struct word_files *f, const char *path)
{
    CLEANUP(buf_release) struct buf at = BUF_INIT(BUF_NO_LIMIT);
    struct str rest = str_of(path);
    struct str part;

    find_cwd(f);
    if (!f->cwd_is_real || !str_starts(rest, str_of(f->cwd)))
        return false;
    buf_adds(&at, f->cwd);
    if (rest.len == at.len)
        return true;
    if (path[at.len] != '/')
        return false;
    rest = str_from(rest, at.len + 1);
    while (str_cut(&rest, '/', &part)) {
        enum look look;

        if (!part.len || str_is(part, ".") || str_is(part, ".."))
            return false;
        buf_addc(&at, '/');
        buf_add(&at, part);
        look = look_at(f, buf_cstr(&at), str_from(buf_str(&at), strlen(f->cwd) + 1));
        if (look != LOOK_PLAIN)
            return look == LOOK_MISSING; /* nor is there anything behind it */
    }
    return true;
}

/* A plain name in the shell's folder. False when it is a link, or the folder is reached through
 * one. */
static bool resolve_name(struct word_files *f, const char *name, struct strv *to)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    if (strpbrk(name, "/~*?[{") || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return false;
    find_cwd(f);
    if (!f->cwd_is_real)
        return false;
    buf_adds(&path, f->cwd);
    buf_addc(&path, '/');
    buf_adds(&path, name);
    if (look_at(f, buf_cstr(&path), str_of(name)) == LOOK_LINK)
        return false;
    strv_add(to, buf_str(&path));
    return true;
}

/* --- patterns ------------------------------------------------------------------------------- */

/* A folder whose files are held against a pattern. */
struct folder {
    struct word_files *files;
    struct str path; /* "" is the root */
    bool is_real;
    const char *pattern;
    struct strv *to;
    size_t found;
};

static void folder_entry(struct folder *d, const struct dirent64 *e)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    bool is_plain = e->d_type != DT_LNK && e->d_type != DT_UNKNOWN && strcmp(e->d_name, ".") != 0 &&
                    strcmp(e->d_name, "..") != 0;

    /* As for the shell, not those with a dot in front. */
    if (fnmatch(d->pattern, e->d_name, FNM_PERIOD) != 0 || d->found++ >= MAX_FILES)
        return;
    buf_add(&path, d->path);
    buf_addc(&path, '/');
    buf_adds(&path, e->d_name);
    if (is_plain && d->is_real)
        strv_add(d->to, buf_str(&path));
    else
        add_with_real(d->to, buf_cstr(&path));
}

static void folder_list(struct folder *d)
{
    CLEANUP(mem_freep)
    char *path = mem_dup(d->path.len ? d->path.ptr : "/", d->path.len + !d->path.len);
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    _Alignas(struct dirent64) char entries[8192];
    ssize_t len = 0;

    if (fd < 0)
        return;
    d->is_real = is_real(d->files, path);
    while (d->found <= MAX_FILES && (len = getdents64(fd, entries, sizeof(entries))) > 0) {
        for (ssize_t at = 0; at < len;) {
            const struct dirent64 *e = (const struct dirent64 *)(entries + at);

            folder_entry(d, e);
            at += e->d_reclen;
        }
    }
    d->files->wide |= d->found > MAX_FILES;
}

/* Only the last part of the path is a pattern, as mostly: one folder is listed, at a quarter of
 * what glob() takes for it. False when it is another kind of pattern. */
static bool add_from_folder(struct word_files *f, struct strv *to, const char *pattern)
{
    struct folder d = {.files = f, .to = to, .pattern = path_base(pattern)};

    d.path = str_make(pattern, (size_t)(d.pattern - pattern) - (d.pattern > pattern));
    for (size_t i = 0; i < d.path.len; i++) {
        if (strchr("*?[{\\", d.path.ptr[i]))
            return false;
    }
    if (pattern[0] != '/' || strpbrk(d.pattern, "{\\"))
        return false;
    folder_list(&d);
    return true;
}

/* All files that are there. */
static void add_matching(struct word_files *f, struct strv *to, const char *pattern)
{
    glob_t found = {0};

    if (is_wide(pattern)) {
        f->wide = true;
        return;
    }
    if (add_from_folder(f, to, pattern))
        return;
    if (glob(pattern, GLOB_BRACE | GLOB_NOSORT, NULL, &found) == 0) {
        f->wide |= found.gl_pathc > MAX_FILES;
        for (size_t i = 0; i < found.gl_pathc && i < MAX_FILES; i++)
            add_with_real(to, found.gl_pathv[i]);
    }
    globfree(&found);
}

/* --- words ---------------------------------------------------------------------------------- */

static void resolve_path(struct word_files *f, const char *word, struct strv *to)
{
    CLEANUP(mem_freep) char *path = word_files_path(f, str_of(word));

    if (is_real(f, path))
        strv_adds(to, path);
    else
        add_with_real(to, path);
    if (strpbrk(word, "*?[{"))
        add_matching(f, to, path);
}

/* "for f in *.c; do wc $f; done" names one pattern twice. */
static bool was_just_there(const struct strv *words, size_t at)
{
    for (size_t i = at > MAX_SAME ? at - MAX_SAME : 0; i < at; i++) {
        if (strcmp(words->ptr[i], words->ptr[at]) == 0)
            return true;
    }
    return false;
}

void word_files_resolve(struct word_files *f, struct strv *words)
{
    struct strv full = STRV_INIT;

    for (size_t i = 0; i < words->len; i++) {
        if (was_just_there(words, i))
            continue;
        if (!resolve_name(f, words->ptr[i], &full))
            resolve_path(f, words->ptr[i], &full);
    }
    strv_release(words);
    *words = full;
}
