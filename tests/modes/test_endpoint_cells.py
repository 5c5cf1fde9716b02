# SPDX-License-Identifier: Apache-2.0
"""Endpoints of a session: each cell reaches those that it names, of those that the session was begun with, and nothing reaches one between
two cells. What holds of a run is in test_endpoints.py, and how the broker tells cells apart in ../egress/test_cells.py."""
import atexit
import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import engine
import tap
from brokers import brokers
from modes import LONG, MODE, Provider
from provider import ALLOW, NOT_RUN, OK, Host
from servers.upstream import Upstream

TOKEN = "tok-3f8e1c77a9d2"
RIGHTS = ("sandbox.exec", "sandbox.exec.endpoints", "sandbox.exec.session")
AMPLE_MS = 120000

directory = tempfile.mkdtemp(prefix="code-execute-endpoint-cells-")
atexit.register(shutil.rmtree, directory, ignore_errors=True)
upstream = Upstream(directory)


def endpoint(**more):
    return {"base_url": upstream.url, "private": True, "ca_file": upstream.ca, "approval": "never",
            "allow": [{"methods": ["GET", "POST"], "paths": ["/**"]}], **more}


POLICY = {
    "approval": {"default": "allow", "decisions": ["once", "deny", "cells"]},
    "sessions": {"max_total": 8, "max_per_principal": 8, "max_cells": 100000, "checkpoints": 3},
    "limits": {name: {"default": AMPLE_MS, "max": AMPLE_MS} for name in ("wall_ms", "cpu_ms")},
    "secrets": {"allowed": ["github-token"]},
    "endpoints": {"github": endpoint(auth={"type": "bearer", "secret": "github-token"}, variables={"GITHUB_BASE_URL": ""}),
                  "open": endpoint(), "other": endpoint(), "asked": endpoint(approval="ask")},
}
if MODE == "docker" and LONG and (files := engine.files_of_node()):
    image = engine.image_with(files)
    POLICY["docker"] = {"images": {"javascript": image.__enter__()}}
    atexit.register(image.__exit__, None, None, None)
provider = Provider(POLICY)

ASK = """
import http.client, json, os, urllib.request, urllib.error
def ask(name, path="/x"):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:8080/{name}{path}") as answer:
            answer.read()  # all of it, or it is listed as one that has failed
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)["reason"]
"""
# No other client is in every image.
BASH_ASK = """
ask() {
    exec 3<>/dev/tcp/127.0.0.1/8080
    printf 'GET /%s/x HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n' "$1" >&3
    read -r -u 3 version status rest
    cat <&3 >/dev/null
    exec 3>&-
    echo "$status"
}
"""


def host(rights=RIGHTS, **more):
    return Host(capabilities=rights, secrets={"github-token": TOKEN.encode()}, context={"principal": "ann"}, **more)


def call(code, session="new", endpoints=(), language="python", of_call=None, **more):
    upstream.asked.clear()
    named = {"endpoints": list(endpoints)} if endpoints else {}
    return provider.invoke({"language": language, "code": code, "session": session, **named, **more}, of_call or host())


def cell(code, session="new", endpoints=(), **more):
    """One that ends well, in a session that stays."""
    status, result = call(code, session, endpoints, **more)
    tap.equal((status, result["error"], result["exit_code"]), (OK, None, 0), result)
    tap.equal(result["session"]["state"], "kept", result)
    return result


def begin(code=ASK, endpoints=("github", "open"), **more):
    return cell(code, endpoints=endpoints, **more)["session"]["id"]


def printed(code, session, endpoints=(), **more):
    return cell(code, session, endpoints, **more)["stdout"]


