// Editors and clients of others drive tenax: node editors.mjs BUILD INSTALLED [WORD…].
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Editor, tenax } from './editor.mjs';
import { promise, run_cases, test } from './harness.mjs';

const installed = resolve(process.argv[3]);
const bin = (name) => join(installed, 'node_modules/.bin', name);
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const servers = [];

// An editor that has opened a session.
async function open(t, options) {
    const e = new Editor(t, options);
    await e.initialize();
    const made = await e.ask('session/new', { cwd: t.dir, mcpServers: servers });
    e.id = made.sessionId;
    e.made = made;
    return e;
}

test('acp: a session with tools, permissions, a plan, its list, its load', async (t) => {
    t.file('a.txt', 'alpha\nbeta\n');
    await t.model(`
step
 if-prompt "go"
 think Let me see.
 call Read {"file_path": "${t.dir}/a.txt"}
step
 call Edit {"file_path": "${t.dir}/a.txt", "old_string": "beta", "new_string": "gamma"}
step
 call Write {"file_path": "${t.dir}/new.txt", "content": "new\\n"}
step
 call Bash {"command": "touch by-shell"}
step
 call TodoWrite {"todos": [{"content": "Look", "status": "completed", "activeForm": "Looking"}, {"content": "Write", "status": "in_progress", "activeForm": "Writing"}]}
step
 usage input=100 output=9
 text Done with it.
`);
    const e = await open(t, { answer: (p) => (p.toolCall.kind === 'execute' ? 'reject' : 'allow') });
    assert.equal(e.made.modes.currentModeId, 'default');
    assert.deepEqual(e.made.configOptions.map((o) => o.id), ['mode', 'model', 'effort']);
    await e.seen('available_commands_update', (u) => u.availableCommands.some((c) => c.name === 'goal'));
    e.forget();

    const end = await e.prompt(e.id, 'go');
    assert.equal(end.stopReason, 'end_turn');
    assert.equal(end.usage.totalTokens >= 109, true);
    assert.equal(e.updates.at(-1).sessionUpdate, 'answer', 'nothing of a turn follows its answer');
    assert.match(e.text('agent_thought_chunk'), /Let me see\./);
    assert.match(e.text(), /Done with it\./);

    const read = e.call((c) => c.name === 'Read');
    assert.deepEqual([read.kind, read.status, read.locations[0].path], ['read', 'completed', join(t.dir, 'a.txt')]);
    const edit = e.call((c) => c.name === 'Edit');
    assert.deepEqual([edit.kind, edit.status], ['edit', 'completed']);
    assert.deepEqual(edit.content.find((c) => c.type === 'diff'),
        { type: 'diff', path: join(t.dir, 'a.txt'), oldText: 'alpha\nbeta\n', newText: 'alpha\ngamma\n' });
    const write = e.call((c) => c.name === 'Write');
    assert.equal(write.content.find((c) => c.type === 'diff').oldText, null);
    const shell = e.call((c) => c.name === 'Bash');
    assert.deepEqual([shell.kind, shell.status, shell.rawInput.command], ['execute', 'failed', 'touch by-shell']);
    assert.deepEqual(e.of('plan').at(-1).entries.map((p) => [p.content, p.status]), [['Look', 'completed'], ['Writing', 'in_progress']]);
    assert.ok(!e.of('tool_call').some((c) => c.name === 'TodoWrite'), 'a plan is no call');
    assert.equal(t.read('a.txt'), 'alpha\ngamma\n');
    assert.equal(t.read('new.txt'), 'new\n');

    // Each question had the whole call in it, which was announced before, and says what it offers.
    assert.deepEqual(e.asked.map((a) => a.toolCall.kind), ['edit', 'edit', 'execute']);
    for (const a of e.asked) {
        assert.ok(a.toolCall.title && a.toolCall.rawInput && a.toolCall.content.length >= 0);
        assert.ok(a.options.some((o) => o.kind === 'allow_once') && a.options.some((o) => o.kind === 'reject_once'));
        assert.ok(e.of('tool_call').some((c) => c.toolCallId === a.toolCall.toolCallId));
    }
    const live = e.kinds().filter((k) => /^(tool_call |plan|agent_message)/.test(k));

    // Another process loads it, and is told the same.
    await e.ask('session/close', { sessionId: e.id });
    await e.end();
    const again = new Editor(t);
    await again.initialize();
    const { sessions } = await again.ask('session/list', { cwd: t.dir });
    assert.deepEqual(sessions.map((s) => [s.sessionId, s.cwd]), [[e.id, t.dir]]);
    await again.ask('session/load', { sessionId: e.id, cwd: t.dir, mcpServers: [] });
    assert.match(again.text('user_message_chunk'), /^go$/);
    assert.match(again.text('agent_thought_chunk'), /Let me see\./);
    assert.match(again.text(), /Done with it\./);
    assert.deepEqual(again.kinds().filter((k) => /^(tool_call |plan|agent_message)/.test(k)), live);
    assert.deepEqual(again.of('tool_call').map((c) => again.call((x) => x.toolCallId === c.toolCallId).status),
        ['completed', 'completed', 'completed', 'failed']);
    assert.deepEqual(again.of('plan').at(-1).entries.map((p) => p.status), ['completed', 'in_progress']);
    await again.refused(-32600, 'session/delete', { sessionId: e.id }); // it is open
    await again.ask('session/close', { sessionId: e.id });
    await again.ask('session/delete', { sessionId: e.id });
    assert.deepEqual((await again.ask('session/list', {})).sessions, []);
    await again.end();
});

