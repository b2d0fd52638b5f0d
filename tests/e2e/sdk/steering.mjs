// A client that stays in the conversation: streaming input, interrupts, control requests.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promise, sdk, test, text_of, z } from './harness.mjs';

const user = (content, more = {}) => ({
    type: 'user',
    message: { role: 'user', content },
    parent_tool_use_id: null,
    session_id: '',
    ...more,
});
const SESSION = '6f1b2c3d-0a1b-4c2d-8e3f-4050607080a0';
const all = { permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true };

// Input that goes on as long as the case wants.
class Talk {
    constructor(...first) {
        this.lines = first.map((message) => ({ message, sent: promise() }));
        this.more = promise();
    }
    // The promise is kept when the line is on its way; a request after that is answered after it is read.
    say(message) {
        const line = { message, sent: promise() };
        this.lines.push(line);
        this.more.keep();
        return line.sent;
    }
    end() {
        this.over = true;
        this.more.keep();
    }
    async *[Symbol.asyncIterator]() {
        for (;;) {
            while (this.lines.length) {
                const line = this.lines.shift();
                yield line.message;
                line.sent.keep();
            }
            if (this.over) return;
            await this.more;
            this.more = promise();
        }
    }
}

// The text of a file that may not be there, or no longer; a process that ends while it is read is such a one.
function text_or_nothing(path) {
    try {
        return readFileSync(path, 'utf8');
    } catch (e) {
        if (e.code === 'ENOENT' || e.code === 'ESRCH') return '';
        throw e;
    }
}
// Waits for a line that a command writes: a shell makes the file first and writes to it later.
async function appears(path) {
    for (;;) {
        const text = text_or_nothing(path);
        if (text.endsWith('\n')) return text;
        await new Promise((r) => setTimeout(r, 10));
    }
}
// And for processes to be gone. The limit of the case ends the wait.
const alive = (pid) => /^State:\s+[^ZX]/m.test(text_or_nothing(`/proc/${pid}/status`));
async function gone(...pids) {
    for (const pid of pids) assert.match(pid, /^\d+$/);
    while (pids.some(alive)) await new Promise((r) => setTimeout(r, 10));
}

test('multi-turn streaming input', async (t) => {
    await t.model(`
        step
          if-prompt "my name is Ann"
          text Hello, Ann.
        step
          if-prompt "what is my name"
          text Ann.
        step
          if-prompt "and this"
          text A picture.
    `);
    const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const talk = new Talk(user('my name is Ann'));
    const got = await t.all(t.query(talk), (m, seen) => {
        if (m.type !== 'result') return;
        const turn = seen.filter((x) => x.type === 'result').length;
        if (turn === 1) talk.say(user('what is my name'));
        if (turn === 2)
            talk.say(user([
                { type: 'text', text: 'and this' },
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
            ]));
        if (turn === 3) talk.end();
    });
    assert.equal(got.thrown, undefined);
    assert.deepEqual(got.results.map((r) => r.result), ['Hello, Ann.', 'Ann.', 'A picture.']);
    const turn = ['system/init', 'assistant', 'result/success'];
    assert.deepEqual(got.kinds, [...turn, ...turn, ...turn]);
    assert.deepEqual(got.results.map((r) => r.num_turns), [1, 1, 1]);
    const costs = got.results.map((r) => r.total_cost_usd);
    assert.ok(costs[0] < costs[1] && costs[1] < costs[2], 'the cost is that of the session');
    const last = t.requests()[2].messages;
    assert.equal(last.filter((m) => m.role === 'user').length, 3, 'one conversation');
    assert.ok(last.at(-1).content.some((b) => b.type === 'image' && b.source.data === png));
});

test('all input at once', async (t) => {
    await t.model(`
        step
          text First.
        step
          sticky
          text Next.
    `, { left: true });
    const talk = new Talk(user('one'), user('two'), user('three'));
    talk.end();
    const got = await t.all(t.query(talk));
    assert.equal(got.thrown, undefined);
    assert.match(JSON.stringify(t.requests().at(-1).messages), /one.*two.*three/);
    assert.equal(got.results.at(-1).is_error, false);
});

