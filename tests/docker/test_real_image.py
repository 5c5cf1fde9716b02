# SPDX-License-Identifier: Apache-2.0
"""The image with the guest on a real engine: made once, found again, made anew after a prune, and hidden behind its base.
By hand: scripts/with-engine tests/docker/test_real_image.py"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.parse

os.environ["CODE_EXECUTE_TEST_MODE"] = "docker"
ROOT = pathlib.Path(__file__).parents[2]
os.environ.setdefault("CODE_EXECUTE_SO", str(ROOT / "build" / "plugin" / "code_execute.so"))
sys.path.insert(0, str(ROOT / "tests" / "support"))
import engine
import tap
from engine import ask, containers
from modes import Provider
from provider import Host

provider = Provider()
DERIVED = urllib.parse.quote(json.dumps({"label": ["code-execute.base"]}))


def completes(code="echo yes"):
    output = provider.invoke({"language": "sh", "code": code}, Host())[1]
    tap.equal(output["status"], "completed", output["error"])
    return output


def base():
    return json.loads(ask(f"/images/{engine.IMAGE}/json"))


def derived():
    """The ids of the images that are made from the test image."""
    return {image["Id"] for image in json.loads(ask(f"/images/json?filters={DERIVED}"))
            if image["Labels"]["code-execute.base"] == base()["Id"]}


def test_another_gateway_finds_the_image():
    completes()
    before = derived()
    tap.true(before, "there is one")
    for _ in range(2):
        provider.reset()
        completes()
    tap.equal(derived(), before)


def test_the_container_is_of_the_derived_image_and_the_result_names_its_base():
    seen = []

    def look():
        tap.eventually(lambda: engine.running("sleep 2"), "the program runs", 20)
        seen.extend(json.loads(ask(f"/containers/{identity}/json"))["Image"] for identity in containers())

    thread = threading.Thread(target=look)
    thread.start()
    output = completes("sleep 2")
    thread.join()
    tap.equal(output["isolation"]["details"]["image_id"], base()["Id"])
    tap.true(seen and set(seen) <= derived(), seen)


def test_layers_and_configuration_are_the_base_s():
    completes()
    own = base()
    for identity in derived():
        image = json.loads(ask(f"/images/{identity}/json"))
        tap.equal((image["RootFS"]["Layers"][:-1], image["RepoTags"], image["Architecture"]), (own["RootFS"]["Layers"], [], own["Architecture"]))
        tap.equal({name: value for name, value in image["Config"].items() if value and name != "Labels"},
                  {name: value for name, value in own["Config"].items() if value and name != "Labels"})
        owners = {name: value for name, value in image["Config"]["Labels"].items() if name not in (own["Config"]["Labels"] or {})}
        tap.equal({name for name, value in owners.items() if value}, {"code-execute.base", "code-execute.guest"}, "labels with a value")


def test_the_guest_can_be_executed_and_not_written():
    output = completes("ls -ln /.code-execute-guest; : >>/.code-execute-guest")
    tap.contains(output["stdout"], "-r-xr-xr-x 1 0 0 ")
    tap.true(output["exit_code"] != 0 and "/.code-execute-guest: " in output["stderr"], output)


def test_a_pruned_image_is_made_anew():
    """What "docker image prune -a" does, but to images with our label alone."""
    completes()
    engine.none_left()
    provider.reset()  # a waiting container would keep the image
    completes()
    engine.none_left()
    pruning = urllib.parse.quote(json.dumps({"dangling": ["false"], "label": ["code-execute.base"]}))
    tap.eventually(lambda: ask(f"/images/prune?filters={pruning}", "POST") and not derived(), "they are pruned")
    output = completes()
    tap.equal(output["stdout"], "yes\n")
    tap.equal(len(derived()), 1)
    engine.none_left()


PROGRAM = r"""
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>
int main(int count, char **arguments)
{
    DIR *root = opendir("/");
    for (struct dirent *entry; (entry = readdir(root));)
        if (access("/bin/sh", F_OK) == 0 || entry->d_name[0] == 'p')
            printf("%s ", entry->d_name);
    FILE *code = fopen(arguments[count - 1], "r");
    for (int byte; code && (byte = getc(code)) != EOF;)
        putchar(byte);
    printf(" %d\n", (int)getuid());
    return 3;
}
"""


def static_program():
    """An image's one file; there need be nothing else in it."""
    with tempfile.TemporaryDirectory() as place:
        source, program = pathlib.Path(place, "p.c"), pathlib.Path(place, "p")
        source.write_text(PROGRAM)
        done = subprocess.run([os.environ.get("CC", "cc"), "-static", "-o", program, source], capture_output=True, text=True, check=False)
        if done.returncode:
            raise tap.Skip(f"no static program can be built here: {done.stderr.strip()[-200:]}")
        return program.read_bytes()


def test_an_image_without_a_shell():
    """Nothing of an image is needed but its program: no shell, no libraries, no directories."""
    with engine.image_of({"program": static_program()}) as name:
        policy = {"docker": {"images": {"sh": {"image": name, "argv": ["/program", "{file}"]}}}}
        for _ in range(2):
            output = provider.with_policy(policy, lambda: provider.invoke({"language": "sh", "code": "its code"}, Host())[1])
            tap.equal((output["status"], output["exit_code"], output["stderr"]), ("completed", 3, ""), output)
            tap.equal(sorted(output["stdout"].split()), sorted(["proc", "program", "its", "code", "65534"]))
        absent = {"docker": {"images": {"sh": {"image": name, "argv": ["/bin/sh", "{file}"]}}}}
        output = provider.with_policy(absent, lambda: provider.invoke({"language": "sh", "code": "its code"}, Host())[1])
        tap.equal(output["error"]["code"], "runtime_not_found", "positive control: it has no shell")
    engine.none_left()


engine.needed()
tap.run(globals())
