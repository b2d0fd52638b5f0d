// Who may do what: canUseTool, rules, modes.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test, text_of } from './harness.mjs';

test('canUseTool allows', async (t) => {
    await t.model(`
        step
          call Bash {"command": "echo one > made.txt", "description": "make it"}
        step
          text Made.
    `);
    const asked = [];
    const got = await t.ask('make it', {
        canUseTool: async (name, input, options) => {
            asked.push({ name, input, options });
            return { behavior: 'allow', updatedInput: input };
        },
    });
    assert.equal(got.result.result, 'Made.');
    assert.equal(t.read('made.txt'), 'one\n');
    assert.equal(asked.length, 1);
    assert.equal(asked[0].name, 'Bash');
    assert.deepEqual(asked[0].input, { command: 'echo one > made.txt', description: 'make it' });
    assert.equal(asked[0].options.toolUseID, got.tool_results[0].tool_use_id);
    assert.equal(asked[0].options.signal.aborted, false);
    assert.deepEqual(got.result.permission_denials, []);
});

test('canUseTool changes the input', async (t) => {
    await t.model(`
        step
          call Bash {"command": "echo wrong > made.txt"}
        step
          if-result "right"
          text Made.
    `);
    const got = await t.ask('make it', {
        canUseTool: async (_, input) => ({
            behavior: 'allow',
            updatedInput: { ...input, command: 'echo right | tee made.txt' },
        }),
    });
    assert.equal(got.result.result, 'Made.');
    assert.equal(t.read('made.txt'), 'right\n');
});

test('canUseTool denies', async (t) => {
    await t.model(`
        step
          call Write {"file_path": "no.txt", "content": "x"}
        step
          if-result "Not on a Sunday."
          text Then not.
    `);
    const got = await t.ask('write it', {
        canUseTool: async () => ({ behavior: 'deny', message: 'Not on a Sunday.' }),
    });
    assert.equal(got.result.result, 'Then not.');
    assert.equal(got.result.is_error, false);
    assert.ok(!existsSync(join(t.dir, 'no.txt')));
    assert.equal(got.tool_results[0].is_error, true);
    assert.equal(text_of(got.tool_results[0].content), 'Not on a Sunday.');
    assert.equal(got.of('user')[0].tool_use_result, 'Error: Not on a Sunday.');
    assert.equal(got.result.permission_denials.length, 1);
    const [denial] = got.result.permission_denials;
    assert.equal(denial.tool_name, 'Write');
    assert.equal(denial.tool_use_id, got.tool_results[0].tool_use_id);
    assert.equal(denial.tool_input.content, 'x');
});

test('canUseTool denies and interrupts', async (t) => {
    await t.model(`
        step
          call Write {"file_path": "no.txt", "content": "x"}
          call Write {"file_path": "neither.txt", "content": "x"}
        step
          text never
    `, { left: true });
    const got = await t.ask('write it', {
        canUseTool: async () => ({ behavior: 'deny', message: 'Stop it.', interrupt: true }),
    });
    assert.equal(got.result.subtype, 'error_during_execution');
    assert.equal(got.result.is_error, true);
    assert.equal(got.result.terminal_reason, 'aborted_tools');
    assert.equal(got.tool_results.length, 2, 'every call is answered');
    assert.equal(t.requests().length, 1);
    assert.ok(!existsSync(join(t.dir, 'neither.txt')));
});

test('canUseTool that throws is a denial', async (t) => {
    await t.model(`
        step
          call Bash {"command": "echo hi > made.txt"}
        step
          if-result "my own fault"
          text ok
    `);
    const got = await t.ask('go', {
        canUseTool: async () => {
            throw new Error('my own fault');
        },
    });
    assert.equal(got.result.result, 'ok');
    assert.ok(!existsSync(join(t.dir, 'made.txt')));
});

test('a suggestion that is accepted is not asked again', async (t) => {
    await t.model(`
        step
          call Bash {"command": "mkdir one"}
        step
          call Bash {"command": "mkdir two"}
        step
          text ok
    `);
    let asked = 0;
    const got = await t.ask('go', {
        canUseTool: async (name, input) => {
            asked++;
            return {
                behavior: 'allow',
                updatedInput: input,
                updatedPermissions: [{
                    type: 'addRules', behavior: 'allow', destination: 'session',
                    rules: [{ toolName: 'Bash', ruleContent: 'mkdir:*' }],
                }],
            };
        },
    });
    assert.equal(got.result.result, 'ok');
    assert.equal(asked, 1);
    assert.ok(existsSync(join(t.dir, 'two')));
});

test('without canUseTool what must be asked is denied', async (t) => {
    await t.model(`
        step
          call Bash {"command": "echo hi > made.txt"}
        step
          if-result "requires approval"
          text ok
    `);
    const got = await t.ask('go');
    assert.equal(got.result.result, 'ok');
    assert.equal(got.result.permission_denials.length, 1);
    assert.ok(!existsSync(join(t.dir, 'made.txt')));
});

