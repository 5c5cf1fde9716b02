# SPDX-License-Identifier: Apache-2.0
"""What a result's notes say of runs that went wrong in ways an agent cannot see, and that they say nothing of ordinary ones."""
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import modes
import tap
from modes import Provider
from provider import OK, Host

provider = Provider()
GROW = "blocks = []\nwhile True: blocks.append(bytearray(1 << 20))"


def run(language, code, **more):
    return_code, output = provider.invoke({"language": language, "code": code, **more}, Host())
    tap.equal(return_code, OK, output)
    return output


def limited(case, **limits):
    return provider.with_policy({"limits": {name: {"default": value, "max": value} for name, value in limits.items()}}, case)


def notes_of_ended(output):
    """Of a run that was ended from outside, beside one that a busy machine may add: its sandbox was late with the files."""
    if output["files_omitted"] is None:
        return output["notes"]
    lost = "files that the program has left may be missing: the sandbox ended before all of them were collected"
    tap.equal(output["notes"].count(lost), 1, output["notes"])
    return [note for note in output["notes"] if note != lost]


def kills_of_children(output):
    """Which mode tells of them: elsewhere the case skips with the reason."""
    details = output["isolation"]["details"]
    if modes.MODE == "docker":  # by the engine's events
        return
    if not details["cgroup_memory"]:
        raise tap.Skip("no writable memory cgroup here: an allocation fails, and nobody is killed")
    if details["cgroup_version"] == 2:  # memory.oom.group: the whole run was killed
        tap.equal((output["status"], output["cause"]), ("killed", "memory_limit"), output)
        raise tap.Skip("the kernel kills a run of cgroup v2 as a whole")


def test_an_ordinary_run_has_no_notes():
    for language, code in (("python", "print(2**64)"), ("sh", "echo out; echo err >&2; exit 7"), ("python", "import sys\nsys.exit(1)"),
                           ("python", "with open('x', 'w') as file:\n    file.write('kept')"), ("sh", "true"), ("python", "1 / 0"),
                           ("sh", "no-such-command"), ("python", "open('missing')")):
        tap.equal(run(language, code)["notes"], [], code)


def test_a_child_killed_for_memory():
    code = f"import subprocess, sys, time\nprint(subprocess.run([sys.executable, '-c', {GROW!r}]).returncode)"
    if modes.MODE == "docker":
        code += "\ntime.sleep(2)"  # an engine needs a moment for an event

    def case():
        output = run("python", code)
        kills_of_children(output)
        tap.equal((output["status"], output["stdout"]), ("completed", "-9\n"), output)
        tap.equal(output["notes"], ["a process of the run was killed because the memory limit of 67108864 bytes was reached; "
                                    "the program went on without it"])
    limited(case, memory_bytes=64 << 20)


def test_a_program_that_waits_for_a_child_killed_for_memory():
    code = f"import os, signal\nif os.fork() == 0:\n    {GROW.replace(chr(10), chr(10) + '    ')}\nsignal.pause()"

    def case():
        output = run("python", code, timeout_ms=5000)
        kills_of_children(output)
        tap.equal((output["status"], output["cause"]), ("timeout", "wall_timeout"), output)
        notes = notes_of_ended(output)
        tap.equal(len(notes), 1, notes)
        tap.contains(notes[0], "was killed because the memory limit of 67108864 bytes was reached")
        tap.contains(output["error"]["hint"], "use less memory")
        tap.true("timeout_ms" not in output["error"]["hint"], "more time would change nothing")
    limited(case, memory_bytes=64 << 20)


def test_a_timeout_without_a_kill_keeps_its_hint():
    output = run("sh", "sleep 30", timeout_ms=300)
    tap.equal((output["status"], notes_of_ended(output)), ("timeout", []), output)
    tap.contains(output["error"]["hint"], "timeout_ms")


