# SPDX-License-Identifier: Apache-2.0
"""Installs the packages of a lock file into a directory, and packs it: the content of an environment. Runs in a sandbox, as the program of a
call of ours. The content depends on the lock file, the interpreter and the package manager alone, so every file has the same time."""
import compileall
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import urllib.parse

LOCK, ARCHIVE, PACKAGES = "requirements.txt", "environment.tar", "packages.json"
TIME = 946684800  # 2000-01-01: the archives of packages have times from 1980 on


def install(target, settings, report):
    # -I: what answers in the place of pip where nothing can be installed is not imported.
    command = [sys.executable, "-I", "-m", "pip", "--isolated" if settings["wheelhouse"] else "--no-input", "install", "--no-input",
               "--disable-pip-version-check", "--no-cache-dir", "--no-compile", "--require-hashes", "--root-user-action", "ignore", "--quiet",
               "--no-warn-script-location", "--target", target, "--report", report, "--requirement", LOCK]
    if not settings["build_scripts"]:
        command += ["--only-binary", ":all:"]
    if settings["wheelhouse"]:
        command += ["--no-index", "--find-links", settings["wheelhouse"]]
    return subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode


def walk(target):
    """Every directory, file and link below it, in an order of their names."""
    for directory, directories, names in os.walk(target):
        directories.sort()
        for name in sorted([*directories, *names]):
            yield os.path.join(directory, name)


def compile_all(target, workers):
    compileall.compile_dir(target, quiet=2, force=True, workers=workers, stripdir=target, prependdir="/")


def settle(target):
    """One time for all, and bytecode that goes with it."""
    for path in walk(target):
        os.utime(path, (TIME, TIME), follow_symlinks=False)
    # Warnings of a package's own syntax are no failure, and a file that is none of this Python's stays without.
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        saved, sys.stdout, sys.stderr = (sys.stdout, sys.stderr), nowhere, nowhere
        try:
            compile_all(target, os.cpu_count() or 1)
        except OSError:  # no semaphores, without namespaces
            compile_all(target, 1)
        finally:
            sys.stdout, sys.stderr = saved
    for path in walk(target):
        os.utime(path, (TIME, TIME), follow_symlinks=False)


def pack(target):
    with tarfile.open(ARCHIVE, "w", format=tarfile.PAX_FORMAT, copybufsize=1 << 20) as archive:
        for path in walk(target):
            entry = archive.gettarinfo(path, os.path.relpath(path, target))
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime = TIME
            if entry.isreg():
                with open(path, "rb") as file:
                    archive.addfile(entry, file)
            else:
                archive.addfile(entry)


def plain_name(name):
    """As two spellings of it are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def hashes_of_lock():
    """Those that pip has compared files with: of each name a list."""
    with open(LOCK, encoding="utf-8") as file:
        text = re.sub(r"\\\r?\n", " ", file.read())
    found = {}
    for line in text.splitlines():
        if name := re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", line):
            found.setdefault(plain_name(name[1]), []).extend(re.findall(r"--hash[=\s]\s*sha256:([0-9a-f]{64})", line))
    return found


def hash_of(name, download, of_lock):
    """pip tells the one that the index has told, and none of a file in a directory."""
    told = download.get("archive_info", {}).get("hashes", {}).get("sha256")
    if told or len(of_lock.get(plain_name(name), [])) == 1:
        return told or of_lock[plain_name(name)][0]
    url = urllib.parse.urlsplit(download.get("url", ""))
    if url.scheme != "file":
        return None
    with open(urllib.parse.unquote(url.path), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def packages_of(report):
    with open(report, encoding="utf-8") as file:
        installed = json.load(file)["install"]
    of_lock = hashes_of_lock()
    for package in installed:
        name = package["metadata"]["name"]
        yield {"name": name, "version": package["metadata"]["version"], "sha256": hash_of(name, package.get("download_info", {}), of_lock)}


def main():
    with open("settings.json", encoding="utf-8") as file:
        settings = json.load(file)
    scratch = tempfile.mkdtemp()
    target, report = os.path.join(scratch, "content"), os.path.join(scratch, "report.json")
    status = install(target, settings, report)
    if status != 0:
        sys.exit(status)
    os.makedirs(target, exist_ok=True)
    settle(target)
    pack(target)
    with open(PACKAGES, "w", encoding="utf-8") as file:
        json.dump({"runtime": f"{sys.implementation.cache_tag} {platform.machine()} {platform.python_version()}",
                   "packages": sorted(packages_of(report), key=lambda package: package["name"].lower())}, file)


main()
