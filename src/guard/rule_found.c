/*
 * rule_found: finds every command in a text, for deny and ask rules.
 *
 * Besides the commands run by the shell itself these are the ones after sudo, env, find -exec and
 * similar, those in the text of sh -c and in a shell's input, and those that a variable of the same
 * text may name. A rule is compared with each of them, so that words that are only data match none.
 * Commands composed by a program itself are not found: the sandbox handles these. Pure; any thread.
 */
#include <fnmatch.h>
#include <string.h>

#include "base/mem.h"
#include "base/strv.h"
#include "base/words.h"
#include "guard/rule_state.h"
#include "shell/shell_brace.h"
#include "shell/shell_runner.h"

#define MAX_NESTING 4   /* commands inside words: sh -c "sh -c '…'" */
#define MAX_FOUND 10000 /* commands with more are denied */
#define MAX_BRACES 64   /* words that one expands to */
#define MAX_VERBS 8     /* words of one command that may be its subcommand */

static void find_in_text(struct rule_command *c, struct str text, unsigned depth);

static void add_line(struct rule_command *c, struct str line)
{
    if (!line.len)
        return;
    vec_push(&c->lines_found, line);
    c->begins[(unsigned char)line.ptr[0]] = true;
}

/* The program and its words from the given one on, without quotes and with single spaces, as in a
 * rule. */
static struct str join_words(struct rule_command *c, const struct shell_part *p, size_t from)
{
    size_t len = p->words.ptr[p->first].text.len + 1;
    char *line;
    size_t n = 0;

    for (size_t i = from; i < p->words.len; i++)
        len += p->words.ptr[i].text.len + 1;
    line = arena_alloc(&c->arena, len + 1);
    for (size_t i = p->first; i < p->words.len; i = i < from ? from : i + 1) {
        struct str text = p->words.ptr[i].text;

        if (i > p->first)
            line[n++] = ' ';
        if (text.len)
            memcpy(line + n, text.ptr, text.len);
        n += text.len;
    }
    return str_make(line, n);
}

/* The same without the program's folder. */
static void add_joined(struct rule_command *c, const struct shell_part *p, size_t from)
{
    size_t folder = shell_word_at(p, 0)->text.len - shell_part_program(p).len;
    struct str line = join_words(c, p, from);

    add_line(c, line);
    if (folder)
        add_line(c, str_from(line, folder));
}

/* And without the options before a subcommand: "git -C x push" is "git push". Which of them take a
 * value is unknown, so the word after an option is tried as a value and as the subcommand. */
static void add_lines(struct rule_command *c, const struct shell_part *p)
{
    size_t lines = 0;
    bool may_be_value = true;

    add_joined(c, p, p->first + 1);
    if (!shell_word_is_option(shell_word_at(p, 1)))
        return;
    for (size_t i = p->first + 1; i < p->words.len && may_be_value && lines < MAX_VERBS; i++) {
        const struct shell_word *w = &p->words.ptr[i];
        const struct shell_word *before = &p->words.ptr[i - 1];

        if (shell_word_is_option(w))
            continue;
        add_joined(c, p, i);
        lines++;
        may_be_value =
            shell_word_is_option(before) && str_chr(before->text, '=') == before->text.len;
    }
}

static bool is_number(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!(s.ptr[i] >= '0' && s.ptr[i] <= '9') && !(i && strchr("smhd.", s.ptr[i])))
            return false;
    }
    return s.len;
}

/* Whether it has several words, and so may be a command. */
static bool is_text(const struct shell_word *w)
{
    struct str text = w->text;

    if (!w->quoted && !w->expands)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] && strchr(" ;\n\t|&", text.ptr[i]))
            return true;
    }
    return false;
}

/* The text in a word that may be a command: alias x='…', env -S'…', su --command='…'. */
static struct str text_in(const struct shell_word *w)
{
    struct str text = str_from(w->text, shell_assignment_len(w->raw));

    if (str_starts(text, STR("--")) && str_chr(text, '=') < text.len)
        return str_from(text, str_chr(text, '=') + 1);
    return str_starts(text, STR("-S")) ? str_from(text, 2) : text;
}

/* sh -c, bash -lc */
static bool takes_text(struct str option)
{
    return str_starts(option, STR("-")) && str_ends(option, STR("c"));
}

/* {rm,-rf,x}, /bin/r{m,}, /bin/r?: possible expansions of a name with braces or a pattern. */
static void add_globbed(struct rule_command *c, const struct shell_word *name)
{
    CLEANUP(strv_release) struct strv words = STRV_INIT;

    shell_braces(name->text, MAX_BRACES, &words);
    for (size_t i = 0; i < words.len; i++)
        add_line(c, arena_str(&c->arena, shell_base_name(str_of(words.ptr[i]))));
    vec_push(&c->globs, arena_cstr(&c->arena, shell_base_name(name->text)));
}

/* Commands that git itself runs: git rebase -x '…', git -c alias.x='!…' x. */
#define GIT_TEXT_OPTIONS                                                                           \
    "-x --exec --extcmd --tree-filter --index-filter --msg-filter --env-filter --commit-filter "   \
    "--tag-name-filter --parent-filter"

