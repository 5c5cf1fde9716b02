# SPDX-License-Identifier: Apache-2.0
"""Carries a program's calls of tools to the gateway, and the answers back: frames on the run's results pipe and on its pipe of replies
(docs/internals/tools-inside.md). Whatever interrupts a call, at any instruction, leaves both in order: each change of what is queued is one
call of a function in C, between whose steps Python runs no handler of a signal. tools.py has what a program sees."""
import sys
from _collections import deque
from _thread import RLock, allocate_lock
from itertools import chain, count, islice, repeat
from posix import fstat, getpid, read, write

CALL = 5  # kind of frame to the gateway, beside those of results.py
LISTING, ANSWER = 1, 2  # kinds of frames from it
NUMBER = 4  # bytes of one, ahead of what either of them says
ENDED = (0, b"")  # the answer to a call of which there will be none
WHOLE = 4096  # bytes that a pipe takes at once or not at all (PIPE_BUF)
READ_SIZE = 1 << 16
PIECES_LIMIT = 64  # of what has come; more are joined
FRAME_LIMIT = 1 << 30  # a longer one is none
HEAD = 5
HOLDER_PAUSE = 0.001  # seconds, while another thread is about to read what has come


class Ended(OSError):
    """There are no more answers; the text says why."""


def is_stream(status):
    return status.st_mode & 0o170000 in (0o010000, 0o140000)  # a pipe or a socket


def identity(fd):
    status = fstat(fd)
    return (status.st_dev, status.st_ino) if is_stream(status) else None


class ThreadCall:
    """A call whose thread waits for the answer."""

    loop = None

    def __init__(self):
        self.number, self.chunks, self.answer, self.is_queued, self.is_left = 0, None, None, False, False
        self.lock = allocate_lock()
        self.lock.acquire()

    def wake(self):
        try:
            self.lock.release()
        except RuntimeError:  # it is awake
            pass

    def give(self, answer, _):
        self.answer = answer
        self.wake()


class LoopCall:
    """A call whose answer is awaited in an event loop."""

    def __init__(self, loop):
        self.number, self.chunks, self.answer, self.is_queued, self.is_left = 0, None, None, False, False
        self.loop, self.future = loop, loop.create_future()

    def settle(self):
        if not self.future.done():
            self.future.set_result(None)

    def give(self, answer, here):
        """here: the event loop whose thread this is, if it is one's."""
        self.answer = answer
        if here is self.loop:
            self.settle()
            return
        try:
            self.loop.call_soon_threadsafe(self.settle)
        except RuntimeError:  # the loop is closed: nobody waits
            pass


