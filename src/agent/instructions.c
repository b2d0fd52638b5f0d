/*
 * instructions: where instruction files are and which of them count. The order of the header is the
 * order of the code in instructions_find(); instructions_add() is the one gate every file goes
 * through, found or imported. A few failed open() per folder: cheap enough to do again before every
 * turn. Runs on the thread that builds the session.
 */
#include "agent/instructions.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/instruction_text.h"
#include "base/err.h"
#include "base/file.h"
#include "sync/cancel.h"

#define RULES_MAX_DEPTH 8

struct file_id {
    uint64_t dev;
    uint64_t ino;
};

/* One search. */
struct search {
    const struct instructions_spec *spec;
    struct cancel *cancel;
    struct instructions *found;
    char *checkout;      /* the folder with .git, or NULL */
    struct strv allowed; /* real paths of the folders that project files may lead to */
    VEC(struct file_id) rule_folders;
    size_t rule_entries;
    bool is_full; /* the total is reached, and it was said */
};

/* A file on its way in. */
struct candidate {
    enum instruction_kind kind;
    const char *path;
    const char *importer; /* or NULL */
    unsigned depth;       /* of imports */
    bool is_rule;
    bool is_above; /* above the checkout: only ours */
};

static void search_release(struct search *s)
{
    mem_freep(&s->checkout);
    strv_release(&s->allowed);
    vec_release(&s->rule_folders);
}

void instructions_release(struct instructions *in)
{
    VEC_EACH(&in->files, file) {
        mem_freep(&file->path);
        mem_freep(&file->importer);
        buf_release(&file->text);
    }
    vec_release(&in->files);
    strv_release(&in->notices);
}

static bool path_is_below(struct str path, struct str folder)
{
    if (folder.len == 1) /* "/" */
        return true;
    return str_starts(path, folder) && (path.len == folder.len || path.ptr[folder.len] == '/');
}

/* A name and a glob without '/'. On a mismatch only the last '*' can help, by taking one more. */
static bool glob_name(struct str glob, struct str name)
{
    size_t g = 0;
    size_t n = 0;
    size_t star = glob.len + 1; /* where to go on behind the last '*', and with what */
    size_t mark = 0;

    while (n < name.len) {
        if (g < glob.len && glob.ptr[g] == '*') {
            star = ++g;
            mark = n;
        } else if (g < glob.len && (glob.ptr[g] == '?' || glob.ptr[g] == name.ptr[n])) {
            g++;
            n++;
        } else if (star <= glob.len) {
            g = star;
            n = ++mark;
        } else {
            return false;
        }
    }
    while (g < glob.len && glob.ptr[g] == '*')
        g++;
    return g == glob.len;
}

/* The same over names: `**` is the star, a name is the letter. */
bool instructions_glob(struct str glob, struct str path)
{
    struct str last_glob = {0};
    struct str last_path = {0};
    bool has_star = false;

    if (str_starts(glob, STR("/")))
        glob = str_from(glob, 1);
    else
        has_star = true;
    if (!glob.len)
        return false;
    path = str_from(path, 1);
    last_glob = glob;
    last_path = path;
    while (path.len) {
        struct str want = str_first(glob, str_chr(glob, '/'));
        struct str name = str_first(path, str_chr(path, '/'));

        if (str_is(want, "**")) {
            glob = str_from(glob, want.len + 1);
            has_star = true;
            last_glob = glob;
            last_path = path;
            if (!glob.len)
                return true;
        } else if (glob.len && glob_name(want, name)) {
            glob = str_from(glob, want.len + 1);
            path = str_from(path, name.len + 1);
        } else if (has_star) {
            last_path = str_from(last_path, str_chr(last_path, '/') + 1);
            path = last_path;
            glob = last_glob;
        } else {
            return false;
        }
    }
    return !glob.len || str_is(glob, "**");
}

static bool search_excludes(const struct search *s, const struct candidate *c)
{
    const struct strv *globs = s->spec->excludes;

    if (c->kind == INSTRUCTION_MANAGED || !globs)
        return false;
    for (size_t i = 0; i < globs->len; i++) {
        CLEANUP(mem_freep) char *glob = path_expand_home(globs->ptr[i]);

        if (instructions_glob(str_of(glob), str_of(c->path)))
            return true;
    }
    return false;
}

static bool search_has(const struct search *s, const struct stat *st)
{
    VEC_EACH(&s->found->files, file) {
        if (file->dev == st->st_dev && file->ino == st->st_ino)
            return true;
    }
    return false;
}

