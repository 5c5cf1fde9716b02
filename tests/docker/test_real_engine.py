# SPDX-License-Identifier: Apache-2.0
"""What only docker mode on a real engine can show: containers, their configuration and their surroundings, and that nothing
stays of any of it. What holds in every mode is in tests/modes. By hand: scripts/with-engine tests/docker/test_real_engine.py"""
import base64
import json
import os
import pathlib
import secrets
import signal
import subprocess
import sys
import tempfile
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
from owner_labels import ended_pid, labels, start_of
from provider import OK, Host

provider = Provider()


def run(code, language="sh", policy=None, host=None, **more):
    call = lambda: provider.invoke({"language": language, "code": code, **more}, host or Host())[1]
    output = provider.with_policy(policy, call) if policy else call()
    engine.none_left()
    return output


def ended(output, status, cause, exit_code=None, signal_name=None):
    tap.equal((output["status"], output["cause"], output["exit_code"], output["signal"]),
              (status, cause, exit_code, signal_name), output)


def test_input_arguments_environment_and_files():
    code = ("import os, sys\nprint(sys.stdin.read(), sys.argv[1:], os.environ['A'], open('d/e f', 'rb').read())\n"
            "print(os.getcwd(), os.environ['HOME'], 'HOSTNAME' in os.environ, os.listdir('/tmp'))")
    host = Host(("sandbox.exec", "sandbox.exec.files"))
    output = run(code, "python", host=host, stdin="in\x01 'put'", args=["it's", "$(id)", ""], env={"A": "x\n'y' \"z\" `id`"},
                 files=[{"path": "d/e f", "content": "AP8A", "encoding": "base64"}])
    tap.equal(output["stdout"], "in\x01 'put' [\"it's\", '$(id)', ''] x\n'y' \"z\" `id` b'\\x00\\xff\\x00'\n"
                                "/home/sandbox /home/sandbox False []\n", output)


def test_much_output_comes_whole():
    output = run("[print('%099d' % i) for i in range(50000)]", "python")
    ended(output, "completed", "exit", 0)
    tap.equal(output["truncated"]["stdout_bytes"], 5000000)


def test_interpreters_are_those_of_the_image():
    """Path and version are those that toolhost doctor prints. Which languages there are depends on the image. Each takes a container."""
    provider.with_policy({"only_languages": ["python", "sh", "perl", "lua"]}, interpreters_are_those_of_the_image)


def interpreters_are_those_of_the_image():
    code, answer = provider.prepare(interpreters=True)
    tap.equal((code, answer["error"]), (OK, None))
    rows = {row["language"]: row for row in answer["interpreters"]}
    found = {row["language"] for row in provider.status()[1]["runtimes"] if row["found"]}
    tap.equal((set(rows), {"python", "sh"} <= found), (found, True))
    path, version = run("command -v python3; python3 --version")["stdout"].splitlines()
    tap.equal(rows["python"], {"language": "python", "path": path, "version": version, "preparation": None})
    tap.equal(rows["sh"]["path"], run("command -v sh")["stdout"].rstrip("\n"))
    provider.use_policy({"only_languages": ["python", "sh"], "docker": {"images": {"python": "not/there:1"}}})
    absent = provider.prepare(interpreters=True)[1]
    tap.true("python" not in {row["language"] for row in absent["interpreters"]}, absent)


def test_image_that_is_not_there():
    output = run("echo", policy={"docker": {"images": {"sh": "not/there:1"}}})
    tap.contains(output["error"]["message"], "does not have the image not/there:1")


def encodings(canary):
    """The canary itself, and the part of its base64 that does not depend on its neighbours."""
    return [canary] + [base64.b64encode(b"x" * before + canary + b"x" * 3)[4 if before else 0:-8] for before in range(3)]


def files_with(patterns):
    """The engine's files (images, layers, logs, states) that hold one of the patterns."""
    with tempfile.NamedTemporaryFile() as list_of_patterns:
        list_of_patterns.write(b"\n".join(patterns) + b"\n")
        list_of_patterns.flush()
        found = subprocess.run(["grep", "-rlaF", "--devices=skip", "-f", list_of_patterns.name, engine.DATA], capture_output=True,
                               check=False)
    return found.stdout.decode().splitlines()


