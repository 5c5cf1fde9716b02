# SPDX-License-Identifier: Apache-2.0
"""Every example of host-shim/examples does what it shows: capability, approval, secret, streaming. The ones that load the
provider are run twice, with a person who says yes and one who says no; what they ask is answered on standard input."""
import contextlib
import functools
import hashlib
import json
import os
import pathlib
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import tomllib

import tap
from fake_model import FakeModel
from packages import node_packages

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = ROOT / "host-shim" / "examples"
PROVIDER = os.environ["CODE_EXECUTE_SO"]
TOOLHOST = os.environ["TOOLHOST"]
BUILD = pathlib.Path(os.environ["BUILD"])
PROGRAMS = ("gateway.c", "gateway.py", "gateway.mjs", "gateway.go", "gateway.rs",
            "files.c", "files.py", "files.mjs", "files.go", "files.rs", "tools.c", "tools.py", "openai_loop.py", "interrupt.py",
            "approver.py", "webhook_approver.py", "content_checker.py")
# Long enough that no length of its own is another's; never printed by anything but the program that was given it.
SECRET = "s3cr3t-" + secrets.token_hex(16 + secrets.randbelow(8))
folder = tempfile.TemporaryDirectory(prefix="toolhost-examples-")
HOME = pathlib.Path(folder.name)
ENVIRONMENT = {**{k: v for k, v in os.environ.items() if k == "PATH"},
               "HOME": folder.name, "API_KEY": SECRET, "CODE_EXEC_POLICY": str(EXAMPLES / "policy.json"),
               "TOOLHOST": TOOLHOST, "PYTHONDONTWRITEBYTECODE": "1"}


def run(*command, answer="", without=None, **environment):
    inherited = {name: value for name, value in ENVIRONMENT.items() if name != without}
    return subprocess.run([str(word) for word in command], input=answer, capture_output=True, text=True, timeout=120,
                          cwd=HOME, env={**inherited, **environment})


@functools.cache
def mode_is_there():
    """Asked about one language: doctor starts every interpreter, and Python's with all that it prepares."""
    policy = HOME / "one-language.json"
    policy.write_text('{"only_languages": ["sh"]}')
    return run(TOOLHOST, "doctor", "--plugin", PROVIDER, "--policy", policy).returncode == 0


@functools.cache
def has_libraries():
    return run("/usr/bin/python3", "-c", "import pandas, matplotlib").returncode == 0


def usable():
    """Skips where this machine cannot run anything; elsewhere an example that does not run is a failure."""
    if not mode_is_there():
        raise tap.Skip("process mode is not available on this machine")


def needs(*programs):
    for program in programs:
        if not shutil.which(program):
            raise tap.Skip(f"there is no {program}")


def build(*command, **environment):
    done = run(*command, **environment)
    tap.equal(done.returncode, 0, f"{command[0]} says {done.stderr}")


def result_of(done):
    """What stands behind the line that begins with "result:"."""
    streamed, found, text = done.stdout.partition("result: ")
    tap.true(found, f"a result: {done.stdout!r} {done.stderr[-2000:]!r}")
    return streamed, json.loads(text)


def shows_everything(*command, **environment):
    usable()
    yes = run(*command, answer="y\n", **environment)
    streamed, result = result_of(yes)
    expected = f"length {len(SECRET)}\n[redacted:api-key]\n"
    tap.equal(result["status"], "completed", f"status, with {result['error']} and {yes.stderr[-2000:]}")
    tap.equal(result["stdout"], expected, "the program had the secret, and it was blotted out")
    tap.equal(streamed[-len(expected):], expected, "streamed before the result")
    tap.contains(yes.stderr + streamed, '"request_sha256"', "the request was shown")
    tap.equal(yes.returncode, 0, "exit status")
    tap.lacks(yes.stdout + yes.stderr, SECRET, "what was printed")
    for answer in ("n\n", ""):
        no = run(*command, answer=answer, **environment)
        streamed, result = result_of(no)
        tap.equal((result["status"], result["stdout"]), ("denied", ""), "nothing ran")
        tap.lacks(streamed, f"length {len(SECRET)}", "streamed")
        tap.true(no.returncode != 0, "an exit status that says so")
    bare = run(*command, answer="y\n", without="API_KEY", **environment)
    tap.equal(result_of(bare)[1]["error"]["code"], "unknown_secret", "a secret that the gateway has not")


