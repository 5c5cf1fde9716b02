# SPDX-License-Identifier: Apache-2.0
"""Sets of packages on a real engine: they are in an image that is made once, read-only, each apart from the others.
By hand: scripts/with-engine tests/docker/test_real_packages.py"""
import atexit
import glob
import hashlib
import io
import json
import os
import pathlib
import sys
import tempfile
import threading
import urllib.parse
import zipfile

os.environ["CODE_EXECUTE_TEST_MODE"] = "docker"
ROOT = pathlib.Path(__file__).parents[2]
os.environ.setdefault("CODE_EXECUTE_SO", str(ROOT / "build" / "plugin" / "code_execute.so"))
sys.path.insert(0, str(ROOT / "tests" / "support"))
import engine
import tap
from engine import ask
from modes import Provider, merged
from packages import made_package_sets
from provider import OK, Host
from servers import upstream

if not pathlib.Path(os.environ["CODE_EXECUTE_SO"]).with_name("code-execute-environment").exists():
    tap.skip_all("built without code-execute-environment (libarchive)")

PLACE = "/.code-execute-packages"
DERIVED = urllib.parse.quote(json.dumps({"label": ["code-execute.packages"]}))
LONG = "long-" + "n" * 90
FILES = {"given/__init__.py": "VALUE = 'given'\n", "given/data.txt": "data\n", "bin/tool": "#!/bin/sh\necho tool\n", "linked": ("given/data.txt",),
         f"{LONG}/{LONG}.txt": "far\n", "\u00fcn\u00ef.txt": "name\n", "empty.txt": "", "far": (f"{LONG}/{LONG}.txt",)}
RIGHTS = ("sandbox.exec", "sandbox.exec.image", "sandbox.exec.session")
SHOW = "import given; print(given.VALUE, given.__file__)"

provider = Provider()
place = tempfile.TemporaryDirectory(prefix="code-execute-sets-")
DIRECTORY = pathlib.Path(place.name)
DIRECTORY.chmod(0o755)
IMAGE_ID = json.loads(ask(f"/images/{engine.IMAGE}/json"))["Id"]
IMAGES = {IMAGE_ID: engine.IMAGE}


def made(name="data", files=None, images=None, **environment):
    """A policy with a set of these files, and its hash."""
    policy, sha256 = made_package_sets.make(DIRECTORY, FILES if files is None else files, name=name, images=images or IMAGES)
    policy["environments"][name].update(environment)
    return policy, sha256


def run(code=SHOW, packages="data", **members):
    return provider.invoke({"language": "python", "code": code, "packages": packages, **members}, Host(RIGHTS))[1]


def completes(code=SHOW, packages="data", **members):
    output = run(code, packages, **members)
    tap.equal((output["status"], output["exit_code"]), ("completed", 0), output["error"] or output["stderr"])
    return output


def images():
    """The images with packages: {id: hash}."""
    return {image["Id"]: image["Labels"]["code-execute.packages"] for image in json.loads(ask(f"/images/json?filters={DERIVED}"))}


@atexit.register
def remove_images():
    """Another test of this engine counts those that are made from the test's image."""
    provider.reset()
    tap.within(lambda: not engine.containers(), 20)
    for _ in range(4):  # those that others are made from come later
        for identity in set(images()) - THERE:
            ask(f"/images/{identity}?force=1&noprune=1", "DELETE")


def images_of(sha256):
    return [identity for identity, own in images().items() if own == sha256]


THERE = set(images())


def under(policy, case):
    return provider.with_policy(policy, case)


def test_a_run_sees_its_packages():
    policy, sha256 = made()

    def case():
        output = completes()
        tap.equal(output["stdout"], f"given {PLACE}/given/__init__.py\n")
        tap.equal(output["packages"]["sha256"], sha256)
        tap.equal(output["isolation"]["details"]["image_id"], IMAGE_ID)
        output = run("import given", packages=None)
        tap.true(output["exit_code"] != 0, "a run without the set has them too")
    under(policy, case)


