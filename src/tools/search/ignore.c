/*
 * Ignore files: rules, the folders they stand in, and who is asked first.
 *
 * Paths are compared as absolute ones with the rule's folder cut off in front, so that rules above
 * the root of a walk need nothing special. Levels are made as a walk goes down, by whichever thread
 * is there, and freed together at the end.
 */
#include "tools/search/ignore.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "sync/thread.h"
#include "tools/search/glob_match.h"

struct ignore_rule {
    struct glob_match *glob;
    bool keeps;    /* written with ! */
    bool dir_only; /* written with a slash at the end */
};

struct ignore_rules {
    VEC(struct ignore_rule) rules;
    size_t drops;
};

enum rule_source {
    FROM_RGIGNORE,
    FROM_IGNORE,
    FROM_GITIGNORE,
    FROM_EXCLUDE,
    SOURCES,
};

struct ignore_level {
    const struct ignore_level *above;
    struct ignore_level *older; /* for ignore_free() */
    size_t dir_len;             /* of the absolute path, its slash included */
    bool has_git;
    bool in_git; /* this folder or one above has .git */
    struct ignore_rules *from[SOURCES];
};

struct ignore {
    char *root; /* with a slash at the end */
    size_t root_len;
    bool git;
    struct ignore_rules *global;
    const struct ignore_level *above_root;
    struct lock lock;
    struct ignore_level *levels;
};

/* --- one file's rules ------------------------------------------------------------------------ */

struct ignore_rules *ignore_rules_new(void)
{
    return mem_zalloc(sizeof(struct ignore_rules));
}

void ignore_rules_free(struct ignore_rules *r)
{
    if (!r)
        return;
    VEC_EACH(&r->rules, rule) {
        glob_match_free(rule->glob);
    }
    vec_release(&r->rules);
    free(r);
}

size_t ignore_rules_drops(const struct ignore_rules *r)
{
    return r->drops;
}

/* White space at the end does not count unless a backslash stands before it. */
static struct str rule_trim(struct str line)
{
    while (line.len && str_chr(STR(" \t\r\v\f"), line.ptr[line.len - 1]) < 5) {
        if (line.len > 1 && line.ptr[line.len - 2] == '\\')
            break;
        line.len--;
    }
    return line;
}

static void rule_add(struct ignore_rules *r, struct str line)
{
    struct ignore_rule rule = {0};

    line = rule_trim(line);
    if (!line.len || line.ptr[0] == '#')
        return;
    if (line.ptr[0] == '!') {
        rule.keeps = true;
        line = str_from(line, 1);
    }
    if (line.len > 1 && line.ptr[line.len - 1] == '/') {
        rule.dir_only = true;
        line.len--;
    }
    if (!line.len || glob_match_parse(line, &rule.glob, NULL) < 0)
        return;
    r->drops += !rule.keeps;
    vec_push(&r->rules, rule);
}

void ignore_rules_add(struct ignore_rules *r, struct str text)
{
    struct str line;

    if (str_starts(text, STR("\xef\xbb\xbf")))
        text = str_from(text, 3);
    while (str_cut(&text, '\n', &line))
        rule_add(r, line);
}

enum ignore_verdict ignore_rules_check(const struct ignore_rules *r, struct str path, bool is_dir)
{
    for (size_t i = r ? r->rules.len : 0; i > 0; i--) {
        const struct ignore_rule *rule = &r->rules.ptr[i - 1];

        if ((is_dir || !rule->dir_only) && glob_match_fits(rule->glob, path))
            return rule->keeps ? IGNORE_KEEP : IGNORE_DROP;
    }
    return IGNORE_SILENT;
}

/* --- reading --------------------------------------------------------------------------------- */

/* NULL when there is no such file, or nothing in it. */
static struct ignore_rules *rules_read(int dir_fd, const char *name)
{
    CLEANUP(fd_closep) int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    CLEANUP(buf_release) struct buf text = BUF_INIT(IGNORE_MAX_FILE);
    struct ignore_rules *r;

    if (fd < 0 || buf_add_fd(&text, fd, NULL) < 0 || !text.len)
        return NULL;
    r = ignore_rules_new();
    ignore_rules_add(r, buf_str(&text));
    return r;
}

/* First line of a small file, without its end. */
static char *line_read(int dir_fd, const char *name)
{
    CLEANUP(fd_closep) int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    CLEANUP(buf_release) struct buf text = BUF_INIT(PATH_MAX);
    struct str line;

    if (fd < 0 || buf_add_fd(&text, fd, NULL) < 0)
        return NULL;
    line = str_trim(str_first(buf_str(&text), str_chr(buf_str(&text), '\n')));
    return mem_dup(line.ptr ? line.ptr : "", line.len);
}

