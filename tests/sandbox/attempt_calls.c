/*
 * attempt_calls: the functions, in the order of their table. Each runs alone in a process that is
 * confined, so that nothing is cleaned up. What would do harm if it went through is asked for in
 * its mildest form: the name of the machine is set to what it is, the clock to what it says.
 *
 * Long because the table is: it is a list, not a mechanism.
 */
#include "sandbox/attempt_calls.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <linux/perf_event.h>
#include <linux/vm_sockets.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/mem.h"
#include "proc/landlock.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463
#endif
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif

static int refused(long rc)
{
    return rc < 0 ? errno : 0;
}

static pid_t pid_of(const char *name)
{
    return (pid_t)strtol(attempt_env(name), NULL, 10);
}

static void path_in(char *ret, size_t size, const char *folder, const char *name)
{
    snprintf(ret, size, "%s/%s", attempt_env(folder), name);
}

/* ---- sockets ---- */

static int reach(int family, int kind, const void *address, socklen_t len)
{
    int fd = socket(family, kind, 0);

    if (fd < 0)
        return errno;
    if (kind == SOCK_DGRAM)
        return refused(sendto(fd, "x", 1, 0, address, len));
    return refused(connect(fd, address, len));
}

static int reach_inet(int kind, const char *port)
{
    const struct sockaddr_in at = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)strtol(attempt_env(port), NULL, 10)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };

    return reach(AF_INET, kind, &at, sizeof(at));
}

static socklen_t name_unix(struct sockaddr_un *ret, const char *name, bool abstract)
{
    size_t len = strlen(name);

    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(ret->sun_path + abstract, name, len);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
}

static int reach_unix(int kind, const char *name, bool abstract)
{
    struct sockaddr_un at;
    socklen_t len = name_unix(&at, attempt_env(name), abstract);

    return reach(AF_UNIX, kind, &at, len);
}

int call_tcp(void)
{
    return reach_inet(SOCK_STREAM, "PORT");
}

int call_tcp6(void)
{
    const struct sockaddr_in6 at = {
        .sin6_family = AF_INET6,
        .sin6_port = htons((uint16_t)strtol(attempt_env("PORT"), NULL, 10)),
        .sin6_addr = IN6ADDR_LOOPBACK_INIT,
    };

    return reach(AF_INET6, SOCK_STREAM, &at, sizeof(at));
}

int call_udp(void)
{
    return reach_inet(SOCK_DGRAM, "UDP_PORT");
}

int call_unix(void)
{
    return reach_unix(SOCK_STREAM, "SOCK", /*abstract=*/false);
}

int call_unix_work(void)
{
    return reach_unix(SOCK_STREAM, "SOCK_WORK", /*abstract=*/false);
}

int call_unix_proxy(void)
{
    return call_unix();
}

int call_abstract(void)
{
    return reach_unix(SOCK_STREAM, "ABSTRACT", /*abstract=*/true);
}

int call_unix_datagram(void)
{
    return reach_unix(SOCK_DGRAM, "SOCK_DATAGRAM", /*abstract=*/false);
}

int call_unix_pair(void)
{
    struct sockaddr_un at;
    socklen_t len = name_unix(&at, attempt_env("SOCK_DATAGRAM"), /*abstract=*/false);
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) < 0)
        return errno;
    return refused(sendto(fds[0], "x", 1, 0, (struct sockaddr *)&at, len));
}

int call_unix_pair_connect(void)
{
    struct sockaddr_un at;
    socklen_t len = name_unix(&at, attempt_env("SOCK"), /*abstract=*/false);
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
        return errno;
    return refused(connect(fds[0], (struct sockaddr *)&at, len));
}

static int reach_here(const char *name)
{
    struct sockaddr_un at;
    socklen_t len = name_unix(&at, name, /*abstract=*/false);

    return reach(AF_UNIX, SOCK_STREAM, &at, len);
}

int call_unix_planted(void)
{
    if (symlink(attempt_env("SOCK"), "made") < 0)
        return errno;
    return reach_here("made");
}

