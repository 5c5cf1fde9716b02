# SPDX-License-Identifier: Apache-2.0
"""The image with a set of packages on an engine that misbehaves by plan: what it is made of, and how a run ends where it cannot be made."""
import io
import json
import pathlib
import sys
import tarfile
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from engine_calls import REQUEST, asked, call, directory, provider, refusal, run, slow, socket_path, timed, use_engine
from fake_engine import IMAGE, LAYERS, FakeEngine
from packages import made_package_sets
from provider import NOT_RUN, OK, Host

QUICK = ("close", "garbage", "short", "chunks", "headers", "huge", "404", "500", "html")
CODES = ("backend_failed", "backend_unavailable", "sandbox_unavailable")
NEEDED = dict(REQUEST, packages="data")
# The first of each is about the image with the guest.
SECOND = (("derive", 2), ("archive", 2), ("commit", 2), ("look", 2), ("look", 3))
place = tempfile.TemporaryDirectory(prefix="code-execute-sets-")


def made(files=None, **options):
    pathlib.Path(place.name).chmod(0o755)
    return made_package_sets.make(place.name, files or {"given.py": "VALUE = 1\n", "a/b": "c"}, images={IMAGE: "example:1"}, **options)


def note(policy, sha256):
    return made_package_sets.directory(policy, sha256) / "layers"


def test_the_chain():
    policy, sha256 = made()
    note(policy, sha256).unlink(missing_ok=True)
    with FakeEngine(socket_path) as engine:
        tap.equal(call(engine, NEEDED, more=policy)[1]["status"], "completed")
        # Without the lists of images, which the sweep asks for too, at any time.
        chain = [step for step, _, _ in engine.requests if step in ("look", "derive", "archive", "commit", "create")]
        one = ["derive", "archive", "commit", "look"]
        tap.equal(chain[chain.index("derive"):], [*one, "create", "look", *one, "create"], "a trial and a run")
        guest, packages = engine.images.values()
        tap.equal(packages["RootFS"]["Layers"][:-1], guest["RootFS"]["Layers"])
        tap.equal({**guest["Config"]["Labels"], "code-execute.packages": sha256}, packages["Config"]["Labels"])
        from_guest = [json.loads(body)["Image"] for step, _, body in engine.requests if step in ("derive", "create")]
        tap.equal(from_guest, [IMAGE, guest["Id"], guest["Id"], packages["Id"]])
        archive = [body for step, _, body in engine.requests if step == "archive"][1]
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tap.equal([entry.name for entry in tar], [f".code-execute-packages{rest}" for rest in ("", "/a", "/a/b", "/given.py")])
        tap.equal(note(policy, sha256).read_text(), packages["RootFS"]["Layers"][-1] + "\n")


def test_it_is_found_by_a_noted_layer_alone():
    policy, sha256 = made({"noted.py": "1"})
    with FakeEngine(socket_path, foreign=True) as engine:
        call(engine, NEEDED, more=policy)
        tap.equal(asked(engine, "commit"), 2)
        call(engine, NEEDED, more=policy)
        tap.equal(asked(engine, "commit"), 3, "the guest's, whose bytes nobody has noted")
        note(policy, sha256).unlink()
        call(engine, NEEDED, more=policy)
        tap.equal(asked(engine, "commit"), 5)


def test_each_step_each_fault():
    policy, sha256 = made()
    for step, first in SECOND:
        for kind in QUICK[:-1] if step == "archive" else QUICK:  # there any body will do
            note(policy, sha256).unlink(missing_ok=True)
            with FakeEngine(socket_path, (step, kind, first)) as engine:
                status, output = call(engine, NEEDED, more=policy)
                what = f"{step} {kind}: {output['status']} {output['error']}"
                tap.true(status == NOT_RUN and output["error"] and output["error"]["code"] in CODES, what)
                tap.true(not note(policy, sha256).exists(), "a layer was noted")


def test_an_engine_that_cannot_commit():
    policy, _ = made()
    for step, words in (("archive", "take the packages"), ("commit", "commit the image with the packages")):
        with FakeEngine(socket_path, (step, "500", 2)) as engine:
            refusal(engine, "backend_unavailable", f"docker refused to {words} (500): plan", request=NEEDED, more=policy)


@slow
def test_an_engine_that_hangs_ends():
    """Longer than a run waits for its set-up otherwise, because all bytes have to go first."""
    policy, _ = made({"slow.py": "1"})
    with FakeEngine(socket_path, ("archive", "hang", 2)) as engine:
        refusal(engine, "backend_failed", "in time", request=NEEDED, more=policy)


def test_a_run_that_waits_can_be_cancelled():
    policy, _ = made({"cancelled.py": "1"})
    with FakeEngine(socket_path, ("archive", "hang", 2)) as engine:
        use_engine(more=policy)
        told = []
        thread = threading.Thread(target=lambda: told.append(timed(NEEDED, Host(call_id=7))))
        thread.start()
        tap.eventually(lambda: asked(engine, "archive") == 2, "the bytes are there", 30)
        tap.equal(provider.cancel(7), OK)
        thread.join(20)
        tap.equal(told and told[0][1]["status"], "cancelled", told)
        provider.reset()
        tap.equal((engine.containers, engine.helpers), ({}, {}), "containers left")


def test_other_bytes_are_never_committed():
    """Files that were built, as their stamp says, and that are not those of the set's name."""
    policy, _ = made(sha256="0123456789abcdef" * 4)
    with FakeEngine(socket_path) as engine:
        refusal(engine, "environment_changed", "not the ones that were built", request=NEEDED, more=policy)
        tap.equal(asked(engine, "commit"), 1)
        tap.equal(len(engine.images), 1)


def test_a_guest_s_image_that_was_pruned_is_made_anew():
    policy, _ = made()
    with FakeEngine(socket_path) as engine:
        use_engine(more=policy)
        tap.equal(timed()[1]["status"], "completed")
        engine.images.clear()
        tap.equal(timed(NEEDED)[1]["status"], "completed")
        tap.equal((asked(engine, "derive"), len(engine.images)), (3, 2))
        engine.images.clear()
        tap.equal(timed(NEEDED)[1]["status"], "completed")
        tap.equal((asked(engine, "derive"), len(engine.images)), (5, 2))
        provider.reset()


def test_an_engine_that_alters_it():
    policy, _ = made()
    altered = {"RootFS": {"Type": "layers", "Layers": [*LAYERS, "sha256:" + "c" * 64, "sha256:" + "d" * 64]}}
    with FakeEngine(socket_path) as engine:
        use_engine(more=policy)
        tap.equal(timed()[1]["status"], "completed")
        engine.derived_lie = altered
        status, output = timed(NEEDED)
        tap.equal((status, output["error"]["code"]), (NOT_RUN, "sandbox_unavailable"), output["error"])
        tap.contains(output["error"]["message"], "RootFS.Layers")
        provider.reset()


try:
    run(globals())
finally:
    directory.cleanup()
