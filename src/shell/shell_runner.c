/*
 * shell_runner: wrappers are understood option by option, because an allow rule looks behind them;
 * all others that run their words are only known by name, for rules that forbid. Pure; any thread.
 */
#include "shell/shell_runner.h"

#include <string.h>

#include "base/mem.h"
#include "base/words.h"
#include "shell/shell.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "5", "1.5s", "10m" */
static bool is_duration(struct str s)
{
    if (s.len && strchr("smhd", s.ptr[s.len - 1]))
        s.len--;
    if (!s.len || !is_digit(s.ptr[0]))
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (!is_digit(s.ptr[i]) && s.ptr[i] != '.')
            return false;
    }
    return true;
}

/* "-5", "+10" */
static bool is_number(struct str s)
{
    if (s.len && (s.ptr[0] == '-' || s.ptr[0] == '+'))
        s = str_from(s, 1);
    for (size_t i = 0; i < s.len; i++) {
        if (!is_digit(s.ptr[i]))
            return false;
    }
    return s.len;
}

/* The options of one wrapper: those that stand alone, those with a value behind them. */
struct wrapper {
    struct str name;
    const char *alone;  /* "--foreground -v"; "--signal=" takes what follows the sign */
    const char *valued; /* "-k -s" */
    bool duration;      /* a duration stands before the command */
};

static const struct wrapper wrappers[] = {
    {STR_INIT("timeout"),
     "--foreground --preserve-status -v --verbose --kill-after= --signal=", "-k -s", true},
    {STR_INIT("time"), "-p", "", false},
    {STR_INIT("nice"), "--adjustment=", "-n", false},
    {STR_INIT("nohup"), "", "", false},
    {STR_INIT("stdbuf"), "-i0 -iL -o0 -oL -e0 -eL --input= --output= --error=", "-i -o -e", false},
    {STR_INIT("command"), "", "", false},
    {STR_INIT("builtin"), "", "", false},
    {STR_INIT("noglob"), "", "", false},
    {STR_INIT("xargs"), "", "", false},
};

static bool wrapper_takes(const char *list, struct str option)
{
    size_t equals = str_chr(option, '=');

    return str_is_word_of(option, list) ||
           (equals < option.len && str_is_word_of(str_first(option, equals + 1), list));
}

static const struct wrapper *wrapper_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(wrappers); i++) {
        if (str_eq(name, wrappers[i].name))
            return &wrappers[i];
    }
    return NULL;
}

size_t shell_wrapper_len(const struct shell_part *p, size_t from)
{
    const struct wrapper *wrapper;
    size_t i = from;

    if (from >= p->words.len)
        return 0;
    wrapper = wrapper_find(p->words.ptr[from].raw);
    if (!wrapper)
        return 0;
    for (i++; i < p->words.len; i++) {
        struct str word = p->words.ptr[i].raw;

        if (!str_starts(word, STR("-")))
            break;
        if (p->words.ptr[i].expands || p->words.ptr[i].globs)
            return 0;
        if (str_is_word_of(word, wrapper->valued)) {
            i++;
            if (i < p->words.len && (p->words.ptr[i].expands || p->words.ptr[i].globs))
                return 0;
        } else if (!wrapper_takes(wrapper->alone, word) &&
                   !(str_is(wrapper->name, "nice") && is_number(word))) {
            return 0;
        }
    }
    if (wrapper->duration) {
        if (i >= p->words.len || !is_duration(p->words.ptr[i].raw))
            return 0;
        i++;
    }
    return i < p->words.len ? i - from : 0;
}

#define SAFE_VARIABLES                                                                             \
    "IFS LANG LANGUAGE LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_NUMERIC LC_TIME TZ TERM COLUMNS " \
    "LINES NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLORTERM CI NODE_ENV DEBUG "              \
    "RUST_BACKTRACE RUST_LOG CARGO_TERM_COLOR GOOS GOARCH CGO_ENABLED GO111MODULE "                \
    "PYTHONUNBUFFERED "                                                                            \
    "PYTHONDONTWRITEBYTECODE PYTHONHASHSEED"

