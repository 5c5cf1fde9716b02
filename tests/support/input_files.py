# SPDX-License-Identifier: Apache-2.0
"""Files that a gateway offers by reference: a host that opens them, a large one, and the memory that they cost this process."""
import hashlib
import os
import pathlib

from provider import ALLOW, Host

MIB = 1 << 20
LARGE = 100 * MIB


def make_large(folder):
    """Sparse but for a page here and there, so that it takes no room on the disk; its path and hash."""
    path = pathlib.Path(folder) / "large.bin"
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        file.truncate(LARGE)
        for place in range(0, LARGE, 10 * MIB):
            file.seek(place)
            file.write(f"at {place}".encode())
    with open(path, "rb") as file:
        while chunk := file.read(MIB):
            digest.update(chunk)
    return path, digest.hexdigest()


def host_of(paths, sha256=None, rights=("sandbox.exec", "sandbox.exec.files"), **callbacks):
    """paths: {reference: path}; sha256: what the list says of all, or {reference: hash}."""
    def open_file(ref, descriptor, ret_size, verdict):
        descriptor[0] = os.open(paths[ref.decode()], os.O_RDONLY)
        ret_size[0] = os.fstat(descriptor[0]).st_size
        verdict[0] = ALLOW

    def row(ref, path):
        known = sha256.get(ref) if isinstance(sha256, dict) else sha256
        return {"ref": ref, "name": path.name, "size": os.stat(path).st_size, **({"sha256": known} if known else {})}
    return Host(rights, open_file=open_file, context={"files": [row(ref, path) for ref, path in paths.items()]}, **callbacks)


def peak_memory(anew=True):
    """The highest use of this process, since the last call that begins anew."""
    if anew:
        pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    for line in pathlib.Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("VmHWM")
