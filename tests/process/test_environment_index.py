# SPDX-License-Identifier: Apache-2.0
"""Builds that fetch: from an index and a file host which only the broker of endpoints reaches, with a credential that is nowhere in the
sandbox, and through tunnels; pip and npm."""
import atexit
import base64
import json
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import ordinary_user
import tap
from modes import ALL_THE_TIME, LONG, Provider, merged
from packages.package_sets import Place, ask, build, make_source, make_wheel, need_programs, refusal, requirement
from provider import NOT_RUN, OK, Host
from servers.package_index import Index

user = int(os.environ.get("PROCESS_TEST_UID", "0"))
if user and not LONG:
    tap.skip_all("once more as an ordinary user, who builds in test_environment_attacks.py too: CODE_EXECUTE_TEST_LONG=1")
ordinary_user.become(user)
need_programs()
TOKEN = "tok-index-71c0e9d4"
place = Place()
atexit.register(place.close)
secrets = place.path / "secrets"
secrets.mkdir(mode=0o700)
(secrets / "index-token").write_text(TOKEN)
(secrets / "index-token").chmod(0o600)
basic = "Basic " + base64.b64encode(f"reader:{TOKEN}".encode()).decode()
index, files = Index(place.path / "index", basic), Index(place.path / "files")
provider = Provider(ALL_THE_TIME)
READ = [{"methods": ["GET", "HEAD"], "paths": ["/**"]}]


def endpoint(upstream, **more):
    return {"base_url": upstream.url, "private": True, "ca_file": upstream.ca, "allow": READ, **more}


AUTH = {"type": "basic", "user": "reader", "secret": "index-token"}
ENDPOINTS = {"index": endpoint(index, preset="pip", auth=AUTH), "files": endpoint(files),
             "registry": endpoint(index, preset="npm", auth=AUTH)}


def begin(endpoints, text="value = 1\n", url="/files/{name}", **more):
    """An environment of one wheel, which the index names and the file host has."""
    place.clear()
    wheel = make_wheel(place.wheels, "data_package", {"answer.py": text})
    for upstream in (index, files):
        upstream.pages.clear()
        upstream.asked.clear()
    index.add_project("data_package", wheel, url.format(name=wheel.name))
    files.add_file(f"/{wheel.name}", wheel.read_bytes())
    place.write_lock("data", requirement(wheel, "data_package"))
    place.environments["data"] = {"language": "python", "lock": str(place.lock("data")), "endpoints": list(endpoints), **more}
    return wheel


def use(**more):
    provider.reset()
    policy = place.policy(endpoints=ENDPOINTS, approval={"default": "allow"}, capabilities=["sandbox.exec"],
                          secrets={"allowed": ["index-token"], "providers": [{"type": "files", "directory": str(secrets)}]})
    tap.equal(provider.use_policy(merged(policy, more)), OK)


def output(code="import answer; print(answer.value)", language="python"):
    status, result = provider.invoke({"language": language, "code": code, "packages": "data"}, Host())
    tap.equal((status, result["error"], result["exit_code"]), (OK, None, 0), result)
    return result["stdout"].strip()


def not_built(*parts):
    status, answer = ask(provider, "build", "data")
    error = refusal(answer)
    tap.equal((status, error["code"]), (NOT_RUN, "environment_not_built"), error)
    for part in parts:
        tap.contains(error["message"], part)
    tap.equal(os.listdir(place.all), [])


def test_pip_fetches_by_the_preset():
    wheel = begin(["index", "files"])
    use()
    [package] = build(provider, "data")["packages"]
    tap.contains(place.lock("data").read_text(), f"sha256:{package['sha256']}")
    tap.equal([asked["path"] for asked in index.asked], ["/simple/data-package/"])
    tap.equal({asked["path"] for asked in files.asked}, {f"/{wheel.name}"})
    tap.equal({asked["authorization"] for asked in index.asked}, {basic}, "the credential was used")
    tap.equal({asked["authorization"] for asked in files.asked}, {None}, "and only there")
    tap.equal(output(), "1")


