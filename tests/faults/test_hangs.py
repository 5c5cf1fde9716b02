# SPDX-License-Identifier: Apache-2.0
"""Programs that will not end, in every combination: each call returns soon after its limit, and nothing of it is left."""
import os
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import common
import tap
from modes import Provider, long_time, sleeps
from provider import ALLOW, OK, Host

CALLS = 10000 if common.LONG else 160
THREADS = 4
LIMIT_MS = 300
SLEEP = long_time()

# What comes first, any of them, and what it then does for ever.
BEGIN = {
    "sh": ("trap '' TERM INT HUP QUIT USR1 ALRM", f"(setsid sleep {SLEEP} &) ; setsid sh -c 'sleep {SLEEP} & sleep {SLEEP}' &",
           "exec <&- >&- 2>&-", "i=0; while [ $i -lt 20 ]; do sleep 1000 & i=$((i+1)); done"),
    "python": ("import signal\nfor n in (1, 2, 3, 10, 14, 15): signal.signal(n, signal.SIG_IGN)",
               f"import os, subprocess\nfor _ in range(2): subprocess.Popen(['sleep', '{SLEEP}'], start_new_session=True)",
               "import os\nfor fd in range(3): os.close(fd)",
               "import os, time\nfor _ in range(3):\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0: time.sleep(1000)\n"
               "        os._exit(0)"),
}
FOR_EVER = {
    "sh": (f"sleep {SLEEP}", "while :; do :; done", "kill -STOP $$; sleep 1000", "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxx; done",
           f"exec sleep {SLEEP}", "read nothing < /dev/zero", "wait; sleep 1000"),
    "python": ("import time; time.sleep(1000)", "while True: pass", "import os\nos.kill(os.getpid(), 19)\nwhile True: pass",
               "import os\nwhile True:\n    try: os.write(1, b'x' * 4096)\n    except OSError: pass",
               "import os, time\nfor n in range(2): os.fork()\nwhile True: pass",
               "import threading, time\n[threading.Thread(target=time.sleep, args=(1000,)).start() for _ in range(4)]",
               "import os\nos.kill(0, 19)\nwhile True: pass"),
}


def variants(random):
    for _ in range(CALLS):
        language = random.choice(("sh", "python"))
        first = [part for part in BEGIN[language] if random.random() < 0.4]
        random.shuffle(first)
        yield language, "\n".join([*first, random.choice(FOR_EVER[language])])


def quiet_host():
    def allow(*arguments):
        arguments[-1][0] = ALLOW
    return Host(audit=allow, request_approval=allow, on_output=None)


def test_every_call_returns_soon_after_its_limit():
    random = common.generator("hangs")
    provider, traces, todo, lock = Provider(), common.Traces(), variants(random), threading.Lock()
    times, wrong = [], []
    provider.invoke({"language": "sh", "code": "true"}, quiet_host())
    [supervisor] = common.supervisors_of(os.getpid())
    traces.see(supervisor)

    def caller():
        host = quiet_host()
        while True:
            with lock:
                language, code = next(todo, (None, None))
            if not language:
                return
            begin = time.monotonic()
            status, result = provider.invoke({"language": language, "code": code, "timeout_ms": LIMIT_MS}, host)
            times.append((time.monotonic() - begin) * 1000)
            if (status, result["status"]) not in ((OK, "timeout"), (OK, "output_limit")) and result["cause"] != "output_limit":
                wrong.append((language, code, result["status"], result["cause"], result["error"], result["stderr"]))
    threads = [threading.Thread(target=caller) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    p50, p99, most = common.percentile(times, 0.5), common.percentile(times, 0.99), max(times)
    print(f"# {len(times)} calls, {THREADS} at once, limit {LIMIT_MS} ms: p50 {p50:.0f} ms, p99 {p99:.0f} ms, max {most:.0f} ms; "
          f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    tap.equal(wrong[:3], [], f"{len(wrong)} of {len(times)} ended otherwise")
    tap.equal(len(times), CALLS)
    tap.eventually(lambda: not sleeps(SLEEP), "no program is left", 10)
    tap.eventually(lambda: not common.children(supervisor), "the supervisor has no child", 10)
    provider.reset()
    traces.expect_none()
    tap.true(p99 < LIMIT_MS + 2000, f"p99 {p99:.0f} ms")


tap.run(globals())