/* Whether a project file may be read: it really is where project files may be. */
static bool search_allows(const struct search *s, const struct candidate *c)
{
    CLEANUP(mem_freep) char *real = realpath(c->path, NULL);
    CLEANUP(mem_freep) char *folder = path_dirname(c->path);
    CLEANUP(mem_freep) char *real_folder = realpath(folder, NULL);

    if (c->kind == INSTRUCTION_MANAGED || c->kind == INSTRUCTION_USER || !real)
        return true;
    for (size_t i = 0; i < s->allowed.len; i++)
        if (path_is_below(str_of(real), str_of(s->allowed.ptr[i])))
            return true;
    return !c->importer && real_folder && path_is_below(str_of(real), str_of(real_folder));
}

static void search_import(struct search *s, const struct candidate *from, const char *import);

/* What fits of the text; the file that passes the total is cut, and both readers are told. */
static void search_take_text(struct search *s, const char *path, struct str text, struct buf *ret)
{
    size_t room = INSTRUCTIONS_MAX_TOTAL - s->found->bytes;
    struct str part = str_clip(text, room);

    buf_init(ret, BUF_NO_LIMIT);
    buf_add(ret, part);
    s->found->bytes += part.len;
    if (part.len == text.len)
        return;
    s->is_full = true;
    buf_addf(ret, "\n[cut: %zu of %zu bytes are shown; read the file for the rest]\n", part.len,
             text.len);
    strv_addf(&s->found->notices,
              "'%s': only %zu of its %zu bytes are used: instruction files are limited to %zu KB "
              "in all",
              path, part.len, text.len, INSTRUCTIONS_MAX_TOTAL >> 10);
}

/* Takes a file in, and then its imports. False when there is no such file. */
static bool search_add(struct search *s, const struct candidate *c)
{
    CLEANUP(buf_release) struct buf raw = {0};
    CLEANUP(instruction_text_release) struct instruction_text text = {0};
    struct strv *notices = &s->found->notices;
    struct instruction *file;
    struct err err = {0};
    struct stat st;

    if (cancel_is_set(s->cancel) || search_excludes(s, c))
        return false;
    if (stat(c->path, &st) < 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            strv_addf(notices, "cannot look at '%s': %s; left out", c->path, strerror(errno));
        return false;
    }
    if (search_has(s, &st))
        return true;
    if (!search_allows(s, c)) {
        if (c->importer)
            strv_addf(notices, "'%s' imports '%s', which is outside of the project; left out",
                      c->importer, c->path);
        else
            strv_addf(notices, "'%s' leads out of the project; left out", c->path);
        return true;
    }
    if (c->is_above && st.st_uid != geteuid() && st.st_uid != 0) {
        strv_addf(notices, "'%s' belongs to somebody else; left out", c->path);
        return true;
    }
    if (s->is_full || s->found->files.len == INSTRUCTIONS_MAX_FILES) {
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
    if (text.has_paths)
        return true;
    if (text.bad_bytes)
        strv_addf(notices, "'%s' is not valid UTF-8; %zu bytes were replaced", c->path,
                  text.bad_bytes);
    file = vec_add(&s->found->files);
    *file = (struct instruction){
        .kind = c->kind,
        .path = mem_dup(c->path, strlen(c->path)),
        .importer = c->importer ? mem_dup(c->importer, strlen(c->importer)) : NULL,
        .dev = st.st_dev,
        .ino = st.st_ino,
    };
    search_take_text(s, c->path, buf_str(&text.text), &file->text);
    for (size_t i = 0; i < text.imports.len; i++)
        search_import(s, c, text.imports.ptr[i]);
    return true;
}

/* Whether a word behind an '@' is meant as a file: "@types/node" and "@alice" may be anything. */
static bool import_is_plain(const char *import)
{
    const char *dot = strrchr(path_base(import), '.');

    return strchr("./~", import[0]) || (dot && dot[1] && strlen(dot) <= 6);
}

static void search_import(struct search *s, const struct candidate *from, const char *import)
{
    CLEANUP(mem_freep) char *folder = path_dirname(from->path);
    CLEANUP(mem_freep)
    char *home_path = import[0] == '~' && import[1] == '/' && s->spec->user_home
                          ? path_join(s->spec->user_home, import + 2)
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
        strv_addf(&s->found->notices, "'%s' is imported more than %d deep (by '%s'); left out",
                  path, INSTRUCTIONS_MAX_DEPTH, from->path);
        return;
    }
    if (!search_add(s, &c) && !search_excludes(s, &c) && !cancel_is_set(s->cancel) &&
        lstat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR))
        strv_addf(&s->found->notices, "'%s' imports '%s', which is not there", from->path, import);
}

