# SPDX-License-Identifier: Apache-2.0
"""The first process of a container, without an engine: code-execute-guest as pid 1 of namespaces of its own, and this test as its
backend. Interpreters that wait for their run: test_guest_interpreter.py. In a container: tests/docker and tests/escape"""
import ctypes
import hashlib
import os
import pathlib
import select
import signal
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import guest
import tap
from started_guest import (CONTAINER, FEW_DESCRIPTORS, IMAGE, PROGRAM, TIME, children_of, first_process, is_last, needed, output_of, run, shell,
                           start, streams, talk)


def test_it_is_the_first_process_or_nothing():
    done = subprocess.run([PROGRAM], capture_output=True, stdin=subprocess.DEVNULL, check=False)
    tap.equal((done.returncode, done.stdout), (1, b""))
    tap.contains(done.stderr, b"first process")


def test_it_reports_what_the_kernel_says_of_it():
    process = start()
    [(_, facts), *_] = talk(process, guest.message(["true"]))
    process.communicate(timeout=TIME)
    status = dict(line.split(":\t", 1) for line in facts.decode().splitlines())
    tap.equal((status["Pid"], status["NoNewPrivs"], status["Seccomp"] in "02"), ("1", "1", True), status)
    tap.true(all(name in status for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "Uid")), status)


def landlock_abi():
    return max(0, ctypes.CDLL(None).syscall(444, None, 0, 1))


def filters_of(status):
    return int(dict(line.split(":\t", 1) for line in status.splitlines())["Seccomp_filters"])


def test_a_program_has_the_filters_of_the_guest_behind_those_it_came_with():
    process = start()
    told = dict(talk(process, guest.message(["cat", "/proc/self/status"])))
    process.communicate(timeout=TIME)
    facts = told["facts"].decode()
    if "Seccomp_filters" not in facts:
        raise tap.Skip("this kernel does not count filters")
    tap.equal(filters_of(told["stdout"].decode()), filters_of(facts) + 2)


CALLS = """
import ctypes, errno, os, socket, stat
libc = ctypes.CDLL(None, use_errno=True)
def of_c(call):
    return lambda: ctypes.get_errno() if call() < 0 else 0
def of_python(call):
    def attempt():
        try:
            call()
        except OSError as error:
            return error.errno
        return 0
    return attempt
for name, attempt in (("unshare", of_c(lambda: libc.unshare(0x04000000))), ("inotify", of_c(libc.inotify_init)),
                      ("internet", of_python(lambda: socket.socket(socket.AF_INET))), ("local", of_python(lambda: socket.socket(socket.AF_UNIX))),
                      ("packet", of_python(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16))),
                      ("whiteout", of_python(lambda: os.mknod("/tmp/whiteout", stat.S_IFCHR | 0o600, 0))),
                      ("outside", of_python(lambda: os.mkdir("/home/other")))):
    print(name, errno.errorcode.get(attempt(), "-"))
"""


def attempts(found):
    return dict(line.split() for line in found.decode().splitlines())


def test_a_program_is_held_from_inside():
    """No engine is here: what stops it is the guest's own. The same without the guest is the positive control."""
    bare = attempts(subprocess.run([*CONTAINER, "python3", "-c", CALLS], capture_output=True, check=True, timeout=TIME, cwd="/").stdout)
    without, network = (attempts(output_of(run(["python3", "-c", CALLS], network=name))) for name in ("without-network", "with-network"))
    there = ("unshare", "inotify", "internet", "local", "packet", "outside")
    tap.equal([bare[name] for name in there], ["-"] * len(there))
    tap.equal([without[name] for name in there[:-1]], ["EPERM", "EPERM", "EAFNOSUPPORT", "-", "EAFNOSUPPORT"], without)
    tap.equal([network[name] for name in there[:-1]], ["EPERM", "EPERM", "-", "-", "EAFNOSUPPORT"], network)
    if landlock_abi() == 0:
        raise tap.Skip("this kernel has no Landlock")
    tap.equal((bare["whiteout"], *(held[name] for held in (without, network) for name in ("whiteout", "outside"))), ("-", *["EACCES"] * 4))


def test_it_says_whether_programs_get_landlock():
    process = start()
    [(_, facts), *_] = talk(process, guest.message(["true"]))
    process.communicate(timeout=TIME)
    tap.equal(facts.decode().splitlines()[-1], f"Landlock:\t{landlock_abi()}")


