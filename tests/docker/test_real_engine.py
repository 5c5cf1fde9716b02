# SPDX-License-Identifier: Apache-2.0
"""Docker mode on a real engine: DOCKER_HOST with the image CODE_EXECUTE_TEST_IMAGE in it, else the suite starts an engine and
builds the image by itself, which takes root. Skipped, with the reason, where neither can be had."""
import http.client
import json
import os
import pathlib
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import tap
from provider import OK, Host, Provider

IMAGE = os.environ.get("CODE_EXECUTE_TEST_IMAGE", "code-execute/sandbox:test")
LANGUAGES = ("python", "sh", "perl", "bash")


def skip_all(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def own_engine():
    """Its own dockerd in a directory of its own; the caller stops it."""
    if os.geteuid() != 0:
        skip_all("no DOCKER_HOST, and an engine of its own takes root")
    directory = tempfile.mkdtemp(prefix="ce-engine-")
    started = subprocess.run([ROOT / "scripts" / "test-engine", "start", directory], capture_output=True, text=True)
    host = started.stdout.strip().removeprefix("DOCKER_HOST=")
    if started.returncode == 0:
        built = subprocess.run([ROOT / "policies" / "image" / "build", "--variant", "minimal"], capture_output=True, text=True,
                               env={**os.environ, "DOCKER_HOST": host})
        if built.returncode == 0:
            return host, directory
        started = built
        subprocess.run([ROOT / "scripts" / "test-engine", "stop", directory], check=False)
    skip_all(f"no engine to be had here: {started.stderr.strip().splitlines()[-1:]}")
    return None


HOST, OWN = (os.environ["DOCKER_HOST"], None) if os.environ.get("DOCKER_HOST") else own_engine()
POLICY = {"modes": {"default": "docker", "allowed": ["docker"]}, "approval": {"default": "allow"},
          "capabilities": ["sandbox.exec", "sandbox.exec.secrets", "sandbox.exec.files"], "secrets": {"allowed": ["*"]},
          "docker": {"host": HOST, "images": {language: IMAGE for language in LANGUAGES}}}
provider = Provider()


class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(HOST.removeprefix("unix://"))


def ask(path, method="GET"):
    connection = Connection("engine")
    connection.request(method, "/v1.41" + path)
    return connection.getresponse().read()


def containers():
    return [entry["Id"] for entry in json.loads(ask("/containers/json?all=1")) if "code-execute.boot" in entry["Labels"]]


def running(command):
    """Does a container's process have that command line? One that has gone since the list has none."""
    return any(command in ask(f"/containers/{identity}/top") for identity in containers())


def run(code, language="sh", policy=None, host=None, **more):
    tap.equal(provider.use_policy({**POLICY, **(policy or {})}), OK, "prepare")
    try:
        output = provider.invoke({"language": language, "code": code, **more}, host or Host())[1]
    finally:
        provider.reset()
    tap.equal(containers(), [], "containers left")
    return output


def ended(output, status, cause, exit_code=None, signal_name=None):
    tap.equal((output["status"], output["cause"], output["exit_code"], output["signal"]),
              (status, cause, exit_code, signal_name), output)


def test_output_and_exit_code():
    output = run("echo out; echo err >&2; exit 7")
    ended(output, "completed", "exit", 7)
    tap.equal((output["stdout"], output["stderr"], output["mode"]), ("out\n", "err\n", "docker"))
    tap.true(set(output["isolation"]["missing"]) <= {"user_namespace", "landlock"}, output["isolation"])


def test_input_arguments_environment_and_files():
    code = ("import os, sys\nprint(sys.stdin.read(), sys.argv[1:], os.environ['A'], open('d/e f', 'rb').read())\n"
            "print(os.getcwd(), os.environ['HOME'], 'HOSTNAME' in os.environ, os.listdir('/tmp'))")
    host = Host(("sandbox.exec", "sandbox.exec.files"))
    output = run(code, "python", host=host, stdin="in\x01 'put'", args=["it's", "$(id)", ""], env={"A": "x\n'y' \"z\" `id`"},
                 files=[{"path": "d/e f", "content": "AP8A", "encoding": "base64"}])
    tap.equal(output["stdout"], "in\x01 'put' [\"it's\", '$(id)', ''] x\n'y' \"z\" `id` b'\\x00\\xff\\x00'\n"
                                "/home/sandbox /home/sandbox False []\n", output)


def test_output_without_an_end_is_cut():
    output = run("yes 0123456789", policy={"limits": {"output_total_bytes": {"default": 1 << 20, "max": 1 << 20}}})
    ended(output, "killed", "output_limit", None, "SIGKILL")
    tap.true(output["truncated"]["stdout"] and output["truncated"]["stdout_bytes"] >= 1 << 20, output["truncated"])


def test_much_output_comes_whole():
    output = run("print('x' * 99 + chr(10), end='') if 0 else [print('%099d' % i) for i in range(50000)]", "python")
    ended(output, "completed", "exit", 0)
    tap.equal(output["truncated"]["stdout_bytes"], 5000000)


def test_timeout_gives_partial_output():
    output = run("echo before; sleep 60", timeout_ms=500)
    ended(output, "timeout", "wall_timeout", None, "SIGKILL")
    tap.equal(output["stdout"], "before\n")


def test_limits():
    memory = {"limits": {"memory_bytes": {"default": 64 << 20, "max": 64 << 20}}}
    ended(run("b = []\nwhile True: b.append(bytearray(1 << 20))", "python", memory), "killed", "memory_limit", None, "SIGKILL")
    ended(run("kill -SEGV $$"), "killed", "signal", None, "SIGSEGV")
    cpu = {"limits": {"cpu_ms": {"default": 1000, "max": 1000}}}
    ended(run("while :; do :; done", policy=cpu), "killed", "cpu_limit", None, "SIGXCPU")
    file = {"limits": {"file_bytes": {"default": 1 << 20, "max": 1 << 20}}}
    ended(run("exec head -c 2000000 /dev/zero >/tmp/large", policy=file), "killed", "file_limit", None, "SIGXFSZ")


def test_cancel():
    host = Host(call_id=77)
    tap.equal(provider.use_policy(POLICY), OK)
    started = threading.Event()
    host.struct.on_output = type(host.struct.on_output)(lambda *_: started.set())
    thread = threading.Thread(target=lambda: (started.wait(20), provider.cancel(77)))
    thread.start()
    output = provider.invoke({"language": "sh", "code": "echo before; sleep 60"}, host)[1]
    thread.join()
    provider.reset()
    ended(output, "cancelled", "cancelled", None, "SIGKILL")
    tap.equal((output["stdout"], containers()), ("before\n", []))


def test_missing_runtime_and_image():
    output = run("print 1", "perl", {"languages": {"perl": {"argv": ["perl9", "{file}"]}}})
    tap.equal(output["error"]["code"], "runtime_not_found")
    output = run("echo", policy={"docker": {"host": HOST, "images": {"sh": "not/there:1"}}})
    tap.contains(output["error"]["message"], "does not have the image not/there:1")


def test_nothing_of_a_program_is_in_the_configuration():
    canary = secrets.token_hex(16)
    host = Host(("sandbox.exec", "sandbox.exec.secrets"), {"key": canary.encode()})
    seen = []
    tap.equal(provider.use_policy(POLICY), OK)

    def look():
        tap.eventually(lambda: running(b"sleep 2"), "the program runs", 20)
        for identity in containers():
            seen.extend(ask(f"/containers/{identity}/{view}") for view in ("json", "top", "changes", "logs?stdout=1"))

    thread = threading.Thread(target=look)
    thread.start()
    output = provider.invoke({"language": "sh", "code": f"test \"$KEY\" = {canary} && sleep 2", "stdin": canary,
                              "secrets": {"KEY": "{{secret:key}}"}}, host)[1]
    thread.join()
    provider.reset()
    ended(output, "completed", "exit", 0)
    tap.equal(len(seen), 4, "views looked at while it ran")
    tap.true(all(canary.encode() not in view for view in seen), "the canary is in no view")


def test_what_surrounds_the_program():
    output = run(
        "import os, socket, ctypes\n"
        "def tried(what):\n    try: what(); return 'done'\n    except OSError as e: return os.strerror(e.errno)\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "status = dict(l.split(':', 1) for l in open('/proc/self/status'))\n"
        "print({k: status[k].strip() for k in ('CapEff', 'CapBnd', 'NoNewPrivs', 'Seccomp')}, os.getuid())\n"
        "print(tried(lambda: socket.socket()), tried(lambda: open('/etc/x', 'w')), tried(lambda: open('/proc/sys/kernel/core_pattern', 'w')))\n"
        "print(libc.unshare(0x10000000), libc.mount(b'x', b'/tmp', b'tmpfs', 0, None), os.listdir('/sys'))\n"
        "print(sorted(os.listdir('/sys/class/net')) if os.path.exists('/sys/class/net') else 'no sysfs')\n", "python")
    if "ModuleNotFoundError" in output["stderr"]:
        raise tap.Skip(f"the image's python is too small: {output['stderr'].splitlines()[-1]}")
    facts, tries, calls, net = output["stdout"].splitlines()
    tap.equal(facts, "{'CapEff': '0000000000000000', 'CapBnd': '0000000000000000', 'NoNewPrivs': '1', 'Seccomp': '2'} 65534")
    tap.lacks(tries, "done")  # which error a socket gives is the engine's: older ones know no default but EPERM
    tap.equal((calls, net), ("-1 -1 []", "no sysfs"))


def wait_until_gone(seconds):
    tap.eventually(lambda: containers() == [], "no container is left", seconds)


def test_killed_host_leaves_nothing():
    script = ("import json, sys\nfrom provider import Host, Provider\np = Provider()\n"
              "p.use_policy(json.loads(sys.argv[1]))\np.invoke({'language': 'sh', 'code': 'echo x; sleep 60'}, Host())")
    for _ in range(3):
        host = subprocess.Popen([sys.executable, "-c", script, json.dumps(POLICY)])
        tap.eventually(lambda: running(b"sleep 60"), "the program runs", 20)
        host.send_signal(signal.SIGKILL)
        host.wait()
        wait_until_gone(10)


def test_containers_of_dead_owners_are_swept():
    labels = {"code-execute.boot": pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
              "code-execute.space": os.readlink("/proc/self/ns/pid"), "code-execute.start": "1", "code-execute.pid": "4194000"}
    bodies = {"dead": labels, "living": {**labels, "code-execute.pid": str(os.getpid()), "code-execute.start":
              pathlib.Path("/proc/self/stat").read_text().rsplit(")")[-1].split()[19]}}
    made = {}
    for name, owner in bodies.items():
        connection = Connection("engine")
        connection.request("POST", "/v1.41/containers/create", json.dumps({"Image": IMAGE, "Cmd": ["true"], "Labels": owner}),
                           {"Content-Type": "application/json"})
        made[name] = json.loads(connection.getresponse().read())["Id"]
    try:
        tap.equal(provider.use_policy(POLICY), OK)
        tap.equal(provider.invoke({"language": "sh", "code": "sleep 1"}, Host())[1]["status"], "completed")
        tap.eventually(lambda: containers() == [made["living"]], "only the living owner's is left", 10)
    finally:
        provider.reset()
        ask(f"/containers/{made['living']}?force=1", "DELETE")


def test_sixteen_at_once():
    tap.equal(provider.use_policy(POLICY), OK)
    outputs = [None] * 16

    def one(index):
        outputs[index] = provider.invoke({"language": "sh", "code": f"echo {index}; sleep 0.2"}, Host())[1]
    threads = [threading.Thread(target=one, args=(index,)) for index in range(len(outputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    provider.reset()
    tap.equal([output["stdout"] for output in outputs], [f"{index}\n" for index in range(len(outputs))], outputs[0]["error"])
    tap.equal(containers(), [])


try:
    tap.run(globals())
finally:
    if OWN:
        subprocess.run([ROOT / "scripts" / "test-engine", "stop", OWN], check=False)
