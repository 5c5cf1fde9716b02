# SPDX-License-Identifier: Apache-2.0
"""The exact result of every way a call can end (see golden.py), in each mode."""
import json
import os
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import golden
import modes
import tap
from modes import Provider
from provider import ALLOW, LATER, NOT_RUN, OK, Host

provider = Provider()
check = golden.checker(provider, __file__)
SHIPPED = {"limits": {name: {"default": golden.SHIPPED_MS} for name in ("wall_ms", "cpu_ms")}}  # where a case is about time


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


def test_environment_is_as_it_was_given():
    """Also where a variable has the name of one of ours, or of one that a shell reads."""
    given = {"ce_trial": "1", "ce_end": "x", "ce_status": "9", "ce_waits": "1", "IFS": "=a1", "PS4": "x", "TEXT": "it's $(id) `id`\n\\", "EMPTY": ""}
    programs = {"sh": "cat /proc/$$/environ",
                "python": "import os, sys\nsys.stdout.write('\\0'.join(f'{name}={value}' for name, value in os.environ.items()))"}
    if modes.MODE == "unprivileged":
        del programs["sh"]  # without /proc it has no way to see all of them
    for language, code in programs.items():
        output = provider.invoke({"language": language, "code": code, "env": given}, Host())[1]
        tap.equal(output["status"], "completed", output["error"])
        shown = dict(entry.split("=", 1) for entry in output["stdout"].split("\0") if entry)
        tap.equal({name: shown.get(name) for name in given}, given, language)


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
    provider.with_policy({"approval": {"timeout_ms": 100}}, lambda: check(
        "approval_timed_out", NOT_RUN,
        provider.invoke({"language": "sh", "code": "echo no"}, Host(request_approval=later))))


def test_unknown_language():
    check("unknown_language", NOT_RUN, provider.invoke({"language": "cobol", "code": "x"}, Host()))


def test_invalid_input():
    check("invalid_input", NOT_RUN, provider.invoke({"language": "sh", "code": "x", "limits": {}}, Host()))


def test_runtime_missing():
    policy = {"languages": {"python": {"argv": ["python9", "{file}"]}}}
    provider.with_policy(policy, lambda: check(
        "runtime_missing", NOT_RUN, provider.invoke({"language": "python", "code": "print(1)"}, Host())))


def test_unknown_secret():
    host = Host(("sandbox.exec", "sandbox.exec.secrets"))
    request = {"language": "sh", "code": "echo no", "secrets": {"TOKEN": "{{secret:my-api-key}}"}}
    provider.with_policy({"secrets": {"allowed": ["my-api-key"]}},
                lambda: check("unknown_secret", NOT_RUN, provider.invoke(request, host)))
    audited(host, "refused")


def test_secret_the_policy_does_not_list():
    host = Host(("sandbox.exec", "sandbox.exec.secrets"), {"other": b"value"})
    request = {"language": "sh", "code": "echo no", "secrets": {"TOKEN": "{{secret:other}}"}}
    check("secret_not_allowed", NOT_RUN, provider.invoke(request, host))


def lost_files(output):
    """A sandbox has two seconds to report that a killed tree is gone. On a busy machine it can be later, and the files are lost."""
    return output["files_omitted"] is not None and output["files_omitted"]["reason"] == "killed"


def once_collected(run, attempts=5):
    """Calls run() again while files were lost, and returns its tuple. The tuple ends with what tool_invoke() gave."""
    for _ in range(attempts):
        *others, answer = run()
        if not lost_files(answer[1]):
            break
    return *others, answer


def test_timeout_with_partial_output():
    limit, code, output = 200, OK, {"stdout": "", "files_omitted": None}
    while (not output["stdout"] or lost_files(output)) and limit < golden.SHIPPED_MS / 2:  # a slow machine's shell may not have started
        limit, host = 2 * limit, Host()
        request = {"language": "sh", "code": "echo before\nwhile :; do :; done", "timeout_ms": limit}
        code, output = provider.with_policy(SHIPPED, lambda: provider.invoke(request, host))
    tap.true(limit <= output["duration_ms"] < limit + 2000 * tap.SLOW, f"ended in time: {output['duration_ms']} ms")
    tap.equal(output["limits"]["wall_ms"], limit)
    output["limits"]["wall_ms"] = 400
    output["error"]["message"] = output["error"]["message"].replace(f" {limit} ms", " 400 ms")
    check("timeout", OK, (code, output))
    audited(host, "start", "end")


def limited(**limits):
    others = modes.ALL_THE_TIME["limits"] if tap.SLOW > 1 else {}
    return {"limits": {**others, **{name: {"default": value, "max": value} for name, value in limits.items()}}}


def test_memory_limit():
    code = "print('before', flush=True)\nblocks = []\nwhile True: blocks.append(bytearray(1 << 20))"

    def case():
        result = provider.invoke({"language": "python", "code": code}, Host())
        without_cgroup = "cgroup" in result[1]["isolation"]["missing"]
        if without_cgroup and (modes.MODE != "unprivileged" or result[1]["status"] == "completed"):  # the limit is the process's own, and it got an error for it
            tap.equal((result[1]["status"], result[1]["cause"], result[1]["exit_code"]), ("completed", "memory_limit", 1), result)
            return
        check("memory_limit", OK, result)
    provider.with_policy(limited(memory_bytes=64 << 20), case)


