# SPDX-License-Identifier: Apache-2.0
"""Cells of shells that call tools by the command `tool`: it is in every session whose policy allows tools, asks the session's own program,
and what is open, killed or left behind ends with its cell. What the gateway does is the same for all languages (test_session_tools.py),
and the words of the command are those of a program (test_tool_calls_shell.py)."""
import json
import pathlib
import shutil
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import provider as module
import tap
from modes import MODE, Provider, adopt_orphans, merged, own_processes
from provider import OK
from tool_host import Held, ToolHost, add_one, text, tool, value

AMPLE_MS = 120000
SHELLS = ("sh", "bash")
NONE = "tool: add: unavailable: the cell has ended, or has no tools\n"
LONG = "A" * ((4 << 20) - 1024)
RIGHTS = ("sandbox.exec", "sandbox.exec.files", "sandbox.exec.session", "sandbox.exec.tools")
POLICY = {"tools": {"allowed": ["*"], "rate_per_s": 100000, "max_calls": 100000}, "sessions": {"max_total": 8, "max_per_principal": 8},
          "limits": {"wall_ms": {"default": AMPLE_MS, "max": AMPLE_MS}, "cpu_ms": {"default": 300000, "max": 300000}}}
adopt_orphans()
provider = Provider()


def use(**more):
    tap.equal(provider.begin_anew(merged(POLICY, more)), OK)


def call(code, session="new", serve=add_one, language="sh", wanted=None, request=None, **host):
    made = ToolHost(provider, serve, **{"rights": RIGHTS, **host})
    members = {**({} if wanted is None else {"tools": list(wanted)}), **(request or {})}
    return made, provider.invoke({"language": language, "code": code, "session": session, **members}, made)[1]


def cell(code, session="new", serve=add_one, status="completed", **more):
    """One that its session outlives."""
    made, result = call(code, session, serve, **more)
    tap.equal((result["status"], result["session"] and result["session"]["state"]), (status, "kept"), result)
    return made, result


def printed(code, session, serve=add_one, exit_code=0, stderr="", **more):
    result = cell(code, session, serve, **more)[1]
    tap.equal((result["stderr"], result["exit_code"]), (stderr, exit_code), result)
    return result["stdout"]


def begin(code=":", wanted=("add",), **more):
    return cell(code, wanted=wanted, **more)[1]["session"]["id"]


def test_cells_call_and_keep_their_state():
    use()
    for language in SHELLS:
        first, result = cell("x=$(tool add '{\"x\": 1}'); add() { tool add \"{\\\"x\\\": $1}\"; }", language=language, wanted=["add"])
        session = result["session"]["id"]
        hosts, results = [first], [result]
        for code in "x=$(($(add $x) + $(add 10))); echo $x", "add $x; tool --names; add 20 | cat":
            host, result = cell(code, session, language=language)
            hosts.append(host)
            results.append(result)
        tap.equal([result["stdout"] for result in results], ["", "14\n", "15\nadd\n21\n"], results)
        tap.equal([[row["seq"] for row in result["calls"]] for result in results], [[1], [1, 2], [1, 2]])
        for host, result in zip(hosts, results):
            tap.equal([call["run_id"] for _, call, _ in host.calls], [result["run_id"]] * len(result["calls"]))
            tap.equal([record["event"] for record in host.records if record["event"] != "tool_call_end"], ["start", *["tool_call"] * len(result["calls"]), "end"])
            tap.equal({record["run_id"] for record in host.records if record["event"] != "start"}, {result["run_id"]})


def test_cells_with_tools_and_without():
    use()
    for language in SHELLS:
        session = begin("[ -x \"$(command -v tool)\" ] && tool add; echo $?", (), language=language)
        tap.equal(printed("tool add; tool add '{\"x\": 4}'", session, wanted=["add"], language=language), "1\n5\n", "a session gets tools later")
        told = "".join(NONE.replace("add", option) for option in ("add", "--names", "--describe", "--search"))
        out = printed("tool add; echo $?; for o in --names '--describe add' '--search a'; do tool $o; echo $?; done; tool add \"{\\\"x\\\": \\\"$(head -c 900000 /dev/zero | tr '\\0' y)\\\"}\" 2>/dev/null | cat",
                      session, stderr=told, language=language)
        tap.equal(out, "69\n" * 4, "the session's are those of its first cell")
        tap.equal(printed("tool add '{\"x\": 2}'", session, wanted=["add"], language=language), "3\n")


