# SPDX-License-Identifier: Apache-2.0
"""What the provider lists of the machine's own interpreters, against what programs in the sandbox find."""
import json
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from modes import Provider
from provider import NOT_RUN, OK, Host

provider = Provider()
DISTRIBUTIONS = "import importlib.metadata, json\nprint(json.dumps([[d.metadata['Name'], d.version] for d in importlib.metadata.distributions()]))"


def listed():
    code, answer = provider.prepare(system_packages=True)
    tap.equal((code, answer["error"]), (OK, None), answer)
    for environment in answer["environments"]:
        tap.equal((environment["name"], environment["complete"]), ("system", True))
    return {environment["language"]: {package["name"]: package["version"] for package in environment["packages"]} for environment in answer["environments"]}


def run(language, code):
    return_code, result = provider.invoke({"language": language, "code": code}, Host())
    tap.equal((return_code, result["exit_code"]), (OK, 0), result)
    return result["stdout"]


def normalized(name):
    return re.sub("[-_.]+", "-", name).lower()


def test_python_has_what_is_listed():
    found = {}
    for name, version in json.loads(run("python", DISTRIBUTIONS)):
        found.setdefault(normalized(name), version)
    tap.equal({normalized(name): version for name, version in listed()["python"].items()}, found)


def with_packages(case, shown=True):
    """Of a directory that the policy's variables name."""
    with tempfile.TemporaryDirectory(dir="/usr/local/lib") as directory:
        place = pathlib.Path(directory)
        place.chmod(0o755)
        (place / "odd_one-1.5.dist-info").mkdir()
        (place / "odd_one-1.5.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-one\nVersion: 1.5.post1\n\ntext\n")
        (place / "odd_one.py").write_text("value = 'of python'\n")
        (place / "@scope").mkdir()
        (place / "@scope" / "part").mkdir()
        (place / "@scope" / "part" / "package.json").write_text('{"name": "@scope/part", "version": "2.0.0-rc.1", "main": "m.js"}')
        (place / "@scope" / "part" / "m.js").write_text("module.exports = 'of node'")
        language = {"environment": {"PYTHONPATH": directory, "NODE_PATH": directory}}
        view = {} if shown else {"view": {"read_only": ["/bin", "/lib", "/lib64", "/usr/bin", "/usr/lib"]}}
        return provider.with_policy({"languages": {"python": language, "javascript": language}, **view}, case)


def can_write():
    try:
        tempfile.TemporaryDirectory(dir="/usr/local/lib").cleanup()
    except OSError as error:
        raise tap.Skip(f"/usr/local/lib: {error.strerror}") from None


def test_what_the_policy_adds_is_listed_and_there():
    can_write()

    def case():
        packages = listed()
        tap.equal((packages["python"].get("odd-one"), run("python", "import odd_one\nprint(odd_one.value)")), ("1.5.post1", "of python\n"))
        if "javascript" in packages and pathlib.Path("/usr/bin/node").exists():
            tap.equal((packages["javascript"].get("@scope/part"), run("javascript", "console.log(require('@scope/part'))")), ("2.0.0-rc.1", "of node\n"))
    with_packages(case)


def test_what_no_run_sees_is_not_listed():
    can_write()
    with_packages(lambda: tap.equal("odd-one" in listed()["python"], False), shown=False)


def test_mode_docker_has_none():
    policy = {"modes": {"default": "docker", "allowed": ["docker"]}}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(policy, file)
        file.flush()
        tap.equal(provider.prepare(policy_file=file.name)[0], OK)
        tap.equal(listed(), {})
    provider.reset()


def test_the_question_is_asked_alone():
    for question in ({"system_packages": True, "check": True}, {"system_packages": 1}, {"system_packages": True, "policy_file": "/x"}):
        tap.equal(provider.prepare(**question)[0], NOT_RUN, question)


def test_the_manifest_is_without_them():
    provider.library.tool_manifest.restype = __import__("ctypes").c_char_p
    tap.lacks(provider.library.tool_manifest().decode(), '"environments"')


tap.run(globals())
