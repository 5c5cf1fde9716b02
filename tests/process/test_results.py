# SPDX-License-Identifier: Apache-2.0
"""The exact result of every way a call can end: each case's JSON must equal tests/process/expected/CASE.json, and must fit
the manifest's output schema. What differs from run to run (ids, times, usage) is replaced by its type first.

UPDATE_EXPECTED=1 writes the files anew, to be read before they are committed.
"""
import json
import os
import pathlib
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from provider import LATER, NOT_RUN, OK, Host, Provider

EXPECTED = pathlib.Path(__file__).parent / "expected"
VOLATILE = {"run_id": "<id>", "duration_ms": "<ms>", "id": "<id>", "request_sha256": "<sha256>",
            "wall_ms": "<ms>", "user_ms": "<ms>", "system_ms": "<ms>", "peak_memory_bytes": "<bytes>",
            "outer_uid": "<uid>", "landlock_abi": "<n>", "cgroup_version": "<n>", "cgroup_memory": "<bool>",
            "cgroup_pids": "<bool>", "seccomp_instructions": "<n>"}
# Optional layers are as the machine has them; what the host lacks is the subject of other tests.
OPTIONAL_LAYERS = {"cgroup", "landlock", "proc"}
provider = Provider()


def stable(value, name=None, in_limits=False):
    if isinstance(value, dict):
        return {key: stable(member, key, name == "limits") for key, member in value.items()}
    if isinstance(value, list):
        return [stable(member) for member in value if member not in OPTIONAL_LAYERS]
    if name in VOLATILE and value is not None and not in_limits:
        return VOLATILE[name]
    return value


def check(case, code, result):
    return_code, output = result
    tap.equal(return_code, code, "return code")
    fits_schema(output)
    file = EXPECTED / f"{case}.json"
    text = json.dumps(stable(output), indent=2) + "\n"
    if os.environ.get("UPDATE_EXPECTED"):
        file.write_text(text)
    tap.equal(text, file.read_text() if file.exists() else None, f"result of {case}")
    return output


def fits_schema(output):
    schema = provider.manifest()["tools"][0]["output_schema"]
    try:
        import jsonschema
    except ImportError as missing:
        raise AssertionError("python3-jsonschema is needed (scripts/install-packages check)") from missing
    jsonschema.Draft202012Validator(schema).validate(output)


def with_policy(policy, case, sandbox=None):
    tap.equal(provider.use_policy(policy, sandbox), OK, "prepare")
    try:
        return case()
    finally:
        provider.reset()


def audited(host, *events):
    tap.equal([record["event"] for record in host.records], list(events), "audit records")


def test_completed():
    host = Host()
    check("completed", OK, provider.invoke({"language": "python", "code": "print(2**64)"}, host))
    audited(host, "start", "end")


def test_completed_with_exit_code():
    host = Host()
    check("exit_code", OK, provider.invoke({"language": "sh", "code": "echo out; echo err >&2; exit 7"}, host))
    tap.equal(host.output, {1: b"out\n", 2: b"err\n", 3: b""}, "on_output")


def test_no_capability():
    host = Host(capabilities=())
    check("no_capability", NOT_RUN, provider.invoke({"language": "sh", "code": "echo no"}, host))
    audited(host, "refused")


def test_approval_denied():
    host = Host(request_approval=lambda *_: None)
    check("approval_denied", NOT_RUN, provider.invoke({"language": "sh", "code": "echo no"}, host))
    audited(host, "refused")


def test_approval_absent():
    host = Host(request_approval=None)
    check("approval_absent", NOT_RUN, provider.invoke({"language": "sh", "code": "echo no"}, host))


def test_approval_timed_out():
    def later(_token, _request, verdict):
        verdict[0] = LATER
    with_policy({"approval": {"timeout_ms": 100}}, lambda: check(
        "approval_timed_out", NOT_RUN,
        provider.invoke({"language": "sh", "code": "echo no"}, Host(request_approval=later))))


def test_unknown_language():
    check("unknown_language", NOT_RUN, provider.invoke({"language": "cobol", "code": "x"}, Host()))


def test_invalid_input():
    check("invalid_input", NOT_RUN, provider.invoke({"language": "sh", "code": "x", "limits": {}}, Host()))