def test_nothing_of_a_program_is_in_the_configuration_or_on_disk():
    canary = secrets.token_hex(16).encode()
    patterns = encodings(canary)
    host = Host(("sandbox.exec", "sandbox.exec.secrets", "sandbox.exec.files"), {"key": canary})
    seen, on_disk, text = [], [], canary.decode()

    def look():
        tap.eventually(lambda: engine.running("sleep 2"), "the program runs", 20)
        for identity in containers():
            seen.extend(ask(f"/containers/{identity}/{view}") for view in ("json", "top", "changes", "logs?stdout=1"))
        if engine.DATA:
            on_disk.append(files_with(patterns))

    thread = threading.Thread(target=look)
    thread.start()
    code = f"echo {text} >file; echo {text}; echo {text} >&2; test \"$KEY\" = {text} && grep -q {text} given && sleep 2"
    request = {"language": "sh", "code": code, "stdin": text, "secrets": {"KEY": "{{secret:key}}"}, "env": {"PLAIN": text},
               "files": [{"path": "given", "content": text}]}
    output = provider.with_policy({"secrets": {"allowed": ["*"]}}, lambda: provider.invoke(request, host))[1]
    thread.join()
    ended(output, "completed", "exit", 0)
    tap.equal(len(seen), 4, "views looked at while it ran")
    tap.true(all(pattern not in view for view in seen for pattern in patterns), "the canary is in no view")
    if not engine.DATA:
        raise tap.Skip("in none of the engine's answers; its files are not looked through: it is not the tests' own")
    tap.equal(on_disk, [[]], "files with the canary while it ran")
    tap.equal(files_with(patterns), [], "files with the canary afterwards")
    control = pathlib.Path(engine.DATA) / "control"
    for pattern in patterns:
        control.write_bytes(b"x" + pattern + b"x")
        tap.equal(files_with(patterns), [str(control)], "positive control: a file that holds it is found")
    control.unlink()


def test_the_program_s_surroundings_are_isolated():
    output = run(
        "import os, socket, ctypes\n"
        "def tried(what):\n    try: what(); return 'done'\n    except OSError as e: return os.strerror(e.errno)\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "status = dict(l.split(':', 1) for l in open('/proc/self/status'))\n"
        "print({k: status[k].strip() for k in ('CapEff', 'CapBnd', 'NoNewPrivs', 'Seccomp')}, os.getuid())\n"
        "for what in socket.socket, lambda: open('/etc/x', 'w'), lambda: open('/proc/sys/kernel/core_pattern', 'w'):\n"
        "    print(tried(what), end=' ')\nprint()\n"
        "print(libc.unshare(0x10000000), libc.mount(b'x', b'/tmp', b'tmpfs', 0, None), os.listdir('/sys'))\n"
        "print(sorted(os.listdir('/sys/class/net')) if os.path.exists('/sys/class/net') else 'no sysfs')\n", "python")
    facts, tries, calls, net = output["stdout"].splitlines()
    tap.equal(facts, "{'CapEff': '0000000000000000', 'CapBnd': '0000000000000000', 'NoNewPrivs': '1', 'Seccomp': '2'} 65534")
    tap.lacks(tries, "done")  # which error a socket gives is the engine's: older ones know no default but EPERM
    tap.equal((calls, net), ("-1 -1 []", "no sysfs"))
    tap.true(set(output["isolation"]["missing"]) <= {"user_namespace", "landlock"}, output["isolation"])


def test_leftovers_of_killed_hosts_and_backends_are_swept():
    """Host and backend are killed at one moment, so nothing cleans up before the next backend meets the engine."""
    modes.adopt_orphans()
    rounds, left = 50 if modes.LONG else 5, set()
    for number in range(rounds):
        before = set(modes.own_processes())
        argument = modes.long_time(number)
        host = gateway(f"Provider().invoke({{'language': 'sh', 'code': 'sleep {argument}'}}, Host())")
        tap.eventually(lambda: modes.sleeps(argument), "the program runs", 20)
        backends = set(modes.own_processes()) - before
        for pid in backends:
            os.kill(pid, signal.SIGSTOP)  # or it would see its host's end before its own
        host.kill()
        host.wait()
        for pid in backends:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        left |= set(containers())
        if number % 5 == 4:  # the machine is small: not fifty containers at once
            tap.equal(len(left), 5, "positive control: that many containers were left behind")
            provider.reset()  # the next backend meets the engine anew
            tap.equal(provider.invoke({"language": "sh", "code": "true"}, Host())[1]["status"], "completed")
            tap.eventually(lambda: containers() == [], f"no container is left after {number + 1} killed hosts", 20)
            left.clear()
    tap.equal((rounds % 5, left), (0, set()), "every round was swept")


