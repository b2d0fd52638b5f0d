/*
 * sandbox_memory: a line that says for whom it holds: "works Linux 6.18.1 #1 SMP … 1000".
 */
#include "guard/sandbox_memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/test_switch.h"

#define MEMORY_MAX_BYTES 1024

struct sandbox_memory {
    char *path;
    atomic_bool is_tried;
};

struct sandbox_memory *sandbox_memory_new(const char *path)
{
    struct sandbox_memory *m;

    if (!path)
        return NULL;
    m = mem_zalloc(sizeof(*m));
    m->path = mem_dup(path, strlen(path));
    atomic_init(&m->is_tried, false);
    return m;
}

void sandbox_memory_free(struct sandbox_memory *m)
{
    if (!m)
        return;
    mem_freep(&m->path);
    mem_freep(&m);
}

/* Other decisive factors show at the next test. */
static void write_line(bool works, struct buf *ret)
{
    const char *chosen = test_switch("TENAX_TEST_SANDBOX");
    struct utsname os;

    buf_addf(ret, "%s", works ? "works" : "fails");
    if (uname(&os) == 0)
        buf_addf(ret, " %s %s %s %s", os.sysname, os.release, os.version, os.machine);
    buf_addf(ret, " %u%s%s\n", (unsigned)geteuid(), chosen ? " " : "", chosen ? chosen : "");
}

static bool says(struct str text, bool works)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(MEMORY_MAX_BYTES);

    write_line(works, &line);
    return str_eq(text, buf_str(&line));
}

static bool read_file(const struct sandbox_memory *m, bool *ret_works)
{
    CLEANUP(buf_release) struct buf text = {0};

    if (file_slurp(m->path, MEMORY_MAX_BYTES, &text, /*err=*/NULL) < 0)
        return false;
    *ret_works = says(buf_str(&text), true);
    return *ret_works || says(buf_str(&text), false);
}

bool sandbox_memory_recall(struct sandbox_memory *m, bool *ret_works)
{
    return m && !atomic_load(&m->is_tried) && read_file(m, ret_works);
}

void sandbox_memory_learn(struct sandbox_memory *m, bool works)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(MEMORY_MAX_BYTES);
    bool before;

    if (!m || atomic_exchange(&m->is_tried, true) || (read_file(m, &before) && before == works))
        return;
    write_line(works, &line);
    (void)file_overwrite(m->path, buf_str(&line), 0600, /*err=*/NULL);
}
