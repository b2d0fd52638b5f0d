/*
 * finder: the gate, the imports and the folders of rules. A file is known by device and inode, so
 * that links and cycles of imports need no thought; recursion is limited by the depth of imports
 * and of folders. Runs on the thread that builds the session, later on the agent's.
 */
#include "context/finder.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/path_glob.h"
#include "context/instruction_text.h"
#include "sync/cancel.h"

#define RULES_MAX_DEPTH 8

bool finder_is_below(struct str path, struct str folder)
{
    if (folder.len == 1) /* "/" */
        return true;
    return str_starts(path, folder) && (path.len == folder.len || path.ptr[folder.len] == '/');
}

void finder_release(struct finder *f)
{
    mem_freep(&f->checkout);
    strv_release(&f->allowed);
    vec_release(&f->rule_folders);
}

static bool globs_match(const struct strv *globs, const char *path)
{
    for (size_t i = 0; globs && i < globs->len; i++) {
        CLEANUP(mem_freep) char *glob = path_expand_home(globs->ptr[i]);

        if (path_glob_match(str_of(glob), str_of(path)))
            return true;
    }
    return false;
}

static bool finder_excludes(const struct finder *f, const struct candidate *c)
{
    if (c->kind == INSTRUCTION_MANAGED)
        return false;
    return globs_match(f->spec->excludes, c->path) ||
           (c->kind != INSTRUCTION_USER && globs_match(f->spec->project_excludes, c->path));
}

static bool finder_has(const struct instructions *in, const struct stat *st)
{
    VEC_EACH(&in->files, file) {
        if (file->dev == st->st_dev && file->ino == st->st_ino)
            return true;
    }
    return false;
}

/* Whether a project file may be read: it must really be where project files may be. One above the
 * checkout, which belongs to us, may be anywhere below its own folder. */
static bool finder_allows(const struct finder *f, const struct candidate *c)
{
    CLEANUP(mem_freep) char *real = realpath(c->path, NULL);
    CLEANUP(mem_freep) char *folder = path_dirname(c->path);
    CLEANUP(mem_freep) char *real_folder = realpath(folder, NULL);

    if (c->kind == INSTRUCTION_MANAGED || c->kind == INSTRUCTION_USER || !real)
        return true;
    for (size_t i = 0; i < f->allowed.len; i++)
        if (finder_is_below(str_of(real), str_of(f->allowed.ptr[i])))
            return true;
    return c->is_above && !c->importer && real_folder &&
           finder_is_below(str_of(real), str_of(real_folder));
}

static bool finder_denies(const struct finder *f, const char *path)
{
    CLEANUP(mem_freep) char *real = path_real(path);

    return path_veto_has(f->spec->veto, path) || path_veto_has(f->spec->veto, real);
}

/* Found while the session works, and the file, or its name, has come since it began. */
static bool finder_is_new(const struct finder *f, const struct stat *st)
{
    int64_t changed_ms = (int64_t)st->st_ctim.tv_sec * 1000 + st->st_ctim.tv_nsec / 1000000;

    return f->known && f->spec->since_ms && changed_ms > f->spec->since_ms;
}

static void finder_import(struct finder *f, const struct candidate *from, const char *import);

/* The part of the text that fits; the file that exceeds the total is cut, and the model and the
 * user are notified. */
static void finder_take_text(struct finder *f, const char *path, struct str text, struct buf *ret)
{
    size_t room = INSTRUCTIONS_MAX_TOTAL - f->found->bytes;
    struct str part = str_clip(text, room);

    buf_init(ret, BUF_NO_LIMIT);
    buf_add(ret, part);
    f->found->bytes += part.len;
    if (part.len == text.len)
        return;
    f->is_full = true;
    buf_addf(ret, "\n[cut: %zu of %zu bytes are shown; read the file for the rest]\n", part.len,
             text.len);
    strv_addf(&f->found->notices,
              "'%s': only %zu of its %zu bytes are used: instruction files are limited to %zu KB "
              "in all",
              path, part.len, text.len, INSTRUCTIONS_MAX_TOTAL >> 10);
}

/* A rule for later. Its paths are relative to the folder that has the .claude; a user's, to the
 * checkout. */
