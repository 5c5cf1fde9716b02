# SPDX-License-Identifier: Apache-2.0
"""The end of a copied Python, which its init is asked for: as any other end, for those who may ask, and of no use to a program."""
import os
import pathlib
import sys

SUPPORT = pathlib.Path(__file__).parents[2] / "support"
sys.path.insert(0, str(SUPPORT))
import tap
from modes import LONG, Provider, long_time, sleeps
from provider import OK, Host

CALL = {"x86_64": 180, "aarch64": 42}.get(os.uname().machine)  # nfsservctl
WORD = 0x65786974
ASK = ("import ctypes, os, sys\nlibc = ctypes.CDLL(None)\n"
       f"def ask(status, word={WORD}):\n"
       f"    sys.stdout.flush()\n    libc.syscall(ctypes.c_long({CALL}), ctypes.c_ulong(word), ctypes.c_ulong(status))\n"
       "    print('still here', flush=True)\n")
provider = Provider()


def use(fork=True, ready=2):
    provider.reset()
    tap.equal(provider.use_policy({"pools": {"process": {"ready": ready, "most": ready}},
                                   "languages": {"python": {"prepare": {"fork": fork}}}}), OK)
    run("0")


def run(code, language="python"):
    status, result = provider.invoke({"language": language, "code": code}, Host())
    tap.equal(status, OK, result)
    return result


def ready_run(code):
    tap.eventually(lambda: provider.pool()[1].get("python", {"ready": 0})["ready"] > 0, "a copy waits", 20)
    before = provider.counters()["sandboxes_ready"]
    result = run(code)
    tap.equal(provider.counters()["sandboxes_ready"] - before, 1, "it was ready")
    return result


def ended(result, exit_code, stdout="", signal=None):
    tap.equal((result["status"], result["exit_code"], result["signal"], result["stdout"]),
              ("completed" if signal is None else "killed", exit_code, signal, stdout), result)


def test_it_is_granted_and_what_follows_is_not_reached():
    use()
    for code in (0, 7, 255):
        ended(ready_run(ASK + f"print('before'); ask({code})"), code, "before\n")
    ended(ready_run(ASK + "ask(256 + 3)"), 3)  # as of exit(3): the low byte


def test_usage_of_a_copy_is_reported():
    use()
    used = ready_run(ASK + "import time\nwhile time.process_time() < 0.3: pass\nthings = bytearray(64 << 20)\nask(0)")["usage"]
    tap.true(290 <= used["user_ms"] + used["system_ms"] <= used["wall_ms"] + 200, used)
    tap.true(used["peak_memory_bytes"] >= 64 << 20, used)
    used = ready_run(ASK + "import time\nif os.fork() == 0:\n    while time.process_time() < 0.3: pass\n    os._exit(0)\nos.wait()\nask(0)")["usage"]
    tap.true(290 <= used["user_ms"] + used["system_ms"] <= used["wall_ms"] + 200, f"of a child as well: {used}")


def test_usage_of_other_processes_is_reported():
    """Who is still there is waited for, and so counted: an answer that overlooked them would lack it."""
    use()
    begins = "import signal, time\nthere, here = os.pipe()\n"
    burns = "while time.process_time() < 0.3: pass\n    os.write(here, b'x'); "
    others = {
        "a child": f"if os.fork() == 0:\n    {burns}signal.pause()\n",
        "an orphan": f"if os.fork() == 0:\n    if os.fork(): os._exit(0)\n    {burns}signal.pause()\nos.wait()\n",
        "an orphan that init has buried": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\nif os.fork() == 0:\n    if os.fork(): os._exit(0)\n"
                                          f"    os.close(there)\n    {burns}os._exit(0)\nos.close(here)\n",
    }
    for name, code in others.items():
        ends = "while os.read(there, 1): pass\ntime.sleep(0.05)\n" if "buried" in name else "os.read(there, 1)\n"
        used = ready_run(ASK + begins + code + ends + "ask(0)")["usage"]
        tap.true(290 <= used["user_ms"] + used["system_ms"] <= used["wall_ms"] + 200, f"{name}: {used}")


# Counts a register down, and touches no memory: of a child that has the parent's memory (vfork(2)) only its time is to be seen.
BURN = {"x86_64": "48b90000004000000000" "48ffc9" "75fb" "31c0" "c3",
        "aarch64": "0100a8d2" "210400f1" "e1ffff54" "00008052" "c0035fd6"}.get(os.uname().machine)
