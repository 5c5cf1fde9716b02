# SPDX-License-Identifier: Apache-2.0
"""A gateway whose programs run on workers: what a call brings and leaves, what is refused, and what becomes of it when workers are busy,
wrong or gone. Gateway, backend and workers are the real programs, all on loopback."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import tap
from provider import ALLOW, OK, Host
from remote_gateway import FILES, RIGHTS, SLEEP, Call, a_worker, call, completed, gateway, place, policy_of, provider, refused, second
from workers import PATIENCE, WORKER

TOOLHOST = sys.argv.pop(1)


def test_a_call_runs_on_the_worker_and_says_so():
    with a_worker() as worker, gateway((worker, WORKER)):
        result = completed("import sys\nprint(2**64)\nprint(sys.stdin.read(), file=sys.stderr)\nsys.exit(3)", stdin="from afar")
        tap.equal((result["mode"], result["exit_code"], result["stdout"], result["stderr"]), ("remote", 3, "18446744073709551616\n", "from afar\n"))
        details = result["isolation"]["details"]
        tap.equal((details["worker"], details["attested_by"]), ("worker-1", WORKER), details)
        tap.true({"user_namespace", "seccomp"} <= set(result["isolation"]["applied"]), result["isolation"])
        tap.equal(worker.metric("backend_starts_total"), 1)


def test_results_files_and_outputs():
    with a_worker() as worker, gateway((worker, WORKER)):
        result = completed("open('out.txt', 'w').write(open('in/a.csv').read() * 2)\n{'answer': 42}",
                           files=[{"path": "in/a.csv", "content": "1;2\n"}], outputs=["*.txt"])
        tap.equal([(file["path"], file["content"]) for file in result["files"]], [("out.txt", "1;2\n1;2\n")], result)
        tap.contains(json.dumps(result["results"]), "42")
        tap.equal(len(completed("print('x' * 1000000)")["stdout"]) > 1000, True)


def test_sessions_stay_on_their_worker():
    with a_worker() as one, second() as two, gateway((one, WORKER), (two, "worker-2.example")):
        result = completed("x = 41", session="new")
        session, where = result["session"]["id"], result["isolation"]["details"]["attested_by"]
        for n in range(4):
            result = completed("x += 1\nprint(x)", session=session)
            tap.equal((result["stdout"], result["isolation"]["details"]["attested_by"]), (f"{42 + n}\n", where), result)
        completed("0", session=session, session_action="end")


def test_a_session_has_all_that_it_has_on_one_machine():
    """A cell that is too long to be brief, another language, whose program is started later, and a collection."""
    with a_worker() as worker, gateway((worker, WORKER)):
        session = completed("x = 41", session="new")["session"]["id"]
        tap.equal(completed("#" * 5000 + "\nx += 1\nprint(x)", session=session)["stdout"], "42\n")
        tap.equal(completed("echo $((6 * 7))", language="bash", session=session)["stdout"], "42\n")
        left = completed("open('left.txt', 'w').write('what is left')", session=session, outputs=["*.txt"])["files"]
        tap.equal([(file["path"], file["content"]) for file in left], [("left.txt", "what is left")], left)
        completed("0", session=session, session_action="end")
        tap.equal(worker.events("refused"), [])


def test_tools_are_called_through_a_worker():
    calls = []

    def serve(token, text, verdict):
        calls.append(json.loads(text)["arguments"])
        verdict[0] = ALLOW
        provider.reply_call(token, {"content": [{"type": "text", "text": "5"}]})
    definition = {"name": "add", "description": "adds", "input_schema": {"type": "object"}}
    with a_worker() as worker, gateway((worker, WORKER)):
        host = Host(RIGHTS, context={"tools": [definition]}, call_tool=serve)
        result = completed("import tools\nprint(tools.add(a=2, b=3))", host, tools=["add"])
        tap.equal(calls, [{"a": 2, "b": 3}], result)
        tap.contains(result["stdout"], "5")


def test_cancel_and_time():
    with a_worker() as worker, gateway((worker, WORKER)):
        running = Call(SLEEP).await_begun()
        provider.cancel(running.host.struct.call_id)
        tap.equal(running.end()["status"], "cancelled")
        _, result = call(SLEEP, timeout_ms=1500)
        tap.equal((result["status"], result["stdout"]), ("timeout", "begun\n"), result)
        tap.true(tap.within(lambda: worker.metric("runs") == 0, PATIENCE), "the worker has runs left")


def test_a_worker_that_is_lost_in_mid_run():
    with a_worker() as one, second() as two, gateway((one, WORKER), (two, "worker-2.example")):
        running = Call(SLEEP).await_begun()
        lost, other = (one, two) if one.metric("runs") == 1 else (two, one)
        lost.process.kill()
        result = running.end()
        tap.equal((result["status"], result["error"]["code"], result["error"]["retryable"]), ("error", "worker_lost", False), result)
        tap.equal(result["stdout"], "begun\n", "what it has printed is there")
        tap.contains(result["error"]["hint"], "may have run")
        tap.equal(other.metric("runs"), 0, "nothing has repeated it")
        for _ in range(5):
            completed("print(1)")


def test_all_workers_are_busy():
    with a_worker(max_runs=1) as one, second(max_runs=1) as two, gateway((one, WORKER), (two, "worker-2.example")):
        completed("1")
        running = [Call(SLEEP).await_begun() for _ in range(2)]
        tap.equal([one.metric("runs"), two.metric("runs")], [1, 1], "one each")
        result = refused("1", "too_many_requests")
        tap.true(result["error"]["retry_after_ms"] > 0, result)
        for one_run in running:
            provider.cancel(one_run.host.struct.call_id)
            one_run.end()
        completed("1")


def test_no_worker_is_reachable():
    with a_worker() as worker:
        address = worker.await_ready().address
    with gateway(place(address)):
        result = refused("1", "backend_unavailable")
        tap.contains(result["error"]["message"], WORKER)
        tap.contains(result["error"]["message"].lower(), "refused")


def test_a_worker_comes_back():
    with a_worker() as worker, gateway((worker, WORKER)):
        host, port = worker.address
        completed("1")
        worker.process.kill()
        worker.process.wait()
        tap.true(tap.within(lambda: call("1")[1]["error"] is not None, PATIENCE), "it is gone")
        with a_worker(listen=f"{host}:{port}") as again:
            again.await_ready()
            tap.true(tap.within(lambda: call("1")[1]["status"] == "completed", PATIENCE), "it is back")


def test_who_is_not_the_worker_of_the_policy():
    """By its name, its authority or the gateway's own certificate; the first case is the control."""
    of_other = FILES.other.issue(FILES.directory / "worker-of-other", "worker", "serverAuth", f"DNS:{WORKER}", authority=FILES.ours)
    with a_worker() as worker:
        with gateway((worker, WORKER)):
            completed("1")
        with gateway((worker, "worker-2.example")):
            result = refused("1", "backend_unavailable")
            tap.contains(result["error"]["message"], "worker-2.example")
        with gateway((worker, WORKER), files=FILES.of_other):
            refused("1", "backend_unavailable")
        with gateway((worker, WORKER), files=FILES.stranger):
            refused("1", "backend_unavailable")
        tap.equal(worker.metric("runs"), 0)
    with a_worker(of_other) as worker, gateway((worker, WORKER)):
        refused("1", "backend_unavailable")


