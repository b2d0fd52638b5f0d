/*
 * tenax: fast paths, then one row of the subcommand table.
 *
 * The process never changes its directory, environment or locale; signals are read by one thread
 * (sync/signals.h) and become a cancel token that everything that waits is given.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/disk.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/test_switch.h"
#include "cmd/cmd.h"
#include "cmd/print.h"
#include "conf/nearest.h"
#include "proc/proc.h"
#include "sync/cancel.h"
#include "sync/signals.h"
#include "sync/wait.h"

#ifndef TENAX_VERSION
#error "the build gives the version"
#endif

#define MAIN_ECHO_MS 100
#define MAIN_MIN_FILES 64

static atomic_int main_signal; /* the first INT or TERM; 0 while there was none */

/* The first signal asks, the second insists. timeout(1) sends one to us and one to our group: what
 * comes that close together is one. Signal thread. */
static void main_on_signal(int signo, void *arg)
{
    static int64_t asked_ms;
    struct cancel *cancel = arg;
    int none = 0;

    if (signo == SIGTSTP)
        signals_suspend();
    if (signo != SIGINT && signo != SIGTERM && signo != SIGHUP)
        return;
    if (!atomic_compare_exchange_strong(&main_signal, &none, signo)) {
        if (clock_mono_ms() - asked_ms > MAIN_ECHO_MS)
            _exit(128 + signo);
        return;
    }
    asked_ms = clock_mono_ms();
    if (signo == SIGINT)
        cancel_set(cancel);
    else
        cancel_end(cancel);
}

int cmd_signal_code(void)
{
    int signo = atomic_load(&main_signal);

    return signo ? 128 + signo : 0;
}

/* A closed standard descriptor (`<&-`) would become the next file or socket we open, and the answer
 * would go there. The place is kept: reading finds nothing, writing still fails. */
static void main_keep_std(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", O_RDONLY | O_NOCTTY); /* the lowest free one: fd */
    }
}

/* With fewer files open, what wakes a waiting thread cannot be made. */
static int main_check_files(struct err *err)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur >= MAIN_MIN_FILES)
        return 0;
    files.rlim_cur = MAIN_MIN_FILES;
    if (files.rlim_cur <= files.rlim_max && setrlimit(RLIMIT_NOFILE, &files) == 0)
        return 0;
    return err_set(err, ERR_UNSUPPORTED,
                   "no more than %llu files can be open (ulimit -n), and tenax needs %d",
                   (unsigned long long)files.rlim_max, MAIN_MIN_FILES);
}

static int main_version(void)
{
    int code = EXIT_OK;

    (void)say_out(STR(TENAX_VERSION " (tenax)\n"), /*cancel=*/NULL, &code);
    return code;
}

/* -C, or where we are. */
static char *main_dir(const struct args *args, struct err *err)
{
    const char *want = args_get(args, OPT_DIR);
    char path[PATH_MAX];

    if (!realpath(want ? want : ".", path)) {
        err_sys(err, ERR_NOT_FOUND, "cannot work in '%s'", want ? want : ".");
        return NULL;
    }
    if (!file_is_dir(path)) {
        err_set(err, ERR_BAD_INPUT, "cannot work in '%s': it is not a directory", want);
        return NULL;
    }
    return mem_dup(path, strlen(path));
}

static int main_log(const struct args *args, const char *dir, struct err *err)
{
    const char *file = args_get(args, OPT_DEBUG_FILE);
    CLEANUP(buf_release) struct buf path = BUF_INIT(PATH_MAX);
    CLEANUP(mem_freep) char *folder = NULL;
    char when[25];

    if (args->given[OPT_DEBUG_TO_STDERR])
        return log_open_stderr(err);
    if (file) {
        buf_adds(&path, file);
    } else if (args->given[OPT_DEBUG]) {
        const char *home = getenv("TENAX_HOME");
        CLEANUP(mem_freep) char *own = path_join(path_home(), ".tenax");

        if (home && *home) {
            mem_freep(&own);
            own = path_join(dir, home); /* a relative one counts from -C, as for settings */
        }
        folder = path_join(own, "debug");
        if (file_mkdirs(folder, 0700, err) < 0)
            return err_prefix(err, "--debug");
        clock_iso(clock_wall_ms(), when);
        buf_addf(&path, "%s/%.19s-%d.log", folder, when, (int)getpid());
    } else {
        return 0;
    }
    if (log_open(buf_cstr(&path), err) < 0)
        return -1;
    say("debug log: %s", buf_cstr(&path));
    log_debug("main", "tenax %s, pid %d", TENAX_VERSION, (int)getpid());
    return 0;
}

/* Commands of other agents, and what they are called here. */
static struct str main_elsewhere(struct str word)
{
    static const char *const names[][2] = {
        {"version", "--version"},
        {"login", "auth login"},
        {"logout", "auth logout"},
        {"resume", "--resume"},
        {"continue", "-c"},
        {"exec", "-p"},
        {"run", "-p"},
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_is(word, names[i][0]))
            return str_of(names[i][1]);
    }
    return (struct str){0};
}