def test_the_content_is_whole():
    policy, sha256 = made()
    code = f"""
import hashlib, os
def entries(top):
    for name in sorted(os.listdir(os.fsencode(top))):
        path = os.path.join(os.fsencode(top), name)
        yield path
        if os.path.isdir(path) and not os.path.islink(path):
            yield from entries(path)
text = b""
for path in entries("{PLACE}"):
    name, status = os.path.relpath(path, b"{PLACE}"), os.lstat(path)
    assert status.st_uid == status.st_gid == 0 and int(status.st_mtime) == {made_package_sets.TIME}, (name, status)
    if os.path.islink(path):
        text += b"l %d %s %s\\n" % (len(os.readlink(path)), os.readlink(path), name)
    elif os.path.isdir(path):
        assert status.st_mode & 0o7777 == 0o555, (name, status)
        text += b"d %s\\n" % name
    else:
        mode, content = status.st_mode & 0o7777, open(path, "rb").read()
        assert mode in (0o444, 0o555), (name, status)
        text += b"%s %d %s %s\\n" % (b"x" if mode == 0o555 else b"f", len(content), hashlib.sha256(content).hexdigest().encode(), name)
print(hashlib.sha256(text).hexdigest())
"""
    under(policy, lambda: tap.equal(completes(code)["stdout"].strip(), sha256))


def test_they_cannot_be_written():
    policy, _ = made()
    code = f"""
import os
for what in (lambda: open("{PLACE}/new", "w"), lambda: open("{PLACE}/given/__init__.py", "a"), lambda: os.chmod("{PLACE}/given", 0o777),
             lambda: os.unlink("{PLACE}/linked"), lambda: os.rename("{PLACE}", "/x")):
    try:
        what()
    except OSError as error:
        print("refused")
open("/tmp/new", "w").write("control")
print("control")
"""
    under(policy, lambda: tap.equal(completes(code)["stdout"], "refused\n" * 5 + "control\n"))


