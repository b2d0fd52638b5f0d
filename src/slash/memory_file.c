/*
 * memory_file: a memory file that is changed. The commands' thread.
 */
#include "slash/memory_file.h"

#include "base/err.h"
#include "base/file.h"

int memory_file_read(struct memory_file *m, const char *path, struct err *err)
{
    m->path = path_real(path);
    m->exists = stat(m->path, &m->stat) == 0;
    return m->exists ? file_slurp(m->path, INSTRUCTIONS_MAX_FILE, &m->text, err) : 0;
}

static int memory_file_check(const struct memory_file *m, struct err *err)
{
    CLEANUP(buf_release) struct buf now = BUF_INIT(INSTRUCTIONS_MAX_FILE);
    bool exists = file_exists(m->path);

    if (exists && file_slurp(m->path, INSTRUCTIONS_MAX_FILE, &now, err) < 0)
        return -1;
    if (exists != m->exists || !str_eq(buf_str(&now), buf_str(&m->text)))
        return err_set(err, ERR_BUSY, "%s has changed since it was read; nothing was written",
                       m->path);
    return 0;
}

int memory_file_write(const struct memory_file *m, const struct buf *text, struct err *err)
{
    CLEANUP(mem_freep) char *dir = path_dirname(m->path);

    if (buf_check(text, err) < 0 || memory_file_check(m, err) < 0 ||
        file_mkdirs(dir, 0700, err) < 0)
        return -1;
    return file_replace_like(m->path, buf_str(text), m->exists ? &m->stat : NULL, err);
}

void memory_file_release(struct memory_file *m)
{
    mem_freep(&m->path);
    buf_release(&m->text);
}
