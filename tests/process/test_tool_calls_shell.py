# SPDX-License-Identifier: Apache-2.0
"""Calls of the gateway's tools by the command `tool` of a shell's program: what it prints, how it exits, and how several of them share two
descriptors, however each of them ends. test_tool_calls.py has the calls themselves."""
import base64
import json
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from modes import MODE, Provider, adopt_orphans, built, merged, run_cases
from provider import OK, Host
from tool_host import DENY, AtOnce, Held, ToolHost, add_one, text, value
from tool_host import tool as definition

AMPLE_MS = 60000
SHELLS = ("sh", "bash") if MODE == "process" else ("bash",)  # the other one has the cases that name none
PLACE = {"process": "/run/code-execute", "unprivileged": f"{built(os.environ['CODE_EXECUTE_SO'])}/interpreter",
         "docker": "/tmp/.code-execute-bin"}[MODE]  # of the command
INSTALLERS = {"process": f"{PLACE}/installers", "unprivileged": f"{PLACE}/installers", "docker": "/.code-execute-installers"}[MODE]
LONG = "A" * ((4 << 20) - 1024)
adopt_orphans()
provider = Provider()


def use(tools=None, **more):
    policy = {"tools": {"allowed": ["*"], "rate_per_s": 100000, "max_calls": 5000, **(tools or {})}, "capabilities": ["sandbox.exec", "sandbox.exec.tools"],
              "limits": {"wall_ms": {"default": AMPLE_MS, "max": AMPLE_MS}, "cpu_ms": {"default": AMPLE_MS, "max": AMPLE_MS}}}
    tap.equal(provider.change_policy(merged(policy, more)), OK)


def run(code, serve=add_one, language="sh", tools=("add",), request=None, **host):
    made = ToolHost(provider, serve, tools=tools, **host)
    wanted = [entry["name"] if isinstance(entry, dict) else entry for entry in tools]
    return made, provider.invoke({"language": language, "code": code, "tools": wanted, **(request or {})}, made)[1]


def printed(code, serve=add_one, exit_code=0, stderr="", **more):
    """What a program prints that completes."""
    host, result = run(code, serve, **more)
    tap.equal((result["status"], result["exit_code"], result["stderr"]), ("completed", exit_code, stderr), result)
    return result["stdout"]


def answers(**replies):
    """Each tool has its answer: what the host says, a verdict, or a function."""
    def serve(host, token, call):
        reply = replies[call["name"]]
        if callable(reply):
            return reply(host, token, call)
        if isinstance(reply, int):
            return reply
        host.reply(token, reply)
    return serve


