// Hooks that are functions of the client.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test, text_of } from './harness.mjs';

const hook = (fn, matcher) => [{ matcher, hooks: [fn] }];
const all = { permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true };

test('PreToolUse denies', async (t) => {
    await t.model(`
        step
          call Bash {"command": "rm -rf build"}
        step
          if-result "Builds are sacred."
          text Then not.
    `);
    const seen = [];
    const got = await t.ask('clean', {
        ...all,
        hooks: {
            PreToolUse: hook(async (input, id) => {
                seen.push({ input, id });
                return {
                    hookSpecificOutput: {
                        hookEventName: 'PreToolUse',
                        permissionDecision: 'deny',
                        permissionDecisionReason: 'Builds are sacred.',
                    },
                };
            }, 'Bash'),
        },
    });
    assert.equal(got.result.result, 'Then not.');
    assert.equal(got.tool_results[0].is_error, true);
    assert.equal(seen.length, 1);
    const { input, id } = seen[0];
    assert.equal(id, got.tool_results[0].tool_use_id);
    assert.equal(input.hook_event_name, 'PreToolUse');
    assert.equal(input.tool_name, 'Bash');
    assert.deepEqual(input.tool_input, { command: 'rm -rf build' });
    assert.equal(input.tool_use_id, id);
    assert.equal(input.session_id, got.result.session_id);
    assert.equal(input.cwd, t.dir);
    assert.equal(input.permission_mode, 'bypassPermissions');
    assert.equal(typeof input.transcript_path, 'string');
});

test('PreToolUse changes the input and allows', async (t) => {
    await t.model(`
        step
          call Bash {"command": "echo wrong > made.txt"}
          call Glob {"pattern": "*.none"}
        step
          text ok
    `);
    let asked = 0;
    const got = await t.ask('go', {
        canUseTool: async () => assert.fail('the hook has allowed it'),
        hooks: {
            PreToolUse: hook(async (input) => {
                asked++;
                return {
                    hookSpecificOutput: {
                        hookEventName: 'PreToolUse',
                        permissionDecision: 'allow',
                        updatedInput: { ...input.tool_input, command: 'echo right > made.txt' },
                    },
                };
            }, 'Bash'),
        },
    });
    assert.equal(got.result.result, 'ok');
    assert.equal(t.read('made.txt'), 'right\n');
    assert.equal(asked, 1, 'the matcher keeps Glob out');
});

test('PreToolUse sends the question to the client', async (t) => {
    await t.model(`
        step
          call Glob {"pattern": "*.c"}
        step
          if-result "Ask me nicely."
          text ok
    `);
    const got = await t.ask('go', {
        canUseTool: async () => ({ behavior: 'deny', message: 'Ask me nicely.' }),
        hooks: {
            PreToolUse: hook(async () => ({
                hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'ask' },
            })),
        },
    });
    assert.equal(got.result.result, 'ok');
});

test('PreToolUse that fails does not stop the work', async (t) => {
    await t.model(`
        step
          call Bash {"command": "echo hi > made.txt"}
        step
          text ok
    `);
    const got = await t.ask('go', {
        ...all,
        hooks: {
            PreToolUse: hook(async () => {
                throw new Error('my own fault');
            }),
        },
    });
    assert.equal(got.result.result, 'ok');
    assert.ok(existsSync(join(t.dir, 'made.txt')));
});

test('PostToolUse adds context', async (t) => {
    t.file('a.txt', 'alpha\n');
    await t.model(`
        step
          call Read {"file_path": "a.txt"}
        step
          if-prompt "It was written in 1987."
          text Old.
    `);
    const seen = [];
    const got = await t.ask('read a.txt', {
        hooks: {
            PostToolUse: hook(async (input) => {
                seen.push(input);
                return {
                    hookSpecificOutput: {
                        hookEventName: 'PostToolUse',
                        additionalContext: 'It was written in 1987.',
                    },
                };
            }),
        },
    });
    assert.equal(got.result.result, 'Old.');
    assert.equal(seen[0].tool_name, 'Read');
    assert.equal(seen[0].tool_input.file_path, join(t.dir, 'a.txt'));
    assert.match(seen[0].tool_response.file.content, /alpha/);
});

test('PostToolUseFailure hears of what went wrong', async (t) => {
    await t.model(`
        step
          call Bash {"command": "exit 3"}
        step
          text ok
    `);
    const seen = [];
    await t.ask('go', {
        ...all,
        hooks: {
            PostToolUse: hook(async () => assert.fail('it has failed')),
            PostToolUseFailure: hook(async (input) => {
                seen.push(input);
                return {};
            }),
        },
    });
    assert.equal(seen.length, 1);
    assert.match(seen[0].error, /^Exit code 3/);
});

