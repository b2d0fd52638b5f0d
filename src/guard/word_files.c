/*
 * word_files: most words of a command are not files, and cost one lookup in the shell's directory.
 * Any thread.
 */
#include "guard/word_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "base/vec.h"
#include "guard/rule.h"
#include "guard/workspace.h"
#include "shell/shell_brace.h"

#define MAX_FILES 1000 /* matches of one pattern */
#define MAX_PATTERNS 2 /* pattern components of one path; each needs a folder listing */
#define MAX_BRACED 64  /* words that braces expand to */
#define MAX_SAME 8     /* preceding words to compare with */

void word_files_init(struct word_files *f, struct workspace *w, struct arena *arena)
{
    *f = (struct word_files){.workspace = w, .arena = arena, .path = BUF_INIT(WORKSPACE_MAX_PATH)};
}

void word_files_release(struct word_files *f)
{
    buf_release(&f->path);
    vec_release(f);
}

static struct str add(struct word_files *f, struct str path)
{
    path = arena_str(f->arena, path);
    vec_push(f, ((struct word_file){path, f->writes}));
    return path;
}

static void add_with_real(struct word_files *f, struct str path)
{
    struct str kept = add(f, path);
    CLEANUP(mem_freep) char *real = workspace_real(kept.ptr);

    if (!str_is(kept, real))
        add(f, str_of(real));
}

/* A pattern like / * / * / * would list the whole disk. */
static bool is_wide(const char *pattern)
{
    struct str rest = str_of(pattern);
    size_t patterns = 0;
    struct str part;

    while (str_cut(&rest, '/', &part)) {
        bool has = false;

        for (size_t i = 0; i < part.len; i++)
            has |= part.ptr[i] == '*' || part.ptr[i] == '?' || part.ptr[i] == '[';
        patterns += has;
    }
    return patterns > MAX_PATTERNS;
}

/* --- the shell's directory -------------------------------------------------------------------- */

struct str word_files_cwd(struct word_files *f)
{
    if (!f->cwd.ptr) {
        CLEANUP(mem_freep) char *cwd = workspace_cwd(f->workspace);

        f->cwd = arena_str(f->arena, str_of(cwd));
    }
    return f->cwd;
}

static bool cwd_is_real(struct word_files *f)
{
    if (!f->saw_cwd) {
        CLEANUP(mem_freep) char *real = workspace_real(word_files_cwd(f).ptr);

        f->cwd_is_real = str_is(f->cwd, real);
        f->saw_cwd = true;
    }
    return f->cwd_is_real;
}

/* /proc/self/cwd/x and /proc/1/root/x mean the shell's directories, not ours. */
static struct str behind_proc(struct str word)
{
    struct str rest = str_from(word, 6);
    struct str process;
    struct str kind;

    if (!str_starts(word, STR("/proc/")) || !str_cut(&rest, '/', &process) ||
        !str_cut(&rest, '/', &kind))
        return word;
    if (str_is(kind, "cwd"))
        return rest.len ? rest : STR(".");
    if (str_is(kind, "root") && rest.len) /* from the slash before it on */
        return str_make(rest.ptr - 1, rest.len + 1);
    return word;
}

/* Into f->path. */
static void resolve(struct word_files *f, struct str word)
{
    buf_clear(&f->path);
    workspace_resolve_at(word_files_cwd(f), behind_proc(word), &f->path);
}

struct str word_files_path(struct word_files *f, struct str word)
{
    resolve(f, word);
    return arena_str(f->arena, buf_str(&f->path));
}

/* --- links ----------------------------------------------------------------------------------- */

enum look {
    LOOK_MISSING,
    LOOK_PLAIN,
    LOOK_LINK, /* or unknown */
};

/* Whether it has no "." or ".." components. */
static bool is_walked(struct str path)
{
    struct str rest = str_from(path, 1);
    struct str part;

    if (path.len < 2 || path.ptr[0] != '/')
        return false;
    while (str_cut(&rest, '/', &part)) {
        if (!part.len || str_is(part, ".") || str_is(part, ".."))
            return false;
    }
    return true;
}

