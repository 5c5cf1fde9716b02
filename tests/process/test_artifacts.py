# SPDX-License-Identifier: Apache-2.0
"""The files that a program leaves, in each mode whose backend runs here: which come out, and what a hostile program cannot do."""
import base64
import ctypes
import hashlib
import json
import os
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import ended_runs
import tap
from provider import ALLOW, DENY, OK, Host, Provider

MODES = ("process", "none")
RIGHTS = ("sandbox.exec", "sandbox.exec.files", "sandbox.exec.secrets", "sandbox.exec.mode.none")
POLICY = {"approval": {"default": "allow"}, "capabilities": list(RIGHTS), "secrets": {"allowed": ["*"]},
          "modes": {"default": "process", "allowed": list(MODES)},
          "limits": {name: {"default": 120000, "max": 300000} for name in ("wall_ms", "cpu_ms")}}
SECRET = "s3cr3t-value-of-the-gateway"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
provider = Provider()


class Store:
    """A host's store: what it was lent, by name."""

    def __init__(self, verdict=ALLOW):
        self.verdict, self.files, self.facts, self.seals = verdict, {}, {}, []

    def __call__(self, file_json, descriptor, uri, capacity, length, verdict):
        facts = json.loads(file_json)
        with os.fdopen(os.dup(descriptor), "rb") as file:
            self.files[facts["path"]] = hashlib.sha256(file.read()).hexdigest()
        try:
            os.write(descriptor, b"x")
        except OSError as error:
            self.seals.append(error.strerror)
        self.facts[facts["path"]] = facts
        name = f"store:{facts['path']}".encode()
        ctypes.memmove(uri, name, len(name))
        length[0], verdict[0] = len(name), self.verdict


def run(code, mode="process", policy=None, language="python", host=None, **request):
    provider.reset()
    patch = {**POLICY, **(policy or {})}
    tap.equal(provider.use_policy({**patch, "modes": {"default": mode, "allowed": list(MODES)}}), OK)
    return provider.invoke({"language": language, "code": code, **request}, host or Host(RIGHTS))[1]


def by_path(result):
    return {file["path"]: file for file in result["files"]}


def content(file):
    return base64.b64decode(file["content"]) if file["encoding"] == "base64" else file["content"].encode()


def omissions(result):
    return {file["path"]: file.get("omitted") for file in result["files"]}


def every_mode(test):
    def in_modes():
        for mode in MODES:
            test(mode)
    in_modes.__name__ = test.__name__
    return in_modes


@every_mode
def test_new_and_changed_files_come_out_and_untouched_ones_do_not(mode):
    files = [{"path": "in.csv", "content": "a\n"}, {"path": "same.txt", "content": "same"}, {"path": "gone.txt", "content": "x"},
             {"path": "touched.txt", "content": "t"}]
    result = run("import os\nopen('in.csv', 'a').write('b\\n')\nos.remove('gone.txt')\nos.utime('touched.txt')\n"
                 "os.makedirs('out/deep')\nopen('out/deep/new.txt', 'w').write('hello')\n"
                 f"open('picture', 'wb').write({PNG!r})\nopen('empty', 'w')", mode, files=files)
    tap.equal((result["status"], result["error"], result["files_omitted"]), ("completed", None, None))
    found = by_path(result)
    tap.equal({path: (file["change"], file["mime_type"], content(file)) for path, file in found.items()}, {
        "empty": ("new", "text/plain", b""), "in.csv": ("changed", "text/csv", b"a\nb\n"),
        "out/deep/new.txt": ("new", "text/plain", b"hello"), "picture": ("new", "image/png", PNG)})
    for file in found.values():
        tap.equal((file["size"], file["sha256"]), (len(content(file)), hashlib.sha256(content(file)).hexdigest()))
        tap.equal(file["active"], False)


@every_mode
def test_files_by_reference_come_out_only_where_they_have_changed(mode):
    with tempfile.NamedTemporaryFile() as source:
        source.write(b"by reference")
        source.flush()

        def open_file(_ref, descriptor, size, verdict):
            descriptor[0], size[0], verdict[0] = os.open(source.name, os.O_RDONLY), 12, ALLOW
        host = Host(RIGHTS, open_file=open_file, context={"files": [{"ref": "r", "name": "n", "size": 12}]})
        files = [{"path": name, "ref": "r"} for name in ("same", "other", "longer")]
        result = run("open('other', 'r+').write('BY')\nopen('longer', 'a').write('!')", mode, host=host, files=files)
    tap.equal({path: (file["change"], content(file)) for path, file in by_path(result).items()},
              {"other": ("changed", b"BY reference"), "longer": ("changed", b"by reference!")})


