# SPDX-License-Identifier: Apache-2.0
"""The image with the guest: made once for each image of the policy, taken only where it is what it has to be, whatever its labels say,
made anew where it is gone, and removed where nobody needs it."""
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from engine_calls import asked, call, directory, lift, provider, refusal, refused, run, slow, socket_path, timed, use_engine
from fake_engine import ARCHITECTURE, IMAGE, LAYERS, FakeEngine
from provider import Host, NOT_RUN

GUEST = pathlib.Path(os.environ["CODE_EXECUTE_SO"]).with_name("code-execute-guest")
QUICK = ("close", "garbage", "short", "chunks", "headers", "huge", "404", "500", "html")
CODES = ("backend_failed", "backend_unavailable", "sandbox_unavailable")
OTHER_LAYER = "sha256:" + "c" * 64
HOUR = 3600
BASE = {"Env": ["PATH=/bin", "A=b"], "User": "5", "Entrypoint": ["/own"], "Cmd": ["own"], "WorkingDir": "/own", "Volumes": None,
        "Healthcheck": {"Test": ["CMD", "own"]}, "OnBuild": ["RUN own"], "ExposedPorts": {"80/tcp": {}}, "Labels": {"own": "label"}}


def completes():
    output = timed()[1]
    tap.equal((output["status"], output["stdout"]), ("completed", "yes\n"), output["error"])
    return output


def steps(engine):
    """Without those that come in their own time."""
    return [step for step, _, _ in engine.requests if step not in ("list", "events", "wait", "discard", "dismiss", "remove")]


def made(**options):
    """The derived images of an engine after one call."""
    with FakeEngine(socket_path, **options) as engine:
        tap.equal(call(engine)[1]["status"], "completed")
        tap.equal(len(engine.images), 1, "images made")
        return engine.images


def used_images(engine):
    return [json.loads(body)["Image"] for step, _, body in engine.requests if step == "create"]


def test_the_guest_and_its_names_are_all_of_the_archive():
    with FakeEngine(socket_path) as engine:
        tap.equal(call(engine)[1]["status"], "completed")
        (archive,) = (body for step, _, body in engine.requests if step == "archive")
        (path,) = (path for step, path, _ in engine.requests if step == "archive")
    tap.contains(path, "archive?path=%2F")
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        entry, directory, *links = tar.getmembers()
        tap.equal((entry.name, entry.isreg(), entry.mode & 0o7777, entry.uid, entry.gid, entry.mtime),
                  (".code-execute-guest", True, 0o555, 0, 0, 0))
        tap.equal(tar.extractfile(entry).read(), GUEST.read_bytes())
        tap.equal((directory.name, directory.isdir(), directory.mode & 0o7777, directory.uid, directory.mtime), (".code-execute-installers", True, 0o755, 0, 0))
        (module,) = [link for link in links if link.isreg()]
        tap.equal((module.name, module.mode & 0o7777, tar.extractfile(module).read()),
                  (".code-execute-installers/pip.py", 0o444, (pathlib.Path(__file__).parents[2] / "plugin/interpreter/installers/pip.py").read_bytes()))
        tap.equal({(link.issym(), link.linkname, link.uid, link.mtime) for link in links if link is not module}, {(True, "/.code-execute-guest", 0, 0)})
        names = [link.name for link in links]
        tap.equal(names, sorted(f".code-execute-installers/{name}" for name in ("pip", "pip.py", "pip3", "npm", "npx", "yarn", "pnpm", "uv", "conda")))


def test_an_image_is_derived_once_and_a_later_run_asks_nothing_more():
    with FakeEngine(socket_path) as engine:
        use_engine()
        output = completes()
        tap.equal([asked(engine, step) for step in ("derive", "archive", "commit", "look")], [1, 1, 1, 1])
        tap.eventually(lambda: engine.helpers == {}, "the container of the image is removed")
        before = len(steps(engine))
        completes()
        tap.equal(steps(engine)[before:], ["image", "create", "inspect", "attach", "start"])
        (derived,) = engine.images
        tap.equal(set(used_images(engine)), {derived})
        tap.equal(output["isolation"]["details"]["image_id"], IMAGE)
        provider.reset()


def test_an_image_that_is_there_is_used():
    images = made()
    with FakeEngine(socket_path, images=images) as engine:
        output = call(engine)[1]
        tap.equal((output["status"], asked(engine, "derive"), set(used_images(engine))), ("completed", 0, set(images)))


