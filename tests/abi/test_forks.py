# SPDX-License-Identifier: Apache-2.0
"""Gateways in Python that fork during a call: os.fork() with an ordinary exit, multiprocessing with its fork start method, and
a daemon that outlives its parent. Each gateway is a program of its own; test_forking_gateway.c has the provider's side."""
import os
import pathlib
import signal
import subprocess
import sys
import textwrap

SUPPORT = pathlib.Path(__file__).parents[1] / "support"
sys.path.insert(0, str(SUPPORT))
import tap

PRELUDE = f"""
import json, multiprocessing, os, sys, threading
sys.path.insert(0, {str(SUPPORT)!r})
from provider import OK, Host, Provider

provider = Provider()
started = threading.Event()
ended = []

def call_for_a_while():
    host = Host(call_id=7, on_output=lambda *_: started.set())
    code, result = provider.invoke({{"language": "sh", "code": "echo started; sleep 2; exit 7"}}, host)
    ended.append((code, result["status"], result["exit_code"]))

def exit_code_of(number):
    _, result = provider.invoke({{"language": "sh", "code": f"exit {{number}}"}}, Host())
    return result["exit_code"]

thread = threading.Thread(target=call_for_a_while)
thread.start()
started.wait()
"""


def gateway(text, patience=60):
    # Python 3.12 and later warn of a fork beside threads, which is what these tests are about.
    with subprocess.Popen([sys.executable, "-W", "ignore::DeprecationWarning", "-c", PRELUDE + textwrap.dedent(text)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                          env={**os.environ, "CODE_EXEC_SANDBOX": "process"}) as running:
        try:
            output, errors = running.communicate(timeout=patience * tap.SLOW)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)  # its children too
            output, errors = running.communicate()
            raise AssertionError(f"the gateway hangs: {output} {errors}") from None
    tap.equal((running.returncode, errors), (0, ""), "the gateway's end")
    return output


def test_child_that_exits():
    output = gateway("""
        child = os.fork()
        if child == 0:
            sys.exit(0)
        print(os.waitpid(child, 0)[1], flush=True)
        thread.join()
        print(ended)
    """)
    tap.equal(output, "0\n[(0, 'completed', 7)]\n")


def test_child_that_calls():
    output = gateway("""
        child = os.fork()
        if child == 0:
            found = provider.cancel(7), exit_code_of(3), provider.counters()["calls_run"]
            provider.reset()
            sys.exit(0 if found == (1, 3, 1) else 9)
        print(os.waitpid(child, 0)[1], flush=True)
        thread.join()
        print(ended)
    """)
    tap.equal(output, "0\n[(0, 'completed', 7)]\n")


def test_multiprocessing():
    output = gateway("""
        with multiprocessing.get_context("fork").Pool(3) as pool:
            print(pool.map(exit_code_of, [1, 2, 3, 4, 5]), flush=True)
        thread.join()
        print(ended)
    """)
    tap.equal(output, "[1, 2, 3, 4, 5]\n[(0, 'completed', 7)]\n")


def test_daemon_that_outlives_its_parent():
    output = gateway("""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(writer)
            os.read(reader, 1)  # its end says that the parent is gone
            print(exit_code_of(4), flush=True)
            sys.exit(0)
        thread.join()
        print(ended, flush=True)
    """)
    tap.equal(output, "[(0, 'completed', 7)]\n4\n")


tap.run(globals())
