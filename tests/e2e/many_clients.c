/*
 * Many sessions of many clients in one process.
 *
 * Five clients connect to `tenax app-server` on a unix socket and open four threads each. On all of
 * them at once prompts are answered, approvals accepted, declined and left open, turns interrupted,
 * goals set and cleared. Every line about a thread must come on the connection that has it, in the
 * order of a turn, and have no word of another thread in it. A sixth client reads nothing at all,
 * and holds up nobody. At the end the server is told to end, and ends.
 *
 *     many_clients TENAX ROUNDS
 */
#include <ftw.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "check.h"
#include "json/json.h"

#define CLIENTS 5
#define THREADS 4 /* of each */
#define PATIENCE_MS 60000
#define FLOOD_BYTES 3000000
#define MARK "qz_x" /* and two digits: a word that only one thread has, and no random id */

enum op {
    OP_SAY,     /* a prompt that is answered */
    OP_YES,     /* a command that is allowed */
    OP_NO,      /* one that is not */
    OP_CUT,     /* one that is interrupted while it runs */
    OP_CUT_ASK, /* one that is interrupted before there is an answer, which comes too late */
    OP_GOAL,    /* a goal is set, and cleared */
    OP_COUNT,
};

struct strand {
    int number; /* of its word */
    char id[64];
    char turn[64]; /* that runs; or empty */
    int64_t round; /* of the operation; -1: it is being opened */
    int64_t asked; /* the request that has no answer yet; 0: none */
    int64_t cut;   /* the interrupt's; 0: none */
    bool has_started, has_said, has_cleared;
    int64_t late; /* a request of the server that is answered when it is over */
    size_t open;  /* items that have not completed */
    bool is_done;
};

struct client {
    int fd;
    struct buf text;
    size_t at; /* of the line to be read next */
    int64_t next_id;
    struct strand threads[THREADS];
};

static struct client clients[CLIENTS];
static int64_t rounds;

static enum op op_of(const struct strand *t)
{
    return (enum op)((t->round + t->number) % OP_COUNT);
}

static const char *word_of(enum op op)
{
    static const char *const words[] = {
        [OP_SAY] = "say", [OP_YES] = "yes",         [OP_NO] = "no",
        [OP_CUT] = "cut", [OP_CUT_ASK] = "cut-ask", [OP_GOAL] = "goal",
    };

    return words[op];
}

/* Newest first: the prompt of a turn that was cut off is still there when the next one comes. */
static void write_scenario(const char *path)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct strand t = {0};

    for (t.round = rounds - 1; t.round >= 0; t.round--) {
        for (t.number = 0; t.number < CLIENTS * THREADS; t.number++) {
            enum op op = op_of(&t);
            CLEANUP(buf_release) struct buf head = BUF_INIT(1024);

            buf_addf(&head, "step\n if-prompt \"" MARK "%02d %s %" PRId64 ".\"\n", t.number,
                     word_of(op), t.round);
            if (op == OP_YES || op == OP_NO || op == OP_CUT || op == OP_CUT_ASK)
                buf_addf(&text,
                         "%s call Bash {\"command\": \"touch " MARK "%02d; echo " MARK
                         "%02d%s\"}\n",
                         buf_cstr(&head), t.number, t.number, op == OP_CUT ? "; sleep 100" : "");
            if (op == OP_SAY || op == OP_YES || op == OP_NO)
                buf_addf(&text, "%s chunk 3\n text This is what " MARK "%02d has to say of it.\n",
                         buf_cstr(&head), t.number);
        }
    }
    buf_adds(&text, "step\n if-prompt \"flood\"\n chunk 1000\n text ");
    for (int i = 0; i < FLOOD_BYTES; i++)
        buf_addc(&text, (char)('a' + i % 16));
    buf_addc(&text, '\n');
    CHECK(file_replace(path, buf_str(&text), 0600, NULL) == 0, "cannot write %s", path);
}

static pid_t start(const char *tenax, const char *dir, const char *socket, const char *scenario)
{
    static const char *const options[] = {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"};
    CLEANUP(strv_release) struct strv argv = STRV_INIT;
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    pid_t pid;

    strv_adds(&argv, "tenax");
    strv_adds(&argv, "app-server");
    strv_adds(&argv, "--listen");
    strv_addf(&argv, "unix://%s", socket);
    strv_adds(&argv, "--model");
    strv_addf(&argv, "scripted/%s", scenario);
    strv_addf(&env, "HOME=%s/home", dir);
    strv_adds(&env, "PATH=/usr/bin:/bin");
    strv_adds(&env, "TENAX_TEST_SANDBOX=none");
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        if (getenv(options[i]))
            strv_addf(&env, "%s=%s", options[i], getenv(options[i]));
    }
    pid = fork();
    CHECK(pid >= 0, "no fork");
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* when a check fails */
    execve(tenax, argv.ptr, env.ptr);
    _exit(127);
}

