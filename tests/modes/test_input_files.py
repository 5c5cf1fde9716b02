# SPDX-License-Identifier: Apache-2.0
"""Files by reference, in each mode: a large one costs the gateway no memory, the program finds a file like any other and no descriptor of
it, and one that has changed is never used. What one mode's backend alone does is in ../process/test_input_files.py."""
import hashlib
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from input_files import MIB, host_of, make_large, peak_memory
from modes import MODE, Provider
from provider import NOT_RUN, OK

GROWTH = 4 * MIB
BASE = {"limits": {name: {"default": 120000, "max": 300000} for name in ("wall_ms", "cpu_ms")}}
provider = Provider(BASE)
folder = tempfile.TemporaryDirectory()


def make(name, content):
    path = pathlib.Path(folder.name) / name
    path.write_bytes(content)
    return path


def run(code, files, paths, policy=None, host=None, language="sh", **request):
    """files: {path in the sandbox: reference, or bytes of an inline one}; paths: {reference: path of the gateway's}."""
    rows = [{"path": path, "ref": given} if isinstance(given, str) else {"path": path, "content": given.decode()} for path, given in files.items()]

    def call():
        return provider.invoke({"language": language, "code": code, "files": rows, **request}, host or host_of(paths))
    return provider.with_policy(policy, call) if policy else call()


def output_of(answer):
    code, result = answer
    tap.equal((code, result["error"], result["stderr"]), (OK, None, ""))
    return result["stdout"]


def test_a_hundred_mebibytes():
    """With the hash of the host's, and with one that the gateway makes itself."""
    path, sha256 = make_large(folder.name)
    run("true", {"in": "r"}, {"r": make("small", b"x")})
    for known in sha256, None:
        before = peak_memory()
        tap.equal(output_of(run("sha256sum in.bin", {"in.bin": "r"}, {"r": path}, host=host_of({"r": path}, sha256=known))), f"{sha256}  in.bin\n")
        tap.true(peak_memory(False) - before < GROWTH, f"{peak_memory(False) - before} bytes more in the gateway")


def test_it_is_the_runs_memory():
    path, _ = make_large(folder.name)
    _, result = run("echo ran", {"in.bin": "r"}, {"r": path}, memory_bytes=64 * MIB)
    tap.equal(result["error"]["code"], "limit_too_high")
    tap.contains(result["error"]["message"], "memory_bytes of 67108864")


def test_the_program_has_no_descriptor_of_it():
    """Not in a pipe: while a shell makes one it has more descriptors, and fewer in the next moment."""
    code, paths = "ls -l /proc/$$/fd", {"r": make("small", b"x")}
    if MODE == "unprivileged":  # no program can list its own; a look at each is possible
        code = "for fd in $(seq 0 255); do if [ -e /proc/$$/fd/$fd ]; then readlink /proc/$$/fd/$fd; fi; done"

    def shown(given):
        return [line for line in output_of(run(code, {"in": given}, paths)).splitlines() if "pipe:" not in line]
    plain, by_reference = shown(b"x"), shown("r")
    tap.equal(len(by_reference), len(plain), by_reference)
    tap.lacks("\n".join(by_reference), folder.name)


def test_a_module_by_reference():
    paths = {"r": make("module", b"answer = 42\n")}
    for _ in range(2):
        tap.equal(output_of(run("import helper\nprint(helper.answer)", {"helper.py": "r"}, paths, language="python")), "42\n")


def test_files_by_reference_and_inline_ones_stand_beside_each_other():
    """In any order, empty ones among them, in directories, with a standard input."""
    paths = {"large": make("large", bytes(range(256)) * 1000), "empty": make("empty", b""), "small": make("small", b"s")}
    files = {"1": b"one", "d/2": "large", "d/3": "empty", "4": b"", "d/e/5": "small", "6": "large"}
    wanted = {name: given if isinstance(given, bytes) else paths[given].read_bytes() for name, given in files.items()}
    shown = output_of(run("sha256sum 1 d/2 d/3 4 d/e/5 6; cat", files, paths, stdin="input\n"))
    tap.equal(shown, "".join(f"{hashlib.sha256(wanted[name]).hexdigest()}  {name}\n" for name in ("1", "d/2", "d/3", "4", "d/e/5", "6")) + "input\n")


def test_they_do_not_take_the_programs_room():
    """Its control: what is more than its own room fails."""
    code = "cat in >/dev/null && head -c $1 /dev/zero >more && wc -c <more; echo $?"
    policy = {"limits": {"scratch_bytes": {"default": MIB}, "file_bytes": {"default": 8 * MIB}}}
    paths = {"r": make("large", b"x" * 3 * MIB)}
    tap.equal(output_of(run(code.replace("$1", "1000000"), {"in": "r"}, paths, policy)), "1000000\n0\n")
    if MODE == "unprivileged":  # the run has ended once more was counted
        _, result = run("head -c 1300000 /dev/zero >more; sleep 60", {"in": "r"}, paths, policy)
        tap.equal(result["cause"], "disk_full", result)
        return
    _, result = run(code.replace("$1", "1300000"), {"in": "r"}, paths, policy)
    tap.lacks(result["stdout"], "1300000")
    tap.contains(result["stderr"], "No space left")


def test_one_may_be_larger_than_what_the_program_may_write():
    code = "wc -c <in && head -c $1 /dev/zero >more; wc -c <more"
    policy = {"limits": {"file_bytes": {"default": MIB}, "scratch_bytes": {"default": 16 * MIB}}}
    paths = {"r": make("large", b"x" * 3 * MIB)}
    for size in 1000000, MIB, MIB + 1, 2 * MIB:
        _, result = run(code.replace("$1", str(size)), {"in": "r"}, paths, policy)
        tap.equal((result["error"], result["stdout"]), (None, f"{3 * MIB}\n{min(size, MIB)}\n"), result["stderr"])


def test_what_the_program_changes_comes_out_and_the_rest_does_not():
    paths = {"large": make("large", b"x" * MIB), "other": make("other", b"y" * 1000)}
    host = host_of(paths, rights=("sandbox.exec", "sandbox.exec.files"))
    _, result = run("echo more >>changed", {"same": "large", "changed": "other"}, paths, host=host)
    tap.equal([(file["path"], file["change"], file["size"]) for file in result["files"]], [("changed", "changed", 1005)], result["error"])


def test_a_file_that_has_changed_is_not_used():
    """The gateway lists it with a hash, and its content of the same size is another: at its end, and at its beginning behind other files."""
    for at, files in ((2 * MIB - 1, {"in": "r"}), (0, {"first": "s", "in": "r", "last": "s"})):
        content = bytearray(2 * MIB)
        listed = hashlib.sha256(content).hexdigest()
        content[at] = 1
        paths = {"r": make("large", content), "s": make("small", b"s")}
        seen = []
        host = host_of(paths, sha256={"r": listed}, on_output=lambda stream, *_: seen.append(stream))
        code, result = run("echo ran", files, paths, host=host)
        tap.equal((code, result["error"]["code"], result["stdout"], seen), (NOT_RUN, "file_changed", "", []), result["error"])
        tap.true(result["error"]["message"].endswith("in)"), result["error"])
        tap.equal(output_of(run("echo ran", files, paths)), "ran\n", "as it is now, it is used")


tap.run(globals())
