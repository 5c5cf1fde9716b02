# SPDX-License-Identifier: Apache-2.0
"""Executes the cells of a session in the module __main__ of one interpreter (session_loop.c calls this between them, and
session_loop.py in a container). What a cell leaves there is there for the next one. Its output, results and variables are its own. Runs in the program's process, so what it says is as
trustworthy as the program's output."""
import os
import sys

CELL_ENDED = 4  # kind of frame, beside those of results.py
TOP_LEVEL_AWAIT = 0x2000  # PyCF_ALLOW_TOP_LEVEL_AWAIT
NAMES_LIMIT, NAME_LENGTH = 200, 100  # bytes of each, as in protocol/session.h
HOME, TEMPORARY = "/home/sandbox", "/tmp"  # with mounts; RUN_HOME of protocol/run_description.h


class FilesNotWritten(OSError):
    """A file of the request could not be put into the working directory."""


class Session:
    """runner: the class Runner of sitecustomize.py. take() waits for a cell: (code, arguments, environment, how many of its last
    variables stay, failure, checkpoint, whether it has tools), 1 in a new branch of the session, or None at the end."""

    def __init__(self, runner, take):
        self.runner, self.take = runner, take
        self.number, self.loop, self.variables, self.has_input = 0, None, {}, False
        home = os.getcwd()
        self.sources = f"{TEMPORARY if home == HOME else os.path.dirname(home) + '/tmp'}/cell-"
        self.checkpoint = None  # whether there is one ahead of this cell, or why not
        self.watchers = sys.gettrace, sys.getprofile
        self.other_module = None  # "tools": ours while a cell has no tools, and the program's own while it has
        self.names = sys.modules["__main__"].__dict__
        try:
            os.unlink(sys.argv[0])  # the session's empty program is none of its files
        except OSError:
            pass
        self.known = set(self.names) | {"__file__", "__cached__"}
        self.results, self.program_code = runner.load("results"), runner.load("program_code")

    def begin_cell(self):
        """The code of the next cell; None: there is none. What is wrong with it is the cell's exception."""
        taken = self.take()
        while taken == 1:
            self.diverge()
            taken = self.take()
        if taken is None:
            return None
        source, arguments, environment, lasting, failure, checkpoint, has_tools = taken
        self.checkpoint = checkpoint.decode() or None
        self.number += 1
        self.begin_tools(bool(has_tools))
        self.results["channel"].restart(self.runner.RESULTS_FD)
        self.put_variables(environment, lasting)
        sys.argv[:] = [f"cell-{self.number}", *map(os.fsdecode, arguments)]
        self.renew_input()
        if failure:
            raise FilesNotWritten(failure.decode(errors="replace"))
        return self.compile(source, self.write(source))

    def compile(self, source, path):
        """What watches calls would be told of a result that is the value."""
        code = None
        if all([watcher() is None for watcher in self.watchers]):
            code = self.program_code["compile_expression"](source, path, TOP_LEVEL_AWAIT)
        return code or self.program_code["compile_program"](source, path, TOP_LEVEL_AWAIT)

    def begin_tools(self, has_tools):
        """A module of the program's own of that name is not lost to cells that have tools, nor ours to those that have none."""
        if has_tools != self.runner.has_tools:
            module, self.other_module = self.other_module, sys.modules.pop("tools", None)
            if module is not None:
                sys.modules["tools"] = module
            self.runner.has_tools = has_tools
        if has_tools and "tools" in self.runner.parts:
            self.runner.load("tools")["restart"]()

    def end_tools(self):
        if "tools" in self.runner.parts:
            try:
                self.runner.load("tools")["end"]()
            except BaseException:  # an event loop of the program's, of another kind
                pass

    @staticmethod
    def diverge():
        """Two branches are not to draw the same numbers from the generators that all code shares."""
        for name in ("random", "numpy.random"):
            try:
                if name in sys.modules:
                    sys.modules[name].seed()
            except BaseException:  # the program has replaced it
                pass

    def write(self, source):
        """To a file: Python quotes the lines of a traceback from there, also of a function that an earlier cell has defined."""
        path = f"{self.sources}{self.number}.py"
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            try:
                os.write(file, source)
            finally:
                os.close(file)
        except OSError:  # the scratch file system is full: its lines are not quoted
            pass
        return path

    def put_variables(self, environment, lasting):
        """A cell's variables are its own, but for the last of them: these are the secrets of the session."""
        for left, variable in zip(range(len(environment), 0, -1), environment):
            name, _, value = variable.partition(b"=")
            if left > lasting:
                self.variables[name] = os.environb.get(name)
            os.environb[name] = value

    def take_variables(self):
        for name, before in self.variables.items():
            if before is not None:
                os.environb[name] = before
            elif name in os.environb:
                del os.environb[name]
        self.variables.clear()

    def renew_input(self):
        """A reader that has come to the end of one cell's input stays there."""
        has_input = os.fstat(0).st_mode & 0o170000 == 0o100000
        if has_input or self.has_input:
            sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)
        self.has_input = has_input

    def await_result(self, coroutine):
        """Of a cell that awaits something at its top level: its value and None, or None and its exception. Its loop lives as long as the
        session."""
        import asyncio
        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        task = self.loop.create_task(coroutine)
        try:
            return self.loop.run_until_complete(task), None
        except KeyboardInterrupt as error:
            task.cancel()
            try:
                self.loop.run_until_complete(task)
            except asyncio.CancelledError:
                pass
            return None, error.with_traceback(None)
        except BaseException as error:
            return None, error.with_traceback(self.of_cells(error.__traceback__))

    def of_cells(self, trace):
        """Without the frames of ours and of the loop in front of the cell's."""
        inner = trace
        while inner is not None and not inner.tb_frame.f_code.co_filename.startswith(self.sources):
            inner = inner.tb_next
        return inner or trace

    def defined(self):
        """Names that code can have, so that a frame of them is never longer than the gateway takes."""
        known = self.known
        names = [name for name in list(self.names) if type(name) is str and name not in known and name[:1] != "_" and name.isidentifier()]
        return [name[:NAME_LENGTH].encode()[:NAME_LENGTH].decode(errors="ignore") for name in names[-NAMES_LIMIT:]]

    def end_cell(self, status, home_is_empty=False):
        """Neither an identifier nor a checkpoint's word has to be escaped."""
        self.take_variables()
        defined = ",".join([f'"{name}"' for name in self.defined()])
        checkpoint = "null" if self.checkpoint is None else f'"{self.checkpoint}"'
        frame = (f'{{"exit_code":{status},"defined":[{defined}],"checkpoint":{checkpoint},'
                 f'"home_is_empty":{"true" if home_is_empty else "false"}}}')
        self.results["channel"].send(CELL_ENDED, frame.encode())
        self.end_tools()

    def functions(self):
        """For session_loop.c."""
        return self.begin_cell, self.await_result, self.end_cell
