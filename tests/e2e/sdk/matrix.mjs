// Every option and every method of the SDK, one short scene for each way it is used. The last scene reads
// the SDK's own declarations and fails when one of them has no scene here or in another file.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { build, declarations, promise, sdk, test } from './harness.mjs';

const bypass = { permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true };
const ok = 'step\n sticky\n text ok\n';
const call = (name, input, more = '') => `step\n call ${name} ${JSON.stringify(input)}\nstep\n ${more}\n text done\n`;
const covered = new Set();

// name: the option; then what is passed, what the model says, and what must have come of it.
function option(name, about, options, scenario, check = () => {}) {
    covered.add(name);
    test(`option ${name}: ${about}`, async (t) => {
        await t.model(scenario, { left: true });
        const given = typeof options === 'function' ? options(t) : options;
        const got = await t.ask('go', given);
        assert.equal(got.result?.type, 'result', t.stderr);
        await check(got, t);
    });
}

// fn gets the query, the case and the first result, and may say more by say(); the input stays open meanwhile.
// after gets all results.
function method(name, about, fn, scenario = ok, options = {}, after = () => {}) {
    covered.add(name);
    test(`method ${name}: ${about}`, async (t) => {
        await t.model(scenario, { left: true });
        let end;
        const over = new Promise((done) => (end = done));
        let more;
        const prompt = (content) => ({ type: 'user', message: { role: 'user', content }, parent_tool_use_id: null, session_id: '' });
        async function* input() {
            yield prompt('go');
            await over;
            if (more) yield prompt(more);
        }
        const q = t.query(input(), typeof options === 'function' ? options(t) : options);
        const results = [];
        for await (const m of q) {
            if (m.type !== 'result') continue;
            results.push(m);
            if (results.length === 1) await fn(q, t, m, (text) => (more = text));
            end();
        }
        assert.equal(results[0].result, 'ok');
        assert.equal(results.length, more ? 2 : 1);
        await after(t, results);
    });
}

const said = (text) => (got) => assert.equal(got.result.result, text);
const model_of = (name) => (got) => assert.equal(got.init.model, name);
const body = (check) => (got, t) => check(t.requests()[0], got);
const denied = (n) => (got) => assert.equal(got.result.permission_denials.length, n);
const refused = (name) => (got, t) => assert.match(t.stderr, new RegExp(`${name}`));

// ---- models and effort ----
for (const [alias, name] of [['sonnet', 'claude-sonnet-5'], ['opus', 'claude-opus-5-5'], ['haiku', 'claude-haiku-4-5'],
    ['default', 'claude-sonnet-5'], ['claude-sonnet-4-5', 'claude-sonnet-4-5'], ['anthropic/claude-opus-4-5', 'claude-opus-4-5']])
    option('model', alias, { model: alias }, ok, model_of(name));
for (const effort of ['low', 'medium', 'high'])
    option('effort', effort, { model: 'claude-opus-4-5', effort }, ok, body((b) => assert.equal(b.output_config.effort, effort)));
for (const effort of ['xhigh', 'max'])
    option('effort', effort, { model: 'claude-sonnet-5', effort }, ok, body((b) => assert.equal(b.output_config.effort, effort)));
option('thinking', 'adaptive', { model: 'claude-sonnet-5', thinking: { type: 'adaptive' } }, ok, body((b) => assert.equal(b.thinking.type, 'adaptive')));
option('thinking', 'disabled', { thinking: { type: 'disabled' } }, ok, body((b) => assert.ok(!b.thinking || b.thinking.type === 'disabled')));
option('thinking', 'enabled', { model: 'claude-sonnet-4-5', thinking: { type: 'enabled', budgetTokens: 2000 } }, ok,
    body((b) => assert.equal(b.thinking.budget_tokens, 2000)));
option('maxThinkingTokens', 'a budget', { model: 'claude-sonnet-4-5', maxThinkingTokens: 3000 }, ok,
    body((b) => assert.equal(b.thinking.budget_tokens, 3000)));
option('maxThinkingTokens', 'none', { maxThinkingTokens: 0 }, ok, body((b) => assert.ok(!b.thinking || b.thinking.type === 'disabled')));
option('fallbackModel', 'not needed', { model: 'sonnet', fallbackModel: 'haiku' }, ok, model_of('claude-sonnet-5'));
option('betas', 'are refused visibly', { betas: ['context-1m-2025-08-07'] }, ok, refused('betas'));
option('taskBudget', 'is refused visibly', { taskBudget: { total: 50000 } }, ok, refused('task-budget'));

// ---- limits ----
for (const n of [1, 2, 3])
    option('maxTurns', `${n}`, { maxTurns: n, ...bypass }, 'step\n sticky\n call Bash {"command": "true"}\n',
        (got, t) => { assert.equal(got.result.subtype, 'error_max_turns'); assert.equal(t.requests().length, n); });
option('maxTurns', 'enough', { maxTurns: 5 }, ok, (got, t) => { assert.equal(got.result.subtype, 'success'); assert.equal(t.requests().length, 1); });
option('maxBudgetUsd', 'enough', { maxBudgetUsd: 10 }, ok, (got) => { assert.equal(got.result.subtype, 'success'); assert.ok(got.result.total_cost_usd < 10); });
option('maxBudgetUsd', 'too little', { maxBudgetUsd: 0.0000001 }, ok, (got) => assert.equal(got.result.subtype, 'error_max_budget_usd'));

