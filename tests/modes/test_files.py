# SPDX-License-Identifier: Apache-2.0
"""The files that a program leaves, in each mode: which come out, and what a hostile program cannot do. What one mode's backend alone
does is in ../process/test_artifacts.py."""
import base64
import ctypes
import hashlib
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import ended_runs
import tap
from modes import LONG, MODE, Provider
from provider import ALLOW, Host

RIGHTS = ("sandbox.exec", "sandbox.exec.files", "sandbox.exec.secrets")
SECRET = "s3cr3t-value-of-the-gateway"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
BASE = {"capabilities": list(RIGHTS), "secrets": {"allowed": ["*"]},
        "limits": {name: {"default": 120000, "max": 300000} for name in ("wall_ms", "cpu_ms")}}
provider = Provider(BASE)


def run(code, policy=None, language="python", host=None, **request):
    def call():
        return provider.invoke({"language": language, "code": code, **request}, host or Host(RIGHTS))[1]
    return provider.with_policy(policy, call) if policy else call()


def by_path(result):
    tap.equal(result["error"], None)
    return {file["path"]: file for file in result["files"]}


def content(file):
    return base64.b64decode(file["content"]) if file["encoding"] == "base64" else file["content"].encode()


def omissions(result):
    return {path: file.get("omitted") for path, file in by_path(result).items()}


def test_new_and_changed_files_come_out_and_untouched_ones_do_not():
    files = [{"path": "in.csv", "content": "a\n"}, {"path": "same.txt", "content": "same"}, {"path": "gone.txt", "content": "x"},
             {"path": "touched.txt", "content": "t"}, {"path": "d/other.txt", "content": "one"}]
    result = run("import os\nopen('in.csv', 'a').write('b\\n')\nos.remove('gone.txt')\nos.utime('touched.txt')\nopen('d/other.txt', 'r+').write('two')\n"
                 "os.makedirs('out/deep')\nopen('out/deep/new.txt', 'w').write('hello')\nprint('printed')\n"
                 f"open('picture', 'wb').write({PNG!r})\nopen('empty', 'w')", files=files)
    tap.equal((result["status"], result["stdout"], result["error"], result["files_omitted"]), ("completed", "printed\n", None, None))
    found = by_path(result)
    tap.equal({path: (file["change"], file["mime_type"], content(file)) for path, file in found.items()}, {
        "d/other.txt": ("changed", "text/plain", b"two"), "empty": ("new", "text/plain", b""), "in.csv": ("changed", "text/csv", b"a\nb\n"),
        "out/deep/new.txt": ("new", "text/plain", b"hello"), "picture": ("new", "image/png", PNG)})
    for file in found.values():
        tap.equal((file["size"], file["sha256"]), (len(content(file)), hashlib.sha256(content(file)).hexdigest()))


def end_from_outside(how, attempts=5, **request):
    """Once more where the files were lost: on a busy machine a sandbox may need more than two seconds to report that its tree is gone."""
    ended = ended_runs.end_from_outside(provider, lambda *call: run(*call, **request), BASE["limits"], RIGHTS, how)
    return end_from_outside(how, attempts - 1, **request) if ended[0]["files_omitted"] and attempts > 1 else ended


def test_a_run_that_is_ended_from_outside_leaves_its_files():
    for how, status in ended_runs.WAYS.items():
        result, host = end_from_outside(how)
        tap.equal((result["cause"], result["status"], result["exit_code"], result["signal"], result["files_omitted"]),
                  (how, status, None, "SIGKILL", None))
        found = {file["path"]: file for file in result["files"]}
        tap.equal({path: file.get("omitted") for path, file in found.items()}, {"first": None, "grows": None, "out/second": None}, how)
        tap.equal([content(found[name]) for name in ("first", "out/second")], [b"half\n", b"more\n"], how)
        tap.equal((found["grows"]["size"], found["grows"]["sha256"]),
                  (len(content(found["grows"])), hashlib.sha256(content(found["grows"])).hexdigest()))
        tap.equal([file["path"] for file in host.records[-1]["files_out"]], ["first", "grows", "out/second"])
        tap.true(all(result["usage"][name] is not None for name in ("wall_ms", "user_ms", "system_ms", "peak_memory_bytes")), "usage")
    tap.equal([file["path"] for file in end_from_outside("cancelled", outputs=["out/*"])[0]["files"]], ["out/second"], "patterns choose here, too")