def test_arguments_and_answers_of_any_length():
    use()

    def serve(host, token, call):
        host.reply(token, text(LONG) if call["name"] == "big" else value(len(call["arguments"].get("text", ""))))
    length = (1 << 20) - len('{"text":""}')
    code = f"""
        long() {{ printf '{{"text":"'; head -c $1 /dev/zero | tr '\\0' y; printf '"}}'; }}
        long 3000 | tool add -; long {length} | tool add -; long {length + 1} | tool add -; echo $?; tool big | cksum; tool big | head -c 3; echo; tool add '[]'; echo $?; tool nosuch; echo $?
        tool add
    """
    session = begin(wanted=("add", "big"), tools=("add", "big"))
    for _ in range(2):
        result = cell(code, session, serve, tools=("add", "big"))[1]
        lines = result["stdout"].splitlines()
        tap.equal((lines[:3], lines[3].split()[1], lines[4:]), (["3000", str(length), "69"], str(len(LONG)), ["AAA", "2", "2", "0"]), result)


def test_each_cell_has_the_tools_that_it_names():
    """Those of an earlier cell are told by none, whatever was asked in it."""
    use()
    two = (tool("add", description="Adds one"), tool("mail", description="Sends an answer"))
    session = begin("tool --names; tool add; tool mail", ("add", "mail"), tools=two)
    for _ in range(2):
        host, result = cell("tool --names; tool --search sends adds; tool --describe mail; tool add; echo $?", session, wanted=["mail"], tools=two)
        lines = result["stdout"].splitlines()
        tap.equal((lines[:2], json.loads(lines[2])["description"], lines[3:], host.calls), (["mail", "mail"], "Sends an answer", ["2"], []), result)
        tap.contains(result["stderr"], "tool: add: unknown_tool: ")
        tap.equal(printed("tool --names; tool --search sends adds", session, tools=two), "add\nmail\nadd\nmail\n")


def test_calls_at_the_same_time_are_all_open():
    use()
    for language in SHELLS:
        session = begin(wanted=Held.tools, tools=Held.tools, language=language)
        for _ in range(2):
            out = printed("for i in 1 2 3 4 5 6 7 8; do tool slow \"{\\\"x\\\": $i}\" >out$i & done; tool wait; tool release; wait; cat out?; rm out?", session, Held(8).serve, tools=Held.tools, language=language)
            tap.equal(out.splitlines(), ['"all are there"', '"released"', *(f'{{"slow":{i}}}' for i in range(1, 9))])


def test_more_calls_at_the_same_time_than_may_be_open():
    use(tools={"arguments_bytes": 4096})
    session = begin()
    out = printed("y=$(printf %0900d 0); for i in $(seq 40); do tool add \"{\\\"x\\\": $i, \\\"y\\\": \\\"$y\\\"}\" & done; wait; seq 41 60 | xargs -P 10 -I N tool add '{\"x\": N}'", session,
                  lambda host, token, call: host.reply_later(token, value(call["arguments"]["x"] + 1), 0.02))
    tap.equal(sorted(map(int, out.split())), list(range(2, 62)))


def test_commands_that_cannot_print_hold_up_no_call():
    """As many as calls may be open: nobody reads what they print, in a later cell neither."""
    use()
    answered, waiting = [], []

    def serve(host, token, call):
        (answered if call["name"] == "big" else waiting).append(token)
        if call["name"] == "big":
            host.reply(token, text("A" * 200000))
        while waiting and len(answered) >= 16:
            host.reply(waiting.pop(), value(1))
    tools = ("add", "big")
    session = begin("mkfifo full; exec 9<>full", tools, tools=tools)
    for code in "for i in $(seq 16); do tool big >full & done; tool add", "tool add":
        tap.equal(printed(code, session, serve, tools=tools, request={"timeout_ms": 30000}), "1\n")


def test_the_shell_of_busybox():
    if MODE != "process" or not shutil.which("busybox"):
        raise tap.Skip("busybox is not there, or is not the image's")
    use(languages={"sh": {"argv": ["busybox", "sh", "{file}"], "file": "main.sh"}})
    session = begin("tool add & tool --names; wait")
    result = cell("tool add '{\"x\": 4}'; exit 3", session)[1]
    tap.equal((result["stdout"], result["exit_code"]), ("5\n", 3), result)
    tap.equal(printed("tool add", session), "1\n")
    tap.equal(printed("tool add || :", session, wanted=[], stderr=NONE), "")


