/*
 * Many threads of many processes on one database of goals, held against the model.
 *
 *     storm OPERATIONS [SEED]
 *
 * Four processes of eight threads each do random operations (op.h). Each thread has private goals,
 * whose every answer, row, ledger and queue must match the model, step by step. And all of them
 * share a few goals, whose ledger is their history: every change has written its line in the same
 * transaction. Replayed through the model in the order of the ledger, each line must be a change
 * that the model allows too, with the same row as the thread got, down to the final row; no change
 * is missing or duplicate, and every row read is one of these.
 *
 * At the same time further processes are killed in the middle of their changes: those in the ledger
 * have happened completely. Prints the seed; with the same one each thread does the same.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "goals/storm.h"
#include "store/store.h"
#include "store/test_home.h"
#include "sync/thread.h"

#define MIN_OPERATIONS 1000 /* fewer leave nothing to check */
#define MAX_OPERATIONS 10000000
#define OPERATIONS_PER_VICTIM 1000

_Noreturn void storm_fail(const struct storm *st, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "seed %llu: ", (unsigned long long)st->seed);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    _exit(1);
}

struct trace *storm_queued(struct storm *st, struct str name)
{
    char text[32];
    unsigned worker, n;

    snprintf(text, sizeof(text), "%.*s", STR_ARG(name));
    if (sscanf(text, "%u.%u", &worker, &n) != 2 || worker >= WORKERS || n >= st->ops)
        storm_fail(st, "'%s' was never queued", text);
    return storm_trace(st, worker, n);
}

int storm_run(struct worker *w, const struct op *op, const struct goal_event *event,
              struct store_goal *ret)
{
    struct err err;
    int answer = STORM_CALL(w->storm, &err, op_run(op, w->store, event, &w->arena, ret, &err));

    if (answer < 0 && err.code != ERR_BAD_INPUT)
        STORM_FAIL(w, "%s: %s", op_name(op->kind), err.text);
    return answer;
}

struct str storm_expected(const struct op *op, struct str seen)
{
    static const char wrong[] = "ffffffff-0000-4000-8000-000000000000";

    if (op->expect == EXPECT_ANY)
        return STR("");
    return op->expect == EXPECT_SEEN ? seen : str_of(wrong);
}

/* ---- Workers ---- */

static void worker_init(struct worker *w, struct storm *st, struct store *s, unsigned number)
{
    *w = (struct worker){.storm = st, .store = s, .number = number};
    w->random = st->seed * 1000003 + number;
    for (unsigned i = 0; i < OWN; i++)
        snprintf(w->own[i].thread, sizeof(w->own[i].thread), "own-%u-%u", number, i);
}

static void worker_release(struct worker *w)
{
    for (size_t i = 0; i < OWN; i++)
        vec_release(&w->own[i].ledger);
    arena_release(&w->arena);
}

static void work(void *arg)
{
    struct worker *w = arg;

    for (w->n = 0; w->n < w->storm->ops; w->n++) {
        arena_reset(&w->arena);
        if (op_below(&w->random, 10) < 4)
            shared_step(w);
        else
            own_step(w);
    }
    for (size_t i = 0; i < OWN; i++) {
        arena_reset(&w->arena);
        own_check(w, &w->own[i]);
    }
}

static struct store *open_store(struct storm *st)
{
    struct store *s = NULL;
    struct err err;

    if (STORM_CALL(st, &err, store_open("sqlite", test_home, NULL, &s, &err)) < 0)
        storm_fail(st, "%s", err.text);
    return s;
}

static int process_main(struct storm *st, unsigned process)
{
    static struct worker workers[THREADS];
    struct thread *threads[THREADS];
    struct store *s = open_store(st);

    for (unsigned i = 0; i < THREADS; i++) {
        worker_init(&workers[i], st, s, process * THREADS + i);
        threads[i] = thread_start("worker", work, &workers[i], NULL);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        thread_join(threads[i]);
        worker_release(&workers[i]);
    }
    store_free(s);
    return 0;
}

/* ---- Victims ---- */

struct killer {
    _Atomic unsigned done; /* operations */
    unsigned after;
    uint64_t rounds;
};

