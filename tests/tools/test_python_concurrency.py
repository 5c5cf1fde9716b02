# SPDX-License-Identifier: Apache-2.0
"""Many calls of tools at once in a real Python, by threads and event loops, with answers in any order and of any size."""
import itertools
import os
import pathlib
import random
import select
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import tap
from peer import IN_FLIGHT, Peer, echo, frame, listing, of_error, of_json, of_text, run


def test_answers_in_any_order_come_to_their_calls():
    """As many are in flight before the first answer comes as the gateway tells, and no more than that."""
    program = {"threads": """
import concurrent.futures, tools
with concurrent.futures.ThreadPoolExecutor(40) as pool:
    print(list(pool.map(lambda number: tools.echo(n=number)["n"], range(40))) == list(range(40)))
""", "loop": """
import asyncio, tools
async def main():
    print([told["n"] for told in await asyncio.gather(*[tools.aio.echo(n=number) for number in range(40)])] == list(range(40)))
asyncio.run(main())
"""}
    for (name, text), most in itertools.product(program.items(), (1, IN_FLIGHT, 40)):
        with Peer(text, most=most) as peer:
            open_calls, served = peer.calls(most), 0
            while open_calls:
                tap.equal(select.select([peer.results], [], [], 0.05)[0], [], f"{name}: more in flight")
                random.shuffle(open_calls)
                for call in open_calls:
                    peer.send(echo(call))
                served += len(open_calls)
                open_calls = peer.calls(min(most, 40 - served))
            tap.equal(peer.end(), "True\n", name)


def test_a_thread_whose_answer_is_there_does_not_wait_for_others():
    program = """
import threading, tools
def wait(name):
    print(tools.echo(name=name)["name"], flush=True)
threads = [threading.Thread(target=wait, args=(name,)) for name in "abcdefgh"]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    with Peer(program) as peer:
        calls = peer.calls(8)
        random.shuffle(calls)
        for count, call in enumerate(calls, 1):
            peer.send(echo(call))
            tap.eventually(lambda: len(peer.read(peer.output).split()) == count, f"answer {count} has come")
        tap.equal(sorted(peer.end().split()), list("abcdefgh"))


def test_loops_and_threads_call_beside_each_other():
    program = """
import asyncio, threading, tools
def in_thread(number):
    for index in range(30):
        assert tools.echo(n=[number, index])["n"] == [number, index]
async def many(number):
    for index in range(5):
        told = await asyncio.gather(*[tools.aio.echo(n=[number, index, one]) for one in range(7)])
        assert [row["n"][2] for row in told] == list(range(7))
        assert tools.echo(n=index)["n"] == index  # one that blocks the loop
threads = [threading.Thread(target=in_thread, args=(number,)) for number in range(4)]
threads += [threading.Thread(target=lambda: asyncio.run(many(number))) for number in range(3)]
for thread in threads: thread.start()
asyncio.run(many(9))
for thread in threads: thread.join()
print("done")
"""
    tap.equal(run(program), "done\n")


def test_a_loop_goes_on_while_an_answer_is_awaited():
    program = """
import asyncio, tools
async def main():
    call = asyncio.ensure_future(tools.aio.echo(a=1))
    for number in range(3):
        await asyncio.sleep(0)
        print("tick", flush=True)
    print(await call, len(asyncio.all_tasks()))
    import threading
    print(threading.active_count())
asyncio.run(main())
"""
    with Peer(program) as peer:
        call = peer.next_call()
        tap.eventually(lambda: peer.read(peer.output).count("tick") == 3, "the loop goes on")
        peer.send(echo(call))
        tap.equal(peer.end().splitlines()[3:], ["{'a': 1} 1", "1"])


def test_a_cancelled_call_leaves_its_answer_to_nobody():
    program = """
import asyncio, tools
async def main():
    tasks = [asyncio.ensure_future(tools.aio.echo(n=number)) for number in range(20)]
    await asyncio.sleep(0)
    for task in tasks[::2]: task.cancel()
    told = await asyncio.gather(*tasks, return_exceptions=True)
    print([row["n"] for row in told[1::2]], {type(row).__name__ for row in told[::2]})
    try:
        await asyncio.wait_for(tools.aio.echo(slow=True), 0.01)
    except asyncio.TimeoutError:
        print("late")
    print(await tools.aio.echo(n=99), tools.echo(n=98))
