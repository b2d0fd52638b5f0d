/*
 * resume_bench: what it costs to open a transcript for going on.
 *
 *     resume_bench [RUNS [TENAX]]
 *
 * Makes transcripts of 10 MB, 100 MB and 1 GB in a temporary folder, with no boundary and with one
 * near the end, opens each as a resuming session does, and reads the lines of its chain. Prints the
 * medians of the time, and the most anonymous memory of a separate process that does it. With TENAX
 * also the total time of `tenax -p --resume FILE`, with a pretend model and nothing written; where
 * the conversation no longer fits that model, until the error. The files come from the page cache.
 * Nothing here passes or fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "bench/bench.h"
#include "store/transcript/load_tune.h"

#define MAX_RUNS 100
#define TAIL_BYTES ((uint64_t)1 << 20) /* after the boundary */

static const char *const words =
    "for (size_t i = 0; i < list->len; i++) {\\n    struct item *it = "
    "&list->items[i];\\n\\n    if (!strcmp(it->name, \\\"value\\\"))\\n"
    "        return item_take(it, /*is_last=*/true);\\n}\\n";

static uint64_t random_state;

static uint64_t random_below(uint64_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % n;
}

static void add_head(struct buf *out, const char *type, uint64_t id, uint64_t parent)
{
    if (parent)
        buf_addf(out, "{\"parentUuid\":\"%08llx-9a51-4d2b-8c1e-6a2b7c105f0c\",",
                 (unsigned long long)parent);
    else
        buf_adds(out, "{\"parentUuid\":null,");
    buf_addf(
        out,
        "\"isSidechain\":false,\"userType\":\"external\",\"cwd\":\"/home/u/project\","
        "\"sessionId\":\"5f0c2f0e-6d7a-4d2b-9a51-0c1e6a2b7c10\",\"version\":\"0.1.0\","
        "\"gitBranch\":\"main\",\"type\":\"%s\",\"uuid\":\"%08llx-9a51-4d2b-8c1e-6a2b7c105f0c\","
        "\"timestamp\":\"2026-11-14T10:00:00.000Z\"",
        type, (unsigned long long)id);
}

static void add_words(struct buf *out, uint64_t times)
{
    while (times-- > 0)
        buf_adds(out, words);
}

/* A step: an answer with words and a call, its result; now and then a title or a mode. */
static void add_step(struct buf *out, uint64_t *id)
{
    uint64_t n = *id;

    add_head(out, "assistant", n + 1, n);
    buf_addf(out,
             ",\"message\":{\"id\":\"msg_%llu\",\"type\":\"message\",\"role\":\"assistant\","
             "\"model\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"",
             (unsigned long long)n);
    add_words(out, 1 + random_below(3));
    buf_adds(out, "\"}],\"stop_reason\":\"tool_use\",\"usage\":{\"input_tokens\":10,"
                  "\"cache_read_input_tokens\":2,\"output_tokens\":20}}}\n");
    add_head(out, "assistant", n + 2, n + 1);
    buf_addf(out,
             ",\"message\":{\"id\":\"msg_%llu\",\"type\":\"message\",\"role\":\"assistant\","
             "\"model\":\"m\",\"content\":[{\"type\":\"tool_use\",\"id\":\"toolu_%llu\",\"name\":"
             "\"Edit\",\"input\":{\"file_path\":\"/home/u/project/a.c\",\"old_string\":\"",
             (unsigned long long)n, (unsigned long long)n);
    add_words(out, 1 + random_below(2));
    buf_adds(out, "\",\"new_string\":\"");
    add_words(out, 1 + random_below(2));
    buf_adds(out, "\"}}],\"stop_reason\":\"tool_use\",\"usage\":{\"input_tokens\":10,"
                  "\"cache_read_input_tokens\":2,\"output_tokens\":20}}}\n");
    add_head(out, "user", n + 3, n + 2);
    buf_addf(out,
             ",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
             "\"tool_use_id\":\"toolu_%llu\",\"content\":\"",
             (unsigned long long)n);
    add_words(out, 1 + random_below(30));
    buf_adds(
        out,
        "\"}]},\"toolUseResult\":{\"filePath\":\"/home/u/project/a.c\",\"structuredPatch\":["
        "{\"oldStart\":1,\"oldLines\":3,\"newStart\":1,\"newLines\":3,\"lines\":[\" a\",\"-b\","
        "\"+c\"]}]}}\n");
    if (random_below(20) == 0)
        buf_adds(out, "{\"type\":\"ai-title\",\"aiTitle\":\"The list\",\"sessionId\":"
                      "\"5f0c2f0e-6d7a-4d2b-9a51-0c1e6a2b7c10\"}\n");
    *id = n + 3;
}