def test_a_killed_call_gives_no_other_its_answer():
    use()
    for signal, status in ("TERM", 143), ("KILL", 137):
        session = begin(wanted=Held.tools, tools=Held.tools)
        held = Held(3)
        out = cell(f"""
            for i in 1 2 3; do tool slow "{{\\"x\\": $i}}" >out$i & eval p$i=$!; done; tool wait; kill -{signal} $p1 $p3; wait $p1; echo $?
            tool release; tool add '{{"x": 1}}'; wait $p2; cat out?
        """, session, held.serve, tools=Held.tools)[1]["stdout"]
        tap.equal(out.splitlines(), ['"all are there"', str(status), '"released"', "2", '{"slow":2}'])
        tap.equal(printed("tool add '{\"x\": 5}'", session, tools=Held.tools), "6\n")


# In a cell: kills calls at every moment of a long call or a long answer.
KILLED = """
printf '{"text":"%s"}' "$(head -c 1000000 /dev/zero | tr '\\0' y)" >input
for i in $(seq 12); do
  tool add - <input >/dev/null & p=$!
  tool big >/dev/null & q=$!
  n=0; while [ $n -lt $((i * 100)) ]; do n=$((n + 1)); done
  kill -KILL $p $q; wait
done 2>/dev/null
tool add '{"x": 6}'
"""


def test_calls_that_are_killed_at_any_moment():
    """Neither does one leave a frame without its rest, nor is the end of the cell within one."""
    use()
    serve = lambda host, token, call: host.reply(token, text(LONG) if call["name"] == "big" else value(call["arguments"].get("x", 0)))
    session = begin(wanted=("add", "big"), tools=("add", "big"))
    for _ in "12":
        tap.equal(printed(KILLED, session, serve, tools=("add", "big")), "6\n")


# In a cell, as the command does it: is gone when its call has been taken over, and no more than its begin has room in the pipe, because
# the gateway does not read.
GONE_IN_THE_MIDDLE = """
import array, fcntl, socket, struct, subprocess, termios
asked = socket.socket(fileno=62)
call = struct.pack("<IH", 0, 3) + b'add{"text":"' + b"y" * 1000000 + b'"}'
for attempt in range(20):
    hold = subprocess.Popen(["tool", "hold"], stdout=subprocess.DEVNULL, close_fds=False)
    ours, theirs = socket.socketpair()
    asked.sendmsg([b"c"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [theirs.fileno()]))])
    theirs.close()
    ours.sendall(struct.pack("<IB", len(call), 5) + call)
    while struct.unpack("i", fcntl.ioctl(ours, termios.TIOCOUTQ, b"1234"))[0]: pass
    is_held = hold.poll() is None
    ours.close()
    hold.wait()
    if is_held: break
print(is_held)
asked.detach()
"""


def test_a_call_whose_process_is_gone_while_it_is_sent_on():
    use()

    def serve(host, token, call):
        if call["name"] == "hold":
            time.sleep(1)  # nothing is read meanwhile
        host.reply(token, value(call["arguments"].get("x", 0)))
    tools = ("add", "hold")
    session = begin(f"cat >gone.py <<'END'\n{GONE_IN_THE_MIDDLE}END", tools, tools=tools)
    out = printed("python3 gone.py; tool add '{\"x\": 6}'", session, serve, tools=tools, request={"timeout_ms": 60000})
    tap.equal(out, "True\n6\n")
    tap.equal(printed("tool add '{\"x\": 7}'", session, serve, tools=tools), "7\n")


def test_the_end_of_a_cell_is_no_part_of_another_frame():
    """Long calls are made all the time by what the first cell has left; each cell ends in the middle of one, and nothing of it reaches the next."""
    use()
    session = begin("printf '{\"text\":\"%s\"}' \"$(head -c 900000 /dev/zero | tr '\\0' y)\" >input\n"
                    "work() { while [ ! -e stop ]; do tool add - <input; done >/dev/null 2>&1; }\nwork & work & work &")
    for number in range(12):
        tap.equal(printed(f"tool add '{{\"x\": {number}}}'", session), f"{number + 1}\n")
    tap.equal(printed("touch stop; wait; echo end", session), "end\n")


def answering_the_second(host, token, call):
    """Of two calls, once both are there."""
    with host.lock:
        ready = [token for token, call, _ in host.calls if call["arguments"].get("x") == 2] if len(host.calls) == 2 else []
    for token in ready:
        host.reply(token, value(0))