VFORK = ("import ctypes, mmap, os\nfrom ctypes import CDLL, addressof, c_char, c_int, c_long, c_void_p\n"
         f"page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)\npage.write(bytes.fromhex('{BURN}'))\n"
         "stack = ctypes.create_string_buffer(b'x' * (1 << 16))\n"
         "def burn():\n"
         "    child = CDLL(None).clone(c_void_p(addressof(c_char.from_buffer(page))), c_void_p(addressof(stack) + (1 << 16) - 256 & ~15),\n"
         "                             c_int(0x4100 | 17), c_void_p(0))  # CLONE_VFORK | CLONE_VM, SIGCHLD\n"
         "    return child, os.waitpid(child, 0)[1]\n")


def test_usage_of_a_vfork_child_is_reported():
    """Such a child leaves no page faults, which told of children once."""
    use()
    for end in ("ask(0)", "pass"):
        result = ready_run(ASK + VFORK + "child, status = burn()\ntimes = os.times()\nprint(status, round(1000 * times.children_user), flush=True)\n" + end)
        status, burnt = map(int, result["stdout"].split())
        used = result["usage"]["user_ms"] + result["usage"]["system_ms"]
        tap.true(status == 0 and burnt > 50, f"positive control: the child had time: {result}")
        tap.true(used >= burnt, f"{end}: the child had {burnt} ms, and the run has {result['usage']}")


def test_other_processes_end_with_the_one_that_asks():
    """They are gone when it is answered."""
    use()
    sleep = "os.execlp('sleep', 'sleep', '{argument}')\n"
    others = {
        "a child": f"if os.fork() == 0: {sleep}",
        "a child that has ended": "if os.fork() == 0: os._exit(0)\nos.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)\n",
        "a child that was waited for": "if os.fork() == 0: os._exit(0)\nos.wait()\n",
        "an orphan": f"if os.fork() == 0:\n    if os.fork() == 0: {sleep}    os._exit(0)\nos.wait()\n",
        "a thread": "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n",
        "a child of a handler's": f"import signal\ndef fork(*_):\n    if os.fork() == 0: {sleep}signal.signal(signal.SIGALRM, fork)\n"
                                  "signal.setitimer(signal.ITIMER_REAL, {delay})\n",
    }
    for name, code in others.items():
        for number in range(20 if LONG else 4):
            argument = long_time(number)
            result = ready_run(ASK + code.replace("{argument}", argument).replace("{delay}", str((number + 1) * 2e-5)) + "while True: ask(5)")
            tap.equal((name, result["exit_code"], result["status"]), (name, 5, "completed"), result["error"])
            tap.true(not sleeps(argument), f"{name}: nothing is left")


def test_others_may_not_ask():
    use()
    asked = {"another word": ASK + "ask(0, 1)", "a child": ASK + "if os.fork() == 0:\n    ask(0)\nos.wait()",
             "a thread": ASK + "import threading\nthread = threading.Thread(target=ask, args=(0,)); thread.start(); thread.join()"}
    for name, code in asked.items():
        result = ready_run(code)
        tap.equal((name, result["status"], result["cause"], result["signal"]), (name, "killed", "forbidden_syscall", "SIGSYS"), result)
    use(fork=False)
    result = run(ASK + "ask(0)")
    tap.equal((result["cause"], result["signal"]), ("forbidden_syscall", "SIGSYS"), "an interpreter that was started")


def test_all_ends_come_before_it():
    use()
    ended(ready_run("import ctypes\nctypes.CDLL(None).printf(b'from C')"), 0, "from C")
    ended(ready_run("import atexit\natexit.register(print, 'registered')\nprint('x')"), 0, "x\nregistered\n")
    ended(ready_run("import ctypes\nlibc = ctypes.CDLL(None)\n"
                    "end = ctypes.CFUNCTYPE(None)(lambda: None)\nlibc.puts(b'C'); libc.exit(9)"), 9, "C\n")
    ended(ready_run("import os\nos._exit(4)"), 4)
    ended(ready_run("import os\nos.kill(os.getpid(), 15)"), None, signal="SIGTERM")
    ended(ready_run("import os\nos.execv('/bin/sh', ['sh', '-c', 'echo shell; exit 6'])"), 6, "shell\n")
    ended(ready_run("import os, sys\nif os.fork() == 0:\n    sys.exit(1)\nprint(os.waitstatus_to_exitcode(os.wait()[1]))"), 0, "1\n")


tap.run(globals())
