# SPDX-License-Identifier: Apache-2.0
"""Sets of packages as the operator builds them: from a wheelhouse, with hashes, by content; builds that fail, are killed, or meet; what is
taken away. What runs have of them is in ../modes/test_environments.py."""
import atexit
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import ordinary_user
import tap
from modes import ALL_THE_TIME, LONG, Provider, gateway, long_time, merged, run_but, sleeps
from packages.package_sets import Place, ask, build, make_source, make_wheel, need_programs, refusal, remove, requirement
from provider import NOT_RUN, OK, Host

user = int(os.environ.get("PROCESS_TEST_UID", "0"))
if user and not LONG:
    tap.skip_all("once more as an ordinary user, who builds in test_environment_attacks.py too: CODE_EXECUTE_TEST_LONG=1")
ordinary_user.become(user)
need_programs()
TOOLHOST = os.environ["TOOLHOST"]
place = Place()
atexit.register(place.close)
provider = Provider(ALL_THE_TIME)
FILES = {"answer.py": "value = 1\n", "folder/__init__.py": "", "folder/data.txt": "text\n"}


def use(**more):
    provider.reset()
    tap.equal(provider.use_policy(merged(place.policy(), more)), OK)


def begin(files=None, name="data", **more):
    """A place with that environment alone, under a policy that has it."""
    place.clear()
    place.add(name, files or FILES, **more)
    use()


def output(name, code="import answer; print(answer.value)"):
    status, result = provider.invoke({"language": "python", "code": code, "packages": name}, Host())
    tap.equal((status, result["error"], result["exit_code"]), (OK, None, 0), result)
    return result["stdout"].strip()


def not_built(name, *parts, code="environment_not_built"):
    """Refused, with these words; nothing of it is left, and what was there is as it was."""
    before = sorted(os.listdir(place.all))
    status, answer = ask(provider, "build", name)
    error = refusal(answer)
    tap.equal((status, error["code"]), (NOT_RUN, code), error)
    for part in (f'"{name}"', *parts):
        tap.contains(error["message"], part)
    tap.equal(sorted(os.listdir(place.all)), before, "what is left")
    return error


def replace(name, files):
    wheel = make_wheel(place.wheels, f"{name}_package", files)
    place.write_lock(name, requirement(wheel, f"{name}_package"))


def test_the_content_names_the_set():
    begin()
    first = build(provider, "data")
    inode = place.set_of("data").stat().st_ino
    again = build(provider, "data")
    tap.equal((again["sha256"], again["path"], place.set_of("data").stat().st_ino), (first["sha256"], first["path"], inode))
    tap.equal(place.sets(), [f"sha256-{first['sha256']}"])
    remove(place.set_of("data"))
    place.link("data").unlink()
    tap.equal(build(provider, "data")["sha256"], first["sha256"], "built from nothing")
    tap.equal([(package["name"], package["version"]) for package in first["packages"]], [("data_package", "1.0")])
    replace("data", {**FILES, "answer.py": "value = 2\n"})
    other = build(provider, "data")
    tap.true(other["sha256"] != first["sha256"], "the control: another file")
    tap.equal(place.sets(), sorted(f"sha256-{state['sha256']}" for state in (first, other)), "runs may have the old one")


def test_each_package_s_hash_is_told():
    begin()
    [package] = build(provider, "data")["packages"]
    text = place.lock("data").read_text()
    tap.contains(text, f"sha256:{package['sha256']}")
    # Of two the one that it has: a lock file has one for each machine.
    place.write_lock("data", text.replace(" --hash", " \\\n    --hash=sha256:" + "0" * 64 + " \\\n    --hash"))
    tap.equal(build(provider, "data")["packages"], [package])


def test_environments_of_one_content_share_it():
    begin()
    place.add("same", FILES, package="data_package", description="the same")
    use()
    tap.equal(build(provider, "data")["sha256"], build(provider, "same")["sha256"])
    tap.equal((output("data"), output("same"), len(place.sets())), ("1", "1", 1))


