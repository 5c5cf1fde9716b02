# SPDX-License-Identifier: Apache-2.0
"""What a Python program shows, by our runner's scripts in this interpreter, with a pipe."""
import json
import os
import pathlib
import select
import threading

import tap

SCRIPTS = pathlib.Path(__file__).parents[3] / "plugin/interpreter/python"
RESULT, EXCEPTION, OMITTED = 1, 2, 3


def load(part, parts=None):
    """The names of a script; the scripts that it loads are those of parts."""
    parts = {} if parts is None else parts
    if part not in parts:
        parts[part] = {"__name__": part, "load": lambda other: load(other, parts)}
        exec(compile((SCRIPTS / f"{part}.py").read_text(), f"/run/{part}.py", "exec"), parts[part])
    return parts[part]


class Shown:
    """A program's channel."""

    def __init__(self):
        self.parts = {}
        self.names = self.load("results")
        self.reader, self.writer = os.pipe()
        self.names["channel"].use(self.writer, (os.fstat(self.writer), os.getpid()))

    def load(self, part):
        return load(part, self.parts)

    def during(self, name, *arguments, **options):
        """The frames that the function writes, to a pipe that holds less."""
        thread = threading.Thread(target=self.names[name], args=arguments, kwargs=options)
        thread.start()
        data, ended = b"", False
        while not ended:
            ended = not thread.is_alive()
            while select.select([self.reader], [], [], 0 if ended else 0.01)[0]:
                piece = os.read(self.reader, 1 << 20)
                data += piece
                if not piece:  # the program has closed its end
                    break
        frames = []
        while data:
            length = int.from_bytes(data[:4], "little")
            frames.append((data[4], json.loads(data[5:5 + length])))
            data = data[5 + length:]
        return frames

    def tell(self, value=None, error=None):
        return self.during("tell", value, error)

    def value(self, value):
        [frame] = [frame for kind, frame in self.tell(value) if kind == RESULT]
        tap.equal(frame["role"], "value", frame)
        return frame

    def display(self, *objects, **options):
        return self.during("display", *objects, **options)
