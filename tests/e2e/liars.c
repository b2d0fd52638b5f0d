/*
 * liars: agents that claim success falsely, each in its own way, against the real program; none may
 * be believed. And honest ones, who must be.
 *
 *     liars BUILD_DIR WORKERS WAYS [PART OF A NAME]
 *
 * Each row of the tables (liars.h) is played in each of the WAYS (such as "bypass,sandbox"; "all")
 * in which it makes sense. Exit code 0 and a goal that is complete are right only if the condition
 * holds; a liar's report must name what refused it; and what the judge was shown must have stood in
 * its place. Rows that no program can see (liar_rows_unseen.c) must be believed by checks alone, so
 * that the list stays true, and refused by a judge.
 *
 * Plays are shared out among workers, processes with a stage each. LIARS_KEEP=1 leaves the stages
 * as they are, LIARS_SHORT=1 leaves out reports, LIARS_LOUD=1 shows what setups print, LIARS_WEAK=1
 * also names the lies that the check itself sees, as many of the older ones. Main thread.
 */
#include "liars.h"

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

#define EXIT_BLOCKED 10
#define EXIT_LIMITED 11
#define EXIT_PAUSED 13

static const struct tale_table *const tables[] = {
    &liar_rows,          &liar_rows_judge,   &liar_rows_evidence, &liar_rows_claims,
    &liar_rows_checks,   &liar_rows_runners, &liar_rows_git,      &liar_rows_terms,
    &liar_rows_disguise, &liar_rows_early,   &liar_rows_unseen,
};

/* What became of all plays; shared by the workers. */
struct totals {
    int liars, believed;         /* liars, and those whose goal became complete */
    int honest, honest_believed; /* the others */
    int unseen, unseen_believed; /* lies that checks alone cannot see */
    int skipped;                 /* a program is missing */
    int failed;
    size_t next; /* the play that the next free worker takes */
};

static void count(int *figure)
{
    __atomic_fetch_add(figure, 1, __ATOMIC_SEQ_CST);
}

/* ---- What must come of it ---- */

static int check_end(const struct play *p, struct err *err)
{
    int code = p->run.code;
    int wanted = p->tale->is_patient ? EXIT_BLOCKED : EXIT_LIMITED;

    if (p->tale->ends_anyhow ? code >= EXIT_BLOCKED && code <= EXIT_PAUSED : code == wanted)
        return 0;
    return err_set(err, ERR_PROTOCOL, "exit code %d", code);
}

static int check_report(const struct play *p, struct err *err)
{
    const struct tale *t = p->tale;
    struct str report = buf_str(&p->told);
    size_t at = str_find(report, STR("## Refused"));

    if (at == report.len)
        return t->ends_anyhow ? 0 : err_set(err, ERR_PROTOCOL, "the report names no refusal");
    /* In the sandbox the trick itself may fail, and then nothing else is to be named. */
    if (p->way == TALE_SANDBOX)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(t->report) && t->report[i]; i++) {
        if (!str_has(str_from(report, at), str_of(t->report[i])))
            return err_set(err, ERR_PROTOCOL, "the report does not name '%s'", t->report[i]);
    }
    return 0;
}

static int check_liar(const struct play *p, struct err *err)
{
    if (p->holds)
        return p->tale->may_hold ? 0 : err_set(err, ERR_BAD_INPUT, "no lie: the condition holds");
    if (p->run.code == 0 || play_is_complete(p))
        return err_set(err, ERR_PROTOCOL, "BELIEVED");
    if (getenv("LIARS_WEAK") && !play_checks_pass(p))
        return err_set(err, ERR_BAD_INPUT, "a weak lie: the check itself sees it");
    if (check_end(p, err) < 0 || check_report(p, err) < 0)
        return -1;
    return play_check_judge(p, err);
}

static int check_honest(const struct play *p, struct err *err)
{
    if (!p->holds)
        return err_set(err, ERR_BAD_INPUT, "the condition does not hold");
    if (p->run.code != 0 || !play_is_complete(p))
        return err_set(err, ERR_PROTOCOL, "not believed: exit code %d", p->run.code);
    return play_check_judge(p, err);
}

static int check_unseen(const struct play *p, struct err *err)
{
    if (p->holds)
        return err_set(err, ERR_BAD_INPUT, "no lie: the condition holds");
    if (p->run.code != 0 || !play_is_complete(p))
        return err_set(err, ERR_PROTOCOL,
                       "checks alone see this lie now: move the row to the others");
    return 0;
}

/* ---- All of them ---- */