def test_more_time_is_advised_only_where_it_would_be_given():
    extended = ["sandbox.exec", "sandbox.exec.limits.extended"]
    limits = {"wall_ms": {"default": 300, "max": 60000}, "sandbox_exec_wall_ms": {"default": 250, "max": 60000}}
    low = {"wall_ms": {"default": 300, "max": 400}, "sandbox_exec_wall_ms": {"default": 250, "max": 400}}
    narrow = {"policy": {"limits": {"wall_ms": 400}}}
    take = {"policy": modes.in_mode({"capabilities": ["sandbox.exec"]})}
    for policy, grants, context, asked, code_execute, alias in (
            ({"limits": limits}, extended, None, None, 60000, 60000), ({"limits": limits}, extended[:1], None, None, None, None),
            ({"limits": limits}, extended, narrow, None, 400, 400), ({"limits": limits}, extended, narrow, 400, None, None),
            ({"limits": limits}, extended, take, None, None, None), ({"limits": limits}, extended[:1], None, 100, 300, 250),
            ({"limits": low}, extended, None, 400, None, None), ({"languages": {"sh": {"limits": low}}}, extended, None, 400, None, None)):
        for tool, language, most in (("code_execute", "language", code_execute), ("sandbox.exec", "runtime", alias)):
            def case(tool=tool, language=language, most=most, grants=grants, context=context, asked=asked, policy=policy):
                request = {language: "sh", "code": "sleep 60", **({"timeout_ms": asked} if asked else {})}
                error = provider.invoke(request, Host(tuple(grants), context=context), tool)[1]["error"]
                tap.equal(error["code"], "timeout", error)
                found = re.search(r"set timeout_ms, up to (\d+)$", error["hint"])
                tap.equal(int(found[1]) if found else None, most, f"{tool}, {policy}, {grants}, {context}, {asked}: {error}")
            provider.with_policy({**policy, "capabilities": extended}, case)


NO_HOST = "this run has no network: names cannot be resolved, and no host can be reached"
NO_INSTALLATION = ("this run has no network, so pip, npm and other installers cannot download anything, whatever their options; "
                   "use what is installed, or ask the operator for more")


def test_a_name_that_is_looked_up_without_network():
    output = run("python", "import socket\nsocket.getaddrinfo('example.org', 80)")
    tap.equal((output["exit_code"], output["notes"]), (1, [NO_HOST]), output["stderr"])


def test_loopback_without_network():
    means = "socketpair()" if modes.MODE == "unprivileged" else "Unix sockets"
    output = run("python", "import socket\nserver = socket.create_server(('127.0.0.1', 0))\nprint('listens')")
    tap.contains(output["stderr"], "Address family not supported by protocol")
    tap.equal(output["notes"], ["this run has no network: there are no internet sockets, not even for localhost; "
                                f"processes of the run can talk over {means} and pipes"])
    pair = "import os, socket\na, b = socket.socketpair()\nif os.fork() == 0:\n    a.send(b'talks'); os._exit(0)\nprint(b.recv(9).decode())"
    tap.equal(run("python", pair)["stdout"], "talks\n", "what the note advises")
    if modes.MODE == "unprivileged":
        return
    code = ("import os, socket\nserver = socket.socket(socket.AF_UNIX)\nserver.bind('s')\nserver.listen()\n"
            "socket.socket(socket.AF_UNIX).connect('s')\nprint('talks')")
    tap.equal(run("python", code)["stdout"], "talks\n", "what the note advises")


def test_an_installer_that_waits_for_a_network():
    """npm prints nothing until its last attempt, a minute later; what stands in its place waits as long."""
    output = run("sh", "npm() { sleep 30; }\nnpm install left-pad", timeout_ms=400)
    tap.equal((output["status"], notes_of_ended(output)), ("timeout", [NO_INSTALLATION]), output)
    tap.contains(output["error"]["hint"], "do without it: the run has no network")
    tap.true("timeout_ms" not in output["error"]["hint"], output["error"]["hint"])


NAMES = 'echo "${PIP_RETRIES-unset}"; echo "${npm_config_fetch_retries-unset}"'


def with_network(case):
    if modes.MODE == "docker":
        raise tap.Skip("the engine of the tests has no network to give")
    if modes.MODE == "unprivileged":
        raise tap.Skip("this mode has no network to give")
    provider.with_policy({"network": {"allowed": True}}, case)


def test_installers_do_not_wait():
    """By the policy's variables, which a run with network does not have, and which a request can say otherwise."""
    tap.equal(run("sh", NAMES)["stdout"], "0\n0\n")
    tap.equal(run("sh", NAMES, env={"PIP_RETRIES": "3"})["stdout"], "3\n0\n")


def test_installers_may_wait_where_there_is_a_network():
    def case():
        host = Host(("sandbox.exec", "sandbox.exec.network"))
        tap.equal(provider.invoke({"language": "sh", "code": NAMES, "network": True}, host)[1]["stdout"], "unset\nunset\n")
    with_network(case)


def test_npm_says_at_once_that_there_is_no_network():
    if modes.MODE == "docker" or not shutil.which("npm", path="/usr/bin:/bin"):
        raise tap.Skip("no npm in the sandbox")
    host = Host(("sandbox.exec", "sandbox.exec.limits.extended"))
    output = provider.invoke({"language": "sh", "code": "npm install left-pad", "timeout_ms": 60000}, host)[1]
    tap.equal((output["status"], output["exit_code"], output["notes"]), ("completed", 1, [NO_INSTALLATION]), output)


