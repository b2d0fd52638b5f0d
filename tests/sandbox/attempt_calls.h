/*
 * Attempts that no shell can make: one function each, run inside (attempt.h).
 */
#pragma once

#include "sandbox/attempt.h"

#define ATTEMPT_CALLS(X)                                                                           \
    X(call_tcp, "TCP to a port of the machine", 0)                                                 \
    X(call_tcp6, "TCP over IPv6", 0)                                                               \
    X(call_udp, "UDP to a port of the machine", 0)                                                 \
    X(call_udp, "UDP beside the proxy", ATTEMPT_PROXY)                                             \
    X(call_tcp, "TCP beside the proxy", ATTEMPT_PROXY)                                             \
    X(call_unix, "a unix socket outside", 0)                                                       \
    X(call_unix_work, "a unix socket below the workspace", 0)                                      \
    X(call_unix_proxy, "a unix socket beside the proxy", ATTEMPT_PROXY)                            \
    X(call_abstract, "an abstract unix socket", 0)                                                 \
    X(call_abstract, "an abstract unix socket, where unix sockets are open", ATTEMPT_UNIX)         \
    X(call_abstract, "an abstract unix socket, where all is open", ATTEMPT_UNIX | ATTEMPT_OPEN)    \
    X(call_packet, "a packet socket, where the network is open", ATTEMPT_OPEN)                     \
    X(call_raw, "a raw socket, where the network is open", ATTEMPT_OPEN)                           \
    X(call_vsock, "a vsock socket, where the network is open", ATTEMPT_OPEN)                       \
    X(call_unix, "a unix socket, where the network is open", ATTEMPT_OPEN)                         \
    X(call_unix_datagram, "a datagram to a unix socket", 0)                                        \
    X(call_unix_pair, "a datagram by a socket pair", 0)                                            \
    X(call_unix_pair, "a datagram by a socket pair beside the proxy", ATTEMPT_PROXY)               \
    X(call_unix_pair, "a datagram by a socket pair, where one socket is listed", ATTEMPT_LISTED)   \
    X(call_unix_pair_connect, "a socket pair connected to another", 0)                             \
    X(call_unix, "a unix socket that is not listed", ATTEMPT_LISTED)                               \
    X(call_unix, "a unix socket that is not listed, beside the proxy",                             \
      ATTEMPT_LISTED | ATTEMPT_PROXY)                                                              \
    X(call_unix_work, "a unix socket of the workspace that is not listed", ATTEMPT_LISTED)         \
    X(call_abstract, "an abstract unix socket, where one is listed", ATTEMPT_LISTED)               \
    X(call_unix_datagram, "a datagram, where a socket is listed", ATTEMPT_LISTED)                  \
    X(call_unix_planted, "a link in the place of a listed socket", ATTEMPT_LISTED)                 \
    X(call_unix_linked, "a hard link in the place of a listed socket", ATTEMPT_LISTED)             \
    X(call_unix_moved, "another socket in the place of a listed one",                              \
      ATTEMPT_LISTED | ATTEMPT_PLANTED)                                                            \
    X(call_unix, "a unix socket, where none but a planted link is listed", ATTEMPT_PLANTED)        \
    X(call_unix_planted_link, "a planted link that is listed", ATTEMPT_PLANTED)                    \
    X(call_abstract, "an abstract unix socket, where a planted link is listed", ATTEMPT_PLANTED)   \
    X(call_unix_race, "an address changed behind the look", ATTEMPT_LISTED | ATTEMPT_MAY_PASS)     \
    X(call_tcp, "TCP beside the proxy, where a socket is listed", ATTEMPT_LISTED | ATTEMPT_PROXY)  \
    X(call_netlink, "a netlink socket", 0)                                                         \
    X(call_netlink, "a netlink socket beside the proxy", ATTEMPT_PROXY)                            \
    X(call_vsock, "a vsock socket", 0)                                                             \
    X(call_packet, "a packet socket", 0)                                                           \
    X(call_raw, "a raw socket", 0)                                                                 \
    X(call_alg, "a socket of the kernel's ciphers", 0)                                             \
    X(call_bluetooth, "a bluetooth socket", 0)                                                     \
    X(call_smc, "an SMC socket", ATTEMPT_PROXY)                                                    \
    X(call_family_high, "a socket family with a high bit set", 0)                                  \
    X(call_pair_inet, "a socket pair of another family", 0)                                        \
    X(call_compat, "system calls of 32 bits", 0)                                                   \
    X(call_x32, "system calls of x32", 0)                                                          \
    X(call_io_uring, "io_uring", 0)                                                                \
    X(call_userfaultfd, "userfaultfd", 0)                                                          \
    X(call_bpf, "bpf", 0)                                                                          \
    X(call_perf, "perf events", 0)                                                                 \
    X(call_ptrace, "ptrace of another process", 0)                                                 \
    X(call_traceme, "ptrace by the parent", ATTEMPT_MAY_PASS)                                      \
    X(call_peek, "memory of another process, read", 0)                                             \
    X(call_poke, "memory of another process, written", 0)                                          \
    X(call_proc_mem, "memory of another process, as a file", 0)                                    \
    X(call_proc_fd, "descriptors of another process", 0)                                           \
    X(call_getfd, "a descriptor taken by pidfd", 0)                                                \
    X(call_kill, "a signal to a process of the user", 0)                                           \
    X(call_kill_watcher, "a signal to tenax", 0)                                                   \
    X(call_kill_warden, "a signal to the warden", 0)                                               \
    X(call_kill_zygote, "a signal to the zygote", 0)                                               \
    X(call_kill_group, "a signal to the group of tenax", 0)                                        \
    X(call_kill_pidfd, "a signal by pidfd", 0)                                                     \
    X(call_kill_queue, "a queued signal", 0)                                                       \
    X(call_kill_thread, "a signal to a thread", 0)                                                 \
    X(call_sigio, "a signal sent by a pipe", ATTEMPT_MAY_PASS)                                     \
    X(call_limit, "limits of another process", 0)                                                  \
    X(call_mount, "mount", 0)                                                                      \
    X(call_bind, "mount, of a folder", 0)                                                          \
    X(call_remount, "a mount made writable", 0)                                                    \
    X(call_mount_setattr, "a mount made writable, the new way", 0)                                 \
    X(call_umount, "umount of what hides a secret", 0)                                             \
    X(call_open_tree, "a mount copied", 0)                                                         \
    X(call_open_tree_attr, "a mount opened the newest way", 0)                                     \
    X(call_fsopen, "a file system opened", 0)                                                      \
    X(call_unshare_user, "a user namespace", 0)                                                    \
    X(call_unshare_mount, "a mount namespace", 0)                                                  \
    X(call_clone_user, "a user namespace, by clone", 0)                                            \
    X(call_clone3_user, "a user namespace, by clone3", 0)                                          \
    X(call_setns, "the namespaces of another process", 0)                                          \
    X(call_chroot, "chroot", 0)                                                                    \
    X(call_pivot_root, "pivot_root", 0)                                                            \
    X(call_setuid, "another user", 0)                                                              \
    X(call_setgroups, "other groups", 0)                                                           \
    X(call_capset, "capabilities taken back", 0)                                                   \
    X(call_new_privs, "no_new_privs taken back", 0)                                                \
    X(call_add_key, "a key added", 0)                                                              \
    X(call_request_key, "a key asked for", 0)                                                      \
    X(call_keyctl, "a keyring joined", 0)                                                          \
    X(call_handle, "a file opened by handle", 0)                                                   \
    X(call_kexec, "another kernel", 0)                                                             \
    X(call_module, "a kernel module", 0)                                                           \
    X(call_settime, "the clock set", 0)                                                            \
    X(call_adjtime, "the clock adjusted", 0)                                                       \
    X(call_reboot, "reboot", 0)                                                                    \
    X(call_swap, "swap", 0)                                                                        \
    X(call_hostname, "the name of the machine", 0)                                                 \
    X(call_acct, "process accounting", 0)                                                          \
    X(call_iopl, "ports of the machine", 0)                                                        \
    X(call_syslog, "the kernel's log", 0)                                                          \
    X(call_fanotify, "fanotify", 0)                                                                \
    X(call_mknod, "a device made", 0)                                                              \
    X(call_dev_mem, "/dev/mem", 0)                                                                 \
    X(call_dev_kmsg, "/dev/kmsg", 0)                                                               \
    X(call_dev_disk, "the disk itself", 0)                                                         \
    X(call_terminals, "a terminal of the user", 0)                                                 \
    X(call_tiocsti, "characters typed into the terminal", ATTEMPT_TERMINAL)                        \
    X(call_tiocsti_high, "the same with a high bit set", ATTEMPT_TERMINAL)                         \
    X(call_tioclinux, "a selection pasted into the terminal", ATTEMPT_TERMINAL)                    \
    X(call_chmod_suid, "a setuid bit", 0)                                                          \
    X(call_fchmod_suid, "a setuid bit by descriptor", 0)                                           \
    X(call_open_suid, "a file made setuid", 0)                                                     \
    X(call_openat2_suid, "a file made setuid by openat2", 0)                                       \
    X(call_tmpfile_suid, "a setuid file without a name, named later", 0)                           \
    X(call_chmod_sgid, "a setgid bit", 0)                                                          \
    X(call_open_sgid, "a file made setgid", 0)                                                     \
    X(call_lease, "a lease on a file outside", 0)                                                  \
    X(call_notify, "a watch by fcntl on a folder outside", 0)                                      \
    X(call_write_lock, "a write lock on a file outside", 0)                                        \
    X(call_fifo, "a named pipe outside", ATTEMPT_LANDLOCK)                                         \
    X(call_ranges, "a file outside written by copy_file_range", 0)                                 \
    X(call_fallocate, "a file outside made longer", 0)                                             \
    X(call_mmap_shared, "a file outside written by a shared map", 0)                               \
    X(call_secret_at, "a secret by a folder's descriptor", 0)                                      \
    X(call_secret_path_fd, "a secret by an O_PATH descriptor", 0)                                  \
    X(call_priority, "the priority of another process", 0)                                         \
    X(call_affinity, "processors of another process", 0)                                           \
    X(call_parent_root, "the root of the parent", 0)                                               \
    X(call_all_roots, "the roots of all processes", 0)                                             \
    X(call_all_descriptors, "descriptors of all processes", 0)                                     \
    X(call_all_environments, "environments of all processes", ATTEMPT_MAY_PASS)                    \
    X(call_trace_first, "ptrace of the first process", 0)                                          \
    X(call_peek_first, "memory of the first process", 0)                                           \
    X(call_setns_first, "namespaces of the first process", 0)                                      \
    X(call_file_caps, "capabilities of a file", 0)                                                 \
    X(call_memfd_exec, "a program from memory that writes outside", 0)                             \
    X(call_left_open, "a descriptor that was left open", 0)                                        \
    X(call_fd_dir, "a folder reached by /proc/self/fd", 0)                                         \
    X(call_rename, "rename out of the workspace", 0)                                               \
    X(call_exchange, "two files exchanged across the border", 0)                                   \
    X(call_link, "a hard link into the workspace", 0)                                              \
    X(call_utimes, "times of a file outside", 0)                                                   \
    X(call_xattr, "an attribute of a file outside", 0)                                             \
    X(call_xattr_at, "an attribute of a file outside, the new way", 0)                             \
    X(call_file_flags, "flags of a file outside", 0)                                               \
    X(call_inotify, "inotify on a file outside", ATTEMPT_MAY_PASS)                                 \
    X(call_landlock, "a Landlock domain of its own that allows all", 0)

#define X(fn, name, flags) int fn(void);
ATTEMPT_CALLS(X)
#undef X
