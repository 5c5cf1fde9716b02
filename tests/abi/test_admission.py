# SPDX-License-Identifier: Apache-2.0
"""Who runs, who waits and who is refused when the policy's places are taken. A call is held where its start is recorded, with its
place taken; who waits is seen in tool_status() before the next step is taken, so that no order is left to chance."""
import json
import os
import pathlib
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from provider import ACCEPTED, LATER, NOT_RUN, OK, Host, Provider

provider = Provider()
LANGUAGES = ("python", "javascript", "typescript", "bash", "zsh", "ruby", "php", "perl", "lua", "r")
# Little to report on, as the state is asked for again and again; and patience for a slow machine.
POLICY = {"modes": {"default": "process", "allowed": ["process"]}, "languages": {name: None for name in LANGUAGES},
          "limits": {"wall_ms": {"default": 200000}, "cpu_ms": {"default": 10000}}, "secrets": {"allowed": ["token"]}}
ECHO = {"language": "sh", "code": "echo ran"}
WITH_SECRET = {**ECHO, "secrets": {"TOKEN": "{{secret:token}}"}}


class Caller(threading.Thread):
    """A call on a thread of its own. held: waits in the audit callback of its start until let_go()."""
    started = []  # names, in the order of their starts
    gates = []

    def __init__(self, name, principal=None, held=False, request=ECHO, **host):
        super().__init__(name=name, daemon=True)
        self.request, self.code, self.result = request, None, None
        self.gate = threading.Event()
        self.secrets_read = []
        if not held:
            self.gate.set()
        context = {"principal": principal} if principal is not None else None
        Caller.gates.append(self.gate)
        self.host = Host(("sandbox.exec", "sandbox.exec.secrets", "sandbox.exec.network"), context=context, audit=self.audit,
                         **{"read_secret": self.read_secret, **host})

    def audit(self, record, verdict):
        self.host.audit(record, verdict)
        if self.host.records[-1]["event"] == "start":
            Caller.started.append(self.name)
            self.gate.wait()

    def read_secret(self, name, buffer, capacity, length, verdict):
        self.secrets_read.append(name.decode())
        self.host.secrets["token"] = b"a-secret-of-some-length"
        self.host.read_secret(name, buffer, capacity, length, verdict)

    def run(self):
        self.code, self.result = provider.invoke(self.request, self.host)

    def events(self):
        return [record["event"] for record in self.host.records]

    def let_go(self):
        self.gate.set()
        return self.end()

    def end(self):
        self.join(60 * tap.SLOW)
        tap.true(not self.is_alive(), f"{self.name} has come back")
        return self.result


def await_count(name, count):
    tap.eventually(lambda: provider.counters()[name] == count, f"{name} is {count}", 60)


def use(**policy):
    for gate in Caller.gates:
        gate.set()  # of a case that failed
    provider.reset()
    tap.equal(provider.use_policy({**POLICY, **policy}), OK, "prepare")
    provider.invoke(ECHO, Host())  # the trial is over
    Caller.started = []


def hold_place(**caller):
    """A call that has its place, and keeps it."""
    holder = Caller("holder", held=True, **caller)
    holder.start()
    tap.eventually(lambda: "holder" in Caller.started, "the place is taken", 60)
    return holder


def line_up(*callers):
    queued = provider.counters()["calls_queued"]
    for number, caller in enumerate(callers, 1):
        caller.start()
        await_count("calls_queued", queued + number)
    return callers


def expect_ran(*callers):
    for caller in callers:
        result = caller.end()
        tap.equal((caller.code, result["status"], result["stdout"]), (OK, "completed", "ran\n"), f"{caller.name}: {result['error']}")
        tap.equal(caller.events(), ["start", "end"], caller.name)


def expect_end(caller):
    caller.start()
    expect_ran(caller)


def expect_refused(caller, code="too_many_requests"):
    result = caller.end()
    tap.equal((caller.code, result["error"]["code"], result["stdout"]), (NOT_RUN, code, ""), caller.name)
    tap.equal(caller.events(), ["refused"], caller.name)
    tap.equal(caller.secrets_read, [], "secrets")
    return result


def expect_nobody():
    found = provider.counters()
    tap.equal([found[name] for name in ("calls_running", "calls_queued", "calls_waiting_for_approval", "calls_under_way")], [0] * 4)