static void play_one(struct play *p, struct totals *totals)
{
    const struct tale *t = p->tale;
    bool is_unseen = t->unseen && !tale_has_judge(p);
    struct err err = {0};
    int r = tale_play(p, &err);
    bool is_believed = p->run.code == 0 || play_is_complete(p);

    if (r == 0)
        r = t->is_honest ? check_honest(p, &err)
            : is_unseen  ? check_unseen(p, &err)
                         : check_liar(p, &err);
    if (r < 0) {
        play_tell(p, &err);
        count(&totals->failed);
    }
    stage_unserve(p->stage, /*ret_complaints=*/NULL);
    count(t->is_honest ? &totals->honest : is_unseen ? &totals->unseen : &totals->liars);
    if (is_believed && (t->is_honest || !p->holds))
        count(t->is_honest ? &totals->honest_believed
              : is_unseen  ? &totals->unseen_believed
                           : &totals->believed);
}

/* The row and the way of a play; NULL: there are no more. */
static const struct tale *find_play(size_t number, enum tale_way *ret_way)
{
    *ret_way = (enum tale_way)(number % TALE_WAYS);
    number /= TALE_WAYS;
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        if (number < tables[i]->count)
            return &tables[i]->rows[number];
        number -= tables[i]->count;
    }
    return NULL;
}

/* LIARS_EVERY=6 plays every sixth row in each way, other rows in other ways. */
static bool is_sampled(size_t number)
{
    const char *every = getenv("LIARS_EVERY");
    size_t n = every ? (size_t)strtoul(every, NULL, 10) : 1;

    return n < 2 || (number / TALE_WAYS + number % TALE_WAYS) % n == 0;
}

static void work(struct stage *s, const struct stage *other, const char *ways, const char *only,
                 struct totals *totals)
{
    for (;;) {
        size_t number = __atomic_fetch_add(&totals->next, 1, __ATOMIC_SEQ_CST);
        enum tale_way way;
        const struct tale *t = find_play(number, &way);
        CLEANUP(play_release) struct play p = {0};

        if (!t)
            return;
        if (!tale_way_is_chosen(way, ways) || !tale_fits(t, way) ||
            (only && !strstr(t->name, only)) || !is_sampled(number))
            continue;
        if (!tale_is_possible(t)) {
            count(&totals->skipped);
            continue;
        }
        play_init(&p, t, way, s);
        p.other = other;
        play_one(&p, totals);
    }
}

/* A server that says yes to everything. */
static int open_other(struct stage *other, const char *build, struct err *err)
{
    CLEANUP(mem_freep) char *file = NULL;

    if (stage_open(other, build, "anthropic", err) < 0)
        return -1;
    file = path_join(other->dir, "yes.scenario");
    if (file_replace(file,
                     STR("step\n  sticky\n  call verdict {\"ok\": true, \"reason\": \"Yes.\"}\n"),
                     0600, err) < 0)
        return -1;
    return stage_serve(other, file, err);
}

static int worker(const char *build, const char *ways, const char *only, struct totals *totals)
{
    struct stage s;
    struct stage other;
    struct err err = {0};

    if (stage_open(&s, build, "anthropic", &err) < 0 || open_other(&other, build, &err) < 0) {
        printf("%s\n", err.text);
        return 1;
    }
    s.spared = other.server;
    tale_set_stage(&s);
    work(&s, &other, ways, only, totals);
    stage_close(&other);
    if (getenv("LIARS_KEEP"))
        printf("kept: %s\n", s.dir);
    else
        stage_close(&s);
    return 0;
}

static void print_totals(const struct totals *t, int64_t start_ms)
{
    printf("%d liars, %d believed; %d honest, %d believed; %d that only a judge sees, %d believed "
           "by checks; %d skipped; %d failures (%.1f s)\n",
           t->liars, t->believed, t->honest, t->honest_believed, t->unseen, t->unseen_believed,
           t->skipped, t->failed, (double)(clock_mono_ms() - start_ms) / 1000);
}

int main(int argc, char **argv)
{
    struct totals *totals =
        mmap(NULL, sizeof(*totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int64_t start_ms = clock_mono_ms();
    int64_t workers = 0;
    int failed = 0;
    int status;

    if (argc < 4 || str_to_i64(str_of(argv[2]), &workers, /*err=*/NULL) < 0 || workers < 1 ||
        totals == MAP_FAILED) {
        fprintf(stderr, "usage: liars BUILD_DIR WORKERS WAYS [PART OF A NAME]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    for (int64_t i = 0; i < workers; i++) {
        pid_t pid = fork();

        if (pid == 0)
            exit(worker(argv[1], argv[3], argc > 4 ? argv[4] : NULL, totals));
        failed += pid < 0;
    }
    while (wait(&status) > 0)
        failed += status != 0;
    print_totals(totals, start_ms);
    return failed || totals->failed || totals->believed ? 1 : 0;
}
