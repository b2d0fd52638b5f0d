/*
 * Much at once in front of the user. The test program is person.c.
 */
#include "person.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

/* What frames may cost: the thread's own processor time, which a busy machine stretches. */
#define FRAME_US 4000
#define LENIENCE 20      /* beside other tests; alone (TENAX_HEAVY) figures are taken as they are */
#define FRAMES_PER_S 125 /* while a stream is faster than its display */

struct frames {
    int *us;
    size_t *bytes; /* of a stream that each has shown */
    size_t count;
};

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a;
    int y = *(const int *)b;

    return (x > y) - (x < y);
}

static int by_size(const void *a, const void *b)
{
    size_t x = *(const size_t *)a;
    size_t y = *(const size_t *)b;

    return (x > y) - (x < y);
}

static void frames_load(const char *path, struct frames *ret)
{
    FILE *from = fopen(path, "r");
    size_t bytes;
    int us;

    *ret = (struct frames){0};
    CHECK(from, "no %s", path);
    while (fscanf(from, "%d %zu", &us, &bytes) == 2) {
        ret->us = mem_realloc(ret->us, (ret->count + 1) * sizeof(*ret->us));
        ret->bytes = mem_realloc(ret->bytes, (ret->count + 1) * sizeof(*ret->bytes));
        ret->us[ret->count] = us;
        ret->bytes[ret->count++] = bytes;
    }
    fclose(from);
    CHECK(ret->count > 0, "no frames");
    qsort(ret->us, ret->count, sizeof(*ret->us), by_number);
    qsort(ret->bytes, ret->count, sizeof(*ret->bytes), by_size);
}

static void frames_release(struct frames *f)
{
    mem_freep(&f->us);
    mem_freep(&f->bytes);
}

static int64_t own_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* How much slower than at its best the same work goes now: others have the caches and the other
 * half of the core. At least 1; beside other tests what comes and goes is allowed for. */
static double slowness(void)
{
    double allowed = getenv("TENAX_HEAVY") ? 1 : LENIENCE;
    int us[400];

    for (size_t i = 0; i < ARRAY_LEN(us); i++) {
        int64_t from_us = own_us();
        volatile unsigned sum = 1;

        for (int j = 0; j < 50000; j++)
            sum = sum * 1664525u + 1013904223u;
        us[i] = (int)(own_us() - from_us) + 1;
    }
    qsort(us, ARRAY_LEN(us), sizeof(*us), by_number);
    return allowed * us[ARRAY_LEN(us) * 9 / 10] / us[0];
}

/* Starts it with a count of its frames. */
static void start_counted(struct window *w, const char *scenario, char path[static 64])
{
    char name[96];
    const char *env[] = {name, NULL};
    struct window_spec spec = {.build = build, .scenario = scenario, .env = env};

    snprintf(path, 64, "/tmp/tenax-frames-%d", (int)getpid());
    snprintf(name, sizeof(name), "TENAX_TEST_FRAMES=%s", path);
    window_open(w, &spec);
    until_idle(w);
}

/* Their cost is shown, and judged where nothing slows the program down; the slowest ones, so many
 * of a hundred, are not. */
static void end_counted(struct window *w, const char *path, struct frames *ret)
{
    double slow = slowness();
    int worst;
    int p99;

    leave(w);
    frames_load(path, ret);
    p99 = ret->us[ret->count * 99 / 100];
    worst = ret->us[ret->count - 1];
    printf("%zu frames, %d us of the thread's own at p99, %d at most; the machine goes at 1/%.1f\n",
           ret->count, p99, worst, slow);
    CHECK(IS_WATCHED || p99 <= FRAME_US * slow, "a frame takes %d us", p99);
    if (!getenv("KEEP_FRAMES"))
        unlink(path);
}

/* Keys are seen at once: the frame that follows has them. One more may have been under way when
 * they came, and more yet when the kernel is late to bring them, as it is beside other tests. */
static size_t frames_behind(void)
{
    return getenv("TENAX_HEAVY") ? 2 : 2 * LENIENCE;
}