def test_a_call_that_is_open_ends_with_its_cell():
    use()
    for language in SHELLS:
        session = begin(language=language)
        host, result = cell("tool add '{\"x\": 1}' >left 2>&1 & tool add '{\"x\": 2}'", session, answering_the_second, language=language)
        tap.equal((result["stdout"], sorted(row["status"] for row in result["calls"])), ("0\n", ["cancelled", "ok"]))
        tap.equal(host.cancelled, [token for token, call, _ in host.calls if call["arguments"]["x"] == 1])
        tap.equal([provider.reply_call(token, value(1)) for token in host.cancelled], [module.UNKNOWN])
        out = printed("wait; cat left; tool add '{\"x\": 4}'", session, language=language)
        tap.equal(out, "tool: add: unavailable: the cell has ended before the answer\n5\n")


def test_a_process_left_behind_calls_in_a_later_cell():
    """Between two cells, or in one that has no tools, it cannot; then its call is that of the cell under way."""
    use()
    for language in SHELLS:
        session = begin("(until tool add 2>&1 | grep -q 'has no tools'; do :; done; echo none >told; mv told seen; until [ -e go ]; do :; done; tool add '{\"x\": 7}' >seen2) &", language=language)
        tap.equal(printed("until [ -e seen ]; do :; done; cat seen", session, wanted=[], language=language), "none\n")
        host, result = cell("touch go; wait; cat seen2", session, language=language)
        tap.equal((result["stdout"], [call["arguments"] for _, call, _ in host.calls], len(result["calls"])), ("8\n", [{"x": 7}], 1), result)


def test_a_process_left_behind_has_no_more_than_the_cell():
    """A call of a tool that only the earlier cell has named is refused by the gateway."""
    use()
    two = ("add", "mail")
    session = begin("tool mail; (until [ -e go ]; do :; done; tool mail; echo $?) >seen 2>&1 &", two, tools=two)
    host, result = cell("tool add; touch go; wait; cat seen", session, wanted=["add"], tools=two)
    tap.equal((result["stdout"].splitlines()[0], result["stdout"].splitlines()[-1], [call["name"] for _, call, _ in host.calls]), ("1", "2", ["add"]), result)
    tap.contains(result["stdout"], "tool: mail: unknown_tool: ")


def test_several_languages_of_one_session():
    use()
    for first, code, joining in (("python", "import tools\nprint(tools.add(x=1))", SHELLS), ("bash", "tool add '{\"x\": 1}'", ("sh", "python"))):
        session = "new"
        host, result = cell(code, session, language=first, wanted=["add"])
        session = result["session"]["id"]
        codes = {"python": "import tools\nprint(tools.add(x=2))"}
        for _ in range(2):
            for language in (*joining, first):
                host, result = cell(codes.get(language, "tool add '{\"x\": 2}'"), session, language=language)
                tap.equal((result["stdout"], len(host.calls)), ("3\n", 1), (language, result))
        shell = next(language for language in joining if language in SHELLS)
        printed("(until [ -e go ]; do :; done; tool add; echo $?) >seen 2>&1 &", session, language=shell)
        host, result = cell("import tools, os, time\nopen('go', 'w').close()\nwhile not os.path.exists('seen') or not os.path.getsize('seen'): time.sleep(0.001)\nprint(tools.add(x=1), open('seen').read())",
                            session, language="python")
        tap.equal((len(host.calls), "the cell has ended, or has no tools" in result["stdout"]), (1, True), "no process of one language has a cell of another")


def cancelling(host, token, call):
    threading.Timer(0, provider.cancel, (77,)).start()


def silent(host, token, call):
    """Is asked, and never answers."""


def test_an_interruption_during_a_call():
    use()
    for language in SHELLS:
        session = begin("x=5", language=language)
        host, result = cell("tool add '{\"x\": 1}'; echo never", session, cancelling, status="cancelled", call_id=77, language=language)
        tap.equal((result["stdout"], host.cancelled, result["calls"][0]["status"]), ("", [host.calls[0][0]], "cancelled"), result)
        host, result = cell("tool add & while :; do :; done", session, silent, status="timeout", request={"timeout_ms": 300}, language=language)
        tap.equal(host.cancelled, [host.calls[0][0]], result)
        host, result = cell("trap '' INT; tool add; tool add", session, cancelling, status="cancelled", call_id=77, language=language)
        tap.equal((len(host.calls), result["stderr"]), (1, "tool: add: cancelled: the run is at its end\n" * 2), result)
        tap.equal(printed("echo $x; tool add", session, language=language), "5\n1\n")