def shows_files(*command, **environment):
    """A CSV goes in by reference; a chart and the table of the last value come out."""
    usable()
    if not has_libraries():
        raise tap.Skip("the program's libraries are not installed (Debian: python3-pandas, python3-matplotlib)")
    for old in HOME.glob("kept-*"):
        old.unlink()
    data = HOME / "numbers.csv"
    data.write_text("month,sales\n1,10\n2,17\n3,12\n")
    nobody = run(*command, data, **environment)
    tap.equal((result_of(nobody)[1]["status"], list(HOME.glob("kept-*"))), ("denied", []), "a policy that asks")
    done = run(*command, data, **environment, CODE_EXEC_POLICY=str(EXAMPLES / "files.json"))
    result = result_of(done)[1]
    tap.equal((done.returncode, result["status"], result["stderr"]), (0, "completed", ""), f"status, with {result['error']} and {done.stderr[-2000:]}")
    tap.contains(done.stderr, hashlib.sha256(data.read_bytes()).hexdigest(), "the record has the file's hash")
    [value] = result["results"]
    tap.equal((value["role"], value["text"].split()[:2]), ("value", ["month", "sales"]), "the table")
    tap.contains(value["text"], "mean", "the table")
    [chart] = result["files"]
    picture = (HOME / chart["uri"]).read_bytes()
    tap.equal((chart["path"], chart["uri"], picture[:8]), ("chart.png", "kept-1", b"\x89PNG\r\n\x1a\n"), "the chart")
    tap.equal(hashlib.sha256(picture).hexdigest(), chart["sha256"], "what the gateway keeps")


def calls_tools(*command):
    """A program calls a tool of the gateway twelve times; the model gets the sum, and the log each call."""
    usable()
    policy = str(EXAMPLES / "tools.json")
    unnamed = run(*command)
    tap.equal(result_of(unnamed)[1]["error"]["code"], "policy_denied", "a policy that names no tool")
    done = run(*command, CODE_EXEC_POLICY=policy)
    result = result_of(done)[1]
    tap.equal((done.returncode, result["stdout"]), (0, "7800\n"), f"{result['error']} {result['stderr']} {done.stderr[-2000:]}")
    tap.equal([(call["seq"], call["tool"], call["status"]) for call in result["calls"]], [(seq, "query_database", "ok") for seq in range(1, 13)], "calls")
    records = [json.loads(line.partition(" ")[2]) for line in done.stderr.splitlines() if line.startswith("audit: ")]
    tap.equal([record["event"] for record in records], ["start", *["tool_call", "tool_call_end"] * 12, "end"], "the audit")
    tap.equal({record["run_id"] for record in records}, {result["run_id"]}, "the run's id")


def test_each_is_short():
    for name in PROGRAMS:
        lines = [line for line in (EXAMPLES / name).read_text().splitlines() if line.strip()]
        tap.true(len(lines) < 80, f"{name} has {len(lines)} lines that are not blank")


def test_no_example_is_without_a_test():
    here = {path.name for path in EXAMPLES.iterdir() if path.suffix in (".c", ".py", ".mjs", ".go", ".rs")}
    tap.equal(here, set(PROGRAMS), "programs")


def c_program(name):
    needs("gcc")
    build("gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'abi'}",
          "-o", HOME / f"c-{name}", EXAMPLES / f"{name}.c", "-ldl")
    return HOME / f"c-{name}"


