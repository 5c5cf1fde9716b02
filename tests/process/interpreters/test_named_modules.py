# SPDX-License-Identifier: Apache-2.0
"""Modules that are imported beforehand because a program names them: outside of a sandbox only the distribution's that do nothing
besides, as a trial in a sandbox has shown; others wait in theirs. A program that names none has nothing to do with them."""
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import alone
import tap
from languages import waiting
from languages.waiting import COPIED, STARTED
from modes import Provider
from provider import OK, Host

SOMEBODY = 64998
DISTRIBUTION = pathlib.Path("/usr/lib/python3/dist-packages")
BY_C = "import ctypes, os\nlibc, home = ctypes.CDLL(None), os.environ['HOME'].encode()\n"  # only the kernel shows it
LIBRARY = pathlib.Path(os.environ["STARTS_A_THREAD"])  # starts_a_thread.c


def use(named=("named",), **language):
    provider.reset()
    language.setdefault("read_only", []).extend([PLACE, str(LIBRARY.parent)])
    python = {"prepare": {"import_named": {"named": list(named), "numpy": None, "pandas": None, "matplotlib": None}}, **language}
    tap.equal(provider.use_policy({"pools": {"process": {"ready": 1, "most": 0}}, "languages": {"python": python}, "only_languages": ["python"]}), OK)


def run(code):
    status, result = provider.invoke({"language": "python", "code": code}, Host())
    tap.equal((status, result["error"], result["stderr"]), (OK, None, ""), result)
    return result["stdout"].strip()


def expect(how, text, *why, module="named", loaded=True, **policy):
    """A program that names a module with that text finds it imported, by an interpreter that came to be so. why: the code of the reason
    that is told, and parts of its message."""
    (DISTRIBUTION / f"{module}.py").write_text(text)
    use(**policy)
    code = f"import sys  # named\nprint({module!r} in sys.modules)"
    run(code)
    tap.equal(waiting.ready_run(provider, lambda: run(code), 1, how), str(loaded), text)
    if how == COPIED:
        tap.equal(waiting.told(provider, "named")["code"], "copied")
    else:
        waiting.expect_told(provider, "started_ahead", *why, word="named")
        tap.equal(waiting.told(provider)["code"], "copied", "it is a matter of such programs alone")


def test_a_module_that_does_nothing_else_is_copied():
    expect(COPIED, "value = 1\n")


def test_one_that_is_not_there_hinders_nobody():
    expect(COPIED, "value = 1\n", named=["named", "no_such_module"])


def test_one_that_does_more_waits_in_its_sandbox():
    for text, what in (("import subprocess\nsubprocess.run(['true'])\n", "starts true"),
                       ("import os\nif os.fork() == 0: os._exit(0)\nos.wait()\n", "starts a process"),
                       (f"import ctypes\nctypes.CDLL({str(LIBRARY)!r})\n", "starts a thread"),
                       ("import threading, time\nthreading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n", "starts a thread"),
                       ("import os\nopen(os.environ['HOME'] + '/some-file', 'w').write('x')\n", "writes files"),
                       ("import os\nos.mkdir(os.environ['HOME'] + '/some-directory')\n", "writes files"),
                       (BY_C + "libc.creat(home + b'/some-file', 0o600)\n", "writes files"),
                       (BY_C + "libc.creat(home + b'/some-file', 0o600)\nlibc.unlink(home + b'/some-file')\n", "writes files"),
                       (BY_C + "number = libc.open(home, os.O_TMPFILE | os.O_RDWR, 0o600)\nlibc.ftruncate(number, 5)\nlibc.write(number, b'x', 1)\n", "writes files"),
                       ("import socket\ntry: socket.socket(socket.AF_UNIX).connect('/tmp/none')\nexcept OSError: pass\n", "uses a socket")):
        expect(STARTED, text, "modules_do_more", f": named {what}")


def test_each_module_s_effects_are_named():
    (DISTRIBUTION / "other_one.py").write_text("import subprocess\nsubprocess.run('exit 0; clean', shell=True)\nopen('/tmp/x', 'w')\n")
    (DISTRIBUTION / "quiet.py").write_text("value = 1\n")
    expect(STARTED, "import os\nos.system('true')\n", "modules_do_more", ": named starts true; other_one starts sh, writes files", named=["named", "quiet", "other_one"])


def test_none_of_what_it_does_is_done_outside():
    left = pathlib.Path(PLACE, "left")
    text = f"import os\ntry: os.mkdir({str(left)!r})\nexcept OSError: pass\n"
    expect(STARTED, text, "modules_do_more", ": named writes files")
    tap.true(not left.exists(), "it was tried in a sandbox")
    provider.reset()
    python = {"prepare": {"import": ["named"]}, "read_only": [PLACE]}
    tap.equal(provider.use_policy({"pools": {"process": {"ready": 1, "most": 0}}, "languages": {"python": python}}), OK)
    run("0")
    waiting.await_waiting(1, COPIED)
    tap.true(left.exists(), "control: a module that the operator asks for is imported outside")
    left.rmdir()


def test_one_that_fails_is_the_program_s_to_miss():
    expect(STARTED, "raise ValueError\n", "modules_do_more", ": named cannot be imported", loaded=False)


def test_one_of_elsewhere_waits_in_its_sandbox():
    expect(STARTED, "import other\n", "modules_do_more", ": named is not all of the distribution", environment={"PYTHONPATH": PLACE})
    expect(COPIED, "value = 1\n", environment={"PYTHONPATH": PLACE})


def test_one_that_reads_another_user_s_file_waits_in_its_sandbox():
    data = pathlib.Path(PLACE, "data")
    data.write_text("x")
    text = f"open({str(data)!r}).read()\n"
    expect(COPIED, text)
    os.chown(data, SOMEBODY, SOMEBODY)
    expect(STARTED, text, "file_not_trusted", data)


def test_programs_that_do_not_name_it_have_their_own_original():
    (DISTRIBUTION / "named.py").write_text("value = 1\n")
    use()
    look = "import sys\nprint([name for name in sys.modules if name.startswith('na' + 'me')])"
    for comment, seen in ("", "[]"), ("unnamed, name, named_too, renamed, näamedé", "[]"), ("named", "['named']"), ("it is (named)", "['named']"):
        code = f"{look}  # {comment}\n"
        run(code)
        tap.eventually(lambda code=code, seen=seen: run(code) == seen, f"{comment!r}: {seen}", 30)


alone.become_alone()
provider = Provider()
with tempfile.TemporaryDirectory(prefix="named-modules-", dir="/var/lib") as PLACE, alone.emptied(DISTRIBUTION):
    pathlib.Path(PLACE).chmod(0o755)
    pathlib.Path(PLACE, "other.py").write_text("")
    tap.run(globals())
