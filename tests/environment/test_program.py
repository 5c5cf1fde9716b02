# SPDX-License-Identifier: Apache-2.0
"""The program that installs environments as a process: how it is called, what it gives up before it reads a byte, and disks that are
full or cannot be written."""
import ctypes
import fcntl
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import tempfile

import installer
import tap
from installer import archive, directory, file, place

installer.need_program()

LANDLOCK_CREATE_RULESET = 444
TREE = [directory("d"), *(file(f"d/{number}", b"x" * 5000) for number in range(50))]


def test_wrong_calls():
    with place() as made:
        for arguments in ([], ["install"], ["install", "1"], ["install", "1", "1", "1"], ["remove", "1", "1"], ["install", "-1", "1"], ["install", "1", "x"],
                          ["install", "", "1"], ["install", "1 ", "1"], ["install", "0x1", "1"], ["install", "99999999999999999999", "1"]):
            with open(os.devnull, "rb") as nothing:
                done = made.start([installer.PROGRAM, *arguments], nothing)
                tap.equal((done.communicate()[0], done.returncode), (b"", 2), arguments)
        tap.equal(list(made.path.iterdir()), [])
        made.install(*TREE)


def test_a_directory_that_is_not_empty():
    with place() as made:
        (made.path / "content").mkdir()
        made.refuse(*TREE, path="", reason="not an empty one")
        (made.path / "content").rmdir()
        made.install(*TREE)
        made.refuse(*TREE, path="", reason="not an empty one")
        made.verify()


def test_a_directory_that_is_none():
    with place() as made, tempfile.TemporaryFile() as source:
        source.write(archive(*TREE))
        source.seek(0)
        for command, reason in (("install", "it is no directory"), ("verify", "cannot be opened")):
            other = os.open(made.canary, os.O_RDONLY)
            done = made.start([installer.PROGRAM, command, "1000000", "100"], source, descriptor=other)
            os.close(other)
            output = done.communicate()[0]
            tap.equal(done.returncode, 1, output)
            tap.contains(json.loads(output)["error"], reason)
        made.check_surroundings()
        made.install(*TREE)


def test_an_archive_that_is_no_file():
    with place() as made:
        read, write = os.pipe()
        with open(read, "rb") as source:
            os.write(write, archive(file("a"))[:4096])
            os.close(write)
            done = made.start([installer.PROGRAM, "install", "100", "100"], source)
            output = done.communicate()[0]
        tap.equal(done.returncode, 1)
        tap.contains(json.loads(output)["error"], "the archive is no regular file")
        made.check_surroundings()


def test_directories_that_cannot_be_written():
    """Root, too, is held to modes: the program has no capabilities."""
    with place() as made:
        made.path.chmod(0o555)
        made.refuse(*TREE, path="", reason="cannot be made")
        made.path.chmod(0o755)
        made.install(*TREE)


def on_a_small_disk(script, size):
    """In namespaces of its own with a file system of that size."""
    if not shutil.which("unshare"):
        raise tap.Skip("there is no unshare")
    mount = f'mount -t tmpfs -o size={size} none "$1" || exit 99; shift; exec "$@"'
    with tempfile.TemporaryDirectory() as top:
        probe = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh", top, "true"], capture_output=True, text=True)
        if probe.returncode != 0:
            raise tap.Skip(f"no file system of its own can be mounted here: {probe.stderr.strip()[:200]}")
        return script(top, ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh", top])


def test_a_full_disk():
    with tempfile.NamedTemporaryFile() as tar:
        tar.write(archive(*TREE))
        tar.flush()

        def install(size):
            def script(top, prefix):
                command = f'mkdir {top}/d; exec 3<{top}/d <{tar.name}; {installer.PROGRAM} install 1000000 100; echo status $?; find {top}/d -name inventory'
                return subprocess.run([*prefix, "sh", "-c", command], capture_output=True, text=True, env={"PATH": os.environ["PATH"], **installer.SANITIZERS}).stdout
            return on_a_small_disk(script, size)

        full = install("100k").splitlines()
        tap.contains(full[0], "No space left on device")
        tap.contains(json.loads(full[0])["path"], "d/")
        tap.equal(full[1:], ["status 1"])
        fine = install("2m").splitlines()
        tap.equal(json.loads(fine[0])["files"], 50)
        tap.equal(fine[1], "status 0")
        tap.equal(len(fine), 3, "the inventory is there")


def held_at_its_answer(made, command, source):
    """Started with a pipe for its answer that is full. The process, the pipe, and how much is ahead of the answer."""
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETFL, os.O_NONBLOCK)
    filled = 0
    try:
        while True:
            filled += os.write(write, b"\0" * 4096)
    except BlockingIOError:
        pass
    fcntl.fcntl(write, fcntl.F_SETFL, 0)
    process = made.start([installer.PROGRAM, command, "1000000", "100"], source, output=write)
    os.close(write)
    return process, read, filled


