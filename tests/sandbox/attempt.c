/*
 * attempt: the tables. A script runs in the workspace by "sh -c"; its last command is the one that
 * has to fail, or for chores to succeed.
 */
#include "sandbox/attempt.h"

#include <stdlib.h>

#include "base/mem.h"
#include "sandbox/attempt_calls.h"

const char *attempt_env(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "";
}

/* Perl says why when it cannot. */
#define CONNECT_TO(path)                                                                           \
    "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) or die $!; connect(S, "                  \
    "sockaddr_un(\"" path "\")) or die $!'"

#define CALL(function, words, bits) {.name = words, .fn = function, .flags = bits},

const struct attempt attempts[] = {
    /* Written outside. */
    {"write", "echo x > $OUT/canary"},
    {"append", "echo x >> $OUT/canary"},
    {"create", "echo x > $OUT/new"},
    {"create in /tmp", "echo x > /tmp/tenax-escape-$WATCHER"},
    {"create in /var/tmp", "echo x > /var/tmp/tenax-escape-$WATCHER"},
    {"remove", "rm -f $OUT/canary"},
    {"remove a folder", "rm -rf $OUT/dir"},
    {"rename", "mv $OUT/canary $OUT/moved"},
    {"move in", "mv $OUT/canary moved"},
    {"move out", "echo x > mine && mv -f mine $OUT/canary"},
    {"a folder", "mkdir $OUT/made"},
    {"truncate", "truncate -s 0 $OUT/canary"},
    {"dd", "dd if=/dev/zero of=$OUT/canary count=1"},
    {"touch", "touch $OUT/canary"},
    {"modes", "chmod 777 $OUT/canary"},
    {"modes of the folder", "chmod 700 $OUT"},
    {"owners", "chown 0:0 $OUT/canary"},
    {"up and out", "cd .. && echo x > out/canary"},
    {"a symbolic link", "ln -s $OUT/canary l && echo x > l"},
    {"a link to the folder", "ln -s $OUT l && echo x > l/new"},
    {"a link made outside", "ln -s / $OUT/link"},
    {"a hard link", "ln $OUT/canary l && echo x > l"},
    {"a hard link made outside", "echo x > mine && ln mine $OUT/hard"},
    {"/proc/self/cwd", "echo x > /proc/self/cwd/../out/canary"},
    {"/proc/self/root", "echo x > /proc/self/root$OUT/canary"},
    {"/proc/self/fd", "exec 7<$OUT/canary && echo x > /proc/self/fd/7"},
    {"/dev/fd", "exec 7<$OUT/canary && echo x > /dev/fd/7"},
    {"the root of another process", "echo x > /proc/$WATCHER/root$OUT/canary"},
    {"the folder of another process", "echo x > /proc/$VICTIM/cwd/tenax-escape"},
    {"a shared file in memory", "echo x > /proc/$WATCHER/fd/1"},
    {"tar", "echo x > canary && tar cf a.tar canary && tar xf a.tar -C $OUT", .program = "tar"},
    {"python", "python3 -c 'import os; open(os.environ[\"OUT\"] + \"/canary\", \"w\")'",
     .program = "python3"},
    /* By programs that run others, or write by themselves. */
    {"by ld.so",
     "ld=$(ls /lib64/ld-linux*.so* /lib/ld-linux-a* 2>/dev/null | head -n 1); $ld /bin/sh "
     "-c \"echo x > $OUT/canary\""},
    {"by busybox", "busybox sh -c \"echo x > $OUT/canary\"", .program = "busybox"},
    {"by perl", "perl -e 'open(F, \">\", \"$ENV{OUT}/canary\") or die $!'", .program = "perl"},
    {"by awk", "awk 'BEGIN { print \"x\" > (ENVIRON[\"OUT\"] \"/canary\") }'", .program = "awk"},
    {"by make", "printf 'all:\\n\\techo x > $(OUT)/canary\\n' | make -f -", .program = "make"},
    {"by an alias of git", "git -c alias.x='!echo x > $OUT/canary' x", .program = "git"},
    {"by a proxy command of ssh",
     "ssh -o ProxyCommand='sh -c \"echo x > $OUT/canary\"' h || exit 1", .program = "ssh"},
    {"by a checkpoint of tar",
     "echo a > a; tar cf a.tar --checkpoint=1 --checkpoint-action=exec='echo x > $OUT/canary' a; "
     "grep -qx x $OUT/canary",
     .program = "tar"},
    {"by setsid", "setsid -w sh -c 'echo x > $OUT/canary'", .program = "setsid"},
    {"by script", "script -qec 'echo x > $OUT/canary' /dev/null", .program = "script"},
    {"by nice", "nice -n 19 sh -c 'echo x > $OUT/canary'"},
    {"by xargs", "echo $OUT/canary | xargs truncate -s 0"},
    {"by a coprocess", "bash -c 'coproc { echo x > $OUT/canary; }; wait $!'", .program = "bash"},
    {"by a trap", "bash -c \"trap 'echo x > $OUT/canary || exit 3' EXIT\"", .program = "bash"},
    {"by BASH_ENV", "echo 'echo x > $OUT/canary || exit 3' > env; BASH_ENV=./env bash -c true",
     .program = "bash"},
    {"by a here-document", "sh <<'E'\necho x > $OUT/canary\nE"},
    {"by sed", "echo x | sed -n \"w $OUT/canary\""},
    {"by sort", "echo x | sort -o $OUT/canary"},
    {"by install", "echo x > mine && install mine $OUT/canary"},
    {"a repository outside", "git init -q $OUT/repo", .program = "git"},
    {"a script of the user", "echo evil >> $OUT/script"},
    {"what every program loads", "echo /x.so > /etc/ld.so.preload"},
    {"users", "echo x:x:0:0::/:/bin/sh >> /etc/passwd"},
    {"a crontab", "echo '* * * * * true' | crontab -", .program = "crontab"},
    {"the root of the parent", "echo x > /proc/$PPID/root$OUT/canary"},
    {"a file by the root of the first", "echo x > /proc/1/root$OUT/canary"},
    {"a hook by the root of the first", "echo x > /proc/1/root$WORK/.git/hooks/pre-commit"},
    {"a file by the folder of the parent", "cd /proc/$PPID/cwd/../out && echo x > canary"},
    {"a file by a thread's root", "echo x > /proc/$PPID/task/$PPID/root$OUT/canary"},
    {"a file by the roots of all",
     "for p in /proc/[0-9]*; do echo x > $p/root$OUT/canary && exit 0; done; exit 1"},
    {"a file by a link to itself", "ln -s /proc/self/root r && echo x > r$OUT/canary"},
    {"by node", "node -e 'require(\"fs\").writeFileSync(process.env.OUT + \"/canary\", \"x\")'",
     .program = "node"},
    {"by cp", "echo x > mine && cp mine $OUT/canary"},
    {"by cp into a folder", "mkdir p && echo x > p/canary && cp -r p/. $OUT"},
    {"by tee", "echo x | tee $OUT/canary"},
    {"by tee, at the end", "echo x | tee -a $OUT/canary"},
    {"by sed -i", "sed -i s/a/b/ $OUT/canary"},
    {"by patch", "printf -- '--- a\\n+++ b\\n@@ -0,0 +1 @@\\n+x\\n' | patch -f $OUT/canary",
     .program = "patch"},
    {"by rsync", "echo x > canary && rsync canary $OUT/", .program = "rsync"},
    {"by cpio", "echo canary | (cd $OUT && cpio -o) > a.cpio && cd $OUT && cpio -iu < $WORK/a.cpio",
     .program = "cpio"},
    {"by git's output", "git diff --no-index --output=$OUT/canary /dev/null /etc/passwd",
     .program = "git"},
    {"by find -fprint", "find . -fprint $OUT/canary"},
    {"by find -delete", "find $OUT -delete"},
    {"by shred", "shred -u $OUT/canary"},
    {"by split", "echo x | split - $OUT/part"},
    {"by csplit", "seq 3 | csplit -f $OUT/part - 2"},
    {"by uniq", "echo x | uniq - $OUT/canary"},
    {"by mktemp", "mktemp -p $OUT"},
    {"by ln -f", "echo x > mine && ln -f mine $OUT/canary"},
    {"by ln -sf", "ln -sfn /etc/passwd $OUT/canary"},
    {"by mkfifo", "mkfifo $OUT/pipe"},
    {"by mknod", "mknod $OUT/node p"},
    {"by rmdir", "rmdir $OUT/dir"},
    {"by unlink", "unlink $OUT/canary"},
    {"by chattr", "chattr +i $OUT/canary", .program = "chattr"},
    {"by setfacl", "setfacl -m u:nobody:rw $OUT/canary", .program = "setfacl"},
    {"by gcc", "echo 'int x;' | gcc -c -x c - -o $OUT/canary", .program = "gcc"},
    {"by curl's output", "curl -sS -o $OUT/canary file:///etc/passwd", .program = "curl"},
    {"by sqlite",
     "python3 -c 'import os, sqlite3; sqlite3.connect(os.environ[\"OUT\"] + "
     "\"/db\").execute(\"create table t(a)\")'",
     .program = "python3"},
    {"by a second name of the folder", "mkdir d && ln -s ../.. d/up && echo x > d/up/out/canary"},
    {"by a long way up", "echo x > ../../../../../../../..$OUT/canary"},
    {"by a background job", "(sleep 0.05; echo x > $OUT/canary) & wait $!"},
    {"by exec of a descriptor", "exec 9>>$OUT/canary && echo x >&9"},
    {"by nohup", "nohup sh -c 'echo x > $OUT/canary' < /dev/null"},
    {"by timeout", "timeout 5 sh -c 'echo x > $OUT/canary'"},
    {"by env", "env -i sh -c \"echo x > $OUT/canary\""},
    {"a device outside of /dev", "mkdir dev && cp -a /dev/kmsg dev/ && echo x > dev/kmsg"},
    /* Read-only in the workspace. */
    {"a hook by cp", "echo x > mine && cp mine .git/hooks/pre-commit"},
    {"a hook by a new name", "echo x > .git/hooks/prepare-commit-msg"},
    {"a hook by git", "mkdir t && echo x > t/pre-push && cp -r t/. .git/hooks/"},
    {"hooks exchanged by a mount point", "mv .git/hooks/pre-commit $TMPDIR/"},
    {"git's configuration by git", "git config --local alias.x '!evil'", .program = "git"},
    {"git's configuration removed", "rm -f .git/config"},
    {"git's configuration emptied", "truncate -s 0 .git/config"},
    {"settings removed", "rm -rf .claude"},
    {"settings by cp -r",
     "mkdir -p p/.claude && echo x > p/.claude/settings.local.json && cp -r p/. ."},
    {"settings by tar",
     "mkdir -p p/.claude && echo x > p/.claude/settings.local.json && tar cf a.tar -C p . && tar "
     "xf a.tar",
     .program = "tar"},
    {"a hook", "echo x > .git/hooks/post-commit"},
    {"a hook changed", "echo x >> .git/hooks/pre-commit"},
    {"a hook removed", "rm -f .git/hooks/pre-commit"},
    {"a hook's mode", "chmod 644 .git/hooks/pre-commit"},
    {"hooks moved away", "mv .git/hooks .git/old"},
    {"hooks removed", "rm -rf .git/hooks"},
    {"hooks replaced by a link", "mkdir h && ln -sfn $PWD/h .git/hooks/pre-commit"},
    {"the repository moved away", "mv .git old"},
    {"the repository removed", "rm -rf .git"},
    {"the repository exchanged",
     "mkdir new && mv -T --exchange new .git 2>/dev/null || mv -T new .git"},
    {"git's configuration", "echo '[core] pager = evil' >> .git/config"},
    {"git's configuration replaced", "echo x > c && mv -f c .git/config"},
    {"git's configuration linked", "ln -f .git/config c && echo x > c"},
    {"git config", "git config core.fsmonitor evil", .program = "git"},
    {"settings", "echo x > .claude/settings.json"},
    {"settings replaced", "echo x > s && mv -f s .claude/settings.json"},
    {"settings that were not there", "echo x > .claude/settings.local.json"},
    {"settings moved away", "mv .claude old"},
    {"a link to settings removed", "rm .tenax"},
    {"a link to settings moved away", "mv .tenax x"},
    {"a link to settings replaced", "mkdir h && ln -sfn h l && mv -T l .tenax"},
    {"settings by a link", "echo x > .tenax/canary"},
    {"tenax's home", "echo x > $TENAX/settings.json"},
    {"tenax's home, a new file", "echo x > $TENAX/new"},
    {"tenax's home moved away", "mv $TENAX elsewhere"},
    {"the workspace moved away", "cd / && mv $WORK $WORK.old"},
    /* Hidden. */
    {"a secret", "cat $SECRETS/secrets/id"},
    /* Root finds it empty. */
    {"a secret file", "cat $SECRETS/secret.txt", .flags = ATTEMPT_MAY_PASS},
    {"secrets found", "grep -r . $SECRETS/secrets/id"},
    {"a secret by a link", "ln -s $SECRETS/secrets/id l && cat l"},
    {"a secret by a hard link", "ln $SECRETS/secrets/id l && cat l"},
    {"a secret by /proc/self/root", "cat /proc/self/root$SECRETS/secrets/id"},
    {"a secret by the root of another", "cat /proc/$WATCHER/root$SECRETS/secrets/id"},
    {"a secret by .", "ls $SECRETS/secrets && cd $SECRETS/secrets && cat ./id"},
    {"a secret that a planted link would show", "cat $SECRETS/secrets/id planted-file",
     .flags = ATTEMPT_PLANTED | ATTEMPT_MAY_PASS},
    {"a file where a planted link would let it", "echo x > planted-folder/file",
     .flags = ATTEMPT_PLANTED},
    {"secrets made readable", "chmod 755 $SECRETS/secrets && cat $SECRETS/secrets/id"},
    {"secrets moved", "mv $SECRETS/secrets $WORK/s && cat $WORK/s/id"},
    {"secrets copied", "cp $SECRETS/secrets/id x && cat x", .program = "cp"},
    {"a secret by the root of the parent", "cat /proc/$PPID/root$SECRETS/secrets/id"},
    {"a secret by the root of the first", "cat /proc/1/root$SECRETS/secrets/id"},
    {"a secret by the roots of all", "cat /proc/[0-9]*/root$SECRETS/secrets/id"},
    {"a secret by the folders of all", "cat /proc/[0-9]*/cwd/../secrets/id"},
    {"a secret by descriptors of all", "cat /proc/[0-9]*/fd/*/secrets/id"},
    {"a secret by dd", "dd if=$SECRETS/secrets/id"},
    {"a secret by od", "od -c $SECRETS/secrets/id"},
    {"a secret by head", "head -c 100 < $SECRETS/secrets/id"},
    {"a secret by tar", "tar cf - $SECRETS/secrets/id", .program = "tar"},
    {"a secret by git", "git diff --no-index /dev/null $SECRETS/secrets/id && exit 1",
     .program = "git"},
    {"a secret by git hash-object", "git hash-object -w $SECRETS/secrets/id", .program = "git"},
    {"a secret by python",
     "python3 -c 'import os; print(open(os.environ[\"SECRETS\"] + \"/secrets/id\").read())'",
     .program = "python3"},
    {"a secret by curl", "curl -sS file://$SECRETS/secrets/id", .program = "curl"},
    {"a secret as a program", "sh $SECRETS/secrets/id"},
    {"a secret sourced", ". $SECRETS/secrets/id"},
    {"a secret by a loop of links", "ln -s ../secrets s && cat s/id"},
    {"a secret by find", "find $SECRETS/secrets -type f -exec cat {} +; true",
     .flags = ATTEMPT_MAY_PASS},
    {"a secret by a map of the disk", "grep -a hunter2-secret /dev/vda"},
    {"an environment of another process", "cat /proc/$WATCHER/environ"},
    {"memory of another process", "cat /proc/$WATCHER/maps"},
    /* Locks, which would stop programs outside. */
    {"a lock", "flock -n $OUT/canary true"},
    {"a shared lock", "flock -sn $OUT/canary true"},
    {"a lock of a folder", "flock -n $OUT true"},
    {"a lock that waits", "flock -w 1 $OUT/canary true"},
    {"a lock by a descriptor", "exec 9<$OUT/canary && flock -n 9"},
    {"a lock by /proc", "flock -n /proc/self/root$OUT/canary true"},
    {"a lock of a link", "ln -s $OUT/canary l && flock -n l true"},
    {"a lock of settings", "flock -n .claude true"},
    {"a lock of the hooks", "flock -n .git/hooks true"},
    {"a lock of a device", "flock -n /dev/null true"},
    {"a lock of a program", "flock -n /bin/sh true"},
    {"a lock exchanged meanwhile",
     "python3 -c 'import fcntl, os, threading\n"
     "own = os.open(\"own\", os.O_RDWR | os.O_CREAT); other = os.open(\"own\", os.O_RDWR)\n"
     "out = os.open(os.environ[\"OUT\"] + \"/canary\", os.O_RDONLY); fd = os.dup(own)\n"
     "fcntl.flock(other, fcntl.LOCK_EX)\n"
     "threading.Timer(0.05, lambda: (os.dup2(out, fd), fcntl.flock(other, "
     "fcntl.LOCK_UN))).start()\n"
     "fcntl.flock(fd, fcntl.LOCK_EX); fcntl.flock(out, fcntl.LOCK_EX | fcntl.LOCK_NB)'",
     .program = "python3"},
    /* The network, by programs. */
    {"/dev/tcp", "bash -c 'echo x > /dev/tcp/127.0.0.1/'$PORT", .program = "bash"},
    {"/dev/udp", "bash -c 'echo x > /dev/udp/127.0.0.1/'$UDP_PORT", .program = "bash"},
    {"curl", "curl -sS http://127.0.0.1:$PORT/", .program = "curl"},
    {"curl to a unix socket", "curl -sS --unix-socket $SOCK http://x/", .program = "curl"},
    {"a name looked up", "python3 -c 'import socket; socket.getaddrinfo(\"example.com\", 80)'",
     .program = "python3"},
    {"python's sockets", "python3 -c 'import socket; socket.socket(socket.AF_UNIX)'",
     .program = "python3"},
    {"git clone", "git clone http://127.0.0.1:$PORT/x", .program = "git"},
    {"ping", "ping -c 1 -W 1 127.0.0.1", .program = "ping"},
    {"ip link", "ip link set lo up", .program = "ip"},
    /* Rights, by programs. */
    {"sudo", "sudo -n true", .program = "sudo"},
    {"su", "su -s /bin/sh -c 'echo x > $OUT/canary' nobody < /dev/null", .program = "su"},
    {"unshare", "unshare -r true", .program = "unshare"},
    {"unshare and mount", "unshare -rm mount -o remount,rw /", .program = "unshare"},
    {"nsenter", "nsenter -t $WATCHER -m true", .program = "nsenter"},
    {"mount --bind", "mount --bind $OUT $WORK", .program = "mount"},
    {"umount", "umount $SECRETS/secrets", .program = "umount"},
    {"bwrap inside", "bwrap --bind / / sh -c 'echo x > $OUT/canary'", .program = "bwrap"},
    {"chroot", "chroot / true", .program = "chroot"},
    {"strace", "strace -p $VICTIM", .program = "strace"},
    {"gdb", "gdb -batch -p $VICTIM", .program = "gdb"},
    {"setcap", "cp /bin/true t && setcap cap_sys_admin+ep t", .program = "setcap"},
    {"a setuid shell", "cp /bin/sh s && chmod u+s s"},
    /* The machine. */
    {"core pattern", "echo '|/evil' > /proc/sys/kernel/core_pattern"},
    {"a sysctl", "echo 0 > /proc/sys/vm/drop_caches"},
    {"sysrq", "echo h > /proc/sysrq-trigger"},
    {"a group of processes", "mkdir /sys/fs/cgroup/tenax-escape"},
    {"the name of another process", "echo evil > /proc/$VICTIM/comm"},
    {"who is killed first", "echo 1000 > /proc/$VICTIM/oom_score_adj"},
    {"timers of another process", "echo 1 > /proc/$VICTIM/timerslack_ns"},
    {"what another process dumps", "echo 0x33 > /proc/$VICTIM/coredump_filter"},
    {"hooks of a repository below, linked",
     "mkdir -p r/.git && ln -s $OUT r/.git/hooks && echo x > r/.git/hooks/canary"},
    {"a kernel module's parameter", "for f in /sys/module/*/parameters/*; do echo 1 > $f; done"},
    {"kill", "kill -9 $VICTIM"},
    {"kill of all", "kill -TERM -1", .flags = ATTEMPT_MAY_PASS | ATTEMPT_MAY_END},
    /* Not waited for here: the next look at the world may see it. */
    {"a daemon that comes back later",
     "(setsid sh -c 'sleep 0.1; echo x > $OUT/canary' &); echo x > $OUT/canary"},
    {"cut off from what it was", "exec env -i OUT=$OUT setsid -w sh -c 'echo x > $OUT/canary'"},
    /* By system calls. */
    ATTEMPT_CALLS(CALL)};
