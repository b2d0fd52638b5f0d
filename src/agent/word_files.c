/*
 * word_files: most words of a command are no files at all, and those cost one look at the shell's
 * folder. Any thread.
 */
#include "agent/word_files.h"

#include <errno.h>
#include <glob.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/workspace.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/strv.h"

#define MAX_FILES 1000 /* that one pattern stands for */
#define MAX_PATTERNS 2 /* parts of one path that are patterns; each is a folder to be listed */
#define MAX_PLAIN 16   /* names that are not looked at twice */
#define MAX_BRACES 4   /* in one word; each makes it several */

void word_files_release(struct word_files *f)
{
    mem_freep(&f->cwd);
    strv_release(&f->plain);
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

/* All files that are there; as for the shell, not those with a dot in front. */
static void add_matching(struct word_files *f, struct strv *to, const char *pattern)
{
    glob_t found = {0};

    if (is_wide(pattern)) {
        f->wide = true;
        return;
    }
    if (glob(pattern, GLOB_BRACE | GLOB_NOSORT, NULL, &found) == 0) {
        f->wide |= found.gl_pathc > MAX_FILES;
        for (size_t i = 0; i < found.gl_pathc && i < MAX_FILES; i++)
            add_with_real(to, found.gl_pathv[i]);
    }
    globfree(&found);
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

/* A path below the shell's folder on which there is no link: it is what it leads to. Looked at from
 * that folder on, which is cheaper than from the root. */
static bool is_real(struct word_files *f, const char *path)
{
    CLEANUP(buf_release) struct buf at = BUF_INIT(BUF_NO_LIMIT);
    struct str rest = str_of(path);
    struct str part;
    struct stat st;

    find_cwd(f);
    if (!f->cwd_is_real || !str_starts(rest, str_of(f->cwd)) || path[strlen(f->cwd)] != '/')
        return false;
    buf_adds(&at, f->cwd);
    rest = str_from(rest, at.len + 1);
    while (str_cut(&rest, '/', &part)) {
        if (!part.len || str_is(part, ".") || str_is(part, ".."))
            return false;
        buf_addc(&at, '/');
        buf_add(&at, part);
        if (lstat(buf_cstr(&at), &st) < 0)
            return errno == ENOENT; /* nor is there anything behind it */
        if (S_ISLNK(st.st_mode))
            return false;
    }
    return true;
}

/* A plain name in the shell's folder. False when it is a link, or the folder is reached through
 * one. */
static bool resolve_name(struct word_files *f, const char *name, struct strv *to)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    struct stat st;

    if (strpbrk(name, "/~*?[{") || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return false;
    find_cwd(f);
    if (!f->cwd_is_real)
        return false;
    buf_adds(&path, f->cwd);
    buf_addc(&path, '/');
    buf_adds(&path, name);
    if (!strv_has(&f->plain, str_of(name))) {
        if (lstat(buf_cstr(&path), &st) == 0 && S_ISLNK(st.st_mode))
            return false;
        if (f->plain.len < MAX_PLAIN)
            strv_adds(&f->plain, name);
    }
    strv_add(to, buf_str(&path));
    return true;
}

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

void word_files_resolve(struct word_files *f, struct strv *words)
{
    struct strv full = STRV_INIT;

    for (size_t i = 0; i < words->len; i++) {
        if (!resolve_name(f, words->ptr[i], &full))
            resolve_path(f, words->ptr[i], &full);
    }
    strv_release(words);
    *words = full;
}
