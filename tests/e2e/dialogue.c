/*
 * dialogue: a client and tenax, line by line.
 *
 *     dialogue TENAX FILE
 *
 * A file of tests/data (NAME.talk) says what it shows, then has sections: `%% scenario` (played
 * without a network), `%% options` (more of them, one a line), `%% file PATH` (below the folder it
 * all happens in, which is the home as well), `%% talk` and `%% exit N`. In the
 * talk `> line` is sent, `< text` waits for the next line of tenax that has the text in it, `x
 * text` says that the lines passed over by the next wait must not have it, `* text` waits until any
 * line has the text, also one that was passed over, `= PATH text` writes a
 * file below the folder (`%% file` while they talk), `? PATH` waits until there is one, `end`
 * closes the input, `leave` the output: nothing more is read. `%% socket` makes that a socket
 * instead of a pipe, as Node.js does.
 * `%% needs sandbox` lets commands be confined, and skips the talk where they cannot be.
 * {ID} is the request_id of the line that was waited for last, {DIR} the folder it all happens in.
 * `%% program NAME` talks to `tenax NAME` (acp, app-server, mcp serve) instead of `tenax -p` with
 * stream-json:
 * {ID} is then the id of a request of JSON-RPC, {SESSION} the session or thread that was named last
 * and {TURN} the turn.
 */
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "json/json.h"
#include "planted.h"
#include "proc/confine.h"

#define PATIENCE_MS 60000
#define FILE_MAX ((size_t)1 << 20)

struct talk {
    const char *file;
    int number; /* of the line that is played */
    char dir[32];
    struct strv options;
    struct strv files; /* path, text, path, text, … */
    struct buf scenario, lines, id, session, turn, program;
    int64_t want_exit;
    bool needs_sandbox;
    bool by_socket;
    pid_t pid;
    int in, out;
    struct buf heard;
    size_t at; /* of the line to be looked at next */
};

static _Noreturn void fail(const struct talk *t, const char *what, struct str about)
{
    fprintf(stderr, "%s, line %d of the talk: %s: %.*s\n", t->file, t->number, what,
            STR_ARG(about));
    fprintf(stderr, "--- heard\n%s---\n", buf_cstr(&t->heard));
    exit(1);
}

/* What stands before the next section. */
static void read_part(struct str *rest, struct strv *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(FILE_MAX);
    struct str line;

    while (!str_starts(*rest, STR("%% ")) && str_cut(rest, '\n', &line))
        buf_addf(&text, "%.*s\n", STR_ARG(line));
    strv_add(ret, buf_str(&text));
}

static void put_files(const struct talk *t)
{
    for (size_t i = 0; i < t->files.len; i += 2) {
        CLEANUP(mem_freep) char *path = path_join(t->dir, t->files.ptr[i]);
        CLEANUP(mem_freep) char *folder = path_dirname(path);

        if (file_mkdirs(folder, 0700, NULL) < 0 ||
            file_replace(path, str_of(t->files.ptr[i + 1]), 0600, NULL) < 0)
            fail(t, "cannot write", str_of(path));
    }
}

static void read_file(struct talk *t)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(FILE_MAX);
    struct err err = {0};
    struct str rest;
    struct str line;
    struct buf *into = NULL;

    if (file_slurp(t->file, FILE_MAX, &text, &err) < 0)
        fail(t, "cannot read it", str_of(err.text));
    rest = buf_str(&text);
    while (str_cut(&rest, '\n', &line)) {
        bool options = str_is(line, "%% options");

        if (str_is(line, "%% scenario"))
            into = &t->scenario;
        else if (str_is(line, "%% talk"))
            into = &t->lines;
        else if (str_starts(line, STR("%% exit ")))
            (void)str_to_i64(str_from(line, 8), &t->want_exit, /*err=*/NULL);
        else if (str_starts(line, STR("%% program ")))
            buf_add(&t->program, str_from(line, strlen("%% program ")));
        else if (str_is(line, "%% socket"))
            t->by_socket = true;
        else if (str_is(line, "%% needs sandbox"))
            t->needs_sandbox = true;
        else if (str_starts(line, STR("%% file "))) {
            strv_add(&t->files, str_from(line, strlen("%% file ")));
            read_part(&rest, &t->files);
        } else if (!options && into) {
            buf_add(into, line);
            buf_addc(into, '\n');
        }
        while (options && str_cut(&rest, '\n', &line) && line.len)
            strv_add(&t->options, line);
    }
}

