#!/usr/bin/env python3
"""Speaks to tenax exactly as the official Python SDK does, which cannot be installed everywhere.

python_client.py BUILD [WORD...]

What it holds tenax to: `-v` begins with a version; options are two words each; the first line is an initialize
request, whose hooks may be null; every line of standard output is a JSON object of at most 1 MB (a longer one
ends a session of the SDK), and has the members that the SDK reads without asking; only exit code 0 is clean.
"""
import base64
import json
import os
import queue
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import traceback
import zlib

BUILD = os.path.abspath(sys.argv[1])
TENAX = os.path.join(BUILD, "src", "tenax")
FAKE = os.path.join(BUILD, "tests", "fake", "fake")
LONGEST = 1024 * 1024
PATIENCE = 60  # seconds; sanitizers and a busy machine are slow

# What the SDK takes from a message without looking whether it is there.
REQUIRED = {
    "result": ["subtype", "duration_ms", "duration_api_ms", "is_error", "num_turns", "session_id"],
    "system/task_started": ["task_id", "description", "uuid", "session_id"],
    "system/task_notification": ["task_id", "status", "output_file", "summary", "uuid", "session_id"],
    "stream_event": ["uuid", "session_id", "event"],
}
REQUIRED_BLOCK = {
    "text": ["text"],
    "thinking": ["thinking", "signature"],
    "tool_use": ["id", "name", "input"],
    "tool_result": ["tool_use_id"],
}


def check_message(m):
    kind = m["type"]
    if kind == "system":
        kind += "/" + m["subtype"]
    for member in REQUIRED.get(kind, []):
        assert member in m, f"{kind} has no {member}: {m}"
    if kind == "assistant":
        assert isinstance(m["message"]["content"], list) and m["message"]["model"]
    if kind in ("assistant", "user") and isinstance(m["message"]["content"], list):
        for block in m["message"]["content"]:
            for member in REQUIRED_BLOCK.get(block["type"], []):
                assert member in block, f"{block['type']} block has no {member}: {m}"


# Keys that every run finds in its environment, and that nothing it leaves behind may hold.
PLANTED = {
    "ANTHROPIC_API_KEY": "sk-ant-test-key-of-the-python-cases",
    "OPENAI_API_KEY": "sk-test-key-of-the-python-cases",
    "GITHUB_TOKEN": "gh-sdk-0123456789",
}


