// What a case of the SDK tests has at hand: a home, a working folder, a pretend model of its own, and
// query() set up to run tenax. Everything is made anew for each case and gone when it ends.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

export const [build, installed] = process.argv.slice(2, 4).map((p) => resolve(p));
const from_installed = createRequire(join(installed, 'node_modules', 'x'));
const load = (name) => import(pathToFileURL(from_installed.resolve(name)).href);

export const sdk = await load('@anthropic-ai/claude-agent-sdk');
export const { z } = await load('zod');

// The names in the SDK's own types: members of Options, methods of Query.
export function declarations() {
    const text = readFileSync(join(dirname(from_installed.resolve('@anthropic-ai/claude-agent-sdk')), 'sdk.d.ts'), 'utf8');
    const members = (start) => {
        const names = [];
        let depth = 0;
        for (const line of text.slice(text.indexOf(start)).split('\n')) {
            const code = line.trim();
            if (/^(\*|\/[*/])/.test(code)) continue;
            const name = /^([A-Za-z_]+)\??\s*[:(<]/.exec(code);
            if (depth === 1 && name) names.push(name[1]);
            depth += (code.match(/{/g) ?? []).length - (code.match(/}/g) ?? []).length;
            if (depth <= 0 && names.length) break;
        }
        return names;
    };
    return { options: members('export declare type Options = '), methods: members('export declare interface Query ') };
}

// Sanitizers make everything several times slower, and the machine may be busy.
const CASE_MS = 120_000;

const cases = [];
export const test = (name, fn) => cases.push({ name, fn });

// A promise that is kept from outside.
export function promise() {
    let keep;
    const p = new Promise((done) => (keep = done));
    p.keep = keep;
    return p;
}

// 'assistant', 'system/init', 'result/success': what a message is, in short.
export const kind = (m) => (m.subtype ? `${m.type}/${m.subtype}` : m.type);

// Progress depends on time.
const BESIDE = ['tool_progress'];

class Got {
    constructor(messages) {
        this.all = messages;
        this.messages = messages.filter((m) => !BESIDE.includes(kind(m)));
        this.kinds = this.messages.map(kind);
        this.results = this.of('result');
        this.result = this.results.at(-1);
        this.init = this.messages.find((m) => kind(m) === 'system/init');
    }
    of(what) {
        return this.messages.filter((m) => m.type === what || kind(m) === what);
    }
    // The tool results that the client saw.
    get tool_results() {
        return this.of('user')
            .flatMap((m) => (Array.isArray(m.message.content) ? m.message.content : []))
            .filter((b) => b.type === 'tool_result');
    }
}

// Text of a content that is a string or a list of blocks.
export const text_of = (content) =>
    typeof content === 'string' ? content : content.map((b) => b.text ?? '').join('');

// Keys that every run finds in its environment, and that nothing it says or leaves behind may hold.
const PLANTED = { ANTHROPIC_API_KEY: 'sk-ant-test-key-of-the-sdk-cases', GITHUB_TOKEN: 'gh-sdk-0123456789' };
const has_planted = (bytes) => Object.values(PLANTED).some((key) => bytes.includes(key));

class Case {
    constructor(name) {
        this.root = mkdtempSync(join(tmpdir(), 'tenax-sdk-'));
        this.home = join(this.root, 'home');
        this.dir = join(this.root, 'work');
        mkdirSync(this.home);
        mkdirSync(this.dir);
        this.record = join(this.root, 'requests');
        this.stderr = '';
        this.queries = [];
    }

    // Writes a file into the working folder.
    file(name, text) {
        mkdirSync(dirname(join(this.dir, name)), { recursive: true });
        writeFileSync(join(this.dir, name), text);
        return join(this.dir, name);
    }
    read(name) {
        return readFileSync(join(this.dir, name), 'utf8');
    }

    // Starts the pretend model (docs/scenarios.md).
    async model(scenario, { left = false } = {}) {
        const path = join(this.root, 'scenario');
        writeFileSync(path, scenario);
        this.unplayed_is_fine = left;
        this.fake = spawn(join(build, 'tests/fake/fake'), ['--scenario', path, '--record', this.record], {
            stdio: ['ignore', 'pipe', 'pipe'],
        });
        this.fake_said = '';
        this.fake.stderr.on('data', (d) => (this.fake_said += d));
        this.fake_end = once(this.fake, 'exit');
        const [line] = await Promise.race([
            once(createInterface(this.fake.stdout), 'line'),
            this.fake_end.then(() => assert.fail(`the pretend model does not start: ${this.fake_said}`)),
        ]);
        this.base = `http://127.0.0.1:${line.split(' ')[1]}`;
    }

    // The bodies of all model calls so far.
    requests() {
        return readFileSync(this.record, 'utf8')
            .split('\n')
            .filter(Boolean)
            .map((line) => JSON.parse(line).body)
            .filter(Boolean); // a program may ask whether somebody is there
    }
    // The content of the last user message of a request, as text with its tool results.
    last_said(request) {
        const last = request.messages.at(-1);
        assert.equal(last.role, 'user');
        return typeof last.content === 'string'
            ? last.content
            : last.content.map((b) => (b.type === 'tool_result' ? text_of(b.content) : (b.text ?? ''))).join('\n');
    }

    env(more = {}) {
        const { PATH, LANG, ASAN_OPTIONS, UBSAN_OPTIONS, TSAN_OPTIONS } = process.env;
        return {
            PATH, LANG, ASAN_OPTIONS, UBSAN_OPTIONS, TSAN_OPTIONS,
            HOME: this.home,
            TMPDIR: this.root,
            TENAX_HOME: join(this.home, '.tenax'),
            ...(process.env.SDK_PROGRAM && { CLAUDE_CONFIG_DIR: join(this.home, '.tenax'), CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', IS_SANDBOX: '1' }),
            ANTHROPIC_BASE_URL: this.base,
            ...PLANTED,
            ...more,
        };
    }

    // SDK_TRACE=FOLDER keeps what was said in both directions, for finding out. SDK_PROGRAM=FILE is played instead of
    // tenax: Claude Code, say, to see what differs.
    program() {
        const tenax = process.env.SDK_PROGRAM ?? join(build, 'src/tenax');
        const keep = process.env.SDK_TRACE;
        if (!keep) return tenax;
        mkdirSync(keep, { recursive: true });
        const path = join(this.root, `traced-${this.queries.length}`);
        const at = join(keep, `${this.name}-${this.queries.length}`.replaceAll(/[^a-z0-9-]+/gi, '-'));
        writeFileSync(path, `#!/bin/bash
printf '%s\\n' "$@" >'${at}.argv'
exec '${tenax}' "$@" < <(tee '${at}.in') > >(tee '${at}.out') 2> >(tee '${at}.err' >&2)
`);
        chmodSync(path, 0o755);
        return path;
    }

    options(more = {}) {
        return {
            pathToClaudeCodeExecutable: this.program(),
            cwd: this.dir,
            stderr: (text) => (this.stderr += text),
            ...more,
            env: this.env(more.env),
        };
    }

    query(prompt, options) {
        const q = sdk.query({ prompt, options: this.options(options) });
        this.queries.push(q);
        return q;
    }

    // Everything a query says, to its end. An error that the SDK throws behind the result is kept.
    async all(q, on_message = () => {}) {
        const messages = [];
        let thrown;
        try {
            for await (const m of q) {
                messages.push(m);
                await on_message(m, messages);
            }
        } catch (e) {
            thrown = e;
        }
        const got = new Got(messages);
        got.thrown = thrown;
        return got;
    }

    async ask(prompt, options) {
        const got = await this.all(this.query(prompt, options));
        if (got.thrown && !got.result?.is_error) throw got.thrown;
        return got;
    }

    // What the SDK does itself unless it is given another way.
    spawn({ command, args, cwd, env, signal }) {
        return spawn(command, args, { cwd, env, signal, stdio: ['pipe', 'pipe', 'ignore'] });
    }

    // Runs a program on this home; its output.
    async run(program, args, more) {
        const child = spawn(program, args, { cwd: this.dir, env: this.env(more), stdio: ['ignore', 'pipe', 'pipe'] });
        let out = '';
        let said = '';
        child.stdout.on('data', (d) => (out += d));
        child.stderr.on('data', (d) => (said += d));
        const [code] = await once(child, 'close');
        assert.equal(code, 0, `${program} ${args[0]}: ${said}`);
        return out;
    }
    tenax(args) {
        return this.run(join(build, 'src/tenax'), args);
    }
    // A function of the SDK that reads or writes transcripts itself. It looks at its environment, so it
    // gets a process of its own.
    async official(name, ...args) {
        const at = pathToFileURL(from_installed.resolve('@anthropic-ai/claude-agent-sdk')).href;
        const program = `const sdk = await import(${JSON.stringify(at)});
            console.log(JSON.stringify({ is: await sdk[${JSON.stringify(name)}](...${JSON.stringify(args)}) }));`;
        const out = await this.run(process.execPath, ['--input-type=module', '-e', program], {
            CLAUDE_CONFIG_DIR: join(this.home, '.tenax'),
        });
        return JSON.parse(out).is;
    }

    // Every call has its result, in order, and roles alternate: in the last request, which holds all.
    check_history() {
        const all = this.requests();
        if (!all.length) return;
        const messages = all.at(-1).messages;
        messages.forEach((m, i) => {
            assert.equal(m.role, i % 2 ? 'assistant' : 'user', `message ${i}`);
            if (m.role !== 'assistant' || typeof m.content === 'string') return;
            const calls = m.content.filter((b) => b.type === 'tool_use').map((b) => b.id);
            const next = messages[i + 1]?.content;
            const results = Array.isArray(next) ? next.filter((b) => b.type === 'tool_result').map((b) => b.tool_use_id) : [];
            assert.deepEqual(results, calls, `results behind message ${i}`);
        });
    }

    // Until a transcript has this text.
    async wrote(text) {
        const projects = join(this.home, '.tenax/projects');
        const has = () => existsSync(projects) && readdirSync(projects, { recursive: true })
            .some((f) => f.endsWith('.jsonl') && readFileSync(join(projects, f), 'utf8').includes(text));
        for (let i = 0; !has(); i++) {
            assert.ok(i < 3000, `no transcript has ${text}`);
            await new Promise((r) => setTimeout(r, 10));
        }
    }

    // Every process has its socket while it lives.
    async all_ended() {
        const run = join(this.home, '.tenax/run');
        for (let i = 0; existsSync(run) && readdirSync(run).length; i++) {
            assert.ok(i < 2000, 'tenax does not end');
            await new Promise((r) => setTimeout(r, 10));
        }
        assert.doesNotMatch(this.stderr, /Sanitizer|runtime error/);
    }

    // Every file that is left, but for what the pretend model was asked.
    check_secrets() {
        assert.ok(!has_planted(this.stderr), 'a key was said on standard error');
        for (const entry of readdirSync(this.root, { recursive: true, withFileTypes: true })) {
            const path = join(entry.parentPath ?? entry.path, entry.name);
            if (entry.isFile() && path !== this.record && !path.includes('/file-history/'))
                assert.ok(!has_planted(readFileSync(path)), `a key is in ${path}`);
        }
    }

    // A program that was killed, or is still ending, may write once more while its folder is removed.
    async remove() {
        for (let tries = 0; ; tries++)
            try {
                return rmSync(this.root, { recursive: true, force: true });
            } catch (e) {
                if (tries === 40) throw e;
                await new Promise((done) => setTimeout(done, 250));
            }
    }

    async end(failed) {
        for (const q of this.queries) q.close();
        if (!failed) await this.all_ended();
        if (this.fake) {
            this.fake.kill('SIGTERM');
            await this.fake_end;
        }
        if (process.env.SDK_PROGRAM) failed = true; // what it sends and leaves behind is its own affair
        if (!failed && this.fake) {
            this.check_history();
            if (!this.unplayed_is_fine) assert.equal(this.fake_said, '', 'steps of the scenario were not reached');
        }
        if (!failed) this.check_secrets();
        await this.remove();
    }
}

async function run_one({ name, fn }) {
    const t = new Case(name);
    t.name = name;
    let timer;
    try {
        await Promise.race([
            fn(t),
            new Promise((_, no) => {
                timer = setTimeout(() => no(new Error(`took more than ${CASE_MS / 1000} s`)), CASE_MS);
            }),
        ]);
        await t.end(false);
        return null;
    } catch (e) {
        const said = t.stderr && `\ntenax said: ${t.stderr}`;
        const model = t.fake_said && `\nthe model said: ${t.fake_said}`;
        await t.end(true);
        return `${e.stack ?? e}${said}${model}`;
    } finally {
        clearTimeout(timer);
    }
}

// Runs the cases whose names hold one of the words; all without words. A few at a time.
export async function run_cases(words, at_once) {
    const chosen = cases.filter((c) => !words.length || words.some((w) => c.name.includes(w)));
    let next = 0;
    let failed = 0;
    let again = '';
    const worker = async () => {
        while (next < chosen.length) {
            const c = chosen[next++];
            const started = Date.now();
            const wrong = await run_one(c);
            console.log(`${wrong ? 'FAIL' : 'ok'}  ${c.name}  ${Date.now() - started} ms`);
            if (!wrong) continue;
            const why = wrong.replaceAll(/^/gm, '      ');
            console.log(why);
            again += `FAIL  ${c.name}\n${why}\n`;
            failed++;
        }
    };
    await Promise.all(Array.from({ length: at_once }, worker));
    // Whoever sees only the beginning or only the end of a long output is to know.
    if (failed) console.log(`\nWhat failed:\n${again}`);
    console.log(`${chosen.length - failed} passed, ${failed} failed`);
    return failed;
}