def test_c():
    shows_everything(c_program("gateway"), PROVIDER)


def test_files_in_c():
    shows_files(c_program("files"), PROVIDER)


def test_tools_in_c():
    calls_tools(c_program("tools"), PROVIDER)


def test_tools_in_python():
    calls_tools(sys.executable, EXAMPLES / "tools.py", PROVIDER)


def test_python():
    shows_everything(sys.executable, EXAMPLES / "gateway.py", PROVIDER)


def test_files_in_python():
    shows_files(sys.executable, EXAMPLES / "files.py", PROVIDER)


def node_program(name):
    try:
        packages = node_packages.install(pathlib.Path(__file__).parent / "npm", BUILD)
    except node_packages.Unavailable as reason:
        raise tap.Skip(str(reason)) from reason
    # A module is looked for from where the file stands.
    return shutil.copy(EXAMPLES / f"{name}.mjs", packages)


def test_node():
    shows_everything("node", node_program("gateway"), PROVIDER)


def test_files_in_node():
    shows_files("node", node_program("files"), PROVIDER)


def go_program(name):
    needs("go", "gcc")
    cache = BUILD / "go-cache"
    cache.mkdir(exist_ok=True)
    build("go", "build", "-o", HOME / f"go-{name}", EXAMPLES / f"{name}.go", GO111MODULE="off", GOCACHE=str(cache),
          GOFLAGS="", CGO_ENABLED="1", CGO_CFLAGS=f"-I{ROOT / 'abi'}", CGO_LDFLAGS="-ldl")
    if shutil.which("gofmt"):
        tap.equal(run("gofmt", "-l", EXAMPLES / f"{name}.go").stdout, "", "files that gofmt would change")
    return HOME / f"go-{name}"


def test_go():
    shows_everything(go_program("gateway"), PROVIDER)


def test_files_in_go():
    shows_files(go_program("files"), PROVIDER)


def rust_program(name):
    # rustup's, which comes first in some PATHs, starts only where it has been set up for this user.
    found = [path for path in (shutil.which("rustc"), "/usr/bin/rustc") if path and os.access(path, os.X_OK)]
    working = [path for path in found if run(path, "--version").returncode == 0]
    if not working:
        raise tap.Skip("there is no rustc that starts")
    build(working[0], "-D", "warnings", "-C", "panic=abort", "-o", HOME / f"rust-{name}", EXAMPLES / f"{name}.rs")
    return HOME / f"rust-{name}"


def test_rust():
    shows_everything(rust_program("gateway"), PROVIDER)


def test_files_in_rust():
    shows_files(rust_program("files"), PROVIDER)


def test_interrupt():
    shows_everything(sys.executable, EXAMPLES / "interrupt.py", PROVIDER)


