# SPDX-License-Identifier: Apache-2.0
"""What code-execute-guest and its backend send each other (plugin/guest/messages/guest_protocol.h), said and understood by tests."""
import hashlib
import os
import struct

KINDS = ("facts", "waiting", "started", "missing", "failed", "stdout", "stderr", "results", "ended", "files", "collected",
         "cell", "late_stdout", "late_stderr", "measured", "restored", "not_restored", "parked", "answers_taken", "endpoints", "network")
STREAMS = ("stdout", "stderr", "results", "files")
PATH = "/.code-execute-guest"
HEADER = struct.Struct("<IB")


def frame(kind, payload=b""):
    return HEADER.pack(len(payload), KINDS.index(kind) + 1) + payload


def ended(status=0, user_us=0, system_us=0, peak_memory_bytes=0):
    """status: as from wait(2)."""
    return frame("ended", struct.pack("<IQQQ", status, user_us, system_us, peak_memory_bytes))


def wait_status(status):
    """Of a shell's status: 128 and more is a signal."""
    return status << 8 if status < 128 else status - 128


def frames(data):
    """[(kind, payload)], the neighbours of a stream joined; AssertionError where the bytes are no whole frames."""
    found, at = [], 0
    while at < len(data):
        length, kind = HEADER.unpack_from(data, at)
        at += HEADER.size + length
        assert at <= len(data) and 1 <= kind <= len(KINDS), f"a broken frame: {data[at - length:][:40]}"
        name, payload = KINDS[kind - 1], data[at - length:at]
        if found and found[-1][0] == name and name in STREAMS:
            found[-1] = (name, found[-1][1] + payload)
        else:
            found.append((name, payload))
    return found


def strings(values):
    values = [os.fsencode(value) for value in values]
    return struct.pack("<I", len(values)) + b"".join(struct.pack("<I", len(value)) + value for value in values)


NO_RUNNER, PYTHON, NODE = range(3)  # enum run_interpreter of plugin/protocol/run_description.h
NOTHING_OUT = (0, 0, 0, ())
MESSAGE_END = b"end!"
ORDER_END, ORDER_MEASURE, ORDER_ANSWERS = b"e", b"m", b"a"
ANSWERS_ROOM = 131072
FILE_LAST = HEADER.pack(0, 6)
FILE_FRAMES = ("begin", "data", "end", "omitted", "files_omitted", "last")


def file_frames(path, content):
    """Of a new file, as a guest sends them."""
    frames = ((1, struct.pack("<QBB", len(content), 0, 0) + os.fsencode(path)), (2, content), (3, b"\0" + hashlib.sha256(content).hexdigest().encode()))
    return b"".join(HEADER.pack(len(payload), kind) + payload for kind, payload in frames)


def left_files(payload):
    """What the frames of files say (plugin/protocol/file_frames.h): ({path: (change, content)}, {path: reason}, {reason: count}) of a
    stream that is whole, with each hash as it should be. A reason is the number of enum file_omission."""
    whole, omitted, unnamed, path, at, last = {}, {}, {}, None, 0, None
    while at < len(payload):
        length, kind = HEADER.unpack_from(payload, at)
        data, last = payload[at + HEADER.size:at + HEADER.size + length], FILE_FRAMES[kind - 1]
        assert len(data) == length, "a frame that is not whole"
        at += HEADER.size + length
        if last == "begin":
            size, change, _ = struct.unpack_from("<QBB", data)
            path, content = data[10:], b""
        elif last == "data":
            content += data
        elif last == "end" and data[0] == 0:
            assert (len(content), data[1:].decode()) == (size, hashlib.sha256(content).hexdigest()), path
            whole[path] = (change, content)
        elif last == "omitted":
            omitted[data[10:]] = data[9]
        elif last == "files_omitted":
            unnamed[data[16]] = struct.unpack_from("<Q", data)[0]
    assert last == "last", "a stream without an end"
    return whole, omitted, unnamed


def answers(data):
    """The order with these bytes; without any, that of the end of them."""
    return ORDER_ANSWERS + struct.pack("<I", len(data)) + data


def message(argv, environment=(), files=(), stdin=None, trial=False, private=0, results=False, tools=False, runner=NO_RUNNER,
            outputs=NOTHING_OUT, file_bytes=0, end=MESSAGE_END):
    """files: (path, content), the last so many private. outputs: files, bytes of each, bytes of all, patterns."""
    head = struct.pack("<12I", trial, stdin is not None, results, tools, 0, 0, 0, runner, 0, 0, 0, private)
    head += strings(argv) + strings(environment) + strings(path for path, _ in files)
    head += struct.pack("<QQQ", *outputs[:3]) + strings(outputs[3]) + struct.pack("<Q", file_bytes)
    contents = [content for _, content in files] + ([] if stdin is None else [stdin])
    return struct.pack("<I", len(head)) + head + b"".join(struct.pack("<Q", len(content)) + content for content in contents) + end


def read_strings(head, at):
    count, = struct.unpack_from("<I", head, at)
    at, values = at + 4, []
    for _ in range(count):
        length, = struct.unpack_from("<I", head, at)
        values.append(head[at + 4:at + 4 + length])
        at += 4 + length
    return values, at


def read_message(reader):
    """The message from a file that ends behind it, as a dictionary; None where it does not come whole."""
    def take(length):
        data = reader.read(length)
        if len(data) < length:
            raise EOFError
        return data
    try:
        head = take(*struct.unpack("<I", take(4)))
        told = dict(zip(("trial", "has_input", "has_results", "has_tools", "has_command", "has_installers", "has_endpoints", "runner", "session", "lasting", "checkpoints", "private"), struct.unpack_from("<12I", head)))
        at = 48
        for name in ("argv", "environment", "paths"):
            told[name], at = read_strings(head, at)
        told["outputs"] = struct.unpack_from("<QQQ", head, at)
        told["file_bytes"] = struct.unpack_from("<Q", head, len(head) - 8)[0]
        told["contents"] = [take(*struct.unpack("<Q", take(8))) for _ in range(len(told["paths"]) + told["has_input"])]
        assert take(len(MESSAGE_END)) == MESSAGE_END
    except EOFError:
        return None
    return told
