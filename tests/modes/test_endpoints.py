# SPDX-License-Identifier: Apache-2.0
"""Endpoints, from the request to the upstream: an HTTPS server of the test, a broker, and programs of several languages and clients in
the sandbox of each mode. What the broker does with single requests is in ../egress."""
import atexit
import hashlib
import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import engine
import tap
from brokers import brokers, name_of
from modes import ALL_THE_TIME, LONG, MODE, Provider, merged
from provider import DENY, NOT_RUN, OK, Host
from servers.upstream import Upstream

TOKEN = "tok-3f8e1c77a9d2"
RIGHTS = ("sandbox.exec", "sandbox.exec.endpoints")

directory = tempfile.mkdtemp(prefix="code-execute-endpoints-")
atexit.register(shutil.rmtree, directory, ignore_errors=True)
upstream = Upstream(directory)

OPEN = [{"methods": ["GET", "POST"], "paths": ["/**"]}]


def endpoint(**more):
    return {"base_url": upstream.url, "private": True, "ca_file": upstream.ca, "allow": OPEN, "approval": "never", **more}


POLICY = merged(ALL_THE_TIME, {
    "approval": {"default": "allow"},
    "capabilities": ["sandbox.exec", "sandbox.exec.endpoints", "sandbox.exec.network", "sandbox.exec.session", "sandbox.exec.secrets"],
    "secrets": {"allowed": ["github-token"]},
    "endpoints": {
        "github": endpoint(allow=[{"methods": ["GET"], "paths": ["/repos/acme/*/issues", "/echo", "/bytes/*"]}],
                           auth={"type": "bearer", "secret": "github-token"}, variables={"GITHUB_BASE_URL": ""}),
        "open": endpoint(),
        "git": endpoint(base_url=upstream.url + "/git", preset="git", auth={"type": "basic", "user": "git", "secret": "github-token"},
                        allow=[{"methods": ["GET"], "paths": ["/**/info/refs"]}, {"methods": ["POST"], "paths": ["/**/git-upload-pack"]}]),
        "asked": endpoint(approval="ask"),
    },
})
if MODE == "docker":  # the test's image, with the machine's clients: those that are tried in process mode. Node is large: in the long form.
    found = {client: files for client, files in (("curl", engine.files_of("curl")), ("git", engine.files_of_git()),
                                                 ("fetch", engine.files_of_node() if LONG else None)) if files}
    image = engine.image_with({path: content for files in found.values() for path, content in files.items()})
    POLICY["docker"] = {"images": dict.fromkeys(("sh", "javascript"), image.__enter__())}
    atexit.register(image.__exit__, None, None, None)
provider = Provider(POLICY)


def host(**more):
    return Host(capabilities=RIGHTS, secrets={"github-token": TOKEN.encode()}, **more)


def run(code, endpoints=("github",), language="python", host_of_call=None, **more):
    upstream.asked.clear()
    return provider.invoke({"language": language, "code": code, "endpoints": list(endpoints), **more}, host_of_call or host())


def succeeded(answer):
    code, result = answer
    tap.equal((code, result["error"], result["exit_code"]), (OK, None, 0), f"the run ({result['stderr'][-2000:]})")
    return result


GET = """
import json, os, urllib.request, urllib.error
base = os.environ["GITHUB_BASE_URL"]
def ask(path, **more):
    try:
        with urllib.request.urlopen(urllib.request.Request(base + path, **more)) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()
"""


def test_the_upstream_gets_the_credential_and_the_program_an_answer():
    result = succeeded(run(GET + "print(ask('/repos/acme/site/issues?state=open')[2].decode())"))
    tap.equal(json.loads(result["stdout"]), {"path": "/repos/acme/site/issues", "query": "state=open"})
    tap.equal([(asked["method"], asked["headers"].get("Authorization")) for asked in upstream.asked], [("GET", f"Bearer {TOKEN}")])
    tap.true("endpoint_broker" in result["isolation"]["applied"], "the layer is told")


