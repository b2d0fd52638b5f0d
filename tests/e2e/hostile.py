#!/usr/bin/env python3
"""Clients that break the rules: `tenax acp` and `tenax app-server` answer with the error that JSON-RPC has for it,
and the connection, its other requests and its sessions go on.

    hostile.py BUILD
"""
import glob
import json
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True  # the sources stay clean

from peer import NO, PATIENCE_S, YES, Peer

NOBODY = '00000000-0000-4000-8000-000000000000'
SCENARIO = '''
step
 if-prompt "and now"
 text Again.
step
 if-prompt "do the work"
 text Before.
 call Bash {"command": "echo begun; sleep 300"}
step
 if-prompt "do pick"
 call mcp__odd__pick {"questions": [{"question": "Which?", "header": "Q", "options": [{"label": "red"}, {"label": "blue"}]}]}
step
 if-prompt "do ask"
 call Bash {"command": "touch asked"}
step
 sticky
 text Fine.
'''

# Its one tool takes what the question tool takes.
ODD_SERVER = '''
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if 'id' not in m:
        continue
    result = {}
    if m['method'] == 'initialize':
        result = {'protocolVersion': m['params']['protocolVersion'], 'capabilities': {'tools': {}},
                  'serverInfo': {'name': 'odd', 'version': '1'}}
    elif m['method'] == 'tools/list':
        result = {'tools': [{'name': 'pick', 'inputSchema': {'type': 'object', 'properties': {'questions': {}}}}]}
    elif m['method'] == 'tools/call':
        open('picked', 'w').close()
        result = {'content': [{'type': 'text', 'text': 'picked'}]}
    print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': result}), flush=True)
'''


def lines_that_are_none(p):
    """What is no message has no id; Codex does not answer it at all."""
    for what, code in ((b'this is no JSON', -32700), (b'{"jsonrpc":"2.0","id":1,', -32700), (b'\x00\xff\xfe', -32700),
                       (b'[' * 100000, -32700), (b'"text"', -32600), (b'17', -32600), (b'[]', -32600),
                       (b'[{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}]', -32600),
                       (b'{}', -32600), (b'{"jsonrpc":"2.0","id":1}', -32600)):
        p.line(what)
        if not p.is_bare:
            m = p.message()
            assert m['id'] is None, m
            p.refused(m, code)
    p.line(b'')
    p.line(b'   \r')
    p.alive()


def a_line_of_100_mb(p):
    p.write(b'{"id":5,"method":"x","params":"' + b'a' * (100 << 20) + b'"}\n')
    if not p.is_bare:
        p.refused(p.message(), -32600, '64 MB')
    p.alive()


def ids(p):
    method = 'thread/loaded/list' if p.is_bare else 'session/list'
    for wrong in ('null', '1.5', 'true', '{}', '[]', '"' + 'a' * 2000 + '"', '1e400'):
        p.line('{"jsonrpc":"2.0","id":%s,"method":"%s","params":{}}' % (wrong, method))
        if not p.is_bare:
            p.refused(p.message(), -32600, 'id')
    for right in ('a text', '', -7, 1 << 53):
        p.line({'id': right, 'method': method, 'params': {}})
        assert 'result' in p.answer(right)
    p.line({'id': 1, 'method': 17, 'params': {}})
    if not p.is_bare:
        p.refused(p.message(), -32600)
    p.alive()


def methods(p):
    unknown = -32600 if p.is_bare else -32601
    for name in ('foo/bar', '', 'session/', 'a' * 10000, '\u0000', '$/what'):
        p.refused(p.ask(name, {}), unknown)
        p.line({'method': name, 'params': {}})  # a notification of something unknown is nothing
    p.alive()


def parameters(p):
    names = ('thread/start', 'thread/resume', 'turn/start', 'turn/interrupt', 'turn/steer', 'thread/goal/set') if p.is_bare else \
        ('session/new', 'session/load', 'session/prompt', 'session/set_mode', 'session/set_config_option', 'authenticate')
    for name in names:
        for wrong in ([], 'text', 17, None, {'sessionId': 17, 'threadId': 17, 'cwd': 17}, {'sessionId': [], 'prompt': 'x'}):
            if name == 'thread/start':  # all of it may be left out
                continue
            m = p.ask(name, wrong)
            assert m.get('error') and m['error']['message'], (name, wrong, m)
            assert m['error']['code'] in (-32600, -32602, -32002), (name, wrong, m)
    p.alive()