test('interrupt in the middle of a stream', async (t) => {
    await t.model(`
        step
          text Here it begins,
          pause 60s
          text and never ends.
        step
          if-prompt "go on"
          text Here I am again.
    `);
    const talk = new Talk(user('tell me'));
    const q = t.query(talk, { includePartialMessages: true });
    let answered, from;
    const got = await t.all(q, async (m) => {
        if (m.type === 'stream_event' && m.event.delta?.text && !answered) {
            from = Date.now();
            answered = q.interrupt();
        } else if (m.type === 'result' && m.is_error) {
            await answered;
            talk.say(user('go on'));
        } else if (m.type === 'result') {
            talk.end();
        }
    });
    assert.equal(got.thrown, undefined);
    const [cut, next] = got.results;
    assert.equal(cut.subtype, 'error_during_execution');
    assert.equal(cut.terminal_reason, 'aborted_streaming');
    assert.ok(cut.duration_ms < 30_000, `took ${cut.duration_ms} ms`);
    assert.ok(Date.now() - from < 30_000);
    assert.equal(next.result, 'Here I am again.');
    assert.equal(next.is_error, false);
    const said = got.of('user').map((m) => text_of(m.message.content));
    assert.deepEqual(said, ['[Request interrupted by user]']);
});

test('interrupt in the middle of a command', async (t) => {
    await t.model(`
        step
          call Bash {"command": "echo $$ > pid; sleep 600; echo slept"}
        step
          if-prompt "go on"
          text Here I am again.
    `);
    const talk = new Talk(user('sleep'));
    const q = t.query(talk, all);
    let pid;
    const got = await t.all(q, async (m) => {
        if (m.type === 'assistant' && m.message.content[0].type === 'tool_use') {
            pid = (await appears(join(t.dir, 'pid'))).trim();
            await q.interrupt();
        } else if (m.type === 'result' && m.is_error) {
            await gone(pid);
            talk.say(user('go on'));
        } else if (m.type === 'result') {
            talk.end();
        }
    });
    assert.equal(got.thrown, undefined);
    const [cut, next] = got.results;
    assert.equal(cut.subtype, 'error_during_execution');
    assert.equal(cut.terminal_reason, 'aborted_tools');
    assert.equal(got.tool_results.length, 1);
    assert.equal(got.tool_results[0].is_error, true);
    assert.ok(got.of('user').some((m) => text_of(m.message.content) === '[Request interrupted by user for tool use]'));
    assert.equal(next.result, 'Here I am again.');
});

test('interrupt while a permission is asked', async (t) => {
    await t.model(`
        step
          call Bash {"command": "echo hi > made.txt"}
        step
          if-prompt "go on"
          text ok
    `);
    const talk = new Talk(user('make it'));
    const withdrawn = promise();
    const q = t.query(talk, {
        canUseTool: async (_, input, { signal }) => {
            signal.addEventListener('abort', () => withdrawn.keep(true));
            await q.interrupt();
            await withdrawn;
            return { behavior: 'allow', updatedInput: input };
        },
    });
    const got = await t.all(q, (m) => {
        if (m.type === 'result' && m.is_error) talk.say(user('go on'));
        else if (m.type === 'result') talk.end();
    });
    assert.equal(got.thrown, undefined);
    assert.equal(await withdrawn, true, 'the question is withdrawn');
    assert.equal(got.results[0].terminal_reason, 'aborted_tools');
    assert.equal(got.results[1].result, 'ok');
    assert.ok(!existsSync(join(t.dir, 'made.txt')));
});

test('interrupt while idle changes nothing', async (t) => {
    await t.model('step\n text one\nstep\n text two\n');
    const talk = new Talk(user('first'));
    const q = t.query(talk);
    const got = await t.all(q, async (m, seen) => {
        if (m.type !== 'result') return;
        if (seen.filter((x) => x.type === 'result').length === 2) return talk.end();
        await q.interrupt();
        talk.say(user('second'));
    });
    assert.equal(got.thrown, undefined);
    assert.deepEqual(got.results.map((r) => r.result), ['one', 'two']);
});

test('abortController', async (t) => {
    await t.model(`
        step
          call Bash {"command": "echo $$ > pid; trap '' TERM; sleep 600; sleep 600"}
        step
          text never
    `, { left: true });
    const abortController = new AbortController();
    const q = t.query('sleep', { ...all, abortController });
    let pid;
    const got = await t.all(q, async (m) => {
        if (m.type !== 'assistant') return;
        pid = (await appears(join(t.dir, 'pid'))).trim();
        abortController.abort();
    });
    assert.ok(got.thrown instanceof sdk.AbortError, `${got.thrown}`);
    await gone(pid);
});

