/*
 * append_bench: what it costs to write a line of a conversation down.
 *
 *     append_bench [LINES]
 *
 * Appends lines of 1 KB to a transcript, as a session does, with each setting of fsync, and prints
 * the median and the slow end of the time until a line counts as written. Nothing here passes or
 * fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "bench/bench.h"
#include "store/transcript/transcript.h"

#define MAX_LINES 1000000
#define LINE_BYTES 1024
#define TURN_LINES 10 /* every so many a turn ends */

static void measure(const char *folder, const char *name, enum transcript_sync sync, size_t lines)
{
    CLEANUP(mem_freep) char *path = path_join(folder, name);
    struct transcript *t = transcript_new(path, sync);
    double *us = mem_alloc(lines * sizeof(*us));
    char line[LINE_BYTES];
    struct err err = {0};

    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\n';
    for (size_t i = 0; i < lines; i++) {
        int64_t start_us = clock_mono_us();

        if (transcript_message(t, str_make(line, sizeof(line)), i % TURN_LINES == 0, &err) < 0)
            bench_die("append_bench", err.text);
        us[i] = (double)(clock_mono_us() - start_us);
    }
    transcript_free(t);
    bench_sort(us, lines);
    printf("  fsync %-7s %8.0f us median %8.0f us p99 %8.0f us most\n", name, us[lines / 2],
           us[lines * 99 / 100], us[lines - 1]);
    mem_freep(&us);
}

int main(int argc, char **argv)
{
    char folder[] = "/var/tmp/tenax-append-XXXXXX"; /* /tmp may be memory */
    int64_t lines = 10000;

    if ((argc > 1 && str_to_i64(str_of(argv[1]), &lines, NULL) < 0) || lines < 1 ||
        lines > MAX_LINES || !mkdtemp(folder))
        bench_die("append_bench", "bad arguments");
    printf("append a line of 1 KB, %d times\n", (int)lines);
    measure(folder, "never", SYNC_NEVER, (size_t)lines);
    measure(folder, "turn", SYNC_TURN, (size_t)lines);
    measure(folder, "always", SYNC_ALWAYS, (size_t)(lines + 9) / 10);
    bench_remove(folder);
    return 0;
}