test('acp: modes, options and commands', async (t) => {
    await t.model('step\n text Yes.\n', { left: true });
    const e = await open(t);
    for (const { id } of e.made.modes.availableModes) {
        await e.ask('session/set_mode', { sessionId: e.id, modeId: id });
        if (id !== 'default') await e.seen('current_mode_update', (u) => u.currentModeId === id);
    }
    assert.ok(!e.made.modes.availableModes.some((m) => m.id === 'bypassPermissions'), 'only if allowed at the start');
    const set = async (configId, value) =>
        (await e.ask('session/set_config_option', { sessionId: e.id, configId, value })).configOptions.find((o) => o.id === configId).currentValue;
    assert.equal(await set('mode', 'plan'), 'plan');
    assert.equal(await set('effort', 'high'), 'high');
    const models = e.made.configOptions.find((o) => o.id === 'model').options.flatMap((o) => o.options ?? [o]);
    assert.equal(await set('model', models[0].value), models[0].value);
    await e.refused(-32602, 'session/set_config_option', { sessionId: e.id, configId: 'mode', value: 'nonsense' });
    await e.refused(-32602, 'session/set_config_option', { sessionId: e.id, configId: 'nonsense', value: 'x' });
    await e.refused(-32602, 'session/set_mode', { sessionId: e.id, modeId: 'bypassPermissions' });
    e.forget();
    assert.equal((await e.prompt(e.id, '/version')).stopReason, 'end_turn');
    assert.match(e.text(), /tenax \d/);
    await e.end();
});

test('acp: errors, each with its code', async (t) => {
    await t.model('step\n if-prompt "bad"\n fault status 400 "that is too odd"\n text Good.\n');
    const early = new Editor(t);
    await early.refused(-32600, 'session/new', { cwd: t.dir, mcpServers: [] });
    await early.initialize();
    await early.end();
    const e = await open(t);
    const nobody = '00000000-0000-4000-8000-000000000000';
    await e.refused(-32601, 'session/nonsense', {});
    await e.refused(-32602, 'session/new', { cwd: 'here', mcpServers: [] });
    await e.refused(-32602, 'session/new', { cwd: t.dir, mcpServers: [], additionalDirectories: ['there'] });
    for (const method of ['session/load', 'session/resume']) await e.refused(-32002, method, { sessionId: nobody, cwd: t.dir, mcpServers: [] });
    for (const method of ['session/close', 'session/delete']) await e.refused(-32002, method, { sessionId: nobody });
    await e.refused(-32002, 'session/prompt', { sessionId: nobody, prompt: [{ type: 'text', text: 'x' }] });
    await e.refused(-32602, 'session/prompt', { sessionId: e.id, prompt: [] });
    await e.refused(-32602, 'session/prompt', { sessionId: e.id, prompt: [{ type: 'audio', data: 'AA==', mimeType: 'audio/wav' }] });
    await e.refused(-32602, 'session/prompt', { sessionId: e.id, prompt: [{ type: 'image', data: '', mimeType: 'image/png' }] });
    await e.refused(-32602, 'authenticate', { methodId: 'nonsense' });
    await assert.rejects(e.prompt(e.id, 'bad'), (x) => {
        assert.equal(x.code, -32603);
        assert.match(x.message, /that is too odd/);
        assert.equal(x.data.status, 400);
        return true;
    });
    assert.equal((await e.prompt(e.id, 'good')).stopReason, 'end_turn');

    // Another process has it.
    const other = new Editor(t);
    await other.initialize();
    await assert.rejects(other.ask('session/load', { sessionId: e.id, cwd: t.dir, mcpServers: [] }),
        (x) => (assert.equal(x.code, -32600), assert.equal(x.data.pid, e.child.pid), true));
    await other.end();
    await e.end();
});

