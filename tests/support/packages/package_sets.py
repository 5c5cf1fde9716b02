# SPDX-License-Identifier: Apache-2.0
"""Environments for tests: wheels made by hand, lock files with their hashes, and a place where policies find both. No network."""
import hashlib
import io
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import zipfile

import tap
from packages import made_package_sets
from provider import OK

PYTHON = "/usr/bin/python3"  # whose pip builds


def need_programs():
    """Skips the whole test where environments of Python cannot be built."""
    if not pathlib.Path(os.environ["CODE_EXECUTE_SO"]).with_name("code-execute-environment").exists():
        tap.skip_all("code-execute-environment is not built (libarchive)")
    if not shutil.which("python3") or subprocess.run([PYTHON, "-I", "-m", "pip", "--version"], capture_output=True, check=False).returncode:
        tap.skip_all(f"{PYTHON} has no pip (Debian: python3-pip)")


def as_bytes(content):
    return content if isinstance(content, bytes) else content.encode()


def make_wheel(directory, name, files, version="1.0"):
    """A wheel of these files, {path: text or bytes}. The same files make the same bytes."""
    info = f"{name}-{version}.dist-info"
    files = {**files, f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
             f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = "".join(f"{path},,\n" for path in files) + f"{info}/RECORD,,\n"
    path = pathlib.Path(directory) / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in {**files, f"{info}/RECORD": record}.items():
            entry = zipfile.ZipInfo(member, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, as_bytes(content))
    return path


def make_source(directory, name, files, version="1.0"):
    """A source archive: pip has to run code of it to make a wheel."""
    path = pathlib.Path(directory) / f"{name}-{version}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for member, content in {"PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", **files}.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{member}")
            entry.size = len(as_bytes(content))
            archive.addfile(entry, io.BytesIO(as_bytes(content)))
    return path


def requirement(path, name, version="1.0"):
    """The line of a lock file."""
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()}\n"


class Place:
    """A directory with wheels/, lock files and all/, where sets are installed; the policies of its environments."""

    def __init__(self, below="/var/tmp"):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="code-execute-environments-", dir=below))
        self.path.chmod(0o755)
        self.wheels, self.all = self.path / "wheels", self.path / "all"
        for directory in (self.wheels, self.all):
            directory.mkdir()
            directory.chmod(0o755)
        self.environments = {}

    def clear(self):
        """No environment is known or installed any more."""
        self.environments = {}
        for directory in (self.wheels, self.all):
            remove(directory)
            directory.mkdir()
            directory.chmod(0o755)

    def close(self):
        remove(self.path)

    def lock(self, name):
        return self.path / f"{name}.lock"

    def write_lock(self, name, text):
        self.lock(name).write_text(text)
        self.lock(name).chmod(0o644)

    def add(self, name, files, package=None, version="1.0", **more):
        """An environment of one package, whose wheel has these files; its members for a policy."""
        package = package or f"{name}_package"
        wheel = make_wheel(self.wheels, package, files, version)
        self.write_lock(name, requirement(wheel, package, version))
        self.environments[name] = {"language": "python", "lock": str(self.lock(name)), "wheelhouse": str(self.wheels), **more}
        return self.environments[name]

    def install(self, name, files, **more):
        """The same without a build: for what is not about building, which takes a package manager for half a second and more."""
        made, _ = made_package_sets.make(self.path, files, name=name, folder=self.all.name)
        self.environments[name] = {**made["environments"][name], **more}

    def policy(self, **more):
        return {"environments_directory": str(self.all), "environments": self.environments, **more}

    def link(self, name, kind="process"):
        return self.all / f"{name}.{kind}"

    def set_of(self, name):
        """The directory of the set that its link leads to."""
        return self.all / os.readlink(self.link(name))

    def content(self, name):
        return self.set_of(name) / "content"

    def sets(self):
        """What lies there under its hash, and what is under construction."""
        return sorted(entry.name for entry in self.all.iterdir() if entry.is_dir() and not entry.is_symlink())


def remove(directory):
    """Whatever the modes are of what is in it."""
    directory = pathlib.Path(directory)
    for folder, names, _ in os.walk(directory):
        for name in names:
            if not os.path.islink(os.path.join(folder, name)):
                os.chmod(os.path.join(folder, name), 0o755)
    shutil.rmtree(directory, ignore_errors=True)


def ask(provider, action, name=None):
    """The return code and the answer of one question about environments."""
    return provider.prepare(environments={"action": action, **({"name": name} if name else {})})


def build(provider, name):
    """Builds it; its state, as `toolhost env build` tells."""
    code, answer = ask(provider, "build", name)
    tap.equal((code, answer.get("error")), (OK, None), f"build of {name}")
    [state] = answer["environments"]
    tap.equal((state["name"], state["state"]), (name, "ready"), state)
    return state


def refusal(answer):
    """The error of an answer that must be one: its code, its message and its hint."""
    tap.true(answer and answer.get("error"), f"a refusal: {answer}")
    return answer["error"]