int call_unix_linked(void)
{
    if (link(attempt_env("SOCK_WORK"), "made") < 0)
        return errno;
    return reach_here("made");
}

int call_unix_moved(void)
{
    if (rename("free", "made") < 0)
        return errno;
    return reach_here("made");
}

int call_unix_planted_link(void)
{
    return reach_here("planted");
}

static struct sockaddr_un race_at;
static bool race_is_over;

static void *race_change(void *arg)
{
    struct sockaddr_un listed;
    struct sockaddr_un other;

    (void)arg;
    name_unix(&listed, attempt_env("LISTED"), /*abstract=*/false);
    name_unix(&other, attempt_env("SOCK"), /*abstract=*/false);
    while (!__atomic_load_n(&race_is_over, __ATOMIC_RELAXED)) {
        race_at = listed;
        race_at = other;
    }
    return NULL;
}

int call_unix_race(void)
{
    pthread_t thread;
    int rc = pthread_create(&thread, NULL, race_change, NULL);

    for (int i = 0; rc == 0 && i < 300; i++) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

        (void)!connect(fd, (struct sockaddr *)&race_at, sizeof(race_at));
        close(fd);
    }
    __atomic_store_n(&race_is_over, true, __ATOMIC_RELAXED);
    if (rc == 0)
        pthread_join(thread, NULL);
    return EACCES;
}

int call_netlink(void)
{
    return refused(socket(AF_NETLINK, SOCK_RAW, 0));
}

int call_vsock(void)
{
    return refused(socket(AF_VSOCK, SOCK_STREAM, 0));
}

int call_packet(void)
{
    return refused(socket(AF_PACKET, SOCK_RAW, 0));
}

int call_raw(void)
{
    return refused(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
}

int call_alg(void)
{
    return refused(socket(AF_ALG, SOCK_SEQPACKET, 0));
}

int call_bluetooth(void)
{
    return refused(socket(AF_BLUETOOTH, SOCK_RAW, 0));
}

int call_smc(void)
{
    return refused(socket(AF_SMC, SOCK_STREAM, 0));
}

int call_family_high(void)
{
    return refused(syscall(SYS_socket, (1L << 32) | AF_UNIX, SOCK_STREAM, 0));
}

int call_pair_inet(void)
{
    int fds[2];

    return refused(socketpair(AF_TIPC, SOCK_STREAM, 0, fds));
}

/* socket(AF_UNIX) by the gate of 32 bits, where calls have other numbers. */
int call_compat(void)
{
#ifdef __x86_64__
    long rc;

    __asm__ volatile("int $0x80"
                     : "=a"(rc)
                     : "a"(359L), "b"((long)AF_UNIX), "c"((long)SOCK_STREAM), "d"(0L)
                     : "memory");
    errno = (int)-rc;
    return rc < 0 ? errno : 0;
#else
    return ENOSYS;
#endif
}

int call_x32(void)
{
#ifdef __x86_64__
    return refused(syscall(0x40000000L | SYS_socket, AF_UNIX, SOCK_STREAM, 0));
#else
    return ENOSYS;
#endif
}

/* ---- the kernel ---- */

int call_io_uring(void)
{
    struct io_uring_params params = {0};

    return refused(syscall(SYS_io_uring_setup, 4, &params));
}

int call_userfaultfd(void)
{
    return refused(syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* for user mode only */));
}

int call_bpf(void)
{
    char attr[128] = {0};

    return refused(syscall(SYS_bpf, 0, attr, sizeof(attr)));
}

int call_perf(void)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .exclude_kernel = 1,
    };

    return refused(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}

/* ---- other processes ---- */

int call_ptrace(void)
{
    return refused(ptrace(PTRACE_SEIZE, pid_of("VICTIM"), NULL, NULL));
}

