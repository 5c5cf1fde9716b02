# SPDX-License-Identifier: Apache-2.0
"""Sets of packages, made by hand in the form in which a build leaves them (plugin/environments/package_set.h): for tests of runs with
packages that are not about their building."""
import hashlib
import json
import os
import pathlib
import secrets
import shutil
import struct

TIME = 946684800  # what a build gives every file


def entries(content):
    """Every path below it, directories ahead of what is in them, by the bytes of their names."""
    for path in sorted(content.iterdir(), key=lambda entry: os.fsencode(entry.name)):
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from entries(path)


def inventory(content):
    lines = []
    for path in entries(content):
        name = path.relative_to(content)
        if path.is_symlink():
            target = os.readlink(path)
            lines.append(f"l {len(target)} {target} {name}\n")
        elif path.is_dir():
            lines.append(f"d {name}\n")
        else:
            text = path.read_bytes()
            lines.append(f"{'x' if path.stat().st_mode & 0o111 else 'f'} {len(text)} {hashlib.sha256(text).hexdigest()} {name}\n")
    return "".join(lines).encode()


def settle(content):
    """The modes and times of a set."""
    for path in entries(content):
        if not path.is_symlink():
            path.chmod(0o555 if path.is_dir() or path.stat().st_mode & 0o111 else 0o444)
        os.utime(path, (TIME, TIME), follow_symlinks=False)
    content.chmod(0o555)
    os.utime(content, (TIME, TIME))


def remove(place):
    """An ordinary user cannot remove what is in a directory that nobody may write to."""
    for path in [place / "content", *entries(place / "content")]:
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    shutil.rmtree(place)


def stamp(content):
    """What plugin/environments/tree_stamp.c makes of it."""
    hashed = hashlib.sha256()
    for path in (content, *entries(content)):
        status = path.lstat()
        hashed.update(b"" if path == content else os.fsencode(path.relative_to(content)))
        times = [number for time in (status.st_mtime_ns, status.st_ctime_ns) for number in divmod(time, 10 ** 9)]
        numbers = (status.st_mode, status.st_uid, status.st_ino, status.st_nlink, status.st_size, *times)
        hashed.update(b"\0" + struct.pack("=9Q", *numbers))
    return hashed.hexdigest()


def make(where, files, language="python", name="data", images=None, sha256=None, folder="environments"):
    """Makes a set of {path: text, or (target,) of a link} below the directory, in the folder for all sets, built in those images
    ({id: name}) or in none. The policy that has it, and its hash. sha256: one that is not the content's."""
    where = pathlib.Path(where)
    all_sets = where / folder
    building = all_sets / f"building-{secrets.token_hex(3)}"
    content = building / "content"
    content.mkdir(parents=True)
    for path, text in files.items():
        place = content / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, tuple):
            place.symlink_to(text[0])
            continue
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
        if "bin" in place.parts[-2:-1]:
            place.chmod(0o755)
    settle(content)
    text = inventory(content)
    sha256 = sha256 or hashlib.sha256(text).hexdigest()
    lock = where / f"{name}.lock"
    lock.write_text(f"{name}==1\n")
    about = {"version": 1, "name": name, "language": language, "sha256": sha256, "lock_sha256": hashlib.sha256(lock.read_bytes()).hexdigest(),
             "locks": {hashlib.sha256(lock.read_bytes()).hexdigest(): True},
             "mode": "docker" if images else "process", "bytes": 0, "files": len(files), "build_scripts": False, "built_at": 0, "runtime": "test"}
    (building / "inventory").write_bytes(text)
    (building / "stamp").write_text(stamp(content) + "\n")
    (building / "environment.json").write_text(json.dumps(about))
    (building / "packages.json").write_text(json.dumps({"runtime": "test", "packages": [{"name": name, "version": "1", "sha256": None}]}))
    if images:
        (building / "image.json").write_text(json.dumps({"images": images}))
    building.chmod(0o755)
    there = all_sets / f"sha256-{sha256}"
    if there.exists():  # of the same content
        for described in "environment.json", "packages.json", "image.json":
            if (building / described).exists():
                (building / described).replace(there / described)
        remove(building)
    else:
        building.rename(there)
    link = all_sets / f"{name}.{'docker' if images else 'process'}"
    link.unlink(missing_ok=True)
    link.symlink_to(f"sha256-{sha256}")
    return {"environments_directory": str(all_sets),
            "environments": {name: {"language": language, "lock": str(lock), "description": name}}}, sha256


def directory(policy, sha256):
    return pathlib.Path(policy["environments_directory"]) / f"sha256-{sha256}"