static void fill_in(const struct talk *t, struct str line, struct buf *ret)
{
    while (line.len) {
        if (str_starts(line, STR("{ID}"))) {
            buf_add(ret, buf_str(&t->id));
            line = str_from(line, 4);
        } else if (str_starts(line, STR("{DIR}"))) {
            buf_adds(ret, t->dir);
            line = str_from(line, 5);
        } else if (str_starts(line, STR("{SESSION}"))) {
            buf_add(ret, buf_str(&t->session));
            line = str_from(line, 9);
        } else if (str_starts(line, STR("{TURN}"))) {
            buf_add(ret, buf_str(&t->turn));
            line = str_from(line, 6);
        } else {
            buf_addc(ret, line.ptr[0]);
            line = str_from(line, 1);
        }
    }
}

static void start(struct talk *t, const char *tenax)
{
    CLEANUP(strv_release) struct strv argv = STRV_INIT;
    CLEANUP(strv_release) struct strv envp = STRV_INIT;
    CLEANUP(mem_freep) char *scenario = NULL;
    CLEANUP(mem_freep) char *self = path_real(tenax);
    CLEANUP(mem_freep) char *programs = path_dirname(self);
    int in[2];
    int out[2];

    memcpy(t->dir, "/tmp/tenax-talk-XXXXXX", 23);
    if (!mkdtemp(t->dir) || pipe(in) < 0 ||
        (t->by_socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, out) : pipe(out)) < 0)
        fail(t, "cannot begin", STR(""));
    scenario = path_join(t->dir, "scenario");
    if (file_replace(scenario, buf_str(&t->scenario), 0600, NULL) < 0)
        fail(t, "cannot write", str_of(scenario));
    put_files(t);
    strv_adds(&argv, "tenax");
    if (t->program.len) {
        struct str rest = buf_str(&t->program);
        struct str word;

        while (str_cut(&rest, ' ', &word))
            strv_add(&argv, word);
    } else {
        strv_adds(&argv, "--output-format=stream-json");
        strv_adds(&argv, "--verbose");
        strv_adds(&argv, "--input-format=stream-json");
    }
    if (t->scenario.len)
        strv_addf(&argv, "--model=scripted/%s", scenario);
    strv_addf(&argv, "-C%s", t->dir);
    strv_add_all(&argv, &t->options);
    strv_addf(&envp, "HOME=%s", t->dir);
    strv_addf(&envp, "PATH=%s/../tests/fake:/usr/bin:/bin", programs); /* fake-mcp */
    strv_adds(&envp, PLANTED_TOKEN);
    strv_adds(&envp, "ANTHROPIC_API_KEY=sk-ant-e2e-0123456789");
    strv_adds(&envp, "TENAX_TEST_IDS=1");
    if (!t->needs_sandbox)
        strv_adds(&envp, "TENAX_TEST_SANDBOX=none"); /* the same everywhere */
    t->pid = fork();
    if (t->pid == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        for (int fd = 3; fd < 64; fd++)
            close(fd);
        execve(tenax, argv.ptr, envp.ptr);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    t->in = in[1];
    t->out = out[0];
}

/* False at the end. */
static bool hear(struct talk *t)
{
    struct pollfd p = {.fd = t->out, .events = POLLIN};
    char *room = buf_room(&t->heard, 1 << 16);
    ssize_t n;

    if (poll(&p, 1, PATIENCE_MS) <= 0)
        fail(t, "nothing comes", STR(""));
    n = read(t->out, room, 1 << 16);
    if (n > 0)
        buf_grown(&t->heard, (size_t)n);
    return n > 0;
}

