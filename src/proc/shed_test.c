#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/shed.h"
#include "sync/thread.h"
#include "unit.h"

#define PLACE_BYTES ((size_t)1 << 20)
#define STILL_THERE 3

extern char **environ;

static char data[64] = "the program's";
static const char rodata[] = "and what is not written";

/* In the child: 0, or the number of the error. Plain system calls only. */
static int look(void *place)
{
    char local[64];
    unsigned char there;
    int fd;

    shed_memory();
    errno = 0; /* which is the thread's own */
    if (data[0] != 't' || rodata[0] != 'a')
        return 1;
    memcpy(local, data, sizeof(local));
    fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, local, sizeof(local)) != sizeof(local))
        return 2;
    if (!place)
        return 0;
    return mincore(place, 1, &there) < 0 && errno == ENOMEM ? 0 : STILL_THERE;
}

struct question {
    char **environ;
    int answer;
};

/* On a separate thread, as the zygote is forked from one. */
static void ask(void *arg)
{
    struct question *q = arg;
    void *place = mmap(NULL, PLACE_BYTES, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = -1;
    pid_t child = fork();

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    place = NULL; /* where nothing is given back */
#endif
    if (child == 0) {
        environ = q->environ;
        _exit(look(place));
    }
    waitpid(child, &status, 0);
    q->answer = WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static int asked(char **env)
{
    struct question q = {.environ = env, .answer = -1};
    struct thread *t = thread_start("ask", ask, &q, NULL);

    assert_non_null(t);
    thread_join(t);
    return q.answer;
}

static void test_shed(void **state)
{
    char *none[] = {NULL};

    (void)state;
    if (getenv("LD_PRELOAD") || access("/etc/ld.so.preload", F_OK) == 0)
        skip();
    assert_int_equal(asked(none), 0);
}

/* Calls may lead into a library that stands in front of the C library: nothing goes. */
static void test_preloaded(void **state)
{
    char name[] = "LD_PRELOAD=libsomebody.so";
    char *env[] = {name, NULL};

    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    assert_int_equal(asked(env), 0);
#else
    assert_int_equal(asked(env), STILL_THERE);
#endif
}

UNIT_TEST(shed)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shed),
        cmocka_unit_test(test_preloaded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