def test_the_configuration_is_the_base_s():
    (image,) = made(base={"Config": BASE}).values()
    labels = image["Config"].pop("Labels")
    tap.equal(image["Config"], {name: value for name, value in BASE.items() if name != "Labels"})
    tap.equal((labels["own"], labels["code-execute.base"], labels["code-execute.guest"]),
              ("label", IMAGE, hashlib.sha256(GUEST.read_bytes()).hexdigest()))
    tap.equal({name for name, value in labels.items() if not value},
              {"code-execute." + name for name in ("boot", "space", "pid", "start", "run", "latest")}, "no word of the owner")


def test_nothing_is_made_in_the_image_s_own_directory():
    """An engine makes a container's working directory, which would then be in the layer."""
    for config, directory_asked in ((BASE, "/"), ({"Volumes": None}, None)):
        with FakeEngine(socket_path, base={"Config": config}) as engine:
            call(engine)
            (body,) = (json.loads(body) for step, _, body in engine.requests if step == "derive")
            tap.equal(body.get("WorkingDir"), directory_asked)


def test_a_made_image_that_differs_is_refused():
    config = {"Labels": {"code-execute.base": IMAGE, "code-execute.guest": hashlib.sha256(GUEST.read_bytes()).hexdigest()}}
    for lie, member in (({"RootFS": {"Layers": [*LAYERS, OTHER_LAYER, OTHER_LAYER]}}, "RootFS.Layers"),
                        ({"RootFS": {"Layers": LAYERS}}, "RootFS.Layers"),
                        ({"RootFS": {"Layers": [OTHER_LAYER, OTHER_LAYER]}}, "RootFS.Layers"),
                        ({"Architecture": "other"}, "Architecture"), ({"Os": "windows"}, "Os"),
                        ({"Config": {**config, "Env": ["PATH=/elsewhere"]}}, "Config.Env"),
                        ({"Config": {**config, "User": "0"}}, "Config.User"),
                        ({"Config": {**config, "Unknown": {"a": "b"}}}, "Config.Unknown"),
                        ({"Config": {"Labels": {**config["Labels"], "more": "x"}}}, "Config.Labels"),
                        ({"Config": {"Labels": {}}}, "Config.Labels"), ({"Config": None}, "Config.Labels")):
        with FakeEngine(socket_path, derived_lie=lie) as engine:
            use_engine()
            refused(*timed(), "sandbox_unavailable", f"the image that docker made is not the one that was requested: {member} differs")
            tap.equal(asked(engine, "create"), 0, "containers of it")
            provider.reset()


def altered(image, **more):
    return {**json.loads(json.dumps(image)), **more}


def test_a_found_image_that_differs_is_not_used():
    """Whatever its labels say: somebody may have pulled or loaded it."""
    ((identity, image),) = made().items()
    layer = image["RootFS"]["Layers"][-1]
    for other in (altered(image, RootFS={"Layers": [*LAYERS, OTHER_LAYER]}), altered(image, RootFS={"Layers": [*LAYERS, OTHER_LAYER, layer]}),
                  altered(image, RootFS={"Layers": [OTHER_LAYER, layer]}), altered(image, Architecture="other"), altered(image, RepoTags=["named:1"]),
                  altered(image, Config={**image["Config"], "Env": ["LD_PRELOAD=/x"]}), altered(image, RootFS=None)):
        with FakeEngine(socket_path, images={identity: other}) as engine:
            output = call(engine)[1]
            tap.equal((output["status"], asked(engine, "derive")), ("completed", 1), output["error"])
            tap.true(identity not in used_images(engine), other)
            tap.true(identity in engine.images, "it is left alone")


def test_the_right_one_of_several_is_found():
    ((identity, image),) = made().items()
    wrong = altered(image, RootFS={"Layers": [*LAYERS, OTHER_LAYER]})
    images = {"sha256:d" + f"{number:063x}": wrong for number in (7, 8)}
    with FakeEngine(socket_path, images={**images, identity: image}) as engine:
        tap.equal((call(engine)[1]["status"], asked(engine, "derive"), set(used_images(engine))), ("completed", 0, {identity}))


def test_layers_in_an_engine_s_own_bytes():
    """What it has made before our eyes is known again; what it has made for another backend is not."""
    with FakeEngine(socket_path, foreign=True) as engine:
        use_engine()
        completes()
        engine.fault = ("start", "500")
        tap.equal(timed()[1]["error"]["code"], "backend_failed")
        lift(engine)
        tap.equal((asked(engine, "derive"), len(set(used_images(engine)))), (1, 1), "looked for again, and found")
        provider.reset()
        images = engine.images
    with FakeEngine(socket_path, images=images, foreign=True) as engine:
        tap.equal((call(engine)[1]["status"], asked(engine, "derive")), ("completed", 1))