/* The shell's directory is not known yet. If there is no link on the way, one lookup gives both it
 * and whether the path below exists. False if that does not work here. */
static bool sees_both(struct word_files *f, const char *path, bool *ret_is_there)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    CLEANUP(fd_closep) int fd = -1;

    if (!is_walked(f->cwd))
        return false;
    fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
    if (fd < 0 && errno != ENOENT)
        return false;
    f->saw_cwd = f->cwd_is_real = true;
    *ret_is_there = fd >= 0;
    return true;
}

/* path: below the shell's directory, which is examined, too; name: the part below it. */
static enum look look_at(struct word_files *f, const char *path, struct str name)
{
    struct stat st;
    bool is_there;

    for (size_t i = 0; i < f->looks_len; i++) {
        if (str_eq(f->looks[i].name, name))
            return f->looks[i].is_there ? LOOK_PLAIN : LOOK_MISSING;
    }
    if (f->saw_cwd || !sees_both(f, path, &is_there)) {
        if (!cwd_is_real(f))
            return LOOK_LINK;
        is_there = lstat(path, &st) == 0;
        if (is_there ? S_ISLNK(st.st_mode) : errno != ENOENT)
            return LOOK_LINK;
    }
    if (f->looks_len < WORD_FILES_LOOKS) {
        f->looks[f->looks_len].name = arena_str(f->arena, name);
        f->looks[f->looks_len++].is_there = is_there;
    }
    return is_there ? LOOK_PLAIN : LOOK_MISSING;
}

/* Whether a path in the shell's directory, or the directory itself, has no links, so that it is its
 * own target. Starts at that directory, which is cheaper than at the root. The path is temporarily
 * truncated for each lookup. */
static bool is_real(struct word_files *f, char *path)
{
    struct str rest = str_of(path);
    struct str cwd = word_files_cwd(f);
    struct str part;
    const char *name;

    if (!str_starts(rest, cwd))
        return false;
    if (rest.len == cwd.len)
        return cwd_is_real(f);
    if (path[cwd.len] != '/')
        return false;
    name = path + cwd.len + 1;
    rest = str_from(rest, cwd.len + 1);
    while (str_cut(&rest, '/', &part)) {
        char *end = path + (part.ptr + part.len - path);
        char kept = *end;
        enum look look;

        if (!part.len || str_is(part, ".") || str_is(part, ".."))
            return false;
        *end = '\0';
        look = look_at(f, path, str_make(name, (size_t)(end - name)));
        *end = kept;
        if (look != LOOK_PLAIN)
            return look == LOOK_MISSING; /* nor does anything below it exist */
    }
    return true;
}

/* --- patterns ------------------------------------------------------------------------------- */

/* A folder whose files are compared with a pattern. */
struct folder {
    struct word_files *files;
    struct str path; /* "" is the root */
    bool is_real;
    const char *pattern;
    size_t found;
};

static void folder_entry(struct folder *d, const struct dirent64 *e)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    bool is_plain = e->d_type != DT_LNK && e->d_type != DT_UNKNOWN && strcmp(e->d_name, ".") != 0 &&
                    strcmp(e->d_name, "..") != 0;

    /* As in the shell, without names that start with a dot. */
    if (fnmatch(d->pattern, e->d_name, FNM_PERIOD) != 0 || d->found++ >= MAX_FILES)
        return;
    buf_add(&path, d->path);
    buf_addc(&path, '/');
    buf_adds(&path, e->d_name);
    if (is_plain && d->is_real)
        add(d->files, buf_str(&path));
    else
        add_with_real(d->files, buf_str(&path));
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

/* The usual case that only the last component is a pattern: lists one folder, at a quarter of the
 * cost of glob(). False for other patterns. */
