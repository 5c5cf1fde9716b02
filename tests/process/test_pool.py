# SPDX-License-Identifier: Apache-2.0
"""Sandboxes that are kept ready: as many as the policy says, each for one run, nothing of one in the next, and none that outlives
its use."""
import os
import pathlib
import signal
import sys
import threading
import time

SUPPORT = pathlib.Path(__file__).parents[1] / "support"
FAULTS = pathlib.Path(__file__).parents[1] / "faults"
sys.path[:0] = [str(SUPPORT), str(FAULTS)]
import common
import tap
from modes import Provider, gateway, interpreter_waits
from provider import OK, Host

READY = 3
provider = Provider()
NAMESPACES = ("user", "pid", "mnt", "net", "ipc", "uts", "cgroup")
LOOK = ("import os\nprint(sorted(os.listdir('/tmp')), sorted(os.listdir('.')), sorted(os.listdir('/dev/shm')), sorted(p for p in os.listdir('/proc') if p.isdigit()))\n"
        "open('/tmp/trace', 'w').write('x'); open('/dev/shm/trace', 'w').write('x'); open('trace', 'w').write('x')\n")


def use(ready=READY, idle_ms=60000, most=0, memory_bytes=1 << 30, **more):
    provider.reset()
    pool = {"ready": ready, "idle_ms": idle_ms, "most": most, "memory_bytes": memory_bytes}
    tap.equal(provider.use_policy({"pools": {"process": pool}, **more}), OK)


def run(code="echo hi", language="sh", host=None, **more):
    status, result = provider.invoke({"language": language, "code": code, **more}, host or Host())
    tap.equal((status, result["error"]), (OK, None), result)
    return result


def supervisor():
    [pid] = common.supervisors_of(os.getpid())
    return pid


def begin_time(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19])


def waiting():
    """Inits whose one child is no program yet, and which are not about to end; the oldest first."""
    def look():
        return {pid for pid in common.children(supervisor()) if len(children := common.children(pid)) == 1 and
                (common.alive(children[0]) or interpreter_waits(children[0]))}
    before = look()
    time.sleep(0.1)
    return sorted(before & look(), key=lambda pid: (begin_time(pid), pid))


def memory_limit(pid):
    """Of the process's cgroup; None: it has none of its own."""
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        version = (number == "0", "memory.max") if number == "0" else ("memory" in controllers.split(","), "memory.limit_in_bytes")
        for top in ("/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified"):
            file = pathlib.Path(f"{top}{path}/{version[1]}")
            if version[0] and path != "/" and file.exists() and file.read_text().strip().isdigit():
                return int(file.read_text())
    return None


def await_ready(count=READY):
    tap.eventually(lambda: len(waiting()) == count, f"{count} ready", 10)
    return waiting()


def test_as_many_as_the_policy_says():
    use()
    run()
    first = await_ready()
    run()
    second = await_ready()
    tap.equal(len(set(first) & set(second)), READY - 1, "one was used and one was made")
    use(ready=0)
    run()
    tap.eventually(lambda: waiting() == [], "none where the policy wants none", 10)


def test_the_oldest_serves_the_run():
    use()
    run("pass", "python")  # whose trial is a run of its own
    ready = await_ready()
    inside = [os.stat(f"/proc/{pid}/ns/mnt").st_ino for pid in ready]
    seen = [int(run("import os; print(os.stat('/proc/self/ns/mnt').st_ino)", "python")["stdout"]) for _ in ready]
    tap.equal(seen, inside, "in their order")
    tap.eventually(lambda: not set(ready) & set(common.children(supervisor())), "each ends with its run", 10)


def test_nothing_of_one_run_is_in_the_next():
    use()
    run()
    await_ready()
    seen = {run(LOOK, "python")["stdout"] for _ in range(2 * READY)}
    tap.equal(seen, {"[] ['main.py'] [] ['2']\n"}, "empty scratch, no other process")