def test_runtime_missing():
    policy = {"languages": {"python": {"argv": ["python9", "{file}"]}}}
    with_policy(policy, lambda: check(
        "runtime_missing", NOT_RUN, provider.invoke({"language": "python", "code": "print(1)"}, Host())))


def test_unknown_secret():
    host = Host(("sandbox.exec", "sandbox.exec.secrets"))
    request = {"language": "sh", "code": "echo no", "secrets": {"TOKEN": "{{secret:my-api-key}}"}}
    with_policy({"secrets": {"allowed": ["my-api-key"]}},
                lambda: check("unknown_secret", NOT_RUN, provider.invoke(request, host)))
    audited(host, "refused")


def test_secret_the_policy_does_not_list():
    host = Host(("sandbox.exec", "sandbox.exec.secrets"), {"other": b"value"})
    request = {"language": "sh", "code": "echo no", "secrets": {"TOKEN": "{{secret:other}}"}}
    check("secret_not_allowed", NOT_RUN, provider.invoke(request, host))


def test_timeout_with_partial_output():
    host = Host()
    request = {"language": "python", "code": "print('before', flush=True)\nwhile True: pass", "timeout_ms": 400}
    output = check("timeout", OK, provider.invoke(request, host))
    tap.true(400 <= output["duration_ms"] < 2400, f"ended in time: {output['duration_ms']} ms")
    audited(host, "start", "end")


def limited(**limits):
    return {"limits": {name: {"default": value, "max": value} for name, value in limits.items()}}


def test_memory_limit():
    code = "print('before', flush=True)\nblocks = []\nwhile True: blocks.append(bytearray(1 << 20))"

    def case():
        result = provider.invoke({"language": "python", "code": code}, Host())
        if result[1]["cause"] == "exit" and "cgroup" in result[1]["isolation"]["missing"]:
            tap.contains(result[1]["stderr"], "MemoryError")  # without a cgroup the limit is the process's own
            raise tap.Skip("no writable cgroup here: the program got a MemoryError, seen in stderr")
        check("memory_limit", OK, result)
    with_policy(limited(memory_bytes=64 << 20), case)


def test_process_limit():
    code = ("import os, sys\nprint('before', flush=True)\n"
            "while True:\n    if os.fork() == 0:\n        import time; time.sleep(30)\n")

    def case():
        result = provider.invoke({"language": "python", "code": code}, Host())
        tap.contains(result[1]["stderr"], "BlockingIOError")
        result[1]["stderr"] = "<traceback>"
        result[1]["truncated"]["stderr_bytes"] = "<bytes>"
        tap.equal(result[1]["exit_code"], 1, "exit code")
        if "cgroup" in result[1]["isolation"]["missing"]:
            raise tap.Skip("no writable cgroup here: the limit held (RLIMIT_NPROC), but nobody counts what it refused")
        result[1]["truncated"]["stderr_bytes"] = 0
        check("process_limit", OK, result)
    with_policy(limited(processes=16), case)


def test_file_limit():
    request = {"language": "sh", "code": "echo before; exec head -c 2000000 /dev/zero > /tmp/large"}
    with_policy(limited(file_bytes=1 << 20), lambda: check("file_limit", OK, provider.invoke(request, Host())))


def test_output_limit():
    def case():
        return_code, output = provider.invoke({"language": "sh", "code": "yes 0123456789abcdef"}, Host())
        tap.true(output["truncated"]["stdout_bytes"] > 1 << 20, "more was counted than kept")
        tap.true(len(output["stdout"]) < 70000, "what came back is bounded")
        output["truncated"]["stdout_bytes"] = 0
        output["stdout"] = output["stdout"][:34]
        check("output_limit", OK, (return_code, output))
    with_policy(limited(output_total_bytes=1 << 20), case)


def test_cpu_limit():
    with_policy(limited(cpu_ms=1000), lambda: check(
        "cpu_limit", OK, provider.invoke({"language": "sh", "code": "echo before; while :; do :; done"}, Host())))


def test_killed_by_signal():
    check("killed_by_signal", OK, provider.invoke({"language": "sh", "code": "echo before; kill -SEGV $$"}, Host()))


