# SPDX-License-Identifier: Apache-2.0
"""code-execute-guest as pid 1 of namespaces of its own, with a test as its backend: a container without an engine. Programs are the
machine's own; below /tmp and /home they see nothing but their own files."""
import contextlib
import json
import os
import pathlib
import struct
import subprocess
import threading

import guest
import tap

ROOT = pathlib.Path(__file__).parents[2]
PLUGIN = os.environ.get("CODE_EXECUTE_SO", str(ROOT / "build" / "plugin" / "code_execute.so"))
PROGRAM = os.environ.get("CODE_EXECUTE_GUEST", str(pathlib.Path(PLUGIN).with_name("code-execute-guest")))
CONTAINER = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "--",
             "sh", "-c", "mount -t tmpfs tmpfs /tmp && mount -t tmpfs tmpfs /home && mkdir /home/sandbox && exec \"$@\"", "sh"]
IMAGE = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOSTNAME": "engine", "FROM_IMAGE": "image", "BOTH": "image"}
# Commands that start the guest in it: with less than a script of ours takes, and with numbers below those of its descriptors.
NO_ROOM = ["sh", "-c", "mount -t tmpfs -o size=8k tmpfs /tmp && exec \"$@\"", "sh"]
FEW_DESCRIPTORS = ["prlimit", "--nofile=62", "--"]
TIME = 60
program_file = os.open(PROGRAM, os.O_PATH)


def start(*arguments, network="without-network", before=(), inside=()):
    """By its descriptor: the build may lie below /tmp, which the container has its own of. before and inside: commands that start the
    container, and the guest in it."""
    command = [*before, *CONTAINER, *inside, f"/proc/self/fd/{program_file}", network, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=IMAGE, pass_fds=[program_file])


def talk(process, told, collects=False):
    """What the guest says to the message, up to its end or the run's, or that of its files. Its standard input stays open."""
    writer = threading.Thread(target=send, args=(process.stdin, told))
    writer.start()
    output = b""
    while piece := os.read(process.stdout.fileno(), 1 << 16):
        output += piece
        if output.endswith(guest.frame("collected")) if collects else is_last(output):
            break
    writer.join()
    return guest.frames(output)


def send(pipe, told):
    with contextlib.suppress(BrokenPipeError):
        pipe.write(told)
        pipe.flush()


def is_last(output):
    """It ends with an "ended"."""
    return output[-len(guest.ended()):].startswith(guest.ended()[:5])


def run(argv, *arguments, network="without-network", before=(), inside=(), **told):
    """The frames of a run, without the facts and the waiting."""
    process = start(*arguments, network=network, before=before, inside=inside)
    found = talk(process, guest.message(argv, **told), "outputs" in told and not told.get("trial"))
    errors = process.communicate(timeout=TIME)[1]
    tap.equal(errors, b"", "nothing but frames")
    tap.equal([kind for kind, _ in found[:2]], ["facts", "waiting"])
    return found[2:]


def shell(code, *arguments, **told):
    return run(["sh", "-c", code, "sh", *arguments], **told)


def streams(found):
    """(status, stdout, stderr) of a run that was started, whole."""
    told = dict(found)
    tap.equal((found[0], found[-1][0], len(told)), (("started", b""), "ended", len(found)), found)
    return struct.unpack_from("<I", told["ended"])[0], told.get("stdout", b""), told.get("stderr", b"")


def output_of(found):
    status, output, errors = streams(found)
    tap.equal((status, errors), (0, b""), found)
    return output


def results_of(found):
    told, rows = b"".join(payload for kind, payload in found if kind == "results"), []
    while told:
        length, _ = guest.HEADER.unpack_from(told)
        rows.append(json.loads(told[guest.HEADER.size:guest.HEADER.size + length]))
        told = told[guest.HEADER.size + length:]
    return rows


def children_of(pid):
    return [int(child) for task in pathlib.Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()]


def first_process(process):
    [pid] = children_of(process.pid)
    return pid


def needed():
    """Skips the whole program, with the reason, where it cannot have namespaces."""
    done = subprocess.run([*CONTAINER, "true"], capture_output=True, check=False, text=True)
    if done.returncode:
        tap.skip_all(f"no namespaces for it: {done.stderr.strip()}")