const size_t attempt_count = ARRAY_LEN(attempts);
_Static_assert(ARRAY_LEN(attempts) >= 300, "too few to say that it holds");

const struct attempt chores[] = {
    {"files", "mkdir -p a/b && echo x > a/b/c && mv a/b/c d && ln d e && ln -s d f && chmod 600 d "
              "&& touch d && rm -rf a d e f"},
    {"a file in TMPDIR", "f=$(mktemp) && echo x > $f && mv $f here"},
    {"rename across folders", "mkdir a b && echo x > a/f && mv a/f b/f && mv b/f .git/f"},
    {"pipes", "test \"$(seq 1000 | sort -rn | head -n 1)\" = 1000"},
    {"background", "sleep 0.01 & wait $!"},
    {"shared memory", "echo x > /dev/shm/x && rm /dev/shm/x"},
    {"a fifo", "mkfifo p && (echo x > p &) && read x < p && test $x = x"},
    {"locks",
     "touch f && flock f true && flock -n $TMPDIR true && exec 9>f && flock 9 && ! flock -n f "
     "true && flock -u 9 && flock -n f true"},
    {"locks that are waited for",
     "touch f && (flock 9 && touch held && sleep 0.1 && echo a >> o) 9>f & until [ -e held ]; do "
     "sleep 0.01; done; flock f sh -c 'echo b >> o'; wait $!; test \"$(cat o | tr -d '\\n')\" = "
     "ab"},
    {"a lock given up",
     "touch f && exec 9>f && flock 9 && ! timeout 0.1 flock f true && flock -u 9 && "
     "flock -n f true"},
    {"signals among themselves", "sleep 100 & kill $! && ! wait $!"},
    {"devices", "head -c 8 /dev/urandom > /dev/null && head -c 8 /dev/zero | od >/dev/null"},
    {"reading elsewhere", "cat /etc/passwd $OUT/canary >/dev/null && ls / $OUT >/dev/null"},
    {"a program of its own", "printf '#!/bin/sh\\nexit 7\\n' > p && chmod +x p; ./p; test $? = 7"},
    {"make and gcc",
     "printf 'int main(void){return 0;}' > m.c && printf 'm: m.c\\n\\tgcc -pipe -o m m.c\\n' > "
     "Makefile && make -s -j2 m && ./m",
     .program = "gcc"},
    {"git",
     "mkdir r && cd r && git init -q && git config user.email a@b && git config user.name a && "
     "echo x > f && git add f && git commit -qm one && git checkout -qb two && git mv f g && git "
     "commit -qam two && git gc -q && git status --porcelain && git log --oneline | wc -l | grep "
     "-q 2",
     .program = "git"},
    {"git in the workspace",
     "echo x > f && git add f && git -c user.name=a -c user.email=a@b commit -qm x && git log -1 "
     ">/dev/null",
     .program = "git"},
    {"python",
     "python3 -c 'import subprocess, tempfile, sqlite3, threading\nwith "
     "tempfile.TemporaryDirectory() as d: open(d + \"/x\", \"w\").write(\"x\")\nt = "
     "threading.Thread(target=print); t.start(); "
     "t.join()\nsqlite3.connect(\"x.db\").execute(\"create table t(a)\")\nassert "
     "subprocess.run([\"echo\", \"x\"], capture_output=True).stdout == b\"x\\n\"'",
     .program = "python3"},
    {"python, many processes",
     "printf 'import multiprocessing as m\\nif __name__ == \"__main__\":\\n    with m.Pool(2) as "
     "p: assert p.map(abs, [-1, -2]) == [1, 2]\\n' > p.py && python3 p.py",
     .program = "python3"},
    {"a terminal of its own",
     "python3 -c 'import pty, os, sys\nsys.exit(os.waitstatus_to_exitcode(pty.spawn([\"sh\", "
     "\"-c\", \"test -t 1\"])))' </dev/null",
     .program = "python3"},
    {"script", "script -qec 'test -t 1' /dev/null </dev/null", .program = "script"},
    {"node",
     "node -e 'const c = require(\"child_process\"); if (c.execSync(\"echo x\").toString() !== "
     "\"x\\n\") process.exit(1);'",
     .program = "node"},
    {"npm",
     "mkdir n l && cd n && printf '{\"name\":\"l\",\"version\":\"1.0.0\"}' > ../l/package.json && "
     "printf '{\"name\":\"n\",\"version\":\"1.0.0\",\"scripts\":{\"test\":\"echo ran\"}}' > "
     "package.json && npm_config_cache=$TMPDIR/npm npm install --offline --no-audit --no-fund ../l "
     ">/dev/null && npm_config_cache=$TMPDIR/npm npm run -s test | grep -q ran",
     .program = "npm"},
    {"cargo",
     "CARGO_HOME=$TMPDIR/cargo cargo init -q --vcs none --name c c && cd c && "
     "CARGO_HOME=$TMPDIR/cargo cargo build -q --offline && target/debug/c",
     .program = "cargo"},
    {"a listed socket", CONNECT_TO("$ENV{LISTED}"), .flags = ATTEMPT_LISTED, .program = "perl"},
    {"a listed socket beside the proxy", CONNECT_TO("$ENV{LISTED}"),
     .flags = ATTEMPT_LISTED | ATTEMPT_PROXY, .program = "perl"},
    {"a listed socket by a relative path", "cd ../out && " CONNECT_TO("../out/listed"),
     .flags = ATTEMPT_LISTED, .program = "perl"},
    {"a listed socket by a link", "ln -s $LISTED l && " CONNECT_TO("l"), .flags = ATTEMPT_LISTED,
     .program = "perl"},
    {"a listed socket from a thread",
     "python3 -c 'import os, socket, threading\nerrors = []\ndef f():\n  try: "
     "socket.socket(socket.AF_UNIX).connect(os.environ[\"LISTED\"])\n  except OSError as e: "
     "errors.append(e)\nt = threading.Thread(target=f); t.start(); t.join()\nassert not errors, "
     "errors'",
     .flags = ATTEMPT_LISTED, .program = "python3"},
    {"a socket that is listed and missing",
     "! " CONNECT_TO("../out/missing") " 2> why && grep -q 'No such' "
                                       "why",
     .flags = ATTEMPT_LISTED, .program = "perl"},
    {"TCP among themselves, where a socket is listed",
     "python3 -c 'import socket\ns = socket.create_server((\"127.0.0.1\", 0)); c = "
     "socket.create_connection(s.getsockname()); a = s.accept()[0]; c.send(b\"x\"); assert "
     "a.recv(1) == b\"x\"'",
     .flags = ATTEMPT_LISTED | ATTEMPT_PROXY, .program = "python3"},
    {"perl", "perl -e 'socketpair(A, B, 1, 1, 0) or die $!; print `true`'", .program = "perl"},
};
const size_t chore_count = ARRAY_LEN(chores);