/* The command that the first word was meant for, or empty. "run the tests" is a prompt, and "run"
 * is not: what other agents call a command counts only when it stands alone. */
static struct str main_nearest(const struct args *args)
{
    struct str word = str_of(args->words.ptr[0]);
    struct nearest near;

    if (args->words.len == 1) {
        struct str elsewhere = main_elsewhere(word);

        if (elsewhere.len)
            return elsewhere;
    }
    nearest_init(&near, word);
    for (size_t i = 0; i < cmd_count(); i++)
        nearest_offer(&near, str_of(cmd_at(i)->usage.name));
    return near.best;
}

static int main_unknown(const struct args *args)
{
    struct str word = str_of(args->words.ptr[0]);
    struct str near = main_nearest(args);

    if (near.len)
        say("unknown command '%.*s'; did you mean '%.*s'?", STR_ARG(word), STR_ARG(near));
    else
        say("unknown command '%.*s' (to ask the model: tenax -p \"%.*s\")",
            STR_ARG(str_clip(word, 60)), STR_ARG(str_clip(word, 60)));
    return EXIT_USAGE;
}

/* An SDK says how it will talk to us, and leaves -p out. */
static bool main_is_driven(const struct args *args)
{
    const char *format = args_get(args, OPT_INPUT_FORMAT);

    return format && strcmp(format, "stream-json") == 0;
}

static bool main_has_terminal(void)
{
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

/* Words that name no command are a prompt; but a first word that is nearly a command ("docotr") was
 * meant to be one, and in a script so was every single word. After "--" none is. */
static bool main_is_prompt(const struct args *args)
{
    struct str first = str_of(args->words.ptr[0]);

    if (!args->plain || str_chr(first, ' ') < first.len || str_is(first, "-"))
        return true;
    if (main_nearest(args).len)
        return false;
    return main_has_terminal() || args->given[OPT_OUTPUT_FORMAT];
}

/* Options decide first, then the first word. */
static int main_dispatch(struct cmd *c)
{
    const struct command *command;
    struct err err = {0};

    if (c->args.given[OPT_VERSION])
        return main_version();
    if (c->args.given[OPT_HELP])
        return cmd_help.run(c);
    if (c->args.given[OPT_PRINT] || main_is_driven(&c->args))
        return cmd_print(c);
    if (!c->args.words.len) {
        if (!isatty(STDIN_FILENO))
            return cmd_print(c); /* `echo hello | tenax` */
        if (main_has_terminal())
            return cmd_interactive(c);
        say("a session needs a terminal, and the output is none: use tenax -p \"what to do\", or "
            "see tenax --help");
        return EXIT_USAGE;
    }
    command = c->args.plain ? cmd_find(str_of(c->args.words.ptr[0])) : NULL;
    if (!command && main_is_prompt(&c->args))
        return main_has_terminal() ? cmd_interactive(c) : cmd_print(c);
    if (!command)
        return main_unknown(&c->args);
    if (usage_check(&command->usage, &c->args, &err) < 0) {
        say_error(&err);
        return EXIT_USAGE;
    }
    return command->run(c);
}

static int main_with_args(struct cmd *c)
{
    struct err err = {0};
    int code;

    c->dir = main_dir(&c->args, &err);
    if (!c->dir || main_check_files(&err) < 0 || main_log(&c->args, c->dir, &err) < 0) {
        print_failed(c, &err);
        return EXIT_USAGE;
    }
    if (signals_start(main_on_signal, c->cancel, &err) < 0) {
        say_error(&err);
        return EXIT_FAILED;
    }
    code = main_dispatch(c);
    proc_shutdown();
    signals_stop();
    log_debug("main", "exit %d", code);
    log_close();
    return code;
}

int main(int argc, char **argv)
{
    struct cmd c = {0};
    struct err err = {0};
    const char *point = test_switch("TENAX_TEST_POINT");
    const char *writes = test_switch("TENAX_TEST_WRITE");
    const char *clock = test_switch("TENAX_TEST_CLOCK");
    int code;

    /* Asked for by scripts and SDKs before anything else: no tables, no threads. */
    if (argc == 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-v") == 0))
        return main_version();

    main_keep_std();
    if (args_parse(argc, argv, &c.args, &err) < 0) {
        say("%s (see tenax --help)", err.text);
        return EXIT_USAGE;
    }
    if (clock)
        clock_test_mode(clock);
    if (point)
        wait_test_mode(point);
    if (writes)
        disk_test_mode(writes);
    c.cancel = cancel_new(/*parent=*/NULL);
    code = main_with_args(&c);
    cancel_unref(c.cancel);
    mem_freep(&c.dir);
    args_release(&c.args);
    return code;
}
