/*
 * usage: help fits its width, and generated files are run: the man page through groff, the
 * completions through the shells themselves (those that are installed; ./check --ci installs them
 * all).
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "conf/usage.h"
#include "unit.h"

/* Every character that means something to roff or a shell is in here somewhere. */
static const struct usage_command auth = {
    .name = "auth",
    .args = "login|logout|status [PROVIDER]",
    .words = "login logout status",
    .only_words = true,
    .summary = "Keep keys: in a [file] that isn't \"public\", `ever` \\ $HOME ~ ^ never",
    .options = (const enum option_id[]){OPT_JSON, OPT_COUNT},
};
static const struct usage_command doctor = {
    .name = "doctor",
    .summary = ".dots and 'quotes' at the start",
    .options = (const enum option_id[]){OPT_MODEL, OPT_EFFORT, OPT_JSON, OPT_COUNT},
};
static const struct usage_command steer = {
    .name = "steer",
    .args =
        "CONDITION... | status | list | pause | resume | clear | edit TEXT | budget N|+N|none | "
        "check COMMAND | undo [yes]",
    .summary = "Has more to say than one line holds",
};
static const struct usage_command bare = {.name = "bare", .summary = "Takes nothing of its own"};
static const struct usage_command *const commands[] = {&auth, &doctor, &steer, &bare};
static const struct usage usage = {commands, ARRAY_LEN(commands), "anthropic/a-1 openai/b-2"};

static char folder[4096]; /* for the generated files */

static int make_folder(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    snprintf(folder, sizeof(folder), "%s/tenax-usage-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"tenax.1",   "bash", "zsh", "fish",
                                        "drive.zsh", "out",  "a b"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CLEANUP(mem_freep) char *path = path_join(folder, names[i]);

        unlink(path);
    }
    return rmdir(folder);
}

static char *write_file(const char *name, struct str text)
{
    char *path = path_join(folder, name);

    assert_int_equal(file_replace(path, text, 0600, NULL), 0);
    return path;
}

/* Runs a program with both outputs into one buffer. False when it is not installed. */
static bool run(const char *const *argv, struct buf *out)
{
    const char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                               "HOME=/dev/null", /* no one makes it */
                               "LC_ALL=C.UTF-8", "TERM=dumb", NULL};
    CLEANUP(fd_closep) int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status;
    int rc;

    assert_true(fd >= 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, fd, 1);
    posix_spawn_file_actions_adddup2(&actions, fd, 2);
    rc = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, (char *const *)env);
    posix_spawn_file_actions_destroy(&actions);
    if (rc == ENOENT) {
        print_message("%s is not installed: not tried\n", argv[0]);
        return false;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(buf_add_fd(out, fd, NULL), 0);
    return true;
}

static void help_fits(void **state)
{
    static const unsigned widths[] = {0, 40, 61, 80, 100, 200};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(widths); i++) {
        for (size_t c = 0; c <= ARRAY_LEN(commands); c++) {
            CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
            size_t limit = widths[i] == 0 ? 80 : widths[i] > 100 ? 100 : widths[i];
            struct str rest;
            struct str line;

            usage_help(&usage, c < ARRAY_LEN(commands) ? commands[c] : NULL, widths[i], &out);
            rest = buf_str(&out);
            while (str_cut(&rest, '\n', &line)) {
                if (line.len > limit && !str_starts(line, STR("Usage:")))
                    fail_msg("%zu columns wide: '%.*s'", limit, STR_ARG(line));
                if (str_ends(line, STR(" ")))
                    fail_msg("space at the end: '%.*s'", STR_ARG(line));
            }
            assert_true(str_ends(buf_str(&out), STR("\n")));
        }
    }
}

static void help_of_a_command(void **state)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    usage_help(&usage, &doctor, 80, &out);
    assert_true(str_starts(buf_str(&out), STR("Usage: tenax doctor [OPTION]...\n")));
    assert_true(str_has(buf_str(&out), STR("--effort LEVEL")));
    assert_true(str_has(buf_str(&out), STR("--help")));
    assert_false(str_has(buf_str(&out), STR("--print")));
}