test('acp: without a key, until there is one', async (t) => {
    await t.model('step\n sticky\n text Hello.\n', { left: true });
    const e = new Editor(t, { env: { ANTHROPIC_API_KEY: undefined, ANTHROPIC_BASE_URL: undefined }, capabilities: { auth: { terminal: true } } });
    const { authMethods } = await e.initialize();
    assert.deepEqual(authMethods.map((m) => m.id), ['tenax-login', 'environment']);
    const { sessionId } = await e.ask('session/new', { cwd: t.dir, mcpServers: [] });
    assert.equal((await e.prompt(sessionId, '/version')).stopReason, 'end_turn');
    assert.match(e.text(), /tenax \d/);
    await e.refused(-32000, 'session/prompt', { sessionId, prompt: [{ type: 'text', text: 'hello' }] }); // upon which editors offer the methods
    await e.refused(-32000, 'authenticate', { methodId: 'environment' });
    t.file('../home/.tenax/settings.json', JSON.stringify({ env: { ANTHROPIC_API_KEY: t.env().ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL: t.base } }));
    await e.ask('authenticate', { methodId: 'environment' });
    assert.equal((await e.prompt(sessionId, 'hello')).stopReason, 'end_turn');
    const other = await e.ask('session/new', { cwd: t.dir, mcpServers: [] });
    assert.equal((await e.prompt(other.sessionId, 'hello')).stopReason, 'end_turn');
    await e.ask('logout', {});
    await e.end();
    t.file('../home/.tenax/settings.json', '{}'); // where the key may be, it was
});

test('acp: what a prompt may hold', async (t) => {
    t.file('with space.txt', 'The mentioned text.\n');
    await t.model('step\n text Seen.\n');
    const e = await open(t);
    await e.prompt(e.id, [
        { type: 'text', text: 'look' },
        { type: 'image', data: PIXEL, mimeType: 'image/png' },
        { type: 'resource_link', uri: `file://${t.dir}/with%20space.txt`, name: 'with space.txt' },
        { type: 'resource', resource: { uri: 'zed:///agent/selection', text: 'A selected text.' } },
    ]);
    const said = JSON.stringify(t.requests().at(-1).messages);
    assert.match(said, /"media_type":"image\/png"/);
    assert.match(said, /The mentioned text\./);
    assert.match(said, /zed:\/\/\/agent\/selection/);
    assert.match(said, /A selected text\./);
    await e.end();
});

test('acp: unsaved text is read, edited and kept; a stale buffer gives way', async (t) => {
    t.file('a.txt', 'saved\n');
    t.file('b.txt', 'one\n');
    await t.model(`
step
 if-prompt "go"
 call Read {"file_path": "${t.dir}/a.txt"}
step
 if-result "typed"
 call Edit {"file_path": "${t.dir}/a.txt", "old_string": "typed", "new_string": "edited"}
step
 call Bash {"command": "sed -i s/one/two/ b.txt"}
step
 call Read {"file_path": "${t.dir}/b.txt"}
step
 if-result "two"
 call Edit {"file_path": "${t.dir}/b.txt", "old_string": "two", "new_string": "three"}
step
 text Done.
`);
    const buffers = { [join(t.dir, 'a.txt')]: 'saved\ntyped\n', [join(t.dir, 'b.txt')]: 'one\n' };
    const e = await open(t, {
        capabilities: { fs: { readTextFile: true, writeTextFile: true } },
        answer: () => 'allow',
        files: {
            read: ({ path }) => ({ content: buffers[path] }),
            write: ({ path, content }) => {
                buffers[path] = content;
                writeFileSync(path, content);
                return {};
            },
        },
    });
    assert.equal((await e.prompt(e.id, 'go')).stopReason, 'end_turn');
    assert.equal(buffers[join(t.dir, 'a.txt')], 'saved\nedited\n');
    assert.equal(t.read('a.txt'), 'saved\nedited\n');
    assert.equal(buffers[join(t.dir, 'b.txt')], 'three\n');
    assert.equal(t.read('b.txt'), 'three\n');
    await e.end();
});