class Channel:
    """One thread at a time reads ("leads"), and gives the others their answers. A thread that stops leading wakes another one."""

    def __init__(self, results_fd, replies_fd):
        from select import select
        self.select, self.pid = select, getpid()
        self.results_fd, self.replies_fd = results_fd, replies_fd
        self.pipes = identity(results_fd), identity(replies_fd)
        self.lead, self.sending = RLock(), RLock()
        self.numbers, self.ended, self.is_closed, self.loops = count(1), False, False, {}
        self.most = 0  # calls without an answer, as the gateway tells with the tools; further ones wait here
        self.queue, self.out, self.pieces = deque(), deque(), deque()  # frames as lists of chunks; chunks; what has come
        self.first = ThreadCall()
        self.first.is_queued = True
        self.unanswered = {0: self.first}  # those in the queue, too

    def is_there(self):
        """A program may have closed the descriptors, and have other files there."""
        try:
            return None not in self.pipes and (identity(self.results_fd), identity(self.replies_fd)) == self.pipes
        except OSError:
            return False

    def check(self):
        """Raises where no call can be made."""
        if getpid() != self.pid:
            raise Ended("a child process of the program cannot call tools")
        if self.ended or not self.is_there():
            raise Ended("the gateway takes no more calls")
        if self.lead._is_owned() or self.sending._is_owned():
            self.refuse_nested()

    def refuse_nested(self):
        frame = sys._getframe(3)
        while frame is not None and frame.f_code not in INTERRUPTED:
            frame = frame.f_back
        if frame is not None:
            raise RuntimeError("a signal handler that has interrupted a call of a tool cannot call one")
        self.let_go()

    def let_go(self):
        """Of what an interruption has kept."""
        for lock in self.lead, self.sending:
            while lock._is_owned():
                lock.release()

    def leave(self, call):
        """Nobody waits for the answer any more."""
        call.is_left = True
        self.let_go()
        try:
            self.queue.remove(call.chunks)
        except ValueError:  # it has been sent, or was never queued
            if not call.is_queued:
                self.unanswered.pop(call.number, None)
        else:
            self.unanswered.pop(call.number, None)
        self.pass_on()

    def pass_on(self):
        """What an interruption has kept from being given, and who leads."""
        for loop in list(self.loops) if self.pieces else ():
            try:
                loop.call_soon_threadsafe(self.take_in_loop, loop)
            except RuntimeError:  # it is closed
                pass
        self.wake_one()

    def wake_one(self):
        for call in list(self.unanswered.values()):
            if call.loop is None and call.answer is None and not call.is_left:
                call.wake()
                return

    def start(self, call, name, arguments):
        call.number = next(self.numbers)
        payload = b"".join((call.number.to_bytes(4, "little"), len(name).to_bytes(2, "little"), name, arguments))
        frame = b"".join((len(payload).to_bytes(4, "little"), bytes((CALL,)), payload))
        call.chunks = self.chunks_of(frame)
        self.unanswered[call.number] = call
        self.queue.append(call.chunks)
        call.is_queued = True
        self.send()
        if self.ended:
            raise Ended("the gateway takes no more calls")

    @staticmethod
    def chunks_of(frame):
        return [frame] if len(frame) <= WHOLE else [frame[at:at + WHOLE] for at in range(0, len(frame), WHOLE)]

    def has_room(self):
        return self.queue and len(self.unanswered) - len(self.queue) < self.most

    def send(self, waits=True):
        """What is queued, as far as it may be in flight. One that does not wait leaves it to the thread that sends: that looks again."""
        while self.out or self.has_room():
            if not self.sending.acquire(waits):
                return
            try:
                while self.out or self.has_room():
                    if self.has_room():
                        self.take_from_queue()
                    if self.out:
                        self.write_next()
            finally:
                self.sending.release()

    def take_from_queue(self):
        try:
            self.out.extend(chain.from_iterable(islice(iter(self.queue.popleft, None), 1)))
        except IndexError:  # a thread that leaves has just taken it back
            pass

    def write_next(self):
        """A chunk; or takes answers while there is no room for one: the gateway may wait for that."""
        try:
            readable, writable, _ = self.select(() if self.ended else (self.replies_fd,), (self.results_fd,), ())
        except OSError:  # one of them is closed; results may go on
            self.end(None)
            readable, writable = (), True
        if self.is_closed:  # meanwhile: what is there now belongs to another cell
            self.out.clear()
        elif writable:
            try:
                next(map(write, repeat(self.results_fd), iter(self.out.popleft, None)))
            except OSError as error:
                self.end(None)
                raise Ended("the gateway takes no more calls") from error
        elif readable and self.lead.acquire(False):
            try:
                self.receive_ready(None)
            finally:
                self.lead.release()
                self.wake_one()
        elif readable:
            self.select((), (self.results_fd,), (), HOLDER_PAUSE)

    def write(self, frame):
        """One of results.py, which is whole behind what is under way."""
        self.out.extend(self.chunks_of(bytes(frame)))
        self.send()

    def receive(self, here):
        """Gives what has come. If that is no whole answer, reads once. For the thread that leads."""
        if self.give_whole(here):
            return
        try:
            self.pieces.extend(islice(map(read, repeat(self.replies_fd), repeat(READ_SIZE)), 1))
        except OSError:
            self.end(here)
            return
        if self.pieces[-1]:
            self.give_whole(here)
        else:
            self.end(here)

    def receive_ready(self, here):
        """The same, but never waits: another thread may have read what there was."""
        if not self.give_whole(here) and self.select((self.replies_fd,), (), (), 0)[0]:
            self.receive(here)

    def end(self, here):
        self.ended = True
        for call in list(self.unanswered.values()):
            call.give(ENDED, here)
        self.unanswered.clear()
        self.queue.clear()

    def give_whole(self, here):
        """Each whole frame. An interruption between two steps makes it give some of them twice, which nobody notices."""
        pieces = self.pieces
        size = sum(map(len, pieces))
        if size < HEAD:
            return False
        if len(pieces[0]) < HEAD or len(pieces) > PIECES_LIMIT:
            pieces = self.pieces = deque((b"".join(pieces),))
        length = int.from_bytes(pieces[0][:4], "little")
        if length > FRAME_LIMIT:
            self.end(here)
            return True
        if size < HEAD + length:
            return False
        data, at = b"".join(pieces), 0
        while size - at >= HEAD:
            end = at + HEAD + int.from_bytes(data[at:at + 4], "little")
            if end > size:
                break
            self.give(data[at + 4], data[at + HEAD:end], here)
            at = end
        self.pieces = deque((data[at:],) if at < size else ())
        return True

    def give(self, kind, payload, here):
        told = int.from_bytes(payload[:NUMBER], "little") if len(payload) > NUMBER else 0
        number = told if kind == ANSWER else 0
        call = self.unanswered.get(number) if number or kind == LISTING else None
        if call is None:
            return
        if not number:
            self.most = told
        call.give((payload[NUMBER], payload[NUMBER + 1:]) if number else (0, payload[NUMBER:]), here)
        self.unanswered.pop(number, None)

    def wait(self, call):
        while call.answer is None:
            if self.ended:
                raise Ended("the gateway takes no more calls")
            if not self.lead.acquire(False):
                call.lock.acquire()  # until there is an answer, or nobody leads
                continue
            try:
                while call.answer is None and not self.ended:
                    self.receive(None)
                    self.send(False)
            finally:
                self.lead.release()
                self.wake_one()

    def call(self, name, arguments):
        """name, arguments: bytes. The answer: its form, and its bytes."""
        self.check()
        call = ThreadCall()
        try:
            self.start(call, name, arguments)
            self.wait(call)
        except BaseException:
            self.leave(call)
            raise
        return call.answer

    def listing(self):
        """The tools of this run, as the gateway tells them first of all."""
        self.check()
        self.first.is_left = False
        try:
            self.wait(self.first)
        except BaseException:
            self.leave(self.first)
            raise
        return self.first.answer[1]

    async def call_in_loop(self, loop, name, arguments):
        self.check()
        call = LoopCall(loop)
        self.watch(loop)
        try:
            self.start(call, name, arguments)
            await call.future
        except BaseException:
            self.leave(call)
            raise
        finally:
            self.stop_watching(loop)
        return call.answer

    def watch(self, loop):
        """As long as a call of that loop is open."""
        watched = self.loops.get(loop, 0)
        if watched == 0:
            loop.add_reader(self.replies_fd, self.take_in_loop, loop)
        self.loops[loop] = watched + 1

    def stop_watching(self, loop):
        left = self.loops.get(loop, 0) - 1
        if left > 0:
            self.loops[loop] = left
        elif self.loops.pop(loop, None) and not loop.is_closed():
            loop.remove_reader(self.replies_fd)

    def take_in_loop(self, loop):
        """Called when something has come, if no thread has taken it yet."""
        try:
            if self.ended:
                if loop in self.loops:  # else it may be another one's by now
                    loop.remove_reader(self.replies_fd)
            elif self.lead.acquire(False):
                try:
                    self.receive_ready(loop)
                finally:
                    self.lead.release()
                    self.wake_one()
                self.send(False)
        except BaseException:
            self.let_go()
            self.pass_on()
            raise

    def close(self):
        """Another one takes its place, on the same descriptors."""
        self.ended = self.is_closed = True
        for loop in list(self.loops):
            self.loops.pop(loop, None)
            if not loop.is_closed():
                loop.remove_reader(self.replies_fd)
        self.end(None)
        self.out.clear()


INTERRUPTED = {function.__code__ for function in (Channel.call, Channel.listing, Channel.start, Channel.take_in_loop, Channel.write)}
