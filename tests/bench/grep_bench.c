/*
 * grep_bench: the built-in search beside `rg -P` and plain `rg`.
 *
 *     grep_bench [FOLDER [ROUNDS]]
 *
 * Each pattern is searched by all three in turn, round after round, so that whatever else the
 * machine does hits them alike; printed is the median of each in milliseconds. ripgrep's time is
 * from start to last byte of output, ours from the call to the written answer: that is what a
 * caller waits for.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "tools/search/grep_pattern.h"
#include "tools/search/grep_results.h"
#include "tools/search/grep_search.h"

#define MAX_ROUNDS 51

extern char **environ;

static const struct row {
    const char *what;
    const char *pattern;
    bool caseless;
    bool lines; /* print them; else only which files */
} rows[] = {
    {"a rare word", "pthread_rwlockattr_setpshared", false, true},
    {"a common word", "struct", false, false},
    {"a common word, its lines", "struct", false, true},
    {"nowhere", "zqxjkvbn", false, true},
    {"any case", "copyright", true, false},
    {"choices", "TODO|FIXME|XXX", false, true},
    {"a call", "\\bpthread_\\w+\\s*\\(", false, true},
    {"look-around", "(?<=struct )\\w+(?= \\*)", false, true},
    {"back reference", "\\b(\\w+) \\1\\b", false, true},
    {"no literal", "^\\s*\\w+\\s+\\w+\\s*\\(\\w+\\s+\\w+\\)", false, true},
    {"a class", "[A-Z]{12,}", false, true},
    {"not ASCII", "[^\\x00-\\x7f]", false, true},
};

static void ask_built_in(const struct row *row, const char *root)
{
    struct buf text = BUF_INIT(BUF_NO_LIMIT);
    enum grep_mode mode = row->lines ? GREP_CONTENT : GREP_FILES;
    size_t all = (size_t)1 << 40;
    struct grep_results *results = grep_results_new(mode, all, all);
    struct grep_search s = {
        .root = root,
        .git = true,
        .job = {.mode = mode, .numbers = true, .max_lines = all},
    };
    struct grep_page page = {.limit = all, .max_bytes = all};
    struct grep_pattern *pattern = NULL;
    struct walk_report report = {0};
    struct grep_summary sum;
    struct err err = {0};

    if (grep_pattern_new(str_of(row->pattern), row->caseless, false, &pattern, &err) < 0) {
        fprintf(stderr, "grep_bench: %s\n", err.text);
        exit(1);
    }
    s.job.pattern = pattern;
    if (grep_search_built_in(&s, results, &report, &err) < 0) {
        fprintf(stderr, "grep_bench: %s\n", err.text);
        exit(1);
    }
    grep_results_write(results, &page, &text, &sum);
    walk_report_release(&report);
    grep_results_free(results);
    grep_pattern_free(pattern);
    buf_release(&text);
}

/* Runs ripgrep and reads what it says to the end. */
static bool ask_ripgrep(const struct row *row, const char *root, bool pcre)
{
    const char *argv[12] = {"rg", "--no-config", "--color=never", "--no-heading"};
    size_t n = 4;
    posix_spawn_file_actions_t actions;
    char chunk[1 << 16];
    int ends[2];
    pid_t pid;
    int rc;

    if (!row) {
        argv[n++] = "--version";
    } else {
        argv[n++] = row->lines ? "-n" : "-l";
        if (pcre)
            argv[n++] = "-P";
        if (row->caseless)
            argv[n++] = "-i";
        argv[n++] = "-e";
        argv[n++] = row->pattern;
        argv[n++] = root;
    }
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    rc = posix_spawnp(&pid, "rg", &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    while (rc == 0) {
        ssize_t got = read(ends[0], chunk, sizeof(chunk));

        if (got == 0 || (got < 0 && errno != EINTR))
            break;
    }
    close(ends[0]);
    if (rc == 0)
        waitpid(pid, &rc, 0);
    return WIFEXITED(rc) && WEXITSTATUS(rc) <= 1;
}

static double median(double *times, unsigned count)
{
    bench_sort(times, count);
    return times[count / 2];
}

static double since(int64_t start_us)
{
    return (double)(clock_mono_us() - start_us) / 1000;
}

int main(int argc, char **argv)
{
    const char *root = argc > 1 ? argv[1] : "/usr/include";
    unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 7;
    double sum_ours = 0, sum_pcre = 0;

    if (rounds < 1 || rounds > MAX_ROUNDS)
        rounds = 7;
    if (!ask_ripgrep(NULL, root, false)) {
        printf("grep: no ripgrep to compare with\n");
        return 0;
    }
    printf("grep in %s, median of %u, ms%21s %9s %9s %9s\n", root, rounds, "built in", "rg -P",
           "rg", "/ rg -P");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        double times[3][MAX_ROUNDS];

        for (unsigned round = 0; round < rounds; round++) {
            int64_t start = clock_mono_us();

            ask_built_in(&rows[i], root);
            times[0][round] = since(start);
            start = clock_mono_us();
            (void)ask_ripgrep(&rows[i], root, true);
            times[1][round] = since(start);
            start = clock_mono_us();
            (void)ask_ripgrep(&rows[i], root, false);
            times[2][round] = since(start);
        }
        for (unsigned kind = 0; kind < 3; kind++)
            times[kind][0] = median(times[kind], rounds);
        sum_ours += times[0][0];
        sum_pcre += times[1][0];
        printf("  %-24s %-24.24s %9.1f %9.1f %9.1f %9.2f\n", rows[i].what, rows[i].pattern,
               times[0][0], times[1][0], times[2][0], times[0][0] / times[1][0]);
    }
    printf("  %-49s %9.1f %9.1f %9s %9.2f\n", "all", sum_ours, sum_pcre, "", sum_ours / sum_pcre);
    return 0;
}