/* .git/info/exclude; in a linked worktree .git is a file that says where the real one is. */
static struct ignore_rules *exclude_read(int dir_fd, const char *dir)
{
    CLEANUP(mem_freep) char *pointer = line_read(dir_fd, ".git");
    CLEANUP(mem_freep) char *git_dir = NULL;
    CLEANUP(mem_freep) char *common_file = NULL;
    CLEANUP(mem_freep) char *common = NULL;
    CLEANUP(mem_freep) char *common_dir = NULL;
    CLEANUP(mem_freep) char *exclude = NULL;

    if (!pointer || !str_starts(str_of(pointer), STR("gitdir: ")))
        return rules_read(dir_fd, ".git/info/exclude");
    git_dir = path_join(dir, pointer + strlen("gitdir: "));
    common_file = path_join(git_dir, "commondir");
    common = line_read(AT_FDCWD, common_file);
    common_dir = path_join(git_dir, common ? common : ".");
    exclude = path_join(common_dir, "info/exclude");
    return rules_read(AT_FDCWD, exclude);
}

static struct ignore_level *level_add(struct ignore *ig, const struct ignore_level *above,
                                      const char *dir, int dir_fd, unsigned files)
{
    struct ignore_level *level = mem_zalloc(sizeof(*level));
    size_t len = strlen(dir);

    level->above = above;
    level->dir_len = len + (len && dir[len - 1] != '/');
    level->has_git = files & IGNORE_HAS_GIT;
    level->in_git = level->has_git || (above && above->in_git);
    if (files & IGNORE_HAS_RGIGNORE)
        level->from[FROM_RGIGNORE] = rules_read(dir_fd, ".rgignore");
    if (files & IGNORE_HAS_IGNORE)
        level->from[FROM_IGNORE] = rules_read(dir_fd, ".ignore");
    /* Also where no repository is known yet: the one who asks looks at in_git. */
    if (ig->git && files & IGNORE_HAS_GITIGNORE)
        level->from[FROM_GITIGNORE] = rules_read(dir_fd, ".gitignore");
    if (ig->git && files & IGNORE_HAS_GIT)
        level->from[FROM_EXCLUDE] = exclude_read(dir_fd, dir);

    lock_take(&ig->lock);
    level->older = ig->levels;
    ig->levels = level;
    lock_give(&ig->lock);
    return level;
}

unsigned ignore_file_flag(struct str name)
{
    if (!name.len || name.ptr[0] != '.')
        return 0;
    if (str_is(name, ".git"))
        return IGNORE_HAS_GIT;
    if (str_is(name, ".gitignore"))
        return IGNORE_HAS_GITIGNORE;
    if (str_is(name, ".ignore"))
        return IGNORE_HAS_IGNORE;
    return str_is(name, ".rgignore") ? IGNORE_HAS_RGIGNORE : 0;
}

const struct ignore_level *ignore_enter(struct ignore *ig, const struct ignore_level *above,
                                        int dir_fd, struct str path, unsigned files)
{
    CLEANUP(buf_release) struct buf dir = BUF_INIT(BUF_NO_LIMIT);

    if (!above)
        above = ig->above_root;
    if (!files)
        return above;
    buf_addf(&dir, "%s%.*s", ig->root, STR_ARG(path));
    return level_add(ig, above, buf_cstr(&dir), dir_fd, files);
}

/* The folders above the root, from "/" down. */
static void parents_enter(struct ignore *ig)
{
    static const char *const names[] = {".git", ".gitignore", ".ignore", ".rgignore"};

    for (size_t at = 0; at + 1 < ig->root_len; at += str_chr(str_of(ig->root + at + 1), '/') + 1) {
        CLEANUP(mem_freep) char *dir = mem_dup(ig->root, at ? at : 1);
        CLEANUP(fd_closep) int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        unsigned files = 0;

        for (size_t i = 0; fd >= 0 && i < ARRAY_LEN(names); i++) {
            if (faccessat(fd, names[i], F_OK, 0) == 0)
                files |= ignore_file_flag(str_of(names[i]));
        }
        if (files)
            ig->above_root = level_add(ig, ig->above_root, dir, fd, files);
    }
}

/* --- the user's own file --------------------------------------------------------------------- */

/* core.excludesFile of a git configuration, whatever section it stands in; yours to free. */
static char *excludes_named_in(const char *config)
{
    static const struct str key = STR_INIT("excludesfile");
    CLEANUP(buf_release) struct buf text = BUF_INIT(IGNORE_MAX_FILE);
    struct str rest, line;
    char *found = NULL;

    if (file_slurp(config, IGNORE_MAX_FILE, &text, NULL) < 0)
        return NULL;
    rest = buf_str(&text);
    while (str_cut(&rest, '\n', &line) && !found) {
        CLEANUP(mem_freep) char *value = NULL;

        line = str_trim(line);
        if (!str_eq_nocase(str_first(line, key.len), key))
            continue;
        line = str_trim(str_from(line, key.len));
        if (!line.len || line.ptr[0] != '=')
            continue;
        line = str_trim(str_from(line, 1));
        if (line.len > 1 && line.ptr[0] == '"' && line.ptr[line.len - 1] == '"')
            line = str_make(line.ptr + 1, line.len - 2);
        value = mem_dup(line.ptr, line.len);
        found = path_expand_home(value);
    }
    return found;
}