def test_a_program_gets_its_run():
    files = [("a", b"x\0y"), ("b/it's", b"two\n"), ("empty", b""), ("keys/one", b"key")]
    found = shell("cat; printf '%s|' \"$@\"; cat a 'b/it'\"'\"s; stat -c '%n %a' a b empty keys keys/one; umask", "it's", "", "$(id)", "a\nb",
                  files=files, private=1, stdin=b"in\0put")
    tap.equal(output_of(found), b"in\0putit's||$(id)|a\nb|x\0ytwo\na 644\nb 755\nempty 644\nkeys 700\nkeys/one 400\n0022\n")


def test_its_variables_are_the_run_s_and_the_image_s():
    environment = ["BOTH=run", "UID=x", "IFS=a", "ODD-NAME=1", "LINES=a\nb", "EMPTY="]
    output = output_of(run(["cat", "/proc/self/environ"], environment=environment))
    tap.equal(sorted(output.split(b"\0")), sorted([b"", *map(os.fsencode, environment), b"FROM_IMAGE=image", b"PATH=" + IMAGE["PATH"].encode(), b"PWD=" + os.fsencode(os.getcwd())]))


def test_its_descriptors_are_its_own():
    """Pipes and a sealed file in memory, none of the guest's, and nothing left of how it was started."""
    code = "import fcntl, os, stat\nfor fd in range(100):\n    try:\n        print(fd, stat.filemode(os.fstat(fd).st_mode)[0], fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK, os.readlink(f'/proc/self/fd/{fd}').split(':')[0])\n    except OSError:\n        pass"
    tap.equal(output_of(run(["python3", "-c", code], stdin=b"in")), b"0 - 0 /memfd\n1 p 0 pipe\n2 p 0 pipe\n")
    tap.equal(output_of(run(["python3", "-c", code])), b"0 c 0 /dev/null\n1 p 0 pipe\n2 p 0 pipe\n")
    writes = "import os\ntry:\n    os.write(0, b'x')\nexcept OSError as error:\n    print(error.strerror)"
    tap.equal(output_of(run(["python3", "-c", writes], stdin=b"in")), b"Operation not permitted\n", "sealed")


def test_results_have_a_pipe_of_their_own_where_a_run_wants_them():
    """It holds them back where nobody reads, and what stands in it is not looked at."""
    kept = "import os, stat\ntry:\n    print(stat.S_ISFIFO(os.fstat(63).st_mode), os.get_blocking(63), os.get_inheritable(63))\nexcept OSError:\n    print('none')\n"
    tap.equal(output_of(run(["python3", "-c", kept])), b"none\n")
    tap.equal(output_of(run(["python3", "-c", kept], results=True)), b"True True True\n")
    size = 3_000_000
    forged = guest.ended(7) + guest.frame("stdout", b"forged") + b"\xff" * 100
    write = f"import os, sys\nos.write(63, {forged!r})\nwith open(63, 'wb') as file:\n    file.write(bytes({size}))\nprint('out')\n"
    told = {"stdout": b"", "results": b""}
    found = run(["python3", "-c", write], results=True)
    for kind, payload in found[1:-1]:
        told[kind] += payload
    tap.true(told["results"] == forged + bytes(size), "whole, and as it was written")
    tap.equal((told["stdout"], found[-1]), (b"out\n", ("ended", guest.ended()[5:9] + found[-1][1][4:])))


def test_a_run_with_few_descriptors_has_no_results():
    tap.equal(output_of(shell("echo on", results=True, inside=FEW_DESCRIPTORS)), b"on\n")


def test_a_program_may_write_files_up_to_its_run_s_limit():
    """The container's own is higher, for the files that come; its control: a run that brings none has the container's."""
    code = "head -c 3000 /dev/zero >out; wc -c <in; wc -c <out"
    files = [("in", bytes(5000))]
    higher = ["prlimit", "--fsize=5120", "--"]
    for limit, written in ((2048, 2048), (0, 3000)):
        process = start(before=higher)
        found = talk(process, guest.message(["sh", "-c", code], files=files, file_bytes=limit))
        process.communicate(timeout=TIME)
        output = b"".join(payload for kind, payload in found if kind == "stdout")  # each program's may come by itself
        tap.equal(output, f"5000\n{written}\n".encode(), found)


