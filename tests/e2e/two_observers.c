/*
 * Standard output and the control socket show one session.
 *
 * A session is driven over standard input. One client of the socket reads along and must get the
 * lines that standard output gets, byte for byte. Another one observes and never reads: the turns
 * still continue, it is dropped, is notified when it reads at last, and reads again from there.
 * Only its user can use the socket.
 *
 *     two_observers TENAX
 */
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "check.h"
#include "json/json.h"

#define TURNS 16
#define TEXT_BYTES 300000
#define PATIENCE_MS 60000
#define NOBODY 65534
#define ASK_ALL                                                                                    \
    "{\"type\":\"control_request\",\"request_id\":\"o\",\"request\":{\"subtype\":\"observe\"}}"

struct end {
    int fd;
    const char *name;
    struct buf text;
    size_t at; /* of the line to be taken next */
};

static void end_init(struct end *e, int fd, const char *name)
{
    *e = (struct end){.fd = fd, .name = name, .text = BUF_INIT(BUF_NO_LIMIT)};
}

static void read_some(struct end *e)
{
    char *room = buf_room(&e->text, 1 << 16);
    ssize_t n = read(e->fd, room, 1 << 16);

    CHECK(n > 0, "%s: it ended early", e->name);
    buf_grown(&e->text, (size_t)n);
}

/* The next line. `along` is read at the same time, so that neither waits for the other; NULL:
 * none. */
static struct str next_line(struct end *e, struct end *along)
{
    for (;;) {
        struct str rest = str_from(buf_str(&e->text), e->at);
        size_t len = str_chr(rest, '\n');
        struct pollfd fds[2] = {{.fd = e->fd, .events = POLLIN},
                                {.fd = along ? along->fd : -1, .events = POLLIN}};

        if (len < rest.len) {
            e->at += len + 1;
            return str_first(rest, len);
        }
        CHECK(poll(fds, 2, PATIENCE_MS) > 0, "%s: nothing comes", e->name);
        if (fds[0].revents)
            read_some(e);
        if (fds[1].revents)
            read_some(along);
    }
}

static bool is_type(struct str line, const char *begin)
{
    return str_starts(line, str_of(begin));
}

/* Lines up to the one that begins so. */
static struct str find_line(struct end *e, struct end *along, const char *begin)
{
    struct str line = next_line(e, along);

    while (!is_type(line, begin))
        line = next_line(e, along);
    return line;
}

static void say_to(int fd, const char *line)
{
    CHECK(fd_write_all(fd, str_of(line), NULL) == 0, "cannot write");
    CHECK(fd_write_all(fd, STR("\n"), NULL) == 0, "cannot write");
}

static int64_t number_in(struct str line, const char *member)
{
    struct arena arena = ARENA_INIT;
    const struct json *v = NULL;
    int64_t n;

    CHECK(json_parse(&arena, line, &v, NULL, NULL) == 0, "no JSON: %.*s",
          STR_ARG(str_first(line, 200)));
    n = json_get_i64(v, member, -1);
    arena_release(&arena);
    return n;
}

static int dial(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(strlen(path) < sizeof(at.sun_path), "'%s' is too long", path);
    memcpy(at.sun_path, path, strlen(path));
    CHECK(connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0, "cannot connect to %s", path);
    return fd;
}

static void set_modes(const char *sock, mode_t of_folders, mode_t of_socket)
{
    CLEANUP(mem_freep) char *path = mem_dup(sock, strlen(sock));

    CHECK(chmod(path, of_socket) == 0, "cannot change '%s'", path);
    for (int i = 0; i < 3; i++) { /* run, own, and the one of this test */
        *strrchr(path, '/') = 0;
        CHECK(chmod(path, of_folders) == 0, "cannot change '%s'", path);
    }
}

static int mode_of(const char *path)
{
    struct stat st;

    CHECK(stat(path, &st) == 0, "no '%s'", path);
    return st.st_mode & 07777;
}

/* Another user connects and asks for public data. 0: no answer. */
static int knock_as(uid_t user, const char *path)
{
    struct end e;
    char byte;

    if (setresuid(user, user, user) < 0)
        return 77; /* a user that does not exist in here */
    end_init(&e, dial(path), "another user");
    (void)send(e.fd, ASK_ALL "\n", strlen(ASK_ALL "\n"), MSG_NOSIGNAL);
    return read(e.fd, &byte, 1) > 0 ? 1 : 0;
}

/* The modes keep others out; should they not, the one who connects is looked at. */
static void check_closed(const char *path)
{
    CLEANUP(buf_release) struct buf dir = BUF_INIT(4096);
    int status;
    pid_t pid;

    buf_add(&dir, str_first(str_of(path), (size_t)(strrchr(path, '/') - path)));
    CHECK(mode_of(path) == 0600, "the socket has mode %o", mode_of(path));
    CHECK(mode_of(buf_cstr(&dir)) == 0700, "its folder has mode %o", mode_of(buf_cstr(&dir)));
    if (geteuid() != 0)
        return;
    set_modes(path, 0711, 0666);
    pid = fork();
    CHECK(pid >= 0, "no fork");
    if (pid == 0)
        _exit(knock_as(NOBODY, path));
    CHECK(waitpid(pid, &status, 0) == pid, "lost the other user");
    CHECK(status == 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 77),
          "another user was let in, or cannot even try: %x", (unsigned)status);
    set_modes(path, 0700, 0600);
}

