# SPDX-License-Identifier: Apache-2.0
"""What JavaScript programs show from a container, started for the run and waiting for it. The image has the machine's Node and nothing
else. By hand: scripts/with-engine tests/docker/test_real_node.py"""
import os
import pathlib
import sys

os.environ["CODE_EXECUTE_TEST_MODE"] = "docker"
ROOT = pathlib.Path(__file__).parents[2]
os.environ.setdefault("CODE_EXECUTE_SO", str(ROOT / "build" / "plugin" / "code_execute.so"))
sys.path.insert(0, str(ROOT / "tests" / "support"))
import engine
import modes
import tap
from languages import javascript_values
from modes import Provider
from provider import OK, Host

READY = 2
provider = Provider()


def run(code, **more):
    status, result = provider.invoke({"language": "javascript", "code": code, **more}, Host(("sandbox.exec", "sandbox.exec.files")))
    tap.true(status == OK, result)
    return result


def ready_run(code, **more):
    """Runs it in a container that waited. One that is being made when the run comes is none."""
    for _ in range(20):
        tap.eventually(lambda: len(engine.waiting()) == READY == len(engine.containers()), f"{READY} wait", 60)
        before = provider.counters()["sandboxes_ready"]
        result = run(code, **more)
        if provider.counters()["sandboxes_ready"] > before:
            return result
    raise AssertionError("no container was ready")


def with_node(ready, case):
    provider.with_policy({"pools": {"docker": {"ready": ready}}, **policy}, case)
    engine.none_left()


def test_values_of_a_node_in_a_new_container():
    with_node(0, lambda: javascript_values.check(run))


def test_values_of_a_node_in_a_container_that_waited():
    """Node is started for its run there too: the short form takes a part."""
    def case():
        run("1")
        (javascript_values.check if modes.LONG else javascript_values.check_a_value)(ready_run)
    with_node(READY, case)


def test_its_surroundings_are_those_of_a_node_without_results():
    look = """const fs = require('fs');
console.log(process.argv, process.execArgv, process.env, fs.readdirSync('/tmp'), fs.readdirSync('.'),
            Object.keys(require.cache), process.memoryUsage().rss > 0)
fs.readdirSync('/proc/self/fd').length > 3"""

    def case():
        plain = provider.with_policy({"results": {"max_items": 0}, **policy}, lambda: run(look))
        tap.equal(plain["results"], [], "positive control")
        result = provider.with_policy(policy, lambda: run(look))
        tap.equal((result["stdout"], result["stderr"]), (plain["stdout"], plain["stderr"]))
        tap.equal([row["text"] for row in result["results"]], ["true"])
    case()
    engine.none_left()


engine.needed()
files = engine.files_of_node()
if not files:
    tap.skip_all("no Node in the machine's own directories of programs")
with engine.image_of(files) as image:
    policy = {"docker": {"images": {"javascript": image}}}
    tap.run(globals())