test('UserPromptSubmit adds context and may refuse', async (t) => {
    await t.model(`
        step
          if-prompt "hello there"
          if-prompt "The user is called Ann."
          text Hello, Ann.
    `);
    const prompts = [];
    const got = await t.ask('hello there', {
        hooks: {
            UserPromptSubmit: hook(async (input) => {
                prompts.push(input.prompt);
                return {
                    hookSpecificOutput: {
                        hookEventName: 'UserPromptSubmit',
                        additionalContext: 'The user is called Ann.',
                    },
                };
            }),
        },
    });
    assert.equal(got.result.result, 'Hello, Ann.');
    assert.deepEqual(prompts, ['hello there']);

    const refused = await t.ask('something rude', {
        hooks: { UserPromptSubmit: hook(async () => ({ decision: 'block', reason: 'Mind your words.' })) },
    });
    assert.equal(t.requests().length, 1, 'the model never hears of it');
    assert.ok(refused.result, 'and the client is not left waiting');
    assert.match(JSON.stringify(refused.messages), /Mind your words/);
});

test('Stop blocks once', async (t) => {
    await t.model(`
        step
          text I am done.
        step
          if-prompt "You forgot the tests."
          text Now I am.
    `);
    const seen = [];
    const got = await t.ask('go', {
        hooks: {
            Stop: hook(async (input) => {
                seen.push(input);
                return input.stop_hook_active ? {} : { decision: 'block', reason: 'You forgot the tests.' };
            }),
        },
    });
    assert.equal(got.result.result, 'Now I am.');
    assert.deepEqual(seen.map((s) => s.stop_hook_active), [false, true]);
    assert.deepEqual(seen.map((s) => s.last_assistant_message), ['I am done.', 'Now I am.']);
    assert.equal(got.results.length, 1);
});

test('a hook ends the turn', async (t) => {
    await t.model(`
        step
          call Glob {"pattern": "*.c"}
        step
          text never
    `, { left: true });
    const got = await t.ask('go', {
        hooks: { PostToolUse: hook(async () => ({ continue: false, stopReason: 'Enough for today.' })) },
    });
    assert.equal(t.requests().length, 1);
    assert.equal(got.result.terminal_reason, 'hook_stopped');
    assert.match(JSON.stringify(got.messages), /Enough for today/);
});

test('SessionStart adds context', async (t) => {
    await t.model(`
        step
          if-prompt "It is Tuesday."
          text ok
    `);
    const seen = [];
    const got = await t.ask('go', {
        hooks: {
            SessionStart: hook(async (input) => {
                seen.push([input.hook_event_name, input.source]);
                return { hookSpecificOutput: { hookEventName: 'SessionStart', additionalContext: 'It is Tuesday.' } };
            }),
        },
    });
    assert.equal(got.result.result, 'ok');
    assert.deepEqual(seen, [['SessionStart', 'startup']]);
});

test('PreToolUse defers a call that is alone', async (t) => {
    const id = '6f1b2c3d-0a1b-4c2d-8e3f-4050607080b0';
    await t.model(`
        step
          call Bash {"command": "echo hi > made.txt"}
        step
          if-prompt "go on"
          call Bash {"command": "echo one > one.txt"}
          call Bash {"command": "echo two > two.txt"}
        step
          text Both were asked for.
    `);
    const defer = hook(async () => ({ hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'defer' } }));
    const got = await t.ask('go', { ...all, sessionId: id, hooks: { PreToolUse: defer } });
    assert.equal(got.result.subtype, 'success');
    assert.equal(got.result.is_error, false);
    assert.equal(got.result.stop_reason, 'tool_deferred');
    assert.equal(got.result.terminal_reason, 'tool_deferred');
    const call = got.of('assistant')[0].message.content[0];
    assert.deepEqual(got.result.deferred_tool_use, { id: call.id, name: 'Bash', input: { command: 'echo hi > made.txt' } });
    assert.deepEqual(got.tool_results, []);
    assert.ok(!existsSync(join(t.dir, 'made.txt')));
    assert.equal(t.requests().length, 1);

    // Whoever resumes the session takes it up, and may put it off again.
    const again = await t.ask('not yet', { ...all, resume: id, hooks: { PreToolUse: defer } });
    assert.equal(again.result.terminal_reason, 'tool_deferred');
    assert.equal(again.result.deferred_tool_use.id, call.id);
    assert.equal(t.requests().length, 1);

    // One of several cannot be put off: it is asked for.
    let asked = 0;
    let calls = 0;
    const next = await t.ask('go on', {
        resume: id,
        canUseTool: async (_, input) => (asked++, { behavior: 'allow', updatedInput: input }),
        hooks: {
            PreToolUse: hook(async () => ({
                hookSpecificOutput: {
                    hookEventName: 'PreToolUse',
                    permissionDecision: calls++ === 0 ? 'allow' : 'defer',
                },
            })),
        },
    });
    assert.equal(next.tool_results[0].tool_use_id, call.id);
    assert.ok(existsSync(join(t.dir, 'made.txt')));
    assert.equal(next.result.result, 'Both were asked for.');
    assert.equal(asked, 2);
    assert.ok(existsSync(join(t.dir, 'two.txt')));
});