def test_a_file_of_workers_is_read_again():
    path = FILES.directory / "workers"
    path.write_text("# none yet\n")
    path.chmod(0o644)
    with a_worker() as worker:
        address = "{}:{}".format(*worker.await_ready().address)
        tap.equal(provider.use_policy(policy_of({"file": str(path)})), OK)
        result = refused("1", "backend_unavailable")
        tap.contains(result["error"]["message"], "no worker")
        path.write_text(f"{WORKER} {address}\n")
        tap.true(tap.within(lambda: call("1")[1]["status"] == "completed", PATIENCE), "the worker of the file")
        provider.reset()


def test_names_are_looked_up():
    with a_worker() as worker:
        port = worker.await_ready().address[1]
        tap.equal(provider.use_policy(policy_of({"dns": f"localhost:{port}", "name": WORKER})), OK)
        completed("1")
        provider.reset()


def test_status_names_each_worker():
    with a_worker() as worker:
        with a_worker() as gone:
            nowhere = gone.await_ready().address
        with gateway((worker, WORKER), place(nowhere, "worker-2.example")):
            _, status = provider.status()
            [backend] = [backend for backend in status["backends"] if backend["name"] == "remote"]
            parts = {part["name"]: part for part in backend["parts"]}
            tap.equal((backend["available"], parts[WORKER]["state"], parts[WORKER]["mode"], parts[WORKER]["slots"]), (True, "usable", "process", 8), backend)
            tap.equal(parts["worker-2.example"]["state"], "unusable", parts)
            tap.contains(parts["worker-2.example"]["detail"].lower(), "refused")
            tap.contains(parts["worker-2.example"]["remedy"], "start code-execute-worker", parts)


