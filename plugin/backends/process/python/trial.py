# SPDX-License-Identifier: Apache-2.0
"""Imports modules in a sandbox to find out whether they may be imported outside of one, and reports to the supervisor
(interpreter_protocol.h). Executed by sitecustomize.py of an interpreter that has no other purpose and ends afterwards."""
import os
import sys

DISTRIBUTION = "/usr/lib/python3"  # files of the distribution's packages begin with it
MOUNTED_HOME = "/home/sandbox"  # of a sandbox with a file view, as its other own files
MOUNTED = ("/dev/", MOUNTED_HOME, "/proc/", "/run/code-execute/", "/tmp")
DEVICES = tuple("/dev/" + name for name in ("full", "null", "random", "urandom", "zero"))  # all that are there without one
LIMIT = 60000
CHILDREN = {"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec", "os.system", "os.spawn"}
CONVERSATIONS = {"socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo"}
STARTING, THREADS, WRITING = "starts a process", "starts a thread", "writes files"
WRITES = {"os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.truncate", "os.utime",
          "tempfile.mkdtemp", "tempfile.mkstemp"}


class Observer:
    """Records Python's audit events (PEP 578), and effects that only the kernel shows."""

    def __init__(self, home):
        """Without a file view of its own the home is the run's on the machine's disk, and beside it is what else it may write to."""
        self.is_mounted, self.directory = home == MOUNTED_HOME, os.path.dirname(home)
        self.places = (home, "/tmp" if self.is_mounted else self.directory + "/tmp")
        self.conversations = CONVERSATIONS if self.is_mounted else CONVERSATIONS | {"socket.__new__"}  # there is none to go on with
        self.own = MOUNTED if self.is_mounted else (*DEVICES, "/proc/", self.directory + "/")
        self.files, self.hears = set(), True
        self.begin()
        sys.addaudithook(self.hear)

    def begin(self):
        """Starts with the next module."""
        for place in () if self.is_mounted else self.places:
            os.utime(place, (0, 0))  # so that any change shows, however soon
        self.scratch, self.children = self.measure_scratch(), os.times()[2:4]
        self.effects = set()

    def hear(self, event, arguments):
        if not self.hears:
            return
        if event == "open":
            self.hear_open(*arguments)
        for events, effect in (CHILDREN, STARTING), (self.conversations, "uses a socket"), (WRITES, WRITING):
            if event in events:
                self.effects.add(self.name_child(event, arguments) if effect is STARTING else effect)

    @staticmethod
    def name_child(event, arguments):
        """For people."""
        try:
            command = arguments[1] if event == "subprocess.Popen" else arguments[0]
            command = command if isinstance(command, (str, bytes, os.PathLike)) else command[0]
            name = "".join(c for c in os.path.basename(os.fsdecode(command)).split()[0] if c.isalnum() or c in "._+-")
            return f"starts {name[:40]}" if name else STARTING
        except Exception:
            return STARTING

    def hear_open(self, path, _, flags):
        if not isinstance(path, (str, bytes)):
            return
        path = os.path.abspath(os.fsdecode(path))
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC) and path != os.devnull:
            self.effects.add(WRITING)
        self.files.add(path)

    def measure_scratch(self):
        """What is used of file systems of its own; of directories of its own, empty at first, when they were changed, and the open files
        that are in none."""
        if self.is_mounted:
            return [(status.f_bfree, status.f_ffree) for status in map(os.statvfs, self.places)]
        device, open_files = os.stat(self.places[0]).st_dev, []
        for name in os.listdir("/proc/self/fd"):
            try:
                status = os.fstat(int(name))
            except OSError:  # of the list itself
                continue
            if status.st_nlink == 0 and status.st_dev == device:
                open_files.append(status.st_ino)
        return [os.stat(place).st_mtime_ns for place in self.places], open_files

    def look(self):
        """Threads that end before a fork, as those of OpenBLAS do, do not count."""
        self.hears = False
        if os.times()[2:4] != self.children and not any(effect.startswith("starts ") for effect in self.effects):
            self.effects.add(STARTING)
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        if len(os.listdir("/proc/self/task")) > 1:
            self.effects.add(THREADS)
        if self.measure_scratch() != self.scratch:
            self.effects.add(WRITING)
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            mapped = {"/" + line.rstrip("\n").split(" /", 1)[1] for line in maps if " /" in line}
        if not self.is_mounted and any(file.startswith(self.directory + "/") for file in mapped):
            self.effects.add(WRITING)
        self.files |= mapped
        self.hears = True


def try_module(name, observer):
    before = set(sys.modules)
    observer.begin()
    outcome = None
    try:
        __import__(name)
    except Exception:
        import importlib.util
        outcome = "cannot be imported" if importlib.util.find_spec(name.partition(".")[0]) else "absent"
    observer.look()
    if observer.effects or outcome:
        return ", ".join(sorted(observer.effects)) or outcome
    new = [getattr(sys.modules[module], "__file__", None) for module in set(sys.modules) - before if module in sys.modules]
    return "clean" if all(file is None or file.startswith(DISTRIBUTION) for file in new) else "is not all of the distribution"


def report(names, home):
    observer = Observer(home)
    outcomes = [f"{name} {try_module(name, observer)}" for name in names]
    files = sorted(file for file in observer.files if not file.startswith((DISTRIBUTION, *observer.own)))
    message = "\n".join(["trial", *outcomes, *files, ""]).encode(errors="surrogateescape")
    os.write(3, message if len(message) < LIMIT else b"trial\nmore than can be told\n")
