# SPDX-License-Identifier: Apache-2.0
"""The answers to a program's calls of tools, inside of a container: code-execute-guest as pid 1 of namespaces of its own, and this test as
its backend, which sends them. The calls themselves are among the results, and the guest looks at neither."""
import os
import pathlib
import signal
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import guest
import tap
from started_guest import FEW_DESCRIPTORS, TIME, is_last, needed, output_of, run, start

WAITS = ("CODE_EXECUTE_IMPORT=", "CODE_EXECUTE_ARGUMENTS=2", "--", "python3", "main.py")
LOOK = ("import os, stat\ntry: mode = os.fstat(62).st_mode\nexcept OSError: print('none')\n"
        "else: print(stat.S_ISSOCK(mode), os.get_blocking(62), os.get_inheritable(62))\n")
ANSWERS_ROOM, PIECE = guest.ANSWERS_ROOM, 16384
IN_SOCKET = 1 << 20  # more than the kernel keeps of what is not read


class Talk:
    """A program in Python whose run has tools, with both ends of its guest's streams."""

    def __init__(self, code, *arguments, runner=guest.NO_RUNNER, **told):
        self.process, self.output = start(*arguments), b""
        argv = ["python3", "main.py"] if arguments or runner else ["python3", "-c", code]
        self.give(guest.message(argv, results=True, tools=True, runner=runner, files=[("main.py", code.encode())] if len(argv) == 2 and argv[1] == "main.py" else (), **told))

    def give(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read_until(self, is_enough):
        while not is_enough():
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            assert piece, f"its output has ended: {self.output[-200:]}"
            self.output += piece

    def await_output(self, text):
        self.read_until(lambda: text in self.output)

    def end(self):
        """(wait status, standard output)"""
        self.read_until(lambda: is_last(self.output))
        self.process.stdin.close()
        self.process.wait(TIME)
        found = guest.frames(self.output)
        return struct.unpack_from("<I", found[-1][1])[0], b"".join(payload for kind, payload in found if kind == "stdout")

    def told(self):
        """Bytes of answers that have gone to the program, as the guest says."""
        return sum(struct.unpack("<I", payload)[0] for kind, payload in whole(self.output) if kind == "answers_taken")

    def send_answers(self, count):
        """As a backend does: never more than the guest has room for."""
        sent = 0
        while sent < count:
            self.read_until(lambda: sent - self.told() < ANSWERS_ROOM)
            piece = min(PIECE, count - sent, ANSWERS_ROOM - (sent - self.told()))
            self.give(guest.answers(bytes(piece)))
            sent += piece


def whole(output):
    """Its frames, without a last one that is not whole."""
    at, end = 0, 0
    while at + guest.HEADER.size <= len(output):
        at += guest.HEADER.size + guest.HEADER.unpack_from(output, at)[0]
        end = at if at <= len(output) else end
    return guest.frames(output[:end])


def test_a_run_with_tools_has_a_socket_and_no_other_run_has():
    for tools, seen in ((True, b"True True True\n"), (False, b"none\n")):
        tap.equal(output_of(run(["python3", "-c", LOOK], results=True, tools=tools)), seen)
    tap.equal(run(["python3", "-c", LOOK], results=True, tools=True, trial=True)[0], ("started", b""), "a trial")


def test_an_interpreter_that_waited_has_it_only_where_its_run_has_tools():
    for tools, seen in ((True, b"True True False\n"), (False, b"none\n")):
        found = run(["python3", "main.py"], *WAITS, files=[("main.py", LOOK.encode())], results=True, tools=tools)
        tap.equal(dict(found)["stdout"], seen)


def test_a_python_that_is_started_keeps_it_from_its_children():
    for tools, seen in ((True, b"True True False\n"), (False, b"none\n")):
        found = run(["python3", "main.py"], files=[("main.py", LOOK.encode())], results=True, tools=tools, runner=guest.PYTHON)
        tap.equal(dict(found)["stdout"], seen)


def test_a_run_with_few_descriptors_is_refused():
    for arguments in (), WAITS:
        [(kind, said)] = run(["python3", "main.py"], *arguments, files=[("main.py", b"")], results=True, tools=True, inside=FEW_DESCRIPTORS)
        tap.equal(kind, "failed")
        tap.contains(said, b"answers of tools")


def test_answers_arrive_as_they_were_sent_and_nothing_comes_out():
    talk = Talk("import os\ntry: os.write(62, b'x')\nexcept OSError as error: print(error.strerror, flush=True)\n"
                "data = b''\nwhile len(data) < 13: data += os.read(62, 100)\nprint(data)\nprint(os.read(62, 1))")
    talk.await_output(b"Broken pipe")
    for piece in b"forged", guest.ended(7)[:2], b"last", b"\0":
        talk.give(guest.answers(piece))
    talk.give(guest.answers(b""))
    tap.equal(talk.end(), (0, b"Broken pipe\n" + repr(b"forged" + guest.ended(7)[:2] + b"last\0").encode() + b"\nb''\n"))


def test_an_order_may_come_in_pieces():
    talk = Talk("import os\nprint(os.read(62, 10))")
    order = guest.answers(b"whole")
    for at in range(len(order)):
        talk.give(order[at:at + 1])
    tap.equal(talk.end()[0], 0)


def test_many_answers_reach_a_program_that_reads():
    size = 8 << 20
    talk = Talk(f"import os\nleft = {size}\nwhile left: left -= len(os.read(62, 1 << 16))\nprint('all')")
    talk.send_answers(size)
    tap.equal(talk.end(), (0, b"all\n"))
    tap.true(size - ANSWERS_ROOM <= talk.told() <= size, talk.told())


def child_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text())


