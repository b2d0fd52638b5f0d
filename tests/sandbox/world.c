/*
 * world: made in a temporary folder, checked by walking it. One thread.
 */
#include "sandbox/world.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

#define WORLD_FILE_BYTES ((size_t)16 * 1024)

static const char *const world_folders[] = {
    "w",      "w/.git", "w/.git/hooks", "w/.git/objects", "w/.git/refs", "w/.claude",
    "w/home", "t",      "out",          "out/dir",        "secrets",
};

static const struct {
    const char *name;
    const char *text;
    mode_t mode;
} world_files[] = {
    {"w/.git/config", "[core]\n", 0644},
    {"w/.git/HEAD", "ref: refs/heads/main\n", 0644},
    {"w/.git/hooks/pre-commit", "#!/bin/sh\n", 0755},
    {"w/.claude/settings.json", "{}\n", 0644},
    {"w/home/settings.json", "{}\n", 0644},
    {"out/canary", "canary\n", 0644},
    {"out/dir/canary", "canary\n", 0644},
    {"out/script", "#!/bin/sh\n", 0755},
    {"secrets/id", WORLD_SECRET "\n", 0600},
    {"secret.txt", WORLD_SECRET "\n", 0600},
};

/* What must stay as it is. Of folders that jobs may write in part, only themselves. */
static const char *const world_kept[] = {
    "w/.git/config", "w/.git/hooks", "w/.claude", "w/.tenax",
    "w/home",        "out",          "secrets",   "secret.txt",
};
static const char *const world_kept_themselves[] = {"w", "w/.git", "t"};
static const char *const world_kept_elsewhere[] = {
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/domainname",
    "/etc/passwd",
    "/etc/ld.so.preload",
};

char *world_path(const struct world *w, const char *name)
{
    return path_join(w->root, name);
}

/* ---- a look at it ---- */

static void world_look_at(const char *path, bool deep, struct buf *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(WORLD_FILE_BYTES);
    CLEANUP(fd_closep) int fd = -1;
    char names[256];
    struct stat st;

    if (lstat(path, &st) < 0) {
        buf_addf(ret, "%s: %d\n", path, errno);
        return;
    }
    buf_addf(ret, "%s: %o %u:%u %lu links %lu", path, st.st_mode, st.st_uid, st.st_gid,
             (unsigned long)(S_ISREG(st.st_mode) ? 0 : st.st_ino), (unsigned long)st.st_nlink);
    if (deep && llistxattr(path, names, sizeof(names)) > 0)
        buf_addf(ret, " %s", names);
    if (S_ISREG(st.st_mode)) {
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
            buf_add_fd(&text, fd, NULL);
        buf_addf(ret, " '%s'", buf_cstr(&text));
    }
    buf_addc(ret, '\n');
}

static void world_walk(const char *path, struct buf *ret)
{
    struct dirent **names = NULL;
    int count;

    world_look_at(path, /*deep=*/true, ret);
    if (!file_is_dir(path))
        return;
    count = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        CLEANUP(mem_freep) char *inner = path_join(path, names[i]->d_name);

        if (strcmp(names[i]->d_name, ".") != 0 && strcmp(names[i]->d_name, "..") != 0)
            world_walk(inner, ret);
        free(names[i]);
    }
    free(names);
}

static void world_look(const struct world *w, struct buf *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(world_kept); i++) {
        CLEANUP(mem_freep) char *path = world_path(w, world_kept[i]);

        world_walk(path, ret);
    }
    for (size_t i = 0; i < ARRAY_LEN(world_kept_themselves); i++) {
        CLEANUP(mem_freep) char *path = world_path(w, world_kept_themselves[i]);
        struct stat st = {0};

        lstat(path, &st);
        buf_addf(ret, "%s: inode %lu\n", path, (unsigned long)st.st_ino);
    }
    for (size_t i = 0; i < ARRAY_LEN(world_kept_elsewhere); i++)
        world_look_at(world_kept_elsewhere[i], /*deep=*/false, ret);
}

/* The first line that is another. */
static bool world_same(const struct buf *before, const struct buf *after, struct buf *ret_what)
{
    struct str a = buf_str(before);
    struct str b = buf_str(after);
    struct str line_a = {0};
    struct str line_b = {0};

    while (str_eq(line_a, line_b)) {
        bool more_a = str_cut(&a, '\n', &line_a);
        bool more_b = str_cut(&b, '\n', &line_b);

        if (!more_a && !more_b)
            return true;
    }
    buf_addf(ret_what, "'%.*s' became '%.*s'", STR_ARG(line_a), STR_ARG(line_b));
    return false;
}

/* ---- who must not be reached ---- */

