#!/usr/bin/env python3
"""Scenes with clients of `tenax acp` and `tenax app-server` that keep the rules, each with a model of its own.

    scenes.py BUILD [NAME...]
"""
import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import types

sys.dont_write_bytecode = True  # the sources stay clean
from peer import NO, PATIENCE_S, TENAX, YES, Peer, Server

FREE = ('--permission-mode', 'bypassPermissions', '--dangerously-skip-permissions')
WAITS = 'echo begun; until test -e go; do sleep 0.02; done; rm go'
FINE = 'step\n sticky\n text Fine.\n'
SCENES = []


def scene(model):
    """model: what it says; the scene gets an empty home with the folder work."""
    def add(fn):
        SCENES.append((fn, model))
        return fn
    return add


def begins(m):
    """A command has begun."""
    return 'begun' in json.dumps(m) and ('outputDelta' in m.get('method', '') or 'in_progress' in json.dumps(m))


def update_of(m):
    return m.get('params', {}).get('update', {}) if m.get('method') == 'session/update' else {}


def go(stage):
    open(os.path.join(stage, 'work', 'go'), 'w').close()


def editor(stage, *args):
    p = Peer(stage, 'acp', *args)
    p.initialize()
    return p


def client(stage, *args):
    p = Peer(stage, 'app-server', *args)
    p.initialize()
    return p


def completed(p):
    return p.until(lambda m: m.get('method') == 'turn/completed')['params']['turn']


def turn(p, thread, text):
    p.prompt(thread, text)
    return completed(p)


def cancel_request(p, request):
    p.line({'method': '$/cancel_request', 'params': {'requestId': request}})


def told(p, of):
    """Updates until the answer to a request, and the answer."""
    found = []
    while True:
        m = p.message()
        if 'method' not in m and m.get('id') == of:
            return found, m
        if update_of(m):
            found.append(update_of(m))


def kinds(updates):
    return [u['sessionUpdate'] for u in updates if not u['sessionUpdate'].startswith(('available', 'session_info', 'usage'))]


# ---- Editors ----

@scene(f'step\n if-prompt "work"\n call Bash {{"command": "{WAITS}"}}\nstep\n sticky\n text Fine.\n')
def a_prompt_taken_back(stage):
    """One that waits is answered at once and never begins; the running one goes on, and can be taken back, too."""
    p = editor(stage, *FREE)
    session = p.open()
    first = p.prompt(session, 'work')
    p.until(begins)
    second = p.prompt(session, 'never')
    p.ask('session/set_mode', {'sessionId': session, 'modeId': 'bypassPermissions'})  # behind the prompt: it waits by now
    cancel_request(p, second)
    p.refused(p.answer(second), -32800)
    p.alive()
    go(stage)
    updates, m = told(p, first)
    assert m['result']['stopReason'] == 'end_turn' and 'never' not in json.dumps(updates), (updates, m)
    third = p.prompt(session, 'do the work')  # no command waits any more: the model says Fine
    assert p.answer(third)['result']['stopReason'] == 'end_turn'
    p.end()


@scene(f'step\n if-prompt "work"\n call Bash {{"command": "{WAITS}"}}\nstep\n sticky\n text Fine.\n')
def a_running_prompt_taken_back(stage):
    p = editor(stage, *FREE)
    session = p.open()
    first = p.prompt(session, 'work')
    p.until(begins)
    second = p.prompt(session, 'second')
    cancel_request(p, first)
    p.refused(p.answer(first), -32800)
    assert p.answer(second)['result']['stopReason'] == 'end_turn'
    p.end()


@scene('step\n if-prompt "work"\n call TodoWrite {"todos": [{"content": "A", "status": "pending", "activeForm": "A"}]}\n'
       ' call Read {"file_path": "a.txt"}\n' + FINE)
