# SPDX-License-Identifier: Apache-2.0
"""Runs with an environment's packages: programs, shells and sessions find them and cannot change them; what is asked, approved and
recorded names the content; a set that is not what was built is refused. How sets are built is in ../process/test_environment_builds.py."""
import atexit
import json
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import ordinary_user
import tap
from modes import ALL_THE_TIME, MODE, Provider, gateway, merged, run_but
from packages import package_sets
from packages.package_sets import Place, ask, make_wheel, need_programs, requirement
from provider import ACCEPTED, NOT_RUN, OK, Host

GRANTS = ("sandbox.exec", "sandbox.exec.session", "sandbox.exec.files")
RIGHTS = (*GRANTS, "sandbox.exec.mode.none")
ordinary_user.become(int(os.environ.get("PROCESS_TEST_UID", "0")))
need_programs()
place = Place()
atexit.register(place.close)
place.add("data", {"answer.py": "value = 1\n", "later.py": "value = 'of the first'\n", "bin_like": "no module\n"}, description="the first of all")
place.add("other", {"answer.py": "value = 2\n", "only_other.py": ""})
place.environments["unbuilt"] = dict(place.environments["data"])
POLICY = merged(ALL_THE_TIME, {**place.policy(), "approval": {"default": "allow"}, "capabilities": list(GRANTS),
                               "sessions": {"max_total": 6, "max_per_principal": 6}})
provider = Provider(POLICY)


def build(name):
    return package_sets.build(provider, name)


digests = {name: build(name)["sha256"] for name in ("data", "other")}
CODE = "import answer; print(answer.value)"


def call(code=CODE, packages="data", language="python", host=None, **more):
    request = {"language": language, "code": code, **more}
    if packages is not None:
        request["packages"] = packages
    return provider.invoke(request, host or Host(RIGHTS))


def succeeded(answer):
    code, result = answer
    tap.equal((code, result["error"], result["exit_code"]), (OK, None, 0), f"the run ({result['stderr'][-2000:]})")
    return result


def output(code=CODE, packages="data", **more):
    return succeeded(call(code, packages, **more))["stdout"].strip()


def refused(answer, error_code, *parts):
    """With that code, a message with these parts, and a hint."""
    code, result = answer
    error = result["error"]
    tap.equal((code, error and error["code"]), (NOT_RUN, error_code), result)
    for part in parts:
        tap.contains(error["message"], part)
    tap.true(error["hint"], error)
    return error


def test_a_program_imports_what_was_built():
    tap.equal((output(), output(packages="other")), ("1", "2"))
    tap.equal([succeeded(call(packages=name))["packages"] for name in digests], [{"name": name, "sha256": sha} for name, sha in digests.items()])
    code, result = call(packages=None)
    tap.equal((code, result["exit_code"], result.get("packages")), (OK, 1, None), "the control: without packages")
    tap.contains(result["stderr"], "No module named 'answer'")


def test_a_shell_s_interpreters_import_it():
    for language in ("sh", "bash"):
        if shutil.which(language):
            tap.equal(output(f"python3 -c '{CODE}'", language=language), "1")
            tap.equal(output(f"python3 -c '{CODE}' 2>/dev/null || echo none", None, language=language), "none", "the control")


def test_cells_of_a_session_import_it():
    first = succeeded(call(session="new"))
    session = first["session"]["id"]
    tap.equal((first["stdout"], first["packages"]), ("1\n", {"name": "data", "sha256": digests["data"]}))
    again = succeeded(call("import later; print(later.value)", None, session=session))
    tap.equal((again["stdout"], again["packages"]), ("of the first\n", {"name": "data", "sha256": digests["data"]}))
    tap.equal(output("print(later.value)", session=session), "of the first", "a cell may name it again")
    refused(call(packages="other", session=session), "invalid_input", "set of packages")
    plain = succeeded(call("1", None, session="new"))["session"]["id"]
    refused(call(session=plain), "invalid_input", "set of packages")
    tap.equal(output("print(1)", None, session=plain), "1", "the control: a session without packages goes on")


def test_a_session_s_further_language_has_it():
    session = succeeded(call("true", language="sh", session="new"))["session"]["id"]
    tap.equal(output(f"python3 -c '{CODE}'", None, language="sh", session=session), "1")
    tap.equal(output(CODE, None, session=session), "1", "an interpreter that comes later")