static void finder_keep_rule(struct finder *f, const struct candidate *c, const struct strv *paths)
{
    struct str base = str_of(f->checkout ? f->checkout : f->spec->dir);
    struct instruction_rule *rule = vec_add(&f->found->rules);

    if (c->kind != INSTRUCTION_USER)
        base = str_first(str_of(c->path), str_find(str_of(c->path), STR("/.claude/rules/")));
    *rule = (struct instruction_rule){
        .kind = c->kind,
        .path = mem_dup(c->path, strlen(c->path)),
    };
    for (size_t i = 0; i < paths->len; i++)
        strv_addf(&rule->globs, "%.*s%s%s", STR_ARG(base), paths->ptr[i][0] == '/' ? "" : "/",
                  paths->ptr[i]);
}

bool finder_add(struct finder *f, const struct candidate *c)
{
    CLEANUP(buf_release) struct buf raw = {0};
    CLEANUP(instruction_text_release) struct instruction_text text = {0};
    struct strv *notices = &f->found->notices;
    struct instruction *file;
    struct err err = {0};
    struct stat st;

    if (cancel_is_set(f->cancel) || finder_excludes(f, c))
        return false;
    if (stat(c->path, &st) < 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            strv_addf(notices, "cannot look at '%s': %s; left out", c->path, strerror(errno));
        return false;
    }
    if (finder_has(f->found, &st) || (f->known && finder_has(f->known, &st)))
        return true;
    if (!finder_allows(f, c)) {
        if (c->importer)
            strv_addf(notices, "'%s' imports '%s', which is outside of the project; left out",
                      c->importer, c->path);
        else
            strv_addf(notices, "'%s' leads out of the project; left out", c->path);
        return true;
    }
    if (finder_denies(f, c->path)) {
        strv_addf(notices, "'%s' is denied by a rule Read(…); left out", c->path);
        return true;
    }
    if (finder_is_new(f, &st)) {
        strv_addf(notices,
                  "'%s' has changed since the session began, perhaps by the model: it is no "
                  "instruction until the next session",
                  c->path);
        return true;
    }
    if (c->is_above && st.st_uid != geteuid() && st.st_uid != 0) {
        strv_addf(notices, "'%s' belongs to another user; left out", c->path);
        return true;
    }
    if (f->is_full || f->found->files.len == INSTRUCTIONS_MAX_FILES) {
        strv_addf(notices, "'%s': there are too many instruction files; left out", c->path);
        return true;
    }
    if (file_slurp(c->path, INSTRUCTIONS_MAX_FILE, &raw, &err) < 0) {
        strv_addf(notices, "%s; left out", err.text);
        return true;
    }
    if (str_chr(buf_str(&raw), '\0') < raw.len) {
        strv_addf(notices, "'%s' is not text; left out", c->path);
        return true;
    }
    instruction_text_read(&text, buf_str(&raw), c->is_rule);
    if (text.has_paths && !c->is_due) {
        finder_keep_rule(f, c, &text.paths);
        return true;
    }
    if (text.bad_bytes)
        strv_addf(notices, "'%s' is not valid UTF-8; %zu bytes were replaced", c->path,
                  text.bad_bytes);
    file = vec_add(&f->found->files);
    *file = (struct instruction){
        .kind = c->kind,
        .path = mem_dup(c->path, strlen(c->path)),
        .importer = c->importer ? mem_dup(c->importer, strlen(c->importer)) : NULL,
        .dev = st.st_dev,
        .ino = st.st_ino,
    };
    finder_take_text(f, c->path, buf_str(&text.text), &file->text);
    for (size_t i = 0; i < text.imports.len; i++)
        finder_import(f, c, text.imports.ptr[i]);
    return true;
}

/* Whether a word after an '@' is meant as a file: "@types/node" and "@alice" may be anything. */
static bool import_is_plain(const char *import)
{
    const char *dot = strrchr(path_base(import), '.');

    return strchr("./~", import[0]) || (dot && dot[1] && strlen(dot) <= 6);
}