def stuck(code, **told):
    """A guest that has as many answers as it takes for a program that reads none."""
    talk = Talk(code, **told)
    talk.await_output(b"begun")
    sent = 0
    while sent - talk.told() < ANSWERS_ROOM and sent < IN_SOCKET:  # until it has not told of any for as long as a question takes
        talk.give(guest.answers(bytes(PIECE)) + guest.ORDER_MEASURE)
        sent += PIECE
        wanted = sent // PIECE
        talk.read_until(lambda: sum(kind == "measured" for kind, _ in whole(talk.output)) == wanted)
    tap.equal(sent - talk.told(), ANSWERS_ROOM)
    return talk


def test_a_program_that_does_not_read_holds_nothing_up():
    """Its output and the answer to a question come, and the order to end it is obeyed."""
    talk = stuck("print('begun', flush=True)\nimport sys\nfor _ in range(100): sys.stdout.write('x' * 10000)\nsys.stdout.flush()\nprint('printed', flush=True)\nwhile True: pass")
    talk.await_output(b"printed")
    talk.give(guest.ORDER_END)
    status, output = talk.end()
    tap.equal((status, output), (signal.SIGKILL, b"begun\n" + b"x" * 1000000 + b"printed\n"))


def test_a_program_that_does_not_read_ends_by_itself():
    talk = stuck("import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})\nprint('begun', flush=True)\nsignal.sigwait({signal.SIGUSR1})\nprint('over')")
    os.kill(child_of(child_of(talk.process.pid)), signal.SIGUSR1)
    tap.equal(talk.end(), (0, b"begun\nover\n"))


def test_more_than_there_is_room_for_is_the_end_of_the_guest():
    talk = stuck("print('begun', flush=True)\nwhile True: pass")
    talk.give(guest.answers(bytes(ANSWERS_ROOM))[:5])
    tap.equal(talk.process.wait(TIME), 1)


def test_what_comes_for_a_program_that_has_closed_it_is_dropped():
    size = 1 << 20
    talk = Talk("import os, signal\nos.close(62)\nprint('closed', flush=True)\nsignal.pause()")
    talk.await_output(b"closed")
    talk.send_answers(size)
    tap.true(talk.told() >= size - ANSWERS_ROOM, talk.told())
    talk.give(guest.ORDER_END)
    tap.equal(talk.end()[0], signal.SIGKILL)


def test_the_processor_time_of_a_run_is_told():
    talk = Talk("print('begun', flush=True)\nimport time\nbegun = time.process_time()\nwhile time.process_time() - begun < 0.3: pass\nprint('spent', flush=True)\ntime.sleep(1000)")
    looks = []
    for text in b"begun", b"spent":
        talk.await_output(text)
        talk.give(guest.ORDER_MEASURE)
        talk.read_until(lambda: sum(kind == "measured" for kind, _ in whole(talk.output)) == len(looks) + 1)
        looks.append([struct.unpack("<IIQQQ", payload)[2] for kind, payload in whole(talk.output) if kind == "measured"][-1])
    tap.true(250000 <= looks[1] - looks[0] <= 600000, looks)
    talk.give(guest.ORDER_END)
    tap.equal(talk.end()[0], signal.SIGKILL)


needed()
tap.run(globals())