// ---- permissions ----
const echo = { command: 'touch made' };
option('permissionMode', 'default denies what asks', { permissionMode: 'default' }, call('Bash', echo), (got) => {
    assert.equal(got.result.permission_denials.length, 1);
    assert.equal(got.of('system/permission_denied').length, 1);
});
option('permissionMode', 'dontAsk denies', { permissionMode: 'dontAsk' }, call('Bash', echo), denied(1));
option('permissionMode', 'acceptEdits writes', { permissionMode: 'acceptEdits' }, call('Write', { file_path: 'a', content: 'x' }),
    (got, t) => assert.equal(t.read('a'), 'x'));
option('permissionMode', 'acceptEdits runs no other command', { permissionMode: 'acceptEdits' }, call('Bash', { command: 'curl -o x localhost:1' }), denied(1));
option('permissionMode', 'plan changes nothing', { permissionMode: 'plan' }, call('Write', { file_path: 'a', content: 'x' }),
    (got, t) => assert.ok(!existsSync(join(t.dir, 'a'))));
option('permissionMode', 'bypassPermissions runs', bypass, call('Bash', echo), (got, t) => assert.ok(existsSync(join(t.dir, 'made'))));
option('allowDangerouslySkipPermissions', 'alone changes no mode', { allowDangerouslySkipPermissions: true }, ok,
    (got) => assert.equal(got.init.permissionMode, 'default'));
option('allowedTools', 'a name', { allowedTools: ['Bash'] }, call('Bash', echo), denied(0));
option('allowedTools', 'a prefix', { allowedTools: ['Bash(touch:*)'] }, call('Bash', echo), denied(0));
option('allowedTools', 'another prefix', { allowedTools: ['Bash(ls:*)'] }, call('Bash', echo), denied(1));
option('allowedTools', 'several', { allowedTools: ['Write', 'Edit', 'Bash(touch *)'] }, call('Bash', echo), denied(0));
option('disallowedTools', 'a name is not offered', { disallowedTools: ['Bash'] }, ok, (got) => assert.ok(!got.init.tools.includes('Bash')));
option('disallowedTools', 'a rule wins over bypass', { ...bypass, disallowedTools: ['Bash(touch:*)'] }, call('Bash', echo),
    (got, t) => assert.ok(!existsSync(join(t.dir, 'made'))));
option('tools', 'a list', { tools: ['Read', 'Glob'] }, ok, (got) => assert.deepEqual(got.init.tools.filter((x) => !x.includes('goal')), ['Read', 'Glob']));
option('tools', 'none', { tools: [] }, ok, (got) => assert.deepEqual(got.init.tools.filter((x) => !x.includes('goal')), []));
option('tools', 'the preset', { tools: { type: 'preset', preset: 'claude_code' } }, ok, (got) => assert.ok(got.init.tools.includes('Bash')));
option('canUseTool', 'is asked with what is needed', (t) => ({ canUseTool: async (name, input, more) => {
    t.asked = { name, input, more };
    return { behavior: 'allow', updatedInput: input };
} }), call('Bash', echo), (got, t) => {
    assert.equal(t.asked.name, 'Bash');
    assert.equal(t.asked.input.command, 'touch made');
    assert.ok(t.asked.more.toolUseID && t.asked.more.signal);
});
option('canUseTool', 'a denial has its message', { canUseTool: async () => ({ behavior: 'deny', message: 'not today' }) }, call('Bash', echo, 'if-result "not today"'), (got) => {
    assert.equal(got.result.result, 'done');
    assert.equal(got.of('system/permission_denied').length, 0); // it was asked
    assert.equal(got.of('user')[0].tool_result_meta[0].permission_decision.source, 'user_reject');
});
option('permissionPrompts', 'none asks nobody', { permissionPrompts: 'none', canUseTool: async () => assert.fail('it was asked') }, call('Bash', echo), denied(1));
option('permissionPrompts', 'host asks the client', { permissionPrompts: 'host', canUseTool: async (name, input) => ({ behavior: 'allow', updatedInput: input }) }, call('Bash', echo), denied(0));
const judge = () => ({ mcpServers: { judge: { command: join(build, 'tests/fake/fake-mcp'), args: ['permits'] } } });
option('permissionPromptToolName', 'a tool of a server allows', () => ({ permissionPromptToolName: 'mcp__judge__decide', ...judge() }),
    call('Bash', { command: 'touch yes' }, 'if-result "changed"'), (got) => { said('done')(got); denied(0)(got); });
option('permissionPromptToolName', 'a tool of a server denies', () => ({ permissionPromptToolName: 'mcp__judge__decide', ...judge() }),
    call('Bash', { command: 'touch no' }, 'if-result "not on a Friday"'), (got) => { said('done')(got); denied(1)(got); });
option('permissionPromptToolName', 'a tool that is not there denies', { permissionPromptToolName: 'mcp__a__b' },
    call('Bash', { command: 'touch yes' }, 'if-result "Tool permission request failed: mcp__a__b"'), (got) => { said('done')(got); denied(1)(got); });