def test_lock_files_of_one_content_are_all_good():
    """What was built from one is not in the way of what was built from the other, and a third one is still another one."""
    begin()
    place.environments["more"] = {**place.environments["data"], "lock": str(place.lock("more"))}
    place.write_lock("more", "# the same, in other words\n" + place.lock("data").read_text())
    use()
    tap.equal(build(provider, "data")["sha256"], build(provider, "more")["sha256"])
    tap.equal([output("data"), output("more")], ["1", "1"])
    place.write_lock("more", "# once more\n" + place.lock("data").read_text())
    _, result = provider.invoke({"language": "python", "code": "1", "packages": "more"}, Host())
    tap.equal(result["error"]["code"], "environment_changed", result)
    tap.equal(output("data"), "1")


def test_nobody_can_write_to_it():
    begin()
    build(provider, "data")
    for path in (place.content("data"), *place.content("data").rglob("*")):
        tap.equal(path.stat().st_mode & 0o7222, 0, path)


def toolhost(*words, policy, status=0):
    file = place.path / "policy.json"
    file.write_text(json.dumps(policy))
    done = subprocess.run([TOOLHOST, "env", *words, "--policy", str(file)], capture_output=True, text=True, check=False)
    tap.equal(done.returncode, status, done.stdout + done.stderr)
    return done.stdout + done.stderr


def test_the_command_builds_checks_lists_and_collects():
    begin(description="of the test")
    policy = place.policy()
    text = toolhost("list", policy=policy)
    tap.contains(text, "data (python): unusable")
    tap.contains(text, "toolhost env build data")
    tap.contains(toolhost("build", "data", policy=policy), "data (python): ready")
    text = toolhost("check", "data", policy=policy)
    for part in ("ready", "of the test", "data_package 1.0", str(place.set_of("data"))):
        tap.contains(text, part)
    tap.contains(toolhost("gc", policy=policy), "nothing to remove")
    content = place.content("data")
    (content / "folder").chmod(0o755)
    (content / "folder" / "data.txt").unlink()
    (content / "folder").chmod(0o555)
    tap.contains(toolhost("check", policy=policy, status=1), "folder/data.txt")
    toolhost("build", "nothing", policy=policy, status=1)
    toolhost("build", policy=policy, status=2)


def test_a_lock_file_needs_hashes():
    begin()
    place.write_lock("data", "data_package==1.0\n")
    not_built("data", "hash")
    replace("data", FILES)
    build(provider, "data")


def test_a_lock_file_that_is_no_text():
    """And the gateway's own descriptors are as they were."""
    begin()
    place.lock("data").write_bytes(b"data_package==1.0 \xff\xfe\n")
    before = sorted((entry, os.readlink(f"/proc/self/fd/{entry}")) for entry in ("0", "1", "2"))
    for _ in range(3):
        not_built("data", "no UTF-8 text")
    tap.equal(sorted((entry, os.readlink(f"/proc/self/fd/{entry}")) for entry in ("0", "1", "2")), before, "descriptors")


def test_a_wheel_needs_its_hash():
    begin()
    make_wheel(place.wheels, "data_package", {**FILES, "answer.py": "value = 3\n"})
    not_built("data", "Expected sha256")


def test_what_is_not_there_is_told():
    begin()
    next(place.wheels.iterdir()).unlink()
    not_built("data", "data_package")
    place.lock("data").unlink()
    not_built("data", "data.lock", code="environment_changed")
    status, answer = ask(provider, "build", "nothing")
    tap.equal((status, refusal(answer)["code"]), (NOT_RUN, "invalid_input"))
    place.add("none", FILES)
    del place.environments["none"]["wheelhouse"]
    use()
    tap.contains(not_built("none", "nothing that the packages could come from")["hint"], "wheelhouse")