def test_without_the_credential_nothing_comes():
    begin(["index", "files"])
    use(endpoints={"index": {"auth": None}})
    not_built()
    tap.true(index.asked, "it was asked")
    begin(["index", "files"])
    use(secrets={"providers": []})
    status, answer = ask(provider, "build", "data")
    tap.equal((status, refusal(answer)["code"]), (NOT_RUN, "unknown_secret"), answer)
    tap.equal(index.asked, [])


def test_a_file_with_another_hash_is_refused():
    wheel = begin(["index", "files"])
    files.add_file(f"/{wheel.name}", make_wheel(place.wheels, "data_package", {"answer.py": "value = 'another'\n"}).read_bytes())
    use()
    not_built("Expected sha256")
    tap.true(files.asked, "it was fetched")


SEARCH = '''import glob, json, os, zipfile
MASKED = %r
def found_in(data):
    at, found = data.find(b"tok-"), 0
    while at >= 0:
        if len(data) - at >= len(MASKED) and all(data[at + i] ^ 0x5a == MASKED[i] for i in range(len(MASKED))):
            found += 1
        at = data.find(b"tok-", at + 1)
    return found
def search():
    found = []
    for name in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(name, "rb") as file:
                if found_in(file.read()): found.append(name)
        except OSError: pass
    for top in ("/home", "/tmp", "/run", "/etc", "/dev/shm"):
        for folder, _, names in os.walk(top):
            for name in names:
                path = os.path.join(folder, name)
                try:
                    if os.path.isfile(path):
                        with open(path, "rb") as file:
                            if found_in(file.read(1 << 20)): found.append(path)
                except OSError: pass
    for name in glob.glob("/proc/[0-9]*/maps"):
        try:
            with open(name.replace("maps", "mem"), "rb") as memory, open(name) as lines:
                for line in lines:
                    begin, end = (int(value, 16) for value in line.split()[0].split("-"))
                    if "r" in line.split()[1] and "[v" not in line:
                        try:
                            memory.seek(begin)
                            if found_in(memory.read(end - begin)): found.append("memory of " + name)
                        except (OSError, ValueError, OverflowError): pass
        except OSError: pass
    return found
CONTROL
def build_wheel(directory, config_settings=None, metadata_directory=None):
    name, info = "data_package-1.0-py3-none-any.whl", "data_package-1.0.dist-info/"
    with zipfile.ZipFile(directory + "/" + name, "w") as archive:
        archive.writestr("found.json", json.dumps(search()))
        archive.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: data_package\\nVersion: 1.0\\n")
        archive.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr(info + "RECORD", "")
    return name
''' % bytes(byte ^ 0x5a for byte in TOKEN.encode())
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


def found_in_a_build(control=""):
    """What a build script finds of the credential, in files, environments and memory."""
    begin(["index", "files"], build_scripts=True)
    source = make_source(place.wheels, "data_package", {"pyproject.toml": PROJECT, "backend.py": SEARCH.replace("CONTROL", control)})
    index.add_project("data_package", source, f"/files/{source.name}")
    files.add_file(f"/{source.name}", source.read_bytes())
    place.write_lock("data", requirement(source, "data_package"))
    use()
    build(provider, "data")
    tap.equal({asked["authorization"] for asked in index.asked}, {basic}, "the credential was used")
    return json.loads((place.content("data") / "found.json").read_text())


def test_the_credential_is_nowhere_in_the_build():
    tap.equal(found_in_a_build(), [])
    # The control has it in a file and in memory, made of what it looks for.
    made = "open('/tmp/made', 'wb').write(bytes(byte ^ 0x5a for byte in MASKED))\nheld = bytes(byte ^ 0x5a for byte in MASKED)\n"
    found = found_in_a_build(made)
    tap.contains(found, "/tmp/made", "the control")
    tap.true(any(name.startswith("memory of ") for name in found), found)