def test_nothing_comes_out_of_a_program_that_leaves_nothing():
    for language, code in (("python", "print(1)"), ("sh", "echo 1")):
        result = run(code, language=language)
        tap.equal((result["stdout"], result["files"], result["files_omitted"], result["notes"]), ("1\n", [], None, []))


def test_patterns_choose():
    code = ("import os\nos.makedirs('out/.hidden')\nfor name in ('a.csv', 'b.txt', 'out/c.csv', 'out/.hidden/d.csv', '.e.csv'): open(name, 'w')")
    for outputs, wanted in ((None, ["a.csv", "b.txt", "out/c.csv"]), (["*.csv"], ["a.csv"]), (["out/.hidden/*", ".e*"], [".e.csv", "out/.hidden/d.csv"]),
                            (["nothing"], [])):
        tap.equal(sorted(by_path(run(code, outputs=outputs))), wanted, str(outputs))


def test_what_is_no_regular_file_is_named_and_never_opened():
    bind = "" if MODE == "unprivileged" else "socket.socket(socket.AF_UNIX).bind('socket')"  # no program has any to bind there
    result = run("import os, socket\nos.symlink('/etc/passwd', 'link'); os.symlink('/etc', 'directory')\n"
                 "os.symlink('/proc/self/environ', 'proc'); os.mkfifo('fifo'); os.mkdir('real'); os.symlink('real', 'inner')\n"
                 f"{bind}\nopen('real/file', 'w').write('x'); os.link('real/file', 'real/second')\n"
                 "os.link('input', 'third')", files=[{"path": "input", "content": "i"}])
    tap.equal(omissions(result), {**dict.fromkeys(("link", "directory", "proc", "fifo", "inner", *(["socket"] if bind else [])), "not_regular"),
                                  "real/file": None, "real/second": "same_file", "third": "same_file"})
    tap.lacks(json.dumps(result["files"]), "root:")


def test_device_nodes_are_named_and_never_opened():
    """A sandbox may make none but the whiteouts of overlays (character device 0:0); tests/unit/guest has others."""
    result = run("import os, stat\nfor name, device in (('zero', (1, 5)), ('whiteout', (0, 0))):\n"
                 "    try: os.mknod(name, stat.S_IFCHR | 0o666, os.makedev(*device))\n    except OSError: continue\n    print(name)\n"
                 "open('file', 'w')")
    made = result["stdout"].split()
    tap.equal((omissions(result), "zero" in made), ({**dict.fromkeys(made, "not_regular"), "file": None}, False))


def test_a_second_name_of_a_secret_s_file_brings_no_secret():
    if MODE == "unprivileged":
        raise tap.Skip("no secret is a file in this mode")
    policy = {"secrets": {"allowed": ["*"], "delivery": {"*": "file"}}}
    code = "import os\npath = os.environ['KEY']\nos.link(path, 'second')\nprint(os.stat('second').st_nlink)\nopen('file', 'w').write('x')"
    result = run(code, policy, host=Host(RIGHTS, secrets={"key": SECRET.encode()}), secrets={"KEY": "{{secret:key}}"})
    tap.equal((result["stdout"], by_path(result)["file"]["content"]), ("2\n", "x"))
    tap.lacks(json.dumps(result), SECRET)


def test_what_a_browser_could_execute_is_marked():
    result = run("for name, text in {'a.html': 'x', 'b': '  <!DOCTYPE html><p>', 'c.svg': '<svg>',\n"
                 "    'd.txt': '<?xml version=\"1.0\"?><svg>', 'e.csv': '<script>alert(1)</script>', 'f.txt': 'plain'}.items():\n"
                 "    open(name, 'w').write(text)")
    tap.equal({path: (file["mime_type"], file["active"]) for path, file in by_path(result).items()}, {
        "a.html": ("text/html", True), "b": ("text/html", True), "c.svg": ("image/svg+xml", True), "d.txt": ("image/svg+xml", True),
        "e.csv": ("text/html", True), "f.txt": ("text/plain", False)})


