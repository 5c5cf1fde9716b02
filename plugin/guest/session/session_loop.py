# SPDX-License-Identifier: Apache-2.0
"""Waits for the cells of a session in a container, and executes them, as session_loop.c does it in process mode. What has no extension of
ours has one frame of ours below a cell; tracebacks leave it out. The guest sends a cell as one datagram on standard input: the descriptors
of its code, of what belongs to it, and of its streams. Runs in the program's process."""
import _signal
import _socket
import array
import fcntl
import os
import sys

RESULTS_FD, TOOLS_FD = 63, 62
CELL_FDS = 7  # guest_cell.h: the last one only where the cell has tools
CHECKPOINT, BRANCH = b"k", b"b"  # guest_checkpoints.h
INTERRUPT = {_signal.SIGINT}


def read_all(fd):
    pieces = []
    while True:
        piece = os.pread(fd, 1 << 20, sum(map(len, pieces)))
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


class Reader:
    """Of the rows that the guest has written (wire.h)."""

    def __init__(self, text):
        self.text, self.offset = text, 0

    def number(self):
        self.offset += 4
        return int.from_bytes(self.text[self.offset - 4:self.offset], "little")

    def string(self):
        length = self.number()
        self.offset += length
        return self.text[self.offset - length:self.offset]

    def strings(self):
        return [self.string() for _ in range(self.number())]


class Cells:
    """The socket of cells, in the place of standard input. checkpoint: the part of that name."""

    def __init__(self, checkpoint):
        self.socket = _socket.socket(fileno=fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, RESULTS_FD + 1))
        nothing = os.open("/dev/null", os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        self.words, self.maker, self.owner = checkpoint["WORDS"], checkpoint["Maker"](), os.getpid()
        self.answers = None

    @staticmethod
    def make_room(fd):
        """In the place of answers, where a program with many files has left no lower number."""
        if fd != TOOLS_FD:
            return fd
        moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, RESULTS_FD + 1)
        os.close(fd)
        return moved

    def put_answers(self, fd):
        os.dup2(fd, TOOLS_FD, False)
        status = os.fstat(TOOLS_FD)
        self.answers = status.st_dev, status.st_ino

    def close_answers(self):
        """Those of the last cell: a checkpoint is to have none. Not what the program has put in their place."""
        answers, self.answers = self.answers, None
        try:
            status = os.fstat(TOOLS_FD)
            if (status.st_dev, status.st_ino) == answers:
                os.close(TOOLS_FD)
        except OSError:  # the program has closed it
            pass

    def receive(self):
        """The byte and the descriptors of a datagram."""
        fds = array.array("i")
        data, ancillary, _, _ = self.socket.recvmsg(1, _socket.CMSG_SPACE(CELL_FDS * fds.itemsize))
        for level, kind, content in ancillary:
            if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
                fds.frombytes(content[:len(content) - len(content) % fds.itemsize])
        return data, [self.make_room(fd) for fd in fds]

    def receive_cell(self):
        """The same of the next cell. Ahead of it this process may be copied, and go on as a copy. BRANCH: it is that of a new branch."""
        data, fds = self.receive()
        while data == CHECKPOINT and len(fds) == 1:
            if self.maker.make(_socket.socket(fileno=fds[0])):
                self.owner = os.getpid()
            data, fds = self.receive()
        return data, fds

    def take(self):
        """For class Session."""
        self.close_answers()
        data, fds = self.receive_cell()
        if data == BRANCH and not fds:
            return 1
        if len(fds) not in (CELL_FDS - 1, CELL_FDS) or not data:
            return None
        has_tools = len(fds) == CELL_FDS
        checkpoint = dict(enumerate(self.words, ord("A"))).get(data[0], "")  # guest_cell.h
        source, rest = read_all(fds[0]), Reader(read_all(fds[1]))
        for fd, number in zip(fds[2:], (0, 1, 2, RESULTS_FD)):
            os.dup2(fd, number, number != RESULTS_FD)
        if has_tools:
            self.put_answers(fds[-1])
        for fd in fds:
            os.close(fd)
        return source, rest.strings()[1:], rest.strings(), rest.number(), rest.string(), checkpoint.encode(), has_tools


def hold_interruptions(held):
    """An interruption is for a cell, not for what we do between two of them. One that comes too late is forgotten."""
    try:
        while not held and _signal.sigtimedwait(INTERRUPT, 0):
            pass
        _signal.pthread_sigmask(_signal.SIG_BLOCK if held else _signal.SIG_UNBLOCK, INTERRUPT)
    except KeyboardInterrupt:
        pass


def report(error):
    """Returns the status of the exception, as Python's own main would print it and end."""
    if isinstance(error, SystemExit):
        if error.code is None or type(error.code) is int:
            return (error.code or 0) & 0xff
        print(error.code, file=sys.stderr)
        return 1
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except BaseException:
        sys.__excepthook__(type(error), error, error.__traceback__)
    return 1


class Loop:
    def __init__(self, runner):
        self.runner = runner
        self.cells = Cells(runner.load("session_checkpoint"))
        self.session = runner.load("session")["Session"](runner, self.cells.take)
        self.names = sys.modules["__main__"].__dict__
        self.result = None  # of the last code; the value where that is one expression
        self.value_name, self.flush = (runner.load("main_run")[name] for name in ("VALUE_NAME", "flush_both"))

    def begin(self):
        """The code of the next cell, and the exception that has kept it from being there."""
        try:
            return self.session.begin_cell(), None
        except BaseException as error:
            return None, error.with_traceback(None)

    def execute(self, code):
        """The exception that has ended the cell; None: there is none."""
        try:
            hold_interruptions(False)
            self.result = eval(code, self.names)
            if not code.co_flags & 0x80:  # CO_COROUTINE
                return None
            self.result, error = self.session.await_result(self.result)
            return error
        except BaseException as error:
            return error.with_traceback(self.session.of_cells(error.__traceback__))

    def tell(self, error):
        """Of the value nothing is left behind it."""
        value, self.result = self.result, None
        if value is None:
            value = self.names.pop(self.value_name, None)
        try:
            self.runner.tell(value, None if isinstance(error, SystemExit) else error)
        except BaseException:  # results are not worth another end of the cell
            pass

    def finish(self, error):
        self.flush()
        self.tell(error)
        status = 0 if error is None else report(error)
        self.flush()
        return status

    def run(self):
        hold_interruptions(True)
        while True:
            code, error = self.begin()
            if code is None and error is None:
                raise SystemExit(0)
            try:
                error = error or self.execute(code)
                hold_interruptions(True)
            except KeyboardInterrupt as late:  # at the very end of its code
                hold_interruptions(True)
                error = late.with_traceback(None)
            status = self.finish(error)
            if os.getpid() != self.cells.owner:  # a child that has come to the end of its parent's cell
                hold_interruptions(False)
                raise SystemExit(status)
            self.session.end_cell(status)
            code = error = None


def run(runner, opened):
    """opened: Python's own descriptor of the session's empty program. Does not return."""
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, opened, False)
    os.close(nothing)
    Loop(runner).run()