def test_the_image_is_made_once():
    policy, sha256 = made(files={**FILES, "once.txt": "once"})
    tap.equal(images_of(sha256), [])

    def several():
        outputs = []
        threads = [threading.Thread(target=lambda: outputs.append(completes())) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        tap.equal(len(outputs), 3)
        tap.equal(len(images_of(sha256)), 1)
    under(policy, several)
    [first] = images_of(sha256)
    under(policy, completes)  # by another backend
    tap.equal(images_of(sha256), [first])


def test_another_gateway_that_may_not_note_it_makes_its_own():
    """What an image's labels say is no proof: its layer has to be known."""
    policy, sha256 = made(files={**FILES, "noted.txt": "noted"})
    under(policy, completes)
    [first] = images_of(sha256)
    layers = made_package_sets.directory(policy, sha256) / "layers"
    [layer] = layers.read_text().split()
    tap.equal(json.loads(ask(f"/images/{first}/json"))["RootFS"]["Layers"][-1], layer)
    layers.write_text("sha256:" + "0" * 64 + "\n")
    under(policy, completes)
    tap.equal(len(images_of(sha256)), 2)
    tap.contains(layers.read_text(), layer)


def test_a_forged_image_is_not_taken():
    policy, sha256 = made(files={**FILES, "forged.txt": "forged"})
    other, other_sha256 = made("other", files={"given.py": "VALUE = 'forged'\n"})
    under(merged(policy, other), lambda: completes(packages="other"))
    [forged] = images_of(other_sha256)
    labels = json.loads(ask(f"/images/{forged}/json"))["Config"]["Labels"]
    container = json.loads(ask("/containers/create", "POST", {"Image": forged, "Cmd": ["none"]}))["Id"]
    status, said = engine.answer(f"/commit?container={container}", "POST", {"Labels": {**labels, "code-execute.packages": sha256}})
    ask(f"/containers/{container}?force=1", "DELETE")
    tap.equal(status, 201, said)
    tap.equal(len(images_of(sha256)), 1)
    tap.contains(under(policy, completes)["stdout"], "given ")
    tap.equal(len(images_of(sha256)), 2)


def test_two_sets_side_by_side():
    one, _ = made()
    other, _ = made("other", files={"other.py": "VALUE = 'other'\n", "given.py": "VALUE = 'another'\n"})

    def case():
        for _ in range(2):
            tap.contains(completes()["stdout"], "given /")
            tap.contains(completes(packages="other")["stdout"], "another /")
            tap.equal(run("import other")["exit_code"], 1)
    under(merged(one, other), case)


def test_a_removed_set_is_refused():
    policy, sha256 = made(files={**FILES, "removed.txt": "removed"})
    under(policy, completes)
    made_package_sets.remove(made_package_sets.directory(policy, sha256))
    tap.equal(under(policy, run)["error"]["code"], "environment_changed")
    tap.equal(len(images_of(sha256)), 1)


def test_a_changed_set_is_refused():
    policy, sha256 = made(files={**FILES, "changed.txt": "changed"})
    under(policy, completes)
    changed = made_package_sets.directory(policy, sha256) / "content/given/data.txt"
    changed.chmod(0o644)
    changed.write_text("DATA\n")
    changed.chmod(0o444)
    # At once, or within a second where the kernel tells of no changes.
    refused = []
    tap.eventually(lambda: refused.append(under(policy, run)["error"]) or refused[-1], "it is refused", 20)
    tap.equal(refused[-1]["code"], "environment_changed")
    tap.contains(refused[-1]["message"], "given/data.txt")


def test_what_is_put_into_an_image_has_the_hash_of_the_set():
    """Beyond what the gateway looks at: these are files as they were built, by their stamp, and not those of the set's name."""
    wrong = "0123456789abcdef" * 4
    policy, _ = made_package_sets.make(DIRECTORY, FILES, name="data", images=IMAGES, sha256=wrong)
    error = under(policy, run)["error"]
    tap.equal(error["code"], "environment_changed")
    tap.contains(error["message"], "not the ones that were built")
    tap.equal(images_of(wrong), [])
    engine.none_left()
    tap.equal([container for container in json.loads(ask("/containers/json?all=1")) if "code-execute-image" in container["Names"][0]], [])


def test_a_set_of_another_image_is_refused():
    policy, _ = made(files={**FILES, "image.txt": "image"})
    with engine.image_with({"usr/local/share/more": b"more"}) as name:
        offered = merged(policy, {"docker": {"offered": [name]}})
        under(offered, lambda: tap.contains(completes()["stdout"], "given /"))
        under(offered, lambda: tap.equal(completes("print(1)", packages=None, image=name)["stdout"], "1\n"))
        error = under(offered, lambda: run(image=name))["error"]
        tap.equal(error["code"], "environment_changed")
        tap.contains(error["message"], "another image")


def test_a_pruned_image_is_made_anew():
    policy, sha256 = made(files={**FILES, "pruned.txt": "pruned"})

    def case():
        completes()
        [first] = images_of(sha256)
        engine.none_left()
        guest = json.loads(ask(f"/images/{first}/json"))["Parent"]
        ask(f"/images/{first}?force=1&noprune=1", "DELETE")
        if guest:
            ask(f"/images/{guest}?force=1&noprune=1", "DELETE")  # refused where other sets are of it
        tap.equal(images_of(sha256), [])
        tap.contains(completes()["stdout"], "given ")
        tap.equal(len(images_of(sha256)), 1)
    under(merged(policy, {"pools": {"docker": {"ready": 0}}}), case)


def test_a_session_has_them():
    policy, _ = made()

    def case():
        output = completes("import given", session="new")
        identity = output["session"]["id"]
        tap.equal(completes("print(given.VALUE)", None, session=identity)["stdout"], "given\n")
        output = completes("import sys; print('given' in sys.modules, __import__('given').VALUE)", session=identity)
        tap.equal(output["stdout"], "True given\n")
        tap.true(run("1", "other", session=identity)["error"], "another set in the same session")
    under(merged(policy, {"sessions": {"max_total": 2}}), case)


def test_a_waiting_interpreter_has_imported_them():
    module = "import sys\nAHEAD = not hasattr(sys.modules['__main__'], '__file__')\n"
    policy, _ = made("ahead", files={"slow.py": module}, prepare=["slow"])
    code = "import sys; print('slow' in sys.modules); import slow; print(slow.AHEAD)"

    def case():
        tap.equal(completes(code, packages="ahead")["stdout"], "False\nFalse\n", "control: one that was started for its run")
        tap.eventually(lambda: provider.pool("docker")[1]["python"]["ready"] == 1, "one waits", 30)
        tap.equal(completes(code, packages="ahead")["stdout"], "True\nTrue\n")
        tap.equal(completes("import sys; print('slow' in sys.modules)", packages=None)["stdout"], "False\n")
    under(merged(policy, {"pools": {"docker": {"ready": 1}}}), case)


def test_packages_of_javascript():
    """A set of another language, in an image of its own interpreter."""
    files = engine.files_of_node()
    if not files:
        raise tap.Skip("no Node in the machine's own directories of programs")
    with engine.image_of(files) as name:
        identity = json.loads(ask(f"/images/{name}/json"))["Id"]
        module = {"node_modules/given/package.json": '{"name": "given", "main": "main.js"}', "node_modules/given/main.js": "exports.value = 'given';\n"}
        policy, _ = made_package_sets.make(DIRECTORY, module, "javascript", "web", {identity: name})

        def case():
            request = {"language": "javascript", "code": "console.log(require('given').value, require.resolve('given'))", "packages": "web"}
            output = provider.invoke(request, Host())[1]
            tap.equal(output["stdout"], f"given {PLACE}/node_modules/given/main.js\n", output["error"] or output["stderr"])
        under(merged(policy, {"docker": {"images": {"javascript": name}}}), case)
        engine.none_left()


def wheel(name, text):
    """The bytes of a wheel of one module."""
    packed = io.BytesIO()
    described = f"{name}-1.0.dist-info"
    files = {f"{name}.py": text, f"{described}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
             f"{described}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    files[f"{described}/RECORD"] = "".join(f"{path},,\n" for path in files) + f"{described}/RECORD,,\n"
    with zipfile.ZipFile(packed, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return packed.getvalue()


class Index(upstream.Handler):
    """Of one wheel."""
    WHEEL = wheel("built", "VALUE = 'built'\n")

    def do_GET(self):
        self.server.asked.append(self.path)
        if self.path.startswith("/simple/built"):
            self.answer(200, b'<a href="../../files/built-1.0-py3-none-any.whl">built-1.0-py3-none-any.whl</a>', "text/html")
        else:
            self.answer(200, self.WHEEL, "application/octet-stream")


def with_pip():
    """The machine's pip as files of an image whose Python is the machine's."""
    [found, *_] = [*glob.glob("/usr/share/python-wheels/pip-*.whl"), None]
    if not found:
        raise tap.Skip("no wheel of pip on this machine (Debian: python3-pip-whl)")
    with zipfile.ZipFile(found) as archive:
        return {f"usr/lib/python3/dist-packages/{name}": archive.read(name) for name in archive.namelist()}


def test_a_set_is_built_in_its_image():
    served = upstream.Upstream(DIRECTORY)
    served.server.RequestHandlerClass = Index
    lock = DIRECTORY / "built.lock"
    lock.write_text(f"built==1.0 --hash=sha256:{hashlib.sha256(Index.WHEEL).hexdigest()}\n")
    policy = {"endpoints": {"index": {"base_url": served.url, "private": True, "ca_file": served.ca, "preset": "pip",
                                      "allow": [{"methods": ["GET"], "paths": ["/**"]}]}},
              "environments_directory": str(DIRECTORY / "environments"),
              "environments": {"built": {"language": "python", "lock": str(lock), "endpoints": ["index"]}}}

    def case():
        status, answer = provider.prepare(environments={"action": "build", "name": "built"})
        tap.equal(status, OK, answer)
        [state] = answer["environments"]
        tap.equal((state["state"], state.get("problem")), ("ready", None))
        tap.equal((state["mode"], list(state["images"].values())), ("docker", [name]), state)
        tap.true(served.asked, "the index was asked")
        tap.equal(len(images_of(state["sha256"])), 1, "the image is there before the first run")
        layers = pathlib.Path(state["path"], "layers")
        layers.chmod(0o444)
        provider.reset()
        provider.use_policy(merged(policy, own))
        tap.equal(completes("import built; print(built.VALUE, built.__file__)", "built")["stdout"], f"built {PLACE}/built.py\n")
        tap.equal(len(images_of(state["sha256"])), 1)
        error = run("import built", "built", image=engine.IMAGE)["error"]
        tap.equal(error["code"], "environment_changed")

    with engine.image_with(with_pip()) as name:
        own = {"docker": {"images": {"python": name}, "offered": [engine.IMAGE]}}
        under(merged(policy, own), case)
        engine.none_left()


def test_a_wheelhouse_cannot_be_shown():
    policy, _ = made("wheels", wheelhouse=str(DIRECTORY))

    def case():
        status, answer = provider.prepare(environments={"action": "build", "name": "wheels"})
        tap.contains(json.dumps(answer), "wheelhouse")
        tap.true(status != OK or "not_supported" in json.dumps(answer), answer)
    under(policy, case)


tap.run(globals())