def test_paths_that_lead_out_are_refused():
    for number, path in enumerate(("../outside.py", "folder/../../outside.py", "/outside.py")):
        begin({**FILES, path: "value = 1\n"}, name=f"out{number}")
        status, answer = ask(provider, "build", f"out{number}")
        if status == OK:  # the package manager took it as one within
            found = [str(entry.relative_to(place.content(f"out{number}"))) for entry in place.content(f"out{number}").rglob("*")]
            tap.true("outside.py" in found and path == "/outside.py", found)
        else:
            tap.equal(refusal(answer)["code"], "environment_not_built", answer)
        tap.equal([entry for entry in place.path.rglob("outside.py") if place.all not in entry.parents], [])
        tap.true(not os.path.exists("/outside.py"), "on the machine")
    begin()
    build(provider, "data")


def test_limits_are_kept():
    begin({**FILES, "large.bin": bytes(3 << 20)}, bytes=1 << 20)
    not_built("data", "bytes")
    begin({**FILES, **{f"folder/{number}.txt": "" for number in range(40)}}, inodes=16)
    not_built("data", "files")
    begin({**FILES, "large.bin": bytes(3 << 20), **{f"folder/{number}.txt": "" for number in range(40)}})
    build(provider, "data")


def test_a_failed_build_leaves_the_last_one():
    begin()
    build(provider, "data")
    lock = place.lock("data").read_text()
    place.write_lock("data", "data_package==2.0 --hash=sha256:" + "0" * 64 + "\n")
    not_built("data", "data_package")
    place.write_lock("data", lock)
    tap.equal(output("data"), "1")


BACKEND = '''import os, subprocess, sys, zipfile
EFFECT
def build_wheel(directory, config_settings=None, metadata_directory=None):
    name = "data_package-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, name), "w") as archive:
        archive.writestr("answer.py", "value = 'from source'\\n")
        archive.writestr("data_package-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: data_package\\nVersion: 1.0\\n")
        archive.writestr("data_package-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr("data_package-1.0.dist-info/RECORD", "")
    return name
'''
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


def begin_with_source(effect="", **more):
    """One whose package has to be made by code of its own."""
    begin()
    next(place.wheels.iterdir()).unlink()
    source = make_source(place.wheels, "data_package", {"pyproject.toml": PROJECT, "backend.py": BACKEND.replace("EFFECT", effect)})
    place.write_lock("data", requirement(source, "data_package"))
    place.environments["data"].update(more)
    use()


def test_a_source_is_built_only_where_the_policy_says_so():
    begin_with_source()
    not_built("data", "data_package")
    begin_with_source(build_scripts=True)
    state = build(provider, "data")
    tap.equal((state["build_scripts"], output("data")), (True, "from source"))


BUILDER = ("from packages import package_sets\nprovider = Provider(json.loads(sys.argv[1]))\n"
           "print(json.dumps(package_sets.ask(provider, 'build', sys.argv[2])))\n")


def builder(name, policy=None):
    """A gateway of its own that builds it."""
    return gateway(BUILDER, arguments=[json.dumps(policy or merged(ALL_THE_TIME, place.policy())), name])


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_a_builder_that_is_killed_is_in_nobody_s_way():
    """While the package manager runs."""
    argument = long_time()
    begin_with_source(f"subprocess.run(['sleep', '{argument}'])", build_scripts=True)
    process = builder("data")
    tap.eventually(lambda: sleeps(argument), "it builds", 60)
    kill(process)
    tap.eventually(lambda: not sleeps(argument), "its sandbox ends with it", 60)
    tap.equal(os.listdir(place.all), [])
    begin_with_source(build_scripts=True)
    build(provider, "data")
    tap.equal(output("data"), "from source")


def test_one_that_is_killed_while_it_installs():
    begin({**FILES, **{f"many/{number}.txt": str(number) * 100 for number in range(3000)}})
    process = builder("data")
    tap.eventually(lambda: os.listdir(place.all), "it installs", 60)
    kill(process)
    left = [name for name in place.sets() if name.startswith("building-")]
    build(provider, "data")
    tap.equal(output("data"), "1")
    tap.equal(os.listdir(place.content("data") / "many").count("7.txt"), 1)
    for name in left:  # which gc takes for under construction, for a day
        tap.equal(ask(provider, "gc")[1]["removed"], [])
        age(place.all / name, 2 * 86400)
    tap.equal(ask(provider, "gc")[1]["removed"], left)


