# SPDX-License-Identifier: Apache-2.0
"""Files by reference in process mode: their content is no memory of the gateway's control group, and the sandboxes that are kept ready
stay what they are. What holds in every mode is in ../modes/test_input_files.py."""
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from input_files import MIB, host_of, make_large
from provider import OK, Provider

GROWTH = 4 * MIB
provider = Provider()
folder = tempfile.TemporaryDirectory()


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


def test_a_large_one_is_no_memory_of_the_gateways_group():
    path, sha256 = make_large(folder.name)
    statistics = group_statistics()
    tap.equal(provider.use_policy({"limits": {"wall_ms": {"default": 60000}}}), OK)
    small = pathlib.Path(folder.name) / "small"
    small.write_bytes(b"x")
    request = {"language": "sh", "code": "sha256sum in.bin", "files": [{"path": "in.bin", "ref": "r"}]}
    _, result = provider.invoke(request, host_of({"r": small}))
    if not result["isolation"]["details"]["cgroup_memory"] or not statistics or "/cgroup/memory/" not in str(statistics):
        raise tap.Skip("no memory group of a sandbox's own beside the gateway's: what both share is not told apart")
    seen, shared = [], group_shared_memory(statistics)
    _, result = provider.invoke(request, host_of({"r": path}, on_output=lambda *_: seen.append(group_shared_memory(statistics))))
    tap.equal((result["stdout"], bool(seen)), (f"{sha256}  in.bin\n", True), result["error"])
    tap.true(max(seen) - shared < GROWTH, f"{max(seen) - shared} bytes more of shared memory in the gateway's group")


def test_ready_sandboxes_have_no_room_for_it_and_stay():
    """One more template for each size would push out the others, and a ready one has the policy's scratch."""
    provider.reset()
    tap.equal(provider.use_policy({"pools": {"process": {"ready": 2, "most": 2}}, "limits": {"scratch_bytes": {"default": 1048576}}}), OK)
    small = pathlib.Path(folder.name) / "small"
    for size in range(1, 20):
        small.write_bytes(b"x" * size * 100000)
        _, result = provider.invoke({"language": "sh", "code": "wc -c <in; df -k . | awk 'END {print $2}'",
                                     "files": [{"path": "in", "ref": "r"}]}, host_of({"r": small}))
        length, room = map(int, result["stdout"].split())
        tap.equal(length, size * 100000, result["error"])
        tap.equal(room, 1024 + -(-size * 100000 // 65536) * 64)
    wait_for(lambda: sum(row["ready"] for row in provider.pool()[1].values()) == 2, "two are ready")
    _, result = provider.invoke({"language": "sh", "code": "df -k . | awk 'END {print $2}'"}, host_of({"r": small}))
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
        _, result = provider.invoke(request, host_of({"r": module}))
        tap.equal((result["stdout"], result["error"]), ("42\n", None))
        return provider.counters()["sandboxes_copied"] > before
    wait_for(is_copied, "a copied interpreter")


tap.run(globals())
