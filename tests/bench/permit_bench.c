/*
 * permit_bench: what a permission decision costs: ordinary commands and files against 50 rules.
 *
 *     permit_bench [ROUNDS]
 *
 * Prints medians, minima and allocations of each. Nothing here passes or fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/tool.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strv.h"
#include "bench/bench.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "guard/permit.h"
#include "guard/workspace.h"

#define MAX_ROUNDS 100000

/* Every allocation of the program comes through here. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *ptr, size_t size);

static size_t allocations;

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *ptr, size_t size)
{
    allocations++;
    return __libc_realloc(ptr, size);
}

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

struct row {
    const char *tool;
    const char *text; /* below the folder, for paths */
};

static const struct row rows[] = {
    {"Bash", "ls -la src"},
    {"Bash", "git status"},
    {"Bash", "npm test"},
    {"Bash", "npm run build 2>&1 | tail -n 30"},
    {"Bash", "cd src && make -j4 && ./run-tests --all"},
    {"Bash", "for f in *.c; do wc -l \"$f\"; done"},
    {"Bash", "git add -A && git commit -m \"$(cat <<'EOF'\nfix: it's done\nEOF\n)\""},
    {"Bash", "grep -rn 'foo bar' src --include='*.c' | sort | uniq -c | head -20"},
    {"Bash", "unknown-tool --with some -o options and words"},
    {"Read", "src/main.c"},
    {"Edit", "src/main.c"},
    {"WebFetch", "docs.example.com"},
};

/* 50 rules: 20 that forbid, of which 5 are about paths, and 30 that allow. */
static void make_settings(struct buf *out, bool paths)
{
    static const char *const denied[] = {"rm",       "curl",   "wget",   "dd",  "mkfs",
                                         "shutdown", "reboot", "chown",  "nc",  "ssh",
                                         "sudo",     "su",     "telnet", "ftp", "kill"};
    static const char *const guarded[] = {"Read(.env)", "Read(secrets/**)", "Read(~/.ssh/**)",
                                          "Edit(dist/**)", "Edit(*.lock)"};
    static const char *const allowed[] = {
        "npm test",   "npm run", "make",      "cargo test", "go test",     "git add",
        "git commit", "pytest",  "npx tsc",   "npx eslint", "./run-tests", "ninja",
        "cmake",      "ctest",   "mvn",       "gradle",     "docker ps",   "kubectl get",
        "gh pr",      "ruff",    "mypy",      "black",      "yarn test",   "pnpm test",
        "bun test",   "deno",    "rake test", "bundle",     "meson",       "tox"};

    buf_adds(out, "{\"permissions\":{\"deny\":[");
    for (size_t i = 0; i < ARRAY_LEN(denied); i++)
        buf_addf(out, "%s\"Bash(%s:*)\"", i ? "," : "", denied[i]);
    for (size_t i = 0; paths && i < ARRAY_LEN(guarded); i++)
        buf_addf(out, ",\"%s\"", guarded[i]);
    buf_adds(out, "],\"allow\":[");
    for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
        buf_addf(out, "%s\"Bash(%s *)\"", i ? "," : "", allowed[i]);
    for (size_t i = 0; !paths && i < ARRAY_LEN(guarded); i++)
        buf_addf(out, ",\"WebFetch(domain:host%zu.example.com)\"", i);
    buf_adds(out, "]}}");
}

static void measure(struct permit *permit, const char *dir, const struct row *row, int rounds)
{
    static double times[MAX_ROUNDS];
    CLEANUP(buf_release) struct buf text = BUF_INIT(4096);
    struct rule_subject s = {.tool = str_of(row->tool)};
    struct permit_answer answer;
    unsigned flags = 0;
    size_t before = 0;

    if (str_is(s.tool, "Bash")) {
        s.about = ABOUT_COMMAND;
    } else if (str_is(s.tool, "WebFetch")) {
        s.about = ABOUT_HOST;
    } else {
        s.about = ABOUT_PATH;
        s.writes = str_is(s.tool, "Edit");
        flags = s.writes ? TOOL_EDITS : TOOL_READ_ONLY;
        buf_addf(&text, "%s/", dir);
    }
    buf_adds(&text, row->text);
    s.text = buf_str(&text);
    for (int i = 0; i < rounds; i++) {
        double start = now_us();

        before = allocations;
        permit_check(permit, &s, flags, &answer);
        before = allocations - before;
        times[i] = now_us() - start;
    }
    bench_sort(times, (size_t)rounds);
    printf("  %6.1f us (min %5.1f) %4zu allocations  %-5s %s(%.46s)\n", times[rounds / 2], times[0],
           before,
           answer.verdict == PERMIT_ALLOW ? "allow"
           : answer.verdict == PERMIT_ASK ? "ask"
                                          : "deny",
           row->tool, row->text);
}

static void run(char *dir, bool paths, int rounds)
{
    CLEANUP(args_release) struct args args = {0};
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    CLEANUP(buf_release) struct buf settings = BUF_INIT(100000);
    struct conf_sources from = {.dir = dir, .args = &args, .etc = "/nonexistent", .trusted = true};
    struct workspace *workspace;
    struct permit *permit;
    struct conf *conf;
    struct err err = {0};

    make_settings(&settings, paths);
    char *argv[] = {(char *)"tenax", (char *)"--settings", (char *)buf_cstr(&settings)};
    strv_addf(&env, "HOME=%s", dir);
    from.environ = strv_get(&env);
    if (args_parse(ARRAY_LEN(argv), argv, &args, &err) < 0 || conf_load(&from, &conf, &err) < 0)
        bench_die("settings", err.text);
    workspace = workspace_new(dir, dir, strv_get(&env));
    if (permit_new(conf, workspace, &warnings, &permit, &err) < 0 || warnings.len)
        bench_die("permit", err.text);
    printf("a decision among 50 rules, %s about paths:\n", paths ? "5 of them" : "none of them");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        measure(permit, dir, &rows[i], rounds);
    permit_free(permit);
    workspace_unref(workspace);
    conf_unref(conf);
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/tenax-bench-XXXXXX";
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 2000;
    char git[64];

    if (rounds < 1 || rounds > MAX_ROUNDS || !mkdtemp(dir))
        return 2;
    snprintf(git, sizeof(git), "%s/.git", dir);
    mkdir(git, 0700);
    run(dir, /*paths=*/false, rounds);
    run(dir, /*paths=*/true, rounds);
    bench_remove(dir);
    return 0;
}