static void keep_name(struct buf *name, const struct json *v, const char *path)
{
    struct str found = json_str(json_path(v, path));

    if (!found.len)
        return;
    buf_clear(name);
    buf_add(name, found);
}

static void keep_id(struct talk *t, struct str line)
{
    struct arena arena = ARENA_INIT;
    const struct json *v = NULL;

    if (json_parse(&arena, line, &v, NULL, NULL) < 0)
        fail(t, "not JSON", line);
    buf_clear(&t->id);
    if (t->program.len) {
        buf_add(&t->id, json_raw(json_get(v, "id")));
        keep_name(&t->session, v, "result.sessionId");
        keep_name(&t->session, v, "result.thread.id");
        keep_name(&t->turn, v, "result.turn.id");
        keep_name(&t->turn, v, "params.turn.id");
    } else {
        buf_add(&t->id, json_get_str(v, "request_id"));
    }
    arena_release(&arena);
}

static void wait_for(struct talk *t, struct str text, struct str never)
{
    for (;;) {
        struct str rest = str_from(buf_str(&t->heard), t->at);
        size_t len = str_chr(rest, '\n');
        struct str line = str_first(rest, len);

        if (len == rest.len) {
            if (!hear(t))
                fail(t, "it ended without saying", text);
            continue;
        }
        t->at += len + 1;
        if (str_has(line, text)) {
            keep_id(t, line);
            return;
        }
        if (never.len && str_has(line, never))
            fail(t, "it said", never);
    }
}

/* In no order: lines of requests that are answered side by side. */
static void wait_for_any(struct talk *t, struct str text)
{
    while (!str_has(buf_str(&t->heard), text)) {
        if (!hear(t))
            fail(t, "it ended without saying", text);
    }
}

/* "PATH text" */
static void write_file(const struct talk *t, struct str line)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(FILE_MAX);
    struct str name = STR("");

    (void)str_cut(&line, ' ', &name);
    buf_addf(&path, "%s/%.*s", t->dir, STR_ARG(name));
    if (file_replace(buf_cstr(&path), line, 0600, NULL) < 0)
        fail(t, "cannot write", buf_str(&path));
}

static void await_file(const struct talk *t, struct str name)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(FILE_MAX);
    int64_t until_ms = clock_mono_ms() + PATIENCE_MS;

    buf_addf(&path, "%s/%.*s", t->dir, STR_ARG(name));
    while (access(buf_cstr(&path), F_OK) != 0) {
        if (clock_mono_ms() > until_ms)
            fail(t, "no file", buf_str(&path));
        usleep(5000);
    }
}