def expect_retry_after(result):
    tap.true(result["error"]["retryable"], "retryable")
    tap.true(100 <= result["error"]["retry_after_ms"] <= 60000, result["error"])


def test_more_callers_than_places():
    use(max_runs=2)
    callers = [Caller(f"{number}", held=True) for number in range(10)]
    for caller in callers:
        caller.start()
    await_count("calls_queued", 8)
    tap.equal(provider.counters()["calls_running"], 2)
    tap.equal(len(Caller.started), 2)
    for caller in callers:
        caller.gate.set()
    expect_ran(*callers)
    tap.equal(len([caller for caller in callers if caller.result["queued_ms"] == 0]), 2, "who did not wait")
    expect_nobody()


def test_memory_limits_add_up_to_the_policys_total_at_most():
    """Places for all, and memory for two: the third waits for a share, and comes back with too_many_requests where nobody may wait."""
    share = 64 << 20
    memory = {"limits": {**POLICY["limits"], "memory_bytes": {"default": share}}, "memory_total_bytes": 3 * share - 1}
    use(max_runs=64, **memory)
    callers = [Caller(f"{number}", held=True) for number in range(6)]
    for caller in callers:
        caller.start()
    await_count("calls_queued", 4)
    tap.equal((provider.counters()["calls_running"], len(Caller.started)), (2, 2))
    for caller in callers:
        caller.gate.set()
    expect_ran(*callers)
    expect_nobody()

    use(max_runs=64, max_queued=0, **memory)
    held = [Caller(f"held{number}", held=True) for number in range(2)]
    for number, caller in enumerate(held, 1):
        caller.start()
        tap.eventually(lambda number=number: len(Caller.started) == number, "its start", 60)
    late = Caller("late")
    late.start()
    result = expect_refused(late)
    tap.contains(result["error"]["message"], "2 runs with 128 MiB of memory are under way")
    expect_retry_after(result)
    for caller in held:
        caller.let_go()
    expect_ran(*held)
    expect_end(Caller("now"))


def test_half_of_the_machines_memory_where_the_policy_says_nothing():
    """As many runs as limits fit into half of it, and one in any case."""
    half = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    share = half // 2 - (1 << 20)
    use(max_runs=64, limits={**POLICY["limits"], "memory_bytes": {"default": share, "max": share}})
    callers = [Caller(f"{number}", held=True) for number in range(3)]
    for caller in callers:
        caller.start()
    await_count("calls_queued", 1)
    tap.equal(provider.counters()["calls_running"], 2)
    for caller in callers:
        caller.gate.set()
    expect_ran(*callers)
    use(max_runs=64, limits={**POLICY["limits"], "memory_bytes": {"default": 4 * half, "max": 4 * half}})
    expect_end(Caller("alone"))


def test_the_memory_that_a_request_asks_for_is_counted():
    """Of a total of three shares the default takes two: beside it there is room for a call that asks for one, and for no other."""
    share = 64 << 20
    use(max_runs=64, limits={**POLICY["limits"], "memory_bytes": {"default": 2 * share}}, memory_total_bytes=3 * share)
    holder = hold_place()
    small = Caller("small", request={**ECHO, "memory_bytes": share})
    expect_end(small)
    tap.equal(small.result["limits"]["memory_bytes"], share)
    usual, = line_up(Caller("usual"))
    holder.let_go()
    expect_ran(holder, usual)
    expect_nobody()


def test_a_total_that_no_run_fits_into_is_refused():
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({**POLICY, "memory_total_bytes": 255 << 20}, file)
        file.flush()
        code, answer = provider.prepare(policy_file=file.name)
    tap.equal((code, answer["error"]["code"]), (NOT_RUN, "invalid_policy"))
    tap.contains(answer["error"]["message"], "/memory_total_bytes: is less than the 268435456 bytes of one run of sh")


def test_calls_run_in_the_order_of_their_arrival():
    use(max_runs=1)
    holder = hold_place()
    callers = line_up(*(Caller(f"{number}") for number in range(5)))
    holder.let_go()
    expect_ran(holder, *callers)
    tap.equal(Caller.started, ["holder", "0", "1", "2", "3", "4"])