def test_the_advice_of_an_installer():
    advice = "You can override this, at the risk of breaking your Python installation or OS, by passing --break-system-packages."
    tap.equal(run("sh", f"echo '{advice}' >&2; exit 1")["notes"], [NO_INSTALLATION])
    captured = f"import subprocess\nprint(subprocess.run(['sh', '-c', 'echo {advice}'], capture_output=True, text=True).stdout)"
    tap.equal(run("python", captured)["notes"], [NO_INSTALLATION], "what a child said, on standard output")


def test_a_missing_library_that_an_environment_has():
    environments = {name: {"language": language, "lock": "/nowhere", "description": words} for name, language, words in (
        ("data", "python", "pandas 3, ghostly-frames 2"), ("web", "javascript", "ghostly_frames"))}

    def case():
        [note] = run("python", "import ghostly_frames")["notes"]
        tap.true("an environment that a request can name in packages: data" in note and "web" not in note, note)
        [note] = run("python", "import ghostly_windows")["notes"]
        tap.true("other environments, which a request can name in packages: data" in note, note)
    if modes.MODE == "none":
        raise tap.Skip("mode none has no packages")
    provider.with_policy({"environments": environments}, case)


def test_a_file_that_is_too_large():
    def case():
        output = run("python", "open('x', 'wb').write(bytes(2 << 20))")
        tap.contains(output["stderr"], "File too large")
        tap.equal((output["cause"], output["notes"]), ("exit", ["a file in a run can have at most 1048576 bytes"]), output)
        tap.equal(run("python", "print(open('x', 'wb').write(bytes(1 << 20)))")["notes"], [])
    limited(case, file_bytes=1 << 20)


def test_python_by_another_name():
    for language in ("sh", "bash"):
        output = run(language, "PATH=/nowhere\npython -c 1")
        tap.equal((output["exit_code"], output["notes"]),
                  (127, ["there is no python command; where Python is installed, its command is python3"]), output["stderr"])
        tap.equal(run(language, "PATH=/nowhere\npython3 -c 1")["notes"], [])


def test_a_file_in_tmp():
    """Where a program has a directory of its own, and not that one."""
    if modes.MODE != "unprivileged":
        tap.equal(run("sh", "echo x > /tmp/x; cat /tmp/x")["stdout"], "x\n")
        return
    for language, code in (("python", "open('/tmp/x', 'w')"), ("sh", "echo x > /tmp/x"), ("bash", "echo x > /tmp/x")):
        output = run(language, code)
        tap.equal(len(output["notes"]), 1, output)
        tap.contains(output["notes"][0], "the variable TMPDIR")
    tap.equal(run("sh", "echo x > $TMPDIR/x; cat $TMPDIR/x")["stdout"], "x\n", "what the note advises")


def test_words_that_are_a_secret_are_not_looked_at():
    """The rules see what the agent sees: the output after redaction."""
    def case():
        host = Host(("sandbox.exec", "sandbox.exec.secrets"), {"key": b"name resolution"})
        output = provider.invoke({"language": "sh", "code": "echo Temporary failure in $KEY >&2", "secrets": {"KEY": "{{secret:key}}"}}, host)[1]
        tap.equal(output["status"], "completed", output)
        tap.true(NO_HOST not in output["notes"], output["notes"])
    provider.with_policy({"secrets": {"allowed": ["key"]}}, case)
    tap.equal(run("sh", "echo Temporary failure in name resolution >&2")["notes"], [NO_HOST], "the same words, and no secret")


def test_with_network_nothing_is_said_of_it():
    def case():
        host = Host(("sandbox.exec", "sandbox.exec.network"))
        code = "echo Temporary failure in name resolution >&2; echo EAFNOSUPPORT --break-system-packages; exit 1"
        output = provider.invoke({"language": "sh", "code": code, "network": True}, host)[1]
        tap.equal((output["exit_code"], len(output["notes"])), (1, 1), output)
        tap.contains(output["notes"][0], "the program has the network of ")
    with_network(case)


# The text of notes and hints, made of what was printed and of the policy.
OF_THE_GATEWAY = ["more_time_is_advised_only_where_it_would_be_given", "an_installer_that_waits_for_a_network", "the_advice_of_an_installer",
                  "words_that_are_a_secret_are_not_looked_at"]
modes.run_in_every_mode(globals(), OF_THE_GATEWAY)