// ---- settings ----
option('settings', 'an object', { settings: { model: 'opus' } }, ok, model_of('claude-opus-5-5'));
option('settings', 'a file', (t) => ({ settings: t.file('s.json', '{"model":"haiku"}') }), ok, model_of('claude-haiku-4-5'));
option('settings', 'rules', { settings: { permissions: { allow: ['Bash(touch:*)'] } } }, call('Bash', echo), denied(0));
option('settings', 'a hook', (t) => ({ settings: { hooks: { PreToolUse: [{ matcher: 'Bash', hooks: [{ type: 'command', command: 'echo no >&2; exit 2' }] }] } }, ...bypass }),
    call('Bash', echo), (got, t) => assert.ok(!existsSync(join(t.dir, 'made'))));
for (const [sources, seen] of [[['project'], true], [['project', 'local', 'user'], true], [['local'], false], [[], false], [['user'], false]])
    option('settingSources', JSON.stringify(sources), (t) => {
        t.file('.claude/settings.json', '{"model":"haiku"}');
        return { settingSources: sources };
    }, ok, model_of(seen ? 'claude-haiku-4-5' : 'claude-sonnet-5'));
option('settingSources', 'left out reads all', (t) => { t.file('.claude/settings.json', '{"model":"haiku"}'); return {}; }, ok, model_of('claude-haiku-4-5'));
option('managedSettings', 'a denial holds in every mode', { ...bypass, managedSettings: { permissions: { deny: ['Bash(touch:*)'] } } }, call('Bash', echo),
    (got, t) => assert.ok(!existsSync(join(t.dir, 'made'))));
option('managedSettings', 'permits nothing', { managedSettings: { permissions: { allow: ['Bash'] } } }, call('Bash', echo), denied(1));
option('managedSettings', 'a tool by its name is not offered', { managedSettings: { permissions: { deny: ['WebFetch'] } } }, ok,
    (got) => assert.ok(!got.init.tools.includes('WebFetch')));
option('managedSettings', 'forbids bypass', { ...bypass, managedSettings: { permissions: { disableBypassPermissionsMode: 'disable' } } }, call('Bash', echo),
    (got, t) => assert.ok(!existsSync(join(t.dir, 'made'))));
option('projectConfigRoot', 'is refused visibly', (t) => ({ projectConfigRoot: t.dir }), ok, refused('project-config-root'));

// ---- sessions ----
const ID = '6f1b2c3d-0a1b-4c2d-8e3f-405060708090';
option('sessionId', 'is kept', { sessionId: ID }, ok, (got) => assert.equal(got.init.session_id, ID));
option('persistSession', 'false leaves no transcript', { persistSession: false }, ok, (got, t) => {
    const projects = join(t.home, '.tenax/projects');
    assert.ok(!existsSync(projects) || !readdirSync(projects, { recursive: true }).some((f) => f.endsWith('.jsonl')));
});
option('title', 'is what lists show', { title: 'A fine title' }, ok, async (got, t) => assert.match(await t.tenax(['sessions', 'list']), /A fine title/));
for (const name of ['resume', 'continue', 'forkSession', 'resumeSessionAt', 'resumeDropsTurn']) covered.add(name);
const again = (about, options, check) => test(`option resume: ${about}`, async (t) => {
    await t.model('step\n if-prompt "one"\n text first\nstep\n if-prompt "two"\n text second\nstep\n sticky\n text third\n', { left: true });
    const one = await t.ask('one', { sessionId: ID });
    const two = await t.ask('two', { resume: ID });
    const got = await t.all(t.query('three', options(one, two)));
    await check(got, t, t.requests().at(-1));
});
const has = (request, text) => JSON.stringify(request.messages).includes(text);
again('by its id', () => ({ resume: ID }), (got, t, last) => { assert.equal(got.init.session_id, ID); assert.ok(has(last, 'second')); });
again('continue takes the same session', () => ({ continue: true }), (got) => assert.equal(got.init.session_id, ID));
again('forkSession has another id', () => ({ resume: ID, forkSession: true }), (got, t, last) => {
    assert.notEqual(got.init.session_id, ID);
    assert.ok(has(last, 'second'));
});
again('forkSession with a sessionId', () => ({ resume: ID, forkSession: true, sessionId: ID.replace('6f', '7f') }), (got) => assert.equal(got.init.session_id, ID.replace('6f', '7f')));
again('continue and forkSession', () => ({ continue: true, forkSession: true }), (got) => assert.notEqual(got.init.session_id, ID));
again('resumeSessionAt leaves out what follows', (one) => ({ resume: ID, resumeSessionAt: one.of('assistant')[0].uuid }), (got, t, last) => {
    assert.ok(has(last, 'first'));
    assert.ok(!has(last, 'second'));
});
again('resumeDropsTurn refuses another turn', (one) => ({ resume: ID, resumeSessionAt: one.of('assistant')[0].uuid, resumeDropsTurn: ID }), (got) => {
    assert.equal(got.result.subtype, 'error_during_execution');
    assert.match(got.result.errors[0], /^Resume rejected by --resume-drops-turn:/);
});
test('option resume: a session that is not there ends with a result', async (t) => {
    await t.model(ok, { left: true });
    const got = await t.all(t.query('go', { resume: ID }));
    assert.equal(got.result.subtype, 'error_during_execution');
    assert.match(got.result.errors[0], /no session/);
});
option('enableFileCheckpointing', 'keeps files before they change', { enableFileCheckpointing: true, ...bypass }, call('Write', { file_path: 'b', content: 'x' }), (got, t) => {
    const projects = join(t.home, '.tenax/projects');
    const file = readdirSync(projects, { recursive: true }).find((f) => f.endsWith('.jsonl'));
    assert.match(readFileSync(join(projects, file), 'utf8'), /"type":"file-history-snapshot"/);
});