def test_principals_take_turns():
    use(max_runs=1)
    holder = hold_place()
    callers = line_up(*(Caller(f"a{number}", "a") for number in range(3)), Caller("b0", "b"), Caller("b1", "b"), Caller("nobody"))
    holder.let_go()
    expect_ran(holder, *callers)
    tap.equal(Caller.started, ["holder", "a0", "b0", "nobody", "a1", "b1", "a2"])


def test_no_secret_is_read_while_its_call_waits():
    use(max_runs=1)
    holder = hold_place()
    [caller] = line_up(Caller("waits", request=WITH_SECRET))
    tap.equal((caller.secrets_read, caller.events()), ([], []))
    holder.let_go()
    expect_ran(holder, caller)
    tap.equal(set(caller.secrets_read), {"token"})


def test_cancelled_while_it_waits():
    use(max_runs=1)
    holder = hold_place()
    callers = line_up(Caller("0"), Caller("1", call_id=77, request=WITH_SECRET), Caller("2"))
    tap.equal(provider.cancel(77), ACCEPTED)
    result = expect_refused(callers[1], "cancelled")
    tap.equal((result["status"], result["error"]["retry_after_ms"]), ("cancelled", None))
    await_count("calls_queued", 2)
    holder.let_go()
    expect_ran(holder, callers[0], callers[2])
    expect_nobody()


def test_waits_for_half_of_its_time_at_most():
    use(max_runs=1)
    before = provider.counters()["calls_too_many"]
    holder = hold_place()
    late = Caller("late", request={**WITH_SECRET, "timeout_ms": 200})
    late.start()
    result = expect_refused(late)
    expect_retry_after(result)
    tap.true(result["queued_ms"] >= 100, result["queued_ms"])
    tap.equal(provider.counters()["calls_too_many"], before + 1)
    holder.let_go()
    expect_ran(holder)
    expect_nobody()


def test_the_wait_is_inside_its_time():
    use(max_runs=1)
    holder = hold_place()
    [caller] = line_up(Caller("waits"))
    holder.let_go()
    expect_ran(holder, caller)
    result = caller.result
    tap.true(result["queued_ms"] > 0, "it waited")
    tap.equal(result["limits"]["wall_ms"], 200000 - result["queued_ms"])
    tap.contains("\n".join(result["notes"]), f"waited {result['queued_ms']} ms")
    tap.equal(caller.host.records[0]["limits"], result["limits"], "what the start record says")
    tap.equal(caller.host.records[1]["queued_ms"], result["queued_ms"], "what the end record says")
    tap.equal(caller.host.records[0]["request_sha256"], holder.host.records[0]["request_sha256"], "what was approved is the same")
    tap.equal((holder.result["queued_ms"], holder.result["limits"]["wall_ms"]), (0, 200000))


def test_a_full_queue_refuses():
    use(max_runs=1, max_queued=2)
    holder = hold_place(principal="a")
    callers = line_up(Caller("0", "a"), Caller("1", "a"))
    refused = Caller("refused", "a", request=WITH_SECRET)
    refused.start()
    result = expect_refused(refused)
    expect_retry_after(result)
    tap.equal(result["queued_ms"], 0)
    holder.let_go()
    expect_ran(holder, *callers)
    expect_nobody()


def test_a_full_queue_has_room_for_a_principal_with_fewer_calls():
    use(max_runs=1, max_queued=3)
    holder = hold_place(principal="a")
    callers = line_up(*(Caller(f"a{number}", "a", request=WITH_SECRET) for number in range(3)))
    other = Caller("b", "b")
    other.start()
    expect_retry_after(expect_refused(callers[2]))
    holder.let_go()
    expect_ran(holder, callers[0], callers[1], other)
    tap.equal(Caller.started, ["holder", "a0", "b", "a1"])


def test_no_queue_where_the_policy_wants_none():
    use(max_runs=1, max_queued=0)
    holder = hold_place()
    refused = Caller("refused")
    refused.start()
    expect_retry_after(expect_refused(refused))
    holder.let_go()
    expect_ran(holder)


def ask_later(tokens):
    def request_approval(token, _request, verdict):
        tokens.append(token)
        verdict[0] = LATER
    return request_approval


