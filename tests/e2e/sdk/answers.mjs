// What the client of a session sees: messages, their order and content; errors; limits.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kind, test, text_of } from './harness.mjs';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

test('plain query', async (t) => {
    await t.model(`
        step
          usage input=1000 output=7 cache_read=200
          text Hello, world.
    `);
    const got = await t.ask('say hello', { model: 'claude-sonnet-4-5' });
    assert.deepEqual(got.kinds, ['system/init', 'assistant', 'result/success']);

    const [init, answer, result] = got.messages;
    assert.equal(init.cwd, t.dir);
    assert.equal(init.model, 'claude-sonnet-4-5');
    assert.equal(init.permissionMode, 'default');
    assert.equal(init.apiKeySource, 'ANTHROPIC_API_KEY');
    for (const tool of ['Bash', 'Read', 'Write', 'Edit', 'Glob', 'Grep', 'TodoWrite', 'WebFetch'])
        assert.ok(init.tools.includes(tool), tool);
    assert.deepEqual(init.mcp_servers, []);

    assert.equal(answer.parent_tool_use_id, null);
    assert.equal(answer.message.role, 'assistant');
    assert.equal(answer.message.model, 'claude-sonnet-4-5');
    assert.deepEqual(answer.message.content, [{ type: 'text', text: 'Hello, world.' }]);

    assert.equal(result.is_error, false);
    assert.equal(result.result, 'Hello, world.');
    assert.equal(result.num_turns, 1);
    assert.equal(result.stop_reason, 'end_turn');
    assert.equal(result.terminal_reason, 'completed');
    assert.equal(result.usage.input_tokens, 1000);
    assert.equal(result.usage.output_tokens, 7);
    assert.equal(result.usage.cache_read_input_tokens, 200);
    assert.deepEqual(result.permission_denials, []);
    assert.ok(result.duration_ms >= result.duration_api_ms);
    // 3 USD a million in, 0.30 from the cache, 15 out.
    const usd = (1000 * 3 + 200 * 0.3 + 7 * 15) / 1e6;
    assert.ok(Math.abs(result.total_cost_usd - usd) < 1e-12, `${result.total_cost_usd} != ${usd}`);
    const used = result.modelUsage['claude-sonnet-4-5'];
    assert.equal(used.inputTokens, 1000);
    assert.equal(used.outputTokens, 7);
    assert.equal(used.cacheReadInputTokens, 200);
    assert.ok(Math.abs(used.costUSD - usd) < 1e-12);
    assert.ok(used.contextWindow > 0);

    for (const m of got.all) {
        assert.equal(m.session_id, init.session_id);
        assert.match(m.uuid, UUID);
    }
    assert.equal(new Set(got.all.map((m) => m.uuid)).size, got.all.length, 'uuids are unique');
    assert.equal(got.thrown, undefined);
    assert.equal(t.stderr, '');
});

test('a session has the id it was given', async (t) => {
    await t.model('step\n text ok\n');
    const id = '6f1b2c3d-0a1b-4c2d-8e3f-405060708090';
    const got = await t.ask('hi', { sessionId: id });
    assert.equal(got.result.session_id, id);
});

test('one line per block of an answer', async (t) => {
    t.file('a.txt', 'alpha\n');
    await t.model(`
        step
          think Let me see.
          text I read it.
          call Read {"file_path": "a.txt"}
        step
          if-result "alpha"
          text It says alpha.
    `);
    const got = await t.ask('read a.txt');
    assert.deepEqual(got.kinds, [
        'system/init', 'assistant', 'assistant', 'assistant', 'user', 'assistant', 'result/success',
    ]);
    const answers = got.of('assistant').map((m) => m.message);
    assert.deepEqual(answers.map((m) => m.content.map((b) => b.type)), [['thinking'], ['text'], ['tool_use'], ['text']]);
    assert.equal(new Set(answers.slice(0, 3).map((m) => m.id)).size, 1);
    assert.notEqual(answers[3].id, answers[0].id);
    const call = answers[2].content[0];
    assert.equal(call.name, 'Read');
    assert.deepEqual(call.input, { file_path: 'a.txt' });
    const user = got.of('user')[0];
    assert.equal(user.message.content[0].tool_use_id, call.id);
    assert.match(text_of(user.message.content[0].content), /alpha/);
    assert.equal(user.tool_use_result.type, 'text');
    assert.equal(user.tool_use_result.file.filePath, join(t.dir, 'a.txt'));
    assert.equal(got.result.num_turns, 2);
});

