# SPDX-License-Identifier: Apache-2.0
"""Sessions of sh and bash in whole calls: what a cell leaves for the next, each way in which it ends, and what cannot be kept."""
import os
import pathlib
import shutil
import subprocess
import sys
import threading

SUPPORT = pathlib.Path(__file__).parents[2] / "support"
sys.path.insert(0, str(SUPPORT))
import modes
import tap
from modes import Provider, merged
from provider import ACCEPTED, OK, Host

SHELLS = ("sh", "bash")
RIGHTS = ("sandbox.exec", "sandbox.exec.session", "sandbox.exec.files")
AMPLE_MS = 120000
POLICY = {"sessions": {"max_total": 8, "max_per_principal": 8, "max_cells": 1000},
          "limits": {"wall_ms": {"default": AMPLE_MS, "max": AMPLE_MS}, "cpu_ms": {"default": 300000, "max": 300000}}}
BUSY = "while :; do :; done"
provider = Provider()
call_ids = iter(range(1000, 100000))


def use(**more):
    tap.equal(provider.begin_anew(merged(POLICY, more)), OK)


class Shell:
    """A session; its cells are to keep it, where a test says nothing else."""

    def __init__(self, language, code="x=1", **more):
        self.language, self.session = language, "new"
        self.session = self.cell(code, **more)["session"]["id"]

    def call(self, code, host=None, **more):
        return provider.invoke({"language": self.language, "code": code, "session": self.session, **more}, host or Host(RIGHTS))[1]

    def cell(self, code, status="completed", **more):
        result = self.call(code, **more)
        tap.equal((result["status"], result["session"]["state"], result["session"]["lost_reason"]), (status, "kept", None), result)
        return result

    def ends(self, exit_code, code, stdout="", **more):
        result = self.cell(code, **more)
        tap.equal((result["exit_code"], result["stdout"]), (exit_code, stdout), result)
        return result

    def prints(self, stdout, code, **more):
        result = self.ends(0, code, stdout, **more)
        tap.equal(result["stderr"], "", result)

    def is_lost(self, reason, code, **more):
        result = self.call(code, **more)
        tap.equal((result["session"]["state"], result["session"]["lost_reason"]), ("lost", reason), result)
        error = self.call("echo")["error"]
        tap.equal(error and error["code"], "session_not_found", error)
        return result


def shells(code="x=1", **more):
    return [Shell(language, code, **more) for language in SHELLS]


def check_state():
    for shell in shells("x=1; export E=exported; f() { echo in f $x; }; set -f; umask 077; mkdir d; cd d"):
        shell.prints("1\n", "echo $x; x=2")
        shell.prints("in f 2\n", "f")
        shell.prints("exported\nd\n0077\n*\n", 'sh -c "echo \\$E"; basename "$PWD"; umask; echo *')


def test_state_lives_on():
    use()
    check_state()


def test_state_lives_on_beside_sandboxes_that_wait():
    use(pools={"process": {"ready": 2, "most": 2}})
    check_state()


def test_bash_keeps_what_is_its_own():
    use()
    shell = Shell("bash", "declare -A map=([key]=value); list=(1 2 3); shopt -s nullglob; set -o pipefail; exec 3>three; alias l=ls")
    shell.ends(7, "exit 7")
    shell.prints("value 3\nnullglob       \ton\n1\n", "echo ${map[key]} ${#list[@]}; shopt nullglob; false | true; echo $?")
    shell.prints("alias l='ls'\ntext\n", "alias; echo text >&3; cat three")


def test_a_cell_that_exits_ends_alone():
    use()
    ways = {"exit 3": 3, "f() { y=4; exit 4; }; f": 4, "set -e; false; echo never": 1, "set +e; if then": 2, "return 5": 5, "(exit 6)": 6,
            "exec 2>/dev/null; exit 7": 7, "exec >/dev/null <&-; exit 8": 8, "set -u; echo $nosuch; echo never": None, "set +u; false; exit": 1,
            "exit 2; echo never": 2, "true; exit": 0, "nosuchcommand 2>/dev/null": 127, ". /nosuch 2>/dev/null; exit 9": None}
    for shell in shells("x=1; g() { echo g; }; cd /tmp"):
        for code, status in ways.items():
            found = shell.cell(code)
            tap.true(found["exit_code"] == status if status is not None else found["exit_code"] != 0, found)
            tap.equal(found["stdout"], "", found)
            shell.prints("1 g /tmp\n", "echo $x $(g) $(pwd)")
        shell.prints("4\n", "echo $y")