static void find_in_git(struct rule_command *c, const struct shell_part *p, unsigned depth)
{
    for (size_t i = p->first + 1; i < p->words.len; i++) {
        struct str text = p->words.ptr[i].text;
        struct str before = p->words.ptr[i - 1].text;
        size_t equals = str_chr(text, '=');

        if (str_is_word_of(str_first(text, equals), GIT_TEXT_OPTIONS) ||
            (str_is(before, "-c") && equals < text.len))
            text = str_from(text, equals + (equals < text.len));
        else if (!str_is_word_of(before, GIT_TEXT_OPTIONS))
            continue;
        find_in_text(c, str_from(text, str_starts(text, STR("!"))), depth + 1);
    }
}

/* Commands in assignments before a program that runs them: EDITOR='…' crontab -e,
 * GIT_SSH_COMMAND='…' git fetch. */
static void find_in_assignments(struct rule_command *c, const struct shell_part *p, unsigned depth)
{
    static const char *const ends[] = {"EDITOR",  "PAGER",         "VISUAL", "_COMMAND",
                                       "ASKPASS", "EXTERNAL_DIFF", "BROWSER"};

    for (size_t i = 0; i < p->first; i++) {
        struct str name = p->words.ptr[i].raw;
        size_t n = shell_assignment_len(name);

        for (size_t k = 0; n && k < ARRAY_LEN(ends); k++) {
            if (str_ends(str_first(name, n - 1), str_of(ends[k])))
                find_in_text(c, str_from(p->words.ptr[i].text, n), depth + 1);
        }
    }
}

/* p->first is the start of the command; what is before belongs to another one. */
static void find_part(struct rule_command *c, struct shell_part p, unsigned depth)
{
    struct rule_found found = {.part = p, .end = p.words.len};
    size_t names;
    size_t from = shell_part_runs_from(&p, &names);
    bool texts = shell_part_runs_text(&p);

    if (c->found.len >= MAX_FOUND || depth > MAX_NESTING) {
        c->too_big = true;
        return;
    }
    add_lines(c, &p);
    if (shell_word_at(&p, 0)->globs)
        add_globbed(c, shell_word_at(&p, 0));
    if (str_is(shell_part_program(&p), "git"))
        find_in_git(c, &p, depth);
    if (from < p.words.len)
        found.end = from;
    vec_push(&c->found, found);
    for (size_t i = from; i < p.words.len; i++) {
        const struct shell_word *w = &p.words.ptr[i];
        struct str before = p.words.ptr[i - 1].text;
        struct shell_part inner = p;

        if (texts && is_text(w) && (!shell_part_is_shell(&p) || takes_text(before)))
            find_in_text(c, text_in(w), depth + 1);
        if (!names || !w->text.len || w->text.ptr[0] == '-' || shell_assignment_len(w->raw) ||
            is_number(w->text))
            continue;
        inner.first = i;
        find_part(c, inner, depth + 1);
        names -= str_chr(before, '=') < before.len || !str_starts(before, STR("-")) ||
                 str_is(before, "--"); /* otherwise it may be the option's value */
    }
}

/* Whether a shell in it reads commands from its input or a descriptor, or from a text known only at
 * run time: bash -c "$(…)". */
static bool feeds_shell(const struct shell *s)
{
    VEC_EACH(&s->parts, p) {
        struct shell_part bare = *p;
        bool is_fed = true;

        while (bare.first < p->words.len &&
               (shell_word_is_option(shell_word_at(&bare, 0)) ||
                str_is_word_of(shell_word_at(&bare, 0)->text, "sudo env /dev/stdin")))
            bare.first++;
        if (bare.first == p->words.len)
            continue;
        if (words_have(shell_part_program(&bare), "at batch"))
            return true;
        for (size_t k = bare.first + 1; k < p->words.len; k++) {
            struct str text = p->words.ptr[k].text;

            if (p->words.ptr[k].expands && takes_text(p->words.ptr[k - 1].text))
                break;
            is_fed &= str_starts(text, STR("-")) || str_is(text, "/dev/stdin") ||
                      str_starts(text, STR("/dev/fd/"));
        }
        if (is_fed && (shell_part_is_shell(&bare) ||
                       str_is_word_of(shell_part_program(&bare), "source . crontab")))
            return true;
    }
    return false;
}