static bool add_from_folder(struct word_files *f, const char *pattern)
{
    struct folder d = {.files = f, .pattern = path_base(pattern)};

    d.path = str_make(pattern, (size_t)(d.pattern - pattern) - (d.pattern > pattern));
    for (size_t i = 0; i < d.path.len; i++) {
        if (strchr("*?[\\", d.path.ptr[i]))
            return false;
    }
    if (pattern[0] != '/' || strchr(d.pattern, '\\'))
        return false;
    folder_list(&d);
    return true;
}

/* All files that are there. */
static void add_matching(struct word_files *f, const char *pattern)
{
    glob_t found = {0};

    if (is_wide(pattern)) {
        f->wide = true;
        return;
    }
    if (add_from_folder(f, pattern))
        return;
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
        f->wide |= found.gl_pathc > MAX_FILES;
        for (size_t i = 0; i < found.gl_pathc && i < MAX_FILES; i++)
            add_with_real(f, str_of(found.gl_pathv[i]));
    }
    globfree(&found);
}

/* --- words ---------------------------------------------------------------------------------- */

static bool has_pattern(struct str word)
{
    for (size_t i = 0; i < word.len; i++) {
        char c = word.ptr[i];

        if (c == '*' || c == '?' || c == '[')
            return true;
    }
    return false;
}

/* A plain name in the shell's directory. False if it is a link, or the directory is reached through
 * one. */
static bool resolve_name(struct word_files *f, struct str name)
{
    if (has_pattern(name) || str_chr(name, '/') < name.len || str_chr(name, '~') < name.len ||
        str_is(name, ".") || str_is(name, ".."))
        return false;
    buf_clear(&f->path);
    buf_add(&f->path, word_files_cwd(f));
    if (f->cwd.len > 1)
        buf_addc(&f->path, '/');
    buf_add(&f->path, name);
    if (f->path.over || look_at(f, buf_cstr(&f->path), name) == LOOK_LINK)
        return false;
    add(f, buf_str(&f->path));
    return true;
}

static void resolve_path(struct word_files *f, struct str word)
{
    size_t at = f->len;

    resolve(f, word);
    if (is_real(f, f->path.ptr))
        add(f, buf_str(&f->path));
    else
        add_with_real(f, buf_str(&f->path));
    if (has_pattern(word))
        add_matching(f, f->ptr[at].path.ptr);
}

static void resolve_word(struct word_files *f, struct str word)
{
    if (!resolve_name(f, word))
        resolve_path(f, word);
}

/* The shell expands braces before it looks for files: a{,/../b} is not a path yet. */
static void resolve_braces(struct word_files *f, struct str word)
{
    CLEANUP(strv_release) struct strv words = STRV_INIT;

    f->wide |= !shell_braces(word, MAX_BRACED, &words);
    for (size_t i = 0; i < words.len; i++) {
        if (!str_is(word, words.ptr[i]))
            resolve_word(f, str_of(words.ptr[i]));
    }
}

/* "for f in *.c; do wc $f; done" has one pattern twice. */
static bool was_just_there(const struct rule_files *words, size_t at)
{
    const struct rule_file *word = &words->ptr[at];

    for (size_t i = at > MAX_SAME ? at - MAX_SAME : 0; i < at; i++) {
        const struct rule_file *other = &words->ptr[i];

        if (!other->filters && other->writes >= word->writes && other->quotes <= word->quotes &&
            str_eq(other->text, word->text))
            return true;
    }
    return false;
}

void word_files_add(struct word_files *f, const struct rule_files *words, bool only_writes)
{
    for (size_t i = 0; i < words->len; i++) {
        const struct rule_file *word = &words->ptr[i];

        if (only_writes && !word->writes)
            continue;
        f->writes = word->writes;
        if (word->filters) {
            resolve(f, word->text);
            add(f, buf_str(&f->path));
        } else if (!was_just_there(words, i)) {
            resolve_word(f, word->text);
            if (!word->quotes && str_chr(word->text, '{') < word->text.len)
                resolve_braces(f, word->text);
        }
    }
}
