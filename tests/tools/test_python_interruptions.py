# SPDX-License-Identifier: Apache-2.0
"""A call of a tool that is interrupted: at each of its instructions, by signals at many instants, by several at once. Then the next call
has its own answer, no call is made twice, every frame is whole, and as many calls as ever can be in flight."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import tap
from peer import Peer, echo

# Raises at the instruction of that number within our parts. A tracer can do so where no signal can, so it is stricter.
TRACER = """
import asyncio, sys, tools
class Interrupted(BaseException): pass
OURS = ("tools.py", "tool_channel.py")
channel = sys.modules["sitecustomize"].runner.load("tools")["tools"].channel
class Tracer:
    def __init__(self, *instants):
        self.left, self.instants = instants[0], instants[1:]
    def __call__(self, frame, event, argument):
        if frame.f_code.co_filename not in OURS:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.left -= 1
            if self.left == 0:
                if self.instants:  # Python takes a tracer away that raises
                    self.left, self.instants = self.instants[0], self.instants[1:]
                    AGAIN.append(self)
                raise Interrupted
        return self
AGAIN = []
def interrupt(function, *instants):
    "Whether there was an interruption."
    tracer = Tracer(*instants)
    sys.settrace(tracer)
    try:
        function()
    except Interrupted:
        return True
    finally:
        sys.settrace(None)
    return tracer.left <= 0
def check(number):
    assert tools.echo(check=number) == {"check": number}, number
    assert not channel.lead._is_owned() and not channel.sending._is_owned()
    assert not channel.queue and not channel.out and len(channel.unanswered) < 3, (number, channel.unanswered)
async def all_in_flight():
    assert [row["n"] for row in await asyncio.gather(*[tools.aio.echo(n=number) for number in range(16)])] == list(range(16))
"""


class Answers:
    """Each call once."""

    def __init__(self):
        self.numbers = set()

    def __call__(self, call):
        assert call.number not in self.numbers, f"call {call.number} has come twice"
        self.numbers.add(call.number)
        return echo(call)


def interrupted(program, files=None):
    """The output, which says how many instants there were."""
    with Peer(TRACER + program, files=files) as peer:
        peer.serve(Answers())
        return peer.end()


def test_at_each_instruction_of_a_call():
    for arguments in "a=1", "a='x' * 9000":
        told = interrupted(f"""
instant = 1
while interrupt(lambda: tools.echo({arguments}), instant):
    check(instant)
    instant += 1
asyncio.run(all_in_flight())
print(instant)
""")
        tap.true(int(told) > 200, told)


AWAITED = """
import logging, warnings
logging.disable()
warnings.simplefilter("ignore")
instant = 1
async def one():
    return await asyncio.wait_for(asyncio.gather(tools.aio.echo(a=1), tools.aio.echo(b=2)), 20)
asyncio.run(one())
while interrupt(lambda: asyncio.run(one()), instant):
    check(instant)
    instant += 1
asyncio.run(all_in_flight())
print(instant)
"""


def test_at_each_instruction_of_an_awaited_call():
    """By what ends the loop, and by what the loop only reports: then the answers come all the same."""
    told = interrupted("Interrupted = KeyboardInterrupt" + AWAITED)
    tap.true(int(told) > 300, told)
    told = interrupted(AWAITED)
    tap.true(int(told) > 300, told)


def test_at_each_instruction_while_other_threads_call():
    """None of them waits for ever."""
    told = interrupted("""
import threading
is_over, counts = False, [0, 0]
def call_on(which):
    while not is_over:
        assert tools.echo(n=counts[which])["n"] == counts[which]
        counts[which] += 1
threads = [threading.Thread(target=call_on, args=(which,)) for which in (0, 1)]
for thread in threads: thread.start()
instant = 1
while instant < 1200:
    interrupt(lambda: tools.echo(a=1), instant)
    before = list(counts)
    assert tools.echo(check=instant)["check"] == instant
    while any(now <= then for now, then in zip(counts, before)):  # each of them goes on
        tools.echo(more=1)
    instant += 1
is_over = True
for thread in threads: thread.join()
asyncio.run(all_in_flight())
print(instant)
""")
    tap.equal(told, "1200\n")


def test_at_each_instruction_of_a_result_between_calls():
    """A frame of results.py is whole as well."""
    program = """
