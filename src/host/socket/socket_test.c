#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "host/socket/server.h"
#include "host/socket/socket.h"
#include "host/socket/socket_call.h"
#include "sync/thread.h"
#include "unit.h"

static char home[] = "/tmp/tenax-socket-XXXXXX";
static struct sockaddr_un where = {.sun_family = AF_UNIX};

static void *open_peer(struct server_conn *c, void *arg)
{
    if (arg)
        sem_post(arg);
    return c;
}

static void hear(void *peer, struct str line)
{
    (void)peer;
    (void)line;
}

static void take_mail(void *peer, struct mail *m)
{
    (void)peer;
    (void)m;
}

static void let_go(void *peer)
{
    (void)peer;
}

static const struct speaker speaker = {
    .open = open_peer, .line = hear, .mail = take_mail, .ready = let_go, .close = let_go};

static int connect_to(void)
{
    CLEANUP(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    return connect(fd, (const struct sockaddr *)&where, sizeof(where)) < 0 ? errno : 0;
}

/* Odd while a socket is being made. */
static atomic_uint moment;
static atomic_bool is_over;
static atomic_uint refused;

/* Checks all the time, as another process that just starts does. */
static void look_in(void *arg)
{
    (void)arg;
    while (!atomic_load(&is_over)) {
        unsigned before = atomic_load(&moment);

        if (connect_to() == ECONNREFUSED && before % 2 && atomic_load(&moment) == before)
            atomic_fetch_add(&refused, 1);
    }
}

/* Else it would be taken for the socket of a dead process, and removed. */
static void test_answers_from_the_start(void **state)
{
    struct thread *other = thread_start("other", look_in, NULL, NULL);
    struct err err = {0};

    (void)state;
    for (int i = 0; i < 60; i++) {
        struct socket *s = NULL;

        atomic_fetch_add(&moment, 1);
        if (socket_start(home, &speaker, NULL, &s, &err) < 0)
            fail_msg("%s", err.text);
        atomic_fetch_add(&moment, 1);
        socket_stop(s);
        assert_int_equal(connect_to(), ENOENT);
    }
    atomic_store(&is_over, true);
    thread_join(other);
    assert_int_equal(atomic_load(&refused), 0);
}

/* A client connects while the process has no descriptor left: it is served once it has one
 * again. */
static void test_short_of_descriptors(void **state)
{
    struct rlimit before;
    struct rlimit few;
    struct err err = {0};
    struct socket *s = NULL;
    sem_t opened;
    int client;
    int next;

    (void)state;
    sem_init(&opened, 0, 0);
    if (socket_start(home, &speaker, &opened, &s, &err) < 0)
        fail_msg("%s", err.text);
    client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    next = fcntl(client, F_DUPFD_CLOEXEC, 0);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = (rlim_t)next;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(connect(client, (const struct sockaddr *)&where, sizeof(where)), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    while (sem_wait(&opened) < 0)
        continue;
    close(client);
    socket_stop(s);
    sem_destroy(&opened);
}

/* A stopped process accepts no one, and so many wait already that one more cannot: the call still
 * ends. */
static void test_too_many_wait(void **state)
{
    CLEANUP(buf_release) struct buf answer = BUF_INIT(1000);
    struct sockaddr_un deaf = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct err err = {0};
    int waiting[8];
    size_t n = 0;

    (void)state;
    snprintf(deaf.sun_path, sizeof(deaf.sun_path), "%s/deaf.sock", home);
    assert_int_equal(bind(listener, (const struct sockaddr *)&deaf, sizeof(deaf)), 0);
    assert_int_equal(listen(listener, 0), 0);
    do {
        assert_true(n < ARRAY_LEN(waiting));
        waiting[n] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    } while (connect(waiting[n++], (const struct sockaddr *)&deaf, sizeof(deaf)) == 0);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(socket_call(deaf.sun_path, /*session=*/NULL, STR("{}"), 60000, /*cancel=*/NULL,
                                 &answer, &err),
                     -1);
    assert_int_equal(err.code, ERR_TIMEOUT);
    while (n > 0)
        close(waiting[--n]);
    close(listener);
    (void)unlink(deaf.sun_path);
}

/* A process that ends closes its socket while it is being asked: the same as an end of file. */
static void test_hangs_up_while_asked(void **state)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CLEANUP(buf_release) struct buf answer = BUF_INIT(1000);
    CLEANUP(buf_release) struct buf request = BUF_INIT(2 << 20);
    struct err err = {0};
    pid_t child;

    (void)state;
    snprintf(at.sun_path, sizeof(at.sun_path), "%s/ends.sock", home);
    assert_int_equal(bind(listener, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(listener, 1), 0);
    while (request.len < 1 << 20) /* more than the kernel takes at once */
        buf_adds(&request, "                                ");
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(accept(listener, NULL, NULL) < 0);
    assert_int_equal(socket_call(at.sun_path, /*session=*/NULL, buf_str(&request), 60000,
                                 /*cancel=*/NULL, &answer, &err),
                     -1);
    assert_int_equal(err.code, ERR_PROTOCOL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(listener);
    (void)unlink(at.sun_path);
}

/* A process that says no: the call has failed, in its words. */
static void test_says_no(void **state)
{
    static const char no[] = "{\"type\":\"control_response\",\"response\":{\"subtype\":\"error\","
                             "\"request_id\":\"call\",\"error\":\"not now\"}}\n";
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CLEANUP(buf_release) struct buf answer = BUF_INIT(1000);
    struct err err = {0};
    pid_t child;
    int status;

    (void)state;
    snprintf(at.sun_path, sizeof(at.sun_path), "%s/no.sock", home);
    assert_int_equal(bind(listener, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(listener, 1), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int fd = accept(listener, NULL, NULL);
        char c;

        if (write(fd, no, sizeof(no) - 1) != (ssize_t)sizeof(no) - 1)
            _exit(1);
        while (read(fd, &c, 1) > 0) /* until the caller has read it */
            continue;
        _exit(0);
    }
    assert_int_equal(socket_call(at.sun_path, /*session=*/NULL, STR("{}"), 60000, /*cancel=*/NULL,
                                 &answer, &err),
                     -1);
    assert_int_equal(err.code, ERR_DENIED);
    assert_string_equal(err.text, "not now");
    assert_int_equal(waitpid(child, &status, 0), child);
    close(listener);
    (void)unlink(at.sun_path);
}

UNIT_TEST(socket)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_from_the_start),
        cmocka_unit_test(test_short_of_descriptors),
        cmocka_unit_test(test_too_many_wait),
        cmocka_unit_test(test_hangs_up_while_asked),
        cmocka_unit_test(test_says_no),
    };
    int rc;

    if (!mkdtemp(home))
        return 1;
    snprintf(where.sun_path, sizeof(where.sun_path), "%s/run/%d.sock", home, (int)getpid());
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    (void)rmdir(home);
    return rc;
}