/* Into a storm of text. */
static void type_and_see(struct window *w, const char *word)
{
    for (size_t i = 1; word[i - 1]; i++) {
        char key[2] = {word[i - 1], 0};
        char shown[128];
        size_t frames;

        snprintf(shown, sizeof(shown), "❯ %.*s", (int)i, word);
        frames = window_type_counted(w, key, shown);
        CHECK(frames <= frames_behind(), "'%s' is in frame %zu behind its key", shown, frames);
    }
}

#define STORM_LINES 200000

/* A model that is faster than any: what half of the frames show at least is enough for a stream of
 * 5 MB/s, as far as the machine is not slowed down by others. */
static void case_storm(void)
{
    CLEANUP(buf_release) struct buf scenario = BUF_INIT(BUF_NO_LIMIT);
    struct frames frames;
    char path[64];
    struct window w;
    int64_t from_ms;
    double rate;

    buf_adds(&scenario, "chunk 20000\npace 1ms\nstep\n  text <<END\n");
    for (int i = 1; i <= STORM_LINES; i++)
        buf_addf(&scenario, "    Line %d of a long answer with **bold** words and `code`.%s\n", i,
                 i % 10 ? "" : "\n");
    buf_adds(&scenario, "    The end of it.\n    END\nstep\n  text Second answer.\n");
    start_counted(&w, buf_cstr(&scenario), path);
    window_type(&w, "go" ENTER);
    window_until_raw(&w, "Line 100 ", 0);
    from_ms = clock_mono_ms();
    type_and_see(&w, "typed");
    window_until_raw(&w, "The end of it.", 0);
    printf("%.1f MB/s\n", (double)scenario.len / 1000 / (double)(clock_mono_ms() - from_ms + 1));
    window_type(&w, ENTER);
    window_until(&w, "Second answer.");
    end_counted(&w, path, &frames);
    rate = (double)frames.bytes[frames.count / 2] * FRAMES_PER_S / 1e6;
    printf("%.1f MB/s at %d frames a second\n", rate, FRAMES_PER_S);
    CHECK(IS_WATCHED || rate > 5 / (1.5 * slowness()), "only %.1f MB/s", rate);
    frames_release(&frames);
}

static void case_long_diff(void)
{
    CLEANUP(buf_release) struct buf scenario = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct frames frames;
    char path[64];
    struct window w;

    for (int i = 1; i <= 10000; i++)
        buf_addf(&text, "line %d\\n", i);
    buf_addf(&scenario,
             "step\n  call Write {\"file_path\": \"long.txt\", \"content\": \"%s\"}\n"
             "step\n  text It is written.\n",
             buf_cstr(&text));
    start_counted(&w, buf_cstr(&scenario), path);
    window_type(&w, "go" ENTER);
    window_until(&w, "Enter choose");
    for (int i = 0; i < 50; i++) {
        window_type(&w, PAGE_DOWN);
        window_settle(&w, 20);
    }
    answer(&w, "1");
    window_until_gone(&w, "4. No, and stop"); /* else it is the middle of a sentence */
    type_and_see(&w, "typed");
    window_until(&w, "It is written.");
    window_type(&w, CTRL_C);
    window_until_gone(&w, "typed");
    end_counted(&w, path, &frames);
    CHECK(IS_WATCHED || frames.us[frames.count - 1] <= FRAME_US * 5 * slowness(),
          "a frame takes %d us", frames.us[frames.count - 1]);
    frames_release(&frames);
}

/* A key after a paste of a megabyte. */
static void case_paste_counted(void)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct window w;

    buf_adds(&text, ESC "[200~");
    while (text.len < (1 << 20))
        buf_adds(&text, "a line of the paste, which goes on\n");
    buf_adds(&text, ESC "[201~");
    start(&w, "step\n  text It all came.\n");
    window_send(&w, buf_str(&text));
    window_until(&w, "Pasted text #1");
    CHECK(window_type_counted(&w, "x", "]x") <= frames_behind(), "the key is late");
    window_type(&w, ENTER);
    window_until(&w, "It all came.");
    leave(&w);
}

const struct person_case person_much[] = {
    {"storm", case_storm},
    {"long-diff", case_long_diff},
    {"paste-counted", case_paste_counted},
    {0},
};