// ---- prompts ----
option('systemPrompt', 'a text', { systemPrompt: 'Be brief.' }, ok, body((b) => assert.match(JSON.stringify(b.system), /Be brief\./)));
option('systemPrompt', 'the preset', { systemPrompt: { type: 'preset', preset: 'claude_code' } }, ok, body((b) => assert.ok(JSON.stringify(b.system).length > 500)));
option('systemPrompt', 'the preset and more', { systemPrompt: { type: 'preset', preset: 'claude_code', append: 'In Latin.' } }, ok, body((b) => assert.match(JSON.stringify(b.system), /In Latin\./)));
option('systemPrompt', 'the boundary is not sent', { systemPrompt: ['Static.', sdk.SYSTEM_PROMPT_DYNAMIC_BOUNDARY ?? '__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__', 'Dynamic.'] }, ok, body((b) => {
    assert.match(JSON.stringify(b.system), /Static\..*Dynamic\./);
    assert.doesNotMatch(JSON.stringify(b), /DYNAMIC_BOUNDARY/);
}));
option('systemPrompt', 'several parts', { systemPrompt: ['One.', 'Two.'] }, ok, body((b) => assert.match(JSON.stringify(b.system), /One\..*Two\./)));
option('outputFormat', 'the result is the JSON text', { outputFormat: { type: 'json_schema', schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } } },
    'step\n call StructuredOutput {"n": 3}\n', (got) => {
        assert.deepEqual(got.result.structured_output, { n: 3 });
        assert.deepEqual(JSON.parse(got.result.result), { n: 3 });
    });
option('planModeInstructions', 'say how to plan', { permissionMode: 'plan', planModeInstructions: '1. Ask the oracle.' }, ok, body((b) => {
    assert.match(JSON.stringify(b.messages), /Plan mode is on\..*1\. Ask the oracle\..*ExitPlanMode/);
}));
option('toolAliases', 'lead to another tool', { ...bypass, toolAliases: { Shell: 'Bash' } }, call('Shell', echo), (got, t) => assert.ok(existsSync(join(t.dir, 'made'))));
option('toolAliases', 'are permitted as what they stand for', { disallowedTools: ['Bash(touch:*)'], ...bypass, toolAliases: { Shell: 'Bash' } }, call('Shell', echo),
    (got, t) => assert.ok(!existsSync(join(t.dir, 'made'))));
const oracle = { oracle: { description: 'Knows it all', prompt: 'You are the oracle.' } };
option('agents', 'can be started', { agents: oracle }, ok, (got, t) => {
    assert.ok(got.init.agents.includes('oracle'));
    assert.match(JSON.stringify(t.requests()[0]), /Knows it all/);
});
const ask_oracle = 'step\n if-system "You are the oracle."\n text It will rain.\nstep\n call Agent {"description": "ask", "prompt": "tell me", "subagent_type": "oracle", "run_in_background": false}\nstep\n if-result "It will rain."\n text done\n';
option('agents', 'work on their own prompt', { agents: oracle, ...bypass }, ask_oracle, said('done'));
option('agent', 'is what the session is', (t) => {
    t.file('.claude/agents/oracle.md', '---\nname: oracle\ndescription: Knows it all\nmodel: haiku\ntools: Read\n---\nYou are the oracle.\n');
    return { agent: 'oracle' };
}, ok, (got) => { assert.equal(got.init.model, 'claude-haiku-4-5'); assert.ok(!got.init.tools.includes('Bash')); });
option('agent', 'may be one that the client brings', { agent: 'scout', agents: { scout: { description: 'Scouts', prompt: 'You are the scout.', tools: ['Read'], model: 'haiku' } } },
    'step\n if-system "You are the scout."\n text I am.\n', (got, t) => {
        assert.equal(got.result.result, 'I am.');
        assert.equal(got.init.model, 'claude-haiku-4-5');
        assert.equal(t.requests()[0].model, 'claude-haiku-4-5');
        assert.deepEqual(got.init.tools.filter((x) => !x.includes('goal')), ['Read']);
    });