static void find_in_shell(struct rule_command *c, const struct shell *s, unsigned depth)
{
    bool fed = feeds_shell(s);

    c->too_big |= s->too_big;
    VEC_EACH(&s->parts, p) {
        if (p->first == p->words.len || c->too_big)
            continue;
        find_part(c, *p, depth);
        find_in_assignments(c, p, depth);
        for (size_t i = p->first + 1; fed && i < p->words.len; i++) {
            if (words_have(shell_part_program(p), "echo printf"))
                find_in_text(c, p->words.ptr[i].text, depth + 1);
        }
        /* set -- rm x; "$@"; $(which rm) x */
        for (size_t i = p->first + 1; s->loose && i < p->words.len; i++) {
            if (words_have(shell_part_program(p), "set echo printf which type"))
                add_line(c, arena_str(&c->arena, shell_base_name(p->words.ptr[i].text)));
        }
        if (s->loose && p->defined) { /* f() { "$@"; }; f rm x */
            struct shell_part inner = *p;

            inner.first++;
            if (inner.first < inner.words.len)
                find_part(c, inner, depth + 1);
        }
    }
    VEC_EACH(&s->given, w) {
        if (fed || s->loose) /* read x <<< rm; $x a */
            find_in_text(c, w->text, depth + 1);
    }
    VEC_EACH(&s->variables, v) {
        if (s->loose) /* for x in ls rm; do $x a; done */
            find_in_text(c, v->value, depth + 1);
    }
}

static void find_in_text(struct rule_command *c, struct str text, unsigned depth)
{
    struct shell *inner;

    if (depth > MAX_NESTING || c->inner.len >= MAX_FOUND)
        c->too_big = true;
    if (c->too_big || !text.len)
        return;
    inner = arena_alloc(&c->arena, sizeof(*inner));
    shell_split(inner, arena_str(&c->arena, text));
    vec_push(&c->inner, inner);
    find_in_shell(c, inner, depth);
}

void rule_command_find(struct rule_command *c)
{
    add_line(c, str_trim(c->text));
    for (size_t i = 0; i < c->shell.parts.len; i++) /* as written, for rules with quotes in them */
        add_line(c, str_from(c->lines[i].raw, c->lines[i].starts[c->shell.parts.ptr[i].first]));
    find_in_shell(c, &c->shell, 0);
}

bool rule_forbids_command(const struct rule *r, const struct rule_command *c)
{
    if (c->too_big)
        return true;
    if (!rule_may_forbid(r, c))
        return false;
    VEC_EACH(&c->globs, name) {
        CLEANUP(mem_freep) char *head = mem_dup(r->head.ptr, r->head.len);

        if (r->head.len && fnmatch(*name, head, 0) == 0)
            return true;
    }
    VEC_EACH(&c->lines_found, line) {
        if (rule_may_match(r, *line) && rule_text_matches(r, *line))
            return true;
    }
    return false;
}

/* Programs that need the network, or act on more than files. */
#define REACH_OUT                                                                                  \
    "sudo doas su pkexec docker podman nerdctl docker-compose kubectl oc helm ssh scp sftp ftp "   \
    "telnet nc ncat socat curl wget aria2c http https ping dig nslookup host traceroute whois gh " \
    "glab hub aws gcloud az terraform ansible ansible-playbook vagrant kill killall pkill "        \
    "systemctl service journalctl umount reboot shutdown halt poweroff crontab at snap flatpak "   \
    "uvx pipx useradd usermod passwd chsh iptables modprobe psql mysql redis-cli mongosh"

/* Those that do so with some subcommands. */
static const struct {
    const char *programs;
    const char *verbs;
} reaching_verbs[] = {
    {"git", "push fetch pull clone ls-remote send-email"},
    {"npm pnpm bun",
     "install i ci add update upgrade publish audit outdated view info search login dlx create "
     "init exec x"},
    {"yarn", "install add up upgrade publish audit dlx create npm"},
    {"pip pip3", "install download index search"},
    {"uv poetry pdm pipenv conda mamba", "install add sync update lock pip publish"},
    {"cargo", "install publish search login update fetch add"},
    {"go", "get install"},
    {"gem bundle composer", "install update require publish push"},
    {"rustup", "update install toolchain component target"},
    {"apt apt-get dnf yum apk brew",
     "install reinstall add update upgrade full-upgrade dist-upgrade remove purge autoremove "
     "download source build-dep del uninstall tap fetch"},
};

/* They only print information about the program. */
#define TELLING_WORDS "--version -V --help -h -l --list version help"

bool rule_command_reaches_out(const struct rule_command *c)
{
    VEC_EACH(&c->found, f) {
        const struct shell_part *p = &f->part;
        struct str program = shell_part_program(p);
        size_t at = 1;

        if (words_have(program, REACH_OUT) &&
            !(p->words.len - p->first == 2 &&
              str_is_word_of(shell_word_at(p, 1)->raw, TELLING_WORDS)))
            return true;
        /* host:folder */
        for (size_t i = p->first + 1; str_is(program, "rsync") && i < p->words.len; i++) {
            if (str_chr(p->words.ptr[i].text, ':') < p->words.ptr[i].text.len)
                return true;
        }
        /* yarn alone installs */
        if (str_is(program, "yarn") && p->words.len - p->first == 1)
            return true;
        while (shell_word_is_option(shell_word_at(p, at))) /* git -C DIR push */
            at += 1 + (size_t)str_is_word_of(shell_word_at(p, at)->text, "-C -c --prefix");
        for (size_t k = 0; k < ARRAY_LEN(reaching_verbs); k++) {
            if (str_is_word_of(program, reaching_verbs[k].programs) &&
                str_is_word_of(shell_word_at(p, at)->text, reaching_verbs[k].verbs))
                return true;
        }
    }
    return false;
}