def test_each_cell_reaches_what_it_names():
    result = cell(ASK + "print(ask('github'), ask('open'))", endpoints=["github", "open"])
    session = result["session"]["id"]
    tap.equal(result["stdout"], "200 200\n")
    tap.equal([asked["headers"].get("Authorization") for asked in upstream.asked], [f"Bearer {TOKEN}", None])
    tap.true("endpoint_broker" in result["isolation"]["applied"], "the layer is told")
    result = cell("print(ask('open'), ask('github')[0])", session, ["open"])
    tap.equal(result["stdout"], "200 403\n")
    tap.equal([(row["endpoint"], row["decision"]) for row in result["network"]], [("open", "allowed"), (None, "denied")])
    tap.equal(len(upstream.asked), 1)
    tap.equal(printed("print(ask('github'))", session, ["github"]), "200\n", "and again")


def test_a_cell_that_names_none_reaches_none():
    session = begin()
    result = cell("print(ask('open'))", session)
    tap.contains(result["stdout"], "403")
    tap.contains(result["stdout"], "named no endpoint")
    tap.equal(([row["decision"] for row in result["network"]], upstream.asked), (["denied"], []))
    tap.equal(printed("print(ask('open'))", session, ["open"]), "200\n", "control")


def test_a_session_without_endpoints_is_as_ever():
    session = cell("import socket")["session"]["id"]
    status, result = call("0", session, ["open"])
    tap.equal((status, result["error"]["code"]), (NOT_RUN, "invalid_input"))
    tap.contains(result["error"]["message"], "begun without the endpoint open")
    tap.contains(result["error"]["hint"], '"session": "new"')
    result = cell("try: socket.create_connection(('127.0.0.1', 8080))\nexcept OSError: print('none')", session)
    tap.equal((result["stdout"], result.get("network")), ("none\n", None))


def test_another_endpoint_than_the_sessions_is_refused():
    session = begin()
    status, result = call("0", session, ["open", "other"])
    tap.equal((status, result["error"]["code"]), (NOT_RUN, "invalid_input"))
    tap.contains(result["error"]["message"], "other")
    tap.equal(printed("print(ask('open'))", session, ["open"]), "200\n", "the session stays")


def test_variables_are_those_of_the_session():
    names = "print(os.environ.get('GITHUB_BASE_URL'), os.environ.get('CODE_EXECUTE_ENDPOINT_OPEN'), os.environ.get('OWN'))"
    session = begin()
    urls = "http://127.0.0.1:8080/github http://127.0.0.1:8080/open"
    for endpoints in (), ("open",):
        tap.equal(printed(names, session, endpoints), f"{urls} None\n", endpoints)
    tap.equal(printed(names, session, env={"GITHUB_BASE_URL": "mine", "OWN": "1"}), "mine http://127.0.0.1:8080/open 1\n", "the request's own")
    tap.equal(printed(names, session), f"{urls} None\n", "afterwards")


def test_each_cell_needs_its_right():
    session = begin()
    for rights, runs in ((RIGHTS, True), (("sandbox.exec", "sandbox.exec.session"), False),
                         (("sandbox.exec", "sandbox.exec.session", "sandbox.exec.endpoints=open"), False)):
        status, result = call("0", session, ["github"], of_call=host(rights))
        tap.equal((status, result["error"] and result["error"]["code"]), (OK, None) if runs else (NOT_RUN, "access_denied"), str(rights))


def test_without_the_secret_a_cell_does_not_run():
    session = begin()
    lacking = Host(capabilities=RIGHTS, context={"principal": "ann"})
    status, result = call("0", session, ["github"], of_call=lacking)
    tap.equal((status, result["error"]["code"]), (NOT_RUN, "unknown_secret"))
    tap.equal(printed("print(ask('open'))", session, ["open"], of_call=lacking), "200\n", "without a credential")
    tap.equal(printed("print(ask('github'))", session, ["github"]), "200\n", "the session stays")


def test_a_thread_reaches_nothing_between_cells():
    session = begin(ASK + """
import threading
seen = set()
def loop():
    while True:
        try:
            answer = ask("open")
            seen.add(answer if answer == 200 else answer[1].split(" ")[0])
        except Exception:  # what is under way at the end of a cell is cut off
            pass
threading.Thread(target=loop, daemon=True).start()
while 200 not in seen: pass
""")
    results = []

    def was_refused():
        results.append(cell("print(*seen)", session, ["open"]))
        return "no" in results[-1]["stdout"].split()
    tap.eventually(was_refused, "the thread heard between two cells that no cell of this session is running", 60)
    tap.true(any("refused since the cell before" in note for result in results for note in result["notes"]), results[-1]["notes"])