bool shell_is_safe_assignment(const struct shell_word *w)
{
    size_t n = shell_assignment_len(w->raw);

    return n > 1 && !w->expands && w->raw.ptr[n - 2] != '+' &&
           words_have(str_first(w->raw, n - 1), SAFE_VARIABLES);
}

/* xargs with options that only say how it reads. A rule that allows a command means it with bare
 * xargs alone, so this is no wrapper. */
static size_t feeder_len(const struct shell_part *p, size_t from)
{
    size_t i = from + 1;

    if (from >= p->words.len || !str_is(p->words.ptr[from].raw, "xargs"))
        return 0;
    while (i < p->words.len &&
           str_is_word_of(p->words.ptr[i].raw, "-0 --null -r --no-run-if-empty"))
        i++;
    return i < p->words.len && !str_starts(p->words.ptr[i].raw, STR("-")) ? i - from : 0;
}

bool shell_part_unwrap(const struct shell_part *p, struct shell_part *ret, bool *ret_fed)
{
    *ret = *p;
    *ret_fed = false;
    for (size_t i = 0; i < p->first; i++) {
        if (!shell_is_safe_assignment(&p->words.ptr[i]))
            return false;
    }
    for (;;) {
        size_t n = shell_wrapper_len(ret, ret->first);

        if (!n)
            n = feeder_len(ret, ret->first);
        if (!n)
            return ret->first < ret->words.len;
        *ret_fed |= str_is(ret->words.ptr[ret->first].raw, "xargs");
        ret->first += n;
    }
}

bool shell_part_is(const struct shell_part *p, const char *name)
{
    struct shell_part bare;
    bool fed;

    return shell_part_unwrap(p, &bare, &fed) && str_is(shell_word_at(&bare, 0)->text, name);
}

#define SHELLS                                                                                     \
    "sh bash zsh dash ksh mksh ash rbash fish csh tcsh eval source . busybox toybox pwsh nu "      \
    "elvish "                                                                                      \
    "xonsh yash newgrp"
/* Programs that run what follows them. */
#define RUNNERS                                                                                    \
    SHELLS                                                                                         \
    " sudo doas su env exec command builtin nohup setsid nice ionice chrt taskset time "           \
    "timeout stdbuf xargs parallel watch flock chroot unshare nsenter strace ltrace gdb "          \
    "valgrind script ssh noglob nocorrect trap coproc find fd fdfind firejail bwrap "              \
    "systemd-run runuser setarch linux32 linux64 entr faketime fakeroot unbuffer rlwrap "          \
    "chronic alias sg pkexec run0 setpriv capsh prlimit cgexec dbus-run-session "                  \
    "xvfb-run perf hyperfine tmux screen at batch crontab start-stop-daemon daemonize "            \
    "ssh-agent npx pnpx bunx uvx pipx choom uclampset numactl cpulimit schedtool chpst "           \
    "gosu su-exec proot torsocks tsocks proxychains proxychains4 eatmydata dbus-launch "           \
    "systemd-inhibit dotenv dotenvx cross-env cross-env-shell concurrently watchexec nodemon "     \
    "xterm gnome-terminal konsole alacritty kitty mosh envdir catchsegv ld.so"
/* Programs that are given texts in a language of their own, which can run others. */
#define LANGUAGES                                                                                  \
    "python pypy perl ruby node nodejs deno bun php lua luajit tclsh expect awk gawk mawk nawk "   \
    "sed gsed vi vim nvim view ex ed emacs gdb m4 R Rscript julia osascript tcpdump socat nc "     \
    "ncat sqlite3 psql mysql dc ghc sftp ftp"
/* Options whose value is run, whosever they are. */
#define RUN_OPTIONS                                                                                \
    "--exec --exec-path --upload-pack --receive-pack --extcmd --open-files-in-pager --to-command " \
    "--checkpoint-action --use-compress-program --rsh --rsync-path --pager --info-script "         \
    "--new-volume-script --rmt-command --rsh-command --compress-program --pre --hostname-bin "     \
    "--use-askpass --eval --filter --config-env --run --command --shell --editor --browser "       \
    "--preprocessor --unzip-command --split-string --tree-filter --index-filter --msg-filter "     \
    "--env-filter --commit-filter --parent-filter --tag-name-filter --script-shell --preview "     \
    "--bind --to-cmd --cc-cmd --sendmail-cmd --entrypoint --prepare --setup --cleanup"