def call(arguments, name="code_execute"):
    return {"role": "assistant", "content": None, "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}]}


def test_openai_loop():
    usable()
    code = {"language": "sh", "code": "echo length ${#KEY}; echo $KEY", "secrets": {"KEY": "{{secret:api-key}}"}}
    last = {"role": "assistant", "content": "It is done."}
    with FakeModel(call(json.dumps(code)), call("{"), call("{}", "rm"), call(json.dumps(code)), last) as model:
        done = run(sys.executable, EXAMPLES / "openai_loop.py", PROVIDER, "How long?", answer="y\nn\n",
                   OPENAI_BASE_URL=model.url)
    tap.equal(done.returncode, 0, done.stderr[-2000:])
    tap.contains(done.stdout, "answer: It is done.\n", "standard output")
    tap.contains(done.stdout, f"length {len(SECRET)}\n[redacted:api-key]\n", "streamed output")
    [tool] = model.requests[0]["tools"]
    tap.equal((tool["type"], tool["function"]["name"]), ("function", "code_execute"), "tool")
    tap.true("code" in tool["function"]["parameters"]["properties"], "a tool with parameters")
    told = [json.loads(message["content"]) for message in model.requests[-1]["messages"] if message["role"] == "tool"]
    tap.equal(told[0]["stdout"], f"length {len(SECRET)}\n[redacted:api-key]\n", "what the model was told")
    tap.contains(told[1]["error"], "no JSON", "garbled arguments")
    tap.contains(told[2]["error"], "no such tool", "another tool")
    tap.equal((told[3]["status"], told[3]["error"]["code"]), ("denied", "approval_denied"), "the second time")
    tap.lacks(json.dumps(model.requests) + done.stdout + done.stderr, SECRET, "all of it")


def test_openai_loop_ends():
    with FakeModel(call("{")) as model:
        done = run(sys.executable, EXAMPLES / "openai_loop.py", PROVIDER, "?", OPENAI_BASE_URL=model.url)
    tap.equal((done.returncode, done.stdout), (0, "answer: the model did not come to an end\n"), "the end")


def approved(code, *options, language="sh", **more):
    """The result of a call that the approver decides about."""
    done = run(TOOLHOST, "invoke", "--plugin", PROVIDER, "--audit", "/dev/null", "--approve",
               f"cmd:{EXAMPLES / 'approver.py'}", *options, answer=json.dumps({"language": language, "code": code, **more}))
    return json.loads(done.stdout)


def test_approver():
    usable()
    tap.equal(approved("echo yes")["stdout"], "yes\n", "a small program")
    key = HOME / "key"
    key.write_text(SECRET)
    granted = ("--cap", "sandbox.exec.secrets", "--secret", f"api-key={key}")
    for result, reason in (
            (approved("echo no", *granted, secrets={"KEY": "{{secret:api-key}}"}), "no secrets without a person: api-key"),
            (approved("#" * 5000), "make it smaller"),
            (approved("1", language="perl"), "only python, sh, bash run here")):
        tap.equal((result["status"], result["error"]["code"]), ("denied", "approval_denied"), "status")
        tap.contains(result["error"]["message"], reason, "reason")


def test_approver_fails_closed():
    for garbage in ("", "{}", "[]"):
        done = run(sys.executable, EXAMPLES / "approver.py", answer=garbage)
        tap.true(done.returncode != 0 and not done.stdout, "no decision")


@contextlib.contextmanager
def webhook(key):
    """A running webhook_approver.py, and its address."""
    with subprocess.Popen([sys.executable, EXAMPLES / "webhook_approver.py", key], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=ENVIRONMENT) as server:
        try:
            yield server, server.stdout.readline().strip()
        finally:
            server.kill()


def key_file(name):
    path = HOME / name
    path.write_text(secrets.token_hex(32))
    path.chmod(0o600)
    return path


def asked_by_webhook(url, key):
    request = json.dumps({"language": "sh", "code": "echo ran"})
    with subprocess.Popen([TOOLHOST, "invoke", "--plugin", PROVIDER, "--audit", "/dev/null", "--approve", f"webhook:{url}",
                           "--webhook-key", key], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env=ENVIRONMENT, cwd=HOME) as caller:
        caller.stdin.write(request)
        caller.stdin.close()
        caller.stdin = None
        yield
        output, errors = caller.communicate(timeout=120)
        yield json.loads(output), errors


def test_webhook_approver():
    usable()
    if os.environ.get("LIBCURL") == "false":
        raise tap.Skip("toolhost was built without libcurl")
    key = key_file("webhook-key")
    with webhook(key) as (server, url):
        for word, status in (("y", "completed"), ("n", "denied")):
            steps = asked_by_webhook(url, key)
            next(steps)
            question, code = server.stdout.readline().split(" ", 1)
            tap.equal(json.loads(code), "echo ran", "what the people are shown")
            server.stdin.write(f"{question} {word}\n")
            server.stdin.flush()
            result, errors = next(steps)
            tap.equal((result["status"], result["stdout"]), (status, "ran\n" if word == "y" else ""), errors)
        steps = asked_by_webhook(url, key_file("another-key"))
        next(steps)
        tap.equal(next(steps)[0]["status"], "denied", "who has not the key is not even shown")


def checked(tool, code, language="python", files=(), **terms):
    """The result of a call whose program content_checker.py has read."""
    usable()
    command = {"action": "refuse", "required": True, "timeout_ms": 60000, **terms,
               "argv": [sys.executable, "-I", str(EXAMPLES / "content_checker.py"), *map(str, tool)]}
    policy = HOME / "checked.json"
    policy.write_text(json.dumps({"approval": {"default": "allow"}, "content_checks": {"command": command}}))
    request = {"language": language, "code": code, "files": [{"path": path, "content": text} for path, text in files]}
    done = run(TOOLHOST, "invoke", "--plugin", PROVIDER, "--policy", policy, "--audit", "/dev/null", answer=json.dumps(request))
    return json.loads(done.stdout)


def refused(result, words):
    tap.equal((result["status"], result["error"] and result["error"]["code"], result["stdout"]), ("denied", "content_refused", ""), str(result))
    tap.contains(result["error"]["message"], words)


def test_content_checker_with_bandit():
    needs("bandit")
    tool = ["bandit", shutil.which("bandit")]
    tap.equal(checked(tool, "print(6 * 7)")["stdout"], "42\n")
    refused(checked(tool, "print(1)\nimport os; os.system('true')  # nosec"), "line 2, column 12: Starting a process with a shell")
    refused(checked(tool, "import a", files=[("b.txt", "eval('1')"), ("c/a.py", "\neval(input())")]), "c/a.py line 2, column 1: Use of possibly")
    result = checked(tool, "print(eval('6 * 7'))", action="warn")
    tap.equal((result["stdout"], len(result["notes"])), ("42\n", 1))
    tap.contains(result["notes"][0], "(B307)")
    refused(checked(tool, "print("), "it did not end with status 0")


RULES = """rules:
  - {id: processes, languages: [javascript], severity: ERROR, message: starts programs, pattern: require("child_process")}
  - {id: fetches, languages: [bash], severity: ERROR, message: fetches something, pattern: curl ...}
"""


def test_content_checker_with_semgrep():
    """Without a gateway: semgrep takes so long to start that the time of a check may end first."""
    needs("semgrep")
    rules = HOME / "rules.yml"
    rules.write_text(RULES)
    for language, code, rule in (("javascript", "1\nrequire( 'child_process' )  // nosemgrep", "processes"),
                                 ("javascript", "// require('child_process')", None), ("bash", "true\ncurl x", "fetches"), ("bash", "echo curl", None)):
        done = run(sys.executable, "-I", EXAMPLES / "content_checker.py", "semgrep", shutil.which("semgrep"), rules,
                   answer=json.dumps({"language": language, "code": code, "files": []}))
        tap.equal(done.returncode, 0, done.stderr)
        tap.equal([(found["file"], found["line"], found["rule"]) for found in json.loads(done.stdout)["findings"]],
                  [(None, 2, rule)] if rule else [], code)
    for language, code in (("javascript", "require('child_process'"), ("python", "1")):  # no program, and one that no rule is about
        done = run(sys.executable, "-I", EXAMPLES / "content_checker.py", "semgrep", shutil.which("semgrep"), rules,
                   answer=json.dumps({"language": language, "code": code, "files": []}))
        tap.true(done.returncode != 0 and not done.stdout, (code, done))


def test_content_checker_says_nothing_of_what_it_cannot_read():
    """Whatever is not checked is refused where the check is required."""
    for tool, language in ((["bandit", "/nowhere/bandit"], "python"), (["bandit", "/nowhere/bandit"], "sh"), (["bandit", "/bin/false"], "python"),
                           (["bandit", "/bin/true"], "python"), (["semgrep", "/bin/true", "/nowhere/rules"], "perl"), (["other"], "python"), ([], "python")):
        refused(checked(tool, "1", language), "the content check of the policy's command failed: it did not end with status 0")


def load_yaml(text):
    try:
        import yaml
    except ImportError as error:
        raise tap.Skip("there is no python3-yaml") from error
    return yaml.safe_load(text)


PARSERS = {"json": json.loads, "toml": tomllib.loads, "yaml": load_yaml}
# Where each client's configuration says which program it starts.
CLIENTS = {
    "claude-code.json": lambda c: c["mcpServers"]["code-execute"],
    "claude-desktop.json": lambda c: c["mcpServers"]["code-execute"],
    "cursor.json": lambda c: c["mcpServers"]["code-execute"],
    "vscode.json": lambda c: c["servers"]["code-execute"],
    "codex.toml": lambda c: c["mcp_servers"]["code-execute"],
    "litellm.yaml": lambda c: c["mcp_servers"]["code_execute"],
    "agentgateway.yaml": lambda c: c["binds"][0]["listeners"][0]["routes"][0]["backends"][0]["mcp"]["targets"][0]["stdio"],
}


def configuration(name):
    return PARSERS[name.rpartition(".")[2]]((EXAMPLES / "mcp" / name).read_text())


def test_mcp_configurations_start_a_server():
    tap.equal({path.name for path in (EXAMPLES / "mcp").iterdir()}, set(CLIENTS), "files")
    hello = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}},
             {"jsonrpc": "2.0", "method": "notifications/initialized"},
             {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}]
    commands = {}
    for name, find in CLIENTS.items():
        with contextlib.suppress(tap.Skip):
            server = find(configuration(name))
            tap.equal(server.get("command", server.get("cmd")), "/usr/bin/toolhost", name)
            commands.setdefault(tuple(server["args"]), []).append(name)
    tap.true(len(commands) > 1 or "yaml" not in sys.modules, "commands of both kinds of clients")
    for arguments, names in commands.items():
        done = run(TOOLHOST, *arguments, TOOLHOST_PLUGIN=PROVIDER,
                   answer="".join(json.dumps(message) + "\n" for message in hello))
        answers = {message["id"]: message["result"] for message in map(json.loads, done.stdout.splitlines())}
        tap.equal([tool["name"] for tool in answers[2]["tools"]], ["code_execute"], f"{names}: {done.stderr}")


