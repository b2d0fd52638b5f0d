#!/usr/bin/env python3
"""Exchanges that were recorded with Codex's app-server, played with tenax: the same methods in the same order, and in each
message the same fields, except where tenax does it otherwise on purpose.

    recorded.py BUILD SHAPES

SHAPES (tests/data/codex.shapes): shapes.py; kinds are `note METHOD [ITEM]`, `req METHOD` and `result METHOD`.
"""
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True  # the sources stay clean
from peer import Peer
from shapes import check_shape, read_shapes

SCENARIO = '''
step
 if-prompt "say hello"
 think hmm
 text Hello there.
step
 if-prompt "run one"
 call Bash {"command": "touch one"}
step
 if-result ""
 text Done.
step
 if-prompt "run two"
 call Bash {"command": "touch two"}
step
 if-result ""
 text Then not.
step
 if-prompt "run three"
 call Bash {"command": "touch three"}
step
 if-prompt "run four"
 call Bash {"command": "touch four"}
step
 if-result ""
 text Done.
step
 if-prompt "patch it"
 call Edit {"file_path": "there.txt", "old_string": "old", "new_string": "new"}
step
 if-result ""
 text Patched.
step
 if-prompt "create it"
 call Write {"file_path": "created.txt", "content": "new\\n"}
step
 if-result ""
 text Created.
step
 if-prompt "a bad request"
 fault status 400 "bad thing"
 text Well.
step
 if-prompt "no money"
 fault status 402 "your credit is used up"
 text Well.
step
 if-prompt "run five"
 call Bash {"command": "chmod 600 there.txt"}
step
 if-prompt "take long"
 call Bash {"command": "echo begun; sleep 60"}
step
 sticky
 text Fine.
'''

# Of one turn, behind the answer to its request.
BEGIN = ['thread/status/changed active', 'turn/started', 'item/started userMessage', 'item/completed userMessage']
TEXT = ['item/started agentMessage', 'item/agentMessage/delta', 'item/completed agentMessage']
USAGE = ['thread/tokenUsage/updated']
END = ['thread/status/changed idle', 'turn/completed completed']
STOPPED = ['thread/status/changed idle', 'turn/completed interrupted']
FAILED = ['thread/status/changed systemError', 'error', 'turn/completed failed']


def asked(item, approval):
    return [f'item/started {item} inProgress', 'thread/status/changed active waitingOnApproval', approval,
            'serverRequest/resolved', 'thread/status/changed active']


COMMAND = asked('commandExecution', 'item/commandExecution/requestApproval')
CHANGED = ['item/completed fileChange completed', 'turn/diff/updated']
FILES = asked('fileChange', 'item/fileChange/requestApproval')
TURNS = [
    ('say hello', None, BEGIN + ['item/started reasoning', 'item/reasoning/summaryPartAdded', 'item/reasoning/summaryTextDelta',
                                 'item/completed reasoning'] + TEXT + USAGE + END),
    ('run one', 'accept', BEGIN + COMMAND + ['item/completed commandExecution completed'] + USAGE + TEXT + USAGE + END),
    ('run two', 'decline', BEGIN + COMMAND + ['item/completed commandExecution declined'] + USAGE + TEXT + USAGE + END),
    ('run three', 'cancel', BEGIN + COMMAND + ['item/completed commandExecution declined'] + USAGE + STOPPED),
    ('run four', 'acceptForSession', BEGIN + COMMAND + ['item/completed commandExecution completed'] + USAGE + TEXT + USAGE + END),
    # tenax reports the whole change of the turn with each file.
    ('patch it', 'accept', BEGIN + FILES + CHANGED + USAGE + TEXT + USAGE + END),
    ('create it', 'accept', BEGIN + FILES + CHANGED + USAGE + TEXT + USAGE + END),
    ('a bad request', None, BEGIN + FAILED),
    ('and now', None, BEGIN + TEXT + USAGE + END),  # idle again
    ('no money', None, BEGIN + FAILED),
    ('and now', None, BEGIN + TEXT + USAGE + END),
    # Codex reports the approval as resolved after the turn, and never completes the command.
    ('run five', 'interrupt', BEGIN + COMMAND + ['item/completed commandExecution declined'] + USAGE + STOPPED),
]

