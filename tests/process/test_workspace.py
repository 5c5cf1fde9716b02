# SPDX-License-Identifier: Apache-2.0
"""The gateway's workspace: to be read at /work and not to be written, from below the policy's directories only, and no way
out of it: none of the machine's sockets or FIFOs either. What the policy or the host do not give is refused before anything runs."""
import contextlib
import fcntl
import json
import os
import pathlib
import socket
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import ordinary_user
import tap
from modes import Provider, gateway
from provider import ACCEPTED, ALLOW, NOT_RUN, OK, PENDING, Host

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


def call(code, path=workspace, policy=None, language="sh", **callbacks):
    host = Host(context={"workspace": str(path)} if path else None, **callbacks)
    return provider.with_policy(ALLOWED if policy is None else policy,
                                lambda: provider.invoke({"language": language, "code": code}, host))


def refused(result, status, code, text):
    tap.equal((result[0], result[1]["status"], result[1]["error"]["code"]), (NOT_RUN, status, code), result[1])
    tap.contains(result[1]["error"]["message"], text)


def test_it_is_read_at_work():
    output = call("cat /work/file; ls /work")[1]
    tap.equal((output["stdout"], output["status"]), ("insidefile\nlink\n", "completed"), output)


def test_without_one_there_is_nothing():
    output = call("ls -A /work 2>/dev/null; echo seen", path=None)[1]
    tap.equal(output["stdout"], "seen\n", output)


def test_programs_cannot_write_to_it():
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
    status = workspace.stat()
    tap.contains(shown[0], f'"workspace_id":"{status.st_dev}:{status.st_ino}"')
    tap.lacks(shown[1], "workspace_id")
    hashes = {text.split('"request_sha256":"')[1][:64] for text in shown}
    tap.equal(len(hashes), 2, "different hashes")


@contextlib.contextmanager
def swapped(path, other):
    """The path leads to another directory for a while: by a link, or as one that was moved there."""
    kept = path.with_name(path.name + ".kept")
    path.rename(kept)
    if other.is_symlink():
        path.symlink_to(other.readlink())
    else:
        other.rename(path)
    try:
        yield
    finally:
        if path.is_symlink():
            path.unlink()
        else:
            path.rename(other)
        kept.rename(path)


def others():
    """Directories outside of what the policy names, each beside a link to it."""
    other = directory / "others"
    (other / "one").mkdir(parents=True, exist_ok=True)
    for path in (other, other / "one"):
        path.chmod(0o755)
    (other / "one" / "file").write_text("outside")
    link = directory / "link-to-others"
    if not link.is_symlink():
        link.symlink_to(other)
        (directory / "link-to-one").symlink_to(other / "one")
    return other, link, directory / "link-to-one"


ASKED = {**ALLOWED, "approval": {"default": "ask"}}
LOOK = {"language": "sh", "code": "cat /work/file"}


def test_another_directory_than_the_one_that_was_approved():
    """A part of its path is swapped while the approver looks."""
    other, link, link_to_one = others()
    for path, replacement in ((workspace, link_to_one), (workspace, other / "one"), (workspace.parent, link), (workspace.parent, other),
                              (None, None)):
        with contextlib.ExitStack() as stack:
            def look(_token, _request, verdict, path=path, replacement=replacement, stack=stack):
                if path:
                    stack.enter_context(swapped(path, replacement))
                verdict[0] = ALLOW
            host = Host(context={"workspace": str(workspace)}, request_approval=look)
            code, result = provider.with_policy(ASKED, lambda host=host: provider.invoke(LOOK, host))
        if path:
            tap.equal((code, result["status"], result["error"]["code"], result["stdout"]), (NOT_RUN, "denied", "approval_mismatch", ""), result)
            tap.contains(result["error"]["message"], "the workspace is no longer the directory that was checked")
        else:
            tap.equal((code, result["stdout"]), (OK, "inside"), "without a swap")


def test_one_that_is_gone():
    def look(_token, _request, verdict):
        workspace.rename(workspace.with_name("gone"))
        verdict[0] = ALLOW
    try:
        result = provider.with_policy(ASKED, lambda: provider.invoke(LOOK, Host(context={"workspace": str(workspace)}, request_approval=look)))
    finally:
        workspace.with_name("gone").rename(workspace)
    refused(result, "denied", "approval_mismatch", "the workspace is no longer the directory")


