#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a container image of one layer as a tar that `ctr images import` takes: no engine and no registry has a part in it.

    make_image.py NAME:TAG TAR --root ROOT.tar -- COMMAND...
    make_image.py NAME:TAG TAR --program PROGRAM[=NAME,NAME...] ... -- COMMAND...

--root: the files of a tar. --program: a program of this machine with the libraries that it loads, and links to it by other names.
"""

import argparse
import hashlib
import io
import json
import os
import re
import subprocess
import tarfile


def libraries(program):
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout  # fails for a static one
    return re.findall(r"(/\S+) \(0x", listed)


def layer_of(programs):
    """The layer's tar as bytes. What it holds depends on the files alone."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as layer:
        there = set()

        def add(name, **members):
            parent = os.path.dirname(name)
            if parent and parent not in there:
                add(parent, type=tarfile.DIRTYPE)
            if name in there:
                return
            there.add(name)
            content = members.pop("content", b"")
            info = tarfile.TarInfo(name)
            info.mode, info.size = 0o755, len(content)
            for member, value in members.items():
                setattr(info, member, value)
            layer.addfile(info, io.BytesIO(content))

        add("tmp", type=tarfile.DIRTYPE, mode=0o1777)
        for program, _, links in (entry.partition("=") for entry in programs):
            for path in [program, *libraries(program)]:
                with open(path, "rb") as file:
                    add(path.lstrip("/") if path != program else "bin/" + os.path.basename(program), content=file.read())
            for link in filter(None, links.split(",")):
                add("bin/" + link, type=tarfile.SYMTYPE, linkname=os.path.basename(program))
    return made.getvalue()


def write(image, path, layer, command):
    configuration = json.dumps({
        "architecture": {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine), "os": "linux",
        "config": {"Cmd": command, "Env": ["PATH=/usr/local/bin:/usr/bin:/bin"], "User": "65534:65534", "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
    }).encode()
    files = {
        "config.json": configuration, "layer.tar": layer,
        "manifest.json": json.dumps([{"Config": "config.json", "RepoTags": [image], "Layers": ["layer.tar"]}]).encode(),
    }
    with tarfile.open(path, "w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image")
    parser.add_argument("tar")
    parser.add_argument("--root")
    parser.add_argument("--program", action="append", default=[])
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    if options.root:
        with open(options.root, "rb") as file:
            layer = file.read()
    else:
        layer = layer_of(options.program)
    write(options.image, options.tar, layer, options.command)


if __name__ == "__main__":
    main()
