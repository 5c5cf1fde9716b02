# SPDX-License-Identifier: Apache-2.0
"""The files that a cell of a session leaves: what is new or changed comes once, whatever goes on in the session meanwhile."""
import base64
import hashlib
import pathlib
import sys
import tempfile

SUPPORT = pathlib.Path(__file__).parents[2] / "support"
sys.path.insert(0, str(SUPPORT))
import tap
from input_files import host_of
from modes import MODE, Provider, merged, run_cases
from provider import OK, Host

RIGHTS = ("sandbox.exec", "sandbox.exec.session", "sandbox.exec.files", "sandbox.exec.secrets")
AMPLE_MS = 60000 * tap.SLOW
POLICY = {"sessions": {"max_total": 6, "max_per_principal": 6}, "secrets": {"allowed": ["*"]},
          "limits": {"wall_ms": {"default": AMPLE_MS, "max": AMPLE_MS}, "cpu_ms": {"default": 300000, "max": 300000}}}
PNG = "bytes.fromhex('89504e470d0a1a0a') + bytes(60)"
provider = Provider()


def use(**more):
    tap.equal(provider.begin_anew(merged(POLICY, more)), OK)


def call(code, session="new", host=None, **more):
    return provider.invoke({"language": "python", "code": code, "session": session, **more}, host or Host(RIGHTS))[1]


def cell(code, session="new", host=None, **more):
    result = call(code, session, host, **more)
    tap.equal((result["status"], result["error"], result["session"]["state"]), ("completed", None, "kept"), result)
    return result


def begin(code="x = 1", **more):
    return cell(code, **more)["session"]["id"]


def content(file):
    return base64.b64decode(file["content"]) if file["encoding"] == "base64" else file["content"].encode()


def named(result):
    return [(file["path"], file["change"], file.get("omitted")) for file in result["files"]]


def test_a_file_that_is_not_as_described_fails_its_cell():
    """The host has made the hash of another content. The control is that of the file's own."""
    use()
    session = begin()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "a")
        path.write_bytes(bytes(200000))
        hashes = [hashlib.sha256(content).hexdigest() for content in (b"another", bytes(200000))]
        hosts = [host_of({"r": path}, sha256=sha256, rights=RIGHTS) for sha256 in hashes]
        files = [{"path": "d/in", "ref": "r"}, {"path": "after", "content": "after"}]
        failed = call("print('never')", session, hosts[0], files=files, stdin="in")
        tap.equal((failed["exit_code"], failed["stdout"], failed["session"]["state"]), (1, "", "kept"), failed)
        tap.contains(failed["stderr"], "d/in: its content is not as described")
        result = cell("import os; print(x, os.path.getsize('d/in'), open('after').read())", session, hosts[1], files=files)
        tap.equal((result["stdout"], result["stderr"]), ("1 200000 after\n", ""), result)


def test_a_chart_comes_once():
    use()
    session = begin()
    result = cell(f"open('chart.png', 'wb').write({PNG})", session)
    tap.equal(named(result), [("chart.png", "new", None)], result)
    [chart] = result["files"]
    tap.equal((chart["mime_type"], content(chart)[:4], hashlib.sha256(content(chart)).hexdigest()), ("image/png", b"\x89PNG", chart["sha256"]))
    for _ in range(3):
        tap.equal(named(cell("y = 2", session)), [], "what is unchanged comes no more")
    tap.equal(named(cell("print(open('chart.png', 'rb').read(4))", session)), [], "nor what is read")


def test_what_changes_comes_again():
    use()
    first = cell("open('a', 'w').write('one'); open('b', 'w').write('b')")
    session = first["session"]["id"]
    tap.equal(named(first), [("a", "new", None), ("b", "new", None)])
    for text in ("two", "six", "ten"):  # of one size, and at once
        result = cell(f"open('a', 'w').write({text!r})", session)
        tap.equal((named(result), content(result["files"][0])), ([("a", "changed", None)], text.encode()))
    result = cell("import os\nopen('new', 'w').write('ten'); os.rename('new', 'a'); os.rename('b', 'c')", session)
    tap.equal(named(result), [("a", "changed", None), ("c", "new", None)])
    tap.equal(named(cell("os.remove('a'); os.mkdir('d'); os.rename('c', 'd/c')", session)), [("d/c", "new", None)])


def test_same_size_in_the_same_tick():
    """Cells that follow at once, and leave a file of the same size: the kernel's time of change has ticks of milliseconds."""
    use()
    session = begin("f = open('f', 'w')")
    for number in range(30):
        result = cell(f"f.seek(0); f.write('{number:04}'); f.flush()", session)
        tap.equal([content(file) for file in result["files"]], [f"{number:04}".encode()])


