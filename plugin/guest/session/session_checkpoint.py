# SPDX-License-Identifier: Apache-2.0
"""Copies the interpreter of a container's session ahead of a cell, as checkpoint.c does it in process mode. The copy waits for the guest's
word at a socket, and the guest keeps the files. Every name is looked up ahead of the first cell. Runs in the program's process."""
import _signal
import os

WORDS = ("taken", "threads", "processes", "descriptors", "shared_memory", "files", "secrets", "memory", "refused", "exposed")  # protocol/checkpoint.h
WOKEN = b"w"
WAIT_FOR_ALL = 0x40000000  # __WALL: a copy sends no signal at its end
SET_DUMPABLE, GET_THREAD_ID_ADDRESS = 4, 40  # prctl(2)
CHILD_CLEARTID, CHILD_SETTID = 0x00200000, 0x01000000  # clone(2)
CLONE = {"x86_64": 56, "aarch64": 220, "riscv64": 220}


def count_descriptors():
    return len(os.listdir("/proc/self/fd"))


def shares_memory():
    with open("/proc/self/maps", "rb", 0) as file:
        maps = file.read()
        while True:
            more = file.read()
            if not more:
                break
            maps += more
    return any(rights[1:2] == b"w" and rights[3:4] == b"s" for rights in (line.split(b" ", 2)[1] for line in maps.splitlines()))


class Maker:
    def __init__(self):
        self.children, self.clone = [], None
        self.descriptors = count_descriptors()
        self.all = set(_signal.valid_signals())

    def find_clone(self):
        """A fork() of which neither Python nor the C library hears: what goes on in a copy is to be what was, with its random generators.
        None: there is no ctypes, or the machine is another one."""
        if self.clone is None and os.uname().machine in CLONE:
            import ctypes
            library = ctypes.PyDLL(None)  # with Python's lock held, which the copy has then
            address = ctypes.c_void_p()
            flags, number, zero = CHILD_CLEARTID | CHILD_SETTID, ctypes.c_long(CLONE[os.uname().machine]), ctypes.c_ulong(0)
            if library.prctl(GET_THREAD_ID_ADDRESS, ctypes.byref(address), zero, zero, zero) != 0 or not address.value:
                flags = 0
            self.hide = lambda hidden: library.prctl(SET_DUMPABLE, ctypes.c_ulong(not hidden), zero, zero, zero) == 0
            self.clone = lambda: library.syscall(number, ctypes.c_ulong(flags), None, None, address, address)
        return self.clone

    def reap_old(self):
        self.children = [pid for pid in self.children if os.waitpid(pid, WAIT_FOR_ALL | os.WNOHANG)[0] == 0]

    def find_obstacle(self):
        if len(os.listdir("/proc/self/task")) != 1:
            return "threads"
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            if len(file.read().split()) != len(self.children):
                return "processes"
        if count_descriptors() != self.descriptors + 1:  # the guest's socket
            return "descriptors"
        return "shared_memory" if shares_memory() else "taken"

    def sleep(self, guest):
        """In the copy. Whatever fails ends it."""
        if not self.hide(True):
            return False
        nothing = os.open("/dev/null", os.O_RDWR)
        for fd in 0, 1, 2, 63:
            os.dup2(nothing, fd, fd != 63)
        os.close(nothing)
        try:
            directory = os.getcwd()
        except OSError:  # it is deleted
            directory = None
        guest.send(bytes([WORDS.index("taken")]))
        if guest.recv(1) != WOKEN:
            return False
        if directory:  # another one has that path now
            try:
                os.chdir(directory)
            except OSError:
                pass
        return self.hide(False)

    def become(self, guest):
        """The interpreter. No signal that the program has sent to the copy is meant for it."""
        while _signal.sigtimedwait(self.all, 0):
            pass
        self.children = []
        guest.send(WOKEN)
        guest.close()

    def make(self, guest):
        """true: this is the copy, woken."""
        mask = _signal.pthread_sigmask(_signal.SIG_SETMASK, self.all)
        try:
            self.reap_old()
            clone = self.find_clone()
            word = self.find_obstacle() if clone else "refused"
            pid = clone() if word == "taken" else -1
            if pid == 0:
                try:
                    if not self.sleep(guest):
                        os._exit(1)
                    self.become(guest)
                except BaseException:
                    os._exit(1)
                return True
            if pid > 0:
                self.children.append(pid)
            else:
                guest.send(bytes([WORDS.index("memory" if word == "taken" else word)]))
        except Exception:  # the guest sees the end of its socket
            pass
        finally:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
        guest.close()
        return False
