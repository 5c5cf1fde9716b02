# SPDX-License-Identifier: Apache-2.0
"""Runs the program in Python's place, as Python's own main would run it, where there is no extension of ours (main_run.c has one): the
same module __main__, no frame around it, the same traceback, status and end. Python's main handles the signals that have come right
before it reads the program, which it has just opened. That is the only time that no frame is there. So a hook that it asks ahead of
that reports a signal, and the signal's handler runs the program. Both are functions in C, put together from the standard library's:
one in Python would be a frame below the program."""
import _functools
import _signal
import _thread
import atexit
import itertools
import os
import sys

VALUE_NAME = " value"  # program_code.py
PROGRAM_FD = 61  # of the program's file, which Python's main leaves open: out of the way, beside those of results and tools
NOT_YET = compile("1", "", "eval")


def keep_low_numbers():
    """So that main's file gets the number PROGRAM_FD. The descriptors to close then; None: the number is not to be had."""
    kept = [os.open("/dev/null", os.O_RDONLY)]
    try:
        while kept[-1] < PROGRAM_FD - 1:
            kept.append(os.dup(kept[0]))
    except OSError:  # of a low limit
        pass
    if kept[-1] == PROGRAM_FD - 1:
        return kept
    close_all(kept)
    return None


def close_all(fds):
    for fd in fds:
        os.close(fd)


def flush_both():
    for name in "stderr", "stdout":
        try:
            getattr(sys, name).flush()
        except Exception:
            pass


def unwatched(function):
    """Calls it without what the program has set to watch calls. next() of it has no value."""
    call = itertools.starmap
    return filter(None, itertools.chain(call(sys.settrace, [(None,)]), call(sys.setprofile, [(None,)]), call(function, [()])))


def end_by_interrupt():
    """As Python does it behind the end of everything else, so that a shell sees it too."""
    flush_both()
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    os.kill(os.getpid(), _signal.SIGINT)


class Run:
    """load() is called once there is no frame left; it returns the program's code, or None for Python to run it. tell(value, exception)
    is called at the end, with None for what there is not."""

    def __init__(self, load, tell):
        self.load, self.tell = load, tell
        self.pid, self.told, self.names = os.getpid(), False, None

    def steps(self, kept):
        """What the handler is to evaluate."""
        while sys._getframe().f_back is not None:  # something else has asked the hook
            yield NOT_YET, {}
        sys.path_hooks.remove(self.hook)
        _signal.signal(_signal.SIGINT, self.handler_before)
        self.hook = self.handler_before = None
        close_all(kept)
        code = self.load(PROGRAM_FD)
        if code is None:
            return
        self.names = sys.modules["__main__"].__dict__
        atexit.register(next, unwatched(self.end), None)
        yield code, self.names

    def finish(self):
        """The program has ended without an exception."""
        if self.names is None:  # it is Python's to run
            return
        flush_both()
        value = self.names.pop(VALUE_NAME, None)
        self.names.pop("__file__", None)
        self.names.pop("__cached__", None)
        self.tell_once(value, None)
        raise SystemExit  # else Python would read the program

    def end(self):
        """Behind the program's own functions of that kind."""
        if os.getpid() != self.pid:
            return
        error = getattr(sys, "last_value", None)
        self.tell_once(None, error)
        if type(error) is KeyboardInterrupt:
            end_by_interrupt()

    def tell_once(self, value, error):
        if self.told:
            return
        self.told = True
        try:
            self.tell(value, error)
        except BaseException:  # results are not worth another end of the program
            pass

    def arm(self):
        """The handler is called with two arguments, and pow(it, number, None) is next(calls, number). The first call that has a value ends
        the handler; the others follow the program, and what it has set to watch calls does not see them."""
        kept = keep_low_numbers()
        if kept is None:
            return
        calls = itertools.chain(filter(None, itertools.starmap(eval, self.steps(kept))), unwatched(self.finish))

        class Power:
            __pow__ = staticmethod(_functools.partial(next, calls))

        self.handler_before = _signal.signal(_signal.SIGINT, _functools.partial(pow, Power()))
        self.hook = _functools.partial(next, itertools.starmap(_thread.interrupt_main, itertools.repeat(())))
        sys.path_hooks.append(self.hook)
