// Agents that the client brings, and what it hears of them.
import assert from 'node:assert/strict';
import { promise, test } from './harness.mjs';

const hook = (fn, matcher) => [{ matcher, hooks: [fn] }];
const all = { permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true };
const scout = { scout: { description: 'Scouts', prompt: 'You are the scout.', tools: ['Bash'] } };

test('agents: one of the client works in the foreground', async (t) => {
    await t.model(`
        step
          if-system "You are the scout."
          call Bash {"command": "echo found"}
        step
          if-result "found"
          text It is there.
        step
          if-prompt "go"
          call Agent {"description": "Scout it", "prompt": "look around", "subagent_type": "scout"}
        step
          if-result "  It is there."
          text Done.
    `);
    const started = [];
    const stopped = [];
    const got = await t.ask('go', {
        ...all,
        agents: scout,
        hooks: {
            SubagentStart: hook(async (input) => { started.push(input); return {}; }, 'scout'),
            SubagentStop: hook(async (input) => { stopped.push(input); return {}; }),
        },
    });
    assert.equal(got.result.result, 'Done.');
    assert.equal(started.length, 1);
    assert.equal(started[0].agent_type, 'scout');
    assert.match(started[0].agent_id, /^a[0-9a-f]{16}$/);
    assert.equal(stopped.length, 1);
    assert.equal(stopped[0].agent_id, started[0].agent_id);
    assert.equal(stopped[0].last_assistant_message, 'It is there.');
    assert.match(stopped[0].agent_transcript_path, /subagents\/agent-a[0-9a-f]{16}\.jsonl$/);
    const call = got.all.find((m) => m.type === 'assistant' && m.message.content[0].name === 'Agent');
    const id = call.message.content[0].id;
    const own = got.all.filter((m) => m.parent_tool_use_id === id);
    assert.deepEqual(own.map((m) => m.type), ['user', 'assistant', 'user']); // prompt, call, result
    assert.ok(own.every((m) => m.agent_id === started[0].agent_id && m.subagent_type === 'scout'));
    const lines = got.all.filter((m) => m.type === 'system' && m.subtype.startsWith('task_'));
    assert.equal(lines[0].subtype, 'task_started');
    assert.equal(lines[0].tool_use_id, id);
    assert.equal(lines[0].task_type, 'local_agent');
    assert.equal(lines[0].is_backgrounded, false);
    assert.equal(lines.at(-1).subtype, 'task_notification');
    assert.equal(lines.at(-1).status, 'completed');
    assert.equal(lines.at(-1).usage.tool_uses, 1);
    const result = got.all.find((m) => m.type === 'user' && m.tool_use_result?.agentId);
    assert.equal(result.tool_use_result.status, 'completed');
    assert.equal(result.tool_use_result.content[0].text, 'It is there.');
    assert.equal(result.tool_use_result.totalToolUseCount, 1);
});

test('agents: one in the background is stopped by the client', async (t) => {
    await t.model(`
        step
          if-system "You are the scout."
          call Bash {"command": "sleep 1000"}
        step
          if-prompt "go"
          call Agent {"description": "Scout it", "prompt": "look around", "subagent_type": "scout", "run_in_background": true}
        step
          if-result "You will be notified"
          text Waiting.
        step
          sticky
          text Heard.
    `);
    // The SDK stops listening to us when the first result comes, unless there is more to say: the agent's
    // first call may come later.
    const over = promise();
    async function* input() {
        yield { type: 'user', message: { role: 'user', content: 'go' }, parent_tool_use_id: null, session_id: '' };
        await over;
    }
    const q = t.query(input(), { ...all, agents: scout });
    const lines = [];
    let ended = false;
    for await (const m of q) {
        lines.push(m);
        if (m.type === 'system' && m.subtype === 'task_progress' && !ended) {
            ended = true;
            await q.stopTask(m.task_id);
        }
        if (m.type === 'system' && m.subtype === 'task_notification') {
            assert.equal(m.status, 'stopped');
            over.keep();
            break;
        }
    }
    assert.ok(ended);
    const tasks = lines.filter((m) => m.subtype === 'background_tasks_changed');
    assert.equal(tasks[0].tasks.length, 1);
    assert.equal(tasks[0].tasks[0].subagent_type, 'scout');
});