def test_each_form_of_answer():
    use()
    image = base64.b64encode(bytes(range(256))).decode()
    replies = {"rows": value({"rows": [1, "ä\n"]}), "nothing": value(None), "said": text("two\nlines"), "image": {"content": [{"type": "image", "mimeType": "image/png", "data": image}]},
               "both": {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "empty": text("")}
    for language in SHELLS:
        out = printed("tool rows; tool nothing; tool said; echo; tool image | od -An -v -tx1 | tr -d ' \\n'; echo; tool both; tool empty", answers(**replies), language=language, tools=tuple(replies))
        lines = out.split("\n")
        tap.equal(json.loads(lines[0]), {"rows": [1, "ä\n"]})
        tap.equal(lines[1:5], ["null", "two", "lines", bytes(range(256)).hex()])
        tap.equal(json.loads(lines[5]), [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])
        tap.equal(lines[6:], [""])


def test_arguments():
    use()
    asked = []

    def serve(host, token, call):
        asked.append(call["arguments"])
        host.reply(token, value(len(str(call["arguments"].get("text", "")))))
    length = (1 << 20) - len('{"text":""}')
    code = f"""
        tool add; tool add '{{"x": 1, "text": "a b"}}'; echo '{{"x": 2}}' | tool add -; tool -- add '{{}}'; tool add - </dev/null || echo $?
        long() {{ printf '{{"text":"'; head -c $1 /dev/zero | tr '\\0' y; printf '"}}'; }}
        long 3000 | tool add -; long {length} | tool add -; long {length + 1} | tool add - || echo $?; tool add '{{"x": 3}}'
    """
    out = printed(code, serve, stderr="tool: add: invalid_arguments: arguments: the text ends too early\ntool: add: limit_exceeded: the arguments have more than 1 MiB\n")
    tap.equal(out.split(), ["0", "3", "0", "0", "2", "3000", str(length), "69", "0"])
    tap.equal([arguments.get("x") for arguments in asked], [None, 1, 2, None, None, None, 3])


def test_errors_and_exit_statuses():
    use(tools={"call_timeout_ms": 300, "max_calls": 12})
    bad = {"content": [{"type": "text", "text": "no\nsuch table"}], "is_error": True}
    replies = {"bad": bad, "denied": DENY, "late": lambda *_: None, "junk": lambda host, token, call: host.reply(token, b"nonsense"), "fine": value(1)}
    cases = [("bad", 1, "tool_error"), ("nosuch", 2, "unknown_tool"), ("fine '{'", 2, "invalid_arguments"), ("fine '[]'", 2, "invalid_arguments"),
             ("fine '{\"x\": \"a\"}'", 2, "invalid_arguments"), ("fine '{\"x\": 1, \"x\": 2}'", 2, "invalid_arguments"), ("fine \"$(printf '{\"\\377\": 1}')\"", 2, "invalid_arguments"),
             ("denied", 77, "host_denied"), ("late", 75, "timeout"), ("junk", 75, "host_failed"), ("fine", 0, None), ("fine", 0, None), ("fine", 69, "limit_exceeded"), (f"{'n' * 129}", 2, "unknown_tool")]
    for language in SHELLS:
        _, result = run("\n".join(f"tool {words}; echo $? >&2" for words, _, _ in cases), answers(**replies), language=language, tools=tuple(replies))
        tap.equal((result["status"], result["stdout"]), ("completed", "1\n1\n"), result)
        lines = result["stderr"].splitlines()
        for words, status, code in cases:
            if code:
                tap.true(lines.pop(0).startswith(f"tool: {words.split()[0]}: {code}: "), (words, result["stderr"]))
            tap.equal(lines.pop(0), str(status), words)
        tap.contains(result["stderr"], "tool: bad: tool_error: no such table\n")
        tap.equal(lines, [])


def test_wrong_use():
    use()
    for words in ("", "''", "add 1 2", "--none", "--describe", "--search", "--names x", "-- ", "-- add 1 2"):
        _, result = run(f"tool {words}")
        tap.equal((result["exit_code"], result["stdout"], "calls" in result), (2, "", False), words)
        tap.contains(result["stderr"], "usage: tool NAME")
    tap.contains(printed("tool --help"), "usage: tool NAME")
    tap.contains(printed("if [ -c /dev/full ]; then tool add >/dev/full 2>&1; echo $?; else tool add >&- 2>/dev/null; echo $?; fi"), "74")


def test_a_shell_sees_the_failure():
    use()
    replies = answers(bad=DENY, fine=value(1))
    for language in SHELLS:
        tools = {"tools": ("bad", "fine"), "language": language}
        said = "tool: bad: host_denied: the gateway has refused the call\n"
        tap.equal(printed("set -e; tool fine; tool bad; echo never", replies, exit_code=77, stderr=said, **tools), "1\n")
        tap.equal(printed("set -e; if tool bad; then echo never; else echo $?; fi; x=$(tool fine); echo $x", replies, stderr=said, **tools), "77\n1\n")


def test_what_the_gateway_tells_of_the_tools():
    use()
    tools = [definition("sales.query", title="Query", description='Reads "sales" {data}.'), definition("mail", description="Sends a mail about a Query"), definition("ä 'b' \"c\"")]
    code = """
        tool --names; tool --describe sales.query; tool --search QUERY; tool --search quer sends mail; tool --search nothing; tool --describe none; echo $?
        for i in 1 2 3 4 5 6; do tool --names >n$i & done; wait; cat n? | sort | uniq -c | tr -s ' '
        rm ${TMPDIR:-/tmp}/.code-execute-tools-*; tool --names; echo $?; tool mail
    """
    for before in ("", "tool mail >/dev/null\n"):
        _, result = run(before + code, tools=tools)
        lines = result["stdout"].splitlines()
        tap.equal(lines[:3], ["sales.query", "mail", "ä 'b' \"c\""])
        tap.equal({name: json.loads(lines[3])[name] for name in ("name", "title", "description")}, {"name": "sales.query", "title": "Query", "description": 'Reads "sales" {data}.'})
        tap.equal(lines[4:], ["sales.query", "mail", "mail", "sales.query", "2", " 6 mail", " 6 sales.query", " 6 ä 'b' \"c\"", "69", "1"])
        tap.contains(result["stderr"], "tool: none: unknown_tool: ")
        tap.contains(result["stderr"], "tool: --names: unavailable: ")


def test_calls_in_a_loop():
    use()
    code = "s=0; i=0; while [ $i -lt 50 ]; do s=$((s + $(tool add \"{\\\"x\\\": $i}\"))); i=$((i + 1)); done; echo $s"
    for language in SHELLS:
        tap.equal(printed(code, language=language), f"{sum(range(1, 51))}\n")
    if shutil.which("busybox"):
        use(languages={"sh": {"argv": ["busybox", "sh", "{file}"], "file": "main.sh"}})
        tap.equal(printed(code), f"{sum(range(1, 51))}\n")


def test_calls_at_the_same_time_are_all_open():
    """The host answers the first of them only when it has all of them."""
    use()
    code = "for i in 1 2 3 4 5 6 7 8; do tool slow \"{\\\"x\\\": $i}\" >out$i & done; tool wait; tool release; wait; cat out?"
    for language in SHELLS:
        out = printed(code, Held(8).serve, tools=Held.tools, language=language)
        tap.equal(out.splitlines(), ['"all are there"', '"released"', *(f'{{"slow":{i}}}' for i in range(1, 9))])


def test_more_calls_at_the_same_time_than_may_be_open():
    use()
    out = printed("for i in $(seq 40); do tool add \"{\\\"x\\\": $i}\" & done; wait; seq 41 60 | xargs -P 10 -I N tool add '{\"x\": N}'")
    tap.equal(sorted(map(int, out.split())), list(range(2, 62)))
    # Those that wait do so in the program: the gateway keeps four times these bytes for calls that wait for their turn.
    use(tools={"arguments_bytes": 4096})
    out = printed("y=$(printf %0900d 0); for i in $(seq 40); do tool add \"{\\\"x\\\": $i, \\\"y\\\": \\\"$y\\\"}\" & done; wait",
                  lambda host, token, call: host.reply_later(token, value(call["arguments"]["x"] + 1), 0.05))
    tap.equal(sorted(map(int, out.split())), list(range(2, 42)))


def test_as_many_calls_are_open_as_the_policy_allows():
    for most in (2, 24):
        use(tools={"max_in_flight": most, "arguments_bytes": 4096, "call_timeout_ms": 20000})
        at_once = AtOnce(most)
        out = printed("y=$(printf %03000d 0); for i in $(seq 24); do tool add \"{\\\"x\\\": $i, \\\"y\\\": \\\"$y\\\"}\" & done; wait", at_once.serve)
        tap.equal((sorted(map(int, out.split())), at_once.most), (list(range(2, 26)), most))


def test_behind_what_is_no_frame_calls_fail_at_once():
    use()
    spoil, said = "printf '\\377\\377\\377\\377\\377' >&63\n", "tool: add: unavailable: the gateway takes no more calls\n"
    for language in SHELLS:
        if language == "bash":  # dash has no number of two digits there
            tap.equal(printed(spoil + "tool add; echo $?; tool add; echo $?", language=language, stderr=said * 2), "69\n69\n")
            tap.equal(printed("tool add '{\"x\": 1}'\n" + spoil + "tool add; echo $?", language=language, stderr=said), "2\n69\n")


def test_a_killed_call_gives_the_next_one_no_wrong_answer():
    use()
    for signal in "TERM", "KILL":
        code = f"""
            tool slow >slow & p=$!; tool wait; kill -{signal} $p; wait $p; echo $?
            tool release; tool add '{{"x": 1}}'; cat slow
        """
        status = {"TERM": 143, "KILL": 137}[signal]
        for language in SHELLS:
            held = Held()
            host, result = run(code, held.serve, tools=Held.tools, language=language)
            tap.equal((result["stdout"].splitlines(), result["exit_code"]), (['"all are there"', str(status), '"released"', "2"], 0), result)
            tap.equal(len(held.slow), 1)


def test_one_that_is_killed_lets_the_others_have_their_answers():
    """Its own comes first, and nobody waits for it; each of the others waits behind it."""
    use()
    code = """
        for i in 1 2 3 4; do tool slow "{\\"x\\": $i}" >out$i & eval p$i=$!; done; tool wait; kill -KILL $p4 $p2
        tool release; wait $p1; echo $?; wait $p3; echo $?; cat out?
    """
    out = printed(code, Held(4).serve, tools=Held.tools, language="sh")
    tap.equal(out.splitlines(), ['"all are there"', '"released"', "0", "0", '{"slow":1}', '{"slow":3}'])


# In the program: kills a call as soon as it is in the middle of a frame, which the mark says that it has set on the descriptor. One that was
# quicker is done again.
KILL_IN_THE_MIDDLE = """
import fcntl, os, signal, subprocess, sys
descriptor, number, words = int(sys.argv[1]), getattr(signal, sys.argv[2]), sys.argv[3:]
def is_marked(): return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_APPEND
hits = 0
for attempt in range(300):
    call = subprocess.Popen(words, stdin=open("input"), stdout=open("output", "w"), close_fds=False)
    while not is_marked() and call.poll() is None: pass
    if call.returncode is None:
        call.send_signal(number)
        hits += 1
    call.wait()
    if is_marked() or (hits >= 3 and number != signal.SIGKILL): break
print("marked" if is_marked() else "whole", hits > 0)
"""


def in_the_middle(descriptor, signal, words):
    code = f"cat >kill.py <<'END'\n{KILL_IN_THE_MIDDLE}END\nlong=$(head -c 1000000 /dev/zero | tr '\\0' y); echo \"{{\\\"y\\\":\\\"$long\\\"}}\" >input\n"
    code += f"tool add >/dev/null; python3 kill.py {descriptor} {signal} {words}\ntool add '{{\"x\": 6}}'; echo $?; tool add; echo $?"
    return run(code, answers(big=text(LONG), add=lambda *call: add_one(*call)), language="bash", tools=("big", "add"))[1]


def test_a_call_that_is_killed_in_the_middle_of_its_answer():
    use()
    result = in_the_middle(62, "SIGKILL", "tool big")
    tap.equal(result["stdout"].splitlines(), ["marked True", "69", "69"], result)
    tap.equal(result["stderr"], "tool: add: unavailable: a call was killed while it was written or answered, so no further one can be made\n" * 2)


def test_a_call_that_is_killed_while_it_is_written():
    use()
    result = in_the_middle(63, "SIGKILL", "tool add -")
    tap.equal(result["stdout"].splitlines(), ["marked True", "69", "69"], result)
    tap.equal(len(result["stderr"].splitlines()), 2, result)


def test_another_signal_waits_for_the_rest_of_the_frame():
    use()
    for descriptor, words in ((62, "tool big"), (63, "tool add -")):
        result = in_the_middle(descriptor, "SIGTERM", words)
        tap.equal((result["stdout"].splitlines(), result["stderr"]), (["whole True", "7", "0", "1", "0"], ""), result)


def test_answers_that_nobody_has_taken_are_no_obstacle():
    """More than the gateway keeps at most, and no call is made that has to read past them."""
    use()

    def serve(host, token, call):
        if call["name"] != "killed":
            return held.serve(host, token, call)
        host.reply(token, value("killed"))
        for slow, _ in held.slow:
            host.reply(slow, text(LONG))
        return None
    held = Held(3)
    code = "for i in 1 2 3; do tool slow & eval p$i=$!; done; tool wait; kill -KILL $p1 $p2 $p3; wait; tool killed; tool add '{\"x\": 1}'"
    host, result = run(code, serve, tools=(*Held.tools, "killed"))
    tap.equal((result["status"], result["stdout"].split("\n")[:-1]), ("completed", ['"all are there"', '"killed"', "2"]), result)
    tap.equal(len(host.calls), 6)


def test_a_program_that_ends_with_an_open_call():
    use()
    held = Held()
    host, result = run("tool slow & tool wait; exit 3", held.serve, tools=Held.tools)
    tap.equal((result["status"], result["exit_code"], result["stdout"]), ("completed", 3, '"all are there"\n'), result)
    tap.equal(host.cancelled, [held.slow[0][0]])
    tap.equal({row["tool"]: row["status"] for row in result["calls"]}, {"slow": "cancelled", "wait": "ok"})


def test_children_and_the_descriptors():
    use()
    code = f"""
        (tool add); sh -c 'tool add'; cat <(tool add); env -i {PLACE}/tool add; {{ exec 63>&-; tool add; echo $?; }}
    """
    _, result = run(code, language="bash")
    tap.equal((result["stdout"].split(), result["stderr"]), (["1"] * 4 + ["69"], "tool: add: unavailable: the descriptors for calls are not those of the run\n"), result)
    _, result = run("exec 62</dev/null; tool add; echo $?; tool --names; echo $?", language="bash")
    tap.equal(result["stdout"].split(), ["69", "69"], result)
    tap.equal(result["stderr"].count("unavailable: the descriptors for calls are not those of the run\n"), 2, result)


def test_frames_of_a_stranger():
    """Which the same program sends on the same descriptors: the gateway judges them, and the command drops what nobody waits for."""
    use()
    code = """python3 - <<'END'
import json, os, struct
def send(kind, payload): os.write(63, struct.pack("<IB", len(payload), kind) + payload)
def call(number, name, text): send(5, struct.pack("<IH", number, len(name)) + name + text)
call(1, b"add", b'{"x": 100}')
call(2, b"nosuch", b"{}")
call(0, b"add", b"{}")
call(3, b"add", b"nonsense")
send(5, b"short")
END
tool add '{"x": 1}'; tool nosuch; tool add '{"x": 2}'
"""
    for language in SHELLS:
        host, result = run(code, language=language)
        tap.equal((result["stdout"].split(), result["stderr"]), (["2", "3"], "tool: nosuch: unknown_tool: the run has no tool of that name\n"), result)
        tap.equal([call["arguments"]["x"] for _, call, _ in host.calls], [100, 1, 2])


# How many of the two descriptors a program has.
HELD = "import os\ndef held(fd):\n    try: os.fstat(fd)\n    except OSError: return 0\n    return 1\nprint(held(62) + held(63))"


def test_a_run_without_tools_has_no_command():
    """Nor the other way round, where sandboxes are ready before their runs."""
    use(pools={"process": {"ready": 2, "idle_ms": 60000}})
    # Without namespaces every run may read the directory of the command, and none the list of its descriptors.
    place = f"ls {PLACE} 2>/dev/null | grep -vx installers" if MODE != "unprivileged" else ":"
    looks = f"command -v tool; echo $?; {place}; python3 -c '{HELD}'; echo ${{PATH%%:*}}"
    for language in SHELLS:
        for _ in range(2):
            with_tools = printed(looks, language=language, tools=("add",)).split()
            tap.equal((with_tools[0], with_tools[-1], "2" in with_tools), (f"{PLACE}/tool", PLACE, True))
            result = provider.invoke({"language": language, "code": looks}, Host(("sandbox.exec",)))[1]
            status, descriptors, path = result["stdout"].split()
            tap.equal((status in ("1", "127"), descriptors, path == INSTALLERS), (True, "0", True), result)


def test_the_program_has_its_own_path():
    use()
    request = {"env": {"PATH": "/usr/bin:/bin"}}
    tap.equal(printed("echo $PATH; tool add", request=request), f"{PLACE}:{INSTALLERS}:/usr/bin:/bin\n1\n")


if MODE == "docker":
    def test_the_name_alone_calls_nothing():
        """The guest's program is in each container, and can be started by that name."""
        use()
        code = "ln -s /.code-execute-guest /tmp/tool; /tmp/tool add; echo $?; /.code-execute-guest tool add; echo $?"
        result = provider.invoke({"language": "sh", "code": code}, Host(("sandbox.exec",)))[1]
        tap.equal((result["stdout"], result["stderr"].splitlines()[0]), ("69\n1\n", "tool: add: unavailable: the descriptors for calls are not those of the run"), result)


def test_another_language_is_told_which_can_call():
    use()
    _, result = run("1", language="perl")
    tap.equal(result["error"]["code"], "not_supported", result)
    for language in ("python", "sh", "bash"):
        tap.contains(result["error"]["message"], language)


# Those that the way of the frames, the locks in a container or the place of the command decide.
CARRIED = ("each_form_of_answer", "arguments", "errors_and_exit_statuses", "what_the_gateway_tells_of_the_tools", "calls_at_the_same_time_are_all_open",
           "more_calls_at_the_same_time_than_may_be_open", "a_killed_call_gives_the_next_one_no_wrong_answer", "one_that_is_killed_lets_the_others_have_their_answers",
           "a_call_that_is_killed_in_the_middle_of_its_answer", "a_call_that_is_killed_while_it_is_written", "answers_that_nobody_has_taken_are_no_obstacle",
           "a_program_that_ends_with_an_open_call", "children_and_the_descriptors", "a_run_without_tools_has_no_command", "the_program_has_its_own_path",
           "the_name_alone_calls_nothing",
           "as_many_calls_are_open_as_the_policy_allows", "behind_what_is_no_frame_calls_fail_at_once")
run_cases(globals(), CARRIED)