/* Options that only subcommands take are listed by these only. */
static bool is_of_commands(enum option_id id)
{
    size_t count;
    const struct option_group *groups = option_groups(&count);
    bool of_commands = false;

    for (size_t i = 0; i < count && groups[i].first <= id; i++)
        of_commands = groups[i].of_commands;
    return of_commands;
}

/* A row that is added shows up everywhere. */
static void nothing_is_forgotten(void **state)
{
    static const char *const shells[] = {"bash", "zsh", "fish"};

    (void)state;
    for (size_t k = 0; k < 2 + ARRAY_LEN(shells); k++) {
        CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);

        if (k == 0)
            usage_help(&usage, NULL, 80, &out);
        else if (k == 1)
            usage_man(&usage, &out);
        else
            assert_int_equal(usage_completion(&usage, str_of(shells[k - 2]), &out, NULL), 0);
        for (size_t i = 0; i < OPT_COUNT; i++) {
            const struct option *o = &option_table()[i];
            CLEANUP(buf_release) struct buf name = BUF_INIT(256);

            if ((o->flags & OPTION_HIDDEN) && o->arg && k >= 2)
                continue; /* a shell must know that a value follows */
            if (k == 0 && is_of_commands(o->id) && !(o->flags & OPTION_HIDDEN)) {
                const struct usage_command one = {.name = "one",
                                                  .summary = "One",
                                                  .options = (enum option_id[]){o->id, OPT_COUNT}};

                buf_clear(&out);
                usage_help(NULL, &one, 80, &out);
                assert_true(str_has(buf_str(&out), str_of(o->name)));
                buf_clear(&out);
                usage_help(&usage, NULL, 80, &out);
                buf_addf(&name, "--%s ", o->name);
                assert_false(str_has(buf_str(&out), buf_str(&name)));
                continue;
            }
            /* A hidden one's name may be a word of some text. */
            if (o->flags & OPTION_HIDDEN)
                buf_adds(&name, k == 1 ? "\\-\\-" : k == 4 ? "-l " : "--");
            if (k == 1) /* a minus is \- in roff */
                for (const char *at = o->name; *at; at++)
                    buf_addf(&name, *at == '-' ? "\\-" : "%c", *at);
            else
                buf_adds(&name, o->name);
            if (str_has(buf_str(&out), buf_str(&name)) == ((o->flags & OPTION_HIDDEN) != 0))
                fail_msg("output %zu: --%s", k, o->name);
        }
        for (size_t i = 0; i < ARRAY_LEN(commands); i++)
            assert_true(str_has(buf_str(&out), str_of(commands[i]->name)));
    }
}

static void man_page(void **state)
{
    static const char *const headings[] = {
        "NAME",        "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS",
        "ENVIRONMENT", "FILES",    "EXIT STATUS", "EXAMPLES", "SEE ALSO",
    };
    CLEANUP(buf_release) struct buf page = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *path = NULL;
    struct str rest;

    (void)state;
    usage_man(&usage, &page);
    rest = buf_str(&page);
    for (size_t i = 0; i < ARRAY_LEN(headings); i++) {
        CLEANUP(buf_release) struct buf heading = BUF_INIT(64);
        size_t at;

        buf_addf(&heading, "\n.SH %s\n", headings[i]);
        at = str_find(rest, buf_str(&heading));
        if (at == rest.len)
            fail_msg("no %s, or not in its place", headings[i]);
        rest = str_from(rest, at + 1);
    }
    path = write_file("tenax.1", buf_str(&page));
    /* -z: warnings only */
    if (run((const char *const[]){"groff", "-ww", "-man", "-Tutf8", "-z", path, NULL}, &out) &&
        out.len)
        fail_msg("groff: %s", buf_cstr(&out));
    if (!run((const char *const[]){"groff", "-man", "-Tascii", "-P-c", "-P-b", "-P-u", "-rLL=120n",
                                   path, NULL},
             &out))
        return;
    assert_true(
        str_has(buf_str(&out), STR("Keep keys: in a [file] that isn't \"public\", `ever` \\ "
                                   "$HOME ~ ^ never.")));
    assert_true(str_has(buf_str(&out), STR(".dots and 'quotes' at the start.")));
}

struct completion_case {
    const char *line;   /* the typed text; words split at spaces, '=' a separate word in bash */
    const char *expect; /* sorted */
};

