# SPDX-License-Identifier: Apache-2.0
"""One provider whose sessions have checkpoints, and one caller of cells of Python."""
import pathlib

import tap
from modes import MODE, Provider, adopt_orphans, at_home, in_places, merged
from provider import OK, Host

RIGHTS = ("sandbox.exec", "sandbox.exec.session", "sandbox.exec.files")
AMPLE_MS = 120000  # for cells that are not about time
# A thread that was joined may be in the kernel still, where a checkpoint would see it.
THREADS = "os.stat('/proc/self/task').st_nlink - 2" if MODE == "unprivileged" else "len(os.listdir('/proc/self/task'))"
UNTIL_ONE_THREAD = f"import os\nwhile {THREADS} > 1: pass"
# The numbers that processes of a session may have there. Without namespaces they are the machine's, which it gives in their order.
PIDS = "range(2, 400)"
if MODE == "unprivileged":
    PIDS = f"range(2, {most})" if (most := int(pathlib.Path("/proc/sys/kernel/pid_max").read_text())) <= 65536 else "range(os.getpid() - 2000, os.getpid() + 60000)"
# Code that kills every process of its sandbox but its own, with that number of a signal.
KILL_ALL = """import os
for pid in PIDS:
    if pid != os.getpid():
        try:
            os.kill(pid, {number})
        except OSError:
            pass
""".replace("PIDS", PIDS)
# Code that begins to share memory, and code that ends that.
SHARES, SHARES_NO_MORE = "import mmap\nshared = mmap.mmap(-1, 4096)", "shared.close()"
if MODE == "unprivileged":  # there is none without a file
    SHARES = ("import ctypes, os\nlibc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_void_p\nfd = os.open('/tmp/m', os.O_RDWR | os.O_CREAT)\n"
              "os.ftruncate(fd, 4096)\nshared = ctypes.c_void_p(libc.mmap(None, 4096, 3, 1, fd, 0))\nos.close(fd)")
    SHARES_NO_MORE = "assert libc.munmap(shared, 4096) == 0"
adopt_orphans()
provider = Provider()


def use(checkpoints=3, **more):
    sessions = {"max_total": 8, "max_per_principal": 8, "checkpoints": checkpoints}
    tap.equal(provider.begin_anew(merged({"sessions": sessions, "limits": {"wall_ms": {"default": AMPLE_MS}, "cpu_ms": {"default": 300000}}}, more)), OK)


def call(code, session="new", to=None, **more):
    """The return code and the result, as in a sandbox with a file view."""
    returned, result = provider.invoke({"language": "python", "code": in_places(code), "session": session, **more},
                                       to or Host(RIGHTS, context={"principal": "ann"}))
    if result.get("stdout"):
        result["stdout"] = at_home(result["stdout"])
    return returned, result


def seen_by_others(own, others, pid):
    """What a program opens of its own process and of others, as it prints that: nothing of others, of which it may know the number."""
    if MODE != "unprivileged":
        tap.equal((own, others), ("['mem', 'maps', 'environ', 'fd/0']", "set()"))
        return
    tap.equal((own, others), ("['fd/0']", "{'fd/0'}"), "it can open nothing of /proc; a name there that leads to /dev/null is nothing of it")
    for name in "mem", "maps", "environ":
        pathlib.Path(f"/proc/{pid.strip()}/{name}").open("rb").close()  # the control: outside they can be opened
