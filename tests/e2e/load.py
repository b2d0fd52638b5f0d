#!/usr/bin/env python3
"""Many turns and many threads.

    load.py BUILD turns COUNT      so many turns of four sessions of one editor
    load.py BUILD threads COUNT    so many threads, listed page by page

Turns: models answer at random moments, with and without tools. Nothing of a turn comes after its answer; a session that is
loaded is told in the order of the live run, and a client of the app-server gets the same turns by cursor.
"""
import glob
import os
import random
import shutil
import sys
import tempfile
import time
import uuid

sys.dont_write_bytecode = True  # the sources stay clean
from peer import Peer

SESSIONS = 4
OF_A_TURN = ('user_message_chunk', 'agent_message_chunk', 'agent_thought_chunk', 'tool_call', 'tool_call_update', 'plan', 'usage_update')
SCENARIO = ''.join(f'''
step
 if-prompt "say {word}"
 sticky
 pause {ms}ms
 {parts}
''' for word, ms, parts in (('plain', 0, 'text Said at once.'), ('late', 3, 'think So.\n text Said late.'),
                            ('slow', 1, 'chunk 4\n pace 1ms\n text Said in pieces.'), ('nothing', 2, 'text .'))) + '''
step
 if-result "nothing there"
 sticky
 pause 1ms
 text It is empty.
step
 if-result "o"
 sticky
 text It is done.
step
 if-prompt "do read"
 sticky
 call Read {"file_path": "a.txt"}
step
 if-prompt "do call"
 sticky
 call Bash {"command": "echo nothing there"}
'''
WORDS = ('say plain', 'say late', 'say slow', 'say nothing', 'do read', 'do call')


class Session:
    def __init__(self, p):
        self.id = p.open()
        self.prompt = None  # the request that is not answered
        self.not_before = 0
        self.left = 0
        self.told = []

    def note(self, u):
        """Pieces of a text as one, calls with what became of them."""
        kind = u['sessionUpdate']
        if kind.endswith('_chunk'):
            if not self.told or self.told[-1][0] != kind:
                self.told.append([kind, ''])
            self.told[-1][1] += u['content']['text']
        elif kind == 'tool_call':
            self.told.append([u['toolCallId'], u['name'], u['status']])
        elif kind == 'tool_call_update' and u.get('status') in ('completed', 'failed'):
            [t for t in self.told[-4:] if t[0] == u['toolCallId']][0][2] = u['status']


def texts(told):
    return [[t[0], t[1].strip(), *t[2:]] for t in told]


def turns(stage, count):
    with open(os.path.join(stage, 'work', 'a.txt'), 'w') as f:
        f.write('one\n')
    chance = random.Random(1)
    p = Peer(stage, 'acp', '--permission-mode', 'bypassPermissions', '--dangerously-skip-permissions')
    p.initialize()
    sessions = {s.id: s for s in (Session(p) for _ in range(SESSIONS))}
    for s in sessions.values():
        s.left = count // SESSIONS
    while any(s.left or s.prompt for s in sessions.values()):
        for s in sessions.values():
            if s.left and not s.prompt and time.monotonic() >= s.not_before:
                text = chance.choice(WORDS)
                s.told.append(['user_message_chunk', text])
                s.prompt = p.prompt(s.id, text)
                s.left -= 1
        if not any(s.prompt for s in sessions.values()):
            continue
        m = p.message()
        if 'method' not in m:
            s, = [s for s in sessions.values() if s.prompt == m['id']]
            assert m['result']['stopReason'] == 'end_turn', m
            s.prompt = None
            s.not_before = time.monotonic() + chance.random() / 200
        elif m['method'] == 'session/update':
            u = m['params']['update']
            s = sessions[m['params']['sessionId']]
            assert s.prompt or u['sessionUpdate'] not in OF_A_TURN, f'after the answer: {m}'
            s.note(u)
    p.end()
    p = Peer(stage, 'acp')
    p.initialize()
    for s in sessions.values():
        again = Session.__new__(Session)
        again.told = []
        p.last += 1
        p.line({'id': p.last, 'method': 'session/load', 'params': {'sessionId': s.id, 'cwd': p.dir, 'mcpServers': []}})
        while True:
            m = p.message()
            if m.get('id') == p.last and 'method' not in m:
                break
            if m.get('method') == 'session/update':
                again.note(m['params']['update'])
        for live, loaded in zip(texts(s.told), texts(again.told)):
            assert live == loaded, (live, loaded)
        assert len(again.told) == len(s.told), (len(again.told), len(s.told))
    p.end()
    p = Peer(stage, 'app-server')
    p.initialize()
    for s in sessions.values():
        got = pages(p, 'thread/turns/list', {'threadId': s.id, 'limit': 60, 'sortDirection': 'asc', 'itemsView': 'full'})
        said = [t[1] for t in s.told if t[0] == 'user_message_chunk']
        assert [t['items'][0]['content'][0]['text'] for t in got] == said
        assert {t['status'] for t in got} == {'completed'}
    p.end()


def pages(p, method, params):
    found = []
    cursor = None
    while True:
        result = p.ask(method, {**params, **({'cursor': cursor} if cursor else {})})['result']
        page = result.get('data', result.get('sessions'))
        found += page
        cursor = result.get('nextCursor')
        if not cursor:
            return found
        assert page, result


def threads(stage, count):
    p = Peer(stage, 'app-server')
    p.initialize()
    first = p.open()
    p.prompt(first, 'say plain')
    p.until(lambda m: m.get('method') == 'turn/completed')
    p.end()
    path, = glob.glob(f'{stage}/.tenax/projects/*/{first}.jsonl')
    with open(path) as f:
        text = f.read()
    ids = {first}
    for n in range(count - 1):
        ids.add(str(uuid.UUID(int=n * 0x9e3779b97f4a7c15f39cc0605cedc835 % (1 << 128), version=4)))
    for n, one in enumerate(ids - {first}):
        there = path.replace(first, one)
        with open(there, 'w') as f:
            f.write(text.replace(first, one))
        os.utime(there, (1700000000 + n // 7, 1700000000 + n // 7))  # several at the same time
    p = Peer(stage, 'app-server')
    p.initialize()
    for more in ({'limit': 100}, {'limit': 7, 'sortKey': 'updated_at', 'sortDirection': 'asc'}, {'limit': 1000, 'cwd': p.dir}, {}):
        got = pages(p, 'thread/list', more)
        assert len(got) == len(ids) and {t['id'] for t in got} == ids, (more, len(got), len(ids))
        times = [t['updatedAt'] if 'sortKey' in more else t['createdAt'] for t in got]
        assert times == sorted(times, reverse='sortDirection' not in more), more
    p.end()
    p = Peer(stage, 'acp')
    p.initialize()
    got = pages(p, 'session/list', {})
    assert len(got) == len(ids) and {s['sessionId'] for s in got} == ids, len(got)
    p.end()


def main():
    stage = tempfile.mkdtemp(prefix='tenax-load-')
    try:
        os.mkdir(os.path.join(stage, 'work'))
        with open(os.path.join(stage, 'scenario'), 'w') as f:
            f.write(SCENARIO)
        {'turns': turns, 'threads': threads}[sys.argv[2]](stage, int(sys.argv[3]))
    finally:
        shutil.rmtree(stage, ignore_errors=True)


main()
