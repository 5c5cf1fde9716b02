# SPDX-License-Identifier: Apache-2.0
"""The program that installs environments, started as the gateway starts it, and archives of every kind for it."""
import contextlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile

import tap

PROGRAM = pathlib.Path(os.environ["CODE_EXECUTE_SO"]).parent / "code-execute-environment"
SANITIZERS = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
BYTES, INODES = 1 << 26, 5000
TIME = 1700000000
MEMORY = "/dev/shm"


def need_program():
    if not PROGRAM.exists():
        tap.skip_all("what installs environments is not built here: it takes libarchive")


def entry(name, kind=tarfile.REGTYPE, data=b"", **more):
    info = tarfile.TarInfo(name)
    info.type, info.size, info.mtime = kind, len(data), TIME
    for member, value in more.items():
        setattr(info, member, value)
    return info, data


def file(name, data=b"content\n", mode=0o644, **more):
    return entry(name, data=data, mode=mode, **more)


def directory(name, mode=0o755):
    return entry(name, tarfile.DIRTYPE, mode=mode)


def link(name, target):
    return entry(name, tarfile.SYMTYPE, linkname=target, mode=0o777)


def hard_link(name, target):
    return entry(name, tarfile.LNKTYPE, linkname=target)


def archive(*entries, format=tarfile.PAX_FORMAT):
    """The bytes of a whole archive."""
    room = io.BytesIO()
    with tarfile.open(fileobj=room, mode="w", format=format, errors="surrogateescape") as tar:
        for info, data in entries:
            tar.addfile(info, io.BytesIO(data))
    return room.getvalue()


def header(name, size=0, kind=b"0", mode=b"0000644", size_field=None, prefix=b"", target=b""):
    """One block of an ustar archive, with fields that tarfile would not write."""
    size_field = b"%011o\0" % size if size_field is None else size_field
    block = name.ljust(100, b"\0") + mode + b"\0" + b"0000000\0" * 2 + size_field + b"%011o\0" % TIME + b" " * 8 + kind + target.ljust(100, b"\0")
    block = (block + b"ustar\x0000" + b"\0" * 80 + prefix.ljust(155, b"\0")).ljust(512, b"\0")
    tap.equal(len(block), 512, "length of a header")
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def padded(data):
    return data + b"\0" * (-len(data) % 512)


END = b"\0" * 1024


def pax(records, kind=b"x"):
    """A header with records as they are, whatever is in them."""
    data = b"".join(pax_record(name, value) for name, value in records)
    return header(b"pax", len(data), kind) + padded(data)


def pax_record(name, value):
    text = b" " + name + b"=" + value + b"\n"
    length = len(text)
    while len(str(length).encode()) + len(text) != length:
        length = len(str(length).encode()) + len(text)
    return str(length).encode() + text


def remove(path):
    """Directories of an environment are read-only, and may be deeper than a path can say."""
    for _, _, _, folder in os.fwalk(path):
        os.fchmod(folder, 0o700)
    shutil.rmtree(path)


class Place:
    """A directory for one environment, beside a canary that nothing may touch."""

    def __init__(self, top):
        self.top = pathlib.Path(top)
        self.path = self.top / "inside" / "building"
        self.path.mkdir(parents=True)
        self.content = self.path / "content"
        self.outside = self.top / "outside"
        self.outside.mkdir()
        self.canary = self.outside / "canary"
        self.canary.write_text("untouched")
        self.canary.chmod(0o640)
        self.before = self.surroundings()

    def surroundings(self):
        """Everything that is not in the directory: names, types, modes, sizes, times of change, contents."""
        found = {}
        for folder, folders, files in os.walk(self.top):
            if pathlib.Path(folder) == self.path.parent:
                folders.clear()
            for name in [*folders, *files]:
                status = os.lstat(os.path.join(folder, name))
                found[os.path.join(folder, name)] = (status.st_mode, status.st_size, status.st_ctime_ns, status.st_nlink)
        return found, self.canary.read_text()

    def check_surroundings(self):
        tap.equal(self.surroundings(), self.before, "what is outside of the directory")

    def run(self, command, tar=None, bytes=BYTES, inodes=INODES, wrapper=(), **more):
        """The exit status and the answer."""
        with tempfile.TemporaryFile() as source:
            source.write(tar or b"")
            source.seek(0)
            done = self.start([*wrapper, PROGRAM, command, str(bytes), str(inodes)], source, **more)
            output = done.communicate()[0]
        return done.returncode, json.loads(output) if output else None

    def start(self, command, source, output=subprocess.PIPE, descriptor=None):
        """With the directory as descriptor 3. The test's own environment has what its interpreter is to load first."""
        opened = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY) if descriptor is None else descriptor
        try:
            return subprocess.Popen(["sh", "-c", f'exec 3<&{opened}; exec "$@"', "sh", *map(str, command)], stdin=source, stdout=output,
                                    env={"PATH": os.environ["PATH"], **SANITIZERS}, pass_fds=[opened])
        finally:
            if descriptor is None:
                os.close(opened)

    def install(self, *entries, **more):
        """Installs the archive of the entries, or one that is given as bytes; its answer."""
        tar = entries[0] if entries and isinstance(entries[0], bytes) else archive(*entries)
        status, answer = self.run("install", tar, **more)
        self.check_surroundings()
        tap.equal((status, "error" in (answer or {})), (0, False), f"installs: {answer}")
        return answer

    def refuse(self, *entries, path, reason, **more):
        tar = entries[0] if entries and isinstance(entries[0], bytes) else archive(*entries)
        status, answer = self.run("install", tar, **more)
        self.check_surroundings()
        tap.equal(status, 1, f"status of {answer}")
        tap.contains(answer["error"], reason, f"error of {answer}")
        tap.equal(answer["path"], path, f"path of {answer}")
        return answer

    def verify(self, **more):
        status, answer = self.run("verify", **more)
        tap.equal((status, "error" in (answer or {})), (0, False), f"verifies: {answer}")
        return answer

    def changed(self, path, reason):
        status, answer = self.run("verify")
        tap.equal(status, 1, f"status of {answer}")
        tap.equal(answer["changed"], path, f"path of {answer}")
        tap.contains(answer["error"], reason, f"error of {answer}")
        return answer

    def inventory(self):
        return (self.path / "inventory").read_text().splitlines()


@contextlib.contextmanager
def place(parent=None):
    """Below parent, or in memory where that is: the disk of a busy machine takes long to say that all is on it."""
    top = tempfile.mkdtemp(dir=parent or (MEMORY if os.access(MEMORY, os.W_OK) else None))
    try:
        yield Place(top)
    finally:
        remove(top)


def installed(*entries, **more):
    """Its own place, where such an archive is installed and verified: the positive control of a refusal."""
    with place() as made:
        answer = made.install(*entries, **more)
        tap.equal(made.verify()["sha256"], answer["sha256"], "digest")
        return made.inventory()


def refused(*entries, path, reason, **more):
    with place() as made:
        return made.refuse(*entries, path=path, reason=reason, **more)
