# SPDX-License-Identifier: Apache-2.0
"""What a program has inside of a pod of a real cluster: tools, endpoints, a session with checkpoints, files both ways. By hand:
scripts/check-cluster test_inside_pod"""
import json
import pathlib
import shutil
import sys
import tempfile

import tap

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import kubernetes_mode as mode
from input_files import host_of
from provider import ALLOW, Host, Provider
from servers.upstream import Upstream

RIGHTS = ("sandbox.exec", "sandbox.exec.files", "sandbox.exec.session", "sandbox.exec.tools", "sandbox.exec.secrets",
          "sandbox.exec.endpoints")
FILES_OUT = {"out": {"max_files": 8, "file_bytes": 8 << 20, "total_bytes": 16 << 20, "inline_bytes": 1000}}
ADD = {"name": "add", "description": "adds two numbers", "input_schema": {"type": "object"}}
provider = Provider()


def use(**more):
    policy = mode.policy(approval={"default": "allow"}, tools={"allowed": ["*"]}, sessions={"max_total": 4, "checkpoints": 3},
                         files=FILES_OUT, **more)
    tap.equal(provider.use_policy(policy), 0, "policy")


def call(code, language="python", host=None, **more):
    return provider.invoke({"language": language, "code": code, **more}, host or Host(RIGHTS))[1]


def completed(code, language="python", host=None, **more):
    output = call(code, language, host, **more)
    tap.equal((output["status"], output["error"]), ("completed", None), output)
    return output


def host_with_tools(calls):
    def serve(token, text, verdict):
        arguments = json.loads(text)["arguments"]
        calls.append(arguments)
        verdict[0] = ALLOW
        provider.reply_call(token, {"content": [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]})
    return Host(RIGHTS, context={"tools": [ADD]}, call_tool=serve)


def test_tools_are_called_by_a_running_program():
    use()
    calls = []
    host = host_with_tools(calls)
    output = completed("import tools\nprint(sum(int(tools.add(a=n, b=1)) for n in range(20)))", host=host, tools=["add"])
    tap.equal((output["stdout"], len(calls), len(output["calls"])), ("210\n", 20, 20), output)
    output = completed("tool add '{\"a\": 2, \"b\": 3}'", "sh", host=host, tools=["add"])
    tap.equal((output["stdout"].strip(), len(calls)), ("5", 21), output)
    output = completed("import tools\ntry:\n    tools.call('transfer', {})\nexcept tools.ToolError as error:\n    print(error.code)",
                       host=host, tools=["add"])
    tap.equal(len(calls), 21, "another tool")


def test_cells_have_checkpoints_tools_and_files():
    use()
    calls = []
    host = host_with_tools(calls)
    first = completed("import tools\nx = 41\nopen('kept', 'w').write('one')", host=host, session="new", tools=["add"])
    session = first["session"]["id"]
    tap.equal((first["session"]["state"], [file["path"] for file in first["files"]]), ("kept", ["kept"]), first)
    second = completed("x = int(tools.add(a=x, b=1))\nopen('kept', 'w').write('two')\nprint(x)", host=host, session=session)
    tap.equal((second["stdout"], len(calls)), ("42\n", 1), second)
    tap.true(second["session"]["undoable"] >= 1, second["session"])
    undone = completed("print(x, open('kept').read())", host=host, session=session, session_action="undo")
    tap.equal(undone["stdout"], "41 one\n", undone)
    copy = completed("x = 7\nprint(x)", host=host, session=session, session_action="fork")
    other = copy["session"]["id"]
    tap.true(other != session, copy["session"])
    tap.equal(len(mode.running()), 1, "both are in one pod")
    tap.equal(completed("print(x)", host=host, session=session)["stdout"], "41\n")
    tap.equal(completed("print(x)", host=host, session=other)["stdout"], "7\n")
    for each in (other, session):
        completed("0", host=host, session=each, session_action="end")
    mode.none_left()


def test_a_shell_keeps_its_variables():
    use()
    host = Host(RIGHTS)
    session = completed("x=41", "sh", host, session="new")["session"]["id"]
    tap.equal(completed("echo $((x + 1))", "sh", host, session=session)["stdout"], "42\n")
    completed("true", "sh", host, session=session, session_action="end")
    mode.none_left()


def test_files_go_in_and_out():
    use()
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "large.bin")
        path.write_bytes(bytes(range(256)) * 16384)
        host = host_of({"large": path}, rights=RIGHTS)
        output = completed("data = open('in/large', 'rb').read()\nopen('out.bin', 'wb').write(data[::-1])\n"
                           "open('not.txt', 'w').write('x')\nlen(data)", host=host, outputs=["*.bin"],
                           files=[{"path": "in/large", "ref": "large"}, {"path": "a.txt", "content": "a"}])
    tap.equal([(file["path"], file["size"]) for file in output["files"]], [("out.bin", 4194304)], output["files"])
    tap.equal([row["text"] for row in output["results"]], ["4194304"], output["results"])


def test_a_secret_is_the_run_s_alone():
    use(secrets={"allowed": ["canary"]})
    host = Host(RIGHTS, secrets={"canary": b"canary-f00d-8a7b"})
    output = completed("import os\nprint(os.environ['TOKEN'] == 'canary-' + 'f00d-8a7b', os.environ['TOKEN'])", host=host,
                       secrets={"TOKEN": "{{secret:canary}}"})
    tap.equal(output["stdout"].split()[0], "True", output)
    tap.lacks(json.dumps(output), "canary-f00d-8a7b", "the result")


def test_endpoints_are_reached_through_the_gateway():
    """The upstream is on the gateway's loopback, which no pod reaches."""
    directory = tempfile.mkdtemp(prefix="code-execute-inside-")
    try:
        upstream = Upstream(directory)
        use(endpoints={"mine": {"base_url": upstream.url, "private": True, "ca_file": upstream.ca, "approval": "never",
                                "allow": [{"methods": ["GET"], "paths": ["/echo"]}], "variables": {"MINE": ""}}})
        code = ("import os, urllib.request, urllib.error\nprint(urllib.request.urlopen(os.environ['MINE'] + '/echo').status)\n"
                "try:\n    urllib.request.urlopen(os.environ['MINE'] + '/other')\n"
                "except urllib.error.HTTPError as error:\n    print(error.code)")
        output = completed(code, endpoints=["mine"])
        tap.equal((output["stdout"], [asked["path"] for asked in upstream.asked]), ("200\n403\n", ["/echo"]), output)
        tap.true("endpoint_broker" in output["isolation"]["applied"], output["isolation"])
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def test_what_a_pod_does_not_have_is_refused_by_name():
    use(network={"allowed": True}, workspace={"below": ["/tmp"]})
    mode.none_left()  # of the run before
    rights = (*RIGHTS, "sandbox.exec.network", "sandbox.exec.workspace")
    for context, members, word in ((None, {"network": True}, "network"), ({"workspace": "/tmp"}, {}, "workspace")):
        output = call("1", host=Host(rights, context=context), **members)
        tap.equal((output["status"], output["error"]["code"], output["stdout"]), ("error", "not_supported", ""), output)
        tap.contains(output["error"]["message"], word)
    tap.equal(mode.running(), [], "no pod was made for it")


tap.run(globals())