# Where tenax has a value, or none, and Codex had not in any recording.
OTHERWISE = {
    'reason': 's', 'gitInfo': 'no', 'name': 'sn', 'reasoningEffort': 's', 'activePermissionProfile': 'n', 'tokenBudget': 'i',
    'canAcceptDirectInput': 'b', 'environments': 'l', 'nextCursor': 'n', 'backwardsCursor': 'n', 'forkedFromId': 's', 'upgrade': 'n',
    'path': 'n', 'processId': 'n', 'goal': 'no', 'exitCode': 'i', 'aggregatedOutput': 's',
}


def name_of(m):
    """What a notification or a request of the server is about."""
    p = m['params']
    text = m['method']
    if text == 'thread/status/changed':
        return ' '.join([text, p['status']['type'], *p['status'].get('activeFlags', [])])
    if 'item' in p:
        return ' '.join([text, p['item']['type'], *([p['item']['status']] if 'status' in p['item'] else [])])
    if text == 'turn/completed':
        return f'{text} {p["turn"]["status"]}'
    return text


class Client(Peer):
    otherwise = OTHERWISE

    def __init__(self, stage, shapes, *args):
        super().__init__(stage, *args)
        self.shapes = shapes
        self.asked = {}
        self.order = []
        self.kinds = set()

    def line(self, what):
        if isinstance(what, dict) and 'id' in what and 'method' in what:
            self.asked[what['id']] = what['method']
        super().line(what)

    def kind(self, m):
        if 'method' not in m:
            return 'error' if 'error' in m else 'result ' + self.asked[m['id']]
        if 'id' in m:
            return 'req ' + m['method']
        item = m['params'].get('item')
        return 'note ' + m['method'] + (' ' + item['type'] if item else '')

    def message(self):
        m = super().message()
        kind = self.kind(m)
        self.kinds.add(kind)
        if 'method' in m:
            assert ('id' in m) != ('emittedAtMs' in m), m
            self.note(m)
        check_shape(self.shapes, kind, m['params'] if 'method' in m else m.get('result', m.get('error')), self.otherwise)
        return m

    def note(self, m):
        text = name_of(m)
        if self.order[-1:] != [text]:  # a text comes in any number of pieces
            self.order.append(text)

    def result(self, method, params):
        m = self.ask(method, params)
        assert 'result' in m, m
        return m['result']

    def fails(self, method, params, words):
        self.refused(self.ask(method, params), -32600, words)

    def until_completed(self):
        return self.until(lambda m: m.get('method') == 'turn/completed')['params']['turn']


def play_turn(p, thread, text, decision, want):
    p.order = []
    asked = p.prompt(thread, text)
    turn = p.answer(asked)['result']['turn']['id']
    p.order = [o for o in p.order if o not in ('thread/started', 'thread/name/updated')]  # those of before
    m = p.until(lambda m: m.get('method') == 'turn/completed' or 'id' in m)
    if 'id' in m and decision == 'interrupt':
        p.last += 1
        p.line({'id': p.last, 'method': 'turn/interrupt', 'params': {'threadId': thread, 'turnId': turn}})
    elif 'id' in m:
        p.line({'id': m['id'], 'result': {'decision': decision}})
    if 'id' in m:
        p.until_completed()
    got = [o for o in p.order if o not in ('thread/name/updated', 'warning')]
    assert got == want, '\n'.join([text, 'got'] + got + ['', 'want'] + want)