def test_the_program_cannot_look_into_it():
    """It is not dumpable, so its files in /proc are root's."""
    look = ("import os\nfor process in (1, 'self'):\n    for name in ('mem', 'environ', 'maps', 'fd/0', 'exe'):\n        try:\n"
            "            (os.readlink if name in ('fd/0', 'exe') else open)(f'/proc/{process}/{name}')\n            print(process, name)\n"
            "        except PermissionError:\n            pass\n")
    ordinary = ("import ctypes, os, sys\nlibc = ctypes.CDLL(None)\n"  # without the capabilities that go with the mapped root
                "[libc.prctl(24, cap, 0, 0, 0) for cap in range(64)]\nlibc.prctl(28, 0x3, 0, 0, 0)\nos.execvp(sys.argv[1], sys.argv[1:])\n")
    tap.equal(output_of(run(["python3", "-c", ordinary, "python3", "-c", look])),
              b"self mem\nself environ\nself maps\nself fd/0\nself exe\n", "its own are the positive control")


def test_a_signal_of_the_program_does_not_reach_it():
    found = shell("for signal in TERM KILL STOP INT HUP CHLD; do kill -$signal 1 2>&-; done; echo on")
    tap.equal(output_of(found), b"on\n")


def test_ends_are_exact():
    for code, status in (("exit 0", 0), ("exit 7", 7 << 8), ("exit 137", 137 << 8), ("kill -KILL $$", 9), ("kill -SEGV $$", 11), ("kill -PIPE $$", 13)):
        tap.equal(streams(shell(code))[0] & ~0x80, status, code)


DISTANT, CALL = ("distant", "0", "0"), b"c"


def test_a_distant_one_gives_programs_the_limits_that_a_pod_has_not():
    code = "import resource as r\nprint(*(r.getrlimit(kind) for kind in (r.RLIMIT_NOFILE, r.RLIMIT_CPU, r.RLIMIT_CORE)))"
    before = output_of(run(["python3", "-c", code]))
    found = talk(process := start("distant", "300", "7"), CALL + guest.message(["python3", "-c", code]))
    process.communicate()
    tap.equal(output_of(found[2:]), b"(300, 300) (7, 8) (1, 1)\n", before)
    tap.true(b"300" not in before, before)


def test_one_that_an_image_has_brought_tells_its_digest():
    digest = hashlib.sha256(pathlib.Path(PROGRAM).read_bytes()).hexdigest()
    for arguments, call, count in (((), b"", 0), (DISTANT, CALL, 1)):
        process = start(*arguments)
        [(_, facts), *_] = talk(process, call + guest.message(["true"]))
        process.communicate(timeout=TIME)
        tap.equal(facts.count(f"\nGuest:\t{digest}\n".encode()), count, facts)


def test_a_distant_one_stays_until_its_last_frame_is_answered():
    """The bytes ahead of the word are those of an order that was under way. Its control: one that is not distant ends by itself."""
    for told, status in ((guest.message(["sh", "-c", "exit 7"]), 7), (guest.message(["sh", "-c", "kill -KILL $$"]), 137),
                         (guest.message(["no-such-program"]), 1)):
        near, far = start(), start(*DISTANT)
        talk(near, told)
        tap.equal(near.wait(timeout=TIME), status)
        near.communicate()
        far.stdin.write(CALL + told)
        far.stdin.flush()
        read_until(far, lambda output: is_last(output) or output.endswith(guest.frame("missing")))
        tap.equal(far.poll(), None, "it waits")
        far.stdin.write(b"a\x03\0\0\0alall")
        far.stdin.flush()
        tap.equal(far.poll(), None, "these are not the word")
        far.stdin.write(b"!")
        far.stdin.flush()
        tap.equal(far.wait(timeout=TIME), status)
        far.communicate()


def test_a_distant_one_says_nothing_before_it_is_called():
    """Its control: any other one has spoken by then."""
    near, far = start(), start(*DISTANT)
    read_until(near, lambda output: output.endswith(guest.frame("waiting")))
    tap.equal(select.select([far.stdout], [], [], 1)[0], [])
    far.stdin.write(CALL)
    far.stdin.flush()
    read_until(far, lambda output: output.endswith(guest.frame("waiting")))
    for process in (near, far):
        process.communicate()