def test_what_is_wrong_with_a_cell_is_said_with_its_place():
    use()
    for shell in shells():
        for code, wanted in (("echo on\nif then\n", "yntax error"), ("x=2\nnosuchcommand\n", "nosuchcommand"), ("y=1\n\nexit 4 <nosuchfile", "nosuchfile")):
            result = shell.cell(code)
            tap.true(result["exit_code"] != 0 and wanted in result["stderr"], result)
            tap.contains(result["stderr"], f"/tmp/cell-{result['session']['cells']}.sh")


def test_exits_leave_nothing_behind():
    """Each makes a copy of the shell, and the one before goes away with all that it had open."""
    use()
    count = "set -- /proc/[0-9]*; echo $#; set -- /proc/self/fd/* ; echo $#"
    for shell in shells("n=0; f() { n=$((n+1)); exit 3; }"):
        shell.ends(3, "f")
        before = shell.cell(count)["stdout"]
        for _ in range(40):
            shell.ends(3, "f")
        shell.prints(before, count)
        shell.prints("41\n", "echo $n")


def test_a_trap_on_exit_is_the_cells():
    use()
    for shell in shells():
        shell.prints("body\naction 0 1\n", "trap 'echo action $? $x' EXIT; echo body")
        shell.prints("", ":")
        shell.ends(5, "trap 'echo action $?' 0; echo body; exit 5", "body\naction 5\n")
        shell.ends(6, "trap 'c=$?; echo action $c; exit $((c + 1))' EXIT; exit 5", "action 5\n")
        shell.ends(1, "set -e; trap 'echo action $?' EXIT; false", "action 1\n")
        shell.prints("", "set +e; trap 'echo action' EXIT; trap - EXIT")
        shell.prints("inner\nouter\n", "trap 'echo outer' EXIT; (trap 'echo inner' EXIT)")
        shell.prints("inner\n", "echo $(trap 'echo inner' EXIT)")
        shell.prints("1\n", "echo $x")


def test_input_arguments_and_variables_are_the_cells():
    use()
    for shell in shells("cat; echo $#", stdin="one\n"):
        shell.prints("two\n[a b] [it's] [] 3\n1 v'a\nl\n", 'cat; echo "[$1]" "[$2]" "[$3]" $#; sh -c \'echo $x "$KEY"\'', stdin="two\n",
                     args=["a b", "it's", ""], env={"KEY": "v'a\nl", "x": "1"})
        shell.prints("0 unset unset\n", 'cat; echo $# ${KEY-unset} ${x-unset}; KEY=mine')
        shell.ends(3, "echo $KEY; exit 3", "theirs\n", env={"KEY": "theirs"})
        shell.prints("mine\n", "echo $KEY")
        shell.prints("theirs\n", "trap 'echo $KEY' EXIT", env={"KEY": "theirs"})
        shell.prints("", "readonly KEY", env={"LATER": "1"})
        tap.true(shell.cell("echo $KEY", env={"KEY": "never"})["exit_code"] != 0, "one that cannot be had")
        shell.prints("mine\n", "echo $KEY")
        shell.prints("a\nb\n", "read -r first; echo $first; cat", stdin="a\nb\n")


def test_output_by_its_name():
    use()
    for shell in shells():
        shell.prints("", "exec >log; echo logged")
        shell.prints("logged\nhere\n", "cat log; echo here")
        result = shell.cell("echo out >/dev/stdout; echo error >/dev/stderr; cat /dev/stdin", stdin="in")
        tap.equal((result["stdout"], result["stderr"]), ("out\nin", "error\n"))


def test_files_of_a_request_come_into_the_home_directory():
    use()
    for shell in shells("cat a; ls", files=[{"path": "a", "content": "first\n"}]):
        shell.prints("a\n", "ls; mkdir d; cd d")
        shell.prints("later\n", "cat ~/b/c", files=[{"path": "b/c", "content": "later\n"}])
        refused = shell.cell("echo never", files=[{"path": "d", "content": "a directory is there"}])
        tap.equal((refused["exit_code"], refused["stdout"]), (1, ""), refused)
        tap.contains(refused["stderr"], "d: Is a directory")
        shell.prints("d\n", "basename $(pwd)")


