// Sessions on disk, as a reader sees them that knows nothing of tenax: the SDK's own functions, which
// open the transcripts themselves.
import assert from 'node:assert/strict';
import { test, text_of } from './harness.mjs';

const ID = '6f1b2c3d-0a1b-4c2d-8e3f-405060708090';
const LOOK = `
    step
      if-prompt "look around"
      think Two at once.
      text I look.
      call Read {"file_path": "a.txt"}
      call Read {"file_path": "b.txt"}
    step
      if-result "beta"
      text Seen both.
`;

// What the client of a run saw and a transcript must have: prompts are not told to it.
const seen = (got) => got.messages.filter((m) => ['assistant', 'user'].includes(m.type)).map((m) => m.uuid);
const words = (m) => text_of(m.message.content);
const is_prompt = (m) => m.type === 'user' && !(Array.isArray(m.message.content) && m.message.content.some((b) => b.type === 'tool_result'));
// Without what tenax tells the model beside the user's words.
const spoken = (all) => all.filter((m) => !words(m).startsWith('<system-reminder>'));

test('sessions are listed by the official reader', async (t) => {
    t.file('a.txt', 'alpha\n');
    t.file('b.txt', 'beta\n');
    await t.model(`${LOOK}\n step\n if-prompt "another"\n text Hello.\n`);
    await t.ask('look around', { sessionId: ID });
    const other = await t.ask('another session');
    const list = await t.official('listSessions', { dir: t.dir });
    assert.equal(list.length, 2);
    const first = list.find((s) => s.sessionId === ID);
    assert.equal(first.firstPrompt, 'look around');
    assert.equal(first.summary, 'look around');
    assert.equal(first.cwd, t.dir);
    assert.equal(list[0].sessionId, other.init.session_id, 'the newest comes first');
    const info = await t.official('getSessionInfo', ID, { dir: t.dir });
    assert.equal(info.firstPrompt, 'look around');
    assert.equal((await t.official('listSessions')).length, 2, 'without a folder, all of them');
});

test('a session is read by the official reader, message by message', async (t) => {
    t.file('a.txt', 'alpha\n');
    t.file('b.txt', 'beta\n');
    await t.model(`${LOOK}\n step\n if-prompt "and now"\n text Nothing more.\n`);
    const one = await t.ask('look around', { sessionId: ID });
    const two = await t.ask('and now?', { resume: ID });
    assert.equal(two.init.session_id, ID);
    const all = spoken(await t.official('getSessionMessages', ID, { dir: t.dir }));
    assert.deepEqual(all.filter(is_prompt).map(words), ['look around', 'and now?']);
    assert.deepEqual(all.filter((m) => !is_prompt(m)).map((m) => m.uuid), [...seen(one), ...seen(two)]);
    const results = all.flatMap((m) => m.message.content).filter((b) => b.type === 'tool_result');
    assert.equal(results.length, 2);
    assert.match(text_of(results[0].content), /alpha/);
    assert.match(text_of(results[1].content), /beta/);
    for (const m of all) assert.equal(m.session_id, ID);
});

test('messages that waited are read by the official reader in their place', async (t) => {
    await t.model(`
        step
          if-prompt "one"
          pause 100ms
          text First.
        step
          if-prompt "two"
          text Second.
        step
          if-prompt "three"
          text Third.
    `);
    async function* prompts() {
        for (const text of ['one', 'two', 'three'])
            yield { type: 'user', message: { role: 'user', content: text }, parent_tool_use_id: null, session_id: '' };
    }
    const got = await t.all(t.query(prompts(), { sessionId: ID }));
    assert.deepEqual(got.results.map((r) => r.result), ['First.', 'Second.', 'Third.']);
    const all = spoken(await t.official('getSessionMessages', ID, { dir: t.dir }));
    assert.deepEqual(all.map(words), ['one', 'First.', 'two', 'Second.', 'three', 'Third.']);
});

test('a title given by the official SDK is kept, and ours is seen by it', async (t) => {
    await t.model('step\n if-prompt "hi"\n text ok\n step\n if-prompt "again"\n text ok\n step\n if-prompt "by name"\n text ok\n');
    await t.ask('hi', { sessionId: ID });
    await t.official('renameSession', ID, 'Named outside', { dir: t.dir });
    assert.equal((await t.official('listSessions', { dir: t.dir }))[0].customTitle, 'Named outside');
    assert.equal((await t.ask('again', { resume: ID })).result.result, 'ok');
    assert.equal((await t.official('getSessionInfo', ID, { dir: t.dir })).summary, 'Named outside', 'a resumed run leaves it');
    await t.tenax(['sessions', 'rename', ID, 'Named by us']);
    assert.equal((await t.official('getSessionInfo', ID, { dir: t.dir })).customTitle, 'Named by us');
    const named = await t.ask('by name', { resume: 'Named by us' });
    assert.equal(named.init.session_id, ID);
});

test('a fork of ours is read by the official reader', async (t) => {
    await t.model('step\n if-prompt "one"\n text First.\n step\n if-prompt "two"\n text Second.\n');
    await t.ask('one', { sessionId: ID });
    const fork = await t.ask('two', { resume: ID, forkSession: true });
    assert.notEqual(fork.init.session_id, ID);
    const old = spoken(await t.official('getSessionMessages', ID, { dir: t.dir }));
    assert.deepEqual(old.map(words), ['one', 'First.']);
    const all = spoken(await t.official('getSessionMessages', fork.init.session_id, { dir: t.dir }));
    assert.deepEqual(all.map(words), ['one', 'First.', 'two', 'Second.']);
    assert.equal((await t.official('listSessions', { dir: t.dir })).length, 2);
});

test('a fork made by the official SDK goes on with us', async (t) => {
    await t.model('step\n if-prompt "one"\n text First.\n step\n if-prompt "two"\n text Second.\n');
    await t.ask('one', { sessionId: ID });
    const { sessionId } = await t.official('forkSession', ID, { dir: t.dir, title: 'Theirs' });
    const got = await t.ask('two', { resume: sessionId });
    assert.equal(got.init.session_id, sessionId);
    const messages = t.requests().at(-1).messages;
    assert.deepEqual(messages.map((m) => m.role), ['user', 'assistant', 'user']);
    assert.equal(text_of(messages[1].content), 'First.');
});

test('a compacted session is read by the official reader', async (t) => {
    t.file('a.txt', 'alpha\n'.repeat(2000));
    await t.model(`
        step
          if-prompt "one"
          call Read {"file_path": "a.txt"}
        step
          if-prompt "one"
          text First.
        step
          if-prompt "is about to be replaced by a summary"
          text In short: it was read.
        step
          if-prompt "two"
          text Second.
    `);
    await t.ask('one', { sessionId: ID });
    const done = await t.ask('/compact', { resume: ID });
    assert.equal(done.of('system/compact_boundary').length, 1);
    await t.ask('two', { resume: ID });
    const all = await t.official('getSessionMessages', ID, { dir: t.dir, includeSystemMessages: true });
    const texts = all.map((m) => (m.message ? words(m) : ''));
    assert.ok(texts.some((x) => x.includes('In short: it was read.')), 'the summary');
    assert.deepEqual(spoken(all.filter((m) => m.message)).slice(-2).map(words), ['two', 'Second.']);
    assert.equal((await t.official('listSessions', { dir: t.dir }))[0].firstPrompt, 'one');
    assert.match(JSON.stringify(t.requests().at(-1).messages), /In short: it was read\./);
});