def test_the_documented_configurations_are_these():
    shown = re.findall(r"^```(json|toml|yaml)\n(.*?)^```", (ROOT / "docs" / "mcp.md").read_text(), re.M | re.S)
    files = [configuration(name) for name in CLIENTS]
    tap.true(len(shown) >= 5, "configurations in docs/mcp.md")
    for kind, text in shown:
        document = PARSERS[kind](text)
        # A policy is no client's: the suite mcp runs a server with it.
        tap.true(document in files or list(document) == ["approval"], f"a file with {text}")


def test_the_list_of_tools_is_one():
    """toolhost manifest --format mcp and the server say the same, but for what the policy does not allow: that is not offered."""
    manifest = json.loads(run(TOOLHOST, "manifest", "--plugin", PROVIDER, "--format", "mcp").stdout)
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}}
    done = run(TOOLHOST, "mcp", "--result", "full", "--plugin", PROVIDER, answer=json.dumps(asked) + "\n")
    tools = json.loads(done.stdout)["result"]["tools"]
    inputs = [tool.pop("inputSchema")["properties"] for tool in tools]
    of_manifest = [tool.pop("inputSchema")["properties"] for tool in manifest]
    for offered, known in zip(inputs, of_manifest, strict=True):
        tap.true({"language", "code"} <= offered.keys() <= known.keys(), f"{offered.keys()} of {known.keys()}")
    for tool in manifest + tools:
        tool.pop("annotations")
    tap.equal(tools, manifest, "tools")


tap.run(globals())
