/*
 * instructions: which files, in which order, and how they are shown. The order of the header is the
 * order of the calls in instructions_find(); finder.c decides on each single file. A few failed
 * stat() per folder: cheap enough to do again before every turn. Runs on the thread that builds the
 * session, later on the agent's.
 */
#include "context/instructions.h"

#include "base/file.h"
#include "base/path_glob.h"
#include "context/finder.h"
#include "sync/cancel.h"

void instructions_release(struct instructions *in)
{
    VEC_EACH(&in->files, file) {
        mem_freep(&file->path);
        mem_freep(&file->importer);
        buf_release(&file->text);
    }
    vec_release(&in->files);
    VEC_EACH(&in->rules, rule) {
        mem_freep(&rule->path);
        strv_release(&rule->globs);
    }
    vec_release(&in->rules);
    strv_release(&in->looked);
    strv_release(&in->notices);
}

static void find_managed(struct finder *f)
{
    const char *etc = f->spec->etc ? f->spec->etc : "/etc";
    struct candidate managed = {.kind = INSTRUCTION_MANAGED};

    finder_add_in(f, managed, etc, "claude-code/CLAUDE.md");
    if (!finder_add_in(f, managed, etc, "tenax/CLAUDE.md"))
        finder_add_in(f, managed, etc, "tenax/AGENTS.md");
}

static void find_user(struct finder *f)
{
    struct candidate user = {.kind = INSTRUCTION_USER};
    bool found = finder_add_in(f, user, f->spec->claude_home, "CLAUDE.md");

    found = finder_add_in(f, user, f->spec->tenax_home, "CLAUDE.md") ||
            finder_add_in(f, user, f->spec->tenax_home, "AGENTS.md") || found;
    if (!found)
        finder_add_in(f, user, f->spec->codex_home, "AGENTS.md");
    if (f->spec->claude_home)
        finder_rules_of(f, f->spec->claude_home, INSTRUCTION_USER);
}

/* One folder on the way down. */
static void find_folder(struct finder *f, const char *folder)
{
    const struct instructions_spec *spec = f->spec;
    const char *project_root = f->checkout ? f->checkout : spec->dir;
    bool is_inside = finder_is_below(str_of(folder), str_of(project_root));
    struct candidate project = {.kind = INSTRUCTION_PROJECT, .is_above = !is_inside};
    struct candidate local = {.kind = INSTRUCTION_LOCAL, .is_above = !is_inside};

    if (!spec->no_project) {
        bool found = finder_add_in(f, project, folder, "CLAUDE.md");

        if (spec->claude_home)
            found = finder_add_in(f, project, folder, ".claude/CLAUDE.md") || found;
        if (!found && is_inside && !finder_add_in(f, project, folder, "AGENTS.override.md"))
            finder_add_in(f, project, folder, "AGENTS.md");
    }
    if (!spec->no_local)
        finder_add_in(f, local, folder, "CLAUDE.local.md");
}

/* Calls for "/", "/a", "/a/b" on the way to `to`, those at or below `from`. */
static void find_each_folder(struct finder *f, const char *from, const char *to,
                             void (*fn)(struct finder *f, const char *folder))
{
    struct str dir = str_of(to);

    for (size_t at = 1; at <= dir.len;) {
        CLEANUP(mem_freep) char *folder = mem_dup(dir.ptr, at);

        if (finder_is_below(str_of(folder), str_of(from)))
            fn(f, folder);
        if (at == dir.len)
            return;
        at += at > 1; /* over the '/' */
        at += str_chr(str_from(dir, at), '/');
    }
}

static void find_folder_rules(struct finder *f, const char *folder)
{
    CLEANUP(mem_freep) char *dot_claude = path_join(folder, ".claude");

    finder_rules_of(f, dot_claude, INSTRUCTION_PROJECT);
}

int instructions_find(const struct instructions_spec *spec, struct cancel *cancel,
                      struct instructions *ret, struct err *err)
{
    CLEANUP(instructions_release) struct instructions found = {0};
    CLEANUP(finder_release) struct finder f = {.spec = spec, .cancel = cancel, .found = &found};

    finder_init(&f);
    find_managed(&f);
    if (!spec->no_user)
        find_user(&f);
    find_each_folder(&f, "/", spec->dir, find_folder);
    if (!spec->no_project && spec->claude_home)
        find_each_folder(&f, f.checkout ? f.checkout : spec->dir, spec->dir, find_folder_rules);
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

/* Instructions of an installed package address its developers, not its users. */
static bool path_is_foreign(struct str path)
{
    return str_has(path, STR("/.")) || str_has(path, STR("/node_modules"));
}

/* A folder below the start directory, the first time something in it is read. */
static void find_nested(struct finder *f, const char *folder)
{
    if (strcmp(folder, f->spec->dir) == 0 || strv_has(&f->found->looked, str_of(folder)) ||
        path_is_foreign(str_from(str_of(folder), strlen(f->spec->dir))))
        return;
    strv_adds(&f->found->looked, folder);
    find_folder(f, folder);
    if (!f->spec->no_project && f->spec->claude_home)
        find_folder_rules(f, folder);
}

static bool rule_is_about(const struct instruction_rule *rule, const char *path)
{
    for (size_t i = 0; i < rule->globs.len; i++)
        if (path_glob_match(str_of(rule->globs.ptr[i]), str_of(path)))
            return true;
    return false;
}

static void find_due_rules(struct finder *f, const struct instructions *in, const char *path)
{
    for (size_t i = 0; i < in->rules.len; i++) {
        const struct instruction_rule *rule = &in->rules.ptr[i];
        struct candidate due = {
            .kind = rule->kind, .path = rule->path, .is_rule = true, .is_due = true};

        if (rule_is_about(rule, path))
            finder_add(f, &due);
    }
}

int instructions_near(const struct instructions_spec *spec, const struct instructions *known,
                      const char *path, struct cancel *cancel, struct instructions *io,
                      struct buf *ret, struct err *err)
{
    CLEANUP(finder_release)
    struct finder f = {.spec = spec, .cancel = cancel, .found = io, .known = known};
    CLEANUP(mem_freep) char *folder = path_dirname(path);
    size_t before = io->files.len;

    finder_init(&f);
    f.is_full = io->bytes + 4 > INSTRUCTIONS_MAX_TOTAL; /* it was cut at a character */
    find_each_folder(&f, spec->dir, folder, find_nested);
    find_due_rules(&f, known, path);
    find_due_rules(&f, io, path);
    if (cancel_check(cancel, err) < 0)
        return -1;
    if (io->files.len > before)
        buf_adds(ret, "Instruction files for what you have just read. Follow them there.");
    for (size_t i = before; i < io->files.len; i++)
        instruction_write(&io->files.ptr[i], ret);
    return 0;
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