def test_files_of_the_request():
    use()
    brought = [{"path": "in", "content": "brought"}, {"path": "other", "content": "same"}]
    result = cell("print(open('in').read())", files=brought)
    tap.equal((result["stdout"], named(result)), ("brought\n", []), "what the request has brought is known")
    session = result["session"]["id"]
    tap.equal(named(cell("1", session)), [], "also later")
    tap.equal(named(cell("open('in', 'a').write('!')", session, files=brought)), [("in", "changed", None)])
    tap.equal(named(cell("1", session, files=[{"path": "in", "content": "again"}])), [])


def test_outputs_choose():
    use()
    result = cell("for name in ('a.csv', 'b.txt', '.hidden'): open(name, 'w').write(name)", outputs=["*.csv", ".hidden"])
    tap.equal(named(result), [(".hidden", "new", None), ("a.csv", "new", None)])
    session = result["session"]["id"]
    tap.equal(named(cell("1", session)), [("b.txt", "new", None)], "what was not chosen comes when it is")
    tap.equal(named(cell("1", session, outputs=["*"])), [])
    for outputs in (["nothing"], None, [".hidden", "*.csv"], None):
        tap.equal(named(cell("1", session, **({"outputs": outputs} if outputs else {}))), [], "what was told is known, whatever was asked between")


def test_limits_are_named():
    use(files={"out": {"max_files": 2, "file_bytes": 1000, "total_bytes": 1500}})
    result = cell("for name in 'abcd': open(name, 'w').write(name * 10)\nopen('A', 'w').write('x' * 1001)")
    session = result["session"]["id"]
    tap.equal(named(result), [("A", "new", "too_large"), ("a", "new", None)])
    tap.equal(result["files_omitted"], {"count": 3, "bytes": 30, "reason": "too_many"})
    result = cell("1", session)
    tap.equal((named(result), result["files_omitted"]), ([("b", "new", None), ("c", "new", None)], {"count": 1, "bytes": 10, "reason": "too_many"}))
    tap.equal(named(cell("1", session)), [("d", "new", None)], "the rest comes with the next cells")
    result = cell("for name in 'ef': open(name, 'w').write('x' * 1000)", session)
    tap.equal(named(result), [("e", "new", None), ("f", "new", "total_too_large")])
    tap.equal(named(cell("1", session)), [("f", "new", None)])
    result = cell("import os\nos.symlink('/etc/passwd', 'link')", session)
    tap.equal(named(result), [("link", "new", "not_regular")], result)
    tap.equal(named(cell("1", session)), [])


WRITER = """
def write():
    letter = 0
    while go_on:
        letter = (letter + 1) % 26
        with open('f', 'r+b') as file:
            file.write(bytes([97 + letter]) * 100000)
            if letter % 2: file.truncate(50000)
"""


WRITTEN = "import os, time\nbefore = os.stat('f').st_mtime_ns\nwhile os.stat('f').st_mtime_ns == before: time.sleep(0.001)"


def expect_whole(result):
    """As it was between two calls of its writers: one letter. Read while they write, it has several."""
    [file] = result["files"]
    text = content(file)
    tap.equal((file["path"], file["size"], file["sha256"]), ("f", len(text), hashlib.sha256(text).hexdigest()))
    tap.true(len(set(text)) == 1 and len(text) in (50000, 100000), (len(text), len(set(text))))


def test_a_thread_that_writes_meanwhile():
    use(files={"out": {"inline_bytes": 1000000}})
    session = begin(f"import threading\ngo_on = True\nopen('f', 'wb').write(b'a' * 100000){WRITER}\nthread = threading.Thread(target=write)")
    cell("thread.start()", session)
    for _ in range(5):
        expect_whole(cell(WRITTEN, session))
    cell("go_on = False\nthread.join()", session)
    tap.equal(named(cell("print(thread.is_alive())", session)), [])


def test_children_that_write_meanwhile():
    use(files={"out": {"inline_bytes": 1000000}})
    session = begin(f"import os, signal\ngo_on = True\nopen('f', 'wb').write(b'a' * 100000){WRITER}\n")
    cell("pids = []\nfor _ in range(3):\n    pids.append(os.fork())\n    if pids[-1] == 0:\n        os.setsid(); write()", session)
    for _ in range(5):
        expect_whole(cell(WRITTEN, session))
    cell("for pid in pids:\n    os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0)", session)
    tap.equal(named(cell("1", session)), [], "the control: now none writes")


def test_what_comes_between_two_cells():
    """Is told of with the next cell."""
    use()
    session = begin("import subprocess\nchild = subprocess.Popen(['sh', '-c', 'read go; echo late >late'], stdin=subprocess.PIPE)")
    tap.equal(named(cell("child.stdin.write(b'go\\n'); child.stdin.close(); code = child.wait()", session)), [("late", "new", None)])


HELD = """
import ctypes, os, signal, time
libc, clone = ctypes.CDLL(None), {"x86_64": 56, "aarch64": 220}[os.uname().machine]
r, w = os.pipe()
parent = os.fork()
if parent == 0:
    if libc.syscall(clone, 0x4000 | signal.SIGCHLD, 0, 0, 0, 0) == 0:  # CLONE_VFORK: its parent waits in the kernel
        os.write(w, str(os.getpid()).encode())
        while True: time.sleep(1)
    os._exit(0)
child = int(os.read(r, 20))
while open(f"/proc/{parent}/stat").read().rsplit(")", 1)[1].split()[0] != "D": time.sleep(0.001)
open("f", "w").write("x")
"""