test('acp: a question with several parts is a form; without forms it is a choice', async (t) => {
    const question = '{"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": [{"label": "Red", "description": "as a rose"}, {"label": "Blue", "description": "as the sky"}]}]}';
    await t.model(`step\n if-prompt "ask"\n call AskUserQuestion ${question}\nstep\n if-result "Blue"\n text Blue it is.\nstep\n if-prompt "again"\n call AskUserQuestion ${question}\nstep\n if-result "Red"\n text Red it is.\n`);
    const forms = [];
    const e = await open(t, {
        capabilities: { elicitation: { form: {} } },
        form: (p) => (forms.push(p), { action: 'accept', content: { question_0: 'Blue' } }),
    });
    await e.prompt(e.id, 'ask');
    assert.match(e.text(), /Blue it is\./);
    assert.deepEqual(forms[0].requestedSchema.properties.question_0.oneOf.map((o) => o.const), ['Red', 'Blue']);
    await e.end();
    const plain = new Editor(t, { answer: (p) => p.options.find((o) => o.name.startsWith('Red')).optionId });
    await plain.initialize();
    await plain.ask('session/resume', { sessionId: e.id, cwd: t.dir, mcpServers: [] });
    await plain.prompt(e.id, 'again');
    assert.match(plain.text(), /Red it is\./);
    await plain.end();
});

test('acp: cancelled while it streams, works, asks and waits in line, and after a load', async (t) => {
    await t.model(`
step
 if-prompt "stream"
 chunk 4
 pace 1s
 text A text that takes its time, so that it is certain to be interrupted before it has come to its last word, which is far away from here.
step
 if-prompt "work"
 call Bash {"command": "echo begun; sleep 60"}
step
 if-prompt "ask"
 call Bash {"command": "touch never"}
step
 if-prompt "load"
 call Bash {"command": "touch nor this"}
step
 sticky
 text Fine.
`);
    const held = promise();
    const e = await open(t, { answer: (p) => (p.toolCall.rawInput.command.startsWith('touch') ? held : 'allow') });
    const cancelled = async (p) => {
        await e.cancel(e.id);
        await e.cancel(e.id);
        assert.equal((await p).stopReason, 'cancelled');
    };
    let p = e.prompt(e.id, 'stream');
    await e.seen('agent_message_chunk');
    await cancelled(p);
    p = e.prompt(e.id, 'work');
    await e.seen('tool_call_update', (u) => u.status === 'in_progress');
    await cancelled(p);
    assert.equal(e.call((c) => c.rawInput.command.startsWith('echo')).status, 'failed');
    p = e.prompt(e.id, 'ask');
    await e.until(() => e.asked.some((a) => a.toolCall.rawInput.command === 'touch never'));
    const behind = e.prompt(e.id, 'behind it');
    await cancelled(p);
    assert.equal((await behind).stopReason, 'cancelled');
    await e.seen('withdrawn');
    assert.equal((await e.prompt(e.id, 'next')).stopReason, 'end_turn');
    await e.cancel(e.id); // of nothing
    await e.end();
    assert.ok(!existsSync(join(t.dir, 'never')));

    const again = new Editor(t, { answer: () => held });
    await again.initialize();
    await again.ask('session/load', { sessionId: e.id, cwd: t.dir, mcpServers: [] });
    p = again.prompt(e.id, 'load');
    await again.until(() => again.asked.length);
    await again.cancel(e.id);
    assert.equal((await p).stopReason, 'cancelled');
    assert.equal((await again.prompt(e.id, 'next')).stopReason, 'end_turn');
    await again.end();
    held.keep('reject');
});

test('acp: prompts during a turn are answered in order', async (t) => {
    await t.model('step\n if-prompt "one"\n pause 300ms\n text First.\nstep\n if-prompt "two"\n text Second.\n');
    const e = await open(t);
    const order = [];
    await Promise.all(['one', 'two'].map(async (text) => order.push([text, (await e.prompt(e.id, text)).stopReason])));
    assert.deepEqual(order, [['one', 'end_turn'], ['two', 'end_turn']]);
    assert.deepEqual(e.updates.filter((u) => /agent_message|answer/.test(u.sessionUpdate)).map((u) => u.content?.text?.trim() ?? u.stopReason),
        ['First.', 'end_turn', 'Second.', 'end_turn']);
    await e.end();
});

