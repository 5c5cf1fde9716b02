# SPDX-License-Identifier: Apache-2.0
"""Images that come from a registry: fetched only where the policy says so, with progress, exactly the ones that are pinned, and
never another one than was approved. A real registry and a real engine on this machine."""
import json
import os
import pathlib
import re
import sys
import threading
import time

os.environ["CODE_EXECUTE_TEST_MODE"] = "docker"
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import engine
import tap
from engine import answer, ask, containers
from modes import Provider, merged
from provider import NOT_RUN, Host
from servers.registry import Registry, free_port

provider = Provider()
registry = Registry()
small = engine.image_of(engine.files_of("sh"))  # an engine packs for a registry what it sends there
IMAGE = small.__enter__()
NAME = f"{registry.address}/sandbox"
REQUEST = {"language": "sh", "code": "echo ran"}


def push():
    """Pushes the image into the registry. Its digest there."""
    tap.equal(answer(f"/images/{IMAGE}/tag?repo={NAME}&tag=1", "POST")[0], 201)
    connection = engine.Connection()
    connection.request("POST", f"{engine.API}/images/{NAME}/push?tag=1", headers={"X-Registry-Auth": "e30="})
    report = connection.getresponse().read().decode()
    digest = re.search(r"sha256:[0-9a-f]{64}", report)
    assert digest and "error" not in report, report
    return digest.group()


DIGEST = push()


def forget():
    """Removes only the registry's names from the engine."""
    for image in json.loads(ask("/images/json")):
        for name in (image["RepoTags"] or []) + (image["RepoDigests"] or []):
            if name.startswith(registry.address):
                answer(f"/images/{name}?noprune=1", "DELETE")


def call(image, pull, host=None, **docker):
    policy = {"docker": {"images": {"sh": image}, "pull": pull, **docker}}
    result = provider.with_policy(policy, lambda: provider.invoke(REQUEST, host or Host()))
    tap.equal(containers(), [], "containers left")
    return result


def refused(result, code, text):
    tap.equal((result[0], result[1]["error"]["code"]), (NOT_RUN, code), result[1])
    tap.contains(result[1]["error"]["message"], text)
    tap.true(len(result[1]["error"]["hint"]) > 10, "a hint")


def ran(result):
    tap.equal((result[1]["status"], result[1]["stdout"]), ("completed", "ran\n"), result[1]["error"])
    return result[1]


def test_pull_never_asks_no_registry():
    forget()
    before = registry.connections
    refused(call(f"{NAME}:1", "never"), "backend_unavailable", f"docker does not have the image {NAME}:1")
    tap.equal(registry.connections, before, "connections to the registry")


def test_missing_fetches_once_and_says_so():
    forget()
    host = Host()
    output = ran(call(f"{NAME}:1", "missing", host))
    tap.contains(host.output[3].decode(), f"pulling {NAME}:1")
    tap.true(output["isolation"]["details"]["image_id"].startswith("sha256:"), output["isolation"])
    before, again = registry.connections, Host()
    ran(call(f"{NAME}:1", "missing", again))
    tap.equal((registry.connections, again.output[3]), (before, b""))


def test_always_asks_each_time():
    forget()
    for _ in range(2):
        before = registry.connections
        ran(call(f"{NAME}:1", "always"))
        tap.true(registry.connections > before, "the registry was asked")


def test_pinned_image_is_fetched_by_its_digest():
    forget()
    ran(call(f"{NAME}@{DIGEST}", "missing", require_digest=True))
    ran(call(f"{NAME}@{DIGEST}", "never", require_digest=True))
    refused(call(f"{NAME}:1", "missing", require_digest=True), "backend_unavailable", "pinned by digest")
    refused(call(f"{NAME}@sha256:{'0' * 64}", "missing"), "backend_unavailable", "pull refused")


def test_the_production_policy_runs_once_its_digests_are_written():
    production = json.loads((pathlib.Path(__file__).parents[2] / "policies" / "production.json").read_text())
    forget()
    refused(provider.with_policy(merged(production, {"docker": {"images": {"sh": f"{NAME}:1"}}}), lambda: provider.invoke(REQUEST, Host())),
            "backend_unavailable", "pinned by digest")
    written = merged(production, {"only_languages": ["sh"], "docker": {"images": {"sh": f"{NAME}@{DIGEST}"}, "pull": "missing"}})
    output = ran(provider.with_policy(written, lambda: provider.invoke(REQUEST, Host())))
    tap.true("cgroup" in output["isolation"]["applied"], output["isolation"])


def test_pinned_by_id():
    identity = json.loads(ask(f"/images/{IMAGE}/json"))["Id"]
    ran(call(identity, "never", require_digest=True))
    refused(call("sha256:" + "0" * 64, "missing"), "backend_unavailable", "does not have the image")


def test_registry_that_does_not_have_it():
    refused(call(f"{registry.address}/other:1", "missing"), "backend_unavailable", "pull refused")


def test_an_unreachable_registry_is_reported():
    refused(call(f"127.0.0.1:{free_port()}/sandbox:1", "missing"), "backend_unavailable", "pull refused")


def test_cancelled_while_it_is_fetched():
    forget()
    registry.open.clear()
    host = Host(call_id=5)
    try:
        heard = threading.Event()
        host.struct.on_output = type(host.struct.on_output)(lambda *_: heard.set())
        canceller = threading.Thread(target=lambda: (heard.wait(20), provider.cancel(5)))
        canceller.start()
        begin = time.monotonic()
        output = call(f"{NAME}:1", "missing", host)[1]
        canceller.join()
        tap.equal((output["status"], output["error"]["code"]), ("cancelled", "cancelled"), output)
        tap.true(heard.is_set() and time.monotonic() - begin < 20, "ended by the cancellation")
    finally:
        registry.open.set()


def test_an_image_that_changes_during_the_approval_is_refused():
    forget()
    ran(call(f"{NAME}:1", "missing"))

    def move_the_tag(_token, _request, verdict):
        connection = engine.Connection()
        query = f"repo={NAME}&tag=1&message=other&container={made}"
        connection.request("POST", f"{engine.API}/commit?{query}", "{}", {"Content-Type": "application/json"})
        tap.equal(connection.getresponse().status, 201)
        verdict[0] = 0x600DCA11
    made = json.loads(ask("/containers/create", "POST", {"Image": IMAGE, "Cmd": ["true"]}))["Id"]
    policy = {"approval": {"default": "ask"}, "docker": {"images": {"sh": f"{NAME}:1"}}}
    try:
        result = provider.with_policy(policy, lambda: provider.invoke(REQUEST, Host(request_approval=move_the_tag)))
    finally:
        ask(f"/containers/{made}?force=1", "DELETE")
    refused(result, "backend_unavailable", "digest mismatch")
    ran(provider.with_policy(policy, lambda: provider.invoke(REQUEST, Host())))
    forget()


try:
    tap.run(globals())
finally:
    registry.__exit__()
    small.__exit__(None, None, None)