static void kill_all(void *arg)
{
    struct killer *k = arg;

    while (atomic_load(&k->done) < k->after)
        ;
    for (volatile uint64_t i = 0; i < k->rounds; i++)
        ;
    kill(getpid(), SIGKILL);
}

/* Works on shared goals until it is killed somewhere in the middle. */
static int victim_main(struct storm *st, unsigned number)
{
    static struct worker w;
    struct killer killer = {0};
    struct thread *thread;

    worker_init(&w, st, open_store(st), number);
    killer.after = 1 + (unsigned)op_below(&w.random, st->ops < 40 ? st->ops : 40);
    killer.rounds = op_below(&w.random, 100000);
    thread = thread_start("killer", kill_all, &killer, NULL);
    for (w.n = 0; w.n < st->ops; w.n++) {
        arena_reset(&w.arena);
        shared_change(&w);
        atomic_fetch_add(&killer.done, 1);
    }
    thread_join(thread); /* it has not been fast enough */
    return 1;
}

static pid_t start(struct storm *st, int (*main_fn)(struct storm *, unsigned), unsigned number)
{
    pid_t pid;

    (void)fflush(NULL);
    pid = fork();
    if (pid < 0)
        storm_fail(st, "fork");
    if (pid == 0)
        _exit(main_fn(st, number));
    return pid;
}

static int wait_for(struct storm *st, pid_t pid)
{
    int status = 0;

    if (waitpid(pid, &status, 0) != pid)
        storm_fail(st, "waitpid");
    return status;
}

int main(int argc, char **argv)
{
    struct storm st = {.seed = 1};
    pid_t processes[PROCESSES];
    int64_t began_ms = clock_mono_ms();
    int64_t operations = 0;
    int64_t seed = 1;
    unsigned killed = 0;
    struct store *s;
    size_t bytes;
    char *memory;

    if (argc < 2 || str_to_i64(str_of(argv[1]), &operations, NULL) < 0 ||
        operations < MIN_OPERATIONS || operations > MAX_OPERATIONS ||
        (argc > 2 && str_to_i64(str_of(argv[2]), &seed, NULL) < 0)) {
        fprintf(stderr, "usage: storm OPERATIONS [SEED]\n");
        return 2;
    }
    st.seed = (uint64_t)seed;
    st.ops = (unsigned)((operations + WORKERS - 1) / WORKERS);
    st.victims = operations < 100 * OPERATIONS_PER_VICTIM
                     ? (unsigned)(operations / OPERATIONS_PER_VICTIM)
                     : 100;
    bytes = sizeof(uint64_t) + (size_t)(WORKERS + st.victims) * st.ops * sizeof(struct trace);
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || home_setup(NULL) < 0)
        storm_fail(&st, "no memory, or no folder");
    st.patient = (_Atomic uint64_t *)memory;
    st.traces = (struct trace *)(memory + sizeof(uint64_t));
    for (unsigned i = 0; i < SHARED; i++)
        snprintf(st.threads[i], sizeof(st.threads[i]), "shared-%u", i);
    printf("seed %llu\n", (unsigned long long)st.seed);

    for (unsigned i = 0; i < PROCESSES; i++)
        processes[i] = start(&st, process_main, i);
    for (unsigned i = 0; i < st.victims; i++) {
        int status = wait_for(&st, start(&st, victim_main, WORKERS + i));

        if (WIFEXITED(status) && WEXITSTATUS(status))
            storm_fail(&st, "victim %u failed", i);
        killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    }
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status = wait_for(&st, processes[i]);

        if (status)
            storm_fail(&st, "process %u ended with %#x", i, (unsigned)status);
    }
    printf("%u operations by %d threads of %d processes in %.1f s; %u processes killed meanwhile; "
           "waited long: %llu\n",
           WORKERS * st.ops, WORKERS, PROCESSES, (double)(clock_mono_ms() - began_ms) / 1000,
           killed, (unsigned long long)*st.patient);
    s = open_store(&st);
    replay_check(&st, s);
    store_free(s);
    munmap(memory, bytes);
    home_teardown(NULL);
    return 0;
}