static bool world_heard(struct world *w, struct buf *ret_what)
{
    static const char *const names[EAR_COUNT] = {"TCP",
                                                 "UDP",
                                                 "a unix socket",
                                                 "a unix socket in the workspace",
                                                 "a datagram to a unix socket",
                                                 "an abstract unix socket",
                                                 "a terminal"};
    struct pollfd fds[EAR_COUNT];
    bool heard = false;
    char byte;

    for (int i = 0; i < EAR_COUNT; i++)
        fds[i] = (struct pollfd){.fd = w->ears[i], .events = POLLIN};
    poll(fds, EAR_COUNT, 0);
    for (int i = 0; i < EAR_COUNT; i++) {
        int connection;

        if (!fds[i].revents)
            continue;
        heard = true;
        buf_addf(ret_what, "somebody came by %s ", names[i]);
        connection = accept4(w->ears[i], NULL, NULL, SOCK_CLOEXEC);
        if (connection >= 0)
            close(connection);
        else if (read(w->ears[i], &byte, 1) < 0)
            buf_adds(ret_what, "and left ");
    }
    return heard;
}

static void world_start_victim(struct world *w)
{
    w->victim = fork();
    if (w->victim != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
        pause();
}

static bool world_victim_is_well(struct world *w, struct buf *ret_what)
{
    siginfo_t info = {0};

    if (waitid(P_PID, (id_t)w->victim, &info, WEXITED | WSTOPPED | WNOHANG) == 0 && !info.si_pid)
        return true;
    buf_addf(ret_what, "the victim was reached by signal %d", info.si_status);
    kill(w->victim, SIGKILL);
    waitpid(w->victim, NULL, 0);
    world_start_victim(w);
    return false;
}

bool world_check(struct world *w, struct str said, struct buf *ret_what)
{
    CLEANUP(buf_release) struct buf after = BUF_INIT(BUF_NO_LIMIT);
    bool well = true;

    world_look(w, &after);
    if (!world_same(&w->before, &after, ret_what))
        well = false;
    if (str_has(said, STR(WORLD_SECRET))) {
        buf_adds(ret_what, "a secret was read");
        well = false;
    }
    if (world_heard(w, ret_what) || !world_victim_is_well(w, ret_what))
        well = false;
    return well;
}

/* ---- made and unmade ---- */

static int world_listen(int family, int kind, const void *address, socklen_t len)
{
    int fd = socket(family, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || bind(fd, address, len) < 0)
        BUG("cannot listen: %s", strerrordesc_np(errno));
    if (kind == SOCK_STREAM)
        listen(fd, 512); /* tried many times before the test looks */
    return fd;
}

static int world_port(int fd)
{
    struct sockaddr_in at;
    socklen_t len = sizeof(at);

    getsockname(fd, (struct sockaddr *)&at, &len);
    return ntohs(at.sin_port);
}

static int world_listen_at(const char *path, int kind, bool abstract)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    size_t len = strlen(path);

    memcpy(at.sun_path + abstract, path, len);
    return world_listen(AF_UNIX, kind, &at,
                        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1));
}

static void world_open_ears(struct world *w)
{
    const struct sockaddr_in any = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    CLEANUP(mem_freep) char *path = world_path(w, "out/sock");
    CLEANUP(mem_freep) char *work = world_path(w, "w/home/sock");
    CLEANUP(mem_freep) char *datagram = world_path(w, "out/datagram");
    CLEANUP(mem_freep) char *listed = world_path(w, "out/listed");
    char name[64];

    snprintf(name, sizeof(name), "tenax-escape-%d", getpid());
    w->ears[EAR_TCP] = world_listen(AF_INET, SOCK_STREAM, &any, sizeof(any));
    w->ears[EAR_UDP] = world_listen(AF_INET, SOCK_DGRAM, &any, sizeof(any));
    w->ears[EAR_UNIX] = world_listen_at(path, SOCK_STREAM, /*abstract=*/false);
    w->ears[EAR_UNIX_WORK] = world_listen_at(work, SOCK_STREAM, /*abstract=*/false);
    w->ears[EAR_UNIX_DATAGRAM] = world_listen_at(datagram, SOCK_DGRAM, /*abstract=*/false);
    w->listed = world_listen_at(listed, SOCK_STREAM, /*abstract=*/false);
    w->ears[EAR_ABSTRACT] = world_listen_at(name, SOCK_STREAM, /*abstract=*/true);
    strv_addf(&w->env, "PORT=%d", world_port(w->ears[EAR_TCP]));
    strv_addf(&w->env, "UDP_PORT=%d", world_port(w->ears[EAR_UDP]));
    strv_addf(&w->env, "SOCK=%s", path);
    strv_addf(&w->env, "SOCK_WORK=%s", work);
    strv_addf(&w->env, "SOCK_DATAGRAM=%s", datagram);
    strv_addf(&w->env, "LISTED=%s", listed);
    strv_addf(&w->env, "ABSTRACT=%s", name);
}

static void world_open_terminal(struct world *w)
{
    char name[64];

    w->ears[EAR_TERMINAL] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (w->ears[EAR_TERMINAL] < 0 || grantpt(w->ears[EAR_TERMINAL]) < 0 ||
        unlockpt(w->ears[EAR_TERMINAL]) < 0 ||
        ptsname_r(w->ears[EAR_TERMINAL], name, sizeof(name)) != 0)
        BUG("no terminal: %s", strerrordesc_np(errno));
    w->terminal = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    strv_addf(&w->env, "TERMINAL=%s", name);
}

