# SPDX-License-Identifier: Apache-2.0
"""The bootstrap's script and message as an engine gets them, run by each shell that images have as /bin/sh: a program sees the variables
of its request exactly as they were given, none of them means anything to the script, and where a shell cannot set one nothing runs."""
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from engine_calls import call, directory, provider, socket_path, timed, use_engine
from fake_engine import FakeEngine
from provider import NOT_RUN, Host

SHELLS = {"dash": ["dash"], "bash": ["bash", "--posix"], "busybox": ["busybox", "sh"]}
MARK = b"\x04the mark\n"
SHOW = "cat /proc/$$/environ"
# The script's own names, and variables that shells read.
GIVEN = {**{name: "1" for name in ("ce_trial", "ce_end", "ce_status", "ce_waits", "ce_text", "ce_key", "ce_value", "ce_length", "ce_file",
                                   "ce_start", "ce_look", "ce_fail")},
         "IFS": "=a1", "PS4": "$(exit 9)", "ENV": "/dev/null", "OPTARG": "x", "CDPATH": "/", "LC_ALL": "no such", "LANG": "C", "MAILCHECK": "x",
         "TMOUT": "x", "FUNCNEST": "1", "POSIXLY_CORRECT": "1", "HISTSIZE": "x", "COLUMNS": "x", "PWD": "/else", "OLDPWD": "/", "SHLVL": "7",
         "TEXT": "it's \"$(id)\" `id`\n\\", "EMPTY": "", "PAREN": "(", "NOT": "!", "EQUALS": "=a=b", "STAR": "*", "BYTES": "ü"}
KEPT = ("OPTIND", "RANDOM", "UID", "SHELLOPTS", "LINENO", "_", "BASHPID")


def sent():
    """The script and the message for a program that shows its environment."""
    with FakeEngine(socket_path) as engine:
        call(engine, {"language": "sh", "code": SHOW, "env": GIVEN})
        created = [json.loads(body)["Entrypoint"] for step, _, body in engine.requests if step == "create"]
        return created[-1][2], engine.messages[-1][1]


def bootstrap(shell, text):
    """Status and outputs of the script with this message, by a shell of this machine and in a home of its own."""
    if not shutil.which(SHELLS[shell][0]):
        raise tap.Skip(f"{shell} is not installed")
    with tempfile.TemporaryDirectory(prefix="ce-bootstrap-") as home:
        script = SCRIPT.replace("cd /home/sandbox", f"cd {home}")
        done = subprocess.run([*SHELLS[shell], "-c", script, "code-execute"], input=MARK + b"%d\n" % len(text) + text, capture_output=True,
                              env={"PATH": os.environ["PATH"]}, check=False)
    done.args = shell  # for messages
    return done


def program_output(done):
    """The output between the script's last line and the end mark; None: the program was not started."""
    report, started, rest = done.stdout.partition(b"\n+\n")
    if not started:
        return None
    tap.true(rest.endswith(MARK.rstrip(b"\n")), done)
    return rest.removesuffix(MARK.rstrip(b"\n"))


def shown(shell):
    done = bootstrap(shell, MESSAGE)
    tap.true(program_output(done) is not None, done)
    tap.equal(done.stderr, b"+\n" + MARK.rstrip(b"\n"), "nothing of the shell's own")
    variables = dict(entry.split(b"=", 1) for entry in program_output(done).split(b"\0") if entry)
    for name, value in GIVEN.items():
        tap.equal(variables.pop(name.encode(), None), value.encode(), name)
    tap.equal([name for name in variables if name.startswith(b"ce_")], [], "names of the script's")


def test_dash_passes_on_variables_and_arguments():
    shown("dash")


def test_bash_passes_on_variables_and_arguments():
    shown("bash")


def test_busybox_passes_on_variables_and_arguments():
    """Debian 13's busybox names its applets without a path."""
    shown("busybox")


