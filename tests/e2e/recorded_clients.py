#!/usr/bin/env python3
"""What two clients of Codex's app-server sent to it, sent to tenax: each message in its turn, and after it the same answers and
notifications in the same order, with the same fields, except where tenax does it otherwise on purpose.

    recorded_clients.py BUILD SHAPES MORE-SHAPES EXCHANGES

EXCHANGES (tests/data/codex.exchanges) has a line for each message of a client: the recording, the method, the parameters, and
what followed until the next one. $NAME in the parameters is a value of this run. Notices of the goal are left out if they only
count what it has spent: their number varies. SHAPES has the fields of all recordings (shapes.py), MORE-SHAPES those that only
these two have; of Codex's own configuration (config/read) only the model and the policy.
"""
import json
import os
import shutil
import string
import sys
import tempfile

sys.dont_write_bytecode = True  # the sources stay clean
import recorded
from shapes import read_shapes

SCENARIO = '''
step
 if-prompt "A goal is to be judged"
 sticky
 call verdict {"ok": true, "reason": "it is done", "criteria": [{"text": "it is done", "state": "met"}]}
step
 if-prompt "User: play hi"
 text Hello there.
step
 if-prompt "play hi"
 think hmm
 text Hello there.
step
 if-prompt "Write a short title"
 call StructuredOutput {"title": "A title"}
step
 if-prompt "play to a schema"
 call Bash {"command": "exit 37"}
step
 if-result "37"
 call StructuredOutput {"a": "x"}
step
 if-prompt "play run"
 call Bash {"command": "true"}
step
 if-prompt "play patch"
 call Write {"file_path": "a.txt", "content": "new\\n"}
step
 if-prompt "play go"
 chunk 1
 pace 200ms
 text A text that continues until the user has read enough of it and interrupts the turn.
step
 sticky
 text Done.
'''

# Of services that only Codex has, of its reviewer of approvals, and of its model list, which lacks the recorded model. tenax
# does not say that settings have changed to what the client has just asked for.
NEVER = {
    'remoteControl/status/changed', 'account/rateLimits/updated', 'thread/readState/changed', 'thread/settings/updated',
    'deprecationNotice', 'item/autoApprovalReview/started', 'item/autoApprovalReview/completed', 'guardianWarning', 'warning',
}

# Fields of accounts, price tiers, advertisements, plugins and modes that only Codex has; the model has a value here.
OTHERWISE = {
    **recorded.OTHERWISE,
    **dict.fromkeys(('userId', 'workspaceRouting', 'additionalSpeedTiers', 'availabilityNux', 'availableAccessPrograms',
                     'defaultServiceTier', 'modelSpecialty', 'multiAgentVersion', 'serviceTiers', 'supportsPersonality',
                     'upgradeInfo', 'interface', 'pluginId', 'collaborationMode', 'readStates'), '?'),
    'model': 's', 'layers': 'n',
}

GOAL = recorded.BEGIN[:2] + recorded.TEXT + ['thread/goal/updated complete'] + recorded.USAGE + recorded.END
# What follows here instead: by a word of the parameters.
ORDER = {
    # A snapshot after thread/resume has a goal only if there is one; usage is reported when the model has been called.
    'play to a schema': lambda want: want[2:],
    # The recorded model's command does not exist in Codex, and is not shown.
    'play run': lambda want: want[:5] + ['item/started commandExecution inProgress', 'item/completed commandExecution completed'] + want[5:],
    # tenax reports the whole change of the turn with each file.
    'play patch': lambda want: want[:7] + ['turn/diff/updated'] + want[7:],
    # The answer comes first. The rounds of a goal are one turn, and the referee, which finds it done at once, ends it.
    '"objective"': lambda want: ['result thread/goal/set', 'thread/goal/updated active'] + GOAL,
    # What was begun is completed; the usage of a reply that was cut is not known.
    '$TURN': lambda want: ['result turn/interrupt', 'item/completed agentMessage'] + want[2:],
}


class Client(recorded.Client):
    otherwise = OTHERWISE

    def __init__(self, stage, shapes):
        super().__init__(stage, shapes, 'app-server')
        self.values = {'DIR': self.dir, 'MODEL': f'scripted/{stage}/scenario', 'PROVIDER': 'scripted'}
        self.goal = None
        self.texts = set()
        self.threads = []

    def name(self):
        """What the next message is; None: it does not count."""
        m = self.message()
        if 'method' not in m:
            assert 'result' in m, m
            self.remember(m['result'])
            return 'result ' + self.asked[m['id']]
        p = m['params']
        name = recorded.name_of(m)
        if name == 'item/agentMessage/delta':  # a text comes in any number of pieces
            is_first = p['itemId'] not in self.texts
            self.texts.add(p['itemId'])
            return name if is_first else None
        if name == 'thread/goal/updated':
            before, self.goal = self.goal, (p['goal']['objective'], p['goal']['status'])
            return None if p['turnId'] and self.goal == before else f'{name} {p["goal"]["status"]}'
        return name

    def remember(self, result):
        if isinstance(result.get('thread'), dict) and result['thread']['id'] not in self.threads:
            self.threads.append(result['thread']['id'])
            self.values[f'THREAD{len(self.threads)}'] = self.threads[-1]
        if 'turn' in result:
            self.values['TURN'] = result['turn']['id']
        self.values['CURSOR'] = result.get('itemsBackwardsCursor') or self.values.get('CURSOR')

    def play(self, method, params, want):
        m = {'method': method}
        if method != 'initialized':
            self.last += 1
            m['id'] = self.last
        if params:
            m['params'] = json.loads(string.Template(params).substitute(self.values))
        want = [w for w in want.split(', ') if w and w not in NEVER]
        for word, change in ORDER.items():
            want = change(want) if word in params else want
        self.line(m)
        got = []
        while len(got) < len(want):
            name = self.name()
            if name:
                got.append(name)
            assert got == want[:len(got)], '\n'.join([method, params, 'got'] + got + ['', 'want'] + want)


def play(shapes, rows):
    stage = tempfile.mkdtemp(prefix='tenax-recorded-')
    try:
        skill = os.path.join(stage, 'work/.tenax/skills/look')
        os.makedirs(skill)
        with open(os.path.join(skill, 'SKILL.md'), 'w') as f:
            f.write('---\nname: look\ndescription: Looks.\n---\nLook.\n')
        with open(os.path.join(stage, 'scenario'), 'w') as f:
            f.write(SCENARIO)
        p = Client(stage, shapes)
        for row in rows:
            p.play(*row)
        p.play('thread/loaded/list', '{}', 'result thread/loaded/list')  # nothing else has come
        p.end()
        return p.kinds
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def main():
    shapes = read_shapes(sys.argv[2])
    more = read_shapes(sys.argv[3])
    for kind, fields in more.items():
        shapes[kind] = shapes.get(kind, []) + fields
    rows = {}
    with open(sys.argv[4]) as f:
        for line in f:
            recording, *row = line.rstrip('\n').split('\t')
            rows.setdefault(recording, []).append(row)
    never = set(more)
    for recording in rows:
        never -= play(shapes, rows[recording])
    assert not never, f'never seen: {never}'


main()
