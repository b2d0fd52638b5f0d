/*
 * trial_read: two tables and PATH. Any thread.
 */
#include "guard/trial_read.h"

#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "guard/sandbox_state.h"
#include "guard/workspace.h"

static const char *const of_system[] = {
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/sys",
    "/boot",
    "/nix",
    "/gnu",
    "/snap",
    "/run/current-system",
    "/run/wrappers",
    "/run/opengl-driver",
    "/run/systemd/resolve",
    "/run/utmp",
    "/var/lib/dpkg",
    "/var/lib/apt",
    "/var/lib/rpm",
    "/var/lib/pacman",
    "/var/lib/snapd",
    "/var/lib/flatpak",
    "/var/cache/apt",
    "/var/cache/fontconfig",
    "/var/cache/man",
};

/* In the home directory: software, its settings, and packages that it has downloaded. */
static const char *const of_home[] = {
    /* git, editors' settings that tools follow */
    ".gitconfig",
    ".config/git",
    ".gitignore",
    ".gitignore_global",
    ".gitattributes",
    ".editorconfig",
    ".terminfo",
    ".inputrc",
    ".dircolors",
    ".bash_aliases",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshenv",
    ".zshrc",
    ".ripgreprc",
    ".config/ripgrep",
    ".config/fd",
    ".config/bat",
    ".jq",
    ".curlrc",
    ".wgetrc",
    ".screenrc",
    ".tmux.conf",
    ".vimrc",
    ".nanorc",
    ".lesskey",
    ".less",
    ".lesshst",
    ".gdbinit",
    ".config/gdb",
    ".indent.pro",
    ".clang-format",
    ".psqlrc",
    ".sqliterc",
    /* version managers */
    ".nvm",
    ".volta",
    ".fnm",
    ".local/share/fnm",
    ".asdf",
    ".asdfrc",
    ".tool-versions",
    ".local/share/mise",
    ".config/mise",
    ".pyenv",
    ".rbenv",
    ".rvm",
    ".nodenv",
    ".goenv",
    ".jenv",
    ".sdkman",
    ".local/share/rtx",
    ".proto",
    ".nix-profile",
    ".local/state/nix",
    ".linuxbrew",
    /* languages and their downloaded packages */
    ".cargo",
    ".rustup",
    ".rustfmt.toml",
    ".config/rustfmt",
    "go",
    ".config/go",
    ".npm",
    ".npmrc",
    ".npm-global",
    ".npm-packages",
    ".node_modules",
    ".node-gyp",
    ".yarn",
    ".yarnrc",
    ".yarnrc.yml",
    ".config/yarn",
    ".pnpmrc",
    ".config/pnpm",
    ".local/share/pnpm",
    ".bun",
    ".bunfig.toml",
    ".deno",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/pipx",
    ".local/share/uv",
    ".config/uv",
    ".local/share/virtualenvs",
    ".virtualenvs",
    ".config/pip",
    ".pip",
    ".pydistutils.cfg",
    ".pythonrc",
    ".pylintrc",
    ".config/pylintrc",
    ".flake8",
    ".config/flake8",
    ".config/black",
    ".config/ruff",
    ".config/pycodestyle",
    ".condarc",
    ".conda",
    "miniconda3",
    "anaconda3",
    "miniforge3",
    "mambaforge",
    "micromamba",
    ".gem",
    ".gemrc",
    ".bundle",
    ".irbrc",
    ".rspec",
    ".rubocop.yml",
    ".config/rubocop",
    ".local/share/gem",
    ".m2",
    ".mavenrc",
    ".gradle",
    ".ivy2",
    ".sbt",
    ".ant",
    ".konan",
    ".nuget",
    ".dotnet",
    ".composer",
    ".config/composer",
    ".ghcup",
    ".cabal",
    ".config/cabal",
    ".stack",
    ".opam",
    ".elan",
    ".mix",
    ".hex",
    ".julia",
    ".juliaup",
    ".luarocks",
    ".config/luarocks",
    ".cpan",
    ".perltidyrc",
    ".perlcriticrc",
    "perl5",
    ".R",
    ".Rprofile",
    ".zig",
    ".swiftpm",
    ".pub-cache",
    ".flutter",
    ".terraformrc",
    ".config/matplotlib",
    ".config/fontconfig",
    ".fonts",
    ".local/share/fonts",
    ".ccache",
    ".config/ccache",
    ".config/user-dirs.dirs",
};

static bool is_in(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    return strncmp(path, dir, len) == 0 && (path[len] == '/' || !path[len] || len == 1);
}

/* "/x/bin" belongs to software installed in /x, unless that is a home directory, or contains one.
 */
static void add_program_folder(const struct sandbox *s, struct str folder, struct strv *ret)
{
    CLEANUP(mem_freep) char *path = mem_dup(folder.ptr, folder.len);
    CLEANUP(mem_freep) char *above = path_dirname(path);
    const char *name = path_base(path);
    bool is_bin = strcmp(name, "bin") == 0 || strcmp(name, "sbin") == 0;

    if (path[0] != '/' || is_in(s->home, path))
        return;
    strv_adds(ret, is_bin && !is_in(s->home, above) && strcmp(above, "/home") != 0 ? above : path);
}

static const char *path_of(char *const *env)
{
    for (; *env; env++) {
        if (strncmp(*env, "PATH=", 5) == 0)
            return *env + 5;
    }
    return "";
}

/* Up to the folder with .git. */
static void add_repository(const char *folder, const char *home, struct strv *ret)
{
    CLEANUP(mem_freep) char *at = mem_dup(folder, strlen(folder));

    for (char *slash = strrchr(at, '/'); slash && slash != at; slash = strrchr(at, '/')) {
        CLEANUP(mem_freep) char *git = path_join(at, ".git");

        if (is_in(home, at)) /* a home directory may be a repository, too */
            return;
        if (file_exists(git)) {
            strv_adds(ret, at);
            return;
        }
        *slash = '\0';
    }
}

void trial_readable(struct sandbox *s, const struct strv *folders, struct strv *ret)
{
    struct str rest = str_of(path_of(workspace_environ(s->workspace)));
    struct str one;

    for (size_t i = 0; i < ARRAY_LEN(of_system); i++)
        strv_adds(ret, of_system[i]);
    for (size_t i = 0; i < ARRAY_LEN(of_home); i++)
        sandbox_add_if_there(ret, s->home, of_home[i]);
    while (str_cut(&rest, ':', &one)) {
        if (one.len)
            add_program_folder(s, one, ret);
    }
    for (size_t i = 0; i < folders->len; i++)
        add_repository(folders->ptr[i], s->home, ret);
}