static const struct completion_case completion_cases[] = {
    {"tenax --ef", "--effort"},
    {"tenax --effort x", "xhigh"},
    {"tenax --effort=h", "high"},
    {"tenax --setting-sources user,p", "user,project"},
    {"tenax -m o", "openai/b-2"},
    {"tenax doc", "doctor"},
    {"tenax --json a", "auth"},
    {"tenax --model doctor a", "auth"}, /* a value is not a command */
    {"tenax auth l", "login logout"},
    {"tenax auth login l", ""}, /* a verb stands there once */
    {"tenax auth login --j", "--json"},
    {"tenax auth --j", "--json"},
    {"tenax auth --effo", ""}, /* not its option */
    {"tenax doctor --effo", "--effort"},
    {"tenax doctor --effort m", "max medium"},
};

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lines of output, without descriptions, sorted and without repetitions, on one line. fish repeats
 * the name of an option in front of its value. */
static void normalise(struct str out, bool with_name, struct buf *ret)
{
    CLEANUP(strv_release) struct strv words = STRV_INIT;
    struct str line;

    while (str_cut(&out, '\n', &line)) {
        struct str word = str_first(line, str_chr(line, '\t'));

        if (with_name && str_starts(word, STR("--effort=")))
            word = str_from(word, strlen("--effort="));
        if (word.len && !strv_has(&words, word))
            strv_add(&words, word);
    }
    if (words.len)
        qsort(words.ptr, words.len, sizeof(*words.ptr), compare_words);
    for (size_t i = 0; i < words.len; i++)
        buf_addf(ret, "%s%s", i ? " " : "", words.ptr[i]);
}

static void expect_words(const char *shell, const struct completion_case *c, struct str out)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);
    const char *expect = c->expect;

    normalise(out, strcmp(shell, "fish") == 0, &got);
    /* zsh completes the last part of a list by itself */
    if (strcmp(shell, "zsh") == 0 && strcmp(expect, "user,project") == 0)
        expect = "project";
    if (strcmp(buf_cstr(&got), expect) != 0)
        fail_msg("%s: '%s' gives '%s', not '%s'", shell, c->line, buf_cstr(&got), expect);
}

static char *write_script(const char *shell)
{
    CLEANUP(buf_release) struct buf script = BUF_INIT(BUF_NO_LIMIT);

    assert_int_equal(usage_completion(&usage, str_of(shell), &script, NULL), 0);
    return write_file(shell, buf_str(&script));
}

static void bash_completion(void **state)
{
    static const char driver[] =
        "source \"$1\"; line=${2/=/ = }; read -ra COMP_WORDS <<<\"$line\"\n"
        "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
        "_tenax; printf '%s\\n' \"${COMPREPLY[@]}\"";
    CLEANUP(mem_freep) char *path = write_script("bash");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(completion_cases); i++) {
        const struct completion_case *c = &completion_cases[i];
        CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);

        if (!run((const char *const[]){"bash", "--norc", "-c", driver, "bash", path, c->line, NULL},
                 &out))
            return;
        expect_words("bash", c, buf_str(&out));
    }
}

/* Names with spaces stay in one piece. */
static void bash_files(void **state)
{
    static const char driver[] = "source \"$1\"; COMP_WORDS=(tenax --settings \"$2/a\"); "
                                 "COMP_CWORD=2; _tenax; printf '%s\\n' \"${COMPREPLY[@]}\"";
    CLEANUP(mem_freep) char *path = write_script("bash");
    CLEANUP(mem_freep) char *file = write_file("a b", STR("{}"));
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    if (!run((const char *const[]){"bash", "--norc", "-c", driver, "bash", path, folder, NULL},
             &out))
        return;
    assert_true(str_eq(str_trim(buf_str(&out)), str_of(file)));
}