def through_tunnels(*tunnels):
    index.credential = None
    try:
        wheel = begin([*tunnels, *(["index"] if "index-host" not in tunnels else [])], url=f"{files.name_url}/{{name}}")
        trust = place.path / "trust.pem"  # one bundle for two authorities
        trust.write_text(pathlib.Path(index.ca).read_text() + pathlib.Path(files.ca).read_text())
        trust.chmod(0o644)
        variables = {"PIP_CERT": str(trust)}
        if "index-host" in tunnels:
            variables["PIP_INDEX_URL"] = f"{index.name_url}/simple"
        use(endpoints={"index": {"auth": None}, "index-host": {"tunnel": f"localhost:{index.port}", "private": True},
                       "files-host": {"tunnel": f"localhost:{files.port}", "private": True}},
            languages={"python": {"environment": variables, "read_only": [str(trust)]}})
        build(provider, "data")
        tap.equal({asked["path"] for asked in files.asked}, {f"/{wheel.name}"})
        tap.equal(output(), "1")
    finally:
        index.credential = basic


def test_a_file_host_behind_a_tunnel():
    """As of the public index: its pages name files of another host, by https."""
    through_tunnels("files-host")


def test_an_index_behind_a_tunnel():
    through_tunnels("index-host", "files-host")


def test_without_its_endpoint_a_host_is_out_of_reach():
    begin(["index"], url=f"{files.name_url}/{{name}}")
    use()
    not_built()
    tap.equal(files.asked, [])
    begin(["index"])
    use()
    not_built()
    tap.equal(files.asked, [])


def begin_npm(packages, **more):
    place.clear()
    for upstream in (index, files):
        upstream.pages.clear()
        upstream.asked.clear()
    entries = {f"node_modules/{name}": index.add_npm(name, *files_of) for name, files_of in packages.items()}
    root = {"name": "set", "version": "1.0.0", "dependencies": {name: "1.0.0" for name in packages}}
    place.write_lock("data", json.dumps({"name": "set", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": root, **entries}}))
    place.environments["data"] = {"language": "javascript", "lock": str(place.lock("data")), "endpoints": ["registry"], **more}
    use()


def need_npm():
    if not shutil.which("npm") or not shutil.which("node"):
        raise tap.Skip("npm is not installed")


def test_npm_fetches_by_the_preset():
    need_npm()
    begin_npm({"answer": ({"index.js": "exports.value = 1;\n"},), "other": ({"index.js": "exports.value = require('answer').value + 1;\n"},)})
    state = build(provider, "data")
    tap.equal([(package["name"], package["version"]) for package in state["packages"]], [("answer", "1.0.0"), ("other", "1.0.0")])
    tap.equal({asked["authorization"] for asked in index.asked}, {basic})
    tap.equal(output("console.log(require('answer').value, require('other').value)", "javascript"), "1 2")
    tap.equal(output("node -e 'console.log(require(\"answer\").value)'", "sh"), "1")
    again = build(provider, "data")
    tap.equal(again["sha256"], state["sha256"], "the same content again")


def test_scripts_of_npm_run_only_where_the_policy_says_so():
    need_npm()
    outside = place.path / "outside"
    outside.mkdir(exist_ok=True)
    outside.chmod(0o777)
    packages = {"answer": ({"index.js": "exports.value = require('fs').existsSync(__dirname + '/ran');\n"},
                           {"install": f"touch ran; touch {outside}/marker || true"})}
    begin_npm(packages)
    build(provider, "data")
    tap.equal(output("console.log(require('answer').value)", "javascript"), "false")
    begin_npm(packages, build_scripts=True)
    build(provider, "data")
    tap.equal(output("console.log(require('answer').value)", "javascript"), "true", "the control: in the sandbox")
    tap.equal(os.listdir(outside), [], "on the machine")


def test_packages_of_npm_need_their_hashes():
    need_npm()
    begin_npm({"answer": ({"index.js": ""},)})
    lock = json.loads(place.lock("data").read_text())
    entry = lock["packages"]["node_modules/answer"]
    right = entry.pop("integrity")
    place.write_lock("data", json.dumps(lock))
    not_built("answer", "integrity")
    entry["integrity"] = "sha512-" + base64.b64encode(bytes(64)).decode()
    place.write_lock("data", json.dumps(lock))
    not_built("integrity checksum failed")
    entry["integrity"] = right
    place.write_lock("data", json.dumps(lock))
    build(provider, "data")


tap.run(globals())