class Case:
    """A home, a working folder and a pretend model."""

    def __init__(self, scenario):
        self.root = tempfile.mkdtemp(prefix="tenax-py-")
        self.home = os.path.join(self.root, "home")
        self.dir = os.path.join(self.root, "work")
        os.mkdir(self.home)
        os.mkdir(self.dir)
        self.clients = []
        path = self.write("../scenario", scenario)
        self.record = os.path.join(self.root, "requests")
        self.fake = subprocess.Popen([FAKE, "--scenario", path, "--record", self.record], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.base = "http://127.0.0.1:" + self.fake.stdout.readline().split()[1]

    def write(self, name, content):
        path = os.path.join(self.dir, name)
        with open(path, "wb") as f:
            f.write(content if isinstance(content, bytes) else content.encode())
        return path

    def requests(self):
        with open(self.record) as f:
            return [json.loads(line)["body"] for line in f]

    def client(self, *options, **more):
        c = Client(self, options, **more)
        self.clients.append(c)
        return c

    def check_secrets(self):
        for folder, _, names in os.walk(self.root):
            for path in (os.path.join(folder, name) for name in names):
                if path == self.record or "/file-history/" in path or not os.path.isfile(path):
                    continue
                with open(path, "rb") as f:
                    text = f.read()
                assert not any(key.encode() in text for key in PLANTED.values()), "a key is in " + path

    def stop(self):
        for c in self.clients:
            c.process.kill()
            c.process.wait()
        self.fake.terminate()
        self.fake.wait()

    def end(self):
        self.stop()
        shutil.rmtree(self.root, ignore_errors=True)


class Client:
    def __init__(self, case, options, env=None, hooks=None, can_use_tool=None, system_prompt=""):
        self.hooks = hooks or {}
        self.can_use_tool = can_use_tool
        self.counter = 0
        self.messages = []
        self.responses = {}
        self.lines = queue.Queue()
        command = [TENAX, "--output-format", "stream-json", "--verbose"]
        if system_prompt is not None:
            command += ["--system-prompt", system_prompt]
        if can_use_tool:
            command += ["--permission-prompt-tool", "stdio"]
        command += [*options, "--input-format", "stream-json"]
        keep = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG") or k.endswith("SAN_OPTIONS")}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=case.dir,
            env={
                **keep,
                "HOME": case.home,
                "TMPDIR": case.root,
                "TENAX_HOME": os.path.join(case.home, ".tenax"),
                "PWD": case.dir,
                "ANTHROPIC_BASE_URL": case.base,
                "OPENAI_BASE_URL": case.base + "/v1",
                **PLANTED,
                "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
                "CLAUDE_AGENT_SDK_VERSION": "0.1.0",
                **(env or {}),
            },
        )
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def send(self, message):
        self.process.stdin.write((json.dumps(message) + "\n").encode())
        self.process.stdin.flush()

    def say(self, content):
        self.send({"type": "user", "message": {"role": "user", "content": content}, "parent_tool_use_id": None, "session_id": "default"})

    def end_input(self):
        self.process.stdin.close()

    def ask(self, **request):
        """A control request, without waiting for its answer."""
        self.counter += 1
        request_id = f"req_{self.counter}_{os.urandom(4).hex()}"
        self.send({"type": "control_request", "request_id": request_id, "request": request})
        return request_id

    def request(self, **request):
        request_id = self.ask(**request)
        self.until(lambda _: request_id in self.responses)
        answer = self.responses[request_id]
        assert answer["subtype"] == "success", answer
        return answer.get("response", {})

    def initialize(self):
        config = {event: [{"matcher": matcher, "hookCallbackIds": [event]}] for event, (matcher, _) in self.hooks.items()}
        return self.request(subtype="initialize", hooks=config or None)

    def answer(self, message):
        request = message["request"]
        if request["subtype"] == "can_use_tool":
            response = self.can_use_tool(request)
        elif request["subtype"] == "hook_callback":
            response = self.hooks[request["callback_id"]][1](request["input"])
        elif request["subtype"] == "mcp_message":
            response = {"mcp_response": self.serve(request["message"])}
        else:
            raise AssertionError(f"an odd request: {request}")
        if response is None:
            return  # it never answers
        self.send({"type": "control_response", "response": {"subtype": "success", "request_id": message["request_id"], "response": response}})

    def serve(self, message):
        """An MCP server without tools, inside of the client."""
        if message["method"] == "initialize":
            version = message["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "here", "version": "1"}}
        else:
            result = {"tools": []} if message["method"] == "tools/list" else {}
        return {"jsonrpc": "2.0", "id": message.get("id", 0), "result": result}

    def take(self):
        """The next line, dealt with. None at the end."""
        line = self.lines.get(timeout=PATIENCE)
        if line is None:
            return None
        assert len(line) <= LONGEST, f"a line of {len(line)} bytes: {line[:200]}"
        assert line.startswith(b"{") and line.endswith(b"}\n"), line[:200]
        m = json.loads(line.decode())  # strictly UTF-8
        if m["type"] == "control_response":
            self.responses[m["response"]["request_id"]] = m["response"]
        elif m["type"] == "control_request":
            self.answer(m)
        elif m["type"] != "control_cancel_request":
            check_message(m)
            self.messages.append(m)
        return m

    def until(self, fn):
        while True:
            m = self.take()
            assert m is not None, f"the output ends: {self.process.stderr.read().decode()}"
            if fn(m):
                return m

    def result(self):
        return self.until(lambda m: m["type"] == "result")

    def rest(self):
        """To the end. The exit code."""
        while self.take():
            pass
        self.process.wait(PATIENCE)
        said = self.process.stderr.read().decode(errors="replace")
        assert "Sanitizer" not in said and "runtime error" not in said, said
        return self.process.returncode

    def of(self, kind):
        return [m for m in self.messages if m["type"] == kind or f"{m['type']}/{m.get('subtype')}" == kind]


cases = []


def case(scenario):
    def register(fn):
        cases.append((fn.__name__.replace("_", " "), scenario, fn))
        return fn

    return register


@case("step\n text unused\n")
def the_version(t):
    shown = subprocess.run([TENAX, "-v"], capture_output=True, timeout=PATIENCE, check=True)
    assert re.match(rb"[0-9]+\.[0-9]+\.[0-9]+", shown.stdout), shown


@case("step\n text Hello.\n")
def one_prompt_and_the_end_of_input_at_once(t):
    c = t.client()
    c.initialize()
    c.say("hi")
    c.end_input()
    assert c.rest() == 0
    kinds = [m["type"] for m in c.messages]
    assert kinds == ["system", "assistant", "result"], kinds
    assert c.messages[-1]["result"] == "Hello."
    assert "".join(b["text"] for b in t.requests()[0].get("system", [])) == "", "the empty prompt is empty"


@case("step\n text Hello.\n")
def no_waiting_for_initialize(t):
    c = t.client()
    c.ask(subtype="initialize", hooks=None)
    c.say("hi")
    c.end_input()
    assert c.rest() == 0
    assert c.messages[-1]["result"] == "Hello."


@case("step\n call StructuredOutput {\"n\": 1}\n")
def every_option_as_two_words(t):
    other = os.path.join(t.root, "other")
    os.mkdir(other)
    server = {"mcpServers": {"here": {"type": "sdk", "name": "here"}}}
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    c = t.client(
        "--append-system-prompt", "Be brief.",
        "--tools", "Read,Bash",
        "--allowedTools", "Read,Bash(git log:*)",
        "--max-turns", "5",
        "--max-budget-usd", "1.5",
        "--disallowedTools", "WebFetch,Bash(rm:*)",
        "--task-budget", "100000",
        "--model", "claude-sonnet-4-5",
        "--fallback-model", "claude-haiku-4-5",
        "--betas", "context-1m-2025-08-07",
        "--permission-mode", "acceptEdits",
        "--session-id=6f1b2c3d-0a1b-4c2d-8e3f-405060708090",
        "--settings", json.dumps({"permissions": {"deny": ["Read(./secret)"]}}),
        "--add-dir", other,
        "--mcp-config", json.dumps(server),
        "--include-partial-messages",
        "--include-hook-events",
        "--strict-mcp-config",
        "--setting-sources=",
        "--thinking", "disabled",
        "--effort", "high",
        "--json-schema", json.dumps(schema),
        system_prompt=None,
    )
    c.initialize()
    c.say("count")
    c.result()
    c.end_input()
    assert c.rest() == 0
    init = c.of("system/init")[0]
    assert sorted(init["tools"]) == ["Bash", "ExecuteExtraTool", "Read", "SearchExtraTools", "StructuredOutput"], init["tools"]
    assert init["permissionMode"] == "acceptEdits"
    assert init["model"] == "claude-sonnet-4-5"
    assert init["session_id"] == "6f1b2c3d-0a1b-4c2d-8e3f-405060708090"
    assert c.messages[-1]["structured_output"] == {"n": 1}
    assert "Be brief." in json.dumps(t.requests()[0]["system"])


@case("step\n text ok\n")
def no_tools_at_all(t):
    c = t.client("--tools", "")
    c.initialize()
    c.say("hi")
    c.end_input()
    assert c.rest() == 0
    assert c.of("system/init")[0]["tools"] == []
    assert not t.requests()[0].get("tools")


@case('''
step
  call Bash {"command": "echo one > made.txt"}
step
  if-prompt "well done"
  text Made.
''')
def callbacks(t):
    seen = []

    def leave(request):
        seen.append(request["tool_name"])
        return {"behavior": "allow", "updatedInput": request["input"]}

    def after(hook):
        seen.append(hook["hook_event_name"])
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "well done"}}

    c = t.client(
        can_use_tool=leave,
        hooks={"PreToolUse": (None, lambda hook: seen.append(hook["hook_event_name"]) or {}), "PostToolUse": ("Bash|Edit", after)},
        env={"CLAUDE_CODE_SDK_READS_SESSION_STATE": "1"},
    )
    c.initialize()
    c.say("make it")
    assert c.result()["result"] == "Made."
    c.end_input()
    assert c.rest() == 0
    assert seen == ["PreToolUse", "Bash", "PostToolUse"], seen
    states = [m["state"] for m in c.of("system/session_state_changed")]
    assert states == ["running", "requires_action", "running", "idle"], states