def turns(p):
    thread = p.result('thread/start', {'cwd': p.dir, 'approvalPolicy': 'untrusted', 'sandbox': 'workspace-write'})['thread']['id']
    with open(os.path.join(p.dir, 'there.txt'), 'w') as f:
        f.write('old\n')
    for text, decision, want in TURNS:
        if text == 'patch it':  # which needs a look at it
            path = os.path.join(p.dir, 'there.txt')
            p.result('turn/start', {'threadId': thread, 'input': [{'type': 'text', 'text': 'look at'},
                                                                  {'type': 'mention', 'name': 'there.txt', 'path': path}]})
            p.until_completed()
        play_turn(p, thread, text, decision, want)
    return thread


def steered(p, thread):
    """What the recordings do with a turn that runs, and with one that does not."""
    turn = p.result('turn/start', {'threadId': thread, 'input': [{'type': 'text', 'text': 'take long'}], 'approvalPolicy': 'never'})['turn']['id']
    p.until(lambda m: m.get('method') == 'item/commandExecution/outputDelta')
    more = [{'type': 'text', 'text': 'also'}]
    assert p.result('turn/start', {'threadId': thread, 'input': more})['turn']['id'] == turn
    assert p.result('turn/steer', {'threadId': thread, 'expectedTurnId': turn, 'input': more}) == {'turnId': turn}
    p.fails('turn/steer', {'threadId': thread, 'expectedTurnId': 'x', 'input': more}, f'expected active turn id `x` but found `{turn}`')
    p.fails('turn/interrupt', {'threadId': thread, 'turnId': 'zzz'}, f'expected active turn id zzz but found {turn}')
    assert p.result('turn/interrupt', {'threadId': thread, 'turnId': turn}) == {}
    assert p.until_completed()['status'] == 'interrupted'
    p.fails('turn/interrupt', {'threadId': thread, 'turnId': turn}, 'no active turn to interrupt')
    p.fails('turn/steer', {'threadId': thread, 'expectedTurnId': 'x', 'input': more}, 'no active turn to steer')


def lists(p, thread):
    assert p.result('thread/name/set', {'threadId': thread, 'name': 'My thread'}) == {}
    assert p.result('thread/read', {'threadId': thread, 'includeTurns': True})['thread']['name'] == 'My thread'
    assert p.result('thread/list', {'limit': 2})['data'][0]['id'] == thread
    assert p.result('thread/loaded/list', {})['data'] == [thread]
    statuses = [t['status'] for t in p.result('thread/turns/list', {'threadId': thread, 'sortDirection': 'asc'})['data']]
    assert statuses[3] == 'interrupted' and 'failed' in statuses, statuses
    seen = []
    page = {}
    while page is not None:  # by cursor, without a gap
        got = p.result('thread/items/list', {'threadId': thread, 'limit': 3, **page})
        seen += [it['item']['id'] for it in got['data']]
        page = {'cursor': got['nextCursor']} if got['nextCursor'] else None
    whole = p.result('thread/items/list', {'threadId': thread, 'limit': 1000})['data']
    assert seen == [it['item']['id'] for it in whole] and len(seen) == len(set(seen)) > 20
    assert p.result('thread/fork', {'threadId': thread})['thread']['forkedFromId'] == thread
    assert p.result('thread/resume', {'threadId': thread, 'excludeTurns': True})['thread']['turns'] == []
    for method in ('model/list', 'account/read', 'config/read', 'permissionProfile/list', 'skills/list', 'mcpServerStatus/list'):
        p.result(method, {})
    assert p.result('thread/unsubscribe', {'threadId': thread}) == {'status': 'unsubscribed'}
    assert p.result('thread/unsubscribe', {'threadId': thread}) == {'status': 'notSubscribed'}
    assert p.result('thread/unsubscribe', {'threadId': '019a0000-0000-7000-8000-000000000000'}) == {'status': 'notLoaded'}


def goal_is(p, got, objective, status, budget):
    goal = got['goal']
    assert (goal['objective'], goal['status'], goal['tokenBudget']) == (objective, status, budget), got
    p.until(lambda m: m.get('method') == 'thread/goal/updated' and m['params']['turnId'] is None and m['params']['goal'] == goal)