struct str shell_base_name(struct str path)
{
    const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;

    return slash ? str_from(path, (size_t)(slash - path.ptr) + 1) : path;
}

struct str shell_part_program(const struct shell_part *p)
{
    return shell_base_name(shell_word_at(p, 0)->text);
}

bool shell_name_is_shell(struct str name)
{
    return words_have(name, SHELLS);
}

bool shell_part_is_shell(const struct shell_part *p)
{
    return shell_name_is_shell(shell_part_program(p));
}

bool shell_part_is_runner(const struct shell_part *p)
{
    return words_have(shell_part_program(p), RUNNERS);
}

/* Programs that run what follows some of their words. */
static struct {
    struct words programs;
    const char *first; /* stands somewhere before; "": nothing has to */
    const char *words;
} verb_runners[] = {
    {WORDS_INIT("git"), "bisect", "run"},
    {WORDS_INIT("git"), "submodule", "foreach"},
    {WORDS_INIT("npm pnpm yarn bun"), "", "exec x dlx"},
    {WORDS_INIT("uv uvx poetry pipenv pdm rye hatch conda mamba micromamba"), "", "run"},
    {WORDS_INIT("bundle direnv mise asdf rbenv pyenv devbox aws-vault chamber ip"), "", "exec x"},
    {WORDS_INIT("op doppler infisical zellij"), "", "run"},
    {WORDS_INIT("cargo"), "watch", "-s -x"},
    {WORDS_INIT("docker podman nerdctl docker-compose podman-compose"), "", "exec run"},
    {WORDS_INIT("kubectl oc"), "", "exec run debug"},
    {WORDS_INIT("lxc incus flatpak toolbox distrobox"), "", "exec run enter"},
    {WORDS_INIT("nix nix-shell"), "", "-c --command --run"},
};

static size_t word_behind(const struct shell_part *p, size_t from, const char *words)
{
    for (size_t i = from; i < p->words.len; i++) {
        if (str_is_word_of(p->words.ptr[i].text, words))
            return i + 1;
    }
    return p->words.len;
}

static size_t verb_runs_from(const struct shell_part *p)
{
    struct str program = shell_part_program(p);
    size_t least = p->words.len;

    for (size_t k = 0; k < ARRAY_LEN(verb_runners); k++) {
        size_t from = p->first + 1;

        if (!words_ask(&verb_runners[k].programs, program))
            continue;
        if (*verb_runners[k].first)
            from = word_behind(p, from, verb_runners[k].first);
        from = word_behind(p, from, verb_runners[k].words);
        least = from < least ? from : least;
    }
    return least;
}

#define FIND_RUNS "-exec -execdir -ok -okdir -x -X --exec --exec-batch"

size_t shell_part_runs_from(const struct shell_part *p)
{
    size_t i = p->first + 1;

    if (!shell_part_is_runner(p))
        return verb_runs_from(p);
    /* Says where a program is. */
    if (str_is(shell_part_program(p), "command") &&
        (str_is(shell_word_at(p, 1)->raw, "-v") || str_is(shell_word_at(p, 1)->raw, "-V")))
        return p->words.len;
    if (!words_have(shell_part_program(p), "find fd fdfind"))
        return i;
    while (i < p->words.len && !words_have(p->words.ptr[i].text, FIND_RUNS) &&
           !p->words.ptr[i].expands && !p->words.ptr[i].globs)
        i++;
    return i;
}

/* python3.11 is python. */
static struct str without_version(struct str name)
{
    while (name.len && (is_digit(name.ptr[name.len - 1]) || name.ptr[name.len - 1] == '.'))
        name.len--;
    return name;
}

bool shell_part_is_language(const struct shell_part *p)
{
    struct str name = shell_part_program(p);

    return words_have(name, LANGUAGES) || words_have(without_version(name), LANGUAGES);
}