test('setModel and setPermissionMode', async (t) => {
    await t.model(`
        step
          if-model "claude-sonnet-4-5"
          text one
        step
          if-model "claude-opus-4-5"
          call Write {"file_path": "new.txt", "content": "new"}
        step
          text two
    `);
    const talk = new Talk(user('first'));
    const q = t.query(talk, { model: 'claude-sonnet-4-5' });
    const got = await t.all(q, async (m, seen) => {
        if (m.type !== 'result') return;
        if (seen.filter((x) => x.type === 'result').length === 2) return talk.end();
        await q.setModel('claude-opus-4-5');
        await q.setPermissionMode('acceptEdits');
        talk.say(user('second'));
    });
    assert.equal(got.thrown, undefined);
    const inits = got.of('system/init');
    assert.deepEqual(inits.map((m) => m.model), ['claude-sonnet-4-5', 'claude-opus-4-5']);
    assert.deepEqual(inits.map((m) => m.permissionMode), ['default', 'acceptEdits']);
    assert.deepEqual(got.of('system/status').map((m) => m.permissionMode), ['acceptEdits']);
    assert.equal(t.read('new.txt'), 'new');
    assert.deepEqual(Object.keys(got.results[1].modelUsage).sort(), ['claude-opus-4-5', 'claude-sonnet-4-5']);
});

test('what cannot be set is refused with a reason', async (t) => {
    await t.model('step\n text ok\n');
    const talk = new Talk();
    const q = t.query(talk);
    await assert.rejects(q.setPermissionMode('yolo'), /yolo/);
    await assert.rejects(q.setModel('no/such/model'));
    await assert.rejects(q.setPermissionMode('bypassPermissions'), /bypass/i);
    talk.say(user('hi'));
    talk.end();
    const got = await t.all(q);
    assert.equal(got.result.result, 'ok');
});

test('what one may ask for', async (t) => {
    t.file('a.txt', 'alpha\n');
    await t.model('step\n usage input=5000 output=10\n text ok\n');
    const talk = new Talk();
    const q = t.query(talk, { model: 'claude-sonnet-4-5' });
    const start = await q.initializationResult();
    assert.ok(start.output_style);
    assert.ok(Array.isArray(await q.supportedCommands()));
    assert.ok(Array.isArray(await q.supportedAgents()));
    const models = await q.supportedModels();
    assert.ok(models.some((m) => m.value === 'claude-sonnet-4-5'));
    for (const m of models) assert.ok(m.value && m.displayName && m.description, JSON.stringify(m));
    assert.equal((await q.accountInfo()).apiKeySource, 'ANTHROPIC_API_KEY');
    assert.deepEqual(await q.mcpServerStatus(), []);
    assert.equal((await q.readFile('a.txt')).contents, 'alpha\n');
    await q.setMaxThinkingTokens(2048);
    talk.say(user('hi'));
    const got = await t.all(q, async (m) => {
        if (m.type !== 'result') return;
        const usage = await q.getContextUsage();
        assert.ok(usage.totalTokens >= 5010, `${usage.totalTokens}`);
        assert.ok(usage.maxTokens >= 200_000);
        talk.end();
    });
    assert.equal(got.thrown, undefined);
    assert.equal(t.requests()[0].thinking.budget_tokens, 2048);
});

test('the usage is that of the session, also of one that was resumed', async (t) => {
    await t.model(`
        step
          pause 60ms
          text one
        step
          pause 60ms
          stop stop_sequence "###"
          text two
        step
          pause 60ms
          text three
    `);
    const usage = (q) => q.usage_EXPERIMENTAL_MAY_CHANGE_DO_NOT_RELY_ON_THIS_API_YET();
    const talk = new Talk(user('first'));
    const q = t.query(talk, { sessionId: SESSION });
    const seen = [];
    const got = await t.all(q, async (m) => {
        if (m.type !== 'result') return;
        seen.push((await usage(q)).session);
        if (seen.length === 1) talk.say(user('second'));
        else talk.end();
    });
    assert.equal(got.thrown, undefined);
    const more = new Talk(user('third'));
    const again = t.query(more, { resume: SESSION });
    const resumed = await t.all(again, async (m) => {
        if (m.type !== 'result') return;
        seen.push((await usage(again)).session);
        more.end();
    });
    const sum = (of) => [...got.results, ...resumed.results].reduce((n, r) => n + r[of], 0);
    assert.equal(seen[2].total_duration_ms, sum('duration_ms'));
    assert.equal(seen[2].total_api_duration_ms, sum('duration_api_ms'));
    assert.ok(seen[0].total_api_duration_ms < seen[1].total_api_duration_ms);
    const messages = await t.official('getSessionMessages', SESSION, { dir: t.dir });
    const stops = messages.filter((m) => m.type === 'assistant').map((m) => [m.message.stop_reason, m.message.stop_sequence]);
    assert.deepEqual(stops, [['end_turn', null], ['stop_sequence', '###'], ['end_turn', null]]);
});