def test_files_are_in_the_audit_record_by_name_and_hash():
    host = Host(RIGHTS)
    run("open('a', 'w').write('x')", host=host)
    tap.equal(host.records[-1]["files_out"],
              [{"omitted": None, "path": "a", "sha256": hashlib.sha256(b"x").hexdigest(), "size": 1}])


def test_nothing_comes_out_of_a_program_that_leaves_nothing():
    for language, code in (("python", "print(1)"), ("sh", "echo 1")):
        result = run(code, language=language)
        tap.equal((result["files"], result["files_omitted"], result["notes"]), ([], None, []))


def test_patterns_choose():
    code = ("import os\nos.makedirs('out/.hidden'); os.makedirs('other')\n"
            "for name in ('a.csv', 'b.txt', 'out/c.csv', 'out/.hidden/d.csv', '.e.csv', 'other/f1.csv'): open(name, 'w')")
    for outputs, wanted in ((None, ["a.csv", "b.txt", "other/f1.csv", "out/c.csv"]), (["*.csv"], ["a.csv"]),
                            (["**/*.csv"], ["a.csv", "other/f1.csv", "out/c.csv"]), (["out/**", "b.???"], ["b.txt", "out/c.csv"]),
                            (["out/.hidden/*"], ["out/.hidden/d.csv"]), ([".[a-f].csv", "other/f[!0]*"], [".e.csv", "other/f1.csv"]),
                            (["nothing"], [])):
        tap.equal(sorted(by_path(run(code, outputs=outputs))), wanted, str(outputs))


def test_patterns_that_leave_the_directory_are_refused():
    for pattern in ("/etc/*", "../*", "a//b", "", "a/./b"):
        result = run("", outputs=[pattern])
        tap.equal((result["status"], result["error"]["code"]), ("error", "invalid_input"), pattern)


@every_mode
def test_what_is_no_regular_file_is_named_and_never_opened(mode):
    result = run("import os, socket\nos.symlink('/etc/passwd', 'link'); os.symlink('/etc', 'directory')\n"
                 "os.symlink('/proc/self/environ', 'proc'); os.mkfifo('fifo'); os.mkdir('real'); os.symlink('real', 'inner')\n"
                 "socket.socket(socket.AF_UNIX).bind('socket')\nopen('real/file', 'w').write('x')", mode)
    tap.equal(omissions(result), {**dict.fromkeys(("link", "directory", "proc", "fifo", "inner", "socket"), "not_regular"),
                                  "real/file": None})
    tap.lacks(json.dumps(result["files"]), "root:")


@every_mode
def test_a_file_with_several_names_comes_once(mode):
    result = run("import os\nopen('a', 'w').write('x'); os.link('a', 'b'); os.link('input', 'c')", mode,
                 files=[{"path": "input", "content": "i"}])
    tap.equal(omissions(result), {"a": None, "b": "same_file", "c": "same_file"})


@every_mode
def test_names_that_could_deceive_are_written_out_and_bring_nothing(mode):
    result = run(r"""
for name in (b'line\nfeed', b'\xff\xfe', b'\x1b[31m', 'rev\u202egpj.exe'.encode(), b'n' * 255, 'gr\u00fc\u00dfe'.encode(), b'..a'):
    open(name, 'w').write('content')""", mode, outputs=["*", "..a"])
    tap.equal(omissions(result), {r"line\x0afeed": "unsafe_name", r"\xff\xfe": "unsafe_name", r"\x1b[31m": "unsafe_name",
                                  "rev\\xe2\\x80\\xaegpj.exe": "unsafe_name", "n" * 255: None, "gr\u00fc\u00dfe": None, "..a": None})


@every_mode
def test_a_huge_sparse_file_is_named_with_its_size(mode):
    limits = {"limits": {**POLICY["limits"], "file_bytes": {"default": 1 << 46, "max": 1 << 46}}}
    result = run("import os\nopen('small', 'w').write('x')\nfile = open('sparse', 'wb')\n"
                 "for shift in (46, 43, 40):\n    try: file.truncate(1 << shift)\n    except OSError: continue\n"  # a file system of the machine's
                 "    print(1 << shift)\n    break", mode, policy=limits)
    tap.true(int(result["stdout"]) >= 1 << 40, "its size")
    tap.equal({path: (file["size"], file.get("omitted")) for path, file in by_path(result).items()},
              {"sparse": (int(result["stdout"]), "too_large"), "small": (1, None)})


