# SPDX-License-Identifier: Apache-2.0
"""Which containers a gateway's sweep removes: those whose owner has certainly ended, and after their latest time those of an owner
that it cannot judge. The owners here are processes in a pid namespace of the test's own, whose /proc may hide other users'."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import ordinary_user
import tap
from engine_calls import directory, provider, socket_path
from fake_engine import FakeEngine
from owner_labels import ended_pid, labels, start_of

OTHER_BOOT = "01234567-89ab-cdef-0123-456789abcdef"


def sweep(path):
    """The provider's report on its sweep of that engine."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"modes": {"default": "docker", "allowed": ["docker"]}, "docker": {"host": f"unix://{path}"}}, file)
        file.flush()
        status = provider.prepare(policy_file=file.name, sweep=True)[1]
    provider.reset()
    return status["sweep"][0]


def swept(owners):
    """The names of the owners whose container is removed."""
    ids = {f"{number:064x}": name for number, name in enumerate(owners, 1)}
    with FakeEngine(socket_path, others={number: owners[name] for number, name in ids.items()}) as engine:
        told = sweep(socket_path)
        gone = {name for number, name in ids.items() if number not in engine.others}
    tap.equal((told["removed"], told["left"], told["error"]), (len(gone), 0, None), gone)
    return gone


def test_owners_of_this_kernel():
    me, start = os.getpid(), start_of(os.getpid())
    tap.equal(swept({"living": labels(me, start), "living for long": labels(me, start, latest=-1),
                     "ended": labels(ended_pid(), start), "another with its number": labels(me, int(start) + 1),
                     "not in this namespace": labels(ended_pid(), start, namespaces="pid:[1] time:[1]"),
                     "not in this namespace, late": labels(me, start, namespaces="pid:[1] time:[1]", latest=-1)}),
              {"ended", "another with its number", "not in this namespace, late"})


def test_owners_of_another_kernel_are_swept_by_time():
    """A local socket may be forwarded to another machine's engine, or from another machine."""
    tap.equal(swept({"running": labels(ended_pid(), 1, boot=OTHER_BOOT), "late": labels(os.getpid(), 1, boot=OTHER_BOOT, latest=-1),
                     "control": labels(ended_pid(), 1)}), {"late", "control"})


def test_hidden_owner_lives():
    tap.equal(swept_by_ordinary_user(hidepid=2), {"ended", "hidden, late"})


def test_control_owner_that_is_shown():
    tap.equal(swept_by_ordinary_user(hidepid=0), {"ended", "another with its number"})


def swept_by_ordinary_user(hidepid):
    """The same in namespaces of its own, because some kernels would change the mount of the machine's /proc."""
    if os.geteuid() != 0:
        raise tap.Skip("takes root to mount a /proc and to become another user")
    command = f"mount -t proc -o hidepid={hidepid} proc /proc && exec \"$@\""
    done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", command, "sh",
                           sys.executable, sys.argv[0], "inside", str(hidepid)], capture_output=True, text=True, check=False)
    if "unshare failed" in done.stderr or "permission denied" in done.stderr:
        raise tap.Skip(done.stderr.strip())
    tap.equal(done.returncode, 0, done.stderr)
    return set(json.loads(done.stdout))


def be_inside(hidepid):
    """Root is the first process of the namespace and owns the containers. An ordinary user sweeps."""
    copies = ordinary_user.Copies("docker")
    path = str(copies.directory / "docker.sock")
    copies.add(pathlib.Path(os.environ["CODE_EXECUTE_SO"]).with_name("code-execute-docker"))
    me, start = os.getpid(), start_of(os.getpid())
    owners = {"living": labels(me, start), "ended": labels(ended_pid(), start), "another with its number": labels(me, int(start) + 1)}
    if hidepid:
        owners["hidden, late"] = labels(me, start, latest=-1)
    ids = {f"{number:064x}": name for number, name in enumerate(owners, 1)}
    try:
        with FakeEngine(path, others={number: owners[name] for number, name in ids.items()}) as engine:
            os.chmod(path, 0o666)
            done = copies.run([sys.executable, copies.directory / "tests" / "docker" / "test_fake_sweep.py", "sweep", path, str(me)])
            tap.equal(done.returncode, 0, done.stderr)
            told, shown = json.loads(done.stdout)
            gone = [name for number, name in ids.items() if number not in engine.others]
        tap.equal(shown, not hidepid, "the owner in the other user's /proc")
        tap.equal((told["removed"], told["error"]), (len(gone), None))
    finally:
        copies.close()
    print(json.dumps(gone))


def main():
    if sys.argv[1:2] == ["inside"]:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        be_inside(int(sys.argv[2]))
    elif sys.argv[1:2] == ["sweep"]:
        print(json.dumps([sweep(sys.argv[2]), os.path.exists(f"/proc/{sys.argv[3]}")]))
    else:
        tap.run(globals())


try:
    main()
finally:
    directory.cleanup()