test('option agents: those of the client are still there after /clear', async (t) => {
    await t.model('step\n sticky\n if-system "You are the scout."\n text I am.\n');
    const over = promise();
    const prompt = (content) => ({ type: 'user', message: { role: 'user', content }, parent_tool_use_id: null, session_id: '' });
    async function* input() {
        yield prompt('go');
        yield prompt('/clear');
        yield prompt('again');
        await over;
    }
    const said = [];
    const got = await t.all(t.query(input(), { agent: 'scout', agents: { scout: { description: 'Scouts', prompt: 'You are the scout.' } }, toolAliases: { Shell: 'Bash' } }), (m) => {
        if (m.type === 'result' && m.result === 'I am.' && said.push(m) === 2) over.keep();
    });
    assert.equal(said.length, 2);
    assert.ok(got.of('system/init').every((m) => m.agents.includes('scout')));
    assert.equal(new Set(got.of('system/init').map((m) => m.session_id)).size, 2);
});
test('option agent: one that nobody brings ends with a result', async (t) => {
    await t.model(ok, { left: true });
    const got = await t.all(t.query('go', { agent: 'nobody' }));
    assert.equal(got.result.is_error, true);
    assert.match(JSON.stringify(got.result), /there is no agent type 'nobody'/);
});
const two_skills = (t, dir = '.claude') => ['tidy', 'wash'].forEach((name) => t.file(`${dir}/skills/${name}/SKILL.md`, `---\nname: ${name}\ndescription: How to ${name}\n---\nDo it.\n`));
option('skills', 'all', (t) => { two_skills(t); return { skills: 'all' }; }, ok, (got) => assert.ok(['tidy', 'wash'].every((name) => got.init.skills.includes(name))));
option('skills', 'some', (t) => { two_skills(t, '../home/.tenax'); return { skills: ['tidy'] }; }, call('Skill', { skill: 'wash' }, 'if-result "Unknown skill"'), (got, t) => {
    assert.equal(got.result.result, 'done');
    const told = JSON.stringify(t.requests()[0]);
    assert.match(told, /How to tidy/);
    assert.doesNotMatch(told, /How to wash/);
});
const a_plugin = (t) => {
    t.file('../p/.claude-plugin/plugin.json', '{"name": "p"}');
    t.file('../p/commands/hi.md', '---\ndescription: Say hi\n---\nSay hi to $ARGUMENTS.\n');
    t.file('../p/agents/oracle.md', '---\nname: oracle\ndescription: Knows it all\n---\nYou are the oracle.\n');
    t.file('../p/hooks/hooks.json', '{"hooks": {"PostToolUse": [{"hooks": [{"type": "command", "command": "touch ${CLAUDE_PROJECT_DIR}/hooked"}]}]}}');
    t.file('../p/.mcp.json', '{"mcpServers": {"db": {"command": "true"}}}');
    return [{ type: 'local', path: join(t.root, 'p') }];
};
for (const pluginDelivery of ['argv', 'initialize'])
    option('plugins', `by ${pluginDelivery} bring commands, agents, hooks and servers`, (t) => ({ plugins: a_plugin(t), pluginDelivery, ...bypass }),
        call('Bash', { command: 'true' }), (got, t) => {
            assert.deepEqual(got.init.plugins.map((p) => [p.name, p.path]), [['p', join(t.root, 'p')]]);
            assert.ok(got.init.slash_commands.includes('p:hi'));
            assert.ok(got.init.agents.includes('p:oracle'));
            assert.ok(got.init.mcp_servers.some((s) => /db$/.test(s.name)), JSON.stringify(got.init.mcp_servers));
            assert.ok(existsSync(join(t.dir, 'hooked')));
        });
option('pluginDelivery', 'initialize names a folder that is no plugin', (t) => ({ plugins: [{ type: 'local', path: join(t.root, 'none') }], pluginDelivery: 'initialize' }), ok,
    (got) => { assert.deepEqual(got.init.plugins, []); assert.equal(got.init.plugin_errors.length, 1); });
option('promptSuggestions', 'are refused visibly', { promptSuggestions: true }, ok, refused('promptSuggestions'));

// ---- servers ----
const has_db = (got) => assert.ok(got.init.mcp_servers.some((s) => s.name === 'db'));
option('mcpServers', 'are named at the start', { mcpServers: { db: { command: 'true' } } }, ok, has_db);
option('mcpServersDelivery', 'initialize', { mcpServers: { db: { command: 'true' } }, mcpServersDelivery: 'initialize' }, ok, has_db);
option('mcpServersDelivery', 'argv', { mcpServers: { db: { command: 'true' } }, mcpServersDelivery: 'argv' }, ok, has_db);
option('strictMcpConfig', 'leaves out servers of files', (t) => { t.file('.mcp.json', '{"mcpServers":{"filed":{"command":"true"}}}'); return { strictMcpConfig: true }; }, ok,
    (got) => assert.ok(!got.init.mcp_servers.some((s) => s.name === 'filed')));

// ---- what the client sees ----
option('includePartialMessages', 'true', { includePartialMessages: true }, ok, (got) => assert.ok(got.of('stream_event').length > 3));
option('includePartialMessages', 'false', { includePartialMessages: false }, ok, (got) => assert.equal(got.of('stream_event').length, 0));
option('includeHookEvents', 'shows hooks', { includeHookEvents: true, settings: { hooks: { Stop: [{ hooks: [{ type: 'command', command: 'true' }] }] } } }, ok,
    (got) => assert.ok(got.of('system/hook_response').length > 0));
for (const forwardSubagentText of [true, false])
    option('forwardSubagentText', `${forwardSubagentText}`, { forwardSubagentText, agents: oracle, ...bypass }, ask_oracle, (got) => {
        assert.equal(got.result.result, 'done');
        const texts = got.of('assistant').filter((m) => m.parent_tool_use_id && m.message.content[0].type === 'text');
        assert.deepEqual(texts.map((m) => m.message.content[0].text), forwardSubagentText ? ['It will rain.'] : []);
    });
