/*
 * protected: two lists, compared ignoring case, because some file systems do. Pure.
 */
#include "guard/protected.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"

/* All names in both begin with a dot. */
static const char *const folders[] = {
    ".git",  ".vscode",       ".idea", ".husky",  ".cargo",
    ".yarn", ".devcontainer", ".mvn",  ".claude", ".tenax",
};

static const char *const files[] = {
    ".gitconfig",
    ".gitmodules",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".profile",
    ".envrc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".mcp.json",
    ".claude.json",
    ".ripgreprc",
    ".pre-commit-config.yaml",
};

static bool is_one_of(struct str name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (str_eq_nocase(name, str_of(list[i])))
            return true;
    }
    return false;
}

bool protected_path(struct str path)
{
    struct str name = {0};
    struct str before;

    for (before = name; str_cut(&path, '/', &name); before = name) {
        struct str next = str_first(path, str_chr(path, '/'));

        if (str_eq_nocase(name, STR("git")) && str_eq_nocase(before, STR(".config")))
            return true;
        /* Checkouts used as working directories: .claude/worktrees/<name>/src/main.c */
        if ((str_eq_nocase(name, STR(".claude")) || str_eq_nocase(name, STR(".tenax"))) &&
            str_is(next, "worktrees") && next.len < path.len)
            continue;
        if (!str_starts(name, STR(".")))
            continue;
        if (is_one_of(name, folders, ARRAY_LEN(folders)))
            return true;
        if (!path.len && is_one_of(name, files, ARRAY_LEN(files)))
            return true;
    }
    return false;
}

/* In .git, and of each what may be deleted. */
static const struct {
    const char *name;
    bool is_folder, goes;
} git_data[] = {
    {"objects", true, false},     {"refs", true, true},
    {"logs", true, true},         {"HEAD", false, false},
    {"index", false, false},      {"packed-refs", false, false},
    {"ORIG_HEAD", false, true},   {"FETCH_HEAD", false, true},
    {"MERGE_HEAD", false, true},  {"MERGE_MODE", false, true},
    {"MERGE_MSG", false, true},   {"AUTO_MERGE", false, true},
    {"SQUASH_MSG", false, true},  {"CHERRY_PICK_HEAD", false, true},
    {"REVERT_HEAD", false, true}, {"COMMIT_EDITMSG", false, true},
};

bool protected_is_git_data(struct str path, bool goes)
{
    size_t at = str_find(path, STR("/.git/"));
    struct str rest = str_from(path, at < path.len ? at + strlen("/.git/") : at);
    struct str name;

    if (!rest.len || protected_path(str_first(path, at)))
        return false;
    if (str_starts(rest, STR("objects/info/"))) /* where to look for more objects */
        return false;
    str_cut(&rest, '/', &name);
    for (size_t i = 0; i < ARRAY_LEN(git_data); i++) {
        if (str_is(name, git_data[i].name) && (git_data[i].is_folder || !rest.len))
            return !goes || (git_data[i].goes && (rest.len || !git_data[i].is_folder));
    }
    return false;
}