def an_id_in_use(p):
    session = p.open()
    if p.is_bare:
        return  # a turn is answered at once
    turn = p.prompt(session, 'do ask')
    asked = p.until(p.is_ask)
    p.line({'id': turn, 'method': 'session/list', 'params': {}})
    p.refused(p.answer(turn), -32600, 'not answered')
    p.line({'id': asked['id'], 'result': NO[p.is_bare]})
    assert p.answer(turn)['result']['stopReason'] == 'end_turn'
    p.alive()


def answers(p):
    """To nothing, twice, with nonsense: the first counts, nonsense is no."""
    session = p.open()
    p.line({'id': 77, 'result': {}})
    p.line({'id': 'x', 'error': {'code': 1, 'message': 'x'}})
    p.prompt(session, 'do ask')
    asked = p.until(p.is_ask)
    p.line({'id': asked['id'], 'result': {'outcome': 'what', 'decision': {'no': 1}}})
    p.line({'id': asked['id'], 'result': YES[p.is_bare]})
    p.until(lambda m: m.get('method') == 'turn/completed' or m.get('id') == p.last)
    assert not os.path.exists(os.path.join(p.dir, 'asked')), 'the second answer counted'
    p.alive()


def an_error_as_answer(p):
    session = p.open()
    p.prompt(session, 'do ask')
    asked = p.until(p.is_ask)
    p.line({'id': asked['id'], 'error': {'code': -32601, 'message': 'I do not know this'}})
    p.until(lambda m: m.get('method') == 'turn/completed' or m.get('id') == p.last)
    assert not os.path.exists(os.path.join(p.dir, 'asked')), 'an error counted as yes'
    p.alive()


def turn_over(p):
    p.until(lambda m: m.get('method') == 'turn/completed' or (m.get('id') == p.last and 'stopReason' in json.dumps(m)))


def a_tool_with_questions(p):
    """It is asked for permission like any other: an answer to its questions would allow the call."""
    session = p.open([{'name': 'odd', 'command': sys.executable, 'args': ['-c', ODD_SERVER], 'env': []}])
    p.prompt(session, 'do pick')
    asked = p.until(lambda m: 'method' in m and 'id' in m)
    assert p.is_ask(asked), asked
    if not p.is_bare:
        assert 'reject' in [o['optionId'] for o in asked['params']['options']], asked
    p.line({'id': asked['id'], 'result': NO[p.is_bare]})
    turn_over(p)
    assert not os.path.exists(os.path.join(p.dir, 'picked')), 'the call was allowed'


def ids_of_tools(p):
    """A transcript may be anyone's work."""
    session = p.open()
    p.prompt(session, 'do ask')
    p.line({'id': p.until(p.is_ask)['id'], 'result': NO[p.is_bare]})
    turn_over(p)
    p.end()
    path, = glob.glob(f'{p.stage}/.tenax/**/{session}.jsonl', recursive=True)
    with open(path) as f:
        text = f.read()
    for wrong in ('', 'a' * 5000):
        with open(path, 'w') as f:
            for line in text.splitlines():
                m = json.loads(line)
                content = m.get('message', {}).get('content')
                for block in content if isinstance(content, list) else []:
                    for key in ('id', 'tool_use_id'):
                        if key in block:
                            block[key] = wrong
                f.write(json.dumps(m) + '\n')
        p.__init__(p.stage, *p.args)
        p.initialize()
        method, key = ('thread/resume', 'threadId') if p.is_bare else ('session/load', 'sessionId')
        m = p.ask(method, {key: session, 'cwd': p.dir, 'mcpServers': []})
        assert 'result' in m, m
        p.alive()
        p.end()


def skills_of_a_closing_thread(p):
    if not p.is_bare:
        return
    for _ in range(10):
        thread = p.open()
        p.last += 3
        p.write(b''.join(json.dumps(m).encode() + b'\n' for m in (
            {'id': p.last - 2, 'method': 'thread/unsubscribe', 'params': {'threadId': thread}},
            {'id': p.last - 1, 'method': 'skills/list', 'params': {'cwds': [p.dir]}},
            {'id': p.last, 'method': 'thread/loaded/list', 'params': {}})))
        answers = {}
        while len(answers) < 3:
            m = p.until(lambda m: 'method' not in m)
            answers[m['id']] = m['result']
        assert answers[p.last - 1]['data'][0]['skills'] == [], answers
        assert answers[p.last]['data'] == [], answers


