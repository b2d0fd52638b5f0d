#!/usr/bin/env python3
"""Exchanges that ACP clients have had with other agents, played with tenax: the same kinds of messages in the same order, and
in each message the same fields, except where tenax does it otherwise on purpose.

    recorded_acp.py BUILD SHAPES EXCHANGES

EXCHANGES (tests/data/acp.exchanges) has a line for each prompt: the recording, the prompt, and what followed. Of the agent:
thought, message, user, call, completed, failed, plan, ask, read and write (of the client's files), and how the prompt was
answered. `>OPTION` is the answer to a question, `>cancel` session/cancel. SHAPES: shapes.py.
"""
import base64
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True  # the sources stay clean
from peer import Peer
from shapes import check_shape, read_shapes

PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
# A word before each prompt, which nothing else in a request has.
SAY = 'step\n if-prompt "play {}"\n text {}\n'
DO = 'step\n if-prompt "play {}"\n call {} {}\n'
PLAN = '{"todos": [{"content": "A", "status": "pending", "activeForm": "A"}, {"content": "B", "status": "in_progress", "activeForm": "B"}]}'
LONG = 'A text that goes on and on, until the user has read enough of it and says so.'
SCENARIO = ''.join((
    'step\n if-prompt "play hi"\n sticky\n think hmm\n text Hello there.\n',
    DO.format('do it', 'Bash', '{"command": "echo made > acpx.txt"}'),
    DO.format('run2', 'Bash', '{"command": "touch never"}'),
    DO.format('run', 'Bash', '{"command": "touch made.txt && echo made"}'),
    DO.format('read', 'Read', '{"file_path": "a.txt"}'),
    DO.format('edit', 'Edit', '{"file_path": "a.txt", "old_string": "two", "new_string": "TWO"}'),
    DO.format('write', 'Write', '{"file_path": "n.txt", "content": "new\\n"}'),
    DO.format('patch', 'Edit', '{"file_path": "a.txt", "old_string": "two", "new_string": "TWO"}'),
    DO.format('plan', 'TodoWrite', PLAN),
    SAY.format('look at', 'I saw it.'),
    SAY.format('p1', 'First.'), SAY.format('p2', 'Second.'),
    f'step\n if-prompt "play go slowly"\n sticky\n pace 200ms\n text {LONG}\n',
    'step\n if-prompt "play go ask"\n call Bash {"command": "touch nor this"}\n',
    'step\n if-prompt "play err"\n fault status 400 "bad thing"\n text Well.\n',
    'step\n sticky\n text As you wish.\n',
))

# What is otherwise here. codex-acp begins each turn with a warning, and its model's command was never shown; two calls are its
# patch and its review. gemini reads before it asks, announces no call and says nothing of a denied one; its cancel came late.
OTHERWISE = {
    ('codexacp-acp', 'hi'): 'thought message end_turn',
    ('codexacp-acp', 'run'): 'call completed message end_turn',
    ('codexacp-acp', 'patch'): 'call completed message end_turn',
    ('codexacp-acp', '/goal status'): 'message end_turn',  # no goal is set: nothing works
    ('acp-geminicaps', 'read'): 'call read completed message end_turn',
    ('acp-geminicaps', 'run'): 'call ask >proceed_once completed message end_turn',
    ('acp-geminicaps', 'run2'): 'call ask >cancel failed message end_turn',
    ('acp-geminicaps', 'edit'): 'call read ask >proceed_once read write completed message end_turn',
    ('acp-geminicaps', 'write'): 'call read ask >proceed_once read write completed message end_turn',
    ('acp-geminicaps', 'plan'): 'plan message end_turn',
    ('acp-geminicaps', 'look at resource_link resource image'): 'read message end_turn',  # the mentioned file
    ('acp-geminicaps', 'err'): 'error -32603',
    ('acp-geminicaps', 'go', 'message end_turn >cancel'): 'message >cancel cancelled',
    ('acp-geminicaps', 'go', 'ask >cancel >cancelled cancelled'): 'call ask >cancel >cancelled failed cancelled',
}
TYPES = {'currentValue': 'b', 'input': 'n'}
NAMES = {'agent_message_chunk': 'message', 'agent_thought_chunk': 'thought', 'user_message_chunk': 'user', 'tool_call': 'call', 'plan': 'plan'}
ANSWERS = {'allow-once': 'allow', 'proceed_once': 'allow', 'cancel': 'reject'}