int call_traceme(void)
{
    return refused(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

int call_peek(void)
{
    char here[8];
    struct iovec mine = {here, sizeof(here)};
    struct iovec theirs = {here, sizeof(here)}; /* we are copies of one program */

    return refused(process_vm_readv(pid_of("VICTIM"), &mine, 1, &theirs, 1, 0));
}

int call_poke(void)
{
    char here[8] = "escaped";
    struct iovec mine = {here, sizeof(here)};
    struct iovec theirs = {here, sizeof(here)};

    return refused(process_vm_writev(pid_of("WATCHER"), &mine, 1, &theirs, 1, 0));
}

int call_proc_mem(void)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/mem", pid_of("VICTIM"));
    return refused(open(path, O_RDONLY));
}

int call_proc_fd(void)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/fd/1", pid_of("WATCHER"));
    return refused(open(path, O_WRONLY));
}

int call_getfd(void)
{
    long fd = syscall(SYS_pidfd_open, pid_of("WATCHER"), 0);

    return fd < 0 ? errno : refused(syscall(SYS_pidfd_getfd, fd, 1, 0));
}

int call_kill(void)
{
    return refused(kill(pid_of("VICTIM"), SIGKILL));
}

int call_kill_watcher(void)
{
    return refused(kill(pid_of("WATCHER"), SIGCONT));
}

/* By what it is called, and whose child it is. */
static pid_t find_process(const char *name)
{
    DIR *dir = opendir("/proc");
    const struct dirent *entry;
    pid_t found = 0;

    while (dir && !found && (entry = readdir(dir))) {
        char path[300];
        char text[256] = "";
        char comm[32] = "";
        int pid = 0;
        int parent = 0;
        int fd;

        snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
        fd = open(path, O_RDONLY);
        if (fd < 0)
            continue;
        if (read(fd, text, sizeof(text) - 1) > 0 &&
            sscanf(text, "%d (%31[^)]) %*c %d", &pid, comm, &parent) == 3 &&
            strcmp(comm, name) == 0 && parent == pid_of("WATCHER"))
            found = pid;
        close(fd);
    }
    return found;
}

int call_kill_warden(void)
{
    pid_t warden = find_process("tenax-job");

    return warden ? refused(kill(warden, SIGKILL)) : ESRCH;
}

int call_kill_zygote(void)
{
    pid_t zygote = find_process("tenax-zygote");

    return zygote ? refused(kill(zygote, SIGKILL)) : ESRCH;
}

int call_kill_group(void)
{
    pid_t group = getpgid(pid_of("WATCHER"));

    return group < 0 ? errno : refused(kill(-group, SIGCONT));
}

int call_kill_pidfd(void)
{
    long fd = syscall(SYS_pidfd_open, pid_of("VICTIM"), 0);

    return fd < 0 ? errno : refused(syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0));
}

int call_kill_queue(void)
{
    return refused(sigqueue(pid_of("VICTIM"), SIGTERM, (union sigval){0}));
}

int call_kill_thread(void)
{
    return refused(syscall(SYS_tgkill, pid_of("VICTIM"), pid_of("VICTIM"), SIGKILL));
}

int call_sigio(void)
{
    int fds[2];

    if (pipe(fds) < 0 || fcntl(fds[0], F_SETOWN, pid_of("VICTIM")) < 0 ||
        fcntl(fds[0], F_SETFL, O_ASYNC) < 0)
        return errno;
    return refused(write(fds[1], "x", 1));
}

int call_limit(void)
{
    const struct rlimit none = {0, 0};

    return refused(prlimit(pid_of("VICTIM"), RLIMIT_CPU, &none, NULL));
}

/* ---- mounts and namespaces ---- */

int call_mount(void)
{
    return refused(mount("tmpfs", attempt_env("WORK"), "tmpfs", 0, NULL));
}

int call_bind(void)
{
    return refused(mount(attempt_env("OUT"), attempt_env("WORK"), NULL, MS_BIND, NULL));
}

int call_remount(void)
{
    return refused(mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
}

int call_mount_setattr(void)
{
    struct mount_attr attr = {.attr_clr = MOUNT_ATTR_RDONLY};

    return refused(syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &attr, sizeof(attr)));
}

int call_umount(void)
{
    char path[256];

    path_in(path, sizeof(path), "SECRETS", "secrets");
    return refused(umount2(path, MNT_DETACH));
}

int call_open_tree(void)
{
    return refused(syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE));
}