def loaded_again(stage):
    """Each load tells all of it, also of a session that is open on this connection."""
    with open(os.path.join(stage, 'work', 'a.txt'), 'w') as f:
        f.write('x\n')
    p = editor(stage)
    session = p.open()
    p.answer(p.prompt(session, 'work'))
    seen = []
    for _ in range(3):
        p.last += 1
        p.line({'id': p.last, 'method': 'session/load', 'params': {'sessionId': session, 'cwd': p.dir, 'mcpServers': []}})
        updates, m = told(p, p.last)
        assert 'result' in m, m
        seen.append([{k: u.get(k) for k in ('sessionUpdate', 'toolCallId', 'status', 'entries')} for u in updates
                     if u['sessionUpdate'] in ('tool_call', 'tool_call_update', 'plan', 'user_message_chunk', 'agent_message_chunk')])
    assert [u['sessionUpdate'] for u in seen[0]] == ['user_message_chunk', 'plan', 'tool_call', 'tool_call_update', 'agent_message_chunk'], seen
    assert seen[0] == seen[1] == seen[2], seen
    p.end()


@scene(f'step\n if-prompt "work"\n text Before.\n call Bash {{"command": "{WAITS}"}}\n' + FINE)
def loaded_while_it_works(stage):
    """The call that runs is not over; its end follows, and the prompt is answered."""
    p = editor(stage, *FREE)
    session = p.open()
    prompt = p.prompt(session, 'work')
    p.until(begins)
    p.last += 1
    p.line({'id': p.last, 'method': 'session/load', 'params': {'sessionId': session, 'cwd': p.dir, 'mcpServers': []}})
    updates, _ = told(p, p.last)
    calls = [u for u in updates if u['sessionUpdate'].startswith('tool_call')]
    assert calls and not [u for u in calls if u.get('status') in ('failed', 'completed')], updates
    go(stage)
    updates, m = told(p, prompt)
    assert [u for u in updates if u.get('status') == 'completed'] and m['result']['stopReason'] == 'end_turn', (updates, m)
    p.end()


def opened(stage, capabilities, *args):
    """An editor that says what it can do, and its session."""
    p = Peer(stage, 'acp', *args)
    assert 'result' in p.ask('initialize', {'protocolVersion': 1, 'clientCapabilities': capabilities})
    return p, p.open()


def calls_in(updates):
    """By id: what became of each call, and its updates."""
    found = {}
    for u in updates:
        if u['sessionUpdate'] in ('tool_call', 'tool_call_update'):
            found.setdefault(u['toolCallId'], []).append(u)
    return found


@scene('step\n if-prompt "work"\n call Bash {"command": "' + WAITS + '; echo ended; exit 3"}\n call Read {"file_path": "a.txt"}\n' + FINE)
def terminals_that_only_show(stage):
    """A command has a terminal with its output and its end; no request of the agent is about one."""
    with open(os.path.join(stage, 'work', 'a.txt'), 'w') as f:
        f.write('x\n')
    p, session = opened(stage, {'terminal': True, '_meta': {'terminal_output': True}}, *FREE)
    prompt = p.prompt(session, 'work')
    seen = []
    p.until(lambda m: seen.append(m) or begins(m))
    go(stage)
    p.until(lambda m: seen.append(m) or m.get('id') == prompt)
    assert not [m for m in seen if 'method' in m and 'id' in m], 'the agent asked for something'
    p.last += 1
    p.line({'id': p.last, 'method': 'session/load', 'params': {'sessionId': session, 'cwd': p.dir, 'mcpServers': []}})
    for updates in ([update_of(m) for m in seen if update_of(m)], told(p, p.last)[0]):
        shell, read = calls_in(updates).values()
        terminal = shell[0]['toolCallId']
        assert shell[0]['content'] == [{'type': 'terminal', 'terminalId': terminal}], shell[0]
        assert shell[0]['_meta']['terminal_info'] == {'terminal_id': terminal, 'cwd': p.dir}, shell[0]
        assert not [u for u in shell[1:] if u.get('content')], shell
        shown = [u['_meta']['terminal_output'] for u in shell[1:] if 'terminal_output' in u['_meta']]
        assert {s['terminal_id'] for s in shown} == {terminal}, shell
        data = [s['data'] for s in shown]
        assert 'begun' in data[0] and 'begun\nended' in data[-1], data
        assert shell[-1]['status'] == 'failed', shell[-1]
        assert shell[-1]['_meta']['terminal_exit'] == {'terminal_id': terminal, 'exit_code': 3, 'signal': None}, shell[-1]
        assert 'terminal' not in json.dumps(read), read
    p.end()