def test_an_engine_that_cannot_commit():
    for step, words in (("archive", "take the guest"), ("commit", "commit the image with the guest")):
        for kind in ("404", "500"):
            with FakeEngine(socket_path, (step, kind)) as engine:
                output = refusal(engine, "backend_unavailable", f"docker refused to {words} ({kind}): plan")
                tap.contains(output["error"]["hint"], "commit")


def test_each_step_each_fault():
    for step in ("derive", "archive", "commit", "look"):
        for kind in QUICK[:-1] if step == "archive" else QUICK:  # there any body will do
            with FakeEngine(socket_path, (step, kind)) as engine:
                status, output = call(engine)
                what = f"{step} {kind}: {output['status']} {output['error']}"
                tap.true(status == NOT_RUN and output["error"] and output["error"]["code"] in CODES, what)


def test_a_list_that_is_none_is_empty():
    for kind in ("404", "500", "html"):
        with FakeEngine(socket_path, ("images", kind)) as engine:
            tap.equal(call(engine)[1]["status"], "completed", kind)


@slow
def test_a_commit_that_hangs_ends():
    with FakeEngine(socket_path, ("commit", "hang")) as engine:
        refusal(engine, "backend_failed", "in time")


def test_a_container_of_an_image_is_removed_whatever_happens():
    for kind in ("close", "500"):
        with FakeEngine(socket_path, ("dismiss", kind)) as engine:
            use_engine()
            completes()
            tap.eventually(lambda: asked(engine, "dismiss") >= 2, "it is tried again")
            engine.fault = (None, None)
            provider.reset()


def test_an_image_that_was_pruned_is_made_anew():
    with FakeEngine(socket_path) as engine:
        use_engine()
        completes()
        engine.images.clear()
        completes()
        tap.equal((asked(engine, "derive"), len(engine.images)), (2, 1))
        provider.reset()


def test_an_image_that_is_always_gone_is_an_error():
    with FakeEngine(socket_path, ("create", "404")) as engine:
        refusal(engine, "backend_unavailable", "docker refused to create the container (404): plan")


def test_a_ready_container_s_image_that_was_pruned():
    """Containers that are made ahead of need fail, and the next run makes the image."""
    with FakeEngine(socket_path) as engine:
        use_engine(more={"pools": {"docker": {"ready": 1}}})
        completes()
        tap.eventually(engine.waiting, "one waits")
        engine.images.clear()
        completes()  # by the one that waits; another cannot be made
        tap.eventually(lambda: asked(engine, "create") >= 4, "it was tried")
        completes()
        tap.equal(len(engine.images), 1)
        provider.reset()


def test_many_at_once_make_one():
    with FakeEngine(socket_path) as engine:
        use_engine()
        outputs = []
        threads = [threading.Thread(target=lambda: outputs.append(timed()[1])) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        tap.equal([output["status"] for output in outputs], ["completed"] * 8, outputs)
        tap.equal(asked(engine, "derive"), 1)
        provider.reset()


def run_inside(library=None):
    """One call by a gateway of its own; the process."""
    environment = {**os.environ, "CODE_EXECUTE_SO": str(library)} if library else os.environ
    return subprocess.Popen([sys.executable, sys.argv[0], "inside", socket_path], env=environment, stdout=subprocess.PIPE, text=True)


def test_two_gateways_at_once():
    with FakeEngine(socket_path) as engine:
        outputs = [json.loads(process.communicate()[0]) for process in [run_inside() for _ in range(2)]]
        tap.equal([output["status"] for output in outputs], ["completed"] * 2, outputs)
        tap.true(set(used_images(engine)) <= set(engine.images) and len(engine.images) in (1, 2), engine.images)


def test_an_image_of_another_architecture_needs_its_own_guest():
    for architecture, words in (("mips64le", "code-execute-guest-mips64le, which images of the architecture mips64le need"),
                                ("../../x", "does not report the architecture"), (None, "does not report the architecture")):
        with FakeEngine(socket_path, base={"Architecture": architecture}) as engine:
            output = refusal(engine, "sandbox_unavailable", words)
            tap.contains(output["error"]["hint"], "code-execute-guest for")
            tap.contains(output["error"]["hint"], "code-execute-guest-ARCHITECTURE")
            tap.equal(asked(engine, "derive"), 0)


def test_guests_are_found_by_the_image_s_architecture():
    library = pathlib.Path(os.environ["CODE_EXECUTE_SO"])
    with tempfile.TemporaryDirectory(prefix="code-execute-guests-") as place:
        for name in (library.name, "code-execute-docker"):
            shutil.copy(library.with_name(name), place)
        copy = pathlib.Path(place, library.name)
        with FakeEngine(socket_path) as engine:
            output = json.loads(run_inside(copy).communicate()[0])
            tap.equal(output["error"]["code"], "sandbox_unavailable", output)
            tap.contains(output["error"]["message"], f"code-execute-guest, which images of the architecture {ARCHITECTURE} need")
        pathlib.Path(place, "code-execute-guest-mips64le").write_bytes(b"of another machine")
        with FakeEngine(socket_path, base={"Architecture": "mips64le"}) as engine:
            output = json.loads(run_inside(copy).communicate()[0])
            tap.equal(output["status"], "completed", output)
            (archive,) = (body for step, _, body in engine.requests if step == "archive")
            tap.contains(archive, b"of another machine")


def sweep():
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"modes": {"default": "docker", "allowed": ["docker"]}, "docker": {"host": f"unix://{socket_path}"}}, file)
        file.flush()
        told = provider.prepare(policy_file=file.name, sweep=True)[1]["sweep"][0]
    provider.reset()
    tap.equal((told["removed"], told["left"], told["error"]), (0, 0, None), "containers")