asyncio.run(main())
"""
    slow = []

    def respond(call):
        if "slow" in call.arguments:
            slow.append(call)
            return b""
        return b"".join(map(echo, [call, *slow]))
    told = run(program, respond).splitlines()
    tap.equal(told, ["[1, 3, 5, 7, 9, 11, 13, 15, 17, 19] {'CancelledError'}", "late", "{'n': 99} {'n': 98}"])


def test_a_call_that_was_cancelled_before_it_was_sent_is_never_sent():
    program = """
import asyncio, tools
async def main():
    tasks = [asyncio.ensure_future(tools.aio.echo(n=number)) for number in range(20)]
    await asyncio.sleep(0)
    tasks[18].cancel()
    await asyncio.sleep(0)
    print("ready", flush=True)
    print(sum(row["n"] for row in await asyncio.gather(*tasks[:18], tasks[19])))
asyncio.run(main())
"""
    with Peer(program) as peer:
        calls = peer.calls(IN_FLIGHT)
        tap.eventually(lambda: "ready" in peer.read(peer.output), "a call has been cancelled")
        for call in calls:
            peer.send(echo(call))
        rest = peer.calls(3)
        tap.equal(sorted(call.arguments["n"] for call in rest), [16, 17, 19])
        for call in rest:
            peer.send(echo(call))
        tap.equal(peer.end().split()[1], str(sum(range(20)) - 18))


def test_an_answer_may_come_in_any_pieces():
    program = "import tools\nprint(tools.echo(a='\\u00fc') == {'a': '\\u00fc'}, tools.echo(b=2), tools.echo(c=3))"
    with Peer(program) as peer:
        for index in range(3):
            for byte in echo(peer.next_call()):
                peer.send(bytes((byte,)))
        tap.equal(peer.end(), "True {'b': 2} {'c': 3}\n")


def test_several_answers_may_come_as_one():
    program = """