@case('''
step
  call Bash {"command": "echo one > made.txt"}
step
  text Not made.
''')
def input_that_ends_while_a_permission_is_asked(t):
    c = t.client(can_use_tool=lambda request: None)
    c.initialize()
    c.say("make it")
    c.until(lambda m: m["type"] == "control_request")
    c.end_input()
    assert c.rest() == 0
    assert c.messages[-1]["result"] == "Not made."
    assert len(c.messages[-1]["permission_denials"]) == 1
    assert not os.path.exists(os.path.join(t.dir, "made.txt"))


@case('''
step
  call Bash {"command": "echo one > made.txt"}
step
  text Not made.
''')
def input_that_ends_while_a_hook_is_asked(t):
    c = t.client("--permission-mode", "bypassPermissions", hooks={"PreToolUse": (None, lambda hook: None)})
    c.initialize()
    c.say("make it")
    c.until(lambda m: m["type"] == "control_request")
    c.end_input()
    assert c.rest() == 0
    assert not os.path.exists(os.path.join(t.dir, "made.txt")), "a guard that cannot be asked does not let through"


@case('''
step
  text One
  pause 60s
  text two.
step
  text Three.
''')
def interrupt_and_go_on(t):
    c = t.client("--include-partial-messages")
    c.initialize()
    c.say("count")
    c.until(lambda m: m["type"] == "stream_event" and "delta" in m["event"])
    c.request(subtype="interrupt")
    if not c.of("result"):
        c.result()
    assert c.of("result")[0]["subtype"] == "error_during_execution"
    c.request(subtype="set_permission_mode", mode="plan")
    c.request(subtype="set_model", model=None)
    c.say("go on")
    assert c.result()["result"] == "Three."
    assert c.request(subtype="mcp_status") == {"mcpServers": []}
    assert c.request(subtype="get_context_usage")["totalTokens"] > 0
    c.end_input()
    assert c.rest() == 0, "the last result counts"


