#!/usr/bin/env python3
"""One goal, seen by four programs: set in an editor, paused from a terminal, edited and resumed by a client of the
app-server, completed by the referee. The editor, an observer of the control socket and a client of another app-server
get each state once, in order; a client gets the answer of its own request first, and one notice behind it.

    observers.py BUILD
"""
import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import types

sys.dont_write_bytecode = True  # the sources stay clean
from peer import TENAX, Peer

SCENARIO = '''
step
 if-prompt "the flag is raised"
 call Bash {"command": "echo begun; until test -e go; do sleep 0.05; done; rm go"}
step
 if-prompt "raise the flag"
 call Bash {"command": "echo begun; touch flag"}
step
 sticky
 text As far as I see, it is done.
'''


def state(goal):
    return (goal['objective'], goal['status'])


class Seen:
    """States of the goal, in order; a state that comes twice in a row differs in what was spent."""

    def __init__(self):
        self.goals = []

    def add(self, goal):
        assert goal != (self.goals or [None])[-1], f'the same notice twice: {goal}'
        self.goals.append(goal)

    def states(self):
        found = [state(g) for g in self.goals]
        return [s for i, s in enumerate(found) if i == 0 or s != found[i - 1]]


class Observer(Peer):
    def __init__(self, stage, *args):
        super().__init__(stage, *args)
        self.seen = Seen()

    def goal_in(self, m):
        params = m.get('params', {}) if 'method' in m else {}
        return params.get('goal') if self.is_bare else params.get('update', {}).get('_meta', {}).get('tenax', {}).get('goal')

    def message(self):
        m = super().message()
        goal = self.goal_in(m)
        if goal:
            self.seen.add(goal)
        return m

    def until_goal(self, *want):
        if not self.seen.goals or state(self.seen.goals[-1]) != want:
            self.until(lambda m: self.seen.goals and state(self.seen.goals[-1]) == want)


class Control(Observer):
    """What the control socket of the session's process says; it names the objective by its length."""

    def __init__(self, stage):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(glob.glob(os.path.join(stage, '.tenax', 'run', '*.sock'))[0])
        self.child = types.SimpleNamespace(stdin=self.socket, stdout=self.socket)
        self.is_bare = True
        self.heard = b''
        self.seen = Seen()
        self.line({'type': 'control_request', 'request_id': 'o', 'request': {'subtype': 'observe'}})
        self.until(lambda m: m['type'] == 'control_response')

    def goal_in(self, m):
        if m['type'] != 'system' or not m['subtype'].startswith('goal_'):
            return None
        return {**m, 'objective': m['condition_length'], 'status': m.get('to', m['status'])}


def terminal(stage, *args):
    env = {'PATH': os.environ['PATH'], 'HOME': stage, 'TMPDIR': stage}
    subprocess.run([TENAX, *args], env=env, cwd=os.path.join(stage, 'work'), check=True, stdout=subprocess.DEVNULL)


def play(stage):
    e = Observer(stage, 'acp', '--permission-mode', 'bypassPermissions', '--dangerously-skip-permissions')
    e.initialize()
    session = e.open()
    prompt = e.prompt(session, "/goal the flag is raised --check 'test -f flag' --referee checks")
    e.until_goal('the flag is raised', 'active')
    e.until(lambda m: 'begun' in json.dumps(m) and 'tool_call_update' in json.dumps(m))
    c = Control(stage)
    b = Observer(stage, 'app-server')
    b.initialize()
    assert 'result' in b.ask('thread/goal/set', {'threadId': session, 'tokenBudget': 5000000})
    b.until_goal('the flag is raised', 'active')

    terminal(stage, 'goal', 'pause', '--session', session)
    e.until_goal('the flag is raised', 'paused')
    open(os.path.join(stage, 'work', 'go'), 'w').close()  # the turn that runs ends
    assert e.answer(prompt)['result']['stopReason'] == 'end_turn'

    a = Peer(stage, 'app-server')
    a.initialize()

    def put(**more):
        got = a.ask('thread/goal/set', {'threadId': session, **more})
        assert 'result' in got, got
        goal = got['result']['goal']
        note = a.message()  # one notice, and it is the next message
        assert note['method'] == 'thread/goal/updated', note
        assert note['params'] == {'threadId': session, 'turnId': None, 'goal': goal}, note

    put(objective='raise the flag')
    e.until_goal('raise the flag', 'paused')
    put(status='active')
    e.until_goal('raise the flag', 'complete')
    e.until(lambda m: '"idle"' in json.dumps(m))
    assert e.seen.states() == [('the flag is raised', 'active'), ('the flag is raised', 'paused'), ('raise the flag', 'paused'),
                               ('raise the flag', 'active'), ('raise the flag', 'complete')], e.seen.states()
    b.until_goal('raise the flag', 'complete')
    assert b.seen.states() == e.seen.states(), b.seen.states()
    c.until_goal(len('raise the flag'), 'complete')
    assert c.seen.states()[-4:] == [(len(o), s) for o, s in e.seen.states()[1:]], c.seen.states()
    assert a.ask('thread/goal/get', {'threadId': session})['result']['goal']['status'] == 'complete'
    e.ask('session/close', {'sessionId': session})
    e.end()
    # Who resumes it gets it as it is.
    a.ask('thread/resume', {'threadId': session})
    assert a.until(lambda m: m.get('method') == 'thread/goal/updated')['params']['goal']['status'] == 'complete'
    a.end()
    b.end()


def main():
    stage = tempfile.mkdtemp(prefix='tenax-observers-')
    try:
        os.mkdir(os.path.join(stage, 'work'))
        with open(os.path.join(stage, 'scenario'), 'w') as f:
            f.write(SCENARIO)
        play(stage)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


main()