test('files go back to a message', async (t) => {
    const ids = ['6f1b2c3d-0a1b-4c2d-8e3f-405060708091', '6f1b2c3d-0a1b-4c2d-8e3f-405060708092'];
    t.file('old.txt', 'one\ntwo\n');
    await t.model(`
        step
          call Read {"file_path": "old.txt"}
        step
          call Edit {"file_path": "old.txt", "old_string": "two", "new_string": "2"}
          call Write {"file_path": "new.txt", "content": "a\\nb\\nc\\n"}
        step
          text Done.
        step
          call Edit {"file_path": "old.txt", "old_string": "one", "new_string": "1"}
        step
          text Done again.
    `);
    const talk = new Talk();
    const q = t.query(talk, { ...all, enableFileCheckpointing: true });
    const early = await q.rewindFiles(ids[0]);
    assert.equal(early.canRewind, false);
    assert.match(early.error, /has no messages yet/);

    talk.say(user('first', { uuid: ids[0] }));
    const paths = ['old.txt', 'new.txt'].map((name) => join(t.dir, name));
    let turn = 0;
    const got = await t.all(q, async (m) => {
        if (m.type !== 'result') return;
        if (++turn === 1) {
            talk.say(user('second', { uuid: ids[1] }));
            return;
        }
        assert.equal(t.read('old.txt'), '1\n2\n');
        const unknown = await q.rewindFiles('6f1b2c3d-0a1b-4c2d-8e3f-405060708099');
        assert.equal(unknown.canRewind, false);
        assert.match(unknown.error, /no message/);

        // What would happen, then it happens: line by line, from what there is to what there was.
        const wanted = { canRewind: true, filesChanged: [paths[0]], insertions: 1, deletions: 1, filesSkipped: [], skippedLinks: 0 };
        assert.deepEqual(await q.rewindFiles(ids[1], { dryRun: true }), wanted);
        assert.equal(t.read('old.txt'), '1\n2\n');
        assert.deepEqual(await q.rewindFiles(ids[1]), wanted);
        assert.equal(t.read('old.txt'), 'one\n2\n');
        assert.ok(existsSync(paths[1]));

        // Somebody else was at one of them: it is left alone, and so is said.
        t.file('old.txt', 'mine\n');
        const rest = await q.rewindFiles(ids[0]);
        assert.equal(rest.canRewind, true);
        assert.deepEqual([rest.filesChanged, rest.insertions, rest.deletions], [[paths[1]], 0, 3]);
        assert.deepEqual(rest.filesSkipped.map((f) => [f.path, f.action]), [[paths[0], 'conflict']]);
        assert.equal(t.read('old.txt'), 'mine\n');
        assert.ok(!existsSync(paths[1]));
        const vain = await q.rewindFiles(ids[0]);
        assert.equal(vain.canRewind, false);
        assert.match(vain.error, /no file could be restored/);
        talk.end();
    });
    assert.equal(got.thrown, undefined);
    assert.equal(got.results.length, 2);
});

test('requests of features to come are answered', async (t) => {
    await t.model('step\n text ok\n');
    const talk = new Talk();
    const q = t.query(talk);
    await assert.rejects(q.reconnectMcpServer('none'), /Server not found: none/);
    await assert.rejects(q.stopTask('none'));
    talk.say(user('hi'));
    talk.end();
    assert.equal((await t.all(q)).result.result, 'ok');
});

test('servers in the process of the client', async (t) => {
    await t.model(`
        step
          call ExecuteExtraTool {"tool_name": "mcp__math__add", "params": {"a": 1, "b": 2}}
          call mcp__math__fail {}
        step
          if-result "the sum is 3"
          if-result "it went wrong"
          text ok
    `);
    const server = sdk.createSdkMcpServer({
        name: 'math',
        version: '1.0.0',
        tools: [
            sdk.tool('add', 'Adds two numbers', { a: z.number(), b: z.number() }, async ({ a, b }) => ({
                content: [{ type: 'text', text: `the sum is ${a + b}` }],
            })),
            sdk.tool('fail', 'Fails', {}, async () => { throw new Error('it went wrong'); }),
        ],
    });
    const talk = new Talk(user('add them'));
    const q = t.query(talk, { mcpServers: { math: server }, allowedTools: ['mcp__math'] });
    const got = await t.all(q, async (m) => {
        if (m.type !== 'result') return;
        const [status] = await q.mcpServerStatus();
        assert.equal(status.name, 'math');
        assert.equal(status.status, 'connected');
        assert.deepEqual(status.tools.map((tool) => tool.name), ['add', 'fail']);
        const set = await q.setMcpServers({});
        assert.deepEqual(set.removed, ['math']);
        assert.deepEqual(await q.mcpServerStatus(), []);
        talk.end();
    });
    assert.equal(got.thrown, undefined);
    assert.equal(got.result.result, 'ok');
    assert.deepEqual(got.init.mcp_servers.map((s) => s.name), ['math']);
});