static int dial(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int64_t until = clock_mono_ms() + PATIENCE_MS;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(strlen(path) < sizeof(at.sun_path), "'%s' is too long", path);
    memcpy(at.sun_path, path, strlen(path));
    while (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
        CHECK(clock_mono_ms() < until, "nobody listens on %s", path);
        usleep(10000);
    }
    return fd;
}

static void send_line(int fd, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void send_line(int fd, const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(1 << 16);
    va_list args;

    va_start(args, fmt);
    buf_addv(&line, fmt, args);
    va_end(args);
    buf_addc(&line, '\n');
    CHECK(fd_write_all(fd, buf_str(&line), NULL) == 0, "cannot write");
}

/* ---- What a thread does ---- */

static void begin(struct client *c, struct strand *t)
{
    enum op op = op_of(t);

    t->has_started = t->has_said = t->has_cleared = false;
    t->asked = ++c->next_id;
    if (op == OP_GOAL)
        send_line(c->fd,
                  "{\"id\":%" PRId64
                  ",\"method\":\"thread/goal/set\",\"params\":{\"threadId\":\"%s\","
                  "\"objective\":\"" MARK "%02d is green\",\"status\":\"paused\"}}",
                  t->asked, t->id, t->number);
    else
        send_line(c->fd,
                  "{\"id\":%" PRId64 ",\"method\":\"turn/start\",\"params\":{\"threadId\":\"%s\","
                  "\"input\":[{\"type\":\"text\",\"text\":\"" MARK "%02d %s %" PRId64 ".\"}]}}",
                  t->asked, t->id, t->number, word_of(op), t->round);
}

static void next(struct client *c, struct strand *t)
{
    CHECK(!t->open, MARK "%02d: %zu items never completed", t->number, t->open);
    t->turn[0] = '\0';
    t->round++;
    t->is_done = t->round >= rounds;
    if (!t->is_done)
        begin(c, t);
}

static void keep(char *to, size_t size, struct str s)
{
    CHECK(s.len && s.len < size, "no id: '%.*s'", STR_ARG(s));
    memcpy(to, s.ptr, s.len);
    to[s.len] = '\0';
}

static void interrupt(struct client *c, struct strand *t)
{
    if (t->cut)
        return;
    t->cut = ++c->next_id;
    send_line(c->fd,
              "{\"id\":%" PRId64 ",\"method\":\"turn/interrupt\",\"params\":{\"threadId\":\"%s\","
              "\"turnId\":\"%s\"}}",
              t->cut, t->id, t->turn);
}

static void take_answer(struct client *c, struct strand *t, int64_t id, const struct json *v)
{
    const struct json *result = json_get(v, "result");

    CHECK(result, MARK "%02d: %.*s", t->number, STR_ARG(json_raw(v)));
    if (id == t->cut) {
        t->cut = 0;
        return;
    }
    CHECK(id == t->asked, MARK "%02d: an answer to %d", t->number, (int)id);
    t->asked = 0;
    if (t->round < 0) {
        keep(t->id, sizeof(t->id), json_str(json_path(result, "thread.id")));
        next(c, t);
    } else if (op_of(t) != OP_GOAL) {
        keep(t->turn, sizeof(t->turn), json_str(json_path(result, "turn.id")));
    } else if (!t->has_cleared) {
        t->has_cleared = true;
        t->asked = ++c->next_id;
        send_line(c->fd,
                  "{\"id\":%" PRId64 ",\"method\":\"thread/goal/clear\",\"params\":{\"threadId\":"
                  "\"%s\"}}",
                  t->asked, t->id);
    } else {
        CHECK(json_get_bool(result, "cleared", false), MARK "%02d: no goal", t->number);
    }
}

static void take_request(struct client *c, struct strand *t, int64_t id, struct str method)
{
    enum op op = op_of(t);

    CHECK(str_is(method, "item/commandExecution/requestApproval"), "asked for %.*s",
          STR_ARG(method));
    if (op == OP_CUT_ASK) {
        t->late = id;
        interrupt(c, t);
        return;
    }
    send_line(c->fd, "{\"id\":%" PRId64 ",\"result\":{\"decision\":\"%s\"}}", id,
              op == OP_NO ? "decline" : "accept");
}

static void end_turn(struct client *c, struct strand *t, const struct json *turn)
{
    enum op op = op_of(t);
    bool is_cut = op == OP_CUT || op == OP_CUT_ASK;

    CHECK(t->has_started, MARK "%02d: a turn that never started", t->number);
    CHECK(str_is(json_get_str(turn, "id"), t->turn), MARK "%02d: the end of another turn",
          t->number);
    CHECK(str_is(json_get_str(turn, "status"), is_cut ? "interrupted" : "completed"),
          MARK "%02d %s: %.*s", t->number, word_of(op), STR_ARG(json_raw(turn)));
    CHECK(is_cut || t->has_said, MARK "%02d: nothing was said", t->number);
    if (t->late)
        send_line(c->fd, "{\"id\":%" PRId64 ",\"result\":{\"decision\":\"accept\"}}", t->late);
    t->late = 0;
    next(c, t);
}

static void take_notice(struct client *c, struct strand *t, struct str method,
                        const struct json *params)
{
    const struct json *item = json_get(params, "item");

    if (str_is(method, "turn/started")) {
        CHECK(!t->has_started, MARK "%02d: started twice", t->number);
        t->has_started = true;
    } else if (str_is(method, "item/started")) {
        CHECK(t->has_started, MARK "%02d: an item before its turn", t->number);
        t->open++;
    } else if (str_is(method, "item/completed")) {
        CHECK(t->open, MARK "%02d: the end of an item that never began", t->number);
        t->open--;
        t->has_said = t->has_said || str_is(json_get_str(item, "type"), "agentMessage");
    } else if (str_is(method, "item/commandExecution/outputDelta")) {
        if (op_of(t) == OP_CUT)
            interrupt(c, t);
    } else if (str_is(method, "turn/completed")) {
        end_turn(c, t, json_get(params, "turn"));
    } else if (str_is(method, "thread/goal/cleared")) {
        next(c, t);
    }
}

/* ---- Lines ---- */

static struct strand *thread_of(struct client *c, struct str id)
{
    for (int i = 0; i < THREADS; i++) {
        if (str_is(id, c->threads[i].id))
            return &c->threads[i];
    }
    return NULL;
}

static struct strand *asker_of(struct client *c, int64_t id)
{
    for (int i = 0; i < THREADS; i++) {
        if (c->threads[i].asked == id || c->threads[i].cut == id)
            return &c->threads[i];
    }
    return NULL;
}

/* A delta may end in the middle of it. */
static bool is_word(struct str text, const char *word)
{
    size_t same = 0;

    while (same < text.len && word[same] && text.ptr[same] == word[same])
        same++;
    return !word[same] || (same < text.len && text.ptr[same] == '"');
}

static void check_words(const struct strand *t, struct str line)
{
    struct str rest = line;
    char own[16];

    snprintf(own, sizeof(own), MARK "%02d", t->number);
    for (size_t at; (at = str_find(rest, STR(MARK))) < rest.len; rest = str_from(rest, at + 1))
        CHECK(is_word(str_from(rest, at), own), "in %s: %.*s", own, STR_ARG(line));
}

static void take_line(struct client *c, struct str line)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;
    struct str method;
    struct strand *t;
    int64_t id = -1;

    CHECK(json_parse(&arena, line, &v, NULL, NULL) == 0, "no JSON: %.*s", STR_ARG(line));
    if (getenv("MANY_LOUD"))
        fprintf(stderr, "%.*s\n", STR_ARG(str_clip(line, 400)));
    method = json_get_str(v, "method");
    (void)json_i64(json_get(v, "id"), &id);
    if (id == 0 && !method.len)
        return; /* initialize */
    if (str_is(method, "thread/started") || str_is(method, "warning"))
        return;
    t = method.len ? thread_of(c, json_str(json_path(v, "params.threadId"))) : asker_of(c, id);
    CHECK(t, "this is for nobody here: %.*s", STR_ARG(line));
    check_words(t, line);
    if (!method.len)
        take_answer(c, t, id, v);
    else if (id >= 0)
        take_request(c, t, id, method);
    else
        take_notice(c, t, method, json_get(v, "params"));
}