CLIENTS = {
    "curl": ("sh", "curl -sS \"$GITHUB_BASE_URL/repos/acme/site/issues\""),
    "fetch": ("javascript", "const answer = await fetch(process.env.GITHUB_BASE_URL + '/repos/acme/site/issues');\n"
                            "console.log(await answer.text());"),
    "http.client": ("python", "import http.client, os\nconnection = http.client.HTTPConnection('127.0.0.1', 8080)\n"
                              "for _ in range(3):\n"
                              "    connection.request('GET', '/github/repos/acme/site/issues')\n"
                              "    text = connection.getresponse().read().decode()\nprint(text)"),
}


def test_usual_clients_reach_it_by_the_variable():
    for client, (language, code) in CLIENTS.items():
        if MODE == "docker" and language != "python" and client not in found:
            continue
        answer = run(code, language=language)
        if language == "javascript" and "fetch is not defined" in answer[1]["stderr"]:
            continue  # before Node 18
        tap.contains(succeeded(answer)["stdout"], "/repos/acme/site/issues", client)
        tap.true(upstream.asked, client)


def test_clients_of_each_preset_find_it_by_their_variables():
    presets = {"openai": {"OPENAI_BASE_URL": "", "OPENAI_API_KEY": "held-by-the-gateway"}, "npm": {"npm_config_registry": "/"},
               "anthropic": {"ANTHROPIC_BASE_URL": "", "ANTHROPIC_API_KEY": "held-by-the-gateway"},
               "pip": {"PIP_INDEX_URL": "/simple", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}}
    policy = {"endpoints": {f"of-{name}": endpoint(preset=name) for name in presets}}
    code = "import json, os; print(json.dumps(dict(os.environ)))"
    answer = provider.with_policy(policy, lambda: run(code, list(policy["endpoints"]), env={"OPENAI_BASE_URL": "mine"}))
    variables = json.loads(succeeded(answer)["stdout"])
    for name, expected in presets.items():
        url = f"http://127.0.0.1:8080/of-{name}"
        tap.equal(variables[f"CODE_EXECUTE_ENDPOINT_OF_{name.upper()}"], url)
        for variable, value in expected.items():
            of_url = url + value if not value or value.startswith("/") else value
            tap.equal(variables[variable], "mine" if variable == "OPENAI_BASE_URL" else of_url, variable)


def test_what_is_not_allowed_is_answered_with_a_sentence():
    result = succeeded(run(GET + "status, headers, body = ask('/repos/acme/site/issues', data=b'{}', method='POST')\n"
                                 "print(status, body.decode())\nprint(ask('/user')[0])\n"))
    status, text = result["stdout"].split("\n")[0].split(" ", 1)
    answer = json.loads(text)
    tap.equal((status, answer["error"], answer["endpoint"]), ("403", "policy_denied", "github"))
    tap.contains(answer["hint"], "Do not retry")
    tap.equal(result["stdout"].splitlines()[-1], "403", "another path")
    tap.equal(upstream.asked, [], "what reached the upstream")
    tap.equal([row["decision"] for row in result["network"]], ["denied", "denied"])


def test_the_credential_is_nowhere_inside():
    # What looks for it does not have it. The control: it finds a secret that the program was given.
    search = """
import glob, os, sys
masked = bytes.fromhex(sys.argv[1])
found = []
def look(name, data):
    at = data.find(b"tok-")
    while at >= 0:
        if len(data) - at >= len(masked) and all(data[at + i] ^ 0x5a == masked[i] for i in range(len(masked))):
            found.append(name)
            return
        at = data.find(b"tok-", at + 1)
for name in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
    try:
        look(name, open(name, "rb").read())
    except OSError:
        pass
for top in ("/home", "/tmp", "/run", "/etc", "/dev/shm"):
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            try:
                if os.path.isfile(path):
                    look(path, open(path, "rb").read(1 << 20))
            except OSError:
                pass
for name in glob.glob("/proc/[0-9]*/maps"):
    try:
        memory = open(name.replace("maps", "mem"), "rb")
        for line in open(name):
            begin, end = (int(value, 16) for value in line.split()[0].split("-"))
            if "r" in line.split()[1] and "[v" not in line:
                try:
                    memory.seek(begin)
                    look("memory of " + name, memory.read(end - begin))
                except (OSError, ValueError, OverflowError):
                    pass
    except OSError:
        pass
look("answers", repr(ANSWERS).encode())
print(found)
"""
    asks = GET + "ANSWERS = [ask('/echo'), ask('/repos/acme/site/issues')]\n"
    masked = bytes(byte ^ 0x5a for byte in TOKEN.encode()).hex()
    result = succeeded(run(asks + search, args=[masked]))
    tap.equal(result["stdout"], "[]\n", "where it was found")
    tap.equal(upstream.asked[0]["headers"].get("Authorization"), f"Bearer {TOKEN}", "the credential was used")
    given = succeeded(provider.invoke({"language": "python", "code": "ANSWERS = []\n" + search, "args": [masked],
                                       "secrets": {"KEY": "{{secret:github-token}}"}},
                                      Host(capabilities=("sandbox.exec", "sandbox.exec.secrets"),
                                           secrets={"github-token": TOKEN.encode()})))
    tap.contains(given["stdout"], "environ", "the control")