option('agentProgressSummaries', 'are refused visibly', { agentProgressSummaries: true }, ok, refused('agentProgressSummaries'));
for (const perTaskStopAffordance of [true, false]) {
    covered.add('perTaskStopAffordance');
    test(`option perTaskStopAffordance: ${perTaskStopAffordance}, an interrupt ${perTaskStopAffordance ? 'leaves' : 'stops'} background agents`, async (t) => {
        await t.model('step\n if-system "You are the oracle."\n call Bash {"command": "sleep 1000"}\n' +
            'step\n if-prompt "go"\n call Agent {"description": "ask", "prompt": "tell me", "subagent_type": "oracle", "run_in_background": true}\n' +
            'step\n if-result "You will be notified"\n text Waiting,\n pause 60s\n text never\nstep\n sticky\n text ok\n', { left: true });
        const over = promise();
        async function* input() {
            yield { type: 'user', message: { role: 'user', content: 'go' }, parent_tool_use_id: null, session_id: '' };
            await over;
        }
        const q = t.query(input(), { ...bypass, agents: oracle, perTaskStopAffordance, includePartialMessages: true });
        let id;
        const got = await t.all(q, async (m) => {
            if (m.subtype === 'task_started') id = m.task_id;
            if (m.type === 'stream_event' && m.event.delta?.text) await q.interrupt();
            if (m.type === 'result' && perTaskStopAffordance) await q.stopTask(id); // which it can, as it runs
            if (m.subtype !== 'task_notification') return;
            assert.equal(m.status, 'stopped');
            over.keep();
        });
        assert.equal(got.result.terminal_reason, 'aborted_streaming');
        assert.ok(got.of('system/task_notification').length);
    });
}
for (const name of ['onUserDialog', 'supportedDialogKinds', 'toolConfig', 'onElicitation'])
    covered.add(name); // tenax has no such dialogs, previews are up to the client; forms have a scene of their own
covered.add('verbatimPrompts');
test('option verbatimPrompts: what looks like a command is a prompt', async (t) => {
    await t.model(ok, { left: true });
    const got = await t.ask('/cost', { verbatimPrompts: true });
    assert.equal(got.result.result, 'ok');
    assert.match(JSON.stringify(t.requests()[0].messages), /\/cost/);
});
for (const event of ['PreToolUse', 'PostToolUse', 'UserPromptSubmit', 'Stop', 'SessionStart'])
    option('hooks', event, (t) => ({ ...bypass, hooks: { [event]: [{ hooks: [async (input) => { t.heard = input; return {}; }] }] } }), call('Bash', { command: 'true' }),
        (got, t) => {
            assert.equal(t.heard.hook_event_name, event);
            assert.equal(t.heard.session_id, got.init.session_id);
        });
option('hooks', 'the words of an ask reach the client', (t) => ({
    hooks: { PreToolUse: [{ hooks: [async () => ({ hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'ask', permissionDecisionReason: 'look twice' } })] }] },
    canUseTool: async (name, input, more) => { t.why = more.decisionReason; return { behavior: 'allow', updatedInput: input }; },
}), call('Bash', { command: 'true' }), (got, t) => assert.equal(t.why, 'look twice'));

// ---- the process ----
option('cwd', 'is where it works', {}, ok, (got, t) => assert.equal(got.init.cwd, t.dir));
option('additionalDirectories', 'are told and can be written', (t) => { mkdirSync(join(t.root, 'more')); return { permissionMode: 'acceptEdits', additionalDirectories: [join(t.root, 'more')] }; },
    call('Write', { file_path: '../more/a', content: 'x' }), (got, t) => {
        assert.deepEqual(got.init.additional_directories, [join(t.root, 'more')]);
        assert.equal(readFileSync(join(t.root, 'more/a'), 'utf8'), 'x');
    });
option('env', 'reaches commands', { ...bypass, env: { COLOR_OF_TEST: 'blue' } }, call('Bash', { command: 'echo $COLOR_OF_TEST' }, 'if-result "blue"'), said('done'));
option('stderr', 'is heard', { extraArgs: { 'debug-to-stderr': '' } }, ok, (got, t) => assert.ok(t.stderr.length > 0));
const replays = (got) => assert.ok(got.of('user').some((m) => m.isReplay));
for (const [about, args, check] of [['an empty value', { 'replay-user-messages': '' }, replays], ['no value', { 'replay-user-messages': null }, replays],
    ['debug-to-stderr', { 'debug-to-stderr': '' }, (got, t) => assert.match(t.stderr, /agent turn 1 ended/)],
    ['disable-slash-commands', { 'disable-slash-commands': null }, (got, t) => {
        assert.equal(got.result.result, 'ok');
        assert.ok(!got.init.slash_commands.includes('own') && !got.init.skills.includes('tidy'));
    }],
    ['name', { name: 'From extra' }, async (got, t) => assert.match(await t.tenax(['sessions', 'list']), /From extra/)], ['verbose', { verbose: '' }, (got, t) => { assert.equal(got.result.result, 'ok'); assert.equal(t.stderr, ''); }]])
    option('extraArgs', about, (t) => { two_skills(t); t.file('.claude/commands/own.md', 'Do it.\n'); return { extraArgs: args }; }, ok, check);
option('debug', 'true', { debug: true }, ok, (got, t) => assert.ok(t.stderr.length > 0));
option('debugFile', 'is written', (t) => ({ debugFile: join(t.root, 'debug.log') }), ok, (got, t) => assert.ok(existsSync(join(t.root, 'debug.log'))));
option('sandbox', 'holds in bypass mode, too', { sandbox: { enabled: true, failIfUnavailable: false }, ...bypass }, call('Bash', { command: 'touch inside; touch ../outside' }), (got, t) => {
    assert.ok(existsSync(join(t.dir, 'inside')));
    assert.ok(!existsSync(join(t.root, 'outside')));
});
option('spawnClaudeCodeProcess', 'is what starts it', (t) => ({ spawnClaudeCodeProcess: (o) => {
    t.spawned = o;
    return t.spawn(o);
} }), ok, (got, t) => assert.ok(t.spawned.args.includes('--input-format')));
for (const name of ['abortController', 'executable', 'executableArgs', 'pathToClaudeCodeExecutable', 'sessionStore', 'sessionStoreFlush', 'loadTimeoutMs', 'workspaceTrust'])
    covered.add(name); // in the other files, or of the SDK's own side alone