def test_processes_that_do_not_stop():
    """A parent that waits for its child in the kernel cannot be stopped. Nothing is collected then, and the next cell has it all."""
    use()
    result = cell(HELD)
    session = result["session"]["id"]
    tap.equal((named(result), result["files_omitted"]), ([], {"count": 0, "bytes": 0, "reason": "not_frozen"}), result)
    tap.true(any("they come with the next cell" in note for note in result["notes"]), result["notes"])
    result = cell("os.kill(child, signal.SIGKILL)\nprint(os.waitpid(parent, 0)[0] == parent)", session)
    tap.equal((result["stdout"], named(result), result["files_omitted"]), ("True\n", [("f", "new", None)], None), result)


def test_an_interrupted_cell():
    use()
    session = begin()
    result = call("open('f', 'w').write('x')\nwhile True: pass", session, timeout_ms=1000)
    tap.equal((result["status"], result["session"]["state"], named(result)), ("timeout", "kept", [("f", "new", None)]), result)
    tap.equal(named(cell("1", session)), [])


def test_a_session_that_ends():
    use()
    session = begin()
    result = call("open('f', 'w').write('x')", session, session_action="end")
    tap.equal((result["session"]["state"], named(result)), ("ended", [("f", "new", None)]), result)
    result = call("open('f', 'w').write('x')\nimport os\nos._exit(3)", begin())
    tap.equal((result["session"]["state"], named(result), result["files_omitted"]["reason"]), ("lost", [], "lost"), result)


WRITES = {"python": "open({path!r}, 'w').write('x')", "javascript": "require('fs').writeFileSync({path!r}, 'x')", "bash": "echo x >{path}",
          "sh": "echo x >{path}"}
REMOVES = {"python": "import os; os.remove({path!r})", "javascript": "require('fs').unlinkSync({path!r})", "bash": "rm {path}", "sh": "rm {path}"}


def test_an_empty_directory_and_one_that_is_not():
    """Where a cell leaves the directory empty its sandbox is not asked; whatever is in it comes all the same."""
    use()
    for language, write in WRITES.items() if MODE == "process" else [("python", WRITES["python"])]:
        session = begin("x=1", language=language)
        step = lambda code, path="f": named(cell(code.format(path=path), session, language=language))  # noqa: E731
        tap.equal(step(write), [("f", "new", None)], language)
        tap.equal(step(REMOVES[language]), [], language)
        tap.equal(named(cell(write.format(path=".f"), session, language=language, outputs=[".f"])), [(".f", "new", None)], language)
        tap.equal(step(write, "..f"), [], f"{language}: a hidden file that nobody has asked for")
        tap.equal(step(write, "g"), [("g", "new", None)], f"{language}: beside hidden ones")
        call("x=1", session, session_action="end", language=language)


def test_what_is_said_of_an_empty_directory():
    """An interpreter in a container does not look, and its sandbox is always asked."""
    use()
    session = begin("import os\nwrite, frames = os.write, []\nos.write = lambda fd, frame: (frames.append(bytes(frame)), write(fd, frame))[1]")
    cell("frames.clear(); file = open('f', 'w')", session)
    told = "print([b'\"home_is_empty\":true' in frame for frame in frames if frame[4] == 4]); frames.clear()"
    tap.equal(cell(told, session)["stdout"], "[False]\n")
    cell("os.remove('f'); frames.clear()", session)
    tap.equal(cell(told, session)["stdout"], f"[{MODE != 'docker'}]\n")


def test_without_files_nothing_is_collected():
    use(files={"out": {"max_files": 0}})
    session = begin()
    result = cell("open('f', 'w').write('x')", session)
    tap.equal((result["files"], result["files_omitted"]), ([], None))
    tap.equal(cell("print(open('f').read())", session)["stdout"], "x\n")


def test_secrets_are_redacted_in_files():
    use()
    host = Host(RIGHTS, secrets={"key": b"the-value-of-the-key"})
    session = begin("import os", host=host, secrets={"KEY": "{{secret:key}}"})
    result = cell("open('a', 'w').write('plain ' + os.environ['KEY'])\nopen('b', 'wb').write(b'\\0\\1' + os.environb[b'KEY'])", session, host)
    tap.equal((named(result), result["files"][0]["content"]), ([("a", "new", None), ("b", "new", "withheld")], "plain [redacted:key]"))


WITHOUT_NAMESPACES = ("what_changes_comes_again", "same_size_in_the_same_tick", "a_thread_that_writes_meanwhile", "children_that_write_meanwhile",
                      "what_comes_between_two_cells", "what_is_said_of_an_empty_directory")
run_cases(globals(), None, WITHOUT_NAMESPACES)
