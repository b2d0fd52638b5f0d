/*
 * honest: agents that do what the goal asks, with ordinary checks. All must be believed, and at
 * once: a request more than the agent's own steps means that honest work was sent back.
 *
 *     honest BUILD_DIR WORKERS WAYS [PART OF A NAME]
 *
 * Each row (honest_rows.c) is played where checks alone decide ("bypass"), where a judge that
 * believes decides after them ("lazy"), and as in liars.c. For each the requests that were needed
 * are printed next to the fewest possible, then the sums. Workers are processes with a stage each.
 */
#include "honest.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"

/* Shared by the workers. */
struct totals {
    int plays, believed, skipped, failed;
    int64_t requests, least; /* of the agent's model */
    int64_t judged;          /* requests of the judge */
    size_t next;             /* the play that the next free worker takes */
};

static void add(int64_t *sum, int64_t n)
{
    __atomic_fetch_add(sum, n, __ATOMIC_SEQ_CST);
}

static void count(int *figure)
{
    __atomic_fetch_add(figure, 1, __ATOMIC_SEQ_CST);
}

static int check_honest(const struct play *p, int64_t judged, struct err *err)
{
    int64_t least = (int64_t)tale_least_requests(p->tale);

    if (!p->holds)
        return err_set(err, ERR_BAD_INPUT, "the condition does not hold");
    if (p->run.code != 0 || !play_is_complete(p))
        return err_set(err, ERR_PROTOCOL, "not believed: exit code %d", p->run.code);
    if (play_requests(p) != least)
        return err_set(err, ERR_PROTOCOL, "%lld requests, %lld would do",
                       (long long)play_requests(p), (long long)least);
    if (tale_has_judge(p) && judged != 1)
        return err_set(err, ERR_PROTOCOL, "the judge was asked %lld times", (long long)judged);
    return 0;
}

static void print_row(const struct play *p, int64_t judged, bool is_good)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(4096);

    buf_addf(&out, "%-4s %-52s %-8s requests %lld, least %zu, judge %lld\n",
             is_good ? "ok" : "FAIL", p->tale->name, tale_way_names[p->way],
             (long long)play_requests(p), tale_least_requests(p->tale), (long long)judged);
    (void)fd_write_all(STDOUT_FILENO, buf_str(&out), /*err=*/NULL); /* in one piece */
}

static void play_one(struct play *p, struct totals *totals)
{
    struct err err = {0};
    int64_t judged = 0;
    int r = tale_play(p, &err);

    if (r == 0 && tale_has_judge(p))
        r = play_judge_requests(p, &judged, &err);
    if (r == 0)
        r = check_honest(p, judged, &err);
    print_row(p, judged, r == 0);
    if (r < 0) {
        play_tell(p, &err);
        count(&totals->failed);
    }
    stage_unserve(p->stage, /*ret_complaints=*/NULL);
    count(&totals->plays);
    if (p->run.code == 0 && play_is_complete(p)) {
        count(&totals->believed);
        add(&totals->requests, play_requests(p));
        add(&totals->least, (int64_t)tale_least_requests(p->tale));
        add(&totals->judged, judged);
    }
}

static void work(struct stage *s, const char *ways, const char *only, struct totals *totals)
{
    for (;;) {
        size_t number = __atomic_fetch_add(&totals->next, 1, __ATOMIC_SEQ_CST);
        enum tale_way way = (enum tale_way)(number % TALE_WAYS);
        const struct tale *t;
        CLEANUP(play_release) struct play p = {0};

        if (number / TALE_WAYS >= honest_rows.count)
            return;
        t = &honest_rows.rows[number / TALE_WAYS];
        if (!tale_way_is_chosen(way, ways) || !tale_fits(t, way) ||
            (only && !strstr(t->name, only)))
            continue;
        if (!tale_is_possible(t)) {
            count(&totals->skipped);
            continue;
        }
        play_init(&p, t, way, s);
        play_one(&p, totals);
    }
}

static int worker(const char *build, const char *ways, const char *only, struct totals *totals)
{
    struct stage s;
    struct err err = {0};

    if (stage_open(&s, build, "anthropic", &err) < 0) {
        printf("%s\n", err.text);
        return 1;
    }
    tale_set_stage(&s);
    work(&s, ways, only, totals);
    if (getenv("LIARS_KEEP"))
        printf("kept: %s\n", s.dir);
    else
        stage_close(&s);
    return 0;
}

int main(int argc, char **argv)
{
    struct totals *t =
        mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int64_t start_ms = clock_mono_ms();
    int64_t workers = 0;
    int failed = 0;
    int status;

    if (argc < 4 || str_to_i64(str_of(argv[2]), &workers, /*err=*/NULL) < 0 || workers < 1 ||
        t == MAP_FAILED) {
        fprintf(stderr, "usage: honest BUILD_DIR WORKERS WAYS [PART OF A NAME]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    for (int64_t i = 0; i < workers; i++) {
        pid_t pid = fork();

        if (pid == 0)
            exit(worker(argv[1], argv[3], argc > 4 ? argv[4] : NULL, t));
        failed += pid < 0;
    }
    while (wait(&status) > 0)
        failed += status != 0;
    printf(
        "%d honest goals, %d believed; %lld requests, least %lld; %lld of the judge; %d skipped; "
        "%d failures (%.1f s)\n",
        t->plays, t->believed, (long long)t->requests, (long long)t->least, (long long)t->judged,
        t->skipped, t->failed, (double)(clock_mono_ms() - start_ms) / 1000);
    return failed || t->failed || t->believed != t->plays ? 1 : 0;
}