int call_open_tree_attr(void)
{
    return refused(syscall(SYS_open_tree_attr, AT_FDCWD, attempt_env("OUT"), 0, NULL, 0));
}

int call_fsopen(void)
{
    return refused(syscall(SYS_fsopen, "tmpfs", 0));
}

int call_unshare_user(void)
{
    return refused(unshare(CLONE_NEWUSER));
}

int call_unshare_mount(void)
{
    return refused(unshare(CLONE_NEWNS));
}

int call_clone_user(void)
{
    long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);

    if (pid == 0)
        _exit(0);
    return refused(pid);
}

int call_clone3_user(void)
{
    struct {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
    } args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
    long pid = syscall(SYS_clone3, &args, sizeof(args));

    if (pid == 0)
        _exit(0);
    return refused(pid);
}

int call_setns(void)
{
    long fd = syscall(SYS_pidfd_open, pid_of("WATCHER"), 0);

    return fd < 0 ? errno : refused(setns((int)fd, CLONE_NEWNS));
}

int call_chroot(void)
{
    return refused(chroot("/"));
}

int call_pivot_root(void)
{
    return refused(syscall(SYS_pivot_root, "/", "/"));
}

/* ---- rights ---- */

int call_setuid(void)
{
    return refused(syscall(SYS_setuid, getuid() ? 0 : 65534));
}

int call_setgroups(void)
{
    const gid_t group = 0;

    return refused(syscall(SYS_setgroups, 1, &group));
}

int call_capset(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {
        {.effective = 1U << CAP_SYS_ADMIN, .permitted = 1U << CAP_SYS_ADMIN},
    };

    return refused(syscall(SYS_capset, &head, data));
}

int call_new_privs(void)
{
    return refused(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
}

int call_add_key(void)
{
    return refused(syscall(SYS_add_key, "user", "tenax-escape", "x", 1, -3 /* of the process */));
}

int call_request_key(void)
{
    return refused(syscall(SYS_request_key, "user", "tenax-escape", NULL, -3));
}

int call_keyctl(void)
{
    return refused(syscall(SYS_keyctl, 0 /* ask for an id */, -3, 0, 0, 0));
}

int call_handle(void)
{
    char room[sizeof(struct file_handle) + MAX_HANDLE_SZ] = {0};
    struct file_handle *handle = (struct file_handle *)room;
    char path[256];
    int mount;
    int dir;

    handle->handle_bytes = MAX_HANDLE_SZ;
    path_in(path, sizeof(path), "OUT", "canary");
    dir = open(attempt_env("OUT"), O_RDONLY);
    if (name_to_handle_at(AT_FDCWD, path, handle, &mount, 0) < 0)
        return errno;
    return refused(open_by_handle_at(dir, handle, O_RDWR));
}

int call_kexec(void)
{
    return refused(syscall(SYS_kexec_load, 0, 0, NULL, 0));
}

int call_module(void)
{
    return refused(syscall(SYS_init_module, "", 0, ""));
}

int call_settime(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return refused(clock_settime(CLOCK_REALTIME, &now));
}

int call_adjtime(void)
{
    struct timex t = {.modes = ADJ_STATUS};

    return refused(adjtimex(&t));
}

int call_reboot(void)
{
    return refused(syscall(SYS_reboot, 0xfee1dead, 672274793, 0 /* Ctrl-Alt-Del as it is */, NULL));
}

int call_swap(void)
{
    char path[256];

    path_in(path, sizeof(path), "OUT", "canary");
    return refused(swapoff(path));
}

int call_hostname(void)
{
    struct utsname name;

    uname(&name);
    return refused(sethostname(name.nodename, strlen(name.nodename)));
}

int call_acct(void)
{
    return refused(acct(NULL));
}

int call_iopl(void)
{
#ifdef SYS_iopl
    return refused(syscall(SYS_iopl, 3));
#else
    return ENOSYS;
#endif
}

int call_syslog(void)
{
    char text[64];

    return refused(syscall(SYS_syslog, 3 /* read all */, text, sizeof(text)));
}

int call_fanotify(void)
{
    return refused(syscall(SYS_fanotify_init, 0x200 /* by file id, which needs no rights */, 0));
}

/* ---- devices ---- */

int call_mknod(void)
{
    char path[256];

    path_in(path, sizeof(path), "WORK", "mem");
    return refused(mknod(path, S_IFCHR | 0600, 1 << 8 | 1));
}

int call_dev_mem(void)
{
    return refused(open("/dev/mem", O_RDONLY));
}

int call_dev_kmsg(void)
{
    return refused(open("/dev/kmsg", O_RDWR));
}

int call_dev_disk(void)
{
    DIR *dir = opendir("/sys/class/block");
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        char path[300];
        int fd;

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
        fd = open(path, O_RDONLY);
        if (fd >= 0)
            return 0;
    }
    return errno ? errno : ENOENT;
}

