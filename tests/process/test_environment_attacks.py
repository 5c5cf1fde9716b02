# SPDX-License-Identifier: Apache-2.0
"""Code of packages, which runs in a sandbox alone: at a build not at all, or by the operator's word; at the preparation of an interpreter
and in a run as that run's user. Each attempt is made outside first, as the control: there it succeeds."""
import atexit
import json
import os
import pathlib
import subprocess
import sys

SUPPORT = pathlib.Path(__file__).parents[1] / "support"
sys.path.insert(0, str(SUPPORT))
import ordinary_user
import tap
from languages import waiting
from languages.waiting import STARTED
from modes import ALL_THE_TIME, Provider, descendants, interpreter_waits, merged
from packages.package_sets import Place, build, make_source, need_programs, requirement
from provider import OK, Host

ordinary_user.become(int(os.environ.get("PROCESS_TEST_UID", "0")))
need_programs()
place = Place()
atexit.register(place.close)
# Anybody can write there, and it is nothing that a sandbox shows.
outside = place.path / "outside"
outside.mkdir()
outside.chmod(0o777)
CANARY = "canary-of-the-gateway-5b1f"
os.environ["GATEWAY_KEY"] = CANARY
# Visible in the environment of a process that is begun after it; this one's own is as it began.
holder = subprocess.Popen(["sleep", "100000"], env={**os.environ, "GATEWAY_KEY": CANARY})
atexit.register(lambda: (holder.kill(), holder.wait()))

# Tries to leave the sandbox, and notes what came of it, where a program can print it: in the module and beside it.
ATTEMPT = f"""
import os as _os, time as _time
def _attempt():
    found = []
    for name in _os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/" + name + "/environ", "rb") as file:
                    if {CANARY!r}.encode() in file.read():
                        found.append(name)
            except OSError:
                pass
    written = []
    for path in ({str(outside)!r} + "/marker", {str(place.path)!r} + "/marker", _os.path.join(_os.path.dirname(_os.path.abspath(__file__)), "ran")):
        try:
            with open(path, "w") as file:
                file.write("x")
            written.append(path)
        except OSError:
            pass
    return {{"found": found, "written": written, "uid": _os.getuid(), "pid": _os.getpid(), "namespace": _os.stat("/proc/self/ns/pid").st_ino,
            "began": _time.clock_gettime(_time.CLOCK_MONOTONIC)}}
outcome = _attempt()
"""
INIT = ATTEMPT + "value = 1\n"
SITE = ATTEMPT + "import sys\nsys.outcome_of_site = outcome\n"
FILES = {"evil/__init__.py": INIT, "evil/plain.py": "value = 2\n", "sitecustomize.py": SITE, "usercustomize.py": SITE,
         "evil.pth": f"import sys; exec({SITE!r})\n", "evil-nspkg.pth": f"import sys; exec({SITE!r})\n", "answer.py": "value = 1\n",
         # In the place of what a build itself imports.
         "compileall.py": ATTEMPT, "tarfile.py": ATTEMPT, "json/__init__.py": ATTEMPT, "pip/__main__.py": ATTEMPT, "os.py": ATTEMPT}
provider = Provider(ALL_THE_TIME)


def use(ready=0, **more):
    provider.reset()
    tap.equal(provider.use_policy(merged(place.policy(pools={"process": {"ready": ready, "most": 0}}), more)), OK)


def begin(files, **more):
    """With an environment that is built, and nothing ready."""
    place.clear()
    place.add("data", files, **more)
    use()
    build(provider, "data")


def begin_ready(files, ready=1, **more):
    """The same of an environment that is there, with so many interpreters ready."""
    place.clear()
    place.install("data", files, **more)
    use(ready)


def run_result(code, packages="data", **more):
    status, result = provider.invoke({"language": "python", "code": code, **({"packages": packages} if packages else {}), **more}, Host())
    tap.equal((status, result["error"], result["exit_code"]), (OK, None, 0), result)
    return result


def run(code, packages="data", **more):
    return run_result(code, packages, **more)["stdout"].strip()


def markers():
    """What an attempt has left on the machine; taken away."""
    found = [path for path in (outside / "marker", place.path / "marker") if path.exists()]
    for path in found:
        path.unlink()
    return found


def expect_confined(outcome):
    """It ran in a sandbox, as another user where the gateway is root."""
    tap.equal((outcome["found"], outcome["written"]), ([], []), outcome)
    tap.true(outcome["namespace"] != os.stat("/proc/self/ns/pid").st_ino, "in a sandbox's own processes")
    tap.equal(markers(), [], "on the machine")