/* folder/name, when there is such a folder. */
static bool search_add_in(struct search *s, struct candidate c, const char *folder,
                          const char *name)
{
    CLEANUP(mem_freep) char *path = NULL;

    if (!folder)
        return false;
    path = path_join(folder, name);
    c.path = path;
    return search_add(s, &c);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Every .md file of a rules folder and below, by name. Links to folders are followed, each once. */
static void search_rules(struct search *s, const char *folder, enum instruction_kind kind,
                         unsigned depth)
{
    CLEANUP(strv_release) struct strv names = STRV_INIT;
    struct stat st;
    DIR *d;

    if (depth > RULES_MAX_DEPTH || cancel_is_set(s->cancel) || stat(folder, &st) < 0 ||
        !S_ISDIR(st.st_mode))
        return;
    VEC_EACH(&s->rule_folders, seen) {
        if (seen->dev == st.st_dev && seen->ino == st.st_ino)
            return;
    }
    vec_push(&s->rule_folders, ((struct file_id){st.st_dev, st.st_ino}));
    d = opendir(folder);
    if (!d) {
        strv_addf(&s->found->notices, "cannot list '%s': %s; left out", folder, strerror(errno));
        return;
    }
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (e->d_name[0] == '.')
            continue;
        if (s->rule_entries++ == INSTRUCTIONS_MAX_RULES)
            strv_addf(&s->found->notices, "'%s' has too many entries; only %d are looked at",
                      folder, INSTRUCTIONS_MAX_RULES);
        if (s->rule_entries > INSTRUCTIONS_MAX_RULES)
            break;
        strv_adds(&names, e->d_name);
    }
    closedir(d);
    if (names.len)
        qsort(names.ptr, names.len, sizeof(*names.ptr), compare_names);
    for (size_t i = 0; i < names.len; i++) {
        CLEANUP(mem_freep) char *path = path_join(folder, names.ptr[i]);

        if (str_ends(str_of(path), STR(".md")) && !file_is_dir(path))
            search_add(s, &(struct candidate){.kind = kind, .path = path, .is_rule = true});
        else
            search_rules(s, path, kind, depth + 1);
    }
}

static void search_rules_of(struct search *s, const char *folder, enum instruction_kind kind)
{
    CLEANUP(mem_freep) char *rules = path_join(folder, "rules");

    s->rule_entries = 0;
    search_rules(s, rules, kind, 0);
}

static void search_managed(struct search *s)
{
    const char *etc = s->spec->etc ? s->spec->etc : "/etc";
    struct candidate managed = {.kind = INSTRUCTION_MANAGED};

    search_add_in(s, managed, etc, "claude-code/CLAUDE.md");
    if (!search_add_in(s, managed, etc, "tenax/CLAUDE.md"))
        search_add_in(s, managed, etc, "tenax/AGENTS.md");
}

static void search_user(struct search *s)
{
    struct candidate user = {.kind = INSTRUCTION_USER};
    bool found = search_add_in(s, user, s->spec->claude_home, "CLAUDE.md");

    found = search_add_in(s, user, s->spec->tenax_home, "CLAUDE.md") ||
            search_add_in(s, user, s->spec->tenax_home, "AGENTS.md") || found;
    if (!found)
        search_add_in(s, user, s->spec->codex_home, "AGENTS.md");
    if (s->spec->claude_home)
        search_rules_of(s, s->spec->claude_home, INSTRUCTION_USER);
}

/* One folder on the way down. */
static void search_folder(struct search *s, const char *folder)
{
    const struct instructions_spec *spec = s->spec;
    bool is_start = strcmp(folder, spec->dir) == 0;
    bool is_inside = s->checkout ? path_is_below(str_of(folder), str_of(s->checkout)) : is_start;
    struct candidate project = {.kind = INSTRUCTION_PROJECT, .is_above = !is_inside};
    struct candidate local = {.kind = INSTRUCTION_LOCAL, .is_above = !is_inside};

    if (!spec->no_project) {
        bool found = search_add_in(s, project, folder, "CLAUDE.md");

        if (spec->claude_home)
            found = search_add_in(s, project, folder, ".claude/CLAUDE.md") || found;
        if (!found && is_inside && !search_add_in(s, project, folder, "AGENTS.override.md"))
            search_add_in(s, project, folder, "AGENTS.md");
    }
    if (!spec->no_local)
        search_add_in(s, local, folder, "CLAUDE.local.md");
}