int call_terminals(void)
{
    int fd = open(attempt_env("TERMINAL"), O_WRONLY | O_NOCTTY);

    return fd < 0 ? errno : refused(write(fd, "x", 1));
}

int call_tiocsti(void)
{
    return refused(ioctl(STDIN_FILENO, TIOCSTI, "x"));
}

int call_tiocsti_high(void)
{
    return refused(syscall(SYS_ioctl, STDIN_FILENO, (1L << 32) | TIOCSTI, "x"));
}

int call_tioclinux(void)
{
    char paste = 3;

    return refused(ioctl(STDIN_FILENO, TIOCLINUX, &paste));
}

/* ---- files ---- */

static int own_file(char *path, size_t size)
{
    path_in(path, size, "WORK", "own");
    return open(path, O_CREAT | O_RDWR, 0755);
}

int call_chmod_suid(void)
{
    char path[256];

    return own_file(path, sizeof(path)) < 0 ? 0 : refused(chmod(path, 04755));
}

int call_fchmod_suid(void)
{
    char path[256];
    int fd = own_file(path, sizeof(path));

    if (fd < 0)
        return 0;
    if (fchmod(fd, 04755) == 0)
        return 0;
    return refused(syscall(SYS_fchmodat2, AT_FDCWD, path, 04755, 0));
}

int call_open_suid(void)
{
    char path[256];

    path_in(path, sizeof(path), "WORK", "new");
    return refused(open(path, O_CREAT | O_RDWR, 04755));
}

int call_openat2_suid(void)
{
    struct open_how how = {.flags = O_CREAT | O_RDWR, .mode = 04755};
    char path[256];

    path_in(path, sizeof(path), "WORK", "new");
    return refused(syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)));
}

int call_tmpfile_suid(void)
{
    char path[256];
    char from[64];
    int fd = open(attempt_env("WORK"), O_TMPFILE | O_RDWR, 04755);

    if (fd < 0)
        return errno;
    path_in(path, sizeof(path), "WORK", "new");
    snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
    return refused(linkat(AT_FDCWD, from, AT_FDCWD, path, AT_SYMLINK_FOLLOW));
}

int call_file_caps(void)
{
    const struct {
        uint32_t magic, permitted, inheritable, permitted_high, inheritable_high;
    } caps = {0x02000001, 1U << CAP_SYS_ADMIN, 0, 0, 0};
    char path[256];

    if (own_file(path, sizeof(path)) < 0)
        return 0;
    return refused(setxattr(path, "security.capability", &caps, sizeof(caps), 0));
}

int call_memfd_exec(void)
{
    static const char script[] = "#!/bin/sh\necho escaped > $OUT/canary\n";
    const char *argv[] = {"script", NULL};
    int fd = memfd_create("script", 0);
    int status = 0;
    pid_t pid;

    if (fd < 0 || write(fd, script, sizeof(script) - 1) < 0)
        return errno;
    pid = fork();
    if (pid == 0) {
        fexecve(fd, (char **)argv, environ);
        _exit(126);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : EROFS;
}

int call_left_open(void)
{
    int left = 0;

    for (int fd = 3; fd < 1024; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) {
            printf("descriptor %d\n", fd);
            left++;
        }
    }
    return left ? 0 : EBADF;
}