@scene('step\n if-prompt "look into it"\n text Inner words.\n call Bash {"command": "echo inner"}\n'
       'step\n if-result "inner"\n text Inner report.\n'
       'step\n if-prompt "work"\n call Agent {"description": "Look", "prompt": "look into it"}\n' + FINE)
def calls_of_another_agent(stage):
    """They say whose they are; what the agent says stays inside, except for its report."""
    p = editor(stage, *FREE)
    session = p.open()
    updates, m = told(p, p.prompt(session, 'work'))
    assert m['result']['stopReason'] == 'end_turn', m
    agent, inner = calls_in(updates).values()
    assert agent[0]['kind'] == 'think' and inner[0]['kind'] == 'execute', (agent, inner)
    assert agent[-1]['status'] == inner[-1]['status'] == 'completed', (agent, inner)
    assert 'Inner report.' in json.dumps(agent[-1]), agent
    for u in inner:
        assert u['_meta']['claudeCode']['parentToolUseId'] == agent[0]['toolCallId'], u
    assert not [u for u in agent if 'parentToolUseId' in u.get('_meta', {}).get('claudeCode', {})], agent
    chunks = json.dumps([u for u in updates if u['sessionUpdate'].endswith('_chunk')])
    assert 'Inner' not in chunks and 'Fine.' in chunks, chunks
    p.end()


LATER = f'step\n if-prompt "work"\n call Bash {{"command": "{WAITS}; echo the work has ended", "run_in_background": true}}\n' \
        'step\n if-result "background"\n text It runs.\nstep\n sticky\n text So it has ended.\n'


@scene(LATER)
def a_turn_that_no_prompt_began(stage):
    """What runs in the background ends after the answer: the state says when the agent works."""
    p = editor(stage, *FREE)
    session = p.open()
    assert p.answer(p.prompt(session, 'work'))['result']['stopReason'] == 'end_turn'
    go(stage)
    found = []
    while found[-1:] != ['idle'] or 'running' not in found:
        m = p.message()
        assert 'method' in m and 'id' not in m, m
        state = update_of(m).get('_meta', {}).get('tenax', {}).get('state')
        kind = update_of(m)['sessionUpdate']
        what = state or ('text' if kind == 'agent_message_chunk' else None)
        if what and found[-1:] != [what]:
            found.append(what)
    assert found[-3:] == ['running', 'text', 'idle'], found
    assert p.answer(p.prompt(session, 'next'))['result']['stopReason'] == 'end_turn'
    p.end()


@scene(LATER)
def a_turn_that_no_client_began(stage):
    """The same for a client of the app-server."""
    p = client(stage, *FREE)
    thread = p.ask('thread/start', {'cwd': p.dir})['result']['thread']['id']
    first = turn(p, thread, 'work')
    go(stage)
    methods = []
    m = p.until(lambda m: methods.append(m['method']) or m['method'] == 'turn/completed')
    assert m['params']['turn']['status'] == 'completed' and m['params']['turn']['id'] != first['id'], m
    assert methods.count('turn/started') == 1 and 'item/agentMessage/delta' in methods, methods
    assert methods.index('turn/started') < methods.index('item/agentMessage/delta'), methods
    p.end()


@scene('step\n if-prompt "work"\n call Bash {"command": "yes aaaaaaaaaaaaaaa | head -c 60000000"}\n' + FINE)
def much_output(stage):
    """60 MB: four updates a second, of at most 30 KB each."""
    p = editor(stage, *FREE)
    session = p.open()
    began = time.monotonic()
    updates, m = told(p, p.prompt(session, 'work'))
    assert m['result']['stopReason'] == 'end_turn', m
    shell, = calls_in(updates).values()
    texts = [c['content']['text'] for u in shell for c in u.get('content') or []]
    assert shell[-1]['status'] == 'completed' and texts and set(texts[0]) == {'a', '\n'}, shell[-1]
    assert len(shell) <= 4 * (time.monotonic() - began) + 4, len(shell)
    assert max(len(t) for t in texts) <= 30 << 10, [len(t) for t in texts]
    p.end()


class Control(Peer):
    """A front end on the control socket of the process that has the session."""

    def __init__(self, p):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(glob.glob(os.path.join(p.stage, '.tenax', 'run', '*.sock'))[0])
        self.child = types.SimpleNamespace(stdin=self.socket, stdout=self.socket)
        self.is_bare = True
        self.heard = b''

    def control(self, **request):
        self.line({'type': 'control_request', 'request_id': 'c', 'request': request})
        m = self.until(lambda m: m['type'] == 'control_response')
        assert m['response']['subtype'] == 'success', m