def with_packages(image, letter):
    return {**image, "Config": {"Labels": {**image["Config"]["Labels"], "code-execute.packages": letter * 64}}}


def test_images_that_nobody_needs_are_removed():
    ((_, image),) = made().items()
    guest = image["Config"]["Labels"]["code-execute.guest"]
    now = int(time.time())

    def like(hours, base=IMAGE, digest=guest, **more):
        labels = {"code-execute.base": base, "code-execute.guest": digest}
        return {**image, "Config": {"Labels": labels}, "Created": now - hours * HOUR, **more}

    cases = {"another guest": like(25, digest="e" * 64), "another guest, new": like(23, digest="e" * 64),
             "another guest, named": like(25, digest="e" * 64, RepoTags=["mine:1"]), "of ours": like(25), "of ours, second": like(26),
             "without a base": like(25, base="sha256:d" + "9" * 63), "without a base, new": like(1, base="sha256:d" + "9" * 63),
             "base without a sense": like(25, base="x/../y"), "only half our labels": {**image, "Config": {"Labels": {"code-execute.base": "x"}},
                                                                                     "Created": now - 25 * HOUR}}
    cases |= {f"packages {name}": with_packages(like(hours, **more), name[0]) for name, hours, more in (
        ("a, a week ago", 169, {}), ("b, less than a week ago", 167, {}), ("b, second", 168, {}), ("c, another guest", 25, {"digest": "e" * 64}),
        ("d, without a base", 25, {"base": "sha256:d" + "9" * 63}), ("e, named", 400, {"RepoTags": ["mine:1"]}), ("f, new", 1, {}))}
    ids = {f"sha256:d{number:063x}": name for number, name in enumerate(cases, 256)}
    with FakeEngine(socket_path, images={number: cases[name] for number, name in ids.items()}) as engine:
        sweep()
        left = {name for number, name in ids.items() if number in engine.images}
        tap.true(all("noprune=1" in path for step, path, _ in engine.requests if step == "discard"), "its base stays")
    tap.equal(set(cases) - left, {"another guest", "of ours, second", "without a base", "base without a sense", "packages a, a week ago",
                                  "packages b, second", "packages c, another guest", "packages d, without a base"})


def test_a_base_without_a_name_needs_no_image():
    """A classic image store keeps a removed image for as long as another is made of it."""
    ((identity, image),) = made().items()
    for names, stays in ((["example:1"], True), ([], False), (["<none>:<none>"], False)):
        old = {identity: {**image, "Created": int(time.time()) - 25 * HOUR}}
        with FakeEngine(socket_path, images=old, base={"RepoTags": names}) as engine:
            sweep()
            tap.equal(identity in engine.images, stays, names)


def be_inside(path):
    policy = {"modes": {"default": "docker", "allowed": ["docker"]}, "approval": {"default": "allow"}, "pools": {"docker": {"ready": 0}},
              "docker": {"host": f"unix://{path}", "images": {"sh": "example:1", "python": None}}}
    provider.use_policy(policy)
    print(json.dumps(provider.invoke({"language": "sh", "code": "echo yes"}, Host())[1]))
    provider.reset()


try:
    if sys.argv[1:2] == ["inside"]:
        be_inside(sys.argv[2])
    else:
        run(globals())
finally:
    directory.cleanup()