def test_the_request_s_own_directories_come_first():
    files = [{"path": "own/mine.py", "content": "value = 'mine'\n"}, {"path": "own/later.py", "content": "value = 'my own'\n"}]
    code = "import answer, later, mine; print(answer.value, later.value, mine.value)"
    tap.equal(output(code, files=files, env={"PYTHONPATH": "own"}), "1 my own mine")
    tap.equal(output("import later; print(later.value)"), "of the first", "the control")
    shell = "python3 -c 'import answer, mine; print(answer.value, mine.value)'"
    tap.equal(output(shell, language="sh", files=files, env={"PYTHONPATH": "own"}), "1 mine")


def test_nothing_of_it_can_be_changed():
    code = f"""
import os
content = {str(place.content("data"))!r}
def outcome(call):
    try:
        call()
        return "done"
    except OSError as error:
        return type(error).__name__
print(outcome(lambda: open(content + "/answer.py").read()), outcome(lambda: open("own", "w")))
calls = [lambda: open(content + "/answer.py", "a"), lambda: open(content + "/new.py", "w"), lambda: os.unlink(content + "/answer.py"),
         lambda: os.rename(content + "/answer.py", content + "/x.py"), lambda: os.chmod(content + "/answer.py", 0o777),
         lambda: os.symlink("x", content + "/link"), lambda: os.mkdir(content + "/folder"), lambda: os.utime(content + "/answer.py"),
         lambda: os.rename(content, content + "-moved"), lambda: os.truncate(content + "/answer.py", 0),
         lambda: os.setxattr(content + "/answer.py", "user.x", b"1"), lambda: os.link(content + "/answer.py", "mine.py")]
print(sorted({{outcome(call) for call in calls}} & {{"done"}}), len(calls))
"""
    tap.equal(output(code).splitlines(), ["done done", "[] 12"])
    tap.equal(output(), "1", "and it is as it was")


def test_it_is_mounted_without_rights():
    if MODE != "process":
        raise tap.Skip("nothing is mounted in this mode")
    code = f"""
import os
for line in open("/proc/self/mountinfo"):
    words = line.split()
    if words[4] == {str(place.content("data"))!r}:
        print(*sorted({{"ro", "nosuid", "nodev"}} & set(words[5].split(","))))
"""
    tap.equal(output(code), "nodev nosuid ro")
    tap.equal(output(code, None), "", "the control: it is there only for runs that have it")


def test_other_environments_are_out_of_sight():
    code = f"""
import os
def entries(path):
    try:
        return len(os.listdir(path))
    except OSError as error:
        return type(error).__name__
print(entries({str(place.content("data"))!r}) > 1, entries({str(place.content("other"))!r}), entries({str(place.wheels)!r}))
"""
    own, others, wheels = output(code).split()
    tap.equal(own, "True", "the control")
    tap.true(others.endswith("Error") and wheels.endswith("Error"), (others, wheels))


def test_what_is_refused_says_why():
    error = refused(call(packages="nothing"), "policy_denied", "nothing")
    for name in ("data", "other"):
        tap.contains(error["hint"], name)
    refused(call(packages="Not a name"), "invalid_input", "/packages")
    refused(call("0", language="perl"), "not_supported", "data", "python", "perl")
    error = refused(call(packages="unbuilt"), "environment_changed", "unbuilt", "not built")
    tap.contains(error["hint"], "toolhost env build unbuilt")
    tap.equal(output(packages="system", code="print(1)"), "1", "the machine's own need nothing")


def test_mode_none_has_none():
    def case():
        refused(call(), "not_supported", "mode none")
        tap.equal(output("print(1)", None), "1", "the control")
        code, answer = ask(provider, "check", "data")
        tap.equal((code, answer["environments"][0]["state"]), (OK, "unusable"), answer)
    provider.with_policy({"modes": {"default": "none", "allowed": ["none"]}, "capabilities": [*GRANTS, "sandbox.exec.mode.none"]}, case)


def test_a_narrowing_without_the_language_offers_none():
    def context(**narrowing):
        return Host(RIGHTS, context={"principal": "ann", "policy": narrowing})
    tap.equal(output(host=context(languages=["python", "sh"])), "1", "the control")
    refused(call(host=context(languages=["sh"])), "language_not_allowed")
    tap.equal(output(f"python3 -c '{CODE}'", language="sh", host=context(languages=["sh"])), "1", "a shell's programs are not its languages")