/* Calls for "/", "/a", "/a/b"; from: only folders at or below it. */
static void search_each_folder(struct search *s, const char *from,
                               void (*fn)(struct search *s, const char *folder))
{
    struct str dir = str_of(s->spec->dir);

    for (size_t at = 1; at <= dir.len;) {
        CLEANUP(mem_freep) char *folder = mem_dup(dir.ptr, at);

        if (path_is_below(str_of(folder), str_of(from)))
            fn(s, folder);
        if (at == dir.len)
            return;
        at += at > 1; /* over the '/' */
        at += str_chr(str_from(dir, at), '/');
    }
}

static void search_folder_rules(struct search *s, const char *folder)
{
    CLEANUP(mem_freep) char *dot_claude = path_join(folder, ".claude");

    search_rules_of(s, dot_claude, INSTRUCTION_PROJECT);
}

/* The nearest folder at or above dir that has a .git; for a worktree its own. */
static char *search_checkout(const char *dir)
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

static void search_allow(struct search *s, const char *folder)
{
    CLEANUP(mem_freep) char *real = folder ? realpath(folder, NULL) : NULL;

    if (real)
        strv_adds(&s->allowed, real);
}

int instructions_find(const struct instructions_spec *spec, struct cancel *cancel,
                      struct instructions *ret, struct err *err)
{
    CLEANUP(instructions_release) struct instructions found = {0};
    CLEANUP(search_release) struct search s = {.spec = spec, .cancel = cancel, .found = &found};

    s.checkout = search_checkout(spec->dir);
    search_allow(&s, spec->dir);
    search_allow(&s, s.checkout);
    for (size_t i = 0; spec->folders && i < spec->folders->len; i++)
        search_allow(&s, spec->folders->ptr[i]);

    search_managed(&s);
    if (!spec->no_user)
        search_user(&s);
    search_each_folder(&s, "/", search_folder);
    if (!spec->no_project && spec->claude_home)
        search_each_folder(&s, s.checkout ? s.checkout : spec->dir, search_folder_rules);
    if (cancel_check(cancel, err) < 0)
        return -1;
    *ret = found;
    found = (struct instructions){0};
    return 0;
}

static void instruction_write(const struct instruction *file, struct buf *ret)
{
    static const char *const kinds[] = {
        [INSTRUCTION_MANAGED] = "set by the administrator, for everyone on this machine",
        [INSTRUCTION_USER] = "the user's own, for all projects",
        [INSTRUCTION_PROJECT] = "of this project, for everyone who works on it",
        [INSTRUCTION_LOCAL] = "the user's own, for this project",
    };

    buf_addf(ret, "\n\n## %s (%s", file->path, kinds[file->kind]);
    if (file->importer)
        buf_addf(ret, "; imported by %s", file->importer);
    buf_adds(ret, ")\n\n");
    buf_add(ret, str_trim(buf_str(&file->text)));
}

void instructions_write(const struct instructions *in, struct buf *ret)
{
    if (!in->files.len)
        return;
    buf_adds(ret, "Instruction files, from the general to the particular. Follow them exactly; "
                  "where two disagree, the later one counts.");
    VEC_EACH(&in->files, file) {
        instruction_write(file, ret);
    }
}

static const struct instruction *instructions_at(const struct instructions *in, const char *path)
{
    VEC_EACH(&in->files, file) {
        if (strcmp(file->path, path) == 0)
            return file;
    }
    return NULL;
}

void instructions_write_news(const struct instructions *before, const struct instructions *now,
                             struct buf *ret)
{
    CLEANUP(buf_release) struct buf news = BUF_INIT(BUF_NO_LIMIT);

    VEC_EACH(&now->files, file) {
        const struct instruction *old = instructions_at(before, file->path);

        if (!old || !str_eq(buf_str(&old->text), buf_str(&file->text)))
            instruction_write(file, &news);
    }
    VEC_EACH(&before->files, file) {
        if (!instructions_at(now, file->path))
            buf_addf(&news, "\n\n## %s\n\nNo longer applies.", file->path);
    }
    if (news.len)
        buf_addf(ret, "Instruction files have changed; from now on this holds:%s", buf_cstr(&news));
}