def test_forbidden_system_call():
    # reboot(2) on x86-64 and aarch64; nothing in a program that computes needs it.
    number = {"x86_64": 169, "aarch64": 142}[os.uname().machine]
    code = f"import ctypes\nprint('before', flush=True)\nctypes.CDLL(None).syscall({number}, 0, 0, 0, 0)\nprint('after')"
    check("forbidden_syscall", OK, provider.invoke({"language": "python", "code": code}, Host()))


def test_cancelled():
    host = Host(call_id=31)
    started = threading.Event()

    def cancel():
        started.wait(20)
        provider.cancel(31)
    host.struct.on_output = type(host.struct.on_output)(lambda *_: started.set())
    thread = threading.Thread(target=cancel)
    thread.start()
    result = provider.invoke({"language": "sh", "code": "echo before; sleep 30"}, host)
    thread.join()
    check("cancelled", OK, result)
    audited(host, "start", "end")


def test_unknown_mode():
    provider.reset()
    provider.prepare(sandbox="dokcer")
    try:
        check("unknown_mode", NOT_RUN, provider.invoke({"language": "sh", "code": "echo no"}, Host()))
    finally:
        provider.reset()


def test_docker_asked_and_not_there():
    if not pathlib.Path(provider.path).with_name("code-execute-docker").exists():
        raise tap.Skip("built without the docker backend (libcurl)")
    with_policy({"docker": {"host": "unix:///nowhere/docker.sock"}}, lambda: check(
        "docker_not_there", NOT_RUN, provider.invoke({"language": "sh", "code": "echo no"}, Host())), "docker")


def test_mode_none_refused_by_policy():
    provider.reset()
    tap.equal(provider.prepare(sandbox="none")[0], NOT_RUN)
    try:
        check("mode_none_policy", NOT_RUN, provider.invoke({"language": "sh", "code": "echo no"}, Host()))
    finally:
        provider.reset()


NONE_POLICY = {"modes": {"default": "none", "allowed": ["none"]},
               "capabilities": ["sandbox.exec", "sandbox.exec.mode.none"]}


def test_mode_none_refused_without_capability():
    with_policy(NONE_POLICY, lambda: check(
        "mode_none_capability", NOT_RUN, provider.invoke({"language": "sh", "code": "echo no"}, Host())))


def test_mode_none():
    host = Host(("sandbox.exec", "sandbox.exec.mode.none"))
    with_policy(NONE_POLICY, lambda: check(
        "mode_none", OK, provider.invoke({"language": "sh", "code": "echo yes"}, host)))


def test_time_beyond_the_default_needs_a_capability():
    request = {"language": "sh", "code": "echo yes", "timeout_ms": 20000}
    check("extended_time_denied", NOT_RUN, provider.invoke(request, Host()))
    code, output = provider.invoke(request, Host(("sandbox.exec", "sandbox.exec.limits.extended")))
    tap.equal((code, output["limits"]["wall_ms"]), (OK, 20000))
    check("time_above_the_ceiling", NOT_RUN, provider.invoke({**request, "timeout_ms": 300001}, Host()))


def test_sandbox_exec_shape():
    code, output = provider.invoke({"runtime": "python3", "code": "import sys\nprint(sys.stdin.read().upper())",
                                    "stdin": "hello world"}, Host(), tool="sandbox.exec")
    tap.equal((code, output["stdout"], output["stderr"], output["exit_code"]), (OK, "HELLO WORLD\n", "", 0))
    tap.equal(output["limits"]["wall_ms"], 5000, "its own default")


def test_host_without_user_namespaces():
    """In a user namespace whose owner allows no further ones: the kernel's own refusal, without touching the machine."""
    script = ("import json, sys; sys.path.insert(0, sys.argv[1])\nfrom provider import Host, Provider\n"
              "print(json.dumps(Provider().invoke({'language': 'sh', 'code': 'echo no'}, Host())))")
    command = ("echo 0 > /proc/sys/user/max_user_namespaces && "
               f"exec {sys.executable} -c \"$0\" {pathlib.Path(__file__).parents[1] / 'support'}")
    run = subprocess.run(["unshare", "--user", "--map-root-user", "sh", "-c", command, script], capture_output=True,
                         text=True)
    if "unshare failed" in run.stderr:
        raise tap.Skip(f"this machine has no user namespaces at all: {run.stderr.strip()}")
    tap.equal(run.returncode, 0, run.stderr)
    check("no_user_namespaces", NOT_RUN, json.loads(run.stdout))


tap.run(globals())
