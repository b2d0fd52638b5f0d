#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "host/socket.h"
#include "sync/thread.h"

static char home[] = "/tmp/tenax-socket-XXXXXX";
static struct sockaddr_un where = {.sun_family = AF_UNIX};

static void *open_peer(struct socket_conn *c, void *arg)
{
    (void)arg;
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

static const struct socket_speaker speaker = {open_peer, hear, take_mail, let_go, let_go};

static int connect_to(void)
{
    CLEANUP(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    return connect(fd, (const struct sockaddr *)&where, sizeof(where)) < 0 ? errno : 0;
}

/* Odd while a socket is being made. */
static atomic_uint moment;
static atomic_bool is_over;
static atomic_uint refused;

/* Somebody who looks in all the time, as another process that starts just now does. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_from_the_start),
    };
    int rc;

    if (!mkdtemp(home))
        return 1;
    snprintf(where.sun_path, sizeof(where.sun_path), "%s/run/%d.sock", home, (int)getpid());
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    (void)rmdir(home);
    return rc;
}
