# SPDX-License-Identifier: Apache-2.0
"""Where a value may have been left: variables and arguments of all processes, the memory of some, files, texts. As root."""
import base64
import json
import os
import pathlib
import re
import threading
import time

import modes

SKIPPED = ("[vvar]", "[vvar_vclock]", "[vsyscall]")
BLOCK = 1 << 22


def forms(value):
    """As it is, and as it looks in the most usual encodings."""
    raw = value.encode()
    return {raw, raw.hex().encode(), base64.b64encode(raw).rstrip(b"=")[:-1], json.dumps(value)[1:-1].encode()}


def in_text(text, values):
    """Which of the values are in what was told, in any form."""
    told = text if isinstance(text, bytes) else text.encode()
    return [value for value in values if any(form in told for form in forms(value))]


def in_files(directory, values):
    """The files below the directory that hold one of the values, by name or content."""
    found = []
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            try:
                if in_text(path, values) or (not os.path.islink(path) and os.path.isfile(path) and holds(path, values)):
                    found.append(path)
            except OSError:
                continue  # it was removed meanwhile
    return found


def holds(path, values):
    wanted = set().union(*map(forms, values))
    overlap = max(map(len, wanted)) - 1
    before = b""
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            if any(form in before + block for form in wanted):
                return True
            before = block[-overlap:]
    return False


def mappings(pid):
    """The mappings of a process that can be read: (start, end, name, flags)."""
    current = None
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        head = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+\s*(.*)", line)
        if head:
            current = (int(head[1], 16), int(head[2], 16), head[3], head[4])
        elif line.startswith("VmFlags:") and current[2].startswith("r") and current[3] not in SKIPPED:
            yield current[0], current[1], current[3], line.split()[1:]


def in_memory(pid, values):
    """[(what mapping, its flags)] of each that holds one of the values, of a process that may end meanwhile."""
    wanted = set().union(*map(forms, values))
    found = []
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for start, end, name, flags in mappings(pid):
                if holds_range(memory.fileno(), start, end, wanted):
                    found.append((name or "anonymous", flags))
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def holds_range(memory, start, end, wanted):
    overlap = max(map(len, wanted)) - 1
    before = b""
    while start < end:
        try:
            block = os.pread(memory, min(BLOCK, end - start), start)
        except OSError:
            return False  # pages that are nobody's to read
        if not block:
            return False
        if any(form in before + block for form in wanted):
            return True
        before = block[-overlap:]
        start += len(block)
    return False


def read(pid, name):
    with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:
        return file.read()


def is_program(pid):
    """Does it run in a sandbox, and is it not the first there, which is ours?"""
    if modes.MODE == "unprivileged":
        return b"\nNoNewPrivs:\t1\n" in read(pid, "status") and not os.readlink(f"/proc/{pid}/exe").endswith("/code-execute-process")
    numbers = read(pid, "status").partition(b"\nNSpid:")[2].partition(b"\n")[0].split()
    return len(numbers) > 1 and numbers[-1] != b"1"


class Watch(threading.Thread):
    """Looks at arguments and variables of every process, again and again, half of the time; further looks are functions that give what
    they found."""

    def __init__(self, values, *looks):
        super().__init__()
        self.wanted, self.looks = set().union(*map(forms, values)), looks
        self.found, self.programs, self.rounds = set(), set(), 0
        self.done = threading.Event()

    def is_in(self, pid, name):
        told = read(pid, name)
        return any(form in told for form in self.wanted)

    def look_at(self, pid):
        program = is_program(pid)
        if self.is_in(pid, "cmdline"):
            self.found.add(("cmdline", read(pid, "comm").decode().strip()))
        if self.is_in(pid, "environ"):
            if program:
                self.programs.add(pid)
            else:
                self.found.add(("environ", read(pid, "comm").decode().strip()))

    def run(self):
        pause_s = 0
        while not self.done.wait(pause_s):
            begin = time.thread_time()
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    self.look_at(pid)
                except OSError:
                    continue  # it has ended
            for look in self.looks:
                self.found.update(look())
            self.rounds += 1
            pause_s = time.thread_time() - begin  # for the programs that it looks at

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.join()
