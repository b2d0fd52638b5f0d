"""Clients of `tenax acp` and `tenax app-server` for the tests in Python: one line is one message, in both directions."""
import json
import os
import select
import socket
import subprocess
import sys
import time
import types

BUILD = os.path.abspath(sys.argv[1])
TENAX = os.path.join(BUILD, 'src/tenax')
PATIENCE_S = 60


class Peer:
    """One run of tenax, spoken to in bytes."""

    def __init__(self, stage, *args):
        env = {'PATH': os.environ['PATH'], 'HOME': stage, 'TENAX_TEST_SANDBOX': 'none', 'TMPDIR': stage}
        for name in ('ASAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS'):
            if name in os.environ:
                env[name] = os.environ[name]
        self.stage = stage
        self.args = args
        self.dir = os.path.join(stage, 'work')
        self.is_bare = args[0] == 'app-server'
        self.child = subprocess.Popen([TENAX, *args, '--model', f'scripted/{stage}/scenario'], env=env, cwd=self.dir,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.heard = b''
        self.last = 1000

    def write(self, data):
        # A client that stalls: what tenax says meanwhile is read, so that neither waits for the other.
        os.set_blocking(self.child.stdin.fileno(), False)
        at = 0
        view = memoryview(data)
        until = time.monotonic() + PATIENCE_S
        while at < len(data):
            assert time.monotonic() < until, 'tenax does not read any more'
            r, w, _ = select.select([self.child.stdout], [self.child.stdin], [], 1)
            if r:
                self.heard += os.read(self.child.stdout.fileno(), 1 << 16)
            if w:
                until = time.monotonic() + PATIENCE_S
                at += os.write(self.child.stdin.fileno(), view[at:at + (1 << 16)])

    def line(self, what):
        if not isinstance(what, (str, bytes)):
            if not self.is_bare and isinstance(what, dict):
                what = {'jsonrpc': '2.0', **what}
            what = json.dumps(what)
        self.write((what if isinstance(what, bytes) else what.encode()) + b'\n')

    def message(self):
        until = time.monotonic() + PATIENCE_S
        while b'\n' not in self.heard:
            r, _, _ = select.select([self.child.stdout], [], [], max(0, until - time.monotonic()))
            assert r, 'nothing comes'
            data = os.read(self.child.stdout.fileno(), 1 << 16)
            assert data, 'tenax has ended'
            self.heard += data
        line, self.heard = self.heard.split(b'\n', 1)
        m = json.loads(line)
        assert self.is_bare or m['jsonrpc'] == '2.0', line
        return m

    def until(self, test):
        while True:
            m = self.message()
            if test(m):
                return m

    def answer(self, of):
        return self.until(lambda m: 'method' not in m and m.get('id') == of)

    def ask(self, method, params):
        self.last += 1
        self.line({'id': self.last, 'method': method, 'params': params})
        return self.answer(self.last)

    def refused(self, m, code, words=''):
        error = m.get('error')
        assert error and error['code'] == code, f'{code} expected: {m}'
        assert error['message'] and '\n' not in error['message'] and words in error['message'], m

    def alive(self):
        method = 'thread/loaded/list' if self.is_bare else 'session/list'
        assert 'result' in self.ask(method, {})

    def initialize(self):
        params = {'clientInfo': {'name': 'x', 'version': '1'}} if self.is_bare else {'protocolVersion': 1}
        assert 'result' in self.ask('initialize', params)

    def open(self, servers=()):
        if self.is_bare:
            config = {'mcp_servers': {s['name']: {k: s[k] for k in ('command', 'args')} for s in servers}}
            params = {'cwd': self.dir, 'approvalPolicy': 'untrusted', 'config': config}
            return self.ask('thread/start', params)['result']['thread']['id']
        return self.ask('session/new', {'cwd': self.dir, 'mcpServers': list(servers)})['result']['sessionId']

    def prompt(self, session, text):
        self.last += 1
        params = {'threadId': session, 'input': [{'type': 'text', 'text': text}]} if self.is_bare else \
            {'sessionId': session, 'prompt': [{'type': 'text', 'text': text}]}
        self.line({'id': self.last, 'method': 'turn/start' if self.is_bare else 'session/prompt', 'params': params})
        return self.last

    def is_ask(self, m):
        return m.get('method') in ('session/request_permission', 'item/commandExecution/requestApproval')

    def end(self, code=0):
        self.child.stdin.close()
        self.gone(code)

    def gone(self, code=0):
        self.child.stdout.close()
        assert self.child.wait(PATIENCE_S) == code, self.child.returncode


class Guest(Peer):
    """One of several clients of a server that listens."""

    def __init__(self, server, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.child = types.SimpleNamespace(stdin=self.socket, stdout=self.socket)
        self.dir = server.dir
        self.is_bare = True
        self.heard = b''
        self.last = 1000
        self.initialize()

    def leave(self):
        self.socket.close()


class Server(Peer):
    """An app-server that listens; guest() connects."""

    def __init__(self, stage, *args):
        self.path = os.path.join(stage, 'socket')
        super().__init__(stage, 'app-server', '--listen', 'unix://' + self.path, *args)
        until = time.monotonic() + PATIENCE_S
        while not self.answers():
            assert self.child.poll() is None and time.monotonic() < until, 'it does not listen'
            time.sleep(0.01)

    def answers(self):
        with socket.socket(socket.AF_UNIX) as s:
            return s.connect_ex(self.path) == 0

    def guest(self):
        return Guest(self, self.path)

    def end(self, code=0):
        self.child.stdin.close()
        self.child.terminate()
        self.gone(code)


YES = {False: {'outcome': {'outcome': 'selected', 'optionId': 'allow'}}, True: {'decision': 'accept'}}
NO = {False: {'outcome': {'outcome': 'selected', 'optionId': 'reject'}}, True: {'decision': 'decline'}}
