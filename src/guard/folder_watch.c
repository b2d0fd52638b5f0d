/*
 * folder_watch: inotify, each watch for one event only, so that a build with ten thousand new files
 * causes only one event per folder. A mount hides folders without an event, so the mount table is
 * checked, too. The caller's thread.
 */
#include "guard/folder_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"

#define WATCH_WHAT                                                                                 \
    (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF |         \
     IN_ONLYDIR | IN_ONESHOT)

#define MOUNTS "/proc/self/mountinfo"
#define LIMIT "/proc/sys/fs/inotify/max_user_watches"
#define PART_OF_LIMIT 16 /* other programs of the user need watches, too */

/* Only this kernel changes files on these file systems. */
static const uint32_t local_types[] = {
    0xef53,     /* ext2 to 4 */
    0x58465342, /* xfs */
    0x9123683e, /* btrfs */
    0x01021994, /* tmpfs */
    0x794c7630, /* overlay */
    0xf2f52010, /* f2fs */
    0x2fc12fc1, /* zfs */
    0xca451a4e, /* bcachefs */
};

struct folder_watch {
    int events; /* -1 = nothing is watched */
    int mounts;
    size_t max;
    struct map who; /* handle → its owner */
};

static struct str key_of(const int *handle)
{
    return str_make((const char *)handle, sizeof(*handle));
}

static size_t read_limit(void)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(64);
    int64_t limit;

    if (file_slurp(LIMIT, 64, &text, NULL) < 0 ||
        str_to_i64(str_trim(buf_str(&text)), &limit, NULL) < 0 || limit < 0)
        return 0;
    return (size_t)limit / PART_OF_LIMIT;
}

struct folder_watch *folder_watch_new(void)
{
    struct folder_watch *w = mem_zalloc(sizeof(*w));

    w->max = read_limit();
    w->events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    w->mounts = open(MOUNTS, O_RDONLY | O_CLOEXEC);
    if (w->mounts < 0)
        fd_closep(&w->events);
    return w;
}

void folder_watch_free(struct folder_watch *w)
{
    if (!w)
        return;
    fd_closep(&w->events);
    fd_closep(&w->mounts);
    map_release(&w->who);
    free(w);
}

static bool is_local(int fd)
{
    struct statfs fs;

    if (fstatfs(fd, &fs) < 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(local_types); i++) {
        if ((uint32_t)fs.f_type == local_types[i])
            return true;
    }
    return false;
}

int folder_watch_add(struct folder_watch *w, int folder_fd, void *who)
{
    char path[40];
    int handle;

    if (w->events < 0 || w->who.len >= w->max || !is_local(folder_fd))
        return -1;
    /* By descriptor, since the path may lead elsewhere now. */
    snprintf(path, sizeof(path), "/proc/self/fd/%d", folder_fd);
    handle = inotify_add_watch(w->events, path, WATCH_WHAT);
    /* For a folder mounted in two places only the first is reported. */
    if (handle < 0 || map_has(&w->who, key_of(&handle)))
        return -1;
    map_set(&w->who, key_of(&handle), who);
    return handle;
}

void folder_watch_remove(struct folder_watch *w, int handle)
{
    if (handle >= 0 && map_remove(&w->who, key_of(&handle)))
        (void)inotify_rm_watch(w->events, handle);
}

static void take_event(struct folder_watch *w, const struct inotify_event *e, folder_watch_fn fn)
{
    void *who = map_get(&w->who, key_of(&e->wd));

    if (who) {
        fn(who);
        map_set(&w->who, key_of(&e->wd), NULL);
    }
    if (!(e->mask & IN_Q_OVERFLOW))
        return;
    MAP_EACH(&w->who, it) { /* events were lost: each may have changed */
        if (it->value)
            fn(it->value);
        it->value = NULL;
    }
}

static void take_events(struct folder_watch *w, const char *bytes, size_t len, folder_watch_fn fn)
{
    struct inotify_event e;

    for (size_t at = 0; at + sizeof(e) <= len; at += sizeof(e) + e.len) {
        memcpy(&e, bytes + at, sizeof(e));
        take_event(w, &e, fn);
    }
}

/* All at once, since removing a key costs as much as rebuilding the map. */
static void drop_taken(struct folder_watch *w)
{
    struct map left = MAP_INIT;

    MAP_EACH(&w->who, it) {
        if (it->value)
            map_set(&left, it->key, it->value);
    }
    map_release(&w->who);
    w->who = left;
}

static bool read_events(struct folder_watch *w, char *bytes, size_t max, size_t *ret_len)
{
    ssize_t n = read(w->events, bytes, max);

    *ret_len = n > 0 ? (size_t)n : 0;
    return n > 0;
}

bool folder_watch_take(struct folder_watch *w, folder_watch_fn fn)
{
    struct pollfd fds[] = {{w->events, POLLIN, 0}, {w->mounts, POLLPRI, 0}};
    char bytes[4096];
    size_t n;

    if (w->events < 0)
        return true;
    if (poll(fds, ARRAY_LEN(fds), 0) < 0)
        return false;
    if (fds[0].revents) {
        while (read_events(w, bytes, sizeof(bytes), &n))
            take_events(w, bytes, n, fn);
        drop_taken(w);
    }
    return !fds[1].revents;
}