runner = sys.modules["sitecustomize"].runner
instant = 1
def both():
    tools.echo(a="x" * 9000)
    runner.results()["channel"].send(1, b"{}" + b" " * 9000)
while interrupt(both, instant):
    check(instant)
    instant += 1
print(instant)
"""
    with Peer(TRACER + program) as peer:
        peer.serve(Answers())
        tap.true(int(peer.end()) > 300, "instants")
    tap.equal({(kind, len(payload)) for kind, payload in peer.frames}, {(1, 9002)})


def test_at_each_instruction_of_the_import():
    program = """
import sys
class Interrupted(BaseException): pass
runner = sys.modules["sitecustomize"].runner
runner.load("tools"), runner.load("tool_channel")
import json, select
instant, count = 1, 0
while True:
    def trace(frame, event, argument):
        global count
        if frame.f_code.co_filename not in ("tools.py", "tool_channel.py"): return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            count += 1
            if count == instant: raise Interrupted
        return trace
    count = 0
    sys.settrace(trace)
    try:
        import tools
        break
    except Interrupted:
        sys.modules.pop("tools", None)
    finally:
        sys.settrace(None)
    instant += 1
print(instant, tools.echo(a=1))
"""
    with Peer(program) as peer:
        peer.serve(Answers())
        told = peer.end()
    tap.true(told.endswith("{'a': 1}\n") and int(told.split()[0]) > 100, told)


SIGNALS = """
import random, signal, tools
class Interrupted(BaseException): pass
shots, interruptions = 0, 0
def interrupt(*_):
    global shots, interruptions
    shots, interruptions = shots - 1, interruptions + 1
    if shots: signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.000001, 0.00005))
    raise Interrupted
signal.signal(signal.SIGALRM, interrupt)
chance = random.Random(1)
def call(number):
    size = chance.choice((0, 0, 0, 9000))
    assert tools.echo(n=number, a="x" * size) == {"n": number, "a": "x" * size}
def attempt(number, count):
    "Calls until so many signals have come; two at most."
    global shots
    try:
        try:
            shots = count
            signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.000001, 0.0005))
            while shots: call(number)
        except (Interrupted, SystemError):  # Python raises that where a handler is interrupted by another one
            while shots: call(number)
    except (Interrupted, SystemError):
        pass
"""


def test_by_signals_at_many_instants():
    program = SIGNALS + """
for number in range(3000):
    attempt(number, chance.choice((1, 1, 2)))
    assert tools.echo(check=number) == {"check": number}
print(interruptions)
"""
    with Peer(program) as peer:
        peer.serve(Answers())
        tap.true(int(peer.end()) > 3000, "interruptions")


def test_by_an_interrupt_while_it_waits():
    program = """
import signal, tools
signal.signal(signal.SIGINT, signal.default_int_handler)  # this test may run in the background of a shell
for number in range(3):
    try:
        tools.echo(n=number)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    print(tools.echo(after=number), flush=True)
"""
    with Peer(program) as peer:
        for number in range(3):
            call = peer.next_call()
            os.kill(peer.process.pid, 2)
            after = peer.next_call()
            tap.equal(after.arguments, {"after": number})
            peer.send(echo(call))
            peer.send(echo(after))
        told = peer.end().splitlines()
    tap.equal(told, [line for number in range(3) for line in ("interrupted", f"{{'after': {number}}}")])


def test_a_handler_cannot_call_within_a_call_but_can_beside_one():
    program = """
import signal, threading, tools
def handler(*_):
    try: print("handler", tools.echo(handler=True), flush=True)
    except RuntimeError as error: print(type(error).__name__, flush=True)
signal.signal(signal.SIGALRM, handler)
print(tools.echo(a=1), flush=True)
signal.raise_signal(signal.SIGALRM)
"""
    with Peer(program) as peer:
        call = peer.next_call()
        os.kill(peer.process.pid, 14)
        tap.eventually(lambda: "RuntimeError" in peer.read(peer.output), "the handler is refused")
        peer.send(echo(call))
        peer.serve(echo)
        tap.equal(peer.end().splitlines(), ["RuntimeError", "{'a': 1}", "handler {'handler': True}"])


if __name__ == "__main__":
    tap.run(globals())