test('partial messages come in the order of the stream', async (t) => {
    await t.model(`
        step
          think Hm, hm.
          text One two three.
          call Bash {"command": "true"}
        step
          text Done.
    `);
    const got = await t.ask('go', { includePartialMessages: true, permissionMode: 'bypassPermissions',
        allowDangerouslySkipPermissions: true });
    const first = [];
    for (const m of got.messages) {
        if (m.type === 'user') break;
        first.push(m.type === 'stream_event' ? m.event.type : kind(m));
    }
    const squeezed = first.filter((k, i) => k !== 'content_block_delta' || first[i - 1] !== k);
    const block = ['content_block_start', 'content_block_delta', 'assistant', 'content_block_stop'];
    assert.deepEqual(squeezed, [
        'system/init', 'system/status', 'message_start', ...block, ...block, ...block, 'message_delta', 'message_stop',
    ]);

    // Put together again, the pieces are the message.
    const blocks = [];
    for (const m of got.of('stream_event')) {
        const e = m.event;
        assert.equal(m.parent_tool_use_id, null);
        if (e.type === 'message_stop') break;
        if (e.type === 'content_block_start') blocks[e.index] = { ...e.content_block, json: '' };
        if (e.type !== 'content_block_delta') continue;
        if (e.delta.type === 'text_delta') blocks[e.index].text += e.delta.text;
        if (e.delta.type === 'thinking_delta') blocks[e.index].thinking += e.delta.thinking;
        if (e.delta.type === 'signature_delta') blocks[e.index].signature += e.delta.signature;
        if (e.delta.type === 'input_json_delta') blocks[e.index].json += e.delta.partial_json;
    }
    const whole = got.of('assistant').slice(0, 3).map((m) => m.message.content[0]);
    assert.equal(blocks[0].thinking, whole[0].thinking);
    assert.equal(blocks[0].signature, whole[0].signature);
    assert.equal(blocks[1].text, 'One two three.');
    assert.deepEqual(JSON.parse(blocks[2].json), whole[2].input);
    const ends = got.of('stream_event').filter((m) => m.event.type === 'message_delta').map((m) => m.event.delta.stop_reason);
    assert.deepEqual(ends, ['tool_use', 'end_turn']);
});

test('a wrong key is told as an error', async (t) => {
    await t.model(`
        step
          fault status 401 "invalid x-api-key"
          text never
    `, { left: true });
    const got = await t.ask('hi');
    assert.deepEqual(got.kinds, ['system/init', 'assistant', 'result/success']);
    const said = got.of('assistant')[0];
    assert.equal(said.message.model, '<synthetic>');
    assert.equal(said.error, 'authentication_failed');
    assert.equal(got.result.is_error, true);
    assert.equal(got.result.api_error_status, 401);
    assert.match(got.result.result, /invalid x-api-key/);
    assert.equal(got.result.terminal_reason, 'api_error');
    assert.equal(t.requests().length, 1, 'it is not tried again');
});