@case('step\n fault status 401 "invalid x-api-key"\n text never\n')
def an_error_is_in_the_exit_code(t):
    c = t.client()
    c.initialize()
    c.say("hi")
    c.end_input()
    assert c.rest() == 1
    assert c.messages[-1]["is_error"] is True
    assert c.messages[-1]["api_error_status"] == 401


@case('step\n call Bash {"command": "sleep 600"}\nstep\n text never\n')
def ended_from_outside(t):
    c = t.client("--permission-mode", "bypassPermissions")
    c.initialize()
    c.say("sleep")
    c.until(lambda m: m["type"] == "assistant")
    c.process.send_signal(signal.SIGTERM)
    assert c.rest() == 143, c.process.returncode


@case("step\n if-prompt \"\U0001f980 na\u00efve\"\n text \U0001f980 \u65e5\u672c\u8a9e\n")
def words_in_any_script(t):
    c = t.client()
    c.initialize()
    c.say("\U0001f980 na\u00efve")  # goes out as escapes, one of them a pair of surrogates
    c.end_input()
    assert c.rest() == 0
    assert c.messages[-1]["result"] == "\U0001f980 \u65e5\u672c\u8a9e"


@case(r'''
step
  text "a broken \xff byte"
  call Bash {"command": "printf 'a\\377b'; printf '\\355\\240\\200'", "description": "half a pair: \ud83d"}
  call Read {"file_path": "bytes.txt"}
  call Glob {"pattern": "odd*"}
  call Grep {"pattern": "a", "path": "bytes.txt", "output_mode": "content"}
  call Edit {"file_path": "bytes.txt", "old_string": "b", "new_string": "c \udc00"}
step
  text ok
''')
def bytes_that_are_no_text(t):
    t.write("bytes.txt", b"a\xff\nb\xed\xa0\x80\n")
    t.write("odd\udcff.txt", b"")
    c = t.client(
        can_use_tool=lambda request: {"behavior": "allow", "updatedInput": request["input"]},
        hooks={"PreToolUse": (None, lambda hook: {}), "PostToolUse": (None, lambda hook: {}), "PostToolUseFailure": (None, lambda hook: {})},
    )
    c.initialize()
    c.say("look")
    assert c.result()["result"] == "ok"
    c.end_input()
    assert c.rest() == 0
    assert len(c.of("user")) == 5


