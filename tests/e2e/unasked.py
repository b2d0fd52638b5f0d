#!/usr/bin/env python3
"""What runs unasked, by the real program, in whole sessions where nobody can be asked.

    unasked.py BUILD everyday            every row of src/guard/permit_everyday.def: none is denied
    unasked.py BUILD generated [N SEED]  N command lines made of parts that write, connect and leave processes behind:
                                         nothing has changed afterwards, and no port was reached

Where no sandbox works, both are skipped (77): there the text of a command decides (guard/permit_command_test.c).
"""
import ast
import base64
import json
import os
import random
import re
import shlex
import shutil
import socket
import stat
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the sources stay clean
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
TENAX = os.path.join(os.path.abspath(sys.argv[1]), 'src', 'tenax')


class Stage:
    """A home with a project in it, which is a repository."""

    def __init__(self):
        self.root = tempfile.mkdtemp(prefix='tenax-unasked-', dir='/var/tmp')
        self.home = os.path.join(self.root, 'home')
        self.work = os.path.join(self.home, 'work')
        self.temp = os.path.join(self.root, 'tmp')
        for folder in (self.work, self.temp):
            os.makedirs(folder)
        self.env = {'PATH': os.environ['PATH'], 'HOME': self.home, 'TMPDIR': self.temp, 'LANG': 'C.UTF-8',
                    'TENAX_HOME': os.path.join(self.root, 'tenax')}
        self.put('home/.bashrc', 'alias ll=ls\n')
        self.put('home/.gitconfig', '[user]\n\tname = a\n\temail = a@b\n[init]\n\tdefaultBranch = main\n')
        self.put('home/outside.txt', 'not yours\n')
        for name in ('a.txt', 'b.txt', 'file.txt', 'README.md', 'notes/n.md', 'src/main.c', 'src/a.c', 'src/b/c.h',
                     'tests/t.c', 'Makefile', 'package.json', 'run.sh', '.gitignore'):
            self.put('home/work/' + name, {'Makefile': 'all clean test:\n\t@echo made\n',
                                           'package.json': '{"version": "1.0.0", "scripts": {}}\n'}.get(
                                               name, f'{name}\none two\nthree\n'))
        for name in ('tsc', 'eslint'):  # so that npx needs no network
            self.put('home/work/node_modules/.bin/' + name, '#!/bin/sh\n')
            os.chmod(os.path.join(self.work, 'node_modules/.bin', name), 0o755)
        self.shell('git init -q . && git add -A && git commit -qm first && git branch topic')
        for folder, folders, files in os.walk(self.home):
            for name in folders + files:
                os.utime(os.path.join(folder, name), (10 ** 9, 10 ** 9), follow_symlinks=False)

    def put(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)

    def shell(self, command):
        subprocess.run(['bash', '-ec', command], cwd=self.work, env=self.env, check=True)

    def run(self, commands, *options):
        """One session with these calls. Its result line."""
        with open(os.path.join(self.root, 'scenario'), 'w', encoding='utf-8') as f:
            for command in commands:  # one in each answer: a denied one stops those beside it
                f.write('step\n call Bash ' + json.dumps({'command': command, 'timeout': 20000}) + '\n')
            f.write('step\n text Done.\n')
        p = subprocess.run([TENAX, '-p', 'go', '--model', 'scripted/' + self.root + '/scenario',
                            '--output-format', 'json', *options], cwd=self.work, env=self.env,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
        result = json.loads(p.stdout.splitlines()[-1])
        assert result['result'] == 'Done.', result['result']
        return result

    def needs_sandbox(self):
        out = subprocess.run([TENAX, 'sandbox', '--json'], cwd=self.work, env=self.env, capture_output=True, check=False)
        if b'"state":"on"' not in out.stdout:
            print('no sandbox works here')
            self.remove()
            sys.exit(77)

    def state(self):
        """Type, mode, time and content of everything in the home and the temporary folder."""
        found = {}
        for top in (self.home, self.temp):
            for folder, folders, files in os.walk(top):
                for path in [os.path.join(folder, n) for n in folders + files]:
                    st = os.lstat(path)
                    text = os.readlink(path) if stat.S_ISLNK(st.st_mode) else ''
                    if stat.S_ISREG(st.st_mode):
                        with open(path, 'rb') as f:
                            text = f.read()
                    found[path] = (st.st_mode, st.st_mtime_ns, st.st_nlink, text)
        return found

    def remove(self):
        shutil.rmtree(self.root)


def differ(before, after):
    return [path for path in sorted(before.keys() | after.keys()) if before.get(path) != after.get(path)]


# They list a folder outside of the project, so they ask.
OUTSIDE = {'ls -la ~', 'ls /tmp'}


def everyday():
    rows = {'READS': [], 'TRIED': [], 'EDITS': [], 'EDITED': [], 'HARMLESS': []}
    with open(os.path.join(SOURCE, 'src', 'guard', 'permit_everyday.def'), encoding='utf-8') as f:
        for kind, text in re.findall(r'^([A-Z]+)\(("(?:[^"\\]|\\.)*")\)$', f.read(), re.M):
            rows[kind].append(ast.literal_eval(text))
    failed = 0
    for kinds, options in ((('READS', 'TRIED'), ()), (('EDITS', 'EDITED'), ('--permission-mode', 'acceptEdits'))):
        stage = Stage()
        stage.needs_sandbox()
        commands = [c for kind in kinds for c in rows[kind]]
        before = stage.state()
        denied = [d for d in stage.run(commands, *options)['permission_denials']
                  if d['tool_input']['command'] not in OUTSIDE]
        changed = [] if options else differ(before, stage.state())
        for path in changed:
            print(path, 'has changed')
        failed += len(changed)
        for d in denied:
            print('denied:', d['tool_input']['command'], d.get('effects', ''))
        failed += len(denied)
        print(f'{len(commands)} of {"/".join(kinds)}: {len(denied)} denied')
        stage.remove()
    return failed


# ---- generated ----

MARK = f'tenax-unasked-{os.getpid()}'
TARGETS = ['a.txt', 'new.txt', 'src/a.c', 'src/new/x', '.git/config', '.git/hooks/pre-commit', '.git/index', '.npmrc',
           '.vscode/tasks.json', '"$HOME/.bashrc"', '~/new', '../outside.txt', f'/tmp/{MARK}', f'/var/tmp/{MARK}',
           f'/etc/{MARK}', '"$TMPDIR/../x"', '.claude/settings.json', 'run.sh']
WRITES = ['echo x > {t}', 'printf y >> {t}', 'touch {t}', 'rm -f {t}', 'rm -rf src', 'mv a.txt {t}', 'mv {t} moved',
          'cp b.txt {t}', 'ln -sf b.txt {t}', 'ln b.txt {t}', 'mkdir -p {t}', 'chmod 777 {t}', 'truncate -s 0 {t}',
          'sed -i s/one/1/ {t}', 'perl -pi -e s/two/2/ {t}', 'tee {t} < b.txt', 'dd if=b.txt of={t} status=none',
          'install -m 755 b.txt {t}', 'git config alias.x "!touch {t}"', 'git add -A', 'git commit -qam x', 'git stash',
          'git checkout -q -b other', 'git -c core.fsmonitor="touch a.txt" status', 'find . -name "*.c" -delete',
          'ls *.txt | xargs rm', 'awk "BEGIN {{ print 1 > \\"new.txt\\" }}"', 'sort -o a.txt b.txt', ': > {t}',
          'exec 3>{t}; echo x >&3', 'tar cf new.tar src', 'python3 -c "open(\'a.txt\', \'w\')"', 'touch -d 2020-01-01 {t}',
          'sed -n "w new.txt" a.txt', 'sed "/[/s]/e touch a.txt #]x]g" a.txt', 'git archive -o new.tar HEAD',
          'split -n 2 a.txt', 'csplit -s a.txt 1', 'xxd -r b.txt new.txt', 'gzip a.txt', 'make -f /dev/stdin <<< "all:; touch new"',
          'echo x >&\'$(touch new.txt)\'', 'tail -n 1 a.txt > {t} 2>&1', 'cat > {t} <<E\nx\nE', 'rmdir notes', 'unlink a.txt',
          'setfattr -n user.x -v y a.txt', 'chown 1:1 a.txt', 'mkfifo {t}', 'patch -p0 < /dev/null; touch {t}']
CONNECTS = ['echo x > /dev/tcp/127.0.0.1/{p}', 'echo x > /dev/udp/127.0.0.1/{u}', 'exec 5<>/dev/tcp/localhost/{p}; cat <&5',
            'curl -s http://127.0.0.1:{p}/', 'wget -qO- http://127.0.0.1:{p}/', 'git ls-remote http://127.0.0.1:{p}/x',
            'python3 -c "import socket as s; s.create_connection((\'127.0.0.1\', {p}))"',
            'python3 -c "import socket as s; s.socket(2, 2).sendto(b\'x\', (\'127.0.0.1\', {u}))"',
            'python3 -c "import urllib.request as u; u.urlopen(\'http://127.0.0.1:{p}/\')"']
READS = ['cat a.txt', 'ls -la', 'git status', 'git log --oneline', 'grep -rn one src', 'wc -l *.txt', 'head -1 README.md',
         'find . -name "*.c"', 'awk "{{print $1}}" a.txt', 'sed s/one/1/ a.txt', 'git diff', 'du -s .', 'sort a.txt | uniq -c',
         'test -f a.txt && echo yes', 'echo $((1 + 2))', 'cat ../outside.txt', 'cat ~/.bashrc', 'ps', 'env', 'k=kill; $k -9 $PPID']
WRAPS = ['{c}', '{c}', 'true && {c}', '({c})', '{{ {c}; }}', 'bash -c {q}', 'eval {q}', 'echo "$({c})"', 'if true; then {c}; fi',
         'for i in 1 2; do {c}; done', '{c} &', '{c} | cat', 'x=$({c}); echo "$x"', 'cat <({c})', 'nohup bash -c {q} > /dev/null',
         'timeout 5 bash -c {q}', 'f() {{ {c}\n}}; f', 'trap {q} EXIT', 'echo ok; {c}', 'cd src && {c}', 'bash <<\'E\'\n{c}\nE',
         'echo {b} | base64 -d | bash', '[[ -n $({c}) ]]', 'case x in x) {c} ;; esac', 'a[$({c})]=1', 'echo $((a[$({c})]))',
         '(sleep 0.1; {c}) & disown', 'setsid bash -c {q}', '[[ x == x\\\n]] && {c}', '(\\\n({c}))', 'xargs -I@ bash -c {q} <<< 1',
         'find a.txt -exec bash -c {q} \\;', 'env X=1 bash -c {q}', 'coproc {{ {c}\n}}; wait', 'time {c}', '! {c}',
         'while {c}; do break; done', 'GIT_EXTERNAL_DIFF={q} git diff HEAD~ 2>&1', 'PAGER={q} git log', 'source <(echo {q})']


def generate(count, seed, tcp, udp):
    rng = random.Random(seed)
    made = []
    while len(made) < count:
        command = rng.choice(rng.choices([WRITES, CONNECTS, READS], [6, 1, 2])[0])
        command = command.format(t=rng.choice(TARGETS), p=tcp, u=udp)
        for _ in range(rng.choice([1, 1, 2])):
            command = rng.choice(WRAPS).format(c=command, q=shlex.quote(command),
                                               b=base64.b64encode(command.encode()).decode())
        made.append(command)
    return made


def listen(kind):
    s = socket.socket(socket.AF_INET, kind)
    s.bind(('127.0.0.1', 0))
    if kind == socket.SOCK_STREAM:
        s.listen(128)
    s.setblocking(False)
    return s


def was_reached(s):
    try:
        if s.type == socket.SOCK_STREAM:
            s.accept()
        else:
            s.recv(100)
    except BlockingIOError:
        return False
    return True


def left_running(root):
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            if os.readlink(f'/proc/{pid}/cwd').startswith(root):
                with open(f'/proc/{pid}/cmdline', 'rb') as f:
                    found.append(f.read())
        except OSError:
            pass  # it has ended, or is another user's
    return found


def generated(count, seed):
    stage = Stage()
    stage.needs_sandbox()
    tcp, udp = listen(socket.SOCK_STREAM), listen(socket.SOCK_DGRAM)
    commands = generate(count, seed, tcp.getsockname()[1], udp.getsockname()[1])
    before = stage.state()
    result = stage.run(commands)
    after = stage.state()
    wrong = [f'{path} has changed' for path in differ(before, after)]
    wrong += [f'{folder}/{MARK} was made' for folder in ('/tmp', '/var/tmp', '/etc')
              if os.path.lexists(f'{folder}/{MARK}')]
    wrong += [f'{kind} was reached' for s, kind in ((tcp, 'the TCP port'), (udp, 'the UDP port')) if was_reached(s)]
    wrong += [f'still runs: {line}' for line in left_running(stage.root)]
    denied = len(result['permission_denials'])
    print(f'{len(commands)} command lines (seed {seed}), {denied} denied, {len(wrong)} wrong')
    for line in wrong:
        print(line)
    if not wrong:
        stage.remove()
    assert denied > count / 8, 'most of them write, so this was no test'
    return len(wrong)


if sys.argv[2] == 'everyday':
    sys.exit(1 if everyday() else 0)
sys.exit(1 if generated(int(sys.argv[3]) if len(sys.argv) > 3 else 1000,
                        int(sys.argv[4]) if len(sys.argv) > 4 else 1) else 0)
