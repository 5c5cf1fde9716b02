# SPDX-License-Identifier: Apache-2.0
"""Containers that are kept ready, on a real engine: nothing of one run is in the next, those that wait share nothing, and none
outlives its use, its gateway or its connection. By hand: scripts/with-engine tests/docker/test_real_pool.py"""
import json
import os
import pathlib
import signal
import sys
import threading

os.environ["CODE_EXECUTE_TEST_MODE"] = "docker"
ROOT = pathlib.Path(__file__).parents[2]
os.environ.setdefault("CODE_EXECUTE_SO", str(ROOT / "build" / "plugin" / "code_execute.so"))
sys.path.insert(0, str(ROOT / "tests" / "support"))
import engine
import modes
import tap
from engine import ask, containers
from modes import Provider, gateway
from provider import OK, Host

READY = 2
NAMESPACES = ("pid", "mnt", "net", "ipc", "uts", "cgroup")
provider = Provider()
in_force = None
LOOK = ("import os, glob\nmine = os.getpid()\n"
        "others = [open(p).read().split('\\0')[0] for p in glob.glob('/proc/[0-9]*/cmdline') if p.split('/')[2] != str(mine)]\n"
        "print(sorted(os.listdir('/tmp')), sorted(os.listdir('.')), sorted(os.listdir('/dev/shm')), sorted(others))\n"
        "for path in ('/tmp/trace', '/dev/shm/trace', 'trace'):\n    open(path, 'w').write('x')\n")


def use(ready=READY, **more):
    """With an option for the interpreter none waits: one container serves every language. Otherwise: test_real_interpreter.py. One policy
    for most cases: what waits is left for the next one."""
    if policy_of(ready, more) != in_force:
        use_anew(ready, **more)


def use_anew(ready=READY, **more):
    end()
    put_in_force(ready, **more)


def end():
    global in_force
    provider.reset()
    in_force = None


def policy_of(ready, more):
    python = {"argv": ["python3", "-B", "{file}"]}
    return {"pools": {"docker": {"ready": ready}}, "languages": {"python": python}, **more}


def put_in_force(ready, **more):
    global in_force
    in_force = policy_of(ready, more)
    tap.equal(provider.use_policy(in_force), OK)


def run(code="echo hi", language="sh", host=None, **more):
    status, result = provider.invoke({"language": language, "code": code, **more}, host or Host())
    tap.equal((status, result["error"]), (OK, None), result)
    return result


def described(identity):
    return json.loads(ask(f"/containers/{identity}/json"))


def await_ready(count=READY, without=()):
    def settled():
        found = engine.waiting()
        return len(found) == count == len(containers()) and not set(found) & set(without)
    tap.eventually(settled, f"{count} ready", 30)
    return engine.waiting()


def await_usable(without=()):
    """The same, and a run is sure to get one of them: the engine shows a container before the backend knows that it is ready."""
    found = await_ready(without=without)
    tap.eventually(lambda: told()[1].get("none", (0,))[0] == READY, "the backend has heard of all", 20)
    return found


def test_one_that_waited_serves_and_is_removed():
    use()
    run()
    ready = await_usable()
    thread = threading.Thread(target=lambda: run("sleep 2"))
    thread.start()
    tap.eventually(lambda: engine.running("sleep 2"), "the program runs", 20)
    seen = [identity for identity in containers() if b"sleep 2" in ask(f"/containers/{identity}/top")]
    thread.join()
    tap.true(len(seen) == 1 and seen[0] in ready, f"{seen} served, of {ready}")
    await_ready(without=seen)


def told():
    state, rows = provider.pool("docker")
    return state, {kind: (row["ready"], row["wanted"], row["memory_bytes"]) for kind, row in rows.items()}


def test_the_status_reports_ready_containers():
    use_anew()
    tap.equal(told()[0], "stopped")
    run()
    await_ready()
    tap.eventually(lambda: told() == ("answered", {"none": (READY, READY, None), "python": (0, 0, 0), "node": (0, 0, 0)}), "as many", 20)
    put_in_force(ready=0)
    run()
    tap.eventually(lambda: told() == ("answered", dict.fromkeys(("none", "python", "node"), (0, 0, 0))), "none", 20)