int call_fd_dir(void)
{
    char path[64];
    int fd = open(attempt_env("OUT"), O_RDONLY | O_DIRECTORY);

    if (fd < 0)
        return errno;
    snprintf(path, sizeof(path), "/proc/self/fd/%d/canary", fd);
    return refused(open(path, O_WRONLY | O_TRUNC));
}

int call_rename(void)
{
    char own[256];
    char out[256];

    own_file(own, sizeof(own));
    path_in(out, sizeof(out), "OUT", "canary");
    return refused(rename(own, out));
}

int call_exchange(void)
{
    char own[256];
    char out[256];

    own_file(own, sizeof(own));
    path_in(out, sizeof(out), "OUT", "canary");
    return refused(renameat2(AT_FDCWD, own, AT_FDCWD, out, RENAME_EXCHANGE));
}

int call_link(void)
{
    char own[256];
    char out[256];

    path_in(own, sizeof(own), "WORK", "linked");
    path_in(out, sizeof(out), "OUT", "canary");
    return refused(link(out, own));
}

int call_utimes(void)
{
    char out[256];

    path_in(out, sizeof(out), "OUT", "canary");
    return refused(utimensat(AT_FDCWD, out, NULL, 0));
}

int call_xattr(void)
{
    char out[256];

    path_in(out, sizeof(out), "OUT", "canary");
    return refused(setxattr(out, "user.escaped", "x", 1, 0));
}

int call_xattr_at(void)
{
    struct {
        uint64_t value;
        uint32_t size;
        uint32_t flags;
    } args = {.value = (uint64_t)(uintptr_t) "x", .size = 1};
    char path[256];

    path_in(path, sizeof(path), "OUT", "canary");
    return refused(syscall(SYS_setxattrat, AT_FDCWD, path, 0, "user.escape", &args, sizeof(args)));
}

int call_file_flags(void)
{
    char path[256];
    int flags = 0;
    int fd;

    path_in(path, sizeof(path), "OUT", "canary");
    fd = open(path, O_RDONLY);
    return fd < 0 ? errno : refused(ioctl(fd, FS_IOC_SETFLAGS, &flags));
}

int call_inotify(void)
{
    int fd = inotify_init();

    return fd < 0 ? errno : refused(inotify_add_watch(fd, attempt_env("OUT"), IN_ACCESS));
}

int call_landlock(void)
{
    CLEANUP(fd_closep) int ruleset = landlock_new(LANDLOCK_ACCESS_FS_WRITE_FILE, 0);
    int root = open("/", O_PATH);
    char out[256];

    if (ruleset >= 0) {
        landlock_allow(ruleset, root, LANDLOCK_ACCESS_FS_WRITE_FILE);
        landlock_enter(ruleset);
    }
    path_in(out, sizeof(out), "OUT", "canary");
    return refused(open(out, O_WRONLY | O_TRUNC));
}

/* ---- files outside, in other ways ---- */

static int outside_file(int flags)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/canary", attempt_env("OUT"));
    return open(path, flags | O_CLOEXEC | O_NONBLOCK);
}

int call_chmod_sgid(void)
{
    char path[256];

    return own_file(path, sizeof(path)) < 0 ? 0 : refused(chmod(path, 02755));
}

int call_open_sgid(void)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/sgid", attempt_env("WORK"));
    return refused(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 02755));
}

int call_lease(void)
{
    return refused(fcntl(outside_file(O_RDONLY), 1024 /* F_SETLEASE */, F_RDLCK));
}

int call_notify(void)
{
    return refused(fcntl(open(attempt_env("OUT"), O_RDONLY | O_DIRECTORY), 1026 /* F_NOTIFY */, 2));
}

int call_write_lock(void)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return refused(fcntl(outside_file(O_RDONLY), F_SETLK, &all));
}

int call_fifo(void)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/fifo", attempt_env("OUT"));
    return refused(open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK));
}

int call_ranges(void)
{
    int from = outside_file(O_RDONLY);
    int to = outside_file(O_RDONLY);
    off64_t at = 0;

    return refused(copy_file_range(from, NULL, to, &at, 1, 0));
}