test('a server that is overloaded is asked again', async (t) => {
    await t.model(`
        step
          fault status 529 "Overloaded" times=2 retry-after-ms=1
          text Finally.
    `);
    const got = await t.ask('hi');
    assert.deepEqual(got.kinds, [
        'system/init', 'system/api_retry', 'system/api_retry', 'assistant', 'result/success',
    ]);
    const retries = got.of('system/api_retry');
    assert.deepEqual(retries.map((m) => m.attempt), [1, 2]);
    for (const m of retries) {
        assert.equal(m.error_status, 529);
        assert.equal(m.error, 'overloaded');
        assert.ok(m.max_retries >= 2);
        assert.ok(m.retry_delay_ms >= 0);
    }
    assert.equal(got.result.result, 'Finally.');
    assert.equal(got.result.is_error, false);
});

test('structured output', async (t) => {
    await t.model(`
        step
          call StructuredOutput {"name": "tenax"}
        step
          if-result "count"
          call StructuredOutput {"name": "tenax", "count": 3}
    `);
    const schema = {
        type: 'object',
        properties: { name: { type: 'string' }, count: { type: 'integer', minimum: 1 } },
        required: ['name', 'count'],
        additionalProperties: false,
    };
    const got = await t.ask('count them', { outputFormat: { type: 'json_schema', schema } });
    assert.equal(got.result.subtype, 'success');
    assert.equal(got.result.is_error, false);
    assert.deepEqual(got.result.structured_output, { name: 'tenax', count: 3 });
    const tool = t.requests()[0].tools.find((x) => x.name === 'StructuredOutput');
    assert.deepEqual(tool.input_schema.required, ['name', 'count']);
});

test('structured output that never fits', async (t) => {
    await t.model(`
        step
          sticky
          call StructuredOutput {"name": 5}
    `);
    const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
    const got = await t.ask('name it', { outputFormat: { type: 'json_schema', schema } });
    assert.equal(got.result.subtype, 'error_max_structured_output_retries');
    assert.equal(got.result.is_error, true);
    assert.equal(got.result.structured_output, undefined);
    assert.ok(got.result.errors.length > 0);
});

test('system prompt replaced', async (t) => {
    await t.model(`
        step
          if-system "You are a parrot."
          text Polly.
    `);
    const got = await t.ask('hi', { systemPrompt: 'You are a parrot.' });
    assert.equal(got.result.result, 'Polly.');
    assert.equal(text_of(t.requests()[0].system).trim(), 'You are a parrot.');
});

test('system prompt of the preset, added to', async (t) => {
    await t.model(`
        step
          if-system "Always answer in Latin."
          text Salve.
    `);
    const got = await t.ask('hi', {
        systemPrompt: { type: 'preset', preset: 'claude_code', append: 'Always answer in Latin.' },
    });
    assert.equal(got.result.result, 'Salve.');
    const system = text_of(t.requests()[0].system);
    assert.ok(system.length > 500, 'our own prompt is there');
    assert.ok(system.trim().endsWith('Always answer in Latin.'));
});

test('no system prompt unless it is asked for', async (t) => {
    await t.model('step\n text ok\n');
    await t.ask('hi');
    const { system } = t.requests()[0];
    assert.ok(system === undefined || text_of(system).trim() === '', JSON.stringify(system));
});

test('maxTurns', async (t) => {
    await t.model(`
        step
          sticky
          call Glob {"pattern": "*.c"}
    `);
    const got = await t.ask('look', { maxTurns: 2 });
    assert.equal(got.result.subtype, 'error_max_turns');
    assert.equal(got.result.is_error, true);
    assert.equal(got.result.terminal_reason, 'max_turns');
    assert.equal(t.requests().length, 2);
    assert.equal(got.tool_results.length, 2, 'every call is answered');
});

test('maxBudgetUsd', async (t) => {
    await t.model(`
        step
          sticky
          usage input=100000 output=100
          call Glob {"pattern": "*.c"}
    `);
    const got = await t.ask('look', { model: 'claude-sonnet-4-5', maxBudgetUsd: 0.5 });
    assert.equal(got.result.subtype, 'error_max_budget_usd');
    assert.equal(got.result.is_error, true);
    assert.equal(got.result.terminal_reason, 'budget_exhausted');
    assert.ok(got.result.total_cost_usd > 0.29, `${got.result.total_cost_usd}`);
});