def test_limits_of_files_and_bytes_are_kept_and_said():
    out = {"max_files": 3, "file_bytes": 100, "total_bytes": 150, "inline_bytes": 120}
    result = run("for i, size in enumerate((60, 101, 80, 5, 6, 7)): open(f'{i}', 'w').write('x' * size)", policy={"files": {"out": out}})
    tap.equal(omissions(result), {"0": None, "1": "too_large", "2": "too_large"})
    tap.equal(result["files_omitted"], {"count": 3, "bytes": 18, "reason": "too_many"})
    result = run("for i in range(4): open(f'{i}', 'w').write('x' * 60)", policy={"files": {"out": {**out, "max_files": 9}}})
    tap.equal(omissions(result), {"0": None, "1": None, "2": "total_too_large", "3": "total_too_large"})
    result = run("open('a', 'w')", policy={"files": {"out": {"max_files": 0}}})
    tap.equal((result["files"], result["files_omitted"]), ([], None))


def test_a_great_many_files_are_counted_in_bounded_time_and_memory():
    """In one directory, and in many."""
    many = 1000000 if os.environ.get("CODE_EXECUTE_TEST_LONG") == "1" else 100000
    limits = {"limits": {**POLICY["limits"], "scratch_inodes": {"default": 2 * many, "max": 2 * many},
                         "memory_bytes": {"default": 4 << 30, "max": 4 << 30}, "scratch_bytes": {"default": 3 << 30, "max": 3 << 30}}}
    for code in (f"for i in range({many}): os.mknod(str(i))",
                 f"for i in range(100):\n    os.mkdir(f'{{i}}')\n    for k in range({many // 100}): os.mknod(f'{{i}}/{{k}}')"):
        ended = []
        host = Host(RIGHTS, on_output=lambda *_, ended=ended: ended.append(time.monotonic()))
        pathlib.Path("/proc/self/clear_refs").write_text("5")  # resets the peak
        before = resident_bytes()
        result = run(f"import os\n{code}\nos.write(1, b'made')\nos._exit(0)", policy=limits, host=host)
        took, grown = time.monotonic() - ended[-1], resident_bytes() - before
        tap.equal((result["status"], result["stdout"], len(result["files"])), ("completed", "made", 50), str(result["error"]))
        tap.equal(result["files_omitted"]["reason"], "too_many")
        tap.true(1000 <= result["files_omitted"]["count"] <= 20001, "the rest is counted as far as it was seen")
        tap.true(took < 60, f"collected in {took:.1f} s")
        tap.true(grown < (4 << 20), f"the gateway grew by {grown} bytes")


@every_mode
def test_a_deep_tree_is_left_where_it_is(mode):
    """tests/unit/guest has a deeper one."""
    result = run("import os\nopen('top', 'w')\nfor i in range(1500):\n    os.mkdir('d'); os.chdir('d')\nopen('bottom', 'w')", mode)
    tap.equal((result["status"], omissions(result)), ("completed", {"top": None}))
    tap.equal(result["files_omitted"], {"count": 1, "bytes": 0, "reason": "too_deep"})


@every_mode
def test_device_nodes_are_named_and_never_opened(mode):
    """A sandbox may make none but the whiteouts of overlays (character device 0:0)."""
    result = run("import os, stat\nfor name, device in (('zero', (1, 5)), ('whiteout', (0, 0))):\n"
                 "    try: os.mknod(name, stat.S_IFCHR | 0o666, os.makedev(*device))\n    except OSError: continue\n    print(name)", mode)
    tap.equal(omissions(result), dict.fromkeys(result["stdout"].split(), "not_regular"), mode)
    if mode == "none" and os.geteuid() == 0:
        tap.equal(result["stdout"], "zero\nwhiteout\n", "the control: where there is one")


def test_files_that_change_while_they_are_collected_come_as_they_were_announced():
    """Nothing of a sandbox is left to change them; in mode none, others of the machine may."""
    size = 400000  # more than a pipe holds: while the first is stored, the init has the second open and has not come further

    def change():
        [home] = [path.parent for path in pathlib.Path("/tmp").glob(f"code-execute-*/{marker}")]
        for name, act in (("2", lambda path: os.truncate(path, 10)), ("3", lambda path: os.truncate(path, 2 * size)),
                          ("4", pathlib.Path.unlink)):
            act(home / name)
        for name, make in (("5", os.mkfifo), ("6", lambda path: os.symlink("/etc/passwd", path)), ("7", os.mkdir)):
            (home / name).unlink()
            make(home / name)
    store, marker = Store(), f".{os.getpid()}"

    def store_and_change(file_json, *rest):
        store(file_json, *rest)
        if json.loads(file_json)["path"] == "0":
            change()
    result = run(f"import os\nos.mknod('{marker}')\nfor i in range(8): open(f'{{i}}', 'w').write(str(i) * {size})", "none",
                 host=Host(RIGHTS, store_file=store_and_change), policy={"files": {"out": {"inline_bytes": 0}}})
    tap.equal(omissions(result), {**dict.fromkeys("013"), **dict.fromkeys("24567", "unreadable")})
    tap.equal((result["status"], result["files_omitted"]), ("completed", None))
    tap.equal(store.files, {name: hashlib.sha256(name.encode() * size).hexdigest() for name in "013"}, "as long as announced")


