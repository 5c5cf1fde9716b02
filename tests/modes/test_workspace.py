# SPDX-License-Identifier: Apache-2.0
"""The gateway's workspace: to be read at /work and not to be written, from below the policy's directories only, and no way
out of it. What the policy or the host do not give is refused before anything runs."""
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from modes import Provider
from provider import NOT_RUN, Host

provider = Provider()
top = tempfile.TemporaryDirectory(prefix="code-execute-workspace-")
directory = pathlib.Path(os.path.realpath(top.name))
outside = directory / "outside"
workspace = directory / "projects" / "one"
workspace.mkdir(parents=True)
outside.write_text("outside")
(workspace / "file").write_text("inside")
(workspace / "link").symlink_to(outside)
for path in (directory, directory / "projects", workspace):
    path.chmod(0o755)
ALLOWED = {"workspace": {"below": [str(directory / "projects")]}}


def call(code, path=workspace, policy=None):
    host = Host(context={"workspace": str(path)} if path else None)
    return provider.with_policy(ALLOWED if policy is None else policy,
                                lambda: provider.invoke({"language": "sh", "code": code}, host))


def refused(result, status, code, text):
    tap.equal((result[0], result[1]["status"], result[1]["error"]["code"]), (NOT_RUN, status, code), result[1])
    tap.contains(result[1]["error"]["message"], text)


def test_it_is_read_at_work():
    output = call("cat /work/file; ls /work")[1]
    tap.equal((output["stdout"], output["status"]), ("insidefile\nlink\n", "completed"), output)


def test_without_one_there_is_nothing():
    output = call("ls -A /work 2>/dev/null; echo seen", path=None)[1]
    tap.equal(output["stdout"], "seen\n", output)


def test_nobody_writes_to_it():
    (workspace / "open").mkdir(exist_ok=True)
    (workspace / "open").chmod(0o777)
    (workspace / "open" / "file").write_text("as it was")
    (workspace / "open" / "file").chmod(0o666)
    call("echo x >/work/new; echo x >/work/open/new; echo x >/work/open/file; rm -rf /work/open; mkdir /work/more")
    tap.equal(sorted(str(path.relative_to(workspace)) for path in workspace.rglob("*")), ["file", "link", "open", "open/file"])
    tap.equal((workspace / "open" / "file").read_text(), "as it was")


def test_a_link_leads_nowhere():
    tap.equal(call("cat /work/link /work/../../outside 2>/dev/null; echo seen")[1]["stdout"], "seen\n")


def test_only_below_the_policys_directories():
    refused(call("echo no", policy={}), "denied", "policy_denied", "policy denied: workspace")
    refused(call("echo no", path=directory), "denied", "policy_denied", "policy denied: workspace")
    refused(call("echo no", path=str(directory / "projects") + "-not"), "denied", "policy_denied", "policy denied: workspace")
    refused(call("echo no", path=str(workspace) + "/../../outside"), "error", "invalid_input", "context: /workspace")


def test_only_directories_without_links():
    (directory / "projects" / "alias").symlink_to(workspace)
    refused(call("echo no", path=directory / "projects" / "alias"), "error", "invalid_input", "context: /workspace")
    refused(call("echo no", path=workspace / "file"), "error", "invalid_input", "context: /workspace")
    refused(call("echo no", path=workspace / "nowhere"), "error", "invalid_input", "context: /workspace")


def test_the_approver_sees_it_and_approves_no_other():
    shown = []

    def look(_token, request, verdict):
        shown.append(request.decode())
        verdict[0] = 0x600DCA11
    for path in (workspace, None):
        context = {"workspace": str(path)} if path else {}
        provider.with_policy({**ALLOWED, "approval": {"default": "ask"}}, lambda context=context: provider.invoke(
            {"language": "sh", "code": "true"}, Host(context=context, request_approval=look)))
    tap.equal(len(shown), 2, "questions")
    tap.contains(shown[0], f'"workspace":"{workspace}"')
    hashes = {text.split('"request_sha256":"')[1][:64] for text in shown}
    tap.equal(len(hashes), 2, "different hashes")


tap.run(globals())