test('SessionEnd is heard by a client that is still there, and holds up none that is not', async (t) => {
    await t.model('step\n text ok\nstep\n text ok\n');
    const seen = [];
    const hooks = { SessionEnd: hook(async (input) => (seen.push([input.hook_event_name, input.reason]), {})) };
    const from = Date.now();
    const got = await t.ask('go', { hooks });
    assert.equal(got.result.result, 'ok');
    assert.ok(seen.length <= 1);
    for (const [name, reason] of seen) assert.deepEqual([name, reason], ['SessionEnd', 'other']);
    assert.equal((await t.ask('go', { hooks: { SessionEnd: hook(() => new Promise(() => {})) } })).result.result, 'ok');
    assert.ok(Date.now() - from < 30_000);
});

test('several hooks: the strictest counts', async (t) => {
    await t.model(`
        step
          call Bash {"command": "echo hi > made.txt"}
        step
          text ok
    `);
    const say = (permissionDecision) => async () => ({
        hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision, permissionDecisionReason: permissionDecision },
    });
    const got = await t.ask('go', {
        hooks: { PreToolUse: [{ hooks: [say('allow'), say('deny')] }, { matcher: 'Edit', hooks: [say('allow')] }] },
    });
    assert.equal(text_of(got.tool_results[0].content).includes('deny'), true);
    assert.ok(!existsSync(join(t.dir, 'made.txt')));
});

test('hook events are shown when they are asked for', async (t) => {
    await t.model(`
        step
          call Glob {"pattern": "*.c"}
        step
          text ok
    `);
    const got = await t.ask('go', {
        includeHookEvents: true,
        hooks: { PreToolUse: hook(async () => ({})) },
    });
    const [started] = got.of('system/hook_started');
    const [done] = got.of('system/hook_response');
    assert.equal(started.hook_name, 'PreToolUse:Glob');
    assert.equal(started.hook_event, 'PreToolUse');
    assert.equal(done.hook_id, started.hook_id);
    assert.equal(done.outcome, 'success');
});

test('a turn begins behind the hooks of its prompt', async (t) => {
    await t.model('step\n text ok\n');
    const order = [];
    const got = await t.all(
        t.query('go', {
            includeHookEvents: true,
            hooks: {
                SessionStart: hook(async () => (order.push('SessionStart'), {})),
                UserPromptSubmit: hook(async () => (order.push('UserPromptSubmit'), {})),
            },
        }),
        (m) => order.push(m.subtype === 'init' ? 'init' : m.type),
    );
    assert.equal(got.thrown, undefined);
    const at = (what) => order.indexOf(what);
    assert.ok(at('SessionStart') < at('UserPromptSubmit') && at('UserPromptSubmit') < at('init'), order.join(' '));
    assert.ok(at('init') < at('assistant'), order.join(' '));
    assert.equal(order.filter((x) => x === 'init').length, 1);
});

test('PermissionRequest answers in the place of a person', async (t) => {
    await t.model(`
        step
          call Bash {"command": "echo one > one.txt"}
        step
          call Bash {"command": "echo two > two.txt"}
        step
          if-result "Once is enough."
          text ok
    `);
    let asked = 0;
    const got = await t.ask('go', {
        canUseTool: async () => assert.fail('the hook has answered'),
        hooks: {
            PermissionRequest: hook(async (input) => ({
                hookSpecificOutput: {
                    hookEventName: 'PermissionRequest',
                    decision: asked++ ? { behavior: 'deny', message: 'Once is enough.' }
                        : { behavior: 'allow', updatedInput: { ...input.tool_input, command: 'echo 1 > one.txt' } },
                },
            })),
        },
    });
    assert.equal(got.result.result, 'ok');
    assert.equal(t.read('one.txt'), '1\n');
    assert.ok(!existsSync(join(t.dir, 'two.txt')));
});

test('an interrupt is heard by a hook', async (t) => {
    await t.model(`
        step
          call Bash {"command": "echo hi > made.txt"}
        step
          text never
    `, { left: true });
    let aborted = false;
    let interrupted;
    const q = t.query('go', {
        ...all,
        hooks: {
            PreToolUse: hook((_, __, { signal }) => new Promise((answer) => {
                signal.addEventListener('abort', () => {
                    aborted = true;
                    answer({});
                });
                interrupted = q.interrupt();
            })),
        },
    });
    const got = await t.all(q);
    await interrupted;
    assert.equal(got.result.terminal_reason, 'aborted_tools');
    assert.ok(aborted);
    assert.ok(!existsSync(join(t.dir, 'made.txt')));
});