test('allowedTools and disallowedTools', async (t) => {
    await t.model(`
        step
          call Bash {"command": "echo yes > yes.txt"}
          call Bash {"command": "rm -f yes.txt"}
          call WebFetch {"url": "http://127.0.0.1:1/", "prompt": "x"}
        step
          text ok
    `);
    let asked = 0;
    const got = await t.ask('go', {
        allowedTools: ['Bash(echo:*)'],
        disallowedTools: ['WebFetch', 'Bash(rm:*)'],
        canUseTool: async (_, input) => {
            asked++;
            return { behavior: 'allow', updatedInput: input };
        },
    });
    assert.ok(!got.init.tools.includes('WebFetch'), 'a tool that is denied as a whole is not offered');
    assert.ok(!t.requests()[0].tools.some((x) => x.name === 'WebFetch'));
    assert.equal(got.tool_results[1].is_error, true);
    assert.equal(got.tool_results[2].is_error, true);
    assert.ok(existsSync(join(t.dir, 'yes.txt')));
    assert.ok(asked <= 1, 'a redirection may be asked for, what is denied is not');
});

test('tools', async (t) => {
    await t.model('step\n text ok\n');
    const got = await t.ask('hi', { tools: ['Read', 'Grep'] });
    assert.deepEqual([...got.init.tools].sort(), ['Grep', 'Read']);
    assert.deepEqual(t.requests()[0].tools.map((x) => x.name).sort(), ['Grep', 'Read']);
});

test('acceptEdits', async (t) => {
    await t.model(`
        step
          call Write {"file_path": "new.txt", "content": "new\\n"}
          call Bash {"command": "curl http://127.0.0.1:1/"}
        step
          text ok
    `);
    const asked = [];
    const got = await t.ask('go', {
        permissionMode: 'acceptEdits',
        canUseTool: async (name) => {
            asked.push(name);
            return { behavior: 'deny', message: 'no' };
        },
    });
    assert.equal(got.init.permissionMode, 'acceptEdits');
    assert.equal(t.read('new.txt'), 'new\n');
    assert.deepEqual(asked, ['Bash']);
});

test('bypassPermissions', async (t) => {
    await t.model(`
        step
          call Bash {"command": "echo hi > made.txt"}
        step
          text ok
    `);
    const got = await t.ask('go', {
        permissionMode: 'bypassPermissions',
        allowDangerouslySkipPermissions: true,
    });
    assert.equal(got.init.permissionMode, 'bypassPermissions');
    assert.equal(t.read('made.txt'), 'hi\n');
});

test('dontAsk', async (t) => {
    await t.model(`
        step
          call Bash {"command": "echo hi > made.txt"}
        step
          text ok
    `);
    const got = await t.ask('go', {
        permissionMode: 'dontAsk',
        canUseTool: async () => assert.fail('nobody is to be asked'),
    });
    assert.equal(got.result.permission_denials.length, 1);
    assert.ok(!existsSync(join(t.dir, 'made.txt')));
});

test('plan mode', async (t) => {
    await t.model(`
        step
          call Write {"file_path": "new.txt", "content": "new"}
        step
          call ExitPlanMode {"plan": "1. Write it."}
        step
          call Write {"file_path": "new.txt", "content": "new"}
        step
          text ok
    `);
    const asked = [];
    const got = await t.ask('go', {
        permissionMode: 'plan',
        canUseTool: async (name, input) => {
            asked.push(name);
            return name === 'ExitPlanMode'
                ? { behavior: 'allow', updatedInput: input,
                    updatedPermissions: [{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }] }
                : { behavior: 'deny', message: 'not while planning' };
        },
    });
    assert.equal(got.tool_results[0].is_error, true);
    assert.ok(asked.includes('ExitPlanMode'));
    assert.equal(t.read('new.txt'), 'new');
    assert.equal(got.result.result, 'ok');
});

test('what the client is suggested can be given back', async (t) => {
    await t.model(`
        step
          call Write {"file_path": "one.txt", "content": "1"}
        step
          call Write {"file_path": "two.txt", "content": "2"}
        step
          text ok
    `);
    const asked = [];
    const got = await t.ask('go', {
        canUseTool: async (_, input, { suggestions }) => {
            asked.push(suggestions);
            return { behavior: 'allow', updatedInput: input, updatedPermissions: suggestions };
        },
    });
    assert.equal(got.result.result, 'ok');
    assert.equal(asked.length, 1, JSON.stringify(asked));
    assert.ok(asked[0].length > 0);
    assert.equal(t.read('two.txt'), '2');
});

test('AskUserQuestion is answered by canUseTool', async (t) => {
    const question = 'Which color?';
    const asks = { questions: [{ question, header: 'Color', multiSelect: false,
        options: [{ label: 'Red', description: 'warm' }, { label: 'Blue', description: 'cold' }] }] };
    await t.model(`
        step
          call AskUserQuestion ${JSON.stringify(asks)}
        step
          if-result "Blue"
          text Blue it is.
    `);
    const got = await t.ask('paint it', {
        canUseTool: async (name, input) => {
            assert.equal(name, 'AskUserQuestion');
            assert.equal(input.questions[0].question, question);
            return { behavior: 'allow', updatedInput: { ...input, answers: { [question]: 'Blue' } } };
        },
    });
    assert.equal(got.result.result, 'Blue it is.');
    assert.deepEqual(got.of('user')[0].tool_use_result.answers, { [question]: 'Blue' });
});

test('rules for tools of servers that are not there do no harm', async (t) => {
    await t.model('step\n text ok\n');
    const got = await t.ask('go', {
        allowedTools: ['mcp__clock__now', 'mcp__files', 'Task', 'Skill(x)', 'WebSearch'],
        disallowedTools: ['mcp__clock__set'],
    });
    assert.equal(got.result.result, 'ok');
});