int call_fallocate(void)
{
    return refused(fallocate(outside_file(O_RDONLY), 0, 0, 4096));
}

int call_mmap_shared(void)
{
    char *map = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, outside_file(O_RDONLY), 0);

    if (map == MAP_FAILED)
        return errno;
    *map = 'x';
    return 0;
}

/* The target of a descriptor, printed: the secret would be visible. */
static int tell_file(int fd)
{
    char text[256];
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (len < 0)
        return errno;
    printf("%.*s\n", (int)len, text);
    return 0;
}

int call_secret_at(void)
{
    int dir = open(attempt_env("SECRETS"), O_PATH | O_DIRECTORY | O_CLOEXEC);

    return tell_file(openat(dir, "secrets/id", O_RDONLY | O_CLOEXEC));
}

int call_secret_path_fd(void)
{
    char path[256];
    int fd;

    snprintf(path, sizeof(path), "%s/secrets/id", attempt_env("SECRETS"));
    fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return errno;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return tell_file(open(path, O_RDONLY | O_CLOEXEC));
}

/* ---- other processes, wherever they show ---- */

int call_priority(void)
{
    return refused(setpriority(PRIO_PROCESS, (id_t)pid_of("VICTIM"), 19));
}

int call_affinity(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(0, &set);
    return refused(sched_setaffinity(pid_of("VICTIM"), sizeof(set), &set));
}

/* A file outside by the root of a process: written and read. */
static int by_root_of(const char *pid)
{
    char path[512];
    int error;
    int fd;

    snprintf(path, sizeof(path), "/proc/%s/root%s/secrets/id", pid, attempt_env("SECRETS"));
    error = tell_file(open(path, O_RDONLY | O_CLOEXEC));
    snprintf(path, sizeof(path), "/proc/%s/root%s/canary", pid, attempt_env("OUT"));
    fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0)
        return error ? error : errno;
    return write(fd, "x", 1) == 1 ? 0 : errno;
}

int call_parent_root(void)
{
    char pid[16];

    snprintf(pid, sizeof(pid), "%d", getppid());
    return by_root_of(pid);
}

typedef int (*each_fn)(const char *pid);

/* 0: it went through for one of them. */
static int for_each_process(each_fn fn)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    int error = ESRCH;

    while (proc && (entry = readdir(proc))) {
        int found;

        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
            strtol(entry->d_name, NULL, 10) == getpid())
            continue;
        found = fn(entry->d_name);
        if (!found)
            return 0;
        error = found;
    }
    return error;
}

int call_all_roots(void)
{
    return for_each_process(by_root_of);
}

static int open_descriptors(const char *pid)
{
    char path[512];
    DIR *dir;
    const struct dirent *entry;
    int error = ESRCH;

    snprintf(path, sizeof(path), "/proc/%s/fd", pid);
    dir = opendir(path);
    if (!dir)
        return errno;
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/proc/%s/fd/%s", pid, entry->d_name);
        if (open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) >= 0)
            return 0;
        error = errno;
    }
    return error;
}

int call_all_descriptors(void)
{
    return for_each_process(open_descriptors);
}

static int read_environment(const char *pid)
{
    char path[512];

    snprintf(path, sizeof(path), "/proc/%s/environ", pid);
    return tell_file(open(path, O_RDONLY | O_CLOEXEC));
}

int call_all_environments(void)
{
    return for_each_process(read_environment);
}

int call_trace_first(void)
{
    return refused(ptrace(PTRACE_SEIZE, 1, NULL, NULL));
}

int call_peek_first(void)
{
    char here[8];
    struct iovec mine = {here, sizeof(here)};
    struct iovec theirs = {here, sizeof(here)};

    return refused(process_vm_readv(1, &mine, 1, &theirs, 1, 0));
}

int call_setns_first(void)
{
    int fd = open("/proc/1/ns/mnt", O_RDONLY | O_CLOEXEC);

    return fd < 0 ? errno : refused(setns(fd, CLONE_NEWNS));
}