def test_a_connection_ends_with_its_cell():
    session = begin(ASK + """
import socket
connection = socket.create_connection(("127.0.0.1", 8080), timeout=60)
connection.sendall(b"GET /open/x HTTP/1.1\\r\\n")
""")
    rest = "connection.sendall(b'Host: x\\r\\n\\r\\n')\nprint(connection.recv(100))\n"
    result = cell(f"try:\n    {rest.replace(chr(10), chr(10) + '    ')}\nexcept OSError: print(b'')", session, ["open"])
    tap.equal((result["stdout"], upstream.asked), ("b''\n", []))
    control = "connection = socket.create_connection(('127.0.0.1', 8080), timeout=60)\nconnection.sendall(b'GET /open/x HTTP/1.1\\r\\n')\n"
    tap.contains(printed(control + rest, session, ["open"]), "200 OK")


def test_no_client_keeps_a_connection_for_the_next_cell():
    """It would find it closed, and a checkpoint would find it open."""
    session = begin(ASK + """
connection = http.client.HTTPConnection("127.0.0.1", 8080)
def keep():
    connection.request("GET", "/open/x")
    answer = connection.getresponse()
    return answer.status, len(answer.read()) > 0, connection.sock
print(keep())
""")
    for _ in range(3):
        result = cell("print(keep(), keep())", session, ["open"])
        tap.equal((result["stdout"], result["session"]["checkpoint"]), ("(200, True, None) (200, True, None)\n", "taken"))


def test_each_cell_has_its_requests_in_result_and_audit():
    session = begin()
    for number in range(2):
        of_call = host()
        result = cell(f"ask('github', '/repos/{number}?a=b')", session, ["github"], of_call=of_call)
        rows = result["network"]
        tap.equal([(row["endpoint"], row["path"], row["status"]) for row in rows], [("github", f"/repos/{number}", 200)])
        tap.equal(of_call.records[-1]["endpoint_requests"], rows)
        tap.lacks(json.dumps(of_call.records), TOKEN)


def test_what_is_undone_or_copied_reaches_them():
    if MODE == "unprivileged":
        raise tap.Skip("there are no endpoints without namespaces")
    session = begin(ASK + "print(ask('open'))\nx = 1")
    result = cell("x = 2\nprint(ask('open'))", session, ["open"])
    tap.equal((result["stdout"], result["session"]["checkpoint"]), ("200\n", "taken"))
    tap.equal(printed("print(x, ask('open'))", session, ["open"], session_action="undo"), "1 200\n")
    status, result = call("import os; ask('open'); os._exit(3)", session, ["open"])
    tap.equal((status, result["session"]["state"]), (OK, "restored"), result)
    tap.equal([row["decision"] for row in result["network"]], ["allowed"])
    tap.equal(printed("print(x, ask('open'))", session, ["open"]), "1 200\n", "behind a cell that has ended the interpreter")
    result = cell("print(x, ask('open'))", session, ["open"], session_action="fork")
    branch = result["session"]["id"]
    tap.equal((result["stdout"], branch != session), ("1 200\n", True))
    for one in (session, branch):
        tap.equal(printed("print(ask('github'), ask('open')[0])", one, ["github"]), "200 403\n", one)


def test_allowed_cells_have_the_endpoints_of_the_approved_one():
    def allow_cells(token, request, verdict):
        verdict[0] = ALLOW
        asked.append(json.loads(request))
        provider.reply(token, b'{"decision":"allow_cells"}')
    asked = []
    answers = lambda: host(request_approval=allow_cells)
    session = cell(ASK, endpoints=["asked", "open"], of_call=answers())["session"]["id"]
    tap.equal(len(asked), 1)
    tap.equal(printed("print(ask('asked'))", session, ["asked", "open"], of_call=answers()), "200\n")
    tap.equal(len(asked), 1, "the same endpoints")
    tap.equal(printed("print(ask('asked'))", session, ["asked"], of_call=answers()), "200\n")
    tap.equal(len(asked), 2, "others")