def goals(p):
    thread = p.result('thread/start', {'cwd': p.dir, 'approvalPolicy': 'never', 'sandbox': 'workspace-write'})['thread']['id']

    def put(**more):
        return p.result('thread/goal/set', {'threadId': thread, **more})

    assert p.result('thread/goal/get', {'threadId': thread}) == {'goal': None}
    assert p.result('thread/goal/clear', {'threadId': thread}) == {'cleared': False}
    for more, words in (({'status': 'paused'}, f'cannot update goal for thread {thread}: no goal exists'),
                        ({'objective': '   '}, 'goal objective must not be empty'),
                        ({'objective': 'x' * 4001}, 'goal objective must be at most 4000 characters'),
                        ({'objective': 'g', 'tokenBudget': 0}, 'goal budgets must be positive when provided'),
                        ({'objective': 'g', 'tokenBudget': -1}, 'goal budgets must be positive when provided'),
                        ({'objective': 'g', 'status': 'weird'}, 'Invalid request: unknown variant `weird`, expected one of `active`')):
        p.fails('thread/goal/set', {'threadId': thread, **more}, words)
    p.fails('thread/goal/get', {'threadId': 'nope'}, 'invalid thread id: ')
    nobody = '019a0000-0000-7000-8000-000000000000'
    p.fails('thread/goal/get', {'threadId': nobody}, f'thread not found: {nobody}')
    goal_is(p, put(objective='  make it green  ', status='paused', tokenBudget=5000000), 'make it green', 'paused', 5000000)
    goal_is(p, put(objective='make it green'), 'make it green', 'paused', 5000000)
    goal_is(p, put(tokenBudget=None), 'make it green', 'paused', None)
    goal_is(p, put(objective='second goal'), 'second goal', 'paused', None)
    goal_is(p, put(status='paused', tokenBudget=100000), 'second goal', 'paused', 100000)
    assert p.result('thread/goal/clear', {'threadId': thread}) == {'cleared': True}
    p.until(lambda m: m.get('method') == 'thread/goal/cleared' and m['params'] == {'threadId': thread})
    assert p.result('thread/goal/get', {'threadId': thread}) == {'goal': None}
    gone = p.result('thread/start', {'cwd': p.dir, 'ephemeral': True})['thread']['id']
    p.fails('thread/goal/set', {'threadId': gone, 'objective': 'x'}, f'ephemeral thread does not support goals: {gone}')


def main():
    shapes = read_shapes(sys.argv[2])
    stage = tempfile.mkdtemp(prefix='tenax-recorded-')
    try:
        os.mkdir(os.path.join(stage, 'work'))
        with open(os.path.join(stage, 'scenario'), 'w') as f:
            f.write(SCENARIO)
        p = Client(stage, shapes, 'app-server')
        p.fails('thread/list', {}, 'Not initialized')
        p.line(b'not json')
        p.result('initialize', {'clientInfo': {'name': 'probe', 'title': 'Probe', 'version': '0.1'}, 'capabilities': None})
        p.line({'method': 'initialized'})
        p.fails('initialize', {'clientInfo': {'name': 'probe', 'title': None, 'version': '0.1'}}, 'Already initialized')
        p.fails('foo/bar', {}, 'Invalid request: unknown variant `foo/bar`, expected one of ')
        p.fails('thread/resume', {}, 'Invalid request: missing field `threadId`')
        p.fails('thread/resume', {'threadId': 'nope'}, 'invalid session id: ')
        p.fails('thread/resume', {'threadId': '019a0000-0000-7000-8000-000000000000'}, 'no rollout found for thread id ')
        thread = turns(p)
        steered(p, thread)
        lists(p, thread)
        goals(p)
        p.end()
        never = set(shapes) - p.kinds
        assert not never, f'never seen: {never}'
    finally:
        shutil.rmtree(stage, ignore_errors=True)


if __name__ == '__main__':
    main()