static void observe(struct end *e, int64_t from)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(1024);

    buf_addf(&line,
             "{\"type\":\"control_request\",\"request_id\":\"o\",\"request\":{\"subtype\":"
             "\"observe\",\"from_seq\":%d}}",
             (int)from);
    say_to(e->fd, buf_cstr(&line));
}

static void write_scenario(const char *path)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_adds(&text, "step\n  sticky\n  chunk 1000\n  text ");
    for (int i = 0; i < TEXT_BYTES; i++)
        buf_addc(&text, (char)('a' + i % 26));
    buf_addc(&text, '\n');
    CHECK(file_replace(path, buf_str(&text), 0600, NULL) == 0, "cannot write %s", path);
}

static pid_t start(const char *tenax, const char *dir, int *ret_in, int *ret_out)
{
    CLEANUP(buf_release) struct buf model = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf home = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf own = BUF_INIT(4096);
    int in[2];
    int out[2];
    pid_t pid;

    buf_addf(&model, "scripted/%s/long.scenario", dir);
    buf_addf(&home, "HOME=%s", dir);
    buf_addf(&own, "TENAX_HOME=%s/own", dir);
    CHECK(pipe(in) == 0 && pipe(out) == 0, "no pipe");
    pid = fork();
    CHECK(pid >= 0, "no fork");
    if (pid == 0) {
        const char *const argv[] = {"tenax",     "--output-format",          "stream-json",
                                    "--verbose", "--input-format",           "stream-json",
                                    "--model",   buf_cstr(&model),           "-C",
                                    dir,         "--no-session-persistence", NULL};
        const char *const envp[] = {buf_cstr(&home), buf_cstr(&own), "PATH=/usr/bin:/bin", NULL};

        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        for (int fd = 3; fd < 64; fd++)
            close(fd);
        execve(tenax, (char *const *)argv, (char *const *)envp);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    *ret_in = in[1];
    *ret_out = out[0];
    return pid;
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/tenax-two-XXXXXX";
    CLEANUP(buf_release) struct buf path = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf last = BUF_INIT(BUF_NO_LIMIT);
    struct end out;
    struct end along;
    struct end stuck;
    struct str line;
    int64_t seq;
    pid_t pid;
    int in;
    int fd;
    int status;

    CHECK(argc == 2, "usage: two_observers TENAX");
    CHECK(mkdtemp(dir), "no folder");
    buf_addf(&path, "%s/long.scenario", dir);
    write_scenario(buf_cstr(&path));
    pid = start(argv[1], dir, &in, &fd);
    end_init(&out, fd, "standard output");
    say_to(in, "{\"type\":\"control_request\",\"request_id\":\"i\",\"request\":{\"subtype\":"
               "\"initialize\"}}");
    find_line(&out, NULL, "{\"type\":\"control_response\"");

    buf_clear(&path);
    buf_addf(&path, "%s/own/run/%d.sock", dir, (int)pid);
    check_closed(buf_cstr(&path));
    end_init(&along, dial(buf_cstr(&path)), "the one that reads along");
    end_init(&stuck, dial(buf_cstr(&path)), "the one that is stuck");
    observe(&along, 1);
    find_line(&along, NULL, "{\"type\":\"control_response\"");
    observe(&stuck, 1);
    find_line(&stuck, NULL, "{\"type\":\"control_response\"");

    for (int turn = 0; turn < TURNS; turn++) {
        say_to(in, "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"go\"}}");
        do {
            struct str other;

            line = next_line(&out, &along);
            buf_clear(&last); /* reading the other may move this one */
            buf_add(&last, line);
            other = next_line(&along, NULL);
            CHECK(str_eq(buf_str(&last), other), "turn %d: not the same:\n%.*s\n%.*s", turn,
                  STR_ARG(str_first(buf_str(&last), 300)), STR_ARG(str_first(other, 300)));
        } while (!is_type(buf_str(&last), "{\"type\":\"result\""));
    }

    line = find_line(&stuck, NULL, "{\"type\":\"system\",\"subtype\":\"observer_dropped\"");
    seq = number_in(line, "last_seq");
    CHECK(seq > 0, "dropped without a number: %.*s", STR_ARG(line));
    observe(&stuck, seq + 1);
    find_line(&stuck, NULL, "{\"type\":\"control_response\"");
    line = next_line(&stuck, NULL);
    CHECK(is_type(line, "{\"type\":\"system\",\"subtype\":\"observer_gap\""), "no gap: %.*s",
          STR_ARG(str_first(line, 200)));
    CHECK(number_in(line, "next_seq") > seq + 1, "a gap that is none: %.*s", STR_ARG(line));
    do {
        line = next_line(&stuck, NULL);
    } while (!str_eq(line, buf_str(&last))); /* the last result, as standard output had it */

    close(in);
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0,
          "tenax ended with %x", (unsigned)status);
    buf_clear(&path);
    buf_addf(&path, "%s/own", dir);
    CHECK(!file_exists(buf_cstr(&path)), "%s was left behind", buf_cstr(&path));
    buf_clear(&path);
    buf_addf(&path, "%s/long.scenario", dir);
    unlink(buf_cstr(&path));
    CHECK(rmdir(dir) == 0, "%s is not empty", dir);
    buf_release(&out.text);
    buf_release(&along.text);
    buf_release(&stuck.text);
    return 0;
}
