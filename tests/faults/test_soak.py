# SPDX-License-Identifier: Apache-2.0
"""Many runs on sixteen threads: the gateway and its backend are afterwards what they were."""
import gc
import os
import pathlib
import re
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import common
import tap
from modes import Provider
from provider import ALLOW, OK, Host

RUNS = 20000 if common.LONG else 400
WARM_UP = 2000 if common.LONG else 480
THREADS = 16
GROWTH = 1 << 20
REQUESTS = ({"language": "sh", "code": "echo out; echo err >&2"}, {"language": "sh", "code": "exit 3"},
            {"language": "sh", "code": "head -c 200000 /dev/zero"}, {"language": "sh", "code": "cat", "stdin": "x" * 2000},
            {"language": "sh", "code": "sleep 5", "timeout_ms": 30}, {"language": "none such"})


def status(pid, name):
    return int(re.search(rf"^{name}:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)[1])


traces = common.Traces()


def measure(supervisor):
    gc.collect()
    return {"descriptors": len(os.listdir("/proc/self/fd")), "threads": status("self", "Threads"),
            "children": len(common.children(os.getpid())), "more mounts": traces.more_mounts(),
            "supervisor's descriptors": len(os.listdir(f"/proc/{supervisor}/fd")),
            "supervisor's children": len(common.children(supervisor)),
            "groups": len(common.bases(supervisor)),
            "groups of runs": len([name for path in common.bases(supervisor) for name in os.scandir(path) if name.is_dir()])}


def memory(supervisor):
    return {"gateway": status("self", "VmRSS") * 1024, "supervisor": status(supervisor, "VmRSS") * 1024}


def quiet_host():
    def allow(*arguments):
        arguments[-1][0] = ALLOW
    return Host(audit=allow, request_approval=allow, on_output=None)


def test_nothing_grows():
    provider, wrong = Provider(), []
    provider.invoke(REQUESTS[0], quiet_host())
    [supervisor] = common.supervisors_of(os.getpid())
    barrier = threading.Barrier(THREADS + 1)

    def caller(index):
        host = quiet_host()
        for runs in (WARM_UP, RUNS):
            barrier.wait()
            for number in range(index, runs, THREADS):
                request = REQUESTS[number % len(REQUESTS)]
                code, result = provider.invoke(request, host)
                if code != OK and request is not REQUESTS[5]:
                    wrong.append((request, result["error"]))
            barrier.wait()
        barrier.wait()
    threads = [threading.Thread(target=caller, args=(index,)) for index in range(THREADS)]
    for thread in threads:
        thread.start()
    found = []
    for _ in range(2):
        barrier.wait()
        barrier.wait()
        tap.eventually(lambda: measure(supervisor)["supervisor's children"] == 0 and
                       measure(supervisor)["groups of runs"] == 0, "the last runs are tidied up", 10)
        found.append((measure(supervisor), memory(supervisor)))
    barrier.wait()
    for thread in threads:
        thread.join()
    grown = {who: found[1][1][who] - found[0][1][who] for who in found[0][1]}
    print(f"# {RUNS} runs on {THREADS} threads after {WARM_UP}: the gateway grew by {grown['gateway'] >> 10} KiB to "
          f"{found[1][1]['gateway'] >> 10} KiB, the supervisor by {grown['supervisor'] >> 10} KiB; {found[1][0]}")
    tap.equal(wrong[:3], [], "runs that failed")
    tap.equal(found[1][0], found[0][0], "after and before")
    for who, growth in grown.items():
        tap.true(growth < GROWTH, f"the {who} grew by {growth} bytes")
    provider.reset()


tap.run(globals())