def test_an_echo_of_the_credential_is_redacted():
    result = succeeded(run(GET + "status, headers, body = ask('/echo')\nprint(status, headers.get('X-Seen'), body.decode())"))
    tap.true(result["stdout"].startswith("200 "), result["stdout"])
    tap.lacks(result["stdout"], TOKEN)


def test_redirects_are_not_followed():
    result = succeeded(run("import http.client\nconnection = http.client.HTTPConnection('127.0.0.1', 8080)\n"
                           "connection.request('GET', '/open/redirect')\nanswer = connection.getresponse()\n"
                           "print(answer.status, answer.getheader('Location'))", ["open"]))
    tap.equal(result["stdout"], "302 None\n")


def test_there_is_no_other_network():
    code = """
import os, socket
def outcome(call):
    try:
        call()
        return "open"
    except OSError as error:
        return error.__class__.__name__
def connect(family, kind, address):
    with socket.socket(family, kind) as one:
        one.settimeout(5)
        one.connect(address)
print(outcome(lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 8080))))
for family, kind, address in ((socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", int(os.environ["PORT"]))),
                              (socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 80)),
                              (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 8080)),
                              (socket.AF_INET6, socket.SOCK_STREAM, ("::1", 8080))):
    print(outcome(lambda: connect(family, kind, address)))
print(outcome(lambda: socket.getaddrinfo("localhost.invalid", 80)))
"""
    lines = succeeded(run(code, env={"PORT": str(upstream.port)}))["stdout"].splitlines()
    tap.equal(lines[0], "open", "the control")
    tap.lacks(lines[1:], "open")
    tap.equal(len(lines), 6)


def test_a_run_reaches_only_what_it_names():
    result = succeeded(run("import http.client\nfor name in ('open', 'github', 'nothing'):\n"
                           "    connection = http.client.HTTPConnection('127.0.0.1', 8080)\n"
                           "    connection.request('GET', f'/{name}/repos/acme/site/issues')\n"
                           "    print(connection.getresponse().status)", ["open"]))
    tap.equal(result["stdout"].split(), ["200", "403", "403"])
    tap.equal([asked["headers"].get("Authorization") for asked in upstream.asked], [None])