static void make_file(const char *path, uint64_t size, bool has_boundary)
{
    FILE *f = fopen(path, "w");
    struct buf text = BUF_INIT(BUF_NO_LIMIT);
    uint64_t done = 0;
    uint64_t id = 1;

    if (!f)
        bench_die(path, "cannot be written");
    random_state = size + has_boundary;
    add_head(&text, "user", id, 0);
    buf_adds(&text, ",\"message\":{\"role\":\"user\",\"content\":\"make it fast\"}}\n");
    while (done + text.len < size) {
        if (has_boundary && done + text.len + TAIL_BYTES > size) {
            has_boundary = false;
            add_head(&text, "system", id + 1, 0);
            buf_adds(&text, ",\"subtype\":\"compact_boundary\",\"compactMetadata\":{\"trigger\":"
                            "\"auto\",\"preTokens\":150000}}\n");
            add_head(&text, "user", id + 2, id + 1);
            buf_adds(&text, ",\"isCompactSummary\":true,\"message\":{\"role\":\"user\",\"content\":"
                            "\"so far\"}}\n");
            id += 2;
        }
        add_step(&text, &id);
        if (text.len < 1 << 20 && done + text.len < size)
            continue;
        if (fwrite(text.ptr, 1, text.len, f) != text.len)
            bench_die(path, "cannot be written");
        done += text.len;
        buf_clear(&text);
    }
    if (fclose(f) != 0)
        bench_die(path, "cannot be written");
    buf_release(&text);
}

struct figures {
    double open_ms, cpu_ms, read_ms;
    uint64_t entries, active_bytes, lines;
    long anon_kb;
};

/* "VmRSS:" or "VmHWM:", its highest, of this process, in kilobytes. */
static long memory_kb(const char *name)
{
    struct buf text = BUF_INIT(1 << 16);
    long kb = 0;
    const char *at;

    if (file_slurp("/proc/self/status", 1 << 16, &text, NULL) == 0) {
        at = strstr(buf_cstr(&text), name);
        kb = at ? strtol(at + strlen(name), NULL, 10) : 0;
    }
    buf_release(&text);
    return kb;
}

/* Of all threads: on a busy machine the one figure that means something. */
static double cpu_ms(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return bench_cpu_ms(&usage);
}

static void open_once(const char *path, unsigned threads, struct figures *f)
{
    struct load_tune tune = {.threads = threads};
    int64_t start = clock_mono_us();
    double cpu = cpu_ms();
    struct load *l;
    struct err err;
    int64_t opened;

    if (load_open_tuned(path, NULL, NULL, &tune, &l, &err) < 0)
        bench_die(path, err.text);
    opened = clock_mono_us();
    f->cpu_ms = cpu_ms() - cpu;
    f->entries = load_count(l);
    f->active_bytes = 0;
    for (size_t i = 0; i < load_count(l); i++) {
        const struct load_entry *e = load_at(l, i);
        struct str line;

        if (load_read(l, e->offset, e->len, &line, &err) < 0)
            bench_die(path, err.text);
        f->active_bytes += e->len;
    }
    f->lines = load_facts(l)->messages;
    f->open_ms = (double)(opened - start) / 1000;
    f->read_ms = (double)(clock_mono_us() - opened) / 1000;
    load_free(l);
}

/* In a separate process, whose peak is this open's, less its earlier memory. */
static void open_apart(const char *path, unsigned threads, struct figures *f)
{
    int ends[2];
    pid_t pid;

    if (pipe(ends) < 0)
        bench_die(path, "no pipe");
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        long before = memory_kb("VmRSS:");

        open_once(path, threads, f);
        f->anon_kb = memory_kb("VmHWM:") - before; /* no file is mapped */
        _exit(write(ends[1], f, sizeof(*f)) == sizeof(*f) ? 0 : 1);
    }
    close(ends[1]);
    if (pid < 0 || read(ends[0], f, sizeof(*f)) != sizeof(*f))
        bench_die(path, "cannot be opened");
    close(ends[0]);
    waitpid(pid, NULL, 0);
}