test('env, cwd and additional directories', async (t) => {
    const beside = join(t.root, 'beside');
    mkdirSync(beside);
    writeFileSync(join(beside, 'b.txt'), 'beside the point\n');
    await t.model(`
        step
          call Bash {"command": "pwd; echo color=$MY_COLOR"}
          call Read {"file_path": "${beside}/b.txt"}
        step
          if-result "${t.dir}"
          if-result "color=blue"
          if-result "beside the point"
          text Seen.
    `);
    const got = await t.ask('look', {
        env: { MY_COLOR: 'blue' }, additionalDirectories: [beside], allowedTools: ['Bash'],
    });
    assert.equal(got.result.result, 'Seen.');
    assert.deepEqual(got.result.permission_denials, []);
});

test('CLAUDE.md is read when its source is wanted', async (t) => {
    t.file('CLAUDE.md', 'The password is swordfish.\n');
    await t.model('step\n text ok\n');
    await t.ask('hi', { settingSources: ['project'] });
    assert.match(JSON.stringify(t.requests()[0].messages), /swordfish/);
});

test('settings given as an object', async (t) => {
    await t.model(`
        step
          call Bash {"command": "echo made by $MAKER"}
        step
          if-result "made by hand"
          text ok
    `);
    const got = await t.ask('go', { settings: { env: { MAKER: 'hand' }, permissions: { allow: ['Bash(echo:*)'] } } });
    assert.equal(got.result.result, 'ok');
});

test('a large tool result stays within the lines that clients can read', async (t) => {
    t.file('long.txt', `${'0123456789abcdef'.repeat(100)}\n`.repeat(3000));
    await t.model(`
        step
          call Bash {"command": "cat long.txt"}
        step
          text ok
    `);
    const got = await t.ask('look', { allowedTools: ['Bash'] });
    assert.equal(got.result.result, 'ok');
    const longest = Math.max(...got.all.map((m) => JSON.stringify(m).length));
    assert.ok(longest < 1_000_000, `a line of ${longest} bytes`);
});

test('thinking and effort reach the model', async (t) => {
    await t.model('step\n sticky\n text ok\n');
    await t.ask('hi', { model: 'claude-sonnet-4-5', thinking: { type: 'enabled', budgetTokens: 4000 } });
    await t.ask('hi', { model: 'claude-sonnet-4-5', thinking: { type: 'disabled' } });
    await t.ask('hi', { model: 'claude-opus-4-5', effort: 'low' });
    const [budget, off, effort] = t.requests();
    assert.deepEqual(budget.thinking, { type: 'enabled', budget_tokens: 4000 });
    assert.ok(!off.thinking || off.thinking.type === 'disabled', JSON.stringify(off.thinking));
    assert.equal(effort.output_config.effort, 'low');
});

test('fallbackModel', async (t) => {
    await t.model(`
        step
          if-model "claude-haiku-4-5"
          text From the small one.
        step
          fault status 529 "Overloaded" times=20 retry-after-ms=1
          text never
    `, { left: true });
    const got = await t.ask('hi', { model: 'claude-opus-4-5', fallbackModel: 'claude-haiku-4-5' });
    assert.equal(got.result.result, 'From the small one.');
    assert.ok(got.result.modelUsage['claude-haiku-4-5']);
});

test('a session that is not there cannot be resumed, and the reason is said', async (t) => {
    await t.model('step\n text never\n', { left: true });
    const got = await t.all(t.query('hi', { resume: '6f1b2c3d-0a1b-4c2d-8e3f-405060708090' }));
    assert.ok(got.thrown);
    // The SDK may hear of the end before the last words. The limit of the case ends the wait.
    while (!t.stderr) await new Promise((r) => setTimeout(r, 10));
    assert.match(t.stderr, /no session is called|there is no session/);
});