def test_exit_and_failure_with_calls_open():
    use()
    for language in SHELLS:
        session = begin("x=1", language=language)
        open_one = "tool add '{\"x\": 1}' >/dev/null 2>&1 & tool add '{\"x\": 2}' >/dev/null; "
        for code, status in (("exit 3", 3), ("set -e; false", 1), ("set +e; trap 'exit 4' EXIT; exit 3", 4)):
            host, result = cell(open_one + code, session, answering_the_second, language=language)
            tap.equal((result["exit_code"], len(host.cancelled)), (status, 1), result)
            tap.equal(printed("set +e; tool add \"{\\\"x\\\": $x}\"", session, language=language), "2\n")
        result = cell("set -e; tool add; tool nosuch; echo never", session, language=language)[1]
        tap.equal((result["exit_code"], result["stdout"]), (2, "1\n"), result)
        host, result = cell("set +e; trap 'tool add' EXIT; exit 6", session, language=language)
        tap.equal((result["exit_code"], result["stdout"], len(result["calls"])), (6, "1\n", 1), "the trap is part of the cell")


def test_a_session_that_is_lost_in_a_call():
    use()
    for language in SHELLS:
        session = begin(language=language)
        host, result = call("tool add '{\"x\": 1}' >/dev/null & tool add '{\"x\": 2}'; kill -KILL $$", session, answering_the_second, language=language)
        tap.equal((result["session"]["state"], result["session"]["lost_reason"], len(host.cancelled)), ("lost", "crashed", 1), result)


def test_waiting_is_not_a_cells_computing():
    use()
    session = begin()
    out = printed("tool add", session, lambda host, token, call: host.reply_later(token, value(2), 1.5), request={"timeout_ms": 500})
    tap.equal(out, "2\n")


def test_a_shell_that_has_closed_the_descriptor():
    """It is the program's own from then on; the others go on."""
    use()
    session = begin("exec 62>&-", language="bash")
    result = cell("tool add; echo $?", session, language="bash")[1]
    tap.equal((result["stdout"], result["stderr"]), ("69\n", "tool: add: unavailable: the descriptors for calls are not those of the run\n"))
    tap.equal(printed("tool add", session, language="sh"), "1\n")


def test_what_is_no_call_at_all():
    """Whatever a program sends there: the next call is made, and the cell ends."""
    use()
    session = begin("""
cat >junk.py <<'END'
import array, os, socket, struct
asked = socket.socket(fileno=62)
def ask(kind, *fds): asked.sendmsg([kind], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])
def stream(kind=b"c"):
    ours, theirs = socket.socketpair()
    ask(kind, theirs.fileno())
    return ours
kept = []
ask(b"c"); ask(b"x", 0); ask(b"c", 0); ask(b"l", 1); ask(b"long"); ask(b"c", 0, 1, 2)
for bytes in (b"", b"\\5", struct.pack("<IB", 1 << 31, 5), struct.pack("<IB", 1, 5) + b"1", struct.pack("<IB", 20, 4) + b"1" * 20, struct.pack("<IB", 100000, 5) + b"1" * 50000):
    ours = stream()
    ours.sendall(bytes)
    kept.append(ours)
for _ in range(6): stream().close()
print(len(kept))
asked.detach()
END""")
    for _ in range(2):
        tap.equal(printed("python3 junk.py; tool add; tool --names", session), "6\n1\nadd\n")


def test_without_tools_in_the_policy_there_is_no_command():
    use(tools={"allowed": []})
    for language in SHELLS:
        result = cell("echo $PATH; command -v tool || echo none", language=language)[1]
        tap.lacks(result["stdout"].replace("code-execute/installers", "").replace(".code-execute-installers", ""), "code-execute")
        tap.contains(result["stdout"], "none\n")


def test_no_descriptor_is_left():
    use()
    session = begin()

    def descriptors():
        return sum(len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir())) for pid in own_processes())

    def some_cells():
        for _ in range(2):
            printed("for i in $(seq 20); do tool add & done >/dev/null; wait; tool --names >/dev/null", session)
            cell("tool add & kill -KILL $!; exit 1", session, silent)
            cell(":", session, wanted=[])
    some_cells()
    before = descriptors()
    some_cells()
    tap.eventually(lambda: descriptors() <= before, f"as many descriptors as before, {before}")


tap.run(globals())