/* Programs with short options, or other words, that name what is run. */
static struct {
    struct words programs;
    const char *valued; /* the word behind these */
    const char *starts; /* a word that starts so */
    bool settings;      /* NAME=value: the value */
} option_runners[] = {
    {WORDS_INIT("env"), "-S -iS -vS -ivS -viS", "", false},
    {WORDS_INIT("git"), "-c -x -O", "ext::", false},
    {WORDS_INIT("git"), "", "!", false}, /* what an alias or a helper is set to */
    {WORDS_INIT("tar bsdtar"), "-I -F", "", false},
    {WORDS_INIT("rsync"), "-e", "", false},
    {WORDS_INIT("ssh scp sftp sshfs"), "-o -S -J -F", "", false},
    {WORDS_INIT("man"), "-P -H", "", false},
    {WORDS_INIT("less more most view vim vi nvim"), "-k -c", "+", false},
    {WORDS_INIT("make gmake ninja"), "-f -C -E", "", true},
    {WORDS_INIT("gcc g++ cc c++"), "-wrapper", "", false},
    {WORDS_INIT("apt apt-get"), "-o", "", false},
    {WORDS_INIT("zip"), "-TT", "", false},
    {WORDS_INIT("npm pnpm yarn npx bunx"), "-c", "", false},
};

/* "-eCOMMAND" */
static struct str glued_value(struct str text, const char *options)
{
    struct str rest = str_of(options);
    struct str one;

    while (str_cut(&rest, ' ', &one)) {
        if (one.len && text.len > one.len && str_starts(text, one) && text.ptr[1] != '-')
            return str_from(text, one.len);
    }
    return (struct str){"", 0};
}

/* "-ave": the last of them has its value in the next word. */
static bool ends_in_option(struct str cluster, const char *options)
{
    struct str rest = str_of(options);
    struct str one;

    if (cluster.len < 3 || cluster.ptr[0] != '-' || cluster.ptr[1] == '-')
        return false;
    while (str_cut(&rest, ' ', &one)) {
        if (one.len == 2 && cluster.ptr[cluster.len - 1] == one.ptr[1])
            return true;
    }
    return false;
}

/* Also when it is cut short, as many programs take it: --use-compress. */
static bool is_run_option(struct str option)
{
    struct str rest = STR(RUN_OPTIONS);
    struct str one;

    if (option.len < 5 || !str_starts(option, STR("--")))
        return false;
    while (str_cut(&rest, ' ', &one)) {
        if (str_starts(one, option))
            return true;
    }
    return false;
}

_Static_assert(ARRAY_LEN(option_runners) <= 32, "a bit for each");

struct shell_runner shell_part_runner(const struct shell_part *p)
{
    struct str program = shell_part_program(p);
    struct shell_runner runner = {.language = shell_part_is_language(p)};

    for (size_t k = 0; k < ARRAY_LEN(option_runners); k++)
        runner.options |= (unsigned)words_ask(&option_runners[k].programs, program) << k;
    return runner;
}

struct str shell_part_runs_word(const struct shell_part *p, size_t i, struct shell_runner runner)
{
    struct str text = p->words.ptr[i].text;
    struct str before = i > p->first + 1 ? p->words.ptr[i - 1].text : STR("");
    size_t equals = str_chr(text, '=');

    if (runner.language || is_run_option(before))
        return text;
    if (equals < text.len && is_run_option(str_first(text, equals)))
        return str_from(text, equals + 1);
    for (size_t k = 0; runner.options >> k; k++) {
        struct str start = str_of(option_runners[k].starts);

        if (!(runner.options >> k & 1))
            continue;
        if (str_is_word_of(before, option_runners[k].valued) ||
            ends_in_option(before, option_runners[k].valued) ||
            (start.len && str_starts(text, start)))
            return text;
        if (option_runners[k].settings && equals < text.len)
            return str_from(text, equals + 1);
        if (glued_value(text, option_runners[k].valued).len)
            return glued_value(text, option_runners[k].valued);
    }
    return (struct str){"", 0};
}