def cancelled(shell, code):
    """A cell that is interrupted once it has begun."""
    call_id, answers = next(call_ids), []
    host = Host(RIGHTS, call_id=call_id)
    thread = threading.Thread(target=lambda: answers.append(shell.call(f"echo begun; {code}", host=host)))
    thread.start()
    tap.eventually(lambda: b"begun" in host.output[1], "the cell runs", 60)
    tap.equal(provider.cancel(call_id), ACCEPTED)
    thread.join(60 * tap.SLOW)
    tap.equal((answers[0]["status"], answers[0]["session"]["state"]), ("cancelled", "kept"), answers)
    return answers[0]["stdout"]


def test_an_interruption_keeps_what_the_cell_has_done():
    """It is for what the shell waits for, too."""
    use()
    ways = ("sleep 100", BUSY, "sleep 100 | cat", "(sleep 100)", "y=$(sleep 100)", "f() { sleep 100; }; f", "sleep 100 & wait", "while sleep 0.01; do :; done")
    for shell in shells("n=0"):
        for code in ways:
            tap.equal(cancelled(shell, f"n=$((n+1)); {code}; echo never"), "begun\n", code)
        shell.prints(f"{len(ways)}\n", "echo $n")
        tap.equal(cancelled(shell, "trap 'echo action' EXIT; sleep 100"), "begun\naction\n")
        shell.prints("on\n", "echo on")


def test_the_end_of_its_time_interrupts_a_cell():
    use()
    for shell in shells():
        result = shell.cell("x=2; sleep 100; echo never", "timeout", timeout_ms=1000)
        tap.equal((result["timed_out"], result["stdout"]), (True, ""), result)
        shell.prints("2\n", "echo $x")


def test_a_cell_that_does_not_heed_it_loses_its_session():
    """One ignores it, and one has stopped the process by which it comes."""
    use()
    cells = [(shell, code) for code in (f"trap '' INT; {BUSY}", "kill -STOP $PPID; sleep 100") for shell in shells()]
    answers = []
    threads = [threading.Thread(target=lambda shell=shell, code=code: answers.append(shell.call(code, timeout_ms=500))) for shell, code in cells]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60 * tap.SLOW)
    told = [(answer["status"], answer["session"]["state"], answer["session"]["lost_reason"]) for answer in answers]
    tap.equal(told, [("timeout", "lost", "timeout")] * len(cells), answers)


def test_a_signal_that_would_end_a_script_ends_the_cell():
    use()
    for shell in shells():
        shell.ends(143, "kill $$; echo never")
        shell.prints("1\n", "echo $x")


def test_late_output_is_not_the_next_cells():
    """What a job prints goes to what was its cell's, while the next one runs: only so nothing depends on time."""
    use()
    for shell in shells("mkfifo go gone; (read -r _ <go; echo late; echo late error >&2; echo >gone) &\necho first"):
        result = shell.cell("echo >go; read -r _ <gone; echo second")
        told = result["session"]
        tap.equal((result["stdout"], told["late_stdout"], told["late_stderr"]), ("second\n", "late\n", "late error\n"), result)
        tap.equal(shell.cell(":")["session"]["late_stdout"], "", "it is told once")


def test_a_job_goes_on_behind_a_cell_that_exits():
    use()
    for shell in shells("mkfifo go gone; (read -r _ <go; echo done >gone) & exit 3"):
        shell.prints("done\n", "echo >go; cat gone")


def test_names_that_it_has():
    use()
    sh, bash = shells("value=1; _hidden=2; work() { :; }; export GIVEN=3")
    tap.equal(sh.cell(":")["session"]["defined"], [], "sh cannot tell")
    tap.equal(bash.cell("later=1")["session"]["defined"], ["work", "GIVEN", "later", "value"])
    tap.equal(bash.cell("unset later value", env={"KEY": "1"})["session"]["defined"], ["work", "GIVEN"], "and none of the cell's variables")
    many = bash.cell("for i in $(seq 300); do eval \"name_$i=1\"; done")["session"]["defined"]
    tap.equal((len(many), many[-1]), (200, "name_99"))


def test_a_full_disk_can_be_emptied():
    use(limits={"scratch_bytes": {"default": 8 << 20, "max": 8 << 20}})
    for shell in shells():
        shell.cell("cat /dev/zero >/tmp/full 2>/dev/null")
        shell.prints("1\n", "rm /tmp/full; echo $x; for i in 4 5; do mkfifo /tmp/cell-$i.sh; done")
        shell.prints("1\n", "echo $x")
        shell.prints("1\n", "echo $x")


def test_options_and_names_that_disturb_a_loop():
    use()
    for shell in shells("set -u; set -C; set -f; IFS=:/0123456789; x=a:b"):
        shell.prints("a b\n", "echo $x")
        shell.ends(3, "exit 3")
        shell.prints("a b\n", "echo $x; set -x")
        shell.ends(4, "exit 4")
        tap.contains(shell.cell("echo $x")["stderr"], "echo a b\n")