test('acp: killed in the middle of a call, and loaded', async (t) => {
    await t.model('step\n if-prompt "work"\n text Before it.\n call Bash {"command": "echo begun; sleep 60"}\nstep\n sticky\n text Well again.\n');
    const e = await open(t, { answer: () => 'allow' });
    e.prompt(e.id, 'work').catch(() => {});
    await e.seen('tool_call_update', (u) => u.status === 'in_progress');
    await t.wrote('Before it.'); // a command on trial may begin before the answer is complete
    await e.kill();
    const again = new Editor(t);
    await again.initialize();
    await again.ask('session/load', { sessionId: e.id, cwd: t.dir, mcpServers: [] });
    assert.match(again.text('user_message_chunk'), /work/);
    assert.match(again.text(), /Before it\./);
    assert.equal(again.call((c) => c.name === 'Bash').status, 'failed');
    again.forget();
    assert.equal((await again.prompt(e.id, 'and now')).stopReason, 'end_turn');
    assert.match(again.text(), /Well again\./);
    await again.end();
});

test('acp: a goal is refused once, reached, and seen by the editor', async (t) => {
    await t.model('step\n if-prompt "the flag is raised"\n text It is done.\nstep\n if-prompt "Stop hook feedback"\n call Bash {"command": "touch flag"}\nstep\n text Raised.\n');
    const e = await open(t, { args: ['acp', '--permission-mode', 'bypassPermissions'] });
    const end = await e.prompt(e.id, "/goal the flag is raised --check 'test -f flag' --referee checks");
    assert.equal(end.stopReason, 'end_turn');
    const goals = e.of('session_info_update').map((u) => u._meta?.tenax?.goal).filter(Boolean);
    assert.equal(goals[0].objective, 'the flag is raised');
    assert.equal(goals[0].status, 'active');
    assert.equal(goals.at(-1).status, 'complete');
    assert.equal(goals.filter((g) => g.status === 'complete').length, 1);
    assert.match(e.text(), /test -f flag/); // why it was refused
    await e.end();
});

test('acp: a goal of the editor, paused from a terminal', async (t) => {
    await t.model('step\n if-prompt "the flag is raised"\n call Bash {"command": "echo begun; until test -e go; do sleep 0.1; done"}\nstep\n sticky\n text Not yet.\n', { left: true });
    const e = await open(t, { args: ['acp', '--permission-mode', 'bypassPermissions'] });
    const p = e.prompt(e.id, "/goal the flag is raised --check 'test -f flag' --referee checks");
    await e.seen('tool_call_update', (u) => u.status === 'in_progress');
    await t.tenax(['goal', 'pause', '--session', e.id]);
    t.file('go', ''); // the turn that runs may end
    assert.equal((await p).stopReason, 'end_turn');
    const states = e.of('session_info_update').map((u) => u._meta?.tenax?.goal?.status).filter(Boolean);
    assert.equal(states.at(-1), 'paused');
    await e.end();
});

if (Number(process.versions.node.split('.')[0]) >= 20)
    test('acpx runs a prompt with tools', async (t) => {
        await t.model(`step\n if-prompt "go"\n call Write {"file_path": "${t.dir}/out.txt", "content": "by acpx\\n"}\nstep\n text It is written.\n`);
        const out = await t.run(bin('acpx'), ['--agent', `${tenax} acp`, '--approve-all', '--cwd', t.dir, 'exec', 'go']);
        assert.match(out, /It is written\./);
        assert.equal(t.read('out.txt'), 'by acpx\n');
    });