def test_a_distant_one_ends_where_nobody_answers():
    process = start(*DISTANT)
    process.stdin.write(CALL + guest.message(["sh", "-c", "exit 3"]))
    process.stdin.flush()
    read_until(process, is_last)
    tap.equal(process.wait(timeout=TIME), 3)
    process.communicate()


def test_a_missing_program_is_missing():
    for name in ("no-such-program", "", "./sh", "cd", "/usr/bin", "/etc/passwd"):
        tap.equal(run([name]), [("missing", b"")], name)
    here = ["PATH=.:relative:/nowhere"]
    tap.equal(run(["tool"], environment=here, files=[("tool", b"#!/bin/sh\n")]), [("missing", b"")], "not executable, and in no absolute directory")


def test_a_program_that_cannot_be_executed_is_named():
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        program = pathlib.Path(directory, "program")
        program.write_text("#!/no/such/interpreter\n")
        program.chmod(0o755)
        os.chmod(directory, 0o755)
        [(kind, text)] = run([str(program)])
    tap.equal(kind, "failed")
    tap.contains(text, f"{program}: No such file".encode())


def test_a_trial_starts_nothing():
    tap.equal([kind for kind, _ in run(["sh", "-c", "echo begun"], trial=True)], ["started", "ended"])
    tap.equal(run(["no-such-program"], trial=True), [("missing", b"")])


def test_a_file_that_cannot_be_written_is_named():
    [(kind, text)] = run(["true"], files=[("a", b"x"), ("a/b", b"y")])
    tap.equal(kind, "failed")
    tap.contains(text, b"a/b")


def test_a_malformed_message_starts_nothing():
    whole = guest.message(["sh", "-c", "echo begun"], files=[("a", b"x")])
    for spoilt in (b"", whole[:3], whole[:20], whole[:-1], struct.pack("<I", 4) + b"abcd", struct.pack("<I", 0), b"\xff" * 8,
                   guest.message([], files=[]), guest.message(["a\0b"]), whole[:-1] + b"?", guest.message(["true"], private=1)):
        process = start()
        output, _ = process.communicate(spoilt, timeout=TIME)
        kinds = [kind for kind, _ in guest.frames(output)]
        tap.true(kinds in (["facts", "waiting"], ["facts", "waiting", "failed"]), f"{spoilt}: {kinds}")
        tap.equal(process.returncode, 1)


def test_a_file_outside_of_the_working_directory_starts_nothing():
    for path in ("/tmp/x", "../x", "a/../../x", "a//b", "./a", "a/", "", "..", "a/.", "x" * 4096):
        [(kind, text)] = run(["sh", "-c", "echo begun"], files=[("good", b""), (path, b"x")])
        tap.equal((kind, text), ("failed", b"read the message of the run"), path)
    found = shell("wc -c <a/..b/c", files=[("a/..b/c", b"xy")])
    tap.equal(output_of(found), b"2\n", "a name that only begins like one")


ALL_FILES = (100, 1 << 20, 8 << 20, ())
TOO_LARGE, NOT_REGULAR, SAME_FILE, UNREADABLE = 1, 4, 5, 7


def left(code, outputs=ALL_FILES, **told):
    """The files that a program in Python leaves."""
    found = dict(run(["python3", "-c", code], outputs=outputs, **told))
    tap.equal((found["ended"][:4], list(found)[-3:]), (bytes(4), ["ended", "files", "collected"]), found)
    return guest.left_files(found["files"])


def test_files_come_behind_the_end_of_the_tree():
    """New and changed ones, whatever the size; what the run has brought is known again by its hash."""
    size = 3_000_001
    code = (f"import os\nos.makedirs('d/e')\nopen('d/e/new', 'wb').write(b'n' * {size})\nopen('changed', 'r+').write('C')\nopen('same', 'r+').write('same')\n"
            "os.remove('gone')\nopen('.hidden', 'w')\nopen('empty', 'w')")
    files = [("changed", b"changed"), ("same", b"same"), ("gone", b""), ("untouched", b"u"), ("keys/private", b"k")]
    tap.equal(left(code, (100, size, 8 << 20, ()), files=files, private=1), ({b"changed": (1, b"Changed"), b"d/e/new": (0, b"n" * size), b"empty": (0, b"")}, {}, {}))
    tap.equal(left(code, (100, size, 8 << 20, (".h*", "same", "e*")), files=files), ({b".hidden": (0, b""), b"empty": (0, b"")}, {}, {}), "by patterns")