class Person:
    def __init__(self, decision="allow_session"):
        self.decision, self.asked = decision, []
        self.host = Host(RIGHTS, context={"principal": "ann", "session": "talk"}, request_approval=self.ask)

    def ask(self, token, request, _verdict):
        self.asked.append(json.loads(request))
        tap.equal(provider.reply(token, {"decision": self.decision, "approver": "bob"}), ACCEPTED)


def replace(name, files):
    """Another wheel of the same version, and a lock file that names it."""
    wheel = make_wheel(place.wheels, f"{name}_package", files)
    place.write_lock(name, requirement(wheel, f"{name}_package"))


def test_an_approval_is_of_the_content():
    place.add("asked", {"answer.py": "value = 'one'\n"}, description="what a person reads")

    def case():
        first = build("asked")["sha256"]
        person = Person()
        tap.equal(output(packages="asked", host=person.host), "one")
        tap.equal(output(packages="asked", host=person.host), "one")
        tap.equal(len(person.asked), 1, "the control: the same content was approved for the conversation")
        shown = json.dumps(person.asked[0])
        for part in ("asked", first, "what a person reads"):
            tap.contains(shown, part)
        replace("asked", {"answer.py": "value = 'two'\n"})
        refused(call(packages="asked", host=person.host), "environment_changed", "another lock file")
        second = build("asked")["sha256"]
        tap.true(first != second, "other content")
        tap.equal(output(packages="asked", host=person.host), "two")
        tap.equal(len(person.asked), 2, "the new content is asked about")
        tap.contains(json.dumps(person.asked[1]), second)
        tap.true(person.asked[0]["request_sha256"] != person.asked[1]["request_sha256"], "the hash follows the content")
    provider.with_policy({"approval": {"default": "ask"}, **place.policy()}, case)


def test_the_audit_names_the_content():
    host = Host(RIGHTS)
    output(host=host)
    tap.equal([record["packages"] for record in host.records], [{"name": "data", "sha256": digests["data"]}] * 2)
    host = Host(RIGHTS)
    output("print(1)", None, host=host)
    tap.equal([record["packages"] for record in host.records], [None] * 2, "the control")


def test_a_session_keeps_its_set():
    place.add("kept", {"answer.py": "value = 'old'\n", "later.py": "value = 'old'\n"})

    def case():
        old = build("kept")["sha256"]
        session = succeeded(call(packages="kept", session="new"))["session"]["id"]
        replace("kept", {"answer.py": "value = 'new'\n", "later.py": "value = 'new'\n"})
        new = build("kept")["sha256"]
        result = succeeded(call("import later; print(later.value)", None, session=session))
        tap.equal((result["stdout"], result["packages"]["sha256"]), ("old\n", old))
        refused(call(packages="kept", session=session), "invalid_input", "set of packages")
        tap.equal(output("print(later.value)", None, session=session), "old", "and it goes on")
        result = succeeded(call(packages="kept", session="new"))
        tap.equal((result["stdout"], result["packages"]["sha256"]), ("new\n", new), "a new one has the new set")
    provider.with_policy(place.policy(), case)


def in_new_process(packages):
    """The exit status and the error's code of a run in a gateway of its own."""
    with gateway("policy, request = map(json.loads, sys.argv[1:])\nprovider = Provider(policy)\n"
                 "code, result = provider.invoke(request, Host())\n"
                 "print(json.dumps([result['error'] and result['error']['code'], result['stdout'], result['error'] and result['error']['message']]))\n",
                 arguments=[json.dumps(provider.policy), json.dumps({"language": "python", "code": CODE, "packages": packages})]) as process:
        return json.loads(process.communicate()[0])


def expect_changed(name, change, *parts):
    """Used, changed: refused where it has been used already, and in a new process; another build repairs it."""
    tap.equal(output(packages=name), "1", "the control")
    change(place.content(name))
    tap.eventually(lambda: call(packages=name)[1]["error"], "it is noticed, within a second at most")
    refused(call(packages=name), "environment_changed", name, *parts)
    code, _, message = in_new_process(name)
    tap.equal(code, "environment_changed", message)
    code, answer = ask(provider, "check", name)
    [state] = answer["environments"]
    tap.equal((code, state["state"]), (OK, "unusable"), state)
    for part in parts:
        tap.contains(state["problem"], part)
    build(name)
    tap.equal(output(packages=name), "1", "built anew")
    tap.equal(in_new_process(name)[:2], [None, "1\n"])