def test_those_that_are_ready_share_nothing():
    use()
    run()
    ready = await_ready()
    found = [os.stat(f"/proc/{pid}/ns/{name}").st_ino for pid in [*ready, supervisor()] for name in NAMESPACES]
    tap.equal(len(set(found)), len(found), "no namespace is another's")
    if os.geteuid() == 0:
        users = {pathlib.Path(f"/proc/{pid}/status").read_text().split("Uid:")[1].split()[0] for pid in ready}
        tap.equal(len(users), READY, "users of the host")
    groups = {pathlib.Path(f"/proc/{pid}/cgroup").read_text() for pid in ready}
    tap.true(len(groups) == READY or "code-execute" not in groups.pop(), "control groups")


def test_each_run_has_its_own_secrets_and_files():
    use(secrets={"allowed": ["KEY"]})
    run()
    for number in range(READY + 1):
        host = Host(("sandbox.exec", "sandbox.exec.secrets", "sandbox.exec.files"), secrets={"KEY": f"key-{number}-of-this-run".encode()})
        result = run("import os, resource\nprint(input(), len(os.environ['KEY']), os.environ['MORE'], open('data').read(),\n"
                     "      resource.getrlimit(resource.RLIMIT_CPU))", "python", host, stdin=f"in {number}\n", env={"MORE": str(number)},
                     files=[{"path": "data", "content": f"file {number}"}], secrets={"KEY": "{{secret:KEY}}"}, timeout_ms=5000)
        tap.equal(result["stdout"], f"in {number} {len('key-0-of-this-run')} {number} file {number} (10, 11)\n")


def test_limits_are_the_run_s():
    use(limits={"memory_bytes": {"default": 64 << 20}})
    run()
    await_ready()
    result = provider.invoke({"language": "python", "code": "x = bytearray(200 << 20)"}, Host())[1]
    tap.true(result["cause"] == "memory_limit" or "MemoryError" in result["stderr"], result)
    result = provider.invoke({"language": "sh", "code": "sleep 20", "timeout_ms": 200}, Host())[1]
    tap.equal(result["cause"], "wall_timeout")


def test_a_small_run_decides_nothing_for_others():
    """Sandboxes are prepared under the largest limit, so that an interpreter fits; each run gets its own."""
    use(READY)
    run(language="python")
    await_ready()
    for _ in range(READY + 1):
        run("print(1)", "python", memory_bytes=16 << 20)
    limits = [memory_limit(pid) for pid in await_ready()]
    if None in limits:
        raise tap.Skip("no writable cgroup here")
    tap.equal(set(limits), {256 << 20}, "limits of what waits")


def test_a_run_that_needs_more_than_what_waits():
    """Version 1 of cgroups has two limits that are raised in one order and lowered in the other."""
    use(limits={"memory_bytes": {"default": 64 << 20, "max": 192 << 20}})
    layers = run("print(1)", "python")["isolation"]["applied"]
    ready = await_ready()
    host = Host(("sandbox.exec", "sandbox.exec.limits.extended"))
    for memory_bytes in (192 << 20, 64 << 20):
        result = provider.invoke({"language": "python", "code": "b = bytearray(96 << 20)\nb[::4096] = b[::4096].replace(b'\\0', b'x')\nprint(len(b))",
                                  "memory_bytes": memory_bytes}, host)[1]
        tap.equal((result["isolation"]["applied"], result["limits"]["memory_bytes"]), (layers, memory_bytes), result)
        if memory_bytes > 96 << 20:
            tap.equal((result["error"], result["stdout"]), (None, f"{96 << 20}\n"), result)
        else:
            tap.true(result["cause"] == "memory_limit" or "MemoryError" in result["stderr"], result)
    tap.true(len(set(ready) & set(waiting())) <= READY - 2, "both were among what waited")