static void play(struct talk *t)
{
    struct str rest = buf_str(&t->lines);
    struct str never = {0};
    struct str raw;

    while (str_cut(&rest, '\n', &raw)) {
        CLEANUP(buf_release) struct buf line = BUF_INIT(FILE_MAX);
        struct str text = str_from(raw, 2);

        t->number++;
        fill_in(t, text, &line);
        if (str_is(raw, "end")) {
            close(t->in);
        } else if (str_is(raw, "leave")) {
            fd_closep(&t->out);
        } else if (str_starts(raw, STR("> "))) {
            buf_addc(&line, '\n');
            if (fd_write_all(t->in, buf_str(&line), NULL) < 0)
                fail(t, "it does not listen to", text);
        } else if (str_starts(raw, STR("< "))) {
            wait_for(t, buf_str(&line), never);
            never = (struct str){0};
        } else if (str_starts(raw, STR("x "))) {
            never = text;
        } else if (str_starts(raw, STR("? "))) {
            await_file(t, buf_str(&line));
        } else if (str_starts(raw, STR("* "))) {
            wait_for_any(t, buf_str(&line));
        } else if (str_starts(raw, STR("= "))) {
            write_file(t, buf_str(&line));
        } else if (raw.len) {
            fail(t, "what is this", raw);
        }
    }
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

/* Neither in output nor in files. */
static void check_secrets(const struct talk *t)
{
    CLEANUP(mem_freep) char *leak = planted_find(t->dir);

    if (planted_is_in(buf_str(&t->heard)))
        fail(t, "a key that was planted was said", STR(""));
    if (leak)
        fail(t, "a key that was planted is in", str_of(leak));
}

/* Each with the folders that are empty then. */
static void remove_files(const struct talk *t)
{
    for (size_t i = 0; i < t->files.len; i += 2) {
        char *path = path_join(t->dir, t->files.ptr[i]);

        unlink(path);
        for (*strrchr(path, '/') = '\0'; strcmp(path, t->dir) != 0; *strrchr(path, '/') = '\0')
            (void)rmdir(path);
        mem_freep(&path);
    }
}

static void clean_up(const struct talk *t)
{
    static const char *const files[] = {
        "scenario",
        "out.txt",
        "other.txt",
        ".tenax/settings.local.json",
        ".tenax/.gitignore",
        ".tenax/mcp-tools.json",
        ".tenax/state.db",
        ".tenax/state.db-wal",
        ".tenax/state.db-shm",
    };
    CLEANUP(mem_freep) char *sessions = path_join(t->dir, ".tenax/projects");
    CLEANUP(mem_freep) char *goals = path_join(t->dir, ".tenax/goals");
    CLEANUP(mem_freep) char *events = path_join(t->dir, ".tenax/events");
    CLEANUP(mem_freep) char *logs = path_join(t->dir, ".tenax/logs");
    CLEANUP(mem_freep) char *cache = path_join(t->dir, ".tenax/cache");
    CLEANUP(mem_freep) char *boards = path_join(t->dir, ".tenax/tasks");
    CLEANUP(mem_freep) char *teams = path_join(t->dir, ".tenax/teams");
    CLEANUP(mem_freep) char *running = path_join(t->dir, ".tenax/run");
    CLEANUP(mem_freep) char *home = path_join(t->dir, ".tenax");

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        CLEANUP(mem_freep) char *path = path_join(t->dir, files[i]);

        unlink(path);
    }
    remove_files(t);
    (void)nftw(sessions, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    (void)nftw(goals, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    (void)nftw(events, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    (void)nftw(logs, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    (void)nftw(cache, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    (void)nftw(boards, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    (void)rmdir(teams);
    (void)rmdir(running); /* no process runs: it is empty */
    (void)rmdir(home);
    if (rmdir(t->dir) < 0)
        fail(t, "something was left behind in", str_of(t->dir));
}

static void talk_release(struct talk *t)
{
    strv_release(&t->options);
    strv_release(&t->files);
    buf_release(&t->scenario);
    buf_release(&t->lines);
    buf_release(&t->id);
    buf_release(&t->session);
    buf_release(&t->turn);
    buf_release(&t->program);
    buf_release(&t->heard);
}

int main(int argc, char **argv)
{
    struct talk t = {.scenario = BUF_INIT(FILE_MAX),
                     .lines = BUF_INIT(FILE_MAX),
                     .id = BUF_INIT(4096),
                     .session = BUF_INIT(4096),
                     .turn = BUF_INIT(4096),
                     .program = BUF_INIT(4096),
                     .heard = BUF_INIT(BUF_NO_LIMIT)};
    int status;

    if (argc != 3)
        return 2;
    t.file = argv[2];
    read_file(&t);
    if (t.needs_sandbox && strcmp(confine_backend()->name, "none") == 0) {
        printf("skipped: no sandbox works here\n");
        talk_release(&t);
        return 77;
    }
    start(&t, argv[1]);
    play(&t);
    while (t.out >= 0 && hear(&t))
        continue;
    waitpid(t.pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != t.want_exit)
        fail(&t, "another exit code was expected", STR(""));
    check_secrets(&t);
    clean_up(&t);
    talk_release(&t);
    return 0;
}