def test_nothing_of_one_run_is_in_the_next():
    use()
    first = run(LOOK, "python")["stdout"]
    seen = {first}
    used = set()
    for _ in range(READY + 1):
        before = await_usable(without=used)
        seen.add(run(LOOK, "python")["stdout"])
        tap.eventually(lambda: set(before) - set(engine.waiting()), "the used one is removed", 20)
        used |= set(before) - set(engine.waiting())
    tap.equal(len(used), READY + 1, "each was another one")
    tap.equal(len(seen), 1, f"all see the same: {seen}")
    tap.contains(first, "[] ['main.py'] [] ")
    control = run("open('/tmp/trace', 'w')\n" + LOOK, "python")
    tap.contains(control["stdout"], "['trace'] ['main.py'] []", "positive control: what is there is seen")


def test_waiting_containers_share_nothing():
    use()
    run()
    states = [described(identity) for identity in await_ready()]
    found = [os.stat(f"/proc/{state['State']['Pid']}/ns/{name}").st_ino for state in states for name in NAMESPACES]
    tap.equal(len(set(found)), len(found), "no namespace is another's")
    tap.true(all(os.stat(f"/proc/self/ns/{name}").st_ino not in found for name in NAMESPACES), "nor this machine's")
    for state in states:
        tap.equal((state["HostConfig"]["NetworkMode"], state["HostConfig"]["IpcMode"], state["Mounts"]), ("none", "none", []))


def test_each_run_has_its_own_secrets_and_files():
    use(secrets={"allowed": ["KEY"]})
    run()
    for number in range(READY + 1):
        await_ready()
        host = Host(("sandbox.exec", "sandbox.exec.secrets", "sandbox.exec.files"), secrets={"KEY": f"key-{number}-of-this-run".encode()})
        result = run("import os\nprint(input(), os.environ['KEY'] == open('data').read(), os.environ['MORE'])", "python", host,
                     stdin=f"in {number}\n", env={"MORE": str(number)}, secrets={"KEY": "{{secret:KEY}}"},
                     files=[{"path": "data", "content": f"key-{number}-of-this-run"}])
        tap.equal(result["stdout"], f"in {number} True {number}\n")


def test_limits_and_time_are_the_run_s():
    use(limits={"memory_bytes": {"default": 64 << 20}})
    run()
    await_ready()
    output = provider.invoke({"language": "python", "code": "x = b'x' * (200 << 20)"}, Host())[1]
    tap.equal((output["status"], output["cause"]), ("killed", "memory_limit"), output)
    await_ready()
    output = provider.invoke({"language": "sh", "code": "sleep 20", "timeout_ms": 300}, Host())[1]
    tap.equal((output["status"], output["cause"]), ("timeout", "wall_timeout"), output)
    tap.true(output["duration_ms"] >= 300, "from its start, not its container's")


def test_a_removed_or_killed_container_is_replaced():
    use()
    run()
    for query in ("DELETE {0}?force=1", "POST {0}/kill", "POST {0}/stop?t=0"):
        ready = await_ready()
        method, path = query.split()
        for identity in ready:
            ask(f"/containers/{path.format(identity)}", method)
        tap.equal(run()["stdout"], "hi\n")
        await_ready(without=ready)


def test_many_at_once_are_served_ready_or_not():
    use()
    run()
    outputs = []
    threads = [threading.Thread(target=lambda n=n: outputs.append(run(f"echo {n}")["stdout"])) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tap.equal(sorted(outputs), [f"{n}\n" for n in range(8)])
    await_ready()


def test_unloading_leaves_none():
    use_anew()
    run()
    await_ready()
    end()
    tap.equal(containers(), [])


def test_one_whose_owners_are_killed_ends_by_itself_and_is_swept():
    modes.adopt_orphans()
    end()
    before = set(modes.own_processes())
    host = gateway(f"p = Provider(); p.use_policy({{'pools': {{'docker': {{'ready': {READY}}}}}}}); "
                   "p.invoke({'language': 'sh', 'code': 'true'}, Host()); print('done', flush=True); sys.stdin.read()", stdin=-1)
    tap.equal(host.stdout.readline(), "done\n")
    ready = await_ready()
    backends = set(modes.own_processes()) - before
    for pid in backends:
        os.kill(pid, signal.SIGSTOP)  # or it would see its host's end before its own
    host.kill()
    host.wait()
    for pid in backends:
        os.kill(pid, signal.SIGKILL)
    tap.eventually(lambda: engine.waiting() == [], "their guests have ended", 20)
    tap.equal(set(containers()), set(ready), "what is left of them")
    use_anew(ready=0)
    run()
    engine.none_left()


tap.run(globals())