def test_doctor_and_status_write_each_worker():
    with a_worker() as worker, tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(policy_of([place(worker.await_ready().address)]), file)
        file.flush()
        for command in ("doctor", "status"):
            done = subprocess.run([TOOLHOST, command, "--policy", file.name], capture_output=True, text=True, timeout=PATIENCE, check=False)
            tap.contains(done.stdout, f"usable  {WORKER}: 127.0.0.1:", command)


def test_files_on_the_gateways_disk_are_refused():
    with a_worker() as worker, gateway((worker, WORKER)):
        result = refused("1", "not_supported", Host(RIGHTS, context={"workspace": "/tmp"}))
        tap.contains(result["error"]["message"], "programs in mode remote run on the worker's machine")
        tap.contains(result["error"]["hint"], "hand files over")
        refused("1", "not_supported", network=True)
    lock = FILES.directory / "data.lock"
    lock.write_text("")
    environments = {"data": {"language": "python", "lock": str(lock)}}
    with a_worker() as worker, gateway((worker, WORKER), environments=environments):
        result = refused("1", "not_supported", packages="data")
        tap.contains(result["error"]["message"], "programs import what the workers' own interpreters have")
        tap.equal(worker.metric("runs"), 0)


def test_what_programs_import_and_read_is_the_workers():
    """By its runtime_path and read_only, as docs/scale.md has it. The first worker is the control."""
    with tempfile.TemporaryDirectory(dir=FILES.directory) as directory:
        os.chmod(directory, 0o755)
        code = f"import data_of_the_worker\nprint(data_of_the_worker.ANSWER, open('{directory}/reference').read())\n"
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", f"{directory}/data"], check=True)
        [packages] = pathlib.Path(directory).glob("data/lib/python3*/site-packages")
        (packages / "data_of_the_worker.py").write_text("ANSWER = 42\n")
        pathlib.Path(directory, "reference").write_text("is there")
        shown = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache", directory]
        with a_worker() as worker, gateway((worker, WORKER)):
            tap.contains(completed(code)["stderr"], "ModuleNotFoundError")
        with a_worker(runtime_path=[f"{directory}/data/bin", "/usr/bin", "/bin"], read_only=shown) as worker, gateway((worker, WORKER)):
            tap.equal(completed(code)["stdout"], "42 is there\n")


def test_the_mode_is_the_policys_to_allow():
    with a_worker() as worker:
        policy = policy_of([place(worker.await_ready().address)], modes={"default": "process", "allowed": ["process"]})
        provider.use_policy(policy, "remote")
        result = refused("1", "mode_not_allowed")
        tap.contains(result["error"]["hint"] + result["error"]["message"], "remote")
        provider.reset()
    tap.true(provider.use_policy({"modes": {"default": "remote", "allowed": ["remote"]}}) != OK, "a policy without workers")
    provider.reset()


def programs():
    """All that run a main.py on this machine."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and b"main.py" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def backends():
    """The gateway's ends of the connections."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "comm").read_text() == "code-execute-re\n":
                found.append(int(entry.name))
    return found


def holds(pid, canary):
    """Is it anywhere in the memory of that process?"""
    with contextlib.suppress(ProcessLookupError, FileNotFoundError), open(f"/proc/{pid}/mem", "rb") as memory:
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            begin, end = (int(part, 16) for part in line.split()[0].split("-"))
            if "r" not in line.split()[1] or line.endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")):
                continue
            with contextlib.suppress(OSError, ValueError):
                memory.seek(begin)
                if canary in memory.read(end - begin):
                    return True
    return False


def test_a_secret_reaches_only_the_worker_that_runs_it():
    if os.geteuid() != 0:
        raise tap.Skip("only root reads the memory of other processes")
    canary = b"canary-" + os.urandom(12).hex().encode()
    with a_worker() as one, second() as two, gateway((one, WORKER), (two, "worker-2.example")):
        host = Host(RIGHTS, secrets={"canary": canary}, call_id=77)
        running = Call("import os\nheld = os.environ['KEY']\nprint('x' * 1000)\n" + SLEEP, host, secrets={"KEY": "{{secret:canary}}"}).await_begun()
        other = two if one.metric("runs") == 1 else one
        tap.true(any(holds(pid, canary) for pid in programs()), "the program itself has it: the control")
        tap.true(not holds(other.process.pid, canary), "the other worker has it")
        tap.true(backends(), "the gateway has a backend")
        for process in (one.process.pid, two.process.pid, *backends()):
            tap.eventually(lambda: not holds(process, canary), "whoever has passed it on forgets it")
        provider.cancel(77)
        running.end()
        tap.true(canary.decode() not in "".join(one.lines + two.lines), "it is in a journal")


tap.run(globals())