def answer(tokens):
    for token in tokens:
        tap.equal(provider.reply(token, {"decision": "allow_once"}), ACCEPTED)


def test_a_call_that_waits_for_approval_holds_no_run_slot():
    use(max_runs=1, max_queued=0)
    tokens = []
    callers = [Caller(f"{number}", request={**ECHO, "args": [str(number)]}, request_approval=ask_later(tokens)) for number in range(3)]
    for caller in callers:
        caller.start()
    await_count("calls_waiting_for_approval", 3)
    tap.equal(provider.counters()["calls_running"], 0)
    expect_end(Caller("direct"))
    for token, _ in zip(list(tokens), callers):
        answer([token])
        tap.eventually(lambda: len([caller for caller in callers if not caller.is_alive()]) > tokens.index(token), "it ran", 60)
    expect_ran(*callers)
    expect_nobody()


def test_approvals_that_wait_are_bounded():
    use(approval={"max_waiting": 4})
    tokens = []
    granted = {"request": {**ECHO, "args": ["granted"]}, "principal": "a"}

    def for_good(token, _request, _verdict):
        provider.reply(token, {"decision": "allow_session"})
    expect_end(Caller("granted", request_approval=for_good, **granted))

    def ask(name, principal):
        caller = Caller(name, principal, request={**ECHO, "args": [name]}, request_approval=ask_later(tokens))
        caller.start()
        return caller
    callers = []
    for name, principal in (("a0", "a"), ("a1", "a"), ("b0", "b")):
        callers.append(ask(name, principal))
        await_count("calls_waiting_for_approval", len(callers))
    for name, principal in (("a2", "a"), ("b1", "b")):
        result = expect_refused(ask(name, principal))
        tap.equal((result["error"]["retryable"], result["error"]["retry_after_ms"]), (True, None))
    expect_end(Caller("granted before", request_approval=lambda *_: None, **granted))
    callers.append(ask("c0", "c"))
    await_count("calls_waiting_for_approval", 4)
    answer(tokens)
    expect_ran(*callers)
    expect_nobody()


def test_a_call_that_needs_a_trial_run_takes_a_run_slot():
    """The first call of its kind starts processes before anybody is asked. (With the network, as tool_status() tries without.)"""
    use(max_runs=1, network={"allowed": True})
    holder = hold_place()
    [caller] = line_up(Caller("network", request={**ECHO, "network": True}))
    tap.equal(caller.host.requests, [], "approval requests")
    holder.let_go()
    expect_ran(holder, caller)
    tap.equal(len(caller.host.requests), 1, "approval requests")


def test_a_refusal_after_the_wait_gives_the_place_back():
    use(max_runs=1)
    for refusing in ({"read_secret": None}, {"read_secret": lambda *_: None}):
        holder = hold_place()
        [caller] = line_up(Caller("refused", request=WITH_SECRET, **refusing))
        holder.let_go()
        expect_refused(caller, "unknown_secret")
        expect_nobody()
        Caller.started = []


def test_shutdown_ends_the_waiting():
    use(max_runs=1)
    holder = hold_place()
    callers = line_up(*(Caller(f"{number}", request=WITH_SECRET) for number in range(6)))
    shutdown = threading.Thread(target=provider.library.tool_shutdown, daemon=True)
    shutdown.start()
    for caller in callers:
        expect_refused(caller, "cancelled")
    tap.true(shutdown.is_alive(), "it waits for the one that runs")
    tap.equal(holder.let_go()["status"], "cancelled")
    shutdown.join(60 * tap.SLOW)
    tap.true(not shutdown.is_alive(), "shut down")
    expect_nobody()
    use(max_runs=1)
    expect_end(Caller("after"))


def all_at_once(count, **policy):
    provider.reset()  # the trials, too, are all at once
    tap.equal(provider.use_policy({**POLICY, **policy}), OK, "prepare")
    begin = threading.Barrier(count)

    class Eager(Caller):
        def run(self):
            begin.wait()
            super().run()
    callers = [Eager(f"{number}", f"{number % 5}") for number in range(count)]
    for caller in callers:
        caller.start()
    expect_ran(*callers)
    expect_nobody()


def test_as_many_at_once_as_places():
    all_at_once(64)


def test_more_at_once_than_places():
    all_at_once(64, max_runs=4)


tap.run(globals())