def rewrite(path):
    """Another content of the same length and times."""
    status = path.stat()
    path.chmod(0o644)
    path.write_text(path.read_text().replace("1", "3"))
    path.chmod(0o444)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def add_file(content):
    content.chmod(0o755)
    (content / "sitecustomize.py").write_text("print('added')\n")
    content.chmod(0o555)


def remove_file(content):
    content.chmod(0o755)
    (content / "answer.py").unlink()
    content.chmod(0o555)


def make_executable(content):
    (content / "answer.py").chmod(0o555)


def test_a_changed_file_is_refused():
    expect_changed("data", lambda content: rewrite(content / "answer.py"), "answer.py")


def test_an_added_file_is_refused():
    expect_changed("data", add_file, "sitecustomize.py")


def test_a_removed_file_is_refused():
    expect_changed("data", remove_file, "answer.py")


def test_another_mode_is_refused():
    expect_changed("data", make_executable, "answer.py")


def test_a_set_that_is_gone_is_refused():
    expect_changed("data", lambda content: content.rename(content.with_name("away")))
    away = place.path / "away"
    build("data")
    place.set_of("data").rename(away)
    tap.eventually(lambda: call()[1]["error"], "it is noticed, within a second at most")
    refused(call(), "environment_changed", "data")
    away.rename(place.set_of("data"))
    tap.equal(output(), "1", "put back")


def test_a_link_to_something_else_is_refused():
    link, own = place.link("data"), os.readlink(place.link("data"))
    for target in (place.set_of("other").name, "sha256-" + "0" * 64, "../elsewhere", str(place.set_of("data"))):
        link.unlink()
        link.symlink_to(target)
        of_other = target == place.set_of("other").name  # whose lock file is another one
        refused(call(), "environment_changed", "another lock file" if of_other else "data")
    link.unlink()
    link.symlink_to(own)
    tap.equal(output(), "1", "the control")


def test_another_lock_file_is_refused():
    text = place.lock("data").read_text()
    place.write_lock("data", "# a remark\n" + text)
    refused(call(), "environment_changed", "another lock file")
    build("data")
    tap.equal(output(), "1", "built anew")
    place.write_lock("data", text)
    build("data")
    tap.equal(output(), "1")


def test_a_copy_is_compared_and_taken():
    """Other inodes, as after a restored backup: every file is compared, once."""
    own, copy = place.set_of("data"), place.path / "copy"
    before = (own / "content" / "answer.py").stat().st_ino
    shutil.copytree(own, copy, symlinks=True)
    own.rename(place.path / "original")
    copy.rename(own)
    tap.true((own / "content" / "answer.py").stat().st_ino != before, "another file")
    tap.equal(in_new_process("data")[:2], [None, "1\n"])
    tap.equal(output(), "1")
    rewrite(own / "content" / "answer.py")
    tap.equal(in_new_process("data")[0], "environment_changed", "the control: it is compared")
    build("data")


def test_a_policy_can_name_the_content():
    def with_pin(sha256, case):
        provider.with_policy({"environments": {"data": {"sha256": sha256}}}, case)
    with_pin(digests["data"], lambda: tap.equal(output(), "1"))
    with_pin("0" * 64, lambda: refused(call(), "environment_changed", "sha256"))


def test_each_set_is_in_the_words_for_a_model():
    code, answer = provider.prepare(offer={"capabilities": list(GRANTS)})
    tap.equal(code, OK, answer)
    words = json.dumps(answer)
    for part in ("the first of all", "data (python)", "other (python)"):
        tap.contains(words, part)


# Whether a set is what was built is found out before a mode has a part in it.
OF_THE_GATEWAY = ["an_approval_is_of_the_content", "the_audit_names_the_content", "a_changed_file_is_refused", "an_added_file_is_refused",
                  "a_removed_file_is_refused", "another_mode_is_refused", "a_set_that_is_gone_is_refused", "a_link_to_something_else_is_refused",
                  "another_lock_file_is_refused", "a_copy_is_compared_and_taken", "a_policy_can_name_the_content",
                  "each_set_is_in_the_words_for_a_model", "a_narrowing_without_the_language_offers_none"]
# As an ordinary user all the same: its own files are read.
READ = ["a_changed_file_is_refused", "a_copy_is_compared_and_taken"]
ORDINARY = os.environ.get("PROCESS_TEST_UID", "0") != "0"
run_but([name for name in OF_THE_GATEWAY if name not in READ] if MODE == "process" and ORDINARY else OF_THE_GATEWAY if MODE != "process" else [],
        globals())
