// An editor: a program that speaks the Agent Client Protocol, driven by the official client library.
// Everything the program sends is also checked against the schema of the protocol.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { Readable, Transform, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';

const [build, installed] = process.argv.slice(2, 4).map((p) => resolve(p));
const library = join(installed, 'node_modules/@agentclientprotocol/sdk/dist/v1');
const load = (path) => import(pathToFileURL(join(library, path)).href);
export const { client, ndJsonStream, methods } = await load('stable/acp.js');
const schema = await load('schema/zod.gen.js');
export const tenax = join(build, 'src/tenax');

// What the result of a request, the params of a request or notification of the agent must be.
const RESULTS = {
    initialize: 'zInitializeResponse', authenticate: 'zAuthenticateResponse', logout: 'zLogoutResponse',
    'session/new': 'zNewSessionResponse', 'session/load': 'zLoadSessionResponse', 'session/resume': 'zResumeSessionResponse',
    'session/list': 'zListSessionsResponse', 'session/close': 'zCloseSessionResponse', 'session/delete': 'zDeleteSessionResponse',
    'session/prompt': 'zPromptResponse', 'session/set_mode': 'zSetSessionModeResponse',
    'session/set_config_option': 'zSetSessionConfigOptionResponse',
};
const PARAMS = {
    'session/update': 'zSessionNotification', 'session/request_permission': 'zRequestPermissionRequest',
    'elicitation/create': 'zCreateElicitationRequest', '$/cancel_request': 'zCancelRequestNotification',
    'fs/read_text_file': 'zReadTextFileRequest', 'fs/write_text_file': 'zWriteTextFileRequest',
};

export class Editor {
    // answer(params): the id of a permission's option, null for "cancelled", or a promise of these.
    constructor(t, { command = tenax, args = ['acp'], env = {}, capabilities = {}, answer, form, files } = {}) {
        this.child = spawn(command, args, { cwd: t.dir, env: { ...t.env(), ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
        this.child.stderr.on('data', (d) => (t.stderr += d));
        this.ended = once(this.child, 'exit');
        this.capabilities = capabilities;
        this.updates = []; // in order of arrival: those, and the answers to prompts
        this.asked = [];
        this.wrong = [];
        this.errors = [];
        this.requests = new Map();
        this.watchers = [];
        const app = client({ name: 'probe' })
            .onNotification('session/update', () => {})
            .onRequest('session/request_permission', async ({ params, signal }) => {
                this.asked.push(params);
                this.look();
                const gone = new Promise((_, no) => signal.addEventListener('abort', () => no(new Error('withdrawn'))));
                gone.catch(() => this.got({ session: params.sessionId, sessionUpdate: 'withdrawn' }));
                const option = await Promise.race([answer ? answer(params) : 'reject', gone]);
                return { outcome: option ? { outcome: 'selected', optionId: option } : { outcome: 'cancelled' } };
            });
        if (form) app.onRequest('elicitation/create', ({ params }) => form(params));
        if (files) {
            app.onRequest('fs/read_text_file', ({ params }) => files.read(params));
            app.onRequest('fs/write_text_file', ({ params }) => files.write(params));
        }
        this.connection = app.connect(ndJsonStream(
            Writable.toWeb(this.tap(this.child.stdin, (m) => m.method && m.id !== undefined && this.requests.set(m.id, m.method))),
            Readable.toWeb(this.child.stdout.pipe(this.lines((m) => this.check(m)))),
        ));
        this.agent = this.connection.agent;
    }

    // Passes bytes on; each whole line of them is seen as JSON first.
    lines(see) {
        let rest = '';
        return new Transform({
            transform(chunk, _, done) {
                rest += chunk.toString('utf8');
                const all = rest.split('\n');
                rest = all.pop();
                for (const line of all) if (line) see(JSON.parse(line));
                done(null, chunk);
            },
        });
    }
    tap(into, see) {
        const through = this.lines(see);
        through.pipe(into);
        into.on('error', () => {}); // the program was killed
        return through;
    }
    check(m) {
        const name = m.method ? PARAMS[m.method] : m.result !== undefined && RESULTS[this.requests.get(m.id)];
        if (m.method && !name) this.wrong.push(`the agent sent ${m.method}`);
        const found = name && schema[name].safeParse(m.method ? m.params : m.result);
        if (found && !found.success) this.wrong.push(`${name}: ${found.error.message}: ${JSON.stringify(m).slice(0, 500)}`);
        if (!m.method && m.error) this.errors.push(`${this.requests.get(m.id)} ${m.error.code}`);
        // On the wire the order is what it is; the library hands things on when it sees fit.
        if (m.method === 'session/update') this.got({ session: m.params.sessionId, ...m.params.update });
        if (this.requests.get(m.id) === 'session/prompt' && !m.method) this.got({ sessionUpdate: 'answer', ...m.result, error: m.error });
    }

    got(update) {
        this.updates.push(update);
        this.look();
    }
    look() {
        for (const w of this.watchers) w();
    }
    // Waits until there is such a thing.
    async until(find) {
        while (!find())
            await new Promise((done) => {
                const w = () => {
                    this.watchers.splice(this.watchers.indexOf(w), 1);
                    done();
                };
                this.watchers.push(w);
            });
        return find();
    }
    seen(kind, test = () => true) {
        return this.until(() => this.updates.find((u) => u.sessionUpdate === kind && test(u)));
    }
    of(kind) {
        return this.updates.filter((u) => u.sessionUpdate === kind);
    }
    text(kind = 'agent_message_chunk') {
        return this.of(kind).map((u) => u.content.text).join('');
    }
    // Kinds of updates, chunks of one message counted once.
    kinds() {
        return this.updates.map((u) => u.sessionUpdate + (u.status ? ` ${u.status}` : '')).filter((k, i, all) => k !== all[i - 1]);
    }
    // What a call of a tool has come to, its updates laid over each other.
    call(test) {
        const first = this.of('tool_call').find(test);
        assert.ok(first, 'there is no such call');
        return Object.assign({}, ...this.updates.filter((u) => u.toolCallId === first.toolCallId));
    }

    ask(method, params) {
        return this.agent.request(method, params);
    }
    async refused(code, method, params) {
        await this.ask(method, params).catch(() => {}); // the library hides some: a session to be closed that is not there
        assert.equal(this.errors.pop(), `${method} ${code}`);
    }
    initialize() {
        return this.ask('initialize', { protocolVersion: 1, clientCapabilities: this.capabilities, clientInfo: { name: 'probe', version: '1' } });
    }
    prompt(sessionId, text) {
        return this.ask('session/prompt', { sessionId, prompt: typeof text === 'string' ? [{ type: 'text', text }] : text });
    }
    cancel(sessionId) {
        return this.agent.notify('session/cancel', { sessionId });
    }
    forget() {
        this.updates = [];
        this.asked = [];
    }
    async kill() {
        this.child.kill('SIGKILL');
        await this.ended;
        this.connection.close();
    }
    // The end of its input ends the program, with exit code 0.
    async end() {
        this.child.stdin.end();
        const [code, signal] = await this.ended;
        this.connection.close();
        assert.deepEqual(this.wrong, []);
        assert.equal(signal, null);
        assert.equal(code, 0);
    }
}