@case("step\n think Let me see.\n text ok\n")
def thinking_without_a_signature(t):
    c = t.client("--model", "openai/gpt-5", "--include-partial-messages")
    c.initialize()
    c.say("hi")
    c.end_input()
    assert c.rest() == 0  # check_message() looks at the blocks
    assert any(m["message"]["content"][0]["type"] == "thinking" for m in c.of("assistant"))


@case('''
step
  call Bash {"command": "sleep 0.2; echo done", "run_in_background": true}
step
  text Started.
step
  sticky
  text Heard.
''')
def background_commands(t):
    c = t.client("--permission-mode", "bypassPermissions")
    c.initialize()
    c.say("start it")
    c.until(lambda m: m.get("subtype") == "task_notification")
    c.end_input()
    assert c.rest() == 0
    assert len(c.of("system/task_started")) == 1


def noise(size):
    """A picture that does not get smaller: a PNG of this many bytes, about."""
    width, height = 1000, max(1, size // 3000)
    rows = b"".join(b"\0" + os.urandom(width * 3) for _ in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b"")


@case('''
step
  call Read {"file_path": "photo.png"}
  call Read {"file_path": "long.txt"}
  call Read {"file_path": "plots.ipynb"}
  call Bash {"command": "cat odd.txt"}
  call Grep {"pattern": "x", "path": "long.txt", "output_mode": "content", "head_limit": 100000}
  call Edit {"file_path": "long.txt", "old_string": "first", "new_string": "1st"}
step
  text ok
''')
def large_results(t):
    photo = noise(3_000_000)
    t.write("photo.png", photo)
    t.write("long.txt", "first\n" + ('"' * 400 + "x\n") * 5000)
    t.write("odd.txt", "\u0001" * 2_000_000)  # six bytes of JSON for each
    plot = {"output_type": "display_data", "metadata": {}, "data": {"image/png": base64.b64encode(noise(600_000)).decode()}}
    cell = {"cell_type": "code", "metadata": {}, "source": [], "execution_count": 1, "outputs": [plot]}
    t.write("plots.ipynb", json.dumps({"cells": [cell] * 5, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    heard = []
    c = t.client("--permission-mode", "bypassPermissions",
                 hooks={"PostToolUse": (None, lambda hook: heard.append(hook["tool_name"]) or {})})
    c.initialize()
    c.say("look at them")
    assert c.result()["result"] == "ok"
    c.end_input()
    assert c.rest() == 0
    results = [m["message"]["content"][0] for m in c.of("user")]
    assert not any(r.get("is_error") for r in results), [r for r in results if r.get("is_error")]
    assert len(results) == 6 and len(heard) == 6, heard
    sent = json.dumps(t.requests()[-1]["messages"][-1])
    assert base64.b64encode(photo).decode() in sent, "the model has seen all of the picture"


def main(words):
    failed = 0
    chosen = [c for c in cases if not words or any(w in c[0] for w in words)]
    for name, scenario, fn in chosen:
        t = Case(scenario)
        try:
            fn(t)
            t.stop()
            t.check_secrets()
            print("ok ", name)
        except Exception:
            failed += 1
            print("FAIL", name)
            traceback.print_exc(file=sys.stdout)
            for c in t.clients:
                c.process.kill()
                print("tenax said:", c.process.stderr.read().decode(errors="replace")[-2000:])
        finally:
            t.end()
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main(sys.argv[2:]))