// ---- methods ----
method('initializationResult', 'has what a client shows', async (q) => {
    const r = await q.initializationResult();
    for (const key of ['commands', 'agents', 'output_style', 'available_output_styles', 'models', 'account']) assert.ok(key in r, key);
});
method('reinitialize', 'answers again', async (q) => assert.ok((await q.reinitialize()).commands.length > 5));
method('supportedCommands', 'lists them', async (q) => assert.ok((await q.supportedCommands()).some((c) => c.name === 'compact')));
method('supportedModels', 'begins with the default and aliases', async (q) => {
    const models = await q.supportedModels();
    assert.equal(models[0].value, 'default');
    assert.equal(models[0].current, true);
    for (const alias of ['sonnet', 'opus', 'haiku']) assert.ok(models.some((m) => m.value === alias), alias);
    assert.equal(models.filter((m) => m.current).length, 1);
});
method('supportedAgents', 'names those that are there', async (q) => {
    const names = (await q.supportedAgents()).map((a) => a.name);
    for (const name of ['general-purpose', 'Explore', 'Plan']) assert.ok(names.includes(name), names.join(' '));
});
method('mcpServerStatus', 'has the server and how it is', async (q) => {
    const [db] = await q.mcpServerStatus();
    assert.equal(db.name, 'db');
    assert.ok(['pending', 'failed', 'connected'].includes(db.status), db.status);
}, ok, { mcpServers: { db: { command: 'true' } } });
method('accountInfo', 'names the key', async (q) => assert.equal((await q.accountInfo()).apiKeySource, 'ANTHROPIC_API_KEY'));
method('getContextUsage', 'counts', async (q) => assert.ok((await q.getContextUsage()).totalTokens > 0));
method('usage_EXPERIMENTAL_MAY_CHANGE_DO_NOT_RELY_ON_THIS_API_YET', 'answers', async (q) => assert.ok((await q.usage_EXPERIMENTAL_MAY_CHANGE_DO_NOT_RELY_ON_THIS_API_YET()).session));
const current = async (q) => (await q.reinitialize()).models.find((m) => m.current).resolvedModel;
method('setModel', 'by an alias', async (q) => { await q.setModel('opus'); assert.equal(await current(q), 'claude-opus-5-5'); });
method('setModel', 'back to the default', async (q) => { await q.setModel('haiku'); assert.equal(await current(q), 'claude-haiku-4-5'); await q.setModel(); assert.equal(await current(q), 'claude-sonnet-5'); });
method('setModel', 'one that is not there fails', async (q) => assert.rejects(() => q.setModel('no/such')));
for (const mode of ['default', 'acceptEdits', 'plan', 'dontAsk'])
    method('setPermissionMode', mode, async (q) => { await q.setPermissionMode(mode); assert.equal((await q.reinitialize()).current_permission_mode, mode); });
const second = (check) => (t) => check(t.requests()[1]);
method('setMaxThinkingTokens', 'a number', async (q, t, m, say) => { await q.setMaxThinkingTokens(2000); say('more'); }, ok, { model: 'claude-sonnet-4-5' },
    second((b) => assert.equal(b.thinking.budget_tokens, 2000)));
method('setMaxThinkingTokens', 'none', async (q, t, m, say) => { await q.setMaxThinkingTokens(0); say('more'); }, ok, { model: 'claude-sonnet-4-5' },
    second((b) => assert.ok(!b.thinking || b.thinking.type === 'disabled')));