def test_a_grant_is_for_the_directory_that_was_shown():
    """A call that does not wait for its approver: the same call later is another where the path leads to another directory."""
    asked = []

    def look(token, _request, verdict):
        asked.append(token)
        verdict[0] = PENDING

    def ask():
        return provider.invoke(LOOK, Host(context={"workspace": str(workspace)}, request_approval=look))[1]

    def case():
        tap.equal(ask()["error"]["code"], "approval_pending")
        tap.equal(provider.reply(asked[0], {"decision": "allow_once"}), ACCEPTED)
        with swapped(workspace, others()[0] / "one"):
            tap.equal((ask()["error"]["code"], len(asked)), ("approval_pending", 2))
        tap.equal((ask()["stdout"], len(asked)), ("inside", 2), "without a swap")
    provider.with_policy(ASKED, case)


def test_an_edit_is_for_the_directory_that_was_shown():
    other = others()[0]
    with contextlib.ExitStack() as stack:
        def look(token, _request, _verdict):
            stack.enter_context(swapped(workspace, other / "one"))
            provider.reply(token, {"decision": "edit", "arguments": {"language": "sh", "code": "ls /work"}})
        result = provider.with_policy(ASKED, lambda: provider.invoke(LOOK, Host(context={"workspace": str(workspace)}, request_approval=look)))
    refused(result, "denied", "approval_mismatch", "the workspace is no longer the directory")


@contextlib.contextmanager
def listening(path, mode=0o777):
    """A socket of the machine's; yields whether somebody has connected to it."""
    def is_hit():
        with contextlib.suppress(BlockingIOError):
            listener.accept()[0].close()
            return True
        return False
    with socket.socket(socket.AF_UNIX) as listener:
        before = os.umask(0o777 & ~mode)  # with its mode from the first moment: a program may be waiting for the name
        listener.bind(str(path))
        os.umask(before)
        listener.listen(1)
        listener.setblocking(False)
        try:
            yield is_hit
        finally:
            path.unlink()


CONNECT = """
import os, socket
def connect(path):
    try:
        socket.socket(socket.AF_UNIX).connect(path)
        print("connected")
    except ConnectionRefusedError:
        print("refused")
"""


def test_no_socket_of_the_machine_is_reached():
    with listening(workspace / "socket") as is_hit:
        tap.equal(call(CONNECT + "connect('/work/socket')", language="python")[1]["stdout"], "refused\n")
        tap.true(not is_hit(), "nobody has connected")


def test_nor_is_a_message_sent_to_one():
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(workspace / "socket"))
        (workspace / "socket").chmod(0o777)
        receiver.setblocking(False)
        code = "import socket\nsocket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', '/work/socket')"
        output = call(code, language="python")[1]
        (workspace / "socket").unlink()
        tap.contains(output["stderr"], "ConnectionRefusedError")
        tap.true(not within_reach(receiver), "nothing came")


def within_reach(receiver):
    with contextlib.suppress(BlockingIOError):
        return bool(receiver.recv(1))
    return False


def test_nor_one_that_only_its_owner_may_connect_to():
    """As an ordinary user's gateway the program is that owner, as root's it is somebody else."""
    with listening(workspace / "socket", 0o600) as is_hit:
        output = call(CONNECT + "connect('/work/socket')", language="python")[1]
        tap.true(output["stdout"] == "refused\n" if os.geteuid() else "PermissionError" in output["stderr"], output)
        tap.true(not is_hit(), "nobody has connected")


# A name that was looked for in vain stays absent for that run: so the directory is listed.
AWAIT = """
print("begun", flush=True)
while not os.listdir("/work/late"):
    pass
"""


def test_nor_one_that_is_made_during_the_run():
    with during_the_run(lambda: listening(workspace / "late" / "socket")) as (callback, entered):
        output = call(CONNECT + AWAIT + "connect('/work/late/socket')", language="python", on_output=callback)[1]
        tap.equal(output["stdout"], "begun\nrefused\n", output)
        tap.true(not entered[0](), "nobody has connected")


@contextlib.contextmanager
def during_the_run(make):
    """Something that is made when the program has printed its first line; with what it yields."""
    late, entered = workspace / "late", []
    late.mkdir()
    late.chmod(0o755)
    with contextlib.ExitStack() as stack:
        stack.callback(late.rmdir)

        def callback(_stream, _data, _length):
            if not entered:
                entered.append(stack.enter_context(make()))
        yield callback, entered