def opened_twice_and_gone(p):
    """Both requests are answered, or nobody is there: the session is closed once."""
    session = p.open()
    p.prompt(session, 'hello')
    turn_over(p)
    p.end()
    method, key = ('thread/resume', 'threadId') if p.is_bare else ('session/load', 'sessionId')
    for _ in range(3):
        p.__init__(p.stage, *p.args)
        p.initialize()
        for n in range(3):
            p.line({'id': n, 'method': method, 'params': {key: session, 'cwd': p.dir, 'mcpServers': []}})
        p.line({'id': 3, 'method': 'thread/goal/clear', 'params': {'threadId': session}})
        p.child.stdin.close()
        while os.read(p.child.stdout.fileno(), 1 << 16):
            pass
        p.gone()


def run(args, scene, stage):
    shutil.rmtree(os.path.join(stage, 'work'), ignore_errors=True)
    os.makedirs(os.path.join(stage, 'work'))
    p = Peer(stage, *args)
    p.initialize()
    scene(p)
    if p.child.poll() is None or not p.child.stdin.closed:
        p.end()


def working(stage, args):
    """A command runs."""
    p = Peer(stage, *args)
    p.initialize()
    session = p.open()
    p.prompt(session, 'do the work')
    while True:
        m = p.message()
        if p.is_ask(m):
            p.line({'id': m['id'], 'result': YES[p.is_bare]})
        if 'begun' in json.dumps(m) and ('outputDelta' in m.get('method', '') or 'in_progress' in json.dumps(m)):
            return p, session


def reloaded(stage, args, session):
    """What was cut off is there again, and the session goes on."""
    p = Peer(stage, *args)
    p.initialize()
    if p.is_bare:
        got = p.ask('thread/resume', {'threadId': session})
        assert 'Before.' in json.dumps(got) and 'sleep 300' in json.dumps(got), got
    else:
        p.last += 1
        p.line({'id': p.last, 'method': 'session/load', 'params': {'sessionId': session, 'cwd': p.dir, 'mcpServers': []}})
        seen = []
        p.until(lambda m: seen.append(json.dumps(m)) or m.get('id') == p.last)
        assert 'Before.' in ''.join(seen) and '"failed"' in ''.join(seen), seen
    turn = p.prompt(session, 'and now')
    p.until(lambda m: m.get('method') == 'turn/completed' or (m.get('id') == turn and 'stopReason' in json.dumps(m)))
    p.end()


def ends(stage, args):
    """In the middle of a message, of a call, with nobody who reads, by SIGTERM and SIGKILL."""
    p = Peer(stage, *args)
    p.initialize()
    p.write(b'{"jsonrpc":"2.0","id":9,"method":"session/li')
    p.end()
    p, session = working(stage, args)
    p.end()
    reloaded(stage, args, session)
    p, session = working(stage, args)
    p.child.stdout.close()
    p.child.stdin.close()
    p.child.wait(PATIENCE_S)
    reloaded(stage, args, session)
    p, session = working(stage, args)
    p.child.terminate()
    p.gone()
    reloaded(stage, args, session)
    p, session = working(stage, args)
    p.child.kill()
    p.gone(-9)
    reloaded(stage, args, session)


def main():
    scenes = (lines_that_are_none, a_line_of_100_mb, ids, methods, parameters, an_id_in_use, answers, an_error_as_answer,
              a_tool_with_questions, ids_of_tools, skills_of_a_closing_thread, opened_twice_and_gone)
    stage = tempfile.mkdtemp(prefix='tenax-hostile-')
    with open(os.path.join(stage, 'scenario'), 'w') as f:
        f.write(SCENARIO)
    try:
        for args in (['acp'], ['app-server']):
            for scene in scenes:
                print(args[0], scene.__name__, flush=True)
                run(args, scene, stage)
            print(args[0], 'ends', flush=True)
            ends(stage, args)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


main()