@every_mode
def test_what_may_not_be_read_is_named(mode):
    if mode == "none" and os.geteuid() == 0:
        return  # root reads everything
    result = run("import os\nopen('a', 'w').write('x'); os.chmod('a', 0)\nos.mkdir('d'); open('d/b', 'w'); os.chmod('d', 0)", mode)
    tap.equal(omissions(result), {"a": "unreadable"})
    tap.equal(result["files_omitted"], {"count": 1, "bytes": 0, "reason": "unreadable"})


@every_mode
def test_a_process_that_stays_behind_writes_nothing_into_what_is_collected(mode):
    """Its control: the same process goes on writing as long as the main program waits for it."""
    writer = ("import os, time\nopen('grows', 'w')\nready, go = os.pipe()\nif os.fork() == 0:\n    os.setsid()\n"
              "    file = open('grows', 'a', buffering=1)\n    file.write('x' * 64 + '\\n')\n    os.write(go, b'g')\n    while True:\n"
              "        file.write('x' * 64 + '\\n')\n        os.path.exists('late') or open('late', 'w')\nos.read(ready, 1)\n")
    wait = "size = os.stat('grows').st_size\nwhile os.stat('grows').st_size < size + 6400: time.sleep(0.001)\nprint('it writes')\n"
    result = run(writer + wait, mode)
    tap.equal(result["stdout"], "it writes\n", "the control")
    for _ in range(3):
        result = run(writer, mode)
        file = by_path(result)["grows"]
        if "content" in file:
            tap.equal((file["size"], file["sha256"]), (len(content(file)), hashlib.sha256(content(file)).hexdigest()))


@every_mode
def test_what_a_browser_could_execute_is_marked(mode):
    result = run("for name, text in {'a.html': 'x', 'b': '  <!DOCTYPE html><p>', 'c.svg': '<svg>', 'd.txt': '<?xml version=\"1.0\"?><svg>',\n"
                 "    'e.csv': '<script>alert(1)</script>', 'f.txt': 'plain', 'g.pdf': '%PDF-1.7', 'h.js': '1'}.items():\n"
                 "    open(name, 'w').write(text)", mode)
    tap.equal({path: (file["mime_type"], file["active"]) for path, file in by_path(result).items()}, {
        "a.html": ("text/html", True), "b": ("text/html", True), "c.svg": ("image/svg+xml", True), "d.txt": ("image/svg+xml", True),
        "e.csv": ("text/html", True), "f.txt": ("text/plain", False), "g.pdf": ("application/pdf", True), "h.js": ("text/javascript", True)})


def with_secret(code, policy=None, **callbacks):
    host = Host(RIGHTS, secrets={"key": SECRET.encode()}, **callbacks)
    return run(f"import os\nkey = os.environ['KEY']\n{code}", policy=policy, host=host, secrets={"KEY": "{{secret:key}}"})


def test_secrets_in_text_are_redacted_and_the_hash_is_of_what_comes():
    store = Store()
    result = with_secret("open('a.csv', 'w').write(f'id,{key}\\n')\nopen('b.txt', 'w').write('none')\n"
                         "open('big.txt', 'w').write(('x' * 50 + key) * 50000)", store_file=store)
    found = by_path(result)
    tap.equal(found["a.csv"]["content"], "id,[redacted:key]\n")
    tap.equal(found["a.csv"]["sha256"], hashlib.sha256(b"id,[redacted:key]\n").hexdigest())
    tap.equal(found["b.txt"]["content"], "none")
    whole = (b"x" * 50 + b"[redacted:key]") * 50000
    tap.equal((found["big.txt"]["size"], found["big.txt"]["sha256"]), (len(whole), hashlib.sha256(whole).hexdigest()))
    tap.equal(store.files, {"big.txt": hashlib.sha256(whole).hexdigest()})
    tap.lacks(json.dumps(result), SECRET)