test('codex-acp: a session with an approval, a cancel, a goal, its list and its load', async (t) => {
    // It asks for a title, too, in a thread of its own.
    await t.model(`
step
 if-prompt "Your task is to generate a very short title"
 sticky
 call StructuredOutput {"title": "A title"}
step
 if-prompt "make one"
 call Bash {"command": "echo one > out.txt"}
step
 if-result ""
 text It is there.
step
 if-prompt "make two"
 call Bash {"command": "echo two > out.txt"}
step
 if-result "two"
 text Then not.
step
 if-prompt "work long"
 call Bash {"command": "touch begun; sleep 60"}
step
 sticky
 text Fine.
`, { left: true });
    const held = promise();
    const options = {
        command: process.execPath,
        args: [join(installed, 'node_modules/@agentclientprotocol/codex-acp/dist/index.js')],
        env: { CODEX_PATH: tenax, CODEX_API_KEY: 'none', TENAX_TEST_SANDBOX: 'none' },
        answer: (p) => {
            const text = JSON.stringify(p.toolCall);
            return text.includes('sleep') ? held : p.options.find((o) => o.kind === (text.includes('one') ? 'allow_once' : 'reject_once')).optionId;
        },
    };
    const e = await open(t, options);
    assert.equal((await e.prompt(e.id, 'make one')).stopReason, 'end_turn');
    assert.match(e.text(), /It is there\./);
    assert.equal(t.read('out.txt'), 'one\n');
    assert.ok(e.of('tool_call').some((c) => c.kind === 'execute'));
    assert.equal((await e.prompt(e.id, 'make two')).stopReason, 'end_turn');
    assert.equal(t.read('out.txt'), 'one\n');
    const p = e.prompt(e.id, 'work long');
    await e.until(() => e.asked.some((a) => JSON.stringify(a.toolCall).includes('sleep')));
    await e.cancel(e.id);
    held.keep(null);
    assert.equal((await p).stopReason, 'cancelled');
    assert.equal((await e.prompt(e.id, 'next')).stopReason, 'end_turn');
    const { sessions } = await e.ask('session/list', { cwd: t.dir });
    assert.ok(sessions.some((s) => s.sessionId === e.id));
    e.child.stdin.end();
    await e.ended;
    const again = new Editor(t, options);
    await again.initialize();
    await again.ask('session/load', { sessionId: e.id, cwd: t.dir, mcpServers: [] });
    assert.match(again.text('user_message_chunk'), /make one/);
    assert.match(again.text(), /It is there\./);
    again.child.stdin.end();
    await again.ended;
});

// The AI SDK itself needs a newer node than we ask for: its model is called as the AI SDK calls it.
test('ai-sdk-provider: two turns on one thread, an approval, a schema, models', async (t) => {
    await t.model(`step\n if-prompt "one"\n text First.\nstep\n if-prompt "two"\n call Bash {"command": "touch out.txt"}\nstep\n text Second.\nstep\n if-prompt "three"\n call StructuredOutput {"is": 3}\n`);
    const { createCodexAppServer } = await import(pathToFileURL(join(installed, 'node_modules/ai-sdk-provider-codex-cli/dist/index.js')).href);
    const asked = [];
    const env = JSON.parse(JSON.stringify(t.env({ TENAX_TEST_SANDBOX: 'none' }))); // without what is undefined
    const provider = createCodexAppServer({
        defaultSettings: {
            codexPath: tenax, cwd: t.dir, env, approvalPolicy: 'untrusted', logger: false,
            serverRequests: { onCommandExecutionApproval: async (r) => (asked.push(r.params ?? r), { decision: 'accept' }) },
        },
    });
    const name = 'codex-app-server';
    const ask = (text, options, more) => provider('claude-sonnet-4-5').doGenerate({
        prompt: [{ role: 'user', content: [{ type: 'text', text }] }], providerOptions: { [name]: options }, ...more,
    });
    const text = (r) => r.content.filter((c) => c.type === 'text').map((c) => c.text).join('');
    try {
        const { models } = await provider.listModels();
        assert.equal(models.filter((m) => m.isDefault).length, 1);
        const first = await ask('one', { threadMode: 'persistent' });
        assert.equal(text(first), 'First.');
        assert.equal(first.finishReason.unified ?? first.finishReason, 'stop');
        const { threadId } = first.providerMetadata[name];
        const second = await ask('two', { threadId });
        assert.match(text(second), /Second\./);
        assert.match(JSON.stringify(t.requests().at(-1).messages), /First\./);
        assert.equal(asked.length, 1);
        assert.equal(t.read('out.txt'), '');
        const schema = { type: 'object', properties: { is: { type: 'integer' } }, required: ['is'], additionalProperties: false };
        const third = await ask('three', { threadId }, { responseFormat: { type: 'json', schema } });
        assert.deepEqual(JSON.parse(text(third)), { is: 3 });
    } finally {
        await provider.close();
    }
});

process.exit((await run_cases(process.argv.slice(4), 3)) ? 1 : 0);