static void finder_import(struct finder *f, const struct candidate *from, const char *import)
{
    CLEANUP(mem_freep) char *folder = path_dirname(from->path);
    CLEANUP(mem_freep)
    char *home_path = import[0] == '~' && import[1] == '/' && f->spec->user_home
                          ? path_join(f->spec->user_home, import + 2)
                          : NULL;
    CLEANUP(mem_freep) char *path = path_join(folder, home_path ? home_path : import);
    CLEANUP(mem_freep) char *real = realpath(path, NULL); /* without "..", for the model to read */
    struct candidate c = {
        .kind = from->kind,
        .path = real ? real : path,
        .importer = from->path,
        .depth = from->depth + 1,
        .is_above = from->is_above,
    };
    struct stat st;

    if (!import_is_plain(import) && (stat(path, &st) < 0 || !S_ISREG(st.st_mode)))
        return;
    if (c.depth > INSTRUCTIONS_MAX_DEPTH) {
        strv_addf(&f->found->notices, "'%s' is imported more than %d deep (by '%s'); left out",
                  path, INSTRUCTIONS_MAX_DEPTH, from->path);
        return;
    }
    if (!finder_add(f, &c) && !finder_excludes(f, &c) && !cancel_is_set(f->cancel) &&
        lstat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR))
        strv_addf(&f->found->notices, "'%s' imports '%s', which is not there", from->path, import);
}

bool finder_add_in(struct finder *f, struct candidate c, const char *folder, const char *name)
{
    CLEANUP(mem_freep) char *path = NULL;

    if (!folder)
        return false;
    path = path_join(folder, name);
    c.path = path;
    return finder_add(f, &c);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Every .md file of a rules folder and below, by name. Links to folders are followed, each once. */
static void finder_rules(struct finder *f, const char *folder, enum instruction_kind kind,
                         unsigned depth)
{
    CLEANUP(strv_release) struct strv names = STRV_INIT;
    struct stat st;
    DIR *d;

    if (depth > RULES_MAX_DEPTH || cancel_is_set(f->cancel) || stat(folder, &st) < 0 ||
        !S_ISDIR(st.st_mode))
        return;
    VEC_EACH(&f->rule_folders, seen) {
        if (seen->dev == st.st_dev && seen->ino == st.st_ino)
            return;
    }
    vec_push(&f->rule_folders, ((struct finder_folder){st.st_dev, st.st_ino}));
    d = opendir(folder);
    if (!d) {
        strv_addf(&f->found->notices, "cannot list '%s': %s; left out", folder, strerror(errno));
        return;
    }
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (e->d_name[0] == '.')
            continue;
        if (f->rule_entries++ == INSTRUCTIONS_MAX_RULES)
            strv_addf(&f->found->notices, "'%s' has too many entries; only %d are looked at",
                      folder, INSTRUCTIONS_MAX_RULES);
        if (f->rule_entries > INSTRUCTIONS_MAX_RULES)
            break;
        strv_adds(&names, e->d_name);
    }
    closedir(d);
    if (names.len)
        qsort(names.ptr, names.len, sizeof(*names.ptr), compare_names);
    for (size_t i = 0; i < names.len; i++) {
        CLEANUP(mem_freep) char *path = path_join(folder, names.ptr[i]);

        if (str_ends(str_of(path), STR(".md")) && !file_is_dir(path))
            finder_add(f, &(struct candidate){.kind = kind, .path = path, .is_rule = true});
        else
            finder_rules(f, path, kind, depth + 1);
    }
}

void finder_rules_of(struct finder *f, const char *folder, enum instruction_kind kind)
{
    CLEANUP(mem_freep) char *rules = path_join(folder, "rules");

    f->rule_entries = 0;
    finder_rules(f, rules, kind, 0);
}

/* The nearest folder at or above dir that has a .git; for a worktree its own. */
static char *finder_checkout(const char *dir)
{
    CLEANUP(mem_freep) char *at = mem_dup(dir, strlen(dir));

    for (;;) {
        CLEANUP(mem_freep) char *git = path_join(at, ".git");
        char *up;
        struct stat st;

        if (lstat(git, &st) == 0)
            return TAKE_PTR(at);
        if (strcmp(at, "/") == 0)
            return NULL;
        up = path_dirname(at);
        mem_freep(&at);
        at = up;
    }
}

static void finder_allow(struct finder *f, const char *folder)
{
    CLEANUP(mem_freep) char *real = folder ? realpath(folder, NULL) : NULL;

    if (real)
        strv_adds(&f->allowed, real);
}

void finder_init(struct finder *f)
{
    const struct strv *folders = f->spec->folders;

    f->checkout = finder_checkout(f->spec->dir);
    finder_allow(f, f->spec->dir);
    finder_allow(f, f->checkout);
    for (size_t i = 0; folders && i < folders->len; i++)
        finder_allow(f, folders->ptr[i]);
}