def test_a_broker_that_dies_takes_the_sessions_endpoints_with_it():
    session = begin()
    [broker] = brokers()
    os.kill(broker, signal.SIGKILL)
    status, result = call("0", session, ["open"])
    tap.equal((status, result["error"]["code"]), (NOT_RUN, "backend_failed"), result)
    tap.contains(result["error"]["hint"], "begin another session")
    tap.equal(printed("print(2)", session), "2\n", "a cell that names none")
    tap.equal(printed("try: ask('open')\nexcept OSError: print('fails')", session), "fails\n")
    tap.equal(printed("print(ask('open'))", begin(), ["open"]), "200\n", "another session has another broker")


def test_a_broker_that_dies_during_a_cell():
    session = begin()
    killed = []

    def kill_at_first_line(stream, data, length):
        if length and not killed:
            killed.extend(brokers())
            os.kill(killed[0], signal.SIGKILL)
    result = cell("print(ask('open'), flush=True)\nwhile True:\n    try: ask('open')\n    except (OSError, http.client.HTTPException): break\nprint('fails')", session, ["open"],
                  of_call=host(on_output=kill_at_first_line))
    tap.equal(result["stdout"], "200\nfails\n")
    tap.true(any("broker" in note for note in result["notes"]), result["notes"])


def test_a_cancelled_cell_leaves_the_session_its_endpoints():
    session = begin()

    def cancel_at_first_line(stream, data, length):
        if length:
            provider.cancel(7)
    status, result = call("print(ask('open'), flush=True)\nwhile True: ask('open')", session, ["open"], of_call=host(call_id=7, on_output=cancel_at_first_line))
    tap.equal((status, result["status"], result["session"]["state"]), (OK, "cancelled", "kept"), result)
    tap.equal(printed("print(ask('open'))", session, ["open"]), "200\n")


def test_cells_of_bash():
    session = begin(BASH_ASK + "ask open", language="bash")
    tap.equal(printed("ask open; ask github; echo \"$CODE_EXECUTE_ENDPOINT_OPEN\"", session, ["open"], language="bash"),
              "200\n403\nhttp://127.0.0.1:8080/open\n")
    tap.equal(printed("ask open", session, language="bash"), "403\n")


def test_cells_of_javascript():
    if MODE == "docker" and "docker" not in POLICY:
        raise tap.Skip("the engine's test image has no Node; in the long form it gets the machine's: CODE_EXECUTE_TEST_LONG=1")
    code = "const ask = async name => (await fetch(`http://127.0.0.1:8080/${name}/x`)).status;\n"
    result = call(code + "console.log(typeof fetch === 'function' ? await ask('open') : 'none')", endpoints=["github", "open"], language="javascript")[1]
    if result["stdout"] == "none\n":
        raise tap.Skip("there is no fetch before Node 18")
    tap.equal((result["error"], result["stdout"]), (None, "200\n"), result)
    session = result["session"]["id"]
    tap.equal(printed("console.log(await ask('github'), await ask('open'), process.env.GITHUB_BASE_URL)", session, ["github"], language="javascript"),
              "200 403 http://127.0.0.1:8080/github\n")
    tap.equal(printed("console.log(await ask('open'))", session, language="javascript"), "403\n")


def test_another_language_of_the_session():
    session = begin()
    tap.equal(printed(BASH_ASK + "ask open", session, language="bash"), "403\n", "begun by a cell that names none")
    tap.equal(printed("ask open", session, ["open"], language="bash"), "200\n")
    tap.equal(printed("print(ask('github'))", session, ["github"]), "200\n", "the first one")


tap.run(globals())