@scene('step\n if-prompt "work"\n call Bash {"command": "touch made"}\n' + FINE)
def answered_by_another_front_end(stage):
    """The first answer counts; the editor's question is taken back, and its answer changes nothing."""
    p = editor(stage)
    session = p.open()
    c = Control(p)
    c.control(subtype='observe', answer_asks=True)
    prompt = p.prompt(session, 'work')
    asked = p.until(p.is_ask)
    m = c.until(lambda m: m.get('request', {}).get('subtype') == 'can_use_tool')
    answer = {'behavior': 'allow', 'updatedInput': m['request']['input']}
    c.line({'type': 'control_response', 'response': {'subtype': 'success', 'request_id': m['request_id'], 'response': answer}})
    m = p.until(lambda m: m.get('method') == '$/cancel_request')
    assert m['params'] == {'requestId': asked['id']}, m
    p.line({'id': asked['id'], 'result': NO[False]})
    assert p.answer(prompt)['result']['stopReason'] == 'end_turn'
    assert os.path.exists(os.path.join(p.dir, 'made'))
    p.end()


@scene(FINE)
def changed_by_another_front_end(stage):
    """Mode and model of a session, for its editor."""
    p = editor(stage)
    session = p.open()
    p.answer(p.prompt(session, 'hello'))
    c = Control(p)
    for mode in ('plan', 'acceptEdits'):
        c.control(subtype='set_permission_mode', mode=mode)
        assert p.until(lambda m: update_of(m).get('sessionUpdate') == 'current_mode_update')['params']['update']['currentModeId'] == mode
    other = os.path.join(stage, 'other')
    shutil.copy(os.path.join(stage, 'scenario'), other)
    c.line({'type': 'user', 'message': {'role': 'user', 'content': f'/model scripted/{other}'}})

    def until_model(name):
        def has_it(m):
            options = {o['id']: o['currentValue'] for o in update_of(m).get('configOptions', [])}
            return options.get('model') == name and options['mode'] == 'acceptEdits'
        p.until(has_it)
    until_model('other')
    c.control(subtype='set_model', model=f'scripted/{stage}/scenario')  # these begin no turn
    until_model('scenario')
    c.control(subtype='apply_flag_settings', settings={'model': f'scripted/{other}'})
    until_model('other')
    p.end()


# ---- Connections ----

@scene(FINE)
def http_on_the_socket(stage):
    """It is told that this is no web server; the others go on."""
    s = Server(stage)
    g = s.guest()
    with socket.socket(socket.AF_UNIX) as web:
        web.settimeout(PATIENCE_S)
        web.connect(s.path)
        web.sendall(b'GET /rpc HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n\r\n')
        got = b''
        while data := web.recv(4096):
            got += data
    assert got.startswith(b'HTTP/1.1 400 ') and got.count(b'HTTP/') == 1, got
    g.alive()
    s.end()


@scene('step\n if-prompt "much"\n chunk 2000\n text ' + 'abcdefghij' * 300000 + '\nstep\n sticky\n text Fine.\n')
def one_that_does_not_read(stage):
    """For ten seconds: the others are answered as before. What it has missed comes then, whole and in order."""
    s = Server(stage)
    slow, other = s.guest(), s.guest()
    slow_thread, other_thread = slow.open(), other.open()
    slow.prompt(slow_thread, 'much')
    until = time.monotonic() + 10
    turns = 0
    while time.monotonic() < until or turns < 20:
        assert turn(other, other_thread, 'hello')['status'] == 'completed'
        turns += 1
    text = []

    def take(m):
        assert m.get('params', {}).get('threadId') in (None, slow_thread), m
        if m.get('method') == 'item/agentMessage/delta':
            text.append(m['params']['delta'])
        return m.get('method') == 'turn/completed'
    slow.until(take)
    assert ''.join(text) == 'abcdefghij' * 300000, len(''.join(text))
    slow.alive()
    s.end()


# ---- Threads that nobody uses ----

def loaded(p):
    return p.ask('thread/loaded/list', {})['result']['data']