test('a single prompt with callbacks ends by itself', async (t) => {
    await t.model(`
        step
          call Bash {"command": "echo hi"}
        step
          text ok
    `);
    const got = await t.ask('go', {
        canUseTool: async (_, input) => ({ behavior: 'allow', updatedInput: input }),
        hooks: { Stop: [{ hooks: [async () => ({})] }] },
    });
    assert.equal(got.result.result, 'ok');
});

test('close() in the middle ends the process', async (t) => {
    await t.model(`
        step
          call Bash {"command": "echo $PPID $$ > pid; sleep 600"}
        step
          text never
    `, { left: true });
    const q = t.query('sleep', all);
    let pids = [];
    for await (const m of q) {
        if (m.type !== 'assistant') continue;
        pids = (await appears(join(t.dir, 'pid'))).trim().split(' ');
        q.close();
        break;
    }
    assert.equal(pids.length, 2);
    await gone(...pids);
});

test('a message while a tool runs is heard between two steps', async (t) => {
    await t.model(`
        step
          call Bash {"command": "while ! test -e go; do sleep 0.01; done"}
        step
          if-prompt "the other one"
          text The other one, then.
    `);
    const talk = new Talk(user('do this'));
    const q = t.query(talk, { ...all, extraArgs: { 'replay-user-messages': null } });
    const got = await t.all(q, async (m) => {
        if (m.type === 'assistant' && m.message.content[0].type === 'tool_use') {
            await talk.say(user('no, the other one', { priority: 'next', uuid: '6f1b2c3d-0a1b-4c2d-8e3f-405060708090' }));
            await q.getContextUsage(); // it has read the line before
            t.file('go', '');
        }
        if (m.type === 'result') talk.end();
    });
    assert.equal(got.thrown, undefined);
    assert.equal(got.results.length, 1);
    assert.equal(got.result.result, 'The other one, then.');
    const replays = got.of('user').filter((m) => m.isReplay);
    assert.deepEqual(replays.map((m) => text_of(m.message.content)), ['do this', 'no, the other one']);
    assert.equal(replays[1].uuid, '6f1b2c3d-0a1b-4c2d-8e3f-405060708090');
});

test('an interrupt says what is still queued', async (t) => {
    await t.model(`
        step
          call Bash {"command": "echo > running; sleep 600"}
        step
          if-prompt "second"
          text Here.
    `);
    const queued = '6f1b2c3d-0a1b-4c2d-8e3f-405060708090';
    const talk = new Talk(user('first'));
    const q = t.query(talk, all);
    let receipt;
    const got = await t.all(q, async (m, seen) => {
        if (m.type === 'assistant' && m.message.content[0].type === 'tool_use') {
            await talk.say(user('second', { uuid: queued }));
            await appears(join(t.dir, 'running'));
            receipt = await q.interrupt();
        }
        if (seen.filter((x) => x.type === 'result').length === 2) talk.end();
    });
    assert.equal(got.thrown, undefined);
    assert.deepEqual(receipt.still_queued, [queued]);
    assert.deepEqual(got.results.map((r) => r.terminal_reason), ['aborted_tools', 'completed']);
    assert.ok(got.init.capabilities.includes('interrupt_receipt_v1'));
});

test('words that wait for an answer are only added', async (t) => {
    await t.model(`
        step
          if-prompt "by the way"
          if-prompt "hello"
          text Hello.
    `);
    const talk = new Talk(user('by the way, it rains', { shouldQuery: false }), user('hello'));
    talk.end();
    const got = await t.all(t.query(talk));
    assert.equal(got.thrown, undefined);
    assert.equal(got.result.result, 'Hello.');
});

test('a process that is started before it is needed', async (t) => {
    await t.model('step\n text Ready.\n');
    const warm = await sdk.startup({ options: t.options() });
    const got = await t.all(warm.query('go'));
    assert.equal(got.thrown, undefined);
    assert.equal(got.result.result, 'Ready.');
});

test('agents of the client are named beside those of tenax', async (t) => {
    await t.model('step\n text ok\n');
    const got = await t.ask('go', { agents: { reviewer: { description: 'reviews', prompt: 'You review.' } } });
    assert.equal(got.result.result, 'ok');
    assert.deepEqual(got.of('system/informational'), []);
    for (const name of ['reviewer', 'general-purpose']) assert.ok(got.init.agents.includes(name), name);
});