def test_builds_at_the_same_time():
    begin({**FILES, **{f"many/{number}.txt": str(number) for number in range(300)}})
    place.add("other", {"answer.py": "value = 2\n"})
    use()
    processes = [builder(name) for name in ("data", "data", "other")]
    for process in processes:
        status, answer = json.loads(process.communicate()[0])
        tap.equal((status, answer.get("error")), (OK, None))
    tap.equal(len(place.sets()), 2, place.sets())
    tap.equal((output("data"), output("other")), ("1", "2"))
    tap.equal(sorted(os.listdir(place.all)), sorted([*place.sets(), "data.process", "other.process"]))


def test_a_build_waits_for_no_run():
    """A session has its memory while nobody uses it."""
    begin()
    use(sessions={"max_total": 1}, capabilities=["sandbox.exec", "sandbox.exec.session"])
    _, result = provider.invoke({"language": "python", "code": "1", "session": "new"}, Host(("sandbox.exec", "sandbox.exec.session")))
    tap.equal(result["session"]["state"], "kept", result)
    build(provider, "data")


def age(path, seconds):
    os.utime(path, (time.time() - seconds,) * 2)


def test_what_nobody_needs_is_taken_away():
    place.clear()
    sets = []
    for name, value in (("other", 2), ("data", 1), ("data", 3), ("data", 4)):
        place.install(name, {"answer.py": f"value = {value}\n"})
        sets.append(place.set_of(name))
    other, oldest, young, current = sets
    use(sessions={"age_ms": 3600000}, limits={"wall_ms": {"default": 1000, "max": 60000}})
    tap.equal(ask(provider, "gc")[1]["removed"], [], "all are young")
    for path in (oldest, current, other):
        age(path, 2 * 3600)
    (place.all / "something").mkdir()
    age(place.all / "something", 10 * 86400)
    building = [place.all / name for name in ("building-young0", "building-old000")]
    for path in building:
        path.mkdir()
    age(building[1], 2 * 86400)
    del place.environments["other"]  # another policy may have it: its link is there
    use(sessions={"age_ms": 3600000}, limits={"wall_ms": {"default": 1000, "max": 60000}})
    tap.equal(sorted(ask(provider, "gc")[1]["removed"]), sorted([oldest.name, "building-old000"]))
    tap.equal([path.exists() for path in (oldest, young, current, other, building[0], place.all / "something")],
              [False, True, True, True, True, True])
    tap.equal(output("data"), "4")


def test_a_set_that_was_changed_is_replaced():
    begin()
    build(provider, "data")
    content = place.content("data")
    inode = place.set_of("data").stat().st_ino
    (content / "answer.py").chmod(0o644)
    (content / "answer.py").write_text("value = 6\n")
    build(provider, "data")
    tap.equal(output("data"), "1")
    tap.true(place.set_of("data").stat().st_ino != inode, "another directory")
    tap.equal(len(place.sets()), 1, "what was changed is gone")


# What a package manager, a lock file and a policy say is the same whoever asks; what is installed and removed is that user's.
SAME_FOR_ALL = ["each_package_s_hash_is_told", "environments_of_one_content_share_it", "lock_files_of_one_content_are_all_good",
                "the_command_builds_checks_lists_and_collects", "a_lock_file_needs_hashes", "a_lock_file_that_is_no_text", "a_wheel_needs_its_hash",
                "what_is_not_there_is_told", "limits_are_kept", "a_source_is_built_only_where_the_policy_says_so", "a_build_waits_for_no_run"]
run_but(SAME_FOR_ALL if os.environ.get("PROCESS_TEST_UID", "0") != "0" else [], globals())