@scene(FINE)
def its_only_client_leaves(stage):
    """The thread is closed: another process can have it, and this one too."""
    s = Server(stage)
    g = s.guest()
    thread = g.open()
    turn(g, thread, 'hello')
    g.leave()
    h = s.guest()
    while loaded(h):
        pass
    other = client(stage)
    assert 'result' in other.ask('thread/resume', {'threadId': thread})
    h.refused(h.ask('thread/resume', {'threadId': thread}), -32600, 'already has an active writer')
    other.end()
    assert 'result' in h.ask('thread/resume', {'threadId': thread})
    s.end()


@scene(f'step\n if-prompt "work"\n call Bash {{"command": "{WAITS}"}}\n' + FINE)
def unsubscribed_during_a_turn(stage):
    """The turn goes on; the thread is closed when it is over."""
    p = client(stage, *FREE)
    thread = p.ask('thread/start', {'cwd': p.dir})['result']['thread']['id']
    p.prompt(thread, 'work')
    p.until(begins)
    assert p.ask('thread/unsubscribe', {'threadId': thread})['result'] == {'status': 'unsubscribed'}
    assert loaded(p) == [thread]
    go(stage)
    m = p.until(lambda m: m.get('method') == 'thread/closed')
    assert m['params'] == {'threadId': thread} and loaded(p) == []
    got = p.ask('thread/resume', {'threadId': thread})['result']['thread']
    assert got['turns'][0]['status'] == 'completed' and 'Fine.' in json.dumps(got), got
    p.end()


@scene(FINE)
def resumed_while_it_closes(stage):
    p = client(stage)
    thread = p.open()
    turn(p, thread, 'hello')
    for _ in range(5):
        p.last += 2
        p.write(b''.join(json.dumps(m).encode() + b'\n' for m in (
            {'id': p.last - 1, 'method': 'thread/unsubscribe', 'params': {'threadId': thread}},
            {'id': p.last, 'method': 'thread/resume', 'params': {'threadId': thread}})))
        assert p.answer(p.last - 1)['result'] == {'status': 'unsubscribed'}
        assert p.until(lambda m: m.get('method') == 'thread/closed')
        assert p.answer(p.last)['result']['thread']['id'] == thread
    assert loaded(p) == [thread]
    p.end()


@scene(FINE)
def refused_threads(stage):
    """What was refused is not left open; a thread that the client has stays as it is."""
    p = client(stage)
    wrong = {'approvalPolicy': 'never', 'sandbox': 'danger-full-access'}
    p.refused(p.ask('thread/start', {'cwd': p.dir, **wrong}), -32600)
    p.refused(p.ask('thread/start', {'cwd': p.dir, 'model': 'no-such-provider/none'}), -32600)
    while loaded(p):
        pass
    thread = p.open()
    p.refused(p.ask('thread/resume', {'threadId': thread, **wrong}), -32600)
    assert turn(p, thread, 'hello')['status'] == 'completed'
    assert loaded(p) == [thread]
    p.end()


@scene(FINE)
def a_goal_of_a_thread_that_is_not_open(stage):
    p = client(stage)
    thread = p.open()
    turn(p, thread, 'hello')
    p.ask('thread/unsubscribe', {'threadId': thread})
    for status in ('paused', 'paused'):
        got = p.ask('thread/goal/set', {'threadId': thread, 'objective': 'x', 'status': status})
        assert got['result']['goal']['status'] == status, got
        while loaded(p):
            pass
    assert p.ask('thread/goal/clear', {'threadId': thread})['result'] == {'cleared': True}
    p.end()


@scene(FINE)
def as_it_is_listed(stage):
    """A loaded thread is listed with its status and model; another one is not loaded."""
    p = client(stage)
    thread = p.open()
    turn(p, thread, 'hello')
    for got in (p.ask('thread/list', {})['result']['data'][0], p.ask('thread/read', {'threadId': thread})['result']['thread']):
        assert got['status'] == {'type': 'idle'} and got['modelProvider'] == 'scripted', got
        assert got['model'] == 'scenario', got
    p.ask('thread/unsubscribe', {'threadId': thread})
    assert p.ask('thread/list', {})['result']['data'][0]['status'] == {'type': 'notLoaded'}
    p.end()


# ---- Turns ----