def test_memory_that_is_asked_for():
    """Within the policy's maximum: a run gets so much, is shown with it, and ends for it."""
    code = "block = bytearray(96 << 20)\nblock[::4096] = b'x' * len(block[::4096])\nprint(len(block))"
    asked, seen = 192 << 20, []

    def approve(_token, request, verdict):
        seen.append(json.loads(request))
        verdict[0] = ALLOW

    def run(memory_bytes):
        host = Host(("sandbox.exec", "sandbox.exec.limits.extended"), request_approval=approve)
        return provider.invoke({"language": "python", "code": code, "memory_bytes": memory_bytes}, host)

    def case():
        status, result = run(asked)
        tap.equal((status, result["error"], result["stdout"], result["limits"]["memory_bytes"]), (OK, None, f"{96 << 20}\n", asked))
        tap.equal((seen[-1]["limits"]["memory_bytes"], seen[-1]["arguments"]["memory_bytes"]), (asked, asked), "the approver sees it")
        for less in (None, 48 << 20):
            status, result = run(less)
            if modes.MODE == "unprivileged" and "MemoryError" in result["stderr"]:  # what it did not get has no part in its peak
                tap.equal((result["isolation"]["missing"].count("cgroup"), result["exit_code"]), (1, 1), result)
                continue
            tap.equal((status, result["cause"], result["stdout"]), (OK, "memory_limit", ""), f"{less}: {result['error']}")
            tap.equal(result["limits"]["memory_bytes"], less or 64 << 20)
            if result["error"]:  # else the limit is the process's own
                tap.equal(result["error"]["hint"], f"process the data in smaller pieces, or set memory_bytes, up to {asked}")
        count = len(seen)
        status, result = run(asked + 1)
        tap.equal((status, result["error"]["code"], len(seen)), (NOT_RUN, "limit_too_high", count), "nobody is asked")
    provider.with_policy({"limits": {"memory_bytes": {"default": 64 << 20, "max": asked}}}, case)


def ended_by_supervision(result, limit, cause):
    """Where that limit is counted, and not the kernel's: the program meets no error, and the run ends."""
    code, output = result
    if limit not in output["isolation"]["details"].get("supervised", ()):
        return False
    golden.fits_schema(provider, output)
    tap.equal((code, output["status"], output["cause"], output["signal"], output["stdout"], output["error"]["code"]),
              (OK, "killed", cause, "SIGKILL", "before\n", cause), output)
    return True


def test_process_limit():
    code = ("import os, sys\nprint('before', flush=True)\n"
            "while True:\n    if os.fork() == 0:\n        import time; time.sleep(30)\n")

    def case():
        result = provider.invoke({"language": "python", "code": code}, Host())
        if ended_by_supervision(result, "processes", "process_limit"):
            return
        tap.contains(result[1]["stderr"], "BlockingIOError")
        result[1]["stderr"] = "<traceback>"
        result[1]["truncated"]["stderr_bytes"] = "<bytes>"
        tap.equal(result[1]["exit_code"], 1, "exit code")
        if "cgroup" in result[1]["isolation"]["missing"]:
            raise tap.Skip("no writable cgroup here: the limit held (RLIMIT_NPROC), but nobody counts what it refused")
        result[1]["truncated"]["stderr_bytes"] = 0
        check("process_limit", OK, result)
    provider.with_policy(limited(processes=16), case)


def test_file_limit():
    request = {"language": "sh", "code": "echo before; exec head -c 2000000 /dev/zero > $TMPDIR/large"}
    provider.with_policy(limited(file_bytes=1 << 20), lambda: check("file_limit", OK, provider.invoke(request, Host())))


FILL = ("import os\nprint('before', flush=True)\nplace = os.environ['TMPDIR']; block = bytes(1 << 20)\nfor number in range(1000):\n"
        "    with open(f'{place}/{number}', 'wb', buffering=0) as file: WRITE\n")
WAIT = "import time; time.sleep(60)\n"  # it has not met the limit


def test_disk_full():
    def case():
        result = provider.invoke({"language": "python", "code": FILL.replace("WRITE", "file.write(block[:999_999])") + WAIT}, Host())
        if ended_by_supervision(result, "scratch_bytes", "disk_full"):
            return
        tap.contains(result[1]["stderr"], "No space left")
        result[1]["stderr"] = "<traceback>"
        result[1]["truncated"]["stderr_bytes"] = 0
        check("disk_full", OK, result)
    provider.with_policy(limited(scratch_bytes=4 << 20), case)


def test_files_used_up():
    policy = limited(scratch_inodes=64)
    result = provider.with_policy(policy, lambda: provider.invoke({"language": "python", "code": FILL.replace("WRITE", "pass") + WAIT}, Host()))
    if ended_by_supervision(result, "scratch_inodes", "disk_full"):
        return
    output = result[1]
    tap.contains(output["stderr"], "No space left")
    tap.equal((output["status"], output["cause"]), ("completed", "exit" if modes.MODE == "docker" else "disk_full"), output)