def test_a_fifo_is_another():
    path = workspace / "fifo"
    os.mkfifo(path)
    path.chmod(0o666)
    ours = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    os.write(ours, b"ours")
    code = """
import os
print(os.read(os.open("/work/fifo", os.O_RDONLY | os.O_NONBLOCK), 100))
try:
    os.write(os.open("/work/fifo", os.O_RDWR | os.O_NONBLOCK), b"theirs")
except PermissionError:
    print("Landlock")
"""
    output = call(code, language="python")[1]
    path.unlink()
    tap.equal((output["stdout"].splitlines()[0], os.read(ours, 100)), ("b''", b"ours"), output)
    os.close(ours)


@contextlib.contextmanager
def touched(path):
    path.touch()
    yield
    path.unlink()


def test_a_lock_is_not_on_the_machines_file():
    path = workspace / "file"

    def take():
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return touched(workspace / "late" / "go")
    with during_the_run(take) as (callback, entered):
        output = call("import fcntl, os\nfile = open('/work/file')\nfcntl.flock(file, fcntl.LOCK_EX)" + AWAIT, language="python",
                      on_output=callback)[1]
        tap.equal((output["stdout"], len(entered)), ("begun\n", 1), output)


def test_any_name():
    for name in ("a:b", "a,b=c", "a\\b", "a b\nc", "\u00e4", "x" * 255):
        other = directory / "projects" / name
        other.mkdir()
        other.chmod(0o755)
        (other / "file").write_text(name)
        tap.equal(call("cat /work/file", other)[1]["stdout"], name)


def test_where_it_is_on_the_machine_is_not_told():
    tap.lacks(call("cat /proc/self/mountinfo")[1]["stdout"], "projects")


ATTRIBUTES = {"opaque": b"y", "redirect": b"/outside", "metacopy": b"", "origin": b"\0" * 16}


def test_attributes_of_an_overlay_mean_nothing():
    prefixes = ("user.overlay.", "trusted.overlay.") if os.geteuid() == 0 else ("user.overlay.",)
    folder = workspace / "marked"
    folder.mkdir()
    (folder / "file").write_text("as it is")
    folder.chmod(0o755)
    (folder / "file").chmod(0o644)
    for path in (workspace, folder, folder / "file"):
        for name in (prefix + name for prefix in prefixes for name in ATTRIBUTES):
            try:
                os.setxattr(path, name, ATTRIBUTES[name.rsplit(".")[-1]])
            except OSError as error:
                raise tap.Skip(f"this file system takes no attributes: {error}") from None
    tap.equal(call("ls /work/marked; cat /work/marked/file")[1]["stdout"], "file\nas it is")


def mounted(options, place, code):
    """The call of a gateway in a mount namespace of its own, with a memory file system at the place; and how often it has asked."""
    if os.geteuid() != 0:
        raise tap.Skip("takes root to mount")
    place.mkdir(exist_ok=True)
    script = (f"provider = Provider()\nprovider.use_policy({ASKED!r})\nhost = Host(context={{'workspace': {str(workspace)!r}}})\n"
              f"result = provider.invoke({{'language': 'sh', 'code': {code!r}}}, host)[1]\n"
              "print(json.dumps([result, len(host.requests)]))\n")
    before = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs -o mode=755,{options} none "$0" && exec "$@"', str(place)]
    with gateway(script, before=before) as process:
        return json.loads(process.stdout.read())


def test_nothing_may_be_mounted_below_it():
    result, asked = mounted("rw", workspace / "mounted", "echo no")
    tap.equal((result["status"], result["error"]["code"]), ("error", "sandbox_unavailable"), result)
    tap.contains(result["error"]["message"], "read_only_root: show_workspace: something is mounted below")
    tap.contains(result["error"]["hint"], "nothing may be mounted below it")
    tap.equal(asked, 0, "questions about what cannot run")


def test_it_may_be_mounted_itself():
    result, asked = mounted("noexec", workspace, "cat /proc/self/mountinfo")
    mountinfo = result["stdout"]
    tap.equal(asked, 1, "questions")
    options = next(line for line in mountinfo.splitlines() if " /work " in line).split()[5].split(",")
    tap.true({"ro", "nosuid", "nodev", "noexec"} <= set(options), mountinfo)


def test_the_same_for_an_ordinary_user():
    copies = ordinary_user.Copies("process")
    try:
        result = copies.run([sys.executable, copies.directory / "tests" / "process" / pathlib.Path(__file__).name])
    finally:
        copies.close()
    tap.equal(result.returncode, 0, result.stdout + result.stderr)


tap.run(globals())