@scene('step\n if-prompt "work"\n call Read {"file_path": "a.txt"}\n'
       'step\n if-result ""\n call Edit {"file_path": "a.txt", "old_string": "two", "new_string": "2"}\n'
       'step\n if-result ""\n call Edit {"file_path": "a.txt", "old_string": "one", "new_string": "1"}\n'
       'step\n if-result ""\n call Write {"file_path": "new/b.txt", "content": "b\\n"}\n' + FINE)
def the_diff_of_a_turn(stage):
    """With each changed file, all that the turn has changed so far; the next turn begins anew."""
    with open(os.path.join(stage, 'work', 'a.txt'), 'w') as f:
        f.write('one\ntwo\nthree\n')
    p = client(stage, *FREE)
    thread = p.ask('thread/start', {'cwd': p.dir})['result']['thread']['id']
    diffs = []
    p.prompt(thread, 'work')
    done = p.until(lambda m: m.get('method') == 'turn/diff/updated' and diffs.append(m['params']) or m.get('method') == 'turn/completed')
    assert len(diffs) == 3 and {d['turnId'] for d in diffs} == {done['params']['turn']['id']}, diffs
    edited = '\n'.join(('diff --git a/a.txt b/a.txt', '--- a/a.txt', '+++ b/a.txt', '@@ -1,3 +1,3 @@', '-one', '-two', '+1', '+2', ' three', ''))
    assert diffs[1]['diff'] == edited, diffs[1]
    assert diffs[2]['diff'] == edited + 'diff --git a/new/b.txt b/new/b.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new/b.txt\n' \
        '@@ -0,0 +1,1 @@\n+b\n', diffs[2]
    p.end()


# ---- Approvals ----

TOUCH = 'step\n if-result "o"\n sticky\n text Done.\nstep\n if-prompt "go"\n sticky\n call Bash {"command": "touch made"}\n' + FINE


def approval(p, thread):
    """A turn that asks for its command; None: it is over, and did not ask."""
    p.prompt(thread, 'go')
    m = p.until(lambda m: p.is_ask(m) or m.get('method') == 'turn/completed')
    return m if p.is_ask(m) else None


def decide(p, asked, decision):
    """The status of the command, and of the turn."""
    p.line({'id': asked['id'], 'result': {'decision': decision}})
    found = []
    m = p.until(lambda m: found.append(m) or m.get('method') == 'turn/completed')
    assert [f['params']['requestId'] for f in found if f['method'] == 'serverRequest/resolved'] == [asked['id']], found
    return [f['params']['item']['status'] for f in found if f['method'] == 'item/completed' and f['params']['item']['type'] == 'commandExecution'], \
        m['params']['turn']['status']


@scene(TOUCH)
def decisions(stage):
    """Each with what it leads to: this command, this thread, this project."""
    made = os.path.join(stage, 'work', 'made')
    rules = os.path.join(stage, 'work', '.tenax', 'settings.local.json')
    p = client(stage, '--trust')
    thread = p.open()
    cut = p.open()
    for which, decision, end in ((cut, 'cancel', 'interrupted'), (thread, 'decline', 'completed'), (thread, 'nonsense', 'completed')):
        assert decide(p, approval(p, which), decision) == (['declined'], end), decision
        assert not os.path.exists(made), decision
    assert decide(p, approval(p, thread), 'accept') == (['completed'], 'completed')
    os.remove(made)
    assert decide(p, approval(p, thread), 'acceptForSession') == (['completed'], 'completed')
    os.remove(made)
    assert approval(p, thread) is None and os.path.exists(made) and not os.path.exists(rules)
    other = p.open()  # the rule was of the thread
    asked = approval(p, other)
    words = asked['params']['proposedExecpolicyAmendment']
    amendment = {'acceptWithExecpolicyAmendment': {'execpolicy_amendment': words}}
    assert words[0] == 'touch' and amendment in asked['params']['availableDecisions'], asked
    assert decide(p, asked, amendment) == (['completed'], 'completed')
    with open(rules) as f:
        assert json.load(f)['permissions']['allow'] == [f'Bash({" ".join(words)})']
    p.end()
    os.remove(made)
    p = client(stage, '--trust')
    assert approval(p, p.open()) is None and os.path.exists(made)
    p.end()