def status_of(process):
    lines = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def test_what_it_gives_up():
    with place() as made, tempfile.TemporaryFile() as source:
        source.write(archive(*TREE))
        source.seek(0)
        for command in ("install", "verify"):
            process, read, filled = held_at_its_answer(made, command, source)
            with open(read, "rb") as answer:
                tap.eventually(lambda: status_of(process)["Seccomp"] == "2", "a filter of system calls")
                status = status_of(process)
                tap.equal((status["NoNewPrivs"], status["CapEff"].strip("0"), status["CapPrm"].strip("0"), status["Threads"]), ("1", "", "", "1"))
                tap.equal((int(status["SigIgn"], 16) >> (signal.SIGPIPE - 1)) & 1, 1, "it ends by itself where nobody listens")
                limits = pathlib.Path(f"/proc/{process.pid}/limits").read_text().splitlines()
                tap.equal([line.split()[4] for line in limits if line.startswith("Max core file size")], ["0"])
                # Not dumpable: its files in /proc belong to root, and an ordinary user cannot look in.
                tap.equal(os.stat(f"/proc/{process.pid}/status").st_uid, 0)
                if os.geteuid() == 0:
                    # start() has left the directory open a second time, as another number.
                    tap.eventually(lambda: sorted(os.listdir(f"/proc/{process.pid}/fd")) == ["0", "1", "2", "3"], "no other descriptor is open")
                output = answer.read()[filled:]
            tap.equal(process.wait(), 0)
            tap.true("error" not in json.loads(output), output)


def has_landlock():
    return ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, 0, 1) > 0


def test_it_gives_it_up_before_it_reads():
    """The order of its system calls, as strace shows it."""
    if not shutil.which("strace"):
        raise tap.Skip("there is no strace")
    for command in ("install", "verify"):
        with place() as made, tempfile.NamedTemporaryFile("r") as trace:
            if command == "verify":
                made.install(*TREE)
            wrapper = ["strace", "-o", trace.name, "-e", "trace=read,pread64,openat,openat2,prctl,capset,landlock_restrict_self,landlock_create_ruleset,seccomp"]
            with tempfile.TemporaryFile() as source:
                source.write(archive(*TREE))
                source.seek(0)
                done = made.start([*wrapper, installer.PROGRAM, command, "1000000", "100"], source)
                done.communicate()
            lines = trace.read().splitlines()
            if done.returncode != 0 or len(lines) < 10:
                raise tap.Skip(f"strace cannot trace here: {lines[:1]}")
            first = next(number for number, line in enumerate(lines) if line.startswith(("read(0,", "openat(3,")))
            begun = lines[:first]
            for step in ("capset(", "prctl(PR_SET_NO_NEW_PRIVS, 1", "prctl(PR_SET_DUMPABLE, SUID_DUMP_DISABLE", "seccomp(SECCOMP_SET_MODE_FILTER, 0"):
                tap.true(any(step in line and line.endswith("= 0") for line in begun), f"{command}: {step} is not ahead of {lines[first]}")
            tap.equal(any("landlock_restrict_self(" in line and line.endswith("= 0") for line in begun), has_landlock(), f"{command}: Landlock")


def test_answers_that_nobody_takes():
    with place() as made, tempfile.TemporaryFile() as source:
        source.write(archive(*TREE))
        source.seek(0)
        read, write = os.pipe()
        os.close(read)
        process = made.start([installer.PROGRAM, "install", "1000000", "100"], source, output=write)
        os.close(write)
        tap.equal(process.wait(), 1)


def test_a_directory_of_mode_0700_until_it_is_whole():
    """What is left of a refused archive can be removed by its owner at once."""
    with place() as made:
        made.refuse(directory("a/b", mode=0o555), file("a/b/c"), file("/x"), path="/x", reason="absolute")
        tap.equal({stat.S_IMODE(path.stat().st_mode) for path in (made.content, made.content / "a", made.content / "a" / "b")}, {0o700})
        shutil.rmtree(made.content)


tap.run(globals())
