/*
 * Invisible work: activity while idle, more frames than eyes can see, messages of libraries on the
 * screen. The test program is person.c.
 */
#include "person.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

/* How often the threads of a process have waited for something, all together. */
static long waits_of(pid_t pid)
{
    char path[300];
    char line[200];
    long all = 0;
    struct dirent *one;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    dir = opendir(path);
    CHECK(dir, "no %s", path);
    while ((one = readdir(dir))) {
        FILE *from;

        if (one->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/proc/%d/task/%s/status", (int)pid, one->d_name);
        from = fopen(path, "re");
        while (from && fgets(line, sizeof(line), from)) {
            if (!strncmp(line, "voluntary_ctxt_switches:", 24))
                all += strtol(line + 24, NULL, 10);
        }
        if (from)
            fclose(from);
    }
    closedir(dir);
    return all;
}

/* Nothing wakes up: neither in an empty prompt, nor in front of a question. Earlier work may still
 * be ending, on a busy machine seconds later: then it is checked again. */
static void check_rests(struct window *w, const char *where)
{
    bool is_drawn = true;
    long before = 0;
    long after = 1;

    window_settle(w, 1500);
    for (int tries = 0; tries < 5 && (is_drawn || (!IS_WATCHED && after != before)); tries++) {
        before = waits_of(w->pid);
        is_drawn = window_wait(w, 3000);
        after = waits_of(w->pid);
    }
    CHECK(!is_drawn, "something is drawn %s", where);
    CHECK(before > 0 && (IS_WATCHED || after == before), "%ld wake-ups %s", after - before, where);
}

static void case_rests(void)
{
    struct window w;

    start(&w, "step\n  call Bash {\"command\": \"touch made\"}\nstep\n  text Over.\n");
    check_rests(&w, "in an empty prompt");
    window_type(&w, "go" ENTER);
    window_until_shown(&w, "Enter choose");
    window_settle(&w, 7000); /* an absent user is notified once */
    check_rests(&w, "in front of a question");
    answer(&w, "1");
    window_until(&w, "Over.");
    leave(&w);
}

#define RATE_MS 2000
#define RATE_FRAME_MS 8 /* between two frames at least; 16 when it keeps up */

/* Words that come one by one, faster than frames are of use. */
static void case_rate(void)
{
    CLEANUP(buf_release) struct buf scenario = BUF_INIT(BUF_NO_LIMIT);
    struct window w;
    int64_t from_ms;
    int64_t ms;
    size_t from;
    size_t n = 0;

    buf_adds(&scenario, "chunk 4\npace 2ms\nstep\n  text <<END\n");
    for (int i = 1; i <= 3000; i++)
        buf_addf(&scenario, "    word %d of many\n", i);
    buf_adds(&scenario, "    END\n");
    start(&w, buf_cstr(&scenario));
    window_type(&w, "go" ENTER);
    window_until(&w, "word 5 of");
    from_ms = clock_mono_ms();
    while (window_wait(&w, 0)) /* earlier output does not count */
        ;
    from = w.raw.len;
    while (clock_mono_ms() - from_ms < RATE_MS)
        (void)window_wait(&w, 50);
    ms = clock_mono_ms() - from_ms;
    for (const char *at = buf_cstr(&w.raw) + from; (at = strstr(at, "\x1b[?2026h")); at++)
        n++;
    printf("%zu frames in %d ms\n", n, (int)ms);
    CHECK(n > 5, "nothing is drawn");
    CHECK(n <= (size_t)(ms / RATE_FRAME_MS) + 6, "%zu frames in %d ms", n, (int)ms);
    window_type(&w, ESC);
    window_until(&w, "nterrupted");
    leave(&w);
}

/* What a library prints goes into a file. */
static void case_stderr(void)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *log = NULL;
    struct str words = STR("a library is unhappy\n");
    struct err err = {0};
    struct window w;
    char path[40];
    int fd;

    start(&w, "step\n  text Hello.\n");
    snprintf(path, sizeof(path), "/proc/%d/fd/2", (int)w.pid);
    fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
    CHECK(fd >= 0 && fd_write_all(fd, words, &err) == 0, "%s: %s", path, err.text);
    close(fd);
    log = path_join(w.top, "home/.tenax/stderr.log");
    CHECK(file_slurp(log, BUF_NO_LIMIT, &text, &err) == 0, "%s", err.text);
    CHECK(str_has(buf_str(&text), words), "it is not in %s", log);
    window_type(&w, "hi" ENTER);
    window_until(&w, "Hello.");
    until_idle(&w);
    CHECK(!strstr(window_text(&w), "unhappy"), "%s", window_text(&w));
    leave(&w);
}

const struct person_case person_quiet[] = {
    {"rests", case_rests},
    {"rate", case_rate},
    {"stderr", case_stderr},
    {0},
};