def test_names_that_could_deceive_are_written_out_and_bring_nothing():
    result = run(r"""
for name in (b'line\nfeed', b'\xff\xfe', b'\x1b[31m', 'rev\u202egpj.exe'.encode(), b'n' * 255, 'gr\u00fc\u00dfe'.encode()):
    open(name, 'w').write('content')""")
    tap.equal(omissions(result), {r"line\x0afeed": "unsafe_name", r"\xff\xfe": "unsafe_name", r"\x1b[31m": "unsafe_name",
                                  "rev\\xe2\\x80\\xaegpj.exe": "unsafe_name", "n" * 255: None, "gr\u00fc\u00dfe": None})


def test_a_huge_sparse_file_is_named_with_its_size():
    """As large as a policy can permit, or a disk of the machine; tests/unit/guest has 8 EiB."""
    huge = (1 if MODE == "unprivileged" else 64) << 40
    policy = {"limits": {"file_bytes": {"default": huge, "max": huge}}}
    result = run(f"open('sparse', 'wb').truncate({huge})\nopen('small', 'w').write('x')", policy)
    tap.equal({path: (file["size"], file.get("omitted")) for path, file in by_path(result).items()},
              {"sparse": (huge, "too_large"), "small": (1, None)})


def test_limits_of_files_and_bytes_are_kept_and_said():
    out = {"max_files": 3, "file_bytes": 100, "total_bytes": 150, "inline_bytes": 120}
    result = run("for i, size in enumerate((60, 101, 80, 5, 6, 7)): open(f'{i}', 'w').write('x' * size)", {"files": {"out": out}})
    tap.equal(omissions(result), {"0": None, "1": "too_large", "2": "too_large"})
    tap.equal(result["files_omitted"], {"count": 3, "bytes": 18, "reason": "too_many"})
    result = run("open('a', 'w')", {"files": {"out": {"max_files": 0}}})
    tap.equal((result["files"], result["files_omitted"]), ([], None))


def test_a_deep_tree_is_left_where_it_is():
    """Landlock looks at every directory above at each step; tests/unit/guest, without it, has one of 10,000 in its long form."""
    if MODE == "unprivileged":
        raise tap.Skip("a tree of more than 256 directories exceeds the limit of files in this mode")
    result = run("import os\nopen('top', 'w')\nfor i in range(1500):\n    os.mkdir('d'); os.chdir('d')\nopen('bottom', 'w').write('x')")
    tap.equal((result["status"], omissions(result)), ("completed", {"top": None}))
    tap.equal(result["files_omitted"], {"count": 1, "bytes": 0, "reason": "too_deep"})


def test_a_great_many_files_are_counted_and_left_where_they_are():
    """Far more than the search looks at; ../process/test_artifacts.py looks at the gateway's memory meanwhile."""
    many = 1000000 if LONG else 50000
    policy = {"limits": {"scratch_inodes": {"default": 2 * many, "max": 2 * many}, "memory_bytes": {"default": 4 << 30, "max": 4 << 30}}}
    result = run(f"import os\nfor i in range({many}): os.mknod(f'{{i:07}}')\nprint(len(os.listdir()) - 1)", policy)
    tap.equal((result["status"], result["stdout"], len(result["files"])), ("completed", f"{many}\n", 50))
    tap.true(all(file["size"] == 0 and "omitted" not in file for file in result["files"]), "whole")
    tap.equal(result["files_omitted"]["reason"], "too_many")
    tap.true(1000 <= result["files_omitted"]["count"] <= 20001, f"the rest as far as it was seen: {result['files_omitted']}")


def test_what_may_not_be_read_is_named():
    result = run("import os\nopen('a', 'w').write('x'); os.chmod('a', 0)\nos.mkdir('d'); open('d/b', 'w'); os.chmod('d', 0)")
    tap.equal((omissions(result), result["files_omitted"]), ({"a": "unreadable"}, {"count": 1, "bytes": 0, "reason": "unreadable"}))


def test_a_closed_directory_stays_closed():
    """Where files are counted by looks at them, a look may open it for a moment: of 40 moments no more than a few."""
    result = run("import os, time\nos.mkdir('d'); open('d/b', 'w'); os.chmod('d', 0)\nseen = []\nfor _ in range(40):\n    time.sleep(0.03)\n"
                 "    seen.append(os.stat('d').st_mode & 0o777)\nprint(seen.count(0) > 30, seen)")
    tap.contains(result["stdout"], "True", result["stderr"])
    tap.equal((result["files"], result["files_omitted"]), ([], {"count": 1, "bytes": 0, "reason": "unreadable"}))