static void read_some(struct client *c)
{
    char *room = buf_room(&c->text, 1 << 16);
    ssize_t n = read(c->fd, room, 1 << 16);
    struct str rest;

    CHECK(n > 0, "the server has gone");
    buf_grown(&c->text, (size_t)n);
    for (;;) {
        size_t len;

        rest = str_from(buf_str(&c->text), c->at);
        len = str_chr(rest, '\n');
        if (len == rest.len)
            break;
        c->at += len + 1;
        take_line(c, str_first(rest, len));
    }
    buf_cut(&c->text, 0, c->at);
    c->at = 0;
}

static bool is_over(void)
{
    for (int i = 0; i < CLIENTS * THREADS; i++) {
        if (!clients[i / THREADS].threads[i % THREADS].is_done)
            return false;
    }
    return true;
}

static void say_where(void)
{
    for (int i = 0; i < CLIENTS * THREADS; i++) {
        const struct strand *t = &clients[i / THREADS].threads[i % THREADS];

        if (!t->is_done)
            fprintf(stderr, MARK "%02d: round %" PRId64 ", %s\n", t->number, t->round,
                    t->round < 0 ? "opened" : word_of(op_of(t)));
    }
}

static void open_threads(struct client *c, const char *socket, const char *dir, int first)
{
    c->fd = dial(socket);
    c->text = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    send_line(c->fd,
              "{\"id\":0,\"method\":\"initialize\",\"params\":{\"clientInfo\":{\"name\":\"crowd\","
              "\"version\":\"1\"}}}");
    for (int i = 0; i < THREADS; i++) {
        struct strand *t = &c->threads[i];

        *t = (struct strand){.number = first + i, .round = -1, .asked = ++c->next_id};
        send_line(c->fd,
                  "{\"id\":%" PRId64 ",\"method\":\"thread/start\",\"params\":{\"cwd\":\"%s/work\","
                  "\"approvalPolicy\":\"untrusted\",\"sandbox\":\"workspace-write\"}}",
                  t->asked, dir);
    }
}