def test_another_shape_has_its_own():
    use()
    run()
    first = await_ready()
    tap.equal(provider.use_policy({"pools": {"process": {"ready": READY, "most": 0}}, "limits": {"scratch_bytes": {"default": 1 << 20}}}), OK)
    tap.contains(run("df -k /tmp | tail -n 1")["stdout"], " 1024 ")
    tap.eventually(lambda: len(waiting()) == 2 * READY and set(first) <= set(waiting()), "both are kept ready", 10)


def test_one_that_was_killed_is_replaced():
    use()
    run()
    ready = await_ready()
    for pid in ready:
        os.kill(pid, signal.SIGKILL)
    tap.eventually(lambda: len(waiting()) == READY and not set(ready) & set(waiting()), "new ones", 10)
    tap.equal(run()["stdout"], "hi\n")


def test_an_unused_pool_is_given_up():
    use(idle_ms=3000)

    def some_are_ready():
        run()  # on a busy machine it may take longer than they are kept
        return tap.within(lambda: len(waiting()) > 0, 3)
    tap.true(any(some_are_ready() for _ in range(7)), "some are ready")
    tap.eventually(lambda: waiting() == [], "none is left", 10)
    tap.equal(run()["stdout"], "hi\n")


def test_many_at_once_are_served_ready_or_not():
    use()
    run()
    results = []
    threads = [threading.Thread(target=lambda n=n: results.append(provider.invoke({"language": "sh", "code": f"echo {n}"}, Host())[1]["stdout"]))
               for n in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tap.equal(sorted(results, key=int), [f"{n}\n" for n in range(24)])
    await_ready()


def many(count):
    threads = [threading.Thread(target=run, args=("sleep 0.2",)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_more_are_ready_where_more_are_asked_for():
    use(ready=1, most=6, idle_ms=20000)
    run()
    await_ready(1)
    tap.eventually(lambda: many(12) or tap.within(lambda: len(waiting()) == 6, 5), "as many as were asked for", 60)
    for _ in range(10):  # one after the other needs no more than one
        run()
        time.sleep(0.2)
    tap.eventually(lambda: run()["stdout"] == "hi\n" and len(waiting()) < 6, "fewer", 60)


def test_all_together_hold_no_more_than_the_policy_says():
    use(memory_bytes=1 << 20)
    run("pass", "python")
    await_ready(1)
    use(memory_bytes=1 << 20)
    run()
    tap.eventually(lambda: len(waiting()) > 0, "one is always there", 10)
    time.sleep(1)
    held = sum(group_memory(pid) for pid in waiting())
    if held == 0:
        raise tap.Skip("no control group counts memory here")
    tap.true(held <= 1 << 20 or len(waiting()) == 1, f"{held} bytes in {len(waiting())}")


def group_memory(pid):
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for file in (f"/sys/fs/cgroup/{controllers}{path}/memory.usage_in_bytes", f"/sys/fs/cgroup{path}/memory.current"):
            if "code-execute" in path and os.path.exists(file):
                return int(pathlib.Path(file).read_text())
    return 0


def test_they_end_with_the_gateway():
    host = gateway(f"p = Provider(); p.use_policy({{'pools': {{'process': {{'ready': {READY}, 'most': 0}}}}}}); "
                   "p.invoke({'language': 'sh', 'code': 'true'}, Host()); print('ready', flush=True); sys.stdin.read()", stdin=-1)
    tap.equal(host.stdout.readline(), "ready\n")
    traces = common.Traces()
    [backend] = common.supervisors_of(host.pid)
    traces.see(backend)
    tap.eventually(lambda: len(common.children(backend)) >= READY, "they are ready", 10)
    inits = common.children(backend)
    host.kill()
    host.wait()
    tap.eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in inits), "none is left", 10)
    traces.expect_none()


def test_unloading_takes_them_away():
    use()
    run()
    inits, traces = await_ready(), common.Traces()
    traces.see(supervisor())
    provider.reset()
    tap.eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in inits), "none is left", 10)
    traces.expect_none()


tap.run(globals())