def test_traps_are_named_and_not_opened():
    code = ("import os, socket\nos.mkfifo('fifo'); os.symlink('/etc/passwd', 'link'); os.symlink('/etc', 'd'); os.symlink('/proc/1/environ', 'p')\n"
            "socket.socket(socket.AF_UNIX).bind('socket'); open('a', 'w').write('x'); os.link('a', 'b'); os.truncate(os.open('sparse', os.O_CREAT | os.O_RDWR), 1 << 40)\n"
            "open(b'\\xff\\n', 'w')\nopen('closed', 'w').close(); os.chmod('closed', 0)\nos.mkdir('deep'); os.chmod('deep', 0)")
    whole, omitted, unnamed = left(code)
    tap.equal(whole.get(b"a"), (0, b"x"), "the positive control")
    tap.equal(omitted, {**dict.fromkeys((b"fifo", b"link", b"d", b"p", b"socket"), NOT_REGULAR), b"b": SAME_FILE, b"sparse": TOO_LARGE})
    tap.true(set(whole) <= {b"a", b"\xff\n", b"closed"} and not unnamed, (whole, unnamed))  # the mapped root may read what is closed


def test_limits_of_the_files_hold():
    code = "for i in range(9): open(f'f{i}', 'w').write('x' * 100)\nopen('large', 'w').write('x' * 101)"
    tap.equal([len(part) for part in left(code, (20, 100, 450, ()))], [4, 6, 0])
    whole, omitted, unnamed = left(code, (5, 100, 8 << 20, ()))
    tap.equal((len(whole), omitted, unnamed), (5, {}, {3: 5}))


def test_no_files_are_sent_where_none_are_asked_for():
    tap.equal([kind for kind, _ in run(["sh", "-c", "echo x >new"])], ["started", "ended"])
    tap.equal([kind for kind, _ in run(["sh", "-c", "true"], outputs=ALL_FILES, trial=True)], ["started", "ended"])


def read_until(process, is_enough):
    output = b""
    while not is_enough(output):
        piece = os.read(process.stdout.fileno(), 1 << 16)
        assert piece, f"its output has ended: {output[-200:]}"
        output += piece
    return output


def give(process, told):
    process.stdin.write(told)
    process.stdin.flush()


def test_an_order_ends_the_program_and_its_files_come():
    """The program has children and ignores signals."""
    process = start()
    code = "trap '' TERM INT HUP; (trap '' TERM; sleep 1000) & echo half >file; printf ready; while :; do :; done"
    give(process, guest.message(["sh", "-c", code], outputs=ALL_FILES))
    output = read_until(process, lambda output: b"ready" in output)
    give(process, guest.ORDER_END)
    output += read_until(process, lambda output: output.endswith(guest.frame("collected")))
    tap.equal(process.wait(TIME), 128 + signal.SIGKILL, "it ends as its program")
    found = dict(guest.frames(output))
    tap.equal((struct.unpack_from("<I", found["ended"])[0], guest.left_files(found["files"])), (signal.SIGKILL, ({b"file": (0, b"half\n")}, {}, {})))


def test_other_bytes_are_no_order():
    process = start()
    give(process, guest.message(["sh", "-c", "printf ready; sleep 1; printf done"]))
    output = read_until(process, lambda output: b"ready" in output)
    give(process, b"Ef\0")
    output += read_until(process, is_last)
    tap.equal(b"".join(payload for kind, payload in guest.frames(output) if kind == "stdout"), b"readydone")
    process.stdin.close()
    process.wait(TIME)


def test_a_backend_that_leaves_ends_it_while_files_wait():
    process = start()
    give(process, guest.message(["sh", "-c", "head -c 5000000 /dev/zero >a"], outputs=(1, 8 << 20, 8 << 20, ())))
    read_until(process, lambda output: guest.ended()[:5] in output)
    process.stdin.close()
    tap.equal(process.wait(TIME), 1, "it does not wait for a reader")