/* One that asks for a lot and never reads it. */
static int open_stalled(const char *socket, const char *dir)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    int fd = dial(socket);
    struct str mark = STR("\"result\":{\"thread\":{\"id\":\"");

    send_line(
        fd, "{\"id\":0,\"method\":\"initialize\",\"params\":{\"clientInfo\":{\"name\":\"stalled\","
            "\"version\":\"1\"}}}");
    send_line(fd, "{\"id\":1,\"method\":\"thread/start\",\"params\":{\"cwd\":\"%s/work\"}}", dir);
    while (str_find(buf_str(&text), mark) == text.len) {
        char *room = buf_room(&text, 1 << 16);
        ssize_t n = read(fd, room, 1 << 16);

        CHECK(n > 0, "the server has gone");
        buf_grown(&text, (size_t)n);
        CHECK(!str_has(buf_str(&text), STR("\"error\"")), "%s", buf_cstr(&text));
    }
    send_line(fd,
              "{\"id\":2,\"method\":\"turn/"
              "start\",\"params\":{\"threadId\":\"%.36s\",\"input\":[{\"type\":"
              "\"text\",\"text\":\"flood\"}]}}",
              text.ptr + str_find(buf_str(&text), mark) + mark.len);
    return fd;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/tenax-many-XXXXXX";
    CLEANUP(buf_release) struct buf socket = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf scenario = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf work = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf home = BUF_INIT(4096);
    int stalled;
    int status;
    pid_t pid;

    CHECK(argc == 3 && str_to_i64(str_of(argv[2]), &rounds, NULL) == 0,
          "usage: many_clients TENAX ROUNDS");
    CHECK(mkdtemp(dir), "no folder");
    buf_addf(&socket, "%s/socket", dir);
    buf_addf(&scenario, "%s/scenario", dir);
    buf_addf(&work, "%s/work", dir);
    buf_addf(&home, "%s/home", dir);
    CHECK(file_mkdirs(buf_cstr(&work), 0700, NULL) == 0 &&
              file_mkdirs(buf_cstr(&home), 0700, NULL) == 0,
          "no folders");
    write_scenario(buf_cstr(&scenario));
    pid = start(argv[1], dir, buf_cstr(&socket), buf_cstr(&scenario));
    stalled = open_stalled(buf_cstr(&socket), dir);
    for (int i = 0; i < CLIENTS; i++)
        open_threads(&clients[i], buf_cstr(&socket), dir, i * THREADS);
    while (!is_over()) {
        struct pollfd fds[CLIENTS];
        int n;

        for (int i = 0; i < CLIENTS; i++)
            fds[i] = (struct pollfd){.fd = clients[i].fd, .events = POLLIN};
        n = poll(fds, CLIENTS, PATIENCE_MS);
        if (n <= 0)
            say_where();
        CHECK(n > 0, "nothing comes");
        for (int i = 0; i < CLIENTS; i++) {
            if (fds[i].revents)
                read_some(&clients[i]);
        }
    }
    CHECK(kill(pid, SIGTERM) == 0, "the server has gone");
    CHECK(waitpid(pid, &status, 0) == pid, "lost the server");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the server ended with %x",
          (unsigned)status);
    for (int i = 0; i < CLIENTS; i++) {
        close(clients[i].fd);
        buf_release(&clients[i].text);
    }
    close(stalled);
    CHECK(nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0, "cannot remove %s", dir);
    printf("%d threads of %d clients, %" PRId64 " rounds each\n", CLIENTS * THREADS, CLIENTS,
           rounds);
    return 0;
}