@scene(TOUCH)
def trusted_by_the_client(stage):
    """A thread whose client trusts the folder has all of its settings; another thread has a warning instead."""
    settings = os.path.join(stage, 'work', '.tenax', 'settings.json')
    os.mkdir(os.path.dirname(settings))
    with open(settings, 'w') as f:
        json.dump({'permissions': {'allow': ['Bash(touch:*)']}}, f)
    made = os.path.join(stage, 'work', 'made')
    p = client(stage)

    def opened_with(config):
        """The id of a new thread, and whether it begins with a warning about trust."""
        thread = p.ask('thread/start', {'cwd': p.dir, 'approvalPolicy': 'untrusted', 'config': config})['result']['thread']['id']
        found = []
        p.prompt(thread, 'hello')
        p.until(lambda m: found.append(m) or m.get('method') == 'turn/completed')
        return thread, [m for m in found if m.get('method') == 'warning' and 'is not trusted' in m['params']['message']]

    for level in ({}, {p.dir: {'trust_level': 'untrusted'}}, {stage: {'trust_level': 'trusted'}}):
        thread, warnings = opened_with({'projects': level})
        assert len(warnings) == 1 and warnings[0]['params']['threadId'] == thread, (level, warnings)
        assert decide(p, approval(p, thread), 'decline') == (['declined'], 'completed') and not os.path.exists(made), level
    thread, warnings = opened_with({'projects': {p.dir: {'trust_level': 'trusted'}}})
    assert not warnings and approval(p, thread) is None and os.path.exists(made), warnings
    os.remove(made)
    thread, warnings = opened_with({})  # it was for that thread only
    assert warnings and approval(p, thread)
    p.end()


@scene(TOUCH)
def two_are_asked(stage):
    """The first answer counts, and both see that there is one before the turn ends."""
    s = Server(stage)
    g, h = s.guest(), s.guest()
    thread = g.open()
    turn(g, thread, 'hello')
    h.ask('thread/resume', {'threadId': thread})
    asked = approval(g, thread)
    also = h.until(h.is_ask)
    assert also['params'] == asked['params'], (also, asked)
    h.line({'id': also['id'], 'result': NO[True]})
    for p, request in ((g, asked), (h, also)):
        m = p.until(lambda m: m.get('method') in ('serverRequest/resolved', 'turn/completed'))
        assert m['method'] == 'serverRequest/resolved' and m['params'] == {'threadId': thread, 'requestId': request['id']}, m
    g.line({'id': asked['id'], 'result': YES[True]})
    for p in (g, h):
        assert completed(p)['status'] == 'completed'
    assert not os.path.exists(os.path.join(g.dir, 'made'))
    s.end()


@scene(TOUCH)
def the_one_who_is_asked_leaves(stage):
    """Nobody can answer: it is declined, and the turn goes on to its end."""
    s = Server(stage)
    g, h = s.guest(), s.guest()
    thread = g.open()
    assert approval(g, thread)
    g.leave()
    while loaded(h):
        pass
    got = h.ask('thread/resume', {'threadId': thread})['result']['thread']['turns'][-1]
    command, = [it for it in got['items'] if it['type'] == 'commandExecution']
    assert command['status'] == 'declined' and not os.path.exists(os.path.join(h.dir, 'made')), got
    s.end()


# ---- Goals ----

def goal_notes(p, count):
    return [p.until(lambda m: m.get('method', '').startswith('thread/goal/'))['params']['goal'] for _ in range(count)]


@scene(FINE)
def goals_set_in_a_row(stage):
    """Each answer comes before its notice, and each notice once, with the goal of its answer, for all clients."""
    s = Server(stage)
    g, h = s.guest(), s.guest()
    thread = g.open()
    turn(g, thread, 'hello')
    h.ask('thread/resume', {'threadId': thread})
    assert 'result' in g.ask('thread/goal/set', {'threadId': thread, 'objective': 'x', 'status': 'paused'})
    assert [n['status'] for n in goal_notes(g, 1) + goal_notes(h, 1)] == ['paused', 'paused']
    budgets = [1000 + n for n in range(20)]
    g.write(b''.join(json.dumps({'id': b, 'method': 'thread/goal/set', 'params': {'threadId': thread, 'tokenBudget': b}}).encode() + b'\n'
                     for b in budgets))
    g.last = 5000
    for b in budgets:
        m = g.message()
        assert m['id'] == b and m['result']['goal']['tokenBudget'] == b, m
        n = g.message()
        assert n['method'] == 'thread/goal/updated' and n['params'] == {'threadId': thread, 'turnId': None, **m['result']}, n
    assert [n['tokenBudget'] for n in goal_notes(h, 20)] == budgets
    for p in (g, h):
        p.last = 5000
        p.line({'id': 4999, 'method': 'thread/loaded/list', 'params': {}})
        m = p.message()  # nothing is left
        assert m.get('id') == 4999, m
    s.end()