def test_a_process_that_stays_behind_writes_nothing_into_what_is_collected():
    """Its control: the same process goes on writing as long as the main program waits for it."""
    writer = ("import os, time\nopen('grows', 'w')\nready, go = os.pipe()\nif os.fork() == 0:\n    os.setsid()\n"
              "    file = open('grows', 'a', buffering=1)\n    file.write('x' * 64 + '\\n')\n    os.write(go, b'g')\n    while True:\n"
              "        file.write('x' * 64 + '\\n')\n        os.path.exists('late') or open('late', 'w')\nos.read(ready, 1)\n")
    wait = "size = os.stat('grows').st_size\nwhile os.stat('grows').st_size < size + 6400: time.sleep(0.001)\nprint('it writes')\n"
    tap.equal(run(writer + wait)["stdout"], "it writes\n", "the control")
    file = by_path(run(writer))["grows"]
    if "content" in file:
        tap.equal((file["size"], file["sha256"]), (len(content(file)), hashlib.sha256(content(file)).hexdigest()))


def test_a_program_cannot_forge_files():
    """Frames of files on every descriptor that it has."""
    forged = hashlib.sha256(b"x").hexdigest().encode()
    frames = b"".join(len(payload).to_bytes(4, "little") + bytes([kind]) + payload for kind, payload in (
        (1, (1).to_bytes(8, "little") + b"\0\0forged"), (2, b"x"), (3, b"\0" + forged), (6, b"")))
    code = f"import os\nfor fd in range(100):\n    try:\n        os.write(fd, {frames!r})\n    except OSError:\n        pass\nopen('true', 'w').write('y')"
    result = run(code)
    tap.equal(({path: content(file) for path, file in by_path(result).items()}, result["files_omitted"]), ({"true": b"y"}, None))
    tap.contains(result["stdout"], "forged")


def test_secrets_in_text_are_redacted_and_binary_files_are_withheld():
    host = Host(RIGHTS, secrets={"key": SECRET.encode()})
    result = run("import os\nkey = os.environ['KEY']\nopen('a.csv', 'w').write(f'id,{key}\\n')\n"
                 f"open('b.png', 'wb').write({PNG!r})", host=host, secrets={"KEY": "{{secret:key}}"})
    found = by_path(result)
    tap.equal((found["a.csv"]["content"], found["a.csv"]["sha256"]), ("id,[redacted:key]\n", hashlib.sha256(b"id,[redacted:key]\n").hexdigest()))
    tap.equal(found["b.png"]["omitted"], "withheld")
    tap.lacks(json.dumps(result), SECRET)


def test_large_files_go_to_the_hosts_store():
    """More than any buffer on the way holds."""
    stored = {}

    def store(file_json, descriptor, uri, _capacity, length, verdict):
        facts = json.loads(file_json)
        with os.fdopen(os.dup(descriptor), "rb") as file:
            stored[facts["path"]] = hashlib.sha256(file.read()).hexdigest()
        name = f"store:{facts['path']}".encode()
        ctypes.memmove(uri, name, len(name))
        length[0], verdict[0] = len(name), ALLOW
    result = run("for i in range(3): open(f'{i}.bin', 'wb').write(bytes([i]) * (6 << 20))\nopen('small', 'w').write('x')", host=Host(RIGHTS, store_file=store))
    found = by_path(result)
    tap.equal((len(stored), stored), (3, {path: found[path]["sha256"] for path in stored}), "hashed inside as the host has it")
    tap.equal((found["1.bin"]["uri"], stored["1.bin"], found["small"]["content"]), ("store:1.bin", hashlib.sha256(bytes([1]) * (6 << 20)).hexdigest(), "x"))


def test_a_program_that_fails_or_is_killed_leaves_its_files():
    for code, cause in (("raise SystemExit(3)", "exit"), ("os.kill(os.getpid(), 9)", "signal")):
        result = run(f"import os\nopen('a', 'w').write('x')\n{code}")
        tap.equal((result["cause"], [(file["path"], file.get("content")) for file in result["files"]]), (cause, [("a", "x")]))


tap.run(globals())
