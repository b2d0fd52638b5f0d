// Programs that others have written, run with tenax: node programs.mjs BUILD INSTALLED [WORD…].
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { run_cases, test } from './harness.mjs';

const [build, installed] = process.argv.slice(2, 4).map((p) => resolve(p));
const tenax = join(build, 'src/tenax');
const bin = (name) => join(installed, 'node_modules/.bin', name);
const load = (name) => import(pathToFileURL(createRequire(join(installed, 'node_modules', 'x')).resolve(name)).href);
const ID = '6f1b2c3d-0a1b-4c2d-8e3f-405060708091';
const ok = 'step\n sticky\n text All is well.\n';

test('ccusage counts the tokens of a session', async (t) => {
    await t.model('step\n usage input=1000 output=7\n text ok\n');
    await t.tenax(['-p', 'go', '--model', 'claude-sonnet-4-5']);
    const out = JSON.parse(await t.run(bin('ccusage'), ['daily', '--json', '--offline'], { CLAUDE_CONFIG_DIR: join(t.home, '.tenax') }));
    assert.equal(out.totals.inputTokens, 1000);
    assert.equal(out.totals.outputTokens, 7);
});

test('an editor adapter opens a session and sends a prompt', async (t) => {
    await t.model(ok);
    const adapter = spawn(bin('claude-code-acp'), [], { cwd: t.dir, env: { ...t.env(), CLAUDE_CODE_EXECUTABLE: tenax }, stdio: ['pipe', 'pipe', 'pipe'] });
    let said = '';
    adapter.stderr.on('data', (d) => (said += d));
    const answers = new Map();
    let heard = '';
    createInterface(adapter.stdout).on('line', (line) => {
        const m = JSON.parse(line);
        if (m.method === 'session/update' && m.params.update.sessionUpdate === 'agent_message_chunk') heard += m.params.update.content.text;
        answers.get(m.id)?.(m);
    });
    let id = 0;
    const ask = (method, params) => new Promise((done, no) => {
        answers.set(++id, (m) => (m.error ? no(new Error(`${method}: ${JSON.stringify(m.error)} ${said}`)) : done(m.result)));
        adapter.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
    try {
        await ask('initialize', { protocolVersion: 1, clientCapabilities: {} });
        const { sessionId, models } = await ask('session/new', { cwd: t.dir, mcpServers: [] });
        assert.equal(models.currentModelId, 'default');
        const end = await ask('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'hello' }] });
        assert.equal(end.stopReason, 'end_turn');
        assert.match(heard, /All is well\./);
    } finally {
        adapter.kill('SIGTERM');
    }
});

test('the AI SDK generates text and resumes its session', async (t) => {
    await t.model('step\n if-prompt "one"\n text First.\nstep\n sticky\n text Second.\n');
    const { createClaudeCode } = await load('ai-sdk-provider-claude-code');
    const { generateText } = await load('ai');
    const options = { pathToClaudeCodeExecutable: tenax, cwd: t.dir, env: t.env() };
    const provider = createClaudeCode({ defaultSettings: options });
    const first = await generateText({ model: provider('sonnet'), prompt: 'one' });
    assert.equal(first.text, 'First.');
    const { sessionId } = first.providerMetadata['claude-code'];
    const second = await generateText({ model: provider('sonnet', { ...options, resume: sessionId }), prompt: 'two' });
    assert.equal(second.text, 'Second.');
    assert.match(JSON.stringify(t.requests().at(-1).messages), /First\./);
});

// What the Messages API takes, by type of block.
const FIELDS = {
    text: 'type text citations cache_control', thinking: 'type thinking signature', redacted_thinking: 'type data',
    tool_use: 'type id name input caller cache_control', tool_result: 'type tool_use_id content is_error cache_control',
    image: 'type source cache_control', document: 'type source title context citations cache_control',
};
function check_fields(messages, strict) {
    for (const m of messages) {
        if (strict) assert.deepEqual(Object.keys(m).filter((k) => !['role', 'content'].includes(k)), []);
        for (const b of Array.isArray(m.content) ? m.content : []) {
            assert.ok(FIELDS[b.type], b.type);
            assert.deepEqual(Object.keys(b).filter((k) => !FIELDS[b.type].split(' ').includes(k)), [], JSON.stringify(b));
        }
    }
}

test('messages of a transcript have no field that the API refuses', async (t) => {
    t.file('a.txt', 'alpha\n');
    await t.model('step\n think Hm.\n text Looking.\n call Read {"file_path": "a.txt"}\nstep\n text Seen.\n');
    await t.tenax(['-p', 'look', '--session-id', ID]);
    const projects = join(t.home, '.tenax/projects');
    const path = readdirSync(projects, { recursive: true }).find((f) => f.endsWith(`${ID}.jsonl`));
    const lines = readFileSync(join(projects, path), 'utf8').split('\n').filter(Boolean).map((l) => JSON.parse(l));
    check_fields(lines.filter((l) => l.message).map((l) => l.message), false);
    assert.ok(lines.filter((l) => l.message).length >= 4);
});

if (spawnSync(bin('claude'), ['--version']).status === 0)
    test('Claude Code resumes a session of ours, and its request has no unknown field', async (t) => {
        t.file('a.txt', 'alpha\n');
        await t.model('step\n if-prompt "look"\n think Hm.\n text Looking.\n call Read {"file_path": "a.txt"}\nstep\n if-result "alpha"\n text Seen.\nstep\n sticky\n text Again.\n', { left: true });
        await t.tenax(['-p', 'look', '--session-id', ID]);
        const out = await t.run(bin('claude'), ['-p', 'and now', '--resume', ID, '--model', 'claude-sonnet-4-5'],
            { CLAUDE_CONFIG_DIR: join(t.home, '.tenax'), DISABLE_TELEMETRY: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' });
        assert.match(out, /Again\./);
        const last = t.requests().filter((r) => /and now/.test(JSON.stringify(r.messages))).at(-1);
        assert.match(JSON.stringify(last.messages), /Looking\./);
        check_fields(last.messages, true);
        t.unplayed_is_fine = true;
    });

if (spawnSync(bin('claude'), ['--version']).status === 0)
    test('tenax and Claude Code take turns in one session', async (t) => {
        t.file('a.txt', 'alpha\n');
        t.file('i.png', Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64'));
        t.file('../home/.tenax/settings.json', JSON.stringify({ hooks: { PostToolUse: [{ hooks: [{ type: 'command', command: `echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"mind the gap"}}'` }] }] } }));
        await t.model(`step
 if-system "You are the scout."
 text Scouted.
step
 if-prompt "first"
 if-system "tenax"
 think Hm.
 text Looking.
 call Read {"file_path": "a.txt"}
 call Read {"file_path": "i.png"}
 call Bash {"command": "cat a.txt; touch refused", "description": "Look"}
step
 if-prompt "first"
 call TodoWrite {"todos": [{"content": "c", "status": "pending", "activeForm": "cc"}]}
 call Edit {"file_path": "a.txt", "old_string": "alpha", "new_string": "beta"}
 call Agent {"description": "s", "prompt": "look", "subagent_type": "scout"}
 call Nope {"x": 1}
step
 if-prompt "first"
 text First done.
step
 if-prompt "Write that summary"
 text <summary>They looked at a text.</summary>
step
 sticky
 text Again.
`, { left: true });
        const model = ['--model', 'claude-sonnet-4-5'];
        const env = { CLAUDE_CONFIG_DIR: join(t.home, '.tenax'), DISABLE_TELEMETRY: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' };
        const asked = (words) => t.requests().filter((r) => JSON.stringify(r.messages).includes(words)).at(-1);
        await t.tenax(['-p', 'first', '--session-id', ID, ...model, '--permission-mode', 'acceptEdits', '--agents', '{"scout":{"description":"d","prompt":"You are the scout."}}']);
        const turn = async (program, words) => {
            assert.match(await t.run(program, ['-p', words, '--resume', ID, ...model], env), /Again\./);
            const request = asked(words);
            check_fields(request.messages, true);
            return JSON.stringify(request.messages);
        };
        assert.match(await turn(bin('claude'), 'turn two'), /alpha.*mind the gap.*First done\./);
        await t.tenax(['-p', '/compact', '--resume', ID, ...model]);
        assert.match(await turn(tenax, 'turn three'), /They looked at a text\..*turn two/);
        assert.match(await turn(bin('claude'), 'turn four'), /They looked at a text\..*turn two.*turn three/);
        assert.match(await turn(tenax, 'turn five'), /They looked at a text\..*turn two.*turn three.*turn four/);
        t.check_history = () => {}; // Claude Code's requests are its own affair
    });

// A program that a hook, a router or another tool starts as "claude".
function as_claude(t) {
    const dir = join(t.root, 'bin');
    mkdirSync(dir, { recursive: true });
    symlinkSync(tenax, join(dir, 'claude'));
    return { PATH: `${dir}:${process.env.PATH}` };
}
async function until(what, found) {
    for (let i = 0; !found(); i++) {
        assert.ok(i < 500, `${what}: not after 50 s`);
        await new Promise((r) => setTimeout(r, 100));
    }
}
const has = (path, pattern) => existsSync(path) && pattern.test(readFileSync(path, 'utf8'));

test('ccstatusline shows the model and the tokens of a session in a terminal', async (t) => {
    await t.model('step\n sticky\n usage input=12345 output=77\n text Hello there.\n');
    t.file('../home/.tenax/settings.json', JSON.stringify({ statusLine: { type: 'command', command: `${bin('ccstatusline')} >${t.root}/line.new && mv ${t.root}/line.new ${t.root}/line && cat ${t.root}/line` } }));
    const child = spawn('script', ['-qec', `stty rows 24 cols 100; exec ${tenax} --trust --model claude-sonnet-4-5`, '/dev/null'], { cwd: t.dir, env: { ...t.env(), TERM: 'xterm-256color' }, stdio: ['pipe', 'pipe', 'ignore'] });
    let screen = '';
    child.stdout.on('data', (d) => (screen += d));
    const ended = once(child, 'close');
    try {
        await until('the model in the status line', () => has(join(t.root, 'line'), /claude-sonnet-4-5|Sonnet/));
        child.stdin.write('hello\r');
        await until('the tokens in the status line', () => has(join(t.root, 'line'), /12\.[34]k/));
        await until('the status line on the screen', () => /12\.[34]k/.test(screen));
        child.stdin.write('\x04');
        await Promise.race([ended, until('the end', () => child.exitCode !== null)]);
    } finally {
        child.kill('SIGKILL');
    }
});

test('claude-code-router starts tenax and answers for another provider', async (t) => {
    await t.model(ok, { left: true });
    const port = 20000 + (process.pid % 20000);
    t.file('../home/.claude-code-router/config.json', JSON.stringify({
        PORT: port, LOG: false, NON_INTERACTIVE_MODE: true,
        Providers: [{ name: 'fake', api_base_url: `${t.base}/v1/chat/completions`, api_key: 'sk-x', models: ['gpt-4o'] }],
        Router: { default: 'fake,gpt-4o' },
    }));
    const env = { CLAUDE_PATH: tenax, ANTHROPIC_BASE_URL: '', ANTHROPIC_API_KEY: '' };
    try {
        const out = await t.run(bin('ccr'), ['code', '-p', 'say hi'], env);
        assert.match(out, /All is well\./);
        assert.equal(t.requests().at(-1).model, 'gpt-4o');
    } finally {
        await t.run(bin('ccr'), ['stop'], env);
    }
    t.check_history = () => {};
});

test('tdd-guard asks tenax as its model, and its refusal stops a write', async (t) => {
    const guard = [{ matcher: 'Write|Edit|MultiEdit|TodoWrite', hooks: [{ type: 'command', command: bin('tdd-guard') }] }];
    t.file('.claude/settings.json', JSON.stringify({ hooks: { PreToolUse: guard, UserPromptSubmit: guard, SessionStart: guard } }));
    await t.model(`step
 if-prompt "make it"
 call Write {"file_path": "sum.py", "content": "def sum(a, b):\\n    return a + b\\n"}
step
 if-prompt "TDD"
 text {"decision": "block", "reason": "Write a failing test first."}
step
 if-result "failing test first"
 text Blocked.
`);
    const out = await t.run(tenax, ['-p', 'make it', '--trust', '--permission-mode', 'acceptEdits'], { ...as_claude(t), USE_SYSTEM_CLAUDE: 'true' });
    assert.match(out, /Blocked\./);
    assert.ok(!existsSync(join(t.dir, 'sum.py')));
});

const flow = join(installed, 'flow');
test('the hooks and commands of claude-flow work as they are', async (t) => {
    cpSync(join(flow, '.claude'), join(t.dir, '.claude'), { recursive: true });
    await t.model('step\n call Bash {"command": "echo fine"}\nstep\n text Done.\n');
    const out = await t.run(tenax, ['-p', 'go', '--trust', '--session-id', ID, '--allowedTools', 'Bash(echo:*)', '--output-format', 'stream-json', '--verbose', '--include-hook-events', '--model', 'claude-sonnet-4-5']);
    const lines = out.split('\n').filter(Boolean).map((l) => JSON.parse(l));
    assert.equal(lines.at(-1).result, 'Done.');
    const hooks = lines.filter((l) => l.subtype === 'hook_response');
    assert.ok(hooks.length >= 4, `${hooks.length} hooks`);
    assert.deepEqual(hooks.filter((h) => h.outcome !== 'success').map((h) => h.hook_name), []);
    assert.ok(lines.find((l) => l.subtype === 'init').slash_commands.length > 60);
});

process.exit((await run_cases(process.argv.slice(4), 2)) ? 1 : 0);
