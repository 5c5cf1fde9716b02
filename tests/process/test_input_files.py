# SPDX-License-Identifier: Apache-2.0
"""Files by reference in process mode: a large one costs the gateway no memory, the program finds a file like any other and no descriptor of
it, and the sandboxes that are kept ready stay what they are."""
import hashlib
import os
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from provider import ALLOW, OK, Host, Provider

MIB = 1 << 20
LARGE = 100 * MIB
GROWTH = 4 * MIB
provider = Provider()
folder = tempfile.TemporaryDirectory()


def make_large():
    """Sparse but for a page here and there, so that it takes no room on the disk; its hash."""
    path = pathlib.Path(folder.name) / "large.bin"
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        file.truncate(LARGE)
        for place in range(0, LARGE, 10 * MIB):
            file.seek(place)
            file.write(f"at {place}".encode())
    with open(path, "rb") as file:
        while chunk := file.read(MIB):
            digest.update(chunk)
    return path, digest.hexdigest()


def host_of(path, size=None, sha256=None, **callbacks):
    def open_file(_ref, descriptor, ret_size, verdict):
        descriptor[0] = os.open(path, os.O_RDONLY)
        ret_size[0] = os.fstat(descriptor[0]).st_size
        verdict[0] = ALLOW
    listed = {"ref": "r", "name": path.name, "size": os.stat(path).st_size if size is None else size, **({"sha256": sha256} if sha256 else {})}
    return Host(("sandbox.exec", "sandbox.exec.files"), open_file=open_file, context={"files": [listed]}, **callbacks)


def status_bytes(name):
    for line in pathlib.Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise AssertionError(name)


def group_statistics():
    """memory.stat of this process's control group; None: it cannot be read here. Of version 1 it is the group's own, without those below."""
    for line in pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        top = "/sys/fs/cgroup/memory" if controllers == "memory" else "/sys/fs/cgroup" if controllers == "" else None
        file = pathlib.Path(f"{top}{path}/memory.stat")
        if top and file.exists():
            return file
    return None


def group_shared_memory(file):
    return int(dict(line.split() for line in file.read_text(encoding="utf-8").splitlines())["shmem"])


def wait_for(condition, what, limit=30):
    end = time.monotonic() + limit
    while not condition():
        tap.true(time.monotonic() < end, what)
        time.sleep(0.05)


def test_a_hundred_mebibytes():
    """With the hash of the host's, and with one that the gateway makes itself."""
    path, sha256 = make_large()
    statistics = group_statistics()
    request = {"language": "sh", "code": "sha256sum in.bin", "files": [{"path": "in.bin", "ref": "r"}]}
    tap.equal(provider.use_policy({"limits": {"wall_ms": {"default": 60000}}}), OK)
    small = pathlib.Path(folder.name) / "small"
    small.write_bytes(b"x")
    provider.invoke(request, host_of(small))
    grown = []
    for known in sha256, None:
        seen = []
        host = host_of(path, sha256=known, on_output=lambda *_: seen.append(group_shared_memory(statistics) if statistics else 0))
        pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the highest use counts from now on
        before, shared = status_bytes("VmHWM"), group_shared_memory(statistics) if statistics else 0
        code, result = provider.invoke(request, host)
        tap.equal((code, result["stdout"]), (OK, f"{sha256}  in.bin\n"), result["error"])
        tap.true(status_bytes("VmHWM") - before < GROWTH, f"{status_bytes('VmHWM') - before} bytes more in the gateway")
        grown.append(max(seen) - shared)
    if not result["isolation"]["details"]["cgroup_memory"] or not statistics or "/cgroup/memory/" not in str(statistics):
        raise tap.Skip("no memory group of a sandbox's own beside the gateway's: what both share is not told apart")
    tap.true(max(grown) < GROWTH, f"{max(grown)} bytes more of shared memory in the gateway's group")


def test_it_is_the_runs_memory():
    path, _ = make_large()
    request = {"language": "sh", "code": "echo ran", "memory_bytes": 64 * MIB, "files": [{"path": "in.bin", "ref": "r"}]}
    _, result = provider.invoke(request, host_of(path))
    tap.equal(result["error"]["code"], "limit_too_high")
    tap.contains(result["error"]["message"], "memory_bytes of 67108864")


def test_the_program_has_no_descriptor_of_it():
    small = pathlib.Path(folder.name) / "small"
    small.write_bytes(b"x")
    request = {"language": "sh", "code": "ls -l /proc/$$/fd | grep -v pipe:", "files": [{"path": "in", "ref": "r"}]}
    plain = provider.invoke({**request, "files": [{"path": "in", "content": "x"}]}, host_of(small))[1]["stdout"].count("\n")
    _, result = provider.invoke(request, host_of(small))
    tap.equal(result["stdout"].count("\n"), plain, result["stdout"])
    tap.lacks(result["stdout"], folder.name)


def test_a_module_by_reference():
    module = pathlib.Path(folder.name) / "module"
    module.write_text("answer = 42\n", encoding="utf-8")
    for _ in range(2):
        _, result = provider.invoke({"language": "python", "code": "import helper\nprint(helper.answer)",
                                     "files": [{"path": "helper.py", "ref": "r"}]}, host_of(module))
        tap.equal((result["stdout"], result["stderr"], result["error"]), ("42\n", "", None))


def test_ready_sandboxes_have_no_room_for_it_and_stay():
    """One more template for each size would push out the others, and a ready one has the policy's scratch."""
    provider.reset()
    tap.equal(provider.use_policy({"pools": {"process": {"ready": 2, "most": 2}}, "limits": {"scratch_bytes": {"default": 1048576}}}), OK)
    small = pathlib.Path(folder.name) / "small"
    for size in range(1, 20):
        small.write_bytes(b"x" * size * 100000)
        _, result = provider.invoke({"language": "sh", "code": "wc -c <in; df -k . | awk 'END {print $2}'",
                                     "files": [{"path": "in", "ref": "r"}]}, host_of(small))
        length, room = map(int, result["stdout"].split())
        tap.equal(length, size * 100000, result["error"])
        tap.equal(room, 1024 + -(-size * 100000 // 65536) * 64)
    wait_for(lambda: sum(row["ready"] for row in provider.pool()[1].values()) == 2, "two are ready")
    _, result = provider.invoke({"language": "sh", "code": "df -k . | awk 'END {print $2}'"}, host_of(small))
    tap.equal(result["stdout"], "1024\n", "a run without such files has the policy's room, also in a ready one")


def test_a_prepared_python_is_copied_for_it():
    """Its imports are there as in a run without files."""
    module = pathlib.Path(folder.name) / "module"
    module.write_text("answer = 42\n", encoding="utf-8")
    request = {"language": "python", "code": "import helper\nprint(helper.answer)", "files": [{"path": "helper.py", "ref": "r"}]}
    provider.reset()
    tap.equal(provider.use_policy({}), OK)

    def is_copied():
        before = provider.counters()["sandboxes_copied"]
        _, result = provider.invoke(request, host_of(module))
        tap.equal((result["stdout"], result["error"]), ("42\n", None))
        return provider.counters()["sandboxes_copied"] > before
    wait_for(is_copied, "a copied interpreter")


tap.run(globals())