static void world_copy_self(struct world *w, const char *self)
{
    CLEANUP(buf_release) struct buf program = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(fd_closep) int fd = open(self, O_RDONLY | O_CLOEXEC);
    CLEANUP(mem_freep) char *copy = world_path(w, "self");

    if (fd < 0 || buf_add_fd(&program, fd, NULL) < 0 ||
        file_replace(copy, buf_str(&program), 0755, NULL) < 0)
        BUG("cannot copy %s", self);
    strv_addf(&w->env, "SELF=%s", copy);
}

/* Makes the missing parts. */
static void world_make(const struct world *w)
{
    CLEANUP(mem_freep) char *link = world_path(w, "w/.tenax");
    CLEANUP(mem_freep) char *pipe = world_path(w, "out/fifo");

    for (size_t i = 0; i < ARRAY_LEN(world_folders); i++) {
        CLEANUP(mem_freep) char *path = world_path(w, world_folders[i]);

        if (mkdir(path, 0755) < 0 && errno != EEXIST)
            BUG("cannot make %s: %s", path, strerrordesc_np(errno));
    }
    if (mkfifo(pipe, 0666) < 0 && errno != EEXIST)
        BUG("cannot make %s", pipe);
    if (symlink("../out/dir", link) < 0 && errno != EEXIST)
        BUG("cannot make %s", link);
    for (size_t i = 0; i < ARRAY_LEN(world_files); i++) {
        CLEANUP(mem_freep) char *path = world_path(w, world_files[i].name);

        if (!file_exists(path) &&
            file_replace(path, str_of(world_files[i].text), world_files[i].mode, NULL) < 0)
            BUG("cannot write %s", path);
    }
}

int world_init(struct world *w, const char *self)
{
    *w = (struct world){.root = "/var/tmp/tenax-escape-XXXXXX"};
    buf_init(&w->before, BUF_NO_LIMIT);
    if (!mkdtemp(w->root))
        return -1;
    chmod(w->root, 0755);
    world_make(w);
    world_copy_self(w, self);
    world_open_ears(w);
    world_open_terminal(w);
    world_start_victim(w);
    strv_addf(&w->env, "WORK=%s/w", w->root);
    strv_addf(&w->env, "HOME=%s/w/home", w->root);
    strv_addf(&w->env, "TENAX=%s/w/home", w->root);
    strv_addf(&w->env, "TMPDIR=%s/t", w->root);
    strv_addf(&w->env, "OUT=%s/out", w->root);
    strv_addf(&w->env, "SECRETS=%s", w->root);
    strv_addf(&w->env, "VICTIM=%d", w->victim);
    strv_addf(&w->env, "WATCHER=%d", getpid());
    strv_adds(&w->env, "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
    strv_adds(&w->env, "LC_ALL=C");
    /* In a build with sanitizers: looking for leaks takes ptrace. */
    strv_adds(&w->env, "ASAN_OPTIONS=detect_leaks=0");
    world_mend(w);
    return 0;
}

static int world_remove(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

/* Everything in a folder but what belongs there. */
static void world_empty(const struct world *w, const char *name)
{
    static const char *const belongs[] = {".", "..", ".git", ".claude", "home", ".tenax"};
    CLEANUP(mem_freep) char *path = world_path(w, name);
    DIR *dir = opendir(path);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        CLEANUP(mem_freep) char *inner = path_join(path, entry->d_name);
        bool kept = false;

        for (size_t i = 0; i < ARRAY_LEN(belongs); i++)
            kept = kept || strcmp(entry->d_name, belongs[i]) == 0;
        if (!kept)
            nftw(inner, world_remove, 16, FTW_DEPTH | FTW_PHYS);
    }
    if (dir)
        closedir(dir);
}

int world_plant(const struct world *w)
{
    static const char *const links[][2] = {
        {"../out/sock", "w/planted"},
        {"../secrets/id", "w/planted-file"},
        {"../out", "w/planted-folder"},
    };
    CLEANUP(mem_freep) char *ear = world_path(w, "w/free");

    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        CLEANUP(mem_freep) char *path = world_path(w, links[i][1]);

        if (symlink(links[i][0], path) < 0)
            BUG("no link: %s", strerrordesc_np(errno));
    }
    return world_listen_at(ear, SOCK_STREAM, /*abstract=*/false);
}

void world_mend(struct world *w)
{
    int visitor;

    do {
        visitor = accept4(w->listed, NULL, NULL, SOCK_CLOEXEC);
        if (visitor >= 0)
            close(visitor);
    } while (visitor >= 0);
    world_empty(w, "w");
    world_empty(w, "t");
    world_make(w);
    buf_clear(&w->before);
    world_look(w, &w->before);
}

void world_release(struct world *w)
{
    for (int i = 0; i < EAR_COUNT; i++)
        close(w->ears[i]);
    close(w->listed);
    close(w->terminal);
    kill(w->victim, SIGKILL);
    waitpid(w->victim, NULL, 0);
    nftw(w->root, world_remove, 16, FTW_DEPTH | FTW_PHYS);
    buf_release(&w->before);
    strv_release(&w->env);
}