def test_runs_at_the_same_time_do_not_meet():
    outcomes = {}

    def one(name):
        outcomes[name] = provider.invoke({"language": "python", "endpoints": [name], "code":
            "import http.client, time\nfor name in ('open', 'github') * 20:\n"
            "    connection = http.client.HTTPConnection('127.0.0.1', 8080)\n"
            "    connection.request('GET', f'/{name}/repos/acme/site/issues')\n"
            "    print(name, connection.getresponse().status)"}, host())
    threads = [threading.Thread(target=one, args=(name,)) for name in ("open", "github")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, answer in outcomes.items():
        statuses = set(succeeded(answer)["stdout"].splitlines())
        other = {"open": "github", "github": "open"}[name]
        tap.equal(statuses, {f"{name} 200", f"{other} 403"}, name)


def test_result_and_audit_list_the_requests():
    of_call = host()
    result = succeeded(run(GET + "ask('/repos/acme/site/issues?state=open')\nask('/user')", host_of_call=of_call))
    rows = result["network"]
    tap.equal([(row["endpoint"], row["method"], row["path"], row["status"], row["decision"]) for row in rows],
              [("github", "GET", "/repos/acme/site/issues", 200, "allowed"), ("github", "GET", "/user", 403, "denied")])
    tap.equal(rows[0]["query_sha256"], hashlib.sha256(b"state=open").hexdigest())
    tap.equal(rows[1]["query_sha256"], None)
    start, end = of_call.records
    tap.equal((end["endpoint_requests"], end["network"]), (rows, False))
    tap.lacks(json.dumps(of_call.records) + json.dumps(result["network"]), "state=open")
    tap.lacks(json.dumps(of_call.records), TOKEN)


def test_each_endpoint_needs_its_right():
    for rights, runs in ((("sandbox.exec", "sandbox.exec.endpoints=github"), True), (("sandbox.exec", "sandbox.exec.endpoints=open"), False),
                         (("sandbox.exec", "sandbox.exec.network"), False), (("sandbox.exec",), False)):
        code, result = run("0", host_of_call=Host(capabilities=rights, secrets={"github-token": TOKEN.encode()}))
        tap.equal((code, result["error"] and result["error"]["code"]), (OK, None) if runs else (NOT_RUN, "access_denied"), str(rights))


def test_an_endpoint_that_asks_is_asked_about():
    of_call = host()
    succeeded(run("0", ["asked", "github"], host_of_call=of_call))
    [question] = of_call.requests
    shown = json.dumps(question)
    for part in (upstream.url, "/repos/acme/*/issues", "GET", "github-token"):
        tap.contains(shown, part)
    tap.lacks(shown, TOKEN)
    code, result = run("0", ["asked"], host_of_call=host(request_approval=lambda token, request, verdict: verdict.__setitem__(0, DENY)))
    tap.equal((code, result["error"]["code"]), (NOT_RUN, "approval_denied"))


def test_rules_of_the_policy_see_the_endpoints():
    if MODE != "process":
        raise tap.Skip("this is the gateway's part, and was tried in process mode")
    rules = [{"decision": "allow", "endpoints": ["github", "asked"]}, {"id": "sealed", "decision": "deny", "endpoints": ["open"]},
             {"decision": "allow", "languages": ["python"], "code_sha256": [hashlib.sha256(b"0").hexdigest()], "endpoints": ["git"]}]

    def try_all():
        for endpoints, outcome in ((["github"], "runs"), (["github", "asked"], "asks"), (["github", "git"], "asks"), (["git"], "runs"),
                                   (["open"], "denies"), (["open", "github"], "denies")):
            of_call = host()
            code, result = run("0", endpoints, host_of_call=of_call)
            tap.equal((code, len(of_call.requests)), {"runs": (OK, 0), "asks": (OK, 1), "denies": (NOT_RUN, 0)}[outcome], endpoints)
            if outcome == "denies":
                tap.equal(result["error"]["code"], "policy_denied")
                tap.contains(result["error"]["message"], "sealed")
        of_call = host()
        tap.equal((run("1", ["git"], host_of_call=of_call)[0], len(of_call.requests)), (OK, 1), "other code")
    provider.with_policy({"approval": {"default": "ask", "rules": rules}}, try_all)


def test_another_definition_is_another_request():
    first = succeeded(run("0"))["approval"]
    hashes = []
    for more in ({}, {"limits": {"requests": 7}}):
        of_call = host()
        provider.with_policy({"endpoints": {"asked": more}}, lambda: succeeded(run("0", ["asked"], host_of_call=of_call)))
        hashes.append(of_call.requests[0]["request_sha256"])
    tap.true(hashes[0] != hashes[1], f"the hash follows the definition ({first})")


def test_without_the_secret_nothing_runs():
    code, result = run("0", host_of_call=Host(capabilities=RIGHTS))
    tap.equal((code, result["error"]["code"]), (NOT_RUN, "unknown_secret"))
    tap.equal(upstream.asked, [])


def test_git_fetches_and_does_not_push():
    if MODE == "docker" and "git" not in found:
        raise tap.Skip("no git in the machine's own directories of programs")
    commit = upstream.make_repository("site")
    address = upstream.url + "/git"
    result = succeeded(run(f"git clone -q {address}/site.git work && cd work && cat file && git rev-parse HEAD\n"
                           "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two\n"
                           "git push -q origin HEAD 2>&1 | grep -c 403", ["git"], language="sh"))
    tap.equal(result["stdout"].splitlines(), ["from upstream", commit, "1"])
    tap.true(all(asked["path"].endswith(("/info/refs", "/git-upload-pack")) for asked in upstream.asked), "what reached the upstream")
    tap.true(any(asked["headers"].get("Authorization", "").startswith("Basic ") for asked in upstream.asked), "with the credential")


def test_large_bodies_go_both_ways():
    code = """
import http.client
connection = http.client.HTTPConnection("127.0.0.1", 8080)
data = bytes(range(256)) * 4000
connection.request("POST", "/open/upload", body=data)
print(connection.getresponse().read().decode())
connection.request("GET", "/open/bytes/9000000")
answer = connection.getresponse()
body = answer.read()
print(answer.status, len(body), body.count(b"\\x5a"))
"""
    lines = succeeded(run(code, ["open"]))["stdout"].splitlines()
    tap.equal(json.loads(lines[0])["length"], 1024000)
    tap.equal(lines[1], "200 9000000 9000000")


def test_many_connections_at_the_same_time():
    code = """
import http.client, threading
outcomes = []
def one(number):
    connection = http.client.HTTPConnection("127.0.0.1", 8080)
    for _ in range(3):
        connection.request("GET", f"/open/bytes/{number * 1000}")
        outcomes.append(len(connection.getresponse().read()) == number * 1000)
threads = [threading.Thread(target=one, args=(number,)) for number in range(24)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(outcomes), all(outcomes))
"""
    tap.equal(succeeded(run(code, ["open"]))["stdout"], "72 True\n")


def test_without_a_broker_calls_fail_and_nothing_opens():
    succeeded(run("0"))
    code = GET + """
import http.client, sys, time
print(ask("/repos/acme/site/issues")[0], flush=True)
end = time.monotonic() + 60
while time.monotonic() < end:
    try:
        ask("/repos/acme/site/issues")
    except (OSError, http.client.HTTPException):
        print("fails")
        break
"""
    [broker] = brokers()

    def kill_at_first_line(stream, data, length):
        if length and not killed:
            killed.append(broker)
            os.kill(broker, signal.SIGKILL)
    killed = []
    result = succeeded(run(code, host_of_call=host(on_output=kill_at_first_line)))
    tap.equal(result["stdout"].splitlines(), ["200", "fails"])
    tap.true(any("broker" in note for note in result["notes"]), f"a note says so: {result['notes']}")
    tap.equal(succeeded(run(GET + "print(ask('/repos/acme/site/issues')[0])"))["stdout"], "200\n", "the next run has another")


def test_a_broker_that_does_not_answer_is_replaced():
    """What it lets a call wait for is the same in every mode."""
    if MODE != "process":
        raise tap.Skip("this is the gateway's part, and was tried in process mode")
    succeeded(run("0"))
    [broker] = brokers()
    os.kill(broker, signal.SIGSTOP)
    code, result = run("0")
    tap.equal((code, result["error"]["code"]), (NOT_RUN, "backend_failed"), result)
    tap.contains(result["error"]["message"], "does not answer")
    tap.eventually(lambda: name_of(broker) is None, "it is gone")
    tap.equal(succeeded(run(GET + "print(ask('/repos/acme/site/issues')[0])"))["stdout"], "200\n", "the next run has another")


def test_the_broker_ends_with_the_gateway():
    succeeded(run("0"))
    [broker] = brokers()
    provider.forget()
    tap.eventually(lambda: name_of(broker) is None, "the broker is gone")
    provider.begin()


def test_what_cannot_have_endpoints_is_refused_by_name():
    code, result = run("0", network=True)
    tap.equal(code, NOT_RUN)
    tap.contains(result["error"]["message"] + result["error"]["hint"], "network")
    code, result = run("0", ["nowhere"])
    tap.equal((code, result["error"]["code"]), (NOT_RUN, "policy_denied"))


tap.run(globals())