method('applyFlagSettings', 'an effort', async (q, t, m, say) => {
    await q.applyFlagSettings({ effortLevel: 'low' });
    await assert.rejects(() => q.applyFlagSettings({ effortLevel: 'hihg' }));
    say('more');
}, ok, { model: 'claude-opus-4-5' }, second((b) => assert.equal(b.output_config.effort, 'low')));
method('readFile', 'a text', async (q, t) => { t.file('a.txt', 'alpha'); assert.match(JSON.stringify(await q.readFile(join(t.dir, 'a.txt'))), /alpha/); });
method('seedReadState', 'lets a file be edited that was not read', async (q, t, m, say) => {
    const at = t.file('a.txt', 'alpha');
    await q.seedReadState(at, Math.floor(statSync(at).mtimeMs));
    say('edit it');
}, 'step\n text ok\nstep\n call Edit {"file_path": "a.txt", "old_string": "alpha", "new_string": "beta"}\nstep\n text done\n', bypass, (t) => assert.equal(t.read('a.txt'), 'beta'));
method('reloadSkills', 'finds one that is new', async (q, t) => {
    t.file('.claude/skills/fresh/SKILL.md', '---\nname: fresh\ndescription: New here\n---\nDo it.\n');
    assert.match(JSON.stringify(await q.reloadSkills()), /fresh/);
    assert.ok((await q.supportedCommands()).some((c) => c.name === 'fresh'));
});
method('reloadOutputStyles', 'lists them', async (q) => assert.match(JSON.stringify(await q.reloadOutputStyles()), /Explanatory/));
method('interrupt', 'while idle changes nothing', async (q, t, m, say) => { await q.interrupt(); say('more'); }, ok, {}, (t, results) => assert.equal(results[1].result, 'ok'));
method('stopTask', 'one that is not there fails', async (q) => assert.rejects(() => q.stopTask('b00000009')));
method('backgroundTasks', 'one that does not run', async (q) => assert.equal(await q.backgroundTasks('toolu_none'), false));
covered.add('streamInput');
test('method streamInput: one more message is another turn', async (t) => {
    await t.model('step\n if-prompt "more"\n text Two.\nstep\n text One.\n');
    const talk = { over: promise() };
    async function* input() {
        yield { type: 'user', message: { role: 'user', content: 'go' }, parent_tool_use_id: null, session_id: '' };
        await talk.over;
    }
    const q = t.query(input());
    const said = [];
    for await (const m of q) {
        if (m.type !== 'result') continue;
        said.push(m.result);
        if (said.length === 2) talk.over.keep();
        else await q.streamInput((async function* () {
            yield { type: 'user', message: { role: 'user', content: 'more' }, parent_tool_use_id: null, session_id: '' };
        })());
    }
    assert.deepEqual(said, ['One.', 'Two.']);
});
method('rewindFiles', 'a message that is not there fails', async (q) => {
    const r = await q.rewindFiles(ID).catch((e) => e);
    assert.ok(r instanceof Error || r.canRewind === false, JSON.stringify(r));
});
for (const [name, args] of [['toggleMcpServer', ['nobody', true]], ['reconnectMcpServer', ['nobody']], ['readMcpResource', ['nobody', 'b']],
    ['setMcpPermissionModeOverride', ['nobody', 'default']]])
    method(name, 'is refused where there is no such server, and the session goes on',
        async (q, t, m, say) => { await assert.rejects(q[name](...args)); say('more'); }, ok, {}, (t, results) => assert.equal(results[1].result, 'ok'));
const names_of = async (q) => (await q.mcpServerStatus()).map((s) => s.name);
method('setMcpServers', 'adds and removes', async (q) => {
    const one = await q.setMcpServers({ db: { command: 'true' } });
    assert.deepEqual([one.added, one.removed], [['db'], []]);
    assert.deepEqual(await names_of(q), ['db']);
    const none = await q.setMcpServers({});
    assert.deepEqual([none.added, none.removed], [[], ['db']]);
    assert.deepEqual(await names_of(q), []);
});
const server = () => ({ mcpServers: { db: { command: join(build, 'tests/fake/fake-mcp') } } });
method('toggleMcpServer', 'off and on', async (q) => {
    await q.toggleMcpServer('db', false);
    assert.equal((await q.mcpServerStatus())[0].status, 'disabled');
    await q.toggleMcpServer('db', true);
    assert.notEqual((await q.mcpServerStatus())[0].status, 'disabled');
}, ok, server);
method('reconnectMcpServer', 'connects', async (q) => {
    await q.reconnectMcpServer('db');
    assert.equal((await q.mcpServerStatus())[0].status, 'connected');
}, ok, server);
method('reloadPlugins', 'names those there are', async (q, t) => {
    const got = await q.reloadPlugins();
    assert.deepEqual(got.plugins.map((x) => x.name), ['p']);
    assert.ok(got.commands.some((c) => c.name === 'p:hi'));
}, ok, (t) => ({ plugins: a_plugin(t) }));
method('updateSettings', 'writes a file, and counts at once', async (q, t, m, say) => {
    await q.updateSettings('localSettings', { outputStyle: 'Explanatory' });
    assert.equal(JSON.parse(t.read('.tenax/settings.local.json')).outputStyle, 'Explanatory');
    await assert.rejects(q.updateSettings('projectSettings', { outputStyle: 'Concise' }));
});
covered.add('close');
test('method close: ends a turn that runs', async (t) => {
    await t.model('step\n text Here it begins,\n pause 60s\n text and never ends.\n', { left: true });
    const q = t.query('go', { includePartialMessages: true });
    let results = 0;
    for await (const m of q) {
        if (m.type === 'stream_event' && m.event.delta?.text) q.close();
        results += m.type === 'result';
    }
    assert.equal(results, 0);
});

// ---- functions ----
test('function listSessions and its siblings read a session of ours', async (t) => {
    await t.model(ok);
    const got = await t.ask('the first words', { sessionId: ID });
    assert.equal((await t.official('listSessions', { dir: t.dir }))[0].sessionId, ID);
    assert.equal((await t.official('getSessionInfo', ID, { dir: t.dir })).sessionId, ID);
    assert.ok((await t.official('getSessionMessages', ID, { dir: t.dir })).length >= 2);
    await t.official('renameSession', ID, 'Renamed', { dir: t.dir });
    assert.match(await t.tenax(['sessions', 'list']), /Renamed/);
    await t.official('tagSession', ID, 'blue', { dir: t.dir });
    assert.ok((await t.official('forkSession', ID, { dir: t.dir })).sessionId);
    assert.equal(got.result.result, 'ok');
});

test('every option and method of the SDK has a scene', async () => {
    const { options, methods } = declarations();
    assert.ok(options.length > 50 && methods.length > 20);
    assert.deepEqual([...options, ...methods].filter((name) => !covered.has(name)), []);
});