def started(shell, *argv, path=None):
    """Runs the bootstrap with this command line instead of the request's."""
    variables = [] if path is None else [f"PATH={path}"]
    return bootstrap(shell, MESSAGE[:MESSAGE.rindex(b" -- ") + 1] + shlex.join([*variables, "--", *argv]).encode() + b"\n")


def every_shell(check):
    missing = []
    for shell in SHELLS:
        try:
            check(shell)
        except tap.Skip as skip:
            missing.append(str(skip))
    if len(missing) == len(SHELLS):
        raise tap.Skip(missing[0])


def test_a_program_with_a_builtin_s_name_is_started():
    def check(shell):
        done = started(shell, "echo", "a", "b")
        tap.equal(program_output(done), b"a b\n", f"{done}")
    every_shell(check)


def test_a_name_without_a_program_is_missing():
    """Neither a builtin, nor a function of the script, nor a file in a relative directory of PATH is a program."""
    def check(shell):
        with tempfile.TemporaryDirectory(prefix="ce-path-") as directory:
            here = pathlib.Path(directory)
            (here / "export").mkdir()                    # a directory is no program
            (here / "shift").write_text("no mode for it")
            (here / "eval").symlink_to("/bin/true")
            for name, path, found in (("eval", f"/nowhere:{here}", True), ("eval", None, False), ("eval", "", False),
                                      ("eval", f":{here}", False), ("eval", f".:{here}", False), ("./eval", f"{here}", False),
                                      ("export", f"{here}", False), ("shift", f"{here}", False), ("put", None, False),
                                      ("ce_take", None, False), ("no-such-program", None, False)):
                done = started(shell, name, path=path)
                message = f"{name} with PATH {path!r}: {done}"
                tap.equal(program_output(done), b"" if found else None, message)
                if not found:
                    tap.true(done.stdout.endswith(b"\n?\n"), message)
    every_shell(check)


def test_a_variable_that_the_shell_keeps_starts_nothing():
    """The script notices it, even where the gateway does not know the name."""
    refusing = 0
    for shell in ("dash", "bash"):
        for name in KEPT:
            done = bootstrap(shell, MESSAGE.replace(b"set -- ", b"set -- '%s=a b' " % name.encode(), 1))
            output = program_output(done)
            if output is None:
                tap.lacks(done.stdout, MARK.rstrip(b"\n"), f"{shell} {name}")
                tap.true(done.returncode != 0, f"{shell} {name}: {done}")
                refusing += 1
            else:
                tap.contains(output, b"%s=a b\0" % name.encode(), f"{shell} {name}")
    tap.true(refusing >= len(KEPT), "positive control: a shell does keep them")


def test_gateway_refuses_variables_that_shells_keep():
    for name in KEPT:
        host = Host(("sandbox.exec", "sandbox.exec.secrets:one"), secrets={"one": b"value"})
        for member in ({"env": {name: "x"}}, {"secrets": {name: "{{secret:one}}"}}):
            with FakeEngine(socket_path) as engine:
                use_engine(more={"secrets": {"allowed": ["one"]}})
                status, output = timed({"language": "sh", "code": SHOW, **member}, host)
                provider.reset()
                asked = list(engine.requests)
            tap.equal((status, output["error"]["code"]), (NOT_RUN, "invalid_input"), output["error"])
            tap.contains(output["error"]["message"], f"/{name}: ")
            tap.equal((asked, host.requests), ([], []), "neither engine nor approver was asked")


def test_gateway_refuses_a_policy_that_sets_them():
    for patch in ({"environment": {"UID": "x"}}, {"languages": {"sh": {"environment": {"UID": "x"}}}}):
        use_engine(more=patch)
        status, output = timed({"language": "sh", "code": SHOW})
        provider.reset()
        tap.equal((status, output["error"]["code"]), (NOT_RUN, "invalid_policy"), output["error"])
        tap.contains(output["error"]["message"], "UID")


try:
    SCRIPT, MESSAGE = sent()
    tap.run(globals())
finally:
    directory.cleanup()