def test_output_limit():
    def case():
        [(return_code, output)] = once_collected(lambda: [provider.invoke({"language": "sh", "code": "yes 0123456789abcdef"}, Host())])
        tap.true(output["truncated"]["stdout_bytes"] > 1 << 20, "more was counted than kept")
        tap.true(len(output["stdout"]) < 70000, "what came back is bounded")
        output["truncated"]["stdout_bytes"] = 0
        output["stdout"] = output["stdout"][:34]
        check("output_limit", OK, (return_code, output))
    provider.with_policy(limited(output_total_bytes=1 << 20), case)


def test_cpu_limit():
    provider.with_policy(limited(cpu_ms=1000), lambda: check(
        "cpu_limit", OK, provider.invoke({"language": "sh", "code": "echo before; while :; do :; done"}, Host())))


def test_killed_by_signal():
    check("killed_by_signal", OK, provider.invoke({"language": "sh", "code": "echo before; kill -SEGV $$"}, Host()))


def answered_outside():
    """The profile of a container around all of this refuses the call ahead of our filter, which then has nothing to tell."""
    if "reboot" in os.environ.get("REFUSED_BY_THE_CONTAINER", ""):
        raise tap.Skip("the container's own profile answers the call")


def test_forbidden_system_call():
    answered_outside()
    # reboot(2) on x86-64 and aarch64; nothing in a program that computes needs it.
    number = {"x86_64": 169, "aarch64": 142}[os.uname().machine]
    code = f"import ctypes\nprint('before', flush=True)\nctypes.CDLL(None).syscall({number}, 0, 0, 0, 0)\nprint('after')"
    check("forbidden_syscall", OK, provider.invoke({"language": "python", "code": code}, Host()))


def test_forbidden_system_call_of_a_child():
    answered_outside()
    number = {"x86_64": 169, "aarch64": 142}[os.uname().machine]
    code = (f"import ctypes, os\npid = os.fork()\nif pid == 0:\n    ctypes.CDLL(None).syscall({number}, 0, 0, 0, 0)\n    os._exit(0)\n"
            "status = os.waitpid(pid, 0)[1]\nprint(os.WIFSIGNALED(status) and os.WTERMSIG(status))")
    output = provider.invoke({"language": "python", "code": code}, Host())[1]
    if modes.MODE == "docker":  # an engine's filter kills who made the call, and tells nobody
        tap.equal((output["status"], output["stdout"]), ("completed", "31\n"), output)
    else:
        tap.equal((output["cause"], output["error"]["message"]), ("forbidden_syscall", "forbidden system call: reboot"), output)


def test_usage_is_of_what_has_run():
    """Of a child, too, and of one whose memory the program has given back."""
    code = "import os\nif os.fork():\n    os.wait()\nelse:\n    sum(range(10_000_000)); things = bytearray(64 << 20); os._exit(0)\n"
    before = provider.invoke({"language": "python", "code": "print(1)"}, Host())[1]["usage"]
    output = provider.invoke({"language": "python", "code": code}, Host())[1]
    used, limit = output["usage"], output["limits"]["memory_bytes"]
    tap.true(before["user_ms"] + 20 < used["user_ms"] < 60000 * tap.SLOW, f"{before} {used} {output['error']}")
    tap.true(0 < before["peak_memory_bytes"] < 64 << 20 <= used["peak_memory_bytes"] <= limit, f"{before} {used}")


def cancelled():
    host = Host(call_id=31)
    started = threading.Event()

    def cancel():
        started.wait(20 * tap.SLOW)
        provider.cancel(31)
    host.struct.on_output = type(host.struct.on_output)(lambda *_: started.set())
    thread = threading.Thread(target=cancel)
    thread.start()
    result = provider.invoke({"language": "sh", "code": "echo before; sleep 30"}, host)
    thread.join()
    return host, result


def test_cancelled():
    host, result = once_collected(cancelled)
    check("cancelled", OK, result)
    audited(host, "start", "end")


def test_time_beyond_the_default_needs_a_capability():
    request = {"language": "sh", "code": "echo yes", "timeout_ms": 20000}
    provider.with_policy(SHIPPED, lambda: check("extended_time_denied", NOT_RUN, provider.invoke(request, Host())))
    code, output = provider.invoke(request, Host(("sandbox.exec", "sandbox.exec.limits.extended")))
    tap.equal((code, output["limits"]["wall_ms"]), (OK, 20000))
    provider.with_policy(SHIPPED, lambda: check("time_above_the_ceiling", NOT_RUN,
                                                provider.invoke({**request, "timeout_ms": 300001}, Host())))


def test_sandbox_exec_shape():
    code, output = provider.invoke({"runtime": "python3", "code": "import sys\nprint(sys.stdin.read().upper())",
                                    "stdin": "hello world"}, Host(), tool="sandbox.exec")
    tap.equal((code, output["stdout"], output["stderr"], output["exit_code"]), (OK, "HELLO WORLD\n", "", 0))
    tap.equal(output["limits"]["wall_ms"], 5000, "its own default")


tap.run(globals())
