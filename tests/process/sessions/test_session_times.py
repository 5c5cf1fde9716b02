# SPDX-License-Identifier: Apache-2.0
"""The processor time of a cell: whose it is, what counts, and what happens at its limit."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import tap
from modes import MODE, Provider, adopt_orphans, merged, run_cases
from provider import FAILED, NOT_RUN, OK, Host

RIGHTS = ("sandbox.exec", "sandbox.exec.session")
AMPLE_MS = 120000
BUSY = "while True: pass\n"
# Each begins, and is busy for so many seconds of its own processor time.
SPEND = "import time\ndef spend(seconds):\n    begun = time.process_time()\n    while time.process_time() - begun < seconds: pass\n"
TWO_CHILDREN = "import os\nfor _ in range(2):\n    if os.fork() == 0:\n        spend({0})\n        os._exit(0)\nfor _ in range(2): os.wait()\nprint('waited')"
SHORT_CHILDREN = "import os\nwhile True:\n    if os.fork() == 0:\n        spend(0.03)\n        os._exit(0)\n    os.wait()"
THREAD_OF_CHILD = "import os, threading\ndef child():\n    if os.fork() == 0:\n        while True: pass\n    os.wait()\nthreading.Thread(target=child).start()\nimport time\nwhile True: time.sleep(0.01)"
HEEDLESS = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + BUSY
OTHERS = {"bash": ("x=1", "while :; do :; done", "echo $x"), "sh": ("x=1", "while :; do :; done", "echo $x"),
          "javascript": ("let x = 1", "while (true);", "console.log(x)")}
POLICY = {"sessions": {"max_total": 8, "max_per_principal": 8},
          "limits": {name: {"default": AMPLE_MS, "max": AMPLE_MS} for name in ("wall_ms", "cpu_ms")}}
adopt_orphans()
provider = Provider()


def use(**more):
    """Of time there is plenty, for what begins a session too: a cell gets less by its own narrowing."""
    tap.equal(provider.begin_anew(merged(POLICY, more)), OK)


def call(code, session="new", cpu_ms=AMPLE_MS, language="python", **more):
    context = {"principal": "ann", "policy": {"limits": {"cpu_ms": cpu_ms}}}
    return provider.invoke({"language": language, "code": code, "session": session, **more}, Host(RIGHTS, context=context))


def cell(code, session="new", **more):
    """The result of one that completes."""
    result = call(code, session, **more)[1]
    tap.equal((result["status"], result["exit_code"], result["session"]["state"]), ("completed", 0, "kept"), result)
    return result


def begin(code="x = 1", **more):
    return cell(code, **more)["session"]["id"]


def expect_spent(result, state="kept", reason=None):
    """It was ended for its processor time, well before the end of its wall time."""
    tap.equal((result["status"], result["cause"], result["error"] and result["error"]["code"]), ("killed", "cpu_limit", "cpu_limit"), result)
    tap.equal((result["session"]["state"], result["session"]["lost_reason"], result["timed_out"]), (state, reason, False), result)
    return result


def test_a_busy_cell_is_interrupted():
    use()
    session = begin()
    result = expect_spent(call("x = 2\n" + BUSY, session, 300)[1])
    tap.equal((result["exception"]["name"], result["limits"]["cpu_ms"], result["exit_code"]), ("KeyboardInterrupt", 300, None), result)
    tap.contains(result["error"]["message"], "300 ms of processor time")
    tap.true("the cell was interrupted; the session keeps its state" in result["notes"], result["notes"])
    tap.equal(cell("print(x)", session)["stdout"], "2\n")


def test_a_cell_that_sleeps_is_not():
    use()
    result = cell("import time\ntime.sleep(1)\nprint('slept')", begin(), cpu_ms=300)
    tap.equal((result["stdout"], result["limits"]["cpu_ms"]), ("slept\n", 300), result)


def test_the_first_cell_has_it_too():
    use()
    expect_spent(call(BUSY, cpu_ms=300)[1])


def test_each_cell_has_its_own():
    """Together they have more than the limit of one; each measures itself."""
    use()
    session = begin(SPEND + "spend(0)")
    use_of = "spend({0})\nprint(time.process_time())"
    spent = [float(cell(use_of.format(0.45), session, cpu_ms=1000)["stdout"]) for _ in range(3)]
    tap.true(spent[-1] > 1.0 + 0.25, spent)
    expect_spent(call(use_of.format(60), session, cpu_ms=1000)[1])


def test_children_count_together():
    """Neither has so much by itself; the one who waits has none."""
    use()
    session = begin(SPEND)
    tap.equal(cell(TWO_CHILDREN.format(0.1), session, cpu_ms=1600)["stdout"], "waited\n", "the control")
    expect_spent(call(TWO_CHILDREN.format(1.2), session, 1600)[1])


def test_children_that_have_ended_count():
    use()
    expect_spent(call(SPEND + SHORT_CHILDREN, cpu_ms=1000)[1])


def test_the_child_of_a_thread_counts():
    use()
    expect_spent(call(THREAD_OF_CHILD, cpu_ms=500)[1])


def test_what_an_earlier_cell_has_left_counts():
    use()
    session = begin("import os, time\nif os.fork() == 0:\n    while True: pass")
    expect_spent(call("while True: time.sleep(0.01)", session, 500)[1])


def test_one_that_prints_all_the_time():
    """What the sandbox prints meanwhile keeps nobody from measuring it. A slow engine may still have the end of the cell behind it."""
    use()
    result = call("import os\nwhile True:\n    os.write(1, b'x' * 4096)\n    for _ in range(50000): pass", cpu_ms=500)[1]
    tap.equal((result["status"], result["cause"]), ("killed", "cpu_limit"), result)
    tap.true(result["truncated"]["stdout_bytes"] > 65536, result)


def test_one_that_does_not_heed_it_is_lost():
    use()
    result = expect_spent(call(HEEDLESS, begin(), 300)[1], "lost", "cpu_limit")
    tap.true("the session ended with this cell (cpu_limit): its variables and files are gone" in result["notes"], result["notes"])
    returned, result = call("x", result["session"]["id"])
    tap.equal((returned in (NOT_RUN, FAILED), result["error"]["code"]), (True, "session_not_found"), result)


def test_one_that_does_not_heed_it_is_undone():
    use(sessions={"checkpoints": 1})
    session = begin()
    expect_spent(call("x = 2\n" + HEEDLESS, session, 300)[1], "restored")
    tap.equal(cell("print(x)", session)["stdout"], "1\n")
    expect_spent(call(BUSY, session, 300)[1])


def test_beside_interpreters_that_wait():
    use(pools={"process": {"ready": 2, "most": 2}})
    session = begin()
    expect_spent(call(BUSY, session, 300)[1])
    tap.equal(cell("print(x)", session)["stdout"], "1\n")
    expect_spent(call(BUSY, begin(), 300)[1])


def test_other_languages():
    use()
    for language, (begun, busy, later) in OTHERS.items():
        session = begin(begun, language=language)
        expect_spent(call(busy, session, 300, language=language)[1])
        tap.equal(cell(later, session, language=language)["stdout"], "1\n", language)


def test_wall_time_ends_a_cell_as_before():
    use()
    session = begin()
    result = call("import time\nwhile True: time.sleep(0.01)", session, timeout_ms=500)[1]
    tap.equal((result["status"], result["cause"], result["session"]["state"]), ("timeout", "wall_timeout", "kept"), result)


def test_times_of_the_first_cell_bind_no_later_one():
    use()
    session = begin()
    result = cell("print(x)", session, cpu_ms=60000)
    tap.equal((result["stdout"], result["limits"]["cpu_ms"]), ("1\n", 60000), result)


def processor_ms(result):
    return result["usage"]["user_ms"] + result["usage"]["system_ms"]


def test_usage_has_what_a_cell_has_spent():
    use()
    session = begin(SPEND)
    spent = {"spend(0.4)": 400, TWO_CHILDREN.format(0.2): 400, "time.sleep(0.4)": 0}
    for code, milliseconds in spent.items():
        result = cell(code, session)
        high = 2 * result["usage"]["wall_ms"] if milliseconds else 100
        # Not from its begin on; and the kernel counts in ticks.
        tap.true(milliseconds / 2 <= processor_ms(result) <= high, (code, result["usage"]))
    shell = begin("x=1", language="bash")
    spends = "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done"
    result = cell(f"({spends})\n{spends}", shell, language="bash")
    tap.true(0 < processor_ms(result) <= 2 * result["usage"]["wall_ms"], result["usage"])


def test_usage_of_a_short_cell_is_not_known():
    use()
    session = begin()
    short = [cell("x + 1", session)["usage"] for _ in range(20)]
    tap.true(any(usage["user_ms"] is None and usage["system_ms"] is None for usage in short), short)


# In docker mode (tests/docker/meson.build) what its guest measures; the rest is the clock's, or not there.
OF_PROCESS_MODE = ("the_first_cell_has_it_too", "each_cell_has_its_own", "beside_interpreters_that_wait",
                   "times_of_the_first_cell_bind_no_later_one")
if MODE == "docker":
    for name in OF_PROCESS_MODE:
        del globals()[f"test_{name}"]
    import engine
    files = engine.files_of_node()
    if not files:  # no Node in the machine's own directories of programs
        del OTHERS["javascript"]
    with engine.image_with(files or {}) as image:
        POLICY["docker"] = {"images": {"javascript": image}}
        tap.run(globals())

# Without namespaces the init measures.
WITHOUT_NAMESPACES = ("a_busy_cell_is_interrupted", "a_cell_that_sleeps_is_not", "what_an_earlier_cell_has_left_counts",
                      "one_that_does_not_heed_it_is_lost", "one_that_does_not_heed_it_is_undone", "usage_of_a_short_cell_is_not_known")
run_cases(globals(), None, WITHOUT_NAMESPACES, ())