static void measure(const char *path, uint64_t size, bool has_boundary, size_t runs)
{
    static double open_ms[MAX_RUNS], cpu[MAX_RUNS], one_ms[MAX_RUNS], read_ms[MAX_RUNS];
    struct figures f;
    long anon = 0;

    for (size_t i = 0; i < runs; i++) {
        open_apart(path, /*threads=*/1, &f);
        one_ms[i] = f.open_ms;
        cpu[i] = f.cpu_ms;
        open_apart(path, /*threads=*/0, &f);
        open_ms[i] = f.open_ms;
        read_ms[i] = f.read_ms;
        anon = f.anon_kb > anon ? f.anon_kb : anon;
    }
    bench_sort(open_ms, runs);
    bench_sort(one_ms, runs);
    bench_sort(cpu, runs);
    bench_sort(read_ms, runs);
    printf("%5llu MB, %-11s %7.1f ms; one thread %7.1f ms, %7.1f ms of processor; lines read in "
           "%6.1f ms; %6llu entries, %6.1f MB active, %5.1f MB anonymous, %4.1f M lines/s\n",
           (unsigned long long)(size >> 20), has_boundary ? "a boundary" : "no boundary",
           open_ms[runs / 2], one_ms[runs / 2], cpu[runs / 2], read_ms[runs / 2],
           (unsigned long long)f.entries, (double)f.active_bytes / (1 << 20), (double)anon / 1024,
           (double)f.lines / open_ms[runs / 2] / 1000);
}

static void play_once(const char *tenax, const char *folder, const char *path, double *ret_ms,
                      long *ret_kb)
{
    CLEANUP(buf_release) struct buf model = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf home = BUF_INIT(4096);
    int64_t start_us;
    struct rusage usage;
    pid_t pid;

    buf_addf(&model, "scripted/%s/hello.scenario", folder);
    buf_addf(&home, "TENAX_HOME=%s/home", folder);
    fflush(stdout);
    start_us = clock_mono_us();
    pid = fork();
    if (pid == 0) {
        const char *const argv[] = {tenax,
                                    "-p",
                                    "--resume",
                                    path,
                                    "--model",
                                    buf_cstr(&model),
                                    "--no-session-persistence",
                                    "-C",
                                    folder,
                                    "and now?",
                                    NULL};
        const char *const envp[] = {buf_cstr(&home), "PATH=/usr/bin:/bin", "DISABLE_AUTO_COMPACT=1",
                                    NULL};

        if (freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr) &&
            freopen("/dev/null", "r", stdin))
            execve(tenax, (char *const *)argv, (char *const *)envp);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, NULL, 0, &usage) != pid)
        bench_die(tenax, "cannot be started");
    *ret_ms = (double)(clock_mono_us() - start_us) / 1000;
    *ret_kb = usage.ru_maxrss;
}

static void measure_all(const char *tenax, const char *folder, const char *path, size_t runs)
{
    static double ms[MAX_RUNS];
    long most = 0;

    for (size_t i = 0; i < runs; i++) {
        long kb;

        play_once(tenax, folder, path, &ms[i], &kb);
        most = kb > most ? kb : most;
    }
    bench_sort(ms, runs);
    printf("          tenax -p --resume, all of it: %7.1f ms, %5.1f MB at most\n", ms[runs / 2],
           (double)most / 1024);
}

int main(int argc, char **argv)
{
    static const uint64_t sizes[] = {10, 100, 1024};
    char folder[] = "/tmp/tenax-resume-XXXXXX";
    int64_t wanted = 7;
    size_t runs;
    char *path, *scenario;

    if ((argc > 1 && str_to_i64(str_of(argv[1]), &wanted, NULL) < 0) || !mkdtemp(folder))
        bench_die("resume_bench", "bad arguments");
    runs = wanted < 1 ? 1 : wanted > MAX_RUNS ? MAX_RUNS : (size_t)wanted;
    path = path_join(folder, "5f0c2f0e-6d7a-4d2b-9a51-0c1e6a2b7c10.jsonl");
    scenario = path_join(folder, "hello.scenario");
    if (file_replace(scenario, STR("step\n  text Hello.\n"), 0600, NULL) < 0)
        bench_die(scenario, "cannot be written");
    printf("open for resume, medians of %zu\n", runs);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        for (int has_boundary = 0; has_boundary < 2; has_boundary++) {
            make_file(path, sizes[i] << 20, has_boundary);
            measure(path, sizes[i] << 20, has_boundary, runs);
            if (argc > 2)
                measure_all(argv[2], folder, path, runs);
        }
    }
    mem_freep(&path);
    mem_freep(&scenario);
    bench_remove(folder);
    return 0;
}