static struct ignore_rules *global_read(void)
{
    const char *xdg = getenv("XDG_CONFIG_HOME");
    CLEANUP(mem_freep)
    char *config_home = xdg && *xdg ? mem_dup(xdg, strlen(xdg)) : path_join(path_home(), ".config");
    CLEANUP(mem_freep) char *config = path_join(path_home(), ".gitconfig");
    CLEANUP(mem_freep) char *xdg_config = path_join(config_home, "git/config");
    CLEANUP(mem_freep) char *path = excludes_named_in(config);

    if (!path)
        path = excludes_named_in(xdg_config);
    if (!path)
        path = path_join(config_home, "git/ignore");
    return rules_read(AT_FDCWD, path);
}

/* --- a walk's view --------------------------------------------------------------------------- */

struct ignore *ignore_new(const char *root, bool git)
{
    struct ignore *ig = mem_zalloc(sizeof(*ig));
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_adds(&text, root);
    if (!str_ends(buf_str(&text), STR("/")))
        buf_addc(&text, '/');
    ig->root_len = text.len;
    ig->root = buf_take(&text);
    ig->git = git;
    lock_init(&ig->lock);
    if (git)
        ig->global = global_read();
    parents_enter(ig);
    return ig;
}

void ignore_free(struct ignore *ig)
{
    if (!ig)
        return;
    while (ig->levels) {
        struct ignore_level *level = ig->levels;

        ig->levels = level->older;
        for (size_t i = 0; i < SOURCES; i++)
            ignore_rules_free(level->from[i]);
        free(level);
    }
    ignore_rules_free(ig->global);
    lock_release(&ig->lock);
    free(ig->root);
    free(ig);
}

enum ignore_verdict ignore_check(const struct ignore *ig, const struct ignore_level *level,
                                 struct str path, bool is_dir)
{
    enum ignore_verdict by[SOURCES] = {IGNORE_SILENT};
    bool in_git = level && level->in_git;
    bool git_counts = in_git;
    char full_path[PATH_MAX];
    struct str full;

    if (!level && !ig->global)
        return IGNORE_SILENT;
    if (ig->root_len + path.len > sizeof(full_path))
        return IGNORE_SILENT; /* no system call would take it either */
    memcpy(full_path, ig->root, ig->root_len);
    memcpy(full_path + ig->root_len, path.ptr, path.len);
    full = str_make(full_path, ig->root_len + path.len);

    for (; level; level = level->above) {
        struct str below = str_from(full, level->dir_len);

        for (size_t i = 0; i < SOURCES; i++) {
            bool counts = i < FROM_GITIGNORE || git_counts;

            if (counts && by[i] == IGNORE_SILENT)
                by[i] = ignore_rules_check(level->from[i], below, is_dir);
        }
        git_counts = git_counts && !level->has_git;
    }
    for (size_t i = 0; i < SOURCES; i++) {
        if (by[i] != IGNORE_SILENT)
            return by[i];
    }
    return in_git ? ignore_rules_check(ig->global, path, is_dir) : IGNORE_SILENT;
}

/* By git's files in the folders above it. */
static bool drops_name(const struct ignore_level *level, struct str name, bool is_dir)
{
    bool in_git = true;

    for (; level && in_git; level = level->above) {
        if (level->dir_len >= name.len || !level->in_git)
            continue;
        for (size_t i = FROM_GITIGNORE; i < SOURCES; i++) {
            enum ignore_verdict v =
                ignore_rules_check(level->from[i], str_from(name, level->dir_len), is_dir);

            if (v != IGNORE_SILENT)
                return v == IGNORE_DROP;
        }
        in_git = !level->has_git;
    }
    return false;
}

bool ignore_drops_file(const char *path)
{
    struct ignore *ig = ignore_new(path, /*git=*/true); /* enters the folders above it */
    struct str rest = str_of(path);
    bool drops = false, is_git = false;
    size_t end = 0;

    /* What is in an ignored folder is ignored. */
    while (!drops && !is_git && end < rest.len) {
        struct str name = str_first(str_from(rest, end + 1), str_chr(str_from(rest, end + 1), '/'));

        end += 1 + name.len;
        is_git = str_is(name, ".git");
        drops = drops_name(ig->above_root, str_first(rest, end), /*is_dir=*/true) ||
                (end >= rest.len && drops_name(ig->above_root, rest, /*is_dir=*/false));
    }
    ignore_free(ig);
    return drops && !is_git;
}