def test_binary_files_of_a_run_with_secrets_are_withheld_unless_the_policy_hands_them_over():
    code = f"open('a.png', 'wb').write({PNG!r})\nopen('late', 'wb').write(b'x' * 200000 + b'\\0')\nopen('cut', 'wb').write(b'x\\xc3')"
    result = with_secret(code)
    tap.equal(omissions(result), dict.fromkeys(("a.png", "late", "cut"), "withheld"))
    tap.true(all(file["not_scanned"] and "sha256" not in file for file in result["files"]), "they say why")
    result = with_secret(code, policy={"files": {"out": {"binary_with_secrets": True}}})
    tap.equal({path: (file["not_scanned"], len(content(file))) for path, file in by_path(result).items()},
              {"a.png": (True, len(PNG)), "late": (True, 200001), "cut": (True, 2)})


def test_secrets_that_are_files_stay_inside():
    policy = {"secrets": {"allowed": ["*"], "delivery": {"*": "file"}}}
    host = Host(RIGHTS, secrets={"key": SECRET.encode()})
    result = run("import os\nopen('path', 'w').write(os.environ['KEY'])", policy=policy, host=host, secrets={"KEY": "{{secret:key}}"})
    tap.equal(sorted(by_path(result)), ["path"])
    tap.lacks(json.dumps(result), SECRET)


@every_mode
def test_large_files_go_to_the_hosts_store(mode):
    store = Store()
    result = run("import hashlib\nfor i in range(3): open(f'{i}.bin', 'wb').write(bytes([i]) * (4 << 20))\nopen('small', 'w').write('x')",
                 mode, host=Host(RIGHTS, store_file=store))
    found = by_path(result)
    tap.equal(found["0.bin"]["uri"], "store:0.bin")
    tap.equal({path: found[path]["sha256"] for path in store.files}, store.files, "hashed inside as the host has it")
    tap.equal(store.facts["0.bin"]["size"], 4 << 20)
    tap.equal(found["small"]["content"], "x")
    tap.equal(store.seals, ["Operation not permitted"] * 3, "what is lent cannot be written")


def test_a_host_that_keeps_nothing_is_said():
    code = "open('big', 'wb').write(bytes(2 << 20))"
    tap.equal(omissions(run(code)), {"big": "too_large"}, "no store_file")
    tap.equal(omissions(run(code, host=Host(RIGHTS, store_file=Store(DENY)))), {"big": "not_stored"})


def test_modules_of_the_program_leave_no_caches():
    result = run("import helper\nprint(helper.x)", files=[{"path": "helper.py", "content": "x = 1"}])
    tap.equal((result["stdout"], result["files"]), ("1\n", []))


def test_a_program_that_fails_or_is_killed_leaves_its_files():
    for code, cause in (("raise SystemExit(3)", "exit"), ("os.kill(os.getpid(), 9)", "signal")):
        result = run(f"import os\nopen('a', 'w').write('x')\n{code}")
        tap.equal((result["cause"], omissions(result)), (cause, {"a": None}))


def test_files_that_are_lost_with_their_sandbox_are_said_to_be():
    def run_unconfined(code, policy, language, host):
        return run(code, "none", policy, language, host)
    for how in ended_runs.WAYS:
        result, _ = ended_runs.end_from_outside(provider, run_unconfined, POLICY["limits"], RIGHTS, how)
        tap.equal((result["cause"], result["files"]), (how, []))
        tap.equal(result["files_omitted"], {"count": 0, "bytes": 0, "reason": "killed"}, how)
        tap.true(any("may be missing" in note for note in result["notes"]), how)


def resident_bytes():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


def test_much_takes_little_memory_of_the_gateway():
    code = "for i in range(4): open(f'{i}', 'wb').write(bytes(15 << 20))"
    sizes = []

    def store(file_json, descriptor, uri, capacity, length, verdict):
        sizes.append(os.fstat(descriptor).st_size)
        ctypes.memmove(uri, b"x:1", 3)
        length[0], verdict[0] = 3, ALLOW
    run("open('a', 'wb').write(bytes(2 << 20))", host=Host(RIGHTS, store_file=store))
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = resident_bytes()
    result = run(code, host=Host(RIGHTS, store_file=store))
    grown = resident_bytes() - before
    tap.equal(sizes[1:], [15 << 20] * 4, "one after the other")
    tap.equal(len(result["files"]), 4)
    tap.true(grown < (4 << 20), f"the gateway grew by {grown} bytes")


tap.run(globals())