def test_outside_each_attempt_succeeds():
    """The control of all that follow."""
    folder = outside / "control"
    folder.mkdir()
    (folder / "evil.py").write_text(INIT)
    done = subprocess.run([sys.executable, "-c", "import evil, json; print(json.dumps(evil.outcome))"], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"})
    outcome = json.loads(done.stdout)
    tap.true(str(holder.pid) in outcome["found"], "it reads a process of the gateway's user")
    tap.equal(len(outcome["written"]), 3, outcome)
    tap.equal(len(markers()), 2)
    (folder / "ran").unlink()
    (folder / "sitecustomize.py").write_text(SITE)
    subprocess.run(["/usr/bin/python3", "-c", "0"], check=True, env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"})
    tap.true(markers() or os.path.exists("/etc/python3.11/sitecustomize.py"), "a sitecustomize at an interpreter's start")
    markers()


def test_a_build_runs_nothing():
    begin(FILES, prepare=["evil"])
    tap.equal(markers(), [])
    names = {str(path.relative_to(place.content("data"))) for path in place.content("data").rglob("*")}
    tap.equal([name for name in names if name.endswith("ran")], [], "what an import would have left beside the module")
    tap.true({"evil/__init__.py", "sitecustomize.py", "evil.pth", "compileall.py"} <= names, "the control: it is all there")


def test_a_run_is_confined():
    begin({name: text for name, text in FILES.items() if name not in ("json/__init__.py", "os.py")})
    outcome = json.loads(run("import evil, json, os\nprint(json.dumps({**evil.outcome, 'is_own': evil.outcome['pid'] == os.getpid()}))"))
    expect_confined(outcome)
    tap.true(outcome.pop("is_own"), "the run's own process")
    tap.equal(run("import answer; print(answer.value)"), "1")
    tap.equal(markers(), [])


def test_a_module_that_is_called_as_one_of_the_library():
    """It is the program's own to import; it has no say outside."""
    begin(FILES)
    status, result = provider.invoke({"language": "python", "code": "print('begun')", "packages": "data"}, Host())
    tap.equal((status, result["error"]), (OK, None), result)
    tap.equal(markers(), [])
    tap.equal(run("print('as usual')", None), "as usual", "the control: a run without packages")


def await_prepared(count=1):
    """So many interpreters are ready, as the provider says."""
    def are_ready():
        _, rows = provider.pool()
        return rows["python"]["ready"] == count if "python" in rows else False
    tap.eventually(are_ready, f"{count} ready", 60)


def test_a_preparation_is_confined():
    files = {"evil/__init__.py": INIT, "sitecustomize.py": SITE, "evil.pth": f"import sys; exec({SITE!r})\n"}
    begin_ready(files, prepare=["evil"])
    run("0")
    await_prepared()
    tap.equal(markers(), [])
    before = provider.counters()["sandboxes_ready"]
    outcome, began, pid = json.loads(run("import evil, json, os, time\nprint(json.dumps([evil.outcome, time.monotonic(), os.getpid()]))"))
    tap.equal(provider.counters()["sandboxes_ready"] - before, 1, "it was ready")
    expect_confined(outcome)
    tap.true(outcome["pid"] == pid and outcome["began"] < began, "it was imported by the run's own process")


def has_packages(pid):
    try:
        return str(place.all).encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def test_nothing_waits_outside_of_a_sandbox():
    """No interpreter that has imported a package's code is one that others are copied from."""
    begin_ready({"evil/__init__.py": INIT}, ready=2, prepare=["evil"])
    run("0")
    if os.geteuid() != 0:
        raise tap.Skip("takes root to look at a backend's processes")
    waiting.await_waiting(2, STARTED)
    own = os.stat("/proc/self/ns/pid").st_ino
    holding = [pid for pid in descendants(os.getpid()) if interpreter_waits(pid) and has_packages(pid)]
    tap.equal(len(holding), 2, "the control: those that wait are found")
    for pid in holding:
        tap.true(os.stat(f"/proc/{pid}/ns/pid").st_ino != own, f"{pid} is in a sandbox")
    tap.equal(markers(), [])


def test_prepared_modules_are_imported_before_the_run():
    text = "import os, time\nbegan, pid = time.monotonic(), os.getpid()\n"
    begin_ready({"large.py": text, "unprepared.py": text}, prepare=["large"])
    run("0")
    await_prepared()
    before = provider.counters()["sandboxes_ready"]
    order, pids = json.loads(run("import json, os, time\nbegan = time.monotonic()\nimport large, unprepared\n"
                                 "print(json.dumps([[large.began, began, unprepared.began], [large.pid, unprepared.pid, os.getpid()]]))"))
    tap.equal(provider.counters()["sandboxes_ready"] - before, 1, "it was ready")
    tap.true(order[0] < order[1] < order[2], order)
    tap.equal(len(set(pids)), 1, "in the run's process")


def test_a_prepared_module_that_fails_is_the_program_s_to_miss():
    begin_ready({"broken.py": "raise ValueError('broken')\n", "answer.py": "value = 1\n"}, prepare=["broken", "missing", "answer"])
    run("0")
    tap.equal(run("import answer; print(answer.value)"), "1")
    tap.contains(run("try:\n    import broken\nexcept ValueError as error:\n    print(error)"), "broken")


def test_two_environments_are_prepared_side_by_side():
    place.clear()
    for name, value in (("data", 1), ("other", 2)):
        place.install(name, {"answer.py": f"import os\nvalue, pid = {value}, os.getpid()\n"}, prepare=["answer"])
    use(ready=1)
    for name in ("data", "other") * 2:
        run("0", name)
    await_prepared(2)
    before = provider.counters()["sandboxes_ready"]
    tap.equal([run("import answer; print(answer.value)", name) for name in ("data", "other")], ["1", "2"])
    tap.equal(provider.counters()["sandboxes_ready"] - before, 2, "both were ready")


def test_one_that_is_prepared_is_of_the_content():
    """What waits with the old set is no run's of the new one."""
    begin({"answer.py": "value = 'old'\n"}, prepare=["answer"])
    use(ready=1)
    run("0")
    await_prepared()
    tap.equal(run("import answer; print(answer.value)"), "old", "the control")
    wheel = place.add("data", {"answer.py": "value = 'new'\n"}, prepare=["answer"])
    tap.true(wheel, "another lock file")
    build(provider, "data")
    tap.equal(run("import answer; print(answer.value)"), "new")


def resident(pid):
    return next(int(line.split()[1]) << 10 for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("RssAnon:"))


def large_ones():
    found = []
    for pid in waiting.waiting():
        try:
            found += [pid] if resident(pid) > 24 << 20 else []
        except (OSError, StopIteration):
            continue
    return found


def test_the_pool_s_memory_holds():
    """Each that waits has 24 MiB of its own: with 64 MiB for all, no more than two wait for long."""
    if os.geteuid() != 0:
        raise tap.Skip("takes root to look at a backend's processes")
    place.clear()
    place.install("data", {"large.py": "held = bytearray(24 << 20)\nheld[::4096] = b'x' * len(held[::4096])\n"}, prepare=["large"])

    def waiting_with(memory_bytes):
        provider.reset()
        pool = {"ready": 4, "most": 4, "memory_bytes": memory_bytes}
        tap.equal(provider.use_policy(merged(place.policy(), {"pools": {"process": pool}})), OK)
        for _ in range(3):
            layers = run_result("import large; print(len(large.held))")["isolation"]["details"]
        if not layers["cgroup_memory"]:
            raise tap.Skip("no control group counts memory here")
    waiting_with(1 << 30)
    tap.eventually(lambda: len(large_ones()) == 4, "the control: as many as the policy wants", 60)
    waiting_with(64 << 20)
    tap.eventually(lambda: len(large_ones()) == 2, "as many as fit", 60)
    tap.true(provider.pool()[1]["python"]["memory_bytes"] <= 64 << 20, provider.pool())


BACKEND = "import zipfile, json\n" + ATTEMPT + """
def build_wheel(directory, config_settings=None, metadata_directory=None):
    name = "data_package-1.0-py3-none-any.whl"
    info = "data_package-1.0.dist-info/"
    with zipfile.ZipFile(directory + "/" + name, "w") as archive:
        archive.writestr("outcome.json", json.dumps(outcome))
        archive.writestr("answer.py", "value = 1\\n")
        archive.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: data_package\\nVersion: 1.0\\n")
        archive.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr(info + "RECORD", "")
    return name
"""
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


def test_build_scripts_are_confined():
    place.clear()
    source = make_source(place.wheels, "data_package", {"pyproject.toml": PROJECT, "backend.py": BACKEND})
    place.write_lock("data", requirement(source, "data_package"))
    place.environments["data"] = {"language": "python", "lock": str(place.lock("data")), "wheelhouse": str(place.wheels), "build_scripts": True}
    use()
    build(provider, "data")
    outcome = json.loads((place.content("data") / "outcome.json").read_text())
    tap.equal([pathlib.Path(path).name for path in outcome.pop("written")], ["ran"], "the control: it ran, and wrote to what is its own")
    expect_confined({**outcome, "written": []})
    tap.equal(run("import answer; print(answer.value)"), "1")


tap.run(globals())