def test_output_is_whole_and_its_streams_are_apart():
    size = 3_000_000
    code = f"head -c {size} /dev/zero | tr '\\0' a; head -c {size} /dev/zero | tr '\\0' b >&2; printf end; printf fin >&2"
    found = shell(code)
    told = {"stdout": b"", "stderr": b""}
    for kind, payload in found[1:-1]:
        told[kind] += payload
    tap.true(told["stdout"] == b"a" * size + b"end", "stdout")
    tap.true(told["stderr"] == b"b" * size + b"fin", "stderr")


def test_the_end_comes_when_the_tree_is_dead():
    """Children that ignore signals, leave the session, and hold the outputs open; an end that waits for them never comes."""
    code = ("(trap '' TERM HUP; exec 1>&- 2>&-; sleep 1000) & setsid sh -c 'sleep 1000 & sleep 1000' & (sleep 1000) & "
            "sleep 0.2; echo $(ls -d /proc/[0-9]* | wc -l)")
    status, output, _ = streams(shell(code))
    tap.true(status == 0 and int(output) > 5, output)
    process = start()
    tap.equal(talk(process, guest.message(["sh", "-c", code]))[-1][0], "ended")
    tap.equal(children_of(first_process(process)), [], "processes beside the guest")
    process.stdin.close()
    tap.equal(process.wait(TIME), 0, "its dismissal")


def test_a_fork_bomb_ends_with_the_program():
    bomb = "import os, time\nfirst = os.getpid()\nfor _ in range(60):\n    os.fork() == 0 and [os.fork() for _ in range(2)]\n    if os.getpid() != first: time.sleep(1000)\nprint('done')"
    tap.contains(output_of(run(["python3", "-c", bomb])), b"done")


def test_orphans_are_reaped_while_it_runs():
    code = "for i in 1 2 3 4 5 6 7 8; do (true &) ; done; sleep 0.3; grep -l 'State:.Z' /proc/[0-9]*/status; echo done"
    tap.equal(output_of(shell(code)), b"done\n")


def test_it_counts_the_time_and_memory_of_what_it_waited_for():
    """Of a child, too; but not of one that nobody has waited for."""
    code = ("import os, signal\nsignal.signal(signal.SIGCHLD, signal.%s)\nif os.fork():\n    try: os.wait()\n"
            "    except ChildProcessError: pass\nelse:\n    sum(range(10_000_000)); things = bytearray(64 << 20)\n")
    counted = []
    for children in ("SIG_DFL", "SIG_IGN"):  # ignored: the kernel reaps them, and wait(2) fails once none is left
        told = dict(run(["python3", "-c", code % children]))
        counted.append(struct.unpack("<IQQQ", told["ended"]))
    (_, user, system, memory), (_, own_user, _, own_memory) = counted
    tap.true(50_000 < user < 60_000_000 and system < 60_000_000, (user, system))
    tap.true(64 << 20 <= memory < 128 << 20, memory)
    tap.true(own_user < user and own_memory < 64 << 20, f"a lower bound: {own_user} us, {own_memory} bytes")


def test_without_a_backend_there_is_no_program():
    process = start()
    give(process, guest.message(["sh", "-c", "echo $$; sleep 1000"]))
    read_until(process, lambda output: b"2\n" in output)
    process.stdin.close()
    tap.equal(process.wait(TIME), 1, "it ends with its connection")


def test_a_backend_that_does_not_read_does_not_keep_the_tree_alive():
    process = start()
    code = "head -c 10000000 /dev/zero & (sleep 1000) & sleep 0.5"
    process.stdin.write(guest.message(["sh", "-c", code]))
    process.stdin.flush()
    init = first_process_of_a_tree(process)
    tap.eventually(lambda: not children_of(init), "all are dead, although nobody has read", TIME)
    process.kill()
    process.wait()


def first_process_of_a_tree(process):
    def found():
        return children_of(process.pid) and children_of(first_process(process))
    tap.eventually(found, "it has started something", TIME)
    return first_process(process)


def test_it_is_small_and_stands_alone():
    """A container with 4 MiB has room for it, and an image without a C library has all that it needs."""
    tap.true(b"INTERP" not in subprocess.run(["readelf", "-lW", PROGRAM], capture_output=True, check=True).stdout, "no loader")


needed()
tap.run(globals())
