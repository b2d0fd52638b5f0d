/*
 * shell_runner: wrappers are understood option by option, because an allow rule looks past them;
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

/* The options of one wrapper: those that stand alone, those followed by a value. */
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

#define SHELLS "sh bash zsh dash ksh mksh ash fish csh tcsh busybox"
/* Programs that run a text. */
#define TEXT_RUNNERS                                                                               \
    SHELLS " eval su watch ssh script trap alias flock env tmux screen parallel capsh"
/* Programs that run the words after them. */
#define RUNNERS                                                                                    \
    SHELLS                                                                                         \
    " eval sudo doas su env exec command builtin nohup setsid nice ionice chrt taskset time "      \
    "timeout stdbuf xargs parallel watch unshare strace ltrace valgrind script noglob trap "       \
    "systemd-run fakeroot unbuffer alias pkexec setpriv hyperfine npx pnpx bunx uvx dotenv "       \
    "cross-env concurrently watchexec nodemon toybox firejail bwrap proot torsocks torify "        \
    "proxychains proxychains4 linux32 linux64 i386 x86_64 eatmydata tini dumb-init xvfb-run "      \
    "rlwrap chronic entr numactl prlimit choom uclampset gdb capsh"
/* ... with a place, a file or a verb named before. */
#define FAR_RUNNERS                                                                                \
    "ssh chroot flock nsenter runuser gosu su-exec tmux screen perf setarch faketime sshpass"

struct str shell_base_name(struct str path)
{
    const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;

    return slash ? str_from(path, (size_t)(slash - path.ptr) + 1) : path;
}

struct str shell_part_program(const struct shell_part *p)
{
    return shell_base_name(shell_word_at(p, 0)->text);
}

bool shell_part_is_shell(const struct shell_part *p)
{
    return words_have(shell_part_program(p), SHELLS);
}

bool shell_part_runs_text(const struct shell_part *p)
{
    return words_have(shell_part_program(p), TEXT_RUNNERS);
}

/* Programs that run what follows some of their words. */
static const struct {
    const char *programs;
    const char *first; /* stands somewhere before; "": nothing has to */
    const char *verbs;
    size_t names; /* words that may be the program */
} verb_runners[] = {
    {"find fd fdfind", "", "-exec -execdir -ok -okdir -x -X --exec --exec-batch", 1},
    {"git", "bisect", "run", 1},
    {"git", "submodule", "foreach", 1},
    {"npm pnpm yarn bun", "", "exec x dlx", 1},
    {"uv poetry pipenv pdm rye hatch conda mamba pipx", "", "run", 1},
    {"bundle mise asdf", "", "exec x", 1},
    {"direnv", "", "exec", 2},
    {"docker podman nerdctl docker-compose kubectl oc", "", "exec run", 2},
    {"nix nix-shell", "", "-c --command --run", 1},
};

static size_t word_behind(const struct shell_part *p, size_t from, const char *words)
{
    for (size_t i = from; i < p->words.len; i++) {
        if (str_is_word_of(p->words.ptr[i].text, words))
            return i + 1;
    }
    return p->words.len;
}

size_t shell_part_runs_from(const struct shell_part *p, size_t *ret_names)
{
    struct str program = shell_part_program(p);

    *ret_names = words_have(program, FAR_RUNNERS) ? 2 : 1;
    /* "command -v" says where a program is. */
    if (str_is(program, "command") && str_is_word_of(shell_word_at(p, 1)->raw, "-v -V"))
        return p->words.len;
    if (*ret_names == 2 || words_have(program, RUNNERS) || str_starts(program, STR("ld-linux")) ||
        str_starts(program, STR("ld-musl")))
        return p->first + 1;
    for (size_t k = 0; k < ARRAY_LEN(verb_runners); k++) {
        size_t from = p->first + 1;

        if (!str_is_word_of(program, verb_runners[k].programs))
            continue;
        if (*verb_runners[k].first)
            from = word_behind(p, from, verb_runners[k].first);
        from = word_behind(p, from, verb_runners[k].verbs);
        *ret_names = verb_runners[k].names;
        if (from < p->words.len)
            return from;
    }
    return p->words.len;
}
