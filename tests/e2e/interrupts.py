#!/usr/bin/env python3
"""Interrupts of editors and clients of the app-server: the turn is over at once, whatever it waits for.

    interrupts.py BUILD
"""
import os
import sys
import time

sys.dont_write_bytecode = True  # the sources stay clean
from peer import PATIENCE_S, YES
from scenes import FREE, begins, client, completed, editor, play, turn, update_of

PROMPT_S = 0.2  # within this time an interrupted turn is over
TRIES = 10  # one of them has to be prompt: the machine does other things, too
SLOW = 'step\n if-prompt "and then"\n sticky\n text Fine.\nstep\n if-prompt "no byte"\n sticky\n pause 60s\n text Late.\n' \
       'step\n if-prompt "a text"\n sticky\n chunk 1\n pace 100ms\n text ' + 'abcdefghij' * 60 + '\n' \
       'step\n if-prompt "a command"\n sticky\n call Bash {"command": "echo begun; sleep 60"}\n' \
       'step\n if-prompt "an approval"\n sticky\n call Bash {"command": "touch made"}\n'


def check_prompt(what, once):
    """once: returns the seconds until all was over."""
    best = PATIENCE_S
    for _ in range(TRIES):
        best = min(best, once(what))
        if best <= PROMPT_S:
            return
    raise AssertionError(f'{what}: {best} s')


def cancelled_at_once(stage):
    """Whatever the turn waits for, also after a load: one answer, and the next prompt works. A late approval counts for nothing."""
    p = editor(stage, *FREE)
    session = p.open()
    moments = {'no byte': lambda m: update_of(m).get('_meta', {}).get('tenax', {}).get('state') == 'running',
               'a text': lambda m: update_of(m).get('sessionUpdate') == 'agent_message_chunk', 'a command': begins, 'an approval': p.is_ask}

    def once(what):
        prompt = p.prompt(session, what)
        reached = p.until(moments[what])
        sent = time.monotonic()
        for _ in range(2):
            p.line({'method': 'session/cancel', 'params': {'sessionId': session}})
        assert p.answer(prompt)['result']['stopReason'] == 'cancelled', what
        took = time.monotonic() - sent
        if p.is_ask(reached):
            p.line({'id': reached['id'], 'result': YES[False]})
        prompt = p.prompt(session, 'and then')
        m = p.until(lambda m: 'method' not in m)
        assert m['id'] == prompt and m['result']['stopReason'] == 'end_turn', m
        return took

    for is_loaded in (False, True):
        if is_loaded:
            p.end()
            p = editor(stage, *FREE)
            assert 'result' in p.ask('session/load', {'sessionId': session, 'cwd': p.dir, 'mcpServers': []})
        for what in moments:
            mode = 'default' if what == 'an approval' else 'bypassPermissions'
            assert 'result' in p.ask('session/set_mode', {'sessionId': session, 'modeId': mode})
            check_prompt(what, once)
    assert not os.path.exists(os.path.join(p.dir, 'made'))
    p.end()


def interrupted_at_once(stage):
    """The same for a client of the app-server; where no such turn runs, an error comes as fast."""
    p = client(stage)
    moments = {'a text': lambda m: m.get('method') == 'item/agentMessage/delta', 'a command': begins, 'an approval': p.is_ask}

    def interrupt(name):
        return p.ask('turn/interrupt', {'threadId': thread, 'turnId': name})

    def once(what):
        running = p.answer(p.prompt(thread, what))['result']['turn']['id']
        p.until(moments[what])
        sent = time.monotonic()
        p.refused(interrupt('other'), -32600)
        assert interrupt(running)['result'] == {}
        over = completed(p)
        assert over['id'] == running and over['status'] == 'interrupted', (what, over)
        p.refused(interrupt(running), -32600)  # idle
        return time.monotonic() - sent

    for what in moments:
        policy = 'untrusted' if what == 'an approval' else 'never'
        thread = p.ask('thread/start', {'cwd': p.dir, 'approvalPolicy': policy, 'sandbox': 'workspace-write'})['result']['thread']['id']
        check_prompt(what, once)
        assert turn(p, thread, 'and then')['status'] == 'completed'
    p.end()


play(cancelled_at_once, SLOW)
play(interrupted_at_once, SLOW)
