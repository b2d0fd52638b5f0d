#!/usr/bin/env python3
"""One goal, seen by three programs: set in an editor, paused from a terminal, edited and resumed by a client of the
app-server, completed by the referee. The editor and an observer of the control socket get each state once, in order;
the client gets the answer of its own request first, and one notice behind it.

    observers.py BUILD
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

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


class Editor(Peer):
    def __init__(self, stage, *args):
        super().__init__(stage, *args)
        self.seen = Seen()

    def message(self):
        m = super().message()
        update = m.get('params', {}).get('update', {}) if 'method' in m else {}
        goal = update.get('_meta', {}).get('tenax', {}).get('goal')
        if goal:
            self.seen.add(goal)
        return m

    def until_goal(self, *want):
        if not self.seen.goals or state(self.seen.goals[-1]) != want:
            self.until(lambda m: self.seen.goals and state(self.seen.goals[-1]) == want)


def terminal(stage, *args):
    env = {'PATH': os.environ['PATH'], 'HOME': stage, 'TMPDIR': stage}
    subprocess.run([TENAX, *args], env=env, cwd=os.path.join(stage, 'work'), check=True, stdout=subprocess.DEVNULL)


def play(stage):
    e = Editor(stage, 'acp', '--permission-mode', 'bypassPermissions', '--dangerously-skip-permissions')
    e.initialize()
    session = e.open()
    prompt = e.prompt(session, "/goal the flag is raised --check 'test -f flag' --referee checks")
    e.until_goal('the flag is raised', 'active')
    e.until(lambda m: 'begun' in json.dumps(m) and 'tool_call_update' in json.dumps(m))

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
    assert a.ask('thread/goal/get', {'threadId': session})['result']['goal']['status'] == 'complete'
    e.ask('session/close', {'sessionId': session})
    e.end()
    # Who resumes it gets it as it is.
    a.ask('thread/resume', {'threadId': session})
    assert a.until(lambda m: m.get('method') == 'thread/goal/updated')['params']['goal']['status'] == 'complete'
    a.end()


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