def test_containers_of_dead_owners_are_swept():
    me = os.getpid()
    bodies = {"dead": labels(ended_pid(), 1), "another with its number": labels(me, 1), "living": labels(me, start_of(me)),
              "of another boot": labels(ended_pid(), 1, boot="01234567-89ab-cdef-0123-456789abcdef")}
    made = {name: json.loads(ask("/containers/create", "POST", {"Image": engine.IMAGE, "Cmd": ["true"], "Labels": owner}))["Id"]
            for name, owner in bodies.items()}
    try:
        provider.reset()  # the next backend meets the engine anew
        tap.equal(provider.invoke({"language": "sh", "code": "sleep 1"}, Host())[1]["status"], "completed")
        tap.eventually(lambda: set(containers()) == {made["living"], made["of another boot"]}, "only those that may live are left", 10)
    finally:
        for name in ("living", "of another boot"):
            ask(f"/containers/{made[name]}?force=1", "DELETE")


class Image:
    """The test image with another configuration, while the context lasts."""

    def __init__(self, **configuration):
        self.configuration = configuration

    def __enter__(self):
        made = json.loads(ask("/containers/create", "POST", {"Image": engine.IMAGE, "Cmd": ["true"]}))["Id"]
        self.name = f"code-execute-test-{secrets.token_hex(4)}:1"
        name, tag = self.name.split(":")
        status, answer = engine.answer(f"/commit?container={made}&repo={name}&tag={tag}", "POST", self.configuration)
        ask(f"/containers/{made}?force=1", "DELETE")
        tap.equal(status, 201, answer)
        return self

    def __exit__(self, *_):
        ask(f"/images/{self.name}?force=1", "DELETE")

    def has(self):
        return json.loads(ask(f"/images/{self.name}/json"))["Config"]

    def run(self, code):
        return run(code, policy={"docker": {"images": {"sh": self.name}}})


SECOND = 10**9


def test_an_image_s_own_configuration_has_no_effect():
    """It is neither refused nor followed: no health check, no root, no command of the image."""
    with Image(Healthcheck={"Test": ["CMD-SHELL", "touch /tmp/checked"], "Interval": SECOND, "Timeout": SECOND, "StartPeriod": SECOND, "Retries": 2},
               OnBuild=["RUN false"], ExposedPorts={"80/tcp": {}}, StopSignal="SIGINT", Shell=["/bin/false"], User="0:0",
               Entrypoint=["/bin/false"], Cmd=["false"], WorkingDir="/nowhere", Labels={"code-execute.run": "x"}, Env=["PATH=/usr/bin:/bin", "OWN=yes"]) as image:
        has = image.has()
        tap.equal((has["Healthcheck"]["Interval"], has["StopSignal"], has["User"]), (SECOND, "SIGINT", "0:0"), "positive control: the image's own")
        output = image.run("sleep 2.5; id -u; pwd; echo $OWN; ls /tmp")
        tap.equal((output["status"], output["stdout"]), ("completed", "65534\n/home/sandbox\nyes\n"), output["error"])


def test_image_with_volumes_is_refused_by_that_name():
    with Image(Volumes={"/data": {}}) as image:
        output = image.run("echo ran")
        tap.equal((output["status"], output["error"]["code"]), ("error", "backend_unavailable"), output)
        tap.contains(output["error"]["message"], "declares volumes")


def test_sixteen_at_once():
    outputs = [None] * 16

    def one(index):
        outputs[index] = provider.invoke({"language": "sh", "code": f"echo {index}; sleep 0.2"}, Host())[1]
    threads = [threading.Thread(target=one, args=(index,)) for index in range(len(outputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tap.equal([output["stdout"] for output in outputs], [f"{index}\n" for index in range(len(outputs))], outputs[0]["error"])
    engine.none_left()


def doctor(**docker):
    """toolhost doctor on docker mode: its exit status, and the backend's part of its report. Each language takes a container."""
    toolhost = pathlib.Path(os.environ["CODE_EXECUTE_SO"]).parents[1] / "host-shim" / "toolhost"
    policy = modes.merged(modes.POLICIES["docker"], {"only_languages": ["python", "sh"], "docker": docker})
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(policy, file)
        file.flush()
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        done = subprocess.run([toolhost, "--plugin", provider.path, "--policy", file.name, "doctor", "--json"],
                              capture_output=True, text=True, env=environment, check=False)
    status = json.loads(done.stdout)
    return done.returncode, status["mode"], next(entry for entry in status["backends"] if entry["name"] == "docker"), status


def test_doctor():
    code, mode, backend, status = doctor()
    tap.equal((code, mode, backend["available"]), (0, "docker", True), status)
    missing = {layer["name"] for layer in backend["layers"] if layer["state"] != "applied"}
    tap.true(missing <= {"user_namespace", "landlock"}, missing)
    tap.equal(containers(), [], "the trial run's container")
    code, mode, backend, status = doctor(host="unix:///nowhere/docker.sock")
    tap.equal((code, mode, backend["available"]), (1, "docker", False), status)
    tap.contains(json.dumps(status), "/nowhere/docker.sock")


tap.run(globals())