/* A real interactive zsh on a pty gets the line and a tab; what compadd is given goes to a file. */
static const char zsh_driver[] =
    "zmodload zsh/zpty\n"
    "zpty z zsh -f -i\n"
    "zpty -w z \"PROMPT= OUT=$3\n"
    "autoload -Uz compinit && compinit -u -D\n"
    "source $1\n"
    "compadd() {\n"
    "    [[ \\\" \\$* \\\" == *' -'(O|A|D)' '* ]] && { builtin compadd \\\"\\$@\\\"; return }\n"
    "    local -a hits\n"
    "    builtin compadd -O hits \\\"\\$@\\\"\n"
    "    (( \\$#hits )) && print -l -- \\$hits >>\\$OUT\n"
    "    builtin compadd \\\"\\$@\\\"\n"
    "}\n"
    "finish() { exit }\n"
    "comppostfuncs=(finish)\n"
    "bindkey '^I' complete-word\"\n"
    "zpty -w -n z \"$2\"$'\\t'\n"
    "while zpty -r z chunk; do :; done\n";

static void zsh_completion(void **state)
{
    CLEANUP(mem_freep) char *path = write_script("zsh");
    CLEANUP(mem_freep) char *driver = write_file("drive.zsh", STR(zsh_driver));

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(completion_cases); i++) {
        const struct completion_case *c = &completion_cases[i];
        CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(buf_release) struct buf hits = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(mem_freep) char *result = write_file("out", STR(""));

        if (!run((const char *const[]){"zsh", "-f", driver, path, c->line, result, NULL}, &out))
            return;
        assert_int_equal(file_slurp(result, 1 << 20, &hits, NULL), 0);
        expect_words("zsh", c, buf_str(&hits));
    }
}

static void fish_completion(void **state)
{
    CLEANUP(mem_freep) char *path = write_script("fish");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(completion_cases); i++) {
        const struct completion_case *c = &completion_cases[i];
        CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);

        if (!run((const char *const[]){"fish", "--no-config", "-c",
                                       "source $argv[1]; complete -C $argv[2]", path, c->line,
                                       NULL},
                 &out))
            return;
        expect_words("fish", c, buf_str(&out));
    }
}

static void other_shells(void **state)
{
    struct err err = {0};
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    assert_int_equal(usage_completion(&usage, STR("tcsh"), &out, &err), -1);
    assert_int_equal(err.code, ERR_BAD_INPUT);
    assert_string_equal(err.text, "no completion for 'tcsh'; there is bash, zsh and fish");
}

static void options_of_a_command(void **state)
{
    const char *argv[] = {"tenax", "doctor", "--json", "-C", "/", "--effort=low"};
    struct args args;
    struct err err = {0};

    (void)state;
    assert_int_equal(args_parse(ARRAY_LEN(argv), (char *const *)argv, &args, NULL), 0);
    assert_int_equal(usage_check(&doctor, &args, &err), 0);
    assert_int_equal(usage_check(&auth, &args, &err), -1);
    assert_string_equal(err.text, "'auth' does not take --effort");
    args_release(&args);
}

static void words_of_a_command(void **state)
{
    static const struct {
        const struct usage_command *command;
        const char *word;
        const char *error; /* NULL: it is taken */
    } cases[] = {
        {&auth, "login", NULL},
        {&auth, "nonsense", NULL}, /* its own affair */
        {&auth, "lgin", "unknown command 'auth lgin'; did you mean 'auth login'?"},
        {&steer, "statsu", NULL}, /* may be a condition */
        {&doctor, "anthropic", "'doctor' takes no words, and there is 'anthropic'"},
        {&bare, "x", "'bare' takes no words, and there is 'x'"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *argv[] = {"tenax", cases[i].command->name, cases[i].word};
        struct args args;
        struct err err = {0};

        assert_int_equal(args_parse(ARRAY_LEN(argv), (char *const *)argv, &args, NULL), 0);
        assert_int_equal(usage_check(cases[i].command, &args, &err), cases[i].error ? -1 : 0);
        if (cases[i].error)
            assert_string_equal(err.text, cases[i].error);
        args_release(&args);
    }
}

UNIT_TEST(usage)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_fits),          cmocka_unit_test(help_of_a_command),
        cmocka_unit_test(other_shells),       cmocka_unit_test(nothing_is_forgotten),
        cmocka_unit_test(man_page),           cmocka_unit_test(bash_completion),
        cmocka_unit_test(bash_files),         cmocka_unit_test(zsh_completion),
        cmocka_unit_test(fish_completion),    cmocka_unit_test(options_of_a_command),
        cmocka_unit_test(words_of_a_command),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