import threading, tools
threads = [threading.Thread(target=lambda: print(tools.echo(a=1))) for _ in range(5)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(tools.echo(b=2))
"""
    with Peer(program) as peer:
        calls = peer.calls(5)
        whole = b"".join(map(echo, calls))
        peer.send(whole[:-3])
        peer.send(whole[-3:])
        peer.send(echo(peer.next_call()))
        tap.equal(sorted(peer.end().splitlines()), ["{'a': 1}"] * 5 + ["{'b': 2}"])


def test_large_answers_are_whole():
    size = 4 << 20
    program = f"""
import asyncio, tools
print(tools.echo() == "x" * {size})
async def main():
    print([told == "x" * {size} for told in await asyncio.gather(*[tools.aio.echo() for _ in range(4)])])
asyncio.run(main())
"""
    tap.equal(run(program, lambda call: of_text(call.number, "x" * size)), "True\n[True, True, True, True]\n")


def test_large_calls_and_large_answers_cross():
    """This gateway writes an answer before it reads again: a program that only wrote would wait for ever."""
    size = 1000000
    for program in (f"""
import asyncio, tools
async def main():
    told = await asyncio.gather(*[tools.aio.echo(n=number, a="x" * {size}) for number in range(20)])
    print([row["n"] for row in told] == list(range(20)), {{len(row["a"]) for row in told}})
asyncio.run(main())
""", f"""
import concurrent.futures, tools
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    told = list(pool.map(lambda number: tools.echo(n=number, a="x" * {size}), range(20)))
print([row["n"] for row in told] == list(range(20)), {{len(row["a"]) for row in told}})
"""):
        tap.equal(run(program), f"True {{{size}}}\n")


def test_what_is_no_answer_is_dropped():
    noise = [of_json(77, 1), of_json(0, 1), frame(2, b""), frame(2, b"\1\0\0"), frame(9, b"x"), frame(0, b""), listing([])]
    told = run("import tools\nprint(tools.echo(a=1), tools.echo(a=2), tools.names()[0])", lambda call: b"".join(noise) + echo(call) + echo(call))
    tap.equal(told, "{'a': 1} {'a': 2} echo\n")


def test_the_end_of_the_answers_fails_each_open_call_and_all_further_ones():
    program = """
import asyncio, threading, tools
def told(call):
    try: return call()
    except tools.ToolError as error: return error.code
threads = [threading.Thread(target=lambda: print(told(tools.echo))) for _ in range(3)]
async def main():
    async def one():
        try: await tools.aio.echo()
        except tools.ToolError as error: print(error.code)
    await asyncio.gather(*[one() for _ in range(20)])
for thread in threads: thread.start()
asyncio.run(main())
for thread in threads: thread.join()
print(told(tools.echo))
"""
    with Peer(program) as peer:
        peer.calls(IN_FLIGHT)
        peer.close_replies()
        tap.equal(peer.end().splitlines(), ["unavailable"] * 24)


def test_a_gateway_that_is_gone_fails_the_call():
    with Peer("import tools\nfor _ in range(2):\n try: tools.echo(a='x' * 200000)\n except tools.ToolError as error: print(error.code)") as peer:
        tap.equal(select.select([peer.results], [], [], 30)[0], [peer.results])
        os.close(peer.results)
        peer.results = -1
        tap.equal(peer.process.wait(30), 0)
        tap.equal(peer.read(peer.output), "unavailable\nunavailable\n")


def test_a_frame_that_is_none_ends_the_answers():
    with Peer("import tools\ntry: tools.echo()\nexcept tools.ToolError as error: print(error.code)") as peer:
        peer.next_call()
        peer.send(b"\xff" * 64)
        tap.equal(peer.end(), "unavailable\n")


def test_errors_of_many_calls_are_raised_in_their_own_tasks():
    program = """
import asyncio, tools
async def main():
    told = await asyncio.gather(*[tools.aio.echo(n=number) for number in range(12)], return_exceptions=True)
    print([getattr(row, "code", None) or row["n"] for row in told])
asyncio.run(main())
"""
    told = run(program, lambda call: of_error(call.number, "timeout") if call.arguments["n"] % 2 else echo(call))
    tap.equal(told.strip(), str([number if number % 2 == 0 else "timeout" for number in range(12)]))


def test_a_loop_that_was_left_does_no_harm():
    """One that is closed with open calls, and one that nobody runs any more."""
    program = """
import asyncio, tools
async def leave():
    asyncio.ensure_future(tools.aio.echo(left=True))
    await asyncio.sleep(0)
for is_closed in True, False:
    loop = asyncio.new_event_loop()
    loop.run_until_complete(leave())
    if is_closed: loop.close()
    print(tools.echo(a=1), flush=True)
asyncio.run(leave())
print(tools.echo(a=2), flush=True)
import os
os._exit(0)  # the tasks that were left would be reported
"""
    tap.equal(run(program).splitlines(), ["{'a': 1}", "{'a': 1}", "{'a': 2}"])


def test_answers_and_calls_are_not_lost_under_threads_that_come_and_go():
    program = """
import random, threading, tools
def work(seed):
    chance = random.Random(seed)
    for index in range(60):
        size = chance.choice((1, 10, 5000, 70000))
        assert tools.echo(n=[seed, index], a="x" * size) == {"n": [seed, index], "a": "x" * size}
for generation in range(3):
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(24)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
print("done")
"""
    tap.equal(run(program), "done\n")
    with Peer(program) as peer:  # answered in another order by another thread than the one that reads
        held, lock = [], threading.Condition()

        def answer_later():
            while True:
                with lock:
                    lock.wait_for(lambda: held)
                    call = held.pop(random.randrange(len(held)))
                if call is None:
                    return
                peer.send(echo(call))
        answering = threading.Thread(target=answer_later)
        answering.start()
        try:
            while True:
                call = peer.next_call()
                with lock:
                    held.append(call)
                    lock.notify()
        except EOFError:
            with lock:
                held.append(None)
                lock.notify()
        answering.join()
        tap.equal(peer.end(), "done\n")


if __name__ == "__main__":
    tap.run(globals())