def test_what_ends_its_session():
    use()
    for language in SHELLS:
        Shell(language).is_lost("exited", "exec true")
        Shell(language).is_lost("crashed", "kill -9 $PPID; sleep 100")
        Shell(language).is_lost("crashed", "kill -9 $$")
        tap.equal(Shell(language).is_lost("exited", "command trap - EXIT; exit 5")["exit_code"], 5)
        last = Shell(language).call("echo $x", session_action="end")
        tap.equal((last["stdout"], last["session"]["state"]), ("1\n", "ended"))


def test_the_shell_of_busybox():
    """An image may have it as its sh. The copy of it that goes on behind an exit has no traps."""
    if not shutil.which("busybox"):
        raise tap.Skip("busybox is not there")
    use(languages={"sh": {"argv": ["busybox", "sh", "{file}"], "file": "main.sh"}})
    shell = Shell("sh", "x=1; f() { exit $1; }")
    for status in range(3, 6):
        shell.ends(status, f"f {status}; echo never")
        shell.ends(6, "(exit 6)")
        shell.prints("1\n", "echo $x")
    tap.equal(cancelled(shell, "sleep 100"), "begun\n")
    shell.ends(2, "trap 'echo action $?' EXIT; exit 2", "action 2\n")
    shell.ends(1, "set -e; false")
    shell.ends(3, "exit 3")
    shell.is_lost("exited", "set -e; false")


def test_forging_the_end_of_a_cell():
    """What a program says about its own cell is believed, and it gets no further."""
    use()
    for shell in shells():
        other = Shell(shell.language, "x=other")
        forged = shell.call("for fd in /proc/$PPID/fd/*; do case $(readlink $fd) in pipe:*) echo $$ 77 >$fd; esac; done; sleep 100")
        tap.equal(forged["exit_code"], 77, f"the control: it is heard: {forged}")
        other.prints("other\n", "echo $x")


def test_without_proc_there_are_none():
    """As in a container whose /proc is partly covered: the kernel then gives no fresh one."""
    if os.environ.get("WITHOUT_PROC"):
        use()
        for language in SHELLS:
            result = provider.invoke({"language": language, "code": "echo", "session": "new"}, Host(RIGHTS))[1]
            tap.equal(result["error"] and result["error"]["code"], "not_supported", result)
            tap.contains(result["error"]["message"], "/proc")
            control = provider.invoke({"language": language, "code": "test -e /proc/1 || echo none"}, Host(RIGHTS))[1]
            tap.equal(control["stdout"], "none\n", "the control: a run needs none")
        return
    covered = ("for place in $(awk '$9 == \"proc\" || $8 == \"proc\" { print $5 }' /proc/self/mountinfo); do [ $place = /proc ] || umount -l $place; done; "
               "mount -t tmpfs none /proc/tty && exec \"$@\"")
    inner = subprocess.run(["unshare", "--mount", "sh", "-c", covered, "sh", sys.executable, __file__], capture_output=True, text=True, check=False,
                           env={**os.environ, "WITHOUT_PROC": "1", "TEST_CASES": "test_without_proc_there_are_none"}, timeout=120)
    if "unshare failed" in inner.stderr or "permission denied" in inner.stderr:
        raise tap.Skip("only root can cover /proc")
    tap.equal(inner.returncode, 0, inner.stdout + inner.stderr)


# In docker mode too (tests/docker/meson.build) run those in which the guest does something of its own. What the shell does is the same code.
OF_BACKENDS = (
    "a_cell_that_exits_ends_alone", "input_arguments_and_variables_are_the_cells", "output_by_its_name",
    "files_of_a_request_come_into_the_home_directory", "an_interruption_keeps_what_the_cell_has_done",
    "a_cell_that_does_not_heed_it_loses_its_session", "late_output_is_not_the_next_cells", "a_full_disk_can_be_emptied",
    "what_ends_its_session")
WITHOUT_NAMESPACES = (
    "state_lives_on", "exits_leave_nothing_behind", "a_trap_on_exit_is_the_cells", "input_arguments_and_variables_are_the_cells",
    "an_interruption_keeps_what_the_cell_has_done", "a_job_goes_on_behind_a_cell_that_exits", "what_ends_its_session")
modes.run_cases(globals(), OF_BACKENDS, WITHOUT_NAMESPACES)
