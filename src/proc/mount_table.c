/*
 * mount_table: /proc/self/mountinfo, and paths compared as texts. The kernel has the last word: a
 * place counts only if the same file is found there. Any thread.
 */
#include "proc/mount_table.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"

#define MOUNT_TABLE_MAX ((size_t)4 << 20)
#define MOUNT_FIELDS 5

/* "\040" is a space. */
static char *mount_text(struct str field)
{
    char *text = mem_alloc(field.len + 1);
    size_t len = 0;

    for (size_t i = 0; i < field.len; i++) {
        const char *at = field.ptr + i;
        bool is_escaped = *at == '\\' && field.len - i > 3 && at[1] >= '0' && at[1] <= '3';

        text[len++] =
            is_escaped ? (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + at[3] - '0') : *at;
        i += is_escaped ? 3 : 0;
    }
    text[len] = '\0';
    return text;
}

/* "36 35 98:0 /root /at rw …" */
static void mount_add(struct mount_table *t, struct str line)
{
    struct str fields[MOUNT_FIELDS];

    for (size_t i = 0; i < MOUNT_FIELDS; i++) {
        if (!str_cut(&line, ' ', &fields[i]))
            return;
    }
    vec_push(&t->list, ((struct mount_entry){.device = mount_text(fields[2]),
                                             .root = mount_text(fields[3]),
                                             .at = mount_text(fields[4])}));
}

void mount_table_read(struct mount_table *t)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(MOUNT_TABLE_MAX);
    CLEANUP(fd_closep) int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    struct str rest;
    struct str line;

    *t = (struct mount_table){0};
    if (fd < 0 || buf_add_fd(&text, fd, /*err=*/NULL) < 0)
        return;
    rest = buf_str(&text);
    while (rest.len && str_cut(&rest, '\n', &line))
        mount_add(t, line);
}

void mount_table_release(struct mount_table *t)
{
    VEC_EACH(&t->list, m) {
        free(m->device);
        free(m->root);
        free(m->at);
    }
    vec_release(&t->list);
}

/* What of the path is below dir: "" or "/…"; NULL: it is not in there. */
static const char *mount_below(const char *path, const char *dir)
{
    size_t len = strcmp(dir, "/") == 0 ? 0 : strlen(dir);

    return strncmp(path, dir, len) == 0 && (path[len] == '/' || !path[len]) ? path + len : NULL;
}

static const struct mount_entry *mount_of(const struct mount_table *t, const char *path)
{
    const struct mount_entry *found = NULL;

    VEC_EACH(&t->list, m) {
        if (mount_below(path, m->at) && (!found || strlen(m->at) >= strlen(found->at)))
            found = m;
    }
    return found;
}

static char *mount_join(const char *dir, const char *below)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    buf_adds(&path, strcmp(dir, "/") == 0 ? "" : dir);
    buf_adds(&path, strcmp(below, "/") == 0 ? "" : below);
    if (!path.len)
        buf_addc(&path, '/');
    return buf_take(&path);
}

static bool mount_is_same(const char *one, const char *other)
{
    struct stat a;
    struct stat b;

    return lstat(one, &a) == 0 && lstat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

void mount_table_find(const struct mount_table *t, const char *path, struct strv *ret)
{
    const struct mount_entry *own = mount_of(t, path);
    CLEANUP(mem_freep) char *inner = own ? mount_join(own->root, mount_below(path, own->at)) : NULL;

    VEC_EACH(&t->list, m) {
        const char *below;
        CLEANUP(mem_freep) char *there = NULL;

        if (!own || m == own || strcmp(m->device, own->device) != 0)
            continue;
        below = mount_below(inner, m->root);
        there = mount_join(m->at, below ? below : "");
        /* Else the mount shows a part of the folder, or nothing of it. */
        if (below ? mount_is_same(path, there) : mount_below(m->root, inner) != NULL)
            strv_adds(ret, there);
    }
}