class Client(Peer):
    def __init__(self, stage, shapes, *args):
        super().__init__(stage, *args)
        self.shapes = shapes
        self.methods = {}
        self.kinds = set()
        self.buffers = {}

    def line(self, what):
        if 'id' in what and 'method' in what:
            self.methods[what['id']] = what['method']
        super().line(what)

    def message(self):
        m = super().message()
        if m.get('method') == 'session/update':
            kind, body = 'update ' + m['params']['update']['sessionUpdate'], m['params']['update']
        elif 'method' in m:
            kind, body = 'req ' + m['method'], m['params']
        else:
            kind, body = 'result ' + self.methods[m['id']] if 'result' in m else 'error', m.get('result')
        self.kinds.add(kind)
        check_shape(self.shapes, kind, body, TYPES)
        return m

    def file(self, m):
        """The editor has a.txt with a line that is not saved."""
        path = m['params']['path']
        if m['method'] == 'fs/write_text_file':
            with open(path, 'w') as f:
                f.write(m['params']['content'])
            self.buffers[path] = m['params']['content']
            self.line({'id': m['id'], 'result': {}})
        elif path in self.buffers:
            self.line({'id': m['id'], 'result': {'content': self.buffers[path]}})
        else:
            self.line({'id': m['id'], 'error': {'code': -32002, 'message': 'there is no such file'}})

    def play(self, session, content, want):
        """Does what the client does in `want`, and returns what happened."""
        self.last += 1
        prompt = self.last
        self.line({'id': prompt, 'method': 'session/prompt', 'params': {'sessionId': session, 'prompt': content}})
        got = []
        asked = None
        while True:
            if len(got) < len(want) and want[len(got)].startswith('>') and want[:len(got)] == got:
                step = want[len(got)]
                got.append(step)
                if step == '>cancel' and (asked is None or want[-1] == 'cancelled'):
                    self.line({'method': 'session/cancel', 'params': {'sessionId': session}})
                else:
                    option = ANSWERS.get(step[1:])
                    outcome = {'outcome': 'selected', 'optionId': option} if option else {'outcome': 'cancelled'}
                    self.line({'id': asked, 'result': {'outcome': outcome}})
                continue
            m = self.message()
            update = m.get('params', {}).get('update', {}) if 'method' in m else {}
            kind = NAMES.get(update.get('sessionUpdate'))
            if update.get('sessionUpdate') == 'tool_call_update' and update.get('status') in ('completed', 'failed'):
                kind = update['status']
            elif m.get('method') == 'session/request_permission':
                kind, asked = 'ask', m['id']
            elif m.get('method', '').startswith('fs/'):
                kind = m['method'].split('/')[1].split('_')[0]
                self.file(m)
            elif 'method' not in m and m['id'] == prompt:
                kind = m['result']['stopReason'] if 'result' in m else 'error %d' % m['error']['code']
            said = [g for g in got if not g.startswith('>')]
            if kind and not (kind in ('message', 'thought') and said[-1:] == [kind]):  # a text comes in any number of pieces
                got.append(kind)
            if 'method' not in m and m['id'] == prompt:
                return got


def content_of(p, name, want):
    if name.startswith('look at'):
        return [{'type': 'text', 'text': 'play look at '}, {'type': 'resource_link', 'uri': f'file://{p.dir}/a.txt', 'name': 'a.txt'},
                {'type': 'resource', 'resource': {'uri': f'file://{p.dir}/b.md', 'text': 'inside'}},
                {'type': 'image', 'data': PIXEL, 'mimeType': 'image/png'}]
    if name == 'go':
        name = 'go ask' if 'ask' in want else 'go slowly'
    return [{'type': 'text', 'text': name if name.startswith('/') else 'play ' + name}]


CAPABILITIES = {'acpx': {'fs': {}}, 'codexacp-acp': {'fs': {}}, 'acp-geminicaps': {'fs': {'readTextFile': True, 'writeTextFile': True}}}


def play(stage, shapes, recording, rows):
    """One recording: a connection and a session."""
    p = Client(stage, shapes, 'acp')
    path = os.path.join(p.dir, 'a.txt')
    with open(path, 'w') as f:
        f.write('one\ntwo\n')
    p.buffers = {path: 'ONE-UNSAVED\ntwo\n'}
    p.ask('initialize', {'protocolVersion': 1, 'clientCapabilities': CAPABILITIES[recording]})
    session = p.ask('session/new', {'cwd': p.dir, 'mcpServers': []})['result']['sessionId']
    if recording == 'codexacp-acp':  # its approvals were the server's own
        p.ask('session/set_mode', {'sessionId': session, 'modeId': 'acceptEdits'})
        p.play(session, content_of(p, 'look at', ()), ['message', 'end_turn'])
    for name, was in rows:
        want = OTHERWISE.get((recording, name, was)) or OTHERWISE.get((recording, name)) or was
        want = want.replace('error -', 'error=-').split()
        want = [w.replace('=', ' ') for w in want]
        got = p.play(session, content_of(p, name, want), want)
        assert got == want, f'{recording}: {name}: {got}, not {want}'
    p.ask('session/list', {})
    p.last += 1
    p.line({'id': p.last, 'method': 'session/load', 'params': {'sessionId': session, 'cwd': p.dir, 'mcpServers': []}})
    told = []
    p.until(lambda m: told.append(NAMES.get(m.get('params', {}).get('update', {}).get('sessionUpdate'))) or m.get('id') == p.last)
    told = [k for i, k in enumerate(told) if k and told[i - 1:i] != [k]]
    assert told[:3] == ['user', 'thought', 'message'] or recording == 'acpx' or told[:2] == ['user', 'message'], told
    p.end()
    return p.kinds


def main():
    shapes = read_shapes(sys.argv[2])
    stage = tempfile.mkdtemp(prefix='tenax-recorded-')
    rows = {}
    with open(sys.argv[3]) as f:
        for line in f:
            recording, name, was = line.rstrip('\n').split('\t')
            rows.setdefault(recording, []).append((name, was))
    kinds = set()
    try:
        with open(os.path.join(stage, 'scenario'), 'w') as f:
            f.write(SCENARIO)
        for recording in rows:
            shutil.rmtree(os.path.join(stage, 'work'), ignore_errors=True)
            os.mkdir(os.path.join(stage, 'work'))
            kinds |= play(stage, shapes, recording, rows[recording])
        never = set(shapes) - kinds
        assert not never, f'never seen: {never}'
    finally:
        shutil.rmtree(stage, ignore_errors=True)


main()