@scene(FINE)
def a_refused_goal_changes_nothing(stage):
    p = client(stage)
    thread = p.open()
    turn(p, thread, 'hello')
    set_to = {'threadId': thread, 'objective': 'other', 'status': 'complete'}
    p.refused(p.ask('thread/goal/set', set_to), -32600, 'referee')
    assert p.ask('thread/goal/get', {'threadId': thread})['result'] == {'goal': None}
    p.ask('thread/goal/set', {'threadId': thread, 'objective': 'first', 'status': 'paused'})
    p.refused(p.ask('thread/goal/set', set_to), -32600, 'referee')
    other = client(stage)  # the same in a process that does not have the thread
    other.refused(other.ask('thread/goal/set', set_to), -32600, 'referee')
    other.end()
    assert p.ask('thread/goal/get', {'threadId': thread})['result']['goal']['objective'] == 'first'
    assert p.ask('thread/goal/set', {'threadId': thread, 'status': 'paused', 'objective': 'second'})['result']['goal']['objective'] == 'second'
    p.end()


@scene('step\n if-prompt "A goal is to be judged"\n sticky\n call verdict {"ok": false, "reason": "it is not there", '
       '"criteria": [{"text": "the file is there", "state": "unmet"}]}\n' + FINE)
def a_goal_that_nobody_works_on(stage):
    """A model that answers and does nothing: blocked when eight rounds of its turn have changed nothing since the first."""
    p = client(stage, '--trust', *FREE)
    thread = p.ask('thread/start', {'cwd': p.dir})['result']['thread']['id']
    p.ask('thread/goal/set', {'threadId': thread, 'objective': 'the file is there'})
    found = []
    while not (found and found[-1] == 'turn/completed'):
        m = p.message()
        assert len(found) < 1000, found
        found.append(m['method'])
        if m['method'] == 'thread/goal/updated':
            status = m['params']['goal']['status']
    rounds = found.count('thread/tokenUsage/updated')
    assert status == 'blocked' and rounds == 9 and found.count('turn/started') == 1, (status, rounds, found)
    assert p.ask('thread/goal/get', {'threadId': thread})['result']['goal']['status'] == 'blocked'
    p.alive()
    p.end()


@scene(FINE)
def changes_from_a_terminal_in_a_row(stage):
    """Every change once and in order, for an editor and the clients of a server."""
    p = editor(stage)
    session = p.open()
    p.answer(p.prompt(session, 'hello'))
    env = {'PATH': os.environ['PATH'], 'HOME': stage, 'TMPDIR': stage}
    p.answer(p.prompt(session, '/goal set it up'))
    for n in range(3):
        subprocess.run([TENAX, 'goal', 'edit', '--session', session, f'it is {n}'], env=env, cwd=p.dir, check=True,
                       stdout=subprocess.DEVNULL, timeout=PATIENCE_S)
    found = []
    while not found or found[-1] != 'it is 2':
        goal = update_of(p.message()).get('_meta', {}).get('tenax', {}).get('goal')
        if goal and found[-1:] != [goal['objective']]:
            found.append(goal['objective'])
    assert found[-3:] == ['it is 0', 'it is 1', 'it is 2'] and len(found) == len(set(found)), found
    p.end()


def play(fn, model):
    print(fn.__name__, flush=True)
    stage = tempfile.mkdtemp(prefix='tenax-scene-')
    try:
        os.mkdir(os.path.join(stage, 'work'))
        with open(os.path.join(stage, 'scenario'), 'w') as f:
            f.write(model)
        fn(stage)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def main():
    for fn, model in SCENES:
        if len(sys.argv) < 3 or fn.__name__ in sys.argv[2:]:
            play(fn, model)


if __name__ == '__main__':
    main()
